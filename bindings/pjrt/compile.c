/* SPDX-License-Identifier: ISC */
/* From a program to an executable, which knows no device, and from that to a loaded one, which has
 * a function of the library for each device. Kernels are compiled when it is first called. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "bindings/stablehlo/shards.h"
#include "calls.h"
#include "ir/alloc.h"

/* ---- ports */

static bool named(const nxh_attr *dict, const char *name) {
  const nxh_attr *a = dict != NULL && dict->kind == NXH_DICT
                          ? nxh_find(dict->dict.items, dict->dict.n, name)
                          : NULL;
  return a != NULL && (a->kind != NXH_BOOL || a->integer != 0);
}

/* The shape that a process has of an argument or a result: of a divided program its part's. */
static nxj_error *fill_shape(nxj_port *p, const nxh_type *t, const nxh_sharding *s,
                             const char *bad) {
  if (p->token) return NULL;
  if (bad == NULL && !nxh_local_shape(s, t, p->shape)) bad = "a tensor that cannot be divided so";
  return bad == NULL ? NULL : nxj_fail(NXJ_UNIMPLEMENTED, "nx: the program has %s", bad);
}

/* The kind of memory that an argument or a result is in. */
static nxj_error *fill_kind(nxj_port *p, const nxh_attr *dict) {
  const nxh_attr *a = dict != NULL && dict->kind == NXH_DICT
                          ? nxh_find(dict->dict.items, dict->dict.n, "mhlo.memory_kind")
                          : NULL;
  if (a == NULL || a->kind != NXH_STRING) return NULL;
  for (int k = 0; k < NXJ_KINDS; k++) {
    if (!nxh_word_is(a->word, nxj_kinds[k])) continue;
    p->kind = k;
    return NULL;
  }
  return nxj_fail(NXJ_UNIMPLEMENTED, "nx: the program wants memory of the kind %.*s",
                  (int)(a->word.length < 64 ? a->word.length : 64), a->word.at);
}

/* JAX gives an array of no booleans for a token, and takes one. */
static nxj_error *token_port(nxj_port *p) {
  p->token = true;
  p->type = NXJ_TYPE_PRED;
  p->rank = 1;
  p->shape = nxi_calloc(2, sizeof *p->shape);
  return p->shape != NULL ? NULL : nxj_no_memory();
}

static nxj_error *fill_port(nxj_port *p, const nxh_type *t, const char *what, size_t i) {
  if (t->kind == NXH_TOKEN) return token_port(p);
  p->type = t->kind == NXH_TENSOR ? nxj_type_of(t) : NXJ_TYPE_INVALID;
  if (p->type == NXJ_TYPE_INVALID)
    return nxj_fail(NXJ_UNIMPLEMENTED,
                    "nx: %s %zu of the program has %s %.*s, which %s not supported", what, i,
                    t->kind == NXH_TENSOR ? "elements of type" : "the type", (int)t->text.length,
                    t->text.at, t->kind == NXH_TENSOR ? "are" : "is");
  p->rank = t->rank;
  p->shape = nxi_malloc(nxj_shape_bytes(t->rank) + 1);
  if (p->shape == NULL) return nxj_no_memory();
  nxj_set_c_order(p->shape, (size_t)t->rank);
  for (int32_t k = 0; k < t->rank; k++) {
    p->shape[k] = t->shape[k];
    if (t->shape[k] < 0)
      return nxj_fail(NXJ_UNIMPLEMENTED, "nx: %s %zu of the program has extents that are not known",
                      what, i);
  }
  return NULL;
}

static int64_t bytes_of(const nxj_port *p) {
  int64_t n = nxj_elements(p->shape, (size_t)p->rank);
  return n < 0 ? 0 : (n * (int64_t)nx_dtype_bits(nxj_dtype_of(p->type)) + 7) / 8;
}

/* The result that the program gives an argument's memory to, as an attribute; NULL: none. */
static const nxh_attr *alias_of(const nxh_function *f, size_t i) {
  const nxh_attr *dict = f->arg_attrs != NULL ? &f->arg_attrs[i] : NULL;
  return named(dict, "tf.aliasing_output")
             ? nxh_find(dict->dict.items, dict->dict.n, "tf.aliasing_output")
             : NULL;
}

/* A donor that the program gives to no result by itself is donated to one of its size that has
 * none, or not at all: then its buffer is not deleted. */
static void match_donors(nxj_executable *e, const nxh_function *f) {
  for (size_t i = 0; i < e->n_in; i++) {
    const nxh_attr *to = alias_of(f, i);
    if (to != NULL && to->kind == NXH_INT && to->integer >= 0 && (uint64_t)to->integer < e->n_out)
      e->out[to->integer].donated = true;
  }
  for (size_t i = 0; i < e->n_in; i++) {
    if (!e->in[i].donated || alias_of(f, i) != NULL) continue;
    size_t o = 0;
    while (o < e->n_out &&
           (e->out[o].donated || e->out[o].token || bytes_of(&e->out[o]) != bytes_of(&e->in[i])))
      o++;
    if (o < e->n_out) e->out[o].donated = true;
    else e->in[i].donated = false;
  }
}

/* ---- results that are arguments */

static bool same_shape(const nxj_port *a, const nxj_port *b) {
  return a->type == b->type && a->rank == b->rank &&
         memcmp(a->shape, b->shape, nxj_shape_bytes(a->rank)) == 0;
}

/* 1 + the number of the argument that a result is; 0: it is computed, or donated. */
static size_t argument_of(const nxj_executable *e, const nxh_function *f, size_t result) {
  const nxh_op *last = nxh_last(&f->body);
  if (last == NULL || last->n_operands != e->n_out || e->out[result].token) return 0;
  nxh_value v = last->operands[result] - f->body.first;
  if (v >= e->n_in || e->in[v].token || e->in[v].donated) return 0;
  return same_shape(&e->in[v], &e->out[result]) ? 1 + (size_t)v : 0;
}

/* What a program of one device hands through takes no kernel and no copy. A program that does
 * nothing else is how a frontend copies, and stays one. */
static void find_arguments(nxj_executable *e, const nxh_module *m, const nxh_function *f) {
  size_t computed = 0;
  if (m->carried || e->options.replicas * e->options.partitions != 1) return;
  for (size_t i = 0; i < e->n_out; i++) computed += !e->out[i].token && argument_of(e, f, i) == 0;
  for (size_t i = 0; computed > 0 && i < e->n_out; i++) e->out[i].argument = argument_of(e, f, i);
}

static nxj_error *fill_results(nxj_executable *e, const nxh_module *m, const nxh_function *f) {
  nxj_error *error = NULL;
  nxh_sharding *all = NULL, whole = {0};
  const char *bad = e->options.partitions > 1 ? nxh_result_shardings(m, f, &all) : NULL;
  if (bad == nxh_no_room) return nxj_no_memory();
  for (size_t i = 0; error == NULL && i < e->n_out; i++) {
    error = fill_port(&e->out[i], &f->results[i], "result", i);
    if (error == NULL)
      error = fill_shape(&e->out[i], &f->results[i], all != NULL ? &all[i] : &whole, bad);
    if (error == NULL)
      error = fill_kind(&e->out[i], f->result_attrs != NULL ? &f->result_attrs[i] : NULL);
  }
  nxi_free(all);
  if (error == NULL) error = nxj_fill_layouts(e, m, f);
  if (error == NULL) match_donors(e, f);
  if (error == NULL) find_arguments(e, m, f);
  for (size_t i = 0; error == NULL && i < e->n_in; i++) e->in_bytes += bytes_of(&e->in[i]);
  for (size_t i = 0; error == NULL && i < e->n_out; i++) e->out_bytes += bytes_of(&e->out[i]);
  return error;
}

static nxj_error *fill_ports(nxj_executable *e, const nxh_module *m, const nxh_function *f) {
  nxj_error *error = NULL;
  e->n_in = f->body.n_args;
  e->n_out = f->n_results;
  e->in = nxi_calloc(e->n_in + e->n_out + 1, sizeof *e->in);
  if (e->in == NULL) return nxj_no_memory();
  e->out = e->in + e->n_in;
  for (size_t i = 0; error == NULL && i < e->n_in; i++) {
    const nxh_attr *attrs = f->arg_attrs != NULL ? &f->arg_attrs[i] : NULL;
    const nxh_type *t = nxh_type_of(m, f->body.first + (nxh_value)i);
    error = fill_port(&e->in[i], t, "argument", i);
    nxh_sharding s = {0};
    bool divided = e->options.partitions > 1 && t->kind == NXH_TENSOR;
    const char *bad = divided ? nxh_sharding_of(m, attrs, t->rank, &s) : NULL;
    if (error == NULL) error = fill_shape(&e->in[i], t, &s, bad);
    if (error == NULL) error = fill_kind(&e->in[i], attrs);
    e->in[i].donated = named(attrs, "jax.buffer_donor") || named(attrs, "tf.aliasing_output");
  }
  return error == NULL ? fill_results(e, m, f) : error;
}

/* Lists for questions about the outputs. */
static nxj_error *fill_answers(nxj_executable *e) {
  size_t dims = 0, n = e->n_in + e->n_out + 1;
  for (size_t i = 0; i < e->n_out; i++) dims += (size_t)e->out[i].rank;
  e->types = nxi_calloc(e->n_out + 1, sizeof *e->types);
  e->ranks = nxi_calloc(e->n_out + 1, sizeof *e->ranks);
  e->dims = nxi_calloc(dims + 1, sizeof *e->dims);
  e->kinds = nxi_calloc(n, sizeof *e->kinds);
  e->kind_sizes = nxi_calloc(n, sizeof *e->kind_sizes);
  if (!e->types || !e->ranks || !e->dims || !e->kinds || !e->kind_sizes) return nxj_no_memory();
  dims = 0;
  for (size_t i = 0; i < e->n_out; i++) {
    e->types[i] = e->out[i].type;
    e->ranks[i] = (size_t)e->out[i].rank;
    for (int32_t k = 0; k < e->out[i].rank; k++) e->dims[dims++] = e->out[i].shape[k];
  }
  for (size_t i = 0; i + 1 < n; i++) {
    e->kinds[i] = nxj_kinds[e->in[i].kind];
    e->kind_sizes[i] = strlen(e->kinds[i]);
  }
  return NULL;
}

/* ---- executables */

void nxj_executable_drop(nxj_executable *e) {
  if (e == NULL || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
  nxj_free_shardings(e);
  nxj_layouts_free(e->in_layouts, e->n_in);
  nxj_layouts_free(e->out_layouts, e->n_out);
  for (size_t i = 0; e->in != NULL && i < e->n_in + e->n_out; i++) nxi_free(e->in[i].shape);
  nxi_free(e->in);
  nxi_free(e->types);
  nxi_free(e->ranks);
  nxi_free(e->dims);
  nxi_free((void *)e->kinds);
  nxi_free(e->kind_sizes);
  nx_stablehlo_release(e->module);
  nxi_free(e->given);
  nxi_free(e);
}

static char *copy_of(const char *bytes, size_t n) {
  char *made = nxi_malloc(n + 1);
  if (made != NULL && n > 0) memcpy(made, bytes, n);
  return made;
}

static void name_it(nxj_executable *e, const nxh_module *m) {
  int n = m->name.length < sizeof e->name ? (int)m->name.length : (int)sizeof e->name - 1;
  snprintf(e->name, sizeof e->name, "%.*s", n, n > 0 ? m->name.at : "");
  if (n == 0) snprintf(e->name, sizeof e->name, "main");
}

static void make_fingerprint(const nxj_executable *e, char out[33]) {
  uint64_t seed = XXH3_64bits(e->given, e->n_given);
  XXH128_hash_t h = XXH3_128bits_withSeed(e->code, e->n_code, seed);
  size_t n_outside;
  const nxh_outside *outside = nxh_outside_of(e->module, &n_outside);
  for (size_t i = 0; i < n_outside; i++)
    h = XXH3_128bits_withSeed(outside[i].data, outside[i].bytes, h.low64 ^ h.high64);
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)h.high64, (unsigned long long)h.low64);
}

/* Made when it is asked for: of 20 MB of constants it takes a millisecond. Without the lock, so two
 * threads may make it. */
const char *nxj_fingerprint(nxj_executable *e) {
  char made[sizeof e->fingerprint];
  nxj_lock();
  bool known = e->fingerprint[0] != 0;
  nxj_unlock();
  if (known) return e->fingerprint;
  make_fingerprint(e, made);
  nxj_lock();
  if (e->fingerprint[0] == 0) memcpy(e->fingerprint, made, sizeof made);
  nxj_unlock();
  return e->fingerprint;
}

/* Programs may have many megabytes of constants, so there is one copy of them. */
static nxj_error *describe(nxj_executable *e) {
  e->code = nxh_bytes_of(e->module, &e->n_code);
  const nxh_module *m = nxh_module_of(e->module);
  const nxh_function *f = nxh_default_function(m);
  if (f == NULL) return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the module has no function @main");
  name_it(e, m);
  nxj_error *error = fill_ports(e, m, f);
  if (error == NULL && e->options.partitions > 1 && !nxj_fill_shardings(e)) error = nxj_no_memory();
  return error != NULL ? error : fill_answers(e);
}

nxj_error *nxj_compile_module(nx_stablehlo *m, const char *options, size_t n_options,
                              nxj_executable **out) {
  nxj_executable *e = nxi_calloc(1, sizeof *e);
  if (e == NULL) {
    nx_stablehlo_release(m);
    return nxj_no_memory();
  }
  atomic_init(&e->refs, 1);
  e->module = m;
  e->n_given = n_options;
  e->given = copy_of(options, n_options);
  nxj_error *error =
      e->given == NULL ? nxj_no_memory() : nxj_read_options(e->given, n_options, &e->options);
  if (error == NULL) error = describe(e);
  if (error == NULL) *out = e;
  else nxj_executable_drop(e);
  return error;
}

nxj_error *nxj_compile(const char *code, size_t n, const char *options, size_t n_options,
                       nxj_executable **out) {
  nx_stablehlo *m = NULL;
  nxj_error *error = nxj_of_status(nx_stablehlo_parse(code, n, &m));
  return error != NULL ? error : nxj_compile_module(m, options, n_options, out);
}

/* ---- loading */

void nxj_loaded_drop(nxj_loaded *l) {
  if (l == NULL || atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) != 1) return;
  for (int i = 0; i < l->n; i++) nx_function_release(l->functions[i]);
  if (atomic_load(&l->executable->bound)) nx_context_collect(l->client->context);
  nxj_executable_drop(l->executable);
  nxj_client_drop(l->client);
  nxi_free(l);
}

static nxj_error *choose_devices(nxj_loaded *l) {
  const nxj_options *o = &l->executable->options;
  int n = o->replicas * o->partitions;
  if (n > l->client->n)
    return nxj_fail(NXJ_INVALID_ARGUMENT,
                    "nx: the program is for %d devices, and there are %d (NX_CPU_DEVICES)", n,
                    l->client->n);
  if (o->n_assigned != 0 && o->n_assigned != n)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: %d devices are assigned to a program for %d",
                    o->n_assigned, n);
  for (int p = 0; p < o->partitions; p++)
    for (int r = 0; r < o->replicas; r++) {
      int at = r * o->partitions + p;
      int id = o->n_assigned != 0 ? o->assigned[p * o->replicas + r] : at;
      if (id < 0 || id >= l->client->n)
        return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: device %d is assigned, and there are %d", id,
                        l->client->n);
      l->devices[at] = l->client->devices[id];
      l->logical[at] = (nxj_logical){r, p};
    }
  return NULL;
}

/* What all functions of an executable are recorded with: a byte and an order for each tensor among
 * the arguments, and among the results. */
typedef struct recording {
  uint8_t *donate, *unwanted;
  const int32_t **in_orders, **out_orders;
  nx_stablehlo_mesh *mesh;
} recording;

static nxj_error *make_function(nxj_loaded *l, int i, const recording *how) {
  const nxj_options *given = &l->executable->options;
  nxj_place place = {i, given->replicas * given->partitions, &l->executable->bound};
  const nx_stablehlo_custom customs[] = {
      {"nx_host_callback", nxj_record_callback, &place},
      {"xla_ffi_python_cpu_callback", nxj_refuse_python, NULL},
      {"xla_ffi_partitioned_python_cpu_callback", nxj_refuse_python, NULL},
      {"CustomSPMDPartitioning", nxj_refuse_partitioning, NULL}};
  l->slots[i].client = l->client;
  nx_stablehlo_host host = nxj_host_of(&l->slots[i]);
  nx_stablehlo_options o = {.size = sizeof o,
                            .host = &host,
                            .device = l->devices[i]->index,
                            .customs = customs,
                            .n_customs = sizeof customs / sizeof *customs,
                            .donate = how->donate,
                            .unwanted = how->unwanted,
                            .input_orders = how->in_orders,
                            .output_orders = how->out_orders,
                            .mesh = how->mesh,
                            .replica = l->logical[i].replica,
                            .partition = l->logical[i].partition};
  nx_status s =
      nx_stablehlo_function(l->executable->module, l->client->context, &o, &l->functions[i]);
  if (s == NX_OK) l->n = i + 1;
  return nxj_of_status(s);
}

/* A mesh of its own for each executable: the order of one has nothing to do with that of others,
 * and what fails fails alone. */
static nxj_error *make_mesh(nxj_loaded *l, nx_stablehlo_mesh **out) {
  const nxj_options *o = &l->executable->options;
  nx_device devices[32];
  for (int i = 0; i < o->replicas * o->partitions; i++) devices[i] = l->devices[i]->index;
  return nxj_of_status(
      nx_stablehlo_mesh_create(l->client->context, o->replicas, o->partitions, devices, NULL, out));
}

/* The axes of a port from the outermost, as in tensors of it; NULL: C order, of which there is
 * nothing to say. */
static const int32_t *order_of(const nxj_port *p, int32_t **room) {
  int64_t own[NX_MAX_RANK], axes[NX_MAX_RANK];
  size_t rank = (size_t)p->rank;
  if (nxj_has_c_order(p->shape, rank)) return NULL;
  for (size_t k = 0; k < rank; k++) own[k] = (int64_t)k;
  nxj_in_memory(p->shape, rank, own, axes);
  if (memcmp(own, axes, rank * sizeof *own) == 0) return NULL;
  int32_t *order = *room;
  *room += rank;
  for (size_t k = 0; k < rank; k++) order[k] = (int32_t)axes[k];
  return order;
}

static void fill_recording(const nxj_executable *e, recording *how, int32_t *room) {
  for (size_t i = 0, at = 0; i < e->n_in; i++) {
    if (e->in[i].token) continue;
    how->donate[at] = e->in[i].donated;
    how->in_orders[at++] = order_of(&e->in[i], &room);
  }
  for (size_t i = 0, at = 0; i < e->n_out; i++) {
    if (e->out[i].token) continue;
    how->unwanted[at] = e->out[i].argument > 0;
    how->out_orders[at++] = order_of(&e->out[i], &room);
  }
}

static nxj_error *make_functions(nxj_loaded *l) {
  const nxj_executable *e = l->executable;
  int n = e->options.replicas * e->options.partitions;
  size_t ports = e->n_in + e->n_out + 2, axes = 0;
  for (size_t i = 0; i < e->n_in + e->n_out; i++) axes += (size_t)e->in[i].rank;
  const int32_t **orders =
      nxi_calloc(1, ports * (sizeof *orders + 1) + (axes + 1) * sizeof(int32_t));
  if (orders == NULL) return nxj_no_memory();
  int32_t *room = (int32_t *)(orders + ports);
  uint8_t *bytes = (uint8_t *)(room + axes + 1);
  recording how = {bytes, bytes + e->n_in, orders, orders + e->n_in, NULL};
  fill_recording(e, &how, room);
  nxj_error *error = n > 1 ? make_mesh(l, &how.mesh) : NULL;
  for (int i = 0; error == NULL && i < n; i++) error = make_function(l, i, &how);
  nx_stablehlo_mesh_release(how.mesh);
  nxi_free(orders);
  return error;
}

/* Takes the executable, also on failure. */
nxj_error *nxj_load(nxj_client *c, nxj_executable *e, nxj_loaded **out) {
  nxj_loaded *l = nxi_calloc(1, sizeof *l);
  if (l == NULL) {
    nxj_executable_drop(e);
    return nxj_no_memory();
  }
  atomic_init(&l->refs, 1);
  l->client = nxj_client_keep(c);
  l->executable = e;
  l->exchanges = nxh_exchanges(nxh_module_of(e->module));
  nxj_error *error = choose_devices(l);
  for (size_t i = 0; error == NULL && i < e->n_in + e->n_out; i++)
    if (e->in[i].kind >= c->n_kinds)
      error = nxj_fail(NXJ_UNIMPLEMENTED,
                       "nx: the program wants memory of the kind %s, and the "
                       "devices have none",
                       nxj_kinds[e->in[i].kind]);
  if (error == NULL) error = make_functions(l);
  if (error == NULL) nxj_prepare(*out = l);
  else nxj_loaded_drop(l);
  return error;
}

/* ---- calls */

static nxj_error *check_format(const nxj_program *p) {
  if (p->n_format == 4 && memcmp(p->format, "mlir", 4) == 0) return NULL;
  return nxj_fail(NXJ_UNIMPLEMENTED, "nx: programs of the format %.*s are not read; mlir is",
                  (int)(p->n_format < 64 ? p->n_format : 64), p->format);
}

nxj_error *nxj_client_compile(void *args) {
  NXJ_TAKE(client_compile, loaded);
  nxj_executable *made = NULL;
  nxj_error *e = check_format(a->program);
  if (e == NULL) e = nxj_compile(a->program->code, a->program->n, a->options, a->n_options, &made);
  return e != NULL ? e : nxj_load(a->client, made, &a->loaded);
}

nxj_error *nxj_compile_ahead(void *args) {
  NXJ_TAKE(compile, executable);
  nxj_error *e = check_format(a->program);
  return e != NULL ? e
                   : nxj_compile(a->program->code, a->program->n, a->options, a->n_options,
                                 &a->executable);
}

nxj_error *nxj_client_load(void *args) {
  NXJ_TAKE(client_load, loaded);
  atomic_fetch_add_explicit(&a->executable->refs, 1, memory_order_relaxed);
  return nxj_load(a->client, a->executable, &a->loaded);
}

/* ---- serialising: the program and its options, after a line of text. The kernels are in the cache
 * of kernels on disk, by their contents. */

static const char mark[] = "nx executable 1\n";
enum { MARK = sizeof mark - 1, HEAD = MARK + 16 };

nxj_error *nxj_executable_serialize(void *args) {
  NXJ_TAKE(executable_serialize, release);
  const nxj_executable *e = a->executable;
  uint64_t sizes[2] = {e->n_given, nxh_whole_size(e->module)};
  if (atomic_load(&e->bound))
    return nxj_fail(NXJ_UNIMPLEMENTED,
                    "nx: a program that calls functions of its process cannot be stored");
  nxj_bytes *b = nxj_bytes_new(HEAD + e->n_given + sizes[1]);
  if (b == NULL) return nxj_no_memory();
  memcpy(b->at, mark, MARK);
  memcpy(b->at + MARK, sizes, sizeof sizes);
  if (e->n_given > 0) memcpy(b->at + HEAD, e->given, e->n_given);
  nxh_write_whole(e->module, b->at + HEAD + e->n_given);
  a->bytes = b->at;
  a->n = b->n;
  a->owner = b;
  a->release = nxj_bytes_free;
  return NULL;
}

/* A program that was handed over, which has no options but those of the call. */
static nxj_error *load_named(struct nxj_deserialize_args *a, nx_stablehlo *m) {
  bool said = NXJ_HAS(a, n_options) && a->options != NULL;
  nxj_executable *made = NULL;
  nxj_error *e = nxj_compile_module(m, said ? a->options : "", said ? a->n_options : 0, &made);
  return e != NULL ? e : nxj_load(a->client, made, &a->loaded);
}

nxj_error *nxj_deserialize(void *args) {
  NXJ_TAKE(deserialize, loaded);
  bool unknown = false;
  nx_stablehlo *m = nxj_program_of(a->bytes, a->n, &unknown);
  if (m != NULL) return load_named(a, m);
  if (unknown)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: these bytes name no program of this process");
  uint64_t sizes[2] = {0, 0};
  if (a->n >= HEAD) memcpy(sizes, a->bytes + MARK, sizeof sizes);
  if (a->n < HEAD || memcmp(a->bytes, mark, MARK) != 0 || sizes[0] > a->n - HEAD ||
      sizes[1] != a->n - HEAD - sizes[0])
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: these bytes are no executable of this plugin");
  const char *options = a->bytes + HEAD;
  size_t n_options = sizes[0];
  if (NXJ_HAS(a, n_options) && a->options != NULL && a->n_options > 0) {
    options = a->options;
    n_options = a->n_options;
  }
  nxj_executable *made = NULL;
  nxj_error *e = nxj_compile(a->bytes + HEAD + sizes[0], sizes[1], options, n_options, &made);
  return e != NULL ? e : nxj_load(a->client, made, &a->loaded);
}
