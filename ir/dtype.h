/* SPDX-License-Identifier: ISC */
/* Element types inside the library: classes, sizes, and exact conversions of single scalars.
 * A scalar travels as 64 bits: the element's own bits, zero-extended (bool is 0 or 1). */
#ifndef NXI_DTYPE_H
#define NXI_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "nx/dtype.h"

typedef enum nxi_class {
  NXI_BOOL = 1,
  NXI_INT = 2,
  NXI_UINT = 4,
  NXI_FLOAT = 8,
  NXI_COMPLEX = 16,
  NXI_STORED = 32
} nxi_class;
/* Masks for the classes of the contract: B, I, F, C, S. */
enum {
  NXI_B = NXI_BOOL,
  NXI_I = NXI_INT | NXI_UINT,
  NXI_F = NXI_FLOAT,
  NXI_C = NXI_COMPLEX,
  NXI_S = NXI_STORED
};
enum { NXI_DTYPE_COUNT = 25 };

typedef struct nxi_dtype_info {
  const char *name;
  uint8_t bits; /* in memory */
  uint8_t cls;  /* one nxi_class */
} nxi_dtype_info;

extern const nxi_dtype_info nxi_dtypes[NXI_DTYPE_COUNT]; /* row 0 is "no dtype" */

static inline bool nxi_dtype_valid(nx_dtype t) { return t > 0 && t < NXI_DTYPE_COUNT; }
static inline nxi_class nxi_dtype_class(nx_dtype t) { return (nxi_class)nxi_dtypes[t].cls; }
static inline bool nxi_is_float(nx_dtype t) { return nxi_dtypes[t].cls == NXI_FLOAT; }
/* Floats that passes know as the integers of their bits (passes/graph/stored_types.c). */
static inline bool nxi_is_stored(nx_dtype t) { return nxi_dtypes[t].cls == NXI_STORED; }
static inline bool nxi_is_complex(nx_dtype t) { return nxi_dtypes[t].cls == NXI_COMPLEX; }
/* The dtype of the two parts of a complex one; any other is itself. */
static inline nx_dtype nxi_part_dtype(nx_dtype t) {
  return t == NX_C32 ? NX_F16 : t == NX_C64 ? NX_F32 : t == NX_C128 ? NX_F64 : t;
}
static inline int nxi_parts(nx_dtype t) { return nxi_is_complex(t) ? 2 : 1; }
static inline bool nxi_is_signed(nx_dtype t) { return nxi_dtypes[t].cls == NXI_INT; }
static inline bool nxi_is_integer(nx_dtype t) { return (nxi_dtypes[t].cls & NXI_I) != 0; }
/* i4, u4 and f4e2m1: two elements in a byte of a tensor's memory, the even one in the low half. */
static inline bool nxi_is_nibble(nx_dtype t) { return nxi_dtypes[t].bits == 4; }
/* Bytes of one element outside of packed memory. There an i4 or u4 has a byte of its own, where i4
 * is sign-extended. */
static inline int64_t nxi_dtype_size(nx_dtype t) { return (nxi_dtypes[t].bits + 7) / 8; }
/* Bytes of n elements as tensors lie in memory. */
static inline int64_t nxi_dtype_bytes(nx_dtype t, int64_t n) {
  return nxi_is_nibble(t) ? n / 2 + n % 2 : n * nxi_dtype_size(t);
}
/* Whether kernels have elements of this dtype: i4 and u4 are bytes there, complex numbers pairs of
 * elements, and stored floats their bits. */
static inline bool nxi_is_element(nx_dtype t) {
  return nxi_dtype_valid(t) && !nxi_is_nibble(t) && !nxi_is_complex(t) && !nxi_is_stored(t);
}
/* The complex dtype whose parts are of dtype t, 0 if there is none. */
static inline nx_dtype nxi_pair_dtype(nx_dtype t) {
  return t == NX_F16 ? NX_C32 : t == NX_F32 ? NX_C64 : t == NX_F64 ? NX_C128 : 0;
}
/* f16, bf16 and the two f8: compute in f32, round each recorded result. */
static inline bool nxi_is_small_float(nx_dtype t) {
  return nxi_is_float(t) && nxi_dtypes[t].bits < 32;
}
/* The dtype arithmetic runs in: f32 for small floats, else t itself. */
static inline nx_dtype nxi_compute_dtype(nx_dtype t) { return nxi_is_small_float(t) ? NX_F32 : t; }

/* Exact scalar conversions, contract.md section 3 "cast": truncate and saturate F -> I with NaN ->
 * 0, wrap I -> I, round once to nearest even I -> F and F -> F, x != 0 to bool with NaN true. No
 * complex dtypes. */
uint64_t nxi_cast_bits(uint64_t bits, nx_dtype from, nx_dtype to);
/* Small floats to and from f32/f64, to nearest even, NaN kept quiet. */
uint16_t nxi_f32_to_bf16(float x);
uint16_t nxi_f32_to_f16(float x);
uint16_t nxi_f64_to_bf16(double x);
uint16_t nxi_f64_to_f16(double x);
float nxi_bf16_to_f32(uint16_t h);
float nxi_f16_to_f32(uint16_t h);
/* One element that has bytes of its own, as scalar bits (a bool byte other than 0 reads as 1), and
 * back. */
uint64_t nxi_load_element(const void *p, nx_dtype t);
void nxi_store_element(void *p, nx_dtype t, uint64_t bits);
/* Element i of a tensor's memory. */
uint64_t nxi_load_at(const void *memory, nx_dtype t, int64_t i);
void nxi_store_at(void *memory, nx_dtype t, int64_t i, uint64_t bits);
/* True if both are NaN of dtype t, or the bits are equal: the equality of every test. */
bool nxi_same_bits(uint64_t a, uint64_t b, nx_dtype t);

/* The alignment of an element; for complex dtypes that of a part. */
static inline uintptr_t nxi_dtype_alignment(nx_dtype t) {
  uintptr_t part = nxi_dtypes[t].bits / 8u / (nxi_dtypes[t].cls == NXI_COMPLEX ? 2 : 1);
  return part ? part : 1;
}

/* Bit casts of the C types. */
static inline uint64_t nxi_bits_f64(double x) {
  union {
    double f;
    uint64_t u;
  } v = {x};
  return v.u;
}
static inline double nxi_f64_bits(uint64_t u) {
  union {
    uint64_t u;
    double f;
  } v = {u};
  return v.f;
}
static inline uint64_t nxi_bits_f32(float x) {
  union {
    float f;
    uint32_t u;
  } v = {x};
  return v.u;
}
static inline float nxi_f32_bits(uint64_t u) {
  union {
    uint32_t u;
    float f;
  } v = {(uint32_t)u};
  return v.f;
}

#endif
