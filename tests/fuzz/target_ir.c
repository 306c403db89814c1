/* SPDX-License-Identifier: ISC */
/* Texts of both IRs, and graphs that are generated from decisions. A text is refused at a place
 * inside it, or it is valid, and what is printed parses to the same. Small graphs are run by every
 * executor and compared with the interpreter; kernels are interpreted for a bounded number of
 * steps, and go through the passes. */
#include <stdlib.h>
#include <string.h>

#include "tests/random/differential.h"
#include "tests/util/guarded.h"
#include "tests/random/generator/graph.h"
#include "codegen_llvm/codegen_llvm.h"
#include "fuzz.h"
#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"
#include "passes/apply.h"
#include "passes/graph/passes.h"

enum { MOST_NODES = 120, MOST_ELEMENTS = 4096, MOST_WORK = 200000, MOST_KERNEL_STEPS = 200000 };

/* Of functions that loop: the interpreter of kernels takes up to 70 ms for an element under the
 * sanitizers. */
enum { MOST_LOOPS = 20 };

/* ---- refusals */

static void check_refusal(const nxi_diag *d, nx_status status, const uint8_t *text, size_t n) {
  int32_t lines = 1;
  for (size_t i = 0; i < n; i++) lines += text[i] == '\n';
  if (d->status != status || !d->message[0])
    fuzz_wrong("%s without a sentence", nx_status_name(status));
  if (status == NX_OUT_OF_MEMORY || status == NX_INTERNAL)
    fuzz_wrong("%s: %s", nx_status_name(status), d->message);
  if (d->line < 1 || d->line > lines || d->column < 0)
    fuzz_wrong("refused at %d:%d of %d lines: %s", d->line, d->column, lines, d->message);
}

static void same_text(const nxi_text *a, const nxi_text *b) {
  if (a->size != b->size || memcmp(a->data, b->data, a->size))
    fuzz_wrong("what is printed parses to something else:\n%s\n----\n%s", a->data, b->data);
}

/* ---- graphs */

static void print_and_parse_graph(const nxg_graph *g) {
  nxi_text first = {0}, second = {0}, faults = {0};
  nxg_graph *again = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxg_verify(g, &faults)) fuzz_wrong("a parsed graph does not verify:\n%s", faults.data);
  nxg_print(g, &first);
  if (nxg_parse(first.data, first.size, &again, &d))
    fuzz_wrong("what is printed is refused at %d:%d: %s\n%s", d.line, d.column, d.message,
               first.data);
  nxg_print(again, &second);
  same_text(&first, &second);
  nxg_destroy(again);
  nxi_text_free(&first);
  nxi_text_free(&second);
  nxi_text_free(&faults);
}

static bool is_loop(nxg_op op) {
  return nxg_ops[op].scalar >= 0 && nxk_scalars[nxg_ops[op].scalar].flags & NXK_LOOP;
}

/* Whether the harness has a place for its inputs and outputs, and running it takes milliseconds.
 * alias_ranges: updates through inputs that share memory are as the generator makes them; in other
 * texts nobody knows where the input lies. */
static bool is_small(const nxg_graph *g, bool alias_ranges) {
  int64_t all = 0, loops = 0;
  if (g->n_nodes > MOST_NODES || g->n_inputs > NXT_MOST_INPUTS || g->n_outputs > NXT_MOST_INPUTS ||
      g->n_params > 4096)
    return false;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    int64_t elements = nxg_node_elements(n);
    if (elements > MOST_ELEMENTS || (all += elements) > 8 * MOST_ELEMENTS) return false;
    if (is_loop(n->op) && (loops += elements) > MOST_LOOPS) return false;
    if (n->op == NXG_update && n->n_args > 2 && !alias_ranges) return false;
  }
  nxg_program *p = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  /* all executors must fail in the same way */
  if (nxp_program_create(g, &p, &d) != NX_OK) return true;
  int64_t work = nxg_program_work(p);
  nxg_program_destroy(p);
  return work <= MOST_WORK;
}

/* Made before anything is planned: it is what tells the interpreter of libraries. */
static nxt_lab *the_lab(void) {
  static nxt_lab *lab;
  if (!lab) lab = nxt_lab_create();
  return lab;
}

/* Of the executors that take milliseconds the first, and one more; compiled code for one graph in
 * 400. */
static void run_graph(const nxg_graph *g, nxt_random r) {
  nxt_lab *lab = the_lab();
  size_t n;
  const nxt_config *configs = nxt_configs(lab, &n);
  uint64_t seed = nxt_next(&r);
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool compiled = nxt_below(&r, 400) == 0;
  size_t other = (size_t)nxt_below(&r, (int64_t)n);
  for (size_t i = 0; i < n; i++) {
    char why[700] = "";
    bool wanted = configs[i].executor == NXI_COMPILED ? compiled : i == 0 || i == other;
    if (wanted && !nxt_trial_agrees(t, &configs[i], why, sizeof why))
      fuzz_wrong("%s: %s", configs[i].name, why);
  }
  nxt_trial_destroy(t);
}

void fuzz_graph(const uint8_t *data, size_t n) {
  nxg_graph *g = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status = nxg_parse((const char *)data, n, &g, &d);
  if (status) {
    check_refusal(&d, status, data, n);
    return;
  }
  print_and_parse_graph(g);
  if (is_small(g, false)) run_graph(g, fuzz_random_of(data, n));
  nxg_destroy(g);
}

/* What every recipe and every made text is like. */
static nxg_graph *make_graph(nxt_random *r, uint32_t nodes) {
  nxt_graph_options o = {.nodes = nodes,
                         .elements = 1200,
                         .matmul = true,
                         .elementwise = nxt_chance(r, 15),
                         .empty = nxt_chance(r, 10),
                         .rank = nxt_chance(r, 10) ? 8 : 4,
                         .inputs = 5 + (uint32_t)nxt_below(r, 4)};
  return nxt_random_graph(nxt_next(r), &o);
}

void fuzz_recipe(const uint8_t *data, size_t n) {
  nxt_random r = fuzz_random_of(data, n);
  nxt_decisions = (nxt_tape){data, data + n};
  nxg_graph *g = make_graph(&r, 6);
  nxt_decisions = (nxt_tape){NULL, NULL};
  if (!g) return;
  print_and_parse_graph(g);
  if (is_small(g, true)) run_graph(g, r);
  nxg_destroy(g);
}

/* ---- kernels */

static bool reads_and_writes_within(const nxk_kernel *k) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    int64_t n = k->buffers[i].elements;
    if (n < 0 || n > MOST_ELEMENTS) return false;
    bytes += n * nxi_dtype_size(k->buffers[i].dtype);
  }
  int64_t slots = 0;
  for (uint32_t i = 0; i < k->n_instrs; i++) slots += k->instrs[i].lanes;
  return bytes <= 1 << 16 && slots <= 1 << 18 && k->n_params <= 4096;
}

static void interpret(const nxk_kernel *k, nxt_random r) {
  void **memory = calloc(k->n_buffers + 1, sizeof *memory);
  uint64_t *params = calloc(k->n_params + 1, sizeof *params);
  nxi_diag d;
  nxi_diag_clear(&d);
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    if (b->kind == NXK_LOCAL) continue;
    memory[n] = nxt_guarded(b->elements * nxi_dtype_size(b->dtype));
    nxt_random_fill_plain(&r, b->dtype, memory[n++], b->elements);
  }
  for (uint32_t i = 0; i < k->n_params; i++) params[i] = (uint64_t)nxt_below(&r, 20);
  nx_status status = nxk_interpret_within(k, memory, params, 0, INT64_MAX, MOST_KERNEL_STEPS, &d);
  if (status && status != NX_INTERRUPTED && (status != NX_INTERNAL || !d.message[0]))
    fuzz_wrong("interpreted: %s: %s", nx_status_name(status), d.message);
  n = 0;
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    if (b->kind == NXK_LOCAL) continue;
    if (!nxt_guards_hold(memory[n], b->elements * nxi_dtype_size(b->dtype)))
      fuzz_wrong("written outside of b%u", i);
    nxt_guarded_free(memory[n++]);
  }
  free(memory);
  free(params);
}

static void print_and_parse_kernel(const nxk_kernel *k) {
  nxi_text first = {0}, second = {0};
  nxk_kernel *again = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxk_print(k, &first);
  if (nxk_parse(first.data, first.size, &again, &d))
    fuzz_wrong("what is printed is refused at %d:%d: %s\n%s", d.line, d.column, d.message,
               first.data);
  if (!nxk_verify(again, NULL)) fuzz_wrong("what is printed is not valid:\n%s", first.data);
  nxk_print(again, &second);
  same_text(&first, &second);
  nxk_destroy(again);
  nxi_text_free(&first);
  nxi_text_free(&second);
}

/* Passes on a valid kernel: what they leave is valid (nxp_apply looks), or they refuse it in a
 * sentence. */
static void apply_passes(const nxk_kernel *k, const uint8_t *data, size_t n, nxt_random r) {
  static const char *const logical[] = {"simplify", "expand", "simplify,split",
                                        "simplify,expand,simplify"};
  static const char *const bound[] = {"legalize", "legalize"};
  nxi_target target;
  if (!nxi_target_for_isa(nxt_chance(&r, 50) ? "avx512" : "avx2", &target)) return;
  nxp_apply_options o = {&target, true};
  nxi_text out = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  const char *passes =
      k->level == NXK_LOGICAL ? logical[nxt_below(&r, 4)] : bound[nxt_below(&r, 2)];
  nx_status status = nxp_apply((const char *)data, n, passes, &o, &out, &d);
  if (status == NX_OUT_OF_MEMORY || status == NX_INTERNAL)
    fuzz_wrong("%s: %s: %s", passes, nx_status_name(status), d.message);
  nxi_text_free(&out);
}

void fuzz_kernel(const uint8_t *data, size_t n) {
  nxk_kernel *k = NULL;
  nxi_text faults = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_status status = nxk_parse((const char *)data, n, &k, &d);
  if (status) {
    check_refusal(&d, status, data, n);
    return;
  }
  bool valid = nxk_verify(k, &faults);
  if (!valid && !faults.size) fuzz_wrong("a kernel is not valid, and nothing says why");
  nxi_text_free(&faults);
  if (valid) {
    print_and_parse_kernel(k);
    nxt_random r = fuzz_random_of(data, n);
    if (reads_and_writes_within(k)) interpret(k, r);
    apply_passes(k, data, n, r);
  }
  nxk_destroy(k);
}

/* ---- made texts */

static size_t put(nxi_text *text, uint8_t *data, size_t most) {
  size_t n = text->failed || text->size > most ? 0 : text->size;
  if (n) memcpy(data, text->data, n);
  nxi_text_free(text);
  return n;
}

size_t fuzz_make_graph(uint8_t *data, size_t most, nxt_random *r) {
  nxi_text text = {0};
  nxg_graph *g = make_graph(r, 1 + (uint32_t)nxt_below(r, 8));
  if (g) nxg_print(g, &text);
  nxg_destroy(g);
  return put(&text, data, most);
}

/* The first kernel that a made graph becomes, as it is after some of the passes. */
size_t fuzz_make_kernel(uint8_t *data, size_t most, nxt_random *r) {
  static const char *const passes[] = {"lower", "lower,simplify",
                                       "lower,simplify,split,expand,bind",
                                       "lower,simplify,split,expand,bind,legalize"};
  static const char *const isas[] = {"avx512", "avx2", "sm_90:32"};
  nxi_text text = {0}, kernels = {0};
  nxi_target target;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_graph *g = make_graph(r, 1 + (uint32_t)nxt_below(r, 4));
  if (g) nxg_print(g, &text);
  nxg_destroy(g);
  size_t n = 0;
  if (nxi_target_for_isa(isas[nxt_below(r, 3)], &target)) {
    nxp_apply_options o = {&target, true};
    if (!nxp_apply(text.data, text.size, passes[nxt_below(r, 4)], &o, &kernels, &d) &&
        kernels.size) {
      const char *second = strstr(kernels.data + 1, "nxir 2");
      if (second) kernels.size = (uint32_t)(second - kernels.data);
      n = put(&kernels, data, most);
    }
  }
  nxi_text_free(&text);
  nxi_text_free(&kernels);
  return n;
}
