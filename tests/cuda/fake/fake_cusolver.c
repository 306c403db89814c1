/* SPDX-License-Identifier: ISC */
/* A fake cuSOLVER: LAPACK, a matrix after the other. Strict: the stream is set, leading dimensions
 * are long enough, memory to work in is of the size that was said; and what the library promises
 * nothing of becomes NaN. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_internal.h"

enum { INVALID = 3, HANDLE = 0x5a5a, NEEDS = 7 };
typedef struct handle {
  int mark;
  void *stream;
} handle;

/* ---- LAPACK: a routine by its name without the letter of the type */

typedef void (*routine)(const void *, ...);

static routine find(const char *name) {
  static const char *const files[] = {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
                                      "libopenblas.so.0", "liblapack.so.3"};
  static void *library;
  routine found = NULL;
  for (int i = 0; i < 3 && library == NULL; i++) library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
  if (library != NULL) *(void **)&found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "the fake cuSOLVER has no %s\n", name);
    abort();
  }
  return found;
}

/* Types as indices: f32, f64, c64, c128. */
static int index_of(int type) { return type == 0 ? 0 : type == 1 ? 1 : type == 4 ? 2 : 3; }
static int64_t size_of(int t) { return t == 0 ? 4 : t == 3 ? 16 : 8; }
static routine lapack(int t, const char *real, const char *pairs) {
  char name[20];
  snprintf(name, sizeof name, "%c%s_", "sdcz"[t], t < 2 ? real : pairs);
  return find(name);
}
static int good_type(int type) { return type == 0 || type == 1 || type == 4 || type == 5; }

static void set_nan(int t, char *at, int64_t elements) {
  for (int64_t i = 0; i < elements * (t < 2 ? 1 : 2); i++)
    if (t % 2) ((double *)at)[i] = NAN;
    else ((float *)at)[i] = NAN;
}

static void put_info(uint64_t info, int value) {
  memcpy(nxt_fake_host(info), &value, sizeof value);
}

/* ---- handles */

EXPORT int cusolverDnCreate(void **out) {
  INSIDE;
  handle *h = calloc(1, sizeof *h);
  if (h == NULL) return 2;
  h->mark = HANDLE;
  *out = h;
  nxt_fake_cuda()->handles++;
  return 0;
}
EXPORT int cusolverDnDestroy(void *h) {
  nxt_fake_cuda()->handles--;
  free(h);
  return 0;
}
EXPORT int cusolverDnSetStream(void *h, void *stream) {
  CALL;
  ((handle *)h)->stream = stream;
  return 0;
}
EXPORT int cusolverDnCreateParams(void **params) {
  CALL;
  nxt_fake_cuda()->handles++;
  return (*params = malloc(1)) == NULL;
}
EXPORT int cusolverDnDestroyParams(void *params) {
  nxt_fake_cuda()->handles--;
  free(params);
  return 0;
}
EXPORT int cusolverDnCreateGesvdjInfo(void **info) {
  CALL;
  nxt_fake_cuda()->handles++;
  return (*info = malloc(1)) == NULL;
}
EXPORT int cusolverDnDestroyGesvdjInfo(void *info) {
  nxt_fake_cuda()->handles--;
  free(info);
  return 0;
}

static int good(const handle *h, const void *params, int64_t m, int64_t n, int64_t lda, int type) {
  return h != NULL && h->mark == HANDLE && h->stream != NULL && params != NULL && m >= 1 &&
         n >= 1 && lda >= m && good_type(type);
}

/* Memory to work in: odd sizes, of which the host's may be none. */
static size_t device_bytes(int64_t m, int64_t n) { return (size_t)(m * n * 8 + 100); }
static size_t host_bytes(int64_t n) { return n % 2 ? 0 : 333; }

/* The host's memory is in use until the GPU has come to the work. */
typedef struct use {
  const char *at;
  size_t bytes;
} use;
static void is_still_there(void *what) {
  const use *u = what;
  for (size_t i = 0; i < u->bytes; i++)
    if (u->at[i] != 0x5a) {
      fprintf(stderr, "memory of the host was given back while cuSOLVER worked in it\n");
      abort();
    }
}
static int good_work(const void *h, int64_t m, int64_t n, uint64_t work, size_t device,
                     void *host_work, size_t host) {
  if (device != device_bytes(m, n) || host != host_bytes(n) || work == 0) return 0;
  memset(nxt_fake_host(work), 0x5a, device);
  if (host == 0) return 1;
  memset(host_work, 0x5a, host);
  const use u = {host_work, host};
  return nxt_fake_start(((const handle *)h)->stream, is_still_there, &u, sizeof u) == 0;
}

/* Bodies of routines, but for what they say themselves. */
#define SIZES(m, n, params, type, lda)                   \
  INSIDE;                                                \
  if (!good(h, params, m, n, lda, type)) return INVALID; \
  *device = device_bytes(m, n), *host = host_bytes(n);   \
  return 0
#define WORKS(m, n, params, type, lda)                    \
  SETTLED;                                                \
  if (!good(h, params, m, n, lda, type) || info == 0 ||   \
      !good_work(h, m, n, work, device, host_work, host)) \
    return INVALID;                                       \
  nxt_fake_cuda()->products++

/* ---- factors */

EXPORT int cusolverDnXpotrf_bufferSize(void *h, void *params, int triangle, int64_t n, int type,
                                       uint64_t a, int64_t lda, int compute, size_t *device,
                                       size_t *host) {
  if (triangle != 0 || a == 0 || compute != type) return INVALID;
  SIZES(n, n, params, type, lda);
}
EXPORT int cusolverDnXpotrf(void *h, void *params, int triangle, int64_t n, int type, uint64_t a,
                            int64_t lda, int compute, uint64_t work, size_t device, void *host_work,
                            size_t host, uint64_t info) {
  int own_n = (int)n, ld = (int)lda, result = 0, t = index_of(type);
  if (triangle != 0 || compute != type) return INVALID;
  WORKS(n, n, params, type, lda);
  char *at = nxt_fake_host(a);
  lapack(t, "potrf", "potrf")("L", &own_n, at, &ld, &result, (size_t)1);
  for (int64_t j = 1; j < n; j++) set_nan(t, at + j * lda * size_of(t), j);
  put_info(info, result);
  return 0;
}

/* The addresses are what a kernel has written, so they are those of the host. */
static int factor_batch(void *h, int t, int triangle, int n, uint64_t addresses, int lda,
                        uint64_t info, int batches) {
  const handle *own = h;
  if (own == NULL || own->mark != HANDLE || own->stream == NULL || triangle != 1 || n < 1 ||
      lda < n || batches < 1 || batches > 16384 || addresses == 0 || info == 0)
    return INVALID;
  char **at = (char **)nxt_fake_host(addresses);
  for (int i = 0; i < batches; i++) {
    int result = 0;
    lapack(t, "potrf", "potrf")("U", &n, at[i], &lda, &result, (size_t)1);
    for (int64_t j = 0; j < n - 1; j++)
      set_nan(t, at[i] + (j * lda + j + 1) * size_of(t), n - 1 - j);
    put_info(info + (uint64_t)i * 4, result);
  }
  nxt_fake_cuda()->products++;
  return 0;
}
#define BATCHES(letter, t)                                                                      \
  EXPORT int cusolverDn##letter##potrfBatched(void *h, int triangle, int n, uint64_t addresses, \
                                              int lda, uint64_t info, int batches) {            \
    SETTLED;                                                                                    \
    return factor_batch(h, t, triangle, n, addresses, lda, info, batches);                      \
  }
BATCHES(S, 0)
BATCHES(D, 1)
BATCHES(C, 2)
BATCHES(Z, 3)

EXPORT int cusolverDnXgetrf_bufferSize(void *h, void *params, int64_t m, int64_t n, int type,
                                       uint64_t a, int64_t lda, int compute, size_t *device,
                                       size_t *host) {
  if (a == 0 || compute != type) return INVALID;
  SIZES(m, n, params, type, lda);
}
EXPORT int cusolverDnXgetrf(void *h, void *params, int64_t m, int64_t n, int type, uint64_t a,
                            int64_t lda, uint64_t pivots, int compute, uint64_t work, size_t device,
                            void *host_work, size_t host, uint64_t info) {
  int rows = (int)m, own_n = (int)n, ld = (int)lda, result = 0;
  if (pivots == 0 || compute != type) return INVALID;
  WORKS(m, n, params, type, lda);
  int *own = malloc((size_t)n * sizeof *own);
  if (own == NULL) return 2;
  lapack(index_of(type), "getrf", "getrf")(&rows, &own_n, nxt_fake_host(a), &ld, own, &result);
  for (int64_t i = 0; i < n; i++) {
    int64_t wide = own[i];
    memcpy(nxt_fake_host(pivots) + 8 * i, &wide, 8);
  }
  free(own);
  put_info(info, result);
  return 0;
}
EXPORT int cusolverDnXgetrs(void *h, void *params, int operation, int64_t n, int64_t k, int type,
                            uint64_t a, int64_t lda, uint64_t pivots, int b_type, uint64_t b,
                            int64_t ldb, uint64_t info) {
  int own_n = (int)n, columns = (int)k, ld = (int)lda, b_ld = (int)ldb, result = 0;
  SETTLED;
  if (!good(h, params, n, n, lda, type) || operation < 0 || operation > 2 || k < 1 ||
      b_type != type || ldb < n || info == 0)
    return INVALID;
  int *own = malloc((size_t)n * sizeof *own);
  if (own == NULL) return 2;
  for (int64_t i = 0; i < n; i++) {
    int64_t wide;
    memcpy(&wide, nxt_fake_host(pivots) + 8 * i, 8);
    own[i] = (int)wide;
  }
  const char *const operations[] = {"N", "T", "C"};
  lapack(index_of(type), "getrs", "getrs")(operations[operation], &own_n, &columns,
                                           nxt_fake_host(a), &ld, own, nxt_fake_host(b), &b_ld,
                                           &result, (size_t)1);
  free(own);
  put_info(info, result);
  nxt_fake_cuda()->products++;
  return 0;
}

EXPORT int cusolverDnXgeqrf_bufferSize(void *h, void *params, int64_t m, int64_t n, int type,
                                       uint64_t a, int64_t lda, int tau_type, uint64_t tau,
                                       int compute, size_t *device, size_t *host) {
  if (a == 0 || tau == 0 || tau_type != type || compute != type) return INVALID;
  SIZES(m, n, params, type, lda);
}
EXPORT int cusolverDnXgeqrf(void *h, void *params, int64_t m, int64_t n, int type, uint64_t a,
                            int64_t lda, int tau_type, uint64_t tau, int compute, uint64_t work,
                            size_t device, void *host_work, size_t host, uint64_t info) {
  int rows = (int)m, columns = (int)n, ld = (int)lda, length = 64 * columns, result = 0,
      t = index_of(type);
  if (tau_type != type || compute != type || tau == 0) return INVALID;
  WORKS(m, n, params, type, lda);
  void *own = malloc((size_t)length * 16);
  if (own == NULL) return 2;
  lapack(t, "geqrf", "geqrf")(&rows, &columns, nxt_fake_host(a), &ld, nxt_fake_host(tau), own,
                              &length, &result);
  free(own);
  put_info(info, result);
  return 0;
}

static int orgqr_size(const handle *h, int m, int n, int k, int lda, int *elements) {
  INSIDE;
  if (!good(h, h, m, n, lda, 0) || n > m || k > n || k < 1) return INVALID;
  *elements = n + NEEDS;
  return 0;
}
static int orgqr(const handle *h, int t, int m, int n, int k, uint64_t a, int lda, uint64_t tau,
                 uint64_t work, int elements, uint64_t info) {
  int length = 64 * n, result = 0;
  SETTLED;
  if (!good(h, h, m, n, lda, 0) || n > m || k > n || elements != n + NEEDS || info == 0)
    return INVALID;
  memset(nxt_fake_host(work), 0x5a, (size_t)(elements * size_of(t)));
  void *own = malloc((size_t)length * 16);
  if (own == NULL) return 2;
  lapack(t, "orgqr", "ungqr")(&m, &n, &k, nxt_fake_host(a), &lda, nxt_fake_host(tau), own, &length,
                              &result);
  free(own);
  put_info(info, result);
  return 0;
}
#define ORGQR(name, t)                                                                         \
  EXPORT int cusolverDn##name##_bufferSize(void *h, int m, int n, int k, uint64_t a, int lda,  \
                                           uint64_t tau, int *elements) {                      \
    return a == 0 || tau == 0 ? INVALID : orgqr_size(h, m, n, k, lda, elements);               \
  }                                                                                            \
  EXPORT int cusolverDn##name(void *h, int m, int n, int k, uint64_t a, int lda, uint64_t tau, \
                              uint64_t work, int elements, uint64_t info) {                    \
    return orgqr(h, t, m, n, k, a, lda, tau, work, elements, info);                            \
  }
ORGQR(Sorgqr, 0)
ORGQR(Dorgqr, 1)
ORGQR(Cungqr, 2)
ORGQR(Zungqr, 3)

/* ---- values and vectors */

static int eigh(int t, int vectors, int64_t n, char *a, int64_t lda, char *values) {
  int own_n = (int)n, ld = (int)lda, length = 66 * own_n + 10, result = 0;
  void *own = malloc((size_t)length * 16), *real = malloc((size_t)n * 24 + 8);
  if (own == NULL || real == NULL) abort();
  const char *job = vectors ? "V" : "N";
  for (int64_t j = 0; j < n - 1; j++) /* may not be read */
    set_nan(t, a + (j * lda + j + 1) * size_of(t), n - 1 - j);
  if (t < 2)
    lapack(t, "syev", "")(job, "U", &own_n, a, &ld, values, own, &length, &result, (size_t)1,
                          (size_t)1);
  else
    lapack(t, "", "heev")(job, "U", &own_n, a, &ld, values, own, &length, real, &result, (size_t)1,
                          (size_t)1);
  if (!vectors) set_nan(t, a, n * n);
  free(own);
  free(real);
  return result;
}

EXPORT int cusolverDnXsyevd_bufferSize(void *h, void *params, int vectors, int triangle, int64_t n,
                                       int type, uint64_t a, int64_t lda, int values_type,
                                       uint64_t values, int compute, size_t *device, size_t *host) {
  if (vectors < 0 || vectors > 1 || triangle != 1 || a == 0 || values == 0 || compute != type ||
      values_type != type % 4)
    return INVALID;
  SIZES(n, n, params, type, lda);
}
EXPORT int cusolverDnXsyevd(void *h, void *params, int vectors, int triangle, int64_t n, int type,
                            uint64_t a, int64_t lda, int values_type, uint64_t values, int compute,
                            uint64_t work, size_t device, void *host_work, size_t host,
                            uint64_t info) {
  if (triangle != 1 || compute != type || values_type != type % 4) return INVALID;
  WORKS(n, n, params, type, lda);
  put_info(info, eigh(index_of(type), vectors, n, nxt_fake_host(a), lda, nxt_fake_host(values)));
  return 0;
}
EXPORT int cusolverDnXsyevBatched_bufferSize(void *h, void *params, int vectors, int triangle,
                                             int64_t n, int type, uint64_t a, int64_t lda,
                                             int values_type, uint64_t values, int compute,
                                             size_t *device, size_t *host, int64_t batches) {
  if (vectors < 0 || vectors > 1 || triangle != 1 || a == 0 || values == 0 || compute != type ||
      values_type != type % 4 || batches < 1 || batches > 16384)
    return INVALID;
  SIZES(n, n, params, type, lda);
}
EXPORT int cusolverDnXsyevBatched(void *h, void *params, int vectors, int triangle, int64_t n,
                                  int type, uint64_t a, int64_t lda, int values_type,
                                  uint64_t values, int compute, uint64_t work, size_t device,
                                  void *host_work, size_t host, uint64_t info, int64_t batches) {
  int t = index_of(type);
  if (triangle != 1 || compute != type || values_type != type % 4 || batches > 16384)
    return INVALID;
  WORKS(n, n, params, type, lda);
  for (int64_t i = 0; i < batches; i++)
    put_info(info + (uint64_t)i * 4,
             eigh(t, vectors, n, nxt_fake_host(a) + i * n * lda * size_of(t), lda,
                  nxt_fake_host(values) + i * n * (t % 2 ? 8 : 4)));
  return 0;
}

EXPORT int cusolverDnXgeev_bufferSize(void *h, void *params, int left, int right, int64_t n,
                                      int type, uint64_t a, int64_t lda, int values_type,
                                      uint64_t values, int left_type, uint64_t vl, int64_t ldvl,
                                      int right_type, uint64_t vr, int64_t ldvr, int compute,
                                      size_t *device, size_t *host) {
  if (left != 0 || right < 0 || right > 1 || a == 0 || values == 0 || left_type != type ||
      right_type != type || compute != type || values_type != type % 4 + 4 || ldvl < 1 || vl != 0 ||
      vr == 0 || ldvr < n)
    return INVALID;
  SIZES(n, n, params, type, lda);
}
EXPORT int cusolverDnXgeev(void *h, void *params, int left, int right, int64_t n, int type,
                           uint64_t a, int64_t lda, int values_type, uint64_t values, int left_type,
                           uint64_t vl, int64_t ldvl, int right_type, uint64_t vr, int64_t ldvr,
                           int compute, uint64_t work, size_t device, void *host_work, size_t host,
                           uint64_t info) {
  int own_n = (int)n, ld = (int)lda, ldv = (int)ldvr, one = 1, length = 66 * own_n, result = 0;
  if (left != 0 || (type != 1 && type != 5) || left_type != type || right_type != type ||
      compute != type || values_type != 5 || vl != 0 || ldvl < 1 || ldvr < n)
    return INVALID;
  WORKS(n, n, params, type, lda);
  double *own = malloc((size_t)length * 16), *parts = malloc((size_t)n * 16),
         *w = (double *)nxt_fake_host(values);
  if (own == NULL || parts == NULL) abort();
  if (type == 1)
    find("dgeev_")("N", right ? "V" : "N", &own_n, nxt_fake_host(a), &ld, parts, parts + n, own,
                   &one, nxt_fake_host(vr), &ldv, own, &length, &result, (size_t)1, (size_t)1);
  else
    find("zgeev_")("N", right ? "V" : "N", &own_n, nxt_fake_host(a), &ld, w, own, &one,
                   nxt_fake_host(vr), &ldv, own, &length, parts, &result, (size_t)1, (size_t)1);
  for (int64_t i = 0; i < n && type == 1; i++) w[2 * i] = parts[i], w[2 * i + 1] = parts[n + i];
  free(own);
  free(parts);
  put_info(info, result);
  return 0;
}

static int svd(int t, const char *job, int m, int n, char *a, int lda, char *values, char *u,
               int ldu, char *v, int ldv) {
  int length = 64 * (m + n), result = 0;
  void *own = malloc((size_t)length * 16), *real = malloc((size_t)(m + n) * 40);
  if (own == NULL || real == NULL) abort();
  if (t < 2)
    lapack(t, "gesvd", "")(job, job, &m, &n, a, &lda, values, u, &ldu, v, &ldv, own, &length,
                           &result, (size_t)1, (size_t)1);
  else
    lapack(t, "", "gesvd")(job, job, &m, &n, a, &lda, values, u, &ldu, v, &ldv, own, &length, real,
                           &result, (size_t)1, (size_t)1);
  set_nan(t, a, (int64_t)lda * n);
  free(own);
  free(real);
  return result;
}

EXPORT int cusolverDnXgesvd_bufferSize(void *h, void *params, signed char left, signed char right,
                                       int64_t m, int64_t n, int type, uint64_t a, int64_t lda,
                                       int values_type, uint64_t values, int u_type, uint64_t u,
                                       int64_t ldu, int v_type, uint64_t v, int64_t ldv,
                                       int compute, size_t *device, size_t *host) {
  if (left != right || m < n || a == 0 || values == 0 || u == 0 || v == 0 || u_type != type ||
      v_type != type || compute != type || values_type != type % 4 || ldu < m || ldv < n)
    return INVALID;
  SIZES(m, n, params, type, lda);
}
EXPORT int cusolverDnXgesvd(void *h, void *params, signed char left, signed char right, int64_t m,
                            int64_t n, int type, uint64_t a, int64_t lda, int values_type,
                            uint64_t values, int u_type, uint64_t u, int64_t ldu, int v_type,
                            uint64_t v, int64_t ldv, int compute, uint64_t work, size_t device,
                            void *host_work, size_t host, uint64_t info) {
  if (left != right || (left != 'A' && left != 'S') || m < n || u_type != type || v_type != type ||
      compute != type || values_type != type % 4 || ldu < m || ldv < n)
    return INVALID;
  WORKS(m, n, params, type, lda);
  put_info(info,
           svd(index_of(type), left == 'A' ? "A" : "S", (int)m, (int)n, nxt_fake_host(a), (int)lda,
               nxt_fake_host(values), nxt_fake_host(u), (int)ldu, nxt_fake_host(v), (int)ldv));
  return 0;
}

static int gesvdj_size(const handle *h, int vectors, int m, int n, int lda, int ldu, int ldv,
                       int *elements, const void *jacobi, int batches) {
  INSIDE;
  if (!good(h, jacobi, m, n, lda, 0) || vectors != 1 || m > 32 || n > 32 || ldu < m || ldv < n ||
      batches < 1)
    return INVALID;
  *elements = m + n + NEEDS;
  return 0;
}
/* V in place of V^H: transposed, and conjugate. */
static void turn(int t, int n, char *v) {
  int parts = t < 2 ? 1 : 2;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int p = 0; p < parts; p++) {
        int one = (i * n + j) * parts + p, other = (j * n + i) * parts + p;
        if (t % 2) {
          double *x = (double *)v, kept = x[one];
          x[one] = p ? -x[other] : x[other];
          if (one != other) x[other] = p ? -kept : kept;
        } else {
          float *x = (float *)v, kept = x[one];
          x[one] = p ? -x[other] : x[other];
          if (one != other) x[other] = p ? -kept : kept;
        }
      }
}
static int gesvdj(const handle *h, int t, int vectors, int m, int n, uint64_t a, int lda,
                  uint64_t values, uint64_t u, int ldu, uint64_t v, int ldv, uint64_t work,
                  int elements, uint64_t info, const void *jacobi, int batches) {
  int least = m < n ? m : n, size = (int)size_of(t);
  SETTLED;
  if (!good(h, jacobi, m, n, lda, 0) || vectors != 1 || m > 32 || n > 32 || lda != m || ldu != m ||
      ldv != n || elements != m + n + NEEDS || info == 0)
    return INVALID;
  memset(nxt_fake_host(work), 0x5a, (size_t)(elements * size));
  for (int i = 0; i < batches; i++) {
    char *own = nxt_fake_host(v) + (int64_t)i * n * n * size;
    int result = svd(t, "A", m, n, nxt_fake_host(a) + (int64_t)i * m * n * size, m,
                     nxt_fake_host(values) + (int64_t)i * least * (t % 2 ? 8 : 4),
                     nxt_fake_host(u) + (int64_t)i * m * m * size, m, own, n);
    turn(t, n, own);
    put_info(info + (uint64_t)i * 4, result);
  }
  nxt_fake_cuda()->products++;
  return 0;
}
#define GESVDJ(letter, t)                                                                        \
  EXPORT int cusolverDn##letter##gesvdjBatched_bufferSize(                                       \
      void *h, int vectors, int m, int n, uint64_t a, int lda, uint64_t values, uint64_t u,      \
      int ldu, uint64_t v, int ldv, int *elements, void *jacobi, int batches) {                  \
    return a == 0 || values == 0 || u == 0 || v == 0                                             \
               ? INVALID                                                                         \
               : gesvdj_size(h, vectors, m, n, lda, ldu, ldv, elements, jacobi, batches);        \
  }                                                                                              \
  EXPORT int cusolverDn##letter##gesvdjBatched(void *h, int vectors, int m, int n, uint64_t a,   \
                                               int lda, uint64_t values, uint64_t u, int ldu,    \
                                               uint64_t v, int ldv, uint64_t work, int elements, \
                                               uint64_t info, void *jacobi, int batches) {       \
    return gesvdj(h, t, vectors, m, n, a, lda, values, u, ldu, v, ldv, work, elements, info,     \
                  jacobi, batches);                                                              \
  }
GESVDJ(S, 0)
GESVDJ(D, 1)
GESVDJ(C, 2)
GESVDJ(Z, 3)
