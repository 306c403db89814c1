/* SPDX-License-Identifier: ISC */
/* conformance DEVICE [--all] [--only OPERATION] [--type DTYPE] [--share N] [--verbose]
 *             [--markdown] [--check FILE]
 * conformance --references
 *
 * Runs every row on every element type on a device, "cpu", "interp" or another that the library
 * has, and prints the matrix. --all tries every layout and rank on every type; without it each
 * operation and each type meets all of them, but not together. --share tries every N-th cell of
 * each operation and of each type. --markdown prints the matrix as docs/coverage.md has it; --check
 * compares it with such a file. The exit status is 1 if anything came out wrong, was not refused,
 * works although it is listed as a gap, or differs from the file; 2 if nothing could be run.
 * --references prints values of the references, which check_references.py compares with
 * NumPy's. */
#include "matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
  const char *device, *only, *type, *check, *share;
  bool markdown, verbose, all;
} options;

/* ---- cells */

static void begin(trial *t, const operation *op, const format *f, cell *c) {
  t->op = op;
  t->format = f;
  t->dtype = f->dtype;
  t->cell = c;
  types type = TYPE(f->dtype);
  bool admitted = op->admits & type, gap = op->gaps & type;
  t->operands[0] = t->operands[1] = NULL;
  c->mark = !admitted ? REFUSED : gap ? GAP : WORKS;
  if (c->mark == WORKS) op->check(t);
  else if (op->record)
    expect_refusal(t, op->record(t, f->dtype), NX_UNSUPPORTED_DTYPE,
                   admitted ? "listed as a gap" : "a type that is not admitted");
}

static bool is_wanted(const options *o, const operation *op, size_t row, nx_dtype dtype) {
  size_t share = o->share ? strtoul(o->share, NULL, 10) : 1;
  return !(o->only && strcmp(o->only, op->name)) && (2 * row + dtype) % (share ? share : 1) == 0;
}

/* All rows on one type share graphs. */
static void run_type(trial *t, const options *o, const format *f, cell *matrix) {
  nx_scope *scope = nx_scope_begin(t->context);
  size_t row = 0;
  for (size_t i = 0; i < n_families; i++)
    for (size_t k = 0; k < families[i]->n; k++, row++) {
      const operation *op = &families[i]->rows[k];
      cell *c = &matrix[row * FORMATS + (size_t)(f - formats)];
      t->turn = (unsigned)(row + (size_t)f->dtype);
      if (is_wanted(o, op, row, f->dtype)) begin(t, op, f, c);
      else c->mark = UNTRIED;
    }
  settle(t);
  nx_scope_end(scope);
  forget(t);
}

static cell *run_all(trial *t, const options *o) {
  cell *matrix = calloc(count_rows() * FORMATS, sizeof *matrix);
  if (!matrix) return NULL;
  for (size_t i = 0; i < FORMATS; i++)
    if (!o->type || !strcmp(o->type, formats[i].name)) run_type(t, o, &formats[i], matrix);
  return matrix;
}

/* ---- arguments and the device */

static bool read_options(int argc, char **argv, options *o) {
  for (int i = 1; i < argc; i++) {
    const char **text = !strcmp(argv[i], "--only")    ? &o->only
                        : !strcmp(argv[i], "--type")  ? &o->type
                        : !strcmp(argv[i], "--check") ? &o->check
                        : !strcmp(argv[i], "--share") ? &o->share
                                                      : NULL;
    if (text && i + 1 < argc) *text = argv[++i];
    else if (!strcmp(argv[i], "--markdown")) o->markdown = true;
    else if (!strcmp(argv[i], "--verbose")) o->verbose = true;
    else if (!strcmp(argv[i], "--all")) o->all = true;
    else if (argv[i][0] != '-' && !o->device) o->device = argv[i];
    else return false;
  }
  return o->device;
}

static bool find_device(trial *t, const char *name) {
  nx_device_info info = {.size = sizeof info};
  for (nx_device d = 0; d < nx_device_count(t->context); d++) {
    if (nx_device_describe(t->context, d, &info) != NX_OK || strcmp(info.name, name)) continue;
    if (!info.available)
      fprintf(stderr, "conformance: %s is not available: %s\n", name, info.reason);
    t->device = d;
    return info.available;
  }
  fprintf(stderr, "conformance: there is no device %s\n", name);
  return false;
}

/* A text in memory, so that it can be printed and compared. */
static char *markdown_of(const cell *matrix) {
  char *text = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return NULL;
  print_markdown(to, matrix);
  fclose(to);
  return text;
}

static bool equals_file(const char *path, const char *text) {
  FILE *file = fopen(path, "rb");
  size_t n = strlen(text);
  char *is = calloc(1, n + 2);
  bool same = file && is && fread(is, 1, n + 1, file) == n && !memcmp(is, text, n);
  if (file) fclose(file);
  free(is);
  if (!same) printf("%s is not what --markdown prints: write it anew\n", path);
  return same;
}

static int report(const trial *t, const options *o, const cell *matrix) {
  char *text = markdown_of(matrix);
  if (!text) return 2;
  bool good = true;
  if (o->markdown) fputs(text, stdout);
  else good = print_matrix(stdout, matrix, o->verbose);
  nx_stats stats = {.size = sizeof stats};
  nx_context_stats(t->context, &stats);
  if (!o->markdown) printf("%llu kernels compiled\n", (unsigned long long)stats.kernels_compiled);
  if (o->check && count_marks(matrix, UNAVAILABLE))
    printf("%s is not compared: something is not available here\n", o->check);
  else if (o->check) good = equals_file(o->check, text) && good;
  free(text);
  return !good;
}

int main(int argc, char **argv) {
  options o = {0};
  if (argc == 2 && !strcmp(argv[1], "--references")) {
    print_references(stdout);
    return 0;
  }
  if (!read_options(argc, argv, &o)) {
    fprintf(stderr, "usage: conformance DEVICE [--all] [--only OPERATION] [--type DTYPE] "
                    "[--share N] [--verbose] [--markdown] [--check FILE]\n");
    return 2;
  }
  trial t = {0};
  nx_error error = {.size = sizeof error};
  if (nx_context_create(NULL, &t.context) != NX_OK) {
    nx_error_take(&error);
    fprintf(stderr, "conformance: %s\n", error.message);
    return 2;
  }
  int status = 2;
  t.all = o.all;
  if (find_device(&t, o.device)) {
    cell *matrix = run_all(&t, &o);
    status = matrix ? report(&t, &o, matrix) : 2;
    free(matrix);
  }
  nx_context_release(t.context);
  return status;
}
