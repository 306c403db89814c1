/* SPDX-License-Identifier: ISC */
/* The builder's instructions on rows of vectors: taking lanes of a row apart, and putting the lanes
 * of several vectors in turn. */
#include <string.h>

#include "build.h"

/* The result has times / part of the lanes of a value. */
static nxk_value number_row(nxk_kernel *k, nxk_op op, const nxk_value *values, uint32_t n,
                            uint64_t imm, uint32_t times, uint32_t part) {
  nxk_instr in = {.op = (uint16_t)op,
                  .n_args = (uint8_t)n,
                  .args = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE},
                  .imm = imm,
                  .imm2 = UINT32_MAX,
                  .block = NXK_NONE};
  for (uint32_t i = 0; i < n; i++) k->failed = k->failed || values[i] >= k->n_instrs;
  if (k->failed) return NXK_NONE;
  in.dtype = k->instrs[values[0]].dtype;
  in.lanes = (uint16_t)(k->instrs[values[0]].lanes * times / part);
  memcpy(in.args, values, n * sizeof *values);
  return nxi_number(k, &in);
}

nxk_value nxk_deinterleave(nxk_kernel *k, const nxk_value *values, uint32_t n, uint32_t first,
                           uint32_t overlap) {
  return number_row(k, NXK_deinterleave, values, n, first | (uint64_t)overlap << 8, 1, 1);
}

nxk_value nxk_interleave_all(nxk_kernel *k, const nxk_value *values, uint32_t n, uint32_t piece) {
  if (n == 2) return nxk_interleave(k, piece == 1, values[0], values[1]);
  return number_row(k, NXK_interleave, values, n, piece, 1, 1);
}

nxk_value nxk_every(nxk_kernel *k, nxk_value a, uint32_t of, uint32_t first) {
  return number_row(k, NXK_deinterleave, &a, 1, first, 1, of);
}

nxk_value nxk_in_turn(nxk_kernel *k, const nxk_value *values, uint32_t n) {
  return number_row(k, NXK_interleave, values, n, 0, n, 1);
}
