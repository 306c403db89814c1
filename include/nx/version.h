/* SPDX-License-Identifier: ISC */
/* The version of the library. The build reads these lines: NX_ABI is the soname's number and goes
 * up with every change that breaks a compiled caller. */
#ifndef NX_VERSION_H
#define NX_VERSION_H

#define NX_VERSION_MAJOR  0
#define NX_VERSION_MINOR  2
#define NX_VERSION_PATCH  0
#define NX_VERSION_STRING "0.2.0"
#define NX_ABI            1

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "0.2.0": of the library that is running, where the macros tell of the one compiled against.
 * Static. */
NX_API const char *nx_version(void);

#ifdef __cplusplus
}
#endif
#endif
