/* SPDX-License-Identifier: ISC */
/* Elementwise operations: a row has the recorder, and a reference for each class of types. */
#ifndef NXT_ELEMENTS_H
#define NXT_ELEMENTS_H

#include "../conformance.h"

typedef enum result_type { AS_OPERAND, IS_BOOL, IS_PART } result_type;
/* An integer type, for references whose result depends on it. */
typedef struct width {
  int bits;
  bool is_signed, is_bool;
} width;
typedef long double real;

typedef struct element {
  int operands;
  nx_tensor *(*unary)(nx_tensor *);
  nx_tensor *(*binary)(nx_tensor *, nx_tensor *);
  result_type result;
  whole (*integer)(whole a, whole b, width w); /* wrapped by the caller; of bool too */
  /* What is rounded once, or exact: in f32, also for what is below it, and in f64. */
  float (*single)(float a, float b);
  double (*twice)(double a, double b);
  /* Functions: in long double, and how far results may be off, in units of the last place. */
  real (*function)(real a, real b);
  double bound;
  real (*least)(real a); /* the size that a result counts as having at least; NULL: none */
  /* On the exact parts; rounded once if `rounds`, else within `complex_bound` of each part, or of
   * the modulus. */
  value (*complex_value)(value a, value b);
  agreement complex_how;
  double complex_bound; /* of c128; those of c64 are rounded once */
} element;

/* Where Annex G leaves signs open. */
bool signs_are_open(value a);

/* Functions that C does not have, or not with this meaning at infinities and poles. */
real special_erfinv(real x);
real special_digamma(real x);
real special_modified(real x, int order); /* e^-|x| I of the order */
real special_bessel(real x, int order);

#define DECLARE_COMPLEX(name) value complex_##name(value a, value b);
DECLARE_COMPLEX(add)
DECLARE_COMPLEX(sub)
DECLARE_COMPLEX(mul)
DECLARE_COMPLEX(div)
DECLARE_COMPLEX(pow)
DECLARE_COMPLEX(eq)
DECLARE_COMPLEX(ne)
DECLARE_COMPLEX(lt)
DECLARE_COMPLEX(le)
DECLARE_COMPLEX(gt)
DECLARE_COMPLEX(ge)
DECLARE_COMPLEX(max)
DECLARE_COMPLEX(min)
DECLARE_COMPLEX(neg)
DECLARE_COMPLEX(abs)
DECLARE_COMPLEX(sign)
DECLARE_COMPLEX(recip)
DECLARE_COMPLEX(sqrt)
DECLARE_COMPLEX(exp)
DECLARE_COMPLEX(log)
DECLARE_COMPLEX(sin)
DECLARE_COMPLEX(cos)
DECLARE_COMPLEX(tan)
DECLARE_COMPLEX(asin)
DECLARE_COMPLEX(acos)
DECLARE_COMPLEX(atan)
DECLARE_COMPLEX(sinh)
DECLARE_COMPLEX(cosh)
DECLARE_COMPLEX(tanh)
DECLARE_COMPLEX(asinh)
DECLARE_COMPLEX(acosh)
DECLARE_COMPLEX(atanh)
DECLARE_COMPLEX(log1p)
DECLARE_COMPLEX(expm1)
DECLARE_COMPLEX(real)
DECLARE_COMPLEX(imag)
DECLARE_COMPLEX(conj)
DECLARE_COMPLEX(isnan)
DECLARE_COMPLEX(isinf)
DECLARE_COMPLEX(isfinite)
DECLARE_COMPLEX(log2)
DECLARE_COMPLEX(log10)
DECLARE_COMPLEX(rsqrt)
DECLARE_COMPLEX(logistic)
DECLARE_COMPLEX(square)

void check_element(trial *t);
nx_tensor *record_element(trial *t, nx_dtype dtype);

#endif
