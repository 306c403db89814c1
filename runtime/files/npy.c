/* SPDX-License-Identifier: ISC */
/* Reading .npy: magic "\x93NUMPY", two bytes of version, the length of the header (two bytes in
 * version 1, four after it, little-endian), a Python dictionary of exactly descr, fortran_order and
 * shape, then the elements. The dictionary is read as the subset of Python that NumPy writes. */
#include "npy.h"

#include <string.h>

static const char operation[] = "npy";

/* One row a type: what follows the byte order in descr. The first row of a dtype is the one that is
 * written. */
typedef struct npy_type {
  const char *code;
  nx_dtype dtype;
} npy_type;

static const npy_type types[] = {
    {"b1", NX_BOOL}, {"?", NX_BOOL}, {"i1", NX_I8},    {"u1", NX_U8},
    {"i2", NX_I16},  {"u2", NX_U16}, {"i4", NX_I32},   {"u4", NX_U32},
    {"i8", NX_I64},  {"u8", NX_U64}, {"f2", NX_F16},   {"f4", NX_F32},
    {"f8", NX_F64},  {"c8", NX_C64}, {"c16", NX_C128}, {"V2", NX_BF16},
};
enum { TYPES = sizeof types / sizeof *types };

const char *nxi_npy_code(nx_dtype dtype) {
  for (int i = 0; i < TYPES; i++)
    if (types[i].dtype == dtype) return types[i].code;
  return NULL;
}

/* Why a type is not read; the first row whose text the code begins with. */
static const struct {
  const char *code, *sentence;
} refusals[] = {
    {"V1", "one byte without a type (V1) is how NumPy writes the 8-bit floats and 4-bit integers "
           "of ml_dtypes: which it "
           "is, the file does not say"},
    {"V", "elements of raw bytes are not supported"},
    {"O", "Python objects are not supported"},
    {"U", "text is not supported"},
    {"S", "text is not supported"},
    {"a", "text is not supported"},
    {"M", "dates are not supported"},
    {"m", "times are not supported"},
    {"f16", "floats wider than 64 bits are not supported"},
    {"f12", "floats wider than 64 bits are not supported"},
    {"c", "complex numbers of this width are not supported"},
    {"", "this element type is not supported"},
};

static bool little_endian(void) {
  uint16_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 1;
}

/* ---- the dictionary */

typedef struct cursor {
  const char *start;    /* of the file */
  const char *at, *end; /* of the header */
  nxi_diag *d;
} cursor;

static nx_status bad_at(const cursor *c, nx_status status, int64_t at, const char *sentence) {
  bool first = c->d && c->d->status == NX_OK;
  nxi_fail(c->d, status, operation, "byte %lld: %s", (long long)at, sentence);
  if (first) c->d->index = at;
  return status;
}

static nx_status bad(const cursor *c, nx_status status, const char *at, const char *sentence) {
  return bad_at(c, status, at - c->start, sentence);
}

static void skip_space(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
    c->at++;
}

/* Takes the character if it comes next. */
static bool take(cursor *c, char character) {
  skip_space(c);
  if (c->at >= c->end || *c->at != character) return false;
  c->at++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  size_t n = strlen(word);
  skip_space(c);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
  c->at += n;
  return true;
}

/* A string without escapes, in either kind of quotes. */
static nx_status take_string(cursor *c, const char **text, size_t *length) {
  skip_space(c);
  if (c->at >= c->end || (*c->at != '\'' && *c->at != '"'))
    return bad(c, NX_PARSE, c->at, "a string is expected");
  char quote = *c->at++;
  *text = c->at;
  while (c->at < c->end && *c->at != quote && *c->at != '\\' && *c->at != '\n') c->at++;
  if (c->at >= c->end || *c->at != quote) return bad(c, NX_PARSE, c->at, "the string does not end");
  *length = (size_t)(c->at - *text);
  c->at++;
  return NX_OK;
}

static nx_status take_descr(cursor *c, nxi_file_array *out) {
  skip_space(c);
  const char *begin = c->at, *text;
  size_t length;
  if (c->at < c->end && *c->at == '[')
    return bad(c, NX_UNSUPPORTED_DTYPE, begin, "structured element types are not supported");
  nx_status status = take_string(c, &text, &length);
  if (status != NX_OK) return status;
  size_t skip = length && strchr("<>=|", *text) ? 1 : 0;
  char order = skip ? *text : '=';
  text += skip;
  length -= skip;
  for (int i = 0; i < TYPES; i++) {
    if (strlen(types[i].code) != length || memcmp(types[i].code, text, length) != 0) continue;
    out->dtype = types[i].dtype;
    out->swapped = nxi_dtypes[out->dtype].bits > 8 &&
                   ((order == '<' && !little_endian()) || (order == '>' && little_endian()));
    return NX_OK;
  }
  int i = 0;
  for (size_t n;
       n = strlen(refusals[i].code), n > length || memcmp(refusals[i].code, text, n) != 0;)
    i++;
  return bad(c, NX_UNSUPPORTED_DTYPE, begin, refusals[i].sentence);
}

static nx_status take_dimension(cursor *c, nxi_file_array *out) {
  const char *begin = c->at;
  int64_t value = 0;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
    int digit = *c->at - '0';
    if (value > (INT64_MAX - digit) / 10)
      return bad(c, NX_PARSE, begin, "the dimension is too large");
    value = value * 10 + digit;
    c->at++;
  }
  if (c->at == begin) return bad(c, NX_PARSE, begin, "a dimension is expected");
  if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 */
  if (out->rank == NX_MAX_RANK) return bad(c, NX_PARSE, begin, "there are more than 32 dimensions");
  out->shape[out->rank++] = value;
  return NX_OK;
}

/* "()", "(3,)", "(3, 4)", "(3, 4,)". */
static nx_status take_shape(cursor *c, nxi_file_array *out) {
  out->rank = 0;
  skip_space(c);
  if (!take(c, '(')) return bad(c, NX_PARSE, c->at, "the shape is no tuple");
  bool comma = true;
  while (!take(c, ')')) {
    if (!comma) return bad(c, NX_PARSE, c->at, "a comma or the end of the shape is expected");
    nx_status status = take_dimension(c, out);
    if (status != NX_OK) return status;
    comma = take(c, ',');
    if (out->rank == 1 && !comma && take(c, ')'))
      return bad(c, NX_PARSE, c->at - 1, "a number in parentheses is no tuple");
  }
  return NX_OK;
}

static nx_status take_value(cursor *c, int key, nxi_file_array *out) {
  if (key == 0) return take_descr(c, out);
  if (key == 2) return take_shape(c, out);
  if (take_word(c, "True")) out->fortran = true;
  else if (take_word(c, "False")) out->fortran = false;
  else return bad(c, NX_PARSE, c->at, "True or False is expected");
  return NX_OK;
}

static nx_status take_dictionary(cursor *c, nxi_file_array *out) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  bool seen[3] = {false};
  if (!take(c, '{')) return bad(c, NX_PARSE, c->at, "the header is no dictionary");
  bool comma = true;
  while (!take(c, '}')) {
    const char *text;
    size_t length;
    if (!comma) return bad(c, NX_PARSE, c->at, "a comma or the end of the header is expected");
    skip_space(c);
    const char *begin = c->at;
    nx_status status = take_string(c, &text, &length);
    if (status != NX_OK) return status;
    int key = 0;
    while (key < 3 && (strlen(keys[key]) != length || memcmp(keys[key], text, length) != 0)) key++;
    if (key == 3 || seen[key]) return bad(c, NX_PARSE, begin, "this key is unknown or repeated");
    seen[key] = true;
    if (!take(c, ':')) return bad(c, NX_PARSE, c->at, "a colon is expected");
    status = take_value(c, key, out);
    if (status != NX_OK) return status;
    comma = take(c, ',');
  }
  skip_space(c);
  if (c->at != c->end) return bad(c, NX_PARSE, c->at, "something follows the header");
  for (int i = 0; i < 3; i++)
    if (!seen[i]) return bad(c, NX_PARSE, c->end, "the header lacks descr, fortran_order or shape");
  return NX_OK;
}

/* ---- the whole */

/* Finds where the dictionary lies. */
static nx_status find_header(cursor *c, size_t size) {
  const uint8_t *b = (const uint8_t *)c->start;
  c->at = c->end = c->start + size; /* where a file that is too short is bad */
  if (size < 10) return bad(c, NX_PARSE, c->end, "the file is too short");
  if (memcmp(b, "\x93NUMPY", 6) != 0) return bad(c, NX_PARSE, c->start, "this is no .npy file");
  if (b[6] < 1 || b[6] > 3 || b[7] != 0)
    return bad(c, NX_PARSE, c->start + 6, "this version is unknown");
  size_t fixed = b[6] == 1 ? 10 : 12;
  if (size < fixed) return bad(c, NX_PARSE, c->end, "the file is too short");
  size_t length = (size_t)b[8] | (size_t)b[9] << 8;
  if (b[6] > 1) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
  if (length > size - fixed) return bad(c, NX_PARSE, c->end, "the file ends inside its header");
  c->at = c->start + fixed;
  c->end = c->at + length;
  return NX_OK;
}

nx_status nxi_npy_parse_part(const void *file, size_t there, size_t size, nxi_file_array *out,
                             nxi_diag *d) {
  cursor c = {.start = file, .d = d};
  nxi_file_array npy = {0};
  nx_status status = find_header(&c, there);
  if (status == NX_OK) status = take_dictionary(&c, &npy);
  if (status != NX_OK) return status;
  npy.offset = c.end - c.start;
  npy.data = c.end;
  if (!nxi_file_array_measure(&npy)) return bad(&c, NX_PARSE, c.end, "the shape overflows");
  if (npy.bytes > (int64_t)size - npy.offset)
    return bad_at(&c, NX_PARSE, (int64_t)size, "the file is shorter than its shape says");
  *out = npy;
  return NX_OK;
}

nx_status nxi_npy_parse(const void *file, size_t size, nxi_file_array *out, nxi_diag *d) {
  return nxi_npy_parse_part(file, size, size, out, d);
}

nx_status nxi_npy_map(const char *path, nxi_file_array *out, nxi_diag *d) {
  nxi_file *file;
  nx_status status = nxi_file_open(operation, path, &file, d);
  if (status) return status;
  status = nxi_npy_parse(file->data, file->bytes, out, d);
  if (status) nxi_file_unref(file);
  else out->file = file;
  return status;
}
