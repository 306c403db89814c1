/* SPDX-License-Identifier: ISC */
/* The forms that single operations have in the text. Most are operands, words and clauses such as
 * `dims = [0, 1]` in some order, then attributes in braces and the type; clauses are kept under the
 * names that their attributes have in general form. The rest have a function each. */
#include <string.h>

#include "text_names.h"

/* ---- attributes made here */

static bool add(nxh_reader *r, nxh_draft *op, const char *name, const nxh_attr *value) {
  return nxh_add_attr(r, &op->attrs, nxh_word_of(name), value);
}

static bool add_integer(nxh_reader *r, nxh_draft *op, const char *name, int64_t value) {
  nxh_attr a = {.kind = NXH_INT};
  a.integer = value;
  return add(r, op, name, &a);
}

static bool add_list(nxh_reader *r, nxh_draft *op, const char *name, const int64_t *values,
                     uint32_t n) {
  nxh_attr a = {.kind = NXH_LIST}, *items = nxi_arena_alloc(&r->m->arena, (n + 1) * sizeof a);
  if (items == NULL) return nxh_no_memory(r);
  for (uint32_t i = 0; i < n; i++) {
    items[i].kind = NXH_INT;
    items[i].integer = values[i];
  }
  a.list.items = items;
  a.list.n = n;
  return add(r, op, name, &a);
}

/* ---- clauses */

/* What a clause of an operation is called in general form; no operation: of all others. */
static const struct {
  const char *clause, *op, *attr;
} clauses[] = {
    {"dims", "stablehlo.broadcast_in_dim", "broadcast_dimensions"},
    {"dims", "stablehlo.dynamic_broadcast_in_dim", "broadcast_dimensions"},
    {"dims", "stablehlo.transpose", "permutation"},
    {"dims", "stablehlo.reverse", "dimensions"},
    {"dim", "stablehlo.iota", "iota_dimension"},
    {"dim", "stablehlo.dynamic_iota", "iota_dimension"},
    {"dim", NULL, "dimension"},
    {"sizes", NULL, "slice_sizes"},
    {"config", NULL, "einsum_config"},
    {"precision", NULL, "precision_config"},
    {"type", "stablehlo.fft", "fft_type"},
    {"length", "stablehlo.fft", "fft_length"},
    {"low", "stablehlo.pad", "edge_padding_low"},
    {"high", "stablehlo.pad", "edge_padding_high"},
    {"interior", "stablehlo.pad", "interior_padding"},
    {"algorithm", "stablehlo.rng_bit_generator", "rng_algorithm"},
    {"distribution", "stablehlo.rng", "rng_distribution"},
};

static nxh_word attr_of_clause(nxh_word op, nxh_word clause) {
  for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++)
    if (nxh_word_is(clause, clauses[i].clause) &&
        (clauses[i].op == NULL || nxh_word_is(op, clauses[i].op)))
      return nxh_word_of(clauses[i].attr);
  return clause;
}

/* contracting_dims = [1] x [0] */
static bool read_pair(nxh_reader *r, nxh_draft *op, nxh_word clause) {
  nxh_attr left, right;
  bool batch = nxh_word_is(clause, "batching_dims");
  return nxh_read_attr(r, &left) && nxh_need(r, "x") && nxh_read_attr(r, &right) &&
         add(r, op, batch ? "lhs_batching_dimensions" : "lhs_contracting_dimensions", &left) &&
         add(r, op, batch ? "rhs_batching_dimensions" : "rhs_contracting_dimensions", &right);
}

/* format = e5m10 */
static bool read_format(nxh_reader *r, nxh_draft *op) {
  int64_t exponent, mantissa;
  if (nxh_peek(r) != 'e') return nxh_expected(r, "expected a format such as e5m10");
  r->at++;
  if (!nxh_read_integer(r, &exponent)) return false;
  if (nxh_peek(r) != 'm') return nxh_expected(r, "expected m and bits of the fraction");
  r->at++;
  return nxh_read_integer(r, &mantissa) && add_integer(r, op, "exponent_bits", exponent) &&
         add_integer(r, op, "mantissa_bits", mantissa);
}

static bool read_clause(nxh_reader *r, nxh_draft *op, nxh_word clause) {
  if (nxh_word_is(clause, "contracting_dims") || nxh_word_is(clause, "batching_dims"))
    return read_pair(r, op, clause);
  if (nxh_word_is(clause, "format")) return read_format(r, op);
  char c = nxh_peek(r);
  nxh_attr value = {.kind = NXH_INT};
  /* Not as an attribute: the type that may follow is the operation's. */
  bool number = c == '-' || (c >= '0' && c <= '9');
  bool read;
  if (c == '"') {
    value.kind = NXH_STRING;
    read = nxh_read_string(r, &value.word);
  } else {
    read = number ? nxh_read_integer(r, &value.integer) : nxh_read_attr(r, &value);
  }
  return read && nxh_add_attr(r, &op->attrs, attr_of_clause(op->name, clause), &value);
}

/* A word that no = follows: what compare compares, and as what. */
static bool add_bare_word(nxh_reader *r, nxh_draft *op, nxh_word word) {
  nxh_attr value = {.kind = NXH_NAME};
  value.word = word;
  return add(r, op, op->n_operands == 0 ? "comparison_direction" : "compare_type", &value);
}

static bool read_word_item(nxh_reader *r, nxh_draft *op) {
  nxh_word word;
  if (!nxh_read_word(r, &word)) return false;
  return nxh_eat(r, "=") ? read_clause(r, op, word) : add_bare_word(r, op, word);
}

/* [0:1, 2:8:3], or of a tuple [0] */
static bool read_ranges(nxh_reader *r, nxh_draft *op) {
  int64_t start[NX_MAX_RANK], stop[NX_MAX_RANK], step[NX_MAX_RANK];
  uint32_t n = 0;
  r->at++;
  while (!nxh_eat(r, "]")) {
    if (n == NX_MAX_RANK) return nxh_expected(r, "more than %d axes", NX_MAX_RANK);
    if ((n > 0 && !nxh_need(r, ",")) || !nxh_read_integer(r, &start[n])) return false;
    if (n == 0 && nxh_eat(r, "]")) return add_integer(r, op, "index", start[0]);
    step[n] = 1;
    if (!nxh_need(r, ":") || !nxh_read_integer(r, &stop[n])) return false;
    if (nxh_eat(r, ":") && !nxh_read_integer(r, &step[n])) return false;
    n++;
  }
  return add_list(r, op, "start_indices", start, n) && add_list(r, op, "limit_indices", stop, n) &&
         add_list(r, op, "strides", step, n);
}

static bool read_item(nxh_reader *r, nxh_draft *op) {
  char c = nxh_peek(r);
  if (c == '%') return nxh_read_operand(r, op);
  if (c == '[') return read_ranges(r, op);
  return nxh_at_word(r) ? read_word_item(r, op) : nxh_expected(r, "expected an operand");
}

/* Items up to the attributes or the type, with commas between them; a range stands right behind its
 * operand. */
static bool read_items(nxh_reader *r, nxh_draft *op) {
  enum { NOTHING, COMMA, ITEM } last = NOTHING;
  for (int open = 0;;) {
    char c = nxh_peek(r);
    bool ends = c == '{' || c == ':' || c == '}' || c == 0 || (c == ')' && open > 0);
    if (last == COMMA && (ends || c == ',')) return nxh_expected(r, "expected an operand");
    if (ends && c != ')') return open == 0 || nxh_expected(r, "expected )");
    if (c == ')') open--, r->at++, last = ITEM;
    else if (c == '(' && last != ITEM) open++, r->at++, last = NOTHING;
    else if (c == ',' && last == ITEM) r->at++, last = COMMA;
    else if (last == ITEM && c != '[') return nxh_expected(r, "expected a comma");
    else if (read_item(r, op)) last = ITEM;
    else return false;
  }
}

static bool read_usual(nxh_reader *r, nxh_draft *op) {
  return read_items(r, op) && nxh_read_dict(r, &op->attrs) && nxh_read_op_type(r, op);
}

/* ---- operations with forms of their own */

static bool read_constant(nxh_reader *r, nxh_draft *op) {
  nxh_attr value;
  if (!nxh_read_dict(r, &op->attrs) || !nxh_read_attr(r, &value)) return false;
  if (value.kind != NXH_ELEMENTS) return nxh_expected(r, "expected dense<..>");
  op->results = value.elements.type;
  op->n_results = 1;
  return add(r, op, "value", &value);
}

static bool read_call(nxh_reader *r, nxh_draft *op) {
  nxh_attr callee;
  if (nxh_peek(r) != '@') return nxh_expected(r, "expected @");
  if (!nxh_read_attr(r, &callee)) return false;
  bool custom = nxh_word_is(op->name, "stablehlo.custom_call");
  if (custom) callee.kind = NXH_STRING;
  return add(r, op, custom ? "call_target_name" : "callee", &callee) && read_usual(r, op);
}

/* "name" %a, %b {..} : .. */
static bool read_composite(nxh_reader *r, nxh_draft *op) {
  nxh_attr name;
  return nxh_read_attr(r, &name) && add(r, op, "name", &name) && read_usual(r, op);
}

static bool read_return(nxh_reader *r, nxh_draft *op) {
  bool bare = nxh_peek(r) != '%' && *r->at != '('; /* a location may follow */
  if ((!bare && !read_items(r, op)) || !nxh_read_dict(r, &op->attrs)) return false;
  return (nxh_peek(r) != ':' || nxh_read_op_type(r, op)) &&
         nxh_check_operands(r, op, op->results, op->n_results);
}

/* The values that a loop carries: names inside, and operands. */
typedef struct carried {
  nxh_word *names;
  uint32_t n, capacity;
} carried;

static bool read_carried(nxh_reader *r, nxh_draft *op, carried *c) {
  if (!nxh_need(r, "(")) return false;
  while (!nxh_eat(r, ")")) {
    if (c->n > 0 && !nxh_need(r, ",")) return false;
    nxh_word *name = nxh_push(r, &c->names, &c->n, &c->capacity, sizeof *name);
    if (name == NULL || !nxh_need(r, "%") || !nxh_read_name(r, name) || !nxh_need(r, "=") ||
        !nxh_read_operand(r, op))
      return false;
  }
  return true;
}

/* (%i = %0, %x = %1) : types cond {..} do {..} */
static bool read_while(nxh_reader *r, nxh_draft *op) {
  carried c = {0};
  bool ok = read_carried(r, op, &c);
  if (ok && c.n > 0) ok = nxh_read_op_type(r, op);
  ok = ok && nxh_check_operands(r, op, op->results, op->n_results);
  if (ok && nxh_eat(r, "attributes")) ok = nxh_read_dict(r, &op->attrs);
  ok = ok && nxh_need(r, "cond") && nxh_read_region(r, op, c.names, op->results, c.n) &&
       nxh_need(r, "do") && nxh_read_region(r, op, c.names, op->results, c.n);
  nxi_free(c.names);
  return ok;
}

/* (%x, ..) inits(%a, ..) dimension=0 [attributes {..}] {..} : types */
static bool read_scan(nxh_reader *r, nxh_draft *op) {
  int64_t sizes[2], axis;
  for (int side = 0; side < 2; side++) {
    uint32_t before = op->n_operands;
    if ((side > 0 && !nxh_need(r, "inits")) || !nxh_need(r, "(")) return false;
    while (!nxh_eat(r, ")"))
      if ((op->n_operands > before && !nxh_need(r, ",")) || !nxh_read_operand(r, op)) return false;
    sizes[side] = op->n_operands - before;
  }
  if (!nxh_need(r, "dimension") || !nxh_need(r, "=") || !nxh_read_integer(r, &axis) ||
      !add_integer(r, op, "dimension", axis) || !add_list(r, op, "operandSegmentSizes", sizes, 2))
    return false;
  if (nxh_eat(r, "attributes") && !nxh_read_dict(r, &op->attrs)) return false;
  return nxh_read_region(r, op, NULL, NULL, 0) && nxh_read_op_type(r, op);
}

/* ---- reduce */

/* (%x init: %a), (%y init: %b) */
static bool read_reduced(nxh_reader *r, nxh_draft *op) {
  nxh_value init[NX_MAX_RANK];
  uint32_t n = 0;
  do {
    if (n == NX_MAX_RANK) return nxh_expected(r, "more than %d operands", NX_MAX_RANK);
    if (!nxh_need(r, "(") || !nxh_read_operand(r, op) || !nxh_need(r, "init") ||
        !nxh_need(r, ":") || !nxh_read_value(r, &init[n++]) || !nxh_need(r, ")"))
      return false;
  } while (nxh_eat(r, ","));
  for (uint32_t i = 0; i < n; i++) {
    nxh_value *slot = nxh_push(r, &op->operands, &op->n_operands, &op->cap_operands, sizeof *slot);
    if (slot == NULL) return false;
    *slot = init[i];
  }
  return true;
}

/* (%a: tensor<f32>, %b: tensor<f32>) for each operand: what is combined so far, and an element. */
static bool read_reducer(nxh_reader *r, nxh_draft *op) {
  nxh_word names[2][NX_MAX_RANK], all[2 * NX_MAX_RANK];
  nxh_type types[2][NX_MAX_RANK], all_types[2 * NX_MAX_RANK];
  uint32_t n = op->n_operands / 2;
  for (uint32_t i = 0; i < n; i++) {
    if (!nxh_need(r, "(")) return false;
    for (int side = 0; side < 2; side++)
      if ((side > 0 && !nxh_need(r, ",")) || !nxh_need(r, "%") ||
          !nxh_read_name(r, &names[side][i]) || !nxh_need(r, ":") ||
          !nxh_read_type(r, &types[side][i]) || !nxh_skip_location(r))
        return false;
    if (!nxh_need(r, ")")) return false;
  }
  for (uint32_t i = 0; i < 2 * n; i++) {
    all[i] = names[i / n][i % n];
    all_types[i] = types[i / n][i % n];
  }
  return nxh_read_region(r, op, all, all_types, 2 * n);
}

/* The region of `applies stablehlo.add`. */
static bool apply_region(nxh_reader *r, nxh_draft *op, nxh_word name) {
  nxh_type type = r->m->types[op->operands[1]];
  nxh_region *slot = nxh_push(r, &op->regions, &op->n_regions, &op->cap_regions, sizeof *slot);
  nxh_op *ops = nxi_arena_alloc(&r->m->arena, 2 * sizeof *ops);
  nxh_value *args = nxi_arena_alloc(&r->m->arena, 3 * sizeof *args);
  if (slot == NULL) return false;
  if (ops == NULL || args == NULL) return nxh_no_memory(r);
  for (int i = 0; i < 3; i++)
    if ((args[i] = nxh_add_value(r->m, &type)) == NXH_NONE) return nxh_no_memory(r);
  ops[0] = (nxh_op){.name = name,
                    .operands = args,
                    .n_operands = 2,
                    .n_results = 1,
                    .first_result = args[2],
                    .line = op->line,
                    .column = op->column};
  ops[1] = (nxh_op){.name = nxh_word_of("stablehlo.return"),
                    .operands = args + 2,
                    .n_operands = 1,
                    .line = op->line,
                    .column = op->column};
  *slot = (nxh_region){.first = args[0], .n_args = 2, .n_ops = 2, .ops = ops};
  return true;
}

/* (%x init: %c) [applies stablehlo.add] across dimensions = [0] : types [reducer(..) {..}] */
static bool read_reduce(nxh_reader *r, nxh_draft *op) {
  nxh_word name = {0};
  nxh_attr dimensions;
  if (!read_reduced(r, op)) return false;
  bool applies = nxh_eat(r, "applies");
  if (applies && !nxh_read_word(r, &name)) return false;
  if (applies && op->n_operands != 2) return nxh_expected(r, "`applies` with several operands");
  if (!nxh_need(r, "across") || !nxh_need(r, "dimensions") || !nxh_need(r, "=") ||
      !nxh_read_attr(r, &dimensions) || !add(r, op, "dimensions", &dimensions) ||
      !nxh_read_dict(r, &op->attrs) || !nxh_read_op_type(r, op))
    return false;
  if (applies) return apply_region(r, op, name);
  return nxh_need(r, "reducer") && read_reducer(r, op);
}

/* ---- convolution */

/* [b, f, 0, 1]: where the two named axes and the spatial ones are. */
static bool read_axes(nxh_reader *r, char first, char second, int64_t named[2],
                      int64_t spatial[NX_MAX_RANK], uint32_t *n) {
  uint32_t axes = 0, seen = 0;
  named[0] = named[1] = -1;
  if (!nxh_need(r, "[")) return false;
  for (*n = 0; !nxh_eat(r, "]"); axes++) {
    if (axes > 0 && !nxh_need(r, ",")) return false;
    if (axes == NX_MAX_RANK) return nxh_expected(r, "more than %d axes", NX_MAX_RANK);
    char c = nxh_peek(r);
    int64_t at = -1;
    if (c == first || c == second) named[c == second] = axes, r->at++;
    else if (c == '?') return nxh_expected(r, "an axis of a convolution that is not used");
    else if (!nxh_read_integer(r, &at)) return false;
    if (at >= NX_MAX_RANK) return nxh_expected(r, "no axis %lld", (long long)at);
    if (at >= 0) spatial[at] = axes, seen |= 1u << at, (*n)++;
  }
  bool whole = named[0] >= 0 && named[1] >= 0 && seen == (uint32_t)((UINT64_C(1) << *n) - 1);
  return whole || nxh_expected(r, "expected %c, %c and each spatial axis once", first, second);
}

static bool add_axes(nxh_reader *r, nxh_draft *op, const char *const names[3], char first,
                     char second) {
  int64_t named[2], spatial[NX_MAX_RANK];
  uint32_t n;
  return read_axes(r, first, second, named, spatial, &n) &&
         add_integer(r, op, names[0], named[0]) && add_integer(r, op, names[1], named[1]) &&
         add_list(r, op, names[2], spatial, n);
}

bool nxh_read_conv_axes(nxh_reader *r, nxh_draft *op) {
  static const char *const input[] = {"input_batch_dimension", "input_feature_dimension",
                                      "input_spatial_dimensions"};
  static const char *const kernel[] = {"kernel_output_feature_dimension",
                                       "kernel_input_feature_dimension",
                                       "kernel_spatial_dimensions"};
  static const char *const output[] = {"output_batch_dimension", "output_feature_dimension",
                                       "output_spatial_dimensions"};
  return add_axes(r, op, input, 'b', 'f') && nxh_need(r, "x") &&
         add_axes(r, op, kernel, 'o', 'i') && nxh_need(r, "->") &&
         add_axes(r, op, output, 'b', 'f');
}

/* window = {stride = [1, 1], pad = [[1, 1], [1, 1]], ..} */
static bool read_window(nxh_reader *r, nxh_draft *op) {
  static const char *const names[][2] = {{"stride", "window_strides"},
                                         {"pad", "padding"},
                                         {"lhs_dilate", "lhs_dilation"},
                                         {"rhs_dilate", "rhs_dilation"},
                                         {"reverse", "window_reversal"}};
  nxh_attr_list fields = {0};
  bool ok = nxh_need(r, "window") && nxh_need(r, "=") && nxh_read_dict(r, &fields);
  for (uint32_t i = 0; ok && i < fields.n; i++)
    for (size_t k = 0; ok && k < sizeof names / sizeof *names; k++)
      if (nxh_word_is(fields.items[i].name, names[k][0]))
        ok = add(r, op, names[k][1], &fields.items[i].value);
  nxi_free(fields.items);
  return ok;
}

static bool read_convolution(nxh_reader *r, nxh_draft *op) {
  if (!nxh_need(r, "(")) return false;
  while (!nxh_eat(r, ")"))
    if ((op->n_operands > 0 && !nxh_need(r, ",")) || !nxh_read_operand(r, op)) return false;
  return nxh_need(r, "dim_numbers") && nxh_need(r, "=") && nxh_read_conv_axes(r, op) &&
         nxh_need(r, ",") && read_window(r, op) && nxh_read_dict(r, &op->attrs) &&
         nxh_read_op_type(r, op);
}

/* ---- which form */

static const struct {
  const char *name;
  bool (*read)(nxh_reader *, nxh_draft *);
} forms[] = {
    {"stablehlo.constant", read_constant}, {"func.call", read_call},
    {"stablehlo.custom_call", read_call},  {"stablehlo.composite", read_composite},
    {"func.return", read_return},          {"stablehlo.return", read_return},
    {"stablehlo.while", read_while},       {"chlo.scan", read_scan},
    {"stablehlo.reduce", read_reduce},     {"stablehlo.convolution", read_convolution},
};

bool nxh_read_form(nxh_reader *r, nxh_draft *op) {
  if (!nxh_read_word(r, &op->name)) return false;
  if (nxh_word_is(op->name, "call")) op->name = nxh_word_of("func.call");
  if (nxh_word_is(op->name, "return")) op->name = nxh_word_of("func.return");
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (nxh_word_is(op->name, forms[i].name)) return forms[i].read(r, op);
  return read_usual(r, op);
}
