/* SPDX-License-Identifier: ISC */
#include "runtime/place.h"

/* One lock for the places of all buffers: it is held while bytes are copied, which one stream does one after the other
 * anyway. */
static pthread_mutex_t places = PTHREAD_MUTEX_INITIALIZER;

static bool host_may_write(const nxi_buffer *b) {
  return (b->allocator == NULL && !b->immutable) || b->pinner != NULL;
}

nx_status nxi_buffer_create_on(nx_context *c, nxi_gpu *g, int64_t bytes, nxi_buffer **out,
                               nxi_diag *d) {
  nxi_buffer *b = nxi_buffer_without_memory(c, bytes);
  if (!b) return nxi_oom(d);
  nx_status status = nxi_gpu_alloc(g, bytes, &b->on_gpu, d);
  if (status) {
    nxi_free(b);
    return status;
  }
  b->gpu = g;
  b->host_stale = true;
  *out = b;
  return NX_OK;
}

/* Lock. */
static nx_status to_host(nx_context *c, nxi_buffer *b, const nxi_poll *poll, nxi_diag *d) {
  nx_status status = NX_OK;
  if (!b->gpu || !b->host_stale) return NX_OK;
  if (!b->data) status = nxi_buffer_alloc(c->allocator, b->bytes, &b->data, d);
  if (!status) status = nxi_gpu_download(b->gpu, b->data, b->on_gpu, b->bytes, poll, d);
  if (!status) b->host_stale = false;
  return status;
}

nx_status nxi_buffer_to_host(nx_context *c, nxi_buffer *b, const nxi_poll *poll, nxi_diag *d) {
  nx_status status = NX_OK;
  if (b->gpu) {
    pthread_mutex_lock(&places);
    status = to_host(c, b, poll, d);
    pthread_mutex_unlock(&places);
  }
  return status;
}

/* Lock. From another GPU through the host. */
static nx_status take_room(nx_context *c, nxi_buffer *b, nxi_gpu *g, nxi_diag *d) {
  if (b->gpu == g) return NX_OK;
  nx_status status = to_host(c, b, NULL, d);
  uint64_t at = 0;
  if (!status) status = nxi_gpu_alloc(g, b->bytes, &at, d);
  if (status) return status;
  if (b->gpu) nxi_gpu_free(b->gpu, b->on_gpu, b->bytes);
  b->gpu = g;
  b->on_gpu = at;
  b->gpu_stale = true;
  b->host_stale = false;
  return NX_OK;
}

nx_status nxi_buffer_to_gpu(nx_context *c, nxi_buffer *b, nxi_gpu *g, bool contents, uint64_t *at,
                            nxi_diag *d) {
  pthread_mutex_lock(&places);
  nx_status status = take_room(c, b, g, d);
  if (!status && contents && (b->gpu_stale || host_may_write(b))) {
    status = nxi_gpu_upload(g, b->on_gpu, b->data, b->bytes, d);
    if (!status) b->gpu_stale = false;
  }
  *at = b->on_gpu;
  pthread_mutex_unlock(&places);
  return status;
}

nx_status nxi_buffer_on_gpu_written(nx_context *c, nxi_buffer *b, const nxi_poll *poll,
                                    nxi_diag *d) {
  nx_status status = NX_OK;
  pthread_mutex_lock(&places);
  b->host_stale = true;
  b->gpu_stale = false;
  if (host_may_write(b)) status = to_host(c, b, poll, d);
  pthread_mutex_unlock(&places);
  return status;
}

void nxi_buffer_host_written(nxi_buffer *b) {
  if (!b->gpu) return;
  pthread_mutex_lock(&places);
  b->host_stale = false;
  b->gpu_stale = true;
  pthread_mutex_unlock(&places);
}

void nxi_buffer_leave_gpu(nxi_buffer *b) {
  if (b->gpu) nxi_gpu_free(b->gpu, b->on_gpu, b->bytes);
  b->gpu = NULL;
}
