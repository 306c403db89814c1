/* SPDX-License-Identifier: ISC */
/* What a capture knows of the numbers of Python that it takes as inputs. Within it they are arrays,
 * whose integers wrap, where Python's do not, and which take the dtype of what they meet, where a
 * number that this does not hold raises, or compares as what it is. So a capture is valid for
 * numbers in intervals in which the two are the same: it begins with wide ones, and what meets a
 * narrower dtype narrows its own. Of what is computed from numbers the interval follows from
 * theirs; if it does not fit, the function is captured again with narrower ones, at last with the
 * numbers themselves. */
#ifndef NX_PYTHON_GUARD_H
#define NX_PYTHON_GUARD_H

#include "core.h"
#include "tree.h"

typedef struct core_guard {
  char kind;     /* of number; 0: an array */
  uint8_t level; /* 0 wide, 1 narrow, 2 the value alone */
  bool bounded;  /* floats: within (least, most), no NaN; others are any */
  int64_t low, high;
  double least, most;
  nx_scalar value; /* that it is captured with */
} core_guard;

struct core_guards {
  size_t refs, n;
  bool again; /* a number is not known well enough */
  bool shown; /* between core_guard_begin and core_guard_end: there is an item for it */
  core_guard of[];
};

/* Of the leaves of a tree: their levels as in `before`, unless that is NULL. NULL: no memory. */
core_guards *core_guards_of(const core_tree *t, const core_guards *before);
void core_guards_release(core_guards *g);
/* Whether two numbers of a kind are the same: 0.0 and -0.0 are not. */
bool core_same_number(char kind, const nx_scalar *a, const nx_scalar *b);
/* Whether the numbers of the tree are among those that a capture is valid for. */
bool core_guards_hold(const core_guards *g, const core_tree *t);
/* Makes an array stand for number i. */
int core_guard_leaf(core_guards *g, size_t i, PyObject *array);
/* Between these a capture shows arrays for numbers, and `_core.numbers_shown`, a list, is not empty
 * if it does. false: with an exception. */
bool core_guard_begin(core_guards *g);
void core_guard_end(core_guards *g);
/* The number itself if it is captured with its value, else the array. A new reference. */
PyObject *core_guard_shown(const core_guards *g, size_t i, PyObject *array);

#endif
