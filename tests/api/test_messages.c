/* SPDX-License-Identifier: ISC */
/* Sentences of failures that a newcomer meets: each says what is wrong, where, and what to do. */
#include "tests/util/api.h"
#include "tests/util/runner.h"

/* ---- structs whose size is not set: the sentence names the struct */

static void expect_size(int line, const char *type) {
  nx_error e = {0}; /* whose own size may be left out */
  nx_error_take(&e);
  char words[96];
  snprintf(words, sizeof words, "the size of the %s that was given is 0: set .size = sizeof(%s)",
           type, type);
  bool good = e.status == NX_INVALID_ARGUMENT && e.message && strstr(e.message, words);
  if (!good)
    fail_msg("line %d: %s: \"%s\"; wanted \"%s\"", line, nx_status_name(e.status),
             e.message ? e.message : "", words);
}
#define NO_SIZE(type, call)       \
  do {                            \
    type none = {0};              \
    (void)(call);                 \
    expect_size(__LINE__, #type); \
  } while (0)

static void sizes_that_are_not_set(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(2, 3), NX_NUMBER(1))), *out;
  nx_function *f;
  nx_context *c;
  float data[6];
  const char *text = "nxir 1\ngraph @f(%x: f32[2,3]) -> (%x) {\n}\n";
  OK(nx_function_parse(ctx, text, strlen(text), &f));
  NO_SIZE(nx_tensor_info, nx_tensor_describe(x, &none));
  NO_SIZE(nx_stats, nx_context_stats(ctx, &none));
  NO_SIZE(nx_memory, nx_device_memory(ctx, 0, &none));
  NO_SIZE(nx_device_info, nx_device_describe(ctx, 0, &none));
  NO_SIZE(nx_function_info, nx_function_describe(f, &none));
  NO_SIZE(nx_port_info, nx_function_input(f, 0, &none));
  NO_SIZE(nx_port_info, nx_function_output(f, 0, &none));
  NO_SIZE(nx_run_options, nx_read(x, data, sizeof data, &none));
  NO_SIZE(nx_context_options, nx_context_create(&none, &c));
  NO_SIZE(nx_function_options, nx_function_create(ctx, NULL, 0, &x, 1, &none, &f));
  NO_SIZE(nx_import_desc, nx_import(ctx, &none, &out));
  NO_SIZE(nx_import_file_desc, nx_import_file(ctx, &none, &out));
  NO_SIZE(nx_window, nx_unfold(x, &none));
  NO_SIZE(nx_report, nx_read(x, data, sizeof data,
                             &((nx_run_options){.size = sizeof(nx_run_options), .report = &none})));
  nx_function_release(f);
}

NXT_MAIN(messages) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(sizes_that_are_not_set),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
