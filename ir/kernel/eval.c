/* SPDX-License-Identifier: ISC */
/* The value of every scalar operation on single scalars, exactly as ir/scalar_ops.def says.
 * Functions are evaluated by their expansion: one small kernel fragment for each function and
 * dtype, built on first use and kept for the life of the process. */
#include <math.h>
#include <stdatomic.h>

#include "ir/interp/interp.h"
#include "kernel.h"
#include "ir/op.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t wrap(nx_dtype t, uint64_t x) {
  uint32_t bits = nxi_dtypes[t].bits;
  return bits >= 64 ? x : x & ((UINT64_C(1) << bits) - 1);
}

/* The number that the bits of an integer stand for. A u64 above the signed range is returned as the
 * i64 with the same bits. */
static int64_t number(nx_dtype t, uint64_t x) {
  uint32_t unused = 64u - nxi_dtypes[t].bits;
  return nxi_is_signed(t) ? (int64_t)(x << unused) >> unused : (int64_t)x;
}

static bool integer_less(nx_dtype t, uint64_t a, uint64_t b) {
  return nxi_is_signed(t) ? number(t, a) < number(t, b) : a < b;
}

static uint64_t integer_divide(nx_dtype t, uint64_t a, uint64_t b) {
  if (b == 0) return 0;
  if (!nxi_is_signed(t)) return a / b;
  int64_t divisor = number(t, b);
  return divisor == -1 ? 0 - a : (uint64_t)(number(t, a) / divisor); /* MIN / -1 wraps */
}

static uint64_t integer_modulo(nx_dtype t, uint64_t a, uint64_t b) {
  if (b == 0) return 0;
  if (!nxi_is_signed(t)) return a % b;
  int64_t divisor = number(t, b);
  return divisor == -1 ? 0 : (uint64_t)(number(t, a) % divisor);
}

static uint64_t shift_right(nx_dtype t, uint64_t a, uint64_t count) {
  bool outside = count >= nxi_dtypes[t].bits; /* a negative count is a large unsigned one */
  if (!nxi_is_signed(t)) return outside ? 0 : a >> count;
  return (uint64_t)(number(t, a) >> (outside ? 63 : count));
}

static uint64_t leading_zeros(nx_dtype t, uint64_t a) {
  uint32_t bits = nxi_dtypes[t].bits;
  return a == 0 ? bits : (uint64_t)__builtin_clzll(a) - (64 - bits);
}

static uint64_t reversed(nx_dtype t, uint64_t a) {
  uint64_t out = 0;
  for (uint32_t i = 0; i < nxi_dtypes[t].bits; i++) out = out << 1 | (a >> i & 1);
  return out;
}

static uint64_t eval_integer(nxk_op op, nx_dtype t, uint64_t a, uint64_t b) {
  switch (op) {
    case NXK_neg: return wrap(t, 0 - a);
    case NXK_abs: return wrap(t, number(t, a) < 0 && nxi_is_signed(t) ? 0 - a : a);
    case NXK_not: return wrap(t, ~a);
    case NXK_add: return wrap(t, a + b);
    case NXK_sub: return wrap(t, a - b);
    case NXK_mul: return wrap(t, a * b);
    case NXK_div: return wrap(t, integer_divide(t, a, b));
    case NXK_mod: return wrap(t, integer_modulo(t, a, b));
    case NXK_max: return integer_less(t, a, b) ? b : a;
    case NXK_min: return integer_less(t, b, a) ? b : a;
    case NXK_and: return a & b;
    case NXK_or: return a | b;
    case NXK_xor: return a ^ b;
    case NXK_shl: return wrap(t, (uint64_t)number(t, b) >= nxi_dtypes[t].bits ? 0 : a << b);
    case NXK_shr: return wrap(t, shift_right(t, a, (uint64_t)number(t, b)));
    case NXK_popcount: return (uint64_t)__builtin_popcountll(a);
    case NXK_clz: return leading_zeros(t, a);
    case NXK_reverse_bits: return reversed(t, a);
    case NXK_umulh: return (uint64_t)((wide)a * b >> 64);
    case NXK_eq: return a == b;
    case NXK_ne: return a != b;
    case NXK_lt: return integer_less(t, a, b);
    case NXK_le: return !integer_less(t, b, a);
    default: return 0;
  }
}

static uint64_t eval_bool(nxk_op op, uint64_t a, uint64_t b) {
  switch (op) {
    case NXK_not: return !a;
    case NXK_max:
    case NXK_or: return a | b;
    case NXK_min:
    case NXK_and: return a & b;
    case NXK_ne:
    case NXK_xor: return a ^ b;
    case NXK_eq: return a == b;
    case NXK_lt: return a < b;
    case NXK_le: return a <= b;
    default: return 0;
  }
}

/* Equal operands of max and min may be zeros of different sign. The `and` of their bits is then +0,
 * the maximum, and the `or` is -0, the minimum. */
static uint64_t max_f64(double a, double b) {
  if (a != a) return nxi_bits_f64(a);
  if (b != b) return nxi_bits_f64(b);
  return a == b ? nxi_bits_f64(a) & nxi_bits_f64(b) : nxi_bits_f64(a < b ? b : a);
}

static uint64_t min_f64(double a, double b) {
  if (a != a) return nxi_bits_f64(a);
  if (b != b) return nxi_bits_f64(b);
  return a == b ? nxi_bits_f64(a) | nxi_bits_f64(b) : nxi_bits_f64(b < a ? b : a);
}

static uint64_t max_f32(float a, float b) {
  if (a != a) return nxi_bits_f32(a);
  if (b != b) return nxi_bits_f32(b);
  return a == b ? nxi_bits_f32(a) & nxi_bits_f32(b) : nxi_bits_f32(a < b ? b : a);
}

static uint64_t min_f32(float a, float b) {
  if (a != a) return nxi_bits_f32(a);
  if (b != b) return nxi_bits_f32(b);
  return a == b ? nxi_bits_f32(a) | nxi_bits_f32(b) : nxi_bits_f32(b < a ? b : a);
}

/* a * 2^exponent; NaN if the exponent is NaN. */
static double scale(double a, double exponent, double limit) {
  if (exponent != exponent) return exponent;
  double clamped = exponent < -limit ? -limit : exponent > limit ? limit : exponent;
  return scalbn(a, (int)clamped);
}

static float scale_f32(float a, float exponent) {
  if (exponent != exponent) return exponent;
  float clamped = exponent < -252 ? -252 : exponent > 252 ? 252 : exponent;
  return scalbnf(a, (int)clamped);
}

static const uint64_t sign_f32 = UINT64_C(1) << 31, sign_f64 = UINT64_C(1) << 63;

static uint64_t eval_f32(nxk_op op, uint64_t x, uint64_t y, uint64_t z) {
  float a = nxi_f32_bits(x), b = nxi_f32_bits(y);
  switch (op) {
    case NXK_neg: return x ^ sign_f32;
    case NXK_abs: return x & ~sign_f32;
    case NXK_rint: return nxi_bits_f32(rintf(a));
    case NXK_trunc: return nxi_bits_f32(truncf(a));
    case NXK_floor: return nxi_bits_f32(floorf(a));
    case NXK_ceil: return nxi_bits_f32(ceilf(a));
    case NXK_sqrt: return nxi_bits_f32(sqrtf(a));
    case NXK_add: return nxi_bits_f32(a + b);
    case NXK_sub: return nxi_bits_f32(a - b);
    case NXK_mul: return nxi_bits_f32(a * b);
    case NXK_div: return nxi_bits_f32(a / b);
    case NXK_mod: return nxi_bits_f32(fmodf(a, b));
    case NXK_max: return max_f32(a, b);
    case NXK_min: return min_f32(a, b);
    case NXK_copysign: return (x & ~sign_f32) | (y & sign_f32);
    case NXK_ldexp: return nxi_bits_f32(scale_f32(a, b));
    case NXK_eq: return a == b;
    case NXK_ne: return a != b;
    case NXK_lt: return a < b;
    case NXK_le: return a <= b;
    case NXK_fma: return nxi_bits_f32(fmaf(a, b, nxi_f32_bits(z)));
    default: return 0;
  }
}

static uint64_t eval_f64(nxk_op op, uint64_t x, uint64_t y, uint64_t z) {
  double a = nxi_f64_bits(x), b = nxi_f64_bits(y);
  switch (op) {
    case NXK_neg: return x ^ sign_f64;
    case NXK_abs: return x & ~sign_f64;
    case NXK_rint: return nxi_bits_f64(rint(a));
    case NXK_trunc: return nxi_bits_f64(trunc(a));
    case NXK_floor: return nxi_bits_f64(floor(a));
    case NXK_ceil: return nxi_bits_f64(ceil(a));
    case NXK_sqrt: return nxi_bits_f64(sqrt(a));
    case NXK_add: return nxi_bits_f64(a + b);
    case NXK_sub: return nxi_bits_f64(a - b);
    case NXK_mul: return nxi_bits_f64(a * b);
    case NXK_div: return nxi_bits_f64(a / b);
    case NXK_mod: return nxi_bits_f64(fmod(a, b));
    case NXK_max: return max_f64(a, b);
    case NXK_min: return min_f64(a, b);
    case NXK_copysign: return (x & ~sign_f64) | (y & sign_f64);
    case NXK_ldexp: return nxi_bits_f64(scale(a, b, 2044));
    case NXK_eq: return a == b;
    case NXK_ne: return a != b;
    case NXK_lt: return a < b;
    case NXK_le: return a <= b;
    case NXK_fma: return nxi_bits_f64(fma(a, b, nxi_f64_bits(z)));
    default: return 0;
  }
}

/* ---- functions */

/* The fragment of a function: parameters, its expansion, and where the result is. */
typedef struct fragment {
  nxi_program program;
  nxk_value result;
} fragment;

enum { MAX_FRAGMENT_SLOTS = 1 << 14 }; /* they live on the stack while a fragment runs */
static _Atomic(fragment *) fragments[NXK_SCALAR_COUNT][NXI_DTYPE_COUNT];

static void destroy_fragment(fragment *f, nxk_kernel *k) {
  if (f) nxi_program_free(&f->program);
  nxi_free(f);
  nxk_destroy(k);
}

static fragment *build_fragment(nxk_op op, nx_dtype type) {
  nxk_kernel *k = nxk_create(NXK_BOUND, nxk_op_name(op));
  fragment *f = nxi_calloc(1, sizeof *f);
  if (k && f) {
    nxk_value args[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
    for (int i = 0; i < nxk_scalars[op].arity; i++) args[i] = nxk_param(k, nxk_add_param(k, type));
    f->result = nxk_expand_function(k, op, args);
    if (!k->failed && f->result < k->n_instrs && nxi_program_init(&f->program, k) &&
        f->program.n_slots <= MAX_FRAGMENT_SLOTS)
      return f;
  }
  destroy_fragment(f, k);
  return NULL;
}

static fragment *find_fragment(nxk_op op, nx_dtype type) {
  fragment *f = atomic_load_explicit(&fragments[op][type], memory_order_acquire);
  if (f) return f;
  f = build_fragment(op, type);
  fragment *expected = NULL;
  if (f && !atomic_compare_exchange_strong(&fragments[op][type], &expected, f)) {
    /* another thread has published its own first */
    destroy_fragment(f, (nxk_kernel *)f->program.kernel);
    f = expected;
  }
  return f;
}

bool nxk_eval_ready(nxk_op op, nx_dtype type) {
  if ((uint32_t)op >= NXK_SCALAR_COUNT || !(nxk_scalars[op].flags & NXK_FUNC)) return true;
  return find_fragment(op, type) != NULL;
}

static uint64_t eval_function(nxk_op op, nx_dtype type, const uint64_t *args) {
  fragment *f = find_fragment(op, type);
  if (!f) return 0;
  uint64_t slots[f->program.n_slots];
  return nxi_program_value(&f->program, args, f->result, slots);
}

/* ---- all together */

uint64_t nxk_eval(nxk_op op, nx_dtype type, nx_dtype result, const uint64_t *args) {
  const nxk_scalar_info *info = &nxk_scalars[op];
  if (info->flags & NXK_FUNC) return eval_function(op, type, args);
  if (op == NXK_cast) return nxi_cast_bits(args[0], type, result);
  if (op == NXK_bitcast) return result == NX_BOOL ? args[0] != 0 : args[0];
  if (op == NXK_select) return args[0] ? args[1] : args[2];
  uint64_t a = args[0], b = info->arity > 1 ? args[1] : 0, c = info->arity > 2 ? args[2] : 0;
  switch (nxi_dtype_class(type)) {
    case NXI_BOOL: return eval_bool(op, a, b);
    case NXI_INT:
    case NXI_UINT: return eval_integer(op, type, a, b);
    default: break;
  }
  if (type == NX_F64) return eval_f64(op, a, b, c);
  /* only comparisons are left: lowering widens small floats before arithmetic */
  if (nxi_is_small_float(type)) {
    a = nxi_cast_bits(a, type, NX_F32);
    b = nxi_cast_bits(b, type, NX_F32);
  }
  return eval_f32(op, a, b, c);
}
