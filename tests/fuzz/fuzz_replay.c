/* SPDX-License-Identifier: ISC */
/* Runs all fuzz targets on the corpus, without a fuzzer, in every build.
 *
 *   fuzz_replay CORPUS [ROUNDS [TARGET]]   every file of CORPUS/TARGET, and ROUNDS mutations of
 *                                          each, the same ones each time
 *   fuzz_replay file TARGET FILE..         these files
 *   fuzz_replay make DIRECTORY N           writes N texts of both IRs and recipes, to begin a
 *                                          corpus with */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST = 1 << 16 };

static char current[PATH_MAX]; /* the input that runs, for the message of a failure */

size_t fuzz_mutate_bytes(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  size_t at = n ? (size_t)nxt_below(r, (int64_t)n) : 0;
  switch (nxt_below(r, 4)) {
    case 0:
      if (n) data[at] ^= (uint8_t)(1u << nxt_below(r, 8));
      return n;
    case 1:
      if (n) data[at] = (uint8_t)nxt_next(r);
      return n;
    case 2:
      if (n < 2) return n;
      memmove(data + at, data + at + 1, n - at - 1);
      return n - 1;
    default:
      if (n >= most) return n;
      memmove(data + at + 1, data + at, n - at);
      data[at] = (uint8_t)nxt_next(r);
      return n + 1;
  }
}

/* Runs an input in memory of exactly its size, so that the address sanitizer detects reads beyond
 * its end. */
static void run(const fuzz_target *t, const uint8_t *data, size_t n) {
  uint8_t *exact = malloc(n ? n : 1);
  if (!exact) abort();
  if (n) memcpy(exact, data, n);
  t->run(exact, n);
  free(exact);
}

static size_t mutate(const fuzz_target *t, uint8_t *data, size_t n, nxt_random *r) {
  return t->mutate ? t->mutate(data, n, t->most, r) : fuzz_mutate_bytes(data, n, t->most, r);
}

static void keep(const uint8_t *data, size_t n) {
  FILE *f = fopen("fuzz-failing", "wb");
  if (!f) return;
  fwrite(data, 1, n < MOST ? n : MOST, f);
  fclose(f);
}

/* Runs a file and mutations of it. The input that is running is saved first, so that it exists if
 * the run fails. */
static bool run_file(const fuzz_target *t, const char *path, int rounds) {
  static uint8_t seed[MOST], data[MOST];
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  size_t size = fread(seed, 1, sizeof seed, f);
  fclose(f);
  if (size > t->most) return true;
  snprintf(current, sizeof current, "%s", path);
  run(t, seed, size);
  nxt_random r = fuzz_random_of(seed, size);
  for (int i = 0; i < rounds; i++) {
    size_t n = size;
    memcpy(data, seed, size);
    for (int64_t k = nxt_below(&r, 4); k >= 0; k--) n = mutate(t, data, n, &r);
    snprintf(current, sizeof current, "%s, mutation %d (in fuzz-failing)", path, i);
    keep(data, n);
    run(t, data, n);
  }
  return true;
}

static bool run_folder(const fuzz_target *t, const char *corpus, int rounds) {
  char folder[PATH_MAX], path[PATH_MAX + 300];
  snprintf(folder, sizeof folder, "%s/%s", corpus, t->name);
  DIR *d = opendir(folder);
  int files = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    if (!run_file(t, path, rounds)) return false;
    files++;
  }
  if (d) closedir(d);
  printf("%s: %d inputs, %d mutations of each\n", t->name, files, rounds);
  return files > 0;
}

static int make(const char *folder, int n) {
  static uint8_t data[MOST];
  char path[PATH_MAX];
  for (int i = 0; i < n; i++) {
    nxt_random r = {(uint64_t)i * 7919 + 1};
    for (int kernel = 0; kernel < 2; kernel++) {
      size_t size = (kernel ? fuzz_make_kernel : fuzz_make_graph)(data, 4096, &r);
      snprintf(path, sizeof path, "%s/%s/made-%d", folder, kernel ? "kernel" : "graph", i);
      FILE *f = size ? fopen(path, "wb") : NULL;
      if (f) fwrite(data, 1, size < sizeof data ? size : sizeof data, f), fclose(f);
    }
    snprintf(path, sizeof path, "%s/recipe/made-%d", folder, i);
    FILE *f = fopen(path, "wb");
    for (int k = 0; f && k < 16 + 12 * i % 300; k++) fputc((int)(nxt_next(&r) & 0xff), f);
    if (f) fclose(f);
  }
  return 0;
}

static void say_which(void) { /* called on abort: only writes */
  fputs(current, stderr);
  fputs("\n", stderr);
}

int main(int argc, char **argv) {
  if (argc > 3 && !strcmp(argv[1], "make")) return make(argv[2], atoi(argv[3]));
  fuzz_on_wrong = say_which;
  bool good = argc > 1;
  if (argc > 3 && !strcmp(argv[1], "file")) {
    const fuzz_target *t = fuzz_find(argv[2]);
    for (int i = 3; i < argc && t; i++) good = run_file(t, argv[i], 0) && good;
    return t && good ? 0 : 2;
  }
  const char *only = argc > 3 ? argv[3] : NULL;
  for (size_t i = 0; i < fuzz_n_targets && argc > 1; i++)
    if (!only || !strcmp(only, fuzz_targets[i].name))
      good = run_folder(&fuzz_targets[i], argv[1], argc > 2 ? atoi(argv[2]) : 0) && good;
  remove("fuzz-failing");
  return good ? 0 : 1;
}
