/* SPDX-License-Identifier: ISC */
/* Traces through the interface: their file, what is in it, threads that work while one begins and
 * ends, what is refused, fork. tests/nxc/nxc_test.py reads such files with a parser of JSON. Also
 * run with the thread sanitizer. */
#include "tests/util/api.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, MOST = 20000 };

typedef struct event {
  unsigned tid;
  char category[16], name[64];
  int64_t began, ended; /* ns */
  long long bytes;
} event;

static event events[MOST];
static int n_events;

/* The events of the file; what is no span and no name of a thread is a fault. */
static void read_trace(const char *path) {
  char line[1024];
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  n_events = 0;
  while (fgets(line, sizeof line, f) != NULL) {
    event *e = &events[n_events];
    int64_t us[2];
    int ns[2];
    if (strncmp(line, "  {\"ph\": \"X\"", 12) != 0) continue;
    assert_true(n_events < MOST - 1);
    assert_int_equal(sscanf(line,
                            "  {\"ph\": \"X\", \"pid\": %*u, \"tid\": %u, \"cat\": \"%15[a-z]\", "
                            "\"name\": \"%63[^\"]\", \"ts\": %" SCNd64 ".%d, \"dur\": %" SCNd64
                            ".%d",
                            &e->tid, e->category, e->name, &us[0], &ns[0], &us[1], &ns[1]),
                     7);
    const char *args = strstr(line, "\"bytes\": ");
    e->bytes = args != NULL ? strtoll(args + 9, NULL, 10) : 0;
    e->began = us[0] * 1000 + ns[0];
    e->ended = e->began + us[1] * 1000 + ns[1];
    n_events++;
  }
  fclose(f);
  unlink(path);
}

static int count(const char *category) {
  int n = 0;
  for (int i = 0; i < n_events; i++) n += strcmp(events[i].category, category) == 0;
  return n;
}

static void spans_are_nested(void) {
  for (int i = 0; i < n_events; i++)
    for (int k = 0; k < i; k++) {
      const event *a = &events[k], *b = &events[i]; /* b ended later, if they are of one thread */
      bool apart = a->ended <= b->began || b->ended <= a->began,
           inside = b->began <= a->began && a->ended <= b->ended;
      if (a->tid == b->tid && !apart && !inside)
        fail_msg("%s and %s of thread %u overlap", a->name, b->name, a->tid);
    }
}

static pthread_barrier_t everybody;

/* Values of its own, so that every thread launches kernels, and none ends before the last one has
 * begun: a track whose thread has ended is another's. */
static void *work(void *arg) {
  pthread_barrier_wait(&everybody);
  for (int i = 0; i < 20; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    int64_t n = 40000;
    nx_tensor *x = nx_full(ctx, 0, NX_F32, &n, 1, NX_NUMBER(i + 20 * *(int *)arg)),
              *y = nx_exp(nx_sin(x));
    nx_realize(ctx, &y, 1, NULL);
    nx_scope_end(s);
  }
  pthread_barrier_wait(&everybody);
  return NULL;
}

static void together(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  assert_int_equal(pthread_barrier_init(&everybody, NULL, THREADS), 0);
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&everybody);
}

static void threads_have_tracks(void **state) {
  (void)state;
  OK(nx_trace_begin("threads.json"));
  together();
  OK(nx_trace_end());
  read_trace("threads.json");
  spans_are_nested();
  unsigned tracks = 0;
  for (int i = 0; i < n_events; i++)
    tracks |= strcmp(events[i].category, "launch") == 0 ? 1u << (events[i].tid & 31) : 0;
  assert_int_equal(__builtin_popcount(tracks), THREADS);
  assert_int_equal(count("launch"), THREADS * 20);
  assert_true(count("plan") >= 1);
  for (int i = 0; i < n_events; i++)
    if (strcmp(events[i].category, "step") == 0) assert_int_equal(events[i].bytes, 40000 * 4);
}

static void *begin_and_end(void *arg) {
  (void)arg;
  for (int i = 0; i < 20; i++)
    if (nx_trace_begin("often.json") != NX_OK || nx_trace_end() != NX_OK) return "failed";
  return NULL;
}

static void traces_end_while_threads_work(void **state) {
  pthread_t other;
  void *said = NULL;
  (void)state;
  assert_int_equal(pthread_create(&other, NULL, begin_and_end, NULL), 0);
  together();
  pthread_join(other, &said);
  assert_null(said);
  read_trace("often.json");
  spans_are_nested();
}

static void refused(void **state) {
  (void)state;
  FAILS(NX_INVALID_ARGUMENT, nx_trace_end());
  FAILS(NX_INVALID_ARGUMENT, nx_trace_begin(NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_trace_begin(""));
  FAILS(NX_IO, nx_trace_begin("no/such/folder.json"));
  OK(nx_trace_begin("refused.json"));
  FAILS(NX_INVALID_ARGUMENT, nx_trace_begin("other.json"));
  OK(nx_trace_end());
  FAILS(NX_INVALID_ARGUMENT, nx_trace_end());
  unlink("refused.json");
}

static void children_have_none(void **state) {
  int status;
  (void)state;
  OK(nx_trace_begin("parent.json"));
  pid_t child = fork();
  if (child == 0) _exit(nx_trace_end() == NX_INVALID_ARGUMENT ? 0 : 1);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(nx_trace_end());
  assert_int_equal(unlink("parent.json"), 0);
}

NXT_MAIN(trace) {
  (void)argc;
  (void)argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_have_tracks),
      cmocka_unit_test(traces_end_while_threads_work),
      cmocka_unit_test(refused),
      cmocka_unit_test(children_have_none),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
