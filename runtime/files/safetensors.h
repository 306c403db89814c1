/* SPDX-License-Identifier: ISC */
/* What reader and writer of .safetensors files share. */
#ifndef NXI_SAFETENSORS_H
#define NXI_SAFETENSORS_H

#include <stdbool.h>

#include "nx/dtype.h"

enum { NXI_SAFETENSORS_HEADER = 100000000 }; /* the most bytes of JSON that a file may have */

typedef struct nxi_safetensors_type {
  const char *name;
  nx_dtype dtype; /* 0: has no counterpart here */
  int bits;
} nxi_safetensors_type;

/* Whether a text may be a string of the header. */
bool nxi_utf8_valid(const char *text);
/* How the format spells a dtype; NULL if it has none. */
const char *nxi_safetensors_name(nx_dtype dtype);

#endif
