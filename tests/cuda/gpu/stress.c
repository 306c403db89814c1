/* SPDX-License-Identifier: ISC */
/* gpu_stress make FILE [--device NAME] [--shrink N] [--only TEXT]
 * gpu_stress run FILE [--device NAME] [--runs N] [--seconds S] [--done FILE] [--only TEXT]
 *
 * Runs large cases many times on a GPU, and compares a number made of each result with the one that
 * a processor has written to FILE before: nothing is computed twice, and nothing large is copied
 * up. The number is computed by the device with the result; once it is also computed by the host
 * from the bytes that it reads back. --done: what is written there as "NAME good" is not run again,
 * and each case that ends adds its line at once, so that a run that was cut goes on where it was.
 * Exit status 0: all is well; 1: something is wrong; 77: no such device; 3: out of time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stress.h"

enum { MOST_READ = 300 << 20, MOST_CASES = 200 };

typedef struct options {
  const char *file, *device, *only, *done;
  int64_t shrink, runs;
  double seconds;
  bool make;
} options;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(nx_status status) {
  nx_error e = {.size = sizeof e};
  if (status == NX_OK) return;
  nx_error_take(&e);
  fprintf(stderr, "gpu_stress: %s: %s\n", nx_status_name(e.status), e.message);
  exit(1);
}
static nx_tensor *made(nx_tensor *x) {
  if (x == NULL) check(NX_INTERNAL);
  return x;
}

/* ---- operands */

static nx_tensor *number(nx_tensor *like, nx_dtype dtype, uint64_t value) {
  return made(
      nx_full(nx_context_of(like), nx_device_of(like), dtype, NULL, 0, NX_INTEGER((int64_t)value)));
}

static nx_dtype word_of(nx_dtype t) {
  size_t bits = nx_dtype_bits(t);
  return bits <= 8 ? NX_U8 : bits == 16 ? NX_U16 : bits == 32 ? NX_U32 : NX_U64;
}

static bool is_float(nx_dtype t) {
  return t == NX_F16 || t == NX_BF16 || t == NX_F32 || t == NX_F64;
}

static nx_tensor *operand(nx_context *c, nx_device device, const stress_case *s,
                          const int64_t *shape) {
  static const double corners[] = {0.0, -0.0, 1, -1, 0.5, -0.0, 0.0, 65504};
  const uint32_t key[] = {20, 26}, nan_at = 5;
  nx_tensor *k = made(nx_from_data(c, device, NX_U32, NX_SHAPE(2), key, sizeof key));
  int64_t n = 1;
  for (int32_t i = 0; i < s->rank && i < 3; i++) n *= shape[i];
  if (s->values == STRESS_COUNT)
    return made(nx_bitcast(nx_arange(c, device, word_of(s->dtype), NX_INTEGER(0), NX_INTEGER(1), n),
                           s->dtype));
  if (s->values == STRESS_NORMAL && is_float(s->dtype))
    return made(nx_random_uniform(k, s->dtype, shape, s->rank, -2, 2));
  nx_tensor *bits = made(nx_random_bits(k, word_of(s->dtype), shape, s->rank));
  if (s->values != STRESS_CORNERS)
    return nx_dtype_of(bits) == s->dtype ? bits : made(nx_bitcast(bits, s->dtype));
  nx_tensor *which = made(nx_mod(bits, number(bits, nx_dtype_of(bits), 9))), *x = NULL;
  for (uint64_t i = 0; i < 8; i++) {
    double value = i == nan_at ? __builtin_nan("") : corners[i];
    nx_tensor *corner = made(nx_full(c, device, s->dtype, NULL, 0, NX_NUMBER(value)));
    nx_tensor *here = made(nx_cmpeq(which, number(which, nx_dtype_of(which), i)));
    x = made(nx_where(here, corner, x != NULL ? x : corner));
  }
  return x;
}

/* ---- the number of a result: a sum modulo 2^64, in which each element has a factor of its own */

static const uint64_t first = UINT64_C(0x9e3779b97f4a7c15), second = UINT64_C(0xd1b54a32d192ed03),
                      third = UINT64_C(0xbf58476d1ce4e5b9);

/* NaNs count as one. */
static nx_tensor *bits_of(nx_tensor *x) {
  nx_dtype t = nx_dtype_of(x), word = word_of(t);
  if (t == NX_BOOL) return made(nx_cast(x, NX_U64));
  nx_tensor *bits = nx_dtype_of(x) == word ? x : made(nx_bitcast(x, word));
  if (is_float(t)) bits = nx_where(nx_cmpeq(x, x), bits, number(x, word, UINT64_MAX));
  return made(nx_cast(bits, NX_U64));
}

static nx_tensor *number_of(nx_tensor *x) {
  int64_t n = nx_elements(x);
  nx_tensor *flat = made(nx_reshape(nx_contiguous(x), &n, 1, 0));
  nx_tensor *i =
      made(nx_arange(nx_context_of(x), nx_device_of(x), NX_U64, NX_INTEGER(0), NX_INTEGER(1), n));
  nx_tensor *factor = nx_add(nx_mul(i, number(x, NX_U64, first)), number(x, NX_U64, second));
  nx_tensor *h = nx_mul(nx_add(bits_of(flat), number(x, NX_U64, third)), factor);
  h = nx_xor(h, nx_shr(h, number(x, NX_U64, 29)));
  return made(nx_reduce_sum(nx_mul(h, number(x, NX_U64, third)), NX_ALL_AXES, 0));
}

static uint64_t load(const void *data, nx_dtype t, int64_t i) {
  uint64_t x = 0;
  switch (word_of(t)) {
    case NX_U8: x = ((const uint8_t *)data)[i]; break;
    case NX_U16: x = ((const uint16_t *)data)[i]; break;
    case NX_U32: x = ((const uint32_t *)data)[i]; break;
    default: x = ((const uint64_t *)data)[i];
  }
  uint64_t magnitude = t == NX_F16    ? (x & 0x7fff) - 0x7c00
                       : t == NX_BF16 ? (x & 0x7fff) - 0x7f80
                       : t == NX_F32  ? (x & 0x7fffffff) - 0x7f800000
                                      : (x & INT64_MAX) - UINT64_C(0x7ff0000000000000);
  uint64_t all = t == NX_F64 ? UINT64_MAX : t == NX_F32 ? UINT32_MAX : 0xffff;
  return is_float(t) && (int64_t)magnitude > 0 ? all : x;
}

static uint64_t number_by_host(const void *data, nx_dtype t, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    uint64_t h = (load(data, t, i) + third) * ((uint64_t)i * first + second);
    sum += (h ^ h >> 29) * third;
  }
  return sum;
}

/* ---- a case */

typedef struct job {
  const stress_case *s;
  nx_context *context;
  nx_device device;
  nx_function *function;
  nx_tensor *x;
  int64_t runs;
} job;

static void prepare(job *j, int64_t shrink) {
  const stress_case *s = j->s;
  int64_t shape[3] = {s->shape[0], s->shape[1], s->shape[2]};
  if (!s->whole) shape[0] = shape[0] / shrink > 0 ? shape[0] / shrink : 1;
  if (!s->whole && s->rank > 1 && shrink > 1 && shape[1] > 256) shape[1] = 256;
  nx_scope *scope = nx_scope_begin(j->context);
  j->x = nx_tensor_retain(operand(j->context, j->device, s, shape));
  check(nx_realize(j->context, &j->x, 1, NULL));
  nx_scope_end(scope);
  scope = nx_scope_begin(j->context);
  nx_tensor *in = made(nx_placeholder(j->context, j->device, s->dtype, shape, s->rank));
  nx_tensor *result = made(s->record(in)), *out[2] = {number_of(result), result};
  check(nx_function_create(j->context, &in, 1, out, 2, NULL, &j->function));
  nx_scope_end(scope);
}

static void finish(job *j) {
  nx_function_release(j->function);
  nx_tensor_release(j->x);
  nx_context_collect(j->context);
}

/* The result's number; with `by_host` also by the host, and the two must agree. */
static uint64_t run_once(const job *j, bool by_host) {
  nx_tensor *out[2] = {NULL, NULL};
  uint64_t is = 0;
  check(nx_function_call(j->function, &j->x, 1, out, 2, NULL));
  check(nx_read(out[0], &is, sizeof is, NULL));
  int64_t n = nx_elements(out[1]), bytes = n * (int64_t)nx_dtype_bits(nx_dtype_of(out[1])) / 8;
  if (by_host && bytes <= MOST_READ) {
    void *data = malloc((size_t)bytes + 1);
    if (data == NULL) check(NX_OUT_OF_MEMORY);
    check(nx_read(out[1], data, (size_t)bytes, NULL));
    uint64_t host = number_by_host(data, nx_dtype_of(out[1]), n);
    free(data);
    if (host != is) {
      printf("%s: the device makes %016" PRIx64 " of its result, the host %016" PRIx64 "\n",
             j->s->name, is, host);
      is = host ^ 1; /* equals nothing */
    }
  }
  for (int i = 0; i < 2; i++) nx_tensor_release(out[i]);
  return is;
}

/* How many of the runs are wrong. */
static int64_t run_many(job *j, const options *o, uint64_t wanted, double until) {
  int64_t wrong = 0;
  for (j->runs = 0; j->runs < o->runs && (j->runs == 0 || now() < until); j->runs++)
    wrong += run_once(j, j->runs == 0) != wanted;
  return wrong;
}

/* ---- files */

typedef struct known {
  char name[64];
  uint64_t number;
} known;

/* Lines "NUMBER NAME", after one with the divisor of sizes. */
static size_t read_known(const options *o, known *all, int64_t *shrink) {
  FILE *f = fopen(o->file, "r");
  size_t n = 0;
  if (f == NULL || fscanf(f, "# SPDX-License-Identifier: ISC\nshrink %" SCNd64 "\n", shrink) != 1) {
    fprintf(stderr, "gpu_stress: %s has no numbers\n", o->file);
    exit(1);
  }
  while (n < MOST_CASES && fscanf(f, "%" SCNx64 " %63[^\n]\n", &all[n].number, all[n].name) == 2)
    n++;
  fclose(f);
  return n;
}

static const known *find(const known *all, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(all[i].name, name) == 0) return &all[i];
  return NULL;
}

static bool is_done(const options *o, const char *name) {
  char line[200], wanted[80];
  FILE *f = o->done != NULL ? fopen(o->done, "r") : NULL;
  bool done = false;
  snprintf(wanted, sizeof wanted, "%s good", name);
  while (f != NULL && !done && fgets(line, sizeof line, f) != NULL)
    done = strncmp(line, wanted, strlen(wanted)) == 0;
  if (f != NULL) fclose(f);
  return done;
}

static void say(const options *o, const char *line) {
  printf("%s", line);
  fflush(stdout);
  FILE *f = o->done != NULL ? fopen(o->done, "a") : NULL;
  if (f == NULL) return;
  fputs(line, f);
  fclose(f);
}

/* ---- the program */

static nx_device find_device(nx_context *c, const char *name) {
  for (nx_device d = 0; d < nx_device_count(c); d++) {
    nx_device_info info = {.size = sizeof info};
    if (nx_device_describe(c, d, &info) != NX_OK || strcmp(info.name, name) != 0) continue;
    if (info.available) return d;
    printf("the device %s is not available: %s\n", name, info.reason);
    exit(77);
  }
  exit(77);
}

static bool read_options(int argc, char **argv, options *o) {
  if (argc < 3 || (strcmp(argv[1], "make") != 0 && strcmp(argv[1], "run") != 0)) return false;
  o->make = strcmp(argv[1], "make") == 0;
  o->file = argv[2];
  o->device = o->make ? "cpu" : "cuda";
  for (int i = 3; i + 1 < argc; i += 2) {
    const char *value = argv[i + 1];
    if (strcmp(argv[i], "--device") == 0) o->device = value;
    else if (strcmp(argv[i], "--only") == 0) o->only = value;
    else if (strcmp(argv[i], "--done") == 0) o->done = value;
    else if (strcmp(argv[i], "--shrink") == 0) o->shrink = atoll(value);
    else if (strcmp(argv[i], "--runs") == 0) o->runs = atoll(value);
    else if (strcmp(argv[i], "--seconds") == 0) o->seconds = atof(value);
    else return false;
  }
  return argc % 2 == 1 && o->shrink > 0 && o->runs > 0;
}

static bool wanted(const options *o, const stress_case *s) {
  return o->only == NULL || strstr(s->name, o->only) != NULL;
}

static int make_all(const options *o, nx_context *c, nx_device device) {
  FILE *f = fopen(o->file, "w");
  if (f == NULL) return 1;
  fprintf(f, "# SPDX-License-Identifier: ISC\nshrink %" PRId64 "\n", o->shrink);
  for (size_t i = 0; i < stress_n_cases; i++) {
    job j = {.s = &stress_cases[i], .context = c, .device = device};
    if (!wanted(o, j.s)) continue;
    double begin = now();
    prepare(&j, o->shrink);
    fprintf(f, "%016" PRIx64 " %s\n", run_once(&j, true), j.s->name);
    fflush(f);
    finish(&j);
    printf("%s: %.1f s\n", j.s->name, now() - begin);
  }
  return fclose(f) != 0;
}

static int run_all(options *o, nx_context *c, nx_device device) {
  static known numbers[MOST_CASES];
  char line[200];
  size_t n = read_known(o, numbers, &o->shrink);
  double end = now() + o->seconds;
  int status = 0;
  for (size_t i = 0; i < stress_n_cases; i++) {
    job j = {.s = &stress_cases[i], .context = c, .device = device};
    const known *k = find(numbers, n, j.s->name);
    if (!wanted(o, j.s) || is_done(o, j.s->name)) continue;
    if (k == NULL) {
      printf("%s: %s has no number for it\n", j.s->name, o->file);
      status = 1;
      continue;
    }
    double begin = now(), left = end - begin;
    if (left <= 0) {
      printf("out of time before %s\n", j.s->name);
      return status != 0 ? status : 3;
    }
    prepare(&j, o->shrink);
    /* What is left is shared by the cases that are left. */
    int64_t wrong = run_many(&j, o, k->number, begin + left / (double)(stress_n_cases - i) * 2);
    snprintf(line, sizeof line, "%s %s: %" PRId64 " runs, %" PRId64 " wrong, %.1f s\n", j.s->name,
             wrong == 0 ? "good" : "WRONG", j.runs, wrong, now() - begin);
    say(o, line);
    finish(&j);
    if (wrong > 0) status = 1;
  }
  return status;
}

int main(int argc, char **argv) {
  options o = {.shrink = 1, .runs = 1000, .seconds = 1e9};
  nx_context *c = NULL;
  if (!read_options(argc, argv, &o)) {
    fprintf(stderr, "usage: gpu_stress make|run FILE [--device NAME] [--shrink N] [--runs N] "
                    "[--seconds S] [--done FILE] [--only TEXT]\n");
    return 2;
  }
  check(nx_context_create(NULL, &c));
  nx_device device = find_device(c, o.device);
  int status = o.make ? make_all(&o, c, device) : run_all(&o, c, device);
  nx_context_release(c);
  return status;
}
