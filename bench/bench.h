/* SPDX-License-Identifier: ISC */
/* What the benchmark rows share: interleaved timing, the machine's limits, peers, and one way to
 * print. */
#ifndef NX_BENCH_H
#define NX_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nx/nx.h"

/* One way to do a piece of work. run does it once. */
typedef struct bench_way {
  void (*run)(void *state);
  void *state;
  void (*wait)(void *state); /* waits until the work is done; NULL: it is done when run returns */
  bool foreign;              /* uses threads that do not belong to the context */
  double median;             /* seconds; this and the next are filled by bench_interleave */
  /* median over the rounds of its time divided by that of the first way */
  double ratio;
} bench_way;
double bench_now(void);
/* Times the ways in turn, A B C A B C, `rounds` times each; a way that takes less than `least`
 * seconds runs several times in each round. */
void bench_interleave(bench_way *ways, size_t n, int rounds, double least);

/* ---- limits: work that moves bytes with all threads of the bench */
/* A copy that reads and writes, or a pure read (writes 0). It runs on the threads of the context,
 * so that there are no further threads that compete with them. kind 0: plain stores; 1: nontemporal
 * stores. */
typedef struct bench_traffic {
  struct nxi_pool *pool;
  char *from, *to;
  int64_t reads, writes;
  int kind;
} bench_traffic;
void bench_traffic_free(bench_traffic *t);
void bench_traffic_run(void *traffic);

/* ---- the NumPy peer: a process that does named workloads on request. NULL if there is no
 * NumPy. */
typedef struct bench_peer bench_peer;
/* argument: of the script, or NULL. */
bench_peer *bench_peer_start(const char *python, const char *script, const char *argument,
                             int threads);
void bench_peer_stop(bench_peer *p);
bool bench_peer_setup(bench_peer *p, const char *workload); /* false: it does not know that one */
void bench_peer_run(void *peer);
/* Starts a run without waiting for its end; waits for it. */
void bench_peer_start_run(void *peer);
void bench_peer_wait(void *peer);

/* ---- rows */
enum { BENCH_PEERS = 3 };
typedef struct bench_row {
  const char *name, *dtype;
  int64_t size; /* elements of the main operand */
  int threads;
  double ms, limit_ms; /* limit_ms 0: none */
  double of_limit;     /* ratio of both within a round, median */
  struct {
    const char *name; /* NULL: none */
    double ms;
  } peers[BENCH_PEERS];
  double target; /* of_limit, or for rows without one the largest ms; 0: none */
  int64_t kernels;
  double compile_ms;
} bench_row;
typedef struct bench_output {
  bool json;
  FILE *table; /* that is written too, in Markdown; NULL: none */
  const char *only;
  int rows, missed;
} bench_output;
void bench_put_head(FILE *table);
bool bench_wanted(const bench_output *o, const char *name);
void bench_add_peer(bench_row *row, const char *name, double ms);
void bench_print(bench_output *o, const bench_row *row);

typedef struct bench_lab {
  bench_output out;
  bench_peer *numpy;
  nx_context *context;
  nx_device device;
  int threads, rounds;
} bench_lab;
void bench_traffic_init(bench_traffic *t, const bench_lab *lab, int64_t reads, int64_t writes,
                        int kind);
void bench_overhead(bench_lab *lab);
void bench_arrays(bench_lab *lab);
void bench_matmul(bench_lab *lab);
void bench_linalg(bench_lab *lab);
void bench_fft(bench_lab *lab);
void bench_sort(bench_lab *lab);
void bench_windows(bench_lab *lab);

/* Ends the program with the library's error. For a benchmark a failure is a bug. */
void bench_check(nx_status status);
nx_tensor *bench_random(const bench_lab *lab, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        double low, double high);

#endif
