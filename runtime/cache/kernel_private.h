/* SPDX-License-Identifier: ISC */
/* Private to the cache of kernels: its tables, and how a kernel that it lacks is made. */
#ifndef NXI_CACHE_KERNEL_PRIVATE_H
#define NXI_CACHE_KERNEL_PRIVATE_H

#include <stdatomic.h>

#include "disk.h"
#include "generic.h"
#include "ir/platform/fork.h"
#include "ir/platform/lock.h"
#include "kernel.h"

enum { NXI_KERNEL_BUCKETS = 1024 };

typedef enum kernel_state { PENDING, READY, FAILED } kernel_state;

struct nxi_kernel {
  _Atomic uint32_t references; /* one of the map, and one of each user */
  kernel_state state;          /* under the cache's lock until READY */
  bool listed;                 /* in the map */
  bool general;                /* generic code: it may serve others */
  nxi_diag fault;              /* FAILED: why */
  bool absent;                 /* FAILED: who asked for it did not want it to be compiled */
  const nxi_code_maker *maker;
  void *code;
  nxi_kernel_info info;
  /* generic code that serves this kernel, with a reference, and the values of its parameters; NULL:
   * the kernel has code of its own */
  nxi_kernel *shared;
  uint64_t *values;
  uint64_t hash;
  nxi_kernel *chain;         /* of its bucket */
  nxi_kernel *newer, *older; /* in the order of use; READY ones alone */
  char isa[16];
  size_t key_size;
  unsigned char key[];
};

struct nxi_kernel_cache {
  const nxi_code_maker *maker;
  void *user;
  nxi_lock lock;
  nxi_condition settled; /* some kernel is no longer pending */
  /* held for reading by threads inside LLVM; fork waits until there are none */
  nxi_shared_lock inside_llvm;
  nxi_fork_entry fork_entry;
  nxi_kernel *buckets[NXI_KERNEL_BUCKETS];
  nxi_kernel *newest, *oldest;
  uint32_t max_kernels;
  size_t max_bytes;
  uint32_t n_ready; /* kernels in the map, with code of their own or served by others' */
  nxi_generics *generics;
  nxi_kernel_stats stats;
  nxi_disk_cache *disk; /* NULL: none */
};

/* The input of compiling a kernel. */
typedef struct nxi_material {
  nxi_kernel_produce *produce;
  void *user;
  const nxi_kernel_text *text; /* or NULL */
  const nxi_kernel_kind *kind; /* or NULL: it never becomes generic */
  bool general;                /* integers of it are parameters */
} nxi_material;

/* kernel.c. The kernel of a key; called by a thread that is inside the guards of LLVM. */
nx_status nxi_kernel_get_inside(nxi_kernel_cache *c, const char *isa, const void *key,
                                size_t key_size, const nxi_material *m, nxi_kernel **out,
                                nxi_kernel_outcome *how, nxi_diag *d);
nx_status nxi_kernel_count_tasks(nxi_kernel_info *info, const nxk_kernel *bound, nxi_diag *d);

static inline bool nxi_kernel_has_kind(const nxi_material *m) {
  return m->kind != NULL && m->kind->number != 0;
}

/* share.c. Whether generic code is to serve the kernel; notes its kind. */
bool nxi_kernel_wants_sharing(nxi_kernel_cache *c, const nxi_material *m);
/* Lets generic code serve the kernel, and compiles that if need be and wanted. NX_OK with k->shared
 * NULL: none can. */
nx_status nxi_kernel_share(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                           nxi_kernel_outcome *how, nxi_diag *d);
/* Takes apart the kernel in its generic form; an empty structure: that failed. */
void nxi_kernel_take_apart(nxi_kernel_cache *c, const nxi_material *m, nxk_anatomy *out);
/* Remembers the integers of a kernel that was compiled as it is; those of `own`, if they are there,
 * which they are then. */
void nxi_kernel_see(nxi_kernel_cache *c, const nxi_kernel *k, const nxi_material *m,
                    nxk_anatomy *own);

/* Code from disk; own: what was stored with it, empty if nothing was; NULL: it is not wanted. */
bool nxi_kernel_load_stored(nxi_kernel_cache *c, nxi_kernel *k, nxk_anatomy *own);
/* A failure is ignored. */
void nxi_kernel_store(nxi_kernel_cache *c, const nxi_kernel *k, const char *entry,
                      const void *object, size_t size, const nxk_anatomy *own);

#endif
