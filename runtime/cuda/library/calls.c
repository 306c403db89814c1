/* SPDX-License-Identifier: ISC */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

/* The first entry that takes a call executes it. */
static const nxi_gpu_functions *const all[] = {&nxi_gpu_custom_functions,
                                               &nxi_gpu_sort_functions,
                                               &nxi_gpu_scan_functions,
                                               &nxi_gpu_integer_library_functions,
                                               &nxi_gpu_integer_functions,
                                               &nxi_gpu_window_functions,
                                               &nxi_gpu_attention_functions,
                                               &nxi_gpu_fft_functions,
                                               &nxi_gpu_factor_functions,
                                               &nxi_gpu_vector_functions,
                                               NULL};

/* Those of bytes need tensor cores with rows of 32 of them, those of windows and attention
 * cores that know bf16. */
nxp_products nxi_gpu_own_products(const char *arch) {
  const bool have = strncmp(arch, "sm_", 3) == 0 && atoi(arch + 3) >= 80;
  return have ? NXP_OF_SMALL_INTEGERS | NXP_OF_WINDOWS | NXP_OF_ATTENTION : 0;
}

const nxi_gpu_functions *nxi_gpu_call_functions(nxi_gpu *g, const nxg_call *call) {
  if (nxg_call_gives_nan(call)) return NULL; /* the host tells matrices that fail from others */
  for (int i = 0; all[i] != NULL; i++)
    if (all[i]->takes(g, call)) return all[i];
  return NULL;
}

const char *nxi_gpu_call_lacks(const nxg_call *call) {
  const char *why = NULL;
  if (nxg_call_gives_nan(call)) return NULL;
  for (int i = 0; all[i] != NULL && why == NULL; i++)
    if (all[i]->lacks != NULL) why = all[i]->lacks(call);
  return why;
}
