/* SPDX-License-Identifier: ISC */
/* nxc dump --stage sass: the machine code of a GPU as text. The kernels of a dump are compiled
 * together by NVRTC, as those that run are, and NVIDIA's disassembler prints the code; it reads a
 * file, which is a temporary one. */
#include "nxc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "ir/alloc.h"

#if NX_HAVE_CUDA
#include "codegen_cuda/codegen_cuda.h"

static const char *disassembler(void) {
  const char *named = getenv("NX_NVDISASM");
  return named != NULL && named[0] != 0 ? named : "nvdisasm";
}

/* In the child: nothing is left of this program but its standard output and error. */
static _Noreturn void disassemble(char *path) {
  const char *name = disassembler();
  char code_alone[] = "-c", *arguments[] = {(char *)name, code_alone, path, NULL};
  execvp(name, arguments);
  fprintf(stderr,
          "nxc: %s: %s; it is a part of the CUDA toolkit, and the package nvidia-cuda-nvdisasm "
          "of Python has it; NX_NVDISASM names the program\n",
          name, strerror(errno));
  _exit(NXC_FAILED);
}

static int print_code_of(char *path) {
  int status;
  const pid_t child = fork();
  if (child < 0) return nxc_complain("nxc", "no process for nvdisasm: %s", strerror(errno));
  if (child == 0) disassemble(path);
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return nxc_complain("nxc", "nvdisasm: %s", strerror(errno));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NXC_OK : NXC_FAILED;
}

static bool write_all(int file, const char *from, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, from, size);
    if (written < 0 && errno != EINTR) return false;
    if (written < 0) continue;
    from += written;
    size -= (size_t)written;
  }
  return true;
}

static int print_cubin(const void *code, size_t size) {
  const char *directory = getenv("TMPDIR");
  char path[4096];
  if (directory == NULL || directory[0] == 0) directory = "/tmp";
  snprintf(path, sizeof path, "%.4000s/nxc-XXXXXX", directory);
  const int file = mkstemp(path);
  if (file < 0) return nxc_complain(path, "%s", strerror(errno));
  bool good = write_all(file, code, size);
  good = close(file) == 0 && good;
  const int status = good ? print_code_of(path) : nxc_complain(path, "%s", strerror(errno));
  unlink(path);
  return status;
}

int nxc_print_sass(const char *file, const nxi_text *source, const nxi_target *t) {
  void *code = NULL;
  size_t size = 0;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (source->size == 0) return NXC_OK; /* no kernels */
  if (nxu_compile(source->data, "dump", t->isa, NXU_CUBIN, &code, &size, &d) != NX_OK)
    return nxc_failure(file, &d);
  const int status = print_cubin(code, size);
  nxi_free(code);
  return status;
}

#else

int nxc_print_sass(const char *file, const nxi_text *source, const nxi_target *t) {
  (void)source, (void)t;
  return nxc_complain(file, "there is no stage sass: the library was built without CUDA");
}

#endif
