/* SPDX-License-Identifier: ISC */
/* nx-bench-gpu [--json] [--group G,..] [--only TEXT] [--without FILE] [--rounds N] [--seconds N]
 *              [--python FILE] [--peer FILE] [--table FILE] [--shrink N]
 *
 * The rows of docs/bench.md on the first GPU, beside PyTorch and JAX where they are installed;
 * --peer: the script that runs them, if it is not where it was built. Exit status 77: there is no
 * GPU; 3: the seconds were over before the last row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu.h"
#include "runtime/realize/residency.h"
#include "runtime/record/node.h"

void gpu_wait(const gpu_lab *lab) { bench_check(nx_wait(lab->lab.context, lab->lab.device)); }

void gpu_job_run(void *job) {
  gpu_job *j = job;
  nx_tensor *out = NULL;
  bench_check(nx_function_call(j->function, j->x, j->n, &out, 1, NULL));
  nx_tensor_release(out);
}
void gpu_job_wait(void *job) { gpu_wait(((const gpu_job *)job)->lab); }

void gpu_capture(gpu_job *j, bench_expression *record, const bench_operand *o, bench_row *row) {
  const bench_lab *lab = &j->lab->lab;
  nx_report report = {.size = sizeof report};
  const nx_run_options reported = {.size = sizeof reported, .report = &report};
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *in[3], *out = NULL;
  for (size_t i = 0; i < j->n; i++)
    in[i] = nx_placeholder(lab->context, lab->device, o[i].dtype, o[i].shape, o[i].rank);
  out = record(lab, in);
  bench_check(nx_function_create(lab->context, in, j->n, &out, 1, NULL, &j->function));
  nx_scope_end(scope);
  out = NULL;
  bench_check(nx_function_call(j->function, j->x, j->n, &out, 1, &reported));
  nx_tensor_release(out);
  row->kernels = (int64_t)report.kernels;
  row->compile_ms = report.compile_ms;
}

/* ---- peers */

static void wait_for_peer(void *peer) { bench_peer_wait(peer); }

gpu_peers gpu_add_peers(const gpu_lab *lab, const char *workload, bench_way *ways, size_t *n) {
  bench_peer *const all[] = {lab->torch, lab->jax};
  static const char *const names[] = {"torch.compile", "jax.jit"};
  gpu_peers p = {.n = 0};
  for (int i = 0; i < 2; i++) {
    if (workload[0] == 0 || !bench_peer_setup(all[i], workload)) continue;
    p.names[p.n] = names[i];
    p.at[p.n++] = *n;
    ways[(*n)++] = (bench_way){.run = bench_peer_start_run, .state = all[i], .wait = wait_for_peer};
  }
  return p;
}

void gpu_report_peers(const gpu_peers *p, const bench_way *ways, bench_row *row) {
  for (int i = 0; i < p->n; i++) bench_add_peer(row, p->names[i], &ways[p->at[i]], 1);
}

/* ---- the program */

typedef struct places {
  const char *python, *peer, *table;
} places;

static bool take_option(gpu_lab *lab, places *p, const char *name, const char *value) {
  if (strcmp(name, "--only") == 0) lab->lab.out.only = value;
  else if (strcmp(name, "--group") == 0) lab->groups = value;
  else if (strcmp(name, "--rounds") == 0) lab->lab.rounds = atoi(value);
  else if (strcmp(name, "--python") == 0) p->python = value;
  else if (strcmp(name, "--peer") == 0) p->peer = value;
  else if (strcmp(name, "--seconds") == 0) lab->lab.out.end = bench_now() + atof(value);
  else if (strcmp(name, "--shrink") == 0) lab->shrink = atoll(value);
  else if (strcmp(name, "--table") == 0) p->table = value;
  else if (strcmp(name, "--without") == 0)
    return (lab->lab.out.without = bench_read_names(value)) != NULL;
  else return false;
  return lab->lab.rounds > 0 && lab->shrink > 0;
}

static void open_device(gpu_lab *lab) {
  nx_device_info info = {.size = sizeof info};
  nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  bench_check(nx_context_create(&o, &lab->lab.context));
  lab->lab.device = 2;
  bench_check(nx_device_describe(lab->lab.context, lab->lab.device, &info));
  if (!info.available) {
    printf("there is no GPU: %s\n", info.reason);
    exit(77);
  }
  bench_check(nxi_device_open(lab->lab.context, lab->lab.device, (nxi_device **)&lab->gpu, NULL));
}

static void head(const gpu_lab *lab) {
  char day[32];
  time_t now = time(NULL);
  const nxi_gpu_info *gpu = nxi_gpu_properties(lab->gpu);
  strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
  FILE *table = lab->lab.out.table;
  if (table == NULL || fseek(table, 0, SEEK_END) != 0 || ftell(table) > 0) return; /* it goes on */
  fprintf(lab->lab.out.table, "%s, %s, %.0f GiB, nx %s.\n\n", day, gpu->name,
          (double)gpu->memory / (1 << 30), NX_VERSION_STRING);
  bench_put_head(lab->lab.out.table);
}

static int usage(void) {
  fprintf(stderr, "usage: nx-bench-gpu [--json] [--group G,..] [--only TEXT] [--without FILE] "
                  "[--rounds N]\n"
                  "                    [--seconds N] [--python FILE] [--peer FILE] [--table FILE] "
                  "[--shrink N]\n");
  return 2;
}

static void run_groups(gpu_lab *lab) {
  static const struct {
    const char *name;
    void (*run)(gpu_lab *lab);
  } groups[] = {{"overhead", gpu_overhead}, {"calls", gpu_calls},   {"copies", gpu_copies},
                {"arrays", gpu_arrays},     {"shapes", gpu_shapes}, {"products", gpu_products},
                {"models", gpu_models},     {"linalg", gpu_linalg}};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    if (lab->groups != NULL && strstr(lab->groups, groups[i].name) == NULL) continue;
    lab->lab.out.group = groups[i].name;
    groups[i].run(lab);
  }
}

int main(int argc, char **argv) {
  gpu_lab lab = {.lab = {.threads = 1, .rounds = 25}, .shrink = 1};
  if (argc == 3 && strcmp(argv[1], "--first") == 0) gpu_first_result(argv[2]);
  places p = {"python3", NX_BENCH_GPU_PEER, NULL};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0) {
      lab.lab.out.json = true;
    } else if (i + 1 < argc && take_option(&lab, &p, argv[i], argv[i + 1])) {
      i++;
    } else {
      return usage();
    }
  }
  open_device(&lab);
  if (p.table != NULL && (lab.lab.out.table = fopen(p.table, "a")) == NULL) return usage();
  head(&lab);
  lab.torch = bench_peer_start(p.python, p.peer, "torch", 0);
  lab.jax = bench_peer_start(p.python, p.peer, "jax", 0);
  run_groups(&lab);
  if (!lab.lab.out.json)
    printf("%d rows, %d below their target%s%s\n", lab.lab.out.rows, lab.lab.out.missed,
           lab.torch ? "" : "; no PyTorch to compare with", lab.jax ? "" : "; no JAX");
  if (lab.lab.out.table != NULL) fclose(lab.lab.out.table);
  bool cut = lab.lab.out.end != 0 && bench_now() >= lab.lab.out.end;
  bench_peer_stop(lab.torch);
  bench_peer_stop(lab.jax);
  nx_context_release(lab.lab.context);
  return cut ? 3 : 0;
}
