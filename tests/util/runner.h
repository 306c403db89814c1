/* SPDX-License-Identifier: ISC */
/* One program runs all tests of a subject: build/tests/run_SUBJECT [--case PATTERN] TEST
 * [ARGUMENTS]. Each run is one test in a process of its own. A test file, test_NAME.c, ends with
 *
 *     NXT_MAIN(NAME) {
 *       const struct CMUnitTest tests[] = {...};
 *       return cmocka_run_group_tests(tests, NULL, NULL);
 *     }
 *
 * which is its main function: it gets argc and argv, argv[0] being the name of the test, and
 * returns the exit status. */
#ifndef NXT_RUNNER_H
#define NXT_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct nxt_test {
  const char *name;
  int (*run)(int argc, char **argv);
  struct nxt_test *next;
} nxt_test;

/* Adds a test to those that the program can run. */
void nxt_add_test(nxt_test *test);

/* The path of the program, for tests that run themselves: the name of the test comes first among
 * the arguments. */
const char *nxt_program(void);

/* The name of a file in the working directory that belongs to this process alone, since a test may
 * run at the same time with another executor; valid until the next call. The test deletes it. */
const char *nxt_own_file(const char *name);

/* Runs a group of cases. The program has run none if PATTERN is the name of no case, and fails. */
int nxt_run_group(const char *name, const struct CMUnitTest *cases, size_t n,
                  CMFixtureFunction setup, CMFixtureFunction teardown);
#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests(cases, setup, teardown) \
  cmocka_run_group_tests_name(#cases, cases, setup, teardown)
#define cmocka_run_group_tests_name(name, cases, setup, teardown) \
  nxt_run_group(name, cases, sizeof(cases) / sizeof((cases)[0]), setup, teardown)

/* The same for a name that is a macro. */
#define NXT_MAIN_OF(macro) NXT_MAIN(macro)
#define NXT_MAIN(name)                                        \
  static int name##_main(int argc, char **argv);              \
  static __attribute__((constructor)) void name##_add(void) { \
    static nxt_test test = {#name, name##_main, 0};           \
    nxt_add_test(&test);                                      \
  }                                                           \
  static int name##_main(int argc __attribute__((unused)), char **argv __attribute__((unused)))

#endif
