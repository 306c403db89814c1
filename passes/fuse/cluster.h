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

/* Where a node of a group is evaluated. */
typedef enum nxp_space {
  NXP_SPACE_ANY,  /* through some view: recomputed there, cannot hold a reduction of the group */
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

/* The dtypes whose matrices a library multiplies, a bit 1 << dtype each; 0: there is none. Products
 * of other floats are made of those in f32. Of a complex dtype: its products are one of the parts'
 * dtype, else two. And whether it is a GPU's: more small products are generated code, and long
 * scans of few lines are calls. */
typedef uint32_t nxp_products;
#define NXP_PRODUCTS_OF_BLAS ((nxp_products)1 << NX_F32 | (nxp_products)1 << NX_F64)
#define NXP_ON_GPU           ((nxp_products)1 << 31)

typedef struct nxp_cluster_options {
  bool fuse;
  nxp_products products; /* float matmuls larger than NXP_SMALL_MATMUL go to a library */
  const nxi_target *target;
} nxp_cluster_options;

/* Extents of products that are generated code. On a GPU many of the larger ones (multiplications)
 * are the library's. */
enum { NXP_SMALL_MATMUL = 32, NXP_SMALL_ON_GPU = 16, NXP_FEW_ON_GPU = 1 << 22 };
/* True if this matmul is computed by a generated kernel. */
bool nxp_matmul_generated(const nxg_graph *g, const nxg_node *n, nxp_products products);

/* True if this scan is carried out as a call. */
bool nxp_scan_called(const nxg_node *n, nxp_products products);

/* Whether a BLAS takes matrices of this view (last two dimensions), and how. */
bool nxp_gemm_layout(const nxg_view *v, bool *transposed, int64_t *ld);

nx_status nxp_cluster(const nxg_graph *g, const nxp_cluster_options *o, nxp_clusters **out,
                      nxi_diag *d);
void nxp_clusters_destroy(nxp_clusters *c);
/* Whether a group becomes kernels, and their name. */
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
  /* of nxp_lower_rows and nxp_lower_walk: buffer i moves row_strides[i * outside + axis] elements
   * from one index of an axis without a loop to the next; NULL otherwise */
  int64_t *row_strides;
} nxp_kernel_binding;
/* A parameter that is no launch parameter, but the index of an axis outside of a walk: this and the
 * axis. */
#define NXP_PARAM_AXIS (UINT32_C(1) << 31)
void nxp_kernel_binding_free(nxp_kernel_binding *b);

typedef struct nxp_lower_options {
  const nxi_target *target;
  bool fuse;
  const bool *nontemporal; /* node -> its stores may bypass the caches; NULL: none */
} nxp_lower_options;

/* Another way over the elements of a stored node than C order, to write a part of them elsewhere.
 * Axis i moves from[i] elements in the node and to[i] in what is written. The first `outside` axes
 * have no loops: a launch is for one index of each. */
typedef struct nxp_walk {
  int32_t rank, outside;
  /* of a cat, whose elements are walked instead of the node's; UINT32_MAX: none */
  uint32_t operand;
  int64_t offset; /* of the first element in the node */
  int64_t extent[NXG_MAX_RANK], from[NXG_MAX_RANK], to[NXG_MAX_RANK];
} nxp_walk;

/* One piece of a kernel with its own iteration space. */
typedef struct nxp_part {
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
  uint32_t reduced;
  const nxp_root *roots;
  uint32_t n_roots;
  uint32_t cat_operand; /* of a cat group: which operand this part copies, else UINT32_MAX */
  const nxp_walk *walk; /* NULL: C order */
} nxp_part;

/* Lowers the groups of one graph, one after the other; holds what they share. */
typedef struct nxp_lowering nxp_lowering;
nx_status nxp_lowering_create(const nxg_graph *g, const nxp_clusters *c, const nxp_lower_options *o,
                              nxp_lowering **out, nxi_diag *d);
void nxp_lowering_destroy(nxp_lowering *lowering);
/* The logical kernel of a group that is not a library call. A cat of many operands takes several
 * kernels: *operand is where to start (0 the first time) and, afterwards, where to go on; 0: all is
 * done. */
nx_status nxp_lower_group(nxp_lowering *lowering, uint32_t group, uint32_t *operand,
                          nxk_kernel **out, nxp_kernel_binding *binding, nxi_diag *d);
/* The kernel of one row (the last axis of the full shape) of an elementwise group, to be run row by
 * row while something else makes them. *out is NULL if a row cannot be told from another by
 * addresses alone. */
nx_status nxp_lower_rows(nxp_lowering *lowering, uint32_t group, nxk_kernel **out,
                         nxp_kernel_binding *binding, nxi_diag *d);
/* Splits the axes of a walk over the only root of an elementwise group where its value asks for
 * finer ones. axis[i]: what axis i is a part of; `to` is not looked at. *ok: false if that cannot
 * be. */
nx_status nxp_lower_factors(nxp_lowering *lowering, uint32_t group, nxp_walk *walk, int32_t *axis,
                            bool *ok, nxi_diag *d);
/* The kernel that writes that root as the walk says. *out is NULL if addresses and indices alone do
 * not tell what is outside. */
nx_status nxp_lower_walk(nxp_lowering *lowering, uint32_t group, const nxp_walk *walk,
                         nxk_kernel **out, nxp_kernel_binding *binding, nxi_diag *d);

#endif
