/* SPDX-License-Identifier: ISC */
/* How many processors this process may use: those of its affinity mask, but not more than the CPU
 * quota of its cgroup (versions 1 and 2) allows. */
#ifndef NXI_CPUS_H
#define NXI_CPUS_H

#include <stdbool.h>
#include <stdint.h>

enum { NXI_CPU_MAX = 1024 };

typedef struct nxi_cpus {
  int32_t count;            /* in the calling thread's affinity mask, at least 1 */
  int32_t available;        /* min(count, quota rounded down), at least 1 */
  int16_t ids[NXI_CPU_MAX]; /* the processors of the mask, ascending; the first `count` are valid */
  bool ids_known;           /* false: the mask could not be read, ids is empty */
} nxi_cpus;

/* Reads the mask of the calling thread, which new threads inherit. Never fails: the result is 1
 * processor if the mask cannot be read. */
void nxi_cpus_read(nxi_cpus *out);

/* The quota in processors (1.5: one and a half), 0 if there is none. `cgroup_file` is the process's
 * list of cgroups, `mount` the directory where cgroup file systems are mounted; NULL for those of
 * this process. */
double nxi_cpu_quota(const char *cgroup_file, const char *mount);

#endif
