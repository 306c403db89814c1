/* SPDX-License-Identifier: ISC */
#include <nx/nx.h>
#include <stdio.h>

static nx_tensor *number(nx_context *context, double x) {
  return nx_full_f64(context, 0, NX_F64, NULL, 0, x);
}

static void show(const char *name, nx_tensor *x) {
  nx_scalar value;
  if (nx_item(x, NULL, 0, &value, NULL) == NX_OK) printf("%s %.15g\n", name, value.v.f[0]);
}

/* (x, a) -> |x^2 - a| > 1e-12 a, and (x, a) -> (x + a / x) / 2 */
static void capture_root(nx_context *context, nx_function **off, nx_function **step) {
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *in[2] = {nx_placeholder(context, 0, NX_F64, NULL, 0),
                      nx_placeholder(context, 0, NX_F64, NULL, 0)};
  nx_tensor *far =
      nx_cmpgt(nx_abs(nx_sub(nx_mul(in[0], in[0]), in[1])), nx_mul(in[1], number(context, 1e-12)));
  if (nx_function_create(context, in, 2, &far, 1, NULL, off) != NX_OK) nx_capture_end(context);
  nx_tensor *again[2] = {nx_placeholder(context, 0, NX_F64, NULL, 0),
                         nx_placeholder(context, 0, NX_F64, NULL, 0)};
  nx_tensor *next = nx_mul(nx_add(again[0], nx_div(again[1], again[0])), number(context, 0.5));
  if (nx_function_create(context, again, 2, &next, 1, NULL, step) != NX_OK) nx_capture_end(context);
  nx_scope_end(scope);
}

/* Newton's way to the root of a: x is carried from step to step, a is captured. */
static nx_tensor *root(nx_context *context, nx_tensor *a, const nx_loop_options *options) {
  nx_function *off = NULL, *step = NULL;
  nx_tensor *x = NULL;
  capture_root(context, &off, &step);
  nx_while(off, step, &a, 1, &a, 1, options, &x, 1);
  nx_function_release(off);
  nx_function_release(step);
  return x;
}

static void find_roots(nx_context *context) {
  nx_scope *scope = nx_scope_begin(context);
  show("root of 2", root(context, number(context, 2), NULL));
  nx_loop_options few = {.size = sizeof few, .max_steps = 3};
  show("after three steps", root(context, number(context, 2000), &few));
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e) != NX_OK) printf("%s\n", e.message);
  nx_scope_end(scope);
}

/* (level, x) -> 0.5 level + 0.5 x, and the same as the slice of a stacked result */
static nx_function *capture_smooth(nx_context *context) {
  nx_function *f = NULL;
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *in[2] = {nx_placeholder(context, 0, NX_F64, NULL, 0),
                      nx_placeholder(context, 0, NX_F64, NULL, 0)};
  nx_tensor *level = nx_mul(nx_add(in[0], in[1]), number(context, 0.5)), *out[2] = {level, level};
  if (nx_function_create(context, in, 2, out, 2, NULL, &f) != NX_OK) nx_capture_end(context);
  nx_scope_end(scope);
  return f;
}

static void smooth(nx_context *context) {
  double levels[6];
  nx_function *f = capture_smooth(context);
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_arange(context, 0, NX_F64, NX_NUMBER(0), NX_NUMBER(8), 6);
  nx_tensor *zero = number(context, 0), *out[2] = {NULL, NULL};
  nx_scan(f, 6, &zero, 1, NULL, 0, &x, 1, NULL, out, 2);
  if (nx_read(out[1], levels, sizeof levels, NULL) == NX_OK)
    for (int i = 0; i < 6; i++) printf(i < 5 ? "%g " : "%g\n", levels[i]);
  nx_scope_end(scope);
  nx_function_release(f);
}

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  find_roots(context);
  smooth(context);
  nx_context_release(context);
  return 0;
}
