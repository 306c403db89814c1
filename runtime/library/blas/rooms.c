/* SPDX-License-Identifier: ISC */
/* Memory into which products copy operands: mapped by the first thread that wants it, and kept for
 * the next. Nothing waits and no lock is held, so threads may be halted and processes forked at any
 * place; at most what a thread had taken is lost. */
#include "rooms.h"

#include <stdatomic.h>
#include <stddef.h>

#include "ir/platform/pages.h"
#include "runtime/library/floats/multiply.h"

enum { KEPT = 64 };

static _Atomic(void *) kept[KEPT];

void *nxi_room_take(void) {
  for (int i = 0; i < KEPT; i++) {
    if (!atomic_load_explicit(&kept[i], memory_order_relaxed)) continue;
    void *room = atomic_exchange_explicit(&kept[i], NULL, memory_order_acquire);
    if (room) return room;
  }
  return nxi_pages_map(NXI_FLOATS_ROOM);
}

void nxi_room_give(void *room) {
  for (int i = 0; room && i < KEPT; i++) {
    void *none = NULL;
    if (atomic_compare_exchange_strong_explicit(&kept[i], &none, room, memory_order_release,
                                                memory_order_relaxed))
      return;
  }
  if (room) nxi_pages_unmap(room, NXI_FLOATS_ROOM);
}
