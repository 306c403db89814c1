/* SPDX-License-Identifier: ISC */
/* The list of objects that have hooks for fork(), and the only fork handler of the process, which
 * runs these hooks. */
#include "fork.h"

#include "ir/platform/thread.h"
#include <stdbool.h>
#include <stddef.h>

static nxi_mutex list_lock = NXI_MUTEX_INITIALIZER;
static nxi_fork_entry *oldest, *newest;
static bool installed; /* protected by list_lock */

static void run(void (*hook)(void *), void *object) {
  if (hook) hook(object);
}

static void before_fork(void) {
  nxi_mutex_lock(&list_lock);
  for (nxi_fork_entry *e = newest; e; e = e->older)
    if (e->mutex) nxi_mutex_lock(e->mutex);
    else run(e->hooks->prepare, e->object);
}

static void after_fork_parent(void) {
  for (nxi_fork_entry *e = oldest; e; e = e->newer)
    if (e->mutex) nxi_mutex_unlock(e->mutex);
    else run(e->hooks->parent, e->object);
  nxi_mutex_unlock(&list_lock);
}

static void after_fork_child(void) {
  for (nxi_fork_entry *e = oldest; e; e = e->newer) {
    run(e->mutex ? e->child : e->hooks->child, e->object);
    if (e->mutex) nxi_mutex_unlock(e->mutex);
  }
  nxi_mutex_unlock(&list_lock);
}

/* list_lock is held. */
static nx_status add(nxi_fork_entry *entry) {
  if (!installed) installed = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
  if (!installed) return NX_OUT_OF_MEMORY;
  entry->older = newest;
  if (newest) newest->newer = entry;
  else oldest = entry;
  newest = entry;
  return NX_OK;
}

nx_status nxi_fork_register(nxi_fork_entry *entry, const nxi_fork_hooks *hooks, void *object) {
  *entry = (nxi_fork_entry){.hooks = hooks, .object = object};
  nxi_mutex_lock(&list_lock);
  nx_status status = add(entry);
  nxi_mutex_unlock(&list_lock);
  return status;
}

nx_status nxi_fork_register_mutex(nxi_fork_entry *entry, nxi_mutex *mutex,
                                  void (*child)(void *object), void *object) {
  nx_status status = NX_OK;
  nxi_mutex_lock(&list_lock);
  if (!entry->mutex) {
    *entry = (nxi_fork_entry){.mutex = mutex, .child = child, .object = object};
    status = add(entry);
    if (status) entry->mutex = NULL;
  }
  nxi_mutex_unlock(&list_lock);
  return status;
}

void nxi_fork_unregister(nxi_fork_entry *entry) {
  nxi_mutex_lock(&list_lock);
  if (entry->older) entry->older->newer = entry->newer;
  else oldest = entry->newer;
  if (entry->newer) entry->newer->older = entry->older;
  else newest = entry->older;
  nxi_mutex_unlock(&list_lock);
}
