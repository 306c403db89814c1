/* SPDX-License-Identifier: ISC */
/* Passes that write out points of a loop (unroll.c, unroll_pairs.c, jam.c) write a kernel once
 * more, and some of its instructions several times: one copy for each point that shares an
 * iteration with others. */
#ifndef PASSES_KERNEL_COPIES_H
#define PASSES_KERNEL_COPIES_H

#include "passes/bind/bind.h"

enum { NXK_MOST_COPIES = 4 };

typedef struct nxk_copies {
  nxb_binder b; /* what is known about the kernel that is read, `b.from` */
  nxk_kernel *to;
  uint32_t n;                      /* copies */
  nxk_value *map[NXK_MOST_COPIES]; /* value of `b.from` -> value of `to`, for each copy */
} nxk_copies;

/* Makes the same value stand for v in all copies. */
void nxk_map_copies(nxk_copies *w, nxk_value v, nxk_value to);
/* Writes instruction v once, for all copies. */
void nxk_copy_once(nxk_copies *w, nxk_value v);
/* Writes instruction v once for each of the first n copies. */
void nxk_copy_each(nxk_copies *w, nxk_value v, uint32_t n);

/* Whether v is the outermost reduce loop of a run. */
bool nxk_begins_run(const nxk_kernel *k, nxk_value v);

/* Whether the buffers of the kernel together exceed the private cache of a core. */
bool nxk_is_past_caches(const nxb_binder *b);

/* Writes what begins at v in another way, and returns its last instruction; or writes nothing and
 * returns v. */
typedef nxk_value nxk_rewrite(nxk_copies *w, nxk_value v);
/* A kernel in which `rewrite` wrote what it could, and all else is as it was; simplified if there
 * is any such. target: may be NULL if `rewrite` needs none. NULL: out of memory. */
nxk_kernel *nxk_write_copies(const nxk_kernel *k, const nxi_target *target, uint32_t copies,
                             nxk_rewrite *rewrite, nxi_diag *d);

#endif
