/* SPDX-License-Identifier: ISC */
/* Custom operations whose function is a kernel in text: reading it, what it must be, and the
 * interpreter of kernels as its function. Plans carry it out like any kernel of their own
 * (passes/plan/call.c). */
#include <stdio.h>

#include "custom.h"
#include "ir/kernel/kernel.h"

static nx_status refuse(const nxg_custom *f, const char *why, nxi_diag *d) {
  return nxi_fail(d, NX_INVALID_ARGUMENT, "custom", "custom \"%s\": the kernel %s", f->name, why);
}

/* ---- buffers */

static nx_status check_buffer(const nxg_custom *f, const nxk_kernel *k, uint32_t at, bool result,
                              nxi_diag *d) {
  uint32_t operands = f->n_operands - f->hides, number = result ? at - operands : at;
  const nxg_array *a = result ? &f->results[number] : &f->operands[number];
  const nxk_buffer *b = &k->buffers[at];
  int64_t elements = nxg_elements(a->rank, a->shape);
  const char *what = result ? "result" : "operand";
  char shape[NXG_SHAPE_TEXT];
  if (b->kind != (result ? NXK_OUT : NXK_IN))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": buffer b%u of the kernel is %s %u, and so must be `%s`",
                    f->name, at, what, number, result ? "out" : "in");
  if (b->dtype != a->dtype || b->elements != elements)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": buffer b%u of the kernel is %s[%lld], and %s %u is %s%.80s",
                    f->name, at, nxi_dtypes[b->dtype].name, (long long)b->elements, what, number,
                    nxi_dtypes[a->dtype].name, nxg_format_shape(shape, a->rank, a->shape));
  return NX_OK;
}

static nx_status check_buffers(const nxg_custom *f, const nxk_kernel *k, nxi_diag *d) {
  uint32_t operands = f->n_operands - f->hides, all = operands + f->n_results, launched = 0;
  while (launched < k->n_buffers && k->buffers[launched].kind != NXK_LOCAL) launched++;
  if (launched != all)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": the kernel has %u buffers of the launch where there are %u "
                    "operands and %u results",
                    f->name, launched, operands, f->n_results);
  nx_status status = NX_OK;
  for (uint32_t i = 0; status == NX_OK && i < all; i++)
    status = check_buffer(f, k, i, i >= operands, d);
  return status;
}

/* ---- bounds */

/* Adds stride * index for the least and the greatest index of a loop. False: an overflow. */
static bool add_term(const nxk_loop *l, int64_t stride, int64_t *low, int64_t *high) {
  int64_t first = l->lower.constant, last = l->upper.constant - 1, at_first, at_last;
  if (__builtin_mul_overflow(stride, first, &at_first) ||
      __builtin_mul_overflow(stride, last - (last - first) % l->step, &at_last))
    return false;
  return !__builtin_add_overflow(*low, stride < 0 ? at_last : at_first, low) &&
         !__builtin_add_overflow(*high, stride < 0 ? at_first : at_last, high);
}

/* Whether an access leaves its buffer, and an element outside that it reaches, if no mask and no
 * computed index decides about it, and its indices are loops of known bounds. */
static bool leaves(const nxk_kernel *k, const nxk_access *a, int64_t *element) {
  int64_t low = a->offset, high = a->offset, elements = k->buffers[a->buffer].elements;
  if (a->mask != NXK_NONE || a->index != NXK_NONE) return false;
  *element = INT64_MAX;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    const nxk_instr *in = &k->instrs[a->terms[i].index];
    const nxk_loop *l = in->op == NXK_for ? &k->loops[in->imm] : NULL;
    if (l == NULL || l->lower.value != NXK_NONE || l->upper.value != NXK_NONE ||
        l->lower.constant >= l->upper.constant)
      return false;
    if (!add_term(l, a->terms[i].stride, &low, &high)) return true;
  }
  *element = low < 0 ? low : high;
  return low < 0 || high >= elements;
}

static nx_status check_bounds(const nxg_custom *f, const nxk_kernel *k, nxi_diag *d) {
  for (uint32_t i = 0; i < k->n_accesses; i++) {
    const nxk_access *a = &k->accesses[i];
    int64_t element;
    if (leaves(k, a, &element))
      return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                      "custom \"%s\": the kernel reaches element %lld of b%u, which has %lld",
                      f->name, (long long)element, a->buffer,
                      (long long)k->buffers[a->buffer].elements);
  }
  return NX_OK;
}

/* ---- what is written */

/* How many elements a store writes at most: as many as there are values of the indices in its
 * address. INT64_MAX: that is not known before the run. */
static int64_t most_written(const nxk_kernel *k, const nxk_access *a) {
  int64_t most = 1;
  if (a->index != NXK_NONE) return INT64_MAX;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    const nxk_instr *in = &k->instrs[a->terms[i].index];
    const nxk_loop *l = in->op == NXK_for ? &k->loops[in->imm] : NULL;
    if (l == NULL || l->lower.value != NXK_NONE || l->upper.value != NXK_NONE) return INT64_MAX;
    int64_t first = l->lower.constant, last = l->upper.constant;
    int64_t steps = first < last ? (last - 1 - first) / l->step + 1 : 0;
    if (__builtin_mul_overflow(most, steps, &most)) return INT64_MAX;
  }
  return most;
}

/* A result of which some elements are certainly not written. Which ones masks and computed indices
 * leave out is not known here. */
static nx_status check_written(const nxg_custom *f, const nxk_kernel *k, nxi_diag *d) {
  uint32_t operands = f->n_operands - f->hides;
  for (uint32_t b = operands; b < operands + f->n_results; b++) {
    int64_t written = 0, elements = k->buffers[b].elements;
    for (uint32_t i = 0; i < k->n_instrs && written < elements; i++) {
      const nxk_access *a = k->instrs[i].op == NXK_store ? &k->accesses[k->instrs[i].imm] : NULL;
      if (a == NULL || a->buffer != b) continue;
      int64_t most = most_written(k, a);
      written = most > elements - written ? elements : written + most;
    }
    if (written < elements)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                      "custom \"%s\": the kernel writes %lld elements of b%u at most, which has "
                      "%lld",
                      f->name, (long long)written, b, (long long)elements);
  }
  return NX_OK;
}

/* ---- the whole */

static nx_status check(const nxg_custom *f, const nxk_kernel *k, nxi_diag *d) {
  nxi_text faults = {0};
  nx_status status = NX_OK;
  if (!nxk_verify(k, &faults)) {
    bool told = faults.data != NULL && !faults.failed;
    status = told ? nxi_fail(d, NX_PARSE, "custom", "custom \"%s\": the kernel is invalid:\n%.400s",
                             f->name, faults.data)
                  : nxi_oom(d);
  }
  nxi_text_free(&faults);
  if (status != NX_OK) return status;
  if (f->ordered) return refuse(f, "has no effects that an order could be of", d);
  if (k->level != NXK_LOGICAL || k->threads) return refuse(f, "is bound, and must be logical", d);
  if (k->n_params) return refuse(f, "has parameters, for which a call has no values", d);
  status = check_buffers(f, k, d);
  if (status == NX_OK) status = check_bounds(f, k, d);
  return status == NX_OK ? check_written(f, k, d) : status;
}

static nx_status interpret(const nxg_custom *f, const nxg_call_part *part, void *stream,
                           char *sentence, size_t room) {
  (void)stream; /* there is none: devices compile the kernel */
  void *buffers[NXG_CALL_OPERANDS + NXG_CALL_RESULTS];
  uint32_t operands = f->n_operands - f->hides;
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < operands; i++) buffers[i] = part->operands[i];
  for (uint32_t i = 0; i < f->n_results; i++) buffers[operands + i] = part->results[i];
  nx_status status = nxk_interpret(f->kernel, buffers, NULL, 0, INT64_MAX, &d);
  if (status != NX_OK) snprintf(sentence, room, "%s", d.message);
  return status;
}

nx_status nxg_custom_take_kernel(nxg_custom *f, const char *text, size_t size, nxi_diag *d) {
  nxk_kernel *k = NULL;
  nxi_diag own;
  nxi_diag_clear(&own);
  nx_status status = nxk_parse(text, size, &k, &own);
  if (status != NX_OK)
    return nxi_fail(d, status, "custom", "custom \"%s\": line %d of the kernel: %s", f->name,
                    (int)own.line, own.message);
  status = check(f, k, d);
  if (status == NX_OK) {
    f->kernel = k;
    f->run = interpret;
  } else {
    nxk_destroy(k);
  }
  return status;
}
