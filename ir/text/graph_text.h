/* SPDX-License-Identifier: ISC */
/* Shared parts of the printer, the parser and the verifier of the graph's text: names, labels of
 * nodes, words. docs/ir.md describes the text. */
#ifndef NXG_GRAPH_TEXT_H
#define NXG_GRAPH_TEXT_H

#include "ir/graph/graph.h"
#include "scalar_text.h"

/* ---- names: up to 63 letters, digits, _ and . characters. A name of digits only is the number of
 * a node without a name. */
enum { NXG_NAME_MOST = 63 };
static inline bool nxg_is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
/* whether s is such a name and does not start with a digit; false for NULL */
bool nxg_is_name(const char *s);

/* A map from names, which are not copied, to numbers. Zero-initialise. */
typedef struct nxg_name_entry {
  const char *key;
  uint32_t length, value;
} nxg_name_entry;
typedef struct nxg_names {
  nxg_name_entry *entries;
  uint32_t used, capacity; /* capacity: 0 or a power of two */
} nxg_names;
uint32_t *nxg_names_find(const nxg_names *t, const char *key,
                         uint32_t length); /* NULL if it is not there */
bool nxg_names_add(nxg_names *t, const char *key, uint32_t length,
                   uint32_t value); /* false: no memory */
void nxg_names_free(nxg_names *t);

/* ---- names of bodies in a text, each one body's */
typedef struct nxg_body_name {
  int64_t number;
  char name[NXG_NAME_MOST + 1];
} nxg_body_name;
typedef struct nxg_body_names {
  nxg_body_name *rows; /* a body comes after those that it names */
  uint32_t n, capacity;
} nxg_body_names;
bool nxg_body_names_init(nxg_body_names *b, const nxg_graph *g); /* false: no memory */
void nxg_body_names_free(nxg_body_names *b);
void nxg_print_bodies(const nxg_body_names *b, nxi_text *out);

/* ---- printing the text in pieces */
typedef struct nxg_printer {
  const nxg_graph *g;
  nxi_text *out;
  /* the number of a node without a usable name; UINT32_MAX: its name is printed */
  uint32_t *number;
  const nxg_body_names *bodies; /* NULL: they are printed as numbers */
} nxg_printer;
bool nxg_printer_init(nxg_printer *p, const nxg_graph *g, nxi_text *out); /* false: no memory */
void nxg_printer_free(nxg_printer *p);
/* "%x"; `node` may be a number that no node has */
void nxg_print_label(const nxg_printer *p, uint32_t node);
void nxg_print_type(nxi_text *out, nx_dtype t, int32_t rank, const int64_t *shape);
void nxg_print_version(nxi_text *out);
/* From "graph" up to and including "{\n". */
void nxg_print_head(const nxg_printer *p, const char *name);
void nxg_print_body_name(const nxg_printer *p, int64_t number); /* "@name" */
/* A graph by this name, without a version. bodies: as in a printer. */
void nxg_print_named(const nxg_graph *g, const char *name, const nxg_body_names *bodies,
                     nxi_text *out);
void nxg_print_node(const nxg_printer *p, uint32_t node); /* with its newline; not for inputs */

/* ---- movement words: their names and attributes */
typedef enum nxg_move {
  NXG_MOVE_EXPAND,
  NXG_MOVE_RESHAPE,
  NXG_MOVE_PERMUTE,
  NXG_MOVE_SHRINK,
  NXG_MOVE_FLIP,
  NXG_MOVE_SLICE,
  NXG_MOVE_AS_STRIDED,
  NXG_MOVE_CONTIGUOUS,
  NXG_MOVES
} nxg_move;
extern const char *const nxg_move_names[NXG_MOVES];

#endif
