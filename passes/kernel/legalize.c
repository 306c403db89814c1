/* SPDX-License-Identifier: ISC */
/* Rewrites what targets do wrongly, or in different ways, into basic operations with one meaning:
 *  - conversions to and from small floats, rounded once from every type. Only those between f32 and
 *    f16, f8e4m3 -> f32 and f32 -> f8 are left, and only where the target has exact instructions;
 *  - vectors of 64-bit integers to f32 on AArch64, where they go through f64 and are rounded twice;
 *  - comparisons of small floats, which widen;
 *  - ldexp where the target has no instruction for it and the exponent is known to be in range
 *    (scale.c);
 *  - the remainder of floats, exact for all operands, without a library.
 * The result contains none of these, so a second run changes nothing. Bound level. Total integer
 * division and shifts, max and min, saturating conversions and other uses of ldexp stay: the code
 * generator of each target knows its instructions for them (codegen_llvm/emit_scalar.c).
 * Requires: no functions (expand/expand.c) but those that code calls, which stay. Keeps: everything
 * else, and the numbers of buffers and params. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

typedef struct legalizer {
  nxk_kernel *k;
  bool half;          /* the target converts f16 <-> f32 */
  bool bf16;          /* and f32 to bf16 */
  bool f8;            /* and f8e4m3 to f32 and f32 to f8 */
  bool scales;        /* the target has an instruction for ldexp */
  bool hands_on;      /* arithmetic gives a NaN of an operand, or one with only upper bits set */
  uint8_t *short_nan; /* value of the kernel that is read -> whether its NaNs have lower halves of
                         zeros; all false unless hands_on */
  nxk_value *words; /* value of that kernel, a bf16 rounded from f32 -> the word whose upper half it
                       is; or NXK_NONE */
  bool twice; /* the target rounds vectors of 64-bit integers twice when it converts them to f32 */
} legalizer;

/* ---- short names for the builder */

#define op1 NXK_SCALAR1
#define op2 NXK_SCALAR2
#define op3 NXK_SCALAR3
static nxk_value bits_as(nxk_kernel *k, nx_dtype t, nxk_value a) {
  return nxk_scalar(k, NXK_bitcast, t, a, NXK_NONE, NXK_NONE);
}
static nxk_value u32(nxk_kernel *k, uint32_t x) { return nxk_const(k, NX_U32, x); }
static nxk_value u64(nxk_kernel *k, uint64_t x) { return nxk_const(k, NX_U64, x); }
static nxk_value f64(nxk_kernel *k, double x) { return nxk_const_f(k, NX_F64, x); }

static nx_dtype dtype_of(const nxk_kernel *k, nxk_value v) {
  return k->failed ? NX_F32 : nxk_dtype(k, v);
}
static nxk_value is_nan(nxk_kernel *k, nxk_value a) { return op2(k, NXK_ne, a, a); }

/* ---- small floats from f32 and to it */

/* A word whose upper half is that of f32, rounded to even; a NaN keeps its upper half and becomes
 * quiet. Where a NaN has a lower half of zeros, as the caller knows, rounding keeps it as it is. */
static nxk_value round_upper(nxk_kernel *k, nxk_value a, bool short_nan) {
  nxk_value bits = bits_as(k, NX_U32, a), upper = op2(k, NXK_shr, bits, u32(k, 16));
  nxk_value even = op2(k, NXK_add, op2(k, NXK_and, upper, u32(k, 1)), u32(k, 0x7fff));
  nxk_value r = op2(k, NXK_add, bits, even);
  if (short_nan) return r;
  return op3(k, NXK_select, is_nan(k, a), op2(k, NXK_or, bits, u32(k, 0x400000)), r);
}

static nxk_value upper_as_bf16(nxk_kernel *k, nxk_value word) {
  return bits_as(k, NX_BF16, nxk_cast_to(k, NX_U16, op2(k, NXK_shr, word, u32(k, 16))));
}

static nxk_value bf16_to_f32(nxk_kernel *k, nxk_value a) {
  nxk_value bits = nxk_cast_to(k, NX_U32, bits_as(k, NX_U16, a));
  return bits_as(k, NX_F32, op2(k, NXK_shl, bits, u32(k, 16)));
}

/* The format of a small float with a sign, a biased exponent, and subnormals. Magnitudes are bit
 * patterns without the sign. */
typedef struct small_format {
  int bits, fraction, bias;
  uint32_t special; /* the first magnitude that is not finite: infinity, or NaN */
  uint32_t limit;   /* bits of f32: the first magnitude that rounds beyond the largest number */
  uint32_t beyond;  /* the result for those: the magnitude of infinity, or of NaN */
  uint32_t nan;
} small_format;

static small_format format_of(nx_dtype t) {
  switch (t) {
    case NX_F8E4M3: return (small_format){8, 3, 7, 0x7f, 0x43e80001, 0x7f, 0x7f};
    case NX_F8E5M2: return (small_format){8, 2, 15, 0x7c, 0x47700000, 0x7c, 0x7e};
    case NX_BF16: return (small_format){16, 7, 127, 0x7f80, 0x7f7f8000, 0x7f80, 0x7fc0};
    default: return (small_format){16, 10, 15, 0x7c00, 0x477ff000, 0x7c00, 0x7e00};
  }
}

static nx_dtype bits_of(small_format f) { return f.bits == 8 ? NX_U8 : NX_U16; }

/* The magnitude, shifted to the fields of f32, is the value divided by 2^(127 - bias). Multiplying
 * by that power of two is exact, also for subnormals. */
static nxk_value small_to_f32(nxk_kernel *k, nxk_value a) {
  small_format f = format_of(dtype_of(k, a));
  uint32_t sign_bit = 1u << (f.bits - 1);
  nxk_value bits = nxk_cast_to(k, NX_U32, bits_as(k, bits_of(f), a));
  nxk_value magnitude = op2(k, NXK_and, bits, u32(k, sign_bit - 1)),
            field = op2(k, NXK_shl, magnitude, u32(k, (uint32_t)(23 - f.fraction)));
  nxk_value scale = nxk_const_f(k, NX_F32, ldexp(1, 127 - f.bias));
  nxk_value finite = bits_as(k, NX_U32, op2(k, NXK_mul, bits_as(k, NX_F32, field), scale));
  nxk_value special = op2(k, NXK_or, field, u32(k, 0x7f800000));
  nxk_value r = op3(k, NXK_select, op2(k, NXK_lt, magnitude, u32(k, f.special)), finite, special);
  nxk_value sign =
      op2(k, NXK_shl, op2(k, NXK_and, bits, u32(k, sign_bit)), u32(k, (uint32_t)(32 - f.bits)));
  return bits_as(k, NX_F32, op2(k, NXK_or, r, sign));
}

/* Normal results: the upper bits, rounded to even, with the exponent rebiased. Subnormal results:
 * adding a power of two whose last bit is the smallest subnormal of the format rounds to a multiple
 * of that. Beyond the largest number: infinity, or NaN if the format has no infinity. */
static nxk_value f32_to_small(nxk_kernel *k, nx_dtype to, nxk_value a) {
  small_format f = format_of(to);
  uint32_t dropped = (uint32_t)(23 - f.fraction), less = (uint32_t)(127 - f.bias);
  nxk_value bits = bits_as(k, NX_U32, a), magnitude = op2(k, NXK_and, bits, u32(k, 0x7fffffff));
  nxk_value even = op2(k, NXK_and, op2(k, NXK_shr, magnitude, u32(k, dropped)), u32(k, 1));
  nxk_value moved = op2(k, NXK_add, op2(k, NXK_sub, magnitude, u32(k, less << 23)),
                        u32(k, (1u << (dropped - 1)) - 1));
  nxk_value normal = op2(k, NXK_shr, op2(k, NXK_add, moved, even), u32(k, dropped));
  nxk_value magic = nxk_const_f(k, NX_F32, ldexp(1, 24 - f.bias - f.fraction)),
            sum = op2(k, NXK_add, bits_as(k, NX_F32, magnitude), magic);
  nxk_value subnormal = op2(k, NXK_sub, bits_as(k, NX_U32, sum), bits_as(k, NX_U32, magic));
  nxk_value r =
      op3(k, NXK_select, op2(k, NXK_lt, magnitude, u32(k, (less + 1) << 23)), subnormal, normal);
  r = op3(k, NXK_select, op2(k, NXK_lt, magnitude, u32(k, f.limit)), r, u32(k, f.beyond));
  if (f.nan != f.beyond) r = op3(k, NXK_select, is_nan(k, a), u32(k, f.nan), r);
  nxk_value sign = op2(k, NXK_and, op2(k, NXK_shr, bits, u32(k, (uint32_t)(32 - f.bits))),
                       u32(k, 1u << (f.bits - 1)));
  return bits_as(k, to, nxk_cast_to(k, bits_of(f), op2(k, NXK_or, r, sign)));
}

/* An f8e5m2 is the upper half of an f16. */
static nxk_value e5m2_to_f16(nxk_kernel *k, nxk_value a) {
  nxk_value bits = nxk_cast_to(k, NX_U16, bits_as(k, NX_U8, a));
  return bits_as(k, NX_F16, op2(k, NXK_shl, bits, nxk_const(k, NX_U16, 8)));
}

static nxk_value widen(const legalizer *l, nxk_value a) {
  nx_dtype from = dtype_of(l->k, a);
  if (from == NX_BF16) return bf16_to_f32(l->k, a);
  if (from == NX_F8E4M3 && l->f8) return nxk_cast_to(l->k, NX_F32, a);
  if (from == NX_F8E4M3 || !l->half) return small_to_f32(l->k, a);
  return nxk_cast_to(l->k, NX_F32, from == NX_F8E5M2 ? e5m2_to_f16(l->k, a) : a);
}

static nxk_value narrow(const legalizer *l, nx_dtype to, nxk_value a) {
  bool has = to == NX_F16 ? l->half : to == NX_BF16 ? l->bf16 : l->f8;
  if (has) return nxk_cast_to(l->k, to, a);
  return to == NX_BF16 ? upper_as_bf16(l->k, round_upper(l->k, a, false))
                       : f32_to_small(l->k, to, a);
}

/* ---- small floats from wider types, rounded once */

/* Rounds an f64 to the precision of small float `to`, without its limit of range. The conversions
 * to f32 and to `to` that follow are then exact, except that they overflow. */
static nxk_value round_for(nxk_kernel *k, nx_dtype to, nxk_value a) {
  small_format f = format_of(to);
  int dropped = 52 - f.fraction; /* bits of the mantissa */
  double least_normal = ldexp(1, 1 - f.bias);
  double magic = ldexp(1.5, 53 - f.bias - f.fraction); /* its last bit is the least subnormal */
  nxk_value bits = bits_as(k, NX_U64, a), magnitude = op1(k, NXK_abs, a);
  nxk_value even = op2(k, NXK_and, op2(k, NXK_shr, bits, u64(k, (uint64_t)dropped)), u64(k, 1));
  nxk_value below_half = u64(k, (UINT64_C(1) << (dropped - 1)) - 1);
  nxk_value sum = op2(k, NXK_add, bits, op2(k, NXK_add, even, below_half));
  nxk_value normal =
      bits_as(k, NX_F64, op2(k, NXK_and, sum, u64(k, ~((UINT64_C(1) << dropped) - 1))));
  nxk_value subnormal = op2(k, NXK_sub, op2(k, NXK_add, magnitude, f64(k, magic)), f64(k, magic));
  nxk_value r = op3(k, NXK_select, op2(k, NXK_lt, magnitude, f64(k, least_normal)),
                    op2(k, NXK_copysign, subnormal, a), normal);
  return op3(k, NXK_select, is_nan(k, a), a, r);
}

/* Converts a 64-bit integer to an f64 that rounds to a shorter format as the integer does. From
 * 2^exact_bits on, the low_bits lowest bits matter only as zero or not zero (a sticky bit), because
 * the ties of the format are multiples of 2^low_bits, or beyond its largest number. */
static nxk_value wide_to_f64(nxk_kernel *k, nxk_value a, int exact_bits, int low_bits) {
  nx_dtype t = dtype_of(k, a);
  nxk_value zero = nxk_const_i(k, t, 0),
            low = op2(k, NXK_and, a, nxk_const_i(k, t, (1 << low_bits) - 1));
  nxk_value sticky =
      op3(k, NXK_select, op2(k, NXK_eq, low, zero), zero, nxk_const_i(k, t, 1 << (low_bits - 1)));
  nxk_value reduced = op2(k, NXK_or, op2(k, NXK_xor, a, low), sticky);
  nxk_value magnitude = op1(k, NXK_abs, a); /* negative for the least i64, which is exact */
  nxk_value exact = op2(k, NXK_lt, magnitude, nxk_const_i(k, t, INT64_C(1) << exact_bits));
  return nxk_cast_to(k, NX_F64, op3(k, NXK_select, exact, a, reduced));
}

static nxk_value cast_to_small(const legalizer *l, nx_dtype to, nxk_value a) {
  nxk_kernel *k = l->k;
  nx_dtype from = dtype_of(k, a);
  bool wide_integer = nxi_is_integer(from) && nxi_dtypes[from].bits >= 32;
  if (from != NX_F64 && !wide_integer)
    return narrow(l, to, nxk_cast_to(k, NX_F32, a)); /* exact in f32 */
  if (wide_integer)
    a = nxi_dtypes[from].bits == 64 ? wide_to_f64(k, a, 24, 16) : nxk_cast_to(k, NX_F64, a);
  return narrow(l, to, nxk_cast_to(k, NX_F32, round_for(k, to, a)));
}

/* Whether f32 v, if it is a NaN, has a lower half of zeros, as what is cast from bf16 has: then so
 * has what arithmetic makes of it, where a processor hands on the NaN of an operand, made quiet, or
 * gives one of its own that has its upper bits alone set. NVIDIA's has all set. `known` is that of
 * all values before v. */
static bool has_short_nan(const nxk_kernel *source, nxk_value v, const uint8_t *known) {
  const nxk_instr *in = &source->instrs[v];
  if (in->dtype != NX_F32) return false;
  switch (in->op) {
    case NXK_const: return (in->imm & 0x7fffffff) <= 0x7f800000 || (in->imm & 0xffff) == 0;
    case NXK_cast: return nxk_dtype(source, in->args[0]) == NX_BF16;
    case NXK_copysign:
    case NXK_splat:
    case NXK_abs:
    case NXK_neg: return known[in->args[0]];
    case NXK_select:
    case NXK_blend: return known[in->args[1]] && known[in->args[2]];
    case NXK_fma: return known[in->args[0]] && known[in->args[1]] && known[in->args[2]];
    case NXK_add:
    case NXK_sub:
    case NXK_mul:
    case NXK_div: return known[in->args[0]] && known[in->args[1]];
    default: return false;
  }
}

/* The f32 of a, a small float that is value v of the kernel that is read. What was rounded for it
 * need not become one. */
static nxk_value widen_value(const legalizer *l, nxk_value v, nxk_value a) {
  if (l->words[v] == NXK_NONE) return widen(l, a);
  return bits_as(l->k, NX_F32, op2(l->k, NXK_and, l->words[v], u32(l->k, 0xffff0000)));
}

static nxk_value legal_cast(const legalizer *l, nx_dtype to, nxk_value v, nxk_value a) {
  nx_dtype from = dtype_of(l->k, a);
  if (from == to) return a;
  if (nxi_is_small_float(from)) a = widen_value(l, v, a);
  return nxi_is_small_float(to) ? cast_to_small(l, to, a) : nxk_cast_to(l->k, to, a);
}

/* ---- fmod. It is computed in f64; the remainder of two f32 numbers is an f32 number. In one step,
 * for x / y < 2^52, the rounded and truncated quotient is right or one too large, and the fma is
 * exact; if its result is negative, y is added once. If x / y is larger, x is first reduced by y *
 * 2^(51 i) for falling i, one step for each; a multiple that overflows to infinity is larger than x
 * and changes nothing. */

static nxk_value reduce_step(nxk_kernel *k, nxk_value x, nxk_value y) {
  nxk_value q = op1(k, NXK_trunc, op2(k, NXK_div, x, y));
  nxk_value r = op3(k, NXK_fma, op1(k, NXK_neg, q), y, x);
  r = op3(k, NXK_select, op2(k, NXK_lt, r, f64(k, 0)), op2(k, NXK_add, r, y), r);
  return op3(k, NXK_select, op2(k, NXK_le, y, x), r, x);
}

/* y * 2^exponent, in three factors, because the exponent (i64, lanes 1) may exceed that of a single
 * f64. */
static nxk_value scaled(nxk_kernel *k, nxk_value y, nxk_value exponent) {
  for (int i = 0; i < 3; i++) {
    nxk_value part = op2(k, NXK_min, exponent, nxk_const_i(k, NX_I64, 1000));
    nxk_value field = op2(k, NXK_shl, op2(k, NXK_add, part, nxk_const_i(k, NX_I64, 1023)),
                          nxk_const_i(k, NX_I64, 52));
    y = op2(k, NXK_mul, y, bits_as(k, NX_F64, field));
    exponent = op2(k, NXK_sub, exponent, part);
  }
  return y;
}

static nxk_value reduce_far(nxk_kernel *k, nxk_value x, nxk_value y, int64_t steps) {
  nxk_value i = nxk_begin_range(k, NXK_SEQ, steps), carry = nxk_carry(k, x);
  nxk_value left = op2(k, NXK_sub, nxk_const_i(k, NX_I64, steps), i);
  nxk_value next =
      reduce_step(k, carry, scaled(k, y, op2(k, NXK_mul, left, nxk_const_i(k, NX_I64, 51))));
  nxk_next(k, carry, next);
  nxk_end(k);
  return carry;
}

static nxk_value float_mod(nxk_kernel *k, nxk_value a, nxk_value b) {
  nx_dtype t = dtype_of(k, a);
  int64_t steps = t == NX_F64 ? 41 : 5; /* quotients are below 2^2098 and 2^277 */
  nxk_value wide_a = nxk_cast_to(k, NX_F64, a), wide_b = nxk_cast_to(k, NX_F64, b);
  nxk_value x = op1(k, NXK_abs, wide_a), y = op1(k, NXK_abs, wide_b);
  nxk_value far = op2(k, NXK_le, op2(k, NXK_mul, y, f64(k, 0x1p52)), x);
  nxk_value cold = nxk_begin_cold(k, far);
  nxk_value reduced = reduce_far(k, x, y, steps);
  nxk_end(k);
  x = reduce_step(k, nxk_blend(k, cold, reduced, x), y);
  x = op3(k, NXK_select, is_nan(k, wide_b), wide_b, x);
  return nxk_cast_to(k, t, op2(k, NXK_copysign, x, wide_a));
}

/* ---- the pass */

static bool is_comparison(nxk_op op) {
  return op < NXK_SCALAR_COUNT && nxk_scalars[op].result == NXK_RESULT_BOOL;
}

/* Whether an instruction is legal as it is. */
static bool is_legal(const legalizer *l, const nxk_kernel *source, nxk_value v) {
  const nxk_instr *in = &source->instrs[v];
  if (in->op >= NXK_SCALAR_COUNT) return true;
  nx_dtype type = nxk_dtype(source, in->args[0]);
  bool small = nxi_is_small_float(type);
  if (in->op == NXK_cast) {
    bool twice = l->twice && in->lanes > 1 && in->dtype == NX_F32 && nxi_is_integer(type) &&
                 nxi_dtypes[type].bits == 64;
    return !small && !nxi_is_small_float(in->dtype) && !twice;
  }
  if (in->op == NXK_mod) return type != NX_F32 && type != NX_F64;
  if (in->op == NXK_ldexp) return l->scales;
  return !small || !is_comparison((nxk_op)in->op);
}

/* Rewrites instruction v; false if it stays as it is. */
static bool rewrite(const legalizer *l, const nxk_kernel *source, nxk_value v, nxk_value *map) {
  const nxk_instr *in = &source->instrs[v];
  if (is_legal(l, source, v)) return false;
  nx_dtype type = nxk_dtype(source, in->args[0]);
  nxk_value a = map[in->args[0]], b = in->n_args > 1 ? map[in->args[1]] : NXK_NONE;
  if (in->op == NXK_ldexp) return (map[v] = nxk_scale_within(l->k, source, v, map)) != NXK_NONE;
  if (in->op == NXK_mod) map[v] = float_mod(l->k, a, b);
  else if (in->op != NXK_cast)
    map[v] =
        op2(l->k, (nxk_op)in->op, widen_value(l, in->args[0], a), widen_value(l, in->args[1], b));
  else if (in->dtype == NX_BF16 && type == NX_F32 && !l->bf16) {
    l->words[v] = round_upper(l->k, a, l->short_nan[in->args[0]]);
    map[v] = upper_as_bf16(l->k, l->words[v]);
  } else if (nxi_is_small_float(type) || nxi_is_small_float(in->dtype))
    map[v] = legal_cast(l, in->dtype, in->args[0], a);
  else map[v] = nxk_cast_to(l->k, NX_F32, wide_to_f64(l->k, a, 53, 12));
  return true;
}

static bool all_legal(const legalizer *l, const nxk_kernel *k, const uint8_t *needed) {
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (needed[v] && !is_legal(l, k, v)) return false;
  return true;
}

static void copy_tables(nxk_kernel *k, const nxk_kernel *source) {
  k->threads = source->threads;
  for (uint32_t i = 0; i < source->n_buffers && !k->failed; i++) {
    const nxk_buffer *b = &source->buffers[i];
    nxk_add_buffer(k, b->kind, b->dtype, b->elements);
    if (!k->failed) k->buffers[i] = *b;
  }
  for (uint32_t i = 0; i < source->n_params && !k->failed; i++)
    nxk_add_param(k, source->param_types[i]);
}

/* F16C on x86-64, always on AArch64. */
static bool converts_half(const nxi_target *t) { return strcmp(t->isa, "generic") != 0; }

/* A GPU of that compute capability (times ten) or a later one. */
static bool is_gpu_from(const nxi_target *t, int capability) {
  return strncmp(t->isa, "sm_", 3) == 0 && atoi(t->isa + 3) >= capability;
}

/* AVX-512 has the instruction. */
static bool scales(const nxi_target *t) { return strcmp(t->isa, "avx512") == 0; }

static bool write_legal(legalizer *l, const nxk_kernel *k, const uint8_t *needed, nxk_value *map) {
  l->k = nxk_create(k->level, k->name);
  if (l->k == NULL) return false;
  copy_tables(l->k, k);
  for (nxk_value v = 0; v < k->n_instrs && !l->k->failed; v++) {
    l->short_nan[v] = l->hands_on && has_short_nan(k, v, l->short_nan);
    l->words[v] = NXK_NONE;
    if (needed[v] && !rewrite(l, k, v, map)) nxk_copy_instr(l->k, k, v, map);
  }
  return !l->k->failed;
}

/* Most kernels are legal, and only what nobody needs is left out of their copies. */
nxk_kernel *nxk_pass_legalize(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  nxk_value *map = nxi_calloc((size_t)k->n_instrs + 1, sizeof *map);
  uint8_t *needed = nxi_calloc((size_t)k->n_instrs + 1, 1);
  legalizer l = {.half = converts_half(t),
                 .bf16 = is_gpu_from(t, 80),
                 .f8 = is_gpu_from(t, 89),
                 .scales = scales(t),
                 .hands_on = strncmp(t->isa, "sm_", 3) != 0,
                 .short_nan = nxi_calloc((size_t)k->n_instrs + 1, 1),
                 .words = nxi_calloc((size_t)k->n_instrs + 1, sizeof *l.words),
                 .twice = strcmp(t->isa, "neon") == 0};
  bool ok = map && needed && l.short_nan && l.words;
  if (ok) nxk_mark_needed(k, needed);
  if (ok && all_legal(&l, k, needed)) ok = (l.k = nxk_copy_needed(k, needed, map)) != NULL;
  else if (ok) ok = write_legal(&l, k, needed, map);
  nxi_free(map);
  nxi_free(needed);
  nxi_free(l.short_nan);
  nxi_free(l.words);
  if (ok) return l.k;
  nxk_destroy(l.k);
  nxi_oom(d);
  return NULL;
}
