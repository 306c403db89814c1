/* SPDX-License-Identifier: ISC */
/* Bytes, numbers and sections of a portable artifact. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bytecode.h"

bool nxh_malformed(nxh_artifact *a, const nxh_bytes *b, const char *format, ...) {
  char said[300];
  va_list list;
  va_start(list, format);
  vsnprintf(said, sizeof said, format, list);
  va_end(list);
  nxi_fail(a->d, NX_PARSE, "stablehlo", "byte %lld: %s", (long long)(b->at - a->start), said);
  if (a->d->index < 0) a->d->index = b->at - a->start;
  return false;
}

bool nxh_byte(nxh_artifact *a, nxh_bytes *b, uint8_t *out) {
  if (b->at == b->end) return nxh_malformed(a, b, "the file ends too early");
  *out = *b->at++;
  return true;
}

/* The zeros below the lowest 1 of the first byte are the number of bytes that follow; a first byte
 * of 0 means eight. */
bool nxh_varint(nxh_artifact *a, nxh_bytes *b, uint64_t *out) {
  uint8_t first = 0;
  if (!nxh_byte(a, b, &first)) return false;
  int more = first ? __builtin_ctz(first) : 8;
  if (b->end - b->at < more) return nxh_malformed(a, b, "the file ends too early");
  uint64_t high = 0;
  for (int i = 0; i < more; i++) high |= (uint64_t)b->at[i] << (8 * i);
  b->at += more;
  *out = more == 8 ? high : (high << (7 - more)) | ((uint64_t)first >> (more + 1));
  return true;
}

bool nxh_svarint(nxh_artifact *a, nxh_bytes *b, int64_t *out) {
  uint64_t value;
  if (!nxh_varint(a, b, &value)) return false;
  *out = (int64_t)(value >> 1 ^ (0 - (value & 1)));
  return true;
}

bool nxh_count(nxh_artifact *a, nxh_bytes *b, uint32_t *out) {
  uint64_t n;
  if (!nxh_varint(a, b, &n)) return false;
  if (n > (uint64_t)(b->end - b->at)) return nxh_malformed(a, b, "a count beyond the bytes left");
  *out = (uint32_t)n;
  return true;
}

bool nxh_number_below(nxh_artifact *a, nxh_bytes *b, uint32_t limit, const char *what,
                      uint32_t *out) {
  uint64_t n;
  if (!nxh_varint(a, b, &n)) return false;
  if (n >= limit)
    return nxh_malformed(a, b, "there are %u %s, and this is number %llu", limit, what,
                         (unsigned long long)n);
  *out = (uint32_t)n;
  return true;
}

bool nxh_split(nxh_artifact *a, nxh_bytes *b, uint64_t n, nxh_bytes *out) {
  if (n > (uint64_t)(b->end - b->at)) return nxh_malformed(a, b, "a length beyond the bytes left");
  *out = (nxh_bytes){b->at, b->at + n};
  b->at += n;
  return true;
}

bool nxh_section(nxh_artifact *a, nxh_bytes *b, uint8_t *id, nxh_bytes *out) {
  uint64_t length = 0, alignment = 0;
  uint8_t first = 0;
  if (!nxh_byte(a, b, &first) || !nxh_varint(a, b, &length)) return false;
  *id = first & 127;
  if (first & 128) {
    if (!nxh_varint(a, b, &alignment)) return false;
    if (alignment == 0 || (alignment & (alignment - 1)) || alignment > 4096)
      return nxh_malformed(a, b, "an alignment that is no small power of two");
    while ((uint64_t)(b->at - a->start) & (alignment - 1))
      if (!nxh_byte(a, b, &first)) return false;
  }
  return nxh_split(a, b, length, out);
}

void *nxh_room(nxh_artifact *a, size_t n, size_t size) {
  void *p = nxi_arena_alloc(&a->m->arena, n > 0 ? n * size : 1);
  if (p == NULL) nxi_oom(a->d);
  return p;
}
