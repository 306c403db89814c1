/* SPDX-License-Identifier: ISC */
/* The structure of kernels through LLVM against the interpreter: accesses of every form, loops and
 * carries, cold blocks, lane_reduce, trees, regions and task ranges, and random straight-line
 * programs. */
#include "tests/bind/kernel_check.h"
#include "tests/util/runner.h"

/* ---- accesses */

enum { CONTIGUOUS, REVERSED, STRIDED, BACKWARDS, INDEXED, FORMS };
enum { NO_MASK, TAIL_MASK, ANY_MASK, ANY_MASK_OTHER, MASKS };
enum { TASKS = 3 };

/* An access of a form; all elements of task t of a buffer lie in [t * 4 * lanes, (t + 1) * 4 *
 * lanes). */
static nxk_access form_of(nxk_kernel *k, int form, uint32_t buffer, nxk_value index, nxk_term *term,
                          uint8_t lanes) {
  nxk_access a = nxk_access_at(buffer, 0);
  static const int64_t strides[FORMS] = {1, -1, 3, -2, 0};
  a.n_terms = 1;
  a.terms = term;
  a.lane_stride = strides[form];
  if (a.lane_stride < 0) a.offset = -a.lane_stride * (lanes - 1);
  if (form == INDEXED) a.index = index;
  (void)k;
  return a;
}

/* Every form and mask of one dtype: loads to contiguous outputs, stores of one contiguous input. */
static void check_accesses(nx_dtype t, uint8_t lanes) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "accesses");
  int64_t n = TASKS * 4 * lanes;
  uint32_t in = nxk_add_buffer(k, NXK_IN, t, n), order = nxk_add_buffer(k, NXK_IN, NX_U8, n),
           mask_in = nxk_add_buffer(k, NXK_IN, NX_BOOL, n);
  for (int i = 0; i < 2 * FORMS * MASKS; i++) nxk_add_buffer(k, i % 2 ? NXK_INOUT : NXK_OUT, t, n);
  for (uint32_t i = 0; i < k->n_buffers; i++) k->buffers[i].restricted = i % 3 != 0;
  nxk_begin_region(k);
  nxk_value task = nxk_begin_range(k, NXK_TASK, TASKS);
  nxk_term term = {task, 4 * lanes};
  nxk_access plain = form_of(k, CONTIGUOUS, order, NXK_NONE, &term, lanes);
  /* indices below 4 * lanes, and distinct so that stores do not depend on order */
  nxk_value base = op2(k, NXK_and, nxk_cast_to(k, NX_I64, nxk_load(k, &plain, lanes)), i64(k, 3));
  nxk_value index =
      op2(k, NXK_add, base, op2(k, NXK_mul, nxk_step_vector(k, i64(k, 0), lanes), i64(k, 4)));
  plain.buffer = mask_in;
  nxk_value any = nxk_load(k, &plain, lanes),
            tail = nxk_active(k, task, i64(k, lanes / 2 + 1), lanes);
  plain.buffer = in;
  nxk_value value = nxk_load(k, &plain, lanes);
  uint32_t out = mask_in + 1;
  for (int form = 0; form < FORMS; form++)
    for (int mask = 0; mask < MASKS; mask++) {
      nxk_access a = form_of(k, form, in, index, &term, lanes), whole = plain;
      a.mask = mask == NO_MASK ? NXK_NONE : mask == TAIL_MASK ? tail : any;
      if (mask == ANY_MASK_OTHER) a.other = value;
      nxk_value loaded = nxk_load(k, &a, lanes);
      whole.buffer = out++;
      nxk_store(k, &whole, loaded);
      a.buffer = out++;
      a.other = NXK_NONE;
      nxk_store(k, &a, value);
    }
  nxk_end(k);
  nxk_end(k);
  check(k, NULL);
  nxk_destroy(k);
}

static void test_accesses(void **state) {
  (void)state;
  static const nx_dtype dtypes[] = {NX_BOOL, NX_U8, NX_I16, NX_BF16, NX_F32, NX_F64};
  static const uint8_t lanes[2][3] = {{1, 8, 32}, {2, 16, 64}};
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    for (size_t j = 0; j < 3; j++) check_accesses(dtypes[i], lanes[i % 2][j]);
}

/* Rows of 2 to 4 vectors: every deinterleave of them, with each overlap, and every interleave. */
static void check_rows(nx_dtype t, uint8_t lanes) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "rows");
  uint32_t out = nxk_add_buffer(k, NXK_IN, t, TASKS * 4 * lanes) + 1;
  for (int i = 0; i < 3 + 6 + 10 + 2 + 7; i++) nxk_add_buffer(k, NXK_OUT, t, TASKS * 4 * lanes);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_TASK, TASKS), 4 * lanes};
  nxk_access a = form_of(k, CONTIGUOUS, 0, NXK_NONE, &term, lanes), to = a;
  nxk_value values[4];
  for (int i = 0; i < 4; i++) {
    a.offset = (int64_t)i * lanes;
    values[i] = nxk_load(k, &a, lanes);
  }
  for (uint32_t n = 2; n <= 4; n++) {
    for (uint32_t first = 0; first < n; first++)
      for (uint32_t overlap = 0; first + overlap < n; overlap++) {
        to.buffer = out++;
        nxk_store(k, &to, nxk_deinterleave(k, values, n, first, overlap));
      }
    for (uint32_t piece = 0; piece < n; piece++) {
      to.buffer = out++;
      nxk_store(k, &to, nxk_interleave_all(k, values, n, piece));
    }
  }
  nxk_end(k);
  nxk_end(k);
  check(k, NULL);
  nxk_destroy(k);
}

static void test_rows(void **state) {
  (void)state;
  static const nx_dtype dtypes[] = {NX_BOOL, NX_U8, NX_F16, NX_F32, NX_F64};
  static const uint8_t lanes[2][2] = {{4, 64}, {8, 32}};
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    for (size_t j = 0; j < 2; j++) check_rows(dtypes[i], lanes[i % 2][j]);
}

/* Stores past the caches, and behind the last of them a fence: nothing else orders them. */
static void expect_nontemporal(const nxk_kernel *k) {
  static const char *const forms[][4] = {{"", "avx2", "vmovntps", "mfence"},
                                         {"aarch64-linux-gnu", "neon", "stnp", "dmb"}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (!forms[i][0][0] && !runs_here(forms[i][1])) continue;
    nxl_target t = {0};
    nxi_diag d = {0};
    void *text;
    size_t size;
    snprintf(t.triple, sizeof t.triple, "%s", forms[i][0]);
    snprintf(t.isa, sizeof t.isa, "%s", forms[i][1]);
    if (nxl_compile(k, &t, NXL_ASM, &text, &size, &d) != NX_OK) fail_msg("%s", d.message);
    const char *last = NULL;
    for (const char *p = text; (p = strstr(p, forms[i][2])) != NULL; p++) last = p;
    if (!last || !(strstr(last, forms[i][3]) || strstr(last, "lock")))
      fail_msg("%s: no %s, or no %s behind it:\n%s", forms[i][1], forms[i][2], forms[i][3],
               (const char *)text);
    nxi_free(text);
  }
}

/* Registers of a store whose vectors begin in the middle of lines are stored in their order. */
static void expect_in_order(const nxk_kernel *k, const char *isa, int registers) {
  static const char store[] = "\tvmovups\t%";
  nxl_target t = {0};
  nxi_diag d = {0};
  void *text;
  size_t size;
  long before = -1;
  int n = 0;
  snprintf(t.isa, sizeof t.isa, "%s", isa);
  if (nxl_compile(k, &t, NXL_ASM, &text, &size, &d) != NX_OK) fail_msg("%s", d.message);
  for (const char *at = strstr(text, store); at; at = strstr(at + 1, store), n++) {
    const long displacement = strtol(strstr(at, ", ") + 2, NULL, 10);
    if (displacement <= before) fail_msg("%s: not in order:\n%s", isa, (const char *)text);
    before = displacement;
  }
  assert_int_equal(n, registers);
  nxi_free(text);
}

static void test_in_order(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxk_kernel *k = nxk_create(NXK_BOUND, "in_order");
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 4 * 64 + 1),
           out = nxk_add_buffer(k, NXK_OUT, NX_F32, 4 * 64 + 1);
  k->buffers[in].aligned = k->buffers[out].aligned = true;
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_TASK, 4), 64};
  nxk_access a = form_of(k, CONTIGUOUS, in, NXK_NONE, &term, 64);
  nxk_value v = nxk_load(k, &a, 64);
  a.buffer = out;
  a.offset = 1;
  nxk_store(k, &a, op2(k, NXK_add, v, v));
  nxk_end(k);
  nxk_end(k);
  check(k, NULL);
  if (runs_here("avx2")) expect_in_order(k, "avx2", 8);
  if (runs_here("avx512")) expect_in_order(k, "avx512", 4);
  nxk_destroy(k);
}

/* A non-temporal store of every width, at aligned addresses. */
static void test_nontemporal(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  for (uint8_t lanes = 16; lanes <= 64; lanes *= 2) { /* whole cache lines */
    nxk_kernel *k = nxk_create(NXK_BOUND, "nontemporal");
    uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 4 * lanes),
             out = nxk_add_buffer(k, NXK_OUT, NX_F32, 4 * lanes);
    k->buffers[in].aligned = k->buffers[out].aligned = true;
    nxk_begin_region(k);
    nxk_term term = {nxk_begin_range(k, NXK_TASK, 4), lanes};
    nxk_access a = form_of(k, CONTIGUOUS, in, NXK_NONE, &term, lanes);
    nxk_value v = nxk_load(k, &a, lanes);
    a.buffer = out;
    a.flags = NXK_NONTEMPORAL;
    nxk_store(k, &a, op2(k, NXK_add, v, v));
    nxk_end(k);
    nxk_end(k);
    check(k, NULL);
    expect_nontemporal(k);
    nxk_destroy(k);
  }
}

/* ---- loops */

/* Carries that swap, a loop that may not run, bounds that are values, a carry without `next`, a
 * loop that ends early. */
static void check_loops(uint8_t lanes, int64_t extent) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "loops");
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 64 * lanes),
           out = nxk_add_buffer(k, NXK_OUT, NX_F32, 4 * 3 * lanes);
  uint32_t n = nxk_add_param(k, NX_I64);
  nxk_value limit = nxk_param(k, n);
  nxk_begin_region(k);
  nxk_value task = nxk_begin_range(k, NXK_TASK, 4);
  nxk_value zero = nxk_splat(k, nxk_const_f(k, NX_F32, 0), lanes),
            one = nxk_splat(k, nxk_const_f(k, NX_F32, 1), lanes);
  nxk_value i = nxk_begin_for(k, NXK_SEQ, nxk_bound_of(task), nxk_bound_of(limit), 2);
  nxk_value a = nxk_carry(k, zero), b = nxk_carry(k, one), c = nxk_carry(k, one);
  nxk_value j = nxk_begin_for(k, NXK_SEQ, nxk_bound_const(0), nxk_bound_of(i), 3);
  nxk_value d = nxk_carry(k, a);
  nxk_term term = {j, lanes};
  nxk_access at = form_of(k, CONTIGUOUS, in, NXK_NONE, &term, lanes);
  nxk_value last = op2(k, NXK_lt, nxk_const_i(k, NX_I64, 2), j);
  nxk_next(k, d, op2(k, NXK_add, d, nxk_load(k, &at, lanes)));
  nxk_until(k, last);
  nxk_end(k);
  nxk_value sum = op2(k, NXK_add, a, d);
  nxk_next(k, a, b);
  nxk_next(k, b, sum);
  nxk_end(k);
  const nxk_value results[3] = {a, b, c};
  for (int r = 0; r < 3; r++) {
    nxk_term place = {task, 3 * lanes};
    at = form_of(k, CONTIGUOUS, out, NXK_NONE, &place, lanes);
    at.offset = r * lanes;
    nxk_store(k, &at, results[r]);
  }
  nxk_end(k);
  nxk_end(k);
  uint64_t params[1] = {(uint64_t)extent};
  check(k, params);
  nxk_destroy(k);
}

static void test_loops(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  for (int64_t extent = -1; extent < 9; extent++) check_loops(extent % 2 ? 8 : 1, extent);
}

/* ---- cold blocks */

static void check_rare(uint8_t lanes, double threshold) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "cold");
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 16 * lanes),
           out = nxk_add_buffer(k, NXK_OUT, NX_F32, 32 * lanes);
  nxk_begin_region(k);
  nxk_value task = nxk_begin_range(k, NXK_TASK, 16);
  nxk_term from = {task, lanes}, to = {task, 2 * lanes};
  nxk_access a = form_of(k, CONTIGUOUS, in, NXK_NONE, &from, lanes),
             b = form_of(k, CONTIGUOUS, out, NXK_NONE, &to, lanes);
  nxk_value x = nxk_load(k, &a, lanes), before = op2(k, NXK_mul, x, x);
  nxk_value cold = nxk_begin_cold(k, op2(k, NXK_lt, nxk_const_f(k, NX_F32, threshold), x));
  nxk_begin_range(k, NXK_SEQ, 3);
  nxk_value c = nxk_carry(k, x);
  nxk_next(k, c, op2(k, NXK_add, c, before));
  nxk_end(k);
  nxk_value inner = nxk_begin_cold(k, op2(k, NXK_lt, nxk_const_f(k, NX_F32, 100), x)),
            deep = op2(k, NXK_sub, c, x);
  nxk_end(k);
  nxk_value inside = nxk_blend(k, inner, deep, c);
  nxk_end(k);
  nxk_value first = nxk_blend(k, cold, inside, before), second = nxk_blend(k, cold, x, first);
  nxk_store(k, &b, first);
  b.offset += lanes;
  nxk_store(k, &b, second);
  nxk_end(k);
  nxk_end(k);
  check(k, NULL);
  nxk_destroy(k);
}

static void test_rare(void **state) {
  (void)state;
  static const uint8_t lanes[] = {1, 8, 16, 64, 128};
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof lanes; i++)
    for (double threshold = -130; threshold < 140; threshold += 90) check_rare(lanes[i], threshold);
}

/* ---- lane_reduce and trees */

static bool reduces(nxk_reduce_kind kind, nx_dtype t) {
  if (kind == NXK_DOT) return false;
  return t != NX_BOOL || (kind != NXK_SUM && kind != NXK_PROD);
}

/* For each kind: a reduction, and a tree of `pushes` partials joined and reduced. */
static void check_reductions(nx_dtype t, uint8_t lanes, int64_t pushes) {
  nxk_kernel *k = nxk_create(NXK_BOUND, "reductions");
  uint32_t in = nxk_add_buffer(k, NXK_IN, t, lanes * pushes);
  uint32_t outs[NXK_REDUCE_KINDS], values[NXK_REDUCE_KINDS], indices[NXK_REDUCE_KINDS];
  for (int kind = 0; kind < NXK_REDUCE_KINDS; kind++)
    outs[kind] = nxk_add_buffer(k, NXK_OUT, kind >= NXK_ARGMAX ? NX_I64 : t, 2);
  for (int kind = 0; kind < NXK_REDUCE_KINDS; kind++) {
    values[kind] = nxk_add_buffer(k, NXK_LOCAL, t, 8 * lanes);
    indices[kind] = nxk_add_buffer(k, NXK_LOCAL, NX_I64, 8 * lanes);
  }
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  for (int kind = 0; kind < NXK_REDUCE_KINDS; kind++) {
    if (!reduces((nxk_reduce_kind)kind, t)) continue;
    bool arg = kind >= NXK_ARGMAX;
    nxk_access tree = nxk_access_at(values[kind], 0), tree_index = nxk_access_at(indices[kind], 0);
    tree.lane_stride = tree_index.lane_stride = lanes > 1;
    tree.tree_stride = tree_index.tree_stride = lanes;
    nxk_value i = nxk_begin_range(k, NXK_SEQ, pushes);
    nxk_term term = {i, lanes};
    nxk_access a = form_of(k, CONTIGUOUS, in, NXK_NONE, &term, lanes);
    nxk_value v = nxk_load(k, &a, lanes),
              number = nxk_step_vector(k, op2(k, NXK_mul, i, i64(k, lanes)), lanes);
    nxk_tree_push(k, (nxk_reduce_kind)kind, i, v, arg ? number : NXK_NONE, &tree,
                  arg ? &tree_index : NULL);
    nxk_end(k);
    nxk_value joined = nxk_tree_join(k, (nxk_reduce_kind)kind, i64(k, pushes), lanes, &tree,
                                     arg ? &tree_index : NULL, false);
    nxk_value at = arg ? nxk_tree_join(k, (nxk_reduce_kind)kind, i64(k, pushes), lanes, &tree,
                                       &tree_index, true)
                       : NXK_NONE;
    nxk_access out = nxk_access_at(outs[kind], 0);
    nxk_store(k, &out,
              lanes > 1 ? nxk_lane_reduce(k, (nxk_reduce_kind)kind, joined, at)
              : arg     ? at
                        : joined);
  }
  nxk_end(k);
  nxk_end(k);
  check(k, NULL);
  nxk_destroy(k);
}

static void test_reductions(void **state) {
  (void)state;
  static const nx_dtype dtypes[] = {NX_BOOL, NX_I8, NX_U16, NX_I64, NX_F32, NX_F64};
  if (nxl_unavailable()) skip();
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    check_reductions(dtypes[i], 16, 1 + (int64_t)i);
    check_reductions(dtypes[i], i % 2 ? 1 : 32, 13);
  }
}

/* ---- regions */

/* Two regions and a parameter for the tasks of the first; every range of tasks runs exactly its
 * own. */
static void test_regions(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxk_kernel *k = nxk_create(NXK_BOUND, "regions");
  uint32_t a = nxk_add_buffer(k, NXK_INOUT, NX_I32, 8), b = nxk_add_buffer(k, NXK_INOUT, NX_I32, 8),
           n = nxk_add_param(k, NX_I64);
  uint32_t add = nxk_add_param(k, NX_I32);
  nxk_value limit = nxk_param(k, n), amount = nxk_param(k, add);
  const uint32_t buffers[3] = {a, b, a};
  for (int p = 0; p < 3; p++) {
    nxk_begin_region(k);
    nxk_value task = p == 0 ? nxk_begin_for(k, NXK_TASK, nxk_bound_const(0), nxk_bound_of(limit), 1)
                            : nxk_begin_range(k, NXK_TASK, 2 + p);
    if (p == 0) {
      k->regions[0].tasks_param = (int32_t)n;
      k->regions[0].tasks_divisor = 3;
    }
    nxk_term term = {task, 1};
    nxk_access at = form_of(k, CONTIGUOUS, buffers[p], NXK_NONE, &term, 1);
    at.offset = p == 2 ? 4 : 0;
    at.lane_stride = 0;
    nxk_store(k, &at, op2(k, NXK_add, nxk_load(k, &at, 1), amount));
    nxk_end(k);
    nxk_end(k);
  }
  for (uint64_t extent = 0; extent < 11; extent += 5) {
    uint64_t params[2] = {extent, (uint32_t)-7};
    int64_t tasks = nxk_task_count(k, params);
    assert_int_equal(tasks, (int64_t)((extent + 2) / 3) + 3 + 4);
    for (int64_t begin = 0; begin <= tasks; begin += 2)
      for (int64_t end = begin; end <= tasks; end += 3) check_range(k, params, begin, end);
  }
  nxk_destroy(k);
}

/* ---- random straight-line programs */

static const nx_dtype any_dtype[] = {NX_BOOL,   NX_I8,  NX_U8,   NX_I16, NX_U16,
                                     NX_I32,    NX_U32, NX_I64,  NX_U64, NX_F8E4M3,
                                     NX_F8E5M2, NX_F16, NX_BF16, NX_F32, NX_F64};
enum { N_DTYPES = sizeof any_dtype / sizeof *any_dtype, MAX_POOL = 40 };

/* Operations whose result on a NaN could show which NaN it was, or that have a narrower domain, are
 * left out. */
static bool usable(nxk_op op, nx_dtype t) {
  if (nxk_scalars[op].flags & NXK_FUNC || !(nxk_scalars[op].admits & nxi_dtype_class(t)))
    return false;
  if (op == NXK_bitcast || op == NXK_copysign || op == NXK_ldexp) return false;
  if (op == NXK_umulh) return t == NX_U64;
  return !nxi_is_small_float(t) || op == NXK_cast || op == NXK_select ||
         nxk_scalars[op].result == NXK_RESULT_BOOL;
}

static nxk_value find_value(const nxk_kernel *k, const nxk_value *pool, uint32_t n, nx_dtype t,
                            uint64_t random) {
  for (uint32_t i = 0; i < n; i++) {
    nxk_value v = pool[(random + i) % n];
    if (nxk_dtype(k, v) == t) return v;
  }
  return NXK_NONE;
}

static nxk_value random_op(nxk_kernel *k, const nxk_value *pool, uint32_t n, uint64_t *seed) {
  nxk_value a = pool[next_random(seed) % n], b, c;
  nx_dtype t = nxk_dtype(k, a);
  nxk_op op = (nxk_op)(next_random(seed) % NXK_SCALAR_COUNT);
  if (!usable(op, t)) return NXK_NONE;
  b = find_value(k, pool, n, t, next_random(seed));
  c = find_value(k, pool, n, t, next_random(seed));
  if (op == NXK_select) {
    c = b;
    b = a;
    a = find_value(k, pool, n, NX_BOOL, next_random(seed));
  }
  if (a == NXK_NONE) return NXK_NONE;
  return nxk_scalar(k, op, any_dtype[next_random(seed) % N_DTYPES], a, b, c);
}

static nxk_kernel *random_kernel(uint64_t seed) {
  static const uint8_t widths[] = {1, 2, 4, 8, 16, 32, 64, 128};
  uint8_t lanes = widths[next_random(&seed) % 7];
  nxk_kernel *k = nxk_create(NXK_BOUND, "random");
  nxk_value pool[MAX_POOL];
  uint32_t n = 0, n_outs = 0, n_inputs = 6;
  for (uint32_t i = 0; i < n_inputs; i++)
    nxk_add_buffer(k, NXK_IN, any_dtype[next_random(&seed) % N_DTYPES], 4 * lanes);
  for (uint32_t i = 0; i < MAX_BUFFERS - 8; i++) nxk_add_buffer(k, NXK_OUT, NX_BOOL, 4 * lanes);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_TASK, 4), lanes};
  nxk_access a = nxk_access_at(0, 0);
  a.n_terms = 1;
  a.terms = &term;
  a.lane_stride = lanes > 1;
  for (; a.buffer < n_inputs; a.buffer++) pool[n++] = nxk_load(k, &a, lanes);
  for (int tries = 0; tries < 60 && n < MAX_POOL; tries++) {
    nxk_value v = random_op(k, pool, n, &seed);
    if (v == NXK_NONE) continue;
    pool[n++] = v;
    a.buffer = n_inputs + n_outs++;
    k->buffers[a.buffer].dtype = nxk_dtype(k, v);
    nxk_store(k, &a, v);
  }
  nxk_end(k);
  nxk_end(k);
  return k;
}

static void test_random(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  for (uint64_t seed = 1; seed <= 100; seed++) {
    nxk_kernel *k = random_kernel(seed * 1000003);
    check(k, NULL);
    nxk_destroy(k);
  }
}

NXT_MAIN(llvm_kernels) {
  nxl_set_verify(true);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accesses),    cmocka_unit_test(test_rows),
      cmocka_unit_test(test_nontemporal), cmocka_unit_test(test_in_order),
      cmocka_unit_test(test_loops),       cmocka_unit_test(test_rare),
      cmocka_unit_test(test_reductions),  cmocka_unit_test(test_regions),
      cmocka_unit_test(test_random),
  };
  return cmocka_run_group_tests(tests, NULL, nxt_foreign_end);
}
