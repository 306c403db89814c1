/* SPDX-License-Identifier: ISC */
/* Plans as text, for people: steps in order, where their memory is, what is reserved. No addresses:
 * equal plans print equally. */
#include <string.h>

#include "internal.h"
#include "ir/library/custom.h"

static void put_location(nxi_text *out, const nxp_location *l) {
  static const char *const kinds[] = {"nowhere", "input ", "output ", "temporary", "stop"};
  nxi_text_add(out, "%s", kinds[l->kind]);
  if (l->kind == NXP_INPUT || l->kind == NXP_OUTPUT) nxi_text_add(out, "%u", l->number);
  if (l->kind == NXP_TEMPORARY) nxi_text_add(out, "+%lld", (long long)l->offset);
  else if (l->offset != 0) nxi_text_add(out, "+%lld", (long long)l->offset);
  if (l->alias_range != NXP_NO_ALIAS_RANGE)
    nxi_text_add(out, " at the alias range of input %u", l->alias_range);
}

static void put_buffers(nxi_text *out, const nxp_step *s) {
  for (int writing = 0; writing < 2; writing++) {
    bool any = false;
    for (uint32_t i = 0; i < s->n_buffers; i++) {
      if (s->writes[i] != (writing == 1) || s->buffers[i].kind == NXP_NOWHERE) continue;
      nxi_text_add(out, "%s", any ? ", " : writing ? "    writes " : "    reads ");
      put_location(out, &s->buffers[i]);
      any = true;
    }
    if (any) nxi_text_add(out, "\n");
  }
}

/* The end of a step's line: the group of the stage `clusters` that it is of. */
static void put_group(nxi_text *out, const nxp_step *s) {
  if (s->group != UINT32_MAX) nxi_text_add(out, ", group %u", s->group);
  nxi_text_add(out, "\n");
}

/* What is known before a launch: interpreted forms say it themselves, compiled ones have left it in
 * the plan. */
static void put_kernel(nxi_text *out, const nxp_plan *p, const nxp_step *s) {
  const nxp_kernel *own = &p->kernels[s->kernel];
  int64_t tasks = own->tasks, scratch = own->scratch_bytes;
  const nxk_kernel *k = own->ir;
  bool by_param = own->tasks_param >= 0;
  nxi_text_add(out, "kernel %s", s->name != NULL && s->name[0] != '\0' ? s->name : "f");
  if (k != NULL && k->level == NXK_BOUND) {
    scratch = nxk_scratch_bytes(k);
    tasks = 0;
    for (uint32_t i = 0; i < k->n_regions; i++) {
      tasks += k->regions[i].tasks;
      by_param = by_param || k->regions[i].tasks_param >= 0;
    }
  }
  if (k != NULL && k->level == NXK_LOGICAL) nxi_text_add(out, ", logical");
  else if (by_param) nxi_text_add(out, ", tasks known at the launch");
  else nxi_text_add(out, ", %lld tasks", (long long)tasks);
  if (scratch > 0) nxi_text_add(out, ", %lld bytes of scratch a thread", (long long)scratch);
  const char *before = ", parameters ";
  for (uint32_t i = 0; i < s->n_params; i++, before = " ")
    nxi_text_add(out, s->params[i] & NXP_PARAM_AXIS ? "%saxis %u" : "%s%u", before,
                 s->params[i] & ~NXP_PARAM_AXIS);
  put_group(out, s);
}

static void put_matmul(nxi_text *out, const nxp_plan *p, const nxp_step *s) {
  nxi_text_add(out, "matmul %s %lld x %lld x %lld", nx_dtype_name(s->dtype), (long long)s->m,
               (long long)s->n, (long long)s->k);
  if (s->operands != s->dtype) nxi_text_add(out, " of %s", nx_dtype_name(s->operands));
  for (int32_t i = 0; i < s->batch_rank; i++)
    nxi_text_add(out, "%s%lld", i == 0 ? ", batch " : " x ", (long long)s->batch_shape[i]);
  if (s->transposed[0]) nxi_text_add(out, ", first transposed");
  if (s->transposed[1]) nxi_text_add(out, ", second transposed");
  if (s->added != NXP_ADD_NOTHING)
    nxi_text_add(out, s->added == NXP_ADD_ROW ? ", plus a row" : ", plus a matrix");
  put_group(out, s);
  const nxp_staging *g = s->staging;
  for (int32_t i = 0; g != NULL && i < g->n_parts; i++) {
    const nxp_packed_part *part = &g->parts[i];
    if (i == 0) nxi_text_add(out, "    packs tiles of ");
    else
      nxi_text_add(out, "    and, from element %lld of the inner extent, ", (long long)part->begin);
    nxi_text_add(out, "%lld %s", (long long)g->width,
                 g->operand == 0 ? "rows of the first" : "columns of the second");
    if (g->depth < s->k) nxi_text_add(out, " x %lld", (long long)g->depth);
    nxi_text_add(out, ", %lld", (long long)part->columns.unit);
    if (g->depth < s->k) nxi_text_add(out, " x %lld", (long long)part->depth.unit);
    nxi_text_add(out,
                 " at a time%s: ", g->windows ? ", or the lines of which they are windows" : "");
    put_kernel(out, p, part->kernel);
    put_buffers(out, part->kernel);
  }
}

/* What a step of a product does to rows that are finished. */
static void put_epilogue(nxi_text *out, const nxp_plan *p, const nxp_step *s) {
  if (s->epilogue == NULL) return;
  nxi_text_add(out, "    then, row by row: ");
  put_kernel(out, p, s->epilogue);
  put_buffers(out, s->epilogue);
}

static void put_border(nxi_text *out, const nxi_border *b) {
  if (b->per_row != 0) nxi_text_add(out, "%lld per row ", (long long)b->per_row);
  nxi_text_add(out, b->per_row != 0 ? "%+lld" : "%lld", (long long)b->at);
}

/* The columns of a product that are used. */
static void put_seen(nxi_text *out, const nxi_seen *seen) {
  if (seen == NULL) return;
  nxi_text_add(out, "    its columns from ");
  put_border(out, &seen->begin);
  nxi_text_add(out, " to before ");
  put_border(out, &seen->end);
  nxi_text_add(out, "\n");
}

/* A product that another one multiplies block by block, and that one. */
static void put_products(nxi_text *out, const nxp_plan *p, const nxp_step *s) {
  const nxp_chain *c = s->chain;
  if (c != NULL) {
    nxi_text_add(out, "%lld rows at a time, each block in one thread: ", (long long)c->rows);
    put_matmul(out, p, c->product);
    put_seen(out, c->seen);
    put_buffers(out, c->product);
    put_epilogue(out, p, c->product);
    nxi_text_add(out, "    then ");
  }
  put_matmul(out, p, s);
}

static void put_array(nxi_text *out, const nxg_array *a) {
  char shape[NXG_SHAPE_TEXT];
  nxi_text_add(out, "%s%s", nx_dtype_name(a->dtype), nxg_format_shape(shape, a->rank, a->shape));
}

static void put_call(nxi_text *out, const nxp_step *s) {
  const nxg_call *call = s->call->call;
  nxi_text_add(out, "call %s", s->name);
  if (call->op == NXG_custom) nxi_text_add(out, " \"%s\"", nxg_custom_of(call->attrs)->name);
  for (uint32_t i = 0; call->op != NXG_custom && i < call->n_attrs; i++) {
    size_t length;
    const char *key = nxg_call_key(call->op, i, &length);
    bool mask = length == 4 && memcmp(key, "axes", 4) == 0;
    for (int axis = 0, n = 0; mask && axis < NXG_MAX_RANK; axis++)
      if (call->attrs[i] >> axis & 1) nxi_text_add(out, n++ ? ",%d" : " axes=[%d", axis);
    if (mask) nxi_text_add(out, "]");
    else if (call->attrs[i] != 0)
      nxi_text_add(out, " %.*s=%lld", (int)length, key, (long long)call->attrs[i]);
  }
  for (uint32_t i = 0; i < call->n_operands; i++) {
    nxi_text_add(out, i == 0 ? " of " : ", ");
    put_array(out, &call->operands[i]);
  }
  const uint32_t phases = s->call->work.n_phases;
  for (uint32_t i = 0; i < phases && i < NXG_CALL_PHASES; i++) {
    int64_t tasks, grain;
    nxg_call_phase(&s->call->work, i, &tasks, &grain);
    nxi_text_add(out, i == 0 ? ", %lld" : " + %lld", (long long)tasks);
  }
  if (phases > NXG_CALL_PHASES) nxi_text_add(out, " + .. in %u phases", phases);
  if (s->call->by != NULL) nxi_text_add(out, ", by %s", s->call->by);
  else if (s->call->missing != NULL)
    nxi_text_add(out, " tasks, by the host, because %s", s->call->missing);
  else nxi_text_add(out, " tasks");
  put_group(out, s);
}

static void put_control(nxi_text *out, const nxp_step *s) {
  const nxg_control *c = &s->control->c;
  nxi_text_add(out, "%s", s->name);
  if (c->count >= 0 && c->counted) nxi_text_add(out, " of %lld steps", (long long)c->count);
  for (uint32_t i = 0; i < c->n_bodies; i++)
    nxi_text_add(out, "%s@%s", i == 0 ? ", runs " : ", ", nxg_body_find(c->bodies[i])->graph->name);
  if (s->control->by != NULL) nxi_text_add(out, ", by %s", s->control->by);
  else if (s->control->by_host != NULL)
    nxi_text_add(out, ", by the host, because %s", s->control->by_host);
  put_group(out, s);
}

/* Beside which steps it may run. */
static void put_track(nxi_text *out, const nxp_step *s) {
  if (s->alone) {
    nxi_text_add(out, "    alone\n");
    return;
  }
  nxi_text_add(out, "    track %u", s->track);
  const char *before = ", after step ";
  for (uint32_t i = 0; s->after != NULL && i < NXP_TRACKS; i++) {
    if (s->after[i] == 0) continue;
    nxi_text_add(out, "%s%u", before, s->after[i] - 1);
    before = " and ";
  }
  nxi_text_add(out, "\n");
}

void nxp_plan_print(const nxp_plan *p, nxi_text *out) {
  if (p->interpreted) {
    nxi_text_add(out, "plan: interpreted node by node\n");
    return;
  }
  nxi_text_add(out, "plan: %u steps, %lld temporary bytes\n", p->n_steps,
               (long long)p->scratch_offset);
  if (p->generated_products > 0 && p->no_library != NULL)
    nxi_text_add(out, "  products that are generated kernels: %u, because %s\n",
                 p->generated_products, p->no_library);
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_step *s = &p->steps[i];
    nxi_text_add(out, "  step %u: ", i);
    if (s->kind == NXP_STEP_KERNEL) put_kernel(out, p, s);
    else if (s->kind == NXP_STEP_MATMUL) put_products(out, p, s);
    else if (s->kind == NXP_STEP_CALL) put_call(out, s);
    else if (s->kind == NXP_STEP_CONTROL) put_control(out, s);
    else if (s->kind == NXP_STEP_CHECK) nxi_text_add(out, "check the indices of %s\n", s->op);
    else if (s->kind == NXP_STEP_SCATTER) {
      nxi_text_add(out, "scatter");
      if (s->scatter_by != NULL) nxi_text_add(out, ", by %s", s->scatter_by);
      put_group(out, s);
    } else nxi_text_add(out, "copy %lld bytes\n", (long long)s->bytes);
    if (p->n_tracks > 1) put_track(out, s);
    put_buffers(out, s);
    put_epilogue(out, p, s);
  }
  for (uint32_t i = 0; i < p->n_outputs; i++) {
    const nxp_output *o = &p->outputs[i];
    nxi_text_add(out, "  output %u", i);
    if (o->name != NULL) nxi_text_add(out, " (%s)", o->name);
    if (o->in_place_of >= 0) nxi_text_add(out, ": in place of input %d\n", o->in_place_of);
    else nxi_text_add(out, ": %lld bytes\n", (long long)o->bytes);
  }
}
