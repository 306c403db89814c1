/* SPDX-License-Identifier: ISC */
/* Prints scalar operations as expressions, by the rows of scalar_cuda.def, and conversions. */
#include <assert.h>
#include <string.h>

#include "emit.h"

enum { COLUMN_BOOL, COLUMN_SIGNED, COLUMN_UNSIGNED, COLUMN_FLOAT, COLUMNS };
static const char *const table[NXK_SCALAR_COUNT][COLUMNS] = {
#define COP(name, b, s, u, f) [NXK_##name] = {b, s, u, f},
#include "scalar_cuda.def"
#undef COP
};

enum {
  ROWS = 0
#define COP(name, b, s, u, f) +1
#include "scalar_cuda.def"
#undef COP
};
static_assert((int)ROWS == (int)NXK_SCALAR_COUNT,
              "scalar_cuda.def and scalar_ops.def have a row for the same operations");

static int column_of(nx_dtype t) {
  switch (nxi_dtype_class(t)) {
    case NXI_BOOL: return COLUMN_BOOL;
    case NXI_INT: return COLUMN_SIGNED;
    case NXI_UINT: return COLUMN_UNSIGNED;
    default: return COLUMN_FLOAT;
  }
}

static const char *wrapping(nx_dtype t) { return nxi_dtypes[t].bits == 64 ? "nx_u64" : "nx_u32"; }

static void fill_in(nxu_emitter *e, const char *form, const nxu_operation *o, const char *a,
                    const char *b, const char *c) {
  for (const char *s = form; *s; s++) {
    if (*s != '$') {
      nxi_text_put(e->out, s, 1);
      continue;
    }
    switch (*++s) {
      case 'a': nxu_put(e, "%s", a); break;
      case 'b': nxu_put(e, "%s", b); break;
      case 'c': nxu_put(e, "%s", c); break;
      case 'T': nxu_put(e, "%s", nxu_type(o->result)); break;
      default: nxu_put(e, "%s", wrapping(o->type)); break;
    }
  }
}

/* ---- conversions */

/* A conversion of two elements at once: its function, the type that it gives, how far apart the
 * elements are in that, and what makes one of them of its bits. NULL: there is none. */
typedef struct pair_cast {
  const char *function, *type;
  int bits;
  const char *element;
} pair_cast;

static pair_cast pair_cast_of(nx_dtype from, nx_dtype to) {
  if (from == NX_F8E4M3 && to == NX_F32)
    return (pair_cast){"nx_e4m3s_to_halves", "nx_u32", 16, "nx_half_to_float((nx_u16)"};
  if (from == NX_F32 && to == NX_F8E4M3)
    return (pair_cast){"nx_floats_to_e4m3s", "nx_u16", 8, "(nx_u8)"};
  if (from == NX_F32 && to == NX_F8E5M2)
    return (pair_cast){"nx_floats_to_e5m2s", "nx_u16", 8, "(nx_u8)"};
  if (from == NX_F32 && to == NX_F16)
    return (pair_cast){"nx_floats_to_halves", "nx_u32", 16, "(nx_u16)"};
  if (from == NX_F32 && to == NX_BF16)
    return (pair_cast){"nx_floats_to_bf16s", "nx_u32", 16, "(nx_u16)"};
  return (pair_cast){NULL, NULL, 0, NULL};
}

/* Conversions between f32 and small floats are of two elements at once: neighbours of the thread,
 * or one element alone. False: v is none. */
static bool put_pair_cast(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  if (in->op != NXK_cast) return false;
  pair_cast c = pair_cast_of(e->k->instrs[in->args[0]].dtype, in->dtype);
  if (c.function == NULL) return false;
  const char *end = strchr(c.element + 1, '(') != NULL ? "))" : ")";
  for (uint32_t i = 0, n = nxu_copies(e, v); i < n; i += 2) {
    nxu_name a = nxu_ref(e, in->args[0], i), b = i + 1 < n ? nxu_ref(e, in->args[0], i + 1) : a;
    nxu_line(e);
    nxu_put(e, "const %s f%u_%u = %s(%s, %s);", c.type, v, i, c.function, a.text, b.text);
    for (uint32_t j = i; j < n && j < i + 2; j++) {
      nxu_define(e, v, j);
      nxu_put(e, "%s(f%u_%u", c.element, v, i);
      if (j > i) nxu_put(e, " >> %d", c.bits);
      nxu_put(e, "%s;", end);
    }
  }
  return true;
}

static void put_cast(nxu_emitter *e, const nxu_operation *o, const char *a) {
  bool from_half = o->type == NX_F16 && o->result == NX_F32;
  const char *type = nxu_type(o->result);
  if (o->type == o->result) nxu_put(e, "%s", a);
  else if (from_half) nxu_put(e, "nx_half_to_float(%s)", a);
  else if (nxi_is_small_float(o->type) || nxi_is_small_float(o->result))
    nxu_refuse(e, "a conversion of a small float was not legalised");
  else if (o->result == NX_BOOL) nxu_put(e, "%s != 0", a);
  else if (nxi_is_float(o->type) && !nxi_is_float(o->result))
    nxu_put(e, "nx_to_integer<%s>(%s)", type, a);
  else nxu_put(e, "(%s)%s", type, a);
}

/* ---- constants as second operands, for which the special cases of total operations are known */

static bool put_by_constant(nxu_emitter *e, const nxu_operation *o, const char *a, const char *b) {
  const char *type = nxu_type(o->result);
  if (!o->constant || nxi_is_float(o->type) || o->type == NX_BOOL) return false;
  bool division = (o->op == NXK_div || o->op == NXK_mod) && o->value != -1;
  bool shift =
      (o->op == NXK_shl || o->op == NXK_shr) && o->value > 0 && o->value < nxi_dtypes[o->type].bits;
  if (division) nxu_put(e, "(%s)(%s %c %s)", type, a, o->op == NXK_div ? '/' : '%', b);
  else if (shift && o->op == NXK_shr) nxu_put(e, "(%s)(%s >> %d)", type, a, (int)o->value);
  else if (shift) nxu_put(e, "(%s)((%s)%s << %d)", type, wrapping(o->type), a, (int)o->value);
  return division || shift;
}

void nxu_scalar(nxu_emitter *e, const nxu_operation *o, const char *a, const char *b,
                const char *c) {
  bool moves = o->op == NXK_select || o->op == NXK_bitcast;
  if (o->op == NXK_cast) {
    put_cast(e, o, a);
    return;
  }
  const char *form = table[o->op][column_of(o->type)];
  if (form == NULL || (nxi_is_small_float(o->type) && !moves))
    nxu_refuse(e, "an operation was not expanded or legalised");
  else if (!put_by_constant(e, o, a, b)) fill_in(e, form, o, a, b, c);
}

/* Whether v is a constant or a splat of one, and its value. */
static bool is_constant(const nxu_emitter *e, nxk_value v, nx_dtype t, int64_t *value) {
  const nxk_instr *in = &e->k->instrs[v];
  while (in->op == NXK_splat) in = &e->k->instrs[in->args[0]];
  if (in->op != NXK_const || !nxi_is_integer(t) || in->imm == 0) return false;
  uint64_t bits = in->imm << (64 - nxi_dtypes[t].bits);
  *value = nxi_is_signed(t) ? (int64_t)bits >> (64 - nxi_dtypes[t].bits) : (int64_t)in->imm;
  return true;
}

/* An `exact` operation cannot overflow, so it is printed as a plain one. */
static void put_nsw(nxu_emitter *e, const nxk_instr *in, const char *a, const char *b) {
  nxu_put(e, "%s %c %s", a, in->op == NXK_add ? '+' : in->op == NXK_sub ? '-' : '*', b);
}

void nxu_scalar_instr(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  if (put_pair_cast(e, v)) return;
  nx_dtype type = e->k->instrs[in->args[in->n_args - 1]].dtype;
  nxu_operation o = {(nxk_op)in->op, type, in->dtype, false, 0};
  if (in->n_args == 2) o.constant = is_constant(e, in->args[1], type, &o.value);
  /* does not fit in int64_t */
  if (o.constant && !nxi_is_signed(type) && o.value < 0) o.constant = false;
  for (uint32_t i = 0; i < nxu_copies(e, v) && !e->failed; i++) {
    nxu_name args[3] = {{""}, {""}, {""}};
    for (int j = 0; j < in->n_args && j < 3; j++) args[j] = nxu_ref(e, in->args[j], i);
    nxu_define(e, v, i);
    if (in->flags & NXK_NSW) put_nsw(e, in, args[0].text, args[1].text);
    else nxu_scalar(e, &o, args[0].text, args[1].text, args[2].text);
    nxu_put(e, ";");
  }
}
