/* SPDX-License-Identifier: ISC */
/* Types of a portable artifact, each read when it is first asked for: all of vhlo, and what
 * operations of other dialects have of `builtin` and of `stablehlo`. */
#include <string.h>

#include "bytecode.h"
#include "ir/dtype.h"

enum { MOST_NESTED = 64 };

/* One row a scalar type of vhlo: its code. */
static const struct {
  uint8_t code;
  nx_dtype dtype; /* 0: none here, but there may be a form (forms.h) */
  const char *name;
} scalars[] = {
    {0, NX_BOOL, "i1"},
    {2, NX_BF16, "bf16"},
    {3, NX_F16, "f16"},
    {4, NX_F32, "f32"},
    {5, NX_F64, "f64"},
    {6, NX_F8E4M3, "f8E4M3FN"},
    {7, NX_F8E5M2, "f8E5M2"},
    {9, NX_I64, "index"},
    {10, NX_I4, "i4"},
    {11, NX_I8, "i8"},
    {12, NX_I16, "i16"},
    {13, NX_I32, "i32"},
    {14, NX_I64, "i64"},
    {15, NX_U4, "ui4"},
    {16, NX_U8, "ui8"},
    {17, NX_U16, "ui16"},
    {18, NX_U32, "ui32"},
    {19, NX_U64, "ui64"},
    {27, NX_F8E4M3FNUZ, "f8E4M3FNUZ"},
    {28, NX_F8E5M2FNUZ, "f8E5M2FNUZ"},
    {29, 0, "f8E4M3B11FNUZ"},
    {31, 0, "i2"},
    {32, 0, "ui2"},
    {33, 0, "none"},
    {34, 0, "tf32"},
    {35, 0, "f8E4M3"},
    {36, 0, "f8E3M4"},
    {37, NX_F4E2M1, "f4E2M1FN"},
    {38, 0, "f6E2M3FN"},
    {39, 0, "f6E3M2FN"},
    {40, NX_F8E8M0, "f8E8M0FNU"},
};

enum type_code {
  COMPLEX = 1,
  FUNCTION = 8,
  TENSOR = 20,
  TENSOR_WITH_ENCODING = 21,
  TOKEN = 22,
  TUPLE = 23,
  QUANTIZED = 24,
  QUANTIZED_PER_AXIS = 30,
  LAST_TYPE = 42
};

static bool scalar_type(uint64_t code, nxh_type *out) {
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
    if (scalars[i].code != code) continue;
    const char *name = scalars[i].name;
    out->form = nxh_find_form(name, strlen(name));
    out->dtype = out->form != NULL ? out->form->storage : scalars[i].dtype;
    out->index = code == 9;
    out->text = nxh_word_of(name);
    return true;
  }
  return false;
}

static bool read_complex(nxh_artifact *a, nxh_bytes *b, nxh_type *out) {
  nxh_type part = {0};
  if (!nxh_read_type_number(a, b, &part)) return false;
  bool plain = part.form == NULL;
  out->dtype = plain && part.dtype == NX_F32 ? NX_C64 : part.dtype == NX_F64 ? NX_C128 : 0;
  out->text = nxh_word_of("complex");
  return true;
}

static bool read_shape(nxh_artifact *a, nxh_bytes *b, const int64_t **shape, int32_t *rank) {
  uint32_t n;
  if (!nxh_count(a, b, &n)) return false;
  if (n > NX_MAX_RANK) return nxh_malformed(a, b, "a tensor of rank %u", n);
  int64_t *to = nxh_room(a, n, sizeof *to);
  if (to == NULL) return false;
  for (uint32_t i = 0; i < n; i++) {
    if (!nxh_svarint(a, b, &to[i])) return false;
    if (to[i] < 0) to[i] = NXH_DYNAMIC;
  }
  *shape = to;
  *rank = (int32_t)n;
  return true;
}

static bool read_tensor(nxh_artifact *a, nxh_bytes *b, bool encoded, nxh_type *out) {
  nxh_attr encoding = {0};
  nxh_type element;
  out->kind = NXH_TENSOR;
  if ((encoded && !nxh_read_attr_number(a, b, &encoding)) ||
      !read_shape(a, b, &out->shape, &out->rank) || !nxh_read_type_number(a, b, &element))
    return false;
  out->dtype = element.dtype;
  out->index = element.index;
  out->text = element.text;
  out->quant = element.quant;
  out->form = element.form;
  return nxh_make_real(a->m, out) || (nxi_oom(a->d), false);
}

/* ---- quantized types */

/* The unsigned type of a width, as which storage without flag 1 is meant. */
static nx_dtype unsigned_of(nx_dtype t) {
  return t == NX_I4 ? NX_U4 : t == NX_I8 ? NX_U8 : t == NX_I16 ? NX_U16 : t == NX_I32 ? NX_U32 : t;
}

static bool read_scale(nxh_artifact *a, nxh_bytes *b, double *out) {
  int64_t bits;
  if (!nxh_svarint(a, b, &bits)) return false;
  *out = nxi_f64_bits((uint64_t)bits);
  return true;
}

static bool read_limits(nxh_artifact *a, nxh_bytes *b, nxh_quant *q) {
  return nxh_svarint(a, b, &q->min) && nxh_svarint(a, b, &q->max);
}

/* The scales of an axis, then as many zero points. */
static bool read_scales(nxh_artifact *a, nxh_bytes *b, nxh_quant *q, double **scales,
                        int64_t **zeros) {
  uint32_t m;
  if (!nxh_number_below(a, b, NX_MAX_RANK, "axes", &m)) return false;
  q->axis = (int32_t)m;
  if (!read_limits(a, b, q) || !nxh_count(a, b, &q->n) ||
      (*scales = nxh_room(a, q->n, sizeof **scales)) == NULL)
    return false;
  for (uint32_t i = 0; i < q->n; i++)
    if (!read_scale(a, b, &(*scales)[i])) return false;
  if (!nxh_count(a, b, &m) || (*zeros = nxh_room(a, m, sizeof **zeros)) == NULL) return false;
  for (uint32_t i = 0; i < m; i++)
    if (!nxh_svarint(a, b, &(*zeros)[i])) return false;
  return m == q->n || nxh_malformed(a, b, "%u scales and %u zero points", q->n, m);
}

static bool read_quant(nxh_artifact *a, nxh_bytes *b, bool has_axis, nxh_type *out) {
  nxh_quant *q = nxh_room(a, 1, sizeof *q);
  double *scales = nxh_room(a, 1, sizeof *scales);
  int64_t *zeros = nxh_room(a, 1, sizeof *zeros);
  nxh_type storage = {0}, expressed = {0};
  uint64_t flags;
  if (q == NULL || scales == NULL || zeros == NULL || !nxh_varint(a, b, &flags) ||
      !nxh_read_type_number(a, b, &storage) || !nxh_read_type_number(a, b, &expressed))
    return false;
  if (storage.form != NULL || expressed.form != NULL)
    return nxh_malformed(a, b, "a quantized type between types that it cannot have");
  *q = (nxh_quant){.expressed = expressed.dtype, .axis = -1, .n = 1};
  bool ok = has_axis ? read_scales(a, b, q, &scales, &zeros)
                     : read_scale(a, b, scales) && nxh_svarint(a, b, zeros) && read_limits(a, b, q);
  if (!ok) return false;
  q->scales = scales;
  q->zeros = zeros;
  out->text = nxh_word_of("!quant.uniform");
  out->dtype = flags & 1 ? storage.dtype : unsigned_of(storage.dtype);
  out->quant = q;
  const char *bad = nxh_bad_quant(q, out->dtype);
  return bad == NULL || nxh_malformed(a, b, "%s", bad);
}

static bool read_type_list(nxh_artifact *a, nxh_bytes *b, const nxh_type **out, uint32_t *n) {
  if (!nxh_count(a, b, n)) return false;
  nxh_type *types = nxh_room(a, *n, sizeof *types);
  if (types == NULL) return false;
  for (uint32_t i = 0; i < *n; i++)
    if (!nxh_read_type_number(a, b, &types[i])) return false;
  *out = types;
  return true;
}

/* Of a function only the results are kept: its arguments are those of its block. */
static bool read_vhlo_type(nxh_artifact *a, nxh_bytes *b, nxh_type *out) {
  uint64_t code;
  const nxh_type *ignored;
  uint32_t n;
  if (!nxh_varint(a, b, &code)) return false;
  out->kind = NXH_OTHER;
  if (scalar_type(code, out)) return true;
  switch (code) {
    case COMPLEX: return read_complex(a, b, out);
    case FUNCTION:
      return read_type_list(a, b, &ignored, &n) && read_type_list(a, b, &out->tuple, &out->n_tuple);
    case TENSOR: return read_tensor(a, b, false, out);
    case TENSOR_WITH_ENCODING: return read_tensor(a, b, true, out);
    case TOKEN: out->kind = NXH_TOKEN; return true;
    case TUPLE: out->kind = NXH_TUPLE; return read_type_list(a, b, &out->tuple, &out->n_tuple);
    case QUANTIZED:
    case QUANTIZED_PER_AXIS: return read_quant(a, b, code == QUANTIZED_PER_AXIS, out);
    default:
      out->text = nxh_word_of("a kind that is not supported");
      return code <= LAST_TYPE ||
             nxh_malformed(a, b, "type %llu of vhlo is not known", (unsigned long long)code);
  }
}

/* Types of builtin, which operations of other dialects than vhlo have: integers, with their width
 * and in the lowest bits whether they have a sign, floats, complex numbers, and tensors. */
static nx_dtype builtin_integer(uint64_t encoding) {
  bool without = (encoding & 3) == 2;
  switch (encoding >> 2) {
    case 1: return NX_BOOL;
    case 4: return without ? NX_U4 : NX_I4;
    case 8: return without ? NX_U8 : NX_I8;
    case 16: return without ? NX_U16 : NX_I16;
    case 32: return without ? NX_U32 : NX_I32;
    case 64: return without ? NX_U64 : NX_I64;
    default: return 0;
  }
}

static bool read_builtin_type(nxh_artifact *a, nxh_bytes *b, nxh_type *out) {
  enum { INTEGER, INDEX, BF16 = 3, F16, F32, F64, IS_COMPLEX = 9, RANKED = 13 };
  uint64_t code, encoding;
  if (!nxh_varint(a, b, &code)) return false;
  out->kind = NXH_OTHER;
  out->text = nxh_word_of("a type of builtin");
  switch (code) {
    case INTEGER:
      if (!nxh_varint(a, b, &encoding)) return false;
      out->dtype = builtin_integer(encoding);
      return true;
    case INDEX:
      out->dtype = NX_I64;
      out->index = true;
      return true;
    case BF16: out->dtype = NX_BF16; return true;
    case F16: out->dtype = NX_F16; return true;
    case F32: out->dtype = NX_F32; return true;
    case F64: out->dtype = NX_F64; return true;
    case IS_COMPLEX: return read_complex(a, b, out);
    case RANKED: return read_tensor(a, b, false, out);
    default: return true;
  }
}

/* Of stablehlo, between operations of sdy, there are tokens. */
static bool read_stablehlo_type(nxh_artifact *a, nxh_bytes *b, nxh_type *out) {
  uint64_t code;
  if (!nxh_varint(a, b, &code)) return false;
  out->kind = code == 0 ? NXH_TOKEN : NXH_OTHER;
  out->text = nxh_word_of("a type of stablehlo");
  return true;
}

bool nxh_nested(nxh_artifact *a, nxh_entry *e) {
  if (e->open || a->depth == MOST_NESTED)
    return nxh_malformed(a, &e->bytes, "attributes and types that contain each other");
  e->open = true;
  a->depth++;
  return true;
}

void nxh_unnest(nxh_artifact *a, nxh_entry *e) {
  e->open = false;
  a->depth--;
}

bool nxh_get_type(nxh_artifact *a, nxh_bytes *b, uint32_t number, nxh_type *out) {
  if (number >= a->n_types) return nxh_malformed(a, b, "there are %u types", a->n_types);
  nxh_entry *e = &a->entries[a->n_attrs + number];
  if (!e->done) {
    nxh_type type = {.kind = NXH_OTHER,
                     .text = {(const char *)e->bytes.at, (uint32_t)(e->bytes.end - e->bytes.at)}};
    nxh_bytes bytes = e->bytes;
    if (!nxh_nested(a, e)) return false;
    bool ok = true;
    if (e->custom && nxh_is_dialect(a, e->dialect, "vhlo")) {
      type = (nxh_type){0};
      ok = read_vhlo_type(a, &bytes, &type);
    } else if (e->custom && nxh_is_dialect(a, e->dialect, "builtin")) {
      ok = read_builtin_type(a, &bytes, &type);
    } else if (e->custom && nxh_is_dialect(a, e->dialect, "stablehlo")) {
      ok = read_stablehlo_type(a, &bytes, &type);
    }
    nxh_unnest(a, e);
    if (!ok) return false;
    a->types[number] = type;
    e->done = true;
  }
  *out = a->types[number];
  return true;
}

bool nxh_read_type_number(nxh_artifact *a, nxh_bytes *b, nxh_type *out) {
  uint32_t number;
  return nxh_number_below(a, b, a->n_types, "types", &number) && nxh_get_type(a, b, number, out);
}
