/* SPDX-License-Identifier: ISC */
/* Copies single instructions from one kernel into another with their operands replaced. Every pass
 * that rebuilds a kernel is made of such copies. And whole kernels, without what is not needed. */
#include "build.h"

#include <string.h>

/* The value of the new kernel that replaces v of the source; NXK_NONE stays NXK_NONE. */
static nxk_value moved(const nxk_value *map, nxk_value v) {
  return v == NXK_NONE ? NXK_NONE : map[v];
}

static nxk_bound_value moved_bound(const nxk_value *map, nxk_bound_value b) {
  return (nxk_bound_value){moved(map, b.value), b.constant};
}

/* Buffers and parameters keep their numbers. Those up to `last` that k lacks are copied from the
 * source. */
static bool take_buffers(nxk_kernel *k, const nxk_kernel *source, uint32_t last) {
  while (!k->failed && k->n_buffers <= last && k->n_buffers < source->n_buffers) {
    const nxk_buffer *b = &source->buffers[k->n_buffers];
    uint32_t number = nxk_add_buffer(k, b->kind, b->dtype, b->elements);
    if (number != NXK_NONE) k->buffers[number] = *b;
  }
  return !k->failed;
}

static bool take_params(nxk_kernel *k, const nxk_kernel *source, uint32_t last) {
  while (!k->failed && k->n_params <= last && k->n_params < source->n_params)
    nxk_add_param(k, source->param_types[k->n_params]);
  return !k->failed;
}

/* The access with its operands replaced; its terms are in the arena of k. */
static bool moved_access(nxk_kernel *k, const nxk_kernel *source, uint64_t number,
                         const nxk_value *map, nxk_access *out) {
  *out = source->accesses[number];
  if (!take_buffers(k, source, out->buffer)) return false;
  if (out->n_terms > 0) {
    out->terms = nxi_arena_copy(&k->arena, out->terms, out->n_terms * sizeof *out->terms);
    if (!out->terms) {
      k->failed = true;
      return false;
    }
  }
  for (uint32_t i = 0; i < out->n_terms; i++) out->terms[i].index = moved(map, out->terms[i].index);
  out->index = moved(map, out->index);
  out->mask = moved(map, out->mask);
  out->other = moved(map, out->other);
  return true;
}

static nxk_value copy_block(nxk_kernel *k, const nxk_kernel *source, const nxk_instr *in,
                            const nxk_value *map) {
  if (in->op == NXK_region) {
    nxk_value v = nxk_begin_region(k);
    if (v == NXK_NONE) return v;
    nxk_region *region = &k->regions[k->instrs[v].imm];
    *region = source->regions[in->imm];
    region->instr = v;
    return region->tasks_param < 0 || take_params(k, source, (uint32_t)region->tasks_param)
               ? v
               : NXK_NONE;
  }
  if (in->op == NXK_cold)
    return (in->flags & NXK_APART ? nxk_begin_cold_apart : nxk_begin_cold)(k,
                                                                           moved(map, in->args[0]));
  const nxk_loop *loop = &source->loops[in->imm];
  nxk_region *region =
      loop->kind == NXK_TASK && k->n_regions > 0 ? &k->regions[k->n_regions - 1] : NULL;
  nxk_region kept = region ? *region : (nxk_region){0, 0, 0, 0}; /* nxk_begin_for overwrites it */
  nxk_value v = nxk_begin_for(k, loop->kind, moved_bound(map, loop->lower),
                              moved_bound(map, loop->upper), loop->step);
  if (region) *region = kept;
  if (v != NXK_NONE) k->loops[k->instrs[v].imm].unroll = loop->unroll;
  if (v != NXK_NONE) k->loops[k->instrs[v].imm].apart = loop->apart;
  if (v != NXK_NONE) k->loops[k->instrs[v].imm].few = loop->few;
  return v;
}

static nxk_value copy_memory(nxk_kernel *k, const nxk_kernel *source, const nxk_instr *in,
                             const nxk_value *map) {
  nxk_value a = moved(map, in->args[0]), b = moved(map, in->args[1]), c = moved(map, in->args[2]);
  nxk_access access, second;
  bool two = in->imm2 != UINT32_MAX;
  if (!moved_access(k, source, in->imm, map, &access)) return NXK_NONE;
  if (two && !moved_access(k, source, in->imm2, map, &second)) return NXK_NONE;
  switch (in->op) {
    case NXK_load: return nxk_load(k, &access, in->lanes);
    case NXK_store: nxk_store(k, &access, a); return NXK_NONE;
    case NXK_tree_push:
      nxk_tree_push(k, (nxk_reduce_kind)in->kind, a, b, c, &access, two ? &second : NULL);
      return NXK_NONE;
    default:
      return nxk_tree_join(k, (nxk_reduce_kind)in->kind, a, in->lanes, &access,
                           two ? &second : NULL, (in->flags & NXK_INDEX_PART) != 0);
  }
}

static nxk_value copy_row(nxk_kernel *k, const nxk_kernel *source, const nxk_instr *in,
                          const nxk_value *map) {
  nxk_value values[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
  for (int i = 0; i < in->n_args; i++) values[i] = moved(map, in->args[i]);
  if (source->threads && in->op == NXK_interleave) return nxk_in_turn(k, values, in->n_args);
  if (source->threads) {
    uint32_t of = source->instrs[in->args[0]].lanes / in->lanes;
    return nxk_every(k, values[0], of, nxk_first_of(in));
  }
  if (in->op == NXK_interleave) return nxk_interleave_all(k, values, in->n_args, (uint32_t)in->imm);
  return nxk_deinterleave(k, values, in->n_args, nxk_first_of(in), nxk_overlap_of(in));
}

static nxk_value copy_instr(nxk_kernel *k, const nxk_kernel *source, const nxk_instr *in,
                            const nxk_value *map) {
  nxk_value a = moved(map, in->args[0]), b = moved(map, in->args[1]), c = moved(map, in->args[2]);
  if (in->op < NXK_SCALAR_COUNT) {
    nxk_value operands[4] = {a, b, c, moved(map, in->args[3])};
    if (in->flags & NXK_NSW) return nxk_nsw(k, (nxk_op)in->op, a, b);
    return nxk_scalar_of(k, (nxk_op)in->op, in->dtype, operands);
  }
  switch (in->op) {
    case NXK_const: return nxk_const(k, in->dtype, in->imm);
    case NXK_param:
      return take_params(k, source, (uint32_t)in->imm) ? nxk_param(k, (uint32_t)in->imm) : NXK_NONE;
    case NXK_region:
    case NXK_for:
    case NXK_cold: return copy_block(k, source, in, map);
    case NXK_end: nxk_end(k); return NXK_NONE;
    case NXK_blend: return nxk_blend(k, a, b, c);
    case NXK_reduce: return nxk_reduce(k, (nxk_reduce_kind)in->kind, (nxk_order)in->order, a, b);
    case NXK_scan: return nxk_scan(k, (nxk_reduce_kind)in->kind, (nxk_order)in->order, a, b);
    case NXK_carry: return nxk_carry(k, a);
    case NXK_next: nxk_next(k, a, b); return NXK_NONE;
    case NXK_until: nxk_until(k, a); return NXK_NONE;
    case NXK_splat: return nxk_splat(k, a, in->lanes);
    case NXK_step_vector: return nxk_step_vector(k, a, in->lanes);
    case NXK_active: return nxk_active(k, a, b, in->lanes);
    case NXK_interleave_low:
    case NXK_interleave_high: return nxk_interleave(k, in->op == NXK_interleave_high, a, b);
    case NXK_concat: return nxk_concat(k, a, b);
    case NXK_deinterleave:
    case NXK_interleave: return copy_row(k, source, in, map);
    case NXK_shuffle_xor: return nxk_shuffle_xor(k, a, (uint32_t)in->imm);
    case NXK_barrier: nxk_barrier(k); return NXK_NONE;
    case NXK_lane_reduce: return nxk_lane_reduce(k, (nxk_reduce_kind)in->kind, a, b);
    default: return copy_memory(k, source, in, map);
  }
}

nxk_value nxk_copy_instr(nxk_kernel *k, const nxk_kernel *source, nxk_value from, nxk_value *map) {
  if (k->failed) return map[from] = NXK_NONE;
  return map[from] = copy_instr(k, source, &source->instrs[from], map);
}

/* ---- whole kernels */

/* Adds a row to a table of the kernel and returns its number. */
#define ADD_ROW(k, table, row)                                                      \
  (nxi_grow(&(k)->table, &(k)->cap_##table, (k)->n_##table + 1, sizeof *(k)->table) \
       ? ((k)->table[(k)->n_##table] = (row), (k)->n_##table++)                     \
       : ((k)->failed = true, 0))

static uint32_t take_access(nxk_kernel *k, const nxk_kernel *source, uint64_t number,
                            const nxk_value *map) {
  nxk_access a;
  if (!moved_access(k, source, number, map, &a)) return 0;
  return ADD_ROW(k, accesses, a);
}

static uint32_t take_loop(nxk_kernel *k, const nxk_kernel *source, uint64_t number,
                          const nxk_value *map) {
  nxk_loop loop = source->loops[number];
  loop.lower.value = moved(map, loop.lower.value);
  loop.upper.value = moved(map, loop.upper.value);
  return ADD_ROW(k, loops, loop);
}

static uint32_t take_region(nxk_kernel *k, const nxk_kernel *source, uint64_t number) {
  nxk_region region = source->regions[number];
  region.instr = k->n_instrs;
  return ADD_ROW(k, regions, region);
}

/* The rows of tables that the instruction has. */
static void take_rows(nxk_kernel *k, const nxk_kernel *source, nxk_instr *in,
                      const nxk_value *map) {
  switch (in->op) {
    case NXK_region: in->imm = take_region(k, source, in->imm); break;
    case NXK_for: in->imm = take_loop(k, source, in->imm, map); break;
    case NXK_load:
    case NXK_store:
    case NXK_tree_push:
    case NXK_tree_join:
      in->imm = take_access(k, source, in->imm, map);
      if (in->imm2 != UINT32_MAX) in->imm2 = take_access(k, source, in->imm2, map);
      break;
    default: break;
  }
}

static bool reserve(nxk_kernel *k, const nxk_kernel *source) {
  return nxi_grow(&k->instrs, &k->cap_instrs, source->n_instrs, sizeof *k->instrs) &&
         nxi_grow(&k->accesses, &k->cap_accesses, source->n_accesses, sizeof *k->accesses) &&
         nxi_grow(&k->loops, &k->cap_loops, source->n_loops, sizeof *k->loops) &&
         take_buffers(k, source, source->n_buffers) && take_params(k, source, source->n_params);
}

nxk_kernel *nxk_copy_needed(const nxk_kernel *source, const uint8_t *needed, nxk_value *map) {
  nxk_kernel *k = nxk_create(source->level, source->name);
  if (!k) return NULL;
  k->threads = source->threads;
  if (!reserve(k, source)) k->failed = true;
  for (nxk_value v = 0; v < source->n_instrs && !k->failed; v++) {
    nxk_instr in = source->instrs[v];
    map[v] = NXK_NONE;
    if (!needed[v]) continue;
    for (int i = 0; i < in.n_args; i++) in.args[i] = moved(map, in.args[i]);
    take_rows(k, source, &in, map);
    in.block = moved(map, in.block);
    map[v] = k->n_instrs;
    k->instrs[k->n_instrs++] = in;
  }
  if (!k->failed) return k;
  nxk_destroy(k);
  return NULL;
}
