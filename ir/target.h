/* SPDX-License-Identifier: ISC */
/* The processor or GPU that kernels are made for: the properties on which decisions of the binder
 * depend, and which are part of cache keys. */
#ifndef NXI_TARGET_H
#define NXI_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct nxi_target {
  /* "avx512", "avx2", "generic" (x86-64 or unknown), "neon"; of a GPU "sm_90" or the like */
  char isa[16];
  char cpu[64];                         /* model, for keys and `nxc info`; "unknown" */
  int32_t vector_bytes;                 /* of one register: 64, 32, 16 */
  int32_t threads;                      /* that a run may use */
  int64_t l1_bytes, l2_bytes, l3_bytes; /* data caches; l3: the share that one run can use */
  int32_t block_threads;                /* GPU: threads of a block; 0: a processor */
  int64_t shared_bytes;                 /* GPU: shared memory that a block may have */
  /* kernels are bound in a form that depends little on their integers, see
   * passes/kernel/generalize.h */
  bool generic;
  /* functions that there are as C stay functions, which the code calls (nxg_called): less to
   * compile, for code that is soon replaced; it holds for this process alone */
  bool calls;
  bool any_extent; /* a generic form for all extents; without it extents up to 4 shape it */
  /* A row that begins in the middle of a cache line is written past the caches if it has so many
   * lines: its ends are stores under masks. 0: as most processors (passes/bind/cpu/map.c) */
  int32_t shifted_lines;
  bool hasty;  /* code that is soon replaced: made in half of the time, a tenth slower or so */
  bool halves; /* the processor computes vectors of 64 bytes by halves, in turn */
} nxi_target;

/* This machine, detected once; NX_ISA in the environment (avx2, generic) forbids wider vectors. */
const nxi_target *nxi_target_host(void);
/* Runs have so many threads, of those that the target has: so much less of the last cache, too. */
void nxi_target_use(nxi_target *t, int32_t threads);
/* The same machine restricted to `isa`; false if it is unknown or the machine lacks it. "sm_90":
 * any GPU of that kind, here or not; "sm_90:64": with blocks of 64 threads. */
bool nxi_target_for_isa(const char *isa, nxi_target *out);

#endif
