/* SPDX-License-Identifier: ISC */
/* Prints the references themselves, for check_references.py: a line a value, "function NAME a b
 * result", "cast FROM bits TO bits", "integer NAME TYPE a b result". Numbers are hexadecimal. */
#include "rows/elements.h"
#include "matrix.h"

#include <math.h>

static void print_function(FILE *to, const char *name, const element *e, uint64_t *state) {
  for (int i = 0; i < 40; i++) {
    uint64_t word = random_word(state);
    double a = ldexp((double)(int64_t)random_word(state), -63 + (int)(word % 9) - 3);
    double b = ldexp((double)(int64_t)random_word(state), -63 + (int)(word >> 8) % 5);
    fprintf(to, "function %s %a %a %La\n", name, a, b, e->function(a, b));
  }
}

static void print_integer(FILE *to, const char *name, const element *e, nx_dtype dtype) {
  const format *f = format_of(dtype);
  bits corner[CORNERS];
  size_t n = corners(dtype, corner);
  for (size_t i = 0; i < n * n; i++) {
    whole a = wrapped(dtype, (whole)corner[i / n].low),
          b = wrapped(dtype, (whole)corner[i % n].low);
    whole y = wrapped(dtype, e->integer(a, b, (width){f->bits, f->kind == KIND_SIGNED, false}));
    fprintf(to, "integer %s %s %llx %llx %llx\n", name, f->name, (unsigned long long)a,
            (unsigned long long)b, (unsigned long long)y);
  }
}

static void print_casts(FILE *to, uint64_t *state) {
  for (int i = 0; i < 400; i++) {
    uint64_t word = random_word(state);
    bits from = i % 2 ? (bits){word >> 32, 0}
                      : encode_real(NX_F32, ldexpl((long double)(int64_t)(word >> 50 << 50),
                                                   -63 + (int)(word % 40) - 26));
    for (nx_dtype d = NX_F8E4M3; d <= NX_F32; d++)
      fprintf(to, "cast f32 %llx %s %llx\n", (unsigned long long)from.low, format_of(d)->name,
              (unsigned long long)converted(NX_F32, from, d).low);
  }
}

void print_references(FILE *to) {
  uint64_t state = 1;
  for (size_t i = 0; i < families[0]->n; i++) {
    const operation *op = &families[0]->rows[i];
    const element *e = op->detail;
    if (e->function) print_function(to, op->name, e, &state);
    for (nx_dtype d = NX_I8; e->integer && e->operands == 2 && d <= NX_U64; d++)
      print_integer(to, op->name, e, d);
  }
  print_casts(to, &state);
}
