/* SPDX-License-Identifier: ISC */
/* The vectors of the sets for AVX-512, with or without VNNI, as engine.h wants them, which removes
 * these macros: so this file is included before each of its uses. */
#define ROWS        8
#define VECTORS     2
#define VECTOR      __m512i
#define LANES       16
#define LOAD(p)     _mm512_loadu_si512(p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define SPREAD(x)   _mm512_set1_epi32(x)
#define ADD(x, y)   _mm512_add_epi32(x, y)
