/* SPDX-License-Identifier: ISC */
/* Mutexes that know which thread holds them, if the build checks the rules of locks (the option
 * `checks`, on in debug builds). A function begins with the rules that its caller must obey. If a
 * rule is broken, the process ends with a message that names the place:
 *
 *   NXI_HELD(lock)      this thread holds it
 *   NXI_NOT_HELD(lock)  it does not
 *   NXI_NO_LOCK()       it holds none of these locks: for what takes long, allocates tensor memory,
 *                       or calls back
 *
 * A thread that takes a lock which it already holds breaks a rule too, because it would wait for
 * itself. Other builds contain none of these checks. A lock that is held around fork belongs to the
 * forking thread in the child too. */
#ifndef NXI_LOCK_H
#define NXI_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "bias.h"
#include "config.h"
#include "ir/platform/thread.h"

#if NX_CHECKS
#include <stdatomic.h>
#endif

typedef struct nxi_lock {
  nxi_bias bias;
#if NX_CHECKS
  _Atomic uintptr_t owner; /* 0: no thread */
#endif
} nxi_lock;

#if NX_CHECKS
extern _Thread_local int nxi_locks_held;
_Noreturn void nxi_rule_broken(const char *file, int line, const char *function, const char *rule);
static inline bool nxi_lock_is_held(const nxi_lock *l) {
  return atomic_load_explicit(&((nxi_lock *)(uintptr_t)l)->owner, memory_order_relaxed) ==
         nxi_thread_self();
}
static inline void nxi_lock_own(nxi_lock *l, bool held) {
  atomic_store_explicit(&l->owner, held ? nxi_thread_self() : 0, memory_order_relaxed);
  nxi_locks_held += held ? 1 : -1;
}
#define NXI_RULE(condition, rule) \
  ((condition) ? (void)0 : nxi_rule_broken(__FILE__, __LINE__, __func__, rule))
#else
#define nxi_lock_own(l, held)     ((void)0)
#define NXI_RULE(condition, rule) ((void)0)
#endif
#define NXI_HELD(lock)     NXI_RULE(nxi_lock_is_held(lock), #lock " is not held")
#define NXI_NOT_HELD(lock) NXI_RULE(!nxi_lock_is_held(lock), #lock " is held")
#define NXI_NO_LOCK()      NXI_RULE(nxi_locks_held == 0, "a lock is held")

/* Has never an owner (bias.h). */
#define NXI_LOCK_INITIALIZER                  \
  {                                           \
    .bias = {.mutex = NXI_MUTEX_INITIALIZER } \
  }
static inline void nxi_lock_init(nxi_lock *l) {
  *l = (nxi_lock)NXI_LOCK_INITIALIZER;
  nxi_mutex_init(&l->bias.mutex);
}
/* One that may have an owner. What destroys it must wait for who has given it a moment ago: whoever
 * uses it has a reference of the object that it is in. */
static inline void nxi_lock_init_biased(nxi_lock *l) {
  nxi_lock_init(l);
  nxi_bias_init(&l->bias);
}
static inline void nxi_lock_destroy(nxi_lock *l) { nxi_mutex_destroy(&l->bias.mutex); }
/* In a child after fork, of one that the forking thread holds. */
static inline void nxi_lock_child(nxi_lock *l) {
  NXI_HELD(l);
  nxi_bias_child(&l->bias);
}
static inline void nxi_lock_take(nxi_lock *l) {
  NXI_NOT_HELD(l);
  nxi_bias_lock(&l->bias);
  nxi_lock_own(l, true);
}
static inline bool nxi_lock_try(nxi_lock *l) {
  if (!nxi_bias_try(&l->bias)) return false;
  nxi_lock_own(l, true);
  return true;
}
static inline void nxi_lock_give(nxi_lock *l) {
  NXI_HELD(l);
  nxi_lock_own(l, false);
  nxi_bias_unlock(&l->bias);
}
/* Unlocks the lock while it waits for the condition, at most until that time of nxi_now_ns;
 * negative: without a limit. */
static inline void nxi_lock_wait(nxi_condition *condition, nxi_lock *l, int64_t until_ns) {
  NXI_HELD(l);
  nxi_lock_own(l, false);
  uint32_t turn = nxi_condition_begin(condition);
  nxi_bias_unlock(&l->bias);
  nxi_condition_sleep(condition, turn, until_ns);
  nxi_bias_lock(&l->bias);
  nxi_condition_end(condition);
  nxi_lock_own(l, true);
}

#endif
