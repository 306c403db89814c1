/* SPDX-License-Identifier: ISC */
/* What is behind the public handles.
 *
 * A node is a recorded value: an operation with its operands, immutable, or memory once it is
 * realised. A storage is a cell that names its current node. A tensor is a view of a storage. A
 * buffer is memory. This header has their fields and says which lock guards each; context.h has the
 * two locks, objects.h what makes and releases these objects.
 *
 * What changes of a node or a storage is guarded by record_lock; a node's state, buffer and
 * operands by both locks: they change under both and may be read under either. What extraction
 * notes (epoch, index, alias) is guarded by run_lock. A buffer's place on a GPU belongs to the
 * thread that has set `moving`. All else is written before another thread sees the object, and is
 * read without a lock. */
#ifndef NXI_NODE_H
#define NXI_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ir/graph/graph.h"
#include "nx/nx.h"
#include "runtime/memory.h"
#include "watch.h"

/* Operations that exist only in the recording; extraction turns them into graph operations. */
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

/* Copies few words, such as a shape. A compiler makes vector loops of such loops otherwise, which
 * take longer to begin than shapes are long. */
static inline void nxi_copy_few(void *to, const void *from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    memcpy((char *)to + 8 * (size_t)i, (const char *)from + 8 * (size_t)i, 8);
    __asm__("" : "+r"(i));
  }
}

/* Flags of a node. */
enum {
  NXI_NODE_LISTED = 1,   /* in the table */
  NXI_NODE_HOLD = 2,     /* store it when a realise meets it */
  NXI_NODE_TRACED = 4,   /* depends on a placeholder or on a captured cell */
  NXI_NODE_EXPOSED = 8,  /* host code may write it: operations that read it are not merged */
  NXI_NODE_FOREIGN = 16, /* its memory is the host's: values are copied, never shared */
  NXI_NODE_NUMBER = 32,  /* the context remembers it as that of a number (number.c) */
  NXI_NODE_GIVEN = 64,   /* was donated: results may lie in its memory once nothing else reads it */
  NXI_NODE_KEPT = 128    /* the context keeps it for itself, and counts it nowhere (number.c) */
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
typedef struct nxi_session nxi_session;

struct nxi_buffer {
  _Atomic uint32_t refs;
  bool immutable;         /* never written */
  bool file;              /* pages of a file, which shows what is written there */
  bool small;             /* of nxi_buffer_create_small */
  _Atomic bool given;     /* imported memory that host code has given to the library (sharing.c) */
  _Atomic bool announced; /* an import that host code writes while it is mapped for writing, only */
  /* Other memory that host code knows may be in the same place, so that its writes show here. */
  _Atomic bool crossed;
  _Atomic uint32_t writers; /* mappings for writing, and imports that are written at any time */
  /* how often host code knows this memory: as an import, or as pinned; record_lock */
  uint32_t shown;
  bool unexposed;       /* and it is counted in the context's `unexposed` */
  nxi_buffer *below[2]; /* in the context's tree of those that it knows (shown.c) */
  uintptr_t furthest;
  bool writing;     /* a run is about to write it; run_lock */
  uint32_t reading; /* runs and copies that read it now; run_lock */
  void *data;
  int64_t bytes;
  nxi_allocator *allocator; /* NULL: foreign memory */
  /* residency.c: memory of a device that has its own, and which of the two places has not the
   * newest contents. */
  struct nxi_device *_Atomic device; /* NULL: none */
  uint64_t on_device;
  bool travelled;            /* it has been on a device */
  nxi_buffer *newer, *older; /* of the device's list, by when they were asked for there */
  uint64_t after,
      used; /* marks (device.h) after which the contents are there, and nothing uses them */
  bool host_stale, device_stale;
  uint32_t device_users;      /* runs that have its address there */
  struct nxi_former *formers; /* its places on other devices, that such runs may still read */
  uint32_t moving; /* who copies it from one to the other has it alone: the era; 0: nobody */
  void (*release)(void *user);
  void *user;
  nxi_storage *pinner; /* the one storage whose mappings show this memory; record_lock */
  nxi_node *value;     /* the node whose value it is; both locks */
  nxi_buffer *next;    /* lists of the dead and of callbacks */
  uint64_t epoch;      /* extraction: alias is valid if equal to the context's */
  int32_t alias;
};

/* A tag, shared by what was recorded under it. Counted under no lock: atomic. A node that failed
 * for good has one of its own, with the sentence of its failure. A tag that is a number of 63 bits
 * and no text has no memory: its pointer is twice the number, and one (error.h). */
typedef struct nxi_tag {
  _Atomic uint32_t refs;
  bool has_text;
  uint64_t number;
  const char *reason; /* behind the text; NULL: of no failure */
  char text[];
} nxi_tag;

struct nxi_node {
  uint32_t refs;         /* record_lock */
  _Atomic uint8_t flags; /* changed under record_lock */
  uint8_t state, device;
  uint8_t failure; /* nx_status of a node that failed for good */
  uint16_t op;     /* nxg_op or one of the above */
  uint8_t dtype, rank;
  uint32_t n_args, n_attrs;
  uint32_t size;   /* bytes, for the pool */
  uint32_t index;  /* extraction: valid if epoch is the context's */
  uint16_t called; /* the operation of the caller's that it is a part of; 0: it is that itself */
  uint64_t epoch;
  uint64_t id;
  uint32_t hash;  /* table.h; valid of a listed node, like the next one */
  uint32_t place; /* in the sets of the table, or NXI_NOT_IN_SET */
  uint32_t named; /* storages with references whose value it is */
  /* of the storage that it was assigned to; 0: of none. Changed under record_lock. pending.c */
  _Atomic uint32_t lineage;
  int64_t elements;
  nxi_buffer *buffer;
  union {
    nxi_storage *home; /* pinned storage whose memory must show this value; weak */
    nxi_node *next;    /* list of garbage, without references */
  };
  nxi_tag *tag;   /* or NULL; one reference */
  int64_t tail[]; /* shape[rank], attrs[n_attrs], then n_args pointers */
};

#define NXI_NOT_IN_SET UINT32_MAX
/* op, dtype and rank in one word, as they follow each other in a node and in the key of a run. */
static inline uint32_t nxi_node_type(uint32_t op, uint32_t dtype, uint32_t rank) {
  return op | dtype << 16 | rank << 24;
}
static inline int64_t *nxi_node_shape(nxi_node *n) { return n->tail; }
static inline uint32_t nxi_node_lineage(const nxi_node *n) {
  return atomic_load_explicit(&n->lineage, memory_order_relaxed);
}
static inline int64_t *nxi_node_attrs(nxi_node *n) { return n->tail + n->rank; }
static inline nxi_node **nxi_node_args(nxi_node *n) {
  return (nxi_node **)(void *)(n->tail + n->rank + n->n_attrs);
}

/* Sets, clears flags. record_lock, so that a load and a store do, which cost little. */
static inline void nxi_node_mark(nxi_node *n, uint8_t flags) {
  uint8_t now = atomic_load_explicit(&n->flags, memory_order_relaxed);
  atomic_store_explicit(&n->flags, now | flags, memory_order_relaxed);
}
static inline void nxi_node_unmark(nxi_node *n, uint8_t flags) {
  uint8_t now = atomic_load_explicit(&n->flags, memory_order_relaxed);
  atomic_store_explicit(&n->flags, now & (uint8_t)~flags, memory_order_relaxed);
}

/* Whether the node names bodies (ir/graph/body.h), which it holds. */
static inline bool nxi_node_controls(const nxi_node *n) {
  return n->op >= NXG_while && n->op <= NXG_scan;
}
/* Takes or gives up the references of its bodies, and of custom operations in them. objects.c */
void nxi_node_bodies(nx_context *c, nxi_node *n, bool hold);

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
  uint32_t pins, write_pins;    /* mappings; a shared import counts as one of each, an import
                                   whose writes are announced as a pin */
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

#endif
