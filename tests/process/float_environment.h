/* SPDX-License-Identifier: ISC */
/* Floating-point environments that a host may have when it calls the library, each as a row:
 * rounding, subnormal numbers, precision of the x87, exceptions that are trapped. */
#ifndef NXT_FLOAT_ENVIRONMENT_H
#define NXT_FLOAT_ENVIRONMENT_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct nxt_environment {
  const char *name;
  int rounding;
  bool flushes; /* subnormal results and operands are zeros */
  bool single;  /* the x87 computes 24 bits */
  bool traps;   /* on every exception */
  bool flagged; /* every exception has happened */
} nxt_environment;

static const nxt_environment nxt_environments[] = {
    {"upward", FE_UPWARD, false, false, false, false},
    {"downward", FE_DOWNWARD, false, false, false, true},
    {"toward zero", FE_TOWARDZERO, false, false, false, false},
    {"flush to zero", FE_TONEAREST, true, false, false, true},
    {"x87 single precision", FE_TONEAREST, false, true, false, false},
    {"trapping", FE_TONEAREST, false, false, true, false},
    {"all but traps", FE_DOWNWARD, true, true, false, true},
    {"all but flags", FE_UPWARD, true, true, true, false},
};
enum { NXT_ENVIRONMENTS = sizeof nxt_environments / sizeof *nxt_environments };

/* Control words and flags. */
typedef struct nxt_float_state {
  uint32_t control, flags;
  uint16_t x87_control, x87_flags;
} nxt_float_state;

#if defined(__x86_64__)
static inline nxt_float_state nxt_float_state_now(void) {
  uint32_t mxcsr = __builtin_ia32_stmxcsr();
  nxt_float_state s = {.control = mxcsr & ~0x3fu, .flags = mxcsr & 0x3f};
  __asm__ volatile("fnstcw %0\n\tfnstsw %1" : "=m"(s.x87_control), "=m"(s.x87_flags));
  s.x87_flags &= 0x3f;
  return s;
}

static inline void nxt_set_extras(const nxt_environment *e) {
  uint16_t control;
  uint32_t mxcsr = __builtin_ia32_stmxcsr() | (e->flushes ? 0x8040 : 0);
  if (e->traps) mxcsr &= ~0x1f80u;
  __asm__ volatile("fnstcw %0" : "=m"(control));
  if (e->single) control &= (uint16_t)~0x300u;
  if (e->traps) control &= (uint16_t)~0x3fu;
  __asm__ volatile("fldcw %0" : : "m"(control));
  __builtin_ia32_ldmxcsr(mxcsr);
}
#elif defined(__aarch64__)
static inline nxt_float_state nxt_float_state_now(void) {
  uint64_t control, flags;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags));
  return (nxt_float_state){(uint32_t)control, (uint32_t)flags, 0, 0};
}

/* Processors need not trap; these do not. */
static inline void nxt_set_extras(const nxt_environment *e) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  if (e->flushes) control |= UINT64_C(1) << 24;
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#else
static inline nxt_float_state nxt_float_state_now(void) { return (nxt_float_state){0, 0, 0, 0}; }
static inline void nxt_set_extras(const nxt_environment *e) { (void)e; }
#endif

/* From the default one. */
static inline void nxt_enter_environment(const nxt_environment *e) {
  feclearexcept(FE_ALL_EXCEPT);
  if (e->flagged) feraiseexcept(FE_ALL_EXCEPT);
  fesetround(e->rounding);
  nxt_set_extras(e);
}

static inline void nxt_leave_environment(void) { fesetenv(FE_DFL_ENV); }

static inline bool nxt_float_state_equal(nxt_float_state a, nxt_float_state b) {
  return a.control == b.control && a.flags == b.flags && a.x87_control == b.x87_control &&
         a.x87_flags == b.x87_flags;
}

#endif
