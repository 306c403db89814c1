/* SPDX-License-Identifier: ISC */
/* The words of the graph's text, and the table of names. */
#include "graph_text.h"

#include <string.h>
#include <xxhash.h>

const char *const nxg_move_names[NXG_MOVES] = {"expand", "reshape", "permute",    "shrink",
                                               "flip",   "slice",   "as_strided", "contiguous"};

/* ---- names */

bool nxg_is_name(const char *s) {
  if (!s || !*s || (*s >= '0' && *s <= '9')) return false;
  size_t n = 0;
  for (; s[n] && n <= NXG_NAME_MOST; n++)
    if (!nxg_is_name_char(s[n])) return false;
  return n <= NXG_NAME_MOST;
}

/* Returns the entry of the key, or the free entry for it. */
static nxg_name_entry *name_place(const nxg_names *t, const char *key, uint32_t length) {
  for (uint64_t at = XXH3_64bits(key, length);; at++) {
    nxg_name_entry *e = &t->entries[at & (t->capacity - 1)];
    if (!e->key || (e->length == length && !memcmp(e->key, key, length))) return e;
  }
}

uint32_t *nxg_names_find(const nxg_names *t, const char *key, uint32_t length) {
  if (!t->capacity) return NULL;
  nxg_name_entry *e = name_place(t, key, length);
  return e->key ? &e->value : NULL;
}

bool nxg_names_add(nxg_names *t, const char *key, uint32_t length, uint32_t value) {
  if (t->used >= t->capacity / 2) {
    if (t->capacity > UINT32_MAX / 4) return false;
    nxg_names grown = {.used = t->used, .capacity = t->capacity ? t->capacity * 2 : 32};
    grown.entries = nxi_calloc(grown.capacity, sizeof *grown.entries);
    if (!grown.entries) return false;
    for (uint32_t i = 0; i < t->capacity; i++)
      if (t->entries[i].key)
        *name_place(&grown, t->entries[i].key, t->entries[i].length) = t->entries[i];
    nxi_free(t->entries);
    *t = grown;
  }
  nxg_name_entry *e = name_place(t, key, length);
  t->used += !e->key;
  *e = (nxg_name_entry){key, length, value};
  return true;
}

void nxg_names_free(nxg_names *t) {
  nxi_free(t->entries);
  *t = (nxg_names){0};
}
