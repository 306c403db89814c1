/* SPDX-License-Identifier: ISC */
/* The reader of portable artifacts: MLIR bytecode of version 6, in which all operations are of
 * the versioned dialect VHLO (StableHLO 1.0 and later). In parts: bytes and sections
 * (bytecode_bytes.c), tables of strings, names, attributes and types (bytecode_tables.c), what
 * types and attributes are (bytecode_types.c, bytecode_attrs.c), and operations (bytecode.c).
 *
 * As in the reader of text, false is a failure, noted in `d`. No count is believed that the
 * bytes which are left cannot hold. */
#ifndef NXH_BYTECODE_H
#define NXH_BYTECODE_H

#include "module.h"

/* Bytes that are read one after the other. */
typedef struct nxh_bytes {
  const uint8_t *at, *end;
} nxh_bytes;

/* Where an attribute or a type is. */
typedef struct nxh_entry {
  nxh_bytes bytes;
  uint32_t dialect;
  bool custom; /* as bytes; otherwise as text */
  bool done, open;
} nxh_entry;

typedef struct nxh_op_name {
  uint32_t dialect, string;
} nxh_op_name;

typedef struct nxh_artifact {
  const uint8_t *start;
  nxh_module *m;
  nxi_diag *d;
  nxh_word *strings;
  uint32_t n_strings;
  uint32_t *dialects; /* their strings */
  uint32_t n_dialects;
  nxh_op_name *names;
  uint32_t n_names;
  nxh_entry *entries; /* attributes, then types */
  uint32_t n_attrs, n_types;
  nxh_attr *attrs; /* those that are done */
  nxh_type *types;
  nxh_bytes *properties;
  uint32_t n_properties;
  nxh_bytes ir;
  int depth;
} nxh_artifact;

/* ---- bytecode_bytes.c */

/* NX_PARSE, with the place of `b` in the file. Returns false. */
bool nxh_malformed(nxh_artifact *a, const nxh_bytes *b, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool nxh_byte(nxh_artifact *a, nxh_bytes *b, uint8_t *out);
bool nxh_varint(nxh_artifact *a, nxh_bytes *b, uint64_t *out);
bool nxh_svarint(nxh_artifact *a, nxh_bytes *b, int64_t *out);
/* A count of things that take a byte each at least. */
bool nxh_count(nxh_artifact *a, nxh_bytes *b, uint32_t *out);
/* A number below `limit`. */
bool nxh_number_below(nxh_artifact *a, nxh_bytes *b, uint32_t limit, const char *what,
                      uint32_t *out);
/* Splits off n bytes. */
bool nxh_split(nxh_artifact *a, nxh_bytes *b, uint64_t n, nxh_bytes *out);
/* A section: its number and its bytes. */
bool nxh_section(nxh_artifact *a, nxh_bytes *b, uint8_t *id, nxh_bytes *out);
/* Zeroed, from the arena of the module; of 0 entries not NULL. */
void *nxh_room(nxh_artifact *a, size_t n, size_t size);

/* ---- bytecode_tables.c */

/* The sections of a file into tables. */
bool nxh_read_tables(nxh_artifact *a, nxh_bytes *file);
bool nxh_read_string_number(nxh_artifact *a, nxh_bytes *b, nxh_word *out);
bool nxh_is_dialect(const nxh_artifact *a, uint32_t dialect, const char *name);

/* ---- bytecode_types.c */

/* Into and out of a type or an attribute: refuses those that contain themselves. */
bool nxh_nested(nxh_artifact *a, nxh_entry *e);
void nxh_unnest(nxh_artifact *a, nxh_entry *e);
/* The type of a number, which the bytes give. */
bool nxh_read_type_number(nxh_artifact *a, nxh_bytes *b, nxh_type *out);
bool nxh_get_type(nxh_artifact *a, nxh_bytes *b, uint32_t number, nxh_type *out);

/* ---- bytecode_attrs.c */

/* The attribute of a number, which the bytes give. */
bool nxh_get_attr(nxh_artifact *a, nxh_bytes *b, uint32_t number, nxh_attr *out);
bool nxh_read_attr_number(nxh_artifact *a, nxh_bytes *b, nxh_attr *out);
/* Inputs and results of a type that is a function's. */
bool nxh_function_type(nxh_artifact *a, const nxh_attr *type, const nxh_type **results,
                       uint32_t *n_results);

/* ---- vhlo.c */

/* The attributes of an operation "add_v1", in their order, with spaces between: NULL: no such
 * operation. *name: "stablehlo.add". */
const char *nxh_vhlo_op(nxh_word versioned, nxh_word *name);
/* The same of an operation of Shardy. */
const char *nxh_sdy_op(nxh_word name);
/* The name of an enumerator; NULL: there is none. kind: the code of its attribute. */
const char *nxh_vhlo_enum(uint32_t kind, uint64_t value);

#endif
