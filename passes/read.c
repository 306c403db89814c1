/* SPDX-License-Identifier: ISC */
/* Reads a text of the graph IR or of the kernel IR; see read.h. */
#include "read.h"

#include <string.h>

#include "ir/alloc.h"

/* ---- lines */

/* The first word of the line at `at`, and where the next line begins. */
static const char *first_word(const char *at, const char *end, size_t *length, const char **next) {
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  *next = stop != NULL ? stop + 1 : end;
  stop = stop != NULL ? stop : end;
  while (at < stop && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
  const char *word = at;
  while (at < stop && *at != ' ' && *at != '\t' && *at != '\r') at++;
  *length = (size_t)(at - word);
  return word;
}

static bool is_word(const char *word, size_t length, const char *wanted) {
  return length == strlen(wanted) && memcmp(word, wanted, length) == 0;
}

/* The first word after the version tells whether the text is a kernel. A text with an error before
 * that word is given to the graph's parser, which reports it. */
static bool is_kernel_text(const char *at, const char *end) {
  while (at < end) {
    size_t n;
    const char *word = first_word(at, end, &n, &at);
    if (n == 0 || *word == ';' || is_word(word, n, "nxir")) continue;
    return is_word(word, n, "kernel");
  }
  return false;
}

/* Finds the beginning of the next text after the one at `at`: its version line. */
static const char *next_text(const char *at, const char *end, int32_t *lines) {
  bool begun = false;
  *lines = 0;
  while (at < end) {
    size_t n;
    const char *line = at, *word = first_word(at, end, &n, &at);
    if (begun && is_word(word, n, "nxir")) return line;
    begun = begun || is_word(word, n, "kernel");
    *lines += *lines < INT32_MAX;
  }
  return end;
}

/* ---- parsing */

static nx_status invalid(const nxi_text *faults, nxi_diag *d) {
  if (faults->failed || faults->data == NULL) return nxi_oom(d);
  return nxi_fail(d, NX_PARSE, "parse", "the IR is invalid:\n%.400s", faults->data);
}

nx_status nxp_ir_add(nxp_ir *ir, nxk_kernel *k, nxi_diag *d) {
  if (!nxi_grow(&ir->kernels, &ir->cap_kernels, ir->n_kernels + 1, sizeof *ir->kernels)) {
    nxk_destroy(k);
    return nxi_oom(d);
  }
  ir->kernels[ir->n_kernels++] = k;
  return NX_OK;
}

static nx_status read_graph(const char *text, size_t size, nxp_ir *out, nxi_diag *d) {
  nxi_text faults = {0};
  nx_status status = nxg_parse(text, size, &out->g, d);
  if (status == NX_OK && !nxg_verify(out->g, &faults)) status = invalid(&faults, d);
  nxi_text_free(&faults);
  return status;
}

static nx_status read_kernel(const char *text, size_t size, nxp_ir *out, nxi_diag *d) {
  nxk_kernel *k = NULL;
  nxi_text faults = {0};
  nx_status status = nxk_parse(text, size, &k, d);
  if (status != NX_OK) return status;
  if (!nxk_verify(k, &faults)) status = invalid(&faults, d);
  nxi_text_free(&faults);
  if (status == NX_OK) return nxp_ir_add(out, k, d);
  nxk_destroy(k);
  return status;
}

nx_status nxp_ir_read(const char *text, size_t size, nxp_ir *out, nxi_diag *d) {
  const char *end = text + size;
  int32_t before = 0, lines;
  if (!is_kernel_text(text, end)) return read_graph(text, size, out, d);
  for (const char *at = text, *next; at < end; at = next, before += lines) {
    next = next_text(at, end, &lines);
    nx_status status = read_kernel(at, (size_t)(next - at), out, d);
    if (status == NX_OK) continue;
    if (d->line > 0) d->line = d->line < INT32_MAX - before ? d->line + before : INT32_MAX;
    return status;
  }
  return NX_OK;
}

void nxp_ir_free(nxp_ir *ir) {
  nxg_destroy(ir->g);
  for (uint32_t i = 0; i < ir->n_kernels; i++) nxk_destroy(ir->kernels[i]);
  nxi_free(ir->kernels);
  *ir = (nxp_ir){0};
}
