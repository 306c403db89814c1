/* SPDX-License-Identifier: ISC */
/* Uses bytes as a program over the interface: each decision of a random program (test_model.c) is
 * one byte. An eager model runs beside it, and every value that is read is compared. If the first
 * bit is set, some allocations fail. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/library/libraries.h"
#include "runtime/realize/run.h"
#include "runtime/record/objects.h"
#include "tests/random/model/world.h"

enum { MOST_STEPS = 100 };

static void prepare(void) {
  static bool done;
  if (done) return;
  done = true;
  setenv("NX_EXECUTOR", "kernel-interp", 0);
  nxi_use_libraries();     /* the model needs them */
  nxi_poll_briefly = true; /* realises are stopped between their steps */
  nxi_slab_each = true;    /* any block may fail, and the address sanitizer sees each */
}

void fuzz_api(const uint8_t *data, size_t n) {
  static char log[LOG_BYTES];
  static world w;
  if (n < 2) return;
  prepare();
  log[0] = 0;
  memset(&w, 0, sizeof w);
  w = (world){.log = log, .aborts = true, .faults = data[0] & 1, .r = fuzz_random_of(data, 2)};
  w.fault_random = fuzz_random_of(data, n);
  if (data[0] & 2) w.flags |= NX_DEFER_EXPOSED;
  if (data[0] & 4) w.flags |= NX_MANUAL_COLLECT;
  nxt_decisions = (nxt_tape){data + 1, data + n};
  nx_context_options o = {
      .size = sizeof o, .flags = w.flags, .threads = 1 + (data[0] >> 3 & 1), .cache_dir = ""};
  choose_style(&w);
  EXPECT_OK(&w, nx_context_create(&o, &w.c));
  set_fusion(true);
  for (int i = 0; i < MOST_STEPS && nxt_decisions.at < nxt_decisions.end; i++) random_step(&w);
  nxt_decisions = (nxt_tape){NULL, NULL};
  end_world(&w);
  nx_context_release(w.c);
}
