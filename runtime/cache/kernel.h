/* SPDX-License-Identifier: ISC */
/* Compiled kernels, by what they compute: a bounded map in memory, and below it the cache on disk.
 * Thread-safe; concurrent requests for one key compile it once. A kernel in use is never freed:
 * eviction removes it from the map, and its code is freed with its last user. */
#ifndef NXI_CACHE_KERNEL_H
#define NXI_CACHE_KERNEL_H

#include "disk.h"
#include "ir/kernel/kernel.h"
#include "passes/kernel/generalize.h"

/* Most parameters that generic code has besides those of the kernel. */
enum { NXI_MOST_VALUES = 256 };

typedef struct nxi_kernel_cache nxi_kernel_cache;
typedef struct nxi_kernel nxi_kernel;

typedef enum nxi_kernel_outcome {
  NXI_KERNEL_HIT,      /* in memory, or compiled by another thread meanwhile */
  NXI_KERNEL_DISK_HIT, /* loaded */
  NXI_KERNEL_COMPILED,
  NXI_KERNEL_ABSENT /* it would have to be compiled, and only code that is there was asked for */
} nxi_kernel_outcome;

typedef struct nxi_kernel_info {
  int64_t scratch_bytes; /* a thread needs for LOCAL arrays (nxk_scratch_bytes) */
  int64_t tasks;         /* of all regions, if tasks_param < 0 */
  int32_t tasks_param;   /* >= 0: tasks = ceil(that scalar parameter / tasks_divisor) */
  int64_t tasks_divisor;
  /* binding, legalising, compiling and loading; of loading alone after a disk hit */
  double compile_ms;
  size_t object_bytes, code_bytes; /* of the object; of memory once loaded */
  int32_t threads;                 /* of a block, on a GPU; scratch_bytes is then that of a block */
  int64_t shared_bytes;            /* of a block, on a GPU */
  bool calls, hasty;               /* before it is compiled: as those of nxi_target */
  /* parameters that follow those of the kernel, with always these values: the code serves other
   * kernels, too */
  const uint64_t *values;
  uint32_t n_values;
} nxi_kernel_info;

/* A code generator: functions that make machine code of bound kernels and load it. */
typedef struct nxi_code_maker {
  /* Describes everything that the code depends on besides the kernel and the instruction set. */
  const char *(*environment)(void);
  /* The object, nxi_malloc'd, the name of its function, and what the launch needs (fields of
   * info). */
  nx_status (*compile)(void *user, const nxk_kernel *bound, const char *isa, void **object,
                       size_t *size, char entry[72], nxi_kernel_info *info, nxi_diag *d);
  /* The same for a source text that has a function of this name. NULL: it does not compile
   * texts. */
  nx_status (*compile_text)(void *user, const char *text, const char *name, const char *isa,
                            void **object, size_t *size, nxi_diag *d);
  nx_status (*load)(void *user, const void *object, size_t size, const char *entry,
                    const nxi_kernel_info *info, void **code, nxi_diag *d);
  void (*unload)(void *code); /* NULL is allowed */
  size_t (*bytes)(const void *code);
} nxi_code_maker;

/* user: for the maker. cache_dir: where the disk cache is; NULL: where nxi_disk_open looks by
 * default; "": none. If the directory cannot be used, there is no disk cache. NX_OUT_OF_MEMORY
 * only. */
nx_status nxi_kernel_cache_create_for(const nxi_code_maker *maker, void *user,
                                      const char *cache_dir, nxi_kernel_cache **out, nxi_diag *d);
/* cpu/maker.c: the same for code of this processor, by LLVM. */
nx_status nxi_kernel_cache_create(const char *cache_dir, nxi_kernel_cache **out, nxi_diag *d);
/* Kernels handed out stay valid. NULL is allowed. */
void nxi_kernel_cache_destroy(nxi_kernel_cache *c);
bool nxi_kernel_cache_outlives(const nxi_kernel_cache *c); /* there is a cache on disk below it */
/* The disk cache as a kernel cache of this process uses it, for the tool. */
nx_status nxi_kernel_disk_open_for(const nxi_code_maker *maker, const char *directory,
                                   nxi_disk_cache **out, nxi_diag *d);
/* cpu/maker.c: that of code of this processor. */
nx_status nxi_kernel_disk_open(const char *directory, nxi_disk_cache **out, nxi_diag *d);
/* Limits of the map, at least 1 kernel and 1 byte; initially 4096 kernels and 128 MiB of code. */
void nxi_kernel_cache_limit(nxi_kernel_cache *c, uint32_t kernels, size_t code_bytes);

/* Makes the bound, legalised kernel of the key, which the cache then owns. Runs on the caller's
 * thread, without locks; must not call the cache. */
typedef nx_status nxi_kernel_produce(void *user, nxk_kernel **bound, nxi_diag *d);
/* The kernel of a key (text of the logical kernel, and of everything else that binding depends on)
 * for an instruction set. Reference to *out: the caller's, given back with nxi_kernel_release. On
 * failure *out is untouched and nothing is kept. how may be NULL. */
nx_status nxi_kernel_get(nxi_kernel_cache *c, const char *isa, const void *key, size_t key_size,
                         nxi_kernel_produce *produce, void *user, nxi_kernel **out,
                         nxi_kernel_outcome *how, nxi_diag *d);
/* The same in a form that depends little on integers, of the kernel that has these; `few`: extents
 * up to 4 are not the same in all kernels of the kind. */
typedef nx_status nxi_kernel_vary(void *user, const nxk_hole *holes, bool few, nxk_kernel **bound,
                                  nxi_diag *d);
/* How kernels that differ only in integers share code. The first of a kind is compiled as it is; of
 * later ones the integers that differ become parameters (generic.h). */
typedef struct nxi_kernel_kind {
  uint64_t number; /* equal for kernels that differ only in integers; 0: none */
  bool always;     /* the first, too, is made of parameters */
  bool varies;     /* the same, because kernels with other integers are likely to come */
  bool all;        /* and in code for it all integers are parameters: it does little work */
  bool apart;      /* it is compiled as it is, although others of the kind were noted */
  bool special;    /* it is compiled as it is, even if other code serves it now */
  bool hasty;      /* code that is soon replaced (nxi_target.hasty): it is not kept on disk */
  bool calls;      /* such code that calls functions (nxi_target.calls) */
  bool found_only; /* it is not compiled: NX_COMPILE_FAILED and NXI_KERNEL_ABSENT if it has to be */
  nxk_hole *holes; /* the integers of this one */
  uint32_t n_holes;
  nxi_kernel_vary *vary;
} nxi_kernel_kind;
/* Notes a kernel of a kind before the first one is asked for, which is then made of parameters,
 * too. */
void nxi_kernel_expect(nxi_kernel_cache *c, const nxi_kernel_kind *kind);
/* Whether a kernel of the kind was asked for before, lately. */
bool nxi_kernel_met(nxi_kernel_cache *c, const nxi_kernel_kind *kind);
nx_status nxi_kernel_get_of_kind(nxi_kernel_cache *c, const char *isa, const void *key,
                                 size_t key_size, nxi_kernel_produce *produce,
                                 const nxi_kernel_kind *kind, void *user, nxi_kernel **out,
                                 nxi_kernel_outcome *how, nxi_diag *d);
/* A kernel that is a text, which is its key. */
typedef struct nxi_kernel_text {
  const char *text, *name; /* name: of its function */
  int32_t threads;         /* of a block */
  int64_t shared_bytes;
} nxi_kernel_text;
nx_status nxi_kernel_get_text(nxi_kernel_cache *c, const char *isa, const nxi_kernel_text *text,
                              nxi_kernel **out, nxi_kernel_outcome *how, nxi_diag *d);
void nxi_kernel_retain(nxi_kernel *k);
void nxi_kernel_release(nxi_kernel *k); /* NULL is allowed */
const nxi_kernel_info *nxi_kernel_describe(const nxi_kernel *k);
const void *nxi_kernel_code(const nxi_kernel *k); /* what the maker loaded */

typedef struct nxi_kernel_stats {
  int64_t hits, disk_hits, misses; /* requests; a miss compiled, or failed to */
  int64_t shared;                  /* requests that generic code serves */
  int64_t evictions;
  int64_t kernels, code_bytes; /* in the map now */
  double compile_ms;           /* of all misses */
} nxi_kernel_stats;
void nxi_kernel_cache_stats(nxi_kernel_cache *c, nxi_kernel_stats *out);

#endif
