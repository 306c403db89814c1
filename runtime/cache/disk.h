/* SPDX-License-Identifier: ISC */
/* The kernel cache on disk: bytes under a key, with one file for each entry. An entry is used only
 * if owner and mode of the file, header, environment, full key and checksum are all right. Anything
 * else, and every failure of the system, is a miss. Any number of processes and threads may share a
 * directory.
 *
 * The directory must belong to the user and not be writable by others. Otherwise the cache is
 * unusable (every lookup misses, stores do nothing), and the reason can be queried. */
#ifndef NXI_CACHE_DISK_H
#define NXI_CACHE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"

typedef struct nxi_disk_cache nxi_disk_cache;

typedef struct nxi_disk_options {
  /* NULL: $NX_CACHE_DIR; else nx below $XDG_CACHE_HOME, else below ~/.cache. An empty $NX_CACHE_DIR
   * turns the cache off. Made, with parents, mode 0700, if missing */
  const char *directory;
  const char
      *environment; /* what all entries depend on (LLVM's version, the processor and its features);
                               those of another environment are never found. NULL: "" */
  /* bytes of all entries; the least recently used ones are removed first. 0: 256 MiB */
  int64_t limit;
} nxi_disk_options;

/* options may be NULL. NX_OUT_OF_MEMORY only: a directory that cannot be used makes an unusable
 * cache. */
nx_status nxi_disk_open(const nxi_disk_options *options, nxi_disk_cache **out, nxi_diag *d);
void nxi_disk_close(nxi_disk_cache *c); /* NULL is allowed, here and below */

/* The payload stored under the key, *size bytes, which the caller frees with nxi_free; NULL: a
 * miss. */
void *nxi_disk_lookup(nxi_disk_cache *c, const void *key, size_t key_size, size_t *size);
/* Replaces the entry of the key. False: not stored. The entry has been synced to disk on return. */
bool nxi_disk_store(nxi_disk_cache *c, const void *key, size_t key_size, const void *payload,
                    size_t size);

/* ---- for the tool */

/* Why the cache is unusable, one sentence; NULL: it is usable. Lives as long as the cache. */
const char *nxi_disk_reason(const nxi_disk_cache *c);
const char *nxi_disk_directory(const nxi_disk_cache *c); /* "" if none could be determined */

typedef struct nxi_disk_stats {
  int64_t entries, bytes; /* in the directory now */
  int64_t limit;
  int64_t hits, misses, stores; /* of this object since it was opened */
  int64_t refused;              /* files that lookups found and refused; they count as misses too */
} nxi_disk_stats;
void nxi_disk_stats_read(nxi_disk_cache *c, nxi_disk_stats *out);

typedef enum nxi_disk_state {
  NXI_DISK_GOOD,    /* this cache would use it */
  NXI_DISK_FOREIGN, /* sound, for another environment or another version of the library */
  NXI_DISK_BAD      /* damaged, or not to be trusted */
} nxi_disk_state;

typedef struct nxi_disk_entry {
  const char *name; /* of the file */
  int64_t bytes;    /* of the file */
  int64_t used;     /* when it was last used, seconds since 1970 */
  nxi_disk_state state;
  const char *problem; /* BAD: what is wrong, one phrase; else NULL */
} nxi_disk_entry;

/* Calls visit for each entry, the longest unused one first; strings live during the call. Reads
 * every file. False (and perhaps some calls) if the directory cannot be listed. */
bool nxi_disk_list(nxi_disk_cache *c, void (*visit)(void *user, const nxi_disk_entry *entry),
                   void *user);
/* Removes bad entries; returns how many there were. */
int64_t nxi_disk_verify(nxi_disk_cache *c);
/* Removes the least recently used entries until at most `bytes` bytes are left (0: removes all of
 * them, also bad and foreign ones), and temporary files of killed processes. Returns how many
 * entries were removed. */
int64_t nxi_disk_trim(nxi_disk_cache *c, int64_t bytes);
static inline int64_t nxi_disk_clear(nxi_disk_cache *c) { return nxi_disk_trim(c, 0); }

#endif
