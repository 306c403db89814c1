/* SPDX-License-Identifier: ISC */
/* The innermost loops of products of small integers, one set for each instruction set. A set packs
 * parts of the operands into panels and multiplies a panel of rows by a panel of columns. All sums
 * are those of integers modulo 2^32, so the sets give the same bits.
 *
 * A panel has `width` rows of A (or columns of B), and along the inner extent groups of `group`
 * elements: group after group, in each of them one row after the other. What is missing at the end
 * counts as 0. Elements are words of 16 bits, or bytes. The instruction that multiplies bytes takes
 * those of B without a sign and those of A with one. So bytes of the other kind move by 128 when
 * they are packed, and the sum that is missing then is a term of the row or of the column. */
#ifndef NXI_INTEGERS_KERNELS_H
#define NXI_INTEGERS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/dtype.h"

/* Widest panels, of rows and columns. */
enum { NXI_INTEGERS_ROWS = 8, NXI_INTEGERS_COLUMNS = 32 };

/* A part of an operand that becomes a panel. Strides count elements. */
typedef struct nxi_integers_source {
  const void *base;
  nx_dtype dtype;        /* i8, u8; of words i16 too */
  int64_t across, along; /* strides between rows (columns), and of the inner extent */
  int64_t width, depth;  /* rows that there are, at most those of a panel; the inner extent */
  bool other_has_sign;   /* the elements of the other operand */
} nxi_integers_source;

typedef struct nxi_integers_kernels {
  int32_t rows, columns; /* of a panel */
  int32_t group, size;   /* elements of a group; bytes of one */
  /* Writes a panel, and the terms of all its rows (columns) if elements are bytes. */
  void (*pack_rows)(const nxi_integers_source *s, void *panel, int32_t *terms);
  void (*pack_columns)(const nxi_integers_source *s, void *panel, int32_t *terms);
  /* c = a b + terms, or c + a b + terms. */
  void (*multiply)(int64_t groups, const void *a, const void *b, const int32_t *row_terms,
                   const int32_t *column_terms, bool add, int32_t *c, int64_t ld);
} nxi_integers_kernels;

extern const nxi_integers_kernels nxi_integers_generic;
#if defined(__x86_64__)
extern const nxi_integers_kernels nxi_integers_avx2, nxi_integers_avx512;
/* With VNNI: words, and bytes. */
extern const nxi_integers_kernels nxi_integers_vnni, nxi_integers_vnni_bytes;
#endif

#endif
