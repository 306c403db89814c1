/* SPDX-License-Identifier: ISC */
/* Functions of the caller in programs. The interface has nothing for them that one binary could use
 * from several languages, so the plugin exports these functions beside GetPjrtApi. A caller
 * announces a function, and writes the number that it gets into its programs:
 *
 *   stablehlo.custom_call @nx_host_callback(%x) {backend_config = "2b1c7a90f3e4d581",
 *       has_side_effect = true} : (tensor<3xf32>) -> tensor<3xf32>
 *
 * A call with has_side_effect is made once in each run of the program, in the program's order with
 * the others of its device. One without is made where its results are needed, in any order. With
 * ` 2` behind the number only the third of the program's devices makes one with a side effect, and
 * the others get zeros, which the program replaces by what it sends them. A call with the
 * attribute `nx.parts` is given, on each device, its parts of operands, as far as it is known how
 * these are divided; with ` parts` behind the number the first operand then has the extents of all
 * others, one behind the other, as i64. There are at most 4096 tensors for operands and results
 * each. Elements i4, ui4 and f4E2M1FN are a byte each. Where operands or results are more than 15,
 * they are parts of one piece of memory, aligned to 16. */
#ifndef NXJ_CALLBACKS_H
#define NXJ_CALLBACKS_H

#include <stdint.h>

#include "nx/status.h"

enum { NX_PJRT_SENTENCE = 256 };

/** Reads operands, of the types in the program, in C order without gaps, and writes all elements of
 * the results. Nothing is valid after it returns. It is called on any thread, also on several at
 * once, without locks; it may call the plugin, and what it executes there is done when that call
 * returns, but what its own run computes must not be waited for. Returns 0, or anything else with
 * what happened in `sentence`, which has NX_PJRT_SENTENCE bytes: then the run fails with that. */
typedef int nx_pjrt_callback(uint64_t user, const void *const *operands, void *const *results,
                             char *sentence);

/** Announces a function. release, which may be NULL, is called with `user` once when neither the
 * caller nor a program has it any more. The number is random, so that a program of another process
 * names none of this one's functions. 0: no memory, or no random numbers. */
NX_API uint64_t nx_pjrt_callback_new(nx_pjrt_callback *call, void (*release)(uint64_t user),
                                     uint64_t user);
/** The caller names it in no further program. Loaded executables keep the function. */
NX_API void nx_pjrt_callback_drop(uint64_t number);
/** Waits until no function runs. From then on none is called, and no release: runs that need one
 * fail. For the end of a language's runtime; not from a function. */
NX_API void nx_pjrt_callbacks_end(void);

#endif
