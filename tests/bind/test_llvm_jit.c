/* SPDX-License-Identifier: ISC */
/* Tests of the LLVM code generator's driver: output formats, cross compilation, objects that must
 * be refused, failures in LLVM, freeing of memory, and many threads at once. */
#include <elf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codegen_llvm/jit.h"
#include "tests/util/llvm_util.h"
#include "tests/util/random_values.h"
#include "tests/util/runner.h"

/* out[i] = f(in[i]) + constant, over 4 * lanes floats. */
static nxk_kernel *simple_kernel(const char *name, nxk_op f, double constant, uint8_t lanes) {
  nxk_kernel *k = nxk_create(NXK_BOUND, name);
  assert_non_null(k);
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 4 * lanes),
           out = nxk_add_buffer(k, NXK_OUT, NX_F32, 4 * lanes);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_TASK, 4), lanes};
  nxk_access a = nxk_access_at(in, 0);
  a.n_terms = 1;
  a.terms = &term;
  a.lane_stride = lanes > 1;
  nxk_value args[4] = {nxk_load(k, &a, lanes), NXK_NONE, NXK_NONE, NXK_NONE};
  nxk_value x = nxk_expand_function(k, f, args);
  a.buffer = out;
  nxk_store(k, &a, nxk_scalar(k, NXK_add, 0, x, nxk_const_f(k, NX_F32, constant), NXK_NONE));
  nxk_end(k);
  nxk_end(k);
  assert_false(k->failed);
  return k;
}

static const char *best_isa(void) {
  for (int i = 0; i < N_ISAS; i++)
    if (runs_here(isas[i])) return isas[i];
  return "neon";
}

static void run_simple(const nxl_code *code, const nxk_kernel *k, float *in, float *out) {
  void *buffers[2] = {in, out};
  run_code(code, k, buffers, NULL, 0, 4);
}

static void test_forms(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  static const char *const marks[] = {"define void @forms", "define void @forms", "forms:"};
  nxk_kernel *k = simple_kernel("forms", NXK_exp, 1, 16), *l = legalized(k, best_isa());
  for (int form = NXL_IR; form <= NXL_ASM; form++) {
    void *text;
    size_t size;
    compile_to(l, best_isa(), (nxl_form)form, &text, &size);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, marks[form]));
    nxi_free(text);
  }
  nxk_destroy(l);
  nxk_destroy(k);
  for (int i = 0; i < N_ISAS; i++) assert_non_null(strstr(nxl_environment(isas[i]), isas[i]));
  assert_string_equal(nxl_environment("vax"), "");
}

/* ---- kernels and objects that must be refused */

static nx_status try_compile(const nxk_kernel *k, const nxl_target *t, nxi_diag *d) {
  void *data = NULL;
  size_t size;
  memset(d, 0, sizeof *d);
  nx_status s = nxl_compile(k, t, NXL_OBJECT, &data, &size, d);
  nxi_free(data);
  return s;
}

static void test_refusals(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxi_diag d;
  nxk_kernel *k = simple_kernel("refused", NXK_exp, 1, 8);
  nxl_target t = {.isa = "vax"};
  assert_int_equal(try_compile(k, &t, &d), NX_INVALID_ARGUMENT);
  nxl_target unknown = {.isa = "generic", .triple = "vax-dec-ultrix"};
  assert_int_equal(try_compile(k, &unknown, &d), NX_COMPILE_FAILED);
#if defined(__x86_64__) && !WITH_ASAN
  /* A failure for which LLVM would end the process; memory that LLVM holds is leaked. */
  nxl_target old = {.isa = "generic", .cpu = "i386", .features = "-64bit"};
  assert_int_equal(try_compile(k, &old, &d), NX_COMPILE_FAILED);
  assert_non_null(strstr(d.message, "64-bit"));
#endif
  nxl_target ok = {0};
  snprintf(ok.isa, sizeof ok.isa, "%s", best_isa());
  assert_int_equal(try_compile(k, &ok, &d), NX_OK);
  k->level = NXK_LOGICAL;
  assert_int_equal(try_compile(k, &ok, &d), NX_INTERNAL);
  nxk_destroy(k);
  nxk_kernel *raw = nxk_create(NXK_BOUND, "raw"); /* a function that was not expanded */
  nxk_value x = nxk_param(raw, nxk_add_param(raw, NX_F32));
  nxk_scalar(raw, NXK_erf, 0, x, NXK_NONE, NXK_NONE);
  assert_int_equal(try_compile(raw, &ok, &d), NX_INTERNAL);
  assert_non_null(strstr(d.message, "expanded"));
  nxk_destroy(raw);
}

static nx_status try_load(const void *object, size_t size, const char *entry, nxi_diag *d) {
  nxl_code *code = NULL;
  memset(d, 0, sizeof *d);
  nx_status s = nxl_load(object, size, entry, &code, d);
  if (s == NX_OK) nxl_unload(code);
  else assert_null(code);
  return s;
}

/* Objects on a disk may have any contents. */
static void test_bad_objects(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxi_diag d;
  nxk_kernel *k = simple_kernel("object", NXK_exp, 1, 8), *l = legalized(k, best_isa());
  void *object;
  size_t size;
  compile_to(l, best_isa(), NXL_OBJECT, &object, &size);
  assert_int_equal(try_load(object, size, "object", &d), NX_OK);
  assert_int_equal(try_load(object, size, "absent", &d), NX_COMPILE_FAILED);
  assert_int_equal(try_load(object, 0, "object", &d), NX_COMPILE_FAILED);
  for (size_t cut = 1; cut < size; cut += size / 7)
    assert_int_equal(try_load(object, cut, "object", &d), NX_COMPILE_FAILED);
  ((unsigned char *)object)[offsetof(Elf64_Ehdr, e_machine)] ^= 1;
  assert_int_equal(try_load(object, size, "object", &d), NX_COMPILE_FAILED);
  nxi_free(object);
  nxk_destroy(l);
  nxk_destroy(k);
}

/* ---- damaged objects: refused, or linked inside of the block that the check asked for. Nothing of
 * them is run. */

enum { ROOM = 1 << 20, CHANGES = 60000 };

/* Memory that is followed by a page that cannot be accessed. */
static unsigned char *guarded_room(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *p = mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(p != MAP_FAILED);
  assert_int_equal(mprotect(p + page, ROOM, PROT_READ | PROT_WRITE), 0);
  return p + page + ROOM;
}

typedef struct damage {
  const unsigned char *object;
  size_t size;
  uint16_t machine;
  unsigned char *input, *block; /* the ends of their rooms */
  int refused, unlinked, linked;
} damage;

/* The copy of the object lies before the end of the input. */
static void try_damaged(damage *d, size_t size) {
  nxi_diag diag = {0};
  size_t bytes = 0;
  uint64_t entry = 0;
  nx_status status = nxl_check_object(d->input - size, size, d->machine, &bytes, &diag);
  assert_true(status == NX_OK || (status == NX_COMPILE_FAILED && diag.message[0]));
  d->refused += status != NX_OK;
  if (status != NX_OK || bytes > ROOM) return;
  memset(d->block - bytes, 0, bytes);
  status = nxl_link_object(d->input - size, size, "object", d->block - bytes, UINT64_C(1) << 40,
                           &entry, &diag);
  assert_true(status == NX_COMPILE_FAILED || (status == NX_OK && entry < bytes));
  d->linked += status == NX_OK;
  d->unlinked += status != NX_OK;
}

static void cut_object(damage *d) {
  for (size_t cut = 0; cut < d->size; cut++) {
    memcpy(d->input - cut, d->object, cut);
    try_damaged(d, cut);
  }
}

static void change_each_byte(damage *d) {
  unsigned char *copy = d->input - d->size;
  memcpy(copy, d->object, d->size);
  for (size_t at = 0; at < d->size; at++) {
    const unsigned char old = copy[at], values[] = {old ^ 1, old ^ 0x80, 0, 0xff, old + 1};
    for (size_t i = 0; i < sizeof values; i++) {
      copy[at] = values[i];
      try_damaged(d, d->size);
    }
    copy[at] = old;
  }
}

/* Replaces fields of up to 8 bytes by critical numbers. */
static void change_fields(damage *d) {
  const uint64_t numbers[] = {0,           1,       2,           4,          8,         0xfff1,
                              0xffff,      0x10000, INT32_MAX,   UINT32_MAX, INT64_MAX, UINT64_MAX,
                              d->size - 1, d->size, d->size + 1, 1u << 20};
  unsigned char *copy = d->input - d->size;
  nxt_random r = {7};
  for (int i = 0; i < CHANGES; i++) {
    memcpy(copy, d->object, d->size);
    for (int64_t k = nxt_below(&r, 3); k >= 0; k--) {
      size_t width = (size_t)1 << nxt_below(&r, 4),
             at = (size_t)nxt_below(&r, (int64_t)(d->size / width)) * width;
      memcpy(copy + at, &numbers[nxt_below(&r, sizeof numbers / sizeof *numbers)], width);
    }
    try_damaged(d, d->size);
  }
}

static void damage_object(const nxl_target *t, const char *isa, uint16_t machine) {
  static unsigned char *input, *block;
  if (!input) input = guarded_room();
  if (!block) block = guarded_room();
  nxk_kernel *k = simple_kernel("object", NXK_exp, 1, 8), *l = legalized(k, isa);
  void *object;
  size_t size;
  nxi_diag diag = {0};
  assert_int_equal(nxl_compile(l, t, NXL_OBJECT, &object, &size, &diag), NX_OK);
  damage d = {object, size, machine, input, block, 0, 0, 0};
  cut_object(&d);
  change_each_byte(&d);
  change_fields(&d);
  assert_true(d.refused > 1000 && d.unlinked > 100 && d.linked > 1000);
  nxi_free(object);
  nxk_destroy(l);
  nxk_destroy(k);
}

static void test_damaged_objects(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxl_target host = {.cpu = ""}, cross = {.triple = "aarch64-linux-gnu", .isa = "neon"};
  snprintf(host.isa, sizeof host.isa, "%s", best_isa());
  damage_object(&host, host.isa, nxl_host_machine);
  damage_object(&cross, cross.isa, EM_AARCH64);
}

#if defined(__x86_64__)
/* A conversion that the instruction set does not have becomes a call of a function in the
 * compiler's run-time library. */
static void test_undefined_symbol(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxk_kernel *k = nxk_create(NXK_BOUND, "calls");
  uint32_t in = nxk_add_buffer(k, NXK_IN, NX_F32, 1), out = nxk_add_buffer(k, NXK_OUT, NX_F16, 1);
  nxk_begin_region(k);
  nxk_begin_range(k, NXK_TASK, 1);
  nxk_access a = nxk_access_at(in, 0), b = nxk_access_at(out, 0);
  nxk_store(k, &b, nxk_cast_to(k, NX_F16, nxk_load(k, &a, 1)));
  nxk_end(k);
  nxk_end(k);
  nxl_target t = {.isa = "avx2", .cpu = "x86-64", .features = "-f16c"};
  void *object;
  size_t size;
  nxi_diag d = {0};
  assert_int_equal(nxl_compile(k, &t, NXL_OBJECT, &object, &size, &d), NX_OK);
  assert_int_equal(try_load(object, size, "calls", &d), NX_COMPILE_FAILED);
  assert_non_null(strstr(d.message, "__trunc"));
  nxi_free(object);
  nxk_destroy(k);
}
#endif

/* ---- relocations, by hand: what the supplements of ELF say */

static uint64_t relocated(uint16_t machine, uint32_t type, uint64_t value, uint64_t place,
                          uint64_t before) {
  uint64_t word = before;
  nxl_reference r = {machine, type, value, place, (unsigned char *)&word, sizeof word};
  return nxl_relocate(&r) ? word : UINT64_MAX;
}

static void test_relocations(void **state) {
  (void)state;
  const uint64_t at = 0x10000;
  assert_int_equal(relocated(EM_X86_64, R_X86_64_PC32, at + 0x1234, at, 0), 0x1234);
  assert_int_equal(relocated(EM_X86_64, R_X86_64_PLT32, at - 4, at, 0), 0xfffffffc);
  assert_int_equal(relocated(EM_X86_64, R_X86_64_64, at, 0, 0), at);
  assert_true(relocated(EM_X86_64, R_X86_64_PC32, at + (UINT64_C(1) << 31), at, 0) == UINT64_MAX);
  assert_true(relocated(EM_X86_64, R_X86_64_TPOFF32, at, at, 0) == UINT64_MAX);
  /* bl .+8; adrp x0, two pages on; add x0, x0, #0x678; ldr q0, [x0, #0x20] */
  assert_int_equal(relocated(EM_AARCH64, R_AARCH64_CALL26, at + 8, at, 0x94000000), 0x94000002);
  assert_int_equal(relocated(EM_AARCH64, R_AARCH64_CALL26, at - 4, at, 0x94000000), 0x97ffffff);
  assert_int_equal(relocated(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, at + 0x2345, at, 0x90000000),
                   0xd0000000);
  assert_int_equal(relocated(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, at + 0x5345, at, 0x90000000),
                   0xb0000020);
  assert_int_equal(relocated(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, 0x5678, at, 0x91000000),
                   0x9119e000);
  assert_int_equal(relocated(EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, 0x5020, at, 0x3dc00000),
                   0x3dc00800);
  assert_true(relocated(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 0x5021, at, 0) == UINT64_MAX);
  assert_true(relocated(EM_AARCH64, R_AARCH64_CALL26, at + (UINT64_C(1) << 27), at, 0) ==
              UINT64_MAX);
}

/* ---- another architecture: objects for AArch64 are made everywhere and need no library */

static void test_aarch64(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  static const nxk_op functions[] = {NXK_exp, NXK_tanh, NXK_sin, NXK_log};
  static const nx_dtype dtypes[] = {NX_F16, NX_BF16, NX_I8, NX_U64, NX_F64};
  nxl_target t = {.triple = "aarch64-linux-gnu", .isa = "neon"};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    for (uint8_t lanes = 1; lanes <= 32; lanes *= 4) {
      nxk_kernel *k = simple_kernel("cross", functions[i], 1, lanes);
      for (size_t j = 0; j < sizeof dtypes / sizeof *dtypes; j++)
        nxk_add_buffer(k, NXK_OUT, dtypes[j], 4);
      nxk_begin_region(k);
      nxk_begin_range(k, NXK_TASK, 4);
      nxk_access from = nxk_access_at(0, 0);
      from.lane_stride = 2;
      nxk_value x = nxk_load(k, &from, 2);
      for (uint32_t j = 0; j < sizeof dtypes / sizeof *dtypes; j++) {
        nxk_access to = nxk_access_at(2 + j, 0);
        to.lane_stride = 1;
        to.mask = nxk_scalar(k, NXK_lt, 0, x, nxk_const_f(k, NX_F32, 1), NXK_NONE);
        nxk_store(k, &to,
                  nxk_cast_to(k, dtypes[j],
                              nxk_scalar(k, NXK_mod, 0, x, nxk_const_f(k, NX_F32, 3), NXK_NONE)));
      }
      nxk_end(k);
      nxk_end(k);
      nxk_kernel *l = legalized(k, "neon");
      void *object;
      size_t size, bytes;
      nxi_diag d = {0};
      if (nxl_compile(l, &t, NXL_OBJECT, &object, &size, &d) != NX_OK) fail_msg("%s", d.message);
      if (nxl_check_object(object, size, EM_AARCH64, &bytes, &d) != NX_OK)
        fail_msg("%s", d.message);
      assert_true(bytes > 0);
      void *linked = calloc(1, bytes);
      uint64_t entry = bytes;
      if (nxl_link_object(object, size, k->name, linked, UINT64_C(1) << 40, &entry, &d) != NX_OK)
        fail_msg("%s: %s", k->name, d.message);
      assert_true(entry < bytes);
      free(linked);
      nxi_free(object);
      nxk_destroy(l);
      nxk_destroy(k);
    }
}

/* ---- memory */

static long resident_kib(void) {
  long pages = 0, ignored = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return -1;
  if (fscanf(f, "%ld %ld", &ignored, &pages) != 2) pages = -1;
  fclose(f);
  return pages < 0 ? -1 : pages * (sysconf(_SC_PAGESIZE) >> 10);
}

static long count_maps(void) {
  long n = 0;
  int c;
  FILE *f = fopen("/proc/self/maps", "r");
  if (!f) return -1;
  while ((c = getc(f)) != EOF) n += c == '\n';
  fclose(f);
  return n;
}

static void load_many(const void *object, size_t size, int n, bool keep) {
  nxi_diag d = {0};
  nxl_code **codes = calloc((size_t)n, sizeof *codes);
  assert_non_null(codes);
  for (int i = 0; i < n; i++) {
    assert_int_equal(nxl_load(object, size, "memory", &codes[i], &d), NX_OK);
    if (!keep) nxl_unload(codes[i]);
  }
  for (int i = 0; i < n && keep; i++) nxl_unload(codes[i]);
  free(codes);
}

static void test_unload(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxk_kernel *k = simple_kernel("memory", NXK_tanh, 1, 16), *l = legalized(k, best_isa());
  void *object;
  size_t size;
  compile_to(l, best_isa(), NXL_OBJECT, &object, &size);
  load_many(object, size, 100, false);
  long before = resident_kib(), maps = count_maps();
  load_many(object, size, 1500, false);
  load_many(object, size, 100, true); /* equal names, loaded at once */
  assert_true(count_maps() - maps < 60);
  /* the code of 1500 would be 18,000; a huge page is 2,048 */
  assert_true(before < 0 || resident_kib() - before < 6000 || WITH_ASAN);
  nxi_free(object);
  nxk_destroy(l);
  nxk_destroy(k);
}

/* ---- threads */

enum { THREADS = 4, ROUNDS = 6 };

static void *compile_and_run(void *user) {
  int number = (int)(intptr_t)user;
  for (int round = 0; round < ROUNDS; round++) {
    double constant = number * 100 + round;
    nxk_kernel *k = simple_kernel("threads", NXK_sign, constant, 8);
    nxl_target t = {0};
    nxi_diag d = {0};
    void *object;
    size_t size;
    nxl_code *code = NULL;
    float in[32], out[32];
    for (int i = 0; i < 32; i++) in[i] = (float)(i - 16);
    snprintf(t.isa, sizeof t.isa, "%s", best_isa());
    if (nxl_compile(k, &t, NXL_OBJECT, &object, &size, &d) != NX_OK) return "compile";
    if (nxl_load(object, size, "threads", &code, &d) != NX_OK) return "load";
    run_simple(code, k, in, out);
    for (int i = 0; i < 32; i++)
      if (out[i] != (float)((i > 16) - (i < 16)) + (float)constant) return "result";
    nxl_unload(code);
    nxi_free(object);
    nxk_destroy(k);
  }
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, compile_and_run, (void *)i), 0);
  for (int i = 0; i < THREADS; i++) {
    void *fault;
    pthread_join(threads[i], &fault);
    if (fault) fail_msg("%s", (const char *)fault);
  }
}

NXT_MAIN(llvm_jit) {
  nxl_set_verify(true);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forms),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_bad_objects),
      cmocka_unit_test(test_damaged_objects),
      cmocka_unit_test(test_relocations),
#if defined(__x86_64__)
      cmocka_unit_test(test_undefined_symbol),
#endif
      cmocka_unit_test(test_aarch64),
      cmocka_unit_test(test_unload),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
