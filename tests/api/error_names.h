/* SPDX-License-Identifier: ISC */
/* Calls of each operation that is recorded as others, on small operands: the table of
 * test_error_names.c, which makes the operands. */
#ifndef NXT_ERROR_NAMES_H
#define NXT_ERROR_NAMES_H

static nx_tensor *line, *row, *square, *half, *tall, *sides, *key, *mask, *spectrum, *whole, *steps,
    *folds, *zero, *tau, *order, *folded;
static nx_tensor *piece, *place, *small, *tau32, *corner[3];
/* Of scalars: a - |b|; a comparator with a key, and one without. */
static nx_function *apart, *keyed, *keyless;
static nx_tensor *made[3]; /* results of the call being tried */

static void make_operands(void) {
  const float numbers[16] = {4, 1, 0, 1, 1, 5, 1, 0, 0, 1, 6, 1, 1, 0, 1, 7};
  square = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(4, 4)));
  OK(nx_write(square, numbers, sizeof numbers, NULL));
  half = GOOD(nx_cast(square, NX_F16));
  line = vector(16, 0, 1);
  row = part(line, 3, 5, 2);
  tall = GOOD(nx_reshape(line, NX_SHAPE(8, 2), 0));
  sides = GOOD(nx_reshape(part(line, 0, 8, 1), NX_SHAPE(8), 0));
  key = GOOD(nx_full(ctx, 0, NX_U32, NX_SHAPE(2), NX_INTEGER(7)));
  mask = GOOD(nx_cmplt(line, number(5)));
  zero = GOOD(nx_copy(number(0)));
  spectrum = GOOD(nx_cast(square, NX_C64));
  whole = GOOD(nx_copy(line));
  piece = part(whole, 1, 5, 3);
  steps = GOOD(nx_cast(part(line, 0, 5, 1), NX_I32));
  tau = GOOD(nx_cast(part(line, 1, 4, 1), NX_F16));
  order = GOOD(nx_cast(part(line, 0, 4, 1), NX_I32));
  folds = GOOD(nx_expand(row, NX_SHAPE(3, 5)));
  place = part(order, 1, 2, 2);
  tau32 = part(line, 1, 4, 2);
  for (int i = 0; i < 3; i++)
    corner[i] = GOOD(nx_reshape(part(i < 2 ? order : tau, i, 1, 1), NULL, 0, 0));
  small = GOOD(nx_reshape(part(tau, 0, 1, 1), NX_SHAPE(1, 1), 0));
  nx_tensor *in[2] = {GOOD(nx_placeholder(ctx, 0, NX_F32, NULL, 0)),
                      GOOD(nx_placeholder(ctx, 0, NX_F32, NULL, 0))},
            *out = GOOD(nx_sub(in[0], nx_abs(in[1])));
  OK(nx_function_create(ctx, in, 2, &out, 1, NULL, &apart));
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 2; j++) in[j] = GOOD(nx_placeholder(ctx, 0, NX_F32, NULL, 0));
    nx_tensor *difference = i ? GOOD(nx_sub(in[0], in[1])) : NULL;
    out = i ? GOOD(nx_cmplt(difference, nx_neg(difference)))
            : GOOD(nx_cmplt(nx_abs(in[0]), nx_abs(in[1])));
    OK(nx_function_create(ctx, in, 2, &out, 1, NULL, i ? &keyless : &keyed));
  }
  folded = GOOD(nx_reshape(half, NX_SHAPE(2, 2, 4), 0));
  nx_tensor *all[] = {square, half, line, tall, key, mask, spectrum, whole, steps, tau, order};
  OK(nx_realize(ctx, all, COUNT(all), NULL));
}

static void release_functions(void) {
  nx_function_release(apart), nx_function_release(keyed), nx_function_release(keyless);
}

static const int64_t two = 2, three = 3;
static const nx_convolution_options line_of_windows = {
    .size = sizeof line_of_windows, .n = 1, .x_dilation = &two, .before = &two, .after = &three};
static const nx_window window = {
    .size = sizeof window, .n = 1, .kernel = &three, .stride = &two, .before = &two};
#define ONE(name, expression) \
  static bool call_##name(void) { return (made[0] = (expression)) != NULL; }
#define STATUS(name, call) \
  static bool call_##name(void) { return (call) == NX_OK; }
ONE(lstsq, nx_lstsq(tall, sides, -1, 0))
ONE(pinv, nx_pinv(half, -1))
ONE(solve, nx_solve(half, half, 0))
ONE(triangular_solve, nx_triangular_solve(half, half, NX_LOWER))
ONE(inv, nx_inv(half))
ONE(det, nx_det(half))
ONE(cholesky, nx_cholesky(half, NX_UPPER))
ONE(eigvals, nx_eigvals(square))
STATUS(slogdet, nx_slogdet(half, &made[0], &made[1]))
STATUS(qr, nx_qr(half, 0, &made[0], &made[1]))
STATUS(svd, nx_svd(half, 0, &made[0], &made[1], &made[2]))
STATUS(eigh, nx_eigh(half, 0, &made[0], &made[1]))
STATUS(eig, nx_eig(half, &made[0], &made[1]))
STATUS(lu, nx_lu(half, &made[0], &made[1], &made[2], NULL))
STATUS(geqp3, nx_geqp3(half, &made[0], &made[1], &made[2]))
STATUS(qr_pivoted, nx_qr_pivoted(half, 0, &made[0], &made[1], &made[2]))
ONE(lstsq_qr, nx_lstsq_qr(half, half, 0))
ONE(lu_solve, nx_lu_solve(half, order, half, 0))
ONE(householder_product, nx_householder_product(half, tau))
ONE(banded_solve, nx_banded_solve(half, 2, 1, half, 0))
ONE(tridiagonal_solve, nx_tridiagonal_solve(tau, tau, tau, half, 0))
ONE(triangular_inv, nx_triangular_inv(half, 0))
ONE(cholesky_update, nx_cholesky_update(half, tau, NX_UPPER))
STATUS(sytrd, nx_sytrd(half, 0, &made[0], &made[1], &made[2], NULL))
STATUS(hessenberg, nx_hessenberg(half, &made[0], &made[1]))
STATUS(schur, nx_schur(half, 0, &made[0], &made[1]))
STATUS(eig_left, nx_eig_left(half, 0, &made[0], &made[1], &made[2]))
STATUS(eigh_generalized, nx_eigh_generalized(half, half, 1, 0, &made[0], &made[1]))
ONE(expm, nx_expm(half))
ONE(sqrtm, nx_sqrtm(half, 0))
ONE(logm, nx_logm(half, 0))
ONE(matrix_power, nx_matrix_power(half, -3, 0))
STATUS(cholesky_info, nx_cholesky_info(half, NX_UPPER, &made[0], &made[1]))
STATUS(inv_info, nx_inv_info(half, &made[0], &made[1]))
ONE(vector_norm, nx_vector_norm(half, 3, NX_AXES(0), 0))
ONE(matrix_norm, nx_matrix_norm(half, NX_NORM_NUC, NX_KEEPDIMS))
ONE(cond, nx_cond(half, NX_NORM_1))
ONE(matrix_rank, nx_matrix_rank(half, -1))
ONE(trace, nx_trace(half, 0, 0, 1))
ONE(outer, nx_outer(row, line))
ONE(vecdot, nx_vecdot(spectrum, spectrum, -2))
ONE(cross, nx_cross(folds, folds, -2))
ONE(tensordot, nx_tensordot(folded, folded, (int32_t[]){0, 2}, (int32_t[]){1, 2}, 2))
ONE(kron, nx_kron(half, half))
ONE(multi_dot, nx_multi_dot((nx_tensor *[]){half, half, tau}, 3))
STATUS(top_k, nx_top_k(line, 2, 0, 0, NX_I64, &made[0], &made[1]))
ONE(unfold, nx_unfold(line, &window))
ONE(convolution, nx_convolution(folded, folded, &line_of_windows))
ONE(pad_between, nx_pad_between(line, &two, &three, &two, 1, NX_INTEGER(0)))
ONE(fold, nx_fold(folds, (int64_t[]){9}, 1, &window))
ONE(one_hot, nx_one_hot(steps, 4, NX_F16))
ONE(true_indices, nx_true_indices(mask, 3))
ONE(rand, nx_rand(key, NX_F64, NX_SHAPE(3, 3)))
ONE(randn, nx_randn(key, NX_F16, NX_SHAPE(3, 3)))
ONE(permutation, nx_permutation(key, 9))
ONE(associative_scan, nx_associative_scan(line, NX_SCAN_MAX, 0))
STATUS(reduce_by, nx_reduce_by(apart, &line, &zero, 1, NX_AXES(0), 0, &made[0], 1))
STATUS(scan_by, nx_scan_by(apart, &line, &zero, 1, 0, NX_EXCLUSIVE, &made[0], 1))
static const nx_sliding_window sliding = {
    .size = sizeof sliding, .n = 1, .kernel = &three, .base_dilation = &two, .before = &two};
static const int64_t one_element[2] = {1, 1};
static const int32_t first[2] = {0, 1};
static const nx_gather_numbers elements = {.size = sizeof elements,
                                           .n_collapsed_dims = 2,
                                           .n_start_index_map = 2,
                                           .collapsed_slice_dims = first,
                                           .start_index_map = first,
                                           .slice_sizes = one_element,
                                           .index_vector_dim = 0,
                                           .bounds = NX_BOUNDS_DROP};
static const nx_scatter_numbers to_elements = {.size = sizeof to_elements,
                                               .n_inserted_window_dims = 2,
                                               .n_scatter_dims_to_operand_dims = 2,
                                               .inserted_window_dims = first,
                                               .scatter_dims_to_operand_dims = first},
                                to_lines = {.size = sizeof to_lines,
                                            .n_inserted_window_dims = 1,
                                            .n_scatter_dims_to_operand_dims = 1,
                                            .inserted_window_dims = first,
                                            .scatter_dims_to_operand_dims = first,
                                            .index_vector_dim = 1};
static const nx_sliding_window every_third = {
    .size = sizeof every_third, .n = 1, .kernel = &three, .stride = &three};
ONE(gather_general, nx_gather_general(half, place, &elements))
ONE(scatter_general, nx_scatter_general(half, place, corner[2], &to_elements, NX_SCATTER_MAX, 0))
STATUS(scatter_by, nx_scatter_by(apart, &line, &tau32, 1, order, &to_lines, &made[0], 1))
ONE(select_and_scatter, nx_select_and_scatter(keyed, apart, line, row, zero, &every_third))
ONE(dynamic_slice_checked, nx_dynamic_slice_checked(half, corner, one_element, 2))
ONE(dynamic_update_slice, nx_dynamic_update_slice(half, small, corner, 2))
STATUS(sort_by, nx_sort_by(keyed, &line, 1, 0, &made[0], 1))
STATUS(sort_network, nx_sort_by(keyless, &folds, 1, 1, &made[0], 1))
ONE(searchsorted, nx_searchsorted(line, row, NULL, 0, NX_I32))
ONE(quantile_over,
    nx_quantile_over(half, (double[]){0.1, 0.7}, 2, NX_AXES(0, 1), NX_QUANTILE_LINEAR, 0))
ONE(quantile, nx_quantile(half, (double[]){0.1, 0.7}, 2, 1, NX_QUANTILE_LINEAR, 0))
ONE(median, nx_median(square, 0, 0))
ONE(total_order, nx_total_order(row))
ONE(reduce_with_initial, nx_reduce_with_initial(line, NX_SCAN_MAX, zero, NX_AXES(0), 0))
STATUS(reduce_window, nx_reduce_window(apart, &line, &zero, 1, &sliding, &made[0], 1))
ONE(rfft, nx_rfft(half, NX_AXES(0, 1)))
ONE(irfft, nx_irfft(spectrum, NX_AXES(0, 1), (int64_t[]){6, 4}, 2))
ONE(reduce_mean, nx_reduce_mean(half, NX_AXES(0), 0))
ONE(reduce_var, nx_reduce_var(half, NX_AXES(0), 1, 0))
ONE(square, nx_square(row))
ONE(clamp, nx_clamp(row, folds, row))
ONE(copysign, nx_copysign(row, folds))
ONE(nextafter, nx_nextafter(row, folds))
ONE(signbit, nx_signbit(row))
ONE(isnan, nx_isnan(row))
ONE(isinf, nx_isinf(spectrum))
ONE(isfinite, nx_isfinite(row))
ONE(shr_logical, nx_shr_logical(steps, steps))
ONE(shr_arithmetic, nx_shr_arithmetic(steps, steps))
ONE(reduce_precision, nx_reduce_precision(row, 5, 3))
ONE(bitcast_convert, nx_bitcast_convert(row, NX_U8))
ONE(cmpgt, nx_cmpgt(row, row))
ONE(cmpge, nx_binary_f64(row, NX_BINARY_CMPGE, 0.1))
ONE(mul, nx_binary_f64(row, NX_BINARY_MUL, 0.1))
ONE(copy, nx_copy(row))
ONE(contiguous, nx_contiguous(row))
ONE(get, nx_get(line, &(nx_range){2, NX_OPEN, 3}, 1))
STATUS(set, nx_set(whole, &(nx_range){2, 12, 2}, 1, row))
STATUS(assign, nx_assign(piece, row))
static const float data[5];
STATUS(write, nx_write(piece, data, sizeof data, NULL))
ONE(from_data, nx_from_data(ctx, 1, NX_F32, NX_SHAPE(5), data, sizeof data))

static const struct call {
  const char *name;
  bool (*make)(void);
  bool assigns, lapack;
} calls[] = {
#define ROW(name)    {#name, call_##name, false, false}
#define LAPACK(name) {#name, call_##name, false, true}
    LAPACK(lstsq),
    LAPACK(pinv),
    LAPACK(solve),
    LAPACK(triangular_solve),
    LAPACK(inv),
    LAPACK(det),
    LAPACK(cholesky),
    LAPACK(eigvals),
    LAPACK(slogdet),
    LAPACK(qr),
    LAPACK(svd),
    LAPACK(eigh),
    LAPACK(eig),
    LAPACK(lu),
    LAPACK(geqp3),
    LAPACK(qr_pivoted),
    LAPACK(lstsq_qr),
    LAPACK(lu_solve),
    LAPACK(householder_product),
    LAPACK(banded_solve),
    LAPACK(tridiagonal_solve),
    LAPACK(triangular_inv),
    LAPACK(cholesky_update),
    LAPACK(sytrd),
    LAPACK(hessenberg),
    LAPACK(schur),
    LAPACK(eig_left),
    LAPACK(eigh_generalized),
    LAPACK(expm),
    LAPACK(sqrtm),
    LAPACK(logm),
    LAPACK(matrix_power),
    LAPACK(cholesky_info),
    LAPACK(inv_info),
    ROW(vector_norm),
    LAPACK(matrix_norm),
    LAPACK(cond),
    LAPACK(matrix_rank),
    ROW(trace),
    ROW(outer),
    ROW(vecdot),
    ROW(cross),
    ROW(tensordot),
    ROW(kron),
    ROW(multi_dot),
    ROW(top_k),
    ROW(unfold),
    ROW(fold),
    ROW(convolution),
    ROW(pad_between),
    ROW(one_hot),
    ROW(true_indices),
    ROW(rand),
    ROW(randn),
    ROW(permutation),
    ROW(associative_scan),
    ROW(reduce_by),
    ROW(scan_by),
    ROW(reduce_with_initial),
    ROW(reduce_window),
    ROW(gather_general),
    ROW(scatter_general),
    ROW(scatter_by),
    ROW(select_and_scatter),
    ROW(dynamic_slice_checked),
    ROW(dynamic_update_slice),
    ROW(sort_by),
    {"sort_by", call_sort_network, false, false},
    ROW(total_order),
    ROW(searchsorted),
    ROW(quantile),
    ROW(quantile_over),
    ROW(median),
    ROW(rfft),
    ROW(irfft),
    ROW(reduce_mean),
    ROW(reduce_var),
    ROW(square),
    ROW(clamp),
    ROW(copysign),
    ROW(nextafter),
    ROW(signbit),
    ROW(isnan),
    ROW(isinf),
    ROW(isfinite),
    ROW(shr_logical),
    ROW(shr_arithmetic),
    ROW(reduce_precision),
    ROW(bitcast_convert),
    ROW(cmpgt),
    ROW(cmpge),
    ROW(mul),
    ROW(from_data),
    ROW(copy),
    ROW(contiguous),
    ROW(get),
    {"set", call_set, true, false},
    {"assign", call_assign, true, false},
    {"write", call_write, true, false},
};

#endif
