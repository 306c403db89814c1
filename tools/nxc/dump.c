/* SPDX-License-Identifier: ISC */
/* nxc dump: one stage of the compiler, from the text of a graph or of kernels. */
#include "ir/alloc.h"
#include "nxc.h"
#include "runtime/launch/launch.h"
#include "runtime/debug.h"

int nxc_dump(int argc, char **argv) {
  const char *file = NULL, *stage = NULL, *isa = NULL;
  const nxc_option options[] = {{.name = "stage", .value = &stage}, {.name = "isa", .value = &isa}};
  nxi_target target;
  nxi_text out = {0};
  nxi_diag d;
  size_t size;
  nxi_diag_clear(&d);
  if (!nxc_parse(argc, argv, options, 2, &file) || !nxc_target(isa, &target)) return NXC_USAGE;
  if (file == NULL) return nxc_misuse("dump wants a file");
  if (stage == NULL) return nxc_misuse("dump wants --stage");
  if (nxi_debug_init(&d) != NX_OK) return nxc_failure("nxc", &d);
  char *text = nxc_read_program(file, &size);
  if (text == NULL) return NXC_FAILED;
  nxi_executable_options how = {
      .executor = NXI_COMPILED, .fuse = true, .target = &target, .threads = target.threads};
  nx_status status = nxi_dump_text(text, size, &how, stage, &out, &d);
  nxi_free(text);
  if (status == NX_OK) return nxc_print_text(&out);
  nxi_text_free(&out);
  return nxc_failure(file, &d);
}
