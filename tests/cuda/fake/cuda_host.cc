/* SPDX-License-Identifier: ISC */
/* What cuda_host.h only names: threads and blocks that take turns, memory between blocks, tensor
 * cores. There once in a process, for all kernels, of which one runs at a time. */
#include "cuda_host.h"

#include <sys/mman.h>
#include <ucontext.h>

nx_host_index threadIdx, blockIdx, gridDim;

static unsigned long long nx_host_seed = 1;
NX_PLAIN static int nx_host_draw(int below) {
  nx_host_seed = nx_host_seed * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((nx_host_seed >> 33) % (unsigned)below);
}

void nx_host_unknown(const char *text) {
  fprintf(stderr, "the instruction %s is not known here\n", text);
  abort();
}

static bool nx_host_is_own(const void *at);
#include "cuda_memory.h"

/* ---- threads of a block */

enum {
  NX_HOST_MOST = 1024,
  NX_HOST_STACK = 64 << 10,
  NX_HOST_GUARD = 1024, /* behind a block's shared memory: nobody writes there */
  NX_HOST_BLOCKS = 8
};
alignas(64) unsigned char nx_shared[NX_HOST_SHARED + NX_HOST_GUARD];

struct nx_host_copy {
  void *to;
  const void *from;
  int bytes, size, group;
};
enum { NX_HOST_COPIES = 128 };
struct nx_host_thread {
  ucontext_t context; /* where it begins, when it is wanted for the first time */
  void *at[5];        /* where it goes on: without asking the system, as contexts would */
  bool made, begun;   /* it has a context; it has used it */
  nx_host_state state;
  int turn;
  unsigned long long said[2];          /* what it shows to its warp, by turns */
  nx_host_copy copies[NX_HOST_COPIES]; /* that have not ended, oldest first */
  int n_copies, group;                 /* group: of the next copy */
};
struct nx_host_resident {
  nx_host_thread threads[NX_HOST_MOST];
  unsigned char shared[NX_HOST_SHARED + NX_HOST_GUARD]; /* while it is another one's turn */
  int number;                                           /* -1: there is no block */
  nx_view view;
};
/* What all blocks need, 500 MB of addresses: pages come as they are touched, and malloc, which
 * tests have fill what it gives, would touch all of them for each kernel. */
struct nx_host_room {
  nx_host_resident residents[NX_HOST_BLOCKS];
  char stacks[NX_HOST_BLOCKS * NX_HOST_MOST][NX_HOST_STACK];
};
static nx_host_room *nx_host_rooms; /* one, or NULL */
static int nx_host_shared_bytes;    /* of a block */
static int nx_host_patience;        /* one in so many times it is another block's turn */
static bool nx_host_is_own(const void *at) {
  const char *c = (const char *)at, *rooms = (const char *)nx_host_rooms;
  return c >= rooms && c < rooms + sizeof *nx_host_rooms;
}
static nx_host_thread *nx_host_threads; /* of the block whose turn it is */
__attribute__((destructor)) static void nx_host_leave() {
  if (nx_host_rooms) munmap(nx_host_rooms, sizeof *nx_host_rooms);
}
static void nx_host_enter() {
  void *at = mmap(NULL, sizeof *nx_host_rooms, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) abort();
  nx_host_rooms = (nx_host_room *)at;
}
static void *nx_host_main[5];
int nx_host_now;
static nx_view *nx_host_view; /* of the block whose turn it is */
static bool nx_host_pauses;   /* the thread waits for another block */

/* The compiler's own jumps: those of the C library are a sanitizer's business too, which has the
 * whole stack in mind at each of them. A function must not have both ends of a jump, and they keep
 * no registers: who calls these must know nothing of what they leave alone. */
#define NX_JUMPS __attribute__((noipa))
NX_PLAIN NX_JUMPS static void nx_host_jump(void **to) { __builtin_longjmp(to, 1); }

NX_PLAIN NX_JUMPS void nx_host_wait(nx_host_state state) {
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  t->state = state;
  if (__builtin_setjmp(t->at) == 0) nx_host_jump(nx_host_main);
}

void nx_host_pause() {
  nx_host_pauses = true;
  nx_host_wait(NX_READY);
}

NX_PLAIN void nx_host_say(const void *value, int size) {
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  t->turn ^= 1;
  memcpy(&t->said[t->turn], value, (size_t)size);
  nx_host_wait(NX_AT_WARP);
}
NX_PLAIN void nx_host_hear(int of, void *value, int size) {
  memcpy(value, &nx_host_threads[of].said[nx_host_threads[nx_host_now].turn], (size_t)size);
}

NX_PLAIN NX_JUMPS static void nx_host_go_on(nx_host_thread *t) {
  nx_seeing = nx_host_view;
  if (__builtin_setjmp(nx_host_main) != 0) {
    nx_seeing = NULL;
    return;
  }
  if (t->begun) nx_host_jump(t->at);
  t->begun = true;
  setcontext(&t->context);
}

#include "cuda_tensor.h"

/* Threads [first, end) all wait in that state, or are done. */
NX_PLAIN static bool nx_host_all(int first, int end, nx_host_state state) {
  bool some = false;
  for (int i = first; i < end; i++) {
    if (nx_host_threads[i].state != state && nx_host_threads[i].state != NX_DONE) return false;
    some |= nx_host_threads[i].state == state;
  }
  return some;
}

NX_PLAIN static void nx_host_release(int first, int end) {
  nx_know(nx_host_view, first, end);
  for (int i = first; i < end; i++)
    if (nx_host_threads[i].state != NX_DONE) nx_host_threads[i].state = NX_READY;
}

/* A ready thread, from a place drawn by chance on; -1: there is none. */
NX_PLAIN static int nx_host_pick(int threads) {
  int start = nx_host_draw(threads);
  for (int i = 0; i < threads; i++)
    if (nx_host_threads[(start + i) % threads].state == NX_READY) return (start + i) % threads;
  return -1;
}

/* Until the block is done, or lets another one go on: false. */
NX_PLAIN static bool nx_host_block(int threads) {
  for (;;) {
    int i = nx_host_pick(threads);
    if (i < 0 && nx_host_all(0, threads, NX_AT_BLOCK)) {
      nx_host_release(0, threads);
      if (nx_host_draw(4) == 0) return false;
      continue;
    }
    if (i < 0 && nx_host_all(0, threads, NX_DONE)) return true;
    if (i < 0) {
      fprintf(stderr, "the threads of a block wait for each other at different places\n");
      abort();
    }
    nx_host_now = threadIdx.x = i;
    nx_host_pauses = false;
    nx_host_go_on(&nx_host_threads[i]);
    if (nx_host_all(i & ~31, (i | 31) + 1 < threads ? (i | 31) + 1 : threads, NX_AT_WARP))
      nx_host_release(i & ~31, (i | 31) + 1);
    if (nx_host_pauses || nx_host_draw(nx_host_patience) == 0) return false;
  }
}

/* ---- calls */

static void (*nx_host_entry)(void *);
static void *nx_host_given;

/* It serves a thread of one block after the other: to make a context asks the system. */
static void nx_host_thread_main() {
  for (;;) {
    nx_host_entry(nx_host_given);
    nx_host_wait(NX_DONE);
  }
}

static void nx_host_make(nx_host_thread *t, char *stack) {
  if (t->made) return;
  getcontext(&t->context);
  t->context.uc_stack.ss_sp = stack;
  t->context.uc_stack.ss_size = NX_HOST_STACK;
  t->context.uc_link = NULL;
  makecontext(&t->context, nx_host_thread_main, 0);
  t->made = true;
}

static void nx_host_begin(int slot, int number, int threads) {
  nx_host_resident *r = &nx_host_rooms->residents[slot];
  r->number = number;
  memset(r->shared, 0xff, (size_t)nx_host_shared_bytes);
  memset(r->shared + nx_host_shared_bytes, 0x5c, NX_HOST_GUARD);
  for (int i = 0; i < threads; i++) {
    nx_host_thread *t = &r->threads[i];
    nx_host_make(t, nx_host_rooms->stacks[slot * NX_HOST_MOST + i]);
    t->state = NX_READY;
    t->turn = t->n_copies = t->group = 0;
  }
}

/* A block that is under way, from a place drawn by chance on; -1: there is none. */
static int nx_host_resident_pick() {
  int start = nx_host_draw(NX_HOST_BLOCKS);
  for (int i = 0; i < NX_HOST_BLOCKS; i++)
    if (nx_host_rooms->residents[(start + i) % NX_HOST_BLOCKS].number >= 0)
      return (start + i) % NX_HOST_BLOCKS;
  return -1;
}

static void nx_host_check_guard() {
  for (int i = 0; i < NX_HOST_GUARD; i++)
    if (nx_shared[nx_host_shared_bytes + i] != 0x5c) {
      fprintf(stderr, "a block writes beyond its %d bytes of shared memory\n",
              nx_host_shared_bytes);
      abort();
    }
}

/* A turn of a block: whether it is done. */
static bool nx_host_turn(nx_host_resident *r, int threads) {
  nx_host_threads = r->threads;
  nx_host_view = &r->view;
  blockIdx.x = r->number;
  nx_view_enter(&r->view);
  bool done = nx_host_block(threads);
  nx_view_leave(&r->view);
  nx_host_check_guard();
  if (done) nx_view_end(&r->view);
  nx_view_drift();
  return done;
}

void nx_host_grid(void (*entry)(void *), void *given, int blocks, int threads, int shared,
                  uint64_t seed) {
  if (!nx_host_rooms) nx_host_enter();
  nx_host_resident *residents = nx_host_rooms->residents;
  if (shared > NX_HOST_SHARED || threads > NX_HOST_MOST) abort();
  nx_host_entry = entry;
  nx_host_given = given;
  nx_host_seed = seed;
  nx_host_shared_bytes = shared;
  nx_host_patience = 1 << (6 + 2 * nx_host_draw(3));
  gridDim.x = blocks;
  const size_t copied = (size_t)shared + NX_HOST_GUARD;
  int begun = 0, last = -1, now, slots = 2 + nx_host_draw(NX_HOST_BLOCKS - 1);
  for (int slot = 0; slot < NX_HOST_BLOCKS; slot++) {
    nx_view_begin(&residents[slot].view);
    residents[slot].number = -1;
    if (slot < slots && begun < blocks) nx_host_begin(slot, begun++, threads);
  }
  for (; (now = nx_host_resident_pick()) >= 0; last = now) {
    nx_host_resident *r = &residents[now];
    if (now != last && last >= 0 && residents[last].number >= 0)
      memcpy(residents[last].shared, nx_shared, copied);
    if (now != last) memcpy(nx_shared, r->shared, copied);
    if (!nx_host_turn(r, threads)) continue;
    r->number = -1;
    now = -1; /* what it leaves in shared memory is nobody's */
    if (begun < blocks) nx_host_begin((int)(r - residents), begun++, threads);
  }
  nx_views_end();
}
