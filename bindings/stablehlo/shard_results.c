/* SPDX-License-Identifier: ISC */
/* How results are divided that the program does not say it of: as the arguments that they are
 * computed of element by element, or by a product, which is what callers of XLA see, who give them
 * to the next program. Any answer would be right, for every process can make each value whole. */
#include "shards.h"

#include <string.h>

const char nxh_no_room[] = "more than there is memory for";
enum { MOST_DEEP = 16 };

/* What is known of the values of a function: NULL, or how it is divided. */
typedef struct known {
  const nxh_module *m;
  const nxh_function *f;
  nxh_sharding *all; /* of each value; without a mesh: nothing is known */
  int deep;
  bool *failed; /* memory was not enough */
} known;

static nxh_sharding *at(const known *k, nxh_value v) {
  return v >= k->f->body.first && v < k->f->end ? &k->all[v - k->f->body.first] : NULL;
}

bool nxh_of_elements(const nxh_row *row) {
  static nxh_record *const kinds[] = {nxh_unary,    nxh_binary,    nxh_logic, nxh_compare,
                                      nxh_select,   nxh_clamp,     nxh_sign,  nxh_convert,
                                      nxh_divide,   nxh_remainder, nxh_abs,   nxh_precision,
                                      nxh_infinite, nxh_mulhi,     nxh_cbrt,  nxh_atan2};
  for (size_t i = 0; row != NULL && i < sizeof kinds / sizeof *kinds; i++)
    if (row->record == kinds[i]) return true;
  return false;
}

static bool same_shape(const nxh_type *a, const nxh_type *b) {
  return a->kind == NXH_TENSOR && b->kind == NXH_TENSOR && a->rank == b->rank &&
         (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0);
}

/* What is computed of a value that is unreduced is summed before. */
static void set_summed(const known *k, nxh_value v, const nxh_sharding *s) {
  nxh_sharding *to = at(k, v);
  *to = *s;
  to->n[NXH_TERMS] = 0;
}

/* As the first operand of that shape of which it is known. */
static void from_operands(const known *k, const nxh_op *op) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result);
  for (uint32_t i = 0; i < op->n_operands; i++) {
    const nxh_sharding *s = at(k, op->operands[i]);
    if (s == NULL || s->grid == NULL || !same_shape(type, nxh_type_of(k->m, op->operands[i])))
      continue;
    set_summed(k, op->first_result, s);
    return;
  }
}

static uint32_t count_entries(const nxh_attr *a) {
  return a == NULL                 ? 0
         : a->kind == NXH_LIST     ? a->list.n
         : a->kind == NXH_ELEMENTS ? (uint32_t)nxh_elements(a->elements.type)
                                   : 0;
}

static void from_transpose(const known *k, const nxh_op *op) {
  const nxh_attr *order = nxh_get(op, "permutation");
  const nxh_sharding *s = at(k, op->operands[0]);
  nxh_sharding turned = {0};
  if (order == NULL || s == NULL || s->grid == NULL) return;
  int32_t rank = nxh_type_of(k->m, op->first_result)->rank;
  uint32_t n = count_entries(order);
  if (n != (uint32_t)rank) return;
  turned.grid = s->grid;
  for (uint32_t i = 0; i < n; i++) {
    int64_t from;
    if (!nxh_entry(order, i, &from) || from < 0 || from >= rank) return;
    turned.n[i] = s->n[from];
    memcpy(turned.axes[i], s->axes[from], sizeof turned.axes[i]);
  }
  *at(k, op->first_result) = turned;
}

/* Dimensions that are there whole are divided as before. */
static void from_slice(const known *k, const nxh_op *op) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result);
  const nxh_type *from = nxh_type_of(k->m, op->operands[0]);
  const nxh_sharding *s = at(k, op->operands[0]);
  if (s == NULL || s->grid == NULL || type->rank != from->rank) return;
  nxh_sharding *to = at(k, op->first_result);
  set_summed(k, op->first_result, s);
  for (int32_t d = 0; d < type->rank; d++)
    if (type->shape[d] != from->shape[d]) to->n[d] = 0;
}

/* Of which extents of one come or go. */
static void from_reshape(const known *k, const nxh_op *op) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result);
  const nxh_type *from = nxh_type_of(k->m, op->operands[0]);
  const nxh_sharding *s = at(k, op->operands[0]);
  nxh_sharding made = {0};
  int32_t d = 0;
  if (s == NULL || s->grid == NULL) return;
  made.grid = s->grid;
  for (int32_t i = 0; i < type->rank; i++) {
    if (type->shape[i] == 1) continue;
    while (d < from->rank && from->shape[d] == 1) d++;
    if (d == from->rank || from->shape[d] != type->shape[i]) return;
    made.n[i] = s->n[d];
    memcpy(made.axes[i], s->axes[d++], sizeof made.axes[i]);
  }
  while (d < from->rank && from->shape[d] == 1) d++;
  if (d == from->rank) *at(k, op->first_result) = made;
}

/* The axes that a list names, as bits, in their order in `out` if that is wanted. */
static uint32_t read_axes(const nxh_op *op, const char *name, int32_t rank, int32_t *out) {
  const nxh_attr *a = nxh_get(op, name);
  uint32_t n = count_entries(a);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < n && i < (uint32_t)rank; i++) {
    int64_t axis;
    if (!nxh_entry(a, i, &axis) || axis < 0 || axis >= rank) return bits;
    if (out != NULL) out[i] = (int32_t)axis;
    bits |= 1U << axis;
  }
  return bits;
}

/* Dimensions that keep their extent, where they go. */
static void from_broadcast(const known *k, const nxh_op *op) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result);
  const nxh_type *from = nxh_type_of(k->m, op->operands[0]);
  const nxh_sharding *s = at(k, op->operands[0]);
  int32_t to[NX_MAX_RANK] = {0};
  nxh_sharding made = {0};
  if (s == NULL || s->grid == NULL) return;
  uint32_t n = count_entries(nxh_get(op, "broadcast_dimensions"));
  uint32_t used = read_axes(op, "broadcast_dimensions", type->rank, to);
  if (n != (uint32_t)from->rank || __builtin_popcount(used) != from->rank) return;
  made.grid = s->grid;
  for (int32_t d = 0; d < from->rank; d++) {
    if (type->shape[to[d]] != from->shape[d]) continue;
    made.n[to[d]] = s->n[d];
    memcpy(made.axes[to[d]], s->axes[d], sizeof made.axes[to[d]]);
  }
  *at(k, op->first_result) = made;
}

/* Dimensions but the one along which pieces are joined are divided as of the first that is
 * known. */
static void from_pieces(const known *k, const nxh_op *op) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result);
  int32_t axis = nxh_axis(op, "dimension", -1);
  for (uint32_t i = 0; i < op->n_operands && axis >= 0 && axis < type->rank; i++) {
    const nxh_sharding *s = at(k, op->operands[i]);
    if (s == NULL || s->grid == NULL || nxh_type_of(k->m, op->operands[i])->rank != type->rank)
      continue;
    set_summed(k, op->first_result, s);
    at(k, op->first_result)->n[axis] = 0;
    return;
  }
}

/* Windows keep the dimensions that they have whole. */
static void from_gather(const known *k, const nxh_op *op) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result);
  const nxh_type *from = nxh_type_of(k->m, op->operands[0]);
  const nxh_sharding *s = at(k, op->operands[0]);
  const nxh_attr *sizes = nxh_get(op, "slice_sizes");
  nxh_sharding made = {0};
  if (s == NULL || s->grid == NULL || count_entries(sizes) != (uint32_t)from->rank) return;
  uint32_t offset = read_axes(op, "offset_dims", type->rank, NULL);
  uint32_t gone = read_axes(op, "collapsed_slice_dims", from->rank, NULL) |
                  read_axes(op, "operand_batching_dims", from->rank, NULL);
  made.grid = s->grid;
  for (int32_t i = 0, d = 0; i < type->rank; i++) {
    int64_t size;
    if (!(offset >> i & 1)) continue;
    while (d < from->rank && gone >> d & 1) d++;
    if (d >= from->rank || !nxh_entry(sizes, (uint32_t)d, &size)) return;
    if (size == from->shape[d]) {
      made.n[i] = s->n[d];
      memcpy(made.axes[i], s->axes[d], sizeof made.axes[i]);
    }
    d++;
  }
  *at(k, op->first_result) = made;
}

/* A dimension is divided as one of an operand, but by no axis twice. */
static void add_dimension(nxh_sharding *s, int32_t *rank, const nxh_sharding *from, int32_t d) {
  int32_t to = (*rank)++;
  if (from == NULL || to >= NX_MAX_RANK || (s->grid != NULL && s->grid != from->grid)) return;
  for (int i = 0; i < from->n[d]; i++) {
    bool taken = false;
    for (int32_t k = 0; k <= to; k++)
      taken = taken || memchr(s->axes[k], from->axes[d][i], s->n[k]) != NULL;
    if (taken) return;
    s->grid = from->grid;
    s->axes[to][s->n[to]++] = from->axes[d][i];
  }
}

/* Dimensions of the batch, and the free ones of both. */
static void from_product(const known *k, const nxh_op *op) {
  static const char *const batch[] = {"lhs_batching_dimensions", "rhs_batching_dimensions"};
  static const char *const contracted[] = {"lhs_contracting_dimensions",
                                           "rhs_contracting_dimensions"};
  nxh_sharding made = {0};
  int32_t rank = 0, order[NX_MAX_RANK] = {0};
  for (int side = 0; side < 2; side++) {
    const nxh_sharding *s = at(k, op->operands[side]);
    int32_t of = nxh_type_of(k->m, op->operands[side])->rank;
    uint32_t first = read_axes(op, batch[side], of, order);
    uint32_t used = first | read_axes(op, contracted[side], of, NULL);
    for (int32_t i = 0; side == 0 && i < __builtin_popcount(first); i++)
      add_dimension(&made, &rank, s, order[i]);
    for (int32_t d = 0; d < of; d++)
      if (!(used >> d & 1)) add_dimension(&made, &rank, s, d);
  }
  if (made.grid != NULL && rank == nxh_type_of(k->m, op->first_result)->rank)
    *at(k, op->first_result) = made;
}

static void from_list(const known *k, const nxh_op *op, const nxh_attr *list, uint32_t i) {
  const nxh_type *type = nxh_type_of(k->m, op->first_result + i);
  nxh_sharding s;
  if (type->kind != NXH_TENSOR || nxh_read_sharding(k->m, list, type->rank, &s) != NULL) return;
  bool empty =
      s.grid != NULL && s.grid->n == 0 && i < op->n_operands; /* a mesh without axes says nothing */
  const nxh_sharding *before = empty ? at(k, op->operands[i]) : NULL;
  bool constrains = op->n_regions == 0 && op->n_operands == 1 && at(k, op->operands[0]) != NULL;
  if (constrains) nxh_divide_open(&s, at(k, op->operands[0]), type);
  *at(k, op->first_result + i) = before != NULL ? *before : s;
}

static void follow(const known *k);

static bool open_known(known *k, const known *outer, const nxh_function *f) {
  size_t n = (size_t)(f->end - f->body.first) + 1;
  *k = (known){outer->m, f, nxi_calloc(n, sizeof *k->all), outer->deep + 1, outer->failed};
  if (k->all == NULL) *k->failed = true;
  return k->all != NULL;
}

/* Of results: as what the function returns. */
static void take_results(const known *k, nxh_sharding *out) {
  const nxh_op *last = nxh_last(&k->f->body);
  for (uint32_t i = 0; last != NULL && i < k->f->n_results && i < last->n_operands; i++) {
    const nxh_sharding *s = at(k, last->operands[i]);
    if (s != NULL && s->grid != NULL &&
        same_shape(nxh_type_of(k->m, last->operands[i]), &k->f->results[i]))
      out[i] = *s;
  }
}

static void from_call(const known *k, const nxh_op *op) {
  const nxh_function *f = nxh_find_function(k->m, nxh_name(op, "callee"));
  known inner;
  if (f == NULL || k->deep == MOST_DEEP || f->body.n_args != op->n_operands ||
      f->n_results != op->n_results || !open_known(&inner, k, f))
    return;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    const nxh_sharding *s = at(k, op->operands[i]);
    if (s != NULL) inner.all[i] = *s;
  }
  follow(&inner);
  if (op->n_results > 0) take_results(&inner, at(k, op->first_result));
  nxi_free(inner.all);
}

static void follow_all(const known *k, const nxh_region *region);

/* By the axes that are manual, as it says; a result that these do not divide, by others, as it is
 * in the computation. */
static void from_manual(const known *k, const nxh_op *op) {
  const nxh_attr *list = nxh_get(op, "out_shardings");
  const nxh_op *last = op->n_regions == 1 ? nxh_last(&op->regions[0]) : NULL;
  if (list == NULL || list->kind != NXH_LIST || last == NULL) return;
  follow_all(k, &op->regions[0]);
  for (uint32_t i = 0; i < op->n_results && i < list->list.n && i < last->n_operands; i++) {
    nxh_value v = op->first_result + i;
    from_list(k, op, &list->list.items[i], i);
    bool whole = same_shape(nxh_type_of(k->m, v), nxh_type_of(k->m, last->operands[i]));
    for (int32_t d = 0; whole && d <= NXH_TERMS; d++) whole = at(k, v)->n[d] == 0;
    const nxh_sharding *inside = at(k, last->operands[i]);
    if (whole && inside != NULL && inside->grid != NULL) set_summed(k, v, inside);
  }
}

/* Of a loop: as what a step gives, if its operands are divided as those of the loop. */
static void from_loop(const known *k, const nxh_op *op) {
  const nxh_region *body = op->n_regions == 2 ? &op->regions[1] : NULL;
  const nxh_op *last = body != NULL ? nxh_last(body) : NULL;
  if (last == NULL || body->n_args != op->n_operands || op->n_results != op->n_operands ||
      last->n_operands != op->n_results)
    return;
  for (uint32_t i = 0; i < op->n_operands; i++)
    if (at(k, op->operands[i]) != NULL) *at(k, body->first + i) = *at(k, op->operands[i]);
  follow_all(k, body);
  for (uint32_t i = 0; i < op->n_results; i++) {
    const nxh_sharding *s = at(k, last->operands[i]);
    bool known_type =
        same_shape(nxh_type_of(k->m, op->first_result + i), nxh_type_of(k->m, last->operands[i]));
    if (s != NULL && s->grid != NULL && known_type) set_summed(k, op->first_result + i, s);
  }
}

static bool calls(const nxh_row *row, const nxh_op *op, const char *target) {
  return row->record == nxh_custom_call && nxh_word_is(nxh_name(op, "call_target_name"), target);
}

/* What XLA's own calls say; those of a manual part say nothing of a whole. */
static bool from_annotation(const known *k, const nxh_row *row, const nxh_op *op) {
  bool says = calls(row, op, "Sharding") || calls(row, op, "SPMDShardToFullShape");
  const nxh_attr *text = says ? nxh_get(op, "mhlo.sharding") : NULL;
  if (text != NULL) from_list(k, op, text, 0);
  return text != NULL;
}

static bool is_group(const nxh_op *op) {
  return op->n_operands == 1 && nxh_word_is(op->name, "sdy.sharding_group");
}

static void follow_op(const known *k, const nxh_op *op) {
  const nxh_row *row = nxh_row_of(op);
  if (row == NULL || op->n_results == 0 || op->n_operands == 0) return;
  if (nxh_of_elements(row) || row->record == nxh_reverse) from_operands(k, op);
  else if (row->record == nxh_transpose) from_transpose(k, op);
  else if (row->record == nxh_slice || row->record == nxh_dynamic_slice) from_slice(k, op);
  else if (row->record == nxh_reshape) from_reshape(k, op);
  else if (row->record == nxh_gather) from_gather(k, op);
  else if (row->record == nxh_broadcast) from_broadcast(k, op);
  else if (row->record == nxh_concatenate) from_pieces(k, op);
  else if (row->record == nxh_while) from_loop(k, op);
  else if (row->record == nxh_dot && nxh_word_is(op->name, "stablehlo.dot_general") &&
           op->n_operands == 2)
    from_product(k, op);
  else if (row->record == nxh_call) from_call(k, op);
  else if (row->record == nxh_constrain && nxh_get(op, "sharding") != NULL)
    from_list(k, op, nxh_get(op, "sharding"), 0);
  else if (from_annotation(k, row, op)) return;
  bool as_it_is = row->record == nxh_identity || calls(row, op, "LayoutConstraint") ||
                  (row->record == nxh_constrain && nxh_get(op, "sharding") == NULL);
  for (uint32_t i = 0; as_it_is && i < op->n_results && i < op->n_operands; i++)
    if (at(k, op->operands[i]) != NULL) *at(k, op->first_result + i) = *at(k, op->operands[i]);
  if (row->record == nxh_manual) from_manual(k, op);
}

/* A value of which nothing is known, and what it is the same as, through conversions of its type
 * between dialects. */
static void give_to(const known *k, const nxh_region *region, nxh_value v, const nxh_sharding *s) {
  for (uint32_t i = region->n_ops; i-- > 0;) {
    const nxh_op *op = &region->ops[i];
    bool same = op->n_results == 1 && op->first_result == v && op->n_operands == 1 &&
                nxh_word_is(op->name, "builtin.unrealized_conversion_cast");
    if (!same || at(k, op->operands[0]) == NULL) continue;
    if (at(k, v)->grid == NULL) set_summed(k, v, s);
    v = op->operands[0];
  }
  if (at(k, v)->grid == NULL) set_summed(k, v, s);
}

/* The values of a group are divided alike, as the first of them that is known. */
static void from_group(const known *k, const nxh_region *region, uint32_t last) {
  int64_t group = nxh_integer(&region->ops[last], "group_id", -1);
  const nxh_sharding *s = NULL;
  nxh_value first = NXH_NONE;
  for (uint32_t give = 0; give < 2; give++)
    for (uint32_t i = 0; i <= last; i++) {
      const nxh_op *op = &region->ops[i];
      if (!is_group(op) || nxh_integer(op, "group_id", -1) != group) continue;
      nxh_value v = op->operands[0];
      nxh_sharding *of = at(k, v);
      if (of == NULL) continue;
      if (s == NULL && of->grid != NULL) s = of, first = v;
      else if (give > 0 && s != NULL && of->grid == NULL &&
               same_shape(nxh_type_of(k->m, v), nxh_type_of(k->m, first)))
        give_to(k, region, v, s);
    }
}

static void follow_all(const known *k, const nxh_region *region) {
  for (uint32_t i = 0; i < region->n_ops; i++)
    if (is_group(&region->ops[i])) from_group(k, region, i);
    else follow_op(k, &region->ops[i]);
}

static void follow(const known *k) { follow_all(k, &k->f->body); }

/* What arguments say is known of them. */
static const char *take_arguments(const known *k) {
  const nxh_function *f = k->f;
  const char *bad = NULL;
  for (uint32_t i = 0; bad == NULL && f->arg_attrs != NULL && i < f->body.n_args; i++) {
    const nxh_type *type = nxh_type_of(k->m, f->body.first + i);
    if (type->kind == NXH_TENSOR)
      bad = nxh_sharding_of(k->m, &f->arg_attrs[i], type->rank, &k->all[i]);
  }
  return bad;
}

const char *nxh_follow(const nxh_module *m, const nxh_function *f, const nxh_sharding *const *args,
                       nxh_sharding **out) {
  bool failed = false;
  known k, none = {.m = m, .failed = &failed};
  if (!open_known(&k, &none, f)) return nxh_no_room;
  const char *bad = args == NULL ? take_arguments(&k) : NULL;
  for (uint32_t i = 0; args != NULL && i < f->body.n_args; i++)
    if (args[i] != NULL) k.all[i] = *args[i];
  if (bad == NULL) follow(&k);
  if (failed) bad = nxh_no_room;
  if (bad == NULL) *out = k.all;
  else nxi_free(k.all);
  return bad;
}

/* Of results that are not said. */
static const char *find_results(const nxh_module *m, const nxh_function *f, nxh_sharding *out) {
  nxh_sharding *all = NULL;
  const char *bad = nxh_follow(m, f, NULL, &all);
  if (bad == NULL) take_results(&(known){.m = m, .f = f, .all = all}, out);
  nxi_free(all);
  return bad;
}

static const char *take_result(const nxh_module *m, const nxh_function *f, uint32_t i,
                               nxh_sharding *s) {
  const nxh_attr *attrs = f->result_attrs != NULL ? &f->result_attrs[i] : NULL;
  const nxh_type *type = &f->results[i];
  int64_t shape[NX_MAX_RANK];
  if (type->kind == NXH_TENSOR && nxh_sharding_attr(attrs) != NULL) {
    nxh_sharding known = *s;
    const char *bad = nxh_sharding_of(m, attrs, type->rank, s);
    if (bad == NULL && known.n[NXH_TERMS] == 0) nxh_divide_open(s, &known, type);
    return bad;
  }
  if (type->kind != NXH_TENSOR || !nxh_local_shape(s, type, shape)) *s = (nxh_sharding){0};
  return NULL;
}

const char *nxh_result_shardings(const nxh_module *m, const nxh_function *f, nxh_sharding **out) {
  const char *bad = NULL;
  nxh_sharding *s = *out = nxi_calloc((size_t)f->n_results + 1, sizeof *s);
  if (s == NULL) return nxh_no_room;
  bool said = f->result_attrs != NULL;
  for (uint32_t i = 0; said && i < f->n_results; i++) {
    const nxh_type *type = &f->results[i];
    said = nxh_sharding_attr(&f->result_attrs[i]) != NULL &&
           (type->kind != NXH_TENSOR ||
            nxh_sharding_of(m, &f->result_attrs[i], type->rank, &s[i]) != NULL || s[i].open == 0);
    s[i] = (nxh_sharding){0};
  }
  if (!said) bad = find_results(m, f, s);
  for (uint32_t i = 0; bad == NULL && i < f->n_results; i++) bad = take_result(m, f, i, &s[i]);
  if (bad == NULL) return NULL;
  nxi_free(s);
  *out = NULL;
  return bad;
}
