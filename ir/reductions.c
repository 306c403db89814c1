/* SPDX-License-Identifier: ISC */
/* The table of reductions as data, for those who want nothing else of operations. */
#include "op.h"

#include <assert.h>

enum { B = NXI_B, I = NXI_I, F = NXI_F };
enum { ROUNDS = NXK_ROUNDS, INDEX = NXK_INDEX, PAIRS = NXK_PAIRS, REPEAT = NXK_REPEAT };
const nxk_reduction nxk_reductions[NXK_KINDS + 1] = {
#define ROP(name, kind, args, admits, combine, partial, identity, empty, flags, cost, floats)     \
  {#name, args, admits, NXK_##combine, NXK_##partial, NXK_IDENTITY_##identity, NXK_EMPTY_##empty, \
   flags, cost, floats},
#include "reduce_ops.def"
#undef ROP
    {.name = "?"},
};

enum {
  CHAINS = 0
#define ROP(name, kind, args, admits, combine, partial, identity, empty, flags, ...) \
  +((args) == 1 && !((flags) & INDEX))
#include "reduce_ops.def"
#undef ROP
  ,
  OF_PAIRS = 0
#define ROP(name, kind, args, admits, combine, partial, identity, empty, flags, ...) \
  +(((flags) & PAIRS) != 0)
#include "reduce_ops.def"
#undef ROP
};
static_assert((int)CHAINS == (int)NXK_CHAIN_KINDS, "chains of a scalar operation come first");
static_assert((int)OF_PAIRS == NXK_KINDS - NXK_REDUCE_KINDS, "kinds of pairs come last");
static_assert(NXK_SCALAR_COUNT <= UINT8_MAX, "rows have a byte for the scalar operation");
