/* SPDX-License-Identifier: ISC */
/* The queue of a device: jobs in their order, done by a thread of the device's own. Several devices
 * work beside each other, so that the members of a collective meet. One more queue, of the client,
 * is of what is prepared, so that no call waits for what it does not need. */
#include "ir/alloc.h"
#include "objects.h"

enum { STACK_BYTES = 8 << 20 };

struct nxj_queue {
  atomic_uint refs;       /* the device's, and the thread's */
  nxj_job *first, **last; /* the lock guards this and the rest */
  nxi_thread thread;
  bool started, busy, ends;
};

static nxj_client *clients; /* all; the lock */

static void queue_drop(nxj_queue *q) {
  if (q != NULL && atomic_fetch_sub_explicit(&q->refs, 1, memory_order_acq_rel) == 1) nxi_free(q);
}

static nxj_job *next_job(nxj_queue *q) {
  q->busy = false;
  while (q->first == NULL && !q->ends) nxj_wait_for_jobs();
  nxj_job *j = q->first;
  if (j == NULL) return NULL;
  q->first = j->next;
  if (q->first == NULL) q->last = &q->first;
  q->busy = true;
  return j;
}

static void *queue_main(void *arg) {
  nxj_queue *q = arg;
  for (;;) {
    nxj_lock();
    nxj_job *j = next_job(q);
    nxj_unlock();
    if (j == NULL) break;
    nxj_job_run(j);
  }
  queue_drop(q);
  return NULL;
}

static bool begin(nxj_queue **out) {
  nxj_queue *q = *out = nxi_calloc(1, sizeof *q);
  if (q == NULL) return false;
  atomic_init(&q->refs, 1);
  q->last = &q->first;
  return true;
}

bool nxj_queues_begin(nxj_client *c) {
  bool good = begin(&c->preparing);
  for (int i = 0; good && i < c->n; i++) good = begin(&c->device[i].queue);
  if (!good) return false;
  nxj_lock();
  c->next = clients;
  clients = c;
  nxj_unlock();
  return true;
}

/* The client's last user may be one of these threads. */
static void wait_for_end(nxj_queue *q) {
  if (q != NULL && q->started) {
    if (nxi_thread_self() == (uintptr_t)q->thread.os) nxi_thread_detach(&q->thread);
    else nxi_thread_join(&q->thread);
  }
  queue_drop(q);
}

void nxj_queues_end(nxj_client *c) {
  nxj_lock();
  for (nxj_client **at = &clients; *at != NULL; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  if (c->preparing != NULL) c->preparing->ends = true;
  for (int i = 0; i < c->n; i++)
    if (c->device[i].queue != NULL) c->device[i].queue->ends = true;
  nxj_queues_changed();
  nxj_unlock();
  wait_for_end(c->preparing);
  for (int i = 0; i < c->n; i++) wait_for_end(c->device[i].queue);
}

static void lose(nxj_queue *q) {
  q->first = NULL;
  q->last = &q->first;
  q->started = q->busy = false;
  atomic_store(&q->refs, 1);
}

/* The child has none of these threads: what they had to do is lost, as its events know. */
void nxj_queues_after_fork(void) {
  for (nxj_client *c = clients; c != NULL; c = c->next) {
    lose(c->preparing);
    for (int i = 0; i < c->n; i++) lose(c->device[i].queue);
  }
}

bool nxj_queue_is_idle(const nxj_device *d) {
  nxj_lock();
  bool idle = d->queue->first == NULL && !d->queue->busy;
  nxj_unlock();
  return idle;
}

static nxj_queue *queue_of(const nxj_job *j) {
  return j->prepares ? j->device->client->preparing : j->device->queue;
}

/* With the lock: all threads that the jobs need, before the first job. */
static bool start(nxj_queue *q) {
  if (q->started) return true;
  atomic_fetch_add_explicit(&q->refs, 1, memory_order_relaxed);
  q->started = nxi_thread_start(&q->thread, STACK_BYTES, queue_main, q);
  if (!q->started) queue_drop(q);
  return q->started;
}

/* Who is given an input's memory from now on comes behind the call. What copies read may be another
 * device's: they hold it until they are done. */
static void end_holds(nxj_job *j) {
  if (j->loaded == NULL) return;
  for (size_t i = 0; i < j->n_in; i++) nxj_value_end_hold(j->in[i]);
  j->holds = false;
}

bool nxj_queues_add(nxj_job *const *jobs, size_t n) {
  bool good = true;
  nxj_lock();
  for (size_t i = 0; good && i < n; i++) good = start(queue_of(jobs[i]));
  for (size_t i = 0; good && i < n; i++) {
    nxj_queue *q = queue_of(jobs[i]);
    jobs[i]->next = NULL;
    *q->last = jobs[i];
    q->last = &jobs[i]->next;
    end_holds(jobs[i]);
  }
  nxj_queues_changed();
  nxj_unlock();
  return good;
}
