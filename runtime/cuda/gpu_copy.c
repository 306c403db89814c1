/* SPDX-License-Identifier: ISC */
/* Waiting for a GPU, and copies between it and the host.
 *
 * Work runs on one stream. Copies to the GPU and copies from it have a separate stream each, so
 * that they overlap with work. That is possible if it is known after which work a copy has to come:
 * a mark, which is an event that was recorded on the stream of work. If it is not known, or the
 * event is not recorded yet, the copy goes on the stream of work itself, in order.
 *
 *   To the GPU: the mark is the one after the last use of the memory. The stream of work waits for
 *   the copy before it runs work that is started later, so no copy is in progress when the memory
 *   is reused. From the GPU: the mark is the one after what made the bytes. The host waits for the
 *   copy, so no copy is in progress when the memory is freed.
 *
 * Bytes go through pinned memory in pieces: the host copies one piece while others are in transit.
 * Small copies to the GPU go on the stream of work, in order, and share slots of memory of their
 * own: then no stream waits for another one, and a copy is one call of the driver.
 *
 *   From one GPU to another: on the stream of work of the one that gets them, which waits for the
 *   mark of the other; and the other one's work that is started later waits for the copy. */
#include <string.h>

#include "ir/platform/clock.h"
#include "ir/platform/thread.h"
#include "runtime/threads.h"
#include "state.h"

void nxi_gpu_copies_init(nxi_gpu *g) {
  nxi_mutex_init(&g->marks.lock);
  nxi_mutex_init(&g->up.lock);
  nxi_mutex_init(&g->down.lock);
}

static void close_ring(const nxi_gpu *g, const nxi_gpu_ring *ring) {
  for (int i = 0; i < NXI_GPU_SLOTS; i++)
    if (ring->events[i] != NULL) g->cuda->event_destroy(ring->events[i]);
  if (ring->memory != NULL) g->cuda->host_free(ring->memory);
}

static void close_lane(const nxi_gpu *g, nxi_gpu_lane *lane, bool entered) {
  if (entered && lane->stream != NULL) {
    g->cuda->stream_wait(lane->stream);
    g->cuda->stream_destroy(lane->stream);
  }
  if (entered) close_ring(g, &lane->pieces);
  if (entered) close_ring(g, &lane->small);
  nxi_mutex_destroy(&lane->lock);
}

void nxi_gpu_copies_destroy(nxi_gpu *g, bool entered) {
  close_lane(g, &g->up, entered);
  close_lane(g, &g->down, entered);
  for (int i = 0; entered && i < NXI_GPU_MARKS; i++)
    if (g->marks.events[i] != NULL) g->cuda->event_destroy(g->marks.events[i]);
  nxi_mutex_destroy(&g->marks.lock);
}

/* ---- marks */

int nxi_gpu_make_event(const nxi_gpu *g, void **event) {
  if (*event != NULL) return 0;
  int result = g->cuda->event_create(event, NXI_CUDA_NO_TIMING);
  if (result != 0) *event = NULL;
  return result;
}

uint64_t nxi_gpu_mark(nxi_gpu *g) {
  nxi_gpu_marks *m = &g->marks;
  if (nxi_gpu_captures(g) || nxi_gpu_enter(g, NULL) != NX_OK) return NXI_NOW;
  nxi_mutex_lock(&m->lock);
  /* The mark is counted before its event is recorded: work of a thread that has read the smaller
   * number was started before. */
  uint64_t number = atomic_fetch_add(&m->last, 1) + 1;
  uint64_t slot = number % NXI_GPU_MARKS;
  m->recorded[slot] = nxi_gpu_make_event(g, &m->events[slot]) == 0 &&
                      g->cuda->event_record(m->events[slot], g->stream) == 0;
  nxi_mutex_unlock(&m->lock);
  nxi_gpu_leave(g);
  return number;
}

/* The event of a mark, or of the first later mark whose event still exists; NULL: there is none.
 * The marks' lock. */
static void *event_of(const nxi_gpu_marks *m, uint64_t mark) {
  uint64_t last = m->last;
  if (mark == 0 || mark > last) return NULL;
  if (last >= NXI_GPU_MARKS && mark <= last - NXI_GPU_MARKS) mark = last - NXI_GPU_MARKS + 1;
  return m->recorded[mark % NXI_GPU_MARKS] ? m->events[mark % NXI_GPU_MARKS] : NULL;
}

/* ---- waiting */

/* Waits until the stream, or the event, is done. */
static nx_status wait_for(nxi_gpu *g, void *stream, void *event, const nxi_poll *poll,
                          nxi_diag *d) {
  const nxi_cuda *cuda = g->cuda;
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  bool asks = poll != NULL && poll->fn != NULL;
  int result = NXI_CUDA_NOT_READY;
  if (!asks) result = event != NULL ? cuda->event_wait(event) : cuda->stream_wait(stream);
  while (asks && status == NX_OK) {
    result = event != NULL ? cuda->event_query(event) : cuda->stream_query(stream);
    if (result != NXI_CUDA_NOT_READY) break;
    if (poll->fn(poll->user) != 0)
      status = nxi_fail(d, NX_INTERRUPTED, "", "the poll callback asked to stop");
    else nxi_pause_ns(50000);
  }
  nxi_gpu_leave(g);
  if (status != NX_OK || result == 0) return status;
  return nxi_gpu_refused(g, result, "running", d);
}

nx_status nxi_gpu_wait(nxi_gpu *g, uint64_t mark, const nxi_poll *poll, nxi_diag *d) {
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  /* comes first, because after a fork no lock may be taken */
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  nxi_mutex_lock(&g->marks.lock);
  void *event = event_of(&g->marks, mark);
  nxi_mutex_unlock(&g->marks.lock);
  status = wait_for(g, g->stream, event, poll, d);
  nxi_gpu_leave(g);
  return status;
}

/* ---- lanes */

/* Makes the events and the memory of a ring. Lane's lock, inside. */
static void make_ring(const nxi_gpu *g, nxi_gpu_ring *ring) {
  void *memory = NULL;
  bool good = true;
  if (ring->tried) return;
  ring->tried = true;
  ring->slot_bytes = NXI_GPU_SLOT_BYTES;
  for (int i = 0; i < NXI_GPU_SLOTS && good; i++)
    good = nxi_gpu_make_event(g, &ring->events[i]) == 0;
  if (good && g->cuda->host_alloc(&memory, (size_t)NXI_GPU_SLOTS * NXI_GPU_SLOT_BYTES, 0) == 0)
    ring->memory = memory;
}

/* Makes the stream and the pinned memory of a lane. Without one of them the driver copies directly.
 * Lane's lock, inside. */
static void make_lane(const nxi_gpu *g, nxi_gpu_lane *lane) {
  if (lane->pieces.tried) return;
  if (g->cuda->stream_create(&lane->stream, NXI_CUDA_NON_BLOCKING) != 0) lane->stream = NULL;
  if (lane->stream != NULL) make_ring(g, &lane->pieces);
  lane->pieces.tried = true;
}

enum { SMALL_COPY = 1 << 20, LARGE_COPY = 32 << 20 };
/* Records the event after the copies that share a slot. Lane's lock, inside. */
static int close_slot(const nxi_gpu *g, nxi_gpu_lane *lane) {
  const uint32_t slot = (lane->small.next - 1) % NXI_GPU_SLOTS;
  lane->open = false;
  lane->small.used[slot] = true;
  return g->cuda->event_record(lane->small.events[slot], g->stream);
}

/* For a copy that fills large slots the lane gets them, if there is pinned memory for it. Lane's
 * lock, inside. */
static void widen_lane(const nxi_gpu *g, nxi_gpu_lane *lane, int64_t bytes) {
  nxi_gpu_ring *ring = &lane->pieces;
  void *memory = NULL;
  const bool worth = bytes >= LARGE_COPY;
  if (ring->memory == NULL || lane->tried_large || !worth || nxi_pool_size(g->base.pool) == 1)
    return;
  lane->tried_large = true;
  if (g->cuda->host_alloc(&memory, (size_t)NXI_GPU_SLOTS * NXI_GPU_LARGE_SLOT_BYTES, 0) != 0)
    return;
  for (int i = 0; i < NXI_GPU_SLOTS; i++)
    if (ring->used[i]) g->cuda->event_wait(ring->events[i]);
  g->cuda->host_free(ring->memory);
  ring->memory = memory;
  ring->slot_bytes = NXI_GPU_LARGE_SLOT_BYTES;
}

/* The stream for a copy that comes after the mark: the lane's stream, which waits for the mark, or
 * the stream of work. Lane's lock, inside. */
static void *stream_for(nxi_gpu *g, const nxi_gpu_lane *lane, uint64_t after) {
  void *stream = g->stream;
  if (lane->pieces.memory == NULL) return stream;
  if (after == 0) return lane->stream;
  nxi_mutex_lock(&g->marks.lock);
  void *event = event_of(&g->marks, after);
  if (event != NULL && g->cuda->stream_wait_event(lane->stream, event, 0) == 0)
    stream = lane->stream;
  nxi_mutex_unlock(&g->marks.lock);
  return stream;
}

/* Takes a slot that no copy uses any more. */
static int take_slot(const nxi_gpu *g, nxi_gpu_ring *ring, uint32_t *slot) {
  *slot = ring->next++ % NXI_GPU_SLOTS;
  int result = ring->used[*slot] ? g->cuda->event_wait(ring->events[*slot]) : 0;
  if (result == 0) ring->used[*slot] = false;
  return result;
}

static int64_t piece_bytes(const nxi_gpu_ring *ring, int64_t left) {
  return left < ring->slot_bytes ? left : ring->slot_bytes;
}

static char *slot_at(const nxi_gpu_ring *ring, uint32_t slot) {
  return ring->memory + (size_t)slot * (size_t)ring->slot_bytes;
}

/* One thread copies some 10 GB/s, and a link takes several times that. */
enum { SHARE = 256 << 10 };
typedef struct shared_copy {
  char *to;
  const char *from;
  int64_t bytes;
} shared_copy;
static void copy_share(void *arg, int worker, int64_t begin, int64_t end) {
  const shared_copy *c = arg;
  const int64_t first = begin * SHARE, last = end * SHARE < c->bytes ? end * SHARE : c->bytes;
  (void)worker;
  memcpy(c->to + first, c->from + first, (size_t)(last - first));
}
static void copy_together(const nxi_gpu *g, char *to, const char *from, int64_t bytes) {
  shared_copy c = {to, from, bytes};
  if (bytes <= NXI_GPU_SLOT_BYTES) memcpy(to, from, (size_t)bytes);
  else nxi_pool_run(g->base.pool, copy_share, &c, (bytes - 1) / SHARE + 1, 1);
}

/* ---- to the GPU */

/* *last: the event after the last piece. */
static int send(nxi_gpu *g, void *stream, uint64_t to, const char *from, int64_t bytes,
                void **last) {
  nxi_gpu_ring *ring = &g->up.pieces;
  int result = 0;
  for (int64_t at = 0; at < bytes && result == 0;) {
    int64_t part = piece_bytes(ring, bytes - at);
    uint32_t slot;
    result = take_slot(g, ring, &slot);
    if (result != 0) break;
    copy_together(g, slot_at(ring, slot), from + at, part);
    result = g->cuda->upload(to + (uint64_t)at, slot_at(ring, slot), (size_t)part, stream);
    if (result == 0) result = g->cuda->event_record(ring->events[slot], stream);
    ring->used[slot] = true;
    *last = ring->events[slot];
    at += part;
  }
  return result;
}

/* Copies on the stream of work, in slots that are shared. */
static int send_small(nxi_gpu *g, uint64_t to, const char *from, int64_t bytes) {
  enum { LINE = 64 };
  nxi_gpu_lane *lane = &g->up;
  nxi_gpu_ring *ring = &lane->small;
  int result = 0;
  while (bytes > 0 && result == 0) {
    uint32_t slot = (ring->next - 1) % NXI_GPU_SLOTS;
    if (lane->open && lane->filled == ring->slot_bytes) result = close_slot(g, lane);
    if (!lane->open && result == 0) {
      result = take_slot(g, ring, &slot);
      lane->open = result == 0;
      lane->filled = 0;
    }
    if (result != 0) break;
    const int64_t room = ring->slot_bytes - lane->filled, part = bytes < room ? bytes : room;
    char *at = slot_at(ring, slot) + lane->filled;
    memcpy(at, from, (size_t)part);
    result = g->cuda->upload(to, at, (size_t)part, g->stream);
    lane->filled += (part + LINE - 1) / LINE * LINE;
    to += (uint64_t)part, from += part, bytes -= part;
  }
  return result;
}

static int upload_directly(nxi_gpu *g, void *stream, uint64_t to, const void *from, int64_t bytes) {
  int result = g->cuda->upload(to, from, (size_t)bytes, stream);
  return result == 0 ? g->cuda->stream_wait(stream) : result;
}

static int upload_small(nxi_gpu *g, uint64_t to, const void *from, int64_t bytes) {
  make_ring(g, &g->up.small);
  if (g->up.small.memory == NULL) return upload_directly(g, g->stream, to, from, bytes);
  const int result = send_small(g, to, from, bytes);
  if (result != 0) g->cuda->stream_wait(g->stream); /* no copy is in progress after a failure */
  return result;
}

static int upload(nxi_gpu *g, uint64_t to, const void *from, int64_t bytes, uint64_t after) {
  void *last = NULL;
  if (bytes <= SMALL_COPY) return upload_small(g, to, from, bytes);
  make_lane(g, &g->up);
  widen_lane(g, &g->up, bytes);
  void *stream = stream_for(g, &g->up, after);
  if (g->up.pieces.memory == NULL) return upload_directly(g, stream, to, from, bytes);
  int result = send(g, stream, to, from, bytes, &last);
  if (result == 0 && stream != g->stream) result = g->cuda->stream_wait_event(g->stream, last, 0);
  if (result != 0) g->cuda->stream_wait(stream);
  return result;
}

nx_status nxi_gpu_upload(nxi_gpu *g, uint64_t to, const void *from, int64_t bytes, uint64_t after,
                         nxi_diag *d) {
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  nxi_mutex_lock(&g->up.lock);
  int result = upload(g, to, from, bytes, after);
  nxi_mutex_unlock(&g->up.lock);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "copying to it", d);
}

/* ---- from the GPU */

/* Starts copies into free slots, and empties the slots in order. */
static int receive(nxi_gpu *g, void *stream, char *to, uint64_t from, int64_t bytes) {
  nxi_gpu_ring *ring = &g->down.pieces;
  int64_t started = 0, done = 0;
  uint32_t first = ring->next, n = 0;
  int result = 0;
  while (done < bytes && result == 0) {
    while (started < bytes && n < NXI_GPU_SLOTS && result == 0) {
      int64_t part = piece_bytes(ring, bytes - started);
      uint32_t slot = (first + n++) % NXI_GPU_SLOTS;
      result =
          g->cuda->download(slot_at(ring, slot), from + (uint64_t)started, (size_t)part, stream);
      if (result == 0) result = g->cuda->event_record(ring->events[slot], stream);
      started += part;
    }
    uint32_t slot = first++ % NXI_GPU_SLOTS;
    if (result == 0) result = g->cuda->event_wait(ring->events[slot]);
    if (result != 0) break;
    int64_t part = piece_bytes(ring, bytes - done);
    copy_together(g, to + done, slot_at(ring, slot), part);
    done += part;
    n--;
  }
  ring->next = first;
  if (result != 0) g->cuda->stream_wait(stream);
  return result;
}

static int download(nxi_gpu *g, void *to, uint64_t from, int64_t bytes, uint64_t after) {
  make_lane(g, &g->down);
  widen_lane(g, &g->down, bytes);
  void *stream = stream_for(g, &g->down, after);
  if (g->down.pieces.memory != NULL) return receive(g, stream, to, from, bytes);
  int result = g->cuda->download(to, from, (size_t)bytes, stream);
  return result == 0 ? g->cuda->stream_wait(stream) : result;
}

/* Waits for the work before a copy; the poll is called here, because the copy itself is not
 * interrupted. */
static nx_status wait_until(nxi_gpu *g, uint64_t mark, const nxi_poll *poll, nxi_diag *d) {
  return poll == NULL || poll->fn == NULL ? NX_OK : nxi_gpu_wait(g, mark, poll, d);
}

nx_status nxi_gpu_download(nxi_gpu *g, void *to, uint64_t from, int64_t bytes, uint64_t after,
                           const nxi_poll *poll, nxi_diag *d) {
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  /* comes first, because after a fork no lock may be taken */
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  status = wait_until(g, after, poll, d);
  int result = 0;
  if (status == NX_OK && bytes > 0) {
    nxi_mutex_lock(&g->down.lock);
    result = download(g, to, from, bytes, after);
    nxi_mutex_unlock(&g->down.lock);
  }
  nxi_gpu_leave(g);
  return result == 0 ? status : nxi_gpu_refused(g, result, "copying from it", d);
}

/* ---- from another GPU */

/* Whether it reads the other's memory by itself is for the driver: if not, the driver's copy goes
 * through the host. Inside. */
static void meet(nxi_gpu *g, const nxi_gpu *other) {
  int able = 0;
  const uint64_t bit = UINT64_C(1) << (other->device & 63);
  nxi_mutex_lock(&g->lock);
  const bool known = g->peers & bit;
  g->peers |= bit;
  nxi_mutex_unlock(&g->lock);
  if (known || g->cuda->peer_possible(&able, g->device, other->device) != 0 || !able) return;
  g->cuda->peer_enable(other->context, 0); /* or it is enabled already */
}

static int copy_from(nxi_gpu *g, uint64_t to, nxi_gpu *other, uint64_t from, int64_t bytes) {
  void *before = NULL, *copied = NULL;
  nx_status entered = nxi_gpu_enter(other, NULL); /* an event belongs to the GPU that records it */
  if (entered != NX_OK) return NXI_CUDA_NO_CONTEXT;
  int result = nxi_gpu_make_event(g, &before);
  if (result == 0) result = g->cuda->event_record(before, other->stream);
  nxi_gpu_leave(other);
  meet(g, other);
  if (result == 0) result = nxi_gpu_make_event(g, &copied);
  if (result == 0) result = g->cuda->stream_wait_event(g->stream, before, 0);
  if (result == 0)
    result = g->cuda->copy_peer(to, g->context, from, other->context, (size_t)bytes, g->stream);
  if (result == 0) result = g->cuda->event_record(copied, g->stream);
  if (result == 0 && nxi_gpu_enter(other, NULL) == NX_OK) {
    result = g->cuda->stream_wait_event(other->stream, copied, 0);
    nxi_gpu_leave(other);
  }
  if (result != 0) g->cuda->stream_wait(g->stream);
  if (before != NULL) g->cuda->event_destroy(before);
  if (copied != NULL) g->cuda->event_destroy(copied);
  return result;
}

nx_status nxi_gpu_copy_from(nxi_gpu *g, uint64_t to, nxi_gpu *other, uint64_t from, int64_t bytes,
                            nxi_diag *d) {
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  if (atomic_load(&other->lost)) return nxi_gpu_is_lost(other, d);
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = copy_from(g, to, other, from, bytes);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "copying from another GPU", d);
}

/* ---- for others */

/* An address that the driver does not know is refused here: some machines let a GPU read memory of
 * the host by its address, and others fail. */
static nx_status check_known(nxi_gpu *g, uint64_t at, nxi_diag *d) {
  unsigned type;
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  int result = g->cuda->pointer_attribute(&type, NXI_CUDA_MEMORY_TYPE, at);
  nxi_gpu_leave(g);
  if (result == 0) return NX_OK;
  if (result != NXI_CUDA_INVALID_VALUE) return nxi_gpu_refused(g, result, "finding memory", d);
  return nxi_fail(d, NX_INVALID_ARGUMENT, "",
                  "the address 0x%llx is said to be in memory of a GPU, and the driver does not "
                  "know it",
                  (unsigned long long)at);
}

nx_status nxi_gpu_copy_of_others(nxi_gpu *g, uint64_t to, uint64_t from, int64_t bytes,
                                 nxi_diag *d) {
  nx_status status = bytes > 0 ? check_known(g, from, d) : NX_OK;
  if (status == NX_OK && bytes > 1) status = check_known(g, from + (uint64_t)bytes - 1, d);
  if (status == NX_OK) status = nxi_gpu_copy(g, to, from, bytes, d);
  return status == NX_OK ? nxi_gpu_wait(g, NXI_NOW, NULL, d) : status;
}

nx_status nxi_gpu_order(nxi_gpu *g, int64_t stream, nxi_diag *d) {
  void *event = NULL;
  if (nxi_gpu_captures(g)) return nxi_gpu_capture_refuses(d);
  nx_status status = nxi_gpu_enter(g, d);
  if (status != NX_OK) return status;
  int result = nxi_gpu_make_event(g, &event);
  if (result == 0) result = g->cuda->event_record(event, g->stream);
  if (result == 0)
    result = g->cuda->stream_wait_event((void *)(uintptr_t)stream, event, 0); /* theirs */
  if (event != NULL) g->cuda->event_destroy(event);
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "ordering another stream", d);
}

void nxi_gpu_settle(nxi_gpu *g) {
  if (!nxi_gpu_enter_to_free(g)) return;
  g->cuda->context_wait();
  nxi_gpu_leave(g);
}

int64_t nxi_gpu_stream_number(const nxi_gpu *g) { return (int64_t)(uintptr_t)g->stream; }

/* ---- on the GPU */

nx_status nxi_gpu_copy(nxi_gpu *g, uint64_t to, uint64_t from, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 && to != from ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0 || to == from) return status;
  int result = g->cuda->copy(to, from, (size_t)bytes, nxi_gpu_stream(g));
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "copying on it", d);
}

nx_status nxi_gpu_fill(nxi_gpu *g, uint64_t at, uint8_t value, int64_t bytes, nxi_diag *d) {
  nx_status status = bytes > 0 ? nxi_gpu_enter(g, d) : NX_OK;
  if (status != NX_OK || bytes <= 0) return status;
  int result = g->cuda->memory_set(at, value, (size_t)bytes, nxi_gpu_stream(g));
  nxi_gpu_leave(g);
  return result == 0 ? NX_OK : nxi_gpu_refused(g, result, "clearing memory", d);
}

nx_status nxi_gpu_clear(nxi_gpu *g, uint64_t at, int64_t bytes, nxi_diag *d) {
  return nxi_gpu_fill(g, at, 0, bytes, d);
}
