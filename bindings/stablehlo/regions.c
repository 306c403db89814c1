/* SPDX-License-Identifier: ISC */
/* Regions as functions of scalars, and recorded in place. */
#include "record.h"

#include <string.h>

static bool set_arguments(nxh_recorder *r, const nxh_region *region, nx_tensor *const *args) {
  for (uint32_t i = 0; i < region->n_args; i++) nxh_put(r, region->first + i, args[i]);
  return nxh_record_region(r, region);
}

static bool results_of(nxh_recorder *r, const nxh_region *region, nx_tensor **results, uint32_t n) {
  const nxh_op *last = nxh_last(region);
  if (last->n_operands != n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a region returns %u values, not %u", last->n_operands,
                    n);
  for (uint32_t i = 0; i < n; i++) {
    results[i] = NULL; /* of a token */
    if (nxh_type_of(r->m, last->operands[i])->kind == NXH_TOKEN) continue;
    if ((results[i] = nxh_value_of(r, last->operands[i])) == NULL) return false;
  }
  return true;
}

bool nxh_inline_region(nxh_recorder *r, const nxh_region *region, nx_tensor *const *args,
                       nx_tensor **results, uint32_t n) {
  return set_arguments(r, region, args) && results_of(r, region, results, n);
}

/* of: the function whose body the region is, which has values of its own; NULL: the region is a
 * part of the operation that is being recorded. */
static nx_function *capture(nxh_recorder *r, const nxh_region *region, const nxh_function *of,
                            bool turned) {
  nx_tensor *args[2 * NXH_MOST_OPERANDS], *in[2 * NXH_MOST_OPERANDS], *results[NXH_MOST_OPERANDS];
  nx_function *f = NULL;
  const nxh_op *last = nxh_last(region);
  if (last == NULL || region->n_args > 2 * NXH_MOST_OPERANDS ||
      last->n_operands > NXH_MOST_OPERANDS) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "a region of %u arguments", region->n_args);
    return NULL;
  }
  nx_scope *scope = nx_scope_begin(r->c);
  bool ok = scope != NULL;
  for (uint32_t i = 0; ok && i < region->n_args; i++)
    ok = (args[i] = nxh_placeholder(r, nxh_type_of(r->m, region->first + i))) != NULL;
  if (of != NULL) ok = ok && nxh_record_body(r, of, NULL, args, results);
  else ok = ok && nxh_inline_region(r, region, args, results, last->n_operands);
  uint32_t n = region->n_args, first = turned ? n / 2 : 0;
  for (uint32_t i = 0; ok && i < n; i++) in[i] = args[(i + first) % n];
  if (ok) nx_function_create(r->c, in, n, results, last->n_operands, NULL, &f);
  nx_scope_end(scope);
  return f;
}

nx_function *nxh_scalar_function(nxh_recorder *r, const nxh_region *region) {
  return capture(r, region, NULL, false);
}

nx_function *nxh_scalar_function_of(nxh_recorder *r, const nxh_function *f) {
  return capture(r, &f->body, f, false);
}

nx_function *nxh_turned_function(nxh_recorder *r, const nxh_region *region,
                                 const nxh_function *of) {
  return capture(r, region, of, true);
}

const nxh_op *nxh_single_op(const nxh_recorder *r, const nxh_region *region) {
  if (region->n_ops != 2 || region->n_args != 2 || nxh_last(region) == NULL) return NULL;
  const nxh_op *op = &region->ops[0], *last = nxh_last(region);
  if (op->n_operands != 2 || op->n_results != 1 || last->n_operands != 1) return NULL;
  nxh_value a = op->operands[0], b = op->operands[1], x = region->first;
  bool both = (a == x && b == x + 1) || (a == x + 1 && b == x);
  if (!both || last->operands[0] != op->first_result) return NULL;
  bool ordered =
      nxh_word_is(op->name, "stablehlo.maximum") || nxh_word_is(op->name, "stablehlo.minimum");
  if (ordered && nxh_type_of(r->m, op->first_result)->form == NULL) return op;
  return nxh_is_carried(r, op) ? NULL : op;
}
