/* SPDX-License-Identifier: ISC */
/* What follows a product on a GPU and takes no kernel: sums that the library computes with it, D =
 * A B + C, and copies, which are the product in their place. The sum is rounded as a separate sum
 * of f32 or f64 is, since the product is accumulated in that type. Nothing else that follows a
 * product goes to the library (docs/decisions/cuda.md). */
#include "build.h"

#include <string.h>

/* What a sum reads beside the product. */
typedef struct addend {
  uint32_t base; /* the node that has its memory */
  nxg_view view;
  nxp_added how;
} addend;

/* Whether it shows its elements in the order of memory, one behind the other; how far it would move
 * along an axis of extent 1 does not matter. */
static bool is_matrix(const nxg_view *v) {
  nxg_view other = *v;
  int64_t stride = 1;
  other.offset = 0;
  for (int32_t i = v->rank; i-- > 0; stride *= v->shape[i])
    if (v->shape[i] == 1) other.strides[i] = stride;
  return nxg_view_is_contiguous(&other);
}

/* Whether a node is the product, element by element. */
static bool is_product(const nxp_step_builder *s, uint32_t node, uint32_t product) {
  const nxg_node *n = node_of(s, node);
  nxg_view v;
  if (node == product) return true;
  if (n->op != NXG_view || n->args[0] != product) return false;
  nxg_node_view(s->b->g, node, &v);
  return v.offset == 0 && is_matrix(&v) &&
         nxg_node_elements(n) == nxg_node_elements(node_of(s, product));
}

/* Whether a view shows one row of n elements again and again. */
static bool is_row(const nxg_view *v, int64_t n) {
  int32_t last = v->rank - 1;
  if (last < 0 || v->shape[last] != n || (v->strides[last] != 1 && n != 1)) return false;
  for (int32_t i = 0; i < last; i++)
    if (v->shape[i] != 1 && v->strides[i] != 0) return false;
  return true;
}

static bool find_addend(const nxp_step_builder *s, const nxp_group *e, uint32_t product,
                        addend *out) {
  const nxg_node *sum = node_of(s, e->roots[0].node), *n = node_of(s, product);
  if (e->n_roots != 1 || sum->op != NXG_add || sum->dtype != n->dtype ||
      nxi_is_small_float(n->dtype))
    return false;
  bool second = is_product(s, sum->args[1], product);
  uint32_t other = sum->args[second ? 0 : 1];
  if (!second && !is_product(s, sum->args[0], product)) return false;
  const nxg_node *x = node_of(s, other);
  out->base = x->op == NXG_view ? x->args[0] : other;
  if (out->base == product || !has_memory(s, out->base)) return false;
  nxg_node_view(s->b->g, other, &out->view);
  if (is_row(&out->view, n->shape[n->rank - 1])) out->how = NXP_ADD_ROW;
  else if (is_matrix(&out->view)) out->how = NXP_ADD_MATRIX;
  else return false;
  return true;
}

/* The product in another shape is stored by a copy, if it is a result. */
static bool is_copied(const nxp_step_builder *s, const nxp_group *e, uint32_t product) {
  const nxg_node *copy = node_of(s, e->roots[0].node);
  return e->n_roots == 1 && copy->op == NXG_copy && is_product(s, copy->args[0], product);
}

bool nxp_only_adds(const nxp_step_builder *s, const nxp_group *e, uint32_t product) {
  addend a;
  return is_copied(s, e, product) || find_addend(s, e, product, &a);
}

void nxp_add_in_product(nxp_step_builder *s, nxp_step *step, const nxp_group *e, uint32_t product) {
  addend a;
  step->tag_node = e->roots[0].node;
  if (!find_addend(s, e, product, &a)) return;
  step->added = a.how;
  step->buffers[3] = s->b->where[a.base];
  step->buffers[3].offset += a.view.offset * nxi_dtype_size(node_of(s, a.base)->dtype);
  step->n_buffers = 4;
}
