/* SPDX-License-Identifier: ISC */
/* Loops, branches and calls. The regions of a loop become functions that are captured: what they
 * carry are inputs, and so is each value from around them that they use, except constants, which
 * are recorded inside once more so that they stay constants there. Tokens order nothing here, and
 * are left out; what orders collectives and calls with side effects is the token of the process,
 * which is captured, too, where a region has any. */
#include "custom.h"
#include "mesh.h"
#include "shards.h"

#include <string.h>

/* A growing list of values. */
typedef struct values {
  nxh_value *items;
  uint32_t n, capacity;
} values;

static bool add_value(nxh_recorder *r, values *list, nxh_value v) {
  if (!nxi_grow(&list->items, &list->capacity, list->n + 1, sizeof *list->items))
    return nxi_oom(r->d), false;
  list->items[list->n++] = v;
  return true;
}

/* ---- what a region uses from around it */

/* Values before `first` belong to what is around. */
static bool collect(nxh_recorder *r, const nxh_region *region, nxh_value first, values *out) {
  nxh_frame *f = r->frame;
  for (uint32_t i = 0; i < region->n_ops; i++) {
    const nxh_op *op = &region->ops[i];
    for (uint32_t k = 0; k < op->n_operands; k++) {
      nxh_value v = op->operands[k];
      if (v >= first || v < f->base || f->marks[v - f->base] == f->mark) continue;
      f->marks[v - f->base] = f->mark;
      if (f->tensors[v - f->base] != NULL && !add_value(r, out, v)) return false;
    }
    for (uint32_t k = 0; k < op->n_regions; k++)
      if (!collect(r, &op->regions[k], first, out)) return false;
  }
  return true;
}

static bool is_constant(nxh_recorder *r, nxh_value v) {
  const nxh_op *op = r->frame->defs[v - r->frame->base];
  return op != NULL && nxh_word_is(op->name, "stablehlo.constant");
}

/* All regions of the operation: captured tensors, and constants that they use. */
static bool collect_all(nxh_recorder *r, const nxh_op *op, values *captured, values *constants) {
  values all = {0};
  r->frame->mark++;
  bool ok = true;
  for (uint32_t i = 0; ok && i < op->n_regions; i++)
    ok = collect(r, &op->regions[i], op->regions[i].first, &all);
  for (uint32_t i = 0; ok && i < all.n; i++)
    ok = add_value(r, is_constant(r, all.items[i]) ? constants : captured, all.items[i]);
  nxi_free(all.items);
  return ok;
}

/* ---- collectives and effects in regions */

static bool meets(nxh_recorder *r, const nxh_region *region, int calls);

static bool is_collective(const nxh_op *op) {
  static const char *const names[] = {
      "stablehlo.all_gather",         "stablehlo.all_reduce",
      "stablehlo.all_to_all",         "stablehlo.collective_broadcast",
      "stablehlo.collective_permute", "stablehlo.collective_reduce",
      "stablehlo.cross-replica-sum",  "stablehlo.reduce_scatter"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (nxh_word_is(op->name, names[i])) return true;
  return false;
}

static bool op_meets(nxh_recorder *r, const nxh_op *op, int calls) {
  if ((r->mesh != NULL && is_collective(op)) || nxh_is_effect(r, op)) return true;
  if (nxh_is_sharded(r) && nxh_gathers(r, op)) return true;
  for (uint32_t i = 0; i < op->n_regions; i++)
    if (meets(r, &op->regions[i], calls)) return true;
  bool composite = nxh_word_is(op->name, "stablehlo.composite");
  if (calls == NXH_MOST_CALLS || !(composite || nxh_word_is(op->name, "func.call"))) return false;
  const nxh_function *f =
      nxh_find_function(r->m, nxh_name(op, composite ? "decomposition" : "callee"));
  return f != NULL && meets(r, &f->body, calls + 1);
}

/* Whether the region has a collective or an effect. Functions that call themselves are refused
 * elsewhere. */
static bool meets(nxh_recorder *r, const nxh_region *region, int calls) {
  bool found = false;
  for (uint32_t i = 0; !found && i < region->n_ops; i++)
    found = op_meets(r, &region->ops[i], calls);
  return found;
}

bool nxh_has_effects(nxh_recorder *r, const nxh_region *region) {
  nx_stablehlo_mesh *mesh = r->mesh;
  r->mesh = NULL; /* its collectives are none */
  bool found = meets(r, region, 0);
  r->mesh = mesh;
  return found;
}

static bool one_meets(nxh_recorder *r, const nxh_op *op) {
  bool found = false;
  for (uint32_t i = 0; r->token != NULL && !found && i < op->n_regions; i++)
    found = meets(r, &op->regions[i], 0);
  return found;
}

/* ---- bodies */

/* A region as a function of its own arguments that are tensors, of captured values, and of the
 * token if it meets others. With `test` there is one more argument, and one more result: what this
 * condition says of the results. The region that is `test` itself is the function that gives the
 * argument. */
typedef struct body {
  const nxh_region *region, *test;
  const values *captured, *constants;
  bool meets, asks; /* asks: the region is a loop's condition */
  nx_tensor **saved, **inputs, **outputs, *answer;
  uint32_t n_in, n_out;
  nx_tensor *const *init; /* what a loop carries into its first step */
  uint32_t n_init;
  const uint8_t *kept;     /* of a loop, per argument: each step hands it on as it is; or NULL */
  nx_tensor *const *stays; /* the values of these, which are inputs behind what is captured */
  uint32_t n_slices;       /* of a scan: so many arguments come first, and are its last inputs */
  uint32_t n_stacks;       /* and so many results */
} body;

static bool record_constants(nxh_recorder *r, const body *b) {
  for (uint32_t i = 0; i < b->constants->n; i++) {
    nxh_value v = b->constants->items[i];
    const nxh_op *op = r->frame->defs[v - r->frame->base];
    if (!nxh_fill(r, op, NULL)) return false;
  }
  return true;
}

/* A number that extents are computed of, as it is known outside of the region. */
static nx_tensor *known_extent(nxh_recorder *r, nx_tensor *like, const nxh_type *type) {
  int64_t list[NX_MAX_RANK];
  uint32_t n;
  bool small = r->m->open && type->rank <= 1 && nx_elements(like) <= NX_MAX_RANK &&
               (type->dtype == NX_I32 || type->dtype == NX_I64);
  if (!small || !nxh_known(r, like, list, NX_MAX_RANK, &n)) return NULL;
  nx_tensor *wide =
      nx_from_data(r->c, r->device, NX_I64, nx_shape(like), nx_rank(like), list, n * sizeof *list);
  return wide != NULL ? nx_cast(wide, type->dtype) : NULL;
}

/* like: what the value is outside; NULL: of the type alone. */
static bool add_input(nxh_recorder *r, body *b, nxh_value v, nx_tensor *like, bool captured) {
  const nxh_type *type = nxh_type_of(r->m, v);
  bool same = like != NULL && nx_rank(like) == type->rank;
  nx_tensor *t = nxh_placeholder_of(r, type, same ? nx_shape(like) : NULL);
  if (t == NULL) return false;
  b->inputs[b->n_in++] = t;
  nx_tensor *known = captured && like != NULL ? known_extent(r, like, type) : NULL;
  nxh_put(r, v, known != NULL ? known : t);
  return true;
}

static const nxh_type truth = {.kind = NXH_TENSOR, .dtype = NX_BOOL};

static nx_tensor *add_truth(nxh_recorder *r, body *b) {
  return b->inputs[b->n_in++] = nxh_placeholder(r, &truth);
}

static bool is_kept(const body *b, uint32_t i) { return b->kept != NULL && b->kept[i] != 0; }

static bool take_kept(nxh_recorder *r, body *b) {
  for (uint32_t i = 0, at = 0; b->kept != NULL && i < b->region->n_args; i++)
    if (is_kept(b, i) && !add_input(r, b, b->region->first + i, b->stays[at++], true)) return false;
  return true;
}

static bool take_inputs(nxh_recorder *r, body *b) {
  const nxh_region *region = b->region;
  for (uint32_t i = b->n_slices; i < region->n_args; i++)
    if (nxh_type_of(r->m, region->first + i)->kind != NXH_TOKEN && !is_kept(b, i) &&
        !add_input(r, b, region->first + i, b->n_in < b->n_init ? b->init[b->n_in] : NULL, false))
      return false;
  if (b->test != NULL && (b->answer = add_truth(r, b)) == NULL) return false;
  for (uint32_t i = 0; i < b->captured->n; i++)
    if (!add_input(r, b, b->captured->items[i], b->saved[i], true)) return false;
  if (!take_kept(r, b)) return false;
  /* a capture has an input at least */
  if ((b->n_in + b->n_slices == 0 || b->meets) && add_truth(r, b) == NULL) return false;
  if (b->meets) nxh_use_token(r, b->inputs[b->n_in - 1]);
  for (uint32_t i = 0; i < b->n_slices; i++)
    if (!add_input(r, b, region->first + i, NULL, false)) return false;
  return true;
}

/* What the condition says of values: of the results of a body, or of a loop's operands. */
static bool ask_of(nxh_recorder *r, const nxh_region *test, const nxh_value *list, uint32_t n,
                   nx_tensor **out) {
  const nxh_op *last = nxh_last(test);
  if (last == NULL || test->n_args != n || last->n_operands != 1)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a condition of %u arguments", test->n_args);
  for (uint32_t i = 0; i < n; i++)
    nxh_put(r, test->first + i, r->frame->tensors[list[i] - r->frame->base]);
  return nxh_record_region(r, test) && (*out = nxh_value_of(r, last->operands[0])) != NULL;
}

static bool take_outputs(nxh_recorder *r, body *b) {
  const nxh_op *last = nxh_last(b->region);
  if (b->test == b->region) return b->outputs[b->n_out++] = b->answer, true;
  for (uint32_t i = 0; i < last->n_operands; i++) {
    nxh_value v = last->operands[(i + b->n_stacks) % last->n_operands];
    if (nxh_type_of(r->m, v)->kind == NXH_TOKEN || (!b->asks && is_kept(b, i))) continue;
    if ((b->outputs[b->n_out++] = nxh_value_of(r, v)) == NULL) return false;
  }
  return b->test == NULL ||
         ask_of(r, b->test, last->operands, last->n_operands, &b->outputs[b->n_out++]);
}

static void swap_values(nxh_recorder *r, const body *b, const values *list, uint32_t from,
                        bool save) {
  for (uint32_t i = 0; i < list->n; i++) {
    nx_tensor **slot = &r->frame->tensors[list->items[i] - r->frame->base];
    if (save) b->saved[from + i] = *slot;
    else *slot = b->saved[from + i];
  }
}

static nx_function *record_body(nxh_recorder *r, body *b) {
  nx_function *f = NULL;
  nxh_value first = b->region->first;
  if (b->test != NULL && b->test->first < first) first = b->test->first;
  nx_tensor *token = nx_tensor_retain(r->token); /* which the mesh lets go */
  nx_scope *scope = nx_scope_begin(r->c);
  swap_values(r, b, b->captured, 0, true);
  swap_values(r, b, b->constants, b->captured->n, true);
  nxh_value before = nxh_enter_region(r, first);
  bool ok = scope != NULL && take_inputs(r, b) && record_constants(r, b) &&
            (b->test == b->region || nxh_record_region(r, b->region)) && take_outputs(r, b);
  if (ok) nx_function_create(r->c, b->inputs, b->n_in, b->outputs, b->n_out, NULL, &f);
  nxh_leave_region(r, before);
  swap_values(r, b, b->captured, 0, false);
  swap_values(r, b, b->constants, b->captured->n, false);
  if (b->meets) nxh_use_token(r, token);
  nx_tensor_release(token);
  nx_scope_end(scope);
  return f;
}

static nx_function *make_body(nxh_recorder *r, body b) {
  const nxh_op *last = nxh_last(b.region);
  if (last == NULL) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "a region does not end with a return");
    return NULL;
  }
  size_t saved = (size_t)b.captured->n + b.constants->n,
         in = (size_t)b.region->n_args + b.captured->n + 2;
  b.saved = nxi_calloc(saved + in + last->n_operands + 1, sizeof(void *));
  if (b.saved == NULL) {
    nxi_oom(r->d);
    return NULL;
  }
  b.inputs = b.saved + saved;
  b.outputs = b.inputs + in;
  nx_function *f = record_body(r, &b);
  nxi_free(b.saved);
  return f;
}

/* ---- operations */

/* Tensors for a call: of values, without tokens. */
typedef struct tensors {
  nx_tensor **items;
  uint32_t n;
} tensors;

static bool take_tensors(nxh_recorder *r, tensors *out, const nxh_value *list, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (nxh_type_of(r->m, list[i])->kind == NXH_TOKEN) continue;
    if ((out->items[out->n++] = nxh_value_of(r, list[i])) == NULL) return false;
  }
  return true;
}

static bool give(nxh_recorder *r, const nxh_op *op, nx_tensor *const *out) {
  for (uint32_t i = 0, at = 0; i < op->n_results; i++)
    if (nxh_result_type(r, op, i)->kind != NXH_TOKEN && !nxh_set(r, op, i, out[at++])) return false;
  return true;
}

static uint32_t count_results(nxh_recorder *r, const nxh_op *op) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < op->n_results; i++) n += nxh_result_type(r, op, i)->kind != NXH_TOKEN;
  return n;
}

/* A condition that meets others is asked before the loop and at the end of each step, since it has
 * effects, and the loop carries its answer. */
static bool make_loop(nxh_recorder *r, const nxh_op *op, body b, nx_function **cond,
                      nx_function **step) {
  const nxh_region *test = &op->regions[0];
  if (r->token != NULL && meets(r, test, 0)) b.test = test;
  b.meets = one_meets(r, op);
  b.region = test;
  b.asks = true;
  if ((*cond = make_body(r, b)) == NULL) return false;
  b.region = &op->regions[1];
  b.asks = false;
  return (*step = make_body(r, b)) != NULL;
}

/* Which values each step hands on as they are: JAX carries what a loop only reads, as what a scan
 * takes its slices of. These are captured, so that no step moves them. At least one is carried. */
static void find_kept(nxh_recorder *r, const nxh_op *op, uint8_t *kept) {
  const nxh_region *step = &op->regions[1];
  const nxh_op *last = nxh_last(step);
  uint32_t carried = 0;
  if (last == NULL || last->n_operands != op->n_operands || step->n_args != op->n_operands ||
      op->regions[0].n_args != op->n_operands)
    return;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    bool token = nxh_result_type(r, op, i)->kind == NXH_TOKEN;
    kept[i] = !token && last->operands[i] == step->first + i;
    carried += !token && !kept[i];
  }
  if (carried == 0) memset(kept, 0, op->n_operands);
}

/* The operands of a loop: what changes, then, behind what is captured, what stays. */
static bool take_operands(nxh_recorder *r, const nxh_op *op, const uint8_t *kept, tensors *init,
                          tensors *extra) {
  for (uint32_t i = 0; i < op->n_operands; i++)
    if (!take_tensors(r, kept[i] ? extra : init, &op->operands[i], 1)) return false;
  return true;
}

static bool give_loop(nxh_recorder *r, const nxh_op *op, const uint8_t *kept, nx_tensor *const *out,
                      nx_tensor *const *stays) {
  for (uint32_t i = 0, at = 0, old = 0; i < op->n_results; i++)
    if (nxh_result_type(r, op, i)->kind != NXH_TOKEN &&
        !nxh_set(r, op, i, kept[i] ? stays[old++] : out[at++]))
      return false;
  return true;
}

static bool run_while(nxh_recorder *r, const nxh_op *op, const values *captured,
                      const values *constants) {
  const nxh_region *test = &op->regions[0];
  size_t n = op->n_operands, room = 3 * n + captured->n + op->n_results + 4;
  nx_tensor **list = nxi_calloc(1, room * sizeof *list + n + 1);
  if (list == NULL) return nxi_oom(r->d), false;
  tensors init = {.items = list}, extra = {.items = list + n + 1};
  nx_tensor **out = extra.items + captured->n + n + 1;
  uint8_t *kept = (uint8_t *)(list + room);
  nx_function *cond = NULL, *step = NULL;
  find_kept(r, op, kept);
  body b = {.captured = captured, .constants = constants, .kept = kept};
  bool ok = take_tensors(r, &extra, captured->items, captured->n) &&
            (b.stays = extra.items + extra.n, take_operands(r, op, kept, &init, &extra)) &&
            (b.init = init.items, b.n_init = init.n, make_loop(r, op, b, &cond, &step));
  if (ok && r->token != NULL && meets(r, test, 0))
    ok = ask_of(r, test, op->operands, op->n_operands, &init.items[init.n++]);
  if (ok && one_meets(r, op)) extra.items[extra.n++] = r->token;
  ok = ok &&
       nx_while(cond, step, init.items, init.n, extra.items, extra.n, NULL, out, init.n) == NX_OK;
  ok = ok && give_loop(r, op, kept, out, b.stays);
  nx_function_release(cond);
  nx_function_release(step);
  nxi_free(list);
  return ok;
}

bool nxh_while(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  values captured = {0}, constants = {0};
  if (op->n_regions != 2 || op->n_operands != op->n_results)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "a loop wants two regions and a result an operand");
  bool ok = collect_all(r, op, &captured, &constants) && run_while(r, op, &captured, &constants);
  nxi_free(captured.items);
  nxi_free(constants.items);
  return ok;
}

/* ---- scans: a step takes a slice of each input, along one axis, and what is carried, and gives a
 * slice of each stack, and what is carried on */

typedef struct scan {
  uint32_t n_inputs, n_inits, n_stacks;
  int32_t axis;
  int64_t steps;
} scan;

static bool read_scan(nxh_recorder *r, const nxh_op *op, scan *s) {
  int64_t sizes[2];
  const nxh_region *region = op->n_regions == 1 ? &op->regions[0] : NULL;
  const nxh_op *last = region != NULL ? nxh_last(region) : NULL;
  if (!nxh_need_integers(r, op, "operandSegmentSizes", sizes, 2)) return false;
  bool fits = sizes[0] >= 0 && sizes[1] >= 0 && sizes[0] <= op->n_operands &&
              sizes[1] == op->n_operands - sizes[0] && op->n_operands > 0 &&
              sizes[1] <= op->n_results && !r->over_arrays;
  if (!fits || last == NULL || region->n_args != op->n_operands ||
      last->n_operands != op->n_results)
    return nxh_fail(r, NX_INVALID_ARGUMENT,
                    "a scan wants a region with an argument an operand, and a value a result");
  s->n_inputs = (uint32_t)sizes[0];
  s->n_inits = (uint32_t)sizes[1];
  s->n_stacks = op->n_results - s->n_inits;
  s->axis = nxh_axis(op, "dimension", -1);
  s->steps = nxh_integer(op, "scan_dim_size", -1);
  if (s->steps >= 0 || s->n_inputs > 0 || s->n_stacks == 0) return true;
  const nxh_type *t = nxh_result_type(r, op, 0);
  if (t->kind == NXH_TENSOR && s->axis >= 0 && s->axis < t->rank) s->steps = t->shape[s->axis];
  return true;
}

/* Moves an axis to the front, or back from there. */
static nx_tensor *move_axis(nx_tensor *x, int32_t axis, bool back) {
  int32_t order[NX_MAX_RANK], rank = nx_rank(x);
  for (int32_t i = 0; i < rank; i++)
    order[i] = back ? (i == axis  ? 0
                       : i < axis ? i + 1
                                  : i)
                    : (i == 0      ? axis
                       : i <= axis ? i - 1
                                   : i);
  return nx_permute(x, order, (size_t)rank);
}

/* The inputs with their slices in front, which all have as many. */
static bool take_stacked(nxh_recorder *r, const nxh_op *op, scan *s, nx_tensor **stacked) {
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    nx_tensor *x = nxh_in(r, op, i);
    if (x == NULL) return false;
    if (s->axis < 0 || s->axis >= nx_rank(x))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "input %u has no axis dimension", i);
    int64_t n = nx_shape(x)[s->axis];
    if (s->steps < 0) s->steps = n;
    if (s->steps != n)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "input %u has %lld slices of %lld", i, (long long)n,
                      (long long)s->steps);
    if ((stacked[i] = move_axis(x, s->axis, false)) == NULL) return false;
  }
  return s->steps >= 0 || nxh_fail(r, NX_INVALID_ARGUMENT, "how many steps a scan has is not said");
}

static bool give_scan(nxh_recorder *r, const nxh_op *op, const scan *s, nx_tensor *const *out) {
  for (uint32_t i = 0; i < op->n_results; i++) {
    nx_tensor *x = i < s->n_stacks ? out[s->n_inits + i] : out[i - s->n_stacks];
    if (i < s->n_stacks && (s->axis < 0 || s->axis >= nx_rank(x)))
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u has no axis dimension", i);
    if (!nxh_set(r, op, i, i < s->n_stacks ? move_axis(x, s->axis, true) : x)) return false;
  }
  return true;
}

static bool run_scan(nxh_recorder *r, const nxh_op *op, scan *s, const values *captured,
                     const values *constants) {
  size_t room = (size_t)op->n_operands + captured->n + op->n_results + 2;
  nx_tensor **list = nxi_calloc(room, sizeof *list);
  if (list == NULL) return nxi_oom(r->d), false;
  nx_tensor **stacked = list;
  tensors init = {.items = list + s->n_inputs}, extra = {.items = list + op->n_operands};
  nx_tensor **out = extra.items + captured->n + 1;
  nx_loop_options how = {.size = sizeof how, .reverse = nxh_flag(op, "is_reverse")};
  nx_function *step = NULL;
  bool ok = take_stacked(r, op, s, stacked) &&
            take_tensors(r, &init, op->operands + s->n_inputs, s->n_inits) &&
            take_tensors(r, &extra, captured->items, captured->n);
  if (ok && init.n != s->n_inits) ok = nxh_fail(r, NX_INVALID_ARGUMENT, "a scan carries no tokens");
  body b = {.region = &op->regions[0],
            .captured = captured,
            .constants = constants,
            .meets = one_meets(r, op),
            .init = init.items,
            .n_init = init.n,
            .n_slices = s->n_inputs,
            .n_stacks = s->n_stacks};
  ok = ok && (step = make_body(r, b)) != NULL;
  if (ok && b.meets) extra.items[extra.n++] = r->token;
  ok = ok &&
       nx_scan(step, s->steps, init.items, init.n, extra.items, extra.n, stacked, s->n_inputs, &how,
               out, op->n_results) == NX_OK &&
       give_scan(r, op, s, out);
  nx_function_release(step);
  nxi_free(list);
  return ok;
}

bool nxh_scan(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  values captured = {0}, constants = {0};
  scan s = {0};
  bool ok = read_scan(r, op, &s) && collect_all(r, op, &captured, &constants) &&
            run_scan(r, op, &s, &captured, &constants);
  nxi_free(captured.items);
  nxi_free(constants.items);
  return ok;
}

/* ---- branches. regions: in the order of the branches */

static bool run_case(nxh_recorder *r, const nxh_op *op, nx_tensor *index,
                     const nxh_region *const *regions, uint32_t n, const values *captured,
                     const values *constants) {
  size_t room = (size_t)captured->n + op->n_results + 2;
  nx_tensor **list = nxi_calloc(room + n, sizeof(void *));
  if (list == NULL) return nxi_oom(r->d), false;
  nx_function **branches = (nx_function **)(list + room);
  tensors in = {.items = list};
  nx_tensor **out = list + captured->n + 1;
  body b = {.captured = captured, .constants = constants, .meets = one_meets(r, op)};
  bool ok = take_tensors(r, &in, captured->items, captured->n);
  if (ok && b.meets) in.items[in.n++] = r->token;
  if (ok && in.n == 0) {
    nx_scalar no = {NX_SCALAR_I64, {.i = 0}};
    ok = (in.items[in.n++] = nx_full(r->c, r->device, NX_BOOL, NULL, 0, &no)) != NULL;
  }
  for (uint32_t i = 0; ok && i < n; i++) {
    b.region = regions[i];
    ok = (branches[i] = make_body(r, b)) != NULL;
  }
  ok = ok && nxh_choose(r, index, branches, n, in.items, in.n, out, count_results(r, op)) &&
       give(r, op, out);
  for (uint32_t i = 0; i < n; i++) nx_function_release(branches[i]);
  nxi_free(list);
  return ok;
}

static bool record_branches(nxh_recorder *r, const nxh_op *op, const nxh_region *const *regions,
                            uint32_t n) {
  values captured = {0}, constants = {0};
  nx_tensor *index = nxh_in(r, op, 0);
  bool ok = index != NULL && collect_all(r, op, &captured, &constants) &&
            run_case(r, op, index, regions, n, &captured, &constants);
  nxi_free(captured.items);
  nxi_free(constants.items);
  return ok;
}

bool nxh_case(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  if (op->n_regions == 0) return nxh_fail(r, NX_INVALID_ARGUMENT, "no branches");
  const nxh_region **regions = nxi_calloc(op->n_regions, sizeof *regions);
  if (regions == NULL) return nxi_oom(r->d), false;
  for (uint32_t i = 0; i < op->n_regions; i++) regions[i] = &op->regions[i];
  bool ok = record_branches(r, op, regions, op->n_regions);
  nxi_free((void *)regions);
  return ok;
}

/* The first region is that of true. */
bool nxh_if(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  if (op->n_regions != 2) return nxh_fail(r, NX_INVALID_ARGUMENT, "%u regions", op->n_regions);
  const nx_tensor *predicate = nxh_in(r, op, 0);
  if (predicate == NULL) return false;
  if (nx_dtype_of(predicate) != NX_BOOL)
    return nxh_fail(r, NX_UNSUPPORTED_DTYPE, "the predicate is not i1");
  const nxh_region *regions[2] = {&op->regions[1], &op->regions[0]};
  return record_branches(r, op, regions, 2);
}

bool nxh_call(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return nxh_record_call(r, op, nxh_name(op, "callee"));
}

/* A composite means what its decomposition does. */
bool nxh_composite(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  return nxh_record_call(r, op, nxh_name(op, "decomposition"));
}

/* What gives a token alone. */
bool nxh_nothing(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  for (uint32_t i = 0; i < op->n_results; i++)
    if (nxh_result_type(r, op, i)->kind != NXH_TOKEN)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "result %u is no token", i);
  return true;
}
