/* SPDX-License-Identifier: ISC */
/* What is on disk of a kernel: a header, the object and, if it was compiled as it is, how it comes
 * apart. A process that finds the code would have to bind the kernel once more to know that, which
 * took as long as all else that is done for a kernel from disk. */
#include <stdio.h>
#include <string.h>

#include "kernel_private.h"

typedef struct stored_header {
  int64_t scratch_bytes, tasks, tasks_divisor, shared_bytes;
  uint64_t object_bytes;
  uint32_t structure_bytes, n_holes; /* 0: it is not known how the kernel comes apart */
  int32_t tasks_param, threads;
  char entry[72];
} stored_header;

/* Of one hole on disk, without padding. */
enum { HOLE_BYTES = 10 };

/* The key on disk names the instruction set too. NULL: out of memory. */
static unsigned char *disk_key(const nxi_kernel *k, size_t *size) {
  size_t isa = strlen(k->isa) + 1;
  unsigned char *key = nxi_malloc(isa + k->key_size);
  if (!key) return NULL;
  memcpy(key, k->isa, isa);
  memcpy(key + isa, k->key, k->key_size);
  *size = isa + k->key_size;
  return key;
}

static size_t anatomy_bytes(const stored_header *h) {
  return (size_t)h->structure_bytes + (size_t)h->n_holes * HOLE_BYTES;
}

/* ---- reading */

static void read_anatomy(const stored_header *h, const unsigned char *data, nxk_anatomy *out) {
  *out = (nxk_anatomy){0};
  nxi_text_put(&out->structure, (const char *)data, h->structure_bytes);
  out->holes = nxi_calloc((size_t)h->n_holes + 1, sizeof *out->holes);
  if (out->structure.failed || out->holes == NULL) {
    nxk_anatomy_free(out);
    return;
  }
  out->n_holes = out->cap_holes = h->n_holes;
  data += h->structure_bytes;
  for (uint32_t i = 0; i < h->n_holes; i++, data += HOLE_BYTES) {
    memcpy(&out->holes[i].value, data, 8);
    out->holes[i].type = data[8];
    out->holes[i].role = data[9];
  }
}

static bool load(nxi_kernel_cache *c, nxi_kernel *k, const unsigned char *data, size_t size,
                 nxk_anatomy *own) {
  stored_header h;
  if (size <= sizeof h) return false;
  memcpy(&h, data, sizeof h);
  size_t left = size - sizeof h;
  if (memchr(h.entry, '\0', sizeof h.entry) == NULL || h.object_bytes > left ||
      anatomy_bytes(&h) != left - h.object_bytes)
    return false;
  k->info = (nxi_kernel_info){.scratch_bytes = h.scratch_bytes,
                              .tasks = h.tasks,
                              .tasks_param = h.tasks_param,
                              .tasks_divisor = h.tasks_divisor,
                              .threads = h.threads,
                              .shared_bytes = h.shared_bytes,
                              .object_bytes = h.object_bytes};
  if (c->maker->load(c->user, data + sizeof h, h.object_bytes, h.entry, &k->info, &k->code, NULL))
    return false;
  if (own && h.structure_bytes > 0) read_anatomy(&h, data + sizeof h + h.object_bytes, own);
  return true;
}

bool nxi_kernel_load_stored(nxi_kernel_cache *c, nxi_kernel *k, nxk_anatomy *own) {
  size_t key_size, size;
  unsigned char *key = c->disk ? disk_key(k, &key_size) : NULL;
  if (!key) return false;
  unsigned char *data = nxi_disk_lookup(c->disk, key, key_size, &size);
  bool found = data && load(c, k, data, size, own);
  nxi_free(data);
  nxi_free(key);
  return found;
}

/* ---- writing */

static void write_anatomy(const nxk_anatomy *a, unsigned char *to) {
  memcpy(to, a->structure.data, a->structure.size);
  to += a->structure.size;
  for (uint32_t i = 0; i < a->n_holes; i++, to += HOLE_BYTES) {
    memcpy(to, &a->holes[i].value, 8);
    to[8] = a->holes[i].type;
    to[9] = a->holes[i].role;
  }
}

void nxi_kernel_store(nxi_kernel_cache *c, const nxi_kernel *k, const char *entry,
                      const void *object, size_t size, const nxk_anatomy *own) {
  size_t key_size;
  stored_header h = {.scratch_bytes = k->info.scratch_bytes,
                     .tasks = k->info.tasks,
                     .tasks_divisor = k->info.tasks_divisor,
                     .tasks_param = k->info.tasks_param,
                     .threads = k->info.threads,
                     .shared_bytes = k->info.shared_bytes,
                     .object_bytes = size};
  if (own->structure.size > 0) h.structure_bytes = own->structure.size, h.n_holes = own->n_holes;
  size_t all = sizeof h + size + anatomy_bytes(&h);
  unsigned char *key = c->disk ? disk_key(k, &key_size) : NULL,
                *data = key ? nxi_malloc(all) : NULL;
  if (data) {
    snprintf(h.entry, sizeof h.entry, "%s", entry);
    memcpy(data, &h, sizeof h);
    memcpy(data + sizeof h, object, size);
    if (h.structure_bytes > 0) write_anatomy(own, data + sizeof h + size);
    nxi_disk_store(c->disk, key, key_size, data, all);
  }
  nxi_free(data);
  nxi_free(key);
}
