/* SPDX-License-Identifier: ISC */
/* Assigns: a storage gets another value, or a part of one. An assign that was recorded can be taken
 * back until nxi_assigns_done, which is how a call that fails leaves every storage as it was. */
#ifndef NXI_ASSIGN_H
#define NXI_ASSIGN_H

#include "context.h"
#include "record.h"

/* What an assign writes: every element of the storage (whole), `source` being what is
 * read, in the storage's order; or, with n_attrs attributes of an update, some of them, `source`
 * having the update's shape. */
typedef struct nxi_assign_form {
  bool whole;
  nxg_view source;
  uint32_t n_attrs;
  int64_t attrs[2 + 2 * NXG_MAX_RANK];
} nxi_assign_form;
/* src has the shape of dst; source is a view of what src is a view of. */
void nxi_assign_form_of(const nx_tensor *dst, const nxg_view *src, nxi_assign_form *out);
/* An assign that was recorded and may have to be taken back. */
typedef struct nxi_assigned {
  nxi_storage *storage; /* NULL: nothing was changed. Borrowed: the caller has a handle */
  uint64_t node;        /* the number of the value that it got */
  nxi_node *before; /* the value that it had; one reference. NULL: the new one is an update of it */
} nxi_assigned;
/* Records an assign that has been checked; record_lock. *exposed: it has to be carried out after
 * the lock is let go. */
nx_status nxi_assign_locked(nx_context *c, nx_tensor *dst, const nxi_operand *src, bool *exposed,
                            nxi_assigned *a, nxi_diag *d);
nx_status nxi_assign(nx_tensor *dst, nx_tensor *src, nxi_assigned *a); /* nx_assign */
/* Takes assigns back, the last one first; record_lock, since before the first of them. */
void nxi_assigns_back_locked(nx_context *c, nxi_assigned *a, uint32_t n);
/* The same for assigns whose values could not be computed; no lock. They stay if somebody else has
 * computed one of them meanwhile, or has built on it. True: others have computed them all, and
 * nothing has failed. */
bool nxi_assigns_back(nx_context *c, nxi_assigned *a, uint32_t n);
void nxi_assigns_done(nx_context *c, nxi_assigned *a, uint32_t n); /* lets go. No lock */

#endif
