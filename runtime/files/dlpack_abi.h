/* SPDX-License-Identifier: ISC */
/* The structures of DLPack, as its specification lays them out ("C API": the versioned one of
 * DLPack 1.0 to 1.2, and the one of 0.x, which has no version). Only the two tags are DLPack's
 * names; tests check the layout. The structures are declared here because packaged headers are
 * older than the versioned structure. */
#ifndef NXI_DLPACK_ABI_H
#define NXI_DLPACK_ABI_H

#include <stdbool.h>
#include <stdint.h>

#include "nx/dtype.h"

/* A change of the major version changes the layout behind `flags`; a minor one adds values (1.1:
 * the 8-bit floats). */
enum { NXI_DLPACK_MAJOR = 1, NXI_DLPACK_MINOR = 1 };

/* Types of devices: memory of the host, and such memory that is page-locked for a GPU, which is
 * memory of the host for whoever reads it there. */
enum { NXI_DLPACK_CPU = 1, NXI_DLPACK_CUDA_HOST = 3, NXI_DLPACK_ROCM_HOST = 11 };
static inline bool nxi_dlpack_is_host(int32_t type) {
  return type == NXI_DLPACK_CPU || type == NXI_DLPACK_CUDA_HOST || type == NXI_DLPACK_ROCM_HOST;
}

/* Type codes; the number of bits is a separate field. */
enum {
  NXI_DLPACK_INT = 0,
  NXI_DLPACK_UINT = 1,
  NXI_DLPACK_FLOAT = 2,
  NXI_DLPACK_BFLOAT = 4,
  NXI_DLPACK_COMPLEX = 5,
  NXI_DLPACK_BOOL = 6, /* of 8 bits */
  NXI_DLPACK_F8E4M3FN = 10,
  NXI_DLPACK_F8E4M3FNUZ = 11,
  NXI_DLPACK_F8E5M2 = 12,
  NXI_DLPACK_F8E5M2FNUZ = 13,
  NXI_DLPACK_F8E8M0FNU = 14,
  NXI_DLPACK_F4E2M1FN = 17
};

/* dtype, type code, bits: what DLPack and the library have in common. */
#define NXI_DLPACK_DTYPES(X)                 \
  X(NX_BOOL, NXI_DLPACK_BOOL, 8)             \
  X(NX_I4, NXI_DLPACK_INT, 4)                \
  X(NX_U4, NXI_DLPACK_UINT, 4)               \
  X(NX_I8, NXI_DLPACK_INT, 8)                \
  X(NX_U8, NXI_DLPACK_UINT, 8)               \
  X(NX_I16, NXI_DLPACK_INT, 16)              \
  X(NX_U16, NXI_DLPACK_UINT, 16)             \
  X(NX_I32, NXI_DLPACK_INT, 32)              \
  X(NX_U32, NXI_DLPACK_UINT, 32)             \
  X(NX_I64, NXI_DLPACK_INT, 64)              \
  X(NX_U64, NXI_DLPACK_UINT, 64)             \
  X(NX_F8E4M3, NXI_DLPACK_F8E4M3FN, 8)       \
  X(NX_F8E5M2, NXI_DLPACK_F8E5M2, 8)         \
  X(NX_F16, NXI_DLPACK_FLOAT, 16)            \
  X(NX_BF16, NXI_DLPACK_BFLOAT, 16)          \
  X(NX_F32, NXI_DLPACK_FLOAT, 32)            \
  X(NX_F64, NXI_DLPACK_FLOAT, 64)            \
  X(NX_C32, NXI_DLPACK_COMPLEX, 32)          \
  X(NX_C64, NXI_DLPACK_COMPLEX, 64)          \
  X(NX_C128, NXI_DLPACK_COMPLEX, 128)        \
  X(NX_F8E4M3FNUZ, NXI_DLPACK_F8E4M3FNUZ, 8) \
  X(NX_F8E5M2FNUZ, NXI_DLPACK_F8E5M2FNUZ, 8) \
  X(NX_F8E8M0, NXI_DLPACK_F8E8M0FNU, 8)      \
  X(NX_F4E2M1, NXI_DLPACK_F4E2M1FN, 4)

/* Flags of a versioned tensor. */
enum {
  NXI_DLPACK_READ_ONLY = 1,
  NXI_DLPACK_IS_COPIED = 2, /* only the consumer uses the memory */
  NXI_DLPACK_SUBBYTE_PADDED =
      /* each element of a type of less than 8 bits has a byte of its own; without the flag they are
       * packed */
  4
};

typedef struct nxi_dlpack_device {
  int32_t type, id;
} nxi_dlpack_device;

typedef struct nxi_dlpack_dtype {
  uint8_t code, bits;
  uint16_t lanes;
} nxi_dlpack_dtype;

/* 0: the library has none. */
static inline nx_dtype nxi_dtype_of_dlpack(nxi_dlpack_dtype x) {
  if (x.lanes != 1) return 0;
  switch (x.code << 8 | x.bits) {
#define CASE(dtype, code, bits) \
  case (code) << 8 | (bits): return (dtype);
    NXI_DLPACK_DTYPES(CASE)
#undef CASE
    default: return 0;
  }
}

typedef struct nxi_dlpack_tensor {
  void *data;
  nxi_dlpack_device device;
  int32_t rank;
  nxi_dlpack_dtype dtype;
  int64_t *shape, *strides; /* in elements */
  uint64_t byte_offset;     /* distance of the element with all indices 0 from `data` */
} nxi_dlpack_tensor;

struct DLManagedTensor {
  nxi_dlpack_tensor tensor;
  void *manager;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  nxi_dlpack_tensor tensor;
};

#endif
