/* SPDX-License-Identifier: ISC */
/* The header of a .safetensors file: its length in 8 bytes, an object of JSON, then the elements.
 * The parser accepts only the objects of such a header, so nothing can nest deeper than they do. It
 * refuses what the format forbids: names that are given twice, elements that overlap or leave a
 * hole, a size that is not that of the shape. */
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "safetensors.h"

static const nxi_safetensors_type types[] = {
    {"BOOL", NX_BOOL, 8},
    {"U8", NX_U8, 8},
    {"I8", NX_I8, 8},
    {"F8_E4M3", NX_F8E4M3, 8},
    {"F8_E5M2", NX_F8E5M2, 8},
    {"U16", NX_U16, 16},
    {"I16", NX_I16, 16},
    {"F16", NX_F16, 16},
    {"BF16", NX_BF16, 16},
    {"U32", NX_U32, 32},
    {"I32", NX_I32, 32},
    {"F32", NX_F32, 32},
    {"U64", NX_U64, 64},
    {"I64", NX_I64, 64},
    {"F64", NX_F64, 64},
    {"C64", NX_C64, 64},
    {"F8_E8M0", NX_F8E8M0, 8},
    {"F8_E4M3FNUZ", NX_F8E4M3FNUZ, 8},
    {"F8_E5M2FNUZ", NX_F8E5M2FNUZ, 8},
    {"F4", NX_F4E2M1, 4},
    {"F6_E2M3", 0, 6},
    {"F6_E3M2", 0, 6},
};
enum { TYPES = sizeof types / sizeof *types };

const char *nxi_safetensors_name(nx_dtype dtype) {
  for (int i = 0; i < TYPES; i++)
    if (types[i].dtype && types[i].dtype == dtype) return types[i].name;
  return NULL;
}

typedef struct cursor {
  nx_archive *a;
  const char *start;    /* of the file */
  const char *at, *end; /* of the header */
  nxi_diag *d;
} cursor;

static nx_status bad(cursor *c, const char *at, const char *sentence) {
  return nxi_archive_bad(c->d, NX_PARSE, at - c->start, "%s", sentence);
}

/* ---- JSON */

static void skip_space(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
    c->at++;
}

static bool take(cursor *c, char character) {
  skip_space(c);
  if (c->at >= c->end || *c->at != character) return false;
  c->at++;
  return true;
}

static nx_status expect(cursor *c, char character, const char *sentence) {
  return take(c, character) ? NX_OK : bad(c, c->at, sentence);
}

/* The length of a well-formed UTF-8 character, 0 if it is none. */
static int utf8(const uint8_t *p, const uint8_t *end) {
  static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
  int n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;
  if (n < 2 || end - p < n) return n == 1 ? 1 : 0;
  uint32_t value = *p & (0x7fu >> n);
  for (int i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
    value = value << 6 | (p[i] & 0x3f);
  }
  bool good = value >= lowest[n] && value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
  return good ? n : 0;
}

bool nxi_utf8_valid(const char *text) {
  const uint8_t *p = (const uint8_t *)text, *end = p + strlen(text);
  for (int n; p < end; p += n)
    if (!(n = utf8(p, end))) return false;
  return true;
}

/* Four hexadecimal digits; -1 if they are not there. */
static int32_t hex4(const cursor *c) {
  int32_t value = 0;
  if (c->end - c->at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    char x = c->at[i];
    int digit = x >= '0' && x <= '9'   ? x - '0'
                : x >= 'a' && x <= 'f' ? x - 'a' + 10
                : x >= 'A' && x <= 'F' ? x - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static char *put_utf8(char *out, uint32_t value) {
  if (value < 0x80) return *out = (char)value, out + 1;
  int n = value < 0x800 ? 2 : value < 0x10000 ? 3 : 4;
  for (int i = n; --i > 0; value >>= 6) out[i] = (char)(0x80 | (value & 0x3f));
  *out = (char)((0xf00u >> n & 0xf0) | value);
  return out + n;
}

/* What follows \u, one or two units of it. */
static nx_status take_unit(cursor *c, char **out) {
  int32_t unit = hex4(c);
  const char *begin = c->at - 2;
  if (unit <= 0) return bad(c, begin, "four hexadecimal digits, not all 0, are expected");
  c->at += 4;
  uint32_t value = (uint32_t)unit;
  if (unit >= 0xd800 && unit <= 0xdfff) {
    bool pair = c->end - c->at >= 2 && c->at[0] == '\\' && c->at[1] == 'u' && unit < 0xdc00;
    c->at += pair ? 2 : 0;
    int32_t second = pair ? hex4(c) : -1;
    if (second < 0xdc00 || second > 0xdfff) return bad(c, begin, "half of a surrogate pair");
    c->at += 4;
    value = 0x10000 + ((value - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
  }
  *out = put_utf8(*out, value);
  return NX_OK;
}

static nx_status take_escape(cursor *c, char **out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (c->at >= c->end) return bad(c, c->at, "the string does not end");
  char x = *c->at++;
  if (x == 'u') return take_unit(c, out);
  const char *found = x ? strchr(from, x) : NULL;
  if (!found) return bad(c, c->at - 1, "there is no such escape");
  *(*out)++ = to[found - from];
  return NX_OK;
}

/* A string, decoded, in the arena; nothing decodes to more bytes than it takes. */
static nx_status take_string(cursor *c, const char **text) {
  if (expect(c, '"', "a string is expected")) return c->d->status;
  const char *begin = c->at, *close = begin;
  while (close < c->end && *close != '"') close += *close == '\\' ? 2 : 1;
  if (close >= c->end) return bad(c, c->end, "the string does not end");
  char *out = nxi_arena_alloc(&c->a->arena, (size_t)(close - begin) + 1);
  if (!out) return nxi_oom(c->d);
  *text = out;
  while (c->at < close) {
    const uint8_t *p = (const uint8_t *)c->at;
    int n = utf8(p, (const uint8_t *)close);
    if (*p < 0x20) return bad(c, c->at, "a control character in a string");
    if (!n) return bad(c, c->at, "the string is not UTF-8");
    c->at += n;
    if (*p != '\\') {
      memcpy(out, p, (size_t)n);
      out += n;
    } else if (take_escape(c, &out)) {
      return c->d->status;
    }
  }
  *out = 0;
  c->at = close + 1;
  return NX_OK;
}

/* A whole number, not negative. */
static nx_status take_number(cursor *c, int64_t *value) {
  skip_space(c);
  const char *begin = c->at;
  *value = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    int digit = *c->at - '0';
    if (*value > (INT64_MAX - digit) / 10) return bad(c, begin, "the number is too large");
    *value = *value * 10 + digit;
  }
  if (c->at == begin || (*begin == '0' && c->at - begin > 1))
    return bad(c, begin, "a number without sign and leading zeros is expected");
  return NX_OK;
}

/* "{" items "}" or "[" items "]", with commas between; returns true while there is another item. */
static bool next_item(cursor *c, char close, bool *first) {
  if (take(c, close)) return false;
  if (!*first && expect(c, ',', "a comma or the end of the list is expected")) return false;
  *first = false;
  return true;
}

/* ---- the objects of a header */

static nx_status take_type(cursor *c, nxi_entry *e, int *bits) {
  skip_space(c);
  const char *begin = c->at;
  if (take_string(c, &e->type)) return c->d->status;
  for (int i = 0; i < TYPES; i++) {
    if (strcmp(e->type, types[i].name) != 0) continue;
    e->dtype = types[i].dtype;
    *bits = types[i].bits;
    return NX_OK;
  }
  return bad(c, begin, "there is no such element type");
}

static nx_status take_shape(cursor *c, nxi_entry *e) {
  int64_t extents[NX_MAX_RANK];
  if (expect(c, '[', "a shape is expected")) return c->d->status;
  for (bool first = true; next_item(c, ']', &first);) {
    if (e->rank == NX_MAX_RANK) return bad(c, c->at, "there are more than 32 extents");
    if (take_number(c, &extents[e->rank++])) return c->d->status;
  }
  if (c->d->status) return c->d->status;
  e->shape = nxi_arena_copy(&c->a->arena, extents, (size_t)e->rank * sizeof *extents);
  return e->shape ? NX_OK : nxi_oom(c->d);
}

static nx_status take_offsets(cursor *c, nxi_entry *e) {
  int64_t end;
  skip_space(c);
  const char *begin = c->at;
  if (expect(c, '[', "two offsets are expected") || take_number(c, &e->offset) ||
      expect(c, ',', "a second offset is expected") || take_number(c, &end) ||
      expect(c, ']', "the end of the offsets is expected"))
    return c->d->status;
  if (end < e->offset) return bad(c, begin, "the elements end before they begin");
  e->bytes = e->packed = end - e->offset;
  return NX_OK;
}

/* The size by shape and dtype has to be that of the offsets. */
static nx_status check_size(cursor *c, const nxi_entry *e, int bits) {
  int64_t n = 1;
  bool empty = false, fits = true;
  for (int32_t i = 0; i < e->rank; i++) {
    empty |= e->shape[i] == 0;
    if (e->shape[i]) fits = fits && !__builtin_mul_overflow(n, e->shape[i], &n);
  }
  fits = fits && !__builtin_mul_overflow(n, bits, &n);
  if (!fits)
    return nxi_archive_bad(c->d, NX_PARSE, e->position, "the shape of %.80s overflows", e->name);
  if (empty) n = 0;
  if (n % 8 == 0 && n / 8 == e->bytes) return NX_OK;
  return nxi_archive_bad(c->d, NX_PARSE, e->position,
                         "the shape of %.80s takes %lld bits, its offsets give it %lld bytes",
                         e->name, (long long)n, (long long)e->bytes);
}

static nx_status take_tensor(cursor *c, nxi_entry *e) {
  static const char *const keys[] = {"dtype", "shape", "data_offsets"};
  int bits = 0;
  unsigned seen = 0;
  if (expect(c, '{', "the description of a tensor is expected")) return c->d->status;
  for (bool first = true; next_item(c, '}', &first);) {
    const char *key = "";
    skip_space(c);
    const char *begin = c->at;
    if (take_string(c, &key) || expect(c, ':', "a colon is expected")) return c->d->status;
    int k = 0;
    while (k < 3 && strcmp(key, keys[k]) != 0) k++;
    if (k == 3 || seen >> k & 1) return bad(c, begin, "this key is unknown or repeated");
    seen |= 1u << k;
    if (k == 0 ? take_type(c, e, &bits) : k == 1 ? take_shape(c, e) : take_offsets(c, e))
      return c->d->status;
  }
  if (c->d->status) return c->d->status;
  if (seen != 7) return bad(c, c->at, "the tensor lacks dtype, shape or data_offsets");
  return check_size(c, e, bits);
}

static nx_status take_metadata(cursor *c) {
  nx_archive *a = c->a;
  if (a->metadata) return bad(c, c->at, "there are two metadata");
  if (expect(c, '{', "an object of strings is expected")) return c->d->status;
  if (!nxi_grow(&a->metadata, &a->metadata_capacity, 1, sizeof *a->metadata)) return nxi_oom(c->d);
  for (bool first = true; next_item(c, '}', &first);) {
    if (!nxi_grow(&a->metadata, &a->metadata_capacity, a->n_metadata + 1, sizeof *a->metadata))
      return nxi_oom(c->d);
    nxi_metadatum *m = &a->metadata[a->n_metadata];
    if (take_string(c, &m->key) || expect(c, ':', "a colon is expected") ||
        take_string(c, &m->value))
      return c->d->status;
    a->n_metadata++;
  }
  return c->d->status;
}

static nx_status take_header(cursor *c) {
  if (expect(c, '{', "the header is no object")) return c->d->status;
  for (bool first = true; next_item(c, '}', &first);) {
    const char *name = "";
    skip_space(c);
    int64_t position = c->at - c->start;
    if (take_string(c, &name) || expect(c, ':', "a colon is expected")) return c->d->status;
    if (strcmp(name, "__metadata__") == 0) {
      if (take_metadata(c)) return c->d->status;
      continue;
    }
    nxi_entry *e = nxi_archive_add(c->a);
    if (!e) return nxi_oom(c->d);
    e->name = name;
    e->position = position;
    if (take_tensor(c, e)) return c->d->status;
  }
  if (c->d->status) return c->d->status;
  skip_space(c);
  return c->at == c->end ? NX_OK : bad(c, c->at, "something follows the header");
}

/* ---- the whole */

static int by_offset(const void *left, const void *right) {
  const nxi_entry *a = *(nxi_entry *const *)left, *b = *(nxi_entry *const *)right;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Checks that the elements of all tensors are adjacent, and fill the file. */
static nx_status check_places(cursor *c, int64_t begin, int64_t size) {
  nx_archive *a = c->a;
  nxi_entry **sorted = nxi_calloc(a->n, sizeof *sorted);
  if (!sorted) return nxi_oom(c->d);
  for (uint32_t i = 0; i < a->n; i++) sorted[i] = &a->entries[i];
  qsort(sorted, a->n, sizeof(nxi_entry *), by_offset);
  int64_t at = 0;
  for (uint32_t i = 0; i < a->n && !c->d->status; i++) {
    nxi_entry *e = sorted[i];
    if (e->offset != at)
      nxi_archive_bad(c->d, NX_PARSE, e->position, "the elements of %.80s %s", e->name,
                      e->offset < at ? "overlap those of another tensor" : "begin after a hole");
    else if (e->bytes > size - at)
      nxi_archive_bad(c->d, NX_PARSE, e->position, "the file ends before the elements of %.80s do",
                      e->name);
    at += e->bytes;
    e->offset += begin;
  }
  nxi_free(sorted);
  if (!c->d->status && at != size)
    nxi_archive_bad(c->d, NX_PARSE, begin + at, "something follows the last tensor");
  return c->d->status;
}

nx_status nxi_safetensors_read(nx_archive *a, nxi_diag *d) {
  cursor c = {.a = a, .start = a->file->data, .d = d};
  int64_t size = (int64_t)a->file->bytes;
  uint64_t header = 0;
  if (size < 8) return nxi_archive_bad(d, NX_PARSE, size, "the file is too short");
  for (int i = 8; i-- > 0;) header = header << 8 | (uint8_t)c.start[i];
  if (header > NXI_SAFETENSORS_HEADER || header > (uint64_t)size - 8)
    return nxi_archive_bad(
        d, NX_PARSE, 0,
        "a header of %llu bytes does not fit; this is no .npz and no .safetensors "
        "file",
        (unsigned long long)header);
  c.at = c.start + 8;
  c.end = c.at + header;
  if (c.at == c.end || *c.at != '{') return bad(&c, c.at, "the header does not begin with {");
  if (take_header(&c)) return d->status;
  return check_places(&c, c.end - c.start, size - (int64_t)header - 8);
}
