/* SPDX-License-Identifier: ISC */
/* nx-bench-generic: how much longer code takes whose extents are launch parameters than code that
 * has them as constants. Each graph is compiled in two contexts of one process. One is given the
 * shape alone and compiles it as it is; the other has met two other shapes before, so that extents
 * have become parameters. Both read the same memory and write the same memory, and are called in
 * turns; the least time counts. Exit status 1: their results differ in a bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graphs.h"
#include "ir/target.h"

enum { TYPES = 4, WIDTHS = 5, SIZES = 2, MOST_DIMENSIONS = 2, OPERANDS = GENERIC_OPERANDS };
enum { BESIDE = 64 }; /* elements more, which rows of another shape have */

static const struct {
  const char *name;
  nx_dtype dtype;
  size_t bytes;
  int type;
} types[TYPES] = {
    {"f32", NX_F32, 4, 1}, {"f64", NX_F64, 8, 1}, {"bf16", NX_BF16, 2, 1}, {"u8", NX_U8, 1, 2}};
static const int64_t widths[WIDTHS] = {20, 33, 100, 1000, 4098};
static const int64_t sizes[SIZES] = {100000, 1000000};

typedef struct options {
  const char *graph, *type;
  int64_t width, size; /* 0: all */
  double seconds;      /* of each turn of a row */
  int turns;           /* of a row that is beyond a tenth; others have half of them */
  bool json;
} options;

/* A graph in one context, for one shape. */
typedef struct side {
  bench_lab lab;
  nx_function *function;
  nx_tensor *in[OPERANDS], *out;
  double least; /* seconds of a call */
  bool shared;  /* code with parameters */
} side;

typedef struct row {
  const generic_graph *graph;
  int type;
  int64_t m, n;
  void *operand[OPERANDS], *result[2]; /* memory */
  int n_operands;
  side sides[2]; /* generic, special */
  bool differs;
} row;

/* ---- operands */

static int shape_of(generic_operand o, int64_t m, int64_t n, int64_t *shape) {
  shape[0] = o == GENERIC_TURNED || o == GENERIC_ROW ? n : o == GENERIC_AT ? m * n : m;
  shape[1] = o == GENERIC_MATRIX ? n : o == GENERIC_TURNED ? m : 1;
  return o == GENERIC_ROW || o == GENERIC_AT ? 1 : 2;
}

static bool numbers_of(generic_operand o) { return o == GENERIC_ROWS_AT || o == GENERIC_AT; }

static nx_dtype dtype_of(const row *r, int i) {
  return numbers_of(r->graph->operands[i]) ? NX_I32 : types[r->type].dtype;
}

static void set_element(void *data, nx_dtype dtype, int64_t i, uint32_t bits) {
  float value = (float)(bits >> 8) / (1 << 22) - 2;
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  if (dtype == NX_F32) ((float *)data)[i] = value;
  else if (dtype == NX_F64) ((double *)data)[i] = value;
  else if (dtype == NX_BF16) ((uint16_t *)data)[i] = (uint16_t)(word >> 16);
  else ((uint8_t *)data)[i] = (uint8_t)(bits >> 24);
}

static void *make_memory(size_t bytes) {
  enum { LINE = 64 };
  void *data = aligned_alloc(LINE, (bytes + LINE) / LINE * LINE);
  if (data == NULL) exit(1);
  memset(data, 0, bytes);
  return data;
}

/* Other extents, whose operands have no more elements. */
static void other_shape(const row *r, int number, int64_t *m, int64_t *n) {
  *n = number == 0 ? r->n * 2 / 3 + 11 : r->n - 2;
  *m = number == 0 ? r->m * 3 / 5 + 7 : r->m / 2 + 3;
}

/* Numbers of rows and elements are in range for all of them. */
static int64_t least_rows(const row *r) {
  int64_t least = r->m;
  for (int i = 0; i < 2; i++) {
    int64_t m, n;
    other_shape(r, i, &m, &n);
    if (m < least) least = m;
  }
  return least;
}

static void make_operand(row *r, int i) {
  int64_t shape[MOST_DIMENSIONS], most = least_rows(r);
  if (r->graph->operands[i] == GENERIC_AT) most *= r->n / 2;
  shape_of(r->graph->operands[i], r->m, r->n, shape);
  const int64_t n = shape[0] * shape[1] + BESIDE;
  const bool numbers = numbers_of(r->graph->operands[i]);
  void *data = make_memory((size_t)n * sizeof(double));
  uint32_t bits = 1 + (uint32_t)i;
  for (int64_t e = 0; e < n; e++) {
    bits = bits * 1664525u + 1013904223u;
    if (numbers) ((int32_t *)data)[e] = (int32_t)((bits >> 8) % (uint64_t)most);
    else set_element(data, dtype_of(r, i), e, bits);
  }
  r->operand[i] = data;
}

static nx_tensor *import(const side *s, nx_dtype dtype, const int64_t *shape, int rank, void *data,
                         uint32_t mode) {
  nx_import_desc d = {.size = sizeof d, .mode = mode, .dtype = dtype, .rank = rank};
  nx_tensor *t = NULL;
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= shape[i];
  d.shape = shape;
  d.base = data;
  d.bytes = (size_t)n * nx_dtype_bits(dtype) / 8;
  bench_check(nx_import(s->lab.context, &d, &t));
  return t;
}

/* ---- both sides */

/* Captures the graph for a shape, calls it once, into r->result[number], and keeps it. */
static void prepare(row *r, side *s, int64_t m, int64_t n, int number) {
  nx_report report = {.size = sizeof report};
  const nx_run_options reported = {.size = sizeof reported, .report = &report};
  nx_tensor *holders[OPERANDS], *out;
  nx_scope *scope = nx_scope_begin(s->lab.context);
  for (int i = 0; i < r->n_operands; i++) {
    int64_t shape[MOST_DIMENSIONS];
    int rank = shape_of(r->graph->operands[i], m, n, shape);
    holders[i] = nx_placeholder(s->lab.context, 0, dtype_of(r, i), shape, rank);
    s->in[i] = nx_keep(import(s, dtype_of(r, i), shape, rank, r->operand[i], NX_IMPORT_IMMUTABLE));
  }
  out = r->graph->record(&s->lab, holders);
  bench_check(nx_function_create(s->lab.context, holders, (size_t)r->n_operands, &out, 1, NULL,
                                 &s->function));
  s->out = nx_keep(import(s, nx_dtype_of(out), nx_shape(out), nx_rank(out), r->result[number],
                          NX_IMPORT_MAPPED));
  nx_scope_end(scope);
  bench_check(nx_function_call(s->function, s->in, (size_t)r->n_operands, &s->out, 1, &reported));
  s->shared = report.generic_hits + report.generic_misses > 0;
}

static void drop(const row *r, side *s) {
  for (int i = 0; i < r->n_operands; i++) nx_tensor_release(s->in[i]);
  nx_tensor_release(s->out);
  nx_function_release(s->function);
}

static double time_of(const row *r, side *s, int repeat) {
  double began = bench_now();
  for (int i = 0; i < repeat; i++)
    bench_check(nx_function_call(s->function, s->in, (size_t)r->n_operands, &s->out, 1, NULL));
  double seconds = (bench_now() - began) / repeat;
  if (seconds < s->least) s->least = seconds;
  return seconds;
}

/* A turn has contexts of its own: what else a processor does depends on where memory lies. */
static void take_turn(row *r, const options *o, int turn) {
  const nx_context_options wanted = {.size = sizeof wanted, .threads = 1, .cache_dir = ""};
  for (int i = 0; i < 2; i++) bench_check(nx_context_create(&wanted, &r->sides[i].lab.context));
  for (int i = 0; i < 2; i++) {
    int64_t m, n;
    other_shape(r, i, &m, &n);
    prepare(r, &r->sides[0], m, n, 0);
    drop(r, &r->sides[0]);
  }
  for (int i = 0; i < 2; i++) prepare(r, &r->sides[i], r->m, r->n, i);
  const nx_tensor *out = r->sides[0].out;
  const size_t bytes = (size_t)nx_elements(out) * nx_dtype_bits(nx_dtype_of(out)) / 8;
  r->differs = r->differs || memcmp(r->result[0], r->result[1], bytes) != 0;
  nx_tensor_release(r->sides[1].out); /* both write the same memory from now on */
  r->sides[1].out = import(&r->sides[1], nx_dtype_of(out), nx_shape(out), nx_rank(out),
                           r->result[0], NX_IMPORT_MAPPED);
  const double enough = 30e-6, once = time_of(r, &r->sides[1], 2);
  const int repeat = once < enough ? (int)(enough / once) + 1 : 1;
  for (double began = bench_now(); bench_now() - began < o->seconds; turn++)
    for (int i = 0; i < 2; i++) time_of(r, &r->sides[(i + turn) % 2], repeat);
  for (int i = 0; i < 2; i++) {
    drop(r, &r->sides[i]);
    nx_context_release(r->sides[i].lab.context);
  }
}

static double ratio_of(const row *r) { return r->sides[0].least / r->sides[1].least; }

static void print(const row *r, const options *o) {
  const double generic = 1e6 * r->sides[0].least, special = 1e6 * r->sides[1].least;
  const char *note = r->differs ? "results differ" : r->sides[0].shared ? "" : "the same code";
  if (o->json)
    printf("{\"graph\": \"%s\", \"dtype\": \"%s\", \"isa\": \"%s\", \"rows\": %lld, "
           "\"columns\": %lld, \"generic_us\": %.4f, \"special_us\": %.4f}\n",
           r->graph->name, types[r->type].name, nxi_target_host()->isa, (long long)r->m,
           (long long)r->n, generic, special);
  else
    printf("%-27s %-4s %7lld x %-5lld %9.2f %9.2f us  %.2f %s\n", r->graph->name,
           types[r->type].name, (long long)r->m, (long long)r->n, generic, special, ratio_of(r),
           note);
  fflush(stdout);
}

/* ---- the program */

typedef struct totals {
  int rows, beyond;
  double logarithms;
  bool differ;
} totals;

static void run_row(row *r, const options *o, totals *sum) {
  enum { RESULT = 2 }; /* elements of a result, at most, for each of a matrix and its border */
  const double tenth = 1.1, fair = 0.05;
  const size_t most = RESULT * sizeof(double) * (size_t)((r->m + 2) * (r->n + 2));
  while (r->n_operands < OPERANDS && r->graph->operands[r->n_operands] != GENERIC_NONE)
    make_operand(r, r->n_operands++);
  for (int i = 0; i < 2; i++) {
    r->result[i] = make_memory(most);
    r->sides[i].least = INFINITY;
  }
  for (int turn = 0; turn < o->turns && (turn < 1 || fabs(log(ratio_of(r))) > fair); turn++)
    take_turn(r, o, turn);
  print(r, o);
  sum->rows++;
  sum->beyond += ratio_of(r) > tenth;
  sum->logarithms += log(ratio_of(r));
  sum->differ = sum->differ || r->differs;
  for (int i = 0; i < r->n_operands; i++) free(r->operand[i]);
  for (int i = 0; i < 2; i++) free(r->result[i]);
}

static void run_shapes(const generic_graph *graph, int type, const options *o, totals *sum) {
  for (int size = 0; size < SIZES; size++)
    for (int width = 0; width < WIDTHS; width++) {
      if (o->width != 0 && o->width != widths[width]) continue;
      if (o->size != 0 && o->size != sizes[size]) continue;
      int64_t n = widths[width];
      row r = {.graph = graph, .type = type, .m = sizes[size] / n, .n = n};
      run_row(&r, o, sum);
    }
}

static int usage(void) {
  fprintf(stderr, "usage: nx-bench-generic [--graph NAME] [--type f32|f64|bf16|u8] [--width N]"
                  " [--size N]\n"
                  "                        [--turns N] [--seconds N] [--json]\n");
  return 2;
}

static bool take_option(options *o, const char *name, const char *value) {
  if (strcmp(name, "--graph") == 0) o->graph = value;
  else if (strcmp(name, "--type") == 0) o->type = value;
  else if (strcmp(name, "--width") == 0) o->width = atoll(value);
  else if (strcmp(name, "--size") == 0) o->size = atoll(value);
  else if (strcmp(name, "--turns") == 0) o->turns = atoi(value);
  else if (strcmp(name, "--seconds") == 0) o->seconds = atof(value);
  else return false;
  return o->turns > 0;
}

int main(int argc, char **argv) {
  options o = {.seconds = 0.01, .turns = 4};
  totals sum = {0};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) o.json = true;
    else if (strcmp(argv[i], "--isa") == 0) return puts(nxi_target_host()->isa) < 0;
    else if (i + 1 >= argc || !take_option(&o, argv[i], argv[i + 1])) return usage();
    else i++;
  }
  /* Nothing is interpreted meanwhile, and what runs for long stays as it is. */
  setenv("NX_BACKGROUND", "off", 1);
  for (size_t i = 0; i < n_generic_graphs; i++)
    for (int type = 0; type < TYPES; type++) {
      const generic_graph *graph = &generic_graphs[i];
      if (o.graph != NULL && strcmp(o.graph, graph->name) != 0) continue;
      if (o.type != NULL && strcmp(o.type, types[type].name) != 0) continue;
      if (graph->types & types[type].type) run_shapes(graph, type, &o, &sum);
    }
  if (!o.json && sum.rows > 0)
    printf("%d rows, geometric mean %.3f, %d beyond a tenth\n", sum.rows,
           exp(sum.logarithms / sum.rows), sum.beyond);
  return sum.differ;
}
