/* SPDX-License-Identifier: ISC */
/* Scalars as text. A decimal float is an integer below 2^53, multiplied or divided by a power of
 * ten up to 10^22. Both are exact doubles, so one operation gives the correctly rounded value, and
 * no library is needed. */
#include "scalar_text.h"

#include <math.h>
#include <string.h>

enum { MAX_POWER = 22, MAX_PRINTED_FRACTION = 16 };

static const double powers[MAX_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const double max_exact = 9007199254740992.0; /* 2^53 */

static uint64_t nan_bits(nx_dtype type) {
  return nxi_cast_bits(nxi_bits_f64(__builtin_nan("")), NX_F64, type);
}

static uint64_t from_double(nx_dtype type, double x) {
  return nxi_cast_bits(nxi_bits_f64(x), NX_F64, type);
}

static bool is_nan(nx_dtype type, uint64_t bits) {
  double x = nxi_f64_bits(nxi_cast_bits(bits, type, NX_F64));
  return x != x;
}

/* ---- printing */

static void print_hex_float(nxi_text *out, double x) {
  uint64_t bits = nxi_bits_f64(x), fraction = bits & ((UINT64_C(1) << 52) - 1);
  int exponent = (int)(bits >> 52 & 2047) - 1023;
  if (exponent == -1023) { /* subnormal: shift the leading one to where a normal number has it */
    for (exponent = -1022; !(fraction >> 52); exponent--) fraction <<= 1;
    fraction &= (UINT64_C(1) << 52) - 1;
  }
  int digits = 13;
  for (; digits > 0 && !(fraction & 15); digits--) fraction >>= 4;
  nxi_text_add(out, "%s0x1", signbit(x) ? "-" : "");
  if (digits) nxi_text_add(out, ".%0*llx", digits, (unsigned long long)fraction);
  nxi_text_add(out, "p%d", exponent);
}

static void print_float(nxi_text *out, nx_dtype type, uint64_t bits) {
  double x = nxi_f64_bits(nxi_cast_bits(bits, type, NX_F64));
  if (x != x) {
    nxi_text_add(out, bits == nan_bits(type) ? "nan" : "nan:0x%llx", (unsigned long long)bits);
    return;
  }
  if (isinf(x)) {
    nxi_text_add(out, x < 0 ? "-inf" : "inf");
    return;
  }
  double limit = type == NX_F64 ? max_exact : 1e9;
  for (int places = 0; places <= MAX_PRINTED_FRACTION; places++) {
    double scaled = rint(fabs(x) * powers[places]);
    if (scaled >= limit) break;
    if (from_double(type, copysign(scaled / powers[places], x)) != bits) continue;
    uint64_t whole = (uint64_t)scaled, unit = (uint64_t)powers[places];
    nxi_text_add(out, "%s%llu", signbit(x) ? "-" : "", (unsigned long long)(whole / unit));
    if (places) nxi_text_add(out, ".%0*llu", places, (unsigned long long)(whole % unit));
    return;
  }
  print_hex_float(out, x);
}

void nxi_print_scalar(nxi_text *out, nx_dtype type, uint64_t bits) {
  if (type == NX_BOOL) nxi_text_add(out, bits ? "true" : "false");
  else if (nxi_is_signed(type))
    nxi_text_add(out, "%lld", (long long)nxi_cast_bits(bits, type, NX_I64));
  else if (nxi_is_integer(type)) nxi_text_add(out, "%llu", (unsigned long long)bits);
  else print_float(out, type, bits);
}

/* A NaN with the sign bit set is written by its bits, without a minus sign, so the plus sign has to
 * separate it from the real part. */
void nxi_print_complex(nxi_text *out, nx_dtype part, uint64_t re, uint64_t im) {
  nxi_print_scalar(out, part, re);
  bool minus = im >> (nxi_dtypes[part].bits - 1) && !is_nan(part, im);
  if (!minus) nxi_text_put(out, "+", 1);
  nxi_print_scalar(out, part, im);
  nxi_text_put(out, "i", 1);
}

void nxi_print_element(nxi_text *out, nx_dtype type, const void *element) {
  nx_dtype part = nxi_part_dtype(type);
  const char *second = (const char *)element + nxi_dtype_size(part);
  if (part == type) nxi_print_scalar(out, type, nxi_load_element(element, type));
  else
    nxi_print_complex(out, part, nxi_load_element(element, part), nxi_load_element(second, part));
}

/* ---- parsing */

static int digit_of(char c, int base) {
  int d = c >= '0' && c <= '9'   ? c - '0'
          : c >= 'a' && c <= 'f' ? c - 'a' + 10
          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                 : 99;
  return d < base ? d : -1;
}

/* Reads the digits of an integer, with at most one point among them. Returns how many characters
 * were read; 0 if there are no digits or the number needs more than 64 bits. */
static uint32_t read_digits(const char *s, uint32_t n, int base, uint64_t *number,
                            int32_t *fraction) {
  uint32_t i = 0, digits = 0;
  bool point = false;
  *number = 0;
  *fraction = 0;
  for (; i < n; i++) {
    int d = digit_of(s[i], base);
    if (s[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (d < 0) break;
    if (*number > (UINT64_MAX - (uint64_t)d) / (uint64_t)base || digits > 400) return 0;
    *number = *number * (uint64_t)base + (uint64_t)d;
    *fraction += point;
    digits++;
  }
  return digits ? i : 0;
}

bool nxi_parse_int(const char *s, uint32_t n, int64_t low, int64_t high, int64_t *x) {
  bool minus = n > 0 && s[0] == '-';
  uint64_t magnitude;
  int32_t fraction;
  uint32_t digits = n - minus;
  if (memchr(s, '.', n) || digits == 0 ||
      read_digits(s + minus, digits, 10, &magnitude, &fraction) != digits)
    return false;
  if (magnitude > (uint64_t)INT64_MAX + minus) return false;
  *x = minus ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
  return *x >= low && *x <= high;
}

static const char *parse_integer(const char *s, uint32_t n, nx_dtype type, uint64_t *bits) {
  static const char *const message = "is not a whole number of its type";
  if (type == NX_U64) {
    int32_t fraction;
    bool whole = n > 0 && !memchr(s, '.', n) && read_digits(s, n, 10, bits, &fraction) == n;
    return whole ? NULL : message;
  }
  uint32_t width = nxi_dtypes[type].bits;
  bool is_signed = nxi_is_signed(type);
  int64_t high = (int64_t)(UINT64_MAX >> (64 - width + is_signed)), low = is_signed ? -high - 1 : 0,
          x;
  if (!nxi_parse_int(s, n, low, high, &x)) return message;
  *bits = nxi_cast_bits((uint64_t)x, NX_I64, type);
  return NULL;
}

/* Reads an exponent after e or p, which must be all of the rest. */
static bool read_exponent(const char *s, uint32_t n, char mark, int64_t *exponent) {
  *exponent = 0;
  if (n == 0) return true;
  if (s[0] != mark) return false;
  uint32_t skip = n > 1 && s[1] == '+' ? 2 : 1;
  return nxi_parse_int(s + skip, n - skip, -5000, 5000, exponent);
}

static const char *parse_hex_float(const char *s, uint32_t n, double *x) {
  uint64_t number;
  int32_t fraction;
  int64_t exponent;
  uint32_t used = read_digits(s, n, 16, &number, &fraction);
  if (used == 0 || !read_exponent(s + used, n - used, 'p', &exponent)) return "is not a number";
  if (number > UINT64_C(1) << 53) return "has more than 53 bits";
  *x = ldexp((double)number, (int)exponent - 4 * fraction);
  return NULL;
}

static const char *parse_decimal(const char *s, uint32_t n, double *x) {
  uint64_t number;
  int32_t fraction;
  int64_t exponent;
  uint32_t used = read_digits(s, n, 10, &number, &fraction);
  if (used == 0) return n > 19 ? "has too many digits: write it in hexadecimal" : "is not a number";
  if (!read_exponent(s + used, n - used, 'e', &exponent)) return "is not a number";
  exponent -= fraction;
  *x = 0;
  if (number == 0) return NULL;
  if (number > (uint64_t)max_exact || exponent < -MAX_POWER || exponent > MAX_POWER)
    return "is not exact as a decimal: write it in hexadecimal";
  *x = exponent < 0 ? (double)number / powers[-exponent] : (double)number * powers[exponent];
  return NULL;
}

static bool is_word(const char *s, uint32_t n, const char *word) {
  return strlen(word) == n && memcmp(s, word, n) == 0;
}

static const char *parse_nan(const char *s, uint32_t n, nx_dtype type, uint64_t *bits) {
  int32_t fraction;
  uint64_t all = UINT64_MAX >> (64 - nxi_dtypes[type].bits);
  if (n < 3 || memchr(s, '.', n) || memcmp(s, "0x", 2) != 0 ||
      read_digits(s + 2, n - 2, 16, bits, &fraction) != n - 2)
    return "is not the bits of a NaN";
  double x = *bits <= all ? nxi_f64_bits(nxi_cast_bits(*bits, type, NX_F64)) : 0;
  return x != x ? NULL : "is not the bits of a NaN";
}

static const char *parse_float(const char *s, uint32_t n, nx_dtype type, uint64_t *bits) {
  if (n > 4 && memcmp(s, "nan:", 4) == 0) return parse_nan(s + 4, n - 4, type, bits);
  bool minus = n > 0 && s[0] == '-';
  double x = 0;
  const char *fault = NULL;
  s += minus;
  n -= minus;
  if (is_word(s, n, "nan") && !minus) *bits = nan_bits(type);
  else if (is_word(s, n, "inf")) x = __builtin_inf();
  else if (n > 2 && s[0] == '0' && s[1] == 'x') fault = parse_hex_float(s + 2, n - 2, &x);
  else fault = parse_decimal(s, n, &x);
  if (!fault && !(is_word(s, n, "nan"))) *bits = from_double(type, minus ? -x : x);
  return fault;
}

const char *nxi_parse_scalar(const char *s, uint32_t n, nx_dtype type, uint64_t *bits) {
  if (type == NX_BOOL) {
    *bits = is_word(s, n, "true");
    return *bits || is_word(s, n, "false") ? NULL : "is neither true nor false";
  }
  return nxi_is_integer(type) ? parse_integer(s, n, type, bits) : parse_float(s, n, type, bits);
}

/* Finds the beginning of the second part: a sign with a number on both sides. */
static const char *parse_parts(const char *s, uint32_t n, nx_dtype part, uint64_t *re,
                               uint64_t *im) {
  for (uint32_t k = 1; k + 1 < n; k++) {
    uint32_t plus = s[k] == '+';
    if (!plus && s[k] != '-') continue;
    if (!parse_float(s, k, part, re) && !parse_float(s + k + plus, n - k - plus, part, im))
      return NULL;
  }
  *re = 0;
  return parse_float(s, n, part, im);
}

const char *nxi_parse_complex(const char *s, uint32_t n, nx_dtype part, uint64_t *re,
                              uint64_t *im) {
  *im = 0;
  if (n > 1 && s[n - 1] == 'i') return parse_parts(s, n - 1, part, re, im);
  return parse_float(s, n, part, re);
}

const char *nxi_parse_element(const char *s, uint32_t n, nx_dtype type, void *element) {
  nx_dtype part = nxi_part_dtype(type);
  uint64_t bits = 0, second = 0;
  const char *fault = part == type ? nxi_parse_scalar(s, n, type, &bits)
                                   : nxi_parse_complex(s, n, part, &bits, &second);
  if (fault) return fault;
  nxi_store_element(element, part, bits);
  if (part != type) nxi_store_element((char *)element + nxi_dtype_size(part), part, second);
  return NULL;
}
