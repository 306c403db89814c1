/* SPDX-License-Identifier: ISC */
/* Realising and calling without waiting. A call returns as soon as its work is noted, and gives an
 * event; a thread of the context does the work, one after the other in the order of the calls, on
 * the threads of the pool. Where the processor is divided into several devices, each has such a
 * thread of its own, which does what begins with it: a function, or the first tensor. On a GPU it
 * starts the work, and that of the next events, and an event is over when the GPU is done with its
 * own. Meanwhile everything else goes on: results can be recorded upon, read, assigned and released
 * at once, and a read or a mapping waits for, or computes, what it needs and nothing more. What a
 * call computes are the values at the time of the call, whatever is assigned afterwards.
 *
 * The work keeps the context alive. In a child of fork work that had not ended is NX_INTERRUPTED,
 * and callbacks of it are not called; the process may end at any time. */
#ifndef NX_ASYNC_H
#define NX_ASYNC_H

#include "function.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_event nx_event;

/** As nx_realize, but that failures of the work are found in the event. The tensors may be released
 * at once. options: flags are about what there is at the time of the call; a report is filled when
 * the work ends, on a GPU when all of it was started, and must live until then; a poll is
 * NX_INVALID_ARGUMENT (nx_event_wait takes one). *event is one reference, the caller's; untouched
 * on failure, when nothing is done. NX_INVALID_ARGUMENT as of nx_realize; NX_OUT_OF_MEMORY, also if
 * no thread can be started. */
NX_API nx_status nx_realize_async(nx_context *context, nx_tensor *const *tensors, size_t n,
                                  const nx_run_options *options, nx_event **event);
/** As nx_function_record, followed by nx_realize_async of the outputs and of the tensors that the
 * function assigns; so what lies in exposed storage is computed before the call returns. What flags
 * of the options ask for is what there is before the call. Inputs that the function takes as
 * donated are NX_DONATED from here on, and results may lie in their memory as in nx_function_call.
 * If the work fails or is cancelled, outputs are what they are after a failed nx_realize: recorded,
 * to be realised again. */
NX_API nx_status nx_function_call_async(nx_function *f, nx_tensor *const *in, size_t n_in,
                                        nx_tensor **out, size_t n_out,
                                        const nx_run_options *options, nx_event **event);

/** Waits until the work has ended. Returns its status, and notes its error, which names the
 * operation, its tag and the number of the tensor or output, for this thread; any thread may wait,
 * and again. options: the poll is called every 20 ms at most, and ends the wait (NX_INTERRUPTED),
 * not the work. NX_INVALID_ARGUMENT on the thread that does the work (in a custom operation, or a
 * callback of an event), where the work has not ended: nobody would. */
NX_API nx_status nx_event_wait(nx_event *event, const nx_run_options *options);
/** Whether the work has ended, well or not. True for NULL. */
NX_API bool nx_event_done(const nx_event *event);
typedef struct nx_callback {
  size_t size; /**< sizeof(nx_callback) */
  void (*call)(void *user);
  void *user;
} nx_callback;
/** Has `then` called once when the work has ended: on the thread that does the work, without locks,
 * after those that were given before, or here and now if it has ended already. It may use the
 * library; nx_event_wait gives it the status. A wait may return before.
 * NX_INVALID_ARGUMENT: there is nothing to call. NX_OUT_OF_MEMORY. */
NX_API nx_status nx_event_then(nx_event *event, const nx_callback *then);
/** Asks the work to end, as a poll does, with NX_INTERRUPTED; it may be too late for that. What it
 * has not computed can be realised again. Does not wait. NULL is allowed. */
NX_API void nx_event_cancel(nx_event *event);
/** One more reference, the caller's to release; returns it. NULL gives NULL. */
NX_API nx_event *nx_event_retain(nx_event *event);
/** Gives one reference up, at any time: the work goes on. NULL is allowed. */
NX_API void nx_event_release(nx_event *event);

#ifdef __cplusplus
}
#endif
#endif
