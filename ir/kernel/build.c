/* SPDX-License-Identifier: ISC */
/* The builder: appends instructions, folds constants, and merges equal visible values. Value
 * numbers are kept in a chained hash table that is used as a stack. Entries are pushed at the heads
 * of their chains, so when a block closes, the entries that it added are at the heads and are
 * popped. The table therefore holds visible values only. */
#include "build.h"

#include <string.h>

enum { FIRST_HEADS = 256, FIRST_INSTRS = 128 }; /* fewer would be moved again and again */

typedef struct number_entry {
  nxk_value value;
  uint32_t hash, next; /* next: entry of the same bucket, or NXK_NONE */
} number_entry;

typedef struct open_block {
  nxk_value opener;
  uint32_t n_entries; /* entries in the table when the block was opened */
} open_block;

typedef struct nxi_builder {
  open_block *open;
  uint32_t n_open, cap_open;
  number_entry *entries;
  uint32_t n_entries, cap_entries;
  uint32_t *heads; /* the number of heads is a power of two */
  uint32_t n_heads;
} nxi_builder;

void nxi_builder_destroy(nxi_builder *b) {
  if (!b) return;
  nxi_free(b->open);
  nxi_free(b->entries);
  nxi_free(b->heads);
  nxi_free(b);
}

/* ---- value numbers */

static uint64_t mix(uint64_t hash, uint64_t x) {
  uint64_t h = (hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 32;
}

static uint64_t both(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

/* Instructions with equal operands have equal hashes; for commutative operations the order of the
 * operands does not matter. */
static uint32_t hash_instr(const nxk_instr *in, const nxk_access *access) {
  nxk_value a = in->args[0], b = in->args[1];
  uint64_t hash = both((uint32_t)in->op << 16 | in->lanes, (uint32_t)in->dtype << 8 | in->kind);
  hash = mix(mix(hash, both(a < b ? a : b, a < b ? b : a)), both(in->args[2], in->args[3]));
  if (!access) return (uint32_t)mix(hash, in->imm);
  hash = mix(mix(hash, both(access->buffer, access->other)), (uint64_t)access->offset);
  for (uint32_t i = 0; i < access->n_terms; i++)
    hash = mix(hash, (uint64_t)access->terms[i].index << 40 ^ (uint64_t)access->terms[i].stride);
  return (uint32_t)mix(hash, both(access->index, access->mask));
}

static bool same_access(const nxk_access *a, const nxk_access *b) {
  if (a->buffer != b->buffer || a->offset != b->offset || a->n_terms != b->n_terms ||
      a->index != b->index || a->mask != b->mask || a->other != b->other ||
      a->lane_stride != b->lane_stride || a->group != b->group)
    return false;
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (a->terms[i].index != b->terms[i].index || a->terms[i].stride != b->terms[i].stride)
      return false;
  return true;
}

static bool same_args(const nxk_instr *a, const nxk_instr *b) {
  if (memcmp(a->args, b->args, sizeof a->args) == 0) return true;
  return a->op < NXK_SCALAR_COUNT && (nxk_scalars[a->op].flags & NXK_COMM) &&
         a->args[0] == b->args[1] && a->args[1] == b->args[0];
}

/* access: that of a load, which is compared by its contents and not by its number (imm). */
static bool same_instr(const nxk_kernel *k, const nxk_instr *a, const nxk_instr *b,
                       const nxk_access *b_access) {
  if (a->op != b->op || a->dtype != b->dtype || a->lanes != b->lanes || a->kind != b->kind ||
      a->flags != b->flags || !same_args(a, b))
    return false;
  return b_access ? same_access(&k->accesses[a->imm], b_access) : a->imm == b->imm;
}

static bool is_numbered(const nxk_kernel *k, const nxk_instr *in) {
  if (in->op < NXK_SCALAR_COUNT) return true;
  switch (in->op) {
    case NXK_const:
    case NXK_param:
    case NXK_splat:
    case NXK_step_vector:
    case NXK_active:
    case NXK_interleave_low:
    case NXK_interleave_high:
    case NXK_concat:
    case NXK_deinterleave:
    case NXK_interleave:
    case NXK_shuffle_xor:
    case NXK_lane_reduce: return true;
    case NXK_load: {
      if (in->imm >= k->n_accesses) return false;
      uint32_t buffer = k->accesses[in->imm].buffer;
      return buffer < k->n_buffers && k->buffers[buffer].kind == NXK_IN;
    }
    default: return false;
  }
}

static bool grow_heads(nxi_builder *b) {
  uint32_t n = b->n_heads ? 4 * b->n_heads : FIRST_HEADS;
  uint32_t *heads = nxi_malloc(n * sizeof *heads);
  if (!heads) return false;
  memset(heads, 0xff, n * sizeof *heads);
  for (uint32_t i = 0; i < b->n_entries;
       i++) { /* in order of insertion: the newest entry has to be the head */
    uint32_t *head = &heads[b->entries[i].hash & (n - 1)];
    b->entries[i].next = *head;
    *head = i;
  }
  nxi_free(b->heads);
  b->heads = heads;
  b->n_heads = n;
  return true;
}

static bool enter_number(nxi_builder *b, nxk_value value, uint32_t hash) {
  if (b->n_entries >= b->n_heads && !grow_heads(b)) return false;
  if (!nxi_grow(&b->entries, &b->cap_entries, b->n_entries + 1, sizeof *b->entries)) return false;
  uint32_t *head = &b->heads[hash & (b->n_heads - 1)];
  b->entries[b->n_entries] = (number_entry){value, hash, *head};
  *head = b->n_entries++;
  return true;
}

static void leave_numbers(nxi_builder *b, uint32_t keep) {
  while (b->n_entries > keep) {
    const number_entry *e = &b->entries[--b->n_entries];
    b->heads[e->hash & (b->n_heads - 1)] = e->next;
  }
}

/* Updates the stack of open blocks and the value numbers for one instruction of the kernel. */
static bool follow(nxk_kernel *k, nxi_builder *b, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  if (nxi_opens((nxk_op)in->op)) {
    if (!nxi_grow(&b->open, &b->cap_open, b->n_open + 1, sizeof *b->open)) return false;
    b->open[b->n_open++] = (open_block){v, b->n_entries};
  } else if (in->op == NXK_end) {
    if (b->n_open > 0) leave_numbers(b, b->open[--b->n_open].n_entries);
  } else if (is_numbered(k, in)) {
    const nxk_access *access = in->op == NXK_load ? &k->accesses[in->imm] : NULL;
    return enter_number(b, v, hash_instr(in, access));
  }
  return true;
}

/* The builder of a kernel. A kernel that was cloned or parsed has none yet; it is made here from
 * the kernel's instructions. */
static nxi_builder *builder_of(nxk_kernel *k) {
  if (k->failed) return NULL;
  if (k->builder) return k->builder;
  nxi_builder *b = nxi_calloc(1, sizeof *b);
  bool ok = b != NULL && nxi_grow(&k->instrs, &k->cap_instrs, FIRST_INSTRS, sizeof *k->instrs);
  for (uint32_t v = 0; ok && v < k->n_instrs; v++) ok = follow(k, b, v);
  if (!ok) {
    nxi_builder_destroy(b);
    k->failed = true;
    return NULL;
  }
  return k->builder = b;
}

nxk_value nxi_append(nxk_kernel *k, const nxk_instr *instr) {
  nxi_builder *b = builder_of(k);
  if (!b) return NXK_NONE;
  nxk_value v = k->n_instrs;
  bool ok = v < NXK_NONE && nxi_grow(&k->instrs, &k->cap_instrs, v + 1, sizeof *k->instrs);
  if (ok) {
    k->instrs[v] = *instr;
    k->instrs[v].block = b->n_open > 0 ? b->open[b->n_open - 1].opener : NXK_NONE;
    k->n_instrs++;
    ok = follow(k, b, v);
  }
  if (!ok) k->failed = true;
  return ok ? v : NXK_NONE;
}

static nxk_value find(const nxk_kernel *k, const nxk_instr *in, const nxk_access *access) {
  const nxi_builder *b = k->builder;
  if (!b || b->n_heads == 0) return NXK_NONE;
  uint32_t hash = hash_instr(in, access);
  for (uint32_t i = b->heads[hash & (b->n_heads - 1)]; i != NXK_NONE; i = b->entries[i].next)
    if (b->entries[i].hash == hash && same_instr(k, &k->instrs[b->entries[i].value], in, access))
      return b->entries[i].value;
  return NXK_NONE;
}

nxk_value nxi_number(nxk_kernel *k, const nxk_instr *in) {
  if (!builder_of(k)) return NXK_NONE;
  nxk_value v = find(k, in, NULL);
  return v != NXK_NONE ? v : nxi_append(k, in);
}

static nxk_instr instr_of(nxk_op op, nx_dtype dtype, uint16_t lanes) {
  nxk_instr in = {.op = (uint16_t)op,
                  .dtype = (uint8_t)dtype,
                  .lanes = lanes,
                  .args = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE},
                  .imm2 = UINT32_MAX,
                  .block = NXK_NONE};
  return in;
}

static void set_args(nxk_instr *in, nxk_value a, nxk_value b, nxk_value c) {
  nxk_value args[3] = {a, b, c};
  in->n_args = a == NXK_NONE ? 0 : b == NXK_NONE ? 1 : c == NXK_NONE ? 2 : 3;
  memcpy(in->args, args, sizeof args); /* the fourth stays NXK_NONE */
}

/* True if v is a value of k; anything else makes the kernel unusable. */
static bool usable(nxk_kernel *k, nxk_value v) {
  if (!k->failed && v < k->n_instrs) return true;
  k->failed = true;
  return false;
}

/* ---- tables */

#define ADD_ROW(table, row)                                                                       \
  do {                                                                                            \
    if (k->failed || !nxi_grow(&k->table, &k->cap_##table, k->n_##table + 1, sizeof *k->table)) { \
      k->failed = true;                                                                           \
      return NXK_NONE;                                                                            \
    }                                                                                             \
    k->table[k->n_##table] = row;                                                                 \
    return k->n_##table++;                                                                        \
  } while (0)

uint32_t nxk_add_buffer(nxk_kernel *k, nxk_buffer_kind kind, nx_dtype t, int64_t elements) {
  nxk_buffer buffer = {kind, t, elements, false, false, false};
  ADD_ROW(buffers, buffer);
}

uint32_t nxk_add_param(nxk_kernel *k, nx_dtype t) {
  if (k->failed || !nxi_grow(&k->param_types, &k->cap_params, k->n_params + 1, 1)) {
    k->failed = true;
    return NXK_NONE;
  }
  k->param_types[k->n_params] = (uint8_t)t;
  return k->n_params++;
}

uint32_t nxk_add_access(nxk_kernel *k, const nxk_access *a) {
  nxk_access access = *a;
  if (!k->failed && a->n_terms > 0) {
    access.terms = nxi_arena_copy(&k->arena, a->terms, a->n_terms * sizeof *a->terms);
    if (!access.terms) k->failed = true;
  }
  ADD_ROW(accesses, access);
}

uint32_t nxi_add_loop(nxk_kernel *k, const nxk_loop *loop) { ADD_ROW(loops, *loop); }
uint32_t nxi_add_region(nxk_kernel *k, const nxk_region *region) { ADD_ROW(regions, *region); }

/* ---- scalars */

nxk_value nxk_const(nxk_kernel *k, nx_dtype t, uint64_t bits) {
  nxk_instr in = instr_of(NXK_const, t, 1);
  uint32_t width = nxi_dtypes[t].bits;
  in.imm = t == NX_BOOL ? bits != 0 : width >= 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
  return nxi_number(k, &in);
}

nxk_value nxk_const_f(nxk_kernel *k, nx_dtype t, double x) {
  return nxk_const(k, t, nxi_cast_bits(nxi_bits_f64(x), NX_F64, t));
}

nxk_value nxk_const_i(nxk_kernel *k, nx_dtype t, int64_t x) {
  return nxk_const(k, t, nxi_cast_bits((uint64_t)x, NX_I64, t));
}

nxk_value nxk_param(nxk_kernel *k, uint32_t param) {
  if (k->failed || param >= k->n_params) {
    k->failed = true;
    return NXK_NONE;
  }
  nxk_instr in = instr_of(NXK_param, k->param_types[param], 1);
  in.imm = param;
  return nxi_number(k, &in);
}

static nx_dtype result_dtype(const nxk_kernel *k, nxk_op op, nx_dtype given,
                             const nxk_value *args) {
  switch (nxk_scalars[op].result) {
    case NXK_RESULT_BOOL: return NX_BOOL;
    case NXK_RESULT_GIVEN: return given;
    default: return nxk_dtype(k, args[op == NXK_select ? 1 : 0]);
  }
}

static bool constant_bits(const nxk_kernel *k, nxk_value v, uint64_t *bits) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op == NXK_splat) in = &k->instrs[in->args[0]];
  *bits = in->imm;
  return in->op == NXK_const;
}

/* Evaluates a pure operation whose operands are constants; false if it is not one. */
static bool fold_constant(const nxk_kernel *k, nxk_op op, nx_dtype result, const nxk_value *args,
                          uint64_t *bits) {
  const nxk_scalar_info *info = &nxk_scalars[op];
  uint64_t values[4] = {0, 0, 0, 0};
  if (info->arity < 1 || (info->flags & NXK_FUNC)) return false;
  for (int i = 0; i < info->arity; i++)
    if (!constant_bits(k, args[i], &values[i])) return false;
  nxi_fp saved = nxi_fp_enter();
  *bits = nxk_eval(op, nxk_dtype(k, args[info->arity - 1]), result, values);
  nxi_fp_leave(saved);
  return true;
}

nxk_value nxk_scalar(nxk_kernel *k, nxk_op op, nx_dtype result, nxk_value a, nxk_value b,
                     nxk_value c) {
  nxk_value operands[4] = {a, b, c, NXK_NONE};
  return nxk_scalar_of(k, op, result, operands);
}

static nxk_value scalar_with(nxk_kernel *k, nxk_op op, nx_dtype result, const nxk_value operands[4],
                             uint8_t flags) {
  nxk_value args[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
  int arity = nxk_scalars[op].arity;
  uint16_t lanes = 1;
  for (int i = 0; i < arity; i++) {
    args[i] = operands[i];
    if (!usable(k, args[i])) return NXK_NONE;
    if (k->instrs[args[i]].lanes > lanes) lanes = k->instrs[args[i]].lanes;
  }
  nx_dtype dtype = result_dtype(k, op, result, args);
  uint64_t bits = 0;
  if (fold_constant(k, op, dtype, args, &bits))
    return nxk_splat(k, nxk_const(k, dtype, bits), lanes);
  for (int i = 0; i < arity; i++) args[i] = nxk_splat(k, args[i], lanes);
  if (k->failed) return NXK_NONE;
  nxk_instr in = instr_of(op, dtype, lanes);
  in.n_args = (uint8_t)arity;
  in.flags = flags;
  memcpy(in.args, args, sizeof args);
  return nxi_number(k, &in);
}

nxk_value nxk_scalar_of(nxk_kernel *k, nxk_op op, nx_dtype result, const nxk_value operands[4]) {
  return scalar_with(k, op, result, operands, 0);
}

nxk_value nxk_nsw(nxk_kernel *k, nxk_op op, nxk_value a, nxk_value b) {
  nxk_value operands[4] = {a, b, NXK_NONE, NXK_NONE};
  return scalar_with(k, op, NX_I32, operands, NXK_NSW);
}

nxk_value nxk_cast_to(nxk_kernel *k, nx_dtype t, nxk_value a) {
  if (!usable(k, a)) return NXK_NONE;
  return nxk_dtype(k, a) == t ? a : nxk_scalar(k, NXK_cast, t, a, NXK_NONE, NXK_NONE);
}

/* ---- blocks */
nxk_value nxk_begin_region(nxk_kernel *k) {
  nxk_region region = {k->n_instrs, 1, -1, 1};
  nxk_instr in = instr_of(NXK_region, 0, 1);
  in.imm = nxi_add_region(k, &region);
  return nxi_append(k, &in);
}

/* Sets the number of tasks of the innermost region from the upper bound of its task loop, which is
 * a constant or a parameter. */
static void set_tasks(nxk_kernel *k, const nxk_loop *loop) {
  if (k->n_regions == 0) return;
  nxk_region *region = &k->regions[k->n_regions - 1];
  if (loop->upper.value == NXK_NONE) {
    region->tasks = loop->upper.constant;
  } else if (k->instrs[loop->upper.value].op == NXK_param) {
    region->tasks_param = (int32_t)k->instrs[loop->upper.value].imm;
    region->tasks_divisor = 1;
  }
}

nxk_value nxk_begin_for(nxk_kernel *k, nxk_loop_kind kind, nxk_bound_value lower,
                        nxk_bound_value upper, int64_t step) {
  if ((lower.value != NXK_NONE && !usable(k, lower.value)) ||
      (upper.value != NXK_NONE && !usable(k, upper.value)))
    return NXK_NONE;
  nxk_loop loop = {kind, lower, upper, step, false, false, 0};
  nxk_instr in = instr_of(NXK_for, NX_I64, 1);
  in.imm = nxi_add_loop(k, &loop);
  if (!k->failed && kind == NXK_TASK) set_tasks(k, &loop);
  return nxi_append(k, &in);
}

nxk_value nxk_begin_range(nxk_kernel *k, nxk_loop_kind kind, int64_t extent) {
  return nxk_begin_for(k, kind, nxk_bound_const(0), nxk_bound_const(extent), 1);
}

nxk_value nxk_begin_cold(nxk_kernel *k, nxk_value pred) {
  if (!usable(k, pred)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_cold, 0, 1);
  set_args(&in, pred, NXK_NONE, NXK_NONE);
  return nxi_append(k, &in);
}

/* One without a result. */
static void append(nxk_kernel *k, nxk_op op, nxk_value a, nxk_value b) {
  nxk_instr in = instr_of(op, 0, 1);
  set_args(&in, a, b, NXK_NONE);
  nxi_append(k, &in);
}

void nxk_end(nxk_kernel *k) { append(k, NXK_end, NXK_NONE, NXK_NONE); }

/* Operands are not splatted here: the splat would stand between the block and its blends, where
 * nothing else may stand. */
nxk_value nxk_blend(nxk_kernel *k, nxk_value cold, nxk_value inside, nxk_value other) {
  if (!usable(k, cold) || !usable(k, inside) || !usable(k, other)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_blend, nxk_dtype(k, other), k->instrs[other].lanes);
  set_args(&in, cold, inside, other);
  return nxi_append(k, &in);
}

/* ---- memory */
static bool usable_access(nxk_kernel *k, const nxk_access *a) {
  if (k->failed || a->buffer >= k->n_buffers) {
    k->failed = true;
    return false;
  }
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (!usable(k, a->terms[i].index)) return false;
  return true;
}

/* Splats the operands of an access to the lanes of the access. */
static nxk_access widen_access(nxk_kernel *k, const nxk_access *a, uint16_t lanes) {
  nxk_access w = *a;
  uint16_t groups = w.group > 1 ? (uint16_t)(lanes / w.group) : lanes;
  if (w.index != NXK_NONE) w.index = nxk_splat(k, w.index, groups);
  bool by_thread = w.mask < k->n_instrs && k->threads && k->instrs[w.mask].lanes == k->threads;
  if (w.mask != NXK_NONE && !by_thread) w.mask = nxk_splat(k, w.mask, lanes);
  if (w.other != NXK_NONE) w.other = nxk_splat(k, w.other, lanes);
  if (lanes == 1) w.lane_stride = 0;
  return w;
}

nxk_value nxk_load(nxk_kernel *k, const nxk_access *a, uint16_t lanes) {
  if (!usable_access(k, a)) return NXK_NONE;
  nxk_access access = widen_access(k, a, lanes);
  if (!builder_of(k)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_load, k->buffers[a->buffer].dtype, lanes);
  if (k->buffers[a->buffer].kind == NXK_IN && !(a->flags & NXK_VOLATILE)) {
    nxk_value v = find(k, &in, &access);
    if (v != NXK_NONE) return v;
  }
  in.imm = nxk_add_access(k, &access);
  return nxi_append(k, &in);
}

void nxk_store(nxk_kernel *k, const nxk_access *a, nxk_value value) {
  if (!usable_access(k, a) || !usable(k, value)) return;
  uint32_t most = k->instrs[value].lanes, group = a->group > 1 ? a->group : 1;
  nxk_value wide[2] = {a->index, a->mask};
  for (int i = 0; i < 2; i++)
    if (wide[i] < k->n_instrs && k->instrs[wide[i]].lanes * (i == 0 ? group : 1) > most)
      most = k->instrs[wide[i]].lanes * (i == 0 ? group : 1);
  uint16_t lanes = (uint16_t)most;
  nxk_access access = widen_access(k, a, lanes);
  nxk_instr in = instr_of(NXK_store, 0, lanes);
  set_args(&in, nxk_splat(k, value, lanes), NXK_NONE, NXK_NONE);
  in.imm = nxk_add_access(k, &access);
  nxi_append(k, &in);
}

/* ---- reductions and carried values */

nxk_value nxk_reduce(nxk_kernel *k, nxk_reduce_kind kind, nxk_order order, nxk_value a,
                     nxk_value b) {
  bool two = nxk_kind_args(kind) == 2;
  if (!usable(k, a) || (two && !usable(k, b))) return NXK_NONE;
  nxk_instr in = instr_of(NXK_reduce, nxk_finds_index(kind) ? NX_I64 : nxk_dtype(k, a), 1);
  in.kind = (uint8_t)kind;
  in.order = (uint8_t)order;
  set_args(&in, a, two ? b : NXK_NONE, NXK_NONE);
  return nxi_append(k, &in);
}

nxk_value nxk_scan(nxk_kernel *k, nxk_reduce_kind kind, nxk_order order, nxk_value a, nxk_value b) {
  if (!usable(k, a) || (nxk_takes_pairs(kind) && !usable(k, b))) return NXK_NONE;
  nxk_instr in = instr_of(NXK_scan, nxk_dtype(k, a), 1);
  in.kind = (uint8_t)kind;
  in.order = (uint8_t)order;
  set_args(&in, a, nxk_takes_pairs(kind) ? b : NXK_NONE, NXK_NONE);
  return nxi_append(k, &in);
}

nxk_value nxk_carry(nxk_kernel *k, nxk_value initial) {
  if (!usable(k, initial)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_carry, nxk_dtype(k, initial), k->instrs[initial].lanes);
  set_args(&in, initial, NXK_NONE, NXK_NONE);
  return nxi_append(k, &in);
}

void nxk_next(nxk_kernel *k, nxk_value carry, nxk_value value) {
  if (usable(k, carry) && usable(k, value)) append(k, NXK_next, carry, value);
}

void nxk_until(nxk_kernel *k, nxk_value last) {
  if (usable(k, last)) append(k, NXK_until, last, NXK_NONE);
}

/* ---- lanes */

nxk_value nxk_splat(nxk_kernel *k, nxk_value a, uint16_t lanes) {
  if (!usable(k, a)) return NXK_NONE;
  if (k->instrs[a].lanes == lanes) return a;
  nxk_instr in = instr_of(NXK_splat, nxk_dtype(k, a), lanes);
  set_args(&in, a, NXK_NONE, NXK_NONE);
  return nxi_number(k, &in);
}

nxk_value nxk_step_vector(nxk_kernel *k, nxk_value base, uint16_t lanes) {
  if (!usable(k, base)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_step_vector, nxk_dtype(k, base), lanes);
  set_args(&in, base, NXK_NONE, NXK_NONE);
  return nxi_number(k, &in);
}

nxk_value nxk_active(nxk_kernel *k, nxk_value base, nxk_value end, uint16_t lanes) {
  if (!usable(k, base) || !usable(k, end)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_active, NX_BOOL, lanes);
  set_args(&in, base, end, NXK_NONE);
  return nxi_number(k, &in);
}

nxk_value nxk_interleave(nxk_kernel *k, bool high, nxk_value a, nxk_value b) {
  if (!usable(k, a) || !usable(k, b)) return NXK_NONE;
  nxk_instr in = instr_of(high ? NXK_interleave_high : NXK_interleave_low, nxk_dtype(k, a),
                          k->instrs[a].lanes);
  set_args(&in, a, b, NXK_NONE);
  return nxi_number(k, &in);
}

nxk_value nxk_concat(nxk_kernel *k, nxk_value a, nxk_value b) {
  if (!usable(k, a) || !usable(k, b)) return NXK_NONE;
  uint16_t lanes = (uint16_t)(k->instrs[a].lanes * 2);
  nxk_instr in = instr_of(NXK_concat, nxk_dtype(k, a), lanes);
  set_args(&in, a, b, NXK_NONE);
  return nxi_number(k, &in);
}

nxk_value nxk_shuffle_xor(nxk_kernel *k, nxk_value a, uint32_t distance) {
  if (!usable(k, a)) return NXK_NONE;
  nxk_instr in = instr_of(NXK_shuffle_xor, nxk_dtype(k, a), k->instrs[a].lanes);
  in.imm = distance;
  set_args(&in, a, NXK_NONE, NXK_NONE);
  return nxi_number(k, &in);
}

void nxk_barrier(nxk_kernel *k) { append(k, NXK_barrier, NXK_NONE, NXK_NONE); }

nxk_value nxk_lane_reduce(nxk_kernel *k, nxk_reduce_kind kind, nxk_value a, nxk_value index) {
  bool arg = nxk_finds_index(kind);
  if (!usable(k, a) || (arg && !usable(k, index))) return NXK_NONE;
  nxk_instr in = instr_of(NXK_lane_reduce, arg ? NX_I64 : nxk_dtype(k, a), 1);
  in.kind = (uint8_t)kind;
  set_args(&in, a, arg ? index : NXK_NONE, NXK_NONE);
  return nxi_number(k, &in);
}

void nxk_tree_push(nxk_kernel *k, nxk_reduce_kind kind, nxk_value number_value, nxk_value a,
                   nxk_value index, const nxk_access *values, const nxk_access *indices) {
  if (!usable(k, number_value) || !usable(k, a) || !usable_access(k, values)) return;
  if (indices && (!usable(k, index) || !usable_access(k, indices))) return;
  nxk_instr in = instr_of(NXK_tree_push, 0, k->instrs[a].lanes);
  in.kind = (uint8_t)kind;
  set_args(&in, number_value, a, indices ? index : NXK_NONE);
  in.imm = nxk_add_access(k, values);
  if (indices) in.imm2 = nxk_add_access(k, indices);
  nxi_append(k, &in);
}

nxk_value nxk_tree_join(nxk_kernel *k, nxk_reduce_kind kind, nxk_value count, uint16_t lanes,
                        const nxk_access *values, const nxk_access *indices, bool index_part) {
  if (!usable(k, count) || !usable_access(k, values) || (indices && !usable_access(k, indices)))
    return NXK_NONE;
  nxk_instr in =
      instr_of(NXK_tree_join, index_part ? NX_I64 : k->buffers[values->buffer].dtype, lanes);
  in.kind = (uint8_t)kind;
  in.flags = index_part ? NXK_INDEX_PART : 0;
  set_args(&in, count, NXK_NONE, NXK_NONE);
  in.imm = nxk_add_access(k, values);
  if (indices) in.imm2 = nxk_add_access(k, indices);
  return nxi_append(k, &in);
}
