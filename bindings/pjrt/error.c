/* SPDX-License-Identifier: ISC */
/* Errors of the interface: a code and a sentence, made of those of the library. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "calls.h"

struct nxj_error {
  const nxj_error_table *table;
  int code;
  size_t size;
  char text[];
};

static void destroy(nxj_error *e) { nxj_error_free(e); }
static void message(const nxj_error *e, const char **text, size_t *size) {
  *text = nxj_error_text(e);
  *size = strlen(*text);
}
static int code_of(const nxj_error *e) { return nxj_error_code_of(e); }
static void each_payload(const nxj_error *e, void *visit, void *user) {
  (void)e, (void)visit, (void)user; /* there is none */
}

static const nxj_error_table table = {sizeof table, sizeof(nxj_error), NULL,        destroy,
                                      message,      code_of,           each_payload};
static nxj_error exhausted = {.table = &table, .code = NXJ_RESOURCE_EXHAUSTED};

/* The bytes of the character that stands there in UTF-8; 0: it is none. */
static size_t character(const char *at, size_t n) {
  const uint8_t *b = (const uint8_t *)at;
  size_t more = b[0] < 0x80 ? 0 : b[0] < 0xe0 ? 1 : b[0] < 0xf0 ? 2 : 3;
  if (more >= n || (b[0] >= 0x80 && b[0] < 0xc2) || b[0] > 0xf4) return 0;
  for (size_t i = 1; i <= more; i++)
    if ((b[i] & 0xc0) != 0x80) return 0;
  bool long_form = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xf0 && b[1] < 0x90);
  bool surrogate = b[0] == 0xed && b[1] >= 0xa0, beyond = b[0] == 0xf4 && b[1] >= 0x90;
  return long_form || surrogate || beyond ? 0 : more + 1;
}

/* Callers take a sentence for UTF-8, but names in a program may be any bytes, and a long one is cut
 * off anywhere. */
static void mend(char *text, size_t n) {
  for (size_t i = 0, size; i < n; i += size) {
    size = character(text + i, n - i);
    if (size > 0) continue;
    text[i] = '?';
    size = 1;
  }
}

nxj_error *nxj_fail_text(int code, const char *text, size_t size) {
  nxj_error *e = nxi_malloc(sizeof *e + size + 1);
  if (e == NULL) return &exhausted;
  e->table = &table;
  e->code = code;
  e->size = size;
  if (size > 0) memcpy(e->text, text, size);
  e->text[size] = 0;
  mend(e->text, size);
  return e;
}

nxj_error *nxj_fail(int code, const char *format, ...) {
  char said[1024];
  va_list list;
  va_start(list, format);
  int n = vsnprintf(said, sizeof said, format, list);
  va_end(list);
  if (n < 0) n = 0;
  return nxj_fail_text(code, said, (size_t)n < sizeof said ? (size_t)n : sizeof said - 1);
}

nxj_error *nxj_no_memory(void) { return &exhausted; }

nxj_error *nxj_too_small(const char *name, size_t size) {
  return nxj_fail(NXJ_INVALID_ARGUMENT,
                  "nx: the arguments of %s are of a version of the PJRT C API that is too old: %zu "
                  "bytes",
                  name, size);
}

void nxj_error_free(nxj_error *e) {
  if (e != &exhausted) nxi_free(e);
}
int nxj_error_code_of(const nxj_error *e) { return e->code; }
const char *nxj_error_text(const nxj_error *e) {
  return e == &exhausted ? "nx: memory is exhausted" : e->text;
}
nxj_error *nxj_error_again(const nxj_error *e) {
  if (e == NULL || e == &exhausted) return (nxj_error *)e;
  return nxj_fail_text(e->code, e->text, e->size);
}

static int code_of_status(nx_status s) {
  switch (s) {
    case NX_UNSUPPORTED_DTYPE: return NXJ_UNIMPLEMENTED;
    case NX_INDEX_OUT_OF_RANGE: return NXJ_OUT_OF_RANGE;
    case NX_OUT_OF_MEMORY: return NXJ_RESOURCE_EXHAUSTED;
    case NX_NOT_WRITABLE:
    case NX_UNBOUND: return NXJ_FAILED_PRECONDITION;
    case NX_INTERRUPTED: return NXJ_CANCELLED;
    case NX_DEVICE_UNAVAILABLE:
    case NX_DEVICE_LOST: return NXJ_UNAVAILABLE;
    case NX_COMPILE_FAILED:
    case NX_IO:
    case NX_INTERNAL: return NXJ_INTERNAL;
    case NX_TIMED_OUT: return NXJ_DEADLINE_EXCEEDED;
    default: return NXJ_INVALID_ARGUMENT;
  }
}

nxj_error *nxj_of_status(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return NULL;
  nx_error_take(&e);
  if (status == NX_OUT_OF_MEMORY && e.message == NULL) return &exhausted;
  const char *said = e.message != NULL ? e.message : nx_status_sentence(status);
  return nxj_fail(code_of_status(status), "nx: %s", said);
}

nxj_bytes *nxj_bytes_new(size_t n) {
  nxj_bytes *b = nxi_malloc(sizeof *b + n + 1);
  if (b != NULL) b->n = n;
  return b;
}
void nxj_bytes_free(nxj_bytes *b) { nxi_free(b); }

/* ---- calls */

nxj_error *nxj_error_destroy(void *args) {
  struct nxj_error_destroy_args *a = args;
  if (a->error != NULL) nxj_error_free(a->error);
  return NULL;
}

nxj_error *nxj_error_message(void *args) {
  struct nxj_error_message_args *a = args;
  a->text = nxj_error_text(a->error);
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_error_code(void *args) {
  NXJ_TAKE(error_code, code);
  a->code = nxj_error_code_of(a->error);
  return NULL;
}

/* No error of ours has a payload. */
nxj_error *nxj_error_payloads(void *args) {
  (void)args;
  return NULL;
}
