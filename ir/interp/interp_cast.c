/* SPDX-License-Identifier: ISC */
/* Conversions of the graph interpreter, one loop for each pair of element types (docs/contract.md,
 * "cast"). Small floats are widened to f32 by the caller; rounding to one from anything but f32
 * goes through the exact scalar conversion, which rounds once. */
#include <string.h>

#include "interp_graph.h"

/* Converts a float: truncates, saturates, NaN gives 0. low and high are exact in a double; high is
 * one above the largest value of the type. */
#define SATURATED(T, x, low, high, lowest, highest) \
  ((x) != (x)              ? (T)0                   \
   : (double)(x) <= (low)  ? (T)(lowest)            \
   : (double)(x) >= (high) ? (T)(highest)           \
                           : (T)(x))
#define TO_i8(x)  SATURATED(int8_t, x, -0x1p7, 0x1p7, INT8_MIN, INT8_MAX)
#define TO_i16(x) SATURATED(int16_t, x, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX)
#define TO_i32(x) SATURATED(int32_t, x, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX)
#define TO_i64(x) SATURATED(int64_t, x, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX)
#define TO_u8(x)  SATURATED(uint8_t, x, 0.0, 0x1p8, 0, UINT8_MAX)
#define TO_u16(x) SATURATED(uint16_t, x, 0.0, 0x1p16, 0, UINT16_MAX)
#define TO_u32(x) SATURATED(uint32_t, x, 0.0, 0x1p32, 0, UINT32_MAX)
#define TO_u64(x) SATURATED(uint64_t, x, 0.0, 0x1p64, 0, UINT64_MAX)

#define LOOP(from, F, to, T, expression)                                                   \
  static void from##_to_##to(const nxg_step *s, void *result, const void *const *operands, \
                             int64_t n) {                                                  \
    const F *a = operands[0];                                                              \
    T *out = result;                                                                       \
    (void)s;                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                      \
      const F x = a[i];                                                                    \
      out[i] = (T)(expression);                                                            \
    }                                                                                      \
  }
#define FROM_INTEGER(from, F)          \
  LOOP(from, F, bool, uint8_t, x != 0) \
  LOOP(from, F, i8, int8_t, x)         \
  LOOP(from, F, u8, uint8_t, x)        \
  LOOP(from, F, i16, int16_t, x)       \
  LOOP(from, F, u16, uint16_t, x)      \
  LOOP(from, F, i32, int32_t, x)       \
  LOOP(from, F, u32, uint32_t, x)      \
  LOOP(from, F, i64, int64_t, x)       \
  LOOP(from, F, u64, uint64_t, x)      \
  LOOP(from, F, f32, float, x)         \
  LOOP(from, F, f64, double, x)
#define FROM_FLOAT(from, F)               \
  LOOP(from, F, bool, uint8_t, x != 0)    \
  LOOP(from, F, i8, int8_t, TO_i8(x))     \
  LOOP(from, F, u8, uint8_t, TO_u8(x))    \
  LOOP(from, F, i16, int16_t, TO_i16(x))  \
  LOOP(from, F, u16, uint16_t, TO_u16(x)) \
  LOOP(from, F, i32, int32_t, TO_i32(x))  \
  LOOP(from, F, u32, uint32_t, TO_u32(x)) \
  LOOP(from, F, i64, int64_t, TO_i64(x))  \
  LOOP(from, F, u64, uint64_t, TO_u64(x)) \
  LOOP(from, F, f32, float, x)            \
  LOOP(from, F, f64, double, x)

FROM_INTEGER(i8, int8_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(u16, uint16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u64, uint64_t)
FROM_FLOAT(f32, float)
FROM_FLOAT(f64, double)

/* clang-format off */
#define TO(from, F, to, T) [F][T] = from##_to_##to,
#define ROWS(from, F) \
  TO(from, F, bool, NX_BOOL) TO(from, F, f32, NX_F32) TO(from, F, f64, NX_F64) \
  TO(from, F, i8, NX_I8)     TO(from, F, u8, NX_U8)   TO(from, F, i16, NX_I16) \
  TO(from, F, u16, NX_U16)   TO(from, F, i32, NX_I32) TO(from, F, u32, NX_U32) \
  TO(from, F, i64, NX_I64)   TO(from, F, u64, NX_U64)

static const nxg_map_kernel casts[NXI_DTYPE_COUNT][NXI_DTYPE_COUNT] = {
  ROWS(i8, NX_I8)   ROWS(u8, NX_U8)   ROWS(i16, NX_I16) ROWS(u16, NX_U16) ROWS(i32, NX_I32)
  ROWS(u32, NX_U32) ROWS(i64, NX_I64) ROWS(u64, NX_U64) ROWS(f32, NX_F32) ROWS(f64, NX_F64)
};
/* clang-format on */

/* Conversions from bool, to small floats from other types than f32, and of i4 and u4. */
static void cast_scalars(const nxg_step *s, void *result, const void *const *operands, int64_t n) {
  nx_dtype from = s->widen ? NX_F32 : s->dtype;
  int64_t size = nxi_dtype_size(from), result_size = nxi_dtype_size(s->result);
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = nxi_load_element((const char *)operands[0] + i * size, from);
    nxi_store_element((char *)result + i * result_size, s->result,
                      nxi_cast_bits(bits, from, s->result));
  }
}

nxg_map_kernel nxg_find_cast(nx_dtype from, nx_dtype to) {
  return casts[from][to] ? casts[from][to] : cast_scalars;
}

static void same_bits(const nxg_step *s, void *result, const void *const *operands, int64_t n) {
  memcpy(result, operands[0], (size_t)(n * nxi_dtype_size(s->result)));
}

static void truth(const nxg_step *s, void *result, const void *const *operands, int64_t n) {
  const uint8_t *a = operands[0];
  uint8_t *out = result;
  (void)s;
  for (int64_t i = 0; i < n; i++) out[i] = a[i] != 0;
}

nxg_map_kernel nxg_find_bitcast(nx_dtype from, nx_dtype to) {
  if (nxi_is_nibble(to)) return cast_scalars; /* wraps: the same four bits */
  return from == NX_BOOL || to == NX_BOOL ? truth : same_bits;
}
