/* SPDX-License-Identifier: ISC */
/* Clients: a context of the library, with its devices. A caller of the interface counts on one; the
 * other objects keep it alive, so that it may be destroyed first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"

/* The platform is the processor, whatever computes: by this name frontends choose how they write
 * programs, and those for a processor are what the library reads. */
const char nxj_platform[] = "cpu";
const char nxj_platform_version[] = "nx " NX_VERSION_STRING;
const char *const nxj_kinds[] = {"device", "pinned_host", "unpinned_host"};

nxj_client *nxj_client_keep(nxj_client *c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
  return c;
}

void nxj_client_drop(nxj_client *c) {
  if (c == NULL || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  nxj_queues_end(c);
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->n_kinds; k++)
      for (nxj_user_data *d = c->device[i].memory[k].data, *next; d != NULL; d = next) {
        next = d->next;
        if (d->release != NULL) d->release(d->data);
        nxi_free(d);
      }
  nx_context_collect(c->context); /* memory of the host goes back now */
  nx_context_release(c->context);
  nx_context_collect(NULL);
  nxj_topology_drop(c->topology);
  nxi_free(c);
}

/* ---- creation */

static void *user_data(nxj_memory *m, const void *key) {
  void *found = NULL;
  nxj_lock();
  for (nxj_user_data *d = m->data; d != NULL && found == NULL; d = d->next)
    if (d->key == key) found = d->data;
  nxj_unlock();
  return found;
}

/* Without memory the data is released, and asked for in vain. */
static void set_user_data(nxj_memory *m, const void *key, void *data, void (*release)(void *)) {
  nxj_user_data *made = nxi_malloc(sizeof *made), old = {0};
  nxj_lock();
  nxj_user_data *d = m->data;
  while (d != NULL && d->key != key) d = d->next;
  if (d != NULL) old = *d;
  if (d == NULL && made != NULL) {
    d = made;
    d->next = m->data;
    d->key = key;
    m->data = d;
    made = NULL;
  }
  if (d != NULL) {
    d->data = data;
    d->release = release;
  }
  nxj_unlock();
  if (d == NULL) old = (nxj_user_data){.data = data, .release = release};
  if (old.release != NULL) old.release(old.data);
  nxi_free(made);
}

static const nxj_memory_table memory_table = {sizeof memory_table, NULL, sizeof(nxj_memory),
                                              user_data, set_user_data};

/* Those options that say where computations run. */
typedef struct choice {
  char kind[16];
  int64_t nodes;
} choice;

static bool is_named(const nxj_named *o, const char *name) {
  return o->n_name == strlen(name) && memcmp(o->name, name, o->n_name) == 0;
}

/* JAX adds its processes to the options: of several each would compute alone. */
static nxj_error *read_option(const nxj_named *o, choice *out) {
  if (is_named(o, "device") && o->type == NXJ_STRING) {
    snprintf(out->kind, sizeof out->kind, "%.*s", (int)(o->n < 15 ? o->n : 15), o->string);
    return NULL;
  }
  if (is_named(o, "num_nodes") && o->type == NXJ_I64) {
    out->nodes = o->i64;
    return NULL;
  }
  if (is_named(o, "node_id")) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: there is no option \"%.*s\" of this type for a client",
                  (int)(o->n_name < 100 ? o->n_name : 100), o->name);
}

static nxj_error *read_choice(const nxj_named *options, size_t n, choice *out) {
  const char *said = getenv("NX_PJRT_DEVICE");
  *out = (choice){.nodes = 1};
  snprintf(out->kind, sizeof out->kind, "%s", said != NULL && said[0] != 0 ? said : "cpu");
  nxj_error *e = NULL;
  for (size_t i = 0; e == NULL && i < n; i++) e = read_option(&options[i], out);
  if (e == NULL && strcmp(out->kind, "cpu") != 0 && strcmp(out->kind, "cuda") != 0)
    e = nxj_fail(NXJ_INVALID_ARGUMENT, "nx: computations run on cpu or cuda, not on \"%s\"",
                 out->kind);
  if (e == NULL && out->nodes != 1)
    e = nxj_fail(NXJ_UNIMPLEMENTED, "nx: a client has one process, and %lld are asked for",
                 (long long)out->nodes);
  return e;
}

/* The devices of a context that are of the kind: it, or kind:1 and so on. */
static nxj_error *find_devices(nx_context *c, const char *kind, nx_device out[32], int *n) {
  const size_t length = strlen(kind);
  const char *reason = NULL;
  *n = 0;
  for (nx_device d = 0; d < nx_device_count(c) && *n < 32; d++) {
    nx_device_info info = {.size = sizeof info};
    if (nx_device_describe(c, d, &info) != NX_OK || strncmp(info.name, kind, length) != 0 ||
        (info.name[length] != 0 && info.name[length] != ':'))
      continue;
    if (info.available) out[(*n)++] = d;
    else reason = info.reason;
  }
  if (*n > 0) return NULL;
  return nxj_fail(NXJ_FAILED_PRECONDITION, "nx: there is no device %s: %s", kind,
                  reason != NULL ? reason : "the library was built without it");
}

static void fill_devices(nxj_client *c, const nx_device *index) {
  for (int i = 0; i < c->n; i++) {
    nxj_device *d = &c->device[i];
    d->client = c;
    d->description = &c->topology->descriptions[i];
    d->index = index[i];
    c->devices[i] = d;
    for (int k = 0; k < c->n_kinds; k++) {
      nxj_memory *m = &d->memory[k];
      int id = i * c->n_kinds + k;
      *m = (nxj_memory){.table = &memory_table, .id = id, .kind = k, .device = d};
      snprintf(m->text, sizeof m->text, "NX_MEMORY(id=%d, device=%d)", id, i);
      d->memories[k] = c->memories[id] = m;
    }
  }
}

static nxj_error *create(nxj_client *c, const nxj_named *options, size_t n) {
  nx_device index[32] = {0};
  choice at;
  nxj_error *e = read_choice(options, n, &at);
  if (e != NULL) return e;
  nx_status s = nx_context_create(NULL, &c->context);
  if (s != NX_OK) return nxj_of_status(s);
  e = find_devices(c->context, at.kind, index, &c->n);
  if (e != NULL) return e;
  c->gpu = strcmp(at.kind, "cuda") == 0;
  c->n_kinds = c->gpu ? 1 : NXJ_KINDS;
  c->topology = nxj_topology_new(c->n, c->gpu ? "nx cuda" : "nx");
  if (c->topology == NULL) return nxj_no_memory();
  fill_devices(c, index);
  return nxj_queues_begin(c) ? NULL : nxj_no_memory();
}

nxj_error *nxj_client_create(void *args) {
  NXJ_TAKE(client_create, client);
  nxj_client *c = nxi_calloc(1, sizeof *c);
  if (c == NULL || !nxj_state_begin()) {
    nxi_free(c);
    return nxj_no_memory();
  }
  atomic_init(&c->refs, 1);
  nxj_error *e = create(c, a->options, a->n);
  if (e != NULL) nxj_client_drop(c);
  else a->client = c;
  return e;
}

/* ---- questions */

nxj_error *nxj_client_destroy(void *args) {
  NXJ_TAKE(client, client);
  nxj_lock();
  a->client->closed = true; /* programs that wait for the host do so no longer */
  nxj_changed();
  nxj_unlock();
  nxj_client_drop(a->client);
  return NULL;
}

nxj_error *nxj_client_name(void *args) {
  NXJ_TAKE(client_text, n);
  a->text = nxj_platform;
  a->n = strlen(nxj_platform);
  return NULL;
}

nxj_error *nxj_client_version(void *args) {
  NXJ_TAKE(client_text, n);
  a->text = nxj_platform_version;
  a->n = strlen(nxj_platform_version);
  return NULL;
}

nxj_error *nxj_client_process(void *args) {
  NXJ_TAKE(client_process, index);
  a->index = 0;
  return NULL;
}

nxj_error *nxj_client_topology(void *args) {
  NXJ_TAKE(client_topology, topology);
  a->topology = a->client->topology;
  return NULL;
}

nxj_error *nxj_client_devices(void *args) {
  NXJ_TAKE(client_devices, n);
  a->list = a->client->devices;
  a->n = (size_t)a->client->n;
  return NULL;
}

nxj_error *nxj_client_memories(void *args) {
  NXJ_TAKE(client_memories, n);
  a->list = a->client->memories;
  a->n = (size_t)a->client->n * (size_t)a->client->n_kinds;
  return NULL;
}

/* By their number, which is that in hardware too. */
nxj_error *nxj_client_lookup(void *args) {
  NXJ_TAKE(client_lookup, device);
  if (a->id < 0 || a->id >= a->client->n)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: there is no device %d of %d", a->id, a->client->n);
  a->device = a->client->devices[a->id];
  return NULL;
}

nxj_error *nxj_client_assignment(void *args) {
  NXJ_TAKE(client_assignment, out);
  int64_t n = (int64_t)a->replicas * a->partitions;
  if (a->replicas < 1 || a->partitions < 1 || n > a->client->n || (size_t)n > a->n)
    return nxj_fail(NXJ_INVALID_ARGUMENT,
                    "nx: %d replicas of %d partitions, and there are %d devices (NX_CPU_DEVICES)",
                    a->replicas, a->partitions, a->client->n);
  for (int i = 0; i < n; i++) a->out[i] = i;
  return NULL;
}

nxj_error *nxj_memory_of(nxj_client *c, nxj_device *device, nxj_memory *memory, nxj_memory **out) {
  *out = memory != NULL ? memory : device != NULL ? device->memories[0] : c->memories[0];
  if ((*out)->device->client == c) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the device belongs to another client");
}
