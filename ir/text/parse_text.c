/* SPDX-License-Identifier: ISC */
/* Parses a text of graphs: all but the last one are bodies, which the graphs below them name. So no
 * body can name itself, and one pass is enough. */
#include <stdio.h>
#include <string.h>

#include "ir/graph/control.h"
#include "parse_graph.h"

enum { MOST_GRAPHS = 4096 };

#define MALFORMED(p, at, ...) nxg_parse_fail(p, at, NX_PARSE, __VA_ARGS__)

static nx_status out_of_memory(nxg_parser *p) { return nxg_parse_locate(p, p->at, nxi_oom(p->d)); }

/* ---- attributes that name bodies: @name, or [@name, @name] */

bool nxg_names_bodies(nxg_key key) {
  return key == NXG_KEY_cond || key == NXG_KEY_body || key == NXG_KEY_branches;
}

static nx_status take_body(nxg_parser *p) {
  const char *name, *at = p->at;
  uint32_t n = 0;
  if (!nxg_parse_take(p, '@')) return MALFORMED(p, p->at, "'@' is missing before a body's name");
  nx_status status = nxg_parse_name(p, &name, &n);
  if (status) return status;
  const uint32_t *found = nxg_names_find(&p->body_names, name, n);
  if (found == NULL)
    return MALFORMED(p, at, "no graph above this one has the name @%.*s", (int)n, name);
  if (p->n_named == NXG_PARSE_NAMED)
    return MALFORMED(p, at, "more than %d bodies are named", NXG_PARSE_NAMED);
  p->named[p->n_named++] = p->bodies[*found];
  return NX_OK;
}

nx_status nxg_parse_named(nxg_parser *p, nxg_key key) {
  nxg_value *v = &p->s.values[key];
  bool list = nxg_parse_take(p, '[');
  nx_status status;
  v->list[0] = p->n_named;
  do status = take_body(p);
  while (status == NX_OK && list && nxg_parse_take(p, ','));
  v->n = (int32_t)(p->n_named - v->list[0]);
  if (status == NX_OK && list && !nxg_parse_take(p, ']'))
    return MALFORMED(p, p->at, "']' is missing after a list of bodies");
  return status;
}

#define KEY(name) (UINT64_C(1) << NXG_KEY_##name)

uint64_t nxg_parse_control_keys(nxg_op op) {
  if (op == NXG_while) return KEY(cond) | KEY(body) | KEY(limit) | KEY(result);
  if (op == NXG_case) return KEY(branches) | KEY(result);
  return KEY(count) | KEY(carried) | KEY(stacked) | KEY(reverse) | KEY(body) | KEY(limit) |
         KEY(result);
}

/* Appends the bodies that an attribute names. */
static nx_status named_attrs(nxg_parser *p, nxg_op op, nxg_key key, int64_t *attrs, uint32_t *n) {
  const nxg_value *v = &p->s.values[key];
  if (!v->at)
    return MALFORMED(p, p->s.at, "%s needs the attribute %s", nxg_ops[op].name, nxg_key_names[key]);
  if (v->is_list != (key == NXG_KEY_branches))
    return MALFORMED(p, v->at, "the attribute %s is %s", nxg_key_names[key],
                     v->is_list ? "one body" : "a list of bodies");
  if (v->n > NXG_CONTROL_BRANCHES)
    return MALFORMED(p, v->at, "case has at most %d branches", NXG_CONTROL_BRANCHES);
  for (int32_t i = 0; i < v->n; i++) attrs[(*n)++] = p->named[v->list[0] + i];
  return NX_OK;
}

nx_status nxg_parse_control(nxg_parser *p, nxg_op op, int64_t *attrs, uint32_t *n) {
  static const nxg_key keys[] = {NXG_KEY_result,  NXG_KEY_limit,   NXG_KEY_count,
                                 NXG_KEY_carried, NXG_KEY_stacked, NXG_KEY_reverse};
  int64_t zero = 0, unknown = -1;
  nx_status status = NX_OK;
  *n = op == NXG_case ? 1 : op == NXG_while ? NXG_WHILE_COND : NXG_FOR_BODY;
  for (uint32_t i = 0; i < *n && !status; i++)
    status = nxg_parse_integer(p, keys[i], keys[i] == NXG_KEY_count ? &unknown : &zero, &attrs[i]);
  if (!status && op == NXG_while) status = named_attrs(p, op, NXG_KEY_cond, attrs, n);
  if (status) return status;
  return named_attrs(p, op, op == NXG_case ? NXG_KEY_branches : NXG_KEY_body, attrs, n);
}

/* ---- graphs */

/* Makes a body of the graph that was read. */
static nx_status keep_body(nxg_parser *p) {
  const char *at = p->name_at, *name = at;
  uint32_t n = (uint32_t)strlen(p->g->name);
  int64_t number;
  if (n > 0 && nxg_names_find(&p->body_names, name, n))
    return MALFORMED(p, at, "two graphs have the name @%s", p->g->name);
  if (p->n_bodies == MOST_GRAPHS)
    return MALFORMED(p, at, "the text has more than %d graphs", MOST_GRAPHS);
  if (!nxi_grow(&p->bodies, &p->cap_bodies, p->n_bodies + 1, sizeof *p->bodies) ||
      (n > 0 && !nxg_names_add(&p->body_names, name, n, p->n_bodies)))
    return out_of_memory(p);
  nxg_graph *g = p->g;
  p->g = NULL;
  nx_status status = nxg_body_take(g, &number, p->d);
  if (status != NX_OK) return nxg_parse_locate(p, at, status);
  p->bodies[p->n_bodies++] = number;
  return NX_OK;
}

static nx_status parse_all(nxg_parser *p) {
  nx_status status = nxg_parse_version(p);
  if (status == NX_OK) status = nxg_parse_one(p);
  while (status == NX_OK && nxg_parse_more(p)) {
    if (p->end - p->at < 5 || memcmp(p->at, "graph", 5) != 0)
      return MALFORMED(p, p->at, "text follows the graph");
    status = keep_body(p);
    if (status != NX_OK) return status;
    p->g = nxg_create("");
    if (p->g == NULL) return out_of_memory(p);
    nxg_names_free(&p->names);
    p->names = (nxg_names){0};
    status = nxg_parse_one(p);
  }
  return status;
}

static nx_status run_parser(nxg_parser *p, const char *text, size_t length, nxi_diag *own) {
  p->text = p->at = text;
  p->end = text + length;
  p->d = own;
  p->g = nxg_create("");
  nx_status status = p->g ? parse_all(p) : nxi_oom(own);
  nxg_names_free(&p->names);
  nxi_free(p->operands);
  nxi_free(p->operand_at);
  nxi_free(p->types);
  for (uint32_t i = 0; i < p->n_bodies; i++) nxg_body_release(p->bodies[i]);
  nxg_names_free(&p->body_names);
  nxi_free(p->bodies);
  if (status) nxg_destroy(p->g);
  return status;
}

static nx_status parse(const char *text, size_t length, bool closed, const nxg_customs *customs,
                       nxg_graph **out, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  nxg_parser *p = nxi_calloc(1, sizeof *p); /* some kilobytes, which are too much for the stack */
  if (p) p->closed = closed, p->customs = customs;
  nx_status status = p ? run_parser(p, text, length, &own) : nxi_oom(&own);
  if (p && !status) *out = p->g;
  nxi_free(p);
  if (status && d && d->status == NX_OK) *d = own;
  return status;
}

nx_status nxg_parse(const char *text, size_t length, nxg_graph **out, nxi_diag *d) {
  return parse(text, length, false, NULL, out, d);
}

nx_status nxg_parse_closed(const char *text, size_t length, nxg_graph **out, nxi_diag *d) {
  return nxg_parse_closed_with(text, length, NULL, out, d);
}
nx_status nxg_parse_closed_with(const char *text, size_t length, const nxg_customs *customs,
                                nxg_graph **out, nxi_diag *d) {
  return parse(text, length, true, customs, out, d);
}
