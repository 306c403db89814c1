/* SPDX-License-Identifier: ISC */
/* Tests of the detected processor: plausible values, cgroup quotas, and NX_ISA, with a separate
 * process for each value because detection happens once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/platform/cpus.h"
#include "ir/target.h"
#include "tests/util/runner.h"

/* Returns the vector bytes that nxi_target_host reports in a process with NX_ISA=wish. */
static int host_with(const char *wish, const char *isa) {
  pid_t child = fork();
  if (child == 0) {
    setenv("NX_ISA", wish, 1);
    const nxi_target *t = nxi_target_host();
    _exit(isa && strcmp(t->isa, isa) != 0 ? 1 : t->vector_bytes);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* This test runs first, because nothing is detected in this process yet. */
static void test_wishes(void **state) {
  (void)state;
  int best = host_with("", NULL);
  assert_true(best == 16 || best == 32 || best == 64);
  assert_int_equal(host_with("generic", "generic"), 16);
  assert_int_equal(host_with("vax", NULL), best); /* unknown names are ignored */
  if (best >= 32) assert_int_equal(host_with("avx2", "avx2"), 32);
  assert_int_equal(host_with("avx512", NULL), best); /* wider vectors than the processor has are
                                                      * ignored */
}

static void test_host(void **state) {
  (void)state;
  unsetenv("NX_ISA");
  const nxi_target *t = nxi_target_host();
  assert_ptr_equal(t, nxi_target_host());
  nxi_cpus cpus;
  nxi_cpus_read(&cpus);
  assert_int_equal(t->threads, cpus.available);
  assert_true(t->cpu[0] != 0 && strlen(t->cpu) < sizeof t->cpu);
  assert_true(t->l1_bytes >= 4 << 10 && t->l1_bytes <= 1 << 20);
  assert_true(t->l2_bytes >= t->l1_bytes && t->l2_bytes <= 256 << 20);
  assert_true(t->l3_bytes >= t->l2_bytes && t->l3_bytes <= (int64_t)4 << 30);
  /* what neighbours on the host use is not counted on */
  assert_true(t->l3_bytes <= (int64_t)t->threads * (32 << 20));
  nxi_target one = *t;
  nxi_target_use(&one, 1); /* nor is what the other threads have */
  assert_int_equal(one.threads, 1);
  assert_true(one.l3_bytes == (t->l3_bytes < 32 << 20 ? t->l3_bytes : 32 << 20));
  print_message("%s, %s, %d threads, caches %lld %lld %lld\n", t->cpu, t->isa, (int)t->threads,
                (long long)t->l1_bytes, (long long)t->l2_bytes, (long long)t->l3_bytes);
}

static void test_for_isa(void **state) {
  (void)state;
  nxi_target t = {.vector_bytes = 5};
  assert_false(nxi_target_for_isa("vax", &t));
  assert_int_equal(t.vector_bytes, 5);
  assert_true(nxi_target_for_isa("generic", &t));
  assert_int_equal(t.vector_bytes, 16);
  assert_string_equal(t.isa, "generic");
  assert_string_equal(t.cpu, nxi_target_host()->cpu);
  assert_true(nxi_target_for_isa(nxi_target_host()->isa, &t));
  assert_memory_equal(&t, nxi_target_host(), sizeof t);
#if defined(__x86_64__)
  assert_false(nxi_target_for_isa("neon", &t));
#endif
}

/* ---- how many processors */

static char root[] = "/tmp/nx_target_XXXXXX";

static const char *write_file(const char *name, const char *text) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", root, name);
  for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
    *p = 0;
    mkdir(path, 0700);
    *p = '/';
  }
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  return path;
}

static void quota_is(const char *cgroup, double expected) {
  char mount[512];
  snprintf(mount, sizeof mount, "%s/mount", root);
  double quota = nxi_cpu_quota(write_file("cgroup", cgroup), mount);
  if (quota != expected) fail_msg("quota %g instead of %g for %s", quota, expected, cgroup);
}

static void test_quota(void **state) {
  (void)state;
  assert_non_null(mkdtemp(root));
  quota_is("0::/\n", 0);
  write_file("mount/a/b/cpu.max", "max 100000\n");
  quota_is("0::/a/b\n", 0);
  write_file("mount/a/cpu.max", "250000 100000\n");
  quota_is("0::/a/b\n", 2.5);
  write_file("mount/a/b/cpu.max", "150000 100000\n");
  quota_is("0::/a/b\n", 1.5);
  quota_is("0::/a\n", 2.5);
  quota_is("0::/not/visible\n", 0);
  write_file("mount/cpu.max", "400000 100000\n");
  quota_is("0::/not/visible\n", 4);
  write_file("mount/cpu.max", "garbage\n");
  quota_is("0::/not/visible\n", 0);
  write_file("mount/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  write_file("mount/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  quota_is("4:memory:/x\n3:cpu,cpuacct:/x\n", 0);
  write_file("mount/cpu,cpuacct/x/cpu.cfs_quota_us", "50000\n");
  quota_is("4:memory:/x\n3:cpu,cpuacct:/x\n", 0.5);
  quota_is("3:cpuacct,cpuset:/x\n", 0);
  write_file("mount/cpu/cpu.cfs_quota_us", "300000\n");
  write_file("mount/cpu/cpu.cfs_period_us", "100000\n");
  quota_is("3:cpu:/elsewhere\n", 3);
  quota_is("", 0);
  quota_is("no colons\nnor:here\n", 0);
  assert_true(nxi_cpu_quota("/does/not/exist", "/nor/this") == 0);
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  assert_int_equal(system(command), 0);
}

NXT_MAIN(target) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wishes),
      cmocka_unit_test(test_host),
      cmocka_unit_test(test_for_isa),
      cmocka_unit_test(test_quota),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
