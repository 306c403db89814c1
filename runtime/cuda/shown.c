/* SPDX-License-Identifier: ISC */
/* Hand-written code as text, for dumps: of steps that are no kernels of the plan. What prepares
 * such a step for a GPU prepares it for one that is imagined, and asks for kernels, whose texts
 * are taken down instead of being compiled.
 *
 * All texts are one file. Each body is there once. Instances define types of the same names, so
 * each is in a namespace, and entries, which are not, have numbers. */
#include "shown.h"

#include <stdio.h>
#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "conditions.h"
#include "library/calls.h"
#include "library/scatter.h"
#include "state.h"

enum { PROCESSORS = 132 }; /* of an H200 */

typedef struct nxi_gpu_texts {
  nxi_device_shown *shown;
  nxi_text *out;
  int64_t elements; /* of the largest array of the step */
} texts;

static void add_body(texts *t, const char *body) {
  nxi_device_shown *s = t->shown;
  for (uint32_t i = 0; i < s->n_bodies; i++)
    if (s->bodies[i] == body) return;
  if (s->n_bodies < NXI_SHOWN_BODIES) s->bodies[s->n_bodies++] = body;
  nxi_text_add(t->out, "%s\n", body);
}

/* Macros of an instance end with it. */
static void end_macros(texts *t, const char *instance) {
  static const char define[] = "#define ";
  for (const char *at = instance; (at = strstr(at, define)) != NULL;) {
    at += sizeof define - 1;
    nxi_text_add(t->out, "#undef %.*s\n", (int)strcspn(at, "( \n"), at);
  }
}

/* The instance, with another name for its entry, and what is known of its launches: 0 is not
 * known. */
static void add_instance(texts *t, const nxi_own_code *code, uint32_t number) {
  const size_t length = strlen(code->entry);
  nxi_text_add(t->out,
               "namespace nx_own_%u {\n// threads=%d blocks=%lld shared=%lld elements=%lld\n",
               number, code->threads, (long long)code->blocks, (long long)code->shared_bytes,
               (long long)t->elements);
  const char *from = code->instance, *at = from;
  while ((at = strstr(at, code->entry)) != NULL) {
    at += length;
    if (*at != '(') continue;
    nxi_text_put(t->out, from, (uint32_t)(at - from));
    nxi_text_add(t->out, "_%u", number);
    from = at;
  }
  nxi_text_add(t->out, "%s\n}\n", from);
  end_macros(t, code->instance);
}

/* False: the kernel is there already. */
static bool is_new(nxi_device_shown *s, const char *instance) {
  uint64_t hash = 14695981039346656037u;
  for (; *instance != 0; instance++) hash = (hash ^ (unsigned char)*instance) * 1099511628211u;
  for (uint32_t i = 0; i < s->n_hashes; i++)
    if (s->hashes[i] == hash) return false;
  if (s->n_hashes < NXI_SHOWN_INSTANCES) s->hashes[s->n_hashes++] = hash;
  return true;
}

nx_status nxi_gpu_show_text(const nxi_gpu *g, const nxi_own_code *code, nxi_diag *d) {
  texts *t = g->texts;
  if (!is_new(t->shown, code->instance)) return NX_OK;
  if (t->shown->kernels++ == 0) nxi_text_add(t->out, "%s", nxu_prelude());
  else nxi_text_add(t->out, "\n");
  if (code->tools != NULL) add_body(t, code->tools);
  add_body(t, code->body);
  add_instance(t, code, ++t->shown->instances);
  return t->out->failed ? nxi_oom(d) : NX_OK;
}

/* ---- steps */

static void note_largest(nxi_gpu *g, const nxg_array *arrays, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const int64_t elements = nxg_elements(arrays[i].rank, arrays[i].shape);
    if (elements > g->texts->elements) g->texts->elements = elements;
  }
}

static nx_status show_call(nxi_gpu *g, const nxg_call *call, nxi_diag *d) {
  const nxi_gpu_functions *f = nxi_gpu_call_functions(g, call);
  nxi_gpu_call_work work = {0};
  if (f == NULL || f == &nxi_gpu_custom_functions) return NX_OK;
  note_largest(g, call->operands, call->n_operands);
  note_largest(g, call->results, call->n_results);
  nx_status status = f->prepare(g, call, &work, d);
  if (status == NX_OK && f->release != NULL) f->release(work.state);
  return status;
}

static nx_status show_scatter(nxi_gpu *g, const nxi_scatter *shape, nxi_diag *d) {
  nxi_gpu_scatter *s = NULL;
  int64_t bytes;
  g->texts->elements = nxg_elements(shape->rank, shape->shape);
  nx_status status = nxi_gpu_scatter_create(g, shape, false, &s, &bytes, d);
  nxi_gpu_scatter_destroy(s);
  return status;
}

static nx_status show_control(nxi_gpu *g, const nxp_control *k, nxi_diag *d) {
  if (k->by == NULL) return NX_OK; /* the host decides what runs */
  nxi_gpu_control *own = nxi_calloc(1, sizeof *own);
  if (own == NULL) return nxi_oom(d);
  const bool slices = k->c.counted && k->c.n_stacked + k->c.n_results > k->c.n_carried;
  nx_status status = nxi_gpu_control_code(g, slices, own, d);
  nxi_gpu_control_destroy(own);
  return status;
}

nxi_gpu *nxi_gpu_imagine(const nxi_target *t, nxi_device_shown *shown, nxi_text *out) {
  nxi_gpu *g = nxi_calloc(1, sizeof *g);
  texts *own = nxi_calloc(1, sizeof *own);
  if (g == NULL || own == NULL) {
    nxi_free(g);
    nxi_free(own);
    return NULL;
  }
  *own = (texts){shown, out, 0};
  g->target = *t;
  g->info.processors = PROCESSORS;
  g->info.shared_bytes = t->shared_bytes;
  snprintf(g->info.arch, sizeof g->info.arch, "%s", t->isa);
  g->texts = own;
  return g;
}

void nxi_gpu_forget(nxi_gpu *g) {
  nxi_free(g->texts);
  nxi_free(g);
}

nx_status nxi_gpu_show_step(const nxp_step *s, const nxi_target *t, nxi_device_shown *shown,
                            nxi_text *out, nxi_diag *d) {
  nxi_gpu *g = nxi_gpu_imagine(t, shown, out);
  nx_status status = NX_OK;
  if (g == NULL) return nxi_oom(d);
  if (s->kind == NXP_STEP_CALL) status = show_call(g, s->call->call, d);
  else if (s->kind == NXP_STEP_SCATTER) status = show_scatter(g, s->scatter, d);
  else if (s->kind == NXP_STEP_CONTROL) status = show_control(g, s->control, d);
  nxi_gpu_forget(g);
  return status;
}
