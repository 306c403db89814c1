/* SPDX-License-Identifier: ISC */
/* A kernel as the key of a cache: the contents of its text, in binary. Two kernels have equal keys
 * exactly if they print the same text. The key is not the text itself because printing numbers took
 * a quarter of the time of planning a long chain of operations. */
#include <string.h>

#include "kernel.h"

static void put(nxi_text *out, const uint64_t *words, uint32_t n) {
  nxi_text_put(out, (const char *)words, n * (uint32_t)sizeof *words);
}

static uint64_t both(uint32_t low, uint32_t high) { return low | (uint64_t)high << 32; }

static void put_header(const nxk_kernel *k, nxi_text *out) {
  uint64_t head[3] = {both(k->level, k->threads), both(k->n_buffers, k->n_params), k->n_instrs};
  nxi_text_put(out, k->name, (uint32_t)strlen(k->name) + 1);
  put(out, head, 3);
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    uint64_t form = (uint64_t)b->kind | (uint64_t)b->dtype << 8 | (uint64_t)b->aligned << 16 |
                    (uint64_t)b->restricted << 17 | (uint64_t)b->thread_private << 18;
    put(out, (uint64_t[]){form, (uint64_t)b->elements}, 2);
  }
  nxi_text_put(out, (const char *)k->param_types, k->n_params);
}

static void put_access(const nxk_kernel *k, nxi_text *out, uint64_t number) {
  const nxk_access *a = &k->accesses[number];
  uint64_t words[] = {both(a->buffer, a->n_terms),
                      (uint64_t)a->offset,
                      both(a->index, a->mask),
                      both(a->other, a->flags),
                      (uint64_t)a->lane_stride,
                      (uint64_t)a->tree_stride,
                      a->group,
                      (uint64_t)a->prefetch};
  put(out, words, sizeof words / sizeof *words);
  for (uint32_t i = 0; i < a->n_terms; i++)
    put(out, (uint64_t[]){a->terms[i].index, (uint64_t)a->terms[i].stride}, 2);
}

static void put_loop(const nxk_loop *loop, nxi_text *out) {
  uint64_t words[] = {both(loop->kind, loop->unroll | loop->apart << 1 | loop->few << 2),
                      both(loop->lower.value, loop->upper.value), (uint64_t)loop->lower.constant,
                      (uint64_t)loop->upper.constant, (uint64_t)loop->step};
  if (loop->lower.value != NXK_NONE) words[2] = 0;
  if (loop->upper.value != NXK_NONE) words[3] = 0;
  put(out, words, sizeof words / sizeof *words);
}

static void put_region(const nxk_region *region, nxi_text *out) {
  put(out,
      (uint64_t[]){(uint64_t)region->tasks, (uint32_t)region->tasks_param,
                   (uint64_t)region->tasks_divisor},
      3);
}

static void put_rest(const nxk_kernel *k, nxi_text *out, const nxk_instr *in) {
  switch (in->op) {
    case NXK_const:
    case NXK_shuffle_xor:
    case NXK_deinterleave:
    case NXK_interleave:
    case NXK_param: put(out, &in->imm, 1); break;
    case NXK_region:
      if (k->level == NXK_BOUND) put_region(&k->regions[in->imm], out);
      break;
    case NXK_for: put_loop(&k->loops[in->imm], out); break;
    case NXK_load:
    case NXK_store:
    case NXK_tree_push:
    case NXK_tree_join:
      put_access(k, out, in->imm);
      if (in->imm2 != UINT32_MAX) put_access(k, out, in->imm2);
      break;
    default: break;
  }
}

void nxk_put_key(const nxk_kernel *k, nxi_text *out) {
  put_header(k, out);
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    uint64_t second = in->imm2 != UINT32_MAX;
    uint64_t words[3] = {
        in->op | (uint64_t)in->lanes << 16 | (uint64_t)in->dtype << 32 | (uint64_t)in->kind << 40 |
            (uint64_t)(in->order | in->flags << 4) << 48 | (in->n_args | second << 4) << 56,
        both(in->args[0], in->n_args > 1 ? in->args[1] : 0),
        both(in->args[2], in->n_args > 3 ? in->args[3] : 0)};
    put(out, words, in->n_args >= 3 ? 3 : 1 + (in->n_args > 0));
    put_rest(k, out, in);
  }
}
