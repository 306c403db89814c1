/* SPDX-License-Identifier: ISC */
/* Replaces functions that LLVM imports, for LLVM alone (ir/platform/imports.h). Allocations that
 * find no memory take it from a reserve of their thread, and destructors of LLVM's global objects
 * are not registered, so that exit() destroys nothing that a thread may be using. That holds from
 * the first constructor of LLVM on: the module is linked with -z initfirst, so that its own
 * constructor runs before those of all libraries that are loaded with it. operator new is in the
 * C++ library and calls the process's new-handler, which is replaced too. If memory is exhausted
 * even after the reserve is used up, LLVM is left by longjmp; its locks and unfinished global
 * objects stay as they are, so LLVM is never entered again. On threads that are not inside the
 * guard the replaced functions behave as the originals.
 *
 * The first call that generates code creates LLVM's global objects. Other threads wait for it, so
 * that no thread is inside LLVM and waits for a lock that the first one might leave held. */
#include "guard.h"

#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/exit.h"
#include "ir/platform/imports.h"
#include "ir/platform/library.h"
#include "ir/platform/pages.h"
#include "ir/platform/stack.h"
#include "ir/platform/thread.h"
#include "ir/platform/thread_data.h"

enum { MAIN_STACK = 1 << 20 }; /* bytes by which the first thread's stack may grow inside LLVM */

typedef struct stay {
  jmp_buf escape;
  void *reserve; /* NULL once it has been given to LLVM */
  size_t reserve_bytes;
  bool starved;
  char message[256];
} stay;

/* initial-exec: accessing it must not allocate, as there may be no memory. */
static _Thread_local stay *current __attribute__((tls_model("initial-exec")));

static _Atomic(const char *) abandoned;
static _Atomic bool warm;
static bool imports_replaced;
static nxi_mutex warming = NXI_MUTEX_INITIALIZER;

const char *nxl_abandoned(void) { return atomic_load_explicit(&abandoned, memory_order_relaxed); }

/* ---- lack of memory */

/* Gives the reserve to LLVM. False: that has been done before. */
static bool give_reserve(stay *s) {
  if (!s || !s->reserve) return false;
  nxi_pages_unmap(s->reserve, s->reserve_bytes);
  s->reserve = NULL;
  return true;
}

_Noreturn static void starve(stay *s) {
  s->starved = true;
  longjmp(s->escape, 1);
}

static void *malloc_again(size_t bytes) {
  void *p = malloc(bytes);
  return p || !give_reserve(current) ? p : malloc(bytes);
}

static void *calloc_again(size_t count, size_t bytes) {
  void *p = calloc(count, bytes);
  return p || !give_reserve(current) ? p : calloc(count, bytes);
}

static void *realloc_again(void *old, size_t bytes) {
  void *p = realloc(old, bytes);
  return p || !give_reserve(current) ? p : realloc(old, bytes);
}

/* The malloc that operator new of the C++ library calls. A new-handler that the host installed
 * after ours would throw out of LLVM and through C, with LLVM's locks held. So on threads inside
 * LLVM this never returns NULL, and no handler is called. */
static void *malloc_or_starve(size_t bytes) {
  void *p = malloc_again(bytes);
  if (!p && current) starve(current);
  return p;
}

static void *aligned_or_starve(size_t alignment, size_t bytes) {
  void *p = aligned_alloc(alignment, bytes);
  if (p || !current) return p;
  if (!give_reserve(current) || !(p = aligned_alloc(alignment, bytes))) starve(current);
  return p;
}

/* This thread loads the module, and LLVM with it. */
static _Thread_local bool opening __attribute__((tls_model("initial-exec")));

/* Reports success without registering the destructor. The memory of LLVM's global objects is freed
 * when the process ends. */
static int register_nothing(void (*destroy)(void *), void *object, void *library) {
  extern int __cxa_atexit(void (*f)(void *), void *o, void *dso); /* NOLINT */
  return current || opening ? 0 : __cxa_atexit(destroy, object, library);
}

/* The new-handler before ours, and what operator new does without one. */
static void (*previous_handler)(void);
static void (*throw_bad_alloc)(void);

static void on_no_memory(void) {
  if (give_reserve(current)) return;
  if (current) starve(current);
  if (previous_handler) previous_handler();
  else if (throw_bad_alloc) throw_bad_alloc();
  else abort(); /* not inside LLVM: what the C++ library would do */
}

static void on_bad_alloc(void *user, const char *reason, bool dump) {
  (void)user, (void)dump;
  if (current) starve(current);
  fprintf(stderr, "LLVM ERROR: out of memory\n%s\n", reason); /* what LLVM does without a handler */
  abort();
}

/* ---- LLVM's other failures. Its fatal errors would end the process. Here they leave LLVM, and
 * leak what it had allocated. */

static void on_fatal_error(const char *reason) {
  stay *s = current;
  if (!s) return;
  snprintf(s->message, sizeof s->message, "%s", reason);
  longjmp(s->escape, 1);
}

/* ---- installation */

static void *address(void *library, const char *symbol) {
  return library ? nxi_library_symbol(library, symbol) : NULL;
}

static void install_handlers(void *llvm) {
  typedef void handler(void);
  handler *(*set_new_handler)(handler *);
  void (*set_bad_alloc)(void (*)(void *, const char *, bool), void *);
  void *set_new = address(llvm, "_ZSt15set_new_handlerPFvvE"),
       *throw_it = address(llvm, "_ZSt17__throw_bad_allocv"),
       *set_bad = address(llvm, "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");
  memcpy(&throw_bad_alloc, &throw_it, sizeof throw_it);
  memcpy(&set_new_handler, &set_new, sizeof set_new);
  memcpy(&set_bad_alloc, &set_bad, sizeof set_bad);
  if (set_new) previous_handler = set_new_handler(on_no_memory);
  const nxi_replaced imports[] = {
      {"malloc", (void *)(uintptr_t)malloc_or_starve},
      {"aligned_alloc", (void *)(uintptr_t)aligned_or_starve},
  };
  if (set_new) nxi_replace_imports(set_new, imports, sizeof imports / sizeof *imports);
  if (set_bad) set_bad_alloc(on_bad_alloc, NULL);
  LLVMInstallFatalErrorHandler(on_fatal_error);
}

/* Of LLVM and of the C++ library. */
static nxi_thread_data thread_data[2];

static const void *inside_llvm(void) { return (const void *)(uintptr_t)LLVMContextCreate; }

/* Constructors of LLVM register destructors of more than 3,000 objects, which a thread that ends
 * the process meanwhile would run. Without -z initfirst, which not every loader heeds, this comes
 * after them. */
static void replace_imports(void) {
  const nxi_replaced imports[] = {
      {"malloc", (void *)(uintptr_t)malloc_again},
      {"calloc", (void *)(uintptr_t)calloc_again},
      {"realloc", (void *)(uintptr_t)realloc_again},
      {"__cxa_atexit", (void *)(uintptr_t)register_nothing},
  };
  /* what LLVM brings with it registers destructors, too: those of libz3 are of 770 objects */
  nxi_replace_imports_after((const void *)(uintptr_t)replace_imports, &imports[3], 1);
  imports_replaced = nxi_replace_imports(inside_llvm(), imports, sizeof imports / sizeof *imports);
}

/* Under the lock of the loader, which this thread has: another one would make a deadlock possible
 * (ir/platform/loading.h). */
__attribute__((constructor)) static void install(void) {
  opening = true;
  replace_imports();
  /* NULL: LLVM is part of the program, whose symbols are found as well */
  void *llvm = nxi_library_loaded(nxi_library_name(inside_llvm()));
  install_handlers(llvm);
  thread_data[0] = nxi_thread_data_of(inside_llvm());
  thread_data[1] = nxi_thread_data_of(address(llvm, "_ZSt15set_new_handlerPFvvE"));
  if (llvm) nxi_library_close(llvm);
}

void nxl_guard_opened(void) { opening = false; }

/* ---- entering and leaving LLVM */

static bool grow_stack(void) {
  return nxi_stack_grow(MAIN_STACK) || nxi_alloc_refuse(MAIN_STACK) != NULL;
}

/* Once for each thread. */
static bool have_thread_data(void) {
  static _Thread_local bool made __attribute__((tls_model("initial-exec")));
  const size_t n = sizeof thread_data / sizeof *thread_data;
  if (!made) made = nxi_thread_data_make(thread_data, n);
  return made || nxi_alloc_refuse(thread_data[0].bytes) != NULL;
}

static bool set_reserve(stay *s, size_t bytes) {
  s->reserve_bytes = bytes;
  s->reserve = nxi_pages_map(bytes);
  return s->reserve != NULL || nxi_alloc_refuse(bytes) != NULL;
}

static nx_status escaped(const stay *s, nxi_diag *d) {
  if (!s->starved) return nxi_fail(d, NX_COMPILE_FAILED, "", "LLVM: %s", s->message);
  atomic_store(&abandoned, "LLVM found no memory in the middle of a kernel and is not used again");
  return nxi_oom(d);
}

static nx_status run_work(nxl_work *work, void *arg, stay *s, nxi_diag *d) {
  if (setjmp(s->escape)) {
    current = NULL;
    return escaped(s, d);
  }
  current = s;
  nx_status status = work(arg, d);
  current = NULL;
  return status;
}

static nx_status run_warm(nxl_work *work, void *arg, stay *s, nxi_diag *d) {
  if (atomic_load(&warm)) return run_work(work, arg, s, d);
  nxi_mutex_lock(&warming);
  const char *why = nxl_abandoned();
  nx_status status =
      why ? nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", why) : run_work(work, arg, s, d);
  nxi_mutex_unlock(&warming);
  return status;
}

void nxl_guard_warm(void) {
  if (!atomic_exchange(&warm, true) && !imports_replaced) nxi_exit_watch_again();
}

nx_status nxl_guarded(nxl_work *work, void *arg, size_t reserve, nxi_diag *d) {
  stay s = {.starved = false};
  const char *why = nxl_abandoned();
  nx_status status = NX_OK;
  if (why) return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", why);
  if (!have_thread_data() || !set_reserve(&s, reserve) || !grow_stack()) status = nxi_oom(d);
  else status = run_warm(work, arg, &s, d);
  give_reserve(&s);
  return status;
}
