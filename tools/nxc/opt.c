/* SPDX-License-Identifier: ISC */
/* nxc opt: prints a graph or a kernel after passes; with --each, comments before it show what each
 * pass changed. */
#include <stdio.h>

#include "ir/alloc.h"
#include "nxc.h"
#include "passes/apply.h"
#include "passes/pipeline.h"
#include "runtime/library/blas/blas.h"
#include "runtime/debug.h"

/* ---- --each */

static nxi_text last; /* the text after the previous pass */
static bool failed;   /* memory is exhausted */

static void show_pass(const char *pass, nxi_text *text) {
  nxi_text difference = {0};
  failed = failed || text->failed || !nxc_diff(&last, text, &difference) || difference.failed;
  printf("; %s%s\n", pass, difference.size > 0 ? ":" : " changes nothing");
  if (difference.size > 0) fwrite(difference.data, 1, difference.size, stdout);
  nxi_text_free(&difference);
  nxi_text swapped = last;
  last = *text;
  *text = swapped;
}

/* Runs the passes and shows the changes of each; those of the first pass are relative to the
 * input. */
static nx_status apply_each(const char *text, size_t size, const char *passes,
                            const nxp_apply_options *how, nxi_text *out, nxi_diag *d) {
  nx_status status = nxp_apply(text, size, "", how, &last, d);
  if (status != NX_OK) return status;
  nxp_debugging.passed = show_pass;
  status = nxp_apply(text, size, passes, how, out, d);
  nxp_debugging.passed = NULL;
  nxi_text_free(&last);
  return status == NX_OK && failed ? nxi_oom(d) : status;
}

int nxc_opt(int argc, char **argv) {
  const char *file = NULL, *passes = NULL, *isa = NULL;
  bool each = false;
  const nxc_option options[] = {{.name = "passes", .value = &passes},
                                {.name = "isa", .value = &isa},
                                {.name = "each", .flag = &each}};
  nxi_target target;
  nxi_text out = {0};
  nxi_diag d;
  size_t size;
  nxi_diag_clear(&d);
  if (!nxc_parse(argc, argv, options, 3, &file) || !nxc_target(isa, &target)) return NXC_USAGE;
  if (file == NULL) return nxc_misuse("opt wants a file");
  if (nxi_debug_init(&d) != NX_OK) return nxc_failure("nxc", &d);
  char *text = nxc_read_program(file, &size);
  if (text == NULL) return NXC_FAILED;
  nxp_apply_options how = {&target, nxi_products_are_own() || nxi_blas_get(NULL) != NULL};
  nx_status status = each ? apply_each(text, size, passes, &how, &out, &d)
                          : nxp_apply(text, size, passes, &how, &out, &d);
  nxi_free(text);
  if (status == NX_OK) return nxc_print_text(&out);
  nxi_text_free(&out);
  return nxc_failure(file, &d);
}
