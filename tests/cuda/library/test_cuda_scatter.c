/* SPDX-License-Identifier: ISC */
/* Tests of scatter on the device "cuda" over a fake driver (fake_cuda.h). For each of its methods
 * the results have the same bits as on the processor, and the host does no work. Each call of the
 * driver fails once. */
#include "tests/cuda/fake_device.h"

#include "ir/dtype.h"
#include "runtime/cuda/maker.h"
#include "runtime/cuda/library/scatter.h"
#include "tests/util/runner.h"

/* ---- without the public interface: all layouts */

static uint64_t seed = 7;
static uint64_t draw(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 33;
}

/* Numbers whose sums depend on their order, unless `whole`. */
static void fill(void *at, nx_dtype t, int64_t n, bool whole) {
  for (int64_t i = 0; i < n; i++) {
    const uint64_t bits = draw() << 31 ^ draw();
    const double number = whole ? (double)(draw() % 100) : (double)(draw() % 2000) / 7 - 100;
    if (t == NX_F32) ((float *)at)[i] = (float)number;
    else if (t == NX_F64) ((double *)at)[i] = number;
    else memcpy((char *)at + i * nxi_dtype_size(t), &bits, (size_t)nxi_dtype_size(t));
  }
}

typedef struct trial {
  nx_dtype dtype;
  int mode; /* an nxi_scatter_mode */
  bool pairs, wide_indices, any_order;
  int32_t rank, axis;
  int64_t shape[3], extent;
  unsigned keyed; /* axes along which the indices differ */
  bool backwards; /* updates */
  int launches;
  /* the result has the same extents as the updates except along the axis; 1: the updates have gaps;
   * 2: they have none */
  int exact;
} trial;

/* Computes strides in C order of a shape that has only the axes in the mask; returns the number of
 * elements. */
static int64_t strides_of(const trial *t, const int64_t *shape, unsigned mask, int64_t *strides) {
  int64_t n = 1;
  for (int32_t i = t->rank; i-- > 0;) {
    strides[i] = mask >> i & 1 ? n : 0;
    if (mask >> i & 1) n *= shape[i];
  }
  return n;
}

static void agrees(nxi_gpu *g, const trial *t) {
  nxi_scatter s = {.dtype = t->dtype,
                   .mode = (nxi_scatter_mode)t->mode,
                   .pairs = t->pairs,
                   .index = t->wide_indices ? NX_I64 : NX_I32,
                   .rank = t->rank,
                   .axis = t->axis,
                   .extent = t->extent};
  int64_t result[3], given[3];
  for (int32_t i = 0; i < t->rank; i++) {
    s.shape[i] = t->shape[i];
    result[i] = i == t->axis ? t->extent : t->shape[i] + !t->exact;
    given[i] = t->shape[i] + (t->exact == 1 && i == t->rank - 1);
  }
  const int64_t parts = t->pairs ? 2 : 1, size = nxi_dtype_size(t->dtype) * parts;
  const int64_t n_to = strides_of(t, result, 7, s.to),
                n_indices = strides_of(t, t->shape, t->keyed | 1u << t->axis, s.indices),
                n_updates = strides_of(t, given, 7, s.updates);
  char *to = malloc((size_t)(n_to * size)), *wanted = malloc((size_t)(n_to * size)),
       *updates = malloc((size_t)(n_updates * size));
  const int64_t index_size = t->wide_indices ? 8 : 4;
  char *indices = malloc((size_t)(n_indices * index_size));
  fill(to, t->dtype, n_to * parts, t->any_order);
  fill(updates, t->dtype, n_updates * parts, t->any_order);
  for (int64_t i = 0; i < n_indices; i++) {
    int64_t e = (int64_t)(draw() % (uint64_t)(2 * t->extent)) - t->extent;
    if (i % 3 == 0) e = t->extent / 2;
    if (i % 29 == 28) e = t->extent; /* none */
    memcpy(indices + i * index_size, &e, (size_t)index_size);
  }
  memcpy(wanted, to, (size_t)(n_to * size));
  int64_t first = 0; /* offset of the last update if they are stored backwards */
  for (int32_t i = 0; i < t->rank && t->backwards; i++) first += (t->shape[i] - 1) * s.updates[i];
  for (int32_t i = 0; i < t->rank && t->backwards; i++) s.updates[i] = -s.updates[i];
  assert_int_equal(nxi_scatter_run(&s, NULL, NULL, wanted, indices, updates + first * size), NX_OK);

  nxi_gpu_scatter *there = NULL;
  int64_t scratch_bytes;
  uint64_t at[4] = {0};
  const int64_t bytes[4] = {n_to * size, n_indices * index_size, n_updates * size, 0};
  void *const from[3] = {to, indices, updates};
  assert_int_equal(nxi_gpu_scatter_create(g, &s, t->any_order, &there, &scratch_bytes, NULL),
                   NX_OK);
  assert_non_null(there);
  assert_int_equal(nxi_gpu_alloc(g, scratch_bytes + 1, &at[3], NULL), NX_OK);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(nxi_gpu_alloc(g, bytes[i], &at[i], NULL), NX_OK);
    assert_int_equal(nxi_gpu_upload(g, at[i], from[i], bytes[i], NXI_NOW, NULL), NX_OK);
  }
  const int64_t launches = fake->launches;
  assert_int_equal(
      nxi_gpu_scatter_run(there, g, at[0], at[1], at[2] + (uint64_t)(first * size), at[3], NULL),
      NX_OK);
  assert_int_equal(fake->launches - launches, t->launches);
  assert_int_equal(nxi_gpu_download(g, to, at[0], bytes[0], NXI_NOW, NULL, NULL), NX_OK);
  assert_memory_equal(to, wanted, (size_t)bytes[0]);
  for (int i = 0; i < 3; i++) nxi_gpu_free(g, at[i], bytes[i]);
  nxi_gpu_free(g, at[3], scratch_bytes + 1);
  nxi_gpu_scatter_destroy(there);
  free(to), free(wanted), free(updates), free(indices);
}

static void agree(const trial *trials, size_t n) {
  nxi_gpu *g = NULL;
  nxi_kernel_cache *kernels = NULL;
  assert_int_equal(nxi_gpu_open(0, 0, &g, NULL), NX_OK);
  assert_int_equal(nxi_kernel_cache_create_for(&nxi_gpu_maker, g, "", &kernels, NULL), NX_OK);
  nxi_gpu_set_kernels(g, kernels);
  for (size_t i = 0; i < n; i++) agrees(g, &trials[i]);
  nxi_kernel_cache_destroy(kernels);
  nxi_gpu_close(g);
}

static void layouts(void **state) {
  static const trial trials[] = {
      /* a thread for a column */
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 2, 0, {20, 7, 0}, 5, 0, false, 1, 0},
      {NX_F64, NXI_SCATTER_ADD, true, true, false, 3, 1, {2, 30, 3}, 6, 5, true, 1, 0},
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 3, 0, {20, 7, 3}, 5, 6, false, 1, 1},
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 3, 0, {20, 7, 3}, 5, 4, false, 1, 2},
      {NX_BOOL, NXI_SCATTER_SET, false, false, false, 3, 2, {3, 4, 9}, 5, 2, false, 1, 0},
      /* in any order */
      {NX_U8, NXI_SCATTER_ADD, false, false, false, 3, 1, {3, 70, 5}, 6, 5, false, 1, 0},
      {NX_I16, NXI_SCATTER_ADD, false, true, false, 1, 0, {100, 0, 0}, 7, 0, true, 1, 0},
      {NX_I32, NXI_SCATTER_ADD, false, false, false, 2, 0, {90, 4, 0}, 7, 0, false, 1, 0},
      {NX_U64, NXI_SCATTER_ADD, false, false, false, 2, 1, {3, 70, 0}, 300, 1, false, 1, 0},
      {NX_F32, NXI_SCATTER_ADD, false, false, true, 2, 0, {80, 3, 0}, 5, 0, false, 1, 0},
      {NX_F64, NXI_SCATTER_ADD, true, false, true, 2, 0, {80, 3, 0}, 5, 0, false, 1, 0},
      /* by sorted elements: keys, their sort, sums */
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 2, 0, {70, 9, 0}, 11, 0, false, 3, 0},
      {NX_F32, NXI_SCATTER_ADD, false, true, false, 3, 1, {3, 65, 4}, 5, 5, true, 3, 0},
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 3, 0, {70, 3, 4}, 11, 0, true, 3, 1},
      {NX_F32, NXI_SCATTER_ADD, true, false, false, 3, 0, {130, 2, 3}, 70000, 2, false, 3, 0},
      {NX_F64, NXI_SCATTER_ADD, false, false, false, 1, 0, {300, 0, 0}, 1, 0, false, 3, 0},
      {NX_U8, NXI_SCATTER_SET, false, false, false, 2, 1, {5, 66, 0}, 17, 1, false, 3, 0},
      {NX_F32, NXI_SCATTER_SET, true, false, false, 2, 0, {66, 5, 0}, 17, 0, true, 3, 0},
  };
  (void)state;
  agree(trials, sizeof trials / sizeof *trials);
}

/* A third of all updates are of one element: by a warp, and by a thread for each column. */
static void hot_elements(void **state) {
  static const trial trials[] = {
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 1, 0, {5000, 0, 0}, 11, 0, false, 3, 0},
      {NX_F32, NXI_SCATTER_ADD, false, false, false, 1, 0, {8300, 0, 0}, 11, 0, false, 6, 0},
      {NX_F64, NXI_SCATTER_ADD, true, true, false, 2, 0, {700, 2, 0}, 90, 0, true, 3, 0},
      {NX_U16, NXI_SCATTER_MAX, false, false, false, 2, 0, {1000, 3, 0}, 2000, 2, false, 3, 0},
      {NX_F64, NXI_SCATTER_ADD, false, false, false, 2, 0, {400, 40, 0}, 70, 0, false, 3, 0},
      {NX_F32, NXI_SCATTER_MUL, false, false, false, 2, 0, {390, 40, 0}, 3, 0, false, 3, 0},
  };
  (void)state;
  agree(trials, sizeof trials / sizeof *trials);
}

/* Each mode that sums do not show, by a thread for a column and by sorted elements in turns. */
static void modes(void **state) {
  static const nx_dtype numbers[] = {NX_U8, NX_F32, NX_I16, NX_F64, NX_I32, NX_U64},
                        words[] = {NX_BOOL, NX_U8, NX_I64, NX_BOOL, NX_U16};
  trial trials[40];
  size_t n = 0;
  (void)state;
  for (int mode = NXI_SCATTER_MUL; mode <= NXI_SCATTER_XOR; mode++) {
    bool bits = mode >= NXI_SCATTER_AND;
    for (size_t i = 0; i < (bits ? sizeof words : sizeof numbers) / sizeof *words; i++) {
      bool sorted = (i + (size_t)mode) % 2;
      trials[n++] = (trial){.dtype = bits ? words[i] : numbers[i],
                            .mode = mode,
                            .wide_indices = i % 3 == 0,
                            .rank = 2,
                            .shape = {sorted ? 70 : 20, 9},
                            .extent = 11,
                            .launches = sorted ? 3 : 1};
    }
  }
  agree(trials, n);
}

/* ---- through the public interface */

static nx_tensor *whole(nx_context *c, nx_device device, int64_t n, int64_t most) {
  nx_tensor *x = nx_empty(c, 0, NX_I32, &n, 1);
  int32_t *data = malloc((size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++) data[i] = (int32_t)(i * i % most);
  if (x != NULL && nx_write(x, data, (size_t)n * sizeof *data, NULL) != NX_OK) x = NULL;
  free(data);
  return x != NULL ? nx_to_device(x, device) : NULL;
}

/* Sums in rows of 3, of 70 updates, over the template. */
static nx_status scenario(nx_context *c, nx_device device, float to[7 * 3]) {
  const uint32_t flags = 0;
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *updates = nx_cast(nx_reshape(whole(c, device, 210, 1009), NX_SHAPE(70, 3), 0), NX_F32);
  nx_tensor *rows =
      nx_expand(nx_reshape(whole(c, device, 70, 7), NX_SHAPE(70, 1), 0), NX_SHAPE(70, 3));
  nx_tensor *x = nx_full(c, device, NX_F32, NX_SHAPE(7, 3), NX_NUMBER(0.125));
  updates = nx_div(updates, nx_full(c, device, NX_F32, NULL, 0, NX_NUMBER(7)));
  nx_tensor *y = nx_scatter(x, rows, updates, 0, NX_SCATTER_ADD, flags);
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_status status = y != NULL ? nx_realize(c, &y, 1, &o) : nx_error_take(NULL);
  if (status == NX_OK) status = nx_read(y, to, 7 * 3 * sizeof *to, NULL);
  if (status == NX_OK) assert_int_equal(report.host_calls, 0);
  else nx_error_take(NULL);
  if (s != NULL) nx_scope_end(s);
  return status;
}

static void sums_of_rows(void **state) {
  float wanted[7 * 3], is[7 * 3];
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .flags = NX_UNORDERED_SUMS};
  (void)state;
  OK(scenario(ctx, 0, wanted));
  OK(scenario(ctx, CUDA, is));
  assert_memory_equal(is, wanted, sizeof is);
  OK(nx_context_create(&o, &c));
  OK(scenario(c, CUDA, is));
  for (int i = 0; i < 7 * 3; i++)
    assert_true(is[i] > wanted[i] * 0.9999F && is[i] < wanted[i] * 1.0001F);
  nx_context_release(c);
}

static void every_call_fails(void **state) {
  float wanted[7 * 3], is[7 * 3];
  bool done = false;
  (void)state;
  OK(scenario(ctx, CUDA, wanted));
  for (int64_t n = 1; !done; n++) {
    nx_context *c = NULL;
    OK(nx_context_create(NULL, &c));
    const nxt_fake before = *fake;
    fake->fail_at = fake->calls + n;
    fake->fail_with = n % 2 ? 2 : 1;
    nx_status status = scenario(c, CUDA, is);
    done = fake->calls < fake->fail_at;
    fake->fail_at = 0;
    if (status != NX_OK) assert_true(is_failure_of_a_call(status));
    if (status == NX_OUT_OF_MEMORY) status = scenario(c, CUDA, is);
    if (status == NX_OK) assert_memory_equal(is, wanted, sizeof wanted);
    nx_context_release(c);
    nothing_is_left(&before);
  }
}

NXT_MAIN(cuda_scatter) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(layouts),      IN_SCOPE(hot_elements),     IN_SCOPE(modes),
      IN_SCOPE(sums_of_rows), IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
