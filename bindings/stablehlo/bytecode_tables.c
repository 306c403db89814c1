/* SPDX-License-Identifier: ISC */
/* The sections of a portable artifact: strings, dialects and names of operations, where attributes
 * and types are, properties. They are read in an order in which none needs a later one. */
#include <string.h>

#include "bytecode.h"

enum section {
  STRINGS,
  DIALECTS,
  ATTRS_AND_TYPES,
  OFFSETS,
  IR,
  RESOURCES,
  RESOURCE_OFFSETS,
  DIALECT_VERSION,
  PROPERTIES,
  SECTIONS
};

bool nxh_read_string_number(nxh_artifact *a, nxh_bytes *b, nxh_word *out) {
  uint32_t number;
  if (!nxh_number_below(a, b, a->n_strings, "strings", &number)) return false;
  *out = a->strings[number];
  return true;
}

bool nxh_is_dialect(const nxh_artifact *a, uint32_t dialect, const char *name) {
  return nxh_word_is(a->strings[a->dialects[dialect]], name);
}

/* The lengths, with a final 0 byte each, from the last to the first; then the characters. */
static bool read_strings(nxh_artifact *a, nxh_bytes b) {
  uint32_t n;
  if (!nxh_count(a, &b, &n) || (a->strings = nxh_room(a, n, sizeof *a->strings)) == NULL)
    return false;
  for (uint32_t i = n; i-- > 0;) {
    uint64_t length;
    if (!nxh_varint(a, &b, &length)) return false;
    if (length == 0 || length > (uint64_t)(b.end - b.at))
      return nxh_malformed(a, &b, "the length of string %u", i);
    a->strings[i].length = (uint32_t)length - 1;
  }
  for (uint32_t i = 0; i < n; i++) {
    nxh_bytes text;
    if (!nxh_split(a, &b, (uint64_t)a->strings[i].length + 1, &text)) return false;
    a->strings[i].at = (const char *)text.at;
  }
  a->n_strings = n;
  return true;
}

static bool read_dialect(nxh_artifact *a, nxh_bytes *b, uint32_t *out) {
  uint64_t name;
  uint8_t id;
  nxh_bytes ignored;
  if (!nxh_varint(a, b, &name)) return false;
  if (name >> 1 >= a->n_strings) return nxh_malformed(a, b, "the name of a dialect");
  *out = (uint32_t)(name >> 1);
  return !(name & 1) || nxh_section(a, b, &id, &ignored);
}

static bool read_name_group(nxh_artifact *a, nxh_bytes *b, uint32_t most) {
  uint32_t dialect, n;
  if (!nxh_number_below(a, b, a->n_dialects, "dialects", &dialect) || !nxh_count(a, b, &n))
    return false;
  if (n > most - a->n_names) return nxh_malformed(a, b, "more operations than were said");
  for (uint32_t i = 0; i < n; i++) {
    uint64_t name;
    if (!nxh_varint(a, b, &name)) return false;
    if (name >> 1 >= a->n_strings) return nxh_malformed(a, b, "the name of an operation");
    a->names[a->n_names++] = (nxh_op_name){dialect, (uint32_t)(name >> 1)};
  }
  return true;
}

static bool read_dialects(nxh_artifact *a, nxh_bytes b) {
  uint32_t most;
  if (!nxh_count(a, &b, &a->n_dialects) ||
      (a->dialects = nxh_room(a, a->n_dialects, sizeof *a->dialects)) == NULL)
    return false;
  for (uint32_t i = 0; i < a->n_dialects; i++)
    if (!read_dialect(a, &b, &a->dialects[i])) return false;
  if (!nxh_count(a, &b, &most) || (a->names = nxh_room(a, most, sizeof *a->names)) == NULL)
    return false;
  while (b.at < b.end)
    if (!read_name_group(a, &b, most)) return false;
  return true;
}

/* Groups of neighbours of one dialect, each with its size and whether it is bytes. */
static bool read_offsets(nxh_artifact *a, nxh_bytes b, nxh_bytes data) {
  if (!nxh_count(a, &b, &a->n_attrs) || !nxh_count(a, &b, &a->n_types)) return false;
  uint32_t all = a->n_attrs + a->n_types, at = 0;
  a->entries = nxh_room(a, all, sizeof *a->entries);
  a->attrs = nxh_room(a, a->n_attrs, sizeof *a->attrs);
  a->types = nxh_room(a, a->n_types, sizeof *a->types);
  if (a->entries == NULL || a->attrs == NULL || a->types == NULL) return false;
  while (at < all) {
    uint32_t dialect, n;
    uint64_t size;
    if (!nxh_number_below(a, &b, a->n_dialects, "dialects", &dialect) || !nxh_count(a, &b, &n))
      return false;
    if (n > all - at || n == 0) return nxh_malformed(a, &b, "the size of a group");
    for (; n > 0; n--, at++) {
      if (!nxh_varint(a, &b, &size)) return false;
      a->entries[at] = (nxh_entry){.dialect = dialect, .custom = size & 1};
      if (!nxh_split(a, &data, size >> 1, &a->entries[at].bytes)) return false;
    }
  }
  return true;
}

static bool read_properties(nxh_artifact *a, nxh_bytes b) {
  uint32_t n;
  if (b.at == b.end) return true;
  if (!nxh_count(a, &b, &n) || (a->properties = nxh_room(a, n, sizeof *a->properties)) == NULL)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t size;
    if (!nxh_varint(a, &b, &size) || !nxh_split(a, &b, size, &a->properties[i])) return false;
  }
  a->n_properties = n;
  return true;
}

bool nxh_read_tables(nxh_artifact *a, nxh_bytes *file) {
  nxh_bytes sections[SECTIONS];
  uint32_t seen = 0;
  memset(sections, 0, sizeof sections);
  while (file->at < file->end) {
    uint8_t id;
    nxh_bytes section;
    if (!nxh_section(a, file, &id, &section)) return false;
    if (id >= SECTIONS || seen & 1u << id)
      return nxh_malformed(a, file, "section %u, which is unknown or there already", id);
    seen |= 1u << id;
    sections[id] = section;
  }
  const uint32_t needed =
      1u << STRINGS | 1u << DIALECTS | 1u << ATTRS_AND_TYPES | 1u << OFFSETS | 1u << IR;
  if ((seen & needed) != needed) return nxh_malformed(a, file, "a section is missing");
  a->ir = sections[IR];
  return read_strings(a, sections[STRINGS]) && read_dialects(a, sections[DIALECTS]) &&
         read_offsets(a, sections[OFFSETS], sections[ATTRS_AND_TYPES]) &&
         read_properties(a, sections[PROPERTIES]);
}
