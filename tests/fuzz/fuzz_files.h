/* SPDX-License-Identifier: ISC */
/* Everything that can be done with the bytes of a file: opened, described, loaded, read. */
#ifndef NXT_FUZZ_FILES_H
#define NXT_FUZZ_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "nx/nx.h"

typedef struct file_outcome {
  nx_status opened;       /* of the archive, or of the .npy file */
  int64_t index;          /* of its failure */
  size_t largest_opening; /* the most bytes allocated at once until it was open */
  size_t largest;         /* ... and until all was loaded */
  size_t count, loaded;   /* arrays there, arrays that could be read */
  nx_status worst;        /* of those that could not */
  size_t packed;          /* neither: compressed, in a library without zlib, which says so */
} file_outcome;

/* The bytes may be freed when it returns. */
void use_file(nx_context *context, const void *data, size_t size, file_outcome *out);

#endif
