/* SPDX-License-Identifier: ISC */
/* CUDA C to machine code of a GPU, by NVIDIA's run-time compiler. It is loaded when it is first needed, so that the library
 * starts without it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen_cuda.h"
#include "toolkit.h"

static struct nvrtc {
#define NVRTC(result, name, arguments) result(*name) arguments;
#include "nvrtc.def"
#undef NVRTC
} nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[NXU_SENTENCE], version[32];

static void load(void) {
  static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", NULL};
  static const char *const symbols[] = {
#define NVRTC(result, name, arguments) #name,
#include "nvrtc.def"
#undef NVRTC
      NULL};
  static const nxu_library library = {"NVRTC, the run-time compiler of CUDA 12 or 13,", "NX_NVRTC",
                                      files, symbols};
  int major = 0, minor = 0;
  if (nxu_load_library(&library, &nvrtc, missing) && nvrtc.nvrtcVersion(&major, &minor) == 0)
    snprintf(version, sizeof version, "NVRTC %d.%d", major, minor);
}

const char *nxu_unavailable(void) {
  pthread_once(&once, load);
  return missing[0] != 0 ? missing : NULL;
}

const char *nxu_environment(void) {
  pthread_once(&once, load);
  return version;
}

/* ---- compiling */

static nx_status refuse(const char *what, int result, nxi_diag *d) {
  return nxi_fail(d, NX_INTERNAL, "", "%s: %s", what, nvrtc.nvrtcGetErrorString(result));
}

/* The compiler's words. NULL: it has none, or memory is exhausted. */
static char *log_of(void *program) {
  size_t size = 0;
  char *log = NULL;
  if (nvrtc.nvrtcGetProgramLogSize(program, &size) == 0) log = nxi_malloc(size + 1);
  if (log == NULL || nvrtc.nvrtcGetProgramLog(program, log) != 0) {
    nxi_free(log);
    return NULL;
  }
  log[size] = 0;
  return log;
}

/* The first line of the compiler's words that is an error. */
static nx_status refuse_program(void *program, const char *name, int result, nxi_diag *d) {
  char *log = log_of(program);
  if (log == NULL || log[0] == 0) {
    nxi_free(log);
    return refuse(name, result, d);
  }
  const char *fault = strstr(log, "error");
  while (fault != NULL && fault > log && fault[-1] != '\n') fault--;
  nx_status status = nxi_fail(d, NX_INTERNAL, "", "%s: NVRTC refuses its source: %.300s", name,
                              fault != NULL ? fault : log);
  nxi_free(log);
  return status;
}

static nx_status take_code(void *program, bool ptx, void **code, size_t *size, nxi_diag *d) {
  int result = ptx ? nvrtc.nvrtcGetPTXSize(program, size) : nvrtc.nvrtcGetCUBINSize(program, size);
  if (result != 0) return refuse("NVRTC", result, d);
  char *bytes = nxi_malloc(*size + 1);
  if (bytes == NULL) return nxi_oom(d);
  result = ptx ? nvrtc.nvrtcGetPTX(program, bytes) : nvrtc.nvrtcGetCUBIN(program, bytes);
  if (result != 0) {
    nxi_free(bytes);
    return refuse("NVRTC", result, d);
  }
  bytes[*size] = 0;
  *code = bytes;
  return NX_OK;
}

/* words: NULL, or what the assembler says of the code, nxi_malloc'd. */
static nx_status compile(const char *source, const char *name, const char *arch, nxu_form form,
                         void **code, size_t *size, char **words, nxi_diag *d) {
  char architecture[40];
  const char *options[] = {architecture,      "--std=c++17",        "-fmad=false",
                           "-ftz=false",      "-prec-div=true",     "-prec-sqrt=true",
                           "-default-device", "--disable-warnings", "--ptxas-options=-v"};
  int n_options = (int)(sizeof options / sizeof *options) - (words == NULL);
  void *program = NULL;
  if (nxu_unavailable() != NULL)
    return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", nxu_unavailable());
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%.16s", arch);
  int result = nvrtc.nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);
  if (result != 0) return refuse("NVRTC", result, d);
  result = nvrtc.nvrtcCompileProgram(program, n_options, options);
  nx_status status = result != 0 ? refuse_program(program, name, result, d)
                                 : take_code(program, form == NXU_PTX, code, size, d);
  if (status == NX_OK && words != NULL && (*words = log_of(program)) == NULL) {
    nxi_free(*code);
    status = nxi_oom(d);
  }
  nvrtc.nvrtcDestroyProgram(&program);
  return status;
}

nx_status nxu_compile(const char *source, const char *name, const char *arch, nxu_form form,
                      void **code, size_t *size, nxi_diag *d) {
  return compile(source, name, arch, form, code, size, NULL, d);
}

/* The number before `what`, or after it. -1: it is not said. */
static int64_t said(const char *words, const char *what, bool before) {
  const char *at = words != NULL ? strstr(words, what) : NULL;
  if (at == NULL) return -1;
  if (!before) return strtoll(at + strlen(what), NULL, 10);
  while (at > words && at[-1] >= '0' && at[-1] <= '9') at--;
  return strtoll(at, NULL, 10);
}

nx_status nxu_measure(const char *source, const char *name, const char *arch, nxu_use *use,
                      nxi_diag *d) {
  void *code = NULL;
  size_t size = 0;
  char *words = NULL;
  nx_status status = compile(source, name, arch, NXU_CUBIN, &code, &size, &words, d);
  if (status != NX_OK) return status;
  *use = (nxu_use){said(words, "Used ", false), said(words, " bytes stack frame", true)};
  if (use->registers < 0 || use->stack_bytes < 0)
    status = nxi_fail(d, NX_INTERNAL, "", "%s: NVRTC does not say what its code takes: %.200s",
                      name, words != NULL ? words : "nothing");
  nxi_free(words);
  nxi_free(code);
  return status;
}
