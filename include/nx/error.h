/* SPDX-License-Identifier: ISC */
/* Errors and tags: what went wrong, and where in the frontend's program it was recorded.
 *
 * Every thread has one error slot. The first failure on a thread fills it and stays there,
 * whatever fails after it, until nx_error_take clears it. A call that records returns NULL when it
 * fails; NULL given to it as an operand is passed on as NULL: the slot keeps the failure that it
 * holds, and an empty one gets NX_INVALID_ARGUMENT. So a whole expression can be written without a
 * check, and one look at its end finds the first cause. Whatever returns a status (realise, read,
 * map, call, load, dump) fills the slot with it as well.
 *
 * Of every function that returns a status or a new handle: an argument that is NULL where the
 * function does not allow it, a handle that was released (which is found out where that is
 * possible) and a struct whose `size` has no room for itself are NX_INVALID_ARGUMENT; anything
 * that needs memory may be NX_OUT_OF_MEMORY. */
#ifndef NX_ERROR_H
#define NX_ERROR_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_error {
  /** sizeof(nx_error), set by the caller; later versions may append fields. 0: the fields below */
  size_t size;
  nx_status status;
  const char *op;       /**< as called: "lstsq", not the "svd" in it; "" if none is to blame */
  const char *message;  /**< one sentence that names the operation, the operand and both shapes */
  const char *tag_text; /**< of the operation's tag, or NULL */
  uint64_t tag;         /**< as set by nx_tag_set when the operation was recorded, 0 if none */
  int64_t index;   /**< batch or first bad index, byte offset of a malformed file; -1 if none */
  int32_t operand; /**< which operand is wrong, -1 if none */
  int32_t output;  /**< which requested tensor failed, -1 if none */
} nx_error;

/** Returns the status of this thread's first failure, fills *out (which may be NULL) and clears the
 * slot; NX_OK, and *out all zero but its size, when there was none. The strings live until this
 * thread's next failure. */
NX_API nx_status nx_error_take(nx_error *out);

/** Tags what this thread records from now on, until changed: `tag` is the frontend's own number (a
 * source position, say), `text` is copied and may be NULL. Errors and dumps carry both. Tags
 * change neither results nor caching: of equal operations the first one's tag stays. 0 and NULL:
 * no tag. Without memory for the copy there is none either; no error is noted. */
NX_API void nx_tag_set(uint64_t tag, const char *text);

#ifdef __cplusplus
}
#endif
#endif
