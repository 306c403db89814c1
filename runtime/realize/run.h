/* SPDX-License-Identifier: ISC */
/* One run: from roots to a key, from the key to a plan, from the plan to memory.
 *
 * The key is the graph itself, in words: nodes numbered in order from the roots, inputs with what a
 * plan may depend on (type, strides, alignment, aliasing, whether they may be overwritten) and
 * nothing that it may not (addresses, offsets of views, most scalars, tags). A hit in the plan
 * cache needs no graph; a miss decodes one from the key. So a plan cannot depend on something that
 * the key lacks. */
#ifndef NXI_RUN_H
#define NXI_RUN_H

#include "runtime/launch/launch.h"
#include "runtime/record/context.h"

/* An internal status: another run has acquired what is needed; wait for a change and start
 * again. */
#define NXI_WAIT ((nx_status)1000)
/* An internal status: the plan stores values that are held; the run is released, and extracted
 * again with them as outputs. */
#define NXI_AGAIN ((nx_status)1001)
/* An internal status: a value has to be computed on another device first (crossings.c). */
#define NXI_ELSEWHERE ((nx_status)1002)

typedef struct nxi_action nxi_action;

/* A bit of nxi_run.stored: a value that was not requested but will be needed later. */
enum { NXI_RUN_HELD = 8 };

typedef struct nxi_run_input {
  nxi_buffer *buffer;
  int64_t offset;    /* of its first element in the buffer, bytes */
  int64_t bytes;     /* it spans */
  nxi_node *node;    /* the realised node if the input is all of it, else NULL */
  uint32_t flags_at; /* the word of the key that holds its flags */
  uint32_t words_at; /* where its words begin in the key */
  uint32_t slot;     /* its node of the key */
  /* for a donated input: the storage, and the node that the storage names once the call has taken
   * effect; one reference each. That node counts as being computed, so that anything that needs it
   * waits. It fails with NX_DONATED when the call has succeeded; if the call fails, the storage
   * gets its value back. */
  nxi_storage *donor;
  nxi_node *gone;
} nxi_run_input;

typedef struct nxi_run_output {
  nxi_node *node;
  /* memory of a pinned storage that must show the value, or NULL; one reference */
  nxi_buffer *destination;
  /* the node whose value is there and still needed, so that it has to be moved; acquired */
  nxi_node *displaced;
  bool direct;    /* no value in `destination` is needed: the plan may write there */
  bool preserved; /* the old contents are needed again if the run fails */
  /* the memory that the plan writes; NULL: it writes in place of an input. If in_place_of is set
   * too, the value is moved here afterwards */
  nxi_buffer *buffer;
  int32_t in_place_of;
} nxi_run_output;

struct nxi_run {
  nx_context *context;
  nxi_run *next;    /* next of the context's acquired runs */
  uintptr_t thread; /* nxi_thread_self */
  int32_t device;
  uint32_t debugging;          /* nxi_debug_key; part of the key, like the device */
  bool acquired, overwriting;  /* overwriting: an input's memory may be half written */
  bool effects;                /* an ordered custom operation has been called */
  int64_t first_order;         /* of the ordered operations in the key; 0: there is none yet */
  const _Atomic bool *stopped; /* of its action, or NULL */
  _Atomic uintptr_t launcher;  /* the thread that carries out the plan now; 0: none */

  uint64_t *key;
  uint32_t n_key, cap_key, device_word; /* number of the word with the device and debugging */
  nxi_run_input *inputs;
  uint32_t n_inputs, cap_inputs;
  uint64_t *params;
  uint32_t n_params, cap_params;
  nxi_run_output *outputs;
  uint32_t n_outputs, cap_outputs;

  /* traversal */
  struct nxi_visit {
    nxi_node *node;
    uint32_t next; /* operand */
    bool map;      /* it is pending, and an elementwise operation */
  } *stack;
  uint32_t n_stack, cap_stack;
  nxi_node **order; /* operands before users */
  uint32_t *slots;  /* of each, its number in the key */
  uint8_t *stored;  /* 1: an output; NXI_RUN_HELD; acquire.c has more */
  uint32_t *edges;  /* uses by nodes that go with this run */
  uint32_t n_order, cap_order, cap_slots, cap_stored, cap_edges;
  uint32_t cap_nodes; /* for which order, slots and stored have room */
  uint32_t n_slots, n_aliases, n_updates;
  bool calls;          /* a call or control flow is among the pending nodes of `order` */
  uint32_t n_given;    /* inputs that were donated (NXI_NODE_GIVEN) */
  uint32_t n_states;   /* pending values in `order` that were assigned to storages */
  uint32_t n_kept;     /* outputs that were not requested */
  uint32_t n_held;     /* NXI_RUN_HELD in `stored` */
  uint32_t n_hold;     /* pending values in `order` for which nx_hold was called */
  uint32_t most_nodes; /* of which it gives up */
  bool own_memory;     /* of the device */
  /* `bare` is set, and the values that a plan of this key stores are not known yet */
  bool weighed;
  uint64_t bare[2];   /* hash of the key without outputs for values that a plan stores anyway */
  bool hashed;        /* `bare` is the hash of the key as it is now */
  bool frugal;        /* memory is short: no additional values are kept */
  uint32_t *lineages; /* extract_states.c */
  uint32_t cap_lineages;
  uint32_t slot;       /* the node of the key that was written or found last */
  nxi_node *culprit;   /* if extraction failed: the node that cannot be computed */
  bool tagged;         /* tags are kept, because the graph will be shown */
  bool everywhere;     /* what other devices compute is shown, too */
  nxi_node **siblings; /* other results of calls of this run; one reference each */
  uint32_t n_siblings, cap_siblings;
  nxi_tag **tags; /* of each node of the key, or NULL; one reference each */
  uint32_t n_tags, cap_tags;
  struct nxi_span { /* of memory that host code may know */
    uintptr_t begin, end;
    const nxi_buffer *buffer;
  } *spans;
  uint32_t n_spans, cap_spans;
  /* two buffers that are read or written overlap: everything is read before anything is written */
  bool may_alias;
  void *temporary; /* of brief calls: memory of the host, with room to align it */
  void **pointers; /* launch arrays */
  uint32_t cap_pointers;

  /* a call of a function: the key is not a graph */
  nx_status (*make_graph)(nxi_run *run, nxg_graph **out, nxi_diag *d);
  void *user;

  const nx_run_options *options;
  nx_report *report; /* of the action; never NULL */
};

/* ---- extract.c */
/* Fills key, inputs, params and outputs for the roots (pending nodes). run_lock. NXI_WAIT;
 * NXI_ELSEWHERE; NX_UNBOUND and the failure of a failed node; NX_OUT_OF_MEMORY. */
nx_status nxi_extract(nxi_run *run, nxi_node *const *roots, uint32_t n, nxi_diag *d);
/* Whether n brings its operand from another device, where that has to be computed first: it is more
 * than a constant or a view of values in memory. run_lock. */
bool nxi_crosses(const nxi_node *n, nxi_node *operand);
/* The same for one root alone. False: its graph has more nodes, or not all that it needs is there,
 * or its values matter to others than the root: then nxi_extract knows more. run_lock. */
bool nxi_extract_brief(nxi_run *run, nxi_node *root, uint32_t most_nodes);
/* extract_bounds.c. Whether the scalar that is being visited, of dtype t, stays in the key: it is
 * the count of a shift, or what an index of a gather or scatter is clamped to or multiplied by, so
 * that a plan need not check that index. */
bool nxi_run_needs_value(const nxi_run *run, nx_dtype t);
void nxi_run_reset(nxi_run *run);
bool nxi_run_more_nodes(nxi_run *run); /* room for one more in `order`; false: out of memory */
/* extract_states.c. Adds outputs for values of assigned storages that this run computes and that
 * are needed later, so that no assigned value is computed twice. run_lock. False: out of memory. */
bool nxi_run_keep_states(nxi_run *run);
/* Adds outputs for values that a plan of this run stores anyway and that are needed later, if that
 * plan is known; otherwise such values are only marked. The key must be complete; *more: outputs
 * were added, so it has to be completed again. run_lock. False: out of memory. */
bool nxi_run_keep_stored(nxi_run *run, bool *more);
/* Called when a plan without these outputs has been found: true if it stores marked values, which
 * are known from now on. run_lock. */
bool nxi_run_reconsider(nxi_run *run, const nxp_plan *plan);
/* Subtracts the uses by node `at` of the order from its operands, because it is destroyed or
 * releases them. */
void nxi_run_let_go(nxi_run *run, uint32_t at);
bool nxi_run_clear_edges(nxi_run *run); /* false without memory */
/* if it is not an output yet; false: out of memory */
bool nxi_run_add_output(nxi_run *run, nxi_node *n);
/* Whether computing it again costs nothing: constants, and views of realised values. */
bool nxi_node_is_cheap(const nxi_node *n);
/* The realised node under a view or under an update's old value; NULL if that is computed in this
 * run. */
nxi_node *nxi_leaf_under(const nxi_node *user);
/* extract_calls.c. Fills `siblings` for the calls in `order`; run_lock. False: out of memory. */
bool nxi_run_take_siblings(nxi_run *run);
/* Makes the number of the custom operation n, whose words end the key, independent of when it was
 * recorded. True. */
bool nxi_run_number(nxi_run *run, const nxi_node *n);
/* The record lock must not be held. */
void nxi_run_drop_siblings(nxi_run *run);
void nxi_run_drop_tags(nxi_run *run);
void nxi_run_free(nxi_run *run);
/* Makes the graph of a key. with_values: parameters become constants with their current values. No
 * lock. */
nx_status nxi_decode(const nxi_run *run, bool with_values, nxg_graph **out, nxi_diag *d);
/* bad_index.c. Adds the value of the index to the failure of an index. The arrays of the launch
 * must still exist. No lock. */
void nxi_explain_index(const nxi_run *run, nxi_diag *d);
/* The words of the next node; a node's first word is its head: operation, dtype, rank, number of
 * operands. */
static inline const uint64_t *nxi_key_next(const uint64_t *w) {
  return w + 2 + (w[0] >> 24 & 0xff) + (uint32_t)w[1] + (w[0] >> 32);
}
/* Building blocks of keys, for functions. */
bool nxi_key_words(nxi_run *run, const void *words, uint32_t n);
bool nxi_run_add_input(nxi_run *run, nxi_buffer *b, int64_t offset, int64_t bytes, nxi_node *node);
/* The place that an update with these attributes writes, in the form that the same view has as a
 * separate input, if the view starts at its lowest element. In elements; shape points into attrs or
 * into *out. */
typedef struct nxi_alias_range {
  int64_t offset, span;
  bool dense;
  int32_t rank;
  const int64_t *shape;
} nxi_alias_range;
void nxi_alias_range_of(const int64_t *attrs, nxi_alias_range *out);
/* The number of a buffer among those of this run. run_lock. */
int32_t nxi_run_alias(nxi_run *run, nxi_buffer *b);

/* ---- acquire.c */
/* Marks the outputs as running and the inputs as being read, and decides what may be overwritten.
 * run_lock. NXI_WAIT: nothing was acquired. */
nx_status nxi_acquire(nxi_run *run, nxi_diag *d);
/* Called once the outputs have their `destination`: sets `may_alias` if buffers overlap, and then
 * no output is written directly. False: out of memory. */
bool nxi_find_aliases(nxi_run *run);
/* Whether no result has memory where it has to be. If one has, it is written there, and not into
 * memory that is given. */
bool nxi_run_is_free(const nxi_run *run);
/* The last step of acquiring, which cannot fail; both locks. */
void nxi_publish(nxi_run *run);
/* Called when the values are in memory: attaches them to their nodes and releases the operands.
 * nxi_attach: run_lock; nxi_attach_locked: both, and the caller drains and wakes who waits. */
void nxi_attach(nxi_run *run);
void nxi_attach_locked(nxi_run *run);
/* The same for a run of one result that was never acquired, whose memory the result takes. Both
 * locks. */
void nxi_attach_unacquired(nxi_run *run, nxi_buffer *b);
/* Undoes acquiring. What cannot be tried again fails with the status, for the reason `why` (a
 * sentence or NULL). nxi_release is called without locks, nxi_release_locked with both. */
void nxi_release(nxi_run *run, nx_status failure, const char *why);
void nxi_release_locked(nxi_run *run, nx_status failure, const char *why);
/* True if no running kernel reads the buffer and none is about to write it. run_lock. */
static inline bool nxi_buffer_idle(const nxi_buffer *b) { return !b->reading && !b->writing; }
/* Waits for a change, for 10 ms at most, and polls. run_lock, which is released meanwhile. */
nx_status nxi_wait_change(nx_context *c, const nx_run_options *o, nxi_diag *d);

/* ---- executor.c: plans and how they run */
nx_status nxi_executor_create(nx_context *c, nxi_diag *d);
void nxi_executor_destroy(nx_context *c);
/* Finds or makes the plan of an acquired run, reserves memory, and runs it. run_lock, which is
 * released meanwhile: who acquires a run holds it, and so does who attaches its results, and a
 * tenth of a short run would go into locking anew. */
nx_status nxi_execute(nxi_run *run, nxi_action *a);
/* Adds the kernels of a plan to what the context has counted. */
void nxi_count_kernels(nx_context *c, const nxi_compile_report *made);
/* For tests: short runs poll too, between their steps, so that they can be interrupted there. */
extern bool nxi_poll_briefly;
/* The options for a plan for this device. */
void nxi_executor_options(const nx_context *c, int32_t device, nxi_executable_options *out);

void nxi_plans_unbusy(nx_context *c); /* plan_cache.c; run_lock */

/* ---- action.c */
/* State of an action. At its beginning: callbacks, deferred teardown, keeping the context alive. At
 * its end: the report. */
struct nxi_action {
  nx_context *context;
  /* its poll may be called anywhere in the action, and costs little */
  const nx_run_options *options;
  nx_run_options filled;
  nxi_fp environment; /* that of the caller, under which its poll is called */
  nxi_poll caller;    /* its poll */
  nxi_poll asked;     /* the poll of `options`, which calls the caller's */
  bool offloaded;     /* an offload thread does the work; it must not call the caller's poll */
  _Atomic bool stop;  /* the caller's poll has said to stop; it is not called again */
  /* where the work sees that: `stop`, or that of an action which this one works for */
  const _Atomic bool *stopped;
  nx_report report;
  double began;
  nxi_diag diag;
  bool refused; /* the options are invalid; diag has the failure */
  bool tried;   /* whether there is a brief run, before it began (brief.c) */
  bool blamed;  /* the four below name the operation that failed */
  uint64_t tag;
  int32_t output;
  char tag_text[256];
};
void nxi_action_begin(nxi_action *a, nx_context *c, const nx_run_options *o);
nx_status nxi_action_end(nxi_action *a,
                         nx_status status); /* also reports a failure to the thread's slot */
/* NX_INVALID_ARGUMENT if there are no such flags of an action's options. */
nx_status nxi_action_flags(uint32_t flags, const char *op, nxi_diag *d);
/* NX_INTERRUPTED if the caller's poll has said to stop, NX_INVALID_ARGUMENT if its options are
 * invalid. */
nx_status nxi_action_stopped(nxi_action *a);
/* Runs work that may take longer than the time between polls: on this thread if there is no poll,
 * else on an offload thread, which polls a->options. The work must not depend on the thread. No
 * lock. */
nx_status nxi_action_work(nxi_action *a, nx_status (*work)(void *arg), void *arg);
/* nxi_copy_packed (access.c) as such work. After NX_INTERRUPTED a part may not be copied. */
nx_status nxi_action_copy(nxi_action *a, void *to, const void *base, nx_dtype dtype,
                          const nxg_view *v);
/* Copies all bytes of a buffer of this dtype unchanged, except that bools become 0 or 1. */
nx_status nxi_action_bytes(nxi_action *a, void *to, const void *from, int64_t bytes,
                           nx_dtype dtype);

/* ---- brief.c */
/* Computes a pending value at once, if that takes microseconds and nothing unusual concerns it.
 * False: nothing was done, and the general way has to be gone. Both locks. */
bool nxi_brief_run(nx_context *c, nxi_node *n);
/* The workspace of brief runs; NULL without memory. run_lock. */
nxi_run *nxi_brief_workspace(nx_context *c);
/* Whether somebody is told of each run. Of plans NX_DEBUG tells when they are made. */
bool nxi_brief_watched(void);
/* If the value of s is realised, or nxi_brief_run can compute it: takes record_lock, and run_lock
 * too where it computed or `both` are wanted, and tells which. Else it takes none. Without a
 * report: such runs are not counted. may_wait: for run_lock, which a thread that walks through a
 * large graph has for long; who has a poll to call may not. */
typedef enum nxi_brief { NXI_BRIEF_NOT, NXI_BRIEF_RECORD, NXI_BRIEF_BOTH } nxi_brief;
nxi_brief nxi_brief_lock(nx_context *c, const nxi_storage *s, bool both, bool may_wait);
void nxi_brief_unlock(nx_context *c, nxi_brief locked);
/* Whether an action may have such runs, and nobody has looked for one yet. */
static inline bool nxi_brief_suits(const nxi_action *a) { return !a->tried && !a->filled.report; }
/* Whether an action shall be done so, or not at all. */
static inline bool nxi_brief_only(const nx_run_options *o) {
  return o && o->size == sizeof *o && o->flags == NX_AT_ONCE && !o->report;
}
/* What it has failed with then. */
nx_status nxi_brief_refused(const char *op);

/* ---- realize.c */
/* Realises nodes; the caller holds a reference of each. No lock. */
nx_status nxi_realize_nodes(nxi_action *a, nxi_node *const *nodes, uint32_t n);
/* The same without asking the caller's poll first. */
nx_status nxi_realize_here(nxi_action *a, nxi_node *const *nodes, uint32_t n);
/* Those of one device, on this thread. */
nx_status nxi_realize_on(nxi_action *a, int32_t device, nxi_node *const *nodes, uint32_t n);
/* devices.c. Nodes of several devices: each device on a thread, beside the others. */
nx_status nxi_realize_on_each(nxi_action *a, nxi_node *const *nodes, uint32_t n);
/* crossings.c. Realises all values that have to be computed on other devices for the pending nodes
 * `roots`. *failed: the value that could not be. run_lock, which is released meanwhile. */
nx_status nxi_realize_crossings(nxi_action *a, nxi_node *const *roots, uint32_t n,
                                nxi_node **failed);
/* Whether the work around compiling and running, or waiting for the lock, may take long. */
bool nxi_may_last(nx_context *c);
/* leftovers.c. Nodes to be realised, one reference each: values of tensors together with what is
 * deferred, and what is left over (NX_DO_PENDING). */
typedef struct nxi_wanted {
  nxi_list nodes, leftovers;
  bool numbered;   /* the tensors may have other values, or be gone, when one is to blame */
  nxi_list values; /* then, by their numbers: what they had, without references; or NULL */
} nxi_wanted;
/* Adds what the flags of an action ask for, and the values that tensors have now. All that was
 * added is to be given up, also if this fails. False: out of memory. No lock. */
bool nxi_wanted_collect(nx_context *c, uint32_t flags, nx_tensor *const *t, size_t n,
                        nxi_wanted *w);
/* Room for n more values, and one of them, the next number's. record_lock to add. */
bool nxi_wanted_reserve(nxi_wanted *w, uint32_t n);
void nxi_wanted_add(nxi_wanted *w, const nxi_storage *s);
/* Realises it; failures name the number of a tensor. No lock. */
nx_status nxi_wanted_realize(nxi_action *a, nxi_wanted *w);
/* Gives all of it up, and what was deferred and is done. No lock. */
void nxi_wanted_drop(nx_context *c, nxi_wanted *w);
/* Realises the values of tensors, and what the flags of the action's options ask for
 * in addition. If other tensors fail, the first failure is reported after the rest is done. No
 * lock. */
nx_status nxi_realize_tensors(nxi_action *a, nx_tensor *const *t, size_t n);
/* Called first by every other action that takes options, with its tensors: does the same if there
 * are such flags. NX_INTERRUPTED; NX_INVALID_ARGUMENT: the options are invalid. No lock. */
nx_status nxi_action_asked(nxi_action *a, nx_tensor *const *t, size_t n);
/* Realises a storage's current value. node: if not NULL, set to the value, with a reference. No
 * lock. */
nx_status nxi_realize_storage(nxi_action *a, nxi_storage *s, nxi_node **node);
/* The realised value of a storage, which no run overwrites until it is returned. No lock. */
nx_status nxi_borrow(nxi_action *a, nxi_storage *s, nxi_node **node, nxi_buffer **buffer);
void nxi_give_back(nx_context *c, nxi_node *node, nxi_buffer *buffer);
/* Copies the elements of a view of `base` to `to`, in C order, packed; bools become 0 or 1.
 * access.c */
void nxi_copy_packed(void *to, const void *base, nx_dtype dtype, const nxg_view *v);
/* nx_map of realised tensors, where failures name another operation. mapping.c */
nx_status nxi_map(const char *op, nx_tensor *t, uint32_t access, const nx_run_options *o,
                  nx_mapping **out);
nxi_run *nxi_run_take(nx_context *c, nxi_diag *d);            /* a workspace; no lock */
void nxi_run_give(nxi_run *run);                              /* no lock */
nx_status nxi_poll_now(const nx_run_options *o, nxi_diag *d); /* no lock */

#endif
