/* SPDX-License-Identifier: ISC */
#include "draw.h"

#include "nx/bits.h"
#include "nx/number.h"
#include "nx/random.h"

#include "runtime/record/objects.h"

/* ---- checks */

static bool refuse_dtype(const char *op, int32_t operand, nx_dtype t, const char *wanted) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op, "%s: %s %s, not %s", op,
           operand < 0 ? "the result cannot be" : "a parameter is", nxi_dtypes[t].name, wanted);
  d.operand = operand;
  nxi_error_report(&d);
  return false;
}

static bool dtype_exists(const char *op, nx_dtype t) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_dtype_exists(op, t, &d)) return true;
  nxi_error_report(&d);
  return false;
}

static bool is_drawn(nx_dtype t) {
  return t == NX_F16 || t == NX_BF16 || t == NX_F32 || t == NX_F64;
}

bool nxi_draw_float(const char *op, nx_dtype t) {
  if (!dtype_exists(op, t)) return false;
  return is_drawn(t) || refuse_dtype(op, -1, t, "f16, bf16, f32 or f64");
}

bool nxi_draw_bits(const char *op, nx_dtype t) {
  if (!dtype_exists(op, t)) return false;
  return t == NX_U8 || t == NX_U16 || t == NX_U32 || t == NX_U64 ||
         refuse_dtype(op, -1, t, "u8, u16, u32 or u64");
}

bool nxi_draw_parameter(const char *op, int32_t operand, nx_tensor *x) {
  if (!nxi_have_tensor(op, operand, x)) return false;
  nx_dtype t = x->storage->dtype; /* NOLINT: checked, not null */
  return is_drawn(t) || refuse_dtype(op, operand, t, "f16, bf16, f32 or f64");
}

bool nxi_draw_same(const char *op, nx_tensor *a, nx_tensor *b) {
  nxi_diag d;
  nx_dtype x = a->storage->dtype, y = b->storage->dtype;
  if (x == y) return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the parameters are %s and %s", op, nxi_dtypes[x].name,
           nxi_dtypes[y].name);
  d.operand = 2;
  nxi_error_report(&d);
  return false;
}

nx_dtype nxi_draw_compute(nx_dtype t) { return t == NX_F64 ? NX_F64 : NX_F32; }

static bool check(const char *op, nx_tensor *key, const int64_t *shape, int32_t rank, int64_t *n) {
  nxi_diag d;
  int64_t elements = 0;
  nxi_diag_clear(&d);
  if (nxi_check_key(op, key, &d)) {
    if (rank > 0 && !shape) nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: the shape is null", op);
    else nxg_shape_check(NX_INVALID_ARGUMENT, op, rank, shape, 256, &elements, &d);
  }
  if (d.status) nxi_error_report(&d);
  if (n) *n = elements;
  return !d.status;
}

/* ---- begin and end */

bool nxi_draw_begin_like(nxi_draw *d, uint32_t called, nx_tensor *like) {
  *d = (nxi_draw){
      .context = like->context, .device = like->storage->device, .outer = nxi_called_begin(called)};
  d->scope = nx_scope_begin(d->context);
  if (!d->scope) nxi_called_end(d->outer);
  return d->scope != NULL;
}

bool nxi_draw_begin(nxi_draw *d, uint32_t called, nx_tensor *key, const int64_t *shape,
                    int32_t rank, int64_t *n) {
  const char *op = nxi_op_name(called);
  if (!nxi_have_tensor(op, 0, key)) return false;
  return check(op, key, shape, rank, n) && nxi_draw_begin_like(d, called, key);
}

nx_tensor *nxi_draw_end(nxi_draw *d, nx_tensor *result) {
  nx_tensor *kept = nx_keep(result);
  nx_scope_end(d->scope);
  nxi_called_end(d->outer);
  if (!kept || nxi_scope_add(kept)) return kept;
  nx_tensor_release(kept);
  return nxi_no_memory("scope");
}

/* ---- pieces of formulas */

nx_tensor *nxi_draw_number(nxi_draw *d, nx_dtype t, double value) {
  return nx_full_f64(d->context, d->device, t, NULL, 0, value);
}

nx_tensor *nxi_draw_stream(nxi_draw *d, nx_tensor *key, int64_t number) {
  return nx_random_fold_in(key, nx_full_i64(d->context, d->device, NX_U32, NULL, 0, number));
}

nx_tensor *nxi_draw_spread(nx_tensor *x, nx_dtype t, const int64_t *shape, int32_t rank) {
  return nx_expand(nx_cast(x, t), shape, rank);
}

nx_tensor *nxi_draw_pairs(nxi_draw *d, nx_tensor *counter, bool high_first) {
  const int64_t column[2] = {counter ? counter->elements : 0, 1};
  nx_scalar first = {NX_SCALAR_I64, {.i = high_first ? 32 : 0}},
            step = {NX_SCALAR_I64, {.i = high_first ? -32 : 32}};
  nx_tensor *shift = nx_arange(d->context, d->device, NX_U64, &first, &step, 2);
  return nx_cast(nx_shr(nx_reshape(counter, column, 2, 0), shift), NX_U32);
}

nx_tensor *nxi_draw_counters(nxi_draw *d, int64_t n) {
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}}, one = {NX_SCALAR_I64, {.i = 1}};
  return nx_arange(d->context, d->device, NX_U64, &zero, &one, n);
}

bool nxi_draw_columns(nx_tensor *words, const int64_t *shape, int32_t rank, nx_tensor **first,
                      nx_tensor **second) {
  if (!words) return false;
  for (int i = 0; i < 2; i++) {
    int64_t start[2] = {0, i}, stop[2] = {nxi_shape(words)[0], i + 1};
    *(i ? second : first) = nx_reshape(nx_shrink(words, start, stop, 2), shape, rank, NX_MAY_COPY);
  }
  return *first && *second;
}

/* x turned left. */
static nx_tensor *turned(nx_tensor *x, int by) {
  return nx_or(nx_binary_i64(x, NX_BINARY_SHL, by), nx_binary_i64(x, NX_BINARY_SHR, 32 - by));
}

/* 20 rounds, word by word: the operation nx_threefry takes pairs. */
static void threefry(nx_tensor *const *key, nx_tensor **x) {
  static const int turns[] = {13, 15, 26, 6, 17, 29, 16, 24};
  nx_tensor *parity = nx_binary_i64(nx_xor(key[0], key[1]), NX_BINARY_XOR, 0x1BD11BDA),
            *keys[3] = {key[0], key[1], parity};
  for (int i = 0; i < 2; i++) x[i] = nx_add(x[i], keys[i]);
  for (int round = 0; round < 20 && x[0]; round++) {
    x[0] = nx_add(x[0], x[1]);
    x[1] = nx_xor(turned(x[1], turns[round % 8]), x[0]);
    if (round % 4 != 3) continue;
    int n = round / 4 + 1;
    x[0] = nx_add(x[0], keys[n % 3]);
    x[1] = nx_add(x[1], nx_binary_i64(keys[(n + 1) % 3], NX_BINARY_ADD, n));
  }
}

/* The words of the counters 0 .. n - 1: most of the time 32 bits are enough. */
static void counters(nxi_draw *d, int64_t n, nx_tensor **x) {
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}}, one = {NX_SCALAR_I64, {.i = 1}};
  if (n <= UINT32_MAX) {
    x[0] = nx_full(d->context, d->device, NX_U32, &n, 1, &zero);
    x[1] = nx_arange(d->context, d->device, NX_U32, &zero, &one, n);
    return;
  }
  nx_tensor *counter = nxi_draw_counters(d, n);
  x[0] = nx_cast(nx_binary_i64(counter, NX_BINARY_SHR, 32), NX_U32);
  x[1] = nx_cast(counter, NX_U32);
}

void nxi_draw_threefry(nx_tensor *key, nx_tensor **x) {
  nx_tensor *whole = nx_bitcast(key, NX_U32), *half[2];
  for (int64_t i = 0; i < 2; i++) {
    int64_t stop = i + 1;
    half[i] = nx_reshape(nx_shrink(whole, &i, &stop, 1), NULL, 0, NX_MAY_COPY);
  }
  threefry(half, x);
}

bool nxi_draw_words(nxi_draw *d, nx_tensor *key, const int64_t *shape, int32_t rank,
                    nx_tensor **first, nx_tensor **second) {
  nx_tensor *x[2];
  counters(d, nxg_elements(rank, shape), x);
  nxi_draw_threefry(key, x);
  *first = nx_reshape(x[0], shape, rank, 0);
  *second = nx_reshape(x[1], shape, rank, 0);
  return *first && *second;
}
