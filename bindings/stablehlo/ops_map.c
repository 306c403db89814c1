/* SPDX-License-Identifier: ISC */
/* Operations element by element. Where XLA's value differs from the library's for the same name
 * (division by zero, the sign of -0), it is XLA's that is recorded. */
#include "record.h"

#include <math.h>
#include <string.h>

#include "ir/dtype.h"

/* The operands of an operation that has so many. */
static bool take(nxh_recorder *r, const nxh_op *op, uint32_t n, nx_tensor **x) {
  if (op->n_operands != n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands, not %u", op->n_operands, n);
  for (uint32_t i = 0; i < n; i++)
    if ((x[i] = nxh_in(r, op, i)) == NULL) return false;
  return true;
}

/* Two of one shape: nothing broadcasts here, unless arrays stand for scalars. */
static bool take_pair(nxh_recorder *r, const nxh_op *op, nx_tensor **a, nx_tensor **b) {
  nx_tensor *x[2] = {NULL, NULL};
  if (!take(r, op, 2, x)) return false;
  *a = x[0], *b = x[1];
  if (r->over_arrays || nxh_has_shape(*a, *b)) return true;
  char first[NXH_TYPE_TEXT], second[NXH_TYPE_TEXT];
  return nxh_fail(r, NX_INVALID_ARGUMENT, "operands are %s and %s, which are not of one shape",
                  nxh_describe(*a, first), nxh_describe(*b, second));
}

bool nxh_unary(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *x = NULL;
  if (!take(r, op, 1, &x)) return false;
  return nxh_set(r, op, 0, row->of.unary(x));
}

bool nxh_binary(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *a = NULL, *b = NULL;
  return take_pair(r, op, &a, &b) && nxh_set(r, op, 0, row->of.binary(a, b));
}

bool nxh_identity(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  if (op->n_results != op->n_operands)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u operands and %u results", op->n_operands,
                    op->n_results);
  for (uint32_t i = 0; i < op->n_results; i++) {
    nx_tensor *t = r->frame->tensors[op->operands[i] - r->frame->base];
    bool token = nxh_result_type(r, op, i)->kind == NXH_TOKEN;
    if (token ? t != NULL : !nxh_set(r, op, i, nxh_in(r, op, i)))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u has another type than operand %u", i, i);
  }
  return true;
}

/* ---- numbers beside a tensor */

static nx_tensor *number_like(nxh_recorder *r, nx_tensor *x, double value) {
  nx_scalar s = {NX_SCALAR_F64, {.f = {value, 0}}};
  return nx_full(r->c, r->device, nx_dtype_of(x), NULL, 0, &s);
}

bool nxh_divide(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *a = NULL, *b = NULL;
  if (!take_pair(r, op, &a, &b)) return false;
  if (!nxi_is_integer(nx_dtype_of(a))) return nxh_binary(r, op, row);
  nx_scalar ones = {NX_SCALAR_I64, {.i = -1}};
  nx_tensor *none = nx_full(r->c, r->device, nx_dtype_of(a), NULL, 0, &ones);
  return nxh_set(r, op, 0, nx_where(nx_cmpeq(b, number_like(r, b, 0)), none, nx_div(a, b)));
}

bool nxh_remainder(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *a = NULL, *b = NULL;
  if (!take_pair(r, op, &a, &b)) return false;
  if (!nxi_is_integer(nx_dtype_of(a))) return nxh_binary(r, op, row);
  return nxh_set(r, op, 0, nx_where(nx_cmpeq(b, number_like(r, b, 0)), a, nx_mod(a, b)));
}

/* The sign of -0 is -0. */
bool nxh_sign(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL || !nxi_is_float(nx_dtype_of(x))) return x != NULL && nxh_unary(r, op, row);
  return nxh_set(r, op, 0, nx_where(nx_cmpeq(x, number_like(r, x, 0)), x, nx_sign(x)));
}

bool nxh_abs(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL) return false;
  nx_tensor *y = nx_abs(x);
  return nxh_set(r, op, 0, nxi_is_complex(nx_dtype_of(x)) ? nx_real(y) : y);
}

/* ---- complex forms of what the library has of reals */

/* The principal root. */
bool nxh_cbrt(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *x = nxh_in(r, op, 0);
  if (x == NULL || !nxi_is_complex(nx_dtype_of(x))) return x != NULL && nxh_unary(r, op, row);
  return nxh_set(r, op, 0, nx_pow(x, number_like(r, x, 1.0 / 3)));
}

/* -i log((x + iy) / sqrt(x^2 + y^2)), in c128. Where the quotient is close to 1, its logarithm has
 * few digits, which are enough for c64, and for saying that atan(y / x) is the same angle. */
bool nxh_atan2(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *y = NULL, *x = NULL;
  if (!take_pair(r, op, &y, &x)) return false;
  nx_dtype dtype = nx_dtype_of(x);
  if (!nxi_is_complex(dtype) || nx_dtype_of(y) != dtype) return nxh_binary(r, op, row);
  x = nx_cast(x, NX_C128);
  y = nx_cast(y, NX_C128);
  nx_tensor *turned = nx_complex(nx_neg(nx_imag(y)), nx_real(y));
  nx_tensor *length = nx_sqrt(nx_add(nx_mul(x, x), nx_mul(y, y)));
  nx_tensor *log = nx_log(nx_div(nx_add(x, turned), length));
  nx_tensor *angle = nx_complex(nx_imag(log), nx_neg(nx_real(log)));
  if (dtype == NX_C64) return nxh_set(r, op, 0, nx_cast(angle, dtype));
  nx_tensor *tangent = nx_atan(nx_div(y, x));
  nx_tensor *apart = nx_abs(nx_sub(nx_real(angle), nx_real(tangent)));
  return nxh_set(r, op, 0, nx_where(nx_cmplt(apart, number_like(r, apart, 1)), tangent, angle));
}

/* ---- comparison and choice */

static nx_tensor *compare(nxh_word how, nx_tensor *a, nx_tensor *b) {
  return nxh_word_is(how, "EQ")   ? nx_cmpeq(a, b)
         : nxh_word_is(how, "NE") ? nx_cmpne(a, b)
         : nxh_word_is(how, "LT") ? nx_cmplt(a, b)
         : nxh_word_is(how, "LE") ? nx_cmple(a, b)
         : nxh_word_is(how, "GT") ? nx_cmpgt(a, b)
                                  : nx_cmpge(a, b);
}

bool nxh_compare(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  static const char *const known[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  nx_tensor *a = NULL, *b = NULL;
  nxh_word how = nxh_name(op, "comparison_direction");
  bool is = false;
  for (int i = 0; i < 6; i++) is = is || nxh_word_is(how, known[i]);
  if (!is) return nxh_fail(r, NX_INVALID_ARGUMENT, "no such comparison");
  if (!take_pair(r, op, &a, &b)) return false;
  if (nxh_word_is(nxh_name(op, "compare_type"), "TOTALORDER") && nxi_is_float(nx_dtype_of(a)))
    a = nx_total_order(a), b = nx_total_order(b);
  return nxh_set(r, op, 0, compare(how, a, b));
}

bool nxh_select(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *p = nxh_in(r, op, 0), *a = p != NULL ? nxh_in(r, op, 1) : NULL,
            *b = a != NULL ? nxh_in(r, op, 2) : NULL;
  return b != NULL && nxh_set(r, op, 0, nx_where(p, a, b));
}

bool nxh_clamp(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *low = nxh_in(r, op, 0), *x = low != NULL ? nxh_in(r, op, 1) : NULL,
            *high = x != NULL ? nxh_in(r, op, 2) : NULL;
  return high != NULL && nxh_set(r, op, 0, nx_clamp(low, x, high));
}

/* ---- conversion */

/* Of complex numbers only the real part counts, to bool too, which nx_cast compares with 0. */
bool nxh_convert(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  nx_dtype to = nxh_result_type(r, op, 0)->dtype;
  if (x != NULL && to == NX_BOOL && nxi_is_complex(nx_dtype_of(x))) x = nx_real(x);
  return x != NULL && nxh_set(r, op, 0, nx_cast(x, to));
}

/* A bool is one bit here, and the lowest one comes first. */
static nx_tensor *bits_of(nxh_recorder *r, nx_tensor *x, nx_dtype type) {
  int64_t shape[NX_MAX_RANK + 1], n = (int64_t)nx_dtype_bits(type);
  int32_t rank = nx_rank(x);
  if (rank == NX_MAX_RANK) return nx_bitcast_convert(x, NX_BOOL);
  for (int32_t i = 0; i < rank; i++) shape[i] = nx_shape(x)[i];
  shape[rank] = 1;
  x = nx_reshape(x, shape, rank + 1, NX_MAY_COPY);
  nx_tensor *place = nx_arange(r->c, r->device, type, NX_INTEGER(0), NX_INTEGER(1), n);
  return nx_cast(nx_and(nx_shr_logical(x, place), number_like(r, place, 1)), NX_BOOL);
}

static nx_tensor *from_bits(nxh_recorder *r, nx_tensor *x, nx_dtype type) {
  int32_t last = nx_rank(x) - 1;
  int64_t n = nx_shape(x)[last];
  nx_tensor *place = nx_arange(r->c, r->device, type, NX_INTEGER(0), NX_INTEGER(1), n);
  nx_tensor *sum = nx_reduce_sum(nx_shl(nx_cast(x, type), place), &last, 1, 0);
  return sum != NULL ? nx_cast(sum, type) : NULL;
}

/* The unsigned type of as many bits. */
static nx_dtype word_of(nx_dtype t) {
  size_t bits = nx_dtype_bits(t);
  return bits == 8 ? NX_U8 : bits == 16 ? NX_U16 : bits == 32 ? NX_U32 : NX_U64;
}

static bool bitcast_bools(nxh_recorder *r, const nxh_op *op, nx_tensor *x, nx_dtype to) {
  nx_dtype from = nx_dtype_of(x), word = word_of(to == NX_BOOL ? from : to);
  if (to == NX_BOOL) return nxh_set(r, op, 0, bits_of(r, nx_bitcast(x, word), word));
  int32_t rank = nx_rank(x);
  if (rank == 0 || nx_shape(x)[rank - 1] != (int64_t)nx_dtype_bits(to))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "bools of shape %s are no elements of %s",
                    nxh_describe(x, (char[NXH_TYPE_TEXT]){0}), nx_dtype_name(to));
  x = from_bits(r, x, word);
  return x != NULL && nxh_set(r, op, 0, nx_bitcast(x, to));
}

/* The parts of c128 as those of two c64. */
static bool split_complex(nxh_recorder *r, const nxh_op *op, nx_tensor *x) {
  int64_t start[NX_MAX_RANK] = {0}, stop[NX_MAX_RANK];
  int32_t rank = nx_rank(x);
  nx_tensor *part[2];
  for (int32_t i = 0; i < rank; i++) stop[i] = nx_shape(x)[i];
  for (int i = 0; i < 2; i++) {
    nx_tensor *words = nx_bitcast_convert(i == 0 ? nx_real(x) : nx_imag(x), NX_F32);
    if (words == NULL) return false;
    nx_tensor *half[2];
    for (int64_t k = 0; k < 2; k++) {
      start[rank] = k, stop[rank] = k + 1;
      half[k] = nx_shrink(words, start, stop, (size_t)rank + 1);
    }
    if ((part[i] = nx_complex(half[0], half[1])) == NULL) return false;
  }
  return nxh_set(r, op, 0, nx_cat(part, 2, rank));
}

bool nxh_bitcast(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  nx_dtype to = nxh_result_type(r, op, 0)->dtype, from = x != NULL ? nx_dtype_of(x) : to;
  bool real = !nxi_is_complex(from) && !nxi_is_complex(to);
  if ((from == NX_BOOL) != (to == NX_BOOL) && real) return bitcast_bools(r, op, x, to);
  if (from == NX_C128 && to == NX_C64 && nx_rank(x) + 1 < NX_MAX_RANK)
    return split_complex(r, op, x);
  return x != NULL && nxh_set(r, op, 0, nx_bitcast_convert(x, nxh_result_type(r, op, 0)->dtype));
}

bool nxh_precision(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL && nxh_set(r, op, 0,
                              nx_reduce_precision(x, (int32_t)nxh_integer(op, "exponent_bits", 0),
                                                  (int32_t)nxh_integer(op, "mantissa_bits", 0)));
}

/* Addition, multiplication, maximum and minimum of i1 are logic. */
bool nxh_logic(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *a = NULL, *b = NULL;
  if (!take_pair(r, op, &a, &b)) return false;
  if (nx_dtype_of(a) != NX_BOOL) return nxh_binary(r, op, row);
  bool either =
      nxh_word_is(op->name, "stablehlo.add") || nxh_word_is(op->name, "stablehlo.maximum");
  return nxh_set(r, op, 0, either ? nx_or(a, b) : nx_and(a, b));
}

/* is_inf of one sign, which the row says. */
bool nxh_infinite(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *x = NULL;
  if (!take(r, op, 1, &x)) return false;
  return nxh_set(r, op, 0, nx_cmpeq(x, number_like(r, x, (double)row->of.number * INFINITY)));
}

/* The high word of a product of two words that are not negative, of 64 bits, from those of their
 * halves. */
static nx_tensor *high_word(nxh_recorder *r, nx_tensor *a, nx_tensor *b) {
  nx_tensor *half = number_like(r, a, 32), *mask = number_like(r, a, 0xffffffff);
  nx_tensor *a1 = nx_shr_logical(a, half), *b1 = nx_shr_logical(b, half);
  nx_tensor *a0 = nx_and(a, mask), *b0 = nx_and(b, mask);
  nx_tensor *cross = nx_add(nx_mul(a1, b0), nx_shr_logical(nx_mul(a0, b0), half));
  nx_tensor *other = nx_add(nx_mul(a0, b1), nx_and(cross, mask));
  nx_tensor *high = nx_add(nx_mul(a1, b1), nx_shr_logical(cross, half));
  return nx_add(high, nx_shr_logical(other, half));
}

/* The upper half of the bits of a product. As words, a negative number is 2^64 more than itself, so
 * the other factor is too much. */
bool nxh_mulhi(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nx_tensor *a = NULL, *b = NULL;
  if (!take_pair(r, op, &a, &b)) return false;
  nx_dtype type = nx_dtype_of(a), wide = nxi_is_signed(type) ? NX_I64 : NX_U64;
  if (!nxi_is_integer(type))
    return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "%s is no integer", nx_dtype_name(type));
  size_t bits = nx_dtype_bits(type);
  if (bits < 64) {
    nx_tensor *p = nx_mul(nx_cast(a, wide), nx_cast(b, wide));
    return nxh_set(r, op, 0, nx_cast(nx_shr(p, number_like(r, p, (double)bits)), type));
  }
  nx_tensor *y = high_word(r, a, b), *last = number_like(r, a, 63);
  if (type == NX_I64) {
    y = nx_sub(y, nx_and(nx_shr(a, last), b));
    y = nx_sub(y, nx_and(nx_shr(b, last), a));
  }
  return nxh_set(r, op, 0, y);
}

/* ---- batch normalisation, as the specification composes it */

typedef struct norm {
  nxh_recorder *r;
  int32_t others[NX_MAX_RANK]; /* axes but that of features */
  uint32_t n_others;
  int64_t shape[NX_MAX_RANK]; /* features along their axis, 1 along the others */
  int32_t rank;
  nx_tensor *epsilon;
} norm;

static bool open_norm(norm *n, nxh_recorder *r, const nxh_op *op, nx_tensor *x) {
  double epsilon = 0;
  int64_t feature = nxh_integer(op, "feature_index", -1);
  *n = (norm){.r = r, .rank = nx_rank(x)};
  if (feature < 0 || feature >= n->rank || !nxh_number(nxh_get(op, "epsilon"), &epsilon))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "feature_index or epsilon is missing or out of range");
  for (int32_t i = 0; i < n->rank; i++) {
    n->shape[i] = i == feature ? nx_shape(x)[i] : 1;
    if (i != feature) n->others[n->n_others++] = i;
  }
  n->epsilon = number_like(r, x, epsilon);
  return true;
}

static nx_tensor *spread(const norm *n, nx_tensor *v) {
  return nx_reshape(v, n->shape, n->rank, NX_MAY_COPY);
}

static nx_tensor *mean(const norm *n, nx_tensor *x) {
  return nx_reduce_mean(x, n->others, n->n_others, 0);
}

static nx_tensor *normalised(const norm *n, nx_tensor *x, nx_tensor *mean_, nx_tensor *variance) {
  nx_tensor *deviation = nx_sqrt(nx_add(spread(n, variance), n->epsilon));
  return nx_div(nx_sub(x, spread(n, mean_)), deviation);
}

static bool record_grad(nxh_recorder *r, const nxh_op *op, const norm *n, nx_tensor *const *in) {
  nx_tensor *x = in[0], *scale = in[1], *g = in[4];
  nx_tensor *factor = nx_div(spread(n, scale), nx_sqrt(nx_add(spread(n, in[3]), n->epsilon)));
  nx_tensor *unit = normalised(n, x, in[2], in[3]);
  nx_tensor *of_scale = nx_reduce_sum(nx_mul(g, unit), n->others, n->n_others, 0);
  nx_tensor *of_offset = nx_reduce_sum(g, n->others, n->n_others, 0);
  nx_tensor *inner =
      nx_sub(nx_sub(g, spread(n, mean(n, g))), nx_mul(unit, spread(n, mean(n, nx_mul(g, unit)))));
  return nxh_set(r, op, 0, nx_mul(factor, inner)) && nxh_set(r, op, 1, of_scale) &&
         nxh_set(r, op, 2, of_offset);
}

/* row: 0 inference, 1 training, 2 gradient */
bool nxh_batch_norm(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  nx_tensor *in[5] = {NULL};
  uint32_t n_in = row->of.number == 1 ? 3 : 5;
  norm n;
  for (uint32_t i = 0; i < n_in; i++)
    if ((in[i] = nxh_in(r, op, i)) == NULL) return false;
  if (!open_norm(&n, r, op, in[0])) return false;
  if (row->of.number == 2) return record_grad(r, op, &n, in);
  nx_tensor *m = in[3], *v = in[4];
  if (row->of.number == 1) {
    m = mean(&n, in[0]);
    v = nx_reduce_var(in[0], n.others, n.n_others, 0, 0);
    if (!nxh_set(r, op, 1, m) || !nxh_set(r, op, 2, v)) return false;
  }
  nx_tensor *y = nx_add(nx_mul(normalised(&n, in[0], m, v), spread(&n, in[1])), spread(&n, in[2]));
  return nxh_set(r, op, 0, y);
}
