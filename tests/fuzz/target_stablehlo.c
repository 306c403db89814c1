/* SPDX-License-Identifier: ISC */
/* Bytes as modules of StableHLO, text or portable artifact: each is refused with a sentence, and at
 * a place in it where reading failed, or becomes a function, of one process and of the second of
 * two partitions. Nothing is run: what is recorded is the subject of other targets. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ir/alloc.h"
#include "nx/nx.h"

static nx_context *context(void) {
  static nx_context *c;
  nx_context_options o = {
      .size = sizeof o, .cache_dir = "", .threads = 1, .memory_limit = 1 << 26, .cpu_devices = 2};
  if (!c && nx_context_create(&o, &c) != NX_OK) abort();
  return c;
}

static nx_stablehlo_mesh *partitions(void) {
  static nx_stablehlo_mesh *mesh;
  static const nx_device devices[] = {0, 1};
  if (!mesh && nx_stablehlo_mesh_create(context(), 1, 2, devices, NULL, &mesh) != NX_OK) abort();
  return mesh;
}

static void check_refusal(nx_status status, size_t n) {
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e) != status)
    fuzz_wrong("%s is not what the thread has", nx_status_name(status));
  bool known = status == NX_PARSE || status == NX_INVALID_ARGUMENT ||
               status == NX_UNSUPPORTED_DTYPE || status == NX_NEEDS_COPY ||
               status == NX_OUT_OF_MEMORY;
  if (!known || !e.message[0]) fuzz_wrong("%s: %s", nx_status_name(status), e.message);
  if (e.index > (int64_t)n) fuzz_wrong("refused at byte %lld of %zu", (long long)e.index, n);
}

/* Nothing is run, so it is never called. */
static nx_status exchange(const nx_stablehlo_transfer *t) {
  (void)t;
  return NX_INTERNAL;
}

static nx_status record(nx_stablehlo *m, const nx_stablehlo_options *o) {
  nx_function *f = NULL;
  nx_status s = nx_stablehlo_function(m, context(), o, &f);
  if (nx_capturing(context())) fuzz_wrong("a capture goes on");
  nx_function_release(f);
  return s;
}

void fuzz_stablehlo(const uint8_t *data, size_t n) {
  nx_stablehlo *m = NULL;
  nxi_alloc_largest();
  nx_status s = nx_stablehlo_parse(data, n, &m);
  size_t largest = nxi_alloc_largest();
  if (largest > 64 * n + (1 << 16)) fuzz_wrong("%zu bytes took %zu of memory at once", n, largest);
  if (s != NX_OK) {
    check_refusal(s, n);
    return;
  }
  const nx_stablehlo_host host = {.size = sizeof host,
                                  .infeed = exchange,
                                  .outfeed = exchange,
                                  .send = exchange,
                                  .receive = exchange};
  nx_stablehlo_options first = {.size = sizeof first, .host = &host};
  nx_stablehlo_options second = {.size = sizeof second, .mesh = partitions(), .partition = 1};
  if ((s = record(m, &first)) != NX_OK) check_refusal(s, n);
  if ((s = record(m, &second)) != NX_OK) check_refusal(s, n);
  nx_stablehlo_release(m);
  nx_context_collect(context());
}
