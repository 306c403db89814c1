/* SPDX-License-Identifier: ISC */
/* Tensors of memory that is there already: of an import, a file or another library. The callers
 * (import.c, runtime/files) check what they were given and say here what the memory is. */
#ifndef NXI_IMPORT_H
#define NXI_IMPORT_H

#include "ir/diag.h"
#include "ir/graph/view.h"
#include "nx/nx.h"
#include "node.h"

typedef struct nxi_import_source {
  const char *op;      /* whose failures are reported */
  nx_import_desc desc; /* but for its rank, shape, strides and offset: those are the view's */
  nxg_view view;
  int64_t elements; /* of the storage */
  bool pack;        /* a copy holds the view's elements alone, in C order, where that is less */
  bool owned;       /* mode NX_IMPORT_COPY, without a copy: nobody else will ever use the memory */
  bool read_only;   /* not to be assigned, a copy neither */
  int32_t device;   /* of the tensor; a buffer of the device itself comes from nxi_import_buffer */
  bool file;        /* the memory is pages of a file that shows what is written */
} nxi_import_source;
/* The tensor of a description that has been checked; a base that is copied need not be aligned.
 * Reports failures, which leave *out and the release callback alone. No lock. */
nx_status nxi_import(nx_context *c, nxi_import_source *source, nx_tensor **out);
/* The same over a buffer that is there, mode NX_IMPORT_COPY; takes it, also on failure. */
nx_status nxi_import_buffer(nx_context *c, const nxi_import_source *source, nxi_buffer *b,
                            nx_tensor **out);

#endif
