/* SPDX-License-Identifier: ISC */
/* Messages about operands of a dtype that an operation does not admit: they say which classes of
 * dtypes it admits, from its row in graph_ops.def or library.def, and what to do instead. */
#include <stdio.h>

#include "ir/library/library.h"

static const struct {
  uint32_t class;
  const char *name;
} classes[] = {{NXI_B, "bool"}, {NXI_I, "integers"}, {NXI_F, "floats"}, {NXI_C, "complex numbers"}};

/* "integers, floats and complex numbers" */
static void list_classes(nxg_op op, char *text, size_t size) {
  uint32_t left = nxg_ops[op].admits;
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    if (!(left & classes[i].class)) continue;
    left &= ~classes[i].class;
    used += (size_t)snprintf(text + used, size - used, "%s%s",
                             used == 0 ? ""
                             : left    ? ", "
                                       : " and ",
                             classes[i].name);
  }
}

/* What to do instead of a cast, for operations and dtypes where a cast is not what the caller
 * wants; else NULL. */
static const char *other_way(nxg_op op, nx_dtype t) {
  bool complex = nxi_is_complex(t);
  switch (op) {
    case NXG_fft: return complex ? NULL : "rfft is of real numbers";
    case NXG_ifft: return complex ? NULL : "irfft gives real numbers; or cast it to c64";
    case NXG_rfft: return complex ? "fft is of complex numbers" : NULL;
    case NXG_irfft: return complex ? NULL : "it takes what rfft gives";
    case NXG_sub:
    case NXG_neg: return t == NX_BOOL ? "cast it first; bools have `xor`" : NULL;
    case NXG_and:
    case NXG_or:
    case NXG_xor: return nxi_is_float(t) ? "compare it first, or bitcast it" : NULL;
    default: return NULL;
  }
}

nx_status nxg_fail_dtype(nxg_op op, uint32_t operand, nx_dtype t, nxi_diag *d) {
  char takes[64];
  const char *name = nxg_ops[op].name, *way = other_way(op, t);
  const char *is = nxi_dtype_valid(t) ? nxi_dtypes[t].name : "?";
  list_classes(op, takes, sizeof takes);
  if (op == NXG_threefry) snprintf(takes, sizeof takes, "i32 and u32");
  if (op == NXG_complex) snprintf(takes, sizeof takes, "f16, f32 and f64");
  if (t == NX_C32 && nxg_ops[op].kind == NXG_KIND_CALL) way = "cast it to c64 first";
  nx_status status =
      nxi_fail(d, NX_UNSUPPORTED_DTYPE, name, "%s: operand %u has dtype %s, but %s takes %s: %s",
               name, operand, is, name, takes, way != NULL ? way : "cast it first");
  if (d != NULL && d->operand < 0) d->operand = (int32_t)operand;
  return status;
}
