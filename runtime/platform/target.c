/* SPDX-License-Identifier: ISC */
/* Detecting the processor: instruction sets from the compiler's run time, which also asks whether
 * the system saves the registers; caches from the system's tables; the name from /proc. Nothing
 * here can fail: what cannot be learnt gets a value that is safe for small machines. */
#include "ir/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "cpus.h"

/* From the narrowest to the widest: a machine that has one has those of its kind before it. */
static const struct {
  const char *name;
  int32_t vector_bytes;
} isas[] = {
    {"generic", 16}, /* SSE2 on x86-64 */
#if defined(__aarch64__)
    {"neon", 16},
#elif defined(__x86_64__)
    {"avx2", 32},   /* with FMA, BMI2 and F16C */
    {"avx512", 64}, /* F, BW, DQ, VL, CD: the set of Skylake servers */
#endif
};
enum { ISAS = sizeof isas / sizeof *isas };

static int best_isa(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("f16c"))
    return 0;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512cd"))
    return 1;
#endif
  return ISAS - 1;
}

/* -1: there is no such instruction set, or not on this kind of machine. */
static int find_isa(const char *name) {
  for (int i = 0; i < ISAS; i++)
    if (strcmp(name, isas[i].name) == 0) return i;
  return -1;
}

/* ---- files of the system */

static size_t read_text(const char *path, char *text, size_t capacity) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  size_t used = 0;
  while (fd >= 0 && used < capacity - 1) {
    ssize_t n = read(fd, text + used, capacity - 1 - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    used += (size_t)n;
  }
  if (fd >= 0) close(fd);
  text[used] = 0;
  return used;
}

/* The number of processors in a list such as "0-3,8". 1 if the file is missing. */
static int64_t count_list(const char *path) {
  char text[1024];
  int64_t count = 0;
  read_text(path, text, sizeof text);
  for (char *p = text; isdigit((unsigned char)*p);) {
    long first = strtol(p, &p, 10), last = first;
    if (*p == '-') last = strtol(p + 1, &p, 10);
    if (last >= first) count += last - first + 1;
    if (*p == ',') p++;
  }
  return count > 0 ? count : 1;
}

/* ---- caches */

typedef struct cache {
  int64_t share, total;
} cache;

static bool is_data_cache(const char *directory) {
  char path[160], text[32];
  snprintf(path, sizeof path, "%s/type", directory);
  return read_text(path, text, sizeof text) &&
         text[0] != 'I'; /* "Instruction", "Data", "Unified" */
}

/* Fills level[1..3] from the tables of the first processor of the affinity mask. */
static void read_caches(int cpu, cache level[4]) {
  char path[160], directory[128], text[32];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  int64_t threads_a_core = count_list(path);
  for (int index = 0; index < 16; index++) {
    snprintf(directory, sizeof directory, "/sys/devices/system/cpu/cpu%d/cache/index%d", cpu,
             index);
    snprintf(path, sizeof path, "%s/level", directory);
    if (!read_text(path, text, sizeof text)) return;
    long number = strtol(text, NULL, 10);
    if (number < 1 || number > 3 || !is_data_cache(directory)) continue;
    snprintf(path, sizeof path, "%s/size", directory);
    if (!read_text(path, text, sizeof text)) continue;
    char *unit;
    int64_t bytes = strtol(text, &unit, 10);
    bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
    snprintf(path, sizeof path, "%s/shared_cpu_list", directory);
    int64_t cores = count_list(path) / threads_a_core;
    if (bytes > 0) level[number] = (cache){bytes / (cores > 0 ? cores : 1), bytes};
  }
}

/* Where the tables are missing (containers hide them), the C library may know. */
static void fill_gaps(cache level[4]) {
  static const int64_t fallback[4] = {0, 32 << 10, 256 << 10, 2 << 20};
  long known[4] = {0};
#ifdef _SC_LEVEL1_DCACHE_SIZE
  known[1] = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  known[2] = sysconf(_SC_LEVEL2_CACHE_SIZE);
  known[3] = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  bool some = level[1].share > 0 || known[1] > 0;
  for (int i = 1; i <= 3; i++) {
    if (level[i].share > 0) continue;
    int64_t bytes = known[i] > 0 ? known[i] : fallback[i];
    int64_t sharers = i == 3 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    level[i] = (cache){bytes / (known[i] > 0 && sharers > 0 ? sharers : 1), bytes};
    if (i == 3 && some && known[i] <= 0) level[i] = level[2]; /* a machine without a third level */
  }
}

/* ---- the name and the features */

/* The value of the first line of /proc/cpuinfo that starts with `key`; length 0 if there is none.
 * */
static const char *cpuinfo_value(const char *text, const char *key, size_t *length) {
  size_t n = strlen(key);
  *length = 0;
  for (const char *line = text; line && *line;
       line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
    if (strncmp(line, key, n) != 0 || (line[n] != '\t' && line[n] != ' ' && line[n] != ':'))
      continue;
    const char *value = line + strcspn(line, ":\n");
    if (*value != ':') continue;
    value += 1 + strspn(value + 1, " \t");
    *length = strcspn(value, "\n");
    return value;
  }
  return text;
}

/* The model, and behind it a number that stands for everything that the system says of the
 * processor: a model name alone ("AMD EPYC") does not tell one generation from the next. */
static void name_cpu(nxi_target *out) {
  static const char *const names[] = {"model name", "cpu model", "Hardware", "CPU part"};
  static const char *const identity[] = {
      "vendor_id",       "cpu family",  "model",    "stepping",     "flags",
      "CPU implementer", "CPU variant", "CPU part", "CPU revision", "Features"};
  char text[8192];
  const char *model = "unknown";
  size_t length = 0, model_length = 0;
  XXH64_hash_t hash = 0;
  read_text("/proc/cpuinfo", text, sizeof text);
  for (size_t i = 0; i < sizeof names / sizeof *names && model_length == 0; i++)
    model = cpuinfo_value(text, names[i], &model_length);
  for (size_t i = 0; i < sizeof identity / sizeof *identity; i++) {
    const char *value = cpuinfo_value(text, identity[i], &length);
    hash = XXH3_64bits_withSeed(value, length, hash + 1);
  }
  if (model_length == 0) snprintf(out->cpu, sizeof out->cpu, "unknown");
  else
    snprintf(out->cpu, sizeof out->cpu, "%.*s [%016llx]",
             (int)(model_length < 44 ? model_length : 44), model, (unsigned long long)hash);
}

/* ---- the machine, once */

static nxi_target machine, host;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_isa(nxi_target *t, int isa) {
  snprintf(t->isa, sizeof t->isa, "%s", isas[isa].name);
  t->vector_bytes = isas[isa].vector_bytes;
}

static void detect(void) {
  nxi_cpus cpus;
  cache level[4] = {{0, 0}};
  nxi_cpus_read(&cpus);
  machine.threads = cpus.available;
  set_isa(&machine, best_isa());
  read_caches(cpus.ids_known ? cpus.ids[0] : 0, level);
  fill_gaps(level);
  machine.l1_bytes = level[1].share;
  machine.l2_bytes = level[2].share;
  machine.l3_bytes = level[3].total; /* the threads of one run share it */
  name_cpu(&machine);
  host = machine;
  const char *wish = getenv("NX_ISA");
  int isa = wish ? find_isa(wish) : -1;
  if (isa >= 0 && isa < best_isa()) set_isa(&host, isa);
}

const nxi_target *nxi_target_host(void) {
  pthread_once(&once, detect);
  return &host;
}

/* "sm_90" or "sm_90:64": blocks of a power of two from 32 to 1024 threads. */
static bool gpu_target(const char *isa, nxi_target *out) {
  int major_minor = 0, threads = 256, used = 0, more = 0;
  if (sscanf(isa, "sm_%d%n:%d%n", &major_minor, &used, &threads, &more) < 1) return false;
  bool whole = isa[more > used ? more : used] == 0;
  if (!whole || major_minor < 70 || threads < 32 || threads > 1024 || (threads & (threads - 1)))
    return false;
  *out = machine;
  snprintf(out->isa, sizeof out->isa, "sm_%d", major_minor);
  out->vector_bytes = 4 * threads;
  out->block_threads = threads;
  /* What the CUDA programming guide's table of compute capabilities says that one block may ask
   * for. */
  bool most = major_minor == 90 || major_minor == 100 || major_minor == 103;
  out->shared_bytes = most                                     ? 227 << 10
                      : major_minor == 80 || major_minor == 87 ? 163 << 10
                      : major_minor >= 86                      ? 99 << 10
                                                               : 48 << 10;
  return true;
}

bool nxi_target_for_isa(const char *isa, nxi_target *out) {
  pthread_once(&once, detect);
  if (strncmp(isa, "sm_", 3) == 0) return gpu_target(isa, out);
  int found = find_isa(isa);
  if (found < 0 || found > best_isa()) return false;
  *out = machine;
  set_isa(out, found);
  return true;
}
