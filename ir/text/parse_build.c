/* SPDX-License-Identifier: ISC */
/* Builds the nodes of a statement of the text: stores attributes, broadcasts operands, composes
 * movement words into views, and checks types against the written ones. A name stands for the value
 * of a node. If the node is a view made by a movement word, the name also stands for the operand
 * and that view, so that the next movement word is composed with the view, and as_strided addresses
 * the whole operand. */
#include <stdio.h>
#include <string.h>

#include "ir/graph/control.h"
#include "ir/library/library.h"
#include "parse_graph.h"

const char *const nxg_key_names[NXG_KEYS] = {
    "axes",     "axis",   "keepdims",   "start",    "stop",      "count",     "step",
    "before",   "after",  "value",      "offset",   "shape",     "strides",   "k",
    "mode",     "upper",  "reduced",    "full",     "transpose", "unit_diag", "descending",
    "size",     "order",  "nan",        "result",   "parts0",    "parts1",    "parts2",
    "cond",     "body",   "branches",   "carried",  "stacked",   "reverse",   "limit",
    "y_count",  "y_step", "y_dilation", "y_before", "x_count",   "x_step",    "x_dilation",
    "x_before", "layout", "scale",      "fill",     "least",     "most",      "turned",
    "hides",    "wide",   "empty",      "whole"};

#define MALFORMED(p, at, ...) nxg_parse_fail(p, at, NX_PARSE, __VA_ARGS__)
#define KEY(name)             (UINT64_C(1) << NXG_KEY_##name)

static nx_status out_of_memory(nxg_parser *p) { return nxg_parse_locate(p, p->at, nxi_oom(p->d)); }

/* ---- attributes */

static uint64_t keys_of_move(nxg_move m) {
  switch (m) {
    case NXG_MOVE_EXPAND:
    case NXG_MOVE_RESHAPE: return KEY(shape);
    case NXG_MOVE_PERMUTE:
    case NXG_MOVE_FLIP: return KEY(axes);
    case NXG_MOVE_SHRINK: return KEY(start) | KEY(stop);
    case NXG_MOVE_SLICE: return KEY(start) | KEY(count) | KEY(step);
    case NXG_MOVE_AS_STRIDED: return KEY(shape) | KEY(strides) | KEY(offset);
    default: return 0;
  }
}

/* The key of attribute i of an operation of library.def; NXG_KEYS: it has none here, which a test
 * finds (only custom's have none). */
nxg_key nxg_key_of_call(nxg_op op, uint32_t i) {
  size_t length;
  const char *name = nxg_call_key(op, i, &length);
  int key = 0;
  while (key < NXG_KEYS &&
         (strlen(nxg_key_names[key]) != length || memcmp(nxg_key_names[key], name, length)))
    key++;
  return (nxg_key)key;
}

static uint64_t keys_of_call(nxg_op op) {
  uint64_t keys = 0;
  for (uint32_t i = 0; i < nxg_call_attrs(op); i++) keys |= UINT64_C(1) << nxg_key_of_call(op, i);
  return keys | KEY(parts0) | KEY(parts1) | KEY(parts2);
}

static uint64_t keys_of_op(nxg_op op) {
  if (op == NXG_custom) return KEY(order) | KEY(result) | KEY(parts0) | KEY(parts1) | KEY(parts2);
  if (nxg_ops[op].kind == NXG_KIND_CALL) return keys_of_call(op);
  if (nxg_is_control(op)) return nxg_parse_control_keys(op);
  switch (op) {
    case NXG_arange: return KEY(start) | KEY(step);
    case NXG_eye: return KEY(k);
    case NXG_view: return KEY(offset) | KEY(strides);
    case NXG_pad: return KEY(value) | KEY(before) | KEY(after);
    case NXG_cat: return KEY(axis);
    case NXG_gather: return KEY(axis) | KEY(axes) | KEY(start) | KEY(count);
    case NXG_scatter: return KEY(axis) | KEY(mode) | KEY(shape) | KEY(axes);
    case NXG_update: return KEY(offset) | KEY(shape) | KEY(strides);
    default:
      if (nxg_is_scan(op)) return KEY(axis) | KEY(mode);
      if (nxg_finds_index(op)) return KEY(axis) | KEY(keepdims);
      return nxg_ops[op].kind == NXG_KIND_REDUCE ? KEY(axes) | KEY(keepdims) : 0;
  }
}

static nx_status check_keys(nxg_parser *p, uint64_t allowed) {
  int key = 0;
  while (key < NXG_KEYS && (!p->s.values[key].at || allowed >> key & 1)) key++;
  if (key == NXG_KEYS) return NX_OK;
  char own[160] = "";
  size_t used = 0;
  for (int k = 0; k < NXG_KEYS && used < sizeof own; k++)
    if (allowed >> k & 1)
      used += (size_t)snprintf(own + used, sizeof own - used, "%s%s", used ? ", " : "; it has ",
                               nxg_key_names[k]);
  return MALFORMED(p, p->s.values[key].at, "%.*s has no attribute %s%s", (int)p->s.word_length,
                   p->s.at, nxg_key_names[key], own);
}

static nx_status missing(nxg_parser *p, nxg_key key) {
  return MALFORMED(p, p->s.at, "%.*s needs the attribute %s", (int)p->s.word_length, p->s.at,
                   nxg_key_names[key]);
}

/* Requires an attribute that is a list of `count` integers. */
static nx_status need_list(nxg_parser *p, nxg_key key, int32_t count, int64_t *list) {
  const nxg_value *v = &p->s.values[key];
  if (!v->at) return missing(p, key);
  if (!v->is_list) return MALFORMED(p, v->at, "the attribute %s is a list", nxg_key_names[key]);
  if (v->n != count)
    return MALFORMED(p, v->at, "%.*s: the attribute %s has %d entries where rank %d is wanted",
                     (int)p->s.word_length, p->s.at, nxg_key_names[key], v->n, count);
  for (int32_t i = 0; i < count; i++) list[i] = v->list[i];
  return NX_OK;
}

/* Reads one integer. absent: its value if it is not written; NULL: it is required. */
nx_status nxg_parse_integer(nxg_parser *p, nxg_key key, const int64_t *absent, int64_t *value) {
  const nxg_value *v = &p->s.values[key];
  if (!v->at && !absent) return missing(p, key);
  if (!v->at) {
    *value = *absent;
    return NX_OK;
  }
  if (v->is_list || !nxi_parse_int(v->at, v->length, INT64_MIN, INT64_MAX, value))
    return MALFORMED(p, v->at, "the attribute %s is one integer of 64 bits", nxg_key_names[key]);
  return NX_OK;
}

/* bits: two elements for a complex scalar. */
static nx_status scalar_bits(nxg_parser *p, const char *at, uint32_t n, nx_dtype t, int64_t *bits) {
  uint64_t value = 0, second = 0;
  if (!n) return MALFORMED(p, at ? at : p->s.at, "a scalar is missing here");
  const char *fault = nxi_is_complex(t)
                          ? nxi_parse_complex(at, n, nxi_part_dtype(t), &value, &second)
                          : nxi_parse_scalar(at, n, t, &value);
  if (fault)
    return MALFORMED(p, at, "the %s scalar %.*s %s", nxi_dtypes[t].name, n > 40 ? 40 : (int)n, at,
                     fault);
  *bits = (int64_t)value;
  if (nxi_is_complex(t)) bits[1] = (int64_t)second;
  return NX_OK;
}

static nx_status get_scalar(nxg_parser *p, nxg_key key, nx_dtype t, uint64_t absent,
                            int64_t *bits) {
  const nxg_value *v = &p->s.values[key];
  *bits = (int64_t)absent;
  if (nxi_is_complex(t)) bits[1] = 0;
  if (!v->at) return NX_OK;
  if (v->is_list) return MALFORMED(p, v->at, "the attribute %s is one scalar", nxg_key_names[key]);
  return scalar_bits(p, v->at, v->length, t, bits);
}

/* An axis that does not fit in 32 bits becomes one that is out of range for every rank. */
static int32_t saturate(int64_t axis) {
  return axis > INT32_MAX ? INT32_MAX : axis < -INT32_MAX ? -INT32_MAX : (int32_t)axis;
}

static nx_status get_axes(nxg_parser *p, int32_t *axes, int32_t *n) {
  const nxg_value *v = &p->s.values[NXG_KEY_axes];
  if (!v->at) return missing(p, NXG_KEY_axes);
  if (!v->is_list) return MALFORMED(p, v->at, "the attribute axes is a list");
  for (int32_t i = 0; i < v->n; i++) axes[i] = saturate(v->list[i]);
  *n = v->n;
  return NX_OK;
}

/* ---- adding nodes */

static nx_status add_node(nxg_parser *p, nxg_op op, uint32_t n, const uint32_t *args,
                          const int64_t *attrs, uint32_t n_attrs, nx_dtype dtype, int32_t rank,
                          const int64_t *shape, uint32_t *node) {
  *node = nxg_add(p->g, op, n, args, attrs, n_attrs, dtype, rank, shape);
  return *node == UINT32_MAX ? out_of_memory(p) : NX_OK;
}

/* Returns the base node that a name stands for, and sets p->view to the view of it. */
static uint32_t look_through(nxg_parser *p, uint32_t node) {
  nxg_node_view(p->g, node, &p->view);
  return p->g->nodes[node].op == NXG_view ? p->g->nodes[node].args[0] : node;
}

/* Returns a node whose value is the view p->view of base. */
static nx_status view_node(nxg_parser *p, uint32_t base, uint32_t *node) {
  const nxg_node *b = &p->g->nodes[base];
  const nxg_view *v = &p->view;
  if (v->offset == 0 && nxg_view_is_contiguous(v) &&
      nxg_same_shape(b->rank, b->shape, v->rank, v->shape)) {
    *node = base;
    return NX_OK;
  }
  nx_status status = nxg_shape_check(NX_INVALID_ARGUMENT, "view", v->rank, v->shape,
                                     nxi_dtypes[b->dtype].bits, NULL, p->d);
  if (status) return nxg_parse_locate(p, p->s.at, status);
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  return add_node(p, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, b->dtype, v->rank, v->shape,
                  node);
}

/* Expands operand i to the shape if it has another one. */
static nx_status expand_operand(nxg_parser *p, uint32_t i, int32_t rank, const int64_t *shape) {
  const nxg_node *n = &p->g->nodes[p->operands[i]];
  if (nxg_same_shape(n->rank, n->shape, rank, shape)) return NX_OK;
  uint32_t base = look_through(p, p->operands[i]);
  nx_status status = nxg_view_expand(&p->view, rank, shape, &p->view, p->d);
  if (status) return nxg_parse_locate(p, p->operand_at[i], status);
  return view_node(p, base, &p->operands[i]);
}

/* Broadcasts all operands to their common shape, except their last `keep` dimensions (for
 * matmul). */
static nx_status broadcast_operands(nxg_parser *p, const char *name, int32_t keep) {
  int32_t rank = 0;
  int64_t shape[NXG_MAX_RANK];
  bool differ = false;
  for (uint32_t i = 0; i < p->n_operands; i++) {
    const nxg_node *n = &p->g->nodes[p->operands[i]];
    if (n->rank < keep) return NX_OK; /* nxg_infer reports the error */
    differ |= i && !nxg_same_shape(rank, shape, n->rank - keep, n->shape);
    nx_status status =
        nxg_broadcast(name, rank, shape, n->rank - keep, n->shape, &rank, shape, p->d);
    if (status) return nxg_parse_locate(p, p->s.at, status);
  }
  if (rank + keep > NXG_MAX_RANK)
    return MALFORMED(p, p->s.at, "%s: the broadcast operands have more than %d dimensions", name,
                     NXG_MAX_RANK);
  for (uint32_t i = 0; differ && i < p->n_operands; i++) {
    const nxg_node *n = &p->g->nodes[p->operands[i]];
    for (int32_t k = 0; k < keep; k++) shape[rank + k] = n->shape[n->rank - keep + k];
    nx_status status = expand_operand(p, i, rank + keep, shape);
    if (status) return status;
  }
  return NX_OK;
}

/* ---- types */

static nx_status check_annotation(nxg_parser *p, nx_dtype dtype, int32_t rank,
                                  const int64_t *shape) {
  const nxg_statement *s = &p->s;
  if (!s->annotation || (s->dtype == dtype && nxg_same_shape(s->rank, s->shape, rank, shape)))
    return NX_OK;
  char made[NXG_SHAPE_TEXT], written[NXG_SHAPE_TEXT];
  return MALFORMED(p, s->annotation, "the result of %.*s has type %s%s, but %s%s is written",
                   (int)s->word_length, s->at, nxi_dtypes[dtype].name,
                   nxg_format_shape(made, rank, shape), nxi_dtypes[s->dtype].name,
                   nxg_format_shape(written, s->rank, s->shape));
}

static nx_status need_annotation(nxg_parser *p) {
  if (p->s.annotation) return NX_OK;
  return MALFORMED(p, p->s.at, "%.*s needs its type, as in `: f32[4,5]`", (int)p->s.word_length,
                   p->s.at);
}

/* ---- movement words */

/* The shape in shape=[..] or in the type. */
static nx_status target_shape(nxg_parser *p, int32_t *rank, const int64_t **shape) {
  const nxg_value *v = &p->s.values[NXG_KEY_shape];
  if (v->at && !v->is_list) return MALFORMED(p, v->at, "the attribute shape is a list");
  nx_status status = v->at ? NX_OK : need_annotation(p);
  *rank = v->at ? v->n : p->s.rank;
  *shape = v->at ? v->list : p->s.shape;
  return status;
}

static nx_status move_view(nxg_parser *p, nxg_move m, int64_t storage) {
  nxg_view *v = &p->view;
  const int64_t *shape = NULL;
  int64_t a[NXG_MAX_RANK], b[NXG_MAX_RANK], c[NXG_MAX_RANK], offset = 0, zero = 0;
  int32_t axes[NXG_MAX_RANK] = {0}, rank = 0, n = 0;
  nx_status status;
  switch (m) {
    case NXG_MOVE_EXPAND:
      status = target_shape(p, &rank, &shape);
      return status ? status : nxg_view_expand(v, rank, shape, v, p->d);
    case NXG_MOVE_RESHAPE:
      status = target_shape(p, &rank, &shape);
      return status ? status : nxg_view_reshape(v, rank, shape, v, p->d);
    case NXG_MOVE_PERMUTE:
      status = get_axes(p, axes, &n);
      return status ? status : nxg_view_permute(v, axes, (size_t)n, v, p->d);
    case NXG_MOVE_FLIP:
      status = get_axes(p, axes, &n);
      return status ? status : nxg_view_flip(v, axes, (size_t)n, v, p->d);
    case NXG_MOVE_SHRINK:
      status = need_list(p, NXG_KEY_start, v->rank, a);
      if (!status) status = need_list(p, NXG_KEY_stop, v->rank, b);
      return status ? status : nxg_view_shrink(v, a, b, v, p->d);
    case NXG_MOVE_SLICE:
      status = need_list(p, NXG_KEY_start, v->rank, a);
      if (!status) status = need_list(p, NXG_KEY_count, v->rank, b);
      if (!status) status = need_list(p, NXG_KEY_step, v->rank, c);
      return status ? status : nxg_view_slice(v, a, b, c, v, p->d);
    case NXG_MOVE_AS_STRIDED:
      status = target_shape(p, &rank, &shape);
      if (!status) status = need_list(p, NXG_KEY_strides, rank, a);
      if (!status) status = nxg_parse_integer(p, NXG_KEY_offset, &zero, &offset);
      return status ? status : nxg_view_as_strided(storage, rank, shape, a, offset, v, p->d);
    default: return NX_OK;
  }
}

static nx_status build_move(nxg_parser *p, nxg_move m, uint32_t *node) {
  nx_status status = check_keys(p, keys_of_move(m));
  if (status) return status;
  if (p->n_operands != 1)
    return MALFORMED(p, p->s.at, "%s: it has %u operands where 1 is wanted", nxg_move_names[m],
                     p->n_operands);
  uint32_t base = look_through(p, p->operands[0]);
  status = move_view(p, m, nxg_node_elements(&p->g->nodes[base]));
  if (status) return nxg_parse_locate(p, p->s.at, status);
  if (m != NXG_MOVE_CONTIGUOUS) {
    status = view_node(p, base, node);
  } else if (p->view.offset == 0 && nxg_view_is_contiguous(&p->view)) {
    *node = p->operands[0];
  } else {
    const nxg_node n = p->g->nodes[p->operands[0]];
    status = add_node(p, NXG_copy, 1, p->operands, NULL, 0, n.dtype, n.rank, n.shape, node);
  }
  if (status) return status;
  const nxg_node *made = &p->g->nodes[*node];
  return check_annotation(p, made->dtype, made->rank, made->shape);
}

/* ---- the operations of the table */

static nx_status leaf_attrs(nxg_parser *p, nxg_op op, int64_t *attrs, uint32_t *n) {
  nx_dtype t = p->s.dtype;
  int64_t zero = 0;
  nx_status status = need_annotation(p);
  if (status) return status;
  if (op == NXG_eye) {
    *n = 1;
    return nxg_parse_integer(p, NXG_KEY_k, &zero, &attrs[0]);
  }
  int pair = nxi_is_complex(t);
  int64_t first[2] = {0, 0}, second[2] = {0, 0};
  *n = op == NXG_full ? 2 + pair : 2 + 2 * pair;
  if (op == NXG_arange) {
    status = get_scalar(p, NXG_KEY_start, t, 0, first);
    if (!status)
      status = get_scalar(p, NXG_KEY_step, t, nxi_cast_bits(1, NX_I64, nxi_part_dtype(t)), second);
    for (int k = 0; k <= pair; k++) {
      attrs[2 * k] = first[k];
      attrs[2 * k + 1] = second[k];
    }
    return status;
  }
  if (p->s.param < 0) status = scalar_bits(p, p->s.scalar, p->s.scalar_length, t, first);
  attrs[0] = first[0];
  attrs[1] = p->s.param;
  if (pair) attrs[2] = first[1];
  return status;
}

static nx_status reduce_attrs(nxg_parser *p, nxg_op op, const nxg_node *a, int64_t *attrs) {
  int32_t axes[NXG_MAX_RANK] = {0}, n = 1;
  uint32_t mask = 0;
  int64_t axis = 0;
  bool arg = nxg_finds_index(op);
  nx_status status = arg ? nxg_parse_integer(p, NXG_KEY_axis, NULL, &axis) : get_axes(p, axes, &n);
  if (status) return status;
  if (arg) axes[0] = saturate(axis);
  status = nxg_axes_mask(nxg_ops[op].name, a->rank, axes, (size_t)n, &mask, p->d);
  if (status) return status;
  attrs[0] = arg ? __builtin_ctz(mask) : (int64_t)mask;
  attrs[1] = p->s.values[NXG_KEY_keepdims].at != NULL;
  return NX_OK;
}

static nx_status pad_attrs(nxg_parser *p, const nxg_node *a, int64_t *attrs) {
  int64_t value[2] = {0, 0};
  nx_status status = get_scalar(p, NXG_KEY_value, a->dtype, 0, value);
  attrs[0] = value[0];
  if (nxi_is_complex(a->dtype)) attrs[1 + 2 * a->rank] = value[1];
  if (!status) status = need_list(p, NXG_KEY_before, a->rank, attrs + 1);
  return status ? status : need_list(p, NXG_KEY_after, a->rank, attrs + 1 + a->rank);
}

static nx_status cat_attrs(nxg_parser *p, const nxg_node *a, int64_t *attrs) {
  uint32_t mask = 0;
  attrs[0] = 0;
  nx_status status = nxg_parse_integer(p, NXG_KEY_axis, NULL, &attrs[0]);
  if (status) return status;
  int32_t axis = saturate(attrs[0]);
  status = nxg_axes_mask("cat", a->rank, &axis, 1, &mask, p->d);
  if (!status) attrs[0] = __builtin_ctz(mask);
  return status;
}

static nx_status update_attrs(nxg_parser *p, int64_t *attrs, uint32_t *n) {
  int64_t zero = 0;
  const nxg_value *shape = &p->s.values[NXG_KEY_shape];
  if (!shape->at) return missing(p, NXG_KEY_shape);
  nx_status status = need_list(p, NXG_KEY_shape, shape->n, attrs + 2);
  if (!status) status = need_list(p, NXG_KEY_strides, shape->n, attrs + 2 + shape->n);
  if (!status) status = nxg_parse_integer(p, NXG_KEY_offset, &zero, &attrs[0]);
  if (status) return status;
  attrs[1] = shape->n;
  *n = 2 + 2 * (uint32_t)shape->n;
  return p->n_operands < 2 ? NX_OK : expand_operand(p, 1, shape->n, shape->list);
}

/* Reads the shapes of complex operands that have been converted to rows; [-1] stands for a real
 * operand. */
static nx_status call_rows(nxg_parser *p, int64_t *attrs, uint32_t *n) {
  const nxg_value *v = &p->s.values[NXG_KEY_parts0];
  bool any = v[0].at || v[1].at || v[2].at;
  for (uint32_t i = 0; any && i < p->n_operands && i < NXG_CALL_OPERANDS; i++) {
    bool real = i > 2 || !v[i].at || (v[i].is_list && v[i].n == 1 && v[i].list[0] == -1);
    if (i <= 2 && v[i].at && !v[i].is_list)
      return MALFORMED(p, v[i].at, "the attribute parts%u is a list", i);
    attrs[(*n)++] = real ? -1 : v[i].n;
    for (int32_t k = 0; !real && k < v[i].n; k++) attrs[(*n)++] = v[i].list[k];
  }
  return NX_OK;
}

/* The node stores several axes of operand 0 as a mask, and a single axis as its number. */
static nx_status call_axes(nxg_parser *p, nxg_op op, nxg_key key, const nxg_node *a,
                           int64_t *attr) {
  const nxg_value *row = &p->s.values[NXG_KEY_parts0];
  bool real = !row->at || !row->is_list || (row->n == 1 && row->list[0] == -1);
  int32_t axes[NXG_MAX_RANK] = {0}, n = 1;
  int64_t axis = 0, zero = 0;
  uint32_t mask = 0;
  nx_status status =
      key == NXG_KEY_axes ? get_axes(p, axes, &n) : nxg_parse_integer(p, key, &zero, &axis);
  if (key == NXG_KEY_axis) axes[0] = saturate(axis);
  if (!status)
    status = nxg_axes_mask(nxg_ops[op].name, real ? a->rank : row->n, axes, (size_t)n, &mask, p->d);
  if (!status) *attr = key == NXG_KEY_axes ? (int64_t)mask : __builtin_ctz(mask);
  return status;
}

static nx_status custom_attrs(nxg_parser *p, int64_t *attrs, uint32_t *n) {
  int64_t zero = 0;
  *n = NXG_CUSTOM_ATTRS + 1;
  attrs[NXG_CUSTOM_SELF] = (int64_t)(uintptr_t)p->s.custom;
  attrs[NXG_CUSTOM_NUMBER] = (int64_t)p->s.custom->number;
  nx_status status = nxg_parse_integer(p, NXG_KEY_order, &zero, &attrs[NXG_CUSTOM_ORDER]);
  if (!status && attrs[NXG_CUSTOM_ORDER] > NXG_CUSTOM_MOST_ORDER)
    status =
        MALFORMED(p, p->s.values[NXG_KEY_order].at, "the order is above %d", NXG_CUSTOM_MOST_ORDER);
  if (!status) status = nxg_parse_integer(p, NXG_KEY_result, &zero, &attrs[NXG_CUSTOM_ATTRS]);
  return status ? status : call_rows(p, attrs, n);
}

static nx_status call_attrs(nxg_parser *p, nxg_op op, const nxg_node *a, int64_t *attrs,
                            uint32_t *n) {
  int64_t zero = 0;
  if (op == NXG_custom) return custom_attrs(p, attrs, n);
  nx_status status = NX_OK;
  *n = nxg_call_attrs(op);
  for (uint32_t i = 0; !status && i < *n; i++) {
    nxg_key key = nxg_key_of_call(op, i);
    if ((key == NXG_KEY_axes || key == NXG_KEY_axis) && a)
      status = call_axes(p, op, key, a, &attrs[i]);
    else status = nxg_parse_integer(p, key, &zero, &attrs[i]);
  }
  return status ? status : call_rows(p, attrs, n);
}

enum { MOST_ATTRS = NXG_CALL_MOST_ATTRS }; /* also enough for pad and update */

/* Reads the axes of a mask; an absent attribute is an empty mask. */
static nx_status get_mask(nxg_parser *p, int32_t rank, int64_t *mask) {
  const nxg_value *v = &p->s.values[NXG_KEY_axes];
  *mask = 0;
  if (!v->at) return NX_OK;
  if (!v->is_list) return MALFORMED(p, v->at, "the attribute axes is a list");
  for (int32_t i = 0; i < v->n; i++) {
    if (v->list[i] < 0 || v->list[i] >= rank)
      return MALFORMED(p, v->at, "axis %lld is out of range for rank %d", (long long)v->list[i],
                       rank);
    *mask |= (int64_t)1 << v->list[i];
  }
  return NX_OK;
}

static nx_status indexed_attrs(nxg_parser *p, nxg_op op, const nxg_node *a, int64_t *attrs,
                               uint32_t *n) {
  int64_t zero = 0;
  bool gathers = op == NXG_gather;
  const nxg_value *shape = &p->s.values[NXG_KEY_shape];
  int32_t rank = a->rank;
  attrs[0] = attrs[1] = 0;
  nx_status status = nxg_parse_integer(p, NXG_KEY_axis, NULL, &attrs[0]);
  if (!status && !gathers) status = nxg_parse_integer(p, NXG_KEY_mode, &zero, &attrs[1]);
  *n = gathers ? 1 : 2;
  if (!status && gathers && p->s.values[NXG_KEY_start].at) {
    *n = 3;
    status = need_list(p, NXG_KEY_start, 1, attrs + 1);
    if (!status) status = need_list(p, NXG_KEY_count, 1, attrs + 2);
  } else if (!status && !gathers && nxg_scatter_has_shape(attrs[1])) {
    rank = shape->n;
    *n += (uint32_t)rank;
    status = need_list(p, NXG_KEY_shape, rank, attrs + 2);
  } else if (!status && shape->at) {
    status = MALFORMED(p, shape->at, "%.*s has no attribute shape in this mode",
                       (int)p->s.word_length, p->s.at);
  }
  if (!status && attrs[0] < 0 && attrs[0] >= -(int64_t)rank) attrs[0] += rank;
  if (status || p->n_operands != (gathers ? 3 : 4)) return status;
  return get_mask(p, rank, &attrs[(*n)++]);
}

static nx_status build_attrs(nxg_parser *p, nxg_op op, int64_t *attrs, uint32_t *n) {
  const nxg_node *a = p->n_operands ? &p->g->nodes[p->operands[0]] : NULL;
  int64_t zero = 0;
  nx_status status;
  *n = 0;
  if (nxg_ops[op].kind == NXG_KIND_LEAF) return leaf_attrs(p, op, attrs, n);
  if (nxg_ops[op].kind == NXG_KIND_CALL) return call_attrs(p, op, a, attrs, n);
  if (nxg_is_control(op)) return nxg_parse_control(p, op, attrs, n);
  if (!a) return NX_OK; /* nxg_infer reports that operands are missing */
  if (nxg_ops[op].kind == NXG_KIND_REDUCE) {
    *n = 2;
    return reduce_attrs(p, op, a, attrs);
  }
  if (nxg_is_scan(op)) {
    *n = 2;
    status = cat_attrs(p, a, attrs);
    return status ? status : nxg_parse_integer(p, NXG_KEY_mode, &zero, &attrs[1]);
  }
  switch ((int)op) {
    case NXG_pad: *n = 1 + 2u * a->rank + nxi_is_complex(a->dtype); return pad_attrs(p, a, attrs);
    case NXG_cat: *n = 1; return cat_attrs(p, a, attrs);
    case NXG_update: return update_attrs(p, attrs, n);
    case NXG_gather:
    case NXG_scatter: return indexed_attrs(p, op, a, attrs, n);
    case NXG_view:
      status = need_annotation(p);
      if (status) return status;
      *n = 1 + (uint32_t)p->s.rank;
      if (!p->s.values[NXG_KEY_strides].at) { /* the whole tensor */
        attrs[0] = 0;
        nxg_contiguous_strides(p->s.rank, p->s.shape, attrs + 1);
        return NX_OK;
      }
      status = need_list(p, NXG_KEY_strides, p->s.rank, attrs + 1);
      return status ? status : nxg_parse_integer(p, NXG_KEY_offset, &zero, &attrs[0]);
    default: return NX_OK;
  }
}

static nx_status build_op(nxg_parser *p, nxg_op op, uint32_t *node) {
  int64_t attrs[MOST_ATTRS], shape[NXG_MAX_RANK];
  uint32_t n_attrs = 0;
  nx_dtype dtype = 0;
  int32_t rank = 0;
  bool given = nxg_ops[op].result == NXG_RESULT_GIVEN;
  nx_status status = check_keys(p, keys_of_op(op));
  if (!status) status = build_attrs(p, op, attrs, &n_attrs);
  if (!status && given) status = need_annotation(p);
  if (!status && (nxg_ops[op].kind == NXG_KIND_MAP || op == NXG_threefry))
    status = broadcast_operands(p, nxg_ops[op].name, 0);
  if (!status && op == NXG_matmul) status = broadcast_operands(p, "matmul", 2);
  if (status) return nxg_parse_locate(p, p->s.at, status);
  if (nxg_ops[op].kind == NXG_KIND_LEAF || op == NXG_view) {
    rank = p->s.rank;
    memcpy(shape, p->s.shape, (size_t)rank * sizeof *shape);
  }
  if (p->n_operands && !nxi_grow(&p->types, &p->cap_types, p->n_operands, sizeof *p->types))
    return out_of_memory(p);
  for (uint32_t i = 0; i < p->n_operands; i++) {
    const nxg_node *a = &p->g->nodes[p->operands[i]];
    p->types[i] = (nxg_type){a->dtype, a->rank, a->shape};
  }
  status = nxg_infer(op, p->n_operands, p->types, attrs, n_attrs, given ? p->s.dtype : 0, &dtype,
                     &rank, shape, p->d);
  if (status) {
    uint32_t bad = p->d->operand >= 0 ? (uint32_t)p->d->operand : UINT32_MAX;
    return nxg_parse_locate(p, bad < p->n_operands ? p->operand_at[bad] : p->s.at, status);
  }
  if (op == NXG_update && p->n_operands == 3 && p->g->nodes[p->operands[2]].op != NXG_input)
    return MALFORMED(p, p->operand_at[2], "update: operand 2 is not an input");
  status = check_annotation(p, dtype, rank, shape);
  return status ? status
                : add_node(p, op, p->n_operands, p->operands, attrs, n_attrs, dtype, rank, shape,
                           node);
}

nx_status nxg_build_statement(nxg_parser *p, uint32_t *node) {
  const nxg_statement *s = &p->s;
  *node = UINT32_MAX;
  const char *word = s->at;
  uint32_t n = s->word_length;
  bool known = nxi_word_of_today(p->version, &word, &n);
  nxg_op op = known ? nxg_op_from_name(word, n) : NXG_OP_COUNT;
  if (op != NXG_OP_COUNT && op != NXG_input) return build_op(p, op, node);
  for (int m = 0; m < NXG_MOVES; m++)
    if (strlen(nxg_move_names[m]) == s->word_length &&
        !memcmp(nxg_move_names[m], s->at, s->word_length))
      return build_move(p, (nxg_move)m, node);
  char near[NXI_NEAR_TEXT];
  nxg_hint_op(s->at, s->word_length, near);
  return MALFORMED(p, s->at, "there is no operation %.*s%s",
                   s->word_length > 40 ? 40 : (int)s->word_length, s->at, near);
}
