/* SPDX-License-Identifier: ISC */
/* The interface: modules with their text, and functions of them. */
#include "nx/stablehlo.h"

#include <stdatomic.h>
#include <string.h>

#include "ir/platform/pages.h"
#include "mesh.h"
#include "record.h"
#include "runtime/record/error.h"

enum { ALIGNMENT = 64, LARGE = 1 << 21 };

struct nx_stablehlo {
  atomic_uint refs;
  nxh_module module; /* refers to `text` and what is outside */
  size_t size;
  nxh_outside *outside; /* n of them, behind the text, and copies of their elements behind these */
  size_t n;
  int32_t *lent; /* as in nxh_parse */
  char text[];
};

/* ---- reading */

/* Bytes behind the text; 0: more than there can be. */
static size_t room_outside(const nxh_outside *outside, size_t n, bool copies) {
  size_t room = 2 * ALIGNMENT;
  for (size_t i = 0; i < n; i++) {
    if (outside[i].bytes > SIZE_MAX / 4 - room) return 0;
    room += sizeof *outside + (copies ? outside[i].bytes : 0) + ALIGNMENT;
  }
  return room;
}

static char *aligned(char *p) { return p + (ALIGNMENT - (uintptr_t)p % ALIGNMENT) % ALIGNMENT; }

static void take_outside(nx_stablehlo *m, const nxh_outside *outside, size_t n) {
  m->n = n;
  m->outside = (nxh_outside *)(void *)aligned(m->text + m->size + 1);
  char *at = aligned((char *)(m->outside + n));
  for (size_t i = 0; i < n; i++) {
    const void *data = m->lent != NULL ? outside[i].data : at;
    m->outside[i] = (nxh_outside){data, outside[i].bytes, NULL, NULL};
    if (m->lent != NULL) continue;
    if (outside[i].bytes > 0) memcpy(at, outside[i].data, outside[i].bytes);
    at = aligned(at + outside[i].bytes);
  }
}

static nx_status read_module(nx_stablehlo *m, nxi_diag *d) {
  if (m->n == 0 && nxh_is_bytecode(m->text, m->size))
    return nxh_read_bytecode(m->text, m->size, &m->module, d);
  return nxh_read_text(m->text, m->size, m->outside, m->n, &m->module, d);
}

nx_status nx_stablehlo_parse(const void *bytes, size_t size, nx_stablehlo **out) {
  return nxh_parse(bytes, size, NULL, 0, NULL, out);
}

static nx_status finish(nx_stablehlo *m, nxi_diag *d) {
  nx_status s = nxh_flatten(&m->module, m->size, d);
  if (s != NX_OK) return s;
  return nxh_note_shardings(&m->module) ? NX_OK : nxi_oom(d);
}

nx_status nxh_parse(const void *bytes, size_t size, const nxh_outside *outside, size_t n,
                    int32_t *lent, nx_stablehlo **out) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (bytes == NULL || out == NULL) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "stablehlo", "stablehlo: an argument is NULL");
    return nxi_error_report(&d);
  }
  size_t room = size < SIZE_MAX / 4 ? room_outside(outside, n, lent == NULL) : 0;
  nx_stablehlo *m = room > 0 ? nxi_malloc_plain(sizeof *m + size + 1 + room) : NULL;
  if (m == NULL) return nxi_oom(&d), nxi_error_report(&d);
  atomic_init(&m->refs, 1);
  m->size = size;
  memcpy(m->text, bytes, size);
  m->text[size] = 0; /* so that a reader at the end of the text may look at the character there */
  m->lent = NULL;
  if (n > 0) m->lent = lent;
  take_outside(m, outside, n);
  const size_t all = sizeof *m + size + 1 + room;
  /* later, in the background; what is small lies among others, whose pages are none of its */
  if (n > 0 && all >= LARGE) nxi_pages_want_large(m, all);
  nx_status s = read_module(m, &d);
  if (s != NX_OK) {
    nxi_free(m);
    return nxi_error_report(&d);
  }
  if (m->lent != NULL) __atomic_store_n(m->lent, 1, __ATOMIC_RELEASE);
  if (finish(m, &d) != NX_OK) {
    nx_stablehlo_release(m);
    return nxi_error_report(&d);
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
  if (m->lent != NULL) __atomic_store_n(m->lent, 0, __ATOMIC_RELEASE);
  nxi_free(m);
}

const nxh_module *nxh_module_of(const nx_stablehlo *m) { return &m->module; }

nx_stablehlo *nxh_retain(const nxh_module *m) {
  return nx_stablehlo_retain(
      (nx_stablehlo *)(void *)((uintptr_t)m - offsetof(nx_stablehlo, module)));
}

const char *nxh_bytes_of(const nx_stablehlo *m, size_t *size) {
  *size = m->size;
  return m->text;
}

const nxh_outside *nxh_outside_of(const nx_stablehlo *m, size_t *n) {
  *n = m->n;
  return m->outside;
}

/* ---- the whole program: dense<"0x.."> where elements stand outside */

static const char opens[] = "dense<\"0x", closes[] = "\">";
enum { AROUND = sizeof opens - 1 + sizeof closes - 1 };

size_t nxh_whole_size(const nx_stablehlo *m) {
  size_t size = m->size;
  for (const nxh_outside *o = m->outside; o < m->outside + m->n; o++)
    size += AROUND + 2 * o->bytes - (size_t)(o->place_end - o->place);
  return size;
}

static char *append(char *to, const char *from, size_t n) {
  memcpy(to, from, n);
  return to + n;
}

static char *write_elements(char *to, const nxh_outside *o) {
  static const char digits[] = "0123456789ABCDEF";
  const uint8_t *bytes = o->data;
  to = append(to, opens, sizeof opens - 1);
  for (size_t i = 0; i < o->bytes; i++) {
    *to++ = digits[bytes[i] >> 4];
    *to++ = digits[bytes[i] & 15];
  }
  return append(to, closes, sizeof closes - 1);
}

void nxh_write_whole(const nx_stablehlo *m, char *to) {
  const char *at = m->text;
  for (const nxh_outside *o = m->outside; o < m->outside + m->n; o++) {
    to = append(to, at, (size_t)(o->place - at));
    to = write_elements(to, o);
    at = o->place_end;
  }
  append(to, at, (size_t)(m->text + m->size - at));
}

/* ---- functions */

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
