/* SPDX-License-Identifier: ISC */
/* A StableHLO module in memory, as both readers write it and as recording reads it: functions whose
 * bodies are lists of operations, each with operands, attributes and regions. Values have numbers;
 * those of a function are neighbours, its regions' included. Special forms of the text are written
 * as the attributes that they stand for, under the names of the specification (attributes.c), so
 * that nothing after a reader knows in which form a program came.
 *
 * Nothing here is checked against the operations' own rules: what an operation needs is checked
 * where it is recorded. Everything lives in the arena of the module. */
#ifndef NXH_MODULE_H
#define NXH_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "forms.h"
#include "ir/alloc.h"
#include "ir/diag.h"
#include "nx/dtype.h"
#include "nx/tensor.h"

typedef uint32_t nxh_value;
#define NXH_NONE UINT32_MAX

/* Bytes of the text or the file; not terminated. */
typedef struct nxh_word {
  const char *at;
  uint32_t length;
} nxh_word;

typedef enum nxh_type_kind {
  NXH_NO_TYPE,
  NXH_TENSOR,
  NXH_TOKEN,
  NXH_TUPLE, /* parts: in `tuple` */
  NXH_OTHER  /* of which nothing is known but its text */
} nxh_type_kind;

/* An extent that is not known; bounds, if there are any, are in `bounds`. */
#define NXH_DYNAMIC INT64_MIN

typedef struct nxh_type nxh_type;

/* How the elements of a quantized type are written: an element of the storage is
 * (element - zero) * scale, of the expressed type. */
typedef struct nxh_quant {
  nx_dtype expressed;
  int64_t min, max;      /* of the storage */
  int32_t axis;          /* along which each place has a scale of its own; -1: none */
  int32_t rank;          /* of a tensor in blocks that have a scale each; 0: there are none */
  const int64_t *blocks; /* places of a block along each axis; 0: all that the axis has */
  const int64_t *grid;   /* blocks along each axis */
  uint32_t n;            /* scales and zeros: 1 without an axis or blocks */
  const double *scales;
  const int64_t *zeros;
} nxh_quant;

struct nxh_type {
  uint8_t kind;
  nx_dtype dtype; /* of tensors; 0: an element type that there is none for here, see `text` */
  const nxh_quant *quant; /* NULL, or what elements mean, whose storage `dtype` is */
  const nxh_form *form;   /* the same of a type that the library does not compute with */
  const nxh_type *real;   /* of tensors with either: the same of the type that is computed with */
  int32_t rank;
  bool index;            /* the element type is `index`, read as i64 */
  const int64_t *shape;  /* rank extents */
  const int64_t *bounds; /* NULL, or rank bounds of extents, NXH_DYNAMIC where there is none */
  const nxh_type *tuple;
  uint32_t n_tuple;
  nxh_word text;
};

typedef enum nxh_attr_kind {
  NXH_UNIT,
  NXH_BOOL,
  NXH_INT,
  NXH_FLOAT,
  NXH_STRING, /* in quotes */
  NXH_NAME,   /* a bare word: an enumerator */
  NXH_SYMBOL, /* @name */
  NXH_TYPE,
  NXH_LIST,
  NXH_DICT,
  NXH_ELEMENTS, /* dense<..> or array<..>: numbers with a type */
  NXH_OPAQUE    /* text of a dialect that says nothing here */
} nxh_attr_kind;

typedef struct nxh_attr nxh_attr;
typedef struct nxh_named nxh_named;
struct nxh_attr {
  uint8_t kind;
  bool splat; /* of ELEMENTS: `data` has one element, which all are */
  union {
    int64_t integer; /* also of BOOL */
    double real;
    nxh_word word; /* STRING (without quotes and escapes), NAME, SYMBOL, OPAQUE */
    const nxh_type *type;
    struct {
      const nxh_attr *items;
      uint32_t n;
    } list;
    struct {
      const nxh_named *items;
      uint32_t n;
    } dict;
    struct {
      const nxh_type *type;
      const void *data; /* packed, as nx_from_data takes it; nibbles two in a byte */
      size_t bytes;
    } elements;
  };
};
struct nxh_named {
  nxh_word name;
  nxh_attr value;
};

typedef struct nxh_region nxh_region;
typedef struct nxh_op nxh_op;

/* One block: its arguments are values first .. first + n_args - 1. The last operation ends it. */
struct nxh_region {
  nxh_value first;
  uint32_t n_args, n_ops;
  nxh_op *ops;
};

struct nxh_op {
  nxh_word name; /* with its dialect: "stablehlo.add" */
  const nxh_value *operands;
  const nxh_named *attrs;
  const nxh_region *regions;
  nxh_value first_result;
  uint32_t n_operands, n_results, n_attrs, n_regions;
  uint32_t line, column; /* of a text; line 0: column is a position in bytes */
  uint32_t location;     /* of an artifact: the number of its attribute, from 1; 0: none */
};

typedef struct nxh_function {
  nxh_word name; /* without @ */
  bool is_private;
  nxh_region body;
  nxh_value end; /* one above the last value; the first is body.first */
  const nxh_type *results;
  uint32_t n_results;
  const nxh_attr *arg_attrs; /* a DICT for each argument, or UNIT; NULL: none */
  const nxh_attr *result_attrs;
  uint32_t line, column;
} nxh_function;

enum { NXH_MOST_AXES = 16 };
/* A mesh: which partition each place is, NULL: the number of the place. */
typedef struct nxh_grid {
  nxh_word name;
  uint32_t n;
  nxh_word axes[NXH_MOST_AXES];
  int64_t sizes[NXH_MOST_AXES];
  int64_t places;
  const int64_t *devices;
} nxh_grid;

/* Elements of a text that stand outside of it: where MLIR prints dense_resource<__elided__> for a
 * large constant, the next ones. Their bytes are those of the type, one behind the other. */
typedef struct nxh_outside {
  const void *data;
  size_t bytes;
  const char *place, *place_end; /* what the text has for them; the reader says so */
} nxh_outside;

typedef struct nxh_module {
  nxi_arena arena;
  nxh_word name;
  const nxh_named *attrs;
  uint32_t n_attrs;
  nxh_function *functions;
  uint32_t n_functions, cap_functions;
  nxh_grid *grids; /* meshes of devices (shards.h) */
  uint32_t n_grids;
  nxh_type *types; /* of the values */
  uint32_t n_values, cap_values;
  bool open;                           /* a value has extents that are not known */
  bool tuples;                         /* a value is a tuple, until they are taken out */
  bool carried;                        /* a value has elements with a `quant` or a `form` */
  const struct nxh_artifact *artifact; /* its tables, NULL of a text */
} nxh_module;

/* ---- building */

/* A value of this type; NXH_NONE: out of memory. */
nxh_value nxh_add_value(nxh_module *m, const nxh_type *type);
void nxh_module_destroy(nxh_module *m);
/* What is wrong with a quantized type of this storage; NULL: nothing. */
const char *nxh_bad_quant(const nxh_quant *q, nx_dtype storage);
/* Gives a tensor of a quantized type, or of a form, its `real`. False: out of memory. */
bool nxh_make_real(nxh_module *m, nxh_type *type);

/* Takes tuples out of a module that was read of so many bytes (tuples.c). */
nx_status nxh_flatten(nxh_module *m, size_t size, nxi_diag *d);

/* ---- where an operation stands (places.c) */

enum { NXH_PLACE_TEXT = 320 };
/* Line and column, or of an artifact where the operation came from, or which one it is. */
void nxh_describe_place(const nxh_module *m, const nxh_op *op, char *out, size_t size);
/* Puts the operation and its place in front of a failure that has none. */
void nxh_note_place(const nxh_module *m, const nxh_op *op, nxi_diag *d);

/* ---- questions */

/* Whether an operation of the module, in regions too, is one of these. */
bool nxh_any_op(const nxh_module *m, bool (*is)(const nxh_op *op));
/* Whether the module has an exchange with its host or among processes. */
bool nxh_exchanges(const nxh_module *m);
bool nxh_word_is(nxh_word w, const char *text);
/* Whether it ends a region, whose results its operands are. */
bool nxh_is_end(const nxh_op *op);
bool nxh_words_equal(nxh_word a, nxh_word b);
nxh_word nxh_word_of(const char *text);
/* The function of a name, or NULL. */
const nxh_function *nxh_find_function(const nxh_module *m, nxh_word name);
/* "main", or the only function that is not private; NULL. */
const nxh_function *nxh_default_function(const nxh_module *m);
struct nx_stablehlo;
const nxh_module *nxh_module_of(const struct nx_stablehlo *m);
/* One more reference of what the module, which recording has, is a part of. */
struct nx_stablehlo *nxh_retain(const nxh_module *m);
/* nx_stablehlo_parse of a text that has elements outside of it. They are copied, or with `lent`
 * stay where they are: that is 1 until the module has ended, then 0. */
nx_status nxh_parse(const void *bytes, size_t size, const nxh_outside *outside, size_t n,
                    int32_t *lent, struct nx_stablehlo **out);
/* The bytes that were parsed, which live as long as the module. */
const char *nxh_bytes_of(const struct nx_stablehlo *m, size_t *size);
/* The elements that stand outside of them. */
const nxh_outside *nxh_outside_of(const struct nx_stablehlo *m, size_t *n);
/* How many bytes the whole program has, with all elements in its text, and that. */
size_t nxh_whole_size(const struct nx_stablehlo *m);
void nxh_write_whole(const struct nx_stablehlo *m, char *to);
/* The attribute of a name, or NULL. */
const nxh_attr *nxh_find(const nxh_named *attrs, uint32_t n, const char *name);
static inline const nxh_attr *nxh_get(const nxh_op *op, const char *name) {
  return nxh_find(op->attrs, op->n_attrs, name);
}
bool nxh_types_equal(const nxh_type *a, const nxh_type *b);
/* Whether elements mean the same: of one form, or quantized alike. */
bool nxh_same_elements(const nxh_type *a, const nxh_type *b);
/* The same scales, zeros and types; of two that are NULL, too. Their axes may differ. */
bool nxh_quants_equal(const nxh_quant *a, const nxh_quant *b);
/* f32[2,?]; what is no tensor, by its kind. */
enum { NXH_TYPE_TEXT = 120 };
void nxh_describe_type(const nxh_type *t, char out[NXH_TYPE_TEXT]);
/* Of what is not there: no type. */
extern const nxh_type nxh_no_type;
static inline const nxh_type *nxh_type_of(const nxh_module *m, nxh_value v) {
  return v < m->n_values ? &m->types[v] : &nxh_no_type;
}
/* The number of elements of a shape without unknown extents; -1: beyond 2^62. */
int64_t nxh_elements(const nxh_type *t);

/* ---- readers */

/* Reads what "sdy.mesh" says (shard_read.c). */
bool nxh_read_grid(nxi_arena *arena, nxh_word name, const nxh_attr *mesh, nxh_grid *out);

/* Makes the meshes of a module that says by mhlo.sharding how it is divided (shard_text.c), before
 * anything asks for them. False: out of memory. */
bool nxh_note_shardings(nxh_module *m);

/* Text, whose text[size] is 0, and its elements outside, all of which it has to name. NX_PARSE with
 * line and column; NX_OUT_OF_MEMORY. The module refers to both. */
nx_status nxh_read_text(const char *text, size_t size, nxh_outside *outside, size_t n,
                        nxh_module *out, nxi_diag *d);
/* A portable artifact. NX_PARSE with the position in bytes. The module refers to `bytes`. */
bool nxh_is_bytecode(const void *bytes, size_t size);
nx_status nxh_read_bytecode(const void *bytes, size_t size, nxh_module *out, nxi_diag *d);

#endif
