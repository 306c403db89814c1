/* SPDX-License-Identifier: ISC */
/* Operations of a portable artifact. Values of a region have numbers in the order in which they are
 * made, behind those of the regions around it, up to one that is isolated; the numbers of a region
 * are free again when it ends. */
#include "bytecode.h"

#include <string.h>

enum {
  HAS_ATTRS = 1,
  HAS_RESULTS = 2,
  HAS_OPERANDS = 4,
  HAS_SUCCESSORS = 8,
  HAS_REGIONS = 16,
  HAS_USE_ORDER = 32,
  HAS_PROPERTIES = 64,
  MOST_NESTED = 64,
  VERSION = 6
};

/* The values of an isolated region and of those in it, by number. */
typedef struct scope {
  nxh_value *values;
  uint32_t n, capacity;
} scope;

typedef struct walk {
  nxh_artifact *a;
  scope *s;
  int depth;
} walk;

static bool read_region(walk *w, nxh_bytes *b, nxh_region *out);

/* ---- values */

/* Numbers for n values, without values yet. */
static bool reserve(walk *w, nxh_bytes *b, uint32_t n) {
  scope *s = w->s;
  if (n > (uint64_t)(b->end - b->at) ||
      !nxi_grow(&s->values, &s->capacity, s->n + n, sizeof *s->values))
    return n > (uint64_t)(b->end - b->at) ? nxh_malformed(w->a, b, "%u values", n)
                                          : (nxi_oom(w->a->d), false);
  for (uint32_t i = 0; i < n; i++) s->values[s->n + i] = NXH_NONE;
  s->n += n;
  return true;
}

/* Numbers of a region that are taken: from `next` on, below `end`. */
typedef struct numbers {
  uint32_t next, end;
} numbers;

static bool define(walk *w, nxh_bytes *b, numbers *n, const nxh_type *type, nxh_value *out) {
  if (n->next == n->end) return nxh_malformed(w->a, b, "more values than the region has");
  *out = nxh_add_value(w->a->m, type);
  if (*out == NXH_NONE) return nxi_oom(w->a->d), false;
  w->s->values[n->next++] = *out;
  return true;
}

/* ---- parts of an operation */

static bool read_results(walk *w, nxh_bytes *b, numbers *n, nxh_op *op) {
  if (!nxh_count(w->a, b, &op->n_results)) return false;
  op->first_result = w->a->m->n_values;
  for (uint32_t i = 0; i < op->n_results; i++) {
    nxh_type type;
    nxh_value v;
    if (!nxh_read_type_number(w->a, b, &type) || !define(w, b, n, &type, &v)) return false;
  }
  return true;
}

static bool read_operands(walk *w, nxh_bytes *b, nxh_op *op) {
  if (!nxh_count(w->a, b, &op->n_operands)) return false;
  nxh_value *list = nxh_room(w->a, op->n_operands, sizeof *list);
  if (list == NULL) return false;
  for (uint32_t i = 0; i < op->n_operands; i++) {
    uint32_t number = 0;
    if (!nxh_number_below(w->a, b, w->s->n, "values", &number) || w->s->values == NULL)
      return false;
    if ((list[i] = w->s->values[number]) == NXH_NONE)
      return nxh_malformed(w->a, b, "a value that is not there yet");
  }
  op->operands = list;
  return true;
}

/* Of several values: how many follow, each with its number; of each a list of numbers. */
static bool skip_use_order(walk *w, nxh_bytes *b, uint32_t n) {
  uint64_t count = 1, value, indices;
  if (n > 1 && !nxh_varint(w->a, b, &count)) return false;
  for (; count > 0; count--) {
    if ((n > 1 && !nxh_varint(w->a, b, &value)) || !nxh_varint(w->a, b, &indices)) return false;
    for (indices >>= 1; indices > 0; indices--)
      if (!nxh_varint(w->a, b, &value)) return false;
  }
  return true;
}

/* Attributes of the operation itself: their numbers, in the order of its kind. */
static bool read_properties(walk *w, nxh_bytes *b, const char *names, nxh_named *list,
                            uint32_t *n) {
  uint32_t number;
  if (!nxh_number_below(w->a, b, w->a->n_properties, "properties", &number)) return false;
  nxh_bytes bytes = w->a->properties[number];
  while (*names != 0) {
    const char *end = strchr(names, ' ');
    uint32_t length = (uint32_t)(end != NULL ? (size_t)(end - names) : strlen(names));
    list[*n].name = (nxh_word){names, length};
    if (!nxh_read_attr_number(w->a, &bytes, &list[*n].value)) return false;
    (*n)++;
    names += length + (end != NULL);
  }
  return true;
}

enum { MOST_PROPERTIES = 24 };

static bool read_attrs(walk *w, nxh_bytes *b, uint8_t mask, const char *names, nxh_op *op) {
  nxh_attr beside = {.kind = NXH_DICT};
  nxh_named own[MOST_PROPERTIES];
  uint32_t n = 0;
  if (mask & HAS_ATTRS && !nxh_read_attr_number(w->a, b, &beside)) return false;
  if (beside.kind != NXH_DICT) return nxh_malformed(w->a, b, "attributes that are no dictionary");
  if (mask & HAS_PROPERTIES && !read_properties(w, b, names, own, &n)) return false;
  nxh_named *all = nxh_room(w->a, (size_t)n + beside.dict.n, sizeof *all);
  if (all == NULL) return false;
  memcpy(all, own, n * sizeof *own);
  if (beside.dict.n > 0) memcpy(all + n, beside.dict.items, beside.dict.n * sizeof *all);
  op->attrs = all;
  op->n_attrs = n + beside.dict.n;
  return true;
}

static bool read_each(walk *w, nxh_bytes *b, nxh_region *regions, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!read_region(w, b, &regions[i])) return false;
  return true;
}

/* Regions that see no value from around them: all in one section, with numbers of their own. */
static bool read_isolated(walk *w, nxh_bytes *b, nxh_region *regions, uint32_t n) {
  uint8_t id;
  nxh_bytes inside;
  scope own = {0}, *outer = w->s;
  w->s = &own;
  bool ok = nxh_section(w->a, b, &id, &inside) && read_each(w, &inside, regions, n);
  w->s = outer;
  nxi_free(own.values);
  return ok;
}

static bool read_regions(walk *w, nxh_bytes *b, nxh_op *op) {
  uint64_t encoding;
  if (!nxh_varint(w->a, b, &encoding)) return false;
  if (encoding >> 1 > (uint64_t)(b->end - b->at))
    return nxh_malformed(w->a, b, "a count of regions");
  op->n_regions = (uint32_t)(encoding >> 1);
  nxh_region *regions = nxh_room(w->a, op->n_regions, sizeof *regions);
  if (regions == NULL) return false;
  op->regions = regions;
  return encoding & 1 ? read_isolated(w, b, regions, op->n_regions)
                      : read_each(w, b, regions, op->n_regions);
}

/* ---- operations */

static bool join_name(walk *w, const char *before, nxh_word name, nxh_word *out) {
  size_t n = strlen(before);
  char *full = nxh_room(w->a, n + name.length, 1);
  if (full == NULL) return false;
  for (size_t i = 0; i < n; i++) full[i] = before[i];
  memcpy(full + n, name.at, name.length);
  *out = (nxh_word){full, (uint32_t)(n + name.length)};
  return true;
}

/* "add_v1" of vhlo is stablehlo.add; calls and returns are those of func. Operations of sdy come
 * beside them, as they are. */
static bool name_op(walk *w, nxh_bytes *b, const nxh_op_name *n, nxh_op *op, const char **attrs) {
  nxh_word name = w->a->strings[n->string], plain;
  if (nxh_is_dialect(w->a, n->dialect, "builtin") && nxh_word_is(name, "module")) {
    op->name = nxh_word_of("builtin.module");
    *attrs = NULL;
    return true;
  }
  if (nxh_is_dialect(w->a, n->dialect, "builtin") &&
      nxh_word_is(name, "unrealized_conversion_cast")) { /* between types of vhlo and of builtin */
    op->name = nxh_word_of("builtin.unrealized_conversion_cast");
    *attrs = "";
    return true;
  }
  bool sdy = nxh_is_dialect(w->a, n->dialect, "sdy");
  if (sdy) *attrs = nxh_sdy_op(name);
  else *attrs = nxh_is_dialect(w->a, n->dialect, "vhlo") ? nxh_vhlo_op(name, &plain) : NULL;
  if (*attrs == NULL)
    return nxh_malformed(w->a, b, "the operation %.*s is not known", (int)name.length, name.at);
  if (sdy) return join_name(w, "sdy.", name, &op->name);
  if (nxh_word_is(plain, "func") || nxh_word_is(plain, "call")) {
    op->name = nxh_word_of(nxh_word_is(plain, "func") ? "func.func" : "func.call");
    return true;
  }
  return join_name(w, "stablehlo.", plain, &op->name);
}

/* Of a module its name is kept, which may be missing: then the number of its attribute is even. */
static bool read_module_name(walk *w, nxh_bytes *b, uint8_t mask) {
  uint64_t number;
  uint32_t properties;
  if (mask & HAS_ATTRS && !nxh_varint(w->a, b, &number)) return false;
  if (!(mask & HAS_PROPERTIES)) return true;
  if (!nxh_number_below(w->a, b, w->a->n_properties, "properties", &properties)) return false;
  nxh_bytes bytes = w->a->properties[properties];
  nxh_attr name = {0};
  if (!nxh_varint(w->a, &bytes, &number)) return false;
  if (!(number & 1)) return true;
  if (number >> 1 > UINT32_MAX || !nxh_get_attr(w->a, b, (uint32_t)(number >> 1), &name))
    return false;
  if (name.kind == NXH_STRING && w->depth == 0) w->a->m->name = name.word;
  return true;
}

static bool read_op(walk *w, nxh_bytes *b, numbers *n, nxh_op *op) {
  uint32_t name;
  uint64_t location;
  uint8_t mask;
  const char *attrs;
  *op = (nxh_op){.column = (uint32_t)(b->at - w->a->start)};
  if (!nxh_number_below(w->a, b, w->a->n_names, "operations", &name) ||
      !name_op(w, b, &w->a->names[name], op, &attrs) || !nxh_byte(w->a, b, &mask) ||
      !nxh_varint(w->a, b, &location))
    return false;
  if (location < w->a->n_attrs) op->location = (uint32_t)location + 1;
  if (mask & HAS_SUCCESSORS) return nxh_malformed(w->a, b, "branches between blocks");
  if (attrs != NULL) {
    if (!read_attrs(w, b, mask, attrs, op)) return false;
  } else if (!read_module_name(w, b, mask)) {
    return false;
  }
  if (mask & HAS_RESULTS && !read_results(w, b, n, op)) return false;
  if (mask & HAS_OPERANDS && !read_operands(w, b, op)) return false;
  if (mask & HAS_USE_ORDER && !skip_use_order(w, b, op->n_results)) return false;
  return !(mask & HAS_REGIONS) || read_regions(w, b, op);
}

/* ---- regions */

static bool read_arguments(walk *w, nxh_bytes *b, numbers *n, nxh_region *out) {
  uint8_t ordered;
  if (!nxh_count(w->a, b, &out->n_args)) return false;
  for (uint32_t i = 0; i < out->n_args; i++) {
    uint64_t type_and_location, location;
    nxh_type type;
    nxh_value v;
    if (!nxh_varint(w->a, b, &type_and_location) || type_and_location >> 1 > UINT32_MAX ||
        !nxh_get_type(w->a, b, (uint32_t)(type_and_location >> 1), &type) ||
        (type_and_location & 1 && !nxh_varint(w->a, b, &location)) || !define(w, b, n, &type, &v))
      return false;
  }
  if (!nxh_byte(w->a, b, &ordered)) return false;
  return ordered == 0 || skip_use_order(w, b, out->n_args);
}

static bool read_block(walk *w, nxh_bytes *b, numbers *n, nxh_region *out) {
  uint64_t encoding;
  if (!nxh_varint(w->a, b, &encoding)) return false;
  if (encoding >> 1 > (uint64_t)(b->end - b->at))
    return nxh_malformed(w->a, b, "a count of operations");
  out->first = w->a->m->n_values;
  if (encoding & 1 && !read_arguments(w, b, n, out)) return false;
  uint32_t count = (uint32_t)(encoding >> 1);
  if ((out->ops = nxh_room(w->a, count, sizeof *out->ops)) == NULL) return false;
  for (uint32_t i = 0; i < count; i++) {
    if (!read_op(w, b, n, &out->ops[i])) return false;
    out->n_ops++;
  }
  return true;
}

static bool read_region(walk *w, nxh_bytes *b, nxh_region *out) {
  uint32_t blocks, values;
  *out = (nxh_region){.first = w->a->m->n_values};
  if (!nxh_count(w->a, b, &blocks)) return false;
  if (blocks == 0) return true;
  if (blocks > 1) return nxh_malformed(w->a, b, "a region of %u blocks", blocks);
  if (w->depth == MOST_NESTED) return nxh_malformed(w->a, b, "more than %d regions nest", w->depth);
  if (!nxh_count(w->a, b, &values)) return false;
  numbers n = {w->s->n, w->s->n + values};
  if (!reserve(w, b, values)) return false;
  w->depth++;
  bool ok = read_block(w, b, &n, out);
  w->depth--;
  w->s->n -= values;
  return ok;
}

/* ---- functions */

static bool add_function(nxh_artifact *a, nxh_bytes *b, const nxh_op *op, nxh_value end) {
  nxh_module *m = a->m;
  const nxh_attr *name = nxh_get(op, "sym_name"), *visibility = nxh_get(op, "sym_visibility");
  nxh_function f = {.end = end, .column = op->column};
  if (name == NULL || name->kind != NXH_STRING || op->n_regions != 1 ||
      !nxh_function_type(a, nxh_get(op, "function_type"), &f.results, &f.n_results))
    return nxh_malformed(a, b, "a function without a name, a type or a body");
  const nxh_attr *args = nxh_get(op, "arg_attrs"), *results = nxh_get(op, "res_attrs");
  if (args != NULL && args->kind == NXH_LIST && args->list.n == op->regions[0].n_args)
    f.arg_attrs = args->list.items;
  if (results != NULL && results->kind == NXH_LIST && results->list.n == f.n_results)
    f.result_attrs = results->list.items;
  f.name = name->word;
  f.body = op->regions[0];
  f.is_private = visibility != NULL && visibility->kind == NXH_STRING &&
                 nxh_word_is(visibility->word, "private");
  if (nxh_find_function(m, f.name)) return nxh_malformed(a, b, "two functions of one name");
  if (!nxi_grow(&m->functions, &m->cap_functions, m->n_functions + 1, sizeof f))
    return nxi_oom(a->d), false;
  m->functions[m->n_functions++] = f;
  return true;
}

/* most: how many there may be. */
static bool add_mesh(nxh_artifact *a, nxh_bytes *b, const nxh_op *op, uint32_t most) {
  nxh_module *m = a->m;
  const nxh_attr *name = nxh_get(op, "sym_name"), *mesh = nxh_get(op, "mesh");
  if (m->grids == NULL && (m->grids = nxh_room(a, most, sizeof *m->grids)) == NULL) return false;
  if (name == NULL || name->kind != NXH_STRING || mesh == NULL ||
      !nxh_read_grid(&m->arena, name->word, mesh, &m->grids[m->n_grids]))
    return nxh_malformed(a, b, "a mesh that is not understood");
  m->n_grids++;
  return true;
}

/* The values of a function are those from its first one to that of the next. */
static bool add_functions(nxh_artifact *a, nxh_bytes *b, const nxh_op *module) {
  if (!nxh_word_is(module->name, "builtin.module") || module->n_regions != 1)
    return nxh_malformed(a, b, "the outermost operation is no module");
  const nxh_region *body = &module->regions[0];
  for (uint32_t i = 0; i < body->n_ops; i++) {
    const nxh_op *op = &body->ops[i];
    bool last = i + 1 == body->n_ops;
    nxh_value end = last || body->ops[i + 1].n_regions != 1 ? a->m->n_values
                                                            : body->ops[i + 1].regions[0].first;
    if (nxh_word_is(op->name, "sdy.mesh")) {
      if (!add_mesh(a, b, op, body->n_ops)) return false;
      continue;
    }
    if (!nxh_word_is(op->name, "func.func"))
      return nxh_malformed(a, b, "what is no function in the module");
    if (!add_function(a, b, op, end)) return false;
  }
  return a->m->n_functions > 0 || nxh_malformed(a, b, "the module has no function");
}

static bool read_file(nxh_artifact *a, nxh_bytes *file) {
  uint64_t version;
  file->at += 4;
  if (!nxh_varint(a, file, &version)) return false;
  if (version != VERSION)
    return nxh_malformed(a, file, "MLIR bytecode of version %llu; version %d is read",
                         (unsigned long long)version, VERSION);
  const uint8_t *zero = memchr(file->at, 0, (size_t)(file->end - file->at));
  if (zero == NULL) return nxh_malformed(a, file, "the name of the producer does not end");
  file->at = zero + 1;
  if (!nxh_read_tables(a, file)) return false;
  nxh_region top = {0};
  scope s = {0};
  walk w = {.a = a, .s = &s};
  numbers none = {0};
  nxh_bytes ir = a->ir;
  bool ok = read_block(&w, &ir, &none, &top);
  nxi_free(s.values);
  if (!ok) return false;
  if (top.n_ops != 1) return nxh_malformed(a, &ir, "expected one module");
  return add_functions(a, &ir, &top.ops[0]);
}

/* Places of operations are read from them when a failure asks. */
static bool keep_tables(nxh_artifact *a) {
  nxh_artifact *kept = nxi_arena_copy(&a->m->arena, a, sizeof *a);
  if (kept == NULL) return nxi_oom(a->d), false;
  kept->d = NULL;
  a->m->artifact = kept;
  return true;
}

bool nxh_is_bytecode(const void *bytes, size_t size) {
  return size >= 4 && memcmp(bytes, "ML\xEFR", 4) == 0;
}

nx_status nxh_read_bytecode(const void *bytes, size_t size, nxh_module *out, nxi_diag *d) {
  *out = (nxh_module){0};
  if (size > INT32_MAX) return nxi_fail(d, NX_PARSE, "stablehlo", "a file of more than 2^31 bytes");
  nxh_artifact a = {.start = bytes, .m = out, .d = d};
  nxh_bytes file = {bytes, (const uint8_t *)bytes + size};
  if (read_file(&a, &file) && keep_tables(&a)) return NX_OK;
  nxh_module_destroy(out);
  return d->status;
}
