/* SPDX-License-Identifier: ISC */
/* Buffers of Nx. They are bigarrays of rank 1; element types that Bigarray has not are a base kind
 * and a mark in the flags, which Nx's own header puts there. So this file is compiled with Nx at
 * hand, or with the header of the tests that stands in for it. */
#include "stubs.h"

#include <caml/version.h>
#include <nx_buffer_stubs.h>

typedef struct kind {
  int base;     /* a kind of Bigarray of the same width: what the runtime sees */
  int extended; /* what Nx sees */
} kind;

/* The kinds under both halves are those that Nx takes. */
#if OCAML_VERSION >= 50200
#define HALF     CAML_BA_FLOAT16, CAML_BA_FLOAT16
#define BFLOAT16 CAML_BA_FLOAT16, NX_BA_BFLOAT16
#else
#define HALF     CAML_BA_UINT16, NX_BA_FLOAT16
#define BFLOAT16 CAML_BA_UINT16, NX_BA_BFLOAT16
#endif

/* In the order of Nx_engine.dtype. */
static const kind kinds[] = {
    {CAML_BA_UINT8, NX_BA_BOOL},
    {CAML_BA_UINT8, NX_BA_INT4},
    {CAML_BA_UINT8, NX_BA_UINT4},
    {CAML_BA_SINT8, CAML_BA_SINT8},
    {CAML_BA_UINT8, CAML_BA_UINT8},
    {CAML_BA_SINT16, CAML_BA_SINT16},
    {CAML_BA_UINT16, CAML_BA_UINT16},
    {CAML_BA_INT32, CAML_BA_INT32},
    {CAML_BA_INT32, NX_BA_UINT32},
    {CAML_BA_INT64, CAML_BA_INT64},
    {CAML_BA_INT64, NX_BA_UINT64},
    {CAML_BA_UINT8, NX_BA_FP8_E4M3},
    {CAML_BA_UINT8, NX_BA_FP8_E5M2},
    {HALF},
    {BFLOAT16},
    {CAML_BA_FLOAT32, CAML_BA_FLOAT32},
    {CAML_BA_FLOAT64, CAML_BA_FLOAT64},
    {CAML_BA_INT32, CAML_BA_INT32}, /* pairs of halves: Nx has none */
    {CAML_BA_COMPLEX32, CAML_BA_COMPLEX32},
    {CAML_BA_COMPLEX64, CAML_BA_COMPLEX64},
};

/* The storage of a tensor as a buffer, for reading and writing: the interface cannot say which. */
value nx_ocaml_buffer(value tensor, value dtype) {
  int d = Int_val(dtype);
  intnat n = -(intnat)nx_dtype_bits(nx_ocaml_dtype(dtype)) / 8;
  if (kinds[d].extended == NX_BA_INT4 || kinds[d].extended == NX_BA_UINT4) { /* two in a byte */
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(Tensor_val(tensor), &info);
    n = (intnat)info.storage_elements;
  }
  value array = nx_ocaml_map(tensor, NX_MAP_READ | NX_MAP_WRITE, kinds[d].base, n);
  struct caml_ba_array *b = Caml_ba_array_val(array);
  b->flags = nx_buffer_store_extended_kind((int)b->flags, kinds[d].extended);
  return array;
}
