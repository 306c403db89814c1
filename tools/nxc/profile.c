/* SPDX-License-Identifier: ISC */
/* Sums the steps of a trace up; see profile.h. */
#include "profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/alloc.h"
#include "runtime/trace.h"

typedef struct row {
  char name[64];
  double *times; /* ms */
  uint32_t n, capacity;
  int64_t bytes;
  double limit;
} row;

typedef struct table {
  row *rows;
  uint32_t n, capacity;
  bool failed;
} table;

static row *row_of(table *t, const nxi_trace_span *s) {
  for (uint32_t i = 0; i < t->n; i++)
    if (strcmp(t->rows[i].name, s->name) == 0 && t->rows[i].bytes == s->bytes) return &t->rows[i];
  if (!nxi_grow(&t->rows, &t->capacity, t->n + 1, sizeof *t->rows)) return NULL;
  row *r = &t->rows[t->n++];
  *r = (row){.bytes = s->bytes, .limit = s->limit};
  snprintf(r->name, sizeof r->name, "%s", s->name);
  return r;
}

static void add(void *user, const nxi_trace_span *s) {
  table *t = user;
  if (strcmp(s->category, "step") != 0) return;
  row *r = row_of(t, s);
  if (r != NULL && nxi_grow(&r->times, &r->capacity, r->n + 1, sizeof *r->times))
    r->times[r->n++] = (double)(s->ended_ns - s->began_ns) * 1e-6;
  else t->failed = true;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void put_row(const row *r, nxi_text *out) {
  double ms = r->times[r->n / 2], speed = ms > 0 ? (double)r->bytes * 1e-6 / ms : 0;
  nxi_text_add(out, "  %s: %u runs, median %.4f ms", r->name, r->n, ms);
  if (r->bytes > 0) nxi_text_add(out, ", %.6f MB, %.2f GB/s", (double)r->bytes * 1e-6, speed);
  if (r->bytes > 0 && r->limit > 0) nxi_text_add(out, ", %.2f of a copy's", speed / r->limit);
  nxi_text_add(out, "\n");
}

void nxc_profile(nxi_text *out) {
  table t = {0};
  nxi_trace_each(add, &t);
  for (uint32_t i = 0; i < t.n; i++) {
    row *r = &t.rows[i];
    if (r->n > 0) qsort(r->times, r->n, sizeof *r->times, compare);
    if (r->n > 0) put_row(r, out);
    nxi_free(r->times);
  }
  nxi_free(t.rows);
  out->failed = out->failed || t.failed;
}
