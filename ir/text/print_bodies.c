/* SPDX-License-Identifier: ISC */
/* A graph as text with the bodies that it names above it, each above those that name it. Bodies of
 * one name get numbers, so that every name is one body's. */
#include <stdio.h>
#include <string.h>

#include "graph_text.h"
#include "ir/graph/control.h"

static bool is_listed(const nxg_body_names *b, int64_t number) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->rows[i].number == number) return true;
  return false;
}

static bool is_taken(const nxg_body_names *b, const char *name) {
  for (uint32_t i = 0; i < b->n; i++)
    if (strcmp(b->rows[i].name, name) == 0) return true;
  return false;
}

static bool list(nxg_body_names *b, const nxg_body *body) {
  if (!nxi_grow(&b->rows, &b->capacity, b->n + 1, sizeof *b->rows)) return false;
  nxg_body_name *row = &b->rows[b->n];
  char plain[NXG_NAME_MOST + 1];
  *row = (nxg_body_name){.number = body->number};
  snprintf(plain, sizeof plain, "%s", body->graph->name[0] ? body->graph->name : "body");
  for (char *c = plain; *c; c++)
    if (!nxg_is_name_char(*c)) *c = '_';
  snprintf(row->name, sizeof row->name, "%s", plain);
  for (uint32_t k = 1; is_taken(b, row->name); k++)
    snprintf(row->name, sizeof row->name, "%.50s.%u", plain, k);
  b->n++;
  return true;
}

/* Lists the bodies of g, innermost first. Bodies nest at most NXG_BODY_DEPTH deep. */
static bool list_all(nxg_body_names *b, const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_bodies; i++) {
    const nxg_body *body = nxg_body_find(g->bodies[i]);
    if (is_listed(b, body->number)) continue;
    if (!list_all(b, body->graph) || !list(b, body)) return false;
  }
  return true;
}

bool nxg_body_names_init(nxg_body_names *b, const nxg_graph *g) {
  *b = (nxg_body_names){0};
  if (list_all(b, g)) return true;
  nxg_body_names_free(b);
  return false;
}

void nxg_body_names_free(nxg_body_names *b) {
  nxi_free(b->rows);
  b->rows = NULL;
}

void nxg_print_body_name(const nxg_printer *p, int64_t number) {
  for (uint32_t i = 0; p->bodies && i < p->bodies->n; i++)
    if (p->bodies->rows[i].number == number) {
      nxi_text_add(p->out, "@%s", p->bodies->rows[i].name);
      return;
    }
  nxi_text_add(p->out, "@%lld", (long long)number);
}

void nxg_print_bodies(const nxg_body_names *b, nxi_text *out) {
  for (uint32_t i = 0; i < b->n && !out->failed; i++)
    nxg_print_named(nxg_body_find(b->rows[i].number)->graph, b->rows[i].name, b, out);
}
