/* SPDX-License-Identifier: ISC */
/* What the two halves of the disk cache share: the object, and reading one entry. */
#ifndef NXI_CACHE_DISK_PRIVATE_H
#define NXI_CACHE_DISK_PRIVATE_H

#include <stdatomic.h>

#include "disk.h"
#include "ir/platform/file.h"

enum { NXI_DISK_NAME = 37 }; /* 32 digits of the hash, ".nxe", NUL */

struct nxi_disk_cache {
  int directory; /* file descriptor, -1: unusable */
  char path[NXI_PATH];
  char reason[256];
  char *environment;
  size_t environment_size;
  int64_t limit;
  _Atomic int64_t known; /* bytes of all entries, as far as this process knows; -1: never looked */
  _Atomic int64_t hits, misses, stores, refused;
};

/* The head of a file, in the byte order of the machine. After it: environment, key, payload. */
typedef struct nxi_disk_header {
  char magic[8];
  uint32_t abi; /* raised when the format, or what payloads mean, changes */
  uint32_t byte_order;
  uint64_t environment_size, key_size, payload_size;
  uint64_t checksum[2]; /* XXH3-128 of the whole file with these two as zero */
} nxi_disk_header;

/* A file read whole, already found sound. Parts point into `data`, which the reader frees. */
typedef struct nxi_disk_file {
  char *data;
  const char *environment, *key, *payload;
  size_t environment_size, key_size, payload_size;
  bool other_version; /* sound, but of another ABI: the parts are not set */
} nxi_disk_file;

/* The file of a key. The name covers the environment, so that machines that share a home do not
 * replace each other's entries. */
void nxi_disk_name(const char *environment, size_t environment_size, const void *key,
                   size_t key_size, char name[NXI_DISK_NAME]);

/* Reads and checks an entry. *fd is left open for the caller to close, -1 if the file could not be
 * opened. Returns NULL, or what is wrong; then *out holds nothing. */
extern const char nxi_disk_no_memory[]; /* one of the problems, which says nothing about the file */
const char *nxi_disk_read(const nxi_disk_cache *c, const char *name, nxi_disk_file *out, int *fd);

#endif
