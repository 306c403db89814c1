/* SPDX-License-Identifier: ISC */
/* nxc: runs graphs in text form over .npy files, and shows what the compiler makes of them. */
#include <stdio.h>
#include <string.h>

#include "nxc.h"

static const char usage[] =
    "usage: nxc COMMAND ...\n"
    "\n"
    "  run FILE.nxir [--input NAME=FILE.npy]... [--output NAME=FILE.npy]...\n"
    "      [--device cpu|interp|cuda] [--threads N] [--time] [--trace FILE.json]\n"
    "                  run a graph; an input of rank 0 may be given as a number, --input x=3.5,\n"
    "                  one that is in an .npz or .safetensors file as FILE:NAME, or as FILE if it\n"
    "                  has the input's name there;\n"
    "                  outputs that no file is named for are printed. --trace: for "
    "chrome://tracing\n"
    "  opt FILE.nxir [--passes NAME,NAME...] [--isa ISA]\n"
    "                  print a graph or a kernel after the passes named; without names a graph\n"
    "                  after all graph passes. Names: passes/pass_list.def\n"
    "  dump FILE.nxir --stage graph|clusters|kernels|bound|plan|llvm|asm|gpu|cuda|dot\n"
    "      [--isa ISA]\n"
    "                  print one stage of the compiler; of a kernel: kernels, bound, llvm, asm,\n"
    "                  gpu (bound for a GPU) or cuda (CUDA C)\n"
    "  info            version, processor, libraries, devices, cache\n"
    "  cache list|verify|trim|clear [--dir DIRECTORY] [--size BYTES[K|M|G]]\n"
    "                  the kernels on disk: list them, remove damaged ones, cut down to a size, "
    "remove all\n"
    "  help            this text\n"
    "\n"
    "FILE may be - for standard input. ISA is avx512, avx2, generic or neon; without it, this "
    "machine's.\n"
    "For gpu and cuda it is a kind of GPU, such as sm_90 (the one without it) or sm_80.\n"
    "Exit status: 0 done; 1 failed, with the reason as FILE:LINE:COLUMN: sentence; 2 wrong use.\n";

static const struct {
  const char *name;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"run", nxc_run},   {"opt", nxc_opt},     {"dump", nxc_dump},
    {"info", nxc_info}, {"cache", nxc_cache},
};

static int help(FILE *where, int status) {
  fputs(usage, where);
  return status;
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) return help(stderr, NXC_USAGE);
  const char *name = argv[1];
  if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
    return help(stdout, NXC_OK);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(commands[i].name, name) == 0) return commands[i].run(argc - 2, argv + 2);
  return nxc_misuse("there is no command \"%s\"", name);
}

int main(int argc, char **argv) {
  int status = dispatch(argc, argv);
  if (fflush(stdout) != 0 && status == NXC_OK)
    status = nxc_complain("nxc", "cannot write to standard output");
  return status;
}
