/* SPDX-License-Identifier: ISC */
/* What custom calls need of other files. */
#ifndef NXH_CUSTOM_H
#define NXH_CUSTOM_H

#include "record.h"

/* Whether the caller's table has a row of that name; if so, it is recorded, and *ok is whether that
 * went well. */
bool nxh_call_of_table(nxh_recorder *r, const nxh_op *op, nxh_word target, bool *ok);
/* Whether it is a call with a side effect that the table has a row of, or an exchange. */
bool nxh_is_effect(nxh_recorder *r, const nxh_op *op);
/* The attribute of a call in its backend_config, a character of LAPACK's or a number. */
int64_t nxh_call_option(const nxh_op *op, const char *name, int64_t otherwise);
/* ops_linalg.c: the conjugate transpose; a factor by Cholesky, of one triangle. */
nx_tensor *nxh_adjoint(nx_tensor *x);
nx_tensor *nxh_factor(nx_tensor *a, bool lower);
/* ops_pivots.c: geqp3 of matrices (.., m, n) and numbers (.., n), other than 0 of columns that are
 * put in front: packed, tau, and the order, from 1. */
bool nxh_pivoted(nxh_recorder *r, nx_tensor *const *in, nx_tensor **out);
/* ops_tridiagonal.c: of three diagonals (.., m) and right sides (.., m, k) of one type. */
nx_tensor *nxh_tridiagonal_perturbed(nxh_recorder *r, nx_tensor *const *in);
/* ops_sparse.c */
bool nxh_sparse_product(nxh_recorder *r, const nxh_op *op);

#endif
