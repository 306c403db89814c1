/* SPDX-License-Identifier: ISC */
#include "graph_source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph/control.h"
#include "tests/random/generator/graph.h"

enum { MOST_FILES = 500, MOST_BYTES = 1 << 16, MOST_ELEMENTS = 1 << 19, MOST_STEPS = 10000 };

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_files(nxt_graph_source *s, const char *directory) {
  DIR *d = opendir(directory);
  if (d == NULL || (s->paths = calloc(MOST_FILES, sizeof *s->paths)) == NULL) return false;
  for (struct dirent *e; (e = readdir(d)) != NULL && s->count < MOST_FILES;) {
    size_t n = strlen(e->d_name);
    char path[1024];
    if (n < 6 || strcmp(e->d_name + n - 5, ".nxir") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
    s->paths[s->count++] = strdup(path);
  }
  closedir(d);
  qsort(s->paths, s->count, sizeof *s->paths, by_name);
  return s->count > 0;
}

bool nxt_graph_source_open(nxt_graph_source *s, const char *first, const char *count) {
  *s = (nxt_graph_source){0};
  if (strchr(first, '/') != NULL) return list_files(s, first);
  s->first = strtoull(first, NULL, 10);
  s->count = strtoull(count, NULL, 10);
  return true;
}

void nxt_graph_source_close(nxt_graph_source *s) {
  for (uint64_t i = 0; s->paths != NULL && i < s->count; i++) free(s->paths[i]);
  free(s->paths);
}

static bool is_small(const nxg_graph *g) {
  int64_t elements = 0;
  for (uint32_t i = 0; i < g->n_nodes && elements <= MOST_ELEMENTS; i++)
    elements += nxg_node_elements(&g->nodes[i]);
  return elements <= MOST_ELEMENTS;
}

/* Whether its loops have few steps, whatever the inputs are. */
static bool is_brief(const nxg_graph *g) {
  bool brief = true;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nxg_control c;
    if (!nxg_is_control(n->op) || n->op == NXG_case) continue;
    nxg_control_of_node(n, &c);
    int64_t most = c.counted ? c.count : c.limit > 0 ? c.limit : -1;
    brief = brief && most >= 0 && most <= MOST_STEPS;
  }
  return brief;
}

static nxg_graph *read_graph(const char *path) {
  char *text = malloc(MOST_BYTES);
  FILE *f = fopen(path, "rb");
  nxg_graph *g = NULL;
  size_t size = f != NULL && text != NULL ? fread(text, 1, MOST_BYTES, f) : 0;
  if (f != NULL) fclose(f);
  if (nxg_parse(text, size, &g, NULL) != NX_OK) g = NULL;
  free(text);
  if (g == NULL || (is_small(g) && is_brief(g))) return g;
  nxg_destroy(g);
  return NULL;
}

nxg_graph *nxt_graph_source_take(const nxt_graph_source *s, uint64_t i, uint64_t *seed) {
  *seed = s->first + i;
  if (s->paths != NULL) return read_graph(s->paths[i]);
  nxt_graph_options o = nxt_graph_options_of(*seed);
  return nxt_random_graph(*seed, &o);
}
