/* SPDX-License-Identifier: ISC */
/* Scalars as text: what is printed parses back to the same bits, in every locale.
 *
 * Integers are decimal, bool is true or false. Floats are decimal if the parser reads a short
 * decimal back exactly, else hexadecimal (0x1.8p-3); also inf, nan, and nan:0x7fc00001 for other
 * NaN bits. Complex numbers are two floats, 1-0.5i or -0+infi; if only one part is written, the
 * other is +0. */
#ifndef NXI_SCALAR_TEXT_H
#define NXI_SCALAR_TEXT_H

#include "ir/diag.h"
#include "ir/dtype.h"

void nxi_print_scalar(nxi_text *out, nx_dtype type, uint64_t bits);
/* Parses all of s[0, n) as a scalar of a dtype. Returns NULL, or a sentence that describes the
 * error. */
const char *nxi_parse_scalar(const char *s, uint32_t n, nx_dtype type, uint64_t *bits);
/* Prints two parts of dtype `part` as a complex number. */
void nxi_print_complex(nxi_text *out, nx_dtype part, uint64_t re, uint64_t im);
const char *nxi_parse_complex(const char *s, uint32_t n, nx_dtype part, uint64_t *re, uint64_t *im);
/* Prints an element in memory, of any dtype; or parses one, and writes nothing if the text is not
 * valid. */
void nxi_print_element(nxi_text *out, nx_dtype type, const void *element);
const char *nxi_parse_element(const char *s, uint32_t n, nx_dtype type, void *element);
/* Parses all of s[0, n) as a decimal integer in [low, high]. */
bool nxi_parse_int(const char *s, uint32_t n, int64_t low, int64_t high, int64_t *x);

#endif
