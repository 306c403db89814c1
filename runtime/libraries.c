/* SPDX-License-Identifier: ISC */
/* Which functions carry out which library call. */
#include "libraries.h"

#include <pthread.h>

static void install(void) { nxg_set_functions(NXG_cholesky, &nxi_cholesky_functions); }

void nxi_use_libraries(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
}
