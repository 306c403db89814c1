/* SPDX-License-Identifier: ISC */
/* Everything. Each header also stands alone. */
#ifndef NX_NX_H
#define NX_NX_H

#include "bits.h"
#include "async.h"
#include "by_function.h"
#include "context.h"
#include "control.h"
#include "convolution.h"
#include "custom.h"
#include "debug.h"
#include "dlpack.h"
#include "dtype.h"
#include "error.h"
#include "fft.h"
#include "function.h"
#include "group.h"
#include "index.h"
#include "io.h"
#include "ir.h"
#include "linalg.h"
#include "number.h"
#include "ops.h"
#include "random.h"
#include "special.h"
#include "stablehlo.h"
#include "status.h"
#include "tensor.h"
#include "version.h"

#endif
