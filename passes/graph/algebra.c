/* SPDX-License-Identifier: ISC */
/* Algebraic identities that hold for every value, bit for bit (all NaNs being one value). The
 * following well-known identities do not hold in that sense, and are not applied: x + 0 (-0 + 0 is
 * +0), x * 0 and x - x (NaN, infinities, -0), and x / c as x * (1 / c) unless c is a power of two.
 * Keeps: bits. */
#include "rewrite.h"

#include <math.h>

#include "ir/alloc.h"

static bool constant_of(const nxg_rewrite *r, uint32_t node, uint64_t *bits, nx_dtype *t) {
  const nxg_node *n = &r->to->nodes[node];
  if (n->op != NXG_full || n->attrs[1] >= 0 || nxi_is_complex(n->dtype)) return false;
  *bits = (uint64_t)n->attrs[0];
  *t = n->dtype;
  return true;
}

static double as_double(uint64_t bits, nx_dtype t) {
  return nxi_f64_bits(nxi_cast_bits(bits, t, NX_F64));
}

/* Of a dtype without infinities the identity of a maximum is NaN, which is no neutral operand. */
static bool is_identity(nxg_op reduce, uint64_t bits, nx_dtype t) {
  if (nxi_is_float(t) && isnan(as_double(bits, t))) return false;
  return bits == nxk_reduce_identity(nxg_reduce_kind(reduce), t);
}

/* Whether constant node b leaves a unchanged in `a op b`. */
static bool is_right_neutral(const nxg_rewrite *r, nxg_op op, uint32_t b) {
  uint64_t bits;
  nx_dtype t;
  if (!constant_of(r, b, &bits, &t)) return false;
  bool is_float = nxi_is_float(t);
  double x = is_float ? as_double(bits, t) : 0;
  switch (op) {
    case NXG_add: /* only -0 */ return is_float ? x == 0 && signbit(x) : bits == 0;
    case NXG_sub: /* only +0 */ return is_float ? x == 0 && !signbit(x) : bits == 0;
    case NXG_mul:
    case NXG_div:
    case NXG_pow: return is_float ? x == 1 : bits == 1;
    case NXG_or:
    case NXG_xor:
    case NXG_shl:
    case NXG_shr: return bits == 0;
    case NXG_and: return bits == nxi_cast_bits(UINT64_MAX, NX_I64, t);
    case NXG_max: return is_identity(NXG_reduce_max, bits, t);
    case NXG_min: return is_identity(NXG_reduce_min, bits, t);
    default: return false;
  }
}

static bool is_constant_bool(const nxg_rewrite *r, uint32_t node, bool value) {
  uint64_t bits;
  nx_dtype t;
  return constant_of(r, node, &bits, &t) && t == NX_BOOL && (bits != 0) == value;
}

/* The condition that a node is: what chooses true or false by it, or asks whether its number is not
 * zero. UINT32_MAX: it is none. */
static uint32_t condition_of(const nxg_rewrite *r, const nxg_node *n) {
  const uint32_t a = n->n_args > 0 ? r->map[n->args[0]] : UINT32_MAX;
  uint64_t bits;
  nx_dtype t;
  if (n->op == NXG_where)
    return is_constant_bool(r, r->map[n->args[1]], true) &&
                   is_constant_bool(r, r->map[n->args[2]], false)
               ? a
               : UINT32_MAX;
  if (n->op != NXG_cmpne || !constant_of(r, r->map[n->args[1]], &bits, &t)) return UINT32_MAX;
  const nxg_node *x = &r->to->nodes[a];
  const bool number = x->op == NXG_cast && r->to->nodes[x->args[0]].dtype == NX_BOOL;
  return number && !nxi_is_complex(t) && as_double(bits, t) == 0 ? x->args[0] : UINT32_MAX;
}

static bool commutes(nxg_op op) {
  return nxg_ops[op].scalar >= 0 && (nxk_scalars[nxg_ops[op].scalar].flags & NXK_COMM);
}

/* The new node that old node i equals, UINT32_MAX if there is none. */
static uint32_t equal_node(const nxg_rewrite *r, const nxg_node *n) {
  uint32_t a = n->n_args > 0 ? r->map[n->args[0]] : UINT32_MAX,
           b = n->n_args > 1 ? r->map[n->args[1]] : UINT32_MAX;
  uint64_t bits;
  nx_dtype t;
  const uint32_t condition = condition_of(r, n);
  if (condition != UINT32_MAX) return condition;
  if (n->n_args == 2 && nxg_ops[n->op].kind == NXG_KIND_MAP) {
    if (is_right_neutral(r, (nxg_op)n->op, b)) return a;
    if (commutes((nxg_op)n->op) && is_right_neutral(r, (nxg_op)n->op, a)) return b;
    bool idempotent = n->op == NXG_max || n->op == NXG_min || n->op == NXG_and || n->op == NXG_or;
    return idempotent && a == b ? a : UINT32_MAX;
  }
  if (n->op == NXG_where) {
    if (constant_of(r, a, &bits, &t)) return bits ? b : r->map[n->args[2]];
    return b == r->map[n->args[2]] ? b : UINT32_MAX;
  }
  if (n->n_args != 1) return UINT32_MAX;
  const nxg_node *x = &r->to->nodes[a];
  switch (n->op) {
    case NXG_neg: return x->op == NXG_neg ? x->args[0] : UINT32_MAX;
    case NXG_abs:
    case NXG_copy:
    case NXG_rint:
    case NXG_trunc:
    case NXG_floor:
    case NXG_ceil:
    case NXG_round: /* rounding is idempotent */ return x->op == n->op ? a : UINT32_MAX;
    case NXG_cast: { /* a cast to a dtype that holds every value, and back */
      if (x->dtype == n->dtype) return a;
      bool back = x->op == NXG_cast && r->to->nodes[x->args[0]].dtype == n->dtype;
      bool exact = (n->dtype == NX_F32 && x->dtype == NX_F64) ||
                   (nxi_is_small_float(n->dtype) && (x->dtype == NX_F32 || x->dtype == NX_F64)) ||
                   (nxi_is_integer(n->dtype) && nxi_is_integer(x->dtype) &&
                    nxi_dtype_size(x->dtype) >= nxi_dtype_size(n->dtype));
      return back && exact ? x->args[0] : UINT32_MAX;
    }
    case NXG_bitcast: return x->dtype == n->dtype ? a : UINT32_MAX;
    default: return UINT32_MAX;
  }
}

/* x / 2^k is x * 2^-k: both round the same real number once. */
static bool divide_by_power(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  uint64_t bits;
  nx_dtype t;
  int exponent;
  if (n->op != NXG_div || !nxi_is_float(n->dtype) || !constant_of(r, r->map[n->args[1]], &bits, &t))
    return false;
  double x = as_double(bits, t);
  if (!isfinite(x) || x == 0 || fabs(frexp(x, &exponent)) != 0.5) return false;
  uint64_t inverse = nxi_cast_bits(nxi_bits_f64(1 / x), NX_F64, t);
  if (!isfinite(1 / x) || as_double(inverse, t) != 1 / x) return false;
  int64_t attrs[2] = {(int64_t)inverse, -1};
  uint32_t args[2] = {r->map[n->args[0]],
                      nxg_rewrite_add(r, i, NXG_full, 0, NULL, attrs, 2, t, n->rank, n->shape)};
  nxg_rewrite_map(r, i,
                  nxg_rewrite_add(r, i, NXG_mul, 2, args, NULL, 0, n->dtype, n->rank, n->shape));
  return true;
}

/* The exponent of a power if it is a constant between -1 and 3, otherwise 4. */
static double small_exponent(const nxg_rewrite *r, const nxg_node *n) {
  uint64_t bits;
  nx_dtype t;
  if (n->op != NXG_pow || !constant_of(r, r->map[n->args[1]], &bits, &t)) return 4;
  const double y = as_double(bits, t);
  return y >= -1 && y <= 3 ? y : 4;
}

/* Powers that are products by their definition (ir/expand/pow.c), but not of complex numbers. The
 * two products of a cube would round small floats twice, and an integer has no other inverse. */
static bool expand_power(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  const double y = small_exponent(r, n);
  if (y > 3) return false;
  const uint32_t x = r->map[n->args[0]];
  const int64_t one[2] = {(int64_t)nxi_cast_bits(nxi_bits_f64(1), NX_F64, n->dtype), -1};
  uint32_t args[2] = {x, x}, power = UINT32_MAX;
  if (y == 0) power = nxg_rewrite_add(r, i, NXG_full, 0, NULL, one, 2, n->dtype, n->rank, n->shape);
  else if (y == -1 && nxi_is_float(n->dtype))
    power = nxg_rewrite_add(r, i, NXG_recip, 1, args, NULL, 0, n->dtype, n->rank, n->shape);
  else if (y == 2 || (y == 3 && !nxi_is_small_float(n->dtype)))
    power = nxg_rewrite_add(r, i, NXG_mul, 2, args, NULL, 0, n->dtype, n->rank, n->shape);
  if (y == 3 && power != UINT32_MAX)
    power = nxg_rewrite_add(r, i, NXG_mul, 2, (uint32_t[]){power, x}, NULL, 0, n->dtype, n->rank,
                            n->shape);
  if (power != UINT32_MAX) nxg_rewrite_map(r, i, power);
  return power != UINT32_MAX;
}

static bool lies_dense(const nxg_rewrite *r, uint32_t node) {
  nxg_view v;
  nxg_node_view(r->to, node, &v);
  return nxg_view_is_contiguous(&v);
}

/* Replaces node i by an equal node. If a product reads node i (`dense`), the replacement is made
 * dense, as node i is. */
static void take_equal(nxg_rewrite *r, uint32_t i, uint32_t equal, bool dense) {
  if (dense && !lies_dense(r, equal)) equal = nxg_rewrite_copy_of(r, i, equal);
  nxg_rewrite_map(r, i, equal);
}

nx_status nxg_pass_algebra(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  bool *dense = nxg_read_by_products(g);
  r.failed = r.failed || (dense == NULL && g->n_nodes > 0);
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (g->nodes[i].op == NXG_input) continue;
    uint32_t equal = equal_node(&r, &g->nodes[i]);
    if (equal != UINT32_MAX) take_equal(&r, i, equal, dense[i]);
    else if (!divide_by_power(&r, i) && !expand_power(&r, i)) nxg_rewrite_copy(&r, i);
    else equal = r.map[i];
    r.changed = r.changed || equal != UINT32_MAX;
  }
  nxi_free(dense);
  return nxg_rewrite_end(&r, out, changed);
}
