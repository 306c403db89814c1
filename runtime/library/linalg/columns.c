/* SPDX-License-Identifier: ISC */
/* Copies of matrices by columns. */
#include "columns.h"

void nxi_take_columns(const nxg_call_part *part, uint32_t operand, int64_t index, void *to) {
  const nxg_array *a = &part->call->operands[operand];
  const int m = nxi_rows(a), n = nxi_columns(a);
  nxi_transpose(a->dtype, m, n, nxi_item(a, part->operands[operand], 2, index), n, to, m, false);
}

void nxi_give_columns(const nxg_call_part *part, uint32_t result, int64_t index, const void *from) {
  const nxg_array *r = &part->call->results[result];
  const int m = nxi_rows(r), n = nxi_columns(r);
  nxi_transpose(r->dtype, n, m, from, m, nxi_item(r, part->results[result], 2, index), n, false);
}
