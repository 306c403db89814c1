/* SPDX-License-Identifier: ISC */
/* Exchanges as ordered custom operations. A member keeps those that it has made: a plan names a
 * custom operation, so a loop that records the same collectives again meets its plans again. */
#include <stdio.h>
#include <string.h>

#include "group.h"
#include "ir/alloc.h"
#include "ir/dtype.h"
#include "nx/custom.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* What the function of the custom operation is given. */
typedef struct bound {
  nxi_members *members; /* one reference */
  int32_t rank;
  nxi_exchange exchange;
} bound;

struct nxi_made_exchange {
  nxi_made_exchange *next;
  nx_custom *custom;
  nxi_exchange_kind kind;
  nx_dtype dtype;
  int32_t from, to;
  int64_t elements;
  char what[NXI_WHAT];
  uint32_t n_numbers;
  int64_t numbers[];
};

/* ---- carrying one out */

static bool is_stopped(const void *user) { return nx_custom_stopped(user); }

static nx_status run(const nx_custom_call *k) {
  const bound *b = k->user;
  nxi_members *m = b->members;
  nxi_exchange_call call = {.exchange = &b->exchange,
                            .rank = b->rank,
                            .in = k->operands[0].data,
                            .out = k->results[0].data,
                            .stopped = is_stopped,
                            .user = k};
  nx_status status = k->stream ? m->links->run(m, &call, k->stream) : m->engine->run(m, &call);
  return status ? nx_custom_fail(k, status, call.sentence) : NX_OK;
}

static void release(void *user) {
  bound *b = user;
  nxi_members_unref(b->members);
  nxi_free(b);
}

nx_status nxi_headers_compare(const nxi_header *headers, int32_t size, char *sentence) {
  const nxi_header *first = &headers[0];
  int32_t other = 1;
  while (other < size && !memcmp(&headers[other], first, sizeof *first)) other++;
  if (other >= size) return NX_OK;
  if (strcmp(first->what, headers[other].what) != 0)
    snprintf(sentence, NXI_GROUP_SENTENCE, "rank 0 calls %s, rank %d calls %s", first->what, other,
             headers[other].what);
  else
    snprintf(sentence, NXI_GROUP_SENTENCE, "rank 0 and rank %d call %s with different arguments",
             other, first->what);
  return NX_INVALID_ARGUMENT;
}

/* ---- making and finding them */

static uint64_t mixed(uint64_t hash, uint64_t word) { /* FNV-1a, a word at a time */
  hash = (hash ^ word) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 29;
}

static void write_header(const nxi_exchange_desc *k, const nx_tensor *x, nxi_header *out) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  hash = mixed(mixed(mixed(hash, k->kind), x->storage->dtype), (uint64_t)nxi_shape(x)[0]);
  for (uint32_t i = 0; i < k->n_numbers; i++) hash = mixed(hash, (uint64_t)k->numbers[i]);
  memset(out, 0, sizeof *out); /* all bytes are compared */
  out->hash = hash;
  snprintf(out->what, sizeof out->what, "%s", k->what);
}

static bool is_same(const nxi_made_exchange *m, const nxi_exchange_desc *k, const nx_tensor *x) {
  return m->kind == k->kind && m->from == k->from && m->to == k->to &&
         m->dtype == x->storage->dtype && m->elements == nxi_shape(x)[0] &&
         m->n_numbers == k->n_numbers && !strncmp(m->what, k->what, sizeof m->what - 1) &&
         !memcmp(m->numbers, k->numbers, k->n_numbers * sizeof *m->numbers);
}

/* How many elements the operand and the result have, and how many blocks. */
static int64_t blocks_of_operand(const nxi_exchange_desc *k, int32_t size) {
  return k->kind == NXI_ALL_TO_ALL ? size : 1;
}
static bool result_elements(const nxi_exchange_desc *k, int32_t size, int64_t n, int64_t *out) {
  return !__builtin_mul_overflow(n, k->kind == NXI_GATHER ? size : 1, out);
}

static nx_custom *make_custom(nx_group *g, const nxi_exchange_desc *k, const nx_tensor *x) {
  int64_t n = nxi_shape(x)[0], made;
  nx_custom *f = NULL;
  bound *b = nxi_calloc(1, sizeof *b);
  if (!b) return nxi_no_memory("group");
  if (!result_elements(k, g->members->size, n, &made)) made = INT64_MAX; /* refused */
  nx_type in = {x->storage->dtype, 1, &n}, out = {x->storage->dtype, 1, &made};
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = g->members->name,
                         .run = run,
                         .run_on_device = g->members->links ? run : NULL,
                         .user = b,
                         .release = release,
                         .flags = NX_ORDERED,
                         .n_operands = 1,
                         .operands = &in,
                         .n_results = 1,
                         .results = &out};
  b->members = g->members;
  b->rank = g->rank;
  b->exchange = (nxi_exchange){.kind = k->kind, .from = k->from, .to = k->to};
  b->exchange.bytes = nxi_dtype_bytes(in.dtype, n) / blocks_of_operand(k, g->members->size);
  write_header(k, x, &b->exchange.header);
  nxi_members_ref(g->members);
  if (nx_custom_create(g->context, &desc, &f)) release(b);
  return f;
}

/* g->lock. NULL: reported. */
static nx_custom *find_or_make(nx_group *g, const nxi_exchange_desc *k, const nx_tensor *x) {
  size_t bytes = k->n_numbers * sizeof *k->numbers;
  nxi_made_exchange *m = g->made;
  while (m && !is_same(m, k, x)) m = m->next;
  if (m) return m->custom;
  m = nxi_calloc(1, sizeof *m + bytes);
  if (!m) return nxi_no_memory("group");
  m->custom = make_custom(g, k, x);
  if (!m->custom) return nxi_free(m), NULL;
  m->kind = k->kind;
  m->from = k->from;
  m->to = k->to;
  m->dtype = x->storage->dtype;
  m->elements = nxi_shape(x)[0];
  m->n_numbers = k->n_numbers;
  snprintf(m->what, sizeof m->what, "%s", k->what);
  memcpy(m->numbers, k->numbers, bytes);
  m->next = g->made;
  g->made = m;
  return m->custom;
}

void nxi_exchanges_free(nxi_made_exchange *m) {
  for (nxi_made_exchange *next; m; m = next) {
    next = m->next;
    nx_custom_release(m->custom);
    nxi_free(m);
  }
}

nx_tensor *nxi_exchange_record(nx_group *g, const nxi_exchange_desc *k, nx_tensor *x) {
  nx_tensor *y = NULL;
  if (!x) return NULL;
  nxi_mutex_lock(&g->lock);
  nx_custom *f = find_or_make(g, k, x);
  nxi_mutex_unlock(&g->lock);
  return f && !nx_custom_record(f, &x, 1, g->token, &y, 1) ? y : NULL;
}
