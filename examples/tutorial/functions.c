/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/functions.md: a captured function, called many times. */
#include <nx/nx.h>
#include <stdio.h>

/* y = tanh(x w), of 2 rows of 3 numbers. The weights are no input: each call reads them. */
static nx_function *capture(nx_context *context, nx_tensor *w) {
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_placeholder(context, 0, NX_F32, NX_SHAPE(2, 3));
  nx_tensor *y = nx_tanh(nx_matmul(x, w));
  nx_function *f = NULL;
  nx_status status = nx_function_create(context, &x, 1, &y, 1, NULL, &f);
  if (status != NX_OK) nx_capture_end(context);
  nx_scope_end(scope);
  return f;
}

static void call(const char *name, nx_function *f, nx_tensor *x) {
  float data[2];
  nx_tensor *y = NULL; /* NULL: the call makes a new tensor */
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  if (nx_function_call(f, &x, 1, &y, 1, &options) != NX_OK) return;
  if (nx_read(y, data, sizeof data, NULL) == NX_OK)
    printf("%-11s %.3f %.3f, plans made: %d\n", name, (double)data[0], (double)data[1],
           (int)report.plan_misses);
  nx_tensor_release(y);
}

/* total += sum(x), at each call: assignments that a capture records happen then. */
static nx_function *capture_total(nx_context *context, nx_tensor *total) {
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_placeholder(context, 0, NX_F32, NX_SHAPE(2, 3));
  nx_assign(total, nx_add(total, nx_reduce_sum(x, NX_ALL_AXES, 0)));
  nx_function *f = NULL;
  if (nx_function_create(context, &x, 1, NULL, 0, NULL, &f) != NX_OK) nx_capture_end(context);
  nx_scope_end(scope);
  return f;
}

static void add_up(nx_context *context, nx_tensor *x) {
  nx_tensor *total = nx_full_f64(context, 0, NX_F32, NULL, 0, 0);
  nx_function *f = capture_total(context, total);
  for (int i = 0; i < 3; i++) nx_function_call(f, &x, 1, NULL, 0, NULL);
  nx_scalar sum;
  if (nx_item(total, NULL, 0, &sum, NULL) == NX_OK) printf("total %g\n", sum.v.f[0]);
  nx_function_release(f);
  nx_tensor_release(total);
}

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  const float inputs[] = {1, 2, 3, 4, 5, 6}, weights[] = {0.1F, 0.2F, -0.1F};
  nx_tensor *x = nx_from_data(context, 0, NX_F32, NX_SHAPE(2, 3), inputs, sizeof inputs);
  nx_tensor *w = nx_from_data(context, 0, NX_F32, NX_SHAPE(3, 1), weights, sizeof weights);
  nx_function *f = capture(context, w);
  call("first call", f, x);
  call("second call", f, x);
  const float other[] = {0.3F, 0, 0};
  nx_write(w, other, sizeof other, NULL);
  call("new weights", f, x);
  add_up(context, x);
  nx_function_release(f);
  nx_tensor_release(w);
  nx_tensor_release(x);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
