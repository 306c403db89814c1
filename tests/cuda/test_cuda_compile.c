/* SPDX-License-Identifier: ISC */
/* NVRTC compiles kernels for the kind of GPU named, and none keeps values of its threads in memory.
 * test_cuda_compile ARCH FIRST COUNT [PROCESSES]: those of random graphs;
 * test_cuda_compile ARCH DIRECTORY - [PROCESSES]: those of all texts there: .nxir, graphs and
 * kernels, and .cu, whole sources. Equal sources count once. Without NVRTC: skipped, with the
 * reason. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "codegen_cuda/codegen_cuda.h"
#include "runtime/launch/launch.h"
#include "tests/random/generator/graph.h"
#include "tests/util/runner.h"

typedef struct source {
  char *text;
  uint32_t hash;
} source;

static source *sources;
static size_t n_sources, cap_sources;
static uint32_t *slots; /* open addressing, 0 is free, twice as many as there is room for sources */
static const char *arch;

static void *must(void *p) {
  if (p != NULL) return p;
  fprintf(stderr, "out of memory\n");
  exit(1);
}

/* ---- what there is to compile */

static uint32_t *slot_of(const char *text, uint32_t hash) {
  size_t at = hash % (2 * cap_sources);
  for (; slots[at] != 0; at = (at + 1) % (2 * cap_sources)) {
    const source *s = &sources[slots[at] - 1];
    if (s->hash == hash && strcmp(s->text, text) == 0) break;
  }
  return &slots[at];
}

static void grow(void) {
  cap_sources = cap_sources > 0 ? 2 * cap_sources : 256;
  sources = must(realloc(sources, cap_sources * sizeof *sources));
  free(slots);
  slots = must(calloc(2 * cap_sources, sizeof *slots));
  for (size_t i = 0; i < n_sources; i++)
    *slot_of(sources[i].text, sources[i].hash) = (uint32_t)i + 1;
}

/* Takes the text over. */
static void add(char *text) {
  uint32_t hash = 2166136261u;
  must(text);
  for (const char *c = text; *c != 0; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
  if (n_sources == cap_sources) grow();
  uint32_t *slot = slot_of(text, hash);
  if (*slot != 0) {
    free(text);
    return;
  }
  sources[n_sources++] = (source){text, hash};
  *slot = (uint32_t)n_sources;
}

/* The kernels of a dump, each of which becomes a source; with hand-written ones (shown.h) the dump
 * is one. */
static void add_kernels(const nxi_text *dump) {
  static const char head[] = "extern \"C\" __global__";
  if (dump->size > 0 && strstr(dump->data, "namespace nx_own_") != NULL) {
    add(strdup(dump->data));
    return;
  }
  const char *at = dump->size > 0 ? strstr(dump->data, head) : NULL;
  while (at != NULL) {
    const char *next = strstr(at + 1, head);
    const size_t size = next != NULL ? (size_t)(next - at) : strlen(at);
    char *text = NULL;
    if (asprintf(&text, "%s%.*s", nxu_prelude(), (int)size, at) < 0) text = NULL;
    add(text);
    at = next;
  }
}

static nxi_executable_options options_of(const nxi_target *target) {
  return (nxi_executable_options){
      .executor = NXI_KERNEL_INTERP, .fuse = true, .target = target, .threads = 1};
}

static bool add_graph(uint64_t seed, const nxi_target *target) {
  nxi_diag d;
  nxi_text dump = {0};
  nxt_graph_options drawn = nxt_graph_options_of(seed);
  nxg_graph *g = must(nxt_random_graph(seed, &drawn));
  nxi_executable_options o = options_of(target);
  nxi_diag_clear(&d);
  bool good = nxi_dump(g, &o, "cuda", &dump, &d) == NX_OK;
  if (good) add_kernels(&dump);
  else printf("seed %" PRIu64 ": %s\n", seed, d.message);
  nxi_text_free(&dump);
  nxg_destroy(g);
  return good;
}

static char *read_file(const char *directory, const char *name) {
  char *path = NULL;
  if (asprintf(&path, "%s/%s", directory, name) < 0) must(NULL);
  FILE *f = fopen(path, "rb");
  free(path);
  if (f == NULL || fseek(f, 0, SEEK_END) != 0) return f != NULL ? fclose(f), NULL : NULL;
  long size = ftell(f);
  char *text = must(calloc(1, (size_t)(size > 0 ? size : 0) + 1));
  rewind(f);
  bool good = size >= 0 && fread(text, 1, (size_t)size, f) == (size_t)size;
  fclose(f);
  if (good) return text;
  free(text);
  return NULL;
}

/* A text that is wrong, as some of the golden ones are, has no kernels. */
static void add_text(const char *text, const nxi_target *target) {
  nxi_diag d;
  nxi_text dump = {0};
  nxi_executable_options o = options_of(target);
  nxi_diag_clear(&d);
  if (nxi_dump_text(text, strlen(text), &o, "cuda", &dump, &d) == NX_OK) add_kernels(&dump);
  nxi_text_free(&dump);
}

static bool add_directory(const char *directory, const nxi_target *target) {
  DIR *d = opendir(directory);
  if (d == NULL) return false;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    const char *suffix = strrchr(e->d_name, '.');
    bool cuda = suffix != NULL && strcmp(suffix, ".cu") == 0;
    if (!cuda && (suffix == NULL || strcmp(suffix, ".nxir") != 0)) continue;
    char *text = read_file(directory, e->d_name);
    if (text == NULL) continue;
    if (cuda) add(text);
    else add_text(text, target), free(text);
  }
  closedir(d);
  return true;
}

/* ---- compiling, by processes that share nothing but their tallies: NVRTC does one program at a
 * time */

typedef struct tally {
  uint64_t compiled, refused, in_memory;
  int64_t most_registers;
  double ms, longest_ms;
} tally;

/* Of the processor: others may use it, too. */
static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void compile(const char *text, tally *sum) {
  nxu_use use = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  double start = now_ms();
  nx_status status = nxu_measure(text, "kernel", arch, &use, &d);
  double ms = now_ms() - start;
  bool spills = status == NX_OK && use.stack_bytes + use.spill_bytes > 0;
  sum->compiled++;
  sum->refused += status != NX_OK;
  sum->in_memory += spills;
  sum->ms += ms;
  if (ms > sum->longest_ms) sum->longest_ms = ms;
  if (use.registers > sum->most_registers) sum->most_registers = use.registers;
  if (status != NX_OK) printf("%s\n%s\n", d.message, text);
  if (spills)
    printf("%lld bytes of a thread's values are in memory, %lld are moved there and back\n%s\n",
           (long long)use.stack_bytes, (long long)use.spill_bytes, text);
}

static tally *compile_all(int processes) {
  size_t bytes = (size_t)processes * sizeof(tally);
  tally *sums = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  must(sums != MAP_FAILED ? sums : NULL);
  for (int k = 0; k < processes; k++) {
    fflush(stdout);
    if (k < processes - 1 && fork() != 0) continue; /* the last share is the parent's */
    for (size_t i = (size_t)k; i < n_sources; i += (size_t)processes)
      compile(sources[i].text, &sums[k]);
    if (k < processes - 1) exit(0);
  }
  while (wait(NULL) > 0) continue;
  return sums;
}

static bool report(const tally *sums, int processes) {
  tally t = {0};
  for (int k = 0; k < processes; k++) {
    t.compiled += sums[k].compiled;
    t.refused += sums[k].refused;
    t.in_memory += sums[k].in_memory;
    t.ms += sums[k].ms;
    if (sums[k].longest_ms > t.longest_ms) t.longest_ms = sums[k].longest_ms;
    if (sums[k].most_registers > t.most_registers) t.most_registers = sums[k].most_registers;
  }
  printf("%s, %s: %" PRIu64
         " of %zu kernels, %.1f ms each, %.0f the longest, at most %lld registers; "
         "%" PRIu64 " refused, %" PRIu64 " with values in memory\n",
         nxu_environment(), arch, t.compiled, n_sources, t.ms / (double)(t.compiled + !t.compiled),
         t.longest_ms, (long long)t.most_registers, t.refused, t.in_memory);
  return t.compiled == n_sources && n_sources > 0 && t.refused + t.in_memory == 0;
}

NXT_MAIN(cuda_compile) {
  nxi_target target;
  bool good = true;
  if (nxu_unavailable() != NULL) {
    printf("%s\n", nxu_unavailable());
    return 77;
  }
  arch = argc > 1 ? argv[1] : "";
  int processes = argc > 4 ? atoi(argv[4]) : 1;
  if (argc < 4 || processes < 1 || !nxi_target_for_isa(arch, &target)) {
    fprintf(stderr, "usage: test_cuda_compile ARCH (FIRST COUNT | DIRECTORY -) [PROCESSES]\n");
    return 2;
  }
  uint64_t first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
  if (strchr(argv[2], '/') != NULL) good = add_directory(argv[2], &target);
  else
    for (uint64_t i = 0; i < count; i++) good = add_graph(first + i, &target) && good;
  good = report(compile_all(processes), processes) && good;
  for (size_t i = 0; i < n_sources; i++) free(sources[i].text);
  free(sources);
  free(slots);
  return !good;
}
