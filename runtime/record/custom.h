/* SPDX-License-Identifier: ISC */
/* Custom operations as objects: a handle of the caller, and the operation behind it, which lives as
 * long as the handle, a recorded node or a function needs it. Its references are those of a buffer,
 * whose release callback is the end of it, so that the caller's is called without locks. */
#ifndef NXI_CUSTOM_H
#define NXI_CUSTOM_H

#include "context.h"
#include "ir/library/custom.h"
#include "nx/custom.h"

/* References of the operation of a node, and of all nodes of a graph. What gives one up holds
 * record_lock. */
void nxi_custom_ref(const int64_t *attrs);
void nxi_custom_unref(nx_context *c, const int64_t *attrs);
void nxi_customs_ref(const nxg_graph *g);
void nxi_customs_unref(nx_context *c, const nxg_graph *g);
/* What has to be added to the orders of a graph's operations where it is recorded once more. */
int64_t nxi_custom_shift(const nxg_graph *g);
int64_t nxi_custom_order(void); /* one that no recording has had */
/* Those of a body (ir/graph/body.h) and of the bodies that it names. Giving up: record_lock. */
void nxi_customs_of_body(nx_context *c, int64_t number, bool hold);
/* Bodies with ordered operations that a graph names, and those that stand for them where it is
 * recorded once more: each recording has numbers of its own, or two of them would be one node. */
typedef struct nxi_renewed {
  struct {
    int64_t before, now;
  } *rows;
  uint32_t n, capacity;
} nxi_renewed;
nx_status nxi_renew(const nxg_graph *g, nxi_renewed *r, nxi_diag *d);
/* Puts them into the attributes of a node of control flow. */
void nxi_renew_attrs(const nxi_renewed *r, nxg_op op, int64_t *attrs, uint32_t n_attrs);
void nxi_renewed_end(nxi_renewed *r);
/* The operation behind a handle, and the context of it. */
const nxg_custom *nxi_custom_body(const nx_custom *f);
nx_context *nxi_custom_context(const nx_custom *f);

/* Whether the kernel of f is one elementwise loop (ops/custom_kernel.c). */
bool nxi_kernel_is_elementwise(const nxg_custom *f);

/* How many ordered operations this thread has called so far. */
uint64_t nxi_custom_effects(void);
/* How many calls this thread is in: its own, and those that the thread was in which handed it its
 * work. At most NXI_CUSTOM_DEPTH: a call may realise what calls again, without an end. */
enum { NXI_CUSTOM_DEPTH = 64 };
uint32_t nxi_custom_depth(void);
void nxi_custom_set_depth(uint32_t depth);

#endif
