/* SPDX-License-Identifier: ISC */
/* A custom call that runs functions of a module together, one for each process of a mesh, as the
 * operation interpreter.run_parallel of StableHLO's own tests does. */
#ifndef NX_TESTS_STABLEHLO_PARALLEL_H
#define NX_TESTS_STABLEHLO_PARALLEL_H

#include "nx/nx.h"

enum { MOST_PROCESSES = 8 };

/* A row of the table of custom calls; its `user` is the module. The configuration is
 * "REPLICAS PARTITIONS NAME NAME ..", the names those of the processes' functions; operands and
 * results are those of process 0, then those of process 1. */
nx_status run_parallel(const nx_stablehlo_call *call);

#endif
