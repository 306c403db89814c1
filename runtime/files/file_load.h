/* SPDX-License-Identifier: ISC */
/* Between arrays in files and tensors; file_load.c. */
#ifndef NXI_FILE_LOAD_H
#define NXI_FILE_LOAD_H

#include "file.h"
#include "runtime/realize/run.h"
#include "runtime/record/context.h"

/* A tensor of the array: it uses the file's pages if they are aligned and in this machine's byte
 * order, else a copy. Its storage is not read only: an assigned value gets memory of its own. Takes
 * the reference of the file, also on failure; without a file the elements are copied. Statuses of
 * nxi_load_check, NX_OUT_OF_MEMORY. No lock. */
nx_status nxi_load_array(nxi_action *a, const char *op, const nxi_file_array *x, nx_tensor **out);
/* NX_UNSUPPORTED_DTYPE; NX_PARSE: a shape that no tensor can have. */
nx_status nxi_load_check(const char *op, const nxi_file_array *x, nxi_diag *d);
/* A tensor over elements that lie in this buffer, whose reference it takes. NULL without memory. No
 * lock. */
nx_tensor *nxi_load_tensor(nx_context *c, const nxi_file_array *x, nxi_buffer *b);
/* Writes the elements of a tensor, in C order; `from` is its storage's memory, which is kept in
 * place. No lock. */
nx_status nxi_save_elements(nxi_action *a, const nx_tensor *t, const nxi_buffer *from,
                            nxi_file_writer *w);

#endif
