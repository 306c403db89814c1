/* SPDX-License-Identifier: ISC */
/* Everything that can be done with the bytes of a file, for fuzzing and for
 * test_file_mutations.c. */
#include "fuzz_files.h"

#include <stdlib.h>
#include <string.h>

#include "ir/alloc.h"
#include "runtime/files/archive.h"
#include "runtime/files/file_load.h"
#include "runtime/files/npy.h"
#include "runtime/record/context.h"

/* Memory as if it were a mapped file. */
static nxi_file *file_of(const void *data, size_t size) {
  nxi_file *f = nxi_calloc(1, sizeof *f);
  if (!f) abort();
  atomic_init(&f->refs, 1);
  f->data = (char *)(uintptr_t)data;
  f->bytes = size;
  return f;
}

static void read_all(nx_tensor *t, file_outcome *out) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(t, &info);
  size_t bytes = (size_t)nxi_dtype_bytes(info.dtype, info.elements);
  void *to = malloc(bytes + 1);
  if (to && nx_read(t, to, bytes, NULL) == NX_OK) out->loaded++;
  free(to);
  nx_tensor_release(t);
}

static void use_npy(nx_context *c, const void *data, size_t size, file_outcome *out) {
  nxi_diag d;
  nxi_file_array x;
  nxi_diag_clear(&d);
  out->opened = nxi_npy_parse(data, size, &x, &d);
  out->index = d.index;
  out->largest_opening = nxi_alloc_largest();
  if (out->opened) return;
  out->count = 1;
  nxi_action a;
  nx_tensor *t = NULL;
  x.file = file_of(data, size);
  nxi_action_begin(&a, c, NULL);
  nx_status status = nxi_action_end(&a, nxi_load_array(&a, "load", &x, &t));
  if (t) read_all(t, out);
  if (status) out->worst = status;
}

/* Whether this is the refusal of a compressed member by a library without zlib. */
static bool is_without_zlib(nx_status status) {
  nx_error e = {.size = sizeof e};
  return !nxi_inflate_works && status == NX_IO && nx_error_take(&e) == NX_IO &&
         strstr(e.message, "built without zlib");
}

static void use_archive(nx_context *c, const void *data, size_t size, file_outcome *out) {
  nxi_diag d;
  nx_archive *a;
  nxi_diag_clear(&d);
  out->opened = nxi_archive_read(file_of(data, size), &a, &d);
  out->index = d.index;
  out->largest_opening = nxi_alloc_largest();
  if (out->opened) return;
  out->count = nx_archive_count(a);
  for (size_t i = 0; i < out->count; i++) {
    nx_array_info info = {.size = sizeof info};
    nx_tensor *t = NULL;
    nx_status status = nx_archive_describe(a, i, &info);
    if (!status) status = nx_archive_load(a, c, info.name, NULL, &t);
    if (t) read_all(t, out);
    if (is_without_zlib(status)) out->packed++;
    else if (status) out->worst = status;
  }
  nx_archive_close(a);
}

void use_file(nx_context *c, const void *data, size_t size, file_outcome *out) {
  *out = (file_outcome){.index = -1};
  nxi_alloc_largest();
  if (size && *(const uint8_t *)data == 0x93) use_npy(c, data, size, out);
  else use_archive(c, data, size, out);
  nx_context_collect(c); /* nothing refers to the bytes any more */
  out->largest = nxi_alloc_largest();
  nx_error_take(NULL);
}
