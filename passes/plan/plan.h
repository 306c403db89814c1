/* SPDX-License-Identifier: ISC */
/* A plan: what a graph comes to, as data. Steps in order, the memory of each, kernels as IR,
 * library calls and products as descriptions. It names no code, no address and no device;
 * runtime/launch attaches those to it and carries it out.
 *
 * A plan is made in two parts. nxp_plan_create decides everything but how much memory the steps
 * need beside their operands, which depends on who carries them out. That is filled in then
 * (nxp_plan_set_scratch, scratch_bytes of the plan), and nxp_plan_pack gives all temporaries their
 * places. From then on a plan does not change, and any threads may read it. */
#ifndef NXP_PLAN_H
#define NXP_PLAN_H

#include "ir/graph/control.h"
#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/library/library.h"
#include "ir/library/scatter.h"
#include "ir/library/seen.h"
#include "ir/library/windows.h"
#include "ir/poll.h"
#include "ir/target.h"
#include "passes/fuse/cluster.h"

#define NXP_NONE UINT32_MAX

/* Buffers of a kernel: each operation of a group (320 at most, passes/fuse/cluster.c) brings two
 * operands more, and eight are stored. Those of a step: also what a split kernel leaves between its
 * parts. */
enum { NXP_MAX_BUFFERS = 704, NXP_STEP_BUFFERS = NXP_MAX_BUFFERS + 8 };

typedef struct nxp_options {
  bool fuse;  /* false: one kernel a node (tests) */
  bool whole; /* operands of products are written whole, however large (tests, measurements) */
  bool tight; /* memory is short: values that are cheap are computed again, steps in any order */
  /* The plan may be replaced after a launch: what would take longer to compile than it saves until
   * then is put off (nxp_plan.put_off). */
  bool at_first;
  bool in_body; /* the plan is of the body of a loop or of a branch, which may run many times */
  bool on_gpu;  /* all steps run on the GPU of the target, not its kernels alone */
  const nxi_target *target;
  int32_t threads;       /* that a launch may use: the size of its pool */
  nxp_products products; /* what the libraries that are there multiply */
  /* What they would multiply if none were missing, and, if one is, a sentence that says which and
   * why (static, or NULL). */
  nxp_products all_products;
  const char *no_library;
} nxp_options;

/* ---- memory */

/* NXP_STOP: a byte that is not 0 once the run is to stop, which may be at any time. */
typedef enum nxp_place_kind {
  NXP_NOWHERE,
  NXP_INPUT,
  NXP_OUTPUT,
  NXP_TEMPORARY,
  NXP_STOP
} nxp_place_kind;

/* Memory a step reads or writes: a base, and bytes from it. If `alias_range` is not
 * NXP_NO_ALIAS_RANGE the address moves further by the distance between two inputs, known at launch:
 * that input's first element less `alias_range_of`'s. */
#define NXP_NO_ALIAS_RANGE UINT32_MAX
typedef struct nxp_location {
  nxp_place_kind kind;
  uint32_t number; /* of the input or output; until nxp_plan_pack also of the temporary */
  int64_t offset;  /* bytes */
  uint32_t alias_range, alias_range_of;
} nxp_location;

/* How an output's memory comes about. */
typedef struct nxp_output {
  int32_t in_place_of; /* >= 0: the output lies in that input's memory (an update done in place) */
  int64_t bytes;       /* else: memory of this size, 64-byte aligned, C order from its first byte */
  const char *name;    /* for prints; NULL: it has none */
} nxp_output;

/* ---- steps */

typedef enum nxp_step_kind {
  NXP_STEP_KERNEL,
  NXP_STEP_MATMUL,
  NXP_STEP_COPY,
  NXP_STEP_CALL,
  NXP_STEP_CONTROL,
  NXP_STEP_CHECK,  /* buffers[0]: position of the first bad index, INT64_MAX: there is none */
  NXP_STEP_SCATTER /* buffers: to, indices, updates, scratch of a GPU */
} nxp_step_kind;

/* A kernel of the plan. What a launch has to know of its bound form is filled in by who binds it;
 * tasks_param -1 and no tasks before that. */
typedef struct nxp_kernel {
  const char *name;
  nxk_kernel *ir; /* logical and simplified, or bound; NULL once machine code has taken its place */
  int64_t tasks;  /* if tasks_param < 0, else ceil(that parameter / tasks_divisor) */
  int32_t tasks_param;
  int64_t tasks_divisor, scratch_bytes; /* scratch_bytes: of each thread */
  /* machine code that serves other kernels, too: parameters that follow those of the step */
  const uint64_t *values;
  uint32_t n_values;
  bool varies; /* its extents follow from how many parts others have: they are never the same */
} nxp_kernel;

/* What a step of kind CALL does. */
typedef struct nxp_call {
  const nxg_call *call; /* equal calls of a plan share one */
  uint32_t origin;      /* nxg_node.origin: to whom a failure is put down */
  /* Filled in by who carries it out: how the host does it; the library of a device that does
   * ("cuFFT"), else NULL; the library for want of which the host does it, a sentence, or NULL. */
  nxg_call_work work;
  const char *by, *missing;
} nxp_call;

/* What a step of kind CONTROL does. Buffers: operands, results, second places of carried values,
 * places of slices of stacked results (nowhere: they are written in the stack), the number of the
 * step and 64 bytes after it the condition's value, pointers (on the host), temporaries of
 * bodies. */
typedef struct nxp_control {
  nxg_control c;
  uint32_t origin, n_operands;
  int64_t *bytes, *strides; /* as in nxg_control_frame */
  nx_dtype index_dtype;
  uint32_t held; /* bodies that the plan holds */
  /* Filled in by who carries it out: as in nxg_control_frame; how a device does it, else NULL; why
   * the host decides what runs, a sentence, or NULL */
  int32_t *lies_in;
  const char *by, *by_host;
} nxp_control;

/* How the units of packed tiles lie along one direction of the operand: in lines. They begin at
 * multiples of `step` in a line; step 0: a line is a unit. */
typedef struct nxp_units {
  int64_t line, unit, step;
} nxp_units;

/* What writes elements begin .. end - 1 of the inner extent. A unit is one run of the kernel, whose
 * outer axes (row_shape) number the batch, the unit of columns (its line, then where in that it
 * begins) and the unit of the inner extent. */
typedef struct nxp_packed_part {
  struct nxp_step *kernel;
  uint32_t buffer; /* of the kernel: the packed tile */
  uint32_t source; /* of the kernel: the image whose windows it packs, or NXP_NONE */
  int32_t batch_axes, column_axes;
  nxp_units columns, depth;
  int64_t begin, end;
} nxp_packed_part;

/* Windows that are read from a copy of an image, `offset` bytes from the beginning of a buffer. */
typedef struct nxp_windows {
  nxi_image_windows windows;
  nxi_image_layout layout;
  int64_t offset;
} nxp_windows;

/* How a product packs one of its operands tile by tile: columns of the second, or rows of the
 * first, and a piece of the inner extent. */
typedef struct nxp_staging {
  int operand;
  int32_t n_parts;
  nxp_packed_part *parts;
  int64_t width, depth;               /* columns of a packed tile, elements of each */
  int64_t column_bytes, depth_bytes;  /* from one to the next */
  int64_t margin_bytes, packed_bytes; /* before the first element; of one thread's packed tile */
  /* or NULL; if the run has loops for it, the memory has a copy of an image in place of the tile */
  nxp_windows *windows;
} nxp_staging;

/* A product whose rows another one multiplies, block of rows by block: the rows of `product`, then
 * its epilogue on each of them, then the rows of the step that has the chain. What lies between
 * the two products is never whole in memory: each thread has the rows of one block. */
typedef struct nxp_chain {
  struct nxp_step *product;
  int64_t rows;           /* of a block: whole tiles of both products */
  uint32_t rows_read;     /* the epilogue's buffer with rows of the product .. */
  uint32_t rows_made;     /* .. and the one with rows of the other product's first operand */
  int64_t block_bytes[2]; /* of each thread, for the one and the other; equal addresses: the same */
  nxi_seen *seen;         /* what the epilogue uses of a product; NULL: all of it */
} nxp_chain;

/* What is added to a product: one row to all of its rows, or a matrix that lies as the result does,
 * batches too. The result is dense then. The sum is rounded as one apart from the product would be,
 * and the product in it has the same bits. */
typedef enum nxp_added { NXP_ADD_NOTHING, NXP_ADD_ROW, NXP_ADD_MATRIX } nxp_added;

/* Whether a step may run beside others (plan/tracks.c). */
typedef enum nxp_beside {
  NXP_ALONE,       /* after everything before it, before everything after it */
  NXP_FIRST_TRACK, /* beside others that are not of this kind */
  NXP_ANY_TRACK
} nxp_beside;
/* Tracks, and steps between two that are alone. */
enum { NXP_TRACKS = 4, NXP_MOST_BESIDE = 256 };

typedef struct nxp_step {
  nxp_step_kind kind;
  bool overwrites;   /* writes memory of an input */
  bool stores;       /* writes memory of an output */
  bool stops;        /* a kernel that ends early, with wrong results, when the run is to stop */
  bool alone;        /* it comes after all steps before it, and before all after it */
  bool awaited;      /* a step of another track waits for it */
  uint8_t track;     /* steps of one track run in order; 0 if it is alone */
  uint32_t *after;   /* of each other track: number of the step to wait for, + 1; NULL: of none */
  uint32_t tag_node; /* for errors and prints: the node it ends in */
  uint32_t group;    /* for prints: the group of that node, NXP_NONE if it is in none */
  uint32_t n_buffers;
  /* kernel: launch buffers; matmul: a, b, c, and scratch if it needs some, or on a GPU what is
   * added; copy: from, to; call: operands, results, scratch of the call, of threads */
  nxp_location *buffers;
  bool *writes;     /* which of them it writes */
  const char *name; /* kernel, call */
  /* kernel */
  uint32_t kernel; /* its number among the plan's */
  uint32_t n_params;
  uint32_t *params; /* launch parameters; inside a product also NXP_PARAM_AXIS */
  /* matmul */
  nx_dtype dtype, operands; /* operands: on a GPU f16 or bf16 may be multiplied to f32 */
  nxp_added added;          /* on a GPU: buffer 3 is added to the product */
  bool transposed[2];
  int64_t m, n, k, ld[3];
  int32_t batch_rank;
  int64_t *batch_shape, *batch_strides[3];
  /* a kernel that computes one row from a finished row of the product, or NULL */
  struct nxp_step *epilogue;
  nxp_staging *staging; /* or NULL; the operand's buffer then is the packed tiles of all threads */
  nxp_chain *chain;     /* or NULL; the first operand's buffer then is the blocks of all threads */
  /* of the epilogue and of what stages: the axes that number its rows, their extents, and how many
   * bytes each buffer moves along each: row_bytes[buffer * row_rank + axis] */
  int32_t row_rank;
  int64_t *row_shape, *row_bytes;
  int64_t bytes; /* copy: its length; kernel: what it reads and writes (plan/traffic.c) */
  nxp_call *call;
  nxp_control *control;
  /* check: the shape that positions count in, and that of all indices; what to report */
  int32_t rank;
  int64_t *looked_at, *shape;
  const char *op;
  uint32_t origin;
  nxi_scatter *scatter;
  const char *scatter_by; /* filled in: what of a device does it; NULL: the host */
} nxp_step;

/* ---- plans */

typedef struct nxp_plan {
  nxi_arena arena;
  nxp_options options;
  nxi_target target;
  bool interpreted; /* node by node (nxp_plan_create_interpreted): it has no steps */
  uint32_t n_inputs;
  /* interpreted: input -> input whose memory it is an alias range of, or itself */
  uint32_t *alias_range_of;
  int64_t *element_bytes; /* of inputs */
  nxp_step *steps;
  uint32_t n_steps, cap_steps;
  nxp_kernel *kernels;
  uint32_t n_kernels, cap_kernels;
  nxp_output *outputs;
  uint32_t n_outputs;
  /* Values that a launch leaves whole in temporary memory: the `origin` of each of these nodes of
   * the graph, rising. With one of them as another output a plan of the same graph stores no more
   * than this one. */
  uint32_t *stored;
  uint32_t n_stored;
  /* One block, 64-byte aligned: temporaries, packed with reuse of dead ones, then from
   * scratch_offset on scratch_bytes of each thread. Other temporaries lie in outputs that nothing
   * has touched yet. live_bytes: the most of the block that is needed at once, without scratch of
   * threads. Once it is packed. */
  int64_t temporary_bytes, scratch_offset, scratch_bytes, live_bytes;
  int32_t threads;
  int64_t work; /* roughly how many instructions one launch executes, each on one element */
  uint32_t generated_products; /* for want of a library: no_library says why (static) */
  const char *no_library;
  bool put_off;      /* of options.at_first: a plan without it has larger kernels */
  bool checks;       /* a step may find a bad index */
  uint32_t n_tracks; /* of steps; up to 1: they run one after the other */
  int64_t *bodies;   /* that the graph names: the plan holds them */
  uint32_t n_bodies, cap_bodies;
  struct nxp_temporary *temporaries; /* until it is packed */
  uint32_t n_temporaries;
} nxp_plan;

/* poll may be NULL; asked between passes and between groups. NX_INTERRUPTED if it says so. */
nx_status nxp_plan_create(const nxg_graph *g, const nxp_options *o, const nxi_poll *poll,
                          nxp_plan **out, nxi_diag *d);
/* The plan of a graph that is interpreted node by node: its outputs and inputs, and no steps. */
nx_status nxp_plan_create_interpreted(const nxg_graph *g, const nxp_options *o, nxp_plan **out,
                                      nxi_diag *d);
void nxp_plan_destroy(nxp_plan *p);

uint32_t nxp_control_buffers(const nxp_control *k);
/* updated.c. Whether output o of a body is its input, or an update of it. */
bool nxp_gives_input(const nxg_graph *g, uint32_t o, uint32_t input);
bool nxp_is_update_of(const nxg_graph *g, uint32_t o, uint32_t input);
/* The body of a loop with inputs that may be overwritten, since what it gives is an update of them;
 * NULL in *out: there are none. */
nx_status nxp_allow_updates(const nxg_control *c, const nxg_graph *g, nxg_graph **out, nxi_diag *d);
/* The input of the branches of a case that result i is an update of, in all branches in which it is
 * not that input itself; -1: there is none. */
int32_t nxp_case_updates(const nxg_control *c, uint32_t i);
/* How many bytes the scratch buffer of a step needs. */
void nxp_plan_set_scratch(nxp_plan *p, const nxp_step *step, uint32_t buffer, int64_t bytes);
/* Before it is packed: what the step has in that buffer, a temporary, is kept to the plan's end. */
void nxp_plan_keep(nxp_plan *p, const nxp_step *step, uint32_t buffer);
/* Adds instructions, up to what an integer holds. */
void nxp_more_work(nxp_plan *p, double work);
/* Before it is packed: finds which steps may run side by side, and makes lives of temporaries
 * longer so that they can. beside: of each step. */
nx_status nxp_plan_find_tracks(nxp_plan *p, const nxp_beside *beside, nxi_diag *d);
/* Gives every temporary an offset. Once, after all scratch is known. */
nx_status nxp_plan_pack(nxp_plan *p, nxi_diag *d);

void nxp_plan_print(const nxp_plan *p, nxi_text *out);
/* Shows it to who wants to see the stage `plan`. */
nx_status nxp_plan_show(const nxp_plan *p, const char *name, nxi_diag *d);

#endif
