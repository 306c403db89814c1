/* SPDX-License-Identifier: ISC */
/* Bytes as files: .npy, .npz, .safetensors, and entries of the kernel cache on disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "fuzz_files.h"
#include "fuzz.h"
#include "ir/alloc.h"
#include "runtime/files/archive.h"
#include "runtime/cache/disk.h"
#include "runtime/files/npy.h"

/* ---- arrays */

static nx_context *context(void) {
  static nx_context *c;
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1, .memory_limit = 1 << 26};
  if (!c && nx_context_create(&o, &c) != NX_OK) abort();
  return c;
}

/* Opens the bytes as a file: it must be refused at a byte of the file or opened, without more
 * memory than its size justifies. */
static void use(const uint8_t *data, size_t n) {
  enum { BEST_RATIO = 1032, INFLATING = 1 << 16 };
  file_outcome out;
  use_file(context(), data, n, &out);
  bool known = out.opened == NX_OK || out.opened == NX_PARSE || out.opened == NX_UNSUPPORTED_DTYPE;
  bool worst = out.worst == NX_OK || out.worst == NX_PARSE || out.worst == NX_UNSUPPORTED_DTYPE;
  if (!known || !worst)
    fuzz_wrong("%s, then %s", nx_status_name(out.opened), nx_status_name(out.worst));
  if (out.opened && (out.index < 0 || (size_t)out.index > n))
    fuzz_wrong("%s at byte %lld of %zu", nx_status_name(out.opened), (long long)out.index, n);
  if (out.largest_opening > NXI_ARCHIVE_FACTOR * n + NXI_ARCHIVE_BASE ||
      out.largest > BEST_RATIO * n + INFLATING)
    fuzz_wrong("%zu bytes of a file took %zu of memory, then %zu", n, out.largest_opening,
               out.largest);
}

/* Writes an array that could be read as .npy again, and reads that: it must be the same array. */
static void rewrite_npy(const uint8_t *data, size_t n) {
  nxi_file_array x, again;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_npy_parse(data, n, &x, &d) || x.swapped || x.fortran) return;
  char path[64];
  snprintf(path, sizeof path, "/tmp/nx-fuzz-%ld.npy", (long)getpid());
  if (nxi_npy_write(path, x.dtype, x.rank, x.shape, false, x.data, &d))
    fuzz_wrong("writing: %s", d.message);
  nxi_diag_clear(&d);
  if (nxi_npy_map(path, &again, &d)) fuzz_wrong("what was written is refused: %s", d.message);
  bool same = x.dtype == again.dtype && x.rank == again.rank && x.bytes == again.bytes &&
              !memcmp(x.shape, again.shape, (size_t)x.rank * sizeof *x.shape) &&
              (!x.bytes || !memcmp(x.data, again.data, (size_t)x.bytes));
  nxi_file_unref(again.file);
  unlink(path);
  if (!same) fuzz_wrong("what was written is another array");
}

void fuzz_npy(const uint8_t *data, size_t n) {
  if (n && *data != 0x93) return; /* it would be taken for an archive */
  use(data, n);
  nxt_random r = fuzz_random_of(data, n);
  if (n && nxt_chance(&r, 5)) rewrite_npy(data, n);
}
void fuzz_npz(const uint8_t *data, size_t n) { use(data, n); }
void fuzz_safetensors(const uint8_t *data, size_t n) { use(data, n); }

/* ---- entries of the cache: magic, version, byte order, three sizes, a checksum; then environment,
 * key, payload */

static const char key[] = "key", environment[] = "environment";
enum { SUM_AT = 40, HEADER = 56 };

/* Whether an entry is valid, by the layout that is described here independently. */
static bool is_sound(const uint8_t *data, size_t n, size_t *payload) {
  uint8_t copy[1024];
  uint32_t words[2];
  uint64_t sizes[3], sum[2], zero[2] = {0, 0};
  if (n < HEADER || n > sizeof copy || memcmp(data, "nxcache\n", 8)) return false;
  memcpy(copy, data, n);
  memcpy(words, data + 8, sizeof words);
  memcpy(sizes, data + 16, sizeof sizes);
  memcpy(sum, data + SUM_AT, sizeof sum);
  memcpy(copy + SUM_AT, zero, sizeof zero);
  XXH128_hash_t is = XXH3_128bits(copy, n);
  *payload = (size_t)sizes[2];
  return is.low64 == sum[0] && is.high64 == sum[1] && words[0] == 1 && words[1] == 0x01020304 &&
         sizes[0] == strlen(environment) && sizes[1] == sizeof key &&
         sizes[2] == n - HEADER - strlen(environment) - sizeof key &&
         !memcmp(data + HEADER, environment, strlen(environment)) &&
         !memcmp(data + HEADER + strlen(environment), key, sizeof key);
}

/* The name of the entry's file: the only one there after a store. */
static void note(void *name, const nxi_disk_entry *e) { snprintf(name, 64, "%s", e->name); }

static nxi_disk_cache *open_cache(char *path, size_t size) {
  static nxi_disk_cache *c;
  static char directory[64], entry[64];
  if (!c) {
    snprintf(directory, sizeof directory, "/tmp/nx-fuzz-cache-%ld", (long)getpid());
    nxi_disk_options o = {.directory = directory, .environment = environment};
    if (nxi_disk_open(&o, &c, NULL) || nxi_disk_reason(c) ||
        !nxi_disk_store(c, key, sizeof key, "", 0) || !nxi_disk_list(c, note, entry))
      fuzz_wrong("there is no cache to fuzz");
  }
  snprintf(path, size, "%s/%s", directory, entry);
  return c;
}

static void never_bad_and_used(void *used, const nxi_disk_entry *e) {
  if (*(const bool *)used && e->state == NXI_DISK_BAD) fuzz_wrong("used, and bad: %s", e->problem);
  if (!*(const bool *)used && e->state == NXI_DISK_GOOD) fuzz_wrong("good, and not used");
}

void fuzz_cache(const uint8_t *data, size_t n) {
  char path[160];
  nxi_disk_cache *c = open_cache(path, sizeof path);
  int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, data, n) != (ssize_t)n || close(fd))
    fuzz_wrong("the entry cannot be written");
  size_t size = 0, wanted = 0;
  char *payload = nxi_disk_lookup(c, key, sizeof key, &size);
  bool sound = is_sound(data, n, &wanted), used = payload != NULL;
  if (sound != used) fuzz_wrong(used ? "a bad entry is used" : "a good entry is not found");
  if (used && (size != wanted || (size && memcmp(payload, data + n - size, size))))
    fuzz_wrong("another payload is given");
  nxi_free(payload);
  nxi_disk_list(c, never_bad_and_used, &used);
  nxt_random r = fuzz_random_of(data, n);
  if (nxt_chance(&r, 5)) nxi_disk_verify(c);
}
