/* SPDX-License-Identifier: ISC */
/* Attributes as what operations want of them. A list of integers may be a list, or elements. */
#include <string.h>

#include "ir/dtype.h"
#include "record.h"

bool nxh_length(const nxh_attr *a, uint32_t *n) {
  if (a->kind == NXH_LIST) *n = a->list.n;
  else if (a->kind == NXH_ELEMENTS && nxh_elements(a->elements.type) <= 4096)
    *n = (uint32_t)nxh_elements(a->elements.type);
  else return false;
  return true;
}

bool nxh_entry(const nxh_attr *a, uint32_t i, int64_t *out) {
  if (a->kind == NXH_LIST) {
    const nxh_attr *item = &a->list.items[i];
    *out = item->integer;
    return item->kind == NXH_INT || item->kind == NXH_BOOL;
  }
  nx_dtype t = a->elements.type->dtype;
  if (!nxi_is_integer(t) && t != NX_BOOL) return false;
  *out = (int64_t)nxi_cast_bits(nxi_load_at(a->elements.data, t, a->splat ? 0 : i), t, NX_I64);
  return true;
}

bool nxh_integers(nxh_recorder *r, const nxh_op *op, const char *name, int64_t *out, uint32_t most,
                  uint32_t *n) {
  const nxh_attr *a = nxh_get(op, name);
  *n = 0;
  if (a == NULL) return false;
  bool ok = nxh_length(a, n) && *n <= most;
  for (uint32_t i = 0; ok && i < *n; i++) ok = nxh_entry(a, i, &out[i]);
  return ok || nxh_fail(r, NX_INVALID_ARGUMENT, "%s is no list of at most %u integers", name, most);
}

bool nxh_axes(nxh_recorder *r, const nxh_op *op, const char *name, int32_t *out, uint32_t *n) {
  int64_t list[NX_MAX_RANK] = {0};
  if (!nxh_integers(r, op, name, list, NX_MAX_RANK, n)) return r->d->status == NX_OK;
  for (uint32_t i = 0; i < *n; i++) {
    if (list[i] < 0 || list[i] >= NX_MAX_RANK)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "%s has axis %lld", name, (long long)list[i]);
    out[i] = (int32_t)list[i];
  }
  return true;
}

bool nxh_need_integers(nxh_recorder *r, const nxh_op *op, const char *name, int64_t *out,
                       uint32_t n) {
  uint32_t got;
  if (nxh_integers(r, op, name, out, n, &got) && got == n) return true;
  return r->d->status == NX_OK &&
         nxh_fail(r, NX_INVALID_ARGUMENT, "%s has %u entries, not %u", name, got, n);
}

bool nxh_list_of(nxh_recorder *r, const nxh_op *op, const char *name, uint32_t n, int64_t otherwise,
                 int64_t *out) {
  for (uint32_t i = 0; i < n; i++) out[i] = otherwise;
  return nxh_get(op, name) == NULL || nxh_need_integers(r, op, name, out, n);
}

int64_t nxh_integer(const nxh_op *op, const char *name, int64_t otherwise) {
  const nxh_attr *a = nxh_get(op, name);
  int64_t value;
  if (a == NULL) return otherwise;
  if (a->kind == NXH_INT || a->kind == NXH_BOOL) return a->integer;
  return a->kind == NXH_ELEMENTS && nxh_elements(a->elements.type) >= 1 && nxh_entry(a, 0, &value)
             ? value
             : otherwise;
}

int32_t nxh_axis(const nxh_op *op, const char *name, int64_t otherwise) {
  int64_t axis = nxh_integer(op, name, otherwise);
  return axis < 0 || axis > NX_MAX_RANK ? -1 : (int32_t)axis;
}

bool nxh_flag(const nxh_op *op, const char *name) {
  const nxh_attr *a = nxh_get(op, name);
  return a != NULL && (a->kind == NXH_UNIT || nxh_integer(op, name, 0) != 0);
}

nxh_word nxh_name(const nxh_op *op, const char *name) {
  const nxh_attr *a = nxh_get(op, name);
  bool named = a != NULL && (a->kind == NXH_NAME || a->kind == NXH_STRING || a->kind == NXH_SYMBOL);
  return named ? a->word : (nxh_word){"", 0};
}

/* The entries of a list of pairs, one behind the other. */
static bool pair_entry(const nxh_attr *a, uint32_t i, int64_t *out) {
  if (a->kind == NXH_ELEMENTS) return nxh_entry(a, i, out);
  const nxh_attr *pair = i / 2 < a->list.n ? &a->list.items[i / 2] : NULL;
  if (pair == NULL) return false;
  if (pair->kind != NXH_LIST) return i < a->list.n && nxh_entry(a, i, out);
  return pair->list.n == 2 && nxh_entry(pair, i % 2, out);
}

bool nxh_padding(nxh_recorder *r, const nxh_op *op, uint32_t n, int64_t *before, int64_t *after) {
  const nxh_attr *a = nxh_get(op, "padding");
  uint32_t length = 0;
  bool ok = a == NULL ||
            (nxh_length(a, &length) && (length == 2 * n || (a->kind == NXH_LIST && length == n)));
  for (uint32_t i = 0; ok && i < n; i++) {
    before[i] = after[i] = 0;
    if (a != NULL) ok = pair_entry(a, 2 * i, &before[i]) && pair_entry(a, 2 * i + 1, &after[i]);
  }
  return ok || nxh_fail(r, NX_INVALID_ARGUMENT, "padding is no list of %u pairs", n);
}

bool nxh_number(const nxh_attr *a, double *out) {
  if (a == NULL) return false;
  if (a->kind == NXH_INT || a->kind == NXH_BOOL) *out = (double)a->integer;
  else if (a->kind == NXH_FLOAT) *out = a->real;
  else if (a->kind == NXH_ELEMENTS && nxh_elements(a->elements.type) >= 1) {
    nx_dtype t = a->elements.type->dtype;
    if (nxi_is_complex(t)) return false;
    *out = nxi_f64_bits(nxi_cast_bits(nxi_load_at(a->elements.data, t, 0), t, NX_F64));
  } else return false;
  return true;
}
