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

static bool check_key(const char *op, nx_tensor *key, nxi_diag *d) {
  nx_dtype t = key->storage->dtype;
  char text[NXG_SHAPE_TEXT];
  bool admitted = t == NX_I32 || t == NX_U32;
  if (admitted && key->rank == 1 && nxi_shape(key)[0] == 2) return true;
  d->operand = 0;
  return !nxi_fail(d, admitted ? NX_INVALID_ARGUMENT : NX_UNSUPPORTED_DTYPE, op,
                   "%s: the key is %s%s, not i32 or u32 of shape [2]", op, nxi_dtypes[t].name,
                   nxg_format_shape(text, key->rank, nxi_shape(key)));
}

static bool check(const char *op, nx_tensor *key, const int64_t *shape, int32_t rank, int64_t *n) {
  nxi_diag d;
  int64_t elements = 0;
  nxi_diag_clear(&d);
  if (check_key(op, key, &d)) {
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

/* Pairs (high word, low word) of the counters go through threefry. */
bool nxi_draw_words(nxi_draw *d, nx_tensor *key, const int64_t *shape, int32_t rank,
                    nx_tensor **first, nx_tensor **second) {
  int64_t n = nxg_elements(rank, shape), column[2] = {n, 1};
  nx_tensor *counter = nx_arange(d->context, d->device, NX_U64, NX_NUMBER(0), NX_NUMBER(1), n),
            *half[2] = {nx_reshape(nx_cast(nx_binary_i64(counter, NX_BINARY_SHR, 32), NX_U32),
                                   column, 2, 0),
                        nx_reshape(nx_cast(counter, NX_U32), column, 2, 0)};
  if (!half[0] || !half[1]) return false;
  nx_tensor *words = nx_threefry(nx_bitcast(key, NX_U32), nx_cat(half, 2, 1));
  for (int i = 0; i < 2; i++) {
    int64_t start[2] = {0, i}, stop[2] = {n, i + 1};
    *(i ? second : first) = nx_reshape(nx_shrink(words, start, stop, 2), shape, rank, NX_MAY_COPY);
  }
  return *first && *second;
}
