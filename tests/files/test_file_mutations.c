/* SPDX-License-Identifier: ISC */
/* Valid small files with every byte changed in several ways, cut off at every length, and with
 * bytes left out: they are refused with an offset inside the file, or read; never past the end
 * (they lie at the end of readable memory), and never with more memory than their size
 * justifies. */
#include "tests/util/api.h"
#include "file_seeds.h"
#include "tests/fuzz/fuzz_files.h"
#include "runtime/files/archive.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 4096, BEST_RATIO = 1032, INFLATING = 1 << 16 };

static int read_well, refused_some, damaged;

/* Bytes behind which memory cannot be read. */
static unsigned char *guarded_end(size_t size) {
  static unsigned char *end;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (!end) {
    unsigned char *p =
        mmap(NULL, MOST + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p + MOST, page, PROT_NONE), 0);
    end = p + MOST;
  }
  return end - size;
}

static void check(const file_seed *seed, const unsigned char *data, size_t size, const char *how,
                  size_t at) {
  file_outcome out;
  use_file(ctx, data, size, &out);
  bool known = out.opened == NX_OK || out.opened == NX_PARSE || out.opened == NX_UNSUPPORTED_DTYPE;
  bool inside = out.opened == NX_OK || (out.index >= 0 && (size_t)out.index <= size);
  bool worst = out.worst == NX_OK || out.worst == NX_PARSE || out.worst == NX_UNSUPPORTED_DTYPE;
  bool small = out.largest_opening <= NXI_ARCHIVE_FACTOR * size + NXI_ARCHIVE_BASE &&
               out.largest <= BEST_RATIO * size + INFLATING;
  if (!known || !inside || !worst || !small)
    fail_msg("%s, %s at %d: %s at %d, then %s; allocated %d, then %d", seed->name, how, (int)at,
             nx_status_name(out.opened), (int)out.index, nx_status_name(out.worst),
             (int)out.largest_opening, (int)out.largest);
  read_well += out.opened == NX_OK && out.loaded == out.count;
  refused_some += out.opened != NX_OK;
  damaged += out.opened == NX_OK && out.worst != NX_OK;
}

static void mutations(void **state) {
  (void)state;
  for (int s = 0; s < FILE_SEEDS; s++) {
    const file_seed *seed = &file_seeds[s];
    unsigned char copy[MOST];
    size_t size = seed->size;
    assert_true(size <= sizeof copy);
    file_outcome whole;
    use_file(ctx, seed->data, size, &whole);
    if (whole.opened || whole.loaded + whole.packed != whole.count)
      fail_msg("%s: %s at %d", seed->name, nx_status_name(whole.opened), (int)whole.index);
    for (size_t at = 0; at <= size; at++) {
      unsigned char *edge = guarded_end(size);
      if (at < size) {
        unsigned char old = ((const unsigned char *)seed->data)[at];
        const unsigned char values[] = {old ^ 1, old ^ 0x80, 0,   0xff,
                                        '9',     '"',        '}', (unsigned char)(old + 1)};
        for (size_t k = 0; k < sizeof values; k++) {
          memcpy(edge, seed->data, size);
          edge[at] = values[k];
          check(seed, edge, size, "a changed byte", at);
        }
        memcpy(copy, seed->data, size);
        memmove(copy + at, copy + at + 1, size - at - 1);
        edge = guarded_end(size - 1);
        memcpy(edge, copy, size - 1);
        check(seed, edge, size - 1, "a byte left out", at);
      }
      edge = guarded_end(at);
      memcpy(edge, seed->data, at);
      check(seed, edge, at, "cut off", at);
    }
  }
  assert_true(read_well > 500 && refused_some > 2000 && damaged > 50);
}

static int open_small(void **state) {
  (void)state;
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .memory_limit = 1 << 20};
  return nx_context_create(&o, &ctx) != NX_OK;
}

NXT_MAIN(file_mutations) {
  const struct CMUnitTest tests[] = {IN_SCOPE(mutations)};
  return cmocka_run_group_tests(tests, open_small, close_context);
}
