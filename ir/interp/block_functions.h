/* SPDX-License-Identifier: ISC */
/* Functions as one loop each over a block, of their expansions as C (ir/expand/numbers.h): what is
 * computed on the way stays in registers. For files whose instruction set has vectors of all that
 * expansions consist of; others apply them operation by operation (interp_function.c). */
#define NXI_EXPAND_NUMBERS
/* NOLINTBEGIN(bugprone-suspicious-include) */
#include "ir/expand/error.c"
#include "ir/expand/exp_log.c"
#include "ir/expand/hyperbolic.c"
#include "ir/expand/roots.c"
#include "ir/expand/special.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* name_field_n: n elements, which fill whole registers; name_field: a block. */
#define FUNCTION_OF(name, field, T, is_wide)                                                       \
  __attribute__((flatten)) static void name##_##field##_n(void *restrict result, const void *a,    \
                                                          int64_t n) {                             \
    const expand e = {.f = is_wide ? NX_F64 : NX_F32,                                              \
                      .i = is_wide ? NX_I64 : NX_I32,                                              \
                      .u = is_wide ? NX_U64 : NX_U32,                                              \
                      .wide = is_wide};                                                            \
    enum { LANES = NXG_VECTOR_BYTES / sizeof(T) };                                                 \
    const T *restrict x = a;                                                                       \
    T *restrict out = result;                                                                      \
    for (; n > 0; n -= LANES, x += LANES, out += LANES)                                            \
      for (int i = 0; i < LANES; i++) out[i] = nxi_expand_##name(&e, x_of_##field(x[i])).field;    \
  }                                                                                                \
  static void name##_##field(void *restrict result, const void *a, const void *b, const void *c) { \
    (void)b, (void)c;                                                                              \
    name##_##field##_n(result, a, NXG_BLOCK);                                                      \
  }
#define FUNCTION(name)                 \
  FUNCTION_OF(name, f32, float, false) \
  FUNCTION_OF(name, f64, double, true)

#define LIST_FUNCTIONS(ROW) \
  ROW(exp)                  \
  ROW(exp2)                 \
  ROW(expm1)                \
  ROW(log)                  \
  ROW(log2)                 \
  ROW(log10)                \
  ROW(log1p)                \
  ROW(sinh)                 \
  ROW(cosh)                 \
  ROW(tanh)                 \
  ROW(erf) ROW(erfc) ROW(erfinv) ROW(cbrt) ROW(logistic)
LIST_FUNCTIONS(FUNCTION)

#define FUNCTION_ROW(name) [NXK_##name][NX_F32] = name##_f32, [NXK_##name][NX_F64] = name##_f64,
#define FUNCTION_ROWS      LIST_FUNCTIONS(FUNCTION_ROW)

#define CALLED_ROW(name) [NXK_##name] = {name##_f32_n, name##_f64_n},
nxg_called_function *NXG_FUNCTIONS(nxk_op op, bool wide) {
  static nxg_called_function *const all[NXK_SCALAR_COUNT][2] = {LIST_FUNCTIONS(CALLED_ROW)};
  return all[op][wide];
}

#undef nxk_value
