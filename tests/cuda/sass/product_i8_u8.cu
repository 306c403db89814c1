// SPDX-License-Identifier: ISC
// prelude mma integers threads=256 tasks=1024 elements=16777216 shared=49152
extern "C" __global__ void __launch_bounds__(256, 2)
    nx_bytes(const nx_u8 *a, const nx_u8 *b, int *c, nx_byte_product p) {
  extern __shared__ __align__(1024) nx_u8 nx_shared[];
  nx_multiply_bytes<signed char, nx_u8, true, false, true, 2, 4, 4>(a, b, c, p, nx_shared);
}
