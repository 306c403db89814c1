/* SPDX-License-Identifier: ISC */
/* A device lists the buffers that have memory of it, by when they were asked for there. If it has
 * no memory left, those whose contents are in host memory too, and that no run uses, lose theirs,
 * the one first that was asked for longest ago.
 *
 * The place of a buffer's contents changes under one lock, which is held briefly. While bytes are
 * copied the buffer is acquired, and other threads wait for that buffer only. A buffer that was
 * acquired by a thread of the parent before a fork has an older era number, and counts as free in
 * the child. */
#include "residency.h"

#include "ir/platform/fork.h"
#include "ir/platform/lock.h"
#include "ir/platform/thread.h"
#include "runtime/record/objects.h"

static nxi_mutex residency_lock = NXI_MUTEX_INITIALIZER;
static nxi_condition moved = NXI_CONDITION_INITIALIZER;
static uint32_t era = 1;

static void in_child(void *object) {
  (void)object;
  era++;
  nxi_condition_init(&moved);
}
static nxi_fork_entry fork_entry;
static nxi_once once = NXI_ONCE_INITIALIZER;
static nx_status registered;
static void start(void) {
  registered = nxi_fork_register_mutex(&fork_entry, &residency_lock, in_child, NULL);
}

static nx_status acquire(nxi_buffer *b, nxi_diag *d) {
  nxi_once_run(&once, start);
  if (registered) return nxi_oom(d);
  nxi_mutex_lock(&residency_lock);
  while (b->moving == era) nxi_condition_wait(&moved, &residency_lock);
  b->moving = era;
  nxi_mutex_unlock(&residency_lock);
  return NX_OK;
}

static void release(nxi_buffer *b) {
  nxi_mutex_lock(&residency_lock);
  b->moving = 0;
  nxi_condition_wake_all(&moved);
  nxi_mutex_unlock(&residency_lock);
}

static void set_stale(nxi_buffer *b, bool host, bool device) {
  nxi_mutex_lock(&residency_lock);
  b->host_stale = host;
  b->device_stale = device;
  nxi_mutex_unlock(&residency_lock);
}

/* Host code sees what is in its memory. */
static bool host_sees(const nxi_buffer *b) { return nxi_buffer_is_hosts(b); }

/* ---- the list of a device. Lock. */

static void unlist(nxi_buffer *b) {
  nxi_device *v = b->device;
  *(b->newer ? &b->newer->older : &v->newest) = b->older;
  *(b->older ? &b->older->newer : &v->oldest) = b->newer;
}

static void list(nxi_buffer *b) {
  nxi_device *v = b->device;
  b->newer = NULL;
  b->older = v->newest;
  *(b->older ? &b->older->newer : &v->oldest) = b;
  v->newest = b;
}

/* It has that memory of the device from here on. */
static void set_place(nxi_buffer *b, nxi_device *v, uint64_t at) {
  nxi_mutex_lock(&residency_lock);
  if (b->device) unlist(b);
  b->device = v;
  b->on_device = at;
  b->travelled = true;
  list(b);
  nxi_mutex_unlock(&residency_lock);
}

nx_status nxi_buffer_create_on(nx_context *c, nxi_device *v, int64_t bytes, nxi_buffer **out,
                               nxi_diag *d) {
  NXI_NO_LOCK();
  nxi_buffer *b = nxi_buffer_without_memory(c, bytes);
  if (!b) return nxi_oom(d);
  nx_status status = v->kind->alloc(v, bytes, &b->on_device, d);
  if (status) {
    nxi_free(b);
    return status;
  }
  b->host_stale = true;
  b->after = NXI_NOW;
  set_place(b, v, b->on_device);
  *out = b;
  return NX_OK;
}

/* Acquired. */
static nx_status to_host(nx_context *c, nxi_buffer *b, const nxi_poll *poll, nxi_diag *d) {
  nx_status status = NX_OK;
  if (!b->device || !b->host_stale) return NX_OK;
  if (!b->data) status = nxi_buffer_alloc(c->allocator, b->bytes, &b->data, d);
  if (!status)
    status =
        b->device->kind->download(b->device, b->data, b->on_device, b->bytes, b->after, poll, d);
  if (status) return status;
  nxi_mutex_lock(&residency_lock);
  b->host_stale = false;
  nxi_mutex_unlock(&residency_lock);
  return NX_OK;
}

nx_status nxi_buffer_to_host(nx_context *c, nxi_buffer *b, const nxi_poll *poll, nxi_diag *d) {
  if (!b->device) return NX_OK;
  nx_status status = acquire(b, d);
  if (status) return status;
  status = to_host(c, b, poll, d);
  release(b);
  return status;
}

nx_status nxi_buffer_read(nxi_buffer *b, void *to, int64_t from, int64_t bytes,
                          const nxi_poll *poll, bool *done, nxi_diag *d) {
  *done = false;
  if (!b->device) return NX_OK;
  nx_status status = acquire(b, d);
  if (status) return status;
  *done = b->device && b->host_stale && !host_sees(b);
  if (*done)
    status = b->device->kind->download(b->device, to, b->on_device + (uint64_t)from, bytes,
                                       b->after, poll, d);
  release(b);
  return status;
}

/* Memory of a device that a buffer has left while runs there were still using its address. */
typedef struct nxi_former {
  struct nxi_former *next;
  nxi_device *device;
  uint64_t at;
} nxi_former;

/* Makes the buffer leave its device, for another one. Takes f. */
static void leave(nxi_buffer *b, nxi_former *f) {
  *f = (nxi_former){NULL, b->device, b->on_device};
  nxi_mutex_lock(&residency_lock);
  bool free_now = b->device_users == 0;
  uint64_t used = b->used;
  if (!free_now) {
    f->next = b->formers;
    b->formers = f;
  }
  b->used = 0; /* it was a mark of the device that it has left */
  nxi_mutex_unlock(&residency_lock);
  if (!free_now) return;
  f->device->kind->free_after(f->device, f->at, b->bytes, used);
  nxi_free(f);
}

static void free_formers(const nxi_buffer *b, nxi_former *f) {
  while (f) {
    nxi_former *next = f->next;
    f->device->kind->free_after(f->device, f->at, b->bytes, NXI_NOW);
    nxi_free(f);
    f = next;
  }
}

/* Acquired. Whether the contents are on another device of the kind alone, and wanted. */
static bool comes_directly(const nxi_buffer *b, const nxi_device *v, bool contents) {
  return contents && b->device && b->host_stale && !b->device_stale && b->device->kind == v->kind &&
         v->kind->copy_from;
}

/* Acquired: from one device to the other. The memory that it leaves is used by the copy. */
static nx_status move(nxi_buffer *b, nxi_device *v, nxi_diag *d) {
  nxi_former *former = nxi_malloc(sizeof *former);
  uint64_t at = 0;
  if (!former) return nxi_oom(d);
  nx_status status = v->kind->alloc(v, b->bytes, &at, d);
  if (!status) status = v->kind->copy_from(v, at, b->device, b->on_device, b->bytes, d);
  if (status) {
    if (at) v->kind->free_after(v, at, b->bytes, NXI_NOW);
    nxi_free(former);
    return status;
  }
  nxi_mutex_lock(&residency_lock);
  b->used = NXI_NOW;
  nxi_mutex_unlock(&residency_lock);
  leave(b, former);
  set_place(b, v, at);
  b->after = NXI_NOW;
  return NX_OK;
}

/* Called with the buffer acquired: allocates memory of the device; contents on a device of another
 * kind come through the host. *after: the mark after which nothing uses that memory any more. */
static nx_status take_room(nx_context *c, nxi_buffer *b, nxi_device *v, bool contents,
                           uint64_t *after, nxi_diag *d) {
  *after = NXI_NOW; /* kernels that were started before may read what is there */
  if (b->device == v) return NX_OK;
  if (comes_directly(b, v, contents)) return move(b, v, d);
  const bool leaves = b->device != NULL;
  nxi_former *former = leaves ? nxi_malloc(sizeof *former) : NULL;
  nx_status status = leaves && !former ? nxi_oom(d) : to_host(c, b, NULL, d);
  uint64_t at = 0;
  if (!status) status = v->kind->alloc_after(v, b->bytes, &at, after, d);
  if (status) {
    nxi_free(former);
    return status;
  }
  if (former) leave(b, former);
  set_place(b, v, at);
  set_stale(b, false, true);
  return NX_OK;
}

nx_status nxi_buffer_to_device(nx_context *c, nxi_buffer *b, nxi_device *v, bool contents,
                               uint64_t *at, nxi_diag *d) {
  uint64_t after;
  nx_status status = acquire(b, d);
  if (status) return status;
  status = take_room(c, b, v, contents, &after, d);
  bool newer = b->device_stale || (nxi_buffer_host_writes(b) && !b->host_stale);
  if (!status && contents && newer) {
    set_stale(b, false, false); /* a write of the host meanwhile makes it stale again */
    status = v->kind->upload(v, b->on_device, b->data, b->bytes, after, d);
    if (status) set_stale(b, false, true);
    b->after = NXI_NOW;
  }
  *at = b->on_device;
  if (!status) {
    nxi_mutex_lock(&residency_lock);
    b->device_users++;
    unlist(b);
    list(b);
    nxi_mutex_unlock(&residency_lock);
  }
  release(b);
  return status;
}

static void note_use(nxi_buffer *b, uint64_t mark) {
  if (mark > b->used)
    b->used = mark; /* a mark that is later than needed, or of another device, does no harm */
}

nx_status nxi_buffer_device_written(nx_context *c, nxi_buffer *b, uint64_t mark,
                                    const nxi_poll *poll, nxi_diag *d) {
  nx_status status = acquire(b, d);
  if (status) return status;
  set_stale(b, true, false);
  b->after = mark;
  nxi_mutex_lock(&residency_lock);
  note_use(b, mark);
  nxi_mutex_unlock(&residency_lock);
  if (host_sees(b)) status = to_host(c, b, poll, d);
  release(b);
  return status;
}

void nxi_buffer_device_done(nxi_buffer *b, uint64_t mark) {
  nxi_former *formers = NULL;
  nxi_mutex_lock(&residency_lock);
  note_use(b, mark);
  if (--b->device_users == 0) {
    formers = b->formers;
    b->formers = NULL;
  }
  nxi_mutex_unlock(&residency_lock);
  free_formers(b, formers);
}

void nxi_buffer_host_written(nxi_buffer *b) {
  if (!b->device) return;
  nxi_mutex_lock(&residency_lock);
  /* else a device has written it since, and that comes to host memory now */
  if (!b->host_stale) b->device_stale = true;
  nxi_mutex_unlock(&residency_lock);
}

void nxi_buffer_leave_device(nxi_buffer *b) {
  if (!b->travelled) return;
  nxi_mutex_lock(&residency_lock); /* the device may be about to take its memory back */
  nxi_device *v = b->device;
  const uint64_t at = b->on_device, used = b->used;
  if (v) unlist(b);
  b->device = NULL;
  nxi_mutex_unlock(&residency_lock);
  if (v) v->kind->free_after(v, at, b->bytes, used);
}

/* Whether its memory there is one of two copies, and nobody uses it. Lock. */
static bool is_spare(const nxi_buffer *b) {
  return b->moving != era && b->data && !b->host_stale && !b->device_users && b->bytes > 0;
}

int64_t nxi_buffers_leave(nxi_device *v, int64_t bytes) {
  int64_t freed = 0;
  while (freed < bytes) {
    nxi_mutex_lock(&residency_lock);
    nxi_buffer *b = v->oldest;
    while (b && !is_spare(b)) b = b->newer;
    const nxi_former left = {NULL, v, b ? b->on_device : 0};
    const int64_t size = b ? b->bytes : 0;
    const uint64_t used = b ? b->used : 0;
    if (b) {
      unlist(b);
      b->device = NULL;
      b->used = 0; /* it was a mark of the device that it has left */
    }
    nxi_mutex_unlock(&residency_lock);
    if (!size) break;
    v->kind->free_after(v, left.at, size, used);
    freed += size;
  }
  return freed;
}
