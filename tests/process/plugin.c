/* SPDX-License-Identifier: ISC */
/* A plugin of a host that uses the library: in one build the shared library, in another a static
 * copy. */
#include <stddef.h>

#include "nx/nx.h"

__attribute__((visibility("default"))) int use_library(int leave);

static int32_t go_on(void *unused) {
  (void)unused;
  return 0;
}

static nx_scalar number(double x) { return (nx_scalar){NX_SCALAR_F64, {.f = {x, 0}}}; }

/* Makes threads, tags and kernels. leave: the context is not released, so its threads remain. */
int use_library(int leave) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 3, .cache_dir = ""};
  nx_run_options polled = {.size = sizeof polled, .poll = go_on};
  nx_scalar first = number(0.5), step = number(1e-5);
  float value = 0;
  nx_tag_set(7, "a plugin");
  if (nx_context_create(&o, &c) != NX_OK) return 1;
  nx_tensor *x = nx_arange(c, 0, NX_F32, &first, &step, 60000),
            *sorted = nx_sort(x, 0, NX_DESCENDING), *y = nx_sin(sorted),
            *sum = nx_reduce_sum(y, (const int32_t[]){0}, 1, 0);
  nx_status status = nx_read(sum, &value, sizeof value, &polled);
  nx_tensor_release(x), nx_tensor_release(sorted), nx_tensor_release(y), nx_tensor_release(sum);
  if (!leave) nx_context_release(c);
  return status != NX_OK || value < 42000 || value > 43000;
}
