/* SPDX-License-Identifier: ISC */
/* Tensors in the form that arrays of the host have: elements of half a byte are a byte each. */
#ifndef NXH_HOST_FORM_H
#define NXH_HOST_FORM_H

#include "nx/nx.h"

nx_dtype nxh_host_type(nx_dtype t);
/* NULL: a failure. */
nx_tensor *nxh_in_host_form(nx_tensor *x);
nx_tensor *nxh_in_program_form(nx_tensor *x, nx_dtype wanted);

#endif
