/* SPDX-License-Identifier: ISC */
/* Largest and smallest numbers of several values in straight code, as of the rows that are reduced
 * together or the taps of a window, on processors whose instruction for two numbers neither lets a
 * NaN win nor orders zeros (extremes.c, which has loops). The instruction is used as it is for
 * each; the signs of all values are collected beside it, by `and` for a max, and whether one of
 * them is a NaN, by a comparison for each two. The last result gets both. Needs: bound level,
 * processors. Keeps: bits. */
#include <string.h>

#include "passes.h"

/* The last result takes as much as one update otherwise does. Of four values little is gained, and
 * they would be loaded in another order. */
enum { LEAST_UPDATES = 4 };

typedef struct writer {
  const nxk_kernel *from;
  nxk_kernel *to;
  nxk_value *map;
  uint32_t *uses;   /* of each value */
  nxk_value *after; /* for an update of a chain: the next one; itself for the last; else NXK_NONE */
  nxk_value *before; /* the update that it goes on from, or NXK_NONE */
  /* of the chain that ends so far with this update, in `to`; and a value of which it is not known
   * whether it is a NaN */
  nxk_value *signs, *nan, *waiting;
} writer;

#define op2 NXK_SCALAR2
#define op3 NXK_SCALAR3

/* ---- which chains */

/* The operand that is an update of the same kind whose result nothing else uses; NXK_NONE: the
 * chain begins here. */
static nxk_value goes_on_from(const writer *w, nxk_value v) {
  const nxk_instr *in = &w->from->instrs[v];
  for (int i = 0; i < 2; i++) {
    const nxk_value a = in->args[i];
    const nxk_instr *x = &w->from->instrs[a];
    if (x->op == in->op && x->dtype == in->dtype && x->lanes == in->lanes &&
        x->block == in->block && w->uses[a] == 1)
      return a;
  }
  return NXK_NONE;
}

static void forget(writer *w, nxk_value last) {
  for (nxk_value v = last, before; v != NXK_NONE; v = before) {
    before = w->before[v];
    w->before[v] = w->after[v] = NXK_NONE;
  }
}

static bool find_chains(writer *w) {
  const nxk_kernel *k = w->from;
  bool any = false;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    if (!nxk_is_extreme(&k->instrs[v])) continue;
    w->before[v] = goes_on_from(w, v);
    w->after[v] = v;
    if (w->before[v] != NXK_NONE) w->after[w->before[v]] = v;
  }
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    uint32_t updates = 1;
    if (w->after[v] != v) continue;
    for (nxk_value u = v; w->before[u] != NXK_NONE; u = w->before[u]) updates++;
    if (updates < LEAST_UPDATES) forget(w, v);
    else any = true;
  }
  return any;
}

/* ---- writing */

static nx_dtype bits_of(const nxk_instr *in) { return in->dtype == NX_F64 ? NX_U64 : NX_U32; }

static nxk_value cast_bits(writer *w, nx_dtype t, nxk_value a) {
  return nxk_scalar(w->to, NXK_bitcast, t, a, NXK_NONE, NXK_NONE);
}

/* Notes in *nan whether x or y is a NaN. */
static void note_nan(writer *w, nx_dtype bits, nxk_value x, nxk_value y, nxk_value *nan) {
  nxk_value any = op2(w->to, NXK_ne, x, x);
  if (y != x) any = op2(w->to, NXK_or, any, op2(w->to, NXK_ne, y, y));
  nxk_value ones = nxk_const(w->to, bits, bits == NX_U64 ? UINT64_MAX : UINT32_MAX);
  nxk_value mask = op3(w->to, NXK_select, any, ones, nxk_const(w->to, bits, 0));
  *nan = *nan == NXK_NONE ? mask : op2(w->to, NXK_or, *nan, mask);
}

static void write_update(writer *w, nxk_value v) {
  const nxk_instr *in = &w->from->instrs[v];
  const nx_dtype bits = bits_of(in);
  const nxk_value before = w->before[v];
  const bool second = before != NXK_NONE && in->args[1] == before, most = in->op == NXK_max;
  const nxk_value c = w->map[in->args[second ? 1 : 0]], x = w->map[in->args[second ? 0 : 1]];
  nxk_value signs = before == NXK_NONE ? cast_bits(w, bits, c) : w->signs[before];
  w->waiting[v] = before == NXK_NONE ? c : w->waiting[before];
  w->nan[v] = before == NXK_NONE ? NXK_NONE : w->nan[before];
  const nxk_value less = op2(w->to, NXK_lt, most ? c : x, most ? x : c);
  w->map[v] = op3(w->to, NXK_select, less, x, c);
  w->signs[v] = op2(w->to, most ? NXK_and : NXK_or, signs, cast_bits(w, bits, x));
  if (w->waiting[v] != NXK_NONE) {
    note_nan(w, bits, w->waiting[v], x, &w->nan[v]);
    w->waiting[v] = NXK_NONE;
  } else {
    w->waiting[v] = x;
  }
}

static void finish(writer *w, nxk_value v) {
  const nxk_instr *in = &w->from->instrs[v];
  const nx_dtype bits = bits_of(in);
  if (w->waiting[v] != NXK_NONE) note_nan(w, bits, w->waiting[v], w->waiting[v], &w->nan[v]);
  nxk_value number = op2(w->to, NXK_copysign, w->map[v], cast_bits(w, in->dtype, w->signs[v]));
  w->map[v] = cast_bits(w, in->dtype, op2(w->to, NXK_or, cast_bits(w, bits, number), w->nan[v]));
}

static void write_all(void *arg) {
  writer *w = arg;
  for (nxk_value v = 0; v < w->from->n_instrs && !w->to->failed; v++) {
    if (w->after[v] == NXK_NONE) {
      nxk_copy_instr(w->to, w->from, v, w->map);
      continue;
    }
    write_update(w, v);
    if (w->after[v] == v && !w->to->failed) finish(w, v);
  }
}

/* ---- the pass */

static bool prepare(writer *w, nxi_arena *arena) {
  const size_t n = (size_t)w->from->n_instrs + 1;
  nxk_value **all[] = {&w->map, &w->after, &w->before, &w->signs, &w->nan, &w->waiting};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    *all[i] = nxi_arena_alloc(arena, n * sizeof **all[i]);
    if (*all[i] == NULL) return false;
    memset(*all[i], 0xff, n * sizeof **all[i]);
  }
  w->uses = nxi_arena_alloc(arena, n * sizeof *w->uses);
  if (w->uses == NULL) return false;
  nxk_count_uses(w->from, w->uses);
  return true;
}

nxk_kernel *nxk_pass_extreme_chains(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  writer w = {.from = k};
  nxi_arena arena = {0};
  bool ok = prepare(&w, &arena), any = ok && nxk_wants_extremes(k, t) && find_chains(&w);
  nxk_kernel *out = any ? nxk_written(k, write_all, &w, &w.to) : ok ? nxk_clone(k) : NULL;
  nxi_arena_destroy(&arena);
  if (out == NULL) nxi_oom(d);
  return out;
}
