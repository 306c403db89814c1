/* SPDX-License-Identifier: ISC */
/* Finding and loading OpenBLAS, and the one place that calls its gemm. Loading happens once in a
 * process; the library stays loaded until the process ends. */
#include "blas.h"

#include <ctype.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "config.h"
#include "ir/alloc.h"
#include "ir/op.h"
#include "ir/platform/file.h"
#include "ir/platform/fork.h"
#include "ir/platform/library.h"
#include "ir/platform/loading.h"
#include "ir/platform/process.h"
#include "ir/platform/thread.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* constants of CBLAS */

#if defined(__x86_64__)
#define SYSTEM_DIRECTORY "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define SYSTEM_DIRECTORY "/usr/lib/aarch64-linux-gnu/"
#else
#define SYSTEM_DIRECTORY "/usr/lib/"
#endif

/* Builds with POSIX threads come first: only they may be called from several threads at the same
 * time. */
static const char *const library_names[] = {
    SYSTEM_DIRECTORY "openblas-pthread/libopenblas.so.0",
    "libopenblasp.so.0",
    "libopenblas.so.0",
    "libopenblas.so",
    SYSTEM_DIRECTORY "openblas-serial/libopenblas.so.0",
};

/* Memory for loading the file, and for one work buffer. */
static const size_t load_bytes = (size_t)224 << 20;

/* Written under load_lock until `tried`; read only afterwards. */
static nxi_mutex load_lock = NXI_MUTEX_INITIALIZER;
static struct {
  nxi_blas table;
  void *handle;
  bool usable;
  bool starved; /* the library exists, but there was no memory for it */
  _Atomic bool tried;
  char file[512], corename[64], config[256], reason[256], sentence[300];
} library;

/* A build without threads gives out its work buffers without a lock. Two calls at the same time can
 * get the same buffer and compute wrong numbers (OpenBLAS 0.3.21: 1 in 250 products of 40 x 40 on
 * three threads). */
static nxi_mutex one_call = NXI_MUTEX_INITIALIZER;

/* ---- fork: a child that is made while a thread loads or calls the library must not wait for that
 * thread. The handlers are registered before the library is loaded, because a handler that is added
 * while a fork has begun does not run in its child. */

static void fork_child(void *object) {
  (void)object;
  nxi_mutex_init(&one_call);
  nxi_blas_buffers_in_child();
}

nx_status nxi_blas_prepare(void) {
  static nxi_fork_entry entry;
  return nxi_fork_register_mutex(&entry, &load_lock, fork_child, NULL);
}

/* ---- what the processor can do, and which core type the library has chosen */

/* The core type whose kernels the processor can run at least; NULL if the library's choice need not
 * be checked. */
static const char *deserved_core(bool *avx512) {
  *avx512 = false;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    *avx512 = true;
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return NULL;
}

/* Ignores case. */
static bool same_name(const char *a, const char *b) {
  while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
  return tolower((unsigned char)*a) == tolower((unsigned char)*b);
}

/* True if the library's kernels for `core` do not use all that the processor has. A name that is
 * not listed here is newer than this file, and the library's choice is trusted. */
static bool is_weaker(const char *core, bool avx512) {
  static const char *const with_avx2[] = {"Haswell", "Zen", "Excavator"};
  static const char *const older[] = {
      "Katmai",      "Coppermine",   "Northwood", "Prescott",    "Banias",    "Core2",
      "Penryn",      "Dunnington",   "Nehalem",   "Sandybridge", "Atom",      "Athlon",
      "Opteron",     "Opteron_SSE3", "Barcelona", "Bobcat",      "Bulldozer", "Piledriver",
      "Steamroller", "Nano",         "Generic",
  };
  for (size_t i = 0; avx512 && i < sizeof with_avx2 / sizeof *with_avx2; i++)
    if (same_name(core, with_avx2[i])) return true;
  for (size_t i = 0; i < sizeof older / sizeof *older; i++)
    if (same_name(core, older[i])) return true;
  return false;
}

/* ---- loading */

static void say_text(char *out, size_t capacity, void *handle, const char *function,
                     const char *otherwise) {
  void *symbol = nxi_library_symbol(handle, function);
  char *(*say)(void);
  memcpy(&say, &symbol, sizeof say);
  const char *text = say ? say() : NULL;
  snprintf(out, capacity, "%s", text ? text : otherwise);
}

/* Loads one candidate. It is told that there is one processor, because its own threads would only
 * be idle. */
static void *open_library(const char *name, const char *core) {
  static const char threads_name[] = "OPENBLAS_NUM_THREADS", core_name[] = "OPENBLAS_CORETYPE";
  const char *threads = getenv(threads_name);
  char *saved = threads ? nxi_strdup(threads) : NULL;
  bool changed = (!threads || saved) && nxi_variable_set(threads_name, "1");
  if (core && !nxi_variable_set(core_name, core)) core = NULL;
  nxi_fp environment = nxi_fp_enter();         /* some libraries' initialisers change it */
  void *handle = nxi_library_open_apart(name); /* the program may use another BLAS */
  nxi_fp_leave(environment);
  if (core) nxi_variable_set(core_name, NULL);
  if (changed) nxi_variable_set(threads_name, saved);
  nxi_free(saved);
  return handle;
}

static bool read_table(void *handle) {
  void *sgemm = nxi_library_symbol(handle, "cblas_sgemm"),
       *dgemm = nxi_library_symbol(handle, "cblas_dgemm");
  say_text(library.corename, sizeof library.corename, handle, "openblas_get_corename", "unknown");
  say_text(library.config, sizeof library.config, handle, "openblas_get_config", "");
  if (!sgemm || !dgemm || strstr(library.config, "USE64BITINT")) {
    snprintf(library.reason, sizeof library.reason,
             "it has no cblas_sgemm and cblas_dgemm with 32-bit sizes");
    return false;
  }
  memcpy(&library.table.sgemm, &sgemm, sizeof sgemm);
  memcpy(&library.table.dgemm, &dgemm, sizeof dgemm);
  library.table.one_at_a_time = strstr(library.config, "SINGLE_THREADED") != NULL;
  return true;
}

static void one_thread(void *handle) {
  void *symbol = nxi_library_symbol(handle, "openblas_set_num_threads");
  void (*set)(int);
  memcpy(&set, &symbol, sizeof set);
  if (set) set(1);
}

/* If the library has chosen too weak a core type, loads it again with the right one. */
static void *mend_core(void *handle, const char *name) {
  bool avx512;
  const char *deserved = deserved_core(&avx512);
  if (!deserved || getenv("OPENBLAS_CORETYPE") || !is_weaker(library.corename, avx512))
    return handle;
  nxi_library_close(handle);
  char mistaken[sizeof library.corename];
  memcpy(mistaken, library.corename, sizeof mistaken);
  handle = open_library(name, deserved);
  if (!handle || !read_table(handle)) return handle;
  library.table.mended = !same_name(mistaken, library.corename);
  return handle;
}

static bool try_library(const char *name) {
  void *handle = open_library(name, NULL);
  if (!handle) {
    const char *reason = nxi_library_error();
    if (!library.reason[0])
      snprintf(library.reason, sizeof library.reason, "%s", reason ? reason : "not found");
    return false;
  }
  if (read_table(handle)) handle = mend_core(handle, name);
  else {
    nxi_library_close(handle);
    return false;
  }
  if (!handle) return false;
  one_thread(handle);
  if (!nxi_blas_buffers_init(nxi_library_symbol(handle, "blas_memory_alloc"),
                             nxi_library_symbol(handle, "blas_memory_free"))) {
    library.starved = true;
    return false;
  }
  if (name != library.file) snprintf(library.file, sizeof library.file, "%s", name);
  library.handle = handle;
  library.table.file = library.file;
  library.table.corename = library.corename;
  library.table.config = library.config;
  return true;
}

/* One that was shipped with this library, in nx/ beside it, comes before the system's. */
static bool try_beside(void) {
  const char *own = nxi_library_path(library_names), *slash = own ? strrchr(own, '/') : NULL;
  int n = slash ? snprintf(library.file, sizeof library.file, "%.*s/nx/libopenblas.so.0",
                           (int)(slash - own), own)
                : -1;
  return n > 0 && n < (int)sizeof library.file && nxi_path_readable(library.file) &&
         try_library(library.file);
}

/* Tests first whether there is enough address space. If there is not, the loader fails with the
 * same message as for a missing library. */
static void look_for_it(void) {
  library.reason[0] = '\0';
  library.starved = NX_HAVE_BLAS && !nxi_blas_addresses_left(load_bytes);
  if (library.starved) {
    snprintf(library.reason, sizeof library.reason, "there is too little memory to load it");
    return;
  }
  if (!NX_HAVE_BLAS) {
    snprintf(library.reason, sizeof library.reason, "the library was built without it");
    return;
  }
  const char *wanted = getenv("NX_BLAS");
  if (wanted && *wanted) {
    /* A copy is made, because loading changes the environment, to which `wanted` points. */
    snprintf(library.file, sizeof library.file, "%s", wanted);
    library.usable = try_library(library.file);
    return;
  }
  library.usable = try_beside();
  for (size_t i = 0; i < sizeof library_names / sizeof *library_names && !library.usable; i++)
    library.usable = try_library(library_names[i]);
}

/* Looks for the library once. If that failed for lack of memory, the next call tries again. */
static bool find_library(nxi_diag *d) {
  if (atomic_load_explicit(&library.tried, memory_order_acquire)) return true;
  nxi_mutex_lock(&load_lock);
  if (!library.tried) {
    nxi_loading_enter();
    look_for_it();
    nxi_loading_leave();
    snprintf(library.sentence, sizeof library.sentence, "OpenBLAS cannot be used: %s",
             library.reason);
  }
  bool tried = library.usable || !library.starved;
  if (tried) atomic_store_explicit(&library.tried, true, memory_order_release);
  nxi_mutex_unlock(&load_lock);
  if (!tried) nxi_oom_during(d, nxi_oom(d), "loading OpenBLAS");
  return tried;
}

const nxi_blas *nxi_blas_get(nxi_diag *d) {
  if (!find_library(d)) return NULL;
  if (library.usable) return &library.table;
  nxi_fail(d, NX_DEVICE_UNAVAILABLE, "matmul", "%s", library.sentence);
  return NULL;
}

const char *nxi_blas_missing(void) { return nxi_blas_get(NULL) ? NULL : library.sentence; }

void *nxi_blas_symbol(const char *name) {
  if (!nxi_blas_get(NULL)) return NULL;
  nxi_loading_enter();
  void *symbol = nxi_library_symbol(library.handle, name);
  nxi_loading_leave();
  return symbol;
}

void nxi_blas_enter(const nxi_blas *blas) {
  nxi_blas_buffers_enter();
  if (blas->one_at_a_time) nxi_mutex_lock(&one_call);
}

void nxi_blas_leave(const nxi_blas *blas) {
  if (blas->one_at_a_time) nxi_mutex_unlock(&one_call);
  nxi_blas_buffers_leave();
}

void nxi_blas_calls_last(void) { nxi_blas_buffers_last(); }

void nxi_blas_try(void) {
  nxi_blas_buffers_enter();
  nxi_blas_buffer_give(nxi_blas_buffer_take());
  nxi_blas_buffers_leave();
}

/* ---- one product */

/* Converts a leading dimension to the library's type; false if it does not fit. */
static bool leading(int64_t rows, int64_t columns, int64_t *ld) {
  if (rows <= 1 || columns == 0) *ld = columns > 1 ? columns : 1; /* not used, so any legal value */
  return *ld >= columns && *ld >= 1 && *ld <= INT_MAX;
}

/* beta 0: C is written; 1: added to. */
static nx_status call_gemm(const nxi_blas *blas, nx_dtype type, bool trans_a, bool trans_b,
                           int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                           const void *b, int64_t ldb, int beta, void *c, int64_t ldc) {
  if (type != NX_F32 && type != NX_F64) return NX_UNSUPPORTED_DTYPE;
  if (m < 0 || n < 0 || k < 0 || m > INT_MAX || n > INT_MAX || k > INT_MAX)
    return NX_INVALID_ARGUMENT;
  if (!leading(trans_a ? k : m, trans_a ? m : k, &lda) ||
      !leading(trans_b ? n : k, trans_b ? k : n, &ldb) || !leading(m, n, &ldc))
    return NX_INVALID_ARGUMENT;
  if (m == 0 || n == 0) return NX_OK;
  size_t size = type == NX_F32 ? sizeof(float) : sizeof(double);
  if (k == 0) {
    for (int64_t i = 0; beta == 0 && i < m; i++)
      memset((char *)c + (size_t)(i * ldc) * size, 0, (size_t)n * size);
    return NX_OK;
  }
  int ta = trans_a ? TRANS : NO_TRANS, tb = trans_b ? TRANS : NO_TRANS;
  nxi_blas_enter(blas);
  if (type == NX_F32)
    blas->sgemm(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, (float)beta,
                c, (int)ldc);
  else
    blas->dgemm(ROW_MAJOR, ta, tb, (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c,
                (int)ldc);
  nxi_blas_leave(blas);
  return NX_OK;
}

nx_status nxi_gemm(const nxi_blas *blas, nx_dtype type, bool trans_a, bool trans_b, int64_t m,
                   int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                   void *c, int64_t ldc) {
  return call_gemm(blas, type, trans_a, trans_b, m, n, k, a, lda, b, ldb, 0, c, ldc);
}

nx_status nxi_gemm_add(const nxi_blas *blas, nx_dtype type, bool trans_a, bool trans_b, int64_t m,
                       int64_t n, int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                       void *c, int64_t ldc) {
  return call_gemm(blas, type, trans_a, trans_b, m, n, k, a, lda, b, ldb, 1, c, ldc);
}
