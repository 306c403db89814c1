/* SPDX-License-Identifier: ISC */
/* The innermost loops of products of f32 and f64, one set for each instruction set and type. A
 * kernel makes a block of some rows and some vectors of columns of C in registers: the elements of
 * a row of B are beside each other and those of A are spread to all lanes, so each element of C is
 * a chain of fma over the inner extent in order. Which block it is in, its width and whether
 * operands were packed change no bit; all sets give the same. */
#ifndef NXI_FLOATS_KERNELS_H
#define NXI_FLOATS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum {
  NXI_FLOATS_CLASSES = 6, /* of blocks by rows: 1, 2, 3, 4, 6, 8 */
  NXI_FLOATS_VECTORS = 3, /* most vectors of a block */
  NXI_FLOATS_WIDE = 4,    /* the same of blocks of fewer rows, where there are registers for it: */
  NXI_FLOATS_WIDE_ROWS = 6, /* each vector of B is multiplied less often, but fewer are loaded */
  NXI_FLOATS_ELIMINATED = 8,
  NXI_FLOATS_ROOTED = 8,
  NXI_FLOATS_REFLECTED = 128,
  NXI_FLOATS_BOTH = 16,
};

/* What a kernel does with C: a chain of fma that begins at +0 is written, or added to C, or one
 * that C has begun goes on. */
typedef enum nxi_floats_end { NXI_FLOATS_WRITE, NXI_FLOATS_ADD, NXI_FLOATS_GO_ON } nxi_floats_end;

/* What a kernel multiplies: a block of C, and `more` ones below it with the same columns. Strides
 * count elements. */
typedef struct nxi_floats_block {
  int64_t depth; /* the inner extent, 1 at least */
  const void *a;
  int64_t across, along; /* of a: from row to row, and along the inner extent */
  const void *b;
  int64_t b_ld; /* from one element of the inner extent to the next */
  /* or where each of them is in b; NULL: b_ld apart */
  const int32_t *b_at;
  void *c;
  int64_t c_ld;
  int64_t last;         /* lanes of the last vector that there are */
  int64_t more, a_next; /* from the A of a block to that of the next one */
  /* for a kernel that copies: where the rows of B go, one behind the other in whole vectors, and
   * how many bytes ahead of what is read the source is fetched */
  void *copy;
  int64_t ahead;
  nxi_floats_end end;
} nxi_floats_block;

typedef void (*nxi_floats_kernel)(const nxi_floats_block *block);

/* Rows of a triangular system in place, and so many columns: c holds the right side, from which
 * products with earlier rows may have been subtracted. Each element goes on with its chain of fma,
 * over the rows of the block that are known, and is then multiplied by its row's number or, where
 * `divides` has the row's bit, divided: numbers of the other sign, as known rows are negated. */
typedef struct nxi_floats_triangle_block {
  int64_t rows; /* 1 to that of the kernels */
  bool forward; /* the first row comes first */
  uint32_t divides;
  const void *a; /* strides as of a product */
  int64_t across, along;
  const void *by; /* a number for each row */
  void *c;
  int64_t c_ld, columns;
} nxi_floats_triangle_block;

/* Rows of which multiples of each are subtracted from those below, so that these have a zero in its
 * column of the largest magnitude, the first of several; columns are exchanged for it. */
typedef struct nxi_floats_elimination {
  int64_t rows, columns; /* NXI_FLOATS_ELIMINATED at most, and as many columns at least */
  void *a;
  int64_t ld;
  int32_t *pivots; /* for each row: which column was exchanged with the one of its number */
} nxi_floats_elimination;

/* Both products of a matrix that is stored by columns and is read once: above += a beside_x and
 * beside += a^T above_x. `above` has its rows, a multiple of NXI_FLOATS_BOTH; `beside` has its
 * columns. Bits depend on the lanes of a vector. */
typedef struct nxi_floats_both {
  int64_t rows, columns;
  const void *a;
  int64_t ld;
  const void *above_x, *beside_x;
  void *above, *beside;
} nxi_floats_both;

/* The lower triangle of a symmetric matrix, which becomes its Cholesky factor L. An element is a
 * chain of fma from that of the matrix on, -L[i][k] L[j][k] added for each k in order, times 1 /
 * L[j][j] (rounded), or its square root on the diagonal. */
typedef struct nxi_floats_root {
  int64_t rows; /* NXI_FLOATS_ROOTED at most */
  void *a;
  int64_t ld;
} nxi_floats_root;

/* A symmetric matrix of finite numbers, of which both triangles are given; `ld` is a multiple of
 * the lanes. It becomes tridiagonal as LAPACK's sytrd does it for an upper triangle by
 * columns, whose results these are: reflections in the rows of the lower triangle. Bits depend on
 * the lanes of a vector. */
typedef struct nxi_floats_tridiagonal {
  int64_t n; /* NXI_FLOATS_REFLECTED at most */
  void *a;
  int64_t ld;
  void *diagonal, *beside, *tau;
} nxi_floats_tridiagonal;

/* A matrix that becomes the upper triangle R of A = Q R by reflections, of which Q is made; lds are
 * multiples of the lanes, and what is behind rows has to be finite. Bits depend on the lanes. */
typedef struct nxi_floats_triangular {
  int64_t rows, columns; /* NXI_FLOATS_REFLECTED at most */
  void *a;
  int64_t ld;
  void *v, *tau; /* vectors of reflections, one behind the other, and numbers */
  int64_t v_ld;
} nxi_floats_triangular;

/* A matrix that becomes a Hessenberg one, A = Q H Q^T, by reflections of rows and columns low ..
 * high - 1; others are so already. It is stored by columns of whole vectors, with finite numbers
 * behind its rows. Bits depend on the lanes. */
typedef struct nxi_floats_hessenberg {
  int64_t n, low, high; /* n: NXI_FLOATS_REFLECTED at most */
  void *a;
  int64_t ld;
  /* vectors of reflections, each from its 1 on, which is in the row behind the diagonal, and n
   * numbers; v_ld is a vector more than whole vectors of n */
  void *v, *tau;
  int64_t v_ld;
} nxi_floats_hessenberg;

/* Rotations of rows that follow one another, `step` elements apart: row i becomes c row i + s row i
 * + 1, and that c row i + 1 - s row i, of which the next rotation is; the last one changes its sign
 * if so asked. */
typedef struct nxi_floats_turn {
  int64_t count; /* of rotations */
  void *row;     /* the first one */
  int64_t step;
  bool negative;
  const double *c, *s;   /* the squares of c, with its sign, and of s */
  void *cosines, *sines; /* room for as many, and a vector more */
} nxi_floats_turn;

/* Products of a matrix that is stored by columns and is read from memory once: products = a^T x,
 * by -= scale products, y += a by. Bits depend on the lanes of a vector. */
typedef struct nxi_floats_pass {
  int64_t rows, columns;
  const void *a;
  int64_t ld;
  const void *x, *scale;
  void *products, *by, *y;
} nxi_floats_pass;

/* Lines one behind the other, of `n` numbers each: those begin .. end - 1 of line i are taken from
 * from + i from_next on, `step` apart, of which number 0 need not exist; others become zeros. What
 * lies `ahead` bytes behind those is fetched. */
typedef struct nxi_floats_lines {
  const void *from;
  int64_t step, from_next, ahead;
  int64_t n, begin, end, count;
  void *to;
} nxi_floats_lines;

/* Numbers from .. from + n - 1 of each row of a block, which go to number `to` of a row of C. */
typedef struct nxi_floats_piece {
  int64_t from, n, to;
} nxi_floats_piece;

/* Rows of sums, of which C has some pieces: they are written, or added to it. */
typedef struct nxi_floats_pieces {
  const void *sums;
  int64_t ld, rows;
  void *c;
  int64_t c_ld;
  bool add;
  const nxi_floats_piece *piece;
  int64_t count;
} nxi_floats_pieces;

/* Blocks of so many rows, and 1 + j vectors; NULL: there are none. */
typedef struct nxi_floats_class {
  int32_t rows; /* 0: no more classes */
  nxi_floats_kernel multiply[NXI_FLOATS_WIDE];
} nxi_floats_class;

typedef struct nxi_floats_kernels {
  int32_t rows, lanes, size; /* most rows of a block; of a vector; bytes of a number */
  int32_t vectors;           /* most of a block, perhaps of fewer rows */
  nxi_floats_class classes[NXI_FLOATS_CLASSES]; /* by rows */
  nxi_floats_kernel copies[NXI_FLOATS_VECTORS]; /* blocks of most rows that also copy B */
  /* Writes `width` columns of `depth` elements each, `ld` apart, as rows of `width`. */
  void (*transpose)(const void *from, int64_t ld, int64_t width, int64_t depth, void *to);
  void (*lines)(const nxi_floats_lines *lines);
  void (*pieces)(const nxi_floats_pieces *pieces);
  void (*triangle)(const nxi_floats_triangle_block *block);
  /* to = -from, also in place. */
  void (*negate)(int64_t rows, int64_t columns, const void *from, int64_t from_ld, void *to,
                 int64_t to_ld);
  void (*eliminate)(const nxi_floats_elimination *elimination);
  void (*both)(const nxi_floats_both *both);
  /* 0, or the number of the first row, from 1, whose diagonal would be no positive number. */
  int32_t (*root)(const nxi_floats_root *root);
  void (*tridiagonal)(const nxi_floats_tridiagonal *t);
  /* Multiplies `columns` columns of a matrix of as many rows by the product of its reflections; ld
   * is a multiple of the lanes. */
  void (*reflected)(const nxi_floats_tridiagonal *t, int64_t columns, void *q, int64_t ld);
  void (*triangular)(const nxi_floats_triangular *t);
  /* Writes `columns` columns of Q, of as many rows as A has. */
  void (*orthogonal)(const nxi_floats_triangular *t, int64_t columns, void *q, int64_t ld);
  /* Rotations of t[0], .. t[n - 1], of rows of so many columns: of whole vectors. */
  void (*turn)(const nxi_floats_turn *t, int64_t n, int64_t columns);
  void (*pass)(const nxi_floats_pass *p);
  /* The sums of z^2 / (pole - at) and of its derivative, of the poles first .. end - 1. */
  void (*secular)(const void *z, const void *poles, int64_t first, int64_t end, double at,
                  double *sums);
  void (*hessenberg)(const nxi_floats_hessenberg *t);
  /* Three columns times a reflection I - tau v v^T, and it times three rows, of so many elements
   * each: the numbers are tau, and two of v, which begins with 1. */
  void (*reflect_columns)(int64_t rows, void *columns, int64_t ld, const void *numbers);
  void (*reflect_rows)(int64_t columns, void *rows, int64_t ld, const void *numbers);
} nxi_floats_kernels;

#if defined(__x86_64__)
extern const nxi_floats_kernels nxi_floats_avx2_f32, nxi_floats_avx2_f64, nxi_floats_avx512_f32,
    nxi_floats_avx512_f64;
/* pairs.c: numbers are two of bf16, of which both are steps of a chain */
extern const nxi_floats_kernels nxi_floats_pairs;
#endif

#endif
