/* SPDX-License-Identifier: ISC */
/* What a cache of kernels knows about structures: bound kernels that differ only in integers, and
 * the code that serves many of them because those integers are parameters of it. A table without
 * locks of its own, of a fixed size; the cache calls all of it under its lock. */
#ifndef NXI_CACHE_GENERIC_H
#define NXI_CACHE_GENERIC_H

#include "kernel.h"
#include "passes/kernel/generalize.h"

typedef struct nxi_generics nxi_generics;

nxi_generics *nxi_generics_create(void); /* NULL: out of memory */
/* The kernels in it are released by the caller's `release` at once. NULL is allowed. */
void nxi_generics_destroy(nxi_generics *g);

/* Logical kernels of one kind differ only in integers. Notes one, and how far its integers are from
 * those of the first of the kind; true: one was noted before, lately. The answer may be wrong,
 * which costs a compilation. */
bool nxi_generics_note(nxi_generics *g, const nxi_kernel_kind *kind);
/* The same answer, without noting anything. */
bool nxi_generics_met(const nxi_generics *g, const nxi_kernel_kind *kind);
/* Whether an extent that is small in this kernel was another one in an earlier kernel. */
bool nxi_generics_few(const nxi_generics *g, const nxi_kernel_kind *kind);
/* Integers that another kernel of the kind might have: where the integers of kernels differed, this
 * kernel's, changed by more or less, depending on `number`. False: there are no more. */
bool nxi_generics_imagine(const nxi_generics *g, const nxi_kernel_kind *kind, uint32_t number,
                          nxk_hole *holes);

/* Remembers the integers of a kernel, so that those which differ in the next one are known. */
void nxi_generics_see(nxi_generics *g, const char *isa, const nxk_anatomy *a);
/* The same, if the structure is known. */
void nxi_generics_compare(nxi_generics *g, const char *isa, const nxk_anatomy *a);
/* Code that serves this kernel, with a reference for the caller, and the values of its parameters
 * (room for NXI_MOST_VALUES); NULL: there is none. */
nxi_kernel *nxi_generics_match(nxi_generics *g, const char *isa, const nxk_anatomy *a,
                               uint64_t *values, uint32_t *n_values);

/* Which holes of a kernel become parameters. */
typedef struct nxi_choice {
  int32_t *param;    /* of each hole; NXK_LITERAL */
  nxk_hole *literal; /* the holes, with rooms made larger */
  uint32_t n_holes, n_params;
} nxi_choice;
/* all: all of them do. False: out of memory, or there would be too many parameters. */
bool nxi_generics_choose(nxi_generics *g, const char *isa, const nxk_anatomy *a, bool all,
                         nxi_choice *out);
void nxi_choice_free(nxi_choice *c);
/* Adds code that was made by a choice; takes over the choice, and a reference of its own. */
void nxi_generics_add(nxi_generics *g, const char *isa, const nxk_anatomy *a, nxi_choice *choice,
                      nxi_kernel *code);
/* Gives up code that was added. The caller has a reference. */
void nxi_generics_forget(nxi_generics *g, const nxi_kernel *code);

#endif
