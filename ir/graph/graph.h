/* SPDX-License-Identifier: ISC */
/* The graph IR: what was recorded, extracted from the recording for one realise, or read from text. An immutable
 * value a node, operands before users, everything in the graph's arena. All passes above the kernel IR
 * work on it. Node values are dense: C order of their shape. */
#ifndef NXG_GRAPH_H
#define NXG_GRAPH_H

#include "ir/alloc.h"
#include "ir/diag.h"
#include "ir/op.h"
#include "view.h"

typedef enum nxg_op {
#define GOP(name, args, kind, scalar, admits, result) NXG_##name,
#include "graph_ops.def"
#undef GOP
  NXG_OP_COUNT
} nxg_op;

typedef enum nxg_kind {
  NXG_KIND_LEAF,
  NXG_KIND_MAP,
  NXG_KIND_VIEW,
  NXG_KIND_FOLD,
  NXG_KIND_MOVE,
  NXG_KIND_STORE,
  NXG_KIND_LIBRARY,
  NXG_KIND_CALL
} nxg_kind;
typedef enum nxg_result {
  NXG_RESULT_SAME,
  NXG_RESULT_BOOL,
  NXG_RESULT_LAST,
  NXG_RESULT_I32,
  NXG_RESULT_CALL,
  NXG_RESULT_PART, /* the dtype of one part, if the operand is complex */
  NXG_RESULT_PAIR, /* the complex dtype of two parts */
  NXG_RESULT_GIVEN
} nxg_result;

typedef struct nxg_op_info {
  const char *name;
  int8_t args;
  uint8_t kind, admits, result;
  int16_t scalar; /* nxk_op of a MAP, else -1 */
} nxg_op_info;
extern const nxg_op_info nxg_ops[NXG_OP_COUNT];
nxg_op nxg_op_from_name(const char *name, size_t length); /* NXG_OP_COUNT if there is none */

typedef struct nxg_type {
  nx_dtype dtype;
  int32_t rank;
  const int64_t *shape;
} nxg_type;

typedef struct nxg_node {
  uint16_t op; /* nxg_op */
  uint8_t dtype;
  uint8_t rank;
  uint32_t n_args, n_attrs;
  uint16_t called; /* of the recording: its number of what this is a part of, 0 if none */
  uint32_t *args;  /* node numbers, all below this one's */
  int64_t *shape;
  int64_t *attrs;   /* layout: graph_ops.def */
  const char *name; /* of the text, or NULL: printed as %number */
  uint64_t tag;     /* of the recording */
  uint32_t origin;  /* the node of the first graph, before all passes, that it comes from */
  const char *tag_text;
} nxg_node;

/* What is known of an input beyond its type; part of every plan key. */
enum {
  NXG_INPUT_OVERWRITE =
      1, /* nothing outside this run needs its old contents: an update may write in place */
  NXG_INPUT_ALIGNED = 2 /* its first element is 64-byte aligned at every launch */
};
typedef struct nxg_input {
  uint32_t node;
  uint32_t flags;
  int32_t alias; /* inputs of equal number >= 0 share memory */
} nxg_input;
typedef struct nxg_output {
  uint32_t node;
  const char *name;
} nxg_output;

typedef struct nxg_graph {
  nxi_arena arena;
  char name[64];
  nxg_node *nodes;
  uint32_t n_nodes, cap_nodes;
  nxg_input *inputs;
  uint32_t n_inputs, cap_inputs;
  nxg_output *outputs;
  uint32_t n_outputs, cap_outputs;
  uint32_t n_params; /* scalar launch parameters (`full` with a parameter number) */
  bool failed;       /* an allocation failed while building */
} nxg_graph;

nxg_graph *nxg_create(const char *name);
void nxg_destroy(nxg_graph *g);

/* Result type of an operation; checks operands and attributes as contract.md sections 3 and 4 say. Operands of
 * MAP ops must have equal shapes here (recording broadcasts through views first). `given` is the dtype of
 * cast and bitcast and of leaves; for leaves, view and update's shape see below. shape (NXG_MAX_RANK) is filled.
 * Leaves and view: *rank and shape are inputs, checked. */
nx_status nxg_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                    uint32_t n_attrs, nx_dtype given, nx_dtype *dtype, int32_t *rank,
                    int64_t *shape, nxi_diag *d);
/* Whether operands of this dtype are admitted. */
bool nxg_op_admits(nxg_op op, nx_dtype t);
/* admits.c. The failure of an operand whose dtype is not admitted: with what is, and what to do. */
nx_status nxg_fail_dtype(nxg_op op, uint32_t operand, nx_dtype t, nxi_diag *d);
/* Appends a node; copies everything. Type must be what nxg_infer gave. UINT32_MAX and g->failed without memory.
 * Does not merge equal nodes (passes/graph/cse.c does). */
uint32_t nxg_add(nxg_graph *g, nxg_op op, uint32_t n_args, const uint32_t *args,
                 const int64_t *attrs, uint32_t n_attrs, nx_dtype dtype, int32_t rank,
                 const int64_t *shape);
/* An input node: registers it, attrs[0] is its number. */
uint32_t nxg_add_input(nxg_graph *g, nx_dtype dtype, int32_t rank, const int64_t *shape,
                       uint32_t flags, int32_t alias, const char *name);
/* Of the recording; text may be NULL, and is cut after NXG_NOTE_MOST bytes. False without memory. */
enum { NXG_NOTE_MOST = 255 };
bool nxg_set_tag(nxg_graph *g, uint32_t node, uint64_t number, const char *text);
void nxg_add_output(nxg_graph *g, uint32_t node, const char *name);
static inline int64_t nxg_node_elements(const nxg_node *n) {
  return nxg_elements(n->rank, n->shape);
}
/* The view of a NXG_view node (or the identity view of any other node, over its own storage). */
void nxg_node_view(const nxg_graph *g, uint32_t node, nxg_view *v);

/* Scatter, its mode, and the shape of its result, which of rows of parts is an attribute. */
enum { NXG_SCATTER_ADDS = 1, NXG_SCATTER_PAIRS = 2 };
static inline bool nxg_scatters_pairs(const nxg_node *n) {
  return (n->attrs[1] & NXG_SCATTER_PAIRS) != 0;
}
static inline const int64_t *nxg_scatter_shape(const nxg_node *n) {
  return nxg_scatters_pairs(n) ? n->attrs + 2 : n->shape;
}

/* Whether an operation is one of scan_*, and what it folds. */
static inline bool nxg_is_scan(uint32_t op) {
  return op >= NXG_scan_sum && op <= NXG_scan_prod_imag;
}
static inline nxk_reduce_kind nxg_scan_kind(uint32_t op) {
  return (nxk_reduce_kind)(op <= NXG_scan_min ? NXK_SUM + (op - NXG_scan_sum)
                                              : NXK_PROD_REAL + (op - NXG_scan_prod_real));
}

/* The runs of a reduction, outermost first; they are folded from the last to the first (docs/numerics.md).
 * Axes of size 1 are dropped from the shape first; reduced axes that are then neighbours are one run, and the run
 * that holds what is then the last axis has lanes order. runs: room for NXG_MAX_RANK. */
typedef struct nxg_run {
  uint32_t axes;
  nxk_order order;
} nxg_run;
int32_t nxg_reduce_runs(int32_t rank, const int64_t *shape, uint32_t mask, nxg_run *runs);

/* ---- text. What is printed parses back to the same bytes. */
void nxg_print(const nxg_graph *g, nxi_text *out);
/* Also accepts movement operations (expand reshape permute shrink flip slice as_strided, contiguous) and
 * broadcasting operands, which become view nodes. First line `nxir 1`. */
nx_status nxg_parse(const char *text, size_t length, nxg_graph **out, nxi_diag *d);
/* Texts of callers: NX_INVALID_ARGUMENT for what has a value inside of a run alone, parameters and third operands of
 * updates (an input that stands for another one's memory cannot be checked). */
nx_status nxg_parse_closed(const char *text, size_t length, nxg_graph **out, nxi_diag *d);
void nxg_print_dot(const nxg_graph *g, nxi_text *out); /* Graphviz */
bool nxg_verify(const nxg_graph *g,
                nxi_text *out); /* all faults under their lines; out may be NULL */

/* The pass that makes pairs of real values of complex ones (passes/graph/types.c), of the form of all passes
 * (passes/graph/passes.h): *out is g itself if there are none. Afterwards a complex input is a row of its parts in turn,
 * and so is an output. */
nx_status nxg_pass_types(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d);

/* ---- node-by-node evaluation: the oracle of lowering and fusion, and the executor of tiny graphs. A program is
 * prepared once from a graph and run many times; runs are independent (a program is immutable). */
typedef struct nxg_program nxg_program;
nx_status nxg_program_create(const nxg_graph *g, nxg_program **out, nxi_diag *d);
void nxg_program_destroy(nxg_program *p);
/* inputs: first element of each input, C order; params: scalar bits; outputs: memory for each output, C order, never
 * overlapping inputs (an in-place update copies first). For update with operand 2, window_offsets[input] is the
 * element distance from operand 0's first element to that input's, of a complex one in parts; NULL if no node has one. */
nx_status nxg_program_run(const nxg_program *p, void *const *inputs, const uint64_t *params,
                          const int64_t *window_offsets, void *const *outputs, nxi_diag *d);
/* The same, and asks poll (NULL: none) every 10 ms or so; where it answers nonzero the run ends with NX_INTERRUPTED and
 * outputs hold nothing. A product that a library computes is not interrupted. */
nx_status nxg_program_run_polled(const nxg_program *p, void *const *inputs, const uint64_t *params,
                                 const int64_t *window_offsets, void *const *outputs,
                                 int32_t (*poll)(void *user), void *user, nxi_diag *d);
/* Elements that one run computes, all nodes together (a reduction counts what it reads, a matmul its products). */
int64_t nxg_program_work(const nxg_program *p);

/* What multiplies float matrices: the runtime sets it to the BLAS that its plans call, so that both give the same
 * bits. dtype is f32 or f64 (smaller floats come as f32); strides in elements; c dense, m rows of n. batches: of how
 * many products this is one. Only asked for products of which an extent exceeds NXG_SMALL_MATMUL; smaller and integer
 * ones, and those it returns NX_DEVICE_UNAVAILABLE for, are c = fma(a, b, c) over k in order from +0. Other failures, which
 * d tells of, end the run. Set it before programs run. */
enum { NXG_SMALL_MATMUL = 32 };
typedef nx_status (*nxg_matmul_fn)(nx_dtype dtype, int64_t batches, int64_t m, int64_t n, int64_t k,
                                   const void *a, int64_t a_row, int64_t a_column, const void *b,
                                   int64_t b_row, int64_t b_column, void *c, nxi_diag *d);
void nxg_set_matmul(nxg_matmul_fn f); /* NULL: none */

#endif
