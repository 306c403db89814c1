/* SPDX-License-Identifier: ISC */
/* Gather and scatter in the graph interpreter, one element after the other in C order. */
#include <string.h>

#include "interp_graph.h"

enum { EXTENT, STRIDE, NODE, LOWEST, MODE, PARTS, SECOND, DROPS };

static bool drops(const nxg_step *s) { return s->run == nxg_step_scatter && s->numbers[DROPS]; }

/* The element that the next index refers to, counted from 0; -1: the index is bad, which is
 * recorded unless the step drops it. */
static int64_t next_element(const nxg_step *s, nxg_run_state *r, nxg_cursor *indices, int64_t i) {
  int64_t extent = s->numbers[EXTENT], index = 0;
  if (s->args[1].size == 4) {
    int32_t narrow;
    memcpy(&narrow, indices->at, sizeof narrow);
    index = narrow;
  } else if (s->args[1].size == 1) {
    index = *(const uint8_t *)indices->at;
  } else {
    memcpy(&index, indices->at, sizeof index);
  }
  nxg_cursor_next(indices);
  if (index >= s->numbers[LOWEST] && index < extent) return index < 0 ? index + extent : index;
  if (drops(s)) return -1;
  nxi_fail_index(r->d, s->numbers[NODE], s->run == nxg_step_gather ? "gather" : "scatter", i);
  r->status = NX_INDEX_OUT_OF_RANGE;
  return -1;
}

/* Checks all indices before anything is read or written. */
static bool all_good(const nxg_step *s, nxg_run_state *r) {
  nxg_cursor indices;
  nxg_cursor_start(&indices, &s->args[1], nxg_address(r, s->args[1].place));
  for (int64_t i = 0; i < s->n; i++) {
    if (i % 4096 == 0 && nxg_stopped(r)) return false;
    if (next_element(s, r, &indices, i) < 0 && !drops(s)) return false;
  }
  return true;
}

void nxg_step_gather(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0 || !all_good(s, r)) return;
  char *to = nxg_address(r, s->to.place);
  int64_t size = nxi_dtype_size(s->dtype);
  nxg_cursor from, indices;
  nxg_cursor_start(&from, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_start(&indices, &s->args[1], nxg_address(r, s->args[1].place));
  for (int64_t i = 0; i < s->n; i++, to += size) {
    if (i % 4096 == 0 && nxg_stopped(r)) return;
    const char *element = from.at + next_element(s, r, &indices, i) * s->numbers[STRIDE];
    memcpy(to, element, (size_t)size);
    if (s->dtype == NX_BOOL) *to = *to != 0;
    nxg_cursor_next(&from);
  }
}

static void put(const nxg_step *s, char *to, const void *x) {
  static const nxk_op combine[] = {
      [NXI_SCATTER_ADD] = NXK_add, [NXI_SCATTER_MUL] = NXK_mul, [NXI_SCATTER_MIN] = NXK_min,
      [NXI_SCATTER_MAX] = NXK_max, [NXI_SCATTER_AND] = NXK_and, [NXI_SCATTER_OR] = NXK_or,
      [NXI_SCATTER_XOR] = NXK_xor};
  nx_dtype t = s->result;
  size_t size = (size_t)nxi_dtype_size(t);
  if (s->numbers[MODE] == NXI_SCATTER_SET) {
    memcpy(to, x, size);
    return;
  }
  uint64_t pair[2] = {nxi_load_at(to, t, 0), nxi_load_at(x, t, 0)},
           y = nxk_eval(combine[s->numbers[MODE]], t, t, pair);
  memcpy(to, &y, size);
}

static void move_update(const nxg_step *s, char *element, const char *update) {
  int64_t size = nxi_dtype_size(s->result);
  float wide;
  const void *x = update;
  if (s->result != s->dtype) {
    nxg_widen(s->dtype, update, &wide, 1);
    x = &wide;
  }
  put(s, element, x);
  if (s->numbers[PARTS] == 2) put(s, element + size, update + s->numbers[SECOND]);
  if (nxi_is_nibble(s->result)) nxg_wrap_nibbles(s->result, element, 1);
  if (s->result == NX_BOOL) *element = *element != 0;
}

void nxg_step_scatter(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0 || !all_good(s, r)) return;
  nxg_cursor to, updates, indices;
  nxg_cursor_start(&to, &s->to, nxg_address(r, s->to.place));
  nxg_cursor_start(&updates, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_start(&indices, &s->args[1], nxg_address(r, s->args[1].place));
  for (int64_t i = 0; i < s->n; i++) {
    if (i % 4096 == 0 && nxg_stopped(r)) return;
    int64_t element = next_element(s, r, &indices, i);
    if (element >= 0) move_update(s, to.at + element * s->numbers[STRIDE], updates.at);
    nxg_cursor_next(&to);
    nxg_cursor_next(&updates);
  }
}
