/* SPDX-License-Identifier: ISC */
/* Chooses the kernels of scatter.cuh for a scatter. Sums that are the same in any order are added
 * by atomics. Otherwise the updates of an element are applied in their order. If columns are short,
 * or there are enough of them to fill the GPU, each thread walks a column. Else the numbers of the
 * target elements are sorted, together with the positions of their updates, and each thread walks
 * the updates of one element. Indices that are the same along an axis are sorted once. */
#include "scatter.h"

#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/cuda/own_code.h"
#include "sort.h"

enum {
  THREADS = 256,
  SHORT_COLUMN = 32,      /* updates of a column for which a sort is not worth its start */
  MANY_COLUMNS = 1 << 17, /* about as many threads as a large GPU runs at once */
  BLOCKS = 16,            /* most blocks for each multiprocessor; a block takes several tasks */
  MOST_VALUES = 16 + 4 * NXI_SCATTER_RANK
};

typedef enum way { BY_COLUMNS, IN_ANY_ORDER, BY_ELEMENTS } way;

typedef struct axis {
  int64_t extent, to, index, update;
} axis;

struct nxi_gpu_scatter {
  nxi_scatter shape;
  way way;
  /* outermost first; those along which the indices are the same come last ... */
  axis axes[NXI_SCATTER_RANK];
  int32_t n_axes, n_free; /* ... as many of them, BY_ELEMENTS */
  int64_t n, points;      /* updates of a column; all points of the axes */
  int64_t free_points;
  nx_dtype key; /* of elements */
  nxi_gpu_sort *sort;
  int64_t places_at, sort_at;
  nxi_kernel *keys, *moves;
};

/* ---- axes */

static bool continues(const axis *outer, const axis *inner) {
  return outer->to == inner->to * inner->extent && outer->index == inner->index * inner->extent &&
         outer->update == inner->update * inner->extent;
}

static void add_axis(nxi_gpu_scatter *s, int32_t first, axis a) {
  s->points *= a.extent;
  if (a.extent == 1) return;
  if (s->n_axes > first && continues(&s->axes[s->n_axes - 1], &a))
    a.extent *= s->axes[--s->n_axes].extent;
  s->axes[s->n_axes++] = a;
}

/* Adds axes. keyed: those along which indices differ; free: those along which they do not; own: the
 * axis of the scatter, along which a kernel does not move in the result. */
static void add_axes(nxi_gpu_scatter *s, bool keyed, bool free, bool own) {
  const nxi_scatter *h = &s->shape;
  int32_t first = s->n_axes;
  for (int32_t i = 0; i < h->rank; i++)
    if (i == h->axis ? own : h->indices[i] != 0 ? keyed : free)
      add_axis(s, first,
               (axis){h->shape[i], i == h->axis ? 0 : h->to[i], h->indices[i], h->updates[i]});
}

/* ---- kernels */

#define KERNEL "extern \"C\" __global__ void __launch_bounds__(THREADS, 4) "
#define EACH                                                                     \
  "  for (nx_i64 x = blockIdx.x * (nx_i64)THREADS + threadIdx.x; x < points; x " \
  "+= gridDim.x * (nx_i64)THREADS) {\n    nx_place p = {0, 0, 0};\n"
static const char columns_code[] = KERNEL
    "nx_columns(T *to, const I *indices, const T *updates, nx_i64 n, nx_i64 extent, "
    "nx_i64 to_step, nx_i64 index_step, nx_i64 update_step, nx_i64 points AXES(NX_AXIS)) {\n" EACH
    "    N c = (N)x;\n    AXES(NX_STEP)\n"
    "    nx_scatter_column<Move>(to + p.to, indices + p.index, updates + p.update, n, extent, "
    "to_step, index_step, update_step);\n  }\n}";
static const char sums_code[] =
    KERNEL "nx_sums(T *to, const I *indices, const T *updates, nx_i64 extent, nx_i64 to_step, "
           "nx_i64 points AXES(NX_AXIS)) {\n" EACH "    N c = (N)x;\n    AXES(NX_STEP)\n"
           "    nx_scatter_sum(to + p.to, indices[p.index], updates[p.update], extent, to_step);\n"
           "  }\n}";
static const char keys_code[] =
    KERNEL "nx_element_keys(K *keys, const I *indices, N n, nx_i64 extent, nx_i64 index_step, "
           "nx_i64 points AXES(NX_AXIS)) {\n" EACH
           "    N c = (N)x / n;\n    const nx_i64 j = (nx_i64)((N)x - c * n);\n    AXES(NX_STEP)\n"
           "    keys[x] = nx_scatter_key<K>(indices[p.index + j * index_step], extent);\n  }\n}";
/* A warp goes on as long as one of its threads has a point. Loads ahead take registers, where there
 * are sums. */
static const char elements_code[] =
    "extern \"C\" __global__ void __launch_bounds__(THREADS, Move::COMBINES ? 2 : 4) "
    "nx_elements(T *to, const T *updates, const K *keys, const int *places, N n, "
    "nx_i64 to_step, nx_i64 update_step, N free, nx_i64 points AXES(NX_AXIS) "
    "FREE(NX_AXIS)) {\n"
    "  const int lane = threadIdx.x & 31;\n"
    "  for (nx_i64 w = blockIdx.x * (nx_i64)THREADS + threadIdx.x - lane; w < points; "
    "w += gridDim.x * (nx_i64)THREADS) {\n"
    "    const bool here = w + lane < points;\n"
    "    const nx_i64 x = here ? w + lane : w;\n    nx_place p = {0, 0, 0};\n"
    "    const N at = (N)x / free, row = at / n;\n    N c = (N)x - at * free;\n"
    "    FREE(NX_STEP)\n    c = row;\n    AXES(NX_STEP)\n"
    "    nx_scatter_run<Move>(here, to + p.to, updates + p.update, keys + (nx_i64)row * n, "
    "places + "
    "(nx_i64)row * n, (int)(at - row * n), (int)n, to_step, update_step);\n  }\n}";

static const char *number_of(const nxi_scatter *h) {
  bool best = h->mode == NXI_SCATTER_MIN || h->mode == NXI_SCATTER_MAX,
       i = best && nxi_is_signed(h->dtype);
  if (h->mode != NXI_SCATTER_SET && nxi_is_float(h->dtype))
    return nxi_dtype_size(h->dtype) == 8 ? "double" : "float";
  switch (nxi_dtype_size(h->dtype)) {
    case 1: return i ? "signed char" : "nx_u8";
    case 2: return i ? "short" : "nx_u16";
    case 4: return i ? "int" : "nx_u32";
    default: return i ? "nx_i64" : "nx_u64";
  }
}

/* The struct of scatter.cuh that combines two elements. */
static const char *move_of(const nxi_scatter *h) {
  static const char *const truth[] = {[NXI_SCATTER_SET] = "nx_set_bool",
                                      [NXI_SCATTER_AND] = "nx_and_bool<T>",
                                      [NXI_SCATTER_OR] = "nx_or_bool<T>",
                                      [NXI_SCATTER_XOR] = "nx_xor_bool<T>"},
                           *const number[] = {
                               "nx_set<T>",     "nx_add<T>", "nx_mul_wrapped<T>", "nx_least_of<T>",
                               "nx_most_of<T>", "nx_and<T>", "nx_or<T>",          "nx_xor<T>"};
  if (h->dtype == NX_BOOL) return truth[h->mode];
  if (!nxi_is_float(h->dtype)) return number[h->mode];
  switch (h->mode) {
    case NXI_SCATTER_MUL: return "nx_mul<T>";
    case NXI_SCATTER_MIN: return "nx_min_of<T>";
    case NXI_SCATTER_MAX: return "nx_max_of<T>";
    default: return number[h->mode];
  }
}

static void add_list(nxi_text *text, const char *name, int32_t first, int32_t end) {
  nxi_text_add(text, "#define %s(A)", name);
  for (int32_t k = end; k-- > first;) nxi_text_add(text, " A(%d)", k);
  nxi_text_add(text, "\n");
}

static int64_t blocks_for(const nxi_gpu *g, int64_t points) {
  const int64_t blocks = (points + THREADS - 1) / THREADS,
                most = (int64_t)nxi_gpu_properties(g)->processors * BLOCKS;
  return blocks < most ? blocks : most;
}

/* points: the number of points that the kernel loops over, the constant N in its text. */
static nx_status get(nxi_gpu_scatter *s, nxi_gpu *g, const char *code, const char *entry,
                     int32_t keyed, int32_t end, int64_t points, nxi_kernel **out, nxi_diag *d) {
  const nxi_scatter *h = &s->shape;
  nxi_text text = {0};
  nxi_text_add(&text, h->pairs ? "typedef nx_two<%s> T;\n" : "typedef %s T;\n", number_of(h));
  nxi_text_add(&text, "typedef %s Move;\ntypedef %s I;\ntypedef %s N;\ntypedef %s K;\n", move_of(h),
               h->index == NX_I64 ? "nx_i64" : "int", points < INT32_MAX ? "nx_u32" : "nx_u64",
               s->key == NX_U16 ? "nx_u16" : "nx_u32");
  nxi_text_add(&text, "constexpr int THREADS = %d;\n", THREADS);
  add_list(&text, "AXES", 0, keyed);
  add_list(&text, "FREE", keyed, end);
  nxi_text_add(&text, "%s", code);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  const nxi_own_code own = {.body = nxu_scatter_code(),
                            .instance = text.data,
                            .entry = entry,
                            .threads = THREADS,
                            .blocks = blocks_for(g, points)};
  if (status == NX_OK) status = nxi_own_code_get(g, &own, out, d);
  nxi_text_free(&text);
  return status;
}

/* ---- how a scatter is done */

static way choose(const nxi_scatter *h, int64_t columns, bool any_order) {
  if (h->mode == NXI_SCATTER_ADD && (any_order || !nxi_is_float(h->dtype))) return IN_ANY_ORDER;
  if (h->shape[h->axis] <= SHORT_COLUMN || columns >= MANY_COLUMNS) return BY_COLUMNS;
  return BY_ELEMENTS;
}

static nx_status prepare_columns(nxi_gpu_scatter *s, nxi_gpu *g, nxi_diag *d) {
  add_axes(s, true, true, false);
  return get(s, g, columns_code, "nx_columns", s->n_axes, s->n_axes, s->points, &s->moves, d);
}

static nx_status prepare_sums(nxi_gpu_scatter *s, nxi_gpu *g, nxi_diag *d) {
  add_axes(s, true, true, true);
  return get(s, g, sums_code, "nx_sums", s->n_axes, s->n_axes, s->points, &s->moves, d);
}

static nx_status prepare_elements(nxi_gpu_scatter *s, nxi_gpu *g, int64_t *scratch, nxi_diag *d) {
  add_axes(s, true, false, false);
  int64_t rows = s->points, sort_bytes = 0;
  int32_t keyed = s->n_axes;
  add_axes(s, false, true, false);
  s->n_free = s->n_axes - keyed;
  s->free_points = s->points / rows;
  s->key = s->shape.extent < UINT16_MAX ? NX_U16 : NX_U32;
  const nxi_gpu_sort_shape order = {
      .dtype = s->key, .indices = true, .outer = rows, .length = s->n, .inner = 1};
  nx_status status = nxi_gpu_sort_create(g, &order, &s->sort, &sort_bytes, d);
  if (status == NX_OK)
    status = get(s, g, keys_code, "nx_element_keys", keyed, keyed, rows * s->n, &s->keys, d);
  if (status == NX_OK)
    status =
        get(s, g, elements_code, "nx_elements", keyed, s->n_axes, s->points * s->n, &s->moves, d);
  s->places_at = (rows * s->n * nxi_dtype_size(s->key) + 255) & ~(int64_t)255;
  s->sort_at = s->places_at + ((rows * s->n * 4 + 255) & ~(int64_t)255);
  *scratch = s->sort_at + sort_bytes;
  return status;
}

nx_status nxi_gpu_scatter_create(nxi_gpu *g, const nxi_scatter *shape, bool any_order,
                                 nxi_gpu_scatter **out, int64_t *scratch_bytes, nxi_diag *d) {
  int64_t columns = 1;
  *scratch_bytes = 0;
  for (int32_t i = 0; i < shape->rank; i++)
    if (i != shape->axis) columns *= shape->shape[i];
  way w = choose(shape, columns, any_order);
  bool large = shape->shape[shape->axis] > INT32_MAX || shape->extent >= UINT32_MAX;
  if (w == BY_ELEMENTS && large) return NX_OK;
  nxi_gpu_scatter *s = nxi_calloc(1, sizeof *s);
  if (s == NULL) return nxi_oom(d);
  s->shape = *shape;
  s->way = w;
  s->n = shape->shape[shape->axis];
  s->points = 1;
  nx_status status = NX_OK;
  if (columns == 0 || s->n == 0) s->points = 0; /* there is no work */
  else if (w == BY_COLUMNS) status = prepare_columns(s, g, d);
  else if (w == IN_ANY_ORDER) status = prepare_sums(s, g, d);
  else status = prepare_elements(s, g, scratch_bytes, d);
  if (status == NX_OK) *out = s;
  else nxi_gpu_scatter_destroy(s);
  return status;
}

void nxi_gpu_scatter_destroy(nxi_gpu_scatter *s) {
  if (s == NULL) return;
  nxi_gpu_sort_destroy(s->sort);
  nxi_kernel_release(s->keys);
  nxi_kernel_release(s->moves);
  nxi_free(s);
}

/* ---- runs. Arguments are 64-bit numbers; a kernel with a smaller parameter type reads their low
 * bits. */

/* values: n of them, then points, then those of the axes. */
static nx_status launch(const nxi_gpu_scatter *s, nxi_gpu *g, const nxi_kernel *k,
                        const uint64_t *given, uint32_t n, int64_t points, int32_t axes,
                        nxi_diag *d) {
  uint64_t values[MOST_VALUES];
  void *arguments[MOST_VALUES];
  memcpy(values, given, n * sizeof *values);
  values[n++] = (uint64_t)points;
  for (int32_t i = 0; i < axes; i++) {
    values[n++] = (uint64_t)s->axes[i].extent;
    values[n++] = (uint64_t)s->axes[i].to;
    values[n++] = (uint64_t)s->axes[i].index;
    values[n++] = (uint64_t)s->axes[i].update;
  }
  for (uint32_t i = 0; i < n; i++) arguments[i] = &values[i];
  return nxi_gpu_launch(nxi_kernel_code(k), blocks_for(g, points), THREADS, arguments, d);
}
#define LAUNCH(k, points, axes, ...)               \
  launch(s, g, k, (const uint64_t[]){__VA_ARGS__}, \
         sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), points, axes, d)

static nx_status run_elements(const nxi_gpu_scatter *s, nxi_gpu *g, uint64_t to, uint64_t indices,
                              uint64_t updates, uint64_t scratch, nxi_diag *d) {
  const nxi_scatter *h = &s->shape;
  uint64_t places = scratch + (uint64_t)s->places_at, n = (uint64_t)s->n;
  int32_t keyed = s->n_axes - s->n_free;
  nx_status status = LAUNCH(s->keys, s->points / s->free_points * s->n, keyed, scratch, indices, n,
                            (uint64_t)h->extent, (uint64_t)h->indices[h->axis]);
  if (status == NX_OK)
    status = nxi_gpu_sort_run(s->sort, g, scratch, places, scratch + (uint64_t)s->sort_at, d);
  if (status != NX_OK) return status;
  return LAUNCH(s->moves, s->points * s->n, s->n_axes, to, updates, scratch, places, n,
                (uint64_t)h->to[h->axis], (uint64_t)h->updates[h->axis], (uint64_t)s->free_points);
}

nx_status nxi_gpu_scatter_run(const nxi_gpu_scatter *s, nxi_gpu *g, uint64_t to, uint64_t indices,
                              uint64_t updates, uint64_t scratch, nxi_diag *d) {
  const nxi_scatter *h = &s->shape;
  if (s->points == 0) return NX_OK;
  if (s->way == BY_ELEMENTS) return run_elements(s, g, to, indices, updates, scratch, d);
  if (s->way == IN_ANY_ORDER)
    return LAUNCH(s->moves, s->points, s->n_axes, to, indices, updates, (uint64_t)h->extent,
                  (uint64_t)h->to[h->axis]);
  return LAUNCH(s->moves, s->points, s->n_axes, to, indices, updates, (uint64_t)s->n,
                (uint64_t)h->extent, (uint64_t)h->to[h->axis], (uint64_t)h->indices[h->axis],
                (uint64_t)h->updates[h->axis]);
}
