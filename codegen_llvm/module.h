/* SPDX-License-Identifier: ISC */
/* What the library and its module with the code generator know of each other. The module is a
 * shared library of its own, linked with LLVM, so that a process which finds all of its kernels on
 * disk never loads LLVM. library.c opens it; module.c is its other side. It has no state of the
 * library: what it needs of that, it is given with each call. */
#ifndef NXI_LLVM_MODULE_H
#define NXI_LLVM_MODULE_H

#include "codegen_llvm.h"
#include "ir/called.h"

/* Functions of the library, as in ir/alloc.h, ir/diag.h, ir/platform/exit.h and
 * ir/called.h. */
typedef struct nxl_host {
  void *(*malloc)(size_t bytes);
  void *(*calloc)(size_t count, size_t bytes);
  void (*free)(void *p);
  void *(*alloc_refuse)(size_t bytes);
  nx_status (*fail)(nxi_diag *d, nx_status status, const char *op, const char *format, ...);
  void (*oom_record)(nxi_diag *d);
  void (*exit_watch_again)(void);
  nxg_called_function *(*called)(int64_t bytes, nxk_op op, nx_dtype type);
} nxl_host;

typedef struct nxl_request {
  const nxk_kernel *kernel;
  const nxl_target *target;
  nxl_form form;
  bool verify;
  void **data;
  size_t *size;
} nxl_request;

/* Functions of the module. Whoever calls start or compile is between nxi_exit_enter and
 * nxi_exit_leave. */
typedef struct nxl_module {
  const char *code_id; /* of the sources that it is made of: the library's, or they do not fit */
  nx_status (*start)(const nxl_host *host, nxi_diag *d);
  nx_status (*compile)(const nxl_host *host, const nxl_request *r, nxi_diag *d);
  const char *(*environment)(const char *isa); /* after start */
  const char *(*lost)(void);                   /* why it is of no use any more, else NULL */
} nxl_module;

/* The only symbol of the module. To be called by each thread that has opened it. */
#define NXL_OPENED "nxl_module_opened"
typedef const nxl_module *nxl_opened(void);

#endif
