/* SPDX-License-Identifier: ISC */
/* One process of an MPI job, for processes_test.py: process JOB [ARGUMENT]. It prints what comes of
 * the job as lines "rank R: ..", and ends with 1 if a result is wrong. */
#include <nx/nx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 30000 };

static nx_context *c;
static nx_group *g;
static int32_t rank, size;

static void must(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK && nx_error_take(&e) == NX_OK) return;
  if (status != NX_OK) nx_error_take(&e);
  printf("rank %d: %s: %s\n", rank, nx_status_name(e.status), e.message);
  fflush(stdout);
  exit(1);
}

static float element(int32_t of, int64_t j) {
  return (float)((of + 1) * 1.1 + (double)j * 0.37) * (j % 3 == 0 ? -1.0f : 1e3f);
}

static nx_tensor *operand(int64_t rows, int64_t columns) {
  float *data = malloc((size_t)(rows * columns) * sizeof *data);
  for (int64_t j = 0; j < rows * columns; j++) data[j] = element(rank, j);
  nx_tensor *x = nx_empty(c, 0, NX_F32, NX_SHAPE(rows, columns));
  must(nx_write(x, data, (size_t)(rows * columns) * sizeof *data, NULL));
  free(data);
  return x;
}

static float reduced(int64_t j) {
  float sum = element(0, j);
  for (int32_t r = 1; r < size; r++) sum += element(r, j);
  return sum;
}

static void expect(const char *what, nx_tensor *y, int64_t n, float (*wanted)(int64_t j)) {
  float *got = malloc((size_t)n * sizeof *got);
  must(nx_read(y, got, (size_t)n * sizeof *got, NULL));
  for (int64_t j = 0; j < n; j++) {
    float w = wanted(j);
    if (!memcmp(&w, &got[j], sizeof w)) continue;
    printf("rank %d: %s: element %d is %a, not %a\n", rank, what, (int)j, (double)got[j],
           (double)w);
    exit(1);
  }
  free(got);
}

static float of_part(int64_t j) { return reduced(rank * (LENGTH / size) + j); }
static float of_all(int64_t j) { return element((int32_t)(j / LENGTH), j % LENGTH); }
static float of_each(int64_t j) { return element((int32_t)(j / 6), rank * 6 + j % 6); }
static float of_last(int64_t j) { return element(size - 1, j); }
static float of_before(int64_t j) { return rank ? element(rank - 1, j) : 0; }

/* Every collective, of few elements and of many, twice. */
static void all(void) {
  nx_pair pairs[64];
  for (int32_t i = 0; i + 1 < size; i++) pairs[i] = (nx_pair){i, i + 1};
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *x = operand(8, LENGTH / 8), *few = operand(size * 2, 3);
  for (int round = 0; round < 2; round++) {
    expect("all_reduce", nx_all_reduce(x, g, NX_REDUCE_SUM, 0), LENGTH, reduced);
    expect("few", nx_all_reduce(few, g, NX_REDUCE_SUM, 0), size * 6, reduced);
    expect("all_gather", nx_all_gather(x, g, 0), (int64_t)size * LENGTH, of_all);
    expect("reduce_scatter",
           nx_reduce_scatter(nx_reshape(x, NX_SHAPE(LENGTH), 0), g, NX_REDUCE_SUM, 0),
           LENGTH / size, of_part);
    expect("all_to_all", nx_all_to_all(few, g, 0, 0), size * 6, of_each);
    expect("permute", nx_collective_permute(x, g, pairs, (size_t)size - 1), LENGTH, of_before);
    expect("broadcast", nx_collective_broadcast(x, g, size - 1), LENGTH, of_last);
  }
  nx_scope_end(scope);
  printf("rank %d: good\n", rank);
}

/* Results that fail: the status and the sentence. */
static void fail(nx_tensor *y) {
  float got[64];
  nx_error e = {.size = sizeof e};
  nx_status status = nx_read(y, got, sizeof got, NULL);
  nx_error_take(&e);
  printf("rank %d: %s: %s\n", rank, nx_status_name(status), e.message);
}

static void one_is_killed(void) {
  nx_tensor *x = operand(8, 8);
  must(nx_realize(c, (nx_tensor *[]){nx_all_reduce(x, g, NX_REDUCE_SUM, 0)}, 1, NULL));
  fflush(stdout);
  if (rank == 1) abort();
  fail(nx_all_reduce(x, g, NX_REDUCE_SUM, 0));
}

static void one_is_late(void) {
  nx_tensor *x = operand(8, 8);
  if (rank == 1) sleep(2);
  else fail(nx_all_reduce(x, g, NX_REDUCE_SUM, 0));
}

static void shapes_differ(void) {
  nx_tensor *x = operand(8, 8);
  fail(nx_all_reduce(rank == 1 ? nx_reshape(x, NX_SHAPE(64), 0) : x, g, NX_REDUCE_SUM, 0));
}

static void order_differs(void) {
  nx_tensor *x = operand(8, 8);
  if (rank == 2) nx_all_gather(x, g, 0);
  fail(nx_all_reduce(x, g, NX_REDUCE_SUM, 0));
}

/* Of ranks 0 and 2, the other way round, beside the whole job; and of those that are no good. */
static void groups(void) {
  nx_group *other = NULL;
  nx_error e = {.size = sizeof e};
  int32_t wrong = nx_group_join(c, 0, (const int32_t[]){0, 99}, 2, NULL, &other);
  nx_error_take(&e);
  printf("rank %d: %s: %s\n", rank, nx_status_name(wrong), e.message);
  if (rank % 2) return;
  must(nx_group_join(c, 0, (const int32_t[]){2, 0}, 2, NULL, &other));
  int32_t got[2] = {0}, own = rank;
  nx_tensor *x = nx_full(c, 0, NX_I32, NX_SHAPE(1), NX_INTEGER(own));
  must(nx_read(nx_all_gather(x, other, 0), got, sizeof got, NULL));
  printf("rank %d: is %d of %d, gathers %d %d\n", rank, nx_group_rank(other), nx_group_size(other),
         got[0], got[1]);
  nx_group_release(other);
}

/* A child of fork computes, and is no member; its end does not end MPI for its parent, which goes
 * on as before. */
static void forks(void) {
  nx_tensor *x = operand(8, 8), *y = nx_all_reduce(x, g, NX_REDUCE_SUM, 0);
  must(nx_realize(c, &y, 1, NULL));
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    nx_group *other = NULL;
    nx_error e = {.size = sizeof e};
    nx_tensor *own = nx_add(x, x);
    must(nx_realize(c, &own, 1, NULL));
    fail(nx_all_reduce(x, g, NX_REDUCE_SUM, 0));
    nx_group_join(c, 0, NULL, 0, NULL, &other);
    nx_error_take(&e);
    printf("rank %d: %s\n", rank, e.message);
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  must(nx_realize(c, (nx_tensor *[]){nx_all_reduce(x, g, NX_REDUCE_MAX, 0)}, 1, NULL));
  printf("rank %d: its child ends with %d, and it goes on\n", rank, status);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } jobs[] = {{"all", all},
              {"killed", one_is_killed},
              {"late", one_is_late},
              {"shapes", shapes_differ},
              {"order", order_differs},
              {"groups", groups},
              {"forks", forks}};
  nx_group_options o = {
      .size = sizeof o, .name = "job", .timeout_ms = argc > 2 ? atoi(argv[2]) : 0};
  must(nx_context_create(NULL, &c));
  must(nx_group_join(c, 0, NULL, 0, &o, &g));
  rank = nx_group_rank(g);
  size = nx_group_size(g);
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
    if (argc > 1 && !strcmp(argv[1], jobs[i].name)) jobs[i].run();
  nx_group_release(g);
  fflush(stdout);
  return 0;
}
