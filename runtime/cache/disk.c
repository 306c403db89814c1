/* SPDX-License-Identifier: ISC */
/* The disk cache's directory, lookups and stores. A file appears under its name completely or not
 * at all: it is written under a temporary name, synced, and renamed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "disk_private.h"
#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "ir/platform/file.h"
#include "ir/platform/process.h"

enum { ABI = 1, BYTE_ORDER_MARK = 0x01020304 };
static const char magic[8] = {'n', 'x', 'c', 'a', 'c', 'h', 'e', '\n'};
const char nxi_disk_no_memory[] = "memory is exhausted";
static const int64_t default_limit = INT64_C(256) << 20;
static const int64_t largest_file = INT64_C(1) << 30;

/* ---- the directory */

/* Writes the directory to use to c->path; false with the reason set. */
static bool choose_directory(nxi_disk_cache *c, const char *given) {
  const char *variable = given ? NULL : nxi_safe_variable("NX_CACHE_DIR");
  const char *xdg = nxi_safe_variable("XDG_CACHE_HOME"), *home = nxi_safe_variable("HOME");
  int n;
  if (given || variable) {
    n = snprintf(c->path, sizeof c->path, "%s", given ? given : variable);
  } else if (xdg && xdg[0] == '/') {
    n = snprintf(c->path, sizeof c->path, "%s/nx", xdg);
  } else if (home && home[0] == '/') {
    n = snprintf(c->path, sizeof c->path, "%s/.cache/nx", home);
  } else {
    snprintf(c->reason, sizeof c->reason, "there is no home directory to put it in");
    return false;
  }
  if (n <= 0)
    snprintf(c->reason, sizeof c->reason, "it is turned off: the name of its directory is empty");
  if (n >= (int)sizeof c->path)
    snprintf(c->reason, sizeof c->reason, "the name of its directory is too long");
  if (n >= (int)sizeof c->path) c->path[0] = 0;
  return n > 0 && n < (int)sizeof c->path;
}

/* Like mkdir -p -m 0700. Failures show when the directory is opened. */
static void make_directories(const char *path) {
  char part[NXI_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *slash = part + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = 0;
    nxi_path_make_folder(part, 0700);
  }
  nxi_path_make_folder(part, 0700);
}

static void open_directory(nxi_disk_cache *c) {
  int fd = nxi_fd_open_folder(c->path);
  if (fd < 0) {
    make_directories(c->path);
    fd = nxi_fd_open_folder(c->path);
  }
  nxi_file_info f;
  if (fd < 0 || !nxi_fd_info(fd, &f)) {
    char text[NXI_SYSTEM_ERROR];
    snprintf(c->reason, sizeof c->reason, "its directory cannot be opened: %s",
             nxi_system_error(errno, text));
  } else if (!nxi_is_own(&f)) {
    snprintf(c->reason, sizeof c->reason, "its directory belongs to another user");
  } else if (f.others_write) {
    snprintf(c->reason, sizeof c->reason, "others can write to its directory (mode %04o)",
             (unsigned)f.permissions);
  } else if (!nxi_fd_folder_usable(fd)) {
    snprintf(c->reason, sizeof c->reason, "its directory is not writable");
  } else {
    c->directory = fd;
    return;
  }
  if (fd >= 0) nxi_fd_close(fd);
}

nx_status nxi_disk_open(const nxi_disk_options *options, nxi_disk_cache **out, nxi_diag *d) {
  nxi_disk_options o = options ? *options : (nxi_disk_options){0};
  nxi_disk_cache *c = nxi_calloc(1, sizeof *c);
  if (!c) return nxi_oom(d);
  c->environment = nxi_strdup(o.environment ? o.environment : "");
  if (!c->environment) {
    nxi_free(c);
    return nxi_oom(d);
  }
  c->environment_size = strlen(c->environment);
  c->directory = -1;
  c->limit = o.limit > 0 ? o.limit : default_limit;
  atomic_init(&c->known, -1);
  if (choose_directory(c, o.directory)) open_directory(c);
  *out = c;
  return NX_OK;
}

void nxi_disk_close(nxi_disk_cache *c) {
  if (!c) return;
  if (c->directory >= 0) nxi_fd_close(c->directory);
  nxi_free(c->environment);
  nxi_free(c);
}

const char *nxi_disk_reason(const nxi_disk_cache *c) {
  if (!c) return "there is none";
  return c->directory >= 0 ? NULL : c->reason;
}

const char *nxi_disk_directory(const nxi_disk_cache *c) { return c ? c->path : ""; }

/* ---- entries */

void nxi_disk_name(const char *environment, size_t environment_size, const void *key,
                   size_t key_size, char name[NXI_DISK_NAME]) {
  XXH128_hash_t e = XXH3_128bits(environment, environment_size);
  XXH128_hash_t k = XXH3_128bits_withSeed(key, key_size, e.low64 ^ e.high64);
  snprintf(name, NXI_DISK_NAME, "%016llx%016llx.nxe", (unsigned long long)k.high64,
           (unsigned long long)k.low64);
}

static void checksum(const char *data, size_t size, uint64_t out[2]) {
  XXH128_hash_t h = XXH3_128bits(data, size);
  out[0] = h.low64;
  out[1] = h.high64;
}

/* Checks the bytes of a file and finds its parts. The header is copied out: the checksum is taken
 * with its own field zero. */
static const char *parse_file(char *data, size_t size, nxi_disk_file *out) {
  nxi_disk_header h;
  uint64_t sum[2];
  memcpy(&h, data, sizeof h);
  if (memcmp(h.magic, magic, sizeof magic) != 0 || h.byte_order != BYTE_ORDER_MARK)
    return "not an entry of this cache";
  memset(data + offsetof(nxi_disk_header, checksum), 0, sizeof h.checksum);
  checksum(data, size, sum);
  if (memcmp(sum, h.checksum, sizeof sum) != 0) return "its checksum is wrong";
  out->data = data;
  out->other_version = h.abi != ABI;
  if (out->other_version) return NULL;
  size_t rest = size - sizeof h;
  if (h.environment_size > rest || h.key_size > rest - h.environment_size ||
      h.payload_size != rest - h.environment_size - h.key_size)
    return "its sizes do not add up";
  out->environment = data + sizeof h;
  out->environment_size = (size_t)h.environment_size;
  out->key = out->environment + h.environment_size;
  out->key_size = (size_t)h.key_size;
  out->payload = out->key + h.key_size;
  out->payload_size = (size_t)h.payload_size;
  return NULL;
}

static const char *check_file(int fd, size_t *size) {
  nxi_file_info f;
  if (!nxi_fd_info(fd, &f) || !f.regular) return "not a regular file";
  if (!nxi_is_own(&f)) return "belongs to another user";
  if (f.others_write) return "others can write to it";
  if (f.bytes < (int64_t)sizeof(nxi_disk_header)) return "truncated";
  if (f.bytes > largest_file) return "too large";
  *size = (size_t)f.bytes;
  return NULL;
}

const char *nxi_disk_read(const nxi_disk_cache *c, const char *name, nxi_disk_file *out, int *fd) {
  *out = (nxi_disk_file){0};
  *fd = nxi_fd_open_in(c->directory, name, NXI_FD_DIRECT, 0);
  if (*fd < 0) return "cannot be opened";
  size_t size = 0;
  const char *problem = check_file(*fd, &size);
  if (problem) return problem;
  char *data = nxi_malloc(size);
  if (!data) return nxi_disk_no_memory;
  problem = nxi_fd_read(*fd, data, size) ? parse_file(data, size, out) : "cannot be read";
  if (problem) {
    nxi_free(data);
    out->data = NULL;
  }
  return problem;
}

static bool same(const char *a, size_t a_size, const void *b, size_t b_size) {
  return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

static void entry_name(const nxi_disk_cache *c, const void *key, size_t key_size,
                       char name[NXI_DISK_NAME]) {
  nxi_disk_name(c->environment, c->environment_size, key, key_size, name);
}

void *nxi_disk_lookup(nxi_disk_cache *c, const void *key, size_t key_size, size_t *size) {
  if (!c || c->directory < 0) return NULL;
  char name[NXI_DISK_NAME];
  nxi_disk_file file;
  int fd;
  entry_name(c, key, key_size, name);
  const char *problem = nxi_disk_read(c, name, &file, &fd);
  bool hit = !problem && !file.other_version && same(file.key, file.key_size, key, key_size) &&
             same(file.environment, file.environment_size, c->environment, c->environment_size);
  if (hit) {
    nxi_fd_touch(fd);
    *size = file.payload_size;
    memmove(file.data, file.payload, file.payload_size);
  } else {
    nxi_free(file.data);
    file.data = NULL;
    atomic_fetch_add(&c->misses, 1);
    if (fd >= 0) atomic_fetch_add(&c->refused, 1);
  }
  if (fd >= 0) nxi_fd_close(fd);
  if (hit) atomic_fetch_add(&c->hits, 1);
  return file.data;
}

/* The bytes of an entry's file, or NULL. */
static char *make_file(const nxi_disk_cache *c, const void *key, size_t key_size,
                       const void *payload, size_t size, size_t *total) {
  if (key_size > (size_t)largest_file / 4 || size > (size_t)largest_file / 2 ||
      c->environment_size > (size_t)largest_file / 8)
    return NULL;
  nxi_disk_header h = {.abi = ABI,
                       .byte_order = BYTE_ORDER_MARK,
                       .environment_size = c->environment_size,
                       .key_size = key_size,
                       .payload_size = size};
  memcpy(h.magic, magic, sizeof magic);
  *total = sizeof h + c->environment_size + key_size + size;
  if ((int64_t)*total > c->limit) return NULL;
  char *data = nxi_malloc(*total), *p = data;
  if (!data) return NULL;
  memcpy(p, &h, sizeof h);
  p += sizeof h;
  memcpy(p, c->environment, c->environment_size);
  p += c->environment_size;
  if (key_size) memcpy(p, key, key_size);
  p += key_size;
  if (size) memcpy(p, payload, size);
  checksum(data, *total, h.checksum);
  memcpy(data, &h, sizeof h);
  return data;
}

static bool write_file(const nxi_disk_cache *c, const char *name, const char *data, size_t size) {
  static _Atomic unsigned counter;
  char temporary[96];
  snprintf(temporary, sizeof temporary, ".tmp-%x-%llx-%x", (unsigned)nxi_process_number(),
           (long long)nxi_date_ns(), atomic_fetch_add(&counter, 1));
  int fd = nxi_fd_open_in(c->directory, temporary,
                          NXI_FD_WRITE | NXI_FD_CREATE | NXI_FD_NEW | NXI_FD_DIRECT, 0600);
  if (fd < 0) return false;
  bool good = nxi_fd_write(fd, data, size) && nxi_fd_sync(fd);
  good &= nxi_fd_close(fd);
  good = good && nxi_name_rename(c->directory, temporary, name);
  if (!good) nxi_name_remove(c->directory, temporary);
  return good;
}

bool nxi_disk_store(nxi_disk_cache *c, const void *key, size_t key_size, const void *payload,
                    size_t size) {
  if (!c || c->directory < 0) return false;
  char name[NXI_DISK_NAME];
  size_t total = 0;
  char *data = make_file(c, key, key_size, payload, size, &total);
  if (!data) return false;
  entry_name(c, key, key_size, name);
  bool good = write_file(c, name, data, total);
  nxi_free(data);
  if (!good) return false;
  atomic_fetch_add(&c->stores, 1);
  if (atomic_load(&c->known) < 0) {
    nxi_disk_stats now;
    nxi_disk_stats_read(c, &now);
    atomic_store(&c->known, now.bytes);
  } else {
    atomic_fetch_add(&c->known, (int64_t)total);
  }
  if (atomic_load(&c->known) > c->limit) nxi_disk_trim(c, c->limit - c->limit / 4);
  return true;
}
