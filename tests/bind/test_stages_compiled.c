/* SPDX-License-Identifier: ISC */
/* A sample of the binder's tests of stages, compiled: the code generator agrees with the
 * interpreter on what the binder writes. */
#define NXT_COMPILED 25
#define NXT_NAME     stages_compiled
#include "test_bind_stages.c"
