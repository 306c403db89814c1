/* SPDX-License-Identifier: ISC */
/* Files: .npy, .npz and .safetensors files that are written here byte by byte and read by the
 * library; files that are written by the library and checked here byte by byte; arrays without a
 * header, mapped in every mode. */
#include "../conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- files of bytes */

typedef struct content {
  unsigned char *at;
  size_t n;
} content;

static void append(trial *t, content *c, const void *bytes, size_t n) {
  unsigned char *more = room(t, c->n + n + 1);
  if (c->n) memcpy(more, c->at, c->n);
  if (n) memcpy(more + c->n, bytes, n);
  c->at = more;
  c->n += n;
}
static void append_text(trial *t, content *c, const char *text) {
  append(t, c, text, strlen(text));
}
/* Little-endian. */
static void append_number(trial *t, content *c, uint64_t x, int bytes) {
  unsigned char all[8];
  for (int i = 0; i < 8; i++) all[i] = (unsigned char)(x >> (8 * i));
  append(t, c, all, (size_t)bytes);
}

static char path[64];

static bool write_file(trial *t, const content *c) {
  FILE *file = fopen(path, "wb");
  bool good = file && fwrite(c->at, 1, c->n, file) == c->n;
  if (file && fclose(file)) good = false;
  if (!good) fault(t, "%s cannot be written", path);
  return good;
}

static content read_file(trial *t) {
  unsigned char piece[4096];
  content c = {0};
  FILE *file = fopen(path, "rb");
  for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0;) append(t, &c, piece, n);
  if (file) fclose(file);
  return c;
}

static bool begin_file(trial *t) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%.40s/nx_conform_XXXXXX", folder ? folder : "/tmp");
  int file = mkstemp(path);
  if (file >= 0) close(file);
  else fault(t, "there is no place for a file");
  return file >= 0;
}

/* Checks a loaded tensor on the tested device. Its handles are released before the file is
 * deleted. */
static void expect_loaded(trial *t, nx_tensor *x, const array *want, const char *what) {
  expect(t, nx_to_device(nx_copy(x), t->device), want, SAME_BITS, what);
  settle(t);
  nx_tensor_release(nx_keep(x));
}

/* Bytes of the elements: in C order, or with the first axis innermost, with the bytes of each part
 * reversed if `swapped`. */
static content elements_of(trial *t, const array *a, bool fortran, bool swapped) {
  content c = {0};
  array *order = new_array(t, a->dtype, a->rank, a->shape);
  for (size_t i = 0; i < a->n; i++) {
    int64_t index[NX_MAX_RANK];
    size_t at = 0, stride = 1;
    unravel(i, a->rank, a->shape, index);
    for (int32_t k = 0; k < a->rank; k++) {
      at += (size_t)index[k] * stride;
      stride *= (size_t)a->shape[k];
    }
    order->at[fortran ? at : i] = a->at[i];
  }
  c.at = packed(t, order, &c.n);
  size_t part = (size_t)format_of(format_of(a->dtype)->part)->bits / 8;
  for (size_t i = 0; swapped && i + part <= c.n; i += part)
    for (size_t k = 0; k < part / 2; k++) {
      unsigned char first = c.at[i + k];
      c.at[i + k] = c.at[i + part - 1 - k];
      c.at[i + part - 1 - k] = first;
    }
  return c;
}

/* ---- .npy */

static const char *const descr[] = {
    [NX_BOOL] = "b1", [NX_I8] = "i1",  [NX_U8] = "u1",  [NX_I16] = "i2", [NX_U16] = "u2",
    [NX_I32] = "i4",  [NX_U32] = "u4", [NX_I64] = "i8", [NX_U64] = "u8", [NX_F16] = "f2",
    [NX_BF16] = "V2", [NX_F32] = "f4", [NX_F64] = "f8", [NX_C64] = "c8", [NX_C128] = "c16"};

static content npy_of(trial *t, const array *a, bool fortran, bool swapped) {
  char header[256], dims[128] = "";
  content c = {0}, elements = elements_of(t, a, fortran, swapped);
  for (int32_t i = 0; i < a->rank; i++) {
    size_t used = strlen(dims);
    snprintf(dims + used, sizeof dims - used, "%d, ", (int)a->shape[i]);
  }
  int n =
      snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (%s), }\n",
               swapped ? '>' : '<', descr[a->dtype], fortran ? "True" : "False", dims);
  append(t, &c, "\x93NUMPY\1\0", 8);
  append_number(t, &c, (uint64_t)n, 2);
  append_text(t, &c, header);
  append(t, &c, elements.at, elements.n);
  return c;
}

static const int64_t shape[] = {5, 8}, long_shape[] = {2, 1, 3, 4}, empty_shape[] = {4, 0};

static void check_loading(trial *t, const array *a, bool fortran, bool swapped) {
  content c = npy_of(t, a, fortran, swapped);
  nx_tensor *x = NULL;
  if (!write_file(t, &c)) return;
  expect_status(t, nx_load_npy(t->context, path, &x), NX_OK, "loading");
  expect_loaded(t, x, a, fortran ? "Fortran order" : swapped ? "the other byte order" : "loaded");
}

/* Checks that the header describes the saved tensor, and that the elements follow in C order. */
static void check_saving(trial *t, layout l) {
  array *a = some_values(t, t->dtype, 2, shape, 2);
  nx_tensor *x = laid_out(t, a, l);
  expect_status(t, nx_save_npy(x, path, NULL), NX_OK, layout_names[l]);
  content c = read_file(t), elements = elements_of(t, a, false, false);
  size_t header = c.n > 10 ? (size_t)c.at[8] + 256u * c.at[9] : 0, n = elements.n;
  bool good = c.n == 10 + header + n && !memcmp(c.at, "\x93NUMPY", 6) && (10 + header) % 64 == 0 &&
              !memcmp(c.at + 10 + header, elements.at, n);
  if (!good) {
    fault(t, "%s: the file does not hold the elements", layout_names[l]);
    return;
  }
  c.at[10 + header - 1] = 0;
  const char *text = (const char *)c.at + 10;
  if (!strstr(text, descr[t->dtype]) || !strstr(text, "'fortran_order': False") ||
      !strstr(text, "(5, 8)"))
    fault(t, "%s: the header is %s", layout_names[l], text);
}

static void expect_unread(trial *t, content c, nx_status status, const char *what) {
  nx_tensor *x = NULL;
  if (!write_file(t, &c)) return;
  expect_status(t, nx_load_npy(t->context, path, &x), status, what);
  if (x) fault(t, "%s: it was loaded all the same", what);
}

static void check_npy(trial *t) {
  if (!begin_file(t)) return;
  array *a = some_values(t, t->dtype, 2, shape, 1);
  check_loading(t, a, false, false);
  check_loading(t, a, true, false);
  if (t->dtype != NX_BF16) check_loading(t, a, false, true); /* raw bytes have no order */
  check_loading(t, some_values(t, t->dtype, 0, NULL, 1), false, false);
  check_loading(t, some_values(t, t->dtype, 4, long_shape, 1), true, false);
  check_loading(t, some_values(t, t->dtype, 2, empty_shape, 1), false, false);
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) check_saving(t, l);
  content c = npy_of(t, a, false, false);
  c.n--;
  expect_unread(t, c, NX_PARSE, "a byte is missing");
  c.n = 9;
  expect_unread(t, c, NX_PARSE, "a header without a length");
  c.at[1] = 'M';
  expect_unread(t, c, NX_PARSE, "no magic");
  unlink(path);
  nx_tensor *x = NULL;
  expect_status(t, nx_load_npy(t->context, path, &x), NX_IO, "a file that is not there");
  expect_status(t, nx_save_npy(NULL, path, NULL), NX_INVALID_ARGUMENT, "no tensor");
}

static nx_tensor *record_npy(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, some_values(t, dtype, 2, shape, 1));
  return nx_save_npy(x, "/tmp/nx_conform_refused", NULL) == NX_OK ? x : NULL;
}

/* ---- .npz, of a member that is stored */

static uint32_t checksum(content c) {
  uint32_t crc = ~(uint32_t)0;
  for (size_t i = 0; i < c.n; i++) {
    crc ^= c.at[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

/* The fields that both headers of a member have. */
static void append_member(trial *t, content *c, content member, const char *name) {
  append_number(t, c, 20, 2); /* version; no flags, stored, no time */
  append_number(t, c, 0, 8);
  append_number(t, c, checksum(member), 4);
  append_number(t, c, member.n, 4);
  append_number(t, c, member.n, 4);
  append_number(t, c, strlen(name), 2);
  append_number(t, c, 0, 2);
}

static content zip_of(trial *t, content member, const char *name) {
  content c = {0};
  append_text(t, &c, "PK\3\4");
  append_member(t, &c, member, name);
  append_text(t, &c, name);
  append(t, &c, member.at, member.n);
  size_t directory = c.n;
  append(t, &c, "PK\1\2\24\0", 6);
  append_member(t, &c, member, name);
  append_number(t, &c, 0, 8); /* no comment, first disk, attributes */
  append_number(t, &c, 0, 6); /* ..., at the beginning */
  append_text(t, &c, name);
  size_t size = c.n - directory;
  append_text(t, &c, "PK\5\6");
  append_number(t, &c, 0, 4);
  append_number(t, &c, 1, 2);
  append_number(t, &c, 1, 2);
  append_number(t, &c, size, 4);
  append_number(t, &c, directory, 4);
  append_number(t, &c, 0, 2);
  return c;
}

static void expect_member(trial *t, const array *want, const char *what) {
  nx_archive *archive = NULL;
  nx_tensor *x = NULL;
  nx_array_info info = {.size = sizeof info};
  expect_status(t, nx_archive_open(path, &archive), NX_OK, what);
  if (!archive) return;
  expect_status(t, nx_archive_describe(archive, 0, &info), NX_OK, "describing a member");
  if (nx_archive_count(archive) != 1 || info.dtype != t->dtype || info.rank != want->rank ||
      strcmp(info.name, "x") != 0)
    fault(t, "%s: the member is described otherwise", what);
  expect_status(t, nx_archive_load(archive, t->context, "y", NULL, &x), NX_INVALID_ARGUMENT,
                "no such member");
  expect_status(t, nx_archive_load(archive, t->context, "x", NULL, &x), NX_OK, "loading a member");
  expect_loaded(t, x, want, what);
  nx_archive_close(archive);
}

static void check_npz(trial *t) {
  if (!begin_file(t)) return;
  array *a = some_values(t, t->dtype, 2, shape, 3);
  for (int fortran = 0; fortran < 2; fortran++) {
    content c = zip_of(t, npy_of(t, a, fortran, false), "x.npy");
    if (write_file(t, &c)) expect_member(t, a, fortran ? "in Fortran order" : "in C order");
  }
  content c = zip_of(t, npy_of(t, a, false, false), "x.npy");
  c.n -= 30;
  nx_archive *archive = NULL;
  if (write_file(t, &c))
    expect_status(t, nx_archive_open(path, &archive), NX_PARSE, "without a directory");
  if (archive) fault(t, "it was opened all the same");
  unlink(path);
  expect_status(t, nx_archive_open(path, &archive), NX_IO, "a file that is not there");
}

/* ---- .safetensors */

static const char *const named[] = {[NX_BOOL] = "BOOL",
                                    [NX_I8] = "I8",
                                    [NX_U8] = "U8",
                                    [NX_I16] = "I16",
                                    [NX_U16] = "U16",
                                    [NX_I32] = "I32",
                                    [NX_U32] = "U32",
                                    [NX_I64] = "I64",
                                    [NX_U64] = "U64",
                                    [NX_F16] = "F16",
                                    [NX_BF16] = "BF16",
                                    [NX_F32] = "F32",
                                    [NX_F64] = "F64",
                                    [NX_C64] = "C64",
                                    [NX_F8E4M3] = "F8_E4M3",
                                    [NX_F8E5M2] = "F8_E5M2",
                                    [NX_F8E4M3FNUZ] = "F8_E4M3FNUZ",
                                    [NX_F8E5M2FNUZ] = "F8_E5M2FNUZ",
                                    [NX_F8E8M0] = "F8_E8M0",
                                    [NX_F4E2M1] = "F4"};

static content safetensors_of(trial *t, const array *a) {
  char header[200];
  content c = {0}, elements = elements_of(t, a, false, false);
  int n = snprintf(header, sizeof header,
                   "{\"x\":{\"dtype\":\"%s\",\"shape\":[5,8],\"data_offsets\":[0,%zu]}}",
                   named[a->dtype], elements.n);
  append_number(t, &c, (uint64_t)n, 8);
  append_text(t, &c, header);
  append(t, &c, elements.at, elements.n);
  return c;
}

static nx_status save(trial *t, nx_tensor *x, size_t n) {
  const nx_named_tensor list[2] = {{"x", x}, {"x", x}};
  return nx_save_safetensors(t->context, path, list, n, NULL, 0, NULL);
}

static void check_safetensors(trial *t) {
  if (!begin_file(t)) return;
  array *a = some_values(t, t->dtype, 2, shape, 4);
  content c = safetensors_of(t, a), elements = elements_of(t, a, false, false);
  if (write_file(t, &c)) expect_member(t, a, "loaded");
  for (layout l = 0; l < BROADCAST; l++) {
    if (!is_due(t, l, BROADCAST)) continue;
    expect_status(t, save(t, laid_out(t, a, l), 1), NX_OK, layout_names[l]);
    content is = read_file(t);
    if (is.n < elements.n || memcmp(is.at + is.n - elements.n, elements.at, elements.n) != 0)
      fault(t, "%s: the file does not end with the elements", layout_names[l]);
    expect_member(t, a, layout_names[l]);
  }
  nx_archive *archive = NULL;
  expect_status(t, save(t, tensor_of(t, a), 2), NX_INVALID_ARGUMENT, "one name twice");
  expect_status(t, save(t, NULL, 1), NX_INVALID_ARGUMENT, "no tensor");
  c.n--;
  if (write_file(t, &c))
    expect_status(t, nx_archive_open(path, &archive), NX_PARSE, "a byte is missing");
  if (archive) fault(t, "it was opened all the same");
  unlink(path);
}

static nx_tensor *record_safetensors(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, some_values(t, dtype, 2, shape, 1));
  snprintf(path, sizeof path, "/tmp/nx_conform_refused");
  return save(t, x, 1) == NX_OK ? x : NULL;
}

/* ---- arrays without a header */

enum { BEFORE = 64 }; /* bytes in front of the elements */

static nx_import_file_desc mapped_as(const trial *t, uint32_t mode, bool fortran) {
  return (nx_import_file_desc){.size = sizeof(nx_import_file_desc),
                               .path = path,
                               .mode = mode,
                               .flags = fortran ? NX_FILE_FORTRAN : 0,
                               .dtype = t->dtype,
                               .rank = 2,
                               .shape = shape,
                               .offset = BEFORE};
}

static void check_mode(trial *t, uint32_t mode, bool fortran) {
  array *old = some_values(t, t->dtype, 2, shape, 5), *new = some_values(t, t->dtype, 2, shape, 6);
  content c = {0}, first = elements_of(t, old, fortran, false),
          second = elements_of(t, new, fortran, false);
  append(t, &c, (char[BEFORE]){0}, BEFORE);
  append(t, &c, first.at, first.n);
  nx_import_file_desc d = mapped_as(t, mode, fortran);
  nx_tensor *x = NULL;
  if (!write_file(t, &c)) return;
  expect_status(t, nx_import_file(t->context, &d, &x), NX_OK, "mapping a file");
  expect(t, nx_to_device(nx_copy(x), t->device), old, SAME_BITS, "what is in a file");
  settle(t);
  nx_tensor *update = NULL;
  size_t bytes;
  unsigned char *memory = packed(t, new, &bytes);
  update = nx_empty(t->context, 0, t->dtype, shape, 2);
  expect_status(t, nx_write(update, memory, bytes, NULL), NX_OK, "writing");
  expect_status(t, nx_assign(x, update), mode == NX_FILE_READ ? NX_NOT_WRITABLE : NX_OK,
                "assigning");
  expect_loaded(t, x, mode == NX_FILE_READ ? old : new, "after the assign");
  nx_context_collect(t->context);
  content is = read_file(t), *want = mode == NX_FILE_SHARED ? &second : &first;
  if (is.n != c.n || memcmp(is.at + BEFORE, want->at, want->n) != 0)
    fault(t, "mode %u: the file holds something else afterwards", mode);
}

static void check_file(trial *t) {
  if (!begin_file(t)) return;
  for (uint32_t mode = NX_FILE_READ; mode <= NX_FILE_SHARED; mode++)
    for (unsigned fortran = 0; fortran < 2; fortran++)
      if (is_due(t, (2 * mode + fortran) % 3, 3)) check_mode(t, mode, fortran);
  nx_tensor *x = NULL;
  nx_import_file_desc d = mapped_as(t, 7, false);
  expect_status(t, nx_import_file(t->context, &d, &x), NX_INVALID_ARGUMENT, "no such mode");
  d = mapped_as(t, NX_FILE_READ, false), d.dtype = 99;
  expect_status(t, nx_import_file(t->context, &d, &x), NX_INVALID_ARGUMENT, "no such type");
  d = mapped_as(t, NX_FILE_READ, false), d.offset = 4096;
  expect_status(t, nx_import_file(t->context, &d, &x), NX_IO, "beyond the end");
  d = mapped_as(t, NX_FILE_SHARED, false), d.offset = 1;
  if (nx_dtype_bits(t->dtype) > 8)
    expect_status(t, nx_import_file(t->context, &d, &x), NX_INVALID_ARGUMENT, "not aligned");
  unlink(path);
  d = mapped_as(t, NX_FILE_READ, false);
  expect_status(t, nx_import_file(t->context, &d, &x), NX_IO, "a file that is not there");
  if (x) fault(t, "a tensor was made all the same");
}

enum {
  NIBBLES = TYPE(NX_I4) | TYPE(NX_U4),
  UNNAMED = NIBBLES | H | STORED, /* dtypes that no format has a name for */
  F8 = TYPE(NX_F8E4M3) | TYPE(NX_F8E5M2)
};
static const operation file_table[] = {
    {".npy", ALL & ~(UNNAMED | F8), check_npy, record_npy, NULL, 0, NULL},
    {".npz", ALL & ~(UNNAMED | F8), check_npz, record_npy, NULL, 0, NULL},
    {".safetensors", ALL & ~(NIBBLES | H | TYPE(NX_C128)), check_safetensors, record_safetensors,
     NULL, 0, NULL},
    {"import_file", ALL, check_file, NULL, NULL, 0, NULL},
};
const family file_family = {"Files", file_table, sizeof file_table / sizeof *file_table};
