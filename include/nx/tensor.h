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

/* ---- scalars. I64 and U64 wrap to the target dtype, F64 and C128 round once; to bool: x != 0. */

typedef enum nx_scalar_kind {
  NX_SCALAR_I64,
  NX_SCALAR_U64,
  NX_SCALAR_F64,
  NX_SCALAR_C128
} nx_scalar_kind;
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

/** Any thread, finalisers included: neither waits, calls back, nor frees much at once. NULL is
 * allowed. */
NX_API nx_tensor *nx_tensor_retain(nx_tensor *tensor);
NX_API void nx_tensor_release(nx_tensor *tensor);
/** Never realises anything. */
NX_API void nx_tensor_describe(const nx_tensor *tensor, nx_tensor_info *out);

/** Short questions: what nx_tensor_describe tells and what never changes while the handle lives. No
 * lock, on any thread; nothing is realised. NULL gives 0, or NULL, and no error. */
NX_API int32_t nx_rank(const nx_tensor *tensor);
/** `rank` extents, and strides in elements; they live as long as the handle. */
NX_API const int64_t *nx_shape(const nx_tensor *tensor);
NX_API const int64_t *nx_strides(const nx_tensor *tensor);
/** The product of the extents: 1 for rank 0. */
NX_API int64_t nx_elements(const nx_tensor *tensor);
NX_API nx_dtype nx_dtype_of(const nx_tensor *tensor);
NX_API nx_device nx_device_of(const nx_tensor *tensor);
/** Borrowed: the tensor keeps it alive. */
NX_API nx_context *nx_context_of(const nx_tensor *tensor);

/* ---- creation. Extents >= 0, rank 0 to 32, bytes within 63 bits. NULL and this thread's error on
 * failure: NX_INVALID_ARGUMENT for a shape or a dtype that there cannot be, NX_DEVICE_UNAVAILABLE,
 * NX_OUT_OF_MEMORY. */

/** A tensor of a new storage. Contents are unspecified; it takes no memory until it is written,
 * mapped or read. */
NX_API nx_tensor *nx_empty(nx_context *context, nx_device device, nx_dtype dtype,
                           const int64_t *shape, int32_t rank);
/** A tensor of which every element is *value, converted to dtype. Also NX_INVALID_ARGUMENT: value
 * is NULL, or of no known kind. */
NX_API nx_tensor *nx_full(nx_context *context, nx_device device, nx_dtype dtype,
                          const int64_t *shape, int32_t rank, const nx_scalar *value);
/** The elements at `data`, copied before this returns: packed, in C order, in this machine's byte
 * order, two of i4 or u4 in a byte (an even one in the low half); data needs no alignment. `bytes`
 * is exactly what they take: of n elements of i4 or u4 (n + 1) / 2. shape: `rank` extents, NULL for
 * rank 0. All dtypes; a bool byte other than 0 is true. NX_INVALID_ARGUMENT, also for another
 * number of bytes, or data that is NULL; NX_DEVICE_UNAVAILABLE; NX_OUT_OF_MEMORY. On another device
 * than 0 the copy to that is recorded. */
NX_API nx_tensor *nx_from_data(nx_context *context, nx_device device, nx_dtype dtype,
                               const int64_t *shape, int32_t rank, const void *data, size_t bytes);
/** An input of a function to be captured (function.h). Asking for its value is NX_UNBOUND. */
NX_API nx_tensor *nx_placeholder(nx_context *context, nx_device device, nx_dtype dtype,
                                 const int64_t *shape, int32_t rank);

/* ---- views that need strides; expand, reshape, permute, shrink and flip are in ops.h */

/** Any view of the whole storage, whatever view `tensor` is of it. shape and strides have `rank`
 * entries; strides and offset are in elements of the storage. NX_INDEX_OUT_OF_RANGE: an index
 * reaches outside of the storage. NX_INVALID_ARGUMENT: a list is NULL, or there is no such shape.
 * */
NX_API nx_tensor *nx_as_strided(nx_tensor *tensor, const int64_t *shape, const int64_t *strides,
                                int32_t rank, int64_t offset);
/** A view: along axis i, count[i] elements from start[i] on, step[i] apart; a step may be negative,
 * not 0. n is the length of the three lists and the rank of the tensor: any other one, a list that
 * is NULL, or a count below 0 is NX_INVALID_ARGUMENT. NX_INDEX_OUT_OF_RANGE: an element outside. */
NX_API nx_tensor *nx_slice(nx_tensor *tensor, const int64_t *start, const int64_t *count,
                           const int64_t *step, size_t n);
/** The same view of the same storage if it is there already, else a new tensor on that device.
 * NX_DEVICE_UNAVAILABLE with the reason. */
NX_API nx_tensor *nx_to_device(nx_tensor *tensor, nx_device device);

/* ---- mutation */

/** Writes src, broadcast to dst's shape, through dst's view. What was recorded before reads the old
 * contents, what is recorded after it the new, through every view. src may read dst or overlap it:
 * the result is as if src had been computed first. Dtypes must be equal. NX_INVALID_ARGUMENT if the
 * view maps two indices to one element; NX_NOT_WRITABLE for an immutable import. */
NX_API nx_status nx_assign(nx_tensor *dst, nx_tensor *src);
/** on: store this tensor's value the first time a realise computes it for something else. */
NX_API void nx_hold(nx_tensor *tensor, bool on);

/* ---- import of host memory (zero-copy on the CPU device) */

enum {
  NX_IMPORT_COPY,   /**< copied at once; the callback is queued at once */
  NX_IMPORT_SHARED, /**< memory stays the host's to read and write: exposed until released, or until
                         nx_end_sharing */
  NX_IMPORT_IMMUTABLE /**< a promise that it never changes; never exposed, never written */
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
/** *out untouched, and release not called, on failure. A bool byte other than 0 reads as true. */
NX_API nx_status nx_import(nx_context *context, const nx_import_desc *desc, nx_tensor **out);

/* ---- actions: may block, compile and allocate. NULL options: defaults. */

enum {
  NX_DO_DEFERRED = 1, /**< also what is deferred */
  NX_DO_PENDING =
      2 /**< also what is deferred, and live tensors that no recorded operation consumes */
};
/** Every action that takes options obeys both flags. What they ask for is computed together with
 * what the action is about as far as they share recorded operations, the rest in runs of its own
 * after that; then the action goes on. If some of the rest fails the others are computed all the
 * same, and the action fails with the first failure. */
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

/** Computes and stores the tensors named. A failed realise loses nothing: what was realised stays,
 * the rest can be realised again. NX_OUT_OF_MEMORY, NX_INTERRUPTED, NX_UNBOUND, NX_DONATED,
 * NX_COMPILE_FAILED, ... */
NX_API nx_status nx_realize(nx_context *context, nx_tensor *const *tensors, size_t n,
                            const nx_run_options *options);
/** The host is done with the memory of a shared import: it neither reads nor writes it from here
 * on, and the memory is the library's until the release callback. The storage is like any other
 * then: not exposed, operations that read it are fused, and it may be written in place, which the
 * bytes show, or move. While it is mapped it stays exposed. If another import or mapping of other
 * storage lies in the same memory, or the memory is a file, the storage leaves it and gets a copy
 * of its own (NX_INVALID_ARGUMENT if it is mapped itself meanwhile: nothing changes). NX_OK if it
 * is no import, or sharing has ended; NX_NOT_WRITABLE for an immutable import; NX_OUT_OF_MEMORY,
 * NX_INTERRUPTED. */
NX_API nx_status nx_end_sharing(nx_tensor *tensor, const nx_run_options *options);
/** True if something is deferred (NX_DEFER_EXPOSED). One atomic load. */
NX_API bool nx_has_deferred(const nx_context *context);
/** How many recorded operations wait to be computed. *bytes (NULL is allowed): the memory that they
 * hold, which is tensor data that nothing else needs, imports not counted, and their records. Two
 * atomic loads, on any thread: a frontend can ask after each operation, and realise with
 * NX_DO_PENDING when either is too much (embedding.md). 0 for NULL. */
NX_API uint64_t nx_pending(const nx_context *context, uint64_t *bytes);
/** One element of a tensor, realised for it. index has n entries, one for each axis (`NULL, 0` for
 * rank 0); negative ones count from the end. *out is an I64 of integers and bool (of u64 a U64), an
 * F64 of floats, a C128 of complex numbers; untouched on failure. NX_INVALID_ARGUMENT: n is not the
 * rank. NX_INDEX_OUT_OF_RANGE. What realising gives. */
NX_API nx_status nx_item(nx_tensor *tensor, const int64_t *index, size_t n, nx_scalar *out,
                         const nx_run_options *options);
/** Copies the elements of the view, packed, in C order, to memory that the tensor does not lie in.
 * bytes must be exactly what they take: of n elements of i4 or u4 (n + 1) / 2. */
NX_API nx_status nx_read(nx_tensor *tensor, void *dst, size_t bytes, const nx_run_options *options);
/** Assigns packed elements in C order; src is free for reuse on return. */
NX_API nx_status nx_write(nx_tensor *tensor, const void *src, size_t bytes,
                          const nx_run_options *options);

/* ---- mappings: host access to the whole storage of a tensor. A mapping outlives its tensor. While
 * one exists the storage neither moves nor is reused; while a write mapping exists the storage is
 * exposed: operations that read or assign it are carried out when recorded (see NX_DEFER_EXPOSED).
 * A read mapping shows an assign once that is realised. */

enum { NX_MAP_READ = 1, NX_MAP_WRITE = 2 };
/** Realises the storage; before writing is allowed, every recorded operation that reads it is
 * settled. */
NX_API nx_status nx_map(nx_tensor *tensor, uint32_t access, const nx_run_options *options,
                        nx_mapping **out);
/** First byte of the storage, not of the view. */
NX_API void *nx_mapping_base(const nx_mapping *mapping, size_t *bytes);
NX_API nx_mapping *nx_mapping_retain(nx_mapping *mapping);
/** Any thread; neither waits nor calls back. NULL is allowed. */
NX_API void nx_mapping_release(nx_mapping *mapping);

/* ---- scopes: owned by the thread that began them; handles of other threads are not touched. */

/** Begins a scope inside the one this thread is in, if any. NULL without memory. */
NX_API nx_scope *nx_scope_begin(nx_context *context);
/** Takes a handle out of its scope: it is the caller's to release. Returns it; NULL gives NULL. */
NX_API nx_tensor *nx_keep(nx_tensor *tensor);
/** Releases every handle that this thread made since the scope began and did not keep. Scopes begun
 * after it and still open end with it. */
NX_API void nx_scope_end(nx_scope *scope);

#ifdef __cplusplus
}
#endif
#endif
