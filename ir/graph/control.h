/* SPDX-License-Identifier: ISC */
/* Control flow: operations whose attributes name bodies (body.h), and which run these.
 *
 *   while  operands: carried values, then captured ones. The condition and the body take all of
 *          them; the condition gives one bool of rank 0, the body new carried values. Results: the
 *          carried values as of when the condition does not hold.
 *   case   operands: an index of rank 0, then what all branches take. An index that no branch has
 *          runs the last one; false is branch 0, true branch 1. Results: those of the branch.
 *   for    operands: the number of steps, if it is no attribute; then carried values, captured
 *          ones, and stacked ones, of which the body takes one slice along axis 0 a step. The body
 *          takes the number of the step, an i64 of rank 0, then these. It gives new carried values,
 *          then slices of stacked results.
 *   scan   the same, without the number of the step.
 *
 * Each result is a node of its own with its number in attribute 0; nodes that are equal otherwise
 * are one run. */
#ifndef NXG_CONTROL_H
#define NXG_CONTROL_H

#include "body.h"

enum { NXG_CONTROL_BRANCHES = 64, NXG_CONTROL_MOST_ATTRS = 1 + NXG_CONTROL_BRANCHES };

/* The attributes. */
enum { NXG_WHILE_LIMIT = 1, NXG_WHILE_COND, NXG_WHILE_BODY, NXG_WHILE_ATTRS };
enum {
  NXG_FOR_LIMIT = 1,
  NXG_FOR_COUNT, /* -1: operand 0 */
  NXG_FOR_CARRIED,
  NXG_FOR_STACKED,
  NXG_FOR_REVERSE,
  NXG_FOR_BODY,
  NXG_FOR_ATTRS
};

typedef struct nxg_control {
  nxg_op op;
  uint32_t result;                         /* the number of this one */
  uint32_t first;                          /* operands before the carried ones */
  uint32_t n_carried, n_passed, n_stacked; /* passed: captured, or all that branches take */
  uint32_t n_results, n_bodies;
  bool counted;          /* for, scan */
  bool indexed;          /* the body takes the number of the step */
  bool reverse;          /* slices are taken from the last one on */
  int64_t count;         /* of steps; -1: not known before the run */
  int64_t limit;         /* of steps; 0: none. A loop that takes more of them fails */
  const int64_t *bodies; /* a while: condition, body */
} nxg_control;

static inline bool nxg_is_control(uint32_t op) { return nxg_ops[op].kind == NXG_KIND_CONTROL; }
/* Which of the attributes are numbers of bodies: from *first on. Returns how many. */
uint32_t nxg_control_bodies(nxg_op op, uint32_t n_attrs, uint32_t *first);
/* Checks operands and attributes, and fills *c, which refers to attrs. */
nx_status nxg_control_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                            uint32_t n_attrs, nxg_control *c, nxi_diag *d);
/* Of a node of a valid graph. */
void nxg_control_of_node(const nxg_node *n, nxg_control *c);
/* The type of result k of valid operands; shape has room for NXG_MAX_RANK extents. */
void nxg_control_result(const nxg_control *c, uint32_t k, nx_dtype *dtype, int32_t *rank,
                        int64_t *shape);
/* Whether two nodes of control flow are results of one run. */
bool nxg_same_control(const nxg_node *a, const nxg_node *b);

/* ---- running. Whoever runs one has memory for its parts, and carries out bodies and copies; the
 * order of both, and in which memory each value lies, is decided here alone. */

enum { NXG_CONTROL_NUMBER = 64 };
typedef struct nxg_control_frame {
  const nxg_control *c;
  void *const *operands; /* dense */
  void *const *results;  /* dense; of a slice, all of the stack */
  /* of loops: second memory of each carried value; of a case, of each result that may lie in an
   * operand's */
  void *const *spares;
  /* of results: the input of the body whose memory the body leaves it in, -1: none does. NULL: all
   * are -1. A carried value that lies in its own is updated in place, and so is what all branches
   * of a case update, or leave */
  const int32_t *lies_in;
  void *index, *holds; /* 8 bytes for the number of the step, and for the condition's value */
  /* NULL, or memory that has number i at i * NXG_CONTROL_NUMBER bytes: then none is put */
  char *numbers;
  void *const *slices;  /* per stacked result, memory for a slice, or NULL: written in the stack */
  const int64_t *bytes; /* of each result; of a slice if it is stacked */
  const int64_t *strides; /* of stacked operands: bytes of a slice */
  void **room;            /* for nxg_control_room pointers */
  /* Runs a body: inputs and outputs in order. */
  nx_status (*run)(void *user, uint32_t body, void *const *inputs, void *const *outputs,
                   nxi_diag *d);
  nx_status (*copy)(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d);
  /* Between the host and where values are; at most 8 bytes. */
  nx_status (*fetch)(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d);
  nx_status (*put)(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d);
  /* Asked before each step: NX_OK to go on. */
  nx_status (*ask)(void *user, nxi_diag *d);
  void *user;
  nx_dtype index_dtype; /* of operand 0 of a case, or of a count */
} nxg_control_frame;
uint32_t nxg_control_room(const nxg_control *c);
/* Whether an operand that the branches of a case take begins at an address. One without elements
 * does not: it has the address of whatever comes after it. */
bool nxg_case_takes(const nxg_control *c, void *const *operands, const void *at);
nx_status nxg_control_run(const nxg_control_frame *f, nxi_diag *d);
/* What is said of failures, for who carries out control flow in another way. Puts the operation and
 * the step in front of what failed in a body; step -1: there is none. */
nx_status nxg_control_failed_at(const nxg_control *c, int64_t step, nx_status status, nxi_diag *d);
/* There are more steps than the limit: NX_NO_CONVERGENCE. */
nx_status nxg_control_too_long(const nxg_control *c, nxi_diag *d);

#endif
