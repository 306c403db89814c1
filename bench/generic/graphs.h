/* SPDX-License-Identifier: ISC */
/* The graphs of which nx-bench-generic compares generic and special code. */
#ifndef NX_BENCH_GENERIC_GRAPHS_H
#define NX_BENCH_GENERIC_GRAPHS_H

#include "../bench.h"

enum { GENERIC_OPERANDS = 2 };
/* What an operand is of a matrix of m rows of n columns. */
typedef enum generic_operand {
  GENERIC_NONE,
  GENERIC_MATRIX,  /* m x n */
  GENERIC_TURNED,  /* n x m */
  GENERIC_ROW,     /* n */
  GENERIC_COLUMN,  /* m x 1 */
  GENERIC_ROWS_AT, /* numbers of rows, i32, m x 1 */
  GENERIC_AT       /* numbers of elements, i32, m * n */
} generic_operand;
/* Types that a graph is for. */
enum { GENERIC_FLOATS = 1, GENERIC_ALL = 3 };

typedef struct generic_graph {
  const char *name;
  bench_expression *record;
  generic_operand operands[GENERIC_OPERANDS];
  int types;
} generic_graph;
extern const generic_graph generic_graphs[];
extern const size_t n_generic_graphs;

#endif
