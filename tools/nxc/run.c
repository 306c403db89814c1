/* SPDX-License-Identifier: ISC */
/* nxc run: a graph in text form over .npy files and arrays of archives, through the public
 * interface, as any program would. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/dtype.h"
#include "ir/graph/graph.h"
#include "ir/text/scalar_text.h"
#include "fill.h"
#include "ir/platform/clock.h"
#include "nx/nx.h"
#include "nxc.h"
#include "ir/platform/process.h"
#include "profile.h"
#include "runtime/trace.h"

enum { MOST_SHOWN = 64, MOST_TIMED = 1000, PROFILED = 30 };
static const double timed_ms = 500, profiled_ms = 200;

typedef struct job {
  const char *file, *device, *threads, *trace_file;
  nx_device number; /* the device of the function and of its inputs */
  nxc_pairs inputs, outputs;
  nxc_exchange exchange;
  bool time, fill;
  nx_context *context;
  nx_function *function;
  nx_function_info info;
  nx_tensor **in, **out;
} job;

static void span(const char *name, int64_t began) {
  if (nxi_trace_is_on()) nxi_trace_add("phase", name, began);
}

/* ---- names and types */

static nx_port_info port(const job *j, bool output, size_t i) {
  nx_port_info p = {.size = sizeof p};
  if (output) nx_function_output(j->function, i, &p);
  else nx_function_input(j->function, i, &p);
  return p;
}

/* "f32[4,5]" */
static const char *type_text(nx_dtype dtype, int32_t rank, const int64_t *shape, char *out,
                             size_t size) {
  size_t n = (size_t)snprintf(out, size, "%s[", nx_dtype_name(dtype));
  for (int32_t i = 0; i < rank && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, "%s%lld", i ? "," : "", (long long)shape[i]);
  if (n < size) snprintf(out + n, size - n, "]");
  return out;
}

static nxc_pair *find_pair(nxc_pairs *pairs, const char *name) {
  for (size_t i = 0; i < pairs->n; i++)
    if (strlen(name) == pairs->items[i].name_length &&
        memcmp(name, pairs->items[i].name, strlen(name)) == 0)
      return &pairs->items[i];
  return NULL;
}

static void list_ports(const job *j, bool output, nxi_text *out) {
  size_t n = output ? j->info.outputs : j->info.inputs;
  for (size_t i = 0; i < n; i++) nxi_text_add(out, "%s%s", i ? ", " : "", port(j, output, i).name);
  if (n == 0) nxi_text_add(out, "none");
}

/* Checks that every name on the command line is a name in the graph. */
static int check_names(const job *j, bool output) {
  const nxc_pairs *pairs = output ? &j->outputs : &j->inputs;
  for (size_t i = 0; i < pairs->n; i++) {
    bool known = false;
    for (size_t k = 0; k < (output ? j->info.outputs : j->info.inputs); k++) {
      const char *name = port(j, output, k).name;
      known = known || (strlen(name) == pairs->items[i].name_length &&
                        memcmp(name, pairs->items[i].name, strlen(name)) == 0);
    }
    if (known) continue;
    nxi_text names = {0};
    list_ports(j, output, &names);
    nxc_complain(j->file, "the graph has no %s named %.*s; its %ss are: %s",
                 output ? "output" : "input", (int)pairs->items[i].name_length,
                 pairs->items[i].name, output ? "output" : "input", names.data ? names.data : "");
    nxi_text_free(&names);
    return NXC_FAILED;
  }
  return NXC_OK;
}

static int check_missing(job *j) {
  nxi_text missing = {0};
  int n = 0;
  for (size_t i = 0; i < j->info.inputs; i++) {
    nx_port_info p = port(j, false, i);
    char type[512];
    if (j->fill || find_pair(&j->inputs, p.name) != NULL) continue;
    nxi_text_add(&missing, "%s%s: %s", n++ ? ", " : "", p.name,
                 type_text(p.dtype, p.rank, p.shape, type, sizeof type));
  }
  if (n > 0)
    nxc_complain(j->file, "no --input for %s", missing.data ? missing.data : "some inputs");
  nxi_text_free(&missing);
  return n > 0 ? NXC_FAILED : NXC_OK;
}

/* ---- inputs */

static int scalar_input(job *j, size_t i, const nx_port_info *p, const char *text) {
  unsigned char element[16];
  const char *wrong = nxi_parse_element(text, (uint32_t)strlen(text), p->dtype, element);
  if (wrong != NULL)
    return nxc_complain("nxc",
                        "input %s: there is no file \"%s\", and as a scalar of type %s it %s",
                        p->name, text, nx_dtype_name(p->dtype), wrong);
  j->in[i] = nx_empty(j->context, 0, p->dtype, NULL, 0);
  if (nx_write(j->in[i], element, (size_t)nxi_dtype_size(p->dtype), NULL) != NX_OK)
    return nxc_public_failure("nxc");
  return NXC_OK;
}

static bool is_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (f != NULL) fclose(f);
  return f != NULL;
}

/* Loads an array of an .npz or .safetensors file. */
static int load_named(job *j, size_t i, const char *path, const char *name) {
  nx_archive *archive;
  if (nx_archive_open(path, &archive) != NX_OK) return nxc_public_failure(path);
  nxi_text names = {0};
  size_t n = nx_archive_count(archive);
  int status = NXC_OK;
  if (nx_archive_find(archive, name) < 0) {
    for (size_t k = 0; k < n && k < MOST_SHOWN; k++)
      nxi_text_add(&names, "%s%s", k ? ", " : "", nx_archive_name(archive, k));
    status = nxc_complain(path, "the file has no array named %s; its arrays are: %s%s", name,
                          names.data ? names.data : "", n > MOST_SHOWN ? ", ..." : "");
  } else if (nx_archive_load(archive, j->context, name, NULL, &j->in[i]) != NX_OK) {
    status = nxc_public_failure(path);
  }
  nxi_text_free(&names);
  nx_archive_close(archive);
  return status;
}

/* Loads FILE.npy; or FILE:NAME, an array of an archive; or from an archive the array that has the
 * input's name. */
static int load_file(job *j, size_t i, const char *name, const char *value) {
  char path[4096];
  for (const char *colon = strchr(value, ':'); colon != NULL && !is_file(value);
       colon = strchr(colon + 1, ':')) {
    snprintf(path, sizeof path, "%.*s", (int)(colon - value), value);
    if (is_file(path)) return load_named(j, i, path, colon + 1);
  }
  const char *dot = strrchr(value, '.');
  bool archive = dot != NULL && (strcmp(dot, ".npz") == 0 || strcmp(dot, ".safetensors") == 0);
  if (archive && is_file(value)) return load_named(j, i, value, name);
  return nx_load_npy(j->context, value, &j->in[i]) == NX_OK ? NXC_OK : nxc_public_failure(value);
}

static int load_input(job *j, size_t i) {
  nx_port_info p = port(j, false, i);
  nxc_pair *given = find_pair(&j->inputs, p.name);
  nx_tensor_info t = {.size = sizeof t};
  char wanted[512], found[512];
  if (given == NULL) {
    j->in[i] = nxc_filled(j->context, 0, &p);
    return j->in[i] != NULL ? NXC_OK : NXC_FAILED;
  }
  if (p.rank == 0 && !is_file(given->value) && strchr(given->value, ':') == NULL)
    return scalar_input(j, i, &p, given->value);
  int status = load_file(j, i, p.name, given->value);
  if (status != NXC_OK) return status;
  nx_tensor_describe(j->in[i], &t);
  bool same = t.dtype == p.dtype && t.rank == p.rank;
  for (int32_t a = 0; same && a < t.rank; a++) same = t.shape[a] == p.shape[a];
  if (same) return NXC_OK;
  return nxc_complain(given->value, "the file holds %s, but input %s is %s",
                      type_text(t.dtype, t.rank, t.shape, found, sizeof found), p.name,
                      type_text(p.dtype, p.rank, p.shape, wanted, sizeof wanted));
}

static int move_input(job *j, size_t i) {
  nx_tensor *there = nx_to_device(j->in[i], j->number);
  if (there == NULL) return nxc_public_failure("nxc");
  nx_tensor_release(j->in[i]);
  j->in[i] = there;
  return NXC_OK;
}

static int load_inputs(job *j) {
  int status = check_names(j, false);
  if (status == NXC_OK) status = check_names(j, true);
  if (status == NXC_OK) status = check_missing(j);
  for (size_t i = 0; i < j->info.inputs && status == NXC_OK; i++) {
    int64_t began = nxi_now_ns();
    status = load_input(j, i);
    if (status == NXC_OK && j->number > 0) status = move_input(j, i);
    span("load", began);
  }
  return status;
}

/* ---- outputs */

static int show_output(const job *j, size_t i) {
  nx_port_info p = port(j, true, i);
  nx_tensor_info t = {.size = sizeof t};
  char type[512];
  nx_tensor_describe(j->out[i], &t);
  size_t bytes = (size_t)nxi_dtype_bytes(t.dtype, t.elements);
  printf("%s: %s", p.name, type_text(t.dtype, t.rank, t.shape, type, sizeof type));
  if (t.elements > MOST_SHOWN) {
    printf(", not shown; --output %s=FILE.npy saves it\n", p.name);
    return NXC_OK;
  }
  char *data = malloc(bytes + 1);
  if (data == NULL || nx_read(j->out[i], data, bytes, NULL) != NX_OK) {
    free(data);
    return nxc_public_failure("nxc");
  }
  nxi_text text = {0};
  for (int64_t e = 0; e < t.elements; e++) {
    nxi_text_add(&text, " ");
    if (nxi_is_complex(t.dtype))
      nxi_print_element(&text, t.dtype, data + e * nxi_dtype_size(t.dtype));
    else nxi_print_scalar(&text, t.dtype, nxi_load_at(data, t.dtype, e));
  }
  nxi_text_add(&text, "\n");
  free(data);
  printf(" =");
  return nxc_print_text(&text);
}

static int save_outputs(job *j) {
  for (size_t i = 0; i < j->info.outputs; i++) {
    nxc_pair *given = find_pair(&j->outputs, port(j, true, i).name);
    int64_t began = nxi_now_ns();
    int status = NXC_OK;
    if (given == NULL) status = show_output(j, i);
    else if (nx_save_npy(j->out[i], given->value, NULL) != NX_OK)
      status = nxc_public_failure(given->value);
    if (status != NXC_OK) return status;
    if (given != NULL) span("save", began);
  }
  return NXC_OK;
}

static void drop_outputs(job *j) {
  for (size_t i = 0; i < j->info.outputs; i++) {
    nx_tensor_release(j->out[i]);
    j->out[i] = NULL;
  }
}

/* ---- the run */

/* What is timed is waited for: a GPU goes on after the call. */
static int call_once(job *j, nx_report *report) {
  nx_run_options options = {.size = sizeof options, .report = report};
  int64_t began = nxi_now_ns();
  nxc_rewind(&j->exchange);
  report->size = sizeof *report;
  if (nx_function_call(j->function, j->in, j->info.inputs, j->out, j->info.outputs, &options) !=
      NX_OK)
    return nxc_public_failure(j->file);
  if (j->time && nx_wait(j->context, j->number) != NX_OK) return nxc_public_failure(j->file);
  span("call", began);
  return NXC_OK;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_first(const nx_report *r) {
  fprintf(stderr,
          "first run %.3f ms: plan %.3f, compile %.3f, run %.3f; %llu kernels (%llu compiled, %llu "
          "from disk), %llu library calls%s\n",
          r->total_ms, r->plan_ms, r->compile_ms, r->run_ms, (unsigned long long)r->kernels,
          (unsigned long long)r->kernel_misses, (unsigned long long)r->kernel_disk_hits,
          (unsigned long long)r->library_calls, r->interpreted ? "; interpreted" : "");
  if (r->missing_library != NULL)
    fprintf(stderr, "%llu products or calls without their library: %s\n",
            (unsigned long long)r->without_library, r->missing_library);
}

/* Runs the graph repeatedly for some time; the last outputs are kept. */
static int repeat(job *j) {
  static double times[MOST_TIMED];
  size_t n = 0;
  double began = nxi_now_ms();
  while (n < MOST_TIMED && (n < 3 || nxi_now_ms() - began < timed_ms)) {
    nx_report report = {0};
    drop_outputs(j);
    double start = nxi_now_ms();
    int status = call_once(j, &report);
    if (status != NXC_OK) return status;
    times[n++] = nxi_now_ms() - start;
  }
  qsort(times, n, sizeof times[0], compare);
  fprintf(stderr, "then %zu runs: median %.3f ms, fastest %.3f ms\n", n, times[n / 2], times[0]);
  return NXC_OK;
}

/* A line for each step. They are timed apart, since a trace takes time too; where one was asked
 * for, all runs are in it anyway. */
static int profile(job *j) {
  nxi_diag d;
  nxi_text lines = {0};
  nx_report report = {0};
  int status = NXC_OK;
  nxi_diag_clear(&d);
  if (j->trace_file == NULL && nxi_trace_begin(NULL, &d) != NX_OK) return nxc_failure("nxc", &d);
  double began = nxi_now_ms();
  for (int i = 0; j->trace_file == NULL && i < PROFILED && status == NXC_OK; i++) {
    drop_outputs(j);
    status = call_once(j, &report);
    if (nxi_now_ms() - began > profiled_ms) break;
  }
  nxc_profile(&lines);
  if (j->trace_file == NULL) nxi_trace_end(&d);
  if (lines.data != NULL) fputs(lines.data, stderr);
  if (lines.failed) status = nxc_complain("nxc", "memory is exhausted");
  nxi_text_free(&lines);
  return status;
}

static int call(job *j) {
  nx_report report = {0};
  int status = call_once(j, &report);
  if (status != NXC_OK || !j->time) return status;
  print_first(&report);
  status = repeat(j);
  return status == NXC_OK ? profile(j) : status;
}

/* ---- setting up */

static int choose_device(job *j) {
  nx_device_info info = {.size = sizeof info};
  if (j->device == NULL) return NXC_OK;
  for (int32_t i = 0; i < nx_device_count(j->context); i++) {
    if (nx_device_describe(j->context, i, &info) != NX_OK || strcmp(info.name, j->device) != 0)
      continue;
    j->number = strcmp(info.name, "interp") == 0 ? 0 : i; /* device 0, which NX_EXECUTOR=interp
                                                           * makes the interpreter */
    return info.available
               ? NXC_OK
               : nxc_complain("nxc", "the device %s is not available: %s", info.name, info.reason);
  }
  return nxc_misuse("there is no device \"%s\"; the devices are cpu, interp and cuda", j->device);
}

static int create_context(job *j) {
  nx_context_options options = {.size = sizeof options};
  if (j->threads != NULL) {
    int64_t n;
    if (!nxi_parse_int(j->threads, (uint32_t)strlen(j->threads), 1, 1024, &n))
      return nxc_misuse("--threads wants a number from 1 to 1024");
    options.threads = (int32_t)n;
  }
  /* The text of a graph does not name a device: the process selects the executor. */
  if (j->device != NULL && strcmp(j->device, "interp") == 0)
    nxi_variable_set("NX_EXECUTOR", "interp");
  if (nx_context_create(&options, &j->context) != NX_OK) return nxc_public_failure("nxc");
  return choose_device(j);
}

static int parse_text(job *j, const char *text, size_t size) {
  nxi_diag d;
  nxg_graph *g = NULL;
  int status = NXC_OK;
  nxi_diag_clear(&d);
  if (nxc_is_mlir(text, size)) {
    nx_stablehlo_host host = nxc_host(&j->exchange);
    nx_status s = nxc_mlir_function(text, size, j->context, j->number, &host, &j->function);
    return s == NX_OK ? NXC_OK : nxc_public_failure(j->file);
  }
  if (nxg_parse_closed(text, size, &g, &d) != NX_OK)
    status = nxc_failure(j->file, &d); /* d has the line and the column */
  else if (nx_function_parse(
               j->context, text, size,
               &(nx_parse_options){.size = sizeof(nx_parse_options), .device = j->number},
               &j->function) != NX_OK)
    status = nxc_public_failure(j->file);
  nxg_destroy(g);
  return status;
}

static int parse_function(job *j) {
  size_t size;
  int64_t began = nxi_now_ns();
  char *text = nxc_read_text(j->file, &size);
  if (text == NULL) return NXC_FAILED;
  int status = parse_text(j, text, size);
  nxi_free(text);
  if (status != NXC_OK) return status;
  span("parse", began);
  j->info.size = sizeof j->info;
  nx_function_describe(j->function, &j->info);
  j->in = calloc(j->info.inputs + 1, sizeof *j->in);
  j->out = calloc(j->info.outputs + 1, sizeof *j->out);
  return j->in != NULL && j->out != NULL ? NXC_OK : nxc_complain("nxc", "memory is exhausted");
}

static int run(job *j) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (j->trace_file != NULL && nxi_trace_begin(j->trace_file, &d) != NX_OK)
    return nxc_failure("nxc", &d);
  int status = create_context(j);
  j->exchange.context = j->context;
  if (status == NXC_OK) status = parse_function(j);
  if (status == NXC_OK) status = load_inputs(j);
  if (status == NXC_OK) status = call(j);
  if (status == NXC_OK) status = save_outputs(j);
  if (status == NXC_OK && j->trace_file != NULL && nxi_trace_end(&d) != NX_OK)
    status = nxc_failure("nxc", &d);
  return status;
}

static void finish(job *j) {
  for (size_t i = 0; j->in != NULL && i < j->info.inputs; i++) nx_tensor_release(j->in[i]);
  if (j->out != NULL) drop_outputs(j);
  free(j->in);
  free(j->out);
  nx_function_release(j->function);
  nx_context_release(j->context);
}

int nxc_run(int argc, char **argv) {
  static job j;
  const nxc_option options[] = {
      {.name = "input", .pairs = &j.inputs},
      {.name = "output", .pairs = &j.outputs},
      {.name = "device", .value = &j.device},
      {.name = "threads", .value = &j.threads},
      {.name = "trace", .value = &j.trace_file},
      {.name = "time", .flag = &j.time},
      {.name = "fill", .flag = &j.fill},
      {.name = "infeed", .list = &j.exchange.infeed, .bare = true},
      {.name = "outfeed", .list = &j.exchange.outfeed, .bare = true},
      {.name = "recv", .list = &j.exchange.receive},
      {.name = "send", .list = &j.exchange.send},
  };
  if (!nxc_parse(argc, argv, options, sizeof options / sizeof options[0], &j.file))
    return NXC_USAGE;
  if (j.file == NULL) return nxc_misuse("run wants a file");
  int status = run(&j);
  finish(&j);
  return status;
}
