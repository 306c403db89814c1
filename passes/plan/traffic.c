/* SPDX-License-Identifier: ISC */
/* How many bytes a kernel moves: for each buffer the elements that an access of it touches, each
 * once, for profiles. What several accesses of one buffer touch is taken for the same elements, so
 * that a stencil reads its input once; an index that was computed counts as another element at each
 * point, up to the whole buffer. */
#include "build.h"

static int64_t times(int64_t a, int64_t b) {
  return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

/* INT64_MAX: it is not known before the launch. */
static int64_t trips(const nxk_kernel *k, nxk_value v) {
  const nxk_loop *loop = &k->loops[k->instrs[v].imm];
  if (loop->lower.value != NXK_NONE || loop->upper.value != NXK_NONE) return INT64_MAX;
  int64_t n = loop->upper.constant - loop->lower.constant;
  return n > 0 ? (n - 1) / loop->step + 1 : 0;
}

/* Whether the element depends on the iteration of this loop. */
static bool depends(const nxk_kernel *k, const nxk_access *a, nxk_value loop) {
  if (a->index != NXK_NONE) return true;
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (a->terms[i].index == loop || k->instrs[a->terms[i].index].op != NXK_for) return true;
  return false;
}

static int64_t elements_of(const nxk_kernel *k, const nxk_access *a, nxk_value at) {
  int64_t n = 1;
  for (uint32_t b = k->instrs[at].block; b != NXK_NONE; b = k->instrs[b].block)
    if (k->instrs[b].op == NXK_for && depends(k, a, b)) n = times(n, trips(k, b));
  return n < k->buffers[a->buffer].elements ? n : k->buffers[a->buffer].elements;
}

int64_t nxp_traffic(const nxk_kernel *k, uint32_t buffer) {
  int64_t read = 0, written = 0;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &k->accesses[in->imm];
    if (a->buffer != buffer) continue;
    int64_t n = elements_of(k, a, v), *most = in->op == NXK_load ? &read : &written;
    *most = n > *most ? n : *most;
  }
  int64_t both;
  if (__builtin_add_overflow(read, written, &both)) both = INT64_MAX;
  return times(both, nxi_dtype_size(k->buffers[buffer].dtype));
}
