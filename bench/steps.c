/* SPDX-License-Identifier: ISC */
/* nx-bench-steps: the library's own work around tiny graphs, each kind in a function of its own
 * named counted_..., for a profiler that counts instructions (tests/bench/instructions_test.py).
 * Each function runs ROUNDS times the work that its name says; one thread, nothing on disk. The
 * first round of each is not counted: it compiles. */
#include <stdio.h>
#include <stdlib.h>

#include "nx/nx.h"

enum { ELEMENTS = 10, NODES = 20, ROUNDS = 100, LENGTHS = 20 };

static nx_context *context;
static nx_tensor *x, *one;
static nx_function *chain_function;

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  nx_status held = nx_error_take(&e);
  if (status == NX_OK && held == NX_OK) return;
  fprintf(stderr, "nx-bench-steps: %s\n", e.message ? e.message : nx_status_name(status));
  exit(2);
}

static nx_tensor *filled(int64_t length) {
  nx_tensor *t = nx_full(context, 0, NX_F32, &length, 1, NX_NUMBER(0.5));
  check(nx_realize(context, &t, 1, NULL));
  return t;
}

/* Operations one after the other on a tensor. */
static nx_tensor *chain(nx_tensor *t, nx_tensor *other, int nodes) {
  for (int i = 0; i < nodes; i++) t = i & 1 ? nx_mul(t, other) : nx_sub(t, other);
  return t;
}

static void record(int rounds) {
  for (int i = 0; i < rounds; i++) {
    nx_scope *scope = nx_scope_begin(context);
    chain(x, one, NODES);
    nx_scope_end(scope);
  }
}

static void record_numbers(int rounds) {
  for (int i = 0; i < rounds; i++) {
    nx_scope *scope = nx_scope_begin(context);
    nx_tensor *t = x;
    for (int k = 0; k < NODES; k++)
      t = nx_binary_f64(t, k & 1 ? NX_BINARY_MUL : NX_BINARY_SUB, 0.5);
    nx_scope_end(scope);
  }
}

static void realise(int rounds) {
  for (int i = 0; i < rounds; i++) {
    nx_scope *scope = nx_scope_begin(context);
    nx_tensor *t = chain(x, one, NODES);
    check(nx_realize(context, &t, 1, NULL));
    nx_scope_end(scope);
  }
}

static void add_and_read(int rounds) {
  for (int i = 0; i < rounds; i++) {
    nx_tensor *t = nx_add(x, one);
    float value[ELEMENTS];
    check(nx_read(t, value, sizeof value, NULL));
    nx_tensor_release(t);
  }
}

static void call(int rounds) {
  for (int i = 0; i < rounds; i++) {
    nx_tensor *out = NULL;
    check(nx_function_call(chain_function, &x, 1, &out, 1, NULL));
    nx_tensor_release(out);
  }
}

/* A length that was not seen before each time: a plan is made, and code is found that serves all
 * lengths. */
static void new_length(int rounds) {
  static int64_t length = 1000;
  for (int i = 0; i < rounds; i++, length += 7) {
    nx_tensor *a = filled(length), *t = nx_exp(nx_add(a, a));
    check(nx_realize(context, &t, 1, NULL));
    nx_tensor_release(t);
    nx_tensor_release(a);
  }
}

/* What is counted: functions that are not inlined, so that a profiler finds them. */
#define COUNTED __attribute__((noinline)) void
COUNTED counted_record(int rounds) { record(rounds); }
COUNTED counted_record_numbers(int rounds) { record_numbers(rounds); }
COUNTED counted_realise(int rounds) { realise(rounds); }
COUNTED counted_add_and_read(int rounds) { add_and_read(rounds); }
COUNTED counted_call(int rounds) { call(rounds); }
COUNTED counted_new_length(int rounds) { new_length(rounds); }

static void capture(void) {
  nx_scope *scope = nx_scope_begin(context);
  int64_t length = ELEMENTS;
  nx_tensor *in = nx_placeholder(context, 0, NX_F32, &length, 1);
  nx_tensor *out = chain(in, in, NODES);
  check(nx_function_create(context, &in, 1, &out, 1, NULL, &chain_function));
  nx_scope_end(scope);
}

int main(void) {
  nx_context_options o = {.size = sizeof o, .threads = 1, .cache_dir = ""};
  check(nx_context_create(&o, &context));
  x = filled(ELEMENTS);
  one = filled(ELEMENTS);
  capture();
  record(2), counted_record(ROUNDS);
  record_numbers(2), counted_record_numbers(ROUNDS);
  realise(2), counted_realise(ROUNDS);
  add_and_read(2), counted_add_and_read(ROUNDS);
  call(2), counted_call(ROUNDS);
  new_length(LENGTHS), counted_new_length(LENGTHS);
  nx_function_release(chain_function);
  nx_tensor_release(one);
  nx_tensor_release(x);
  nx_context_release(context);
  return 0;
}
