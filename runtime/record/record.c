/* SPDX-License-Identifier: ISC */
/* Recording: the one path by which operations enter the recording. */
#include "record.h"

#include <string.h>

#include "capture.h"
#include "custom.h"
#include "error.h"
#include "number.h"
#include "objects.h"
#include "pending.h"
#include "ir/platform/lock.h"

/* ---- nodes */

typedef struct node_type {
  uint16_t op, called;
  uint8_t dtype, rank, device;
  uint32_t n_attrs;
} node_type;

/* Each field for itself: a compound literal is cleared by an instruction that takes tens of cycles
 * to begin. What is not given here is the caller's. */
static inline void node_begin(nx_context *c, nxi_node *n, const node_type *type, uint32_t size) {
  n->refs = 1;
  n->op = type->op;
  n->dtype = type->dtype;
  n->rank = type->rank;
  atomic_init(&n->flags, 0);
  n->state = NXI_PENDING;
  n->device = type->device;
  n->failure = 0;
  n->n_args = 0;
  n->n_attrs = type->n_attrs;
  n->size = size;
  n->index = 0;
  n->called = type->called;
  n->place = 0;
  n->epoch = n->id = n->hash = 0;
  n->named = 0;
  atomic_init(&n->lineage, 0);
  n->elements = 0;
  n->buffer = NULL;
  n->home = NULL;
  n->tag = NULL;
  c->live_nodes++;
  nxi_count(&c->pending_nodes, 1); /* nxi_pending_begin */
  nxi_count(&c->record_bytes, size);
}

static nxi_node *node_create(nx_context *c, const nxi_recording *r, uint32_t n_args) {
  size_t words = (size_t)r->rank + r->n_attrs + n_args,
         size = sizeof(nxi_node) + words * sizeof(int64_t);
  nxi_node *n = nxi_block_take(c, size);
  if (!n) return NULL;
  const node_type type = {r->op,     r->called, r->dtype, (uint8_t)r->rank, (uint8_t)r->device,
                          r->n_attrs};
  node_begin(c, n, &type, (uint32_t)size);
  int64_t elements = 1;
  for (int32_t i = 0; i < r->rank; i++) elements *= n->tail[i] = r->shape[i];
  n->elements = elements;
  nxi_copy_few(n->tail + r->rank, r->attrs, r->n_attrs);
  if (r->op == NXG_custom) nxi_custom_ref(r->attrs);
  if (nxi_node_controls(n)) nxi_node_bodies(c, n, true);
  return n;
}

/* The node itself, or an equal one instead of it. flags: those of its operands together. */
static inline nxi_node *intern_one(nx_context *c, nxi_node *n, uint8_t flags, bool alone) {
  uint8_t listed = 0;
  if (!alone && !(flags & NXI_NODE_EXPOSED)) {
    nxi_node *equal;
    if (!nxi_table_add(c, n, &equal)) {
      nxi_node_unref(c, n);
      return NULL;
    }
    if (equal) {
      equal->refs++;
      nxi_node_discard(c, n);
      return equal;
    }
    listed = NXI_NODE_LISTED;
  }
  atomic_store_explicit(&n->flags, (flags & NXI_NODE_TRACED) | listed, memory_order_relaxed);
  n->id = ++c->next_id;
  nxi_node_sign(n);
  return n;
}

static nxi_node *intern(nx_context *c, nxi_node *n, bool alone) {
  nxi_node **args = nxi_node_args(n);
  uint8_t flags = n->op == NXI_OP_CELL || n->op == NXI_OP_PLACEHOLDER ? NXI_NODE_TRACED : 0;
  for (uint32_t i = 0; i < n->n_args; i++)
    flags |= atomic_load_explicit(&args[i]->flags, memory_order_relaxed);
  return intern_one(c, n, flags, alone);
}

nxi_node *nxi_record_node(const nxi_recording *r, bool alone) {
  NXI_HELD(&r->context->record_lock);
  nx_context *c = r->context;
  nxi_node *n = node_create(c, r, r->n_operands);
  if (!n) return NULL;
  nxi_node **args = nxi_node_args(n);
  for (uint32_t i = 0; i < r->n_operands; i++) {
    args[i] = nxi_operand_node(c, &r->operands[i]);
    if (!args[i]) {
      nxi_node_unref(c, n);
      return NULL;
    }
    n->n_args = i + 1; /* what is there is what teardown drops */
  }
  return intern(c, n, alone);
}

nxi_node *nxi_record_nodes(const nxi_recording *r, nxi_node *const *operands, uint32_t n,
                           bool alone) {
  NXI_HELD(&r->context->record_lock);
  nxi_node *node = node_create(r->context, r, n);
  if (!node) {
    for (uint32_t i = 0; i < n; i++) nxi_node_unref(r->context, operands[i]);
    return NULL;
  }
  node->n_args = n;
  memcpy(nxi_node_args(node), operands, n * sizeof(nxi_node *));
  return intern(r->context, node, alone);
}

nxi_node *nxi_record_unary(const nxi_recording *r, nxi_node *operand) {
  NXI_HELD(&r->context->record_lock);
  return nxi_record_nodes(r, &operand, 1, false);
}
nxi_node *nxi_record_unary_alone(const nxi_recording *r, nxi_node *operand) {
  NXI_HELD(&r->context->record_lock);
  return nxi_record_nodes(r, &operand, 1, true);
}

nxi_node *nxi_record_binary(const nxi_recording *r, nxi_node *a, nxi_node *b, bool alone) {
  NXI_HELD(&r->context->record_lock);
  nxi_node *operands[2] = {a, b};
  return nxi_record_nodes(r, operands, 2, alone);
}

nxi_node *nxi_node_view(nx_context *c, nxi_node *value, int32_t rank, const int64_t *shape,
                        const int64_t *strides, int64_t offset) {
  NXI_HELD(&c->record_lock);
  int64_t attrs[1 + NXG_MAX_RANK];
  bool empty = false;
  attrs[0] = offset;
  for (int32_t i = 0; i < rank; i++) { /* equal views, equal keys */
    attrs[1 + i] = shape[i] == 1 ? 0 : strides[i];
    empty |= shape[i] == 0;
  }
  if (empty) { /* an operand that was broadcast to no elements: the form that movement gives */
    attrs[0] = 0;
    nxg_contiguous_strides(rank, shape, attrs + 1);
  }
  nxi_recording r = {.context = c,
                     .op = NXG_view,
                     .dtype = value->dtype,
                     .device = value->device,
                     .rank = rank,
                     .shape = shape,
                     .attrs = attrs,
                     .n_attrs = 1 + (uint32_t)rank};
  return nxi_record_unary(&r, value);
}

/* Whether the operand is its tensor, and that the whole of a value that it has the shape of. The
 * usual case, in few steps. */
static inline bool is_whole(const nxi_operand *o, nxi_node *value) {
  if (!o->tensor->whole || o->strides != nxi_strides(o->tensor) || o->rank != value->rank)
    return false;
  const int64_t *shape = nxi_node_shape(value);
  for (int32_t i = 0; i < o->rank; i++)
    if (o->shape[i] != shape[i]) return false;
  return true;
}

static bool is_identity(const nxi_operand *o, nxi_node *value) {
  if (o->rank != value->rank || o->offset) return false;
  const int64_t *shape = nxi_node_shape(value);
  int64_t stride = 1;
  for (int32_t i = o->rank; i-- > 0;) {
    if (o->shape[i] != shape[i] || (o->strides[i] != stride && shape[i] > 1)) return false;
    stride *= shape[i];
  }
  return true;
}

nxi_node *nxi_operand_node(nx_context *c, const nxi_operand *o) {
  NXI_HELD(&c->record_lock);
  nxi_storage *s = o->tensor->storage;
  nxi_node *value = s->value;
  value->refs++;
  if (atomic_load_explicit(&c->capturing, memory_order_relaxed)) {
    value = nxi_capture_read(c, s, value);
    if (!value) return NULL;
  }
  if (is_identity(o, value)) return value;
  return nxi_node_view(c, value, o->rank, o->shape, o->strides, o->offset);
}

/* ---- devices of operands. A rank-0 `full` may be an operand on any device: there it is made
 * again. */

static bool is_constant(const nxi_node *n) {
  return n->op == NXG_full && n->rank == 0 && (n->state == NXI_PENDING || n->state == NXI_REALIZED);
}

nxi_node *nxi_operand_on(nx_context *c, const nxi_operand *o, int32_t device) {
  NXI_HELD(&c->record_lock);
  nxi_node *value = o->tensor->storage->value;
  nxi_recording r = {.context = c, .dtype = value->dtype, .device = device};
  if (value->device == device) return nxi_operand_node(c, o);
  if (!is_constant(value) || atomic_load_explicit(&c->capturing, memory_order_relaxed)) {
    r.op = NXI_OP_TRANSFER;
    r.rank = o->rank;
    r.shape = o->shape;
    value = nxi_operand_node(c, o);
    return value ? nxi_record_unary(&r, value) : NULL;
  }
  r.op = NXG_full;
  r.shape = nxi_node_shape(value);
  r.attrs = nxi_node_attrs(value);
  r.n_attrs = value->n_attrs;
  value = nxi_record_node(&r, false);
  if (!value || is_identity(o, value)) return value;
  return nxi_node_view(c, value, o->rank, o->shape, o->strides, o->offset);
}

int32_t nxi_common_device(const char *op, nx_tensor *const *t, uint32_t n, nxi_diag *d) {
  int32_t device = t[0]->storage->device;
  bool same = true;
  for (uint32_t i = 1; i < n; i++) same &= t[i]->storage->device == device;
  if (same) return device;
  bool found = false; /* the device of the first operand that is no scalar constant */
  nxi_record_lock(t[0]->context);
  for (uint32_t i = 0; i < n; i++) {
    nxi_storage *s = t[i]->storage;
    if (t[i]->rank == 0 && is_constant(s->value)) continue;
    if (found && s->device != device) {
      nxi_record_unlock(t[0]->context);
      nxi_fail(d, NX_INVALID_ARGUMENT, op,
               "%s: operand %u is on device %d, another one on device %d", op, i, s->device,
               device);
      d->operand = (int32_t)i;
      return -1;
    }
    found = true;
    device = s->device;
  }
  nxi_record_unlock(t[0]->context);
  return device;
}

/* ---- the path of all recording */

/* The node of one operand, one reference. */
static inline nxi_node *read_operand(const nxi_recording *r, const nxi_operand *o) {
  nx_context *c = r->context;
  if (!o->tensor) return nxi_number_node(c, r->number, o, r->device);
  nxi_node *value = o->tensor->storage->value;
  if (value->device == r->device && is_whole(o, value) &&
      !atomic_load_explicit(&c->capturing, memory_order_relaxed)) {
    value->refs++;
    return value;
  }
  return r->op == NXI_OP_TRANSFER ? nxi_operand_node(c, o) : nxi_operand_on(c, o, r->device);
}

/* ---- the usual case, in few steps */

/* The value that an operand is the whole of, if that is on this device, has the operand's shape,
 * and nobody writes it; or NULL. */
static inline nxi_node *whole_value(const nx_tensor *t, int32_t device) {
  const nxi_storage *s = t->storage;
  nxi_node *value = s->value;
  if (!t->whole || s->write_pins || value->device != device || value->rank != t->rank) return NULL;
  const int64_t *shape = nxi_node_shape(value);
  for (uint32_t i = 0; i < t->rank; i++)
    if (t->dims[i] != shape[i]) return NULL;
  return value;
}

/* Apart, so that the usual way saves no registers for it. */
__attribute__((noinline)) static nxi_node *new_number(nx_context *c, const nxi_number *number,
                                                      nxi_node *n) {
  nxi_operand o = {.rank = n->rank, .shape = nxi_node_shape(n)};
  return nxi_number_node(c, number, &o, n->device);
}

static inline nxi_node *alike_number(nx_context *c, const nxi_number *number, nxi_node *n) {
  const int64_t *shape = nxi_node_shape(n);
  uint32_t place = nxi_number_place(number, n->rank, shape);
  nxi_node *known = nxi_number_find(c, place, number, n->rank, shape, n->device);
  if (!known) return new_number(c, number, n);
  known->refs++;
  return known;
}

/* values: those of the operands, NULL: the number. n: how many. */
__attribute__((always_inline)) static inline nxi_node *alike_node(nx_context *c, const nxi_alike *a,
                                                                  nxi_node *const *values,
                                                                  uint32_t n) {
  const nx_tensor *like = a->like;
  uint32_t rank = like->rank, size = (uint32_t)(sizeof(nxi_node) + (rank + n) * sizeof(int64_t));
  nxi_node *node = nxi_block_take(c, size);
  if (!node) return NULL;
  const node_type type = {a->op, 0, a->dtype, like->rank, like->storage->device, 0};
  node_begin(c, node, &type, size);
  node->elements = like->elements;
  int64_t *shape = node->tail;
  nxi_copy_few(shape, like->dims, rank);
  nxi_node **args = (nxi_node **)(void *)(shape + rank);
  uint8_t flags = 0;
  for (uint32_t i = 0; i < n; i++) {
    nxi_node *value = values[i];
    if (value) value->refs++;
    else value = alike_number(c, a->number, node);
    if (!value) {
      nxi_node_unref(c, node);
      return NULL;
    }
    flags |= atomic_load_explicit(&value->flags, memory_order_relaxed);
    args[i] = value;
    node->n_args = i + 1;
  }
  return intern_one(c, node, flags, false);
}

/* record_lock. False: it is not the usual case. */
__attribute__((always_inline)) static inline bool record_alike(nx_context *c, const nxi_alike *a,
                                                               uint32_t n, nx_tensor **result) {
  int32_t device = a->like->storage->device;
  nxi_node *values[3];
  for (uint32_t i = 0; i < n; i++) {
    values[i] = a->t[i] ? whole_value(a->t[i], device) : NULL;
    if (a->t[i] && !values[i]) return false;
  }
  nxi_node *node = alike_node(c, a, values, n);
  *result = node ? nxi_tensor_like(c, node, a->like) : NULL;
  return true;
}

bool nxi_record_alike(const nxi_alike *a, nx_tensor **result) {
  nx_context *c = a->like->context;
  bool usual = false;
  nxi_record_lock(c);
  nxi_drain_some(c, 8);
  if (!atomic_load_explicit(&c->capturing, memory_order_relaxed)) /* loops of known length each */
    usual = a->n == 2   ? record_alike(c, a, 2, result)
            : a->n == 1 ? record_alike(c, a, 1, result)
                        : record_alike(c, a, 3, result);
  nxi_record_unlock(c);
  if (usual && !*result) nxi_no_memory(nxi_op_name(a->op));
  return usual;
}

static nxi_node *record_locked(const nxi_recording *r, bool *exposed) {
  nx_context *c = r->context;
  nxi_node *n = node_create(c, r, r->n_operands);
  if (!n) return NULL;
  nxi_node **args = nxi_node_args(n);
  n->n_args = 0;
  for (uint32_t i = 0; i < r->n_operands; i++) {
    const nxi_operand *o = &r->operands[i];
    args[i] = read_operand(r, o);
    if (!args[i]) {
      nxi_node_unref(c, n);
      return NULL;
    }
    n->n_args = i + 1;
    *exposed |= o->tensor && o->tensor->storage->write_pins > 0;
  }
  return intern(c, n, false);
}

nx_tensor *nxi_record(const nxi_recording *r) {
  nx_context *c = r->context;
  bool exposed = false;
  nx_tensor *result = NULL;
  nxi_record_lock(c);
  nxi_drain_some(c, 8);
  nxi_node *n = record_locked(r, &exposed);
  if (n) {
    exposed = exposed && !(atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_TRACED);
    result = nxi_tensor_of_node(c, n);
  }
  nxi_record_unlock(c);
  if (!result) return nxi_no_memory(nxi_op_name(r->op));
  if (exposed && nxi_carry_out(c, &result->storage, 1, NULL, 0) != NX_OK) {
    nx_tensor_release(result);
    return NULL;
  }
  return result;
}
