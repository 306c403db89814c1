/* SPDX-License-Identifier: ISC */
/* Loads object files into this process. Each gets a block of pages that is written first and
 * then made executable, never both at once. A process may be forbidden to make memory executable
 * (SELinux, systemd's MemoryDenyWriteExecute). Then no compiled code can run; this is found out
 * before anything is compiled, and remembered, since such rules are never lifted. Adjacent
 * blocks have the same protection, so that the system counts them as one mapping. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "jit.h"
#include "ir/platform/pages.h"

struct nxl_code {
  void *block;
  size_t bytes;
  nxi_kernel_fn entry;
};

/* ---- executable memory */

static _Atomic int refused; /* the error of the call that was refused; 0: none */

static const char *refusal(int error) {
  return error == 0        ? NULL
         : error == EACCES ? "this process may not make memory executable (EACCES: a security "
                             "policy such as SELinux's or MemoryDenyWriteExecute)"
         : error == EPERM  ? "this process may not make memory executable (EPERM: a security "
                             "policy such as seccomp's or MemoryDenyWriteExecute)"
                           : "memory cannot be made executable here";
}

/* Remembers an error, unless it is a lack of memory, which may be temporary. */
static void note_error(int error) {
  int none = 0;
  if (error != ENOMEM && error != EAGAIN)
    atomic_compare_exchange_strong(&refused, &none, error ? error : EINVAL);
}

static void *map_block(size_t bytes) {
  void *block = nxi_pages_map(bytes);
  return block ? block : nxi_alloc_refuse(bytes);
}

static bool seal_block(void *block, size_t bytes) {
  if (nxi_pages_execute(block, bytes)) return true;
  note_error(errno);
  nxi_alloc_refuse(bytes);
  return false;
}

const char *nxl_execution_was_refused(void) { return refusal(atomic_load(&refused)); }

/* Tests it by doing once what every load does. */
const char *nxl_execution_refused(void) {
  size_t bytes = nxi_page_bytes();
  char *block = atomic_load(&refused) ? NULL : map_block(bytes);
  if (block) {
    *(volatile char *)block = 0;
    seal_block(block, bytes);
    nxi_pages_unmap(block, bytes);
  }
  return nxl_execution_was_refused();
}

/* ---- loading */

static nx_status fill_block(nxl_code *c, const void *object, size_t size, const char *entry,
                            nxi_diag *d) {
  uint64_t offset = 0;
  c->block = map_block(c->bytes);
  if (!c->block) return nxi_oom(d);
  nx_status s = nxl_link_object(object, size, entry, c->block, (uintptr_t)c->block, &offset, d);
  if (s != NX_OK) return s;
  c->entry = (nxi_kernel_fn)((uintptr_t)c->block + offset);
  if (seal_block(c->block, c->bytes)) return NX_OK;
  const char *why = nxl_execution_was_refused();
  return why ? nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", why) : nxi_oom(d);
}

nx_status nxl_load(const void *object, size_t size, const char *entry, nxl_code **out,
                   nxi_diag *d) {
  size_t bytes;
  nx_status s = nxl_check_object(object, size, nxl_host_machine, &bytes, d);
  if (s != NX_OK) return s;
  nxl_code *c = nxi_calloc(1, sizeof *c);
  if (!c) return nxi_oom(d);
  c->bytes = bytes;
  s = fill_block(c, object, size, entry, d);
  if (s == NX_OK) *out = c;
  else nxl_unload(c);
  return s;
}

nxi_kernel_fn nxl_entry(const nxl_code *c) { return c->entry; }

size_t nxl_code_bytes(const nxl_code *c) { return c->bytes; }

void nxl_unload(nxl_code *c) {
  if (!c) return;
  if (c->block) nxi_pages_unmap(c->block, c->bytes);
  nxi_free(c);
}
