/* SPDX-License-Identifier: ISC */
/* Template STRIPS of the CPU binder: which values differ from column to column, which segment each
 * belongs to, and which are kept in LOCAL arrays because another segment needs them. */
#include "strips.h"

void nxb_strips_operands(nxb_strips *s, nxk_value v, nxb_operand_visitor visit) {
  const nxk_instr *in = &s->b->from->instrs[v];
  for (int i = 0; i < in->n_args; i++) visit(s, v, in->args[i]);
  if (in->op != NXK_load && in->op != NXK_store) return;
  const nxk_access *a = &s->b->from->accesses[in->imm];
  const nxk_value others[3] = {a->index, a->mask, a->other};
  for (uint32_t i = 0; i < a->n_terms; i++) visit(s, v, a->terms[i].index);
  for (int i = 0; i < 3; i++)
    if (others[i] != NXK_NONE) visit(s, v, others[i]);
}

static void inherit(nxb_strips *s, nxk_value v, nxk_value operand) {
  s->varies[v] = s->varies[v] || s->varies[operand];
}

static bool is_local(const nxb_strips *s, nxk_value v) {
  const nxk_instr *in = &s->b->from->instrs[v];
  bool memory = in->op == NXK_load || in->op == NXK_store;
  return memory && s->b->from->buffers[s->b->from->accesses[in->imm].buffer].kind == NXK_LOCAL;
}

nxk_value nxb_last_blend(const nxb_binder *b, nxk_value cold) {
  const nxk_kernel *k = b->from;
  nxk_value last = b->end_of[cold];
  while (k->instrs[last + 1].op == NXK_blend && k->instrs[last + 1].args[0] == cold) last++;
  return last;
}

static void find_varying(nxb_strips *s) {
  const nxk_kernel *k = s->b->from;
  const nxb_region *p = s->b->region;
  s->varies[s->dim.loop.value] = true;
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    s->varies[v] = s->varies[v] || k->instrs[v].op == NXK_reduce || is_local(s, v);
    nxb_strips_operands(s, v, inherit);
  }
  /* a cold block and its blends stay in one segment */
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    bool any = false;
    if (k->instrs[v].op != NXK_cold) continue;
    nxk_value last = nxb_last_blend(s->b, v);
    for (nxk_value i = v; i <= last; i++) any = any || s->varies[i];
    for (nxk_value i = v; i <= last; i++) s->varies[i] = any;
    v = last;
  }
  for (nxk_value v = p->first + 1; v < p->last; v++) nxb_strips_operands(s, v, inherit);
}

static void keep(nxb_strips *s, nxk_value v, nxk_value operand) {
  const nxk_instr *in = &s->b->from->instrs[operand];
  bool value = in->op < NXK_SCALAR_COUNT || in->op == NXK_load || in->op == NXK_blend;
  if (!value || !s->varies[operand] || s->segment[v] == s->segment[operand] ||
      s->home[operand] != NXK_NONE)
    return;
  s->home[operand] = nxb_add_local(s->b, in->dtype, s->width);
}

/* Numbers the segments by their first instruction. The loop nest of a reduction is one segment. */
static void find_segments(nxb_strips *s) {
  const nxk_kernel *k = s->b->from;
  const nxb_region *p = s->b->region;
  uint32_t segment = p->body_first;
  for (nxk_value v = p->body_first; v < p->last; v++) {
    bool loop = k->instrs[v].op == NXK_for;
    bool end = k->instrs[v].op == NXK_end && k->instrs[k->instrs[v].block].op != NXK_cold;
    nxk_value last = loop && k->loops[k->instrs[v].imm].kind == NXK_REDUCE ? s->b->end_of[v] : v;
    if (loop || end) segment = v;
    for (nxk_value i = v; i <= last; i++) s->segment[i] = segment;
    if (last > v) segment = last;
    v = last;
  }
}

static void find_homes(nxb_strips *s) {
  const nxb_region *p = s->b->region;
  for (nxk_value v = p->first + 1; v < p->last; v++) {
    nxb_strips_operands(s, v, keep);
    if (s->b->from->instrs[v].op == NXK_reduce)
      s->home[v] = nxb_add_local(s->b, s->b->from->instrs[v].dtype, s->width);
  }
}

void nxb_strips_find_values(nxb_strips *s) {
  find_varying(s);
  find_segments(s);
  find_homes(s);
}
