/* SPDX-License-Identifier: ISC */
/* Types in the text form. Element types that there are none of here are kept as their text, so that
 * who uses them can say what they were; those with dtype 0 that have a form (forms.h) are of it. */
#include <string.h>

#include "ir/dtype.h"
#include "text.h"

/* One row an element type. */
static const struct {
  const char *name;
  nx_dtype dtype;
} elements[] = {
    {"i1", NX_BOOL},
    {"i4", NX_I4},
    {"ui4", NX_U4},
    {"i8", NX_I8},
    {"ui8", NX_U8},
    {"i16", NX_I16},
    {"ui16", NX_U16},
    {"i32", NX_I32},
    {"ui32", NX_U32},
    {"i64", NX_I64},
    {"ui64", NX_U64},
    {"f8E4M3FN", NX_F8E4M3},
    {"f8E5M2", NX_F8E5M2},
    {"f16", NX_F16},
    {"bf16", NX_BF16},
    {"f32", NX_F32},
    {"f64", NX_F64},
    {"f8E4M3FNUZ", NX_F8E4M3FNUZ},
    {"f8E5M2FNUZ", NX_F8E5M2FNUZ},
    {"f8E8M0FNU", NX_F8E8M0},
    {"f4E2M1FN", NX_F4E2M1},
    {"index", NX_I64},
    {"i2", 0},
    {"ui2", 0},
    {"f8E4M3", 0},
    {"f8E3M4", 0},
    {"f8E4M3B11FNUZ", 0},
    {"f6E2M3FN", 0},
    {"f6E3M2FN", 0},
    {"tf32", 0},
    {"none", 0},
    {"si8", NX_I8},
    {"si16", NX_I16},
    {"si32", NX_I32},
    {"si64", NX_I64},
};

bool nxh_element_type(nxh_word w, nx_dtype *dtype, bool *index) {
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    if (!nxh_word_is(w, elements[i].name)) continue;
    *dtype = elements[i].dtype;
    *index = nxh_word_is(w, "index");
    return true;
  }
  return false;
}

static nxh_word since(const nxh_reader *r, const char *from) {
  return (nxh_word){from, (uint32_t)(r->at - from)};
}

static bool read_scalar(nxh_reader *r, nxh_type *out);

/* An alias of an element type: that is read where it stands. */
static bool read_alias_scalar(nxh_reader *r, const nxh_alias *alias, nxh_type *out) {
  if (alias->value.type->kind == NXH_TENSOR) return nxh_expected(r, "elements that are tensors");
  if (!nxh_enter(r)) return false;
  nxh_reader inside = *r;
  inside.at = alias->text.at;
  bool ok = read_scalar(&inside, out);
  nxh_leave(r);
  return ok;
}

/* A word without dots: the element type stands right behind the x of the last extent. */
static bool read_scalar(nxh_reader *r, nxh_type *out) {
  const char *from = (nxh_peek(r), r->at);
  if (*from == '!') {
    nxh_word name;
    const nxh_alias *alias = nxh_eat_alias(r);
    if (alias != NULL) return read_alias_scalar(r, alias, out);
    r->at++;
    out->dtype = 0;
    if (!nxh_read_word(r, &name)) return false;
    bool uniform = nxh_word_is(name, "quant.uniform") && nxh_peek(r) == '<';
    if (uniform ? !nxh_read_quant(r, out) : nxh_peek(r) == '<' && !nxh_skip_brackets(r))
      return false;
    out->text = since(r, from);
    return true;
  }
  nxh_word w;
  if (!nxh_read_word(r, &w)) return false;
  out->text = w;
  if (nxh_word_is(w, "complex")) {
    nxh_type part = {0};
    if (!nxh_need(r, "<") || !read_scalar(r, &part) || !nxh_need(r, ">")) return false;
    bool plain = part.form == NULL;
    out->dtype = plain && part.dtype == NX_F32 ? NX_C64 : part.dtype == NX_F64 ? NX_C128 : 0;
    out->text = since(r, from);
    return true;
  }
  out->form = nxh_find_form(w.at, w.length);
  if (nxh_element_type(w, &out->dtype, &out->index)) {
    if (out->form != NULL) out->dtype = out->form->storage;
    return true;
  }
  r->at = from;
  return nxh_expected(r, "no element type is named \"%.*s\"", (int)w.length, w.at);
}

/* 4x?x3x, before the element type. */
static bool read_extents(nxh_reader *r, int64_t *shape, int32_t *rank) {
  while (nxh_peek(r) == '?' || (*r->at >= '0' && *r->at <= '9')) {
    int64_t n = NXH_DYNAMIC;
    if (*rank == NX_MAX_RANK) return nxh_expected(r, "more than %d axes", NX_MAX_RANK);
    if (*r->at == '?') r->at++;
    else if (!nxh_read_integer(r, &n)) return false;
    shape[(*rank)++] = n;
    if (r->at >= r->end || *r->at != 'x') return nxh_expected(r, "expected x behind an extent");
    r->at++;
  }
  return true;
}

/* #stablehlo.bounds<?, 4> or another encoding, which is skipped. */
static bool read_bounds(nxh_reader *r, nxh_type *out) {
  nxh_word ignored;
  int64_t bounds[NX_MAX_RANK];
  if (!nxh_eat(r, "#stablehlo.bounds<")) {
    if (!nxh_need(r, "#") || !nxh_read_word(r, &ignored)) return false;
    return nxh_peek(r) != '<' || nxh_skip_brackets(r);
  }
  for (int32_t i = 0; i < out->rank; i++) {
    bounds[i] = NXH_DYNAMIC;
    if (i > 0 && !nxh_need(r, ",")) return false;
    if (!nxh_eat(r, "?") && !nxh_read_integer(r, &bounds[i])) return false;
  }
  out->bounds = nxi_arena_copy(&r->m->arena, bounds, (size_t)out->rank * sizeof *bounds);
  if (out->bounds == NULL && out->rank > 0) return nxh_no_memory(r);
  return nxh_need(r, ">");
}

static bool read_encoding(nxh_reader *r, nxh_type *out) {
  if (!nxh_eat(r, ",")) return true;
  const nxh_alias *alias = nxh_peek(r) == '#' ? nxh_eat_alias(r) : NULL;
  if (alias == NULL) return read_bounds(r, out);
  nxh_reader inside = *r; /* what it stands for is read for a tensor of this rank */
  inside.at = alias->text.at;
  return *inside.at != '#' || read_bounds(&inside, out);
}

static bool read_tensor(nxh_reader *r, nxh_type *out) {
  int64_t shape[NX_MAX_RANK];
  out->kind = NXH_TENSOR;
  if (!nxh_need(r, "<") || !read_extents(r, shape, &out->rank) || !read_scalar(r, out))
    return false;
  out->shape = nxi_arena_copy(&r->m->arena, shape, (size_t)out->rank * sizeof *shape);
  if (out->shape == NULL && out->rank > 0) return nxh_no_memory(r);
  if (!read_encoding(r, out) || !nxh_need(r, ">")) return false;
  return nxh_make_real(r->m, out) || nxh_no_memory(r);
}

static bool read_tuple(nxh_reader *r, nxh_type *out) {
  nxh_type *parts = NULL;
  uint32_t n = 0, capacity = 0;
  bool ok = nxh_need(r, "<");
  while (ok && !nxh_eat(r, ">")) {
    ok = (n == 0 || nxh_need(r, ",")) && nxh_push(r, &parts, &n, &capacity, sizeof *parts) != NULL;
    if (ok) {
      nxh_type read = {0};
      ok = nxh_read_type(r, &read);
      parts[n - 1] = read;
    }
  }
  out->kind = NXH_TUPLE;
  out->n_tuple = n;
  return nxh_settle(r, parts, n, sizeof *parts, &out->tuple) && ok;
}

/* A type of no tensor: of a function, or of a dialect. */
static bool read_other(nxh_reader *r, nxh_type *out) {
  nxh_word w;
  const char *from = r->at;
  if (nxh_eat(r, "!stablehlo.token") || nxh_eat(r, "!mhlo.token")) {
    out->kind = NXH_TOKEN;
    return true;
  }
  out->kind = NXH_OTHER;
  if (nxh_peek(r) == '(') {
    const nxh_type *ignored;
    uint32_t n;
    if (!nxh_read_function_type(r, &ignored, &n, &out->tuple, &out->n_tuple)) return false;
  } else {
    const nxh_alias *alias = *r->at == '!' ? nxh_eat_alias(r) : NULL;
    if (alias != NULL) return *out = *alias->value.type, true;
    if (!nxh_need(r, "!") || !nxh_read_word(r, &w)) return false;
    if (nxh_peek(r) == '<' && !nxh_skip_brackets(r)) return false;
  }
  out->text = since(r, from);
  return true;
}

bool nxh_read_type(nxh_reader *r, nxh_type *out) {
  *out = (nxh_type){0};
  if (!nxh_enter(r)) return false;
  bool ok;
  if (nxh_eat(r, "tensor")) ok = read_tensor(r, out);
  else if (nxh_eat(r, "tuple")) ok = read_tuple(r, out);
  else if (nxh_at_word(r)) ok = read_scalar(r, out);
  else ok = read_other(r, out);
  nxh_leave(r);
  return ok;
}

bool nxh_read_types(nxh_reader *r, const nxh_type **out, uint32_t *n) {
  nxh_type *types = NULL, *slot;
  uint32_t count = 0, capacity = 0;
  bool brackets = nxh_eat(r, "("), ok = true;
  if (!brackets || !nxh_eat(r, ")")) do {
      nxh_type read;
      ok = nxh_read_type(r, &read) &&
           (slot = nxh_push(r, &types, &count, &capacity, sizeof *types)) != NULL;
      if (ok) *slot = read;
      if (ok && nxh_peek(r) == '{' && brackets) ok = nxh_skip_brackets(r); /* attributes */
    } while (ok && brackets && (nxh_eat(r, ",") || (ok = nxh_need(r, ")"), false)));
  *n = count;
  return nxh_settle(r, types, count, sizeof *types, out) && ok;
}

bool nxh_read_function_type(nxh_reader *r, const nxh_type **in, uint32_t *n_in,
                            const nxh_type **out, uint32_t *n_out) {
  return nxh_read_types(r, in, n_in) && nxh_need(r, "->") && nxh_read_types(r, out, n_out);
}
