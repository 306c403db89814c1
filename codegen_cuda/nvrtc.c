/* SPDX-License-Identifier: ISC */
/* Compiles CUDA C to machine code of a GPU with NVIDIA's run-time compiler. The compiler is loaded
 * when it is first needed, so that this library starts without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen_cuda.h"
#include "ir/platform/thread.h"
#include "toolkit.h"

static struct nvrtc {
#define NVRTC(result, name, arguments) result(*name) arguments;
#include "nvrtc.def"
#undef NVRTC
} nvrtc;
static nxi_once once = NXI_ONCE_INITIALIZER;
static char missing[NXU_SENTENCE], version[32];
/* Whether the compiler has the option --minimal (from 12.4 on). It leaves out declarations of
 * textures and of the CUDA runtime, so that there is less to parse. */
static bool minimal;
/* The architectures that the compiler supports, 90 for sm_90. */
enum { MOST_KINDS = 64 };
static int kinds[MOST_KINDS], n_kinds;
static char no_kind[NXU_SENTENCE];

static void find_kinds(void) {
  int n = 0;
  if (nvrtc.nvrtcGetNumSupportedArchs(&n) != 0 || n > MOST_KINDS) return;
  if (nvrtc.nvrtcGetSupportedArchs(kinds) == 0) n_kinds = n;
  snprintf(no_kind, sizeof no_kind, "%s makes no code for this kind of GPU; another version may",
           version);
}

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
  if (!nxu_load_library(&library, &nvrtc, missing) || nvrtc.nvrtcVersion(&major, &minor) != 0)
    return;
  snprintf(version, sizeof version, "NVRTC %d.%d", major, minor);
  minimal = major > 12 || (major == 12 && minor >= 4);
  find_kinds();
}

const char *nxu_unavailable(void) {
  nxi_once_run(&once, load);
  return missing[0] != 0 ? missing : NULL;
}

const char *nxu_unavailable_for(const char *arch) {
  int kind = 0;
  const char *why = nxu_unavailable();
  if (why != NULL || n_kinds == 0 || sscanf(arch, "sm_%d", &kind) != 1) return why;
  for (int i = 0; i < n_kinds; i++)
    if (kinds[i] == kind) return NULL;
  return no_kind;
}

const char *nxu_environment(void) {
  nxi_once_run(&once, load);
  return version;
}

/* ---- compiling */

static nx_status refuse(const char *what, int result, nxi_diag *d) {
  return nxi_fail(d, NX_INTERNAL, "", "%s: %s", what, nvrtc.nvrtcGetErrorString(result));
}

/* The compiler's messages. NULL: there are none, or memory is exhausted. */
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

void (*nxu_refused)(const char *name, const char *source, const char *words, nxi_diag *d);

/* Reports that the compiler refused a program, with the first error of its messages. */
static nx_status refuse_program(void *program, const char *name, const char *source, int result,
                                nxi_diag *d) {
  char *log = log_of(program);
  if (log == NULL || log[0] == 0) {
    nxi_free(log);
    return refuse(name, result, d);
  }
  const char *fault = strstr(log, "error");
  while (fault != NULL && fault > log && fault[-1] != '\n') fault--;
  if (fault == NULL) fault = log;
  int length = (int)strcspn(fault, "\n");
  nx_status status = nxi_fail(d, NX_INTERNAL, "", "%s: NVRTC refuses its source: %.*s", name,
                              length < 200 ? length : 200, fault);
  if (nxu_refused != NULL) nxu_refused(name, source, log, d);
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

/* words: NULL, or is set to the assembler's report on the code, nxi_malloc'd. */
static nx_status compile(const char *source, const char *name, const char *arch, nxu_form form,
                         void **code, size_t *size, char **words, nxi_diag *d) {
  enum { MOST_OPTIONS = 10 };
  char architecture[40];
  const char *options[MOST_OPTIONS] = {architecture,      "--std=c++17",       "-fmad=false",
                                       "-ftz=false",      "-prec-div=true",    "-prec-sqrt=true",
                                       "-default-device", "--disable-warnings"};
  int n_options = 8;
  void *program = NULL;
  if (nxu_unavailable() != NULL)
    return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", nxu_unavailable());
  if (minimal) options[n_options++] = "--minimal";
  if (words != NULL) options[n_options++] = "--ptxas-options=-v";
  snprintf(architecture, sizeof architecture, "--gpu-architecture=%.16s", arch);
  int result = nvrtc.nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);
  if (result != 0) return refuse("NVRTC", result, d);
  result = nvrtc.nvrtcCompileProgram(program, n_options, options);
  nx_status status = result != 0 ? refuse_program(program, name, source, result, d)
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

/* The number before or after `what` in a part of the assembler's report. -1: it is not there. */
static int64_t said(const char *words, const char *end, const char *what, bool before) {
  const char *at = strstr(words, what);
  if (at == NULL || at >= end) return -1;
  if (!before) return strtoll(at + strlen(what), NULL, 10);
  while (at > words && at[-1] >= '0' && at[-1] <= '9') at--;
  return strtoll(at, NULL, 10);
}

/* Adds what the report says of one kernel, from its name on. False: something is missing. */
static bool add_use(const char *name, const char *end, nxu_use *use) {
  const int64_t stores = said(name, end, " bytes spill stores", true),
                loads = said(name, end, " bytes spill loads", true),
                stack = said(name, end, " bytes stack frame", true),
                registers = said(name, end, "Used ", false);
  if (stores < 0 || loads < 0 || stack < 0 || registers < 0) return false;
  if (stores + loads + stack > 0 && use->in_memory[0] == 0)
    snprintf(use->in_memory, sizeof use->in_memory, "%.*s", (int)strcspn(name, "'"), name);
  use->kernels++;
  use->spill_bytes += stores + loads;
  use->stack_bytes += stack;
  if (registers > use->registers) use->registers = registers;
  return true;
}

nx_status nxu_measure(const char *source, const char *name, const char *arch, nxu_use *use,
                      nxi_diag *d) {
  void *code = NULL;
  size_t size = 0;
  char *words = NULL;
  nx_status status = compile(source, name, arch, NXU_CUBIN, &code, &size, &words, d);
  if (status != NX_OK) return status;
  static const char begins[] = "Compiling entry function '";
  bool good = true;
  *use = (nxu_use){0};
  for (const char *at = words != NULL ? strstr(words, begins) : NULL, *next; at != NULL && good;
       at = next) {
    at += sizeof begins - 1;
    next = strstr(at, begins);
    good = add_use(at, next != NULL ? next : at + strlen(at), use);
  }
  if (!good || use->kernels == 0)
    status = nxi_fail(d, NX_INTERNAL, "", "%s: NVRTC does not say what its code takes: %.200s",
                      name, words != NULL ? words : "nothing");
  nxi_free(words);
  nxi_free(code);
  return status;
}
