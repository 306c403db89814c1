/* SPDX-License-Identifier: ISC */
/* Files of named arrays behind one interface: opening, finding by name, describing, loading. */
#include "archive.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_load.h"
#include "npy.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"

static const char opening[] = "open", describing[] = "describe", loading[] = "load";

nx_status nxi_archive_bad(nxi_diag *d, nx_status status, int64_t position, const char *format,
                          ...) {
  char sentence[320];
  bool first = d->status == NX_OK;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  nxi_fail(d, status, opening, "byte %lld: %s", (long long)position, sentence);
  if (first) d->index = position;
  return status;
}

nxi_entry *nxi_archive_add(nx_archive *a) {
  if (!nxi_grow(&a->entries, &a->capacity, a->n + 1, sizeof *a->entries)) return NULL;
  nxi_entry *e = &a->entries[a->n++];
  memset(e, 0, sizeof *e);
  return e;
}

const char *nxi_archive_name(nx_archive *a, const char *bytes, size_t n) {
  char *name = nxi_arena_alloc(&a->arena, n + 1);
  if (!name) return NULL;
  memcpy(name, bytes, n);
  name[n] = 0;
  return name;
}

/* ---- opening */

static int by_name(const void *left, const void *right, void *entries) {
  const nxi_entry *e = entries;
  const uint32_t *a = left, *b = right;
  return strcmp(e[*a].name, e[*b].name);
}

static int by_key(const void *left, const void *right) {
  return strcmp(((const nxi_metadatum *)left)->key, ((const nxi_metadatum *)right)->key);
}

/* Sorts entries by name; a name that occurs twice is refused. */
static nx_status sort(nx_archive *a, nxi_diag *d) {
  a->order = nxi_calloc(a->n, sizeof *a->order);
  if (!a->order) return nxi_oom(d);
  for (uint32_t i = 0; i < a->n; i++) a->order[i] = i;
  qsort_r(a->order, a->n, sizeof *a->order, by_name, a->entries);
  for (uint32_t i = 1; i < a->n; i++) {
    const nxi_entry *one = &a->entries[a->order[i - 1]], *two = &a->entries[a->order[i]];
    int64_t later = one->position > two->position ? one->position : two->position;
    if (strcmp(one->name, two->name) == 0)
      return nxi_archive_bad(d, NX_PARSE, later, "there are two arrays named %.80s", one->name);
  }
  if (a->n_metadata) qsort(a->metadata, a->n_metadata, sizeof *a->metadata, by_key);
  for (uint32_t i = 1; i < a->n_metadata; i++)
    if (by_key(&a->metadata[i - 1], &a->metadata[i]) == 0)
      return nxi_archive_bad(d, NX_PARSE, 8, "the metadata has two values for %.80s",
                             a->metadata[i].key);
  return NX_OK;
}

static void archive_free(nx_archive *a) {
  nxi_file_unref(a->file);
  nxi_arena_destroy(&a->arena);
  nxi_free(a->entries);
  nxi_free(a->metadata);
  nxi_free(a->order);
  nxi_handle_free(a, a->watched);
}

nx_status nxi_archive_read(nxi_file *file, nx_archive **out, nxi_diag *d) {
  bool watched;
  nx_archive *a = nxi_handle_alloc(sizeof *a, &watched);
  if (!a) {
    nxi_file_unref(file);
    return nxi_oom(d);
  }
  a->file = file;
  a->watched = watched;
  bool zip = file->bytes >= 4 &&
             (memcmp(file->data, "PK\3\4", 4) == 0 || memcmp(file->data, "PK\5\6", 4) == 0);
  a->format = zip ? NXI_NPZ : NXI_SAFETENSORS;
  nx_status status = zip ? nxi_zip_read(a, d) : nxi_safetensors_read(a, d);
  if (!status) status = sort(a, d);
  if (status) archive_free(a);
  else *out = a;
  if (!status && watched)
    nxi_watch_made(a, NXI_ARCHIVE, NULL, "%s of %u arrays", zip ? ".npz" : ".safetensors", a->n);
  return status;
}

nx_status nx_archive_open(const char *path, nx_archive **out) {
  if (!path || !out) return nxi_error_null(opening, path ? 1 : 0), NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_file *file;
  nx_status status = nxi_file_open(opening, path, &file, &d);
  nx_archive *a = NULL;
  if (!status) status = nxi_archive_read(file, &a, &d);
  if (!status) {
    a->path = nxi_arena_copy(&a->arena, path, strlen(path) + 1);
    if (!a->path) status = nxi_oom(&d), nx_archive_close(a);
  }
  if (!status) *out = a;
  nxi_fail_in_file(&d, path);
  return status ? (nxi_oom_in(&d, status, opening), nxi_error_report(&d)) : NX_OK;
}

void nx_archive_close(nx_archive *a) {
  if (!a || !nxi_have_archive("archive_close", 0, a)) return;
  if (a->watched) nxi_watch_released(a, false);
  archive_free(a);
}

/* ---- looking */

/* NULL, with a failure recorded, if the archive is NULL or closed. */
static const nx_archive *open_one(const nx_archive *a) {
  return a && nxi_have_archive("archive", 0, a) ? a : NULL;
}

size_t nx_archive_count(const nx_archive *a) { return open_one(a) ? a->n : 0; }

const char *nx_archive_name(const nx_archive *a, size_t i) {
  return open_one(a) && i < a->n ? a->entries[i].name : NULL;
}

int64_t nx_archive_find(const nx_archive *a, const char *name) {
  uint32_t low = 0, high = open_one(a) && name ? a->n : 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = strcmp(name, a->entries[a->order[middle]].name);
    if (order == 0) return a->order[middle];
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return -1;
}

size_t nx_archive_metadata(const nx_archive *a, size_t i, const char **key, const char **value) {
  size_t n = open_one(a) ? a->n_metadata : 0;
  if (i < n && key) *key = a->metadata[i].key;
  if (i < n && value) *value = a->metadata[i].value;
  return n;
}

/* ---- .npy files in .npz files */

enum { HEADER = 1 << 16, PIECE = 1 << 18 };

/* Adapts a failure of `op`: names the member, and makes its offset one in the file, if it has
 * one. */
static nx_status member_failure(const char *op, const nx_archive *a, const nxi_entry *e,
                                const nxi_diag *inner, nxi_diag *d) {
  bool stored = a->format == NXI_NPZ && !e->deflated;
  if (inner->status == NX_OUT_OF_MEMORY) return *d = *inner, inner->status;
  bool first = d->status == NX_OK;
  nxi_fail(d, inner->status, op, "member %.80s, %s", e->name, inner->message);
  if (first) d->index = e->offset + (stored && inner->index >= 0 ? inner->index : 0);
  return inner->status;
}

/* The array of a stored (not compressed) member, which is a part of the file. Borrows the file. */
static nx_status stored_array(const char *op, const nx_archive *a, const nxi_entry *e,
                              nxi_file_array *x, nxi_diag *d) {
  nxi_diag inner;
  nxi_diag_clear(&inner);
  if (nxi_npy_parse(a->file->data + e->offset, (size_t)e->bytes, x, &inner))
    return member_failure(op, a, e, &inner, d);
  x->offset += e->offset;
  x->file = a->file;
  return NX_OK;
}

/* A member that is being unpacked: its head, and the elements after it. */
typedef struct unpacking {
  nxi_action *action;
  const nx_archive *a;
  const nxi_entry *e;
  nxi_inflate *stream;
  char *head;
  int64_t head_bytes, done;
  nxi_file_array x;
  void *to; /* the elements */
  nxi_diag inner;
} unpacking;

/* Reads the head, which describes the array; at most as much as a header of 64 KiB takes. */
static nx_status unpack_head(unpacking *u) {
  const nxi_entry *e = u->e;
  u->head_bytes = e->bytes < HEADER ? e->bytes : HEADER;
  u->head = nxi_malloc((size_t)u->head_bytes);
  if (!u->head) return nxi_oom(&u->inner);
  if (nxi_inflate_begin(u->a->file->data + e->offset, e->packed, &u->stream, &u->inner) ||
      nxi_inflate_next(u->stream, u->head, u->head_bytes, &u->inner))
    return u->inner.status;
  u->done = u->head_bytes;
  return nxi_npy_parse_part(u->head, (size_t)u->head_bytes, (size_t)e->bytes, &u->x, &u->inner);
}

/* Reads the elements, and then the rest of the member, which matters for the checksum only. */
static nx_status unpack_rest(void *arg) {
  unpacking *u = arg;
  int64_t there = u->head_bytes - u->x.offset;
  if (there > u->x.bytes) there = u->x.bytes;
  if (there) memcpy(u->to, u->head + u->x.offset, (size_t)there);
  while (u->done < u->e->bytes) {
    nx_status status = u->action ? nxi_poll_now(u->action->options, &u->inner) : NX_OK;
    if (status) return status;
    int64_t at = u->done - u->x.offset, left = u->x.bytes - at;
    bool wanted = left > 0;
    int64_t piece = wanted ? left : u->e->bytes - u->done, most = wanted ? PIECE : u->head_bytes;
    if (piece > most) piece = most;
    status = nxi_inflate_next(u->stream, wanted ? (char *)u->to + at : u->head, piece, &u->inner);
    if (status) return status;
    u->done += piece;
  }
  if (nxi_inflate_check(u->stream, u->e->crc, &u->inner)) return u->inner.status;
  if (u->x.swapped) nxi_swap_bytes(u->x.dtype, u->to, u->x.bytes);
  return NX_OK;
}

static void unpack_end(unpacking *u) {
  nxi_inflate_end(u->stream);
  nxi_free(u->head);
}

static nx_status load_deflated(nxi_action *action, const nx_archive *a, const nxi_entry *e,
                               nx_tensor **out) {
  unpacking u = {.action = action, .a = a, .e = e};
  nxi_diag_clear(&u.inner);
  nx_context *c = action->context;
  nxi_buffer *b = NULL;
  nx_status status = unpack_head(&u);
  if (!status) status = nxi_load_check(loading, &u.x, &u.inner);
  if (!status) status = nxi_buffer_create(c, u.x.bytes, &b, &u.inner);
  if (!status) {
    u.to = b->data;
    status = nxi_action_work(action, unpack_rest, &u);
  }
  unpack_end(&u);
  if (status) {
    nxi_record_lock(c);
    nxi_buffer_unref(c, b);
    nxi_record_unlock(c);
    return status == NX_INTERRUPTED ? nxi_action_stopped(action)
                                    : member_failure(loading, a, e, &u.inner, &action->diag);
  }
  nx_tensor *t = nxi_load_tensor(c, &u.x, b);
  if (!t) return nxi_oom(&action->diag);
  *out = t;
  return NX_OK;
}

/* ---- describing and loading */

/* The array of an entry whose elements, or whose .npy file, are in the file uncompressed. Borrows
 * the file. */
static nx_status plain_array(const char *op, const nx_archive *a, const nxi_entry *e,
                             nxi_file_array *x, nxi_diag *d) {
  if (a->format == NXI_NPZ) return stored_array(op, a, e, x, d);
  *x = (nxi_file_array){.dtype = e->dtype, .rank = e->rank, .file = a->file};
  if (e->rank) memcpy(x->shape, e->shape, (size_t)e->rank * sizeof *x->shape);
  x->offset = e->offset;
  x->data = a->file->data + e->offset;
  if (!e->dtype) return x->bytes = e->bytes, NX_OK;
  nxi_file_array_measure(x); /* it fits: the reader has checked that */
  uint16_t one = 1;
  x->swapped = !*(const uint8_t *)&one && nxi_dtypes[x->dtype].bits > 8;
  return NX_OK;
}

nx_status nx_archive_describe(const nx_archive *a, size_t i, nx_array_info *out) {
  if (!nxi_have_archive(describing, 0, a)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null(describing, 2), NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (i >= a->n) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, describing, "there is no array %zu among %u", i, a->n);
    return nxi_error_report(&d);
  }
  const nxi_entry *e = &a->entries[i];
  nxi_file_array x;
  if (e->deflated) {
    unpacking u = {.a = a, .e = e};
    nxi_diag_clear(&u.inner);
    if (unpack_head(&u)) member_failure(describing, a, e, &u.inner, &d);
    unpack_end(&u);
    x = u.x;
    x.offset = -1;
  } else {
    plain_array(describing, a, e, &x, &d);
  }
  nxi_fail_in_file(&d, a->path);
  if (d.status) return nxi_oom_in(&d, d.status, describing), nxi_error_report(&d);
  nx_array_info info = {.size = sizeof info,
                        .name = e->name,
                        .type = e->type ? e->type : nx_dtype_name(x.dtype),
                        .dtype = x.dtype,
                        .rank = x.rank,
                        .offset = x.offset,
                        .bytes = x.bytes};
  memcpy(info.shape, x.shape, sizeof info.shape);
  return nxi_fill(out, &info, sizeof info, "nx_array_info", describing);
}

static nx_status load(nxi_action *action, const nx_archive *a, const char *name, nx_tensor **out) {
  int64_t i = nx_archive_find(a, name);
  if (i < 0)
    return nxi_fail(&action->diag, NX_INVALID_ARGUMENT, loading,
                    "load: there is no array named %.120s among %u", name, a->n);
  const nxi_entry *e = &a->entries[i];
  if (e->deflated) return load_deflated(action, a, e, out);
  nxi_file_array x;
  if (plain_array(loading, a, e, &x, &action->diag)) return action->diag.status;
  if (!x.dtype)
    return nxi_fail(&action->diag, NX_UNSUPPORTED_DTYPE, loading,
                    "load: the elements of %.120s, %s, have no counterpart here", name, e->type);
  nxi_file_ref(x.file);
  return nxi_load_array(action, loading, &x, out);
}

nx_status nx_archive_load(const nx_archive *a, nx_context *c, const char *name,
                          const nx_run_options *o, nx_tensor **out) {
  if (!a || !c || !name || !out)
    return nxi_error_null(loading, !a ? 0 : !c ? 1 : !name ? 2 : 4), NX_INVALID_ARGUMENT;
  if (!nxi_have_archive(loading, 0, a) || !nxi_have_context(loading, 1, c))
    return NX_INVALID_ARGUMENT;
  nxi_action action;
  nxi_action_begin(&action, c, o);
  nx_status status = nxi_action_asked(&action, NULL, 0);
  if (!status) status = load(&action, a, name, out);
  nxi_fail_in_file(&action.diag, a->path);
  return nxi_action_end(&action, nxi_oom_in(&action.diag, status, loading));
}
