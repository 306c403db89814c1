/* SPDX-License-Identifier: ISC */
#include <nx/nx.h>
#include <stdio.h>

enum { ORDERS = 12 };
static const int32_t orders[ORDERS] = {7, 3, 7, 9, 3, 7, 1, 9, 7, 3, -2, 40};
static const float prices[ORDERS] = {0.5F, 2, 9.5F, 10, 3, 3.5F, 7, 1, 6, 12, 4.5F, 0};

static void show(const char *name, nx_tensor *x) {
  double data[ORDERS];
  const int64_t n = x ? nx_elements(x) : 0;
  printf("%-10s", name);
  if (nx_read(nx_cast(x, NX_F64), data, (size_t)n * sizeof *data, NULL) == NX_OK)
    for (int64_t i = 0; i < n; i++) printf(" %3g", data[i]);
  putchar('\n');
}

/* How often each of 0 .. n - 1 is in x, or the sums of their weights; any other number is left
 * out. */
static nx_tensor *bincount(nx_context *context, nx_tensor *x, nx_tensor *weights, int64_t n) {
  nx_tensor *below = nx_binary_i64(x, NX_BINARY_CMPLT, 0);
  nx_tensor *outside = nx_full_i64(context, 0, nx_dtype_of(x), NULL, 0, n);
  nx_tensor *bin = nx_where(below, outside, x); /* a negative index would count from the end */
  nx_tensor *none = nx_full_i64(context, 0, nx_dtype_of(weights), &n, 1, 0);
  return nx_scatter(none, bin, nx_expand(weights, nx_shape(x), 1), 0, NX_SCATTER_ADD,
                    NX_DROP_OUT_OF_RANGE);
}

/* How many elements of x lie between neighbours of the sorted edges, the upper one not included;
 * the last edge belongs to the last bin. */
static nx_tensor *histogram(nx_context *context, nx_tensor *x, nx_tensor *edges) {
  const int64_t bins = nx_shape(edges)[0] - 1, start = bins, stop = bins + 1;
  nx_tensor *last = nx_shrink(edges, &start, &stop, 1);
  nx_tensor *place = nx_searchsorted(edges, x, NULL, NX_AFTER_EQUAL, NX_I32);
  nx_tensor *bin = nx_binary_i64(place, NX_BINARY_SUB, 1);
  nx_tensor *final = nx_full_i64(context, 0, NX_I32, NULL, 0, bins - 1);
  bin = nx_where(nx_cmpeq(x, last), final, bin);
  return bincount(context, bin, nx_full_i64(context, 0, NX_I32, NULL, 0, 1), bins);
}

/* The distinct numbers of x in ascending order: `room` of them, and zeros if there are fewer. */
typedef struct distinct {
  nx_tensor *values;
  nx_tensor *inverse; /* where each element of x stands among the values */
  nx_tensor *counts;
  nx_tensor *found; /* how many there are, also beyond the room */
} distinct;

/* Along the sorted line a number grows by one where a new value begins. */
static nx_tensor *number_of_each(nx_tensor *sorted) {
  const int64_t n = nx_shape(sorted)[0], zero = 0, one = 1, but_last = n - 1;
  nx_tensor *before = nx_shrink(sorted, &zero, &but_last, 1);
  nx_tensor *behind = nx_shrink(sorted, &one, &n, 1);
  nx_tensor *begins = nx_pad(nx_cmpne(before, behind), &one, &zero, 1, NX_INTEGER(0));
  return nx_associative_scan(nx_cast(begins, NX_I32), NX_SCAN_SUM, 0);
}

static distinct unique(nx_context *context, nx_tensor *x, int64_t room) {
  const int64_t n = nx_shape(x)[0], last = n - 1;
  nx_tensor *order = nx_argsort(x, 0, 0, NX_I32);
  nx_tensor *sorted = nx_gather(x, order, 0), *number = number_of_each(sorted);
  nx_tensor *none = nx_full_i64(context, 0, nx_dtype_of(x), &room, 1, 0);
  nx_tensor *line = nx_full_i64(context, 0, NX_I32, &n, 1, 0);
  nx_tensor *ones = nx_full_i64(context, 0, NX_I32, NULL, 0, 1);
  return (distinct){
      .values = nx_scatter(none, number, sorted, 0, NX_SCATTER_SET, NX_DROP_OUT_OF_RANGE),
      .inverse = nx_scatter(line, order, number, 0, NX_SCATTER_SET, NX_UNIQUE_INDICES),
      .counts = bincount(context, number, ones, room),
      .found = nx_binary_i64(nx_shrink(number, &last, &n, 1), NX_BINARY_ADD, 1)};
}

static void count(nx_context *context) {
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_from_data(context, 0, NX_I32, NX_SHAPE(ORDERS), orders, sizeof orders);
  nx_tensor *price = nx_from_data(context, 0, NX_F32, NX_SHAPE(ORDERS), prices, sizeof prices);
  show("counts", bincount(context, x, nx_full_i64(context, 0, NX_I32, NULL, 0, 1), 10));
  show("sums", bincount(context, x, price, 10));
  const float ends[4] = {0, 2, 6, 12};
  nx_tensor *edges = nx_from_data(context, 0, NX_F32, NX_SHAPE(4), ends, sizeof ends);
  show("histogram", histogram(context, price, edges));
  distinct of = unique(context, x, 8);
  show("values", of.values);
  show("how often", of.counts);
  show("inverse", of.inverse);
  show("found", of.found);
  nx_scope_end(scope);
}

int main(void) {
  nx_context *context = NULL;
  if (nx_context_create(NULL, &context) != NX_OK) return 1;
  count(context);
  nx_error error = {.size = sizeof error};
  const nx_status status = nx_error_take(&error);
  if (status != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return status != NX_OK;
}
