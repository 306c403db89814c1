/* SPDX-License-Identifier: ISC */
/* Timing, limits, the NumPy process and printing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "runtime/record/context.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/threads.h"

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

/* Times one way once, `repeat` runs. */
static double time_way(const bench_way *way, int repeat) {
  if (repeat > 1) way->run(way->state); /* fills the caches again, and wakes threads */
  finish(way);
  double t = bench_now();
  for (int k = 0; k < repeat; k++) way->run(way->state);
  finish(way);
  t = (bench_now() - t) / repeat;
  /* Its threads still wait actively for more work, on the processors that the next way needs. */
  if (way->foreign) nanosleep(&(struct timespec){.tv_nsec = 500 * 1000}, NULL);
  return t;
}

static int repeats(const bench_way *way, double least) {
  way->run(way->state); /* twice to warm up: compile, fill caches, touch memory */
  way->run(way->state);
  finish(way);
  double t = bench_now();
  way->run(way->state);
  finish(way);
  t = bench_now() - t;
  return t > least ? 1 : (int)(least / (t > 1e-9 ? t : 1e-9)) + 1;
}

static double median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, compare);
  return times[n / 2];
}

void bench_interleave(bench_way *ways, size_t n, int rounds, double least) {
  double *times = calloc((n + 1) * (size_t)rounds, sizeof *times),
         *ratios = times + n * (size_t)rounds;
  int *repeat = calloc(n, sizeof *repeat);
  for (size_t i = 0; i < n; i++) repeat[i] = repeats(&ways[i], least);
  for (int r = 0; r < rounds; r++)
    for (size_t i = 0; i < n; i++)
      times[i * (size_t)rounds + (size_t)r] = time_way(&ways[i], repeat[i]);
  for (size_t i = n; i-- > 0;) { /* the first way last: the ratios need its rounds in order */
    double *own = times + i * (size_t)rounds;
    for (int r = 0; r < rounds; r++) ratios[r] = own[r] / times[r];
    ways[i].ratio = median(ratios, rounds);
    ways[i].median = median(own, rounds);
  }
  free(times);
  free(repeat);
}

/* ---- limits */

static char *big_block(int64_t bytes) {
  size_t size = ((size_t)bytes + (4 << 20)) & ~(size_t)((2 << 20) - 1);
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  madvise(p, size, MADV_HUGEPAGE);
  memset(p, 1, size);
  return p;
}

void bench_traffic_init(bench_traffic *t, const bench_lab *lab, int64_t reads, int64_t writes,
                        int kind) {
  *t =
      (bench_traffic){lab->context->pool, big_block(reads), big_block(writes), reads, writes, kind};
}

void bench_traffic_free(bench_traffic *t) {
  munmap(t->from, ((size_t)t->reads + (4 << 20)) & ~(size_t)((2 << 20) - 1));
  munmap(t->to, ((size_t)t->writes + (4 << 20)) & ~(size_t)((2 << 20) - 1));
}

enum { PIECE = 1 << 14 }; /* bytes a task */
static volatile int64_t sink;

typedef long long wide __attribute__((vector_size(64)));

/* Reads everything, with four sums, so that additions do not wait for each other. */
static void read_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  const bench_traffic *t = arg;
  const wide *from = (const wide *)(t->from + begin * PIECE);
  wide sum[4] = {{0}};
  (void)worker;
  for (int64_t k = 0; k < (end - begin) * (PIECE / 64); k += 4)
    for (int q = 0; q < 4; q++) sum[q] += from[k + q];
  sum[0] += sum[1] + sum[2] + sum[3];
  sink = sum[0][0];
}

/* Copies. */
static void copy_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  const bench_traffic *t = arg;
  (void)worker;
  const wide *from = (const wide *)(t->from + begin * PIECE);
  wide *to = (wide *)(t->to + begin * PIECE);
  int64_t n = (end - begin) * (PIECE / 64);
  if (t->kind == 0) {
    for (int64_t k = 0; k < n; k++) to[k] = from[k];
    return;
  }
  for (int64_t k = 0; k < n; k++) {
#if defined(__clang__)
    __builtin_nontemporal_store(from[k], &to[k]);
#elif defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)&to[k], (__m512i)from[k]);
#else
    to[k] = from[k];
#endif
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void bench_traffic_run(void *traffic) {
  bench_traffic *t = traffic;
  bool copies = t->reads == t->writes;
  nxi_pool_run(t->pool, copies ? copy_pieces : read_pieces, t, (t->reads + PIECE - 1) / PIECE, 8);
}

/* ---- NumPy */

struct bench_peer {
  pid_t pid;
  FILE *to, *from;
};

bench_peer *bench_peer_start(const char *python, const char *script, const char *argument,
                             int threads) {
  int down[2], up[2];
  char count[16];
  snprintf(count, sizeof count, "%d", threads);
  if (pipe(down) != 0 || pipe(up) != 0) return NULL;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(down[0], 0);
    dup2(up[1], 1);
    close(down[1]);
    close(up[0]);
    setenv("OPENBLAS_NUM_THREADS", count, 1);
    execlp(python, python, script, argument, (char *)NULL);
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  signal(SIGPIPE, SIG_IGN);
  bench_peer *p = calloc(1, sizeof *p);
  *p = (bench_peer){pid, fdopen(down[1], "w"), fdopen(up[0], "r")};
  if (!bench_peer_setup(p, "hello")) {
    bench_peer_stop(p);
    return NULL;
  }
  return p;
}

void bench_peer_stop(bench_peer *p) {
  if (p == NULL) return;
  fclose(p->to);
  fclose(p->from);
  waitpid(p->pid, NULL, 0);
  free(p);
}

static bool ask(bench_peer *p, const char *line) {
  char answer[64];
  fprintf(p->to, "%s\n", line);
  fflush(p->to);
  return fgets(answer, sizeof answer, p->from) != NULL && strcmp(answer, "ok\n") == 0;
}

bool bench_peer_setup(bench_peer *p, const char *workload) { return p != NULL && ask(p, workload); }
void bench_peer_run(void *peer) { ask(peer, "run"); }
void bench_peer_start_run(void *peer) {
  bench_peer *p = peer;
  fprintf(p->to, "go\n");
  fflush(p->to);
}
void bench_peer_wait(void *peer) { ask(peer, "wait"); }

/* ---- printing */

bool bench_wanted(const bench_output *o, const char *name) {
  return o->only == NULL || strstr(name, o->only) != NULL;
}

void bench_add_peer(bench_row *row, const char *name, double ms) {
  int i = 0;
  while (i < BENCH_PEERS - 1 && row->peers[i].name) i++;
  row->peers[i].name = name;
  row->peers[i].ms = ms;
}

static bool misses(const bench_row *r) {
  return r->target > 0 && (r->limit_ms > 0 ? r->of_limit < r->target : r->ms > r->target);
}

static void print_json(const bench_row *r) {
  printf("{\"name\": \"%s\", \"dtype\": \"%s\", \"size\": %lld, \"threads\": %d, \"ms\": %.8g, "
         "\"limit_ms\": %.8g, \"of_limit\": %.4f, \"peers\": {",
         r->name, r->dtype, (long long)r->size, r->threads, r->ms, r->limit_ms, r->of_limit);
  for (int i = 0; i < BENCH_PEERS && r->peers[i].name; i++)
    printf("%s\"%s\": %.8g", i ? ", " : "", r->peers[i].name, r->peers[i].ms);
  printf("}, \"kernels\": %lld, \"compile_ms\": %.3f}\n", (long long)r->kernels, r->compile_ms);
}

/* Significant digits, not decimals: rows go from 100 ns to seconds. */
static void print_line(const bench_row *r) {
  printf("%-26s %-4s %10lld  %#10.5g ms", r->name, r->dtype, (long long)r->size, r->ms);
  if (r->limit_ms > 0) printf("  limit %#8.5g  %.2f of it", r->limit_ms, r->of_limit);
  else printf("  %24s", "");
  for (int i = 0; i < BENCH_PEERS && r->peers[i].name; i++)
    printf("  %s %#8.5g (%.2fx)", r->peers[i].name, r->peers[i].ms, r->peers[i].ms / r->ms);
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
            r->peers[i].ms / r->ms);
  fprintf(f, " |\n");
  fflush(f);
}

void bench_print(bench_output *o, const bench_row *r) {
  o->rows++;
  o->missed += misses(r);
  if (o->table) put_row(o->table, r);
  if (o->json) print_json(r);
  else print_line(r);
  fflush(stdout);
}
