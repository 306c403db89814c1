/* SPDX-License-Identifier: ISC */
/* More types, functions, layouts and shapes of array rows: what the rows of rows_arrays.c leave
 * open. Each row names its operands ("bf16:4096x512") and its bytes are counted from them. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "ir/dtype.h"

static nx_tensor *sine(const bench_lab *lab, nx_tensor **x) { return (void)lab, nx_sin(x[0]); }
static nx_tensor *cosine(const bench_lab *lab, nx_tensor **x) { return (void)lab, nx_cos(x[0]); }
static nx_tensor *tangent(const bench_lab *lab, nx_tensor **x) { return (void)lab, nx_tan(x[0]); }
static nx_tensor *logarithm(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_log(nx_abs(x[0]));
}
static nx_tensor *power(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_pow(nx_abs(x[0]), x[1]);
}
static nx_tensor *sum_of(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_add(x[0], x[1]);
}
static nx_tensor *product_of(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_mul(x[0], x[1]);
}
static nx_tensor *to_bf16(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_cast(x[0], NX_BF16);
}
static nx_tensor *to_f32(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_cast(x[0], NX_F32);
}
static nx_tensor *turned_3(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_permute(x[0], NX_AXES(2, 1, 0)));
}
static nx_tensor *turned_4(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_permute(x[0], NX_AXES(0, 2, 1, 3)));
}
static nx_tensor *inner_4(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_permute(x[0], NX_AXES(0, 3, 1, 2)));
}
static nx_tensor *every_second(const bench_lab *lab, nx_tensor **x) {
  return nx_mul(bench_each(x[0], 1, 0, 2), bench_number(lab, x[0], 3));
}
static nx_tensor *flipped(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_flip(x[0], NX_AXES(1)));
}
static nx_tensor *plus_transposed(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_add(x[0], bench_transposed_view(x[0]));
}
static nx_tensor *sum_middle(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_sum(x[0], NX_AXES(1), 0);
}
static nx_tensor *sum_outer_inner(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_sum(x[0], NX_AXES(0, 2), 0);
}
static nx_tensor *variance_1(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *n = bench_number(lab, x[0], (double)bench_info(x[0]).shape[1]);
  nx_tensor *d = nx_sub(x[0], nx_div(nx_reduce_sum(x[0], NX_AXES(1), NX_KEEPDIMS), n));
  return nx_div(nx_reduce_sum(nx_mul(d, d), NX_AXES(1), 0), n);
}

typedef struct shape_row {
  const char *name;
  bench_expression *record;
  const char *operands;
  double written; /* bytes of the result, as a share of those of the operands */
} shape_row;

static const shape_row rows[] = {
    {"softmax 64x32000", bench_softmax, "f32:64x32000", 1},
    {"softmax 4096x16384", bench_softmax, "f32:4096x16384", 1},
    {"softmax 2048x32768", bench_softmax, "f32:2048x32768", 1},
    {"softmax 1400x50000", bench_softmax, "f32:1400x50000", 1},
    {"softmax 512x131072", bench_softmax, "f32:512x131072", 1},
    {"softmax 16x262144", bench_softmax, "f32:16x262144", 1},
    {"softmax 1x2^24", bench_softmax, "f32:1x16777216", 1},
    {"softmax 8192x8192 bf16", bench_softmax, "bf16:8192x8192", 1},
    {"softmax 2^20x64", bench_softmax, "f32:1048576x64", 1},
    {"softmax 2^18x257", bench_softmax, "f32:262144x257", 1},
    {"layer norm 1024x65536", bench_layer_norm, "f32:1024x65536", 1},
    {"layer norm 65536x768 bf16", bench_layer_norm, "bf16:65536x768", 1},
    {"rms norm 1024x65536", bench_rms_norm, "f32:1024x65536", 1},
    {"variance 8192x8192", variance_1, "f32:8192x8192", 0},
    {"variance 1024x65536", variance_1, "f32:1024x65536", 0},
    {"2a+3b-ab 2^27 f16", bench_polynomial, "f16:134217728 f16:134217728", 0.5},
    {"a+b 2^27 bf16", sum_of, "bf16:134217728 bf16:134217728", 0.5},
    {"a+b 2^28 u8", sum_of, "u8:268435456 u8:268435456", 0.5},
    {"ab 2^28 i8", product_of, "i8:268435456 i8:268435456", 0.5},
    {"a+b 2^25 i64", sum_of, "i64:33554432 i64:33554432", 0.5},
    {"ab 2^25 c64", product_of, "c64:33554432 c64:33554432", 0.5},
    {"a+b 2^25 c64", sum_of, "c64:33554432 c64:33554432", 0.5},
    {"ab 2^24 c128", product_of, "c128:16777216 c128:16777216", 0.5},
    {"gelu 2^27 bf16", bench_gelu, "bf16:134217728", 1},
    {"exp 2^27 f16", bench_exponential, "f16:134217728", 1},
    {"sin 2^26", sine, "f32:67108864", 1},
    {"cos 2^26", cosine, "f32:67108864", 1},
    {"tan 2^26", tangent, "f32:67108864", 1},
    {"log 2^26", logarithm, "f32:67108864", 1},
    {"pow 2^26", power, "f32:67108864 f32:67108864", 0.5},
    {"exp 2^25 f64", bench_exponential, "f64:33554432", 1},
    {"f32 to bf16 2^26", to_bf16, "f32:67108864", 0.5},
    {"u8 to f32 2^26", to_f32, "u8:67108864", 4},
    {"i64 to f32 2^25", to_f32, "i64:33554432", 0.5},
    {"transpose 16384^2 u8", bench_transposed, "u8:16384x16384", 1},
    {"transpose 16384x8192 bf16", bench_transposed, "bf16:16384x8192", 1},
    {"transpose 8191x8193", bench_transposed, "f32:8191x8193", 1},
    {"transpose 2^24x4", bench_transposed, "f32:16777216x4", 1},
    {"permute 210 of 256x1024x256", turned_3, "f32:256x1024x256", 1},
    {"permute 0213 of 64x128x64x128", turned_4, "f32:64x128x64x128", 1},
    {"permute 0312 of 64x128x128x64 bf16", inner_4, "bf16:64x128x128x64", 1},
    {"flip 8192^2", flipped, "f32:8192x8192", 1},
    {"every second column 8192x16384", every_second, "f32:8192x16384", 0.5},
    {"matrix and its transpose 8192^2", plus_transposed, "f32:8192x8192", 1},
    {"row + column 8192^2", sum_of, "f32:1x8192 f32:8192x1", 4096},
    {"matrix + row 8192^2", sum_of, "f32:8192x8192 f32:1x8192", 1},
    {"matrix + column 8192^2", sum_of, "f32:8192x8192 f32:8192x1", 1},
    {"argmax axis 1 512x131072", bench_argmax_1, "f32:512x131072", 0},
    {"argmax axis 1 4x2^24", bench_argmax_1, "f32:4x16777216", 0},
    {"sum axis 1 4x2^22", bench_sum_1, "f32:4x4194304", 0},
    {"sum axis 1 4x2^24", bench_sum_1, "f32:4x16777216", 0},
    {"sum axis 1 2^23x5", bench_sum_1, "f32:8388608x5", 0.2},
    {"sum axis 1 2^21x33", bench_sum_1, "f32:2097152x33", 0.03},
    {"sum axis 1 2^20x64", bench_sum_1, "f32:1048576x64", 0.0156},
    {"sum axis 0 2^24x3", bench_sum_0, "f32:16777216x3", 0},
    {"sum axis 0 2^20x64", bench_sum_0, "f32:1048576x64", 0},
    {"sum axis 0 64x2^20", bench_sum_0, "f32:64x1048576", 0.0156},
    {"sum axis 1 of 256x256x1024", sum_middle, "f32:256x256x1024", 0},
    {"sum axis 1 of 1024x1024x64", sum_middle, "f32:1024x1024x64", 0},
    {"sum axes 0 2 of 256x256x1024", sum_outer_inner, "f32:256x256x1024", 0},
    {"sum all 2^27 bf16", bench_sum_0, "bf16:134217728", 0},
    {"sum all 2^28 u8", bench_sum_0, "u8:268435456", 0},
    {"sum all 2^25 f64", bench_sum_0, "f64:33554432", 0},
    {"sum all 2^20", bench_sum_0, "f32:1048576", 0},
    {"2a+3b-ab 10^4", bench_polynomial, "f32:10000 f32:10000", 0.5},
    {"2a+3b-ab 10^5", bench_polynomial, "f32:100000 f32:100000", 0.5},
    {"2a+3b-ab 10^6", bench_polynomial, "f32:1000000 f32:1000000", 0.5},
    {"2a+3b-ab 10^7", bench_polynomial, "f32:10000000 f32:10000000", 0.5},
};

/* Numbers of a period that no extent has, so that making them takes little time; they are cast on
 * the GPU. */
static nx_tensor *operand(const bench_lab *lab, const bench_operand *o) {
  enum { PERIOD = 1000003 };
  int64_t n = 1;
  for (int32_t i = 0; i < o->rank; i++) n *= o->shape[i];
  bool wide = o->dtype == NX_F64 || o->dtype == NX_C128;
  float *data = malloc((size_t)n * sizeof *data);
  if (data == NULL) exit(1);
  uint32_t state = 1;
  for (int64_t i = 0; i < n && i < PERIOD; i++) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(state >> 8) / (1 << 22) - 2;
  }
  for (int64_t i = PERIOD; i < n; i += PERIOD)
    memcpy(data + i, data, (size_t)(n - i < PERIOD ? n - i : PERIOD) * sizeof *data);
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *x = nx_to_device(
      nx_from_data(lab->context, 0, NX_F32, o->shape, o->rank, data, (size_t)n * sizeof *data),
      lab->device);
  free(data);
  if (o->dtype == NX_C64 || o->dtype == NX_C128) {
    if (wide) x = nx_cast(x, NX_F64);
    x = nx_complex(x, nx_neg(x));
  } else if (o->dtype != NX_F32) {
    x = nx_cast(x, o->dtype);
  }
  bench_check(nx_realize(lab->context, &x, 1, NULL));
  x = nx_keep(x);
  nx_scope_end(scope);
  return x;
}

static void run_row(gpu_lab *lab, const shape_row *w) {
  bench_operand o[BENCH_OPERANDS];
  bench_lab lengths = {.largest = lab->shrink > 1 ? 256 : 0}; /* to try the program */
  int n = bench_operands_read(&lengths, w->operands, o);
  gpu_job j = {.lab = lab, .n = (size_t)n};
  bench_row row = {.name = w->name, .threads = 1, .target = 0.85};
  double bytes = 0;
  for (int i = 0; i < n; i++) {
    int64_t count = 1;
    for (int32_t k = 0; k < o[i].rank; k++) count *= o[i].shape[k];
    bytes += (double)count * (double)nxi_dtype_size(o[i].dtype);
    if (count > row.size) row.size = count;
    j.x[i] = operand(&lab->lab, &o[i]);
  }
  row.dtype = nx_dtype_name(o[0].dtype);
  gpu_capture(&j, w->record, o, &row);
  bool reads = w->written < 0.125;
  bench_way ways[1 + GPU_LIMITS] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  gpu_limits limits;
  gpu_add_limits(&limits, lab, bytes * (1 + w->written), reads, ways, &n_ways);
  bench_interleave(ways, n_ways, lab->lab.rounds, 5e-3);
  row.ms = ways[0].median * 1e3;
  gpu_report_limits(&limits, ways, &row);
  bench_print(&lab->lab.out, &row);
  gpu_free_limits(&limits);
  nx_function_release(j.function);
  for (int i = 0; i < n; i++) nx_tensor_release(j.x[i]);
  nx_context_collect(lab->lab.context);
}

void gpu_shapes(gpu_lab *lab) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (bench_wanted(&lab->lab.out, rows[i].name)) run_row(lab, &rows[i]);
}
