/* SPDX-License-Identifier: ISC */
/* Names of values in the text form: which are visible, and that those of a region end with it. */
#include "text_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t hash_of(nxh_word name) { return XXH3_64bits(name.at, name.length); }

static const nxh_binding *find(const nxh_reader *r, nxh_word name) {
  uint64_t hash = hash_of(name);
  uint32_t at = r->buckets[hash % NXH_BUCKETS];
  while (at != 0 &&
         !(r->bindings[at - 1].hash == hash && nxh_words_equal(r->bindings[at - 1].name, name)))
    at = r->bindings[at - 1].below;
  return at != 0 ? &r->bindings[at - 1] : NULL;
}

bool nxh_bind(nxh_reader *r, nxh_word name, nxh_value first, uint32_t n) {
  if (find(r, name) != NULL)
    return nxh_expected(r, "there is a value %%%.*s already", (int)name.length, name.at);
  nxh_binding *b = nxh_push(r, &r->bindings, &r->n_bindings, &r->cap_bindings, sizeof *b);
  if (b == NULL) return false;
  uint64_t hash = hash_of(name);
  uint32_t *bucket = &r->buckets[hash % NXH_BUCKETS];
  *b = (nxh_binding){name, hash, first, n, *bucket};
  *bucket = r->n_bindings;
  return true;
}

void nxh_unbind(nxh_reader *r, uint32_t n) {
  while (r->n_bindings > n) {
    const nxh_binding *b = &r->bindings[--r->n_bindings];
    r->buckets[b->hash % NXH_BUCKETS] = b->below;
  }
}

bool nxh_read_value(nxh_reader *r, nxh_value *out) {
  int64_t part = 0;
  nxh_word name;
  if (!nxh_need(r, "%")) return false;
  const char *from = r->at;
  if (!nxh_read_name(r, &name)) return false;
  const nxh_binding *b = find(r, name);
  if (b == NULL) {
    r->at = from;
    return nxh_expected(r, "there is no value %%%.*s here", (int)name.length, name.at);
  }
  if (r->at < r->end && *r->at == '#') {
    r->at++;
    if (!nxh_read_integer(r, &part)) return false;
  }
  if (part < 0 || part >= (int64_t)b->n)
    return nxh_expected(r, "%%%.*s has %u results", (int)name.length, name.at, b->n);
  *out = b->first + (uint32_t)part;
  return true;
}
