/* SPDX-License-Identifier: ISC */
/* Inputs that several stages of a run read (a softmax: for its maximum, and for its sum). If each
 * thread has the same elements in all of these stages and the code for them is written out, it
 * loads them once and keeps them in registers. */
#include "passes/bind/gpu/gpu.h"

/* Whether v is a load of a stage's innermost loop that always happens, from memory that the kernel
 * does not write. */
static bool is_plain(const nxb_binder *b, const nxb_stage *s, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op != NXK_load || in->block != s->loops[s->n_loops - 1].value) return false;
  const nxk_access *a = &b->from->accesses[in->imm];
  const nxk_buffer *buffer = &b->from->buffers[a->buffer];
  return buffer->kind == NXK_IN && buffer->restricted && a->index == NXK_NONE &&
         a->mask == NXK_NONE;
}

static bool same_loops(const nxb_stage *s, const nxb_stage *t) {
  if (s->n_loops != t->n_loops) return false;
  for (uint32_t i = 0; i < s->n_loops; i++) {
    const nxb_loop *x = &s->loops[i], *y = &t->loops[i];
    if (x->extent != y->extent || x->lower != y->lower || x->step != y->step) return false;
  }
  return true;
}

/* The stride of an access along an index. */
static int64_t stride_along(const nxk_access *a, nxk_value index) {
  int64_t stride = 0;
  for (uint32_t t = 0; t < a->n_terms; t++)
    if (a->terms[t].index == index) stride += a->terms[t].stride;
  return stride;
}

static bool is_loop_of(const nxb_stage *s, nxk_value v) {
  for (uint32_t i = 0; i < s->n_loops; i++)
    if (s->loops[i].value == v) return true;
  return false;
}

/* Whether indices from outside of the stages have the same strides in both. */
static bool same_outside(const nxk_access *a, const nxb_stage *s, const nxk_access *c,
                         const nxb_stage *t) {
  for (uint32_t i = 0; i < a->n_terms; i++) {
    nxk_value index = a->terms[i].index;
    if (index > s->first && !is_loop_of(s, index)) return false; /* computed in the stage */
    if (!is_loop_of(s, index) && stride_along(a, index) != stride_along(c, index)) return false;
  }
  for (uint32_t i = 0; i < c->n_terms; i++) {
    nxk_value index = c->terms[i].index;
    if (!is_loop_of(t, index) && stride_along(a, index) != stride_along(c, index)) return false;
  }
  return true;
}

/* Whether a load of stage s and one of stage t are of the same element at each point. */
static bool same_element(const nxb_binder *b, const nxb_stage *s, nxk_value v, const nxb_stage *t,
                         nxk_value w) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  const nxk_access *c = &b->from->accesses[b->from->instrs[w].imm];
  if (a->buffer != c->buffer || a->offset != c->offset || !same_loops(s, t)) return false;
  for (uint32_t i = 0; i < s->n_loops; i++)
    if (stride_along(a, s->loops[i].value) != stride_along(c, t->loops[i].value)) return false;
  return same_outside(a, s, c, t);
}

/* The load of the same element in an earlier stage, or NXK_NONE. */
static nxk_value earlier(const nxb_binder *b, uint32_t stage, nxk_value w) {
  const nxb_stage *t = &b->region->stages[stage];
  for (uint32_t i = 0; i < stage; i++) {
    const nxb_stage *s = &b->region->stages[i];
    for (nxk_value v = s->first + 1; v < s->last; v++)
      if (is_plain(b, s, v) && same_element(b, s, v, t, w)) return v;
  }
  return NXK_NONE;
}

int64_t nxb_gpu_kept_words(const nxb_binder *b) {
  int64_t passed = 0, kept = 0;
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) passed += nxi_dtype_size(b->from->buffers[i].dtype);
  for (uint32_t i = 1; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    int64_t bytes = 0;
    for (nxk_value v = s->first + 1; v < s->last; v++)
      if (is_plain(b, s, v) && earlier(b, i, v) != NXK_NONE)
        bytes += nxi_dtype_size(b->from->instrs[v].dtype);
    if (bytes > kept) kept = bytes;
  }
  int64_t words = nxb_ceil(passed > kept ? passed : kept, 4);
  return words > 1 ? words : 1;
}

void nxb_gpu_keep(nxb_binder *b, nxb_kept *kept, int64_t rows, int64_t lanes) {
  uint32_t n = b->from->n_instrs;
  kept->lanes = lanes;
  kept->array = nxb_alloc(b, n * sizeof *kept->array);
  kept->here = nxb_alloc(b, n);
  nxk_value *first = nxb_alloc(b, n * sizeof *first);
  if (b->failed) return;
  for (nxk_value v = 0; v < n; v++) first[v] = kept->array[v] = NXK_NONE;
  for (uint32_t i = 1; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    for (nxk_value w = s->first + 1; w < s->last; w++) {
      nxk_value v = is_plain(b, s, w) ? earlier(b, i, w) : NXK_NONE;
      if (v == NXK_NONE) continue;
      first[v] = v;
      first[w] = v;
      kept->here[w] = 1;
      if (kept->array[v] != NXK_NONE) continue;
      kept->array[v] = nxb_add_local(b, (nx_dtype)b->from->instrs[v].dtype, rows * lanes);
      if (kept->array[v] == NXK_NONE) return;
      b->to->buffers[kept->array[v]].thread_private = true;
    }
  }
  kept->first = first;
}

/* The access to the thread's element of the array of a first load, in the lane map's row. */
static nxk_access own_access(nxb_binder *b, const nxb_lane_map *map, const nxb_kept *kept,
                             nxk_value load, nxk_term *term) {
  nxk_access a = nxk_access_at(kept->array[load], 0);
  int64_t row;
  a.lane_stride = 1;
  a.terms = term;
  *term = (nxk_term){map->slot, kept->lanes};
  if (nxb_is_constant(b->to, map->slot, &row)) a.offset = row * kept->lanes;
  else a.n_terms = 1;
  return a;
}

void nxb_gpu_write_kept(nxb_binder *b, nxb_lane_map *map, const nxb_kept *kept,
                        const nxb_stage *stage) {
  nxk_term term;
  for (nxk_value v = stage->first; v < stage->last && kept->first != NULL && !b->to->failed; v++) {
    if (!kept->here[v]) continue;
    nxk_access a = own_access(b, map, kept, kept->first[v], &term);
    map->bound[v] = nxk_load(b->to, &a, map->lanes);
    map->step[v] = 0;
  }
  map->kept = kept->here;
  nxb_write_code(b, map, stage->first, stage->last);
  for (nxk_value v = stage->first; v < stage->last && kept->first != NULL && !b->to->failed; v++) {
    if (kept->first[v] != v) continue;
    nxk_access a = own_access(b, map, kept, v, &term);
    nxk_value value = nxb_wide(b, map, v);
    if (!b->to->failed) nxk_store(b->to, &a, value);
  }
}
