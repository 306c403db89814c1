/* SPDX-License-Identifier: ISC */
/* The host's side: objects are linked with foreign_main.c to programs of their own.
 * $NXT_FOREIGN_MAIN says where that is. */
#include "foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"

static char directory[] = "/tmp/nx-foreign-XXXXXX";
static bool built;

static bool command(const char *text) { return system(text) == 0; }

static const char *build(void) {
  const char *source = getenv("NXT_FOREIGN_MAIN");
  char text[1024];
  if (nxl_unavailable() != NULL) return "there is no LLVM";
  if (source == NULL) return "NXT_FOREIGN_MAIN is not set";
  if (!command("command -v qemu-aarch64 >/dev/null")) return "there is no qemu-aarch64";
  if (mkdtemp(directory) == NULL) return "no directory for programs";
  built = true;
  snprintf(
      text, sizeof text,
      "cd %s && flags='-O1 -ffreestanding -fno-stack-protector -fno-pic -c -o main.o' && "
      "{ aarch64-linux-gnu-gcc $flags '%s' || clang-19 --target=aarch64-linux-gnu $flags '%s'; "
      "} 2>/dev/null",
      directory, source, source);
  return command(text) ? NULL : "no compiler makes code for AArch64";
}

const char *nxt_foreign_missing(void) {
  static const char *missing;
  static bool looked;
  if (!looked) missing = build();
  looked = true;
  return missing;
}

int nxt_foreign_end(void **state) {
  char text[128];
  (void)state;
  if (nxt_foreign_missing() != NULL) printf("no AArch64 code was run: %s\n", nxt_foreign_missing());
  snprintf(text, sizeof text, "rm -rf %s", directory);
  return built && !command(text);
}

static FILE *open_file(const char *name, const char *mode) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return fopen(path, mode);
}

static bool write_object(const nxk_kernel *k) {
  void *object;
  size_t size;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxl_target t = {.triple = "aarch64-linux-gnu", .isa = "neon"};
  if (nxl_compile(k, &t, NXL_OBJECT, &object, &size, &d) != NX_OK) {
    fprintf(stderr, "%s\n", d.message);
    return false;
  }
  FILE *f = open_file("kernel.o", "wb");
  bool good = f != NULL && fwrite(object, 1, size, f) == size;
  if (f != NULL) good = fclose(f) == 0 && good;
  nxi_free(object);
  return good;
}

static bool link_program(const char *symbol) {
  char text[1024];
  snprintf(text, sizeof text,
           "cd %s && args='-static -e _start --defsym nxt_kernel=%s -o program main.o kernel.o' && "
           "{ aarch64-linux-gnu-ld $args 2>/dev/null || ld.lld-19 $args; }",
           directory, symbol);
  return command(text);
}

static int64_t buffer_bytes(const nxk_buffer *b) { return b->elements * nxi_dtype_size(b->dtype); }

static uint32_t launch_buffers(const nxk_kernel *k) {
  uint32_t n = 0;
  while (n < k->n_buffers && k->buffers[n].kind != NXK_LOCAL) n++;
  return n;
}

static bool write_input(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                        int64_t begin, int64_t end) {
  FILE *f = open_file("input", "wb");
  uint32_t n = launch_buffers(k);
  if (f == NULL) return false;
  int64_t head[] = {n, k->n_params, begin, end, nxk_scratch_bytes(k)};
  fwrite(head, sizeof head, 1, f);
  if (k->n_params > 0) fwrite(params, sizeof *params, k->n_params, f);
  for (uint32_t i = 0; i < n; i++) {
    int64_t bytes = buffer_bytes(&k->buffers[i]);
    fwrite(&bytes, sizeof bytes, 1, f);
    fwrite(buffers[i], 1, (size_t)bytes, f);
  }
  return fclose(f) == 0;
}

static bool read_output(const nxk_kernel *k, void *const *buffers) {
  FILE *f = open_file("output", "rb");
  bool good = f != NULL;
  for (uint32_t i = 0; good && i < launch_buffers(k); i++) {
    size_t bytes = (size_t)buffer_bytes(&k->buffers[i]);
    good = fread(buffers[i], 1, bytes, f) == bytes;
  }
  if (f != NULL) fclose(f);
  return good;
}

bool nxt_foreign_run(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                     int64_t begin, int64_t end) {
  char text[256];
  const char *failed = NULL;
  snprintf(text, sizeof text, "cd %s && qemu-aarch64 ./program <input >output", directory);
  if (!write_object(k)) failed = "compiled";
  else if (!link_program(k->name)) failed = "linked";
  else if (!write_input(k, buffers, params, begin, end)) failed = "given its input";
  else if (!command(text)) failed = "run";
  else if (!read_output(k, buffers)) failed = "read";
  if (failed != NULL) fprintf(stderr, "%s for AArch64 could not be %s\n", k->name, failed);
  return failed == NULL;
}
