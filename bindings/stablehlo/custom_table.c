/* SPDX-License-Identifier: ISC */
/* Custom calls that the caller records. */
#include <string.h>

#include "custom.h"
#include "shards.h"
#include "runtime/record/error.h"

static const nx_stablehlo_custom *row_of(const nxh_recorder *r, nxh_word target) {
  for (size_t i = 0; i < r->n_customs; i++)
    if (nxh_word_is(target, r->customs[i].target)) return &r->customs[i];
  return NULL;
}

bool nxh_is_effect(nxh_recorder *r, const nxh_op *op) {
  if (nxh_is_exchange(op)) return true;
  return nxh_word_is(op->name, "stablehlo.custom_call") && nxh_flag(op, "has_side_effect") &&
         row_of(r, nxh_name(op, "call_target_name")) != NULL;
}

/* Of the results that are tensors; n: how many. */
static bool take_types(nxh_recorder *r, const nxh_op *op, nx_type *types, size_t *n) {
  for (uint32_t i = 0; i < op->n_results; i++) {
    const nxh_type *t = nxh_result_type(r, op, i);
    if (t->kind == NXH_TOKEN) continue;
    if (t->kind != NXH_TENSOR) return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is no tensor", i);
    if (!nxh_closed(r, op, i)) return false;
    types[(*n)++] = (nx_type){t->dtype, t->rank, t->shape};
  }
  return true;
}

/* With the attribute nx.parts a process gives the call its parts of operands. */
static bool take_operands(nxh_recorder *r, const nxh_op *op, nx_tensor **in, size_t *n) {
  bool parts = nxh_get(op, "nx.parts") != NULL;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    if (nxh_operand_type(r, op, i)->kind == NXH_TOKEN) continue;
    if ((in[(*n)++] = parts ? nxh_known_part(r, op, i) : nxh_in(r, op, i)) == NULL) return false;
  }
  return true;
}

static bool give_results(nxh_recorder *r, const nxh_op *op, nx_tensor *const *out) {
  for (uint32_t i = 0, at = 0; i < op->n_results; i++) {
    if (nxh_result_type(r, op, i)->kind == NXH_TOKEN) continue;
    if (out[at] == NULL) return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u was left out", i);
    nx_tensor *t = nxh_cleaned(r, out[at++], nxh_type_of(r->m, op->first_result + i)->form);
    if (!nxh_set(r, op, i, t)) return false;
  }
  return true;
}

static bool ask(nxh_recorder *r, const nxh_op *op, const nx_stablehlo_custom *row,
                const char *config) {
  nx_tensor *in[NXH_MOST_OPERANDS], *out[NXH_MOST_OPERANDS] = {NULL};
  nx_type types[NXH_MOST_OPERANDS];
  if (op->n_operands > NXH_MOST_OPERANDS || op->n_results > NXH_MOST_OPERANDS)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "more than %d operands or results", NXH_MOST_OPERANDS);
  size_t n_in = 0, n_out = 0;
  if (!take_operands(r, op, in, &n_in) || !take_types(r, op, types, &n_out)) return false;
  nx_stablehlo_call call = {.size = sizeof call,
                            .user = row->user,
                            .context = r->c,
                            .device = r->device,
                            .target = row->target,
                            .config = config,
                            .operands = in,
                            .n_operands = n_in,
                            .types = types,
                            .results = out,
                            .n_results = n_out,
                            .token = nxh_flag(op, "has_side_effect") ? r->token : NULL};
  nx_status s = row->record(&call);
  if (s != NX_OK)
    return nxi_error_status() != NX_OK ? false : nxh_fail(r, s, "recording %s failed", row->target);
  return give_results(r, op, out);
}

static char *copy(const nxh_attr *a) {
  bool text = a != NULL && (a->kind == NXH_STRING || a->kind == NXH_NAME || a->kind == NXH_SYMBOL);
  char *to = nxi_calloc(text ? a->word.length + 1 : 1, 1);
  if (to != NULL && text) memcpy(to, a->word.at, a->word.length);
  return to;
}

bool nxh_call_of_table(nxh_recorder *r, const nxh_op *op, nxh_word target, bool *ok) {
  const nx_stablehlo_custom *row = row_of(r, target);
  if (row == NULL) return false;
  char *config = copy(nxh_get(op, "backend_config"));
  *ok = config != NULL ? ask(r, op, row, config) : (nxi_oom(r->d), false);
  nxi_free(config);
  return true;
}
