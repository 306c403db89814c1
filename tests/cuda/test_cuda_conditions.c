/* SPDX-License-Identifier: ISC */
/* Loops and branches as conditional nodes of CUDA graphs, on the fake driver, which carries out
 * such nodes and checks their rules: the bits and the errors of a run by the host, loops that are
 * left so that the host can poll, calls of the driver that fail. With a number in NXT_VERSION: as a
 * driver of that version has it; before 12.4 it has none. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "tests/util/runner.h"

enum { MOST_IN = 4, MOST_OUT = 3, MOST_BYTES = 1 << 17, CALLS = 3 };

/* An input: first, first + step, .. in C order. */
typedef struct given {
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[2];
  double first, step;
} given;

typedef struct program {
  const char *name, *text;
  given in[MOST_IN];
  size_t n_in, n_out;
  const char *fails; /* what the failure says; NULL: there is none */
} program;

#define MORE                                        \
  "graph @more(%i: i32[], %x: f32[24]) -> (%p) {\n" \
  "  %n = full 101 : i32[]\n  %p = cmplt %i, %n\n}\n"
#define TURN                                                                 \
  "graph @turn(%i: i32[], %x: f32[24]) -> (%j, %y) {\n"                      \
  "  %one = full 1 : i32[]\n  %j = add %i, %one\n"                           \
  "  %h = full 0.75 : f32[24]\n  %f = flip %x axes=[0]\n  %a = mul %f, %h\n" \
  "  %s = scan_sum %a axis=0\n  %m = reduce_max %s axes=[0] keepdims\n"      \
  "  %y = sub %s, %m\n}\n"
#define ROLL                                                                      \
  "graph @roll(%k: i64[], %x: f32[24], %w: f32[24]) -> (%y, %v) {\n"              \
  "  %f = flip %x axes=[0]\n  %y = add %f, %w\n"                                  \
  "  %t = cast %k : f32[]\n  %e = expand %t : f32[24]\n  %g = flip %w axes=[0]\n" \
  "  %v = mul %g, %e\n}\n"
#define PICK                                                              \
  "graph @pick(%k: i64[], %x: f32[24], %at: i64[4,1]) -> (%y) {\n"        \
  "  %e = expand %k : i64[4,1]\n  %i = add %at, %e\n"                     \
  "  %d = reshape %x : f32[24,1]\n"                                       \
  "  %g = gather %d, %i axis=0 axes=[1] : f32[4,1]\n"                     \
  "  %s = reduce_sum %g axes=[0,1] : f32[]\n  %z = expand %s : f32[24]\n" \
  "  %f = flip %x axes=[0]\n  %y = sub %f, %z\n}\n"
#define COLLATZ                                                                \
  "graph @halve(%n: i64[]) -> (%m) {\n  %two = full 2 : i64[]\n"               \
  "  %m = div %n, %two\n}\n"                                                   \
  "graph @triple(%n: i64[]) -> (%m) {\n  %three = full 3 : i64[]\n"            \
  "  %one = full 1 : i64[]\n  %t = mul %n, %three\n  %m = add %t, %one\n}\n"   \
  "graph @more(%n: i64[], %k: i32[]) -> (%p) {\n  %one = full 1 : i64[]\n"     \
  "  %p = cmpne %n, %one\n}\n"                                                 \
  "graph @step(%n: i64[], %k: i32[]) -> (%m, %j) {\n  %one = full 1 : i64[]\n" \
  "  %odd = and %n, %one\n  %m = case %odd, %n branches=[@halve, @triple]\n"   \
  "  %next = full 1 : i32[]\n  %j = add %k, %next\n}\n"
#define LENGTHS(limit)                                               \
  "graph @length(%sum: i32[], %n: i64[]) -> (%total, %k) {\n"        \
  "  %zero = full 0 : i32[]\n"                                       \
  "  %k = while %n, %zero cond=@more body=@step" limit " result=1\n" \
  "  %total = add %sum, %k\n}\n"                                     \
  "graph @f(%n: i64[5]) -> (%t, %ks) {\n  %zero = full 0 : i32[]\n"  \
  "  %t = scan %zero, %n count=5 carried=1 stacked=1 body=@length\n" \
  "  %ks = scan %zero, %n count=5 carried=1 stacked=1 body=@length result=1\n}\n"

static const program programs[] = {
    {"while",
     "nxir 2\n" MORE TURN "graph @f(%i: i32[], %x: f32[24]) -> (%k, %z) {\n"
     "  %k = while %i, %x cond=@more body=@turn\n"
     "  %z = while %i, %x cond=@more body=@turn result=1\n}\n",
     {{NX_I32, 0, {0}, 7, 0}, {NX_F32, 1, {24}, -1, 0.25}},
     2,
     2,
     NULL},
    {"while, an even number",
     "nxir 2\n" MORE TURN "graph @f(%i: i32[], %x: f32[24]) -> (%k, %z) {\n"
     "  %k = while %i, %x cond=@more body=@turn\n"
     "  %z = while %i, %x cond=@more body=@turn result=1\n}\n",
     {{NX_I32, 0, {0}, 97, 0}, {NX_F32, 1, {24}, -1, 0.25}},
     2,
     2,
     NULL},
    {"while, no step",
     "nxir 2\n" MORE TURN "graph @f(%i: i32[], %x: f32[24]) -> (%k, %z) {\n"
     "  %k = while %i, %x cond=@more body=@turn\n"
     "  %z = while %i, %x cond=@more body=@turn result=1\n}\n",
     {{NX_I32, 0, {0}, 101, 0}, {NX_F32, 1, {24}, -1, 0.25}},
     2,
     2,
     NULL},
    {"for, odd",
     "nxir 2\n" ROLL "graph @f(%x: f32[24], %w: f32[24]) -> (%y, %v) {\n"
     "  %y = for %x, %w count=17 carried=1 body=@roll\n"
     "  %v = for %x, %w count=17 carried=1 body=@roll result=1\n}\n",
     {{NX_F32, 1, {24}, 1, 0.5}, {NX_F32, 1, {24}, -3, 0.125}},
     2,
     2,
     NULL},
    {"for, even",
     "nxir 2\n" ROLL "graph @f(%x: f32[24], %w: f32[24]) -> (%y, %v) {\n"
     "  %y = for %x, %w count=18 carried=1 body=@roll\n"
     "  %v = for %x, %w count=18 carried=1 body=@roll result=1\n}\n",
     {{NX_F32, 1, {24}, 1, 0.5}, {NX_F32, 1, {24}, -3, 0.125}},
     2,
     2,
     NULL},
    {"for, counted by a tensor",
     "nxir 2\n"
     "graph @roll(%k: i64[], %x: f32[24], %w: f32[24]) -> (%y) {\n"
     "  %f = flip %x axes=[0]\n  %s = scan_sum %f axis=0\n  %m = mul %w, %s\n"
     "  %t = cast %k : f32[]\n  %e = expand %t : f32[24]\n  %y = add %m, %e\n}\n"
     "graph @f(%n: i32[], %x: f32[24], %w: f32[24]) -> (%y) {\n"
     "  %y = for %n, %x, %w carried=1 body=@roll\n}\n",
     {{NX_I32, 0, {0}, 85, 0}, {NX_F32, 1, {24}, 1, 0.5}, {NX_F32, 1, {24}, -0.5, 0.0125}},
     3,
     1,
     NULL},
    {"scan",
     "nxir 2\n"
     "graph @row(%c: f32[3], %x: f32[3], %y: f32[16]) -> (%d, %o, %u) {\n"
     "  %f = flip %c axes=[0]\n  %d = add %f, %x\n"
     "  %s = scan_sum %y axis=0\n  %u = neg %s\n  %g = flip %d axes=[0]\n"
     "  %o = mul %g, %x\n}\n"
     "graph @f(%c: f32[3], %x: f32[21,3], %y: f32[21,16]) -> (%d, %o, %u) {\n"
     "  %d = scan %c, %x, %y count=21 carried=1 stacked=2 reverse=1 body=@row\n"
     "  %o = scan %c, %x, %y count=21 carried=1 stacked=2 reverse=1 body=@row result=1\n"
     "  %u = scan %c, %x, %y count=21 carried=1 stacked=2 reverse=1 body=@row result=2\n"
     "}\n",
     {{NX_F32, 1, {3}, 1, 1}, {NX_F32, 2, {21, 3}, -2, 0.5}, {NX_F32, 2, {21, 16}, 0, 0.25}},
     3,
     3,
     NULL},
    {"nested", "nxir 2\n" COLLATZ LENGTHS(" limit=1000"), {{NX_I64, 1, {5}, 20, 1}}, 1, 2, NULL},
    {"nested, few steps",
     "nxir 2\n" COLLATZ LENGTHS(" limit=90"),
     {{NX_I64, 1, {5}, 20, 1}},
     1,
     2,
     NULL},
    {"nested, no limit", "nxir 2\n" COLLATZ LENGTHS(""), {{NX_I64, 1, {5}, 20, 1}}, 1, 2, NULL},
    {"a limit",
     "nxir 2\n" MORE TURN "graph @f(%i: i32[], %x: f32[24]) -> (%z) {\n"
     "  %z = while %i, %x cond=@more body=@turn limit=90 result=1\n}\n",
     {{NX_I32, 0, {0}, 7, 0}, {NX_F32, 1, {24}, -1, 0.25}},
     2,
     1,
     "while: it has not ended after 90 steps, the limit"},
    {"a limit inside",
     "nxir 2\n" COLLATZ LENGTHS(" limit=20"),
     {{NX_I64, 1, {5}, 24, 1}},
     1,
     2,
     "scan: step 1: while: it has not ended after 20 steps, the limit"},
    {"indices",
     "nxir 2\n" PICK "graph @f(%x: f32[24], %i: i64[4,1]) -> (%y) {\n"
     "  %y = for %x, %i count=18 carried=1 body=@pick\n}\n",
     {{NX_F32, 1, {24}, 1, 0.5}, {NX_I64, 2, {4, 1}, 0, 2}},
     2,
     1,
     NULL},
    {"a bad index",
     "nxir 2\n" PICK "graph @f(%x: f32[24], %i: i64[4,1]) -> (%y) {\n"
     "  %y = for %x, %i count=70 carried=1 body=@pick\n}\n",
     {{NX_F32, 1, {24}, 1, 0.5}, {NX_I64, 2, {4, 1}, 0, 2}},
     2,
     1,
     "for: step 18: gather"},
    {"a bad index inside",
     "nxir 2\n" PICK "graph @outer(%k: i64[], %x: f32[24], %i: i64[4,1]) -> (%y) {\n"
     "  %e = expand %k : i64[4,1]\n  %j = add %i, %e\n"
     "  %z = for %x, %j count=17 carried=1 body=@pick\n  %y = flip %z axes=[0]\n}\n"
     "graph @f(%x: f32[24], %i: i64[4,1]) -> (%y) {\n"
     "  %y = for %x, %i count=70 carried=1 body=@outer\n}\n",
     {{NX_F32, 1, {24}, 1, 0.5}, {NX_I64, 2, {4, 1}, 0, 2}},
     2,
     1,
     "for: step 2: for: step 16: gather"},
    {"a bad index of a condition",
     "nxir 2\n"
     "graph @more(%i: i64[1,1], %x: f32[24]) -> (%p) {\n  %d = reshape %x : f32[24,1]\n"
     "  %g = gather %d, %i axis=0 axes=[1] : f32[1,1]\n  %h = reshape %g : f32[]\n"
     "  %z = full 100 : f32[]\n  %p = cmplt %h, %z\n}\n"
     "graph @turn(%i: i64[1,1], %x: f32[24]) -> (%j, %y) {\n  %one = full 1 : i64[1,1]\n"
     "  %j = add %i, %one\n  %y = flip %x axes=[0]\n}\n"
     "graph @f(%i: i64[1,1], %x: f32[24]) -> (%y) {\n"
     "  %y = while %i, %x cond=@more body=@turn result=1\n}\n",
     {{NX_I64, 2, {1, 1}, 3, 0}, {NX_F32, 1, {24}, 1, 0.5}},
     2,
     1,
     "while: step 21: gather"},
    {"library calls",
     "nxir 2\n"
     "graph @mix(%k: i64[], %x: f32[40,40], %w: f32[40,40]) -> (%y) {\n"
     "  %p = matmul %x, %w : f32[40,40]\n  %s = sort %p axis=1 : f32[40,40]\n"
     "  %m = reduce_max %s axes=[0,1] keepdims : f32[1,1]\n"
     "  %e = expand %m : f32[40,40]\n  %y = div %s, %e\n}\n"
     "graph @f(%x: f32[40,40], %w: f32[40,40]) -> (%y) {\n"
     "  %y = for %x, %w count=5 carried=1 body=@mix\n}\n",
     {{NX_F32, 2, {40, 40}, 1, 0.5}, {NX_F32, 2, {40, 40}, -300, 0.5}},
     2,
     1,
     NULL},
    {"in place",
     "nxir 2\n"
     "graph @row(%i: i64[], %c: f32[20,8], %x: f32[1,8]) -> (%d, %y) {\n"
     "  %at = expand %i : i64[1,8]\n  %d = scatter %c, %at, %x axis=0 : f32[20,8]\n"
     "  %s = reduce_sum %d axes=[0] keepdims : f32[1,8]\n  %y = add %s, %x\n}\n"
     "graph @f(%c: f32[20,8], %x: f32[1,8]) -> (%d, %y) {\n"
     "  %d = for %c, %x count=20 carried=2 body=@row\n"
     "  %y = for %c, %x count=20 carried=2 body=@row result=1\n}\n",
     {{NX_F32, 2, {20, 8}, 1, 0.5}, {NX_F32, 2, {1, 8}, 1, 1}},
     2,
     2,
     NULL},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

typedef struct outcome {
  nx_status status;
  char said[512];
  size_t bytes;
  uint64_t launches; /* of graphs */
  char bits[MOST_BYTES];
} outcome;

static bool has_nodes(void) {
  const char *version = getenv("NXT_VERSION");
  return version == NULL || atoi(version) >= 12040;
}

static nx_function *parse_in(nx_context *c, const char *text) {
  nx_function *f = NULL;
  nx_parse_options o = {.size = sizeof o, .device = CUDA};
  nx_function_parse(c, text, strlen(text), &o, &f);
  return f;
}

static nx_tensor *make_input(nx_context *c, const given *g) {
  int64_t n = 1;
  for (int i = 0; i < g->rank; i++) n *= g->shape[i];
  nx_tensor *x =
      nx_arange(c, CUDA, g->dtype, NX_NUMBER(g->first), NX_NUMBER(g->step ? g->step : 1), n);
  return nx_reshape(x, g->shape, g->rank, 0);
}

static nx_status read_all(nx_tensor **out, size_t n, outcome *o) {
  nx_status status = NX_OK;
  for (size_t i = 0; i < n && status == NX_OK; i++) {
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(out[i], &info);
    size_t bytes = (size_t)info.elements * (size_t)nx_dtype_bits(info.dtype) / 8;
    status = nx_read(out[i], o->bits + o->bytes, bytes, NULL);
    o->bytes += bytes;
  }
  return status;
}

/* One call; leaves no error. */
static nx_status call_in(nx_context *c, const program *p, nx_function *f, outcome *o) {
  nx_tensor *in[MOST_IN], *out[MOST_OUT] = {NULL};
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  nx_error e = {.size = sizeof e};
  nx_scope *s = nx_scope_begin(c);
  *o = (outcome){.status = NX_OK};
  for (size_t i = 0; i < p->n_in; i++) in[i] = make_input(c, &p->in[i]);
  o->status = nx_realize(c, in, p->n_in, NULL);
  if (o->status == NX_OK) o->status = nx_function_call(f, in, p->n_in, out, p->n_out, &options);
  o->launches = report.graph_launches;
  if (o->status == NX_OK) o->status = read_all(out, p->n_out, o);
  for (size_t i = 0; i < p->n_out; i++) nx_tensor_release(out[i]);
  nx_error_take(&e);
  if (o->status != NX_OK) snprintf(o->said, sizeof o->said, "%s", e.message);
  nx_scope_end(s);
  return o->status;
}

static void same(const program *p, const outcome *a, const outcome *b) {
  if (a->status != b->status || strcmp(a->said, b->said) != 0)
    fail_msg("%s: %s \"%s\", and by the host %s \"%s\"", p->name, nx_status_name(a->status),
             a->said, nx_status_name(b->status), b->said);
  if (a->bytes != b->bytes || memcmp(a->bits, b->bits, a->bytes) != 0)
    fail_msg("%s: other bits than by the host", p->name);
}

static void programs_do_as_the_host(void **state) {
  static outcome host, own;
  (void)state;
  for (int i = 0; i < PROGRAMS; i++) {
    const program *p = &programs[i];
    nx_function *f = parse_in(ctx, p->text);
    if (f == NULL) fail_msg("%s: %s", p->name, take().message);
    OK(nx_debug_set("nographs"));
    call_in(ctx, p, f, &host);
    assert_true(host.launches == 0);
    if (p->fails == NULL && host.status != NX_OK) fail_msg("%s: %s", p->name, host.said);
    if (p->fails != NULL && strstr(host.said, p->fails) == NULL)
      fail_msg("%s says \"%s\"", p->name, host.said);
    OK(nx_debug_set(""));
    uint64_t launches = 0;
    for (int call = 0; call < CALLS; call++) {
      int64_t bodies = fake->bodies;
      call_in(ctx, p, f, &own);
      same(p, &own, &host);
      launches += own.launches;
      if (!has_nodes()) assert_int_equal(fake->bodies, bodies);
    }
    if (has_nodes() && launches == 0) fail_msg("%s: no graph", p->name);
    if (!has_nodes() && launches != 0) fail_msg("%s: a graph", p->name);
    nx_function_release(f);
  }
}

/* ---- steps that are written out */

static void calls_are_good(const program *p, const char *debug, bool bodies, const outcome *host) {
  static outcome own;
  nx_context *c = NULL;
  uint64_t launches = 0;
  int64_t ran = fake->bodies;
  OK(nx_context_create(NULL, &c));
  OK(nx_debug_set(debug));
  nx_function *f = parse_in(c, p->text);
  for (int call = 0; call < CALLS; call++) {
    int64_t waits = fake->host_waits;
    call_in(c, p, f, &own);
    same(p, &own, host);
    launches += own.launches;
    if (!bodies && has_nodes()) assert_true(fake->host_waits <= waits + (int64_t)p->n_out + 1);
  }
  if (has_nodes() && launches == 0) fail_msg("%s: no graph", p->name);
  if (has_nodes() && bodies != (fake->bodies > ran))
    fail_msg("%s: bodies of nodes ran, or none did", p->name);
  nx_function_release(f);
  nx_context_release(c);
}

static void known_steps_are_written_out(void **state) {
  static outcome host;
  static const int counted[] = {3, 4, 6, 16};
  (void)state;
  for (int i = 0; i < 4; i++) {
    const program *p = &programs[counted[i]];
    nx_function *f = parse_in(ctx, p->text);
    OK(nx_debug_set("nographs"));
    OK(call_in(ctx, p, f, &host));
    nx_function_release(f);
    calls_are_good(p, "nounroll", true, &host);
    calls_are_good(p, "", false, &host);
  }
}

/* ---- branches */

static const char branches[] =
    "nxir 2\n"
    "graph @twice(%x: f32[24], %c: f32[24]) -> (%y, %d) {\n  %y = add %x, %x\n"
    "  %f = flip %c axes=[0]\n  %d = scan_sum %f axis=0\n}\n"
    "graph @turned(%x: f32[24], %c: f32[24]) -> (%y, %d) {\n  %y = flip %x axes=[0]\n"
    "  %d = view %c : f32[24]\n}\n"
    "graph @summed(%x: f32[24], %c: f32[24]) -> (%y, %d) {\n  %y = scan_sum %x axis=0\n"
    "  %d = neg %c\n}\n"
    "graph @f(%i: i32[], %x: f32[24], %c: f32[24]) -> (%y, %d) {\n"
    "  %n = neg %c\n"
    "  %y = case %i, %x, %n branches=[@twice, @turned, @summed]\n"
    "  %d = case %i, %x, %n branches=[@twice, @turned, @summed] result=1\n}\n";

static void an_index_selects_a_body(void **state) {
  static outcome host, own;
  (void)state;
  program p = {.name = "case", .text = branches, .n_in = 3, .n_out = 2};
  p.in[1] = (given){NX_F32, 1, {24}, 1, 0.5};
  p.in[2] = (given){NX_F32, 1, {24}, -1, 0.25};
  nx_function *f = parse_in(ctx, branches);
  assert_non_null(f);
  for (int index = -1; index <= 4; index++) {
    p.in[0] = (given){NX_I32, 0, {0}, index, 0};
    OK(nx_debug_set("nographs"));
    OK(call_in(ctx, &p, f, &host));
    OK(nx_debug_set(""));
    for (int call = 0; call < CALLS; call++) {
      int64_t waits = fake->host_waits;
      call_in(ctx, &p, f, &own);
      same(&p, &own, &host);
      if (call == CALLS - 1 && has_nodes()) assert_int_equal(own.launches, 1);
      if (call == CALLS - 1 && has_nodes()) assert_true(fake->host_waits <= waits + 2);
    }
  }
  nx_function_release(f);
}

/* ---- a plan of steps and a loop that nobody waits for is one graph */

static void a_plan_with_a_loop_is_one_graph(void **state) {
  static outcome host, own;
  static const char text[] = "nxir 2\n" ROLL "graph @f(%x: f32[24], %w: f32[24]) -> (%z) {\n"
                             "  %a = scan_sum %x axis=0\n  %b = flip %a axes=[0]\n"
                             "  %y = for %b, %w count=7 carried=1 body=@roll\n"
                             "  %s = scan_sum %y axis=0\n  %z = neg %s\n}\n";
  program p = {.name = "plan", .text = text, .n_in = 2, .n_out = 1};
  (void)state;
  p.in[0] = (given){NX_F32, 1, {24}, 1, 0.5};
  p.in[1] = (given){NX_F32, 1, {24}, -3, 0.125};
  nx_function *f = parse_in(ctx, text);
  assert_non_null(f);
  OK(nx_debug_set("nographs,nofuse"));
  OK(call_in(ctx, &p, f, &host));
  OK(nx_debug_set("nofuse"));
  for (int call = 0; call < 5; call++) {
    int64_t launches = fake->launches, graphs = fake->graph_launches;
    call_in(ctx, &p, f, &own);
    same(&p, &own, &host);
    if (call == 4 && has_nodes()) assert_true(fake->launches > launches);
    if (call == 4 && has_nodes()) assert_int_equal(fake->graph_launches, graphs + 1);
  }
  OK(nx_debug_set(""));
  nx_function_release(f);
}

/* ---- loops that are left */

static const char endless[] =
    "nxir 2\n"
    "graph @always(%i: i32[], %x: f32[24]) -> (%p) {\n  %p = cmpeq %i, %i\n}\n" TURN
    "graph @f(%i: i32[], %x: f32[24]) -> (%z) {\n"
    "  %z = while %i, %x cond=@always body=@turn result=1\n}\n";

static int polls, stop_at;
static int32_t asks(void *user) {
  (void)user;
  return ++polls >= stop_at;
}

static void a_poll_stops_a_loop(void **state) {
  (void)state;
  nx_function *f = parse_in(ctx, endless);
  const given in[] = {{NX_I32, 0, {0}, 0, 0}, {NX_F32, 1, {24}, 1, 0.5}};
  assert_non_null(f);
  for (stop_at = 1; stop_at < 12; stop_at += 5) {
    nx_tensor *x[] = {make_input(ctx, &in[0]), make_input(ctx, &in[1])}, *out = NULL;
    nx_run_options o = {.size = sizeof o, .poll = asks};
    OK(nx_realize(ctx, x, 2, NULL));
    polls = 0;
    nx_status status = nx_function_call(f, x, 2, &out, 1, &o);
    if (status == NX_OK) status = nx_realize(ctx, &out, 1, &o);
    assert_int_equal(status, NX_INTERRUPTED);
    assert_int_equal(take().status, NX_INTERRUPTED);
    assert_int_equal(polls, stop_at);
    nx_tensor_release(out);
  }
  nx_function_release(f);
  OK(nx_wait(ctx, CUDA));
  assert_int_equal(fake->waiting, 0);
}

/* Pieces of work are done late, as far as streams and events leave it open. */
static void work_may_be_late(void **state) {
  static outcome host, own;
  (void)state;
  static const int some[] = {3, 6, 8, 13};
  for (int i = 0; i < 4; i++) {
    const program *p = &programs[some[i]];
    nx_function *f = parse_in(ctx, p->text);
    OK(nx_debug_set("nographs"));
    call_in(ctx, p, f, &host);
    OK(nx_debug_set(""));
    for (fake->delay = 1; fake->delay < 4; fake->delay++) {
      call_in(ctx, p, f, &own);
      same(p, &own, &host);
    }
    fake->delay = 0;
    nx_function_release(f);
  }
}

/* Threads that run one loop at the same time: one that finds its graphs in use has the host run the
 * steps. */
typedef struct caller {
  nx_function *f;
  nx_tensor *in[2];
  uint32_t wanted[24]; /* bits of f32 */
  bool good;
} caller;

static bool gives(const caller *c, uint32_t *bits) {
  nx_tensor *out[2] = {NULL, NULL};
  nx_status status = nx_function_call(c->f, c->in, 2, out, 2, NULL);
  if (status == NX_OK) status = nx_read(out[1], bits, sizeof c->wanted, NULL);
  for (int i = 0; i < 2; i++) nx_tensor_release(out[i]);
  return status == NX_OK;
}

static void *call_often(void *given) {
  caller *c = given;
  uint32_t bits[24];
  c->good = true;
  for (int i = 0; i < 6 && c->good; i++)
    c->good = gives(c, bits) && memcmp(bits, c->wanted, sizeof bits) == 0;
  return NULL;
}

static void threads_share_a_loop(void **state) {
  enum { THREADS = 3 };
  static caller callers[THREADS];
  pthread_t threads[THREADS];
  (void)state;
  nx_function *f = parse_in(ctx, programs[0].text);
  for (int i = 0; i < THREADS; i++) {
    const given in[] = {{NX_I32, 0, {0}, 90 + i, 0}, {NX_F32, 1, {24}, i, 0.5}};
    callers[i] = (caller){.f = f, .in = {make_input(ctx, &in[0]), make_input(ctx, &in[1])}};
    OK(nx_realize(ctx, callers[i].in, 2, NULL));
    OK(nx_debug_set("nographs"));
    assert_true(gives(&callers[i], callers[i].wanted));
    OK(nx_debug_set(""));
  }
  fake->delay = 5;
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  fake->delay = 0;
  for (int i = 0; i < THREADS; i++) assert_true(callers[i].good);
  nx_function_release(f);
}

/* ---- calls of the driver that fail: the host does it then */

static void failing(const program *p, const char *name, int result, const outcome *good) {
  static outcome own;
  bool done = false;
  for (int64_t n = 1; !done; n++) {
    nx_context *c = NULL;
    OK(nx_context_create(NULL, &c));
    const nxt_fake before = *fake;
    nx_function *f = parse_in(c, p->text);
    snprintf(fake->only, sizeof fake->only, "%s", name);
    fake->failed[0] = 0;
    fake->fail_at = fake->calls + n;
    fake->fail_with = result;
    call_in(c, p, f, &own);
    done = fake->calls < before.calls + n;
    same(p, &own, good);
    nx_function_release(f);
    nx_context_release(c);
    fake->fail_at = 0;
    fake->only[0] = 0;
    if (fake->memory != before.memory || fake->graphs != before.graphs ||
        fake->streams != before.streams)
      fail_msg("after %s something is left", fake->failed);
  }
}

static void every_call_fails(void **state) {
  static outcome good;
  static const struct {
    const char *name;
    int result;
  } calls[] = {{"Graph", 1}, {"Graph", 2}, {"Capture", 901}};
  (void)state;
  const program *p = &programs[1];
  nx_function *f = parse_in(ctx, p->text);
  OK(call_in(ctx, p, f, &good));
  nx_function_release(f);
  for (int i = 0; i < 3; i++) failing(p, calls[i].name, calls[i].result, &good);
}

/* A GPU that breaks in the middle of a loop: the loop ends. */
static void a_gpu_breaks(void **state) {
  static outcome own;
  const program *p = &programs[0];
  nx_context *c = NULL;
  (void)state;
  OK(nx_context_create(NULL, &c));
  nx_function *f = parse_in(c, p->text);
  fake->fault_at = fake->launches + 150;
  assert_int_equal(call_in(c, p, f, &own), NX_DEVICE_LOST);
  assert_int_equal(fake->waiting, 0);
  fake->broken = 0; /* so that memory is given back */
  fake->fault_at = 0;
  nx_function_release(f);
  nx_context_release(c);
}

NXT_MAIN(cuda_conditions) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(programs_do_as_the_host),
      IN_SCOPE(known_steps_are_written_out),
      IN_SCOPE(an_index_selects_a_body),
      IN_SCOPE(a_plan_with_a_loop_is_one_graph),
      IN_SCOPE(a_poll_stops_a_loop),
      IN_SCOPE(work_may_be_late),
      IN_SCOPE(threads_share_a_loop),
      IN_SCOPE(every_call_fails),
      IN_SCOPE(a_gpu_breaks),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
