/* SPDX-License-Identifier: ISC */
/* The marks of the buffers that stand in for Nx's. */
#define CAML_NAME_SPACE
#include <caml/bigarray.h>
#include <caml/mlvalues.h>

#include "nx_buffer_stubs.h"

value nx_buffer_standin_mark(value array, value kind) {
  struct caml_ba_array *b = Caml_ba_array_val(array);
  b->flags = nx_buffer_store_extended_kind((int)b->flags, Int_val(kind));
  return Val_unit;
}

/* The mark, and the runtime's kind if there is none. */
value nx_buffer_standin_kind(value array) {
  intnat flags = Caml_ba_array_val(array)->flags;
  intnat mark = flags >> NX_BUFFER_MARK_SHIFT & NX_BUFFER_MARK_MASK;
  return Val_long(mark ? mark : flags & CAML_BA_KIND_MASK);
}
