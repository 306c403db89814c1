/* SPDX-License-Identifier: ISC */
/* Mutations of files: bytes are changed, and the fields of the format that describe them are mostly
 * corrected, so that the next layer is reached: the length of a header, sizes and checksums of the
 * members of an archive, the checksum of a cache entry. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "fuzz.h"

#define ANY(r, a) (a)[nxt_below((r), (int64_t)(sizeof(a) / sizeof *(a)))]

static uint32_t get32(const uint8_t *p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint32_t get16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static void put(uint8_t *p, uint64_t x, int n) {
  for (int i = 0; i < n; i++) p[i] = (uint8_t)(x >> 8 * i);
}

static void put_text(uint8_t *to, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (uint8_t)text[i];
}

/* ---- texts inside of files */

static const char *const words[] = {"'<f4'",
                                    "'>f8'",
                                    "'|u1'",
                                    "'<i2'",
                                    "'|b1'",
                                    "'<c8'",
                                    "'<V2'",
                                    "'descr': ",
                                    "'fortran_order': ",
                                    "'shape': ",
                                    "True",
                                    "False",
                                    "(3,)",
                                    "(2, 2)",
                                    "()",
                                    "(0,)",
                                    "-1",
                                    "9223372036854775807",
                                    "\"dtype\":",
                                    "\"shape\":",
                                    "\"data_offsets\":",
                                    "\"F32\"",
                                    "\"U8\"",
                                    "\"BF16\"",
                                    "\"I64\"",
                                    "[0,4]",
                                    "[]",
                                    "\"__metadata__\":",
                                    "{\"a\":\"b\"}",
                                    "\\u00e9",
                                    "\\ud83d\\ude00",
                                    "\"\"",
                                    ",",
                                    " ",
                                    "1L",
                                    "\"BOOL\"",
                                    "\"F8_E4M3\"",
                                    "[0,0]",
                                    "[2,1]"};

/* A word in place of some bytes, or a digit in place of another. */
static size_t change_text(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  if (n && nxt_chance(r, 40)) {
    for (size_t at = (size_t)nxt_below(r, (int64_t)n); at < n; at++)
      if (data[at] >= '0' && data[at] <= '9') {
        data[at] = (uint8_t)('0' + nxt_below(r, 10));
        return n;
      }
  }
  if (nxt_chance(r, 30)) return fuzz_mutate_bytes(data, n, most, r);
  const char *word = ANY(r, words);
  size_t length = strlen(word), at = (size_t)nxt_below(r, (int64_t)n + 1),
         old = (size_t)nxt_below(r, 12);
  if (old > n - at) old = n - at;
  if (nxt_chance(r, 30)) old = 0;
  if (n - old + length > most) return n;
  memmove(data + at + length, data + at + old, n - at - old);
  put_text(data + at, word, length);
  return n - old + length;
}

/* ---- .npy: 10 bytes, of which the last two (later versions: four) are the length of the text
 * behind them */

/* Where the text begins and ends; false: not even that. */
static bool text_of(const uint8_t *data, size_t n, size_t *begin, size_t *end) {
  if (n < 12 || data[0] != 0x93) return false;
  *begin = data[6] == 1 ? 10 : 12;
  uint64_t length = data[6] == 1 ? get16(data + 8) : get32(data + 8);
  *end = length > n - *begin ? n : *begin + (size_t)length;
  return true;
}

size_t fuzz_mutate_npy(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  static uint8_t rest[4096];
  size_t begin, end;
  if (!text_of(data, n, &begin, &end) || nxt_chance(r, 20) || n > sizeof rest) {
    n = fuzz_mutate_bytes(data, n, most, r);
    if (n && nxt_chance(r, 90)) data[0] = 0x93;
    return n;
  }
  size_t after = n - end;
  memcpy(rest, data + end, after);
  size_t length = change_text(data + begin, end - begin, most - begin, r);
  if (after && nxt_chance(r, 30)) after = fuzz_mutate_bytes(rest, after, sizeof rest, r);
  if (begin + length + after > most) after = most - begin - length;
  memcpy(data + begin + length, rest, after);
  put(data + 8, length, begin == 10 ? 2 : 4);
  return begin + length + after;
}

/* ---- .safetensors: 8 bytes, the length of the JSON behind them; then the elements */

size_t fuzz_mutate_safetensors(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  static uint8_t rest[8192];
  uint64_t length = n >= 8 ? get32(data) : 0;
  if (n < 8 || length > n - 8 || nxt_chance(r, 15)) return fuzz_mutate_bytes(data, n, most, r);
  size_t end = 8 + (size_t)length, after = n - end;
  memcpy(rest, data + end, after);
  size_t text = change_text(data + 8, (size_t)length, most - 8, r);
  if (after && nxt_chance(r, 20)) after = fuzz_mutate_bytes(rest, after, most, r);
  if (8 + text + after > most) after = most - 8 - text;
  memcpy(data + 8 + text, rest, after);
  put(data, text, 8);
  return 8 + text + after;
}

/* ---- .npz: members are taken out, changed, and put together again with sizes and checksums that
 * are true, most of them */

enum { MEMBERS = 8, MEMBER = 2048 };
typedef struct member {
  char name[40];
  size_t name_n, n, plain; /* plain: bytes once they are unpacked */
  uint32_t method, crc;
  uint8_t data[MEMBER];
} member;
static member members[MEMBERS];

static uint32_t crc32_of(const uint8_t *data, size_t n) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < n; i++) {
    crc ^= data[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

/* Leniently, by the local headers alone. How many there are. */
static size_t take_members(const uint8_t *data, size_t n) {
  size_t count = 0, at = 0;
  while (count < MEMBERS && at + 30 <= n && get32(data + at) == 0x04034b50) {
    const uint8_t *h = data + at;
    member *m = &members[count];
    size_t name = get16(h + 26), extra = get16(h + 28), size = get32(h + 18);
    if (at + 30 + name + extra > n || name > sizeof m->name) break;
    size_t from = at + 30 + name + extra;
    if (size > n - from) size = n - from;
    if (size > MEMBER) break;
    memcpy(m->name, h + 30, name);
    memcpy(m->data, data + from, size);
    m->name_n = name, m->n = size, m->plain = get32(h + 22), m->method = get16(h + 8),
    m->crc = get32(h + 14);
    count++;
    at = from + size;
  }
  return count;
}

static size_t put_local(uint8_t *p, const member *m) {
  memset(p, 0, 30);
  put(p, 0x04034b50, 4), put(p + 4, 20, 2), put(p + 8, m->method, 2), put(p + 14, m->crc, 4);
  put(p + 18, m->n, 4), put(p + 22, m->plain, 4), put(p + 26, m->name_n, 2);
  memcpy(p + 30, m->name, m->name_n);
  memcpy(p + 30 + m->name_n, m->data, m->n);
  return 30 + m->name_n + m->n;
}

static size_t put_central(uint8_t *p, const member *m, size_t offset) {
  memset(p, 0, 46);
  put(p, 0x02014b50, 4), put(p + 4, 20, 2), put(p + 6, 20, 2), put(p + 10, m->method, 2),
      put(p + 16, m->crc, 4);
  put(p + 20, m->n, 4), put(p + 24, m->plain, 4), put(p + 28, m->name_n, 2), put(p + 42, offset, 4);
  memcpy(p + 46, m->name, m->name_n);
  return 46 + m->name_n;
}

static size_t put_members(uint8_t *data, size_t most, size_t count) {
  static uint8_t out[MEMBERS * (MEMBER + 200)];
  size_t offsets[MEMBERS], at = 0;
  for (size_t i = 0; i < count; i++) {
    offsets[i] = at;
    at += put_local(out + at, &members[i]);
  }
  size_t central = at;
  for (size_t i = 0; i < count; i++) at += put_central(out + at, &members[i], offsets[i]);
  memset(out + at, 0, 22);
  put(out + at, 0x06054b50, 4), put(out + at + 8, count, 2), put(out + at + 10, count, 2);
  put(out + at + 12, at - central, 4), put(out + at + 16, central, 4);
  at += 22;
  if (at > most) return 0;
  memcpy(data, out, at);
  return at;
}

static void change_member(member *m, nxt_random *r) {
  if (m->method == 0) {
    m->n = nxt_chance(r, 80) ? fuzz_mutate_npy(m->data, m->n, MEMBER, r)
                             : fuzz_mutate_bytes(m->data, m->n, MEMBER, r);
    if (nxt_chance(r, 95)) m->plain = m->n, m->crc = crc32_of(m->data, m->n);
  } else {
    m->n = fuzz_mutate_bytes(m->data, m->n, MEMBER, r);
    if (nxt_chance(r, 30)) m->plain = (size_t)nxt_below(r, 4096);
  }
  if (nxt_chance(r, 10))
    m->name_n = fuzz_mutate_bytes((uint8_t *)m->name, m->name_n, sizeof m->name, r);
  if (nxt_chance(r, 3)) m->method = (uint32_t)nxt_below(r, 12);
}

size_t fuzz_mutate_npz(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  size_t count = take_members(data, n), made = 0;
  if (count && nxt_chance(r, 70)) {
    size_t which = (size_t)nxt_below(r, (int64_t)count);
    change_member(&members[which], r);
    if (count < MEMBERS && nxt_chance(r, 10)) members[count++] = members[which];
    if (count > 1 && nxt_chance(r, 10)) count--;
    made = put_members(data, most, count);
  }
  if (made && nxt_chance(r, 85)) return made;
  return fuzz_mutate_bytes(data, made ? made : n, most, r);
}

/* ---- entries of the cache: the checksum at byte 40 is that of the whole with itself as zero */

enum { SIZES_AT = 16, SUM_AT = 40, HEADER = 56, NAME = 11, KEY = 4 };

static void make_entry(uint8_t *data, size_t payload) {
  static const char head[] = "nxcache\n\1\0\0\0\4\3\2\1";
  put_text(data, head, 16);
  put(data + SIZES_AT, NAME, 8), put(data + SIZES_AT + 8, KEY, 8),
      put(data + SIZES_AT + 16, payload, 8);
  put_text(data + HEADER, "environmentkey", NAME + KEY); /* with its NUL */
  for (size_t i = 0; i < payload; i++) data[HEADER + NAME + KEY + i] = (uint8_t)i;
}

size_t fuzz_mutate_cache(uint8_t *data, size_t n, size_t most, nxt_random *r) {
  if ((n < HEADER || nxt_chance(r, 3)) && most >= 256) {
    size_t payload = (size_t)nxt_below(r, 128);
    make_entry(data, payload);
    n = HEADER + NAME + KEY + payload;
  } else {
    n = fuzz_mutate_bytes(data, n, most, r);
  }
  if (n < HEADER) return n;
  if (nxt_chance(r, 60)) put_text(data, "nxcache\n", 8);
  if (nxt_chance(r, 30)) put(data + 12, 0x01020304, 4);
  if (nxt_chance(r, 30) && n >= HEADER + NAME + KEY)
    put(data + SIZES_AT, NAME, 8), put(data + SIZES_AT + 8, KEY, 8),
        put(data + SIZES_AT + 16, n - HEADER - NAME - KEY, 8);
  if (nxt_chance(r, 90)) {
    memset(data + SUM_AT, 0, 16);
    XXH128_hash_t h = XXH3_128bits(data, n);
    put(data + SUM_AT, h.low64, 8), put(data + SUM_AT + 8, h.high64, 8);
  }
  return n;
}
