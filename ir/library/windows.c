/* SPDX-License-Identifier: ISC */
/* How much of an image the windows of a tile need, and where it is put. */
#include "windows.h"

enum { LINE = 16 }; /* numbers of 4 bytes */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t phases(const nxi_image_line *l) {
  return l->taps == 1 || l->dilation % l->stride == 0 ? 1 : l->stride;
}

/* How many images have a line of columns of a product. */
static int64_t images(const nxi_image_windows *w) {
  int64_t n = 1;
  for (int32_t i = w->n_batch; i < w->n_outer; i++) n *= w->outer[i].extent;
  return n;
}

int64_t nxi_image_planes(const nxi_image_windows *w) {
  int64_t n = 1;
  for (int32_t i = 0; i < w->n_planes; i++) n *= w->planes[i].extent;
  return n;
}

bool nxi_image_lay_out(const nxi_image_windows *w, int64_t columns, int64_t depth,
                       nxi_image_layout *l) {
  const nxi_image_line *y = &w->y, *x = &w->x;
  int64_t planes = nxi_image_planes(w), taps = nxi_image_taps(w);
  *l = (nxi_image_layout){.columns = columns,
                          .planes = w->taps_first ? planes : smaller(planes, depth / taps + 2),
                          .phases_y = phases(y),
                          .phases_x = phases(x)};
  /* a tile begins and ends somewhere in a line */
  l->lines = smaller(y->count, (columns + x->count - 2) / x->count + 1) +
             (y->taps - 1) * y->dilation / y->stride;
  l->pitch = (y->count == 1 ? smaller(x->count, columns) : x->count) +
             (x->taps - 1) * x->dilation / x->stride;
  /* taps of lines that are whole vectors then begin with cache lines, as far as they can */
  if (x->count % LINE == 0 && y->count > 1) l->pitch = (l->pitch + LINE - 1) / LINE * LINE;
  l->images = smaller((columns + y->count * x->count - 2) / (y->count * x->count) + 1, images(w));
  double elements = (double)l->images * (double)l->planes * (double)l->phases_y *
                    (double)l->phases_x * (double)l->lines * (double)l->pitch;
  if (elements > 1e8) return false;
  l->plane = l->phases_y * l->phases_x * l->lines * l->pitch;
  /* planes a power of two apart share cache sets */
  if (l->plane % 256 == 0) l->plane += 16;
  l->image = l->planes * l->plane;
  l->table = (depth * (int64_t)sizeof(int32_t) + 63) / 64 * 64;
  l->bytes = l->table + (l->images * l->image * w->element + 63) / 64 * 64;
  return true;
}
