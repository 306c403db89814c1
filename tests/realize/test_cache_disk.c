/* SPDX-License-Identifier: ISC */
/* Tests of the disk cache: a lookup returns what was stored under the key, or nothing. Corruption
 * of every byte, truncation to every length, foreign and unsafe files and directories, trimming,
 * races of processes and threads. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "runtime/cache/disk.h"
#include "tests/util/runner.h"

static char root[] = "/tmp/nx_cache_XXXXXX";

static const char *in_root(const char *name) {
  static char paths[4][512];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", root, name);
  return path;
}

static nxi_disk_cache *open_cache(const char *directory, const char *environment, int64_t limit) {
  nxi_disk_cache *c = NULL;
  nxi_disk_options o = {directory, environment, limit};
  assert_int_equal(nxi_disk_open(&o, &c, NULL), NX_OK);
  assert_non_null(c);
  return c;
}

static bool store(nxi_disk_cache *c, const char *key, const char *payload) {
  return nxi_disk_store(c, key, strlen(key), payload, strlen(payload));
}

/* True if the lookup of the key returns exactly this payload; NULL: it is a miss. */
static bool gives(nxi_disk_cache *c, const char *key, const char *payload) {
  size_t size = 0;
  char *found = nxi_disk_lookup(c, key, strlen(key), &size);
  bool good =
      payload ? found && size == strlen(payload) && memcmp(found, payload, size) == 0 : !found;
  nxi_free(found);
  return good;
}

static nxi_disk_stats stats_of(nxi_disk_cache *c) {
  nxi_disk_stats s;
  nxi_disk_stats_read(c, &s);
  return s;
}

static void remember(void *user, const nxi_disk_entry *e) { *(nxi_disk_entry *)user = *e; }

static char only_name[64];

static void remember_name(void *user, const nxi_disk_entry *e) {
  (void)user;
  snprintf(only_name, sizeof only_name, "%s", e->name);
}

/* The file of the only entry of a cache. */
static const char *only_file(nxi_disk_cache *c) {
  static char path[8192];
  assert_int_equal(stats_of(c).entries, 1);
  assert_true(nxi_disk_list(c, remember_name, NULL));
  snprintf(path, sizeof path, "%s/%s", nxi_disk_directory(c), only_name);
  return path;
}

static size_t read_file(const char *path, char *data, size_t capacity) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(data, 1, capacity, f);
  fclose(f);
  return n;
}

static void write_file(const char *path, const char *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fchmod(fileno(f), 0600), 0); /* not affected by the umask */
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static void test_round_trip(void **state) {
  (void)state;
  nxi_disk_cache *c = open_cache(in_root("a/b/c"), "env", 0);
  assert_null(nxi_disk_reason(c));
  struct stat s;
  assert_int_equal(stat(in_root("a/b/c"), &s), 0);
  assert_int_equal(s.st_mode & 07777, 0700);
  assert_true(gives(c, "key", NULL));
  assert_true(store(c, "key", "payload"));
  assert_true(gives(c, "key", "payload"));
  assert_true(gives(c, "kez", NULL));
  assert_true(store(c, "key", "another, longer payload"));
  assert_true(gives(c, "key", "another, longer payload"));
  assert_true(store(c, "", ""));
  assert_true(gives(c, "", ""));
  char binary[5000], *found;
  size_t size;
  for (size_t i = 0; i < sizeof binary; i++) binary[i] = (char)(i * 7);
  assert_true(nxi_disk_store(c, binary, 1000, binary, sizeof binary));
  found = nxi_disk_lookup(c, binary, 1000, &size);
  assert_int_equal(size, sizeof binary);
  assert_memory_equal(found, binary, size);
  nxi_free(found);
  nxi_disk_stats t = stats_of(c);
  assert_int_equal(t.entries, 3);
  assert_int_equal(t.stores, 4);
  assert_int_equal(t.hits, 4);
  assert_int_equal(t.misses, 2);
  assert_int_equal(t.refused, 0);
  nxi_disk_close(c);
  c = open_cache(in_root("a/b/c"), "env", 0); /* another process would find them */
  assert_true(gives(c, "key", "another, longer payload"));
  assert_int_equal(nxi_disk_clear(c), 3);
  assert_true(gives(c, "key", NULL));
  assert_int_equal(stats_of(c).bytes, 0);
  nxi_disk_close(c);
  nxi_disk_close(NULL);
}

static void test_environments(void **state) {
  (void)state;
  nxi_disk_cache *a = open_cache(in_root("env"), "LLVM 19, avx512", 0),
                 *b = open_cache(in_root("env"), "LLVM 20, avx512", 0);
  assert_true(store(a, "k", "for a"));
  assert_true(gives(b, "k", NULL));
  assert_true(store(b, "k", "for b"));
  assert_true(gives(a, "k", "for a"));
  assert_true(gives(b, "k", "for b"));
  assert_int_equal(stats_of(a).entries, 2);
  assert_int_equal(nxi_disk_verify(a), 0); /* foreign entries are not bad ones */
  nxi_disk_clear(a);
  /* a foreign entry under the very name that is looked up is still a miss */
  char data[4096], name[600];
  store(a, "k", "for a");
  snprintf(name, sizeof name, "%s", only_file(a));
  size_t size = read_file(name, data, sizeof data);
  nxi_disk_clear(a);
  store(b, "k", "for b");
  write_file(only_file(b), data, size);
  assert_int_equal(chmod(only_file(b), 0600), 0);
  assert_true(gives(b, "k", NULL));
  nxi_disk_entry e = {0};
  assert_true(nxi_disk_list(b, remember, &e));
  assert_int_equal(e.state, NXI_DISK_BAD); /* no lookup finds it there */
  assert_string_equal(e.problem, "its name is not that of its key");
  assert_int_equal(nxi_disk_verify(b), 1);
  write_file(name, data, size);
  assert_int_equal(chmod(name, 0600), 0);
  assert_true(nxi_disk_list(b, remember, &e));
  assert_int_equal(e.state, NXI_DISK_FOREIGN);
  assert_int_equal(nxi_disk_verify(b), 0);
  nxi_disk_close(a);
  nxi_disk_close(b);
}

/* A sound entry under the name of another key, as if the two had one hash, is a miss. */
static void test_equal_names(void **state) {
  (void)state;
  nxi_disk_cache *c = open_cache(in_root("equal"), "env", 0);
  char data[512];
  store(c, "k1", "of k1");
  size_t size = read_file(only_file(c), data, sizeof data);
  nxi_disk_clear(c);
  store(c, "k2", "of k2");
  write_file(only_file(c), data, size);
  assert_true(gives(c, "k2", NULL));
  nxi_disk_close(c);
}

static void test_corruption(void **state) {
  (void)state;
  nxi_disk_cache *c = open_cache(in_root("corrupt"), "environment", 0);
  char good[512], bad[512], name[600];
  assert_true(store(c, "the key", "the payload"));
  snprintf(name, sizeof name, "%s", only_file(c));
  size_t size = read_file(name, good, sizeof good);
  assert_true(size > 60 && size < sizeof good);
  for (size_t i = 0; i < size; i++) { /* every byte, one bit of it */
    memcpy(bad, good, size);
    bad[i] ^= (char)(1 << i % 8);
    write_file(name, bad, size);
    assert_true(gives(c, "the key", NULL));
  }
  for (size_t i = 0; i < size; i++) { /* every shorter length */
    write_file(name, good, i);
    assert_true(gives(c, "the key", NULL));
  }
  memcpy(bad, good, size);
  bad[size] = 0;
  write_file(name, bad, size + 1); /* longer */
  assert_true(gives(c, "the key", NULL));
  assert_int_equal(stats_of(c).refused, 2 * (int64_t)size + 1);
  nxi_disk_entry e = {0};
  assert_true(nxi_disk_list(c, remember, &e));
  assert_int_equal(e.state, NXI_DISK_BAD);
  assert_non_null(e.problem);
  assert_int_equal(nxi_disk_verify(c), 1);
  assert_int_equal(stats_of(c).entries, 0);
  write_file(name, good, size);
  assert_true(gives(c, "the key", "the payload"));
  write_file(name, bad, size + 1);
  assert_true(store(c, "the key", "mended")); /* a store replaces a damaged entry */
  assert_true(gives(c, "the key", "mended"));
  nxi_disk_close(c);
}

/* A sound entry under the name of another key: a miss, and a bad one. */
static void test_names(void **state) {
  (void)state;
  nxi_disk_cache *c = open_cache(in_root("names"), "environment", 0);
  assert_true(store(c, "k", "v"));
  char name[600], renamed[600];
  snprintf(name, sizeof name, "%s", only_file(c));
  snprintf(renamed, sizeof renamed, "%s", name);
  char *digit = renamed + strlen(renamed) - 5; /* the last before .nxe */
  *digit = *digit == '0' ? '1' : '0';
  assert_int_equal(rename(name, renamed), 0);
  assert_true(gives(c, "k", NULL));
  nxi_disk_entry e = {0};
  assert_true(nxi_disk_list(c, remember, &e));
  assert_int_equal(e.state, NXI_DISK_BAD);
  assert_int_equal(rename(renamed, name), 0);
  assert_int_equal(nxi_disk_verify(c), 0);
  assert_true(gives(c, "k", "v"));
  assert_int_equal(rename(name, renamed), 0);
  assert_int_equal(nxi_disk_verify(c), 1);
  assert_int_equal(stats_of(c).entries, 0);
  nxi_disk_close(c);
}

/* A valid entry that belongs, or could belong, to another user is never used. */
static void test_unsafe_files(void **state) {
  (void)state;
  nxi_disk_cache *c = open_cache(in_root("unsafe"), "", 0);
  assert_true(store(c, "k", "v"));
  char name[600], moved[600];
  snprintf(name, sizeof name, "%s", only_file(c));
  snprintf(moved, sizeof moved, "%s/elsewhere", nxi_disk_directory(c));
  assert_int_equal(chmod(name, 0620), 0);
  assert_true(gives(c, "k", NULL));
  assert_int_equal(chmod(name, 0602), 0);
  assert_true(gives(c, "k", NULL));
  assert_int_equal(chmod(name, 0644), 0);
  assert_true(gives(c, "k", "v"));
  assert_int_equal(rename(name, moved), 0);
  assert_int_equal(symlink(moved, name), 0);
  assert_true(gives(c, "k", NULL)); /* links are not followed */
  assert_int_equal(unlink(name), 0);
  assert_int_equal(mkdir(name, 0700), 0);
  assert_true(gives(c, "k", NULL));
  assert_false(store(c, "k", "v"));
  assert_int_equal(rmdir(name), 0);
  assert_int_equal(mkfifo(name, 0600), 0);
  assert_true(gives(c, "k", NULL)); /* and does not wait for a writer */
  assert_int_equal(unlink(name), 0);
  assert_int_equal(rename(moved, name), 0);
  if (geteuid() == 0) {
    assert_int_equal(chown(name, 12345, 12345), 0);
    assert_true(gives(c, "k", NULL));
  }
  nxi_disk_close(c);
}

static void unusable(const char *directory, const char *word) {
  nxi_disk_cache *c = open_cache(directory, "", 0);
  assert_non_null(nxi_disk_reason(c));
  if (!strstr(nxi_disk_reason(c), word))
    fail_msg("\"%s\" does not say \"%s\"", nxi_disk_reason(c), word);
  assert_false(store(c, "k", "v"));
  assert_true(gives(c, "k", NULL));
  assert_false(nxi_disk_list(c, remember, NULL));
  assert_int_equal(nxi_disk_verify(c), 0);
  assert_int_equal(nxi_disk_clear(c), 0);
  assert_int_equal(stats_of(c).entries, 0);
  nxi_disk_close(c);
}

static void test_unsafe_directories(void **state) {
  (void)state;
  mkdir(in_root("open"), 0700);
  chmod(in_root("open"), 0770);
  unusable(in_root("open"), "others can write");
  chmod(in_root("open"), 0707);
  unusable(in_root("open"), "others can write");
  chmod(in_root("open"), 01777);
  unusable(in_root("open"), "others can write");
  chmod(in_root("open"), 0755);
  nxi_disk_cache *c = open_cache(in_root("open"), "", 0);
  assert_null(nxi_disk_reason(c));
  nxi_disk_close(c);
  write_file(in_root("file"), "x", 1);
  unusable(in_root("file"), "cannot be opened");
  unusable(in_root("file/below"), "cannot be opened");
  char longer[6000];
  memset(longer, 'x', sizeof longer);
  longer[sizeof longer - 1] = 0;
  unusable(longer, "too long");
  if (geteuid() == 0) {
    mkdir(in_root("foreign"), 0700);
    assert_int_equal(chown(in_root("foreign"), 12345, 12345), 0);
    unusable(in_root("foreign"), "another user");
  } else {
    mkdir(in_root("readonly"), 0500);
    unusable(in_root("readonly"), "not writable");
  }
  assert_non_null(nxi_disk_reason(NULL));
}

static void set_or_unset(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

static void directory_is(const char *variable, const char *xdg, const char *home,
                         const char *expected) {
  set_or_unset("NX_CACHE_DIR", variable);
  set_or_unset("XDG_CACHE_HOME", xdg);
  set_or_unset("HOME", home);
  nxi_disk_cache *c = open_cache(NULL, "", 0);
  assert_string_equal(nxi_disk_directory(c), expected);
  assert_int_equal(nxi_disk_reason(c) == NULL, expected[0] != 0);
  nxi_disk_close(c);
}

static void test_default_directory(void **state) {
  (void)state;
  static const char *const names[] = {"NX_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  char *saved[3], home[512], xdg[512];
  for (int i = 0; i < 3; i++) saved[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
  snprintf(home, sizeof home, "%s", in_root("home"));
  snprintf(xdg, sizeof xdg, "%s", in_root("xdg"));
  directory_is(in_root("variable"), xdg, home, in_root("variable"));
  directory_is(NULL, xdg, home, in_root("xdg/nx"));
  directory_is(NULL, "relative", home, in_root("home/.cache/nx"));
  directory_is(NULL, NULL, home, in_root("home/.cache/nx"));
  directory_is("", xdg, home, ""); /* turned off */
  directory_is(NULL, NULL, NULL, "");
  for (int i = 0; i < 3; i++) {
    set_or_unset(names[i], saved[i]);
    free(saved[i]);
  }
}

static void test_trimming(void **state) {
  (void)state;
  char payload[1001], key[16];
  memset(payload, 'p', sizeof payload);
  payload[1000] = 0;
  nxi_disk_cache *c = open_cache(in_root("trim"), "", 20000);
  for (int i = 0; i < 10; i++) {
    snprintf(key, sizeof key, "%d", i);
    assert_true(store(c, key, payload));
    usleep(10000); /* the clock of files moves in steps of some milliseconds */
  }
  int64_t one = stats_of(c).bytes / 10;
  usleep(20000);
  assert_true(gives(c, "0", payload)); /* a hit makes it the most recently used */
  write_file(in_root("trim/.tmp-1-2-3"), "left behind", 11);
  write_file(in_root("trim/.tmp-1-2-4"), "being written", 13);
  struct timespec old[2] = {{.tv_sec = time(NULL) - 10000}, {.tv_sec = time(NULL) - 10000}};
  assert_int_equal(utimensat(AT_FDCWD, in_root("trim/.tmp-1-2-3"), old, 0), 0);
  write_file(in_root("trim/README"), "not ours", 8);
  assert_int_equal(nxi_disk_trim(c, 3 * one), 7);
  assert_true(gives(c, "0", payload));
  assert_true(gives(c, "9", payload));
  assert_true(gives(c, "1", NULL));
  assert_int_equal(access(in_root("trim/.tmp-1-2-3"), F_OK), -1);
  assert_int_equal(access(in_root("trim/.tmp-1-2-4"), F_OK), 0);
  assert_int_equal(access(in_root("trim/README"), F_OK), 0);
  for (int i = 0; i < 100; i++) { /* stores keep the limit without a call to trim */
    snprintf(key, sizeof key, "%d", i);
    assert_true(store(c, key, payload));
    assert_true(stats_of(c).bytes <= 20000);
  }
  assert_true(gives(c, "99", payload));
  char *large = malloc(30001);
  memset(large, 'x', 30000);
  large[30000] = 0;
  assert_false(store(c, "large", large)); /* larger than the limit of the cache */
  free(large);
  assert_true(gives(c, "99", payload));
  nxi_disk_close(c);
}

static void test_failures(void **state) {
  (void)state;
  nxi_disk_cache *c = NULL;
  for (int i = 0; i < 2; i++) {
    nxi_alloc_fail(i, false);
    assert_int_equal(nxi_disk_open(NULL, &c, NULL), NX_OUT_OF_MEMORY);
  }
  nxi_alloc_fail(-1, false);
  c = open_cache(in_root("fail"), "", 0);
  nxi_alloc_fail(0, false);
  assert_false(store(c, "k", "v"));
  nxi_alloc_fail(-1, false);
  assert_true(store(c, "k", "v"));
  nxi_alloc_fail(0, true);
  assert_true(gives(c, "k", NULL));
  assert_int_equal(nxi_disk_verify(c),
                   0); /* an entry that could not be read because memory was exhausted is not bad */
  assert_int_equal(nxi_disk_trim(c, 0), 0);
  nxi_alloc_fail(-1, false);
  assert_true(gives(c, "k", "v"));
  nxi_disk_close(c);
}

/* ---- races: the payload contains its key, so that any mixture is noticed */

static bool consistent(const char *payload, size_t size, int key) {
  if (size < 100 || payload[0] != (char)key) return false;
  for (size_t i = 1; i < size; i++)
    if (payload[i] != (char)(key + (int)size)) return false;
  return true;
}

static int race(nxi_disk_cache *c, int seed, int rounds) {
  char payload[4000];
  int bad = 0, hits = 0;
  uint32_t random = (uint32_t)seed * 2654435761u + 1;
  for (int i = 0; i < rounds; i++) {
    random = random * 1664525 + 1013904223;
    int key = (int)(random >> 16) % 8;
    size_t size = 100 + (random >> 8) % 3000;
    if (random & 0x40000000) {
      memset(payload, key + (int)size, size);
      payload[0] = (char)key;
      nxi_disk_store(c, &key, sizeof key, payload, size);
    } else {
      char *found = nxi_disk_lookup(c, &key, sizeof key, &size);
      if (found) bad += !consistent(found, size, key);
      hits += found != NULL;
      nxi_free(found);
    }
    if (i % 50 == 49) nxi_disk_trim(c, 5000);
  }
  return bad || !hits;
}

static void *race_thread(void *arg) { return race(arg, 77, 150) ? arg : NULL; }

static void test_races(void **state) {
  (void)state;
  enum { PROCESSES = 4 };
  pid_t child[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    child[i] = fork();
    if (child[i] == 0) {
      nxi_disk_cache *c = open_cache(in_root("race"), "e", 12000);
      int bad = race(c, i, 300);
      nxi_disk_close(c);
      _exit(bad);
    }
  }
  nxi_disk_cache *c = open_cache(in_root("race"), "e", 12000);
  pthread_t thread[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&thread[i], NULL, race_thread, c), 0);
  for (int i = 0; i < 2; i++) {
    void *bad = NULL;
    pthread_join(thread[i], &bad);
    assert_null(bad);
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = -1;
    waitpid(child[i], &status, 0);
    assert_int_equal(status, 0);
  }
  assert_int_equal(stats_of(c).refused, 0); /* no incomplete file was ever read */
  assert_int_equal(nxi_disk_verify(c), 0);
  nxi_disk_close(c);
}

/* A process is killed repeatedly while it writes: all entries on the disk are complete. */
static void test_killed(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    pid_t child = fork();
    if (child == 0) {
      nxi_disk_cache *c = open_cache(in_root("killed"), "e", 0);
      race(c, i, 1000000);
      _exit(1);
    }
    usleep(15000 + (useconds_t)i * 700);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    nxi_disk_cache *c = open_cache(in_root("killed"), "e", 0);
    assert_int_equal(nxi_disk_verify(c), 0);
    nxi_disk_close(c);
  }
}

static int make_root(void **state) {
  (void)state;
  return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  return system(command);
}

NXT_MAIN(cache_disk) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_environments),
      cmocka_unit_test(test_equal_names),
      cmocka_unit_test(test_corruption),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_unsafe_files),
      cmocka_unit_test(test_unsafe_directories),
      cmocka_unit_test(test_default_directory),
      cmocka_unit_test(test_trimming),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_races),
      cmocka_unit_test(test_killed),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
