/* SPDX-License-Identifier: ISC */
/* Objects loaded into this process through ORC. Each has a library of its own, so that entry points of equal
 * name do not meet; libraries are used again, because ORC cannot remove one. Removing the object's tracker
 * gives its memory back. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "jit.h"

typedef struct library {
  LLVMOrcJITDylibRef handle;
  struct library *next; /* in the list of free ones */
} library;

struct nxl_code {
  library *lib;
  LLVMOrcResourceTrackerRef tracker;
  nxi_kernel_fn entry;
  size_t bytes;
};

static LLVMOrcLLJITRef jit;
static const char *jit_fault;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static library *free_libraries;
static uint32_t n_libraries;

static nx_status take_error(LLVMErrorRef error, nxi_diag *d) {
  if (!error) return NX_OK;
  char *message = LLVMGetErrorMessage(error);
  nx_status s = nxi_fail(d, NX_COMPILE_FAILED, "", "LLVM: %s", message);
  LLVMDisposeErrorMessage(message);
  return s;
}

/* What ORC would print; whoever asked gets an error too. */
static void swallow(void *user, LLVMErrorRef error) {
  (void)user;
  LLVMConsumeError(error);
}

static void start(void) {
  nxl_setup();
  if (nxl_unavailable()) {
    jit_fault = nxl_unavailable();
    return;
  }
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit, NULL);
  if (error) {
    LLVMConsumeError(error);
    jit_fault = "LLVM's linker could not be started";
    return;
  }
  LLVMOrcExecutionSessionSetErrorReporter(LLVMOrcLLJITGetExecutionSession(jit), swallow, NULL);
}

/* ---- libraries */

static nx_status define_symbols(LLVMOrcJITDylibRef lib, nxi_diag *d) {
  LLVMOrcCSymbolMapPair pairs[8];
  size_t n = 0;
  for (const nxl_symbol *s = nxl_symbols; s->name; s++, n++) {
    pairs[n].Name = LLVMOrcLLJITMangleAndIntern(jit, s->name);
    pairs[n].Sym.Address = s->address;
    pairs[n].Sym.Flags.GenericFlags =
        LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    pairs[n].Sym.Flags.TargetFlags = 0;
  }
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
  LLVMErrorRef error = LLVMOrcJITDylibDefine(lib, unit);
  if (error) LLVMOrcDisposeMaterializationUnit(unit);
  return take_error(error, d);
}

static library *make_library(nxi_diag *d) {
  library *lib = nxi_calloc(1, sizeof *lib);
  if (!lib) {
    nxi_oom(d);
    return NULL;
  }
  char name[32];
  pthread_mutex_lock(&lock);
  snprintf(name, sizeof name, "nx%u", n_libraries++);
  pthread_mutex_unlock(&lock);
  lib->handle =
      LLVMOrcExecutionSessionCreateBareJITDylib(LLVMOrcLLJITGetExecutionSession(jit), name);
  if (define_symbols(lib->handle, d) == NX_OK) return lib;
  nxi_free(lib);
  return NULL;
}

static library *take_library(nxi_diag *d) {
  pthread_mutex_lock(&lock);
  library *lib = free_libraries;
  if (lib) free_libraries = lib->next;
  pthread_mutex_unlock(&lock);
  return lib ? lib : make_library(d);
}

static void return_library(library *lib) {
  pthread_mutex_lock(&lock);
  lib->next = free_libraries;
  free_libraries = lib;
  pthread_mutex_unlock(&lock);
}

/* ---- loading */

typedef struct found {
  nxi_diag *diag;
  nx_status status;
  uintptr_t address;
  bool done;
  pthread_mutex_t lock;
  pthread_cond_t changed;
} found;

static void on_found(LLVMErrorRef error, LLVMOrcCSymbolMapPairs result, size_t n, void *user) {
  found *f = user;
  pthread_mutex_lock(&f->lock);
  f->status = take_error(error, f->diag);
  if (!error && n) f->address = (uintptr_t)result[0].Sym.Address;
  f->done = true;
  pthread_cond_signal(&f->changed);
  pthread_mutex_unlock(&f->lock);
}

/* Links what the library holds and finds its entry. */
static nx_status link_entry(library *lib, const char *name, uintptr_t *address, nxi_diag *d) {
  found f = {.diag = d, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
  LLVMOrcCJITDylibSearchOrderElement order = {lib->handle,
                                              LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  LLVMOrcCLookupSetElement symbol = {LLVMOrcLLJITMangleAndIntern(jit, name),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
  LLVMOrcExecutionSessionLookup(LLVMOrcLLJITGetExecutionSession(jit), LLVMOrcLookupKindStatic,
                                &order, 1, &symbol, 1, on_found, &f);
  pthread_mutex_lock(&f.lock);
  while (!f.done) pthread_cond_wait(&f.changed, &f.lock);
  pthread_mutex_unlock(&f.lock);
  *address = f.address;
  return f.status != NX_OK ? f.status
         : f.address       ? NX_OK
                           : nxi_fail(d, NX_COMPILE_FAILED, "", "an object has no entry %s", name);
}

static nx_status load_into(nxl_code *c, const void *object, size_t size, const char *entry,
                           nxi_diag *d) {
  c->tracker = LLVMOrcJITDylibCreateResourceTracker(c->lib->handle);
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size, entry);
  nx_status s = take_error(LLVMOrcLLJITAddObjectFileWithRT(jit, c->tracker, buffer), d);
  uintptr_t address = 0;
  if (s == NX_OK) s = link_entry(c->lib, entry, &address, d);
  c->entry = (nxi_kernel_fn)address;
  return s;
}

nx_status nxl_load(const void *object, size_t size, const char *entry, nxl_code **out,
                   nxi_diag *d) {
  size_t bytes;
  pthread_once(&once, start);
  if (jit_fault) return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", jit_fault);
  nx_status s = nxl_check_object(object, size, nxl_host_machine, &bytes, d);
  if (s != NX_OK) return s;
  nxl_code *c = nxi_calloc(1, sizeof *c);
  if (!c) return nxi_oom(d);
  c->bytes = bytes;
  c->lib = take_library(d);
  s = c->lib ? load_into(c, object, size, entry, d) : NX_OUT_OF_MEMORY;
  if (s == NX_OK) *out = c;
  else nxl_unload(c);
  return s;
}

nxi_kernel_fn nxl_entry(const nxl_code *c) { return c->entry; }

size_t nxl_code_bytes(const nxl_code *c) { return c->bytes; }

/* A library whose tracker could not be removed is not used again. */
void nxl_unload(nxl_code *c) {
  if (!c) return;
  bool clean = true;
  if (c->tracker) {
    LLVMErrorRef error = LLVMOrcResourceTrackerRemove(c->tracker);
    clean = !error;
    if (error) LLVMConsumeError(error);
    LLVMOrcReleaseResourceTracker(c->tracker);
  }
  if (c->lib && clean) return_library(c->lib);
  else nxi_free(c->lib);
  nxi_free(c);
}
