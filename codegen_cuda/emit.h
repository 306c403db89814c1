/* SPDX-License-Identifier: ISC */
/* Private to the CUDA code generator: the text that is being written, and the names of values in
 * it.
 *
 * A thread holds lanes / threads elements of a value, each in a variable of its own: v12, or v12_0,
 * v12_1, ... A value of one lane is one variable. */
#ifndef NXU_EMIT_H
#define NXU_EMIT_H

#include "codegen_cuda.h"

typedef struct nxu_emitter {
  const nxk_kernel *k;
  nxi_text *out;
  nxi_diag *diag;
  uint8_t *outlives; /* value -> whether a blend reads it after its cold block */
  uint32_t depth;
  bool exchanges; /* whether threads of different warps exchange values */
  bool failed;
} nxu_emitter;

/* The name of a value, or the text of a constant. */
typedef struct nxu_name {
  char text[56];
} nxu_name;

void nxu_refuse(nxu_emitter *e, const char *why);
/* The number of variables of a thread that hold the value. */
uint32_t nxu_copies(const nxu_emitter *e, nxk_value v);
nxu_name nxu_ref(nxu_emitter *e, nxk_value v, uint32_t copy);
const char *nxu_memory_type(nx_dtype t); /* of an element in memory */
/* Starts a line. */
void nxu_line(nxu_emitter *e);
/* Starts a line that defines a variable of v: "const float v3_1 = ", or "v3_1 = " if it is declared
 * already. */
void nxu_define(nxu_emitter *e, nxk_value v, uint32_t copy);
#define nxu_put(e, ...) nxi_text_add((e)->out, __VA_ARGS__)

/* emit_scalar.c: prints an operation on operands that are expressions, as an expression. */
typedef struct nxu_operation {
  nxk_op op;
  nx_dtype type, result; /* of the (last) operand; of the result */
  bool constant;         /* the second operand is a constant, not 0 */
  int64_t value;         /* in that case, its value */
} nxu_operation;
void nxu_scalar(nxu_emitter *e, const nxu_operation *o, const char *a, const char *b,
                const char *c);
void nxu_scalar_instr(nxu_emitter *e, nxk_value v);

/* emit_memory.c */
void nxu_load(nxu_emitter *e, nxk_value v);
void nxu_store(nxu_emitter *e, nxk_value v);
void nxu_shuffle_xor(nxu_emitter *e, nxk_value v);
void nxu_tree_push(nxu_emitter *e, nxk_value v);
void nxu_tree_join(nxu_emitter *e, nxk_value v);

#endif
