/* SPDX-License-Identifier: ISC */
/* Counts of the code that graphs become, beside a record: kernels, temporary bytes of the plan, and
 * instructions of all kernels as assembly and as LLVM gets them, for AVX2 and AVX-512 on any
 * machine. What LLVM gets and what it makes of that are what compiling costs, nearly all of it, so
 * they stand for the time, which no test could hold on a busy machine. The graphs are the
 * golden ones that have a plan (counts.txt), or those of the benchmark's rows, which nx-bench
 * writes (counts_bench.txt). More kernels than recorded are a fault, and so are more bytes or
 * instructions by over 5 %. NX_BLESS=1 writes the record anew, a line a graph, so that a change of
 * the code generator shows what it costs and saves. Instructions are compared only with the LLVM
 * of the record.
 * Arguments: the directory of the record; nx-bench, for its rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen_llvm/codegen_llvm.h"
#include "config.h"
#include "runtime/launch/launch.h"
#include "tests/util/runner.h"

enum { MOST = 512, SLACK = 10 }; /* instructions by which small kernels may grow */

typedef struct counts {
  char name[128], isa[16];
  long long kernels, bytes, instructions, given; /* given: to LLVM */
} counts;

static counts found[MOST], recorded[MOST];
static int n_found, n_recorded;
static char record_llvm[64];
static const char *directory; /* of the graphs */
static char record[1024];     /* the file */

static nxi_target target_of(const char *isa) {
  nxi_target t = {.isa = "",
                  .cpu = "counts",
                  .vector_bytes = strcmp(isa, "avx512") == 0 ? 64 : 32,
                  .threads = 2,
                  .l1_bytes = 32 << 10,
                  .l2_bytes = 1 << 20,
                  .l3_bytes = 32 << 20};
  snprintf(t.isa, sizeof t.isa, "%s", isa);
  return t;
}

static bool dump(const char *text, const char *isa, const char *stage, nxi_text *out) {
  nxi_target target = target_of(isa);
  nxi_executable_options o = {
      .executor = NXI_COMPILED, .fuse = true, .target = &target, .threads = 2, .printed = true};
  nxi_diag d;
  nxi_diag_clear(&d);
  return nxi_dump_text(text, strlen(text), &o, stage, out, &d) == NX_OK && out->data != NULL;
}

/* Lines that contain the word. */
static long long lines_with(const char *text, const char *word) {
  long long n = 0;
  for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) n++;
  return n;
}

/* Lines of assembly that begin with a tab and are no directive. */
static long long instructions_of(const char *text) {
  long long n = 0;
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    n += line[0] == '\t' && line[1] != '.' && line[1] != '#';
  }
  return n;
}

/* Lines of LLVM IR that begin with two spaces: the instructions. */
static long long given_by(const char *text) {
  long long n = 0;
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    n += line[0] == ' ' && line[1] == ' ';
  }
  return n;
}

static void count(const char *name, const char *text, const char *isa) {
  nxi_text plan = {0}, code = {0}, ir = {0};
  counts *c = &found[n_found];
  assert_true(n_found < MOST);
  if (dump(text, isa, "plan", &plan)) {
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->isa, sizeof c->isa, "%s", isa);
    c->kernels = lines_with(plan.data, ": kernel ");
    const char *bytes = strstr(plan.data, " steps, ");
    c->bytes = bytes != NULL ? strtoll(bytes + 8, NULL, 10) : 0;
    if (dump(text, isa, "asm", &code)) c->instructions = instructions_of(code.data);
    if (dump(text, isa, "llvm", &ir)) c->given = given_by(ir.data);
    n_found++;
  }
  nxi_text_free(&plan);
  nxi_text_free(&code);
  nxi_text_free(&ir);
}

static void count_file(const char *name) {
  static char text[1 << 16];
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  if (f == NULL) return;
  size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = 0;
  if (strstr(text, "\ngraph ") == NULL || strncmp(name, "error_", 6) == 0) return;
  count(name, text, "avx2");
  count(name, text, "avx512");
}

static int by_name(const void *a, const void *b) {
  const counts *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order != 0 ? order : strcmp(x->isa, y->isa);
}

static void read_record(void) {
  FILE *f = fopen(record, "r");
  char line[512];
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    counts *c = &recorded[n_recorded];
    sscanf(line, "# LLVM %63s", record_llvm);
    n_recorded += n_recorded < MOST && line[0] != '#' &&
                  sscanf(line, "%127s %15s %lld %lld %lld %lld", c->name, c->isa, &c->kernels,
                         &c->bytes, &c->instructions, &c->given) == 6;
  }
  if (f != NULL) fclose(f);
}

static void write_record(void) {
  FILE *f = fopen(record, "w");
  int longest = 0;
  assert_non_null(f);
  if (f == NULL) return;
  for (int i = 0; i < n_found; i++)
    longest = (int)strlen(found[i].name) > longest ? (int)strlen(found[i].name) : longest;
  fprintf(f,
          "# SPDX-License-Identifier: ISC\n# LLVM %s\n# Written by test_counts.c with NX_BLESS=1: "
          "kernels, temporary bytes, instructions, instructions of LLVM IR\n",
          NX_LLVM_VERSION);
  for (int i = 0; i < n_found; i++)
    fprintf(f, "%-*s %-6s %3lld %8lld %6lld %6lld\n", longest, found[i].name, found[i].isa,
            found[i].kernels, found[i].bytes, found[i].instructions, found[i].given);
  assert_int_equal(fclose(f), 0);
}

static bool grew(long long now, long long before, long long slack) {
  return (double)now > (double)before * 1.05 && now > before + slack;
}

static int compare(const counts *now, const counts *before) {
  bool same_llvm = strcmp(record_llvm, NX_LLVM_VERSION) == 0;
  if (now->kernels <= before->kernels && !grew(now->bytes, before->bytes, 0) &&
      !grew(now->given, before->given, SLACK) &&
      !(same_llvm && grew(now->instructions, before->instructions, SLACK)))
    return 0;
  print_error("%s %s: kernels %lld, were %lld; temporary bytes %lld, were %lld; instructions %lld, "
              "were %lld; of LLVM IR %lld, were %lld\n",
              now->name, now->isa, now->kernels, before->kernels, now->bytes, before->bytes,
              now->instructions, before->instructions, now->given, before->given);
  return 1;
}

static void as_recorded(void **state) {
  int faults = 0;
  long long sums[2] = {0};
  (void)state;
  if (getenv("NX_BLESS") != NULL) write_record();
  read_record();
  assert_true(n_found > 60); /* else hardly any graph has a plan */
  for (int i = 0; i < n_found; i++) {
    const counts *before =
        bsearch(&found[i], recorded, (size_t)n_recorded, sizeof *recorded, by_name);
    if (before == NULL) print_message("%s %s is new\n", found[i].name, found[i].isa);
    else faults += compare(&found[i], before);
    sums[0] += before != NULL ? before->instructions : 0;
    sums[1] += found[i].instructions;
  }
  print_message("%d forms of graphs: %lld instructions, recorded %lld\n", n_found, sums[1],
                sums[0]);
  if (faults > 0) fail_msg("%d graphs have grown; NX_BLESS=1 records that", faults);
}

static int names(const void *a, const void *b) { return strcmp(a, b); }

static void count_directory(void) {
  static char files[MOST][128];
  size_t n = 0;
  DIR *d = opendir(directory);
  for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    size_t size = strlen(e->d_name);
    if (size > 5 && size < 128 && strcmp(e->d_name + size - 5, ".nxir") == 0 && n < MOST)
      memcpy(files[n++], e->d_name, size + 1);
  }
  if (d != NULL) closedir(d);
  qsort(files, n, sizeof files[0], names);
  for (size_t i = 0; i < n; i++) count_file(files[i]);
}

/* Counts the graphs that nx-bench writes of its rows. */
static void count_bench(const char *bench) {
  char folder[] = "/tmp/nx_counts_XXXXXX", command[1024];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "'%s' --graphs %s", bench, folder);
  assert_int_equal(system(command), 0);
  directory = folder;
  count_directory();
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  directory = NULL;
}

NXT_MAIN(counts) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_recorded)};
  directory = argc > 1 ? argv[1] : "tests/golden";
  snprintf(record, sizeof record, "%s/%s", directory, argc > 2 ? "counts_bench.txt" : "counts.txt");
  if (nxl_unavailable() != NULL) return 77;
  if (argc > 2) count_bench(argv[2]);
  else count_directory();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
