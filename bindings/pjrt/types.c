/* SPDX-License-Identifier: ISC */
/* Element types of the interface, and those of the library. */
#include "objects.h"

static const struct {
  int type;
  nx_dtype dtype;
  const char *name;
} rows[] = {
    {NXJ_TYPE_PRED, NX_BOOL, "pred"},
    {NXJ_TYPE_S8, NX_I8, "s8"},
    {NXJ_TYPE_S16, NX_I16, "s16"},
    {NXJ_TYPE_S32, NX_I32, "s32"},
    {NXJ_TYPE_S64, NX_I64, "s64"},
    {NXJ_TYPE_U8, NX_U8, "u8"},
    {NXJ_TYPE_U16, NX_U16, "u16"},
    {NXJ_TYPE_U32, NX_U32, "u32"},
    {NXJ_TYPE_U64, NX_U64, "u64"},
    {NXJ_TYPE_F16, NX_F16, "f16"},
    {NXJ_TYPE_F32, NX_F32, "f32"},
    {NXJ_TYPE_F64, NX_F64, "f64"},
    {NXJ_TYPE_BF16, NX_BF16, "bf16"},
    {NXJ_TYPE_C64, NX_C64, "c64"},
    {NXJ_TYPE_C128, NX_C128, "c128"},
    {NXJ_TYPE_F8E5M2, NX_F8E5M2, "f8e5m2"},
    {NXJ_TYPE_F8E4M3FN, NX_F8E4M3, "f8e4m3fn"},
    {NXJ_TYPE_F8E4M3B11FNUZ, 0, "f8e4m3b11fnuz"},
    {NXJ_TYPE_F8E5M2FNUZ, NX_F8E5M2FNUZ, "f8e5m2fnuz"},
    {NXJ_TYPE_F8E4M3FNUZ, NX_F8E4M3FNUZ, "f8e4m3fnuz"},
    {NXJ_TYPE_S4, NX_I4, "s4"},
    {NXJ_TYPE_U4, NX_U4, "u4"},
    {NXJ_TYPE_TOKEN, 0, "token"},
    {NXJ_TYPE_S2, 0, "s2"},
    {NXJ_TYPE_U2, 0, "u2"},
    {NXJ_TYPE_F8E4M3, 0, "f8e4m3"},
    {NXJ_TYPE_F8E3M4, 0, "f8e3m4"},
    {NXJ_TYPE_F8E8M0, NX_F8E8M0, "f8e8m0fnu"},
    {NXJ_TYPE_F4E2M1, NX_F4E2M1, "f4e2m1fn"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

nx_dtype nxj_dtype_of(int type) {
  for (int i = 0; i < N_ROWS; i++)
    if (rows[i].type == type) return rows[i].dtype;
  return 0;
}

int nxj_type_of(nx_dtype dtype) {
  for (int i = 0; i < N_ROWS; i++)
    if (dtype != 0 && rows[i].dtype == dtype) return rows[i].type;
  return NXJ_TYPE_INVALID;
}

const char *nxj_type_name(int type) {
  for (int i = 0; i < N_ROWS; i++)
    if (rows[i].type == type) return rows[i].name;
  return "of an unknown type";
}
