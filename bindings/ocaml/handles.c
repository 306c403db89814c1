/* SPDX-License-Identifier: ISC */
/* Blocks of OCaml around handles of the library, errors, and numbers. */
#include "stubs.h"

#include <stdatomic.h>

/* How many blocks there are, counted by each thread for itself: an addition that is atomic for all
 * takes as long as a tenth of recording. */
enum { COUNTS = 64 };
static struct {
  _Alignas(64) _Atomic int64_t live;
} counts[COUNTS];

static void count(int64_t by) {
  static _Atomic uint32_t threads;
  static _Thread_local uint32_t own; /* from 1 on */
  if (own == 0) own = atomic_fetch_add(&threads, 1) % COUNTS + 1;
  _Atomic int64_t *live = &counts[own - 1].live;
  int64_t now = atomic_load_explicit(live, memory_order_relaxed);
  atomic_store_explicit(live, now + by, memory_order_relaxed);
}

int64_t nx_ocaml_live(void) {
  int64_t all = 0;
  for (int i = 0; i < COUNTS; i++)
    all += atomic_load_explicit(&counts[i].live, memory_order_relaxed);
  return all;
}

/* Finalisers run inside the collector, on any thread. Releases are made for that. */
static void finalize_tensor(value block) {
  count(-1);
  nx_tensor_release(Tensor_val(block)); /* NULL: it was released before (nx_ocaml_recorded) */
}
static void finalize_context(value block) { nx_context_release(Context_val(block)); }

#define BLOCKS(id, finalizer)                 \
  {.identifier = (id),                        \
   .finalize = (finalizer),                   \
   .compare = custom_compare_default,         \
   .hash = custom_hash_default,               \
   .serialize = custom_serialize_default,     \
   .deserialize = custom_deserialize_default, \
   .compare_ext = custom_compare_ext_default}
static struct custom_operations tensor_blocks = BLOCKS("nx.tensor", finalize_tensor);
static struct custom_operations context_blocks = BLOCKS("nx.context", finalize_context);

/* ---- errors */

static const int statuses = NX_TIMED_OUT + 1;

/* A record of Nx_engine.failure. The strings are copied before anything else can fail on this
 * thread. */
static value failure(const nx_error *error) {
  CAMLparam0();
  CAMLlocal1(record);
  record = caml_alloc(6, 0);
  for (mlsize_t i = 0; i < 6; i++) Store_field(record, i, Val_unit);
  Store_field(record, 0, Val_int((int)error->status < statuses ? error->status : NX_INTERNAL));
  Store_field(record, 1, caml_copy_string(error->op ? error->op : ""));
  Store_field(record, 2, caml_copy_string(error->message ? error->message : ""));
  Store_field(record, 3, Val_long(error->tag));
  Store_field(record, 4, caml_copy_string(error->tag_text ? error->tag_text : ""));
  Store_field(record, 5, Val_long(error->index));
  CAMLreturn(record);
}

void nx_ocaml_raise(void) {
  CAMLparam0();
  CAMLlocal1(record);
  nx_error error = {.size = sizeof error};
  nx_error_take(&error);
  record = failure(&error);
  caml_raise_with_arg(*caml_named_value("nx.error"), record);
}

/* ---- tensors */

/* Telling the collector takes as long as a part of recording, so what is small is told together, by
 * one block of some dozens. Domains that meet here may lose some bytes. */
value nx_ocaml_block(struct custom_operations *of, uintnat size, size_t bytes) {
  enum { TOLD_AT_ONCE = 4096 };
  static _Atomic size_t untold;
  size_t all = atomic_load_explicit(&untold, memory_order_relaxed) + bytes;
  bool tells = all >= TOLD_AT_ONCE;
  atomic_store_explicit(&untold, tells ? 0 : all, memory_order_relaxed);
  return tells ? caml_alloc_custom_mem(of, size, all) : caml_alloc_custom(of, size, 0, 1);
}

value nx_ocaml_box(nx_tensor *tensor, size_t bytes) {
  value block = nx_ocaml_block(&tensor_blocks, sizeof(nx_tensor *), bytes);
  Tensor_val(block) = tensor;
  count(1);
  return block;
}

value nx_ocaml_recorded(nx_tensor *tensor) {
  if (!tensor) nx_ocaml_raise();
  nx_context *context = nx_context_of(tensor);
  size_t bytes = (size_t)nx_elements(tensor) * nx_dtype_bits(nx_dtype_of(tensor)) / 8;
  value block = nx_ocaml_box(tensor, bytes);
  if (!nx_ocaml_due(context)) return block;
  CAMLparam1(block);
  CAMLlocal1(raised);
  raised = Val_unit;
  nx_status status = nx_ocaml_settle(context, tensor, &raised);
  if (status != NX_OK || raised != Val_unit) {
    /* Nobody gets it. As garbage it would be deferred until it is collected, and fail again
     * whenever something else is recorded. */
    Tensor_val(block) = NULL;
    nx_tensor_release(tensor);
  }
  nx_ocaml_check(status, raised);
  CAMLreturn(block);
}

value nx_ocaml_view(nx_tensor *tensor) {
  if (!tensor) nx_ocaml_raise();
  return nx_ocaml_box(tensor, 0);
}

/* ---- values */

static const nx_dtype dtypes[] = {NX_BOOL, NX_I4,  NX_U4,  NX_I8,  NX_U8,     NX_I16,    NX_U16,
                                  NX_I32,  NX_U32, NX_I64, NX_U64, NX_F8E4M3, NX_F8E5M2, NX_F16,
                                  NX_BF16, NX_F32, NX_F64, NX_C32, NX_C64,    NX_C128};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

nx_dtype nx_ocaml_dtype(value constructor) { return dtypes[Int_val(constructor)]; }

value nx_ocaml_dtype_of(value tensor) {
  nx_dtype dtype = nx_dtype_of(Tensor_val(tensor));
  for (int i = 0; i < DTYPES; i++)
    if (dtypes[i] == dtype) return Val_int(i);
  caml_failwith("nx: the element type has no name in OCaml");
}

value nx_ocaml_bits(value dtype) { return Val_long(nx_dtype_bits(nx_ocaml_dtype(dtype))); }

enum { TAG_INT, TAG_FLOAT, TAG_COMPLEX };

void nx_ocaml_scalar(value number, nx_scalar *out) {
  value content = Field(number, 0);
  *out = (nx_scalar){.kind = NX_SCALAR_I64};
  if (Tag_val(number) == TAG_INT) {
    out->v.i = Int64_val(content);
  } else if (Tag_val(number) == TAG_FLOAT) {
    out->kind = NX_SCALAR_F64;
    out->v.f[0] = Double_val(content);
  } else {
    out->kind = NX_SCALAR_C128;
    out->v.f[0] = Double_flat_field(content, 0);
    out->v.f[1] = Double_flat_field(content, 1);
  }
}

static value complex_number(const double parts[2]) {
  value number = caml_alloc(2 * Double_wosize, Double_array_tag);
  Store_double_flat_field(number, 0, parts[0]);
  Store_double_flat_field(number, 1, parts[1]);
  return number;
}

value nx_ocaml_number(const nx_scalar *scalar) {
  CAMLparam0();
  CAMLlocal2(content, number);
  int tag = TAG_INT;
  if (scalar->kind == NX_SCALAR_F64) {
    tag = TAG_FLOAT;
    content = caml_copy_double(scalar->v.f[0]);
  } else if (scalar->kind == NX_SCALAR_C128) {
    tag = TAG_COMPLEX;
    content = complex_number(scalar->v.f);
  } else {
    content = caml_copy_int64(scalar->v.i); /* of a u64 the bits */
  }
  number = caml_alloc(1, tag);
  Store_field(number, 0, content);
  CAMLreturn(number);
}

int32_t nx_ocaml_extents(value array, int64_t out[NX_MAX_RANK]) {
  mlsize_t n = Wosize_val(array);
  if (n > NX_MAX_RANK) caml_invalid_argument("nx: more than 32 axes");
  for (mlsize_t i = 0; i < n; i++) out[i] = Long_val(Field(array, i));
  return (int32_t)n;
}

int32_t nx_ocaml_axis(value number) {
  intnat axis = Long_val(number);
  return axis < INT32_MIN ? INT32_MIN : axis > INT32_MAX ? INT32_MAX : (int32_t)axis;
}

size_t nx_ocaml_axes(value array, int32_t out[NX_MAX_RANK]) {
  mlsize_t n = Wosize_val(array);
  if (n > NX_MAX_RANK) caml_invalid_argument("nx: more than 32 axes");
  for (mlsize_t i = 0; i < n; i++) out[i] = nx_ocaml_axis(Field(array, i));
  return n;
}

nx_tensor **nx_ocaml_handles(value array) {
  mlsize_t n = Wosize_val(array);
  nx_tensor **list = caml_stat_alloc(n * sizeof *list + 1);
  for (mlsize_t i = 0; i < n; i++) list[i] = nx_tensor_retain(Tensor_val(Field(array, i)));
  return list;
}

void nx_ocaml_handles_free(nx_tensor **list, size_t n) {
  for (size_t i = 0; i < n; i++) nx_tensor_release(list[i]);
  caml_stat_free(list);
}

/* ---- contexts */

value nx_ocaml_context(value threads, value memory_limit) {
  nx_context_options options = {.size = sizeof options,
                                .flags = NX_DEFER_EXPOSED,
                                .threads = nx_ocaml_axis(threads),
                                .memory_limit = (size_t)Long_val(memory_limit)};
  nx_context *context = NULL;
  if (nx_context_create(&options, &context)) nx_ocaml_raise();
  value block = caml_alloc_custom(&context_blocks, sizeof(nx_context *), 0, 1);
  Context_val(block) = context;
  return block;
}

value nx_ocaml_stats(value context) {
  nx_stats stats = {.size = sizeof stats};
  nx_context_stats(Context_val(context), &stats);
  value record = caml_alloc_tuple(5);
  Field(record, 0) = Val_long(stats.pending_nodes);
  Field(record, 1) = Val_long(stats.pending_bytes);
  Field(record, 2) = Val_long(stats.live_bytes);
  Field(record, 3) = Val_long(stats.peak_bytes);
  Field(record, 4) = Val_long(stats.kernels_compiled);
  return record;
}

/* ---- what is known without values */

static value ints(const int64_t *values, int32_t n) {
  if (n == 0) return Atom(0);
  value array = caml_alloc(n, 0);
  for (int32_t i = 0; i < n; i++) Field(array, i) = Val_long(values[i]);
  return array;
}

value nx_ocaml_shape(value tensor) {
  nx_tensor *t = Tensor_val(tensor);
  return ints(nx_shape(t), nx_rank(t));
}

value nx_ocaml_strides(value tensor) {
  nx_tensor *t = Tensor_val(tensor);
  return ints(nx_strides(t), nx_rank(t));
}

/* Offset, elements of the storage, flags. */
value nx_ocaml_describe(value tensor) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(Tensor_val(tensor), &info);
  value record = caml_alloc_tuple(4);
  Field(record, 0) = Val_long(info.offset);
  Field(record, 1) = Val_long(info.storage_elements);
  Field(record, 2) = Val_bool(info.flags & NX_TENSOR_REALIZED);
  Field(record, 3) = Val_bool(info.flags & NX_TENSOR_EXPOSED);
  return record;
}

value nx_ocaml_tag(value number, value text) {
  nx_tag_set((uint64_t)Long_val(number), String_val(text));
  return Val_unit;
}
