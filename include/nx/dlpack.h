/* SPDX-License-Identifier: ISC */
/* Exchange of tensors with other libraries through DLPack, without copies: the structures of DLPack
 * 1.x (versioned) and the older ones without a version. Include DLPack's own header for their
 * members; here they are only named. Memory of the host is exchanged without copies, that of a GPU
 * by copies on the GPU.
 *
 * Element types: all that the library has (contract.md), in one lane; i4 and u4 packed, two in a
 * byte. Others, vectors of several lanes, and elements of 4 bits that take a byte each are
 * NX_UNSUPPORTED_DTYPE. */
#ifndef NX_DLPACK_H
#define NX_DLPACK_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensorVersioned;
struct DLManagedTensor;

/* ---- taking tensors */

/** A tensor of what another library exports; *out is a new handle. `mode` is that of nx_import and
 * says what the producer may do meanwhile. On success the structure belongs to the library, and its
 * deleter (which may be NULL) runs once, like a release callback: with no lock held, on a thread
 * that is inside an nx call, when nothing needs the memory; in mode NX_IMPORT_COPY at the next
 * action, or in nx_context_collect. On failure the structure is still the caller's, its deleter not
 * called, and *out untouched.
 *
 * Strides may be NULL (C order), zero or negative; those of axes of extent 1, and of tensors
 * without elements, may be anything. The tensor's storage is what lies between its lowest and its
 * highest element; a copy holds the elements alone, in C order, where that is less. The data
 * pointer of a tensor without elements is not looked at.
 *
 * NX_INVALID_ARGUMENT: another major version (then nothing but the deleter may be used), a flag
 * that is not known, a malformed structure, or data that is not aligned as its elements and not to
 * be copied. NX_NOT_WRITABLE: mode NX_IMPORT_SHARED or NX_IMPORT_MAPPED of a tensor that is
 * flagged read only, since assigns would write it. NX_DEVICE_UNAVAILABLE: in memory of a device
 * that is none of the context's; page-locked memory of the host (types 3, 11) is the host's.
 * NX_UNSUPPORTED_DTYPE, NX_OUT_OF_MEMORY.
 *
 * Of memory of a GPU (type 2, kDLCUDA): the tensor is on that GPU. The producer has made it ready
 * on the stream of nx_dlpack_stream. It is copied before this returns, and the deleter has run; the
 * copy holds all from the lowest to the highest element. NX_NEEDS_COPY: another mode.
 * NX_INVALID_ARGUMENT: an address that the driver does not know. */
NX_API nx_status nx_from_dlpack(nx_context *context, struct DLManagedTensorVersioned *managed,
                                uint32_t mode, nx_tensor **out);
/** As nx_from_dlpack. The structure without a version has no flags: whether it may be written is
 * for the caller to know. */
NX_API nx_status nx_from_dlpack_v0(nx_context *context, struct DLManagedTensor *managed,
                                   uint32_t mode, nx_tensor **out);

/* ---- exporting tensors */

enum { NX_DLPACK_NO_STREAM = -1 }; /**< memory of the host is exported, of any tensor */
/** The stream on which a GPU's work is done here, as the number that a consumer gives a producer
 * (`__dlpack__(stream=..)`): a producer makes its memory ready on it before nx_from_dlpack. It
 * lives as long as the context. NX_DLPACK_NO_STREAM for devices that use memory of the host. Opens
 * the device. 0, which is no stream, and this thread's error on failure: NX_DEVICE_UNAVAILABLE,
 * NX_OUT_OF_MEMORY, NX_INVALID_ARGUMENT. */
NX_API int64_t nx_dlpack_stream(nx_context *context, nx_device device);

/** Exports a tensor to another library. An action without options (realise the tensor first to poll
 * or to have a report): it maps the storage (nx_map, with its statuses), and the mapping ends when
 * the consumer calls the deleter, once, on any thread; it outlives the tensor. Shape, strides and
 * the first element are those of the tensor; the byte offset is 0, since consumers exist that
 * overlook it.
 *
 * access: NX_MAP_READ, which flags the structure read only, or NX_MAP_READ | NX_MAP_WRITE, which
 * exposes the storage until the deleter is called. NX_NOT_WRITABLE: writing an immutable import.
 * NX_NEEDS_COPY: a view of i4 or u4 that begins in the middle of a byte.
 *
 * stream: NX_DLPACK_NO_STREAM exports memory of the host, to which a GPU's value is copied. Another
 * number, as the consumer gives it (1 the legacy default stream, 2 that of the thread, else a
 * stream's handle; 0 is none), exports memory of the tensor's GPU, for NX_MAP_READ alone
 * (NX_NOT_WRITABLE): a copy in C order, on the GPU, of the value that the tensor has now. What the
 * consumer starts on that stream afterwards comes after the work that makes it. The deleter then
 * waits for all work of the GPU. NX_INVALID_ARGUMENT: such a
 * stream for a tensor of another device, or one below 1; NX_DEVICE_LOST. */
NX_API nx_status nx_to_dlpack(nx_tensor *tensor, uint32_t access, int64_t stream,
                              struct DLManagedTensorVersioned **out);
/** As nx_to_dlpack. The structure without a version cannot say that it must not be written: always
 * for reading and writing, so an immutable import is NX_NOT_WRITABLE; memory of a GPU is a copy, of
 * which nobody else sees what is written. */
NX_API nx_status nx_to_dlpack_v0(nx_tensor *tensor, int64_t stream, struct DLManagedTensor **out);

#ifdef __cplusplus
}
#endif
#endif
