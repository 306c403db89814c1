/* SPDX-License-Identifier: ISC */
/* Recording of modules: each operation of StableHLO as operations of the library. record.c walks
 * functions and regions; the ops_*.c record single operations, of which rows.c has a row each.
 *
 * Functions that record return whether they did; a failure is in the thread's error or in `d`, and
 * the walk puts the operation and its place in front of it. All handles belong to a scope of the
 * walk, so nothing is released one by one. */
#ifndef NXH_RECORD_H
#define NXH_RECORD_H

#include "module.h"
#include "nx/nx.h"
#include "nx/stablehlo.h"

enum { NXH_MOST_OPERANDS = 128, NXH_MOST_CALLS = 64 };

/* The values of a function while it is recorded: value v is in tensors[v - base], NULL before it is
 * there, and of tokens. defs: the operation that gives it, NULL of arguments. */
typedef struct nxh_frame {
  const nxh_function *function;
  nxh_value base;
  uint32_t n;
  nx_tensor **tensors;
  const nxh_op **defs;
  uint32_t *marks, mark;    /* to meet each value once */
  struct nxh_frame *caller; /* of the operation `call`; NULL of the outermost function */
  const nxh_op *call;
  struct nxh_shard *shards; /* of a divided program (shards.h), or NULL */
  nxh_value inner; /* the first value of a region that becomes a function, while that is recorded */
  struct nxh_sharding *results; /* how they are divided, when the first is asked for */
  struct nxh_sharding *known;   /* the same of all values */
} nxh_frame;

typedef struct nxh_recorder {
  const nxh_module *m;
  nx_context *c;
  nx_device device;
  nxi_diag *d;
  const nx_stablehlo_custom *customs;
  size_t n_customs;
  nx_stablehlo_mesh *mesh;    /* NULL: one process */
  int32_t replica, partition; /* which process this is */
  nx_tensor *token; /* that orders collectives and calls with effects; NULL: there are none */
  bool effects;     /* a call of the caller's table has side effects, or something is exchanged */
  struct nxh_host *host; /* what is exchanged with, or NULL */
  /* Sends between processes that wait for the recv that takes them. */
  struct nxh_sent {
    const nxh_op *send, *by;
  } *sent;
  uint32_t n_sent, cap_sent;
  nxh_frame *frame;
  bool expressed;   /* operands and results of the operation are of their `real` types meanwhile */
  bool over_arrays; /* arrays stand for scalars: shapes of results are not those of their types */
  int calls;        /* how deep */
  const nxh_function *open[NXH_MOST_CALLS]; /* the functions that are being recorded */
} nxh_recorder;

/* ---- record.c */

/* Has the process's collectives and effects ordered by another token. */
void nxh_use_token(nxh_recorder *r, nx_tensor *token);

/* shards.c: a custom call by which XLA enters, or leaves, what each process does with its part */
bool nxh_manual_edge(nxh_recorder *r, const nxh_op *op, bool into);
/* Records a failure in the operation. Returns false. */
bool nxh_fail(nxh_recorder *r, nx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
nx_tensor *nxh_in(nxh_recorder *r, const nxh_op *op, uint32_t operand);
const nxh_type *nxh_operand_type(nxh_recorder *r, const nxh_op *op, uint32_t operand);
const nxh_type *nxh_result_type(nxh_recorder *r, const nxh_op *op, uint32_t result);
bool nxh_has_shape(const nx_tensor *a, const nx_tensor *b);
const char *nxh_describe(const nx_tensor *t, char out[NXH_TYPE_TEXT]);
/* Whether an axis may have this extent: the one of its type, or within its bound if it is open. */
bool nxh_extent_fits(const nxh_type *type, int32_t axis, int64_t extent);
bool nxh_has_type(const nx_tensor *t, const nxh_type *type);
/* Sets a result, of the type that the operation says; NULL: recording failed. */
bool nxh_set(nxh_recorder *r, const nxh_op *op, uint32_t result, nx_tensor *t);
/* The value for which the type is known: sets it, without a check. */
void nxh_put(nxh_recorder *r, nxh_value v, nx_tensor *t);
nx_tensor *nxh_value_of(nxh_recorder *r, nxh_value v);
/* The operation that gives a value, through conversions of shape; NULL: an argument. */
const nxh_op *nxh_source(nxh_recorder *r, nxh_value v);
/* The constant number that all elements of a value are. */
bool nxh_constant(nxh_recorder *r, nxh_value v, nx_scalar *out);
/* The operations of a region, whose arguments are set. results: of its last operation. */
bool nxh_record_region(nxh_recorder *r, const nxh_region *region);
const nxh_op *nxh_last(const nxh_region *region);
/* Calls a function with the operands of the operation, whose results it gives. */
bool nxh_record_call(nxh_recorder *r, const nxh_op *op, nxh_word function);
/* The body of a function, with these tensors for its arguments; `results` are its results. op: what
 * calls it, NULL of none: operands and results that are known by their parts are NULL in the lists.
 */
bool nxh_record_body(nxh_recorder *r, const nxh_function *f, const nxh_op *op,
                     nx_tensor *const *args, nx_tensor **results);
/* A function of the module as a captured one. */
nx_status nxh_make_function(const nxh_module *m, nx_context *c, const nx_stablehlo_options *options,
                            const nxh_function *f, nx_function **out, nxi_diag *d);
/* A tensor of the type without contents that matter: placeholders. */
nx_tensor *nxh_placeholder(nxh_recorder *r, const nxh_type *type);
/* The same with extents that the type may leave open; NULL: none are open. */
nx_tensor *nxh_placeholder_of(nxh_recorder *r, const nxh_type *type, const int64_t *shape);

/* ---- attrs.c */

/* The integers of a list or of elements; at most `most`. False: there is no such attribute, and no
 * failure is recorded, or it is of another kind. */
bool nxh_integers(nxh_recorder *r, const nxh_op *op, const char *name, int64_t *out, uint32_t most,
                  uint32_t *n);
/* The same as axes of an operand. A list that is not there is empty. */
bool nxh_axes(nxh_recorder *r, const nxh_op *op, const char *name, int32_t *out, uint32_t *n);
/* n integers; `otherwise` if there is no such attribute. */
bool nxh_list_of(nxh_recorder *r, const nxh_op *op, const char *name, uint32_t n, int64_t otherwise,
                 int64_t *out);
bool nxh_need_integers(nxh_recorder *r, const nxh_op *op, const char *name, int64_t *out,
                       uint32_t n);
/* Entry i of a list or of elements, of which there are as many. False: it is no integer. */
bool nxh_length(const nxh_attr *a, uint32_t *n); /* false: it is none, or beyond 4096 */
bool nxh_entry(const nxh_attr *a, uint32_t i, int64_t *out);
int64_t nxh_integer(const nxh_op *op, const char *name, int64_t otherwise);
/* One axis, or a rank; -1: out of range. */
int32_t nxh_axis(const nxh_op *op, const char *name, int64_t otherwise);
bool nxh_flag(const nxh_op *op, const char *name);
/* An enumerator or a string; length 0: none. */
nxh_word nxh_name(const nxh_op *op, const char *name);
/* Pairs of padding, of n axes; none: zeros. */
bool nxh_padding(nxh_recorder *r, const nxh_op *op, uint32_t n, int64_t *before, int64_t *after);
/* An attribute as one number. */
bool nxh_number(const nxh_attr *a, double *out);

/* ---- functions of regions (regions.c) */

/* The region as a function of scalars, each argument and then each captured value an input. */
nx_function *nxh_scalar_function(nxh_recorder *r, const nxh_region *region);
/* nx_case, of any number of branches up to 4096. */
bool nxh_choose(nxh_recorder *r, nx_tensor *index, nx_function **branches, uint32_t n,
                nx_tensor *const *in, uint32_t n_in, nx_tensor **out, uint32_t n_out);
/* A function of the module, which reads nothing else, as one of its arguments. */
nx_function *nxh_scalar_function_of(nxh_recorder *r, const nxh_function *f);
/* The region, of a function (or NULL), as one of the right operands, then the left ones. */
nx_function *nxh_turned_function(nxh_recorder *r, const nxh_region *region, const nxh_function *of);
/* Records the region with these tensors for its arguments, and gives its results. */
bool nxh_inline_region(nxh_recorder *r, const nxh_region *region, nx_tensor *const *args,
                       nx_tensor **results, uint32_t n);
/* The operation that a region of two scalars is, if it is only one of its two arguments, in any
 * order, and nothing else; NULL otherwise. Of quantized scalars only those are one that are the
 * same of the storage, and of forms none. */
const nxh_op *nxh_single_op(const nxh_recorder *r, const nxh_region *region);

/* ---- rows.c */

typedef struct nxh_row nxh_row;
typedef bool nxh_record(nxh_recorder *r, const nxh_op *op, const nxh_row *row);
struct nxh_row {
  const char *name;
  nxh_record *record;
  union {
    nx_tensor *(*unary)(nx_tensor *);
    nx_tensor *(*binary)(nx_tensor *, nx_tensor *);
    int64_t number;
  } of;
};
/* NULL: there is no such operation. */
const nxh_row *nxh_find_row(nxh_word name);
/* The row of an operation. A custom call of the name of a function of CHLO is that function. */
const nxh_row *nxh_row_of(const nxh_op *op);

/* ops_quant.c: operations that have operands or results of quantized types, or of forms. */
bool nxh_is_carried(const nxh_recorder *r, const nxh_op *op);
bool nxh_record_carried(nxh_recorder *r, const nxh_op *op, const nxh_row *row);
/* From elements of a storage to what they mean, and back. NULL: a failure. */
nx_tensor *nxh_dequantize(nxh_recorder *r, nx_tensor *x, const nxh_type *type);
nx_tensor *nxh_quantize(nxh_recorder *r, nx_tensor *x, const nxh_type *type);
/* ops_forms.c: the same of forms, from any type. */
nx_tensor *nxh_to_form(nxh_recorder *r, nx_tensor *x, const nxh_form *f);
nx_tensor *nxh_from_form(nxh_recorder *r, nx_tensor *x, const nxh_form *f);
/* Elements of a storage that came from outside, without bits that the form has not. f: or NULL. */
nx_tensor *nxh_cleaned(nxh_recorder *r, nx_tensor *x, const nxh_form *f);
/* Operations that mean of a form what they do not mean of its storage: the first returns whether
 * it is one, and *ok is whether that went well. */
bool nxh_word_op(nxh_recorder *r, const nxh_op *op, const nxh_row *row, bool *ok);
bool nxh_convert_form(nxh_recorder *r, const nxh_op *op);
bool nxh_bitcast_form(nxh_recorder *r, const nxh_op *op);
/* chlo.next_after of floats of a form, while operands and results are real numbers. */
bool nxh_next_form(nxh_recorder *r, const nxh_op *op);
nxh_record nxh_requantize;
/* ops_map.c */
nxh_record nxh_unary, nxh_binary, nxh_identity, nxh_compare, nxh_select, nxh_clamp, nxh_convert,
    nxh_bitcast, nxh_divide, nxh_remainder, nxh_sign, nxh_abs, nxh_precision, nxh_batch_norm,
    nxh_logic, nxh_infinite, nxh_mulhi, nxh_cbrt, nxh_atan2;
/* ops_move.c */
nxh_record nxh_fill, nxh_iota, nxh_broadcast, nxh_reshape, nxh_transpose, nxh_reverse, nxh_slice,
    nxh_concatenate, nxh_pad, nxh_extent;
/* Paddings of nxh_pad. */
typedef struct nxh_padded {
  int64_t low[NX_MAX_RANK], high[NX_MAX_RANK], between[NX_MAX_RANK];
} nxh_padded;
/* The operations of these files with what is not an attribute of theirs. */
bool nxh_iota_of(nxh_recorder *r, const nxh_op *op, const nxh_type *type);
bool nxh_broadcast_to(nxh_recorder *r, const nxh_op *op, const nxh_type *type);
bool nxh_slice_by(nxh_recorder *r, const nxh_op *op, nx_tensor *x, const int64_t *start,
                  const int64_t *stop, const int64_t *step);
bool nxh_pad_by(nxh_recorder *r, const nxh_op *op, const nxh_padded *p);
bool nxh_gather_of(nxh_recorder *r, const nxh_op *op, const int64_t *sizes);
bool nxh_convolve(nxh_recorder *r, const nxh_op *op, const int64_t *before, const int64_t *after);
/* The custom call by which JAX asks for some of the largest elements: here they are the largest. */
bool nxh_approx_top_k(nxh_recorder *r, const nxh_op *op);
/* The function that a custom call names, or NULL. */
const nxh_function *nxh_called_function(nxh_recorder *r, const nxh_op *op);
/* The custom call of a reduce_window whose attributes are operands. */
bool nxh_dynamic_windows(nxh_recorder *r, const nxh_op *op);
bool nxh_top_k_of(nxh_recorder *r, const nxh_op *op, nx_tensor *x, int64_t k);
bool nxh_rng_of(nxh_recorder *r, const nxh_op *op, const int64_t *shape, int32_t rank);
/* ops_dynamic.c */
nxh_record nxh_dynamic_reshape, nxh_dynamic_broadcast, nxh_dynamic_iota, nxh_dynamic_pad,
    nxh_real_dynamic_slice, nxh_dynamic_gather, nxh_dynamic_conv, nxh_set_extent;
/* The integers that a tensor is, if it depends on no input, and on at most so many. */
bool nxh_known(nxh_recorder *r, nx_tensor *t, int64_t *out, uint32_t most, uint32_t *n);
/* Whether the type of the result leaves no extent open, as it must where nothing else says it. */
bool nxh_closed(nxh_recorder *r, const nxh_op *op, uint32_t result);
/* Whether the target is one of these; if so, it is recorded, and *ok is whether that went well. */
bool nxh_dynamic_call(nxh_recorder *r, const nxh_op *op, nxh_word target, bool *ok);
/* ops_reduce.c */
nxh_record nxh_reduce, nxh_reduce_window, nxh_sort, nxh_map, nxh_select_and_scatter, nxh_top_k;
/* ops_index.c */
nxh_record nxh_gather, nxh_scatter, nxh_dynamic_slice, nxh_dynamic_update, nxh_index_select;
/* A scatter of one operand that adds, of other tensors than its operands. NULL: a failure. */
nx_tensor *nxh_scatter_sum(nxh_recorder *r, const nxh_op *op, nx_tensor *x, nx_tensor *starts,
                           nx_tensor *updates);
/* ops_control.c: whether the region calls what has a side effect, by the caller's table. */
bool nxh_has_effects(nxh_recorder *r, const nxh_region *region);
nxh_record nxh_while, nxh_scan, nxh_case, nxh_if, nxh_call, nxh_composite, nxh_nothing;
/* ops_exchange.c */
enum { NXH_INFEED, NXH_OUTFEED, NXH_SEND, NXH_RECV };
nxh_record nxh_exchange;
/* Whether it is one of the four. */
bool nxh_is_exchange(const nxh_op *op);
struct nxh_host;
/* NULL: there is none, or a failure. */
struct nxh_host *nxh_host_open(nxh_recorder *r, const nx_stablehlo_host *given);
/* failed: the caller's `user` is still its own. */
void nxh_host_release(struct nxh_host *h, bool failed);
/* shards.c */
nxh_record nxh_manual, nxh_constrain;
/* ops_product.c */
nxh_record nxh_dot, nxh_convolution;
/* ops_einsum.c */
nxh_record nxh_einsum, nxh_unary_einsum, nxh_ragged_dot;
/* ops_chlo.c: an operation of broadcast operands, whose name is the row's without `broadcast_` */
nxh_record nxh_implicit, nxh_constant_like;
/* ops_linalg.c */
nxh_record nxh_fft, nxh_cholesky, nxh_triangular_solve;
/* ops_collective.c */
nxh_record nxh_all_reduce, nxh_reduce_scatter, nxh_all_gather, nxh_all_to_all,
    nxh_collective_permute, nxh_collective_broadcast, nxh_collective_reduce, nxh_own_number;
/* The channel that an operation names; false: none. */
bool nxh_channel(const nxh_op *op, int64_t *out);
/* A send or a recv between processes. */
bool nxh_between(nxh_recorder *r, const nxh_op *op, bool receives);
/* ops_custom.c */
nxh_record nxh_custom_call;
/* ops_random.c */
nxh_record nxh_rng_bits, nxh_rng;

#endif
