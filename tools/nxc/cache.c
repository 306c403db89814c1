/* SPDX-License-Identifier: ISC */
/* nxc cache: the compiled kernels on disk. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nxc.h"
#include "runtime/cache/kernel.h"

static void show_entry(void *user, const nxi_disk_entry *e) {
  static const char *const states[] = {"good", "foreign", "bad"};
  char when[32] = "?";
  time_t used = (time_t)e->used;
  struct tm local;
  (void)user;
  if (localtime_r(&used, &local) != NULL) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
  printf("%s %10lld  %s  %s", when, (long long)e->bytes, e->name, states[e->state]);
  if (e->problem != NULL) printf(": %s", e->problem);
  printf("\n");
}

static int list(nxi_disk_cache *cache) {
  nxi_disk_stats stats;
  if (!nxi_disk_list(cache, show_entry, NULL))
    return nxc_complain(nxi_disk_directory(cache), "the directory cannot be listed");
  nxi_disk_stats_read(cache, &stats);
  printf("%lld kernels, %lld bytes in %s\n", (long long)stats.entries, (long long)stats.bytes,
         nxi_disk_directory(cache));
  return NXC_OK;
}

/* 10, 64K, 100M, 1G */
static bool parse_size(const char *text, int64_t *bytes) {
  char *end;
  uintmax_t n = strtoumax(text, &end, 10);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  const char *rest = shift > 0 ? end + 1 : end;
  bool number = end != text && text[0] != '-' && *rest == '\0';
  if (!number || n > (uintmax_t)INT64_MAX >> shift)
    return nxc_misuse("\"%s\" is no size; write 10000, 64K, 100M or 1G", text), false;
  *bytes = (int64_t)(n << shift);
  return true;
}

static int act(nxi_disk_cache *cache, const char *action, int64_t size) {
  int64_t n;
  if (strcmp(action, "list") == 0) return list(cache);
  if (strcmp(action, "verify") == 0) n = nxi_disk_verify(cache);
  else n = nxi_disk_trim(cache, strcmp(action, "clear") == 0 ? 0 : size);
  printf("%lld %skernels removed from %s\n", (long long)n,
         strcmp(action, "verify") == 0 ? "bad " : "", nxi_disk_directory(cache));
  return NXC_OK;
}

static bool is_action(const char *text) {
  return strcmp(text, "list") == 0 || strcmp(text, "verify") == 0 || strcmp(text, "trim") == 0 ||
         strcmp(text, "clear") == 0;
}

int nxc_cache(int argc, char **argv) {
  const char *action = NULL, *directory = NULL, *size = NULL;
  const nxc_option options[] = {{.name = "dir", .value = &directory},
                                {.name = "size", .value = &size}};
  nxi_disk_cache *cache = NULL;
  nxi_disk_stats stats;
  nxi_diag d;
  int64_t bytes = -1;
  nxi_diag_clear(&d);
  if (!nxc_parse(argc, argv, options, 2, &action)) return NXC_USAGE;
  if (action == NULL || !is_action(action))
    return nxc_misuse("cache wants list, verify, trim or clear");
  if (size != NULL && !parse_size(size, &bytes)) return NXC_USAGE;
  if (nxi_kernel_disk_open(directory, &cache, &d) != NX_OK) return nxc_failure("nxc", &d);
  const char *reason = nxi_disk_reason(cache), *where = nxi_disk_directory(cache);
  nxi_disk_stats_read(cache, &stats);
  int status = reason != NULL
                   ? nxc_complain(where[0] ? where : "nxc", "the cache is not used: %s", reason)
                   : act(cache, action, bytes >= 0 ? bytes : stats.limit);
  nxi_disk_close(cache);
  return status;
}
