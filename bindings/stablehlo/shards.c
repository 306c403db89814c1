/* SPDX-License-Identifier: ISC */
/* Parts of values among the partitions of a program, made of whole values and back. */
#include "shards.h"

#include <string.h>

#include "ir/dtype.h"
#include "mesh.h"

/* Whether a process has less than all of a tensor, or a term of it. */
static bool is_divided(const nxh_sharding *s) {
  for (int32_t d = 0; s->grid != NULL && d <= NXH_TERMS; d++)
    if (s->n[d] > 0 && nxh_parts_of(s, d) > 1) return true;
  return false;
}

static bool same(const nxh_sharding *a, const nxh_sharding *b) {
  if (a->grid != b->grid || memcmp(a->n, b->n, sizeof a->n) != 0) return false;
  for (int32_t d = 0; d <= NXH_TERMS; d++)
    if (memcmp(a->axes[d], b->axes[d], a->n[d]) != 0) return false;
  return true;
}

/* ---- places in a mesh */

static int64_t place_of(const nxh_grid *g, int64_t device) {
  for (int64_t i = 0; g->devices != NULL && i < g->places; i++)
    if (g->devices[i] == device) return i;
  return g->devices != NULL ? -1 : device;
}

static int64_t stride_of(const nxh_grid *g, int axis) {
  int64_t stride = 1;
  for (uint32_t i = (uint32_t)axis + 1; i < g->n; i++) stride *= g->sizes[i];
  return stride;
}

int64_t nxh_part_at(const nxh_sharding *s, int32_t d, int64_t place) {
  int64_t part = 0;
  for (int i = 0; i < s->n[d]; i++) {
    int axis = s->axes[d][i];
    part = part * s->grid->sizes[axis] + place / stride_of(s->grid, axis) % s->grid->sizes[axis];
  }
  return part;
}

/* The place that has this part of dimension d, and all else as `place` has it. */
static int64_t place_with(const nxh_sharding *s, int32_t d, int64_t place, int64_t part) {
  for (int i = s->n[d] - 1; i >= 0; i--) {
    int axis = s->axes[d][i];
    int64_t size = s->grid->sizes[axis], stride = stride_of(s->grid, axis);
    place += (part % size - place / stride % size) * stride;
    part /= size;
  }
  return place;
}

static bool find_place(const nxh_recorder *r, const nxh_grid *g, int64_t *place) {
  *place = place_of(g, r->partition);
  return g->places == nxh_mesh_partitions(r->mesh) && *place >= 0 && *place < g->places;
}

int64_t nxh_place_of(const nxh_recorder *r, const nxh_grid *g) {
  int64_t place;
  return g != NULL && find_place(r, g, &place) ? place : -1;
}

static bool own_place(nxh_recorder *r, const nxh_grid *g, int64_t *place) {
  if (g == NULL) return nxh_fail(r, NX_INTERNAL, "a sharding without a mesh");
  if (find_place(r, g, place)) return true;
  return nxh_fail(r, NX_INVALID_ARGUMENT, "a mesh of %lld devices in a program of %d partitions",
                  (long long)g->places, nxh_mesh_partitions(r->mesh));
}

/* ---- parts of tensors */

/* What changes no sum: of floats the zero that has a sign, for 0 + -0 is 0. */
static nx_scalar zero_of(nx_dtype t) {
  if (nxi_is_float(t)) return (nx_scalar){NX_SCALAR_F64, {.f = {-0.0, 0}}};
  if (nxi_is_complex(t)) return (nx_scalar){NX_SCALAR_C128, {.f = {-0.0, -0.0}}};
  return (nx_scalar){NX_SCALAR_I64, {.i = 0}};
}

static nx_tensor *no_term(nxh_recorder *r, nx_tensor *like) {
  nx_dtype t = nx_dtype_of(like);
  nx_scalar zero = zero_of(t);
  return nx_full(r->c, r->device, t, nx_shape(like), nx_rank(like), &zero);
}

static nx_tensor *slice(nxh_recorder *r, nx_tensor *whole, const nxh_sharding *s) {
  int64_t start[NX_MAX_RANK] = {0}, count[NX_MAX_RANK] = {0}, step[NX_MAX_RANK] = {0}, place = 0;
  int32_t rank = nx_rank(whole);
  if (whole == NULL || !is_divided(s)) return whole;
  if (!own_place(r, s->grid, &place)) return NULL;
  for (int32_t d = 0; d < rank; d++) {
    int64_t parts = nxh_parts_of(s, d), extent = nx_shape(whole)[d];
    if (extent % parts != 0) {
      nxh_fail(r, NX_INVALID_ARGUMENT, "%lld elements are not divided by %lld", (long long)extent,
               (long long)parts);
      return NULL;
    }
    count[d] = extent / parts;
    start[d] = nxh_part_at(s, d, place) * count[d];
    step[d] = 1;
  }
  nx_tensor *part = nx_slice(whole, start, count, step, (size_t)rank);
  return part == NULL || nxh_part_at(s, NXH_TERMS, place) == 0 ? part : no_term(r, part);
}

static nx_reduction sum_of(nx_dtype t) { return t == NX_BOOL ? NX_REDUCE_OR : NX_REDUCE_SUM; }

/* Those that have the parts of a dimension, or the terms, in their order. */
static nx_group *group_along(nxh_recorder *r, const nxh_sharding *s, int32_t d, int64_t place) {
  int32_t members[1024], n = (int32_t)nxh_parts_of(s, d);
  for (int32_t i = 0; i < n; i++) {
    int64_t at = place_with(s, d, place, i);
    members[i] = (int32_t)(s->grid->devices != NULL ? s->grid->devices[at] : at);
  }
  return nxh_mesh_group(r->mesh, members, (uint32_t)n, (uint32_t)nxh_part_at(s, d, place));
}

static nx_tensor *gather_along(nxh_recorder *r, nx_tensor *part, const nxh_sharding *s, int32_t d,
                               int64_t place) {
  nx_group *g = group_along(r, s, d, place);
  if (g == NULL || d < NXH_TERMS) return g != NULL ? nx_all_gather(part, g, d) : NULL;
  return nx_all_reduce(part, g, sum_of(nx_dtype_of(part)), 0);
}

/* Sums are made of parts, before these are gathered. */
static nx_tensor *gather(nxh_recorder *r, nx_tensor *part, const nxh_sharding *s) {
  int64_t place = 0;
  if (part == NULL || !is_divided(s)) return part;
  if (!own_place(r, s->grid, &place)) return NULL;
  for (int32_t d = NXH_TERMS; d >= 0; d--)
    if (part != NULL && (d == NXH_TERMS || d < nx_rank(part)) && nxh_parts_of(s, d) > 1)
      part = gather_along(r, part, s, d, place);
  return part;
}

/* The dimension that `to` divides by just the axes along which `from` is unreduced, in their order,
 * which is that of the sum, if they are else the same and `from` does not divide it; -1: none. */
static int32_t scattered(const nxh_sharding *from, const nxh_sharding *to, int32_t rank) {
  for (int32_t d = 0; d < rank; d++) {
    if (from->n[d] > 0 || to->n[d] == 0 || to->n[d] != from->n[NXH_TERMS]) continue;
    nxh_sharding would = *from;
    would.n[d] = to->n[d];
    memcpy(would.axes[d], to->axes[d], sizeof would.axes[d]);
    would.n[NXH_TERMS] = 0;
    bool in_order = memcmp(to->axes[d], from->axes[NXH_TERMS], to->n[d]) == 0;
    return in_order && same(&would, to) ? d : -1;
  }
  return -1;
}

/* The part by `to` of what is unreduced by `from`, as `scattered` found it. */
static nx_tensor *scatter(nxh_recorder *r, const nxh_shard *from, const nxh_sharding *to,
                          int32_t d) {
  int64_t place = 0, parts = nxh_parts_of(to, d), extent = nx_shape(from->tensor)[d];
  if (to->grid == NULL || !own_place(r, to->grid, &place)) return NULL;
  if (extent % parts != 0) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "%lld elements are not divided by %lld", (long long)extent,
             (long long)parts);
    return NULL;
  }
  nx_group *g = group_along(r, to, d, place);
  return g != NULL ? nx_reduce_scatter(from->tensor, g, sum_of(nx_dtype_of(from->tensor)), d)
                   : NULL;
}

static bool has_axis(const nxh_sharding *s, int32_t d, uint8_t axis) {
  return memchr(s->axes[d], axis, s->n[d]) != NULL;
}

/* Whether each process can make its term by `to` of its part by `from` alone: what divides the
 * value there and not here are axes along which it is unreduced, the innermost of a dimension. */
static bool is_spread(const nxh_sharding *from, const nxh_sharding *to, int32_t rank) {
  bool some = false;
  if (from->grid != to->grid || from->n[NXH_TERMS] > 0 || to->n[NXH_TERMS] == 0) return false;
  for (int32_t d = 0; d < rank; d++) {
    if (to->n[d] > from->n[d] || memcmp(to->axes[d], from->axes[d], to->n[d]) != 0) return false;
    for (int i = to->n[d]; i < from->n[d]; i++, some = true)
      if (!has_axis(to, NXH_TERMS, from->axes[d][i])) return false;
  }
  return some;
}

/* Along axes that divided it each has its part, between zeros; of those with the same part the
 * first has it. */
static nx_tensor *spread(nxh_recorder *r, const nxh_shard *from, const nxh_sharding *to) {
  int64_t before[NX_MAX_RANK] = {0}, after[NX_MAX_RANK] = {0}, place = 0;
  int32_t rank = nx_rank(from->tensor);
  nxh_sharding rest = *to;
  if (to->grid == NULL || !own_place(r, to->grid, &place)) return NULL;
  for (int32_t d = 0; d < rank; d++) {
    int64_t extent = nx_shape(from->tensor)[d];
    int64_t parts = nxh_parts_of(&from->sharding, d) / nxh_parts_of(to, d);
    before[d] = nxh_part_at(&from->sharding, d, place) % parts * extent;
    after[d] = (parts - 1) * extent - before[d];
  }
  rest.n[NXH_TERMS] = 0;
  for (int i = 0; i < to->n[NXH_TERMS]; i++) {
    bool found = false;
    for (int32_t d = 0; d < rank; d++)
      found = found || has_axis(&from->sharding, d, to->axes[NXH_TERMS][i]);
    if (!found) rest.axes[NXH_TERMS][rest.n[NXH_TERMS]++] = to->axes[NXH_TERMS][i];
  }
  nx_scalar zero = zero_of(nx_dtype_of(from->tensor));
  nx_tensor *term = nx_pad(from->tensor, before, after, (size_t)rank, &zero);
  return term == NULL || nxh_part_at(&rest, NXH_TERMS, place) == 0 ? term : no_term(r, term);
}

/* ---- values of functions */

bool nxh_is_sharded(const nxh_recorder *r) {
  return r->m->n_grids > 0 && nxh_mesh_partitions(r->mesh) > 1 && nxh_mesh_replicas(r->mesh) == 1;
}

static bool sharding_of(nxh_recorder *r, const nxh_attr *attrs, uint32_t i, int32_t rank,
                        nxh_sharding *out) {
  const char *bad = nxh_sharding_of(r->m, attrs != NULL ? &attrs[i] : NULL, rank, out);
  return bad == NULL || nxh_fail(r, NX_INVALID_ARGUMENT, "%s", bad);
}

nx_tensor *nxh_shard_input(nxh_recorder *r, const nxh_function *f, uint32_t i) {
  nxh_type part = *nxh_type_of(r->m, f->body.first + i);
  int64_t shape[NX_MAX_RANK];
  nxh_sharding s;
  if (part.kind != NXH_TENSOR) return nxh_placeholder(r, &part);
  if (!sharding_of(r, f->arg_attrs, i, part.rank, &s)) return NULL;
  if (!nxh_local_shape(&s, &part, shape)) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "argument %u cannot be divided as its sharding says", i);
    return NULL;
  }
  part.shape = shape;
  return nxh_placeholder(r, &part);
}

bool nxh_shard_put(nxh_recorder *r, const nxh_function *f, uint32_t i, nx_tensor *part) {
  nxh_sharding s;
  if (!sharding_of(r, f->arg_attrs, i, nx_rank(part), &s)) return false;
  if (is_divided(&s)) r->frame->shards[i] = (nxh_shard){part, s};
  else nxh_put(r, f->body.first + i, part);
  return true;
}

bool nxh_make_whole(nxh_recorder *r, nxh_value v) {
  nxh_frame *f = r->frame;
  if (f->shards == NULL || v < f->base || v - f->base >= f->n) return true;
  nxh_shard *shard = &f->shards[v - f->base];
  if (f->tensors[v - f->base] != NULL || shard->tensor == NULL) return true;
  return (f->tensors[v - f->base] = gather(r, shard->tensor, &shard->sharding)) != NULL;
}

bool nxh_make_all_whole(nxh_recorder *r) {
  for (uint32_t i = 0; r->frame->shards != NULL && i < r->frame->n; i++)
    if (!nxh_make_whole(r, r->frame->base + i)) return false;
  return true;
}

static void forget_values(nxh_frame *f, nxh_value first) {
  for (uint32_t i = first - f->base; i < f->n; i++) {
    f->shards[i] = (nxh_shard){0};
    f->tensors[i] = NULL;
  }
}

nxh_value nxh_enter_region(nxh_recorder *r, nxh_value first) {
  nxh_frame *f = r->frame;
  nxh_value before = f->inner;
  if (f->shards == NULL || first < f->base) return before;
  forget_values(f, first); /* of another time that it was recorded */
  f->inner = first;
  return before;
}

void nxh_leave_region(nxh_recorder *r, nxh_value before) {
  nxh_frame *f = r->frame;
  if (f->inner == before) return; /* it was not entered */
  forget_values(f, f->inner);     /* which are released with the scope of the region */
  f->inner = before;
}

const nxh_shard *nxh_shard_of(const nxh_recorder *r, nxh_value v) {
  const nxh_frame *f = r->frame;
  if (f->shards == NULL || v < f->inner || v < f->base || v - f->base >= f->n) return NULL;
  return f->shards[v - f->base].tensor != NULL ? &f->shards[v - f->base] : NULL;
}

bool nxh_shard_only(const nxh_recorder *r, nxh_value v) {
  return nxh_shard_of(r, v) != NULL && r->frame->tensors[v - r->frame->base] == NULL;
}

nx_tensor *nxh_part_of(nxh_recorder *r, nxh_value v, const nxh_sharding *s) {
  const nxh_shard *shard = nxh_shard_of(r, v);
  if (shard != NULL && same(&shard->sharding, s)) return shard->tensor;
  if (shard != NULL && is_spread(&shard->sharding, s, nx_rank(shard->tensor)))
    return spread(r, shard, s);
  bool known = shard == NULL || r->frame->tensors[v - r->frame->base] != NULL; /* whole */
  int32_t d = known ? -1 : scattered(&shard->sharding, s, nx_rank(shard->tensor));
  if (d >= 0) return scatter(r, shard, s, d);
  nx_tensor *whole = nxh_value_of(r, v);
  return whole != NULL ? slice(r, whole, s) : NULL;
}

nx_tensor *nxh_shard_result(nxh_recorder *r, const nxh_function *f, uint32_t i, nxh_value v) {
  if (f->results[i].kind != NXH_TENSOR) return NULL;
  if (r->frame->results == NULL) {
    const char *bad = nxh_result_shardings(r->m, f, &r->frame->results);
    if (bad == nxh_no_room) return nxi_oom(r->d), NULL;
    if (bad != NULL) return nxh_fail(r, NX_INVALID_ARGUMENT, "%s", bad), NULL;
  }
  return nxh_part_of(r, v, &r->frame->results[i]);
}

/* ---- calls */

void nxh_shard_arguments(nxh_recorder *r, const nxh_op *op, nxh_frame *caller) {
  nxh_frame *own = r->frame;
  if (own->shards == NULL || caller->shards == NULL) return;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    r->frame = caller;
    const nxh_shard *shard = nxh_shard_of(r, op->operands[i]);
    r->frame = own;
    if (shard != NULL) own->shards[i] = *shard;
  }
}

void nxh_shard_results(nxh_recorder *r, const nxh_op *op, nxh_frame *caller) {
  const nxh_op *last = nxh_last(&r->frame->function->body);
  if (r->frame->shards == NULL || caller->shards == NULL) return;
  for (uint32_t i = 0; i < op->n_results; i++) {
    const nxh_shard *shard = nxh_shard_of(r, last->operands[i]);
    caller->shards[op->first_result + i - caller->base] = shard != NULL ? *shard : (nxh_shard){0};
  }
}

/* How values of a frame's function are divided; NULL: a failure. */
static const nxh_sharding *known_in(nxh_recorder *r, nxh_frame *f) {
  if (f->known != NULL) return f->known;
  const nxh_sharding **args = NULL;
  if (f->call != NULL) {
    const nxh_sharding *outer = known_in(r, f->caller);
    args = nxi_calloc((size_t)f->call->n_operands + 1, sizeof *args);
    if (args == NULL) nxi_oom(r->d);
    for (uint32_t i = 0; outer != NULL && args != NULL && i < f->call->n_operands; i++)
      args[i] = &outer[f->call->operands[i] - f->caller->base];
    if (outer == NULL || args == NULL) return nxi_free(args), NULL;
  }
  const char *bad = nxh_follow(r->m, f->function, args, &f->known);
  nxi_free(args);
  if (bad == nxh_no_room) nxi_oom(r->d);
  else if (bad != NULL) nxh_fail(r, NX_INVALID_ARGUMENT, "%s", bad);
  return f->known;
}

bool nxh_known_sharding(nxh_recorder *r, nxh_value v, nxh_sharding *out) {
  const nxh_shard *shard = nxh_shard_of(r, v);
  const nxh_sharding *all = r->frame->shards != NULL ? known_in(r, r->frame) : NULL;
  if (shard != NULL) *out = shard->sharding;
  else if (all != NULL) *out = all[v - r->frame->base];
  return (shard != NULL || all != NULL) && out->grid != NULL;
}

nx_tensor *nxh_first_term(nxh_recorder *r, nx_tensor *t, const nxh_sharding *s) {
  int64_t place = nxh_place_of(r, s->grid);
  return t == NULL || place < 0 || nxh_part_at(s, NXH_TERMS, place) == 0 ? t : no_term(r, t);
}

nx_tensor *nxh_known_part(nxh_recorder *r, const nxh_op *op, uint32_t operand) {
  const nxh_type *type = nxh_operand_type(r, op, operand);
  nxh_value v = op->operands[operand];
  const nxh_shard *shard = nxh_shard_of(r, v);
  int64_t shape[NX_MAX_RANK];
  if (r->frame->shards == NULL || type->kind != NXH_TENSOR) return nxh_in(r, op, operand);
  if (shard != NULL && shard->sharding.n[NXH_TERMS] == 0) return shard->tensor;
  const nxh_sharding *all = known_in(r, r->frame);
  if (all == NULL) return NULL;
  nxh_sharding s = all[v - r->frame->base];
  s.n[NXH_TERMS] = 0;
  bool divided = is_divided(&s) && nxh_local_shape(&s, type, shape);
  return divided ? nxh_part_of(r, v, &s) : nxh_in(r, op, operand);
}

/* ---- operations */

/* Of a whole value the part that a constraint asks for, if there is one, for what wants terms of a
 * sum next. */
static bool note_part(nxh_recorder *r, const nxh_op *op) {
  const nxh_attr *a = nxh_get(op, "sharding");
  const nxh_type *type = nxh_result_type(r, op, 0);
  int64_t shape[NX_MAX_RANK], place;
  nxh_sharding s;
  if (r->frame->shards == NULL || a == NULL || type->kind != NXH_TENSOR ||
      nxh_read_sharding(r->m, a, type->rank, &s) != NULL || s.n[NXH_TERMS] > 0 || !is_divided(&s) ||
      !find_place(r, s.grid, &place) || !nxh_local_shape(&s, type, shape))
    return true;
  nx_tensor *part = slice(r, nxh_value_of(r, op->first_result), &s);
  r->frame->shards[op->first_result - r->frame->base] = (nxh_shard){part, s};
  return part != NULL;
}

/* A constraint says where a value shall lie, not what it is, and a cast nothing of it. */
bool nxh_constrain(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  const nxh_shard *shard = op->n_operands == 1 ? nxh_shard_of(r, op->operands[0]) : NULL;
  if (op->n_results != 1) return nxh_identity(r, op, row);
  if (shard == NULL) return nxh_identity(r, op, row) && note_part(r, op);
  nx_tensor *whole = r->frame->tensors[op->operands[0] - r->frame->base];
  r->frame->shards[op->first_result - r->frame->base] = *shard;
  if (whole != NULL) nxh_put(r, op->first_result, whole);
  return true;
}

/* Axes that the computation does not divide by itself are left out. */
static void only_manual(nxh_sharding *s, const nxh_attr *manual) {
  for (int32_t d = 0; d <= NXH_TERMS; d++) {
    int kept = 0;
    for (int i = 0; i < s->n[d]; i++) {
      nxh_word name = s->grid->axes[s->axes[d][i]];
      bool found = false;
      for (uint32_t k = 0; !found && k < manual->list.n; k++)
        found = manual->list.items[k].kind == NXH_STRING &&
                nxh_words_equal(manual->list.items[k].word, name);
      if (found) s->axes[d][kept++] = s->axes[d][i];
    }
    s->n[d] = (uint8_t)kept;
  }
}

/* The sharding of operand or result i. */
static bool listed_sharding(nxh_recorder *r, const nxh_op *op, const char *name, uint32_t i,
                            int32_t rank, nxh_sharding *out) {
  const nxh_attr *manual = nxh_get(op, "manual_axes"), *list = nxh_get(op, name);
  if (manual == NULL || manual->kind != NXH_LIST || list == NULL || list->kind != NXH_LIST ||
      list->list.n <= i)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%s or manual_axes lack %u", name, i);
  const char *bad = nxh_read_sharding(r->m, &list->list.items[i], rank, out);
  if (bad != NULL) return nxh_fail(r, NX_INVALID_ARGUMENT, "%s", bad);
  only_manual(out, manual);
  return true;
}

static bool take_parts(nxh_recorder *r, const nxh_op *op, nx_tensor **args) {
  bool sharded = nxh_is_sharded(r);
  nxh_sharding s = {0};
  for (uint32_t i = 0; i < op->n_operands; i++) {
    const nxh_type *type = nxh_type_of(r->m, op->regions[0].first + i);
    args[i] = NULL;
    if (type->kind == NXH_TOKEN) continue;
    if (sharded && !listed_sharding(r, op, "in_shardings", i, type->rank, &s)) return false;
    if ((args[i] = nxh_part_of(r, op->operands[i], &s)) == NULL) return false;
    if (!nxh_has_type(args[i], type))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "operand %u is divided among processes", i);
  }
  return true;
}

/* Results are known by their parts, where those of the outermost function are. */
static bool give_parts(nxh_recorder *r, const nxh_op *op, nx_tensor *const *results) {
  bool sharded = nxh_is_sharded(r);
  nxh_sharding s = {0};
  for (uint32_t i = 0; i < op->n_results; i++) {
    if (nxh_result_type(r, op, i)->kind == NXH_TOKEN) continue;
    if (results[i] == NULL)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is a token of another type", i);
    if (sharded && !listed_sharding(r, op, "out_shardings", i, nx_rank(results[i]), &s))
      return false;
    if (r->frame->shards != NULL && is_divided(&s)) {
      r->frame->shards[op->first_result + i - r->frame->base] = (nxh_shard){results[i], s};
    } else if (!nxh_set(r, op, i, gather(r, results[i], &s))) {
      return false;
    }
  }
  return true;
}

/* XLA's own way into a part and out of it: the sharding of the whole is that of the call before, or
 * of the call itself. */
bool nxh_manual_edge(nxh_recorder *r, const nxh_op *op, bool into) {
  const nxh_frame *f = r->frame;
  if (op->n_operands != 1 || op->n_results != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands,
                    op->n_results);
  nxh_value v = op->operands[0];
  const nxh_op *before = v >= f->base && v - f->base < f->n ? f->defs[v - f->base] : NULL;
  const nxh_attr *text = into ? before != NULL ? nxh_get(before, "mhlo.sharding") : NULL
                              : nxh_get(op, "mhlo.sharding");
  nxh_sharding s = {0};
  const char *bad = NULL;
  if (nxh_is_sharded(r) && text != NULL)
    bad = nxh_read_sharding(r->m, text, nxh_type_of(r->m, v)->rank, &s);
  if (bad != NULL) return nxh_fail(r, NX_INVALID_ARGUMENT, "%s", bad);
  if (into) return nxh_set(r, op, 0, nxh_part_of(r, v, &s));
  nx_tensor *part = nxh_value_of(r, v);
  if (part == NULL) return false;
  if (f->shards == NULL || !is_divided(&s)) return nxh_set(r, op, 0, gather(r, part, &s));
  f->shards[op->first_result - f->base] = (nxh_shard){part, s};
  return true;
}

/* What each process does with its part of the operands. */
bool nxh_manual(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  if (op->n_regions != 1 || op->regions[0].n_args != op->n_operands)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands, %u results and %u regions",
                    op->n_operands, op->n_results, op->n_regions);
  nx_tensor **args = nxi_calloc((size_t)op->n_operands + op->n_results + 1, sizeof(nx_tensor *));
  nx_tensor **results = args + op->n_operands;
  if (args == NULL) return nxi_oom(r->d) == NX_OK;
  bool ok = take_parts(r, op, args) &&
            nxh_inline_region(r, &op->regions[0], args, results, op->n_results) &&
            give_parts(r, op, results);
  nxi_free(args);
  return ok;
}
