/* SPDX-License-Identifier: ISC */
/* A fake cuFFT: sums in double, one dimension after the other. Strict: memory is lent, the stream
 * is set, layouts hold what they have to, spectra of real numbers are such; and what the library
 * may overwrite it overwrites. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_internal.h"

enum { PLANS = 1024, INVALID_PLAN = 1, INVALID_VALUE = 4, SETUP = 7, UNALIGNED = 9, NO_WORK = 13 };
enum { R2C = 0x2a, C2R = 0x2c, C2C = 0x29, WIDE = 0x40 };

typedef struct plan {
  int exists, made, lends, type, rank;
  long long n[3], box[2][3], stride[2], distance[2], batch;
  size_t work_bytes;
  uint64_t work;
  void *stream;
} plan;
static plan plans[PLANS];

static plan *of(int number) {
  return number > 0 && number < PLANS && plans[number].exists ? &plans[number] : NULL;
}

EXPORT int cufftCreate(int *number) {
  INSIDE;
  for (*number = 1; *number < PLANS; ++*number)
    if (!plans[*number].exists) {
      plans[*number] = (plan){.exists = 1};
      nxt_fake_cuda()->handles++;
      return 0;
    }
  return 5;
}
EXPORT int cufftDestroy(int number) {
  if (of(number) == NULL) return INVALID_PLAN;
  plans[number].exists = 0;
  nxt_fake_cuda()->handles--;
  return 0;
}
EXPORT int cufftSetAutoAllocation(int number, int automatic) {
  CALL;
  if (of(number) == NULL || of(number)->made) return INVALID_PLAN;
  of(number)->lends = automatic == 0;
  return 0;
}
EXPORT int cufftSetStream(int number, void *stream) {
  CALL;
  if (of(number) == NULL || !of(number)->made) return INVALID_PLAN;
  of(number)->stream = stream;
  return 0;
}
EXPORT int cufftSetWorkArea(int number, uint64_t area) {
  CALL;
  if (of(number) == NULL || !of(number)->made) return INVALID_PLAN;
  if (area == 0 || area % 256 != 0) return INVALID_VALUE;
  of(number)->work = area;
  return 0;
}

/* Elements along a dimension of what is read, or written. */
static long long extent(const plan *p, int side, int i) {
  int half = (p->type & ~WIDE) == (side == 0 ? C2R : R2C) && i == p->rank - 1;
  return half ? p->n[i] / 2 + 1 : p->n[i];
}

EXPORT int cufftMakePlanMany64(int number, int rank, long long *n, long long *in_box,
                               long long in_stride, long long in_distance, long long *out_box,
                               long long out_stride, long long out_distance, int type,
                               long long batch, size_t *work_bytes) {
  INSIDE;
  plan *p = of(number);
  int kind = type & ~WIDE;
  if (p == NULL || p->made || !p->lends) return INVALID_PLAN;
  if (kind != R2C && kind != C2R && kind != C2C) return 3;
  if (rank < 1 || rank > 3 || batch < 1 || in_box == NULL || out_box == NULL) return INVALID_VALUE;
  if (in_stride < 1 || out_stride < 1 || in_distance < 1 || out_distance < 1) return INVALID_VALUE;
  if (kind == C2R && rank > 1)
    return 16; /* would need a spectrum that is symmetric in all dimensions */
  p->type = type;
  p->rank = rank;
  p->batch = batch;
  p->stride[0] = in_stride, p->stride[1] = out_stride;
  p->distance[0] = in_distance, p->distance[1] = out_distance;
  for (int i = 0; i < rank; i++) {
    p->n[i] = n[i];
    p->box[0][i] = in_box[i], p->box[1][i] = out_box[i];
    if (n[i] < 1) return 8;
  }
  for (int i = 0; i < rank; i++)
    if (in_box[i] < extent(p, 0, i) || out_box[i] < extent(p, 1, i)) return INVALID_VALUE;
  p->work_bytes = *work_bytes = n[rank - 1] % 2 ? 4096 : 0; /* some have none */
  p->made = 1;
  return 0;
}

/* ---- running */

/* Of a line: x is pairs, `step` pairs apart. */
static void transform_line(double *x, long long n, long long step, int direction, double *y) {
  for (long long k = 0; k < n; k++) {
    y[2 * k] = y[2 * k + 1] = 0;
    for (long long j = 0; j < n; j++) {
      double angle = direction * 6.28318530717958647692 * (double)(j * k % n) / (double)n;
      double re = x[2 * j * step], im = x[2 * j * step + 1];
      y[2 * k] += re * cos(angle) - im * sin(angle);
      y[2 * k + 1] += re * sin(angle) + im * cos(angle);
    }
  }
  for (long long k = 0; k < n; k++) memcpy(x + 2 * k * step, y + 2 * k, 2 * sizeof *y);
}

static void transform(const plan *p, double *x, double *line, int direction) {
  long long all = 1, step = 1;
  for (int i = 0; i < p->rank; i++) all *= p->n[i];
  for (int i = p->rank; i-- > 0; step *= p->n[i])
    for (long long at = 0; at < all; at++)
      if (at / step % p->n[i] == 0) transform_line(x + 2 * at, p->n[i], step, direction, line);
}

/* Where element `at` of a whole transform is in memory; -1: beyond what is stored. */
static long long place(const plan *p, int side, long long batch, long long at) {
  long long offset = 0, step = 1;
  for (int i = p->rank; i-- > 0; at /= p->n[i]) {
    long long k = at % p->n[i];
    if (k >= extent(p, side, i)) return -1;
    offset += k * step;
    step *= p->box[side][i];
  }
  return batch * p->distance[side] + offset * p->stride[side];
}

static double part(const plan *p, const char *memory, long long i) {
  return p->type & WIDE ? ((const double *)memory)[i] : (double)((const float *)memory)[i];
}
static void put(const plan *p, char *memory, long long i, double x) {
  if (p->type & WIDE) ((double *)memory)[i] = x;
  else ((float *)memory)[i] = (float)x;
}

static void take(const plan *p, const char *from, long long batch, long long all, double *x) {
  int reals = (p->type & ~WIDE) == R2C;
  for (long long i = 0; i < all; i++) {
    long long at = place(p, 0, batch, i), mirror = all - i;
    x[2 * i] = x[2 * i + 1] = 0;
    if (reals) x[2 * i] = part(p, from, at);
    else if (at >= 0) x[2 * i] = part(p, from, 2 * at), x[2 * i + 1] = part(p, from, 2 * at + 1);
    else x[2 * i] = x[2 * mirror], x[2 * i + 1] = -x[2 * mirror + 1];
    if ((p->type & ~WIDE) == C2R && (i == 0 || 2 * i == all) && x[2 * i + 1] != 0)
      x[2 * i] = NAN; /* the spectrum of no real numbers */
  }
}

static void give(const plan *p, char *to, long long batch, long long all, const double *x) {
  int reals = (p->type & ~WIDE) == C2R;
  for (long long i = 0; i < all; i++) {
    long long at = place(p, 1, batch, i);
    if (at < 0) continue;
    if (reals) put(p, to, at, x[2 * i]);
    else put(p, to, 2 * at, x[2 * i]), put(p, to, 2 * at + 1, x[2 * i + 1]);
  }
}

static void ruin(const plan *p, char *from, long long batch, long long all) {
  for (long long i = 0; i < all; i++) {
    long long at = place(p, 0, batch, i);
    if (at >= 0) put(p, from, 2 * at, NAN), put(p, from, 2 * at + 1, NAN);
  }
}

static int run(int number, int type, uint64_t from, uint64_t to, int direction) {
  plan *p = of(number);
  long long all = 1;
  if (p == NULL || !p->made || p->type != type) return INVALID_PLAN;
  if (p->stream == NULL) return SETUP;
  if (p->work_bytes > 0 && p->work == 0) return NO_WORK;
  if (from % (type & WIDE ? 16 : 8) || to % (type & WIDE ? 16 : 8)) return UNALIGNED;
  if (direction != 1 && direction != -1) return INVALID_VALUE;
  int same = p->stride[0] == p->stride[1] && p->distance[0] == p->distance[1];
  if (from == to && ((type & ~WIDE) != C2C || !same)) return INVALID_VALUE;
  if (p->work_bytes > 0) memset(nxt_fake_host(p->work), 0x5a, p->work_bytes);
  p->work = 0; /* of this run alone */
  for (int i = 0; i < p->rank; i++) all *= p->n[i];
  double *x = malloc((size_t)all * 4 * sizeof *x);
  if (x == NULL) return 2;
  for (long long b = 0; b < p->batch; b++) {
    take(p, nxt_fake_host(from), b, all, x);
    transform(p, x, x + 2 * all, direction);
    give(p, nxt_fake_host(to), b, all, x);
  }
  for (long long b = 0; b < p->batch && (type & ~WIDE) == C2R; b++)
    ruin(p, nxt_fake_host(from), b, all);
  free(x);
  nxt_fake_cuda()->products++;
  return 0;
}

EXPORT int cufftExecC2C(int plan, uint64_t from, uint64_t to, int direction) {
  SETTLED;
  return run(plan, C2C, from, to, direction);
}
EXPORT int cufftExecZ2Z(int plan, uint64_t from, uint64_t to, int direction) {
  SETTLED;
  return run(plan, C2C | WIDE, from, to, direction);
}
EXPORT int cufftExecR2C(int plan, uint64_t from, uint64_t to) {
  SETTLED;
  return run(plan, R2C, from, to, -1);
}
EXPORT int cufftExecD2Z(int plan, uint64_t from, uint64_t to) {
  SETTLED;
  return run(plan, R2C | WIDE, from, to, -1);
}
EXPORT int cufftExecC2R(int plan, uint64_t from, uint64_t to) {
  SETTLED;
  return run(plan, C2R, from, to, 1);
}
EXPORT int cufftExecZ2D(int plan, uint64_t from, uint64_t to) {
  SETTLED;
  return run(plan, C2R | WIDE, from, to, 1);
}
