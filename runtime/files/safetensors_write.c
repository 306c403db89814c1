/* SPDX-License-Identifier: ISC */
/* Writing .safetensors. Tensors of wide elements come first, so that every one of them is aligned
 * as its elements; among equals the caller's order stays. */
#include <stdlib.h>
#include <string.h>

#include "file_load.h"
#include "runtime/record/context.h"
#include "runtime/record/error.h"
#include "safetensors.h"

static const char saving[] = "save";

typedef struct job {
  nxi_action *a;
  const nx_named_tensor *tensors;
  size_t n;
  uint32_t *order; /* of their elements in the file */
  nx_tensor **handles;
  nxi_node **nodes;
  nxi_buffer **buffers;
  const char *path;
  nxi_text header;
} job;

/* ---- the header */

static void add_string(nxi_text *t, const char *s) {
  nxi_text_put(t, "\"", 1);
  for (const char *p = s; *p; p++) {
    if (*p == '"' || *p == '\\') nxi_text_add(t, "\\%c", *p);
    else if ((unsigned char)*p < 0x20) nxi_text_add(t, "\\u%04x", *p);
    else nxi_text_put(t, p, 1);
  }
  nxi_text_put(t, "\"", 1);
}

static int64_t width(const job *j, uint32_t i) {
  return nxi_dtypes[j->tensors[i].tensor->storage->dtype].bits;
}

static void make_order(job *j) {
  uint32_t at = 0;
  for (int64_t bits = 64; bits >= 4; bits /= 2)
    for (uint32_t i = 0; i < j->n; i++)
      if (width(j, i) == bits) j->order[at++] = i;
}

static int64_t add_tensor(job *j, uint32_t i, int64_t at) {
  const nx_tensor *t = j->tensors[i].tensor;
  nxi_text *h = &j->header;
  int64_t end = at + nxi_dtype_bytes(t->storage->dtype, t->elements);
  add_string(h, j->tensors[i].name);
  nxi_text_add(h, ":{\"dtype\":\"%s\",\"shape\":[", nxi_safetensors_name(t->storage->dtype));
  for (int32_t k = 0; k < t->rank; k++)
    nxi_text_add(h, k ? ",%lld" : "%lld", (long long)nxi_shape(t)[k]);
  nxi_text_add(h, "],\"data_offsets\":[%lld,%lld]}", (long long)at, (long long)end);
  return end;
}

static nx_status make_header(job *j, const nx_text_pair *metadata, size_t n, nxi_diag *d) {
  nxi_text *h = &j->header;
  nxi_text_put(h, "\0\0\0\0\0\0\0\0{", 9);
  if (n) nxi_text_add(h, "\"__metadata__\":{");
  for (size_t i = 0; i < n; i++) {
    if (i) nxi_text_put(h, ",", 1);
    add_string(h, metadata[i].key);
    nxi_text_put(h, ":", 1);
    add_string(h, metadata[i].value);
  }
  if (n) nxi_text_put(h, "}", 1);
  int64_t at = 0;
  for (uint32_t i = 0; i < j->n; i++) {
    if (i || n) nxi_text_put(h, ",", 1);
    at = add_tensor(j, j->order[i], at);
  }
  nxi_text_put(h, "}", 1);
  while (!h->failed && h->size % 8) nxi_text_put(h, " ", 1);
  if (h->failed) return nxi_oom(d);
  uint32_t size = h->size - 8;
  if (size > NXI_SAFETENSORS_HEADER)
    return nxi_fail(d, NX_INVALID_ARGUMENT, saving,
                    "save: names and metadata of %u bytes are more than the format has room for",
                    size);
  for (int i = 0; i < 4; i++) h->data[i] = (char)(size >> 8 * i);
  return NX_OK;
}

/* ---- the file */

static nx_status write_file(void *arg) {
  job *j = arg;
  nxi_diag *d = &j->a->diag;
  nxi_file_writer w;
  nx_status status = nxi_file_write_begin(&w, saving, j->path, d);
  if (status) return status;
  status = nxi_file_write(&w, j->header.data, j->header.size, d);
  for (uint32_t i = 0; i < j->n && !status; i++) {
    uint32_t k = j->order[i];
    status = nxi_save_elements(j->a, j->tensors[k].tensor, j->buffers[k], &w);
    if (!status) status = nxi_poll_now(j->a->options, d);
  }
  return nxi_file_write_end(&w, status, d);
}

static int compare_names(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* False if a name is given twice; sorts. */
static bool unique(const char **names, size_t n) {
  qsort(names, n, sizeof *names, compare_names);
  for (size_t i = 1; i < n; i++)
    if (strcmp(names[i - 1], names[i]) == 0) return false;
  return true;
}

static nx_status check_names(const job *j, const nx_text_pair *metadata, size_t n, nxi_diag *d) {
  const char **names = nxi_calloc(j->n + n, sizeof *names);
  if (!names) return nxi_oom(d);
  for (size_t i = 0; i < j->n; i++) names[i] = j->tensors[i].name;
  for (size_t i = 0; i < n; i++) names[j->n + i] = metadata[i].key;
  bool good = unique(names, j->n) && unique(names + j->n, n);
  nxi_free(names);
  return good ? NX_OK
              : nxi_fail(d, NX_INVALID_ARGUMENT, saving, "save: a name is given to two tensors");
}

static nx_status check(const job *j, const nx_text_pair *metadata, size_t n, nxi_diag *d) {
  if (j->n > UINT32_MAX / 2 || n > UINT32_MAX / 2)
    return nxi_fail(d, NX_INVALID_ARGUMENT, saving, "save: these are too many tensors");
  for (size_t i = 0; i < j->n; i++) {
    const nx_named_tensor *x = &j->tensors[i];
    if (!x->tensor || !x->name || strcmp(x->name, "__metadata__") == 0 || !nxi_utf8_valid(x->name))
      return nxi_fail(d, NX_INVALID_ARGUMENT, saving, "save: tensor %zu %s", i,
                      x->tensor ? "has no name that it may have" : "is null");
    if (!nxi_looks_live(x->tensor, NXI_TENSOR)) {
      nxi_handle_fault(saving, (int32_t)i, x->tensor, NXI_TENSOR, d);
      return d->status;
    }
    if (x->tensor->context != j->a->context)
      return nxi_fail(d, NX_INVALID_ARGUMENT, saving, "save: tensor %zu belongs to another context",
                      i);
    if (!nxi_safetensors_name(x->tensor->storage->dtype))
      return nxi_fail(d, NX_UNSUPPORTED_DTYPE, saving,
                      "save: %s, of tensor %.80s, has no counterpart in .safetensors files",
                      nx_dtype_name(x->tensor->storage->dtype), x->name);
    if (x->tensor->elements * nxi_dtypes[x->tensor->storage->dtype].bits % 8)
      return nxi_fail(d, NX_INVALID_ARGUMENT, saving,
                      "save: tensor %.80s has %lld elements of 4 bits, and the format whole bytes",
                      x->name, (long long)x->tensor->elements);
  }
  for (size_t i = 0; i < n; i++)
    if (!metadata[i].key || !metadata[i].value || !nxi_utf8_valid(metadata[i].key) ||
        !nxi_utf8_valid(metadata[i].value))
      return nxi_fail(d, NX_INVALID_ARGUMENT, saving, "save: metadata %zu is null or not UTF-8", i);
  return check_names(j, metadata, n, d);
}

/* Realises all tensors in one run, and keeps their values in place. */
static nx_status borrow(job *j) {
  nxi_action *a = j->a;
  j->order = nxi_calloc(j->n, sizeof *j->order);
  j->handles = nxi_calloc(j->n, sizeof *j->handles);
  j->nodes = nxi_calloc(j->n, sizeof *j->nodes);
  j->buffers = nxi_calloc(j->n, sizeof *j->buffers);
  if (!j->order || !j->handles || !j->nodes || !j->buffers) return nxi_oom(&a->diag);
  for (size_t i = 0; i < j->n; i++) j->handles[i] = j->tensors[i].tensor;
  nx_status status = nxi_realize_tensors(a, j->handles, j->n);
  for (size_t i = 0; i < j->n && !status; i++)
    status = nxi_borrow(a, j->tensors[i].tensor->storage, &j->nodes[i], &j->buffers[i]);
  return status;
}

static nx_status save(job *j, const nx_text_pair *metadata, size_t n) {
  nxi_action *a = j->a;
  nx_status status = nxi_action_stopped(a);
  if (!status) status = check(j, metadata, n, &a->diag);
  if (!status) status = borrow(j);
  if (!status) {
    make_order(j);
    status = make_header(j, metadata, n, &a->diag);
  }
  if (!status) status = nxi_action_work(a, write_file, j);
  for (size_t i = 0; j->buffers && i < j->n; i++)
    if (j->buffers[i]) nxi_give_back(a->context, j->nodes[i], j->buffers[i]);
  nxi_text_free(&j->header);
  nxi_free(j->order);
  nxi_free(j->handles);
  nxi_free(j->nodes);
  nxi_free(j->buffers);
  return status;
}

nx_status nx_save_safetensors(nx_context *c, const char *path, const nx_named_tensor *tensors,
                              size_t n, const nx_text_pair *metadata, size_t n_metadata,
                              const nx_run_options *o) {
  if (!c || !path || (n && !tensors) || (n_metadata && !metadata))
    return nxi_error_null(saving, !c ? 0 : !path ? 1 : n && !tensors ? 2 : 4), NX_INVALID_ARGUMENT;
  if (!nxi_have_context(saving, 0, c)) return NX_INVALID_ARGUMENT;
  nxi_action a;
  job j = {.a = &a, .tensors = tensors, .n = n, .path = path};
  nxi_action_begin(&a, c, o);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, save(&j, metadata, n_metadata), saving));
}
