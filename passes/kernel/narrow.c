/* SPDX-License-Identifier: ISC */
/* Index arithmetic of GPU kernels in 32 bits, where that gives the same values: a GPU has no
 * instructions that multiply or divide 64-bit integers.
 *
 * An interval for each integer follows from loop bounds, lanes, constants and masks. If an i64
 * and its operands fit in 32 bits it is computed there; sums and products are then marked
 * `exact`. Divisions of non-negative numbers become unsigned, which is faster. The address of an
 * access is narrow if all its terms are, in whatever order they are added. An integer that can
 * have one value only becomes a constant, a comparison that always holds becomes true, and a
 * mask that is always true is dropped. Users that need 64 bits (stores of i64, loop bounds,
 * carries) get the value widened. Needs: bound level, threads. Keeps: all values. The
 * interpreter checks what the pass claims. */
#include <string.h>

#include "passes.h"

__extension__ typedef __int128 wide_int;

/* The interval of an integer value. Not known: the value is not an integer, or its bounds exceed
 * i64. */
typedef struct range {
  int64_t low, high;
  bool known;
} range;

typedef struct narrower {
  const nxk_kernel *from;
  nxk_kernel *to;
  range *ranges;
  nxk_value *wide, *narrow; /* value -> its copy of the same type; its i32 form, or NXK_NONE */
} narrower;

/* ---- ranges */

static const range unknown = {0, 0, false};

static range make(wide_int low, wide_int high) {
  if (low < INT64_MIN || high > INT64_MAX) return unknown;
  return (range){(int64_t)low, (int64_t)high, true};
}

static range of_type(nx_dtype t) {
  if (t == NX_BOOL) return make(0, 1);
  if (!nxi_is_integer(t) || t == NX_U64) return unknown;
  int bits = nxi_dtypes[t].bits;
  if (!nxi_is_signed(t)) return make(0, ((wide_int)1 << bits) - 1);
  return make(-((wide_int)1 << (bits - 1)), ((wide_int)1 << (bits - 1)) - 1);
}

static range join(range a, range b) {
  if (!a.known || !b.known) return unknown;
  return make(a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
}

static range product(range a, range b) {
  wide_int p[4] = {(wide_int)a.low * b.low, (wide_int)a.low * b.high, (wide_int)a.high * b.low,
                   (wide_int)a.high * b.high};
  wide_int low = p[0], high = p[0];
  for (int i = 1; i < 4; i++) {
    if (p[i] < low) low = p[i];
    if (p[i] > high) high = p[i];
  }
  return make(low, high);
}

/* The range of a truncated quotient; the divisor is positive. */
static range quotient(range a, range b) {
  if (b.low != b.high || b.low <= 0) return unknown;
  return make(a.low / b.low, a.high / b.low);
}

static range remainder_of(range a, range b) {
  if (b.low != b.high || b.low <= 0) return unknown;
  int64_t most = b.low - 1;
  if (a.low >= 0) return make(0, a.high < most ? a.high : most);
  return make(-most, a.high < 0 ? 0 : most);
}

static range conjunction(range a, range b) {
  if (a.low >= 0 && b.low >= 0) return make(0, a.high < b.high ? a.high : b.high);
  if (a.low >= 0) return make(0, a.high);
  return b.low >= 0 ? make(0, b.high) : unknown;
}

/* The range of `or` and `xor`: no bit above the highest of either operand can be set. */
static range bits_of_both(range a, range b) {
  int64_t most = a.high > b.high ? a.high : b.high, bits = 1;
  if (a.low < 0 || b.low < 0 || most > INT64_MAX / 4) return unknown;
  while (bits <= most) bits *= 2;
  return make(0, bits - 1);
}

static range shifted(range a, range b, bool left) {
  if (b.low != b.high || b.low < 0 || b.low > 62) return unknown;
  if (!left) return make(a.low >> b.low, a.high >> b.low);
  return product(a, make((wide_int)1 << b.low, (wide_int)1 << b.low));
}

static range between(range a, range b, bool most) {
  if (most) return make(a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high);
  return make(a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high);
}

/* The range of an operation on two known operands, before wrapping to its type is considered. */
static range of_pair(nxk_op op, range a, range b) {
  switch (op) {
    case NXK_add: return make((wide_int)a.low + b.low, (wide_int)a.high + b.high);
    case NXK_sub: return make((wide_int)a.low - b.high, (wide_int)a.high - b.low);
    case NXK_mul: return product(a, b);
    case NXK_div: return quotient(a, b);
    case NXK_mod: return remainder_of(a, b);
    case NXK_and: return conjunction(a, b);
    case NXK_or:
    case NXK_xor: return bits_of_both(a, b);
    case NXK_shl: return shifted(a, b, true);
    case NXK_shr: return shifted(a, b, false);
    case NXK_max:
    case NXK_min: return between(a, b, op == NXK_max);
    default: return unknown;
  }
}

static range range_at(const narrower *n, nxk_value v) {
  return v == NXK_NONE ? unknown : n->ranges[v];
}

static range of_scalar(const narrower *n, const nxk_instr *in) {
  range type = of_type(in->dtype), a = range_at(n, in->args[0]), b = range_at(n, in->args[1]),
        r = type;
  if (in->op == NXK_select) r = join(b, range_at(n, in->args[2]));
  else if (in->op == NXK_cast) r = a;
  else if (in->op == NXK_neg && a.known) r = make(-(wide_int)a.high, -(wide_int)a.low);
  else if (in->n_args == 2 && a.known && b.known && in->dtype != NX_BOOL)
    r = of_pair((nxk_op)in->op, a, b);
  bool held = type.known && r.known && r.low >= type.low && r.high <= type.high; /* no wrapping */
  return held ? r : type;
}

static range of_loop(const narrower *n, const nxk_loop *loop) {
  range low = make(loop->lower.constant, loop->lower.constant),
        high = make(loop->upper.constant, loop->upper.constant);
  if (loop->lower.value != NXK_NONE) low = range_at(n, loop->lower.value);
  if (loop->upper.value != NXK_NONE) high = range_at(n, loop->upper.value);
  if (!low.known || !high.known) return of_type(NX_I64);
  return make(low.low, high.high > low.low ? (wide_int)high.high - 1 : low.low);
}

static range of_instr(const narrower *n, const nxk_instr *in) {
  range type = of_type(in->dtype), a = range_at(n, in->args[0]);
  if (in->op < NXK_SCALAR_COUNT) return of_scalar(n, in);
  switch (in->op) {
    case NXK_const: {
      int64_t x = (int64_t)nxi_cast_bits(in->imm, in->dtype, NX_I64);
      return type.known ? make(x, x) : unknown;
    }
    case NXK_for: return of_loop(n, &n->from->loops[in->imm]);
    case NXK_splat:
    case NXK_shuffle_xor: return a;
    case NXK_step_vector: {
      range r = make(a.low, (wide_int)a.high + in->lanes - 1);
      return a.known && r.known ? r : type;
    }
    case NXK_blend: {
      range r = join(range_at(n, in->args[1]), range_at(n, in->args[2]));
      return r.known ? r : type;
    }
    default: return type;
  }
}

static bool fits(range r) { return r.known && r.low >= INT32_MIN && r.high <= INT32_MAX; }

/* ---- values */

static bool is_wide(const narrower *n, nxk_value v) { return n->from->instrs[v].dtype == NX_I64; }

static nxk_value wide_of(const narrower *n, nxk_value v) {
  return v == NXK_NONE ? NXK_NONE : n->wide[v];
}

/* The i32 form of an i64 that fits in 32 bits. */
static nxk_value narrow_of(const narrower *n, nxk_value v) {
  const nxk_instr *in = &n->from->instrs[v];
  if (in->op == NXK_const) return nxk_const_i(n->to, NX_I32, (int64_t)in->imm);
  if (in->op == NXK_splat && n->narrow[v] == NXK_NONE)
    return nxk_splat(n->to, narrow_of(n, in->args[0]), in->lanes);
  return n->narrow[v] != NXK_NONE ? n->narrow[v] : nxk_cast_to(n->to, NX_I32, n->wide[v]);
}

/* Whether v is the same constant in all lanes; sets *x to it. */
static bool is_number(const nxk_kernel *k, nxk_value v, uint64_t *x) {
  while (v < k->n_instrs && k->instrs[v].op == NXK_splat) v = k->instrs[v].args[0];
  if (v >= k->n_instrs || k->instrs[v].op != NXK_const) return false;
  *x = k->instrs[v].imm;
  return true;
}

static nxk_value number(const narrower *n, nx_dtype t, int64_t x, uint16_t lanes) {
  return nxk_splat(n->to, nxk_const_i(n->to, t, x), lanes);
}

static nxk_value exact(const narrower *n, nxk_op op, nxk_value a, nxk_value b) {
  if (n->to->failed) return NXK_NONE;
  uint64_t x;
  bool adds = op == NXK_add, same = nxk_dtype(n->to, a) == nxk_dtype(n->to, b);
  bool alike = same && n->to->instrs[a].lanes == n->to->instrs[b].lanes;
  if (alike && adds && is_number(n->to, a, &x) && x == 0) return b;
  if (alike && (adds || op == NXK_sub) && is_number(n->to, b, &x) && x == 0) return a;
  if (alike && op == NXK_mul && is_number(n->to, b, &x) && x == 1) return a;
  return nxk_nsw(n->to, op, a, b);
}

static nxk_value unsigned_quotient(const narrower *n, nxk_op op, nxk_value a, nxk_value b) {
  nxk_value x = nxk_cast_to(n->to, NX_U32, a), y = nxk_cast_to(n->to, NX_U32, b);
  return nxk_cast_to(n->to, NX_I32, nxk_scalar(n->to, op, 0, x, y, NXK_NONE));
}

static bool operands_fit(const narrower *n, const nxk_instr *in, int first) {
  for (int i = first; i < in->n_args; i++)
    if (!fits(range_at(n, in->args[i]))) return false;
  return true;
}

/* Computes an i64 that fits in 32 bits as an i32; NXK_NONE: its operands need 64 bits. */
static nxk_value narrowed(const narrower *n, nxk_value v) {
  const nxk_instr *in = &n->from->instrs[v];
  nxk_op op = (nxk_op)in->op;
  range r = range_at(n, v);
  if (op < NXK_SCALAR_COUNT && r.low == r.high) return number(n, NX_I32, r.low, in->lanes);
  if (op == NXK_cast) {
    nx_dtype t = nxk_dtype(n->from, in->args[0]);
    if (t == NX_I64) return NXK_NONE;
    return nxi_is_integer(t) || t == NX_BOOL ? nxk_cast_to(n->to, NX_I32, wide_of(n, in->args[0]))
                                             : NXK_NONE;
  }
  bool kinds = op < NXK_SCALAR_COUNT || op == NXK_step_vector || op == NXK_shuffle_xor;
  if (!kinds || !operands_fit(n, in, op == NXK_select ? 1 : 0)) return NXK_NONE;
  nxk_value a = op == NXK_select ? wide_of(n, in->args[0]) : narrow_of(n, in->args[0]),
            b = in->n_args > 1 ? narrow_of(n, in->args[1]) : NXK_NONE;
  switch (op) {
    case NXK_add:
    case NXK_sub:
    case NXK_mul: return exact(n, op, a, b);
    case NXK_div:
    case NXK_mod:
      if (range_at(n, in->args[0]).low >= 0 && range_at(n, in->args[1]).low > 0)
        return unsigned_quotient(n, op, a, b);
      return nxk_scalar(n->to, op, 0, a, b, NXK_NONE);
    case NXK_and:
    case NXK_or:
    case NXK_xor:
    case NXK_max:
    case NXK_min:
    case NXK_shr: return nxk_scalar(n->to, op, 0, a, b, NXK_NONE);
    case NXK_select: {
      nxk_value c = narrow_of(n, in->args[2]);
      return nxk_scalar(n->to, op, 0, a, b, c);
    }
    case NXK_step_vector: return nxk_step_vector(n->to, a, in->lanes);
    case NXK_shuffle_xor: return nxk_shuffle_xor(n->to, a, (uint32_t)in->imm);
    default: return NXK_NONE;
  }
}

/* The result of a comparison for all values that its operands can have: 1, 0, or -1 if it is not
 * always the same. */
static int decided(const narrower *n, const nxk_instr *in) {
  range a = range_at(n, in->args[0]), b = range_at(n, in->args[1]);
  if (in->op == NXK_active) a.high += in->lanes - 1;
  int64_t more = in->op == NXK_le ? 0 : 1;
  bool apart = a.high < b.low || b.high < a.low;
  if (in->op == NXK_eq || in->op == NXK_ne)
    return apart ? in->op == NXK_ne : a.low == a.high && b.low == b.high ? in->op == NXK_eq : -1;
  return a.high <= b.low - more ? 1 : a.low > b.high - more ? 0 : -1;
}

/* Writes a comparison of i64 or an `active` with i32 operands; NXK_NONE: it is neither, or needs 64
 * bits. */
static nxk_value compared(const narrower *n, nxk_value v) {
  const nxk_instr *in = &n->from->instrs[v];
  bool compares = in->op == NXK_active ||
                  (in->op < NXK_SCALAR_COUNT && nxk_scalars[in->op].result == NXK_RESULT_BOOL);
  if (!compares || in->n_args != 2 || !is_wide(n, in->args[0]) || !operands_fit(n, in, 0))
    return NXK_NONE;
  int known = decided(n, in);
  if (known >= 0) return number(n, NX_BOOL, known, in->lanes);
  nxk_value a = narrow_of(n, in->args[0]), b = narrow_of(n, in->args[1]);
  if (in->op != NXK_active) return nxk_scalar(n->to, (nxk_op)in->op, 0, a, b, NXK_NONE);
  int64_t last = range_at(n, in->args[0]).high + in->lanes - 1;
  return last <= INT32_MAX ? nxk_active(n->to, a, b, in->lanes) : NXK_NONE;
}

/* ---- accesses */

static wide_int magnitude(range r) {
  wide_int low = r.low < 0 ? -(wide_int)r.low : r.low,
           high = r.high < 0 ? -(wide_int)r.high : r.high;
  return low > high ? low : high;
}

/* Whether every partial sum of the address fits in 32 bits, in any order. */
static bool address_fits(const narrower *n, const nxk_access *a, uint32_t lanes) {
  wide_int most = magnitude(make(a->offset, a->offset));
  wide_int stride = magnitude(make(a->lane_stride, a->lane_stride));
  most += stride * (a->group > 1 ? a->group - 1 : lanes - 1);
  for (uint32_t i = 0; i < a->n_terms; i++) {
    range r = range_at(n, a->terms[i].index);
    if (!fits(r)) return false;
    most += magnitude(r) * magnitude(make(a->terms[i].stride, a->terms[i].stride));
    if (most > INT32_MAX) return false;
  }
  if (a->index == NXK_NONE) return most <= INT32_MAX;
  range r = range_at(n, a->index);
  return fits(r) && most + magnitude(r) <= INT32_MAX;
}

/* Moves constant indices into the offset. */
static void drop_numbers(const narrower *n, nxk_access *a) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    range r = range_at(n, a->terms[i].index), o = unknown;
    wide_int at = (wide_int)a->offset + (wide_int)r.low * a->terms[i].stride;
    if (r.known && r.low == r.high) o = make(at, at);
    if (o.known) a->offset = o.low;
    else a->terms[kept++] = a->terms[i];
  }
  a->n_terms = kept;
}

static void place_indices(const narrower *n, nxk_access *a, uint32_t lanes) {
  drop_numbers(n, a);
  bool narrow = address_fits(n, a, lanes);
  for (uint32_t i = 0; i < a->n_terms; i++)
    a->terms[i].index = narrow ? narrow_of(n, a->terms[i].index) : wide_of(n, a->terms[i].index);
  if (a->index != NXK_NONE) a->index = narrow ? narrow_of(n, a->index) : wide_of(n, a->index);
  uint64_t on = 0;
  bool all = a->mask != NXK_NONE && is_number(n->to, n->wide[a->mask], &on) && on;
  a->mask = all ? NXK_NONE : wide_of(n, a->mask);
  a->other = all ? NXK_NONE : wide_of(n, a->other);
}

static void copy_access(narrower *n, nxk_value v) {
  const nxk_instr *in = &n->from->instrs[v];
  nxk_access a = n->from->accesses[in->imm];
  if (a.n_terms > 0) a.terms = nxi_arena_copy(&n->to->arena, a.terms, a.n_terms * sizeof *a.terms);
  if (a.n_terms > 0 && a.terms == NULL) {
    n->to->failed = true;
    return;
  }
  nxk_value stored = in->op == NXK_store ? wide_of(n, in->args[0]) : NXK_NONE;
  place_indices(n, &a, in->lanes);
  if (in->op == NXK_load) n->wide[v] = nxk_load(n->to, &a, in->lanes);
  else nxk_store(n->to, &a, stored);
}

/* ---- the pass */

/* The operand that a select with a known condition chooses. */
static nxk_value chosen(const narrower *n, const nxk_instr *in) {
  uint64_t first;
  if (in->op != NXK_select || !is_number(n->to, n->wide[in->args[0]], &first)) return NXK_NONE;
  return n->wide[in->args[first ? 1 : 2]];
}

/* A conversion to i32 or u32 of a value that has an i32 form. */
static nxk_value converted(const narrower *n, const nxk_instr *in) {
  bool suits = in->op == NXK_cast && (in->dtype == NX_I32 || in->dtype == NX_U32);
  if (!suits || !is_wide(n, in->args[0]) || !fits(range_at(n, in->args[0]))) return NXK_NONE;
  return nxk_cast_to(n->to, in->dtype, narrow_of(n, in->args[0]));
}

/* Writes the value: for an i64 that fits, its i32 form and that widened again. The forms that
 * nothing uses are removed at the end. */
static void write(narrower *n, nxk_value v) {
  const nxk_instr *in = &n->from->instrs[v];
  if (in->dtype == NX_I64 && fits(n->ranges[v])) n->narrow[v] = narrowed(n, v);
  if (n->narrow[v] != NXK_NONE) n->wide[v] = nxk_cast_to(n->to, NX_I64, n->narrow[v]);
  else if ((n->wide[v] = compared(n, v)) != NXK_NONE || (n->wide[v] = chosen(n, in)) != NXK_NONE ||
           (n->wide[v] = converted(n, in)) != NXK_NONE)
    return;
  else if (in->op == NXK_load || in->op == NXK_store) copy_access(n, v);
  else nxk_copy_instr(n->to, n->from, v, n->wide);
}

static bool copy_tables(nxk_kernel *k, const nxk_kernel *source) {
  k->threads = source->threads;
  for (uint32_t i = 0; i < source->n_buffers && !k->failed; i++) {
    nxk_add_buffer(k, source->buffers[i].kind, source->buffers[i].dtype,
                   source->buffers[i].elements);
    if (!k->failed) k->buffers[i] = source->buffers[i];
  }
  for (uint32_t i = 0; i < source->n_params && !k->failed; i++)
    nxk_add_param(k, source->param_types[i]);
  return !k->failed;
}

static bool prepare(narrower *n) {
  size_t count = (size_t)n->from->n_instrs + 1;
  n->ranges = nxi_calloc(count, sizeof *n->ranges);
  n->wide = nxi_malloc(count * sizeof *n->wide);
  n->narrow = nxi_malloc(count * sizeof *n->narrow);
  if (!n->to || !n->ranges || !n->wide || !n->narrow) return false;
  memset(n->wide, 0xff, count * sizeof *n->wide);
  memset(n->narrow, 0xff, count * sizeof *n->narrow);
  for (nxk_value v = 0; v < n->from->n_instrs; v++) n->ranges[v] = of_instr(n, &n->from->instrs[v]);
  return copy_tables(n->to, n->from);
}

static nxk_kernel *narrow_all(const nxk_kernel *k, nxi_diag *d) {
  narrower n = {.from = k, .to = nxk_create(k->level, k->name)};
  bool ok = prepare(&n);
  for (nxk_value v = 0; ok && v < k->n_instrs && !n.to->failed; v++) write(&n, v);
  ok = ok && !n.to->failed;
  nxi_free(n.ranges);
  nxi_free(n.wide);
  nxi_free(n.narrow);
  if (ok) return n.to;
  nxk_destroy(n.to);
  nxi_oom(d);
  return NULL;
}

nxk_kernel *nxk_pass_narrow(const nxk_kernel *k, nxi_diag *d) {
  nxk_kernel *narrow = narrow_all(k, d), *clean = NULL;
  if (narrow != NULL) clean = nxk_pass_simplify(narrow, d); /* drops unused wide forms */
  nxk_destroy(narrow);
  return clean;
}
