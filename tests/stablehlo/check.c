/* SPDX-License-Identifier: ISC */
/* Runs modules that say themselves what is right: each custom call of check.expect_eq,
 * check.expect_close or check.expect_almost_eq compares a result with what is expected, as in
 * StableHLO's own test data. A module that must be refused has a line "// refused: WORDS": the
 * sentence has those words. Prints what is not as expected, and a count; then the exit status is 1.
 *
 * Usage: stablehlo_check FILE...; a file may hold several modules, with lines of "// -----" between
 * them. What interpreter.run_parallel runs exchanges with exchange.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nx/nx.h"
#include "parallel.h"

enum { MOST_PAIRS = 4096 };

typedef struct pair {
  nx_tensor *is, *wanted;
  bool exact;
} pair;

static pair pairs[MOST_PAIRS];
static int n_pairs, right, wrong;
static nx_context *context;

static nx_status note(const nx_stablehlo_call *call) {
  if (call->n_operands < 2 || n_pairs == MOST_PAIRS) return NX_INVALID_ARGUMENT;
  pairs[n_pairs++] = (pair){nx_tensor_retain(call->operands[0]),
                            nx_tensor_retain(call->operands[1]), call->user != NULL};
  for (size_t i = 0; i < call->n_results; i++) { /* which nothing reads */
    const nx_type *t = &call->types[i];
    nx_scalar one = {NX_SCALAR_U64, {.u = 1}};
    call->results[i] = nx_full(context, 0, t->dtype, t->shape, t->rank, &one);
  }
  return NX_OK;
}

static const char *failure(void) {
  static nx_error e;
  e.size = sizeof e;
  nx_error_take(&e);
  return e.message != NULL ? e.message : "no reason";
}

static bool is_complex(nx_dtype t) { return t == NX_C64 || t == NX_C128; }

/* The elements as f64, real parts before imaginary ones; NULL after a failure. */
static double *numbers(nx_tensor *t, int64_t *n) {
  bool two = is_complex(nx_dtype_of(t));
  nx_tensor *parts[2] = {two ? nx_real(t) : t, two ? nx_imag(t) : NULL};
  int64_t each = nx_elements(t);
  *n = each * (two ? 2 : 1);
  double *out = calloc((size_t)*n + 1, sizeof *out);
  for (int i = 0; out != NULL && i < (two ? 2 : 1); i++)
    if (nx_read(nx_cast(parts[i], NX_F64), out + i * each, (size_t)each * sizeof *out, NULL)) {
      free(out);
      return NULL;
    }
  return out;
}

static double tolerance(nx_dtype t) {
  return t == NX_F64 || t == NX_C128 ? 1e-10 : t == NX_F32 || t == NX_C64 ? 5e-5 : 5e-2;
}

static bool same(double a, double b, bool exact, double allowed) {
  if (a != a || b != b) return a != a && b != b;
  if (exact) return a == b && (a != 0 || signbit(a) == signbit(b));
  return a == b || fabs(a - b) <= allowed * (1 + fabs(b));
}

static bool compare(const char *where, const pair *p) {
  int64_t n, m;
  double *a = numbers(p->is, &n), *b = a != NULL ? numbers(p->wanted, &m) : NULL;
  bool good = b != NULL;
  if (!good) printf("%s: %s\n", where, failure());
  else if (n != m || nx_dtype_of(p->is) != nx_dtype_of(p->wanted))
    printf("%s: another type\n", where), good = false;
  for (int64_t i = 0; good && i < n; i++) {
    if (same(a[i], b[i], p->exact, tolerance(nx_dtype_of(p->is)))) continue;
    printf("%s: number %lld of %lld is %.17g, expected %.17g\n", where, (long long)i, (long long)n,
           a[i], b[i]);
    good = false;
  }
  free(a);
  free(b);
  return good;
}

/* What stands behind "// refused: " in the module, or NULL. */
static char *refusal(const char *text, size_t size) {
  static const char mark[] = "// refused: ";
  for (size_t i = 0; i + sizeof mark < size; i++) {
    if (memcmp(text + i, mark, sizeof mark - 1) != 0) continue;
    const char *from = text + i + sizeof mark - 1,
               *end = memchr(from, '\n', size - (size_t)(from - text));
    return strndup(from, end != NULL ? (size_t)(end - from) : size - (size_t)(from - text));
  }
  return NULL;
}

static bool check_refusal(const char *where, const char *wanted) {
  const char *said = failure();
  bool good = wanted != NULL && strstr(said, wanted) != NULL;
  if (!good) printf("%s: %s\n", where, said);
  return good;
}

static bool check_module(const char *where, const char *text, size_t size) {
  static const char exactly[] = "exact";
  nx_stablehlo_custom rows[] = {{"check.expect_eq", note, (void *)(uintptr_t)exactly},
                                {"check.eq", note, (void *)(uintptr_t)exactly},
                                {"check.expect_close", note, NULL},
                                {"check.expect_almost_eq", note, NULL},
                                {"interpreter.run_parallel", run_parallel, NULL}};
  nx_stablehlo_options o = {.size = sizeof o, .customs = rows, .n_customs = 5};
  nx_stablehlo *m = NULL;
  nx_function *f = NULL;
  char *wanted = refusal(text, size);
  n_pairs = 0;
  nx_scope *scope = nx_scope_begin(context);
  bool good = true;
  bool failed = nx_stablehlo_parse(text, size, &m) != NX_OK;
  rows[4].user = m;
  if (failed || nx_stablehlo_function(m, context, &o, &f)) good = check_refusal(where, wanted);
  else if (wanted != NULL) printf("%s: not refused: %s\n", where, wanted), good = false;
  else if (n_pairs == 0) printf("%s: nothing is compared\n", where), good = false;
  for (int i = 0; i < n_pairs; i++) {
    good = good && compare(where, &pairs[i]);
    nx_tensor_release(pairs[i].is);
    nx_tensor_release(pairs[i].wanted);
  }
  nx_scope_end(scope);
  nx_function_release(f);
  nx_stablehlo_release(m);
  free(wanted);
  return good;
}

static char *read_file(const char *path, size_t *size) {
  FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  char *text = NULL;
  size_t room = 0;
  *size = 0;
  while (f != NULL && !feof(f)) {
    if (*size == room && (text = realloc(text, room = 2 * room + 65536)) == NULL) break;
    *size += fread(text + *size, 1, room - *size, f);
  }
  if (f != NULL && f != stdin) fclose(f);
  return text;
}

/* Each part of a text between lines of "// -----"; an artifact is one. */
static void check_file(const char *path) {
  static const char line[] = "// -----\n";
  size_t size;
  char *text = read_file(path, &size), *at = text, where[400];
  if (text == NULL) {
    printf("%s: cannot be read\n", path);
    wrong++;
    return;
  }
  for (int part = 1; at != NULL; part++) {
    size_t left = size - (size_t)(at - text);
    char *next =
        left >= 4 && memcmp(at, "ML\xEFR", 4) == 0 ? NULL : memmem(at, left, line, sizeof line - 1);
    snprintf(where, sizeof where, "%s, module %d", path, part);
    bool good = check_module(where, at, next != NULL ? (size_t)(next - at) : left);
    right += good;
    wrong += !good;
    at = next != NULL ? next + sizeof line - 1 : NULL;
  }
  free(text);
}

int main(int argc, char **argv) {
  nx_context_options o = {.size = sizeof o, .cpu_devices = MOST_PROCESSES};
  if (nx_context_create(&o, &context) != NX_OK) return 1;
  for (int i = 1; i < argc; i++) check_file(argv[i]);
  printf("%d modules as expected, %d not\n", right, wrong);
  nx_context_release(context);
  return wrong > 0 || right == 0;
}
