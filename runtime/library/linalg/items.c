/* SPDX-License-Identifier: ISC */
/* The items of a batch, one after the other, with work arrays of known lengths. An item that takes
 * long is computed apart (apart.h): by a call like the one it belongs to, of that item alone, with
 * copies of its operands. */
#include <string.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "lapack.h"
#include "runtime/library/apart.h"

/* ---- work arrays */

typedef struct arrays {
  double each; /* operations for an item, roughly; a complex one counts as four */
  int64_t own_bytes;
  int lengths[NXI_WORK_ARRAYS];
  int64_t offsets[NXI_WORK_ARRAYS]; /* bytes */
} arrays;

nx_status nxi_work_state(const nxg_call *call, nxg_call_work *work, nx_dtype t,
                         const double *lengths, uint32_t n, nxi_diag *d) {
  const char *name = nxg_ops[call->op].name;
  arrays all;
  for (uint32_t i = 0; i < n; i++) {
    if (lengths[i] > INT32_MAX)
      return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                      "%s: a matrix is too large: LAPACK counts with 32 bits, and needs %.0f "
                      "elements of memory to work in",
                      name, lengths[i]);
    all.lengths[i] = lengths[i] < 1 ? 1 : (int)lengths[i];
    all.offsets[i] = work->own_bytes;
    work->own_bytes += ((int64_t)all.lengths[i] * nxi_dtype_size(t) + 63) & ~(int64_t)63;
  }
  all.own_bytes = work->own_bytes;
  all.each = work->cost / (double)(work->tasks[0] > 0 ? work->tasks[0] : 1);
  if (nxi_lapack_complex(t)) all.each *= 4;
  arrays *state = nxi_malloc(sizeof *state);
  if (!state) return nxi_oom_in(d, nxi_oom(d), name);
  *state = all;
  work->state = state;
  return NX_OK;
}

void *nxi_work_array(const nxg_call_part *part, uint32_t i, int *length) {
  const arrays *all = part->state;
  if (length) *length = all->lengths[i];
  return (char *)part->own + all->offsets[i];
}

void nxi_work_release(void *state) { nxi_free(state); }

/* ---- an item apart */

typedef nx_status (*item_fn)(const nxg_call_part *part, int64_t index);

typedef struct alone {
  nxg_call call;
  nxg_call_part part;
  arrays state;
  void *operands[NXG_CALL_OPERANDS], *results[NXG_CALL_RESULTS];
  item_fn one;
  nx_status status;
} alone;

static int64_t room(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

/* Makes an array one of a single item; gives the bytes of that. Items of a batch follow each
 * other. */
static int64_t single(nxg_array *a, int32_t batch) {
  for (int32_t i = 0; i < batch; i++) a->shape[i] = 1;
  return nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype);
}

/* A place for an array. It is as far from a multiple of 64 as what it stands for, on which the
 * order of a library's sums may depend. */
static void *place(char *memory, int64_t *at, int64_t bytes, const void *as) {
  char *p = memory ? memory + *at + (uintptr_t)as % 64 : NULL;
  *at += room(bytes) + 64;
  return p;
}

/* Lays out all that the item needs, and with memory fills in pointers to it. Gives the bytes. */
static int64_t lay_out(const nxg_call_part *from, int64_t index, alone *to, char *memory) {
  nxg_call *call = &to->call;
  const int32_t batch = call->operands[0].rank - 2;
  int64_t at = room((int64_t)sizeof *to);
  to->part.own = place(memory, &at, to->state.own_bytes, from->own);
  for (uint32_t i = 0; i < call->n_operands; i++) {
    const int64_t bytes = single(&call->operands[i], batch);
    const char *item = (const char *)from->operands[i] + index * bytes;
    to->operands[i] = place(memory, &at, bytes, item);
    if (memory && bytes) memcpy(to->operands[i], item, (size_t)bytes);
  }
  for (uint32_t i = 0; i < call->n_results; i++) {
    const int64_t bytes = single(&call->results[i], batch);
    to->results[i] = place(memory, &at, bytes, (char *)from->results[i] + index * bytes);
  }
  return at;
}

static void work(void *memory) {
  alone *a = memory;
  a->status = a->one(&a->part, 0);
}

/* False: not done. */
static bool one_apart(const nxg_call_part *part, int64_t index, item_fn one, nx_status *status) {
  alone a = {.call = *part->call, .state = *(const arrays *)part->state, .one = one};
  char *memory = nxi_apart_new(part, (size_t)lay_out(part, index, &a, NULL));
  if (!memory) return false;
  lay_out(part, index, &a, memory);
  alone *own = memcpy(memory, &a, sizeof a);
  own->part.call = &own->call;
  own->part.state = &own->state;
  own->part.end = 1;
  own->part.operands = own->operands;
  own->part.results = own->results;
  own->part.stopped = nxi_apart_is_left;
  own->part.user = memory;
  *status = NX_OK;
  if (!nxi_apart_run(memory, work, part)) return true;
  for (uint32_t i = 0; i < own->call.n_results; i++) {
    const nxg_array *r = &own->call.results[i];
    const int64_t bytes = nxg_elements(r->rank, r->shape) * nxi_dtype_size(r->dtype);
    if (bytes) memcpy((char *)part->results[i] + index * bytes, own->results[i], (size_t)bytes);
  }
  *status = own->status;
  nxi_apart_free(memory);
  return true;
}

static nx_status do_one(const nxg_call_part *part, int64_t index, const void *user) {
  const item_fn one = *(const item_fn *)user;
  const arrays *state = part->state;
  nx_status status;
  if (state && state->each > nxi_apart_cost && one_apart(part, index, one, &status)) return status;
  return one(part, index);
}

nx_status nxi_each_item(nxg_call_part *part,
                        nx_status (*one)(const nxg_call_part *part, int64_t index)) {
  return nxi_each_of(part, do_one, &one);
}
