/* SPDX-License-Identifier: ISC */
/* The machine code of kernels as text: NVRTC compiles them, as those that run are compiled, and
 * NVIDIA's disassembler prints the code. It reads a file, which is a temporary one. */
#include "sass.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "ir/platform/file.h"
#include "ir/platform/process.h"

enum { FOLDER = 3900 };

static void add_text(void *out, const char *text, size_t n) {
  nxi_text_put(out, text, (uint32_t)n);
}

static nx_status disassemble(const char *path, nxi_text *out, nxi_diag *d) {
  char reason[NXI_SYSTEM_ERROR];
  const char *named = nxi_safe_variable("NX_NVDISASM");
  const char *program = named != NULL && named[0] != 0 ? named : "nvdisasm";
  const int status =
      nxi_program_run((const char *const[]){program, "-c", path, NULL}, add_text, out);
  if (status == 0) return NX_OK;
  if (status > 0)
    return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "dump", "dump: %.200s failed with status %d", program,
                    status);
  return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "dump",
                  "dump: %.200s: %s; it is a part of the CUDA toolkit, and of the package "
                  "nvidia-cuda-nvdisasm of Python; NX_NVDISASM names it",
                  program, nxi_system_error(errno, reason));
}

static nx_status write_code(const char *path, const void *code, size_t size, nxi_diag *d) {
  char reason[NXI_SYSTEM_ERROR];
  const int file = nxi_fd_open(path, NXI_FD_WRITE | NXI_FD_CREATE | NXI_FD_NEW, 0600);
  bool good = file >= 0 && nxi_fd_write(file, code, size);
  int error = errno;
  if (file >= 0 && !nxi_fd_close(file) && good) good = false, error = errno;
  if (good) return NX_OK;
  return nxi_fail(d, NX_IO, "dump", "dump: %.200s: %s", path, nxi_system_error(error, reason));
}

nx_status nxi_cuda_sass(const char *source, const char *name, const nxi_target *t, nxi_text *out,
                        nxi_diag *d) {
  static _Atomic uint32_t files;
  const char *folder = nxi_safe_variable("TMPDIR");
  char path[NXI_PATH];
  void *code = NULL;
  size_t size = 0;
  nx_status status = nxu_compile(source, name, t->isa, NXU_CUBIN, &code, &size, d);
  if (status != NX_OK) return status;
  snprintf(path, sizeof path, "%.*s/nx-%u-%u.cubin", FOLDER,
           folder != NULL && folder[0] != 0 ? folder : "/tmp", nxi_process_number(),
           atomic_fetch_add(&files, 1));
  status = write_code(path, code, size, d);
  if (status == NX_OK) {
    status = disassemble(path, out, d);
    nxi_path_remove(path);
  }
  nxi_free(code);
  return status;
}
