/* SPDX-License-Identifier: ISC */
/* Products that are said by letters (einsum), and products by groups (ragged_dot). */
#include "product.h"

#include <string.h>

enum { MOST_GROUPS = 1024 };

/* ---- einsum: one letter an axis */

/* An operand or the result. Until ranks are known the axes of "..." are DOTS; then the last of them
 * is LAST_DOT, the one before it one less, as they are aligned. */
enum { DOTS = '.', LAST_DOT = NX_MAX_RANK };
typedef struct labelled {
  nx_tensor *x;
  char label[NX_MAX_RANK];
  uint32_t n;
} labelled;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static int32_t find(const labelled *l, char c) {
  for (uint32_t i = 0; i < l->n; i++)
    if (l->label[i] == c) return (int32_t)i;
  return -1;
}

/* "ab,bc->ac": n operands, then the result. */
static bool read_config(nxh_recorder *r, const nxh_op *op, uint32_t n, labelled *out) {
  nxh_word config = nxh_name(op, "einsum_config");
  uint32_t part = 0;
  for (size_t i = 0; i < config.length; i++) {
    char c = config.at[i];
    bool arrow = c == '-' && i + 1 < config.length && config.at[i + 1] == '>';
    if (c == ' ') continue;
    if ((c == ',' && part + 1 < n) || (arrow && part + 1 == n)) {
      part++;
      i += arrow;
    } else if (is_letter(c) && out[part].n < NX_MAX_RANK) {
      out[part].label[out[part].n++] = c;
    } else if (c == DOTS && i + 2 < config.length && config.at[i + 1] == DOTS &&
               config.at[i + 2] == DOTS && out[part].n < NX_MAX_RANK &&
               find(&out[part], DOTS) < 0) {
      out[part].label[out[part].n++] = DOTS;
      i += 2;
    } else {
      part = n + 1;
      break;
    }
  }
  return part == n ||
         nxh_fail(r, NX_INVALID_ARGUMENT, "einsum_config \"%.*s\" is not of the form %s",
                  (int)config.length, config.at, n == 2 ? "ab,bc->ac" : "ab->a");
}

/* Axes in place of "...". */
static bool expand_dots(nxh_recorder *r, labelled *l, uint32_t rank) {
  int32_t at = find(l, DOTS);
  if (at < 0) return true;
  if (rank + 1 < l->n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u letters for rank %u", l->n - 1, rank);
  uint32_t n = rank + 1 - l->n, behind = l->n - (uint32_t)at - 1;
  if (rank > NX_MAX_RANK) return nxh_fail(r, NX_INVALID_ARGUMENT, "a result of rank %u", rank);
  memmove(l->label + at + n, l->label + at + 1, behind);
  for (uint32_t i = 0; i < n; i++) l->label[(uint32_t)at + i] = (char)(LAST_DOT - n + 1 + i);
  l->n = rank;
  return true;
}

static uint32_t dots_of(const labelled *l) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->n; i++) n += l->label[i] <= LAST_DOT;
  return n;
}

/* "..." of the result is that of the operand that has more axes there. */
static bool expand_result(nxh_recorder *r, const labelled *l, uint32_t n, labelled *result) {
  uint32_t dots = 0;
  for (uint32_t i = 0; i < n; i++) dots = dots_of(&l[i]) > dots ? dots_of(&l[i]) : dots;
  if (dots > 0 && find(result, DOTS) < 0)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "the result has no \"...\", which an operand has");
  return expand_dots(r, result, result->n - (find(result, DOTS) >= 0) + dots);
}

/* An axis of "..." with one element is none where the other operand has more. */
static bool drop_ones(labelled *l, const labelled *other) {
  int64_t shape[NX_MAX_RANK];
  uint32_t kept = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    int32_t at = find(other, l->label[i]);
    bool gone =
        l->label[i] <= LAST_DOT && at >= 0 && nx_shape(l->x)[i] == 1 && nx_shape(other->x)[at] != 1;
    if (gone) continue;
    shape[kept] = nx_shape(l->x)[i];
    l->label[kept++] = l->label[i];
  }
  if (kept == l->n) return true;
  l->n = kept;
  l->x = nx_reshape(l->x, shape, (int32_t)kept, NX_MAY_COPY);
  return l->x != NULL;
}

/* Axes of one letter are their diagonal, which is the last axis then. */
static bool take_diagonals(nxh_recorder *r, labelled *l) {
  for (uint32_t i = 0; i < l->n; i++) {
    uint32_t k = i + 1;
    while (k < l->n && l->label[k] != l->label[i]) k++;
    if (k >= l->n) continue;
    char c = l->label[i];
    if (nx_shape(l->x)[i] != nx_shape(l->x)[k])
      return nxh_fail(r, NX_INVALID_ARGUMENT, "axes of the letter %c differ in extent", c);
    if ((l->x = nx_diagonal(l->x, 0, (int32_t)i, (int32_t)k)) == NULL) return false;
    memmove(l->label + k, l->label + k + 1, l->n - k - 1);
    memmove(l->label + i, l->label + i + 1, l->n - 1 - i - 1);
    l->label[l->n - 2] = c;
    l->n--;
    i = UINT32_MAX; /* from the first axis on again */
  }
  return true;
}

/* Sums over letters that nothing else has. */
static bool sum_others(labelled *l, const labelled *other, const labelled *result, nx_dtype dtype) {
  int32_t axes[NX_MAX_RANK];
  uint32_t n = 0, kept = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    bool wanted = find(result, l->label[i]) >= 0 || (other && find(other, l->label[i]) >= 0);
    if (wanted) l->label[kept++] = l->label[i];
    else axes[n++] = (int32_t)i;
  }
  l->n = kept;
  l->x = nxh_of_type(l->x, dtype);
  if (n > 0) l->x = nxh_of_type(nx_reduce_sum(l->x, axes, n, 0), dtype);
  return l->x != NULL;
}

/* Operand `number`: what of it is of the product. */
static bool take_labelled(nxh_recorder *r, const nxh_op *op, uint32_t number, labelled *l) {
  if ((l->x = nxh_in(r, op, number)) == NULL) return false;
  if (!expand_dots(r, l, (uint32_t)nx_rank(l->x))) return false;
  if ((uint32_t)nx_rank(l->x) != l->n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u letters for operand %u of rank %d", l->n, number,
                    nx_rank(l->x));
  return take_diagonals(r, l);
}

/* Brings the axes into the order of the result, whose letters are those of x, each once. */
static bool set_result(nxh_recorder *r, const nxh_op *op, const labelled *made,
                       const labelled *result) {
  int32_t order[NX_MAX_RANK];
  uint32_t used = 0;
  for (uint32_t i = 0; i < result->n; i++) {
    order[i] = find(made, result->label[i]);
    if (order[i] < 0 || used & 1u << order[i])
      return nxh_fail(r, NX_INVALID_ARGUMENT,
                      "the letter %c of the result is in no operand, or there twice",
                      result->label[i]);
    used |= 1u << order[i];
  }
  return nxh_set(r, op, 0, nx_permute(made->x, order, result->n));
}

bool nxh_unary_einsum(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  labelled l[2] = {{0}};
  return read_config(r, op, 1, l) && take_labelled(r, op, 0, &l[0]) &&
         expand_result(r, l, 1, &l[1]) &&
         sum_others(&l[0], NULL, &l[1], nxh_result_type(r, op, 0)->dtype) &&
         set_result(r, op, &l[0], &l[1]);
}

static void add_axis(nxh_side *a, nxh_side *b, int32_t of_a, int32_t of_b, bool batch) {
  if (batch) {
    a->batch[a->n_batch++] = of_a;
    b->batch[b->n_batch++] = of_b;
  } else {
    a->contracted[a->n_contracted++] = of_a;
    b->contracted[b->n_contracted++] = of_b;
  }
}

bool nxh_einsum(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  labelled l[3] = {{0}}, made = {0};
  nx_dtype dtype = nxh_result_type(r, op, 0)->dtype;
  if (!read_config(r, op, 2, l) || !take_labelled(r, op, 0, &l[0]) ||
      !take_labelled(r, op, 1, &l[1]) || !expand_result(r, l, 2, &l[2]) ||
      !drop_ones(&l[0], &l[1]) || !drop_ones(&l[1], &l[0]) ||
      !sum_others(&l[0], &l[1], &l[2], dtype) || !sum_others(&l[1], &l[0], &l[2], dtype))
    return false;
  nxh_side a = {.x = l[0].x}, b = {.x = l[1].x};
  for (uint32_t i = 0; i < l[0].n; i++) {
    int32_t at = find(&l[1], l[0].label[i]);
    if (at >= 0) add_axis(&a, &b, (int32_t)i, at, find(&l[2], l[0].label[i]) >= 0);
  }
  if ((made.x = nxh_product(r, &a, &b, dtype)) == NULL) return false;
  for (uint32_t i = 0; i < a.n_batch; i++) made.label[made.n++] = l[0].label[a.batch[i]];
  for (uint32_t i = 0; i < a.n_rest; i++) made.label[made.n++] = l[0].label[a.rest[i]];
  for (uint32_t i = 0; i < b.n_rest; i++) made.label[made.n++] = l[1].label[b.rest[i]];
  return set_result(r, op, &made, &l[2]);
}

/* ---- ragged_dot */

typedef struct ragged {
  nxh_recorder *r;
  nxh_side a, b;
  nx_tensor *first, *end; /* of each group along the ragged axis */
  int32_t axis, group;    /* of the first operand, and of the second: -1 */
  int64_t groups;
  nx_dtype dtype;
} ragged;

static bool holds(const int32_t *axes, uint32_t n, int32_t axis) {
  for (uint32_t i = 0; i < n; i++)
    if (axes[i] == axis) return true;
  return false;
}

/* Where the groups begin and end: sums of their sizes. */
static bool take_groups(ragged *g, const nxh_op *op) {
  nx_tensor *sizes = nxh_in(g->r, op, 2);
  if (sizes == NULL) return false;
  if (nx_rank(sizes) != 1)
    return nxh_fail(g->r, NX_INVALID_ARGUMENT, "group sizes of rank %d, not 1", nx_rank(sizes));
  g->groups = nx_shape(sizes)[0];
  if (g->groups > MOST_GROUPS)
    return nxh_fail(g->r, NX_INVALID_ARGUMENT, "%lld groups are more than %d", (long long)g->groups,
                    (int)MOST_GROUPS);
  sizes = nxh_of_type(sizes, NX_I64);
  g->end = nx_associative_scan(sizes, NX_SCAN_SUM, 0);
  g->first = nx_sub(g->end, sizes);
  return g->first != NULL;
}

static bool take_ragged(ragged *g, const nxh_op *op) {
  int32_t axes[NX_MAX_RANK], group[NX_MAX_RANK];
  uint32_t n, n_group;
  if ((g->a.x = nxh_in(g->r, op, 0)) == NULL || (g->b.x = nxh_in(g->r, op, 1)) == NULL ||
      !nxh_product_axes(g->r, op, &g->a, &g->b) || !nxh_sort_axes(g->r, &g->a) ||
      !nxh_sort_axes(g->r, &g->b) || !nxh_axes(g->r, op, "lhs_ragged_dimensions", axes, &n) ||
      !nxh_axes(g->r, op, "rhs_group_dimensions", group, &n_group))
    return false;
  if (n != 1 || axes[0] >= nx_rank(g->a.x) || n_group > 1 ||
      (n_group == 1 && !holds(g->b.rest, g->b.n_rest, group[0])))
    return nxh_fail(
        g->r, NX_INVALID_ARGUMENT,
        "%u ragged axes and %u of groups, or one that is no axis, or one of the product", n,
        n_group);
  g->axis = axes[0];
  g->group = n_group == 1 ? group[0] : -1;
  g->dtype = nxh_result_type(g->r, op, 0)->dtype;
  return take_groups(g, op);
}

/* Element `i` of a line, as a tensor of rank 0. */
static nx_tensor *element(nx_tensor *line, int64_t i) {
  return nx_reshape(nx_shrink(line, &i, (int64_t[]){i + 1}, 1), NULL, 0, NX_MAY_COPY);
}

/* Whether an index along an axis of a value of that rank is one of group i. */
static nx_tensor *members(const ragged *g, int64_t i, int64_t extent, int32_t axis, int32_t rank) {
  int64_t shape[NX_MAX_RANK];
  for (int32_t k = 0; k < rank; k++) shape[k] = k == axis ? extent : 1;
  nx_tensor *at = nx_arange(g->r->c, g->r->device, NX_I64, NX_INTEGER(0), NX_INTEGER(1), extent);
  nx_tensor *in = nx_and(nx_cmpge(at, element(g->first, i)), nx_cmplt(at, element(g->end, i)));
  return nx_reshape(in, shape, rank, NX_MAY_COPY);
}

static nx_tensor *zero(const ragged *g) {
  nx_scalar none = {NX_SCALAR_I64, {.i = 0}};
  return nx_full(g->r->c, g->r->device, g->dtype, NULL, 0, &none);
}

/* The second operand's part of group i, without the axis of groups. */
static bool take_part(const ragged *g, int64_t i, nxh_side *out) {
  int64_t start[NX_MAX_RANK], stop[NX_MAX_RANK], shape[NX_MAX_RANK];
  int32_t n = 0, rank = nx_rank(g->b.x);
  *out = g->b;
  for (int32_t k = 0; k < rank; k++) {
    start[k] = k == g->group ? i : 0;
    stop[k] = k == g->group ? i + 1 : nx_shape(g->b.x)[k];
    if (k != g->group) shape[n++] = stop[k];
  }
  out->x = nx_reshape(nx_shrink(g->b.x, start, stop, (size_t)rank), shape, n, NX_MAY_COPY);
  for (uint32_t k = 0; k < out->n_batch; k++) out->batch[k] -= out->batch[k] > g->group;
  for (uint32_t k = 0; k < out->n_contracted; k++)
    out->contracted[k] -= out->contracted[k] > g->group;
  return out->x != NULL;
}

/* A free axis is ragged: each of its rows is multiplied by the part of its group; rows of no group
 * are 0. */
static nx_tensor *by_rows(ragged *g) {
  nx_tensor *y = NULL;
  int32_t at = 0;
  for (int64_t i = 0; i < g->groups; i++) {
    nxh_side a = g->a, b;
    nx_tensor *p = take_part(g, i, &b) ? nxh_product(g->r, &a, &b, g->dtype) : NULL;
    if (p == NULL) return NULL;
    for (at = (int32_t)a.n_batch; a.rest[at - (int32_t)a.n_batch] != g->axis;) at++;
    nx_tensor *in = members(g, i, nx_shape(g->a.x)[g->axis], at, nx_rank(p));
    y = nx_where(in, p, y != NULL ? y : zero(g));
    if (y == NULL) return NULL;
  }
  return y;
}

/* An operand with 0 where a contracted axis is not in group i. */
static nx_tensor *only(const ragged *g, int64_t i, nx_tensor *x, int32_t axis) {
  x = nxh_of_type(x, g->dtype);
  if (x == NULL) return NULL;
  return nx_where(members(g, i, nx_shape(x)[axis], axis, nx_rank(x)), x, zero(g));
}

/* A contracted axis is ragged: a product for each group, of which the result has a new first axis.
 * What is outside of a group counts nothing, were it infinite. */
static nx_tensor *by_sums(ragged *g) {
  nx_tensor *parts[MOST_GROUPS];
  uint32_t k = 0;
  while (g->a.contracted[k] != g->axis) k++;
  for (int64_t i = 0; i < g->groups; i++) {
    nxh_side a = g->a, b = g->b;
    int64_t shape[NX_MAX_RANK + 1] = {1};
    a.x = only(g, i, a.x, g->axis);
    b.x = only(g, i, b.x, b.contracted[k]);
    nx_tensor *p = a.x != NULL && b.x != NULL ? nxh_product(g->r, &a, &b, g->dtype) : NULL;
    if (p == NULL || nx_rank(p) == NX_MAX_RANK) return NULL;
    for (int32_t axis = 0; axis < nx_rank(p); axis++) shape[axis + 1] = nx_shape(p)[axis];
    parts[i] = nx_reshape(p, shape, nx_rank(p) + 1, NX_MAY_COPY);
  }
  return nx_cat(parts, (size_t)g->groups, 0);
}

bool nxh_ragged_dot(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  ragged g = {.r = r};
  if (!take_ragged(&g, op)) return false;
  bool batch = holds(g.a.batch, g.a.n_batch, g.axis),
       contracted = holds(g.a.contracted, g.a.n_contracted, g.axis);
  if ((g.group >= 0) == (batch || contracted) || g.groups == 0)
    return nxh_fail(r, NX_INVALID_ARGUMENT,
                    "the second operand has an axis of groups if a free axis is ragged, and only "
                    "then; there is one group at least");
  if (g.group >= 0 && nx_shape(g.b.x)[g.group] != g.groups)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%lld group sizes for %lld groups", (long long)g.groups,
                    (long long)nx_shape(g.b.x)[g.group]);
  if (g.a.n_contracted != g.b.n_contracted)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "the operands' axes do not fit each other");
  nx_tensor *y = batch        ? nxh_product(r, &g.a, &g.b, g.dtype)
                 : contracted ? by_sums(&g)
                              : by_rows(&g);
  return nxh_set(r, op, 0, y);
}
