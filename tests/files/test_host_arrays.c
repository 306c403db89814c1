/* SPDX-License-Identifier: ISC */
/* Host arrays of every kind that array libraries have, in both layouts, whole and in part: imported
 * in every mode, exported through mappings, mapped from files and written to them. */
#include "tests/util/api.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/alloc.h"
#include "ir/dtype.h"

/* Kinds, with the element type that each maps to. */
typedef struct kind {
  const char *name;
  nx_dtype dtype;
} kind;
static const kind kinds[] = {
    {"Float16", NX_F16},
    {"Float32", NX_F32},
    {"Float64", NX_F64},
    {"Bfloat16", NX_BF16},
    {"Float8_e4m3", NX_F8E4M3},
    {"Float8_e5m2", NX_F8E5M2},
    {"Int8_signed", NX_I8},
    {"Int8_unsigned", NX_U8},
    {"Int16_signed", NX_I16},
    {"Int16_unsigned", NX_U16},
    {"Int32", NX_I32},
    {"Int64", NX_I64},
    {"Int", NX_I64},
    {"Nativeint", NX_I64},
    {"Char", NX_U8},
    {"Qint8", NX_I8},
    {"Quint8", NX_U8},
    {"Bool", NX_BOOL},
    {"Int4_signed", NX_I4},
    {"Int4_unsigned", NX_U4},
    {"Complex16", NX_C32},
    {"Complex32", NX_C64},
    {"Complex64", NX_C128},
    {"uint32", NX_U32},
    {"uint64", NX_U64},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ELEMENTS = 60, BYTES = ELEMENTS * 16 };

static char root[] = "/tmp/nx_host_XXXXXX";
static char path[64];

/* ---- elements of any size, four bits too */

static size_t bytes_of(nx_dtype t, int64_t n) { return ((size_t)n * nx_dtype_bits(t) + 7) / 8; }

static void get(const uint8_t *base, nx_dtype t, int64_t i, uint8_t out[16]) {
  size_t bits = nx_dtype_bits(t);
  memset(out, 0, 16);
  if (bits == 4) out[0] = base[i / 2] >> (i & 1) * 4 & 15;
  else memcpy(out, base + (size_t)i * (bits / 8), bits / 8);
}

static void put(uint8_t *base, nx_dtype t, int64_t i, const uint8_t in[16]) {
  size_t bits = nx_dtype_bits(t);
  if (bits == 4)
    base[i / 2] = (uint8_t)((base[i / 2] & (i & 1 ? 15 : 240)) | (in[0] & 15) << (i & 1) * 4);
  else memcpy(base + (size_t)i * (bits / 8), in, bits / 8);
}

/* Some bits that differ from element to element; bools are 0 or 1. */
static void fill(uint8_t *base, nx_dtype t, int64_t n, uint32_t salt) {
  for (int64_t i = 0; i < n; i++) {
    uint8_t e[16];
    for (uint32_t k = 0; k < 16; k++)
      e[k] = (uint8_t)(((uint32_t)i * 16 + k + salt) * 2654435761u >> 22);
    if (t == NX_BOOL) e[0] &= 1;
    put(base, t, i, e);
  }
}

/* ---- arrays and parts of them */

typedef struct view {
  const char *name;
  int32_t rank;
  int64_t shape[32], strides[32], offset;
} view;

static int64_t elements_of(const view *v) {
  int64_t n = 1;
  for (int32_t i = 0; i < v->rank; i++) n *= v->shape[i];
  return n;
}

/* The place of element number i, in C order of the view. */
static int64_t place(const view *v, int64_t i) {
  int64_t at = v->offset;
  for (int32_t k = v->rank; k-- > 0; i /= v->shape[k]) at += i % v->shape[k] * v->strides[k];
  return at;
}

/* A 3 x 4 x 5 array whole; what sub_left, slice_left, sub_right and slice_right take of it; views
 * that only strides can say; reshaped to every rank from 0 to 32. */
static int views_of(bool fortran, view *v) {
  const view whole = fortran ? (view){"whole", 3, {3, 4, 5}, {1, 3, 12}, 0}
                             : (view){"whole", 3, {3, 4, 5}, {20, 5, 1}, 0};
  int n = 0, outer = fortran ? 2 : 0;
  v[n++] = whole;
  v[n] = whole, v[n].name = "sub", v[n].shape[outer] = 2, v[n++].offset = whole.strides[outer];
  v[n++] = fortran ? (view){"slice_right", 2, {3, 4}, {1, 3}, 24}
                   : (view){"slice_left", 2, {4, 5}, {5, 1}, 20};
  v[n++] = (view){"one row", 1, {5}, {fortran ? 12 : 1}, whole.strides[0] + whole.strides[1]};
  v[n++] = (view){"one element", 0, {0}, {0}, 37};
  v[n++] = (view){"empty", 2, {0, 5}, {5, 1}, 0};
  v[n] = whole, v[n].name = "flipped", v[n].offset = whole.strides[1] * 3;
  v[n++].strides[1] = -whole.strides[1];
  v[n] = whole, v[n].name = "every second", v[n].shape[2] = 2, v[n].offset = whole.strides[2];
  v[n++].strides[2] = 2 * whole.strides[2];
  v[n] = (view){"rank 32", 32, {3, 4, 5}, {0}, 0};
  for (int i = 0; i < 32; i++) v[n].shape[i] = i == 7 ? 3 : i == 20 ? 4 : i == 31 ? 5 : 1;
  for (int64_t i = 0, step = 1; i < 32; i++) {
    int at = fortran ? (int)i : 31 - (int)i;
    v[n].strides[at] = step;
    step *= v[n].shape[at];
  }
  return n + 1;
}
enum { MOST_VIEWS = 12 };

static void expect_elements(nx_tensor *t, nx_dtype dtype, const view *v, const uint8_t *host,
                            const char *what) {
  uint8_t is[BYTES], a[16], b[16];
  int64_t n = elements_of(v);
  OK(nx_read(t, is, bytes_of(dtype, n), NULL));
  for (int64_t i = 0; i < n; i++) {
    get(is, dtype, i, a);
    get(host, dtype, place(v, i), b);
    if (memcmp(a, b, 16) != 0)
      fail_msg("%s %s %s: element %d is wrong", what, nx_dtype_name(dtype), v->name, (int)i);
  }
}

/* What a tensor shows through a mapping: the host's own memory where it was not copied. */
static void expect_mapping(nx_tensor *t, nx_dtype dtype, const view *v, const uint8_t *host,
                           bool same) {
  nx_mapping *m = NULL;
  nx_tensor_info info = {.size = sizeof info};
  OK(nx_map(t, NX_MAP_READ, NULL, &m));
  nx_tensor_describe(t, &info);
  const uint8_t *base = nx_mapping_base(m, NULL);
  if (same) assert_ptr_equal(base, host);
  view shown = {.rank = info.rank, .offset = info.offset};
  assert_int_equal(info.rank, v->rank);
  for (int32_t i = 0; i < v->rank; i++) {
    shown.shape[i] = info.shape[i];
    shown.strides[i] = info.strides[i];
    assert_int_equal(info.shape[i], v->shape[i]);
    if (v->shape[i] > 1 && same && info.elements) assert_int_equal(info.strides[i], v->strides[i]);
  }
  uint8_t a[16], b[16];
  for (int64_t i = 0; i < info.elements; i++) {
    get(base, dtype, place(&shown, i), a);
    get(host, dtype, place(v, i), b);
    assert_memory_equal(a, b, 16);
  }
  nx_mapping_release(m);
}

/* ---- imports */

static int released;
static void count_release(void *user) {
  (void)user;
  released++;
}

/* Assigns reach the host's array through the view, and touch nothing else of it. */
static void write_through(nx_tensor *t, nx_dtype dtype, const view *v, uint8_t *host) {
  uint8_t wanted[BYTES], fresh[BYTES], e[16];
  int64_t n = elements_of(v);
  memcpy(wanted, host, BYTES);
  fill(fresh, dtype, n, 4711);
  for (int64_t i = 0; i < n; i++) {
    get(fresh, dtype, i, e);
    put(wanted, dtype, place(v, i), e);
  }
  OK(nx_write(t, fresh, bytes_of(dtype, n), NULL));
  assert_memory_equal(host, wanted, BYTES);
}

static void import_one(nx_dtype dtype, const view *v, uint32_t mode) {
  _Alignas(16) uint8_t host[BYTES], before[BYTES];
  memset(host, 0, sizeof host);
  fill(host, dtype, ELEMENTS, 1);
  memcpy(before, host, BYTES);
  nx_import_desc d = {.size = sizeof d,
                      .mode = mode,
                      .dtype = dtype,
                      .rank = v->rank,
                      .shape = v->shape,
                      .strides = v->strides,
                      .offset = v->offset,
                      .base = host,
                      .bytes = bytes_of(dtype, ELEMENTS),
                      .release = count_release};
  nx_tensor *t = NULL;
  released = 0;
  OK(nx_import(ctx, &d, &t));
  expect_elements(t, dtype, v, host, "import");
  expect_mapping(t, dtype, v, host, mode != NX_IMPORT_COPY);
  if (mode == NX_IMPORT_COPY) {
    fill(host, dtype, ELEMENTS, 2);
    expect_elements(t, dtype, v, before, "copy");
  } else if (mode == NX_IMPORT_SHARED) {
    fill(host, dtype, ELEMENTS, 2); /* host code writes */
    expect_elements(t, dtype, v, host, "shared");
    write_through(t, dtype, v, host);
  } else {
    nx_mapping *m = NULL;
    FAILS(NX_NOT_WRITABLE, nx_map(t, NX_MAP_WRITE, NULL, &m));
  }
  /* a part taken here is the part taken there */
  if (v->rank == 3) {
    view part = *v;
    nx_tensor *flipped = GOOD(nx_flip(t, NX_AXES(0)));
    part.offset += (part.shape[0] - 1) * part.strides[0];
    part.strides[0] = -part.strides[0];
    expect_elements(flipped, dtype, &part, mode == NX_IMPORT_COPY ? before : host, "flipped");
    release(flipped);
  }
  release(t);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
}

static void imports(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int fortran = 0; fortran < 2; fortran++) {
      view v[MOST_VIEWS];
      int n = views_of(fortran, v);
      for (int i = 0; i < n; i++)
        for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++)
          import_one(kinds[k].dtype, &v[i], mode);
    }
}

/* A computed result goes out the same way, and what the host writes there is in the tensor. */
static void exports(void **state) {
  (void)state;
  nx_tensor *x = vector(6, 0, 1), *y = GOOD(nx_reshape(nx_add(x, x), NX_SHAPE(2, 3), 0));
  nx_tensor *turned = GOOD(nx_permute(y, NX_AXES(1, 0)));
  nx_tensor_info info = {.size = sizeof info};
  nx_mapping *m = NULL;
  nx_tensor_describe(turned, &info);
  assert_int_equal(info.strides[0], 1); /* Fortran layout of the same memory */
  assert_int_equal(info.strides[1], 3);
  OK(nx_map(turned, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  float *p = nx_mapping_base(m, NULL);
  p[1 * info.strides[1]] = 100; /* row 0, column 1 */
  EXPECT(turned, 0, 100, 2, 8, 4, 10);
  nx_mapping_release(m);
}

/* Reshaping in Fortran layout, without a copy: turned around it is C layout. */
static void fortran_reshape(void **state) {
  (void)state;
  double host[12]; /* 3 x 4 by columns: element (i, j) is i + 3 j */
  for (int i = 0; i < 12; i++) host[i] = i;
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_SHARED,
                      .dtype = NX_F64,
                      .rank = 2,
                      .shape = (const int64_t[]){3, 4},
                      .strides = (const int64_t[]){1, 3},
                      .base = host,
                      .bytes = sizeof host};
  nx_tensor *x = NULL;
  OK(nx_import(ctx, &d, &x));
  nx_tensor *turned = GOOD(nx_reshape(GOOD(nx_permute(x, NX_AXES(1, 0))), NX_SHAPE(6, 2), 0));
  nx_tensor *y = GOOD(nx_permute(turned, NX_AXES(1, 0))); /* 2 x 6 by columns */
  nx_tensor_info a = {.size = sizeof a}, b = {.size = sizeof b};
  nx_tensor_describe(x, &a);
  nx_tensor_describe(y, &b);
  assert_true(a.storage_id == b.storage_id && b.strides[0] == 1 && b.strides[1] == 2);
  host[7] = -1;
  nx_scalar seen;
  OK(nx_item(y, (const int64_t[]){1, 3}, 2, &seen, NULL));
  assert_true(seen.v.f[0] == -1);
}

/* ---- files */

static void write_file(const void *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, bytes, f), bytes);
  assert_int_equal(fclose(f), 0);
}

static size_t read_file(uint8_t *data, size_t most) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(data, 1, most, f);
  fclose(f);
  return n;
}

enum { HEAD = 48 };

static nx_import_file_desc describe(nx_dtype dtype, const view *v, uint32_t mode, bool fortran) {
  return (nx_import_file_desc){.size = sizeof(nx_import_file_desc),
                               .path = path,
                               .mode = mode,
                               .flags = fortran ? NX_FILE_FORTRAN : 0,
                               .dtype = dtype,
                               .rank = v->rank,
                               .shape = v->shape,
                               .offset = HEAD};
}

static void file_of(nx_dtype dtype, const view *whole, uint32_t mode, bool fortran) {
  uint8_t file[HEAD + BYTES], after[HEAD + BYTES + 1];
  memset(file, 0x5a, sizeof file);
  fill(file + HEAD, dtype, ELEMENTS, 3);
  size_t bytes = HEAD + bytes_of(dtype, ELEMENTS);
  write_file(file, bytes);
  view open = *whole;
  open.shape[fortran ? 2 : 0] = -1;
  nx_import_file_desc d = describe(dtype, &open, mode, fortran);
  nx_tensor *t = NULL;
  OK(nx_import_file(ctx, &d, &t));
  expect_elements(t, dtype, whole, file + HEAD, "file");
  expect_mapping(t, dtype, whole, file + HEAD, false);
  uint8_t fresh[BYTES], in_place[BYTES], e[16];
  memset(fresh, 0, sizeof fresh);
  fill(fresh, dtype, ELEMENTS, 5);
  memcpy(in_place, file + HEAD, BYTES);
  for (int64_t i = 0; i < ELEMENTS; i++) {
    get(fresh, dtype, i, e);
    put(in_place, dtype, place(whole, i), e);
  }
  if (mode == NX_FILE_READ) {
    FAILS(NX_NOT_WRITABLE, nx_write(t, fresh, bytes_of(dtype, ELEMENTS), NULL));
  } else {
    OK(nx_write(t, fresh, bytes_of(dtype, ELEMENTS), NULL));
    expect_elements(t, dtype, whole, in_place, "written");
  }
  release(t);
  nx_context_collect(ctx);
  if (mode == NX_FILE_SHARED) memcpy(file + HEAD, in_place, bytes - HEAD);
  assert_int_equal(read_file(after, sizeof after), bytes);
  assert_memory_equal(after, file, bytes);
}

static void files(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int fortran = 0; fortran < 2; fortran++)
      for (uint32_t mode = NX_FILE_READ; mode <= NX_FILE_SHARED; mode++) {
        view v[MOST_VIEWS];
        views_of(fortran, v);
        file_of(kinds[k].dtype, &v[0], mode, fortran);
      }
}

/* A file that is too short grows if it is shared, with zeros, and is made if that is asked for. */
static void growing(void **state) {
  (void)state;
  const float three[3] = {1, 2, 3};
  write_file(three, sizeof three);
  const view v = {"", 2, {2, 4}, {0}, 0};
  nx_import_file_desc d = describe(NX_F32, &v, NX_FILE_SHARED, false);
  d.offset = 4;
  nx_tensor *t = NULL, *u = NULL;
  OK(nx_import_file(ctx, &d, &t));
  EXPECT(t, 2, 3, 0, 0, 0, 0, 0, 0);
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_size, 36);
  assert_int_equal(nx_assign(t, number(7)),
                   NX_OK); /* carried out at once: the storage is exposed */
  float in_file[10];
  assert_int_equal(read_file((uint8_t *)in_file, sizeof in_file), 36);
  assert_true(in_file[0] == 1 && in_file[1] == 7 && in_file[8] == 7);
  /* another mapping of the same file sees it, one that is private writes beside it */
  d.mode = NX_FILE_PRIVATE;
  OK(nx_import_file(ctx, &d, &u));
  nx_mapping *m = NULL;
  OK(nx_map(u, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  ((float *)nx_mapping_base(m, NULL))[0] = 9;
  nx_mapping_release(m);
  EXPECT(u, 9, 7, 7, 7, 7, 7, 7, 7);
  OK(nx_assign(u, GOOD(nx_add(u, number(1)))));
  EXPECT(u, 10, 8, 8, 8, 8, 8, 8, 8);
  EXPECT(t, 7, 7, 7, 7, 7, 7, 7, 7);
  assert_int_equal(unlink(path), 0); /* the pages stay */
  EXPECT(t, 7, 7, 7, 7, 7, 7, 7, 7);
  release(t), release(u);
  d.mode = NX_FILE_SHARED;
  FAILS(NX_IO, nx_import_file(ctx, &d, &t));
  d.flags = NX_FILE_CREATE;
  OK(nx_import_file(ctx, &d, &t));
  EXPECT(t, 0, 0, 0, 0, 0, 0, 0, 0);
  release(t);
  /* by descriptor, which may be closed at once */
  d.path = NULL, d.flags = 0, d.mode = NX_FILE_READ;
  d.fd = open(path, O_RDONLY);
  OK(nx_import_file(ctx, &d, &t));
  close(d.fd);
  EXPECT(t, 0, 0, 0, 0, 0, 0, 0, 0);
  release(t);
}

/* An element in the middle of a page's word: copied, or refused where a copy would not be the
 * file. */
static void misaligned(void **state) {
  (void)state;
  uint8_t file[64] = {0};
  const float two[2] = {1.5f, -2};
  memcpy(file + 7, two, sizeof two);
  write_file(file, 15);
  const view v = {"", 1, {-1}, {0}, 0};
  nx_tensor *t = NULL;
  for (uint32_t mode = NX_FILE_READ; mode <= NX_FILE_SHARED; mode++) {
    nx_import_file_desc d = describe(NX_F32, &v, mode, false);
    d.offset = 7;
    if (mode == NX_FILE_SHARED) {
      FAILS(NX_INVALID_ARGUMENT, nx_import_file(ctx, &d, &t));
      continue;
    }
    OK(nx_import_file(ctx, &d, &t));
    EXPECT(t, 1.5f, -2);
    if (mode == NX_FILE_READ) FAILS(NX_NOT_WRITABLE, nx_write(t, two, sizeof two, NULL));
    else OK(nx_write(t, two, sizeof two, NULL));
    release(t);
  }
}

typedef struct refusal {
  const char *what;
  nx_status status;
  nx_import_file_desc d;
  int64_t shape[2];
} refusal;

static void refused(void **state) {
  (void)state;
  uint8_t bytes[22] = {0};
  write_file(bytes, sizeof bytes);
#define D(file, type, ...) \
  {.size = sizeof(nx_import_file_desc), .path = file, .dtype = type, __VA_ARGS__}
  const refusal refusals[] = {
      {"mode 3", NX_INVALID_ARGUMENT, D(path, NX_F32, .mode = 3), {0}},
      {"the flags 0x8", NX_INVALID_ARGUMENT, D(path, NX_F32, .flags = 8), {0}},
      {"is created", NX_INVALID_ARGUMENT, D(path, NX_F32, .flags = NX_FILE_CREATE), {0}},
      {"dtype 77", NX_INVALID_ARGUMENT, D(path, 77, .rank = 1), {0}},
      {"rank 33", NX_INVALID_ARGUMENT, D(path, NX_F32, .rank = 33), {0}},
      {"rank -1", NX_INVALID_ARGUMENT, D(path, NX_F32, .rank = -1), {0}},
      {"the offset -4", NX_INVALID_ARGUMENT, D(path, NX_F32, .offset = -4), {0}},
      {"-2", NX_INVALID_ARGUMENT, D(path, NX_F32, .rank = 1), {-2}},
      {"-1", NX_INVALID_ARGUMENT, D(path, NX_F32, .rank = 2), {-1, -1}},
      {"no whole number of rows", NX_INVALID_ARGUMENT, D(path, NX_F32, .rank = 1), {-1}},
      {"no whole number of rows",
       NX_INVALID_ARGUMENT,
       D(path, NX_F32, .rank = 2, .offset = 2),
       {-1, 3}},
      {"no whole number of rows",
       NX_INVALID_ARGUMENT,
       D(path, NX_F32, .rank = 2, .offset = 2),
       {-1, 0}},
      {"nothing is at offset 24",
       NX_INVALID_ARGUMENT,
       D(path, NX_F32, .rank = 1, .offset = 24),
       {-1}},
      {"ends at byte 24", NX_IO, D(path, NX_F32, .rank = 1), {6}},
      {"22 bytes", NX_IO, D(path, NX_F32, .rank = 1, .mode = NX_FILE_PRIVATE), {6}},
      {"", NX_INVALID_ARGUMENT, D(path, NX_F32, .rank = 2), {INT64_MAX, INT64_MAX}},
      {"beyond what a file",
       NX_INVALID_ARGUMENT,
       D(path, NX_F32, .rank = 1, .offset = INT64_MAX - 3),
       {1}},
      {"/tmp", NX_IO, D("/tmp", NX_F32, .rank = 1), {1}},
      {"missing", NX_IO, D("/tmp/nx_host_missing", NX_F32, .rank = 1), {1}},
      {"the file", NX_IO, D(NULL, NX_F32, .fd = -5, .rank = 1), {1}},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    refusal r = refusals[i];
    nx_tensor *t = NULL;
    nx_error e = {.size = sizeof e};
    if (r.d.rank > 0) r.d.shape = r.shape;
    nx_status status = nx_import_file(ctx, &r.d, &t);
    nx_error_take(&e);
    if (status != r.status || !strstr(e.message, r.what))
      fail_msg("refusal %d: %s: %s", (int)i, nx_status_name(status), e.message);
    assert_null(t);
  }
  nx_tensor *t = NULL;
  nx_import_file_desc d = D(path, NX_F32, .rank = 1);
  FAILS(NX_INVALID_ARGUMENT, nx_import_file(ctx, &d, &t)); /* no shape */
  FAILS(NX_INVALID_ARGUMENT, nx_import_file(ctx, NULL, &t));
  FAILS(NX_INVALID_ARGUMENT, nx_import_file(ctx, &d, NULL));
  struct stat s;
  assert_int_equal(stat(path, &s), 0);
  assert_int_equal(s.st_size, sizeof bytes);
}

/* No memory at any point of mapping a file: nothing of it is left, and it works when there is
 * memory again. */
static void without_memory(void **state) {
  (void)state;
  const float data[6] = {1, 2, 3, 4, 5, 6};
  write_file(data, sizeof data);
  const view v = {"", 1, {-1}, {0}, 0};
  for (uint32_t mode = NX_FILE_READ; mode <= NX_FILE_SHARED; mode++)
    for (int odd = 0; odd < 2; odd++) {
      nx_import_file_desc d = describe(NX_F32, &v, mode, false);
      d.offset = 4 - odd; /* copied, where that may be */
      const int64_t five = 5;
      d.shape = &five;
      if (odd && mode == NX_FILE_SHARED) continue;
      nx_tensor *t = NULL;
      int failures = 0;
      for (int64_t point = 0; !t; point++) {
        nxi_alloc_fail(point, false);
        nx_status status = nx_import_file(ctx, &d, &t);
        nxi_alloc_fail(-1, false);
        if (status == NX_OK) break;
        assert_int_equal(status, NX_OUT_OF_MEMORY);
        nx_error e = {.size = sizeof e};
        assert_int_equal(nx_error_take(&e), NX_OUT_OF_MEMORY);
        assert_string_equal(e.op, "import_file");
        assert_null(t);
        failures++;
      }
      assert_true(failures > 0);
      if (!odd) EXPECT(t, 2, 3, 4, 5, 6);
      release(t);
    }
}

/* A file that was written is read as a private mapping: assigns leave it as it is. */
static void npy_files(void **state) {
  (void)state;
  nx_tensor *m = GOOD(nx_reshape(vector(6, 1, 1), NX_SHAPE(2, 3), 0)),
            *turned = GOOD(nx_permute(m, NX_AXES(1, 0))), *back = NULL;
  OK(nx_save_npy(turned, path, NULL));
  OK(nx_load_npy(ctx, path, &back));
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(back, &info);
  assert_int_equal(info.shape[0], 3);
  EXPECT(back, 1, 4, 2, 5, 3, 6);
  nx_mapping *mapping;
  OK(nx_map(back, NX_MAP_READ, NULL, &mapping));
  OK(nx_assign(back, nx_add(back, number(1)))); /* the file stays as it is */
  EXPECT(back, 2, 5, 3, 6, 4, 7);
  assert_true(*(float *)nx_mapping_base(mapping, NULL) == 2);
  nx_mapping_release(mapping);
  nx_tensor *again = NULL;
  OK(nx_load_npy(ctx, path, &again));
  OK(nx_assign(GOOD(nx_shrink(again, (int64_t[]){0, 0}, (int64_t[]){1, 2}, 2)), number(0)));
  EXPECT(again, 0, 0, 2, 5, 3, 6);
  release(back), release(again);
  unlink(path);
  FAILS(NX_IO, nx_load_npy(ctx, path, &back));
}

static int make_root(void **state) {
  if (!mkdtemp(root)) return -1;
  snprintf(path, sizeof path, "%s/array", root);
  return open_context(state);
}

static int remove_root(void **state) {
  unlink(path);
  rmdir(root);
  return close_context(state);
}

NXT_MAIN(host_arrays) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(imports), IN_SCOPE(exports),        IN_SCOPE(fortran_reshape),
      IN_SCOPE(files),   IN_SCOPE(growing),        IN_SCOPE(misaligned),
      IN_SCOPE(refused), IN_SCOPE(without_memory), IN_SCOPE(npy_files),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
