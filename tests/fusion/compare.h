/* SPDX-License-Identifier: ISC */
/* One graph, many outputs, every way to run it: what the systematic tests share. The graph
 * interpreter runs once and the bits of each other way are compared with it, output by output.
 *
 * What an input holds follows from its name: `pair0...` and `pair1...` walk all pairs of nasty
 * values; `nasty...` draws from them and from random numbers; `tame...` has small numbers, so that
 * sums and products say something; `mask...` is bool. */
#ifndef NXT_COMPARE_H
#define NXT_COMPARE_H

#include "runtime/launch/launch.h"

enum {
  NXT_LLVM = 1, /* this machine's widest vectors, two threads */
  NXT_LLVM_AVX2 = 2,
  NXT_LLVM_GENERIC = 4,
  NXT_LLVM_ALONE = 8, /* one thread */
  NXT_LLVM_UNFUSED = 16,
  NXT_LOGICAL = 32, /* interpreters of kernels */
  NXT_BOUND = 64,
  NXT_BOUND_AVX2 = 128,
  NXT_BOUND_GENERIC = 256,
  NXT_BOUND_GPU = 512,
  NXT_COMPILED = NXT_LLVM | NXT_LLVM_AVX2 | NXT_LLVM_GENERIC,
  NXT_INTERPRETED = NXT_LOGICAL | NXT_BOUND | NXT_BOUND_GPU,
  NXT_ALL = 1023
};

typedef struct nxt_shop nxt_shop;
nxt_shop *nxt_shop_open(void);
void nxt_shop_close(nxt_shop *s);
/* From now on plans are made for a second-level cache of so many bytes; 0: for this machine's. */
void nxt_shop_second_level(nxt_shop *s, int64_t bytes);
/* The same of the last-level cache: results that pass it are stored past the caches. */
void nxt_shop_last_level(nxt_shop *s, int64_t bytes);
/* From now on rows of so many lines are shifted to them; 0: as this machine's processor wants. */
void nxt_shop_shifted_lines(nxt_shop *s, int32_t lines);
/* Runs `g` (which it destroys) the ways of the mask. What differs is printed with `label` and a
 * graph of that output alone; the number of outputs that differ is added up in the shop. NULL
 * counts as a difference. */
void nxt_compare(nxt_shop *s, nxg_graph *g, const char *label, unsigned ways);
/* Outputs that differed since the last call, all graphs together. */
int nxt_differences(nxt_shop *s);
/* Outputs compared so far, and plans made. */
void nxt_summary(const nxt_shop *s, const char *what);

/* ---- building. Each node is what nxg_infer says; one that it refuses is UINT32_MAX, as is any
 * made from that. */
uint32_t nxt_node(nxg_graph *g, nxg_op op, uint32_t n_args, const uint32_t *args, uint32_t n_attrs,
                  const int64_t *attrs, nx_dtype given);
uint32_t nxt_input(nxg_graph *g, const char *name, nx_dtype t, int32_t rank, const int64_t *shape);
uint32_t nxt_view(nxg_graph *g, uint32_t node, const nxg_view *v);
/* How many values the pool of nasty ones has. */
int64_t nxt_nasty_count(nx_dtype t);
/* A graph from text in which `$T` stands for a dtype and `$1` .. `$9` for numbers; NULL, and a
 * message, if it does not parse. */
nxg_graph *nxt_parse(const char *text, nx_dtype t, const int64_t *numbers);
/* Kernels and library calls of its plan for this machine, on an ideal one of `threads` threads; -1:
 * no plan. Destroys g. */
typedef struct nxt_plan_size {
  int kernels, library_calls;
} nxt_plan_size;
nxt_plan_size nxt_plan(nxg_graph *g);

#endif
