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
#include "table.h"
#include "ir/platform/lock.h"

/* ---- nodes */

typedef struct node_type {
  uint64_t type; /* nxi_node_type, and above it the number of operands */
  uint16_t called;
  uint8_t device;
  uint32_t n_attrs;
} node_type;

/* Each field for itself: a compound literal is cleared by an instruction that takes tens of cycles
 * to begin. What is not given here is the caller's. */
static inline void node_begin(nx_context *c, nxi_node *n, const node_type *type, uint32_t size) {
  n->refs = 1;
  atomic_init(&n->flags, 0);
  n->state = NXI_PENDING;
  n->device = type->device;
  n->failure = 0;
  n->op = (uint16_t)type->type; /* these and n_args are one store */
  n->dtype = (uint8_t)(type->type >> 16);
  n->rank = (uint8_t)(type->type >> 24);
  n->n_args = (uint32_t)(type->type >> 32);
  n->n_attrs = type->n_attrs;
  n->size = size;
  n->index = 0;
  n->called = type->called;
  n->epoch = n->id = 0;
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
  const node_type type = {nxi_node_type(r->op, r->dtype, (uint32_t)r->rank), r->called,
                          (uint8_t)r->device, r->n_attrs};
  node_begin(c, n, &type, (uint32_t)size);
  int64_t elements = 1;
  for (int32_t i = 0; i < r->rank; i++) elements *= n->tail[i] = r->shape[i];
  n->elements = elements;
  nxi_copy_few(n->tail + r->rank, r->attrs, r->n_attrs);
  if (r->op == NXG_custom) nxi_custom_ref(r->attrs);
  if (nxi_node_controls(n)) nxi_node_bodies(c, n, true);
  return n;
}

/* The node itself, or an equal one instead of it. */
static nxi_node *intern(nx_context *c, nxi_node *n, bool alone) {
  nxi_node **args = nxi_node_args(n);
  uint8_t flags = n->op == NXI_OP_CELL || n->op == NXI_OP_PLACEHOLDER ? NXI_NODE_TRACED : 0,
          listed = 0;
  for (uint32_t i = 0; i < n->n_args; i++)
    flags |= atomic_load_explicit(&args[i]->flags, memory_order_relaxed);
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

/* Apart, so that the usual way saves no registers for it. */
__attribute__((noinline)) static nxi_node *new_number(nx_context *c, const nxi_number *number,
                                                      const nx_tensor *like) {
  nxi_operand o = {.rank = like->rank, .shape = nxi_shape(like)};
  return nxi_number_node(c, number, &o, like->storage->device);
}

/* That of a number which the context remembers lives as long as the lock is held; *made: a new one,
 * which is a reference. */
static inline nxi_node *alike_number(nx_context *c, const nxi_number *number, const nx_tensor *like,
                                     nxi_node **made) {
  const int64_t *shape = nxi_shape(like);
  uint32_t place = nxi_number_place(number, like->rank, shape);
  nxi_node *known = nxi_number_find(c, place, number, like->rank, shape, like->storage->device);
  return known ? known : (*made = new_number(c, number, like));
}

/* In all of what follows n, how many operands there are, is known where it is inlined. Operands are
 * the whole of values on one device with the shape of `like`, which is one of them, and nobody
 * writes them. type: nxi_node_type. */
#define INLINE __attribute__((always_inline)) static inline

/* Whether that is so, their values, and the flags of these together. NULL stays for the number. */
INLINE bool find_values(const nx_tensor *like, nx_tensor *const *t, uint32_t n, nxi_node **values,
                        uint8_t *flags) {
  const uint32_t device = like->storage->device, rank = like->rank;
  for (uint32_t k = 0; k < n; k++) {
    if (!t[k]) continue;
    const nxi_storage *s = t[k]->storage;
    nxi_node *value = values[k] = s->value;
    if (!t[k]->whole || s->write_pins || value->device != device || value->rank != rank)
      return false;
    *flags |= atomic_load_explicit(&value->flags, memory_order_relaxed);
  }
  if (*flags & NXI_NODE_EXPOSED) return false;
  uint64_t differs = 0;
  for (uint32_t i = 0; i < rank; i++) {
    const uint64_t extent = (uint64_t)like->dims[i];
    for (uint32_t k = 0; k < n; k++)
      if (t[k]) differs |= (uint64_t)nxi_node_shape(values[k])[i] ^ extent;
    __asm__("" : "+r"(i)); /* as in nxi_copy_few */
  }
  return !differs;
}

/* What merges with an equal node, apart, for that is rare. */
__attribute__((noinline)) static nxi_node *find_same(nx_context *c, uint32_t set, uint32_t tag,
                                                     const nx_tensor *like, uint32_t type,
                                                     nxi_node *const *values, uint32_t n) {
  const nxi_table *t = &c->table;
  for (uint32_t i = set; i < set + NXI_SET; i++) {
    nxi_node *known = t->set_nodes[i];
    if (t->set_tags[i] != tag || nxi_node_type(known->op, known->dtype, known->rank) != type ||
        known->n_args != n || known->n_attrs || known->device != like->storage->device ||
        memcmp(nxi_node_shape(known), like->dims, like->rank * sizeof *like->dims) != 0 ||
        memcmp(nxi_node_args(known), values, n * sizeof *values) != 0)
      continue;
    known->refs++;
    return known;
  }
  return NULL;
}

/* A new node, which goes to this place of the table. Takes a reference of each operand. */
INLINE nxi_node *alike_create(nx_context *c, const nx_tensor *like, uint32_t type,
                              nxi_node *const *values, uint32_t n, uint8_t flags, uint32_t place,
                              uint32_t tag) {
  const uint32_t rank = like->rank,
                 size = (uint32_t)(sizeof(nxi_node) + (rank + n) * sizeof(int64_t));
  nxi_node *node = nxi_block_take(c, size);
  if (!node) return NULL;
  node_begin(c, node, &(node_type){type | (uint64_t)n << 32, 0, like->storage->device, 0}, size);
  node->elements = like->elements;
  nxi_copy_few(node->tail, like->dims, rank);
  nxi_node **args = (nxi_node **)(void *)(node->tail + rank);
  for (uint32_t k = 0; k < n; k++) {
    values[k]->refs++;
    args[k] = values[k];
  }
  atomic_store_explicit(&node->flags, (flags & NXI_NODE_TRACED) | NXI_NODE_LISTED,
                        memory_order_relaxed);
  node->id = ++c->next_id;
  node->hash = tag;
  nxi_table_put(&c->table, place, tag, node);
  nxi_node_sign(node);
  return node;
}

/* The node, or an equal one: one reference. NULL: it is not the usual case, or there is no memory.
 */
INLINE nxi_node *alike_node(nx_context *c, const nx_tensor *like, uint32_t type,
                            nxi_node *const *values, uint32_t n, uint8_t flags) {
  nxi_table *t = &c->table;
  uint64_t newest = values[0]->id,
           hash = nxi_hash_words(type, like->storage->device, n, like->dims, like->rank);
  for (uint32_t k = 1; k < n; k++)
    if (values[k]->id > newest) newest = values[k]->id;
  if (n == 2) hash = nxi_mix_two(hash, values[0]->id, values[1]->id);
  for (uint32_t k = 0; n != 2 && k < n; k++) hash = nxi_mix(hash, values[k]->id);
  if (!nxi_table_roomy(t)) return NULL;
  const uint32_t tag = nxi_hash_tag(hash), set = nxi_table_set(t, newest);
  if (nxi_table_has_tag(t->set_tags + set, tag)) {
    nxi_node *const all[3] = {values[0], n > 1 ? values[1] : NULL, n > 2 ? values[2] : NULL};
    nxi_node *same = find_same(c, set, tag, like, type, all, n);
    if (same) return same;
  }
  const int32_t place = nxi_table_free_place(t, set);
  if (place < 0) return NULL;
  return alike_create(c, like, type, values, n, flags, (uint32_t)place, tag);
}

/* t: of the operands, NULL: the number. */
INLINE nx_tensor *record_alike(nx_tensor *like, uint32_t op_and_dtype, nx_tensor *const *t,
                               uint32_t n, const nxi_number *number) {
  nx_context *c = like->context;
  nx_tensor *result = NULL;
  nxi_node *values[3];
  uint8_t flags = 0;
  nxi_record_lock(c);
  nxi_drain_some(c, 8);
  if (!atomic_load_explicit(&c->capturing, memory_order_relaxed) &&
      find_values(like, t, n, values, &flags)) {
    nxi_node *made = NULL, *constant = number ? alike_number(c, number, like, &made) : NULL,
             *node = NULL;
    bool all = true;
    for (uint32_t k = 0; k < n; k++)
      if (!t[k]) all = (values[k] = constant) != NULL;
    if (all)
      node = alike_node(c, like, op_and_dtype | (uint32_t)like->rank << 24, values, n, flags);
    if (number && made) nxi_node_unref(c, made);
    if (node) result = nxi_tensor_like(c, node, like);
  }
  nxi_record_unlock(c);
  return result;
}

nx_tensor *nxi_record_alike_one(uint32_t op_and_dtype, nx_tensor *x) {
  return record_alike(x, op_and_dtype, &x, 1, NULL);
}
nx_tensor *nxi_record_alike_two(uint32_t op_and_dtype, nx_tensor *x, nx_tensor *y) {
  nx_tensor *t[2] = {x, y};
  return record_alike(x, op_and_dtype, t, 2, NULL);
}
nx_tensor *nxi_record_alike_three(uint32_t op_and_dtype, nx_tensor *x, nx_tensor *y, nx_tensor *z) {
  nx_tensor *t[3] = {x, y, z};
  return record_alike(x, op_and_dtype, t, 3, NULL);
}
/* A function for each place of the number: in one for both the operands would be in an array that
 * is written word by word and then read as one vector, which waits for the stores. */
__attribute__((noinline)) static nx_tensor *number_first(uint32_t op_and_dtype, nx_tensor *x,
                                                         const nxi_number *number) {
  nx_tensor *t[2] = {NULL, x};
  return record_alike(x, op_and_dtype, t, 2, number);
}
__attribute__((noinline)) static nx_tensor *number_second(uint32_t op_and_dtype, nx_tensor *x,
                                                          const nxi_number *number) {
  nx_tensor *t[2] = {x, NULL};
  return record_alike(x, op_and_dtype, t, 2, number);
}
nx_tensor *nxi_record_alike_number(uint32_t op_and_dtype, nx_tensor *x, const nxi_number *number,
                                   uint32_t at) {
  return at ? number_second(op_and_dtype, x, number) : number_first(op_and_dtype, x, number);
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
