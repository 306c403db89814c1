/* SPDX-License-Identifier: ISC */
/* NumPy's .npy files, versions 1 to 3. */
#ifndef NX_IO_H
#define NX_IO_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor over the file, which is mapped into memory: read when touched, never written; an assign moves the
 * tensor to memory of its own. Fortran order gives a permuted view. NX_IO if the file cannot be read; NX_PARSE with the
 * byte offset if it is malformed, or truncated; NX_UNSUPPORTED_DTYPE.
 *
 * The file must keep its length while anything is computed from it: reading what somebody has cut off since is SIGBUS,
 * as with any mapped file, and changed bytes may be read changed or not. Who writes a new file and renames it, as
 * nx_save_npy does, disturbs nobody. Where that cannot be relied on, read the file and import a copy. */
NX_API nx_status nx_load_npy(nx_context *context, const char *path, nx_tensor **out);
/* Realises and writes in C order, to a temporary file that then takes the name. bf16 is written as '<V2'. */
NX_API nx_status nx_save_npy(nx_tensor *tensor, const char *path, const nx_run_options *options);

#ifdef __cplusplus
}
#endif
#endif
