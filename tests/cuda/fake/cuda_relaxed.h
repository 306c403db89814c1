/* SPDX-License-Identifier: ISC */
/* cuda_host.h for kernels whose stores are reported (-fsanitize=thread): parsed once by itself. */
#include "cuda_host.h"
