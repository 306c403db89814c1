/* SPDX-License-Identifier: ISC */
/* The operation tables as enums and rows, and the evaluator of scalar operations. */
#ifndef NXI_OP_H
#define NXI_OP_H

#include "dtype.h"

typedef enum nxk_op {
#define SOP(name, arity, admits, result, flags, cost) NXK_##name,
#include "scalar_ops.def"
#undef SOP
  NXK_SCALAR_COUNT,
  NXK_BEFORE_STRUCTURAL = NXK_SCALAR_COUNT - 1,
#define KOP(name, level, opens) NXK_##name,
#include "ir/kernel/kernel_ops.def"
#undef KOP
  NXK_OP_COUNT
} nxk_op;

enum { NXK_COMM = 1, NXK_FUNC = 2, NXK_LOOP = 4 };
typedef enum nxk_result { NXK_RESULT_SAME, NXK_RESULT_BOOL, NXK_RESULT_GIVEN } nxk_result;

typedef struct nxk_scalar_info {
  const char *name;
  uint8_t arity, admits, result, flags;
  uint16_t cost;
} nxk_scalar_info;
extern const nxk_scalar_info nxk_scalars[NXK_SCALAR_COUNT];

/* "add", "for", ...; any nxk_op. */
const char *nxk_op_name(nxk_op op);
/* The op of a name, NXK_OP_COUNT if there is none. */
nxk_op nxk_op_from_name(const char *name, size_t length);

/* The value of a scalar op: `type` is the dtype of the operands (of the last operand for select),
 * `result` that of the result (they differ for cast, bitcast and comparisons). Operands are scalar
 * bits (ir/dtype.h). Runs under the caller's rounding mode and flush flags: callers that may run
 * user threads save and restore them (nxi_fp_enter). Functions (NXK_FUNC) are evaluated by their
 * expansion. */
uint64_t nxk_eval(nxk_op op, nx_dtype type, nx_dtype result, const uint64_t *args);
/* Builds what nxk_eval needs for `op` on `type`; after that evaluating allocates nothing and cannot
 * fail. Only functions need it (nxk_eval does it itself, and gives 0 if memory is exhausted).
 * False: out of memory. */
bool nxk_eval_ready(nxk_op op, nx_dtype type);

/* The default floating-point environment, under which everything here is computed: to nearest, in
 * full precision, nothing flushed to zero, no exception trapped. Around each of those parts of a
 * call that compute with floating-point numbers: nxi_fp_enter returns what the caller had, and
 * nxi_fp_leave restores all of it, exception flags included. */
typedef struct nxi_fp {
  uint64_t control; /* x86-64: MXCSR; AArch64: FPCR */
  uint64_t flags; /* x86-64: the x87's control word, and its status above 16 bits; AArch64: FPSR */
} nxi_fp;
nxi_fp nxi_fp_enter(void);
void nxi_fp_leave(nxi_fp saved);

/* ---- reductions: the rows of reduce_ops.def */

typedef enum nxk_reduce_kind {
#define ROP(name, kind, ...) NXK_##kind,
#include "reduce_ops.def"
#undef ROP
  NXK_KINDS,
  NXK_CHAIN_KINDS = NXK_ARGMAX, /* kinds before this are chains of a scalar operation */
  /* kinds before this are reductions; the others are for scans only */
  NXK_REDUCE_KINDS = NXK_PROD_REAL
} nxk_reduce_kind;
enum { NXK_ROUNDS = 1, NXK_INDEX = 2, NXK_PAIRS = 4, NXK_REPEAT = 8 };
typedef enum nxk_identity {
  NXK_IDENTITY_ZERO,
  NXK_IDENTITY_NEG_ZERO,
  NXK_IDENTITY_ONE,
  NXK_IDENTITY_LOWEST,
  NXK_IDENTITY_HIGHEST
} nxk_identity;
typedef enum nxk_empty {
  NXK_EMPTY_NONE,
  NXK_EMPTY_ZERO,
  NXK_EMPTY_IDENTITY,
  NXK_EMPTY_BOOLS
} nxk_empty;

typedef struct nxk_reduction {
  const char *name;
  uint8_t args, admits, combine, partial, identity, empty, flags, cost, cost_of_floats;
} nxk_reduction;
extern const nxk_reduction nxk_reductions[NXK_KINDS + 1];
/* The row of a kind; for a number that is not a kind, a row that admits nothing. */
static inline const nxk_reduction *nxk_reduction_of(uint32_t kind) {
  return &nxk_reductions[kind < NXK_KINDS ? kind : NXK_KINDS];
}
static inline bool nxk_takes_pairs(uint32_t kind) {
  return (nxk_reduction_of(kind)->flags & NXK_PAIRS) != 0;
}
/* Whether the result is an index. */
static inline bool nxk_finds_index(uint32_t kind) {
  return (nxk_reduction_of(kind)->flags & NXK_INDEX) != 0;
}
/* Whether the reduction is a chain of one scalar operation over the elements. */
static inline bool nxk_is_chain(uint32_t kind) { return kind < NXK_CHAIN_KINDS; }
/* The scalar operation that combines two values. */
static inline nxk_op nxk_reduce_op(uint32_t kind) {
  return (nxk_op)nxk_reduction_of(kind)->combine;
}
/* The number of operands of a reduction or a scan. */
static inline int nxk_kind_args(uint32_t kind) { return nxk_reduction_of(kind)->args; }
/* Whether every order of the elements gives the same bits. */
static inline bool nxk_any_order(uint32_t kind, nx_dtype type) {
  return !(nxk_reduction_of(kind)->flags & NXK_ROUNDS) || !nxi_is_float(type);
}

/* `lanes` order: the run holds the last axis; `plain`: any other run; `sequential`: one element
 * after the other (dot). numerics.md, "Reduction order". */
typedef enum nxk_order {
  NXK_ORDER_LANES,      /* text: lanes */
  NXK_ORDER_PLAIN,      /* plain */
  NXK_ORDER_SEQUENTIAL, /* sequential */
  /* join_lanes: partials of a split `lanes` run, 16 a chunk: element k is lane k % 16 of chunk
   * k / 16; a pairwise tree over the chunks lane by lane, then the lanes by halves */
  NXK_ORDER_JOIN_LANES,
  NXK_ORDER_JOIN, /* join: partials of a split `plain` run: a pairwise tree over the elements */
  NXK_ORDERS
} nxk_order;
enum { NXK_SCAN_BLOCK = 1024 };                    /* elements; numerics.md, "Scan order" */
const char *nxk_reduce_name(nxk_reduce_kind kind); /* "sum" ... "prod_imag" */
/* out = a * b for complex numbers. */
void nxk_multiply_pairs(nx_dtype part, const uint64_t a[2], const uint64_t b[2], uint64_t out[2]);
const char *nxk_order_name(nxk_order order); /* "lanes" ... */
/* The value whose combination with any x gives x bit for bit. For argmax and argmin: that of the
 * value part. */
uint64_t nxk_reduce_identity(nxk_reduce_kind kind, nx_dtype type);
/* The result of a reduction over no elements; 0 for an index. */
uint64_t nxk_reduce_empty(nxk_reduce_kind kind, nx_dtype type);
/* Combines a and b; not for kinds of complex products. For argmax and argmin: the value part (for
 * ties and NaN see nxk_arg_better). */
uint64_t nxk_reduce_combine(nxk_reduce_kind kind, nx_dtype type, uint64_t a, uint64_t b);
/* True if (b, b_index) replaces (a, a_index) in argmax/argmin: the first NaN wins, else the better
 * value, else the lower index. Associative and commutative. Indices are signed. */
bool nxk_arg_better(nxk_reduce_kind kind, nx_dtype type, uint64_t a, int64_t a_index, uint64_t b,
                    int64_t b_index);

#endif
