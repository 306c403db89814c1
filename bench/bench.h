/* SPDX-License-Identifier: ISC */
/* What the benchmark rows share: interleaved timing, the machine's limits, operands that every
 * library makes alike, peers, and one way to print. */
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
  /* For a process that times itself: does the work `repeat` times and tells the seconds of one;
   * NULL: run is timed. */
  double (*timed)(void *state, int repeat);
  double rest;   /* seconds in which threads that do not belong to the context go to sleep */
  double median; /* seconds; this and the next are filled by bench_interleave */
  /* median over the rounds of its time divided by that of the first way */
  double ratio;
} bench_way;
double bench_now(void);
/* Times the ways in turn, A B C A B C, `rounds` times each; a way that takes less than `least`
 * seconds runs several times in each round. One that takes more than three times as long as the
 * first is left out of all rounds but each fifth. least < 0: nothing is run to warm up, and a way
 * other than the first that takes a quarter of a second takes part in the first round alone. */
void bench_interleave(bench_way *ways, size_t n, int rounds, double least);

/* ---- limits: work that moves bytes with all threads of the bench */

/* A copy that reads and writes, or a pure read (writes 0). It runs on the threads of the context,
 * so that there are no further threads that compete with them, with the widest vectors that the
 * library may use (NX_ISA). */
typedef enum bench_traffic_kind {
  BENCH_COPY,      /* with plain stores */
  BENCH_COPY_PAST, /* with stores that bypass the caches */
  BENCH_READ
} bench_traffic_kind;
typedef struct bench_traffic {
  struct nxi_pool *pool;
  char *from, *to;
  int64_t bytes; /* of `from`, and of `to` where that is written */
  bench_traffic_kind kind;
} bench_traffic;
void bench_traffic_init(bench_traffic *t, struct nxi_pool *pool, int64_t bytes,
                        bench_traffic_kind kind);
void bench_traffic_free(bench_traffic *t);
void bench_traffic_run(void *traffic);

/* ---- peers: processes that do named workloads on request */

enum { BENCH_PEERS = 8, BENCH_LINE = 512 };
typedef struct bench_peer bench_peer;
/* The script, told what it is to be; on as many processors as threads. NULL: that Python lacks the
 * library. */
bench_peer *bench_peer_start(const char *python, const char *script, const char *argument,
                             int threads);
void bench_peer_stop(bench_peer *p);
bool bench_peer_setup(bench_peer *p, const char *workload); /* false: it does not know that one */
/* A request; whether it is answered with ok, else *answer is what it says. */
void bench_peer_tell(bench_peer *p, const char *request);
bool bench_peer_hear(bench_peer *p, char answer[BENCH_LINE]);
double bench_peer_time(void *peer, int repeat); /* bench_way.timed */
/* Starts a run without waiting for its end; waits for it. */
void bench_peer_start_run(void *peer);
void bench_peer_wait(void *peer);

/* ---- rows */

typedef struct bench_row {
  const char *name, *dtype;
  int64_t size; /* elements of the main operand */
  int threads;
  double ms, limit_ms; /* limit_ms 0: none */
  double of_limit;     /* ratio of both within a round, median */
  struct {
    const char *name; /* NULL: none */
    double ms, ratio; /* of nx's time, median over the rounds */
  } peers[BENCH_PEERS];
  double target; /* of_limit, or for rows without one the largest ms; 0: none */
  int64_t kernels;
  double compile_ms;
} bench_row;
typedef struct bench_output {
  bool json;
  bool off;    /* no row is measured */
  FILE *table; /* that is written too, in Markdown; NULL: none */
  const char *only;
  bool list;                 /* rows are named, and none is measured */
  const char *without;       /* lines "group name" of rows that are left out; NULL: none */
  double end;                /* when no further row begins, as of bench_now; 0: never */
  double begin;              /* of the row that is measured */
  int part, parts;           /* of the rows only each parts-th, from `part` on; parts 0: all */
  int seen;                  /* rows so far that are wanted but for that */
  const char *group;         /* of the rows that follow */
  const char *isa;           /* of the kernels; NULL: not told */
  int rows, missed, unequal; /* unequal: results that differ from a peer's */
} bench_output;
void bench_put_head(FILE *table);
/* The text of a file of names, for `without`; NULL: it cannot be read. */
const char *bench_read_names(const char *path);
bool bench_wanted(bench_output *o, const char *name);
void bench_add_peer(bench_row *row, const char *name, const bench_way *way, double repeat);
void bench_print(bench_output *o, const bench_row *row);

typedef struct bench_lab {
  bench_output out;
  struct {
    const char *name;
    bench_peer *process;
    double rest; /* as of a way */
  } peers[BENCH_PEERS];
  int n_peers;
  bool fftw; /* is a peer too, if it is installed */
  nx_context *context;
  nx_device device;
  int threads;
  int rounds;      /* 0: results are compared, and nothing is timed */
  int64_t largest; /* extent that an operand may have; 0: any */
  /* Directory that the graphs of rows that consist of an expression are written to; nothing is
   * run. NULL: rows are measured. */
  const char *graphs;
} bench_lab;

/* Prints a row that has a time alone: no limit, no peer. */
void bench_put(bench_lab *lab, const char *name, double ms, double target_ms, int64_t size);

/* What is measured beside what. */
typedef struct bench_case {
  const char *name, *dtype;
  int64_t size;
  bench_way own;            /* nx's; */
  int repeat;               /* how often it does the work in a run; 0: once */
  const char *peer;         /* the workload, as a peer is asked for it; NULL: there is none */
  nx_tensor *const *result; /* n of them, which those of the peers must equal */
  size_t n_results;
  double differ;         /* the share of elements that may differ, where rounding decides much */
  int64_t reads, writes; /* bytes that set the limit; 0: none */
  const char *limit;     /* the peer that is the limit, if bytes are not; NULL: none */
  const char *other;     /* one more way; NULL: none */
  bench_way other_way;
  double target, least;
  int rounds; /* 0: those of the lab */
  int64_t kernels;
  double compile_ms;
} bench_case;
void bench_measure(bench_lab *lab, const bench_case *c);

/* What a process of the rows about processes does, with its cache in that folder; does not
 * return. */
void bench_first_result(const char *cache);

/* Ends the program with the library's error. For a benchmark a failure is a bug. */
void bench_check(nx_status status);

/* ---- operands */

typedef struct bench_operand {
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[4];
  double low, high;
} bench_operand;
enum { BENCH_OPERANDS = 8 };
/* Reads "f32:4096x1024 i32:8192:0:100": type, extents, and the range of the elements, which is -2
 * to 2 where it is not said. Extents are cut to the largest that the lab allows. */
int bench_operands_read(const bench_lab *lab, const char *text, bench_operand *out);
/* The same as a peer is told it. */
void bench_operands_print(const bench_operand *operands, int n, char *line, size_t size);
/* Operand `number` of a row: the elements are a function of number and position, the same in every
 * library (peers/operands.py). */
nx_tensor *bench_operand_make(const bench_lab *lab, const bench_operand *o, int number);
nx_tensor *bench_random(const bench_lab *lab, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        double low, double high);

/* ---- tables of rows that consist of an expression */

/* x: the operands of the row. */
typedef nx_tensor *bench_expression(const bench_lab *lab, nx_tensor **x);
enum {
  BENCH_CALLED = 1, /* captured once and called, as a frontend's jit would; else recorded, realised
                         and released each time */
  BENCH_COMPUTES = 2, /* its limit is not the traffic */
  BENCH_LOOSE = 4,    /* rounding decides what some elements are */
  BENCH_ALONE = 8,    /* results are not compared: equal elements may be taken in another order */
  BENCH_WHOLE = 16,   /* also timed with windows and the like stored as a whole */
  BENCH_SIZE = 32     /* the graph of another row in another size or type: not among --graphs */
};
typedef struct bench_workload {
  const char *name, *peer; /* peer: "" has none */
  bench_expression *record;
  const char *operands;
  double target;
  int flags;
  double traffic; /* bytes read and written, if not those of operands and result; 0 */
} bench_workload;
void bench_workloads(bench_lab *lab, const bench_workload *w, size_t n);

/* ---- the groups */

typedef struct bench_group {
  const char *name;
  void (*run)(bench_lab *lab);
} bench_group;
void bench_overhead(bench_lab *lab);
void bench_firsts(bench_lab *lab);
void bench_shapes(bench_lab *lab);
void bench_elementwise(bench_lab *lab);
void bench_reductions(bench_lab *lab);
void bench_row_kernels(bench_lab *lab);
void bench_scans(bench_lab *lab);
void bench_moves(bench_lab *lab);
void bench_images(bench_lab *lab);
void bench_indexed(bench_lab *lab);
void bench_products(bench_lab *lab);
void bench_windows(bench_lab *lab);
void bench_models(bench_lab *lab);
void bench_sort(bench_lab *lab);
void bench_fft(bench_lab *lab);
void bench_linalg(bench_lab *lab);

#endif
