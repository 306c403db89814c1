/* SPDX-License-Identifier: ISC */
/* Functions (exp, sin, ..) of the graph interpreter, a block of elements at a time: their expansion
 * (ir/expand) is a list of basic operations, and each of them is a loop over the block. The scalar
 * evaluator (nxk_eval), which the kernel interpreter uses, expands the same but shares nothing
 * else, so a test compares the two. */
#ifndef NXG_INTERP_BLOCK_H
#define NXG_INTERP_BLOCK_H

#include "ir/called.h"
#include "ir/kernel/kernel.h"

enum { NXG_BLOCK = 128 };

/* Computes a block of results, which is none of the operands. An operation of fewer than three
 * operands gets one of them again. Bools are bytes, 0 or 1. */
typedef void nxg_block_loop(void *restrict result, const void *a, const void *b, const void *c);

/* The loop of an operation, or of a function that has one; NULL: there is none. from: the type of
 * the last operand. */
typedef nxg_block_loop *nxg_block_loops(nxk_op op, nx_dtype from, nx_dtype to);
nxg_block_loops nxg_block_generic;
/* On x86-64 alone; they need AVX2 and FMA, and AVX-512 F, VL, BW and DQ. */
nxg_block_loops nxg_block_avx2, nxg_block_avx512;
bool nxg_block_has_avx2(void), nxg_block_has_avx512(void); /* whether this processor has them */
/* The best that this processor has, of vectors of so many bytes at most. */
nxg_block_loops *nxg_block_host(void);

/* Fills n elements with the one at `at`. Of elements of 4 and 8 bytes. */
typedef void nxg_repeat(void *to, const void *at, int64_t n);
nxg_repeat *nxg_repeats_generic(int32_t bytes);
nxg_repeat *nxg_repeats_avx2(int32_t bytes), *nxg_repeats_avx512(int32_t bytes);
nxg_repeat *nxg_repeat_host(int32_t bytes);

nxg_called_function *nxg_functions_avx2(nxk_op op, bool wide);
nxg_called_function *nxg_functions_avx512(nxk_op op, bool wide);

typedef struct nxg_function nxg_function;
/* NULL: out of memory, or the expansion has an operation without a loop. */
nxg_function *nxg_function_create(nxk_op op, nx_dtype type, nxg_block_loops *loops);
void nxg_function_destroy(nxg_function *f); /* NULL is allowed */
/* n elements; dense, of the type of the function. */
void nxg_function_apply(const nxg_function *f, void *result, const void *const *operands,
                        int64_t n);

#endif
