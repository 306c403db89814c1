/* SPDX-License-Identifier: ISC */
/* FFTW as a peer, if its shared objects are installed: found at run time, never linked. */
#ifndef NX_BENCH_PEER_FFTW_H
#define NX_BENCH_PEER_FFTW_H

#include <stdbool.h>
#include <stdint.h>

typedef enum fftw_kind { FFTW_COMPLEX, FFTW_FROM_REAL, FFTW_TO_REAL } fftw_kind;
typedef struct fftw_peer {
  void *plan, *in, *out;
  void (*execute)(void *plan);
  void (*destroy)(void *plan);
  int repeat;
} fftw_peer;

/* `rows` transforms of n numbers side by side, or one of rows x n if `two`; planned by measuring.
 * False: there is no FFTW. */
bool fftw_peer_plan(fftw_peer *p, fftw_kind kind, bool wide, bool two, int64_t rows, int64_t n,
                    int threads);
void fftw_peer_run(void *peer);
void fftw_peer_free(fftw_peer *p);

#endif
