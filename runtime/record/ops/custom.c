/* SPDX-License-Identifier: ISC */
/* Recording of custom operations. */
#include "custom_kernel.h"

#include <string.h>

#include "ir/platform/lock.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

nx_tensor *nx_token(nx_context *c, nx_device device) {
  return nx_full(c, device, NX_BOOL, NULL, 0, NX_NUMBER(1));
}

static bool check_token(const nxg_custom *f, nx_tensor *token, nxi_diag *d) {
  if (!f->ordered && token)
    nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
             "custom \"%s\": it is not ordered, and takes no token", f->name);
  else if (f->ordered && (!token || token->rank || token->storage->dtype != NX_BOOL))
    nxi_fail(d, NX_INVALID_ARGUMENT, "custom", "custom \"%s\": it is ordered, and the token is %s",
             f->name, token ? "no bool of rank 0" : "null");
  return !d->status;
}

static bool check_lists(const nxg_custom *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                        size_t n_out, nxi_diag *d) {
  size_t operands = f->n_operands - f->hides, results = f->n_results - f->ordered;
  if (n_in != operands || n_out != results)
    nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
             "custom \"%s\": %zu operands and %zu results where it has %zu and %zu", f->name, n_in,
             n_out, operands, results);
  else if ((n_in && !in) || (n_out && !out))
    nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
             "custom \"%s\": the list of operands or results is null", f->name);
  return !d->status;
}

static bool is_exposed(nx_tensor *t) {
  nxi_record_lock(t->context); /* NOLINT: checked, not null */
  bool exposed = t->storage->write_pins > 0;
  nxi_record_unlock(t->context);
  return exposed;
}

/* What is read: a copy, if the host may write what was given, or else each result would be
 * computed at once by a call of its own. One reference; NULL: reported. */
static nx_tensor *settled(nx_tensor *t) { return is_exposed(t) ? nx_copy(t) : nx_tensor_retain(t); }

/* The bits of a stored float: graphs have no others for a function. One reference. */
static nx_tensor *operand_of(const nxg_custom *f, uint32_t i, nx_tensor *t) {
  const nx_dtype seen = f->seen_operands[i], is = t->storage->dtype;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_is_stored(seen) && is != seen) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "custom", "custom \"%s\": operand %u is %s, not %s", f->name,
             i, nxi_dtypes[is].name, nxi_dtypes[seen].name);
    return nxi_fail_null(&d);
  }
  nx_tensor *x = settled(t), *bits = x && nxi_is_stored(seen) ? nx_bitcast(x, NX_U8) : x;
  if (bits != x) nx_tensor_release(x);
  return bits;
}

/* Result i, which is of its type already or a stored float's bits. False: reported. */
static bool finish_result(const nxg_custom *f, uint32_t i, nx_tensor **made) {
  if (!nxi_is_stored(f->seen_results[i])) return true;
  nx_tensor *bits = made[i];
  made[i] = nx_bitcast(bits, f->seen_results[i]);
  nx_tensor_release(bits);
  return made[i] != NULL;
}

/* All results, tokens included. */
static bool record_results(const nxg_custom *f, nx_tensor *const *operands, nx_tensor **made) {
  nxi_operand o[NXG_CALL_OPERANDS];
  int64_t attrs[NXG_CUSTOM_ATTRS + 1] = {(int64_t)(uintptr_t)f, (int64_t)f->number};
  if (f->ordered) attrs[NXG_CUSTOM_ORDER] = nxi_custom_order();
  for (uint32_t i = 0; i < f->n_operands; i++) o[i] = nxi_operand_of(operands[i]);
  for (uint32_t i = 0; i < f->n_results; i++) {
    nxi_diag d;
    nxi_diag_clear(&d);
    attrs[NXG_CUSTOM_ATTRS] = i;
    made[i] = nxi_record_inferred(NXG_custom, o, f->n_operands, attrs, NXG_CUSTOM_ATTRS + 1, &d);
    if (!made[i]) return false;
  }
  return true;
}

/* Records the call, and assigns the new token. */
static bool record(const nxg_custom *f, nx_tensor *const *given, nx_tensor *token,
                   nx_tensor **made) {
  nx_tensor *operands[NXG_CALL_OPERANDS] = {NULL};
  bool good = true;
  for (uint32_t i = 0; good && i < f->n_operands; i++)
    good = (operands[i] = operand_of(f, i, given[i])) != NULL;
  good = good && record_results(f, operands, made);
  for (uint32_t i = 0; good && i < f->n_results; i++) good = finish_result(f, i, made);
  if (good && token) good = nx_assign(token, made[f->n_results - 1]) == NX_OK;
  for (uint32_t i = 0; i < f->n_operands; i++) nx_tensor_release(operands[i]);
  return good;
}

/* Whether the operands have the types of the description. */
static bool check_types(const nxg_custom *f, nx_tensor *const *operands) {
  nxg_type types[NXG_CALL_OPERANDS];
  nxg_call call;
  const int64_t attrs[NXG_CUSTOM_ATTRS + 1] = {(int64_t)(uintptr_t)f, (int64_t)f->number};
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < f->n_operands; i++)
    types[i] = (nxg_type){operands[i]->storage->dtype, /* NOLINT: checked, not null */
                          operands[i]->rank, nxi_shape(operands[i])};
  if (nxg_call_infer(NXG_custom, f->n_operands, types, attrs, NXG_CUSTOM_ATTRS + 1, &call, &d))
    return nxi_error_report(&d), false;
  return true;
}

/* The operand of an operation that has none. */
static nx_tensor *nothing(nx_context *c, nx_tensor *token) {
  return token ? nx_tensor_retain(token) : nx_token(c, 0);
}

static bool check_operands(const nxg_custom *f, nx_context *c, nx_tensor *const *t) {
  for (uint32_t i = 0; i < f->n_operands; i++)
    if (!nxi_have_tensor("custom", (int32_t)i, t[i]) || !t[i]) return false;
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; !d.status && i < f->n_operands; i++)
    if (t[i]->context != c) /* NOLINT: checked above, not null */
      nxi_fail(&d, NX_INVALID_ARGUMENT, "custom",
               "custom \"%s\": operand %u belongs to another context", f->name, i);
  return d.status ? (nxi_error_report(&d), false) : true;
}

nx_status nx_custom_record(nx_custom *f, nx_tensor *const *in, size_t n_in, nx_tensor *token,
                           nx_tensor **out, size_t n_out) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_custom("custom", 0, f)) return NX_INVALID_ARGUMENT;
  const nxg_custom *body = nxi_custom_body(f);
  nx_context *c = nxi_custom_context(f);
  if (token && !nxi_have_tensor("custom", (int32_t)n_in, token)) return NX_INVALID_ARGUMENT;
  if (!check_lists(body, in, n_in, out, n_out, &d) || !check_token(body, token, &d))
    return nxi_error_report(&d);
  nx_tensor *given[NXG_CALL_OPERANDS] = {NULL}, *made[NXG_CALL_RESULTS] = {NULL}, *last = NULL;
  for (size_t i = 0; i < n_in; i++) given[i] = in[i];
  if (body->hides && !(given[n_in] = last = nothing(c, token))) return nxi_error_status();
  uint16_t outer = nxi_called_begin(NXG_custom);
  bool good = check_operands(body, c, given);
  if (good && body->elementwise)
    good = check_types(body, given) && nxi_record_elementwise(body, given, made);
  else good = good && record(body, given, token, made);
  nxi_called_end(outer);
  nx_tensor_release(last);
  for (uint32_t i = 0; i < body->n_results; i++) {
    if (good && i < n_out) out[i] = made[i];
    else nx_tensor_release(made[i]);
  }
  return good ? NX_OK : nxi_error_status();
}
