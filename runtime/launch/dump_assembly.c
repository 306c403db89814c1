/* SPDX-License-Identifier: ISC */
/* Kernels are compiled one by one, each as a separate module. Two kernels with the same name would
 * therefore define the same symbol, and the local labels of all kernels have the same numbers. Here
 * the number of the kernel is added to both. See dump_assembly.h. */
#include "dump_assembly.h"

#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"

static bool has_symbol(const nxi_assembly *a, const char *name) {
  char line[sizeof((nxk_kernel *)0)->name + 2];
  snprintf(line, sizeof line, "\n%s\n", name);
  return a->symbols.data != NULL && strstr(a->symbols.data, line) != NULL;
}

/* Returns the kernel with a name that the file does not have yet: itself, or a copy. NULL if memory
 * is exhausted. */
static const nxk_kernel *unique(const nxi_assembly *a, const nxk_kernel *k, nxk_kernel **copy) {
  if (!has_symbol(a, k->name)) return k;
  nxk_kernel *other = *copy = nxk_clone(k);
  for (uint32_t i = 1; other != NULL && has_symbol(a, other->name); i++)
    snprintf(other->name, sizeof other->name, "%.40s.%u", k->name, i);
  return other;
}

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

/* Labels that are local to the file begin with .L, on every target with ELF. */
static void put_with_labels(nxi_text *out, const char *text, size_t size, uint32_t kernel) {
  size_t begin = 0;
  for (size_t i = 0; kernel > 0 && i + 1 < size; i++) {
    if (text[i] != '.' || text[i + 1] != 'L' || (i > 0 && is_name_char(text[i - 1]))) continue;
    nxi_text_put(out, text + begin, (uint32_t)(i - begin));
    nxi_text_add(out, ".L%u_", kernel);
    begin = i + 2;
  }
  nxi_text_put(out, text + begin, (uint32_t)(size - begin));
}

nx_status nxi_assembly_add(nxi_assembly *a, const nxk_kernel *k, const nxi_device_stage *stage,
                           const nxi_target *target, nxi_text *out, nxi_diag *d) {
  nxk_kernel *copy = NULL;
  const nxk_kernel *named = unique(a, k, &copy);
  nxi_text text = {0};
  nx_status status = named != NULL ? stage->print(named, target, false, &text, d) : nxi_oom(d);
  if (status == NX_OK && text.failed) status = nxi_oom(d);
  if (status == NX_OK) {
    nxi_text_add(&a->symbols, "%s%s\n", a->symbols.size > 0 ? "" : "\n", named->name);
    put_with_labels(out, text.data, text.size, a->kernels++);
    if (a->symbols.failed) status = nxi_oom(d);
  }
  nxi_text_free(&text);
  nxk_destroy(copy);
  return status;
}

void nxi_assembly_free(nxi_assembly *a) { nxi_text_free(&a->symbols); }
