/* SPDX-License-Identifier: ISC */
/* In which order the elements of buffers and of the host's arrays lie, copies between these, and
 * the extension of the interface by which callers ask for layouts. */
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"

size_t nxj_host_size(nx_dtype dtype) {
  size_t bits = nx_dtype_bits(dtype);
  return bits < 8 ? 1 : bits / 8;
}

bool nxj_is_half(nx_dtype dtype) { return nx_dtype_bits(dtype) == 4; }

int64_t nxj_elements(const int64_t *dims, size_t rank) {
  int64_t n = 1;
  for (size_t i = 0; i < rank; i++)
    if (dims[i] < 0) return -1;
  for (size_t i = 0; i < rank; i++)
    if (dims[i] == 0) return 0;
  for (size_t i = 0; i < rank; i++)
    if (__builtin_mul_overflow(n, dims[i], &n)) return -1;
  return n <= INT64_MAX / 16 ? n : -1;
}

static void c_order(const int64_t *dims, size_t rank, size_t size, int64_t *strides) {
  int64_t step = (int64_t)size;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = step;
    if (dims[i] > 0) step *= dims[i];
  }
}

/* ---- layouts of buffers: axes from the one whose elements are neighbours to the outermost */

void nxj_set_c_order(int64_t *shape, size_t rank) {
  for (size_t i = 0; i < rank; i++) shape[rank + i] = (int64_t)(rank - 1 - i);
}

bool nxj_has_c_order(const int64_t *shape, size_t rank) {
  for (size_t i = 0; i < rank; i++)
    if (shape[rank + i] != (int64_t)(rank - 1 - i)) return false;
  return true;
}

void nxj_in_memory(const int64_t *shape, size_t rank, const int64_t *of_axes, int64_t *out) {
  const int64_t *next = shape + 2 * rank; /* from the outermost axis inwards */
  bool empty = nxj_elements(shape, rank) == 0;
  for (size_t k = 0; k < rank; k++) {
    out[k] = of_axes[k];
    if (empty || shape[k] == 1) continue;
    do next--;
    while (shape[*next] == 1);
    out[k] = of_axes[*next];
  }
}

static bool are_axes(const int64_t *axes, size_t n, size_t rank) {
  uint64_t seen = 0;
  if (n != rank || rank > NX_MAX_RANK) return false;
  for (size_t i = 0; i < rank; i++) {
    if (axes[i] < 0 || axes[i] >= (int64_t)rank || (seen >> axes[i] & 1)) return false;
    seen |= (uint64_t)1 << axes[i];
  }
  return true;
}

/* The axes by their strides, and those that are alike as in C order. */
static void sort_axes(const int64_t *strides, size_t rank, int64_t *axes) {
  for (size_t i = 0; i < rank; i++) {
    int64_t axis = (int64_t)(rank - 1 - i);
    size_t k = i;
    for (; k > 0 && strides[axes[k - 1]] > strides[axis]; k--) axes[k] = axes[k - 1];
    axes[k] = axis;
  }
}

static void by_axes(const int64_t *axes, const int64_t *dims, size_t rank, size_t size,
                    int64_t *strides) {
  int64_t step = (int64_t)size;
  for (size_t i = 0; i < rank; i++) {
    strides[axes[i]] = step;
    if (dims[axes[i]] > 0) step *= dims[axes[i]];
  }
}

static bool same_strides(const int64_t *dims, const int64_t *a, const int64_t *b, size_t rank) {
  for (size_t i = 0; i < rank; i++)
    if (dims[i] != 1 && a[i] != b[i]) return false;
  return true;
}

bool nxj_set_layout(int64_t *shape, size_t rank, size_t size, const nxj_memory_layout *layout) {
  int64_t axes[NX_MAX_RANK], strides[NX_MAX_RANK];
  if (layout == NULL) return nxj_set_c_order(shape, rank), true;
  bool tiled = layout->type == NXJ_TILED;
  const int64_t *given = tiled ? layout->tiled.minor_to_major : axes;
  if (tiled && (layout->tiled.n_tiles != 0 || !are_axes(given, layout->tiled.n, rank)))
    return false;
  if (!tiled) {
    if (layout->strides.n != rank) return false;
    if (nxj_is_c_order(shape, layout->strides.bytes, rank, size))
      return nxj_set_c_order(shape, rank), true;
    sort_axes(layout->strides.bytes, rank, axes);
    by_axes(axes, shape, rank, size, strides);
    if (!same_strides(shape, layout->strides.bytes, strides, rank)) return false;
  }
  if (rank > 0) memcpy(shape + rank, given, rank * sizeof *shape);
  return true;
}

bool nxj_strides_of(const nxj_memory_layout *layout, const int64_t *shape, size_t rank, size_t size,
                    int64_t *strides) {
  if (layout == NULL) return by_axes(shape + rank, shape, rank, size, strides), true;
  if (layout->type == NXJ_STRIDED) {
    if (layout->strides.n != rank) return false;
    for (size_t i = 0; i < rank; i++) strides[i] = layout->strides.bytes[i];
    return true;
  }
  if (layout->tiled.n_tiles != 0) return false;
  if (!are_axes(layout->tiled.minor_to_major, layout->tiled.n, rank)) return false;
  return by_axes(layout->tiled.minor_to_major, shape, rank, size, strides), true;
}

bool nxj_is_c_order(const int64_t *dims, const int64_t *strides, size_t rank, size_t size) {
  int64_t step = (int64_t)size;
  for (size_t i = rank; i-- > 0;) {
    if (dims[i] != 1 && strides[i] != step) return false;
    step *= dims[i];
  }
  return true;
}

/* ---- copies. The innermost axis is a loop of its own, for the sizes that elements have. */

static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     size_t size) {
  if (to_step == (int64_t)size && from_step == (int64_t)size) {
    memcpy(to, from, (size_t)n * size);
    return;
  }
#define ROW_OF(bytes)                                                                      \
  case bytes:                                                                              \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, bytes); \
    break
  switch (size) {
    ROW_OF(1);
    ROW_OF(2);
    ROW_OF(4);
    ROW_OF(8);
    ROW_OF(16);
    default: break;
  }
#undef ROW_OF
}

static void copy(char *to, const int64_t *to_strides, const char *from, const int64_t *from_strides,
                 const int64_t *dims, size_t rank, size_t size) {
  int64_t at[NX_MAX_RANK] = {0};
  if (nxj_elements(dims, rank) <= 0) return;
  if (rank == 0) {
    memcpy(to, from, size);
    return;
  }
  size_t last = rank - 1;
  for (;;) {
    copy_row(to, to_strides[last], from, from_strides[last], dims[last], size);
    size_t i = last;
    for (;;) { /* the next row */
      if (i-- == 0) return;
      to += to_strides[i];
      from += from_strides[i];
      if (++at[i] < dims[i]) break;
      to -= to_strides[i] * dims[i];
      from -= from_strides[i] * dims[i];
      at[i] = 0;
    }
  }
}

void nxj_gather(void *packed, const void *from, const int64_t *dims, const int64_t *strides,
                size_t rank, size_t size) {
  int64_t own[NX_MAX_RANK];
  c_order(dims, rank, size, own);
  copy(packed, own, from, strides, dims, rank, size);
}

void nxj_scatter(void *to, const void *packed, const int64_t *dims, const int64_t *strides,
                 size_t rank, size_t size) {
  int64_t own[NX_MAX_RANK];
  c_order(dims, rank, size, own);
  copy(to, strides, packed, own, dims, rank, size);
}

void nxj_pack_halves(uint8_t *packed, const uint8_t *bytes, size_t n) {
  for (size_t i = 0; i < n; i += 2) {
    unsigned high = i + 1 < n ? bytes[i + 1] & 15u : 0;
    packed[i / 2] = (uint8_t)((bytes[i] & 15u) | high << 4);
  }
}

void nxj_unpack_halves(uint8_t *bytes, const uint8_t *packed, size_t n, bool negative) {
  for (size_t i = 0; i < n; i++) {
    unsigned x = packed[i / 2] >> (i % 2 * 4) & 15u;
    bytes[i] = (uint8_t)(negative && x >= 8 ? x | 0xf0u : x);
  }
}

/* ---- the extension. A layout is its text, as XLA writes it: axes, from the innermost. */

struct nxj_layout {
  size_t n;
  char text[160];
};

static nxj_layout *layout_new(int type, const int64_t *axes, size_t rank) {
  nxj_layout *l = nxi_malloc(sizeof *l);
  if (l == NULL) return NULL;
  l->text[0] = '{';
  l->n = 1;
  for (size_t i = 0; i < rank && l->n < sizeof l->text - 16; i++)
    l->n += (size_t)snprintf(l->text + l->n, 8, i + 1 < rank ? "%d," : "%d", (int)axes[i]);
  bool half = type == NXJ_TYPE_S4 || type == NXJ_TYPE_U4 || type == NXJ_TYPE_F4E2M1;
  l->n += (size_t)snprintf(l->text + l->n, 16, "%s}", half ? ":E(4)" : "");
  return l;
}

static nxj_error *layout_destroy(void *args) {
  NXJ_TAKE(layout, layout);
  nxi_free(a->layout);
  return NULL;
}

static nxj_error *layout_serialize(void *args) {
  NXJ_TAKE(layout_serialize, release);
  nxj_bytes *b = nxj_bytes_new(a->layout->n);
  if (b == NULL) return nxj_no_memory();
  memcpy(b->at, a->layout->text, a->layout->n);
  a->bytes = b->at;
  a->n = b->n;
  a->owner = b;
  a->release = nxj_bytes_free;
  return NULL;
}

static nxj_error *layout_default(void *args) {
  NXJ_TAKE(layout_default, layout);
  int64_t shape[2 * NX_MAX_RANK] = {0};
  if (a->n > NX_MAX_RANK)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: a buffer of rank %zu; the highest is %d", a->n,
                    NX_MAX_RANK);
  nxj_set_c_order(shape, a->n);
  nxj_layout *l = layout_new(a->type, shape + a->n, a->n);
  if (l == NULL) return nxj_no_memory();
  a->layout = l;
  return NULL;
}

static nxj_error *layout_of_buffer(void *args) {
  NXJ_TAKE(layout_of_buffer, layout);
  const nxj_buffer *b = a->buffer;
  nxj_layout *l = layout_new(b->type, b->shape + b->rank, (size_t)b->rank);
  if (l == NULL) return nxj_no_memory();
  a->layout = l;
  return NULL;
}

/* The list is the executable's; each layout in it too, so they are made once. */
static nxj_error *layouts_of(const nxj_port *ports, size_t n, nxj_layout ***kept) {
  nxj_lock();
  nxj_layout **list = *kept;
  nxj_unlock();
  if (list != NULL) return NULL;
  list = nxi_calloc(n + 1, sizeof *list);
  bool good = list != NULL;
  for (size_t i = 0; good && i < n; i++)
    good = (list[i] = layout_new(ports[i].type, ports[i].shape + ports[i].rank,
                                 (size_t)ports[i].rank)) != NULL;
  nxj_lock();
  bool first = good && *kept == NULL;
  if (first) *kept = list;
  nxj_unlock();
  if (!first) nxj_layouts_free(list, n);
  return good ? NULL : nxj_no_memory();
}

void nxj_layouts_free(nxj_layout **list, size_t n) {
  for (size_t i = 0; list != NULL && i < n; i++) nxi_free(list[i]);
  nxi_free(list);
}

static nxj_error *layouts_of_outputs(void *args) {
  NXJ_TAKE(layouts_of_ports, list);
  nxj_executable *e = a->executable;
  nxj_error *error = layouts_of(e->out, e->n_out, &e->out_layouts);
  a->n = e->n_out;
  a->list = e->out_layouts;
  return error;
}

static nxj_error *layouts_of_inputs(void *args) {
  NXJ_TAKE(layouts_of_ports, list);
  nxj_executable *e = a->executable;
  nxj_error *error = layouts_of(e->in, e->n_in, &e->in_layouts);
  a->n = e->n_in;
  a->list = e->in_layouts;
  return error;
}

const nxj_layouts_extension nxj_layouts = {
    {sizeof nxj_layouts, NXJ_EXTENSION_LAYOUTS, NULL},
    {layout_destroy, layout_serialize, layout_default, layout_of_buffer, layout_default,
     layouts_of_outputs, layouts_of_inputs},
};
