/* SPDX-License-Identifier: ISC */
/* Tensors and files: arrays without a header, NumPy's .npy, and the archives .npz and .safetensors.
 *
 * Files are mapped into memory: what is loaded costs its touched pages, when they are touched, and
 * is shared with every process that maps the file. A malformed file is NX_PARSE with the byte
 * offset (nx_error.index), whatever is wrong with it; no more memory is taken for one than a small
 * multiple of its size. */
#ifndef NX_IO_H
#define NX_IO_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays in files of no format, mapped into memory */

enum {
  NX_FILE_READ,    /**< an immutable import: never written, assigning it is NX_NOT_WRITABLE */
  NX_FILE_PRIVATE, /**< the tensor's to write; what is written stays out of the file */
  NX_FILE_SHARED   /**< a shared import: what is written, by host code or by assigns, is in it */
};
enum {
  NX_FILE_FORTRAN =
      1, /**< the first axis is the one whose elements lie next to each other: a permuted view */
  NX_FILE_CREATE = 2 /**< make the file if it is not there; NX_FILE_SHARED with a path only */
};
typedef struct nx_import_file_desc {
  size_t size; /**< sizeof(nx_import_file_desc) */
  /** NULL: fd, which is open for what mode does, stays the caller's, and may be closed at once */
  const char *path;
  int32_t fd;
  uint32_t mode, flags;
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape; /**< one extent may be -1: what the rest of the file holds */
  int64_t offset;       /**< of the first element, in bytes */
} nx_import_file_desc;
/** A tensor over that part of the file. Only pages that are touched are read. A file that is longer
 * than the array is used in part. One that is shorter is made longer, with zeros, and with its
 * space on the disk, if it is shared (the -1 then counts what is there); otherwise that is NX_IO.
 * Elements have this machine's byte order.
 *
 * Offsets need no alignment to pages. One that is not a multiple of the element's size is
 * NX_INVALID_ARGUMENT in a shared file; else the part is read at once and copied.
 *
 * While it is mapped the file must keep its length: touching what somebody has cut off is SIGBUS.
 * What others write to the file appears in a shared tensor; in the others it appears or does not,
 * so a file that they map should be replaced, not rewritten. Shared pages reach the disk when the
 * system writes them; who cannot wait calls fsync.
 *
 * NX_IO, with the path and the sizes; NX_INVALID_ARGUMENT: also bytes that are no whole number of
 * rows for the -1. NX_OUT_OF_MEMORY. *out is one reference, the caller's, of a tensor on device 0;
 * untouched on failure. */
NX_API nx_status nx_import_file(nx_context *context, const nx_import_file_desc *desc,
                                nx_tensor **out);

/* ---- .npy, versions 1 to 3 */

/** A tensor over the file, which is mapped into memory: read when touched, never written; an assign
 * moves the tensor to memory of its own. Fortran order gives a permuted view. NX_IO if the file
 * cannot be read; NX_PARSE with the byte offset if it is malformed, or truncated;
 * NX_UNSUPPORTED_DTYPE.
 *
 * The file must keep its length while anything is computed from it: reading what somebody has cut
 * off since is SIGBUS, as with any mapped file, and changed bytes may be read changed or not. Who
 * writes a new file and renames it, as nx_save_npy does, disturbs nobody. Where that cannot be
 * relied on, read the file and import a copy. *out is one reference, the caller's, of a tensor on
 * device 0; untouched on failure. */
NX_API nx_status nx_load_npy(nx_context *context, const char *path, nx_tensor **out);
/** Realises and writes in C order, to a temporary file that is synced and then takes the name: if
 * the machine stops there is the old file or the new one, whole, and the new one once this has
 * returned. After a failure the old file is there (the new one only if it was the folder that
 * could not be synced). A link stays a link, to the file that it leads to, whether that is there
 * already or not; permissions of a file that is replaced, and where possible its owner, stay. What
 * is no regular file, a pipe for instance, is written as it is. bf16 is written as '<V2'; the
 * other types that NumPy lacks are NX_UNSUPPORTED_DTYPE. NX_IO; what realising gives. */
NX_API nx_status nx_save_npy(nx_tensor *tensor, const char *path, const nx_run_options *options);

/* ---- archives: files of named arrays. .npz is read, .safetensors read and written; which one a
 * file is, it says. */

typedef struct nx_archive nx_archive;
typedef struct nx_array_info {
  size_t size;      /**< sizeof(nx_array_info) */
  const char *name; /**< of a member x.npy, "x" */
  const char *type; /**< as a .safetensors file spells it; of an .npz file nx_dtype_name(dtype) */
  nx_dtype dtype;   /**< 0: the element type has no counterpart here */
  int32_t rank;
  int64_t offset; /**< of the elements in the file, in bytes; -1 if they are compressed */
  int64_t bytes;  /**< of the elements, uncompressed */
  int64_t shape[NX_MAX_RANK];
} nx_array_info;

/** Opens an archive: reads the directory and nothing else. *out is the caller's, to close with
 * nx_archive_close; untouched on failure. An archive is never changed by its functions: any
 * threads may use one at once. What was loaded from it stays when it is closed; names, and what
 * describes them, live until then. NX_IO, NX_PARSE (also: two arrays of one name; arrays that
 * share bytes; sizes that cannot be true), NX_OUT_OF_MEMORY. */
NX_API nx_status nx_archive_open(const char *path, nx_archive **out);
/** Closes an archive, once no thread uses it. NULL is allowed. */
NX_API void nx_archive_close(nx_archive *archive);
/** How many arrays there are. 0 for NULL. */
NX_API size_t nx_archive_count(const nx_archive *archive);
/** The name of array number i, in the file's order; NULL beyond the last. The archive's, until it
 * is closed. */
NX_API const char *nx_archive_name(const nx_archive *archive, size_t i);
/** The number of the array of that name; -1 if there is none. */
NX_API int64_t nx_archive_find(const nx_archive *archive, const char *name);
/** Fills *out with what array number i is; its strings live until the archive is closed. Of an .npz
 * file this reads the member's header: NX_PARSE, NX_UNSUPPORTED_DTYPE if that is not one of an
 * array that is read; NX_IO where it is compressed and the library was built without zlib.
 * NX_INVALID_ARGUMENT beyond the last one. NX_OUT_OF_MEMORY. */
NX_API nx_status nx_archive_describe(const nx_archive *archive, size_t i, nx_array_info *out);
/** The array of that name, as nx_load_npy loads one: over the file's own pages, but for elements
 * that are compressed, not aligned, or in the other byte order, which are copied. Checksums are
 * compared where a member is decompressed. NX_INVALID_ARGUMENT: no such name; NX_PARSE,
 * NX_UNSUPPORTED_DTYPE, NX_OUT_OF_MEMORY, NX_INTERRUPTED; NX_IO: a compressed member, and the
 * library was built without zlib. *out is one reference, the caller's, untouched on failure. */
NX_API nx_status nx_archive_load(const nx_archive *archive, nx_context *context, const char *name,
                                 const nx_run_options *options, nx_tensor **out);
/** Sets key and value (either may be NULL) number i of the .safetensors metadata, ordered by key.
 * Returns how many there are; beyond them nothing is set. The strings are the archive's. 0 for
 * NULL. */
NX_API size_t nx_archive_metadata(const nx_archive *archive, size_t i, const char **key,
                                  const char **value);

typedef struct nx_named_tensor {
  const char *name;
  nx_tensor *tensor;
} nx_named_tensor;
typedef struct nx_text_pair {
  const char *key, *value;
} nx_text_pair;
/** Realises all tensors, in one run, and writes them in C order, with the metadata, to a file that
 * replaces an old one as that of nx_save_npy does. Texts are UTF-8. NX_INVALID_ARGUMENT: a name or
 * a key given twice, NULL or not UTF-8, the name "__metadata__", a tensor that is NULL or of
 * another context, or more names and metadata than the format has room for; NX_UNSUPPORTED_DTYPE:
 * i4, u4, c32 and c128, which the format lacks; NX_IO; what realising gives. */
NX_API nx_status nx_save_safetensors(nx_context *context, const char *path,
                                     const nx_named_tensor *tensors, size_t n,
                                     const nx_text_pair *metadata, size_t n_metadata,
                                     const nx_run_options *options);

#ifdef __cplusplus
}
#endif
#endif
