/* SPDX-License-Identifier: ISC */
/* Scans in the graph interpreter: one element after the other, in the order of docs/numerics.md. */
#include <string.h>

#include "interp.h"
#include "interp_graph.h"

enum { RUN, STRIDE, KIND, ORDER };

/* Scans one run: elements come from the source, results are written from `to` on. */
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

/* Scans one run of complex numbers. */
static void scan_pairs(const nxg_step *s, nxg_run_state *r, nxg_source *sources, char *to) {
  nx_dtype t = s->dtype;
  uint64_t held[4] = {0};
  _Alignas(64) char buffers[2][NXG_CHUNK * 8];
  int64_t size = nxi_dtype_size(t), n;
  for (int64_t done = 0; done < s->numbers[RUN] && !nxg_stopped(r); done += n) {
    n = s->numbers[RUN] - done < NXG_CHUNK ? s->numbers[RUN] - done : NXG_CHUNK;
    const char *re = nxg_source_next(&sources[0], buffers[0], n),
               *im = nxg_source_next(&sources[1], buffers[1], n);
    for (int64_t i = 0; i < n; i++, to += s->numbers[STRIDE]) {
      uint64_t element[2] = {nxi_load_element(re + i * size, t),
                             nxi_load_element(im + i * size, t)},
               y[2];
      nxi_scan_pairs(held, done + i, s->numbers[ORDER] == 0, t, element, y);
      nxi_store_element(to, t, y[s->numbers[KIND] == NXK_PROD_IMAG]);
    }
  }
}

void nxg_step_scan(const nxg_step *s, nxg_run_state *r) {
  if (s->n == 0) return;
  bool pairs = nxk_takes_pairs((uint32_t)s->numbers[KIND]);
  nxg_source source[2] = {{.dtype = s->dtype, .run = r}, {.dtype = s->dtype, .run = r}};
  nxg_cursor to;
  for (int i = 0; i <= pairs; i++)
    nxg_cursor_start(&source[i].cursor, &s->args[i], nxg_address(r, s->args[i].place));
  nxg_cursor_start(&to, &s->to, nxg_address(r, s->to.place));
  for (int64_t i = 0; i < s->n / s->numbers[RUN] && !nxg_stopped(r); i++) {
    if (pairs) scan_pairs(s, r, source, to.at);
    else scan_run(s, r, source, to.at);
    nxg_cursor_next(&to);
  }
}
