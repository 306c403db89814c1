/* SPDX-License-Identifier: ISC */
/* Collectives as compositions: exchanges move whole blocks, and recorded operations cut tensors
 * into blocks, put them together and reduce them. So reductions have the bits of those operations
 * on every device, and fuse with what follows. */
#include <stdio.h>
#include <string.h>

#include "group.h"
#include "ir/dtype.h"
#include "ir/graph/view.h"
#include "runtime/record/ops/compose.h"
#include "runtime/record/record.h"

/* What all members gather whole instead of reducing a part each: two exchanges cost more. */
enum { FEW_BYTES = 1 << 16 };

/* A collective while it is recorded. */
typedef struct collective {
  const char *op;
  nx_group *group;
  nx_tensor *x;
  int64_t size; /* of the group */
  nxi_steps steps;
  char what[NXI_WHAT];
  int64_t numbers[NXG_MAX_RANK + 8]; /* shape, and what the caller gave */
  uint32_t n_numbers;
} collective;

/* ---- checks */

static bool check(const char *op, nx_tensor *x, nx_group *g, nxi_diag *d) {
  nx_dtype t = x->storage->dtype;
  d->operand = 0;
  if (x->context != g->context)
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the tensor belongs to another context than the group",
             op);
  else if (x->storage->device != g->device)
    nxi_fail(d, NX_INVALID_ARGUMENT, op,
             "%s: the tensor is on device %d, and rank %d of the group \"%s\" is device %d", op,
             x->storage->device, g->rank, g->members->name, g->device);
  else if (nxi_is_nibble(t) || t == NX_C32)
    nxi_fail(d, NX_UNSUPPORTED_DTYPE, op,
             "%s: the tensor is %s, which the host has no arrays of: cast it", op,
             nxi_dtypes[t].name);
  return !d->status;
}

/* Begins, with the words that members compare: "all_reduce sum f32[3,4]". False: reported. */
static bool begin(collective *k, const char *op, uint32_t called, nx_tensor *x, nx_group *g,
                  const char *more) {
  char shape[NXG_SHAPE_TEXT];
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(op, 0, x) || !x || !nxi_have_group(op, 1, g)) return false;
  if (!check(op, x, g, &d)) return nxi_error_report(&d), false;
  *k = (collective){.op = op, .group = g, .x = x, .size = g->members->size};
  snprintf(k->what, sizeof k->what, "%s%s%s %s%s", op, more[0] ? " " : "", more,
           nxi_dtypes[x->storage->dtype].name, nxg_format_shape(shape, x->rank, nxi_shape(x)));
  for (int32_t i = 0; i < x->rank; i++) k->numbers[k->n_numbers++] = nxi_shape(x)[i];
  k->steps = nxi_steps_of(called, x);
  return true;
}

static void add_number(collective *k, int64_t number) { k->numbers[k->n_numbers++] = number; }

/* The end of a collective that its arguments make impossible. */
static nx_tensor *refuse(collective *k, nxi_diag *d) {
  nxi_error_report(d);
  return nxi_steps_end(&k->steps, NULL);
}

/* The axis, counted from 0, whose extent is a multiple of the number of members where `divided`.
 * False: noted in d. */
static bool take_axis(collective *k, int32_t axis, bool divided, int64_t *out, nxi_diag *d) {
  if (!nxi_one_axis(k->op, k->x, axis, out, d)) return false;
  int64_t extent = nxi_shape(k->x)[*out];
  add_number(k, *out);
  if (!divided || extent % k->size == 0) return true;
  nxi_fail(d, NX_INVALID_ARGUMENT, k->op,
           "%s: the extent of axis %lld is %lld, no multiple of the %lld members", k->op,
           (long long)*out, (long long)extent, (long long)k->size);
  return false;
}

/* ---- steps */

static nx_tensor *note(collective *k, nx_tensor *t) { return nxi_step(&k->steps, t); }

static nx_tensor *shaped(collective *k, nx_tensor *x, const int64_t *shape, int32_t rank) {
  return note(k, x ? nx_reshape(x, shape, rank, NX_MAY_COPY) : NULL);
}

static nx_tensor *flat(collective *k, nx_tensor *x) {
  int64_t n = x ? nxg_elements(x->rank, nxi_shape(x)) : 0;
  return shaped(k, x, &n, 1);
}

static nx_tensor *exchange(collective *k, nxi_exchange_kind kind, nx_tensor *x, int32_t from,
                           int32_t to) {
  nxi_exchange_desc e = {kind, from, to, k->what, k->numbers, k->n_numbers};
  return note(k, nxi_exchange_record(k->group, &e, flat(k, x)));
}

/* Axis `from` before axis `to` of what is left without it. */
static nx_tensor *move_axis(collective *k, nx_tensor *x, int32_t from, int32_t to) {
  int32_t axes[NXG_MAX_RANK];
  if (!x) return NULL;
  for (int32_t i = 0, next = 0; i < x->rank; i++) {
    if (i != to && next == from) next++;
    axes[i] = i == to ? from : next++;
  }
  return note(k, nx_permute(x, axes, x->rank));
}

/* x with axis `axis` in as many parts as there are members, the number of the part first. */
static nx_tensor *divided(collective *k, nx_tensor *x, int64_t axis) {
  int64_t shape[NXG_MAX_RANK + 1];
  if (!x) return NULL;
  for (int64_t i = 0; i <= x->rank; i++)
    if (i != axis) shape[i] = nxi_shape(x)[i < axis ? i : i - 1];
  shape[axis] = k->size;
  shape[axis + 1] = nxi_shape(x)[axis] / k->size;
  return move_axis(k, shaped(k, x, shape, x->rank + 1), (int32_t)axis, 0);
}

/* The opposite of `divided`: axis 0, the number of the part, becomes a part of axis `axis` of the
 * rest. */
static nx_tensor *joined(collective *k, nx_tensor *x, int64_t axis) {
  int64_t shape[NXG_MAX_RANK + 1];
  x = move_axis(k, x, 0, (int32_t)axis);
  if (!x) return NULL;
  for (int64_t i = 0; i < x->rank - 1; i++) shape[i] = nxi_shape(x)[i < axis ? i : i + 1];
  shape[axis] *= nxi_shape(x)[axis];
  return shaped(k, x, shape, x->rank - 1);
}

/* What has come: as many blocks as there are members, each of the shape of `like`. */
static nx_tensor *blocks_like(collective *k, nx_tensor *y, const nx_tensor *like, int64_t first) {
  int64_t shape[NXG_MAX_RANK + 1] = {k->size};
  if (!like) return NULL;
  for (int64_t i = first; i < like->rank; i++) shape[i - first + 1] = nxi_shape(like)[i];
  return shaped(k, y, shape, like->rank - (int32_t)first + 1);
}

/* ---- reductions: in the order of parts */

static const char *const names[] = {"sum", "prod", "min", "max", "and", "or"};

static nx_tensor *combine(nx_reduction op, nx_tensor *a, nx_tensor *b) {
  switch (op) {
    case NX_REDUCE_SUM: return nx_add(a, b);
    case NX_REDUCE_PROD: return nx_mul(a, b);
    case NX_REDUCE_MIN: return nx_min(a, b);
    case NX_REDUCE_MAX: return nx_max(a, b);
    case NX_REDUCE_AND: return nx_and(a, b);
    default: return nx_or(a, b);
  }
}

/* Part i of x [parts, n], in the type in which parts are reduced. */
static nx_tensor *part_of(nx_tensor *x, int64_t i, nx_dtype wide) {
  int64_t n = nxi_shape(x)[1], start[2] = {i, 0}, stop[2] = {i + 1, n};
  nx_tensor *row = nx_shrink(x, start, stop, 2), *line = nx_reshape(row, &n, 1, 0);
  nx_tensor *part = line && wide != x->storage->dtype ? nx_cast(line, wide) : line;
  if (part != line) nx_tensor_release(line);
  nx_tensor_release(row);
  return part;
}

/* Of x [parts, n]: the reduction over the parts. */
static nx_tensor *reduced(collective *k, nx_tensor *x, nx_reduction op) {
  if (!x) return NULL;
  nx_dtype own = x->storage->dtype, wide = own;
  bool adds = op == NX_REDUCE_SUM || op == NX_REDUCE_PROD;
  if (adds && nxi_is_small_float(own)) wide = NX_F32;
  nx_tensor *sum = part_of(x, 0, wide);
  for (int64_t i = 1; sum && i < nxi_shape(x)[0]; i++) {
    nx_tensor *part = part_of(x, i, wide), *next = part ? combine(op, sum, part) : NULL;
    nx_tensor_release(part);
    nx_tensor_release(sum);
    sum = next;
  }
  sum = note(k, sum);
  return sum && wide != own ? note(k, nx_cast(sum, own)) : sum;
}

static bool check_reduction(const char *op, nx_reduction r) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if ((unsigned)r <= NX_REDUCE_OR) return true;
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no reduction %d", op, (int)r);
  return nxi_error_report(&d), false;
}

/* ---- all_reduce */

/* x [parts, n]: everybody gets everything. */
static nx_tensor *reduce_whole(collective *k, nx_tensor *x, nx_reduction op) {
  int64_t shape[2] = {k->size * nxi_shape(x)[0], nxi_shape(x)[1]};
  return reduced(k, shaped(k, exchange(k, NXI_GATHER, x, -1, -1), shape, 2), op);
}

/* x [parts, n]: each member reduces a piece of n, and everybody gets the pieces. */
static nx_tensor *reduce_in_pieces(collective *k, nx_tensor *x, nx_reduction op) {
  int64_t parts = nxi_shape(x)[0], n = nxi_shape(x)[1], piece = (n + k->size - 1) / k->size;
  int64_t before[2] = {0, 0}, after[2] = {0, piece * k->size - n}, zero = 0;
  nx_scalar value = {NX_SCALAR_I64, {.i = 0}};
  if (after[1]) x = note(k, nx_pad(x, before, after, 2, &value));
  nx_tensor *come = exchange(k, NXI_ALL_TO_ALL, divided(k, x, 1), -1, -1);
  nx_tensor *mine = reduced(k, shaped(k, come, (int64_t[]){k->size * parts, piece}, 2), op);
  nx_tensor *all = exchange(k, NXI_GATHER, mine, -1, -1);
  return all ? note(k, nx_shrink(all, &zero, &n, 1)) : NULL;
}

nx_tensor *nx_all_reduce(nx_tensor *x, nx_group *g, nx_reduction op, uint32_t flags) {
  collective k;
  nxi_diag d;
  nxi_diag_clear(&d);
  bool in_parts = flags & NX_REDUCE_PARTS;
  if (!check_reduction("all_reduce", op) ||
      !begin(&k, "all_reduce", NXI_COMPOSITE_all_reduce, x, g, names[op]))
    return NULL;
  add_number(&k, op);
  add_number(&k, flags);
  if (!nxi_check_flags("all_reduce", flags, NX_REDUCE_PARTS, "NX_REDUCE_PARTS", &d))
    return refuse(&k, &d);
  if (in_parts && (x->rank == 0 || nxi_shape(x)[0] == 0)) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "all_reduce", "all_reduce: the tensor has no parts");
    return refuse(&k, &d);
  }
  int64_t parts = in_parts ? nxi_shape(x)[0] : 1;
  int64_t n = nxg_elements(x->rank - in_parts, nxi_shape(x) + in_parts);
  nx_tensor *rows = shaped(&k, x, (int64_t[]){parts, n}, 2), *y = NULL;
  bool few = nxi_dtype_bytes(x->storage->dtype, n * parts) <= FEW_BYTES / k.size;
  if (rows) y = few ? reduce_whole(&k, rows, op) : reduce_in_pieces(&k, rows, op);
  y = shaped(&k, y, nxi_shape(x) + in_parts, x->rank - in_parts);
  return nxi_steps_end(&k.steps, y);
}

/* ---- the others */

nx_tensor *nx_all_gather(nx_tensor *x, nx_group *g, int32_t axis) {
  collective k;
  nxi_diag d;
  int64_t at;
  nxi_diag_clear(&d);
  if (!begin(&k, "all_gather", NXI_COMPOSITE_all_gather, x, g, "")) return NULL;
  if (!take_axis(&k, axis, false, &at, &d)) return refuse(&k, &d);
  nx_tensor *blocks = blocks_like(&k, exchange(&k, NXI_GATHER, x, -1, -1), x, 0);
  return nxi_steps_end(&k.steps, joined(&k, blocks, at));
}

nx_tensor *nx_reduce_scatter(nx_tensor *x, nx_group *g, nx_reduction op, int32_t axis) {
  collective k;
  nxi_diag d;
  int64_t at, shape[NXG_MAX_RANK];
  nxi_diag_clear(&d);
  if (!check_reduction("reduce_scatter", op) ||
      !begin(&k, "reduce_scatter", NXI_COMPOSITE_reduce_scatter, x, g, names[op]))
    return NULL;
  add_number(&k, op);
  if (!take_axis(&k, axis, true, &at, &d)) return refuse(&k, &d);
  for (int32_t i = 0; i < x->rank; i++) shape[i] = nxi_shape(x)[i];
  shape[at] /= k.size;
  nx_tensor *come = exchange(&k, NXI_ALL_TO_ALL, divided(&k, x, at), -1, -1);
  int64_t rows[2] = {k.size, nxg_elements(x->rank, shape)};
  nx_tensor *y = reduced(&k, shaped(&k, come, rows, 2), op);
  return nxi_steps_end(&k.steps, shaped(&k, y, shape, x->rank));
}

nx_tensor *nx_all_to_all(nx_tensor *x, nx_group *g, int32_t split, int32_t concat) {
  collective k;
  nxi_diag d;
  int64_t from, to;
  nxi_diag_clear(&d);
  if (!begin(&k, "all_to_all", NXI_COMPOSITE_all_to_all, x, g, "")) return NULL;
  if (!take_axis(&k, split, true, &from, &d) || !take_axis(&k, concat, false, &to, &d))
    return refuse(&k, &d);
  nx_tensor *parts = divided(&k, x, from);
  nx_tensor *come = blocks_like(&k, exchange(&k, NXI_ALL_TO_ALL, parts, -1, -1), parts, 1);
  return nxi_steps_end(&k.steps, joined(&k, come, to));
}

/* The result of a block that goes from rank to rank has the shape of x. */
static nx_tensor *end_like(collective *k, nx_tensor *y) {
  return nxi_steps_end(&k->steps, shaped(k, y, nxi_shape(k->x), k->x->rank));
}

static bool check_pair(const collective *k, const nx_pair *pairs, size_t at, nxi_diag *d) {
  const nx_pair own = pairs[at];
  const int32_t wrong = own.from < 0 || own.from >= k->size ? own.from : own.to;
  if (wrong < 0 || wrong >= k->size)
    return !nxi_fail(d, NX_INVALID_ARGUMENT, k->op, "%s: pair %zu has rank %d of %lld members",
                     k->op, at, wrong, (long long)k->size);
  for (size_t i = 0; i < at; i++) {
    bool sends = pairs[i].from == own.from;
    if (sends || pairs[i].to == own.to)
      return !nxi_fail(d, NX_INVALID_ARGUMENT, k->op, "%s: rank %d %s in pair %zu and in pair %zu",
                       k->op, sends ? own.from : own.to, sends ? "sends" : "gets", i, at);
  }
  return true;
}

/* All pairs in one number, for the comparison; what is its own in from and to. */
static void take_pairs(collective *k, const nx_pair *pairs, size_t n, int32_t *from, int32_t *to) {
  uint64_t all = n;
  *from = *to = -1;
  for (size_t i = 0; i < n; i++) {
    all = (all ^ (uint64_t)pairs[i].from << 32 ^ (uint64_t)pairs[i].to) * UINT64_C(0x100000001b3);
    all ^= all >> 31;
    if (pairs[i].to == k->group->rank) *from = pairs[i].from;
    if (pairs[i].from == k->group->rank) *to = pairs[i].to;
  }
  add_number(k, (int64_t)all);
}

nx_tensor *nx_collective_permute(nx_tensor *x, nx_group *g, const nx_pair *pairs, size_t n) {
  collective k;
  nxi_diag d;
  int32_t from, to;
  nxi_diag_clear(&d);
  if (!begin(&k, "collective_permute", NXI_COMPOSITE_collective_permute, x, g, "")) return NULL;
  if (n && !pairs) nxi_fail(&d, NX_INVALID_ARGUMENT, k.op, "%s: the list of pairs is null", k.op);
  for (size_t i = 0; pairs && !d.status && i < n; i++) check_pair(&k, pairs, i, &d);
  if (d.status || (n && !pairs)) return refuse(&k, &d);
  take_pairs(&k, pairs, n, &from, &to);
  return end_like(&k, exchange(&k, NXI_PERMUTE, x, from, to));
}

nx_tensor *nx_collective_broadcast(nx_tensor *x, nx_group *g, int32_t root) {
  collective k;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!begin(&k, "collective_broadcast", NXI_COMPOSITE_collective_broadcast, x, g, "")) return NULL;
  if (root < 0 || root >= k.size) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, k.op, "%s: there is no rank %d of %lld members", k.op, root,
             (long long)k.size);
    return refuse(&k, &d);
  }
  add_number(&k, root);
  return end_like(&k, exchange(&k, NXI_BROADCAST, x, root, -1));
}
