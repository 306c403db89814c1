/* SPDX-License-Identifier: ISC */
/* Custom calls: those of the caller's table first, then the LAPACK routines by whose names JAX asks
 * for factorisations on a processor. Of those each gives an info of 0 where the factors are finite,
 * which is all that JAX asks of it. */
#include "record.h"

#include <string.h>

#include "custom.h"
#include "ir/dtype.h"

int64_t nxh_call_option(const nxh_op *op, const char *name, int64_t otherwise) {
  const nxh_attr *config = nxh_get(op, "mhlo.backend_config");
  if (config == NULL || config->kind != NXH_DICT) config = nxh_get(op, "backend_config");
  if (config == NULL || config->kind != NXH_DICT) return otherwise;
  const nxh_attr *a = nxh_find(config->dict.items, config->dict.n, name);
  return a != NULL && (a->kind == NXH_INT || a->kind == NXH_BOOL) ? a->integer : otherwise;
}

/* 0 for each matrix of a batch without NaN, else 1. */
static nx_tensor *info_of(nx_tensor *x, int32_t axes_of_one) {
  int32_t axes[2], rank = nx_rank(x);
  for (int32_t i = 0; i < axes_of_one; i++) axes[i] = rank - axes_of_one + i;
  nx_tensor *bad = nx_isnan(x);
  if (nx_elements(x) > 0) bad = nx_reduce_max(bad, axes, (size_t)axes_of_one, 0);
  else bad = nx_cast(nx_reduce_sum(nx_cast(bad, NX_I32), axes, (size_t)axes_of_one, 0), NX_BOOL);
  return nx_cast(bad, NX_I32);
}

static bool potrf(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *l = nxh_factor(in[0], nxh_call_option(op, "uplo", 'L') == 'L');
  return nxh_set(r, op, 0, l) && nxh_set(r, op, 1, info_of(l, 2));
}

/* LAPACK counts pivots from 1. */
static bool getrf(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *lu, *pivots, *permutation, *info;
  if (nx_lu(in[0], &lu, &pivots, &permutation, &info) != NX_OK) return false;
  nx_tensor *one = nx_full(r->c, r->device, NX_I32, NULL, 0, NX_INTEGER(1));
  return nxh_set(r, op, 0, lu) && nxh_set(r, op, 1, nx_add(pivots, one)) && nxh_set(r, op, 2, info);
}

static bool geqrf(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *packed, *tau;
  return nx_geqrf(in[0], &packed, &tau) == NX_OK && nxh_set(r, op, 0, packed) &&
         nxh_set(r, op, 1, tau);
}

/* Columns that an operand has put in front stay there. */
static bool geqp3(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *out[3];
  nx_scalar fixed;
  int32_t rank = nx_rank(in[0]);
  bool fits = rank >= 2 && nx_rank(in[1]) == rank - 1 && nxi_is_integer(nx_dtype_of(in[1])) &&
              nx_shape(in[1])[rank - 2] == nx_shape(in[0])[rank - 1];
  for (int32_t i = 0; fits && i + 2 < rank; i++) fits = nx_shape(in[1])[i] == nx_shape(in[0])[i];
  if (!fits) return nxh_fail(r, NX_INVALID_ARGUMENT, "there is no number for each column");
  bool known = nxh_constant(r, op->operands[1], &fixed) && fixed.kind == NX_SCALAR_I64;
  if (!known || fixed.v.i != 0)
    return nxh_pivoted(r, in, out) && nxh_set(r, op, 0, out[0]) && nxh_set(r, op, 1, out[2]) &&
           nxh_set(r, op, 2, out[1]);
  if (nx_geqp3(in[0], &out[0], &out[1], &out[2]) != NX_OK) return false;
  nx_tensor *one = nx_full(r->c, r->device, NX_I32, NULL, 0, NX_INTEGER(1));
  return nxh_set(r, op, 0, out[0]) && nxh_set(r, op, 1, nx_add(out[2], one)) &&
         nxh_set(r, op, 2, out[1]);
}

static bool orgqr(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  return nxh_set(r, op, 0, nx_householder_product(in[0], in[1]));
}

static bool ormqr(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  uint32_t flags = nxh_call_option(op, "transpose", 0) ? NX_ADJOINT : 0;
  if (!nxh_call_option(op, "left", 1)) flags |= NX_FROM_RIGHT;
  return nxh_set(r, op, 0, nx_ormqr(in[0], in[1], in[2], flags));
}

/* Results: the operand's place, s, u, vt, info. mode: N without vectors, A square ones. */
static bool gesdd(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *u, *s, *vh;
  int64_t mode = nxh_call_option(op, "mode", 'S');
  uint32_t flags = NX_INPUT_PRECISION | NX_NAN_ON_FAILURE;
  if (mode == 'A') flags |= NX_FULL_MATRICES;
  if (nx_svd(in[0], flags, &u, &s, &vh) != NX_OK) return false;
  nxh_put(r, op->first_result, in[0]);
  bool ok = nxh_set(r, op, 1, s) && nxh_set(r, op, 4, info_of(s, 1));
  if (mode == 'N') { /* of any shape; nobody reads them */
    for (uint32_t i = 2; ok && i < 4; i++) {
      const nxh_type *t = nxh_result_type(r, op, i);
      ok = nxh_set(r, op, i, nx_full(r->c, r->device, t->dtype, t->shape, t->rank, NX_INTEGER(0)));
    }
    return ok;
  }
  return ok && nxh_set(r, op, 2, u) && nxh_set(r, op, 3, vh);
}

/* The lower triangle is read here, as of the adjoint for an upper one. */
static bool syevd(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *values, *vectors;
  nx_tensor *a = nxh_call_option(op, "uplo", 'L') == 'L' ? in[0] : nxh_adjoint(in[0]);
  uint32_t flags = NX_INPUT_PRECISION | NX_NAN_ON_FAILURE;
  return nx_eigh(a, flags, &values, &vectors) == NX_OK && nxh_set(r, op, 0, vectors) &&
         nxh_set(r, op, 1, values) && nxh_set(r, op, 2, info_of(values, 1));
}

/* Of a real matrix: real and imaginary parts of the values, left and right vectors, info; of a
 * complex one the values are one result. */
static bool geev(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *w, *left, *right;
  if (nx_eig_left(in[0], NX_NAN_ON_FAILURE, &w, &left, &right) != NX_OK) return false;
  nx_dtype part = nx_dtype_of(in[0]);
  bool real = part == NX_F32 || part == NX_F64;
  nx_dtype type = part == NX_F32 || part == NX_C64 ? NX_C64 : NX_C128;
  const uint32_t at = real ? 2 : 1;
  w = nx_cast(w, type);
  bool ok =
      real ? nxh_set(r, op, 0, nx_real(w)) && nxh_set(r, op, 1, nx_imag(w)) : nxh_set(r, op, 0, w);
  return ok && nxh_set(r, op, at, nx_cast(left, type)) &&
         nxh_set(r, op, at + 1, nx_cast(right, type)) && nxh_set(r, op, at + 2, info_of(w, 1));
}

/* The imaginary parts of the eigenvalues of a real Schur form. A block of it has equal elements on
 * its diagonal, and others of two signs beside it. */
static nx_tensor *imaginary_parts(nx_tensor *t) {
  int32_t rank = nx_rank(t);
  int64_t before[NX_MAX_RANK] = {0}, after[NX_MAX_RANK] = {0};
  nx_tensor *diagonal = nx_diagonal(t, 0, -2, -1);
  if (nx_elements(t) == 0) return diagonal;
  nx_tensor *below = nx_diagonal(t, -1, -2, -1), *above = nx_diagonal(t, 1, -2, -1);
  nx_tensor *size = nx_mul(nx_sqrt(nx_abs(below)), nx_sqrt(nx_abs(above)));
  after[rank - 2] = before[rank - 2] = 1;
  const int64_t none[NX_MAX_RANK] = {0};
  size_t n = (size_t)rank - 1;
  return nx_sub(nx_pad(size, none, after, n, NX_NUMBER(0)),
                nx_pad(size, before, none, n, NX_NUMBER(0)));
}

/* Results: the Schur form, its vectors, the values (of a real matrix in two parts), how many values
 * were sorted to the front, info. */
static bool gees(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *t, *z;
  nx_dtype type = nx_dtype_of(in[0]);
  if (nxh_call_option(op, "sort", 'N') != 'N')
    return nxh_fail(r, NX_INVALID_ARGUMENT, "gees does not sort values");
  if (nx_schur(in[0], NX_NAN_ON_FAILURE, &t, &z) != NX_OK) return false;
  uint32_t n = 2;
  bool ok = nxh_set(r, op, 0, t) && nxh_set(r, op, 1, z) &&
            nxh_set(r, op, n++, nx_diagonal(t, 0, -2, -1));
  if (type == NX_F32 || type == NX_F64) ok = ok && nxh_set(r, op, n++, imaginary_parts(t));
  nx_tensor *info = info_of(t, 2);
  return ok && nxh_set(r, op, n, nx_sub(info, info)) && nxh_set(r, op, n + 1, info);
}

static bool trsm(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  uint32_t flags = NX_NAN_ON_FAILURE;
  int64_t turned = nxh_call_option(op, "trans_x", 'N');
  if (nxh_call_option(op, "side", 'L') == 'R') flags |= NX_FROM_RIGHT;
  if (nxh_call_option(op, "uplo", 'L') == 'U') flags |= NX_UPPER;
  if (nxh_call_option(op, "diag", 'N') == 'U') flags |= NX_UNIT_DIAGONAL;
  if (turned != 'N') flags |= turned == 'C' ? NX_ADJOINT : NX_TRANSPOSED;
  return nxh_set(r, op, 0, nx_triangular_solve(in[0], in[1], flags));
}

static bool gehrd(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *packed, *tau;
  return nx_gehrd(in[0], &packed, &tau) == NX_OK && nxh_set(r, op, 0, packed) &&
         nxh_set(r, op, 1, tau) && nxh_set(r, op, 2, info_of(packed, 2));
}

static bool sytrd(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *packed, *diagonal, *beside, *tau;
  uint32_t flags = nxh_call_option(op, "uplo", 'L') == 'L' ? NX_LOWER : NX_UPPER;
  return nx_sytrd(in[0], flags, &packed, &diagonal, &beside, &tau) == NX_OK &&
         nxh_set(r, op, 0, packed) && nxh_set(r, op, 1, diagonal) && nxh_set(r, op, 2, beside) &&
         nxh_set(r, op, 3, tau) && nxh_set(r, op, 4, info_of(packed, 2));
}

/* The operands' places come first among the results. */
static bool gtsv(nxh_recorder *r, const nxh_op *op, nx_tensor *const *in) {
  nx_tensor *x = nx_tridiagonal_solve(in[0], in[1], in[2], in[3], NX_NAN_ON_FAILURE);
  for (uint32_t i = 0; i < 3; i++) nxh_put(r, op->first_result + i, in[i]);
  return nxh_set(r, op, 3, x) && nxh_set(r, op, 4, info_of(x, 2));
}

/* Of systems that may be singular. */
static bool perturbed_solve(nxh_recorder *r, const nxh_op *op) {
  nx_tensor *in[4];
  if (op->n_operands != 4)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands, not 4", op->n_operands);
  for (uint32_t i = 0; i < 4; i++)
    if ((in[i] = nxh_in(r, op, i)) == NULL) return false;
  int32_t rank = nx_rank(in[0]);
  bool fits = rank >= 1 && nx_rank(in[3]) == rank + 1 && nxh_has_shape(in[0], in[1]) &&
              nxh_has_shape(in[0], in[2]);
  for (int32_t i = 0; fits && i < rank; i++) fits = nx_shape(in[0])[i] == nx_shape(in[3])[i];
  for (int i = 0; fits && i < 4; i++) fits = nx_dtype_of(in[i]) == nx_dtype_of(in[0]);
  nx_dtype type = nx_dtype_of(in[0]);
  fits = fits && (type == NX_F32 || type == NX_F64 || type == NX_C64 || type == NX_C128);
  if (!fits) return nxh_fail(r, NX_INVALID_ARGUMENT, "operands are no tridiagonal systems");
  return nxh_set(r, op, 0, nxh_tridiagonal_perturbed(r, in));
}

/* A routine's name without lapack_, the letter of its type, and _ffi. */
static const struct {
  const char *name;
  bool (*record)(nxh_recorder *, const nxh_op *, nx_tensor *const *);
  uint32_t operands, results;
} routines[] = {
    {"potrf", potrf, 1, 2}, {"getrf", getrf, 1, 3}, {"geqrf", geqrf, 1, 2}, {"orgqr", orgqr, 2, 1},
    {"ungqr", orgqr, 2, 1}, {"ormqr", ormqr, 3, 1}, {"unmqr", ormqr, 3, 1}, {"gesdd", gesdd, 1, 5},
    {"gesvd", gesdd, 1, 5}, {"syevd", syevd, 1, 3}, {"heevd", syevd, 1, 3}, {"geev", geev, 1, 4},
    {"trsm", trsm, 2, 1},   {"gehrd", gehrd, 1, 3}, {"sytrd", sytrd, 1, 5}, {"hetrd", sytrd, 1, 5},
    {"gtsv", gtsv, 4, 5},   {"geqp3", geqp3, 2, 3}, {"gees", gees, 1, 5},
};

static bool lapack_name(nxh_word target, nxh_word *name) {
  static const char before[] = "lapack_", after[] = "_ffi";
  size_t n = sizeof before - 1, m = sizeof after - 1;
  if (target.length < n + m + 2 || memcmp(target.at, before, n) != 0 ||
      memcmp(target.at + target.length - m, after, m) != 0)
    return false;
  *name = (nxh_word){target.at + n + 1, (uint32_t)(target.length - n - m - 1)};
  return true;
}

static bool record_lapack(nxh_recorder *r, const nxh_op *op, nxh_word name) {
  nx_tensor *in[4];
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
    if (!nxh_word_is(name, routines[i].name)) continue;
    if (op->n_operands < routines[i].operands || op->n_results < routines[i].results)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands,
                      op->n_results);
    for (uint32_t k = 0; k < routines[i].operands; k++)
      if ((in[k] = nxh_in(r, op, k)) == NULL) return false;
    return routines[i].record(r, op, in);
  }
  return nxh_fail(r, NX_INVALID_ARGUMENT, "the routine %.*s is not supported", (int)name.length,
                  name.at);
}

/* Calls that say where work belongs. */
static bool is_annotation(nxh_word target) {
  return nxh_word_is(target, "Sharding") || nxh_word_is(target, "annotate_device_placement");
}

/* Calls that keep operands from being left out, or say in which order they are computed. */
static bool says_when(nxh_word target) {
  return nxh_word_is(target, "dce_sink") || nxh_word_is(target, "control_dep");
}

bool nxh_custom_call(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nxh_word target = nxh_name(op, "call_target_name"), name;
  bool ok;
  if (nxh_call_of_table(r, op, target, &ok) || nxh_dynamic_call(r, op, target, &ok)) return ok;
  if (nxh_word_is(target, "LayoutConstraint")) return nxh_constrain(r, op, row);
  if (is_annotation(target)) return nxh_identity(r, op, row);
  bool into = nxh_word_is(target, "SPMDFullToShardShape");
  if (into || nxh_word_is(target, "SPMDShardToFullShape")) return nxh_manual_edge(r, op, into);
  if (op->n_results == 0 && says_when(target)) return true;
  if (nxh_word_is(target, "ApproxTopK")) return nxh_approx_top_k(r, op);
  if (nxh_word_is(target, "tridiagonal_solve_perturbed_ffi")) return perturbed_solve(r, op);
  if (nxh_word_is(target, "cpu_csr_sparse_dense_ffi")) return nxh_sparse_product(r, op);
  if (lapack_name(target, &name)) return record_lapack(r, op, name);
  return nxh_fail(r, NX_INVALID_ARGUMENT, "the custom call %.*s is not known", (int)target.length,
                  target.at);
}
