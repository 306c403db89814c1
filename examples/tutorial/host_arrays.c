/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/host_arrays.md: memory of the host as tensors, and the other way. */
#include <nx/nx.h>
#include <stdio.h>

static void gone(void *user) { printf("%s is the host's again\n", (const char *)user); }

static nx_tensor *import(nx_context *context, uint32_t mode, double *data, char *name) {
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = mode,
                         .dtype = NX_F64,
                         .rank = 1,
                         .shape = (const int64_t[]){4},
                         .base = data,
                         .bytes = 4 * sizeof *data,
                         .release = gone,
                         .user = name};
  nx_tensor *x = NULL;
  nx_import(context, &desc, &x);
  return x;
}

static void modes(nx_context *context) {
  double data[] = {1, 2, 3, 4};
  nx_tensor *copy = import(context, NX_IMPORT_COPY, data, "copied memory");
  nx_tensor *shared = import(context, NX_IMPORT_SHARED, data, "shared memory");
  nx_assign(shared, nx_add(shared, copy)); /* computed at once: the host may look at any time */
  printf("data[3] is %g\n", data[3]);
  data[3] = 100;
  nx_scalar sum;
  if (nx_item(nx_reduce_sum(shared, NX_AXES(0), 0), NULL, 0, &sum, NULL) == NX_OK)
    printf("the tensor's sum is %g\n", sum.v.f[0]);
}

static void map(nx_context *context) {
  nx_tensor *x = nx_arange(context, 0, NX_F64, NX_NUMBER(0), NX_NUMBER(0.5), 4);
  nx_mapping *mapping;
  if (nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &mapping) != NX_OK) return;
  double *data = nx_mapping_base(mapping, NULL);
  data[0] = 40;
  nx_mapping_release(mapping);
  nx_scalar largest;
  if (nx_item(nx_reduce_max(x, NX_AXES(0), 0), NULL, 0, &largest, NULL) == NX_OK)
    printf("the largest is %g\n", largest.v.f[0]);
}

static void files(nx_context *context, const char *path) {
  nx_tensor *x = nx_arange(context, 0, NX_F64, NX_NUMBER(1), NX_NUMBER(1), 1000), *y = NULL;
  if (nx_save_npy(x, path, NULL) != NX_OK || nx_load_npy(context, path, &y) != NX_OK) return;
  nx_scalar last;
  if (nx_item(y, (const int64_t[]){-1}, 1, &last, NULL) == NX_OK)
    printf("the file's last number is %g\n", last.v.f[0]);
  nx_tensor_release(y);
  remove(path);
}

int main(int argc, char **argv) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  nx_scope *scope = nx_scope_begin(context);
  modes(context);
  nx_scope_end(scope); /* releases the imports */
  nx_context_collect(context);
  scope = nx_scope_begin(context);
  map(context);
  files(context, argc > 1 ? argv[1] : "numbers.npy");
  nx_scope_end(scope);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
