/* SPDX-License-Identifier: ISC */
/* Tests of the kernel cache: hits, the limit, code that is used after its entry was removed,
 * failures, concurrent requests, the disk. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/util/llvm_util.h"
#include "tests/util/runner.h"
#include "runtime/launch/launch.h"
#include "runtime/cache/disk_private.h"
#include "runtime/cache/kernel_private.h"
#include "runtime/cache/kernel.h"

/* ---- a kernel that adds a number, with the number as its key */

typedef struct order {
  int number;
  nx_status refuse; /* the status with which producing fails */
  _Atomic int *produced;
  int delay_ms;
} order;

static nx_status produce_adder(void *user, nxk_kernel **bound, nxi_diag *d) {
  const order *o = user;
  if (o->produced) atomic_fetch_add(o->produced, 1);
  if (o->delay_ms) usleep((useconds_t)o->delay_ms * 1000);
  if (o->refuse != NX_OK) return nxi_fail(d, o->refuse, "", "refused on purpose");
  nxk_kernel *k = nxk_create(NXK_BOUND, "adder");
  if (!k) return nxi_oom(d);
  uint32_t b = nxk_add_buffer(k, NXK_INOUT, NX_I32, 4);
  nxk_add_buffer(k, NXK_LOCAL, NX_I32, 100);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_TASK, 4), 1};
  nxk_access a = nxk_access_at(b, 0);
  a.n_terms = 1;
  a.terms = &term;
  nxk_store(
      k, &a,
      nxk_scalar(k, NXK_add, 0, nxk_load(k, &a, 1), nxk_const_i(k, NX_I32, o->number), NXK_NONE));
  nxk_end(k);
  nxk_end(k);
  if (k->failed) {
    nxk_destroy(k);
    return nxi_oom(d);
  }
  *bound = k;
  return NX_OK;
}

static nx_status get(nxi_kernel_cache *c, order *o, nxi_kernel **out, nxi_kernel_outcome *how,
                     nxi_diag *d) {
  nxi_diag_clear(d);
  return nxi_kernel_get(c, nxi_target_host()->isa, &o->number, sizeof o->number, produce_adder, o,
                        out, how, d);
}

static void use(const nxi_kernel *k, int number) {
  int32_t values[4] = {1, 2, 3, 4};
  char scratch[1024] __attribute__((aligned(64)));
  void *buffers[1] = {values};
  const void *more = nxi_kernel_describe(k)->values; /* parameters of code that is shared */
  nxl_entry(nxi_kernel_code(k))(buffers, more, 0, 4, scratch);
  for (int i = 0; i < 4; i++) assert_int_equal(values[i], i + 1 + number);
}

static nxi_kernel_cache *make_cache(const char *directory) {
  nxi_kernel_cache *c = NULL;
  nxi_diag d = {0};
  assert_int_equal(nxi_kernel_cache_create(directory, &c, &d), NX_OK);
  return c;
}

static nxi_kernel *get_ok(nxi_kernel_cache *c, int number, nxi_kernel_outcome expected) {
  order o = {.number = number};
  nxi_kernel *k = NULL;
  nxi_kernel_outcome how;
  nxi_diag d;
  if (get(c, &o, &k, &how, &d) != NX_OK) fail_msg("%s", d.message);
  assert_int_equal(how, expected);
  use(k, number);
  return k;
}

static void test_hits(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxi_kernel_cache *c = make_cache("");
  nxi_kernel *a = get_ok(c, 1, NXI_KERNEL_COMPILED), *b = get_ok(c, 2, NXI_KERNEL_COMPILED),
             *again = get_ok(c, 1, NXI_KERNEL_HIT);
  assert_ptr_equal(a, again);
  assert_ptr_not_equal(a, b);
  const nxi_kernel_info *info = nxi_kernel_describe(a);
  assert_int_equal(info->tasks, 4);
  assert_int_equal(info->tasks_param, -1);
  assert_int_equal(info->scratch_bytes, 448);
  assert_true(info->compile_ms > 0 && info->object_bytes > 0 && info->code_bytes > 0);
  nxi_kernel_stats stats;
  nxi_kernel_cache_stats(c, &stats);
  assert_int_equal(stats.hits, 1);
  assert_int_equal(stats.misses, 2);
  assert_int_equal(stats.kernels, 2);
  assert_true(stats.code_bytes > 0 && stats.compile_ms > 0);
  nxi_kernel_release(again);
  nxi_kernel_release(b);
  nxi_kernel_cache_destroy(c);
  use(a, 1); /* the last reference is ours */
  nxi_kernel_release(a);
}

static void test_eviction(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxi_kernel_cache *c = make_cache("");
  nxi_kernel_cache_limit(c, 3, (size_t)1 << 30);
  nxi_kernel *kept = get_ok(c, 0, NXI_KERNEL_COMPILED);
  for (int i = 1; i < 3; i++) nxi_kernel_release(get_ok(c, i, NXI_KERNEL_COMPILED));
  nxi_kernel_release(get_ok(c, 1, NXI_KERNEL_HIT));
  nxi_kernel_release(get_ok(c, 3, NXI_KERNEL_COMPILED)); /* 0 is removed */
  nxi_kernel_release(get_ok(c, 2, NXI_KERNEL_HIT));
  nxi_kernel_release(get_ok(c, 1, NXI_KERNEL_HIT));
  use(kept, 0);
  nxi_kernel *other = get_ok(c, 0, NXI_KERNEL_COMPILED); /* 3 is removed */
  assert_ptr_not_equal(other, kept);
  nxi_kernel_release(get_ok(c, 2, NXI_KERNEL_HIT));
  nxi_kernel_release(get_ok(c, 3, NXI_KERNEL_COMPILED));
  nxi_kernel_stats stats;
  nxi_kernel_cache_limit(c, 3, 1); /* one kernel is always kept */
  nxi_kernel_cache_stats(c, &stats);
  assert_int_equal(stats.kernels, 1);
  assert_int_equal(stats.evictions, 5);
  nxi_kernel_release(other);
  nxi_kernel_release(kept);
  nxi_kernel_cache_destroy(c);
}

static void test_failures(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxi_kernel_cache *c = make_cache("");
  order o = {.number = 5, .refuse = NX_INTERRUPTED};
  nxi_kernel *k = NULL;
  nxi_diag d;
  assert_int_equal(get(c, &o, &k, NULL, &d), NX_INTERRUPTED);
  assert_null(k);
  assert_string_equal(d.message, "refused on purpose");
  nxi_diag_clear(&d);
  assert_int_equal(
      nxi_kernel_get(c, "vax", "", 0, produce_adder, &(order){.number = 1}, &k, NULL, &d),
      NX_INVALID_ARGUMENT);
  nxi_kernel_release(get_ok(c, 5, NXI_KERNEL_COMPILED));
  nxi_kernel_cache_destroy(c);
}

/* Every allocation fails once: an error, no leak (under the sanitizers), and the retry succeeds. */
static void test_exhausted_memory(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nx_status s = NX_OUT_OF_MEMORY;
  for (int64_t n = 0; s != NX_OK; n++) {
    assert_true(n < 1000);
    nxi_kernel_cache *c = NULL;
    nxi_kernel *k = NULL;
    nxi_diag d;
    order o = {.number = 9};
    nxi_diag_clear(&d);
    nxi_alloc_fail(n, true);
    s = nxi_kernel_cache_create("", &c, &d);
    if (s == NX_OK) s = get(c, &o, &k, NULL, &d);
    nxi_alloc_fail(-1, false);
    if (s != NX_OK) assert_int_equal(s, NX_OUT_OF_MEMORY);
    if (s != NX_OK && c) k = get_ok(c, 9, NXI_KERNEL_COMPILED);
    nxi_kernel_release(k);
    nxi_kernel_cache_destroy(c);
  }
}

/* ---- threads */

enum { THREADS = 6, KEYS = 5 };
typedef struct crowd {
  nxi_kernel_cache *cache;
  _Atomic int produced;
  nx_status refuse;
} crowd;

static void *ask(void *user) {
  crowd *w = user;
  for (int number = 0; number < KEYS; number++) {
    order o = {.number = number, .produced = &w->produced, .delay_ms = 20, .refuse = w->refuse};
    nxi_kernel *k = NULL;
    nxi_diag d;
    nx_status s = get(w->cache, &o, &k, NULL, &d);
    if (s != w->refuse || (s != NX_OK && strcmp(d.message, "refused on purpose") != 0))
      return "status";
    nxi_kernel_release(k);
  }
  return NULL;
}

static void crowd_asks(crowd *w) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, ask, w), 0);
  for (int i = 0; i < THREADS; i++) {
    void *fault;
    pthread_join(threads[i], &fault);
    if (fault) fail_msg("%s", (const char *)fault);
  }
}

static void test_threads(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  crowd w = {.cache = make_cache("")};
  crowd_asks(&w);
  assert_int_equal(w.produced, KEYS); /* each once */
  nxi_kernel_cache_destroy(w.cache);
  crowd failing = {.cache = make_cache(""), .refuse = NX_INTERRUPTED};
  crowd_asks(&failing);
  assert_true(failing.produced >= KEYS);
  nxi_kernel_cache_destroy(failing.cache);
}

/* Who asks only for code that is there does not wait for a kernel that another thread compiles: it
 * is told so while that one still produces, which it does until it is released. */
static _Atomic bool producing, released;

static nx_status produce_slowly(void *user, nxk_kernel **bound, nxi_diag *d) {
  atomic_store(&producing, true);
  for (int i = 0; i < 10000 && !atomic_load(&released); i++) usleep(1000);
  return produce_adder(user, bound, d);
}

static nx_status get_found(nxi_kernel_cache *c, order *o, nxi_kernel **out,
                           nxi_kernel_outcome *how) {
  nxk_hole none = {0};
  nxi_kernel_kind kind = {.number = 1, .found_only = true, .holes = &none};
  nxi_diag d;
  nxi_diag_clear(&d);
  return nxi_kernel_get_of_kind(c, nxi_target_host()->isa, &o->number, sizeof o->number,
                                produce_slowly, &kind, o, out, how, &d);
}

static void *compile_slowly(void *cache) {
  order o = {.number = 3};
  nxi_kernel *k = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_kernel_get(cache, nxi_target_host()->isa, &o.number, sizeof o.number, produce_slowly, &o,
                     &k, NULL, &d) != NX_OK)
    return "status";
  nxi_kernel_release(k);
  return NULL;
}

static void test_found_only(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  nxi_kernel_cache *c = make_cache("");
  order o = {.number = 3};
  nxi_kernel *k = NULL;
  nxi_kernel_outcome how = NXI_KERNEL_HIT;
  pthread_t thread;
  void *fault;
  assert_int_equal(pthread_create(&thread, NULL, compile_slowly, c), 0);
  while (!atomic_load(&producing)) usleep(100);
  nx_status status = get_found(c, &o, &k, &how);
  atomic_store(&released, true); /* before anything fails: the thread would wait for it */
  pthread_join(thread, &fault);
  assert_null(fault);
  assert_int_equal(status, NX_COMPILE_FAILED);
  assert_int_equal(how, NXI_KERNEL_ABSENT);
  assert_null(k);
  assert_int_equal(get_found(c, &o, &k, &how), NX_OK);
  assert_int_equal(how, NXI_KERNEL_HIT);
  use(k, 3);
  nxi_kernel_release(k);
  nxi_kernel_cache_destroy(c);
}

/* ---- disk */

static void test_disk(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  char directory[] = "/tmp/nx-kernels-XXXXXX", command[64];
  assert_non_null(mkdtemp(directory));
  nxi_kernel_cache *first = make_cache(directory);
  nxi_kernel_release(get_ok(first, 1, NXI_KERNEL_COMPILED));
  nxi_kernel_cache_destroy(first);
  nxi_kernel_cache *second = make_cache(directory);
  nxi_kernel *k = get_ok(second, 1, NXI_KERNEL_DISK_HIT);
  assert_int_equal(nxi_kernel_describe(k)->tasks, 4);
  assert_int_equal(nxi_kernel_describe(k)->scratch_bytes, 448);
  nxi_kernel_release(k);
  nxi_kernel_release(get_ok(second, 1, NXI_KERNEL_HIT));
  nxi_kernel_release(get_ok(second, 2, NXI_KERNEL_COMPILED));
  nxi_kernel_stats stats;
  nxi_kernel_cache_stats(second, &stats);
  assert_int_equal(stats.disk_hits, 1);
  assert_int_equal(stats.misses, 1);
  nxi_kernel_cache_destroy(second);
  nxi_kernel_cache *unusable = make_cache("/proc/nx");
  nxi_kernel_release(get_ok(unusable, 1, NXI_KERNEL_COMPILED));
  nxi_kernel_cache_destroy(unusable);
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

static nxi_kernel_outcome outcome_for(nxi_kernel_cache *c, const char *isa) {
  order o = {.number = 1};
  nxi_kernel *k = NULL;
  nxi_kernel_outcome how;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status s = nxi_kernel_get(c, isa, &o.number, sizeof o.number, produce_adder, &o, &k, &how, &d);
  if (s != NX_OK) fail_msg("%s", d.message);
  nxi_kernel_release(k);
  return how;
}

/* The instruction set is part of both keys, in memory and on disk; on disk also LLVM, the
 * processor, and the version of what generates code. */
static void test_keys(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  char directory[] = "/tmp/nx-keys-XXXXXX", command[64];
  assert_non_null(mkdtemp(directory));
  const char *host = nxi_target_host()->isa, *all[] = {host, "generic"};
  size_t n = strcmp(host, "generic") ? 2 : 1;
  for (size_t i = 0; i < n; i++) { /* each with a separate cache: only the disk is shared */
    nxi_kernel_cache *c = make_cache(directory);
    assert_int_equal(outcome_for(c, all[i]), NXI_KERNEL_COMPILED);
    nxi_kernel_cache_destroy(c);
  }
  nxi_kernel_cache *c = make_cache("");
  for (size_t i = 0; i < n; i++) assert_int_equal(outcome_for(c, all[i]), NXI_KERNEL_COMPILED);
  nxi_kernel_cache_destroy(c);
  nxi_disk_cache *disk = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxi_kernel_disk_open(directory, &disk, &d), NX_OK);
  const char *code = strstr(disk->environment, "; code ");
  assert_non_null(code);
  assert_int_equal(strspn(code + 7, "0123456789abcdef"), 32);
  assert_true(nxl_identity()[0] && strstr(disk->environment, nxl_identity()));
  nxi_disk_close(disk);
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

/* Machines for which kernels are bound differently do not share a kernel, even if they have the
 * same instruction set. */
static void test_targets(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  static const char text[] = "nxir 2\ngraph @f(%x: f32[1024,256]) -> (%y) {\n"
                             "  %m = reduce_max %x axes=[0] keepdims : f32[1,256]\n"
                             "  %y = sub %x, %m : f32[1024,256]\n}\n";
  nxi_kernel_cache *cache = make_cache("");
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_parse(text, sizeof text - 1, &g, &d), NX_OK);
  for (int cache_level = 0; cache_level <= 4; cache_level++) {
    nxi_target t = *nxi_target_host();
    if (cache_level == 1) t.l1_bytes = 1 << 30;
    if (cache_level == 2) t.l2_bytes = 1 << 14;
    if (cache_level == 3) t.l3_bytes = 1 << 30;
    nxi_executable_options o = {
        .executor = NXI_COMPILED, .fuse = true, .target = &t, .threads = 1, .kernels = cache};
    nxi_executable *plan = NULL;
    nxi_compile_report report = {0};
    assert_int_equal(nxi_executable_create(g, &o, NULL, NULL, &plan, &report, &d), NX_OK);
    /* 4 has the values of 0 */
    assert_int_equal(report.kernel_hits, cache_level < 4 ? 0 : report.kernels);
    nxi_executable_destroy(plan);
  }
  nxg_destroy(g);
  nxi_kernel_cache_destroy(cache);
}

/* ---- code that is only counted */

static int live_codes;

static const char *no_environment(void) { return ""; }
static nx_status count_compiled(void *user, const nxk_kernel *bound, const char *isa, void **object,
                                size_t *size, char entry[72], nxi_kernel_info *info, nxi_diag *d) {
  (void)user, (void)bound, (void)isa, (void)info;
  memset(entry, 0, 72);
  *object = nxi_calloc(1, *size = 1);
  return *object ? NX_OK : nxi_oom(d);
}
static nx_status count_loaded(void *user, const void *object, size_t size, const char *entry,
                              const nxi_kernel_info *info, void **code, nxi_diag *d) {
  (void)user, (void)object, (void)size, (void)entry, (void)info;
  live_codes++;
  *code = nxi_calloc(1, 1);
  return *code ? NX_OK : nxi_oom(d);
}
static void count_unloaded(void *code) {
  live_codes -= code != NULL;
  nxi_free(code);
}
enum { CODE_BYTES = 1000 };
static size_t always_as_many(const void *code) { return (void)code, CODE_BYTES; }
static const nxi_code_maker counting = {no_environment, count_compiled, NULL,
                                        count_loaded,   count_unloaded, always_as_many};

/* A chain of operations that the bits of `number` name: kernels of a number are of one kind. */
static nx_status load_chain(nxi_kernel_cache *c, int number, int length, nxi_diag *d) {
  static const char *const words[] = {"sqrt", "exp"};
  nxi_text text = {0};
  nxg_graph *g = NULL;
  nxi_executable *plan = NULL;
  nxi_target t = *nxi_target_host();
  nxi_executable_options o = {
      .executor = NXI_COMPILED, .fuse = true, .target = &t, .threads = 1, .kernels = c};
  nxi_text_add(&text, "nxir 2\ngraph @f(%%x0: f32[%d]) -> (%%x10) {\n", length);
  for (int i = 0; i < 10; i++)
    nxi_text_add(&text, "  %%x%d = %s %%x%d : f32[%d]\n", i + 1, words[number >> i & 1], i, length);
  nxi_text_add(&text, "}\n");
  nx_status s = nxg_parse(text.data, text.size, &g, d);
  if (s == NX_OK) s = nxi_executable_create(g, &o, NULL, NULL, &plan, NULL, d);
  nxi_executable_destroy(plan);
  nxg_destroy(g);
  nxi_text_free(&text);
  return s;
}

static int64_t compiled_by(nxi_kernel_cache *c, int number, int length) {
  nxi_kernel_stats before, after;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_kernel_cache_stats(c, &before);
  if (load_chain(c, number, length, &d) != NX_OK) fail_msg("%s", d.message);
  nxi_kernel_cache_stats(c, &after);
  return after.misses - before.misses;
}

/* Generic code, too, is freed when the map has no room for it, and kept while it serves others. */
static void test_generic_code_is_freed(void **state) {
  (void)state;
  nxi_diag d;
  nxi_kernel_cache *c = NULL;
  int64_t compiled = 0, of_one = 0;
  nxi_diag_clear(&d);
  assert_int_equal(nxi_kernel_cache_create_for(&counting, NULL, "", &c, &d), NX_OK);
  nxi_kernel_cache_limit(c, 60, 30 * CODE_BYTES);
  for (int number = 1; number < 500; number++) {
    for (int i = 1; i <= 4; i++) {
      compiled += compiled_by(c, number, 1000 * i);
      assert_in_range(live_codes, 1, 30);
    }
    of_one += compiled_by(c, 0, 1000 * number);
  }
  assert_in_range(compiled, 499, 1500); /* of 1996 kernels */
  assert_in_range(of_one, 1, 6);
  for (int i = 1; i <= 20; i++) compiled_by(c, 1 + i % 4, 5000 + i); /* they come again */
  assert_in_range(live_codes, 1, 30);
  nxi_kernel_cache_destroy(c);
  assert_int_equal(live_codes, 0);
}

/* How a kernel comes apart is what was stored with it, or nothing. */
static void test_anatomy_on_disk(void **state) {
  (void)state;
  char directory[] = "/tmp/nx-kernels-XXXXXX", command[64];
  assert_non_null(mkdtemp(directory));
  nxi_kernel_cache *c = NULL;
  nxi_diag d = {0};
  nxk_kernel *bound = NULL;
  nxk_anatomy own, none = {0}, back = {0};
  nxi_kernel k = {.key_size = 0, .isa = "any"};
  assert_int_equal(nxi_kernel_cache_create_for(&counting, NULL, directory, &c, &d), NX_OK);
  assert_int_equal(produce_adder(&(order){.number = 77}, &bound, &d), NX_OK);
  assert_true(nxk_dissect(bound, &own));
  assert_in_range(own.n_holes, 2, 20);
  for (int with = 0; with < 2; with++) {
    snprintf(k.isa, sizeof k.isa, "any%d", with);
    nxi_kernel_store(c, &k, "entry", "object", 6, with ? &own : &none);
    assert_true(nxi_kernel_load_stored(c, &k, &back));
    assert_int_equal(k.info.object_bytes, 6);
    count_unloaded(k.code);
    assert_int_equal(back.structure.size, with ? own.structure.size : 0);
    assert_int_equal(back.n_holes, with ? own.n_holes : 0);
  }
  assert_memory_equal(back.structure.data, own.structure.data, own.structure.size);
  for (uint32_t i = 0; i < own.n_holes; i++)
    assert_true(back.holes[i].value == own.holes[i].value &&
                back.holes[i].type == own.holes[i].type && back.holes[i].role == own.holes[i].role);
  nxk_anatomy_free(&own);
  nxk_anatomy_free(&back);
  nxk_destroy(bound);
  nxi_kernel_cache_destroy(c);
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

/* A kernel from disk is remembered as one that was compiled: the code with parameters that others
 * of its kind have is chosen as before, and found. */
static void test_kinds_from_disk(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  char directory[] = "/tmp/nx-kernels-XXXXXX", command[64];
  assert_non_null(mkdtemp(directory));
  nxi_kernel_cache *first = make_cache(directory);
  assert_int_equal(compiled_by(first, 5, 1000), 1);
  for (int i = 2; i < 12; i++) compiled_by(first, 5, 1000 * i + i);
  nxi_kernel_cache_destroy(first);
  nxi_kernel_cache *second = make_cache(directory);
  for (int i = 1; i < 12; i++) assert_int_equal(compiled_by(second, 5, 1000 * i + i * (i > 1)), 0);
  assert_int_equal(compiled_by(second, 5, 20123), 0);
  nxi_kernel_stats stats;
  nxi_kernel_cache_stats(second, &stats);
  assert_in_range(stats.disk_hits, 2, 6);
  nxi_kernel_cache_destroy(second);
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

/* ---- kernels of one kind: adders, whose numbers alone differ */

static nx_status vary_adder(void *user, const nxk_hole *holes, bool few, nxk_kernel **bound,
                            nxi_diag *d) {
  (void)holes, (void)few;
  return produce_adder(user, bound, d);
}

/* How often the adder was bound for it. */
static int bound_for(nxi_kernel_cache *c, int number, nxi_kernel_outcome expected) {
  _Atomic int produced = 0;
  order o = {.number = number, .produced = &produced};
  const nxi_kernel_kind kind = {.number = 1, .vary = vary_adder};
  nxi_kernel *k = NULL;
  nxi_kernel_outcome how;
  nxi_diag d = {0};
  if (nxi_kernel_get_of_kind(c, nxi_target_host()->isa, &number, sizeof number, produce_adder,
                             &kind, &o, &k, &how, &d) != NX_OK)
    fail_msg("%s", d.message);
  assert_int_equal(how, expected);
  use(k, number);
  nxi_kernel_release(k);
  return produced;
}

/* What is on disk of the first kernel of a kind says in which integers the second one differs from
 * it, as the kernel itself would, and spares binding it. */
static void test_facts_from_disk(void **state) {
  (void)state;
  if (nxl_unavailable()) skip();
  char directory[] = "/tmp/nx-kernels-XXXXXX", command[64];
  assert_non_null(mkdtemp(directory));
  for (int process = 0; process < 2; process++) {
    nxi_kernel_cache *c = make_cache(directory);
    nxi_kernel_outcome made = process == 0 ? NXI_KERNEL_COMPILED : NXI_KERNEL_DISK_HIT;
    assert_int_equal(bound_for(c, 3, made) == 0, process == 1);
    nxi_kernel_cache_destroy(c);
  }
  nxi_kernel_cache *c = make_cache(directory);
  bound_for(c, 3, NXI_KERNEL_DISK_HIT);
  bound_for(c, 4, NXI_KERNEL_COMPILED); /* with the number as a parameter */
  for (int number = 5; number < 9; number++) bound_for(c, number, NXI_KERNEL_HIT);
  nxi_kernel_cache_destroy(c);
  snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

NXT_MAIN(cache_kernel) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hits),
      cmocka_unit_test(test_eviction),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_exhausted_memory),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_found_only),
      cmocka_unit_test(test_disk),
      cmocka_unit_test(test_keys),
      cmocka_unit_test(test_kinds_from_disk),
      cmocka_unit_test(test_facts_from_disk),
      cmocka_unit_test(test_anatomy_on_disk),
      cmocka_unit_test(test_targets),
      cmocka_unit_test(test_generic_code_is_freed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
