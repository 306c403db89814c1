/* SPDX-License-Identifier: ISC */
/* Gather and scatter in the graph interpreter, one element after the other in C order. */
#include <string.h>

#include "interp_graph.h"

enum { EXTENT, STRIDE, NODE, ADDS, PARTS, SECOND };

/* The element that the next index refers to, counted from 0; -1: the index is bad, which is
 * recorded. */
static int64_t next_element(const nxg_step *s, nxg_run_state *r, nxg_cursor *indices, int64_t i) {
  int64_t extent = s->numbers[EXTENT], index = 0;
  if (s->args[1].size == 4) {
    int32_t narrow;
    memcpy(&narrow, indices->at, sizeof narrow);
    index = narrow;
  } else {
    memcpy(&index, indices->at, sizeof index);
  }
  nxg_cursor_next(indices);
  if (index >= -extent && index < extent) return index < 0 ? index + extent : index;
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
    if (next_element(s, r, &indices, i) < 0) return false;
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

static void add_to(nx_dtype t, void *to, const void *x) {
  switch (t) {
#define ADD(T)                \
  do {                        \
    T a, b;                   \
    memcpy(&a, to, sizeof a); \
    memcpy(&b, x, sizeof b);  \
    a = (T)(a + b);           \
    memcpy(to, &a, sizeof a); \
  } while (0)
    case NX_F32: ADD(float); break;
    case NX_F64: ADD(double); break;
    default:
      switch (nxi_dtype_size(t)) {
        case 1: ADD(uint8_t); break;
        case 2: ADD(uint16_t); break;
        case 4: ADD(uint32_t); break;
        default: ADD(uint64_t);
      }
#undef ADD
  }
}

static void put(const nxg_step *s, char *to, const void *x) {
  if (s->numbers[ADDS]) add_to(s->result, to, x);
  else memcpy(to, x, (size_t)nxi_dtype_size(s->result));
}

void nxg_step_scatter(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0 || !all_good(s, r)) return;
  int64_t size = nxi_dtype_size(s->result);
  nxg_cursor to, updates, indices;
  nxg_cursor_start(&to, &s->to, nxg_address(r, s->to.place));
  nxg_cursor_start(&updates, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_start(&indices, &s->args[1], nxg_address(r, s->args[1].place));
  for (int64_t i = 0; i < s->n; i++) {
    if (i % 4096 == 0 && nxg_stopped(r)) return;
    char *element = to.at + next_element(s, r, &indices, i) * s->numbers[STRIDE];
    float wide;
    const void *x = updates.at;
    if (s->result != s->dtype) {
      nxg_widen(s->dtype, updates.at, &wide, 1);
      x = &wide;
    }
    put(s, element, x);
    if (s->numbers[PARTS] == 2) put(s, element + size, updates.at + s->numbers[SECOND]);
    if (nxi_is_nibble(s->result)) nxg_wrap_nibbles(s->result, element, 1);
    if (s->result == NX_BOOL) *element = *element != 0;
    nxg_cursor_next(&to);
    nxg_cursor_next(&updates);
  }
}
