/* SPDX-License-Identifier: ISC */
/* Lowers a fusion group of graph nodes to a logical kernel. Each region is first tried with the
 * axes of its full shape as dimensions. If a reshape needs a finer factorisation, a dimension is
 * split and the region is lowered again. */
#include "lower.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REGIONS = 16 }; /* regions of one kernel */

struct nxp_lowering {
  nxp_lower_options options;
  nxw_lower work; /* its arrays are reused from group to group */
};

void nxp_kernel_binding_free(nxp_kernel_binding *b) {
  nxi_free(b->buffer_nodes);
  nxi_free(b->params);
  nxi_free(b->row_strides);
  memset(b, 0, sizeof *b);
}

void nxp_lowering_destroy(nxp_lowering *lowering) {
  if (lowering == NULL) return;
  nxw_lower *l = &lowering->work;
  nxi_free(l->buffer_of_node);
  nxi_free(l->memo_heads);
  nxi_free(l->exprs);
  nxi_free(l->expr_table);
  nxi_free(l->memo);
  nxi_free(l->memo_nodes);
  nxi_free(l->stores);
  nxi_free(l->frames);
  nxi_free(l->axes);
  nxi_free(lowering);
}

nx_status nxp_lowering_create(const nxg_graph *g, const nxp_clusters *c, const nxp_lower_options *o,
                              nxp_lowering **out, nxi_diag *d) {
  nxp_lowering *lowering = nxi_calloc(1, sizeof *lowering);
  if (lowering == NULL) return nxi_oom(d);
  size_t bytes = (g->n_nodes ? g->n_nodes : 1) * sizeof(uint32_t);
  nxw_lower *l = &lowering->work;
  lowering->options = *o;
  l->g = g;
  l->clusters = c;
  l->options = &lowering->options;
  l->buffer_of_node = nxi_malloc(bytes);
  l->memo_heads = nxi_malloc(bytes);
  l->axes = nxi_malloc(NXG_MAX_RANK * sizeof *l->axes);
  if (l->buffer_of_node == NULL || l->memo_heads == NULL || l->axes == NULL) {
    nxp_lowering_destroy(lowering);
    return nxi_oom(d);
  }
  memset(l->buffer_of_node, 0xff, bytes);
  memset(l->memo_heads, 0xff, bytes);
  *out = lowering;
  return NX_OK;
}

static void initial_dims(nxw_dims *dims, const nxp_region *region) {
  memset(dims, 0, sizeof *dims);
  for (int inner = 0; inner < 2; inner++) {
    for (int32_t i = 0; i < region->rank; i++) {
      if ((int)(region->reduced >> i & 1) != inner || region->shape[i] == 1) continue;
      dims->extent[dims->n] = region->shape[i];
      dims->axis[dims->n++] = (uint8_t)i;
    }
    if (inner == 0) dims->n_outer = dims->n;
  }
}

/* The position of the current point of a walk, by these strides. */
static void walked_position(nxw_lower *l, const int64_t *strides, int64_t offset,
                            nxw_affine *position) {
  nxw_affine_zero(position);
  position->constant = offset;
  for (int32_t i = 0; i < l->region->rank; i++) {
    nxw_affine index;
    nxw_axis_index(l, (uint32_t)i, &index);
    nxw_affine_add_scaled(l, position, &index, strides[i]);
  }
}

/* The C-order position of the region's current point, in the shape of all axes or of the kept
 * ones. */
static void point_position(nxw_lower *l, bool outer_only, nxw_affine *position) {
  const nxp_region *region = l->region;
  int64_t stride = 1;
  nxw_affine_zero(position);
  for (int32_t i = region->rank; i-- > 0;) {
    if (outer_only && (region->reduced >> i & 1)) continue;
    nxw_affine index;
    nxw_axis_index(l, (uint32_t)i, &index);
    nxw_affine_add_scaled(l, position, &index, stride);
    stride *= region->shape[i];
  }
}

static bool add_store(nxw_lower *l, uint32_t value, uint32_t node, const nxw_affine *at,
                      bool inner) {
  if (value == NXW_NONE) return false;
  nxw_affine *copy = nxw_affine_keep(l, at);
  uint32_t buffer = nxw_buffer(l, node, NXK_OUT);
  if (copy == NULL || buffer == NXW_NONE ||
      !nxi_grow(&l->stores, &l->cap_stores, l->n_stores + 1, sizeof *l->stores)) {
    l->failed = true;
    return false;
  }
  bool nontemporal = l->options->nontemporal != NULL && l->options->nontemporal[node];
  l->stores[l->n_stores++] =
      (nxw_store){value, buffer, copy, inner, nontemporal ? NXK_NONTEMPORAL : 0};
  return true;
}

/* Lowers an update: operand 1 is stored through a view of the node's memory. */
static bool lower_update(nxw_lower *l, uint32_t node) {
  const nxg_node *n = &l->g->nodes[node];
  int32_t rank = (int32_t)n->attrs[1];
  nxw_affine point, at;
  point_position(l, false, &point);
  if (!nxw_unravel(l, &point, rank, n->attrs + 2, NXW_NONE, l->axes)) return false;
  nxw_ravel(l, rank, l->axes, n->attrs + 2 + rank, n->attrs[0], &at);
  return add_store(l, nxw_node_value(l, n->args[1], &point, NXW_NONE), node, &at, false);
}

/* Lowers one operand of a cat that has memory of its own: it is copied to its place. */
static bool lower_cat_operand(nxw_lower *l, uint32_t node) {
  const nxg_node *n = &l->g->nodes[node];
  uint32_t operand = l->region->cat_operand;
  const nxg_node *x = &l->g->nodes[n->args[operand]];
  int32_t axis = (int32_t)n->attrs[0];
  nxw_affine point, at;
  int64_t strides[NXG_MAX_RANK], begin = 0;
  for (uint32_t i = 0; i < operand; i++) begin += l->g->nodes[n->args[i]].shape[axis];
  point_position(l, false, &point);
  if (!nxw_unravel(l, &point, x->rank, x->shape, NXW_NONE, l->axes)) return false;
  l->axes[axis].constant += begin;
  nxg_contiguous_strides(n->rank, n->shape, strides);
  nxw_ravel(l, n->rank, l->axes, strides, 0, &at);
  return add_store(l, nxw_node_value(l, n->args[operand], &point, NXW_NONE), node, &at, false);
}

/* Lowers a pair: both operands are stored to adjacent elements. */
static bool lower_interleave(nxw_lower *l, uint32_t node, const nxw_affine *position, bool inner) {
  for (uint32_t k = 0; k < 2; k++) {
    nxw_affine at;
    nxw_affine_zero(&at);
    nxw_affine_add_scaled(l, &at, position, 2);
    at.constant += k;
    uint32_t value = nxw_node_value(l, l->g->nodes[node].args[k], position, NXW_NONE);
    if (!add_store(l, value, node, &at, inner)) return false;
  }
  return true;
}

static bool lower_walk(nxw_lower *l) {
  const nxp_walk *walk = l->region->walk;
  uint32_t node = l->region->roots[0].node,
           value = walk->operand == UINT32_MAX ? node : l->g->nodes[node].args[walk->operand];
  nxw_affine from, to;
  walked_position(l, walk->from, walk->offset, &from);
  walked_position(l, walk->to, 0, &to);
  return add_store(l, nxw_node_value(l, value, &from, NXW_NONE), node, &to, false);
}

static bool lower_roots(nxw_lower *l, nxp_group_kind kind) {
  if (l->region->walk != NULL) return lower_walk(l);
  for (uint32_t i = 0; i < l->region->n_roots; i++) {
    const nxp_root *root = &l->region->roots[i];
    nxw_affine position;
    bool ok;
    if (kind == NXP_GROUP_UPDATE) {
      ok = lower_update(l, root->node);
    } else if (kind == NXP_GROUP_CAT) {
      ok = lower_cat_operand(l, root->node);
    } else {
      bool outer = root->space == NXP_SPACE_OUTER;
      point_position(l, outer, &position);
      bool inner = !outer && l->region->reduced != 0;
      if (l->g->nodes[root->node].op == NXG_interleave)
        ok = lower_interleave(l, root->node, &position, inner);
      else
        ok = add_store(l, nxw_node_value(l, root->node, &position, NXW_NONE), root->node, &position,
                       inner);
    }
    if (!ok) return false;
  }
  return true;
}

static void forget_values(nxw_lower *l) {
  for (uint32_t i = 0; i < l->n_memo_nodes; i++) l->memo_heads[l->memo_nodes[i]] = NXW_NONE;
  l->n_memo_nodes = l->n_memo = l->n_exprs = l->n_stores = 0;
  if (l->expr_table_size) memset(l->expr_table, 0xff, l->expr_table_size * sizeof *l->expr_table);
  l->known = NULL;
  l->kept = NULL;
  nxi_arena_destroy(&l->arena);
}

/* Finds the expressions of a region and the dimensions that they need. False: l->failed, or d holds
 * the reason. */
static bool find_region(nxw_lower *l, const nxp_region *region, nxp_group_kind kind) {
  l->region = region;
  initial_dims(&l->dims, region);
  l->splits = 0;
  for (;;) {
    forget_values(l);
    l->split = false;
    if (lower_roots(l, kind)) return true;
    if (l->failed || !l->split) return !(l->failed = true);
  }
}

static bool lower_region(nxw_lower *l, const nxp_region *region, nxp_group_kind kind) {
  return find_region(l, region, kind) && nxw_write_region(l);
}

static bool lower_regions(nxw_lower *l, const nxp_group *group, uint32_t *operand) {
  nxp_region region = {.rank = group->rank,
                       .reduced = group->reduced,
                       .roots = group->roots,
                       .n_roots = group->n_roots,
                       .cat_operand = UINT32_MAX};
  memcpy(region.shape, group->shape, sizeof region.shape);
  if (group->kind != NXP_GROUP_CAT) return lower_region(l, &region, group->kind);
  const nxg_node *n = &l->g->nodes[group->roots[0].node];
  uint32_t i = *operand;
  *operand = 0;
  for (uint32_t n_regions = 0; i < n->n_args; i++) {
    const nxg_node *x = &l->g->nodes[n->args[i]];
    if (nxg_node_elements(x) == 0) continue;
    if (n_regions++ == MAX_REGIONS) {
      *operand = i;
      return true;
    }
    region.rank = x->rank;
    memcpy(region.shape, x->shape, (size_t)x->rank * sizeof region.shape[0]);
    region.cat_operand = i;
    if (!lower_region(l, &region, group->kind)) return false;
  }
  return true;
}

static void begin_kernel(nxw_lower *l, const nxp_group *group, nxp_kernel_binding *binding,
                         nxi_diag *d) {
  char name[64];
  nxp_group_name(l->g, group, name, sizeof name);
  l->kernel = nxk_create(NXK_LOGICAL, name);
  l->d = d;
  l->binding = binding;
  l->outside = 0;
  l->no_rows = false;
  l->failed = l->kernel == NULL;
  memset(binding, 0, sizeof *binding);
}

static void forget_kernel(nxw_lower *l) {
  for (uint32_t i = 0; i < l->binding->n_buffers; i++)
    l->buffer_of_node[l->binding->buffer_nodes[i]] = NXW_NONE;
  forget_values(l);
}

/* Ends lowering: sets *out to the kernel, or destroys it if lowering failed. */
static nx_status end_kernel(nxw_lower *l, nxk_kernel **out) {
  nxi_diag *d = l->d;
  forget_kernel(l);
  *out = NULL;
  if (!l->failed) {
    *out = l->kernel;
    return NX_OK;
  }
  nxk_destroy(l->kernel);
  nxp_kernel_binding_free(l->binding);
  if (l->no_rows) return NX_OK;
  return d->status != NX_OK ? d->status : nxi_oom(d);
}

nx_status nxp_lower_group(nxp_lowering *lowering, uint32_t group, uint32_t *operand,
                          nxk_kernel **out, nxp_kernel_binding *binding, nxi_diag *d) {
  nxw_lower *l = &lowering->work;
  const nxp_group *members = &l->clusters->groups[group];
  begin_kernel(l, members, binding, d);
  l->failed = l->failed || !lower_regions(l, members, operand) || l->kernel->failed;
  return end_kernel(l, out);
}

nx_status nxp_lower_rows(nxp_lowering *lowering, uint32_t group, nxk_kernel **out,
                         nxp_kernel_binding *binding, nxi_diag *d) {
  nxw_lower *l = &lowering->work;
  const nxp_group *members = &l->clusters->groups[group];
  uint32_t operand = 0;
  begin_kernel(l, members, binding, d);
  l->outside = members->rank - 1;
  uint32_t row = l->outside < 1 ? 0 : UINT32_C(1) << l->outside;
  if (l->outside < 1 || (members->reduced & ~row) != 0) l->failed = l->no_rows = true;
  l->failed = l->failed || !lower_regions(l, members, &operand) || l->kernel->failed;
  return end_kernel(l, out);
}

static void region_of_walk(const nxp_group *group, const nxp_walk *walk, nxp_region *region) {
  *region = (nxp_region){.rank = walk->rank,
                         .roots = group->roots,
                         .n_roots = 1,
                         .cat_operand = UINT32_MAX,
                         .walk = walk};
  memcpy(region->shape, walk->extent, (size_t)walk->rank * sizeof region->shape[0]);
}

/* Sets the axes of the walk to the dimensions that a region needs. False: there are too many. */
static bool take_dims(const nxw_dims *dims, nxp_walk *walk, int32_t *axis) {
  const nxp_walk old = *walk;
  if (dims->n > NXG_MAX_RANK) return false;
  walk->rank = (int32_t)dims->n;
  for (uint32_t i = dims->n; i-- > 0;) {
    bool inner = i + 1 < dims->n && dims->axis[i + 1] == dims->axis[i];
    axis[i] = dims->axis[i];
    walk->extent[i] = dims->extent[i];
    walk->from[i] = inner ? walk->from[i + 1] * dims->extent[i + 1] : old.from[axis[i]];
  }
  return true;
}

nx_status nxp_lower_factors(nxp_lowering *lowering, uint32_t group, nxp_walk *walk, int32_t *axis,
                            bool *ok, nxi_diag *d) {
  nxw_lower *l = &lowering->work;
  const nxp_group *members = &l->clusters->groups[group];
  nxp_kernel_binding binding;
  nxk_kernel *unwritten = NULL;
  nxp_region region;
  region_of_walk(members, walk, &region);
  begin_kernel(l, members, &binding, d);
  l->failed = l->failed || !find_region(l, &region, members->kind);
  *ok = !l->failed && take_dims(&l->dims, walk, axis);
  nx_status status = end_kernel(l, &unwritten);
  nxk_destroy(unwritten);
  if (status == NX_OK) nxp_kernel_binding_free(&binding);
  return status;
}

nx_status nxp_lower_walk(nxp_lowering *lowering, uint32_t group, const nxp_walk *walk,
                         nxk_kernel **out, nxp_kernel_binding *binding, nxi_diag *d) {
  nxw_lower *l = &lowering->work;
  const nxp_group *members = &l->clusters->groups[group];
  nxp_region region;
  region_of_walk(members, walk, &region);
  begin_kernel(l, members, binding, d);
  l->outside = walk->outside;
  l->failed = l->failed || !lower_region(l, &region, members->kind) || l->kernel->failed;
  return end_kernel(l, out);
}
