/* SPDX-License-Identifier: ISC */
/* Element types that the library does not compute with. A tensor of one is a tensor of its storage,
 * whose elements are the bits of the type, or numbers of a wider one among which those of the type
 * are. What computes has them exactly in a wider type, and each result is rounded once. */
#ifndef NXH_FORMS_H
#define NXH_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nx/dtype.h"

typedef enum nxh_form_kind {
  NXH_CAST,      /* the library casts it, and does nothing else */
  NXH_IEEE,      /* infinities, and NaNs above them */
  NXH_FNUZ,      /* no infinities, no -0: its bits are the NaN */
  NXH_FINITE,    /* numbers alone: what is beyond is the largest, and a NaN becomes -0 */
  NXH_PRECISION, /* numbers of the storage with fewer bits of fraction */
  NXH_WRAPS      /* integers of the storage */
} nxh_form_kind;

typedef struct nxh_form {
  const char *name; /* as programs have it */
  nx_dtype storage, real;
  uint8_t kind, bits, fraction, bias;
} nxh_form;

/* The form of an element type, or NULL. */
const nxh_form *nxh_find_form(const char *name, size_t length);
/* A number as an element of the storage, rounded once. Not of integers. */
uint64_t nxh_form_bits(const nxh_form *f, double x);
/* Whether an integer is one of the type or, as unsigned ones are sometimes written, of its width;
 * *out: as an element of the storage. */
bool nxh_form_integer(const nxh_form *f, bool negative, uint64_t magnitude, uint64_t *out);
/* Bits of the type as an element of the storage. */
uint64_t nxh_form_element(const nxh_form *f, uint64_t bits);
/* Bytes that one has among the bytes of a program, and n of these as elements of the storage. */
static inline size_t nxh_form_bytes(const nxh_form *f) { return (f->bits + 7u) / 8; }
void nxh_form_unpack(const nxh_form *f, const void *bytes, size_t n, void *to);

#endif
