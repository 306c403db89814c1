/* SPDX-License-Identifier: ISC */
/* Stages of graphs as text for people. */
#include <string.h>

#include "runtime/realize/functions/function.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

static nx_status text_of(nx_context *c, int32_t device, const nxg_graph *g, const char *stage,
                         char **out, nxi_diag *d) {
  nxi_text text = {0};
  nx_status status = NX_OK;
  nxi_executable_options options;
  nxi_executor_options(c, device, &options);
  if (!strcmp(stage, "graph")) nxg_print(g, &text);
  else if (!strcmp(stage, "dot")) nxg_print_dot(g, &text);
  else status = nxi_dump(g, &options, stage, &text, d);
  nxi_text_put(&text, "", 0); /* an empty text ends with NUL too */
  if (!status && text.failed) status = nxi_oom(d);
  if (status) nxi_text_free(&text);
  else *out = text.data;
  return status;
}

/* Extracts the graph that realising the tensors would run. As in realising, it waits for values
 * that another run is computing. */
static nx_status extract(nxi_action *a, nx_tensor *const *t, size_t n, nxg_graph **g,
                         int32_t *device) {
  nx_context *c = a->context;
  nxi_run *run = nxi_run_take(c, &a->diag);
  nxi_node **nodes = nxi_malloc(n * sizeof *nodes);
  nx_status status = run && nodes ? NXI_WAIT : nxi_oom(&a->diag);
  if (run) run->tagged = run->everywhere = true;
  while (status == NXI_WAIT) {
    uint32_t wanted = 0;
    nxi_run_lock(c);
    nxi_record_lock(c);
    for (size_t i = 0; i < n; i++) {
      nxi_node *v = t[i]->storage->value;
      if (v->state == NXI_REALIZED || (wanted && v->device != nodes[0]->device)) continue;
      v->refs++;
      nodes[wanted++] = v;
    }
    nxi_record_unlock(c);
    *device = wanted ? nodes[0]->device : 0;
    run->device = *device;
    status = nxi_extract(run, nodes, wanted, &a->diag);
    nxi_record_lock(c);
    for (uint32_t i = 0; i < wanted; i++) nxi_node_unref(c, nodes[i]);
    nxi_record_unlock(c);
    if (status == NXI_WAIT) {
      nx_status waited = nxi_wait_change(c, a->options, &a->diag);
      if (waited) status = waited;
    }
    nxi_run_unlock(c);
  }
  if (!status) status = nxi_decode(run, true, g, &a->diag);
  nxi_run_give(run);
  nxi_free(nodes);
  return status;
}

nx_status nx_dump(nx_tensor *const *t, size_t n, const char *stage, char **text) {
  if (!n || !t || !text || !stage)
    return nxi_error_null("dump", !text ? 3 : !stage ? 2 : 0), NX_INVALID_ARGUMENT;
  if (!nxi_check_operands("dump", t, (uint32_t)n)) return NX_INVALID_ARGUMENT;
  nxi_action a;
  nxi_action_begin(&a, t[0]->context, NULL);
  nxg_graph *g = NULL;
  int32_t device = 0;
  nx_status status = extract(&a, t, n, &g, &device);
  if (!status) status = text_of(a.context, device, g, stage, text, &a.diag);
  nxg_destroy(g);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "dump"));
}

nx_status nx_function_dump(const nx_function *f, const char *stage, char **text) {
  if (!text || !stage) return nxi_error_null("dump", 0), NX_INVALID_ARGUMENT;
  if (!nxi_have_function("dump", 0, f)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fp environment = nxi_fp_enter();
  nx_status status = text_of(f->context, f->device, f->graph, stage, text, &d);
  nxi_fp_leave(environment);
  return nxi_oom_in(&d, status, "dump") ? nxi_error_report(&d) : NX_OK;
}

void nx_string_free(char *text) { nxi_free(text); }
