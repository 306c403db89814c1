// SPDX-License-Identifier: ISC
// prelude mma integers threads=128 tasks=1024 elements=4194304 shared=24576
extern "C" __global__ void __launch_bounds__(128, 4)
    nx_bytes(const nx_u8 *a, const nx_u8 *b, int *c, nx_byte_product p) {
  extern __shared__ __align__(1024) nx_u8 nx_shared[];
  nx_multiply_bytes<signed char, signed char, true, false, true, 2, 2, 2>(a, b, c, p, nx_shared);
}
