/* SPDX-License-Identifier: ISC */
/* One random program: the live tensors, mappings, imports and functions of a thread, each next to
 * what the model says of it. world.c has what every step uses; steps.c,
 * mutation.c and function.c have the steps. */
#ifndef NXT_MODEL_WORLD_H
#define NXT_MODEL_WORLD_H

#include "ir/alloc.h"
#include "model.h"
#include "nx/nx.h"
#include "tests/util/random_values.h"

enum { MOST_HANDLES = 24, MOST_MAPPINGS = 5, MOST_HOSTS = 64, MOST_FUNCTIONS = 3, MOST_SCOPES = 3 };

typedef struct handle {
  nx_tensor *t;
  model_view v;  /* a reference of the storage */
  uint32_t refs; /* of t that this world owns */
  int scope;     /* in which one reference is the scope's; 0: in none */
  uint32_t name;
} handle;

typedef struct mapped {
  nx_mapping *m;
  model_storage *s;
  uint32_t access, name;
} mapped;

/* Imported memory. */
typedef struct host {
  void *memory;
  model_storage *s; /* NULL: a copy was made */
  size_t bytes;
  int released; /* calls of the callback */
  uint32_t mode;
  bool overlapped; /* other imports lie in the same memory */
  bool borrowed;   /* the memory is another one's */
} host;

/* What is captured: y0 = first(x, w); an assign; y1 = second(w, x); results y1, and y0, w or x. */
typedef struct function {
  nx_function *f;
  model_view w;
  nxg_op first, second;
  int assign, extra; /* see function.c */
  bool donate;
  uint32_t name;
} function;

typedef struct world {
  nx_context *c;
  nxt_random r;
  uint32_t flags;     /* of the context */
  bool faults;        /* allocations fail now and then */
  bool shared;        /* other threads work in the context */
  bool aborts;        /* a fault prints the log and aborts, which a fuzzer sees */
  nx_dtype dtypes[2]; /* most tensors have one of these two, so that they meet */
  int64_t extent;     /* and most axes about this */
  bool armed;
  bool capturing; /* nothing is read meanwhile */
  bool unfused;   /* see step_fusion */
  nxt_random fault_random;
  handle handles[MOST_HANDLES];
  uint32_t n_handles;
  mapped mappings[MOST_MAPPINGS];
  uint32_t n_mappings;
  host hosts[MOST_HOSTS];
  uint32_t n_hosts;
  function functions[MOST_FUNCTIONS];
  uint32_t n_functions;
  nx_scope *scopes[MOST_SCOPES];
  uint32_t n_scopes, n_names;
  char *log;
  size_t logged;
} world;

enum { LOG_BYTES = 1 << 18 };

/* The program as text; the fault, after which the process ends. */
void say(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void fault(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline int64_t below(world *w, int64_t n) { return nxt_below(&w->r, n); }
static inline bool chance(world *w, int percent) { return nxt_chance(&w->r, percent); }

/* ---- calls. With faults, an allocation may fail in each: then nothing has changed, and a second
 * try works. */
void arm(world *w);
/* True if the call that just failed did so for want of memory, and is to be tried again. */
bool try_again(world *w, bool failed);
void expect_status(world *w, nx_status is, nx_status wanted, const char *what);
#define MAKE(w, variable, expression)                           \
  do {                                                          \
    arm(w);                                                     \
    (variable) = (expression);                                  \
    if (try_again((w), !(variable))) (variable) = (expression); \
  } while (0)
#define ACT(w, variable, expression)                                    \
  do {                                                                  \
    arm(w);                                                             \
    (variable) = (expression);                                          \
    if (try_again((w), (variable) != NX_OK)) (variable) = (expression); \
  } while (0)
#define EXPECT_STATUS(w, wanted, expression)              \
  do {                                                    \
    nx_status expected_;                                  \
    ACT((w), expected_, (expression));                    \
    expect_status((w), expected_, (wanted), #expression); \
  } while (0)
#define EXPECT_OK(w, expression) EXPECT_STATUS((w), NX_OK, (expression))

/* ---- handles */
/* Takes t and the reference of the storage. Compares what t says of itself. Returns its place. */
handle *add_handle(world *w, nx_tensor *t, model_storage *s, const nxg_view *v);
handle *any_handle(world *w);          /* NULL if there is none */
void drop_handle(world *w, handle *h); /* one reference */
/* One whose dtype and shape are these; NULL if there is none. */
handle *find_like(world *w, nx_dtype dtype, const nxg_view *v);
handle *similar(
    world *w,
    const handle *like); /* one that broadcasts with it, of its dtype; itself if there is none */
void check_handle(world *w, handle *h); /* reads it */
bool is_assignable(
    const handle *h); /* in the model: a view without overlap, not read only, not frozen */
/* The whole storage as a vector. */
nxg_view whole_of(const model_storage *s);
void random_shape(world *w, int32_t *rank, int64_t *shape);
void choose_style(world *w); /* what most tensors of the program are like */
nx_dtype random_dtype(world *w);
void random_data(world *w, nx_dtype t, void *data, int64_t n);
/* Element i, converted; the imaginary part of a complex one is another number. */
void set_number(void *data, nx_dtype t, int64_t i, int64_t x);
double get_number(const void *data, nx_dtype t, int64_t i, int part);
const char *shape_text(const nxg_view *v); /* static, of this thread */

/* ---- host memory */
void settle(world *w); /* what is deferred is realised: host code may look and write */
/* Whether the storage's memory, which the host knows, shows its value: what that waits for is
 * realised. Without a tensor of it nobody knows. */
bool is_shown(world *w, const model_storage *s);
void check_memory(world *w, const model_storage *s, const void *base, const char *what);

/* ---- steps */
/* On top of what NX_DEBUG says. */
void set_fusion(bool fused);
void random_step(world *w);
void step_import(world *w);
void step_window(world *w);
void step_end_sharing(world *w);
void step_pending(world *w);
void step_assign(world *w);
void step_update(world *w);
void step_write(world *w);
void step_realize(world *w);
void step_item(world *w);
void step_read(world *w);
void step_hold(world *w);
void step_map(world *w);
void step_unmap(world *w);
void step_host(world *w);
void step_function(world *w);
void step_call(world *w);
void release_function(world *w, uint32_t i);
void step_overlap(world *w);
void step_gather(world *w);
void step_scatter(world *w);
void step_scan(world *w);
void step_qr(world *w);
void step_bad(world *w);
/* Adds the result of an operation, or looks that it failed as the model's did. */
void result_of(world *w, nx_tensor *x, nxg_op op, uint32_t n, handle *const *h,
               const int64_t *attrs, uint32_t n_attrs, nx_dtype given);

/* ---- the end: everything is read, then released; callbacks ran once each. With w->shared the
 * context is not looked at. */
void end_world(world *w);

#endif
