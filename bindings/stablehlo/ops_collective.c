/* SPDX-License-Identifier: ISC */
/* Collectives: which processes take part, by the modes of the specification, and what they do, by
 * the library's groups. Alone, a process has what it gives, and no group is made. */
#include <string.h>

#include "ir/dtype.h"
#include "mesh.h"
#include "record.h"

enum { MOST = 1024 };

/* What the numbers of replica_groups are. */
typedef enum mode {
  REPLICAS,   /* replicas, of this process's partition */
  PARTITIONS, /* partitions, of this process's replica */
  BOTH,       /* replicas, of all partitions */
  PROCESSES   /* replica * partitions + partition */
} mode;

/* A process group with this process in it; n = 0: it is in none. */
typedef struct crowd {
  uint32_t n, rank;
  int32_t members[MOST];
} crowd;

bool nxh_channel(const nxh_op *op, int64_t *out) {
  const nxh_attr *a = nxh_get(op, "channel_handle");
  const nxh_attr *handle = a != NULL && a->kind == NXH_DICT
                               ? nxh_find(a->dict.items, a->dict.n, "handle")
                               : nxh_get(op, "channel_id");
  *out = handle != NULL && handle->kind == NXH_INT ? handle->integer : 0;
  return handle != NULL && handle->kind == NXH_INT;
}

static bool channel_of(const nxh_op *op) {
  int64_t channel;
  return nxh_channel(op, &channel) && channel > 0;
}

/* Of operations that know flattened numbers, and of those that do not. */
static bool take_mode(nxh_recorder *r, const nxh_op *op, mode *out) {
  bool channel = channel_of(op), global = nxh_flag(op, "use_global_device_ids");
  *out = global ? PROCESSES : channel ? BOTH : REPLICAS;
  return channel || !global ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "use_global_device_ids without a channel");
}
static mode line_mode(const nxh_op *op) { return channel_of(op) ? PARTITIONS : REPLICAS; }

/* ---- who takes part */

static int32_t count_of(const nxh_recorder *r, mode m) {
  int32_t replicas = nxh_mesh_replicas(r->mesh), partitions = nxh_mesh_partitions(r->mesh);
  return m == PARTITIONS ? partitions : m == PROCESSES ? replicas * partitions : replicas;
}

static int32_t own_number(const nxh_recorder *r, mode m) {
  return m == PARTITIONS  ? r->partition
         : m == PROCESSES ? r->replica * nxh_mesh_partitions(r->mesh) + r->partition
                          : r->replica;
}

static bool add_member(nxh_recorder *r, crowd *c, int32_t process) {
  if (c->n == MOST) return nxh_fail(r, NX_INVALID_ARGUMENT, "a group of more than %d", MOST);
  if (process == own_number(r, PROCESSES)) c->rank = c->n;
  c->members[c->n++] = process;
  return true;
}

/* The group of these replicas, partitions or processes, in their order. */
static bool make_crowd(nxh_recorder *r, mode m, const int32_t *ids, uint32_t n, crowd *out) {
  int32_t partitions = nxh_mesh_partitions(r->mesh);
  out->n = 0;
  for (int32_t p = 0; p < (m == BOTH ? partitions : 1); p++)
    for (uint32_t i = 0; i < n; i++) {
      int32_t process = m == PROCESSES    ? ids[i]
                        : m == PARTITIONS ? r->replica * partitions + ids[i]
                                          : ids[i] * partitions + (m == BOTH ? p : r->partition);
      if (!add_member(r, out, process)) return false;
    }
  return true;
}

static bool everybody(nxh_recorder *r, mode m, crowd *out) {
  int32_t ids[MOST] = {0}, n = count_of(r, m);
  for (int32_t i = 0; i < n; i++) ids[i] = i;
  return make_crowd(r, m, ids, (uint32_t)n, out);
}

/* One row of replica_groups, without what fills it up. seen: the numbers of all rows so far. */
static bool take_row(nxh_recorder *r, const nxh_attr *a, uint32_t row, mode m, bool *seen,
                     int32_t *ids, uint32_t *n) {
  uint32_t length = (uint32_t)a->elements.type->shape[1];
  *n = 0;
  for (uint32_t i = 0; i < length; i++) {
    int64_t id;
    if (!nxh_entry(a, row * length + i, &id))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "replica_groups are no integers");
    if (id == -1) continue;
    if (id < 0 || id >= count_of(r, m))
      return nxh_fail(
          r, NX_INVALID_ARGUMENT,
          "replica_groups has %lld, and there are %d: nx_stablehlo_options.mesh says how "
          "many",
          (long long)id, count_of(r, m));
    if (seen[id]) return nxh_fail(r, NX_INVALID_ARGUMENT, "replica_groups has %d twice", (int)id);
    seen[id] = true;
    ids[(*n)++] = (int32_t)id;
  }
  return true;
}

static bool contains(const int32_t *ids, uint32_t n, int32_t id) {
  for (uint32_t i = 0; i < n; i++)
    if (ids[i] == id) return true;
  return false;
}

/* No groups are one of all. */
static bool take_crowd(nxh_recorder *r, const nxh_op *op, mode m, crowd *out) {
  const nxh_attr *a = nxh_get(op, "replica_groups");
  int32_t ids[MOST] = {0};
  bool seen[MOST] = {false};
  uint32_t n;
  out->n = 0;
  if (a == NULL || (a->kind == NXH_LIST && a->list.n == 0)) return everybody(r, m, out);
  if (a->kind != NXH_ELEMENTS || a->elements.type->rank != 2 ||
      nxh_elements(a->elements.type) > INT64_C(16) * MOST)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "replica_groups is no table of groups");
  if (nxh_elements(a->elements.type) == 0) return everybody(r, m, out);
  for (uint32_t row = 0; row < a->elements.type->shape[0]; row++) {
    if (!take_row(r, a, row, m, seen, ids, &n)) return false;
    if (contains(ids, n, own_number(r, m)) && !make_crowd(r, m, ids, n, out)) return false;
  }
  return true;
}

/* The same; a process that is in no group is a failure. */
static bool need_crowd(nxh_recorder *r, const nxh_op *op, mode m, crowd *out) {
  return take_crowd(r, op, m, out) &&
         (out->n > 0 ||
          nxh_fail(r, NX_INVALID_ARGUMENT, "replica_groups lacks %d", own_number(r, m)));
}

static nx_group *group_of(nxh_recorder *r, const crowd *c) {
  return nxh_mesh_group(r->mesh, c->members, c->n, c->rank);
}

static nx_tensor *zeros_like(nxh_recorder *r, nx_tensor *x) {
  nx_scalar zero = {NX_SCALAR_I64, {.i = 0}};
  return nx_full(r->c, r->device, nx_dtype_of(x), nx_shape(x), nx_rank(x), &zero);
}

/* ---- reductions */

/* The reduction that the region is, a sum where there is none; -1: another one. */
static int reduction_of(const nxh_recorder *r, const nxh_op *by, nx_dtype dtype) {
  static const struct {
    const char *name;
    nx_reduction op, logical;
  } known[] = {
      {"stablehlo.add", NX_REDUCE_SUM, NX_REDUCE_OR},
      {"stablehlo.multiply", NX_REDUCE_PROD, NX_REDUCE_AND},
      {"stablehlo.minimum", NX_REDUCE_MIN, NX_REDUCE_AND},
      {"stablehlo.maximum", NX_REDUCE_MAX, NX_REDUCE_OR},
      {"stablehlo.and", NX_REDUCE_AND, NX_REDUCE_AND},
      {"stablehlo.or", NX_REDUCE_OR, NX_REDUCE_OR},
  };
  const nxh_op *op = by->n_regions > 0 ? nxh_single_op(r, &by->regions[0]) : NULL;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (by->n_regions == 0 || (op != NULL && nxh_word_is(op->name, known[i].name)))
      return (int)(dtype == NX_BOOL ? known[i].logical : known[i].op);
  return -1;
}

/* Of what all have gathered, [members, ..], the part of a rank. */
static nx_tensor *part_of(nx_tensor *all, int64_t rank) {
  int64_t start[NX_MAX_RANK] = {rank}, stop[NX_MAX_RANK];
  if (all == NULL) return NULL;
  for (int32_t i = 0; i < nx_rank(all); i++) stop[i] = i == 0 ? rank + 1 : nx_shape(all)[i];
  nx_tensor *row = nx_shrink(all, start, stop, nx_rank(all));
  return row != NULL ? nx_reshape(row, nx_shape(row) + 1, nx_rank(row) - 1, 0) : NULL;
}

/* What all of the group have, [members, ..]. */
static nx_tensor *of_all(nxh_recorder *r, nx_tensor *x, const crowd *c) {
  int64_t shape[NX_MAX_RANK + 1] = {1};
  if (nx_rank(x) == NX_MAX_RANK)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "an operand of rank %d", NX_MAX_RANK), NULL;
  for (int32_t i = 0; i < nx_rank(x); i++) shape[i + 1] = nx_shape(x)[i];
  nx_tensor *one = nx_reshape(x, shape, nx_rank(x) + 1, NX_MAY_COPY);
  nx_group *group = group_of(r, c);
  return one != NULL && group != NULL ? nx_all_gather(one, group, 0) : NULL;
}

/* By the region, over arrays in place of scalars, in the order of ranks. */
static nx_tensor *fold(nxh_recorder *r, const nxh_region *region, nx_tensor *x, const crowd *c) {
  if (region->n_args != 2)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a region of %u arguments", region->n_args), NULL;
  nx_tensor *all = of_all(r, x, c);
  if (all == NULL) return NULL;
  nx_tensor *sum = part_of(all, 0);
  bool outer = r->over_arrays;
  r->over_arrays = true;
  for (uint32_t i = 1; sum != NULL && i < c->n; i++) {
    nx_tensor *args[2] = {sum, part_of(all, i)};
    if (args[1] == NULL || !nxh_inline_region(r, region, args, &sum, 1)) sum = NULL;
  }
  r->over_arrays = outer;
  return sum != NULL ? nx_expand(sum, nx_shape(x), nx_rank(x)) : NULL;
}

static nx_tensor *all_reduced(nxh_recorder *r, const nxh_op *op, nx_tensor *x, const crowd *c) {
  int known = reduction_of(r, op, nx_dtype_of(x));
  if (c->n == 1) return x;
  if (known < 0) return fold(r, &op->regions[0], x, c);
  nx_group *group = group_of(r, c);
  return group != NULL ? nx_all_reduce(x, group, (nx_reduction)known, 0) : NULL;
}

static nx_tensor *scattered(nxh_recorder *r, const nxh_op *op, nx_tensor *x, const crowd *c) {
  int known = reduction_of(r, op, nx_dtype_of(x));
  int32_t axis = nxh_axis(op, "scatter_dimension", -1);
  if (axis < 0 || axis >= nx_rank(x) || nx_shape(x)[axis] % c->n != 0)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "scatter_dimension does not fit %u processes", c->n),
           NULL;
  if (c->n == 1) return x;
  if (known >= 0) {
    nx_group *group = group_of(r, c);
    return group != NULL ? nx_reduce_scatter(x, group, (nx_reduction)known, axis) : NULL;
  }
  int64_t start[NX_MAX_RANK] = {0}, stop[NX_MAX_RANK], part = nx_shape(x)[axis] / c->n;
  nx_tensor *sum = fold(r, &op->regions[0], x, c);
  for (int32_t i = 0; i < nx_rank(x); i++) stop[i] = nx_shape(x)[i];
  start[axis] = c->rank * part;
  stop[axis] = start[axis] + part;
  return sum != NULL ? nx_shrink(sum, start, stop, nx_rank(x)) : NULL;
}

/* An operand in the type of its result, in which a region may combine. */
static nx_tensor *promoted(nxh_recorder *r, const nxh_op *op, uint32_t i) {
  nx_tensor *x = nxh_in(r, op, i);
  const nxh_type *t = nxh_result_type(r, op, i);
  if (x == NULL || t->kind != NXH_TENSOR || nx_dtype_of(x) == t->dtype) return x;
  return nx_cast(x, t->dtype);
}

static bool reduce(nxh_recorder *r, const nxh_op *op,
                   nx_tensor *(*one)(nxh_recorder *, const nxh_op *, nx_tensor *, const crowd *)) {
  mode m;
  crowd c = {0};
  bool region = !nxh_word_is(op->name, "stablehlo.cross-replica-sum");
  if (op->n_regions != region || op->n_results != op->n_operands)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands, %u results and %u regions",
                    op->n_operands, op->n_results, op->n_regions);
  if (!take_mode(r, op, &m) || !need_crowd(r, op, m, &c)) return false;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    nx_tensor *x = promoted(r, op, i);
    if (x == NULL || !nxh_set(r, op, i, one(r, op, x, &c))) return false;
  }
  return true;
}

bool nxh_all_reduce(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return reduce(r, op, all_reduced);
}

bool nxh_reduce_scatter(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return reduce(r, op, scattered);
}

/* ---- moves */

static bool check_moves(nxh_recorder *r, const nxh_op *op) {
  return op->n_results == op->n_operands ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands,
                  op->n_results);
}

bool nxh_all_gather(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  mode m;
  crowd c = {0};
  int32_t axis = nxh_axis(op, "all_gather_dim", -1);
  if (!check_moves(r, op) || !take_mode(r, op, &m) || !need_crowd(r, op, m, &c)) return false;
  if (axis < 0) return nxh_fail(r, NX_INVALID_ARGUMENT, "all_gather_dim is out of range");
  nx_group *group = c.n > 1 ? group_of(r, &c) : NULL;
  if (c.n > 1 && group == NULL) return false;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    nx_tensor *x = nxh_in(r, op, i);
    if (x == NULL || !nxh_set(r, op, i, c.n > 1 ? nx_all_gather(x, group, axis) : x)) return false;
  }
  return true;
}

bool nxh_all_to_all(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  crowd c = {0};
  int32_t split = nxh_axis(op, "split_dimension", -1), join = nxh_axis(op, "concat_dimension", -1);
  if (!check_moves(r, op) || !need_crowd(r, op, line_mode(op), &c)) return false;
  if (split < 0 || join < 0 || nxh_integer(op, "split_count", -1) != c.n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "split_count or the dimensions do not fit %u processes",
                    c.n);
  nx_group *group = c.n > 1 ? group_of(r, &c) : NULL;
  if (c.n > 1 && group == NULL) return false;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    nx_tensor *x = nxh_in(r, op, i);
    nx_tensor *y = x == NULL || c.n == 1 ? x : nx_all_to_all(x, group, split, join);
    if (!nxh_set(r, op, i, y)) return false;
  }
  return true;
}

static bool take_pairs(nxh_recorder *r, const nxh_op *op, int32_t count, nx_pair *pairs,
                       uint32_t *n) {
  const nxh_attr *a = nxh_get(op, "source_target_pairs");
  bool ok = a != NULL && a->kind == NXH_ELEMENTS && a->elements.type->rank == 2 &&
            (a->elements.type->shape[1] == 2 || nxh_elements(a->elements.type) == 0) &&
            nxh_elements(a->elements.type) <= 2 * MOST;
  *n = ok ? (uint32_t)(nxh_elements(a->elements.type) / 2) : 0;
  for (uint32_t i = 0; ok && i < *n; i++) {
    int64_t from, to;
    ok = nxh_entry(a, 2 * i, &from) && nxh_entry(a, 2 * i + 1, &to) && from >= 0 && to >= 0 &&
         from < count && to < count;
    if (ok) pairs[i] = (nx_pair){(int32_t)from, (int32_t)to};
  }
  return ok || nxh_fail(r, NX_INVALID_ARGUMENT,
                        "source_target_pairs are no pairs of numbers below %d", count);
}

bool nxh_collective_permute(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  crowd c = {0};
  nx_pair pairs[MOST];
  uint32_t n;
  mode m = line_mode(op);
  if (!check_moves(r, op) || !everybody(r, m, &c) || !take_pairs(r, op, count_of(r, m), pairs, &n))
    return false;
  nx_group *group = c.n > 1 ? group_of(r, &c) : NULL;
  if (c.n > 1 && group == NULL) return false;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    nx_tensor *x = nxh_in(r, op, i), *y = x;
    if (x == NULL) return false;
    if (c.n > 1) y = nx_collective_permute(x, group, pairs, n);
    else if (n == 0) y = zeros_like(r, x);
    if (!nxh_set(r, op, i, y)) return false;
  }
  return true;
}

/* ---- from one process to another. A recv that follows its send among the operations of a region
 * is a permutation with it, in which all take part at the recv: in a ring each would else wait for
 * the next to receive. One without the other is between the two processes alone. */

static bool is_on(const nxh_op *op, const char *name, int64_t channel) {
  int64_t own;
  return nxh_word_is(op->name, name) && !nxh_flag(op, "is_host_transfer") &&
         nxh_channel(op, &own) && own == channel;
}

static bool is_return(const nxh_op *op) {
  return nxh_word_is(op->name, "stablehlo.return") || nxh_word_is(op->name, "func.return") ||
         nxh_word_is(op->name, "sdy.return");
}

static struct nxh_sent *sent_to(nxh_recorder *r, const nxh_op *by) {
  for (uint32_t i = 0; i < r->n_sent; i++)
    if (r->sent[i].by == by) return &r->sent[i];
  return NULL;
}

/* The first recv of the channel behind the send that no other send has. */
static const nxh_op *receiver_of(nxh_recorder *r, const nxh_op *send, int64_t channel) {
  for (const nxh_op *op = send + 1; !is_return(op); op++)
    if (is_on(op, "stablehlo.recv", channel) && sent_to(r, op) == NULL) return op;
  return NULL;
}

/* Pairs, each number once on either side. */
static bool take_route(nxh_recorder *r, const nxh_op *op, nx_pair *pairs, uint32_t *n) {
  memset(pairs, 0, MOST * sizeof *pairs);
  if (!take_pairs(r, op, count_of(r, line_mode(op)), pairs, n)) return false;
  for (uint32_t i = 0; i < *n; i++)
    for (uint32_t k = 0; k < i; k++)
      if (pairs[i].from == pairs[k].from || pairs[i].to == pairs[k].to)
        return nxh_fail(r, NX_INVALID_ARGUMENT, "source_target_pairs has a number twice");
  return *n > 0 || nxh_fail(r, NX_INVALID_ARGUMENT, "source_target_pairs is empty");
}

/* The group of this process and another one, and their pair in it. */
static nx_group *group_with(nxh_recorder *r, mode m, int32_t other, bool receives, nx_pair *pair) {
  int32_t own = own_number(r, m), ids[2] = {own < other ? own : other, own < other ? other : own};
  crowd c = {0};
  *pair = (nx_pair){receives ? other : own, receives ? own : other};
  *pair = (nx_pair){pair->from == ids[1], pair->to == ids[1]};
  return make_crowd(r, m, ids, 2, &c) ? group_of(r, &c) : NULL;
}

/* The process at the other end of this one's pair; -1: it has none. `itself` says why it may not be
 * this one. */
static bool take_partner(nxh_recorder *r, const nxh_op *op, bool receives, const char *itself,
                         int32_t *out) {
  nx_pair pairs[MOST];
  uint32_t n;
  int32_t own = own_number(r, line_mode(op));
  *out = -1;
  if (!take_route(r, op, pairs, &n)) return false;
  for (uint32_t i = 0; i < n; i++)
    if ((receives ? pairs[i].to : pairs[i].from) == own)
      *out = receives ? pairs[i].from : pairs[i].to;
  return *out != own || nxh_fail(r, NX_INVALID_ARGUMENT, "%s", itself);
}

static bool send_alone(nxh_recorder *r, const nxh_op *op) {
  nx_pair pair;
  int32_t to;
  if (!take_partner(r, op, false, "no recv takes what a process sends itself", &to)) return false;
  if (to < 0) return true;
  nx_group *group = group_with(r, line_mode(op), to, false, &pair);
  for (uint32_t i = 0; group != NULL && i < op->n_operands; i++) {
    if (nxh_operand_type(r, op, i)->kind == NXH_TOKEN) continue;
    nx_tensor *x = nxh_in(r, op, i);
    if (x == NULL || nx_collective_permute(x, group, &pair, 1) == NULL) return false;
  }
  return group != NULL;
}

static nx_tensor *nothing_of(nxh_recorder *r, const nxh_op *op, uint32_t i) {
  const nxh_type *t = nxh_result_type(r, op, i);
  if (t->kind != NXH_TENSOR || !nxh_closed(r, op, i))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is no tensor", i), NULL;
  return nx_full(r->c, r->device, t->dtype, t->shape, t->rank, NX_INTEGER(0));
}

static bool receive_alone(nxh_recorder *r, const nxh_op *op) {
  nx_pair pair;
  int32_t from;
  if (!take_partner(r, op, true, "a process waits for what it sends later", &from)) return false;
  nx_group *group = from >= 0 ? group_with(r, line_mode(op), from, true, &pair) : NULL;
  if (from >= 0 && group == NULL) return false;
  for (uint32_t i = 0; i < op->n_results; i++) {
    if (nxh_result_type(r, op, i)->kind == NXH_TOKEN) continue;
    nx_tensor *x = nothing_of(r, op, i);
    if (x != NULL && group != NULL) x = nx_collective_permute(x, group, &pair, 1);
    if (!nxh_set(r, op, i, x)) return false;
  }
  return true;
}

static bool same_route(const nx_pair *a, uint32_t n, const nx_pair *b, uint32_t m) {
  bool same = n == m;
  for (uint32_t i = 0; same && i < n; i++) same = a[i].from == b[i].from && a[i].to == b[i].to;
  return same;
}

/* The next operand or result that is no token; false: none. */
static bool next_value(nxh_recorder *r, const nxh_op *op, bool results, uint32_t *at) {
  uint32_t n = results ? op->n_results : op->n_operands;
  while (*at < n) {
    const nxh_type *t = results ? nxh_result_type(r, op, *at) : nxh_operand_type(r, op, *at);
    if (t->kind != NXH_TOKEN) return true;
    ++*at;
  }
  return false;
}

static bool receive(nxh_recorder *r, const nxh_op *send, const nxh_op *op) {
  nx_pair pairs[MOST], others[MOST];
  uint32_t n, m, from = 0, to = 0;
  crowd c = {0};
  if (!take_route(r, send, pairs, &n) || !take_route(r, op, others, &m) ||
      !everybody(r, line_mode(op), &c))
    return false;
  if (!same_route(pairs, n, others, m) || line_mode(send) != line_mode(op))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "its send has other source_target_pairs");
  nx_group *group = c.n > 1 ? group_of(r, &c) : NULL;
  if (c.n > 1 && group == NULL) return false;
  for (; next_value(r, op, true, &to); from++, to++) {
    if (!next_value(r, send, false, &from))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "its send has fewer operands");
    nx_tensor *x = nxh_in(r, send, from);
    if (x != NULL && c.n > 1) x = nx_collective_permute(x, group, pairs, n);
    if (!nxh_set(r, op, to, x)) return false;
  }
  return !next_value(r, send, false, &from) ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "its send has more operands");
}

bool nxh_between(nxh_recorder *r, const nxh_op *op, bool receives) {
  int64_t channel;
  if (!nxh_channel(op, &channel)) return nxh_fail(r, NX_INVALID_ARGUMENT, "there is no channel");
  for (uint32_t i = 0; i < (receives ? op->n_operands : op->n_results); i++)
    if ((receives ? nxh_operand_type(r, op, i) : nxh_result_type(r, op, i))->kind != NXH_TOKEN)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "operands or results that are no tokens");
  if (receives) {
    struct nxh_sent *sent = sent_to(r, op);
    if (sent == NULL) return receive_alone(r, op);
    const nxh_op *send = sent->send;
    *sent = r->sent[--r->n_sent];
    return receive(r, send, op);
  }
  const nxh_op *by = receiver_of(r, op, channel);
  if (by == NULL) return send_alone(r, op);
  if (!nxi_grow(&r->sent, &r->cap_sent, r->n_sent + 1, sizeof *r->sent))
    return nxi_oom(r->d), false;
  r->sent[r->n_sent++] = (struct nxh_sent){op, by};
  return true;
}

/* ---- from and to one of a group: its first, or the one that the last operand names */

/* *roots stays NULL where it is the first. */
static bool take_roots(nxh_recorder *r, const nxh_op *op, nx_tensor **roots) {
  uint32_t n = op->n_results;
  bool computed = nxh_flag(op, "has_dynamic_root");
  *roots = NULL;
  if (op->n_operands != n + computed)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands, n);
  if (!computed) return true;
  if ((*roots = nxh_in(r, op, n)) == NULL) return false;
  return (nx_rank(*roots) == 1 && nx_shape(*roots)[0] == n) ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "the roots are no list of %u numbers", n);
}

static nx_tensor *root_of(nx_tensor *roots, uint32_t i) {
  nx_tensor *root = part_of(roots, i);
  return root != NULL ? nx_cast(root, NX_I32) : NULL;
}

/* What the member of that number has sent. */
static nx_tensor *sent_by(nxh_recorder *r, nx_tensor *root, nx_tensor *x, const crowd *c) {
  nx_tensor *all = of_all(r, x, c), *start[NX_MAX_RANK];
  int64_t size[NX_MAX_RANK] = {1};
  if (all == NULL || root == NULL) return NULL;
  for (int32_t i = 0; i < nx_rank(all); i++) {
    start[i] = i == 0 ? root : nx_full(r->c, r->device, NX_I32, NULL, 0, NX_INTEGER(0));
    if (i > 0) size[i] = nx_shape(all)[i];
  }
  nx_tensor *row = nx_dynamic_slice(all, start, size, (size_t)nx_rank(all));
  return row != NULL ? nx_reshape(row, nx_shape(x), nx_rank(x), NX_MAY_COPY) : NULL;
}

/* Who is in no group has zeros. */
bool nxh_collective_broadcast(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  crowd c = {0};
  nx_tensor *roots;
  if (!take_roots(r, op, &roots) || !take_crowd(r, op, line_mode(op), &c)) return false;
  nx_group *group = c.n > 1 ? group_of(r, &c) : NULL;
  if (c.n > 1 && group == NULL) return false;
  for (uint32_t i = 0; i < op->n_results; i++) {
    nx_tensor *x = nxh_in(r, op, i), *y = x;
    if (x == NULL) return false;
    if (c.n == 0) y = zeros_like(r, x);
    else if (c.n > 1 && roots == NULL) y = nx_collective_broadcast(x, group, 0);
    else if (c.n > 1) y = sent_by(r, root_of(roots, i), x, &c);
    if (!nxh_set(r, op, i, y)) return false;
  }
  return true;
}

/* Only the root has the result, and the others zeros. */
bool nxh_collective_reduce(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  mode m;
  crowd c = {0};
  nx_tensor *roots;
  if (op->n_regions != 1) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u regions", op->n_regions);
  if (!take_roots(r, op, &roots) || !take_mode(r, op, &m) || !take_crowd(r, op, m, &c))
    return false;
  for (uint32_t i = 0; i < op->n_results; i++) {
    nx_tensor *x = promoted(r, op, i), *none = x != NULL ? zeros_like(r, x) : NULL, *y = none;
    if (none == NULL) return false;
    if (c.n > 0) y = all_reduced(r, op, x, &c);
    if (c.n > 0 && y != NULL && roots != NULL) {
      nx_tensor *own = nx_full(r->c, r->device, NX_I32, NULL, 0, NX_INTEGER(c.rank));
      y = nx_where(nx_cmpeq(root_of(roots, i), own), y, none);
    } else if (c.n > 0 && c.rank != 0) {
      y = none;
    }
    if (!nxh_set(r, op, i, y)) return false;
  }
  return true;
}

/* ---- who this is */

bool nxh_own_number(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  if (op->n_results != 1 || nxh_result_type(r, op, 0)->kind != NXH_TENSOR)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u results", op->n_results);
  nx_scalar s = {NX_SCALAR_I64, {.i = row->of.number ? r->partition : r->replica}};
  return nxh_set(r, op, 0, nx_full(r->c, r->device, NX_U32, NULL, 0, &s));
}
