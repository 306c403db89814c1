/* SPDX-License-Identifier: ISC */
/* The main program of a subject's tests. Constructors add the tests before it begins. */
#include "runner.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static nxt_test *all;
static char program[4096];
static const char *pattern; /* NULL: every case runs */
static size_t chosen;       /* cases that are meant by it */

void nxt_add_test(nxt_test *test) {
  nxt_test **at = &all;
  while (*at != NULL && strcmp((*at)->name, test->name) < 0) at = &(*at)->next;
  test->next = *at;
  *at = test;
}

const char *nxt_program(void) {
  ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  if (size < 0) abort();
  program[size] = 0;
  return program;
}

const char *nxt_own_file(const char *name) {
  static char own[256];
  snprintf(own, sizeof own, "%ld-%s", (long)getpid(), name);
  return own;
}

static int explain(FILE *to, int status) {
  fprintf(to, "usage: run_SUBJECT [--case PATTERN] TEST [ARGUMENTS]\n"
              "PATTERN chooses among the cases of the test; * and ? stand for any text and for one "
              "character.\n"
              "tests:\n");
  for (const nxt_test *t = all; t != NULL; t = t->next) fprintf(to, "  %s\n", t->name);
  return status;
}

int nxt_run_group(const char *name, const struct CMUnitTest *cases, size_t n,
                  CMFixtureFunction setup, CMFixtureFunction teardown) {
  for (size_t i = 0; pattern != NULL && i < n; i++)
    chosen += fnmatch(pattern, cases[i].name, 0) == 0;
  return _cmocka_run_group_tests(name, cases, n, setup, teardown);
}

static int run(const nxt_test *t, int argc, char **argv) {
  const int status = t->run(argc, argv);
  if (status != 0 || pattern == NULL || chosen > 0) return status;
  fprintf(stderr, "%s has no case %s\n", t->name, pattern);
  return 2;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "--case") == 0) {
    pattern = argv[2];
    cmocka_set_test_filter(pattern);
    argc -= 2;
    argv += 2;
  }
  if (argc < 2) return explain(stderr, 2);
  if (strcmp(argv[1], "--help") == 0) return explain(stdout, 0);
  for (const nxt_test *t = all; t != NULL; t = t->next)
    if (strcmp(t->name, argv[1]) == 0) return run(t, argc - 1, argv + 1);
  fprintf(stderr, "there is no test %s\n", argv[1]);
  return explain(stderr, 2);
}
