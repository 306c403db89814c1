/* SPDX-License-Identifier: ISC */
/* The plugin as a caller in C has it: loaded by its path, which NXT_PJRT names, and called through
 * its table. */
#ifndef NXT_PLUGIN_H
#define NXT_PLUGIN_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/pjrt/api_run.h"
#include "tests/util/api.h"

enum {
#define CALL(name, own) AT_##name,
#define NONE(name)      AT_##name,
#include "bindings/pjrt/calls.def"
#undef CALL
#undef NONE
  N_CALLS
};

typedef struct plugin_table {
  size_t size;
  const nxj_extension *extension;
  struct {
    size_t size;
    void *extension;
    int major, minor;
  } version;
  nxj_call *calls[N_CALLS];
} plugin_table;

static const plugin_table *table;

static inline const plugin_table *load_plugin(void) {
  const char *path = getenv("NXT_PJRT");
  assert_non_null(path);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail_msg("%s", dlerror());
  void *symbol = dlsym(library, "GetPjrtApi");
  const void *(*get)(void);
  assert_non_null(symbol);
  memcpy(&get, &symbol, sizeof get);
  return table = get();
}

/* Calls a function with a struct that is `struct nxj_KIND_args`. */
#define RUN(name, args)      table->calls[AT_##name](args)
#define ARGS(kind, var, ...) struct nxj_##kind##_args var = {.size = sizeof var, __VA_ARGS__}

static inline void destroy_error(nxj_error *e) {
  ARGS(error_destroy, a, .error = e);
  RUN(Error_Destroy, &a);
}

static inline int code_of(nxj_error *e) {
  ARGS(error_code, a, .error = e);
  assert_null(RUN(Error_GetCode, &a));
  return a.code;
}

/* It went well, or the test fails with the sentence. */
static inline void good(nxj_error *e) {
  if (e == NULL) return;
  ARGS(error_message, a, .error = e);
  RUN(Error_Message, &a);
  fail_msg("%.*s", (int)a.n, a.text);
}

/* It failed with this code, and a sentence that has these words. */
static inline void refused(nxj_error *e, int code, const char *words) {
  assert_non_null(e);
  ARGS(error_message, a, .error = e);
  RUN(Error_Message, &a);
  if (strstr(a.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", a.text, words);
  assert_int_equal(code_of(e), code);
  destroy_error(e);
}

/* ---- what most tests do */

static inline nxj_client *make_client(void) {
  ARGS(client_create, a);
  good(RUN(Client_Create, &a));
  return a.client;
}

static inline void drop_client(nxj_client *c) {
  ARGS(client, a, .client = c);
  good(RUN(Client_Destroy, &a));
}

static inline nxj_error *try_compile(nxj_client *c, const char *text, nxj_loaded **out) {
  nxj_program p = {.size = sizeof p,
                   .code = (char *)(uintptr_t)text,
                   .n = strlen(text),
                   .format = "mlir",
                   .n_format = 4};
  ARGS(client_compile, a, .client = c, .program = &p);
  nxj_error *e = RUN(Client_Compile, &a);
  *out = a.loaded;
  return e;
}

static inline nxj_loaded *compile(nxj_client *c, const char *text) {
  nxj_loaded *l;
  good(try_compile(c, text, &l));
  return l;
}

static inline void drop_loaded(nxj_loaded *l) {
  ARGS(loaded, a, .loaded = l);
  good(RUN(LoadedExecutable_Destroy, &a));
}

static inline void drop_event(nxj_event *e) {
  ARGS(event, a, .event = e);
  good(RUN(Event_Destroy, &a));
}

static inline nxj_error *await(nxj_event *e) {
  ARGS(event, a, .event = e);
  nxj_error *error = RUN(Event_Await, &a);
  drop_event(e);
  return error;
}

static inline void drop_buffer(nxj_buffer *b) {
  ARGS(buffer, a, .buffer = b);
  good(RUN(Buffer_Destroy, &a));
}

static inline nxj_buffer *upload(nxj_client *c, const float *data, const int64_t *dims,
                                 size_t rank) {
  ARGS(from_host, a, .client = c, .data = data, .type = NXJ_TYPE_F32, .dims = dims, .rank = rank,
       .semantics = NXJ_DURING_CALL);
  good(RUN(Client_BufferFromHostBuffer, &a));
  drop_event(a.done);
  return a.buffer;
}

static inline nxj_error *try_download(nxj_buffer *b, float *data, size_t n) {
  ARGS(to_host, a, .buffer = b, .data = data, .n = n * sizeof *data);
  nxj_error *e = RUN(Buffer_ToHostBuffer, &a);
  return e != NULL ? e : await(a.event);
}

static inline nxj_error *try_call(nxj_loaded *l, nxj_buffer *const *in, size_t n,
                                  nxj_buffer **out) {
  nxj_execute_options o = {.size = sizeof o};
  ARGS(execute, a, .loaded = l, .options = &o, .inputs = &in, .n_devices = 1, .n_inputs = n,
       .outputs = &out);
  return RUN(LoadedExecutable_Execute, &a);
}

static inline bool is_deleted(nxj_buffer *b) {
  ARGS(buffer_flag, a, .buffer = b);
  good(RUN(Buffer_IsDeleted, &a));
  return a.flag;
}

#endif
