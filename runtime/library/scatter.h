/* SPDX-License-Identifier: ISC */
/* Combines updates with the elements that their indices select along one axis. Updates of one
 * element are applied in C order for any number of threads, because each thread has columns or
 * elements of its own. */
#ifndef NXI_SCATTER_H
#define NXI_SCATTER_H

#include "ir/library/scatter.h"
#include "nx/status.h"
#include "runtime/threads.h"

/* An index that is out of range is skipped: a check has found before that there is none, or they
 * are to be dropped. pool and poll may be NULL. Returns NX_OK, or NX_INTERRUPTED with a part of the
 * work done. */
nx_status nxi_scatter_run(const nxi_scatter *s, nxi_pool *pool, const nxi_poll *poll, void *to,
                          const void *indices, const void *updates);

#endif
