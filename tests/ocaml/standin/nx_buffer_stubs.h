/* SPDX-License-Identifier: ISC */
/* Stands in for the header of Nx's buffers: marks of the element types that Bigarray has not. The
 * names are Nx's, the numbers are not. */
#ifndef NX_BUFFER_STUBS_H
#define NX_BUFFER_STUBS_H

enum {
  NX_BA_BFLOAT16 = 64,
  NX_BA_BOOL,
  NX_BA_INT4,
  NX_BA_UINT4,
  NX_BA_FP8_E4M3,
  NX_BA_FP8_E5M2,
  NX_BA_UINT32,
  NX_BA_UINT64,
  NX_BA_FLOAT16 /* of OCaml itself from 5.2 on */
};

enum { NX_BUFFER_MARK_SHIFT = 12, NX_BUFFER_MARK_MASK = 0xFF };

/* The runtime leaves these bits of a bigarray's flags alone. */
static inline int nx_buffer_store_extended_kind(int flags, int kind) {
  return (flags & ~(NX_BUFFER_MARK_MASK << NX_BUFFER_MARK_SHIFT)) | kind << NX_BUFFER_MARK_SHIFT;
}

#endif
