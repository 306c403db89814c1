/* SPDX-License-Identifier: ISC */
/* The inside of a plan: steps in order, and where each node's memory is. */
#ifndef NXP_PLAN_INTERNAL_H
#define NXP_PLAN_INTERNAL_H

#include "passes/fuse/cluster.h"
#include "ir/library/library.h"
#include "plan.h"
#include "runtime/library/blas/blas.h"
#include "runtime/cache/kernel.h"
#include "runtime/cuda/library/blas.h"
#include "runtime/cuda/library/calls.h"
#include "runtime/cuda/library/scatter.h"
#include "runtime/library/scatter.h"

typedef enum nxp_place_kind { NXP_NOWHERE, NXP_INPUT, NXP_OUTPUT, NXP_TEMPORARY } nxp_place_kind;

/* Memory a step reads or writes: a base, and bytes from it. If `alias_range` is not
 * NXP_NO_ALIAS_RANGE the address moves further by the distance between two inputs, known at launch:
 * that input's first element less `alias_range_of`'s. */
#define NXP_NO_ALIAS_RANGE UINT32_MAX
typedef struct nxp_location {
  nxp_place_kind kind;
  uint32_t number; /* of the input or output */
  int64_t offset;  /* bytes */
  uint32_t alias_range, alias_range_of;
} nxp_location;

typedef enum nxp_step_kind {
  NXP_STEP_KERNEL,
  NXP_STEP_MATMUL,
  NXP_STEP_COPY,
  NXP_STEP_CALL,
  NXP_STEP_CHECK,  /* buffers[0]: position of the first bad index, INT64_MAX: there is none */
  NXP_STEP_SCATTER /* buffers: to, indices, updates, scratch of a GPU */
} nxp_step_kind;

/* What a step of kind CALL runs. */
typedef struct nxp_call {
  nxg_call call;
  /* of the host, for a GPU's plan too, unless the GPU has its own */
  const nxg_functions *functions;
  nxg_call_work work;
  const nxi_gpu_functions *gpu_functions;
  nxi_gpu_call_work gpu_work;
  /* the library for which the host does it: a sentence. NULL: none is missing */
  const char *missing;
  uint32_t origin; /* nxg_node.origin: to whom a failure is put down */
} nxp_call;

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
  int32_t batch_axes, column_axes;
  nxp_units columns, depth;
  int64_t begin, end;
} nxp_packed_part;

/* How a product packs one of its operands tile by tile: columns of the second, or rows of the
 * first, and a piece of the inner extent. */
typedef struct nxp_staging {
  int operand;
  int32_t n_parts;
  nxp_packed_part *parts;
  int64_t width, depth;               /* columns of a packed tile, elements of each */
  int64_t column_bytes, depth_bytes;  /* from one to the next */
  int64_t margin_bytes, packed_bytes; /* before the first element; of one thread's packed tile */
} nxp_staging;

typedef struct nxp_step {
  nxp_step_kind kind;
  bool overwrites;   /* writes memory of an input */
  bool stores;       /* writes memory of an output */
  uint32_t tag_node; /* for errors and prints: the node it ends in */
  uint32_t group;    /* for prints: the group of that node, NXP_NONE if it is in none */
  uint32_t n_buffers;
  /* kernel: launch buffers; matmul: a, b, c, and scratch if it needs some, or on a GPU what is
   * added; copy: from, to; call: operands, results, scratch of the call, of threads */
  nxp_location *buffers;
  bool *writes;     /* which of them it writes */
  int64_t *sizes;   /* bytes of each buffer, for liveness; 0: not planned here */
  const char *name; /* kernel, call */
  /* kernel */
  uint32_t n_params;
  uint32_t *params; /* launch parameters; of what stages also NXP_PARAM_AXIS */
  nxi_kernel *code; /* LLVM */
  nxk_kernel *ir;   /* interpreters: the form that runs */
  int64_t tasks;    /* -1: nxk_task_count at launch */
  int32_t tasks_param;
  int64_t tasks_divisor, scratch_bytes;
  /* matmul */
  nx_dtype dtype;
  nxi_gpu_added added; /* on a GPU: buffer 3 is added to the product */
  bool transposed[2];
  int64_t m, n, k, ld[3];
  int32_t batch_rank;
  int64_t *batch_shape, *batch_strides[3];
  /* a kernel that computes one row from a finished row of the product, or NULL */
  struct nxp_step *epilogue;
  nxp_staging *staging; /* or NULL; the operand's buffer then is the packed tiles of all threads */
  /* of the epilogue and of what stages: the axes that number its rows, their extents, and how many
   * bytes each buffer moves along each: row_bytes[buffer * row_rank + axis] */
  int32_t row_rank;
  int64_t *row_shape, *row_bytes;
  int64_t bytes; /* copy */
  nxp_call *call;
  /* check: the shape that positions count in, and that of all indices; what to report */
  int32_t rank;
  int64_t *looked_at, *shape;
  const char *op;
  uint32_t origin;
  nxi_scatter *scatter;
  nxi_gpu_scatter *gpu_scatter; /* NULL: the host does it */
} nxp_step;

struct nxp_plan {
  nxi_arena arena;
  nxp_options options;
  nxi_target target;
  nxg_program *program; /* GRAPH_INTERP: everything else is empty */
  uint32_t n_inputs;
  /* GRAPH_INTERP: input -> input whose memory it is an alias range of, or itself */
  uint32_t *alias_range_of;
  int64_t *element_bytes; /* of inputs */
  nxp_step *steps;
  uint32_t n_steps, cap_steps;
  nxp_output *outputs;
  uint32_t n_outputs;
  uint32_t *stored; /* nxp_plan_stored */
  uint32_t n_stored;
  int64_t temporary_bytes, scratch_offset, scratch_bytes;
  int32_t threads;
  int64_t work;
  uint32_t generated_products; /* for want of a library: no_library says why (static) */
  const char *no_library;
  bool checks;               /* a step may find a bad index */
  struct nxp_graphs *graphs; /* plan/graphs.c; NULL: there will be none */
};

/* plan.c */
/* Which products the plan may leave to a library. */
nxp_products nxp_products_for(const nxp_options *o);
/* Adds instructions, up to what an integer holds. */
void nxp_more_work(nxp_plan *p, double work);

/* plan/stored.c: the same for a plan that is interpreted node by node. False without memory. */
bool nxp_note_interpreted(nxp_plan *p, const nxg_graph *g);

/* plan/build.c */
typedef struct nxp_plan_builder {
  nxp_plan *plan;
  const nxg_graph *g;
  const nxg_graph *recorded; /* what the passes made it of */
  const nxp_clusters *clusters;
  nxp_lowering *lowering;
  nxp_location *where; /* node -> its memory */
  /* node -> last step that reads its memory; temporaries are free afterwards */
  uint32_t *last_read;
  uint32_t *output_of; /* node -> number of the first output that it is, + 1; 0: it is none */
  bool *nontemporal;
  nxp_compile_report *report;
  nxi_diag *d;
} nxp_plan_builder;
nx_status nxp_build_steps(nxp_plan_builder *b, const nxi_poll *poll);
static inline bool nxp_options_for_gpu(const nxp_options *o) {
  return o->executor == NXP_CUDA || (o->printed && o->target->block_threads > 0);
}
static inline bool nxp_plans_for_gpu(const nxp_plan *p) { return nxp_options_for_gpu(&p->options); }
/* on_host: functions of this machine carry it out. */
static inline void nxp_count_library_call(const nxp_plan_builder *b, bool on_host) {
  if (b->report == NULL) return;
  b->report->library_calls++;
  b->report->host_calls += on_host && nxp_plans_for_gpu(b->plan);
}

/* n products or calls are done otherwise, because a library is missing. */
static inline void nxp_count_missing(const nxp_plan_builder *b, uint32_t n, const char *why) {
  if (b->report == NULL || n == 0 || why == NULL) return;
  b->report->without_library += n;
  b->report->missing_library = why;
}

/* plan/launch.c: what a check of indices found: the position of the first bad one, INT64_MAX if
 * there is none. */
nx_status nxp_report_check(const nxp_step *s, int64_t found, nxi_diag *d);
/* plan/gpu_product.c. at: of the operands, the result and what is added to it. */
nx_status nxp_run_gpu_product(const nxp_step *s, nxi_gpu *gpu, const uint64_t at[4], nxi_diag *d);
/* plan/gpu.c */
nx_status nxp_plan_launch_gpu(const nxp_plan *p, const nxp_launch *l, nxi_diag *d);

nx_status nxp_start_steps(const nxp_plan *p, const nxp_launch *l, const nxi_poll *poll,
                          nxi_diag *d);
/* plan/graphs.c. False without memory. */
bool nxp_graphs_create(nxp_plan *p);
void nxp_graphs_destroy(struct nxp_graphs *all); /* NULL is allowed */
/* *done: the launch is a graph's, which has been started. Otherwise the steps have to be. */
nx_status nxp_launch_graph(const nxp_plan *p, const nxp_launch *l, bool *done, nxi_diag *d);

/* plan/call_run.c. buffers: operands, results, scratch of the call, scratch of all threads. */
nx_status nxp_run_call(const nxp_call *call, void *const *buffers, nxi_pool *pool,
                       const nxi_poll *poll, nxi_diag *d);

/* plan/blas.c: the interpreter multiplies with the library too. */
void nxp_use_blas(void);

/* plan/memory.c: gives every temporary an offset; step buffers of kind NXP_TEMPORARY hold a
 * temporary's number until then. */
typedef struct nxp_temporary {
  int64_t bytes;
  uint32_t first, last;
  int64_t offset;
} nxp_temporary;
nx_status nxp_assign_temporaries(nxp_plan *plan, nxp_temporary *t, uint32_t n, nxi_diag *d);

#endif
