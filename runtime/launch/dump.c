/* SPDX-License-Identifier: ISC */
/* Stages of the compiler as text, of a graph or of kernels. The kernels of a graph come from a plan
 * for the interpreter, which is made in the same way as a plan that runs. Nothing here is process
 * wide, so several threads may dump at once. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#include "dump_assembly.h"
#include "dump_generic.h"
#include "ir/text/graph_text.h"
#include "passes/kernel/passes.h"
#include "passes/pipeline.h"
#include "passes/read.h"

typedef struct dump {
  const nxg_graph *g;
  const nxi_executable_options *options;
  nxi_text *out;
  nxi_diag *d;
  struct so_far *so_far;
  const struct stage *stage;
} dump;

/* What was printed of several kernels so far. */
typedef struct so_far {
  nxi_assembly assembly;
  nxi_generic_dump generic;
  nxi_device_shown shown;
  nxi_text source;   /* of a form that is made of it in the end */
  nxi_target target; /* of the kernels in that source */
  bool of_plan;      /* kernels live until the end of the dump, as those of a text do not */
  struct named *named;
  uint32_t n_named, cap_named;
} so_far;
/* A kernel whose code was printed, and how it is called there: kernels of several plans can have
 * one name, and steps of a plan one kernel. */
typedef struct named {
  const nxk_kernel *kernel;
  char name[sizeof((nxk_kernel *)NULL)->name];
} named;

typedef nx_status (*show_fn)(const dump *u);
typedef nx_status (*kernel_fn)(const dump *u, const nxk_kernel *k);

typedef struct stage {
  const char *name;
  show_fn of_graph;
  kernel_fn of_kernel; /* NULL: a kernel has no such stage */
  /* of the code of a device; else NULL */
  const nxi_device_kind *kind;
  const nxi_device_stage *code;
} stage;

static nx_status show_graph(const dump *u) {
  nxg_print(u->g, u->out);
  return NX_OK;
}

/* The bodies that a graph names, in graphs of their own after it. */
static nx_status show_dot(const dump *u) {
  nxg_body_names bodies;
  if (!nxg_body_names_init(&bodies, u->g)) return nxi_oom(u->d);
  nxg_print_dot(u->g, u->out);
  for (uint32_t i = bodies.n; i-- > 0;)
    nxg_print_dot(nxg_body_find(bodies.rows[i].number)->graph, u->out);
  nxg_body_names_free(&bodies);
  return NX_OK;
}

/* A text as comments. */
static void add_comment(nxi_text *out, const nxi_text *text) {
  const char *line = text->data, *end = line + text->size;
  while (line != NULL && line < end) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t n = (size_t)((stop != NULL ? stop : end) - line);
    nxi_text_add(out, "%s", n > 0 ? "; " : ";");
    nxi_text_put(out, line, (uint32_t)n);
    nxi_text_add(out, "\n");
    line += n + 1;
  }
}

static nx_status clusters_of(const dump *u);

/* The same of the bodies of a graph after its passes, as comments. */
static nx_status clusters_of_bodies(const dump *u, const nxg_graph *g) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < g->n_bodies && status == NX_OK; i++) {
    nxi_text text = {0};
    dump body = *u;
    body.g = nxg_body_find(g->bodies[i])->graph;
    body.out = &text;
    status = clusters_of(&body);
    nxi_text_add(u->out, ";\n");
    add_comment(u->out, &text);
    u->out->failed = u->out->failed || text.failed;
    nxi_text_free(&text);
  }
  return status;
}

/* Shows the graph after its passes, then the groups as comments, so that the text still parses. */
static nx_status clusters_of(const dump *u) {
  nxi_executable_options shown = *u->options;
  nxp_options planned = {0};
  shown.printed = true;
  shown.executor = NXI_KERNEL_INTERP;
  nxi_kind_for(&shown)->plan_for(&shown, u->g, &planned);
  const nxp_products products = planned.products;
  nxp_cluster_options options = {shown.fuse, products, shown.target, false};
  nxg_graph *g = NULL;
  nxp_clusters *clusters = NULL;
  nx_status status = nxp_run_graph_passes(u->g, shown.fuse, products, NULL, &g, u->d);
  if (status == NX_OK) status = nxp_cluster(g, &options, &clusters, u->d);
  if (status == NX_OK) {
    nxg_print(g, u->out);
    nxp_clusters_print(g, clusters, u->out);
    status = clusters_of_bodies(u, g);
  }
  nxp_clusters_destroy(clusters);
  if (g != u->g) nxg_destroy(g);
  return status;
}

static nx_status show_clusters(const dump *u) { return clusters_of(u); }

/* ---- stages that need a plan */

static nx_status make(const dump *u, bool bound, nxi_executable **out) {
  nxi_executable_options options = *u->options;
  options.executor = NXI_KERNEL_INTERP;
  options.bound_interp = bound;
  options.kernels = NULL;
  options.printed = true;
  return nxi_executable_create(u->g, &options, NULL, NULL, out, NULL, u->d);
}

/* The executables of the bodies that a step runs; NULL: it runs none. *n: how many. */
static nxi_executable *const *bodies_of(const nxi_executable *e, uint32_t step, uint32_t *n) {
  const nxp_control *k = e->plan->steps[step].control;
  *n = k != NULL ? k->c.n_bodies : 0;
  return k != NULL ? e->bodies[step] : NULL;
}

/* Plans of bodies follow the one that runs them. Bodies nest at most NXG_BODY_DEPTH deep. */
static void print_plans(const nxi_executable *e, nxi_text *out) {
  nxp_plan_print(e->plan, out);
  for (uint32_t i = 0; i < e->plan->n_steps; i++) {
    uint32_t n;
    nxi_executable *const *bodies = bodies_of(e, i, &n);
    for (uint32_t b = 0; b < n; b++) {
      const nxg_graph *g = nxg_body_find(e->plan->steps[i].control->c.bodies[b])->graph;
      nxi_text_add(out, "\nbody @%s of step %u\n", g->name[0] != 0 ? g->name : "body", i);
      print_plans(bodies[b], out);
    }
  }
}

static nx_status show_plan(const dump *u) {
  nxi_executable *made = NULL;
  nx_status status = make(u, true, &made);
  if (status == NX_OK) print_plans(made, u->out);
  nxi_executable_destroy(made);
  return status;
}

/* What kernels of a plan are shown by. */
typedef struct shower {
  const dump *u;
  const nxp_plan *plan;
  kernel_fn show;
  uint32_t shown;
} shower;

static nx_status show_one(shower *s, const nxp_step *step) {
  if (s->shown++ > 0) nxi_text_add(s->u->out, "\n");
  return s->show(s->u, s->plan->kernels[step->kernel].ir);
}

/* The kernel of a step; of a product those within it, in the order in which they run. */
static nx_status show_step(shower *s, const nxp_step *step) {
  const nxp_staging *g = step->staging;
  nx_status status = NX_OK;
  if (step->kind == NXP_STEP_KERNEL) return show_one(s, step);
  if (step->chain != NULL) status = show_step(s, step->chain->product);
  for (int32_t i = 0; g != NULL && status == NX_OK && i < g->n_parts; i++)
    status = show_one(s, g->parts[i].kernel);
  if (step->epilogue != NULL && status == NX_OK) status = show_one(s, step->epilogue);
  return status;
}

/* Code of the device that is no kernel of the plan. */
static nx_status show_own_code(const shower *s, const nxp_step *step) {
  const dump *u = s->u;
  const stage *of = u->stage;
  if (of == NULL || of->code == NULL || of->kind->show_step == NULL) return NX_OK;
  const bool translated = of->code->translate != NULL;
  if (translated) u->so_far->target = *u->options->target;
  return of->kind->show_step(step, u->options->target, &u->so_far->shown,
                             translated ? &u->so_far->source : u->out, u->d);
}

/* The kernels of a plan in the order of its steps, and of the bodies that these run. */
static nx_status show_steps(shower *s, const nxi_executable *e) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; status == NX_OK && i < e->plan->n_steps; i++) {
    uint32_t n;
    nxi_executable *const *bodies = bodies_of(e, i, &n);
    s->plan = e->plan;
    status = show_step(s, &e->plan->steps[i]);
    if (status == NX_OK) status = show_own_code(s, &e->plan->steps[i]);
    for (uint32_t b = 0; b < n && status == NX_OK; b++) status = show_steps(s, bodies[b]);
  }
  return status;
}

/* Calls show for each kernel of a plan, with an empty line between two. */
static nx_status each_kernel(const dump *u, bool bound, kernel_fn show) {
  nxi_executable *made = NULL;
  nx_status status = make(u, bound, &made);
  if (status != NX_OK) return status;
  shower s = {.u = u, .show = show};
  u->so_far->of_plan = true;
  status = show_steps(&s, made);
  nxi_executable_destroy(made);
  return status;
}

static nx_status print_kernel(const dump *u, const nxk_kernel *k) {
  nxk_print(k, u->out);
  return NX_OK;
}

/* The same dump for a kind of device: for the target itself, if the kind runs its kernels, else for
 * the most common target of the kind. */
static dump for_kind(const dump *u, const nxi_device_kind *kind, nxi_executable_options *options,
                     nxi_target *target) {
  dump other = *u;
  *options = *u->options;
  if (kind->usual_isa != NULL && !kind->runs(u->options->target) &&
      nxi_target_for_isa(kind->usual_isa, target))
    options->target = target;
  other.options = options;
  return other;
}

static const nxi_device_kind *gpu_kind(void) {
  int i = 0;
  while (nxi_device_kinds[i]->usual_isa == NULL) i++;
  return nxi_device_kinds[i];
}

static nx_status show_gpu(const dump *u) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_kind(u, gpu_kind(), &options, &target);
  return each_kernel(&other, true, print_kernel);
}

static bool has_name(const so_far *s, const char *name) {
  for (uint32_t i = 0; i < s->n_named; i++)
    if (strcmp(s->named[i].name, name) == 0) return true;
  return false;
}

/* Gives the kernel a name of its own in the file. *there: it was printed before. */
static nx_status name_kernel(const dump *u, const nxk_kernel *k, nxk_kernel *out, bool *there) {
  so_far *s = u->so_far;
  *there = false;
  for (uint32_t i = 0; s->of_plan && i < s->n_named && !*there; i++)
    *there = s->named[i].kernel == k;
  if (*there) return NX_OK;
  if (!nxi_grow(&s->named, &s->cap_named, s->n_named + 1, sizeof *s->named)) return nxi_oom(u->d);
  *out = *k;
  for (uint32_t i = 2; has_name(s, out->name); i++)
    snprintf(out->name, sizeof out->name, "%.48s_%u", k->name, i);
  named *own = &s->named[s->n_named++];
  own->kernel = k;
  memcpy(own->name, out->name, sizeof own->name);
  return NX_OK;
}

/* Assembly of several kernels is one file, for which the symbols of each are made its own; other
 * code is one for which the kernels' names are. */
static nx_status print_code(const dump *u, const nxk_kernel *k) {
  const nxi_device_stage *stage = u->stage->code;
  const nxi_target *target = u->options->target;
  so_far *s = u->so_far;
  nxk_kernel own;
  bool there;
  if (strcmp(stage->name, "asm") == 0)
    return nxi_assembly_add(&s->assembly, k, stage, target, u->out, u->d);
  nx_status status = name_kernel(u, k, &own, &there);
  if (status != NX_OK || there) return status;
  const bool first = s->shown.kernels++ == 0;
  if (stage->translate == NULL) return stage->print(&own, target, first, u->out, u->d);
  s->target = *target;
  return stage->source->print(&own, target, first, &s->source, u->d);
}

/* The end of a dump: what is made of all kernels together, and whether all was printed. */
static nx_status finish(const dump *u, nx_status status) {
  so_far *s = u->so_far;
  if (status == NX_OK && s->source.failed) status = nxi_oom(u->d);
  if (status == NX_OK && s->source.size > 0)
    status = u->stage->code->translate(s->source.data, "dump", &s->target, u->out, u->d);
  nxi_assembly_free(&s->assembly);
  nxi_generic_dump_free(&s->generic);
  nxi_free(s->named);
  nxi_text_free(&s->source);
  return status == NX_OK && u->out->failed ? nxi_oom(u->d) : status;
}

static nx_status show_code(const dump *u) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_kind(u, u->stage->kind, &options, &target);
  return each_kernel(&other, true, print_code);
}

static nx_status print_generic(const dump *u, const nxk_kernel *k) {
  return nxi_generic_dump_add(&u->so_far->generic, k, u->options->target, u->out, u->d);
}

static nx_status show_generic(const dump *u) { return each_kernel(u, false, print_generic); }
static nx_status show_kernels(const dump *u) { return each_kernel(u, false, print_kernel); }
static nx_status show_bound(const dump *u) { return each_kernel(u, true, print_kernel); }

/* ---- stages of kernels that were read from a text */

static nx_status show_logical(const dump *u, const nxk_kernel *k) {
  if (k->level == NXK_LOGICAL) return print_kernel(u, k);
  return nxi_fail(u->d, NX_INVALID_ARGUMENT, "dump",
                  "dump: the kernel %s is bound; the stage kernels comes before that", k->name);
}

static nx_status show_logical_generic(const dump *u, const nxk_kernel *k) {
  if (k->level == NXK_LOGICAL) return print_generic(u, k);
  return nxi_fail(u->d, NX_INVALID_ARGUMENT, "dump",
                  "dump: the kernel %s is bound; the stage generic binds it in another way",
                  k->name);
}

/* Binds a logical kernel. A bound kernel is legalised for the target, which does not change one
 * that is legal. */
static nx_status bind_and(const dump *u, const nxk_kernel *k, kernel_fn show) {
  nxk_kernel *bound = NULL;
  nx_status status = NX_OK;
  if (k->level == NXK_LOGICAL) status = nxp_bind_kernel(k, u->options->target, &bound, u->d);
  else bound = nxk_pass_legalize(k, u->options->target, u->d);
  if (status == NX_OK && bound == NULL)
    status = u->d->status != NX_OK ? u->d->status : nxi_oom(u->d);
  if (status == NX_OK) status = show(u, bound);
  nxk_destroy(bound);
  return status;
}

static nx_status bind_and_print(const dump *u, const nxk_kernel *k) {
  return bind_and(u, k, print_kernel);
}

static nx_status bind_gpu_and_print(const dump *u, const nxk_kernel *k) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_kind(u, gpu_kind(), &options, &target);
  return bind_and(&other, k, print_kernel);
}

static nx_status bind_and_code(const dump *u, const nxk_kernel *k) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_kind(u, u->stage->kind, &options, &target);
  return bind_and(&other, k, print_code);
}

/* ---- the table */

static const stage stages[] = {
    {"graph", show_graph, NULL, NULL, NULL},
    {"clusters", show_clusters, NULL, NULL, NULL},
    {"kernels", show_kernels, show_logical, NULL, NULL},
    {"bound", show_bound, bind_and_print, NULL, NULL},
    {"generic", show_generic, show_logical_generic, NULL, NULL},
    {"plan", show_plan, NULL, NULL, NULL},
    {"gpu", show_gpu, bind_gpu_and_print, NULL, NULL},
    {"dot", show_dot, NULL, NULL, NULL},
};
enum { STAGES = sizeof stages / sizeof stages[0], UP_TO_PLAN = 6 };

/* Stage *i of the code of devices; else *i is less by as many as there are. */
static bool nth_code(size_t *i, stage *out) {
  for (int kind = 0; nxi_device_kinds[kind] != NULL; kind++)
    for (const nxi_device_stage *s = nxi_device_kinds[kind]->stages; s->name != NULL; s++) {
      if ((*i)-- > 0) continue;
      *out = (stage){s->name, show_code, bind_and_code, nxi_device_kinds[kind], s};
      return true;
    }
  return false;
}

/* Row i: of the table, where those of devices come after the stage `plan`. False: there are no
 * more. */
static bool nth_stage(size_t i, stage *out) {
  if (i >= UP_TO_PLAN) {
    i -= UP_TO_PLAN;
    if (nth_code(&i, out)) return true;
    i += UP_TO_PLAN;
  }
  if (i < STAGES) *out = stages[i];
  return i < STAGES;
}

/* False: no stage has that name; the failure lists all stages. */
static bool find_stage(const char *name, bool of_kernel, stage *out, nxi_diag *d) {
  nxi_text known = {0};
  for (size_t i = 0; nth_stage(i, out); i++) {
    if (of_kernel && out->of_kernel == NULL) continue;
    if (strcmp(out->name, name) == 0) return nxi_text_free(&known), true;
    nxi_text_add(&known, "%s%s", known.size > 0 ? ", " : "", out->name);
  }
  if (known.failed) nxi_oom(d);
  else
    nxi_fail(d, NX_INVALID_ARGUMENT, "dump", "dump: %s no stage \"%.40s\"; it is one of %s",
             of_kernel ? "a kernel has" : "there is", name, known.data);
  nxi_text_free(&known);
  return false;
}

nx_status nxi_dump(const nxg_graph *g, const nxi_executable_options *o, const char *name,
                   nxi_text *out, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  so_far state = {0};
  stage s;
  dump u = {g, o, out, d != NULL ? d : &own, &state, &s};
  if (!find_stage(name, false, &s, u.d)) return u.d->status;
  return finish(&u, s.of_graph(&u));
}

nx_status nxi_dump_text(const char *text, size_t size, const nxi_executable_options *o,
                        const char *name, nxi_text *out, nxi_diag *d) {
  nxp_ir ir = {0};
  so_far state = {0};
  stage s;
  dump u = {NULL, o, out, d, &state, &s};
  nx_status status = nxp_ir_read(text, size, &ir, d);
  bool kernels = status == NX_OK && ir.g == NULL;
  if (status == NX_OK && ir.g != NULL) status = nxi_dump(ir.g, o, name, out, d);
  else if (kernels && !find_stage(name, true, &s, d)) status = d->status;
  for (uint32_t i = 0; status == NX_OK && kernels && i < ir.n_kernels; i++) {
    if (i > 0) nxi_text_add(out, "\n");
    status = s.of_kernel(&u, ir.kernels[i]);
  }
  nxp_ir_free(&ir);
  return finish(&u, status);
}
