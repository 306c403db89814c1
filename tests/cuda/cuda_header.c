/* SPDX-License-Identifier: ISC */
/* Structs and values of the driver that the library writes down, beside those of cuda.h. Compiled
 * where a toolkit is installed, and never run. */
#include <cuda.h>
#include <stddef.h>

#include "runtime/cuda/driver.h"

#define SAME(theirs, ours)                                                                    \
  _Static_assert(offsetof(CUgraphNodeParams, theirs) == offsetof(nxi_cuda_conditional, ours), \
                 #theirs)
SAME(type, type);
SAME(reserved0, reserved);
SAME(conditional.handle, handle);
SAME(conditional.type, kind);
SAME(conditional.size, n_bodies);
SAME(conditional.phGraph_out, bodies);
SAME(conditional.ctx, context);
SAME(reserved2, reserved_end);
_Static_assert(sizeof(CUgraphNodeParams) == sizeof(nxi_cuda_conditional), "all of it");
_Static_assert(CU_GRAPH_NODE_TYPE_EMPTY == 5 && CU_GRAPH_NODE_TYPE_CONDITIONAL == 13, "nodes");
_Static_assert(CU_GRAPH_COND_TYPE_IF == 0 && CU_GRAPH_COND_TYPE_WHILE == 1 &&
                   CU_GRAPH_COND_TYPE_SWITCH == 2,
               "kinds of conditions");
_Static_assert(CU_STREAM_SET_CAPTURE_DEPENDENCIES == 1 && CU_STREAM_CAPTURE_STATUS_ACTIVE == 1 &&
                   CU_STREAM_CAPTURE_MODE_RELAXED == 2,
               "captures");
