/* SPDX-License-Identifier: ISC */
/* Scans in the graph interpreter: one element after the other, in the order of docs/numerics.md. */
#include <string.h>

#include "interp_graph.h"

enum { RUN, STRIDE, KIND, ORDER };

/* One run: elements from the source, results from `to` on. */
static void scan_run(const nxg_step *s, nxg_run_state *r, nxg_source *source, char *to) {
  nx_dtype t = nxi_compute_dtype(s->dtype);
  nxk_reduce_kind kind = (nxk_reduce_kind)s->numbers[KIND];
  uint64_t identity = nxk_reduce_identity(kind, t), before = identity, within = identity;
  _Alignas(64) char buffer[NXG_CHUNK * 8];
  int64_t size = nxi_dtype_size(t), n;
  for (int64_t done = 0; done < s->numbers[RUN] && !nxg_stopped(r); done += n) {
    n = s->numbers[RUN] - done < NXG_CHUNK ? s->numbers[RUN] - done : NXG_CHUNK;
    const char *x = nxg_source_next(source, buffer, n);
    for (int64_t i = 0; i < n; i++, to += s->numbers[STRIDE]) {
      uint64_t element = 0;
      if (nxi_is_nibble(t)) element = nxi_load_element(x + i, t);
      else memcpy(&element, x + i * size, (size_t)size);
      if (s->numbers[ORDER] == 0 && done + i > 0 && (done + i) % NXK_SCAN_BLOCK == 0) {
        before = nxk_reduce_combine(kind, t, before, within);
        within = identity;
      }
      within = nxk_reduce_combine(kind, t, within, element);
      uint64_t y = nxk_reduce_combine(kind, t, before, within);
      if (nxi_is_small_float(s->dtype)) {
        float wide;
        memcpy(&wide, &y, sizeof wide);
        nxg_narrow(s->dtype, &wide, to, 1);
      } else if (nxi_is_nibble(t)) {
        nxi_store_element(to, t, y);
      } else {
        memcpy(to, &y, (size_t)size);
      }
    }
  }
}

void nxg_step_scan(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0) return;
  nxg_source source = {.dtype = s->dtype, .run = r};
  nxg_cursor to;
  nxg_cursor_start(&source.cursor, &s->args[0], nxg_address(r, s->args[0].place));
  nxg_cursor_start(&to, &s->to, nxg_address(r, s->to.place));
  for (int64_t i = 0; i < s->n / s->numbers[RUN] && !nxg_stopped(r); i++) {
    scan_run(s, r, &source, to.at);
    nxg_cursor_next(&to);
  }
}
