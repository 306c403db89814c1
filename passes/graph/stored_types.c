/* SPDX-License-Identifier: ISC */
/* Makes integers of stored floats (f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f4e2m1): what moves them moves
 * their bits, as u8 or u4, and a cast is arithmetic on bits, exact or rounded once
 * (docs/contract.md). So later passes, interpreters and code generators do not know these types,
 * and a cast fuses as any other arithmetic does. Needs: no complex values. Keeps: values; the
 * interpreter of graphs runs this pass too. */
#include <math.h>

#include "rewrite.h"

typedef struct storing {
  nxg_rewrite r;
  uint32_t i; /* the old node that is rewritten */
} storing;

/* The integers of the same bits. */
static nx_dtype bits_of(nx_dtype t) {
  return !nxi_is_stored(t) ? t : nxi_dtypes[t].bits == 4 ? NX_U4 : NX_U8;
}

/* ---- new nodes, of the shape of the old one */

static uint32_t add(storing *s, nxg_op op, nx_dtype t, uint32_t n, const uint32_t *args) {
  const nxg_node *of = &s->r.from->nodes[s->i];
  if (nxg_rewrite_failed(&s->r)) return UINT32_MAX;
  return nxg_rewrite_add(&s->r, s->i, op, n, args, NULL, 0, t, of->rank, of->shape);
}
static uint32_t one(storing *s, nxg_op op, nx_dtype t, uint32_t a) { return add(s, op, t, 1, &a); }
/* Operands are mostly calls that add nodes. These macros evaluate them from left to right;
 * arguments of a function are evaluated in an order that the compiler chooses, and the graph would
 * be another. */
#define two(s, op, t, a, b)                               \
  __extension__({                                         \
    uint32_t two_a_ = (a);                                \
    uint32_t two_b_ = (b);                                \
    add((s), (op), (t), 2, (uint32_t[]){two_a_, two_b_}); \
  })
#define choose(s, t, which, a, b)                                                   \
  __extension__({                                                                   \
    uint32_t choose_which_ = (which);                                               \
    uint32_t choose_a_ = (a);                                                       \
    uint32_t choose_b_ = (b);                                                       \
    add((s), NXG_where, (t), 3, (uint32_t[]){choose_which_, choose_a_, choose_b_}); \
  })
#define either(s, which, a, b) choose((s), NX_U32, (which), (a), (b))

static uint32_t constant(storing *s, nx_dtype t, uint64_t bits) {
  const nxg_node *of = &s->r.from->nodes[s->i];
  int64_t attrs[2] = {(int64_t)bits, -1};
  if (nxg_rewrite_failed(&s->r)) return UINT32_MAX;
  return nxg_rewrite_add(&s->r, s->i, NXG_full, 0, NULL, attrs, 2, t, of->rank, of->shape);
}

/* Arithmetic on u32. */
static uint32_t number(storing *s, uint32_t x) { return constant(s, NX_U32, x); }
static uint32_t plus(storing *s, uint32_t a, uint32_t x) {
  return two(s, NXG_add, NX_U32, a, number(s, x));
}
static uint32_t masked(storing *s, uint32_t a, uint32_t x) {
  return two(s, NXG_and, NX_U32, a, number(s, x));
}
static uint32_t left(storing *s, uint32_t a, uint32_t n) {
  return two(s, NXG_shl, NX_U32, a, number(s, n));
}
static uint32_t right(storing *s, uint32_t a, uint32_t n) {
  return two(s, NXG_shr, NX_U32, a, number(s, n));
}
static uint32_t below(storing *s, uint32_t a, uint32_t x) {
  return two(s, NXG_cmplt, NX_BOOL, a, number(s, x));
}
static uint32_t equals(storing *s, uint32_t a, uint32_t x) {
  return two(s, NXG_cmpeq, NX_BOOL, a, number(s, x));
}

/* ---- formats with a sign */

typedef struct format {
  uint32_t bits, fraction, bias;
  float limit;     /* the first magnitude that rounds beyond the largest number */
  uint32_t beyond; /* for that; with `joined` its sign counts */
  bool joined;
  uint32_t nan;
  bool zero; /* there is no -0: its bits are those of the NaN */
} format;

static format format_of(nx_dtype t) {
  switch (t) {
    case NX_F8E4M3FNUZ: return (format){8, 3, 8, 248, 0x80, false, 0x80, true};
    case NX_F8E5M2FNUZ: return (format){8, 2, 16, 61440, 0x80, false, 0x80, true};
    default: return (format){4, 1, 1, 7, 7, true, 8, false};
  }
}

/* u32 of the bits to bits of f32. The magnitude, shifted to the fields of f32, is the value divided
 * by 2^(127 - bias). */
static uint32_t decoded(storing *s, nx_dtype t, uint32_t u) {
  format f = format_of(t);
  uint32_t sign_bit = 1u << (f.bits - 1),
           field =
               one(s, NXG_bitcast, NX_F32, left(s, masked(s, u, sign_bit - 1), 23 - f.fraction)),
           scale = constant(s, NX_F32, nxi_bits_f32(ldexpf(1, 127 - (int)f.bias))),
           value = one(s, NXG_bitcast, NX_U32, two(s, NXG_mul, NX_F32, field, scale)),
           sign = left(s, masked(s, u, sign_bit), 32 - f.bits);
  value = two(s, NXG_or, NX_U32, value, sign);
  return f.zero ? either(s, equals(s, u, sign_bit), number(s, 0x7fc00000), value) : value;
}

/* The magnitude of f32 rounded to the format, to even. Normal results: the upper bits, with the
 * exponent rebiased. Subnormal ones: adding a power of two whose last bit is the least subnormal
 * rounds to a multiple of that. */
static uint32_t rounded(storing *s, const format *f, uint32_t magnitude) {
  uint32_t dropped = 23 - f->fraction, less = 127 - f->bias,
           even = masked(s, right(s, magnitude, dropped), 1),
           moved = plus(s, plus(s, magnitude, -(less << 23)), (1u << (dropped - 1)) - 1),
           normal = right(s, two(s, NXG_add, NX_U32, moved, even), dropped);
  uint32_t magic = (uint32_t)nxi_bits_f32(ldexpf(1, 24 - (int)f->bias - (int)f->fraction)),
           sum = two(s, NXG_add, NX_F32, one(s, NXG_bitcast, NX_F32, magnitude),
                     constant(s, NX_F32, magic)),
           subnormal = plus(s, one(s, NXG_bitcast, NX_U32, sum), -magic);
  return either(s, below(s, magnitude, (less + 1) << 23), subnormal, normal);
}

/* Bits of f32 to u32 of the bits. */
static uint32_t encoded(storing *s, nx_dtype t, uint32_t bits) {
  format f = format_of(t);
  uint32_t magnitude = masked(s, bits, 0x7fffffff), result = rounded(s, &f, magnitude),
           sign = masked(s, right(s, bits, 32 - f.bits), 1u << (f.bits - 1)),
           fits = below(s, magnitude, (uint32_t)nxi_bits_f32(f.limit));
  if (f.joined) result = either(s, fits, result, number(s, f.beyond));
  uint32_t with_sign = two(s, NXG_or, NX_U32, result, sign);
  if (f.zero) with_sign = either(s, equals(s, result, 0), result, with_sign);
  if (!f.joined) return either(s, fits, with_sign, number(s, f.beyond));
  return either(s, below(s, magnitude, 0x7f800001), with_sign, number(s, f.nan));
}

/* ---- f8e8m0: the exponent of f32, without a sign */

static uint32_t decoded_scale(storing *s, uint32_t u) {
  uint32_t value = either(s, equals(s, u, 0), number(s, 0x400000), left(s, u, 23));
  return either(s, equals(s, u, 255), number(s, 0x7fc00000), value);
}

/* To the nearest power of two, ties up; what is positive and below the least one becomes that. All
 * that is not positive and finite is the NaN. */
static uint32_t encoded_scale(storing *s, uint32_t bits) {
  uint32_t normal = right(s, plus(s, bits, 0x400000), 23),
           least = either(s, below(s, bits, 0x600000), number(s, 0), number(s, 1)),
           power = either(s, below(s, bits, 0x800000), least, normal);
  return either(s, below(s, plus(s, bits, UINT32_MAX), 0x7f7fffff), power, number(s, 255));
}

/* ---- casts */

/* An integer of 64 bits as an f64 that rounds further as the integer does: from 2^53 on the lowest
 * 11 bits count as zero or not zero. */
static uint32_t wide_integer(storing *s, nx_dtype t, uint32_t x) {
  uint32_t zero = constant(s, t, 0), low = two(s, NXG_and, t, x, constant(s, t, 0x7ff)),
           sticky =
               choose(s, t, two(s, NXG_cmpeq, NX_BOOL, low, zero), zero, constant(s, t, 0x400)),
           reduced = two(s, NXG_or, t, two(s, NXG_xor, t, x, low), sticky),
           size = t == NX_U64 ? x : one(s, NXG_abs, t, x), /* the lowest i64 is exact as it is */
      exact = two(s, NXG_cmplt, NX_BOOL, size, constant(s, t, UINT64_C(1) << 53));
  return one(s, NXG_cast, NX_F64, choose(s, t, exact, x, reduced));
}

/* An f64 as bits of an f32 that rounds further as it does: truncated or rounded up to an odd last
 * bit. */
static uint32_t odd_bits(storing *s, uint32_t x) {
  uint32_t near = one(s, NXG_cast, NX_F32, x), back = one(s, NXG_cast, NX_F64, near),
           bits = one(s, NXG_bitcast, NX_U32, near), even = equals(s, masked(s, bits, 1), 0),
           size = one(s, NXG_abs, NX_F64, x), got = one(s, NXG_abs, NX_F64, back),
           over = two(s, NXG_and, NX_BOOL, even, two(s, NXG_cmplt, NX_BOOL, size, got)),
           under = two(s, NXG_and, NX_BOOL, even, two(s, NXG_cmplt, NX_BOOL, got, size));
  bits = either(s, over, plus(s, bits, UINT32_MAX), bits);
  return either(s, under, plus(s, bits, 1), bits);
}

/* Bits of an f32 that rounds to a stored float as x does. */
static uint32_t source_bits(storing *s, nx_dtype from, uint32_t x) {
  bool integer = nxi_is_integer(from);
  if (integer && nxi_dtypes[from].bits == 64) return odd_bits(s, wide_integer(s, from, x));
  if (integer && nxi_dtypes[from].bits == 32) return odd_bits(s, one(s, NXG_cast, NX_F64, x));
  if (from == NX_F64) return odd_bits(s, x);
  return one(s, NXG_bitcast, NX_U32, from == NX_F32 ? x : one(s, NXG_cast, NX_F32, x));
}

static uint32_t bits_as_f32(storing *s, nx_dtype from, uint32_t x) {
  uint32_t u = one(s, NXG_cast, NX_U32, x);
  return from == NX_F8E8M0 ? decoded_scale(s, u) : decoded(s, from, u);
}

static uint32_t rewrite_cast(storing *s, const nxg_node *n) {
  nx_dtype from = s->r.from->nodes[n->args[0]].dtype, to = n->dtype;
  uint32_t x = s->r.map[n->args[0]];
  if (from == to) return x;
  uint32_t bits = nxi_is_stored(from) ? bits_as_f32(s, from, x) : source_bits(s, from, x);
  if (nxi_is_stored(to)) {
    bits = to == NX_F8E8M0 ? encoded_scale(s, bits) : encoded(s, to, bits);
    return one(s, NXG_cast, bits_of(to), bits);
  }
  uint32_t value = one(s, NXG_bitcast, NX_F32, bits);
  return to == NX_F32 ? value : one(s, NXG_cast, to, value);
}

static uint32_t rewrite_bitcast(storing *s, const nxg_node *n) {
  nx_dtype from = bits_of(s->r.from->nodes[n->args[0]].dtype), to = bits_of(n->dtype);
  uint32_t x = s->r.map[n->args[0]];
  return from == to ? x : one(s, NXG_bitcast, to, x);
}

/* ---- the graph */

static bool is_concerned(const nxg_graph *g, const nxg_node *n) {
  bool found = nxi_is_stored(n->dtype);
  for (uint32_t a = 0; a < n->n_args && !found; a++)
    found = nxi_is_stored(g->nodes[n->args[a]].dtype);
  return found;
}

static void retype_inputs(nxg_rewrite *r) {
  for (uint32_t k = 0; k < r->from->n_inputs; k++) {
    uint32_t node = r->map[r->from->inputs[k].node];
    r->own->nodes[node].dtype = (uint8_t)bits_of(r->own->nodes[node].dtype);
  }
}

static void rewrite(storing *s) {
  nxg_rewrite *r = &s->r;
  const nxg_node *n = &r->from->nodes[s->i];
  uint32_t node;
  if (n->op == NXG_cast) node = rewrite_cast(s, n);
  else if (n->op == NXG_bitcast) node = rewrite_bitcast(s, n);
  else {
    for (uint32_t a = 0; a < n->n_args; a++) r->args[a] = r->map[n->args[a]];
    node = nxg_rewrite_add(r, s->i, (nxg_op)n->op, n->n_args, r->args, n->attrs, n->n_attrs,
                           bits_of(n->dtype), n->rank, n->shape);
  }
  nxg_rewrite_map(r, s->i, node);
}

nx_status nxg_pass_stored_types(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  uint32_t first = 0;
  while (first < g->n_nodes && !is_concerned(g, &g->nodes[first])) first++;
  *out = (nxg_graph *)g;
  if (first == g->n_nodes) return NX_OK;
  storing s = {.i = 0};
  nx_status status = nxg_rewrite_begin(&s.r, g, d);
  if (status != NX_OK) return status;
  s.r.changed = true;
  if (nxg_rewrite_own(&s.r)) retype_inputs(&s.r);
  else s.r.failed = true;
  for (; s.i < g->n_nodes && !nxg_rewrite_failed(&s.r); s.i++) {
    const nxg_node *n = &g->nodes[s.i];
    if (n->op == NXG_input) continue;
    if (is_concerned(g, n)) rewrite(&s);
    else nxg_rewrite_copy(&s.r, s.i);
  }
  return nxg_rewrite_end(&s.r, out, changed);
}
