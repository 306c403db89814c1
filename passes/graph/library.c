/* SPDX-License-Identifier: ISC */
/* Brings matrix products, library calls and outputs into the form that plans need. A product on
 * floats that the library does not multiply becomes a product in f32, rounded at the end. Operands
 * of a product in f32 that are 16 bits wide or less are matrices of 16 bits in memory, of which the
 * product multiplies casts, where the library reads them as they are (nxp_half_operand). A matrix
 * whose strides the library cannot take is copied first, and so is one of 16 bits with odd rows on
 * a GPU (odd_rows.c), and an operand of a call that is not dense. A number that fills the updates
 * of a scatter is one element, and indices that are bytes stay so on a processor. A top_k may
 * become a view of a sort. An output that is a view or an input becomes a copy, and so does a view
 * that is updated. Needs: composed views. Keeps: values. */
#include "odd_rows.h"
#include "passes/fuse/cluster.h"
#include "rewrite.h"

#include <string.h>

#include "ir/library/library.h"

bool nxp_gemm_layout(const nxg_view *v, bool *transposed, int64_t *ld) {
  int64_t rows = v->shape[v->rank - 2], columns = v->shape[v->rank - 1];
  int64_t row_stride = v->strides[v->rank - 2], column_stride = v->strides[v->rank - 1];
  if ((column_stride == 1 || columns <= 1) && (row_stride >= columns || rows <= 1)) {
    *transposed = false;
    *ld = row_stride > columns ? row_stride : columns;
    return true;
  }
  if ((row_stride == 1 || rows <= 1) && (column_stride >= rows || columns <= 1)) {
    *transposed = true;
    *ld = column_stride > rows ? column_stride : rows;
    return true;
  }
  return false;
}

static uint32_t cast_to_f32(nxg_rewrite *r, uint32_t i, uint32_t node) {
  const nxg_node *n = &r->to->nodes[node];
  int64_t shape[NXG_MAX_RANK];
  for (int32_t a = 0; a < n->rank; a++) shape[a] = n->shape[a];
  return nxg_rewrite_add(r, i, NXG_cast, 1, &node, NULL, 0, NX_F32, n->rank, shape);
}

/* Copies an operand of a product. If its columns are contiguous they are contiguous in the copy
 * too, because the bits of a library's result depend on that. */
static uint32_t copy_matrix(nxg_rewrite *r, uint32_t i, uint32_t node) {
  const nxg_node n = r->to->nodes[node];
  const int32_t rank = n.rank, swapped = rank - 2;
  nxg_view v;
  bool transposed;
  int64_t ld, attrs[1 + NXG_MAX_RANK], shape[NXG_MAX_RANK];
  nxg_node_view(r->to, node, &v);
  if (n.op != NXG_view || !nxp_gemm_layout(&v, &transposed, &ld) || !transposed)
    return nxg_rewrite_copy_of(r, i, node);
  const uint32_t base = n.args[0];
  memcpy(shape, v.shape, (size_t)rank * sizeof *shape);
  const int64_t rows = v.shape[swapped], row_stride = v.strides[swapped];
  v.shape[swapped] = v.shape[swapped + 1], v.shape[swapped + 1] = rows;
  v.strides[swapped] = v.strides[swapped + 1], v.strides[swapped + 1] = row_stride;
  attrs[0] = v.offset;
  memcpy(attrs + 1, v.strides, (size_t)rank * sizeof *attrs);
  uint32_t columns =
      nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)rank, n.dtype, rank, v.shape);
  if (nxg_rewrite_failed(r)) return columns;
  uint32_t copy = nxg_rewrite_copy_of(r, i, columns);
  if (nxg_rewrite_failed(r)) return copy;
  nxg_view_contiguous(&v, rank, v.shape);
  const int64_t row = v.strides[swapped];
  v.strides[swapped] = v.strides[swapped + 1], v.strides[swapped + 1] = row;
  attrs[0] = 0;
  memcpy(attrs + 1, v.strides, (size_t)rank * sizeof *attrs);
  return nxg_rewrite_add(r, i, NXG_view, 1, &copy, attrs, 1 + (uint32_t)rank, n.dtype, rank, shape);
}

/* Constants and other leaves have no memory. */
bool nxp_gemm_reads(const nxg_graph *g, uint32_t node) {
  nxg_view v;
  bool transposed;
  int64_t ld;
  nxg_node_view(g, node, &v);
  uint32_t base = g->nodes[node].op == NXG_view ? g->nodes[node].args[0] : node;
  bool leaf = nxg_ops[g->nodes[base].op].kind == NXG_KIND_LEAF && g->nodes[base].op != NXG_input;
  return !leaf && nxp_gemm_layout(&v, &transposed, &ld);
}

/* ---- operands of 16 bits */

/* A node, as which a view shows its elements. */
typedef struct narrow {
  uint32_t node;
  nxg_view view;
  nx_dtype dtype;
} narrow;

static bool is_f8(nx_dtype t) { return t == NX_F8E4M3 || t == NX_F8E5M2; }

/* Finds the matrix of at most 16 bits that an operand is, or is a cast of. */
static bool find_narrow(const nxg_graph *g, uint32_t node, narrow *out) {
  bool viewed = g->nodes[node].op == NXG_view;
  nxg_node_view(g, node, &out->view);
  out->node = viewed ? g->nodes[node].args[0] : node;
  if (g->nodes[node].dtype == NX_F32) {
    if (g->nodes[out->node].op != NXG_cast) return false;
    out->node = g->nodes[out->node].args[0];
    if (g->nodes[out->node].op == NXG_view) {
      if (viewed) return false;
      nxg_node_view(g, out->node, &out->view);
      out->node = g->nodes[out->node].args[0];
    }
  }
  out->dtype = (nx_dtype)g->nodes[out->node].dtype;
  return g->nodes[out->node].op != NXG_view &&
         (is_f8(out->dtype) || out->dtype == NX_F16 || out->dtype == NX_BF16);
}

/* The dtype of 16 bits that holds all values of both, of those that the library multiplies; f32:
 * there is none. */
static nx_dtype half_of_both(const narrow x[2], nxp_products products) {
  const bool brain = x[0].dtype == NX_BF16 || x[1].dtype == NX_BF16,
             half = x[0].dtype == NX_F16 || x[1].dtype == NX_F16;
  const nx_dtype t = brain ? NX_BF16 : NX_F16;
  return (brain && half) || !(products >> t & 1) ? NX_F32 : t;
}

/* The matrix in that dtype, in memory that the library can read, as f32. */
static uint32_t widened_half(nxg_rewrite *r, uint32_t i, const narrow *x, nx_dtype t) {
  const nxg_node n = r->to->nodes[x->node];
  int64_t attrs[1 + NXG_MAX_RANK] = {x->view.offset}, shape[NXG_MAX_RANK];
  uint32_t node = x->node;
  memcpy(shape, n.shape, (size_t)n.rank * sizeof *shape);
  if (n.dtype != t) node = nxg_rewrite_add(r, i, NXG_cast, 1, &node, NULL, 0, t, n.rank, shape);
  if (nxg_rewrite_failed(r)) return node;
  memcpy(attrs + 1, x->view.strides, (size_t)x->view.rank * sizeof *attrs);
  if (x->view.offset != 0 || !nxg_view_is_contiguous(&x->view) ||
      !nxg_same_shape(n.rank, shape, x->view.rank, x->view.shape))
    node = nxg_rewrite_add(r, i, NXG_view, 1, &node, attrs, 1 + (uint32_t)x->view.rank, t,
                           x->view.rank, x->view.shape);
  if (nxg_rewrite_failed(r)) return node;
  if (!nxp_gemm_reads(r->to, node)) node = copy_matrix(r, i, node);
  return nxg_rewrite_failed(r) ? node : cast_to_f32(r, i, node);
}

/* Whether a product of f32 or f8 is one of operands of 16 bits; those, as f32. */
static bool take_halves(nxg_rewrite *r, uint32_t i, nxp_products products, uint32_t args[2]) {
  const nx_dtype t = (nx_dtype)r->from->nodes[i].dtype;
  narrow x[2];
  if (!(products & NXP_OF_HALVES) || (t != NX_F32 && !is_f8(t)) ||
      !find_narrow(r->to, args[0], &x[0]) || !find_narrow(r->to, args[1], &x[1]))
    return false;
  const nx_dtype half = half_of_both(x, products);
  for (int a = 0; half != NX_F32 && a < 2 && !nxg_rewrite_failed(r); a++)
    args[a] = widened_half(r, i, &x[a], half);
  return half != NX_F32;
}

static void rewrite_matmul(nxg_rewrite *r, uint32_t i, nxp_products products) {
  const nxg_node *n = &r->from->nodes[i];
  uint32_t args[2] = {r->map[n->args[0]], r->map[n->args[1]]};
  bool convert = !(products >> n->dtype & 1), halves = take_halves(r, i, products, args);
  for (int a = 0; !halves && a < 2 && !nxg_rewrite_failed(r); a++) {
    if (convert) args[a] = cast_to_f32(r, i, args[a]);
    else if (!nxp_gemm_reads(r->to, args[a])) args[a] = copy_matrix(r, i, args[a]);
  }
  const bool of_16_bits = n->dtype == NX_F16 || n->dtype == NX_BF16;
  uint32_t even = UINT32_MAX;
  if (of_16_bits && !convert && (products & NXP_ON_GPU) && !nxg_rewrite_failed(r))
    even = nxg_even_product(r, i, args);
  if (even != UINT32_MAX) {
    r->changed = true;
    nxg_rewrite_map(r, i, even);
    return;
  }
  if (args[0] == r->map[n->args[0]] && args[1] == r->map[n->args[1]]) {
    nxg_rewrite_copy(r, i);
    return;
  }
  r->changed = true;
  uint32_t value = nxg_rewrite_add(r, i, NXG_matmul, 2, args, NULL, 0, convert ? NX_F32 : n->dtype,
                                   n->rank, n->shape);
  if (convert)
    value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, n->dtype, n->rank, n->shape);
  nxg_rewrite_map(r, i, value);
}

/* Whether an operand of a call is memory that is dense from some element on. Any other value is
 * stored first, and so is a view of a view, of which the first may become one of memory that is not
 * dense. */
static bool call_can_read(const nxg_graph *g, uint32_t node) {
  nxg_view v;
  nxg_node_view(g, node, &v);
  uint32_t base = g->nodes[node].op == NXG_view ? g->nodes[node].args[0] : node;
  v.offset = 0;
  bool leaf = nxg_ops[g->nodes[base].op].kind == NXG_KIND_LEAF && g->nodes[base].op != NXG_input;
  return !leaf && g->nodes[base].op != NXG_view && nxg_view_is_contiguous(&v);
}

static uint32_t readable_by_call(nxg_rewrite *r, uint32_t i, uint32_t node) {
  return call_can_read(r->to, node) ? node : nxg_rewrite_copy_of(r, i, node);
}

static void rewrite_call(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  uint32_t *args = nxi_malloc((n->n_args + 1) * sizeof *args);
  bool same = true;
  if (args == NULL) {
    r->failed = true;
    return;
  }
  for (uint32_t a = 0; a < n->n_args && !nxg_rewrite_failed(r); a++) {
    args[a] = readable_by_call(r, i, r->map[n->args[a]]);
    same = same && args[a] == r->map[n->args[a]];
  }
  if (same) nxg_rewrite_copy(r, i);
  else
    nxg_rewrite_map(r, i,
                    nxg_rewrite_add(r, i, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs,
                                    n->dtype, n->rank, n->shape));
  nxi_free(args);
}

/* The first elements of a row are those of a sort where the sort is the quicker one: on a GPU, and
 * where they are many or many rows are short. Complex operands have become rows of parts. */
static bool is_top_of_sort(const nxg_graph *g, const nxg_node *n, nxp_products products) {
  enum { MOST_PLACES = 1 << 14, SHORT = 1 << 10, ROWS = 16 };
  if (n->op != NXG_top_k || nxg_call_has_rows(NXG_top_k, n->n_attrs)) return false;
  if (products & NXP_ON_GPU || n->attrs[1] > MOST_PLACES) return true;
  const nxg_node *x = &g->nodes[n->args[0]];
  const int64_t length = x->shape[n->attrs[0]];
  return length > 0 && length <= SHORT && nxg_node_elements(x) / length >= ROWS;
}

static void rewrite_top(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  const uint32_t x = readable_by_call(r, i, r->map[n->args[0]]);
  const nxg_op op = n->attrs[3] == 0 ? NXG_sort : NXG_argsort;
  const int64_t order[] = {n->attrs[0], n->attrs[2]};
  int64_t shape[NXG_MAX_RANK], attrs[1 + NXG_MAX_RANK] = {0};
  memcpy(shape, n->shape, (size_t)n->rank * sizeof *shape);
  shape[n->attrs[0]] = r->from->nodes[n->args[0]].shape[n->attrs[0]];
  nxg_view v;
  /* A view without elements has the strides of its own shape. */
  nxg_view_contiguous(&v, n->rank, nxg_node_elements(n) == 0 ? n->shape : shape);
  memcpy(attrs + 1, v.strides, (size_t)n->rank * sizeof *attrs);
  r->changed = true;
  uint32_t sorted = nxg_rewrite_add(r, i, op, 1, &x, order, 2, n->dtype, n->rank, shape);
  if (nxg_rewrite_failed(r)) return;
  nxg_rewrite_map(r, i,
                  nxg_rewrite_add(r, i, NXG_view, 1, &sorted, attrs, 1 + (uint32_t)n->rank,
                                  n->dtype, n->rank, n->shape));
}

/* A number that fills a line as a view of one element, so that no line of it is written and read:
 * counting adds ones. UINT32_MAX: it is none, or not a line, since rows are combined in vectors. */
static uint32_t spread_number(nxg_rewrite *r, uint32_t i, uint32_t node) {
  const nxg_node n = r->to->nodes[node];
  int64_t shape[NXG_MAX_RANK], view[1 + NXG_MAX_RANK] = {0}, most = 1;
  const int64_t value[2] = {n.op == NXG_full ? n.attrs[0] : 0, n.op == NXG_full ? n.attrs[1] : 0};
  for (int32_t a = 0; a < n.rank; a++) {
    shape[a] = n.shape[a];
    most = shape[a] > most ? shape[a] : most;
  }
  if (n.op != NXG_full || most == 1 || nxg_elements(n.rank, shape) != most) return UINT32_MAX;
  uint32_t number = nxg_rewrite_add(r, i, NXG_full, 0, NULL, value, 2, n.dtype, 0, NULL);
  if (nxg_rewrite_failed(r)) return UINT32_MAX;
  return nxg_rewrite_add(r, i, NXG_view, 1, &number, view, 1 + (uint32_t)n.rank, n.dtype, n.rank,
                         shape);
}

/* The bytes that were widened to these indices; UINT32_MAX: they were not. */
static uint32_t bytes_of(const nxg_graph *g, uint32_t indices) {
  const nxg_node *n = &g->nodes[indices];
  return n->op == NXG_cast && g->nodes[n->args[0]].dtype == NX_U8 ? n->args[0] : UINT32_MAX;
}

/* A scatter of real numbers by bytes, which the processor reads as they are: four times fewer bytes
 * of memory for a histogram, and nothing to write. */
static void scatter_by_bytes(nxg_rewrite *r, uint32_t i, uint32_t bytes) {
  const nxg_node *n = &r->from->nodes[i];
  uint32_t args[4];
  int64_t attrs[2 + NXG_MAX_RANK];
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = r->map[n->args[a]];
  args[1] = bytes;
  memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
  attrs[1] |= NXG_SCATTER_BYTES;
  nxg_rewrite_map(r, i,
                  nxg_rewrite_add(r, i, NXG_scatter, n->n_args, args, attrs, n->n_attrs, n->dtype,
                                  n->rank, n->shape));
}

/* Indices and updates of a scatter: complex updates are a row in memory. */
static void rewrite_scatter(nxg_rewrite *r, uint32_t i, nxp_products products) {
  const nxg_node *n = &r->from->nodes[i];
  uint32_t bytes = bytes_of(r->to, r->map[n->args[1]]);
  uint32_t updates = n->args[2], mapped = r->map[updates], spread;
  bool alone = updates != n->args[0]; /* what is written over is a whole value */
  if (alone && !nxg_scatters_pairs(n) && (spread = spread_number(r, i, mapped)) != UINT32_MAX)
    r->map[updates] = spread;
  else if (nxg_scatters_pairs(n) && !call_can_read(r->to, mapped))
    r->map[updates] = nxg_rewrite_copy_of(r, i, mapped);
  if (bytes == UINT32_MAX || nxg_scatters_pairs(n) || (products & NXP_ON_GPU))
    nxg_rewrite_copy(r, i);
  else scatter_by_bytes(r, i, bytes);
  r->map[updates] = mapped;
}

/* An update or a scatter, with what it writes over. */
static void rewrite_update(nxg_rewrite *r, uint32_t i, nxp_products products) {
  uint32_t old = r->from->nodes[i].args[0], mapped = r->map[old];
  r->map[old] = nxg_rewrite_whole(r, i, mapped);
  if (r->from->nodes[i].op == NXG_scatter) rewrite_scatter(r, i, products);
  else nxg_rewrite_copy(r, i);
  r->map[old] = mapped;
}

/* The product of which an output is only a reshape, so that both share memory; UINT32_MAX if there
 * is none. */
static uint32_t product_of_output(const nxg_graph *g, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  const uint32_t op = n->op == NXG_view ? g->nodes[n->args[0]].op : n->op;
  if (n->op != NXG_view ||
      (op != NXG_matmul && op != NXG_matmul_i32 && op != NXG_matmul_windows && op != NXG_attention))
    return UINT32_MAX;
  nxg_view v;
  nxg_node_view(g, node, &v);
  bool whole = nxg_node_elements(n) == nxg_node_elements(&g->nodes[n->args[0]]);
  return whole && nxg_view_is_contiguous(&v) ? n->args[0] : UINT32_MAX;
}

nx_status nxg_pass_library(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (g->nodes[i].op == NXG_matmul && !nxp_matmul_generated(g, &g->nodes[i], products))
      rewrite_matmul(&r, i, products);
    else if (is_top_of_sort(g, &g->nodes[i], products)) rewrite_top(&r, i);
    else if (nxg_ops[g->nodes[i].op].kind == NXG_KIND_CALL || nxg_is_control(g->nodes[i].op) ||
             nxp_scan_called(g, &g->nodes[i], products))
      rewrite_call(&r, i);
    else if (g->nodes[i].op == NXG_update || g->nodes[i].op == NXG_scatter)
      rewrite_update(&r, i, products);
    else nxg_rewrite_copy(&r, i);
  }
  for (uint32_t i = 0; i < g->n_outputs && !nxg_rewrite_failed(&r); i++) {
    uint32_t node = g->outputs[i].node, product = product_of_output(g, node);
    if (product != UINT32_MAX) nxg_rewrite_map(&r, node, r.map[product]), r.changed = true;
    else if (g->nodes[node].op == NXG_view || g->nodes[node].op == NXG_input ||
             is_top_of_sort(g, &g->nodes[node], products))
      if (r.to->nodes[r.map[node]].op != NXG_copy)
        nxg_rewrite_map(&r, node, nxg_rewrite_copy_of(&r, node, r.map[node]));
  }
  return nxg_rewrite_end(&r, out, changed);
}
