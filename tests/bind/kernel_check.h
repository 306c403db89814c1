/* SPDX-License-Identifier: ISC */
/* A bound kernel as machine code against the interpreter. */
#ifndef NXT_BIND_KERNEL_CHECK_H
#define NXT_BIND_KERNEL_CHECK_H

#include "tests/util/foreign.h"
#include "tests/util/llvm_util.h"

enum { MAX_BUFFERS = 64 };

static const char *const *const all_isas = isas;

/* ---- a kernel on two copies of its memory */

typedef struct memory {
  char *ours[MAX_BUFFERS], *theirs[MAX_BUFFERS];
} memory;

static void make_memory(memory *m, const nxk_kernel *k, uint64_t seed) {
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    if (b->kind == NXK_LOCAL) continue;
    size_t bytes = (size_t)(b->elements * nxi_dtype_size(b->dtype));
    m->ours[i] = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
    m->theirs[i] = aligned_alloc(64, (bytes + 127) & ~(size_t)63);
    assert_non_null(m->ours[i]);
    assert_non_null(m->theirs[i]);
    for (int64_t j = 0; j < b->elements; j++) {
      uint64_t r = next_random(&seed), bits = next_random(&seed);
      if (nxi_is_float(b->dtype) && r % 8)
        bits = nxi_cast_bits(nxi_bits_f64((double)(int64_t)(bits % 4001) / 16 - 125), NX_F64,
                             b->dtype);
      else if (r % 3 == 0) bits %= 5;
      if (b->dtype == NX_BOOL) bits &= 1;
      nxi_store_element(m->ours[i] + j * nxi_dtype_size(b->dtype), b->dtype, bits);
    }
    memcpy(m->theirs[i], m->ours[i], bytes);
  }
}

static void free_memory(memory *m, const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_buffers; i++)
    if (k->buffers[i].kind != NXK_LOCAL) {
      free(m->ours[i]);
      free(m->theirs[i]);
    }
}

static void compare_memory(const memory *m, const nxk_kernel *k, const char *isa) {
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    if (b->kind == NXK_LOCAL) continue;
    for (int64_t j = 0; j < b->elements; j++) {
      uint64_t have = nxi_load_element(m->ours[i] + j * nxi_dtype_size(b->dtype), b->dtype);
      uint64_t want = nxi_load_element(m->theirs[i] + j * nxi_dtype_size(b->dtype), b->dtype);
      if (nxi_same_bits(have, want, b->dtype)) continue;
      nxi_text text = {0};
      nxk_print(k, &text);
      print_error("%s\n", text.data);
      nxi_text_free(&text);
      fail_msg("%s: b%u[%lld] (%s) is %llx, not %llx", isa, i, (long long)j,
               nxi_dtypes[b->dtype].name, (unsigned long long)have, (unsigned long long)want);
    }
  }
}

/* Machine code of one isa and the interpreter on tasks [begin, end) of k: the same memory. */
static void check_isa(const nxk_kernel *k, const uint64_t *params, int64_t begin, int64_t end,
                      const char *isa, bool hasty) {
  nxk_kernel *l = legalized(k, isa);
  memory m;
  nxi_diag d = {0};
  make_memory(&m, k, 5);
  if (runs_here(isa)) {
    nxl_code *code = compile_kernel(l, isa, hasty);
    run_code(code, l, (void *const *)m.ours, params, begin, end);
    nxl_unload(code);
  } else if (!nxt_foreign_run(l, (void *const *)m.ours, params, begin, end)) {
    fail();
  }
  if (nxk_interpret(k, (void *const *)m.theirs, params, begin, end, &d) != NX_OK)
    fail_msg("%s", d.message);
  compare_memory(&m, k, isa);
  free_memory(&m, k);
  nxk_destroy(l);
}

/* Of all instruction sets that run here; of AArch64, in an emulator, one kernel in eight. */
static void check_range(const nxk_kernel *k, const uint64_t *params, int64_t begin, int64_t end) {
  static int kernels;
  nxi_text faults = {0};
  if (k->failed || !nxk_verify(k, &faults))
    fail_msg("%s", faults.data ? faults.data : "building failed");
  for (int i = 0; i < N_ISAS; i++)
    for (int hasty = 0; hasty < 2 && runs_here(all_isas[i]); hasty++)
      check_isa(k, params, begin, end, all_isas[i], hasty);
  if (runs_here("neon") || (kernels++ % 8 == 0 && nxt_foreign_missing() == NULL))
    check_isa(k, params, begin, end, "neon", false);
}

static void check(const nxk_kernel *k, const uint64_t *params) {
  check_range(k, params, 0, nxk_task_count(k, params));
}

static nxk_value op2(nxk_kernel *k, nxk_op op, nxk_value a, nxk_value b) {
  return nxk_scalar(k, op, 0, a, b, NXK_NONE);
}
static nxk_value i64(nxk_kernel *k, int64_t x) { return nxk_const_i(k, NX_I64, x); }

#endif
