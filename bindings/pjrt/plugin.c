/* SPDX-License-Identifier: ISC */
/* What a caller finds by its name: the table of functions, and what the plugin says of itself. */
#include "calls.h"
#include "nx/status.h"

/* The version of StableHLO in which callers are to write programs, and the oldest one. */
static const int64_t current[] = {1, 13, 0}, oldest[] = {1, 0, 0};
static const nxj_named attributes[] = {
    {.size = sizeof(nxj_named),
     .name = "stablehlo_current_version",
     .n_name = 25,
     .type = NXJ_I64_LIST,
     .list = current,
     .n = 3},
    {.size = sizeof(nxj_named),
     .name = "stablehlo_minimum_version",
     .n_name = 25,
     .type = NXJ_I64_LIST,
     .list = oldest,
     .n = 3},
};

nxj_error *nxj_plugin_initialize(void *args) {
  NXJ_TAKE(plugin_initialize, extension);
  return NULL;
}

nxj_error *nxj_plugin_attributes(void *args) {
  NXJ_TAKE(plugin_attributes, n);
  a->attributes = attributes;
  a->n = sizeof attributes / sizeof *attributes;
  return NULL;
}

/* ---- the table */

#define CALL(name, own)
#define NONE(name)                                                                    \
  static nxj_error *no_##name(void *args) {                                           \
    (void)args;                                                                       \
    return nxj_fail(NXJ_UNIMPLEMENTED, "nx: the plugin has no function PJRT_" #name); \
  }
#include "calls.def"
#undef CALL
#undef NONE

enum {
#define CALL(name, own) AT_##name,
#define NONE(name)      AT_##name,
#include "calls.def"
#undef CALL
#undef NONE
  N_CALLS
};

static const struct {
  size_t size;
  const nxj_extension *extension;
  struct {
    size_t size;
    void *extension;
    int major, minor;
  } version;
  nxj_call *calls[N_CALLS];
} table = {sizeof table,
           &nxj_shardings.base,
           {sizeof table.version, NULL, NXJ_API_MAJOR, NXJ_API_MINOR},
           {
#define CALL(name, own) [AT_##name] = nxj_##own,
#define NONE(name)      [AT_##name] = no_##name,
#include "calls.def"
#undef CALL
#undef NONE
           }};

NX_API const void *GetPjrtApi(void);

const void *GetPjrtApi(void) { return &table; }
