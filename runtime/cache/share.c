/* SPDX-License-Identifier: ISC */
/* Kernels that generic code serves. A kernel whose kind is known is bound in a form that depends
 * little on its integers, and taken apart; if no code serves its structure and integers, code is
 * made in which integers are parameters. That code is a kernel of the map of its own, and on disk;
 * the kernel itself keeps a reference to it, and the values of the parameters. */
#include <string.h>

#include "kernel_private.h"
#include "passes/pipeline.h"

static nx_status produce_generalized(void *user, nxk_kernel **bound, nxi_diag *d) {
  *bound = nxk_clone(user);
  return *bound ? NX_OK : nxi_oom(d);
}

/* The code of a kernel whose holes are filled by a choice: from the map, the disk, or LLVM. */
static nx_status get_generalized(nxi_kernel_cache *c, const nxi_kernel *k, const nxk_kernel *bound,
                                 const nxi_choice *choice, nxi_kernel **out,
                                 nxi_kernel_outcome *how, nxi_diag *d) {
  nxi_text key = {0};
  nxk_kernel *general = nxk_generalize(bound, choice->param, choice->literal, choice->n_params, d);
  if (!general) return d->status;
  nx_status s = nxp_show_kernel("generic", general, d);
  if (s == NX_OK) s = nxp_check_kernel(general, "generalize", d);
  nxi_text_put(&key, "generic", 8);
  nxk_put_key(general, &key);
  nxi_material m = {.produce = produce_generalized, .user = general, .general = true};
  if (s == NX_OK && key.failed) s = nxi_oom(d);
  if (s == NX_OK) s = nxi_kernel_get_inside(c, k->isa, key.data, key.size, &m, out, how, d);
  nxi_text_free(&key);
  nxk_destroy(general);
  return s;
}

/* Learns which integers of a structure depend on those in which kernels of the kind differ: binds
 * kernels that might come. It takes a small part of the time that a compilation does, and a later
 * kernel finds code that serves it, although the number of its vectors, say, differs for the first
 * time. Kernels of other structures tell nothing. */
static void explore(nxi_kernel_cache *c, const nxi_kernel *k, const nxi_material *m,
                    const nxk_anatomy *own) {
  const nxi_kernel_kind *kind = m->kind;
  nxk_hole *holes = nxi_malloc(((size_t)kind->n_holes + 1) * sizeof *holes);
  bool more = holes != NULL;
  nxi_lock_take(&c->lock);
  nxi_generics_see(c->generics, k->isa, own);
  nxi_lock_give(&c->lock);
  for (uint32_t i = 0; more; i++) {
    nxk_kernel *bound = NULL;
    nxk_anatomy a;
    nxi_diag ignored;
    nxi_diag_clear(&ignored);
    nxi_lock_take(&c->lock);
    bool few = nxi_generics_few(c->generics, kind);
    more = nxi_generics_imagine(c->generics, kind, i, holes);
    nxi_lock_give(&c->lock);
    if (more && kind->vary(m->user, holes, few, &bound, &ignored) == NX_OK &&
        nxk_dissect(bound, &a)) {
      nxi_lock_take(&c->lock);
      nxi_generics_compare(c->generics, k->isa, &a);
      nxi_lock_give(&c->lock);
      nxk_anatomy_free(&a);
    }
    nxk_destroy(bound);
  }
  nxi_free(holes);
}

/* Finds or makes code that serves the kernel; values: of its parameters. NX_OK without *out: there
 * would be too many parameters. */
static nx_status find_generic(nxi_kernel_cache *c, const nxi_kernel *k, const nxi_material *m,
                              const nxk_kernel *bound, const nxk_anatomy *a, uint64_t *values,
                              uint32_t *n_values, nxi_kernel **out, nxi_kernel_outcome *how,
                              nxi_diag *d) {
  nxi_choice choice = {0};
  *how = NXI_KERNEL_HIT;
  nxi_lock_take(&c->lock);
  *out = nxi_generics_match(c->generics, k->isa, a, values, n_values);
  nxi_lock_give(&c->lock);
  if (*out || m->kind->found_only) return NX_OK;
  if (!m->kind->all) explore(c, k, m, a);
  nxi_lock_take(&c->lock);
  bool chosen = nxi_generics_choose(c->generics, k->isa, a, m->kind->all, &choice);
  nxi_lock_give(&c->lock);
  if (!chosen) return NX_OK;
  nx_status s = get_generalized(c, k, bound, &choice, out, how, d);
  if (s == NX_OK) {
    for (uint32_t i = 0; i < choice.n_holes; i++)
      if (choice.param[i] != NXK_LITERAL) values[choice.param[i]] = a->holes[i].value;
    *n_values = choice.n_params;
    nxi_lock_take(&c->lock);
    nxi_generics_add(c->generics, k->isa, a, &choice, *out);
    nxi_lock_give(&c->lock);
  }
  nxi_choice_free(&choice);
  return s;
}

/* Lets generic code serve the kernel. NX_OK with k->shared NULL: none can. */
static nx_status share(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                       const nxk_kernel *bound, nxi_kernel_outcome *how, nxi_diag *d) {
  nxk_anatomy a;
  uint64_t values[NXI_MOST_VALUES];
  uint32_t n = 0;
  nxi_kernel *code = NULL;
  if (!nxk_dissect(bound, &a)) return NX_OK;
  nx_status s = find_generic(c, k, m, bound, &a, values, &n, &code, how, d);
  nxk_anatomy_free(&a);
  if (s != NX_OK || !code) return s;
  k->info = (nxi_kernel_info){.tasks_param = -1, .tasks_divisor = 1};
  k->values = nxi_malloc((n + 1) * sizeof *k->values);
  s = k->values ? nxi_kernel_count_tasks(&k->info, bound, d) : nxi_oom(d);
  if (s != NX_OK) {
    nxi_kernel_release(code);
    return s;
  }
  memcpy(k->values, values, n * sizeof *values);
  k->info.scratch_bytes = code->info.scratch_bytes;
  k->info.values = k->values;
  k->info.n_values = n;
  k->shared = code;
  return NX_OK;
}

/* The bound kernel in its generic form. */
static nx_status produce(nxi_kernel_cache *c, const nxi_material *m, nxk_kernel **bound,
                         nxi_diag *d) {
  nxi_lock_take(&c->lock);
  bool few = nxi_generics_few(c->generics, m->kind);
  nxi_lock_give(&c->lock);
  return m->kind->vary(m->user, m->kind->holes, few, bound, d);
}

nx_status nxi_kernel_share(nxi_kernel_cache *c, nxi_kernel *k, const nxi_material *m,
                           nxi_kernel_outcome *how, nxi_diag *d) {
  nxk_kernel *bound = NULL;
  nx_status s = produce(c, m, &bound, d);
  if (s == NX_OK) s = share(c, k, m, bound, how, d);
  nxk_destroy(bound);
  return s;
}

void nxi_kernel_take_apart(nxi_kernel_cache *c, const nxi_material *m, nxk_anatomy *out) {
  nxk_kernel *bound = NULL;
  nxi_diag ignored;
  nxi_diag_clear(&ignored);
  *out = (nxk_anatomy){0};
  if (produce(c, m, &bound, &ignored) == NX_OK) nxk_dissect(bound, out);
  nxk_destroy(bound);
}

void nxi_kernel_see(nxi_kernel_cache *c, const nxi_kernel *k, const nxi_material *m,
                    nxk_anatomy *own) {
  if (own->structure.size == 0) nxi_kernel_take_apart(c, m, own);
  if (own->structure.size == 0) return;
  nxi_lock_take(&c->lock);
  nxi_generics_see(c->generics, k->isa, own);
  nxi_lock_give(&c->lock);
}

bool nxi_kernel_wants_sharing(nxi_kernel_cache *c, const nxi_material *m) {
  if (!nxi_kernel_has_kind(m) || m->kind->special) return false;
  nxi_lock_take(&c->lock);
  /* who only asks for code has no kernel of the kind yet */
  bool known = m->kind->found_only ? nxi_generics_met(c->generics, m->kind)
                                   : nxi_generics_note(c->generics, m->kind);
  nxi_lock_give(&c->lock);
  return (known && !m->kind->apart) || m->kind->always || m->kind->varies || m->kind->all;
}

bool nxi_kernel_met(nxi_kernel_cache *c, const nxi_kernel_kind *kind) {
  nxi_lock_take(&c->lock);
  bool met = nxi_generics_met(c->generics, kind);
  nxi_lock_give(&c->lock);
  return met;
}

void nxi_kernel_expect(nxi_kernel_cache *c, const nxi_kernel_kind *kind) {
  nxi_lock_take(&c->lock);
  nxi_generics_note(c->generics, kind);
  nxi_lock_give(&c->lock);
}
