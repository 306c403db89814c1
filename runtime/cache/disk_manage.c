/* SPDX-License-Identifier: ISC */
/* The disk cache as a whole: listing, verifying, trimming. Other processes add and remove entries
 * meanwhile, so a file may have disappeared before it is read. */
#include <stdlib.h>
#include <string.h>

#include "disk_private.h"
#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "ir/platform/file.h"

enum { ABANDONED_SECONDS = 3600 }; /* after this a temporary file has no writer any more */

typedef struct found {
  char name[NXI_DISK_NAME];
  int64_t bytes;
  int64_t used_s;
  int32_t used_ns;
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
  if (x->used_s != y->used_s) return x->used_s < y->used_s ? -1 : 1;
  if (x->used_ns != y->used_ns) return x->used_ns < y->used_ns ? -1 : 1;
  return strcmp(x->name, y->name);
}

static void remove_abandoned(const nxi_disk_cache *c, const char *name) {
  nxi_file_info f;
  if (strncmp(name, ".tmp-", 5) != 0 || !nxi_name_info(c->directory, name, &f)) return;
  if (nxi_date_ns() / 1000000000 - f.modified_s > ABANDONED_SECONDS)
    nxi_name_remove(c->directory, name);
}

typedef struct scanner {
  const nxi_disk_cache *cache;
  bool clean, failed;
  found_list *list;
} scanner;

static bool scan_name(void *user, const char *name) {
  scanner *s = user;
  nxi_file_info f;
  if (s->clean) remove_abandoned(s->cache, name);
  if (!is_entry_name(name) || !nxi_name_info(s->cache->directory, name, &f)) return true;
  found_list *l = s->list;
  s->failed = !nxi_grow(&l->items, &l->capacity, l->count + 1, sizeof *l->items);
  if (s->failed) return false;
  found *entry = &l->items[l->count++];
  *entry = (found){.bytes = f.bytes, .used_s = f.modified_s, .used_ns = f.modified_ns};
  memcpy(entry->name, name, NXI_DISK_NAME);
  return true;
}

/* All entries, the longest unused one first. False: the directory cannot be read, or memory is
 * exhausted. */
static bool scan(const nxi_disk_cache *c, bool clean, found_list *out) {
  scanner s = {.cache = c, .clean = clean, .list = out};
  *out = (found_list){0};
  if (!c || c->directory < 0 || !nxi_fd_list(c->directory, scan_name, &s)) return false;
  if (!s.failed && out->count) qsort(out->items, out->count, sizeof *out->items, by_use);
  if (s.failed) {
    nxi_free(out->items);
    *out = (found_list){0};
  }
  return !s.failed;
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
      .name = f->name, .bytes = f->bytes, .used = f->used_s, .state = NXI_DISK_BAD};
  nxi_disk_file file;
  int fd;
  entry.problem = nxi_disk_read(c, f->name, &file, &fd);
  if (fd >= 0) nxi_fd_close(fd);
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
    nxi_name_remove(c->directory, list.items[i].name);
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
    if (nxi_name_remove(c->directory, list.items[i].name)) gone++;
    total -= list.items[i].bytes;
  }
  nxi_free(list.items);
  atomic_store(&c->known, total > 0 ? total : 0);
  return gone;
}
