/* SPDX-License-Identifier: ISC */
/* From a graph to the steps of a program. It decides which nodes are needed, where each value is in
 * memory, which views are read in place and which are stored, and when memory is free again. One
 * pass goes from the first node to the last, without recursion. */
#include <stddef.h>
#include <string.h>

#include "interp_plan.h"

static nx_status no_memory(nxg_planner *b) { return nxi_oom(b->d); }

/* ---- scratch memory. Sizes are rounded up to classes, four to an octave, and blocks of a class
 * are reused. */

static int size_class(int64_t bytes, int64_t *rounded) {
  uint64_t units = ((uint64_t)bytes + 63) / 64, up;
  if (units < 4) units = 4;
  int shift = 61 - __builtin_clzll(units); /* leaves three bits: 4 .. 7 */
  up = (units + ((1ull << shift) - 1)) >> shift;
  *rounded = (int64_t)(up << shift) * 64;
  return shift * 4 + (int)up; /* up may be 8: the same number as 4 of the next shift */
}

static uint32_t *head_of(nxg_planner *b, nxg_memory memory, int class) {
  const int list = memory == NXG_PIECE;
  uint32_t *head = &b->free_heads[list][class];
  uint64_t *word = &b->has_head[list][class / 64], bit = (uint64_t)1 << (class % 64);
  if (!(*word & bit)) *head = 0;
  *word |= bit;
  return head;
}

static nx_status too_large(nxg_planner *b) {
  return nxi_fail(b->d, NX_OUT_OF_MEMORY, "",
                  "memory is exhausted: intermediate results are longer than any memory");
}

static nx_status take(nxg_planner *b, nxg_memory memory, int64_t bytes, nxg_place *place) {
  int64_t rounded, end;
  *place = (nxg_place){memory, 0, 0};
  if (bytes > INT64_MAX / 4) return too_large(b);
  uint32_t *head = head_of(b, memory, size_class(bytes, &rounded));
  if (*head && b->blocks) {
    place->byte = b->blocks[*head - 1].byte;
    *head = b->blocks[*head - 1].next;
    return NX_OK;
  }
  int64_t *used = memory == NXG_PIECE ? &b->p->piece_bytes : &b->p->scratch_bytes;
  place->byte = *used;
  if (__builtin_add_overflow(*used, rounded, &end)) return too_large(b);
  *used = end;
  return NX_OK;
}

nx_status nxg_plan_temporary(nxg_planner *b, int64_t bytes, nxg_place *place) {
  return take(b, NXG_SCRATCH, bytes, place);
}

nx_status nxg_plan_done_with(nxg_planner *b, nxg_place place, int64_t bytes) {
  int64_t rounded;
  uint32_t *head = head_of(b, place.memory, size_class(bytes, &rounded));
  if (!nxi_grow(&b->blocks, &b->cap_blocks, b->n_blocks + 1, sizeof *b->blocks))
    return no_memory(b);
  b->blocks[b->n_blocks] = (nxg_free_block){place.byte, *head};
  *head = ++b->n_blocks;
  return NX_OK;
}

/* ---- accesses */

nx_status nxg_plan_access(nxg_planner *b, nxg_place place, nx_dtype t, int32_t rank,
                          const int64_t *shape, const int64_t *strides, nxg_access *a) {
  int64_t extents[NXG_MAX_RANK], steps[NXG_MAX_RANK], size = nxi_dtype_size(t),
                                                      elements = nxg_elements(rank, shape);
  int32_t n = 0;
  for (int32_t i = 0; i < rank; i++) {
    if (shape[i] == 1) continue;
    if (n && steps[n - 1] == strides[i] * shape[i]) {
      extents[n - 1] *= shape[i];
      steps[n - 1] = strides[i];
    } else {
      extents[n] = shape[i];
      steps[n++] = strides[i];
    }
  }
  if (n == 1 && steps[0] == 0) n = 0;
  bool dense = elements <= 1 || (n == 1 && steps[0] == 1);
  *a = (nxg_access){
      .place = place, .rank = n, .size = t == NX_BOOL ? 0 : (int32_t)size, .dense = dense};
  if (n == 0) return NX_OK;
  a->shape = nxi_arena_alloc(&b->p->arena, 2 * (size_t)n * sizeof *a->shape);
  if (!a->shape) return no_memory(b);
  a->strides = a->shape + n;
  for (int32_t i = 0; i < n; i++) {
    a->shape[i] = extents[i];
    a->strides[i] = steps[i] * size;
  }
  if (steps[n - 1] == 0 && (a->size == 4 || a->size == 8)) a->repeat = nxg_repeat_host(a->size);
  return NX_OK;
}

/* Sets *v to the view through which a node's elements are read, and *first to the place of its
 * first element. */
void nxg_plan_view(const nxg_planner *b, uint32_t node, nxg_view *v, nxg_place *first) {
  const nxg_node *n = &b->g->nodes[node];
  const nxg_planned *x = &b->values[node], *root = &b->values[x->root];
  nxg_view_contiguous(v, n->rank, n->shape);
  if (x->root != node) {
    memcpy(v->strides, n->attrs + 1, n->rank * sizeof *v->strides);
    v->offset = x->offset;
  }
  if (root->single) {
    memset(v->strides, 0, sizeof v->strides);
    v->offset = 0;
  }
  *first = root->place;
  first->byte += v->offset * nxi_dtype_size(n->dtype);
}

nx_status nxg_plan_operand(nxg_planner *b, uint32_t node, nxg_access *a) {
  nxg_view v;
  nxg_place first;
  nxg_plan_view(b, node, &v, &first);
  return nxg_plan_access(b, first, b->g->nodes[node].dtype, v.rank, v.shape, v.strides, a);
}

nx_status nxg_plan_stored_view(nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  const nxg_planned *root = &b->values[b->values[n->args[0]].root];
  int64_t strides[NXG_MAX_RANK] = {0};
  nxg_place first = root->place;
  if (!root->single) {
    memcpy(strides, n->attrs + 1, n->rank * sizeof *strides);
    first.byte += b->values[node].offset * nxi_dtype_size(n->dtype);
  }
  nxg_step *s = nxg_plan_step(b, nxg_step_move, nxg_node_elements(n), 1, 0);
  if (!s) return NX_OUT_OF_MEMORY;
  s->dtype = s->result = n->dtype;
  nx_status status = nxg_plan_access(b, first, n->dtype, n->rank, n->shape, strides, &s->args[0]);
  if (status) return status;
  nxg_contiguous_strides(n->rank, n->shape, strides);
  return nxg_plan_access(b, b->values[node].place, n->dtype, n->rank, n->shape, strides, &s->to);
}

/* ---- steps */

nxg_step *nxg_plan_step(nxg_planner *b, void (*run)(const nxg_step *, nxg_run_state *), int64_t n,
                        uint32_t n_args, uint32_t n_numbers) {
  nxg_program *p = b->p;
  int64_t work;
  nxg_access *args = n_args ? nxi_arena_alloc(&p->arena, n_args * sizeof *args) : NULL;
  int64_t *numbers = n_numbers ? nxi_arena_alloc(&p->arena, n_numbers * sizeof *numbers) : NULL;
  if ((n_args && !args) || (n_numbers && !numbers) ||
      !nxi_grow(&p->steps, &p->cap_steps, p->n_steps + 1, sizeof *p->steps)) {
    no_memory(b);
    return NULL;
  }
  p->work = __builtin_add_overflow(p->work, n, &work) ? INT64_MAX : work;
  nxg_step *s = &p->steps[p->n_steps++];
  *s = (nxg_step){.run = run,
                  .n = n,
                  .n_args = n_args,
                  .args = args,
                  .numbers = numbers,
                  .alias_range = UINT32_MAX};
  return s;
}

/* Adds eight bytes of constant memory that hold a scalar. */
static nx_status plan_constant(nxg_planner *b, nx_dtype t, uint64_t bits, nxg_place *place) {
  nxg_program *p = b->p;
  if (!nxi_grow(&p->constants, &p->cap_constants, p->n_constants + 1, 8)) return no_memory(b);
  *place = (nxg_place){NXG_CONSTANT, 0, 8 * (int64_t)p->n_constants};
  memset(p->constants + place->byte, 0, 8);
  nxi_store_element(p->constants + place->byte, t, bits);
  p->n_constants++;
  return NX_OK;
}

nx_status nxg_plan_scalar(nxg_planner *b, nx_dtype t, uint64_t bits, nxg_access *a) {
  nxg_place place;
  nx_status status = plan_constant(b, t, bits, &place);
  return status ? status : nxg_plan_access(b, place, t, 0, NULL, NULL, a);
}

static nx_status plan_parameter(nxg_planner *b, const nxg_node *n, nxg_place *place) {
  nxg_program *p = b->p;
  if (!nxi_grow(&p->slots, &p->cap_slots, p->n_slots + 1, sizeof *p->slots)) return no_memory(b);
  *place = (nxg_place){NXG_SCRATCH, 0, p->scratch_bytes};
  p->slots[p->n_slots++] = (nxg_param_slot){(uint32_t)n->attrs[1], n->dtype, p->scratch_bytes};
  p->scratch_bytes += 64; /* a multiple, so that everything stays aligned */
  return NX_OK;
}

void nxg_plan_add_work(nxg_planner *b, int64_t elements) {
  b->p->work = __builtin_add_overflow(b->p->work, elements, &elements) ? INT64_MAX : elements;
}

/* ---- needs, roots and lifetimes */

static void mark_needed(nxg_planner *b) {
  for (uint32_t i = 0; i < b->g->n_outputs; i++) b->values[b->g->outputs[i].node].needed = true;
  for (uint32_t i = b->g->n_nodes; i-- > 0;) {
    const nxg_node *n = &b->g->nodes[i];
    uint32_t read = n->op == NXG_update && n->n_args == 3
                        ? 2
                        : n->n_args; /* operand 2 is an address, not a value to compute */
    for (uint32_t k = 0; b->values[i].needed && k < read; k++) b->values[n->args[k]].needed = true;
  }
}

/* A view of a stored value is read in place, and so is a view of a dense view, since their offsets
 * can be added. A view that is not dense and has a view on it is stored. */
static void find_roots(nxg_planner *b) {
  for (uint32_t i = 0; i < b->g->n_nodes; i++) {
    const nxg_node *n = &b->g->nodes[i];
    nxg_planned *x = &b->values[i];
    x->root = i;
    if (n->op != NXG_view || !x->needed) continue;
    nxg_planned *a = &b->values[n->args[0]];
    nxg_view v;
    nxg_node_view(b->g, n->args[0], &v);
    if (a->root != n->args[0] && !nxg_view_is_contiguous(&v)) a->root = n->args[0];
    x->root = a->root;
    x->offset = n->attrs[0] + (a->root != n->args[0] ? a->offset : 0);
  }
}

static void find_last_uses(nxg_planner *b) {
  for (uint32_t i = 0; i < b->g->n_nodes; i++) {
    const nxg_node *n = &b->g->nodes[i];
    if (!b->values[i].needed) continue;
    b->values[i].last_use = i > b->values[i].last_use ? i : b->values[i].last_use;
    bool reads = n->op != NXG_view ||
                 b->values[i].root == i; /* a view that is read in place has no step of its own */
    for (uint32_t k = 0; reads && k < n->n_args; k++)
      b->values[b->values[n->args[k]].root].last_use = i;
  }
  for (uint32_t i = 0; i < b->g->n_outputs; i++)
    b->values[b->values[b->g->outputs[i].node].root].last_use = UINT32_MAX;
}

/* ---- steps that run together. Elementwise operations on as many elements, one after the other,
 * run piece by piece, and a value that only they read is never in memory as a whole. */

static bool is_elementwise(const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_MAP || n->op == NXG_arange;
}

/* Whether a node has steps. */
static bool has_steps(const nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  return b->values[node].needed && b->values[node].root == node && n->op != NXG_full &&
         (n->op != NXG_input || nxi_is_nibble(n->dtype));
}

/* Whether it reads a value of these steps otherwise than element by element: through a view. */
static bool reads_view(const nxg_planner *b, const nxg_node *n, uint32_t together) {
  for (uint32_t k = 0; k < n->n_args; k++) {
    uint32_t root = b->values[n->args[k]].root;
    if (root != n->args[k] && b->values[root].together == together) return true;
  }
  return false;
}

/* Returns how many nodes have steps. */
static uint32_t find_together(nxg_planner *b) {
  uint32_t current = 0, n_steps = 0;
  int64_t elements = 0;
  for (uint32_t i = 0; i < b->g->n_nodes; i++) {
    const nxg_node *n = &b->g->nodes[i];
    if (!has_steps(b, i)) continue;
    n_steps++;
    int64_t own = is_elementwise(n) ? nxg_node_elements(n) : 0;
    if (own <= NXG_PIECE_LENGTH) current = 0;
    else if (current == 0 || own != elements || reads_view(b, n, current)) current = i + 1;
    elements = own;
    b->values[i].together = current;
  }
  return n_steps;
}

/* Whether only steps that run with its own read the value. */
static bool is_piece(const nxg_planner *b, const nxg_planned *x) {
  return x->together && x->last_use != UINT32_MAX && b->values[x->last_use].together == x->together;
}

/* ---- outputs */

/* A stored value that is an output is computed directly in the memory of the output. */
static void bind_outputs(nxg_planner *b) {
  for (uint32_t i = 0; i < b->g->n_outputs; i++) {
    uint32_t node = b->g->outputs[i].node;
    nxg_planned *x = &b->values[node];
    bool computed = x->root == node && nxg_ops[b->g->nodes[node].op].kind != NXG_KIND_LEAF &&
                    !nxi_is_nibble(b->g->nodes[node].dtype);
    if (computed && x->place.memory != NXG_OUTPUT) x->place = (nxg_place){NXG_OUTPUT, i, 0};
  }
}

/* ---- the nodes in order */

/* Between inputs and outputs an i4 or u4 element has a byte of its own. */
static nx_status plan_unpack(nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  nxg_step *s = nxg_plan_step(b, nxg_step_unpack, nxg_node_elements(n), 1, 0);
  if (!s) return NX_OUT_OF_MEMORY;
  s->dtype = s->result = n->dtype;
  s->args[0] = (nxg_access){.place = {NXG_INPUT, (uint32_t)n->attrs[0], 0}, .size = 1};
  s->to = (nxg_access){.place = b->values[node].place, .size = 1, .dense = true};
  return NX_OK;
}

static nx_status plan_pack(nxg_planner *b, uint32_t node, uint32_t output) {
  const nxg_node *n = &b->g->nodes[node];
  nxg_step *s = nxg_plan_step(b, nxg_step_pack, nxg_node_elements(n), 1, 0);
  if (!s) return NX_OUT_OF_MEMORY;
  s->dtype = s->result = n->dtype;
  s->to = (nxg_access){.place = {NXG_OUTPUT, output, 0}, .size = 1, .dense = true};
  return nxg_plan_operand(b, node, &s->args[0]);
}

/* Before the steps of the node are made. */
nx_status nxg_plan_place(nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  nxg_planned *x = &b->values[node];
  if (x->made) return NX_OK;
  if (n->op == NXG_input && !nxi_is_nibble(n->dtype)) {
    x->place = (nxg_place){NXG_INPUT, (uint32_t)n->attrs[0], 0};
    return NX_OK;
  }
  if (n->op == NXG_full) {
    x->single = true;
    return n->attrs[1] < 0 ? plan_constant(b, n->dtype, (uint64_t)n->attrs[0], &x->place)
                           : plan_parameter(b, n, &x->place);
  }
  if (x->place.memory == NXG_OUTPUT || x->bytes) return NX_OK;
  const bool piece = is_piece(b, x);
  x->bytes = (piece ? NXG_PIECE_LENGTH : nxg_node_elements(n)) * nxi_dtype_size(n->dtype);
  nx_status status = take(b, piece ? NXG_PIECE : NXG_SCRATCH, x->bytes, &x->place);
  return status || n->op != NXG_input ? status : plan_unpack(b, node);
}

/* Frees the memory of values that are not read after this node; pieces: only that of pieces, where
 * others are still read by the pieces that follow. */
static nx_status release_dead(nxg_planner *b, uint32_t node, bool pieces) {
  const nxg_node *n = &b->g->nodes[node];
  for (uint32_t k = 0; k <= n->n_args; k++) {
    nxg_planned *x = &b->values[k == n->n_args ? node : b->values[n->args[k]].root];
    if (x->last_use != node || x->bytes == 0) continue;
    if (pieces && x->place.memory != NXG_PIECE) continue;
    nx_status status = nxg_plan_done_with(b, x->place, x->bytes);
    if (status) return status;
    x->bytes = 0;
  }
  return NX_OK;
}

static nx_status plan_one(nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  nx_status status = nxg_plan_place(b, node);
  bool computed = n->op != NXG_input && n->op != NXG_full && !b->values[node].made;
  if (!status && computed) status = nxg_plan_node(b, node);
  return status ? status : release_dead(b, node, b->values[node].together != 0);
}

/* The steps from `first` on, of the nodes from..to, run together. */
static nx_status end_together(nxg_planner *b, uint32_t first, uint32_t from, uint32_t to) {
  uint32_t n = b->p->n_steps - first;
  if (n > 1) b->p->steps[first].together = n;
  nx_status status = NX_OK;
  for (uint32_t i = from; i <= to && !status; i++)
    if (b->values[i].together == from + 1) status = release_dead(b, i, false);
  return status;
}

static nx_status plan_nodes(nxg_planner *b) {
  uint32_t current = 0, first = 0, last = 0; /* of steps that run together: the nodes, a step */
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < b->g->n_nodes && !status; i++) {
    const nxg_planned *x = &b->values[i];
    if (!x->needed || x->root != i) continue;
    if (has_steps(b, i) && x->together != current) {
      if (current) status = end_together(b, first, current - 1, last);
      current = x->together;
      first = b->p->n_steps;
    }
    last = i;
    if (!status) status = plan_one(b, i);
  }
  return status || !current ? status : end_together(b, first, current - 1, last);
}

/* Outputs that are inputs, views, constants, or the same value as another one. */
static nx_status plan_output_copies(nxg_planner *b) {
  for (uint32_t i = 0; i < b->g->n_outputs; i++) {
    uint32_t node = b->g->outputs[i].node;
    const nxg_node *n = &b->g->nodes[node];
    const nxg_planned *x = &b->values[node];
    if (x->root == node && x->place.memory == NXG_OUTPUT && x->place.number == i) continue;
    nx_status status =
        nxi_is_nibble(n->dtype)
            ? plan_pack(b, node, i)
            : nxg_plan_move(b, node, (nxg_place){NXG_OUTPUT, i, 0}, n->rank, n->shape, NULL);
    if (status) return status;
  }
  return NX_OK;
}

static nx_status plan_all(nxg_planner *b) {
  b->values = nxi_calloc(b->g->n_nodes, sizeof *b->values);
  if (!b->values) return no_memory(b);
  mark_needed(b);
  find_roots(b);
  find_last_uses(b);
  /* nearly all have one step, which is large enough that long programs should not be copied */
  if (!nxi_grow(&b->p->steps, &b->p->cap_steps, find_together(b), sizeof *b->p->steps))
    return no_memory(b);
  bind_outputs(b);
  nx_status status = plan_nodes(b);
  return status ? status : plan_output_copies(b);
}

nx_status nxg_program_create(const nxg_graph *g, nxg_program **out, nxi_diag *d) {
  nxg_planner b;
  memset(&b, 0, offsetof(nxg_planner, free_heads));
  b.g = g;
  b.d = d;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (nxi_is_complex(g->nodes[i].dtype))
      return nxi_fail(d, NX_INTERNAL, "", "the interpreter is given complex values");
  b.p = nxi_calloc(1, sizeof *b.p);
  nx_status status = b.p ? plan_all(&b) : no_memory(&b);
  nxi_free(b.values);
  nxi_free(b.blocks);
  if (status) nxg_program_destroy(b.p);
  else *out = b.p;
  return status;
}

void nxg_program_destroy(nxg_program *p) {
  if (!p) return;
  nxg_release_calls(p);
  nxg_release_controls(p);
  nxi_free(p->steps);
  nxi_free(p->slots);
  nxi_free(p->constants);
  nxi_free(atomic_load(&p->spare));
  nxi_arena_destroy(&p->arena);
  nxi_free(p);
}
