/* SPDX-License-Identifier: ISC */
/* Programs for several partitions, as Shardy writes them: which part of each argument, of each
 * result, and of the operands of `sdy.manual_computation` a process has.
 *
 * A value of such a program is whole, for each process, unless it is known by its part alone: an
 * argument, or what a manual computation gave, also in functions that the program calls. It becomes
 * whole when an operation reads it, by collectives of all processes; so every program can be run,
 * and one that is manual from its arguments to its results needs none of them.
 *
 * A value that is unreduced along axes of the mesh is the sum, along these, of what the processes
 * have of it. Where it is made of a whole value, the first process along them has that, and the
 * others have zeros. */
#ifndef NXH_SHARDS_H
#define NXH_SHARDS_H

#include "record.h"

/* The axes of a mesh by which each dimension is divided, the outermost first, and behind those of
 * all dimensions the axes along which the value is unreduced, as if its terms were parts of one
 * dimension more. */
enum { NXH_TERMS = NX_MAX_RANK };
typedef struct nxh_sharding {
  const nxh_grid *grid; /* NULL: nothing is divided */
  uint8_t n[NX_MAX_RANK + 1];
  uint8_t axes[NX_MAX_RANK + 1][NXH_MOST_AXES];
  uint32_t open;  /* dimensions that may be divided further, as bits */
  uint32_t whole; /* axes that divide none */
} nxh_sharding;

/* The part of a value that a process has; tensor NULL: the value is whole, or not there yet. */
typedef struct nxh_shard {
  nx_tensor *tensor;
  nxh_sharding sharding;
} nxh_shard;

/* The sharding that attributes of an argument or a result say; none: nothing is divided. NULL: it
 * is understood; else what is not. */
const char *nxh_sharding_of(const nxh_module *m, const nxh_attr *attrs, int32_t rank,
                            nxh_sharding *out);
/* The attribute that says it, or NULL; and what one says. */
const nxh_attr *nxh_sharding_attr(const nxh_attr *attrs);
const char *nxh_read_sharding(const nxh_module *m, const nxh_attr *a, int32_t rank,
                              nxh_sharding *out);
/* The same of the text of mhlo.sharding. */
const char *nxh_read_sharding_text(const nxh_module *m, nxh_word text, int32_t rank,
                                   nxh_sharding *out);
/* Divides dimensions that are open as those of a value are that is known: `known`. */
void nxh_divide_open(nxh_sharding *s, const nxh_sharding *known, const nxh_type *type);
/* How each result of a program is divided (shard_results.c): a new list, which nxi_free frees.
 * NULL: all is understood; nxh_no_room, or else what is not understood, and there is no list. */
extern const char nxh_no_room[];
const char *nxh_result_shardings(const nxh_module *m, const nxh_function *f, nxh_sharding **out);
/* How each value of a function is divided, as far as that is known, from the first argument on: a
 * new list, which nxi_free frees. args: the same of the arguments, each may be NULL; NULL: as the
 * function says. */
const char *nxh_follow(const nxh_module *m, const nxh_function *f, const nxh_sharding *const *args,
                       nxh_sharding **out);
/* Whether an operation computes each element of its result of the elements at that place. */
bool nxh_of_elements(const nxh_row *row);
/* Into how many parts a dimension is divided, and which of them a place has; of NXH_TERMS, of how
 * many terms the value is the sum, and which of them a place has. */
int64_t nxh_parts_of(const nxh_sharding *s, int32_t dimension);
int64_t nxh_part_at(const nxh_sharding *s, int32_t dimension, int64_t place);
/* The shape of the part of a tensor. False: it cannot be divided like that. */
bool nxh_local_shape(const nxh_sharding *s, const nxh_type *type, int64_t *shape);

/* ---- recording */

/* Whether this is a program for several partitions. */
bool nxh_is_sharded(const nxh_recorder *r);
/* The placeholder of an argument. */
nx_tensor *nxh_shard_input(nxh_recorder *r, const nxh_function *f, uint32_t i);
/* Sets an argument of the outermost function, of which this is the part. */
bool nxh_shard_put(nxh_recorder *r, const nxh_function *f, uint32_t i, nx_tensor *part);
/* Of a region that becomes a function, whose first value this is: parts of values from around it
 * are not there in it, and of its own nothing is known. Gives what to pass to nxh_leave_region. */
nxh_value nxh_enter_region(nxh_recorder *r, nxh_value first);
void nxh_leave_region(nxh_recorder *r, nxh_value before);
/* Makes a value whole that is known by its part. */
bool nxh_make_whole(nxh_recorder *r, nxh_value v);
bool nxh_make_all_whole(nxh_recorder *r);
/* The part by which a value is known, or NULL. */
const nxh_shard *nxh_shard_of(const nxh_recorder *r, nxh_value v);
/* Whether its part is all that is known of it. */
bool nxh_shard_only(const nxh_recorder *r, nxh_value v);
/* The place of this process; -1: the mesh is not of this program's partitions. */
int64_t nxh_place_of(const nxh_recorder *r, const nxh_grid *g);
/* Whether an operation of a program that is sharded makes values that may become whole later. */
bool nxh_gathers(const nxh_recorder *r, const nxh_op *op);
/* Records an operation that gives terms of its result from parts of its operands (shard_terms.c).
 * False: it is no such one, and nothing is recorded. */
bool nxh_record_term(nxh_recorder *r, const nxh_op *op);
/* The part of an operand as it is known to be divided; all of it where nothing is known. */
nx_tensor *nxh_known_part(nxh_recorder *r, const nxh_op *op, uint32_t operand);
/* How a value is known to be divided; false: nothing is known of it. */
bool nxh_known_sharding(nxh_recorder *r, nxh_value v, nxh_sharding *out);
/* The part of a value by a sharding. NULL: a failure. */
nx_tensor *nxh_part_of(nxh_recorder *r, nxh_value v, const nxh_sharding *s);
/* The tensor in the process that comes first in the sharding's terms; in the others one that
 * changes no sum. */
nx_tensor *nxh_first_term(nxh_recorder *r, nx_tensor *t, const nxh_sharding *s);
/* Operands of a call whose parts are known are known by them in the function, and so are its
 * results where it was called. */
void nxh_shard_arguments(nxh_recorder *r, const nxh_op *op, nxh_frame *caller);
void nxh_shard_results(nxh_recorder *r, const nxh_op *op, nxh_frame *caller);
/* The part of a result of the outermost function. */
nx_tensor *nxh_shard_result(nxh_recorder *r, const nxh_function *f, uint32_t i, nxh_value v);

#endif
