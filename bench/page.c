/* SPDX-License-Identifier: ISC */
/* Measures what docs/performance.md says: each row is one case of that page, with the median of its
 * time and the number of kernels. Usage: nx-bench-page. It speaks the public interface alone. */
#include <nx/nx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 51, WARM_UP = 3, NEW_SHAPES = 15 };

typedef struct page {
  nx_context *context;
  nx_tensor *a, *b;          /* 10^6 elements */
  nx_tensor *shared;         /* as many, in memory of the host */
  nx_tensor *m, *n, *turned; /* 4096x1024; the last one is a view of 1024x4096 */
  nx_tensor *square;         /* 1024x1024 */
  int64_t extent;            /* of the next new shape */
  uint64_t kernels, compiled;
} page;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void realize(page *p, nx_tensor *const *tensors, size_t n) {
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  nx_realize(p->context, tensors, n, &options);
  p->kernels += report.kernels;
  p->compiled += report.kernel_misses;
}

static nx_tensor *realized(page *p, nx_tensor *x) {
  realize(p, &x, 1);
  return x;
}

/* ---- the cases */

static nx_tensor *expression(nx_tensor *a, nx_tensor *b) {
  return nx_sub(nx_add(nx_binary_f64(a, NX_BINARY_MUL, 2), nx_binary_f64(b, NX_BINARY_MUL, 3)),
                nx_mul(a, b));
}

static void fused(page *p) { realized(p, expression(p->a, p->b)); }

static void step_by_step(page *p) {
  nx_tensor *twice = realized(p, nx_binary_f64(p->a, NX_BINARY_MUL, 2));
  nx_tensor *thrice = realized(p, nx_binary_f64(p->b, NX_BINARY_MUL, 3));
  nx_tensor *sum = realized(p, nx_add(twice, thrice));
  realized(p, nx_sub(sum, realized(p, nx_mul(p->a, p->b))));
}

static void with_shared(page *p) { realized(p, expression(p->shared, p->b)); }

static void softmax(page *p, int32_t axis) {
  const int32_t axes[] = {axis};
  nx_tensor *e = nx_exp(nx_sub(p->m, nx_reduce_max(p->m, axes, 1, NX_KEEPDIMS)));
  realized(p, nx_div(e, nx_reduce_sum(e, axes, 1, NX_KEEPDIMS)));
}

static void softmax_columns(page *p) { softmax(p, 0); }

static void softmax_rows(page *p) { softmax(p, 1); }

static void sum_columns(page *p) { realized(p, nx_reduce_sum(p->m, NX_AXES(0), 0)); }

static void sum_rows(page *p) { realized(p, nx_reduce_sum(p->m, NX_AXES(1), 0)); }

static void normalize(page *p) {
  nx_tensor *squares = nx_reduce_sum(nx_mul(p->m, p->m), NX_AXES(0, 1), 0);
  realized(p, nx_div(p->m, nx_sqrt(squares)));
}

static void two_results(page *p) {
  nx_tensor *e = nx_exp(p->m);
  realize(p, (nx_tensor *[]){nx_binary_f64(e, NX_BINARY_MUL, 2), nx_reduce_sum(e, NX_AXES(1), 0)},
          2);
}

static void add_same_layout(page *p) { realized(p, nx_add(p->m, p->n)); }

static void add_transposed(page *p) { realized(p, nx_add(p->m, p->turned)); }

static void product_and_relu(page *p) {
  nx_tensor *y = nx_binary_f64(nx_matmul(p->square, p->square), NX_BINARY_ADD, 1);
  realized(p, nx_binary_f64(y, NX_BINARY_MAX, 0));
}

static void new_shape(page *p) {
  nx_tensor *x = nx_empty(p->context, 0, NX_F32, NX_SHAPE(p->extent++));
  realized(p, nx_exp(nx_binary_f64(x, NX_BINARY_ADD, 1)));
}

/* The same operation on other rows: where a view begins is not compiled in. */
static void other_rows(page *p) {
  const nx_range rows[] = {{p->extent % 4000, p->extent % 4000 + 50, 1}};
  p->extent++;
  realized(p, nx_exp(nx_get(p->m, rows, 1)));
}

static void other_constant(page *p) {
  realized(p, nx_binary_f64(p->a, NX_BINARY_MUL, (double)p->extent++ + 0.25));
}

/* ---- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(page *p, const char *name, void (*work)(page *), int turns, int warm_up) {
  double times[TURNS];
  for (int i = -warm_up; i < turns; i++) {
    nx_scope *scope = nx_scope_begin(p->context);
    p->kernels = 0;
    if (i == 0) p->compiled = 0;
    double begin = now();
    work(p);
    if (i >= 0) times[i] = now() - begin;
    nx_scope_end(scope);
  }
  qsort(times, (size_t)turns, sizeof *times, ascending);
  printf("%-44s %8.3f %8d %9d\n", name, times[turns / 2], (int)p->kernels, (int)p->compiled);
}

static nx_tensor *numbers(page *p, int64_t n) {
  return realized(p, nx_arange(p->context, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(0.001), n));
}

static void import_host(page *p, float *memory, int64_t n) {
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = NX_IMPORT_SHARED,
                         .dtype = NX_F32,
                         .rank = 1,
                         .shape = &n,
                         .base = memory,
                         .bytes = (size_t)n * sizeof *memory};
  nx_import(p->context, &desc, &p->shared);
}

static void fill(page *p) {
  const int64_t million = 1000000, size = 4096 * 1024;
  p->extent = 5000;
  p->a = numbers(p, million);
  p->b = numbers(p, million);
  p->m = nx_reshape(numbers(p, size), NX_SHAPE(4096, 1024), 0);
  p->n = nx_reshape(numbers(p, size), NX_SHAPE(4096, 1024), 0);
  p->turned = nx_permute(nx_reshape(numbers(p, size), NX_SHAPE(1024, 4096), 0), NX_AXES(1, 0));
  p->square = nx_reshape(numbers(p, size / 4), NX_SHAPE(1024, 1024), 0);
}

static void all(page *p) {
  static const struct {
    const char *name;
    void (*work)(page *);
  } cases[] = {
      {"2a+3b-ab, realised once", fused},
      {"2a+3b-ab, each operation realised", step_by_step},
      {"2a+3b-ab, an operand shared with the host", with_shared},
      {"softmax over the last axis", softmax_rows},
      {"softmax over the first axis", softmax_columns},
      {"sum over the last axis", sum_rows},
      {"sum over the first axis", sum_columns},
      {"x / norm(x)", normalize},
      {"2 exp(x), and sums of exp(x) over rows", two_results},
      {"x + y", add_same_layout},
      {"x + transposed y", add_transposed},
      {"product 1024, plus one, relu", product_and_relu},
      {"other rows each time", other_rows},
      {"another constant each time", other_constant},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    measure(p, cases[i].name, cases[i].work, TURNS, WARM_UP);
  measure(p, "a new shape each time", new_shape, NEW_SHAPES, 0);
  nx_end_sharing(p->shared, NULL);
  measure(p, "2a+3b-ab, sharing ended", with_shared, TURNS, WARM_UP);
}

int main(void) {
  static float memory[1000000];
  page p = {.kernels = 0};
  nx_context_options options = {.size = sizeof options, .cache_dir = ""};
  if (nx_context_create(&options, &p.context) != NX_OK) return 1;
  nx_scope *scope = nx_scope_begin(p.context);
  fill(&p);
  import_host(&p, memory, sizeof memory / sizeof *memory);
  printf("%-44s %8s %8s %9s\n", "case of docs/performance.md", "ms", "kernels", "compiled");
  all(&p);
  nx_tensor_release(p.shared);
  nx_scope_end(scope);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "nx-bench-page: %s\n", error.message);
  nx_context_release(p.context);
  return error.status != NX_OK;
}
