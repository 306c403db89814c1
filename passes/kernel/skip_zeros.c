/* SPDX-License-Identifier: ISC */
/* Divisions of +0 and exponentials that are +0, of which a row under a mask has many. They stand in
 * a cold block, which is left out where all numbers of a vector are such ones.
 * Needs: logical level. Keeps: bits. */
#include "passes.h"

/* exp(x) rounds to +0 for all x up to that. */
static double least_exponent(nx_dtype t) { return t == NX_F32 ? -105 : -750; }

static bool is_skipped(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  return (in->op == NXK_exp || in->op == NXK_div) && (in->dtype == NX_F32 || in->dtype == NX_F64) &&
         in->block != NXK_NONE && k->instrs[in->block].op == NXK_for;
}

/* Whether the result may differ from what it is for +0, or for very small powers. */
static nxk_value counts(nxk_kernel *k, nxk_op op, nxk_value x) {
  const nx_dtype t = nxk_dtype(k, x);
  if (op == NXK_exp) {
    const nxk_value least = nxk_const_f(k, t, least_exponent(t));
    return NXK_SCALAR1(k, NXK_not, NXK_SCALAR2(k, NXK_le, x, least)); /* NaN counts */
  }
  const nx_dtype word = t == NX_F32 ? NX_I32 : NX_I64;
  const nxk_value bits = nxk_scalar(k, NXK_bitcast, word, x, NXK_NONE, NXK_NONE);
  return NXK_SCALAR2(k, NXK_ne, bits, nxk_const_i(k, word, 0));
}

static void write_skipped(nxk_kernel *k, const nxk_kernel *from, nxk_value v, nxk_value *map) {
  const nxk_instr *in = &from->instrs[v];
  const nxk_value zero = nxk_const(k, (nx_dtype)in->dtype, 0), x = map[in->args[0]],
                  other =
                      in->op == NXK_div ? NXK_SCALAR2(k, NXK_div, zero, map[in->args[1]]) : zero,
                  cold = nxk_begin_cold(k, counts(k, (nxk_op)in->op, x)),
                  inside = nxk_copy_instr(k, from, v, map);
  nxk_end(k);
  map[v] = nxk_blend(k, cold, inside, other);
}

nxk_kernel *nxk_skip_zeros(const nxk_kernel *k, nxi_diag *d) {
  nxk_kernel *to = nxk_create_like(k);
  nxk_value *map = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *map);
  bool ok = to != NULL && map != NULL;
  for (nxk_value v = 0; ok && v < k->n_instrs && !to->failed; v++) {
    if (is_skipped(k, v)) write_skipped(to, k, v, map);
    else nxk_copy_instr(to, k, v, map);
  }
  nxi_free(map);
  if (ok && !to->failed) return to;
  nxk_destroy(to);
  nxi_oom(d);
  return NULL;
}
