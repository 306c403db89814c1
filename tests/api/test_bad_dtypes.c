/* SPDX-License-Identifier: ISC */
/* Every entry point with every element type in every operand. One rule holds for all of them
 * (contract.md, section 4): a type that the operand may not have is NX_UNSUPPORTED_DTYPE; types
 * that it may have but that do not go together, and numbers of which there is no type, are
 * NX_INVALID_ARGUMENT. */
#include "tests/util/api.h"
#include "tests/util/type_sets.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
enum { INDEX = TYPE(NX_I32) | TYPE(NX_I64), WORD = TYPE(NX_I32) | TYPE(NX_U32) };
enum { TYPES = 24 };
static nx_dtype type_number(int i) { return (nx_dtype)(NX_BOOL + i); }

static nx_tensor *square_of(nx_dtype t) {
  return GOOD(nx_full(ctx, 0, t, NX_SHAPE(2, 2), NX_INTEGER(1)));
}

/* ---- one operand of the type, all others as they should be */

static const int64_t one[2] = {1, 1}, none[2] = {0, 0}, two = 2;
static const nx_convolution_options plain = {.size = sizeof plain};
static const nx_window window = {.size = sizeof window, .n = 1, .kernel = &two};
static nx_tensor *truth, *word, *place, *single; /* of 2 x 2 elements */
static nx_tensor *or_null(nx_status status, nx_tensor *t) { return status == NX_OK ? t : NULL; }

static nx_dtype dtype_of(const nx_tensor *x) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  return info.dtype;
}
static nx_tensor *line_of(nx_dtype t) { return GOOD(nx_full(ctx, 0, t, &two, 1, NX_INTEGER(1))); }

#define AS(name, expression) \
  static nx_tensor *name(nx_tensor *x) { return expression; }
AS(expand, nx_expand(x, NX_SHAPE(2, 2, 2)))
AS(reshape, nx_reshape(x, NX_SHAPE(4), 0))
AS(permute, nx_permute(x, NX_AXES(1, 0)))
AS(shrink, nx_shrink(x, none, one, 2))
AS(flip, nx_flip(x, NX_AXES(0)))
AS(slice, nx_slice(x, none, one, one, 2))
AS(as_strided, nx_as_strided(x, one, one, 1, 0))
AS(pad, nx_pad(x, one, one, 2, NX_INTEGER(0)))
AS(cat, nx_cat((nx_tensor *[]){x, x}, 2, 0))
AS(to_device, nx_to_device(x, 1))
AS(get, nx_get(x, NULL, 0))
AS(cast, nx_cast(x, NX_F32))
AS(bitcast, nx_bitcast(x, dtype_of(x)))
AS(reduce_precision, nx_reduce_precision(x, 5, 2))
AS(bitcast_convert, nx_bitcast_convert(x, NX_U4))
AS(condition, nx_where(x, word, word))
AS(choice, nx_where(truth, x, x))
AS(sum, nx_reduce_sum(x, NX_AXES(0), 0))
AS(product, nx_reduce_prod(x, NX_AXES(0), 0))
AS(highest, nx_reduce_max(x, NX_AXES(0), 0))
AS(lowest, nx_reduce_min(x, NX_AXES(0), 0))
AS(argmax, nx_reduce_argmax(x, 0, 0, NX_I32))
AS(argmin, nx_reduce_argmin(x, 0, 0, NX_I32))
AS(sort, nx_sort(x, 0, 0))
AS(argsort, nx_argsort(x, 0, NX_DESCENDING, NX_I32))
AS(total_order, nx_total_order(x))
AS(top_k, or_null(nx_top_k(x, 1, 0, 0, NX_I32, NULL, NULL), x))
AS(threefry, nx_threefry(x, x))
AS(data, nx_gather(x, place, 0))
AS(indices, nx_gather(word, x, 0))
AS(set_at, nx_scatter(x, place, x, 0, NX_SCATTER_SET, 0))
AS(add_at, nx_scatter(x, place, x, 0, NX_SCATTER_ADD, 0))
AS(set_where, nx_scatter(word, x, word, 0, NX_SCATTER_SET, 0))
AS(sum_from,
   nx_reduce_with_initial(x, NX_SCAN_SUM, nx_full(ctx, 0, dtype_of(x), NULL, 0, NX_INTEGER(1)),
                          NX_AXES(0), 0))
AS(scan_sum, nx_associative_scan(x, NX_SCAN_SUM, 0))
AS(scan_prod, nx_associative_scan(x, NX_SCAN_PROD, 0))
AS(scan_max, nx_associative_scan(x, NX_SCAN_MAX, 0))
AS(scan_min, nx_associative_scan(x, NX_SCAN_MIN, 0))
AS(true_indices, nx_true_indices(x, 3))
AS(one_hot, nx_one_hot(x, 3, NX_F32))
AS(unfold, nx_unfold(x, &window))
AS(fold, nx_fold(x, (int64_t[]){3}, 1, &window))
AS(convolution, nx_convolution(x, x, &plain))
AS(pad_between, nx_pad_between(x, (int64_t[]){0, 1}, (int64_t[]){0, 0}, NULL, 2, NX_INTEGER(0)))
AS(key_of_rand,
   nx_rand(GOOD(nx_reshape(nx_shrink(x, none, (int64_t[]){1, 2}, 2), &two, 1, 0)), NX_F32, NULL, 0))
AS(key_of_randn, nx_randn(GOOD(nx_reshape(nx_shrink(x, none, (int64_t[]){1, 2}, 2), &two, 1, 0)),
                          NX_F32, NULL, 0))
AS(key_of_order,
   nx_permutation(GOOD(nx_reshape(nx_shrink(x, none, (int64_t[]){1, 2}, 2), &two, 1, 0)), 3))
AS(matmul, nx_matmul(x, x))
AS(fft, nx_fft(x, NX_AXES(0)))
AS(ifft, nx_ifft(x, NX_AXES(0)))
AS(rfft, nx_rfft(x, NX_AXES(0)))
AS(irfft, nx_irfft(x, NX_AXES(0), NULL, 0))
AS(cholesky, nx_cholesky(x, NX_LOWER))
AS(inv, nx_inv(x))
AS(det, nx_det(x))
AS(eigvals, nx_eigvals(x))
AS(eigvalsh, nx_eigvalsh(x, 0))
AS(pinv, nx_pinv(x, -1))
AS(lstsq, nx_lstsq(x, x, -1, 0))
AS(solve, nx_solve(x, x, 0))
AS(triangular_solve, nx_triangular_solve(x, x, NX_LOWER))
AS(qr, or_null(nx_qr(x, 0, NULL, NULL), x))
AS(svd, or_null(nx_svd(x, NX_FULL_MATRICES, NULL, NULL, NULL), x))
AS(eig, or_null(nx_eig(x, NULL, NULL), x))
AS(eigh, or_null(nx_eigh(x, 0, NULL, NULL), x))
AS(slogdet, or_null(nx_slogdet(x, NULL, NULL), x))
AS(lu, or_null(nx_lu(x, NULL, NULL, NULL, NULL), x))
AS(geqrf, or_null(nx_geqrf(x, NULL, NULL), x))
AS(geqp3, or_null(nx_geqp3(x, NULL, NULL, NULL), x))
AS(qr_pivoted, or_null(nx_qr_pivoted(x, 0, NULL, NULL, NULL), x))
AS(lstsq_qr, nx_lstsq_qr(x, x, 0))
AS(lu_solve, nx_lu_solve(x, line_of(NX_I32), x, 0))
AS(householder_product, nx_householder_product(x, line_of(dtype_of(x))))
AS(ormqr, nx_ormqr(x, line_of(dtype_of(x)), x, 0))
AS(banded_solve, nx_banded_solve(x, 1, 0, x, 0))
AS(tridiagonal_solve,
   nx_tridiagonal_solve(line_of(dtype_of(x)), line_of(dtype_of(x)), line_of(dtype_of(x)), x, 0))
AS(triangular_inv, nx_triangular_inv(x, 0))
AS(cholesky_update, nx_cholesky_update(x, line_of(dtype_of(x)), 0))
AS(sytrd, or_null(nx_sytrd(x, 0, NULL, NULL, NULL, NULL), x))
AS(gehrd, or_null(nx_gehrd(x, NULL, NULL), x))
AS(hessenberg, or_null(nx_hessenberg(x, NULL, NULL), x))
AS(schur, or_null(nx_schur(x, 0, NULL, NULL), x))
AS(eig_left, or_null(nx_eig_left(x, 0, NULL, NULL, NULL), x))
AS(eigh_generalized, or_null(nx_eigh_generalized(x, x, 1, 0, NULL, NULL), x))
AS(expm, nx_expm(x))
AS(sqrtm, nx_sqrtm(x, 0))
AS(logm, nx_logm(x, 0))
AS(matrix_power, nx_matrix_power(x, 3, 0))
AS(assign, or_null(nx_assign(x, x), x))

static const struct row {
  const char *name;
  nx_tensor *(*call)(nx_tensor *);
  uint32_t admits;
  int32_t operand; /* which one has the type */
} rows[] = {
#define U(name, admits)       {#name, nx_##name, admits, 0}
#define R(name, call, admits) {name, call, admits, 0}
    U(neg, I | F | C),
    U(abs, I | F | C),
    U(sign, I | F | C),
    U(recip, I | F | C),
    U(sqrt, F | C),
    U(exp, F | C),
    U(log, F | C),
    U(sin, F | C),
    U(cos, F | C),
    U(tan, F | C),
    U(asin, F | C),
    U(acos, F | C),
    U(atan, F | C),
    U(sinh, F | C),
    U(cosh, F | C),
    U(tanh, F | C),
    U(erf, F),
    U(erfc, F),
    U(erfinv, F),
    U(lgamma, F),
    U(digamma, F),
    U(i0e, F),
    U(i1e, F),
    U(j0, F),
    U(j1, F),
    U(log1p, F | C),
    U(expm1, F | C),
    U(asinh, F | C),
    U(acosh, F | C),
    U(atanh, F | C),
    U(exp2, F),
    U(log2, F | C),
    U(log10, F | C),
    U(cbrt, F),
    U(rsqrt, F | C),
    U(logistic, F | C),
    U(not, B | I),
    U(popcount, I),
    U(clz, I),
    U(ctz, I),
    U(reverse_bits, I),
    U(signbit, F),
    U(isnan, I | F | C),
    U(isinf, I | F | C),
    U(isfinite, I | F | C),
    U(rint, F),
    U(trunc, I | F),
    U(ceil, I | F),
    U(floor, I | F),
    U(round, I | F),
    U(real, F | C),
    U(imag, F | C),
    U(conj, F | C),
    U(contiguous, ALL),
    U(copy, ALL),
    R("expand", expand, ALL),
    R("reshape", reshape, ALL),
    R("permute", permute, ALL),
    R("shrink", shrink, ALL),
    R("flip", flip, ALL),
    R("slice", slice, ALL),
    R("as_strided", as_strided, ALL),
    R("to_device", to_device, ALL),
    R("get", get, ALL),
    R("cast", cast, ALL),
    R("assign", assign, ALL),
    R("bitcast", bitcast, ALL),
    R("reduce_precision", reduce_precision, F),
    R("bitcast_convert", bitcast_convert, B | I | F | STORED | TYPE(NX_C32) | TYPE(NX_C64)),
    R("pad", pad, ALL),
    R("cat", cat, ALL),
    R("where", condition, B),
    {"where", choice, ALL, 1},
    R("reduce_sum", sum, B | I | F | C),
    R("reduce_prod", product, B | I | F | C),
    R("reduce_max", highest, B | I | F | C),
    R("reduce_min", lowest, B | I | F | C),
    R("reduce_argmax", argmax, B | I | F | C),
    R("reduce_argmin", argmin, B | I | F | C),
    R("sort", sort, B | I | F | C),
    R("total_order", total_order, F),
    R("argsort", argsort, B | I | F | C),
    R("top_k", top_k, I | F | C),
    R("threefry", threefry, WORD),
    R("gather", data, ALL),
    {"gather", indices, INDEX, 1},
    R("scatter", set_at, ALL),
    R("scatter", add_at, B | I | F | C),
    {"scatter", set_where, INDEX, 1},
    R("reduce_with_initial", sum_from, B | I | F | C),
    R("associative_scan", scan_sum, B | I | F | C),
    R("associative_scan", scan_prod, B | I | F | C),
    R("associative_scan", scan_max, B | I | F | C),
    R("associative_scan", scan_min, B | I | F | C),
    R("true_indices", true_indices, B),
    R("one_hot", one_hot, I),
    R("unfold", unfold, ALL),
    R("fold", fold, I | F | C),
    R("convolution", convolution, B | I | F | C),
    R("pad_between", pad_between, ALL),
    R("rand", key_of_rand, WORD),
    R("randn", key_of_randn, WORD),
    R("permutation", key_of_order, WORD),
    R("matmul", matmul, B | I | F | C),
    R("fft", fft, C),
    R("ifft", ifft, C),
    R("rfft", rfft, F),
    R("irfft", irfft, C),
    R("cholesky", cholesky, F | C),
    R("inv", inv, F | C),
    R("det", det, F | C),
    R("eigvals", eigvals, F | C),
    R("eigvalsh", eigvalsh, F | C),
    R("pinv", pinv, F | C),
    R("lstsq", lstsq, F | C),
    R("solve", solve, F | C),
    R("triangular_solve", triangular_solve, F | C),
    R("qr", qr, F | C),
    R("svd", svd, F | C),
    R("eig", eig, F | C),
    R("eigh", eigh, F | C),
    R("slogdet", slogdet, F | C),
    R("lu", lu, F | C),
    R("geqrf", geqrf, F | C),
    R("geqp3", geqp3, F | C),
    R("qr_pivoted", qr_pivoted, F | C),
    R("lstsq_qr", lstsq_qr, F | C),
    R("lu_solve", lu_solve, F | C),
    R("householder_product", householder_product, F | C),
    R("ormqr", ormqr, F | C),
    R("banded_solve", banded_solve, F | C),
    R("tridiagonal_solve", tridiagonal_solve, F | C),
    R("triangular_inv", triangular_inv, F | C),
    R("cholesky_update", cholesky_update, F | C),
    R("sytrd", sytrd, F | C),
    R("gehrd", gehrd, F | C),
    R("hessenberg", hessenberg, F | C),
    R("schur", schur, F | C),
    R("eig_left", eig_left, F | C),
    R("eigh_generalized", eigh_generalized, F | C),
    R("expm", expm, F | C),
    R("sqrtm", sqrtm, F | C),
    R("logm", logm, F | C),
    R("matrix_power", matrix_power, F | C),
};

static void expect(const char *name, const char *type, nx_status status, int32_t operand) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  size_t n = strlen(name);
  bool good = e.status == status && !strcmp(e.op, name) && !strncmp(e.message, name, n) &&
              e.message[n] == ':' && strstr(e.message, type) && e.operand == operand;
  if (!good)
    fail_msg("%s of %s, operand %d: %s of \"%s\", operand %d: %s", name, type, operand,
             nx_status_name(e.status), e.op ? e.op : "", (int)e.operand,
             e.message ? e.message : "");
}

static void make_operands(void) {
  truth = square_of(NX_BOOL);
  word = square_of(NX_I32);
  place = square_of(NX_I64);
  single = square_of(NX_F32);
}

static void each_type(void **state) {
  (void)state;
  make_operands();
  for (size_t r = 0; r < COUNT(rows); r++)
    for (int i = 0; i < TYPES; i++) {
      nx_dtype t = type_number(i);
      nx_tensor *x = square_of(t), *result = rows[r].call(x);
      if (rows[r].admits & TYPE(t)) GOOD(result);
      else assert_null(result);
      if (!result) expect(rows[r].name, nx_dtype_name(t), NX_UNSUPPORTED_DTYPE, rows[r].operand);
    }
}

/* ---- two operands: the second one's type, and both together */

#define OF_TWO(name, expression) \
  static nx_tensor *name(nx_tensor *a, nx_tensor *b) { return expression; }
OF_TWO(where2, nx_where(truth, a, b))
OF_TWO(cat2, nx_cat((nx_tensor *[]){a, b}, 2, 0))
OF_TWO(scatter2, nx_scatter(a, place, b, 0, NX_SCATTER_SET, 0))
OF_TWO(lstsq2, nx_lstsq(a, b, 0, 0))
OF_TWO(solve2, nx_solve(a, b, 0))
OF_TWO(lstsq_qr2, nx_lstsq_qr(a, b, 0))
OF_TWO(lu_solve2, nx_lu_solve(a, line_of(NX_I32), b, 0))
OF_TWO(householder_product2, nx_householder_product(a, line_of(dtype_of(b))))
OF_TWO(ormqr2, nx_ormqr(a, line_of(dtype_of(a)), b, 0))
OF_TWO(banded_solve2, nx_banded_solve(a, 0, 1, b, 0))
OF_TWO(tridiagonal_solve2,
       nx_tridiagonal_solve(line_of(dtype_of(a)), line_of(dtype_of(b)), line_of(dtype_of(a)), a, 0))
OF_TWO(cholesky_update2, nx_cholesky_update(a, line_of(dtype_of(b)), 0))
OF_TWO(eigh_generalized2, or_null(nx_eigh_generalized(a, b, 1, 0, NULL, NULL), a))
OF_TWO(triangular_solve2, nx_triangular_solve(a, b, NX_UPPER))
OF_TWO(assign2, or_null(nx_assign(a, b), a))
OF_TWO(set2, or_null(nx_set(a, NULL, 0, b), a))

static const struct pair {
  const char *name;
  nx_tensor *(*call)(nx_tensor *, nx_tensor *);
  uint32_t admits;
  nx_dtype first;
  int32_t operand; /* the second of the two */
} pairs[] = {
#define P(name, admits) {#name, nx_##name, admits, NX_I32, 1}
#define Q(name, admits) {#name, nx_##name, admits, NX_F32, 1}
    P(add, B | I | F | C),
    P(sub, I | F | C),
    P(mul, B | I | F | C),
    P(div, I | F | C),
    P(mod, I | F),
    P(pow, I | F | C),
    Q(atan2, F),
    P(cmpeq, B | I | F | C),
    P(cmpne, B | I | F | C),
    P(cmplt, B | I | F | C),
    P(cmple, B | I | F | C),
    P(cmpgt, B | I | F | C),
    P(cmpge, B | I | F | C),
    P(max, B | I | F | C),
    P(min, B | I | F | C),
    P(xor, B | I),
    P(or, B | I),
    P(and, B | I),
    P(shl, I),
    P(shr, I),
    P(shr_logical, I),
    P(shr_arithmetic, I),
    P(floor_div, I | F),
    P(floor_mod, I | F),
    Q(hypot, F),
    Q(logaddexp, F),
    Q(zeta, F),
    Q(polygamma, F),
    Q(igamma, F),
    Q(igammac, F),
    Q(igamma_grad_a, F),
    Q(random_gamma_grad, F),
    Q(copysign, F),
    Q(nextafter, F),
    Q(complex, TYPE(NX_F16) | TYPE(NX_F32) | TYPE(NX_F64)),
    P(matmul, B | I | F | C),
    P(threefry, WORD),
    {"solve", solve2, F | C, NX_F32, 1},
    {"where", where2, ALL, NX_F32, 2},
    {"cat", cat2, ALL, NX_F32, 1},
    {"scatter", scatter2, ALL, NX_F32, 2},
    {"lstsq", lstsq2, F | C, NX_F32, 1},
    {"triangular_solve", triangular_solve2, F | C, NX_F32, 1},
    {"lstsq_qr", lstsq_qr2, F | C, NX_F32, 1},
    {"lu_solve", lu_solve2, F | C, NX_F32, 1},
    {"householder_product", householder_product2, F | C, NX_F32, 1},
    {"ormqr", ormqr2, F | C, NX_F32, 2},
    {"banded_solve", banded_solve2, F | C, NX_F32, 1},
    {"tridiagonal_solve", tridiagonal_solve2, F | C, NX_F32, 1},
    {"cholesky_update", cholesky_update2, F | C, NX_F32, 1},
    {"eigh_generalized", eigh_generalized2, F | C, NX_F32, 1},
    {"assign", assign2, ALL, NX_F32, 1},
    {"set", set2, ALL, NX_F32, 1},
};

static void each_pair(void **state) {
  (void)state;
  make_operands();
  for (size_t r = 0; r < COUNT(pairs); r++)
    for (int i = 0; i < TYPES; i++) {
      const struct pair *p = &pairs[r];
      nx_dtype t = type_number(i);
      nx_tensor *result = p->call(square_of(p->first), square_of(t));
      bool admitted = p->admits & TYPE(t);
      if (t == p->first) GOOD(result);
      else assert_null(result);
      if (!result)
        expect(p->name, nx_dtype_name(t), admitted ? NX_INVALID_ARGUMENT : NX_UNSUPPORTED_DTYPE,
               p->operand);
    }
}

/* ---- types by their numbers */

static nx_tensor *import_of(nx_dtype t) {
  char memory[64] = {0};
  nx_tensor *x = NULL;
  nx_import_desc d = {.size = sizeof d,
                      .dtype = t,
                      .rank = 1,
                      .shape = &two,
                      .base = memory,
                      .bytes = sizeof memory};
  return nx_import(ctx, &d, &x) == NX_OK ? x : NULL;
}
#define BY_NUMBER(name, expression) \
  static nx_tensor *name(nx_dtype t) { return expression; }
BY_NUMBER(empty_of, nx_empty(ctx, 0, t, &two, 1))
BY_NUMBER(placeholder_of, nx_placeholder(ctx, 0, t, &two, 1))
BY_NUMBER(full_of, nx_full(ctx, 0, t, &two, 1, NX_INTEGER(1)))
BY_NUMBER(arange_of, nx_arange(ctx, 0, t, NX_INTEGER(0), NX_INTEGER(1), 2))
BY_NUMBER(eye_of, nx_eye(ctx, 0, t, 2, 2, 0))
BY_NUMBER(cast_to, nx_cast(single, t))
BY_NUMBER(bitcast_to, nx_bitcast(single, t))
BY_NUMBER(one_hot_of, nx_one_hot(word, 2, t))
BY_NUMBER(rand_of, nx_rand(GOOD(nx_full(ctx, 0, NX_U32, &two, 1, NX_INTEGER(1))), t, &two, 1))
BY_NUMBER(randn_of, nx_randn(GOOD(nx_full(ctx, 0, NX_U32, &two, 1, NX_INTEGER(1))), t, &two, 1))

static const struct source {
  const char *name;
  nx_tensor *(*call)(nx_dtype);
  uint32_t admits, fits; /* fits: of those, which the operand can become */
} sources[] = {
    {"empty", empty_of, ALL, ALL},
    {"placeholder", placeholder_of, ALL, ALL},
    {"full", full_of, ALL, ALL},
    {"import", import_of, ALL, ALL},
    {"arange", arange_of, B | I | F | C, ALL},
    {"eye", eye_of, B | I | F | C, ALL},
    {"cast", cast_to, ALL, ALL},
    {"bitcast", bitcast_to, ALL, TYPE(NX_F32) | TYPE(NX_I32) | TYPE(NX_U32) | TYPE(NX_C32)},
    {"one_hot", one_hot_of, B | I | F | C, ALL},
    {"rand", rand_of, F & ~(TYPE(NX_F8E4M3) | TYPE(NX_F8E5M2)), ALL},
    {"randn", randn_of, F & ~(TYPE(NX_F8E4M3) | TYPE(NX_F8E5M2)), ALL},
};

static void each_number(void **state) {
  (void)state;
  make_operands();
  const int wrong[] = {-1, NX_BOOL - 1, NX_BOOL + TYPES, 99, INT32_MAX, INT32_MIN};
  for (size_t r = 0; r < COUNT(sources); r++) {
    const struct source *s = &sources[r];
    for (int i = 0; i < TYPES; i++) {
      nx_dtype t = type_number(i);
      nx_tensor *result = s->call(t);
      if (s->admits & s->fits & TYPE(t)) GOOD(result);
      else assert_null(result);
      if (!result)
        expect(s->name, nx_dtype_name(t),
               s->admits & TYPE(t) ? NX_INVALID_ARGUMENT : NX_UNSUPPORTED_DTYPE, -1);
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
      char number[32];
      snprintf(number, sizeof number, "no dtype %d", wrong[i]);
      assert_null(s->call((nx_dtype)wrong[i]));
      expect(s->name, number, NX_INVALID_ARGUMENT, -1);
    }
  }
}

NXT_MAIN(bad_dtypes) {
  const struct CMUnitTest tests[] = {IN_SCOPE(each_type), IN_SCOPE(each_pair),
                                     IN_SCOPE(each_number)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
