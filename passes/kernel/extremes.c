/* SPDX-License-Identifier: ISC */
/* Loops that carry the largest or the smallest number, on processors whose instruction for that
 * neither lets a NaN win nor orders zeros: x86-64 without AVX-512, where a max is six instructions.
 * Inside such a loop the instruction is used as it is, and two more vectors are carried, which all
 * accumulators of the loop share: whether a NaN was met, and the signs of all elements, for a max
 * by `and`. The largest number has a sign exactly if all elements have, be it a zero or not. What
 * follows the loop, and joins its accumulators, puts both into the result: the same value as
 * before, but for which NaN it is. If the lanes are joined next, they are as integers that are
 * ordered as the numbers are, with a NaN at the end that wins. Needs: bound level, processors.
 * Keeps: bits. */
#include <string.h>

#include "passes.h"

/* The accumulators of a loop that become one value. */
typedef struct group {
  uint16_t op;       /* NXK_max or NXK_min */
  uint32_t n;        /* accumulators; 0: the loop has none that can be rewritten */
  nxk_value first;   /* the first of them */
  nxk_value joined;  /* the value that all of them become */
  nxk_value reduced; /* the reduction of its lanes, if that alone uses it; else NXK_NONE */
  nxk_value signs, nan, signs_now, nan_now; /* carried, and as the body has left them, in `to` */
  nxk_value waiting; /* an element of which is not yet known whether it is a NaN, or NXK_NONE */
} group;

typedef struct writer {
  const nxk_kernel *from;
  nxk_kernel *to;
  nxk_value *map;
  uint32_t *uses;   /* of each value */
  nxk_value *loop;  /* for an accumulator, its update, joins, `reduced`: the loop; else NXK_NONE */
  nxk_value *close; /* for a loop: its end */
  group *groups;    /* for each loop, by the number of its instruction */
} writer;

#define op2 NXK_SCALAR2
#define op3 NXK_SCALAR3

/* ---- which loops */

static void use(uint32_t *uses, nxk_value v) {
  if (v != NXK_NONE) uses[v]++;
}

void nxk_count_uses(const nxk_kernel *k, uint32_t *uses) {
  memset(uses, 0, k->n_instrs * sizeof *uses);
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    for (int a = 0; a < in->n_args; a++) use(uses, in->args[a]);
    if (in->op != NXK_for) continue;
    use(uses, k->loops[in->imm].lower.value);
    use(uses, k->loops[in->imm].upper.value);
  }
  for (uint32_t i = 0; i < k->n_accesses; i++) {
    const nxk_access *a = &k->accesses[i];
    const nxk_value others[3] = {a->index, a->mask, a->other};
    for (uint32_t t = 0; t < a->n_terms; t++) use(uses, a->terms[t].index);
    for (int j = 0; j < 3; j++) use(uses, others[j]);
  }
}

static void find_ends(writer *w) {
  for (nxk_value v = 0; v < w->from->n_instrs; v++)
    if (w->from->instrs[v].op == NXK_end) w->close[w->from->instrs[v].block] = v;
}

nxk_kernel *nxk_written(const nxk_kernel *k, void (*write)(void *), void *writer, nxk_kernel **to) {
  *to = nxk_create_like(k);
  if (*to == NULL) return NULL;
  write(writer);
  if (!(*to)->failed) return *to;
  nxk_destroy(*to);
  return NULL;
}

bool nxk_is_extreme(const nxk_instr *in) {
  return (in->op == NXK_max || in->op == NXK_min) && in->lanes > 1 &&
         (in->dtype == NX_F32 || in->dtype == NX_F64);
}

/* The update of accumulator c by one element, whose result is what it is next; or NXK_NONE. */
static nxk_value update_of(const writer *w, nxk_value c, nxk_value loop) {
  const nxk_kernel *k = w->from;
  nxk_value v = NXK_NONE;
  for (nxk_value e = w->close[loop] - 1; k->instrs[e].op == NXK_next; e--)
    if (k->instrs[e].args[0] == c) v = k->instrs[e].args[1];
  if (v == NXK_NONE || !nxk_is_extreme(&k->instrs[v])) return NXK_NONE;
  const nxk_instr *in = &k->instrs[v];
  bool once = (in->args[0] == c) != (in->args[1] == c);
  return once && in->block == loop && w->uses[v] == 1 ? v : NXK_NONE;
}

/* The number of uses of v behind the end of the loop. */
static uint32_t uses_behind(const writer *w, nxk_value v, nxk_value loop) {
  uint32_t inside = 0;
  for (nxk_value i = loop; i < w->close[loop]; i++)
    for (int a = 0; a < w->from->instrs[i].n_args; a++) inside += w->from->instrs[i].args[a] == v;
  return inside == 2 ? w->uses[v] - inside : UINT32_MAX; /* the update, and its `next` */
}

/* Notes which values behind the loop join two accumulators. False: not all become one value. */
static bool find_joins(writer *w, nxk_value loop, group *g) {
  const nxk_kernel *k = w->from;
  uint32_t joins = 0;
  g->joined = g->first;
  for (nxk_value v = w->close[loop] + 1; v < k->n_instrs && joins + 1 < g->n; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_end && in->block == k->instrs[loop].block) break;
    if (in->op != g->op || in->block != k->instrs[loop].block) continue;
    nxk_value a = in->args[0], b = in->args[1];
    if (a == b || w->loop[a] != loop || w->loop[b] != loop) continue;
    w->loop[v] = loop;
    g->joined = v;
    if (++joins + 1 < g->n && w->uses[v] != 1) break;
  }
  return joins + 1 == g->n;
}

/* Finds the reduction of the lanes of what the accumulators become, if it alone uses that. */
static void find_reduced(writer *w, nxk_value loop, group *g) {
  const nxk_kernel *k = w->from;
  nxk_value from = g->n > 1 ? g->joined : w->close[loop];
  g->reduced = NXK_NONE;
  if (g->n > 1 && w->uses[g->joined] != 1) return;
  if (g->n == 1 && uses_behind(w, g->first, loop) != 1) return;
  for (nxk_value v = from + 1; v < k->n_instrs && g->reduced == NXK_NONE; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_lane_reduce && in->n_args == 1 && in->args[0] == g->joined &&
        nxk_reduce_op((nxk_reduce_kind)in->kind) == g->op)
      g->reduced = v;
  }
  if (g->reduced != NXK_NONE) w->loop[g->reduced] = loop;
}

static bool is_like(const nxk_kernel *k, nxk_value c, nxk_value first) {
  const nxk_instr *x = &k->instrs[c], *y = &k->instrs[first];
  return x->dtype == y->dtype && x->lanes == y->lanes && x->args[0] == y->args[0];
}

/* Fills in the group of a loop; one that cannot be rewritten is left empty. */
static void find_group(writer *w, nxk_value loop) {
  const nxk_kernel *k = w->from;
  group g = {.n = 0, .joined = NXK_NONE};
  bool single = true;
  nxk_value c = loop + 1;
  for (; k->instrs[c].op == NXK_carry; c++) {
    nxk_value v = update_of(w, c, loop);
    if (v == NXK_NONE) continue;
    uint32_t behind = uses_behind(w, c, loop);
    if (behind == UINT32_MAX) continue;
    if (g.n == 0) g.op = k->instrs[v].op, g.first = c;
    if (k->instrs[v].op != g.op || !is_like(k, c, g.first)) continue;
    w->loop[c] = w->loop[v] = loop;
    single = single && behind == 1;
    g.n++;
  }
  if (g.n > 0 && (g.n == 1 || single) && find_joins(w, loop, &g)) {
    find_reduced(w, loop, &g);
    w->groups[loop] = g;
    return;
  }
  for (nxk_value v = loop; v < k->n_instrs; v++)
    if (w->loop[v] == loop) w->loop[v] = NXK_NONE;
}

static bool find_groups(writer *w) {
  bool any = false;
  for (nxk_value v = 0; v < w->from->n_instrs; v++) {
    const nxk_instr *in = &w->from->instrs[v];
    if (in->op != NXK_for || w->from->loops[in->imm].kind != NXK_SEQ) continue;
    find_group(w, v);
    any = any || w->groups[v].n > 0;
  }
  return any;
}

/* ---- writing */

static nx_dtype bits_of(const writer *w, const group *g) {
  return w->from->instrs[g->first].dtype == NX_F64 ? NX_U64 : NX_U32;
}

static nxk_value cast_bits(writer *w, nx_dtype t, nxk_value a) {
  return nxk_scalar(w->to, NXK_bitcast, t, a, NXK_NONE, NXK_NONE);
}

static nxk_value ones(writer *w, nx_dtype bits) {
  return nxk_const(w->to, bits, bits == NX_U64 ? UINT64_MAX : UINT32_MAX);
}

/* The larger (the smaller) of two numbers of which none is a NaN, or x if one is. */
static nxk_value pick(writer *w, const group *g, nxk_value x, nxk_value y) {
  nxk_value less = op2(w->to, NXK_lt, g->op == NXK_max ? x : y, g->op == NXK_max ? y : x);
  return op3(w->to, NXK_select, less, y, x);
}

static bool is_constant(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  return in->op == NXK_splat && k->instrs[in->args[0]].op == NXK_const;
}

/* Whether the accumulators begin with a NaN: not with constants, but maybe with the result of
 * another loop. */
static nxk_value nan_before(writer *w, const group *g, nxk_value from) {
  nx_dtype bits = bits_of(w, g);
  nxk_value none = nxk_const(w->to, bits, 0);
  if (w->to->failed || is_constant(w->to, from))
    return nxk_splat(w->to, none, w->from->instrs[g->first].lanes);
  return op3(w->to, NXK_select, op2(w->to, NXK_ne, from, from), ones(w, bits), none);
}

static nxk_value open_loop(writer *w, nxk_value loop) {
  const nxk_kernel *k = w->from;
  group *g = &w->groups[loop];
  nx_dtype bits = bits_of(w, g);
  nxk_value from = w->map[k->instrs[g->first].args[0]], signs = cast_bits(w, bits, from);
  nxk_value none = nan_before(w, g, from);
  nxk_value v = loop;
  do {
    nxk_copy_instr(w->to, k, v, w->map);
  } while (k->instrs[++v].op == NXK_carry && !w->to->failed);
  g->signs = g->signs_now = nxk_carry(w->to, signs);
  g->nan = g->nan_now = nxk_carry(w->to, none);
  g->waiting = NXK_NONE;
  return v - 1;
}

/* Notes whether x or the element that waits is a NaN: one comparison for both. */
static void note_nan(writer *w, group *g, nxk_value x) {
  nx_dtype bits = bits_of(w, g);
  nxk_value nan = op2(w->to, NXK_ne, x, x);
  if (g->waiting != NXK_NONE)
    nan = op2(w->to, NXK_or, op2(w->to, NXK_ne, g->waiting, g->waiting), nan);
  nxk_value mask = op3(w->to, NXK_select, nan, ones(w, bits), nxk_const(w->to, bits, 0));
  g->nan_now = op2(w->to, NXK_or, g->nan_now, mask);
  g->waiting = NXK_NONE;
}

static void write_update(writer *w, group *g, nxk_value v) {
  const nxk_instr *in = &w->from->instrs[v];
  bool second = w->from->instrs[in->args[0]].op == NXK_carry && w->loop[in->args[0]] == w->loop[v];
  nxk_value c = w->map[in->args[second ? 0 : 1]], x = w->map[in->args[second ? 1 : 0]];
  w->map[v] = pick(w, g, c, x);
  g->signs_now =
      op2(w->to, g->op == NXK_max ? NXK_and : NXK_or, g->signs_now, cast_bits(w, bits_of(w, g), x));
  if (g->waiting == NXK_NONE) g->waiting = x;
  else note_nan(w, g, x);
}

/* Puts the signs and the NaN into the value that all accumulators have become. */
static void finish(writer *w, const group *g) {
  nx_dtype t = w->from->instrs[g->first].dtype, bits = bits_of(w, g);
  if (g->reduced != NXK_NONE) return;
  nxk_value number = op2(w->to, NXK_copysign, w->map[g->joined], cast_bits(w, t, g->signs));
  w->map[g->joined] = cast_bits(w, t, op2(w->to, NXK_or, cast_bits(w, bits, number), g->nan));
}

/* Reduces the lanes as integers: the magnitude of a positive number, and its complement for a
 * negative one. The last of them is a NaN. */
static void reduce_lanes(writer *w, const group *g) {
  const nxk_instr *in = &w->from->instrs[g->reduced];
  bool wide = in->dtype == NX_F64;
  nx_dtype t = wide ? NX_I64 : NX_I32;
  nxk_value most = nxk_const_i(w->to, t, wide ? INT64_MAX : INT32_MAX);
  nxk_value shift = nxk_const_i(w->to, t, wide ? 63 : 31);
  nxk_value magnitude = op2(w->to, NXK_and, cast_bits(w, t, w->map[g->joined]), most);
  nxk_value sign = op2(w->to, NXK_shr, cast_bits(w, t, g->signs), shift);
  nxk_value last = g->op == NXK_max ? most : nxk_const_i(w->to, t, wide ? INT64_MIN : INT32_MIN);
  nxk_value nan = op2(w->to, NXK_ne, g->nan, nxk_const(w->to, bits_of(w, g), 0));
  nxk_value key = op3(w->to, NXK_select, nan, last, op2(w->to, NXK_xor, magnitude, sign));
  key = nxk_lane_reduce(w->to, (nxk_reduce_kind)in->kind, key, NXK_NONE);
  sign = op2(w->to, NXK_and, op2(w->to, NXK_shr, key, shift), most);
  w->map[g->reduced] = cast_bits(w, in->dtype, op2(w->to, NXK_xor, key, sign));
}

static void close_loop(writer *w, nxk_value v) {
  group *g = &w->groups[w->from->instrs[v].block];
  nxk_next(w->to, g->signs, g->signs_now);
  nxk_next(w->to, g->nan, g->nan_now);
  nxk_copy_instr(w->to, w->from, v, w->map);
  if (g->n == 1) finish(w, g);
}

/* All is known of the last element before the first `next`. */
static void write_next(writer *w, nxk_value v) {
  group *g = &w->groups[w->from->instrs[v].block];
  if (g->n > 0 && g->waiting != NXK_NONE) {
    nxk_value x = g->waiting;
    g->waiting = NXK_NONE;
    note_nan(w, g, x);
  }
  nxk_copy_instr(w->to, w->from, v, w->map);
}

static void write_all(void *arg) {
  writer *w = arg;
  const nxk_kernel *k = w->from;
  for (nxk_value v = 0; v < k->n_instrs && !w->to->failed; v++) {
    const nxk_instr *in = &k->instrs[v];
    bool grouped = w->loop[v] != NXK_NONE;
    group *g = &w->groups[grouped ? w->loop[v] : v];
    if (in->op == NXK_for && w->groups[v].n > 0) {
      v = open_loop(w, v);
    } else if (in->op == NXK_end && in->block != NXK_NONE && w->groups[in->block].n > 0) {
      close_loop(w, v);
    } else if (in->op == NXK_next) {
      write_next(w, v);
    } else if (grouped && v == g->reduced) {
      reduce_lanes(w, g);
    } else if (grouped && in->block == w->loop[v]) {
      write_update(w, g, v);
    } else if (grouped) {
      w->map[v] = pick(w, g, w->map[in->args[0]], w->map[in->args[1]]);
      if (v == g->joined) finish(w, g);
    } else {
      nxk_copy_instr(w->to, k, v, w->map);
    }
  }
}

/* ---- the pass */

static bool prepare(writer *w, nxi_arena *arena) {
  size_t n = (size_t)w->from->n_instrs + 1;
  w->map = nxi_arena_alloc(arena, n * sizeof *w->map);
  w->uses = nxi_arena_alloc(arena, n * sizeof *w->uses);
  w->loop = nxi_arena_alloc(arena, n * sizeof *w->loop);
  w->close = nxi_arena_alloc(arena, n * sizeof *w->close);
  w->groups = nxi_arena_alloc(arena, n * sizeof *w->groups);
  if (w->map == NULL || w->uses == NULL || w->loop == NULL || w->close == NULL || w->groups == NULL)
    return false;
  memset(w->map, 0xff, n * sizeof *w->map);
  memset(w->loop, 0xff, n * sizeof *w->loop);
  memset(w->groups, 0, n * sizeof *w->groups);
  nxk_count_uses(w->from, w->uses);
  find_ends(w);
  return true;
}

bool nxk_wants_extremes(const nxk_kernel *k, const nxi_target *t) {
  if (k->threads > 0 || (strcmp(t->isa, "avx2") != 0 && strcmp(t->isa, "generic") != 0))
    return false;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (nxk_is_extreme(&k->instrs[v])) return true;
  return false;
}

nxk_kernel *nxk_pass_extremes(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  writer w = {.from = k};
  nxi_arena arena = {0};
  bool ok = prepare(&w, &arena), any = ok && nxk_wants_extremes(k, t) && find_groups(&w);
  nxk_kernel *out = any ? nxk_written(k, write_all, &w, &w.to) : ok ? nxk_clone(k) : NULL;
  nxi_arena_destroy(&arena);
  if (out == NULL) nxi_oom(d);
  return out;
}
