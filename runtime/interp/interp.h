/* SPDX-License-Identifier: ISC */
/* What the files of the device "interp" share. */
#ifndef NXI_INTERP_DEVICE_H
#define NXI_INTERP_DEVICE_H

/* blas.c: makes the interpreter compute products with the library. */
void nxi_interpret_with_blas(void);

#endif
