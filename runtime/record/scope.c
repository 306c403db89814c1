/* SPDX-License-Identifier: ISC */
/* Scopes: the handles that a thread made since a scope began. A handle and its slot point at each
 * other; the slot is cleared when the handle is kept or dies first. */
#include "error.h"
#include "objects.h"

enum { SLOTS = 62 };
typedef struct block {
  struct block *next;
  uint32_t used;
  _Atomic(nx_tensor *) slots[SLOTS];
} block;

struct nx_scope {
  bool watched;
  nx_context *context;
  nx_scope *outer;
  block *blocks; /* the newest first */
};

/* initial-exec: as in error.c */
static _Thread_local nx_scope *innermost __attribute__((tls_model("initial-exec")));

nx_scope *nx_scope_begin(nx_context *c) {
  bool watched;
  if (!nxi_have_context("scope", 0, c)) return NULL;
  nx_scope *s = nxi_handle_alloc(sizeof *s, &watched);
  if (!s) return nxi_no_memory("scope");
  s->watched = watched;
  nxi_context_ref(c);
  s->context = c;
  s->outer = innermost;
  innermost = s;
  if (watched) nxi_watch_made(s, NXI_SCOPE, c, "%s", s->outer ? "inside another" : "outermost");
  return s;
}

bool nxi_scope_add(nx_tensor *t) {
  nx_scope *s = innermost;
  while (s && s->context != t->context) s = s->outer;
  if (!s) return true;
  block *b = s->blocks;
  if (!b || b->used == SLOTS) {
    b = nxi_malloc(sizeof *b);
    if (!b) return false;
    b->next = s->blocks;
    b->used = 0;
    s->blocks = b;
  }
  _Atomic(nx_tensor *) *slot = &b->slots[b->used++];
  atomic_init(slot, t);
  atomic_store_explicit(&t->slot, slot, memory_order_relaxed);
  return true;
}

void nxi_scope_forget(nx_tensor *t) {
  _Atomic(nx_tensor *) *slot = atomic_load_explicit(&t->slot, memory_order_relaxed);
  if (!slot) return;
  atomic_store_explicit(slot, NULL, memory_order_relaxed);
  atomic_store_explicit(&t->slot, NULL, memory_order_relaxed);
}

nx_tensor *nx_keep(nx_tensor *t) {
  if (t && !nxi_have_tensor("keep", 0, t)) return NULL;
  if (t) nxi_scope_forget(t);
  return t;
}

static void end_one(nx_scope *s) {
  nxi_head *heads[NXI_RELEASED_AT_ONCE];
  uint32_t n = 0;
  for (block *b = s->blocks, *next; b; b = next) {
    next = b->next;
    for (uint32_t i = 0; i < b->used; i++) {
      nx_tensor *t = atomic_load_explicit(&b->slots[i], memory_order_relaxed);
      if (!t) continue;
      atomic_store_explicit(&t->slot, NULL, memory_order_relaxed);
      heads[n++] = &t->head;
      if (n < NXI_RELEASED_AT_ONCE) continue;
      nxi_heads_release(s->context, heads, n);
      n = 0;
    }
    nxi_free(b);
  }
  if (n) nxi_heads_release(s->context, heads, n);
  nxi_context_unref(s->context);
  if (s->watched) nxi_watch_released(s, false);
  nxi_handle_free(s, s->watched);
}

void nx_scope_end(nx_scope *s) {
  if (!s) return;
  bool open = false;
  for (nx_scope *i = innermost; i; i = i->outer) open |= i == s;
  if (!open && nxi_known_live(s, NXI_SCOPE)) return; /* another thread's */
  if (!open) { /* it has ended, maybe with an outer one: only NX_DEBUG=handles minds */
    nxi_handle_bad("scope_end", 0, s, NXI_SCOPE);
    return;
  }
  for (bool last = false; !last;) {
    nx_scope *inner = innermost;
    innermost = inner->outer;
    last = inner == s;
    end_one(inner);
  }
}
