/* SPDX-License-Identifier: ISC */
/* Functions of the interface whose options are structures, which calls.c does not know:
 * convolutions and windows. */
#include "core.h"

enum { WINDOW_LISTS = 10 };

/* Lists of one call, each for the spatial axes; they are freed together. */
typedef struct lists {
  core_list of[WINDOW_LISTS];
  int n;
} lists;

static void free_lists(lists *l) {
  for (int i = 0; i < l->n; i++) core_list_free(&l->of[i]);
}

/* Takes a list of n entries, or any length for n < 0; None is NULL. */
static int take(lists *l, PyObject *o, int bits, Py_ssize_t n, const void **out) {
  core_list *to = &l->of[l->n];
  *out = NULL;
  if (core_take_list(o, bits, true, false, to) < 0) return -1;
  l->n++;
  *out = to->items;
  if (n < 0 || o == Py_None || to->n == (size_t)n) return 0;
  PyErr_Format(PyExc_ValueError, "nx: a list of %zu entries, where there are %zd axes", to->n, n);
  return -1;
}

/* convolution(x, w, stride, before, after, x_dilation, w_dilation, reversed, feature_groups,
 *             batch_groups, x_axes, w_axes, y_axes): nx_convolution; lists may be None. */
static PyObject *convolution(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *w, *o[6], *axes[3];
  long long groups, batches;
  lists l = {.n = 0};
  nx_convolution_options options = {.size = sizeof options};
  if (!PyArg_ParseTuple(args, "OOOOOOOOLLOOO", &x, &w, &o[0], &o[1], &o[2], &o[3], &o[4], &o[5],
                        &groups, &batches, &axes[0], &axes[1], &axes[2]))
    return NULL;
  nx_tensor *xt, *wt;
  if (core_context() == NULL || core_take_tensor(x, false, &xt) < 0 ||
      core_take_tensor(w, false, &wt) < 0)
    return NULL;
  Py_ssize_t n = nx_rank(xt) - 2;
  options.n = (int32_t)n;
  options.feature_groups = groups;
  options.batch_groups = batches;
  const void *to[9] = {NULL};
  int status = 0;
  for (int i = 0; i < 9 && status == 0; i++)
    status = take(&l, i < 6 ? o[i] : axes[i - 6], i < 5 ? 64 : 32, i < 6 ? n : n + 2, &to[i]);
  options.stride = to[0];
  options.before = to[1];
  options.after = to[2];
  options.x_dilation = to[3];
  options.w_dilation = to[4];
  options.reversed = to[5];
  options.x_axes = to[6];
  options.w_axes = to[7];
  options.y_axes = to[8];
  core_mark();
  PyObject *made = status < 0 ? NULL : core_wrap(nx_convolution(xt, wt, &options));
  free_lists(&l);
  return made;
}

/* The lists of a window, of one length. */
static int take_window(lists *l, PyObject *const *o, nx_window *w) {
  const void *to[5] = {NULL};
  Py_ssize_t n = PySequence_Size(o[0]);
  if (n < 0) return -1;
  for (int i = 0; i < 5; i++)
    if (take(l, o[i], 64, n, &to[i]) < 0) return -1;
  *w = (nx_window){sizeof *w, (int32_t)n, to[0], to[1], to[2], to[3], to[4]};
  return 0;
}

/* unfold(x, kernel, stride, dilation, before, after): nx_unfold. */
static PyObject *unfold(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *o[5];
  if (!PyArg_ParseTuple(args, "OOOOOO", &x, &o[0], &o[1], &o[2], &o[3], &o[4])) return NULL;
  nx_tensor *xt;
  nx_window w;
  lists l = {.n = 0};
  if (core_context() == NULL || core_take_tensor(x, false, &xt) < 0) return NULL;
  core_mark();
  PyObject *made = take_window(&l, o, &w) < 0 ? NULL : core_wrap(nx_unfold(xt, &w));
  free_lists(&l);
  return made;
}

/* fold(x, output, kernel, stride, dilation, before, after): nx_fold. */
static PyObject *fold(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *x, *output, *o[5];
  if (!PyArg_ParseTuple(args, "OOOOOOO", &x, &output, &o[0], &o[1], &o[2], &o[3], &o[4]))
    return NULL;
  nx_tensor *xt;
  nx_window w;
  const void *extents;
  lists l = {.n = 0};
  PyObject *made = NULL;
  if (core_context() == NULL || core_take_tensor(x, false, &xt) < 0) return NULL;
  core_mark();
  if (take_window(&l, o, &w) == 0 && take(&l, output, 64, w.n, &extents) == 0)
    made = core_wrap(nx_fold(xt, extents, (size_t)w.n, &w));
  free_lists(&l);
  return made;
}

static PyMethodDef functions[] = {{"convolution", convolution, METH_VARARGS, "nx_convolution of C"},
                                  {"unfold", unfold, METH_VARARGS, "nx_unfold of C"},
                                  {"fold", fold, METH_VARARGS, "nx_fold of C"},
                                  {NULL, NULL, 0, NULL}};

int core_windows_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
