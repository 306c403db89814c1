/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/arrays.md: arrays, views, arithmetic and reductions. */
#include <nx/nx.h>
#include <stdio.h>

/* Prints a matrix, or one row. Reading it is what computes it. */
static void show(const char *name, nx_tensor *x) {
  float data[64];
  int64_t n = nx_elements(x);
  if (nx_read(x, data, (size_t)n * sizeof *data, NULL) != NX_OK) return;
  printf("%s\n", name);
  int64_t columns = nx_shape(x)[nx_rank(x) - 1];
  for (int64_t i = 0; i < n; i++) printf("%7.2f%s", (double)data[i], (i + 1) % columns ? "" : "\n");
}

static nx_tensor *temperatures(nx_context *context) {
  static const float data[] = {
      -3.0F, 8.5F,  19.0F, 9.5F,  /* Oslo */
      7.0F,  13.0F, 24.5F, 17.5F, /* Lisbon */
      13.5F, 20.5F, 28.0F, 23.0F, /* Cairo */
  };
  return nx_from_data(context, 0, NX_F32, NX_SHAPE(3, 4), data, sizeof data);
}

static void arithmetic(nx_tensor *t) {
  nx_tensor *scaled = nx_binary_f64(t, NX_BINARY_MUL, 1.8);
  show("in Fahrenheit", nx_binary_f64(scaled, NX_BINARY_ADD, 32));
}

static void reductions(nx_tensor *t) {
  nx_tensor *mean = nx_reduce_mean(t, NX_AXES(1), NX_KEEPDIMS);
  show("mean of each city", mean);
  show("distance from the mean", nx_sub(t, mean));
  show("warmest city of each season", nx_reduce_max(t, NX_AXES(0), 0));
}

static void views(nx_tensor *t) {
  show("cities as columns", nx_permute(t, NX_AXES(1, 0)));
  const nx_range last_two[] = {{-2, NX_OPEN, 1}, {NX_OPEN, NX_OPEN, 2}};
  show("Lisbon and Cairo, winter and summer", nx_get(t, last_two, 2));
}

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *t = temperatures(context);
  arithmetic(t);
  reductions(t);
  views(t);
  nx_scope_end(scope);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
