/* SPDX-License-Identifier: ISC */
/* The library's side of module.h: finds and opens the module when something is compiled first, and
 * calls it. A process that ends waits for whoever is inside; fork waits for whoever loads. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "code_id.h"
#include "config.h"
#include "ir/alloc.h"
#include "ir/op.h"
#include "ir/platform/exit.h"
#include "ir/platform/library.h"
#include "ir/platform/loading.h"
#include "ir/platform/pages.h"
#include "ir/platform/thread.h"
#include "jit.h"
#include "module.h"

/* Bytes that LLVM takes with all that it needs: of addresses (180 MB for LLVM 19), and of memory
 * that is its own. What its constructors allocate is among them: they would end the process. */
enum { ADDRESSES = 208 << 20, MEMORY = 32 << 20 };

static const nxl_host host = {nxi_malloc,           nxi_calloc, nxi_free,
                              nxi_alloc_refuse,     nxi_fail,   nxi_oom_record,
                              nxi_exit_watch_again, nxg_called};

static _Atomic(const nxl_module *) loaded;
static _Atomic(const char *) missing; /* why there is no module */
static _Atomic bool verify_modules;

static const nxl_module *module_of(void) {
  return atomic_load_explicit(&loaded, memory_order_acquire);
}

/* ---- loading. No lock is held meanwhile, because an initialiser of another library, which runs
 * under the loader's, may call us. Threads that come together all open the module, and get the
 * same. */

static const char module_name[] = NX_LLVM_MODULE;

/* The module in a library that was opened; NULL: it has none that fits. */
static const nxl_module *module_in(void *library, const char *path, char reason[512]) {
  nxl_opened *opened;
  void *symbol = nxi_library_symbol(library, NXL_OPENED);
  memcpy(&opened, &symbol, sizeof opened);
  const nxl_module *found = symbol ? opened() : NULL;
  if (found && strcmp(found->code_id, NX_CODE_ID) == 0) return found;
  snprintf(reason, 512, "LLVM cannot be used: %s is of another build of nx", path);
  return NULL;
}

/* The first reason that is not that the file is missing says most: the module is there, and is of
 * another build, or something that it needs is not. */
static const nxl_module *try_path(const char *path, char reason[512]) {
  void *library = nxi_library_open_lazily(path);
  if (library) return module_in(library, path, reason);
  const char *error = nxi_library_error();
  bool is_there = strstr(reason, "cannot be used") || !strstr(reason, module_name);
  if (!reason[0] || !is_there)
    snprintf(reason, 512, "LLVM cannot be loaded: %s", error ? error : path);
  return NULL;
}

/* Next to this library; where the program's run path says; where it was to be installed. */
static const nxl_module *find_module(char reason[512]) {
  char beside[4096];
  const char *own = nxi_library_path(module_name), *slash = own ? strrchr(own, '/') : NULL;
  const nxl_module *found = NULL;
  if (slash && snprintf(beside, sizeof beside, "%.*s/nx/%s", (int)(slash - own), own, module_name) <
                   (int)sizeof beside)
    found = try_path(beside, reason);
  if (!found) found = try_path(module_name, reason);
  return found ? found : try_path(NX_LLVM_MODULE_DIRECTORY "/" NX_LLVM_MODULE, reason);
}

/* An installation without its module is a fault that nobody would look for in slow kernels. */
static void give_up(const char *reason) {
  static nxi_mutex lock = NXI_MUTEX_INITIALIZER;
  static char kept[512];
  nxi_mutex_lock(&lock);
  if (!atomic_load(&missing)) {
    snprintf(kept, sizeof kept, "%s", reason);
    fprintf(stderr, "nx: kernels are interpreted, some hundred times as slow: %s\n", reason);
    atomic_store_explicit(&missing, kept, memory_order_release);
  }
  nxi_mutex_unlock(&lock);
}

static nx_status load_module(nxi_diag *d) {
  char reason[512] = "";
  if (!nxi_addresses_left(ADDRESSES) || !nxi_memory_left(MEMORY)) {
    nxi_alloc_refuse(ADDRESSES);
    return nxi_oom(d);
  }
  const nxl_module *found = find_module(reason);
  /* Handlers that libraries registered while they were loaded have to run after ours, which
   * waits. */
  nxi_exit_watch_again();
  if (found) atomic_store_explicit(&loaded, found, memory_order_release);
  else give_up(reason);
  return NX_OK;
}

static nx_status load(nxi_diag *d) {
  nx_status status = NX_OK;
  if (module_of()) return NX_OK;
  if (!atomic_load_explicit(&missing, memory_order_acquire)) {
    nxi_loading_enter();
    status = load_module(d);
    nxi_loading_leave();
  }
  const char *why = atomic_load_explicit(&missing, memory_order_acquire);
  return status == NX_OK && why ? nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", why) : status;
}

/* ---- calls */

/* Whether the calling thread is inside now: it must leave. */
static nx_status enter(nxi_diag *d) {
  if (nxi_exit_enter()) return NX_OK;
  return nxi_exit_begun() ? nxi_fail(d, NX_COMPILE_FAILED, "",
                                     "the process ends: no kernel is compiled any more")
                          : nxi_oom(d);
}

static nx_status start(const nxl_request *none, nxi_diag *d) {
  (void)none;
  return module_of()->start(&host, d);
}

static nx_status compile(const nxl_request *r, nxi_diag *d) {
  return module_of()->compile(&host, r, d);
}

/* Does it inside, when the module is loaded; NULL: nothing more. */
static nx_status call(nx_status (*what)(const nxl_request *, nxi_diag *), const nxl_request *r,
                      nxi_diag *d) {
  nx_status status = enter(d);
  if (status != NX_OK) return status;
  nxi_fp environment = nxi_fp_enter();
  status = load(d);
  if (status == NX_OK && what) status = what(r, d);
  nxi_fp_leave(environment);
  nxi_exit_leave();
  return status;
}

nx_status nxl_open(nxi_diag *d) { return call(NULL, NULL, d); }

bool nxl_is_open(void) { return module_of() != NULL; }

nx_status nxl_start(nxi_diag *d) { return call(start, NULL, d); }

void nxl_set_verify(bool on) { verify_modules = on; }

nx_status nxl_compile(const nxk_kernel *k, const nxl_target *t, nxl_form form, void **data,
                      size_t *size, nxi_diag *diag) {
  nxi_diag own, *d = diag ? diag : &own;
  if (!diag) nxi_diag_clear(&own);
  return call(compile, &(nxl_request){k, t, form, verify_modules, data, size}, d);
}

const char *nxl_environment(const char *isa) {
  return nxl_start(NULL) == NX_OK ? module_of()->environment(isa) : "";
}

/* ---- whether there is anything to call */

const char *nxl_lost(void) {
  const nxl_module *m = module_of();
  const char *why = m ? m->lost() : atomic_load_explicit(&missing, memory_order_acquire);
  return why ? why : nxl_execution_was_refused();
}

/* Why no code is generated for this processor, whatever LLVM there is. */
static const char *processor_lacks(void) {
#if defined(__x86_64__) && defined(__ELF__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.1") ? NULL : "the CPU lacks SSE4.1";
#elif defined(__aarch64__) && defined(__ELF__)
  return NULL;
#else
  return "code is generated for x86-64 and AArch64 with ELF objects alone";
#endif
}

const char *nxl_refused(void) {
  const char *why = nxl_lost();
  if (!why) why = processor_lacks();
  return why ? why : nxl_execution_refused();
}

const char *nxl_unavailable(void) {
  nx_status status = nxl_start(NULL);
  const char *why = nxl_refused();
  if (why || status == NX_OK) return why;
  return status == NX_OUT_OF_MEMORY ? "there was no memory to start LLVM" : "the process ends";
}
