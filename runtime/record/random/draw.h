/* SPDX-License-Identifier: ISC */
/* What random numbers are recorded with. All handles that a distribution makes on its way belong to
 * a scope of its own, so that it reads like the formulas it is. */
#ifndef NXI_DRAW_H
#define NXI_DRAW_H

#include "runtime/record/context.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

typedef struct nxi_draw {
  nx_context *context;
  nx_scope *scope;
  int32_t device;
  uint16_t outer;
} nxi_draw;

/* Checks the key and the shape, and begins the operation `called` (its number). n: the number of
 * elements; NULL: nobody asks. False: reported, and nothing is begun. */
bool nxi_draw_begin(nxi_draw *d, uint32_t called, nx_tensor *key, const int64_t *shape,
                    int32_t rank, int64_t *n);
/* The same of an operation without a key: device and context are those of `like`. */
bool nxi_draw_begin_like(nxi_draw *d, uint32_t called, nx_tensor *like);
/* Ends it. The result, if it is not NULL, is the caller's, in the scope where it is. */
nx_tensor *nxi_draw_end(nxi_draw *d, nx_tensor *result);

/* Whether the dtype is one that numbers are drawn in; integers: u8 to u64 are asked for. False:
 * reported. */
bool nxi_draw_float(const char *op, nx_dtype dtype);
bool nxi_draw_bits(const char *op, nx_dtype dtype);
/* Whether a parameter is a float of f16, bf16, f32 or f64. */
bool nxi_draw_parameter(const char *op, int32_t operand, nx_tensor *x);
/* Whether two parameters have one dtype. False: reported. */
bool nxi_draw_same(const char *op, nx_tensor *a, nx_tensor *b);
/* That dtype, or f32 for smaller ones. */
nx_dtype nxi_draw_compute(nx_dtype dtype);

/* Handles of the scope; NULL goes through. */
/* The key of a stream of this one. */
nx_tensor *nxi_draw_stream(nxi_draw *d, nx_tensor *key, int64_t number);
nx_tensor *nxi_draw_number(nxi_draw *d, nx_dtype dtype, double value);
/* The parameter in the dtype that is computed in, and of the shape. */
nx_tensor *nxi_draw_spread(nx_tensor *x, nx_dtype t, const int64_t *shape, int32_t rank);
/* u64 0, 1, .. n - 1. */
nx_tensor *nxi_draw_counters(nxi_draw *d, int64_t n);
/* u32 [n, 2]: both words of each. It is arithmetic, and no cat, so that it fuses. */
nx_tensor *nxi_draw_pairs(nxi_draw *d, nx_tensor *counter, bool high_first);
/* The columns of [n, 2], as arrays of a shape. False: reported. */
bool nxi_draw_columns(nx_tensor *words, const int64_t *shape, int32_t rank, nx_tensor **first,
                      nx_tensor **second);
/* Threefry of the words x[0], x[1] of counters, u32 of one shape, which become its words. Word by
 * word, so that nothing is stored. */
void nxi_draw_threefry(nx_tensor *key, nx_tensor **x);
/* Words of a key: two for each counter (high word, low word) 0, 1, .. of a shape. */
bool nxi_draw_words(nxi_draw *d, nx_tensor *key, const int64_t *shape, int32_t rank,
                    nx_tensor **first, nx_tensor **second);

#endif
