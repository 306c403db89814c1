/* SPDX-License-Identifier: ISC */
/* What the printer, the parser and the verifier of the graph's text share: names, labels of nodes,
 * words. The form itself is in docs/ir.md. */
#ifndef NXG_GRAPH_TEXT_H
#define NXG_GRAPH_TEXT_H

#include "ir/graph/graph.h"
#include "scalar_text.h"

/* ---- names: letters, digits, _ and . up to 63. One of digits alone is a number and belongs to
 * nobody. */
enum { NXG_NAME_MOST = 63 };
static inline bool nxg_is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}
bool nxg_is_name(const char *s); /* and does not start with a digit; NULL is none */

/* From names, which are not copied, to numbers. Zero-initialise. */
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

/* ---- printing one piece at a time */
typedef struct nxg_printer {
  const nxg_graph *g;
  nxi_text *out;
  uint32_t *number; /* of a node without a usable name; UINT32_MAX: its name is printed */
} nxg_printer;
bool nxg_printer_init(nxg_printer *p, const nxg_graph *g, nxi_text *out); /* false: no memory */
void nxg_printer_free(nxg_printer *p);
void nxg_print_label(const nxg_printer *p, uint32_t node); /* "%x"; any number, even of no node */
void nxg_print_type(nxi_text *out, nx_dtype t, int32_t rank, const int64_t *shape);
void nxg_print_head(const nxg_printer *p);                /* up to and with "{\n" */
void nxg_print_node(const nxg_printer *p, uint32_t node); /* with its newline; not for inputs */

/* ---- movement words, by name and by what they take */
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
