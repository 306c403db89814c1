/* SPDX-License-Identifier: ISC */
/* Files of named arrays: what .npz (zip.c) and .safetensors (safetensors.c) have in common. The
 * reader of a format fills the entries; archive.c looks after names, order and access. No reader
 * allocates more than NXI_ARCHIVE_FACTOR times the size of its file plus NXI_ARCHIVE_BASE bytes. */
#ifndef NXI_ARCHIVE_H
#define NXI_ARCHIVE_H

#include "ir/alloc.h"
#include "nx/io.h"
#include "file.h"

enum { NXI_ARCHIVE_FACTOR = 32, NXI_ARCHIVE_BASE = 8192 };

typedef enum nxi_archive_format { NXI_NPZ, NXI_SAFETENSORS } nxi_archive_format;

typedef struct nxi_entry {
  const char *name;
  int64_t position; /* offset in the file of its declaration, at which its faults are reported */
  int64_t offset;   /* offset of its bytes in the file */
  int64_t packed;   /* number of its bytes in the file */
  int64_t bytes;    /* number of its bytes when unpacked */
  /* .npz: a .npy file of these bytes */
  bool deflated;
  uint32_t crc;
  /* .safetensors: the elements */
  nx_dtype dtype; /* 0: has no counterpart here */
  int32_t rank;
  const int64_t *shape;
  const char *type; /* as the file spells it */
} nxi_entry;

typedef struct nxi_metadatum {
  const char *key, *value;
} nxi_metadatum;

struct nx_archive {
  nxi_file *file;
  nxi_archive_format format;
  nxi_arena arena; /* names, shapes, metadata */
  nxi_entry *entries;
  nxi_metadatum *metadata;
  uint32_t n, capacity, n_metadata, metadata_capacity;
  uint32_t *order; /* entries by name */
  bool watched;
  const char *path; /* as it was opened, in the arena; or NULL */
};

/* Opens the archive in a file. Takes the reference of the file, also on failure. NX_PARSE,
 * NX_OUT_OF_MEMORY. */
nx_status nxi_archive_read(nxi_file *file, nx_archive **out, nxi_diag *d);

/* ---- the readers. *a has its file; on failure entries that were made stay in *a. */
nx_status nxi_zip_read(nx_archive *a, nxi_diag *d);
nx_status nxi_safetensors_read(nx_archive *a, nxi_diag *d);
/* Records a failure at a byte of the file. */
nx_status nxi_archive_bad(nxi_diag *d, nx_status status, int64_t position, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A new entry, zeroed; NULL without memory. */
nxi_entry *nxi_archive_add(nx_archive *a);
/* A name of the file's bytes with a NUL behind it, in the arena; NULL without memory. */
const char *nxi_archive_name(nx_archive *a, const char *bytes, size_t n);

/* ---- inflate.c: a raw deflate stream, read in order */
typedef struct nxi_inflate nxi_inflate;
/* True if the library was built with zlib. */
extern const bool nxi_inflate_works;
nx_status nxi_inflate_begin(const void *packed, int64_t bytes, nxi_inflate **out, nxi_diag *d);
/* Reads exactly that many more bytes. NX_PARSE: the stream is malformed or ends. */
nx_status nxi_inflate_next(nxi_inflate *i, void *to, int64_t bytes, nxi_diag *d);
/* NX_PARSE unless the stream ends here, its packed bytes do, too, and all bytes have this
 * checksum. */
nx_status nxi_inflate_check(nxi_inflate *i, uint32_t crc, nxi_diag *d);
void nxi_inflate_end(nxi_inflate *i);

#endif
