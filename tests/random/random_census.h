/* SPDX-License-Identifier: ISC */
/* What occurs in random graphs, counted: a generator that never makes something tests nothing of
 * it. */
#ifndef NXT_RANDOM_CENSUS_H
#define NXT_RANDOM_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the graphs of the seeds first .. first + count - 1, runs none. Prints how often each
 * operation occurs with each dtype, and each of the features that the generator is there for.
 * False, after naming it, if an operation never occurs with a dtype that it admits, or a feature is
 * rare. */
bool nxt_random_census(uint64_t first, uint64_t count);

#endif
