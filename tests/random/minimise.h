/* SPDX-License-Identifier: ISC */
/* Makes a failing graph smaller while it still fails. */
#ifndef NXT_MINIMISE_H
#define NXT_MINIMISE_H

#include "differential.h"

/* A new graph: as few outputs as suffice, nodes replaced by inputs where the failure stays. */
nxg_graph *nxt_minimise(nxt_lab *lab, const nxg_graph *g, uint64_t seed, const nxt_config *config);

#endif
