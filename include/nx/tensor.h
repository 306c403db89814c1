/* SPDX-License-Identifier: ISC */
/* Tensors: creation, views, mutation, realising, host access, scopes. Operations on them are in
 * ops.h.
 *
 * A tensor handle is a view (shape, strides, offset, all in elements) of a storage. A storage is a
 * cell that names its current value: either memory, or an operation that was recorded and has not
 * run. Nothing runs until an action (realise, item, read, write, map, call) asks for a value. Views
 * alias: they see what is assigned through any other view of the storage, before and after it is
 * realised.
 *
 * Ownership: operands are borrowed; a returned handle is one reference, the caller's. */
#ifndef NX_TENSOR_H
#define NX_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"
#include "dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_tensor nx_tensor;
typedef struct nx_mapping nx_mapping;
typedef struct nx_scope nx_scope;

enum { NX_MAX_RANK = 32 };

/* Arrays are given as a pointer and then a count, in every function. Arrays of which entry i
 * belongs together (the starts and the stops of a range) have one count behind the last of them. */

/** A shape as the two arguments `shape, rank` of the functions below:
 * nx_empty(c, 0, NX_F32, NX_SHAPE(2, 3)). Rank 0 is `NULL, 0`. In C++ the extents must be
 * constants; pass array and rank where they are not.
 *
 * NX_INDEX is the same for other lists of i64, of which the count is a size_t:
 * nx_item(x, NX_INDEX(0, -1), &element, NULL). */
#ifdef __cplusplus
}
template <int64_t... extent> struct nx_shape_of {
  static constexpr int64_t values[sizeof...(extent)] = {extent...};
};
#define NX_SHAPE(...)               \
  nx_shape_of<__VA_ARGS__>::values, \
      (int32_t)(sizeof(nx_shape_of<__VA_ARGS__>::values) / sizeof(int64_t))
#define NX_INDEX(...) \
  nx_shape_of<__VA_ARGS__>::values, (sizeof(nx_shape_of<__VA_ARGS__>::values) / sizeof(int64_t))
extern "C" {
#else
#define NX_SHAPE(...)             \
  (const int64_t[]){__VA_ARGS__}, \
      (int32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define NX_INDEX(...) \
  (const int64_t[]){__VA_ARGS__}, (sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#endif

/* ---- scalars */

typedef enum nx_scalar_kind {
  NX_SCALAR_I64,
  NX_SCALAR_U64,
  NX_SCALAR_F64,
  NX_SCALAR_C128
} nx_scalar_kind;
/** A number of any kind. It becomes the target dtype as by nx_cast: I64 and U64 wrap to integers,
 * F64 and C128 are rounded once to floats and saturate to integers; to bool: x != 0. */
typedef struct nx_scalar {
  nx_scalar_kind kind;
  union {
    int64_t i;
    uint64_t u;
    double f[2]; /**< real, imaginary; an F64 has only the first */
  } v;
} nx_scalar;

/** Pointers to a scalar: nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(0.5)). The scalar lives until the
 * enclosing block ends, in C++ until the full expression does. */
#ifdef __cplusplus
}
struct nx_scalar_holder : nx_scalar {
  explicit nx_scalar_holder(double x) : nx_scalar() {
    kind = NX_SCALAR_F64;
    v.f[0] = x;
    v.f[1] = 0;
  }
  explicit nx_scalar_holder(int64_t x) : nx_scalar() {
    kind = NX_SCALAR_I64;
    v.i = x;
  }
  const nx_scalar *pointer() const { return this; }
};
#define NX_NUMBER(x)  (nx_scalar_holder(static_cast<double>(x)).pointer())
#define NX_INTEGER(x) (nx_scalar_holder(static_cast<int64_t>(x)).pointer())
extern "C" {
#else
#define NX_NUMBER(x)  (&(const nx_scalar){NX_SCALAR_F64, {.f = {(x), 0}}})
#define NX_INTEGER(x) (&(const nx_scalar){NX_SCALAR_I64, {.i = (x)}})
#endif

/* ---- handles */

/** Flags of a described tensor. */
enum {
  NX_TENSOR_REALIZED = 1,    /**< its value is in memory */
  NX_TENSOR_EXPOSED = 2,     /**< host code may write its memory at any time */
  NX_TENSOR_READ_ONLY = 4,   /**< an immutable import */
  NX_TENSOR_PLACEHOLDER = 8, /**< input of a function being captured */
  NX_TENSOR_C_CONTIGUOUS =
      16 /**< strides are the canonical ones of the shape, whatever the offset */
};

typedef struct nx_tensor_info {
  size_t size;         /**< sizeof(nx_tensor_info) */
  nx_context *context; /**< borrowed */
  nx_dtype dtype;
  nx_device device;
  int32_t rank;
  uint32_t flags;
  int64_t offset;   /**< of the first element, in elements of the storage */
  int64_t elements; /**< of the view */
  int64_t storage_elements;
  uint64_t storage_id;            /**< equal for views of one storage, never reused */
  const int64_t *shape, *strides; /**< live as long as the handle; never change */
} nx_tensor_info;

/** One more reference of the handle, the caller's to release; returns it. Any thread; NULL gives
 * NULL. */
NX_API nx_tensor *nx_tensor_retain(nx_tensor *tensor);
/** Gives one reference up. Any thread, finalisers included: neither waits, calls back, nor frees
 * much at once. Nothing that was recorded with the handle is lost. NULL is allowed. */
NX_API void nx_tensor_release(nx_tensor *tensor);
/** Fills *out; all zeros but its size for NULL. Never realises anything. */
NX_API void nx_tensor_describe(const nx_tensor *tensor, nx_tensor_info *out);

/** The number of axes. This and the following questions are short: what nx_tensor_describe tells
 * and what never changes while the handle lives. No lock, on any thread; nothing is realised. NULL
 * gives 0, or NULL, and no error. */
NX_API int32_t nx_rank(const nx_tensor *tensor);
/** The extents, `rank` of them; they live as long as the handle. As nx_rank. */
NX_API const int64_t *nx_shape(const nx_tensor *tensor);
/** As nx_shape: `rank` strides, in elements. */
NX_API const int64_t *nx_strides(const nx_tensor *tensor);
/** The product of the extents: 1 for rank 0. As nx_rank. */
NX_API int64_t nx_elements(const nx_tensor *tensor);
/** The element type. As nx_rank. */
NX_API nx_dtype nx_dtype_of(const nx_tensor *tensor);
/** The device that computes its value and holds it. As nx_rank. */
NX_API nx_device nx_device_of(const nx_tensor *tensor);
/** Borrowed: the tensor keeps it alive. As nx_rank. */
NX_API nx_context *nx_context_of(const nx_tensor *tensor);

/* ---- creation */

/** A tensor of a new storage. Contents are unspecified; it takes no memory until it is written,
 * mapped or read. All dtypes. shape: `rank` extents >= 0, copied, NULL for rank 0; rank 0 to 32,
 * bytes within 63 bits. Returns one reference, the caller's. NULL and this thread's error on
 * failure: NX_INVALID_ARGUMENT for a shape, a dtype or a device that there cannot be,
 * NX_DEVICE_UNAVAILABLE, NX_OUT_OF_MEMORY. */
NX_API nx_tensor *nx_empty(nx_context *context, nx_device device, nx_dtype dtype,
                           const int64_t *shape, int32_t rank);
/** A tensor of which every element is *value, converted to dtype; value is read before this
 * returns. As nx_empty, and NX_INVALID_ARGUMENT also: value is NULL, or of no known kind. */
NX_API nx_tensor *nx_full(nx_context *context, nx_device device, nx_dtype dtype,
                          const int64_t *shape, int32_t rank, const nx_scalar *value);
/** The elements at `data`, copied before this returns: packed, in C order, in this machine's byte
 * order, two of i4 or u4 in a byte (an even one in the low half); data needs no alignment. `bytes`
 * is exactly what they take: of n elements of i4 or u4 (n + 1) / 2. shape: `rank` extents, NULL
 * for rank 0. All dtypes; a bool byte other than 0 is true. NX_INVALID_ARGUMENT, also for another
 * number of bytes, or data that is NULL; NX_DEVICE_UNAVAILABLE; NX_OUT_OF_MEMORY. On another
 * device than 0 the copy to that is recorded. Else as nx_empty. */
NX_API nx_tensor *nx_from_data(nx_context *context, nx_device device, nx_dtype dtype,
                               const int64_t *shape, int32_t rank, const void *data, size_t bytes);
/** An input of a function to be captured (function.h). Asking for its value is NX_UNBOUND. The
 * first one begins this thread's capture. Arguments and failures as of nx_empty. */
NX_API nx_tensor *nx_placeholder(nx_context *context, nx_device device, nx_dtype dtype,
                                 const int64_t *shape, int32_t rank);

/* ---- views that need strides; expand, reshape, permute, shrink and flip are in ops.h */

/** Any view of the whole storage, whatever view `tensor` is of it. All dtypes. shape and strides
 * have `rank` entries, copied; strides and offset are in elements of the storage, and strides may
 * be 0 or negative. Returns one reference, the caller's; NULL on failure. NX_INDEX_OUT_OF_RANGE:
 * an index reaches outside of the storage. NX_INVALID_ARGUMENT: a list is NULL, or there is no
 * such shape. NX_OUT_OF_MEMORY. */
NX_API nx_tensor *nx_as_strided(nx_tensor *tensor, const int64_t *shape, const int64_t *strides,
                                int32_t rank, int64_t offset);
/** As nx_as_strided, but a view of the view: along axis i, count[i] elements from start[i] on,
 * step[i] apart; a step may be negative, not 0. n is the length of the three lists and the rank of
 * the tensor: any other one, a list that is NULL, a step of 0, or a count below 0 is
 * NX_INVALID_ARGUMENT. NX_INDEX_OUT_OF_RANGE: an element outside. */
NX_API nx_tensor *nx_slice(nx_tensor *tensor, const int64_t *start, const int64_t *count,
                           const int64_t *step, size_t n);
/** The same view of the same storage if it is there already, else a new tensor on that device, a
 * copy that is recorded and happens when it is realised, after `tensor` was computed on its own
 * device. All dtypes. Returns one reference, the caller's; NULL on failure. NX_INVALID_ARGUMENT: no
 * such device; NX_DEVICE_UNAVAILABLE with the reason; NX_OUT_OF_MEMORY. */
NX_API nx_tensor *nx_to_device(nx_tensor *tensor, nx_device device);

/* ---- mutation */

/** Writes src, broadcast to dst's shape, through dst's view. It is recorded, and runs when the
 * storage is realised; on exposed storage it runs at once (see NX_DEFER_EXPOSED) and gives what
 * realising gives as well. What was recorded before reads the old contents, what is recorded after
 * it the new, through every view. src may read dst or overlap it: the result is as if src had been
 * computed first. All dtypes. NX_INVALID_ARGUMENT: two dtypes, two contexts, two devices (a
 * constant of rank 0 goes with any), shapes that do not fit, or a view dst that maps two indices
 * to one element; NX_NOT_WRITABLE for an immutable import; NX_OUT_OF_MEMORY. After a failure
 * nothing is assigned. */
NX_API nx_status nx_assign(nx_tensor *dst, nx_tensor *src);
/** on: store the value that this tensor's storage has the first time that a realise computes it for
 * something else, and those assigned to it later likewise; off: no longer. No result changes. NULL
 * does nothing. */
NX_API void nx_hold(nx_tensor *tensor, bool on);

/* ---- import of host memory (zero-copy on the CPU device) */

enum {
  NX_IMPORT_COPY,   /**< copied at once; the callback is queued at once */
  NX_IMPORT_SHARED, /**< memory stays the host's to read and write: exposed until released, or until
                         nx_end_sharing */
  NX_IMPORT_IMMUTABLE, /**< a promise that it never changes; never exposed, never written */
  NX_IMPORT_MAPPED     /**< as shared, but the host writes it only while it has a mapping of it for
                            writing (nx_map), so it is exposed only then: what reads or assigns it
                            waits to be realised as usual, and a GPU keeps its copy. The host may
                            read it at any time, and sees an assign once that is realised. With
                            another import in its memory it is a shared one from then on; what waits
                            then reads what is there when it is realised */
};
typedef struct nx_import_desc {
  size_t size; /**< sizeof(nx_import_desc) */
  uint32_t mode;
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape, *strides; /**< in elements; NULL strides: C order */
  int64_t offset;                 /**< of the first element, in elements */
  void *base;                     /**< the whole storage, aligned as its element at least */
  size_t bytes;
  void (*release)(
      void *user); /**< may be NULL; runs once, with no lock held, when nothing needs base */
  void *user;
} nx_import_desc;
/** A tensor of device 0 over memory of the host, as *desc says, whose lists are copied. All dtypes;
 * a bool byte other than 0 reads as true. *out is one reference, the caller's. In the modes but
 * NX_IMPORT_COPY the memory must stay until the release callback, which runs on a thread that is
 * inside a call of the library, at the start of an action or in nx_context_collect. On failure
 * *out is untouched, and release not called. NX_INVALID_ARGUMENT: an unknown mode or dtype, a
 * shape that there cannot be, a base that is NULL or not aligned as its elements, a view that
 * leaves the bytes; NX_OUT_OF_MEMORY. */
NX_API nx_status nx_import(nx_context *context, const nx_import_desc *desc, nx_tensor **out);

/* ---- actions: may block, compile and allocate. NULL options: defaults. */

enum {
  NX_DO_DEFERRED = 1, /**< also what is deferred */
  /** also what is deferred, and all live tensors that wait */
  NX_DO_PENDING = 2,
  /** nx_item, nx_map, nx_read, nx_realize and nx_function_call alone, without another flag or a
   * report: see nx_item */
  NX_AT_ONCE = 4
};
/** Every action that takes options obeys the first two flags. What they ask for is computed
 * together with what the action is about as far as they share recorded operations, the rest in runs
 * of its own after that; then the action goes on. If some of the rest fails the others are computed
 * all the same, and the action fails with the first failure. */
typedef struct nx_run_options {
  size_t size; /**< sizeof(nx_run_options) */
  uint32_t flags;
  /** Called on the caller's thread, with no lock held, when the action begins and then every 20 ms
   * at most, whatever it is in the middle of. Nonzero: stop, with NX_INTERRUPTED; then it is not
   * called again by this action. What had begun to overwrite memory, or was done by then, still
   * succeeds. It may use the library. */
  int32_t (*poll)(void *user);
  void *user;
  struct nx_report *report; /**< debug.h; filled if not NULL */
} nx_run_options;

/** Computes and stores the values of the n tensors named, all of this context; they may be on
 * several devices. The list is the caller's. A failed realise loses nothing: what was realised
 * stays, the rest can be realised again. NX_AT_ONCE: one tensor, as of nx_item.
 *
 * NX_INVALID_ARGUMENT: a tensor of another context, a flag of the options that there is not.
 * NX_INTERRUPTED: the poll said so. NX_UNBOUND: a value depends on a placeholder; NX_DONATED: on a
 * tensor that a call has taken. NX_OUT_OF_MEMORY, also beyond the memory limit. NX_COMPILE_FAILED,
 * NX_DEVICE_UNAVAILABLE (also: a library that an operation needs is not there), NX_DEVICE_LOST.
 * What an operation finds wrong in its operands: NX_INDEX_OUT_OF_RANGE (index.h), NX_SINGULAR,
 * NX_NOT_POSITIVE_DEFINITE, NX_NO_CONVERGENCE (linalg.h); the error names that operation and its
 * tag. NX_IO: NX_DUMP_DIR cannot be written. These are meant by "what realising gives". */
NX_API nx_status nx_realize(nx_context *context, nx_tensor *const *tensors, size_t n,
                            const nx_run_options *options);
/** The host is done with the memory of an import that is shared or mapped: it neither reads nor
 * writes it from here on, and the memory is the library's until the release callback. The storage
 * is like any other then: not exposed, operations that read it are fused, and it may be written in
 * place, which the bytes show, or move. While it is mapped it stays exposed. If another import or
 * mapping of other storage lies in the same memory, or the memory is a file, the storage leaves it
 * and gets a copy of its own (NX_INVALID_ARGUMENT if it is mapped itself meanwhile: nothing
 * changes). NX_OK if it is no import, or sharing has ended; NX_NOT_WRITABLE for an immutable
 * import; NX_OUT_OF_MEMORY, NX_INTERRUPTED. What realising gives, where the storage moves. */
NX_API nx_status nx_end_sharing(nx_tensor *tensor, const nx_run_options *options);
/** True if something is deferred (NX_DEFER_EXPOSED). One atomic load. False for NULL. */
NX_API bool nx_has_deferred(const nx_context *context);
/** How many recorded operations wait to be computed. *bytes (NULL is allowed): the memory that they
 * hold, which is tensor data that nothing else needs, imports not counted, and their records. Two
 * atomic loads, on any thread: a frontend can ask after each operation, and realise with
 * NX_DO_PENDING when either is too much (embedding.md). 0 for NULL. */
NX_API uint64_t nx_pending(const nx_context *context, uint64_t *bytes);
/** One element of a tensor, realised for it. index has n entries, one for each axis (`NULL, 0` for
 * rank 0); negative ones count from the end. *out is an I64 of integers and bool (of u64 a U64), an
 * F64 of floats, a C128 of complex numbers; untouched on failure. NX_INVALID_ARGUMENT: n is not the
 * rank. NX_INDEX_OUT_OF_RANGE. What realising gives.
 *
 * With NX_AT_ONCE: only if that takes no longer than a call, as a value in memory does, and a
 * small one that is computed as another one was before; else NX_INTERRUPTED, and nothing is done.
 * The poll is not called. Who holds a lock of a runtime while it calls tries so first, and gives
 * the lock up for the rest. */
NX_API nx_status nx_item(nx_tensor *tensor, const int64_t *index, size_t n, nx_scalar *out,
                         const nx_run_options *options);
/** Realises the tensor and copies the elements of its view, packed, in C order, to memory of the
 * caller that the tensor does not lie in. All dtypes. bytes must be exactly what they take, of n
 * elements of i4 or u4 (n + 1) / 2: any other number, or dst that is NULL, is NX_INVALID_ARGUMENT.
 * What realising gives; dst may be written in part after NX_INTERRUPTED. NX_AT_ONCE: as nx_item. */
NX_API nx_status nx_read(nx_tensor *tensor, void *dst, size_t bytes, const nx_run_options *options);
/** Assigns packed elements in C order, `bytes` as of nx_read, and realises the storage; src is
 * copied, so free for reuse on return. NX_NOT_WRITABLE for an immutable import;
 * NX_INVALID_ARGUMENT as of nx_read and of nx_assign; what realising gives. After a failure the
 * tensor has its old value. */
NX_API nx_status nx_write(nx_tensor *tensor, const void *src, size_t bytes,
                          const nx_run_options *options);

/* ---- mappings: host access to memory */

enum { NX_MAP_READ = 1, NX_MAP_WRITE = 2 };
/** Gives host code access to the whole storage of a tensor, whatever view of it this is: realises
 * it, brings it into memory of the host, and before writing is allowed settles every recorded
 * operation that reads it. *out is one reference, the caller's, untouched on failure; a mapping
 * outlives its tensor. While one exists the storage neither moves nor is reused; while a write
 * mapping exists the storage is exposed: operations that read or assign it are carried out when
 * recorded (see NX_DEFER_EXPOSED). A read mapping shows an assign once that is realised.
 *
 * access: NX_MAP_READ, NX_MAP_WRITE or both; another one is NX_INVALID_ARGUMENT. NX_NOT_WRITABLE:
 * writing an immutable import. What realising gives. NX_AT_ONCE: as of nx_item. */
NX_API nx_status nx_map(nx_tensor *tensor, uint32_t access, const nx_run_options *options,
                        nx_mapping **out);
/** First byte of the storage, not of the view; the mapping's, until it is released. *bytes (NULL is
 * allowed): how many there are. NULL and 0 for NULL. */
NX_API void *nx_mapping_base(const nx_mapping *mapping, size_t *bytes);
/** One more reference of the mapping, the caller's to release; returns it. NULL gives NULL. */
NX_API nx_mapping *nx_mapping_retain(nx_mapping *mapping);
/** Gives one reference up; the last one ends the mapping. Any thread; neither waits nor calls back.
 * NULL is allowed. */
NX_API void nx_mapping_release(nx_mapping *mapping);

/* ---- scopes */

/** Begins a scope inside the one this thread is in, if any. It belongs to this thread, which ends
 * it with nx_scope_end; handles of other threads, and of other contexts, are not touched. NULL
 * with NX_OUT_OF_MEMORY. */
NX_API nx_scope *nx_scope_begin(nx_context *context);
/** Takes a handle out of its scope: it is the caller's to release. Returns it; NULL gives NULL. */
NX_API nx_tensor *nx_keep(nx_tensor *tensor);
/** Releases every handle that this thread made since the scope began and did not keep. Scopes begun
 * after it and still open end with it. NULL, and the scope of another thread, are left alone. */
NX_API void nx_scope_end(nx_scope *scope);

#ifdef __cplusplus
}
#endif
#endif
