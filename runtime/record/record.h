/* SPDX-License-Identifier: ISC */
/* Recording an operation: operands that were checked become a node, merged with an equal one that
 * the context's table has, and the node a tensor. The operations' files check what a caller gives
 * with the functions at the end, which report failures to the thread's error. */
#ifndef NXI_RECORD_H
#define NXI_RECORD_H

#include "context.h"
#include "ir/library/library.h"

/* ---- record.c */

typedef struct nxi_operand {
  nx_tensor *tensor;
  int32_t rank;
  int64_t offset;
  const int64_t *shape, *strides; /* the view of the tensor's storage that is read */
} nxi_operand;
static inline nxi_operand nxi_operand_of(nx_tensor *t) {
  return (nxi_operand){t, t->rank, t->offset, nxi_shape(t), nxi_strides(t)};
}
typedef struct nxi_recording {
  nx_context *context;
  uint16_t op;
  uint8_t dtype;
  int32_t device, rank;
  const int64_t *shape, *attrs;
  uint32_t n_attrs, n_operands;
  const nxi_operand *operands;
  uint16_t called; /* 0: what the thread says */
  /* an operand without a tensor is this number, seen with the shape of the operand */
  const struct nxi_number *number;
} nxi_recording;
/* Records an operation that has been checked. NULL and this thread's error without memory, or if
 * storage it reads is exposed and carrying it out failed. */
nx_tensor *nxi_record(const nxi_recording *r);
/* Records as nxi_record does, in few steps, an operation whose operands were checked and have one
 * shape: if each is the whole of a value on one device, nothing is being captured and nobody writes
 * what it reads, which is usual. NULL: it is not so, or there is no memory, and nothing was done.
 * op_and_dtype: nxi_node_type without the rank. The number is operand `at`. */
nx_tensor *nxi_record_alike_one(uint32_t op_and_dtype, nx_tensor *x);
nx_tensor *nxi_record_alike_two(uint32_t op_and_dtype, nx_tensor *x, nx_tensor *y);
nx_tensor *nxi_record_alike_three(uint32_t op_and_dtype, nx_tensor *x, nx_tensor *y, nx_tensor *z);
nx_tensor *nxi_record_alike_number(uint32_t op_and_dtype, nx_tensor *x,
                                   const struct nxi_number *number, uint32_t at);
/* Infers the type and records an operation on operands that are views already; a failure is
 * reported. ops/move.c */
nx_tensor *nxi_record_inferred(nxg_op op, const nxi_operand *o, uint32_t n, const int64_t *attrs,
                               uint32_t n_attrs, nxi_diag *d);
/* The same of two operands of which all but the last `keep` dimensions broadcast. */
nx_tensor *nxi_record_leading(nxg_op op, nx_tensor *a, nx_tensor *b, int32_t keep,
                              const int64_t *attrs, uint32_t n_attrs);
/* The node of what a recording says, merged with an equal one; one reference. NULL without memory.
 * record_lock. alone: never merged. */
nxi_node *nxi_record_node(const nxi_recording *r, bool alone);
/* The same with a node for its only operand; takes that reference. */
nxi_node *nxi_record_unary(const nxi_recording *r, nxi_node *operand);
nxi_node *nxi_record_unary_alone(const nxi_recording *r, nxi_node *operand); /* never merged */
nxi_node *nxi_record_binary(const nxi_recording *r, nxi_node *a, nxi_node *b, bool alone);
/* The node an operand reads, one reference. record_lock. */
nxi_node *nxi_operand_node(nx_context *c, const nxi_operand *o);
/* The same on this device; nxi_common_device has agreed to it. */
nxi_node *nxi_operand_on(nx_context *c, const nxi_operand *o, int32_t device);
/* What an operand reads, fit to be the value of another storage (assign.c). */
nxi_node *nxi_operand_value(nx_context *c, const nxi_operand *o);
/* Nodes as operands; takes their references. */
nxi_node *nxi_record_nodes(const nxi_recording *r, nxi_node *const *operands, uint32_t n,
                           bool alone);
/* A view of a node's linear storage; takes the reference, gives one. NULL without memory.
 * record_lock. */
nxi_node *nxi_node_view(nx_context *c, nxi_node *value, int32_t rank, const int64_t *shape,
                        const int64_t *strides, int64_t offset);
/* The device of a result, or -1 and a failure. Only a rank-0 `full` may be elsewhere. No lock. */
int32_t nxi_common_device(const char *op, nx_tensor *const *t, uint32_t n, nxi_diag *d);
/* ---- table.c; record_lock */
/* Adds n, or finds a node that equals it. False without memory. */
bool nxi_table_add(nx_context *c, nxi_node *n, nxi_node **equal);
void nxi_table_remove(nx_context *c, nxi_node *n); /* if it is listed */
/* A listed node that is result `result` of the call of which n is one, of this type; attr: the
 * attribute that says which result it is. NULL if there is none. */
nxi_node *nxi_table_result(nx_context *c, nxi_node *n, const nxg_array *type, uint32_t attr,
                           uint32_t result);
void nxi_table_free(nxi_table *t);

/* ---- the operations' files share these */
/* NULL operands and operands of different contexts; false: reported. */
bool nxi_check_operands(const char *op, nx_tensor *const *t, uint32_t n);
/* What nearly every call finds, in few steps: nothing is watched, and all operands are live tensors
 * of one context. False: nxi_check_operands knows more. */
static inline bool nxi_plain_operands(nx_tensor *const *t, uint32_t n) {
  if (nxi_watch_on()) return false;
  for (uint32_t i = 0; i < n; i++)
    if (!t[i] || t[i]->head.kind != NXI_TENSOR ||
        !atomic_load_explicit(&t[i]->head.refs, memory_order_relaxed) ||
        t[i]->context != t[0]->context)
      return false;
  return true;
}
/* The usual doubles as an element of f32 or f64: those that are normal there, rounded once, to
 * nearest, ties to even. Integer instructions alone, since entering the floating-point environment
 * takes as long as recording. False: the others. */
static inline bool nxi_usual_float(double value, nx_dtype dtype, uint64_t *bits) {
  enum { CUT = 52 - 23, BIAS = 1023 - 127 };
  uint64_t wide = nxi_bits_f64(value), exponent = wide >> 52 & 0x7ff, magnitude = wide & INT64_MAX;
  if (dtype == NX_F64) {
    *bits = wide;
    return exponent != 0x7ff;
  }
  /* a carry may go on into the exponent */
  uint64_t cut = (magnitude + (1 << (CUT - 1)) - 1 + (magnitude >> CUT & 1)) >> CUT;
  if (dtype != NX_F32 || (magnitude && (exponent <= BIAS || cut >> 23 >= BIAS + 0xff)))
    return false;
  *bits = (wide >> 32 & 0x80000000) | (magnitude ? cut - ((uint64_t)BIAS << 23) : 0);
  return true;
}
/* bits: of a complex dtype those of both parts. */
bool nxi_scalar_bits(const char *op, const nx_scalar *v, nx_dtype dtype, uint64_t bits[2],
                     nxi_diag *d);
/* Or NX_INVALID_ARGUMENT. */
bool nxi_dtype_exists(const char *op, nx_dtype dtype, nxi_diag *d);
/* Whether the key of random numbers is i32 or u32 of shape [2]. False: noted in d. */
bool nxi_check_key(const char *op, nx_tensor *key, nxi_diag *d);
bool nxi_device_usable(nx_context *c, const char *op, nx_device device, nxi_diag *d); /* device.c */
/* Whether the flags of a call are among `known`, which `names` spells; false: reported in d. */
bool nxi_check_flags(const char *op, uint32_t flags, uint32_t known, const char *names,
                     nxi_diag *d);
/* Whether a list (`what`: "list of starts") is there, and has one entry for each axis; false:
 * reported in d. */
bool nxi_check_list(const char *op, const char *what, const void *list, size_t n,
                    const nx_tensor *x, nxi_diag *d);
/* A list of axes as it was given, with NX_ALL_AXES written out. False: it is null; reported in d.
 * */
bool nxi_axes_given(const char *op, const nx_tensor *x, const int32_t **axes, size_t *n,
                    nxi_diag *d);
/* Another view of t's storage. */
nx_tensor *nxi_view_tensor(const char *op, nx_tensor *t, const nxg_view *v);
void nxi_view_of(const nx_tensor *t, nxg_view *v);

/* The axis counted from 0; false: reported in d. ops/move.c */
bool nxi_one_axis(const char *op, const nx_tensor *x, int32_t axis, int64_t *out, nxi_diag *d);

#endif
