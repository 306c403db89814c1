/* SPDX-License-Identifier: ISC */
/* Hints for texts that somebody wrote by hand: words of other libraries, misspelled ones, numbers
 * in the place of operands, and remarks that other languages begin otherwise. */
#include <stdio.h>
#include <string.h>

#include "ir/library/library.h"
#include "near.h"
#include "parse_graph.h"

static const struct {
  const char *word, *ours;
} elsewhere[] = {
    {"multiply", "mul"},
    {"divide", "div"},
    {"subtract", "sub"},
    {"negative", "neg"},
    {"negate", "neg"},
    {"power", "pow"},
    {"sum", "reduce_sum"},
    {"prod", "reduce_prod"},
    {"amax", "reduce_max"},
    {"amin", "reduce_min"},
    {"mean", "reduce_sum, then div by the number"},
    {"dot", "matmul"},
    {"mm", "matmul"},
    {"transpose", "permute"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"stack", "reshape, then cat"},
    {"const", "full"},
    {"constant", "full"},
    {"zeros", "full 0"},
    {"ones", "full 1"},
    {"select", "where"},
    {"broadcast", "expand"},
    {"broadcast_to", "expand"},
    {"convert", "cast"},
    {"astype", "cast"},
    {"equal", "cmpeq"},
    {"less", "cmplt"},
    {"maximum", "max"},
    {"minimum", "min"},
    {"relu", "max with full 0"},
    {"cumsum", "scan_sum"},
    {"arctan2", "atan2"},
    {"reciprocal", "recip"},
    {"not", "xor with full 1"},
    {"float32", "f32"},
    {"float64", "f64"},
    {"float16", "f16"},
    {"bfloat16", "bf16"},
    {"float", "f32"},
    {"double", "f64"},
    {"half", "f16"},
    {"int", "i32"},
    {"int8", "i8"},
    {"int16", "i16"},
    {"int32", "i32"},
    {"int64", "i64"},
    {"uint8", "u8"},
    {"uint16", "u16"},
    {"uint32", "u32"},
    {"uint64", "u64"},
    {"long", "i64"},
    {"complex64", "c64"},
    {"complex128", "c128"},
    {"boolean", "bool"},
};

/* A word of another library; NULL: it is none. */
static const char *translate(const char *word, uint32_t n) {
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
    if (strlen(elsewhere[i].word) == n && !memcmp(elsewhere[i].word, word, n))
      return elsewhere[i].ours;
  return NULL;
}

static void hint(const char *word, uint32_t n, const char *const *known, size_t n_known,
                 char out[NXI_NEAR_TEXT]) {
  const char *ours = translate(word, n);
  if (ours) snprintf(out, NXI_NEAR_TEXT, "; here it is %s", ours);
  else nxi_near_text(word, n, known, n_known, out);
}

static bool begins_number(const char *word, uint32_t n) {
  return n && ((word[0] >= '0' && word[0] <= '9') || word[0] == '-' || word[0] == '+' ||
               (word[0] == '.' && n > 1));
}

void nxg_hint_number(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]) {
  out[0] = 0;
  if (begins_number(word, n))
    snprintf(out, NXI_NEAR_TEXT, "; a number is a node: %%n = full %.*s : f32[]",
             n > 20 ? 20 : (int)n, word);
}

void nxg_hint_op(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]) {
  const char *known[NXG_OP_COUNT + NXG_MOVES];
  size_t count = 0;
  for (int op = 0; op < NXG_OP_COUNT; op++)
    if (op != NXG_input && op != NXG_view) known[count++] = nxg_ops[op].name;
  for (int m = 0; m < NXG_MOVES; m++) known[count++] = nxg_move_names[m];
  nxg_hint_number(word, n, out);
  if (!out[0]) hint(word, n, known, count, out);
}

void nxg_hint_dtype(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]) {
  const char *known[64];
  size_t count = 0;
  for (int t = 1; t < 64 && count < 64; t++)
    if (nxi_dtype_valid((nx_dtype)t)) known[count++] = nxi_dtypes[t].name;
  hint(word, n, known, count, out);
}

void nxg_hint_attribute(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]) {
  const char *known[NXG_KEYS];
  for (int i = 0; i < NXG_KEYS; i++) known[i] = nxg_key_names[i];
  nxg_hint_number(word, n, out);
  if (!out[0]) nxi_near_text(word, n, known, NXG_KEYS, out);
  if (!out[0]) snprintf(out, NXI_NEAR_TEXT, "; the name of an operand begins with %%");
}

const char *nxg_hint_remark(const char *at, const char *end) {
  if (at == end) return "";
  if (*at == '(') return "; lists stand in [ ], operands stand without parentheses: exp %x";
  if (*at == '=') return "; no '=' belongs here: full 1, and keepdims alone";
  bool other = *at == '#' || (*at == '/' && end - at > 1 && (at[1] == '/' || at[1] == '*'));
  return other ? "; a remark begins with a semicolon" : "";
}
