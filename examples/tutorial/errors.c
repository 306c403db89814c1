/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/errors.md: failures when recorded, failures when computed. */
#include <nx/nx.h>
#include <stdio.h>

/* Shows the first failure of this thread since the last time, and forgets it. */
static void report_failure(const char *when) {
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e) == NX_OK) return;
  printf("%s: %s\n  %s\n", when, nx_status_name(e.status), e.message);
  if (e.tag) printf("  recorded at line %d, %s\n", (int)e.tag, e.tag_text);
  if (e.index >= 0) printf("  index %d\n", (int)e.index);
}

static void when_recorded(nx_tensor *a, nx_tensor *b) {
  nx_tensor *sum = nx_add(a, b);           /* NULL: these shapes do not go together */
  nx_tensor *y = nx_exp(nx_mul(sum, sum)); /* NULL in, NULL out */
  printf("y is %s\n", y ? "a tensor" : "NULL");
  report_failure("when recorded");
}

static void when_computed(nx_tensor *a) {
  nx_tag_set(12, "a user's program");
  nx_tensor *factor = nx_cholesky(a, NX_LOWER); /* shapes and types are right, so this succeeds */
  nx_tag_set(0, NULL);
  float data[4];
  printf("nx_read: %s\n", nx_status_name(nx_read(factor, data, sizeof data, NULL)));
  report_failure("when computed");
}

static void tried_again(nx_tensor *a) {
  const float better[] = {4, 2, 2, 3};
  nx_tensor *before = nx_cholesky(a, NX_LOWER); /* of what the matrix is now */
  nx_write(a, better, sizeof better, NULL);
  nx_scalar item;
  if (nx_item(nx_cholesky(a, NX_LOWER), (const int64_t[]){1, 0}, 2, &item, NULL) == NX_OK)
    printf("the new matrix has a factor, with %g in it\n", item.v.f[0]);
  float data[4];
  nx_read(before, data, sizeof data, NULL);
  report_failure("recorded before the write");
}

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  const float data[] = {1, 2, 2, 1};
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *a = nx_from_data(context, 0, NX_F32, NX_SHAPE(2, 2), data, sizeof data);
  when_recorded(a, nx_empty(context, 0, NX_F32, NX_SHAPE(3)));
  when_computed(a);
  tried_again(a);
  nx_scope_end(scope);
  nx_context_release(context);
  return 0;
}
