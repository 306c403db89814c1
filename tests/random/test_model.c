/* SPDX-License-Identifier: ISC */
/* Random programs over the whole interface, next to an eager model of it (model.h): views and
 * mutation, laziness,
 * mappings and host writes, imports, functions, scopes, failing and interrupted realises, fusion on
 * and off. Every value that is read is compared, nothing may be left at the end. A program that
 * fails is cut down, printed, and saved as failing.program.
 *
 *   test_model [plain | faults | threads] [FIRST_SEED [COUNT [STEPS]]]
 *   test_model replay FILE
 *
 * COUNT 0: until one fails. NX_RANDOM=n in the environment: n / 3000 of them, but a fifth at least.
 * A file holds mode, seed
 * and the numbers of the steps that are left, so it is one for this version of the steps; what they
 * do follows as text.
 *
 * faults: allocations fail at random, after which nothing may have changed. threads: several
 * programs at once in one
 * context, with tensors that all of them read and one of which each assigns a part. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/random/model/world.h"
#include "runtime/library/libraries.h"
#include "runtime/realize/run.h"
#include "runtime/record/objects.h"
#include "tests/util/runner.h"

enum { MOST_STEPS = 400, SECONDS = 20 };

/* What the child that runs programs says to its parent. */
typedef struct board {
  uint64_t seed;
  char log[LOG_BYTES];
} board;
static board *shared;
static bool with_faults;
static uint32_t n_steps = 60;

static const char *const saved_as = "failing.program";

static void run_steps(world *w, uint64_t seed, const bool *left_out) {
  for (uint32_t i = 0; i < n_steps; i++) {
    if (left_out && left_out[i]) continue;
    w->r.state = seed * 1000003 + i * 7919u;
    w->fault_random.state = ~w->r.state;
    random_step(w);
  }
}

static void run_program(uint64_t seed, const bool *left_out) {
  static world w;
  memset(&w, 0, sizeof w);
  w = (world){.log = shared->log, .faults = with_faults, .r = {seed}};
  shared->seed = seed;
  shared->log[0] = 0;
  if (chance(&w, 25)) w.flags |= NX_DEFER_EXPOSED;
  if (chance(&w, 25)) w.flags |= NX_MANUAL_COLLECT;
  nx_context_options o = {
      .size = sizeof o, .flags = w.flags, .threads = 1 + (int32_t)chance(&w, 20), .cache_dir = ""};
  choose_style(&w);
  say(&w, "context(flags %u, %d threads)", o.flags, o.threads);
  EXPECT_OK(&w, nx_context_create(&o, &w.c));
  set_fusion(true);
  run_steps(&w, seed, left_out);
  end_world(&w);
  nx_context_release(w.c);
}

/* In a process of its own: programs crash. True if all is well. */
static bool run_apart(uint64_t seed, uint64_t count, const bool *left_out) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    for (uint64_t i = 0; i < count; i++) {
      alarm(SECONDS);
      run_program(seed + i, left_out);
    }
    exit(0); /* leaks are looked for */
  }
  int status = 1;
  while (waitpid(child, &status, 0) < 0) {}
  if (WIFSIGNALED(status)) {
    size_t at = strlen(shared->log);
    snprintf(shared->log + at, LOG_BYTES - at, "---- fault: signal %d\n", WTERMSIG(status));
  }
  return status == 0;
}

static void save(uint64_t seed, const bool *left_out) {
  FILE *f = fopen(saved_as, "w");
  if (!f) return;
  fprintf(f, "%s seed %lu steps", with_faults ? "faults" : "plain", (unsigned long)seed);
  for (uint32_t i = 0; i < n_steps; i++)
    if (!left_out[i]) fprintf(f, " %u", i);
  fprintf(f, "\n%s\n", shared->log);
  if (fclose(f) == 0) printf("saved as %s\n", saved_as);
}

/* Leaves out what it fails without: pieces of the program, smaller and smaller, until no step can
 * go. */
static void shrink(uint64_t seed) {
  bool left_out[MOST_STEPS] = {false}, again = true;
  int terminal = dup(2);
  if (!freopen("/dev/null", "w", stderr)) return;
  for (uint32_t piece = n_steps / 2; piece; piece = piece > 1 ? piece / 2 : again) {
    again = false;
    for (uint32_t at = 0; at < n_steps; at += piece) {
      bool kept[MOST_STEPS];
      memcpy(kept, left_out, sizeof kept);
      for (uint32_t i = at; i < at + piece && i < n_steps; i++) left_out[i] = true;
      if (!memcmp(kept, left_out, sizeof kept)) continue;
      if (run_apart(seed, 1, left_out)) memcpy(left_out, kept, sizeof kept);
      else again = true;
    }
  }
  fflush(stderr);
  dup2(terminal, 2);
  run_apart(seed, 1, left_out);
  printf("seed %lu, cut down:\n%s\n", (unsigned long)seed, shared->log);
  save(seed, left_out);
}

static int replay(const char *file) {
  bool left_out[MOST_STEPS];
  char mode[8];
  unsigned long seed;
  FILE *f = fopen(file, "r");
  memset(left_out, true, sizeof left_out);
  if (!f || fscanf(f, "%7s seed %lu steps", mode, &seed) != 2) return 2;
  for (unsigned i; fscanf(f, "%u", &i) == 1 && i < MOST_STEPS;) left_out[i] = false;
  fclose(f);
  n_steps = MOST_STEPS;
  with_faults = !strcmp(mode, "faults");
  nxi_slab_each = with_faults;
  bool good = run_apart(seed, 1, left_out);
  printf("%s\n", shared->log);
  return !good;
}

static int plain(uint64_t first, uint64_t count) {
  for (uint64_t at = first; !count || at < first + count;) {
    uint64_t n = count && first + count - at < 250 ? first + count - at : 250;
    if (!run_apart(at, n, NULL)) {
      uint64_t seed = shared->seed;
      printf("seed %lu:\n%s\n", (unsigned long)seed, shared->log);
      shrink(seed);
      return 1;
    }
    at += n;
  }
  return 0;
}

/* ---- threads */

enum { THREADS = 2, PART = 6 };

static void *run_thread(void *arg) {
  world *w = arg;
  run_steps(w, w->r.state, NULL);
  end_world(w);
  return NULL;
}

/* A tensor of everybody's, which nobody assigns; not realised, so that all may want to. */
static void add_common(world *w, uint32_t n_worlds, int64_t n, nx_dtype t) {
  nx_scalar start = {NX_SCALAR_I64, {.i = 1}}, step = {NX_SCALAR_I64, {.i = 2}};
  int64_t attrs[2] = {(int64_t)nxi_cast_bits(1, NX_I64, t), (int64_t)nxi_cast_bits(2, NX_I64, t)};
  nx_tensor *line = nx_arange(w->c, 0, t, &start, &step, n), *x = nx_neg(line);
  nxg_view v, ignored;
  model_view counted = {model_compute(NXG_arange, 0, NULL, attrs, 2, t, 1, &n, &v), {0}};
  nxg_view_contiguous(&counted.view, 1, &n);
  model_storage *s = model_compute(NXG_neg, 1, &counted, NULL, 0, 0, 0, NULL, &ignored);
  s->frozen = true;
  for (uint32_t i = 0; i < n_worlds; i++) {
    model_ref(s);
    add_handle(&w[i], nx_tensor_retain(x), s, &v);
  }
  model_unref(s);
  model_unref(counted.storage);
  nx_tensor_release(line);
  nx_tensor_release(x);
}

/* One tensor, of which each world has a part. */
static void add_parts(world *w, uint32_t n_worlds) {
  int64_t n = PART * n_worlds, shape = PART;
  nx_scalar zero = {NX_SCALAR_I64, {0}};
  nx_tensor *whole = nx_full(w->c, 0, NX_F32, &n, 1, &zero);
  for (uint32_t i = 0; i < n_worlds; i++) {
    int64_t start = i * PART, stop = start + PART;
    nxg_view v;
    nxg_view_contiguous(&v, 1, &shape);
    model_storage *s = model_storage_new(NX_F32, PART);
    s->part = true;
    add_handle(&w[i], nx_shrink(whole, &start, &stop, 1), s, &v);
  }
  nx_tensor_release(whole);
}

static int threads(uint64_t first, uint64_t count) {
  static world w[THREADS];
  for (uint64_t seed = first; seed < first + count; seed++) {
    memset(w, 0, sizeof w);
    nx_context_options o = {.size = sizeof o,
                            .flags = seed % 4 == 0 ? NX_MANUAL_COLLECT : 0,
                            .threads = 1 + (int32_t)(seed % 2),
                            .cache_dir = ""};
    nx_context *c;
    if (nx_context_create(&o, &c)) return 1;
    for (uint32_t i = 0; i < THREADS; i++)
      w[i] = (world){.dtypes = {NX_F32, NX_I32},
                     .extent = 3,
                     .c = c,
                     .shared = true,
                     .r = {seed * THREADS + i},
                     .log = calloc(LOG_BYTES, 1)};
    add_common(w, THREADS, 12, NX_F32);
    add_common(w, THREADS, 6, NX_I32);
    add_parts(w, THREADS);
    pthread_t thread[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, run_thread, &w[i]);
    for (uint32_t i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++) w[i].shared = false;
    for (uint32_t i = 1; i < THREADS;
         i++) { /* the end of one world looks at the callbacks of all */
      nx_context_collect(c);
      for (uint32_t k = 0; k < w[i].n_hosts; k++) {
        if (w[i].hosts[k].released != 1)
          fault(&w[i], "the callback of import %u ran %d times", k, w[i].hosts[k].released);
        model_unref(w[i].hosts[k].s);
        free(w[i].hosts[k].memory);
      }
    }
    end_world(&w[0]);
    nx_context_release(c);
    for (uint32_t i = 0; i < THREADS; i++) free(w[i].log);
  }
  return 0;
}

static uint64_t scaled(uint64_t count) {
  const char *wish = getenv("NX_RANDOM");
  uint64_t n = wish ? strtoull(wish, NULL, 10) : 3000;
  return count && n < 3000 ? (count * (n < 600 ? 600 : n) + 2999) / 3000 : count;
}

NXT_MAIN(model) {
  const char *mode = argc > 1 ? argv[1] : "plain";
  nxi_use_libraries();     /* the model wants them first */
  nxi_poll_briefly = true; /* realises are stopped between their steps */
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  if (!strcmp(mode, "replay")) return argc > 2 ? replay(argv[2]) : 2;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
           count = scaled(argc > 3 ? strtoull(argv[3], NULL, 10) : 1000);
  if (argc > 4) n_steps = (uint32_t)strtoul(argv[4], NULL, 10);
  if (n_steps > MOST_STEPS) n_steps = MOST_STEPS;
  with_faults = !strcmp(mode, "faults");
  nxi_slab_each = with_faults; /* so that any block may fail */
  return strcmp(mode, "threads") ? plain(first, count) : threads(first, count);
}
