/* SPDX-License-Identifier: ISC */
/* Convolutions next to their definition: a loop over results, one over features and window, and
 * where that reads. Both gradients as convolutions, next to loops over what the forward one reads.
 * */
#include "../conformance.h"

#include <stdio.h>

/* x [batch, features, size..], w [out, in, taps..]; n is 0 to 2. */
typedef struct convolution {
  const char *what;
  int32_t n;
  int64_t batch, in, out;    /* of one group */
  int64_t features, batches; /* groups */
  int64_t size[2], taps[2], stride[2], before[2], after[2], spread[2], dilation[2];
  int32_t reversed[2];
  int32_t x_axes[4], w_axes[4], y_axes[4];
} convolution;
#define NCHW {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}
#define NHWC {0, 3, 1, 2}, {3, 2, 0, 1}, {0, 3, 1, 2}
#define LINE {0, 1, 2}, {0, 1, 2}, {0, 1, 2}
#define ONES {1, 1}
#define NONE {0, 0}
static const convolution cases[] = {
    {"3 x 3", 2, 2, 3, 4, 1, 1, {6, 5}, {3, 3}, ONES, ONES, ONES, ONES, ONES, NONE, NCHW},
    {"features last", 2, 2, 3, 4, 1, 1, {6, 5}, {3, 3}, ONES, ONES, ONES, ONES, ONES, NONE, NHWC},
    {"strides, dilation, uneven zeros, a reversed axis",
     2,
     2,
     2,
     3,
     1,
     1,
     {7, 8},
     {2, 3},
     {2, 3},
     {1, 0},
     {0, 2},
     ONES,
     {3, 2},
     {0, 1},
     {1, 0, 2, 3},
     {2, 3, 1, 0},
     {3, 0, 1, 2}},
    {"dilated images",
     2,
     1,
     2,
     3,
     1,
     1,
     {3, 4},
     {3, 4},
     {1, 2},
     {2, 1},
     {1, 2},
     {2, 3},
     {1, 2},
     {1, 0},
     NCHW},
    {"the same, features last",
     2,
     2,
     2,
     3,
     1,
     1,
     {3, 4},
     {3, 2},
     {1, 3},
     {2, 1},
     {1, 2},
     {3, 2},
     {2, 1},
     NONE,
     NHWC},
    {"zeros cut off",
     2,
     1,
     2,
     3,
     1,
     1,
     {5, 6},
     {2, 2},
     ONES,
     {-1, -2},
     {2, -1},
     {2, 1},
     ONES,
     NONE,
     NCHW},
    {"groups", 2, 2, 2, 3, 2, 1, {5, 4}, {2, 3}, {1, 2}, ONES, ONES, {1, 1}, {2, 1}, NONE, NCHW},
    {"groups, features last",
     2,
     2,
     2,
     2,
     3,
     1,
     {4, 4},
     {3, 2},
     ONES,
     ONES,
     NONE,
     {2, 1},
     ONES,
     NONE,
     NHWC},
    {"depthwise", 2, 2, 1, 1, 5, 1, {5, 4}, {3, 3}, {2, 1}, ONES, ONES, ONES, ONES, NONE, NCHW},
    {"depthwise, features last",
     2,
     2,
     1,
     1,
     5,
     1,
     {5, 4},
     {3, 3},
     ONES,
     ONES,
     ONES,
     ONES,
     ONES,
     {1, 1},
     NHWC},
    {"groups of the batch",
     2,
     2,
     2,
     3,
     1,
     2,
     {5, 4},
     {2, 3},
     ONES,
     ONES,
     NONE,
     ONES,
     ONES,
     NONE,
     NCHW},
    {"long windows of one feature, as of gradients",
     2,
     1,
     4,
     1,
     1,
     3,
     {16, 17},
     {16, 17},
     ONES,
     ONES,
     ONES,
     ONES,
     ONES,
     NONE,
     {1, 0, 2, 3},
     {1, 0, 2, 3},
     {1, 0, 2, 3}},
    {"the same, features last",
     2,
     1,
     4,
     1,
     1,
     3,
     {16, 17},
     {16, 17},
     ONES,
     ONES,
     ONES,
     ONES,
     ONES,
     NONE,
     {3, 0, 1, 2},
     {3, 0, 1, 2},
     {2, 3, 0, 1}},
    {"the same, one axis",
     1,
     1,
     35,
     1,
     1,
     2,
     {31, 0},
     {30, 0},
     ONES,
     NONE,
     {1, 0},
     ONES,
     ONES,
     NONE,
     {2, 0, 1},
     {2, 0, 1},
     {1, 0, 2}},
    {"1 x 1", 2, 2, 5, 4, 1, 1, {3, 4}, ONES, ONES, NONE, NONE, ONES, ONES, NONE, NHWC},
    {"one axis", 1, 3, 2, 3, 1, 1, {9, 0}, {4, 0}, {2, 0}, {3, 0}, {1, 0}, ONES, ONES, NONE, LINE},
    {"no axis",
     0,
     3,
     4,
     2,
     2,
     1,
     NONE,
     NONE,
     ONES,
     NONE,
     NONE,
     ONES,
     ONES,
     NONE,
     {0, 1},
     {1, 0},
     {1, 0}},
    {"a window larger than the image",
     1,
     2,
     2,
     3,
     1,
     1,
     {3, 0},
     {5, 0},
     ONES,
     {1, 0},
     NONE,
     ONES,
     ONES,
     NONE,
     LINE},
    {"no features", 1, 2, 0, 3, 1, 1, {3, 0}, {2, 0}, ONES, NONE, NONE, ONES, ONES, NONE, LINE},
    {"no images", 1, 0, 2, 3, 1, 1, {3, 0}, {2, 0}, ONES, NONE, NONE, ONES, ONES, NONE, LINE},
    {"images without elements",
     1,
     2,
     2,
     3,
     1,
     1,
     {0, 0},
     {2, 0},
     ONES,
     ONES,
     ONES,
     {3, 1},
     ONES,
     NONE,
     LINE},
    {"windows without elements",
     1,
     2,
     2,
     3,
     1,
     1,
     {3, 0},
     {0, 0},
     ONES,
     ONES,
     ONES,
     ONES,
     ONES,
     NONE,
     LINE},
};
enum { CASES = sizeof cases / sizeof *cases };

static nx_convolution_options options_of(const convolution *c) {
  return (nx_convolution_options){.size = sizeof(nx_convolution_options),
                                  .n = c->n,
                                  .stride = c->stride,
                                  .before = c->before,
                                  .after = c->after,
                                  .x_dilation = c->spread,
                                  .w_dilation = c->dilation,
                                  .reversed = c->reversed,
                                  .feature_groups = c->features,
                                  .batch_groups = c->batches,
                                  .x_axes = c->x_axes,
                                  .w_axes = c->w_axes,
                                  .y_axes = c->y_axes};
}

static int64_t windows_of(const convolution *c, int axis) {
  int64_t length = (c->size[axis] > 0 ? (c->size[axis] - 1) * c->spread[axis] + 1 : 0) +
                   c->before[axis] + c->after[axis],
          reach = (c->taps[axis] - 1) * c->dilation[axis];
  return c->taps[axis] > 0 && length > reach ? (length - reach - 1) / c->stride[axis] + 1 : 0;
}

/* A shape given as batch, features and spatial axes, in the order of its axes. */
static array *array_of(trial *t, const convolution *c, nx_dtype dtype, const int32_t *axes,
                       int64_t first, int64_t second, const int64_t *spatial, unsigned seed) {
  int64_t shape[4];
  shape[axes[0]] = first;
  shape[axes[1]] = second;
  for (int i = 0; i < c->n; i++) shape[axes[2 + i]] = spatial[i];
  return seed ? tame_values(t, dtype, c->n + 2, shape, seed) : new_array(t, dtype, c->n + 2, shape);
}

static size_t place(const array *a, const int32_t *axes, int64_t first, int64_t second,
                    const int64_t *spatial) {
  int64_t index[4];
  index[axes[0]] = first;
  index[axes[1]] = second;
  for (int i = 2; i < a->rank; i++) index[axes[i]] = spatial[i - 2];
  return ravel(a->rank, a->shape, index);
}

/* What element k of window p reads; false: a zero. */
static bool reads(const convolution *c, const int64_t *p, const int64_t *k, int64_t *at) {
  for (int i = 0; i < c->n; i++) {
    int64_t far = c->reversed[i] ? c->taps[i] - 1 - k[i] : k[i];
    at[i] = p[i] * c->stride[i] + far * c->dilation[i] - c->before[i];
    if (at[i] < 0 || at[i] % c->spread[i] || at[i] / c->spread[i] >= c->size[i]) return false;
    at[i] /= c->spread[i];
  }
  return true;
}

/* One product of the definition: elements of x, w and y. */
typedef struct term {
  size_t x, w, y;
} term;
typedef struct setting {
  array *x, *w, *y;
  term *terms;
  size_t n;
} setting;

static void add_terms(const convolution *c, setting *s, int64_t n, int64_t o, const int64_t *p) {
  int64_t group = o / c->out, taps = 1, k[2], at[2];
  for (int i = 0; i < c->n; i++) taps *= c->taps[i];
  for (int64_t i = 0; i < c->in * taps; i++) {
    int64_t feature = i / taps, rest = i % taps, image = c->batches > 1 ? group * c->batch + n : n,
            from = c->batches > 1 ? feature : group * c->in + feature;
    for (int axis = c->n; axis-- > 0; rest /= c->taps[axis]) k[axis] = rest % c->taps[axis];
    if (!reads(c, p, k, at)) continue;
    s->terms[s->n++] =
        (term){place(s->x, c->x_axes, image, from, at), place(s->w, c->w_axes, o, feature, k),
               place(s->y, c->y_axes, n, o, p)};
  }
}

static setting set_up(trial *t, const convolution *c) {
  int64_t counts[2] = {0}, p[2], groups = c->features * c->batches, all = 1;
  for (int i = 0; i < c->n; i++) all *= counts[i] = windows_of(c, i);
  setting s = {0};
  s.x = array_of(t, c, t->dtype, c->x_axes, c->batch * c->batches, c->in * c->features, c->size, 1);
  s.w = array_of(t, c, t->dtype, c->w_axes, c->out * groups, c->in, c->taps, 2);
  s.y = array_of(t, c, t->dtype, c->y_axes, c->batch, c->out * groups, counts, 0);
  s.terms = room(t, (s.y->n * (s.w->n + 1) + 1) * sizeof *s.terms);
  for (int64_t i = 0; i < c->batch * c->out * groups * all; i++) {
    int64_t rest = i % all;
    for (int axis = c->n; axis-- > 0; rest /= counts[axis]) p[axis] = rest % counts[axis];
    add_terms(c, &s, i / all / (c->out * groups), i / all % (c->out * groups), p);
  }
  return s;
}

/* Sums, for each element of `to`, the products of its terms' other two. */
static void sum_terms(trial *t, const setting *s, array *to, const array *a, const array *b) {
  value *sums = room(t, (to->n + 1) * sizeof *sums);
  for (size_t i = 0; i < s->n; i++) {
    const term *e = &s->terms[i];
    size_t at[3] = {e->x, e->w, e->y};
    const array *all[3] = {s->x, s->w, s->y};
    value v[2] = {{0, 0}, {0, 0}}, *sum = NULL;
    for (int k = 0; k < 3; k++) {
      if (all[k]->n == to->n && to->at == all[k]->at) sum = &sums[at[k]];
      if (all[k] == a) v[0] = decode(t->dtype, a->at[at[k]]);
      if (all[k] == b) v[1] = decode(t->dtype, b->at[at[k]]);
    }
    if (sum) *sum = sum_of(t->dtype, *sum, product_of(t->dtype, v[0], v[1]));
  }
  for (size_t i = 0; i < to->n; i++) to->at[i] = encode(t->dtype, sums[i]);
}

static void check_case(trial *t, const convolution *c, layout l) {
  char what[120];
  setting s = set_up(t, c);
  nx_convolution_options o = options_of(c);
  nx_tensor *x = l == CONTIGUOUS ? tensor_of(t, s.x) : laid_out(t, s.x, l),
            *w = l == CONTIGUOUS ? tensor_of(t, s.w) : laid_out(t, s.w, (l + 1) % LAYOUTS);
  sum_terms(t, &s, s.y, s.x, s.w);
  snprintf(what, sizeof what, "%s, %s", c->what, layout_names[l]);
  expect(t, nx_convolution(x, w, &o), s.y, SAME, what);
}

/* ---- gradients, of a convolution with strides, dilation and groups: windows that do not reach the
 * end of x leave some of it out, which is cut off or filled up */

static const convolution forward = {"forward", 2,      2,      2,      3,    2,      1,    {8, 9},
                                    {3, 2},    {2, 3}, {1, 2}, {2, 0}, ONES, {1, 2}, NONE, NCHW};

static int64_t left_over(const convolution *c, int i) {
  return (c->size[i] + c->before[i] + c->after[i] - (c->taps[i] - 1) * c->dilation[i] - 1) %
         c->stride[i];
}

/* Of x: the upstream gradient, dilated, by the weights turned around, with in and out features in
 * each other's place within every group. */
static void check_gradient_of_x(trial *t) {
  const convolution *c = &forward;
  setting s = set_up(t, c);
  int64_t before[2], after[2];
  for (int i = 0; i < 2; i++) {
    int64_t reach = (c->taps[i] - 1) * c->dilation[i];
    before[i] = reach - c->before[i];
    after[i] = reach - c->after[i] + left_over(c, i);
  }
  array *y = tame_values(t, t->dtype, 4, s.y->shape, 3);
  *s.y = *y;
  nx_convolution_options o = {.size = sizeof o,
                              .n = 2,
                              .before = before,
                              .after = after,
                              .x_dilation = c->stride,
                              .w_dilation = c->dilation,
                              .reversed = (const int32_t[]){1, 1},
                              .feature_groups = 2};
  nx_tensor *w = nx_reshape(tensor_of(t, s.w), NX_SHAPE(2, 3, 2, 3, 2), 0);
  w = nx_reshape(nx_permute(w, NX_AXES(0, 2, 1, 3, 4)), NX_SHAPE(4, 3, 3, 2), NX_MAY_COPY);
  nx_tensor *given = tensor_of(t, s.y);
  sum_terms(t, &s, s.x, s.y, s.w);
  expect(t, nx_convolution(given, w, &o), s.x, SAME, "the gradient of x");
}

/* Of w: x by the upstream gradient, batch and features in each other's place. */
static void check_gradient_of_w(trial *t) {
  const convolution *c = &forward;
  setting s = set_up(t, c);
  int64_t after[2];
  for (int i = 0; i < 2; i++) after[i] = c->after[i] - left_over(c, i);
  array *y = tame_values(t, t->dtype, 4, s.y->shape, 3);
  *s.y = *y;
  nx_convolution_options o = {.size = sizeof o,
                              .n = 2,
                              .stride = c->dilation,
                              .before = c->before,
                              .after = after,
                              .w_dilation = c->stride,
                              .batch_groups = 2,
                              .x_axes = (const int32_t[]){1, 0, 2, 3},
                              .w_axes = (const int32_t[]){1, 0, 2, 3},
                              .y_axes = (const int32_t[]){1, 0, 2, 3}};
  nx_tensor *x = tensor_of(t, s.x), *given = tensor_of(t, s.y);
  sum_terms(t, &s, s.w, s.x, s.y);
  expect(t, nx_convolution(x, given, &o), s.w, SAME, "the gradient of w");
}

/* ---- rows */

static void check_refusals(trial *t) {
  nx_convolution_options good = options_of(&cases[0]), o = good;
  setting s = set_up(t, &cases[0]);
  nx_tensor *x = tensor_of(t, s.x), *w = tensor_of(t, s.w), *other = nx_cast(w, NX_F8E8M0);
  const int64_t zero[] = {1, 0};
  const int32_t twice[] = {0, 1, 2, 2};
  expect_refusal(t, nx_convolution(x, w, NULL), NX_INVALID_ARGUMENT, "no options");
  expect_refusal(t, nx_convolution(NULL, w, &o), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, nx_convolution(x, other, &o), NX_UNSUPPORTED_DTYPE,
                 "weights that are only stored");
  o.n = 1;
  expect_refusal(t, nx_convolution(x, w, &o), NX_INVALID_ARGUMENT, "another rank");
  o = good, o.stride = zero;
  expect_refusal(t, nx_convolution(x, w, &o), NX_INVALID_ARGUMENT, "a stride of 0");
  o = good, o.x_axes = twice;
  expect_refusal(t, nx_convolution(x, w, &o), NX_INVALID_ARGUMENT, "an axis twice");
  o = good, o.feature_groups = 2;
  expect_refusal(t, nx_convolution(x, w, &o), NX_INVALID_ARGUMENT, "groups that do not divide");
  o = good, o.feature_groups = o.batch_groups = 2;
  expect_refusal(t, nx_convolution(x, w, &o), NX_INVALID_ARGUMENT, "groups of both kinds");
  o = good, o.dtype = NX_F8E8M0;
  expect_refusal(t, nx_convolution(x, w, &o), NX_UNSUPPORTED_DTYPE, "in f8e8m0");
  nx_tensor_release(other);
}

static void check_convolution(trial *t) {
  for (size_t i = 0; i < CASES; i++)
    if (is_due(t, i % 4, 4)) check_case(t, &cases[i], CONTIGUOUS);
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) check_case(t, &cases[l % 2 ? 2 : 6], l);
  if (is_due(t, 0, 2)) check_gradient_of_x(t);
  if (is_due(t, 1, 2)) check_gradient_of_w(t);
  check_refusals(t);
}
static nx_tensor *record_convolution(trial *t, nx_dtype dtype) {
  nx_convolution_options o = {.size = sizeof o, .n = 1};
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 3, (const int64_t[]){2, 2, 5}, 1)),
            *w = tensor_of(t, tame_values(t, dtype, 3, (const int64_t[]){3, 2, 2}, 2));
  return nx_convolution(x, w, &o);
}

/* ---- pad_between */

static const struct padding {
  const char *what;
  int64_t before[2], after[2], between[2];
} paddings[] = {{"all positive", {1, 2}, {3, 0}, {2, 1}},
                {"negative ends", {-2, 1}, {1, -3}, {1, 2}},
                {"everything cut off, and more added", {-9, 0}, {12, 0}, {0, 3}},
                {"nothing", {0, 0}, {0, 0}, {0, 0}}};
static const int64_t flat[] = {3, 4};

static void check_padding(trial *t, const struct padding *p, layout l) {
  int64_t shape[2], index[2], from[2];
  for (int i = 0; i < 2; i++)
    shape[i] = flat[i] + (flat[i] - 1) * p->between[i] + p->before[i] + p->after[i];
  array *a = some_values(t, t->dtype, 2, flat, 1), *want = new_array(t, t->dtype, 2, shape);
  nx_tensor *x = laid_out(t, a, l);
  for (size_t i = 0; i < want->n; i++) {
    bool own = true;
    unravel(i, 2, shape, index);
    for (int k = 0; k < 2; k++) {
      int64_t at = index[k] - p->before[k], step = p->between[k] + 1;
      own = own && at >= 0 && at % step == 0 && at / step < flat[k];
      from[k] = at / step;
    }
    want->at[i] = own ? a->at[ravel(2, flat, from)] : encode_real(t->dtype, 1);
  }
  expect(t, nx_pad_between(x, p->before, p->after, p->between, 2, NX_INTEGER(1)), want, SAME_BITS,
         p->what);
}

static void check_pad_between(trial *t) {
  enum { PADDINGS = sizeof paddings / sizeof *paddings };
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) check_padding(t, &paddings[l % PADDINGS], l);
  for (size_t i = 0; i < PADDINGS; i++) check_padding(t, &paddings[i], CONTIGUOUS);
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, flat, 1));
  const int64_t none[] = {0, 0}, much[] = {0, -5}, below[] = {0, -1};
  expect_refusal(t, nx_pad_between(x, none, much, none, 2, NX_INTEGER(1)), NX_INVALID_ARGUMENT,
                 "more cut off than there is");
  expect_refusal(t, nx_pad_between(x, none, none, below, 2, NX_INTEGER(1)), NX_INVALID_ARGUMENT,
                 "-1 between");
  expect_refusal(t, nx_pad_between(x, none, none, none, 1, NX_INTEGER(1)), NX_INVALID_ARGUMENT,
                 "lists that are too short");
  expect_refusal(t, nx_pad_between(NULL, none, none, none, 2, NX_INTEGER(1)), NX_INVALID_ARGUMENT,
                 "a null operand");
}
static nx_tensor *record_pad_between(trial *t, nx_dtype dtype) {
  const int64_t one[] = {1, 1};
  return nx_pad_between(tensor_of(t, tame_values(t, dtype, 2, flat, 1)), one, one, one, 2,
                        NX_INTEGER(0));
}

static const operation convolution_table[] = {
    {"convolution", B | I | F | C, check_convolution, record_convolution, NULL, 0, NULL},
    {"pad_between", ALL, check_pad_between, record_pad_between, NULL, 0, NULL},
};
const family convolution_family = {"Convolutions", convolution_table,
                                   sizeof convolution_table / sizeof *convolution_table};
