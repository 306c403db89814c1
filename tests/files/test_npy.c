/* SPDX-License-Identifier: ISC */
/* .npy files: those that we write and those that NumPy writes, read by both; and headers that are
 * wrong in all ways, at the very end of readable memory, so that a byte read too many ends the
 * test. NumPy is asked for with NX_NUMPY_PYTHON, else /usr/bin/python3; without it those tests are
 * skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "runtime/files/npy.h"
#include "tests/util/runner.h"

static char root[] = "/tmp/nx_npy_XXXXXX";

static const char *in_root(const char *name) {
  static char paths[4][256];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", root, name);
  return path;
}

/* A copy of a file that ends where memory ends. */
static char *guarded;
static size_t guarded_bytes;

static const char *at_the_edge(const void *data, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (!guarded) {
    guarded_bytes = 16 * page;
    guarded = mmap(NULL, guarded_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(guarded != MAP_FAILED);
    assert_int_equal(mprotect(guarded + guarded_bytes, page, PROT_NONE), 0);
  }
  assert_true(size <= guarded_bytes);
  char *p = guarded + guarded_bytes - size;
  memcpy(p, data, size);
  return p;
}

/* A version 1 file with this dictionary and so many bytes of data. */
static size_t make_file(char *file, const char *dictionary, size_t data) {
  size_t n = strlen(dictionary);
  memcpy(file, "\x93NUMPY\x01\x00", 8);
  file[8] = (char)(n & 255);
  file[9] = (char)(n >> 8);
  memcpy(file + 10, dictionary, n);
  for (size_t i = 0; i < data; i++) file[10 + n + i] = (char)i;
  return 10 + n + data;
}

static nx_status parse_text(const char *dictionary, size_t data, nxi_file_array *out, nxi_diag *d) {
  char file[4096];
  size_t size = make_file(file, dictionary, data);
  nxi_diag_clear(d);
  return nxi_npy_parse(at_the_edge(file, size), size, out, d);
}

static void accepts(const char *dictionary, size_t data, nx_dtype dtype, int32_t rank,
                    bool fortran) {
  nxi_file_array npy;
  nxi_diag d;
  if (parse_text(dictionary, data, &npy, &d) != NX_OK) fail_msg("%s: %s", dictionary, d.message);
  assert_int_equal(npy.dtype, dtype);
  assert_int_equal(npy.rank, rank);
  assert_int_equal(npy.fortran, fortran);
  assert_int_equal(npy.offset, 10 + (int64_t)strlen(dictionary));
}

static char said[sizeof((nxi_diag *)0)->message]; /* by the last refusal */

static void refuses(const char *dictionary, size_t data, nx_status status, int64_t index) {
  nxi_file_array npy = {.rank = 77};
  nxi_diag d;
  nx_status got = parse_text(dictionary, data, &npy, &d);
  if (got != status)
    fail_msg("%s: %s instead of %s", dictionary, nx_status_name(got), nx_status_name(status));
  if (index >= 0 && d.index != index)
    fail_msg("%s: byte %lld instead of %lld: %s", dictionary, (long long)d.index, (long long)index,
             d.message);
  assert_int_equal(npy.rank, 77); /* untouched */
  assert_true(d.index >= 0);
  assert_string_equal(d.op, "npy");
  memcpy(said, d.message, sizeof said);
}

static void says(const char *words) {
  if (!strstr(said, words)) fail_msg("\"%s\" does not say \"%s\"", said, words);
}

static void test_headers(void **state) {
  (void)state;
  accepts("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", 48, NX_F32, 2, false);
  accepts("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}", 48, NX_F32, 2, true);
  accepts("{\"shape\":(3L,4L,),\"descr\":\"=f4\",\"fortran_order\":False}   \n", 49, NX_F32, 2,
          false);
  accepts(" { 'fortran_order' : False , 'shape' : ( ) , 'descr' : '|b1' } ", 1, NX_BOOL, 0, false);
  accepts("{'descr': '>i8', 'fortran_order': False, 'shape': (2,), }\n", 16, NX_I64, 1, false);
  accepts("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }\n", 4, NX_BF16, 1, false);
  accepts("{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }\n", 4, NX_BF16, 1, false);
  accepts("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }\n", 16, NX_C128, 1, false);
  accepts("{'descr': 'c8', 'fortran_order': False, 'shape': (0, 5), }\n", 0, NX_C64, 2, false);
  accepts("{'descr': '<u2', 'fortran_order': False, 'shape': "
          "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
          2, NX_U16, 32, false);
}

static void test_refused_headers(void **state) {
  (void)state;
  refuses("", 0, NX_PARSE, 10);
  refuses("{", 0, NX_PARSE, 11);
  refuses("{}", 0, NX_PARSE, 12);
  refuses("['descr']", 0, NX_PARSE, 10);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } x", 48, NX_PARSE, 70);
  refuses("{'descr': '<f4', 'fortran_order': False}", 48, NX_PARSE, 50);
  refuses("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 48, NX_PARSE,
          27);
  refuses("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", 48, NX_PARSE, 44);
  refuses("{'descr': '<f4', 'other': False, 'shape': ()}", 48, NX_PARSE, 27);
  refuses("{'descr': '<f4' 'fortran_order': False, 'shape': ()}", 48, NX_PARSE, 26);
  refuses("{'descr' '<f4', 'fortran_order': False, 'shape': ()}", 48, NX_PARSE, 19);
  refuses("{'descr': '<f4", 48, NX_PARSE, 24);
  refuses("{'descr': '<f\\x34', 'fortran_order': False, 'shape': ()}", 48, NX_PARSE, 23);
  refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 48,
          NX_UNSUPPORTED_DTYPE, 20);
  refuses("{'descr': '|O', 'fortran_order': False, 'shape': ()}", 48, NX_UNSUPPORTED_DTYPE, 20);
  refuses("{'descr': '', 'fortran_order': False, 'shape': ()}", 48, NX_UNSUPPORTED_DTYPE, 20);
  refuses("{'descr': '<f16', 'fortran_order': False, 'shape': ()}", 48, NX_UNSUPPORTED_DTYPE, 20);
  refuses("{'descr': '<U3', 'fortran_order': False, 'shape': ()}", 48, NX_UNSUPPORTED_DTYPE, 20);
  refuses("{'descr': '<V4', 'fortran_order': False, 'shape': ()}", 48, NX_UNSUPPORTED_DTYPE, 20);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", 48, NX_PARSE, 62);
  says("a number in parentheses is no tuple");
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (0x2,)}", 48, NX_PARSE, 62);
  says("a comma or the end of the shape is expected");
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3", 48, NX_PARSE, 62);
  says("a comma or the end of the shape is expected");
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", 48, NX_PARSE, 63);
  says("a comma or the end of the shape is expected");
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", 48, NX_PARSE, -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", 48, NX_PARSE, -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1,,2)}", 48, NX_PARSE, -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': [1]}", 48, NX_PARSE, -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", 48, NX_PARSE,
          -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}", 48, NX_PARSE,
          -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 48,
          NX_PARSE, -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 0, 4294967296)}", 48,
          NX_PARSE, -1);
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (13,)}", 48, NX_PARSE,
          10 + 56 + 48); /* too short */
  refuses("{'descr': '<f4', 'fortran_order': False, 'shape': "
          "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
          4, NX_PARSE, -1);
}

/* Types that NumPy writes and this library does not read: each says why. */
static void test_refused_types(void **state) {
  (void)state;
  static const struct {
    const char *descr, *why;
  } refused[] = {
      {"'|V1'", "ml_dtypes"},     {"'<V4'", "raw bytes"},
      {"'|O'", "objects"},        {"'<U7'", "text"},
      {"'|S3'", "text"},          {"'<M8[ns]'", "dates"},
      {"'<m8[s]'", "times"},      {"'<f16'", "64 bits"},
      {"'<c32'", "complex"},      {"[('a', '<f4')]", "structured"},
      {"'<q9'", "not supported"}, {"'<'", "not supported"},
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char header[128];
    nxi_file_array npy;
    nxi_diag d;
    snprintf(header, sizeof header, "{'descr': %s, 'fortran_order': False, 'shape': ()}",
             refused[i].descr);
    if (parse_text(header, 48, &npy, &d) != NX_UNSUPPORTED_DTYPE ||
        !strstr(d.message, refused[i].why))
      fail_msg("%s: %s", refused[i].descr, d.message);
    assert_int_equal(d.index, 20);
  }
}

static void test_frames(void **state) {
  (void)state;
  static const char dictionary[] = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
  char file[256];
  size_t n = strlen(dictionary);
  nxi_file_array npy;
  for (char version = 0; version <= 4; version++) {
    size_t fixed = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = version;
    file[7] = 0;
    memset(file + 8, 0, 4);
    file[8] = (char)n;
    memcpy(file + fixed, dictionary, n);
    memcpy(file + fixed + n, "\x01\x02\x03\x04", 4);
    size_t size = fixed + n + 4;
    bool known = version >= 1 && version <= 3;
    assert_int_equal(nxi_npy_parse(at_the_edge(file, size), size, &npy, NULL),
                     known ? NX_OK : NX_PARSE);
    if (known) assert_int_equal(npy.offset, fixed + n);
    for (size_t shorter = 0; shorter < size; shorter++) { /* truncated at every length */
      nxi_diag d;
      nxi_diag_clear(&d);
      assert_int_equal(nxi_npy_parse(at_the_edge(file, shorter), shorter, &npy, &d), NX_PARSE);
      assert_true(d.index >= 0 && d.index <= (int64_t)shorter);
    }
    if (version > 1) {
      memset(file + 8, 0xff, 4); /* a header of 4 GiB */
      assert_int_equal(nxi_npy_parse(at_the_edge(file, size), size, &npy, NULL), NX_PARSE);
    }
    file[7] = 1;
    assert_int_equal(nxi_npy_parse(at_the_edge(file, size), size, &npy, NULL), NX_PARSE);
  }
}

/* Headers broken at random: any answer is right that stays inside the file. */
static void test_mutations(void **state) {
  (void)state;
  static const char *const seeds[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n",
      "{'descr': '>c16', 'fortran_order': True, 'shape': (1, 2, 3, 4, 5, 6, 7), }         \n",
      "{\"shape\": (), \"fortran_order\": False, \"descr\": \"|b1\"}",
  };
  static const char pieces[] =
      "'\"{}()[],:\\ L0123456789<>=|TrueFalsedescrshapefortran_orderV2f4b1\n\0";
  char file[512];
  uint32_t random = 7;
  int good = 0;
  for (int i = 0; i < 60000; i++) {
    size_t size = make_file(file, seeds[i % 3], 64);
    random = random * 1664525 + 1013904223;
    for (uint32_t edits = 1 + (random >> 28) % 4; edits > 0; edits--) {
      random = random * 1664525 + 1013904223;
      size_t at = (random >> 8) % size;
      if (random & 1) file[at] = pieces[(random >> 1) % sizeof pieces];
      else if (random & 2) memmove(file + at, file + at + 1, --size - at);
      else if (size < sizeof file) memmove(file + at + 1, file + at, size++ - at);
    }
    nxi_file_array npy;
    const char *p = at_the_edge(file, size);
    if (nxi_npy_parse(p, size, &npy, NULL) != NX_OK) continue;
    good++;
    assert_true(npy.rank >= 0 && npy.rank <= 32 && npy.offset >= 10 && npy.bytes >= 0);
    assert_true(npy.offset + npy.bytes <= (int64_t)size);
    char copy[512];
    nxi_file_array_copy(&npy, copy);
  }
  assert_true(good > 1000);
}

/* ---- files */

static const nx_dtype written[] = {NX_BOOL, NX_I8,  NX_U8,   NX_I16, NX_U16, NX_I32, NX_U32, NX_I64,
                                   NX_U64,  NX_F16, NX_BF16, NX_F32, NX_F64, NX_C64, NX_C128};
enum { WRITTEN = sizeof written / sizeof *written };

static void test_write_and_map(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{2, 3, 4}, {24, 0, 0}, {5, 0, 7}, {1, 1, 1}};
  static const int32_t ranks[] = {3, 1, 3, 0};
  char data[24 * 16], copy[24 * 16];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 11 % 2);
  for (int i = 0; i < WRITTEN; i++)
    for (int s = 0; s < 4; s++) {
      nxi_file_array npy;
      nxi_diag d;
      nxi_diag_clear(&d);
      const char *path = in_root("w.npy");
      assert_int_equal(nxi_npy_write(path, written[i], ranks[s], shapes[s], s == 1, data, NULL),
                       NX_OK);
      if (nxi_npy_map(path, &npy, &d) != NX_OK) fail_msg("%s", d.message);
      assert_int_equal(npy.dtype, written[i]);
      assert_int_equal(npy.rank, ranks[s]);
      assert_int_equal(npy.fortran, s == 1);
      assert_false(npy.swapped);
      assert_true(npy.aligned);
      assert_int_equal((uintptr_t)npy.data % 64, 0);
      int64_t elements = 1;
      for (int k = 0; k < ranks[s]; k++) {
        assert_int_equal(npy.shape[k], shapes[s][k]);
        elements *= shapes[s][k];
      }
      assert_int_equal(npy.elements, elements);
      assert_int_equal(npy.bytes, elements * nxi_dtype_size(written[i]));
      assert_memory_equal(npy.data, data, (size_t)npy.bytes);
      nxi_file_array_copy(&npy, copy);
      assert_memory_equal(copy, data, (size_t)npy.bytes);
      nxi_file_unref(npy.file);
    }
}

static void test_write_details(void **state) {
  (void)state;
  const int64_t shape[1] = {3};
  const float data[3] = {1, 2, 3};
  nxi_diag d;
  nxi_file_array npy;
  struct stat s;
  nxi_diag_clear(&d);
  assert_int_equal(nxi_npy_write(in_root("x.npy"), NX_I4, 1, shape, false, data, &d),
                   NX_UNSUPPORTED_DTYPE);
  nxi_diag_clear(&d);
  assert_int_equal(nxi_npy_write(in_root("x.npy"), NX_F8E4M3, 1, shape, false, data, &d),
                   NX_UNSUPPORTED_DTYPE);
  assert_non_null(strstr(d.message, "f8e4m3"));
  assert_int_equal(nxi_npy_write(in_root("x.npy"), 99, 1, shape, false, data, NULL),
                   NX_UNSUPPORTED_DTYPE);
  assert_int_equal(nxi_npy_write(in_root("x.npy"), NX_F32, 33, shape, false, data, NULL),
                   NX_INVALID_ARGUMENT);
  nxi_diag_clear(&d);
  assert_int_equal(
      nxi_npy_write(in_root("no/such/directory.npy"), NX_F32, 1, shape, false, data, &d), NX_IO);
  assert_non_null(strstr(d.message, "directory.npy"));
  nxi_alloc_fail(0, false);
  assert_int_equal(nxi_npy_write(in_root("x.npy"), NX_F32, 1, shape, false, data, NULL),
                   NX_OUT_OF_MEMORY);
  nxi_alloc_fail(-1, false);
  assert_int_equal(access(in_root("x.npy"), F_OK), -1); /* nothing half-written */
  mode_t mask = umask(027);
  assert_int_equal(nxi_npy_write(in_root("x.npy"), NX_F32, 1, shape, false, data, NULL), NX_OK);
  umask(mask);
  assert_int_equal(stat(in_root("x.npy"), &s), 0);
  assert_int_equal(s.st_mode & 0777, 0640);
  assert_int_equal(symlink(in_root("x.npy"), in_root("link.npy")), 0);
  assert_int_equal(nxi_npy_write(in_root("link.npy"), NX_F64, 0, NULL, false, data, NULL), NX_OK);
  assert_int_equal(lstat(in_root("link.npy"), &s), 0);
  assert_true(S_ISLNK(s.st_mode));
  assert_int_equal(nxi_npy_map(in_root("x.npy"), &npy, NULL), NX_OK);
  assert_int_equal(npy.dtype, NX_F64);
  nxi_file_unref(npy.file);
  assert_int_equal(nxi_npy_write("/dev/null", NX_F32, 1, shape, false, data, NULL), NX_OK);
  if (access("/dev/full", W_OK) == 0)
    assert_int_equal(nxi_npy_write("/dev/full", NX_F32, 1, shape, false, data, NULL), NX_IO);
  assert_int_equal(nxi_npy_map(in_root("missing.npy"), &npy, NULL), NX_IO);
  assert_int_equal(nxi_npy_map(root, &npy, NULL), NX_IO); /* a directory */
  FILE *f = fopen(in_root("empty.npy"), "w");
  fclose(f);
  assert_int_equal(nxi_npy_map(in_root("empty.npy"), &npy, NULL), NX_PARSE);
}

/* ---- NumPy */

static bool python(const char *program) {
  const char *interpreter = getenv("NX_NUMPY_PYTHON");
  char command[4096];
  snprintf(command, sizeof command, "cd '%s' && '%s' -c \"%s\" >python.log 2>&1", root,
           interpreter ? interpreter : "/usr/bin/python3", program);
  return system(command) == 0;
}

static bool have_numpy;

static void test_numpy_writes(void **state) {
  (void)state;
  if (!have_numpy) skip();
  static const char *const codes[] = {"b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8",
                                      "u8", "f2", "V2", "f4", "f8", "c8", "c16"};
  assert_true(python(
      "import numpy as np\n"
      "for t in 'b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16'.split():\n"
      "  for o in '<>':\n"
      "    a = np.arange(24).reshape(2, 3, 4).astype(o + t)\n"
      "    np.save(t + ('l' if o == '<' else 'b') + 'c.npy', a)\n"
      "    np.save(t + ('l' if o == '<' else 'b') + 'f.npy', np.asfortranarray(a))\n"
      "a = (np.arange(24).astype('f4').view('u4') >> 16).astype('u2').reshape(2, 3, 4).view('V2')\n"
      "for n in 'lc lf bc bf'.split(): np.save('V2' + n + '.npy', a if n[1] == 'c' else "
      "np.asfortranarray(a))\n"
      "for v in (1, 2, 3):\n"
      "  with open('v%d.npy' % v, 'wb') as f: np.lib.format.write_array(f, np.arange(5, "
      "dtype='f4'), (v, 0))\n"));
  for (int i = 0; i < WRITTEN; i++)
    for (int variant = 0; variant < 4; variant++) {
      char name[32];
      nxi_file_array npy;
      nxi_diag d;
      nxi_diag_clear(&d);
      snprintf(name, sizeof name, "%s%c%c.npy", codes[i], variant & 1 ? 'b' : 'l',
               variant & 2 ? 'f' : 'c');
      if (nxi_npy_map(in_root(name), &npy, &d) != NX_OK) fail_msg("%s: %s", name, d.message);
      assert_int_equal(npy.dtype, written[i]);
      assert_int_equal(npy.rank, 3);
      assert_int_equal(npy.fortran, variant >> 1);
      char copy[24 * 16];
      nxi_file_array_copy(&npy, copy);
      for (int at = 0; at < 24; at++) { /* element (x, y, z) is 12 x + 4 y + z */
        int value = npy.fortran ? at % 2 * 12 + at / 2 % 3 * 4 + at / 6 : at;
        const char *p = copy + at * nxi_dtype_size(npy.dtype);
        nx_dtype part = npy.dtype == NX_C64 ? NX_F32 : npy.dtype == NX_C128 ? NX_F64 : npy.dtype;
        uint64_t want = nxi_cast_bits((uint64_t)value, NX_I64, part);
        if (nxi_load_element(p, part) != want)
          fail_msg("%s: element %d is not %d", name, at, value);
        if (part != npy.dtype) assert_true(nxi_load_element(p + nxi_dtype_size(part), part) == 0);
      }
      nxi_file_unref(npy.file);
    }
  for (int v = 1; v <= 3; v++) {
    char name[32];
    nxi_file_array npy;
    snprintf(name, sizeof name, "v%d.npy", v);
    assert_int_equal(nxi_npy_map(in_root(name), &npy, NULL), NX_OK);
    assert_true(((const float *)npy.data)[4] == 4);
    nxi_file_unref(npy.file);
  }
}

static void test_numpy_reads(void **state) {
  (void)state;
  if (!have_numpy) skip();
  const int64_t shape[2] = {2, 3};
  char data[6 * 16] = {0};
  for (int i = 0; i < WRITTEN; i++)
    for (int fortran = 0; fortran < 2; fortran++) {
      nx_dtype part = written[i] == NX_C64 ? NX_F32 : written[i] == NX_C128 ? NX_F64 : written[i];
      memset(data, 0, sizeof data);
      for (int at = 0; at < 6; at++)
        nxi_store_element(data + at * nxi_dtype_size(written[i]), part,
                          nxi_cast_bits((uint64_t)at, NX_I64, part));
      char name[32];
      snprintf(name, sizeof name, "ours_%s_%d.npy", nx_dtype_name(written[i]), fortran);
      assert_int_equal(nxi_npy_write(in_root(name), written[i], 2, shape, fortran, data, NULL),
                       NX_OK);
    }
  assert_true(
      python("import numpy as np\n"
             "names = dict(bool='?', i8='i1', u8='u1', i16='i2', u16='u2', i32='i4', u32='u4', "
             "i64='i8', u64='u8',\n"
             "             f16='f2', f32='f4', f64='f8', c64='c8', c128='c16', bf16='V2')\n"
             "for n, t in names.items():\n"
             "  for f in (0, 1):\n"
             "    a = np.load('ours_%s_%d.npy' % (n, f))\n"
             "    assert a.dtype == np.dtype(t) and a.shape == (2, 3), (n, a.dtype, a.shape)\n"
             "    if n == 'bf16': a = (a.view('u2').astype('u4') << 16).view('f4')\n"
             "    want = np.arange(6).reshape((2, 3), order='CF'[f])\n"
             "    assert (a == want.astype(a.dtype)).all(), (n, f, a)\n"));
}

static int make_root(void **state) {
  (void)state;
  if (!mkdtemp(root)) return -1;
  have_numpy = python("import numpy");
  return 0;
}

static int remove_root(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf '%s'", root);
  return system(command);
}

NXT_MAIN(npy) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_headers),       cmocka_unit_test(test_refused_headers),
      cmocka_unit_test(test_refused_types), cmocka_unit_test(test_frames),
      cmocka_unit_test(test_mutations),     cmocka_unit_test(test_write_and_map),
      cmocka_unit_test(test_write_details), cmocka_unit_test(test_numpy_writes),
      cmocka_unit_test(test_numpy_reads),
  };
  return cmocka_run_group_tests(tests, make_root, remove_root);
}
