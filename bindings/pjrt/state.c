/* SPDX-License-Identifier: ISC */
/* The lock of the plugin, and the conditions on which threads wait: those of callers, for what they
 * have asked for, and those of queues, which wait most of the time, for jobs. All belong to the
 * process; a child of fork finds the lock free and nobody waiting. */
#include <stdatomic.h>

#include "ir/platform/fork.h"
#include "objects.h"

static nxi_mutex lock = NXI_MUTEX_INITIALIZER;
static nxi_condition changed = NXI_CONDITION_INITIALIZER, wanted = NXI_CONDITION_INITIALIZER;
static nxi_fork_entry entry;
static atomic_uint generation;

static void in_child(void *object) {
  (void)object;
  changed = wanted = (nxi_condition)NXI_CONDITION_INITIALIZER;
  atomic_fetch_add(&generation, 1);
  nxj_queues_after_fork();
  nxj_callbacks_after_fork();
}

bool nxj_state_begin(void) {
  return nxi_fork_register_mutex(&entry, &lock, in_child, NULL) == NX_OK;
}

unsigned nxj_generation(void) { return atomic_load(&generation); }

void nxj_lock(void) { nxi_mutex_lock(&lock); }
void nxj_unlock(void) { nxi_mutex_unlock(&lock); }
void nxj_wait(void) { nxi_condition_wait(&changed, &lock); }
void nxj_changed(void) { nxi_condition_wake_all(&changed); }
void nxj_wait_for_jobs(void) { nxi_condition_wait(&wanted, &lock); }
void nxj_queues_changed(void) { nxi_condition_wake_all(&wanted); }
