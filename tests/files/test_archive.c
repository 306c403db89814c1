/* SPDX-License-Identifier: ISC */
/* Archives: .safetensors written and read, headers of both formats that are wrong in all ways, and
 * .npz files as NumPy writes them (NX_NUMPY_PYTHON, else /usr/bin/python3; without it those are
 * skipped). */
#include "tests/util/api.h"
#include "file_seeds.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ir/alloc.h"
#include "ir/dtype.h"
#include "runtime/files/archive.h"
#include "runtime/files/safetensors.h"

static char root[] = "/tmp/nx_archive_XXXXXX";

static const char *in_root(const char *name) {
  static char paths[4][256];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", root, name);
  return path;
}

static const char *write_file(const char *name, const void *data, size_t size) {
  FILE *f = fopen(in_root(name), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
  return in_root(name);
}

static nx_archive *opened(const char *path) {
  nx_archive *a = NULL;
  OK(nx_archive_open(path, &a));
  return a;
}

/* ---- what is right */

static void reading(void **state) {
  (void)state;
  nx_archive *a = opened(write_file("a", safetensors_file, sizeof safetensors_file - 1));
  nx_array_info info = {.size = sizeof info};
  const char *key = NULL, *value = NULL;
  assert_int_equal(nx_archive_count(a), 3);
  assert_int_equal(nx_archive_find(a, "e"), 2);
  assert_int_equal(nx_archive_find(a, "nothing"), -1);
  assert_string_equal(nx_archive_name(a, 1), "b");
  assert_null(nx_archive_name(a, 3));
  assert_int_equal(nx_archive_metadata(a, 0, &key, &value), 1);
  assert_string_equal(key, "format");
  assert_string_equal(value, "\xc3\xa9\xf0\x9f\x98\x80 \n");
  OK(nx_archive_describe(a, 0, &info));
  assert_string_equal(info.name, "w.1");
  assert_string_equal(info.type, "F32");
  assert_int_equal(info.dtype, NX_F32);
  assert_int_equal(info.rank, 2);
  assert_int_equal(info.shape[0], 2);
  assert_int_equal(info.offset, 8 + 216);
  assert_int_equal(info.bytes, 8);
  FAILS(NX_INVALID_ARGUMENT, nx_archive_describe(a, 3, &info));
  nx_tensor *w = NULL, *e = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_archive_load(a, ctx, "W.1", NULL, &w));
  OK(nx_archive_load(a, ctx, "w.1", NULL, &w));
  OK(nx_archive_load(a, ctx, "e", NULL, &e));
  nx_archive_close(a); /* what was loaded stays */
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_int_equal(s.live_bytes, 0); /* the file's own pages */
  EXPECT(w, 1, 2);
  EXPECT(nx_add(w, w), 2, 4);
  OK(nx_assign(w, number(5))); /* moves to memory of its own */
  EXPECT(w, 5, 5);
  char after[sizeof safetensors_file];
  FILE *f = fopen(in_root("a"), "rb");
  assert_int_equal(fread(after, 1, sizeof after, f), sizeof after - 1);
  fclose(f);
  assert_memory_equal(after, safetensors_file, sizeof after - 1);
  release(w), release(e);
}

/* Every dtype that the format has, from tensors that are packed, turned, in part, pending, and
 * empty. */
static void writing(void **state) {
  (void)state;
  nx_named_tensor named[64];
  char names[64][16];
  size_t n = 0;
  for (nx_dtype t = 1; t < NXI_DTYPE_COUNT; t++) {
    if (!nxi_safetensors_name(t)) continue;
    nx_tensor *x = GOOD(nx_cast(GOOD(nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0)), t));
    nx_tensor *turned = GOOD(nx_permute(x, NX_AXES(1, 0)));
    nx_tensor *corner = GOOD(
        nx_slice(x, (const int64_t[]){1, 1}, (const int64_t[]){1, 2}, (const int64_t[]){1, 1}, 2));
    nx_tensor *const forms[] = {x, turned, corner,
                                GOOD(nx_full(ctx, 0, t, NX_SHAPE(0, 2), NX_INTEGER(0)))};
    for (int k = 0; k < 4 && n < 64; k++, n++) {
      snprintf(names[n], sizeof names[n], "%s\"%d\\\n", nx_dtype_name(t), k);
      named[n] = (nx_named_tensor){names[n], forms[k]};
    }
  }
  const nx_text_pair metadata[] = {{"b", "\x01 \"x\""}, {"a", "\xc3\xa9"}};
  OK(nx_save_safetensors(ctx, in_root("w"), named, n, metadata, 2, NULL));
  nx_archive *a = opened(in_root("w"));
  const char *key = NULL, *value = NULL;
  assert_int_equal(nx_archive_count(a), n);
  assert_int_equal(nx_archive_metadata(a, 1, &key, &value), 2);
  assert_string_equal(key, "b");
  assert_string_equal(value, "\x01 \"x\"");
  for (size_t i = 0; i < n; i++) {
    nx_tensor *back = NULL;
    nx_tensor_info is = {.size = sizeof is}, was = {.size = sizeof was};
    nx_array_info info = {.size = sizeof info};
    OK(nx_archive_load(a, ctx, names[i], NULL, &back));
    OK(nx_archive_describe(a, (size_t)nx_archive_find(a, names[i]), &info));
    nx_tensor_describe(named[i].tensor, &was);
    nx_tensor_describe(back, &is);
    assert_int_equal(is.dtype, was.dtype);
    assert_int_equal(is.rank, was.rank);
    assert_int_equal(info.offset * 8 % (int64_t)nx_dtype_bits(is.dtype), 0);
    for (int32_t k = 0; k < is.rank; k++) assert_int_equal(is.shape[k], was.shape[k]);
    uint8_t x[96], y[96];
    size_t bytes = (size_t)is.elements * nx_dtype_bits(is.dtype) / 8;
    OK(nx_read(named[i].tensor, x, bytes, NULL));
    OK(nx_read(back, y, bytes, NULL));
    assert_memory_equal(x, y, bytes);
  }
  nx_archive_close(a);
}

/* ---- headers that are wrong */

static void refuses(const void *data, size_t size, const char *why, int64_t index) {
  nx_archive *a = NULL;
  nx_error e = {.size = sizeof e};
  nx_status status = nx_archive_open(write_file("bad", data, size), &a);
  nx_error_take(&e);
  if (status != NX_PARSE || !strstr(e.message, why) || (index >= 0 && e.index != index))
    fail_msg("\"%s\" at %d was expected, not %s: %s", why, (int)index, nx_status_name(status),
             e.message);
  assert_null(a);
}

/* index: from the start of the JSON. */
static void refuses_json(const char *json, size_t data, const char *why, int64_t index) {
  char file[1024] = {0};
  size_t n = strlen(json);
  file[0] = (char)n, file[1] = (char)(n >> 8);
  memcpy(file + 8, json, n);
  refuses(file, 8 + n + data, why, index < 0 ? -1 : 8 + index);
}

#define TENSOR(type, shape, offsets) \
  "{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

static void bad_json(void **state) {
  (void)state;
  refuses_json("[]", 0, "does not begin with {", 0);
  refuses_json(" {}", 0, "does not begin with {", 0);
  refuses_json("{", 0, "a string is expected", 1);
  refuses_json("{}x", 0, "something follows", 2);
  refuses_json("{,}", 0, "a string is expected", 1);
  refuses_json("{\"a\"}", 0, "a colon", 4);
  refuses_json("{\"a\":1}", 0, "description of a tensor", 5);
  refuses_json("{\"a", 0, "does not end", 3);
  refuses_json("{\"a\\", 0, "does not end", 4);
  refuses_json("{\"\\x\":1}", 0, "no such escape", 3);
  refuses_json("{\"\\u12g4\":1}", 0, "hexadecimal", 2);
  refuses_json("{\"\\u0000\":1}", 0, "not all 0", 2);
  refuses_json("{\"\\ud800x\":1}", 0, "surrogate", 2);
  refuses_json("{\"\\udc00\\ud800\":1}", 0, "surrogate", 2);
  refuses_json("{\"\t\":1}", 0, "control character", 2);
  refuses_json("{\"\xff\":1}", 0, "UTF-8", 2);
  refuses_json("{\"\xc0\x80\":1}", 0, "UTF-8", 2);
  refuses_json("{\"\xed\xa0\x80\":1}", 0, "UTF-8", 2);
  refuses_json("{\"a\":{}}", 0, "lacks", 7);
  refuses_json("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, "unknown or repeated", 19);
  refuses_json("{\"a\":{\"type\":\"U8\"}}", 0, "unknown or repeated", 6);
  refuses_json("{\"a\":{\"dtype\":{\"dtype\":{}}}}", 0, "a string is expected", 14);
  refuses_json("{\"a\":{\"shape\":[[[[]]]]}}", 0, "a number", 15);
  refuses_json("{\"a\":{\"shape\":[1,]}}", 0, "a number", 17);
  refuses_json("{\"a\":{\"shape\":[-1]}}", 0, "a number", 15);
  refuses_json("{\"a\":{\"shape\":[01]}}", 0, "a number", 15);
  refuses_json("{\"a\":{\"shape\":[1.0]}}", 0, "a comma", 16);
  refuses_json("{\"a\":{\"shape\":[1e3]}}", 0, "a comma", 16);
  refuses_json("{\"a\":{\"shape\":[9223372036854775808]}}", 0, "too large", 15);
  refuses_json(
      "{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}", 0,
      "more than 32", -1);
  refuses_json("{\"a\":" TENSOR("U9", "1", "0,1") "}", 1, "no such element type", 14);
  refuses_json("{\"a\":" TENSOR("U8", "1", "1,0") "}", 1, "end before", -1);
  refuses_json("{\"a\":" TENSOR("U8", "1", "0,1,2") "}", 1, "end of the offsets", -1);
  refuses_json("{\"a\":" TENSOR("U8", "2", "0,1") "}", 1, "takes 16 bits", 1);
  refuses_json("{\"a\":" TENSOR("F4", "1", "0,1") "}", 1, "takes 4 bits", 1);
  refuses_json("{\"a\":" TENSOR("F32", "4294967296,4294967296", "0,1") "}", 1, "overflows", 1);
  refuses_json("{\"a\":" TENSOR("U8", "4294967296,0,4294967296", "0,0") "}", 0, "overflows", 1);
  refuses_json("{\"a\":" TENSOR("U8", "1", "0,1") ",\"a\":" TENSOR("U8", "1", "1,2") "}", 2,
               "two arrays named a", -1);
  refuses_json("{\"a\":" TENSOR("U8", "2", "0,2") ",\"b\":" TENSOR("U8", "2", "1,3") "}", 3,
               "overlap", -1);
  refuses_json("{\"a\":" TENSOR("U8", "1", "0,1") ",\"b\":" TENSOR("U8", "1", "2,3") "}", 3,
               "a hole", -1);
  refuses_json("{\"a\":" TENSOR("U8", "1", "1,2") "}", 2, "a hole", 1);
  refuses_json("{\"a\":" TENSOR("U8", "3", "0,3") "}", 2, "the file ends before", 1);
  refuses_json("{\"a\":" TENSOR("U8", "3", "0,3") "}", 4, "something follows the last", -1);
  refuses_json("{\"__metadata__\":[]}", 0, "an object", -1);
  refuses_json("{\"__metadata__\":{\"a\":1}}", 0, "a string is expected", -1);
  refuses_json("{\"__metadata__\":{\"a\":{}}}", 0, "a string is expected", -1);
  refuses_json("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "two metadata", -1);
  refuses_json("{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 0, "two values", -1);
  refuses("1234567", 7, "too short", 7);
  refuses("\x03\0\0\0\0\0\0\0{}", 10, "does not fit", 0);
  refuses("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "does not fit", 0);
}

/* A type of the format that has no counterpart: the file is read, the array is not. */
static void unknown_type(void **state) {
  (void)state;
  static const char json[] =
      "{\"a\":" TENSOR("F6_E2M3", "8", "0,6") ",\"b\":" TENSOR("U8", "1", "6,7") "}";
  char file[256] = {sizeof json - 1};
  memcpy(file + 8, json, sizeof json - 1);
  nx_archive *a = opened(write_file("u", file, 8 + sizeof json - 1 + 7));
  nx_array_info info = {.size = sizeof info};
  OK(nx_archive_describe(a, 0, &info));
  assert_int_equal(info.dtype, 0);
  assert_string_equal(info.type, "F6_E2M3");
  assert_int_equal(info.bytes, 6);
  nx_tensor *t = NULL;
  FAILS(NX_UNSUPPORTED_DTYPE, nx_archive_load(a, ctx, "a", NULL, &t));
  OK(nx_archive_load(a, ctx, "b", NULL, &t));
  nx_archive_close(a);
  release(t);
}

/* ---- .npz: the stored seed with bytes changed */

enum { FIRST_DATA = 30 + 5 + 20 }; /* local header, name, sizes of 64 bits */

static size_t find(const unsigned char *data, size_t size, const char *signature, int which) {
  for (size_t i = 0; i + 4 <= size; i++)
    if (memcmp(data + i, signature, 4) == 0 && which-- == 0) return i;
  fail_msg("there is no %d", which);
  return 0;
}

static void patched(const char *signature, int which, size_t at, unsigned value, int bytes,
                    const char *why) {
  unsigned char copy[sizeof stored_zip];
  memcpy(copy, stored_zip, sizeof copy);
  size_t place = find(copy, sizeof copy, signature, which) + at;
  for (int i = 0; i < bytes; i++) copy[place + (size_t)i] = (unsigned char)(value >> 8 * i);
  refuses(copy, sizeof copy, why, -1);
}

static void bad_zip(void **state) {
  (void)state;
  unsigned second = (unsigned)find(stored_zip, sizeof stored_zip, "PK\3\4", 1);
  patched("PK\5\6", 0, 4, 1, 2, "several parts");
  patched("PK\5\6", 0, 8, 1, 2, "several parts");
  patched("PK\5\6", 0, 12, 1, 4, "does not end at");
  patched("PK\5\6", 0, 16, 0x7fffffff, 4, "does not end at");
  patched("PK\5\6", 0, 20, 1, 2, "no end record");
  patched("PK\5\6", 0, 8, 0x40004, 4, "too short for its members");
  patched("PK\5\6", 0, 8, 0x10001, 4, "something follows the members");
  patched("PK\1\2", 1, 0, 0, 4, "a member of the directory is expected");
  patched("PK\1\2", 0, 8, 1, 2, "encrypted");
  patched("PK\1\2", 0, 10, 12, 2, "method 12");
  patched("PK\1\2", 0, 10, 8, 2, "not what the directory says");
  patched("PK\1\2", 0, 24, 7, 4, "two sizes");
  patched("PK\1\2", 0, 28, 0xffff, 2, "past the directory");
  patched("PK\1\2", 0, 28, 0, 2, "empty");
  patched("PK\1\2", 0, 42, 0x7fffffff, 4, "no member begins");
  patched("PK\1\2", 0, 42, 1, 4, "no member begins");
  patched("PK\1\2", 0, 46, 'x', 1, "not what the directory says");
  patched("PK\3\4", 0, 30, 'x', 1, "not what the directory says");
  patched("PK\3\4", 0, 18, 5, 4, "other sizes");
  patched("PK\1\2", 1, 42, 0, 4, "not what the directory says");
  unsigned char copy[sizeof stored_zip];
  memcpy(copy, stored_zip, sizeof copy); /* the member's sizes are those of 64 bits */
  memset(copy + 18, 0xff, 8);
  nx_archive_close(opened(write_file("wide", copy, sizeof copy)));
  copy[30 + 5 + 4] ^= 1;
  refuses(copy, sizeof copy, "other sizes", 18);
  memcpy(copy, stored_zip, sizeof copy); /* two entries for the bytes of one member */
  size_t directory = find(copy, sizeof copy, "PK\1\2", 1);
  memset(copy + directory + 42, 0, 4);
  copy[directory + 46] = 'a';
  memcpy(copy + directory + 16, copy + find(copy, sizeof copy, "PK\1\2", 0) + 16, 12);
  refuses(copy, sizeof copy, "share bytes", 0);
  memcpy(copy, stored_zip, sizeof copy); /* two members of one name */
  copy[second + 30] = copy[directory + 46] = 'a';
  refuses(copy, sizeof copy, "two arrays named a", -1);
  unsigned char bomb[sizeof deflated_zip]; /* says that it gets larger than deflate can make it */
  memcpy(bomb, deflated_zip, sizeof bomb);
  size_t at = find(bomb, sizeof bomb, "PK\1\2", 0);
  memcpy(bomb + at + 24, "\0\0\0\x70", 4);
  refuses(bomb, sizeof bomb, "cannot come from", (int64_t)at + 24);
  refuses("PK\3\4", 4, "no end record", -1);
  refuses(stored_zip, sizeof stored_zip - 1, "no end record", sizeof stored_zip - 1);
}

/* Faults that show when a member is loaded. */
static void bad_members(void **state) {
  (void)state;
  unsigned char copy[sizeof stored_zip];
  nx_tensor *t = NULL;
  nx_error e = {.size = sizeof e};
  memcpy(copy, stored_zip, sizeof copy);
  copy[FIRST_DATA] ^= 1;
  nx_archive *a = opened(write_file("m", copy, sizeof copy));
  assert_int_equal(nx_archive_load(a, ctx, "a", NULL, &t), NX_PARSE);
  nx_error_take(&e);
  assert_int_equal(e.index, FIRST_DATA);
  assert_non_null(strstr(e.message, "member a"));
  OK(nx_archive_load(a, ctx, "b", NULL, &t));
  nx_archive_close(a);
  release(t), t = NULL;
  if (!nxi_inflate_works) return;
  unsigned char packed[sizeof deflated_zip];
  memcpy(packed, deflated_zip, sizeof packed);
  size_t at = find(packed, sizeof packed, "PK\1\2", 0);
  packed[at + 16] ^= 1;
  a = opened(write_file("m", packed, sizeof packed));
  assert_int_equal(nx_archive_load(a, ctx, "a", NULL, &t), NX_PARSE);
  nx_error_take(&e);
  assert_non_null(strstr(e.message, "checksum"));
  OK(nx_archive_load(a, ctx, "c", NULL, &t));
  nx_archive_close(a);
  release(t);
}

static void deflated(void **state) {
  (void)state;
  nx_archive *a = opened(write_file("d", deflated_zip, sizeof deflated_zip));
  nx_tensor *t = NULL;
  nx_array_info info = {.size = sizeof info};
  if (!nxi_inflate_works) {
    nx_error e = {.size = sizeof e};
    assert_int_equal(nx_archive_load(a, ctx, "c", NULL, &t), NX_IO);
    nx_error_take(&e);
    assert_non_null(strstr(e.message, "zlib"));
    nx_archive_close(a);
    return;
  }
  OK(nx_archive_describe(a, 1, &info));
  assert_int_equal(info.dtype, NX_F64);
  assert_int_equal(info.shape[0], 40);
  assert_int_equal(info.offset, -1);
  OK(nx_archive_load(a, ctx, "c", NULL, &t));
  nx_archive_close(a);
  double values[40];
  OK(nx_read(t, values, sizeof values, NULL));
  for (int i = 0; i < 40; i++) assert_true(values[i] == i);
  release(t);
}

/* Of a large file the header is read, and what is loaded when it is wanted; the rest never gets
 * into memory. */
static void touched_pages(void **state) {
  (void)state;
  enum { LARGE = 64 << 20 };
  char head[256] = {0};
  snprintf(head + 8, sizeof head - 8,
           "{\"large\":" TENSOR("F32", "%d", "0,%d") ",\"last\":" TENSOR("F32", "4", "%d,%d") "}",
           LARGE / 4, LARGE, LARGE, LARGE + 16);
  size_t length = strlen(head + 8), begin = 8 + (length + 7) / 8 * 8;
  memset(head + 8 + length, ' ', begin - 8 - length);
  head[0] = (char)(begin - 8);
  size_t size = begin + LARGE + 16;
  const float last[] = {1, 2, 3, 4};
  const char *path = write_file("large", head, begin);
  assert_int_equal(truncate(path, (off_t)(begin + LARGE)), 0);
  FILE *f = fopen(path, "ab");
  assert_int_equal(fwrite(last, sizeof last, 1, f), 1);
  assert_int_equal(fclose(f), 0);
  nx_archive *a = opened(path);
  nx_tensor *t = NULL, *large = NULL;
  OK(nx_archive_load(a, ctx, "large", NULL, &large));
  OK(nx_archive_load(a, ctx, "last", NULL, &t));
  EXPECT(t, 1, 2, 3, 4);
  size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page, touched = 0;
  unsigned char *in_memory = malloc(pages);
  int fd = open(path, O_RDONLY);
  void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
  assert_true(map != MAP_FAILED);
  assert_int_equal(mincore(map, size, in_memory), 0);
  for (size_t i = 0; i < pages; i++) touched += in_memory[i] & 1;
  assert_in_range(touched, 1, pages / 16);
  munmap(map, size);
  close(fd);
  free(in_memory);
  nx_archive_close(a);
  release(t), release(large);
}

/* An archive that is open may be used by any threads at once. */
static void *load_many(void *archive) {
  for (int i = 0; i < 200; i++) {
    nx_tensor *t = NULL;
    float value[2];
    if (nx_archive_load(archive, ctx, "w.1", NULL, &t) != NX_OK ||
        nx_read(t, value, sizeof value, NULL) != NX_OK || value[1] != 2)
      return archive;
    release(t);
  }
  return NULL;
}

static void several_threads(void **state) {
  (void)state;
  nx_archive *a = opened(write_file("t", safetensors_file, sizeof safetensors_file - 1));
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, load_many, a), 0);
  for (int i = 0; i < 4; i++) {
    void *failed;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  nx_archive_close(a);
}

static int32_t stop(void *user) { return ++*(int *)user > 0; }

static void interrupted(void **state) {
  (void)state;
  nx_archive *a = opened(write_file("i", deflated_zip, sizeof deflated_zip));
  int asked = 0;
  nx_run_options o = {.size = sizeof o, .poll = stop, .user = &asked};
  nx_tensor *t = NULL;
  FAILS(NX_INTERRUPTED, nx_archive_load(a, ctx, "c", &o, &t));
  FAILS(NX_INTERRUPTED, nx_save_safetensors(ctx, in_root("i2"), NULL, 0, NULL, 0, &o));
  assert_int_equal(asked, 2);
  assert_null(t);
  assert_int_equal(access(in_root("i2"), F_OK), -1);
  nx_archive_close(a);
}

/* ---- no memory, at every point */

static void without_memory(void **state) {
  (void)state;
  const file_seed *seeds[] = {&file_seeds[1], &file_seeds[2], &file_seeds[4]};
  const char *const names[] = {"b", "c", "b"};
  for (int s = 0; s < 3; s++) {
    if (s == 1 && !nxi_inflate_works) continue;
    const char *path = write_file("f", seeds[s]->data, seeds[s]->size);
    nx_tensor *t = NULL;
    int failures = 0;
    for (int64_t point = 0; !t; point++) {
      nx_archive *a = NULL;
      nxi_alloc_fail(point, false);
      nx_status status = nx_archive_open(path, &a);
      if (!status) status = nx_archive_load(a, ctx, names[s], NULL, &t);
      if (!status && failures < 3)
        status =
            nx_save_safetensors(ctx, in_root("g"), &(nx_named_tensor){"t", t}, 1, NULL, 0, NULL);
      nxi_alloc_fail(-1, false);
      nx_archive_close(a);
      if (!status) break;
      failures++;
      assert_int_equal(status, NX_OUT_OF_MEMORY);
      assert_int_equal(nx_error_take(NULL), NX_OUT_OF_MEMORY);
      release(t), t = NULL;
    }
    assert_true(failures > 3);
    release(t);
  }
  nx_tensor *x = constant(3, 2), *y = NULL;
  for (int64_t point = 0;; point++) {
    nxi_alloc_fail(point, false);
    nx_status status = nx_save_safetensors(ctx, in_root("g"), &(nx_named_tensor){"t", x}, 1,
                                           &(nx_text_pair){"k", "v"}, 1, NULL);
    nxi_alloc_fail(-1, false);
    if (status == NX_OK) break;
    assert_int_equal(nx_error_take(NULL), NX_OUT_OF_MEMORY);
  }
  nx_archive *a = opened(in_root("g"));
  OK(nx_archive_load(a, ctx, "t", NULL, &y));
  EXPECT(y, 2, 2, 2);
  nx_archive_close(a);
  release(y), release(x);
}

/* ---- as NumPy writes and reads them */

static bool python(const char *program) {
  const char *interpreter = getenv("NX_NUMPY_PYTHON");
  char command[4096];
  snprintf(command, sizeof command, "cd '%s' && '%s' -c \"%s\" >python.log 2>&1", root,
           interpreter ? interpreter : "/usr/bin/python3", program);
  return system(command) == 0;
}

static void numpy_npz(void **state) {
  (void)state;
  if (!python("import numpy")) skip();
  assert_true(python(
      "import numpy as np, zipfile\n"
      "x = {t: np.arange(24).reshape(2, 3, 4).astype(t) for t in 'i1 <u2 >i4 <f4 >f8'.split()}\n"
      "x['big'] = np.arange(300000, dtype='f4')\n"
      "np.savez('s.npz', **x)\n"
      "np.savez_compressed('c.npz', **x)\n"
      "zipfile.ZIP_FILECOUNT_LIMIT = 1\n"
      "np.savez('z.npz', **x)\n"));
  static const char *const files[] = {"s.npz", "z.npz", "c.npz"};
  static const char *const names[] = {"i1", "<u2", ">i4", "<f4", ">f8"};
  for (int f = 0; f < (nxi_inflate_works ? 3 : 2); f++) {
    nx_archive *a = opened(in_root(files[f]));
    assert_int_equal(nx_archive_count(a), 6);
    nx_tensor *t = NULL;
    for (int k = 0; k < 5; k++) {
      float values[24];
      OK(nx_archive_load(a, ctx, names[k], NULL, &t));
      OK(nx_read(GOOD(nx_cast(t, NX_F32)), values, sizeof values, NULL));
      for (int i = 0; i < 24; i++) assert_true(values[i] == (float)i);
      release(t);
    }
    OK(nx_archive_load(a, ctx, "big", NULL, &t));
    float *values = malloc(300000 * sizeof *values);
    OK(nx_read(t, values, 300000 * sizeof *values, NULL));
    for (int i = 0; i < 300000; i++) assert_true(values[i] == (float)i);
    free(values);
    release(t);
    nx_archive_close(a);
  }
}

/* What is written is what the format's own words say, read with nothing but json and struct. */
static void python_safetensors(void **state) {
  (void)state;
  if (!python("import numpy")) skip();
  nx_tensor *x = GOOD(nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0)),
            *y = GOOD(nx_cast(vector(3, 1, 1), NX_I8));
  const nx_named_tensor named[] = {{"y", y}, {"x t", GOOD(nx_permute(x, NX_AXES(1, 0)))}};
  OK(nx_save_safetensors(ctx, in_root("p"), named, 2, &(nx_text_pair){"who", "nx"}, 1, NULL));
  assert_true(
      python("import json, struct, numpy as np\n"
             "b = open('p', 'rb').read()\n"
             "n, = struct.unpack('<Q', b[:8])\n"
             "assert n % 8 == 0\n"
             "h = json.loads(b[8:8 + n])\n"
             "assert h.pop('__metadata__') == {'who': 'nx'}\n"
             "assert h['x t'] == {'dtype': 'F32', 'shape': [3, 2], 'data_offsets': [0, 24]}\n"
             "assert h['y'] == {'dtype': 'I8', 'shape': [3], 'data_offsets': [24, 27]}\n"
             "assert len(b) == 8 + n + 27\n"
             "assert np.frombuffer(b, 'f4', 6, 8 + n).tolist() == [0, 3, 1, 4, 2, 5]\n"
             "assert list(b[-3:]) == [1, 2, 3]\n"));
}

static int make_root(void **state) {
  if (!mkdtemp(root)) return -1;
  return open_context(state);
}

static int remove_root(void **state) {
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  return system(command) + close_context(state);
}

NXT_MAIN(archive) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(reading),
      IN_SCOPE(writing),
      IN_SCOPE(bad_json),
      IN_SCOPE(bad_zip),
      IN_SCOPE(bad_members),
      IN_SCOPE(unknown_type),
      IN_SCOPE(deflated),
      IN_SCOPE(without_memory),
      IN_SCOPE(touched_pages),
      IN_SCOPE(several_threads),
      IN_SCOPE(interrupted),
      IN_SCOPE(numpy_npz),
      IN_SCOPE(python_safetensors),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
