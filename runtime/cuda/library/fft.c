/* SPDX-License-Identifier: ISC */
/* Fourier transforms over several axes with cuFFT, in stages.
 *
 * Adjacent axes at the end of the tensor are one transform of up to three dimensions; other axes
 * are transformed one by one. cuFFT has no layout for an axis with elements both before and after
 * it, so such an axis is moved to the end and back. Transforms from half a spectrum to real numbers
 * are of one dimension and read a copy, for two reasons. Imaginary parts that a spectrum of real
 * numbers cannot have are set to 0 in it, because cuFFT's result is not defined with them, nor in
 * several dimensions; and cuFFT overwrites what it reads. */
#include <string.h>

#include "arrays.h"
#include "calls.h"
#include "cufft.h"
#include "ir/alloc.h"

/* The places where a stage reads and writes. The last three are scratch memory: the spectrum of
 * irfft, and the moved elements before (MOVED) and after (DONE) the transform. */
enum { OPERAND, RESULT, SPECTRUM, MOVED, DONE, PLACES };

typedef struct stage {
  int kernel; /* -1: a transform */
  int from, to;
  nx_dtype dtype; /* of the kernel's elements */
  int32_t n_sizes;
  int64_t sizes[5], items; /* the kernel's arguments after its two addresses; its threads */
  nxi_cufft_shape shape;
  nxi_kernel *code;
} stage;

typedef struct fft {
  nx_dtype pairs, reals;
  bool inverse, too_large;
  int32_t n_stages, at; /* at: the place of the numbers so far */
  int64_t bytes[PLACES];
  stage stages[];
} fft;

enum { SINGLE_MOST = 512000000, DOUBLE_MOST = 256000000 }; /* longest lengths that cuFFT supports */

static bool is_ours(const nxg_call *call) {
  return call->op == NXG_fft || call->op == NXG_ifft || call->op == NXG_rfft ||
         call->op == NXG_irfft;
}

static const char *lacks(const nxg_call *call) {
  return is_ours(call) ? nxi_cufft_missing() : NULL;
}

static bool takes(nxi_gpu *g, const nxg_call *call) {
  (void)g;
  if (!is_ours(call) || nxi_cufft_missing() != NULL) return false;
  int64_t most = nxi_part_dtype(call->operands[0].dtype) == NX_F64 ? DOUBLE_MOST : SINGLE_MOST;
  for (int32_t i = 0; i < call->operands[0].rank; i++)
    if (call->attrs[0] >> i & 1 &&
        (call->operands[0].shape[i] > most || call->results[0].shape[i] > most))
      return false;
  return true;
}

/* ---- stages */

static stage *add(fft *f, int kernel, int to, int64_t elements, nx_dtype t) {
  stage *s = &f->stages[f->n_stages++];
  *s = (stage){.kernel = kernel, .from = f->at, .to = to, .dtype = f->pairs};
  int64_t bytes;
  f->too_large |= __builtin_mul_overflow(elements, nxi_dtype_size(t), &bytes);
  if (bytes > f->bytes[to]) f->bytes[to] = bytes;
  f->at = to;
  return s;
}

static void add_kernel(fft *f, nxi_arrays_kernel which, nx_dtype t, int to, nx_dtype written,
                       int64_t items, int32_t n, const int64_t *sizes) {
  stage *s = add(f, which, to, items, written);
  s->dtype = t;
  s->items = items;
  s->n_sizes = n;
  memcpy(s->sizes, sizes, (size_t)n * sizeof *sizes);
}

static void add_transpose(fft *f, nx_dtype t, int to, int64_t matrices, int64_t rows,
                          int64_t columns) {
  int64_t each = rows * columns;
  add_kernel(f, NXI_ARRAYS_transpose, t, to, t, matrices * each, 5,
             (int64_t[]){matrices, rows, columns, each, each});
}

/* A transform of `rank` dimensions; outer and inner: numbers of elements before and after its
 * axes. */
typedef struct group {
  nxi_cufft_form form;
  int32_t rank;
  int64_t n[NXI_CUFFT_RANK], outer, inner;
} group;

/* For the side that is read (0) or written (1): the elements along the last dimension, the elements
 * of one transform, and their type. */
static int64_t last_extent(const group *g, int side) {
  bool half = g->form == (side == 0 ? NXI_CUFFT_TO_REAL : NXI_CUFFT_FROM_REAL);
  return half ? g->n[g->rank - 1] / 2 + 1 : g->n[g->rank - 1];
}
static int64_t length(const group *g, int side) {
  int64_t elements = last_extent(g, side);
  for (int32_t i = 0; i < g->rank - 1; i++) elements *= g->n[i];
  return elements;
}
static nx_dtype dtype_of(const fft *f, const group *g, int side) {
  return g->form == (side == 0 ? NXI_CUFFT_FROM_REAL : NXI_CUFFT_TO_REAL) ? f->reals : f->pairs;
}

/* Adds the stage of transforms that are adjacent, or, in one dimension, interleaved. */
static void add_plan(fft *f, const group *g, int to) {
  bool beside = g->inner > 1;
  int64_t batch = beside ? g->inner : g->outer;
  stage *s = add(f, -1, to, batch * length(g, 1), dtype_of(f, g, 1));
  nxi_cufft_shape *shape = &s->shape;
  shape->form = g->form;
  shape->wide = f->reals == NX_F64;
  shape->rank = g->rank;
  shape->batch = batch;
  for (int32_t i = 0; i < g->rank; i++) shape->n[i] = shape->box[0][i] = shape->box[1][i] = g->n[i];
  for (int side = 0; side < 2; side++) {
    shape->box[side][g->rank - 1] = last_extent(g, side);
    shape->stride[side] = beside ? g->inner : 1;
    shape->distance[side] = beside ? 1 : length(g, side);
  }
}

static void add_group(fft *f, const group *g, int to) {
  if (g->inner == 1 || (g->outer == 1 && g->rank == 1)) {
    add_plan(f, g, to);
    return;
  }
  group last = *g;
  last.outer *= g->inner;
  last.inner = 1;
  add_transpose(f, dtype_of(f, g, 0), MOVED, g->outer, length(g, 0), g->inner);
  add_plan(f, &last, g->form == NXI_CUFFT_COMPLEX ? MOVED : DONE);
  add_transpose(f, dtype_of(f, g, 1), to, g->outer, g->inner, length(g, 1));
}

/* ---- axes */

static group around(const int64_t *shape, int32_t rank, int32_t axis, int64_t n,
                    nxi_cufft_form form) {
  group g = {.form = form, .rank = 1, .n = {n}, .outer = 1, .inner = 1};
  for (int32_t i = 0; i < axis; i++) g.outer *= shape[i];
  for (int32_t i = axis + 1; i < rank; i++) g.inner *= shape[i];
  return g;
}

/* Adds to the group the axes of the mask that are directly before it, and removes them from the
 * mask. */
static void extend(group *g, const int64_t *shape, int32_t axis, int64_t *mask) {
  if (g->inner > 1) return;
  while (axis-- > 0 && g->rank < NXI_CUFFT_RANK) {
    if (shape[axis] == 1) continue;
    if ((*mask >> axis & 1) == 0) return;
    *mask &= ~((int64_t)1 << axis);
    memmove(g->n + 1, g->n, (size_t)g->rank * sizeof *g->n);
    g->n[0] = shape[axis];
    g->rank++;
    g->outer /= shape[axis];
  }
}

/* Adds the stages of the complex axes in the mask, from the last one to the first; the result goes
 * to that place. */
static void add_axes(fft *f, const int64_t *shape, int32_t rank, int64_t mask, int to) {
  for (int32_t axis = rank; axis-- > 0;) {
    if ((mask >> axis & 1) == 0 || shape[axis] == 1) continue;
    group g = around(shape, rank, axis, shape[axis], NXI_CUFFT_COMPLEX);
    extend(&g, shape, axis, &mask);
    add_group(f, &g, to);
  }
}

static void add_from_real(fft *f, const nxg_call *c) {
  const nxg_array *a = &c->operands[0], *r = &c->results[0];
  int32_t axis = (int32_t)c->attrs[1];
  int64_t mask = c->attrs[0] & ~((int64_t)1 << axis), n = a->shape[axis];
  if (n == 1) {
    int64_t elements = nxg_elements(r->rank, r->shape);
    add_kernel(f, NXI_ARRAYS_widen, f->pairs, RESULT, f->pairs, elements, 1, &elements);
  } else {
    group g = around(a->shape, a->rank, axis, n, NXI_CUFFT_FROM_REAL);
    extend(&g, a->shape, axis, &mask);
    add_group(f, &g, RESULT);
  }
  add_axes(f, r->shape, r->rank, mask, RESULT);
}

static void add_to_real(fft *f, const nxg_call *c) {
  const nxg_array *a = &c->operands[0], *r = &c->results[0];
  int32_t axis = (int32_t)c->attrs[1];
  int64_t n = r->shape[axis], half = n / 2 + 1;
  group g = around(a->shape, a->rank, axis, n, NXI_CUFFT_TO_REAL);
  if (a->shape[axis] > 0)
    add_axes(f, a->shape, a->rank, c->attrs[0] & ~((int64_t)1 << axis), SPECTRUM);
  int fitted = f->at == SPECTRUM && half != a->shape[axis] ? DONE : SPECTRUM;
  add_kernel(f, NXI_ARRAYS_fit, f->pairs, fitted, f->pairs, g.outer * half * g.inner, 4,
             (int64_t[]){g.outer, a->shape[axis], g.inner, n});
  int64_t elements = g.outer * g.inner;
  if (n == 1)
    add_kernel(f, NXI_ARRAYS_real_part, f->pairs, RESULT, f->reals, elements, 1, &elements);
  else add_group(f, &g, RESULT);
}

/* ---- the call */

static void release(void *state) {
  fft *f = state;
  for (int32_t i = 0; f != NULL && i < f->n_stages; i++) nxi_kernel_release(f->stages[i].code);
  nxi_free(f);
}

static nx_status all_code(nxi_gpu *g, fft *f, nxi_diag *d) {
  nx_status status = NX_OK;
  for (int32_t i = 0; i < f->n_stages && status == NX_OK; i++) {
    stage *s = &f->stages[i];
    if (s->kernel >= 0)
      status = nxi_arrays_get(g, (nxi_arrays_kernel)s->kernel, s->dtype, &s->code, d);
  }
  return status;
}

static int64_t padded(int64_t bytes) { return (bytes + 255) & ~(int64_t)255; }

/* Plans the stages, and sets the size of the scratch memory in `work`. */
static nx_status plan(fft *f, const nxg_call *c, nxi_gpu_call_work *work, nxi_diag *d) {
  const nxg_array *a = &c->operands[0];
  if (c->op == NXG_rfft) add_from_real(f, c);
  else if (c->op == NXG_irfft) add_to_real(f, c);
  else add_axes(f, a->shape, a->rank, c->attrs[0], RESULT);
  for (int i = SPECTRUM; i < PLACES; i++)
    f->too_large |=
        f->bytes[i] > INT64_MAX - 255 ||
        __builtin_add_overflow(work->scratch_bytes, padded(f->bytes[i]), &work->scratch_bytes);
  if (!f->too_large) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, nxg_ops[c->op].name, "%s: it is too large",
                  nxg_ops[c->op].name);
}

static nx_status prepare(nxi_gpu *g, const nxg_call *c, nxi_gpu_call_work *work, nxi_diag *d) {
  const nxg_array *r = &c->results[0];
  nx_dtype part = nxi_part_dtype(r->dtype);
  if (nxg_elements(r->rank, r->shape) == 0) return NX_OK;
  size_t most = 3 * (size_t)__builtin_popcountll((uint64_t)c->attrs[0]) + 2;
  fft *f = nxi_calloc(1, sizeof *f + most * sizeof *f->stages);
  if (f == NULL) return nxi_oom(d);
  f->reals = part;
  f->pairs = nxi_pair_dtype(part);
  f->inverse = c->op == NXG_ifft || c->op == NXG_irfft;
  f->at = OPERAND;
  nx_status status = plan(f, c, work, d);
  if (status == NX_OK) status = all_code(g, f, d);
  if (status == NX_OK) work->state = f;
  else release(f);
  return status;
}

static nx_status run_kernel(const stage *s, uint64_t from, uint64_t to, nxi_diag *d) {
  int64_t sizes[5];
  void *arguments[7] = {&from, &to};
  for (int32_t i = 0; i < s->n_sizes; i++) {
    sizes[i] = s->sizes[i];
    arguments[2 + i] = &sizes[i];
  }
  return nxi_arrays_run(s->code, s->items, arguments, d);
}

/* cuFFT requires real numbers to be aligned like a pair. Operands and results, which may be parts
 * of larger tensors, may be less aligned. */
static nx_status run_transform(nxi_gpu *g, const fft *f, const stage *s, uint64_t from, uint64_t to,
                               nxi_diag *d) {
  bool first = s->shape.form == NXI_CUFFT_FROM_REAL;
  int64_t bytes = s->shape.batch * nxi_dtype_size(f->reals);
  uint64_t reals = first ? from : to, apart = 0;
  if (s->shape.form == NXI_CUFFT_COMPLEX || reals % (uint64_t)nxi_dtype_size(f->pairs) == 0)
    return nxi_cufft_run(g, &s->shape, f->inverse, from, to, d);
  for (int64_t i = 0; i < s->shape.rank; i++) bytes *= s->shape.n[i];
  nx_status status = nxi_gpu_alloc(g, bytes, &apart, d);
  if (status != NX_OK) return status;
  if (first) status = nxi_gpu_copy(g, apart, from, bytes, d);
  if (status == NX_OK)
    status = nxi_cufft_run(g, &s->shape, f->inverse, first ? apart : from, first ? to : apart, d);
  if (status == NX_OK && !first) status = nxi_gpu_copy(g, to, apart, bytes, d);
  nxi_gpu_free(g, apart, bytes);
  return status;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const fft *f = r->work->state;
  uint64_t places[PLACES] = {r->operands[0], r->results[0], r->scratch};
  nx_status status = NX_OK;
  if (f == NULL) return NX_OK;
  for (int i = MOVED; i < PLACES; i++)
    places[i] = places[i - 1] + (uint64_t)padded(f->bytes[i - 1]);
  if (f->n_stages == 0) { /* all transforms have length 1 */
    const nxg_array *a = &r->call->results[0];
    int64_t bytes = nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype);
    return nxi_gpu_copy(r->gpu, places[RESULT], places[OPERAND], bytes, d);
  }
  for (int32_t i = 0; i < f->n_stages && status == NX_OK; i++) {
    const stage *s = &f->stages[i];
    uint64_t from = places[s->from], to = places[s->to];
    status = s->kernel >= 0 ? run_kernel(s, from, to, d) : run_transform(r->gpu, f, s, from, to, d);
  }
  return status;
}

/* Transforms are not captured in graphs: a plan may be destroyed to make room for another, while
 * the graph would still use its tables. */
const nxi_gpu_functions nxi_gpu_fft_functions = {.by = "cuFFT",
                                                 .takes = takes,
                                                 .lacks = lacks,
                                                 .prepare = prepare,
                                                 .run = run,
                                                 .release = release};
