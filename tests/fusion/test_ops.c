/* SPDX-License-Identifier: ISC */
/* Every operation of the graph IR on every dtype it admits, on operands of every layout: machine
 * code of each instruction set and both kernel interpreters give the bits of the graph interpreter
 * (which numpy_ops.py compares with NumPy). All operations of one dtype and layout are one graph
 * with many outputs. */
#include "shop.h"
#include "tests/util/runner.h"

static bool
    /* every instruction set on every layout and dtype; else a quarter of them each, beside this
     * machine's best */
    whole;

static const nx_dtype dtypes[] = {NX_BOOL, NX_I4,  NX_U4,  NX_I8,  NX_U8,     NX_I16,    NX_U16,
                                  NX_I32,  NX_U32, NX_I64, NX_U64, NX_F8E4M3, NX_F8E5M2, NX_F16,
                                  NX_BF16, NX_F32, NX_F64, NX_C32, NX_C64,    NX_C128};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* ---- layouts: a base in memory, and a view of it that has the wanted shape */

typedef enum layout { CONTIGUOUS, TRANSPOSED, SLICED, STEPPED, BROADCAST, FLIPPED, LAYOUTS } layout;
static const char *const layout_names[LAYOUTS] = {"contiguous", "transposed", "sliced",
                                                  "stepped",    "broadcast",  "flipped"};

static nxg_view identity(int32_t rank, const int64_t *shape) {
  nxg_view v;
  nxg_view_contiguous(&v, rank, shape);
  return v;
}

/* The last axis is cut on both sides, the others on one, so that rows are not aligned. */
static void make_sliced(int32_t rank, const int64_t *shape, int64_t *base, int64_t *start,
                        int64_t *count) {
  for (int32_t i = 0; i < rank; i++) {
    base[i] = shape[i] + (i == rank - 1 ? 4 : rank < 8);
    start[i] = i == rank - 1 ? 3 : rank < 8 && i % 2;
    count[i] = shape[i];
  }
}

static void make_stepped(int32_t rank, const int64_t *shape, int64_t *base, int64_t *start,
                         int64_t *count, int64_t *step) {
  for (int32_t i = 0; i < rank; i++) {
    step[i] = i == rank - 1 ? 3 : rank < 8 ? 2 : 1;
    base[i] = shape[i] * step[i] + (i == rank - 1);
    start[i] = i == rank - 1;
    count[i] = shape[i];
  }
}

/* Shape of the base in memory, and the view of it. */
static void make_layout(layout l, int32_t rank, const int64_t *shape, int64_t *base, nxg_view *v) {
  int64_t start[NXG_MAX_RANK] = {0}, count[NXG_MAX_RANK], step[NXG_MAX_RANK];
  int32_t axes[NXG_MAX_RANK];
  nxi_diag d;
  nxi_diag_clear(&d);
  for (int32_t i = 0; i < rank; i++) {
    base[i] = count[i] = shape[i];
    step[i] = 1;
    axes[i] = l == TRANSPOSED ? rank - 1 - i : i;
  }
  if (l == TRANSPOSED)
    for (int32_t i = 0; i < rank; i++) base[i] = shape[rank - 1 - i];
  if (l == SLICED) make_sliced(rank, shape, base, start, count);
  if (l == STEPPED) make_stepped(rank, shape, base, start, count, step);
  for (int32_t i = 0; l == BROADCAST && i < rank; i++) base[i] = i % 2 == rank % 2 ? 1 : shape[i];
  *v = identity(rank, base);
  nx_status status = NX_OK;
  if (l == TRANSPOSED) status = nxg_view_permute(v, axes, (size_t)rank, v, &d);
  else if (l == BROADCAST) status = nxg_view_expand(v, rank, shape, v, &d);
  else if (l == FLIPPED) status = nxg_view_flip(v, axes, (size_t)rank, v, &d);
  else status = nxg_view_slice(v, start, count, step, v, &d);
  assert_int_equal(status, NX_OK);
}

/* An input of its own behind a view. */
static uint32_t operand(nxg_graph *g, const char *name, nx_dtype t, layout l, int32_t rank,
                        const int64_t *shape) {
  int64_t base[NXG_MAX_RANK];
  nxg_view v;
  make_layout(l, rank, shape, base, &v);
  uint32_t x = nxt_input(g, name, t, rank, base);
  return l == CONTIGUOUS ? x : nxt_view(g, x, &v);
}

/* ---- all operations on given operands */

typedef struct operands {
  uint32_t a, b, c, tame, mask;
} operands;

static int accepted;
static void keep(nxg_graph *g, uint32_t node) {
  if (node == UINT32_MAX) return;
  accepted++;
  nxg_add_output(g, node, NULL);
}

/* The parts of complex functions come with those. */
static bool is_part_function(int op) { return op >= NXG_mul_real && op <= NXG_atanh_imag; }

/* Functions that are loops take thousands of steps of an interpreter an element: the test of
 * functions and the conformance program have arrays of them, here they are scalars. */
static bool is_loop(int op) {
  return op == NXG_zeta || op == NXG_polygamma || op == NXG_igamma || op == NXG_igammac ||
         op == NXG_igamma_grad_a || op == NXG_random_gamma_grad || op == NXG_betainc;
}

static void add_maps(nxg_graph *g, const operands *o, nx_dtype t) {
  bool scalar = nxg_node_elements(&g->nodes[o->a]) == 1;
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    if (nxg_ops[op].kind != NXG_KIND_MAP || is_part_function(op)) continue;
    if (is_loop(op) && !scalar) continue;
    uint32_t args[4] = {o->a, o->b, o->c, o->b};
    if (op == NXG_where) {
      args[0] = o->mask;
      args[2] = o->a;
    }
    bool converts = op == NXG_cast || op == NXG_bitcast;
    for (int k = 0; k < (converts ? DTYPES : 1); k++) {
      bool same_size = nxi_dtypes[dtypes[k]].bits == nxi_dtypes[t].bits;
      if (op != NXG_bitcast || same_size)
        keep(g, nxt_node(g, (nxg_op)op, (uint32_t)nxg_ops[op].args, args, 0, NULL,
                         converts ? dtypes[k] : 0));
    }
  }
}

static void add_reductions(nxg_graph *g, const operands *o, int32_t rank) {
  static const nxg_op ops[] = {NXG_reduce_sum, NXG_reduce_prod, NXG_reduce_max, NXG_reduce_min};
  int64_t all = rank < 32 ? ((int64_t)1 << rank) - 1 : 0xffffffff,
          last = rank > 0 ? (int64_t)1 << (rank - 1) : 0;
  const int64_t masks[] = {last, last == 1 ? 0 : 1, all, all & 0xaaaaaaaa};
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++)
      keep(g, nxt_node(g, ops[i], 1, i < 2 ? &o->tame : &o->a, 2,
                       (int64_t[]){masks[k], (i + k) % 2}, 0));
  keep(g, nxt_node(g, NXG_reduce_sum, 1, &o->a, 2, (int64_t[]){last, 0}, 0));
  for (int64_t axis = 0; axis < rank; axis += rank > 3 ? rank - 1 : 1) {
    keep(g, nxt_node(g, NXG_argmax, 1, &o->a, 2, (int64_t[]){axis, 0}, 0));
    keep(g, nxt_node(g, NXG_argmin, 1, &o->tame, 2, (int64_t[]){axis, 1}, 0));
  }
}

static void add_moves(nxg_graph *g, const operands *o, nx_dtype t, int32_t rank) {
  int64_t one = (int64_t)nxi_cast_bits(1, NX_I64, nxi_part_dtype(t));
  int64_t pad[2 + 2 * NXG_MAX_RANK] = {one};
  for (int32_t i = 0; i < rank; i++) {
    pad[1 + i] = rank < 9 ? i % 2 : 0;
    pad[1 + rank + i] = rank < 9 ? (i + 1) % 3 : i == rank - 1;
  }
  pad[1 + 2 * rank] = one;
  keep(g, nxt_node(g, NXG_pad, 1, &o->a, 1 + 2 * (uint32_t)rank + nxi_is_complex(t), pad, 0));
  keep(g, nxt_node(g, NXG_copy, 1, &o->a, 0, NULL, 0));
  keep(g, o->a);
  for (int64_t axis = 0; axis < rank; axis += rank > 1 ? rank - 1 : 1) {
    keep(g, nxt_node(g, NXG_cat, 3, (uint32_t[]){o->a, o->b, o->a}, 1, &axis, 0));
    keep(g, nxt_node(g, NXG_cat, 6, (uint32_t[]){o->a, o->a, o->b, o->a, o->b, o->b}, 1, &axis, 0));
  }
}

/* b written over all of a's values in reverse, and over a corner of them. */
static void add_updates(nxg_graph *g, const operands *o, int32_t rank, const int64_t *shape) {
  int64_t attrs[2 + 2 * NXG_MAX_RANK], n = 2 + 2 * (int64_t)rank;
  int32_t axes[NXG_MAX_RANK];
  nxi_diag d;
  nxi_diag_clear(&d);
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  nxg_view v = identity(rank, shape);
  uint32_t old = nxt_node(g, NXG_copy, 1, &o->a, 0, NULL, 0);
  assert_int_equal(nxg_view_flip(&v, axes, (size_t)rank, &v, &d), NX_OK);
  attrs[0] = v.offset;
  attrs[1] = rank;
  memcpy(attrs + 2, v.shape, (size_t)rank * sizeof *attrs);
  memcpy(attrs + 2 + rank, v.strides, (size_t)rank * sizeof *attrs);
  keep(g, nxt_node(g, NXG_update, 2, (uint32_t[]){old, o->b}, (uint32_t)n, attrs, 0));
}

static void add_products(nxg_graph *g, const operands *o, int32_t rank) {
  const nxg_node *n = &g->nodes[o->tame];
  if (rank < 2 || rank > 8) return;
  int32_t axes[NXG_MAX_RANK];
  for (int32_t i = 0; i < rank; i++) axes[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  nxg_view v;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_node_view(g, o->tame, &v);
  uint32_t base = n->op == NXG_view ? n->args[0] : o->tame;
  assert_int_equal(nxg_view_permute(&v, axes, (size_t)rank, &v, &d), NX_OK);
  uint32_t back = nxt_view(g, base, &v);
  keep(g, nxt_node(g, NXG_matmul, 2, (uint32_t[]){o->tame, back}, 0, NULL, 0));
  keep(g, nxt_node(g, NXG_matmul, 2, (uint32_t[]){back, o->a}, 0, NULL, 0));
}

/* One graph: operand k has the layout k places on. `pairs`: all pairs of nasty values,
 * contiguous. */
static void all_operations(nx_dtype t, layout l, int32_t rank, const int64_t *shape, bool pairs,
                           const char *what, unsigned ways) {
  char label[96];
  snprintf(label, sizeof label, "%s %s", nxi_dtypes[t].name, what);
  nxg_graph *g = nxg_create("ops");
  layout step = pairs ? 0 : 1, other = (l + step) % LAYOUTS, third = (l + 2 * step) % LAYOUTS;
  operands o;
  o.a = operand(g, pairs ? "pair0" : "nasty0", t, l, rank, shape);
  o.b = operand(g, pairs ? "pair1" : "nasty1", t, other, rank, shape);
  o.c = o.a;
  o.mask = operand(g, "mask", NX_BOOL, third, rank, shape);
  o.tame = operand(g, "tame", t, l, rank, shape);
  add_maps(g, &o, t);
  if (!pairs) {
    add_reductions(g, &o, rank);
    add_moves(g, &o, t, rank);
    add_updates(g, &o, rank, shape);
    add_products(g, &o, rank);
  }
  nxt_compare(shop, g, label, ways);
}

/* Which of `ways` this combination runs. */
static unsigned share(unsigned ways, int combination) {
  static const unsigned turn[] = {NXT_LLVM_AVX2, NXT_LLVM_GENERIC, NXT_LLVM_UNFUSED, 0};
  unsigned rest = turn[combination % 4];
  return whole ? ways
               : (ways & ~(unsigned)(NXT_LLVM_AVX2 | NXT_LLVM_GENERIC | NXT_LLVM_UNFUSED)) |
                     (ways & rest);
}

static void over_dtypes(layout l, int32_t rank, const int64_t *shape, const char *what,
                        unsigned ways) {
  for (int i = 0; i < DTYPES; i++)
    all_operations(dtypes[i], l, rank, shape, false, what, share(ways, i + (int)l));
  assert_int_equal(nxt_differences(shop), 0);
}

static void every_layout(void **state) {
  (void)state;
  for (int l = 0; l < LAYOUTS; l++)
    over_dtypes((layout)l, 3, (int64_t[]){5, 3, 19}, layout_names[l],
                l == CONTIGUOUS ? NXT_ALL : NXT_COMPILED | NXT_INTERPRETED);
}

static void nasty_pairs(void **state) {
  (void)state;
  for (int i = 0; i < DTYPES; i++) {
    int64_t n = nxt_nasty_count(dtypes[i]), extent = n * n + 37;
    all_operations(dtypes[i], CONTIGUOUS, 1, &extent, true, "all pairs of nasty values",
                   NXT_COMPILED | NXT_INTERPRETED);
  }
  assert_int_equal(nxt_differences(shop), 0);
}

static void zero_size(void **state) {
  (void)state;
  over_dtypes(CONTIGUOUS, 2, (int64_t[]){0, 4}, "zero-size [0,4]", NXT_LLVM | NXT_INTERPRETED);
  over_dtypes(CONTIGUOUS, 3, (int64_t[]){3, 0, 2}, "zero-size [3,0,2]", NXT_INTERPRETED);
}

static void scalars(void **state) {
  (void)state;
  over_dtypes(CONTIGUOUS, 0, NULL, "rank 0", NXT_LLVM | NXT_INTERPRETED);
}

/* The interpreters always, machine code in one layout a dtype: code differs in addresses alone. */
static unsigned in_turn(int l, int i) {
  return whole || i % LAYOUTS == l % LAYOUTS ? NXT_LLVM | NXT_INTERPRETED : NXT_INTERPRETED;
}

static void rank_8(void **state) {
  (void)state;
  for (int l = 0; l < LAYOUTS; l++)
    for (int i = 0; i < DTYPES; i++) {
      char label[32];
      snprintf(label, sizeof label, "rank 8 %s", layout_names[l]);
      all_operations(dtypes[i], (layout)l, 8, (int64_t[]){2, 1, 3, 1, 1, 2, 2, 5}, false, label,
                     in_turn(l, i));
    }
  assert_int_equal(nxt_differences(shop), 0);
}

static void rank_32(void **state) {
  (void)state;
  int64_t shape[32];
  for (int i = 0; i < 32; i++) shape[i] = i == 3 || i == 20 ? 3 : i == 30 ? 7 : 1;
  for (int l = 0; l < LAYOUTS; l++)
    for (int i = 0; i < DTYPES; i++)
      all_operations(dtypes[i], (layout)l, 32, shape, false, "rank 32", in_turn(l + 3, i));
  assert_int_equal(nxt_differences(shop), 0);
}

/* ---- sources and random bits */

static void leaves(void **state) {
  (void)state;
  for (int i = 0; i < DTYPES; i++) {
    char label[40];
    nxg_graph *g = nxg_create("leaves");
    nx_dtype t = dtypes[i], part = nxi_part_dtype(t), inferred;
    nxi_diag d;
    uint64_t half = nxi_is_float(part) ? nxi_cast_bits(nxi_bits_f64(0.7), NX_F64, part) : 1,
             three = nxi_cast_bits(3, NX_I64, part);
    const struct {
      nxg_op op;
      int32_t rank;
      int64_t shape[3], attrs[4];
      uint32_t n_attrs;
    } rows[] = {
        {NXG_full, 3, {3, 1, 17}, {(int64_t)half, -1, (int64_t)three}, 2 + nxi_is_complex(t)},
        {NXG_full, 0, {0}, {(int64_t)three, -1, (int64_t)half}, 2 + nxi_is_complex(t)},
        {NXG_full, 2, {0, 3}, {(int64_t)half, -1, (int64_t)three}, 2 + nxi_is_complex(t)},
        {NXG_arange,
         1,
         {1000},
         {(int64_t)half, (int64_t)three, (int64_t)three, (int64_t)half},
         2u * nxi_parts(t)},
        {NXG_arange,
         1,
         {0},
         {(int64_t)half, (int64_t)three, (int64_t)three, (int64_t)half},
         2u * nxi_parts(t)},
        {NXG_arange,
         1,
         {1},
         {(int64_t)three, (int64_t)half, (int64_t)half, (int64_t)three},
         2u * nxi_parts(t)},
        {NXG_arange,
         1,
         {70000},
         {(int64_t)three, (int64_t)half, (int64_t)half, (int64_t)three},
         2u * nxi_parts(t)},
        {NXG_eye, 2, {7, 19}, {3}, 1},
        {NXG_eye, 2, {19, 7}, {-2}, 1},
        {NXG_eye, 2, {4, 0}, {0}, 1},
        {NXG_eye, 2, {33, 33}, {0}, 1},
        {NXG_eye, 2, {3, 3}, {INT64_MIN}, 1}};
    nxi_diag_clear(&d);
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
      int32_t rank = rows[k].rank;
      int64_t shape[NXG_MAX_RANK] = {0};
      memcpy(shape, rows[k].shape, sizeof rows[k].shape);
      if (nxg_infer(rows[k].op, 0, NULL, rows[k].attrs, rows[k].n_attrs, t, &inferred, &rank, shape,
                    &d) == NX_OK)
        keep(g, nxg_add(g, rows[k].op, 0, NULL, rows[k].attrs, rows[k].n_attrs, t, rank, shape));
    }
    snprintf(label, sizeof label, "%s leaves", nxi_dtypes[t].name);
    nxt_compare(shop, g, label, NXT_COMPILED | NXT_INTERPRETED);
  }
  for (int i = 0; i < 2; i++)
    for (int l = 0; l < LAYOUTS; l++) {
      nxg_graph *g = nxg_create("threefry");
      nx_dtype t = i == 0 ? NX_I32 : NX_U32;
      uint32_t args[2];
      args[0] = operand(g, "nasty0", t, (layout)l, 3, (int64_t[]){3, 11, 2});
      args[1] = operand(g, "nasty1", t, (layout)((l + 2) % LAYOUTS), 3, (int64_t[]){3, 11, 2});
      keep(g, nxt_node(g, NXG_threefry, 2, args, 0, NULL, 0));
      nxt_compare(shop, g, "threefry", NXT_COMPILED | NXT_INTERPRETED);
    }
  assert_int_equal(nxt_differences(shop), 0);
}

/* Every row of the table was accepted somewhere: a refusal by mistake must not go unseen. */
static void nothing_was_left_out(void **state) {
  (void)state;
  int expected = 0;
  for (int i = 0; i < DTYPES; i++)
    for (int op = 0; op < NXG_OP_COUNT; op++) {
      if (nxg_ops[op].kind != NXG_KIND_MAP || is_part_function(op) ||
          !nxg_op_admits((nxg_op)op, dtypes[i]))
        continue;
      int results = 1;
      if (op == NXG_cast) results = DTYPES;
      for (int k = 0; op == NXG_bitcast && k < DTYPES; k++)
        results += nxg_op_admits(NXG_bitcast, dtypes[k]) &&
                   nxi_dtypes[dtypes[k]].bits == nxi_dtypes[dtypes[i]].bits;
      expected += results - (op == NXG_bitcast);
    }
  accepted = 0;
  for (int i = 0; i < DTYPES; i++) {
    nxg_graph *g = nxg_create("count");
    operands o;
    int64_t n = 1;
    o.a = o.b = o.c = o.tame = nxt_input(g, "nasty", dtypes[i], 1, &n);
    o.mask = nxt_input(g, "mask", NX_BOOL, 1, &n);
    add_maps(g, &o, dtypes[i]);
    nxg_destroy(g);
  }
  assert_int_equal(accepted, expected);
}

/* Arguments: `all`: nothing is thinned out; `layouts` and `others`: the two halves of all cases,
 * for two processors. */
NXT_MAIN(ops) {
  const char *part = argc > 1 ? argv[1] : "";
  whole = strcmp(part, "all") == 0;
  const struct CMUnitTest layouts[] = {cmocka_unit_test(every_layout)};
  const struct CMUnitTest others[] = {
      cmocka_unit_test(nasty_pairs),
      cmocka_unit_test(zero_size),
      cmocka_unit_test(scalars),
      cmocka_unit_test(rank_8),
      cmocka_unit_test(rank_32),
      cmocka_unit_test(leaves),
      cmocka_unit_test(nothing_was_left_out),
  };
  int failed = 0;
  if (strcmp(part, "others") != 0) failed = cmocka_run_group_tests(layouts, open_shop, close_shop);
  if (strcmp(part, "layouts") != 0) failed += cmocka_run_group_tests(others, open_shop, close_shop);
  return failed;
}
