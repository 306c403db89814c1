/* SPDX-License-Identifier: ISC */
/* Library calls: operations on whole arrays that are not compiled but done by functions (LAPACK,
 * FFT, sorting).
 *
 * The table is library.def. In the graph such an operation is a node of kind CALL whose operands
 * and result are dense, in C order; a pass brings operands into that form, by the kernels that
 * compute them. A plan runs the call as a step of its own, the interpreter as one of its steps.
 * Both use the same functions, which the runtime installs, so this directory knows none of them.
 *
 * A scan may be such a call too, where a device has a function for it (graph/scans.c); here none is
 * installed.
 *
 * A call is divided into tasks by its types and attributes; by the number of threads only if its
 * bits depend on no division. Tasks may run in any order and on any thread, and the result of each
 * does not depend on the thread that runs it. So bits do not depend on the number of threads. */
#ifndef NXG_LIBRARY_H
#define NXG_LIBRARY_H

#include "attention.h"
#include "ir/graph/control.h"
#include "ir/graph/graph.h"
#include "ir/poll.h"

enum { NXG_CALL_OPERANDS = 16, NXG_CALL_RESULTS = 16, NXG_CALL_ATTRS = 9, NXG_CALL_PHASES = 8 };
/* Attributes of a node, at most: its own, `result`, and the shapes of complex operands. */
enum { NXG_CALL_MOST_ATTRS = NXG_CALL_ATTRS + 1 + NXG_CALL_OPERANDS * (1 + NXG_MAX_RANK) };

/* The attributes of matmul_windows: as many of y, then of x; and where features are, a bit each. */
enum {
  NXG_WINDOWS_COUNT,
  NXG_WINDOWS_STEP,
  NXG_WINDOWS_DILATION,
  NXG_WINDOWS_BEFORE,
  NXG_WINDOWS_AXIS,
  NXG_WINDOWS_LAYOUT = 2 * NXG_WINDOWS_AXIS,
  NXG_WINDOWS_ATTRS
};
enum { NXG_WINDOWS_IMAGE_FIRST = 1, NXG_WINDOWS_RESULT_FIRST = 2 };

typedef struct nxg_array {
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
} nxg_array;

/* One call: everything that its functions may depend on. */
typedef struct nxg_call {
  nxg_op op;
  uint32_t n_operands, n_results, n_attrs; /* attributes without `result` */
  nxg_array operands[NXG_CALL_OPERANDS], results[NXG_CALL_RESULTS];
  int64_t attrs[NXG_CALL_ATTRS];
} nxg_call;

/* For operations of kind CALL: the number of results (of `custom` any number above 1, see
 * nxg_call.n_results); whether values of operands can make them
 * fail; the number of attributes, with `result` if there are several results; and the names of
 * these, of which `result` is the last. */
uint32_t nxg_call_results(nxg_op op);
bool nxg_call_fails(nxg_op op);
uint32_t nxg_call_attrs(nxg_op op);
const char *nxg_call_key(nxg_op op, uint32_t i, size_t *length);
/* Whether a matrix of the batch that cannot be done gives NaN, and is no failure. */
bool nxg_call_gives_nan(const nxg_call *call);
/* Whether it does so always, and its last result, an i32 for each matrix, is 0, or the number,
 * counted from 1, of the pivot that failed. */
bool nxg_call_has_info(const nxg_call *call);
/* The number of the result that a node is. */
uint32_t nxg_result_number(nxg_op op, const int64_t *attrs);
/* Whether two nodes are results of one call, or of one run of control flow. */
bool nxg_same_call(const nxg_node *a, const nxg_node *b);

/* After complex values have become rows of their parts (passes/graph/types.c), a call with a
 * complex operand or result has further attributes: for each operand its rank and complex shape, or
 * -1 if it is real. Complex results of such a node are rows of parts too. */
static inline bool nxg_call_has_rows(nxg_op op, uint32_t n_attrs) {
  return n_attrs > nxg_call_attrs(op);
}

/* Which operands of an attention are masks. */
nxg_attention_masks nxg_attention_masks_of(const nxg_call *call);

/* Checks operands and attributes, and fills *out, with the types of all results; complex values
 * have their complex type. It is the only place that knows the types of calls; nxg_infer calls
 * it. */
nx_status nxg_call_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                         uint32_t n_attrs, nxg_call *out, nxi_diag *d);
/* The same for a node of a valid graph. */
nx_status nxg_call_of_node(const nxg_graph *g, uint32_t node, nxg_call *out, nxi_diag *d);
/* Whether two calls are equal. What is behind the rank of an array, or in padding, may differ. */
bool nxg_calls_equal(const nxg_call *a, const nxg_call *b);

/* ---- the functions */

/* How a call is run: phases one after the other, the tasks of a phase in any order. */
typedef struct nxg_call_work {
  uint32_t n_phases;              /* at least 1 */
  int64_t tasks[NXG_CALL_PHASES]; /* of each */
  /* how many tasks a thread takes at a time: some 10 us of work, 10 ms at most */
  int64_t grain[NXG_CALL_PHASES];
  int64_t split; /* how many consecutive tasks belong to one index of the batch; 0 means 1 */
  int64_t shared_bytes, own_bytes; /* scratch of the call, and of each thread */
  /* Gives the tasks and the grain of a phase if there are more phases than the arrays above hold;
   * else NULL. */
  void (*phase)(const void *state, uint32_t phase, int64_t *tasks, int64_t *grain);
  double cost;      /* roughly the floating-point operations of the call */
  bool cannot_fail; /* whatever the operands hold */
  void *state;      /* data that `prepare` made for all runs, or NULL */
  /* While it is prepared, else NULL: a preparation that takes long asks it about every 10 ms, and
   * ends with NX_INTERRUPTED if it says so. */
  const nxi_poll *poll;
  int32_t threads; /* given: how many there will be, 0 where that is not known; decides no bits */
} nxg_call_work;

/* Some tasks of one phase. All memory is aligned to 64 bytes, except that of operands, which is
 * aligned to their elements. Operands may share memory with each other; results overlap nothing. */
typedef struct nxg_call_part {
  const nxg_call *call;
  void *state;
  uint32_t phase;
  int64_t begin, end;
  void *const *operands, *const *results;
  void *shared, *own;
  /* to be called about every 10 ms; true: return at once, with the work unfinished */
  bool (*stopped)(void *user);
  void *user;
  bool unpolled;  /* there is no poll: `stopped` gives false always */
  int64_t failed; /* if the function fails: the task that failed */
  /* room for a sentence of its own about that, or NULL; only of a call of one task */
  char *sentence;
  size_t room;
} nxg_call_part;

typedef struct nxg_functions {
  /* Fills *work, which is zeroed but for the poll and the threads. It does not change afterwards,
   * so several runs may use it at the same time. */
  nx_status (*prepare)(const nxg_call *call, nxg_call_work *work, nxi_diag *d);
  /* Called under the default floating-point environment. Each task can fail on its own. If several
   * fail, the failure of the lowest task is reported, so a function stops at the first one and sets
   * part->failed. */
  nx_status (*run)(nxg_call_part *part);
  void (*release)(void *state); /* NULL: nothing to release */
} nxg_functions;
/* Installs the functions of an operation, for the life of the process. Must be called before
 * programs and plans are made. */
void nxg_set_functions(nxg_op op, const nxg_functions *f);
/* NX_DEVICE_UNAVAILABLE if there are none. threads: 0 is not known. poll: NULL is none. */
nx_status nxg_call_prepare(const nxg_call *call, const nxg_functions **f, nxg_call_work *work,
                           int32_t threads, const nxi_poll *poll, nxi_diag *d);
void nxg_call_phase(const nxg_call_work *work, uint32_t phase, int64_t *tasks, int64_t *grain);
/* The sentence of a failure of a task. said: its own, "" if it has none. */
nx_status nxg_call_failed(const nxg_call *call, const nxg_call_work *work, nx_status status,
                          int64_t task, const char *said, nxi_diag *d);
enum { NXG_CALL_SENTENCE = 256 };

#endif
