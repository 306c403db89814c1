/* SPDX-License-Identifier: ISC */
/* Inputs without files. */
#ifndef NXC_FILL_H
#define NXC_FILL_H

#include "nx/nx.h"

/* A tensor of this type, the same bits at each call: floats and complex parts from 0 to below 1, in
 * no order; integers and bools 0 or 1, so that nearly all of them are indices too. NULL after an
 * error message. */
nx_tensor *nxc_filled(nx_context *context, nx_device device, const nx_port_info *type);

#endif
