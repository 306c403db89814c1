/* SPDX-License-Identifier: ISC */
/* Waiting for a GPU, and copies between it and the host. */
#include "state.h"

#include <time.h>

nx_status nxi_gpu_wait(nxi_gpu *g, const nxi_poll *poll, nxi_diag *d) {
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  bool asks = poll != NULL && poll->fn != NULL;
  int result = asks ? g->cuda->stream_query(g->stream) : g->cuda->stream_wait(g->stream);
  for (; asks && result == NXI_CUDA_NOT_READY && status == NX_OK;
       result = g->cuda->stream_query(g->stream)) {
    struct timespec pause = {0, 50000};
    if (poll->fn(poll->user) != 0)
      status = nxi_fail(d, NX_INTERRUPTED, "", "the poll callback asked to stop");
    else nanosleep(&pause, NULL);
  }
  nxi_gpu_leave(g);
  if (status != NX_OK || result == 0) return status;
  return nxi_gpu_refused(g, result, "running", d);
}

nx_status nxi_gpu_upload(nxi_gpu *g, uint64_t to, const void *from, int64_t bytes, nxi_diag *d) {
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->upload(to, from, (size_t)bytes, g->stream);
  if (result == 0) result = g->cuda->stream_wait(g->stream);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "copying to it", d);
}

nx_status nxi_gpu_download(nxi_gpu *g, void *to, uint64_t from, int64_t bytes, const nxi_poll *poll,
                           nxi_diag *d) {
  nx_status status = nxi_gpu_wait(g, poll, d);
  if (status == NX_OK) status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->download(to, from, (size_t)bytes, g->stream);
  if (result == 0) result = g->cuda->stream_wait(g->stream);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "copying from it", d);
}

nx_status nxi_gpu_copy(nxi_gpu *g, uint64_t to, uint64_t from, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 && to != from ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0 || to == from) return status;
  int result = g->cuda->copy(to, from, (size_t)bytes, nxi_gpu_stream(g));
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "copying on it", d);
}

nx_status nxi_gpu_clear(nxi_gpu *g, uint64_t at, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->memory_set(at, 0, (size_t)bytes, nxi_gpu_stream(g));
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "clearing memory", d);
}
