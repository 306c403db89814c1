/* SPDX-License-Identifier: ISC */
/* The graph IR: the operations that one realise extracts from the recording, or that were read
 * from text. Each node is one immutable value. Nodes are numbered, and operands come before
 * their users. All memory belongs to the graph's arena. A node's value is dense: C order of its
 * shape. Graph passes, fusion and lowering read it; code generators never see it. */
#ifndef NXG_GRAPH_H
#define NXG_GRAPH_H

#include "ir/alloc.h"
#include "ir/diag.h"
#include "ir/library/scatter.h"
#include "ir/op.h"
#include "view.h"

typedef enum nxg_op {
#define GOP(name, args, kind, kernel, admits, result) NXG_##name,
#include "graph_ops.def"
#undef GOP
  NXG_OP_COUNT
} nxg_op;

typedef enum nxg_kind {
  NXG_KIND_LEAF,
  NXG_KIND_MAP,
  NXG_KIND_VIEW,
  NXG_KIND_REDUCE,
  NXG_KIND_MOVE,
  NXG_KIND_STORE,
  NXG_KIND_LIBRARY,
  NXG_KIND_CALL,
  NXG_KIND_CONTROL
} nxg_kind;
typedef enum nxg_result {
  NXG_RESULT_SAME,
  NXG_RESULT_BOOL,
  NXG_RESULT_LAST,
  NXG_RESULT_I32,
  NXG_RESULT_CALL,
  NXG_RESULT_PART, /* if the operand is complex, the dtype of its parts */
  NXG_RESULT_PAIR, /* the complex dtype of two parts */
  NXG_RESULT_GIVEN
} nxg_result;

typedef struct nxg_op_info {
  const char *name;
  int8_t args;
  uint8_t kind, admits, result;
  int16_t scalar; /* nxk_op of a MAP, else -1 */
  int8_t reduce;  /* nxk_reduce_kind of a REDUCE or a scan, else -1 */
} nxg_op_info;
extern const nxg_op_info nxg_ops[NXG_OP_COUNT];
nxg_op nxg_op_from_name(const char *name, size_t length); /* NXG_OP_COUNT if there is none */
nxg_op nxg_op_of_scalar(nxk_op scalar);                   /* the MAP of it, or NXG_OP_COUNT */

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
  uint16_t called; /* number of the composite operation that recorded this node; 0: none */
  uint32_t *args;  /* node numbers, all below this one's */
  int64_t *shape;
  int64_t *attrs;   /* layout: graph_ops.def */
  const char *name; /* the name it has in text; NULL: printed as %number */
  uint64_t tag;     /* the caller's, see nx_tag_set */
  uint32_t origin;  /* number of the node that it comes from in the graph before all passes */
  const char *tag_text;
} nxg_node;

/* What is known about an input beyond its type. It is part of the key of each plan. */
enum {
  NXG_INPUT_OVERWRITE =
      1, /* nothing outside this run needs its old contents: an update may write in place */
  NXG_INPUT_ALIGNED = 2, /* its first element is 64-byte aligned at every launch */
  NXG_INPUT_GIVEN = 4,   /* as overwrite, and any result may lie in its memory */
  NXG_INPUT_SPENT = 8    /* with overwrite: nor are they needed if the run fails or is stopped */
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
  int64_t *bodies;   /* that its nodes name, each once; held (body.h) */
  uint32_t n_bodies, cap_bodies;
  bool failed; /* an allocation failed while building */
} nxg_graph;

nxg_graph *nxg_create(const char *name);
void nxg_destroy(nxg_graph *g);

/* Result type of an operation; checks operands and attributes as contract.md sections 3 and 4 say.
 * Operands of MAP ops must have equal shapes here, since recording broadcasts through views first.
 * given:
 * the dtype of the result of cast, bitcast and leaves; other operations ignore it. Fills *dtype,
 * *rank and shape, which has room for NXG_MAX_RANK extents. For leaves and view, *rank and shape
 * are inputs, which are checked. */
nx_status nxg_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                    uint32_t n_attrs, nx_dtype given, nx_dtype *dtype, int32_t *rank,
                    int64_t *shape, nxi_diag *d);
/* Whether operands of this dtype are admitted. */
bool nxg_op_admits(nxg_op op, nx_dtype t);
/* Reports that an operand has a dtype that is not admitted; names those that are, and what to
 * do. */
nx_status nxg_fail_dtype(nxg_op op, uint32_t operand, nx_dtype t, nxi_diag *d);
/* Appends a node and copies all arguments. The type must be that of nxg_infer. Returns
 * UINT32_MAX and sets g->failed if memory is exhausted. Equal nodes are not merged
 * (passes/graph/cse.c does that). */
uint32_t nxg_add(nxg_graph *g, nxg_op op, uint32_t n_args, const uint32_t *args,
                 const int64_t *attrs, uint32_t n_attrs, nx_dtype dtype, int32_t rank,
                 const int64_t *shape);
/* Appends an input: a node whose attrs[0] is the number of the entry that is added to g->inputs. */
uint32_t nxg_add_input(nxg_graph *g, nx_dtype dtype, int32_t rank, const int64_t *shape,
                       uint32_t flags, int32_t alias, const char *name);
/* Gives a node the caller's tag. text may be NULL; it is cut after NXG_NOTE_MOST bytes. Returns
 * false if memory is exhausted. */
enum { NXG_NOTE_MOST = 255 };
bool nxg_set_tag(nxg_graph *g, uint32_t node, uint64_t number, const char *text);
void nxg_add_output(nxg_graph *g, uint32_t node, const char *name);
static inline int64_t nxg_node_elements(const nxg_node *n) {
  return nxg_elements(n->rank, n->shape);
}
/* The view of a NXG_view node (or the identity view of any other node, over its own storage). */
void nxg_node_view(const nxg_graph *g, uint32_t node, nxg_view *v);

/* attrs[1] of a scatter: bits 0, 2 and 3 are its nxi_scatter_mode. With NXG_SCATTER_PAIRS its rows
 * are complex numbers, stored as pairs of real ones; the shape of the template, in complex numbers,
 * then follows. With NXG_SCATTER_DROPS updates whose index is out of range are left out, and
 * indices are not checked. With NXG_SCATTER_SEEN the template, whose own shape is the result's, is
 * seen in another shape of as many elements, which then follows: so a scatter along several axes
 * at once is one node over its template, and can be done in place. With NXG_SCATTER_BYTES, which
 * the pass `library` sets, indices are u8. */
enum {
  NXG_SCATTER_PAIRS = 2,
  NXG_SCATTER_DROPS = 16,
  NXG_SCATTER_SEEN = 32,
  NXG_SCATTER_BYTES = 64,
  NXG_SCATTER_BITS = 127
};
static inline nxi_scatter_mode nxg_scatter_mode(int64_t bits) {
  return (nxi_scatter_mode)((bits & 1) | (bits >> 1 & 6));
}
static inline int64_t nxg_scatter_bits(nxi_scatter_mode mode) {
  return (mode & 1) | (int64_t)(mode & 6) << 1;
}
static inline bool nxg_scatter_drops(const nxg_node *n) {
  return (n->attrs[1] & NXG_SCATTER_DROPS) != 0;
}
static inline bool nxg_scatters_pairs(const nxg_node *n) {
  return (n->attrs[1] & NXG_SCATTER_PAIRS) != 0;
}
/* Whether the shape in which the template is seen is part of the attributes. */
static inline bool nxg_scatter_has_shape(int64_t bits) {
  return (bits & (NXG_SCATTER_PAIRS | NXG_SCATTER_SEEN)) != 0;
}
static inline const int64_t *nxg_scatter_shape(const nxg_node *n) {
  return nxg_scatter_has_shape(n->attrs[1]) ? n->attrs + 2 : n->shape;
}
/* Whether the indices of a gather are starts of windows: attrs[1] is the axis that they are meant
 * for, attrs[2] the extent of a window. Negative ones are out of range then. */
static inline bool nxg_gathers_starts(const nxg_node *n) { return n->n_attrs > 2; }

/* Whether a node is arithmetic of bools (sums, products, scans), which passes/graph/types.c makes
 * logic. */
bool nxg_is_bool_arithmetic(const nxg_node *n);

/* ---- reductions: the kinds of ir/reduce_ops.def */

/* Whether an operation is one of scan_*. */
static inline bool nxg_is_scan(uint32_t op) {
  return nxg_ops[op].kind == NXG_KIND_MOVE && nxg_ops[op].reduce >= 0;
}
/* The kind of reduction of a REDUCE or a scan. */
static inline nxk_reduce_kind nxg_reduce_kind(uint32_t op) {
  return (nxk_reduce_kind)nxg_ops[op].reduce;
}
/* Whether an operation is a REDUCE whose result is an index (argmax, argmin). */
static inline bool nxg_finds_index(uint32_t op) {
  return nxg_ops[op].kind == NXG_KIND_REDUCE && nxk_finds_index(nxg_reduce_kind(op));
}
/* The reduced axes of a REDUCE. */
static inline uint32_t nxg_reduce_mask(const nxg_node *n) {
  return nxg_finds_index(n->op) ? (uint32_t)1 << n->attrs[0] : (uint32_t)n->attrs[0];
}

/* The runs of a reduction: sets of adjacent reduced axes, each reduced as one sequence of
 * elements. Axes of size 1 are ignored, so axes that are separated only by such axes are
 * adjacent. The run with the last axis has lanes order, all others plain order
 * (docs/numerics.md). Runs are listed from the outermost to the innermost and reduced from the
 * innermost to the outermost. runs: room for NXG_MAX_RANK. Returns their number. */
typedef struct nxg_run {
  uint32_t axes;
  nxk_order order;
} nxg_run;
int32_t nxg_reduce_runs(int32_t rank, const int64_t *shape, uint32_t mask, nxg_run *runs);

/* ---- text. What is printed parses back to the same bytes. */
void nxg_print(const nxg_graph *g, nxi_text *out);
/* The graph without the bodies that it names, whose numbers stand for them. */
void nxg_print_alone(const nxg_graph *g, nxi_text *out);
/* Several graphs are bodies, which those below name, and last the graph itself. Also accepts
 * movement operations (expand reshape permute shrink flip slice as_strided,
 * contiguous) and broadcasting operands, which become view nodes. First line `nxir 2`,
 * or `nxir 1` (docs/ir.md). */
nx_status nxg_parse(const char *text, size_t length, nxg_graph **out, nxi_diag *d);
/* The same for text from callers. Refuses, with NX_INVALID_ARGUMENT, what only the runtime can
 * give a meaning at launch: launch parameters, and the third operand of an update (an input that
 * stands for part of another one's memory, which cannot be checked here). */
nx_status nxg_parse_closed(const char *text, size_t length, nxg_graph **out, nxi_diag *d);
/* The same of a text that may name custom operations (ir/library/custom.h). */
struct nxg_customs;
nx_status nxg_parse_closed_with(const char *text, size_t length, const struct nxg_customs *customs,
                                nxg_graph **out, nxi_diag *d);
void nxg_print_dot(const nxg_graph *g, nxi_text *out); /* Graphviz */
bool nxg_verify(const nxg_graph *g,
                nxi_text *out); /* all faults under their lines; out may be NULL */

/* ---- node-by-node evaluation: the reference for tests of lowering and fusion, and the executor
 * of tiny graphs. A program is prepared once from a graph and is immutable, so it may run many
 * times, and on several threads at once. Its graph has no complex values: the interpreter knows
 * none, and nxp_program_create (passes/graph/passes.h) takes any graph. */
typedef struct nxg_program nxg_program;
nx_status nxg_program_create(const nxg_graph *g, nxg_program **out, nxi_diag *d);
void nxg_program_destroy(nxg_program *p);
/* inputs: the first element of each input, C order. params: scalar bits. outputs: memory for
 * each output, C order, which never overlaps an input (an in-place update copies first).
 * alias_offsets[input]: for an update whose operand 2 is that input, the distance in elements
 * from the first element of operand 0 to that of the input (for complex ones, counted in parts);
 * NULL if no update has an operand 2. */
nx_status nxg_program_run(const nxg_program *p, void *const *inputs, const uint64_t *params,
                          const int64_t *alias_offsets, void *const *outputs, nxi_diag *d);
/* A parallel loop over 0 .. n - 1: several threads call `body` for ranges of a multiple of `grain`,
 * the last one excepted, in the default floating-point environment, while the caller calls the poll
 * (NULL: none). NX_INTERRUPTED if not all was done, because the poll returned nonzero or the
 * process was forked. */
typedef void nxg_loop_body(void *arg, int worker, int64_t begin, int64_t end);
typedef struct nxg_parallel_loop {
  nx_status (*run)(void *pool, nxg_loop_body *body, void *arg, int64_t n, int64_t grain,
                   int32_t (*poll)(void *user), void *user);
  void *pool;
  /* Elements of a basic operation, such as a sum, that are worth it; > 0. */
  int64_t least;
} nxg_parallel_loop;
/* The same, with a poll (NULL: none) that is called about every 10 ms. If it returns nonzero the
 * run ends with NX_INTERRUPTED, and the contents of the outputs are undefined. A product that a
 * library computes is not interrupted. parallel: steps that take long are divided among threads
 * with it, NULL: none is. */
nx_status nxg_program_run_polled(const nxg_program *p, void *const *inputs, const uint64_t *params,
                                 const int64_t *alias_offsets, void *const *outputs,
                                 int32_t (*poll)(void *user), void *user,
                                 const nxg_parallel_loop *parallel, nxi_diag *d);
/* The work of one run: elements computed by all nodes together. A reduction counts the elements
 * that it reads, a matmul its scalar multiplications. */
int64_t nxg_program_work(const nxg_program *p);
/* Nanoseconds that a function takes for an element of this type, for each vector instruction of its
 * cost (ir/scalar_ops.def), at most, on this processor. */
double nxg_function_ns(nx_dtype t);

/* The function that multiplies float matrices in a program. The runtime sets it to the BLAS that
 * its plans call, so that both give the same bits; it must be set before programs run. dtype:
 * f32 or f64 (smaller floats are converted to f32). Strides are in elements; c is dense, m rows
 * of n. batches: the number of products in the batch that this one belongs to. It is called only
 * if an extent exceeds NXG_SMALL_MATMUL and the product is not one with a vector. Smaller products,
 * integer ones, and those for which it returns NX_DEVICE_UNAVAILABLE are computed as
 * c = fma(a, b, c) over k in order, from +0. Any other failure is described in d and ends the
 * run. */
enum { NXG_SMALL_MATMUL = 32 };
typedef nx_status (*nxg_matmul_fn)(nx_dtype dtype, int64_t batches, int64_t m, int64_t n, int64_t k,
                                   const void *a, int64_t a_row, int64_t a_column, const void *b,
                                   int64_t b_row, int64_t b_column, void *c, nxi_diag *d);
void nxg_set_matmul(nxg_matmul_fn f); /* NULL: none */
/* The widest vectors of its loops, in bytes; before the first function is applied. */
void nxg_block_limit(int32_t vector_bytes);
/* Whether no extent exceeds NXG_SMALL_MATMUL. */
static inline bool nxg_small_matmul(int64_t m, int64_t n, int64_t k) {
  return m <= NXG_SMALL_MATMUL && n <= NXG_SMALL_MATMUL && k <= NXG_SMALL_MATMUL;
}
/* Whether a product is one with a vector: each element is the sum of the rounded products in the
 * order of a reduction over the last axis (docs/numerics.md). Of integers any is that has a row or
 * a column; of floats, one with an extent above NXG_SMALL_MATMUL and an inner one above 1. */
static inline bool nxg_sums_products(nx_dtype dtype, int64_t m, int64_t n, int64_t k) {
  return (m == 1 || n == 1) && k > 1 && !(nxg_small_matmul(m, n, k) && nxi_is_float(dtype));
}

#endif
