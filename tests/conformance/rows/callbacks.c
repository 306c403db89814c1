/* SPDX-License-Identifier: ISC */
/* Custom operations: a function of the caller, free and ordered, and kernels in text, of which one
 * is elementwise. Each reverses the elements or keeps them, so that every bit shows. */
#include "../conformance.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 6 };
static const int64_t matrix_shape[] = {2, 3}, line_shape[] = {LENGTH};

/* ---- a function */

static nx_status reverse(const nx_custom_call *k) {
  const nx_array *from = &k->operands[0], *to = &k->results[0];
  const size_t size = *(const size_t *)k->user;
  for (int64_t i = 0; i < from->elements; i++)
    memcpy((char *)to->data + (size_t)i * size,
           (const char *)from->data + (size_t)(from->elements - 1 - i) * size, size);
  if (k->n_results > 1) *(int64_t *)k->results[1].data = from->elements;
  return NX_OK;
}

/* The bytes of an element of each type, which a function finds when it is called. */
static const size_t *bytes_of(nx_dtype dtype) {
  static size_t bytes[FORMATS];
  bytes[dtype - NX_BOOL] = (size_t)(format_of(dtype)->bits + 7) / 8;
  return &bytes[dtype - NX_BOOL];
}

/* Two results: the elements reversed, as a line, and how many they are. */
static nx_status call_function(trial *t, nx_dtype dtype, nx_tensor *x, nx_tensor *token,
                               nx_tensor **out) {
  const nx_type in = {dtype, 2, matrix_shape},
                results[2] = {{dtype, 1, line_shape}, {NX_I64, 0, NULL}};
  nx_custom *f = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "reverse",
                         .run = reverse,
                         .user = (void *)bytes_of(dtype),
                         .flags = token ? NX_ORDERED : 0,
                         .n_operands = 1,
                         .operands = &in,
                         .n_results = 2,
                         .results = results};
  nx_status status = nx_custom_create(t->context, &desc, &f);
  if (status == NX_OK) status = nx_custom_record(f, &x, 1, token, out, 2);
  nx_custom_release(f);
  return status;
}

static void expect_reversed(trial *t, const array *a, nx_tensor *line, const char *what) {
  array *want = new_array(t, t->dtype, 1, line_shape);
  for (int i = 0; i < LENGTH; i++) want->at[i] = a->at[LENGTH - 1 - i];
  expect(t, line, want, SAME_BITS, what);
}

static void check_function(trial *t) {
  array *six = new_array(t, NX_I64, 0, NULL);
  six->at[0].low = LENGTH;
  for (layout l = 0; l < LAYOUTS; l++)
    for (int ordered = 0; ordered < 2; ordered++) {
      if (!is_due(t, (size_t)l * 2 + (size_t)ordered, 2 * LAYOUTS)) continue;
      array *a = some_values(t, t->dtype, 2, matrix_shape, l);
      nx_tensor *x = laid_out(t, a, l), *out[2] = {NULL, NULL};
      nx_tensor *token = ordered ? nx_token(t->context, t->device) : NULL;
      expect_status(t, call_function(t, t->dtype, x, token, out), NX_OK, layout_names[l]);
      expect_reversed(t, a, out[0], ordered ? "ordered" : layout_names[l]);
      expect(t, out[1], six, SAME, "the number of elements");
    }
  nx_tensor *line = tensor_of(t, some_values(t, t->dtype, 1, line_shape, 1)), *out[2];
  expect_status(t, call_function(t, t->dtype, line, NULL, out), NX_INVALID_ARGUMENT, "a line");
}

static nx_tensor *record_function(trial *t, nx_dtype dtype) {
  nx_tensor *out[2] = {NULL, NULL};
  call_function(t, dtype, tensor_of(t, tame_values(t, dtype, 2, matrix_shape, 1)), NULL, out);
  return out[0];
}

/* ---- kernels in text. `detail`: the index of what is loaded */

static const char back[] = "5 + -1*%i", same[] = "0 + 1*%i";

static nx_status call_kernel(trial *t, nx_dtype dtype, nx_tensor *x, nx_tensor **out) {
  char text[512];
  const char *name = format_of(dtype)->name;
  const nx_type in = {dtype, 2, matrix_shape}, result = {dtype, 1, line_shape};
  int size = snprintf(text, sizeof text,
                      "nxir 2\nkernel @reverse logical {\n  b0: in %s[6]\n  b1: out %s[6]\n"
                      "  region {\n    %%i = for map 0..6 {\n      %%x = load %s b0[%s]\n"
                      "      store %%x, b1[0 + 1*%%i]\n    }\n  }\n}\n",
                      name, name, name, (const char *)t->op->detail);
  nx_custom *f = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "kernel",
                         .n_operands = 1,
                         .operands = &in,
                         .n_results = 1,
                         .results = &result,
                         .kernel = text,
                         .kernel_size = (size_t)size};
  nx_status status = nx_custom_create(t->context, &desc, &f);
  if (status == NX_OK) status = nx_custom_record(f, &x, 1, NULL, out, 1);
  nx_custom_release(f);
  return status;
}

static void check_kernel(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 2, matrix_shape, l);
    nx_tensor *x = laid_out(t, a, l), *out = NULL;
    expect_status(t, call_kernel(t, t->dtype, x, &out), NX_OK, layout_names[l]);
    array *want = new_array(t, t->dtype, 1, line_shape);
    bool turned = t->op->detail == back;
    for (int i = 0; i < LENGTH; i++) want->at[i] = a->at[turned ? LENGTH - 1 - i : i];
    expect(t, out, want, SAME_BITS, layout_names[l]);
  }
}

static nx_tensor *record_kernel(trial *t, nx_dtype dtype) {
  nx_tensor *out = NULL;
  call_kernel(t, dtype, tensor_of(t, tame_values(t, dtype, 2, matrix_shape, 1)), &out);
  return out;
}

#define WHOLE (B | (I & ~(TYPE(NX_I4) | TYPE(NX_U4))) | F)
static const operation callback_table[] = {
    {"custom, a function", WHOLE | (C & ~TYPE(NX_C32)) | (STORED & ~TYPE(NX_F4E2M1)),
     check_function, record_function, NULL, 0, NULL},
    {"custom, a kernel", WHOLE, check_kernel, record_kernel, back, 0, NULL},
    {"custom, an elementwise kernel", WHOLE, check_kernel, record_kernel, same, 0, NULL},
};
const family callback_family = {"Custom operations", callback_table,
                                sizeof callback_table / sizeof *callback_table};
