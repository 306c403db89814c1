/* SPDX-License-Identifier: ISC */
/* Quotients of bf16 and f16 by what is the same for many of them, as the sum of a row in a softmax,
 * become products with its inverse, which is found once. A division of f32 takes a GPU ten
 * instructions, and two of a unit that has an eighth of the others' rate.
 *
 * No bit changes. bf16: operands have 8 digits, a number half way between two of bf16 has 9, so no
 * quotient is such a number: it is at least 2^-17 of itself away from each, and the product is off
 * by 2^-23 of itself at most. Of subnormal results it is one, or 2^-142 away from it, and both the
 * quotient and the product are rounded to multiples of 2^-149. The inverse of the divisor times a
 * power of two is a normal number, or 0 or infinite as the quotient is, and the dividend times that
 * power is exact, or infinite where the quotient is.
 *
 * f16: operands have 11 digits, and what is half way between two numbers 12 at most, so a quotient
 * is one of these or 2^-23 of itself away, but it may be one of them among subnormal numbers. So
 * the inverse is a sum of two numbers, right to 45 digits: the product with it, rounded to f32
 * once, is each number of 12 digits that the quotient is, and otherwise off by 2^-24. Nothing of it
 * is subnormal. Both parts have one sign, and neither is 0 unless the divisor is infinite, so that
 * the product is 0 of the right sign, infinite or NaN where the quotient is.
 * Needs: logical level. Keeps: bits. */
#include <string.h>

#include "ir/alloc.h"
#include "passes.h"

enum { DEPTH = 4 };

/* What is to be done with an instruction. */
enum { NOTHING, QUOTIENT = 1, DIVISOR = 2 };

static bool is_narrow(const nxk_kernel *k, nxk_value v, nx_dtype t, int depth);

/* Whether all that is stored in a LOCAL array are numbers of that type. */
static bool holds_narrow(const nxk_kernel *k, uint32_t buffer, nx_dtype t, int depth) {
  if (k->buffers[buffer].kind != NXK_LOCAL) return false;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_store && k->accesses[in->imm].buffer == buffer &&
        !is_narrow(k, in->args[0], t, depth))
      return false;
  }
  return true;
}

/* Whether an f32 is a number of that type. */
static bool is_narrow(const nxk_kernel *k, nxk_value v, nx_dtype t, int depth) {
  const nxk_instr *in = &k->instrs[v];
  if (in->dtype != NX_F32 || depth == 0) return false;
  if (in->op == NXK_cast) return nxk_dtype(k, in->args[0]) == t;
  if (in->op == NXK_const)
    return nxi_cast_bits(nxi_cast_bits(in->imm, NX_F32, t), t, NX_F32) == in->imm;
  if (in->op == NXK_load) return holds_narrow(k, k->accesses[in->imm].buffer, t, depth - 1);
  return false;
}

/* The type of the numbers that a division divides. */
static nx_dtype type_of(const nxk_kernel *k, nxk_value v) {
  return nxk_dtype(k, k->instrs[k->instrs[v].args[1]].args[0]);
}

/* Whether a division has operands of 16 bits, of which the divisor is found outside of the loop
 * that it is in. */
static bool is_candidate(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op != NXK_div || in->dtype != NX_F32) return false;
  const nxk_instr *divisor = &k->instrs[in->args[1]];
  if (divisor->op != NXK_cast || divisor->block == in->block) return false;
  const nx_dtype t = type_of(k, v);
  return (t == NX_BF16 || t == NX_F16) && is_narrow(k, in->args[0], t, DEPTH);
}

/* Marks quotients of which nothing but their rounding to that type is used, and their divisors.
 * False: there are none. */
static bool mark(const nxk_kernel *k, uint8_t *marks) {
  bool any = false;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (is_candidate(k, v)) marks[v] = QUOTIENT;
    for (int a = 0; a < in->n_args; a++) {
      const nxk_value q = in->args[a];
      if (q >= v || marks[q] != QUOTIENT) continue;
      if (in->op != NXK_cast || in->dtype != type_of(k, q)) marks[q] = NOTHING;
    }
  }
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    if (marks[v] != QUOTIENT) continue;
    marks[k->instrs[v].args[1]] |= DIVISOR;
    any = true;
  }
  return any;
}

bool nxk_has_quotients(const nxk_kernel *k) {
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (is_candidate(k, v)) return true;
  return false;
}

/* ---- writing */

typedef struct inverse {
  nx_dtype type;
  nxk_value value;
  nxk_value power; /* bf16: the power of two that the inverse lacks */
  nxk_value low;   /* f16: what is to be added to `value` */
} inverse;

/* value + low = 1 / y, `value` rounded toward 0. */
static inverse invert_f16(nxk_kernel *k, nxk_value y) {
  inverse out = {.type = NX_F16};
  nxk_value one = nxk_const_f(k, NX_F32, 1), zero = nxk_const_f(k, NX_F32, 0);
  nxk_value tiny = nxk_const_f(k, NX_F32, 0x1p-100);
  nxk_value r = NXK_SCALAR2(k, NXK_div, one, y);
  nxk_value left = NXK_SCALAR3(k, NXK_fma, NXK_SCALAR1(k, NXK_neg, r), y, one);
  nxk_value bits = nxk_scalar(k, NXK_bitcast, NX_U32, r, NXK_NONE, NXK_NONE);
  nxk_value less = NXK_SCALAR2(k, NXK_sub, bits, nxk_const(k, NX_U32, 1));
  less = nxk_scalar(k, NXK_bitcast, NX_F32, less, NXK_NONE, NXK_NONE);
  out.value = NXK_SCALAR3(k, NXK_select, NXK_SCALAR2(k, NXK_lt, left, zero), less, r);
  left = NXK_SCALAR3(k, NXK_fma, NXK_SCALAR1(k, NXK_neg, out.value), y, one);
  nxk_value low = NXK_SCALAR1(k, NXK_abs, NXK_SCALAR2(k, NXK_mul, left, out.value));
  low = NXK_SCALAR3(k, NXK_select, NXK_SCALAR2(k, NXK_lt, tiny, low), low, tiny);
  out.low = NXK_SCALAR2(k, NXK_copysign, low, out.value);
  return out;
}

static inverse invert_bf16(nxk_kernel *k, nxk_value y) {
  inverse out = {.type = NX_BF16};
  nxk_value size = NXK_SCALAR1(k, NXK_abs, y), one = nxk_const_f(k, NX_F32, 1);
  nxk_value least = nxk_const_f(k, NX_F32, 0x1p-126), most = nxk_const_f(k, NX_F32, 0x1p126);
  nxk_value up = nxk_const_f(k, NX_F32, 0x1p24), down = nxk_const_f(k, NX_F32, 0x1p-4);
  nxk_value small = NXK_SCALAR2(k, NXK_lt, size, least);
  nxk_value usual = NXK_SCALAR2(k, NXK_lt, size, most);
  out.power = NXK_SCALAR3(k, NXK_select, usual, one, down);
  out.power = NXK_SCALAR3(k, NXK_select, small, up, out.power);
  out.value = NXK_SCALAR2(k, NXK_div, one, NXK_SCALAR2(k, NXK_mul, y, out.power));
  return out;
}

static nxk_value times(nxk_kernel *k, nxk_value x, const inverse *by) {
  if (by->type == NX_F16)
    return NXK_SCALAR3(k, NXK_fma, x, by->value, NXK_SCALAR2(k, NXK_mul, x, by->low));
  return NXK_SCALAR2(k, NXK_mul, NXK_SCALAR2(k, NXK_mul, x, by->power), by->value);
}

static nxk_kernel *write_products(const nxk_kernel *k, const uint8_t *marks) {
  nxk_kernel *to = nxk_create_like(k);
  nxk_value *map = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *map);
  inverse *inverses = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *inverses);
  bool good = to != NULL && map != NULL && inverses != NULL;
  if (good) memset(map, 0xff, ((size_t)k->n_instrs + 1) * sizeof *map);
  for (nxk_value v = 0; good && v < k->n_instrs && !to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (marks[v] & QUOTIENT) {
      map[v] = times(to, map[in->args[0]], &inverses[in->args[1]]);
    } else {
      nxk_copy_instr(to, k, v, map);
    }
    if (marks[v] & DIVISOR)
      inverses[v] =
          nxk_dtype(k, in->args[0]) == NX_F16 ? invert_f16(to, map[v]) : invert_bf16(to, map[v]);
  }
  good = good && !to->failed;
  nxi_free(map);
  nxi_free(inverses);
  if (good) return to;
  nxk_destroy(to);
  return NULL;
}

nxk_kernel *nxk_pass_quotients(const nxk_kernel *k, nxi_diag *d) {
  uint8_t *marks = nxi_calloc((size_t)k->n_instrs + 1, 1);
  nxk_kernel *products = NULL, *out = NULL;
  if (marks != NULL) products = mark(k, marks) ? write_products(k, marks) : nxk_clone(k);
  nxi_free(marks);
  if (products != NULL) out = nxk_pass_simplify(products, d);
  if (out != products) nxk_destroy(products);
  if (out == NULL) nxi_oom(d);
  return out;
}
