/* SPDX-License-Identifier: ISC */
/* Handling fork(). Objects with a lock or with threads register here. A child that is made while
 * another thread is inside the library then finds every lock free, and knows that its threads do
 * not exist.
 *
 * Around fork the hooks of all registered objects run on the forking thread: `prepare` of the
 * newest object first, then, in parent and child, the other hook of the oldest first. An object
 * that takes its lock while it holds that of another must therefore register after the other one:
 * prepare then takes both in the usual order. Hooks neither allocate nor register. */
#ifndef NXI_FORK_H
#define NXI_FORK_H

#include "ir/platform/thread.h"

#include "nx/status.h"

typedef struct nxi_fork_hooks {
  void (*prepare)(void *object); /* each may be NULL */
  void (*parent)(void *object);
  void (*child)(void *object);
} nxi_fork_hooks;

/* Part of the object; it stays where it is while registered. */
typedef struct nxi_fork_entry {
  const nxi_fork_hooks *hooks; /* or NULL: the mutex is held around fork */
  nxi_mutex *mutex;
  void (*child)(void *object); /* with the mutex held; may be NULL */
  void *object;
  struct nxi_fork_entry *older, *newer;
} nxi_fork_entry;

/* NX_OUT_OF_MEMORY if the process cannot take another fork handler. The caller of either function
 * must not hold a lock that a hook takes. */
nx_status nxi_fork_register(nxi_fork_entry *entry, const nxi_fork_hooks *hooks, void *object);
void nxi_fork_unregister(nxi_fork_entry *entry);
/* The same for an object whose only lock is a mutex, or, with a static entry, for a mutex of the
 * process. The child runs `child`, which may be NULL, before it unlocks the mutex. An entry that is
 * already registered is not changed; other entries must be zero. */
nx_status nxi_fork_register_mutex(nxi_fork_entry *entry, nxi_mutex *mutex,
                                  void (*child)(void *object), void *object);

#endif
