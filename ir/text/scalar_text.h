/* SPDX-License-Identifier: ISC */
/* Scalars as text: what is printed parses back to the same bits, in every locale.
 *
 * Integers are decimal, bool is true or false. Floats are decimal where a short decimal is exact by
 * the parser's own rule, else hexadecimal (0x1.8p-3); also inf, nan, and nan:0x7fc00001 for other
 * NaN bits. Complex numbers are two floats, 1-0.5i or -0+infi; either part alone leaves the other
 * +0. */
#ifndef NXI_SCALAR_TEXT_H
#define NXI_SCALAR_TEXT_H

#include "ir/diag.h"
#include "ir/dtype.h"

void nxi_print_scalar(nxi_text *out, nx_dtype type, uint64_t bits);
/* The whole of s[0, n) as a scalar of a dtype. NULL, or a sentence that says what is wrong. */
const char *nxi_parse_scalar(const char *s, uint32_t n, nx_dtype type, uint64_t *bits);
/* Two parts of dtype `part` as one complex number. */
void nxi_print_complex(nxi_text *out, nx_dtype part, uint64_t re, uint64_t im);
const char *nxi_parse_complex(const char *s, uint32_t n, nx_dtype part, uint64_t *re, uint64_t *im);
/* An element of memory, of any dtype. Nothing is written where the text is refused. */
void nxi_print_element(nxi_text *out, nx_dtype type, const void *element);
const char *nxi_parse_element(const char *s, uint32_t n, nx_dtype type, void *element);
/* A decimal integer in [low, high], the whole of s[0, n). */
bool nxi_parse_int(const char *s, uint32_t n, int64_t low, int64_t high, int64_t *x);

#endif
