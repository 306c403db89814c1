/* SPDX-License-Identifier: ISC */
/* Private to the binders: what is known about a region of a logical kernel, and the functions with
 * which the templates write its bound form. For a GPU the lanes are the threads of a block, or
 * several lanes belong to each thread.
 *
 * A template decides which loop becomes lanes and how the other loops are nested. All templates
 * share the rest. A lane map gives the bound value that stands for each logical value at the place
 * that is being written. An instruction written through a lane map gets lanes if it varies along
 * the vector loop, and stays a single value if it does not. */
#ifndef NXB_BIND_H
#define NXB_BIND_H

#include "ir/kernel/kernel.h"
#include "ir/target.h"

enum {
  NXB_MAX_DIMS = 16, /* outer loops of a region, and loops over blocks of them */
  NXB_MAX_NEST = 16, /* loops of one stage */
  NXB_MAX_LANES = 128
};

typedef struct nxb_loop {
  nxk_value value; /* the logical `for` */
  int64_t lower, step;
  int64_t extent; /* iterations; -1: unknown, the loop ends at the value `upper` */
  nxk_value upper;
} nxb_loop;

/* A nest of inner loops of one kind. */
typedef struct nxb_stage {
  nxk_value first, last; /* its outermost `for` and the `end` of that */
  bool reduces;
  bool simple; /* perfectly nested loops with constant bounds */
  uint32_t n_loops;
  nxb_loop loops[NXB_MAX_NEST];
  int64_t points; /* product of the extents */
  uint32_t n_reduces;
  nxk_value *reduce;
} nxb_stage;

typedef struct nxb_region {
  nxk_value first, last; /* `region` and its end */
  nxk_value body_first,
      body_last; /* the code in the innermost outer loop (without its `for` and `end`) */
  uint32_t n_outer;
  nxb_loop outer[NXB_MAX_DIMS];
  uint32_t n_stages;
  nxb_stage *stages;
  bool regular; /* perfectly nested outer loops and simple stages, which most templates need */
} nxb_region;

typedef struct nxb_binder {
  const nxk_kernel *from;
  nxk_kernel *to;
  const nxi_target *target;
  nxi_diag *diag;
  nxi_arena arena;    /* everything below and all tables of templates */
  nxk_value *end_of;  /* opener -> its end */
  uint64_t *depends;  /* value -> loops it depends on, as bits of loop_bit */
  uint64_t *loop_bit; /* `for` -> its bit, 0 for all others */
  nxk_value *top;     /* constants and params -> bound value; NXK_NONE for all others */
  /* LOCAL buffer -> its bound one in the region that is being written, or NXK_NONE */
  uint32_t *local;
  const nxb_region *region;
  double most_points; /* of the outer loops around any store */
  uint16_t threads;   /* of a block, on a GPU; else 0 */
  /* if a region with one task is still open so that further regions can be added to that task: the
   * cycles in it so far (cpu/nest.c); else 0 */
  double pending;
  bool tiny; /* and generic: its form depends on no extent (nxb_is_tiny) */
  /* rows that are computed together in a region that is bound as rows, of which what is read once
   * is read in order (memory.c); else 0 */
  uint32_t rows;
  bool failed; /* memory is exhausted */
} nxb_binder;

void *nxb_alloc(nxb_binder *b, size_t bytes); /* zeroed; NULL sets failed */

/* ---- bind/kernel.c */
/* Logical -> bound: copies buffers and parameters, and calls `bind` to write each region that is
 * not empty. threads: as in nxk_kernel. Returns a new kernel; NULL: d says why. */
nxk_kernel *nxb_bind_kernel(const nxk_kernel *k, const nxi_target *t, uint16_t threads,
                            void (*bind)(nxb_binder *b), nxi_diag *d);

/* Whether a logical kernel computes so few points that its form need not suit them. In the generic
 * form all such kernels of a kind then have one. */
bool nxb_is_tiny(const nxk_kernel *k);

/* ---- bind/analyze.c */
bool nxb_analyze_kernel(nxb_binder *b);
void nxb_analyze_stage(nxb_binder *b, nxk_value first, nxb_stage *s);
/* Fills p; false if memory is exhausted. */
bool nxb_analyze_region(nxb_binder *b, nxk_value region, nxb_region *p);
static inline bool nxb_depends(const nxb_binder *b, nxk_value v, nxk_value loop) {
  return v != NXK_NONE && (b->depends[v] & b->loop_bit[loop]) != 0;
}
/* True if the last loop of a stage has two points and lanes can run along it and the loop around it
 * together, such as the loop over the halves of a byte of i4 and the loop over the bytes. */
bool nxb_in_pairs(const nxb_stage *s);
/* The same, and no vector of `lanes` points extends beyond these two loops. */
bool nxb_pairs_fill(const nxb_stage *s, int64_t lanes);
/* Whether the points of the region have steps: a seq loop each. */
bool nxb_has_steps(const nxb_binder *b);
/* Distance in elements between neighbouring points of the loop. Sets `computed` if the distance is
 * not constant. */
int64_t nxb_stride(const nxb_binder *b, const nxk_access *a, nxk_value loop, bool *computed);
/* True if this reduction has the same bits in any order. */
bool nxb_exact(const nxk_kernel *k, nxk_value reduce);
/* A rough estimate of the cycles that one outer point takes when all its code is vectorised. */
double nxb_point_cycles(const nxb_binder *b);
/* Vector operations that the code [first, last] takes, by the cost column of scalar_ops.def. The
 * body of a loop counts once. */
uint32_t nxb_code_cost(const nxb_binder *b, nxk_value first, nxk_value last);
/* Whether the buffers that a stage reads are larger than 3/4 of the last-level cache. */
bool nxb_reads_pass_cache(const nxb_binder *b, const nxb_stage *stage);
/* The estimated cycles of one outer point if lanes run along `loop`, which is an outer loop;
 * NXK_NONE: along the last loop of each stage. */
double nxb_lane_cycles(const nxb_binder *b, nxk_value loop);

/* ---- bind/strided.c */
/* Elements of the row, of `apart` elements for each lane, of which load or store v accesses one and
 * others of its block the rest. 0: it is not of this form, or they are not two or four. */
int64_t nxb_row_of(const nxb_binder *b, nxk_value v, int64_t apart);

/* ---- bind/lanes.c */
int64_t nxb_largest_array(const nxb_binder *b); /* its elements */
/* Bytes of the widest value in [first, last] that varies along `loop` (NXK_NONE: of any value). */
int64_t nxb_widest(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop);
/* Lanes for code that varies along `loop`: each value takes `registers` vector registers if few
 * values are live, fewer if many are. */
uint16_t nxb_choose_lanes(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop,
                          uint32_t registers);
/* The number of lanes along `loop` with which all nontemporal stores in [first, last] are whole
 * cache lines; 1 if there is no such number or no such store. */
int64_t nxb_line_lanes(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop);
/* If rows along `loop` begin in the middle of cache lines, and the vectors can be shifted so that
 * all nontemporal stores in [first, last] are whole lines: one of these stores. Else NULL. plain:
 * if there are none, those count that write more than a core's own cache holds. */
const nxk_access *nxb_shifted_store(const nxb_binder *b, nxk_value first, nxk_value last,
                                    nxk_value loop, bool plain);

/* ---- bind/lane_map.c: values */
/* A tile of the iteration space whose loads were copied to LOCAL arrays before. The element for the
 * indices (row, column) is at (row - row_origin + margin) * pitch + column - column_origin +
 * margin. */
typedef struct nxb_tile {
  uint32_t *array; /* logical load -> LOCAL array, NXK_NONE: loaded from its buffer */
  int64_t pitch, margin;
  nxk_value row, column;               /* logical loops */
  nxk_value row_origin, column_origin; /* bound values */
  /* if not NULL: the element of each lane, used instead of that formula */
  const nxk_value *place;
} nxb_tile;

typedef struct nxb_lane_map {
  /* logical value -> bound value, or the base of an affine one; NXK_NONE: not here yet */
  nxk_value *bound;
  /* 0: `bound` is the value itself. Else the value is an affine i64: lane l is bound + l * step;
   * or, if `bound` has one lane for each thread, bound of the thread + (l % group) * step */
  int64_t *step;
  uint16_t group; /* lanes of a thread, if bases differ from thread to thread; else 0 */
  uint16_t lanes;
  nxk_value active;      /* bool: which lanes are inside the loop; NXK_NONE: all */
  int64_t base_multiple; /* what the base of the vector loop's index is a multiple of */
  /* nontemporal stores begin at cache lines even if that does not follow from the loops' indices */
  bool on_line;
  nxk_value vector; /* logical loop that lanes run along, NXK_NONE */
  /* LOCAL arrays hold several outer points side by side, as columns: element e of column c is at e
   * * columns + c. */
  int64_t columns; /* 0: they hold one outer point */
  int64_t column_offset;
  nxk_value column,
      column_origin; /* the column of lane 0 is column - column_origin + column_offset */
  bool stores;       /* false: stores are left out */
  nxk_value storing; /* bool: which of the active lanes store; NXK_NONE: all */
  /* If LOCAL arrays consist of rows with one element for each thread (`own`): the current row (i64,
   * one lane). Else NXK_NONE */
  nxk_value slot;
  /* If lanes run along a loop of two points (`pair`) and the loop around it (`twice`): lane l is at
   * the point l % 2 of `pair`, in iteration twice_base + l / 2 of `twice`. Else NXK_NONE. Both
   * loops have their values in `bound` as well. */
  nxk_value twice, pair, twice_base;
  int64_t prefetch;     /* elements beyond a load that are prefetched, or 0 */
  const nxb_tile *tile; /* or NULL */
  nxk_value given;      /* a load whose value is in `bound` already, or NXK_NONE */
  const uint8_t *kept;  /* marks more such loads, or NULL */
} nxb_lane_map;

bool nxb_lane_map_init(nxb_binder *b, nxb_lane_map *v); /* maps constants and params only */
bool nxb_lane_map_copy(nxb_binder *b, nxb_lane_map *to, const nxb_lane_map *from); /* a deep copy */
void nxb_lane_map_assign(const nxb_binder *b, nxb_lane_map *to,
                         const nxb_lane_map *from); /* `to` has been initialised */
/* The value with one lane if it is the same in all lanes, else with map->lanes. */
nxk_value nxb_operand(nxb_binder *b, const nxb_lane_map *map, nxk_value v);
/* The value with map->lanes. */
nxk_value nxb_wide(nxb_binder *b, const nxb_lane_map *map, nxk_value v);
/* Repeats in all lanes what code of the stage that varies reads of loaded values that do not: once,
 * where this is called, and not at each use. */
void nxb_widen_shared(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, const bool *varies,
                      uint16_t lanes);
/* Sets the index of a loop to iteration `i` (i64, one lane); if `vector`, to the iterations i, i +
 * 1, ... in the lanes. */
void nxb_set_index(nxb_binder *b, nxb_lane_map *map, const nxb_loop *loop, nxk_value i,
                   bool vector);
/* Sets the indices of all loops of a stage to those of a point, which is given by its row-major
 * number. `lanes` > 1: lane l is at point + l. */
void nxb_set_point(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, nxk_value point,
                   uint16_t lanes);
/* Writes one instruction that is neither a block nor a reduce, or a cold block with its blends.
 * Returns the last instruction written. */
nxk_value nxb_write(nxb_binder *b, nxb_lane_map *map, nxk_value v);
/* The access of a load in the tile's LOCAL array. Its lanes run along the columns if the lane map's
 * do. */
nxk_access nxb_tile_access(nxb_binder *b, const nxb_lane_map *map, const nxb_tile *tile,
                           nxk_value load);
/* Writes the code of [first, last] that is neither a loop, a reduce nor region of a nested
 * stage. */
void nxb_write_code(nxb_binder *b, nxb_lane_map *map, nxk_value first, nxk_value last);
/* Writes the code that stands in the outer loops outside the innermost one, as far as its operands
 * have been written. */
void nxb_write_ready(nxb_binder *b, nxb_lane_map *map);
uint32_t nxb_add_local(nxb_binder *b, nx_dtype t, int64_t elements);

/* The number of iterations from `from` of `loop` to the next start of a cache line of a store along
 * it. The loops around it must have their indices in the lane map. */
nxk_value nxb_lanes_to_line(nxb_binder *b, nxb_lane_map *map, const nxk_access *a,
                            const nxb_loop *loop, nxk_value from);
/* A power of two, up to 64, that divides all lanes of an integer. */
int64_t nxb_multiple(const nxb_binder *b, nxk_value v);
bool nxb_is_code(
    nxk_op op); /* whether nxb_write_code writes it: all but loops, ends, reduces and leaves */

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
  NXB_POINT, /* one iteration after the other */
  NXB_RANGE, /* the template writes the loop lo .. hi; lo is a multiple of unit */
  NXB_BLOCK  /* a loop over blocks of `unit`; the template writes the loop lo .. hi in each */
} nxb_walk;

typedef struct nxb_dim {
  nxb_loop loop;
  nxb_walk walk;
  int64_t unit;
  nxk_value lo, hi; /* set by nxb_open: iteration numbers (i64, one lane) */
  /* tasks have all of it, if those before it are enough: with constant bounds it can be cut where
   * the masks of loads change (ranges.c) */
  bool whole;
} nxb_dim;

typedef struct nxb_nest {
  uint32_t n;
  nxb_dim dims[NXB_MAX_DIMS];
  uint32_t open; /* blocks to end */
  double cycles; /* cycles of the region, if it has one task; else 0 */
} nxb_nest;

/* Opens a region with its task loop and the loops over all dims, and sets the indices of the POINT
 * dims in `map`. unit_cycles: the cycles of one unit of every dim together. */
void nxb_open(nxb_binder *b, nxb_nest *nest, nxb_lane_map *map, double unit_cycles);
void nxb_close(nxb_binder *b, nxb_nest *nest);
/* Ends the open region whose only task is kept for further regions (nxb_binder.pending), if there
 * is one. Called after the last region, and before a region that cannot share the task. */
void nxb_close_pending(nxb_binder *b);

/* How the elements at the end of a loop are computed if they are fewer than a vector. */
typedef enum nxb_tail {
  NXB_TAIL_MASKED, /* the body is written once more, under a mask */
  NXB_TAIL_SINGLE, /* the body is written once more, for single lanes: where masks are expensive */
  /* the last vector ends at the end of the loop; some elements are computed twice */
  NXB_TAIL_AGAIN,
  /* the same by vectors of one register, where there are as many elements, else under a mask or one
   * by one: of any extent (in the generic form) where masks are slow, and where there are none */
  NXB_TAIL_NARROW
} nxb_tail;
/* Chooses the tail for the code [first, last] in a loop over `extent` elements (-1: unknown). */
nxb_tail nxb_choose_tail(const nxb_binder *b, nxk_value first, nxk_value last, int64_t extent,
                         uint16_t lanes);
/* True if [first, last] may run twice for a point: it does not read what it writes (also not
 * through another buffer of the same memory), and no store needs its vectors aligned. */
bool nxb_repeats(const nxb_binder *b, nxk_value first, nxk_value last);
/* True if the target has fast masked loads and stores for every access of [first, last]. */
bool nxb_masks_well(const nxb_binder *b, nxk_value first, nxk_value last);

typedef void (*nxb_body)(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user);
/* Writes a loop over lo .. hi of a RANGE or BLOCK dim, `lanes` at a time, with `body` as its body,
 * and then the tail. Leaves the lane maps unchanged. */
void nxb_vector_loops(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_dim *dim,
                      uint16_t lanes, nxb_tail tail, nxb_body body, void *user);
/* The same for rows that begin in the middle of cache lines: first the elements before the first
 * line of `to`, then vectors of whole lines, then the rest. Both ends are written under a mask.
 * `lanes` is a whole number of lines. */
void nxb_shifted_loops(nxb_binder *b, nxb_lane_map *map, const nxb_dim *dim, uint16_t lanes,
                       const nxk_access *to, nxb_body body, void *user);
/* The same for one of the blocks that a dim is cut into, whose unit is a whole number of lines. The
 * last line that begins in a block is left to the next one, unless the row ends here; so a block
 * also computes elements of the block before, at most a line of them, from iteration `from` on.
 * `from` is dim->lo less a line, or 0 in the first block. */
void nxb_shifted_block(nxb_binder *b, nxb_lane_map *map, const nxb_dim *dim, nxk_value from,
                       const nxk_access *to, nxb_body body, void *user);
/* Writes the tail alone: dim->lo is its start, less than `lanes` before the end. Elements from
 * `floor` on may be computed again where the tail allows it. */
void nxb_tail_loop(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_dim *dim,
                   nxk_value floor, uint16_t lanes, nxb_tail tail, nxb_body body, void *user);

/* ---- bind/reduce.c: reductions in the order of the numbers */
typedef struct nxb_partial {
  nxk_value value;
  nxk_value item; /* argmax, argmin: number of the item that the value came from; else NXK_NONE */
} nxb_partial;

/* How the elements of a run are reduced: the items of a block sequentially, the blocks in a
 * pairwise tree. */
typedef struct nxb_reduction {
  const nxb_stage *stage;
  const nxk_value *reduce; /* logical reduces that share this order */
  uint32_t n;
  int64_t items;
  int64_t block;   /* items of a block; INT64_MAX: all of them are one block */
  bool exact;      /* any order gives the same bits */
  int64_t scale;   /* item i is the point i * scale + shift of the stage */
  nxk_value shift; /* i64, one lane */
  uint8_t vector;  /* > 1: an item is a vector of this many points */
  int64_t last;    /* vector > 1: points of the last item if they are fewer, else 0 */
  uint32_t chains; /* independent partial results, a power of two; 1 unless exact */
} nxb_reduction;

bool nxb_is_arg(const nxk_kernel *k, nxk_value reduce);
/* The order of a reduction: its lanes, 16 or 1, and the items of a block. */
typedef struct nxb_order {
  int64_t lanes, block;
  bool exact;
} nxb_order;
nxb_order nxb_order_of(const nxk_kernel *k, nxk_value reduce);
/* Groups the reduces of a stage by order: fills `group` (room for n_reduces) with the first reduce
 * that is not yet in done and all others of the same order, and marks them in done. Returns their
 * number. */
uint32_t nxb_next_group(const nxb_binder *b, const nxb_stage *s, bool *done, nxk_value *group,
                        nxb_order *order);
/* Combines acc and x, where acc comes first in the order. If `ties`, equal values of an argmax or
 * argmin are decided by their item numbers; otherwise acc wins. */
nxb_partial nxb_combine(nxb_binder *b, nxk_value reduce, nxb_partial acc, nxb_partial x, bool ties);
/* The identity of the reduction as a partial result; its item number is `item` (i64, one lane). */
nxb_partial nxb_identity(nxb_binder *b, nxk_value reduce, uint16_t lanes, nxk_value item,
                         nx_dtype item_type);
/* Combines acc with the element of the body that was written last, as item number `item`. active:
 * the lanes that exist, or NXK_NONE. */
nxb_partial nxb_accumulate(nxb_binder *b, const nxb_lane_map *map, nxk_value reduce,
                           nxb_partial acc, nxk_value item, nx_dtype item_type, nxk_value active);
nx_dtype nxb_item_type(int64_t items);
/* Whether all 16 lanes of a run are written, be there a point in each or not: a lane without one
 * has the identity. */
bool nxb_any_lanes(const nxb_binder *b, const nxb_stage *s);
/* The result of a reduction over no elements. */
nxk_value nxb_empty_result(nxb_binder *b, nxk_value reduce);
/* Combines n partial results, `stride` apart in p, in a pairwise tree; one without a partner goes
 * up a level unchanged. The result is in p[0]. */
void nxb_tree(nxb_binder *b, nxk_value reduce, nxb_partial *p, uint32_t n, uint32_t stride,
              bool ties);
/* Writes the reduction for each lane map; `out` has room for n_maps * reduction->n partial
 * results. */
void nxb_write_reduction(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps,
                         const nxb_reduction *reduction, nxb_partial *out);

/* How many independent partial results to keep for each of `width` reductions of values with
 * `lanes` lanes. */
uint32_t nxb_choose_chains(const nxb_binder *b, const nxb_stage *s, const nxk_value *reduce,
                           uint32_t width, uint16_t lanes, int64_t items);
/* Enters the value of a finished reduction into the lane map. */
void nxb_set_result(nxb_binder *b, nxb_lane_map *map, nxk_value reduce, nxk_value value);

/* ---- cpu/scan.c */
bool nxb_scans(const nxb_binder *b, nxk_value first, nxk_value last);
/* Writes the loops of a stage sequentially, with the carries of its scans. */
void nxb_write_scans(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s);
void nxb_bind_scans(nxb_binder *b); /* writes a whole region */

/* ---- cpu/points.c: code with its loops, kept as they are */
/* Writes a stage if the template has a way of its own for it; returns whether it did. */
typedef bool (*nxb_stage_writer)(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps,
                                 const nxb_stage *s, void *user);
/* Writes [first, last]: map loops sequentially, reductions one element at a time, unless `writer`
 * (may be NULL) writes them. */
void nxb_write_body(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value first,
                    nxk_value last, nxb_stage_writer writer, void *user);
/* A writer of vectors of points: all code of the region, for the points of the lane maps. */
void nxb_write_points(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user);
/* Adds bound arrays for the LOCAL arrays of the region, each with room for `columns` outer
 * points. */
void nxb_add_locals(nxb_binder *b, int64_t columns);
/* The nxb_dim of outer loop i. */
nxb_dim nxb_outer_dim(const nxb_binder *b, uint32_t i, nxb_walk walk, int64_t unit);
/* Returns `lanes`, or fewer if the extent would leave many of them inactive. */
uint16_t nxb_fit_lanes(const nxb_binder *b, uint16_t lanes, int64_t widest, int64_t extent);

/* ---- cpu/strip_shape.c */
enum { NXB_STRIP_ROWS = 16 }; /* most rows of a strip that are processed together */
/* columns: the loop along which strips are cut. */
uint32_t nxb_strip_rows(const nxb_binder *b, const nxb_stage *stage, const nxb_loop *columns);
/* Whether the stage is short code that reads rows from memory, each where the one before ends. */
bool nxb_strip_in_order(const nxb_binder *b, const nxb_stage *stage, const nxb_loop *columns);
/* Whether the 16 lanes of a sum take turns, so that its rows are read as they follow each other in
 * memory: each lane has partial results of its own then, and a strip has all columns. */
bool nxb_strip_in_turn(const nxb_binder *b, const nxb_stage *stage, const nxb_loop *columns);
uint16_t nxb_strip_lanes(const nxb_binder *b, const nxb_loop *columns);
/* Columns of a strip; others: points of the other outer loops. */
int64_t nxb_strip_width(const nxb_binder *b, const nxb_loop *columns, int64_t lanes, int64_t widest,
                        int64_t others);
/* Whether all strips have the same width, because the last one then computes only a few columns
 * again: the code need then not be written once more for less than a vector of columns. */
bool nxb_strip_shifts(const nxb_binder *b, int64_t extent, int64_t lanes, int64_t *width);
/* The same where one strip has all columns: its last vector ends where they end. */
bool nxb_strip_overlaps(const nxb_binder *b, int64_t extent, int64_t lanes, int64_t width);

/* cpu/map.c: transposes n vectors of n lanes, where n is a power of two up to 16. */
void nxb_turn_over(nxb_binder *b, nxk_value *rows, int64_t n);

/* ---- templates of the CPU. Each writes the whole region. */
void nxb_bind_points(nxb_binder *b, nxk_value vector_loop); /* cpu/points.c; NXK_NONE: no lanes */
void nxb_bind_literal(nxb_binder *b); /* cpu/points.c: any region, one task, no lanes */
void nxb_bind_map(nxb_binder *b);     /* cpu/map.c: regions without stages */
void nxb_bind_rows(nxb_binder *b);    /* cpu/rows.c */
void nxb_bind_strips(nxb_binder *b, nxk_value vector_loop); /* cpu/strips.c */

#endif
