/* SPDX-License-Identifier: ISC */
/* Handles that were released, forgotten, or are of another kind. With NX_DEBUG=handles every entry
 * of the interface names them, by number, tag and what they were, and reads nothing of their
 * memory; what lives when a context ends is listed. Without it a released handle whose memory is no
 * other handle yet is refused as well. The environment is read once: the second part is this
 * program run again. */
#include "tests/util/api.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/alloc.h"

/* What is printed to standard error between begin and end. */
static char printed[1 << 16];
static int saved_error;
static FILE *caught;
static void catch_begin(void) {
  fflush(stderr);
  caught = tmpfile();
  if (!caught) abort();
  saved_error = dup(STDERR_FILENO);
  dup2(fileno(caught), STDERR_FILENO);
}
static void catch_end(void) {
  fflush(stderr);
  dup2(saved_error, STDERR_FILENO);
  close(saved_error);
  if (fseek(caught, 0, SEEK_SET)) abort();
  size_t n = fread(printed, 1, sizeof printed - 1, caught);
  if (ferror(caught)) abort();
  printed[n] = 0;
  fclose(caught);
  caught = NULL;
}

/* The thread's error is that of a released handle, with these words in its sentence. */
static void expect_refusal(int line, const char *words) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  if (e.status == NX_INVALID_ARGUMENT && e.message && strstr(e.message, words)) return;
  if (caught) catch_end();
  fail_msg("line %d: %s: \"%s\"; wanted \"%s\"", line, nx_status_name(e.status),
           e.message ? e.message : "", words);
}
#define REFUSED(call, words)         \
  do {                               \
    (void)(call);                    \
    expect_refusal(__LINE__, words); \
  } while (0)

static nx_tensor *gone(void) {
  nx_tag_set(12, "line 12");
  nx_tensor *t = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(2, 3), NX_NUMBER(1)));
  nx_tag_set(14, "line 14");
  nx_tensor_release(t);
  nx_tag_set(0, NULL);
  nx_context_collect(ctx);
  return t;
}

static const char said[] = "was released: tensor ";

/* ---- tensors */

static void unary_and_views(void **state) {
  (void)state;
  nx_tensor *x = gone();
  const int64_t two[] = {1, 1}, no[] = {0, 0};
  catch_begin();
#define U(name) REFUSED(nx_##name(x), #name ": operand 0 was released: tensor ");
  /* clang-format off */
  U(neg) U(abs) U(sign) U(recip) U(sqrt) U(exp) U(log) U(sin) U(cos) U(tan) U(asin) U(acos) U(atan)
  U(sinh) U(cosh) U(tanh) U(erf) U(log1p) U(expm1) U(asinh) U(acosh) U(atanh) U(rint) U(trunc)
  U(erfc) U(erfinv) U(lgamma) U(digamma) U(i0e) U(i1e) U(j0) U(j1)
  U(ceil) U(floor) U(round) U(real) U(imag) U(conj) U(contiguous) U(copy)
  U(exp2) U(log2) U(log10) U(cbrt) U(rsqrt) U(logistic) U(not) U(popcount) U(clz) U(ctz)
  U(reverse_bits) U(signbit) U(isnan) U(isinf) U(isfinite) U(square)
  /* clang-format on */
#undef U
                      REFUSED(nx_cast(x, NX_F64), said);
  REFUSED(nx_bitcast(x, NX_I32), said);
  REFUSED(nx_bitcast_convert(x, NX_U8), said);
  REFUSED(nx_reduce_precision(x, 5, 2), said);
  REFUSED(nx_reduce_sum(x, NX_AXES(0), 0), said);
  REFUSED(nx_reduce_prod(x, NX_AXES(0), 0), said);
  REFUSED(nx_reduce_max(x, NX_AXES(0), 0), said);
  REFUSED(nx_reduce_min(x, NX_AXES(0), 0), said);
  REFUSED(nx_reduce_argmax(x, 0, 0, NX_I32), said);
  REFUSED(nx_reduce_argmin(x, 0, 0, NX_I32), said);
  REFUSED(nx_sort(x, 0, 0), said);
  REFUSED(nx_argsort(x, 0, 0, NX_I32), said);
  REFUSED(nx_expand(x, NX_SHAPE(2, 3)), said);
  REFUSED(nx_reshape(x, NX_SHAPE(6), 0), said);
  REFUSED(nx_permute(x, NX_AXES(1, 0)), said);
  REFUSED(nx_shrink(x, no, two, 2), said);
  REFUSED(nx_flip(x, NX_AXES(0)), said);
  REFUSED(nx_slice(x, no, two, two, 2), said);
  REFUSED(nx_as_strided(x, (const int64_t[]){1}, two, 1, 0), said);
  REFUSED(nx_to_device(x, 0), said);
  REFUSED(nx_pad(x, two, two, 2, NX_NUMBER(0)), said);
  REFUSED(nx_get(x, NULL, 0), said);
  REFUSED(nx_unfold(x, NULL), said);
  REFUSED(nx_fold(x, two, 2, NULL), said);
  REFUSED(nx_associative_scan(x, NX_SCAN_SUM, 0), said);
  REFUSED(nx_true_indices(x, 3), said);
  REFUSED(nx_one_hot(x, 3, NX_F32), said);
  REFUSED(nx_rand(x, NX_F32, NX_SHAPE(3)), said);
  REFUSED(nx_randn(x, NX_F32, NX_SHAPE(3)), said);
  REFUSED(nx_permutation(x, 3), said);
  REFUSED(nx_fft(x, NX_AXES(0)), said);
  REFUSED(nx_ifft(x, NX_AXES(0)), said);
  REFUSED(nx_rfft(x, NX_AXES(0)), said);
  REFUSED(nx_irfft(x, NX_AXES(0), two, 1), said);
  catch_end();
}

static void several_operands(void **state) {
  (void)state;
  nx_tensor *x = gone(), *y = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(2, 3), NX_NUMBER(1)));
  nx_tensor *both[2] = {y, x}, *q, *r, *v;
  catch_begin();
#define N(name)                                                \
  REFUSED(nx_##name(x, y), #name ": operand 0 was released:"); \
  REFUSED(nx_##name(y, x), #name ": operand 1 was released:");
  /* clang-format off */
  N(add) N(sub) N(mul) N(div) N(mod) N(pow) N(atan2) N(cmpeq) N(cmpne) N(cmplt) N(cmple) N(max)
  N(min) N(xor) N(or) N(and) N(shl) N(shr) N(complex) N(matmul) N(threefry)
  /* clang-format on */
#undef N
          REFUSED(nx_solve(x, y, 0), "solve: operand 0 was released:");
  REFUSED(nx_solve(y, x, 0), "solve: operand 1 was released:");
  REFUSED(nx_where(y, y, x), "where: operand 2 was released:");
  REFUSED(nx_cat(both, 2, 0), "cat: operand 1 was released:");
  REFUSED(nx_gather(y, x, 0), "gather: operand 1 was released:");
  REFUSED(nx_scatter(y, y, x, 0, NX_SCATTER_SET, 0), "scatter: operand 2 was released:");
  REFUSED(nx_set(y, NULL, 0, x), "set: operand 1 was released:");
  REFUSED(nx_assign(y, x), "assign: operand 1 was released:");
  REFUSED(nx_triangular_solve(y, x, NX_LOWER), said);
  REFUSED(nx_lstsq(y, x, 0, 0), said);
  REFUSED(nx_pinv(x, 0), said);
  REFUSED(nx_cholesky(x, NX_LOWER), said);
  REFUSED(nx_qr(x, 0, &q, &r), said);
  REFUSED(nx_top_k(x, 1, 0, 0, NX_I32, &q, &r), said);
  REFUSED(nx_svd(x, NX_FULL_MATRICES, &q, &r, &v), said);
  REFUSED(nx_eigh(x, 0, &q, &r), said);
  REFUSED(nx_eigvalsh(x, 0), said);
  REFUSED(nx_eig(x, &q, &r), said);
  REFUSED(nx_eigvals(x), said);
  REFUSED(nx_inv(x), said);
  REFUSED(nx_det(x), said);
  REFUSED(nx_slogdet(x, &q, &r), said);
  catch_end();
}

static void actions(void **state) {
  (void)state;
  nx_tensor *x = gone(), *y = constant(3, 1), *both[2] = {y, x};
  float data[6];
  nx_scalar number;
  nx_mapping *m;
  char *text;
  nx_named_tensor named = {"x", x};
  nx_tensor_info info = {.size = sizeof info};
  catch_begin();
  REFUSED(nx_realize(ctx, both, 2, NULL), "realize: operand 1 was released:");
  REFUSED(nx_read(x, data, sizeof data, NULL), "read: operand 0 was released:");
  REFUSED(nx_write(x, data, sizeof data, NULL), "write: operand 0 was released:");
  REFUSED(nx_item(x, NULL, 0, &number, NULL), "item: operand 0 was released:");
  REFUSED(nx_map(x, NX_MAP_READ, NULL, &m), "map: operand 0 was released:");
  REFUSED(nx_dump(both, 2, "graph", &text), "dump: operand 1 was released:");
  REFUSED(nx_save_npy(x, "/nowhere", NULL), said);
  REFUSED(nx_save_safetensors(ctx, "/nowhere", &named, 1, NULL, 0, NULL), said);
  REFUSED(nx_to_dlpack(x, NX_MAP_READ, -1, (void *)&m), said);
  REFUSED(nx_to_dlpack_v0(x, -1, (void *)&m), said);
  REFUSED(nx_end_sharing(x, NULL), "end_sharing: operand 0 was released:");
  REFUSED(nx_hold(x, true), "hold: operand 0 was released:");
  REFUSED(nx_keep(x), "keep: operand 0 was released:");
  REFUSED(nx_tensor_retain(x), "retain: operand 0 was released:");
  REFUSED(nx_tensor_release(x), "release: operand 0 was released:");
  REFUSED(nx_tensor_describe(x, &info), "describe: operand 0 was released:");
  catch_end();
  assert_int_equal(info.rank, 0);
  assert_non_null(strstr(printed, "nx: release: operand 0 was released: tensor "));
}

/* Number, what it was, and both tags. */
static void sentence(void **state) {
  (void)state;
  nx_tensor *x = gone();
  nx_error e = {.size = sizeof e};
  catch_begin();
  assert_null(nx_exp(x));
  catch_end();
  nx_error_take(&e);
  assert_non_null(strstr(e.message, ", full f32[2,3], made under tag 12 \"line 12\", released "
                                    "under tag 14 \"line 14\""));
  assert_int_equal(e.operand, 0);
  assert_string_equal(e.op, "exp");
  assert_non_null(strstr(printed, e.message));
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *y = GOOD(nx_neg(number(1)));
  nx_scope_end(scope);
  catch_begin();
  REFUSED(nx_exp(y), "was released with its scope (nx_keep takes a handle out of it): tensor ");
  REFUSED(nx_scope_end(scope), "scope_end: operand 0 was released: scope ");
  catch_end();
}

/* ---- the other kinds */

static void functions_and_mappings(void **state) {
  (void)state;
  nx_tensor *in = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3))), *out = GOOD(nx_neg(in));
  nx_tensor *x = constant(3, 1), *old = gone(), *result = NULL;
  nx_function *f;
  nx_function_info info = {.size = sizeof info};
  nx_port_info port = {.size = sizeof port};
  nx_mapping *m;
  char *text;
  catch_begin();
  REFUSED(nx_function_create(ctx, &in, 1, &old, 1, NULL, &f), said);
  OK(nx_function_create(ctx, &in, 1, &out, 1, NULL, &f));
  REFUSED(nx_function_call(f, &old, 1, &result, 1, NULL), "f: operand 0 was released: tensor ");
  REFUSED(nx_function_record(f, &old, 1, &result, 1), "f: operand 0 was released: tensor ");
  result = old;
  REFUSED(nx_function_call(f, &x, 1, &result, 1, NULL), "f: operand 0 was released: tensor ");
  result = NULL;
  nx_function_release(f);
  REFUSED(nx_function_call(f, &x, 1, &result, 1, NULL), "was released: function ");
  REFUSED(nx_function_record(f, &x, 1, &result, 1), "was released: function ");
  REFUSED(nx_function_describe(f, &info), "was released: function ");
  REFUSED(nx_function_aliases(f, &x, 1), "was released: function ");
  REFUSED(nx_function_input(f, 0, &port), "was released: function ");
  REFUSED(nx_function_output(f, 0, &port), "was released: function ");
  REFUSED(nx_function_dump(f, "graph", &text), "was released: function ");
  REFUSED(nx_function_retain(f), "was released: function ");
  REFUSED(nx_function_release(f), "was released: function ");
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  nx_mapping_release(m);
  REFUSED(nx_mapping_base(m, NULL), "was released: mapping ");
  REFUSED(nx_mapping_retain(m), "was released: mapping ");
  REFUSED(nx_mapping_release(m), "was released: mapping ");
  catch_end();
}

/* A handle of another kind, and what never was a handle: nothing of it is read. */
static void other_pointers(void **state) {
  (void)state;
  nx_mapping *m;
  nx_tensor *x = constant(3, 1);
  float data[3];
  catch_begin();
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  REFUSED(nx_read((nx_tensor *)m, data, sizeof data, NULL),
          "read: operand 0 is no tensor but mapping ");
  REFUSED(nx_mapping_release((nx_mapping *)x), "release: operand 0 is no mapping but tensor ");
  REFUSED(nx_neg((nx_tensor *)(uintptr_t)0x10), "neg: operand 0 is no tensor of this process");
  REFUSED(nx_neg((nx_tensor *)data), "neg: operand 0 is no tensor of this process");
  nx_mapping_release(m);
  catch_end();
}

static void contexts(void **state) {
  (void)state;
  nx_context *c;
  nx_tensor *t;
  nx_archive *a;
  nx_stats stats = {.size = sizeof stats};
  const int64_t three = 3;
  nx_import_desc import = {.size = sizeof import};
  nx_device_info device_info = {.size = sizeof device_info};
  OK(nx_context_create(NULL, &c));
  t = nx_full(ctx, 0, NX_F32, NX_SHAPE(2), NX_NUMBER(1));
  nx_named_tensor named = {"t", t};
  const char *path = nxt_own_file("handles.safetensors");
  OK(nx_save_safetensors(ctx, path, &named, 1, NULL, 0, NULL));
  OK(nx_archive_open(path, &a));
  assert_ptr_equal(nx_context_retain(c), c);
  nx_context_release(c);
  catch_begin();
  nx_context_release(c);
  catch_end();
  assert_string_equal(printed, ""); /* nothing lived */
  catch_begin();
  static const char was[] = "was released: context ";
  REFUSED(nx_empty(c, 0, NX_F32, &three, 1), was);
  REFUSED(nx_full(c, 0, NX_F32, &three, 1, NX_NUMBER(1)), was);
  REFUSED(nx_placeholder(c, 0, NX_F32, &three, 1), was);
  REFUSED(nx_arange(c, 0, NX_F32, NX_NUMBER(1), NX_NUMBER(1), 3), was);
  REFUSED(nx_eye(c, 0, NX_F32, 3, 3, 0), was);
  REFUSED(nx_scope_begin(c), was);
  REFUSED(nx_context_retain(c), was);
  REFUSED(nx_context_release(c), was);
  REFUSED(nx_context_collect(c), was);
  REFUSED(nx_context_stats(c, &stats), was);
  REFUSED(nx_device_count(c), was);
  REFUSED(nx_device_describe(c, 0, &device_info), was);
  REFUSED(nx_device_trim(c, 0), was);
  REFUSED(nx_wait(c, 0), was);
  REFUSED(nx_has_deferred(c), was);
  REFUSED(nx_pending(c, NULL), was);
  REFUSED(nx_capture_end(c), was);
  REFUSED(nx_capturing(c), was);
  REFUSED(nx_device_memory(c, 0, NULL), was);
  REFUSED(nx_import_file(c, &(nx_import_file_desc){.size = sizeof(nx_import_file_desc)}, &t), was);
  REFUSED(nx_realize(c, &t, 1, NULL), was);
  REFUSED(nx_import(c, &import, &t), was);
  REFUSED(nx_load_npy(c, "x.npy", &t), was);
  REFUSED(nx_archive_load(a, c, "t", NULL, &t), was);
  REFUSED(nx_function_parse(c, "nxir 2", 6, NULL, (void *)&a), was);
  nx_archive_close(a);
  static const char closed[] = "was released: archive ";
  REFUSED(nx_archive_close(a), closed);
  REFUSED(nx_archive_count(a), closed);
  REFUSED(nx_archive_name(a, 0), closed);
  REFUSED(nx_archive_find(a, "t"), closed);
  REFUSED(nx_archive_metadata(a, 0, NULL, NULL), closed);
  REFUSED(nx_archive_load(a, ctx, "t", NULL, &t), closed);
  catch_end();
  unlink(path);
}

static void what_lives_is_listed(void **state) {
  (void)state;
  nx_context *c;
  nx_mapping *m;
  OK(nx_context_create(NULL, &c));
  nx_tag_set(7, "line 7");
  nx_tensor *x = nx_full(c, 0, NX_F32, NX_SHAPE(4, 5), NX_NUMBER(1));
  nx_tag_set(0, NULL);
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  nx_tensor *dead = nx_neg(x);
  nx_tensor_release(dead);
  catch_begin();
  nx_context_release(c);
  catch_end();
  assert_non_null(strstr(printed,
                         "nx: the last reference of a context is given up while 2 of its handles "
                         "live:\nnx:   tensor "));
  assert_non_null(strstr(printed, ", full f32[4,5], made under tag 7 \"line 7\"\nnx:   mapping "));
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info); /* which is legal: the handles keep the context */
  assert_ptr_equal(info.context, c);
  assert_ptr_equal(nx_context_retain(c), c);
  catch_begin();
  nx_context_release(c);
  REFUSED(nx_context_release(c), "the caller has no reference of this context left");
  catch_end();
  nx_mapping_release(m);
  nx_tensor_release(x);
}

/* ---- the table itself */

/* The memory of the oldest goes, maybe to a younger handle; nothing of it is read then. */
static void many_handles(void **state) {
  (void)state;
  enum { MANY = (1 << 18) + 1000 };
  nx_tensor *first = gone(), *x = constant(2, 1);
  for (int i = 0; i < MANY; i++) nx_tensor_release(nx_expand(x, NX_SHAPE(2)));
  nx_context_collect(ctx);
  catch_begin();
  REFUSED(nx_neg(first), "neg: operand 0 "); /* unknown by now, or a younger one's place */
  catch_end();
  release(x);
}

static void no_memory(void **state) {
  (void)state;
  bool done = false;
  for (int64_t n = 0; !done; n++) {
    nx_function *f = NULL;
    nx_mapping *m = NULL;
    nx_context *c = NULL;
    nxi_alloc_fail(n, true);
    nx_scope *scope = nx_scope_begin(ctx);
    nx_tensor *x = nx_full(ctx, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(1)), *y = nx_neg(x);
    if (y) nx_map(y, NX_MAP_READ, NULL, &m);
    if (m) nx_function_parse(ctx, "nxir 2\ngraph @f() -> () {\n}\n", 28, NULL, &f);
    if (f) nx_context_create(NULL, &c);
    nxi_alloc_fail(-1, false);
    done = c != NULL;
    nx_error_take(NULL);
    nx_context_release(c);
    nx_function_release(f);
    nx_mapping_release(m);
    if (scope) nx_scope_end(scope);
    else nx_tensor_release(x), nx_tensor_release(y);
    assert_int_equal(nx_error_take(NULL), NX_OK);
  }
}

static void child_of_fork(void **state) {
  (void)state;
  nx_tensor *x = gone();
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    nx_tensor *y = nx_full(ctx, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(1));
    float data[3];
    bool good = nx_read(y, data, sizeof data, NULL) == NX_OK && !nx_neg(x);
    _exit(good && nx_error_take(NULL) == NX_INVALID_ARGUMENT ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

/* ---- without the mode */

static int plain_failures;
static void plain_expect(const char *words, bool printing) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  bool good = e.status == NX_INVALID_ARGUMENT && strstr(e.message, words);
  if (!good || !printing) plain_failures += !good;
  if (!good) printf("%s: %s; wanted %s\n", nx_status_name(e.status), e.message, words);
}

static int run_plain(void) {
  static const char words[] = "operand 0 is no live tensor: it was released";
  if (nx_context_create(NULL, &ctx)) return 2;
  nx_tensor *x = nx_full(ctx, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(1));
  nx_tensor_release(x);
  nx_context_collect(ctx);
  float data[3];
  nx_read(x, data, sizeof data, NULL);
  plain_expect(words, false);
  nx_cosh(x);
  plain_expect(words, false);
  nx_tensor_release(x);
  plain_expect(words, false);
  nx_tensor_retain(x);
  plain_expect(words, false);
  /* The mode comes when handles are there already: they work, and new ones are named. */
  nx_tensor *old = nx_full(ctx, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(1));
  nx_debug_set("handles");
  nx_tensor *young = nx_neg(old);
  if (!young || nx_read(old, data, sizeof data, NULL)) return 3;
  nx_tensor_release(young);
  nx_exp(young);
  plain_expect("operand 0 was released: tensor ", true);
  nx_tensor *between = nx_neg(old);
  nx_debug_set("");
  nx_tensor_release(between);
  nx_tensor_release(old);
  nx_context_release(ctx);
  return plain_failures ? 4 : nx_error_take(NULL) != NX_OK;
}

static void without_the_mode(void **state) {
  (void)state;
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    unsetenv("NX_DEBUG");
    execl(nxt_program(), "run_api", "handles", "plain", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

NXT_MAIN(handles) {
  if (argc > 1) return run_plain();
  setenv("NX_DEBUG", "handles", 1);
  const struct CMUnitTest tests[] = {
      IN_SCOPE(unary_and_views), IN_SCOPE(several_operands),       IN_SCOPE(actions),
      IN_SCOPE(sentence),        IN_SCOPE(functions_and_mappings), IN_SCOPE(other_pointers),
      IN_SCOPE(contexts),        IN_SCOPE(what_lives_is_listed),   IN_SCOPE(many_handles),
      IN_SCOPE(no_memory),       IN_SCOPE(child_of_fork),          IN_SCOPE(without_the_mode),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
