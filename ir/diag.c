/* SPDX-License-Identifier: ISC */
/* Failures as values, the status table, the version, and the text buffer that printers fill. */
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "nx/version.h"

const char *nx_version(void) { return NX_VERSION_STRING; }

const char *nx_status_name(nx_status status) {
  switch (status) {
#define ROW(name, value, sentence) \
  case NX_##name: return "NX_" #name;
    NX_STATUS_TABLE(ROW)
#undef ROW
  }
  return "NX_UNKNOWN";
}

const char *nx_status_sentence(nx_status status) {
  switch (status) {
#define ROW(name, value, sentence) \
  case NX_##name: return sentence;
    NX_STATUS_TABLE(ROW)
#undef ROW
  }
  return "not a status of this library";
}

void nxi_diag_clear(nxi_diag *d) {
  /* The texts are emptied by their first byte alone: every recorded operation clears a diag. */
  d->status = NX_OK;
  d->op[0] = d->during[0] = d->message[0] = '\0';
  d->line = d->column = 0;
  d->operand = d->node = -1;
  d->index = -1;
}

nx_status nxi_fail(nxi_diag *d, nx_status status, const char *op, const char *format, ...) {
  if (!d || d->status != NX_OK) return status;
  d->status = status;
  snprintf(d->op, sizeof d->op, "%s", op ? op : "");
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(d->message, sizeof d->message, format, arguments);
  va_end(arguments);
  return status;
}

void nxi_fail_in_file(nxi_diag *d, const char *path) {
  char message[sizeof d->message];
  if (d->status == NX_OK || d->status == NX_OUT_OF_MEMORY || !path) return;
  if (strstr(d->message, path)) return;
  snprintf(message, sizeof message, "%.200s: %s", path, d->message);
  memcpy(d->message, message, sizeof message);
}

void nxi_oom_record(nxi_diag *d) {
  nxi_fail(d, NX_OUT_OF_MEMORY, "", "memory is exhausted: %zu bytes could not be had",
           nxi_alloc_refused());
}

nx_status nxi_oom_during(nxi_diag *d, nx_status status, const char *format, ...) {
  if (status != NX_OUT_OF_MEMORY || !d) return status;
  nxi_oom(d);
  if (d->status != NX_OUT_OF_MEMORY || d->during[0]) return status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(d->during, sizeof d->during, format, arguments);
  va_end(arguments);
  return status;
}

nx_status nxi_oom_in(nxi_diag *d, nx_status status, const char *op) {
  char sentence[sizeof d->message];
  if (status != NX_OUT_OF_MEMORY || !d) return status;
  nxi_oom(d);
  if (d->status != NX_OUT_OF_MEMORY || d->op[0]) return status;
  snprintf(d->op, sizeof d->op, "%s", op);
  snprintf(sentence, sizeof sentence, "%.31s: %s%s%.300s", op, d->during, d->during[0] ? ": " : "",
           d->message);
  memcpy(d->message, sentence, sizeof sentence);
  return status;
}

/* Room for n more bytes and the NUL. */
static bool reserve(nxi_text *t, uint32_t n) {
  if (!t->failed && n < UINT32_MAX - t->size &&
      nxi_grow(&t->data, &t->capacity, t->size + n + 1, 1))
    return true;
  t->failed = true;
  return false;
}

void nxi_text_put(nxi_text *t, const char *s, uint32_t n) {
  if (!reserve(t, n)) return;
  if (n) memcpy(t->data + t->size, s, n);
  t->size += n;
  t->data[t->size] = 0;
}

void nxi_text_add(nxi_text *t, const char *format, ...) {
  char piece[256]; /* most pieces of a printed line fit; longer ones are formatted in place */
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int n = vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  if (n < 0) {
    t->failed = true;
  } else if ((size_t)n < sizeof piece) {
    nxi_text_put(t, piece, (uint32_t)n);
  } else if (reserve(t, (uint32_t)n)) {
    vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
    t->size += (uint32_t)n;
  }
  va_end(again);
}

void nxi_text_free(nxi_text *t) {
  nxi_free(t->data);
  *t = (nxi_text){0};
}

nx_status nxi_fail_index(nxi_diag *d, int64_t node, const char *op, int64_t index) {
  nx_status status = nxi_fail(
      d, NX_INDEX_OUT_OF_RANGE, op,
      "%s: element %lld of the indices, in C order, is outside of the axis that it numbers", op,
      (long long)index);
  if (d == NULL || d->status != status || d->index >= 0) return status;
  d->node = (int32_t)node;
  d->index = index;
  d->operand = 1;
  return status;
}
