/* SPDX-License-Identifier: ISC */
/* Installs the functions that do each library call. */
#include "libraries.h"

#include "ir/library/custom.h"
#include "ir/platform/thread.h"

static void install(void) {
  nxg_set_functions(NXG_cholesky, &nxi_cholesky_functions);
  nxg_set_functions(NXG_cholesky_info, &nxi_cholesky_functions);
  nxg_set_functions(NXG_qr, &nxi_qr_functions);
  nxg_set_functions(NXG_svd, &nxi_svd_functions);
  nxg_set_functions(NXG_eigh, &nxi_eigh_functions);
  nxg_set_functions(NXG_eigvalsh, &nxi_eigh_functions);
  nxg_set_functions(NXG_eig, &nxi_eig_functions);
  nxg_set_functions(NXG_eigvals, &nxi_eig_functions);
  nxg_set_functions(NXG_triangular_solve, &nxi_triangular_solve_functions);
  nxg_set_functions(NXG_solve, &nxi_solve_functions);
  nxg_set_functions(NXG_inv, &nxi_inv_functions);
  nxg_set_functions(NXG_inv_info, &nxi_inv_functions);
  nxg_set_functions(NXG_det, &nxi_det_functions);
  nxg_set_functions(NXG_slogdet, &nxi_det_functions);
  nxg_set_functions(NXG_lu, &nxi_lu_functions);
  nxg_set_functions(NXG_geqrf, &nxi_householder_functions);
  nxg_set_functions(NXG_geqp3, &nxi_householder_functions);
  nxg_set_functions(NXG_householder_product, &nxi_householder_functions);
  nxg_set_functions(NXG_ormqr, &nxi_householder_functions);
  nxg_set_functions(NXG_banded_solve, &nxi_banded_functions);
  nxg_set_functions(NXG_cholesky_update, &nxi_cholesky_update_functions);
  nxg_set_functions(NXG_sytrd, &nxi_form_functions);
  nxg_set_functions(NXG_gehrd, &nxi_form_functions);
  nxg_set_functions(NXG_schur, &nxi_form_functions);
  nxg_set_functions(NXG_eig_left, &nxi_eig_functions);
  nxg_set_functions(NXG_expm, &nxi_expm_functions);
  nxg_set_functions(NXG_sqrtm, &nxi_matrix_functions);
  nxg_set_functions(NXG_logm, &nxi_matrix_functions);
  nxg_set_functions(NXG_sort, &nxi_sort_functions);
  nxg_set_functions(NXG_argsort, &nxi_sort_functions);
  nxg_set_functions(NXG_top_k, &nxi_top_functions);
  nxg_set_functions(NXG_fft, &nxi_fft_functions);
  nxg_set_functions(NXG_ifft, &nxi_fft_functions);
  nxg_set_functions(NXG_rfft, &nxi_fft_functions);
  nxg_set_functions(NXG_irfft, &nxi_fft_functions);
  nxg_set_functions(NXG_matmul_i32, &nxi_matmul_i32_functions);
  nxg_set_functions(NXG_matmul_windows, &nxi_matmul_windows_functions);
  nxg_set_functions(NXG_attention, &nxi_attention_functions);
  nxg_set_functions(NXG_custom, &nxg_custom_functions);
}

void nxi_use_libraries(void) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_once_run(&once, install);
}
