/* SPDX-License-Identifier: ISC */
/* Affinity and cgroup quota. Files are read with plain system calls into buffers on the stack:
 * nothing here allocates, and a file that is missing or cannot be understood means "no limit". */
#include "cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

/* The quota that the files of one cgroup directory state, 0 if none. */
static double directory_quota(const char *directory, bool version2) {
  char path[4352], text[128];
  double quota = 0, period = 0;
  if (version2) {
    snprintf(path, sizeof path, "%s/cpu.max", directory); /* "max 100000" or "150000 100000" */
    if (!nxi_read_text(path, text, sizeof text) || sscanf(text, "%lf %lf", &quota, &period) != 2)
      return 0;
  } else {
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory); /* -1: none */
    if (!nxi_read_text(path, text, sizeof text)) return 0;
    quota = strtod(text, NULL);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
    if (!nxi_read_text(path, text, sizeof text)) return 0;
    period = strtod(text, NULL);
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

static double smaller_quota(double a, double b) { return a <= 0 ? b : b <= 0 ? a : a < b ? a : b; }

/* A quota applies to everything below its directory, so the smallest one up to the mount point is
 * taken. In a container the path may be that of the host, which is not visible; the mount point
 * itself then has the quota. */
static double quota_up_from(const char *mount, const char *group, bool version2) {
  char path[4224];
  size_t base = (size_t)snprintf(path, sizeof path, "%s", mount);
  if (base >= sizeof path) return 0;
  if (snprintf(path + base, sizeof path - base, "%s", group) >= (int)(sizeof path - base)) return 0;
  double quota = 0;
  for (;;) {
    quota = smaller_quota(quota, directory_quota(path, version2));
    char *slash = strrchr(path + base, '/');
    if (!slash) return quota;
    *slash = 0;
  }
}

/* True if "cpu" is one of the controllers of a version 1 line ("cpu,cpuacct"). */
static bool names_cpu(const char *controllers, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t n = 0;
    while (i + n < length && controllers[i + n] != ',') n++;
    if (n == 3 && memcmp(controllers + i, "cpu", 3) == 0) return true;
    i += n + 1;
  }
  return false;
}

double nxi_cpu_quota(const char *cgroup_file, const char *mount) {
  char text[8192], root[2048];
  if (!mount) mount = "/sys/fs/cgroup";
  if (!nxi_read_text(cgroup_file ? cgroup_file : "/proc/self/cgroup", text, sizeof text)) return 0;
  double quota = 0;
  char *rest = text;
  for (char *line; (line = strsep(&rest, "\n"));) { /* number:controllers:path */
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) continue;
    size_t length = (size_t)(group - controllers - 1);
    if (length == 0) {
      quota = smaller_quota(quota, quota_up_from(mount, group + 1, true));
      snprintf(root, sizeof root, "%s/unified", mount); /* where both versions are mounted */
      quota = smaller_quota(quota, quota_up_from(root, group + 1, true));
    } else if (names_cpu(controllers + 1, length)) {
      snprintf(root, sizeof root, "%s/%.*s", mount, (int)length, controllers + 1);
      quota = smaller_quota(quota, quota_up_from(root, group + 1, false));
      snprintf(root, sizeof root, "%s/cpu", mount);
      quota = smaller_quota(quota, quota_up_from(root, group + 1, false));
    }
  }
  return quota;
}

static void read_affinity(nxi_cpus *out) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE && out->count < NXI_CPU_MAX; cpu++)
      if (CPU_ISSET(cpu, &set)) out->ids[out->count++] = (int16_t)cpu;
    out->ids_known = out->count > 0;
  }
  if (out->ids_known) return;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  out->count = online < 1 ? 1 : online > NXI_CPU_MAX ? NXI_CPU_MAX : (int32_t)online;
}

void nxi_cpus_read(nxi_cpus *out) {
  memset(out, 0, sizeof *out);
  read_affinity(out);
  double quota = nxi_cpu_quota(NULL, NULL);
  out->available = out->count;
  if (quota > 0 && quota < out->count) out->available = quota < 1 ? 1 : (int32_t)quota;
}
