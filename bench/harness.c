/* SPDX-License-Identifier: ISC */
/* Timing and printing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_check(nx_status status) {
  nx_error e = {.size = sizeof e};
  nx_status held = nx_error_take(&e);
  if (status == NX_OK && held == NX_OK) return;
  fprintf(stderr, "nx-bench: %s: %s\n", nx_status_name(status != NX_OK ? status : held),
          e.message ? e.message : "");
  exit(1);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void finish(const bench_way *way) {
  if (way->wait) way->wait(way->state);
}

static double time_runs(const bench_way *way, int repeat) {
  if (way->timed) return way->timed(way->state, repeat);
  double t = bench_now();
  for (int k = 0; k < repeat; k++) way->run(way->state);
  finish(way);
  return (bench_now() - t) / repeat;
}

/* Times one way once, `repeat` runs. */
static double time_way(const bench_way *way, int repeat) {
  if (repeat > 1) time_runs(way, 1); /* fills the caches again, and wakes threads */
  double t = time_runs(way, repeat);
  /* Its threads still wait actively for more work, on the processors that the next way needs. */
  if (way->rest > 0) nanosleep(&(struct timespec){.tv_nsec = (long)(way->rest * 1e9)}, NULL);
  return t;
}

/* The median of the times that were taken; the others are NAN. */
static double median(const double *times, int n) {
  double *taken = malloc((size_t)n * sizeof *taken), result;
  int count = 0;
  if (taken == NULL) exit(1);
  for (int i = 0; i < n; i++)
    if (!isnan(times[i])) taken[count++] = times[i];
  qsort(taken, (size_t)count, sizeof *taken, compare);
  result = count > 0 ? taken[count / 2] : 0;
  free(taken);
  return result;
}

/* Runs a way until its code is there, which a thread makes in the background while quick graphs are
 * interpreted: of the few rounds after three runs, the interpreter had most. A peer that compiles
 * does so in its first run. Twice at least: caches are filled, and memory is touched. */
static void warm_up(const bench_way *way, bool own) {
  const double began = bench_now(), enough = own ? 100e-3 : 0;
  for (int runs = 0; runs < 2 || bench_now() - began < enough; runs++) time_runs(way, 1);
}

/* How often a way runs in a round, and in each how manieth round. */
typedef struct pace {
  int repeat, every;
} pace;

static void find_paces(const bench_way *ways, size_t n, double least, pace *paces) {
  double first = 0;
  for (size_t i = 0; i < n; i++) {
    if (least < 0) {
      paces[i] = (pace){1, 1};
      continue;
    }
    warm_up(&ways[i], i == 0);
    double t = time_runs(&ways[i], 1);
    if (i == 0) first = t;
    paces[i] =
        (pace){t > least ? 1 : (int)(least / (t > 1e-9 ? t : 1e-9)) + 1, t > 3 * first ? 5 : 1};
  }
}

static void reckon(bench_way *ways, size_t n, int rounds, const double *times) {
  double *ratios = calloc((size_t)rounds, sizeof *ratios);
  if (ratios == NULL) exit(1);
  for (size_t i = 0; i < n; i++) {
    const double *own = times + i * (size_t)rounds;
    for (int r = 0; r < rounds; r++) ratios[r] = own[r] / times[r];
    ways[i].ratio = median(ratios, rounds);
    ways[i].median = median(own, rounds);
  }
  free(ratios);
}

void bench_interleave(bench_way *ways, size_t n, int rounds, double least) {
  double *times = calloc(n * (size_t)rounds, sizeof *times);
  pace *paces = calloc(n, sizeof *paces);
  if (times == NULL || paces == NULL) exit(1);
  find_paces(ways, n, least, paces);
  for (int r = 0; r < rounds; r++)
    for (size_t i = 0; i < n; i++) {
      double *t = &times[i * (size_t)rounds + (size_t)r];
      *t = r % paces[i].every == 0 ? time_way(&ways[i], paces[i].repeat) : NAN;
      if (least < 0 && i > 0 && r == 0 && *t > 0.25) paces[i].every = rounds;
    }
  reckon(ways, n, rounds, times);
  free(times);
  free(paces);
}

/* ---- printing */

/* Whether a line of the text is the group and the name. */
static bool has_line(const char *text, const char *group, const char *name) {
  size_t g = strlen(group), n = strlen(name);
  for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, group, g) == 0 && at[g] == ' ' && strncmp(at + g + 1, name, n) == 0 &&
        (at[g + 1 + n] == '\n' || at[g + 1 + n] == 0))
      return true;
  }
  return false;
}

/* Of all rows there is room. */
const char *bench_read_names(const char *path) {
  static char text[1 << 16];
  FILE *f = fopen(path, "r");
  if (f == NULL) return NULL;
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return text;
}

bool bench_wanted(bench_output *o, const char *name) {
  if (o->off || (o->only != NULL && strstr(name, o->only) == NULL)) return false;
  if (o->parts != 0 && o->seen++ % o->parts != o->part) return false;
  if (o->without != NULL && has_line(o->without, o->group, name)) return false;
  if (o->list) printf("%s %s\n", o->group, name);
  o->begin = bench_now();
  return !o->list && (o->end == 0 || o->begin < o->end);
}

void bench_add_peer(bench_row *row, const char *name, const bench_way *way, double repeat) {
  int i = 0;
  while (i < BENCH_PEERS - 1 && row->peers[i].name) i++;
  row->peers[i].name = name;
  row->peers[i].ms = way->median * 1e3 / repeat;
  row->peers[i].ratio = way->ratio;
}

static bool misses(const bench_row *r) {
  return r->target > 0 && (r->limit_ms > 0 ? r->of_limit < r->target : r->ms > r->target);
}

static void print_json(const bench_output *o, const bench_row *r) {
  printf("{");
  if (o->group) printf("\"group\": \"%s\", ", o->group);
  if (o->isa) printf("\"isa\": \"%s\", ", o->isa);
  printf("\"name\": \"%s\", \"dtype\": \"%s\", \"size\": %lld, \"threads\": %d, \"ms\": %.8g, "
         "\"limit_ms\": %.8g, \"of_limit\": %.4f, \"peers\": {",
         r->name, r->dtype, (long long)r->size, r->threads, r->ms, r->limit_ms, r->of_limit);
  for (int i = 0; i < BENCH_PEERS && r->peers[i].name; i++)
    printf("%s\"%s\": %.8g", i ? ", " : "", r->peers[i].name, r->peers[i].ms);
  printf("}, \"ratios\": {");
  for (int i = 0; i < BENCH_PEERS && r->peers[i].name; i++)
    printf("%s\"%s\": %.4f", i ? ", " : "", r->peers[i].name, r->peers[i].ratio);
  printf("}, \"target\": %g, \"kernels\": %lld, \"compile_ms\": %.3f, \"seconds\": %.2f}\n",
         r->target, (long long)r->kernels, r->compile_ms, bench_now() - o->begin);
}

/* Significant digits, not decimals: rows go from 100 ns to seconds. */
static void print_line(const bench_row *r) {
  printf("%-34s %-4s %10lld  %#10.5g ms", r->name, r->dtype, (long long)r->size, r->ms);
  if (r->limit_ms > 0) printf("  limit %#8.5g  %.2f of it", r->limit_ms, r->of_limit);
  else printf("  %24s", "");
  for (int i = 0; i < BENCH_PEERS && r->peers[i].name; i++)
    printf("  %s %#8.5g (%.2fx)", r->peers[i].name, r->peers[i].ms, r->peers[i].ratio);
  if (r->compile_ms > 0)
    printf("  %lld kernels, compiled in %.1f ms", (long long)r->kernels, r->compile_ms);
  if (r->target > 0) {
    printf(r->limit_ms > 0 ? "  target %.2f" : "  target %g ms", r->target);
    if (misses(r)) printf(" MISSED");
  }
  printf("\n");
}

void bench_put_head(FILE *f) {
  fprintf(f, "| row | type | ms | limit, ms | of it | target | peers, ms (of nx's) |\n"
             "|---|---|---|---|---|---|---|\n");
}

static void put_row(FILE *f, const bench_row *r) {
  fprintf(f, "| %s | %s | %#.4g |", r->name, r->dtype, r->ms);
  if (r->limit_ms > 0) fprintf(f, " %#.4g | %.2f |", r->limit_ms, r->of_limit);
  else fprintf(f, " | |");
  if (r->target > 0) fprintf(f, r->limit_ms > 0 ? " %.2f" : " %g ms", r->target);
  fprintf(f, "%s |", misses(r) ? ", missed" : "");
  for (int i = 0; i < BENCH_PEERS && r->peers[i].name; i++)
    fprintf(f, "%s %s %#.4g (%.2f)", i ? "," : "", r->peers[i].name, r->peers[i].ms,
            r->peers[i].ratio);
  fprintf(f, " |\n");
  fflush(f);
}

void bench_print(bench_output *o, const bench_row *r) {
  o->rows++;
  o->missed += misses(r);
  if (o->table) put_row(o->table, r);
  if (o->json) print_json(o, r);
  else print_line(r);
  fflush(stdout);
}

void bench_put(bench_lab *lab, const char *name, double ms, double target_ms, int64_t size) {
  bench_row row = {.name = name,
                   .dtype = "f32",
                   .size = size,
                   .threads = lab->threads,
                   .ms = ms,
                   .target = target_ms};
  bench_print(&lab->out, &row);
}
