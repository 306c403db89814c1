/* SPDX-License-Identifier: ISC */
/* Groups of members that exchange elements. A collective is one or two exchanges, which only move
 * bytes, and recorded operations around them (collectives.c). An exchange is an ordered custom
 * operation (exchange.c), whose function hands it to the engine of the group: shared memory for
 * devices of this process (local.c), MPI for processes (processes.c). Between GPUs these only have
 * members meet, and the kind of the devices moves the bytes: NCCL (runtime/cuda/nccl.c). */
#ifndef NXI_GROUP_H
#define NXI_GROUP_H

#include <stdatomic.h>

#include "ir/diag.h"
#include "ir/platform/thread.h"
#include "nx/group.h"
#include "runtime/record/watch.h"

enum { NXI_GROUP_NAME = 64, NXI_GROUP_MOST = 1024, NXI_GROUP_SENTENCE = 256, NXI_WHAT = 104 };

/* What moves. Every member has blocks of the same number of bytes. */
typedef enum nxi_exchange_kind {
  NXI_GATHER,     /* each sends its block to all; the result is a block of each */
  NXI_ALL_TO_ALL, /* block i of the operand goes to rank i; the result is a block of each */
  NXI_PERMUTE,    /* its block goes to `to`, the result is the block of `from` */
  NXI_BROADCAST   /* the result is the block of `from` */
} nxi_exchange_kind;

/* What members compare before anything moves. */
typedef struct nxi_header {
  uint64_t hash; /* of all arguments */
  char what[NXI_WHAT];
} nxi_header;

typedef struct nxi_exchange {
  nxi_exchange_kind kind;
  int64_t bytes;    /* of a block */
  int32_t from, to; /* ranks; -1: none, and the result is zeros */
  nxi_header header;
} nxi_exchange;

/* One call of an exchange by a member. Waiting asks `stopped` about every 10 ms. */
typedef struct nxi_exchange_call {
  const nxi_exchange *exchange;
  int32_t rank;
  const void *in;
  void *out;
  bool (*stopped)(const void *user);
  const void *user;
  char sentence[NXI_GROUP_SENTENCE]; /* why it failed */
} nxi_exchange_call;

typedef struct nxi_members nxi_members;
typedef struct nxi_engine {
  nx_status (*run)(nxi_members *all, nxi_exchange_call *call);
  void (*destroy)(nxi_members *all);
} nxi_engine;

/* Exchanges from memory to memory of devices of one kind (nxi_device_kind.links), beside the engine
 * by which members meet. */
typedef struct nxi_links {
  bool (*serves)(void); /* whether they can be made: what they need is there */
  /* Has exchanges of these members go by them; fills m->linked. */
  nx_status (*attach)(nxi_members *m, nxi_diag *d);
  void (*release)(void *linked);
  /* An exchange between addresses of devices, in the order of the stream; it is done when this
   * returns. What a device needs on a thread is there. */
  nx_status (*run)(nxi_members *m, nxi_exchange_call *call, void *stream);
} nxi_links;

/* What the members of a group in this process share; an engine's own begins with it. */
struct nxi_members {
  const nxi_engine *engine;
  _Atomic uint32_t refs;
  int32_t size;
  int64_t timeout_ns;     /* negative: none */
  const nxi_links *links; /* of members that are all devices of a kind that has them, or NULL */
  void *linked;           /* what these keep */
  char name[NXI_GROUP_NAME];
};
static inline void nxi_members_ref(nxi_members *m) {
  atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}
void nxi_members_unref(nxi_members *m);

/* A custom operation that is made already, with the numbers that make it up. */
typedef struct nxi_made_exchange nxi_made_exchange;

struct nx_group {
  nxi_head head;
  nx_context *context;
  nxi_members *members; /* one reference */
  int32_t rank;
  nx_device device;
  nx_tensor *token;
  nxi_mutex lock; /* of `made` */
  nxi_made_exchange *made;
  bool watched;
};

/* group.c */
static inline bool nxi_have_group(const char *op, int32_t operand, const void *g) {
  return (g && nxi_looks_live(g, NXI_GROUP)) || nxi_handle_bad(op, operand, g, NXI_GROUP);
}
/* Takes the reference of `members`. NULL: noted in d. */
nx_group *nxi_group_member(nx_context *c, nxi_members *members, int32_t rank, nx_device device,
                           nxi_diag *d);
/* How exchanges of this device's tensors can go without the host, or NULL. */
const nxi_links *nxi_group_links(nx_context *c, nx_device device);
nx_status nxi_group_link(nxi_members *m, const nxi_links *links, nxi_diag *d);
/* Takes this token in place of the member's: members of several groups that share one carry their
 * collectives out in one order. */
void nxi_group_follow(nx_group *g, nx_tensor *token);
/* The options with what they leave out, checked. */
nx_status nxi_group_options(const char *op, const nx_group_options *given, nx_group_options *out,
                            nxi_diag *d);

/* exchange.c */
/* What distinguishes an exchange: what the caller called, in words and in numbers. */
typedef struct nxi_exchange_desc {
  nxi_exchange_kind kind;
  int32_t from, to;
  const char *what;
  const int64_t *numbers;
  uint32_t n_numbers;
} nxi_exchange_desc;
/* Records an exchange of a tensor of rank 1, which is a block, or one for each member. One
 * reference; NULL: reported. */
nx_tensor *nxi_exchange_record(nx_group *g, const nxi_exchange_desc *k, nx_tensor *x);
void nxi_exchanges_free(nxi_made_exchange *made);
/* Compares the headers of all members, `stride` bytes apart. NX_INVALID_ARGUMENT with a sentence
 * that is the same for each of them. */
nx_status nxi_headers_compare(const nxi_header *headers, int32_t size, char *sentence);

/* local.c */
nx_status nxi_local_create(int32_t size, const nx_group_options *o, nxi_members **out, nxi_diag *d);

#endif
