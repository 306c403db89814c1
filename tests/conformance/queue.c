/* SPDX-License-Identifier: ISC */
/* The queue of expectations: what was recorded, what must come of it, and the comparison. One graph
 * computes many of them, so that compilers are asked seldom; where it fails, each is realised by
 * itself to find the one to blame. */
#include "conformance.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  entry *next;
  nx_tensor *result;
  cell *cell;
  const array *want;
  const value *exact;
  const long double *size;
  const bool *open;
  const array *operands[2];
  agreement how;
  double bound;
  char what[120];
};
enum { MOST_QUEUED = 400 };

/* ---- memory and words */

struct block {
  struct block *next;
  max_align_t memory[];
};

void *room(trial *t, size_t bytes) {
  struct block *b = calloc(1, sizeof *b + bytes);
  if (!b) {
    fprintf(stderr, "conformance: no memory\n");
    exit(2);
  }
  b->next = t->memory;
  t->memory = b;
  return b->memory;
}

void forget(trial *t) {
  while (t->memory) {
    struct block *b = t->memory;
    t->memory = b->next;
    free(b);
  }
}

array *new_array(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape) {
  array *a = room(t, sizeof *a);
  a->dtype = dtype;
  a->rank = rank;
  a->n = 1;
  for (int32_t i = 0; i < rank; i++) {
    a->shape[i] = shape[i];
    a->n *= (size_t)shape[i];
  }
  a->at = room(t, (a->n + 1) * sizeof *a->at);
  return a;
}

void fault(trial *t, const char *words, ...) {
  va_list args;
  va_start(args, words);
  if (!t->cell->failures++) vsnprintf(t->cell->first, sizeof t->cell->first, words, args);
  va_end(args);
}

/* ---- comparison of numbers */

static bool same_number(long double a, long double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static bool same_bits(nx_dtype dtype, bits a, bits b, agreement how) {
  if (a.low == b.low && a.high == b.high) return true;
  if (how != SAME) return false;
  value x = decode(dtype, a), y = decode(dtype, b);
  return same_number(x.re, y.re) && same_number(x.im, y.im);
}

agreement computed_moves(nx_dtype dtype) { return dtype == NX_C32 ? SAME : SAME_BITS; }

bool same_value(nx_dtype dtype, bits a, bits b) { return same_bits(dtype, a, b, SAME); }

/* Infinity counts as the number that it would be, had the type one more exponent. */
static bool near(nx_dtype dtype, long double is, long double exact, long double distance,
                 bool open) {
  if (isnan(is) || isnan(exact)) {
    bool overflows = format_of(format_of(dtype)->part)->specials != INFINITE && isnan(is) &&
                     fabsl(exact) > format_of(dtype)->largest;
    return overflows || (isnan(is) && isnan(exact));
  }
  if (open && isinf(exact)) return isinf(is);
  long double largest = format_of(dtype)->largest;
  if (isinf(exact)) return same_number(is, exact);
  if (isinf(is))
    return signbit(is) == signbit(exact) &&
           fabsl(exact) + distance >= largest + unit_at(dtype, largest) / 2;
  if (exact == 0 && is == 0) return open || signbit(is) == signbit(exact);
  return fabsl(is - exact) <= distance;
}

static bool entry_agrees(const entry *e, size_t i, bits is) {
  nx_dtype dtype = e->want->dtype;
  if (e->how == SAME || e->how == SAME_BITS) return same_bits(dtype, is, e->want->at[i], e->how);
  value x = decode(dtype, is), y = e->exact[i];
  long double bound = (long double)e->bound, re = bound * unit_at(dtype, y.re),
              im = bound * unit_at(dtype, y.im);
  if (e->how == NEAR_SIZE) {
    if (e->size && isinf(e->size[i])) return true;
    long double size = hypotl(y.re, y.im);
    if (e->size && e->size[i] > size) size = e->size[i];
    re = im = bound * unit_at(dtype, size);
  }
  bool open = (e->open && e->open[i]) || e->how == NEAR_SIZE;
  bool has_parts = format_of(dtype)->kind == KIND_COMPLEX;
  return near(dtype, x.re, y.re, re, open) && (!has_parts || near(dtype, x.im, y.im, im, open));
}

/* ---- what came */

bits bits_at(nx_dtype dtype, const unsigned char *from, size_t i) {
  const format *f = format_of(dtype);
  size_t part = (size_t)format_of(f->part)->bits / 8, size = (size_t)f->bits / 8;
  bits b = {0, 0};
  if (f->bits == 4) return (bits){from[i / 2] >> (i % 2 ? 4 : 0) & 15, 0};
  memcpy(&b.low, from + i * size, part);
  if (size > part) memcpy(&b.high, from + i * size + part, part);
  return b;
}

static void name_operands(const entry *e, size_t i, char *to, size_t size) {
  *to = 0;
  for (int k = 0; k < 2 && e->operands[k]; k++) {
    value v = decode(e->operands[k]->dtype, e->operands[k]->at[i]);
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%s(%.17Lg, %.17Lg)", k ? " and " : " of ", v.re, v.im);
  }
}

static void report_element(trial *t, const entry *e, size_t i, bits is) {
  value x = decode(e->want->dtype, is);
  value y = e->exact ? e->exact[i] : decode(e->want->dtype, e->want->at[i]);
  char of[160];
  name_operands(e, i, of, sizeof of);
  if (format_of(e->want->dtype)->kind == KIND_COMPLEX)
    fault(t, "%s: element %zu%s is (%.17Lg, %.17Lg), not (%.17Lg, %.17Lg)", e->what, i, of, x.re,
          x.im, y.re, y.im);
  else if (x.re == y.re || (isnan(x.re) && isnan(y.re)))
    fault(t, "%s: element %zu has the bits %llx, not %llx", e->what, i, (unsigned long long)is.low,
          (unsigned long long)e->want->at[i].low);
  else fault(t, "%s: element %zu%s is %.20Lg, not %.20Lg", e->what, i, of, x.re, y.re);
}

static bool described_well(trial *t, const entry *e) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(e->result, &info);
  if (info.dtype != e->want->dtype) {
    fault(t, "%s: the result is %s, not %s", e->what, nx_dtype_name(info.dtype),
          nx_dtype_name(e->want->dtype));
    return false;
  }
  bool same = info.rank == e->want->rank;
  for (int32_t i = 0; same && i < info.rank; i++) same = info.shape[i] == e->want->shape[i];
  if (!same) fault(t, "%s: the result has another shape", e->what);
  return same;
}

static void report_error(trial *t, const char *what) {
  nx_error error = {.size = sizeof error};
  nx_status status = nx_error_take(&error);
  fault(t, "%s: %s: %s", what, nx_status_name(status), status ? error.message : "no error is set");
}

static void compare(trial *t, const entry *e) {
  if (!described_well(t, e)) return;
  size_t bytes = (e->want->n * nx_dtype_bits(e->want->dtype) + 7) / 8;
  unsigned char *memory = room(t, bytes + 1);
  if (nx_read(e->result, memory, bytes, NULL) != NX_OK) {
    report_error(t, e->what);
    return;
  }
  for (size_t i = 0; i < e->want->n; i++) {
    bits is = bits_at(e->want->dtype, memory, i);
    t->cell->checked++;
    if (entry_agrees(e, i, is)) continue;
    report_element(t, e, i, is);
    return;
  }
}

array *result_of(trial *t, nx_tensor *result, nx_dtype dtype, int32_t rank, const int64_t *shape,
                 const char *what) {
  array *a = new_array(t, dtype, rank, shape);
  entry e = {.result = result, .want = a};
  snprintf(e.what, sizeof e.what, "%s", what);
  t->cell->checked++;
  if (!result) report_error(t, what);
  if (!result || !described_well(t, &e)) return NULL;
  size_t bytes = (a->n * nx_dtype_bits(dtype) + 7) / 8;
  unsigned char *memory = room(t, bytes + 1);
  nx_status status = nx_read(result, memory, bytes, NULL);
  if (status == NX_DEVICE_UNAVAILABLE) {
    t->cell->mark = UNAVAILABLE;
    nx_error_take(NULL);
    return NULL;
  }
  if (status != NX_OK) {
    report_error(t, what);
    return NULL;
  }
  for (size_t i = 0; i < a->n; i++) a->at[i] = bits_at(dtype, memory, i);
  return a;
}

/* ---- the queue */

static entry *queued(trial *t, nx_tensor *result, const array *want, const char *what) {
  t->cell->checked++;
  if (!result) {
    report_error(t, what);
    return NULL;
  }
  if (t->queued == MOST_QUEUED) settle(t);
  entry *e = calloc(1, sizeof *e);
  if (!e) exit(2);
  snprintf(e->what, sizeof e->what, "%s", what);
  e->result = result;
  e->cell = t->cell;
  memcpy(e->operands, t->operands, sizeof e->operands);
  e->want = want;
  e->next = t->queue;
  t->queue = e;
  t->queued++;
  return e;
}

void expect(trial *t, nx_tensor *result, const array *want, agreement how, const char *what) {
  entry *e = queued(t, result, want, what);
  if (e) e->how = how;
}

void expect_near(trial *t, nx_tensor *result, const array *want, const value *exact, agreement how,
                 double bound, const long double *size, const bool *open, const char *what) {
  entry *e = queued(t, result, want, what);
  if (!e) return;
  e->how = how;
  e->exact = exact;
  e->bound = bound;
  e->size = size;
  e->open = open;
}

void settle(trial *t) {
  nx_tensor **results = calloc(t->queued + 1, sizeof *results);
  if (!results) exit(2);
  size_t n = 0;
  for (entry *e = t->queue; e; e = e->next) results[n++] = e->result;
  /* A failure is found again below, and then with what failed. */
  if (nx_realize(t->context, results, n, NULL) != NX_OK) nx_error_take(NULL);
  free(results);
  cell *current = t->cell;
  while (t->queue) {
    entry *e = t->queue;
    t->cell = e->cell;
    compare(t, e);
    t->queue = e->next;
    free(e);
  }
  t->cell = current;
  t->queued = 0;
}

/* ---- refusals */

void expect_status(trial *t, nx_status is, nx_status status, const char *what) {
  nx_error error = {.size = sizeof error};
  nx_status slot = nx_error_take(&error);
  t->cell->checked++;
  if (is != status) fault(t, "%s: %s, not %s", what, nx_status_name(is), nx_status_name(status));
  else if (slot != status)
    fault(t, "%s: the thread's error is %s, not %s", what, nx_status_name(slot),
          nx_status_name(status));
  else if (status && (!error.message || !*error.message))
    fault(t, "%s: the error has no sentence", what);
}

void expect_refusal(trial *t, nx_tensor *result, nx_status status, const char *what) {
  if (result) {
    nx_error_take(NULL);
    fault(t, "%s: was not refused", what);
    return;
  }
  nx_error error = {.size = sizeof error};
  nx_status slot = nx_error_take(&error);
  t->cell->checked++;
  if (slot != status)
    fault(t, "%s: refused with %s (%s), not %s", what, nx_status_name(slot),
          error.message ? error.message : "", nx_status_name(status));
  else if (!error.message || !*error.message) fault(t, "%s: the error has no sentence", what);
}

void expect_failure(trial *t, nx_tensor *result, nx_status status, int64_t index,
                    const char *what) {
  if (!result) {
    report_error(t, what);
    return;
  }
  nx_status is = nx_realize(t->context, &result, 1, NULL);
  nx_error error = {.size = sizeof error};
  nx_error_take(&error);
  t->cell->checked++;
  if (is != status)
    fault(t, "%s: realising gives %s, not %s", what, nx_status_name(is), nx_status_name(status));
  else if (index >= 0 && error.index != index)
    fault(t, "%s: the error's index is %lld, not %lld", what, (long long)error.index,
          (long long)index);
}
