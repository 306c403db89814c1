/* SPDX-License-Identifier: ISC */
/* What tests of kernels share: checked parsing, verifying and running, and two kernels. Include
 * after cmocka.h. */
#ifndef NXT_KERNEL_UTIL_H
#define NXT_KERNEL_UTIL_H

#include <math.h>

#include "ir/kernel/kernel.h"

static uint32_t random_state = 1;
static inline float random_float(
    void) { /* of very different sizes, so that every order of additions differs */
  random_state = random_state * 1664525u + 1013904223u;
  return ldexpf((float)(int32_t)random_state, -31 + (int)(random_state >> 8 & 15));
}

static inline char *text_of(const nxk_kernel *k) {
  nxi_text t = {0};
  nxk_print(k, &t);
  assert_false(t.failed);
  return t.data;
}

static inline void assert_verified(const nxk_kernel *k) {
  nxi_text t = {0};
  if (!nxk_verify(k, &t)) fail_msg("not verified:\n%s", t.data);
  assert_null(t.data);
}

static inline nxk_kernel *parse(const char *text) {
  nxk_kernel *k = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxk_parse(text, strlen(text), &k, &d) != NX_OK)
    fail_msg("%d:%d: %s in\n%s", d.line, d.column, d.message, text);
  return k;
}

/* The key of a kernel, which goes. */
static inline nxi_text key_of(nxk_kernel *k) {
  nxi_text key = {0};
  nxk_put_key(k, &key);
  assert_false(key.failed);
  nxk_destroy(k);
  return key;
}

static inline bool same_key(const nxi_text *a, const nxi_text *b) {
  return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static inline void interpret(const nxk_kernel *k, void *const *buffers, const uint64_t *params) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxk_interpret(k, buffers, params, 0, INT64_MAX, &d) != NX_OK) fail_msg("%s", d.message);
}

/* Softmax of 5 rows of 1000: three stages a row. */
#define SOFTMAX                                    \
  "nxir 2\n"                                       \
  "kernel @softmax logical {\n"                    \
  "  b0: in f32[5000] aligned\n"                   \
  "  b1: out f32[5000] aligned restricted\n"       \
  "  b2: local f32[1000]\n"                        \
  "  %0 = const f32 1\n"                           \
  "  region {\n"                                   \
  "    %2 = for outer 0..5 {\n"                    \
  "      %3 = for reduce 0..1000 {\n"              \
  "        %4 = load f32 b0[0 + 1000*%2 + 1*%3]\n" \
  "        %5 = reduce f32 max lanes %4\n"         \
  "      }\n"                                      \
  "      %7 = for reduce 0..1000 {\n"              \
  "        %8 = load f32 b0[0 + 1000*%2 + 1*%7]\n" \
  "        %9 = sub f32 %8, %5\n"                  \
  "        %10 = exp f32 %9\n"                     \
  "        store %10, b2[0 + 1*%7]\n"              \
  "        %12 = reduce f32 sum lanes %10\n"       \
  "      }\n"                                      \
  "      %14 = div f32 %0, %12\n"                  \
  "      %15 = for map 0..1000 {\n"                \
  "        %16 = load f32 b2[0 + 1*%15]\n"         \
  "        %17 = mul f32 %16, %14\n"               \
  "        store %17, b1[0 + 1000*%2 + 1*%15]\n"   \
  "      }\n"                                      \
  "    }\n"                                        \
  "  }\n"                                          \
  "}\n"

/* The same by hand: 16 lanes, masked tail, tree of partials, lane_reduce. argmax for integers above
 * the lowest. */
static inline nxk_kernel *bound_reduction(nxk_reduce_kind kind, nx_dtype t, int64_t n) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "bound");
  if (!k) return NULL;
  bool arg = kind == NXK_ARGMAX;
  uint32_t in = nxk_add_buffer(k, NXK_IN, t, n),
           out = nxk_add_buffer(k, NXK_OUT, arg ? NX_I64 : t, 1);
  uint32_t tree = nxk_add_buffer(k, NXK_LOCAL, t, 16 * 32),
           index_tree = nxk_add_buffer(k, NXK_LOCAL, NX_I64, 16 * 32);
  int64_t blocks = (n + 255) / 256;
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  nxk_value identity = nxk_splat(k, nxk_const(k, t, nxk_reduce_identity(kind, t)), 16);
  nxk_value none = nxk_splat(k, nxk_const_i(k, NX_I64, INT64_MAX), 16),
            end = nxk_const_i(k, NX_I64, n);
  nxk_value c256 = nxk_const_i(k, NX_I64, 256), c16 = nxk_const_i(k, NX_I64, 16);
  nxk_value block = nxk_begin_range(k, NXK_SEQ, blocks);
  nxk_value base = nxk_scalar(k, NXK_mul, 0, block, c256, NXK_NONE);
  nxk_value row = nxk_begin_range(k, NXK_SEQ, 16), acc = nxk_carry(k, identity),
            acc_index = nxk_carry(k, none);
  nxk_value at =
      nxk_scalar(k, NXK_add, 0, base, nxk_scalar(k, NXK_mul, 0, row, c16, NXK_NONE), NXK_NONE);
  nxk_term term = {at, 1};
  nxk_access load = nxk_access_at(in, 0), values = nxk_access_at(tree, 0),
             indices = nxk_access_at(index_tree, 0);
  load.n_terms = 1;
  load.terms = &term;
  load.mask = nxk_active(k, at, end, 16);
  load.other = identity;
  load.lane_stride = values.lane_stride = indices.lane_stride = 1;
  values.tree_stride = indices.tree_stride = 16;
  nxk_value x = nxk_load(k, &load, 16), better = nxk_scalar(k, NXK_lt, 0, acc, x, NXK_NONE);
  nxk_value index = nxk_scalar(k, NXK_select, 0, better, nxk_step_vector(k, at, 16), acc_index);
  nxk_value value = nxk_scalar(k,
                               kind == NXK_SUM    ? NXK_add
                               : kind == NXK_PROD ? NXK_mul
                                                  : NXK_max,
                               0, acc, x, NXK_NONE);
  nxk_next(k, acc, value);
  nxk_next(k, acc_index, index);
  nxk_end(k);
  nxk_tree_push(k, kind, block, acc, arg ? acc_index : NXK_NONE, &values, arg ? &indices : NULL);
  nxk_end(k);
  nxk_value count = nxk_const_i(k, NX_I64, blocks);
  nxk_value joined = nxk_tree_join(k, kind, count, 16, &values, arg ? &indices : NULL, false);
  nxk_value joined_index =
      arg ? nxk_tree_join(k, kind, count, 16, &values, &indices, true) : NXK_NONE;
  nxk_access store = nxk_access_at(out, 0);
  nxk_store(k, &store, nxk_lane_reduce(k, kind, joined, joined_index));
  nxk_end(k);
  nxk_end(k);
  return k;
}

#endif
