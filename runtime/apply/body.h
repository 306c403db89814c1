/* SPDX-License-Identifier: ISC */
/* A captured function of scalars as the body of an operation on arrays: its nodes are recorded
 * again with the shape of the arrays. What it reads beside its inputs is recorded once. All handles
 * that an operation makes on its way belong to a scope of its own. */
#ifndef NXI_BODY_H
#define NXI_BODY_H

#include "runtime/realize/functions/function.h"
#include "runtime/record/context.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

enum { NXI_MOST_OPERANDS = 128 };

typedef nx_tensor *nxi_combiner(nx_tensor *, nx_tensor *);
typedef struct nxi_body {
  nx_function *f;
  nxi_combiner *plain; /* in place of f, which is NULL then: combines one operand */
  uint32_t k;          /* operands of a combiner: the results of f */
  nx_scope *scope;
  uint16_t outer;
  int32_t device;
  bool masked;        /* the last operand says which are there */
  bool *varies;       /* of each node: whether it depends on an input */
  nx_tensor **values; /* of each node: handles of the scope */
} nxi_body;

/* Arrays that go together: operand i of all steps of an operation. */
typedef struct nxi_row {
  nx_tensor *at[NXI_MOST_OPERANDS + 1]; /* a mask beside them */
} nxi_row;

/* Whether every operation of the function that depends on its inputs is one of scalars, and its
 * inputs and results are scalars; `what`: "combiner", "comparator". False: reported in d. */
bool nxi_body_check(const char *op, const char *what, nx_function *f, nxi_diag *d);
/* Begins the operation `called` (its number) on device `device`. False: reported, nothing begun. */
bool nxi_body_begin(nxi_body *b, uint32_t called, nx_function *f, int32_t device);
/* The same for one operand and an operation of the library. */
bool nxi_body_begin_plain(nxi_body *b, uint32_t called, nx_tensor *x, nxi_combiner *plain);
/* Ends it. If good, out[i] is result[i] as a storage of its own, one reference; else NULL. */
nx_status nxi_body_end(nxi_body *b, bool good, nx_tensor *const *result, nx_tensor **out, size_t n);
/* The function of n_in arrays of one shape. False: reported. */
bool nxi_body_apply(nxi_body *b, nx_tensor *const *in, nx_tensor **out);
/* A combiner: out = f(a, b), each k arrays; out may be one of them. */
bool nxi_body_combine(nxi_body *b, const nxi_row *left, const nxi_row *right, nxi_row *out);
/* From here on rows have a bool as an operand more: of two rows of which one is not there, the
 * other one is the result. The mask becomes x's; NULL: there is none. */
void nxi_body_mask(nxi_body *b, nx_tensor *mask, nxi_row *x);
/* Without it again; the mask of x, or NULL. */
nx_tensor *nxi_body_unmask(nxi_body *b, const nxi_row *x);

/* The node whose scalar this one repeats. */
uint32_t nxi_body_through(const nxg_graph *g, uint32_t node);
/* The operation of result j, if that is one operation of the inputs j and k + j alone (k: the
 * number of results); else NXG_OP_COUNT. */
nxg_op nxi_body_plain(const nx_function *f, uint32_t j);

/* What every operation by a combiner is given. */
typedef struct nxi_by {
  const char *op;
  nx_function *f;
  nx_tensor *const *x, *const *init; /* k of each; init NULL: none */
  size_t k, n_out;
  nx_tensor **out;
  int32_t device;  /* set by the check */
  bool comparator; /* of pairs of elements, not a combiner */
} nxi_by;
/* Whether they fit each other: a function of 2k scalars with k results, of the dtypes of x, or one
 * bool; x of one shape, context and device; init of rank 0. False: reported. */
bool nxi_by_check(nxi_by *by);

/* Whether a tensor is a constant of rank 0, and which: the bits of a number, or of both parts. */
bool nxi_constant_of(nx_tensor *t, uint64_t bits[2]);

/* ---- reduce_by.c */
/* Whether the library has a reduction for each result of the function by itself. */
bool nxi_is_reduction(const nxi_by *by);
/* The same of x by those reductions, without the initial values; reduced axes keep extent 1. */
bool nxi_reduce_recognised(const nxi_by *by, const int32_t *axes, size_t n, nxi_row *x);

/* ---- scan_by.c */
/* Scans x along an axis of at least one element, inclusively, from the first element on. */
bool nxi_scan_axis(nxi_body *b, nxi_row *x, int32_t axis);

/* ---- place.c, scaled.c: combiners that are a reduction of the library as a whole */
typedef enum nxi_known {
  NXI_KNOWN_NOT,     /* not one of these; x is untouched */
  NXI_KNOWN_FAILED,  /* reported */
  NXI_KNOWN_REDUCED, /* x is reduced, without the initial values; reduced axes keep extent 1 */
  NXI_KNOWN_COMPLETE /* the same, and combining with the initial values would change nothing */
} nxi_known;
nxi_known nxi_reduce_place(const nxi_by *by, const int32_t *axes, size_t n, nxi_row *x);
nxi_known nxi_reduce_scaled(nxi_body *b, const nxi_by *by, const int32_t *axes, size_t n,
                            nxi_row *x);

/* ---- comparator.c */
/* A comparator that compares keys: first by the first one, then by the next. */
enum { NXI_MOST_KEYS = NXI_MOST_OPERANDS };
typedef struct nxi_keys {
  uint32_t n;
  uint32_t node[NXI_MOST_KEYS]; /* of the function: the key of the first of the two elements */
  bool descending[NXI_MOST_KEYS];
} nxi_keys;
/* Whether the comparator is of that kind. */
bool nxi_find_keys(const nx_function *f, nxi_keys *out);
/* Whether this key orders as nx_sort does: it is an element, or the total order of one in which
 * zeros were made one, and NaNs. */
bool nxi_key_is_element(const nx_function *f, uint32_t key);
/* ---- network.c */
/* Sorts x along its last axis by any comparator: stages of compare and exchange. */
bool nxi_sort_network(nxi_body *b, nxi_row *x, uint32_t k);

/* ---- levels.c */
/* x[start], x[start + step], .. before stop along axis. */
nx_tensor *nxi_part(nx_tensor *x, int32_t axis, int64_t start, int64_t stop, int64_t step);
/* Combines n rows pairwise: neighbours, then their results; one without a neighbour goes up as it
 * is. The result is in rows[0]. */
bool nxi_pairwise(nxi_body *b, nxi_row *rows, uint32_t n);
/* Reduces x along an axis of at least one element, which then has extent 1. */
bool nxi_reduce_axis(nxi_body *b, nxi_row *x, int32_t axis);
/* init as arrays of this shape. */
bool nxi_init_rows(const nxi_by *by, int32_t rank, const int64_t *shape, nxi_row *out);

#endif
