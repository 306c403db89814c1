/* SPDX-License-Identifier: ISC */
/* The matrix: how a cell is marked, and how all of them are printed. */
#ifndef NXT_MATRIX_H
#define NXT_MATRIX_H

#include <stdio.h>

#include "conformance.h"

/* Cells of row r: matrix[r * FORMATS ..], rows counted through all families. */
size_t count_rows(void);
size_t count_marks(const cell *matrix, mark m);
/* For a person: the matrix, and each fault. False if there is one. */
bool print_matrix(FILE *to, const cell *matrix, bool verbose);
/* Values of the references, to be compared with those of others. */
void print_references(FILE *to);
void print_markdown(FILE *to, const cell *matrix);

#endif
