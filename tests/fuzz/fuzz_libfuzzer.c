/* SPDX-License-Identifier: ISC */
/* One target under libFuzzer: fuzz TARGET [LIBFUZZER'S ARGUMENTS] [CORPUS..]. What libFuzzer starts
 * itself finds the target's name in the environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most); /* libFuzzer's */

static const char variable[] = "NXT_FUZZ_TARGET";
static const fuzz_target *target;

static void usage(void) {
  fprintf(stderr, "usage: fuzz TARGET [LIBFUZZER'S ARGUMENTS] [CORPUS..]\ntargets:");
  for (size_t i = 0; i < fuzz_n_targets; i++) fprintf(stderr, " %s", fuzz_targets[i].name);
  fputc('\n', stderr);
  exit(2);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *name = getenv(variable);
  if (!name && *argc > 1) {
    name = (*argv)[1];
    setenv(variable, name, 1);
    for (int i = 1; i + 1 < *argc; i++) (*argv)[i] = (*argv)[i + 1];
    (*argv)[--*argc] = NULL;
  }
  target = name ? fuzz_find(name) : NULL;
  if (!target) usage();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n <= target->most) target->run(data, n);
  return 0;
}

size_t fuzz_mutate_bytes(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  (void)r;
  return LLVMFuzzerMutate(data, n, most);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) {
  nxt_random r = {seed};
  if (most > target->most) most = target->most;
  if (n > most) n = most;
  if (!target->mutate) return LLVMFuzzerMutate(data, n, most);
  return target->mutate(data, n, most, &r);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t most, unsigned seed) {
  nxt_random r = {seed};
  if (most > target->most) most = target->most;
  if (target->cross) return target->cross(a, a_size, b, b_size, out, most, &r);
  size_t head = (size_t)nxt_below(&r, (int64_t)a_size + 1),
         from = (size_t)nxt_below(&r, (int64_t)b_size + 1);
  size_t tail = b_size - from;
  if (head > most) head = most;
  if (tail > most - head) tail = most - head;
  memcpy(out, a, head);
  memcpy(out + head, b + from, tail);
  return head + tail;
}
