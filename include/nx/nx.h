/* SPDX-License-Identifier: ISC */
/* Everything. Each header also stands alone. */
#ifndef NX_NX_H
#define NX_NX_H

#include "context.h"
#include "debug.h"
#include "dlpack.h"
#include "dtype.h"
#include "error.h"
#include "fft.h"
#include "function.h"
#include "index.h"
#include "io.h"
#include "ir.h"
#include "linalg.h"
#include "number.h"
#include "ops.h"
#include "status.h"
#include "tensor.h"
#include "version.h"

#endif
