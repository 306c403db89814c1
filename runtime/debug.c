/* SPDX-License-Identifier: ISC */
/* NX_DEBUG, NX_SKIP, NX_DUMP_DIR, NX_EXECUTOR: the one place that reads them, and, with nan.c, the only ones that print. */
#include "runtime/debug.h"

#include <stdlib.h>

#include "passes/pipeline.h"

static const struct word {
  const char *name, *sentence;
} words[NXI_DEBUG_ROWS] = {
#define NXI_DEBUG_ROW(name, sentence) {#name, sentence},
    NXI_DEBUG_WORDS(NXI_DEBUG_ROW)
#undef NXI_DEBUG_ROW
};

static _Atomic uint32_t flags;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *dump_directory;
static nxp_executor executor = NXP_LLVM;
static bool interpret_tiny = true;
static _Atomic uint32_t dumped;

uint32_t nxi_debug_flags(void) { return atomic_load_explicit(&flags, memory_order_relaxed); }
nxp_executor nxi_debug_executor(void) { return executor; }
bool nxi_debug_interpret_tiny(void) { return interpret_tiny; }
bool nxi_debug_fuse(void) { return !(nxi_debug_flags() & NXI_DEBUG_nofuse); }

const char *nx_debug_help(void) {
  return "words of NX_DEBUG, separated by commas:\n"
#define NXI_DEBUG_ROW(name, sentence) "  " #name ": " sentence "\n"
      NXI_DEBUG_WORDS(NXI_DEBUG_ROW)
#undef NXI_DEBUG_ROW
          ;
}

/* ---- stages as they come about */

static bool wants(const char *stage) {
  if (dump_directory) return true;
  uint32_t f = nxi_debug_flags();
  for (int i = 0; i < NXI_DEBUG_ROWS; i++)
    if (f >> i & 1 && !strcmp(words[i].name, stage)) return true;
  return false;
}

static void write_file(const char *stage, const char *name, const char *text) {
  char path[1024], clean[64];
  size_t n = 0;
  for (; name && name[n] && n < sizeof clean - 1; n++) {
    bool plain = (name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') ||
                 (name[n] >= '0' && name[n] <= '9');
    clean[n] = plain ? name[n] : '_';
  }
  clean[n] = 0;
  const char *suffix = !strcmp(stage, "graph")  ? "nxir"
                       : !strcmp(stage, "llvm") ? "ll"
                       : !strcmp(stage, "asm")  ? "s"
                                                : "txt";
  unsigned number = atomic_fetch_add(&dumped, 1);
  snprintf(path, sizeof path, "%s/%05u-%s-%s.%s", dump_directory, number, clean[0] ? clean : "f",
           stage, suffix);
  FILE *f = fopen(path, "w");
  if (!f) return;
  fputs(text, f);
  fclose(f);
}

static void show(const char *stage, const char *name, const char *text) {
  if (dump_directory) write_file(stage, name, text);
  uint32_t f = nxi_debug_flags();
  for (int i = 0; i < NXI_DEBUG_ROWS; i++)
    if (f >> i & 1 && !strcmp(words[i].name, stage))
      fprintf(stderr, "-- %s %s\n%s\n", stage, name ? name : "", text);
}

/* ---- parsing */

static bool parse_words(const char *text, uint32_t *out, const char **bad) {
  uint32_t f = 0;
  while (*text) {
    size_t n = strcspn(text, ",");
    int row = 0;
    while (row < NXI_DEBUG_ROWS &&
           !(strlen(words[row].name) == n && !strncmp(words[row].name, text, n)))
      row++;
    if (row < NXI_DEBUG_ROWS) f |= 1u << row;
    else if (n) {
      *bad = text;
      return false;
    }
    text += n + (text[n] == ',');
  }
  *out = f;
  return true;
}

static void apply(uint32_t f) {
  atomic_store(&flags, f);
  nxp_debugging.verify = f & NXI_DEBUG_verify;
  nxp_debugging.roundtrip = f & NXI_DEBUG_roundtrip;
  uint32_t stages = NXI_DEBUG_graph | NXI_DEBUG_clusters | NXI_DEBUG_kernels | NXI_DEBUG_bound |
                    NXI_DEBUG_plan | NXI_DEBUG_llvm | NXI_DEBUG_asm;
  bool any = dump_directory || f & stages;
  nxp_debugging.show = any ? show : NULL;
  nxp_debugging.wants = any ? wants : NULL;
}

static void read_environment(void) {
  uint32_t f = 0;
  const char *text = getenv("NX_DEBUG"), *bad = "", *name = getenv("NX_EXECUTOR");
  if (text && !strcmp(text, "help")) fputs(nx_debug_help(), stderr);
  else if (text && !parse_words(text, &f, &bad))
    fprintf(stderr, "NX_DEBUG: unknown word at \"%s\"\n%s", bad, nx_debug_help());
  if (name && !strcmp(name, "interp")) executor = NXP_GRAPH_INTERP;
  else if (name && !strcmp(name, "kernel-interp")) executor = NXP_KERNEL_INTERP;
  else if (name && !strcmp(name, "llvm")) interpret_tiny = false;
  dump_directory = getenv("NX_DUMP_DIR");
  if (dump_directory && !*dump_directory) dump_directory = NULL;
  nxp_debugging.skip = getenv("NX_SKIP");
#ifndef __OPTIMIZE__
  f |= NXI_DEBUG_verify;
#endif
  apply(f);
}

void nxi_debug_init(void) { pthread_once(&once, read_environment); }

nx_status nx_debug_set(const char *text) {
  uint32_t f;
  const char *bad;
  nxi_debug_init();
  if (parse_words(text ? text : "", &f, &bad)) {
    apply(f);
    return NX_OK;
  }
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "debug", "debug: unknown word at \"%.40s\"", bad);
  return nxi_error_report(&d);
}

/* ---- each run */

void nxi_debug_run(const nxi_run *run, const char *miss, bool interpreted, double ms) {
  uint32_t f = nxi_debug_flags();
  if (f & NXI_DEBUG_cache && miss) fprintf(stderr, "nx: new plan: %s\n", miss);
  if (f & NXI_DEBUG_time)
    fprintf(stderr, "nx: %u nodes, %u inputs, %u outputs, %s: %.3f ms\n", run->n_slots,
            run->n_inputs, run->n_outputs, interpreted ? "interpreted" : "kernels", ms);
  if (f & NXI_DEBUG_nan) nxi_debug_nan(run);
}
