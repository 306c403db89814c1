/* SPDX-License-Identifier: ISC */
/* Custom calls that the caller records. */
#include <string.h>

#include "custom.h"
#include "runtime/record/error.h"

static bool take_types(nxh_recorder *r, const nxh_op *op, nx_type *types) {
  for (uint32_t i = 0; i < op->n_results; i++) {
    const nxh_type *t = nxh_result_type(r, op, i);
    if (t->kind != NXH_TENSOR) return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is no tensor", i);
    if (!nxh_closed(r, op, i)) return false;
    types[i] = (nx_type){t->dtype, t->rank, t->shape};
  }
  return true;
}

static bool ask(nxh_recorder *r, const nxh_op *op, const nx_stablehlo_custom *row,
                const char *config) {
  nx_tensor *in[NXH_MOST_OPERANDS], *out[NXH_MOST_OPERANDS] = {NULL};
  nx_type types[NXH_MOST_OPERANDS];
  if (op->n_operands > NXH_MOST_OPERANDS || op->n_results > NXH_MOST_OPERANDS)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "more than %d operands or results", NXH_MOST_OPERANDS);
  for (uint32_t i = 0; i < op->n_operands; i++)
    if ((in[i] = nxh_in(r, op, i)) == NULL) return false;
  if (!take_types(r, op, types)) return false;
  nx_stablehlo_call call = {.size = sizeof call,
                            .user = row->user,
                            .context = r->c,
                            .device = r->device,
                            .target = row->target,
                            .config = config,
                            .operands = in,
                            .n_operands = op->n_operands,
                            .types = types,
                            .results = out,
                            .n_results = op->n_results};
  nx_status s = row->record(&call);
  if (s != NX_OK)
    return nxi_error_status() != NX_OK ? false : nxh_fail(r, s, "recording %s failed", row->target);
  for (uint32_t i = 0; i < op->n_results; i++)
    if (out[i] == NULL)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "%s left result %u out", row->target, i);
    else if (!nxh_set(r, op, i, out[i])) return false;
  return true;
}

static char *copy(const nxh_attr *a) {
  bool text = a != NULL && (a->kind == NXH_STRING || a->kind == NXH_NAME || a->kind == NXH_SYMBOL);
  char *to = nxi_calloc(text ? a->word.length + 1 : 1, 1);
  if (to != NULL && text) memcpy(to, a->word.at, a->word.length);
  return to;
}

bool nxh_call_of_table(nxh_recorder *r, const nxh_op *op, nxh_word target, bool *ok) {
  for (size_t i = 0; i < r->n_customs; i++) {
    if (!nxh_word_is(target, r->customs[i].target)) continue;
    char *config = copy(nxh_get(op, "backend_config"));
    *ok = config != NULL ? ask(r, op, &r->customs[i], config) : (nxi_oom(r->d), false);
    nxi_free(config);
    return true;
  }
  return false;
}
