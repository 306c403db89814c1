/* SPDX-License-Identifier: ISC */
/* Loops and branches: operations whose bodies are functions.
 *
 *   nx_tensor *i = nx_placeholder(c, 0, NX_I32, NULL, 0), *x = nx_placeholder(c, 0, NX_F32, s, 1);
 *   .. a condition `below` and a body `step` are made of what is recorded on them ..
 *   nx_while(below, step, (nx_tensor *[]){zero, x0}, 2, NULL, 0, NULL, out, 2);
 *
 * Bodies take values that a loop carries from step to step, then captured ones, which are the same
 * in each step. A tensor from before the capture of a body is captured too: a loop reads what it
 * holds when the loop is recorded. Nothing runs when a loop is recorded; the results are tensors
 * like those of any operation, and the same bits come out as of the steps recorded one after the
 * other. Bodies may have loops and branches themselves, up to 16 deep.
 *
 * A body may assign. What it assigns is a state: it goes from step to step, and the tensor gets
 * what it is after the last step, when the loop has ended; after none it stays as it is. So a step
 * reads what the step before it has assigned, by whatever tensor of that storage. That holds for
 * tensors from outside, for captured values, and for what a branch takes. A carried value, a slice
 * of a stack and the number of the step are the step's own: assigned, they change for the rest of
 * the step, and nothing else does. A condition may assign, too: it runs before each step and once
 * more after the last one, and what it assigns is seen by all that runs after it, also what it
 * assigns to a carried value: by the body, or in the result of the loop.
 *
 * Types are fixed: what a body gives for a carried value has the shape and the dtype that it took.
 *
 * Common to all: `out` has a place for each result; one that holds NULL gets a new tensor, one
 * reference, the caller's; a tensor that is there is assigned, in place. NX_INVALID_ARGUMENT:
 * numbers of operands, shapes or dtypes that bodies do not take, an assign to a captured view that
 * maps two indices to one element, functions or tensors of another context or device, NULL, bodies
 * that neither give nor assign anything (nothing would ever ask for them to run). NX_NOT_WRITABLE:
 * an assign to a captured value in an immutable import. NX_UNSUPPORTED_DTYPE: an index or a count
 * of another dtype than it may have. What a body fails with comes when results are computed, with
 * the operation and the step. */
#ifndef NX_CONTROL_H
#define NX_CONTROL_H

#include "function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_loop_options {
  size_t size;       /**< sizeof(nx_loop_options) */
  int64_t max_steps; /**< 0: no limit. A loop that has not ended then fails: NX_NO_CONVERGENCE */
  int32_t reverse;   /**< nx_scan: nonzero takes the slices from the last one on */
} nx_loop_options;

/** Steps while a condition holds. cond and body take the n carried values, then the captured ones;
 * cond gives one bool of rank 0, body n new carried values. out: n_out = n places, for the carried
 * values when cond does not hold; those of init if it never does. A loop that does not end can be
 * interrupted by the poll of the run, or has max_steps. */
NX_API nx_status nx_while(nx_function *cond, nx_function *body, nx_tensor *const *init, size_t n,
                          nx_tensor *const *captured, size_t n_captured,
                          const nx_loop_options *options, nx_tensor **out, size_t n_out);
/** The results of one of several functions, which all take `in` and give results of the same types.
 * index: bool, i32 or i64 of rank 0; false is branch 0, true branch 1, and an index that no branch
 * has means the last one. Only that branch runs. At most 64 branches. */
NX_API nx_status nx_case(nx_tensor *index, nx_function *const *branches, size_t n_branches,
                         nx_tensor *const *in, size_t n_in, nx_tensor **out, size_t n_out);
/** A number of steps. count: i32 or i64 of rank 0, negative numbers count as 0; NULL: `steps`. body
 * takes the number of the step from 0 on (i64 of rank 0), the n carried values, the captured ones,
 * and gives n new carried values. out: n_out = n places. */
NX_API nx_status nx_for(nx_tensor *count, int64_t steps, nx_function *body, nx_tensor *const *init,
                        size_t n, nx_tensor *const *captured, size_t n_captured,
                        const nx_loop_options *options, nx_tensor **out, size_t n_out);
/** A step for each slice of stacked operands along axis 0, which all have `steps` of them; without
 * stacked operands `steps` steps. body takes the n carried values, the captured ones, a slice of
 * each stacked operand, and gives n new carried values, then slices of stacked results. out: n_out
 * places, for the n carried values and the stacks. */
NX_API nx_status nx_scan(nx_function *body, int64_t steps, nx_tensor *const *init, size_t n,
                         nx_tensor *const *captured, size_t n_captured, nx_tensor *const *stacked,
                         size_t n_stacked, const nx_loop_options *options, nx_tensor **out,
                         size_t n_out);

#ifdef __cplusplus
}
#endif
#endif
