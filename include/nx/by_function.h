/* SPDX-License-Identifier: ISC */
/* Operations by a function: reductions, scans, windows and sorts whose combiner or comparator is a
 * captured function (function.h) of scalars.
 *
 *   nx_tensor *a = nx_placeholder(c, 0, NX_F32, NULL, 0);
 *   nx_tensor *b = nx_placeholder(c, 0, NX_F32, NULL, 0);
 *   nx_tensor *larger = nx_where(nx_cmplt(nx_abs(a), nx_abs(b)), b, a), *in[2] = {a, b};
 *   nx_function_create(c, in, 2, &larger, 1, NULL, &f);
 *   nx_reduce_by(f, &x, &zero, 1, NX_ALL_AXES, 0, &y);
 *
 * Inputs and results of the function are placeholders and values of rank 0, and what depends on the
 * inputs is elementwise (arithmetic, comparisons, choice, casts); anything else is
 * NX_INVALID_ARGUMENT. Other tensors of rank 0 that it reads are read when the operation is
 * recorded, on the device of the operands. Nothing is called: the function's operations are
 * recorded with the shape of the arrays, and become kernels like any others.
 *
 * A combiner of k operands has 2k inputs, what was combined so far (0 .. k - 1) and an element (k
 * .. 2k - 1), and k results, all of the dtypes of the operands. It should be associative; it need
 * not be commutative: elements stay in order. The order in which it is applied depends on the
 * shapes alone (numerics.md). Where each result is one add, mul, max or min (of bool: or, and) of
 * its two inputs, the operation is the library's own reduction or scan, in its order.
 *
 * As in ops.h, operands are borrowed, each result is one reference, the caller's, and nothing runs;
 * on a failure results are NULL, and this thread's error says why. There are at most 128 operands,
 * and n_out is n_in. */
#ifndef NX_BY_FUNCTION_H
#define NX_BY_FUNCTION_H

#include "function.h"
#include "index.h"
#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of scan_by. */
enum {
  NX_REVERSE = 1,  /**< from the last element to the first */
  NX_EXCLUSIVE = 2 /**< each result leaves the element itself out: the first is the initial value */
};

/** Reduces n_in tensors of one shape over axes, which are given as to nx_reduce_sum, flags too.
 * out[i] is f(init, elements in C order), where init is combined once, from the left; over nothing
 * it is init. init: n_in tensors of rank 0 of the dtypes of x. Each level of a reduction reads
 * what the one before has left, an eighth. NX_INVALID_ARGUMENT: shapes or dtypes that do not fit
 * each other or the function, a list that is NULL, what nx_reduce_sum refuses. */
NX_API nx_status nx_reduce_by(nx_function *f, nx_tensor *const *x, nx_tensor *const *init,
                              size_t n_in, const int32_t *axes, size_t n, uint32_t flags,
                              nx_tensor **out, size_t n_out);

/** Scans n_in tensors of one shape along an axis: element i of the result is f over the elements up
 * to i, with init before them unless that is NULL. flags: NX_REVERSE: over the elements from the
 * last one to i, in that order; NX_EXCLUSIVE: without i, so the first is init, which must be
 * there. Two kernels for each factor of 8 of the axis. Statuses as of nx_reduce_by;
 * NX_INVALID_ARGUMENT: operands of rank 32, NX_EXCLUSIVE without init. */
NX_API nx_status nx_scan_by(nx_function *f, nx_tensor *const *x, nx_tensor *const *init,
                            size_t n_in, int32_t axis, uint32_t flags, nx_tensor **out,
                            size_t n_out);

/** Windows that slide over the last n axes. Between neighbours of an axis lie `base_dilation` - 1
 * gaps, `before` and `after` more around it; negative ones cut elements off. Window w begins at w *
 * stride; its element k lies k * dilation further. Only whole windows count. NULL: stride and
 * dilations 1, nothing around. The lists are read before the call returns. */
typedef struct nx_sliding_window {
  size_t size; /**< sizeof(nx_sliding_window) */
  int32_t n;
  const int64_t *kernel, *stride, *dilation, *base_dilation, *before, *after; /**< n entries each */
} nx_sliding_window;
/** Reduces the elements of each window of n_in tensors of one shape, in C order, and init before
 * them; init is combined once, and gaps and what is around the operands are left out. Shape:
 * leading axes, then the numbers of windows. Up to 64 elements of a window are combined one after
 * the other in one kernel; longer ones axis by axis, the last first, through memory. Combiners that
 * are a reduction of the library, as pooling, never store windows. Statuses as of nx_reduce_by;
 * NX_INVALID_ARGUMENT: the window is NULL, has no kernel or more axes than x, a kernel, stride or
 * dilation below 1; ranks of x and of the window that exceed 31 together. */
NX_API nx_status nx_reduce_window(nx_function *f, nx_tensor *const *x, nx_tensor *const *init,
                                  size_t n_in, const nx_sliding_window *window, nx_tensor **out,
                                  size_t n_out);

/** Sorts n_in tensors of one shape together along an axis: element i of each line of out[j] is that
 * of x[j] which comes i-th. f is a comparator: 2 n_in inputs, the elements of x[0], x[0], x[1],
 * x[1], .. at two places, the first one first, and a bool, whether the first place comes before the
 * second. Places of which neither does keep their order.
 *
 * A comparator that compares the same function of both places by nx_cmplt or nx_cmpgt (the keys:
 * elements, or what is computed of them, as nx_total_order), or several such one after the other
 * (a < b or a == b and .., or the same by nx_where), is done by nx_argsort of the keys, the last
 * one first, and nx_gather; keys that are NaN come last. Any other one takes m (m + 1) / 2 passes
 * over all operands, where 2^m is the extent or above it; one that contradicts itself gives some
 * permutation. Statuses as of nx_reduce_by; NX_INVALID_ARGUMENT: an axis that is out of range or
 * has more than 2^31 - 1 elements; without keys, operands of a rank above 30. */
NX_API nx_status nx_sort_by(nx_function *f, nx_tensor *const *x, size_t n_in, int32_t axis,
                            nx_tensor **out, size_t n_out);

/** Scatters with dimension numbers, as nx_scatter_general, by a combiner: n_in operands x of one
 * shape, and as many updates, which have one shape too. out[i] is x[i] where no update is.
 * Elsewhere updates are combined one after the other, in C order, each with what is there: f(f(x,
 * u), v); f need not be associative. Where each result is one add, mul, max, min, and, or, xor of
 * its two inputs, or the update itself, this is nx_scatter_general in that mode. Any other one
 * sorts the updates by element and takes as many rounds as the element with most of them has
 * updates, in pieces of at least 1024 updates; x is copied once, and rounds change it in place.
 * Statuses as of nx_reduce_by and nx_scatter_general. */
NX_API nx_status nx_scatter_by(nx_function *f, nx_tensor *const *x, nx_tensor *const *updates,
                               size_t n_in, nx_tensor *starts, const nx_scatter_numbers *numbers,
                               nx_tensor **out, size_t n_out);

/** Selects one element of each window of x, and combines the element of `source` that belongs to
 * the window with what is at its place: StableHLO's select_and_scatter, the gradient of pooling.
 * select: two scalars, the selected element and the next one in C order of the window, and a bool,
 * whether the first stays selected (nx_cmpge for the largest: of equal ones the first). What lies
 * around x is never selected. f: a combiner of one operand, applied in C order of the windows to
 * `init` (rank 0), which all elements of the result are at first, as of nx_scatter_by. window: over
 * the last n axes, as of nx_reduce_window, without base dilation; the shape of source is that of
 * its windows. Of the shape of x. Up to 64 elements of a window are looked at in one kernel, longer
 * ones in a loop of a kernel for each. NX_INVALID_ARGUMENT: functions, shapes, dtypes or windows
 * that do not fit. */
NX_API nx_tensor *nx_select_and_scatter(nx_function *select, nx_function *f, nx_tensor *x,
                                        nx_tensor *source, nx_tensor *init,
                                        const nx_sliding_window *window);

#ifdef __cplusplus
}
#endif
#endif
