/* SPDX-License-Identifier: ISC */
/* Random numbers: bits of two generators, and distributions made of them. A key is i32 or u32 of
 * shape [2]; the same key gives the same elements on every device, in any number of threads, and
 * for ever. Use a key once: nx_random_split and nx_random_fold_in make others of it, which is all
 * the state that there is.
 *
 *   nx_tensor *keys = nx_random_split(key, 2); .. nx_random_normal(first, NX_F32, NX_SHAPE(8)) ..
 *
 * Bits, keys and the uniform numbers of floats and integers are those of JAX (threefry2x32,
 * partitionable); the other distributions are not, to the last bit.
 *
 * Each function records a few operations on the key's device and returns its result, a new handle.
 * NULL and this thread's error on a failure. Common to all: NX_UNSUPPORTED_DTYPE, a key or a
 * parameter of another dtype; NX_INVALID_ARGUMENT, a key of another shape, a shape that is NULL
 * with a rank or too large, parameters that do not broadcast to the shape, other devices or
 * contexts; NX_OUT_OF_MEMORY. Where parameters are tensors they broadcast to the shape, and their
 * dtype, f16, bf16, f32 or f64, is that of the result; f16 and bf16 are computed in f32. Parameters
 * outside of a distribution's range give NaN, of integers -1. */
#ifndef NX_RANDOM_H
#define NX_RANDOM_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- keys and bits */

/** n keys of one: u32 of shape [n, 2]. Key i is threefry of the counter i. n below 0 is
 * NX_INVALID_ARGUMENT. */
NX_API nx_tensor *nx_random_split(nx_tensor *key, int64_t n);
/** A key of a key and a number, which is an integer of rank 0, taken modulo 2^32: u32 of shape
 * [2]. A step of a loop gives its number. */
NX_API nx_tensor *nx_random_fold_in(nx_tensor *key, nx_tensor *number);
/** Random bits: u8, u16, u32 or u64. */
NX_API nx_tensor *nx_random_bits(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                 int32_t rank);
/** Philox 4x32 with 10 rounds: counter is u32 of shape [.., 4], key u32 of shape [.., 2]; leading
 * axes broadcast. Four words for each counter. Source: Salmon et al., Parallel random numbers: as
 * easy as 1, 2, 3 (2011). */
NX_API nx_tensor *nx_philox(nx_tensor *key, nx_tensor *counter);
typedef enum nx_rng { NX_RNG_THREEFRY, NX_RNG_PHILOX } nx_rng;
/** Bits and the next state, as StableHLO's rng_bit_generator and XLA's layouts of it. state: u64 of
 * shape [2], key and counter; of Philox also [3], with 128 bits of counter. *next has the shape of
 * the state, *bits is u8, u16, u32 or u64 of the shape. Both get one reference; neither is touched
 * on failure. NX_INVALID_ARGUMENT: no such generator, another shape of the state. */
NX_API nx_status nx_rng_bit_generator(nx_tensor *state, nx_rng generator, nx_dtype dtype,
                                      const int64_t *shape, int32_t rank, nx_tensor **next,
                                      nx_tensor **bits);

/* ---- uniform */

/** In [low, high), numbers of the dtype, which is f16, bf16, f32 or f64. The mantissa is random: a
 * multiple of 2^-10, 2^-7, 2^-23, 2^-52 of the range. Rounding may give `high` where the bounds are
 * not 0 and 1. NX_INVALID_ARGUMENT: a bound is infinite or NaN. */
NX_API nx_tensor *nx_random_uniform(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                    int32_t rank, double low, double high);
/** In low .. high - 1, integers of the dtype, of 8 bits at least. Of n numbers each has the
 * probability 1 / n within n 2^-32, relative (of 64 bits n 2^-64). `low` if high is not above low.
 * NX_INVALID_ARGUMENT: a bound that the dtype lacks (high: one more than it has). */
NX_API nx_tensor *nx_random_integers(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                     int32_t rank, int64_t low, int64_t high);
/** True with the probability p, a float; NaN counts as 0. */
NX_API nx_tensor *nx_random_bernoulli(nx_tensor *key, nx_tensor *p, const int64_t *shape,
                                      int32_t rank);

/* ---- continuous; dtype: f16, bf16, f32 or f64 */

/** Mean 0, deviation 1: sqrt(2) erfinv(u), u in (-1, 1). */
NX_API nx_tensor *nx_random_normal(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                   int32_t rank);
/** A normal number between low and high, which lie not too far out: beyond 5 (f32) or 8 (f64)
 * deviations on one side the bounds themselves are all that is left. */
NX_API nx_tensor *nx_random_truncated_normal(nx_tensor *key, nx_tensor *low, nx_tensor *high,
                                             const int64_t *shape, int32_t rank);
/** Mean 1. */
NX_API nx_tensor *nx_random_exponential(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                        int32_t rank);
/** -log(-log u): location 0, scale 1. */
NX_API nx_tensor *nx_random_gumbel(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                   int32_t rank);
/** Location 0, scale 1. */
NX_API nx_tensor *nx_random_laplace(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                    int32_t rank);
/** Location 0, scale 1. */
NX_API nx_tensor *nx_random_logistic(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                     int32_t rank);
/** Location 0, scale 1. */
NX_API nx_tensor *nx_random_cauchy(nx_tensor *key, nx_dtype dtype, const int64_t *shape,
                                   int32_t rank);
/** Scale 1, of the shape parameter alpha > 0 (Marsaglia and Tsang 2000, in a loop). 0 of 0,
 * infinite of infinity. */
NX_API nx_tensor *nx_random_gamma(nx_tensor *key, nx_tensor *alpha, const int64_t *shape,
                                  int32_t rank);
/** Of a, b > 0: x / (x + y) of two gamma numbers. */
NX_API nx_tensor *nx_random_beta(nx_tensor *key, nx_tensor *a, nx_tensor *b, const int64_t *shape,
                                 int32_t rank);
/** Of alpha > 0 of shape [.., n]: the last axis of the shape is n, and adds up to 1. */
NX_API nx_tensor *nx_random_dirichlet(nx_tensor *key, nx_tensor *alpha, const int64_t *shape,
                                      int32_t rank);
/** Of `degrees` > 0 degrees of freedom. */
NX_API nx_tensor *nx_random_chi_square(nx_tensor *key, nx_tensor *degrees, const int64_t *shape,
                                       int32_t rank);
/** Student's t of `degrees` > 0 degrees of freedom. */
NX_API nx_tensor *nx_random_student_t(nx_tensor *key, nx_tensor *degrees, const int64_t *shape,
                                      int32_t rank);

/* ---- discrete: i64 */

/** Of the rate lambda, from 0 to 2^53. Products of uniform
 * numbers below 10 (Knuth), transformed rejection above (Hoermann 1993). */
NX_API nx_tensor *nx_random_poisson(nx_tensor *key, nx_tensor *lambda, const int64_t *shape,
                                    int32_t rank);
/** How many of n trials of probability p succeed: n >= 0, whole, 0 <= p <= 1, both of one dtype.
 * Waiting times below 10 expected successes, else transformed rejection (Hoermann 1993). */
NX_API nx_tensor *nx_random_binomial(nx_tensor *key, nx_tensor *n, nx_tensor *p,
                                     const int64_t *shape, int32_t rank);
/** How many trials of probability p it takes to succeed, 0 < p <= 1: 1 at least. */
NX_API nx_tensor *nx_random_geometric(nx_tensor *key, nx_tensor *p, const int64_t *shape,
                                      int32_t rank);
/** Numbers of classes along an axis of logits, which are floats, not normalised: the result has
 * their shape without the axis. Classes of -infinity never come; NaN comes first. */
NX_API nx_tensor *nx_random_categorical(nx_tensor *key, nx_tensor *logits, int32_t axis);
/** n of the numbers 0 .. m - 1, i64 of shape [n]. weights: floats of shape [m], not normalised;
 * NULL: all alike. With replacement numbers may come again; without it no number does, n is at most
 * m, and numbers of weight 0 come last. NX_INVALID_ARGUMENT: no m to choose of, a larger n, another
 * shape of the weights. */
NX_API nx_tensor *nx_random_choice(nx_tensor *key, int64_t m, int64_t n, bool replace,
                                   nx_tensor *weights);

#ifdef __cplusplus
}
#endif
#endif
