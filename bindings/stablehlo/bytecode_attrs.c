/* SPDX-License-Identifier: ISC */
/* Attributes of a portable artifact, each read when it is first asked for. Of the
 * dialect vhlo all that the readers here want; of `builtin` strings, dictionaries, lists and
 * integers, which attributes beside an operation's own are made of; all others, locations among
 * them, are opaque. */
#include <string.h>

#include "bytecode.h"
#include "ir/dtype.h"

/* ---- numbers */

static uint64_t low_bits(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

/* As bytes up to 8 bits, else as signed varints. */
static bool read_bits(nxh_artifact *a, nxh_bytes *b, unsigned bits, uint64_t *out) {
  uint8_t byte;
  int64_t value;
  if (bits > 64) return nxh_malformed(a, b, "a number of %u bits", bits);
  if (bits <= 8) {
    if (!nxh_byte(a, b, &byte)) return false;
    *out = byte;
    return true;
  }
  if (!nxh_svarint(a, b, &value)) return false;
  *out = low_bits((uint64_t)value, bits);
  return true;
}

/* A float is kept as one element, so that none of its bits is lost. */
static bool read_number(nxh_artifact *a, nxh_bytes *b, bool real, nxh_attr *out) {
  nxh_type type, *kept;
  uint64_t bits = 0;
  void *data;
  if (!nxh_read_type_number(a, b, &type)) return false;
  if (type.dtype == 0 || type.form != NULL)
    return nxh_malformed(a, b, "a number of a type that is not supported");
  if (!read_bits(a, b, nxi_dtypes[type.dtype].bits, &bits)) return false;
  *out = (nxh_attr){.kind = NXH_INT};
  if (!real) {
    nx_dtype wide = nxi_is_signed(type.dtype) ? NX_I64 : NX_U64;
    if (nxi_is_nibble(type.dtype) && nxi_is_signed(type.dtype) && bits & 8) bits |= 0xf0;
    out->integer = (int64_t)nxi_cast_bits(bits, type.dtype, wide);
    return true;
  }
  kept = nxh_room(a, 1, sizeof *kept);
  data = nxh_room(a, 1, 16);
  if (kept == NULL || data == NULL) return false;
  *kept = (nxh_type){.kind = NXH_TENSOR, .dtype = type.dtype};
  nxi_store_element(data, type.dtype, bits);
  out->kind = NXH_ELEMENTS;
  out->elements.type = kept;
  out->elements.data = data;
  out->elements.bytes = (size_t)nxi_dtype_size(type.dtype);
  return true;
}

/* ---- elements */

/* Bools are bits, the first one lowest; one byte of ones, or none, may stand for all. */
static bool unpack_bools(nxh_artifact *a, nxh_bytes blob, int64_t n, nxh_attr *out) {
  size_t bytes = (size_t)(blob.end - blob.at);
  bool bits = bytes == ((size_t)n + 7) / 8 && bytes != (size_t)n;
  if (bytes == 1 && n != 1 && (blob.at[0] == 255 || !bits)) {
    out->splat = n > 1;
    n = 1;
  } else if (!bits && bytes != (size_t)n) {
    return nxh_malformed(a, &blob, "%zu bytes for %lld bools", bytes, (long long)n);
  }
  uint8_t *to = nxh_room(a, (size_t)n, 1);
  if (to == NULL) return false;
  for (int64_t i = 0; i < n; i++)
    to[i] = bits && !out->splat ? blob.at[i / 8] >> (i % 8) & 1
                                : blob.at[i < (int64_t)bytes ? i : 0] != 0;
  out->elements.data = to;
  out->elements.bytes = (size_t)n;
  return true;
}

/* Nibbles have a byte each there. */
static bool pack_nibbles(nxh_artifact *a, nxh_bytes blob, nxh_attr *out) {
  size_t n = (size_t)(blob.end - blob.at);
  uint8_t *to = nxh_room(a, (n + 1) / 2, 1);
  if (to == NULL) return false;
  for (size_t i = 0; i < n; i++) to[i / 2] |= (uint8_t)((blob.at[i] & 15) << (i % 2 * 4));
  out->elements.data = to;
  out->elements.bytes = (n + 1) / 2;
  return true;
}

static bool unpack_form(nxh_artifact *a, const nxh_form *f, nxh_bytes blob, size_t n,
                        nxh_attr *out) {
  size_t bytes = (size_t)nxi_dtype_bytes(f->storage, (int64_t)n);
  uint8_t *to = nxh_room(a, bytes, 1);
  if (to == NULL) return false;
  nxh_form_unpack(f, blob.at, n, to);
  out->elements.data = to;
  out->elements.bytes = bytes;
  return true;
}

static bool read_elements(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  nxh_type *type = nxh_room(a, 1, sizeof *type);
  uint64_t size;
  nxh_bytes blob;
  if (type == NULL || !nxh_read_type_number(a, b, type) || !nxh_varint(a, b, &size) ||
      !nxh_split(a, b, size, &blob))
    return false;
  int64_t n = type->kind == NXH_TENSOR ? nxh_elements(type) : -1;
  if (type->kind == NXH_TENSOR && type->dtype == 0)
    return nxh_malformed(a, b, "constants of elements of type %.*s are not supported",
                         (int)type->text.length, type->text.at);
  if (n < 0) return nxh_malformed(a, b, "constants of this type are not supported");
  *out = (nxh_attr){.kind = NXH_ELEMENTS};
  out->elements.type = type;
  if (type->dtype == NX_BOOL) return unpack_bools(a, blob, n, out);
  uint64_t one = (uint64_t)nxi_dtype_size(type->dtype);
  if (type->form != NULL) one = nxh_form_bytes(type->form);
  out->splat = size == one && n > 1;
  if (n == 0) blob.end = blob.at, size = 0; /* one may be there for none */
  if (!out->splat && (uint64_t)n != size / one)
    return nxh_malformed(a, b, "%llu bytes for %lld elements", (unsigned long long)size,
                         (long long)n);
  if (size % one) return nxh_malformed(a, b, "%llu bytes of elements", (unsigned long long)size);
  if (nxi_is_nibble(type->dtype)) return pack_nibbles(a, blob, out);
  if (type->form != NULL) return unpack_form(a, type->form, blob, size / one, out);
  out->elements.data = blob.at;
  out->elements.bytes = size;
  return true;
}

/* ---- attributes */

static bool read_attr_list(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  uint32_t n;
  if (!nxh_count(a, b, &n)) return false;
  nxh_attr *items = nxh_room(a, n, sizeof *items);
  if (items == NULL) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!nxh_read_attr_number(a, b, &items[i])) return false;
  *out = (nxh_attr){.kind = NXH_LIST};
  out->list.items = items;
  out->list.n = n;
  return true;
}

/* Pairs of a string and an attribute. */
static bool read_dictionary(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  uint32_t n;
  nxh_attr name = {0};
  if (!nxh_count(a, b, &n)) return false;
  nxh_named *items = nxh_room(a, n, sizeof *items);
  if (items == NULL) return false;
  for (uint32_t i = 0; i < n; i++) {
    if (!nxh_read_attr_number(a, b, &name) || !nxh_read_attr_number(a, b, &items[i].value))
      return false;
    if (name.kind != NXH_STRING) return nxh_malformed(a, b, "the name of an attribute");
    items[i].name = name.word;
  }
  *out = (nxh_attr){.kind = NXH_DICT};
  out->dict.items = items;
  out->dict.n = n;
  return true;
}

static bool read_string(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  *out = (nxh_attr){.kind = NXH_STRING};
  return nxh_read_string_number(a, b, &out->word);
}

static bool read_type_attr(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  nxh_type *type = nxh_room(a, 1, sizeof *type);
  if (type == NULL || !nxh_read_type_number(a, b, type)) return false;
  *out = (nxh_attr){.kind = NXH_TYPE};
  out->type = type;
  return true;
}

static bool read_enum(nxh_artifact *a, nxh_bytes *b, uint32_t kind, nxh_attr *out) {
  uint64_t value;
  if (!nxh_varint(a, b, &value)) return false;
  const char *name = nxh_vhlo_enum(kind, value);
  if (name == NULL)
    return nxh_malformed(a, b, "enumerator %llu is not known", (unsigned long long)value);
  *out = (nxh_attr){.kind = NXH_NAME};
  out->word = nxh_word_of(name);
  return true;
}

static bool opaque(nxh_bytes *b, nxh_attr *out) {
  *out = (nxh_attr){.kind = NXH_OPAQUE};
  out->word = (nxh_word){(const char *)b->at, (uint32_t)(b->end - b->at)};
  return true;
}

static bool read_vhlo_attr(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  uint64_t code, value;
  if (!nxh_varint(a, b, &code)) return false;
  switch (code) {
    case 1: return read_attr_list(a, b, out);
    case 2:
      *out = (nxh_attr){.kind = NXH_BOOL};
      if (!nxh_varint(a, b, &value)) return false;
      out->integer = value != 0;
      return true;
    case 3:
    case 4:
    case 5:
    case 7:
    case 11:
    case 12:
    case 13:
    case 16: return read_enum(a, b, (uint32_t)code, out);
    case 6: return read_dictionary(a, b, out);
    case 8: return read_number(a, b, true, out);
    case 9: return read_number(a, b, false, out);
    case 14: return read_string(a, b, out);
    case 15: return read_elements(a, b, out);
    case 17: return read_type_attr(a, b, out);
    default:
      if (code > 25)
        return nxh_malformed(a, b, "attribute %llu of vhlo is not known", (unsigned long long)code);
      return opaque(b, out);
  }
}

/* @name */
static bool read_symbol(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  if (!nxh_read_attr_number(a, b, out)) return false;
  if (out->kind != NXH_STRING) return nxh_malformed(a, b, "the name of a symbol");
  out->kind = NXH_SYMBOL;
  return true;
}

static bool read_builtin_attr(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  enum { ARRAY, DICTIONARY, STRING, TYPED_STRING, FLAT_SYMBOL, UNIT = 7, INTEGER = 8 };
  uint64_t code;
  if (!nxh_varint(a, b, &code)) return false;
  switch (code) {
    case ARRAY: return read_attr_list(a, b, out);
    case DICTIONARY: return read_dictionary(a, b, out);
    case STRING: return read_string(a, b, out);
    case FLAT_SYMBOL: return read_symbol(a, b, out);
    case UNIT: *out = (nxh_attr){.kind = NXH_UNIT}; return true;
    default: return opaque(b, out);
  }
}

/* ---- of Shardy, as lists: a mesh of its axes and its devices, an axis of its name and its size,
 * a sharding of its mesh, its dimensions, the axes along which it is whole and, if there are any,
 * those along which it is unreduced, a dimension of its axes' names and, if it may be divided
 * further, a unit. What else there is, as parts of axes, is opaque. */

static bool read_list_of(nxh_artifact *a, uint32_t n, nxh_attr **items, nxh_attr *out) {
  *items = nxh_room(a, n, sizeof **items);
  *out = (nxh_attr){.kind = NXH_LIST};
  out->list.items = *items;
  out->list.n = n;
  return *items != NULL;
}

static bool read_pair(nxh_artifact *a, nxh_attr **items, nxh_attr *out) {
  return read_list_of(a, 2, items, out);
}

static bool read_integer_list(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  uint32_t n;
  if (!nxh_count(a, b, &n)) return false;
  nxh_attr *items = nxh_room(a, n, sizeof *items);
  if (items == NULL) return false;
  for (uint32_t i = 0; i < n; i++) {
    items[i].kind = NXH_INT;
    if (!nxh_svarint(a, b, &items[i].integer)) return false;
  }
  *out = (nxh_attr){.kind = NXH_LIST};
  out->list.items = items;
  out->list.n = n;
  return true;
}

static bool read_axis(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  nxh_attr *items;
  if (!read_pair(a, &items, out) || !read_string(a, b, &items[0])) return false;
  items[1].kind = NXH_INT;
  return nxh_svarint(a, b, &items[1].integer);
}

static bool read_axis_name(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  uint64_t part;
  if (!read_string(a, b, out) || !nxh_varint(a, b, &part)) return false;
  return !(part & 1) || opaque(b, out);
}

/* What were behind the axes would change the meaning of these. */
static bool read_sharding(nxh_artifact *a, nxh_bytes *b, bool unreduced, nxh_attr *out) {
  nxh_attr *items;
  if (!read_list_of(a, unreduced ? 4 : 3, &items, out) || !nxh_read_attr_number(a, b, &items[0]))
    return false;
  for (uint32_t i = 1; i < out->list.n; i++)
    if (!read_attr_list(a, b, &items[i])) return false;
  return !unreduced || b->at == b->end || opaque(b, out);
}

static bool read_dimension(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  nxh_attr axes, *items;
  uint8_t closed;
  if (!read_attr_list(a, b, &axes) || !nxh_byte(a, b, &closed)) return false;
  if (closed != 0) {
    *out = axes;
    return true;
  }
  if (!read_list_of(a, axes.list.n + 1, &items, out)) return false;
  if (axes.list.n > 0) memcpy(items, axes.list.items, axes.list.n * sizeof *items);
  items[axes.list.n] = (nxh_attr){.kind = NXH_UNIT};
  return true;
}

static bool read_placement(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  enum { MANUAL_AXES, AXIS, MESH, AXIS_NAME = 4, DIMENSION, SHARDING, SHARDINGS };
  enum { UNREDUCED = 15, SOME_UNREDUCED };
  uint64_t code;
  nxh_attr *items;
  if (!nxh_varint(a, b, &code)) return false;
  switch (code) {
    case DIMENSION: return read_dimension(a, b, out);
    case MANUAL_AXES:
    case SHARDINGS:
    case SOME_UNREDUCED: return read_attr_list(a, b, out);
    case AXIS: return read_axis(a, b, out);
    case MESH:
      return read_pair(a, &items, out) && read_attr_list(a, b, &items[0]) &&
             read_integer_list(a, b, &items[1]);
    case AXIS_NAME: return read_axis_name(a, b, out);
    case SHARDING:
    case UNREDUCED: return read_sharding(a, b, code == UNREDUCED, out);
    default: return opaque(b, out);
  }
}

static bool read_attr(nxh_artifact *a, const nxh_entry *e, nxh_attr *out) {
  nxh_bytes b = e->bytes;
  if (e->custom && nxh_is_dialect(a, e->dialect, "vhlo")) return read_vhlo_attr(a, &b, out);
  if (e->custom && nxh_is_dialect(a, e->dialect, "builtin")) return read_builtin_attr(a, &b, out);
  if (e->custom && nxh_is_dialect(a, e->dialect, "sdy")) return read_placement(a, &b, out);
  return opaque(&b, out);
}

bool nxh_get_attr(nxh_artifact *a, nxh_bytes *b, uint32_t number, nxh_attr *out) {
  if (number >= a->n_attrs) return nxh_malformed(a, b, "there are %u attributes", a->n_attrs);
  nxh_entry *e = &a->entries[number];
  if (!e->done) {
    if (!nxh_nested(a, e)) return false;
    bool ok = read_attr(a, e, &a->attrs[number]);
    nxh_unnest(a, e);
    if (!ok) return false;
    e->done = true;
  }
  *out = a->attrs[number];
  return true;
}

bool nxh_read_attr_number(nxh_artifact *a, nxh_bytes *b, nxh_attr *out) {
  uint32_t number;
  return nxh_number_below(a, b, a->n_attrs, "attributes", &number) &&
         nxh_get_attr(a, b, number, out);
}

bool nxh_function_type(nxh_artifact *a, const nxh_attr *type, const nxh_type **results,
                       uint32_t *n_results) {
  (void)a;
  if (type == NULL || type->kind != NXH_TYPE || type->type->kind != NXH_OTHER) return false;
  *results = type->type->tuple;
  *n_results = type->type->n_tuple;
  return true;
}
