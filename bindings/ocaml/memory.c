/* SPDX-License-Identifier: ISC */
/* Memory that OCaml and the library share: bigarrays as tensors, and the other way round. */
#include "stubs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- bigarrays that the library holds */

/* The library may release on any of its threads, which the runtime does not know. So a release
 * only puts the root on a list; the next stub that has the runtime's lock removes it. */
typedef struct held {
  value array;
  struct held *next;
} held;
static _Atomic(held *) released;

static void release(void *user) {
  held *h = user;
  h->next = atomic_load(&released);
  while (!atomic_compare_exchange_weak(&released, &h->next, h)) {}
}

void nx_ocaml_drain(void) {
  if (!atomic_load_explicit(&released, memory_order_relaxed)) return;
  held *h = atomic_exchange(&released, NULL);
  while (h) {
    held *next = h->next;
    caml_remove_generational_global_root(&h->array);
    free(h);
    h = next;
  }
}

static held *hold(value array) {
  held *h = malloc(sizeof *h);
  if (!h) caml_raise_out_of_memory();
  h->array = array;
  caml_register_generational_global_root(&h->array);
  return h;
}

/* The bytes of elements in C order; SIZE_MAX if there is no such number, which the import says. */
static size_t bytes_of(const nx_import_desc *desc) {
  int64_t bits = nx_dtype_bits(desc->dtype);
  for (int32_t i = 0; i < desc->rank; i++)
    if (desc->shape[i] < 0 || __builtin_mul_overflow(bits, desc->shape[i], &bits)) return SIZE_MAX;
  return (size_t)bits / 8 + (bits % 8 != 0);
}

/* mode is one of NX_IMPORT_*; strides is empty for C order. */
value nx_ocaml_import(value context, value mode, value dtype, value layout, value array) {
  CAMLparam5(context, mode, dtype, layout, array);
  nx_context *c = Context_val(context);
  nx_context_collect(c); /* memory of imports that are garbage goes before there is more */
  nx_ocaml_drain();
  int64_t shape[NX_MAX_RANK], strides[NX_MAX_RANK];
  struct caml_ba_array *b = Caml_ba_array_val(array);
  static _Alignas(16) char nothing[16];
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = (uint32_t)Int_val(mode),
                         .dtype = nx_ocaml_dtype(dtype),
                         .rank = nx_ocaml_extents(Field(layout, 0), shape),
                         .shape = shape,
                         .base = b->data,
                         .bytes = caml_ba_byte_size(b)};
  if (nx_ocaml_extents(Field(layout, 1), strides) > 0) desc.strides = strides;
  /* The size of Nx's buffers of 4-bit elements is not what the runtime takes it for. */
  else if (bytes_of(&desc) < desc.bytes) desc.bytes = bytes_of(&desc);
  if (!desc.base || desc.bytes == 0) desc.base = nothing;
  held *h = NULL;
  if (desc.mode != NX_IMPORT_COPY) {
    h = hold(array);
    desc.release = release;
    desc.user = h;
  }
  nx_tensor *tensor = NULL;
  if (nx_import(c, &desc, &tensor)) {
    if (h) release(h);
    nx_ocaml_raise();
  }
  /* Shared memory is the bigarray's, which has told the collector of it. */
  CAMLreturn(nx_ocaml_box(tensor, h ? 0 : desc.bytes));
}

/* ---- mappings that bigarrays hold */

/* What is cut out of a bigarray shares its proxy, and counts it. This one has the mapping behind
 * it, so the last of them ends the mapping. Arrays with a proxy are counted only if they are not
 * flagged external; of the other flags "mapped" is what this is. */
typedef struct lent {
  struct caml_ba_proxy proxy; /* first: the runtime knows this part */
  nx_mapping *mapping;
} lent;

/* Spare ones of this thread, each with one reference, so that using it stores nothing atomic. A
 * minor collection frees as many at once as it has found, for which the allocator of the C library
 * takes locks. They are in an array, for a list would wait for memory that has left the caches. */
enum { MOST_SPARE = 2048 };
typedef struct spares {
  int n;
  lent *all[MOST_SPARE];
} spares;
static _Thread_local spares *spare;
static pthread_key_t spare_key;
static bool spare_ends; /* with its thread: there is such a key */

static void free_spares(void *of_thread) {
  spares *s = of_thread;
  while (s->n) free(s->all[--s->n]);
  free(s);
  spare = NULL;
}

/* NULL: this thread keeps none. */
static spares *begin_spares(void) {
  spares *s = spare_ends ? malloc(sizeof *s) : NULL;
  if (!s) return NULL;
  s->n = 0;
  if (pthread_setspecific(spare_key, s)) {
    free(s);
    return NULL;
  }
  return spare = s;
}

static lent *new_lent(void) {
  lent *l = malloc(sizeof *l);
  if (l) l->proxy.refcount = 1;
  return l;
}

static lent *take_lent(void) {
  spares *s = spare;
  return s && s->n ? s->all[--s->n] : new_lent();
}

static void give_lent(lent *l) {
  spares *s = spare;
  if (!s) s = begin_spares();
  if (s && s->n < MOST_SPARE) s->all[s->n++] = l;
  else free(l);
}

static void finalize_lent(value array) {
  lent *l = (lent *)Caml_ba_array_val(array)->proxy;
  /* Who is the only one is alone with it: others would come from arrays that are alive. */
  if (l->proxy.refcount != 1) {
    if (l->proxy.refcount-- != 1) return;
    l->proxy.refcount = 1;
  }
  nx_mapping_release(l->mapping);
  give_lent(l);
}

/* Those of any bigarray, with a finaliser of our own: the runtime copies them to what is cut out,
 * and two bigarrays can be compared. */
static struct custom_operations lent_blocks;

value nx_ocaml_start(value any_bigarray) {
  lent_blocks = *Custom_ops_val(any_bigarray);
  lent_blocks.finalize = finalize_lent;
  spare_ends = pthread_key_create(&spare_key, free_spares) == 0;
  return Val_unit;
}

typedef struct mapping_of {
  nx_tensor *tensor;
  uint32_t access;
  nx_mapping *mapping;
} mapping_of;

static nx_status map(void *user, const nx_run_options *options) {
  mapping_of *m = user;
  return nx_map(m->tensor, m->access, options, &m->mapping);
}

static value wrap(lent *l, int kind, intnat n) {
  static _Alignas(16) char nothing[16];
  size_t bytes;
  void *base = nx_mapping_base(l->mapping, &bytes);
  if (n < 0) n = (intnat)bytes / -n;
  value array = nx_ocaml_block(&lent_blocks, SIZEOF_BA_ARRAY + sizeof(intnat), bytes);
  struct caml_ba_array *b = Caml_ba_array_val(array);
  b->data = base ? base : nothing;
  b->num_dims = 1;
  b->flags = kind | CAML_BA_C_LAYOUT | CAML_BA_MAPPED_FILE;
  b->proxy = &l->proxy;
  b->dim[0] = n;
  l->proxy.data = b->data;
  l->proxy.size = bytes;
  return array;
}

value nx_ocaml_map(value tensor, uint32_t access, int kind, intnat n) {
  CAMLparam1(tensor);
  CAMLlocal2(raised, array);
  raised = Val_unit;
  lent *l = take_lent();
  if (!l) caml_raise_out_of_memory();
  mapping_of m = {Tensor_val(tensor), access, NULL};
  nx_context *context = nx_context_of(m.tensor);
  nx_status status = map(&m, nx_ocaml_briefly());
  if (status != NX_OK) {
    nx_error_take(NULL);
    status = nx_ocaml_perform(context, map, &m, &raised);
  }
  if (status != NX_OK || raised != Val_unit) {
    nx_mapping_release(m.mapping);
    give_lent(l);
    nx_ocaml_check(status, raised);
    CAMLreturn(Val_unit); /* never: that has raised */
  }
  l->mapping = m.mapping;
  array = wrap(l, kind, n);
  nx_ocaml_after_reading(context);
  CAMLreturn(array);
}

/* `like` is a bigarray of the kind that the result shall have. */
value nx_ocaml_map_like(value tensor, value access, value like, value n) {
  int kind = (int)(Caml_ba_array_val(like)->flags & CAML_BA_KIND_MASK);
  return nx_ocaml_map(tensor, (uint32_t)Int_val(access), kind, Long_val(n));
}
