/* SPDX-License-Identifier: ISC */
/* The structures of DLPack, as its specification lays them out ("C API": the versioned one of
 * DLPack 1.0 to 1.2, and the one of 0.x, which has no version). Only the two tags are DLPack's
 * names; tests check the layout. The structures are declared here because packaged headers are
 * older than the versioned structure. */
#ifndef NXI_DLPACK_ABI_H
#define NXI_DLPACK_ABI_H

#include <stdint.h>

/* A change of the major version changes the layout behind `flags`; a minor one adds values (1.1:
 * the 8-bit floats). */
enum { NXI_DLPACK_MAJOR = 1, NXI_DLPACK_MINOR = 1 };

enum { NXI_DLPACK_CPU = 1 }; /* device type */

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
