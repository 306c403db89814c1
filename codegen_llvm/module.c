/* SPDX-License-Identifier: ISC */
/* The module's side of module.h: its one symbol, and the functions of the library that are called
 * in it, which it passes on to the library that has called. */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>

#include "code_id.h"
#include "guard.h"
#include "ir/alloc.h"
#include "ir/platform/exit.h"
#include "machine.h"

/* The library that has called this thread. Several copies of it in a process share the module. */
static _Thread_local const nxl_host *host __attribute__((tls_model("initial-exec")));

void *nxi_malloc(size_t bytes) { return host->malloc(bytes); }
void *nxi_calloc(size_t count, size_t bytes) { return host->calloc(count, bytes); }
void nxi_free(void *p) { host->free(p); }
void *nxi_alloc_refuse(size_t bytes) { return host->alloc_refuse(bytes); }
void nxi_oom_record(nxi_diag *d) { host->oom_record(d); }
void nxi_exit_watch_again(void) { host->exit_watch_again(); }
nxg_called_function *nxg_called(int64_t bytes, nxk_op op, nx_dtype type) {
  return host->called(bytes, op, type);
}

nx_status nxi_fail(nxi_diag *d, nx_status status, const char *op, const char *format, ...) {
  char text[sizeof d->message];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return host->fail(d, status, op, "%s", text);
}

static nx_status start(const nxl_host *caller, nxi_diag *d) {
  host = caller;
  return nxl_start_host(d);
}

static nx_status compile(const nxl_host *caller, const nxl_request *r, nxi_diag *d) {
  host = caller;
  return nxl_generate(r, d);
}

static const nxl_module module = {NX_CODE_ID, start, compile, nxl_describe, nxl_useless};

__attribute__((visibility("default"))) nxl_opened nxl_module_opened;

const nxl_module *nxl_module_opened(void) {
  nxl_guard_opened();
  return &module;
}
