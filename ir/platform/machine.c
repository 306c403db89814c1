/* SPDX-License-Identifier: ISC */
/* Reads the properties of the processor from /sys and /proc. Properties that are missing there, as
 * in some containers, get safe values. */
#include "machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "file.h"

/* ---- caches */

/* The number of processors in a list such as "0-3,8". 1 if the file is missing. */
static int64_t count_list(const char *path) {
  char text[1024];
  int64_t count = 0;
  nxi_read_text(path, text, sizeof text);
  for (char *p = text; isdigit((unsigned char)*p);) {
    long first = strtol(p, &p, 10), last = first;
    if (*p == '-') last = strtol(p + 1, &p, 10);
    if (last >= first) count += last - first + 1;
    if (*p == ',') p++;
  }
  return count > 0 ? count : 1;
}

static bool is_data_cache(const char *directory) {
  char path[160], text[32];
  snprintf(path, sizeof path, "%s/type", directory);
  return nxi_read_text(path, text, sizeof text) &&
         text[0] != 'I'; /* "Instruction", "Data", "Unified" */
}

/* Fills level[1..3] from the tables of the first processor of the affinity mask. */
static void read_caches(int cpu, nxi_cache level[4]) {
  char path[160], directory[128], text[32];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  int64_t threads_a_core = count_list(path);
  for (int index = 0; index < 16; index++) {
    snprintf(directory, sizeof directory, "/sys/devices/system/cpu/cpu%d/cache/index%d", cpu,
             index);
    snprintf(path, sizeof path, "%s/level", directory);
    if (!nxi_read_text(path, text, sizeof text)) return;
    long number = strtol(text, NULL, 10);
    if (number < 1 || number > 3 || !is_data_cache(directory)) continue;
    snprintf(path, sizeof path, "%s/size", directory);
    if (!nxi_read_text(path, text, sizeof text)) continue;
    char *unit;
    int64_t bytes = strtol(text, &unit, 10);
    bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
    snprintf(path, sizeof path, "%s/shared_cpu_list", directory);
    int64_t cores = count_list(path) / threads_a_core;
    if (bytes > 0) level[number] = (nxi_cache){bytes / (cores > 0 ? cores : 1), bytes};
  }
}

/* If the tables are missing (containers hide them), the C library may know the values. */
static void fill_gaps(nxi_cache level[4]) {
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
    level[i] = (nxi_cache){bytes / (known[i] > 0 && sharers > 0 ? sharers : 1), bytes};
    if (i == 3 && some && known[i] <= 0) level[i] = level[2]; /* a machine without a third level */
  }
}

void nxi_caches_read(int processor, nxi_cache level[4]) {
  memset(level, 0, 4 * sizeof *level);
  read_caches(processor, level);
  fill_gaps(level);
}

/* ---- the name and the features */

/* The value of the first line of /proc/cpuinfo that starts with `key`; length 0 if there is
 * none. */
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

void nxi_cpu_name(char *out, size_t capacity) {
  static const char *const names[] = {"model name", "cpu model", "Hardware", "CPU part"};
  static const char *const identity[] = {
      "vendor_id",       "cpu family",  "model",    "stepping",     "flags",
      "CPU implementer", "CPU variant", "CPU part", "CPU revision", "Features"};
  char text[8192];
  const char *model = "unknown";
  size_t length = 0, model_length = 0;
  XXH64_hash_t hash = 0;
  nxi_read_text("/proc/cpuinfo", text, sizeof text);
  for (size_t i = 0; i < sizeof names / sizeof *names && model_length == 0; i++)
    model = cpuinfo_value(text, names[i], &model_length);
  for (size_t i = 0; i < sizeof identity / sizeof *identity; i++) {
    const char *value = cpuinfo_value(text, identity[i], &length);
    hash = XXH3_64bits_withSeed(value, length, hash + 1);
  }
  if (model_length == 0) snprintf(out, capacity, "unknown");
  else
    snprintf(out, capacity, "%.*s [%016llx]", (int)(model_length < 44 ? model_length : 44), model,
             (unsigned long long)hash);
}
