/* SPDX-License-Identifier: ISC */
/* Private to the lowering from the graph IR to the kernel IR. A region of a kernel is lowered in
 * two steps. First the group's nodes become a DAG of scalar expressions over the region's
 * dimensions (lower/nodes.c). Then each expression is placed in the outermost loop in which all its
 * dimensions are known, and written as instructions (lower/schedule.c). */
#ifndef NXP_LOWER_H
#define NXP_LOWER_H

#include "passes/fuse/cluster.h"
#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"

enum { NXW_MAX_DIMS = 48 };
#define NXW_NONE UINT32_MAX

/* The dimensions of a region, which become its loops: first the outer ones, whose points are
 * independent, then the inner ones, which are reduced or which later stages iterate over again.
 * Each comes from an axis of the region's full shape. An axis may be split into several
 * dimensions, outermost first. */
typedef struct nxw_dims {
  uint32_t n, n_outer;
  int64_t extent[NXW_MAX_DIMS];
  uint8_t axis[NXW_MAX_DIMS];
} nxw_dims;

/* constant + sum of coefficient * dimension + the value of an expression. Used for positions in
 * linear storage and for indices of one axis. */
typedef struct nxw_affine {
  int64_t constant;
  uint32_t extra; /* i64 expression, NXW_NONE: none */
  int64_t coefficient[NXW_MAX_DIMS];
} nxw_affine;

typedef enum nxw_kind {
  NXW_CONST,
  NXW_PARAM,
  NXW_DIM,
  NXW_SCALAR,
  NXW_LOAD,
  NXW_REDUCE,
  NXW_SCAN
} nxw_kind;

typedef struct nxw_expr {
  uint8_t kind, dtype, reduce, order;
  uint16_t op;
  uint8_t n_args;
  bool inner;          /* depends on an inner dimension */
  uint32_t args[4];    /* expressions */
  uint64_t imm;        /* constant bits; number of a parameter, dimension */
  uint32_t buffer;     /* load: launch buffer */
  nxw_affine *at;      /* load */
  uint32_t mask;       /* load: bool expression or NXW_NONE */
  uint64_t dims;       /* set of dimensions it depends on */
  int16_t stage;       /* reductions that must be done before it: 0 none, s + 1: those of stage s.
                          A reduce of stage s has stage s + 1 */
  uint16_t cost;       /* cost of computing it once from loads, saturating */
  nxk_value value;     /* its instruction in the kernel, during writing */
  uint32_t written_in; /* stage it was last written out in, for inner ones */
  uint32_t local;      /* LOCAL array that keeps it for later stages, or NXW_NONE */
  int16_t local_stage; /* stage that fills it */
} nxw_expr;

typedef struct nxw_store {
  uint32_t value; /* expression */
  uint32_t buffer;
  nxw_affine *at;
  bool inner; /* stores at the points of the inner dimensions */
  uint32_t flags;
} nxw_store;

typedef struct nxw_lower {
  const nxg_graph *g;
  const nxp_clusters *clusters;
  const nxp_lower_options *options;
  nxk_kernel *kernel;
  nxi_diag *d;
  nxi_arena arena; /* of this region */
  nxw_dims dims;
  const nxp_region *region;
  nxw_expr *exprs;
  uint32_t n_exprs, cap_exprs;
  uint32_t *expr_table;
  uint32_t expr_table_size; /* open addressing over exprs */
  struct nxw_memo *memo;
  uint32_t n_memo, cap_memo;
  uint32_t *memo_heads; /* node -> newest memo, NXW_NONE */
  uint32_t *memo_nodes;
  uint32_t n_memo_nodes, cap_memo_nodes; /* those with a memo */
  /* stack of values that are being lowered; each is needed by the one below it */
  struct nxw_frame *frames;
  uint32_t n_frames, cap_frames;
  nxw_affine *axes;        /* room for the indices of one node */
  struct nxw_known *known; /* newest first */
  nxw_affine *kept;        /* the position that was kept last, or NULL */
  nxw_store *stores;
  uint32_t n_stores, cap_stores;
  uint32_t *buffer_of_node; /* launch buffer of a node in this kernel, NXW_NONE */
  nxp_kernel_binding *binding;
  int32_t outside; /* leading axes without loops: the caller moves the buffers instead */
  bool no_rows;    /* this group cannot be lowered with `outside` axes */
  bool split;      /* a dimension was split, so the region has to be lowered again */
  bool failed;     /* memory */
  uint32_t splits;
} nxw_lower;

/* ---- lower/index.c */
void nxw_affine_zero(nxw_affine *a);
/* Returns a copy that lives as long as the region, or NULL if memory is exhausted. If the previous
 * call kept an equal form it returns that one: most nodes of a region are read at the same
 * position. */
nxw_affine *nxw_affine_keep(nxw_lower *l, const nxw_affine *a);
void nxw_affine_add_scaled(nxw_lower *l, nxw_affine *a, const nxw_affine *b, int64_t scale);
bool nxw_affine_equal(const nxw_lower *l, const nxw_affine *a, const nxw_affine *b);
/* The index of one axis of the region's full shape. */
void nxw_axis_index(const nxw_lower *l, uint32_t axis, nxw_affine *a);
/* From a position in C order of `shape` to one index for each axis. Returns false if a dimension
 * had to be split, so that the region has to be lowered again (l->split), or if memory is
 * exhausted. */
bool nxw_unravel(nxw_lower *l, const nxw_affine *position, int32_t rank, const int64_t *shape,
                 uint32_t guard, nxw_affine *indices);
/* Records that `position` has these indices where `guard` holds, for nxw_unravel to find.
 * Indices cannot always be recovered from the position: where the guard does not hold they may
 * be outside their axes, and one of them may be a computed value. */
void nxw_remember(nxw_lower *l, const nxw_affine *position, int32_t rank, const int64_t *shape,
                  uint32_t guard, const nxw_affine *indices);
/* Records in the same way the indices in the operand of `view`, for the element that has the
 * indices `inner` in the view. Records nothing if there is no guard, or if the view's strides do
 * not say to which axis of the operand each index belongs. */
void nxw_remember_through(nxw_lower *l, const nxg_node *view, uint32_t guard,
                          const nxw_affine *inner, const nxw_affine *position);
/* From indices to a position, for any strides: the reverse of nxw_unravel. */
void nxw_ravel(nxw_lower *l, int32_t rank, const nxw_affine *indices, const int64_t *strides,
               int64_t offset, nxw_affine *position);
/* The element of an axis of n elements that an index of a gather refers to: negative ones count
 * from the end, and the result is clamped to the axis. Bad indices are reported before the
 * kernel runs; the clamp is for memory that host code changes after that check. */
uint32_t nxw_element_number(nxw_lower *l, uint32_t index, int64_t n);
/* Smallest and largest value over the whole iteration space; false if it has a computed part. */
bool nxw_affine_range(const nxw_lower *l, const nxw_affine *a, int64_t *low, int64_t *high);

/* ---- lower/expr.c: hash-consed expressions. NXW_NONE after a failure. */
uint32_t nxw_const(nxw_lower *l, nx_dtype t, uint64_t bits);
uint32_t nxw_const_i64(nxw_lower *l, int64_t x);
uint32_t nxw_param(nxw_lower *l, nx_dtype t, uint32_t launch_param);
uint32_t nxw_scalar(nxw_lower *l, nxk_op op, nx_dtype result, uint32_t a, uint32_t b, uint32_t c);
uint32_t nxw_scalar_of(nxw_lower *l, nxk_op op, nx_dtype result, const uint32_t operands[4]);
uint32_t nxw_load(nxw_lower *l, nx_dtype t, uint32_t buffer, const nxw_affine *at, uint32_t mask);
uint32_t nxw_reduce(nxw_lower *l, nxk_reduce_kind kind, nxk_order order, uint32_t a, uint32_t b,
                    nx_dtype t);
uint32_t nxw_scan(nxw_lower *l, nxk_reduce_kind kind, nxk_order order, uint32_t a, uint32_t b);
uint32_t nxw_affine_value(nxw_lower *l, const nxw_affine *a); /* i64 */

/* ---- lower/nodes.c: value of a node at a position of its linear storage, where `guard` (bool or
 * NXW_NONE) holds */
uint32_t nxw_node_value(nxw_lower *l, uint32_t node, const nxw_affine *position, uint32_t guard);
uint32_t nxw_buffer(nxw_lower *l, uint32_t node, nxk_buffer_kind kind);

/* ---- lower/merge.c: merges dimensions that everything moves through as through one; needed:
 * whether each expression is used. Dimensions that have been merged into the next one have extent
 * 1. */
void nxw_merge_dimensions(nxw_lower *l, uint8_t *needed);

/* ---- lower/schedule.c: writes the region out. */
bool nxw_write_region(nxw_lower *l);

#endif
