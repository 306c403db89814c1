/* SPDX-License-Identifier: ISC */
/* Peers: processes that do named workloads, asked over a pipe. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

struct bench_peer {
  pid_t pid;
  FILE *to, *from;
};

/* As many processors as threads: also a library whose number of threads cannot be set has no more
 * than that; 0 threads: nothing is set. Memory that was freed stays with the process, in large
 * pages. Threads of OpenBLAS wait actively for 2^19 ticks, some 0.2 ms, before they sleep: by
 * default it is 2^26, in which they take half of a processor from whoever runs next. */
static void restrict_to(int threads) {
  static const char *const variables[] = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                          "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                          "NUMEXPR_MAX_THREADS"};
  char count[16];
  cpu_set_t all, few;
  if (threads == 0) return;
  snprintf(count, sizeof count, "%d", threads);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) setenv(variables[i], count, 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "19", 0);
  setenv("GLIBC_TUNABLES",
         "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=68719476736:"
         "glibc.malloc.top_pad=67108864",
         0);
  CPU_ZERO(&few);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int i = 0, n = 0; i < CPU_SETSIZE && n < threads; i++)
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &few);
      n++;
    }
  sched_setaffinity(0, sizeof few, &few);
}

static void become(const char *python, const char *script, const char *argument, int threads,
                   int in, int out) {
  dup2(in, 0);
  dup2(out, 1);
  restrict_to(threads);
  execlp(python, python, script, argument, (char *)NULL);
  _exit(127);
}

bench_peer *bench_peer_start(const char *python, const char *script, const char *argument,
                             int threads) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) return NULL;
  pid_t pid = fork();
  if (pid == 0) become(python, script, argument, threads, down[0], up[1]);
  close(down[0]);
  close(up[1]);
  signal(SIGPIPE, SIG_IGN);
  bench_peer *p = calloc(1, sizeof *p);
  if (p == NULL) exit(1);
  *p = (bench_peer){pid, fdopen(down[1], "w"), fdopen(up[0], "r")};
  if (p->to == NULL || p->from == NULL) exit(1);
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

void bench_peer_tell(bench_peer *p, const char *request) {
  fprintf(p->to, "%s\n", request);
  fflush(p->to);
}

bool bench_peer_hear(bench_peer *p, char answer[BENCH_LINE]) {
  answer[0] = 0;
  if (fgets(answer, BENCH_LINE, p->from) == NULL) strcpy(answer, "it has ended");
  answer[strcspn(answer, "\n")] = 0;
  return strcmp(answer, "ok") == 0;
}

bool bench_peer_setup(bench_peer *p, const char *workload) {
  char answer[BENCH_LINE];
  if (p == NULL) return false;
  bench_peer_tell(p, workload);
  return bench_peer_hear(p, answer);
}

double bench_peer_time(void *peer, int repeat) {
  char request[32], answer[BENCH_LINE];
  snprintf(request, sizeof request, "time %d", repeat);
  bench_peer_tell(peer, request);
  bench_peer_hear(peer, answer);
  return strtod(answer, NULL);
}

void bench_peer_start_run(void *peer) { bench_peer_tell(peer, "go"); }

void bench_peer_wait(void *peer) { bench_peer_setup(peer, "wait"); }
