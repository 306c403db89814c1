/* SPDX-License-Identifier: ISC */
/* nxc opt: a graph or a kernel after passes. */
#include "ir/alloc.h"
#include "nxc.h"
#include "passes/apply.h"
#include "runtime/blas.h"
#include "runtime/debug.h"

int nxc_opt(int argc, char **argv) {
  const char *file = NULL, *passes = NULL, *isa = NULL;
  const nxc_option options[] = {{.name = "passes", .value = &passes},
                                {.name = "isa", .value = &isa}};
  nxi_target target;
  nxi_text out = {0};
  nxi_diag d;
  size_t size;
  nxi_diag_clear(&d);
  if (!nxc_parse(argc, argv, options, 2, &file) || !nxc_target(isa, &target)) return NXC_USAGE;
  if (file == NULL) return nxc_misuse("opt wants a file");
  if (nxi_debug_init(&d) != NX_OK) return nxc_failure("nxc", &d);
  char *text = nxc_read_text(file, &size);
  if (text == NULL) return NXC_FAILED;
  nxp_apply_options how = {&target, nxi_blas_get(NULL) != NULL};
  nx_status status = nxp_apply(text, size, passes, &how, &out, &d);
  nxi_free(text);
  if (status == NX_OK) return nxc_print_text(&out);
  nxi_text_free(&out);
  return nxc_failure(file, &d);
}
