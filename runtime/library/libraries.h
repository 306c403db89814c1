/* SPDX-License-Identifier: ISC */
/* The functions that do library calls (ir/library/library.h), and their installation. Operations of
 * a library that is missing are refused when a plan is made, with the reason. */
#ifndef NXI_LIBRARIES_H
#define NXI_LIBRARIES_H

#include "ir/library/library.h"

/* Installs them all. Called once in a process, before anything is planned. */
void nxi_use_libraries(void);

/* linalg/cholesky.c */
extern const nxg_functions nxi_cholesky_functions;
/* linalg/qr.c, linalg/svd.c */
extern const nxg_functions nxi_qr_functions, nxi_svd_functions;
/* linalg/eigh.c, linalg/eig.c */
extern const nxg_functions nxi_eigh_functions, nxi_eig_functions;
/* linalg/solve.c, linalg/det.c */
extern const nxg_functions nxi_triangular_solve_functions, nxi_solve_functions, nxi_inv_functions,
    nxi_det_functions;
/* linalg/lu_packed.c; linalg/householder.c: geqrf, geqp3, householder_product, ormqr */
extern const nxg_functions nxi_lu_functions, nxi_householder_functions;
/* linalg/banded.c, linalg/cholesky_update.c; linalg/forms.c: sytrd, gehrd, schur; linalg/expm.c;
 * linalg/functions.c: sqrtm, logm */
extern const nxg_functions nxi_banded_functions, nxi_cholesky_update_functions, nxi_form_functions,
    nxi_expm_functions, nxi_matrix_functions;
/* sort/sort.c: sort and argsort */
extern const nxg_functions nxi_sort_functions;
/* sort/top.c: top_k */
extern const nxg_functions nxi_top_functions;

/* fft/fft.c: fft, ifft, rfft, irfft */
extern const nxg_functions nxi_fft_functions;
/* attention.c: attention */
extern const nxg_functions nxi_attention_functions;
/* windows.c: matmul_windows */
extern const nxg_functions nxi_matmul_windows_functions;
/* integers/product.c: matmul_i32 */
extern const nxg_functions nxi_matmul_i32_functions;

#endif
