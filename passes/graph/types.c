/* SPDX-License-Identifier: ISC */
/* Replaces complex values by pairs of real ones, so that later passes know real elements only,
 * and everything fuses. Inside a graph a complex value is two nodes, its real and its imaginary
 * part. Where it has memory (inputs, outputs, what an update writes) it is "woven": one real
 * array with both parts side by side. The parts of a woven value are views of it with doubled
 * strides; the operation `pair` makes a woven value of two parts. Functions of complex numbers
 * become functions of their parts (ir/scalar_ops.def). Keeps: values, by definition: the
 * interpreter of graphs runs this pass first. */
#include <math.h>
#include <string.h>

#include "passes.h"
#include "types.h"

#include "ir/graph/control.h"

/* ---- new nodes, of the shape of the old one */

static uint32_t add_two(nxg_types *t, nxg_op op, nx_dtype dtype, uint32_t a, uint32_t b) {
  uint32_t args[2] = {a, b};
  return nxg_types_add(t, op, dtype, 2, args);
}

static uint32_t add_cast(nxg_types *t, uint32_t a, nx_dtype from, nx_dtype to) {
  return from == to ? a : nxg_types_add(t, NXG_cast, to, 1, &a);
}

uint32_t nxg_types_constant(nxg_types *t, nx_dtype dtype, uint64_t bits) {
  int64_t attrs[2] = {(int64_t)bits, -1};
  return nxg_types_add_like(t, t->i, NXG_full, dtype, 0, NULL, attrs, 2);
}

/* A view of new node `base`; without elements it has one form. */
uint32_t nxg_types_view(nxg_types *t, uint32_t base, nx_dtype dtype, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  if (base == NXG_TYPES_NONE) return NXG_TYPES_NONE;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  if (nxg_elements(v->rank, v->shape) == 0) {
    attrs[0] = 0;
    nxg_contiguous_strides(v->rank, v->shape, attrs + 1);
  }
  return nxg_rewrite_add(&t->r, t->i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, dtype,
                         v->rank, v->shape);
}

/* ---- parts of old values, and both */

/* Part k of the elements of a woven value that a view addresses. */
static uint32_t part_of_woven(nxg_types *t, uint32_t woven, nx_dtype dtype, const nxg_view *v,
                              int k) {
  nxg_view doubled = *v;
  doubled.offset = 2 * v->offset + k;
  for (int32_t a = 0; a < v->rank; a++) /* the stride of an axis of extent 1 may be any number */
    doubled.strides[a] = v->shape[a] == 1 ? 0 : 2 * v->strides[a];
  return nxg_types_view(t, woven, nxi_part_dtype(dtype), &doubled);
}

/* Part k of an old value; for a real value the value itself. */
uint32_t nxg_types_part(nxg_types *t, uint32_t node, int k) {
  const nxg_node *n = nxg_types_old(t, node);
  if (!nxi_is_complex(n->dtype)) return t->r.map[node];
  if (t->part[k][node] == NXG_TYPES_NONE) {
    nxg_view v;
    nxg_view_contiguous(&v, n->rank, n->shape);
    t->part[k][node] = part_of_woven(t, t->woven[node], n->dtype, &v, k);
  }
  return t->part[k][node];
}

/* If a view of a woven value is dense: its elements as a piece of the row; else none. */
static uint32_t piece_of_woven(nxg_types *t, uint32_t node) {
  const nxg_node *n = nxg_types_old(t, node);
  uint32_t whole = n->op == NXG_view ? t->woven[n->args[0]] : NXG_TYPES_NONE;
  nxg_view v, row = {.rank = 1};
  nxg_node_view(t->g, node, &v);
  if (whole == NXG_TYPES_NONE || !nxg_view_is_contiguous(&v)) return NXG_TYPES_NONE;
  row.offset = 2 * v.offset;
  row.shape[0] = 2 * nxg_node_elements(n);
  row.strides[0] = 1;
  return nxg_types_view(t, whole, nxi_part_dtype(n->dtype), &row);
}

uint32_t nxg_types_woven(nxg_types *t, uint32_t node) {
  const nxg_node *n = nxg_types_old(t, node);
  if (t->woven[node] == NXG_TYPES_NONE) t->woven[node] = piece_of_woven(t, node);
  if (t->woven[node] == NXG_TYPES_NONE) {
    uint32_t parts[2] = {t->part[0][node], t->part[1][node]};
    int64_t twice = 2 * nxg_node_elements(n);
    t->woven[node] = nxg_rewrite_add(&t->r, t->i, NXG_interleave, 2, parts, NULL, 0,
                                     nxi_part_dtype(n->dtype), 1, &twice);
  }
  return t->woven[node];
}

void nxg_types_set_parts(nxg_types *t, uint32_t a, uint32_t b) {
  t->part[0][t->i] = a;
  t->part[1][t->i] = b;
}

void nxg_types_set_real(nxg_types *t, uint32_t node) { nxg_rewrite_map(&t->r, t->i, node); }

/* ---- operations that do not compute */

/* Applies the operation to each part of its operands. The attributes for the real part come first,
 * then those for the imaginary part. */
static void each_part(nxg_types *t, uint32_t n_attrs) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t made[2];
  for (int k = 0; k < 2; k++) {
    for (uint32_t a = 0; a < n->n_args; a++) t->r.args[a] = nxg_types_part(t, n->args[a], k);
    made[k] =
        nxg_types_add_like(t, t->i, (nxg_op)n->op, nxi_part_dtype(n->dtype), n->n_args, t->r.args,
                           n->attrs + (n_attrs < n->n_attrs ? (uint32_t)k * n_attrs : 0), n_attrs);
  }
  nxg_types_set_parts(t, made[0], made[1]);
}

static void rewrite_leaf(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  if (n->op == NXG_full) {
    uint32_t first = nxg_types_constant(t, p, (uint64_t)n->attrs[0]);
    nxg_types_set_parts(t, first, nxg_types_constant(t, p, (uint64_t)n->attrs[2]));
  } else if (n->op == NXG_arange) {
    each_part(t, 2);
  } else {
    uint32_t ones = nxg_types_add_like(t, t->i, NXG_eye, p, 0, NULL, n->attrs, n->n_attrs);
    nxg_types_set_parts(t, ones, nxg_types_constant(t, p, 0));
  }
}

static void rewrite_view(nxg_types *t) {
  uint32_t operand = nxg_types_old(t, t->i)->args[0];
  nxg_view v;
  nxg_node_view(t->g, t->i, &v);
  if (t->woven[operand] == NXG_TYPES_NONE) {
    each_part(t, 1 + (uint32_t)v.rank);
    return;
  }
  nx_dtype dtype = nxg_types_old(t, operand)->dtype;
  uint32_t first = part_of_woven(t, t->woven[operand], dtype, &v, 0);
  nxg_types_set_parts(t, first, part_of_woven(t, t->woven[operand], dtype, &v, 1));
}

static void rewrite_pad(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t made[2], n_attrs = 1 + 2 * (uint32_t)n->rank;
  int64_t attrs[1 + 2 * NXG_MAX_RANK];
  memcpy(attrs, n->attrs, n_attrs * sizeof *attrs);
  for (int k = 0; k < 2; k++) {
    uint32_t x = nxg_types_part(t, n->args[0], k);
    if (k == 1) attrs[0] = n->attrs[n_attrs];
    made[k] = nxg_types_add_like(t, t->i, NXG_pad, nxi_part_dtype(n->dtype), 1, &x, attrs, n_attrs);
  }
  nxg_types_set_parts(t, made[0], made[1]);
}

/* A copy is replaced by the value itself. If it needs memory, it is woven, or the pass `library`
 * copies it. */
static void rewrite_copy(nxg_types *t) {
  uint32_t operand = nxg_types_old(t, t->i)->args[0];
  nxg_types_set_parts(t, t->part[0][operand], t->part[1][operand]);
  t->woven[t->i] = t->woven[operand];
}

/* An update of woven memory: the view gets a last axis of extent 2. Axes of extent 1 are dropped to
 * make room for it. */
static void rewrite_update(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int64_t attrs[2 + 2 * NXG_MAX_RANK] = {2 * n->attrs[0]}, rank = n->attrs[1];
  const int64_t *shape = n->attrs + 2, *strides = shape + rank;
  nxg_view v = {0};
  int64_t apart[NXG_MAX_RANK];
  for (int64_t a = 0; a < rank; a++) {
    if (shape[a] == 1) continue;
    if (v.rank == NXG_MAX_RANK - 1) { /* the view has 2^32 elements or more */
      t->status =
          nxi_fail(t->r.d, NX_UNSUPPORTED_DTYPE, "assign",
                   "assign: a complex tensor is assigned through %d axes of more than one element",
                   NXG_MAX_RANK);
      t->r.failed = true;
      return;
    }
    apart[v.rank] = 2 * strides[a];
    v.shape[v.rank++] = shape[a];
  }
  apart[v.rank] = 1;
  v.shape[v.rank++] = 2;
  nxg_contiguous_strides(v.rank, v.shape, v.strides);
  attrs[1] = v.rank;
  memcpy(attrs + 2, v.shape, (size_t)v.rank * sizeof *attrs);
  memcpy(attrs + 2 + v.rank, apart, (size_t)v.rank * sizeof *attrs);
  uint32_t args[3] = {nxg_types_woven(t, n->args[0])};
  args[1] = nxg_types_view(t, nxg_types_woven(t, n->args[1]), p, &v);
  if (n->n_args == 3) args[2] = t->woven[n->args[2]];
  int64_t twice = 2 * nxg_node_elements(n);
  t->woven[t->i] = nxg_rewrite_add(&t->r, t->i, NXG_update, n->n_args, args, attrs,
                                   2 + 2 * (uint32_t)v.rank, p, 1, &twice);
}

/* ---- conversions */

static void rewrite_cast(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i), *x = nxg_types_old(t, n->args[0]);
  nx_dtype from = nxi_part_dtype(x->dtype), to = nxi_part_dtype(n->dtype);
  uint32_t first = add_cast(t, nxg_types_part(t, n->args[0], 0), from, to);
  if (nxi_is_complex(n->dtype)) {
    uint32_t second = nxi_is_complex(x->dtype)
                          ? add_cast(t, nxg_types_part(t, n->args[0], 1), from, to)
                          : nxg_types_constant(t, to, 0);
    nxg_types_set_parts(t, first, second);
  } else if (n->dtype == NX_BOOL) {
    nxg_types_set_real(t, add_two(t, NXG_or, NX_BOOL, first,
                                  add_cast(t, nxg_types_part(t, n->args[0], 1), from, to)));
  } else {
    nxg_types_set_real(t, first);
  }
}

/* The unsigned type of the bits of both parts, and that of one. */
static nx_dtype bits_of_pair(nx_dtype t) { return t == NX_C32 ? NX_U32 : NX_U64; }
static nx_dtype bits_of_part(nx_dtype t) { return t == NX_C32 ? NX_U16 : NX_U32; }

/* A bitcast between c64 and a type of 64 bits, or c32 and one of 32; c128 has no real type of its
 * size. The real part is in the low half. */
static void rewrite_bitcast(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i), *x = nxg_types_old(t, n->args[0]);
  nx_dtype pair = bits_of_pair(nxi_is_complex(n->dtype) ? n->dtype : x->dtype),
           half_of = bits_of_part(nxi_is_complex(n->dtype) ? n->dtype : x->dtype);
  uint64_t width = nxi_dtypes[half_of].bits;
  if (n->dtype == x->dtype) {
    rewrite_copy(t);
  } else if (nxi_is_complex(x->dtype)) {
    uint32_t half[2];
    for (int k = 0; k < 2; k++) {
      uint32_t p = nxg_types_part(t, n->args[0], k);
      half[k] = nxg_types_add(t, NXG_bitcast, half_of, 1, &p);
      half[k] = nxg_types_add(t, NXG_cast, pair, 1, &half[k]);
    }
    uint32_t high = add_two(t, NXG_shl, pair, half[1], nxg_types_constant(t, pair, width));
    uint32_t bits = add_two(t, NXG_or, pair, half[0], high);
    nxg_types_set_real(t,
                       n->dtype == pair ? bits : nxg_types_add(t, NXG_bitcast, n->dtype, 1, &bits));
  } else {
    uint32_t bits = t->r.map[n->args[0]], half[2];
    if (x->dtype != pair) bits = nxg_types_add(t, NXG_bitcast, pair, 1, &bits);
    half[0] = bits;
    half[1] = add_two(t, NXG_shr, pair, bits, nxg_types_constant(t, pair, width));
    for (int k = 0; k < 2; k++) {
      half[k] = nxg_types_add(t, NXG_cast, half_of, 1, &half[k]);
      half[k] = nxg_types_add(t, NXG_bitcast, nxi_part_dtype(n->dtype), 1, &half[k]);
    }
    nxg_types_set_parts(t, half[0], half[1]);
  }
}

static void rewrite_complex(nxg_types *t) {
  const uint32_t *args = nxg_types_old(t, t->i)->args;
  nxg_types_set_parts(t, t->r.map[args[0]], t->r.map[args[1]]);
}

/* real, imag and conj, which admit floats too. */
static void rewrite_part(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t x = n->args[0];
  if (!nxg_types_is_pair(t, x)) {
    nxg_types_set_real(t, n->op == NXG_imag ? nxg_types_constant(t, n->dtype, 0) : t->r.map[x]);
  } else if (n->op == NXG_conj) {
    uint32_t first = nxg_types_part(t, x, 0), second = nxg_types_part(t, x, 1);
    nxg_types_set_parts(t, first, nxg_types_add(t, NXG_neg, nxi_part_dtype(n->dtype), 1, &second));
  } else {
    nxg_types_set_real(t, nxg_types_part(t, x, n->op == NXG_imag));
  }
}

/* ---- arithmetic */

static void rewrite_compare(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t same[2];
  for (int k = 0; k < 2; k++) {
    uint32_t args[2];
    for (int a = 0; a < 2; a++) args[a] = nxg_types_part(t, n->args[a], k);
    same[k] = nxg_types_add(t, (nxg_op)n->op, NX_BOOL, 2, args);
  }
  nxg_types_set_real(t,
                     add_two(t, n->op == NXG_cmpeq ? NXG_and : NXG_or, NX_BOOL, same[0], same[1]));
}

static void rewrite_where(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t made[2];
  for (int k = 0; k < 2; k++) {
    uint32_t args[3] = {t->r.map[n->args[0]]};
    for (int a = 1; a < 3; a++) args[a] = nxg_types_part(t, n->args[a], k);
    made[k] = nxg_types_add(t, NXG_where, nxi_part_dtype(n->dtype), 3, args);
  }
  nxg_types_set_parts(t, made[0], made[1]);
}

/* Both parts of a function of one or two complex numbers. */
static void rewrite_function(nxg_types *t, nxg_op first, nxg_op second) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t args[4];
  for (uint32_t a = 0; a < 2 * n->n_args; a++) args[a] = nxg_types_part(t, n->args[a / 2], a % 2);
  uint32_t real = nxg_types_add(t, first, p, 2 * n->n_args, args);
  nxg_types_set_parts(t, real, nxg_types_add(t, second, p, 2 * n->n_args, args));
}

/* Functions of complex numbers for which the kernel IR has one function for each part of the
 * result. */
static const struct {
  uint16_t op, real, imag;
} functions[] = {
    {NXG_mul, NXG_mul_real, NXG_mul_imag},       {NXG_div, NXG_div_real, NXG_div_imag},
    {NXG_pow, NXG_pow_real, NXG_pow_imag},       {NXG_sqrt, NXG_sqrt_real, NXG_sqrt_imag},
    {NXG_exp, NXG_exp_real, NXG_exp_imag},       {NXG_sinh, NXG_sinh_real, NXG_sinh_imag},
    {NXG_cosh, NXG_cosh_real, NXG_cosh_imag},    {NXG_tanh, NXG_tanh_real, NXG_tanh_imag},
    {NXG_asin, NXG_asin_real, NXG_asin_imag},    {NXG_acos, NXG_acos_real, NXG_acos_imag},
    {NXG_acosh, NXG_acosh_real, NXG_acosh_imag}, {NXG_atanh, NXG_atanh_real, NXG_atanh_imag},
    {NXG_log1p, NXG_log1p_real, NXG_log1p_imag}, {NXG_expm1, NXG_expm1_real, NXG_exp_imag}};

static bool rewrite_plain_function(nxg_types *t) {
  for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
    if (functions[k].op == nxg_types_old(t, t->i)->op) {
      rewrite_function(t, (nxg_op)functions[k].real, (nxg_op)functions[k].imag);
      return true;
    }
  return false;
}

/* Trigonometric functions by hyperbolic ones: sin, tan and atan of z are -i f(iz) for f = sinh,
 * tanh, atanh (`back`), and cos z is cosh(iz). asinh is such a function of asin. */
static void rewrite_turned(nxg_types *t, nxg_op first, nxg_op second, bool back) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t x = nxg_types_part(t, n->args[0], 0), y = nxg_types_part(t, n->args[0], 1);
  uint32_t turned = nxg_types_add(t, NXG_neg, p, 1, &y);
  uint32_t re = add_two(t, first, p, turned, x), im = add_two(t, second, p, turned, x);
  if (back) nxg_types_set_parts(t, im, nxg_types_add(t, NXG_neg, p, 1, &re));
  else nxg_types_set_parts(t, re, im);
}

static void rewrite_log(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t x = nxg_types_part(t, n->args[0], 0), y = nxg_types_part(t, n->args[0], 1);
  uint32_t modulus = add_two(t, NXG_log_real, p, x, y);
  y = add_cast(t, y, p, NX_F64);
  x = add_cast(t, x, p, NX_F64);
  nxg_types_set_parts(t, modulus, add_cast(t, add_two(t, NXG_atan2, NX_F64, y, x), NX_F64, p));
}

/* Both parts of the logarithm times `scale`, 1 / log of the base. */
static void rewrite_log_to_base(nxg_types *t, double scale) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t x = add_cast(t, nxg_types_part(t, n->args[0], 0), p, NX_F64),
           y = add_cast(t, nxg_types_part(t, n->args[0], 1), p, NX_F64),
           by = nxg_types_constant(t, NX_F64, nxi_bits_f64(scale));
  uint32_t re = add_two(t, NXG_mul, NX_F64, add_two(t, NXG_log_real, NX_F64, x, y), by),
           im = add_two(t, NXG_mul, NX_F64, add_two(t, NXG_atan2, NX_F64, y, x), by);
  re = add_cast(t, re, NX_F64, p);
  nxg_types_set_parts(t, re, add_cast(t, im, NX_F64, p));
}

static void rewrite_modulus(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t x = nxg_types_part(t, n->args[0], 0), y = nxg_types_part(t, n->args[0], 1);
  if (n->op == NXG_abs) {
    uint32_t modulus = add_two(t, NXG_hypot, p, x, y);
    nxg_types_set_parts(t, modulus, nxg_types_constant(t, p, 0));
  } else {
    uint32_t re = add_two(t, NXG_sign_real, p, x, y);
    nxg_types_set_parts(t, re, add_two(t, NXG_sign_real, p, y, x));
  }
}

static uint32_t one_of(nxg_types *t, nx_dtype p) {
  return nxg_types_constant(t, p, nxi_cast_bits(1, NX_I64, p));
}

static void rewrite_recip(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t args[4] = {one_of(t, p)};
  args[1] = nxg_types_constant(t, p, 0);
  for (int k = 0; k < 2; k++) args[2 + k] = nxg_types_part(t, n->args[0], k);
  uint32_t re = nxg_types_add(t, NXG_div_real, p, 4, args);
  nxg_types_set_parts(t, re, nxg_types_add(t, NXG_div_imag, p, 4, args));
}

static uint32_t choose(nxg_types *t, nx_dtype p, uint32_t when, uint32_t a, uint32_t b) {
  uint32_t args[3] = {when, a, b};
  return nxg_types_add(t, NXG_where, p, 3, args);
}

/* 1 + e^x cos y for x <= 0; re: e^x cos y. Near a pole of logistic it is 2 cos^2(y / 2) + (e^x - 1)
 * cos y, of which both terms are positive there. */
static uint32_t one_and_wave(nxg_types *t, uint32_t x, uint32_t y, uint32_t re) {
  uint32_t half = nxg_types_constant(t, NX_F64, nxi_bits_f64(0.5)),
           two = nxg_types_constant(t, NX_F64, nxi_bits_f64(2)),
           limit = nxg_types_constant(t, NX_F64, nxi_bits_f64(-0.7)),
           infinity = nxg_types_constant(t, NX_F64, nxi_bits_f64(INFINITY));
  uint32_t turn = add_two(t, NXG_mul, NX_F64, y, half),
           size = nxg_types_add(t, NXG_abs, NX_F64, 1, &y);
  uint32_t wave = nxg_types_add(t, NXG_cos, NX_F64, 1, &y);
  turn = nxg_types_add(t, NXG_cos, NX_F64, 1, &turn);
  turn = add_two(t, NXG_mul, NX_F64, add_two(t, NXG_mul, NX_F64, turn, turn), two);
  uint32_t less = nxg_types_add(t, NXG_expm1, NX_F64, 1, &x);
  uint32_t near = add_two(t, NXG_add, NX_F64, turn, add_two(t, NXG_mul, NX_F64, less, wave));
  uint32_t finite = add_two(t, NXG_cmplt, NX_BOOL, size, infinity),
           close = add_two(t, NXG_cmplt, NX_BOOL, limit, x);
  close = add_two(t, NXG_and, NX_BOOL, close, finite);
  return choose(t, NX_F64, close, near, add_two(t, NXG_add, NX_F64, re, one_of(t, NX_F64)));
}

/* w / (1 + w) of w = e^z where z is on the left, else 1 / (1 + w) of w = e^-z: nothing overflows.
 * In f64, as the functions that it is made of. */
static void rewrite_logistic(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t x = add_cast(t, nxg_types_part(t, n->args[0], 0), p, NX_F64),
           y = add_cast(t, nxg_types_part(t, n->args[0], 1), p, NX_F64),
           zero = nxg_types_constant(t, NX_F64, 0), one = one_of(t, NX_F64);
  uint32_t left = add_two(t, NXG_cmplt, NX_BOOL, x, zero), minus_y = y, size = x, args[4];
  size = nxg_types_add(t, NXG_abs, NX_F64, 1, &size);
  size = nxg_types_add(t, NXG_neg, NX_F64, 1, &size);
  minus_y = nxg_types_add(t, NXG_neg, NX_F64, 1, &minus_y);
  y = choose(t, NX_F64, left, y, minus_y);
  uint32_t re = add_two(t, NXG_exp_real, NX_F64, size, y),
           im = add_two(t, NXG_exp_imag, NX_F64, size, y);
  args[0] = choose(t, NX_F64, left, re, one);
  args[1] = choose(t, NX_F64, left, im, zero);
  args[2] = one_and_wave(t, size, y, re);
  args[3] = im;
  re = add_cast(t, nxg_types_add(t, NXG_div_real, NX_F64, 4, args), NX_F64, p);
  im = add_cast(t, nxg_types_add(t, NXG_div_imag, NX_F64, 4, args), NX_F64, p);
  nxg_types_set_parts(t, re, im);
}

/* 1 / sqrt z, in f64. */
static void rewrite_rsqrt(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t x = add_cast(t, nxg_types_part(t, n->args[0], 0), p, NX_F64),
           y = add_cast(t, nxg_types_part(t, n->args[0], 1), p, NX_F64);
  uint32_t args[4] = {one_of(t, NX_F64)};
  args[1] = nxg_types_constant(t, NX_F64, 0);
  args[2] = add_two(t, NXG_sqrt_real, NX_F64, x, y);
  args[3] = add_two(t, NXG_sqrt_imag, NX_F64, x, y);
  uint32_t re = add_cast(t, nxg_types_add(t, NXG_div_real, NX_F64, 4, args), NX_F64, p),
           im = add_cast(t, nxg_types_add(t, NXG_div_imag, NX_F64, 4, args), NX_F64, p);
  nxg_types_set_parts(t, re, im);
}

static void rewrite(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  if (nxg_ops[n->op].kind == NXG_KIND_CALL) {
    nxg_types_call(t);
    return;
  }
  if (nxg_is_control(n->op)) {
    nxg_types_control(t);
    return;
  }
  if (nxg_is_bool_arithmetic(n)) {
    nxg_types_logic(t);
    return;
  }
  switch ((int)n->op) {
    case NXG_full:
    case NXG_arange:
    case NXG_eye: rewrite_leaf(t); break;
    case NXG_view: rewrite_view(t); break;
    case NXG_pad: rewrite_pad(t); break;
    case NXG_copy: rewrite_copy(t); break;
    case NXG_update: rewrite_update(t); break;
    case NXG_cast: rewrite_cast(t); break;
    case NXG_bitcast: rewrite_bitcast(t); break;
    case NXG_complex: rewrite_complex(t); break;
    case NXG_real:
    case NXG_imag:
    case NXG_conj: rewrite_part(t); break;
    case NXG_cmpeq:
    case NXG_cmpne: rewrite_compare(t); break;
    case NXG_cmplt:
    case NXG_cmple: nxg_types_compare_order(t); break;
    case NXG_max:
    case NXG_min: nxg_types_best_of_two(t); break;
    case NXG_reduce_max:
    case NXG_reduce_min: nxg_types_best_over_axes(t); break;
    case NXG_argmax:
    case NXG_argmin: nxg_types_place_of_best(t); break;
    case NXG_where: rewrite_where(t); break;
    case NXG_sin: rewrite_turned(t, NXG_sinh_real, NXG_sinh_imag, true); break;
    case NXG_tan: rewrite_turned(t, NXG_tanh_real, NXG_tanh_imag, true); break;
    case NXG_atan: rewrite_turned(t, NXG_atanh_real, NXG_atanh_imag, true); break;
    case NXG_asinh: rewrite_turned(t, NXG_asin_real, NXG_asin_imag, true); break;
    case NXG_cos: rewrite_turned(t, NXG_cosh_real, NXG_cosh_imag, false); break;
    case NXG_log: rewrite_log(t); break;
    case NXG_log2: rewrite_log_to_base(t, 0x1.71547652b82fep+0); break;
    case NXG_log10: rewrite_log_to_base(t, 0x1.bcb7b1526e50ep-2); break;
    case NXG_rsqrt: rewrite_rsqrt(t); break;
    case NXG_logistic: rewrite_logistic(t); break;
    case NXG_reduce_prod: nxg_types_product_over_axes(t); break;
    case NXG_scan_prod: nxg_types_products_so_far(t); break;
    case NXG_matmul: nxg_types_matmul(t); break;
    case NXG_gather: nxg_types_gather(t); break;
    case NXG_scatter: nxg_types_scatter(t); break;
    case NXG_abs:
    case NXG_sign: rewrite_modulus(t); break;
    case NXG_recip: rewrite_recip(t); break;
    default: /* add sub neg, sums, their scans, cat */
      if (!rewrite_plain_function(t)) each_part(t, n->n_attrs);
      break;
  }
}

/* ---- the graph */

/* Operations that do not exist after this pass. */
static bool is_of_types(const nxg_graph *g, const nxg_node *n) {
  if (nxg_is_control(n->op) && nxg_types_in_bodies(g, n)) return true;
  if (nxg_is_bool_arithmetic(n)) return true;
  if (nxi_is_complex(n->dtype) || n->op == NXG_real || n->op == NXG_imag || n->op == NXG_conj)
    return true;
  for (uint32_t a = 0; a < n->n_args; a++)
    if (nxi_is_complex(g->nodes[n->args[a]].dtype)) return true;
  return false;
}

/* Makes complex inputs rows of parts. */
static bool retype_inputs(nxg_types *t) {
  if (!nxg_rewrite_own(&t->r)) return false;
  for (uint32_t k = 0; k < t->g->n_inputs; k++) {
    uint32_t node = t->g->inputs[k].node;
    if (!nxg_types_is_pair(t, node)) continue;
    nxg_node *n = &t->r.own->nodes[t->r.map[node]];
    int64_t twice = 2 * nxg_node_elements(n);
    n->shape = nxi_arena_copy(&t->r.own->arena, &twice, sizeof twice);
    if (n->shape == NULL) return false;
    n->dtype = (uint8_t)nxi_part_dtype(n->dtype);
    n->rank = 1;
    t->woven[node] = t->r.map[node];
  }
  return true;
}

static void rewrite_all(nxg_types *t) {
  const nxg_graph *g = t->g;
  if (!retype_inputs(t)) t->r.failed = true;
  t->r.changed = true;
  for (t->i = 0; t->i < g->n_nodes && !nxg_rewrite_failed(&t->r); t->i++) {
    const nxg_node *n = &g->nodes[t->i];
    if (n->op == NXG_input) continue;
    if (is_of_types(g, n)) rewrite(t);
    else nxg_rewrite_copy(&t->r, t->i);
  }
  for (uint32_t k = 0; k < g->n_outputs && !nxg_rewrite_failed(&t->r); k++) {
    t->i = g->outputs[k].node;
    if (nxg_types_is_pair(t, t->i)) nxg_rewrite_map(&t->r, t->i, nxg_types_woven(t, t->i));
  }
}

nx_status nxg_pass_types(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  return nxg_pass_types_for(g, 0, out, changed, d);
}

nx_status nxg_pass_types_for(const nxg_graph *g, uint32_t joined, nxg_graph **out, bool *changed,
                             nxi_diag *d) {
  uint32_t first = 0;
  while (first < g->n_nodes && !is_of_types(g, &g->nodes[first])) first++;
  if (first == g->n_nodes) {
    *out = (nxg_graph *)g;
    return NX_OK;
  }
  nxg_types t = {.g = g, .joined = joined};
  nx_status status = nxg_rewrite_begin(&t.r, g, d);
  if (status != NX_OK) return status;
  uint32_t *tables = nxi_malloc((size_t)g->n_nodes * 3 * sizeof *tables);
  if (tables != NULL) {
    memset(tables, 0xff, (size_t)g->n_nodes * 3 * sizeof *tables);
    t.part[0] = tables;
    t.part[1] = tables + g->n_nodes;
    t.woven = tables + 2 * (size_t)g->n_nodes;
    rewrite_all(&t);
  }
  t.r.failed = t.r.failed || tables == NULL;
  status = nxg_rewrite_end(&t.r, out, changed);
  nxi_free(tables);
  return t.status != NX_OK ? t.status : status;
}
