/* SPDX-License-Identifier: ISC */
/* Inside the binders: what is known about a part of a logical kernel, and the tools with which the
 * templates write its bound form. For a GPU the lanes are the threads of a block, or some elements
 * of each of them.
 *
 * A template decides which loop becomes lanes and in what nest the rest runs. Everything below that
 * is shared: a lane map says what each logical value is at the place being written, so writing a
 * logical instruction through a lane map gives it lanes where it varies along them and leaves it
 * one value where it does not. */
#ifndef NXB_BIND_H
#define NXB_BIND_H

#include "ir/kernel/kernel.h"
#include "ir/target.h"

enum {
  NXB_MAX_DIMS = 16, /* outer loops of a part, and blocks of them */
  NXB_MAX_NEST = 16, /* loops of one stage */
  NXB_MAX_LANES = 128
};

typedef struct nxb_loop {
  nxk_value value; /* the logical `for` */
  int64_t lower, step;
  int64_t extent; /* iterations; -1: up to the value `upper` */
  nxk_value upper;
} nxb_loop;

/* A nest of inner loops of one kind, one loop in the other. */
typedef struct nxb_stage {
  nxk_value first, last; /* its outermost `for`, and the end of that */
  bool reduces;
  bool simple; /* loops with constant bounds, one in the other, nothing but loops and code */
  uint32_t n_loops;
  nxb_loop loops[NXB_MAX_NEST];
  int64_t points; /* product of the extents */
  uint32_t n_reduces;
  nxk_value *reduce;
} nxb_stage;

typedef struct nxb_part {
  nxk_value first, last; /* `part` and its end */
  nxk_value body_first,
      body_last; /* what stands in the innermost outer loop (exclusive of it and its end) */
  uint32_t n_outer;
  nxb_loop outer[NXB_MAX_DIMS];
  uint32_t n_stages;
  nxb_stage *stages;
  bool regular; /* perfect outer loops, simple stages: what the templates ask for */
} nxb_part;

typedef struct nxb_binder {
  const nxk_kernel *from;
  nxk_kernel *to;
  const nxi_target *target;
  nxi_diag *diag;
  nxi_arena arena;    /* everything below and all tables of templates */
  nxk_value *end_of;  /* opener -> its end */
  uint64_t *depends;  /* value -> loops it depends on, as bits of loop_bit */
  uint64_t *loop_bit; /* `for` -> its bit, 0 for all others */
  nxk_value *top;     /* constants and params -> the bound value; NXK_NONE for all others */
  uint32_t *local;    /* LOCAL buffer -> the bound one of the part being written, NXK_NONE */
  const nxb_part *part;
  uint16_t threads; /* of a block, on a GPU; else 0 */
  /* cycles of the only task of a part that is still open (cpu/nest.c); 0: none is */
  double pending;
  bool failed; /* memory is exhausted */
} nxb_binder;

void *nxb_alloc(nxb_binder *b, size_t bytes); /* zeroed; NULL sets failed */

/* ---- bind/kernel.c */
/* Logical -> bound: copies what belongs to the launch, and has `bind` write each part that is not
 * empty. threads: as in nxk_kernel. New kernel; NULL: d says why. */
nxk_kernel *nxb_bind_kernel(const nxk_kernel *k, const nxi_target *t, uint16_t threads,
                            void (*bind)(nxb_binder *b), nxi_diag *d);

/* ---- bind/analyze.c */
bool nxb_analyze_kernel(nxb_binder *b);
void nxb_analyze_stage(nxb_binder *b, nxk_value first, nxb_stage *s);
/* Fills p; false if memory is exhausted. */
bool nxb_analyze_part(nxb_binder *b, nxk_value part, nxb_part *p);
static inline bool nxb_depends(const nxb_binder *b, nxk_value v, nxk_value loop) {
  return v != NXK_NONE && (b->depends[v] & b->loop_bit[loop]) != 0;
}
/* True if the last loop of a stage has two points and the one around it may be joined with it, as
 * the halves of bytes of i4 and the bytes may be. */
bool nxb_in_pairs(const nxb_stage *s);
/* The same, and vectors of `lanes` points stay within two loops. */
bool nxb_pairs_fill(const nxb_stage *s, int64_t lanes);
/* Distance in elements between neighbouring points of the loop; `computed` if there is no one
 * distance. */
int64_t nxb_stride(const nxb_binder *b, const nxk_access *a, nxk_value loop, bool *computed);
/* True if the order of this reduction cannot change a bit of its result. */
bool nxb_exact(const nxk_kernel *k, nxk_value reduce);
/* Bytes of the widest value computed along lanes of `loop` (NXK_NONE: any) in [first, last]. */
int64_t nxb_widest(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop);
/* Lanes for code that varies along `loop`: `registers` a value when little is alive, fewer under
 * pressure. */
uint16_t nxb_choose_lanes(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop,
                          uint32_t registers);
/* Lanes along `loop` with which the stores past the caches in [first, last] are whole cache lines;
 * 1: they cannot be, or there is none. */
int64_t nxb_line_lanes(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop);
/* A store past the caches with lanes along `loop`, if rows begin in the middle of cache lines and
 * vectors can be shifted so that all such stores in [first, last] are whole lines; else NULL. */
const nxk_access *nxb_shifted_store(const nxb_binder *b, nxk_value first, nxk_value last,
                                    nxk_value loop);
/* Cycles one outer point takes, roughly, when everything is vectorised well. */
double nxb_point_cycles(const nxb_binder *b);
/* Vector operations one run of the code [first, last] takes, by the cost column of the scalar ops;
 * loops in it count once. */
uint32_t nxb_code_cost(const nxb_binder *b, nxk_value first, nxk_value last);
/* Whether the buffers that a stage reads pass the cache, or nearly so. */
bool nxb_reads_pass_cache(const nxb_binder *b, const nxb_stage *stage);
/* The same for a point when lanes run along `loop` of each stage (NXK_NONE: its last one) or of the
 * outer loops. */
double nxb_lane_cycles(const nxb_binder *b, nxk_value loop);

/* ---- bind/lane_map.c: values */
/* Loads that were copied to LOCAL arrays of a tile first: the element of indices (row, column) is
 * at (row - row_origin + margin) * pitch + column - column_origin + margin. */
typedef struct nxb_tile {
  uint32_t *array; /* logical load -> LOCAL array, NXK_NONE: loaded from its buffer */
  int64_t pitch, margin;
  nxk_value row, column;               /* logical loops */
  nxk_value row_origin, column_origin; /* bound values */
  /* where each lane is in the arrays, in place of all that; NULL: as above */
  const nxk_value *place;
} nxb_tile;

typedef struct nxb_lane_map {
  /* logical value -> bound value, or the base of an affine one; NXK_NONE: not here yet */
  nxk_value *bound;
  /* lane l of an affine value (i64) is base + l * step; 0: `bound` is the value itself. A base with
   * one lane for each thread: base of the thread + (l % group) * step */
  int64_t *step;
  uint16_t group; /* lanes of a thread, where bases differ from thread to thread; else 0 */
  uint16_t lanes;
  nxk_value active;      /* bool lanes that exist; NXK_NONE: all */
  int64_t base_multiple; /* what the base of the vector loop's index is a multiple of */
  /* the vectors of stores past the caches begin at cache lines, whatever the loops' indices are */
  bool on_line;
  nxk_value vector; /* logical loop that lanes run along, NXK_NONE */
  /* LOCAL arrays hold columns of their outer points: element e of column c is at e * columns + c.
   * */
  int64_t columns; /* 0: one outer point, arrays as they are */
  int64_t column_offset;
  nxk_value column,
      column_origin; /* the column of lane 0 is column - column_origin + column_offset */
  bool stores;       /* write stores; false: leave them out */
  nxk_value storing; /* bool lanes that store, of those that are active; NXK_NONE: all */
  /* LOCAL arrays hold elements of each thread alone, in rows of one element a thread: this row
   * (i64, one lane); NXK_NONE: they do not */
  nxk_value slot;
  /* Lanes that run along a loop of two points and the one around it: lane l is at the point l % 2
   * of `pair`, in iteration twice_base + l / 2 of `twice`. NXK_NONE: they do not. Both are in
   * `bound` as well. */
  nxk_value twice, pair, twice_base;
  const nxb_tile *tile; /* or NULL */
  nxk_value given;      /* a load whose value is in `bound` already, NXK_NONE */
} nxb_lane_map;

bool nxb_lane_map_init(nxb_binder *b, nxb_lane_map *v); /* sees constants and params */
bool nxb_lane_map_copy(nxb_binder *b, nxb_lane_map *to,
                       const nxb_lane_map *from); /* shares nothing */
void nxb_lane_map_assign(const nxb_binder *b, nxb_lane_map *to,
                         const nxb_lane_map *from); /* to was initialised */
/* The value with one lane if it is the same in all lanes, else with map->lanes. */
nxk_value nxb_operand(nxb_binder *b, const nxb_lane_map *map, nxk_value v);
/* The value with map->lanes. */
nxk_value nxb_wide(nxb_binder *b, const nxb_lane_map *map, nxk_value v);
/* Sets a loop's index: iteration `i` (i64, one lane), in the lanes i, i + 1, ... if `vector`. */
void nxb_set_index(nxb_binder *b, nxb_lane_map *map, const nxb_loop *loop, nxk_value i,
                   bool vector);
/* Sets the indices of all loops of a stage from a row-major number of their points. `lanes` > 1:
 * lane l is point + l. */
void nxb_set_point(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, nxk_value point,
                   uint16_t lanes);
/* Writes one instruction (no block, no reduce), or a rare block with its picks. Returns the last
 * one written. */
nxk_value nxb_write(nxb_binder *b, nxb_lane_map *map, nxk_value v);
/* The place of a load in the tile, lanes along the columns where they do in the lane map. */
nxk_access nxb_tile_access(nxb_binder *b, const nxb_lane_map *map, const nxb_tile *tile,
                           nxk_value load);
/* Writes [first, last] without what opens and ends loops, without reduces, and without nested
 * stages. */
void nxb_write_code(nxb_binder *b, nxb_lane_map *map, nxk_value first, nxk_value last);
/* Writes what stands in the outer loops but not in the innermost, as far as its operands are there.
 * */
void nxb_write_ready(nxb_binder *b, nxb_lane_map *map);
uint32_t nxb_add_local(nxb_binder *b, nx_dtype t, int64_t elements);

/* Lanes from iteration `from` of `loop` to the next cache line of a store whose lanes run along it;
 * loops around it have their indices in the lane map. */
nxk_value nxb_lanes_to_line(nxb_binder *b, nxb_lane_map *map, const nxk_access *a,
                            const nxb_loop *loop, nxk_value from);
/* A power of two, up to 64, that divides all lanes of an integer. */
int64_t nxb_multiple(const nxb_binder *b, nxk_value v);
bool nxb_is_code(
    nxk_op op); /* what nxb_write_code writes: all but loops, ends, reduces and leaves */

/* ---- small arithmetic on bound values */
nxk_value nxb_int(nxb_binder *b, int64_t x);
nxk_value nxb_add(nxb_binder *b, nxk_value a, int64_t x);
nxk_value nxb_mul(nxb_binder *b, nxk_value a, int64_t x);
nxk_value nxb_div(nxb_binder *b, nxk_value a, int64_t x);
nxk_value nxb_mod(nxb_binder *b, nxk_value a, int64_t x);
nxk_value nxb_op(nxb_binder *b, nxk_op op, nxk_value x, nxk_value y);
static inline int64_t nxb_ceil(int64_t a, int64_t d) { return a / d + (a % d != 0); }
static inline bool nxb_is_constant(const nxk_kernel *k, nxk_value v, int64_t *x) {
  if (k->failed || k->instrs[v].op != NXK_const) return false;
  *x = (int64_t)k->instrs[v].imm;
  return true;
}

/* ---- cpu/nest.c: tasks and the loops in them */
typedef enum nxb_walk {
  NXB_POINT, /* one index after the other */
  NXB_RANGE, /* the template walks lo .. hi itself; lo is a multiple of unit */
  NXB_BLOCK  /* blocks of `unit`, each walked by the template from lo to hi */
} nxb_walk;

typedef struct nxb_dim {
  nxb_loop loop;
  nxb_walk walk;
  int64_t unit;
  nxk_value lo, hi; /* set by nxb_open: iteration numbers (i64, one lane) */
} nxb_dim;

typedef struct nxb_nest {
  uint32_t n;
  nxb_dim dims[NXB_MAX_DIMS];
  uint32_t open; /* blocks to end */
  double cycles; /* of the part, if it has one task; else 0 */
} nxb_nest;

/* Opens a part with its task loop and the loops over all dims, and sets the indices of the POINT
 * ones in `map`. unit_cycles: work of one unit of every dim. */
void nxb_open(nxb_binder *b, nxb_nest *nest, nxb_lane_map *map, double unit_cycles);
void nxb_close(nxb_binder *b, nxb_nest *nest);
/* Ends the part that waits for others to share its only task, if there is one: after the last part,
 * and before one that is opened otherwise. */
void nxb_close_pending(nxb_binder *b);

/* What is done with less than a vector at the end of a loop. */
typedef enum nxb_tail {
  NXB_TAIL_MASKED, /* written out once more, under a mask */
  NXB_TAIL_SINGLE, /* written out once more, one lane at a time: where masks are expensive */
  NXB_TAIL_AGAIN   /* the last vector ends where the loop ends, and does some elements again */
} nxb_tail;
/* The way that suits the code [first, last] in a loop over `extent` elements (-1: unknown). */
nxb_tail nxb_choose_tail(const nxb_binder *b, nxk_value first, nxk_value last, int64_t extent,
                         uint16_t lanes);
/* True if [first, last] may run twice for a point: nothing it reads is written by it, under another
 * name either, and no store counts on the alignment of whole vectors. */
bool nxb_repeats(const nxb_binder *b, nxk_value first, nxk_value last);
/* True if the target loads and stores under a mask well, for every access of [first, last]. */
bool nxb_masks_well(const nxb_binder *b, nxk_value first, nxk_value last);

typedef void (*nxb_body)(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user);
/* Runs body over lo .. hi of a RANGE or BLOCK dim, `lanes` at a time, then what is left over. The
 * lane maps are as before when it returns. */
void nxb_vector_loops(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_dim *dim,
                      uint16_t lanes, nxb_tail tail, nxb_body body, void *user);
/* The same in rows that begin in the middle of cache lines: what comes before the first line of
 * `to`, then whole lines, then the rest. Both ends are written under a mask. lanes: whole lines. */
void nxb_shifted_loops(nxb_binder *b, nxb_lane_map *map, const nxb_dim *dim, uint16_t lanes,
                       const nxk_access *to, nxb_body body, void *user);
/* The same for what is left over alone: dim->lo is where it starts, less than `lanes` before the
 * end. */
void nxb_tail_loop(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_dim *dim,
                   uint16_t lanes, nxb_tail tail, nxb_body body, void *user);

/* ---- bind/reduce.c: folds in the order of the numbers */
typedef struct nxb_partial {
  nxk_value value;
  nxk_value item; /* argmax, argmin: number of the item it came from; else NXK_NONE */
} nxb_partial;

/* How the elements of a run are folded: item by item in blocks, blocks in a pairwise tree. */
typedef struct nxb_fold {
  const nxb_stage *stage;
  const nxk_value *reduce; /* logical reduces that share this order */
  uint32_t n;
  int64_t items;
  int64_t block;   /* items folded one after the other; INT64_MAX: all of them */
  bool exact;      /* any order will do */
  int64_t scale;   /* item i is the point i * scale + shift of the stage */
  nxk_value shift; /* i64, one lane */
  uint8_t vector;  /* > 1: an item is this many points */
  int64_t last;    /* vector > 1: points of the last item if fewer, else 0 */
  uint32_t chains; /* partials at once, a power of two; 1 unless exact */
} nxb_fold;

bool nxb_is_arg(const nxk_kernel *k, nxk_value reduce);
/* Orders of one stage: 16 lanes or one, items a block. */
typedef struct nxb_order {
  int64_t lanes, block;
  bool exact;
} nxb_order;
nxb_order nxb_order_of(const nxk_kernel *k, nxk_value reduce);
/* Groups the reduces of a stage by order: fills `group` (room for n_reduces) with those like the
 * first one not yet done; marks them in done. Returns their number. */
uint32_t nxb_next_group(const nxb_binder *b, const nxb_stage *s, bool *done, nxk_value *group,
                        nxb_order *order);
/* x combined after acc; `item` parts are compared only if `ties`. */
nxb_partial nxb_combine(nxb_binder *b, nxk_value reduce, nxb_partial acc, nxb_partial x, bool ties);
/* The partial that changes nothing; its item number is `item` (i64, one lane). */
nxb_partial nxb_identity(nxb_binder *b, nxk_value reduce, uint16_t lanes, nxk_value item,
                         nx_dtype item_type);
/* The element of the body just written, folded into acc as number `item`. active: lanes that count,
 * or NXK_NONE. */
nxb_partial nxb_accumulate(nxb_binder *b, const nxb_lane_map *map, nxk_value reduce,
                           nxb_partial acc, nxk_value item, nx_dtype item_type, nxk_value active);
nx_dtype nxb_item_type(int64_t items);
/* What a reduction over nothing gives. */
nxk_value nxb_empty_result(nxb_binder *b, nxk_value reduce);
/* Pairwise tree over n partials, a missing partner passes through; the result is in p[0]. stride:
 * between partials. */
void nxb_tree(nxb_binder *b, nxk_value reduce, nxb_partial *p, uint32_t n, uint32_t stride,
              bool ties);
/* Writes the fold for each lane map; out has n_maps * fold->n partials. */
void nxb_write_fold(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_fold *fold,
                    nxb_partial *out);

/* How many partials to keep at once for one value of `lanes` lanes in each of `width` reductions.
 * */
uint32_t nxb_choose_chains(const nxb_binder *b, const nxb_stage *s, const nxk_value *reduce,
                           uint32_t width, uint16_t lanes, int64_t items);
/* The value of a finished reduction is what the lane map shows for it. */
void nxb_set_result(nxb_binder *b, nxb_lane_map *map, nxk_value reduce, nxk_value value);

/* ---- cpu/scan.c */
bool nxb_scans(const nxb_binder *b, nxk_value first, nxk_value last);
/* The loops of a stage in order, with what its scans carry along. */
void nxb_write_scans(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s);
void nxb_bind_scans(nxb_binder *b); /* a whole part */

/* ---- cpu/points.c: code with its loops, kept as they are */
/* What a template does with a stage itself: true if it wrote it. */
typedef bool (*nxb_stage_writer)(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps,
                                 const nxb_stage *s, void *user);
/* Writes [first, last]: map loops in order, reductions one element at a time. writer may be NULL.
 * */
void nxb_write_body(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value first,
                    nxk_value last, nxb_stage_writer writer, void *user);
/* Gives the part's LOCAL arrays their bound ones, `columns` outer points in each. */
void nxb_add_locals(nxb_binder *b, int64_t columns);
/* A dimension of an outer loop. */
nxb_dim nxb_outer_dim(const nxb_binder *b, uint32_t i, nxb_walk walk, int64_t unit);
/* Fewer lanes if the extent would leave many of them idle. */
uint16_t nxb_fit_lanes(const nxb_binder *b, uint16_t lanes, int64_t widest, int64_t extent);

/* cpu/map.c: n vectors of n lanes, n a power of two up to 16: rows become columns. */
void nxb_turn_over(nxb_binder *b, nxk_value *rows, int64_t n);

/* ---- bind_gpu_*.c. Each writes the whole part. */
void nxb_gpu_points(nxb_binder *b); /* a point, or some neighbours, for each thread */
bool nxb_gpu_rows_fit(nxb_binder *b);
void nxb_gpu_rows(nxb_binder *b); /* the points of one run for some threads of a block */
bool nxb_gpu_scans_fit(nxb_binder *b);
void nxb_gpu_scans(
    nxb_binder *b); /* lines of contiguous memory, a thread each, through a LOCAL array */
bool nxb_gpu_tiles_fit(nxb_binder *b);
void nxb_gpu_tiles(nxb_binder *b); /* a square of two loops for a block, through a LOCAL array */

/* ---- templates of the CPU. Each writes the whole part. */
void nxb_bind_points(nxb_binder *b, nxk_value vector_loop); /* cpu/points.c; NXK_NONE: no lanes */
void nxb_bind_literal(nxb_binder *b); /* cpu/points.c: any part, one task, no lanes */
void nxb_bind_map(nxb_binder *b);     /* cpu/map.c: parts without stages */
void nxb_bind_rows(nxb_binder *b);    /* cpu/rows.c */
void nxb_bind_strips(nxb_binder *b, nxk_value vector_loop); /* cpu/strips.c */

#endif
