/* SPDX-License-Identifier: ISC */
/* Copies instructions of a kernel to a place where more is known, for example because an index has
 * become a constant. Conditions that are constant there resolve selects and remove masks. */
#include "passes.h"

static bool is_bool_constant(const nxk_kernel *k, nxk_value v, bool *truth) {
  if (k->failed || v == NXK_NONE) return false;
  const nxk_instr *in = &k->instrs[v];
  if (in->op == NXK_splat) in = &k->instrs[in->args[0]];
  if (in->op != NXK_const || in->dtype != NX_BOOL) return false;
  *truth = in->imm != 0;
  return true;
}

static bool is_integer_constant(const nxk_kernel *k, nxk_value v, int64_t *x) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op != NXK_const) return false;
  *x = (int64_t)in->imm;
  return true;
}

/* The result of an `and` or `or` with a constant operand: the other operand or the constant.
 * NXK_NONE: neither operand is constant. */
static nxk_value decided_logic(const nxk_kernel *k, nxk_op op, nxk_value a, nxk_value b) {
  bool truth;
  if (is_bool_constant(k, a, &truth)) return truth == (op == NXK_and) ? b : a;
  if (is_bool_constant(k, b, &truth)) return truth == (op == NXK_and) ? a : b;
  return NXK_NONE;
}

/* Adds stride * v to the address; the constant parts of v are added to the offset. */
static void add_term(const nxk_kernel *k, nxk_access *a, nxk_value v, int64_t stride) {
  int64_t x;
  const nxk_instr *in = &k->instrs[v];
  if (is_integer_constant(k, v, &x)) {
    a->offset += stride * x;
    return;
  }
  if (in->op == NXK_add && is_integer_constant(k, in->args[1], &x)) {
    a->offset += stride * x;
    v = in->args[0];
    in = &k->instrs[v];
  }
  if (in->op == NXK_mul && is_integer_constant(k, in->args[1], &x)) {
    stride *= x;
    v = in->args[0];
  }
  a->terms[a->n_terms++] = (nxk_term){v, stride};
}

/* The access with its operands replaced. False: k->failed. */
static bool moved_access(nxk_kernel *k, const nxk_access *from, const nxk_value *map,
                         nxk_access *to) {
  *to = *from;
  to->n_terms = 0;
  to->terms = NULL;
  if (from->n_terms > 0) to->terms = nxi_arena_alloc(&k->arena, from->n_terms * sizeof *to->terms);
  if (k->failed || (from->n_terms > 0 && to->terms == NULL)) return !(k->failed = true);
  for (uint32_t i = 0; i < from->n_terms; i++)
    add_term(k, to, map[from->terms[i].index], from->terms[i].stride);
  to->index = from->index == NXK_NONE ? NXK_NONE : map[from->index];
  to->mask = from->mask == NXK_NONE ? NXK_NONE : map[from->mask];
  to->other = from->other == NXK_NONE ? NXK_NONE : map[from->other];
  return true;
}

static nxk_value copy_memory(nxk_kernel *k, const nxk_kernel *from, const nxk_instr *in,
                             const nxk_value *map) {
  nxk_access a;
  bool truth = true;
  if (!moved_access(k, &from->accesses[in->imm], map, &a)) return NXK_NONE;
  if (is_bool_constant(k, a.mask, &truth)) a.mask = NXK_NONE;
  bool load = in->op == NXK_load;
  if (!truth && !load) return NXK_NONE;
  if (!truth)
    return nxk_splat(k, a.other != NXK_NONE ? a.other : nxk_const(k, in->dtype, 0), in->lanes);
  if (a.mask == NXK_NONE) {
    a.other = NXK_NONE;
    a.flags &= ~(uint32_t)NXK_SKIPS;
  }
  if (load) return nxk_load(k, &a, in->lanes);
  nxk_store(k, &a, map[in->args[0]]);
  return NXK_NONE;
}

nxk_value nxk_copy_decided(nxk_kernel *k, const nxk_kernel *from, nxk_value v, nxk_value *map) {
  const nxk_instr *in = &from->instrs[v];
  nxk_value decided = NXK_NONE;
  bool truth;
  if (k->failed) return map[v] = NXK_NONE;
  if (in->op == NXK_load || in->op == NXK_store) return map[v] = copy_memory(k, from, in, map);
  if ((in->op == NXK_and || in->op == NXK_or) && in->dtype == NX_BOOL)
    decided = decided_logic(k, (nxk_op)in->op, map[in->args[0]], map[in->args[1]]);
  if (in->op == NXK_select && is_bool_constant(k, map[in->args[0]], &truth))
    decided = nxk_splat(k, map[in->args[truth ? 1 : 2]], in->lanes);
  if (in->op == NXK_not && in->dtype == NX_BOOL && is_bool_constant(k, map[in->args[0]], &truth))
    decided = nxk_splat(k, nxk_const(k, NX_BOOL, !truth), in->lanes);
  return decided != NXK_NONE ? (map[v] = decided) : nxk_copy_instr(k, from, v, map);
}

bool nxk_loads_under_masks(const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_instrs; i++)
    if (k->instrs[i].op == NXK_load && k->accesses[k->instrs[i].imm].mask != NXK_NONE) return true;
  return false;
}

nxk_kernel *nxk_create_like(const nxk_kernel *k) {
  nxk_kernel *copy = nxk_create(k->level, k->name);
  if (copy == NULL) return NULL;
  copy->threads = k->threads;
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    nxk_add_buffer(copy, k->buffers[i].kind, k->buffers[i].dtype, k->buffers[i].elements);
    if (!copy->failed) copy->buffers[i] = k->buffers[i];
  }
  for (uint32_t i = 0; i < k->n_params; i++) nxk_add_param(copy, k->param_types[i]);
  return copy;
}
