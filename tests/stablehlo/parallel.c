/* SPDX-License-Identifier: ISC */
/* Runs the processes of a program on a device each. */
#include "parallel.h"

#include "exchange.h"

#include <stdio.h>
#include <string.h>

typedef struct process {
  char name[64];
  nx_function *f;
  nx_event *done;
  nx_tensor *in[16], *out[16];
  size_t n_in, n_out;
} process;

typedef struct job {
  const nx_stablehlo_call *call;
  nx_stablehlo_mesh *mesh;
  int replicas, partitions, n;
  exchange *host;
  process p[MOST_PROCESSES];
} job;

static nx_status read_config(job *j) {
  const char *at = j->call->config;
  int used;
  if (sscanf(at, "%d %d%n", &j->replicas, &j->partitions, &used) != 2) return NX_PARSE;
  j->n = j->replicas * j->partitions;
  if (j->n < 1 || j->n > MOST_PROCESSES) return NX_INVALID_ARGUMENT;
  for (int i = 0; i < j->n; i++) {
    at += used;
    if (sscanf(at, "%63s%n", j->p[i].name, &used) != 1) return NX_PARSE;
  }
  at += used;
  return exchange_open(j->call, at, &j->host);
}

static nx_status make(job *j, int i) {
  process *p = &j->p[i];
  nx_stablehlo_host host = exchange_host(j->host);
  nx_stablehlo_options o = {.size = sizeof o,
                            .symbol = p->name,
                            .host = &host,
                            .mesh = j->mesh,
                            .replica = i / j->partitions,
                            .partition = i % j->partitions};
  nx_function_info info = {.size = sizeof info};
  nx_status s = nx_stablehlo_function(j->call->user, j->call->context, &o, &p->f);
  if (s != NX_OK) return s;
  nx_function_describe(p->f, &info);
  p->n_in = info.inputs;
  p->n_out = info.outputs;
  return p->n_in <= 16 && p->n_out <= 16 ? NX_OK : NX_INVALID_ARGUMENT;
}

/* Of a program without inputs that exchanges, or calls with effects: its one input, a bool. */
static bool is_made_up(const job *j, const process *p, size_t next) {
  nx_port_info port = {.size = sizeof port};
  return p->n_in == 1 && nx_function_input(p->f, 0, &port) == NX_OK && port.dtype == NX_BOOL &&
         port.rank == 0 &&
         (next == j->call->n_operands || nx_dtype_of(j->call->operands[next]) != NX_BOOL);
}

static nx_status start(job *j, int i, size_t *next) {
  process *p = &j->p[i];
  bool made_up = is_made_up(j, p, *next);
  if (made_up) p->in[0] = nx_token(j->call->context, i);
  else if (*next + p->n_in > j->call->n_operands) return NX_INVALID_ARGUMENT;
  for (size_t k = 0; !made_up && k < p->n_in; k++)
    p->in[k] = nx_to_device(j->call->operands[(*next)++], i);
  return nx_function_call_async(p->f, p->in, p->n_in, p->out, p->n_out, NULL, &p->done);
}

static nx_status finish(job *j, int i, size_t *next) {
  process *p = &j->p[i];
  nx_status s = nx_event_wait(p->done, NULL);
  for (size_t k = 0; s == NX_OK && k < p->n_out; k++) {
    if (*next == j->call->n_results) return NX_INVALID_ARGUMENT;
    nx_tensor *t = nx_to_device(p->out[k], j->call->device);
    if (t == NULL) return NX_INTERNAL;
    j->call->results[(*next)++] = t;
  }
  return s;
}

static nx_status run(job *j) {
  nx_device devices[MOST_PROCESSES];
  nx_group_options o = {.size = sizeof o, .name = "parallel", .timeout_ms = 20000};
  size_t in = 0, out = 0;
  nx_status s = read_config(j);
  for (int i = 0; i < j->n; i++) devices[i] = i;
  if (s == NX_OK)
    s = nx_stablehlo_mesh_create(j->call->context, j->replicas, j->partitions, devices, &o,
                                 &j->mesh);
  for (int i = 0; s == NX_OK && i < j->n; i++) s = make(j, i);
  for (int i = 0; s == NX_OK && i < j->n; i++) s = start(j, i, &in);
  for (int i = 0; s == NX_OK && i < j->n; i++) s = finish(j, i, &out);
  return s;
}

nx_status run_parallel(const nx_stablehlo_call *call) {
  job j = {.call = call};
  nx_status s = run(&j);
  for (int i = 0; i < j.n && i < MOST_PROCESSES; i++) {
    nx_event_release(j.p[i].done);
    nx_function_release(j.p[i].f);
    for (size_t k = 0; k < j.p[i].n_out && k < 16; k++) nx_tensor_release(j.p[i].out[k]);
  }
  nx_stablehlo_mesh_release(j.mesh);
  exchange_close(j.host);
  return s;
}
