/* SPDX-License-Identifier: ISC */
/* Fusion: which nodes get memory, and which are computed inside the kernels that use them. The
 * rules and their reasons stand at the head of cluster.c. */
#ifndef NXP_CLUSTER_H
#define NXP_CLUSTER_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "ir/target.h"

typedef enum nxp_group_kind {
  NXP_GROUP_KERNEL,
  NXP_GROUP_CAT,
  NXP_GROUP_UPDATE,
  NXP_GROUP_MATMUL,
  NXP_GROUP_CALL,
  NXP_GROUP_SCATTER
} nxp_group_kind;

/* The points at which a node of a group is evaluated. */
typedef enum nxp_space {
  /* at other points, through some view: recomputed there, and no place for a reduction of the
   * group */
  NXP_SPACE_ANY,
  NXP_SPACE_FULL, /* at the points of the group's full shape */
  NXP_SPACE_OUTER /* at the points of the kept axes */
} nxp_space;

typedef struct nxp_root {
  uint32_t node;
  nxp_space space;
} nxp_root;

typedef struct nxp_group {
  nxp_group_kind kind;
  int32_t rank; /* full shape, extents of 1 dropped */
  int64_t shape[NXG_MAX_RANK];
  uint32_t reduced; /* mask of the reduced axes of that shape */
  nxp_root *roots;  /* stored nodes, in node order */
  uint32_t n_roots, cap_roots;
  uint32_t size; /* operations in it */
} nxp_group;

typedef struct nxp_clusters {
  nxi_arena arena;
  nxp_group *groups; /* in an order in which every group comes after those it reads */
  uint32_t n_groups;
  uint32_t *group_of; /* node -> group that stores it, UINT32_MAX: not stored */
} nxp_clusters;

/* What the library for products can do, as a set of bits. A bit 1 << dtype for each dtype whose
 * matrices it multiplies; products of other floats are computed in f32. The bit of a complex dtype
 * says that its products become one product of parts instead of two, and that of i32 that products
 * of integers of 8 and 16 bits are calls. One bit says that products of f32 read operands of f16 or
 * bf16, of those of both that it multiplies, as they are, and one that products of windows of
 * images of 16 bits are calls, which have no windows in memory; one that attention of 16 bits is a
 * call, which has no scores in memory. One more bit is set for the library
 * of a GPU: more small products are then generated code, and long scans of few lines are calls. */
typedef uint32_t nxp_products;
#define NXP_PRODUCTS_OF_BLAS  ((nxp_products)1 << NX_F32 | (nxp_products)1 << NX_F64)
#define NXP_OF_SMALL_INTEGERS ((nxp_products)1 << NX_I32)
#define NXP_OF_HALVES         ((nxp_products)1 << 30)
#define NXP_OF_WINDOWS        ((nxp_products)1 << 29)
#define NXP_OF_ATTENTION      ((nxp_products)1 << 28)
#define NXP_ON_GPU            ((nxp_products)1 << 31)

typedef struct nxp_cluster_options {
  bool fuse;
  nxp_products products; /* float matmuls larger than NXP_SMALL_MATMUL go to a library */
  const nxi_target *target;
  /* memory is short: elementwise work is computed in each group that reads it rather than stored,
   * and groups that store arrays stay apart */
  bool tight;
} nxp_cluster_options;

/* Products up to these extents are generated code. On a GPU those above the smaller extent go to
 * the library if they have more than NXP_FEW_ON_GPU multiplications. */
enum { NXP_SMALL_MATMUL = 32, NXP_SMALL_ON_GPU = 16, NXP_FEW_ON_GPU = 1 << 22 };
/* True if this matmul is computed by a generated kernel. */
bool nxp_matmul_generated(const nxg_graph *g, const nxg_node *n, nxp_products products);

/* True if this scan, a node of the graph, is carried out as a call. */
bool nxp_scan_called(const nxg_graph *g, const nxg_node *n, nxp_products products);
/* Whether a block of threads scans a whole row of so many blocks of 1024 elements. */
static inline bool nxp_scan_row_fits(int64_t blocks, int64_t element_bytes) {
  return blocks <= 16 && blocks * element_bytes <= 64;
}

/* The matrix of f16 or bf16 that operand i of a product of f32 is a cast of, if both operands are
 * of one such dtype, and the product reads them so; UINT32_MAX: it reads f32. */
uint32_t nxp_half_operand(const nxg_graph *g, const nxg_node *n, uint32_t i, nxp_products products);

/* Whether the node has memory in which a BLAS can read its matrices. */
bool nxp_gemm_reads(const nxg_graph *g, uint32_t node);
/* Whether a BLAS takes matrices of this view (last two dimensions), and how. */
bool nxp_gemm_layout(const nxg_view *v, bool *transposed, int64_t *ld);

nx_status nxp_cluster(const nxg_graph *g, const nxp_cluster_options *o, nxp_clusters **out,
                      nxi_diag *d);
void nxp_clusters_destroy(nxp_clusters *c);
/* Whether a group becomes kernels; and the name of these. */
bool nxp_group_is_kernel(const nxp_group *group);
void nxp_group_name(const nxg_graph *g, const nxp_group *group, char *name, size_t size);
void nxp_clusters_print(const nxg_graph *g, const nxp_clusters *c, nxi_text *out);

/* ---- lowering a group (lower/to_kernel.c) */

/* What a launch must pass: for each launch buffer of the kernel the node whose memory it is; for
 * each scalar parameter the graph's launch parameter. */
typedef struct nxp_kernel_binding {
  uint32_t *buffer_nodes;
  uint32_t n_buffers, cap_buffers;
  uint32_t *params;
  uint32_t n_params, cap_params;
  /* for nxp_lower_rows and nxp_lower_walk: the address of buffer i moves by row_strides[i * outside
   * + axis] elements for each step along an axis that has no loop; NULL otherwise */
  int64_t *row_strides;
} nxp_kernel_binding;
/* Marks a parameter that is not a launch parameter but the index of an axis that has no loop: this
 * bit, or'ed with the number of the axis. */
#define NXP_PARAM_AXIS (UINT32_C(1) << 31)
void nxp_kernel_binding_free(nxp_kernel_binding *b);

typedef struct nxp_lower_options {
  const nxi_target *target;
  bool fuse;
  const bool *nontemporal; /* node -> its stores may bypass the caches; NULL: none */
} nxp_lower_options;

/* An order of the elements of a stored node other than C order, for writing a part of them
 * elsewhere. A step along axis i moves from[i] elements in the node and to[i] elements in the
 * destination. The first `outside` axes have no loops: each launch is for one index of each. */
typedef struct nxp_walk {
  int32_t rank, outside;
  /* the operand of a cat whose elements are visited instead of the node's; UINT32_MAX: none */
  uint32_t operand;
  int64_t offset; /* position of the first element in the node */
  int64_t extent[NXG_MAX_RANK], from[NXG_MAX_RANK], to[NXG_MAX_RANK];
} nxp_walk;

/* One piece of a kernel with its own iteration space. */
typedef struct nxp_region {
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
  uint32_t reduced;
  const nxp_root *roots;
  uint32_t n_roots;
  uint32_t cat_operand; /* in a cat group: the operand that this part copies, else UINT32_MAX */
  const nxp_walk *walk; /* NULL: C order */
} nxp_region;

/* The state shared by lowering the groups of one graph, one after the other. */
typedef struct nxp_lowering nxp_lowering;
nx_status nxp_lowering_create(const nxg_graph *g, const nxp_clusters *c, const nxp_lower_options *o,
                              nxp_lowering **out, nxi_diag *d);
void nxp_lowering_destroy(nxp_lowering *lowering);
/* The logical kernel of a group that is not a library call. A cat of many operands takes several
 * kernels. *operand is the operand to start at (0 in the first call); it is set to the one to
 * continue at, or to 0 if all are done. */
nx_status nxp_lower_group(nxp_lowering *lowering, uint32_t group, uint32_t *operand,
                          nxk_kernel **out, nxp_kernel_binding *binding, nxi_diag *d);
/* The kernel of one row (the last axis of the full shape) of a group that reduces rows at most, for
 * running it on each row as soon as that has been computed. *out is NULL if rows differ in more
 * than addresses and parameters. */
nx_status nxp_lower_rows(nxp_lowering *lowering, uint32_t group, nxk_kernel **out,
                         nxp_kernel_binding *binding, nxi_diag *d);
/* Splits the axes of a walk over the only root of an elementwise group if its value needs finer
 * ones. axis[i]: the original axis of which axis i is a factor; `to` is ignored. *ok: false if that
 * is not possible. */
nx_status nxp_lower_factors(nxp_lowering *lowering, uint32_t group, nxp_walk *walk, int32_t *axis,
                            bool *ok, nxi_diag *d);
/* The kernel that writes that root in the order of the walk. *out is NULL if launches for different
 * indices of the outside axes differ in more than addresses and parameters. */
nx_status nxp_lower_walk(nxp_lowering *lowering, uint32_t group, const nxp_walk *walk,
                         nxk_kernel **out, nxp_kernel_binding *binding, nxi_diag *d);

#endif
