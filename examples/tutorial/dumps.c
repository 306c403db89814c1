/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/dumps.md: what will run as text, what has run as numbers. */
#include <nx/nx.h>
#include <stdio.h>
#include <string.h>

static void dump(nx_tensor *y, const char *stage) {
  char *text;
  if (nx_dump(&y, 1, stage, &text) != NX_OK) return;
  printf("---- %s\n%s", stage, text);
  nx_string_free(text);
}

static nx_tensor *softmax(nx_tensor *x) {
  nx_tensor *e = nx_exp(nx_sub(x, nx_reduce_max(x, NX_AXES(1), NX_KEEPDIMS)));
  return nx_div(e, nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS));
}

static void report(nx_context *context, nx_tensor *y) {
  nx_report r = {.size = sizeof r};
  nx_run_options options = {.size = sizeof options, .report = &r};
  nx_realize(context, &y, 1, &options);
  printf("nodes %d, kernels %d, plans made %d\n", (int)r.nodes, (int)r.kernels, (int)r.plan_misses);
}

static void from_text(nx_context *context) {
  static const char text[] = "nxir 2\n"
                             "graph @scale(%x: f32[3]) -> (%y) {\n"
                             "  %two = full 2 : f32[]\n"
                             "  %y = mul %x, %two\n"
                             "}\n";
  nx_function *f;
  if (nx_function_parse(context, text, strlen(text), NULL, &f) != NX_OK) return;
  char *dumped;
  if (nx_function_dump(f, "graph", &dumped) == NX_OK) {
    printf("---- parsed, and printed\n%s", dumped);
    nx_string_free(dumped);
  }
  nx_function_release(f);
}

int main(void) {
  nx_context_options options = {.size = sizeof options, .threads = 2, .cache_dir = ""};
  nx_context *context;
  if (nx_context_create(&options, &context) != NX_OK) return 1;
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x[] = {nx_empty(context, 0, NX_F32, NX_SHAPE(512, 1024)),
                    nx_empty(context, 0, NX_F32, NX_SHAPE(512, 1024))};
  nx_realize(context, x, 2, NULL);
  dump(softmax(x[0]), "graph");
  dump(softmax(x[0]), "kernels");
  report(context, softmax(x[0]));
  report(context, softmax(x[1]));
  from_text(context);
  nx_scope_end(scope);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
