/* SPDX-License-Identifier: ISC */
/* What the stubs for OCaml share. They are written for OCaml 4.13 and later, 5 included: nothing
 * here counts on one domain, and values are roots wherever the runtime may run.
 *
 * Three rules hold everywhere. A handle is read out of its block before anything allocates, since
 * blocks move. Recording keeps the runtime's lock, for it never waits; actions give it up. What a
 * finaliser does is to release, and nothing else. */
#ifndef NX_OCAML_STUBS_H
#define NX_OCAML_STUBS_H

#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/bigarray.h>
#include <caml/callback.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>
#include <nx/nx.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define Context_val(v)  (*(nx_context **)Data_custom_val(v))
#define Tensor_val(v)   (*(nx_tensor **)Data_custom_val(v))
#define Function_val(v) (*(nx_function **)Data_custom_val(v))

/* ---- handles.c */

/* The dtype of a constructor of Nx_engine.dtype, which count from 0 in the order of dtype.h. */
nx_dtype nx_ocaml_dtype(value constructor);
/* A number (Nx_engine.number) as a scalar of the library, and the other way round. */
void nx_ocaml_scalar(value number, nx_scalar *out);
value nx_ocaml_number(const nx_scalar *scalar);
/* An int array as extents, its length; more than NX_MAX_RANK entries are Invalid_argument. */
int32_t nx_ocaml_extents(value array, int64_t out[NX_MAX_RANK]);
/* An axis; what no tensor has stays what no tensor has. */
int32_t nx_ocaml_axis(value number);
/* The same of an array as axes. */
size_t nx_ocaml_axes(value array, int32_t out[NX_MAX_RANK]);
/* Raises Nx_engine.Error with what is in this thread's error slot, and empties the slot. */
_Noreturn void nx_ocaml_raise(void);
/* A custom block of `size` bytes that holds `bytes` outside of the heap. */
value nx_ocaml_block(struct custom_operations *of, uintnat size, size_t bytes);
/* A block for a handle, whose reference it takes. `bytes` is what the collector is told that the
 * block holds outside of its heap. */
value nx_ocaml_box(nx_tensor *tensor, size_t bytes);
/* The handles of an array of tensors, with a reference each: while an action waits, others may
 * write the array. */
nx_tensor **nx_ocaml_handles(value array);
void nx_ocaml_handles_free(nx_tensor **list, size_t n);
/* An array of such blocks, each of the size of its elements. */
value nx_ocaml_box_all(nx_tensor *const *tensors, size_t n);
/* The same for what a recording call has given: raises if that is NULL, tells the collector the
 * size of the elements, and settles (below) if it is time. */
value nx_ocaml_recorded(nx_tensor *tensor);
/* The same for a view, which holds no memory of its own. */
value nx_ocaml_view(nx_tensor *tensor);
/* How many blocks of tensors there are. */
int64_t nx_ocaml_live(void);

/* ---- actions.c */

/* What runs without the runtime's lock; `user` is the caller's. */
typedef nx_status nx_ocaml_work(void *user, const nx_run_options *options);
/* Runs `work` without the lock and with a poll that runs handlers of signals. If one raises, the
 * exception is in *raised, a root of the caller's that holds Val_unit, whatever the status says.
 * When memory is short the collector does all it can, and the work is tried again. */
nx_status nx_ocaml_perform(nx_context *context, nx_ocaml_work *work, void *user, value *raised);
/* Options for an action that shall be done only if nothing has to be waited for; it has failed
 * otherwise, and is to be performed. The runtime's lock is kept. */
const nx_run_options *nx_ocaml_briefly(void);
/* Raises what perform has left: the handler's exception, or else the failure. */
void nx_ocaml_check(nx_status status, value raised);
/* Computes what was deferred, and what waits if that is too much (Nx_engine.set_limits), after
 * `own` was recorded or assigned to: it returns the failure of that, and of nothing else. What a
 * handler raises is in *raised, as with nx_ocaml_perform. */
nx_status nx_ocaml_settle(nx_context *context, nx_tensor *own, value *raised);
/* Computes what waits if some operations have been recorded since that was last done. A loop that
 * makes its state anew and looks at one number in each step would else compute all steps again in
 * each: what it looks at consumes the state, which is not stored for that. Hence after the reading,
 * when the state is something that nobody consumes. Garbage that is not collected yet is computed
 * too, but once; the library walks what is alive, so less often where that is much. */
void nx_ocaml_after_reading(nx_context *context);
/* Counts an operation; true if settling would compute. It costs a few loads. */
bool nx_ocaml_due(nx_context *context);

/* ---- memory.c */

/* Gives back the bigarrays that the library has released since. With the runtime's lock. */
void nx_ocaml_drain(void);
/* A bigarray of rank 1 and of `kind` over the storage of a tensor, of n elements, or, if n < 0, of
 * as many of -n bytes as there are. It, and all that
 * is cut out of it, keeps the memory; the tensor need not live. */
value nx_ocaml_map(value tensor, uint32_t access, int kind, intnat n);

#endif
