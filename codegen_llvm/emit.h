/* SPDX-License-Identifier: ISC */
/* Private to the LLVM emitter: the state of one kernel that is being printed, and what its files
 * share. emit.c prints structure (regions, loops, blocks), emit_apart.c functions of pieces,
 * emit_cold.c those of cold blocks, emit_call.c calls of functions of the library, emit_memory.c
 * accesses, emit_scopes.c which buffers they are of, emit_lanes.c shuffles, emit_tree.c trees of
 * partial results, emit_scalar.c and emit_integer.c scalar operations; compile.c calls it.
 * The emitters print what they are given and decide nothing. */
#ifndef NXI_LLVM_EMIT_H
#define NXI_LLVM_EMIT_H

#include <llvm-c/Core.h>

#include "codegen_llvm.h"

typedef enum nxl_isa { NXL_GENERIC, NXL_AVX2, NXL_AVX512, NXL_NEON, NXL_ISAS } nxl_isa;

typedef LLVMValueRef nxl_ref;

enum { NXL_MOST_COLD = 64 };
/* A function of equal cold blocks (emit_cold.c). */
typedef struct nxl_cold_function {
  nxk_value first; /* the `cold` of which it was printed */
  nxl_ref function;
} nxl_cold_function;

/* An open or closed block of the kernel, kept under the number of the instruction that opens it. */
typedef struct nxl_block {
  LLVMBasicBlockRef before, body,
      after; /* of a for; for a cold, body is the block that its `end` closed */
  nxl_ref lower, upper, predicate;
  nxl_ref last; /* of a for: whether this iteration is the last one; NULL: its bounds say it */
  bool guarded; /* a for whose body may not run at all */
  bool once;    /* a for whose body does not run again */
} nxl_block;

enum { NXL_MOST_CAPTURED = 24 };
/* What is around a function that is made of a piece of the kernel (emit_apart.c). */
typedef struct nxl_outside {
  nxl_ref function;
  LLVMBasicBlockRef entry, here, code; /* code: that of the piece */
  nxl_ref *bases;
  uint32_t n_captured; /* values of the kernel that the piece uses */
  nxk_value captured[NXL_MOST_CAPTURED];
  nxl_ref values[NXL_MOST_CAPTURED];
} nxl_outside;

/* Memory on the stack that calls in a function share, one after the other. */
typedef struct nxl_room {
  nxl_ref memory, of; /* of: the function */
  int64_t bytes;
} nxl_room;

/* Code whose vectors are several registers (emit_abreast.c). */
typedef struct nxl_abreast {
  nxk_value block;       /* the innermost `for` or `cold` that was begun last */
  bool is_long;          /* it has much such code */
  uint32_t since;        /* instructions since registers became opaque */
  nxk_value stale_until; /* what was loaded before is loaded again */
} nxl_abreast;

typedef struct nxl_emitter {
  const nxk_kernel *k;
  nxl_isa isa;
  bool has_word_sums; /* vpdpwssd of 512 bits */
  bool calls;         /* functions that are not expanded are called */
  nxi_diag *diag;
  bool failed;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  LLVMTypeRef i1, i8, i32, i64, pointer;
  nxl_ref function;
  LLVMBasicBlockRef entry; /* holds the allocas, and a jump to the code */
  nxl_ref *values;         /* for each instruction its LLVM value */
  nxl_ref *next;           /* for each carry its value for the next iteration */
  nxk_value *loaded;       /* for each load where it was loaded again: stale_until */
  nxl_abreast abreast;
  nxl_block *blocks;                 /* for each instruction that opens a block */
  nxl_ref *bases;                    /* for each buffer its base pointer */
  LLVMMetadataRef *scopes;           /* for each restricted buffer its alias scope, else NULL */
  nxl_ref *own_scope, *other_scopes; /* for each buffer the metadata of its accesses, or NULL */
  /* number of the first task of the region that is being emitted */
  nxl_ref task_base;
  nxl_ref task_lower, task_upper; /* the range of that region's tasks to run, counted from 0 */
  /* there are too many skipping loads for branches: clamp their addresses */
  bool clamps;
  nxk_value apart; /* the loop that has a function of its own, while it is printed; or NXK_NONE */
  nxl_outside outside;
  nxl_cold_function cold[NXL_MOST_COLD];
  uint32_t n_cold;
  nxk_value resume;              /* instructions before this one are not printed: they have been */
  nxl_room cold_room, call_room; /* for calls of those, and of functions of the library */
} nxl_emitter;

/* Prints the kernel as function `k->name` of e->module; the fields up to builder are set. */
nx_status nxl_emit(nxl_emitter *e);

/* Records that the kernel cannot be printed, and returns poison of `type`. */
nxl_ref nxl_refuse(nxl_emitter *e, LLVMTypeRef type, const char *why);

/* ---- the function (emit.c), and functions of pieces (emit_apart.c) */
void nxl_load_bases(nxl_emitter *e);
/* Begins the function of loop v, if it can have one. */
void nxl_begin_apart(nxl_emitter *e, nxk_value v);
/* Ends it, if it is that of loop v. */
void nxl_end_apart(nxl_emitter *e, nxk_value v);

/* The value of a constant, a splat or a scalar operation. */
nxl_ref nxl_emit_value(nxl_emitter *e, const nxk_instr *in);

/* ---- cold blocks that stand apart (emit_cold.c) */
/* Inside the block of `cold` v, which has been opened: prints a call of a function instead of the
 * block, if that stands apart and can have one. */
void nxl_call_cold(nxl_emitter *e, nxk_value v);
/* Whether a function of the module is one of those. */
bool nxl_is_cold(nxl_ref function);

/* So many bytes at least, for the function that is printed now. A stack has room for one call, and
 * not for each. */
nxl_ref nxl_room_of(nxl_emitter *e, nxl_room *room, int64_t bytes, unsigned alignment);

/* ---- functions that are not expanded (emit_call.c). NULL: it is none that can be called. */
nxl_ref nxl_emit_call(nxl_emitter *e, const nxk_instr *in);

/* ---- types and small pieces */
static inline int64_t nxl_value_bytes(const nxk_instr *in) { /* of all lanes */
  return in->lanes * nxi_dtype_size((nx_dtype)in->dtype);
}
/* type of values: bool is i1, f16 and bf16 are i16 */
LLVMTypeRef nxl_scalar_type(nxl_emitter *e, nx_dtype t);
LLVMTypeRef nxl_type(nxl_emitter *e, nx_dtype t, uint32_t lanes);
LLVMTypeRef nxl_vector_of(LLVMTypeRef scalar, uint32_t lanes); /* the scalar itself if lanes is 1 */
uint32_t nxl_lanes_of(nxl_ref v);
nxl_ref nxl_any_lane(nxl_emitter *e, nxl_ref predicate); /* i1 */
nxl_ref nxl_int(nxl_emitter *e, LLVMTypeRef scalar, uint32_t lanes,
                uint64_t value); /* a splat constant */
nxl_ref nxl_i64(nxl_emitter *e, int64_t value);
nxl_ref nxl_float(nxl_emitter *e, nx_dtype t, uint32_t lanes, double value);
nxl_ref nxl_splat(nxl_emitter *e, nxl_ref scalar, uint32_t lanes);
nxl_ref nxl_slice(nxl_emitter *e, nxl_ref v, uint32_t first, uint32_t lanes);
nxl_ref nxl_reverse(nxl_emitter *e, nxl_ref v);
/* llvm.`name` overloaded on `types`; NULL types: not overloaded. */
nxl_ref nxl_intrinsic(nxl_emitter *e, const char *name, LLVMTypeRef *types, uint32_t n_types,
                      nxl_ref *args, uint32_t n_args);
/* The intrinsic of one overloaded type, that of the first argument. */
nxl_ref nxl_intrinsic_of(nxl_emitter *e, const char *name, nxl_ref a, nxl_ref b, nxl_ref c);

/* index + step, for the end of a loop. */
nxl_ref nxl_advance(nxl_emitter *e, nxl_ref index, int64_t step);

/* ---- emit_abreast.c */
void nxl_begin_abreast(nxl_emitter *e, nxk_value block); /* a `for` or `cold` begins */
/* The value of an instruction that was emitted. */
nxl_ref nxl_keep_abreast(nxl_emitter *e, nxk_value v);
/* The value as an operand: perhaps loaded again. */
nxl_ref nxl_operand_abreast(nxl_emitter *e, nxk_value v);

/* ---- shuffles (emit_lanes.c) */
nxl_ref nxl_join_registers(nxl_emitter *e, nxl_ref *at, uint32_t n);
nxl_ref nxl_interleave(nxl_emitter *e, const nxk_instr *in);
nxl_ref nxl_concat(nxl_emitter *e, const nxk_instr *in);
nxl_ref nxl_deinterleave(nxl_emitter *e, const nxk_instr *in);
/* Every k-th lane, from lane `lane` on, of a row of k vectors, the last of which begins `overlap`
 * lanes before the end of the others. Bools come and go as bytes. */
nxl_ref nxl_take_apart(nxl_emitter *e, nx_dtype t, const nxl_ref *vectors, uint32_t k,
                       uint32_t lane, uint32_t overlap);
nxl_ref nxl_interleave_all(nxl_emitter *e, const nxk_instr *in);

/* ---- scalar operations (emit_scalar.c, emit_integer.c) */
typedef struct nxl_operands {
  nx_dtype type, result; /* as in nxk_eval */
  uint32_t lanes;
  nxl_ref a, b, c;
  uint64_t divisor; /* bits of b if it is the same constant in all lanes and not 0; else 0 */
} nxl_operands;
nxl_ref nxl_scalar(nxl_emitter *e, nxk_op op, const nxl_operands *o);
/* Combines a and b as nxk_reduce_combine does. */
nxl_ref nxl_combine(nxl_emitter *e, nxk_reduce_kind kind, nx_dtype type, nxl_ref a, nxl_ref b);
/* bool: whether b with index ib replaces a with index ia, as in nxk_arg_better. */
nxl_ref nxl_arg_better(nxl_emitter *e, nxk_reduce_kind kind, nx_dtype type, nxl_ref a, nxl_ref ia,
                       nxl_ref b, nxl_ref ib);
typedef nxl_ref nxl_emit_fn(nxl_emitter *e, const nxl_operands *o);
nxl_emit_fn nxl_emit_negate, nxl_emit_absolute, nxl_emit_leading_zeros, nxl_emit_divide,
    nxl_emit_modulo, nxl_emit_or, nxl_emit_shift_left, nxl_emit_shift_sign, nxl_emit_shift_zero,
    nxl_emit_umulh;

/* The vector v, a sum, a difference, a product or an exclusive or of integers. Before LLVM selects
 * an instruction it looks for operands whose bits are known, six operations back by all ways that
 * lead there, and several times: in a chain of mixed bits, such as a random number's, that took
 * half of its time. A value that has many ways behind it is an opaque one, at no instruction. */
nxl_ref nxl_hide_bits(nxl_emitter *e, nx_dtype t, uint32_t lanes, nxl_ref v);

/* ---- memory (emit_memory.c) */
/* A load or store through access `a`, displaced by `displacement` elements (i64) if that is not
 * NULL. */
nxl_ref nxl_emit_load(nxl_emitter *e, const nxk_access *a, uint32_t lanes, nxl_ref displacement);
void nxl_emit_store(nxl_emitter *e, const nxk_access *a, nxl_ref value, nxl_ref displacement);
/* Load v, and with it those behind it that the same condition decides. */
void nxl_emit_loads(nxl_emitter *e, nxk_value v);
/* Trees that are pushed to, or joined, by instruction v and those behind it. Returns how many
 * instructions these are. */
uint32_t nxl_tree_push(nxl_emitter *e, nxk_value v);
uint32_t nxl_tree_join(nxl_emitter *e, nxk_value v);

/* ---- alias scopes of the restricted buffers (emit_scopes.c) */
void nxl_make_scopes(nxl_emitter *e);
void nxl_set_metadata(nxl_emitter *e, nxl_ref instruction, const char *kind, nxl_ref value);
/* Tells LLVM that a memory instruction accesses this buffer and no other, and returns it. */
nxl_ref nxl_annotate(nxl_emitter *e, nxl_ref instruction, uint32_t buffer);

#endif
