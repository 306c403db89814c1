/* SPDX-License-Identifier: ISC */
/* nx-bench: the rows of docs/bench.md on this machine, beside peers (bench/peers). Exit status 1:
 * a peer gets another result than nx. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "ir/target.h"

static const bench_group groups[] = {
    {"overhead", bench_overhead},
    {"first", bench_firsts},
    {"shapes", bench_shapes},
    {"elementwise", bench_elementwise},
    {"reductions", bench_reductions},
    {"rows", bench_row_kernels},
    {"scans", bench_scans},
    {"moves", bench_moves},
    {"images", bench_images},
    {"indexed", bench_indexed},
    {"products", bench_products},
    {"windows", bench_windows},
    {"models", bench_models},
    {"sort", bench_sort},
    {"fft", bench_fft},
    {"linalg", bench_linalg},
};

/* The rest is the time in which a library's threads wait actively after the work is done. */
static const struct {
  const char *option, *other, *argument, *name; /* other: a second option that names it */
  double rest;
} peers[] = {
    {"numpy", "", "numpy", "NumPy", 5e-4},           {"scipy", "", "scipy", "SciPy", 5e-4},
    {"numexpr", "", "numexpr", "numexpr", 0},        {"torch", "eager", "torch", "PyTorch", 5e-3},
    {"torch", "", "compile", "torch.compile", 5e-3}, {"jax", "", "jax", "JAX", 5e-4},
};

typedef struct arguments {
  const char *python, *group, *peers;
} arguments;

static int usage(void) {
  fprintf(stderr,
          "usage: nx-bench [--group G,..] [--only TEXT] [--json] [--threads N] [--rounds N]"
          " [--largest N] [--part I/N]\n"
          "                [--list] [--seconds N] [--without FILE]\n"
          "                [--peers numpy,scipy,numexpr,torch,eager,jax,fftw] [--python FILE]\n"
          "                [--graphs DIRECTORY]\n"
          "groups:");
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    fprintf(stderr, " %s", groups[i].name);
  fprintf(stderr, "\n");
  return 2;
}

/* "2/3": the second of three parts. */
static bool read_part(bench_output *o, const char *text) {
  char *end;
  o->part = (int)strtol(text, &end, 10) - 1;
  if (*end != '/') return false;
  o->parts = atoi(end + 1);
  return o->part >= 0 && o->part < o->parts;
}

static bool take_option(bench_lab *lab, arguments *a, const char *name, const char *value) {
  if (strcmp(name, "--only") == 0) lab->out.only = value;
  else if (strcmp(name, "--group") == 0) a->group = value;
  else if (strcmp(name, "--peers") == 0) a->peers = value;
  else if (strcmp(name, "--python") == 0) a->python = value;
  else if (strcmp(name, "--threads") == 0) lab->threads = atoi(value);
  else if (strcmp(name, "--rounds") == 0) lab->rounds = atoi(value);
  else if (strcmp(name, "--largest") == 0) lab->largest = atoll(value);
  else if (strcmp(name, "--graphs") == 0) lab->graphs = value;
  else if (strcmp(name, "--without") == 0)
    return (lab->out.without = bench_read_names(value)) != NULL;
  else if (strcmp(name, "--seconds") == 0) lab->out.end = bench_now() + atof(value);
  else if (strcmp(name, "--part") == 0) return read_part(&lab->out, value);
  else return false;
  return lab->threads > 0 && lab->rounds >= 0 && lab->largest >= 0;
}

/* Whether a name is in a list with commas. */
static bool listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return true;
  return false;
}

static bool known_groups(const char *list) {
  size_t known = 0, named = 1;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) known += listed(list, groups[i].name);
  for (const char *at = list; *at != 0; at++) named += *at == ',';
  return known == named;
}

/* Peers have the instruction sets of nx, whatever their libraries make of this processor: the
 * script reads NX_ISA too, for what is no variable. */
static void set_environment(void) {
  const char *isa = nxi_target_host()->isa;
  if (strcmp(isa, "avx512") == 0) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
  if (strcmp(isa, "avx2") == 0) setenv("OPENBLAS_CORETYPE", "HASWELL", 0);
}

static void start_peers(bench_lab *lab, const arguments *a) {
  lab->fftw = listed(a->peers, "fftw");
  for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
    if (!listed(a->peers, peers[i].option) &&
        !(peers[i].other[0] != 0 && listed(a->peers, peers[i].other)))
      continue;
    bench_peer *p = bench_peer_start(a->python, NX_BENCH_PEER, peers[i].argument, lab->threads);
    if (p == NULL) {
      fprintf(stderr, "nx-bench: %s has no %s\n", a->python, peers[i].name);
      continue;
    }
    lab->peers[lab->n_peers].name = peers[i].name;
    lab->peers[lab->n_peers].rest = peers[i].rest;
    lab->peers[lab->n_peers++].process = p;
  }
}

static void run_groups(bench_lab *lab, const char *wanted) {
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    if (wanted != NULL && !listed(wanted, groups[i].name)) continue;
    lab->out.group = groups[i].name;
    groups[i].run(lab);
  }
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--first") == 0) bench_first_result(argv[2]);
  bench_lab lab = {.threads = (int)sysconf(_SC_NPROCESSORS_ONLN), .rounds = 25};
  arguments a = {.python = "/usr/bin/python3", .peers = "numpy,fftw"};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) lab.out.json = true;
    else if (strcmp(argv[i], "--list") == 0) lab.out.list = true;
    else if (strcmp(argv[i], "--isa") == 0) return puts(nxi_target_host()->isa) < 0;
    else if (i + 1 >= argc || !take_option(&lab, &a, argv[i], argv[i + 1])) return usage();
    else i++;
  }
  if (a.group != NULL && !known_groups(a.group)) return usage();
  lab.out.off = lab.graphs != NULL;
  bool measured = lab.graphs == NULL && !lab.out.list;
  set_environment();
  nx_context_options o = {.size = sizeof o, .threads = lab.threads, .cache_dir = ""};
  bench_check(nx_context_create(&o, &lab.context));
  lab.out.isa = nxi_target_host()->isa;
  if (measured) start_peers(&lab, &a);
  run_groups(&lab, a.group);
  if (!lab.out.json && measured)
    printf("%d rows, %d below their target, %d results unlike a peer's\n", lab.out.rows,
           lab.out.missed, lab.out.unequal);
  for (int i = 0; i < lab.n_peers; i++) bench_peer_stop(lab.peers[i].process);
  nx_context_release(lab.context);
  return lab.out.unequal > 0;
}
