/* SPDX-License-Identifier: ISC */
/* A PNG file is a list of chunks, each with a CRC-32; the pixels are a zlib stream, here of stored
 * blocks, one a row, closed by an Adler-32 sum (PNG specification, sections 5 and 10; RFC 1950, RFC
 * 1951). */
#include "png.h"

#include <stdio.h>
#include <string.h>

typedef struct png {
  FILE *f;
  uint32_t crc, low, high; /* of the chunk; of the pixels */
} png;

/* Bytes of a chunk: written and counted into its CRC. */
static void put(png *p, const void *bytes, size_t n) {
  const uint8_t *b = bytes;
  for (size_t i = 0; i < n; i++) {
    p->crc ^= b[i];
    for (int k = 0; k < 8; k++) p->crc = (p->crc >> 1) ^ (p->crc & 1 ? 0xedb88320u : 0);
  }
  fwrite(bytes, 1, n, p->f);
}

static void put_u32(png *p, uint32_t x) {
  put(p, (const uint8_t[4]){(uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x},
      4);
}

static void begin_chunk(png *p, const char *type, uint32_t size) {
  put_u32(p, size);
  p->crc = 0xffffffffu;
  put(p, type, 4);
}

static void end_chunk(png *p) { put_u32(p, ~p->crc); }

static void put_pixels(png *p, const uint8_t *bytes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    p->low = (p->low + bytes[i]) % 65521;
    p->high = (p->high + p->low) % 65521;
  }
  put(p, bytes, n);
}

static void put_row(png *p, const uint8_t *row, uint32_t size, bool last) {
  uint16_t n = (uint16_t)(size + 1), other = (uint16_t)~n;
  const uint8_t head[5] = {last, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)other,
                           (uint8_t)(other >> 8)};
  put(p, head, sizeof head);
  put_pixels(p, (const uint8_t[1]){0}, 1); /* no filter */
  put_pixels(p, row, size);
}

bool png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height) {
  png p = {.f = fopen(path, "wb"), .low = 1};
  if (p.f == NULL) return false;
  fwrite("\x89PNG\r\n\x1a\n", 1, 8, p.f);
  begin_chunk(&p, "IHDR", 13);
  put_u32(&p, width);
  put_u32(&p, height);
  put(&p, (const uint8_t[5]){8, 2}, 5); /* 8 bits, red green blue */
  end_chunk(&p);
  begin_chunk(&p, "IDAT", 2 + height * (width * 3 + 6) + 4);
  put(&p, (const uint8_t[2]){0x78, 0x01}, 2);
  for (uint32_t y = 0; y < height; y++)
    put_row(&p, rgb + (size_t)y * width * 3, width * 3, y == height - 1);
  put_u32(&p, p.high << 16 | p.low);
  end_chunk(&p);
  begin_chunk(&p, "IEND", 0);
  end_chunk(&p);
  bool good = !ferror(p.f);
  return fclose(p.f) == 0 && good;
}
