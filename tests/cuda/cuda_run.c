/* SPDX-License-Identifier: ISC */
#include "cuda_run.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen_cuda/codegen_cuda.h"
#include "passes/pipeline.h"

enum { SHARED_MOST = 227 << 10, BATCH = 64, MOST_BLOCKS = 6, MOST_VALUES = 700, TABLE = 1 << 16 };

typedef void (*run_function)(void **values, unsigned blocks, unsigned threads, uint64_t seed,
                             unsigned shared);

typedef struct kernel {
  char *key, *source;
  size_t key_size;
  nxu_launch launch;
  run_function enter;
  struct kernel *next;
} kernel;

static kernel *table[TABLE], **all;
static uint64_t n_kernels, cap_kernels, n_runs;
static void *libraries[1024];
static int n_libraries;

static void *must(void *p) {
  if (p != NULL) return p;
  fprintf(stderr, "out of memory\n");
  exit(1);
}

/* ---- kernels */

static uint32_t hash_of(const char *key, size_t size) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++) h = (h ^ (uint8_t)key[i]) * 16777619u;
  return h % TABLE;
}

static kernel *find(const nxk_kernel *k, nxi_text *key) {
  nxk_put_key(k, key);
  kernel *found = table[hash_of(key->data, key->size)];
  while (found && (found->key_size != key->size || memcmp(found->key, key->data, key->size) != 0))
    found = found->next;
  return found;
}

static nx_status add(const nxk_kernel *k, const nxi_text *key, nxi_diag *d) {
  kernel *own = must(calloc(1, sizeof *own));
  nxi_text text = {0};
  nx_status status = nxu_print(k, SHARED_MOST, &text, &own->launch, d);
  if (status != NX_OK) {
    nxi_text_free(&text);
    free(own);
    return status;
  }
  own->source = must(strndup(text.data, text.size));
  own->key = must(malloc(key->size));
  memcpy(own->key, key->data, own->key_size = key->size);
  nxi_text_free(&text);
  uint32_t slot = hash_of(own->key, own->key_size);
  own->next = table[slot];
  table[slot] = own;
  if (n_kernels == cap_kernels) {
    cap_kernels = cap_kernels ? 2 * cap_kernels : 64;
    all = must(realloc(all, cap_kernels * sizeof(kernel *)));
  }
  all[n_kernels++] = own;
  return NX_OK;
}

static nx_status collect(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                         nxi_diag *d) {
  nxi_text key = {0};
  nx_status status = find(k, &key) ? NX_OK : add(k, &key, d);
  nxi_text_free(&key);
  return status != NX_OK ? status : nxk_interpret(k, buffers, params, 0, INT64_MAX, d);
}

static nx_status run(const nxk_kernel *k, void *const *buffers, const uint64_t *params,
                     nxi_diag *d) {
  nxi_text key = {0};
  const kernel *own = find(k, &key);
  nxi_text_free(&key);
  if (own == NULL || own->enter == NULL)
    return nxi_fail(d, NX_INTERNAL, "", "kernel %s was not collected", k->name);
  void *values[MOST_VALUES], *addresses[MOST_VALUES];
  uint32_t n = 0, blocks = 1 + (uint32_t)(n_runs % MOST_BLOCKS);
  for (uint32_t i = 0; i < k->n_buffers && k->buffers[i].kind != NXK_LOCAL; i++, n++) {
    addresses[n] = buffers[i];
    values[n] = &addresses[n];
  }
  for (uint32_t i = 0; i < k->n_params; i++) values[n++] = (void *)(uintptr_t)&params[i];
  size_t scratch = (size_t)(own->launch.scratch_bytes * blocks);
  void *room = scratch ? must(aligned_alloc(64, (scratch + 63) / 64 * 64)) : NULL;
  if (room) memset(room, 0xff, scratch);
  values[n] = &room;
  own->enter(values, blocks, (unsigned)own->launch.threads, n_runs++,
             (unsigned)own->launch.shared_bytes);
  free(room);
  return NX_OK;
}

void nxt_cuda_collect(void) { nxp_debugging.run_threads = collect; }

uint64_t nxt_cuda_kernels(void) { return n_kernels; }
uint64_t nxt_cuda_runs(void) { return n_runs; }

char *nxt_cuda_source(uint64_t i) {
  char *text = NULL;
  if (asprintf(&text, "%s%s", nxu_prelude(), all[i]->source) < 0) must(NULL);
  return text;
}

/* ---- compiling */

static bool write_batch(const char *path, uint64_t first, uint64_t end) {
  FILE *f = fopen(path, "w");
  if (f == NULL) return false;
  fprintf(f, "#include <cuda_host.h>\n%s", nxu_prelude());
  for (uint64_t i = first; i < end; i++) {
    const char *entry = all[i]->launch.entry;
    fprintf(
        f,
        "#define %s %s_%llu\n%sextern \"C\" void enter_%llu(void **values, unsigned blocks, "
        "unsigned threads, "
        "uint64_t seed, unsigned shared) { nx_host_launch<%s>(values, blocks, threads, 0, seed, "
        "shared); }\n#undef %s\n",
        entry, entry, (unsigned long long)i, all[i]->source, (unsigned long long)i, entry, entry);
  }
  return fclose(f) == 0;
}

static bool load(const char *path, uint64_t first, uint64_t end) {
  void *host = dlopen(NXT_HOST_LIBRARY, RTLD_NOW | RTLD_GLOBAL), /* which kernels refer to */
      *library = host != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL || n_libraries == 1024) {
    fprintf(stderr, "%s\n", library == NULL ? dlerror() : "too many kernels");
    return false;
  }
  libraries[n_libraries] = library;
  for (uint64_t i = first; i < end; i++) {
    char name[40];
    snprintf(name, sizeof name, "enter_%llu", (unsigned long long)i);
    *(void **)&all[i]->enter = dlsym(library, name);
    if (all[i]->enter == NULL) return false;
  }
  n_libraries++;
  return true;
}

static bool build_batch(const char *directory, uint64_t first, uint64_t end) {
  char source[256], object[256], command[2000];
  snprintf(source, sizeof source, "%s/kernels.cc", directory);
  snprintf(object, sizeof object, "%s/kernels-%llu.so", directory, (unsigned long long)first);
  snprintf(command, sizeof command, NXT_HOST_COMPILER " %s -o %s", source, object);
  bool good = write_batch(source, first, end) && system(command) == 0 && load(object, first, end);
  if (!good) fprintf(stderr, "%s failed\n", command);
  if (good || getenv("NXT_KEEP") == NULL) unlink(source);
  unlink(object);
  return good;
}

bool nxt_cuda_build(void) {
  char directory[] = "/tmp/nx-cuda-XXXXXX";
  bool good = mkdtemp(directory) != NULL;
  for (uint64_t first = 0; good && first < n_kernels; first += BATCH)
    good = build_batch(directory, first, first + BATCH < n_kernels ? first + BATCH : n_kernels);
  rmdir(directory);
  nxp_debugging.run_threads = run;
  return good;
}

void nxt_cuda_close(void) {
  nxp_debugging.run_threads = NULL;
  for (uint64_t i = 0; i < n_kernels; i++) {
    free(all[i]->key);
    free(all[i]->source);
    free(all[i]);
  }
  free(all);
  for (int i = 0; i < n_libraries; i++) dlclose(libraries[i]);
  memset(table, 0, sizeof table);
  all = NULL;
  n_kernels = cap_kernels = n_runs = 0;
  n_libraries = 0;
}
