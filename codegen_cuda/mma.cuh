/* SPDX-License-Identifier: ISC */
/* What products on tensor cores are made of, from compute capability 8.0 on: copies to shared
 * memory that go on while a thread does something else, fragments, and products of fragments
 * (PTX ISA, "cp.async", "ldmatrix", "mma"). Comes after the prelude. */
#ifdef NX_ON_HOST
#define NX_MMA(text, letter, c, a, b) nx_host_mma(text, c, a, b)
#else
#define NX_MMA(text, letter, c, a, b)                                                     \
  asm volatile(text " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"    \
               : "+" letter(c[0]), "+" letter(c[1]), "+" letter(c[2]), "+" letter(c[3])   \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif

/* c += a b. a has 16 rows of 32 bytes, b 8 columns of 32 bytes, c 16 x 8 numbers. Of lane l, with
 * g = l / 4 and t = l % 4, a fragment has
 *   a   bytes 4t to 4t + 3 of rows g and g + 8, then bytes 16 + 4t to 19 + 4t of them
 *   b   bytes 4t to 4t + 3, and 16 + 4t to 19 + 4t, of column g
 *   c   columns 2t and 2t + 1 of row g, then of row g + 8. */
template <class A, class B> struct nx_tensor; /* of what a and b are made */
#define NX_TENSOR(A, B, C, letter, text)                                                    \
  template <> struct nx_tensor<A, B> {                                                      \
    typedef C sum;                                                                          \
    static __device__ __forceinline__ void multiply(C (&c)[4], const nx_u32 (&a)[4],        \
                                                    const nx_u32 *b) {                      \
      NX_MMA("mma.sync.aligned." text, letter, c, a, b);                                    \
    }                                                                                       \
  };
/* Sums of integers wrap. */
NX_TENSOR(signed char, signed char, int, "r", "m16n8k32.row.col.s32.s8.s8.s32")
NX_TENSOR(signed char, nx_u8, int, "r", "m16n8k32.row.col.s32.s8.u8.s32")
NX_TENSOR(nx_u8, signed char, int, "r", "m16n8k32.row.col.s32.u8.s8.s32")
NX_TENSOR(nx_u8, nx_u8, int, "r", "m16n8k32.row.col.s32.u8.u8.s32")
struct nx_f16 {
  nx_u16 bits;
};
struct nx_bf16 {
  nx_u16 bits;
};
NX_TENSOR(nx_f16, nx_f16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
NX_TENSOR(nx_bf16, nx_bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")

/* Four matrices of 8 rows of 16 bytes in shared memory: lanes 8i to 8i + 7 have the addresses of
 * the rows of matrix i. Lane l gets bytes 4 (l % 4) to 3 + 4 (l % 4) of row l / 4 of each; or, of
 * elements of 16 bits, those of columns: elements l / 4 of rows 2 (l % 4) and 1 + 2 (l % 4). */
NX_INLINE void nx_load_rows(nx_u32 (&to)[4], const void *at) {
#ifdef NX_ON_HOST
  nx_host_ldmatrix("ldmatrix.sync.aligned.m8n8.x4.shared.b16", to, at);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((nx_u32)__cvta_generic_to_shared(at))
               : "memory");
#endif
}
NX_INLINE void nx_load_columns(nx_u32 (&to)[4], const void *at) {
#ifdef NX_ON_HOST
  nx_host_ldmatrix("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", to, at);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"((nx_u32)__cvta_generic_to_shared(at))
               : "memory");
#endif
}

/* Starts to copy 16 bytes to shared memory, of which the first `bytes` are read, and others are 0.
 * Copies form groups, one after the other. */
NX_INLINE void nx_copy_start(void *to, const void *from, int bytes) {
#ifdef NX_ON_HOST
  nx_host_copy_start("cp.async.cg.shared.global", to, from, bytes);
#elif defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800 /* no such copies: at once */
  const uint4 none = {}, got = bytes > 0 ? *(const uint4 *)from : none;
  *(uint4 *)to = got; /* callers there have 16 bytes or none */
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"((nx_u32)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes)
               : "memory");
#endif
}
/* The same of 4 bytes, which are read or 0. */
NX_INLINE void nx_copy_start_word(void *to, const void *from, int bytes) {
#ifdef NX_ON_HOST
  nx_host_copy_start("cp.async.ca.shared.global", to, from, bytes);
#elif defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
  *(nx_u32 *)to = bytes > 0 ? *(const nx_u32 *)from : 0;
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
               :
               : "r"((nx_u32)__cvta_generic_to_shared(to)), "l"(from), "r"(bytes)
               : "memory");
#endif
}
NX_INLINE void nx_copy_group() {
#ifdef NX_ON_HOST
  nx_host_copy_group("cp.async.commit_group");
#elif !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
/* Waits until all of this thread's groups but the last n are there. */
template <int n> NX_INLINE void nx_copy_wait() {
#ifdef NX_ON_HOST
  nx_host_copy_wait("cp.async.wait_group", n);
#elif !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory");
#endif
}
