/* SPDX-License-Identifier: ISC */
/* The Schur form of a real Hessenberg matrix (f64) that is stored by columns, in stages (stages.h):
 * the QR iteration with chains of small bulges and early deflation (Braman, Byers and Mathias
 * 2002). One task of a stage works on a block on the diagonal; others bring what is right of the
 * block before and above it up to date by products. How the work is divided depends on the matrix
 * alone. */
#ifndef NXI_SCHUR_H
#define NXI_SCHUR_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_schur {
  int n;
  bool vectors;       /* else the values alone: then what they do not depend on is not computed */
  int shifts, window; /* of a chain of bulges; rows of a block that is deflated */
  int most;           /* rows of a block */
} nxi_schur;

/* work: nxi_schur_work elements; state: nxi_schur_state_bytes. */
typedef struct nxi_schur_arrays {
  double *h, *z; /* z is multiplied by what the columns of h are, if there are vectors */
  int ld;
  int low, high; /* rows of h that are not triangular */
  double *work;
  void *state;
} nxi_schur_arrays;

nxi_schur nxi_schur_of(int n, bool vectors);
int64_t nxi_schur_work(const nxi_schur *s);
int64_t nxi_schur_own(const nxi_schur *s); /* elements for a thread */
int64_t nxi_schur_state_bytes(void);
uint32_t nxi_schur_stages(const nxi_schur *s);
int64_t nxi_schur_tasks(const nxi_schur *s);
/* Before the first stage. */
void nxi_schur_begin(const nxi_schur *s, const nxi_schur_arrays *at);
void nxi_schur_run(const nxi_schur *s, const nxi_schur_arrays *at, uint32_t stage, int64_t task,
                   double *own);
/* What the stages have left, on the calling thread. False: no convergence, or told to stop. */
bool nxi_schur_end(const nxi_schur *s, const nxi_schur_arrays *at, const nxg_call_part *part,
                   double *own);

#endif
