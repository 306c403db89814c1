/* SPDX-License-Identifier: ISC */
/* The first program: softmax of each row of a small matrix, as README.md and docs/start.md show it.
 * Nothing runs until the result is read; then the five operations are compiled as one kernel, or
 * interpreted, since they are few and tiny. */
#include <nx/nx.h>
#include <stdio.h>

int main(void) {
  nx_context *context;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  const float data[] = {1, 2, 3, 1, 1, 1};
  nx_tensor *x = nx_from_data(context, 0, NX_F32, NX_SHAPE(2, 3), data, sizeof data);

  nx_scope *scope = nx_scope_begin(context); /* releases what is recorded and not kept */
  nx_tensor *m = nx_reduce_max(x, NX_AXES(1), NX_KEEPDIMS);
  nx_tensor *e = nx_exp(nx_sub(x, m));
  nx_tensor *y = nx_keep(nx_div(e, nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS)));
  nx_scope_end(scope);

  float softmax[6];
  nx_status status = nx_read(y, softmax, sizeof softmax, NULL); /* everything runs here */
  if (status == NX_OK)
    for (int i = 0; i < 6; i++) printf("%g%c", (double)softmax[i], i % 3 == 2 ? '\n' : ' ');
  nx_tensor_release(x);
  nx_tensor_release(y);
  nx_context_release(context);
  return status != NX_OK;
}
