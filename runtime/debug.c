/* SPDX-License-Identifier: ISC */
/* NX_DEBUG, NX_SKIP, NX_DUMP_DIR, NX_EXECUTOR, NX_BACKGROUND, NX_TRACE, NX_CPU_DEVICES. Only this
 * file reads these variables, and only this file and nan.c print. The variables are read once; an
 * error in them is kept, and each creation of a context fails with it. */
#include "runtime/debug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/pipeline.h"
#include "ir/platform/exit.h"
#include "ir/platform/file.h"
#include "ir/platform/thread.h"
#include "runtime/device.h"
#include "runtime/files/file.h"
#include "runtime/record/error.h"
#include "runtime/trace.h"

static const struct word {
  const char *name, *sentence;
} words[NXI_DEBUG_ROWS] = {
#define NXI_DEBUG_ROW(name, sentence) {#name, sentence},
    NXI_DEBUG_WORDS(NXI_DEBUG_ROW)
#undef NXI_DEBUG_ROW
};

/* The values of NX_EXECUTOR. */
static const struct choice {
  const char *name;
  nxi_executor_kind executor;
} choices[] = {
    {"llvm", NXI_COMPILED}, {"kernel-interp", NXI_KERNEL_INTERP}, {"interp", NXI_GRAPH_INTERP}};

/* Stages that exist only for a compiled graph. */
static const uint32_t compiled_stages = NXI_DEBUG_clusters | NXI_DEBUG_kernels | NXI_DEBUG_bound |
                                        NXI_DEBUG_llvm | NXI_DEBUG_asm | NXI_DEBUG_generic;
static const uint32_t all_stages = compiled_stages | NXI_DEBUG_graph | NXI_DEBUG_plan;

static _Atomic uint32_t flags;
static _Atomic uint32_t shown_since; /* counts the requests for stages; 0: none are wanted now */
static nxi_once once = NXI_ONCE_INITIALIZER;
static nxi_diag environment_fault;
static char dump_directory[NXI_PATH / 2]; /* "": none */
static nxi_executor_kind executor = NXI_COMPILED;
static bool llvm_wanted, foreground;
static int32_t cpu_devices = 1;
static _Atomic uint32_t dumped;

uint32_t nxi_debug_flags(void) { return atomic_load_explicit(&flags, memory_order_relaxed); }
nxi_executor_kind nxi_debug_executor(void) { return executor; }
bool nxi_debug_llvm_wanted(void) { return llvm_wanted; }
int32_t nxi_debug_cpu_devices(void) { return cpu_devices; }
bool nxi_debug_fuse(void) { return !(nxi_debug_flags() & NXI_DEBUG_nofuse); }

bool nxi_debug_background(void) { return !foreground && nxi_debug_interpret_tiny(); }

bool nxi_debug_whole(void) { return nxi_debug_flags() & NXI_DEBUG_nopacking; }

bool nxi_debug_interpret_tiny(void) {
  return !llvm_wanted && !dump_directory[0] && !(nxi_debug_flags() & compiled_stages);
}

uint32_t nxi_debug_key(void) {
  return (nxi_debug_fuse() ? 0 : NXI_KEY_UNFUSED) | (nxi_debug_whole() ? NXI_KEY_WHOLE : 0) |
         atomic_load_explicit(&shown_since, memory_order_relaxed) << 3;
}

const char *nx_debug_help(void) {
  return "words of NX_DEBUG, separated by commas:\n"
#define NXI_DEBUG_ROW(name, sentence) "  " #name ": " sentence "\n"
      NXI_DEBUG_WORDS(NXI_DEBUG_ROW)
#undef NXI_DEBUG_ROW
          ;
}

/* ---- showing stages when they are made */

static bool is_printed(const char *stage) {
  uint32_t f = nxi_debug_flags();
  for (int i = 0; i < NXI_DEBUG_ROWS; i++)
    if (f >> i & 1 && !strcmp(words[i].name, stage)) return true;
  return false;
}

static bool wants(const char *stage) { return dump_directory[0] || is_printed(stage); }

/* Texts that nxc can read are .nxir. */
static const char *suffix_of(const char *stage) {
  if (!strcmp(stage, "llvm")) return "ll";
  if (!strcmp(stage, "asm")) return "s";
  if (!strcmp(stage, "cuda") || !strcmp(stage, "refused")) return "cu";
  if (!strcmp(stage, "ptx")) return "ptx";
  return strcmp(stage, "plan") ? "nxir" : "txt";
}

static nx_status write_file(const char *stage, const char *name, const char *text,
                            char path[NXI_PATH], nxi_diag *d) {
  char clean[64];
  size_t n = 0;
  for (; name && name[n] && n < sizeof clean - 1; n++) {
    bool plain = (name[n] >= 'a' && name[n] <= 'z') || (name[n] >= 'A' && name[n] <= 'Z') ||
                 (name[n] >= '0' && name[n] <= '9');
    clean[n] = plain ? name[n] : '_';
  }
  clean[n] = 0;
  unsigned number = atomic_fetch_add(&dumped, 1);
  snprintf(path, NXI_PATH, "%s/%05u-%s-%s.%s", dump_directory, number, clean[0] ? clean : "f",
           stage, suffix_of(stage));
  nxi_diag own;
  nxi_diag_clear(&own);
  if (nxi_file_write_text("dump", path, text, &own) == NX_OK) return NX_OK;
  return nxi_fail(d, own.status, "dump", "NX_DUMP_DIR: %s", own.message);
}

void nxi_debug_keep_refused(const char *name, const char *source, const char *words, nxi_diag *d) {
  nxi_text text = {0};
  char path[NXI_PATH];
  const size_t said = strlen(d->message), room = sizeof d->message - said;
  nxi_diag own;
  nxi_diag_clear(&own);
  if (!dump_directory[0]) {
    snprintf(d->message + said, room, "; with NX_DUMP_DIR=directory its source is kept there");
    return;
  }
  nxi_text_add(&text, "%s\n#if 0 /* NVRTC */\n%s\n#endif\n", source, words);
  if (!text.failed && write_file("refused", name, text.data, path, &own) == NX_OK)
    snprintf(d->message + said, room, "; its source is %s", path);
  else
    snprintf(d->message + said, room, "; its source cannot be kept: %s",
             text.failed ? "no memory" : own.message);
  nxi_text_free(&text);
}

static nx_status show(const char *stage, const char *name, const char *text, nxi_diag *d) {
  if (is_printed(stage)) fprintf(stderr, "-- %s %s\n%s\n", stage, name ? name : "", text);
  char path[NXI_PATH];
  return dump_directory[0] ? write_file(stage, name, text, path, d) : NX_OK;
}

nx_status nxi_debug_graph(const nxi_run *run, nxi_diag *d) {
  nxg_graph *g = NULL;
  nxi_text text = {0};
  if (!wants("graph")) return NX_OK;
  nx_status status = nxi_decode(run, true, &g, d);
  if (status) return status;
  nxg_print(g, &text);
  status = nxp_show("graph", g->name, &text, d);
  nxg_destroy(g);
  return status;
}

/* ---- lists of words */

typedef const char *name_of_row(int row); /* NULL: the row cannot be chosen */

static const char *debug_word(int row) { return words[row].name; }
static const char *skip_word(int row) {
  return nxp_passes[row].optional ? nxp_passes[row].name : NULL;
}
static const char *executor_word(int row) { return choices[row].name; }
static const char *switch_word(int row) { return row == 0 ? "off" : "on"; }

static int find_row(name_of_row *name_of, int rows, const char *word, size_t n) {
  for (int row = 0; row < rows; row++) {
    const char *name = name_of(row);
    if (name && strlen(name) == n && !strncmp(name, word, n)) return row;
  }
  return -1;
}

/* "VARIABLE: there is no WHAT "word"; known are a, b, c" */
static nx_status fail_word(const char *variable, const char *what, name_of_row *name_of, int rows,
                           const char *word, size_t n, nxi_diag *d) {
  char known[400];
  size_t used = 0;
  for (int row = 0; row < rows; row++)
    if (name_of(row) && used < sizeof known)
      used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                               name_of(row));
  return nxi_fail(d, NX_INVALID_ARGUMENT, "debug", "%s: there is no %s \"%.*s\"; known are %s",
                  variable, what, n < 60 ? (int)n : 60, word, known);
}

/* A bit for the row of each word between commas; untouched if one is unknown. */
static nx_status parse_words(const char *variable, const char *what, name_of_row *name_of, int rows,
                             const char *text, uint64_t *out, nxi_diag *d) {
  uint64_t mask = 0;
  for (size_t n; *text; text += n + (text[n] == ',')) {
    n = strcspn(text, ",");
    int row = n ? find_row(name_of, rows, text, n) : -1;
    if (row >= 0) mask |= UINT64_C(1) << row;
    else if (n) return fail_word(variable, what, name_of, rows, text, n, d);
  }
  *out = mask;
  return NX_OK;
}

static nx_status parse_debug(const char *variable, const char *text, uint32_t *out, nxi_diag *d) {
  uint64_t words = *out;
  nx_status status = parse_words(variable, "word", debug_word, NXI_DEBUG_ROWS, text, &words, d);
  *out = (uint32_t)words;
  return status;
}

/* ---- settings */

/* from_start: no handle was made before. */
static void apply(uint32_t f, bool from_start) {
  static _Atomic uint32_t requests;
  if (f & NXI_DEBUG_help) fputs(nx_debug_help(), stderr);
#ifndef __OPTIMIZE__
  f |= NXI_DEBUG_verify;
#endif
  atomic_store(&flags, f);
  atomic_store(&shown_since, f & all_stages ? atomic_fetch_add(&requests, 1) + 1 : 0);
  nxp_debugging.verify = f & NXI_DEBUG_verify;
  nxp_debugging.roundtrip = f & NXI_DEBUG_roundtrip;
  nxp_debugging.generic = f & NXI_DEBUG_integers;
  nxi_watch_set(f & NXI_DEBUG_handles, from_start);
}

static void read_executor(const char *name) {
  int n = (int)(sizeof choices / sizeof choices[0]);
  int row = find_row(executor_word, n, name, strlen(name));
  if (row < 0) {
    fail_word("NX_EXECUTOR", "executor", executor_word, n, name, strlen(name), &environment_fault);
    return;
  }
  executor = choices[row].executor;
  llvm_wanted = executor == NXI_COMPILED;
}

static void read_background(const char *name) {
  int row = find_row(switch_word, 2, name, strlen(name));
  if (row < 0)
    fail_word("NX_BACKGROUND", "setting", switch_word, 2, name, strlen(name), &environment_fault);
  foreground = row == 0;
}

static void read_cpu_devices(const char *text) {
  char *end;
  long n = strtol(text, &end, 10);
  if (*end == 0 && n >= 1 && n <= NXI_MOST_OF_A_KIND) cpu_devices = (int32_t)n;
  else
    nxi_fail(&environment_fault, NX_INVALID_ARGUMENT, "debug",
             "NX_CPU_DEVICES: \"%.60s\" is no number from 1 to %d", text, NXI_MOST_OF_A_KIND);
}

static void read_isa(const char *name) {
  nxi_target ignored;
  if (nxi_target_for_isa(name, &ignored)) return;
  nxi_fail(&environment_fault, NX_INVALID_ARGUMENT, "debug",
           "NX_ISA: this processor has no instruction set \"%.60s\"; its widest is %s, and every "
           "one has generic",
           name, nxi_target_host()->isa);
}

/* Makes the directory if only its last part is missing. */
static void read_dump_directory(const char *path) {
  nxi_file_info f = {0};
  char reason[NXI_SYSTEM_ERROR];
  int n = snprintf(dump_directory, sizeof dump_directory, "%s", path);
  if (n >= (int)sizeof dump_directory) errno = ENAMETOOLONG;
  else if (nxi_path_make_folder(path, 0777) || errno == EEXIST)
    errno = nxi_path_info(path, &f) ? 0 : errno;
  if (!errno && !f.folder) errno = ENOTDIR;
  if (!errno && nxi_path_folder_usable(path)) return;
  nxi_fail(&environment_fault, NX_IO, "debug",
           "NX_DUMP_DIR: the directory \"%.300s\" cannot be written: %s", path,
           nxi_system_error(errno, reason));
}

static void write_trace(void) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_trace_is_on() && nxi_trace_end(&d) != NX_OK)
    fprintf(stderr, "nx: NX_TRACE: %s\n", d.message);
}

static void begin_trace(const char *path) {
  nxi_diag own;
  nxi_diag_clear(&own);
  nx_status status = nxi_trace_begin(path, &own);
  if (status == NX_OK && !nxi_exit_call(write_trace)) status = nxi_oom(&own);
  if (status != NX_OK)
    nxi_fail(&environment_fault, own.status, "debug", "NX_TRACE: %s", own.message);
}

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

static void read_environment(void) {
  nxi_diag *d = &environment_fault;
  uint32_t f = 0;
  const char *text;
  nxi_diag_clear(d);
  if ((text = variable("NX_DEBUG"))) parse_debug("NX_DEBUG", text, &f, d);
  if ((text = variable("NX_SKIP")))
    parse_words("NX_SKIP", "optional pass", skip_word, NXP_PASSES, text, &nxp_debugging.skip, d);
  if ((text = variable("NX_EXECUTOR"))) read_executor(text);
  if ((text = variable("NX_BACKGROUND"))) read_background(text);
  if ((text = variable("NX_ISA"))) read_isa(text);
  if ((text = variable("NX_CPU_DEVICES"))) read_cpu_devices(text);
  if ((text = variable("NX_DUMP_DIR"))) read_dump_directory(text);
  if ((text = variable("NX_TRACE"))) begin_trace(text);
  nxp_debugging.wants = wants;
  nxp_debugging.show = show;
  apply(f, true);
}

nx_status nxi_debug_init(nxi_diag *d) {
  nxi_once_run(&once, read_environment);
  if (environment_fault.status) *d = environment_fault;
  return environment_fault.status;
}

nx_status nx_debug_set(const char *text) {
  uint32_t f = 0;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_debug_init(&d); /* failures are reported when a context is created */
  nxi_diag_clear(&d);
  if (parse_debug("debug", text ? text : "", &f, &d)) return nxi_error_report(&d);
  apply(f, false);
  return NX_OK;
}

/* ---- after each run */

void nxi_debug_run(const nxi_run *run, uint32_t nodes, const char *miss, bool interpreted,
                   double ms) {
  static _Atomic bool said;
  uint32_t f = nxi_debug_flags();
  const char *reason = interpreted ? run->report->interpreted_reason : NULL;
  if (f & (NXI_DEBUG_time | NXI_DEBUG_cache | NXI_DEBUG_plan) && reason &&
      !atomic_exchange(&said, true))
    fprintf(stderr, "nx: kernels are interpreted: %s\n", reason);
  if (f & NXI_DEBUG_cache && miss) {
    const char *detail = run->report->miss_detail;
    fprintf(stderr, "nx: new plan: %s%s%s\n", miss, *detail ? "; " : "", detail);
  }
  if (f & NXI_DEBUG_time)
    fprintf(stderr, "nx: %u nodes, %u inputs, %u outputs, %s: %.3f ms\n", nodes, run->n_inputs,
            run->n_outputs, interpreted ? "interpreted" : "kernels", ms);
  if (f & NXI_DEBUG_nan) nxi_debug_nan(run);
}
