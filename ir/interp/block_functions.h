/* SPDX-License-Identifier: ISC */
/* Functions as one loop each over a block, of their expansions as C (ir/expand/numbers.h): what is
 * computed on the way stays in registers. For files whose instruction set has vectors of all that
 * expansions consist of; others apply them operation by operation (interp_function.c). */
#define NXI_EXPAND_NUMBERS
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "ir/expand/exp_log.c"
#include "ir/expand/hyperbolic.c"
#include "ir/expand/roots.c"
/* NOLINTEND(bugprone-suspicious-include) */

#define FUNCTION_OF(name, field, T, is_wide)                                                      \
  __attribute__((flatten)) static void name##_##field(void *restrict result, const void *a,       \
                                                      const void *b, const void *c) {             \
    const expand e = {.f = is_wide ? NX_F64 : NX_F32,                                             \
                      .i = is_wide ? NX_I64 : NX_I32,                                             \
                      .u = is_wide ? NX_U64 : NX_U32,                                             \
                      .wide = is_wide};                                                           \
    const T *restrict x = a;                                                                      \
    T *restrict out = result;                                                                     \
    (void)b, (void)c;                                                                             \
    for (int i = 0; i < NXG_BLOCK; i++) out[i] = nxi_expand_##name(&e, x_of_##field(x[i])).field; \
  }
#define FUNCTION(name)                 \
  FUNCTION_OF(name, f32, float, false) \
  FUNCTION_OF(name, f64, double, true)

FUNCTION(exp)
FUNCTION(exp2)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log2)
FUNCTION(log10)
FUNCTION(log1p)
FUNCTION(sinh)
FUNCTION(cosh)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(cbrt)
FUNCTION(logistic)

#define FUNCTION_ROW(name) [NXK_##name][NX_F32] = name##_f32, [NXK_##name][NX_F64] = name##_f64,
#define FUNCTION_ROWS \
  FUNCTION_ROW(exp)   \
  FUNCTION_ROW(exp2)  \
  FUNCTION_ROW(expm1) \
  FUNCTION_ROW(log)   \
  FUNCTION_ROW(log2)  \
  FUNCTION_ROW(log10) \
  FUNCTION_ROW(log1p) \
  FUNCTION_ROW(sinh)  \
  FUNCTION_ROW(cosh)  \
  FUNCTION_ROW(tanh)  \
  FUNCTION_ROW(erf)   \
  FUNCTION_ROW(cbrt)  \
  FUNCTION_ROW(logistic)

#undef nxk_value
