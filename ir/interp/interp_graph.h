/* SPDX-License-Identifier: ISC */
/* Private to the graph interpreter. A program is a list of steps in which everything has been
 * looked up beforehand: the function, the places of operands and result, and how their elements are
 * traversed. interp_plan.c and interp_steps.c make a program, interp_graph.c runs it, and the other
 * interp_ files have the functions of the steps. */
#ifndef NXG_INTERP_GRAPH_H
#define NXG_INTERP_GRAPH_H

#include <stdatomic.h>

#include "block.h"
#include "ir/graph/control.h"
#include "ir/library/library.h"
#include "beside.h"
#include "lanes.h"
#include "rounds.h"

/* Where a value's first element is. NXG_PIECE: in scratch memory that has one piece of the value at
 * a time, of steps that run together. */
typedef enum nxg_memory { NXG_SCRATCH, NXG_PIECE, NXG_CONSTANT, NXG_INPUT, NXG_OUTPUT } nxg_memory;
typedef struct nxg_place {
  nxg_memory memory;
  uint32_t number; /* of the input or output */
  int64_t byte;
} nxg_place;

/* Elements in C order of some shape. Its dimensions are coalesced: none has size 1, and no two
 * adjacent ones could be merged. */
typedef struct nxg_access {
  nxg_place place;
  int32_t rank; /* 0: one element, or one for every index */
  int32_t size; /* bytes of an element; 0: a bool, whose byte counts as 1 unless 0 */
  bool dense;   /* the elements follow one another */
  int64_t *shape;
  int64_t *strides;   /* bytes */
  nxg_repeat *repeat; /* the last dimension is one element, again and again; NULL: it is not */
} nxg_access;

/* One run of a program. */
typedef struct nxg_run_state {
  char *scratch, *pieces;
  const char *constants;
  void *const *inputs;
  void *const *outputs;
  const int64_t *alias_offsets;
  nxi_diag *d;
  nx_status status;
  int32_t (*poll)(void *user); /* NULL: none */
  void *user;
  int64_t polled_ns;
  const nxg_parallel_loop *parallel; /* NULL: no step is divided */
} nxg_run_state;
/* True if the run is to stop. Every loop that may take long asks from time to time; the caller's
 * poll is called every 10 ms. */
bool nxg_stopped(nxg_run_state *r);
/* The part of a run that one of several threads has: no poll, and no steps that are divided. */
nxg_run_state nxg_run_part(const nxg_run_state *r);
/* Runs a loop of `work` elements in all on several threads; false: that takes longer than one, or
 * there are none. A failure is recorded in the run. */
bool nxg_divide(nxg_run_state *r, nxg_loop_body *body, void *arg, int64_t n, int64_t work);

typedef struct nxg_step nxg_step;
/* Computes result[i] from operands[.][i]; all are dense and in the dtype that the kernel computes
 * in. */
typedef void (*nxg_map_kernel)(const nxg_step *s, void *result, const void *const *operands,
                               int64_t n);
/* Reduces n elements, which come from *source, in lanes or plain order. */
struct nxg_source;
typedef void (*nxg_reduce_kernel)(struct nxg_source *source, int64_t n, bool lanes, void *result);

/* A library call, in the program's arena. */
typedef struct nxg_program_call {
  nxg_call call;
  const nxg_functions *functions;
  nxg_call_work work;
  nxg_place operands[NXG_CALL_OPERANDS], results[NXG_CALL_RESULTS], shared, own;
  uint32_t node, origin;
  uint32_t taken; /* mask of results whose places are those of other nodes */
  struct nxg_program_call *next;
} nxg_program_call;

/* Control flow, in the program's arena: a program for each body, and the places of what a frame
 * (control.h) consists of. */
typedef struct nxg_program_control {
  nxg_control c;
  struct nxg_program *bodies[NXG_CONTROL_BRANCHES];
  nxg_place *operands, *results, *spares; /* as in a frame */
  nxg_place index, holds, pointers;
  int64_t *bytes, *strides;
  nx_dtype index_dtype;
  uint32_t origin;
  struct nxg_program_control *next;
} nxg_program_control;

struct nxg_step {
  void (*run)(const nxg_step *s, nxg_run_state *r);
  /* Of elementwise steps: n elements of the result, from `first` on. */
  void (*part)(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n);
  uint32_t together;      /* so many steps, this one the first, run piece by piece; 0: it alone */
  int64_t n;              /* elements of the result, or elements to move */
  nx_dtype dtype, result; /* of the operands (the last one) and of the result */
  uint32_t n_args;
  nxk_op scalar;
  bool direct;        /* map: all operands dense, no conversion: one call of the kernel */
  bool widen, narrow; /* map: operands are small floats computed in f32; the result is one */
  bool lanes;         /* reduce */
  nxg_map_kernel kernel;
  nxg_reduce_kernel reduce;
  union {
    nxg_rounds *rounds;   /* reduce in lanes: NULL if there are none */
    nxg_beside *beside;   /* reduce in plain order: columns at once, or NULL */
    nxg_block_loop *loop; /* map: of a basic operation, or NULL */
  };
  nxg_runs *runs;    /* reduce in lanes: whole runs at once, or NULL */
  nxg_row_map *rows; /* map: rows at once, or NULL. numbers: elements of a row, and the bytes
                           * between rows of each operand */
  nxg_access to;     /* the result */
  nxg_access *args; /* for a reduction: the first elements of the runs, and the elements of a run */
  int64_t *numbers; /* parameters of the step */
  nxg_place temporary; /* matmul of small floats, or with a vector */
  const nxg_program_call *call;
  const nxg_program_control *control;
  uint32_t alias_range; /* update: input whose distance is added to `to`; UINT32_MAX: none */
};

/* A scalar parameter is stored in the scratch memory before the first step. */
typedef struct nxg_param_slot {
  uint32_t param;
  nx_dtype dtype;
  int64_t byte;
} nxg_param_slot;

struct nxg_program {
  nxi_arena arena;
  nxg_step *steps;
  uint32_t n_steps, cap_steps;
  nxg_param_slot *slots;
  uint32_t n_slots, cap_slots;
  char *constants;
  uint32_t n_constants, cap_constants; /* 8 bytes each */
  nxg_program_call *calls;
  nxg_program_control *controls;
  int64_t scratch_bytes, piece_bytes;
  int64_t work;
  _Atomic(void *) spare; /* scratch memory of a run that is over */
  _Atomic bool has_run;
};

static inline char *nxg_address(const nxg_run_state *r, nxg_place p) {
  switch (p.memory) {
    case NXG_SCRATCH: return r->scratch + p.byte;
    case NXG_PIECE: return r->pieces + p.byte;
    case NXG_CONSTANT: return (char *)(uintptr_t)r->constants + p.byte;
    case NXG_INPUT: return (char *)r->inputs[p.number] + p.byte;
    default: return (char *)r->outputs[p.number] + p.byte;
  }
}

/* The address of an element `bytes` behind the first. In a piece it is the first that is there. */
static inline char *nxg_address_of(const nxg_run_state *r, nxg_place p, int64_t bytes) {
  return nxg_address(r, p) + (p.memory == NXG_PIECE ? 0 : bytes);
}

/* Elements of a piece: a few of them fit the nearest cache. */
enum { NXG_PIECE_LENGTH = 2048 };

/* ---- walking (interp_walk.c) */
typedef struct nxg_cursor {
  char *at;
  const nxg_access *access;
  int64_t index[NXG_MAX_RANK];
} nxg_cursor;
void nxg_cursor_start(nxg_cursor *c, const nxg_access *a, char *first);
void nxg_cursor_seek(nxg_cursor *c, int64_t element); /* of one that was just started */
void nxg_cursor_next(nxg_cursor *c);                  /* one element on */
/* The number of the next n elements that lie beside each other in the last dimension. */
int64_t nxg_cursor_left(const nxg_cursor *c, int64_t n);
void nxg_cursor_skip(nxg_cursor *c, int64_t n);         /* so many of these on */
void nxg_gather(nxg_cursor *c, void *dense, int64_t n); /* the next n elements */
void nxg_scatter(nxg_cursor *c, const void *dense, int64_t n);
void nxg_widen(nx_dtype small, const void *from, float *to, int64_t n);
void nxg_narrow(nx_dtype small, const float *from, void *to, int64_t n);
/* Extends the lower halves of bytes, i4 or u4 values, to whole bytes, as nxi_store_element does. */
void nxg_wrap_nibbles(nx_dtype t, void *elements, int64_t n);
enum { NXG_CHUNK = 256 };

/* The source of elements for a reduction, in the dtype that it computes in. */
typedef struct nxg_source {
  nxg_cursor cursor;
  nx_dtype dtype;
  nxg_run_state *run;
  int64_t taken; /* elements since nxg_stopped was last called */
  nxg_rounds *rounds;
} nxg_source;
/* The next n <= NXG_CHUNK elements; buffer has room for them. */
const void *nxg_source_next(nxg_source *s, void *buffer, int64_t n);
/* Called before the next n elements: whether the run is to stop. Cheap enough for blocks of 16. */
static inline bool nxg_source_stopped(nxg_source *s, int64_t n) {
  s->taken += n;
  if (s->taken < 4096) return false;
  s->taken = 0;
  return nxg_stopped(s->run);
}

/* ---- kernels and what steps do */
nxg_map_kernel nxg_find_map(nxk_op op, nx_dtype type);      /* cast, bitcast, select excepted */
nxg_block_loop *nxg_find_loop(nxk_op op, nx_dtype type);    /* of such a kernel; NULL: none */
nxg_map_kernel nxg_find_function(nxk_op op, nx_dtype type); /* NULL: not in blocks */
nxg_map_kernel nxg_find_cast(nx_dtype from, nx_dtype to);
nxg_map_kernel nxg_find_select(nx_dtype type);
nxg_map_kernel nxg_find_bitcast(nx_dtype from, nx_dtype to);
nxg_reduce_kernel nxg_find_reduce(nxk_reduce_kind kind, nx_dtype type);

void nxg_step_map(const nxg_step *s, nxg_run_state *r);
void nxg_part_map(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n);
void nxg_step_move(const nxg_step *s, nxg_run_state *r); /* args[0] to `to` */
/* Unpack i4 and u4 elements of an input, and pack those of an output, which has two in a byte:
 * args[0] to `to`. */
void nxg_step_unpack(const nxg_step *s, nxg_run_state *r);
void nxg_step_pack(const nxg_step *s, nxg_run_state *r);
void nxg_step_fill(const nxg_step *s, nxg_run_state *r);   /* args[0], one element, everywhere */
void nxg_step_arange(const nxg_step *s, nxg_run_state *r); /* numbers: start, step */
void nxg_part_arange(const nxg_step *s, nxg_run_state *r, int64_t first, int64_t n);
void nxg_step_eye(const nxg_step *s, nxg_run_state *r);    /* numbers: rows, columns, k */
void nxg_step_reduce(const nxg_step *s, nxg_run_state *r); /* numbers: elements of the run */
/* numbers: elements of a run, bytes between them in the result, kind, order. args[0]: the elements,
 * run after run; `to`: the first elements of the runs. */
void nxg_step_scan(const nxg_step *s, nxg_run_state *r);
/* numbers: extent of the axis, bytes along it (from element to element of args[0]'s or the
 * result's), node. args[0]: elements of the data whose index along the axis is 0; args[1]:
 * indices. */
void nxg_step_gather(const nxg_step *s, nxg_run_state *r);
/* The same, followed by: whether it adds; 2 for pairs, else 1; for pairs the bytes between the two
 * parts of an update. `to`: elements of the result whose index along the axis is 0, in the dtype of
 * the addition. args[0]: updates. */
void nxg_step_scatter(const nxg_step *s, nxg_run_state *r);
void nxg_step_threefry(const nxg_step *s, nxg_run_state *r);
void nxg_step_matmul(const nxg_step *s, nxg_run_state *r); /* numbers: see interp_library.c */
void nxg_step_call(const nxg_step *s, nxg_run_state *r);
void nxg_release_calls(nxg_program *p);
void nxg_step_control(const nxg_step *s, nxg_run_state *r);
void nxg_release_controls(nxg_program *p);

#endif
