/* SPDX-License-Identifier: ISC */
/* The functions of the interface, one for each row of calls.def, and those of its extension. */
#ifndef NXJ_CALLS_H
#define NXJ_CALLS_H

#include "objects.h"

#define CALL(name, own) nxj_call nxj_##own;
#define NONE(name)
#include "calls.def"
#undef CALL
#undef NONE

#endif
