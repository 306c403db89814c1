/* SPDX-License-Identifier: ISC */
/* Quantized types in the text form: with one scale, with one for each place of an axis, or with one
 * for each block, of which several axes may have several. */
#include <stdio.h>

#include "ir/dtype.h"
#include "text.h"

/* i8, u8 or i8<-127:127> */
static bool read_storage(nxh_reader *r, nx_dtype *dtype, nxh_quant *q) {
  char text[8];
  nxh_word w;
  bool index;
  if (!nxh_read_word(r, &w)) return false;
  int n = snprintf(text, sizeof text, "%s%.*s", *w.at == 'u' ? "ui" : "",
                   w.length < 4 ? (int)w.length - (*w.at == 'u') : 0, w.at + (*w.at == 'u'));
  if (!nxh_element_type((nxh_word){text, (uint32_t)n}, dtype, &index)) *dtype = 0;
  if (!nxi_is_integer(*dtype)) return nxh_expected(r, "%.*s is no storage", (int)w.length, w.at);
  bool is_signed = nxi_is_signed(*dtype);
  int bits = nxi_dtypes[*dtype].bits - is_signed;
  q->max = bits < 63 ? (INT64_C(1) << bits) - 1 : INT64_MAX;
  q->min = is_signed ? -q->max - 1 : 0;
  if (!nxh_eat(r, "<")) return true;
  return nxh_read_integer(r, &q->min) && nxh_need(r, ":") && nxh_read_integer(r, &q->max) &&
         nxh_need(r, ">");
}

/* ---- scales and zero points */

typedef struct pairs {
  double *scales;
  int64_t *zeros;
  uint32_t n, n_zeros, rooms[2];
} pairs;

/* 0.1:-30, or without a zero point. */
static bool read_pair(nxh_reader *r, pairs *p) {
  double scale;
  int64_t zero = 0;
  if (!nxh_read_real(r, &scale) || (nxh_eat(r, ":") && !nxh_read_integer(r, &zero))) return false;
  double *s = nxh_push(r, &p->scales, &p->n, &p->rooms[0], sizeof *s);
  int64_t *z = nxh_push(r, &p->zeros, &p->n_zeros, &p->rooms[1], sizeof *z);
  if (s == NULL || z == NULL) return false;
  *s = scale;
  *z = zero;
  return true;
}

/* {a, b}, or at the lowest level of nested lists, which are as long as their neighbours. grid: how
 * long those of each level are, 0: not known yet; *rank: how many levels, 0: not known. */
static bool read_list(nxh_reader *r, pairs *p, int32_t level, int64_t *grid, int32_t *rank) {
  int64_t n = 0;
  if (level == NX_MAX_RANK) return nxh_expected(r, "more than %d axes", NX_MAX_RANK);
  if (!nxh_need(r, "{")) return false;
  do {
    bool deeper = nxh_peek(r) == '{';
    if (!deeper && *rank == 0) *rank = level + 1;
    if (*rank != 0 && deeper != (level + 1 < *rank))
      return nxh_expected(r, "scales in lists that are not as deep as others");
    if (!(deeper ? read_list(r, p, level + 1, grid, rank) : read_pair(r, p))) return false;
    n++;
  } while (nxh_eat(r, ","));
  if (grid[level] == 0) grid[level] = n;
  if (grid[level] != n) return nxh_expected(r, "scales in lists that are not as long as others");
  return nxh_need(r, "}");
}

/* ---- blocks */

/* {0:1, 1:32}: along which axes there are several, and how many places each has there. */
static bool read_blocks(nxh_reader *r, int64_t *blocks) {
  int64_t axis, size;
  if (!nxh_need(r, "{") || nxh_eat(r, "}")) return true;
  do {
    if (!nxh_read_integer(r, &axis) || !nxh_need(r, ":") || !nxh_read_integer(r, &size))
      return false;
    if (axis < 0 || axis >= NX_MAX_RANK || blocks[axis] != 0)
      return nxh_expected(r, "axis %lld", (long long)axis);
    if (size < 1) return nxh_expected(r, "a block of %lld places", (long long)size);
    blocks[axis] = size;
  } while (nxh_eat(r, ","));
  return nxh_need(r, "}");
}

static bool keep_blocks(nxh_reader *r, nxh_quant *q, const int64_t *blocks, const int64_t *grid) {
  size_t bytes = (size_t)q->rank * sizeof *grid;
  for (int32_t i = 0; i < NX_MAX_RANK; i++) {
    if (i >= q->rank && blocks[i] != 0) return nxh_expected(r, "axis %d", i);
    if (i < q->rank && blocks[i] == 0 && grid[i] != 1)
      return nxh_expected(r, "several scales along axis %d, which has no blocks", i);
  }
  q->blocks = nxi_arena_copy(&r->m->arena, blocks, bytes);
  q->grid = nxi_arena_copy(&r->m->arena, grid, bytes);
  return (q->blocks != NULL && q->grid != NULL) || nxh_no_memory(r);
}

/* ---- the type */

/* Behind the expressed type, where the axes are. */
static bool read_scales(nxh_reader *r, nxh_quant *q, const int64_t *blocks) {
  int64_t grid[NX_MAX_RANK] = {0};
  int32_t rank = blocks != NULL ? 0 : 1;
  pairs p = {0};
  bool ok = blocks != NULL || q->axis >= 0 ? read_list(r, &p, 0, grid, &rank) : read_pair(r, &p);
  q->n = p.n;
  bool kept = nxh_settle(r, p.scales, p.n, sizeof *p.scales, &q->scales);
  kept = nxh_settle(r, p.zeros, p.n_zeros, sizeof *p.zeros, &q->zeros) && kept;
  if (!ok || !kept || blocks == NULL) return ok && kept;
  q->rank = rank;
  return keep_blocks(r, q, blocks, grid);
}

bool nxh_read_quant(nxh_reader *r, nxh_type *out) {
  nxh_quant q = {.axis = -1};
  nxh_word w;
  bool index;
  int64_t axis = -1, blocks[NX_MAX_RANK] = {0};
  if (!nxh_need(r, "<") || !read_storage(r, &out->dtype, &q) || !nxh_need(r, ":") ||
      !nxh_read_word(r, &w))
    return false;
  if (!nxh_element_type(w, &q.expressed, &index)) q.expressed = 0;
  bool along = nxh_eat(r, ":"), in_blocks = along && nxh_peek(r) == '{';
  if (in_blocks && !read_blocks(r, blocks)) return false;
  if (along && !in_blocks) {
    if (!nxh_read_integer(r, &axis)) return false;
    if (axis < 0 || axis >= NX_MAX_RANK) return nxh_expected(r, "axis %lld", (long long)axis);
  }
  q.axis = (int32_t)axis;
  if (!nxh_need(r, ",") || !read_scales(r, &q, in_blocks ? blocks : NULL) || !nxh_need(r, ">"))
    return false;
  const char *bad = nxh_bad_quant(&q, out->dtype);
  if (bad != NULL) return nxh_expected(r, "%s", bad);
  out->quant = nxi_arena_copy(&r->m->arena, &q, sizeof q);
  return out->quant != NULL || nxh_no_memory(r);
}
