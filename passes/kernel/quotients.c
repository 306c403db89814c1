/* SPDX-License-Identifier: ISC */
/* Quotients of bf16 by what is the same for many of them, as the sum of a row in a softmax, become
 * products with its inverse, which is found once. A division of f32 takes a GPU ten instructions,
 * and two of a unit that has an eighth of the others' rate.
 *
 * No bit changes. Operands have 8 digits, a number half way between two of bf16 has 9, so no
 * quotient is such a number: it is at least 2^-17 of itself away from each, and the product is off
 * by 2^-23 of itself at most. Of subnormal results it is one, or 2^-142 away from it, and both the
 * quotient and the product are rounded to multiples of 2^-149. The inverse of the divisor times a
 * power of two is a normal number, or 0 or infinite as the quotient is, and the dividend times that
 * power is exact, or infinite where the quotient is.
 * Needs: logical level. Keeps: bits. */
#include <string.h>

#include "ir/alloc.h"
#include "passes.h"

enum { DEPTH = 4, LOST_BITS = 16 }; /* of an f32, beyond those of a bf16 */

/* What is to be done with an instruction. */
enum { NOTHING, QUOTIENT = 1, DIVISOR = 2 };

static bool is_narrow(const nxk_kernel *k, nxk_value v, int depth);

/* Whether all that is stored in a LOCAL array are numbers of bf16. */
static bool holds_narrow(const nxk_kernel *k, uint32_t buffer, int depth) {
  if (k->buffers[buffer].kind != NXK_LOCAL) return false;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_store && k->accesses[in->imm].buffer == buffer &&
        !is_narrow(k, in->args[0], depth))
      return false;
  }
  return true;
}

/* Whether an f32 is a number of bf16. */
static bool is_narrow(const nxk_kernel *k, nxk_value v, int depth) {
  const nxk_instr *in = &k->instrs[v];
  if (in->dtype != NX_F32 || depth == 0) return false;
  if (in->op == NXK_cast) return nxk_dtype(k, in->args[0]) == NX_BF16;
  if (in->op == NXK_const) return (in->imm & ((1u << LOST_BITS) - 1)) == 0;
  if (in->op == NXK_load) return holds_narrow(k, k->accesses[in->imm].buffer, depth - 1);
  return false;
}

/* Whether a division has operands that are numbers of bf16, of which the divisor is found outside
 * of the loop that it is in. */
static bool is_candidate(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op != NXK_div || in->dtype != NX_F32) return false;
  const nxk_instr *divisor = &k->instrs[in->args[1]];
  return divisor->op == NXK_cast && divisor->block != in->block &&
         is_narrow(k, in->args[1], DEPTH) && is_narrow(k, in->args[0], DEPTH);
}

/* Marks quotients of which nothing but their rounding to bf16 is used, and their divisors. False:
 * there are none. */
static bool mark(const nxk_kernel *k, uint8_t *marks) {
  bool any = false;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (is_candidate(k, v)) marks[v] = QUOTIENT;
    bool rounds = in->op == NXK_cast && in->dtype == NX_BF16;
    for (int a = 0; a < in->n_args && !rounds; a++)
      if (in->args[a] < v && marks[in->args[a]] == QUOTIENT) marks[in->args[a]] = NOTHING;
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
  nxk_value power, value; /* the power of two, and the inverse of the divisor times that */
} inverse;

static inverse invert(nxk_kernel *k, nxk_value y) {
  inverse out;
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

static nxk_kernel *write_products(const nxk_kernel *k, const uint8_t *marks) {
  nxk_kernel *to = nxk_create_like(k);
  nxk_value *map = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *map);
  inverse *inverses = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *inverses);
  bool good = to != NULL && map != NULL && inverses != NULL;
  if (good) memset(map, 0xff, ((size_t)k->n_instrs + 1) * sizeof *map);
  for (nxk_value v = 0; good && v < k->n_instrs && !to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (marks[v] & QUOTIENT) {
      const inverse *by = &inverses[in->args[1]];
      nxk_value x = NXK_SCALAR2(to, NXK_mul, map[in->args[0]], by->power);
      map[v] = NXK_SCALAR2(to, NXK_mul, x, by->value);
    } else {
      nxk_copy_instr(to, k, v, map);
    }
    if (marks[v] & DIVISOR) inverses[v] = invert(to, map[v]);
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
