/* SPDX-License-Identifier: ISC */
/* The interpreter of verified kernels of both levels. It is slow and simple, and the reference of
 * every test. It computes each instruction as ir/kernel/kernel.h says, lane by lane, and refuses
 * accesses outside a buffer. LOCAL arrays are filled with 0xff (NaN) at every outer point or task,
 * so that no value of the one before can be used by mistake. */
#include <string.h>

#include "ir/kernel/build.h"
#include "interp.h"

typedef struct run {
  const nxi_program *program;
  const nxk_kernel *kernel;
  uint64_t *slots;
  nxi_reducer *reducers;
  void *const *buffers; /* launch buffers, then LOCAL arrays */
  const uint64_t *params;
  char *scratch; /* memory of the LOCAL arrays */
  int64_t scratch_bytes;
  int64_t begin, end; /* tasks to run, in the numbering of all regions */
  int64_t first_task; /* of the current region */
  int64_t n_tasks;    /* of the current region */
  int64_t steps;      /* steps that are left */
  bool last;          /* an `until` has ended the innermost loop */
  nxi_diag *diag;
} run;

static uint64_t *slots_of(const run *r, nxk_value v) { return &r->slots[r->program->slot[v]]; }
/* An i64, or an i32 sign-extended to 64 bits. */
static int64_t place_of(const run *r, nxk_value v, uint32_t lane) {
  uint64_t bits = slots_of(r, v)[lane];
  return r->kernel->instrs[v].dtype == NX_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}
static int64_t scalar_of(const run *r, nxk_value v) { return place_of(r, v, 0); }
static int64_t bound_of(const run *r, nxk_bound_value b) {
  return b.value == NXK_NONE ? b.constant : scalar_of(r, b.value);
}

/* ---- memory */
static bool fail_at(const run *r, nxk_value v, const char *what, int64_t element, uint32_t buffer) {
  nxi_fail(r->diag, NX_INTERNAL, "", "kernel @%s: %%%u %s element %lld of b%u, which has %lld",
           r->kernel->name, v, what, (long long)element, buffer,
           (long long)r->kernel->buffers[buffer].elements);
  return false;
}

/* The address of element `element` of the buffer of an access, checked. NULL: out of bounds,
 * recorded. */
static char *element_at(const run *r, nxk_value v, const nxk_access *a, int64_t element) {
  const nxk_buffer *b = &r->kernel->buffers[a->buffer];
  if (b->elements >= 0 && (element < 0 || element >= b->elements)) {
    fail_at(r, v, "addresses", element, a->buffer);
    return NULL;
  }
  return (char *)r->buffers[a->buffer] + element * nxi_dtype_size(b->dtype);
}

/* ---- i32: results must be equal to those in 64 bits */
static bool fail_narrow(const run *r, nxk_value v, int64_t x) {
  nxi_fail(r->diag, NX_INTERNAL, "", "kernel @%s: %%%u has %lld in it, more than 32 bits hold",
           r->kernel->name, v, (long long)x);
  return false;
}

static bool is_narrow(const nxk_kernel *k, const nxk_access *a) {
  if (a->n_terms) return k->instrs[a->terms[0].index].dtype == NX_I32;
  return a->index != NXK_NONE && k->instrs[a->index].dtype == NX_I32;
}

/* Checks that the parts of the address can be added in 32 bits in any order: the sums of all
 * positive and of all negative regions bound every partial sum. */
static bool check_narrow(const run *r, nxk_value v, const nxk_access *a, uint32_t lane) {
  if (!is_narrow(r->kernel, a)) return true;
  uint32_t group = a->group > 1 ? a->group : 1, step = group > 1 ? lane % group : lane;
  int64_t parts[2] = {0, 0}, part = a->offset;
  for (uint32_t i = 0; i < a->n_terms + 3; i++) {
    parts[part < 0] += part;
    if (part != (int32_t)part || parts[part < 0] != (int32_t)parts[part < 0])
      return fail_narrow(r, v, parts[part < 0]);
    if (i < a->n_terms) part = a->terms[i].stride * scalar_of(r, a->terms[i].index);
    else if (i == a->n_terms) part = a->lane_stride * step;
    else part = a->index == NXK_NONE ? 0 : place_of(r, a->index, lane / group);
  }
  return true;
}

/* Sums of addresses wrap; an address that is wrong is found to be out of bounds later. */
static int64_t base_element(const run *r, const nxk_access *a) {
  uint64_t element = (uint64_t)a->offset;
  for (uint32_t i = 0; i < a->n_terms; i++)
    element += (uint64_t)a->terms[i].stride * (uint64_t)scalar_of(r, a->terms[i].index);
  return (int64_t)element;
}

static int64_t lane_element(const run *r, const nxk_access *a, int64_t base, uint32_t lane) {
  uint32_t group = a->group > 1 ? a->group : 1, step = group > 1 ? lane % group : lane;
  uint64_t index = a->index == NXK_NONE ? 0 : (uint64_t)place_of(r, a->index, lane / group);
  return (int64_t)((uint64_t)base + index + (uint64_t)a->lane_stride * step);
}

/* Whether a lane of the access is active. in: the load or store. */
static bool is_on(const run *r, const nxk_instr *in, const nxk_access *a, uint32_t lane) {
  if (a->mask == NXK_NONE) return true;
  return slots_of(r, a->mask)[lane / (in->lanes / r->kernel->instrs[a->mask].lanes)] != 0;
}

static bool run_load(run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  const nxk_access *a = &r->kernel->accesses[in->imm];
  int64_t base = base_element(r, a);
  uint64_t *result = slots_of(r, v);
  for (uint32_t l = 0; l < in->lanes; l++) {
    if (!is_on(r, in, a, l)) {
      result[l] = a->other == NXK_NONE ? 0 : slots_of(r, a->other)[l];
      continue;
    }
    const char *p = element_at(r, v, a, lane_element(r, a, base, l));
    if (!p || !check_narrow(r, v, a, l)) return false;
    result[l] = a->flags & NXK_VOLATILE ? nxi_load_shared(p) : nxi_load_element(p, in->dtype);
  }
  return true;
}

/* Checks that a nontemporal store starts at a cache line; the verifier has checked that its lanes
 * are whole lines. */
static bool check_line(run *r, nxk_value v, const nxk_access *a, int64_t base) {
  int64_t size = nxi_dtype_size(r->kernel->buffers[a->buffer].dtype);
  if (!(a->flags & NXK_NONTEMPORAL) || r->kernel->level == NXK_LOGICAL ||
      base * size % NXK_LINE == 0)
    return true;
  nxi_fail(r->diag, NX_INTERNAL, "", "%%%u stores past the caches from the middle of a cache line",
           v);
  return false;
}

static bool run_store(run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  const nxk_access *a = &r->kernel->accesses[in->imm];
  int64_t base = base_element(r, a);
  if (!check_line(r, v, a, base)) return false;
  const uint64_t *value = slots_of(r, in->args[0]);
  for (uint32_t l = 0; l < in->lanes; l++) {
    if (!is_on(r, in, a, l)) continue;
    char *p = element_at(r, v, a, lane_element(r, a, base, l));
    if (!p || !check_narrow(r, v, a, l)) return false;
    nxi_store_element(p, r->kernel->buffers[a->buffer].dtype, value[l]);
  }
  return true;
}

/* One lane of one level of a tree of partial results: its value, and its index for argmax and
 * argmin. */
typedef struct tree_cell {
  char *value, *index;
} tree_cell;

static bool tree_cell_at(const run *r, nxk_value v, int level, uint32_t lane, tree_cell *cell) {
  const nxk_instr *in = &r->kernel->instrs[v];
  const nxk_access *a = &r->kernel->accesses[in->imm];
  int64_t base = base_element(r, a) + level * a->tree_stride;
  cell->index = NULL;
  cell->value = element_at(r, v, a, lane_element(r, a, base, lane));
  if (!cell->value) return false;
  if (in->imm2 == UINT32_MAX) return true;
  a = &r->kernel->accesses[in->imm2];
  base = base_element(r, a) + level * a->tree_stride;
  return (cell->index = element_at(r, v, a, lane_element(r, a, base, lane))) != NULL;
}

static nx_dtype tree_dtype(const run *r, const nxk_instr *in) {
  return r->kernel->buffers[r->kernel->accesses[in->imm].buffer].dtype;
}

/* (value, index) = combine(cell, (value, index)) */
static void combine_cell(const nxk_instr *in, nx_dtype type, tree_cell cell, uint64_t *value,
                         int64_t *index) {
  uint64_t older = nxi_load_element(cell.value, type);
  int64_t older_index = cell.index ? (int64_t)nxi_load_element(cell.index, NX_I64) : 0;
  nxi_combine((nxk_reduce_kind)in->kind, type, &older, &older_index, *value, *index);
  *value = older;
  *index = older_index;
}

static bool run_tree_push(run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  nx_dtype type = tree_dtype(r, in);
  uint64_t n = (uint64_t)scalar_of(r, in->args[0]);
  for (uint32_t l = 0; l < in->lanes; l++) {
    uint64_t value = slots_of(r, in->args[1])[l];
    int64_t index = in->imm2 == UINT32_MAX ? 0 : (int64_t)slots_of(r, in->args[2])[l];
    tree_cell cell;
    int level = 0;
    for (; level < 63 && (n >> level & 1); level++) {
      if (!tree_cell_at(r, v, level, l, &cell)) return false;
      combine_cell(in, type, cell, &value, &index);
    }
    if (!tree_cell_at(r, v, level, l, &cell)) return false;
    nxi_store_element(cell.value, type, value);
    if (cell.index) nxi_store_element(cell.index, NX_I64, (uint64_t)index);
  }
  return true;
}

static bool run_tree_join(run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  nx_dtype type = tree_dtype(r, in);
  uint64_t n = (uint64_t)scalar_of(r, in->args[0]);
  for (uint32_t l = 0; l < in->lanes; l++) {
    uint64_t value = 0;
    int64_t index = 0;
    bool any = false;
    for (int level = 0; level < 63 && n >> level; level++) {
      tree_cell cell;
      if (!(n >> level & 1)) continue;
      if (!tree_cell_at(r, v, level, l, &cell)) return false;
      if (any) {
        combine_cell(in, type, cell, &value, &index);
        continue;
      }
      value = nxi_load_element(cell.value, type);
      index = cell.index ? (int64_t)nxi_load_element(cell.index, NX_I64) : 0;
      any = true;
    }
    slots_of(r, v)[l] = in->flags & NXK_INDEX_PART ? (uint64_t)index : value;
  }
  return true;
}

/* ---- values */
/* Whether no lane of an exact sum or product overflows. */
static bool check_nsw(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  for (uint32_t l = 0; l < in->lanes; l++) {
    int64_t a = place_of(r, in->args[0], l), b = place_of(r, in->args[1], l);
    int64_t x = in->op == NXK_add ? a + b : in->op == NXK_sub ? a - b : a * b;
    if (x != (int32_t)x) return fail_narrow(r, v, x);
  }
  return true;
}

static void run_scalar(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  nx_dtype type = r->kernel->instrs[in->args[in->n_args - 1]].dtype;
  uint64_t *result = slots_of(r, v);
  for (uint32_t l = 0; l < in->lanes; l++) {
    uint64_t args[4] = {0, 0, 0, 0};
    for (int i = 0; i < in->n_args; i++) args[i] = slots_of(r, in->args[i])[l];
    result[l] = nxk_eval((nxk_op)in->op, type, in->dtype, args);
  }
}

/* Lanes l and l + n/2, then n/4, ... 1. */
static void run_lane_reduce(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v], *a = &r->kernel->instrs[in->args[0]];
  bool arg = nxk_finds_index(in->kind);
  uint64_t value[128] = {0};
  int64_t index[128] = {0};
  for (uint32_t l = 0; l < a->lanes && l < 128; l++) {
    value[l] = slots_of(r, in->args[0])[l];
    if (arg) index[l] = (int64_t)slots_of(r, in->args[1])[l];
  }
  for (uint32_t half = a->lanes / 2; half > 0; half /= 2)
    for (uint32_t l = 0; l < half; l++)
      nxi_combine((nxk_reduce_kind)in->kind, a->dtype, &value[l], &index[l], value[l + half],
                  index[l + half]);
  *slots_of(r, v) = arg ? (uint64_t)index[0] : value[0];
}

static bool run_lanes(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  const uint64_t *a = slots_of(r, in->args[0]);
  const nxk_instr *from = &r->kernel->instrs[in->args[0]];
  bool narrow = in->op != NXK_splat && from->dtype == NX_I32;
  int64_t last = narrow ? scalar_of(r, in->args[0]) + in->lanes - 1 : 0;
  if (last > INT32_MAX) return fail_narrow(r, v, last);
  uint64_t *result = slots_of(r, v);
  for (uint32_t l = 0, times = in->lanes / from->lanes; l < in->lanes; l++) {
    if (in->op == NXK_splat) result[l] = a[l / times];
    else if (in->op == NXK_step_vector) result[l] = nxi_cast_bits(a[0] + l, NX_I64, in->dtype);
    else result[l] = (int64_t)((uint64_t)scalar_of(r, in->args[0]) + l) < scalar_of(r, in->args[1]);
  }
  return true;
}

static void run_interleave(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  uint32_t piece = in->op == NXK_interleave ? (uint32_t)in->imm : in->op == NXK_interleave_high;
  for (uint32_t l = 0, at = piece * in->lanes; l < in->lanes; l++, at++)
    slots_of(r, v)[l] = slots_of(r, in->args[at % in->n_args])[at / in->n_args];
}

static void run_concat(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  for (uint32_t l = 0, half = in->lanes / 2u; l < in->lanes; l++)
    slots_of(r, v)[l] = slots_of(r, in->args[l / half])[l % half];
}

static void run_deinterleave(const run *r, const nxk_instr *in, uint64_t *result) {
  uint32_t n = r->kernel->instrs[in->args[0]].lanes, step = n * in->n_args / in->lanes;
  for (uint32_t l = 0, at = nxk_first_of(in); l < in->lanes; l++, at += step) {
    bool last = at / n == in->n_args - 1u;
    result[l] = slots_of(r, in->args[at / n])[at % n + (last ? nxk_overlap_of(in) : 0)];
  }
}

static void run_shuffle_xor(const run *r, const nxk_instr *in, uint64_t *result) {
  for (uint32_t l = 0; l < in->lanes; l++)
    result[l] = slots_of(r, in->args[0])[l ^ (uint32_t)in->imm];
}

static void run_blend(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  const uint64_t *pred = slots_of(r, r->kernel->instrs[in->args[0]].args[0]);
  for (uint32_t l = 0; l < in->lanes; l++)
    slots_of(r, v)[l] = slots_of(r, in->args[pred[l] ? 1 : 2])[l];
}

/* ---- blocks */
static bool run_range(run *r, nxk_value first, nxk_value last);

static bool is_reduce_loop(const nxk_kernel *k, nxk_value v) {
  return v != NXK_NONE && k->instrs[v].op == NXK_for &&
         k->loops[k->instrs[v].imm].kind == NXK_REDUCE;
}

/* Starts or finishes the reductions in an outermost reduce loop. */
static void set_reductions(const run *r, nxk_value loop, bool start) {
  for (nxk_value v = loop + 1; v < r->program->aux[loop]; v++) {
    const nxk_instr *in = &r->kernel->instrs[v];
    if (in->op != NXK_reduce) continue;
    nxi_reducer *reducer = &r->reducers[r->program->aux[v]];
    if (start)
      nxi_reducer_start(reducer, (nxk_reduce_kind)in->kind, (nxk_order)in->order,
                        r->kernel->instrs[in->args[0]].dtype);
    else *slots_of(r, v) = nxi_reducer_finish(reducer);
  }
}

static bool is_map_loop(const nxk_kernel *k, nxk_value v) {
  return v != NXK_NONE && k->instrs[v].op == NXK_for && k->loops[k->instrs[v].imm].kind == NXK_MAP;
}

/* The state of a scan: the result before the block, and the result within it so far. */
enum { BEFORE, WITHIN };

static void start_scans(const run *r, nxk_value loop) {
  for (nxk_value v = loop + 1; v < r->program->aux[loop]; v++) {
    const nxk_instr *in = &r->kernel->instrs[v];
    if (in->op != NXK_scan) continue;
    nxi_reducer *state = &r->reducers[r->program->aux[v]];
    state->count = 0;
    for (int i = BEFORE; i <= WITHIN; i++)
      state->block.value[i] = nxk_reduce_identity((nxk_reduce_kind)in->kind, in->dtype);
  }
}

static void run_scan(const run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  nxi_reducer *state = &r->reducers[r->program->aux[v]];
  uint64_t *x = state->block.value;
  nxk_reduce_kind kind = (nxk_reduce_kind)in->kind;
  if (nxk_takes_pairs(in->kind)) {
    uint64_t element[2] = {*slots_of(r, in->args[0]), *slots_of(r, in->args[1])}, y[2];
    nxi_scan_pairs(x, state->count++, in->order == NXK_ORDER_PLAIN, in->dtype, element, y);
    *slots_of(r, v) = y[in->kind == NXK_PROD_IMAG];
    return;
  }
  if (in->order == NXK_ORDER_PLAIN && state->count > 0 && state->count % NXK_SCAN_BLOCK == 0) {
    x[BEFORE] = nxk_reduce_combine(kind, in->dtype, x[BEFORE], x[WITHIN]);
    x[WITHIN] = nxk_reduce_identity(kind, in->dtype);
  }
  x[WITHIN] = nxk_reduce_combine(kind, in->dtype, x[WITHIN], *slots_of(r, in->args[0]));
  *slots_of(r, v) = nxk_reduce_combine(kind, in->dtype, x[BEFORE], x[WITHIN]);
  state->count++;
}

/* Sets the carries of a loop: to their initial values at its start, and after an iteration to the
 * values of `next`. */
static void set_carries(const run *r, nxk_value loop, bool start) {
  for (nxk_value v = loop + 1; r->kernel->instrs[v].op == NXK_carry; v++) {
    const nxk_instr *in = &r->kernel->instrs[v];
    uint64_t *current = slots_of(r, v), *next = current + in->lanes;
    size_t bytes = in->lanes * sizeof *current;
    if (start) memcpy(next, slots_of(r, in->args[0]), bytes);
    memcpy(current, next, bytes);
  }
}

/* True if each iteration of this loop has LOCAL arrays of its own: there is no such loop inside
 * it. */
static bool owns_locals(const nxk_kernel *k, nxk_value loop, nxk_value end) {
  nxk_loop_kind kind = k->loops[k->instrs[loop].imm].kind;
  if (kind != NXK_OUTER) return kind == NXK_TASK;
  for (nxk_value v = loop + 1; v < end; v++)
    if (k->instrs[v].op == NXK_for && k->loops[k->instrs[v].imm].kind == NXK_OUTER) return false;
  return true;
}

/* Counts n steps. False, with a failure recorded, if there are none left. */
static bool take_steps(run *r, int64_t n) {
  r->steps -= n;
  if (r->steps > 0) return true;
  nxi_fail(r->diag, NX_INTERRUPTED, "", "kernel @%s runs too long", r->kernel->name);
  return false;
}

static void clear_locals(run *r) {
  r->steps -= r->scratch_bytes / 64;
  if (r->scratch) memset(r->scratch, 0xff, (size_t)r->scratch_bytes);
}

static bool run_for(run *r, nxk_value v) {
  const nxk_kernel *k = r->kernel;
  const nxk_loop *loop = &k->loops[k->instrs[v].imm];
  nxk_value end = r->program->aux[v];
  int64_t lower = bound_of(r, loop->lower), upper = bound_of(r, loop->upper), step = loop->step;
  if (loop->kind == NXK_TASK) { /* the part of the range that this call runs */
    lower = r->begin > r->first_task ? r->begin - r->first_task : 0;
    upper = r->end - r->first_task < r->n_tasks ? r->end - r->first_task : r->n_tasks;
  }
  bool reduces = loop->kind == NXK_REDUCE && !is_reduce_loop(k, k->instrs[v].block);
  bool clears = owns_locals(k, v, end);
  if (reduces) set_reductions(r, v, true);
  if (loop->kind == NXK_MAP && !is_map_loop(k, k->instrs[v].block)) start_scans(r, v);
  set_carries(r, v, true);
  for (int64_t i = lower; i < upper;) {
    *slots_of(r, v) = (uint64_t)i;
    if (clears) clear_locals(r);
    if (!take_steps(r, 1) || !run_range(r, v + 1, end)) return false;
    set_carries(r, v, false);
    if (r->last || upper - i <= step) break; /* the next addition could overflow */
    i += step;
  }
  r->last = false;
  if (reduces) set_reductions(r, v, false);
  return true;
}

static bool run_cold(run *r, nxk_value v) {
  nxk_value pred = r->kernel->instrs[v].args[0];
  bool any = false;
  for (uint32_t l = 0; l < r->kernel->instrs[pred].lanes; l++) any |= slots_of(r, pred)[l] != 0;
  return !any || run_range(r, v + 1, r->program->aux[v]);
}

static int64_t region_tasks(const nxk_region *region, const uint64_t *params) {
  if (region->tasks_param < 0) return region->tasks;
  int64_t n = (int64_t)params[region->tasks_param], divisor = region->tasks_divisor;
  return n <= 0 || divisor <= 0 ? 0 : (n - 1) / divisor + 1;
}

static bool run_region(run *r, nxk_value v) {
  bool ok = true;
  if (r->kernel->level == NXK_LOGICAL) {
    clear_locals(r);
    return run_range(r, v + 1, r->program->aux[v]);
  }
  r->n_tasks = region_tasks(&r->kernel->regions[r->kernel->instrs[v].imm], r->params);
  if (r->begin < r->first_task + r->n_tasks && r->end > r->first_task)
    ok = run_range(r, v + 1, r->program->aux[v]);
  r->first_task += r->n_tasks;
  return ok;
}

static void set_next(const run *r, nxk_value carry, nxk_value value) {
  size_t lanes = r->kernel->instrs[carry].lanes;
  memcpy(slots_of(r, carry) + lanes, slots_of(r, value), lanes * sizeof(uint64_t));
}

static bool run_one(run *r, nxk_value v) {
  const nxk_instr *in = &r->kernel->instrs[v];
  if (!take_steps(r, in->lanes + 1)) return false;
  if (in->op < NXK_SCALAR_COUNT) {
    run_scalar(r, v);
    return !(in->flags & NXK_NSW) || check_nsw(r, v);
  }
  switch (in->op) {
    case NXK_const: *slots_of(r, v) = in->imm; return true;
    case NXK_param: *slots_of(r, v) = r->params[in->imm]; return true;
    case NXK_region: return run_region(r, v);
    case NXK_for: return run_for(r, v);
    case NXK_cold: return run_cold(r, v);
    case NXK_blend: run_blend(r, v); return true;
    case NXK_load: return run_load(r, v);
    case NXK_store: return run_store(r, v);
    case NXK_reduce:
      nxi_reducer_add(&r->reducers[r->program->aux[v]], *slots_of(r, in->args[0]),
                      in->n_args > 1 ? *slots_of(r, in->args[1]) : 0);
      return true;
    case NXK_scan: run_scan(r, v); return true;
    case NXK_next: set_next(r, in->args[0], in->args[1]); return true;
    case NXK_until: r->last = *slots_of(r, in->args[0]) != 0; return true;
    case NXK_splat:
    case NXK_step_vector:
    case NXK_active: return run_lanes(r, v);
    case NXK_interleave_low:
    case NXK_interleave_high:
    case NXK_interleave: run_interleave(r, v); return true;
    case NXK_deinterleave: run_deinterleave(r, in, slots_of(r, v)); return true;
    case NXK_concat: run_concat(r, v); return true;
    case NXK_shuffle_xor: run_shuffle_xor(r, in, slots_of(r, v)); return true;
    case NXK_lane_reduce: run_lane_reduce(r, v); return true;
    case NXK_tree_push: return run_tree_push(r, v);
    case NXK_tree_join: return run_tree_join(r, v);
    default: return true; /* carry: set by its loop; barrier: lanes run in step anyway */
  }
}

/* Runs the instructions [first, last) of one block. A block inside it is run as a whole and then
 * skipped. */
static bool run_range(run *r, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v < last; v++) {
    if (!run_one(r, v)) return false;
    if (nxi_opens((nxk_op)r->kernel->instrs[v].op)) v = r->program->aux[v];
  }
  return true;
}

uint64_t nxi_program_value(const nxi_program *p, const uint64_t *params, nxk_value result,
                           uint64_t *slots) {
  run r = {.program = p, .kernel = p->kernel, .slots = slots, .params = params, .steps = INT64_MAX};
  run_range(&r, 0, p->kernel->n_instrs);
  return slots[p->slot[result]];
}

/* ---- launches */

static int64_t local_bytes(const nxk_buffer *b) {
  return b->kind == NXK_LOCAL ? (b->elements * nxi_dtype_size(b->dtype) + 63) / 64 * 64 : 0;
}

int64_t nxk_scratch_bytes(const nxk_kernel *k) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < k->n_buffers; i++) bytes += local_bytes(&k->buffers[i]);
  return bytes;
}

int64_t nxk_task_count(const nxk_kernel *k, const uint64_t *params) {
  int64_t tasks = 0;
  for (uint32_t i = 0; i < k->n_regions; i++) tasks += region_tasks(&k->regions[i], params);
  return tasks;
}

static bool functions_ready(const nxk_kernel *k) {
  for (uint32_t v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op < NXK_SCALAR_COUNT && !nxk_eval_ready((nxk_op)in->op, in->dtype)) return false;
  }
  return true;
}

/* The launch buffers followed by the LOCAL arrays in the scratch of the run. */
static void place_buffers(const run *r, void *const *launch, void **buffers) {
  int64_t used = 0;
  uint32_t n_launch = 0;
  for (uint32_t i = 0; i < r->kernel->n_buffers; i++) {
    const nxk_buffer *b = &r->kernel->buffers[i];
    buffers[i] = b->kind == NXK_LOCAL ? r->scratch + used : launch[n_launch++];
    used += local_bytes(b);
  }
}

nx_status nxk_interpret(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                        int64_t begin, int64_t end, nxi_diag *d) {
  return nxk_interpret_within(k, buffers, params, begin, end, INT64_MAX, d);
}

nx_status nxk_interpret_within(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                               int64_t begin, int64_t end, int64_t steps, nxi_diag *d) {
  nxi_program p;
  if (!nxi_program_init(&p, k)) return nxi_oom(d);
  run r = {.program = &p,
           .kernel = k,
           .params = params,
           .begin = begin,
           .end = end,
           .steps = steps,
           .diag = d};
  r.scratch_bytes = nxk_scratch_bytes(k);
  r.slots = nxi_calloc(p.n_slots + 1, sizeof *r.slots);
  r.reducers = nxi_malloc((p.n_reduces + 1) * sizeof *r.reducers);
  r.scratch = nxi_malloc((size_t)r.scratch_bytes + 1);
  void **placed = nxi_malloc((k->n_buffers + 1) * sizeof *placed);
  nx_status status = NX_OK;
  if (!r.slots || !r.reducers || !r.scratch || !placed || !functions_ready(k)) {
    status = nxi_oom(d);
  } else {
    place_buffers(&r, buffers, placed);
    r.buffers = placed;
    nxi_fp saved = nxi_fp_enter();
    if (!run_range(&r, 0, k->n_instrs)) status = r.steps > 0 ? NX_INTERNAL : NX_INTERRUPTED;
    nxi_fp_leave(saved);
  }
  nxi_free(placed);
  nxi_free(r.scratch);
  nxi_free(r.reducers);
  nxi_free(r.slots);
  nxi_program_free(&p);
  return status;
}
