/* SPDX-License-Identifier: ISC */
/* Drops instructions of a logical kernel that nothing needs and merges equal ones (the builder does
 * that while copying). Loops that all accesses walk as one are merged earlier, while lowering
 * places expressions.
 * Needs: logical level. Keeps: bits. */
#include "passes.h"

#include <string.h>

#include "ir/called.h"

enum { FAR = 64 }; /* instructions between the parts of a complex value */

/* Whether an instruction is kept even if nothing uses its result. Carries are kept as long as their
 * loop is. */
static bool has_effect(const nxk_instr *in) {
  switch (in->op) {
    case NXK_store:
    case NXK_region:
    case NXK_for:
    case NXK_end:
    case NXK_cold:
    case NXK_carry:
    case NXK_next:
    case NXK_until:
    case NXK_barrier:
    case NXK_tree_push: return true;
    default: return false;
  }
}

static void need(uint8_t *needed, nxk_value v) {
  if (v != NXK_NONE) needed[v] = 1;
}

static void need_access(uint8_t *needed, const nxk_access *at) {
  for (uint32_t t = 0; t < at->n_terms; t++) need(needed, at->terms[t].index);
  need(needed, at->index);
  need(needed, at->mask);
  need(needed, at->other);
}

/* Goes backwards, because operands stand before their users. */
void nxk_mark_needed(const nxk_kernel *k, uint8_t *needed) {
  for (uint32_t i = k->n_instrs; i-- > 0;) {
    const nxk_instr *in = &k->instrs[i];
    needed[i] = needed[i] || has_effect(in);
    if (!needed[i]) continue;
    for (int a = 0; a < in->n_args; a++) need(needed, in->args[a]);
    if (in->op == NXK_for) {
      need(needed, k->loops[in->imm].lower.value);
      need(needed, k->loops[in->imm].upper.value);
    }
    bool tree = in->op == NXK_tree_push || in->op == NXK_tree_join;
    if (tree || in->op == NXK_load || in->op == NXK_store)
      need_access(needed, &k->accesses[in->imm]);
    if (tree && in->imm2 != UINT32_MAX) need_access(needed, &k->accesses[in->imm2]);
  }
}

/* The other part of the complex product or quotient whose real part is v: later in the same block.
 * NXK_NONE: nothing needs it. */
static nxk_value other_part(const nxk_kernel *k, const uint8_t *needed, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op != NXK_mul_real && in->op != NXK_div_real) return NXK_NONE;
  nxk_op other = in->op == NXK_mul_real ? NXK_mul_imag : NXK_div_imag;
  for (nxk_value i = v + 1; i < k->n_instrs && i - v <= FAR; i++) {
    const nxk_instr *x = &k->instrs[i];
    bool same = needed[i] && x->op == other && x->block == in->block;
    if (same && memcmp(x->args, in->args, sizeof x->args) == 0) return i;
  }
  return NXK_NONE;
}

/* Writes v, a function, in basic operations; and with it the other part of a complex value. */
static void expand(nxk_kernel *copy, const nxk_kernel *k, const uint8_t *needed, nxk_value v,
                   nxk_value *map) {
  const nxk_instr *in = &k->instrs[v];
  nxk_value args[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE}, other = other_part(k, needed, v);
  for (int a = 0; a < in->n_args; a++) args[a] = map[in->args[a]];
  if (other == NXK_NONE) {
    map[v] = nxk_expand_function(copy, (nxk_op)in->op, args);
  } else {
    nxk_value both[2] = {NXK_NONE, NXK_NONE};
    nxk_expand_parts(copy, in->op == NXK_mul_real, args, both);
    map[v] = both[0];
    map[other] = both[1];
  }
}

/* Whether there is a function to call; of a logical kernel, which has no vectors yet, perhaps. */
static bool is_callable(const nxk_kernel *k, const nxi_target *t, const nxk_instr *in) {
  const int64_t bytes =
      k->level == NXK_BOUND ? in->lanes * nxi_dtype_size((nx_dtype)in->dtype) : t->vector_bytes;
  return nxg_called(bytes, (nxk_op)in->op, (nx_dtype)in->dtype) != NULL;
}

/* A logical kernel cannot hold the loops of an expansion. */
static bool is_expandable(const nxk_kernel *k, const nxi_target *t, const nxk_instr *in) {
  uint8_t flags = in->op < NXK_SCALAR_COUNT ? nxk_scalars[in->op].flags : 0;
  if (!(flags & NXK_FUNC) || (k->level != NXK_BOUND && flags & NXK_LOOP)) return false;
  return !t->calls || !is_callable(k, t, in);
}

/* expands: for which target functions are expanded; NULL: they are not. */
static nxk_kernel *rewrite(const nxk_kernel *k, const nxi_target *expands, nxi_diag *d) {
  nxk_kernel *copy = nxk_create_like(k);
  uint8_t *needed = nxi_calloc((size_t)k->n_instrs + 1, 1);
  nxk_value *map = nxi_malloc(((size_t)k->n_instrs + 1) * sizeof *map);
  bool ok = copy != NULL && needed != NULL && map != NULL;
  if (ok) {
    memset(map, 0xff, ((size_t)k->n_instrs + 1) * sizeof *map);
    nxk_mark_needed(k, needed);
  }
  for (uint32_t i = 0; ok && i < k->n_instrs; i++) {
    const nxk_instr *in = &k->instrs[i];
    if (!needed[i]) continue;
    if (!expands || !is_expandable(k, expands, in)) nxk_copy_instr(copy, k, i, map);
    else if (map[i] == NXK_NONE) expand(copy, k, needed, i, map);
    ok = !copy->failed;
  }
  nxi_free(needed);
  nxi_free(map);
  if (ok) return copy;
  nxk_destroy(copy);
  nxi_oom(d);
  return NULL;
}

nxk_kernel *nxk_pass_simplify(const nxk_kernel *k, nxi_diag *d) { return rewrite(k, NULL, d); }

bool nxk_has_functions(const nxk_kernel *k, const nxi_target *t) {
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (is_expandable(k, t, &k->instrs[v])) return true;
  return false;
}

bool nxk_is_callable(const nxk_kernel *k, const nxi_target *t, nxk_value v) {
  return is_callable(k, t, &k->instrs[v]);
}

nxk_kernel *nxk_pass_expand(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  return rewrite(k, t, d);
}
