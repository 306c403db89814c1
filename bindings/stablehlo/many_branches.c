/* SPDX-License-Identifier: ISC */
/* Choices among more branches than the library has in one operation: a choice among groups of
 * them, each of which is a function that chooses in its group. */
#include "record.h"

#include <string.h>

enum { MOST = 64 }; /* branches of nx_case */

/* What a choice is made among, and of. */
typedef struct choice {
  nx_function **branches;
  uint32_t n;
  nx_tensor *const *in;
  uint32_t n_in, n_out;
} choice;

static nx_tensor *number(nxh_recorder *r, int64_t value) {
  return nx_full(r->c, r->device, NX_I32, NULL, 0, NX_INTEGER(value));
}

static bool record_group(nxh_recorder *r, const choice *c, uint32_t first, nx_tensor **room,
                         nx_function **out) {
  nx_tensor **inputs = room, **outputs = room + 1 + c->n_in;
  uint32_t n = c->n - first < MOST ? c->n - first : MOST;
  inputs[0] = nx_placeholder(r->c, r->device, NX_I32, NULL, 0);
  for (uint32_t i = 0; i < c->n_in; i++) {
    nx_tensor *t = c->in[i];
    inputs[1 + i] = nx_placeholder(r->c, r->device, nx_dtype_of(t), nx_shape(t), nx_rank(t));
  }
  return nx_case(nx_sub(inputs[0], number(r, first)), c->branches + first, n, inputs + 1, c->n_in,
                 outputs, c->n_out) == NX_OK &&
         nx_function_create(r->c, inputs, 1 + c->n_in, outputs, c->n_out, NULL, out) == NX_OK;
}

static nx_function *make_group(nxh_recorder *r, const choice *c, uint32_t first) {
  nx_function *f = NULL;
  nx_tensor **room = nxi_calloc((size_t)c->n_in + c->n_out + 2, sizeof(nx_tensor *));
  nx_scope *scope = room != NULL ? nx_scope_begin(r->c) : NULL;
  if (room == NULL) nxi_oom(r->d);
  if (scope != NULL) record_group(r, c, first, room, &f);
  nx_scope_end(scope);
  nxi_free(room);
  return f;
}

/* Any index as that of a branch: what none has is the last. */
static nx_tensor *within(nxh_recorder *r, nx_tensor *index, uint32_t n) {
  nx_tensor *last = number(r, n - 1);
  nx_tensor *known = nx_and(nx_cmpge(index, number(r, 0)), nx_cmple(index, last));
  return nx_where(known, index, last);
}

static bool choose_group(nxh_recorder *r, nx_tensor *index, const choice *c, nx_tensor **out) {
  uint32_t n = (c->n + MOST - 1) / MOST;
  nx_function **groups = nxi_calloc(n, sizeof(nx_function *));
  nx_tensor **in = nxi_calloc((size_t)c->n_in + 1, sizeof(nx_tensor *));
  bool ok = (groups != NULL && in != NULL) || (nxi_oom(r->d), false);
  for (uint32_t i = 0; i < n && ok; i++) ok = (groups[i] = make_group(r, c, i * MOST)) != NULL;
  if (ok) {
    in[0] = within(r, index, c->n);
    for (uint32_t i = 0; i < c->n_in; i++) in[1 + i] = c->in[i];
    nx_tensor *group = nx_div(in[0], number(r, MOST));
    ok = nx_case(group, groups, n, in, c->n_in + 1, out, c->n_out) == NX_OK;
  }
  for (uint32_t i = 0; groups != NULL && i < n; i++) nx_function_release(groups[i]);
  nxi_free(groups);
  nxi_free(in);
  return ok;
}

bool nxh_choose(nxh_recorder *r, nx_tensor *index, nx_function **branches, uint32_t n,
                nx_tensor *const *in, uint32_t n_in, nx_tensor **out, uint32_t n_out) {
  if (n <= MOST) return nx_case(index, branches, n, in, n_in, out, n_out) == NX_OK;
  if (n > MOST * MOST || nx_dtype_of(index) != NX_I32)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%u branches, of at most %d", n, MOST * MOST);
  return choose_group(r, index, &(choice){branches, n, in, n_in, n_out}, out);
}
