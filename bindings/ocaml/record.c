/* SPDX-License-Identifier: ISC */
/* Stubs that record operations. They keep the runtime's lock, since recording never waits. The
 * tables are in the order of the constructors of Nx_engine. */
#include "stubs.h"

typedef nx_tensor *unary_function(nx_tensor *);
typedef nx_tensor *binary_function(nx_tensor *, nx_tensor *);
typedef nx_tensor *reduce_function(nx_tensor *, const int32_t *, size_t, uint32_t);

static unary_function *const unaries[] = {
    nx_neg,   nx_recip, nx_abs,   nx_sqrt,  nx_sign, nx_exp,  nx_log,  nx_sin,
    nx_cos,   nx_tan,   nx_asin,  nx_acos,  nx_atan, nx_sinh, nx_cosh, nx_tanh,
    nx_trunc, nx_ceil,  nx_floor, nx_round, nx_erf,  nx_conj, nx_copy, nx_contiguous};

static binary_function *const binaries[] = {
    nx_add, nx_sub, nx_mul, nx_div,   nx_mod,   nx_pow,   nx_atan2, nx_max,      nx_min,
    nx_xor, nx_or,  nx_and, nx_cmpeq, nx_cmpne, nx_cmplt, nx_cmple, nx_threefry, nx_matmul};

static reduce_function *const reductions[] = {nx_reduce_sum, nx_reduce_prod, nx_reduce_max,
                                              nx_reduce_min};

value nx_ocaml_unary(value op, value x) {
  return nx_ocaml_recorded(unaries[Int_val(op)](Tensor_val(x)));
}

value nx_ocaml_binary(value op, value a, value b) {
  return nx_ocaml_recorded(binaries[Int_val(op)](Tensor_val(a), Tensor_val(b)));
}

value nx_ocaml_where(value condition, value a, value b) {
  return nx_ocaml_recorded(nx_where(Tensor_val(condition), Tensor_val(a), Tensor_val(b)));
}

value nx_ocaml_cast(value x, value dtype) {
  return nx_ocaml_recorded(nx_cast(Tensor_val(x), nx_ocaml_dtype(dtype)));
}

/* ---- creation */

value nx_ocaml_empty(value context, value dtype, value shape) {
  int64_t extents[NX_MAX_RANK];
  int32_t rank = nx_ocaml_extents(shape, extents);
  nx_tensor *t = nx_empty(Context_val(context), 0, nx_ocaml_dtype(dtype), extents, rank);
  return nx_ocaml_recorded(t);
}

value nx_ocaml_full(value context, value dtype, value shape, value number) {
  int64_t extents[NX_MAX_RANK];
  int32_t rank = nx_ocaml_extents(shape, extents);
  nx_scalar scalar;
  nx_ocaml_scalar(number, &scalar);
  nx_dtype d = nx_ocaml_dtype(dtype);
  return nx_ocaml_recorded(nx_full(Context_val(context), 0, d, extents, rank, &scalar));
}

value nx_ocaml_placeholder(value context, value dtype, value shape) {
  int64_t extents[NX_MAX_RANK];
  int32_t rank = nx_ocaml_extents(shape, extents);
  nx_tensor *t = nx_placeholder(Context_val(context), 0, nx_ocaml_dtype(dtype), extents, rank);
  return nx_ocaml_view(t);
}

/* ---- reductions, order */

value nx_ocaml_reduce(value op, value x, value axes, value keep) {
  int32_t list[NX_MAX_RANK];
  size_t n = nx_ocaml_axes(axes, list);
  uint32_t flags = Bool_val(keep) ? NX_KEEPDIMS : 0;
  return nx_ocaml_recorded(reductions[Int_val(op)](Tensor_val(x), list, n, flags));
}

value nx_ocaml_argmax(value x, value axis, value keep) {
  uint32_t flags = Bool_val(keep) ? NX_KEEPDIMS : 0;
  return nx_ocaml_recorded(nx_reduce_argmax(Tensor_val(x), nx_ocaml_axis(axis), flags, NX_I32));
}

value nx_ocaml_argmin(value x, value axis, value keep) {
  uint32_t flags = Bool_val(keep) ? NX_KEEPDIMS : 0;
  return nx_ocaml_recorded(nx_reduce_argmin(Tensor_val(x), nx_ocaml_axis(axis), flags, NX_I32));
}

value nx_ocaml_sort(value x, value axis, value descending) {
  uint32_t flags = Bool_val(descending) ? NX_DESCENDING : 0;
  return nx_ocaml_recorded(nx_sort(Tensor_val(x), nx_ocaml_axis(axis), flags));
}

value nx_ocaml_argsort(value x, value axis, value descending) {
  uint32_t flags = Bool_val(descending) ? NX_DESCENDING : 0;
  return nx_ocaml_recorded(nx_argsort(Tensor_val(x), nx_ocaml_axis(axis), flags, NX_I32));
}

value nx_ocaml_scan(value op, value x, value axis) {
  nx_scan_op scan = (nx_scan_op)Int_val(op);
  return nx_ocaml_recorded(nx_associative_scan(Tensor_val(x), scan, nx_ocaml_axis(axis)));
}

/* ---- movement */

value nx_ocaml_as_strided(value x, value shape, value strides, value offset) {
  int64_t extents[NX_MAX_RANK], steps[NX_MAX_RANK];
  int32_t rank = nx_ocaml_extents(shape, extents);
  if (nx_ocaml_extents(strides, steps) != rank)
    caml_invalid_argument("as_strided: shape and strides differ in length");
  return nx_ocaml_view(nx_as_strided(Tensor_val(x), extents, steps, rank, Long_val(offset)));
}

value nx_ocaml_expand(value x, value shape) {
  int64_t extents[NX_MAX_RANK];
  int32_t rank = nx_ocaml_extents(shape, extents);
  return nx_ocaml_view(nx_expand(Tensor_val(x), extents, rank));
}

value nx_ocaml_reshape(value x, value shape) {
  int64_t extents[NX_MAX_RANK];
  int32_t rank = nx_ocaml_extents(shape, extents);
  return nx_ocaml_view(nx_reshape(Tensor_val(x), extents, rank, NX_MAY_COPY));
}

value nx_ocaml_permute(value x, value axes) {
  int32_t list[NX_MAX_RANK];
  size_t n = nx_ocaml_axes(axes, list);
  return nx_ocaml_view(nx_permute(Tensor_val(x), list, n));
}

value nx_ocaml_shrink(value x, value start, value stop) {
  int64_t from[NX_MAX_RANK], to[NX_MAX_RANK];
  int32_t n = nx_ocaml_extents(start, from);
  if (nx_ocaml_extents(stop, to) != n)
    caml_invalid_argument("shrink: start and stop differ in length");
  return nx_ocaml_view(nx_shrink(Tensor_val(x), from, to, (size_t)n));
}

value nx_ocaml_flip(value x, value axes) {
  int32_t list[NX_MAX_RANK];
  size_t n = nx_ocaml_axes(axes, list);
  return nx_ocaml_view(nx_flip(Tensor_val(x), list, n));
}

value nx_ocaml_pad(value x, value before, value after, value number) {
  int64_t front[NX_MAX_RANK], back[NX_MAX_RANK];
  int32_t n = nx_ocaml_extents(before, front);
  if (nx_ocaml_extents(after, back) != n)
    caml_invalid_argument("pad: before and after differ in length");
  nx_scalar scalar;
  nx_ocaml_scalar(number, &scalar);
  return nx_ocaml_recorded(nx_pad(Tensor_val(x), front, back, (size_t)n, &scalar));
}

value nx_ocaml_cat(value tensors, value axis) {
  mlsize_t n = Wosize_val(tensors);
  nx_tensor **list = caml_stat_alloc(n * sizeof *list + 1);
  for (mlsize_t i = 0; i < n; i++) list[i] = Tensor_val(Field(tensors, i));
  nx_tensor *result = nx_cat(list, n, nx_ocaml_axis(axis));
  caml_stat_free(list);
  return nx_ocaml_recorded(result);
}

/* ---- by index, windows */

value nx_ocaml_gather(value data, value indices, value axis) {
  return nx_ocaml_recorded(nx_gather(Tensor_val(data), Tensor_val(indices), nx_ocaml_axis(axis)));
}

/* how: the mode, and 2 if indices are unique. */
value nx_ocaml_scatter(value x, value indices, value updates, value axis, value how) {
  nx_scatter_mode mode = Int_val(how) & 1 ? NX_SCATTER_ADD : NX_SCATTER_SET;
  uint32_t flags = Int_val(how) & 2 ? NX_UNIQUE_INDICES : 0;
  return nx_ocaml_recorded(nx_scatter(Tensor_val(x), Tensor_val(indices), Tensor_val(updates),
                                      nx_ocaml_axis(axis), mode, flags));
}

typedef struct window {
  int64_t lists[5][NX_MAX_RANK];
  nx_window window;
} window;

/* Kernel, stride, dilation, before, after: Nx_engine.window. */
static nx_window *window_of(value lists, window *w) {
  w->window = (nx_window){.size = sizeof w->window};
  for (int i = 0; i < 5; i++) {
    int32_t n = nx_ocaml_extents(Field(lists, i), w->lists[i]);
    if (i > 0 && n != w->window.n) caml_invalid_argument("window: lists differ in length");
    w->window.n = n;
  }
  w->window.kernel = w->lists[0];
  w->window.stride = w->lists[1];
  w->window.dilation = w->lists[2];
  w->window.before = w->lists[3];
  w->window.after = w->lists[4];
  return &w->window;
}

value nx_ocaml_unfold(value x, value lists) {
  window w;
  return nx_ocaml_recorded(nx_unfold(Tensor_val(x), window_of(lists, &w)));
}

value nx_ocaml_fold(value x, value output, value lists) {
  window w;
  int64_t extents[NX_MAX_RANK];
  int32_t n = nx_ocaml_extents(output, extents);
  return nx_ocaml_recorded(nx_fold(Tensor_val(x), extents, (size_t)n, window_of(lists, &w)));
}

/* ---- Fourier transforms */

value nx_ocaml_fft(value x, value axes, value inverse) {
  int32_t list[NX_MAX_RANK];
  size_t n = nx_ocaml_axes(axes, list);
  nx_tensor *t = Tensor_val(x);
  return nx_ocaml_recorded(Bool_val(inverse) ? nx_ifft(t, list, n) : nx_fft(t, list, n));
}

value nx_ocaml_rfft(value x, value axes) {
  int32_t list[NX_MAX_RANK];
  size_t n = nx_ocaml_axes(axes, list);
  return nx_ocaml_recorded(nx_rfft(Tensor_val(x), list, n));
}

value nx_ocaml_irfft(value x, value axes, value sizes) {
  int32_t list[NX_MAX_RANK];
  int64_t extents[NX_MAX_RANK];
  size_t n = nx_ocaml_axes(axes, list), given = (size_t)nx_ocaml_extents(sizes, extents);
  nx_tensor *t = Tensor_val(x);
  return nx_ocaml_recorded(nx_irfft(t, list, n, given ? extents : NULL, given));
}

/* ---- linear algebra: several results are an array */

value nx_ocaml_box_all(nx_tensor *const *results, size_t n) {
  CAMLparam0();
  CAMLlocal2(array, block);
  array = n ? caml_alloc(n, 0) : Atom(0);
  for (size_t i = 0; i < n; i++) Store_field(array, i, Val_unit);
  for (size_t i = 0; i < n; i++) {
    size_t bytes = (size_t)nx_elements(results[i]) * nx_dtype_bits(nx_dtype_of(results[i])) / 8;
    block = nx_ocaml_box(results[i], bytes);
    Store_field(array, i, block);
  }
  CAMLreturn(array);
}

value nx_ocaml_cholesky(value x, value upper) {
  return nx_ocaml_recorded(nx_cholesky(Tensor_val(x), Bool_val(upper) ? NX_UPPER : NX_LOWER));
}

value nx_ocaml_qr(value x, value full) {
  nx_tensor *r[2];
  if (nx_qr(Tensor_val(x), Bool_val(full) ? NX_FULL_MATRICES : 0, &r[0], &r[1])) nx_ocaml_raise();
  return nx_ocaml_box_all(r, 2);
}

value nx_ocaml_svd(value x, value full) {
  nx_tensor *r[3];
  uint32_t flags = Bool_val(full) ? NX_FULL_MATRICES : 0;
  if (nx_svd(Tensor_val(x), flags, &r[0], &r[1], &r[2])) nx_ocaml_raise();
  return nx_ocaml_box_all(r, 3);
}

value nx_ocaml_eig(value x) {
  nx_tensor *r[2];
  if (nx_eig(Tensor_val(x), &r[0], &r[1])) nx_ocaml_raise();
  return nx_ocaml_box_all(r, 2);
}

value nx_ocaml_eigh(value x) {
  nx_tensor *r[2];
  if (nx_eigh(Tensor_val(x), 0, &r[0], &r[1])) nx_ocaml_raise();
  return nx_ocaml_box_all(r, 2);
}

value nx_ocaml_eigvals(value x) { return nx_ocaml_recorded(nx_eigvals(Tensor_val(x))); }

value nx_ocaml_eigvalsh(value x) { return nx_ocaml_recorded(nx_eigvalsh(Tensor_val(x), 0)); }

/* flags: 1 upper, 2 transposed, 4 a diagonal of ones. */
value nx_ocaml_triangular_solve(value a, value b, value flags) {
  int f = Int_val(flags);
  uint32_t own =
      (f & 1 ? NX_UPPER : 0) | (f & 2 ? NX_TRANSPOSED : 0) | (f & 4 ? NX_UNIT_DIAGONAL : 0);
  return nx_ocaml_recorded(nx_triangular_solve(Tensor_val(a), Tensor_val(b), own));
}
