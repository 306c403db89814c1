/* SPDX-License-Identifier: ISC */
/* Packs the temporaries of a plan into one block: best fit over free ranges, in the order of first use, a range free again
 * after the last step that touches it. */
#include "plan_internal.h"

#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct range {
  int64_t offset, bytes;
} range;

typedef struct packer {
  range *free;
  uint32_t n_free, cap_free; /* by offset */
  int64_t end;
  bool too_large; /* more than 63 bits say: no machine has it */
} packer;

static int64_t round_up(int64_t bytes) {
  return (bytes + ALIGNMENT - 1) & ~(int64_t)(ALIGNMENT - 1);
}

static int64_t take(packer *p, int64_t bytes) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < p->n_free; i++)
    if (p->free[i].bytes >= bytes && (best == UINT32_MAX || p->free[i].bytes < p->free[best].bytes))
      best = i;
  if (best == UINT32_MAX) {
    int64_t offset = p->end;
    if (p->n_free > 0 && p->free[p->n_free - 1].offset + p->free[p->n_free - 1].bytes == p->end)
      offset = p->free[--p->n_free].offset; /* the last range grows */
    p->too_large = __builtin_add_overflow(offset, bytes, &p->end);
    return offset;
  }
  int64_t offset = p->free[best].offset;
  p->free[best].offset += bytes;
  p->free[best].bytes -= bytes;
  if (p->free[best].bytes == 0)
    memmove(&p->free[best], &p->free[best + 1], (--p->n_free - best) * sizeof *p->free);
  return offset;
}

static bool give(packer *p, int64_t offset, int64_t bytes) {
  if (!nxi_grow(&p->free, &p->cap_free, p->n_free + 1, sizeof *p->free)) return false;
  uint32_t i = 0;
  while (i < p->n_free && p->free[i].offset < offset) i++;
  memmove(&p->free[i + 1], &p->free[i], (p->n_free - i) * sizeof *p->free);
  p->free[i] = (range){offset, bytes};
  p->n_free++;
  if (i + 1 < p->n_free && offset + bytes == p->free[i + 1].offset) {
    p->free[i].bytes += p->free[i + 1].bytes;
    memmove(&p->free[i + 1], &p->free[i + 2], (--p->n_free - i - 1) * sizeof *p->free);
  }
  if (i > 0 && p->free[i - 1].offset + p->free[i - 1].bytes == offset) {
    p->free[i - 1].bytes += p->free[i].bytes;
    memmove(&p->free[i], &p->free[i + 1], (--p->n_free - i) * sizeof *p->free);
  }
  return true;
}

/* Temporaries by the step that ends (or begins) them: heads[step], linked through next. */
static bool pack(nxp_plan *plan, nxp_temporary *t, uint32_t n, packer *p, uint32_t *heads,
                 uint32_t *next) {
  uint32_t *begins = heads, *ends = heads + plan->n_steps, *next_end = next + n;
  memset(heads, 0xff, 2 * (size_t)plan->n_steps * sizeof *heads);
  for (uint32_t i = n; i-- > 0;) {
    if (t[i].first == UINT32_MAX) continue;
    next[i] = begins[t[i].first];
    begins[t[i].first] = i;
    next_end[i] = ends[t[i].last];
    ends[t[i].last] = i;
  }
  for (uint32_t step = 0; step < plan->n_steps; step++) {
    for (uint32_t i = begins[step]; i != UINT32_MAX; i = next[i]) {
      p->too_large = p->too_large || t[i].bytes > INT64_MAX - ALIGNMENT;
      if (p->too_large) return true;
      if (t[i].bytes > 0) t[i].offset = take(p, round_up(t[i].bytes));
    }
    if (p->too_large) return true;
    for (uint32_t i = ends[step]; i != UINT32_MAX; i = next_end[i])
      if (t[i].bytes > 0 && !give(p, t[i].offset, round_up(t[i].bytes))) return false;
  }
  return true;
}

static void resolve(nxp_step *step, const nxp_temporary *t) {
  for (uint32_t j = 0; j < step->n_buffers; j++)
    if (step->buffers[j].kind == NXP_TEMPORARY)
      step->buffers[j].offset += t[step->buffers[j].number].offset;
}

nx_status nxp_assign_temporaries(nxp_plan *plan, nxp_temporary *t, uint32_t n, nxi_diag *d) {
  packer p = {0};
  uint32_t *heads = nxi_malloc((2 * (size_t)plan->n_steps + 1) * sizeof *heads);
  uint32_t *next = nxi_malloc((2 * (size_t)n + 1) * sizeof *next);
  bool ok = heads != NULL && next != NULL && pack(plan, t, n, &p, heads, next);
  for (uint32_t i = 0; ok && !p.too_large && i < plan->n_steps; i++) {
    resolve(&plan->steps[i], t);
    if (plan->steps[i].epilogue != NULL) resolve(plan->steps[i].epilogue, t);
    const nxp_staging *staging = plan->steps[i].staging;
    for (int32_t k = 0; staging != NULL && k < staging->n_parts; k++)
      resolve(staging->parts[k].kernel, t);
  }
  plan->scratch_offset = p.end;
  int64_t scratch;
  if (p.too_large ||
      __builtin_mul_overflow(round_up(plan->scratch_bytes), (int64_t)plan->threads, &scratch) ||
      __builtin_add_overflow(p.end, scratch, &plan->temporary_bytes))
    plan->temporary_bytes = INT64_MAX; /* a launch cannot have them, and says so */
  nxi_free(heads);
  nxi_free(next);
  nxi_free(p.free);
  return ok ? NX_OK : nxi_oom(d);
}
