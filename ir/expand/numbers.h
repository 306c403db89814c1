/* SPDX-License-Identifier: ISC */
/* Expansions as C. A file that defines NXI_EXPAND_NUMBERS before it includes the sources of
 * expansions gets functions of numbers: what else appends an instruction computes it here, for one
 * element. Everything but the bits is known when they are compiled, so that a loop over elements
 * that calls such a function becomes a loop of vectors, with the bits of the instructions. They are
 * static, and have no kernel. What an expansion needs and is not here traps: it would be some other
 * number without a word. */
#ifndef NXI_EXPAND_NUMBERS_H
#define NXI_EXPAND_NUMBERS_H

typedef enum x_kind { X_NONE, X_F32, X_F64, X_U32, X_U64, X_BOOL } x_kind;
/* Of the fields the one that the kind names has the value. */
typedef struct x_number {
  x_kind kind;
  float f32;
  double f64;
  uint32_t u32;
  uint64_t u64;
  int truth;
} x_number;

#define nxk_value x_number
#undef NXK_NONE
#define NXK_NONE \
  (x_number) { .kind = X_NONE }
#define x_is(v) ((v).kind != X_NONE)

#define X_CODE static inline __attribute__((always_inline))

X_CODE x_number x_of_f32(float x) { return (x_number){.kind = X_F32, .f32 = x}; }
X_CODE x_number x_of_f64(double x) { return (x_number){.kind = X_F64, .f64 = x}; }
X_CODE x_number x_of_u32(uint32_t x) { return (x_number){.kind = X_U32, .u32 = x}; }
X_CODE x_number x_of_u64(uint64_t x) { return (x_number){.kind = X_U64, .u64 = x}; }
X_CODE x_number x_of_bool(int x) { return (x_number){.kind = X_BOOL, .truth = x}; }

X_CODE x_number x_number1(nxk_op op, x_number a) {
  const bool f32 = a.kind == X_F32;
  switch (op) {
    case NXK_not: return x_of_bool(!a.truth); /* of bools */
    case NXK_neg: return f32 ? x_of_f32(-a.f32) : x_of_f64(-a.f64);
    case NXK_abs: return f32 ? x_of_f32(__builtin_fabsf(a.f32)) : x_of_f64(__builtin_fabs(a.f64));
    case NXK_sqrt: return f32 ? x_of_f32(__builtin_sqrtf(a.f32)) : x_of_f64(__builtin_sqrt(a.f64));
    case NXK_rint: return f32 ? x_of_f32(__builtin_rintf(a.f32)) : x_of_f64(__builtin_rint(a.f64));
    default: __builtin_trap();
  }
}

#define X_ARITHMETIC(op)                       \
  a.kind == X_F32   ? x_of_f32(a.f32 op b.f32) \
  : a.kind == X_F64 ? x_of_f64(a.f64 op b.f64) \
  : a.kind == X_U32 ? x_of_u32(a.u32 op b.u32) \
                    : x_of_u64(a.u64 op b.u64)
#define X_INTEGER(op)                               \
  a.kind == X_BOOL  ? x_of_bool(a.truth op b.truth) \
  : a.kind == X_U32 ? x_of_u32(a.u32 op b.u32)      \
                    : x_of_u64(a.u64 op b.u64)
#define X_COMPARISON(op)                       \
  x_of_bool(a.kind == X_F32   ? a.f32 op b.f32 \
            : a.kind == X_F64 ? a.f64 op b.f64 \
            : a.kind == X_U32 ? a.u32 op b.u32 \
                              : a.u64 op b.u64)

/* As in ir/interp/block_loops.h. */
#define X_LDEXP(name, T, U, digits, bias, limit)                          \
  X_CODE T x_ldexp_##name(T x, T y) {                                     \
    const T magic = (T)(3 * ((U)1 << ((digits) - 1)) + (bias));           \
    T n = y < -(limit) ? -(limit) : y;                                    \
    n = n > (limit) ? (limit) : n;                                        \
    const T half = n * (T)0.5 + magic, rest = n - (half - magic) + magic; \
    U h, r;                                                               \
    T p, q;                                                               \
    memcpy(&h, &half, sizeof h);                                          \
    memcpy(&r, &rest, sizeof r);                                          \
    h <<= (digits);                                                       \
    r <<= (digits);                                                       \
    memcpy(&p, &h, sizeof p);                                             \
    memcpy(&q, &r, sizeof q);                                             \
    return y != y ? y : x * p * q;                                        \
  }
X_LDEXP(f32, float, uint32_t, 23, 127, 252.0F)
X_LDEXP(f64, double, uint64_t, 52, 1023, 2044.0)

X_CODE x_number x_number2(nxk_op op, x_number a, x_number b) {
  const bool f32 = a.kind == X_F32;
  switch (op) {
    case NXK_add: return X_ARITHMETIC(+);
    case NXK_sub: return X_ARITHMETIC(-);
    case NXK_mul: return X_ARITHMETIC(*);
    case NXK_div: return f32 ? x_of_f32(a.f32 / b.f32) : x_of_f64(a.f64 / b.f64);
    case NXK_and: return X_INTEGER(&);
    case NXK_or: return X_INTEGER(|);
    case NXK_xor: return X_INTEGER(^);
    case NXK_shr: /* by less than the width */
      return a.kind == X_U32 ? x_of_u32(a.u32 >> (b.u32 & 31)) : x_of_u64(a.u64 >> (b.u64 & 63));
    case NXK_min: /* of integers */
      return a.kind == X_U32 ? x_of_u32(a.u32 < b.u32 ? a.u32 : b.u32)
                             : x_of_u64(a.u64 < b.u64 ? a.u64 : b.u64);
    case NXK_eq: return X_COMPARISON(==);
    case NXK_ne: return X_COMPARISON(!=);
    case NXK_lt: return X_COMPARISON(<);
    case NXK_le: return X_COMPARISON(<=);
    case NXK_copysign:
      return f32 ? x_of_f32(__builtin_copysignf(a.f32, b.f32))
                 : x_of_f64(__builtin_copysign(a.f64, b.f64));
    case NXK_ldexp:
      return f32 ? x_of_f32(x_ldexp_f32(a.f32, b.f32)) : x_of_f64(x_ldexp_f64(a.f64, b.f64));
    default: __builtin_trap();
  }
}

X_CODE x_number x_number3(nxk_op op, x_number a, x_number b, x_number c) {
  if (op == NXK_fma)
    return a.kind == X_F32 ? x_of_f32(__builtin_fmaf(a.f32, b.f32, c.f32))
                           : x_of_f64(__builtin_fma(a.f64, b.f64, c.f64));
  switch (b.kind) { /* select */
    case X_F32: return x_of_f32(a.truth ? b.f32 : c.f32);
    case X_F64: return x_of_f64(a.truth ? b.f64 : c.f64);
    case X_U32: return x_of_u32(a.truth ? b.u32 : c.u32);
    case X_U64: return x_of_u64(a.truth ? b.u64 : c.u64);
    default: return x_of_bool(a.truth ? b.truth : c.truth);
  }
}

#define x_op1(e, op, a)       ((void)(e), x_number1(op, a))
#define x_op2(e, op, a, b)    ((void)(e), x_number2(op, a, b))
#define x_op3(e, op, a, b, c) ((void)(e), x_number3(op, a, b, c))
/* Of a cold block all is computed. */
#define nxk_begin_cold(k, pred)           ((void)(k), (pred))
#define nxk_end(k)                        ((void)(k))
#define nxk_blend(k, cold, inside, other) ((void)(k), x_number3(NXK_select, cold, inside, other))
#define x_like(e, a, like)                ((void)(e), (void)(like), (a))
#define x_f(e, x)                         ((e)->wide ? x_of_f64(x) : x_of_f32((float)(x)))
#define x_f2(e, narrow, w)                ((e)->wide ? x_of_f64(w) : x_of_f32((float)(narrow)))
#define x_u(e, x)                         ((e)->wide ? x_of_u64(x) : x_of_u32((uint32_t)(x)))

X_CODE x_number x_cast_number(nx_dtype t, x_number a) {
  const double x = a.kind == X_F32 ? (double)a.f32 : a.f64;
  return t == NX_F64 ? x_of_f64(x) : a.kind == X_F32 ? a : x_of_f32((float)a.f64);
}
#define x_cast(e, t, a) ((void)(e), x_cast_number(t, a))

/* Between floats and unsigned integers. */
X_CODE x_number x_bits_of(nx_dtype t, x_number a) {
  x_number y = {.kind = X_NONE};
  switch (t) {
    case NX_F32: y = x_of_f32(0), memcpy(&y.f32, &a.u32, sizeof y.f32); break;
    case NX_F64: y = x_of_f64(0), memcpy(&y.f64, &a.u64, sizeof y.f64); break;
    case NX_U32: y = x_of_u32(0), memcpy(&y.u32, &a.f32, sizeof y.u32); break;
    case NX_U64: y = x_of_u64(0), memcpy(&y.u64, &a.f64, sizeof y.u64); break;
    default: break;
  }
  return y;
}
#define x_bits(e, t, a) ((void)(e), x_bits_of(t, a))

/* Horner's rule; c is known when this is compiled. */
X_CODE x_number x_poly(const bool wide, x_number x, const double *c, int count) {
#define X_STEP(j) \
  if (count > (j) + 1) p = x_number3(NXK_fma, p, x, wide ? x_of_f64(c[j]) : x_of_f32((float)c[j]))
  if (count > 40) __builtin_trap();
  x_number p = wide ? x_of_f64(c[count - 1]) : x_of_f32((float)c[count - 1]);
  X_STEP(38);
  X_STEP(37);
  X_STEP(36);
  X_STEP(35);
  X_STEP(34);
  X_STEP(33);
  X_STEP(32);
  X_STEP(31);
  X_STEP(30);
  X_STEP(29);
  X_STEP(28);
  X_STEP(27);
  X_STEP(26);
  X_STEP(25);
  X_STEP(24);
  X_STEP(23);
  X_STEP(22);
  X_STEP(21);
  X_STEP(20);
  X_STEP(19);
  X_STEP(18);
  X_STEP(17);
  X_STEP(16);
  X_STEP(15);
  X_STEP(14);
  X_STEP(13);
  X_STEP(12);
  X_STEP(11);
  X_STEP(10);
  X_STEP(9);
  X_STEP(8);
  X_STEP(7);
  X_STEP(6);
  X_STEP(5);
  X_STEP(4);
  X_STEP(3);
  X_STEP(2);
  X_STEP(1);
  X_STEP(0);
#undef X_STEP
  return p;
}

#endif
