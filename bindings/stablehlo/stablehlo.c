/* SPDX-License-Identifier: ISC */
/* The interface: modules with their text, and functions of them. */
#include "nx/stablehlo.h"

#include <stdatomic.h>
#include <string.h>

#include "mesh.h"
#include "record.h"
#include "runtime/record/error.h"

struct nx_stablehlo {
  atomic_uint refs;
  nxh_module module; /* refers to `text` */
  size_t size;
  char text[];
};

nx_status nx_stablehlo_parse(const void *bytes, size_t size, nx_stablehlo **out) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (bytes == NULL || out == NULL) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "stablehlo", "stablehlo: an argument is NULL");
    return nxi_error_report(&d);
  }
  nx_stablehlo *m = size < SIZE_MAX / 2 ? nxi_malloc(sizeof *m + size + 1) : NULL;
  if (m == NULL) return nxi_oom(&d), nxi_error_report(&d);
  atomic_init(&m->refs, 1);
  m->size = size;
  memcpy(m->text, bytes, size);
  m->text[size] = 0; /* so that a reader at the end of the text may look at the character there */
  nx_status s = nxh_is_bytecode(bytes, size) ? nxh_read_bytecode(m->text, size, &m->module, &d)
                                             : nxh_read_text(m->text, size, &m->module, &d);
  if (s != NX_OK) {
    nxi_free(m);
    return nxi_error_report(&d);
  }
  if (nxh_flatten(&m->module, size, &d) != NX_OK) {
    nx_stablehlo_release(m);
    return nxi_error_report(&d);
  }
  if (!nxh_note_shardings(&m->module)) {
    nx_stablehlo_release(m);
    return nxi_oom(&d), nxi_error_report(&d);
  }
  *out = m;
  return NX_OK;
}

nx_stablehlo *nx_stablehlo_retain(nx_stablehlo *m) {
  if (m != NULL) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
  return m;
}

void nx_stablehlo_release(nx_stablehlo *m) {
  if (m == NULL || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
  nxh_module_destroy(&m->module);
  nxi_free(m);
}

const nxh_module *nxh_module_of(const nx_stablehlo *m) { return &m->module; }

const char *nxh_bytes_of(const nx_stablehlo *m, size_t *size) {
  *size = m->size;
  return m->text;
}

const nxh_function *nxh_default_function(const nxh_module *m) {
  const nxh_function *f = nxh_find_function(m, nxh_word_of("main")), *only = NULL;
  for (uint32_t i = 0; f == NULL && m != NULL && i < m->n_functions; i++) {
    if (m->functions[i].is_private) continue;
    if (only != NULL) return NULL;
    only = &m->functions[i];
  }
  return f != NULL ? f : only;
}

/* Of a mesh, its device takes the place of the one that the options have. */
static nx_status check_mesh(nx_context *c, nx_stablehlo_options *o, nxi_diag *d) {
  int32_t replicas = nxh_mesh_replicas(o->mesh), partitions = nxh_mesh_partitions(o->mesh);
  if (o->mesh != NULL && nxh_mesh_context(o->mesh) != c)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "stablehlo",
                    "stablehlo: the mesh is of another context");
  if (o->replica < 0 || o->replica >= replicas || o->partition < 0 || o->partition >= partitions)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "stablehlo",
                    "stablehlo: there is no replica %d, partition %d of %d replicas of %d "
                    "partitions",
                    o->replica, o->partition, replicas, partitions);
  if (o->mesh != NULL) o->device = nxh_mesh_device(o->mesh, o->replica * partitions + o->partition);
  return NX_OK;
}

nx_status nx_stablehlo_function(nx_stablehlo *m, nx_context *c, const nx_stablehlo_options *given,
                                nx_function **f) {
  nxi_diag d;
  nx_stablehlo_options o = {.size = sizeof o};
  nxi_diag_clear(&d);
  if (m == NULL || c == NULL || f == NULL)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "stablehlo", "stablehlo: an argument is NULL");
  else if (nxi_take(&o, given, sizeof o, "nx_stablehlo_options", "stablehlo", &d) == NX_OK)
    check_mesh(c, &o, &d);
  if (d.status != NX_OK) return nxi_error_report(&d);
  const nxh_function *function = o.symbol ? nxh_find_function(&m->module, nxh_word_of(o.symbol))
                                          : nxh_default_function(&m->module);
  if (function == NULL)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "stablehlo", "stablehlo: the module has no function @%.100s",
             o.symbol ? o.symbol : "main");
  else nxh_make_function(&m->module, c, &o, function, f, &d);
  return d.status == NX_OK ? NX_OK : nxi_error_report(&d);
}
