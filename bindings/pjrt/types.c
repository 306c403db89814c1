/* SPDX-License-Identifier: ISC */
/* Element types of the interface, and those of the library. Of a type that the library does not
 * compute with, buffers are tensors of its storage. */
#include "bindings/stablehlo/module.h"
#include "objects.h"

#include <string.h>

static const struct {
  int type;
  nx_dtype dtype; /* 0: of none, or of a form */
  const char *name;
  const char *form; /* what programs call it, if buffers are of its storage (forms.h); NULL */
} rows[] = {
    {NXJ_TYPE_PRED, NX_BOOL, "pred", NULL},
    {NXJ_TYPE_S8, NX_I8, "s8", NULL},
    {NXJ_TYPE_S16, NX_I16, "s16", NULL},
    {NXJ_TYPE_S32, NX_I32, "s32", NULL},
    {NXJ_TYPE_S64, NX_I64, "s64", NULL},
    {NXJ_TYPE_U8, NX_U8, "u8", NULL},
    {NXJ_TYPE_U16, NX_U16, "u16", NULL},
    {NXJ_TYPE_U32, NX_U32, "u32", NULL},
    {NXJ_TYPE_U64, NX_U64, "u64", NULL},
    {NXJ_TYPE_F16, NX_F16, "f16", NULL},
    {NXJ_TYPE_F32, NX_F32, "f32", NULL},
    {NXJ_TYPE_F64, NX_F64, "f64", NULL},
    {NXJ_TYPE_BF16, NX_BF16, "bf16", NULL},
    {NXJ_TYPE_C64, NX_C64, "c64", NULL},
    {NXJ_TYPE_C128, NX_C128, "c128", NULL},
    {NXJ_TYPE_F8E5M2, NX_F8E5M2, "f8e5m2", NULL},
    {NXJ_TYPE_F8E4M3FN, NX_F8E4M3, "f8e4m3fn", NULL},
    {NXJ_TYPE_F8E4M3B11FNUZ, 0, "f8e4m3b11fnuz", "f8E4M3B11FNUZ"},
    {NXJ_TYPE_F8E5M2FNUZ, NX_F8E5M2FNUZ, "f8e5m2fnuz", NULL},
    {NXJ_TYPE_F8E4M3FNUZ, NX_F8E4M3FNUZ, "f8e4m3fnuz", NULL},
    {NXJ_TYPE_S4, NX_I4, "s4", NULL},
    {NXJ_TYPE_U4, NX_U4, "u4", NULL},
    {NXJ_TYPE_TOKEN, 0, "token", NULL},
    {NXJ_TYPE_S2, 0, "s2", "i2"},
    {NXJ_TYPE_U2, 0, "u2", "ui2"},
    {NXJ_TYPE_F8E4M3, 0, "f8e4m3", "f8E4M3"},
    {NXJ_TYPE_F8E3M4, 0, "f8e3m4", "f8E3M4"},
    {NXJ_TYPE_F8E8M0, NX_F8E8M0, "f8e8m0fnu", NULL},
    {NXJ_TYPE_F4E2M1, NX_F4E2M1, "f4e2m1fn", NULL},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

nx_dtype nxj_dtype_of(int type) {
  for (int i = 0; i < N_ROWS; i++) {
    if (rows[i].type != type) continue;
    const char *form = rows[i].form;
    return form != NULL ? nxh_find_form(form, strlen(form))->storage : rows[i].dtype;
  }
  return 0;
}

int nxj_type_of(const nxh_type *t) {
  for (int i = 0; i < N_ROWS; i++) {
    bool stored = t->form != NULL && t->form->kind != NXH_CAST; /* as elements of another type */
    if (stored ? rows[i].form != NULL && strcmp(rows[i].form, t->form->name) == 0
               : t->dtype != 0 && rows[i].dtype == t->dtype)
      return rows[i].type;
  }
  return NXJ_TYPE_INVALID;
}

const char *nxj_type_name(int type) {
  for (int i = 0; i < N_ROWS; i++)
    if (rows[i].type == type) return rows[i].name;
  return "of an unknown type";
}
