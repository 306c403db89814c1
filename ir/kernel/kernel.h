/* SPDX-License-Identifier: ISC */
/* The kernel IR: one parallel program over buffers, as a flat list of SSA instructions with nested
 * blocks.
 *
 * There are two levels of it, which share this structure. The LOGICAL level says what is computed:
 * a loop is outer (its points are independent), map, reduce or seq (steps of one point); every
 * value is one element; a `reduce` stands for a whole reduction, in the order of docs/numerics.md.
 * The BOUND level says how a target computes it: a loop is task, seq or vector; values have lanes;
 * masks, the order of additions, partial sums and tails are explicit. A code generator prints the
 * bound form and makes no decision of its own.
 *
 * A bound kernel whose `threads` is not 0 is a kernel for a GPU. Each of its tasks is then a block
 * of that many threads, and the lanes of a value are spread over them: lane l of n belongs to
 * thread l / (n / threads). A value of one lane is the same in all threads. Every value has 1,
 * threads, or threads times 2, 4, 8 or 16 lanes. LOCAL arrays are shared by the block. A thread may
 * load what another thread stored only after a barrier. 64-bit integer arithmetic is expensive on a
 * GPU, so indices may be i32. If the indices of an access are i32, its whole address is computed in
 * 32 bits, and no intermediate result leaves their range. An add, sub or mul of i32 may be `exact`,
 * which says that it does not overflow.
 *
 * A value is named by the index of its instruction. It is visible from there to the end of its
 * block, with three exceptions. A `reduce` is visible after the outermost reduce loop that holds
 * it, to the end of the block that holds that loop. A `carry` is visible in its loop (as the
 * current value) and after the end of its loop (as the final value). A value defined in a `cold`
 * block may be an argument of the `blend`s right after the end of that block.
 *
 * In the list below, n is the number of lanes of the instruction itself, and "threads:" marks what
 * holds for GPU kernels alone.
 *
 *   const          imm: scalar bits. Lanes 1
 *   param          imm: number of a scalar parameter, read from the launch arguments. Lanes 1
 *   region         opens a region: an independent piece with tasks of its own. Top level holds only
 *                  params, constants and regions. Regions may run in any order and in parallel
 *   for            opens a loop; the result is its index, i64, lanes 1: lower, lower + step, ... <
 *                  upper
 *   cold           arg0: bool. Opens a block that writes no memory. The values defined in it matter
 *                  only in lanes where arg0 is true, and the block may be skipped if arg0 is false
 *                  in all lanes. With flag NXK_APART it is long and hardly ever runs: a code
 *                  generator may make one function of all equal blocks, and may skip each part of
 *                  the lanes in which arg0 is false
 *   end            closes the innermost block
 *   blend          args: the cold instruction, a value defined in its block, another value. The
 *                  result is select(arg0 of the cold, the value inside, the other value)
 *   load, store    through access `imm`; store: arg0 is the value. The value of a load has the
 *                  dtype of the memory: small floats are not widened. A bool is a byte in memory
 *                  and a truth value here
 *   reduce         reduces arg0 (for dot, the products of arg0 and arg1) over all reduce loops
 *                  around it, which form one run in row-major order. `kind` and `order` say how.
 *                  Result: arg0's dtype; for argmax/argmin an i64, which is the position in the run
 *                  or, if there is an arg1 (i64), the value of arg1 at that element. dot: c =
 *                  fma(a, b, c) from +0 for floats, a*b + c for integers
 *   scan           the inclusive scan of arg0 over all map loops around it, which form one run in
 *                  row-major order: each result is the reduction of the elements up to this one.
 *                  `kind`: sum, prod, max, min, and prod_real, prod_imag: one region of the product
 *                  of the complex numbers (arg0, arg1), where the first element is taken as it is.
 *                  `order`: plain: each block of 1024 elements is scanned sequentially from its own
 *                  first element, each result is carry + that, and at the end of the block carry =
 *                  carry + the reduction of the block; sequential: one element after the other. The
 *                  iterations of these loops run in order
 *   carry          arg0: initial value. Stands directly after its `for` (the carries are a prefix
 *                  of the loop body)
 *   next           arg0: a carry of the innermost loop, arg1: its value for the next iteration. A
 *                  carry that has no `next` keeps its value. All nexts stand at the end of the
 *                  loop's body, just before `end`
 *   until          arg0: bool, lanes 1. If it is true, this iteration of the innermost loop, a seq
 *                  loop, was the last one. Stands at the end of the loop's body, after its nexts,
 *                  just before `end`. No threads
 *   splat          each of the m lanes of arg0, n / m times in a row. m is 1 if there are no
 *                  threads
 *   step_vector    i64 lanes: arg0 + 0, arg0 + 1, ... (threads: may be i32, of an i32 arg0; the
 *                  largest lane fits i32)
 *   active         bool lanes: arg0 + lane < arg1 (arguments i64, lanes 1; threads: or i32)
 *   interleave_low interleaves the lower halves of arg0 and arg1 (n lanes each, n > 1): arg0[0],
 *                  arg1[0], arg0[1], ... Any dtype
 *   interleave_high interleaves the upper halves: arg0[n/2], arg1[n/2], arg0[n/2 + 1], ... Any
 *                  dtype
 *   concat         the lanes of arg0, then those of arg1 (n / 2 lanes each). Any dtype
 *   deinterleave   every k-th lane of a row of k vectors, the 2 to 4 arguments (n lanes each): lane
 *                  l is element l * k + first of the row. The first `overlap` lanes of the last
 *                  argument are not part of the row. imm: first | overlap << 8; first + overlap <
 *                  k. Any dtype. Threads: one argument of k * n lanes, k 2 or 4, and no overlap
 *   interleave     one of the k vectors that k arguments make (3 or 4, n lanes each) if their lanes
 *                  are put in turn: arg0[0], arg1[0], ..., arg0[1], ... imm: its number, from 0.
 *                  Any dtype. Threads: 2 or 4 arguments, and all of it, k * n lanes
 *   shuffle_xor    threads: lane l of the result is lane l ^ imm of arg0
 *   barrier        threads: whatever a thread of the block stored before it is visible to all
 *                  threads of the block after it
 *   lane_reduce    no threads: reduces the lanes of arg0 (and of arg1, the i64 indices, for
 *                  argmax/argmin) to one: lanes l and l + n/2 are combined, then l and l + n/4, and
 *                  so on, where n is the lanes of arg0. Result, lanes 1: the value; for
 *                  argmax/argmin the index. `kind`
 *   tree_push      adds one partial result, arg1 (arg2: its index, for argmax/argmin), to a binary
 *                  counter of partial results, as in pairwise summation. arg0 (i64) is its number,
 *                  counted from 0 in order: v = arg1; for (level = 0; arg0 >> level & 1; level++)
 *                  v = combine(array[level], v); array[level] = v. array[level] is at element level
 *                  * access.tree_stride from the access's address. Access `imm` (values), `imm2`
 *                  (indices)
 *   tree_join      the reduction of all partial results that were pushed; arg0: how many (>= 1).
 *                  From the lowest set bit of arg0 up: acc = array[level] first, then acc =
 *                  combine(array[level], acc). With flag NXK_INDEX_PART the result is not the value
 *                  but the index: argmax/argmin have two tree_joins with the same arguments */
#ifndef NXI_KERNEL_H
#define NXI_KERNEL_H

#include "ir/alloc.h"
#include "ir/diag.h"
#include "ir/op.h"

typedef enum nxk_level { NXK_LOGICAL, NXK_BOUND } nxk_level;
typedef uint32_t nxk_value;
#define NXK_NONE UINT32_MAX

typedef enum nxk_loop_kind {
  NXK_OUTER,  /* logical: points are independent */
  NXK_MAP,    /* logical: inner loop of a stage, independent elements */
  NXK_REDUCE, /* logical: inner loop of a stage, reduced by its reduce instructions */
  NXK_TASK,   /* bound: the one outermost loop of a region; the executor gives a range of it */
  /* in order. logical: the steps of a loop, each of them for one outer point, with what the point
   * carries from step to step; no stage is inside it */
  NXK_SEQ,
  NXK_LOOP_KINDS
} nxk_loop_kind;

typedef struct nxk_bound_value {
  nxk_value value;  /* i64, or NXK_NONE */
  int64_t constant; /* used if value is NXK_NONE */
} nxk_bound_value;

typedef struct nxk_loop {
  nxk_loop_kind kind;
  nxk_bound_value lower, upper; /* task: the whole range, lower constant 0 */
  int64_t step;
  bool unroll; /* threads: the code generator writes out all iterations */
  /* bound, seq, no threads: a piece of code for itself, which shares no registers with what is
   * around it: the code generator may make a function of it. No carries, no other such loop
   * inside */
  bool apart;
  /* threads, seq: only the first `few` threads run it; 0: all of them. What the others would store
   * in it has masks that are false, nobody reads what they carry, and it has no barrier */
  uint32_t few;
} nxk_loop;

typedef enum nxk_buffer_kind {
  NXK_IN,
  NXK_OUT,
  NXK_INOUT,
  NXK_LOCAL,
  NXK_BUFFER_KINDS
} nxk_buffer_kind;
typedef struct nxk_buffer {
  nxk_buffer_kind kind;
  nx_dtype dtype;
  /* LOCAL: size of the array, private to one outer point (logical) or one task (bound) */
  int64_t elements;
  bool aligned;    /* bound: the base is 64-byte aligned */
  bool restricted; /* no other buffer of the kernel overlaps it */
  /* threads, LOCAL: each thread uses only elements of its own, row after row of as many elements as
   * the accesses have lanes, which is the same for all of them */
  bool thread_private;
} nxk_buffer;

typedef struct nxk_term {
  nxk_value index;
  int64_t stride;
} nxk_term; /* index: i64, lanes 1; threads: or i32, as all indices of the access */

enum { NXK_MAX_LANES = 128, NXK_MAX_THREADS = 1024, NXK_MOST_LANES = 16 * NXK_MAX_THREADS };

/* nontemporal: a store of whole cache lines of 64 bytes that bypasses the caches. whole (threads):
 * the lanes of each thread are contiguous, and their address is aligned to their total size. skips
 * (no threads): a load whose mask is usually the same in all lanes; the code generator emits a
 * branch that skips the load if no lane is active. volatile (no threads): a load of one bool,
 * without a mask, of memory that others may change while the kernel runs: it is done where it
 * stands. */
enum { NXK_LINE = 64 }; /* bytes of a cache line */
enum { NXK_NONTEMPORAL = 1, NXK_WHOLE = 2, NXK_SKIPS = 4, NXK_VOLATILE = 8 };
typedef struct nxk_access {
  uint32_t buffer;
  int64_t offset; /* elements, as all below */
  uint32_t n_terms;
  nxk_term *terms;
  nxk_value index; /* one more i64 index, of stride 1, with the lanes of the access; or NXK_NONE */
  /* bool with the lanes of the access (threads: or one lane for each thread); where it is false,
   * memory is not accessed. Or NXK_NONE */
  nxk_value mask;
  nxk_value other; /* load: value where the mask is false; NXK_NONE: zero */
  /* bound, lanes > 1: distance between neighbouring lanes; 1: contiguous. It is not 0 unless there
   * is an `index`: an element that all lanes share is loaded with one lane and splatted */
  int64_t lane_stride;
  int64_t tree_stride; /* tree_push and tree_join */
  /* threads: 0, or the number of lanes that share one lane of `index`, which are those of a thread:
   * lane l is at index[l / group] + (l % group) * lane_stride */
  uint32_t group;
  uint32_t flags;
  /* no threads: 0, or how many elements beyond the access the code generator prefetches, if its
   * lanes are contiguous. The prefetched address may be outside the buffer */
  int64_t prefetch;
} nxk_access;

/* NXK_NSW (threads): add, sub, mul of i32 that overflows in no lane. NXK_APART (no threads): of a
 * cold block. */
enum { NXK_INDEX_PART = 1, NXK_NSW = 2, NXK_APART = 4 };
typedef struct nxk_instr {
  uint16_t op; /* nxk_op */
  /* 1 at the logical level; a power of two up to NXK_MAX_LANES, of threads up to NXK_MOST_LANES */
  uint16_t lanes;
  uint8_t dtype; /* of the result; 0: none */
  uint8_t kind;  /* reduce, lane_reduce, tree_*: nxk_reduce_kind */
  uint8_t order; /* reduce: nxk_order */
  uint8_t n_args;
  uint8_t flags;
  nxk_value args[4];
  uint64_t imm;   /* const bits; number of a param, loop, access */
  uint32_t imm2;  /* second access of tree_push/tree_join; UINT32_MAX: none */
  uint32_t block; /* the for/cold/region that holds it; NXK_NONE at top level */
} nxk_instr;

typedef struct nxk_region {
  nxk_value instr;     /* its `region` instruction */
  int64_t tasks;       /* bound: number of tasks if constant */
  int32_t tasks_param; /* bound: >= 0: tasks = ceil(that i64 scalar parameter / tasks_divisor) */
  int64_t tasks_divisor;
} nxk_region;

typedef struct nxk_kernel {
  nxi_arena arena;
  nxk_level level;
  /* bound, for a GPU: threads of a block, a power of two from 32 to NXK_MAX_THREADS; else 0 */
  uint32_t threads;
  char name[64];
  nxk_instr *instrs;
  uint32_t n_instrs, cap_instrs;
  nxk_loop *loops;
  uint32_t n_loops, cap_loops;
  nxk_access *accesses;
  uint32_t n_accesses, cap_accesses;
  nxk_buffer *buffers;
  uint32_t n_buffers, cap_buffers; /* the buffers of the launch come first, LOCAL ones after them */
  nxk_region *regions;
  uint32_t n_regions, cap_regions;
  uint8_t *param_types;
  uint32_t n_params, cap_params; /* dtypes of the scalar parameters */
  /* open blocks and value numbers (ir/kernel/build.c); NULL until an instruction is appended */
  struct nxi_builder *builder;
  bool failed; /* an allocation failed while building; the kernel is unusable */
} nxk_kernel;

/* Elements of a cache line in the buffer of an access. */
static inline int64_t nxk_line_of(const nxk_kernel *k, const nxk_access *a) {
  return NXK_LINE / nxi_dtype_size(k->buffers[a->buffer].dtype);
}

/* ---- life */
nxk_kernel *nxk_create(nxk_level level, const char *name); /* NULL: out of memory */
void nxk_destroy(nxk_kernel *k);
nxk_kernel *nxk_clone(const nxk_kernel *k);

/* ---- building. Appends at the end; on exhausted memory sets k->failed and returns NXK_NONE, so
 * callers check once. Pure scalar ops fold when all operands are constants, and are merged with an
 * equal instruction that is visible (so is a load of an IN buffer). There are no algebraic rules
 * here: those are applied to graphs (passes/graph/algebra.c). */
uint32_t nxk_add_buffer(nxk_kernel *k, nxk_buffer_kind kind, nx_dtype t,
                        int64_t elements); /* its number */
uint32_t nxk_add_param(nxk_kernel *k, nx_dtype t);
uint32_t nxk_add_access(nxk_kernel *k, const nxk_access *a); /* copies the terms */
/* An access to element `offset` of a buffer: no terms, index or mask. */
static inline nxk_access nxk_access_at(uint32_t buffer, int64_t offset) {
  nxk_access a = {buffer, offset, 0, NULL, NXK_NONE, NXK_NONE, NXK_NONE, 0, 0, 0, 0, 0};
  return a;
}
nxk_value nxk_const(nxk_kernel *k, nx_dtype t, uint64_t bits);
nxk_value nxk_const_f(nxk_kernel *k, nx_dtype t, double x);  /* rounded to t */
nxk_value nxk_const_i(nxk_kernel *k, nx_dtype t, int64_t x); /* wrapped to t */
nxk_value nxk_param(nxk_kernel *k, uint32_t param);
/* A scalar op on operands of equal lanes (an operand of lanes 1 beside wider ones is splatted).
 * `result` is used by cast and bitcast alone. c may be NXK_NONE, as arity demands. */
nxk_value nxk_scalar(nxk_kernel *k, nxk_op op, nx_dtype result, nxk_value a, nxk_value b,
                     nxk_value c);
/* The same with up to four operands; those past the arity are ignored. */
nxk_value nxk_scalar_of(nxk_kernel *k, nxk_op op, nx_dtype result, const nxk_value operands[4]);
/* add, sub or mul of i32 with NXK_NSW. */
nxk_value nxk_nsw(nxk_kernel *k, nxk_op op, nxk_value a, nxk_value b);
/* The same for operands that are expressions which append instructions themselves. These macros
 * evaluate them from left to right. In a plain call of nxk_scalar the C compiler chooses the order,
 * and the text of the kernel would differ from compiler to compiler. */
#define NXK_SCALAR1(k, op, a) nxk_scalar((k), (op), 0, (a), NXK_NONE, NXK_NONE)
#define NXK_SCALAR2(k, op, a, b)                        \
  __extension__({                                       \
    nxk_value nxk_a_ = (a);                             \
    nxk_value nxk_b_ = (b);                             \
    nxk_scalar((k), (op), 0, nxk_a_, nxk_b_, NXK_NONE); \
  })
#define NXK_SCALAR3(k, op, a, b, c)                   \
  __extension__({                                     \
    nxk_value nxk_a_ = (a);                           \
    nxk_value nxk_b_ = (b);                           \
    nxk_value nxk_c_ = (c);                           \
    nxk_scalar((k), (op), 0, nxk_a_, nxk_b_, nxk_c_); \
  })
nxk_value nxk_cast_to(nxk_kernel *k, nx_dtype t, nxk_value a); /* returns a if it has that dtype */
nxk_value nxk_begin_region(nxk_kernel *k);
nxk_value nxk_begin_for(nxk_kernel *k, nxk_loop_kind kind, nxk_bound_value lower,
                        nxk_bound_value upper, int64_t step);
nxk_value nxk_begin_range(nxk_kernel *k, nxk_loop_kind kind, int64_t extent); /* 0 .. extent - 1 */
nxk_value nxk_begin_cold(nxk_kernel *k, nxk_value pred);
static inline nxk_value nxk_begin_cold_apart(nxk_kernel *k, nxk_value pred) { /* with NXK_APART */
  nxk_value v = nxk_begin_cold(k, pred);
  if (v != NXK_NONE) k->instrs[v].flags = NXK_APART;
  return v;
}
void nxk_end(nxk_kernel *k);
nxk_value nxk_blend(nxk_kernel *k, nxk_value cold, nxk_value inside, nxk_value other);
nxk_value nxk_load(nxk_kernel *k, const nxk_access *a, uint16_t lanes);
void nxk_store(nxk_kernel *k, const nxk_access *a, nxk_value value);
nxk_value nxk_reduce(nxk_kernel *k, nxk_reduce_kind kind, nxk_order order, nxk_value a,
                     nxk_value b);
nxk_value nxk_scan(nxk_kernel *k, nxk_reduce_kind kind, nxk_order order, nxk_value a, nxk_value b);
nxk_value nxk_carry(nxk_kernel *k, nxk_value initial);
void nxk_next(nxk_kernel *k, nxk_value carry, nxk_value value);
void nxk_until(nxk_kernel *k, nxk_value last);
nxk_value nxk_splat(nxk_kernel *k, nxk_value a,
                    uint16_t lanes); /* returns a if it has those lanes */
nxk_value nxk_step_vector(nxk_kernel *k, nxk_value base, uint16_t lanes);
nxk_value nxk_active(nxk_kernel *k, nxk_value base, nxk_value end, uint16_t lanes);
nxk_value nxk_interleave(nxk_kernel *k, bool high, nxk_value a,
                         nxk_value b); /* interleave_low or interleave_high */
nxk_value nxk_concat(nxk_kernel *k, nxk_value a, nxk_value b); /* twice the lanes of a and b */
/* The arguments are `values[0 .. n)`. */
nxk_value nxk_deinterleave(nxk_kernel *k, const nxk_value *values, uint32_t n, uint32_t first,
                           uint32_t overlap);
/* The piece of n interleaved vectors; of two it is an interleave_low or interleave_high. */
nxk_value nxk_interleave_all(nxk_kernel *k, const nxk_value *values, uint32_t n, uint32_t piece);
/* In kernels of threads: every k-th lane of one value, and the lanes of n values in turn. */
nxk_value nxk_every(nxk_kernel *k, nxk_value a, uint32_t of, uint32_t first);
nxk_value nxk_in_turn(nxk_kernel *k, const nxk_value *values, uint32_t n);
nxk_value nxk_shuffle_xor(nxk_kernel *k, nxk_value a, uint32_t distance);
void nxk_barrier(nxk_kernel *k);
nxk_value nxk_lane_reduce(nxk_kernel *k, nxk_reduce_kind kind, nxk_value a, nxk_value index);
void nxk_tree_push(nxk_kernel *k, nxk_reduce_kind kind, nxk_value number, nxk_value a,
                   nxk_value index, const nxk_access *values, const nxk_access *indices);
nxk_value nxk_tree_join(nxk_kernel *k, nxk_reduce_kind kind, nxk_value count, uint16_t lanes,
                        const nxk_access *values, const nxk_access *indices, bool index_part);
/* Appends a copy of instruction `from` of kernel `source` with operands replaced: map[v] is the
 * value here of value v there (loops, accesses, and params are copied; blocks are opened and
 * closed). Records map[from]. */
nxk_value nxk_copy_instr(nxk_kernel *k, const nxk_kernel *source, nxk_value from, nxk_value *map);

/* A copy of the instructions that are marked, and of their operands and blocks, which have to be:
 * what nxk_copy_instr of each of them makes, if `source` was built with nothing to be folded or
 * merged. map: room for a value of each instruction; set. NULL: out of memory. */
nxk_kernel *nxk_copy_needed(const nxk_kernel *source, const uint8_t *needed, nxk_value *map);

/* The parts of the imm of a deinterleave. */
static inline uint32_t nxk_first_of(const nxk_instr *in) { return in->imm & 0xff; }
static inline uint32_t nxk_overlap_of(const nxk_instr *in) { return (uint32_t)(in->imm >> 8); }

static inline nx_dtype nxk_dtype(const nxk_kernel *k, nxk_value v) { return k->instrs[v].dtype; }
static inline nxk_bound_value nxk_bound_const(int64_t c) {
  nxk_bound_value b = {NXK_NONE, c};
  return b;
}
static inline nxk_bound_value nxk_bound_of(nxk_value v) {
  nxk_bound_value b = {v, 0};
  return b;
}

/* ---- text (docs/ir.md). What is printed parses back to the same bytes. Version 1 is read, too. */
void nxk_print(const nxk_kernel *k, nxi_text *out);
/* The same information in binary, which is quicker to make. Two valid kernels have equal bytes if
 * and only if they print the same text (kernel_key.c). */
void nxk_put_key(const nxk_kernel *k, nxi_text *out);
nx_status nxk_parse(const char *text, size_t length, nxk_kernel **out, nxi_diag *d);

/* ---- verifier: all faults, under their lines, in `out` (may be NULL). True if there are none. */
bool nxk_verify(const nxk_kernel *k, nxi_text *out);

/* ---- the interpreter: both levels, slow and obvious. buffers: base pointers of the launch
 * buffers; params: scalar bits. Runs tasks [begin, end) at the bound level, everything at the
 * logical level (begin = 0, end = INT64_MAX). */
nx_status nxk_interpret(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                        int64_t begin, int64_t end, nxi_diag *d);
/* The same for kernels from outside, which may run for ever: returns NX_INTERRUPTED after about
 * that many steps. Each lane of an instruction is a step, and so are each 64 bytes of LOCAL arrays
 * that are cleared. */
nx_status nxk_interpret_within(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                               int64_t begin, int64_t end, int64_t steps, nxi_diag *d);
/* Number of tasks of a bound kernel for these parameters. */
int64_t nxk_task_count(const nxk_kernel *k, const uint64_t *params);
/* Bytes of LOCAL arrays a task needs, each array aligned to 64. */
int64_t nxk_scratch_bytes(const nxk_kernel *k);

/* ---- function expansion (ir/expand/expand.c): the value of function `op` on its operands (dtype
 * f32 or f64; or an integer for sign recip round pow) as other instructions, appended to k. Any
 * lanes. */
nxk_value nxk_expand_function(nxk_kernel *k, nxk_op op, const nxk_value *args);
/* Both parts of a complex product (or else of a quotient) of args[0 .. 1] and args[2 .. 3], which
 * share the test for what is rare; the values are those of nxk_expand_function. */
void nxk_expand_parts(nxk_kernel *k, bool product, const nxk_value *args, nxk_value *out);

#endif
