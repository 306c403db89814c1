/* SPDX-License-Identifier: ISC */
/* Operations that address elements: ranges, windows, one-hot rows, and random tensors, whose
 * elements are a function of their position. As in ops.h, each records and returns a new handle;
 * NULL and this thread's error on a failure, with the statuses of ops.h. */
#ifndef NX_INDEX_H
#define NX_INDEX_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ranges */

/** A start or stop that is left out: that end of the axis which the step comes from or goes to. */
#define NX_OPEN INT64_MIN
/** Start, stop and step of an axis, as x[start:stop:step] in Python. Negative starts and stops
 * count from the end; both are then cut to the axis. A step may be negative, not 0. */
typedef struct nx_range {
  int64_t start, stop, step;
} nx_range;
/** All dtypes. A view of x; n <= rank ranges for the first axes, those after them are whole.
 * NX_INVALID_ARGUMENT: n above the rank, a step of 0, a list that is NULL. */
NX_API nx_tensor *nx_get(nx_tensor *x, const nx_range *ranges, size_t n);
/** Assigns src, broadcast, to that part of x which nx_get gives of these ranges. The statuses of
 * nx_get and of nx_assign. */
NX_API nx_status nx_set(nx_tensor *x, const nx_range *ranges, size_t n, nx_tensor *src);

/* ---- windows */

/** Windows that slide over the last n axes. Window w begins at element w * stride of an axis that
 * has `before` zeros in front and `after` zeros behind; its element k lies k * dilation further.
 * Only whole windows count, so an axis with room for none has 0. NULL: stride 1, dilation 1, no
 * zeros. The lists are read before the call returns. */
typedef struct nx_window {
  size_t size; /**< sizeof(nx_window) */
  int32_t n;
  const int64_t *kernel, *stride, *dilation, *before, *after; /**< n entries each */
} nx_window;
/** All dtypes. (lead.., spatial..) -> (lead.., product of kernel, product of the numbers of
 * windows), both in C order. A convolution is nx_matmul of weights [out, channels * kernel] and
 * this, reshaped to [images, channels * kernel, windows]; pooling a reduction of it over the last
 * axis but one. A reduction never stores the windows. Neither do products, of real or complex
 * numbers, forward or for the gradient of the weights, if nothing else reads the windows and they
 * exceed the second-level cache: each product makes them piece by piece. They are stored all the
 * same where the pieces that the threads hold at once would be more than half of them, and where a
 * product multiplies them with themselves. NX_INVALID_ARGUMENT: the window is NULL, has no kernel
 * or more axes than x, a kernel, stride or dilation below 1, or zeros below 0; a rank of x and a
 * rank of the window that exceed 32 together. */
NX_API nx_tensor *nx_unfold(nx_tensor *x, const nx_window *window);
/** I F C. The inverse: (lead.., product of kernel, number of windows) -> (lead.., output..), where
 * each element is the sum of those that unfold would have copied it to, in the order of
 * nx_reduce_sum over the kernel; 0 where there are none. n is the length of output and of the
 * window's lists. NX_INVALID_ARGUMENT: it is not, or the shapes do not fit each other. Statuses of
 * the window as of nx_unfold; NX_UNSUPPORTED_DTYPE: bool. */
NX_API nx_tensor *nx_fold(nx_tensor *x, const int64_t *output, size_t n, const nx_window *window);

/* ---- elements by number */

/** B I F C. Element (i.., j, k..) of the result, which has the shape of indices, is data[i..,
 * indices[i.., j, k..], k..], j and the index being along axis. Rows of a matrix: indices of shape
 * [n, 1], expanded to [n, columns].
 *
 * Indices are i32 or i64 (else NX_UNSUPPORTED_DTYPE), of the rank of data, and no longer than it
 * but along `axis` (else NX_INVALID_ARGUMENT); negative ones count from the end. All are checked
 * when the result, or anything that needs it, is realised: NX_INDEX_OUT_OF_RANGE, with the
 * position of the first bad one, in C order, as nx_error.index. */
NX_API nx_tensor *nx_gather(nx_tensor *data, nx_tensor *indices, int32_t axis);

/** As nx_gather, of indices that are cut to the axis: below 0 the first element, beyond it the last
 * one. NX_INVALID_ARGUMENT also: an axis without elements. */
NX_API nx_tensor *nx_gather_clamped(nx_tensor *data, nx_tensor *indices, int32_t axis);
/** As nx_gather, but where an index is out of range the result is `fill`. NX_INVALID_ARGUMENT also:
 * an axis without elements. */
NX_API nx_tensor *nx_gather_filled(nx_tensor *data, nx_tensor *indices, int32_t axis,
                                   const nx_scalar *fill);
/** All dtypes. The part of x, of `sizes`, that begins at `starts`:
 * one for each axis, i32 or i64 of rank 0. A start that is too low or too high is cut so that the
 * part lies in x (StableHLO's dynamic_slice). NX_INVALID_ARGUMENT: n is not the rank, a size that
 * the axis lacks; NX_UNSUPPORTED_DTYPE: a start of another dtype. */
NX_API nx_tensor *nx_dynamic_slice(nx_tensor *x, nx_tensor *const *starts, const int64_t *sizes,
                                   size_t n);
/** x with `update`, of its rank and dtype, in that part. nx_assign(x, ..), and functions that x is
 * donated to, write the part alone, as a step of a cache wants. Statuses as of nx_dynamic_slice. */
NX_API nx_tensor *nx_dynamic_update_slice(nx_tensor *x, nx_tensor *update, nx_tensor *const *starts,
                                          size_t n);
/** As nx_dynamic_slice, but a start that would have to be cut is an error when the result, or
 * anything that needs it, is realised: NX_INDEX_OUT_OF_RANGE, with a sentence that names the start,
 * the axis, and how many elements of how many it asks for. Negative starts are out of range. */
NX_API nx_tensor *nx_dynamic_slice_checked(nx_tensor *x, nx_tensor *const *starts,
                                           const int64_t *sizes, size_t n);
/** As nx_dynamic_update_slice, with the check of nx_dynamic_slice_checked. */
NX_API nx_tensor *nx_dynamic_update_slice_checked(nx_tensor *x, nx_tensor *update,
                                                  nx_tensor *const *starts, size_t n);

/** What becomes of windows that do not lie within their operand as a whole. */
typedef enum nx_bounds {
  NX_BOUNDS_DEFAULT, /**< as in StableHLO: a gather cuts starts, a scatter drops windows */
  NX_BOUNDS_CLAMP,   /**< starts are cut so that windows fit */
  NX_BOUNDS_DROP,    /**< a gather gives `fill` instead, a scatter leaves the window out */
  /** the result, or anything that needs it, fails when it is realised: NX_INDEX_OUT_OF_RANGE, with
   * the number of the window, in C order, as nx_error.index */
  NX_BOUNDS_CHECK
} nx_bounds;

typedef enum nx_scatter_mode {
  NX_SCATTER_SET, /**< B I F C: the last update of an element, in C order, stays */
  /** B I F C: updates are added in C order, those of small floats in f32, rounded once */
  NX_SCATTER_ADD,
  /** B I F C: multiplied, in the same order and precision; integers wrap. Complex numbers take
   * rounds, as nx_scatter_by does */
  NX_SCATTER_MUL,
  /** B I F C: the least of the element and its updates, as of nx_min; complex ones as above */
  NX_SCATTER_MIN,
  NX_SCATTER_MAX, /**< B I F C: the largest, as of nx_max */
  NX_SCATTER_AND, /**< B I */
  NX_SCATTER_OR,  /**< B I */
  NX_SCATTER_XOR  /**< B I */
} nx_scatter_mode;
enum {
  NX_UNIQUE_INDICES = 1, /**< a promise that no two updates have one element; changes no result */
  /** updates whose index is below -extent or not below extent are left out, instead of failing */
  NX_DROP_OUT_OF_RANGE = 2
};
/** x with updates, of the shape of indices and the dtype of x, at the elements that nx_gather would
 * read of x. Indices, and their check, as of nx_gather. nx_assign(x, nx_scatter(x, ..)) touches
 * these alone, if nothing else needs the old contents. flags: NX_UNIQUE_INDICES,
 * NX_DROP_OUT_OF_RANGE. NX_INVALID_ARGUMENT: shapes that do not fit, no such mode, another flag;
 * NX_UNSUPPORTED_DTYPE: a dtype that the mode does not take. */
NX_API nx_tensor *nx_scatter(nx_tensor *x, nx_tensor *indices, nx_tensor *updates, int32_t axis,
                             nx_scatter_mode mode, uint32_t flags);

/* ---- windows by number: gather and scatter of StableHLO and XLA */

/** Which axes of a gather are which, by the names of StableHLO. The lists are read before the call
 * returns; one that has no entries may be NULL. */
typedef struct nx_gather_numbers {
  size_t size;               /**< sizeof(nx_gather_numbers) */
  int32_t n_offset_dims;     /**< axes of the result that are those of a window, in rising order */
  int32_t n_collapsed_dims;  /**< axes of the operand, rising, that the result has not */
  int32_t n_batching_dims;   /**< pairs of axes: each window takes its own part of the operand */
  int32_t n_start_index_map; /**< entry i: the axis of the operand that component i is a start of */
  const int32_t *offset_dims, *collapsed_slice_dims, *operand_batching_dims,
      *start_indices_batching_dims, *start_index_map;
  const int64_t *slice_sizes; /**< of a window, an entry for each axis of the operand */
  int32_t index_vector_dim;   /**< axis of the components of a start; the rank: there is but one */
  nx_bounds bounds;
  const nx_scalar *fill; /**< NX_BOUNDS_DROP: what the result is instead; NULL: 0 */
} nx_gather_numbers;
/** All dtypes. Windows of x, one for each start, as StableHLO's gather gives them. starts:
 * integers. Axes of the operand that a window fills move as rows, as in nx_gather. With
 * NX_BOUNDS_DROP all of a window is `fill` if it does not lie in x. NX_INVALID_ARGUMENT: numbers
 * that StableHLO's constraints on gather refuse; the sentence says which. NX_UNSUPPORTED_DTYPE:
 * starts that are no integers. */
NX_API nx_tensor *nx_gather_general(nx_tensor *x, nx_tensor *starts,
                                    const nx_gather_numbers *numbers);

/** Which axes of a scatter are which. As of nx_gather_numbers. */
typedef struct nx_scatter_numbers {
  size_t size;                    /**< sizeof(nx_scatter_numbers) */
  int32_t n_update_window_dims;   /**< axes of the updates that are those of a window, rising */
  int32_t n_inserted_window_dims; /**< axes of the operand, rising, that the updates have not */
  int32_t n_batching_dims;        /**< pairs of axes: each window goes to its own part of x */
  int32_t n_scatter_dims_to_operand_dims; /**< the axis that component i is a start of */
  const int32_t *update_window_dims, *inserted_window_dims, *input_batching_dims,
      *scatter_indices_batching_dims, *scatter_dims_to_operand_dims;
  int32_t index_vector_dim; /**< axis of the components of a start; the rank: there is but one */
  nx_bounds bounds;
} nx_scatter_numbers;
/** x with updates, of its dtype, in windows, as StableHLO's scatter puts them there; the mode says
 * what becomes of an element and its update. Updates of one element are taken in their order, C
 * order of `updates`. nx_assign(x, ..) touches the windows alone, as of nx_scatter. flags:
 * NX_UNIQUE_INDICES. NX_INVALID_ARGUMENT: as of nx_gather_general, no such mode, another flag;
 * NX_UNSUPPORTED_DTYPE: also a dtype that the mode does not take. */
NX_API nx_tensor *nx_scatter_general(nx_tensor *x, nx_tensor *starts, nx_tensor *updates,
                                     const nx_scatter_numbers *numbers, nx_scatter_mode mode,
                                     uint32_t flags);

/* ---- scans */

typedef enum nx_scan_op { NX_SCAN_SUM, NX_SCAN_PROD, NX_SCAN_MAX, NX_SCAN_MIN } nx_scan_op;
/** B I F C. Each element is the reduction (nx_reduce_sum, ..) of those of its line along axis up to
 * and with itself, in a fixed order (numerics.md). Integers wrap; NaN propagates; f16 and bf16 are
 * reduced in f32, each result rounded once. Of the shape and dtype of x. NX_INVALID_ARGUMENT: no
 * such scan, or an axis that is out of range; NX_UNSUPPORTED_DTYPE. */
NX_API nx_tensor *nx_associative_scan(nx_tensor *x, nx_scan_op op, int32_t axis);
/** B I F C. nx_reduce_sum, nx_reduce_prod, nx_reduce_max or nx_reduce_min, combined with an initial
 * value of rank 0 and x's dtype, which is the left operand; over nothing the initial value, so that
 * every reduction has a result. Axes, flags and statuses as of nx_reduce_sum; NX_INVALID_ARGUMENT
 * also: no such reduction, an initial value of another rank or dtype. */
NX_API nx_tensor *nx_reduce_with_initial(nx_tensor *x, nx_scan_op op, nx_tensor *initial,
                                         const int32_t *axes, size_t n, uint32_t flags);

/** B. The first n numbers, in C order, of elements that are true: i64 of shape [n], -1 where there
 * are no more. NX_UNSUPPORTED_DTYPE: the mask is not bool; NX_INVALID_ARGUMENT: n below 0. */
NX_API nx_tensor *nx_true_indices(nx_tensor *mask, int64_t n);

/* ---- one-hot rows */

/** 1 where the new last axis of n elements equals the index, else 0, in any dtype. Any other index
 * than 0 .. n - 1 gives a row of zeros. NX_UNSUPPORTED_DTYPE: indices that are no integers;
 * NX_INVALID_ARGUMENT: n below 0, no such dtype, indices of rank 32. */
NX_API nx_tensor *nx_one_hot(nx_tensor *indices, int64_t n, nx_dtype dtype);

/* ---- random tensors */

/** Uniform in [0, 1), on the key's device. dtype is f16, bf16, f32 or f64: multiples of 2^-11,
 * 2^-8, 2^-24, 2^-53. The same key (i32 or u32, of shape [2]) gives the same elements for ever, on
 * every device; element i in C order is a function of key, dtype and i alone.
 * NX_UNSUPPORTED_DTYPE: another dtype, or of the key; NX_INVALID_ARGUMENT: another shape of the
 * key, no such dtype, shape is NULL with a rank, or there is no such shape with 32 bytes an
 * element. */
NX_API nx_tensor *nx_rand(nx_tensor *key, nx_dtype dtype, const int64_t *shape, int32_t rank);
/** Normal, mean 0, deviation 1 (Box-Muller); f16 and bf16 are f32's, rounded. Else as nx_rand. */
NX_API nx_tensor *nx_randn(nx_tensor *key, nx_dtype dtype, const int64_t *shape, int32_t rank);
/** 0 .. n - 1 in random order: i32 of shape [n], 0 <= n < 2^31. The argsort of 64 random bits each:
 * element i of the order has the threefry of the counter i, the first word above the second one.
 * Unlike the others it depends on n. Key and its statuses as of nx_rand; NX_INVALID_ARGUMENT for
 * another n. */
NX_API nx_tensor *nx_permutation(nx_tensor *key, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
