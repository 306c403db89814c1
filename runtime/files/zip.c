/* SPDX-License-Identifier: ISC */
/* The directory of a zip file (.npz), including zip64. It is read from its end, as the format
 * requires. Information that is in two places of the file is compared, and no two members may share
 * bytes. So an archive is refused if different readers could see different contents, or if one
 * member is listed several times. */
#include <stdlib.h>
#include <string.h>

#include "archive.h"

enum { END = 22, END64 = 56, LOCATOR = 20, CENTRAL = 46, LOCAL = 30, MOST_COMMENT = 65535 };
enum { STORED = 0, DEFLATED = 8 };
enum { ENCRYPTED = 1, SIZES_LATER = 8 }; /* flags of a member */
/* the most bytes that one byte of a deflate stream can expand to */
enum { BEST_RATIO = 1032 };

typedef struct zip {
  nx_archive *a;
  const uint8_t *bytes;
  int64_t size;
  int64_t end;                                /* where the records of the end begin */
  int64_t directory, directory_size, members; /* as they say */
  struct extent {
    int64_t begin, end;
  } *extents; /* of the members */
  nxi_diag *d;
} zip;

static uint64_t number(const uint8_t *p, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | p[i];
  return value;
}

static bool is(const zip *z, int64_t at, const char *signature) {
  return memcmp(z->bytes + at, signature, 4) == 0;
}

/* A number of the file that has to be an offset or a size. */
static int64_t length(const uint8_t *p, int bytes) {
  uint64_t value = number(p, bytes);
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* ---- the end */

static nx_status read_end64(zip *z, int64_t locator) {
  int64_t at = length(z->bytes + locator + 8, 8);
  if (at > locator - END64 || !is(z, at, "PK\6\6"))
    return nxi_archive_bad(z->d, NX_PARSE, locator + 8, "the end record of 64 bits is not there");
  const uint8_t *p = z->bytes + at;
  if (number(p + 16, 4) || number(p + 20, 4) || number(p + 24, 8) != number(p + 32, 8))
    return nxi_archive_bad(z->d, NX_PARSE, at + 16, "the archive has several parts");
  z->members = length(p + 32, 8);
  z->directory_size = length(p + 40, 8);
  z->directory = length(p + 48, 8);
  z->end = at;
  return NX_OK;
}

static nx_status read_end(zip *z) {
  int64_t at = z->size - END, lowest = at - MOST_COMMENT;
  if (lowest < 0) lowest = 0;
  while (at >= lowest &&
         !(is(z, at, "PK\5\6") && at + END + (int64_t)number(z->bytes + at + 20, 2) == z->size))
    at--;
  if (at < lowest || at < 0)
    return nxi_archive_bad(z->d, NX_PARSE, z->size, "the archive has no end record");
  const uint8_t *p = z->bytes + at;
  z->end = at;
  z->members = length(p + 10, 2);
  z->directory_size = length(p + 12, 4);
  z->directory = length(p + 16, 4);
  const int64_t said[] = {z->members, z->directory_size, z->directory};
  const int64_t most[] = {UINT16_MAX, UINT32_MAX, UINT32_MAX};
  if (at >= LOCATOR + END64 && is(z, at - LOCATOR, "PK\6\7")) {
    if (read_end64(z, at - LOCATOR)) return z->d->status;
    const int64_t again[] = {z->members, z->directory_size, z->directory};
    for (int i = 0; i < 3; i++)
      if (said[i] != again[i] && said[i] != most[i])
        return nxi_archive_bad(z->d, NX_PARSE, at + 10, "the two end records differ");
  } else if (number(p + 4, 2) || number(p + 6, 2) || number(p + 8, 2) != number(p + 10, 2)) {
    return nxi_archive_bad(z->d, NX_PARSE, at + 4, "the archive has several parts");
  }
  if (z->directory > z->end || z->directory_size != z->end - z->directory)
    return nxi_archive_bad(z->d, NX_PARSE, at + 12,
                           "the directory of %lld bytes at byte %lld does not end at byte %lld",
                           (long long)z->directory_size, (long long)z->directory,
                           (long long)z->end);
  if (z->members > z->directory_size / CENTRAL)
    return nxi_archive_bad(z->d, NX_PARSE, at + 10, "the directory is too short for its members");
  return NX_OK;
}

/* ---- a member */

typedef struct member {
  int64_t at, name, name_size, after; /* in the directory */
  int64_t size, packed, local;
  uint16_t flags, method;
} member;

/* Sizes and offset that do not fit in 32 bits are in an extra field. */
static nx_status read_extra64(zip *z, member *m, int64_t at, int64_t end) {
  int64_t *const wide[] = {&m->size, &m->packed, &m->local};
  bool wanted = false;
  for (int i = 0; i < 3; i++) wanted |= *wide[i] == UINT32_MAX;
  while (wanted && at + 4 <= end) {
    int64_t id = (int64_t)number(z->bytes + at, 2), size = (int64_t)number(z->bytes + at + 2, 2);
    at += 4;
    if (size > end - at) break;
    for (int i = 0, k = 0; id == 1 && i < 3; i++) {
      if (*wide[i] != UINT32_MAX) continue;
      if (8 * (k + 1) > size)
        return nxi_archive_bad(z->d, NX_PARSE, at, "the sizes of 64 bits are not there");
      *wide[i] = length(z->bytes + at + 8 * k++, 8);
    }
    if (id == 1) return NX_OK;
    at += size;
  }
  return NX_OK;
}

static nx_status read_central(zip *z, int64_t at, member *m) {
  int64_t left = z->end - at;
  if (left < CENTRAL || !is(z, at, "PK\1\2"))
    return nxi_archive_bad(z->d, NX_PARSE, at, "a member of the directory is expected");
  const uint8_t *p = z->bytes + at;
  int64_t extra = (int64_t)number(p + 30, 2), comment = (int64_t)number(p + 32, 2);
  *m = (member){.at = at,
                .name = at + CENTRAL,
                .name_size = (int64_t)number(p + 28, 2),
                .flags = (uint16_t)number(p + 8, 2),
                .method = (uint16_t)number(p + 10, 2),
                .packed = length(p + 20, 4),
                .size = length(p + 24, 4),
                .local = length(p + 42, 4)};
  m->after = m->name + m->name_size + extra + comment;
  if (m->after > z->end)
    return nxi_archive_bad(z->d, NX_PARSE, at + 28, "the member goes past the directory");
  if (memchr(z->bytes + m->name, 0, (size_t)m->name_size) || !m->name_size)
    return nxi_archive_bad(z->d, NX_PARSE, m->name,
                           "the member's name is empty or has a NUL in it");
  return read_extra64(z, m, m->name + m->name_size, m->name + m->name_size + extra);
}

/* Checks that the member's own header says the same as the directory. */
static nx_status read_local(zip *z, const member *m, int64_t *data) {
  if (m->local > z->directory - LOCAL || !is(z, m->local, "PK\3\4"))
    return nxi_archive_bad(z->d, NX_PARSE, m->at + 42, "no member begins at byte %lld",
                           (long long)m->local);
  const uint8_t *p = z->bytes + m->local;
  int64_t name = (int64_t)number(p + 26, 2), extra = (int64_t)number(p + 28, 2);
  *data = m->local + LOCAL + name + extra;
  if (name != m->name_size || *data > z->directory ||
      memcmp(p + LOCAL, z->bytes + m->name, (size_t)name) != 0 || number(p + 8, 2) != m->method ||
      number(p + 6, 2) != m->flags)
    return nxi_archive_bad(z->d, NX_PARSE, m->local, "the member is not what the directory says");
  member again = {.packed = length(p + 18, 4), .size = length(p + 22, 4)};
  if (read_extra64(z, &again, m->local + LOCAL + name, *data)) return z->d->status;
  if (!(m->flags & SIZES_LATER) && (again.packed != m->packed || again.size != m->size))
    return nxi_archive_bad(z->d, NX_PARSE, m->local + 18,
                           "the member has other sizes than the directory says");
  if (m->packed > z->directory - *data)
    return nxi_archive_bad(z->d, NX_PARSE, m->at + 20,
                           "the member of %lld bytes goes past byte %lld", (long long)m->packed,
                           (long long)z->directory);
  return NX_OK;
}

static nx_status check_method(zip *z, const member *m) {
  if (m->flags & ENCRYPTED)
    return nxi_archive_bad(z->d, NX_PARSE, m->at + 8, "the member is encrypted");
  if (m->method != STORED && m->method != DEFLATED)
    return nxi_archive_bad(
        z->d, NX_PARSE, m->at + 10,
        "the member is compressed by method %d; stored and deflated ones are read", m->method);
  if (m->method == STORED && m->size != m->packed)
    return nxi_archive_bad(z->d, NX_PARSE, m->at + 20, "a stored member has two sizes");
  if (m->size / BEST_RATIO > m->packed)
    return nxi_archive_bad(z->d, NX_PARSE, m->at + 24,
                           "%lld bytes cannot come from the %lld that are there",
                           (long long)m->size, (long long)m->packed);
  return NX_OK;
}

/* "weights.npy" is the array "weights". */
static const char *array_name(zip *z, const member *m) {
  const char *name = (const char *)z->bytes + m->name;
  size_t n = (size_t)m->name_size;
  if (n > 4 && memcmp(name + n - 4, ".npy", 4) == 0) n -= 4;
  return nxi_archive_name(z->a, name, n);
}

static nx_status read_member(zip *z, int64_t *at, struct extent *extent) {
  member m = {0};
  int64_t data = 0;
  if (read_central(z, *at, &m) || check_method(z, &m) || read_local(z, &m, &data))
    return z->d->status;
  *at = m.after;
  *extent = (struct extent){m.local, data + m.packed};
  const char *name = array_name(z, &m);
  nxi_entry *e = name ? nxi_archive_add(z->a) : NULL;
  if (!e) return nxi_oom(z->d);
  *e = (nxi_entry){.name = name,
                   .position = m.at,
                   .offset = data,
                   .packed = m.packed,
                   .bytes = m.size,
                   .deflated = m.method == DEFLATED,
                   .crc = (uint32_t)number(z->bytes + m.at + 16, 4)};
  return NX_OK;
}

/* ---- the whole */

static int by_begin(const void *left, const void *right) {
  const struct extent *a = left, *b = right;
  return (a->begin > b->begin) - (a->begin < b->begin);
}

static nx_status read_directory(zip *z) {
  int64_t at = z->directory;
  for (int64_t i = 0; i < z->members; i++)
    if (read_member(z, &at, &z->extents[i])) return z->d->status;
  if (at != z->end)
    return nxi_archive_bad(z->d, NX_PARSE, at, "something follows the members of the directory");
  qsort(z->extents, (size_t)z->members, sizeof *z->extents, by_begin);
  for (int64_t i = 1; i < z->members; i++)
    if (z->extents[i].begin < z->extents[i - 1].end)
      return nxi_archive_bad(z->d, NX_PARSE, z->extents[i].begin, "two members share bytes");
  return NX_OK;
}

nx_status nxi_zip_read(nx_archive *a, nxi_diag *d) {
  zip z = {
      .a = a, .bytes = (const uint8_t *)a->file->data, .size = (int64_t)a->file->bytes, .d = d};
  if (read_end(&z)) return d->status;
  z.extents = nxi_calloc((size_t)z.members, sizeof *z.extents);
  if (!z.extents) return nxi_oom(d);
  nx_status status = read_directory(&z);
  nxi_free(z.extents);
  return status;
}
