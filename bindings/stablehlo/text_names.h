/* SPDX-License-Identifier: ISC */
/* Names of values while a text is read. */
#ifndef NXH_TEXT_NAMES_H
#define NXH_TEXT_NAMES_H

#include "text.h"

/* A name, which nothing has yet, for n values from `first` on, until nxh_unbind. */
bool nxh_bind(nxh_reader *r, nxh_word name, nxh_value first, uint32_t n);
/* Ends the visibility of all but the first n bindings. */
void nxh_unbind(nxh_reader *r, uint32_t n);
/* %name or %name#2 */
bool nxh_read_value(nxh_reader *r, nxh_value *out);

#endif
