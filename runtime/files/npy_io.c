/* SPDX-License-Identifier: ISC */
/* Tensors from and to .npy files. */
#include "file_load.h"
#include "npy.h"
#include "runtime/record/context.h"
#include "runtime/record/error.h"

nx_status nx_load_npy(nx_context *c, const char *path, nx_tensor **out) {
  if (!c || !path || !out)
    return nxi_error_null("load", !c ? 0 : !path ? 1 : 2), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("load", 0, c)) return NX_INVALID_ARGUMENT;
  nxi_action a;
  nxi_file_array npy;
  nxi_action_begin(&a, c, NULL);
  nx_status status = nxi_npy_map(path, &npy, &a.diag);
  if (!status) status = nxi_load_array(&a, "load", &npy, out);
  nxi_fail_in_file(&a.diag, path);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "load"));
}

typedef struct saving {
  nxi_action *a;
  nx_tensor *t;
  const char *path;
  const nxi_buffer *from;
} saving;

static nx_status write_file(void *arg) {
  const saving *s = arg;
  nxi_diag *d = &s->a->diag;
  nxi_file_writer w;
  nx_status status =
      nxi_npy_write_begin(&w, s->path, s->t->storage->dtype, s->t->rank, nxi_shape(s->t), false, d);
  if (status) return status;
  status = nxi_save_elements(s->a, s->t, s->from, &w);
  return nxi_file_write_end(&w, status, d);
}

nx_status nx_save_npy(nx_tensor *t, const char *path, const nx_run_options *o) {
  if (!nxi_have_tensor("save", 0, t)) return NX_INVALID_ARGUMENT;
  if (!path) return nxi_error_null("save", 1), NX_INVALID_ARGUMENT;
  nx_context *c = t->context;
  nxi_action a;
  nxi_node *node;
  nxi_buffer *b;
  nxi_action_begin(&a, c, o);
  nx_status status = nxi_action_asked(&a, &t, 1);
  if (!status) status = nxi_borrow(&a, t->storage, &node, &b);
  if (status) return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "save"));
  saving s = {&a, t, path, b};
  status = nxi_action_work(&a, write_file, &s);
  nxi_give_back(c, node, b);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "save"));
}
