/* SPDX-License-Identifier: ISC */
/* The cache of plans of a context. All functions with run_lock. */
#ifndef NXI_PLAN_CACHE_H
#define NXI_PLAN_CACHE_H

#include "runtime/realize/run.h"

typedef struct nxi_plan nxi_plan;
struct nxi_plan {
  nxi_plan *next, *newer, *older;
  uint64_t hash[2], skeleton;
  uint64_t *key;
  uint32_t n_key;
  uint32_t debugging;    /* nxi_debug_key of the runs that it is for */
  uint32_t users;        /* runs that hold it */
  bool busy;             /* one of them is making a plan */
  bool function;         /* the key is that of a function call, not a graph */
  bool tiny;             /* worth interpreting at first */
  bool pending;          /* its code is made in the background; it is interpreted meanwhile */
  bool waits;            /* not in the background: there it could not be made */
  bool alike;            /* graphs of the same operations were met before */
  bool prepared;         /* what was made for it has not been handed out yet */
  bool recent;           /* is in the cache's table of these */
  bool was_interpreted;  /* `interpreted` is there, or was let go of */
  uint8_t once;          /* its place among those that were met once, + 1; 0: it has none */
  bool settled;          /* code of its own was made for its kernels, or is, or cannot be */
  double shared_ms;      /* time spent so far in code that others share */
  double interpreted_ms; /* time spent in the interpreter so far */
  double most_ms;        /* of such time, until a tiny graph's code is made */
  nxi_executable *interpreted, *compiled;
  nxi_executable *at_first;   /* it lacks code (nxi_executable_lacks); until `compiled` */
  nxi_executable *replaced;   /* `compiled` was it; until nobody runs it */
  nxi_compile_report report;  /* of the newest of both */
  struct nxi_code_job *later; /* makes its code once it has been interpreted; or NULL */
};

typedef struct nxi_plan_cache nxi_plan_cache;
nxi_plan_cache *nxi_plan_cache_create(void);
void nxi_plan_cache_destroy(nxi_plan_cache *cache);
/* The plan of a run's key, entered if it is new; the caller is one of its users until
 * nxi_plan_leave. NULL without memory. */
nxi_plan *nxi_plan_find(nxi_plan_cache *cache, const nxi_run *run, bool *is_new, nxi_diag *d);
/* The code of a plan that makes its result (that of a call: its results) in microseconds and cannot
 * fail, of this key; NULL:
 * there is none, or it was not used lately. Nobody becomes a user of the plan, so the lock is kept
 * while the code runs. */
const nxi_executable *nxi_plan_brief(nxi_plan_cache *cache, const uint64_t *key, uint32_t n_key);
void nxi_plan_leave(nxi_plan_cache *cache, nxi_plan *p);
/* The plan runs other code from now on. */
void nxi_plan_replace(nxi_plan_cache *cache, nxi_plan *p, nxi_executable *compiled);
/* A plan was met for the first time and is interpreted: when a few more were, what that takes is
 * let go of, unless somebody uses the plan, or it was met again. */
void nxi_plan_note_once(nxi_plan_cache *cache, nxi_plan *p);

/* The time that the interpreter spent on graphs with the operations of this one, whatever their
 * shapes: as far as is remembered. */
double nxi_plan_interpreted_ms(const nxi_plan_cache *cache, const nxi_plan *p);
void nxi_plan_count_interpreted(nxi_plan_cache *cache, nxi_plan *p, double ms);

/* Code for graphs with the operations of a plan's, of any shapes. */
typedef enum nxi_alike_code {
  NXI_ALIKE_NONE,  /* nobody asked for it */
  NXI_ALIKE_MADE,  /* it is being made in the background */
  NXI_ALIKE_THERE, /* or could not be made there */
} nxi_alike_code;
nxi_alike_code nxi_plan_alike_code(const nxi_plan_cache *cache, const nxi_plan *p);
void nxi_plan_set_alike_code(nxi_plan_cache *cache, const nxi_plan *p, nxi_alike_code code);

/* The values that a plan stores anyway, by the hash of a run's key: numbers of nodes of the key,
 * ascending. The table is bounded; entries that were dropped are computed again. NULL: not
 * known. */
typedef struct nxi_stored {
  uint64_t hash[2];
  uint32_t n;
  uint32_t slots[];
} nxi_stored;
const nxi_stored *nxi_plan_stored(nxi_plan_cache *cache, const uint64_t hash[2]);
/* False without memory. */
bool nxi_plan_note_stored(nxi_plan_cache *cache, const uint64_t hash[2], const uint32_t *slots,
                          uint32_t n);

/* plan_miss.c. Why the plan of a run is new: the kind of the difference, static, and in detail the
 * first node that differs from the nearest plan before it, "" if there is none. Only where somebody
 * is told: it takes a tenth of what a small graph in a new shape does. */
enum { NXI_MISS_TEXT = sizeof((nx_report *)0)->miss_detail };
const char *nxi_plan_miss(const nxi_plan *made, const nxi_run *run, char detail[NXI_MISS_TEXT]);

#endif
