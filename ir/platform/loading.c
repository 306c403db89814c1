/* SPDX-License-Identifier: ISC */
/* Threads that load are the readers of one lock, and fork() is its writer. The lock prefers
 * readers, which is the C library's default. Otherwise there could be a deadlock: a new reader
 * would wait for the fork, the fork for the earlier readers, and these, in the linker, for the new
 * reader. The handlers are registered when this library is loaded, before all other handlers of
 * this library. So fork() takes this lock last, which is necessary because threads take it while
 * they hold other locks. */
#include "loading.h"

#include <pthread.h>

static pthread_rwlock_t loading = PTHREAD_RWLOCK_INITIALIZER;
static _Thread_local int depth; /* of this thread */

/* If a library's initialiser forks, its own thread is loading, and must not wait for itself. */
static void before_fork(void) {
  if (!depth) pthread_rwlock_wrlock(&loading);
}

static void in_parent(void) {
  if (!depth) pthread_rwlock_unlock(&loading);
}

/* The threads that held the lock do not exist in the child. */
static void in_child(void) {
  pthread_rwlock_init(&loading, NULL);
  if (depth) pthread_rwlock_rdlock(&loading);
}

__attribute__((constructor)) static void watch_fork(void) {
  pthread_atfork(before_fork, in_parent, in_child);
}

void nxi_loading_enter(void) {
  if (depth++ == 0) pthread_rwlock_rdlock(&loading);
}

void nxi_loading_leave(void) {
  if (--depth == 0) pthread_rwlock_unlock(&loading);
}
