/* SPDX-License-Identifier: ISC */
/* cuFFT's plans. A plan is made when a transform of its form is first run, and the least recently
 * used one is replaced if there are too many. Plans do not own working memory: each run allocates
 * it, and frees it in the order of the stream. */
#include "cufft.h"

#include "ir/platform/thread.h"
#include <string.h>

#include "codegen_cuda/toolkit.h"
#include "runtime/cuda/internal.h"
#include "ir/alloc.h"

/* Values of the library's enumerations. */
enum {
  RESULT_MEMORY = 2,
  TYPE_R2C = 0x2a,
  TYPE_C2R = 0x2c,
  TYPE_C2C = 0x29,
  TYPE_D2Z = 0x6a,
  TYPE_Z2D = 0x6c,
  TYPE_Z2Z = 0x69,
  FORWARD = -1,
  INVERSE = 1,
};
enum { MOST_PLANS = 64 };

static struct cufft {
#define CUFFT(name, symbol, arguments) int(*name) arguments;
#include "cufft.def"
#undef CUFFT
} cufft;
static char missing[NXU_SENTENCE];
static nxi_once once = NXI_ONCE_INITIALIZER;

static void load(void) {
  static const char *const files[] = {"libcufft.so.12", "libcufft.so.11", NULL};
  static const char *const symbols[] = {
#define CUFFT(name, symbol, arguments) #symbol,
#include "cufft.def"
#undef CUFFT
      NULL};
  static const nxu_library library = {"cuFFT of CUDA 12 or 13", "NX_CUFFT", files, symbols};
  nxu_load_library(&library, &cufft, missing);
}

const char *nxi_cufft_missing(void) {
  nxi_once_run(&once, load);
  return missing[0] != 0 ? missing : NULL;
}

static nx_status refused(nxi_gpu *g, int result, const char *what, nxi_diag *d) {
  static const char *const words[] = {
      [1] = "invalid plan",   [3] = "invalid type",     [4] = "invalid value",
      [5] = "internal error", [6] = "execution fails",  [7] = "setup fails",
      [8] = "invalid size",   [14] = "not implemented", [16] = "not supported"};
  bool known = result > 0 && result < (int)(sizeof words / sizeof *words) && words[result] != NULL;
  if (result == RESULT_MEMORY) return nxi_oom(d);
  if (nxi_gpu_fault(g, d) != NX_OK) return NX_DEVICE_LOST;
  return nxi_fail(d, NX_INTERNAL, "", "cuFFT fails at %s: status %d%s%s", what, result,
                  known ? ", " : "", known ? words[result] : "");
}

/* ---- plans */

typedef struct plan {
  nxi_cufft_shape shape;
  int number;
  size_t work_bytes;
  uint64_t used; /* number of the last run that used it */
} plan;

typedef struct plans {
  plan kept[MOST_PLANS];
  int n;
  uint64_t runs;
} plans;

static void free_all(void *state) {
  plans *p = state;
  for (int i = 0; i < p->n; i++) cufft.destroy(p->kept[i].number);
  nxi_free(p);
}

static int type_of(const nxi_cufft_shape *s) {
  static const int types[3][2] = {{TYPE_C2C, TYPE_Z2Z}, {TYPE_R2C, TYPE_D2Z}, {TYPE_C2R, TYPE_Z2D}};
  return types[s->form][s->wide];
}

/* Makes the plan of p->shape. After a failure there is no plan. */
static int make(plan *p, void *stream) {
  long long n[NXI_CUFFT_RANK], box[2][NXI_CUFFT_RANK];
  const nxi_cufft_shape *s = &p->shape;
  for (int i = 0; i < NXI_CUFFT_RANK; i++) {
    n[i] = s->n[i];
    for (int side = 0; side < 2; side++) box[side][i] = s->box[side][i];
  }
  int result = cufft.create(&p->number);
  if (result != 0) return result;
  result = cufft.automatic_memory(p->number, 0);
  if (result == 0)
    result = cufft.make(p->number, (int)s->rank, n, box[0], s->stride[0], s->distance[0], box[1],
                        s->stride[1], s->distance[1], type_of(s), s->batch, &p->work_bytes);
  if (result == 0) result = cufft.set_stream(p->number, stream);
  if (result != 0) cufft.destroy(p->number);
  return result;
}

/* Finds the place of a new plan. If all are taken, the least recently used plan is destroyed, after
 * waiting because it may still be in use. */
static nx_status make_room(nxi_gpu *g, plans *p, int *at, nxi_diag *d) {
  *at = p->n;
  if (p->n < MOST_PLANS) return NX_OK;
  *at = 0;
  for (int i = 1; i < p->n; i++)
    if (p->kept[i].used < p->kept[*at].used) *at = i;
  nx_status status = nxi_gpu_wait(g, NXI_NOW, NULL, d);
  if (status != NX_OK) return status;
  cufft.destroy(p->kept[*at].number);
  p->kept[*at] = p->kept[--p->n];
  *at = p->n;
  return NX_OK;
}

static nx_status find(nxi_gpu *g, plans *p, const nxi_cufft_shape *s, plan **out, nxi_diag *d) {
  int at;
  for (int i = 0; i < p->n; i++)
    if (memcmp(&p->kept[i].shape, s, sizeof *s) == 0) {
      *out = &p->kept[i];
      return NX_OK;
    }
  nx_status status = make_room(g, p, &at, d);
  if (status != NX_OK) return status;
  plan *made = &p->kept[at];
  *made = (plan){.shape = *s};
  int result = make(made, nxi_gpu_stream(g));
  if (result == RESULT_MEMORY) {
    nxi_gpu_free_all_kept(g);
    result = make(made, nxi_gpu_stream(g));
  }
  if (result != 0) return refused(g, result, "making a plan", d);
  p->n++;
  *out = made;
  return NX_OK;
}

/* ---- running */

static int start(const plan *p, bool inverse, uint64_t from, uint64_t to) {
  int direction = inverse ? INVERSE : FORWARD;
  switch (type_of(&p->shape)) {
    case TYPE_C2C: return cufft.c2c(p->number, from, to, direction);
    case TYPE_Z2Z: return cufft.z2z(p->number, from, to, direction);
    case TYPE_R2C: return cufft.r2c(p->number, from, to);
    case TYPE_D2Z: return cufft.d2z(p->number, from, to);
    case TYPE_C2R: return cufft.c2r(p->number, from, to);
    default: return cufft.z2d(p->number, from, to);
  }
}

static nx_status run(nxi_gpu *g, plans *p, const nxi_cufft_shape *s, bool inverse, uint64_t from,
                     uint64_t to, nxi_diag *d) {
  plan *found = NULL;
  uint64_t work = 0;
  nx_status status = find(g, p, s, &found, d);
  if (status != NX_OK || found == NULL) return status;
  int64_t bytes = (int64_t)found->work_bytes;
  found->used = ++p->runs;
  if (bytes > 0) status = nxi_gpu_alloc(g, bytes, &work, d);
  if (status != NX_OK) return status;
  int result = bytes > 0 ? cufft.set_work(found->number, work) : 0;
  if (result == 0) result = start(found, inverse, from, to);
  if (bytes > 0) nxi_gpu_free(g, work, bytes);
  return result == 0 ? NX_OK : refused(g, result, "a transform", d);
}

nx_status nxi_cufft_run(nxi_gpu *g, const nxi_cufft_shape *s, bool inverse, uint64_t from,
                        uint64_t to, nxi_diag *d) {
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  nxi_gpu_shelf *shelf = nxi_gpu_shelf_lock(g, NXI_GPU_FFT);
  if (shelf->state == NULL) shelf->state = nxi_calloc(1, sizeof(plans));
  shelf->free = free_all;
  status = shelf->state != NULL ? run(g, shelf->state, s, inverse, from, to, d) : nxi_oom(d);
  nxi_gpu_shelf_unlock(shelf);
  nxi_gpu_leave(g);
  return status;
}
