/* SPDX-License-Identifier: ISC */
/* Traces: see trace.h. */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "passes/pipeline.h"

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

static nxc_trace *of_steps; /* the trace that steps go to */

nxc_trace *nxc_trace_create(void) { return nxi_calloc(1, sizeof(nxc_trace)); }

void nxc_trace_add(nxc_trace *t, const char *category, const char *name, double began_ms,
                   double ended_ms) {
  if (t == NULL || !nxi_grow(&t->spans, &t->capacity, t->n + 1, sizeof *t->spans)) return;
  span *s = &t->spans[t->n++];
  *s = (span){.category = category, .began_ms = began_ms, .ended_ms = ended_ms};
  snprintf(s->name, sizeof s->name, "%s", name);
}

static void step(const char *name, bool begin) {
  double now = nxc_now_ms();
  if (begin) of_steps->step_began = now;
  else nxc_trace_add(of_steps, "step", name, of_steps->step_began, now);
}

void nxc_trace_steps(nxc_trace *t) {
  if (t == NULL) return;
  of_steps = t;
  nxp_debugging.step = step;
}

static void put_string(FILE *f, const char *text) {
  fputc('"', f);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', f);
    if ((unsigned char)*text < ' ') fprintf(f, "\\u%04x", *text);
    else fputc(*text, f);
  }
  fputc('"', f);
}

int nxc_trace_save(const nxc_trace *t, const char *path) {
  double origin = t != NULL && t->n > 0 ? t->spans[0].began_ms : 0;
  FILE *f = fopen(path, "w");
  if (f == NULL) return nxc_complain(path, "cannot be written: %s", strerror(errno));
  fprintf(f, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
  for (uint32_t i = 0; t != NULL && i < t->n; i++) {
    const span *s = &t->spans[i];
    fprintf(f, "%s\n  {\"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"cat\": ", i ? "," : "");
    put_string(f, s->category);
    fprintf(f, ", \"name\": ");
    put_string(f, s->name);
    fprintf(f, ", \"ts\": %.3f, \"dur\": %.3f}", (s->began_ms - origin) * 1e3,
            (s->ended_ms - s->began_ms) * 1e3);
  }
  fprintf(f, "\n]}\n");
  bool bad = ferror(f) != 0;
  if (fclose(f) != 0 || bad) return nxc_complain(path, "cannot be written: %s", strerror(errno));
  return NXC_OK;
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
