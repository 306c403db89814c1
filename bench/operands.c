/* SPDX-License-Identifier: ISC */
/* Operands of rows: described by text, made by a formula that needs nothing but the position of an
 * element, so that peers make the same (peers/operands.py). */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static nx_dtype dtype_named(const char *text, size_t length) {
  static const nx_dtype all[] = {NX_F32, NX_F64, NX_F16, NX_BF16, NX_I8,  NX_I16,
                                 NX_I32, NX_I64, NX_U8,  NX_U16,  NX_C64, NX_C128};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const char *name = nx_dtype_name(all[i]);
    if (strlen(name) == length && memcmp(name, text, length) == 0) return all[i];
  }
  fprintf(stderr, "nx-bench: no type in \"%s\"\n", text);
  exit(1);
}

static int64_t extent(const bench_lab *lab, int64_t n) {
  return lab->largest > 0 && n > lab->largest ? lab->largest : n;
}

static const char *read_one(const bench_lab *lab, const char *text, bench_operand *o) {
  size_t length = strcspn(text, ":");
  *o = (bench_operand){.dtype = dtype_named(text, length), .low = -2, .high = 2};
  char *at = (char *)text + length;
  do o->shape[o->rank++] = extent(lab, strtoll(at + 1, &at, 10));
  while (*at == 'x');
  if (*at == ':') {
    o->low = strtod(at + 1, &at);
    o->high = strtod(at + 1, &at);
  }
  /* Whole numbers from 0 on may number the elements of an axis, which is cut too. */
  if (lab->largest > 0 && o->low >= 0 && o->high > (double)lab->largest)
    o->high = (double)lab->largest;
  return at + strspn(at, " ");
}

int bench_operands_read(const bench_lab *lab, const char *text, bench_operand *out) {
  int n = 0;
  while (*text != 0 && n < BENCH_OPERANDS) text = read_one(lab, text, &out[n++]);
  return n;
}

void bench_operands_print(const bench_operand *operands, int n, char *line, size_t size) {
  size_t used = strlen(line);
  for (int i = 0; i < n; i++) {
    const bench_operand *o = &operands[i];
    used += (size_t)snprintf(line + used, size - used, " %s", nx_dtype_name(o->dtype));
    for (int32_t k = 0; k < o->rank; k++)
      used += (size_t)snprintf(line + used, size - used, "%c%lld", k ? 'x' : ':',
                               (long long)o->shape[k]);
    used += (size_t)snprintf(line + used, size - used, ":%.17g:%.17g", o->low, o->high);
  }
}

/* ---- elements */

static uint32_t mixed(uint32_t h) {
  h ^= h >> 16;
  h *= 0x7feb352d;
  h ^= h >> 15;
  h *= 0x846ca68b;
  return h ^ h >> 16;
}

/* Numbers in [low, high), as f64 or f32; the low half of `number` tells operands apart, the high
 * one the parts of complex numbers. */
static nx_tensor *real_of(const bench_lab *lab, const bench_operand *o, nx_dtype dtype,
                          uint32_t number) {
  int64_t n = 1;
  for (int32_t i = 0; i < o->rank; i++) n *= o->shape[i];
  size_t width = dtype == NX_F64 ? sizeof(double) : sizeof(float);
  void *data = malloc((size_t)n * width + 1);
  if (data == NULL) exit(1);
  for (int64_t i = 0; i < n; i++) {
    double unit = (double)(mixed((uint32_t)i * 0x9e3779b1u + number * 0x85ebca6bu + 1) >> 8),
           value = o->low + (o->high - o->low) * (unit / (1 << 24));
    if (dtype == NX_F64) ((double *)data)[i] = value;
    else ((float *)data)[i] = (float)value;
  }
  nx_tensor *t = nx_from_data(lab->context, 0, dtype, o->shape, o->rank, data, (size_t)n * width);
  free(data);
  return t;
}

static nx_tensor *realised(const bench_lab *lab, nx_tensor *x) {
  bench_check(nx_realize(lab->context, &x, 1, NULL));
  return x;
}

nx_tensor *bench_operand_make(const bench_lab *lab, const bench_operand *o, int number) {
  bool wide = o->dtype == NX_F64 || o->dtype == NX_C128,
       pair = o->dtype == NX_C64 || o->dtype == NX_C128;
  nx_dtype part = wide ? NX_F64 : NX_F32;
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *t = real_of(lab, o, part, (uint32_t)number);
  if (pair) t = nx_complex(t, real_of(lab, o, part, (uint32_t)number + (1 << 16)));
  else if (o->dtype != part) t = nx_cast(t, o->dtype);
  if (lab->device != 0) t = nx_to_device(t, lab->device);
  t = nx_keep(realised(lab, t));
  nx_scope_end(scope);
  return t;
}

nx_tensor *bench_random(const bench_lab *lab, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        double low, double high) {
  bench_operand o = {.dtype = dtype, .rank = rank, .low = low, .high = high};
  if (rank > 0) memcpy(o.shape, shape, (size_t)rank * sizeof *shape);
  return bench_operand_make(lab, &o, 0);
}
