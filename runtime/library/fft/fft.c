/* SPDX-License-Identifier: ISC */
/* Fourier transforms over several axes, as library calls: the order of the axes, and their
 * memory.
 *
 * Axes are transformed from the last one to the first, but rfft begins with its real axis, and
 * irfft ends with it. The first axis writes to the result, and all later ones work in place
 * there. For irfft all axes but the last work in a spectrum in scratch memory. The bits of a
 * transform depend on its length and precision alone: not on the number of threads, the
 * instruction set, or its position in the tensor. */
#include "fft.h"

#include <string.h>

#include "axis.h"
#include "ir/alloc.h"
#include "runtime/library/libraries.h"

enum { MOST_AXES = NXG_MAX_RANK };

typedef struct fft {
  int32_t n_axes;                 /* 0: there is nothing to do */
  nxi_fft_axis axes[MOST_AXES];   /* in the order in which they are done */
  int64_t phases[MOST_AXES];      /* of all axes up to this one */
  nxi_fft_line *lines[MOST_AXES]; /* of the axes; NULL: an earlier axis has the same */
  bool to_real, wide;
  const nxi_fft_kernels *kernels;
  const nxi_poll *poll;            /* while it is prepared */
  int64_t own_bytes, shared_bytes; /* after them in shared memory: the spectrum of irfft */
} fft;

static const nxi_fft_kernels *kernels_for(const nxi_target *t, bool wide) {
#if defined(__x86_64__)
  if (strcmp(t->isa, "avx512") == 0 && t->halves)
    return wide ? &nxi_fft_avx512_halves_f64 : &nxi_fft_avx512_halves_f32;
  if (strcmp(t->isa, "avx512") == 0) return wide ? &nxi_fft_avx512_f64 : &nxi_fft_avx512_f32;
  if (strcmp(t->isa, "avx2") == 0) return wide ? &nxi_fft_avx2_f64 : &nxi_fft_avx2_f32;
#endif
  (void)t;
  return wide ? &nxi_fft_generic_f64 : &nxi_fft_generic_f32;
}

/* ---- plans */

/* Finds the tables of axis i: those of an earlier axis of the same length, or new ones; and the
 * table of roots for the step of half length, if the transform is real and n even. */
static nx_status find_line(fft *f, int32_t i, nxi_diag *d) {
  nxi_fft_axis *a = &f->axes[i];
  int64_t n = a->n;
  bool half = a->form != NXI_FFT_COMPLEX && n % 2 == 0;
  int64_t length = half ? n / 2 : n;
  int32_t owner = 0;
  while (owner < i && (!f->lines[owner] || f->lines[owner]->n != length)) owner++;
  if (owner == i) {
    nx_status status =
        nxi_fft_line_create(length, f->wide ? 8 : 4, f->kernels, f->poll, &f->lines[i], d);
    if (status) return status;
  }
  a->line = f->lines[owner];
  if (!half) return NX_OK;
  f->lines[owner]->poll = f->poll;
  a->unit = nxi_fft_line_unit(f->lines[owner], n, n / 4 + 1);
  f->lines[owner]->poll = NULL;
  return a->unit ? NX_OK : nxi_fft_incomplete(f->lines[owner], d);
}

/* Fills axis number i, in the order in which they are done. shape: that of the operand of this
 * step; it becomes that of its result. */
static nx_status plan_axis(fft *f, int32_t i, const nxg_call *c, int32_t axis, bool real,
                           int64_t *shape, nxi_diag *d) {
  nxi_fft_axis *a = &f->axes[i];
  int32_t rank = c->operands[0].rank;
  *a = (nxi_fft_axis){.outer = 1, .inner = 1, .n = shape[axis], .source_extent = shape[axis]};
  for (int32_t j = 0; j < axis; j++) a->outer *= shape[j];
  for (int32_t j = axis + 1; j < rank; j++) a->inner *= shape[j];
  a->inverse = c->op == NXG_ifft || c->op == NXG_irfft;
  if (real) {
    a->form = f->to_real ? NXI_FFT_TO_REAL : NXI_FFT_FROM_REAL;
    if (f->to_real) a->n = c->results[0].shape[axis];
    shape[axis] = c->results[0].shape[axis];
  }
  a->target_extent = shape[axis];
  nx_status status = find_line(f, i, d);
  if (status) return status;
  nxi_fft_axis_choose(a);
  int64_t own = nxi_fft_axis_own_bytes(a), shared = nxi_fft_axis_shared_bytes(a);
  if (own > f->own_bytes) f->own_bytes = own;
  if (shared > f->shared_bytes) f->shared_bytes = shared;
  f->phases[i] = (i ? f->phases[i - 1] : 0) + nxi_fft_axis_phases(a);
  return NX_OK;
}

/* Bytes of the operand and the result. */
static int64_t footprint(const nxg_call *c) {
  const nxg_array *in = &c->operands[0], *out = &c->results[0];
  return nxg_elements(in->rank, in->shape) * nxi_dtype_size(in->dtype) +
         nxg_elements(out->rank, out->shape) * nxi_dtype_size(out->dtype);
}

/* Whether rows of results go past the caches: if they and the operand are three quarters of what
 * the last cache has for this run. Neighbours use it, too, on machines with many processors, so a
 * thread counts on SHARE bytes of it; but short rows in lanes have the lines of their results
 * fetched while others are computed, and gain by the caches with twice as many bytes. */
static bool goes_past(const nxg_call *c, const nxi_target *t, const nxi_fft_axis *a) {
  enum { SHARE = 8 << 20 };
  const bool lanes = nxi_fft_rows_together(a->line, a->unit != NULL, true) > 1;
  int64_t bytes = footprint(c), share = (int64_t)t->threads * SHARE * (lanes ? 2 : 1),
          cache = t->l3_bytes;
  if (cache > share) cache = share;
  return cache > 0 && bytes >= cache / 4 * 3;
}

/* Fills all axes in order. If irfft is given a size and an empty spectrum the result is zeros,
 * and only the real axis is done. */
static nx_status plan_axes(fft *f, const nxg_call *c, const nxi_target *t, nxi_diag *d) {
  bool real = c->op == NXG_rfft || c->op == NXG_irfft;
  int32_t real_axis = real ? (int32_t)c->attrs[1] : -1;
  int64_t shape[NXG_MAX_RANK];
  memcpy(shape, c->operands[0].shape, sizeof shape);
  bool zeros = f->to_real && shape[real_axis] == 0;
  nx_status status = NX_OK;
  if (c->op == NXG_rfft) status = plan_axis(f, f->n_axes++, c, real_axis, true, shape, d);
  for (int32_t axis = c->operands[0].rank; !status && !zeros && axis-- > 0;)
    if (c->attrs[0] >> axis & 1 && axis != real_axis)
      status = plan_axis(f, f->n_axes++, c, axis, false, shape, d);
  if (!status && f->to_real) status = plan_axis(f, f->n_axes++, c, real_axis, true, shape, d);
  /* Axes that work in place find their lines in a cache; the last one's are not read again. */
  if (!status && f->n_axes > 0 && (f->to_real || f->n_axes == 1)) {
    nxi_fft_axis *last = &f->axes[f->n_axes - 1];
    last->past = goes_past(c, t, last);
    last->near = footprint(c) <= t->l2_bytes;
    int64_t own = nxi_fft_axis_own_bytes(last);
    if (own > f->own_bytes) f->own_bytes = own;
  }
  return status;
}

static double cost_of(const fft *f) {
  double cost = 200;
  for (int32_t i = 0; i < f->n_axes; i++) {
    const nxi_fft_axis *a = &f->axes[i];
    double n = (double)a->n, log = 1;
    for (int64_t m = a->n; m > 1; m /= 2) log += 1;
    cost += 5 * n * log * (double)a->outer * (double)a->inner;
  }
  return cost;
}

static void release(void *state) {
  fft *f = state;
  if (!f) return;
  for (int32_t i = 0; i < MOST_AXES; i++) nxi_fft_line_destroy(f->lines[i]);
  nxi_free(f);
}

/* The axis to which a phase of the call belongs. *own: the number of the phase within that axis. */
static int32_t axis_of(const fft *f, uint32_t phase, int64_t *own) {
  int32_t i = 0;
  while (phase >= f->phases[i]) i++;
  *own = phase - (i ? f->phases[i - 1] : 0);
  return i;
}

static void phase_of(const void *state, uint32_t phase, int64_t *tasks, int64_t *grain) {
  const fft *f = state;
  int64_t own;
  int32_t i = axis_of(f, phase, &own);
  nxi_fft_axis_phase(&f->axes[i], own, tasks, grain);
}

nx_status nxi_fft_prepare(const nxg_call *c, const nxi_target *target, nxg_call_work *work,
                          nxi_diag *d) {
  const nxg_array *result = &c->results[0], *operand = &c->operands[0];
  work->n_phases = 1;
  work->grain[0] = 1;
  work->cannot_fail = true;
  if (nxg_elements(result->rank, result->shape) == 0) return NX_OK;
  fft *f = nxi_calloc(1, sizeof *f);
  if (!f) return nxi_oom(d);
  f->to_real = c->op == NXG_irfft;
  f->wide = nxi_part_dtype(operand->dtype) == NX_F64;
  f->kernels = kernels_for(target, f->wide);
  f->poll = work->poll;
  nx_status status = plan_axes(f, c, target, d);
  f->poll = NULL;
  int64_t spectrum = 0, last = f->n_axes ? f->phases[f->n_axes - 1] : 0;
  if (f->to_real && f->n_axes > 1)
    spectrum = nxg_elements(operand->rank, operand->shape) * nxi_dtype_size(operand->dtype);
  if (!status &&
      (last > UINT32_MAX || __builtin_add_overflow(f->shared_bytes, spectrum, &work->shared_bytes)))
    status = nxi_fail(d, NX_INVALID_ARGUMENT, nxg_ops[c->op].name, "%s: it is too large",
                      nxg_ops[c->op].name);
  if (status) {
    release(f);
    return status;
  }
  work->n_phases = (uint32_t)last;
  if (last > NXG_CALL_PHASES) work->phase = phase_of;
  else
    for (uint32_t i = 0; i < work->n_phases; i++) phase_of(f, i, &work->tasks[i], &work->grain[i]);
  work->own_bytes = f->own_bytes;
  work->cost = cost_of(f);
  work->state = f;
  return NX_OK;
}

static nx_status prepare(const nxg_call *c, nxg_call_work *work, nxi_diag *d) {
  return nxi_fft_prepare(c, nxi_target_host(), work, d);
}

/* ---- running */

static nx_status run(nxg_call_part *part) {
  const fft *f = part->state;
  nxi_fft_part p = {
      .own = part->own, .shared = part->shared, .begin = part->begin, .end = part->end};
  int32_t i = axis_of(f, part->phase, &p.phase);
  void *between = f->to_real && f->n_axes > 1 ? p.shared + f->shared_bytes : part->results[0];
  p.source = i == 0 ? part->operands[0] : between;
  p.target = i == f->n_axes - 1 ? part->results[0] : between;
  nxi_fft_axis_run(&f->axes[i], &p);
  return NX_OK;
}

const nxg_functions nxi_fft_functions = {prepare, run, release};
