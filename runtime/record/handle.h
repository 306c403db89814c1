/* SPDX-License-Identifier: ISC */
/* What is behind the public handles, and who may touch it when.
 *
 * A node is a recorded value: an operation with its operands, immutable, or memory once it is
 * realised. A storage is a cell that names its current node. A tensor is a view of a storage. A
 * buffer is memory.
 *
 * Two locks a context, always in this order:
 *  run_lock     what is acquired, running, realised: node state, buffer and operands change under
 *               both locks and may be read under either; buffers' readers and writers.
 *  record_lock  everything else: the table of nodes, reference counts of nodes and storages,
 *               storages' values, pins, lists, the object pool. Held for short stretches only.
 * No lock is held while anything compiles, runs, allocates tensor memory or calls back. References
 * of tensors, mappings, functions, contexts and buffers are atomic; the release that drops the last
 * one of a handle pushes it on a stack that any later call drains, a bounded piece at a time. */
#ifndef NXI_HANDLE_H
#define NXI_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/dtype.h"
#include "ir/library/library.h"
#include "ir/op.h"
#include "nx/nx.h"
#include "runtime/platform/fork.h"
#include "runtime/platform/lock.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/threads.h"
#include "watch.h"

/* ---- operations that exist only in the recording; extraction turns them into graph operations */
enum {
  NXI_OP_EMPTY = NXG_OP_COUNT, /* contents unspecified (zeros, when read) */
  NXI_OP_PLACEHOLDER,
  NXI_OP_LEAF,     /* memory from the start: imports, results of calls, private copies */
  NXI_OP_CELL,     /* operand 0, read through storage attrs[0] while a function is captured */
  NXI_OP_TRANSFER, /* operand 0, on another device */
/* What the caller called, where it is recorded as others: names alone, of no node. */
#define COMPOSITE_OP(name, how) NXI_COMPOSITE_##name,
#include "composite_ops.def"
#undef COMPOSITE_OP
};

typedef enum nxi_state { NXI_PENDING, NXI_RUNNING, NXI_REALIZED, NXI_FAILED } nxi_state;

/* Flags of a node. */
enum {
  NXI_NODE_LISTED = 1,  /* in the table */
  NXI_NODE_HOLD = 2,    /* store it when a realise meets it */
  NXI_NODE_TRACED = 4,  /* depends on a placeholder or on a captured cell */
  NXI_NODE_EXPOSED = 8, /* host code may write it: operations that read it are not merged */
  NXI_NODE_FOREIGN = 16 /* its memory is the host's: values are copied, never shared */
};

/* Flags of a storage. */
enum {
  NXI_STORAGE_READ_ONLY = 1,
  NXI_STORAGE_SHARED = 2, /* a shared import: pinned and exposed until sharing ends */
  NXI_STORAGE_PLACEHOLDER = 4,
  NXI_STORAGE_HOLD = 8,
  NXI_STORAGE_ASSIGNED = 32 /* in some session, once */
};

typedef struct nxi_node nxi_node;
typedef struct nxi_storage nxi_storage;
typedef struct nxi_buffer nxi_buffer;
typedef struct nxi_run nxi_run;
typedef struct nxi_session nxi_session;
typedef struct nxi_plan nxi_plan;

struct nxi_buffer {
  _Atomic uint32_t refs;
  bool immutable;     /* never written */
  bool file;          /* pages of a file, which shows what is written there */
  _Atomic bool given; /* imported memory that host code has given to the library (sharing.c) */
  /* how often host code knows this memory: as an import, or as pinned; record_lock */
  uint32_t shown;
  nxi_buffer *next_shown, *previous_shown; /* of the context's list of those that it knows */
  bool writing;                            /* a run is about to write it; run_lock */
  uint32_t reading;                        /* runs and copies that read it now; run_lock */
  void *data;
  int64_t bytes;
  nxi_allocator *allocator; /* NULL: foreign memory */
  /* residency.c: memory on a GPU, and which of the two places has not the newest contents. */
  struct nxi_gpu *gpu;
  uint64_t on_gpu;
  uint64_t after,
      used; /* marks (cuda/gpu.h) after which the contents are there, and nothing uses them */
  bool host_stale, gpu_stale;
  uint32_t gpu_users;         /* runs that have its address on a GPU */
  struct nxi_former *formers; /* its places on other GPUs, that such runs may still read */
  uint32_t moving; /* who copies it from one to the other has it alone: the era; 0: nobody */
  void (*release)(void *user);
  void *user;
  nxi_storage *pinner; /* the one storage whose mappings show this memory; record_lock */
  nxi_node *value;     /* the node whose value it is; both locks */
  nxi_buffer *next;    /* lists of the dead and of callbacks */
  uint64_t epoch;      /* extraction: alias is valid if equal to the context's */
  int32_t alias;
};

/* A tag, shared by what was recorded under it. Counted under no lock: atomic. */
typedef struct nxi_tag {
  _Atomic uint32_t refs;
  bool has_text;
  uint64_t number;
  char text[];
} nxi_tag;

struct nxi_node {
  uint32_t refs; /* record_lock */
  uint16_t op;   /* nxg_op or one of the above */
  uint8_t dtype, rank;
  _Atomic uint8_t flags; /* changed under record_lock */
  uint8_t state, device;
  uint8_t failure; /* nx_status of a node that failed for good */
  uint32_t n_args, n_attrs;
  uint32_t size;   /* bytes, for the pool */
  uint32_t index;  /* extraction: valid if epoch is the context's */
  uint16_t called; /* the operation of the caller's that it is a part of; 0: it is that itself */
  uint64_t epoch;
  uint64_t id;
  uint64_t hash;
  uint32_t named;   /* storages with references whose value it is */
  uint32_t lineage; /* of the storage that it was assigned to; 0: of none. pending.c */
  int64_t elements;
  nxi_buffer *buffer;
  union {
    nxi_storage *home; /* pinned storage whose memory must show this value; weak */
    nxi_node *next;    /* list of garbage, without references */
  };
  nxi_tag *tag;   /* or NULL; one reference */
  int64_t tail[]; /* shape[rank], attrs[n_attrs], then n_args pointers */
};

static inline int64_t *nxi_node_shape(nxi_node *n) { return n->tail; }
static inline int64_t *nxi_node_attrs(nxi_node *n) { return n->tail + n->rank; }
static inline nxi_node **nxi_node_args(nxi_node *n) {
  return (nxi_node **)(void *)(n->tail + n->rank + n->n_attrs);
}

struct nxi_storage {
  uint32_t refs; /* record_lock, like everything that changes here */
  uint8_t dtype, device;
  _Atomic uint8_t flags; /* changed under record_lock; some never change and are read without */
  bool listed;           /* is in the list of pending storages */
  uint64_t id;
  nx_context *context;
  nxi_node *value;
  /* kept, by one reference, only to take an assign back; NULL: none. Not a reference */
  nxi_node *former;
  int64_t elements;
  uint32_t pins, write_pins;    /* mappings; a shared import counts as one of each */
  nxi_buffer *pinned;           /* while pins > 0: the memory they show, one reference */
  nxi_session *session;         /* of a placeholder; weak */
  nxi_storage *next, *previous; /* of the list of pending storages; `next` also of garbage */
};

struct nx_tensor {
  nxi_head head;
  nx_context *context;
  nxi_storage *storage;
  _Atomic(nx_tensor *) *_Atomic slot; /* in its scope, or NULL */
  uint8_t rank;
  bool contiguous; /* strides are canonical */
  bool whole;      /* contiguous, offset 0, every element of the storage */
  bool watched;    /* by watch.c; not of the pool */
  int64_t offset, elements;
  int64_t dims[]; /* shape[rank], strides[rank] */
};

static inline const int64_t *nxi_shape(const nx_tensor *t) { return t->dims; }
static inline const int64_t *nxi_strides(const nx_tensor *t) { return t->dims + t->rank; }

struct nx_mapping {
  nxi_head head;
  nx_context *context;
  nxi_storage *storage; /* one reference */
  nxi_buffer *buffer;   /* one reference */
  uint32_t access;
  bool pins; /* counted in the storage; not of an immutable import */
  bool watched;
};

/* ---- lists of dynamic size */
typedef struct nxi_list {
  void **items;
  uint32_t n, capacity;
} nxi_list;
static inline bool nxi_list_add(nxi_list *l, void *item) {
  if (!nxi_grow(&l->items, &l->capacity, l->n + 1, sizeof *l->items)) return false;
  l->items[l->n++] = item;
  return true;
}

/* A deferred value (nx_due), and the storage that it was recorded for, NULL if that has moved on: a
 * reference of each. */
typedef struct nxi_deferred {
  nxi_storage *storage;
  nxi_node *node;
} nxi_deferred;

/* Blocks of the object pool: sizes in steps of 32 bytes; larger ones come from nxi_malloc. */
enum { NXI_POOL_STEP = 32, NXI_POOL_CLASSES = 17 };

/* The table of nodes by hash, in two parts; both hold 32 bits of each hash (0: free), so that a
 * look-up that finds nothing, the usual one, touches no node.
 *
 * What is recorded together is looked up together: an operation lives in the set that its newest
 * operand's number says, so recording walks through the table instead of jumping in it. Operations
 * without operands, and those for which the set has no room, are in an open-addressed table by
 * hash. (If a place in a set becomes free after an equal operation had to go elsewhere, the two are
 * not merged; nothing else depends on it.) */
enum { NXI_SET = 8 };
typedef struct nxi_table {
  uint32_t *tags;
  nxi_node **nodes;
  uint32_t mask; /* capacity - 1 */
  uint32_t used;
  uint32_t *set_tags; /* NXI_SET a set */
  nxi_node **set_nodes;
  uint32_t set_mask; /* number of sets - 1 */
  uint32_t set_used; /* operations in sets */
} nxi_table;

/* From NXI_DEVICE_CUDA on: the first GPU, the second, ... The first has a number whether it is
 * there or not. */
enum { NXI_DEVICE_CPU = 0, NXI_DEVICE_INTERP = 1, NXI_DEVICE_CUDA = 2, NXI_MOST_GPUS = 16 };

struct nx_context {
  _Atomic uint32_t refs; /* the user's, and one for each tensor, mapping, function and action */
  uint32_t flags;
  int32_t threads;
  nxi_lock run_lock;
  pthread_cond_t changed; /* with run_lock: a run or a compile ended */
  nxi_run *runs;          /* that have acquired something; run_lock */
  uint64_t epoch;         /* run_lock */
  struct nxi_plan_cache *plans;
  struct nxi_executor *executor;
  struct nxi_devices *devices;  /* GPUs that were asked for; device.c */
  nxi_run *spare_run;           /* a workspace for the next run; run_lock */
  _Atomic uintptr_t run_holder; /* the thread that has run_lock; 0: none, or one that only waits */
  nxi_buffer *dead_in_run;      /* freed when run_lock is let go; run_lock */

  nxi_lock record_lock;
  nxi_table table;
  uint64_t *scratch; /* key of the node being recorded */
  uint32_t scratch_capacity;
  uint64_t next_id;
  void *free_blocks[NXI_POOL_CLASSES];
  struct nxi_slab *slabs;
  char *slab_next;
  size_t slab_left;
  nxi_buffer *shown;    /* memory that host code knows */
  nxi_storage *pending; /* the list of storages whose value may be pending; pending.c */
  nxi_node *garbage;    /* nodes without references, operands not yet dropped */
  nxi_storage *garbage_storages;
  nxi_head *dying;          /* handles taken from the stack below */
  nxi_buffer *dead_buffers; /* freed when the lock is let go */
  nxi_session *sessions;
  _Atomic uint32_t capturing; /* sessions */
  uint64_t live_nodes, live_storages;
  /* pending.c: changed under record_lock, read without */
  _Atomic uint64_t pending_nodes, record_bytes, pinned_bytes;
  nxi_deferred *deferred; /* deferred work: what is due */
  uint32_t deferred_used, deferred_capacity;
  _Atomic uint32_t deferred_count;

  _Atomic(nxi_head *) dead;        /* handles whose last reference is gone */
  _Atomic(nxi_buffer *) callbacks; /* foreign buffers whose release is to be called */
  nxi_allocator *allocator;
  _Atomic uint64_t peak_bytes; /* before the allocator's peak was last started anew */
  nxi_pool *pool;
  struct nxi_offload *offload;
  nxi_fork_entry fork_entry;
  bool fork_registered, watched;
};

/* ---- error.c */
/* Puts a failure into this thread's slot (unless it is full), with the thread's tag; returns
 * d->status. */
nx_status nxi_error_report(const nxi_diag *d);
nx_status nxi_error_status(void); /* of the thread; NX_OK if none waits to be taken */
/* The same with the tag of the operation that failed, and the number of the requested tensor. */
nx_status nxi_error_report_tagged(const nxi_diag *d, uint64_t tag, const char *text,
                                  int32_t output);
/* A null operand: fills an empty slot only. Always NULL. */
void *nxi_error_null(const char *op, int32_t operand);
/* Whether the first field of a struct of this type, its size, is set. NX_INVALID_ARGUMENT in d if
 * it is not: all of the struct would go unheard, or stay empty. */
nx_status nxi_size_check(const void *given, const char *type, const char *op, nxi_diag *d);
/* Copies what the caller gave of an options struct over the defaults in *to; NULL: nothing. Fails
 * as above. */
nx_status nxi_take(void *to, const void *given, size_t known, const char *type, const char *op,
                   nxi_diag *d);
/* Fills a struct that the caller sized in its first field; fields that the caller does not know are
 * left out, fields that the library does not know are left alone. NULL: nobody wants to know. Fails
 * as above, and reports it. */
nx_status nxi_fill(void *out, const void *from, size_t known, const char *type, const char *op);
/* From here to its end, this thread records what `op` is made of: nodes that are made are its
 * parts, and failures are its own. Within another operation nothing changes. Returns what the end
 * is given. */
uint16_t nxi_called_begin(uint32_t op);
void nxi_called_end(uint16_t outer);
/* Until its end nothing is called: for what is no part of the operation, a caller's callback. */
uint16_t nxi_called_pause(void);
uint16_t nxi_called(void); /* 0: each operation is recorded for itself */
/* Notes in a new node under which tag, and as a part of what, this thread records it. */
void nxi_node_sign(nxi_node *n);
/* This thread's tag, with a reference; NULL if it has none. */
nxi_tag *nxi_tag_current(void);
void nxi_tag_release(nxi_tag *t);

/* ---- composite_ops.c */
/* Of nodes too, and of the recording's own operations. Static. */
const char *nxi_op_name(uint32_t op);
/* Says a failure in the name of `op` (0: as it is), which recorded what failed as a part of it. */
void nxi_called_diag(nxi_diag *d, uint16_t op);

/* ---- objects.c: locks, pool, teardown */
static inline void nxi_run_lock(nx_context *c) {
  NXI_NOT_HELD(&c->record_lock); /* the order of the two */
  nxi_lock_take(&c->run_lock);
  atomic_store_explicit(&c->run_holder, (uintptr_t)pthread_self(), memory_order_relaxed);
}
static inline void nxi_record_lock(nx_context *c) { nxi_lock_take(&c->record_lock); }
/* Both also free the buffers that died under the lock. What dies under both is freed when the outer
 * one, run_lock, is let go: giving memory back to the system takes long. */
void nxi_record_unlock(nx_context *c);
void nxi_run_unlock(nx_context *c);
void *nxi_block_take(nx_context *c, size_t bytes);         /* record_lock; contents arbitrary */
void nxi_block_give(nx_context *c, void *p, size_t bytes); /* record_lock */
/* Tests: blocks are allocated one by one, so that each may fail for want of memory. */
extern bool nxi_slab_each;
static inline void nxi_context_ref(nx_context *c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}
void nxi_context_unref(nx_context *c); /* no lock; may destroy the context */
/* Drops one reference of a handle; the last one puts it on the stack of the dead. No lock, does not
 * wait. */
void nxi_head_release(nx_context *c, nxi_head *h);
/* The same in two steps, for who releases many and keeps the context alive: whether this was the
 * last reference, so that there is something to bury; and the burial, which is sure to be enough
 * for eight of them. */
bool nxi_head_drop(nx_context *c, nxi_head *h);
void nxi_bury(nx_context *c);
/* Tears down at most `budget` dead objects. record_lock; the caller holds a reference of the
 * context. */
void nxi_drain(nx_context *c, uint32_t budget);
/* All of what is dead, in pieces, so that nobody waits for long. No lock. */
void nxi_drain_all(nx_context *c);
void nxi_node_unref(nx_context *c, nxi_node *n);       /* record_lock */
void nxi_node_discard(nx_context *c, nxi_node *n);     /* one that nothing refers to; record_lock */
void nxi_storage_unref(nx_context *c, nxi_storage *s); /* record_lock */
void nxi_storage_set(nx_context *c, nxi_storage *s,
                     nxi_node *value);               /* record_lock; takes the reference */
void nxi_buffer_unref(nx_context *c, nxi_buffer *b); /* record_lock */
/* Queued release callbacks; no lock; c may be NULL. collecting: in nx_context_collect, not in an
 * action. */
void nxi_run_callbacks(nx_context *c, bool collecting);

static inline void nxi_buffer_ref(nxi_buffer *b) {
  atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

/* ---- sharing.c: memory that host code knows; record_lock */
void nxi_buffer_show(nx_context *c, nxi_buffer *b);
void nxi_buffer_hide(nx_context *c, nxi_buffer *b);
/* Host code may write it, or may have imported it twice. */
static inline bool nxi_buffer_is_hosts(const nxi_buffer *b) {
  return b->pinner ||
         (!b->allocator && !b->immutable && !atomic_load_explicit(&b->given, memory_order_relaxed));
}
/* A storage without pins keeps this memory in its place from here on, for one that shows it; and
 * takes one pin back. */
void nxi_storage_pin(nx_context *c, nxi_storage *s, nxi_buffer *b, bool write);
void nxi_storage_unpin(nx_context *c, nxi_storage *s, bool write);

/* ---- storage.c: making what objects.c tears down */
/* One that has no memory yet. NULL: there is none for it. */
nxi_buffer *nxi_buffer_without_memory(nx_context *c, int64_t bytes);
nx_status nxi_buffer_create(nx_context *c, int64_t bytes, nxi_buffer **out,
                            nxi_diag *d); /* no lock */
/* The rest with record_lock; NULL without memory. A reference to b, value or s goes to the result,
 * also on failure. */
nxi_node *nxi_leaf_create(nx_context *c, uint16_t op, int32_t device, nx_dtype dtype, int32_t rank,
                          const int64_t *shape, nxi_buffer *b);
nxi_storage *nxi_storage_create(nx_context *c, nxi_node *value);
nx_tensor *nxi_tensor_create(nx_context *c, nxi_storage *s, int32_t rank, const int64_t *shape,
                             const int64_t *strides, int64_t offset);
/* A tensor that is the whole of a new storage of this value. */
nx_tensor *nxi_tensor_of_node(nx_context *c, nxi_node *value);

/* ---- pending.c: what is recorded and not computed; record_lock */
/* The counters change under record_lock alone. */
static inline void nxi_count(_Atomic uint64_t *counter, uint64_t n) {
  uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
  atomic_store_explicit(counter, before + n, memory_order_relaxed);
}
/* A node becomes pending, or is so no more. */
static inline void nxi_pending_begin(nx_context *c, const nxi_node *n) {
  nxi_count(&c->pending_nodes, 1);
  nxi_count(&c->record_bytes, n->size);
}
static inline void nxi_pending_end(nx_context *c, const nxi_node *n) {
  nxi_count(&c->pending_nodes, UINT64_MAX);
  nxi_count(&c->record_bytes, -(uint64_t)n->size);
}
/* Counts, or counts no more, the memory of a node that no storage names. Whoever changes what that
 * depends on (its buffer, `named`, whether it has references) takes it out before and puts it back
 * after. */
static inline bool nxi_pins(const nxi_node *n) {
  return n->buffer && n->buffer->allocator && n->refs && !n->named;
}
static inline void nxi_pinned_in(nx_context *c, const nxi_node *n) {
  if (nxi_pins(n)) nxi_count(&c->pinned_bytes, (uint64_t)n->buffer->bytes);
}
static inline void nxi_pinned_out(nx_context *c, const nxi_node *n) {
  if (nxi_pins(n)) nxi_count(&c->pinned_bytes, -(uint64_t)n->buffer->bytes);
}
/* Puts a storage into the list of pending ones if its value n is to be computed; takes one out that
 * is there. */
void nxi_storage_list(nxi_storage *s, const nxi_node *n);
void nxi_storage_unlist_listed(nxi_storage *s);
static inline void nxi_storage_unlist(nxi_storage *s) {
  if (s->listed) nxi_storage_unlist_listed(s);
}
/* A storage names n from here on; and no more. A node that a storage names is not counted as
 * pinned, so only the first and the last name change the counter. */
static inline void nxi_storage_name(nxi_storage *s, nxi_node *n) {
  nxi_pinned_out(s->context, n);
  n->named++;
  if (!s->listed) nxi_storage_list(s, n);
}
static inline void nxi_storage_unname(nxi_storage *s, nxi_node *n) {
  n->named--;
  nxi_pinned_in(s->context, n);
}
/* Live tensors that can be realised and that no recorded operation consumes: their node has no more
 * references than there are storages of it. A reference of each. False without memory; then some
 * are there. */
bool nxi_pending_collect(nx_context *c, nxi_list *nodes);

/* ---- import.c */
typedef struct nxi_import_source {
  const char *op;      /* whose failures are reported */
  nx_import_desc desc; /* but for its rank, shape, strides and offset: those are the view's */
  nxg_view view;
  int64_t elements; /* of the storage */
  bool pack;        /* a copy holds the view's elements alone, in C order, where that is less */
  bool owned;       /* mode NX_IMPORT_COPY, without a copy: nobody else will ever use the memory */
  bool read_only;   /* not to be assigned, a copy neither */
  bool file;        /* the memory is pages of a file that shows what is written */
} nxi_import_source;
/* The tensor of a description that has been checked; a base that is copied need not be aligned.
 * Reports failures, which leave *out and the release callback alone. No lock. */
nx_status nxi_import(nx_context *c, nxi_import_source *source, nx_tensor **out);

/* ---- record.c */
typedef struct nxi_operand {
  nx_tensor *tensor;
  int32_t rank;
  int64_t offset;
  const int64_t *shape, *strides; /* the view of the tensor's storage that is read */
} nxi_operand;
static inline nxi_operand nxi_operand_of(nx_tensor *t) {
  return (nxi_operand){t, t->rank, t->offset, nxi_shape(t), nxi_strides(t)};
}
typedef struct nxi_recording {
  nx_context *context;
  uint16_t op;
  uint8_t dtype;
  int32_t device, rank;
  const int64_t *shape, *attrs;
  uint32_t n_attrs, n_operands;
  const nxi_operand *operands;
  uint16_t called; /* 0: what the thread says */
} nxi_recording;
/* Records an operation that has been checked. NULL and this thread's error without memory, or if
 * storage it reads is exposed and carrying it out failed. */
nx_tensor *nxi_record(const nxi_recording *r);
/* Infers the type and records an operation on operands that are views already; a failure is
 * reported. ops_move.c */
nx_tensor *nxi_record_inferred(nxg_op op, const nxi_operand *o, uint32_t n, const int64_t *attrs,
                               uint32_t n_attrs, nxi_diag *d);
/* The same of two operands of which all but the last `keep` dimensions broadcast. */
nx_tensor *nxi_record_leading(nxg_op op, nx_tensor *a, nx_tensor *b, int32_t keep,
                              const int64_t *attrs, uint32_t n_attrs);
/* The node of what a recording says, merged with an equal one; one reference. NULL without memory.
 * record_lock. alone: never merged. */
nxi_node *nxi_record_node(const nxi_recording *r, bool alone);
/* The same with a node for its only operand; takes that reference. */
nxi_node *nxi_record_unary(const nxi_recording *r, nxi_node *operand);
nxi_node *nxi_record_unary_alone(const nxi_recording *r, nxi_node *operand); /* never merged */
nxi_node *nxi_record_binary(const nxi_recording *r, nxi_node *a, nxi_node *b, bool alone);
/* The node an operand reads, one reference. record_lock. */
nxi_node *nxi_operand_node(nx_context *c, const nxi_operand *o);
/* The same on this device; nxi_common_device has agreed to it. */
nxi_node *nxi_operand_on(nx_context *c, const nxi_operand *o, int32_t device);
/* What an operand reads, fit to be the value of another storage (assign.c). */
nxi_node *nxi_operand_value(nx_context *c, const nxi_operand *o);
/* assign.c. What an assign writes: every element of the storage (whole), `source` being what is
 * read, in the storage's order; or, with n_attrs attributes of an update, some of them, `source`
 * having the update's shape. */
typedef struct nxi_assign_form {
  bool whole;
  nxg_view source;
  uint32_t n_attrs;
  int64_t attrs[2 + 2 * NXG_MAX_RANK];
} nxi_assign_form;
/* src has the shape of dst; source is a view of what src is a view of. */
void nxi_assign_form_of(const nx_tensor *dst, const nxg_view *src, nxi_assign_form *out);
/* An assign that was recorded and may have to be taken back. */
typedef struct nxi_assigned {
  nxi_storage *storage; /* NULL: nothing was changed. Borrowed: the caller has a handle */
  uint64_t node;        /* the number of the value that it got */
  nxi_node *before; /* the value that it had; one reference. NULL: the new one is an update of it */
} nxi_assigned;
/* Records an assign that has been checked; record_lock. *exposed: it has to be carried out after
 * the lock is let go. */
nx_status nxi_assign_locked(nx_context *c, nx_tensor *dst, const nxi_operand *src, bool *exposed,
                            nxi_assigned *a, nxi_diag *d);
nx_status nxi_assign(nx_tensor *dst, nx_tensor *src, nxi_assigned *a); /* nx_assign */
/* Takes assigns back, the last one first; record_lock, since before the first of them. */
void nxi_assigns_back_locked(nx_context *c, nxi_assigned *a, uint32_t n);
/* The same for assigns whose values could not be computed; no lock. They stay if somebody else has
 * computed one of them meanwhile, or has built on it. True: others have computed them all, and
 * nothing has failed. */
bool nxi_assigns_back(nx_context *c, nxi_assigned *a, uint32_t n);
void nxi_assigns_done(nx_context *c, nxi_assigned *a, uint32_t n); /* lets go. No lock */
/* Nodes as operands; takes their references. */
nxi_node *nxi_record_nodes(const nxi_recording *r, nxi_node *const *operands, uint32_t n,
                           bool alone);
/* A view of a node's linear storage; takes the reference, gives one. NULL without memory.
 * record_lock. */
nxi_node *nxi_node_view(nx_context *c, nxi_node *value, int32_t rank, const int64_t *shape,
                        const int64_t *strides, int64_t offset);

/* ---- table.c; record_lock */
/* Adds n, or finds a node that equals it. False without memory. */
bool nxi_table_add(nx_context *c, nxi_node *n, nxi_node **equal);
void nxi_table_remove(nx_context *c, nxi_node *n); /* if it is listed */
/* A listed node that is result `result` of the call of which n is one; NULL if there is none. */
nxi_node *nxi_table_result(nx_context *c, nxi_node *n, const nxg_call *call, uint32_t result);
void nxi_table_free(nxi_table *t);

/* ---- record.c, more of it */
/* The device of a result, or -1 and a failure. Only a rank-0 `full` may be elsewhere. No lock. */
int32_t nxi_common_device(const char *op, nx_tensor *const *t, uint32_t n, nxi_diag *d);
/* deferred.c. Lets go of what is done or of no use; adds the rest, with references. record_lock. */
void nxi_deferred_settle(nx_context *c);
bool nxi_deferred_collect(nx_context *c, nxi_list *nodes); /* false without memory */
/* After recording on exposed storage, no lock: carries out what these storages hold now, in one
 * run, or defers it. If it fails, the assigns are taken back. */
nx_status nxi_carry_out(nx_context *c, nxi_storage *const *storages, uint32_t n, nxi_assigned *a,
                        uint32_t n_assigned);

/* ---- the operations' files share these */
nx_tensor *nxi_fail_null(const nxi_diag *d); /* reports; NULL */
void *nxi_no_memory(const char *op);         /* reports that memory is exhausted; NULL */
/* NULL operands and operands of different contexts; false: reported. */
bool nxi_check_operands(const char *op, nx_tensor *const *t, uint32_t n);
/* bits: of a complex dtype those of both parts. */
bool nxi_scalar_bits(const char *op, const nx_scalar *v, nx_dtype dtype, uint64_t bits[2],
                     nxi_diag *d);
/* Or NX_INVALID_ARGUMENT. */
bool nxi_dtype_exists(const char *op, nx_dtype dtype, nxi_diag *d);
bool nxi_device_usable(nx_context *c, const char *op, nx_device device, nxi_diag *d); /* device.c */
/* Another view of t's storage. */
nx_tensor *nxi_view_tensor(const char *op, nx_tensor *t, const nxg_view *v);
void nxi_view_of(const nx_tensor *t, nxg_view *v);

/* The axis counted from 0; false: reported in d. ops_move.c */
bool nxi_one_axis(const char *op, const nx_tensor *x, int32_t axis, int64_t *out, nxi_diag *d);

/* ---- capture.c: a session lasts from a thread's first placeholder until its function is created,
 * or until its placeholders are gone. All with record_lock. */
typedef struct nxi_captured_assign {
  nxi_storage *storage; /* one reference, but for placeholders of this session */
  bool held;            /* that reference */
  nxi_node *value;      /* what the session's thread reads; one reference */
  uint64_t id;          /* of the time when it was first assigned */
} nxi_captured_assign;
struct nxi_session {
  nxi_session *next;
  uint64_t thread;
  uint64_t start;        /* storages of lower ids existed before: they are read at each call */
  uint32_t placeholders; /* storages that are alive */
  bool ended;     /* by nx_capture_end: in no list, and empty; only its placeholders refer to it */
  nxi_list cells; /* storages that were read, one reference each */
  nxi_captured_assign *assigns;
  uint32_t n_assigns, cap_assigns;
};
/* What a captured operation reads of s instead of `value`; takes a reference, gives one. NULL
 * without memory. */
nxi_node *nxi_capture_read(nx_context *c, nxi_storage *s, nxi_node *value);
bool nxi_capture_placeholder(nx_context *c, nxi_storage *s); /* false without memory */
void nxi_capture_forget(nx_context *c, nxi_storage *s); /* s leaves its session, which may end */
/* *captured: this thread is in a session, so the assign is only noted there, for calls, and nobody
 * else sees it; the reference of value is taken. False without memory. */
bool nxi_capture_assign(nx_context *c, nxi_storage *s, nxi_node *value, bool *captured);
void nxi_captured_drop(nx_context *c, nxi_captured_assign *a);
nxi_storage *nxi_capture_cell(const nxi_session *session,
                              uint64_t id); /* a storage of `cells`, or NULL */

/* ---- scope.c */
bool nxi_scope_add(nx_tensor *t);    /* false without memory */
void nxi_scope_forget(nx_tensor *t); /* t dies */

#endif
