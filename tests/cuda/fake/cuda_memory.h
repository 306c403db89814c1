/* SPDX-License-Identifier: ISC */
/* Memory as other blocks see it: a store of one block becomes visible to the others late, to each
 * of them at another time, and in any order, until a fence says more. Each block that is under way
 * has a view of memory of its own, which is in place while it is the block's turn:
 *
 *   what it has stored and others do not see yet (own);
 *   what others have stored and it does not see yet (stale).
 *
 * A fence of a thread shows the thread's own stores to the others, and those that it knows of
 * because their threads came to a barrier with it; and it lets the block see everything. Atomic
 * operations act on what all see. What is hidden at the end of a turn drifts, by chance. Each place
 * has one order of its values, which no view goes against.
 *
 * The compiler reports stores (-fsanitize=thread, with functions of cuda_host.h in place of its
 * library's); without that option all stores are visible at once. A part of cuda_host.cc. */
enum { NX_HIDDEN = 48, NX_IN_WARP = 1, NX_IN_BLOCK = 2 };
/* other: while it is the block's turn what all others see; else what the block sees. */
struct nx_hidden {
  unsigned char *at;
  int size, thread, known; /* known: at which barriers the thread was since */
  bool stale;
  unsigned char other[16];
};
struct nx_view {
  nx_hidden all[NX_HIDDEN];
  int n;
  bool here;     /* it is in place */
  nx_view *next; /* of all that there are */
};
static nx_view *nx_views;  /* of blocks, and of those that have ended */
static nx_view nx_ended;   /* stores of blocks that have ended */
static nx_view *nx_seeing; /* whose thread runs; NULL: none */
extern "C" char __ehdr_start __attribute__((visibility("hidden"))),
    _end __attribute__((visibility("hidden")));

NX_PLAIN static void nx_swap(nx_hidden *h) {
  for (int i = 0; i < h->size; i++) {
    unsigned char x = h->at[i];
    h->at[i] = h->other[i];
    h->other[i] = x;
  }
}
NX_PLAIN static void nx_view_enter(nx_view *v) {
  for (int i = 0; i < v->n; i++) nx_swap(&v->all[i]);
  v->here = true;
}
NX_PLAIN static void nx_view_leave(nx_view *v) {
  for (int i = 0; i < v->n; i++) nx_swap(&v->all[i]);
  v->here = false;
}

NX_PLAIN static bool nx_overlaps(const nx_hidden *h, const void *at, int size) {
  return h->at < (const unsigned char *)at + size && (const unsigned char *)at < h->at + h->size;
}

/* The view may see the place as it was for a while. */
NX_PLAIN static void nx_keep_stale(nx_view *v, unsigned char *at, int size,
                                   const unsigned char *old) {
  if (nx_host_draw(2) == 0) return;
  for (int i = 0; i < v->n; i++)
    if (nx_overlaps(&v->all[i], at, size)) return;
  nx_hidden *h = &v->all[v->n < NX_HIDDEN ? v->n : nx_host_draw(NX_HIDDEN)];
  if (v->n == NX_HIDDEN && !h->stale) return; /* there is no room */
  if (v->n < NX_HIDDEN) v->n++;
  *h = nx_hidden{at, size, -1, 0, true, {}};
  for (int i = 0; i < size; i++) h->other[i] = old[i];
}

/* An own store becomes visible to the others, or a stale place is seen as it is. */
NX_PLAIN static void nx_show(nx_view *v, int i) {
  nx_hidden h = v->all[i];
  v->all[i] = v->all[--v->n];
  if (h.stale) {
    if (v->here) nx_swap(&h);
    return;
  }
  if (!v->here) nx_swap(&h); /* now memory has the new value, and `other` the old one */
  for (nx_view *w = nx_views; w != NULL; w = w->next)
    if (w != v && !w->here && w != &nx_ended) nx_keep_stale(w, h.at, h.size, h.other);
}

/* What is hidden of the place is shown. */
NX_PLAIN static void nx_settle_in(nx_view *v, const void *at, int size) {
  for (int i = v->n - 1; i >= 0; i--)
    if (nx_overlaps(&v->all[i], at, size)) nx_show(v, i);
}
NX_PLAIN void nx_settle(const void *at, int size) {
  if (nx_seeing != NULL) nx_settle_in(nx_seeing, at, size);
}

/* A thread is about to store there. Of memory that others see: not of stacks and shared memory. */
NX_PLAIN void nx_storing(void *at, int size) {
  nx_view *v = nx_seeing;
  if (v == NULL || nx_host_is_own(at) || ((char *)at >= &__ehdr_start && (char *)at < &_end))
    return;
  for (int i = 0; i < v->n; i++)
    if (v->all[i].at == at && v->all[i].size == size) {
      v->all[i].stale = false;
      v->all[i].thread = threadIdx.x;
      v->all[i].known = 0;
      return;
    }
  nx_settle_in(v, at, size);
  if (v->n == NX_HIDDEN && nx_host_draw(512) != 0) return; /* seen at once: there is no room */
  if (v->n == NX_HIDDEN) nx_show(v, nx_host_draw(NX_HIDDEN));
  nx_hidden *h = &v->all[v->n++];
  *h = nx_hidden{(unsigned char *)at, size, threadIdx.x, 0, false, {}};
  for (int i = 0; i < size; i++) h->other[i] = h->at[i];
}

NX_PLAIN void nx_fence(int thread) {
  nx_view *v = nx_seeing;
  for (int i = v != NULL ? v->n - 1 : -1; i >= 0; i--) {
    const nx_hidden *h = &v->all[i];
    bool with = h->thread == thread || h->known & NX_IN_BLOCK ||
                (h->known & NX_IN_WARP && h->thread / 32 == thread / 32);
    if (h->stale || with) nx_show(v, i);
  }
}

/* Threads [first, end), a warp or a block, have come to a barrier. */
NX_PLAIN static void nx_know(nx_view *v, int first, int end) {
  for (int i = 0; v != NULL && i < v->n; i++)
    if (v->all[i].thread >= first && v->all[i].thread < end)
      v->all[i].known |= first % 32 == 0 && end - first <= 32 ? NX_IN_WARP : NX_IN_BLOCK;
}

/* Some of what is hidden no longer is. */
NX_PLAIN static void nx_view_drift() {
  for (nx_view *v = nx_views; v != NULL; v = v->next)
    for (int i = v->n - 1; i >= 0; i--)
      if (nx_host_draw(8) == 0) nx_show(v, i);
}

/* The block has ended; its stores are still on their way. */
NX_PLAIN static void nx_view_end(nx_view *v) {
  for (; v->n > 0; v->n--) {
    const nx_hidden *h = &v->all[v->n - 1];
    if (h->stale) continue;
    nx_settle_in(&nx_ended, h->at, h->size);
    if (nx_ended.n == NX_HIDDEN) nx_show(&nx_ended, nx_host_draw(NX_HIDDEN));
    nx_ended.all[nx_ended.n++] = *h;
  }
}

NX_PLAIN static void nx_view_begin(nx_view *v) {
  if (nx_views == NULL) nx_views = &nx_ended;
  v->n = 0;
  v->here = false;
  v->next = nx_views;
  nx_views = v;
}
/* At the end of a launch all is visible. */
NX_PLAIN static void nx_views_end() {
  for (nx_view *v = nx_views; v != NULL; v = v->next)
    for (; v->n > 0; v->n--)
      if (!v->all[v->n - 1].stale) nx_swap(&v->all[v->n - 1]);
  nx_views = NULL;
}
