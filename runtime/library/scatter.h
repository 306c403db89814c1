/* SPDX-License-Identifier: ISC */
/* Updates written to, or added to, the elements that their indices name along one axis. Updates of
 * one element come in their C order, whatever the number of threads: each thread has columns, or
 * elements, of its own. */
#ifndef NXI_SCATTER_H
#define NXI_SCATTER_H

#include "ir/library/scatter.h"
#include "nx/status.h"
#include "runtime/platform/threads.h"

/* Indices are in range, as a check before has found; others are passed over. pool and poll may be
 * NULL. NX_OK, or NX_INTERRUPTED with part of it done. */
nx_status nxi_scatter_run(const nxi_scatter *s, nxi_pool *pool, const nxi_poll *poll, void *to,
                          const void *indices, const void *updates);

#endif
