/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/in_place.md: assignment, views that see it, a loop with a state. */
#include <nx/nx.h>
#include <stdio.h>

static void show(const char *name, nx_tensor *x) {
  float data[8];
  int64_t n = nx_elements(x);
  if (nx_read(x, data, (size_t)n * sizeof *data, NULL) != NX_OK) return;
  printf("%-20s", name);
  for (int64_t i = 0; i < n; i++) printf(" %7.3f", (double)data[i]);
  printf("\n");
}

static void order(nx_tensor *x) {
  nx_tensor *before = nx_binary_f64(x, NX_BINARY_ADD, 100); /* recorded, not computed */
  nx_assign(x, nx_binary_f64(x, NX_BINARY_MUL, 2));
  show("x", x);
  show("recorded before", before);
}

static void parts(nx_context *context, nx_tensor *x) {
  const nx_range head[] = {{0, -1, 1}}, tail[] = {{1, NX_OPEN, 1}}, odd[] = {{1, NX_OPEN, 2}};
  nx_set(x, odd, 1, nx_full_f64(context, 0, NX_F32, NULL, 0, 0));
  show("x[1::2] = 0", x);
  nx_set(x, tail, 1, nx_get(x, head, 1));
  show("x[1:] = x[:-1]", x);
}

static void loop(nx_context *context, nx_tensor *x) {
  const nx_range inside[] = {{1, -1, 1}}, left[] = {{0, -2, 1}}, right[] = {{2, NX_OPEN, 1}};
  for (int step = 0; step < 100; step++) {
    nx_scope *scope = nx_scope_begin(context);
    nx_tensor *sum = nx_add(nx_get(x, left, 1), nx_get(x, right, 1));
    nx_set(x, inside, 1, nx_binary_f64(sum, NX_BINARY_MUL, 0.5));
    nx_realize(context, &x, 1, NULL);
    nx_scope_end(scope);
  }
  show("after 100 steps", x);
}

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  const float data[] = {1, 2, 3, 4, 5, 6};
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_from_data(context, 0, NX_F32, NX_SHAPE(6), data, sizeof data);
  order(x);
  parts(context, x);
  loop(context, x);
  nx_scope_end(scope);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
