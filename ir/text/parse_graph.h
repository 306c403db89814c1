/* SPDX-License-Identifier: ISC */
/* The interface between the two parts of the graph parser: parse_graph.c reads characters and the
 * parts of a statement, parse_build.c builds the nodes of a statement. */
#ifndef NXG_PARSE_GRAPH_H
#define NXG_PARSE_GRAPH_H

#include "graph_text.h"
#include "ir/library/custom.h"
#include "near.h"
#include "version.h"

/* The attributes of the text, in the order of their names in parse_build.c. */
typedef enum nxg_key {
  NXG_KEY_axes,
  NXG_KEY_axis,
  NXG_KEY_keepdims,
  NXG_KEY_start,
  NXG_KEY_stop,
  NXG_KEY_count,
  NXG_KEY_step,
  NXG_KEY_before,
  NXG_KEY_after,
  NXG_KEY_value,
  NXG_KEY_offset,
  NXG_KEY_shape,
  NXG_KEY_strides,
  NXG_KEY_k,
  NXG_KEY_mode,
  NXG_KEY_upper, /* this and the following occur only in library.def, and are found by name */
  NXG_KEY_reduced,
  NXG_KEY_full,
  NXG_KEY_transpose,
  NXG_KEY_unit_diag,
  NXG_KEY_descending,
  NXG_KEY_size,
  NXG_KEY_order,
  NXG_KEY_nan,
  NXG_KEY_result,
  NXG_KEY_parts0, /* shapes of complex operands */
  NXG_KEY_parts1,
  NXG_KEY_parts2,
  NXG_KEY_cond, /* bodies */
  NXG_KEY_body,
  NXG_KEY_branches,
  NXG_KEY_carried,
  NXG_KEY_stacked,
  NXG_KEY_reverse,
  NXG_KEY_limit,
  NXG_KEY_y_count, /* of library.def, found by name */
  NXG_KEY_y_step,
  NXG_KEY_y_dilation,
  NXG_KEY_y_before,
  NXG_KEY_x_count,
  NXG_KEY_x_step,
  NXG_KEY_x_dilation,
  NXG_KEY_x_before,
  NXG_KEY_layout,
  NXG_KEY_scale,
  NXG_KEY_fill,
  NXG_KEY_least,
  NXG_KEY_most,
  NXG_KEY_turned,
  NXG_KEY_hides,
  NXG_KEY_wide,
  NXG_KEY_empty,
  NXG_KEY_whole,
  NXG_KEYS
} nxg_key;
extern const char *const nxg_key_names[NXG_KEYS];
nxg_key nxg_key_of_call(nxg_op op, uint32_t i);

/* One attribute as it was written: a list of integers, or one word; of bodies, list[0] is where
 * they begin in nxg_parser.named. */
typedef struct nxg_value {
  const char *at; /* NULL: not written */
  bool is_list;
  int32_t n;
  uint32_t length;
  int64_t list[NXG_MAX_RANK];
} nxg_value;

/* `%name = word operands attributes : type` */
typedef struct nxg_statement {
  const char *at; /* the word */
  uint32_t word_length;
  const char *scalar; /* of full */
  uint32_t scalar_length;
  int64_t param;          /* of full; -1: none */
  const char *annotation; /* NULL: no type is written */
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
  uint64_t tag;
  char note[NXG_NOTE_MOST + 1];
  const nxg_custom *custom; /* of custom */
  nxg_value values[NXG_KEYS];
} nxg_statement;

enum { NXG_PARSE_NAMED = 128 }; /* bodies that one statement may name */

typedef struct nxg_parser {
  const char *text, *end, *at;
  bool closed; /* parameters, whose values are known only in a run, are not allowed */
  int version; /* of the text */
  const nxg_customs *customs; /* that the text may name; NULL: none */
  nxg_graph *g;
  nxi_diag *d;
  nxg_names names; /* to nodes */
  uint32_t *operands, cap_operands, n_operands;
  const char **operand_at;
  uint32_t cap_operand_at;
  nxg_type *types;
  uint32_t cap_types;
  nxg_view view; /* temporary, used while a statement is built */
  nxg_statement s;
  const char *name_at; /* of the graph */
  int64_t *bodies;     /* of the graphs above, by the numbers in body_names; held */
  uint32_t n_bodies, cap_bodies;
  nxg_names body_names;
  int64_t named[NXG_PARSE_NAMED]; /* by the statement */
  uint32_t n_named;
} nxg_parser;

/* parse_hints.c. "; did you mean WORD?" and the like, or nothing: for an unknown operation, dtype,
 * attribute, and for a number where an operand is wanted. */
void nxg_hint_op(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]);
void nxg_hint_dtype(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]);
void nxg_hint_attribute(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]);
void nxg_hint_number(const char *word, uint32_t n, char out[NXI_NEAR_TEXT]);
/* A remark on text that the grammar does not allow at this place. */
const char *nxg_hint_remark(const char *at, const char *end);

/* Records a failure at a place of the text; as with nxi_fail, the first failure is kept. */
nx_status nxg_parse_fail(nxg_parser *p, const char *at, nx_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds the place to a failure that another function recorded in p->d. */
nx_status nxg_parse_locate(nxg_parser *p, const char *at, nx_status status);
/* parse_text.c. Whether the values of an attribute are bodies; reads them. */
bool nxg_names_bodies(nxg_key key);
nx_status nxg_parse_named(nxg_parser *p, nxg_key key);
/* The attributes of control flow: which there are, a bit each, and their values. */
uint64_t nxg_parse_control_keys(nxg_op op);
nx_status nxg_parse_control(nxg_parser *p, nxg_op op, int64_t *attrs, uint32_t *n);
/* parse_build.c. One integer. absent: its value if it is not written; NULL: it is required. */
nx_status nxg_parse_integer(nxg_parser *p, nxg_key key, const int64_t *absent, int64_t *value);
/* parse_graph.c, for the whole of a text. One graph without a version; whether anything follows;
 * a character if it is next; a name after a % or @. */
nx_status nxg_parse_version(nxg_parser *p);
nx_status nxg_parse_one(nxg_parser *p);
bool nxg_parse_more(const nxg_parser *p);
bool nxg_parse_take(nxg_parser *p, char c);
nx_status nxg_parse_name(nxg_parser *p, const char **name, uint32_t *n);
/* Builds the node of the statement in p->s and its operands; *node is UINT32_MAX if it fails. */
nx_status nxg_build_statement(nxg_parser *p, uint32_t *node);

#endif
