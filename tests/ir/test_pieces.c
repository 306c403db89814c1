/* SPDX-License-Identifier: ISC */
/* Elementwise operations that the graph interpreter runs piece by piece give what each of them
 * gives alone: random graphs of operations on several types, views of results, rows that are
 * broadcast, reductions in between, several outputs, against a program of one node for each node,
 * on one thread and on several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph/graph.h"
#include "ir/platform/clock.h"
#include "runtime/threads.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

enum { MOST = 72 * 72, NODES = 24, GRAPHS = 150, LINE = 200 };

/* Of the square arrays. The first is no multiple of a piece; of the second, pieces of one type have
 * as many bytes as wholes of another. */
static const int sides[] = {72, 64};
static int side;

typedef enum type { F32, F64, I32, BF16, BOOL, TYPES } type;
static const char *const names[TYPES] = {"f32", "f64", "i32", "bf16", "bool"};
static const int sizes[TYPES] = {4, 8, 4, 2, 1};

static uint64_t seed;
static uint32_t draw(uint32_t below) {
  seed ^= seed >> 12, seed ^= seed << 25, seed ^= seed >> 27;
  return (uint32_t)(seed * UINT64_C(2685821657736338717) >> 33) % below;
}

/* A value: how it is computed of up to three others, its bytes, and its name in the text. */
typedef struct value {
  type t;
  bool row; /* of `side` elements */
  int n_args, args[3];
  char line[LINE];
  _Alignas(64) char data[MOST * 8];
} value;
static value values[NODES + 2];

static nxg_program *program_of(const char *text) {
  nxg_graph *g = NULL;
  nxg_program *p = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxg_parse(text, strlen(text), &g, &d)) fail_msg("%d: %s\n%s", d.line, d.message, text);
  if (nxg_program_create(g, &p, &d)) fail_msg("%s\n%s", d.message, text);
  nxg_destroy(g);
  return p;
}

static int put_type(char *to, size_t room, const value *v) {
  return snprintf(to, room, v->row ? "%s[%d]" : "%s[%d,%d]", names[v->t], side, side);
}

static void compute_alone(int v) {
  char text[1024];
  int n = snprintf(text, sizeof text, "nxir 2\ngraph @g(");
  void *inputs[3], *output = values[v].data;
  int used = 0;
  for (int i = 0; i < values[v].n_args; i++) {
    int a = values[v].args[i], earlier = 0;
    while (values[v].args[earlier] != a) earlier++;
    if (earlier < i) continue;
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%%v%d: ", used ? ", " : "", a);
    n += put_type(text + n, sizeof text - (size_t)n, &values[a]);
    inputs[used++] = values[a].data;
  }
  snprintf(text + n, sizeof text - (size_t)n, ") -> (%%v%d) {\n%s\n}\n", v, values[v].line);
  nxg_program *p = program_of(text);
  assert_int_equal(nxg_program_run(p, inputs, NULL, NULL, &output, NULL), NX_OK);
  nxg_program_destroy(p);
}

/* An earlier value of that type, -1: there is none. TYPES: of any. */
static int pick(int v, type t, bool row) {
  for (int tries = 0; tries < 40; tries++) {
    int a = v - 1 - (int)draw((uint32_t)(v < 6 || tries > 20 ? v : 6));
    if ((t == TYPES || values[a].t == t) && values[a].row == row) return a;
  }
  return -1;
}

__attribute__((format(printf, 6, 7))) static void set(int v, type t, bool row, int n,
                                                      const int *args, const char *format, ...) {
  va_list list;
  va_start(list, format);
  values[v].t = t;
  values[v].row = row;
  values[v].n_args = n;
  for (int i = 0; i < n; i++) values[v].args[i] = args[i];
  vsnprintf(values[v].line, LINE, format, list);
  va_end(list);
}

static void make_binary(int v) {
  static const char *const ops[] = {"add", "sub", "mul", "max"};
  int a[2] = {pick(v, TYPES, false), 0};
  type t = values[a[0]].t;
  a[1] = pick(v, t, false);
  if (a[1] < 0) a[1] = a[0];
  if (t == BOOL) set(v, BOOL, false, 2, a, "%%v%d = xor %%v%d, %%v%d", v, a[0], a[1]);
  else if (draw(5) == 0) set(v, BOOL, false, 2, a, "%%v%d = cmplt %%v%d, %%v%d", v, a[0], a[1]);
  else set(v, t, false, 2, a, "%%v%d = %s %%v%d, %%v%d", v, ops[draw(4)], a[0], a[1]);
}

static void make_where(int v) {
  int a[3] = {pick(v, BOOL, false), pick(v, TYPES, false), 0};
  if (a[0] < 0) {
    make_binary(v);
    return;
  }
  a[2] = pick(v, values[a[1]].t, false);
  if (a[2] < 0) a[2] = a[1];
  set(v, values[a[1]].t, false, 3, a, "%%v%d = where %%v%d, %%v%d, %%v%d", v, a[0], a[1], a[2]);
}

static void make_other(int v, uint32_t what) {
  int a = pick(v, TYPES, false), row = pick(v, TYPES, true);
  type t = values[a].t;
  if (what == 0) set(v, t, false, 1, &a, "%%v%d = permute %%v%d axes=[1,0]", v, a);
  else if (what == 1) set(v, t, false, 1, &a, "%%v%d = flip %%v%d axes=[1]", v, a);
  else if (what == 2 && t != BOOL)
    set(v, t, true, 1, &a, "%%v%d = reduce_max %%v%d axes=[0]", v, a);
  else if (what == 3 && row >= 0)
    set(v, values[row].t, false, 1, &row, "%%v%d = view %%v%d strides=[0,1] offset=0 : %s[%d,%d]",
        v, row, names[values[row].t], side, side);
  else if (what == 4) {
    type to = (type)draw(BOOL);
    set(v, to, false, 1, &a, "%%v%d = cast %%v%d : %s[%d,%d]", v, a, names[to], side, side);
  } else make_binary(v);
}

static void make_value(int v) {
  uint32_t what = draw(12);
  if (what < 5) make_other(v, what);
  else if (what == 5) make_where(v);
  else make_binary(v);
}

/* ---- on several threads: every step that can be divided is */

static int loops; /* that were divided */

static nx_status run_loop(void *pool, nxg_loop_body *body, void *arg, int64_t n, int64_t grain,
                          int32_t (*poll)(void *user), void *user) {
  loops++;
  return nxi_pool_run_polled(pool, &(nxi_poll){poll, user}, body, arg, n, grain);
}
static nxg_parallel_loop divided = {run_loop, NULL, 1};

static int make_pool(void **state) {
  (void)state;
  nxi_pool *pool = NULL;
  nx_status s = nxi_pool_create(&(nxi_pool_options){.threads = 3}, &pool, NULL);
  divided.pool = pool;
  return s;
}
static int destroy_pool(void **state) {
  (void)state;
  nxi_pool_destroy(divided.pool);
  return 0;
}

static nx_status run(const nxg_program *p, void *const *in, void *const *out, bool divide) {
  return nxg_program_run_polled(p, in, NULL, NULL, out, NULL, NULL, divide ? &divided : NULL, NULL);
}

/* ---- */

/* The whole as one graph, with the outputs of the mask. */
static void compare_whole(int n, uint32_t outputs) {
  static char text[NODES * LINE + 512], got[4][MOST * 8];
  int at = snprintf(text, sizeof text, "nxir 2\ngraph @g(%%v0: f32[%d,%d], %%v1: f64[%d,%d]) -> (",
                    side, side, side, side);
  int wanted[4], n_wanted = 0;
  for (int v = 2; v < n && n_wanted < 4; v++)
    if (outputs >> v & 1) wanted[n_wanted++] = v;
  for (int i = 0; i < n_wanted; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%%v%d", i ? ", " : "", wanted[i]);
  at += snprintf(text + at, sizeof text - (size_t)at, ") {\n");
  for (int v = 2; v < n; v++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s\n", values[v].line);
  snprintf(text + at, sizeof text - (size_t)at, "}\n");
  void *in[2] = {values[0].data, values[1].data}, *out[4] = {got[0], got[1], got[2], got[3]};
  nxg_program *p = program_of(text);
  for (int turn = 0; turn < 4; turn++) {
    memset(got, 0x5a, sizeof got);
    assert_int_equal(run(p, in, out, turn % 2), NX_OK);
    for (int i = 0; i < n_wanted; i++) {
      const value *v = &values[wanted[i]];
      size_t bytes = (size_t)(v->row ? side : side * side) * (size_t)sizes[v->t];
      if (memcmp(got[i], v->data, bytes) != 0) fail_msg("%%v%d differs in\n%s", wanted[i], text);
    }
  }
  nxg_program_destroy(p);
}

static void compare_graphs(void) {
  values[0].t = F32, values[1].t = F64;
  for (int i = 0; i < MOST; i++) {
    float x = (float)draw(2000) / 500 - 2;
    double y = (double)draw(2000) / 250 - 4;
    memcpy(values[0].data + 4 * i, &x, 4);
    memcpy(values[1].data + 8 * i, &y, 8);
  }
  for (int graph = 0; graph < GRAPHS; graph++) {
    if (graph % nxt_kernel_share() != 0) continue;
    int n = 4 + (int)draw(NODES - 2);
    for (int v = 2; v < n; v++) {
      make_value(v);
      compute_alone(v);
    }
    compare_whole(n, 1u << (n - 1) | (draw(2) ? 1u << (2 + draw((uint32_t)n - 2)) : 0));
  }
}

/* Products of a matrix and a vector, in both orders of its elements. */
static void products_are_divided(void **state) {
  enum { CELLS = 150 * 131 };
  static const char *const texts[] = {
      "nxir 2\ngraph @g(%a: f32[1,150], %b: f32[150,131]) -> (%y) {\n%y = matmul %a, %b\n}\n",
      "nxir 2\ngraph @g(%a: f32[150,131], %b: f32[131,1]) -> (%y) {\n%y = matmul %a, %b\n}\n",
      ("nxir 2\ngraph @g(%a: f32[1,131], %b: f32[150,131]) -> (%y) {\n"
       "%t = permute %b axes=[1,0]\n%y = matmul %a, %t\n}\n")};
  static float a[CELLS], b[CELLS], alone[CELLS], together[CELLS];
  (void)state;
  for (int i = 0; i < CELLS; i++) a[i] = (float)draw(99) / 7 - 5, b[i] = (float)draw(99) / 9 - 5;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    nxg_program *p = program_of(texts[i]);
    void *in[2] = {a, b}, *first = alone, *second = together;
    memset(alone, 0, sizeof alone);
    memset(together, 0, sizeof together);
    assert_int_equal(run(p, in, &first, false), NX_OK);
    loops = 0;
    assert_int_equal(run(p, in, &second, true), NX_OK);
    assert_int_not_equal(loops, 0);
    assert_memory_equal(alone, together, sizeof alone);
    nxg_program_destroy(p);
  }
}

static void pieces_have_the_bits_of_wholes(void **state) {
  (void)state;
  seed = 88172645463325252u;
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    side = sides[i];
    compare_graphs();
  }
}

/* A piece of many steps takes long, and is not waited for when the run is to stop. */
static int32_t stop_at_once(void *user) {
  ++*(int *)user;
  return 1;
}

static double run_chain(const nxg_program *p, void *in, void *out, int *polls) {
  nxi_diag d;
  nxi_diag_clear(&d);
  const int64_t began = nxi_now_ns();
  nx_status s = nxg_program_run_polled(p, &in, NULL, NULL, &out, polls ? stop_at_once : NULL, polls,
                                       NULL, &d);
  assert_int_equal(s, polls && *polls ? NX_INTERRUPTED : NX_OK);
  return (double)(nxi_now_ns() - began);
}

static void pieces_stop(void **state) {
  enum { STEPS = 6000, ELEMENTS = 2049 };
  static char text[STEPS * 32 + 256];
  static double in[ELEMENTS], out[ELEMENTS];
  (void)state;
  int at = snprintf(text, sizeof text, "nxir 2\ngraph @g(%%v0: f64[%d]) -> (%%v%d) {\n", ELEMENTS,
                    STEPS);
  for (int i = 1; i <= STEPS; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%%v%d = sin %%v%d\n", i, i - 1);
  snprintf(text + at, sizeof text - (size_t)at, "}\n");
  for (int i = 0; i < ELEMENTS; i++) in[i] = i;
  nxg_program *p = program_of(text);
  bool stopped = false;
  for (int turn = 0; turn < 10 && !stopped; turn++) { /* the machine may be busy with others */
    int polls = 0;
    double whole = run_chain(p, in, out, NULL);
    stopped = run_chain(p, in, out, &polls) < whole / 2;
    if (whole < 25e6) stopped = true; /* it is over before it is to stop */
  }
  assert_true(stopped);
  nxg_program_destroy(p);
}

NXT_MAIN(pieces) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_have_the_bits_of_wholes),
                                     cmocka_unit_test(products_are_divided),
                                     cmocka_unit_test(pieces_stop)};
  return cmocka_run_group_tests(tests, make_pool, destroy_pool);
}
