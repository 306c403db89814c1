/* SPDX-License-Identifier: ISC */
/* Writes traces; see trace.h. */
#include "trace.h"

#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "passes/pipeline.h"
#include "ir/platform/clock.h"
#include "runtime/files/file.h"

typedef struct span {
  char name[64];
  const char *category;
  double began_ms, ended_ms;
} span;

struct nxc_trace {
  span *spans;
  uint32_t n, capacity;
  double step_began;
};

static nxc_trace *of_steps; /* the trace to which steps are added */

nxc_trace *nxc_trace_create(void) { return nxi_calloc(1, sizeof(nxc_trace)); }

void nxc_trace_add(nxc_trace *t, const char *category, const char *name, double began_ms,
                   double ended_ms) {
  if (t == NULL || !nxi_grow(&t->spans, &t->capacity, t->n + 1, sizeof *t->spans)) return;
  span *s = &t->spans[t->n++];
  *s = (span){.category = category, .began_ms = began_ms, .ended_ms = ended_ms};
  snprintf(s->name, sizeof s->name, "%s", name);
}

static void step(const char *name, bool begin) {
  double now = nxi_now_ms();
  if (begin) of_steps->step_began = now;
  else nxc_trace_add(of_steps, "step", name, of_steps->step_began, now);
}

void nxc_trace_steps(nxc_trace *t) {
  if (t == NULL) return;
  of_steps = t;
  nxp_debugging.step = step;
}

static void put_string(nxi_text *out, const char *text) {
  nxi_text_put(out, "\"", 1);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') nxi_text_put(out, "\\", 1);
    if ((unsigned char)*text < ' ') nxi_text_add(out, "\\u%04x", *text);
    else nxi_text_put(out, text, 1);
  }
  nxi_text_put(out, "\"", 1);
}

static void put_trace(const nxc_trace *t, nxi_text *out) {
  double origin = t != NULL && t->n > 0 ? t->spans[0].began_ms : 0;
  nxi_text_add(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
  for (uint32_t i = 0; t != NULL && i < t->n; i++) {
    const span *s = &t->spans[i];
    nxi_text_add(out, "%s\n  {\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"cat\": ", i ? "," : "");
    put_string(out, s->category);
    nxi_text_add(out, ", \"name\": ");
    put_string(out, s->name);
    nxi_text_add(out, ", \"ts\": %.3f, \"dur\": %.3f}", (s->began_ms - origin) * 1e3,
                 (s->ended_ms - s->began_ms) * 1e3);
  }
  nxi_text_add(out, "\n]}\n");
}

int nxc_trace_save(const nxc_trace *t, const char *path) {
  nxi_text text = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  put_trace(t, &text);
  if (text.failed) nxi_oom_in(&d, nxi_oom(&d), "trace");
  else nxi_file_write_text("trace", path, text.data, &d);
  nxi_text_free(&text);
  return d.status ? nxc_failure("nxc", &d) : NXC_OK;
}

void nxc_trace_free(nxc_trace *t) {
  if (t == NULL) return;
  if (of_steps == t) {
    nxp_debugging.step = NULL;
    of_steps = NULL;
  }
  nxi_free(t->spans);
  nxi_free(t);
}
