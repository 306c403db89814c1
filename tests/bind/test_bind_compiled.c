/* SPDX-License-Identifier: ISC */
/* A sample of the binder's tests with compiled kernels: code that is generated from bound kernels
 * gives the same bits as the interpreter. */
#define NXT_COMPILED 25
#define NXT_NAME     bind_compiled
#include "test_bind.c"
