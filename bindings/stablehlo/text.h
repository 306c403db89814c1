/* SPDX-License-Identifier: ISC */
/* The reader of the text form, in parts: characters and words (text_lex.c), types (text_types.c),
 * attributes (text_attrs.c), elements (text_elements.c), those that stand elsewhere
 * (text_resources.c), locations (text_locations.c), operations in general form (text_ops.c), the
 * forms of single operations (text_forms.c), and functions and the module (text_module.c).
 *
 * A function that reads something returns whether it did. False is a failure, which is noted in
 * `d`; only functions whose name asks (nxh_eat, nxh_at) return false where nothing is wrong. */
#ifndef NXH_TEXT_H
#define NXH_TEXT_H

#include "module.h"

enum { NXH_MOST_NESTED = 64 }; /* regions, lists and types inside one another */

/* A name of values that is visible, and what it hid. */
typedef struct nxh_binding {
  nxh_word name;
  uint64_t hash;
  nxh_value first;
  uint32_t n;
  uint32_t below; /* in the chain of its bucket, from 1; 0: none */
} nxh_binding;

enum { NXH_BUCKETS = 1024 };

/* #name = attribute, or !name = type. */
typedef struct nxh_alias {
  nxh_word name, text; /* the name with # or !, and what stands for */
  nxh_attr value;
} nxh_alias;

/* A part of the text that names resources, with where the reader is behind it. */
typedef struct nxh_section {
  const char *from, *to, *line_start;
  uint32_t line;
} nxh_section;

/* The elements that the text has in sections, of those sections that were read. */
typedef struct nxh_resource nxh_resource;
typedef struct nxh_resources {
  nxh_resource *items;
  uint32_t n, capacity;
  bool sorted;
  bool complete; /* sections ahead were read, too, which are these */
  nxh_section *sections;
  uint32_t n_sections, cap_sections;
} nxh_resources;

typedef struct nxh_reader {
  const char *text, *end, *at, *line_start;
  uint32_t line;
  int depth;
  nxh_module *m;
  nxi_diag *d;
  nxh_binding *bindings; /* the innermost last */
  uint32_t n_bindings, cap_bindings;
  uint32_t buckets[NXH_BUCKETS]; /* the innermost binding of a hash, from 1 */
  nxh_alias *aliases;
  uint32_t n_aliases, cap_aliases;
  nxh_outside *outside, *outside_end; /* elements that the text has still to name */
  nxh_resources *resources;
} nxh_reader;

/* ---- text_lex.c */

int nxh_hex_digit(char c); /* -1: it is none */
/* Records NX_PARSE at the place where the reader is. Returns false. */
bool nxh_expected(nxh_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool nxh_no_memory(nxh_reader *r);
/* Skips space and comments; the next character, or 0 at the end. */
char nxh_peek(nxh_reader *r);
/* The character after the next one. */
char nxh_peek_second(nxh_reader *r);
/* Skips the text if it is next; of a word the whole word must be. */
bool nxh_eat(nxh_reader *r, const char *text);
bool nxh_need(nxh_reader *r, const char *text);
/* Whether a bare word is next: letters, digits, _, $ and ., no digit first. Skips nothing. */
bool nxh_at_word(nxh_reader *r);
bool nxh_word_next(nxh_reader *r, const char *text);
bool nxh_read_word(nxh_reader *r, nxh_word *out);
/* A string in quotes, without them and with its escapes replaced. */
bool nxh_read_string(nxh_reader *r, nxh_word *out);
/* What follows % or @, and may be in quotes. */
bool nxh_read_name(nxh_reader *r, nxh_word *out);
/* Skips the alias that is next, behind its # or !; NULL: there is none. */
const nxh_alias *nxh_eat_alias(nxh_reader *r);
bool nxh_read_integer(nxh_reader *r, int64_t *out);
/* Skips to behind the bracket that closes the one that is next: ( [ { or <. */
bool nxh_skip_brackets(nxh_reader *r);
/* Into and out of something that nests. */
bool nxh_enter(nxh_reader *r);
void nxh_leave(nxh_reader *r);
/* Behind `n` entries of `size` bytes, a growing array: NULL when memory is exhausted. */
void *nxh_push(nxh_reader *r, void *array, uint32_t *n, uint32_t *capacity, size_t size);
/* The entries in the arena of the module; the array is freed. */
bool nxh_settle(nxh_reader *r, void *array, uint32_t n, size_t size, const void *out);

/* ---- text_types.c */

bool nxh_read_type(nxh_reader *r, nxh_type *out);
/* Types between brackets and commas, or one without brackets. */
bool nxh_read_types(nxh_reader *r, const nxh_type **out, uint32_t *n);
/* (types) -> types: those of a function. */
bool nxh_read_function_type(nxh_reader *r, const nxh_type **in, uint32_t *n_in,
                            const nxh_type **out, uint32_t *n_out);
/* The element type that a word names; false: none that is known. dtype 0: one that is not here. */
bool nxh_element_type(nxh_word w, nx_dtype *dtype, bool *index);

/* text_quant.c: a quantized type, behind "!quant.uniform" */
bool nxh_read_quant(nxh_reader *r, nxh_type *out);

/* ---- text_attrs.c */

bool nxh_read_attr(nxh_reader *r, nxh_attr *out);
/* {name = value, ..}, or nothing. They are added to *list. */
typedef struct nxh_attr_list {
  nxh_named *items;
  uint32_t n, capacity;
} nxh_attr_list;
bool nxh_read_dict(nxh_reader *r, nxh_attr_list *list);
bool nxh_add_attr(nxh_reader *r, nxh_attr_list *list, nxh_word name, const nxh_attr *value);
/* name = value, .. up to `close`, which is skipped. */
bool nxh_read_fields(nxh_reader *r, const char *close, nxh_attr_list *list);
bool nxh_take_dict(nxh_reader *r, nxh_attr_list *list, nxh_attr *out);
/* A type as an attribute. */
bool nxh_read_type_attr(nxh_reader *r, nxh_attr *out);

/* ---- text_locations.c */

/* `loc(..)`, or a location as it is printed for readers, or nothing. */
bool nxh_skip_location(nxh_reader *r);
/* One that is printed for readers. */
bool nxh_skip_printed_location(nxh_reader *r);

/* ---- text_elements.c */

/* A decimal number. */
bool nxh_read_real(nxh_reader *r, double *out);
/* What stands between dense< and > in the text from `at` to `end`. */
bool nxh_read_elements(nxh_reader *r, const char *at, const char *end, const nxh_type *type,
                       nxh_attr *out);
/* Elements that lie there, as an attribute. */
bool nxh_give_elements(nxh_reader *r, const nxh_type *type, const void *data, size_t bytes,
                       nxh_attr *out);
/* Whether a constant may have the type. */
bool nxh_holds_elements(nxh_reader *r, const nxh_type *type);
/* All elements of a type that holds them, in hexadecimal. */
bool nxh_read_digits(nxh_reader *r, nxh_word digits, const nxh_type *type, nxh_attr *out);

/* ---- text_resources.c */

/* Behind dense_resource, which begins at `from`: elements outside of the text, or in a section. */
bool nxh_read_elsewhere(nxh_reader *r, const char *from, nxh_attr *out);
/* Whether a section {-# .. #-} is next. */
bool nxh_at_section(nxh_reader *r);
bool nxh_read_section(nxh_reader *r);
void nxh_drop_resources(nxh_resources *all);

/* ---- text_ops.c */

/* An operation while it is read. */
typedef struct nxh_draft {
  nxh_word name;
  nxh_value *operands;
  uint32_t n_operands, cap_operands;
  nxh_attr_list attrs;
  nxh_region *regions;
  uint32_t n_regions, cap_regions;
  const nxh_type *results; /* of the type at the end; as many as there are names, or fewer */
  uint32_t n_results;
  uint32_t wanted; /* names on the left */
  bool arrow;      /* the results' types are behind one, and are all there are */
  uint32_t line, column;
} nxh_draft;

void nxh_drop_draft(nxh_draft *op);
/* What follows "dialect.name": (%a, %b) <{..}> ({..}, {..}) {..} : (..) -> (..) */
bool nxh_read_general(nxh_reader *r, nxh_draft *op);
/* <{..}>, or nothing: attributes of the operation itself, a dictionary or an alias of one. */
bool nxh_read_properties(nxh_reader *r, nxh_attr_list *list);
bool nxh_read_operand(nxh_reader *r, nxh_draft *op);
bool nxh_add_argument(nxh_reader *r, nxh_region *region, nxh_word name, const nxh_type *type);
/* Operations up to the closing brace, which is skipped. */
bool nxh_read_block(nxh_reader *r, nxh_region *out);
/* A region in braces. names: of its arguments, if its head does not say; NULL: it does. */
bool nxh_read_region(nxh_reader *r, nxh_draft *op, const nxh_word *names, const nxh_type *types,
                     uint32_t n);
/* ": type", which ends most operations. What stands before an arrow are the types of operands. */
bool nxh_read_op_type(nxh_reader *r, nxh_draft *op);
/* Whether operands have the n types. */
bool nxh_check_operands(nxh_reader *r, const nxh_draft *op, const nxh_type *types, uint32_t n);

/* ---- text_forms.c */

/* What follows the name of an operation that is not in quotes, up to its end. */
bool nxh_read_form(nxh_reader *r, nxh_draft *op);
/* [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], as attributes. */
bool nxh_read_conv_axes(nxh_reader *r, nxh_draft *op);

#endif
