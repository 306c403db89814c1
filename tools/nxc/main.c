/* SPDX-License-Identifier: ISC */
/* nxc: runs graphs in text form over .npy files, and shows what the compiler makes of them. */
#include <stdio.h>
#include <string.h>

#include "ir/text/near.h"
#include "nx/nx.h"
#include "nxc.h"

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *help;
} command;

static const command commands[] = {
    {"run", nxc_run,
     "  run FILE.nxir [--input NAME=FILE.npy]... [--output NAME=FILE.npy]...\n"
     "      [--fill] [--device cpu|interp|cuda] [--threads N] [--time] [--trace FILE.json]\n"
     "      [--infeed FILE.npy]... [--outfeed FILE.npy]... [--recv CHANNEL=FILE.npy]...\n"
     "      [--send CHANNEL=FILE.npy]...\n"
     "                  run a graph; an input of rank 0 may be given as a number, --input x=3.5,\n"
     "                  one that is in an .npz or .safetensors file as FILE:NAME, or as FILE if "
     "it\n"
     "                  has the input's name there;\n"
     "                  outputs that no file is named for are printed. --fill: inputs without\n"
     "                  --input get numbers, the same each time: floats from 0 to 1, integers 0 or "
     "1.\n"
     "                  --infeed, --recv: the arrays that a program in StableHLO reads while it\n"
     "                  runs, in their order; --outfeed, --send: a file for each that it writes\n"
     "                  --time: a line for each step too. --trace: for Perfetto, "
     "chrome://tracing\n"},
    {"opt", nxc_opt,
     "  opt FILE.nxir [--passes NAME,NAME...] [--each] [--isa ISA]\n"
     "                  print a graph or a kernel after the passes named; without names a graph\n"
     "                  after all graph passes. --each: with what each pass changed, as remarks "
     "in front\n"
     "                  Passes:"
#define NXP_PASS(name, stage, optional, gives) " " #name
#include "passes/pass_list.def"
#undef NXP_PASS
     "\n"},
    {"dump", nxc_dump,
     "  dump FILE.nxir\n"
     "      --stage graph|clusters|kernels|bound|generic|plan|llvm|asm|gpu|cuda|ptx|sass|dot\n"
     "      [--isa ISA]\n"
     "                  print one stage of the compiler; of a kernel: kernels, bound, generic\n"
     "                  (which kernels share code), llvm, asm, gpu (bound for a GPU), cuda\n"
     "                  (CUDA C, a file that nvcc -std=c++17 -fmad=false compiles), ptx, or sass\n"
     "                  (by nvdisasm)\n"},
    {"import", nxc_import,
     "  import FILE.mlir\n"
     "                  print a program in StableHLO, text or portable artifact, as the text of a "
     "graph;\n"
     "                  run, opt and dump take such files as well\n"},
    {"info", nxc_info, "  info            version, processor, libraries, devices, cache\n"},
    {"cache", nxc_cache,
     "  cache list|verify|trim|clear [--dir DIRECTORY] [--size BYTES[K|M|G]]\n"
     "                  the kernels on disk: list them, remove damaged ones, cut down to a size, "
     "remove all\n"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const char notes[] =
    "\n"
    "FILE may be - for standard input. ISA is avx512, avx2, generic or neon; without it, this "
    "machine's.\n"
    "For gpu, cuda, ptx and sass it is a kind of GPU, such as sm_90 (the one without it) or "
    "sm_80.\n"
    "Exit status: 0 done; 1 failed, with the reason as FILE:LINE:COLUMN: sentence; 2 wrong use.\n";

/* The text of one command, or of all. */
static int help(FILE *where, const command *one, int status) {
  fprintf(where, "usage: nxc %s ...\n\n", one == NULL ? "COMMAND" : one->name);
  for (size_t i = 0; i < COMMANDS; i++)
    if (one == NULL || one == &commands[i]) fputs(commands[i].help, where);
  if (one == NULL)
    fputs("  help [COMMAND]  this text, also --help and -h, or that of one command\n"
          "  --version       the version\n",
          where);
  fputs(notes, where);
  return status;
}

static const command *find_command(const char *name) {
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

static bool asks_for_help(const char *word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int no_command(const char *name) {
  enum { N = sizeof commands / sizeof commands[0] };
  const char *known[N];
  char near[NXI_NEAR_TEXT];
  nxi_text all = {0};
  for (size_t i = 0; i < N; i++) {
    known[i] = commands[i].name;
    nxi_text_add(&all, "%s%s", i ? ", " : "", known[i]);
  }
  nxi_near_text(name, strlen(name), known, N, near);
  nxc_misuse("there is no command \"%s\"%s; the commands are %s", name, near,
             all.data ? all.data : "");
  nxi_text_free(&all);
  return NXC_USAGE;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) return help(stderr, NULL, NXC_USAGE);
  const char *name = argv[1];
  if (strcmp(name, "--version") == 0) return printf("nxc %s\n", nx_version()) < 0;
  bool asks = asks_for_help(name) || strcmp(name, "help") == 0;
  if (asks && (argc == 2 || asks_for_help(argv[2]))) return help(stdout, NULL, NXC_OK);
  if (asks) name = argv[2];
  const command *c = find_command(name);
  if (c == NULL) return no_command(name);
  for (int i = 2; i < argc; i++) asks |= asks_for_help(argv[i]);
  return asks ? help(stdout, c, NXC_OK) : c->run(argc - 2, argv + 2);
}

int main(int argc, char **argv) {
  int status = dispatch(argc, argv);
  if (fflush(stdout) != 0 && status == NXC_OK)
    status = nxc_complain("nxc", "cannot write to standard output");
  return status;
}
