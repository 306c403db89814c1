/* SPDX-License-Identifier: ISC */
#include <nx/nx.h>
#include <stdio.h>

static nx_tensor *key_of(nx_context *context, uint32_t seed) {
  const uint32_t words[2] = {0, seed};
  return nx_from_data(context, 0, NX_U32, NX_SHAPE(2), words, sizeof words);
}

/* Key i of several. */
static nx_tensor *part(nx_tensor *keys, int64_t i) {
  nx_tensor *row = nx_shrink(keys, (const int64_t[]){i, 0}, (const int64_t[]){i + 1, 2}, 2);
  return nx_reshape(row, NX_SHAPE(2), NX_MAY_COPY);
}

static void show(const char *name, nx_tensor *x) {
  float data[4];
  if (nx_read(x, data, sizeof data, NULL) == NX_OK)
    printf("%-12s %7.4f %7.4f %7.4f %7.4f\n", name, (double)data[0], (double)data[1],
           (double)data[2], (double)data[3]);
}

static void draw(nx_context *context) {
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *keys = nx_random_split(key_of(context, 2026), 3);
  nx_tensor *first = part(keys, 0), *second = part(keys, 1), *third = part(keys, 2);
  show("uniform", nx_random_uniform(first, NX_F32, NX_SHAPE(4), -1, 1));
  show("normal", nx_random_normal(second, NX_F32, NX_SHAPE(4)));
  show("once more", nx_random_normal(second, NX_F32, NX_SHAPE(4)));
  nx_tensor *alpha = nx_full_f64(context, 0, NX_F32, NULL, 0, 2.5);
  show("gamma", nx_random_gamma(third, alpha, NX_SHAPE(4)));
  nx_scope_end(scope);
}

/* The share of random points in a square that lie in its circle, of 10^6 points a step. */
static nx_function *capture_share(nx_context *context) {
  enum { POINTS = 1000000 };
  nx_function *f = NULL;
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *in[2] = {nx_placeholder(context, 0, NX_U32, NX_SHAPE(2)),
                      nx_placeholder(context, 0, NX_I64, NULL, 0)};
  nx_tensor *keys = nx_random_split(nx_random_fold_in(in[0], in[1]), 2);
  nx_tensor *x = nx_random_uniform(part(keys, 0), NX_F32, NX_SHAPE(POINTS), -1, 1);
  nx_tensor *y = nx_random_uniform(part(keys, 1), NX_F32, NX_SHAPE(POINTS), -1, 1);
  nx_tensor *inside = nx_binary_f64(nx_add(nx_mul(x, x), nx_mul(y, y)), NX_BINARY_CMPLT, 1);
  nx_tensor *share = nx_reduce_mean(nx_cast(inside, NX_F32), NX_ALL_AXES, 0);
  if (nx_function_create(context, in, 2, &share, 1, NULL, &f) != NX_OK) nx_capture_end(context);
  nx_scope_end(scope);
  return f;
}

static void estimate(nx_context *context) {
  nx_function *f = capture_share(context);
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *key = key_of(context, 1);
  double sum = 0;
  for (int i = 0; i < 20; i++) {
    nx_tensor *in[2] = {key, nx_full_i64(context, 0, NX_I64, NULL, 0, i)}, *share = NULL;
    nx_scalar value;
    if (nx_function_call(f, in, 2, &share, 1, NULL) != NX_OK) break;
    if (nx_item(share, NULL, 0, &value, NULL) == NX_OK) sum += value.v.f[0];
  }
  printf("pi is about %.3f\n", 4 * sum / 20);
  nx_scope_end(scope);
  nx_function_release(f);
}

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  draw(context);
  estimate(context);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
