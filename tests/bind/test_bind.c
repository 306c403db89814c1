/* SPDX-License-Identifier: ISC */
/* Tests of the CPU binder: the bound form of a kernel gives the same bits as the logical form, for
 * every target and every division into tasks. Both run in the interpreter, which also reports every
 * access outside a buffer. */
#include "bind_util.h"
#include "tests/util/runner.h"

#ifndef NXT_NAME
#define NXT_NAME bind
#endif

/* ---- elementwise */

/* Strides and the offset of the first element for a random permutation, flips, and (except for the
 * output) repeats. */
static int64_t random_layout(bool output, int rank, const int64_t *extent, int64_t *stride) {
  int order[4] = {0, 1, 2, 3};
  for (int i = 0; !output && i < rank; i++) {
    int j = (int)below(rank), swap = order[i];
    order[i] = order[j];
    order[j] = swap;
  }
  int64_t step = 1, offset = 0;
  for (int i = rank; i-- > 0;) {
    stride[order[i]] = step;
    step *= extent[order[i]];
  }
  for (int i = 0; i < rank; i++) {
    if (!output && below(5) == 0) stride[i] = 0;
    if (below(5) == 0) {
      offset += stride[i] * (extent[i] - 1);
      stride[i] = -stride[i];
    }
  }
  return offset;
}

/* A mask along one dimension, sometimes with a value for masked elements. */
static void random_pad(nxk_kernel *k, nx_dtype t, nxk_value index, int64_t extent, nxk_access *a) {
  nxk_value low = nxk_const_i(k, NX_I64, below(extent + 1)), one = nxk_const_i(k, NX_I64, below(3));
  nxk_value shifted = add(k, index, one);
  a->mask = below(2) ? nxk_scalar(k, NXK_le, 0, low, shifted, NXK_NONE)
                     : nxk_scalar(k, NXK_lt, 0, shifted, low, NXK_NONE);
  if (below(2)) a->other = nxk_const_i(k, t, 5);
}

/* y[i0, i1, ...] = x through any view, + z of another; the shape, order and signs of strides are
 * random. */
static nxk_kernel *random_map(nx_dtype t) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "map");
  int rank = (int)below(4) + 1;
  int64_t extent[4], total = 1, stride[3][4];
  static const int64_t sizes[] = {1, 2, 3, 5, 8, 15, 16, 17, 33, 64, 70};
  for (int i = 0; i < rank; i++) {
    do extent[i] = sizes[below(11)];
    while (total * extent[i] > 6000);
    total *= extent[i];
  }
  int64_t offset[3];
  for (int b = 0; b < 3; b++) offset[b] = random_layout(b == 2, rank, extent, stride[b]);
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, total), z = nxk_add_buffer(k, NXK_IN, t, total),
           y = nxk_add_buffer(k, NXK_OUT, t, total);
  k->buffers[y].aligned = true;
  nxk_value index[4];
  nxk_begin_region(k);
  for (int i = 0; i < rank; i++) index[i] = nxk_begin_range(k, NXK_OUTER, extent[i]);
  nxk_value loaded[2];
  uint32_t buffers[2] = {x, z};
  for (int b = 0; b < 3; b++) {
    nxk_term terms[4];
    for (int i = 0; i < rank; i++) terms[i] = (nxk_term){index[i], stride[b][i]};
    nxk_access a = at(b < 2 ? buffers[b] : y, offset[b], terms, (uint32_t)rank);
    if (b < 2) {
      if (below(2)) {
        int d = (int)below(rank);
        random_pad(k, t, index[d], extent[d], &a);
      }
      loaded[b] = nxk_load(k, &a, 1);
      continue;
    }
    a.flags = NXK_NONTEMPORAL;
    nxk_value sum = widen(k, loaded[0]);
    if (t == NX_BOOL) sum = nxk_scalar(k, NXK_xor, 0, loaded[0], loaded[1], NXK_NONE);
    else sum = nxk_cast_to(k, t, add(k, sum, widen(k, loaded[1])));
    nxk_store(k, &a, sum);
  }
  end_all(k, rank + 1);
  return k;
}

static void test_maps(void **state) {
  (void)state;
  for (int i = 0; i < 300; i++) check(random_map(every_type[i % TYPES]));
}

/* Large enough for several tasks, tiles and tails; cut along the first, the last, or no
 * dimension. */
static void test_map_tasks(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 40000}, {40000, 1}, {3, 20011}, {500, 66},
                                      {200, 301}, {7, 4096},  {128, 320}};
  for (int s = 0; s < 7; s++)
    for (int transposed = 0; transposed < 2; transposed++) {
      int64_t rows = shapes[s][0], columns = shapes[s][1];
      nxk_kernel *k = nxk_create(NXK_LOGICAL, "tasks");
      uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, rows * columns),
               y = nxk_add_buffer(k, NXK_OUT, NX_F32, rows * columns);
      nxk_begin_region(k);
      nxk_value i = nxk_begin_range(k, NXK_OUTER, rows), j = nxk_begin_range(k, NXK_OUTER, columns);
      nxk_value v = transposed ? load2(k, x, i, 1, j, rows) : load2(k, x, i, columns, j, 1);
      for (int n = 0; n < (s % 2 ? 12 : 0); n++)
        v = nxk_scalar(k, NXK_div, 0, v, nxk_const_f(k, NX_F32, 1.5), NXK_NONE);
      store2(k, y, i, columns, j, 1, v);
      end_all(k, 3);
      check(k);
    }
}

/* Transposes of short rows, whose tiles have all columns of what is read: what is left of them
 * beyond whole blocks, rows of the result that begin in the middle of a line, and results that are
 * added to what they overwrite. */
static void test_tall_tiles(void **state) {
  (void)state;
  for (int form = 0; form < 80; form++) {
    static const nx_dtype types[] = {NX_F32, NX_F64, NX_I16, NX_U8};
    static const int64_t tall[] = {16, 64, 80, 104, 336, 512, 1003};
    int64_t columns = 5 + below(form % 2 ? 30 : 140), rows = tall[form % 7];
    nx_dtype t = types[form % 4];
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "tall");
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, rows * columns),
             y = nxk_add_buffer(k, form % 3 ? NXK_OUT : NXK_INOUT, t, rows * columns);
    k->buffers[y].aligned = k->buffers[y].restricted = k->buffers[x].restricted = true;
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, columns), j = nxk_begin_range(k, NXK_OUTER, rows),
              v = load2(k, x, i, 1, j, columns);
    if (form % 3 == 0) v = nxk_scalar(k, NXK_max, 0, v, load2(k, y, i, rows, j, 1), NXK_NONE);
    nxk_term terms[2] = {{i, rows}, {j, 1}};
    nxk_access to = at(y, 0, terms, 2);
    if (form % 5) to.flags = NXK_NONTEMPORAL;
    nxk_store(k, &to, v);
    end_all(k, 3);
    check(k);
  }
}

/* Transposes past the caches whose rows begin anywhere in a cache line: two tiles that write whole
 * lines have to agree about which of them writes the line across their border. */
static void test_shifted_tiles(void **state) {
  (void)state;
  static const struct {
    int64_t rows, columns, offset;
    nx_dtype type;
  } cases[] = {{20, 257, 0, NX_F32},  {270, 324, 0, NX_F32}, {9, 321, 5, NX_F32},
               {12, 640, 16, NX_F32}, {11, 705, 3, NX_F32},  {40, 131, 1, NX_F64},
               {9, 1000, 0, NX_I16}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    int64_t rows = cases[c].rows, columns = cases[c].columns, pitch = columns + (c == 3 ? 8 : 0);
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "shifted");
    uint32_t x = nxk_add_buffer(k, NXK_IN, cases[c].type, rows * columns),
             z = nxk_add_buffer(k, NXK_IN, cases[c].type, rows * columns),
             y = nxk_add_buffer(k, NXK_OUT, cases[c].type, rows * pitch + cases[c].offset);
    k->buffers[y].aligned = true;
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, rows), j = nxk_begin_range(k, NXK_OUTER, columns);
    nxk_value v = load2(k, x, i, 1, j, rows);
    if (c % 2) v = add(k, v, load2(k, z, i, columns, j, 1));
    nxk_access a = at(y, cases[c].offset, (nxk_term[]){{i, pitch}, {j, 1}}, 2);
    a.flags = NXK_NONTEMPORAL;
    nxk_store(k, &a, v);
    end_all(k, 3);
    check(k);
  }
}

/* Elements that lie a few apart, in rows that are no multiple of any vector: whole vectors of them
 * must not reach beyond the last one, which is the buffer's. */
static void test_gaps_of_rows(void **state) {
  (void)state;
  static const int64_t widths[] = {1, 3, 7, 15, 16, 23, 56, 63, 70, 133};
  for (int form = 0; form < 60; form++) {
    int64_t width = widths[form / 6], apart = form % 3 + 2, rows = 5, loads = form % 2 ? apart : 1,
            first = form % 2 ? 0 : apart - 1, room = (rows * width - 1) * apart + first + loads;
    nx_dtype t = form % 4 ? NX_F32 : NX_I16;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "gaps");
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, room),
             y = nxk_add_buffer(k, NXK_OUT, t, rows * width);
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, rows), j = nxk_begin_range(k, NXK_OUTER, width),
              most = NXK_NONE;
    for (int64_t n = 0; n < loads; n++) {
      nxk_access a = at(x, first + n, (nxk_term[]){{i, width * apart}, {j, apart}}, 2);
      nxk_value v = nxk_load(k, &a, 1);
      most = most == NXK_NONE ? v : nxk_scalar(k, NXK_max, 0, most, v, NXK_NONE);
    }
    store2(k, y, i, width, j, 1, most);
    end_all(k, 3);
    check(k);
  }
}

static void test_parameter_extent(void **state) {
  (void)state;
  static const int64_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 1000, 30000};
  for (int s = 0; s < 10; s++) {
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "param");
    uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, 30000),
             y = nxk_add_buffer(k, NXK_OUT, NX_F32, 30000);
    uint32_t p = nxk_add_param(k, NX_I64), q = nxk_add_param(k, NX_F32);
    nxk_value end = nxk_param(k, p), factor = nxk_param(k, q);
    nxk_begin_region(k);
    nxk_value i = nxk_begin_for(k, NXK_OUTER, nxk_bound_const(0), nxk_bound_of(end), 1);
    nxk_value v = mul(k, load1(k, x, 0, i, 1), factor);
    for (int n = 0; n < 12; n++)
      v = nxk_scalar(k, NXK_div, 0, v, nxk_const_f(k, NX_F32, 1.5), NXK_NONE);
    store1(k, y, i, 1, v);
    end_all(k, 2);
    uint64_t params[MAX_PARAMS] = {(uint64_t)sizes[s], nxi_bits_f32(1.25f)};
    check_with(k, params, 7);
  }
}

/* arange, gathers, computed indices, and conditions on indices of every form. */
static void test_indices(void **state) {
  (void)state;
  for (int form = 0; form < 12; form++) {
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "indices");
    int64_t n = 150, m = 37;
    uint32_t x = nxk_add_buffer(k, NXK_IN, NX_I32, n * m),
             y = nxk_add_buffer(k, NXK_OUT, NX_I64, n * m);
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, n), j = nxk_begin_range(k, NXK_OUTER, m);
    nxk_value c = nxk_const_i(k, NX_I64, 20), v = NXK_NONE;
    nxk_value pairs[6][2] = {{j, c},
                             {c, j},
                             {j, i},
                             {i, j},
                             {mul(k, nxk_const_i(k, NX_I64, 3), j), c},
                             {c, sub(k, mul(k, j, j), j)}};
    if (form < 6) {
      nxk_value less =
          nxk_scalar(k, below(2) ? NXK_lt : NXK_le, 0, pairs[form][0], pairs[form][1], NXK_NONE);
      v = nxk_scalar(k, NXK_select, 0, less, i, sub(k, j, i));
    } else {
      nxk_value flat = add(k, mul(k, i, nxk_const_i(k, NX_I64, m)), j), terms[3];
      terms[0] = flat; /* affine */
      terms[1] = nxk_scalar(k, NXK_mod, 0, mul(k, flat, nxk_const_i(k, NX_I64, 7)),
                            nxk_const_i(k, NX_I64, n * m), NXK_NONE);
      terms[2] = sub(k, nxk_const_i(k, NX_I64, n * m - 1), flat); /* backwards */
      nxk_access a = nxk_access_at(x, 0);
      a.index = terms[form % 3];
      if (form >= 9) a.mask = nxk_scalar(k, NXK_lt, 0, j, c, NXK_NONE);
      if (form == 10) a.other = nxk_cast_to(k, NX_I32, i);
      if (form == 11) { /* one element under a mask that varies */
        a.index = NXK_NONE;
        a.other = nxk_cast_to(k, NX_I32, j);
      }
      v = nxk_cast_to(k, NX_I64, nxk_load(k, &a, 1));
    }
    store2(k, y, i, m, j, 1, v);
    end_all(k, 3);
    check(k);
  }
}

/* Each element is overwritten by its result, so no vector may be computed twice, as overlapping
 * vectors at the end of a row would be. */
static void test_in_place(void **state) {
  (void)state;
  static const int64_t sizes[] = {5, 16, 70, 301, 20011};
  for (int form = 0; form < 10; form++) {
    int64_t n = sizes[form / 2];
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "in_place");
    uint32_t y = nxk_add_buffer(k, NXK_INOUT, NX_I32, n);
    k->buffers[y].aligned = form % 2;
    k->buffers[y].restricted = true;
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, n), old = load1(k, y, 0, i, 1);
    store1(k, y, i, 1, mul(k, old, nxk_const_i(k, NX_I32, 3)));
    end_all(k, 2);
    check(k);
  }
}

static void test_rare(void **state) {
  (void)state;
  for (int form = 0; form < 3; form++) {
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "cold");
    uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, 24 * 100),
             w = nxk_add_buffer(k, NXK_IN, NX_F32, 24),
             y = nxk_add_buffer(k, NXK_OUT, NX_F32, 24 * 100);
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, 24);
    nxk_value row = load1(k, w, 0, i, 1), zero = nxk_const_f(k, NX_F32, 0);
    nxk_value row_cond = nxk_scalar(k, NXK_lt, 0, row, zero, NXK_NONE);
    nxk_value row_rare = nxk_begin_cold(k, row_cond);
    nxk_value inside = mul(k, row, nxk_const_f(k, NX_F32, 3));
    nxk_end(k);
    row = nxk_blend(k, row_rare, form == 1 ? zero : inside, row);
    nxk_value sum = NXK_NONE, j;
    if (form == 2) {
      j = nxk_begin_range(k, NXK_REDUCE, 100);
      sum = nxk_reduce(k, NXK_SUM, NXK_ORDER_LANES, load2(k, x, i, 100, j, 1), NXK_NONE);
      nxk_end(k);
    }
    j = nxk_begin_range(k, form == 2 ? NXK_MAP : NXK_OUTER, 100);
    nxk_value v = load2(k, x, i, 100, j, 1);
    nxk_value cold = nxk_begin_cold(k, nxk_scalar(k, NXK_lt, 0, v, row, NXK_NONE));
    nxk_value in1 = add(k, v, row), in2 = sub(k, v, form == 2 ? sum : row);
    nxk_end(k);
    nxk_value p1 = nxk_blend(k, cold, in1, v), p2 = nxk_blend(k, cold, in2, zero);
    store2(k, y, i, 100, j, 1, add(k, p1, p2));
    end_all(k, 3);
    check(k);
  }
}

/* ---- shapes for which there is no template */

static void test_odd_shapes(void **state) {
  (void)state;
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "odd");
  uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, 400), y = nxk_add_buffer(k, NXK_OUT, NX_F32, 400),
           z = nxk_add_buffer(k, NXK_OUT, NX_F32, 20);
  uint32_t w = nxk_add_buffer(k, NXK_OUT, NX_F32, 1),
           local = nxk_add_buffer(k, NXK_LOCAL, NX_F32, 20);
  nxk_begin_region(k); /* a store and two loops in one outer loop, odd bounds */
  nxk_value i = nxk_begin_for(k, NXK_OUTER, nxk_bound_const(2), nxk_bound_const(20), 3);
  store1(k, z, i, 1, load1(k, x, 0, i, 20));
  nxk_value j = nxk_begin_for(k, NXK_OUTER, nxk_bound_const(1), nxk_bound_const(20), 2);
  store2(k, y, i, 20, j, 1, load2(k, x, i, 1, j, 20));
  nxk_end(k);
  j = nxk_begin_for(k, NXK_OUTER, nxk_bound_const(0), nxk_bound_const(20), 2);
  store2(k, y, i, 20, j, 1, load2(k, x, i, 20, j, 1));
  end_all(k, 3);
  nxk_begin_region(k); /* no outer loop, a reduction in a map loop */
  j = nxk_begin_range(k, NXK_MAP, 20);
  nxk_value l = nxk_begin_range(k, NXK_REDUCE, 19);
  nxk_value sum = nxk_reduce(k, NXK_SUM, NXK_ORDER_PLAIN, load2(k, x, j, 1, l, 20), NXK_NONE);
  nxk_end(k);
  store1(k, local, j, 1, sum);
  nxk_end(k);
  l = nxk_begin_range(k, NXK_REDUCE, 20);
  sum = nxk_reduce(k, NXK_SUM, NXK_ORDER_LANES, load1(k, local, 0, l, 1), NXK_NONE);
  nxk_end(k);
  nxk_access out = nxk_access_at(w, 0);
  nxk_store(k, &out, sum);
  nxk_end(k);
  check(k);
}

static void test_regular_bounds_from_elsewhere(void **state) {
  (void)state;
  for (int rows = 0; rows < 2; rows++) { /* loops that do not start at 0 or go in steps */
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "steps");
    uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, 300 * 300),
             y = nxk_add_buffer(k, NXK_OUT, NX_F32, 300),
             z = nxk_add_buffer(k, NXK_OUT, NX_F32, 300 * 300);
    nxk_begin_region(k);
    nxk_value i =
        nxk_begin_for(k, NXK_OUTER, nxk_bound_const(3), nxk_bound_const(290), rows ? 50 : 1);
    nxk_value j =
        nxk_begin_for(k, NXK_REDUCE, nxk_bound_const(5), nxk_bound_const(250), rows ? 1 : 9);
    nxk_value v = rows ? load2(k, x, i, 300, j, 1) : load2(k, x, i, 1, j, 300);
    nxk_value sum = nxk_reduce(k, NXK_SUM, rows ? NXK_ORDER_LANES : NXK_ORDER_PLAIN, v, NXK_NONE);
    nxk_value where =
        nxk_reduce(k, NXK_ARGMAX, rows ? NXK_ORDER_LANES : NXK_ORDER_PLAIN, v, NXK_NONE);
    nxk_end(k);
    store1(k, y, i, 1, add(k, sum, nxk_cast_to(k, NX_F32, where)));
    j = nxk_begin_for(k, NXK_MAP, nxk_bound_const(2), nxk_bound_const(299), 3);
    store2(k, z, i, rows ? 300 : 1, j, rows ? 1 : 300, sum);
    end_all(k, 3);
    check(k);
  }
}

/* The largest and the smallest of numbers that often are the wrong zero, seldom the other one, or a
 * NaN: of rows, by lanes, with one accumulator and with several, of rows that another stage needs,
 * and of columns. */
static void test_extremes(void **state) {
  (void)state;
  static const int64_t lengths[] = {16, 37, 64, 200, 1000};
  enum { FEW = 5, MANY = 140 }; /* columns */
  for (int i = 0; i < 120; i++) {
    nx_dtype t = i % 2 ? NX_F32 : NX_F64;
    bool max = i / 2 % 2, columns = i / 4 % 3 == 0, again = i / 4 % 3 == 1;
    int64_t n = lengths[i / 24], rows = !columns ? 20 : i % 24 < 12 ? FEW : MANY;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "extremes");
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, rows * n), y = nxk_add_buffer(k, NXK_OUT, t, rows),
             z = nxk_add_buffer(k, NXK_OUT, t, rows * n);
    nxk_begin_region(k);
    nxk_value zero = nxk_const_f(k, t, max ? -0.0 : 0), rare = nxk_const_f(k, t, max ? 0 : -0.0),
              one = nxk_const_f(k, t, 1), r = nxk_begin_range(k, NXK_OUTER, rows),
              j = nxk_begin_range(k, NXK_REDUCE, n);
    nxk_value v = load2(k, x, r, columns ? 1 : n, j, columns ? rows : 1);
    nxk_value most = nxk_scalar(k, max ? NXK_min : NXK_max, 0, v, zero, NXK_NONE);
    v = NXK_SCALAR3(k, NXK_select, nxk_scalar(k, NXK_eq, 0, v, one, NXK_NONE), rare, most);
    v = nxk_reduce(k, max ? NXK_MAX : NXK_MIN, columns ? NXK_ORDER_PLAIN : NXK_ORDER_LANES, v,
                   NXK_NONE);
    nxk_end(k);
    store1(k, y, r, 1, v);
    j = nxk_begin_range(k, NXK_MAP, again ? n : 1);
    store2(k, z, r, again ? n : 1, j, 1, v);
    end_all(k, 3);
    check_with(k, (uint64_t[MAX_PARAMS]){0}, (i / 12 + i) % 3 ? 0 : 2 * n);
  }
}

/* The largest and the smallest of several such numbers in straight code: in a chain, whose operands
 * stand in either order, and of which a result may be stored, too. */
static void test_chains_of_extremes(void **state) {
  enum { POINTS = 75, MOST = 9 };
  (void)state;
  for (int i = 0; i < 128; i++) {
    nx_dtype t = i % 2 ? NX_F32 : NX_F64;
    bool max = i / 2 % 2;
    int n = 2 + i / 4 % (MOST - 1), stored = i % 5 == 0 ? n / 2 : -1;
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "chain");
    uint32_t x = nxk_add_buffer(k, NXK_IN, t, MOST * POINTS),
             y = nxk_add_buffer(k, NXK_OUT, t, POINTS), z = nxk_add_buffer(k, NXK_OUT, t, POINTS);
    nxk_begin_region(k);
    nxk_value zero = nxk_const_f(k, t, max ? -0.0 : 0), rare = nxk_const_f(k, t, max ? 0 : -0.0),
              one = nxk_const_f(k, t, 1), p = nxk_begin_range(k, NXK_OUTER, POINTS), all = one;
    for (int j = 0; j < n; j++) {
      nxk_access a = nxk_access_at(x, j * POINTS);
      nxk_term term = {p, 1};
      a.terms = &term;
      a.n_terms = 1;
      nxk_value v = nxk_load(k, &a, 1);
      nxk_value most = nxk_scalar(k, max ? NXK_min : NXK_max, 0, v, zero, NXK_NONE);
      v = NXK_SCALAR3(k, NXK_select, nxk_scalar(k, NXK_eq, 0, v, one, NXK_NONE), rare, most);
      const bool first = i >> (j % 5) & 1;
      if (j > 0) v = NXK_SCALAR2(k, max ? NXK_max : NXK_min, first ? v : all, first ? all : v);
      all = v;
      if (j == stored) store1(k, z, p, 1, all);
    }
    store1(k, y, p, 1, all);
    end_all(k, 2);
    check_with(k, (uint64_t[MAX_PARAMS]){0}, i % 3 ? 0 : 2 * n);
  }
}

static void test_regions_and_nothing(void **state) {
  (void)state;
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "cat");
  uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, 100000),
           y = nxk_add_buffer(k, NXK_OUT, NX_F32, 100050);
  for (int p = 0; p < 3; p++) {
    int64_t n = p == 0 ? 50 : p == 1 ? 100000 : 0;
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, n);
    nxk_value v = load1(k, x, 0, i, 1);
    for (int d = 0; d < 4; d++)
      v = nxk_scalar(k, NXK_div, 0, v, nxk_const_f(k, NX_F32, 3), NXK_NONE);
    nxk_term terms[1] = {{i, 1}};
    nxk_access out = at(y, p == 0 ? 0 : 50, terms, 1);
    nxk_store(k, &out, v);
    end_all(k, 2);
  }
  check(k);
}

static uint32_t widest_vector(const nxk_kernel *k, const nxi_target *t) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_kernel *bound = bind_for(k, t, &d);
  uint32_t lanes = 0;
  if (!bound) fail_with(k, NULL, d.message);
  for (nxk_value v = 0; v < bound->n_instrs; v++)
    if (bound->instrs[v].lanes > lanes) lanes = bound->instrs[v].lanes;
  nxk_destroy(bound);
  return lanes;
}

/* First code has one register a value, where there is little data. */
static void test_first_code(void **state) {
  (void)state;
  nxi_target t = targets[0];
  for (int64_t n = 4096; n <= 1 << 24; n <<= 12) {
    nxk_kernel *k = nxk_create(NXK_LOGICAL, "product");
    uint32_t x = nxk_add_buffer(k, NXK_IN, NX_F32, n), y = nxk_add_buffer(k, NXK_OUT, NX_F32, n);
    nxk_begin_region(k);
    nxk_value i = nxk_begin_range(k, NXK_OUTER, n), v = load1(k, x, 0, i, 1);
    store1(k, y, i, 1, NXK_SCALAR2(k, NXK_mul, v, v));
    end_all(k, 2);
    for (int hasty = 0; hasty < 2; hasty++) {
      t.hasty = hasty != 0;
      assert_int_equal(widest_vector(k, &t), hasty && n == 4096 ? 16 : 64);
    }
    nxk_destroy(k);
  }
}

/* Each allocation fails once: the failure is reported and nothing is leaked. */
static void test_exhausted_memory(void **state) {
  (void)state;
  for (int form = 0; form < 3; form++) check_exhausted(random_map(NX_F32));
}

NXT_MAIN_OF(NXT_NAME) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_map_tasks),
      cmocka_unit_test(test_shifted_tiles),
      cmocka_unit_test(test_tall_tiles),
      cmocka_unit_test(test_gaps_of_rows),
      cmocka_unit_test(test_parameter_extent),
      cmocka_unit_test(test_indices),
      cmocka_unit_test(test_rare),
      cmocka_unit_test(test_in_place),
      cmocka_unit_test(test_odd_shapes),
      cmocka_unit_test(test_regular_bounds_from_elsewhere),
      cmocka_unit_test(test_extremes),
      cmocka_unit_test(test_chains_of_extremes),
      cmocka_unit_test(test_regions_and_nothing),
      cmocka_unit_test(test_first_code),
      cmocka_unit_test(test_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
