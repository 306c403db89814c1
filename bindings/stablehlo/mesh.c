/* SPDX-License-Identifier: ISC */
/* Meshes: which device each process of a program is on, and groups of processes, each made when a
 * collective first names it. All groups of a process have one token, so that it carries its
 * collectives out in the order of the program, whichever processes they are with: two that meet in
 * different orders would wait for each other. */
#include "mesh.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/thread.h"
#include "runtime/group/group.h"
#include "runtime/record/error.h"

typedef struct made_group {
  int32_t n, *processes; /* the list stands behind the members */
  nx_group *members[];
} made_group;

struct nx_stablehlo_mesh {
  atomic_uint refs;
  nx_context *context;
  int32_t n_replicas, n_partitions, n;
  char name[NXI_GROUP_NAME];
  int64_t timeout_ms;
  nxi_mutex lock; /* of groups */
  made_group **groups;
  uint32_t n_groups, cap_groups;
  struct process {
    nx_device device;
    nx_tensor *token;
    nxi_mutex recording;
  } processes[];
};

int32_t nxh_mesh_replicas(const nx_stablehlo_mesh *m) { return m != NULL ? m->n_replicas : 1; }
int32_t nxh_mesh_partitions(const nx_stablehlo_mesh *m) { return m != NULL ? m->n_partitions : 1; }
nx_context *nxh_mesh_context(const nx_stablehlo_mesh *m) { return m->context; }
nx_device nxh_mesh_device(const nx_stablehlo_mesh *m, int32_t process) {
  return m->processes[process].device;
}

/* ---- life */

static void destroy(nx_stablehlo_mesh *m) {
  for (uint32_t i = 0; i < m->n_groups; i++) {
    for (int32_t k = 0; k < m->groups[i]->n; k++) nx_group_release(m->groups[i]->members[k]);
    nxi_free(m->groups[i]);
  }
  for (int32_t i = 0; i < m->n; i++) {
    nx_tensor_release(m->processes[i].token);
    nxi_mutex_destroy(&m->processes[i].recording);
  }
  nxi_mutex_destroy(&m->lock);
  nxi_free(m->groups);
  nx_context_release(m->context);
  nxi_free(m);
}

nx_stablehlo_mesh *nx_stablehlo_mesh_retain(nx_stablehlo_mesh *m) {
  if (m != NULL) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

void nx_stablehlo_mesh_release(nx_stablehlo_mesh *m) {
  if (m != NULL && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) destroy(m);
}

/* A group of all devices checks them, and the options; it is the first one. */
static nx_status check(nx_context *c, const nx_device *devices, int32_t n,
                       const nx_group_options *options) {
  nx_group **members = nxi_calloc((size_t)n, sizeof(void *));
  nxi_diag d;
  nxi_diag_clear(&d);
  if (members == NULL) return nxi_oom(&d), nxi_error_report(&d);
  nx_status s = nx_group_create(c, devices, (size_t)n, options, members);
  for (int32_t i = 0; s == NX_OK && i < n; i++) nx_group_release(members[i]);
  nxi_free(members);
  return s;
}

static bool take_tokens(nx_stablehlo_mesh *m) {
  for (int32_t i = 0; i < m->n; i++) {
    nx_tensor *token = nx_token(m->context, m->processes[i].device);
    if (token == NULL) return false;
    m->processes[i].token = nx_keep(token);
  }
  return true;
}

static nx_stablehlo_mesh *make(nx_context *c, const nx_device *devices, int32_t n) {
  nx_stablehlo_mesh *m = nxi_calloc(1, sizeof *m + (size_t)n * sizeof m->processes[0]);
  if (m == NULL) return NULL;
  atomic_init(&m->refs, 1);
  nxi_mutex_init(&m->lock);
  for (int32_t i = 0; i < n; i++) {
    m->processes[i].device = devices[i];
    nxi_mutex_init(&m->processes[i].recording);
  }
  m->context = nx_context_retain(c);
  m->n = n;
  return m;
}

nx_status nx_stablehlo_mesh_create(nx_context *c, int32_t replicas, int32_t partitions,
                                   const nx_device *devices, const nx_group_options *options,
                                   nx_stablehlo_mesh **out) {
  static const char op[] = "stablehlo";
  nx_group_options o = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  bool good = replicas > 0 && partitions > 0 && replicas <= NXI_GROUP_MOST / partitions;
  if (c == NULL || devices == NULL || out == NULL)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "stablehlo: an argument is NULL");
  else if (!good)
    nxi_fail(&d, NX_INVALID_ARGUMENT, op,
             "stablehlo: %d replicas of %d partitions: 1 to %d processes are possible", replicas,
             partitions, NXI_GROUP_MOST);
  else nxi_group_options(op, options, &o, &d);
  if (d.status != NX_OK || devices == NULL || out == NULL) return nxi_error_report(&d);
  nx_status s = check(c, devices, replicas * partitions, options);
  if (s != NX_OK) return s;
  nx_stablehlo_mesh *m = make(c, devices, replicas * partitions);
  if (m == NULL) return nxi_oom(&d), nxi_error_report(&d);
  m->n_replicas = replicas;
  m->n_partitions = partitions;
  m->timeout_ms = o.timeout_ms;
  snprintf(m->name, sizeof m->name, "%s", o.name != NULL ? o.name : "group");
  if (take_tokens(m)) return *out = m, NX_OK;
  destroy(m);
  return nxi_error_status();
}

/* ---- groups */

static bool is_same(const made_group *g, const int32_t *processes, int32_t n) {
  return g->n == n && memcmp(g->processes, processes, (size_t)n * sizeof *processes) == 0;
}

static bool fill(nx_stablehlo_mesh *m, made_group *g) {
  nx_group_options o = {.size = sizeof o, .name = m->name, .timeout_ms = m->timeout_ms};
  nx_device *devices = nxi_calloc((size_t)g->n, sizeof *devices);
  nxi_diag d;
  nxi_diag_clear(&d);
  if (devices == NULL) return nxi_oom(&d), nxi_error_report(&d), false;
  for (int32_t i = 0; i < g->n; i++) devices[i] = m->processes[g->processes[i]].device;
  bool ok = nx_group_create(m->context, devices, (size_t)g->n, &o, g->members) == NX_OK;
  for (int32_t i = 0; ok && i < g->n; i++)
    nxi_group_follow(g->members[i], m->processes[g->processes[i]].token);
  nxi_free(devices);
  return ok;
}

/* m->lock */
static made_group *find_or_make(nx_stablehlo_mesh *m, const int32_t *processes, int32_t n) {
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < m->n_groups; i++)
    if (is_same(m->groups[i], processes, n)) return m->groups[i];
  size_t members = (size_t)n * sizeof(nx_group *), list = (size_t)n * sizeof(int32_t);
  made_group *g = nxi_calloc(1, sizeof *g + members + list);
  if (g == NULL || !nxi_grow(&m->groups, &m->cap_groups, m->n_groups + 1, sizeof *m->groups)) {
    nxi_free(g);
    nxi_oom(&d);
    nxi_error_report(&d);
    return NULL;
  }
  g->n = n;
  g->processes = (int32_t *)(void *)(g->members + n);
  memcpy(g->processes, processes, list);
  if (fill(m, g)) return m->groups[m->n_groups++] = g;
  nxi_free(g);
  return NULL;
}

nx_group *nxh_mesh_group(nx_stablehlo_mesh *m, const int32_t *processes, uint32_t n,
                         uint32_t rank) {
  nxi_mutex_lock(&m->lock);
  const made_group *g = find_or_make(m, processes, (int32_t)n);
  nxi_mutex_unlock(&m->lock);
  return g != NULL ? g->members[rank] : NULL;
}

/* ---- tokens */

void nxh_mesh_begin(nx_stablehlo_mesh *m, int32_t process) {
  if (m != NULL) nxi_mutex_lock(&m->processes[process].recording);
}

void nxh_mesh_end(nx_stablehlo_mesh *m, int32_t process) {
  if (m != NULL) nxi_mutex_unlock(&m->processes[process].recording);
}

nx_tensor *nxh_mesh_token(nx_stablehlo_mesh *m, int32_t process) {
  return m != NULL ? m->processes[process].token : NULL;
}

void nxh_mesh_follow(nx_stablehlo_mesh *m, int32_t process, nx_tensor *token) {
  struct process *p = &m->processes[process];
  nxi_mutex_lock(&m->lock);
  nx_tensor *before = p->token;
  p->token = nx_tensor_retain(token);
  for (uint32_t i = 0; i < m->n_groups; i++)
    for (int32_t k = 0; k < m->groups[i]->n; k++)
      if (m->groups[i]->processes[k] == process) nxi_group_follow(m->groups[i]->members[k], token);
  nxi_mutex_unlock(&m->lock);
  nx_tensor_release(before);
}

void nxh_mesh_forget(nx_stablehlo_mesh *m, int32_t process) {
  nx_tensor *token = nx_token(m->context, m->processes[process].device);
  if (token != NULL) nx_assign(m->processes[process].token, token);
}
