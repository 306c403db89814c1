/* SPDX-License-Identifier: ISC */
/* The verifier of kernels: every rule of ir/kernel/kernel.h, all faults collected and shown under
 * their lines. Blocks, placement and visibility are here; the types of each operation in
 * ir/kernel/verify_types.c. */
#include "verify.h"

#include <stdarg.h>
#include <stdio.h>

void nxi_fault(nxi_checker *c, nxk_value v, const char *format, ...) {
  c->n_found++;
  if (!nxi_grow(&c->faults, &c->cap_faults, c->n_faults + 1, sizeof *c->faults)) return;
  nxi_fault_row *row = &c->faults[c->n_faults++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(row->text, sizeof row->text, format, arguments);
  va_end(arguments);
  row->at = v;
}

static bool has_value(nxk_op op) {
  return op != NXK_region && op != NXK_end && op != NXK_store && op != NXK_next &&
         op != NXK_until && op != NXK_tree_push && op != NXK_cold && op != NXK_barrier;
}

bool nxi_visible(const nxi_checker *c, nxk_value at, nxk_value v) {
  if (v >= at || !has_value((nxk_op)c->k->instrs[v].op)) return false;
  const nxi_place *place = &c->places[v];
  if (place->hidden_in != NXK_NONE && c->places[place->hidden_in].open) return false;
  return place->scope == NXK_NONE || c->places[place->scope].open;
}

const nxk_instr *nxi_operand(nxi_checker *c, nxk_value at, nxk_value v) {
  if (nxi_visible(c, at, v)) return &c->k->instrs[v];
  if (v == NXK_NONE) nxi_fault(c, at, "an operand is missing");
  else nxi_fault(c, at, "%%%u is not visible here", v);
  return NULL;
}

nxk_value nxi_parent(const nxi_checker *c) { return c->depth ? c->open[c->depth - 1] : NXK_NONE; }

bool nxi_is_loop(const nxk_kernel *k, nxk_value v, nxk_loop_kind kind) {
  if (v == NXK_NONE || k->instrs[v].op != NXK_for || k->instrs[v].imm >= k->n_loops) return false;
  return k->loops[k->instrs[v].imm].kind == kind;
}

/* ---- blocks */

static void check_region(nxi_checker *c, nxk_value v) {
  const nxk_kernel *k = c->k;
  uint64_t number = k->instrs[v].imm;
  if (c->depth) nxi_fault(c, v, "a region stands inside another block");
  if (number >= k->n_regions || k->regions[number].instr != v) {
    nxi_fault(c, v, "the region is not in the table of regions");
    return;
  }
  const nxk_region *region = &k->regions[number];
  c->task_loops = 0;
  if (k->level == NXK_LOGICAL) return;
  if (region->tasks_param < 0) {
    if (region->tasks < 0) nxi_fault(c, v, "the number of tasks is negative");
  } else if ((uint32_t)region->tasks_param >= k->n_params ||
             k->param_types[region->tasks_param] != NX_I64) {
    nxi_fault(c, v, "the number of tasks is not an i64 parameter");
  } else if (region->tasks_divisor < 1) {
    nxi_fault(c, v, "the divisor of the number of tasks is not positive");
  }
}

static void check_bound(nxi_checker *c, nxk_value v, nxk_bound_value b) {
  if (b.value == NXK_NONE) return;
  const nxk_instr *in = nxi_operand(c, v, b.value);
  if (in && (in->dtype != NX_I64 || in->lanes != 1))
    nxi_fault(c, v, "a bound of the loop is not an i64 of one lane");
}

/* Whether the innermost open block may directly contain a loop of this kind. */
static bool parent_fits(const nxi_checker *c, nxk_loop_kind kind) {
  nxk_value parent = nxi_parent(c);
  if (parent == NXK_NONE) return false;
  bool region = c->k->instrs[parent].op == NXK_region, cold = c->k->instrs[parent].op == NXK_cold;
  bool outer = nxi_is_loop(c->k, parent, NXK_OUTER), map = nxi_is_loop(c->k, parent, NXK_MAP);
  switch (kind) {
    case NXK_OUTER: return region || outer;
    case NXK_MAP: return region || outer || map;
    case NXK_REDUCE: return region || outer || map || nxi_is_loop(c->k, parent, NXK_REDUCE);
    case NXK_TASK: return region;
    default:
      if (c->k->level == NXK_LOGICAL) return region || outer;
      return cold || nxi_is_loop(c->k, parent, NXK_TASK) || nxi_is_loop(c->k, parent, NXK_SEQ);
  }
}

static void check_task_loop(nxi_checker *c, nxk_value v, const nxk_loop *loop) {
  nxk_value parent = nxi_parent(c);
  if (++c->task_loops > 1) nxi_fault(c, v, "the region has more than one task loop");
  if (loop->lower.value != NXK_NONE || loop->lower.constant != 0 || loop->step != 1)
    nxi_fault(c, v, "a task loop does not start at 0 in steps of 1");
  if (parent == NXK_NONE || c->k->instrs[parent].op != NXK_region ||
      c->k->instrs[parent].imm >= c->k->n_regions)
    return;
  const nxk_region *region = &c->k->regions[c->k->instrs[parent].imm];
  bool constant = loop->upper.value == NXK_NONE;
  if (region->tasks_param < 0 && !(constant && loop->upper.constant == region->tasks))
    nxi_fault(c, v, "the task loop does not end at the number of tasks of its region");
}

/* The number of iterations of a loop between constants fits in 63 bits. */
static void check_extent(nxi_checker *c, nxk_value v, const nxk_loop *loop) {
  int64_t distance;
  if (loop->lower.value != NXK_NONE || loop->upper.value != NXK_NONE) return;
  if (__builtin_sub_overflow(loop->upper.constant, loop->lower.constant, &distance))
    nxi_fault(c, v, "the bounds of the loop are further apart than 63 bits can count");
}

static void check_apart(nxi_checker *c, nxk_value v) {
  const nxk_kernel *k = c->k;
  if (k->threads > 0 || k->loops[k->instrs[v].imm].kind != NXK_SEQ || c->cold_depth > 0)
    nxi_fault(c, v, "a loop that cannot stand apart");
  for (uint32_t i = 0; i < c->depth; i++)
    if (nxi_is_loop(k, c->open[i], NXK_SEQ) && k->loops[k->instrs[c->open[i]].imm].apart)
      nxi_fault(c, v, "a loop that stands apart is inside another one");
  if (v + 1 < k->n_instrs && k->instrs[v + 1].op == NXK_carry)
    nxi_fault(c, v, "a loop that stands apart has a carry");
}

static void check_for(nxi_checker *c, nxk_value v) {
  const nxk_kernel *k = c->k;
  if (k->instrs[v].imm >= k->n_loops) {
    nxi_fault(c, v, "the loop is not in the table of loops");
    return;
  }
  const nxk_loop *loop = &k->loops[k->instrs[v].imm];
  bool logical = loop->kind == NXK_OUTER || loop->kind == NXK_MAP || loop->kind == NXK_REDUCE;
  if (loop->kind != NXK_SEQ && logical != (k->level == NXK_LOGICAL))
    nxi_fault(c, v, "this kind of loop is not of this level");
  else if (!parent_fits(c, loop->kind)) nxi_fault(c, v, "this kind of loop cannot stand here");
  if (loop->step < 1) nxi_fault(c, v, "the step of the loop is not positive");
  bool counted = loop->lower.value == NXK_NONE && loop->upper.value == NXK_NONE;
  if (loop->unroll && (k->threads == 0 || loop->kind != NXK_SEQ || !counted))
    nxi_fault(c, v, "a loop that cannot be written out");
  if (loop->few > 0 && (loop->few >= k->threads || loop->kind != NXK_SEQ))
    nxi_fault(c, v, "a loop of some threads that has not fewer than the kernel");
  if (loop->apart) check_apart(c, v);
  check_bound(c, v, loop->lower);
  check_bound(c, v, loop->upper);
  check_extent(c, v, loop);
  if (loop->kind == NXK_TASK) check_task_loop(c, v, loop);
}

static void check_cold(nxi_checker *c, nxk_value v) {
  if (!nxi_has_args(c, v, 1)) return;
  const nxk_instr *pred = nxi_operand(c, v, c->k->instrs[v].args[0]);
  if (pred && pred->dtype != NX_BOOL) nxi_fault(c, v, "the condition is not bool");
  if ((c->k->instrs[v].flags & NXK_APART) && c->k->threads > 0)
    nxi_fault(c, v, "a cold block that stands apart, of threads");
}

static void open_block(nxi_checker *c, nxk_value v) {
  if (c->depth == NXI_MAX_DEPTH) {
    c->too_deep = true;
    return;
  }
  c->open[c->depth++] = v;
  c->places[v].open = true;
  if (c->k->instrs[v].op == NXK_cold) c->cold_depth++;
}

static void close_block(nxi_checker *c, nxk_value v) {
  if (c->depth == 0) {
    nxi_fault(c, v, "there is no block to close");
    return;
  }
  nxk_value opener = c->open[--c->depth];
  c->places[opener].open = false;
  c->places[v].closes = opener;
  if (c->k->instrs[opener].op == NXK_cold) c->cold_depth--;
  if (c->k->instrs[opener].op == NXK_region && c->k->level == NXK_BOUND && c->task_loops == 0)
    nxi_fault(c, v, "the region has no task loop");
}

/* ---- placement */

static bool in_task_loop(const nxi_checker *c) {
  return c->depth > 1 && nxi_is_loop(c->k, c->open[1], NXK_TASK);
}

static void check_placement(nxi_checker *c, nxk_value v) {
  nxk_op op = (nxk_op)c->k->instrs[v].op;
  bool anywhere = op == NXK_const || op == NXK_param || op == NXK_end || op == NXK_region;
  if (!c->depth && !anywhere)
    nxi_fault(c, v, "only parameters, constants and regions stand at the top level");
  bool effect = op == NXK_store || op == NXK_tree_push || op == NXK_reduce || op == NXK_scan ||
                op == NXK_barrier || (op == NXK_shuffle_xor && c->k->threads);
  if (c->cold_depth && effect) nxi_fault(c, v, "code in a cold block has an effect");
  if (c->depth && c->k->level == NXK_BOUND && !in_task_loop(c) && effect)
    nxi_fault(c, v, "this stands outside the task loop of its region");
}

/* Records where the value is visible: in its block, except for loop indices, carries and
 * reduces. */
static void place_value(nxi_checker *c, nxk_value v) {
  nxi_place *place = &c->places[v];
  nxk_op op = (nxk_op)c->k->instrs[v].op;
  nxk_value parent = nxi_parent(c);
  *place = (nxi_place){parent, parent, NXK_NONE, NXK_NONE, false, false};
  if (op == NXK_for) place->scope = v;
  if (op == NXK_carry && parent != NXK_NONE) place->scope = c->places[parent].block;
  if (op == NXK_reduce) {
    uint32_t i = c->depth;
    while (i > 0 && nxi_is_loop(c->k, c->open[i - 1], NXK_REDUCE)) i--;
    if (i < c->depth) {
      place->hidden_in = c->open[i];
      place->scope = i > 0 ? c->open[i - 1] : NXK_NONE;
    }
  }
}

static void check_carry(nxi_checker *c, nxk_value v) {
  if (!nxi_has_args(c, v, 1)) return;
  nxk_value parent = nxi_parent(c);
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_is_loop(c->k, parent, NXK_SEQ)) {
    nxi_fault(c, v, "a carry does not stand in a seq loop");
    return;
  }
  if (v - 1 != parent && c->k->instrs[v - 1].op != NXK_carry)
    nxi_fault(c, v, "a carry does not stand at the start of its loop");
  const nxk_instr *initial = nxi_operand(c, v, in->args[0]);
  if (!initial) return;
  if (in->args[0] >= parent) nxi_fault(c, v, "the initial value is not from before the loop");
  if (initial->dtype != in->dtype || initial->lanes != in->lanes)
    nxi_fault(c, v, "the carry and its initial value differ in type");
}

static void check_next(nxi_checker *c, nxk_value v) {
  if (!nxi_has_args(c, v, 2)) return;
  const nxk_instr *in = &c->k->instrs[v], *value = nxi_operand(c, v, in->args[1]);
  nxk_value carry = in->args[0];
  if (carry >= v || c->k->instrs[carry].op != NXK_carry ||
      c->places[carry].block != nxi_parent(c)) {
    nxi_fault(c, v, "the first operand is not a carry of this loop");
    return;
  }
  if (c->places[carry].has_next) nxi_fault(c, v, "the carry has a next value already");
  c->places[carry].has_next = true;
  nxk_op after = v + 1 < c->k->n_instrs ? (nxk_op)c->k->instrs[v + 1].op : NXK_OP_COUNT;
  if (after != NXK_next && after != NXK_until && after != NXK_end)
    nxi_fault(c, v, "a next does not stand at the end of its loop");
  const nxk_instr *current = &c->k->instrs[carry];
  if (value && (value->dtype != current->dtype || value->lanes != current->lanes))
    nxi_fault(c, v, "the carry and its next value differ in type");
}

static void check_until(nxi_checker *c, nxk_value v) {
  if (!nxi_has_args(c, v, 1)) return;
  const nxk_instr *last = nxi_operand(c, v, c->k->instrs[v].args[0]);
  if (last && (last->dtype != NX_BOOL || last->lanes != 1))
    nxi_fault(c, v, "the condition is not a bool of one lane");
  if (!nxi_is_loop(c->k, nxi_parent(c), NXK_SEQ) || c->k->threads > 0)
    nxi_fault(c, v, "this does not stand in a seq loop, or the kernel has threads");
  if (v + 1 < c->k->n_instrs && c->k->instrs[v + 1].op != NXK_end)
    nxi_fault(c, v, "an until does not stand at the end of its loop");
}

/* True if nothing but blends of this cold block stands between the end of the block and v. */
static bool follows_cold(const nxi_checker *c, nxk_value v, nxk_value cold) {
  const nxk_instr *before = &c->k->instrs[v - 1];
  return (before->op == NXK_end || before->op == NXK_blend) && c->places[v - 1].closes == cold;
}

static void check_blend(nxi_checker *c, nxk_value v) {
  if (!nxi_has_args(c, v, 3)) return;
  const nxk_instr *in = &c->k->instrs[v];
  nxk_value cold = in->args[0], inside = in->args[1];
  if (cold >= v || c->k->instrs[cold].op != NXK_cold || !follows_cold(c, v, cold)) {
    nxi_fault(c, v, "a blend does not follow the end of its cold block");
    return;
  }
  c->places[v].closes = cold;
  bool from_block =
      inside < v && has_value((nxk_op)c->k->instrs[inside].op) && c->places[inside].scope == cold;
  const nxk_instr *value = from_block ? &c->k->instrs[inside] : nxi_operand(c, v, inside);
  const nxk_instr *other = nxi_operand(c, v, in->args[2]);
  if (!value || !other || c->k->instrs[cold].args[0] >= cold) return;
  const nxk_instr *pred = &c->k->instrs[c->k->instrs[cold].args[0]];
  if (value->dtype != in->dtype || other->dtype != in->dtype)
    nxi_fault(c, v, "the values of the blend differ in type");
  if (value->lanes != in->lanes || other->lanes != in->lanes || pred->lanes != in->lanes)
    nxi_fault(c, v, "the values and the condition of the blend differ in lanes");
}

/* ---- all together */

static void check_shape(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  static const char levels[] = {
#define L                       'L'
#define B                       'B'
#define A                       'A'
#define KOP(name, level, opens) level,
#include "kernel_ops.def"
#undef KOP
#undef L
#undef B
#undef A
  };
  char level = in->op < NXK_SCALAR_COUNT ? 'A' : levels[in->op - NXK_SCALAR_COUNT];
  if (level != 'A' && (level == 'L') != (c->k->level == NXK_LOGICAL))
    nxi_fault(c, v, "this operation is not of this level");
  uint32_t threads = c->k->threads, most = threads ? 16 * threads : NXK_MAX_LANES;
  if (in->lanes == 0 || in->lanes > most || (in->lanes & (in->lanes - 1)))
    nxi_fault(c, v, "lanes are not a power of two up to %u", most);
  else if (in->lanes > 1 && in->lanes < threads) nxi_fault(c, v, "lanes are fewer than threads");
  else if (in->lanes > 1 && c->k->level == NXK_LOGICAL)
    nxi_fault(c, v, "a value of the logical level has lanes");
  bool typed = has_value((nxk_op)in->op);
  if (typed && !(nxi_is_element(in->dtype))) nxi_fault(c, v, "the element type is not admitted");
  if (!typed && in->dtype != 0)
    nxi_fault(c, v, "an operation without a result has an element type");
  if (in->block != nxi_parent(c)) nxi_fault(c, v, "the block of the instruction is recorded wrong");
}

static void check_instr(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  switch (in->op) {
    case NXK_region: check_region(c, v); break;
    case NXK_for: check_for(c, v); break;
    case NXK_cold: check_cold(c, v); break;
    case NXK_end: close_block(c, v); return;
    case NXK_blend: check_blend(c, v); break;
    case NXK_carry: check_carry(c, v); break;
    case NXK_next: check_next(c, v); break;
    case NXK_until: check_until(c, v); break;
    default: nxi_check_types(c, v); break;
  }
  if (nxi_opens((nxk_op)in->op)) open_block(c, v);
}

enum { MAX_LOCAL_BYTES = 1 << 30 };

static void check_buffers(nxi_checker *c) {
  int64_t room = MAX_LOCAL_BYTES;
  bool local = false;
  for (uint32_t i = 0; i < c->k->n_buffers; i++) {
    const nxk_buffer *b = &c->k->buffers[i];
    bool typed = nxi_is_element(b->dtype);
    if ((uint32_t)b->kind >= NXK_BUFFER_KINDS || !typed) {
      nxi_fault(c, NXK_NONE, "b%u has no proper kind or element type", i);
      continue;
    }
    if (local && b->kind != NXK_LOCAL) nxi_fault(c, NXK_NONE, "b%u stands after a local array", i);
    local = b->kind == NXK_LOCAL;
    if (b->thread_private && (!local || c->k->threads == 0))
      nxi_fault(c, NXK_NONE, "b%u is private, and no local array of threads", i);
    if (!local) continue;
    bool fits = b->elements >= 0 && b->elements <= room / nxi_dtype_size(b->dtype);
    if (fits) room -= b->elements * nxi_dtype_size(b->dtype);
    else
      nxi_fault(c, NXK_NONE, "the local array b%u has no size, or all together are too large", i);
  }
  for (uint32_t i = 0; i < c->k->n_params; i++)
    if (!nxi_is_element(c->k->param_types[i]))
      nxi_fault(c, NXK_NONE, "p%u has no proper element type", i);
}

static void check_all(nxi_checker *c) {
  check_buffers(c);
  uint32_t threads = c->k->threads;
  if (threads && (c->k->level != NXK_BOUND || threads < 32 || threads > NXK_MAX_THREADS ||
                  (threads & (threads - 1))))
    nxi_fault(c, NXK_NONE, "threads are not a power of two from 32 to %d, of a bound kernel",
              NXK_MAX_THREADS);
  for (nxk_value v = 0; v < c->k->n_instrs && !c->too_deep; v++) {
    if (c->k->instrs[v].op >= NXK_OP_COUNT) {
      nxi_fault(c, v, "no such operation");
      place_value(c, v);
      continue;
    }
    place_value(c, v);
    check_shape(c, v);
    check_placement(c, v);
    check_instr(c, v);
    if (c->too_deep) nxi_fault(c, v, "blocks are nested too deep");
  }
  if (!c->too_deep && c->depth) nxi_fault(c, NXK_NONE, "%u blocks are not closed", c->depth);
  if (c->k->failed) nxi_fault(c, NXK_NONE, "memory was exhausted while the kernel was built");
}

static void print_faults(void *user, nxk_value v, nxi_text *out) {
  const nxi_checker *c = user;
  for (uint32_t i = 0; i < c->n_faults; i++)
    if (c->faults[i].at == v) nxi_text_add(out, "    ^ %s\n", c->faults[i].text);
}

bool nxk_verify(const nxk_kernel *k, nxi_text *out) {
  nxi_checker c = {.k = k};
  c.places = nxi_calloc(k->n_instrs + 1, sizeof *c.places);
  if (c.places) check_all(&c);
  else if (out) out->failed = true;
  bool good = c.places && c.n_found == 0;
  if (!good && out && c.places) nxi_print_kernel(k, out, print_faults, &c);
  nxi_free(c.faults);
  nxi_free(c.places);
  return good;
}
