/* SPDX-License-Identifier: ISC */
/* Passes over the kernel IR. Each takes a kernel and either changes it in place or returns a new
 * one. None prints, times or reads the environment: passes/pipeline.c does that around them. */
#ifndef NXI_KERNEL_PASSES_H
#define NXI_KERNEL_PASSES_H

#include "ir/kernel/kernel.h"
#include "ir/target.h"

/* Rewrites functions (NXK_FUNC) into basic operations. New kernel; NULL: out of memory. */
nxk_kernel *nxk_pass_expand(const nxk_kernel *k, nxi_diag *d);
/* Removes what nothing uses, merges adjacent loops that every access walks as one, folds bit-exact
 * algebraic identities, forwards stores to local arrays. Logical level. New kernel. */
nxk_kernel *nxk_pass_simplify(const nxk_kernel *k, nxi_diag *d);
/* Sets needed[v] (room for k->n_instrs, zeroed) for each instruction that has an effect or that one
 * with an effect uses. */
void nxk_mark_needed(const nxk_kernel *k, uint8_t *needed);
/* A reduction is split that has fewer strips of work: points, or so many columns side by side. */
enum { NXK_MAX_PARTIALS = 8, NXK_SPLIT_STRIPS = 16, NXK_SPLIT_COLUMNS = 256 };
/* The same of a GPU, where a strip is a block of threads. */
enum { NXK_GPU_STRIPS = 264, NXK_GPU_COLUMNS = 8 };
/* Cuts a reduction over a long run for few points into two kernels: `first` makes partials of
 * pieces of the run, `second` reduces those and does the rest. Pieces are whole subtrees of the
 * order, so the bits are the same. Decided from shapes and caches, never from the number of
 * threads. Both have the launch buffers and parameters of k under the same numbers, then
 * *n_partials more, of *partial_elements elements each and the given dtypes, 64-byte aligned:
 * `first` writes them, `second` reads them. What is stored at every element of the run `first`
 * stores; all other buffers of `first` are inputs.
 * The arrays have room for NXK_MAX_PARTIALS. Logical level. False: k stays whole (or d says what
 * failed). */
bool nxk_split_reduction(const nxk_kernel *k, const nxi_target *t, nxk_kernel **first,
                         nxk_kernel **second, int64_t *partial_elements, nx_dtype *partial_types,
                         int *n_partials, nxi_diag *d);
/* Whether there is a load that depends on a condition. */
bool nxk_loads_under_masks(const nxk_kernel *k);
/* Writes out short reductions whose loop decides which operand is loaded. Logical level. New
 * kernel. */
nxk_kernel *nxk_pass_unroll(const nxk_kernel *k, nxi_diag *d);
/* Cuts parts into regions in which conditions on outer loops are decided, a part each. Logical
 * level. New kernel. */
nxk_kernel *nxk_pass_regions(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Writes out last loops of two points or elements that lie beside each other. Logical level. New
 * kernel. */
nxk_kernel *nxk_pass_interleave(const nxk_kernel *k, nxi_diag *d);
/* Whether there is a loop of two. */
bool nxk_has_pairs(const nxk_kernel *k);
/* Computes several rows at once where they load the same elements. Logical level. New kernel. */
nxk_kernel *nxk_pass_jam(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Whether two loads of an input differ in where they begin. */
bool nxk_has_shared_loads(const nxk_kernel *k);
/* Merges adjacent outer loops that every access walks as one. Logical level. New kernel; NULL: out
 * of memory. */
nxk_kernel *nxk_merge_loops(const nxk_kernel *k, nxi_diag *d);
/* nxk_copy_instr where operands may have become constants: decided conditions choose and drop
 * masks, and constants in an address become part of its offset. Both levels, loads, stores and
 * scalars; others are copied as they are. */
nxk_value nxk_copy_decided(nxk_kernel *k, const nxk_kernel *from, nxk_value v, nxk_value *map);
/* An empty kernel with the same level, name, buffers and parameters. NULL: out of memory. */
nxk_kernel *nxk_create_like(const nxk_kernel *k);
/* Logical -> bound for a CPU. New kernel. */
nxk_kernel *nxk_pass_bind_cpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Logical -> bound for blocks of threads. New kernel. */
nxk_kernel *nxk_pass_bind_gpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Rewrites, at the bound level, what no target does right into basic operations: casts (small
 * floats without double rounding, saturating float -> integer), integer division by zero, total
 * shifts, max and min with NaN and signed zeros. What a target does in one exact instruction
 * (nxi_target) is kept. New kernel. */
nxk_kernel *nxk_pass_legalize(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Cuts sequential loops where masks of loads change. Bound level; kernels of threads stay as they
 * are. New kernel. */
nxk_kernel *nxk_pass_ranges(const nxk_kernel *k, nxi_diag *d);
/* Index arithmetic of a kernel of threads in 32 bits, where that gives the same. New kernel. */
nxk_kernel *nxk_pass_narrow(const nxk_kernel *k, nxi_diag *d);

#endif
