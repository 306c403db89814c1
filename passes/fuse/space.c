/* SPDX-License-Identifier: ISC */
/* Arithmetic on the shapes, places and costs of fusion groups. */
#include "space.h"

#include <string.h>

void nxp_squeeze(int32_t rank, const int64_t *shape, nxp_shape *out) {
  memset(out, 0, sizeof *out);
  for (int32_t i = 0; i < rank; i++)
    if (shape[i] != 1) out->extent[out->rank++] = shape[i];
}

bool nxp_shape_equal(const nxp_shape *a, const nxp_shape *b) {
  return a->rank == b->rank &&
         memcmp(a->extent, b->extent, (size_t)a->rank * sizeof a->extent[0]) == 0;
}

void nxp_kept(const nxp_shape *full, uint32_t mask, nxp_shape *out) {
  memset(out, 0, sizeof *out);
  for (int32_t i = 0; i < full->rank; i++)
    if (!(mask >> i & 1)) out->extent[out->rank++] = full->extent[i];
}

int64_t nxp_points(const nxp_shape *s, uint32_t mask, bool kept) {
  int64_t n = 1;
  for (int32_t i = 0; i < s->rank; i++)
    if (kept != (bool)(mask >> i & 1)) n *= s->extent[i];
  return n;
}

/* Whether a view is a broadcast: without offset, its strides (except of extents of 1) are those of
 * `operand` in order, and 0 on the axes that it adds. *mask: the added axes, among those of the
 * view that are not of extent 1. */
static bool broadcast_mask(const nxg_node *view, const nxg_node *operand, uint32_t *mask) {
  int64_t expected = 1;
  int32_t axis = 0;
  *mask = 0;
  if (view->attrs[0] != 0) return false;
  for (int32_t i = 0; i < view->rank; i++) axis += view->shape[i] != 1;
  for (int32_t i = view->rank; i-- > 0;) {
    if (view->shape[i] == 1) continue;
    axis--;
    if (view->attrs[1 + i] == 0) {
      *mask |= (uint32_t)1 << axis;
    } else {
      if (view->attrs[1 + i] != expected) return false;
      expected *= view->shape[i];
    }
  }
  return expected == nxg_node_elements(operand);
}

nxp_place nxp_operand_place(const nxg_graph *g, const nxp_shape *full, nxp_place user,
                            const nxg_node *view, const nxg_node *operand) {
  static const nxp_place anywhere = {NXP_SPACE_ANY, 0};
  (void)g;
  if (user.space == NXP_SPACE_ANY || view == NULL) return user;
  nxp_shape walked, shape;
  uint32_t mask;
  nxp_kept(full, user.space == NXP_SPACE_OUTER ? user.broadcast : 0, &walked);
  nxp_squeeze(view->rank, view->shape, &shape);
  if (!nxp_shape_equal(&walked, &shape) || !broadcast_mask(view, operand, &mask)) return anywhere;
  nxp_shape kept, own;
  nxp_kept(&walked, mask, &kept);
  nxp_squeeze(operand->rank, operand->shape, &own);
  if (!nxp_shape_equal(&kept, &own)) return anywhere;
  if (mask == 0) return user;
  return user.space == NXP_SPACE_FULL ? (nxp_place){NXP_SPACE_OUTER, mask} : anywhere;
}

bool nxp_matmul_generated(const nxg_graph *g, const nxg_node *n, nxp_products products) {
  const nxg_node *a = &g->nodes[n->args[0]];
  int64_t inner = a->shape[a->rank - 1], rows = n->shape[n->rank - 2],
          columns = n->shape[n->rank - 1];
  const nxp_products others =
      NXP_ON_GPU | NXP_OF_SMALL_INTEGERS | NXP_OF_HALVES | NXP_OF_WINDOWS | NXP_OF_ATTENTION;
  bool library = (products & ~others) != 0;
  if (!library || !nxi_is_float(n->dtype) || inner == 0) return true;
  int64_t largest = rows > columns ? rows : columns;
  if (inner > largest) largest = inner;
  if (largest > NXP_SMALL_MATMUL) return false;
  return !(products & NXP_ON_GPU) || largest <= NXP_SMALL_ON_GPU ||
         nxg_node_elements(n) <= NXP_FEW_ON_GPU / inner;
}

uint32_t nxp_half_operand(const nxg_graph *g, const nxg_node *n, uint32_t i,
                          nxp_products products) {
  uint32_t of[2];
  if (!(products & NXP_OF_HALVES) || n->op != NXG_matmul || n->dtype != NX_F32 ||
      nxp_matmul_generated(g, n, products))
    return UINT32_MAX;
  for (int k = 0; k < 2; k++) {
    const nxg_node *cast = &g->nodes[n->args[k]];
    if (cast->op != NXG_cast) return UINT32_MAX;
    of[k] = cast->args[0];
    const nx_dtype t = g->nodes[of[k]].dtype;
    if ((t != NX_F16 && t != NX_BF16) || !(products >> t & 1) || t != g->nodes[of[0]].dtype ||
        !nxp_gemm_reads(g, of[k]))
      return UINT32_MAX;
  }
  return of[i];
}

static bool matmul_space(const nxg_graph *g, const nxg_node *n, nxp_shape *full,
                         uint32_t *reduced) {
  const nxg_node *a = &g->nodes[n->args[0]];
  int64_t inner = a->shape[a->rank - 1];
  nxp_squeeze(n->rank, n->shape, full);
  if (inner <= 1 || full->rank == NXG_MAX_RANK) return false;
  *reduced = (uint32_t)1 << full->rank;
  full->extent[full->rank++] = inner;
  return true;
}

bool nxp_reduce_space(const nxg_graph *g, const nxg_node *n, nxp_products products, nxp_shape *full,
                      uint32_t *reduced) {
  if (n->op == NXG_matmul)
    return nxp_matmul_generated(g, n, products) && matmul_space(g, n, full, reduced);
  if (nxg_ops[n->op].kind != NXG_KIND_REDUCE) return false;
  const nxg_node *x = &g->nodes[n->args[0]];
  uint32_t mask = nxg_reduce_mask(n);
  int32_t axis = 0;
  *reduced = 0;
  for (int32_t i = 0; i < x->rank; i++) {
    if (x->shape[i] == 0) return false;
    if (x->shape[i] == 1) continue;
    if (mask >> i & 1) *reduced |= (uint32_t)1 << axis;
    axis++;
  }
  nxp_squeeze(x->rank, x->shape, full);
  return *reduced != 0;
}

bool nxp_scan_space(const nxg_node *n, nxp_shape *full, uint32_t *axis) {
  if (!nxg_is_scan(n->op) || n->shape[n->attrs[0]] <= 1 || nxg_node_elements(n) == 0) return false;
  uint32_t at = 0;
  for (int64_t i = 0; i < n->attrs[0]; i++) at += n->shape[i] != 1;
  nxp_squeeze(n->rank, n->shape, full);
  *axis = (uint32_t)1 << at;
  return true;
}

/* Bytes of the narrowest strip that is worth a loop, but 32 columns at most. */
enum { NARROWEST = 128 };
/* On a GPU a block of threads computes a row, which has to fit in its registers (bytes), or some
 * columns, of which there must be at least so many blocks, or which must be as short. */
enum { GPU_BLOCKS = 132, GPU_COLUMNS = 8, GPU_ROW = 128 << 10 };

bool nxp_rows_fit(const nxp_shape *full, uint32_t reduced, int64_t element_bytes,
                  const nxi_target *t) {
  int64_t points = nxp_points(full, reduced, true), run = nxp_points(full, reduced, false);
  if (points * run <= 1 << 15) return true;
  bool last = full->rank > 0 && (reduced >> (full->rank - 1) & 1);
  if (t->block_threads > 0)
    return run * element_bytes <= GPU_ROW || (!last && points / GPU_COLUMNS >= GPU_BLOCKS);
  int64_t columns = last ? 1 : element_bytes > 4 ? NARROWEST / element_bytes : 32;
  return run * element_bytes * columns <= t->l2_bytes / 2 && points / columns >= 8;
}

bool nxp_view_crosses(const nxg_node *view) {
  const int64_t *strides = view->attrs + 1;
  int32_t last = view->rank;
  while (last > 0 && view->shape[last - 1] == 1) last--;
  if (last < 2) return false;
  int64_t along = strides[last - 1];
  bool adjacent = false;
  for (int32_t i = 0; i < last - 1; i++)
    adjacent = adjacent || (view->shape[i] >= 8 && (strides[i] == 1 || strides[i] == -1));
  return adjacent && view->shape[last - 1] >= 8 && (along > 8 || along < -8);
}

/* The most operations of a factor that a generated product computes again each time it reads it. */
enum { EXPENSIVE_FACTOR = 12 };

bool nxp_reads_again(const nxg_graph *g, uint32_t reader, uint32_t operand, uint32_t expense) {
  const nxg_node *n = &g->nodes[reader];
  if (n->op == NXG_matmul && expense <= EXPENSIVE_FACTOR) return false;
  if (n->op == NXG_matmul)
    return (n->args[0] == operand && n->shape[n->rank - 1] > 1) ||
           (n->args[1] == operand && n->shape[n->rank - 2] > 1);
  return n->op == NXG_gather && n->args[0] == operand &&
         nxg_node_elements(n) > nxg_node_elements(&g->nodes[operand]);
}

uint32_t nxp_own_cost(const nxg_node *n) {
  if (nxg_ops[n->op].kind == NXG_KIND_MAP)
    return nxk_scalars[nxg_ops[n->op].scalar].cost + (nxi_is_small_float(n->dtype) ? 3 : 0);
  switch (n->op) {
    case NXG_threefry: return 60;
    case NXG_interleave: return 1;
    case NXG_pad: return 3;
    case NXG_gather: return 8;
    case NXG_cat: return 3 * n->n_args;
    case NXG_arange:
    case NXG_eye: return 3;
    default: return 0;
  }
}

/* Vector instructions of a function: those of f64 have longer polynomials. */
static uint32_t function_weight(const nxg_node *n) {
  uint32_t cost = nxp_own_cost(n);
  return n->dtype == NX_F64 ? cost + cost / 2 : cost;
}

uint32_t nxp_weight(const nxg_node *n) {
  bool map = nxg_ops[n->op].kind == NXG_KIND_MAP;
  if (nxg_ops[n->op].kind == NXG_KIND_REDUCE) return 12;
  if (n->op == NXG_cat) return 1 + n->n_args;
  if (n->op == NXG_threefry || (map && nxk_scalars[nxg_ops[n->op].scalar].flags & NXK_FUNC))
    return 1 + function_weight(n);
  return 1 + nxp_own_cost(n) / 8;
}
