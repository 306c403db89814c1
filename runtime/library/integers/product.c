/* SPDX-License-Identifier: ISC */
/* The library call matmul_i32: products of matrices of small integers with sums of 32 bits.
 *
 * A task is a tile of a result. It packs the rows of A and the columns of B that it needs, piece by
 * piece along the inner extent, into memory of the thread that stays in its cache, and multiplies
 * panels: a panel of columns, which the first level holds, by all panels of rows. Operands are
 * packed again for each tile, which costs a few percent, and so nothing as large as an operand is
 * ever allocated. */
#include <string.h>

#include "ir/alloc.h"
#include "ir/dtype.h"
#include "ir/target.h"
#include "kernels.h"
#include "product.h"
#include "runtime/library/libraries.h"

enum {
  TILE_ROWS = 256,
  TILE_COLUMNS = 256,
  FEW_COLUMNS = 64, /* of a tile, where the usual ones would not be enough for all threads */
  FEW_TILES = 8,
  DEPTH_BYTES = 1024,  /* of a piece, packed */
  TASK_WORK = 1 << 20, /* multiplications of what a thread takes at once, at least */
};

/* An operand: strides of its rows (columns), of the inner extent, and of the batch. */
typedef struct matrix {
  nx_dtype dtype;
  int64_t across, along, batch[NXG_MAX_RANK];
} matrix;

typedef struct product {
  const nxi_integers_kernels *kernels;
  int64_t m, n, k, batches, columns; /* columns: of a tile */
  int64_t row_tiles, column_tiles;
  int32_t batch_rank;
  int64_t batch_shape[NXG_MAX_RANK];
  matrix a, b;
  int64_t packed_rows, packed_columns, row_terms; /* bytes of them in a thread's memory */
} product;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t whole(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/* ---- preparing */

static const nxi_integers_kernels *kernels_for(const nxi_target *t, bool bytes) {
#if defined(__x86_64__)
  if (strcmp(t->isa, "avx512") == 0) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512vnni")) return &nxi_integers_avx512;
    return bytes ? &nxi_integers_vnni_bytes : &nxi_integers_vnni;
  }
  if (strcmp(t->isa, "avx2") == 0) return &nxi_integers_avx2;
#endif
  (void)t, (void)bytes;
  return &nxi_integers_generic;
}

static void describe(matrix *m, const nxg_array *a, bool across_first) {
  int64_t stride = 1;
  m->dtype = a->dtype;
  m->across = across_first ? a->shape[a->rank - 1] : 1;
  m->along = across_first ? 1 : a->shape[a->rank - 1];
  for (int32_t i = a->rank; i-- > 0; stride *= a->shape[i])
    if (i < a->rank - 2) m->batch[i] = a->shape[i] == 1 ? 0 : stride;
}

/* Elements of the inner extent that are packed together. */
static int64_t depth_of(const product *p) { return DEPTH_BYTES / p->kernels->size; }

static void cut(product *p) {
  const int64_t rows = ceil_div(p->m, TILE_ROWS) * p->batches;
  p->columns = rows * ceil_div(p->n, TILE_COLUMNS) < FEW_TILES ? FEW_COLUMNS : TILE_COLUMNS;
  p->row_tiles = ceil_div(p->m, TILE_ROWS);
  p->column_tiles = ceil_div(p->n, p->columns);
}

static void lay_out(product *p, nxg_call_work *work) {
  const nxi_integers_kernels *f = p->kernels;
  const int64_t depth = whole(least(p->k, depth_of(p)), f->group) * f->size,
                rows = whole(least(p->m, TILE_ROWS), f->rows),
                columns = whole(least(p->n, p->columns), f->columns);
  p->packed_rows = whole(rows * depth, 64);
  p->packed_columns = whole(columns * depth, 64);
  p->row_terms = whole(rows * (int64_t)sizeof(int32_t), 64);
  work->own_bytes =
      p->packed_rows + p->packed_columns + p->row_terms + columns * (int64_t)sizeof(int32_t);
}

nx_status nxi_integers_prepare(const nxg_call *call, const nxi_target *target, nxg_call_work *work,
                               nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *b = &call->operands[1], *c = &call->results[0];
  product *p = nxi_calloc(1, sizeof *p);
  if (!p) return nxi_oom(d);
  p->kernels = kernels_for(target, a->dtype != NX_I16 && b->dtype != NX_I16);
  p->batch_rank = c->rank - 2;
  p->batches = 1;
  for (int32_t i = 0; i < p->batch_rank; i++) {
    p->batch_shape[i] = c->shape[i];
    p->batches *= c->shape[i];
  }
  p->m = c->shape[c->rank - 2];
  p->n = c->shape[c->rank - 1];
  p->k = a->shape[a->rank - (call->attrs[0] & 1 ? 2 : 1)];
  describe(&p->a, a, !(call->attrs[0] & 1));
  describe(&p->b, b, call->attrs[0] & 2);
  cut(p);
  lay_out(p, work);
  const double multiplications =
      (double)least(p->m, TILE_ROWS) * (double)least(p->n, p->columns) * (double)(p->k + 1);
  work->n_phases = 1;
  work->tasks[0] = p->batches * p->row_tiles * p->column_tiles;
  work->grain[0] = 1 + (int64_t)(TASK_WORK / (multiplications + 1));
  work->cost = (double)p->batches * (double)p->m * (double)p->n * (double)p->k / 8;
  work->state = p;
  return NX_OK;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  return nxi_integers_prepare(call, nxi_target_host(), work, d);
}

/* ---- running */

typedef struct tile {
  const char *a, *b; /* of the product: their first elements */
  int32_t *c;
  int64_t row, column, rows, columns;
} tile;

/* A thread's memory. */
typedef struct room {
  char *rows, *columns;
  int32_t *row_terms, *column_terms;
} room;

static tile tile_of(const product *p, const nxg_call_part *part, int64_t task) {
  const int64_t column = task % p->column_tiles, row = task / p->column_tiles % p->row_tiles;
  int64_t batch = task / p->column_tiles / p->row_tiles, at[2] = {0, 0};
  tile t = {.row = row * TILE_ROWS, .column = column * p->columns};
  t.c = (int32_t *)part->results[0] + (batch * p->m + t.row) * p->n + t.column;
  for (int32_t i = p->batch_rank; i-- > 0; batch /= p->batch_shape[i]) {
    at[0] += batch % p->batch_shape[i] * p->a.batch[i];
    at[1] += batch % p->batch_shape[i] * p->b.batch[i];
  }
  t.a = (const char *)part->operands[0] + at[0] * nxi_dtype_size(p->a.dtype);
  t.b = (const char *)part->operands[1] + at[1] * nxi_dtype_size(p->b.dtype);
  t.rows = least(TILE_ROWS, p->m - t.row);
  t.columns = least(p->columns, p->n - t.column);
  return t;
}

/* An operand whose other one has that type, to be packed; its place is not set. */
static nxi_integers_source source_of(const matrix *x, nx_dtype other, int64_t depth) {
  return (nxi_integers_source){.dtype = x->dtype,
                               .across = x->across,
                               .along = x->along,
                               .depth = depth,
                               .other_has_sign = other != NX_U8};
}

/* Packs the elements begin .. of the inner extent of an operand, panel by panel. */
static void pack_rows(const product *p, const tile *t, int64_t begin, int64_t depth,
                      const room *own) {
  const nxi_integers_kernels *f = p->kernels;
  const int64_t bytes = whole(depth, f->group) * f->size;
  nxi_integers_source s = source_of(&p->a, p->b.dtype, depth);
  for (int64_t i = 0; i < t->rows; i += f->rows) {
    const int64_t at = (t->row + i) * s.across + begin * s.along;
    s.base = t->a + at * nxi_dtype_size(s.dtype);
    s.width = least(f->rows, t->rows - i);
    f->pack_rows(&s, own->rows + i * bytes, own->row_terms + i);
  }
}

static void pack_columns(const product *p, const tile *t, int64_t begin, int64_t depth,
                         const room *own) {
  const nxi_integers_kernels *f = p->kernels;
  const int64_t bytes = whole(depth, f->group) * f->size;
  nxi_integers_source s = source_of(&p->b, p->a.dtype, depth);
  for (int64_t j = 0; j < t->columns; j += f->columns) {
    const int64_t at = (t->column + j) * s.across + begin * s.along;
    s.base = t->b + at * nxi_dtype_size(s.dtype);
    s.width = least(f->columns, t->columns - j);
    f->pack_columns(&s, own->columns + j * bytes, own->column_terms + j);
  }
}

/* Multiplies a panel by a panel of which less than all is there. */
static void multiply_edge(const nxi_integers_kernels *f, int64_t groups, const void *a,
                          const void *b, const int32_t *row_terms, const int32_t *column_terms,
                          bool add, int32_t *c, int64_t ld, int64_t rows, int64_t columns) {
  int32_t all[NXI_INTEGERS_ROWS * NXI_INTEGERS_COLUMNS];
  f->multiply(groups, a, b, row_terms, column_terms, false, all, f->columns);
  for (int64_t i = 0; i < rows; i++) {
    const uint32_t *from = (const uint32_t *)all + i * f->columns;
    uint32_t *to = (uint32_t *)c + i * ld;
    for (int64_t j = 0; j < columns; j++) to[j] = add ? to[j] + from[j] : from[j];
  }
}

static void multiply(const product *p, const tile *t, int64_t depth, bool add, const room *own) {
  const nxi_integers_kernels *f = p->kernels;
  const int64_t groups = ceil_div(depth, f->group), bytes = groups * f->group * f->size;
  for (int64_t j = 0; j < t->columns; j += f->columns)
    for (int64_t i = 0; i < t->rows; i += f->rows) {
      const char *a = own->rows + i * bytes, *b = own->columns + j * bytes;
      const int64_t rows = least(f->rows, t->rows - i), columns = least(f->columns, t->columns - j);
      int32_t *c = t->c + i * p->n + j;
      if (rows == f->rows && columns == f->columns)
        f->multiply(groups, a, b, own->row_terms + i, own->column_terms + j, add, c, p->n);
      else
        multiply_edge(f, groups, a, b, own->row_terms + i, own->column_terms + j, add, c, p->n,
                      rows, columns);
    }
}

/* Tiles beside each other have the same rows, which stay packed if all of them fit. */
static nx_status run(nxg_call_part *part) {
  const product *p = part->state;
  room own = {.rows = part->own};
  own.columns = own.rows + p->packed_rows;
  own.row_terms = (int32_t *)(void *)(own.columns + p->packed_columns);
  own.column_terms = own.row_terms + p->row_terms / (int64_t)sizeof(int32_t);
  const int64_t deep = depth_of(p);
  tile before = {.a = NULL};
  for (int64_t task = part->begin; task < part->end; task++) {
    const tile t = tile_of(p, part, task);
    const bool same_rows =
        task > part->begin && p->k <= deep && t.a == before.a && t.row == before.row;
    int64_t begin = 0;
    before = t;
    do {
      if (part->stopped(part->user)) return NX_OK;
      const int64_t depth = least(deep, p->k - begin);
      if (!same_rows) pack_rows(p, &t, begin, depth, &own);
      pack_columns(p, &t, begin, depth, &own);
      multiply(p, &t, depth, begin > 0, &own);
      begin += deep;
    } while (begin < p->k);
  }
  return NX_OK;
}

static void release(void *state) { nxi_free(state); }

const nxg_functions nxi_matmul_i32_functions = {prepare, run, release};
