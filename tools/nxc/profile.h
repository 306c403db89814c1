/* SPDX-License-Identifier: ISC */
/* The steps of a trace, summed up by name. */
#ifndef NXC_PROFILE_H
#define NXC_PROFILE_H

#include "ir/diag.h"

/* Adds a line for each step of the trace that has begun, in the order in which they first ran. */
void nxc_profile(nxi_text *out);

#endif
