/* SPDX-License-Identifier: ISC */
/* Passes over the kernel IR. Each takes a kernel and either changes it in place or returns a new
 * one. None prints, times or reads the environment: passes/pipeline.c does that around them. */
#ifndef NXI_KERNEL_PASSES_H
#define NXI_KERNEL_PASSES_H

#include "ir/kernel/kernel.h"
#include "ir/target.h"

/* Rewrites functions (NXK_FUNC) into basic operations; those with loops (NXK_LOOP) in bound kernels
 * alone; not those that the code is to call (nxi_target.calls), which in bound kernels are of whole
 * registers. New kernel; NULL: out of memory. */
nxk_kernel *nxk_pass_expand(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Whether nxk_pass_expand would rewrite one. */
bool nxk_has_functions(const nxk_kernel *k, const nxi_target *t);
/* Whether code that calls functions (nxi_target.calls) may call one instead of computing v. */
bool nxk_is_callable(const nxk_kernel *k, const nxi_target *t, nxk_value v);
/* Removes instructions that nothing uses, and merges equal ones. Returns a new kernel. */
nxk_kernel *nxk_pass_simplify(const nxk_kernel *k, nxi_diag *d);
/* Leaves out divisions of +0 and exponentials that are +0 where whole vectors are such ones. For
 * kernels of which that is known to be common. Logical level. New kernel; NULL: out of memory. */
nxk_kernel *nxk_skip_zeros(const nxk_kernel *k, nxi_diag *d);
/* Sets needed[v] (room for k->n_instrs, zeroed) for each instruction that has an effect, or that
 * such an instruction uses, directly or not. */
void nxk_mark_needed(const nxk_kernel *k, uint8_t *needed);
/* On a processor, a reduction with fewer than NXK_SPLIT_STRIPS units of work is split. A unit is an
 * outer point, or NXK_SPLIT_COLUMNS of them if memory is contiguous along the outer points. */
enum { NXK_MAX_PARTIALS = 8, NXK_SPLIT_STRIPS = 16, NXK_SPLIT_COLUMNS = 256 };
/* The same on a GPU, where a unit is the work of a block of threads. */
enum { NXK_GPU_STRIPS = 264, NXK_GPU_COLUMNS = 8 };
/* Splits a reduction over a long run for few points into two kernels: `first` computes partial
 * results of chunks of the run, and `second` reduces these and does the rest. Each chunk is a whole
 * subtree of the order, so the bits are the same. The decision depends on shapes and caches, never
 * on the number of threads. Both kernels have the launch buffers and parameters of k under the same
 * numbers, followed by *n_partials more buffers of *partial_elements elements each, of the given
 * dtypes, 64-byte aligned: `first` writes them, and `second` reads them. Stores at every element of
 * the run are in `first`; all other buffers of `first` are inputs. The arrays have room for
 * NXK_MAX_PARTIALS. Logical level. False: k is not split (or d says what failed). */
bool nxk_split_reduction(const nxk_kernel *k, const nxi_target *t, nxk_kernel **first,
                         nxk_kernel **second, int64_t *partial_elements, nx_dtype *partial_types,
                         int *n_partials, nxi_diag *d);
/* Whether the kernel has a masked load. */
bool nxk_loads_under_masks(const nxk_kernel *k);
/* Unrolls short reductions whose loop decides which operand is loaded, and those over windows.
 * Logical level. New kernel. */
nxk_kernel *nxk_pass_unroll(const nxk_kernel *k, nxi_diag *d);
/* Whether a reduction of the kernel has several loops, as one over windows has. */
bool nxk_has_windows(const nxk_kernel *k);
/* Cuts regions into smaller ones, in which conditions on outer loops are constant. Logical level.
 * New kernel. */
nxk_kernel *nxk_pass_index_split(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Unrolls loops of two to four iterations over adjacent elements. Logical level. New kernel. */
nxk_kernel *nxk_pass_unroll_pairs(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Whether the kernel has a loop of two to four iterations. */
bool nxk_has_pairs(const nxk_kernel *k);
/* Computes several rows in one iteration if they load the same elements. Logical level. New
 * kernel. */
nxk_kernel *nxk_pass_jam(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Whether the kernel has two accesses of an input with different offsets, so that rows may share
 * loads. */
bool nxk_has_shared_loads(const nxk_kernel *k);
/* Writes quotients of bf16 and f16 by what many of them share as products. Logical level. New
 * kernel. */
nxk_kernel *nxk_pass_quotients(const nxk_kernel *k, nxi_diag *d);
/* Whether there may be some. */
bool nxk_has_quotients(const nxk_kernel *k);
/* Merges adjacent outer loops if every access moves through them as through one loop. Logical
 * level. New kernel; NULL: out of memory. */
nxk_kernel *nxk_merge_loops(const nxk_kernel *k, nxi_diag *d);
/* nxk_copy_instr for operands that may have become constants: a constant condition resolves a
 * select and removes a mask, and constants in an address become part of its offset. This holds for
 * loads, stores and scalars, at both levels; all other instructions are copied as they are. */
nxk_value nxk_copy_decided(nxk_kernel *k, const nxk_kernel *from, nxk_value v, nxk_value *map);
/* An empty kernel with the same level, name, buffers and parameters. NULL: out of memory. */
nxk_kernel *nxk_create_like(const nxk_kernel *k);
/* Logical -> bound for a CPU. New kernel. */
nxk_kernel *nxk_pass_bind_cpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Logical -> bound for blocks of threads. New kernel. */
nxk_kernel *nxk_pass_bind_gpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Rewrites operations that the target lacks or rounds otherwise into basic ones: conversions to and
 * from small floats and comparisons of them, ldexp, the remainder of floats, and on AArch64
 * conversions of 64-bit integers to f32. Bound level. New kernel. */
nxk_kernel *nxk_pass_legalize(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Writes ldexp v of `source` as basic operations, for targets without an instruction for it; its
 * operands are map[..] in k. NXK_NONE: its exponent is not known to be in range. */
nxk_value nxk_scale_within(nxk_kernel *k, const nxk_kernel *source, nxk_value v,
                           const nxk_value *map);
/* Cuts sequential loops where masks of loads change. Bound level; kernels with threads are not
 * changed. New kernel. */
nxk_kernel *nxk_pass_ranges(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Makes a max or min that a loop carries cheap where one is several instructions. Bound level. New
 * kernel. */
nxk_kernel *nxk_pass_extremes(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Whether the target is such, and the kernel has a max or min of vectors. */
bool nxk_wants_extremes(const nxk_kernel *k, const nxi_target *t);
/* The largest or the smallest of two vectors of f32 or f64. */
bool nxk_is_extreme(const nxk_instr *in);
/* How many operands, bounds and accesses use each value: uses[n_instrs]. */
void nxk_count_uses(const nxk_kernel *k, uint32_t *uses);
/* What `write` writes to *to, an empty kernel like k. NULL: out of memory. */
nxk_kernel *nxk_written(const nxk_kernel *k, void (*write)(void *), void *writer, nxk_kernel **to);
/* Where nxk_wants_extremes: the same for maxima of several vectors in straight code. Bound
 * level. New kernel. */
nxk_kernel *nxk_pass_extreme_chains(const nxk_kernel *k, const nxi_target *t, nxi_diag *d);
/* Narrows the index arithmetic of a kernel with threads to 32 bits where that gives the same
 * values. New kernel. */
nxk_kernel *nxk_pass_narrow(const nxk_kernel *k, nxi_diag *d);

#endif
