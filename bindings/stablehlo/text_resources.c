/* SPDX-License-Identifier: ISC */
/* Elements that are not where the text names them: dense_resource<name> : type. Those of __elided__
 * are the caller's, outside of the text. Others stand in a section of the text,
 *
 *   {-# dialect_resources: { builtin: { name: "0x08000000.." } } #-}
 *
 * mostly behind the module: in hexadecimal how MLIR aligns them (a power of two in four bytes, the
 * lowest first), and their bytes. */
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"
#include "text.h"

/* Elements of a type that were read. */
typedef struct blob {
  struct blob *next;
  nx_dtype dtype;
  const nxh_form *form;
  int64_t elements;
  const void *data;
  size_t bytes;
} blob;

/* A resource, and what its bytes are as elements of the types that were asked for so far. */
struct nxh_resource {
  nxh_word name, digits; /* without what says how they are aligned */
  blob *blobs;
};

/* ---- sections */

bool nxh_at_section(nxh_reader *r) {
  return nxh_peek(r) == '{' && r->end - r->at > 2 && memcmp(r->at, "{-#", 3) == 0;
}

/* Behind 0x. */
static bool check_digits(nxh_reader *r, nxh_word digits) {
  uint32_t alignment = 0;
  for (uint32_t i = 0; i < digits.length; i++)
    if (nxh_hex_digit(digits.at[i]) < 0) return nxh_expected(r, "what is no hexadecimal digit");
  if (digits.length % 2 || digits.length < 8)
    return nxh_expected(r, "%u hexadecimal digits, which are not four bytes and more",
                        digits.length);
  for (uint32_t i = 0; i < 4; i++)
    alignment |=
        (uint32_t)(nxh_hex_digit(digits.at[2 * i]) << 4 | nxh_hex_digit(digits.at[2 * i + 1]))
        << 8 * i;
  return (alignment & (alignment - 1)) == 0 ||
         nxh_expected(r, "an alignment of %u, which is no power of two", alignment);
}

static bool add_resource(nxh_reader *r, nxh_word name, nxh_word digits) {
  nxh_resources *all = r->resources;
  nxh_resource *slot = nxh_push(r, &all->items, &all->n, &all->capacity, sizeof *slot);
  if (slot == NULL) return false;
  *slot = (nxh_resource){name, digits, NULL};
  all->sorted = false;
  return true;
}

/* name: "0x..", of those that are kept; others may have other values, too. */
static bool read_resource(nxh_reader *r, nxh_word name, bool kept) {
  nxh_word value;
  int64_t number;
  if (nxh_peek(r) != '"' && !kept)
    return nxh_at_word(r) ? nxh_read_word(r, &value) : nxh_read_integer(r, &number);
  const char *from = r->at;
  if (!nxh_read_string(r, &value)) return false;
  if (!kept) return true;
  const char *to = r->at;
  r->at = from; /* where a failure is */
  if (value.length < 2 || memcmp(value.at, "0x", 2) != 0)
    return nxh_expected(r, "expected hexadecimal digits");
  value = (nxh_word){value.at + 2, value.length - 2};
  if (!check_digits(r, value)) return false;
  r->at = to;
  return add_resource(r, name, (nxh_word){value.at + 8, value.length - 8});
}

static bool read_key(nxh_reader *r, nxh_word *key) {
  bool quoted = nxh_peek(r) == '"';
  return (quoted ? nxh_read_string(r, key) : nxh_read_word(r, key)) && nxh_need(r, ":");
}

/* The resources of one dialect; kept: those of dense_resource. */
static bool read_dialect(nxh_reader *r, bool kept) {
  nxh_word name;
  if (!nxh_need(r, "{")) return false;
  for (bool first = true; !nxh_eat(r, "}"); first = false)
    if ((!first && !nxh_need(r, ",")) || !read_key(r, &name) || !read_resource(r, name, kept))
      return false;
  return true;
}

/* Those of dialects, or of others. */
static bool read_dialects(nxh_reader *r, bool of_dialects) {
  nxh_word name;
  if (!nxh_need(r, "{")) return false;
  for (bool first = true; !nxh_eat(r, "}"); first = false)
    if ((!first && !nxh_need(r, ",")) || !read_key(r, &name) ||
        !read_dialect(r, of_dialects && nxh_word_is(name, "builtin")))
      return false;
  return true;
}

static bool read_section(nxh_reader *r) {
  nxh_word name;
  if (!nxh_need(r, "{-#")) return false;
  for (bool first = true; !nxh_eat(r, "#-}"); first = false) {
    if ((!first && !nxh_need(r, ",")) || !read_key(r, &name)) return false;
    bool of_dialects = nxh_word_is(name, "dialect_resources");
    if (!of_dialects && !nxh_word_is(name, "external_resources"))
      return nxh_expected(r, "%.*s is not supported in a section of resources", (int)name.length,
                          name.at);
    if (!read_dialects(r, of_dialects)) return false;
  }
  return true;
}

/* Reads the sections that are ahead, which are met once more. */
static bool read_ahead(nxh_reader *r) {
  nxh_resources *all = r->resources;
  nxh_reader ahead = *r;
  nxh_word ignored;
  for (char c; (c = nxh_peek(&ahead)) != 0;) {
    if (!nxh_at_section(&ahead)) {
      if (c != '"') ahead.at++;
      else if (!nxh_read_string(&ahead, &ignored)) return false;
      continue;
    }
    const char *from = ahead.at;
    if (!read_section(&ahead)) return false;
    nxh_section *slot =
        nxh_push(r, &all->sections, &all->n_sections, &all->cap_sections, sizeof *slot);
    if (slot == NULL) return false;
    *slot = (nxh_section){from, ahead.at, ahead.line_start, ahead.line};
  }
  all->complete = true;
  return true;
}

bool nxh_read_section(nxh_reader *r) {
  const nxh_resources *all = r->resources;
  for (uint32_t i = 0; i < all->n_sections; i++) {
    const nxh_section *s = &all->sections[i];
    if (s->from != r->at) continue;
    r->at = s->to;
    r->line_start = s->line_start;
    r->line = s->line;
    return true;
  }
  return read_section(r);
}

void nxh_drop_resources(nxh_resources *all) {
  nxi_free(all->items);
  nxi_free(all->sections);
}

/* ---- which one */

static int compare_names(const void *one, const void *other) {
  nxh_word a = ((const nxh_resource *)one)->name, b = ((const nxh_resource *)other)->name;
  if (a.length != b.length) return a.length < b.length ? -1 : 1;
  return a.length > 0 ? memcmp(a.at, b.at, a.length) : 0;
}

static bool sort_names(nxh_reader *r) {
  nxh_resources *all = r->resources;
  if (all->sorted) return true;
  if (all->n > 1) qsort(all->items, all->n, sizeof *all->items, compare_names);
  for (uint32_t i = 1; i < all->n; i++) {
    nxh_word name = all->items[i].name;
    if (compare_names(&all->items[i - 1], &all->items[i]) == 0)
      return nxh_expected(r, "there are two resources %.*s", (int)name.length, name.at);
  }
  return all->sorted = true;
}

static nxh_resource *find_resource(nxh_reader *r, nxh_word name) {
  nxh_resources *all = r->resources;
  nxh_resource wanted = {.name = name}, *found;
  if (!all->complete && !read_ahead(r)) return NULL;
  if (!sort_names(r)) return NULL;
  found = all->n > 0 ? bsearch(&wanted, all->items, all->n, sizeof wanted, compare_names) : NULL;
  if (found == NULL) nxh_expected(r, "the text has no resource %.*s", (int)name.length, name.at);
  return found;
}

/* ---- its elements */

static blob *read_blob(nxh_reader *r, const nxh_resource *from, const nxh_type *type) {
  nxh_attr read;
  blob *b = nxi_arena_alloc(&r->m->arena, sizeof *b);
  if (b == NULL) return nxh_no_memory(r), NULL;
  if (!nxh_read_digits(r, from->digits, type, &read)) return NULL;
  *b = (blob){from->blobs,        type->dtype,        type->form,
              nxh_elements(type), read.elements.data, read.elements.bytes};
  return b;
}

/* Many attributes may name one resource. */
static const blob *find_blob(nxh_reader *r, nxh_resource *from, const nxh_type *type) {
  int64_t elements = nxh_elements(type);
  blob *b = from->blobs;
  while (b != NULL &&
         !(b->dtype == type->dtype && b->form == type->form && b->elements == elements))
    b = b->next;
  if (b == NULL && (b = read_blob(r, from, type)) != NULL) from->blobs = b;
  return b;
}

static bool take_resource(nxh_reader *r, nxh_word name, nxh_attr *out) {
  nxh_type type;
  nxh_resource *from = find_resource(r, name);
  if (from == NULL || !nxh_need(r, ":") || !nxh_read_type(r, &type)) return false;
  const blob *b = nxh_holds_elements(r, &type) ? find_blob(r, from, &type) : NULL;
  if (b == NULL) return false;
  return nxh_give_elements(r, &type, b->data, b->bytes, out);
}

/* ---- outside of the text */

static bool take_outside(nxh_reader *r, const char *from, nxh_attr *out) {
  nxh_type type;
  nxh_outside *o = r->outside++;
  o->place = from;
  o->place_end = r->at;
  if (!nxh_need(r, ":") || !nxh_read_type(r, &type)) return false;
  bool plain = type.kind == NXH_TENSOR && type.dtype != 0 && type.dtype != NX_BOOL &&
               !nxi_is_nibble(type.dtype) && type.form == NULL;
  int64_t elements = plain ? nxh_elements(&type) : 0;
  if (elements < 1) return nxh_expected(r, "elements of this type cannot stand elsewhere");
  if ((uint64_t)nxi_dtype_bytes(type.dtype, elements) != o->bytes)
    return nxh_expected(r, "%zu bytes stand elsewhere for %lld elements of %s", o->bytes,
                        (long long)elements, nx_dtype_name(type.dtype));
  return nxh_give_elements(r, &type, o->data, o->bytes, out);
}

bool nxh_read_elsewhere(nxh_reader *r, const char *from, nxh_attr *out) {
  nxh_word name;
  if (!nxh_need(r, "<")) return false;
  bool bare = nxh_peek(r) != '"';
  if (!(bare ? nxh_read_word(r, &name) : nxh_read_string(r, &name)) || !nxh_need(r, ">"))
    return false;
  if (!bare || !nxh_word_is(name, "__elided__")) return take_resource(r, name, out);
  if (r->outside != r->outside_end) return take_outside(r, from, out);
  return nxh_expected(r, "elements that were left out when the text was printed");
}
