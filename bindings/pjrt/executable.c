/* SPDX-License-Identifier: ISC */
/* What executables are asked, and their end. */
#include <string.h>

#include "bindings/stablehlo/module.h"
#include "calls.h"
#include "ir/alloc.h"

nxj_error *nxj_executable_destroy(void *args) {
  NXJ_TAKE(executable, executable);
  nxj_executable_drop(a->executable);
  return NULL;
}

nxj_error *nxj_executable_name(void *args) {
  NXJ_TAKE(executable_text, n);
  a->text = a->executable->name;
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_executable_fingerprint(void *args) {
  NXJ_TAKE(executable_text, n);
  a->text = nxj_fingerprint(a->executable);
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_executable_replicas(void *args) {
  NXJ_TAKE(executable_count, n);
  a->n = (size_t)a->executable->options.replicas;
  return NULL;
}

nxj_error *nxj_executable_partitions(void *args) {
  NXJ_TAKE(executable_count, n);
  a->n = (size_t)a->executable->options.partitions;
  return NULL;
}

nxj_error *nxj_executable_outputs(void *args) {
  NXJ_TAKE(executable_count, n);
  a->n = a->executable->n_out;
  return NULL;
}

/* Not known: kernels are shared with other executables. */
nxj_error *nxj_executable_code_size(void *args) {
  NXJ_TAKE(executable_bytes, n);
  a->n = -1;
  return NULL;
}

nxj_error *nxj_executable_costs(void *args) {
  NXJ_TAKE(executable_costs, list);
  a->n = 0;
  a->list = NULL;
  return NULL;
}

nxj_error *nxj_executable_memory(void *args) {
  NXJ_TAKE(executable_memory, host_temporaries);
  const nxj_executable *e = a->executable;
  int64_t aliases = 0;
  for (size_t i = 0; i < e->n_in; i++)
    if (e->in[i].donated)
      aliases += (nxj_elements(e->in[i].shape, (size_t)e->in[i].rank) *
                  (int64_t)nx_dtype_bits(nxj_dtype_of(e->in[i].type))) /
                 8;
  a->arguments = e->in_bytes;
  a->outputs = e->out_bytes;
  a->aliases = aliases < e->out_bytes ? aliases : e->out_bytes;
  a->code = a->temporaries = 0;
  a->host_code = a->host_arguments = a->host_outputs = a->host_aliases = a->host_temporaries = 0;
  if (NXJ_HAS(a, peak)) a->peak = a->arguments + a->outputs - a->aliases;
  if (NXJ_HAS(a, total)) a->total = a->arguments + a->outputs - a->aliases;
  return NULL;
}

nxj_error *nxj_executable_types(void *args) {
  NXJ_TAKE(executable_types, n);
  a->types = a->executable->types;
  a->n = a->executable->n_out;
  return NULL;
}

nxj_error *nxj_executable_dims(void *args) {
  NXJ_TAKE(executable_dims, ranks);
  a->n = a->executable->n_out;
  a->dims = a->executable->dims;
  a->ranks = a->executable->ranks;
  return NULL;
}

nxj_error *nxj_executable_output_kinds(void *args) {
  NXJ_TAKE(executable_memories, sizes);
  a->n = a->executable->n_out;
  a->kinds = a->executable->kinds + a->executable->n_in;
  a->sizes = a->executable->kind_sizes + a->executable->n_in;
  return NULL;
}

nxj_error *nxj_executable_input_kinds(void *args) {
  NXJ_TAKE(executable_memories, sizes);
  a->n = a->executable->n_in;
  a->kinds = a->executable->kinds;
  a->sizes = a->executable->kind_sizes;
  return NULL;
}

static bool is_of_shardy(const nxh_op *op) {
  return op->name.length > 4 && memcmp(op->name.at, "sdy.", 4) == 0;
}

/* The program as it came. A caller asks twice: for the size, and with room for it. jaxlib makes
 * HLO's text of it, which has no words for what Shardy says in operations, and JAX knows of texts
 * that are not implemented. */
nxj_error *nxj_executable_program(void *args) {
  NXJ_TAKE(executable_program, program);
  const nxj_executable *e = a->executable;
  nxj_program *p = a->program;
  if (nxh_any_op(nxh_module_of(e->module), is_of_shardy))
    return nxj_fail(NXJ_UNIMPLEMENTED, "nx: there is no text of a program that is divided by "
                                       "operations of Shardy");
  p->format = "mlir";
  p->n_format = 4;
  size_t n = nxh_whole_size(e->module);
  if (p->code != NULL && p->n < n)
    return nxj_fail(NXJ_INVALID_ARGUMENT,
                    "nx: the program has %zu bytes, and there is room for %zu", n, p->n);
  p->n = n;
  if (p->code != NULL) nxh_write_whole(e->module, p->code);
  return NULL;
}

nxj_error *nxj_executable_options(void *args) {
  NXJ_TAKE(executable_serialize, release);
  nxj_bytes *b = nxj_bytes_new(a->executable->n_given);
  if (b == NULL) return nxj_no_memory();
  if (b->n > 0) memcpy(b->at, a->executable->given, b->n);
  a->bytes = b->at;
  a->n = b->n;
  a->owner = b;
  a->release = nxj_bytes_free;
  return NULL;
}

/* ---- loaded ones */

nxj_error *nxj_loaded_destroy(void *args) {
  NXJ_TAKE(loaded, loaded);
  nxj_loaded_drop(a->loaded);
  return NULL;
}

nxj_error *nxj_loaded_executable(void *args) {
  NXJ_TAKE(loaded_executable, executable);
  a->executable = a->loaded->executable;
  atomic_fetch_add_explicit(&a->executable->refs, 1, memory_order_relaxed);
  return NULL;
}

nxj_error *nxj_loaded_devices(void *args) {
  NXJ_TAKE(loaded_devices, n);
  a->list = a->loaded->devices;
  a->n = (size_t)a->loaded->n;
  return NULL;
}

nxj_error *nxj_loaded_logical(void *args) {
  NXJ_TAKE(loaded_logical, n);
  a->list = a->loaded->logical;
  a->n = (size_t)a->loaded->n;
  return NULL;
}

nxj_error *nxj_loaded_delete(void *args) {
  NXJ_TAKE(loaded, loaded);
  nxj_lock();
  a->loaded->deleted = true;
  nxj_unlock();
  return NULL;
}

nxj_error *nxj_loaded_deleted(void *args) {
  NXJ_TAKE(loaded_deleted, deleted);
  nxj_lock();
  a->deleted = a->loaded->deleted;
  nxj_unlock();
  return NULL;
}

nxj_error *nxj_loaded_fingerprint(void *args) {
  NXJ_TAKE(loaded_text, n);
  a->text = nxj_fingerprint(a->loaded->executable);
  a->n = strlen(a->text);
  return NULL;
}

nxj_error *nxj_loaded_assignment(void *args) {
  NXJ_TAKE(loaded_assignment, release);
  nxj_bytes *b = nxj_bytes_new(4096);
  if (b == NULL) return nxj_no_memory();
  a->bytes = b->at;
  a->n = nxj_write_assignment(a->loaded, b->at);
  a->owner = b;
  a->release = nxj_bytes_free;
  return NULL;
}
