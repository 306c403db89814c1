/* SPDX-License-Identifier: ISC */
/* Groups as objects: members, their options and lives, and a group of devices of one context. */
#include "group.h"

#include <string.h>

#include "ir/alloc.h"
#include "runtime/device.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

enum { DEFAULT_TIMEOUT_MS = 5 * 60 * 1000 };

/* ---- lives */

void nxi_members_unref(nxi_members *m) {
  if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
  if (m->links) m->links->release(m->linked);
  m->engine->destroy(m);
}

nx_group *nxi_group_member(nx_context *c, nxi_members *members, int32_t rank, nx_device device,
                           nxi_diag *d) {
  bool watched;
  nx_group *g = nxi_handle_alloc(sizeof *g, &watched);
  nx_tensor *token = g ? nx_token(c, device) : NULL;
  if (!token) {
    if (g) nxi_handle_free(g, watched);
    nxi_members_unref(members);
    nxi_oom(d);
    return NULL;
  }
  *g = (nx_group){.context = c,
                  .members = members,
                  .rank = rank,
                  .device = device,
                  .token = nx_keep(token),
                  .watched = watched};
  atomic_init(&g->head.refs, 1);
  g->head.kind = NXI_GROUP;
  nxi_mutex_init(&g->lock);
  nxi_context_ref(c);
  if (watched)
    nxi_watch_made(g, NXI_GROUP, c, "rank %d of %d of \"%s\"", rank, members->size, members->name);
  return g;
}

void nxi_group_follow(nx_group *g, nx_tensor *token) {
  nx_tensor *own = g->token;
  g->token = nx_tensor_retain(token);
  nx_tensor_release(own);
}

void nxi_group_teardown(nx_group *g) {
  nxi_mutex_destroy(&g->lock);
  nxi_handle_free(g, g->watched);
}

nx_group *nx_group_retain(nx_group *g) {
  if (g && !nxi_have_group("retain", 0, g)) return NULL;
  if (g) atomic_fetch_add_explicit(&g->head.refs, 1, memory_order_relaxed);
  return g;
}

/* The last reference gives up what the member has before the handle goes, since that takes calls
 * which hold no lock. */
void nx_group_release(nx_group *g) {
  if (!g || !nxi_have_group("release", 0, g)) return;
  if (atomic_fetch_sub_explicit(&g->head.refs, 1, memory_order_acq_rel) != 1) return;
  nx_tensor_release(g->token);
  nxi_exchanges_free(g->made);
  nxi_members_unref(g->members);
  atomic_store_explicit(&g->head.refs, 1, memory_order_relaxed);
  nxi_head_release(g->context, &g->head);
}

/* ---- questions */

int32_t nx_group_rank(const nx_group *g) { return nxi_have_group("group", 0, g) ? g->rank : -1; }

int32_t nx_group_size(const nx_group *g) {
  return nxi_have_group("group", 0, g) ? g->members->size : 0;
}

nx_tensor *nx_group_token(nx_group *g) {
  return nxi_have_group("group", 0, g) ? nx_tensor_retain(g->token) : NULL;
}

/* ---- options */

static bool is_name(const char *name) {
  size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-");
  return n > 0 && n < NXI_GROUP_NAME && !name[n];
}

nx_status nxi_group_options(const char *op, const nx_group_options *given, nx_group_options *out,
                            nxi_diag *d) {
  *out = (nx_group_options){.size = sizeof *out};
  if (nxi_take(out, given, sizeof *out, "nx_group_options", op, d)) return d->status;
  if (!out->name) out->name = "group";
  if (!is_name(out->name))
    return nxi_fail(d, NX_INVALID_ARGUMENT, op,
                    "%s: the name is not 1 to 63 letters, digits and signs of _.:/-", op);
  if (out->timeout_ms > INT64_MAX / 1000000)
    return nxi_fail(d, NX_INVALID_ARGUMENT, op,
                    "%s: the timeout is longer than 63 bits of nanoseconds", op);
  if (out->timeout_ms == 0) out->timeout_ms = DEFAULT_TIMEOUT_MS;
  return NX_OK;
}

/* ---- from memory to memory */

const nxi_links *nxi_group_links(nx_context *c, nx_device device) {
  const nxi_links *links = nxi_device_kind_of(c, device)->links;
  return links && links->serves() ? links : NULL;
}

nx_status nxi_group_link(nxi_members *m, const nxi_links *links, nxi_diag *d) {
  nx_status status = links->attach(m, d);
  if (!status) m->links = links;
  return status;
}

/* What serves them all, or NULL. */
static const nxi_links *common_links(nx_context *c, const nx_device *devices, int32_t n) {
  const nxi_links *links = nxi_group_links(c, devices[0]);
  for (int32_t i = 1; links && i < n; i++)
    if (nxi_group_links(c, devices[i]) != links) links = NULL;
  return links;
}

/* ---- devices of a context */

static nx_status check_devices(nx_context *c, const nx_device *devices, size_t n, nxi_diag *d) {
  if (n == 0 || n > NXI_GROUP_MOST)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "group", "group: %zu members: 1 to %d are possible", n,
                    NXI_GROUP_MOST);
  for (size_t i = 0; i < n; i++) {
    if (!nxi_device_usable(c, "group", devices[i], d)) return d->status;
    for (size_t k = 0; k < i; k++)
      if (devices[k] == devices[i])
        return nxi_fail(d, NX_INVALID_ARGUMENT, "group",
                        "group: device %d is member %zu and member %zu", devices[i], k, i);
  }
  return NX_OK;
}

static nx_status make_members(nx_context *c, const nx_device *devices, int32_t n,
                              const nx_group_options *o, nx_group **members, nxi_diag *d) {
  nxi_members *all = NULL;
  nx_status status = nxi_local_create(n, o, &all, d);
  int32_t made = 0;
  if (status) return status;
  const nxi_links *links = common_links(c, devices, n);
  if (links && nxi_group_link(all, links, d)) return nxi_members_unref(all), d->status;
  for (; made < n; made++) {
    nxi_members_ref(all);
    members[made] = nxi_group_member(c, all, made, devices[made], d);
    if (!members[made]) break;
  }
  nxi_members_unref(all);
  if (made == n) return NX_OK;
  while (made-- > 0) nx_group_release(members[made]);
  return nxi_oom(d);
}

nx_status nx_group_create(nx_context *c, const nx_device *devices, size_t n,
                          const nx_group_options *options, nx_group **members) {
  nx_group_options o;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!devices || !members) return nxi_error_null("group", !devices ? 1 : 4), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("group", 0, c)) return NX_INVALID_ARGUMENT;
  if (nxi_group_options("group", options, &o, &d) || check_devices(c, devices, n, &d))
    return nxi_error_report(&d);
  nx_group **made = nxi_calloc(n, sizeof(nx_group *));
  nx_status status = made ? make_members(c, devices, (int32_t)n, &o, made, &d) : nxi_oom(&d);
  if (!status) memcpy(members, made, n * sizeof(nx_group *));
  nxi_free(made);
  return status ? (nxi_oom_in(&d, status, "group"), nxi_error_report(&d)) : NX_OK;
}
