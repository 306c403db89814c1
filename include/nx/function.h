/* SPDX-License-Identifier: ISC */
/* Functions: a recorded graph with inputs, called many times.
 *
 * To capture one, create its placeholders, record with them, and name the results:
 *
 *   nx_tensor *x = nx_placeholder(c, 0, NX_F32, NX_SHAPE(64, 10));
 *   nx_tensor *y = nx_tanh(nx_matmul(x, w));
 *   nx_function *f;
 *   nx_function_create(c, &x, 1, &y, 1, NULL, &f);
 *
 * Capture begins on a thread with its first placeholder and ends with nx_function_create. Tensors
 * that existed before (w) are not frozen: each call reads what they hold then. Assigns recorded
 * during the capture do not happen then, but at every call; if the placeholders are released before
 * a function is made they never happen.
 *
 * A function that is made within a capture, as the body of a loop, begins with its own first
 * placeholder: what the capture around it computed or assigned before is read when it is called,
 * and its assigns are its own, also those to tensors which the capture around it has made. A
 * placeholder of that capture is no tensor from before: a body takes it as an operand, or reads a
 * copy. A function without inputs begins nowhere, and assigns nothing: what is assigned before it
 * belongs to the capture around it. It may read such tensors, but none that this capture has
 * assigned since its newest placeholder (NX_INVALID_ARGUMENT); what the capture has made since
 * then is in it as it is when the function is made, whatever is assigned to it later.
 *
 * A placeholder that is no input of the function keeps its capture going until it is released, or
 * another function takes it; what is made meanwhile belongs to that capture and is read as it is
 * then. Where releases may come late (an exception that a garbage collector keeps, and the
 * placeholders with it) nx_capture_end ends the capture at once. */
#ifndef NX_FUNCTION_H
#define NX_FUNCTION_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_function nx_function;

typedef struct nx_function_options {
  size_t size;           /**< sizeof(nx_function_options) */
  const char *name;      /**< copied; NULL: "f" */
  const uint8_t *donate; /**< n_in bytes, or NULL: nonzero gives the input's memory to the call */
} nx_function_options;

/** Makes a function of what was recorded between its inputs and its outputs, and ends the capture
 * for these inputs. in: placeholders, each once. out: any tensors, views included; each must
 * depend on no other placeholder (NX_UNBOUND). A tensor from before the capture is read at each
 * call: one whose value then depends on a placeholder makes the call NX_UNBOUND. *f is one
 * reference; untouched on failure. Handles in `in` and `out` stay the caller's, who may release
 * them at once. NX_INVALID_ARGUMENT: an input that is no placeholder of this context as a whole,
 * is named twice, is on another device than input 0, was assigned outside of its capture, or whose
 * capture was ended; an output that is NULL or of another context; a list that is NULL, or longer
 * than a million. What a value that an output needs has failed with, if it has. NX_OUT_OF_MEMORY.
 * */
NX_API nx_status nx_function_create(nx_context *context, nx_tensor *const *in, size_t n_in,
                                    nx_tensor *const *out, size_t n_out,
                                    const nx_function_options *options, nx_function **f);
/** Whether this thread is capturing: whether an assign that it records now is only noted. False for
 * NULL. */
NX_API bool nx_capturing(const nx_context *context);
/** Ends this thread's capture, if it is in one, without a function: what it has assigned never
 * happens, and what it records from now on is recorded as without a capture. Placeholders stay
 * what they are: values that depend on them are NX_UNBOUND, and they are inputs of no function any
 * more (NX_INVALID_ARGUMENT). Captures of other threads go on. NULL does nothing. */
NX_API void nx_capture_end(nx_context *context);
/** Runs. in: n_in tensors with the dtype, shape and device of the placeholders. out: n_out places;
 * one that holds NULL gets a new tensor, one reference, the caller's; a tensor that is there is
 * assigned, in place. Inputs that are one tensor, or that overlap each other or an output, are
 * separate values, taken when the call begins. Donated inputs become NX_DONATED. On failure nothing
 * is changed. NX_INVALID_ARGUMENT: another number of inputs or outputs than the function has, one
 * that does not fit, a NULL input, an output that overlaps itself. NX_NOT_WRITABLE:
 * an output in an immutable import. NX_UNBOUND, NX_DONATED. What realising gives. NX_AT_ONCE: as of
 * nx_item; inputs that would have to be computed first are not there. */
NX_API nx_status nx_function_call(nx_function *f, nx_tensor *const *in, size_t n_in,
                                  nx_tensor **out, size_t n_out, const nx_run_options *options);
/** Records what a call would do into the graph, inlined, and runs nothing, unless exposed storage
 * is among what it reads or assigns. Arguments and failures as of nx_function_call, but that
 * inputs which the function takes as donated stay alive and keep their values, and that a value
 * without one (NX_UNBOUND, NX_DONATED) is noticed when the result is realised. */
NX_API nx_status nx_function_record(nx_function *f, nx_tensor *const *in, size_t n_in,
                                    nx_tensor **out, size_t n_out);
/** Whether a call with these inputs, n_in of them, may differ from recording with them what the
 * function was made of: it assigns an input that may overlap another one or that it also reads from
 * outside, or a tensor from outside of which an input is a view. The inputs of a call are separate
 * values, so an assign to one of them does not show in another. False for NULL, for another number
 * of inputs than the function has, and at once for a function that assigns nothing. Never realises
 * anything; any thread. */
NX_API bool nx_function_aliases(const nx_function *f, nx_tensor *const *in, size_t n_in);
/** One more reference of the function, the caller's to release; returns it. NULL gives NULL. */
NX_API nx_function *nx_function_retain(nx_function *f);
/** Gives one reference up. NULL is allowed. As nx_tensor_release: on any thread, neither waits nor
 * calls back. */
NX_API void nx_function_release(nx_function *f);

/* ---- description */

typedef struct nx_function_info {
  size_t size;      /**< sizeof(nx_function_info) */
  const char *name; /**< lives as long as the function, like all strings and shapes here */
  size_t inputs, outputs;
} nx_function_info;
/** Fills *out; all zeros but its size for NULL. */
NX_API void nx_function_describe(const nx_function *f, nx_function_info *out);

typedef struct nx_port_info {
  size_t size;      /**< sizeof(nx_port_info) */
  const char *name; /**< of the text it was parsed from, else "x0", "x1", .. and "y0", "y1", .. */
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape;
} nx_port_info;
/** Fills *out with what input i takes. NX_INVALID_ARGUMENT beyond the last one. */
NX_API nx_status nx_function_input(const nx_function *f, size_t i, nx_port_info *out);
/** Fills *out with what output i is. NX_INVALID_ARGUMENT beyond the last one. */
NX_API nx_status nx_function_output(const nx_function *f, size_t i, nx_port_info *out);

#ifdef __cplusplus
}
#endif
#endif
