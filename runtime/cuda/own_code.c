/* SPDX-License-Identifier: ISC */
#include "own_code.h"

#include "codegen_cuda/codegen_cuda.h"
#include "passes/pipeline.h"
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
