/* SPDX-License-Identifier: ISC */
/* The table of scalar operations as data, names, the floating-point environment, and what
 * reductions combine with. The evaluator of scalar operations is in ir/kernel/eval.c. */
#include "op.h"

#include <string.h>

enum { B = NXI_B, I = NXI_I, F = NXI_F, COMM = NXK_COMM, FUNC = NXK_FUNC, LOOP = NXK_LOOP };

const nxk_scalar_info nxk_scalars[NXK_SCALAR_COUNT] = {
#define SOP(name, arity, admits, result, flags, cost) \
  {#name, arity, admits, NXK_RESULT_##result, flags, cost},
#include "scalar_ops.def"
#undef SOP
};

static const char *const structural_names[] = {
#define KOP(name, level, opens) #name,
#include "ir/kernel/kernel_ops.def"
#undef KOP
};

const char *nxk_op_name(nxk_op op) {
  if ((uint32_t)op < NXK_SCALAR_COUNT) return nxk_scalars[op].name;
  return (uint32_t)op < NXK_OP_COUNT ? structural_names[op - NXK_SCALAR_COUNT] : "?";
}

nxk_op nxk_op_from_name(const char *name, size_t length) {
  for (int op = 0; op < NXK_OP_COUNT; op++) {
    const char *s = nxk_op_name((nxk_op)op);
    if (strlen(s) == length && memcmp(s, name, length) == 0) return (nxk_op)op;
  }
  return NXK_OP_COUNT;
}

/* ---- floating-point environment */

#if defined(__x86_64__)
enum { MXCSR_DEFAULT = 0x1f80, MXCSR_FLAGS = 0x3f, X87_DEFAULT = 0x37f, X87_FLAGS = 0x3f };

/* Loading MXCSR drains the pipeline, reading it does not. */
static void set_mxcsr(uint32_t now, uint32_t wanted) {
  if (now != wanted) __builtin_ia32_ldmxcsr(wanted);
}

/* The environment of the x87 is saved too: long double is computed there, and parts of OpenBLAS. */
nxi_fp nxi_fp_enter(void) {
  uint16_t control, status, standard = X87_DEFAULT;
  nxi_fp saved = {.control = __builtin_ia32_stmxcsr()};
  /* Flags that are raised already, as "inexact" is in most programs, change nothing here, and are
   * what nxi_fp_leave finds again: neither has to load then. */
  set_mxcsr((uint32_t)saved.control & ~(uint32_t)MXCSR_FLAGS, MXCSR_DEFAULT);
  __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(control), "=m"(status));
  if (control != X87_DEFAULT) __asm__ volatile("fldcw %0" : : "m"(standard));
  saved.flags = control | (uint64_t)status << 16;
  return saved;
}

/* Restores the exception flags of the x87. That is possible only with its whole environment, which
 * takes longer. It is needed because a flag that was raised here would trap once the caller's traps
 * are enabled again. */
static void restore_x87_flags(uint16_t flags) {
  struct {
    uint16_t control, unused, status, rest[11];
  } environment;
  __asm__ volatile("fnstenv %0" : "=m"(environment));
  environment.status = (uint16_t)((environment.status & ~X87_FLAGS) | (flags & X87_FLAGS));
  __asm__ volatile("fldenv %0" : : "m"(environment));
}

void nxi_fp_leave(nxi_fp saved) {
  uint16_t control = (uint16_t)saved.flags, status;
  __asm__ volatile("fnstsw %0" : "=m"(status));
  if ((status ^ saved.flags >> 16) & X87_FLAGS) restore_x87_flags((uint16_t)(saved.flags >> 16));
  if (control != X87_DEFAULT) __asm__ volatile("fldcw %0" : : "m"(control));
  set_mxcsr(__builtin_ia32_stmxcsr(), (uint32_t)saved.control);
}
#elif defined(__aarch64__)
nxi_fp nxi_fp_enter(void) {
  nxi_fp saved;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(saved.control), "=r"(saved.flags));
  if (saved.control) __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)));
  return saved;
}

void nxi_fp_leave(nxi_fp saved) {
  if (saved.control) __asm__ volatile("msr fpcr, %0" : : "r"(saved.control));
  __asm__ volatile("msr fpsr, %0" : : "r"(saved.flags));
}
#else
nxi_fp nxi_fp_enter(void) { return (nxi_fp){0, 0}; }
void nxi_fp_leave(nxi_fp saved) { (void)saved; }
#endif

/* ---- reductions */

const char *nxk_reduce_name(nxk_reduce_kind kind) { return nxk_reduction_of(kind)->name; }

const char *nxk_order_name(nxk_order order) {
  static const char *const names[NXK_ORDERS] = {"lanes", "plain", "sequential", "join_lanes",
                                                "join"};
  return (uint32_t)order < NXK_ORDERS ? names[order] : "?";
}

/* The lowest value that max can start from, or the highest for min. */
static uint64_t extreme(nx_dtype type, bool highest) {
  uint32_t bits = nxi_dtypes[type].bits;
  uint64_t all = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  switch (nxi_dtype_class(type)) {
    case NXI_BOOL: return highest;
    case NXI_UINT: return highest ? all : 0;
    case NXI_INT: return highest ? all >> 1 : (all >> 1) + 1;
    default:
      return nxi_cast_bits(nxi_bits_f64(highest ? __builtin_inf() : -__builtin_inf()), NX_F64,
                           type);
  }
}

uint64_t nxk_reduce_identity(nxk_reduce_kind kind, nx_dtype type) {
  switch (nxk_reduction_of(kind)->identity) {
    case NXK_IDENTITY_NEG_ZERO:
      return nxi_is_float(type) ? nxi_cast_bits(nxi_bits_f64(-0.0), NX_F64, type) : 0;
    case NXK_IDENTITY_ONE: return nxi_cast_bits(1, NX_I64, type);
    case NXK_IDENTITY_LOWEST: return extreme(type, false);
    case NXK_IDENTITY_HIGHEST: return extreme(type, true);
    default: return 0;
  }
}

uint64_t nxk_reduce_empty(nxk_reduce_kind kind, nx_dtype type) {
  const nxk_reduction *row = nxk_reduction_of(kind);
  bool zero = row->empty == NXK_EMPTY_ZERO || row->empty == NXK_EMPTY_NONE;
  return zero ? 0 : nxk_reduce_identity(kind, type);
}

uint64_t nxk_reduce_combine(nxk_reduce_kind kind, nx_dtype type, uint64_t a, uint64_t b) {
  uint64_t args[3] = {a, b, 0};
  return nxk_eval(nxk_reduce_op(kind), type, type, args);
}

void nxk_multiply_pairs(nx_dtype part, const uint64_t a[2], const uint64_t b[2], uint64_t out[2]) {
  uint64_t args[4] = {a[0], a[1], b[0], b[1]};
  out[0] = nxk_eval(NXK_mul_real, part, part, args);
  out[1] = nxk_eval(NXK_mul_imag, part, part, args);
}

static bool compare(nxk_op op, nx_dtype type, uint64_t a, uint64_t b) {
  uint64_t args[3] = {a, b, 0};
  return nxk_eval(op, type, NX_BOOL, args) != 0;
}

bool nxk_arg_better(nxk_reduce_kind kind, nx_dtype type, uint64_t a, int64_t a_index, uint64_t b,
                    int64_t b_index) {
  bool a_nan = compare(NXK_ne, type, a, a), b_nan = compare(NXK_ne, type, b, b);
  if (a_nan || b_nan) return b_nan && (!a_nan || b_index < a_index);
  bool max = nxk_reduce_op(kind) == NXK_max;
  if (compare(NXK_lt, type, max ? a : b, max ? b : a)) return true;
  if (compare(NXK_lt, type, max ? b : a, max ? a : b)) return false;
  return b_index < a_index;
}
