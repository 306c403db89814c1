/* SPDX-License-Identifier: ISC */
/* Custom operations: functions of the caller, or kernels in text, as operations of the graph. What
 * they read is computed first, what they give can be recorded upon like any other result, and a
 * captured function that holds one calls it at each of its calls.
 *
 *   static nx_status median(const nx_custom_call *k) { .. k->operands[0].data .. }
 *
 *   nx_type in = {NX_F32, 2, (int64_t[]){64, 9}}, out = {NX_F32, 1, (int64_t[]){64}};
 *   nx_custom *f;
 *   nx_custom_create(c, &(nx_custom_desc){.size = sizeof(nx_custom_desc), .name = "median",
 *                    .run = median, .n_operands = 1, .operands = &in, .n_results = 1,
 *                    .results = &out}, &f);
 *   nx_custom_record(f, &x, 1, NULL, &y, 1);
 *
 * A free one must be a function of its operands: equal recordings of it are one, one that nothing
 * needs is never called, and one may be called several times. An ordered one (NX_ORDERED) has
 * effects. It takes a token and leaves another in its place, so all that are recorded with one
 * token are called in the order of their recording. Realising the token calls them, if nothing else
 * has done so; a token that is never realised, whose operations' results are not either, calls
 * nothing. Each recording is called once: never again, if its run fails after it was called, but
 * its results and the token have failed then, with the status and the message of that run. In a
 * captured function the token is assigned at each call, like any other tensor, and so are the
 * operations called that were captured with it, whether their results are used or not; a call that
 * fails may have called some of them. The body of a loop (control.h) calls what it holds at each
 * step. */
#ifndef NX_CUSTOM_H
#define NX_CUSTOM_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_custom nx_custom;

/** The type of an operand or of a result. */
typedef struct nx_type {
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape; /**< rank extents; NULL for rank 0 */
} nx_type;

/** An operand or a result in a call: all of it, in C order, without gaps. An operand is aligned to
 * its elements, a result to 64 bytes. An array without elements has any address. In a call with a
 * stream `data` is an address of the device. */
typedef struct nx_array {
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape;
  int64_t elements;
  void *data; /**< of an operand: must not be written */
} nx_array;

typedef struct nx_custom_call {
  size_t size; /**< of this struct; later versions may append fields */
  void *user;  /**< of the description */
  size_t n_operands, n_results;
  const nx_array *operands, *results; /**< without tokens */
  const void *run;                    /**< the library's */
  /** Of run_on_device: the stream of the device, on CUDA a CUstream. Else NULL. */
  void *stream;
} nx_custom_call;
/** Notes a sentence, of which 255 bytes are kept, for the error of the run; returns the status.
 * Without one, the error has the message of the error that the function left to its thread, or the
 * sentence of the status. */
NX_API nx_status nx_custom_fail(const nx_custom_call *call, nx_status status, const char *sentence);
/** Whether the run is to stop, since its poll said so. A function that takes long asks about every
 * 10 ms, and returns NX_INTERRUPTED then. */
NX_API bool nx_custom_stopped(const nx_custom_call *call);

/** Flags of a description. */
enum { NX_ORDERED = 1 };

typedef struct nx_custom_desc {
  size_t size; /**< sizeof(nx_custom_desc) */
  /** 1 to 63 letters, digits, `_`, `.`, `:`, `/` and `-`, for errors and texts */
  const char *name;
  /** Computes all elements of all results. It is called on some thread, the one that realises or
   * another, without locks, in the default floating-point environment; several calls may overlap
   * in time, of ordered ones with one token none do. It may use the library, this context
   * included, and realise; to wait for what the run computes that called it, or to realise within
   * 64 calls what calls again, is NX_INVALID_ARGUMENT. Returns NX_OK, or a status, of which
   * nx_custom_fail says more: then the run fails with it. */
  nx_status (*run)(const nx_custom_call *call);
  void *user;
  /** Called with `user` once, when nothing can call the function any more: as a callback of an
   * import, in some later action or nx_context_collect. NULL: nothing. */
  void (*release)(void *user);
  uint32_t flags;
  size_t n_operands, n_results; /**< at most 15 each */
  const nx_type *operands, *results;
  /** Instead of `run`: kernel_size bytes of a kernel in text (docs/ir.md), logical, without
   * parameters, whose buffers of the launch are the operands (`in`) and then the results (`out`),
   * with all their elements. It writes all elements of all results: one whose stores are too few
   * is refused; what stores to one element, loops around them without steps, masks, computed
   * indices or computed bounds of loops leave out has any value. It is compiled for the device with
   * the rest of the graph. One loop over all elements, whose loads and stores are at the element of
   * the loop, is recorded as the operations that it consists of, and fuses with its neighbours.
   * NULL: there is a `run` */
  const char *kernel;
  size_t kernel_size;
  /** Of one with `run`: what is called instead of it where the operands are in memory of a device
   * of its own, with the device's addresses and its stream; the context of CUDA's driver is current
   * on the thread. The function starts work on that stream, which reads the operands and writes all
   * elements of all results, and need not wait for it; the memory stays valid for what it starts.
   * What it keeps on the device must be released by work that comes later in the stream, or after
   * it. Everything else is as of `run`. NULL: the operands are copied to the host */
  nx_status (*run_on_device)(const nx_custom_call *call);
} nx_custom_desc;

/** Describes an operation. Everything but `user` is copied. *f is one reference; untouched on
 * failure, when `release` is not called either. NX_INVALID_ARGUMENT: no function and no kernel,
 * or both, a kernel that does not fit the types, reaches outside its buffers, leaves elements of a
 * result out, or is ordered, a name with other characters or of another length, too many operands
 * or results, no result of one that is not ordered, a rank above 32, a negative extent, other
 * flags. NX_UNSUPPORTED_DTYPE: i4, u4, f4e2m1 and c32, which the host has no arrays of: cast them;
 * of a kernel types that are only stored, too, and complex ones: it computes with parts. NX_PARSE:
 * the kernel, with the line. NX_OUT_OF_MEMORY. */
NX_API nx_status nx_custom_create(nx_context *context, const nx_custom_desc *desc, nx_custom **f);
/** One more reference, the caller's to release; returns it. NULL gives NULL. */
NX_API nx_custom *nx_custom_retain(nx_custom *f);
/** Gives one reference up. NULL is allowed. What was recorded with it keeps the operation. */
NX_API void nx_custom_release(nx_custom *f);

/** A tensor that orders operations: bool, rank 0, true. Any such tensor is one. */
NX_API nx_tensor *nx_token(nx_context *context, nx_device device);
/** Records a call. in: n_in operands of the types described, on one device; views are made dense.
 * token: of an ordered one, on their device; it is assigned the new token. NULL for a free one.
 * out: n_out places that get new tensors, one reference each. On a device with memory of its own
 * run_on_device is called; without it the operands are copied to the host for the call, and the
 * results back. An operand in exposed storage is copied now. NX_INVALID_ARGUMENT: another number of
 * operands or results than described, an operand of another type, devices or contexts that differ,
 * a token where none is due, or none or no token where one is. NX_OUT_OF_MEMORY. */
NX_API nx_status nx_custom_record(nx_custom *f, nx_tensor *const *in, size_t n_in, nx_tensor *token,
                                  nx_tensor **out, size_t n_out);

#ifdef __cplusplus
}
#endif
#endif
