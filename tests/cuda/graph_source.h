/* SPDX-License-Identifier: ISC */
/* Graphs for the tests of CUDA C: random ones, or those of the texts in a directory. */
#ifndef NXT_GRAPH_SOURCE_H
#define NXT_GRAPH_SOURCE_H

#include <stdbool.h>

#include "ir/graph/graph.h"

typedef struct nxt_graph_source {
  uint64_t first, count; /* seeds; or numbers of files, from 0 */
  char **paths;          /* NULL: random graphs */
} nxt_graph_source;

/* FIRST COUNT, or a directory and any second word. False: the directory cannot be read. */
bool nxt_graph_source_open(nxt_graph_source *s, const char *first, const char *count);
void nxt_graph_source_close(nxt_graph_source *s);
/* Graph i < count, NULL if the text is none, is refused, or is of too many elements for a test;
 * *seed: of its inputs. */
nxg_graph *nxt_graph_source_take(const nxt_graph_source *s, uint64_t i, uint64_t *seed);

#endif
