/* SPDX-License-Identifier: ISC */
/* Contexts and devices. A context owns everything that tensors share: the recording, the caches of
 * plans and of compiled kernels, the memory, the threads. One a process is the usual number;
 * several do not disturb each other, and tensors of different contexts cannot meet in one
 * operation.
 *
 * Any function may be called from any thread at any time. Calls on one context take effect in some
 * one order, and that order says what is before and after an assign. Recording and release never
 * wait for a compile or for a running realise.
 *
 * A struct that is passed through a pointer and begins with `size` has the sizeof of the struct
 * there, set by the caller before the call, also where the function fills it: fields beyond that
 * size are neither read nor written. */
#ifndef NX_CONTEXT_H
#define NX_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_context nx_context;

/** A device is its index in its context. 0 is the CPU, always there. Where the processor is divided
 * into n devices (nx_context_options.cpu_devices) they are 0 to n - 1, and the others follow. */
typedef int32_t nx_device;

/** Options of a context. */
enum {
  /** Release callbacks run in nx_context_collect only, never at the start of an action. */
  NX_MANUAL_COLLECT = 1,
  /** Operations on exposed storage (tensor.h, nx_map) are not carried out when recorded: they are
   * deferred, nx_has_deferred says so, and the caller realises them (NX_DO_DEFERRED) before host
   * code goes on. */
  NX_DEFER_EXPOSED = 2,
  /** A GPU may add the floats of a scatter in any order, by atomic additions: faster where many
   * updates meet in one element, but the last bits of such sums may then change from run to run.
   * All else keeps its bits. */
  NX_UNORDERED_SUMS = 4
};

typedef struct nx_context_options {
  size_t size; /**< sizeof(nx_context_options) */
  uint32_t flags;
  /** that a realise may use, the caller included; 0: as many as this process may run */
  int32_t threads;
  /** bytes of tensor data, 0: none; beyond it actions fail with NX_OUT_OF_MEMORY */
  size_t memory_limit;
  /** compiled kernels; NULL: NX_CACHE_DIR or the user's cache directory; "": none */
  const char *cache_dir;
  /** Into how many devices the processor is divided, 1 to 32; 0: NX_CPU_DEVICES, or 1. Each has an
   * equal part of the threads, at least one, and they compute beside each other; memory, compiled
   * kernels, and all bits are the same. They meet in collectives (group.h). */
  int32_t cpu_devices;
} nx_context_options;

/** What a context holds at the moment. */
typedef struct nx_stats {
  size_t size;               /**< sizeof(nx_stats) */
  uint64_t pending_nodes;    /**< recorded operations that are not realised */
  uint64_t pinned_bytes;     /**< tensor data kept only because unrealised operations read it */
  uint64_t live_bytes;       /**< tensor data in use, imports not counted */
  uint64_t peak_bytes;       /**< the most live_bytes ever was */
  uint64_t kernels_compiled; /**< since the context was created, also in the background */
  /** memory of the pending operations' records, and pinned_bytes: nx_pending */
  uint64_t pending_bytes;
  /** of kernels_compiled, those in which shapes, slices and positions are parameters */
  uint64_t kernels_generic;
  /** kernels of plans that such code of another kernel serves, so that none was compiled */
  uint64_t kernels_shared;
} nx_stats;

/** Makes a context. NULL options: all defaults. *out is one reference, the caller's; untouched on
 * failure. NX_OUT_OF_MEMORY; NX_INVALID_ARGUMENT: an option (an unknown flag, threads below 0, a
 * limit beyond 63 bits, cpu_devices that are not 0 to 32), or a word in the environment that does
 * not exist (debug.h); NX_IO: NX_DUMP_DIR cannot be written; NX_DEVICE_UNAVAILABLE:
 * NX_EXECUTOR=llvm, and there is none. */
NX_API nx_status nx_context_create(const nx_context_options *options, nx_context **out);
/** One more reference of the context, the caller's to release; returns it. NULL gives NULL. */
NX_API nx_context *nx_context_retain(nx_context *context);
/** Gives one reference up. Tensors, mappings and functions keep their context alive, so the order
 * of releases does not matter. NULL is allowed. Exiting the process with live handles is legal. */
NX_API void nx_context_release(nx_context *context);
/** Frees what releases have deferred and runs queued release callbacks, here, on this thread, with
 * no lock held. NULL: those left over from contexts that are gone. */
NX_API void nx_context_collect(nx_context *context);
/** Fills *out with what the context holds at the moment. Costs the same whatever that is. NULL for
 * either: nothing happens. */
NX_API void nx_context_stats(const nx_context *context, nx_stats *out);

/* ---- devices */

typedef struct nx_device_info {
  size_t size;        /**< sizeof(nx_device_info) */
  const char *name;   /**< "cpu", "interp", "cuda"; the second of a kind "cpu:1", and so on */
  const char *reason; /**< why it is not available, else NULL; lives as long as the context */
  bool available;
  uint8_t dlpack_type; /**< DLDeviceType: 1 for memory of the host */
  int32_t ordinal;     /**< which one of its type */
  uint64_t memory;     /**< bytes it has, 0 if unknown */
  /** Of "cpu": why its kernels are interpreted, which takes some hundred times as long, though they
   * were to be compiled (no LLVM, a process that may not make memory executable, LLVM left in the
   * middle of a kernel for lack of memory); else NULL. Static. It may become true at any time. */
  const char *interpreted;
} nx_device_info;

/** How many there are, unavailable ones included. "interp" computes node by node without fusion or
 * machine code: slow, obvious, and the same bits; to compare and to look for the origin of a NaN.
 * 0 for NULL. */
NX_API int32_t nx_device_count(const nx_context *context);
/** Fills *out, also for a device that is not available. Its strings live as long as the context.
 * NX_INVALID_ARGUMENT for a number that names no device. */
NX_API nx_status nx_device_describe(const nx_context *context, nx_device device,
                                    nx_device_info *out);
/** Memory of tensors on a device. What is freed is kept for the next result, up to a bound on the
 * CPU; all devices of the processor share theirs. */
typedef struct nx_memory {
  size_t size;           /**< sizeof(nx_memory) */
  uint64_t live_bytes;   /**< in use */
  uint64_t peak_bytes;   /**< the most that ever were */
  uint64_t cached_bytes; /**< kept */
  uint64_t allocations;  /**< so far */
} nx_memory;
/** Fills *out with the memory of a device: all zeros for a GPU that nothing has used yet.
 * NX_INVALID_ARGUMENT for a number that names no device. */
NX_API nx_status nx_device_memory(const nx_context *context, nx_device device, nx_memory *out);
/** Gives kept memory back to the system or to the driver, for others to use. It begins with
 * nx_context_collect, so release callbacks run here. A GPU is waited for. NX_INVALID_ARGUMENT: no
 * such device; NX_DEVICE_LOST. */
NX_API nx_status nx_device_trim(nx_context *context, nx_device device);
/** Returns when everything given to the device is done; asynchronous faults surface here at the
 * latest. NX_INVALID_ARGUMENT: no such device; NX_DEVICE_UNAVAILABLE with the reason;
 * NX_DEVICE_LOST. */
NX_API nx_status nx_wait(nx_context *context, nx_device device);

#ifdef __cplusplus
}
#endif
#endif
