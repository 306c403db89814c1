/* SPDX-License-Identifier: ISC */
/* The disk cache as a whole: listing, verifying, trimming. Other processes add and remove entries
 * meanwhile, so a file that is gone when its turn comes is nothing unusual. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "disk_private.h"
#include "ir/alloc.h"

enum { ABANDONED_SECONDS = 3600 }; /* after this a temporary file has no writer any more */

typedef struct found {
  char name[NXI_DISK_NAME];
  int64_t bytes;
  struct timespec used;
} found;

typedef struct found_list {
  found *items;
  uint32_t count, capacity;
} found_list;

static bool is_entry_name(const char *name) {
  return strspn(name, "0123456789abcdef") == 32 && strcmp(name + 32, ".nxe") == 0;
}

static int by_use(const void *a, const void *b) {
  const found *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void remove_abandoned(const nxi_disk_cache *c, const char *name) {
  struct stat s;
  if (strncmp(name, ".tmp-", 5) != 0 || fstatat(c->directory, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
    return;
  if (time(NULL) - s.st_mtim.tv_sec > ABANDONED_SECONDS) unlinkat(c->directory, name, 0);
}

/* All entries, the longest unused one first. False: the directory cannot be read, or memory is
 * exhausted. */
static bool scan(const nxi_disk_cache *c, bool clean, found_list *out) {
  *out = (found_list){0};
  int fd =
      c && c->directory >= 0 ? openat(c->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
  if (!stream) {
    if (fd >= 0) close(fd);
    return false;
  }
  bool good = true;
  for (struct dirent *e; good && (e = readdir(stream));) {
    struct stat s;
    if (clean) remove_abandoned(c, e->d_name);
    if (!is_entry_name(e->d_name) || fstatat(c->directory, e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    good = nxi_grow(&out->items, &out->capacity, out->count + 1, sizeof *out->items);
    if (!good) break;
    found *f = &out->items[out->count++];
    memcpy(f->name, e->d_name, NXI_DISK_NAME);
    f->bytes = s.st_size;
    f->used = s.st_mtim;
  }
  closedir(stream);
  if (good && out->count) qsort(out->items, out->count, sizeof *out->items, by_use);
  if (!good) {
    nxi_free(out->items);
    *out = (found_list){0};
  }
  return good;
}

void nxi_disk_stats_read(nxi_disk_cache *c, nxi_disk_stats *out) {
  *out = (nxi_disk_stats){0};
  if (!c) return;
  found_list list;
  scan(c, false, &list);
  out->entries = list.count;
  for (uint32_t i = 0; i < list.count; i++) out->bytes += list.items[i].bytes;
  nxi_free(list.items);
  out->limit = c->limit;
  out->hits = atomic_load(&c->hits);
  out->misses = atomic_load(&c->misses);
  out->stores = atomic_load(&c->stores);
  out->refused = atomic_load(&c->refused);
}

/* Only under the name of its key would an entry ever be found. */
static bool has_its_name(const nxi_disk_file *file, const char *name) {
  char wanted[NXI_DISK_NAME];
  if (file->other_version) return true; /* where its key is, only that version knows */
  nxi_disk_name(file->environment, file->environment_size, file->key, file->key_size, wanted);
  return strcmp(name, wanted) == 0;
}

static nxi_disk_entry examine(const nxi_disk_cache *c, const found *f) {
  nxi_disk_entry entry = {
      .name = f->name, .bytes = f->bytes, .used = f->used.tv_sec, .state = NXI_DISK_BAD};
  nxi_disk_file file;
  int fd;
  entry.problem = nxi_disk_read(c, f->name, &file, &fd);
  if (fd >= 0) close(fd);
  if (!entry.problem && !has_its_name(&file, f->name))
    entry.problem = "its name is not that of its key";
  if (!entry.problem) {
    bool ours = !file.other_version && file.environment_size == c->environment_size &&
                memcmp(file.environment, c->environment, c->environment_size) == 0;
    entry.state = ours ? NXI_DISK_GOOD : NXI_DISK_FOREIGN;
  }
  nxi_free(file.data);
  return entry;
}

bool nxi_disk_list(nxi_disk_cache *c, void (*visit)(void *user, const nxi_disk_entry *entry),
                   void *user) {
  found_list list;
  if (!scan(c, false, &list)) return false;
  for (uint32_t i = 0; i < list.count; i++) {
    nxi_disk_entry entry = examine(c, &list.items[i]);
    visit(user, &entry);
  }
  nxi_free(list.items);
  return true;
}

int64_t nxi_disk_verify(nxi_disk_cache *c) {
  found_list list;
  int64_t bad = 0;
  if (!scan(c, true, &list)) return 0;
  for (uint32_t i = 0; i < list.count; i++) {
    nxi_disk_entry entry = examine(c, &list.items[i]);
    if (entry.state != NXI_DISK_BAD || entry.problem == nxi_disk_no_memory) continue;
    bad++;
    unlinkat(c->directory, list.items[i].name, 0);
  }
  nxi_free(list.items);
  return bad;
}

int64_t nxi_disk_trim(nxi_disk_cache *c, int64_t bytes) {
  found_list list;
  int64_t total = 0, gone = 0;
  if (!scan(c, true, &list)) return 0;
  for (uint32_t i = 0; i < list.count; i++) total += list.items[i].bytes;
  for (uint32_t i = 0; i < list.count && (total > bytes || bytes <= 0); i++) {
    if (unlinkat(c->directory, list.items[i].name, 0) == 0) gone++;
    total -= list.items[i].bytes;
  }
  nxi_free(list.items);
  atomic_store(&c->known, total > 0 ? total : 0);
  return gone;
}
