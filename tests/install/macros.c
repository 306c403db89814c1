/* SPDX-License-Identifier: ISC */
/* A use of each macro of the public headers, in C11 and in C++17: headers.py compiles this file as
 * both, and checks that no macro is missing here. Nothing runs it. */
#include <nx/nx.h>

#define ROW(name, value, sentence) +(value)
enum { STATUSES = 0 NX_STATUS_TABLE(ROW) };

NX_API const char *version_of_headers(void);
const char *version_of_headers(void) {
  return NX_ABI + NX_VERSION_MAJOR + NX_VERSION_MINOR + NX_VERSION_PATCH > 0 ? NX_VERSION_STRING
                                                                             : "";
}

NX_API nx_tensor *uses(nx_context *c, double number, int integer);
nx_tensor *uses(nx_context *c, double number, int integer) {
  nx_tensor *x = nx_full(c, 0, NX_F32, NX_SHAPE(2, 3), NX_NUMBER(number));
  nx_tensor *y = nx_arange(c, 0, NX_I64, NX_INTEGER(integer), NX_INTEGER(STATUSES), 3);
  nx_range rows = {0, NX_OPEN, 2};
  nx_scalar element;
  if (nx_item(x, NX_INDEX(0, -1), &element, NULL) != NX_OK) return NULL;
  nx_tensor *sum = nx_reduce_sum(nx_mul(nx_get(x, &rows, 1), y), NX_AXES(0, -1), NX_KEEPDIMS);
  return nx_flip(nx_flip(sum, NX_ALL_AXES), NULL, NX_ALL);
}
