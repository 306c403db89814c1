/* SPDX-License-Identifier: ISC */
#include "own_code.h"

#include "codegen_cuda/codegen_cuda.h"
#include "internal.h"
#include "ir/alloc.h"
#include "ir/platform/thread.h"
#include "passes/pipeline.h"
#include "runtime/threads.h"
#include "shown.h"

nx_status nxi_own_code_get(nxi_gpu *g, const nxi_own_code *code, nxi_kernel **out, nxi_diag *d) {
  nxi_text text = {0};
  if (nxi_gpu_is_imagined(g)) {
    *out = NULL;
    return nxi_gpu_show_text(g, code, d);
  }
  nxi_text_add(&text, "%s%s%s\n%s\n", nxu_prelude(), code->tools != NULL ? code->tools : "",
               code->body, code->instance);
  if (text.failed) {
    nxi_text_free(&text);
    return nxi_oom(d);
  }
  nxi_kernel_text key = {text.data, code->entry, code->threads, code->shared_bytes};
  nxi_kernel *kernel = NULL;
  nx_status status =
      nxi_kernel_get_text(nxi_gpu_kernels(g), nxi_gpu_target(g)->isa, &key, &kernel, NULL, d);
  if (status == NX_OK && nxp_wanted("cuda")) status = nxp_show("cuda", code->entry, &text, d);
  else nxi_text_free(&text);
  if (status == NX_OK) *out = kernel;
  else nxi_kernel_release(kernel);
  return status;
}

/* ---- several */

typedef struct outcome {
  nx_status status;
  nxi_diag d;
} outcome;
typedef struct several {
  nxi_gpu *gpu;
  const nxi_own_code *codes;
  nxi_kernel **out;
  outcome *outcomes;
} several;

static void get_some(void *arg, int worker, int64_t begin, int64_t end) {
  const several *s = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    outcome *o = &s->outcomes[i];
    if (s->out[i] != NULL) continue;
    nxi_diag_clear(&o->d);
    o->status = nxi_own_code_get(s->gpu, &s->codes[i], &s->out[i], &o->d);
  }
}

/* Texts are shown in their order. */
static bool may_share(const nxi_gpu *g, uint32_t n) {
  return n > 1 && !nxi_gpu_is_imagined(g) && !nxp_wanted("cuda") && nxi_threads_have_heaps() &&
         nxi_pool_has_threads(nxi_gpu_pool(g));
}

/* What failed on a thread, perhaps for lack of memory beside the others, is tried again alone. */
nx_status nxi_own_code_get_all(nxi_gpu *g, const nxi_own_code *codes, uint32_t n, nxi_kernel **out,
                               nxi_diag *d) {
  several s = {g, codes, out, nxi_calloc((size_t)n + 1, sizeof(outcome))};
  nx_status status = NX_OK;
  if (s.outcomes == NULL) return nxi_oom(d);
  if (may_share(g, n)) nxi_pool_run(nxi_gpu_pool(g), get_some, &s, n, 1);
  for (uint32_t i = 0; i < n && status == NX_OK; i++) {
    const bool again = s.outcomes[i].status == NX_OK || s.outcomes[i].status == NX_OUT_OF_MEMORY;
    if (again) get_some(&s, 0, i, i + 1);
    status = s.outcomes[i].status;
    if (status != NX_OK && d != NULL) *d = s.outcomes[i].d;
  }
  nxi_free(s.outcomes);
  return status;
}
