/* SPDX-License-Identifier: ISC */
/* What stands in dense<..>: numbers in nested lists, one number for all, or the bytes of all in
 * hexadecimal. Decimal floats are rounded once to f32 or f64, for smaller types from f64. */
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"
#include "text.h"

/* The text of one dense<..>, and where its elements go: packed but for nibbles, which have a byte
 * each until the end. */
typedef struct literal {
  nxh_reader *r;
  const nxh_form *form; /* or NULL */
  nx_dtype dtype, part;
  char *data;
  int64_t n, room; /* elements written; there are at most so many */
  size_t size;     /* of one */
} literal;

/* ---- one number */

static bool read_bits(nxh_reader *r, nx_dtype type, uint64_t *bits) {
  *bits = 0;
  int digits = 0;
  for (; r->at < r->end && nxh_hex_digit(*r->at) >= 0; r->at++, digits++)
    *bits = *bits << 4 | (uint64_t)nxh_hex_digit(*r->at);
  uint64_t width = nxi_dtypes[type].bits;
  if (digits == 0 || digits > 16) return nxh_expected(r, "expected 1 to 16 hexadecimal digits");
  return width >= 64 || *bits >> width == 0 ||
         nxh_expected(r, "more bits than %s has", nxi_dtypes[type].name);
}

/* The C library reads decimals, in the locale of C whatever the program's is. */
static double decimal(const char *text, bool narrow, char **end) {
  static locale_t plain;
  if (plain == (locale_t)0) {
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0), none = (locale_t)0;
    if (!__atomic_compare_exchange_n(&plain, &none, made, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
      freelocale(made);
  }
  if (plain == (locale_t)0) return narrow ? strtof(text, end) : strtod(text, end);
  return narrow ? strtof_l(text, end, plain) : strtod_l(text, end, plain);
}

static bool in_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E';
}

static bool read_float(nxh_reader *r, nx_dtype type, uint64_t *bits) {
  char text[64], *end;
  size_t n = 0;
  nxh_peek(r);
  for (; r->at < r->end && in_number(*r->at); r->at++) {
    if (n + 1 == sizeof text) return nxh_expected(r, "a number of more than 63 characters");
    text[n++] = *r->at;
  }
  text[n] = 0;
  if (n == 0) return nxh_expected(r, "expected a number");
  *bits = nxi_cast_bits(nxi_bits_f64(decimal(text, type == NX_F32, &end)), NX_F64, type);
  return *end == 0 || nxh_expected(r, "%s is no number", text);
}

bool nxh_read_real(nxh_reader *r, double *out) {
  uint64_t bits = 0;
  bool ok = read_float(r, NX_F64, &bits);
  *out = nxi_f64_bits(bits);
  return ok;
}

static bool read_digits(nxh_reader *r, bool *negative, uint64_t *out) {
  uint64_t value = 0;
  *negative = nxh_eat(r, "-");
  if (nxh_peek(r) < '0' || *r->at > '9') return nxh_expected(r, "expected an integer");
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*r->at - '0'), &value))
      return nxh_expected(r, "an integer beyond 64 bits");
  *out = value;
  return true;
}

/* An integer of the type or, as unsigned ones are sometimes written, of its width. */
static bool read_whole(nxh_reader *r, nx_dtype type, uint64_t *bits) {
  bool negative;
  uint64_t value;
  if (!read_digits(r, &negative, &value)) return false;
  *bits = nxi_cast_bits(negative ? 0 - value : value, NX_U64, type);
  uint64_t back = nxi_cast_bits(*bits, type, NX_U64), width = nxi_dtypes[type].bits;
  bool fits = negative ? back == 0 - value : back == value || (width < 64 && value >> width == 0);
  return fits || nxh_expected(r, "an integer that %s has not", nxi_dtypes[type].name);
}

/* An element of a form, as one of its storage. */
static bool read_form(nxh_reader *r, const nxh_form *f, uint64_t *bits) {
  if (nxh_eat(r, "0x") || nxh_eat(r, "0X")) {
    if (!read_bits(r, NX_U64, bits)) return false;
    if (*bits >> f->bits) return nxh_expected(r, "more bits than %s has", f->name);
    return *bits = nxh_form_element(f, *bits), true;
  }
  if (f->kind == NXH_WRAPS) {
    bool negative;
    uint64_t value = 0;
    return read_digits(r, &negative, &value) &&
           (nxh_form_integer(f, negative, value, bits) ||
            nxh_expected(r, "an integer that %s has not", f->name));
  }
  if (!read_float(r, NX_F64, bits)) return false;
  return *bits = nxh_form_bits(f, nxi_f64_bits(*bits)), true;
}

static bool read_real(nxh_reader *r, nx_dtype type, uint64_t *bits) {
  if (type == NX_BOOL) {
    *bits = nxh_eat(r, "true");
    return *bits || nxh_eat(r, "false") || nxh_expected(r, "expected true or false");
  }
  if (nxh_eat(r, "0x") || nxh_eat(r, "0X")) return read_bits(r, type, bits);
  if (nxi_is_integer(type)) return read_whole(r, type, bits);
  return read_float(r, type, bits);
}

static bool put(literal *l, uint64_t bits, nx_dtype type, size_t at) {
  nxi_store_element(l->data + (size_t)l->n * l->size + at, type, bits);
  return true;
}

static bool read_element(literal *l) {
  uint64_t bits = 0, other = 0;
  if (l->n == l->room) return nxh_expected(l->r, "more elements than the type has");
  if (!nxi_is_complex(l->dtype)) {
    if (l->form != NULL ? !read_form(l->r, l->form, &bits) : !read_real(l->r, l->dtype, &bits))
      return false;
    put(l, bits, l->dtype, 0);
  } else {
    if (!nxh_need(l->r, "(") || !read_real(l->r, l->part, &bits) || !nxh_need(l->r, ",") ||
        !read_real(l->r, l->part, &other) || !nxh_need(l->r, ")"))
      return false;
    put(l, bits, l->part, 0);
    put(l, other, l->part, (size_t)nxi_dtype_size(l->part));
  }
  l->n++;
  return true;
}

/* ---- all of them */

/* Lists as deep as the type has axes, each as long as its axis. */
static bool read_list(literal *l, const nxh_type *type, int32_t axis) {
  if (axis == type->rank) return read_element(l);
  if (!nxh_need(l->r, "[")) return false;
  for (int64_t i = 0; i < type->shape[axis]; i++)
    if ((i > 0 && !nxh_need(l->r, ",")) || !read_list(l, type, axis + 1)) return false;
  return nxh_need(l->r, "]");
}

/* Digits of elements, all of them or, where `splat` is not NULL, one for all. Those of a form have
 * whole bytes. */
static bool read_hex_form(literal *l, nxh_word text, int64_t elements, bool *splat) {
  const nxh_form *f = l->form;
  size_t digits = text.length, each = nxh_form_bytes(f), n = (size_t)elements;
  if (splat != NULL && (*splat = digits == 2 * each && elements != 1)) n = 1;
  if (digits % 2 || digits / 2 != n * each || (int64_t)n > l->room)
    return nxh_expected(l->r, "%zu hexadecimal digits for %lld elements of %zu bytes", digits,
                        (long long)elements, each);
  for (size_t i = 0; i < n; i++) {
    uint8_t bytes[8] = {0};
    for (size_t k = 0; k < 2 * each; k++) {
      int digit = nxh_hex_digit(text.at[i * 2 * each + k]);
      if (digit < 0) return nxh_expected(l->r, "what is no hexadecimal digit");
      bytes[k / 2] = (uint8_t)(bytes[k / 2] << 4 | digit);
    }
    nxh_form_unpack(f, bytes, 1, l->data + i * l->size);
  }
  l->n = (int64_t)n;
  return true;
}

/* Bools lie there as bytes or, from MLIR of 2025 and before, as bits, the first one lowest; nibbles
 * as bytes. One byte that is a bool is all of them: of so few the older writers had no
 * hexadecimals. */
static bool read_hex(literal *l, nxh_word text, int64_t elements, bool *splat) {
  const char *at = text.at;
  size_t digits = text.length, bytes = digits / 2, n = (size_t)elements;
  bool one = splat != NULL && bytes == 1 &&
             (memcmp(at, "00", 2) == 0 || memcmp(at, "01", 2) == 0 || memcmp(at, "FF", 2) == 0 ||
              memcmp(at, "ff", 2) == 0);
  bool as_bits = l->dtype == NX_BOOL && bytes == (n + 7) / 8 && !one && (bytes != n || n == 1);
  if (splat != NULL && (*splat = !as_bits && bytes == l->size && elements != 1)) n = 1;
  if (digits % 2 || (int64_t)n > l->room || (!as_bits && bytes != n * l->size))
    return nxh_expected(l->r, "%zu hexadecimal digits for %lld elements of %zu bytes", digits,
                        (long long)elements, l->size);
  for (size_t i = 0; i < bytes; i++) {
    int high = nxh_hex_digit(at[2 * i]), low = nxh_hex_digit(at[2 * i + 1]);
    if (high < 0 || low < 0) return nxh_expected(l->r, "what is no hexadecimal digit");
    unsigned byte = (unsigned)(high * 16 + low);
    if (!as_bits) l->data[i] = (char)(l->dtype == NX_BOOL ? byte != 0 : byte);
    for (size_t bit = 0; as_bits && bit < 8 && i * 8 + bit < n; bit++)
      l->data[i * 8 + bit] = (char)(byte >> bit & 1);
  }
  l->n = (int64_t)n;
  return true;
}

/* Two nibbles in a byte, the even one low. */
static void pack(literal *l) {
  for (int64_t i = 0; i < l->n; i++) {
    uint8_t nibble = (uint8_t)l->data[i] & 15, *to = (uint8_t *)l->data + i / 2;
    *to = i % 2 ? (uint8_t)(*to | nibble << 4) : nibble;
  }
}

/* Of no elements: nothing, lists of nothing, or a number for none. */
static bool read_none(literal *l) {
  while (nxh_eat(l->r, "[") || nxh_eat(l->r, "]") || nxh_eat(l->r, ",")) {}
  if (nxh_peek(l->r) == 0) return true;
  l->room = 1;
  bool ok = read_element(l);
  l->n = 0;
  return ok;
}

static bool read_literal(literal *l, const nxh_type *type, int64_t elements, bool *splat) {
  nxh_reader *r = l->r;
  *splat = false;
  char c = nxh_peek(r);
  if (elements == 0) return read_none(l);
  if (c == '"') {
    nxh_word text;
    if (!nxh_read_string(r, &text)) return false;
    if (text.length <= 2 || memcmp(text.at, "0x", 2) != 0)
      return nxh_expected(r, "expected hexadecimal digits");
    text = (nxh_word){text.at + 2, text.length - 2};
    return l->form != NULL ? read_hex_form(l, text, elements, splat)
                           : read_hex(l, text, elements, splat);
  }
  *splat = c != '[' && type->rank > 0;
  return *splat || c != '[' ? read_element(l) : read_list(l, type, 0);
}

/* The text justifies the memory: an element is a character at least. */
static bool make_room(literal *l, int64_t elements, size_t text) {
  nxh_reader *r = l->r;
  l->part = nxi_part_dtype(l->dtype);
  l->size = (size_t)nxi_dtype_size(l->dtype);
  l->room = elements < (int64_t)text * 8 + 8 ? elements : (int64_t)text * 8 + 8;
  l->data = nxi_arena_alloc(&r->m->arena, (size_t)(l->room > 0 ? l->room : 1) * l->size);
  return l->data != NULL || nxh_no_memory(r);
}

bool nxh_holds_elements(nxh_reader *r, const nxh_type *type) {
  if (type->kind == NXH_TENSOR && type->dtype == 0)
    return nxh_expected(r, "constants of elements of type %.*s are not supported",
                        (int)type->text.length, type->text.at);
  return (type->kind == NXH_TENSOR && nxh_elements(type) >= 0) ||
         nxh_expected(r, "constants of this type are not supported");
}

bool nxh_give_elements(nxh_reader *r, const nxh_type *type, const void *data, size_t bytes,
                       nxh_attr *out) {
  *out = (nxh_attr){.kind = NXH_ELEMENTS};
  out->elements.data = data;
  out->elements.bytes = bytes;
  out->elements.type = nxi_arena_copy(&r->m->arena, type, sizeof *type);
  return out->elements.type != NULL || nxh_no_memory(r);
}

static bool give(nxh_reader *r, literal *l, const nxh_type *type, bool splat, nxh_attr *out) {
  if (nxi_is_nibble(l->dtype)) pack(l);
  bool given = nxh_give_elements(r, type, l->data, (size_t)nxi_dtype_bytes(l->dtype, l->n), out);
  out->splat = splat;
  return given;
}

bool nxh_read_elements(nxh_reader *r, const char *at, const char *end, const nxh_type *type,
                       nxh_attr *out) {
  nxh_reader inside = *r;
  if (!nxh_holds_elements(r, type)) return false;
  int64_t elements = nxh_elements(type);
  literal l = {.r = &inside, .form = type->form, .dtype = type->dtype};
  inside.at = at;
  inside.end = end;
  bool splat = false;
  if (!make_room(&l, elements, (size_t)(end - at))) return false;
  return read_literal(&l, type, elements, &splat) &&
         (nxh_peek(&inside) == 0 || nxh_expected(&inside, "expected the end of the elements")) &&
         give(r, &l, type, splat, out);
}

bool nxh_read_digits(nxh_reader *r, nxh_word digits, const nxh_type *type, nxh_attr *out) {
  int64_t elements = nxh_elements(type);
  literal l = {.r = r, .form = type->form, .dtype = type->dtype};
  return make_room(&l, elements, digits.length) &&
         (l.form != NULL ? read_hex_form(&l, digits, elements, NULL)
                         : read_hex(&l, digits, elements, NULL)) &&
         give(r, &l, type, false, out);
}
