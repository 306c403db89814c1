/* SPDX-License-Identifier: ISC */
/* The graph as text, one node a line, and as a picture. The same graph prints the same bytes, and
 * what is printed parses back to them: nodes without a usable name of their own are numbered the
 * way the parser would number them (inputs first), and a view node is spelled with a movement word
 * only if that word, applied to its operand, gives exactly this view. */
#include <string.h>

#include "graph_text.h"
#include "ir/graph/control.h"
#include "ir/library/custom.h"

/* ---- labels */

bool nxg_printer_init(nxg_printer *p, const nxg_graph *g, nxi_text *out) {
  *p = (nxg_printer){g, out, nxi_malloc((size_t)g->n_nodes * sizeof *p->number), NULL};
  nxg_names names = {0};
  bool ok = p->number != NULL;
  uint32_t next = 0;
  for (uint32_t i = 0; ok && i < g->n_nodes; i++) p->number[i] = UINT32_MAX - 1;
  for (uint32_t i = 0; ok && i < g->n_inputs; i++)
    if (g->inputs[i].node < g->n_nodes) p->number[g->inputs[i].node] = next++;
  for (uint32_t i = 0; ok && i < g->n_nodes; i++) {
    const char *name = g->nodes[i].name;
    if (p->number[i] == UINT32_MAX - 1) p->number[i] = next++;
    if (!nxg_is_name(name)) continue;
    uint32_t length = (uint32_t)strlen(name);
    /* only the first node with a name keeps it */
    if (nxg_names_find(&names, name, length)) continue;
    ok = nxg_names_add(&names, name, length, i);
    p->number[i] = UINT32_MAX;
  }
  nxg_names_free(&names);
  if (!ok) {
    out->failed = true;
    nxg_printer_free(p);
  }
  return ok;
}

void nxg_printer_free(nxg_printer *p) {
  nxi_free(p->number);
  p->number = NULL;
}

void nxg_print_label(const nxg_printer *p, uint32_t node) {
  if (node >= p->g->n_nodes) nxi_text_add(p->out, "%%?%u", node);
  else if (p->number[node] == UINT32_MAX) nxi_text_add(p->out, "%%%s", p->g->nodes[node].name);
  else nxi_text_add(p->out, "%%%u", p->number[node]);
}

/* ---- pieces */

static void put(nxi_text *out, const char *s) { nxi_text_put(out, s, (uint32_t)strlen(s)); }

static void print_list(nxi_text *out, const char *name, int64_t n, const int64_t *values) {
  nxi_text_add(out, "%s[", name);
  for (int64_t i = 0; i < n; i++) nxi_text_add(out, i ? ",%lld" : "%lld", (long long)values[i]);
  nxi_text_put(out, "]", 1);
}

void nxg_print_type(nxi_text *out, nx_dtype t, int32_t rank, const int64_t *shape) {
  print_list(out, nxi_dtype_valid(t) ? nxi_dtypes[t].name : "?", rank, shape);
}

static void print_string(nxi_text *out, const char *s) {
  nxi_text_put(out, "\"", 1);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') nxi_text_add(out, "\\%c", *s);
    else if ((unsigned char)*s < 32 || *s == 127) nxi_text_add(out, "\\x%02x", (unsigned char)*s);
    else nxi_text_put(out, s, 1);
  }
  nxi_text_put(out, "\"", 1);
}

static void print_tag(nxi_text *out, const nxg_node *n) {
  if (n->tag) nxi_text_add(out, " tag=%llu", (unsigned long long)n->tag);
  if (n->tag_text) {
    put(out, " note=");
    print_string(out, n->tag_text);
  }
}

/* ---- view nodes: the movement word with the same meaning, if there is one */

static bool same_view(const nxg_view *a, const nxg_view *b) {
  return a->offset == b->offset && nxg_same_shape(a->rank, a->shape, b->rank, b->shape) &&
         !memcmp(a->strides, b->strides, (size_t)a->rank * sizeof *a->strides);
}

/* Finds the axes of `whole` in the order of v, if v is a permutation of it. */
static bool find_permutation(const nxg_view *whole, const nxg_view *v, int32_t *axes) {
  uint32_t used = 0;
  if (whole->rank != v->rank) return false;
  for (int32_t i = 0; i < v->rank; i++) {
    int32_t k = 0;
    while (k < v->rank &&
           (used >> k & 1 || whole->shape[k] != v->shape[i] || whole->strides[k] != v->strides[i]))
      k++;
    if (k == v->rank) return false;
    used |= 1u << k;
    axes[i] = k;
  }
  return true;
}

/* Computes the start, stop and step with which v would be a slice of `whole` (which is dense and
 * has the same rank). The caller checks whether it is that slice. */
static void find_slice(const nxg_view *whole, const nxg_view *v, int64_t *start, int64_t *stop,
                       int64_t *step) {
  int64_t rest = v->offset;
  for (int32_t i = 0; i < v->rank; i++) {
    int64_t stride = whole->strides[i] ? whole->strides[i] : 1;
    start[i] = whole->shape[i] > 1 ? rest / stride : 0;
    rest -= start[i] * stride;
    stop[i] = start[i] + v->shape[i];
    step[i] = v->strides[i] / stride;
  }
}

static void print_axes(nxi_text *out, int32_t n, const int32_t *axes) {
  int64_t wide[NXG_MAX_RANK];
  for (int32_t i = 0; i < n; i++) wide[i] = axes[i];
  print_list(out, " axes=", n, wide);
}

/* Prints "word %operand attributes" and returns true if one of the words of the same rank fits. */
static bool print_same_rank(const nxg_printer *p, uint32_t operand, const nxg_view *whole,
                            const nxg_view *v) {
  nxi_text *out = p->out;
  nxg_view made;
  int32_t axes[NXG_MAX_RANK], n = 0;
  int64_t start[NXG_MAX_RANK], stop[NXG_MAX_RANK], step[NXG_MAX_RANK];
  if (find_permutation(whole, v, axes) &&
      !nxg_view_permute(whole, axes, (size_t)v->rank, &made, NULL) && same_view(&made, v)) {
    put(out, "permute ");
    nxg_print_label(p, operand);
    print_axes(out, v->rank, axes);
    return true;
  }
  for (int32_t i = 0; i < v->rank; i++)
    if (v->strides[i] == -whole->strides[i]) axes[n++] = i;
  if (!nxg_view_flip(whole, axes, (size_t)n, &made, NULL) && same_view(&made, v)) {
    put(out, "flip ");
    nxg_print_label(p, operand);
    print_axes(out, n, axes);
    return true;
  }
  find_slice(whole, v, start, stop, step);
  bool shrink = !nxg_view_shrink(whole, start, stop, &made, NULL) && same_view(&made, v);
  if (!shrink &&
      (nxg_view_slice(whole, start, v->shape, step, &made, NULL) || !same_view(&made, v)))
    return false;
  put(out, shrink ? "shrink " : "slice ");
  nxg_print_label(p, operand);
  print_list(out, " start=", v->rank, start);
  print_list(out, shrink ? " stop=" : " count=", v->rank, shrink ? stop : v->shape);
  if (!shrink) print_list(out, " step=", v->rank, step);
  return true;
}

static void print_view(const nxg_printer *p, const nxg_node *n) {
  const nxg_graph *g = p->g;
  uint32_t operand = n->n_args ? n->args[0] : UINT32_MAX;
  bool plain =
      operand < g->n_nodes && n->n_attrs == 1u + n->rank && g->nodes[operand].op != NXG_view;
  nxg_view whole, v, made;
  const char *word =
      "view "; /* a view of the operand's value; unlike movement words, it is never composed or
                * dropped */
  if (plain) {
    nxg_view_contiguous(&v, n->rank, n->shape);
    v.offset = n->attrs[0];
    memcpy(v.strides, n->attrs + 1, n->rank * sizeof *v.strides);
    nxg_view_contiguous(&whole, g->nodes[operand].rank, g->nodes[operand].shape);
    if (!same_view(&whole, &v)) {
      word = NULL;
      if (!nxg_view_expand(&whole, v.rank, v.shape, &made, NULL) && same_view(&made, &v))
        word = "expand ";
      else if (!nxg_view_reshape(&whole, v.rank, v.shape, &made, NULL) && same_view(&made, &v))
        word = "reshape ";
      else if (whole.rank == v.rank && print_same_rank(p, operand, &whole, &v)) return;
    }
  }
  put(p->out, word ? word : "as_strided ");
  nxg_print_label(p, operand);
  if (word && word[0] != 'v') return;
  if (n->n_attrs) print_list(p->out, " strides=", n->n_attrs - 1, n->attrs + 1);
  if (n->n_attrs) nxi_text_add(p->out, " offset=%lld", (long long)n->attrs[0]);
}

/* ---- attributes of the other operations */

static void print_mask(nxi_text *out, uint64_t mask) {
  int64_t axes[64], n = 0;
  for (int i = 0; i < 64; i++)
    if (mask >> i & 1) axes[n++] = i;
  print_list(out, " axes=", n, axes);
}

/* Operations of one name may be several: in the text of a body alone, which tells bodies apart,
 * their numbers follow. */
static void print_custom(const nxg_printer *p, const nxg_node *n) {
  nxi_text *out = p->out;
  if (!p->bodies) nxi_text_add(out, " number=%lld", (long long)n->attrs[NXG_CUSTOM_NUMBER]);
  if (n->attrs[NXG_CUSTOM_ORDER])
    nxi_text_add(out, " order=%lld", (long long)n->attrs[NXG_CUSTOM_ORDER]);
  if (n->attrs[NXG_CUSTOM_ATTRS])
    nxi_text_add(out, " result=%lld", (long long)n->attrs[NXG_CUSTOM_ATTRS]);
}

static void print_call(const nxg_printer *p, const nxg_node *n) {
  nxi_text *out = p->out;
  size_t length;
  if (n->op == NXG_custom) print_custom(p, n);
  for (uint32_t i = 0; n->op != NXG_custom && i < nxg_call_attrs((nxg_op)n->op); i++) {
    const char *name = nxg_call_key((nxg_op)n->op, i, &length);
    if (length == 4 && memcmp(name, "axes", 4) == 0) print_mask(out, (uint64_t)n->attrs[i]);
    else if (n->attrs[i])
      nxi_text_add(out, " %.*s=%lld", (int)length, name, (long long)n->attrs[i]);
  }
  bool any = false, rows = nxg_call_has_rows((nxg_op)n->op, n->n_attrs);
  uint32_t at = nxg_call_attrs((nxg_op)n->op);
  for (uint32_t i = 0; rows && i < n->n_args && at < n->n_attrs; i++) {
    int64_t rank = n->attrs[at++];
    if (rank < 0 || rank > n->n_attrs - at) continue;
    nxi_text_add(out, " parts%u", i);
    print_list(out, "=", rank, n->attrs + at);
    at += (uint32_t)rank;
    any = true;
  }
  if (rows && !any) put(out, " parts0=[-1]");
}

static void print_indexed(nxi_text *out, const nxg_node *n) {
  const int64_t *a = n->attrs;
  bool gathers = n->op == NXG_gather, shaped = !gathers && nxg_scatter_has_shape(a[1]);
  bool checked = n->n_args == (gathers ? 3 : 4);
  uint32_t own = n->n_attrs - (checked && n->n_attrs > (gathers ? 1 : 2));
  nxi_text_add(out, " axis=%lld", (long long)a[0]);
  if (!gathers && a[1]) nxi_text_add(out, " mode=%lld", (long long)a[1]);
  if (shaped) print_list(out, " shape=", own - 2, a + 2);
  if (gathers && own == 3) {
    print_list(out, " start=", 1, a + 1);
    print_list(out, " count=", 1, a + 2);
  }
  if (own < n->n_attrs && a[own]) print_mask(out, (uint64_t)a[own]);
}

/* im: the imaginary part of a complex scalar. */
static void print_scalar(nxi_text *out, nx_dtype t, int64_t re, int64_t im) {
  if (nxi_is_complex(t)) nxi_print_complex(out, nxi_part_dtype(t), (uint64_t)re, (uint64_t)im);
  else nxi_print_scalar(out, t, (uint64_t)re);
}

static void print_reduce(nxi_text *out, const nxg_node *n) {
  if (nxg_finds_index(n->op)) nxi_text_add(out, " axis=%lld", (long long)n->attrs[0]);
  else print_mask(out, (uint64_t)n->attrs[0]);
  if (n->attrs[1]) put(out, " keepdims");
}

static void print_scan(nxi_text *out, const nxg_node *n) {
  nxi_text_add(out, " axis=%lld", (long long)n->attrs[0]);
  if (n->attrs[1]) nxi_text_add(out, " mode=%lld", (long long)n->attrs[1]);
}

static void print_number(nxi_text *out, const char *name, int64_t value) {
  if (value != 0) nxi_text_add(out, " %s=%lld", name, (long long)value);
}

static void print_control(const nxg_printer *p, const nxg_node *n) {
  nxi_text *out = p->out;
  uint32_t first, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
  const char *separator = n->op == NXG_case ? " branches=[" : " cond=";
  if (n->op == NXG_for || n->op == NXG_scan) {
    if (n->attrs[NXG_FOR_COUNT] >= 0)
      nxi_text_add(out, " count=%lld", (long long)n->attrs[NXG_FOR_COUNT]);
    print_number(out, "carried", n->attrs[NXG_FOR_CARRIED]);
    print_number(out, "stacked", n->attrs[NXG_FOR_STACKED]);
    print_number(out, "reverse", n->attrs[NXG_FOR_REVERSE]);
    separator = " body=";
  }
  for (uint32_t i = 0; i < bodies; i++) {
    put(out, separator);
    nxg_print_body_name(p, n->attrs[first + i]);
    separator = n->op == NXG_case ? ", " : " body=";
  }
  if (n->op == NXG_case) put(out, "]");
  else print_number(out, "limit", n->attrs[1]);
  print_number(out, "result", n->attrs[0]);
}

static void print_attrs(const nxg_printer *p, const nxg_node *n, nx_dtype operand) {
  nxi_text *out = p->out;
  const int64_t *a = n->attrs;
  if (nxg_ops[n->op].kind == NXG_KIND_CALL) {
    print_call(p, n);
    return;
  }
  if (nxg_ops[n->op].kind == NXG_KIND_REDUCE) {
    print_reduce(out, n);
    return;
  }
  if (nxg_is_scan(n->op)) {
    print_scan(out, n);
    return;
  }
  switch (n->op) {
    case NXG_full:
      if (a[1] >= 0) {
        nxi_text_add(out, " param %lld", (long long)a[1]);
      } else {
        nxi_text_put(out, " ", 1);
        print_scalar(out, n->dtype, a[0], a[2 * nxi_is_complex(n->dtype)]);
      }
      break;
    case NXG_arange:
      put(out, " start=");
      print_scalar(out, n->dtype, a[0], a[2 * nxi_is_complex(n->dtype)]);
      put(out, " step=");
      print_scalar(out, n->dtype, a[1], a[nxi_is_complex(n->dtype) ? 3 : 0]);
      break;
    case NXG_eye: nxi_text_add(out, " k=%lld", (long long)a[0]); break;
    case NXG_cat: nxi_text_add(out, " axis=%lld", (long long)a[0]); break;
    case NXG_gather:
    case NXG_scatter: print_indexed(out, n); break;
    case NXG_pad:
      put(out, " value=");
      print_scalar(out, operand, a[0], a[n->n_attrs - 1]);
      print_list(out, " before=", (n->n_attrs - 1) / 2, a + 1);
      print_list(out, " after=", (n->n_attrs - 1) / 2, a + 1 + (n->n_attrs - 1) / 2);
      break;
    case NXG_update:
      nxi_text_add(out, " offset=%lld", (long long)a[0]);
      print_list(out, " shape=", (n->n_attrs - 2) / 2, a + 2);
      print_list(out, " strides=", (n->n_attrs - 2) / 2, a + 2 + (n->n_attrs - 2) / 2);
      break;
    default: break;
  }
}

/* The number of attributes that print_attrs reads. If a node has fewer, in a broken graph that the
 * verifier shows, they are printed as plain numbers. */
static uint32_t attrs_wanted(const nxg_node *n) {
  switch (n->op) {
    case NXG_full: return 2 + nxi_is_complex(n->dtype);
    case NXG_arange: return 2 + 2 * nxi_is_complex(n->dtype);
    case NXG_update: return 2;
    case NXG_eye:
    case NXG_cat:
    case NXG_gather:
    case NXG_pad: return 1;
    case NXG_scatter: return 2;
    default: break;
  }
  if (nxg_ops[n->op].kind == NXG_KIND_CALL) return nxg_call_attrs((nxg_op)n->op);
  if (nxg_is_control(n->op)) return n->op == NXG_case ? 1 : n->op == NXG_while ? 4 : 7;
  return nxg_ops[n->op].kind == NXG_KIND_REDUCE || nxg_is_scan(n->op) ? 2 : 0;
}

void nxg_print_node(const nxg_printer *p, uint32_t node) {
  const nxg_node *n = &p->g->nodes[node];
  nxi_text *out = p->out;
  put(out, "  ");
  nxg_print_label(p, node);
  put(out, " = ");
  if (n->op == NXG_view) {
    print_view(p, n);
  } else {
    put(out, n->op < NXG_OP_COUNT ? nxg_ops[n->op].name : "?");
    if (n->op == NXG_custom && n->n_attrs >= attrs_wanted(n) && nxg_custom_of(n->attrs))
      nxi_text_add(out, " \"%s\"", nxg_custom_of(n->attrs)->name);
    for (uint32_t i = 0; i < n->n_args; i++) {
      put(out, i ? ", " : " ");
      nxg_print_label(p, n->args[i]);
    }
    nx_dtype operand =
        n->n_args && n->args[0] < p->g->n_nodes ? p->g->nodes[n->args[0]].dtype : n->dtype;
    if (n->op < NXG_OP_COUNT && n->n_attrs >= attrs_wanted(n) && nxi_dtype_valid(n->dtype) &&
        nxi_dtype_valid(operand)) {
      if (nxg_is_control(n->op)) print_control(p, n);
      else print_attrs(p, n, operand);
    } else print_list(out, " attrs=", n->n_attrs, n->attrs);
  }
  put(out, " : ");
  nxg_print_type(out, n->dtype, n->rank, n->shape);
  print_tag(out, n);
  put(out, "\n");
}

/* ---- the whole */

static void print_input(const nxg_printer *p, const nxg_input *in) {
  nxg_print_label(p, in->node);
  if (in->node < p->g->n_nodes) {
    const nxg_node *n = &p->g->nodes[in->node];
    put(p->out, ": ");
    nxg_print_type(p->out, n->dtype, n->rank, n->shape);
    if (in->flags & NXG_INPUT_OVERWRITE) put(p->out, " overwrite");
    if (in->flags & NXG_INPUT_GIVEN) put(p->out, " given");
    if (in->flags & NXG_INPUT_SPENT) put(p->out, " spent");
    if (in->flags & NXG_INPUT_ALIGNED) put(p->out, " aligned");
    if (in->alias >= 0) nxi_text_add(p->out, " alias=%d", in->alias);
    print_tag(p->out, n);
  }
}

/* An output's name is printed if it differs from its node's label. */
static void print_output(const nxg_printer *p, const nxg_output *o) {
  nxg_print_label(p, o->node);
  if (!nxg_is_name(o->name) || o->node >= p->g->n_nodes) return;
  bool named = p->number[o->node] == UINT32_MAX;
  if (!named || strcmp(p->g->nodes[o->node].name, o->name) != 0)
    nxi_text_add(p->out, " as %s", o->name);
}

void nxg_print_version(nxi_text *out) { put(out, "nxir 2\n"); }

void nxg_print_head(const nxg_printer *p, const char *name) {
  const nxg_graph *g = p->g;
  put(p->out, "graph @");
  for (const char *c = name; *c; c++) nxi_text_put(p->out, nxg_is_name_char(*c) ? c : "_", 1);
  put(p->out, "(");
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    if (i) put(p->out, ", ");
    print_input(p, &g->inputs[i]);
  }
  put(p->out, ") -> (");
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    if (i) put(p->out, ", ");
    print_output(p, &g->outputs[i]);
  }
  put(p->out, ") {\n");
}

void nxg_print_named(const nxg_graph *g, const char *name, const nxg_body_names *bodies,
                     nxi_text *out) {
  nxg_printer p;
  if (!nxg_printer_init(&p, g, out)) return;
  p.bodies = bodies;
  nxg_print_head(&p, name);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op != NXG_input) nxg_print_node(&p, i);
  put(out, "}\n");
  nxg_printer_free(&p);
}

void nxg_print_alone(const nxg_graph *g, nxi_text *out) {
  nxg_print_version(out);
  nxg_print_named(g, g->name, NULL, out);
}

void nxg_print(const nxg_graph *g, nxi_text *out) {
  nxg_body_names bodies;
  if (!nxg_body_names_init(&bodies, g)) {
    out->failed = true;
    return;
  }
  nxg_print_version(out);
  nxg_print_bodies(&bodies, out);
  nxg_print_named(g, g->name, &bodies, out);
  nxg_body_names_free(&bodies);
}

void nxg_print_dot(const nxg_graph *g, nxi_text *out) {
  nxg_printer p;
  if (!nxg_printer_init(&p, g, out)) return;
  put(out, "digraph nx {\n  node [shape=box, fontname=\"monospace\"];\n");
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nxi_text_add(out, "  n%u [label=\"", i);
    nxg_print_label(&p, i);
    nxi_text_add(out, " %s\\n", nxg_ops[n->op].name);
    nxg_print_type(out, n->dtype, n->rank, n->shape);
    nxi_text_add(out, "\"%s];\n",
                 nxg_ops[n->op].kind == NXG_KIND_LEAF ? ", style=rounded"
                 : n->op == NXG_view                  ? ", style=dotted"
                                                      : "");
    for (uint32_t k = 0; k < n->n_args; k++) nxi_text_add(out, "  n%u -> n%u;\n", n->args[k], i);
  }
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    nxi_text_add(out, "  out%u [label=\"output %u\", shape=ellipse];\n  n%u -> out%u;\n", i, i,
                 g->outputs[i].node, i);
  }
  put(out, "}\n");
  nxg_printer_free(&p);
}
