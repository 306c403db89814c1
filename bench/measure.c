/* SPDX-License-Identifier: ISC */
/* One row: the peers are asked for its work, their results are compared with those of nx, and then
 * all ways are timed in turn. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "runtime/record/context.h"

/* The ways of a row, and what they are called. The first is nx's. */
typedef struct contest {
  bench_way ways[BENCH_PEERS + 4];
  const char *names[BENCH_PEERS + 4]; /* NULL: a limit, or nx */
  size_t n;
} contest;

static void add_way(contest *c, const char *name, bench_way way) {
  c->names[c->n] = name;
  c->ways[c->n++] = way;
}

/* ---- results */

static void write_results(const bench_case *c, const char *path, char *request, size_t size) {
  FILE *f = fopen(path, "wb");
  size_t used = (size_t)snprintf(request, size, "compare %s %g", path, c->differ);
  if (f == NULL) exit(1);
  for (size_t i = 0; i < c->n_results; i++) {
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(c->result[i], &info);
    size_t bytes = (size_t)nx_elements(c->result[i]) * (size_t)nx_dtype_bits(info.dtype) / 8;
    char *data = malloc(bytes + 1);
    if (data == NULL) exit(1);
    bench_check(nx_read(c->result[i], data, bytes, NULL));
    if (fwrite(data, 1, bytes, f) != bytes) exit(1);
    free(data);
    used += (size_t)snprintf(request + used, size - used, " %s:", nx_dtype_name(info.dtype));
    for (int32_t k = 0; k < info.rank; k++)
      used += (size_t)snprintf(request + used, size - used, "%s%lld", k ? "x" : "",
                               (long long)info.shape[k]);
  }
  fclose(f);
}

/* The folder for a file that a peer reads at once: in memory where there is one. */
static void make_path(char *path, size_t size) {
  const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(path, size, "%s/nx-bench-%ld", folder, (long)getpid());
}

/* Asks those of the peers that are still in it all at once; those that do not say ok leave it. */
static void ask_all(const bench_lab *lab, const bench_case *c, const char *request, bool *in,
                    void (*refused)(const bench_lab *lab, const char *row, int peer,
                                    const char *answer)) {
  char answer[BENCH_LINE];
  for (int i = 0; i < lab->n_peers; i++)
    if (in[i]) bench_peer_tell(lab->peers[i].process, request);
  for (int i = 0; i < lab->n_peers; i++) {
    if (!in[i] || bench_peer_hear(lab->peers[i].process, answer)) continue;
    in[i] = false;
    refused(lab, c->name, i, answer);
  }
}

static void left_out(const bench_lab *lab, const char *row, int peer, const char *answer) {
  if (strcmp(answer, "no") != 0)
    fprintf(stderr, "nx-bench: %s: %s leaves it out: %s\n", row, lab->peers[peer].name, answer);
}

static void unequal(const bench_lab *lab, const char *row, int peer, const char *answer) {
  fprintf(stderr, "nx-bench: %s: %s gets another result: %s\n", row, lab->peers[peer].name, answer);
}

static int count(const bool *in, int n) {
  int result = 0;
  for (int i = 0; i < n; i++) result += in[i];
  return result;
}

static void add_peers(bench_lab *lab, const bench_case *c, contest *all) {
  char path[64], request[BENCH_LINE];
  bool in[BENCH_PEERS];
  if (c->peer == NULL || c->peer[0] == 0 || lab->n_peers == 0) return;
  for (int i = 0; i < lab->n_peers; i++) in[i] = true;
  ask_all(lab, c, c->peer, in, left_out);
  if (c->n_results > 0) {
    int before = count(in, lab->n_peers);
    make_path(path, sizeof path);
    write_results(c, path, request, sizeof request);
    ask_all(lab, c, request, in, unequal);
    unlink(path);
    lab->out.unequal += before - count(in, lab->n_peers);
  }
  for (int i = 0; i < lab->n_peers; i++)
    if (in[i])
      add_way(all, lab->peers[i].name,
              (bench_way){.timed = bench_peer_time,
                          .state = lab->peers[i].process,
                          .rest = lab->peers[i].rest});
}

/* ---- limits */

/* A copy of half the bytes, or a pure read where next to nothing is written. */
static int add_limits(const bench_lab *lab, const bench_case *c, bench_traffic *traffic,
                      contest *all) {
  bool reads = c->writes * 8 < c->reads;
  int n = c->reads == 0 ? 0 : reads ? 1 : 2;
  for (int i = 0; i < n; i++) {
    bench_traffic_kind kind = reads ? BENCH_READ : i == 0 ? BENCH_COPY : BENCH_COPY_PAST;
    bench_traffic_init(&traffic[i], lab->context->pool,
                       reads ? c->reads : (c->reads + c->writes) / 2, kind);
    add_way(all, NULL, (bench_way){.run = bench_traffic_run, .state = &traffic[i]});
  }
  return n;
}

static void set_limit(bench_row *row, const bench_way *limit, double repeat) {
  if (limit == NULL) return;
  row->limit_ms = limit->median * 1e3 / repeat;
  row->of_limit = limit->ratio;
}

static const bench_way *find_limit(const contest *all, int n_limits, const char *name) {
  const bench_way *best = NULL;
  for (size_t i = 1; i < all->n; i++) {
    bool traffic = i <= (size_t)n_limits,
         library = name != NULL && all->names[i] != NULL && strcmp(all->names[i], name) == 0;
    if ((traffic || library) && (best == NULL || all->ways[i].ratio < best->ratio))
      best = &all->ways[i];
  }
  return best;
}

/* ---- the row */

void bench_measure(bench_lab *lab, const bench_case *c) {
  contest all = {.n = 0};
  bench_traffic traffic[2];
  double repeat = c->repeat > 0 ? c->repeat : 1;
  add_way(&all, NULL, c->own);
  int n_limits = lab->rounds == 0 ? 0 : add_limits(lab, c, traffic, &all);
  add_peers(lab, c, &all);
  if (c->other != NULL) add_way(&all, c->other, c->other_way);
  bench_row row = {.name = c->name,
                   .dtype = c->dtype,
                   .size = c->size,
                   .threads = lab->threads,
                   .kernels = c->kernels,
                   .compile_ms = c->compile_ms};
  if (lab->rounds == 0) {
    lab->out.rows++;
    return;
  }
  bench_interleave(all.ways, all.n, c->rounds > 0 ? c->rounds : lab->rounds,
                   c->least != 0 ? c->least : 1e-3);
  row.ms = all.ways[0].median * 1e3 / repeat;
  set_limit(&row, find_limit(&all, n_limits, c->limit), repeat);
  row.target = row.limit_ms > 0 || (c->limit == NULL && c->reads == 0) ? c->target : 0;
  for (size_t i = 1; i < all.n; i++)
    if (all.names[i] != NULL) bench_add_peer(&row, all.names[i], &all.ways[i], repeat);
  bench_print(&lab->out, &row);
  for (int i = 0; i < n_limits; i++) bench_traffic_free(&traffic[i]);
}
