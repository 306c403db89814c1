/* SPDX-License-Identifier: ISC */
/* Golden files: all .nxir of tests/golden (or of the directory given). Each is the text of a graph
 * or a kernel whose remarks say what must hold:
 *
 *   ; test pass cse, dce            passes of pass_list.def on the text leave exactly the lines
 *                                   that follow
 *   ; test pass legalize isa=avx2   for another target than the one below
 *   ; test dump plan                a stage of nxi_dump is exactly the lines that follow
 *   ; check: ...                    one of those lines
 *   ; test run interp kernel bound llvm
 *   ; run: @f([1, 2], 3) == [4, 5]  on each executor named; elements in C order, bit for bit
 *   ... ; error: sentence           at the end of a line: the text is refused there, with this
 *                                   sentence
 *
 * NX_BLESS=1 rewrites `check` lines and what stands after ==. Every text that is not refused
 * survives a round trip, and every pass has a file that shows what it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#if NX_HAVE_CUDA
#include "codegen_cuda/codegen_cuda.h"
#endif
#include "codegen_llvm/codegen_llvm.h"
#include "ir/text/scalar_text.h"
#include "passes/apply.h"
#include "runtime/launch/launch.h"
#include "runtime/cache/kernel.h"
#include "tests/util/runner.h"

enum { MAX_FILES = 256, MAX_PORTS = 8, MAX_BYTES = 4096 };

typedef struct file {
  char path[1024], name[256];
  char *text;
  size_t size;
} file;

static file files[MAX_FILES];
static size_t n_files;
static bool blessing;

/* The same on every machine. */
static const nxi_target fixed_target = {.isa = "avx512",
                                        .cpu = "golden",
                                        .vector_bytes = 64,
                                        .threads = 2,
                                        .l1_bytes = 32 << 10,
                                        .l2_bytes = 1 << 20,
                                        .l3_bytes = 32 << 20};

static nxi_target target_of(const char *arguments) {
  nxi_target t = fixed_target;
  const char *isa = strstr(arguments, "isa=");
  if (isa == NULL) return t;
  size_t n = strcspn(isa + 4, " ,");
  assert_true(n < sizeof t.isa);
  snprintf(t.isa, sizeof t.isa, "%.*s", (int)n, isa + 4);
  if (strncmp(t.isa, "sm_", 3) == 0) {
    nxi_target gpu;
    assert_true(nxi_target_for_isa(t.isa, &gpu));
    t.vector_bytes = gpu.vector_bytes;
    t.block_threads = gpu.block_threads;
    t.shared_bytes = gpu.shared_bytes;
    return t;
  }
  t.vector_bytes = strcmp(t.isa, "avx512") == 0 ? 64 : strcmp(t.isa, "avx2") == 0 ? 32 : 16;
  return t;
}

/* ---- lines */

/* The next line from *at, without its end; NULL after the last. */
static char *next_line(const file *f, const char **at) {
  const char *end = f->text + f->size, *start = *at;
  if (start >= end) return NULL;
  const char *stop = memchr(start, '\n', (size_t)(end - start));
  stop = stop != NULL ? stop : end;
  *at = stop + 1;
  return strndup(start, (size_t)(stop - start));
}

/* What follows a word at the start of a line, NULL if it does not start so. */
static const char *after(const char *line, const char *word) {
  size_t n = strlen(word);
  if (strncmp(line, word, n) != 0) return NULL;
  return line + n + (line[n] == ' ');
}

static void add_check_lines(nxi_text *out, const char *expected) {
  while (*expected) {
    size_t n = strcspn(expected, "\n");
    nxi_text_add(out, n ? "; check: %.*s\n" : "; check:%.*s\n", (int)n, expected);
    expected += n + (expected[n] == '\n');
  }
}

/* ---- what a command gives */

/* The passes that a command names, up to `last` and with it or without; NULL: all. Words with = and
 * the word noblas are no passes. */
static size_t pass_names(const char *arguments, const char *last, bool with_last, char names[256]) {
  size_t n = 0;
  names[0] = '\0';
  for (const char *at = arguments; *at;) {
    size_t word = strcspn(at, " ,");
    bool option = memchr(at, '=', word) != NULL || (word == 6 && memcmp(at, "noblas", 6) == 0);
    bool is_last = last != NULL && strlen(last) == word && memcmp(at, last, word) == 0;
    if (is_last && !with_last) break;
    if (word > 0 && !option) n += (size_t)snprintf(names + n, 256 - n, "%.*s,", (int)word, at);
    assert_true(n < 256);
    if (is_last) break;
    at += word + strspn(at + word, " ,");
  }
  return n;
}

static nx_status apply_names(const file *f, const char *arguments, const char *names, nxi_text *out,
                             nxi_diag *d) {
  nxi_target target = target_of(arguments);
  nxp_apply_options o = {&target, strstr(arguments, "noblas") == NULL};
  return nxp_apply(f->text, f->size, names, &o, out, d);
}

static nx_status apply(const file *f, const char *arguments, nxi_text *out, nxi_diag *d) {
  char names[256];
  assert_true(pass_names(arguments, NULL, true, names) > 0);
  return apply_names(f, arguments, names, out, d);
}

/* The kernels alone: what every text of CUDA C begins with would be in each file. */
static void drop_prelude(nxi_text *text) {
#if NX_HAVE_CUDA
  const uint32_t size = (uint32_t)strlen(nxu_prelude());
  assert_true(text->size >= size);
  text->size -= size;
  memmove(text->data, text->data + size, text->size + 1);
#else
  (void)text;
#endif
}

static nx_status dump(const file *f, const char *arguments, nxi_text *out, nxi_diag *d) {
  char stage[32];
  nxi_target target = target_of(arguments);
  nxi_executable_options o = {
      .executor = NXI_COMPILED, .fuse = true, .target = &target, .threads = 2};
  nxg_graph *g = NULL;
  snprintf(stage, sizeof stage, "%.*s", (int)strcspn(arguments, " "), arguments);
  nx_status status = nxg_parse(f->text, f->size, &g, d);
  if (status == NX_OK) status = nxi_dump(g, &o, stage, out, d);
  if (status == NX_OK && strcmp(stage, "cuda") == 0) drop_prelude(out);
  nxg_destroy(g);
  return status;
}

/* The check lines that a command line asks for, NULL if it is no such line. */
static char *expected_lines(const file *f, const char *line) {
  const char *pass = after(line, "; test pass"), *stage = after(line, "; test dump");
  nxi_text out = {0}, lines = {0};
  nxi_diag d;
  if (pass == NULL && stage == NULL) return NULL;
  nxi_diag_clear(&d);
  nx_status status = pass != NULL ? apply(f, pass, &out, &d) : dump(f, stage, &out, &d);
  if (status != NX_OK) fail_msg("%s: %s: %s", f->name, line, d.message);
  add_check_lines(&lines, out.data != NULL ? out.data : "");
  nxi_text_free(&out);
  assert_false(lines.failed);
  return lines.data;
}

/* ---- runs */

typedef struct port {
  nx_dtype dtype;
  int64_t elements;
  unsigned char *data;
} port;

static port make_port(const nxg_graph *g, uint32_t node) {
  port p = {g->nodes[node].dtype, nxg_node_elements(&g->nodes[node]), NULL};
  assert_true(p.elements * nxi_dtype_size(p.dtype) <= MAX_BYTES);
  p.data = aligned_alloc(64, MAX_BYTES);
  memset(p.data, 0xa5, MAX_BYTES);
  return p;
}

static const char *blanks(const char *at) { return at + strspn(at, " "); }

static const char *take_element(const char *at, uint32_t length, port *p, int64_t i) {
  uint64_t bits;
  if (nxi_is_complex(p->dtype))
    return nxi_parse_element(at, length, p->dtype, p->data + i * nxi_dtype_size(p->dtype));
  const char *wrong = nxi_parse_scalar(at, length, p->dtype, &bits);
  if (wrong == NULL) nxi_store_at(p->data, p->dtype, i, bits);
  return wrong;
}

/* A scalar, or a list of lists of them, into the elements of a port. */
static const char *take_value(const char *at, port *p) {
  int depth = 0;
  int64_t n = 0;
  do {
    at = blanks(at);
    if (*at == '[') depth++, at++;
    else if (*at == ']') depth--, at++;
    else if (*at == ',' && depth > 0) at++;
    else {
      size_t word = strcspn(at, ",[]() ");
      if (n >= p->elements) fail_msg("at \"%s\": too many elements", at);
      const char *wrong = take_element(at, (uint32_t)word, p, n++);
      if (wrong != NULL) fail_msg("at \"%s\": %s", at, wrong);
      at += word;
    }
    at = blanks(at);
  } while (depth > 0);
  assert_int_equal(n, p->elements);
  return at;
}

static void put_value(nxi_text *out, const port *p, bool list) {
  if (list) nxi_text_add(out, "[");
  for (int64_t i = 0; i < p->elements; i++) {
    if (i > 0) nxi_text_add(out, ", ");
    if (nxi_is_complex(p->dtype))
      nxi_print_element(out, p->dtype, p->data + i * nxi_dtype_size(p->dtype));
    else nxi_print_scalar(out, p->dtype, nxi_load_at(p->data, p->dtype, i));
  }
  if (list) nxi_text_add(out, "]");
}

static const struct executor {
  const char *name;
  nxi_executor_kind kind;
  bool bound;
} executors[] = {{"interp", NXI_GRAPH_INTERP, false},
                 {"kernel", NXI_KERNEL_INTERP, false},
                 {"bound", NXI_KERNEL_INTERP, true},
                 {"llvm", NXI_COMPILED, false}};

/* False: this build lacks the executor. */
static bool run_on(const struct executor *e, const nxg_graph *g, port *in, port *out) {
  void *inputs[MAX_PORTS], *outputs[MAX_PORTS];
  nxi_kernel_cache *kernels = NULL;
  nxi_executable *plan = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (e->kind == NXI_COMPILED && nxl_unavailable() != NULL) return false;
  if (e->kind == NXI_COMPILED) assert_int_equal(nxi_kernel_cache_create("", &kernels, &d), NX_OK);
  const nxi_target *target = e->kind == NXI_COMPILED ? nxi_target_host() : &fixed_target;
  nxi_executable_options o = {.executor = e->kind,
                              .fuse = true,
                              .bound_interp = e->bound,
                              .target = target,
                              .threads = 1,
                              .kernels = kernels};
  if (nxi_executable_create(g, &o, NULL, NULL, &plan, NULL, &d) != NX_OK)
    fail_msg("%s: %s", e->name, d.message);
  void *temporary =
      aligned_alloc(64, (size_t)(nxi_executable_plan(plan)->temporary_bytes + 127) / 64 * 64);
  for (uint32_t i = 0; i < g->n_inputs; i++) inputs[i] = in[i].data;
  for (uint32_t i = 0; i < g->n_outputs; i++) outputs[i] = out[i].data;
  nxi_launch l = {.inputs = inputs, .outputs = outputs, .temporary = temporary};
  if (nxi_executable_launch(plan, &l, &d) != NX_OK) fail_msg("%s: %s", e->name, d.message);
  free(temporary);
  nxi_executable_destroy(plan);
  nxi_kernel_cache_destroy(kernels);
  return true;
}

static void compare_outputs(const file *f, const char *line, const char *executor,
                            const char *expected, const nxg_graph *g, const port *out) {
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    port want = make_port(g, g->outputs[i].node);
    expected = take_value(expected, &want);
    if (i + 1 < g->n_outputs) assert_int_equal(*expected++, ',');
    for (int64_t e = 0; e < want.elements; e++) {
      uint64_t x = nxi_load_at(out[i].data, want.dtype, e),
               y = nxi_load_at(want.data, want.dtype, e);
      if (nxi_same_bits(x, y, want.dtype)) continue;
      nxi_text got = {0};
      put_value(&got, &out[i], true);
      fail_msg("%s: %s\non %s output %u is %s", f->name, line, executor, i, got.data);
    }
    free(want.data);
  }
  assert_string_equal(expected, "");
}

/* `@f(args) == results` on the executors named. The line as it should be, if it is to be
 * rewritten. */
static char *check_run(const file *f, const char *line, const char *run, const char *names) {
  port in[MAX_PORTS], out[MAX_PORTS];
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_text blessed = {0};
  nxi_diag_clear(&d);
  if (nxg_parse(f->text, f->size, &g, &d) != NX_OK)
    fail_msg("%s:%d: %s", f->name, d.line, d.message);
  assert_true(g->n_inputs <= MAX_PORTS && g->n_outputs <= MAX_PORTS);
  const char *at = strchr(run, '(');
  assert_non_null(at);
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    in[i] = make_port(g, g->inputs[i].node);
    at = take_value(at + 1, &in[i]);
    assert_int_equal(*at, i + 1 < g->n_inputs ? ',' : ')');
  }
  if (g->n_inputs == 0) at++;
  for (uint32_t i = 0; i < g->n_outputs; i++) out[i] = make_port(g, g->outputs[i].node);
  const char *expected = strstr(at, "==");
  assert_non_null(expected);
  nxi_text_add(&blessed, "; run: %.*s== ", (int)(expected - run), run);
  int ran = 0;
  for (size_t i = 0; i < sizeof executors / sizeof executors[0]; i++) {
    if (strstr(names, executors[i].name) == NULL || !run_on(&executors[i], g, in, out)) continue;
    for (uint32_t k = 0; k < g->n_outputs && ran == 0; k++) {
      if (k > 0) nxi_text_add(&blessed, ", ");
      put_value(&blessed, &out[k], g->nodes[g->outputs[k].node].rank > 0);
    }
    if (blessing && ran == 0) expected = strstr(blessed.data, "==");
    compare_outputs(f, line, executors[i].name, blanks(expected + 2), g, out);
    ran++;
  }
  assert_true(ran > 0);
  for (uint32_t i = 0; i < g->n_inputs; i++) free(in[i].data);
  for (uint32_t i = 0; i < g->n_outputs; i++) free(out[i].data);
  nxg_destroy(g);
  nxi_text_add(&blessed, "\n");
  return blessed.data;
}

/* ---- refused texts */

static void check_error(const file *f, int line, const char *sentence) {
  nxi_text out = {0};
  nxi_diag d;
  nxi_target target = fixed_target;
  nxp_apply_options o = {&target, true};
  nxi_diag_clear(&d);
  nx_status status = nxp_apply(f->text, f->size, "", &o, &out, &d);
  if (status == NX_OK) fail_msg("%s: line %d is not refused", f->name, line);
  if (d.line != line || strstr(d.message, sentence) == NULL)
    fail_msg("%s: line %d should be refused with \"%s\"; line %d was, with \"%s\"", f->name, line,
             sentence, d.line, d.message);
  nxi_text_free(&out);
}

static void check_round_trip(const file *f) {
  nxi_text first = {0}, second = {0};
  nxi_diag d;
  nxi_target target = fixed_target;
  nxp_apply_options o = {&target, true};
  nxi_diag_clear(&d);
  if (nxp_apply(f->text, f->size, "", &o, &first, &d) != NX_OK)
    fail_msg("%s:%d:%d: %s", f->name, d.line, d.column, d.message);
  if (nxp_apply(first.data, first.size, "", &o, &second, &d) != NX_OK)
    fail_msg("%s, printed: %s", f->name, d.message);
  assert_string_equal(first.data, second.data);
  nxi_text_free(&first);
  nxi_text_free(&second);
}

/* ---- one file */

static void write_file(const file *f, const nxi_text *text) {
  FILE *out = fopen(f->path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(text->data, 1, text->size, out), text->size);
  assert_int_equal(fclose(out), 0);
}

/* The file as it should be: with the check lines and results that the library gives now. */
static void rebuild(const file *f, nxi_text *out, bool *refused) {
  char *line, executors_named[128] = "";
  const char *at = f->text;
  for (int number = 1; (line = next_line(f, &at)) != NULL; number++, free(line)) {
    const char *names = after(line, "; test run"), *run = after(line, "; run:"),
               *error = strstr(line, "; error: ");
    if (after(line, "; check:") != NULL) continue;
    if (run != NULL) {
      char *again = check_run(f, line, run, executors_named);
      nxi_text_add(out, "%s", again);
      nxi_free(again);
      continue;
    }
    nxi_text_add(out, "%s\n", line);
    if (names != NULL) snprintf(executors_named, sizeof executors_named, "%s", names);
    if (error != NULL) check_error(f, number, error + 9);
    *refused = *refused || error != NULL;
    char *lines = expected_lines(f, line);
    if (lines != NULL) nxi_text_add(out, "%s", lines);
    nxi_free(lines);
  }
}

/* Shows the first line that differs. */
static void fail_with_difference(const file *f, const char *is, const char *should) {
  int line = 1;
  while (*is == *should && *is) line += *is == '\n', is++, should++;
  while (is > f->text && is[-1] != '\n') is--, should--;
  fail_msg("%s:%d: here is\n  %.*s\nbut the library gives\n  %.*s\n(NX_BLESS=1 accepts that)",
           f->name, line, (int)strcspn(is, "\n"), is, (int)strcspn(should, "\n"), should);
}

static void test_file(void **state) {
  const file *f = *state;
  nxi_text again = {0};
  bool refused = false;
  rebuild(f, &again, &refused);
  assert_false(again.failed);
  if (!refused) check_round_trip(f);
  if (strcmp(again.data, f->text) != 0) {
    if (!blessing) fail_with_difference(f, f->text, again.data);
    write_file(f, &again);
  }
  nxi_text_free(&again);
}

/* ---- all passes */

static bool has_word(const char *text, const char *word) {
  size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)) != NULL; at += n)
    if ((at == text || strchr(" ,", at[-1])) && strchr(" ,", at[n])) return true;
  return false;
}

/* Whether the pass changes what those before it in the command leave. */
static bool does_something(const file *f, const char *arguments, const char *pass) {
  nxi_text texts[2] = {{0}};
  for (int with = 0; with < 2; with++) {
    char names[256];
    nxi_diag d;
    nxi_diag_clear(&d);
    pass_names(arguments, pass, with, names);
    if (apply_names(f, arguments, names, &texts[with], &d) != NX_OK)
      fail_msg("%s: %s", f->name, d.message);
  }
  bool differ = strcmp(texts[0].data, texts[1].data) != 0;
  nxi_text_free(&texts[0]);
  nxi_text_free(&texts[1]);
  return differ;
}

/* Every row of pass_list.def is in the command of some file whose lines it changes: a pass that did
 * nothing would be noticed. */
static void test_every_pass_has_a_file(void **state) {
  static const char *const passes[] = {
#define NXP_PASS(name, stage, optional, gives) #name,
#include "passes/pass_list.def"
#undef NXP_PASS
  };
  (void)state;
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
    bool found = false;
    for (size_t k = 0; k < n_files && !found; k++) {
      char *line;
      const char *at = files[k].text;
      for (; (line = next_line(&files[k], &at)) != NULL; free(line)) {
        const char *names = after(line, "; test pass");
        found = found || (names != NULL && has_word(names, passes[i]) &&
                          does_something(&files[k], names, passes[i]));
      }
    }
    if (!found) fail_msg("no golden file shows what the pass %s does", passes[i]);
  }
}

/* Plans are made after all passes. */
static void test_a_plan_has_a_file(void **state) {
  (void)state;
  for (size_t k = 0; k < n_files; k++)
    if (strstr(files[k].text, "\n; test dump plan\n; check: plan: ") != NULL ||
        strncmp(files[k].text, "; test dump plan\n; check: plan: ", 32) == 0)
      return;
  fail_msg("no golden file shows a plan");
}

/* ---- all files */

static void read_file(file *f) {
  FILE *in = fopen(f->path, "rb");
  if (in == NULL) abort();
  fseek(in, 0, SEEK_END);
  f->size = (size_t)ftell(in);
  rewind(in);
  f->text = calloc(f->size + 1, 1);
  if (f->text == NULL || fread(f->text, 1, f->size, in) != f->size) abort();
  fclose(in);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const file *)a)->name, ((const file *)b)->name);
}

static void find_files(const char *directory) {
  DIR *d = opendir(directory);
  struct dirent *e;
  if (d == NULL) return;
  while ((e = readdir(d)) != NULL && n_files < MAX_FILES) {
    size_t n = strlen(e->d_name);
    if (n < 5 || strcmp(e->d_name + n - 5, ".nxir") != 0) continue;
    file *f = &files[n_files++];
    snprintf(f->name, sizeof f->name, "%.255s", e->d_name);
    snprintf(f->path, sizeof f->path, "%.700s/%.255s", directory, e->d_name);
    read_file(f);
  }
  closedir(d);
  qsort(files, n_files, sizeof files[0], by_name);
}

NXT_MAIN(golden) {
  static struct CMUnitTest tests[MAX_FILES + 2];
  const char *bless = getenv("NX_BLESS");
  blessing = bless != NULL && strcmp(bless, "1") == 0;
  find_files(argc > 1 ? argv[1] : "tests/golden");
  if (n_files == 0) {
    fprintf(stderr, "there are no golden files in %s\n", argc > 1 ? argv[1] : "tests/golden");
    return 1;
  }
  for (size_t i = 0; i < n_files; i++)
    tests[i] = (struct CMUnitTest){
        .name = files[i].name, .test_func = test_file, .initial_state = &files[i]};
  tests[n_files] =
      (struct CMUnitTest){.name = "every pass has a file", .test_func = test_every_pass_has_a_file};
  tests[n_files + 1] =
      (struct CMUnitTest){.name = "a plan has a file", .test_func = test_a_plan_has_a_file};
  int failed = nxt_run_group("golden", tests, n_files + 2, NULL, NULL);
  for (size_t i = 0; i < n_files; i++) free(files[i].text);
  return failed;
}
