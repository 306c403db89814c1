/* SPDX-License-Identifier: ISC */
/* Custom operations: functions of the caller as library calls. A node names one by its address
 * (`custom`) and by a number that no other has had (`number`), so that what was made for one that
 * is gone is never taken for another. `order` is 0 for one that may be merged, dropped and
 * repeated; of an ordered one it is a number that tells one recording of it from another.
 *
 * Who has a node keeps its operation alive: recorded nodes and functions do, by references. A graph
 * and the plan made of it do not; a plan is carried out only for a node or a function. */
#ifndef NXG_CUSTOM_H
#define NXG_CUSTOM_H

#include "library.h"

enum { NXG_CUSTOM_NAME = 64 };
/* Attributes of a node. */
enum { NXG_CUSTOM_SELF, NXG_CUSTOM_NUMBER, NXG_CUSTOM_ORDER, NXG_CUSTOM_ATTRS };
/* Orders in a text; those of recordings count on. */
enum { NXG_CUSTOM_MOST_ORDER = 1000000000 };

typedef struct nxg_custom nxg_custom;
struct nxg_custom {
  uint64_t number;
  bool ordered; /* the last operand and the last result are tokens: bool, rank 0 */
  bool hides;   /* the last operand is not among those that the function is given */
  uint32_t n_operands, n_results;
  nxg_array operands[NXG_CALL_OPERANDS], results[NXG_CALL_RESULTS];
  /* As the function sees them: of stored floats, whose bits are integers in graphs, their types. */
  nx_dtype seen_operands[NXG_CALL_OPERANDS], seen_results[NXG_CALL_RESULTS];
  char name[NXG_CUSTOM_NAME];
  /* Computes the results. stream: NULL, or that of a device, whose addresses `part` then has, and
   * the results need only be written in its order; the token is the caller's to write. sentence:
   * room for one that says why it failed; empty before. */
  nx_status (*run)(const nxg_custom *f, const nxg_call_part *part, void *stream, char *sentence,
                   size_t room);
  bool on_device; /* it takes addresses and a stream of devices that have them */
  /* NULL, or what plans carry out instead of `run`: a logical kernel whose buffers are the operands
   * and then the results (custom_kernel.c) */
  struct nxk_kernel *kernel;
  bool elementwise; /* the kernel is recorded as the operations it consists of */
};
/* Gives f, whose types are filled in, the kernel of a text. */
nx_status nxg_custom_take_kernel(nxg_custom *f, const char *text, size_t size, nxi_diag *d);

/* Names of operations in a text, as the caller gives them. */
typedef struct nxg_customs nxg_customs;
struct nxg_customs {
  const nxg_custom *const *items;
  size_t n;
};
const nxg_custom *nxg_customs_find(const nxg_customs *all, const char *name);

/* Of a node of the operation `custom`; NULL: it names none any more. */
static inline const nxg_custom *nxg_custom_of(const int64_t *attrs) {
  return (const nxg_custom *)(uintptr_t)attrs[NXG_CUSTOM_SELF];
}
bool nxg_has_custom(const nxg_graph *g);
extern const nxg_functions nxg_custom_functions;

#endif
