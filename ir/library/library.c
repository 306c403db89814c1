/* SPDX-License-Identifier: ISC */
/* The table of library operations, and of the functions that the runtime installs for them. Types:
 * library_linalg.c, library_fft.c. */
#include <stdatomic.h>
#include <string.h>

#include "custom.h"
#include "library_types.h"

typedef struct row {
  uint32_t n_results;
  bool fails;
  const char *keys;
  nx_status (*types)(nxg_call *call, nxi_diag *d);
} row;

static const row rows[] = {
#define LIB(name, operands, results, admits, keys, fails) {results, fails, keys, nxg_types_##name},
#include "library.def"
#undef LIB
};
enum { ROWS = sizeof rows / sizeof *rows, FIRST = NXG_OP_COUNT - ROWS };

/* Rows of library.def are the last ones of graph_ops.def. Scans have results like calls. */
static const row *row_of(nxg_op op) {
  static const row scan = {.n_results = 1, .keys = "axis"};
  return nxg_is_scan(op) ? &scan : &rows[op - FIRST];
}

uint32_t nxg_call_results(nxg_op op) { return row_of(op)->n_results; }
bool nxg_call_fails(nxg_op op) { return row_of(op)->fails; }

/* ---- attributes */

static uint32_t count_keys(nxg_op op) {
  const char *keys = row_of(op)->keys;
  uint32_t n = *keys != '\0';
  for (; *keys; keys++) n += *keys == ' ';
  return n;
}

uint32_t nxg_call_attrs(nxg_op op) { return count_keys(op) + (row_of(op)->n_results > 1); }

const char *nxg_call_key(nxg_op op, uint32_t i, size_t *length) {
  const char *key = row_of(op)->keys;
  for (; i > 0 && *key; i--) {
    key += strcspn(key, " ");
    key += *key == ' ';
  }
  if (*key == '\0') key = "result";
  *length = strcspn(key, " ");
  return key;
}

bool nxg_call_has_info(const nxg_call *call) {
  return call->op == NXG_cholesky_info || call->op == NXG_inv_info;
}

bool nxg_call_gives_nan(const nxg_call *call) {
  size_t length;
  if (nxg_is_scan(call->op)) return false;
  if (nxg_call_has_info(call)) return true;
  for (uint32_t i = 0; i < call->n_attrs; i++)
    if (call->attrs[i] && !memcmp(nxg_call_key(call->op, i, &length), "nan", 3)) return true;
  return false;
}

uint32_t nxg_result_number(nxg_op op, const int64_t *attrs) {
  return row_of(op)->n_results > 1 ? (uint32_t)attrs[count_keys(op)] : 0;
}

bool nxg_same_call(const nxg_node *a, const nxg_node *b) {
  if (nxg_is_control(a->op)) return nxg_same_control(a, b);
  return a->op == b->op && a->n_args == b->n_args &&
         memcmp(a->args, b->args, a->n_args * sizeof *a->args) == 0 &&
         memcmp(a->attrs, b->attrs, count_keys((nxg_op)a->op) * sizeof *a->attrs) == 0;
}

/* ---- types */

static nx_status bad_rows(const nxg_call *call, uint32_t operand, nxi_diag *d) {
  const char *name = nxg_ops[call->op].name;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: operand %u is no row of the parts it says",
                  name, operand);
}

/* Reads the complex shapes of operands that are rows of parts from the attributes. */
static nx_status take_rows(nxg_call *call, const int64_t *attrs, uint32_t n, nxi_diag *d) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < call->n_operands; i++) {
    nxg_array *a = &call->operands[i];
    int64_t rank = at < n ? attrs[at++] : -2, elements;
    if (rank == -1) continue;
    bool row = rank >= 0 && rank <= NXG_MAX_RANK && at + rank <= n && a->rank == 1 &&
               (a->dtype == NX_F32 || a->dtype == NX_F64);
    if (!row ||
        nxg_shape_check(NX_INVALID_ARGUMENT, nxg_ops[call->op].name, (int32_t)rank, attrs + at, 128,
                        &elements, d) ||
        a->shape[0] != 2 * elements)
      return bad_rows(call, i, d);
    a->dtype = nxi_pair_dtype(a->dtype);
    a->rank = (int32_t)rank;
    for (int32_t k = 0; k < a->rank; k++) a->shape[k] = attrs[at++];
  }
  return at == n ? NX_OK : bad_rows(call, 0, d);
}

/* As a memset, but for the extents: an array of rank 0 has none, and all of them are 8 KB. */
static void clear(nxg_call *call) {
  call->n_operands = call->n_results = call->n_attrs = 0;
  for (uint32_t i = 0; i < NXG_CALL_OPERANDS; i++) {
    call->operands[i].dtype = 0;
    call->operands[i].rank = 0;
  }
  for (uint32_t i = 0; i < NXG_CALL_RESULTS; i++) {
    call->results[i].dtype = 0;
    call->results[i].rank = 0;
  }
  memset(call->attrs, 0, sizeof call->attrs);
}

nx_status nxg_call_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                         uint32_t n_attrs, nxg_call *out, nxi_diag *d) {
  const char *name = nxg_ops[op].name;
  const row *r = row_of(op);
  uint32_t keys = count_keys(op);
  if (n_args > NXG_CALL_OPERANDS)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: it has %u operands, more than %d", name,
                    n_args, NXG_CALL_OPERANDS);
  if (n_attrs < nxg_call_attrs(op) || n_attrs > NXG_CALL_MOST_ATTRS)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: it has %u attributes where %u are wanted",
                    name, n_attrs, nxg_call_attrs(op));
  clear(out);
  out->op = op;
  out->n_operands = n_args;
  out->n_results = r->n_results;
  out->n_attrs = keys;
  for (uint32_t i = 0; i < keys; i++) out->attrs[i] = attrs[i];
  for (uint32_t i = 0; i < n_args; i++) {
    out->operands[i].dtype = args[i].dtype;
    out->operands[i].rank = args[i].rank;
    if (args[i].rank)
      memcpy(out->operands[i].shape, args[i].shape, (size_t)args[i].rank * sizeof *args[i].shape);
  }
  nx_status status = NX_OK;
  if (nxg_call_has_rows(op, n_attrs))
    status = take_rows(out, attrs + nxg_call_attrs(op), n_attrs - nxg_call_attrs(op), d);
  if (!status) status = r->types(out, d);
  if (!status && r->n_results > 1 && (attrs[keys] < 0 || attrs[keys] >= out->n_results))
    status = nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: there is no result %lld", name,
                      (long long)attrs[keys]);
  for (uint32_t i = 0; !status && i < out->n_results; i++)
    status = nxg_shape_check(NX_INVALID_ARGUMENT, name, out->results[i].rank, out->results[i].shape,
                             nxi_dtypes[out->results[i].dtype].bits, NULL, d);
  return status;
}

static void call_of_scan(const nxg_node *n, nxg_call *out) {
  nxg_array a = {.dtype = n->dtype, .rank = n->rank};
  memcpy(a.shape, n->shape, (size_t)n->rank * sizeof *n->shape);
  *out = (nxg_call){.op = (nxg_op)n->op,
                    .n_operands = 1,
                    .n_results = 1,
                    .n_attrs = 1,
                    .operands = {a},
                    .results = {a},
                    .attrs = {n->attrs[0]}};
}

nx_status nxg_call_of_node(const nxg_graph *g, uint32_t node, nxg_call *out, nxi_diag *d) {
  const nxg_node *n = &g->nodes[node];
  if (nxg_is_scan(n->op)) {
    call_of_scan(n, out);
    return NX_OK;
  }
  nxg_type types[NXG_CALL_OPERANDS];
  for (uint32_t i = 0; i < n->n_args; i++) {
    const nxg_node *a = &g->nodes[n->args[i]];
    types[i] = (nxg_type){a->dtype, a->rank, a->shape};
  }
  return nxg_call_infer((nxg_op)n->op, n->n_args, types, n->attrs, n->n_attrs, out, d);
}

static bool arrays_equal(uint32_t n, const nxg_array *a, const nxg_array *b) {
  for (uint32_t i = 0; i < n; i++)
    if (a[i].dtype != b[i].dtype || a[i].rank != b[i].rank ||
        memcmp(a[i].shape, b[i].shape, (size_t)a[i].rank * sizeof a[i].shape[0]) != 0)
      return false;
  return true;
}

bool nxg_calls_equal(const nxg_call *a, const nxg_call *b) {
  return a->op == b->op && a->n_operands == b->n_operands && a->n_results == b->n_results &&
         a->n_attrs == b->n_attrs &&
         memcmp(a->attrs, b->attrs, a->n_attrs * sizeof a->attrs[0]) == 0 &&
         arrays_equal(a->n_operands, a->operands, b->operands) &&
         arrays_equal(a->n_results, a->results, b->results);
}

/* ---- functions */

static _Atomic(const nxg_functions *) functions[ROWS];

void nxg_set_functions(nxg_op op, const nxg_functions *f) {
  atomic_store_explicit(&functions[op - FIRST], f, memory_order_release);
}

nx_status nxg_call_prepare(const nxg_call *call, const nxg_functions **f, nxg_call_work *work,
                           int32_t threads, const nxi_poll *poll, nxi_diag *d) {
  const char *name = nxg_ops[call->op].name;
  memset(work, 0, sizeof *work);
  *f = NULL;
  if (!nxg_is_scan(call->op))
    *f = atomic_load_explicit(&functions[call->op - FIRST], memory_order_acquire);
  if (!*f) return nxi_fail(d, NX_DEVICE_UNAVAILABLE, name, "%s: nothing here carries it out", name);
  work->poll = poll;
  work->threads = threads;
  nx_status status = (*f)->prepare(call, work, d);
  work->poll = NULL;
  return status;
}

void nxg_call_phase(const nxg_call_work *work, uint32_t phase, int64_t *tasks, int64_t *grain) {
  if (work->phase) {
    work->phase(work->state, phase, tasks, grain);
    return;
  }
  *tasks = work->tasks[phase];
  *grain = work->grain[phase];
}

nx_status nxg_call_failed(const nxg_call *call, const nxg_call_work *work, nx_status status,
                          int64_t task, const char *said, nxi_diag *d) {
  int64_t index = work->split > 1 ? task / work->split : task;
  const char *name = nxg_ops[call->op].name;
  if (call->op == NXG_custom)
    return nxi_fail(d, status, name, "custom \"%s\": %s", nxg_custom_of(call->attrs)->name,
                    said[0] ? said : nx_status_sentence(status));
  if (status == NX_OUT_OF_MEMORY) return nxi_oom_in(d, nxi_oom(d), name);
  nxi_fail(d, status, name, "%s: at index %lld of the batch: %s", name, (long long)index,
           nx_status_sentence(status));
  if (d && d->index < 0) d->index = index;
  return status;
}
