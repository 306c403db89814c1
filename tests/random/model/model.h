/* SPDX-License-Identifier: ISC */
/* An eager model of the interface's semantics: a storage is a plain array, a handle is a view of
 * one, and every operation is computed at once, by the interpreter, on a graph of that one
 * operation. */
#ifndef NXT_MODEL_H
#define NXT_MODEL_H

#include "ir/graph/graph.h"

typedef struct model_storage {
  uint32_t refs;
  nx_dtype dtype;
  int64_t elements;
  void *data;
  int pins, write_pins; /* mappings; a shared import counts as one of each for ever */
  bool read_only;
  bool frozen; /* other threads read it: never assigned, never mapped for writing */
  /* the one, with a reference, in whose memory this one lies; or NULL */
  struct model_storage *within;
  bool part; /* stands for a part of a larger storage: nothing may look at the whole */
} model_storage;

typedef struct model_view {
  model_storage *storage; /* borrowed */
  nxg_view view;
} model_view;

/* Contents zero, one reference. */
model_storage *model_storage_new(nx_dtype dtype, int64_t elements);
void model_ref(model_storage *s);
void model_unref(model_storage *s);
/* The storage whose memory this one's is. */
model_storage *model_root(model_storage *s);

/* Bytes of n elements of dtype t, and some more for whoever allocates them. */
size_t model_bytes(nx_dtype t, int64_t n);
/* Element `to` of one memory becomes element `from` of another; a bool 0 or 1. */
void model_copy_element(nx_dtype t, void *dst, int64_t to, const void *src, int64_t from);

int64_t model_elements(const model_view *v);
/* Elements of a view, packed in C order as nx_read has them, and back. Bool bytes are 0 or 1. */
void model_read(const model_view *v, void *packed);
void model_write(const model_view *v, const void *packed);
/* The same for a base that is not the model's. */
void model_read_from(const model_view *v, const void *base, void *packed);
/* src, broadcast, to dst, as if read as a whole first. */
void model_assign(const model_view *dst, const model_view *src);

/* A new storage that holds the operation's result, and the whole of it as a view. Elementwise
 * operations broadcast. given, rank and shape: of leaves, the dtype also of casts. NULL if the
 * operands do not fit. */
model_storage *model_compute(nxg_op op, uint32_t n, const model_view *operands,
                             const int64_t *attrs, uint32_t n_attrs, nx_dtype given, int32_t rank,
                             const int64_t *shape, nxg_view *result);

#endif
