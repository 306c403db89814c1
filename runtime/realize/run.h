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

/* Besides the statuses of the interface: another run has what is needed; wait for a change and
 * start again. */
#define NXI_WAIT ((nx_status)1000)
/* The plan stores values that somebody holds: the run is given up, and extracted again with them as
 * outputs. */
#define NXI_AGAIN ((nx_status)1001)

typedef struct nxi_action nxi_action;

/* A bit of nxi_run.stored: a value that the run is not asked for and that will be needed. */
enum { NXI_RUN_HELD = 8 };

typedef struct nxi_run_input {
  nxi_buffer *buffer;
  int64_t offset;    /* of its first element in the buffer, bytes */
  int64_t bytes;     /* it spans */
  nxi_node *node;    /* if it is the whole of a realised node, else NULL */
  uint32_t flags_at; /* the word of the key that holds its flags */
  uint32_t words_at; /* where its words begin in the key */
  uint32_t slot;     /* its node of the key */
  /* of a donated input: the storage, and what it names from the moment of the call on; one
   * reference each. A copy of the value, which counts as being computed: whoever needs it waits. It
   * fails with NX_DONATED when the call has succeeded; if the call fails the storage gets its value
   * back. */
  nxi_storage *donor;
  nxi_node *gone;
} nxi_run_input;

typedef struct nxi_run_output {
  nxi_node *node;
  /* memory of a pinned storage that must show the value, or NULL; one reference */
  nxi_buffer *destination;
  nxi_node *displaced; /* whose value lies there and is needed further: it moves out; acquired */
  bool direct;         /* nothing lies in `destination` that is needed: the plan may write there */
  bool preserved;      /* but it is needed again if the run fails */
  /* where the plan writes; NULL: in place of an input; else, in place: it moves here */
  nxi_buffer *buffer;
  int32_t in_place_of;
} nxi_run_output;

struct nxi_run {
  nx_context *context;
  nxi_run *next; /* of the context's acquired runs */
  pthread_t thread;
  int32_t device;
  uint32_t debugging;         /* nxi_debug_key; part of the key, like the device */
  bool acquired, overwriting; /* overwriting: an input's memory may be half written */

  uint64_t *key;
  uint32_t n_key, cap_key;
  nxi_run_input *inputs;
  uint32_t n_inputs, cap_inputs;
  uint64_t *params;
  uint32_t n_params, cap_params;
  nxi_run_output *outputs;
  uint32_t n_outputs, cap_outputs;

  /* traversal */
  struct nxi_visit {
    nxi_node *node;
    uint32_t next;
  } *stack;
  uint32_t n_stack, cap_stack;
  nxi_node **order; /* operands before users */
  uint32_t *slots;  /* of each, its number in the key */
  uint8_t *stored;  /* 1: an output; NXI_RUN_HELD; acquire.c has more */
  uint32_t *edges;  /* uses by nodes that go with this run */
  uint32_t n_order, cap_order, cap_slots, cap_stored, cap_edges;
  uint32_t n_slots, n_aliases, n_updates;
  uint32_t n_states;  /* pending values of the order that were assigned */
  uint32_t n_kept;    /* outputs that nobody asked for */
  uint32_t n_held;    /* NXI_RUN_HELD in `stored` */
  bool weighed;       /* `bare` is there, and what a plan stores of this key is not known yet */
  uint64_t bare[2];   /* hash of the key before values are kept that a plan stores in any case */
  bool hashed;        /* it is that of the key as it is now */
  bool frugal;        /* memory is short: nothing is kept */
  uint32_t *lineages; /* extract_states.c */
  uint32_t cap_lineages;
  uint32_t slot;       /* the node of the key that was written, or found again, last */
  nxi_node *culprit;   /* that cannot be computed, if extraction failed */
  bool tagged;         /* tags are wanted: somebody will see the graph */
  nxi_node **siblings; /* other results of calls of this run; one reference each */
  uint32_t n_siblings, cap_siblings;
  nxi_tag **tags; /* of each node of the key, or NULL; one reference each */
  uint32_t n_tags, cap_tags;
  struct nxi_span { /* of memory that host code may know */
    uintptr_t begin, end;
    const nxi_buffer *buffer;
  } *spans;
  uint32_t n_spans, cap_spans;
  /* one buffer that is read or written lies across another: all is read before any is written */
  bool may_alias;
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
 * NX_UNBOUND and the failure of a failed node; NX_OUT_OF_MEMORY. */
nx_status nxi_extract(nxi_run *run, nxi_node *const *roots, uint32_t n, nxi_diag *d);
void nxi_run_reset(nxi_run *run);
/* extract_states.c. What this run computes of storages that were assigned, and others need later,
 * becomes its output too: nothing that is assigned is computed twice. run_lock. False without
 * memory. */
bool nxi_run_keep_states(nxi_run *run);
/* What a plan of this run stores in any case, and others need later, becomes its output too, once
 * that plan is known; until then such values are marked. The key is complete; *more: its outputs
 * are not any more. run_lock. False without memory. */
bool nxi_run_keep_stored(nxi_run *run, bool *more);
/* A plan without them has been found: true if it stores marked values; they are known from now on.
 * run_lock. */
bool nxi_run_reconsider(nxi_run *run, const nxp_plan *plan);
/* Whoever is below node `at` of the order loses what it counts of it: the node goes, or lets go of
 * its operands. */
void nxi_run_let_go(nxi_run *run, uint32_t at);
bool nxi_run_clear_edges(nxi_run *run);             /* false without memory */
bool nxi_run_add_output(nxi_run *run, nxi_node *n); /* if it is none yet; false without memory */
/* Constants, and views of what is in memory, cost no more the second time. */
bool nxi_node_is_cheap(const nxi_node *n);
/* The realised node that a view, or an update's old value, lies on; NULL if it is computed in this
 * run. */
nxi_node *nxi_leaf_under(const nxi_node *user);
/* extract_calls.c. Fills `siblings` of what is in `order`; run_lock. False without memory. */
bool nxi_run_take_siblings(nxi_run *run);
/* Not the record lock. */
void nxi_run_drop_siblings(nxi_run *run);
void nxi_run_drop_tags(nxi_run *run);
void nxi_run_free(nxi_run *run);
/* The graph that a key says. with_values: parameters become the constants they are now. No lock. */
nx_status nxi_decode(const nxi_run *run, bool with_values, nxg_graph **out, nxi_diag *d);
/* bad_index.c. Adds to the failure of an index what the index was. The arrays of the launch are
 * still there. No lock. */
void nxi_explain_index(const nxi_run *run, nxi_diag *d);
/* The words of the next node; a node's first word is its head: operation, dtype, rank, number of
 * operands. */
static inline const uint64_t *nxi_key_next(const uint64_t *w) {
  return w + 2 + (w[0] >> 24 & 0xff) + (uint32_t)w[1] + (w[0] >> 32);
}
/* Building blocks of keys, for functions. */
bool nxi_key_words(nxi_run *run, const void *words, uint32_t n);
bool nxi_run_add_input(nxi_run *run, nxi_buffer *b, int64_t offset, int64_t bytes, nxi_node *node);
/* The place that an update with these attributes writes, in the form in which a reader of the same
 * view has it as an input of its own, if the view begins at its lowest element. In elements; shape
 * points into attrs or into *out. */
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
/* Marks the outputs as running and the inputs as read, and settles what may be overwritten.
 * run_lock. NXI_WAIT; then nothing is acquired. */
nx_status nxi_acquire(nxi_run *run, nxi_diag *d);
/* Once the outputs have their `destination`: sets `may_alias`, and then lets none be written
 * directly. False without memory. */
bool nxi_find_aliases(nxi_run *run);
/* The last step of acquiring, once nothing can go wrong; both locks. */
void nxi_publish(nxi_run *run);
/* The values are in memory: attaches them and lets go of operands. No lock. */
void nxi_attach(nxi_run *run);
/* Undoes acquiring. No lock; both locks. */
void nxi_release(nxi_run *run, nx_status failure);
void nxi_release_locked(nxi_run *run, nx_status failure);
/* True if no running kernel reads the buffer and none is about to write it. run_lock. */
static inline bool nxi_buffer_idle(const nxi_buffer *b) { return !b->reading && !b->writing; }
/* Waits for a change, for 10 ms at most, and polls. run_lock, which is given up meanwhile. */
nx_status nxi_wait_change(nx_context *c, const nx_run_options *o, nxi_diag *d);

/* ---- executor.c: plans and how they run */
nx_status nxi_executor_create(nx_context *c, const char *cache_dir, nxi_diag *d);
void nxi_executor_destroy(nx_context *c);
/* Why graphs for the processor are interpreted that were to be compiled, NULL if they are compiled.
 * Static. */
const char *nxi_executor_missing(const nx_context *c);
uint64_t nxi_executor_compiled(nx_context *c); /* kernels compiled so far */
/* Finds or makes the plan of a run that its action has acquired, reserves its memory, runs it. No
 * lock. */
nx_status nxi_execute(nxi_run *run, nxi_action *a);
/* Tests: short runs ask too, between their steps, so that they can be interrupted there. */
extern bool nxi_poll_briefly;
/* device.c: what is different in a plan for a GPU that is open. */
void nxi_device_options(const nx_context *c, int32_t device, nxi_executable_options *out);
/* What a plan for this device would be made with. */
void nxi_executor_options(const nx_context *c, int32_t device, nxi_executable_options *out);

void nxi_plans_unbusy(nx_context *c); /* plan_cache.c; run_lock */

/* ---- action.c */
/* What every action does first: callbacks, deferred teardown, the context kept alive. And last: the
 * report. */
struct nxi_action {
  nx_context *context;
  /* its poll may be called anywhere in the action, and costs little */
  const nx_run_options *options;
  nx_run_options filled;
  nxi_fp environment; /* the caller's, under which its poll is called */
  nxi_poll caller;    /* its poll */
  nxi_poll asked;     /* calls it */
  bool offloaded;     /* an offload thread is at work: the caller's poll is not for it to call */
  _Atomic bool stop;  /* the caller's poll has said stop: it is not asked again */
  nx_report report;
  double began;
  nxi_diag diag;
  bool refused; /* the options cannot be read; diag says it */
  bool blamed;  /* the four below name the operation that failed */
  uint64_t tag;
  int32_t output;
  char tag_text[256];
};
void nxi_action_begin(nxi_action *a, nx_context *c, const nx_run_options *o);
nx_status nxi_action_end(nxi_action *a,
                         nx_status status); /* also reports a failure to the thread's slot */
/* NX_INTERRUPTED if the caller has said stop, NX_INVALID_ARGUMENT if its options are none. */
nx_status nxi_action_stopped(nxi_action *a);
double nxi_now_ms(void);
/* Has work done that may last longer than polls may be apart: on this thread if there is no poll,
 * else by an offload thread, which asks a->options as it goes. What the work does must not depend
 * on the thread. No lock. */
nx_status nxi_action_work(nxi_action *a, nx_status (*work)(void *arg), void *arg);
/* nxi_copy_packed (access.c) as such work. NX_INTERRUPTED leaves part of it undone. */
nx_status nxi_action_copy(nxi_action *a, void *to, const void *base, nx_dtype dtype,
                          const nxg_view *v);
/* All of a buffer of this dtype: bytes as they are, but for those of bools, which become 0 or 1. */
nx_status nxi_action_bytes(nxi_action *a, void *to, const void *from, int64_t bytes,
                           nx_dtype dtype);

/* ---- realize.c */
/* Realises nodes; the caller holds a reference of each. No lock. */
nx_status nxi_realize_nodes(nxi_action *a, nxi_node *const *nodes, uint32_t n);
/* Whether even what surrounds compiling and running, or waiting for the lock, may last. */
bool nxi_may_last(nx_context *c);
/* leftovers.c. Realises the values of tensors, and what the flags of the action's options ask for
 * besides. Of other tensors' failures the first is reported when the rest is done. No lock. */
nx_status nxi_realize_tensors(nxi_action *a, nx_tensor *const *t, size_t n);
/* What every other action that takes options does first, with the tensors that it is about: the
 * same if there are such flags. NX_INTERRUPTED; NX_INVALID_ARGUMENT: there are no such options. No
 * lock. */
nx_status nxi_action_asked(nxi_action *a, nx_tensor *const *t, size_t n);
/* Realises a storage's present value; if node is not NULL it gets it, with a reference. No lock. */
nx_status nxi_realize_storage(nxi_action *a, nxi_storage *s, nxi_node **node);
/* The realised value of a storage, kept in place until it is given back: no run writes over it
 * meanwhile. No lock. */
nx_status nxi_borrow(nxi_action *a, nxi_storage *s, nxi_node **node, nxi_buffer **buffer);
void nxi_give_back(nx_context *c, nxi_node *node, nxi_buffer *buffer);
/* Elements of a view of `base` to `to`, in C order, packed; bool bytes become 0 or 1. access.c */
void nxi_copy_packed(void *to, const void *base, nx_dtype dtype, const nxg_view *v);
/* nx_map of tensors that are there, under the name of another operation. mapping.c */
nx_status nxi_map(const char *op, nx_tensor *t, uint32_t access, const nx_run_options *o,
                  nx_mapping **out);
nxi_run *nxi_run_take(nx_context *c, nxi_diag *d);            /* a workspace; no lock */
void nxi_run_give(nxi_run *run);                              /* no lock */
nx_status nxi_poll_now(const nx_run_options *o, nxi_diag *d); /* no lock */

#endif
