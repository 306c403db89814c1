/* SPDX-License-Identifier: ISC */
/* Deflate streams, by zlib where the library is built with it. */
#include "config.h"
#include "archive.h"

#if NX_HAVE_ZLIB

#define ZLIB_CONST
#include <zlib.h>

const bool nxi_inflate_works = true;

enum { PIECE = 1 << 30 }; /* zlib counts in 32 bits */

struct nxi_inflate {
  z_stream stream;
  int64_t left; /* packed bytes that zlib has not got */
  uLong crc;
  bool ended;
};

static void *take(void *user, uInt count, uInt size) {
  (void)user;
  return nxi_calloc(count, size);
}
static void give(void *user, void *p) {
  (void)user;
  nxi_free(p);
}

nx_status nxi_inflate_begin(const void *packed, int64_t bytes, nxi_inflate **out, nxi_diag *d) {
  nxi_inflate *i = nxi_calloc(1, sizeof *i);
  if (!i) return nxi_oom(d);
  i->stream.zalloc = take;
  i->stream.zfree = give;
  i->stream.next_in = packed;
  i->left = bytes;
  if (inflateInit2(&i->stream, -MAX_WBITS) != Z_OK) {
    nxi_free(i);
    return nxi_oom(d);
  }
  *out = i;
  return NX_OK;
}

nx_status nxi_inflate_next(nxi_inflate *i, void *to, int64_t bytes, nxi_diag *d) {
  z_stream *s = &i->stream;
  uint8_t *out = to;
  while (bytes > 0) {
    if (i->ended) return nxi_fail(d, NX_PARSE, "load", "the deflated bytes end too soon");
    uInt piece = bytes < PIECE ? (uInt)bytes : PIECE, fed = 0;
    if (!s->avail_in) fed = i->left < PIECE ? (uInt)i->left : PIECE;
    s->avail_in += fed;
    i->left -= fed;
    s->next_out = out;
    s->avail_out = piece;
    int result = inflate(s, Z_NO_FLUSH);
    uInt got = piece - s->avail_out;
    i->crc = crc32(i->crc, out, got);
    out += got;
    bytes -= got;
    i->ended = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) return nxi_oom(d);
    if ((result != Z_OK && result != Z_STREAM_END) || (!got && !i->ended && !i->left))
      return nxi_fail(d, NX_PARSE, "load", "the deflated bytes are malformed");
  }
  return NX_OK;
}

nx_status nxi_inflate_check(nxi_inflate *i, uint32_t crc, nxi_diag *d) {
  uint8_t more;
  z_stream *s = &i->stream;
  if (!i->ended) { /* the end of the stream may be still to be read */
    if (!s->avail_in && i->left) {
      s->avail_in = i->left < PIECE ? (uInt)i->left : PIECE;
      i->left -= s->avail_in;
    }
    s->next_out = &more;
    s->avail_out = 1;
    i->ended = inflate(s, Z_NO_FLUSH) == Z_STREAM_END && s->avail_out == 1;
  }
  if (!i->ended || s->avail_in || i->left)
    return nxi_fail(d, NX_PARSE, "load", "the deflated bytes do not end with the member");
  if ((uint32_t)i->crc != crc)
    return nxi_fail(d, NX_PARSE, "load", "the checksum is not that of the member");
  return NX_OK;
}

void nxi_inflate_end(nxi_inflate *i) {
  if (i) inflateEnd(&i->stream);
  nxi_free(i);
}

#else

const bool nxi_inflate_works = false;

nx_status nxi_inflate_begin(const void *packed, int64_t bytes, nxi_inflate **out, nxi_diag *d) {
  (void)packed, (void)bytes, (void)out;
  return nxi_fail(d, NX_IO, "load",
                  "the member is compressed, and this library was built without zlib");
}
nx_status nxi_inflate_next(nxi_inflate *i, void *to, int64_t bytes, nxi_diag *d) {
  (void)to, (void)bytes;
  return nxi_inflate_begin(i, 0, NULL, d);
}
nx_status nxi_inflate_check(nxi_inflate *i, uint32_t crc, nxi_diag *d) {
  (void)crc;
  return nxi_inflate_begin(i, 0, NULL, d);
}
void nxi_inflate_end(nxi_inflate *i) { (void)i; }

#endif
