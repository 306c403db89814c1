/* SPDX-License-Identifier: ISC */
/* The processes of a program, and the groups of them that its collectives name. */
#ifndef NXH_MESH_H
#define NXH_MESH_H

#include "ir/diag.h"
#include "nx/stablehlo.h"

/* How many processes there are; 1 without a mesh. */
int32_t nxh_mesh_replicas(const nx_stablehlo_mesh *m);
int32_t nxh_mesh_partitions(const nx_stablehlo_mesh *m);
nx_context *nxh_mesh_context(const nx_stablehlo_mesh *m);
nx_device nxh_mesh_device(const nx_stablehlo_mesh *m, int32_t process);
/* The member that processes[rank] is of a group of n > 1 processes, borrowed from the mesh, which
 * makes each group once. NULL: the thread's error says why. */
nx_group *nxh_mesh_group(nx_stablehlo_mesh *m, const int32_t *processes, uint32_t n, uint32_t rank);
/* One thread at a time records the program of a process. */
void nxh_mesh_begin(nx_stablehlo_mesh *m, int32_t process);
void nxh_mesh_end(nx_stablehlo_mesh *m, int32_t process);
/* The token of a process, borrowed: while it records, that of its groups; another one in its place,
 * for a region that becomes a function. */
nx_tensor *nxh_mesh_token(nx_stablehlo_mesh *m, int32_t process);
void nxh_mesh_follow(nx_stablehlo_mesh *m, int32_t process, nx_tensor *token);
/* What was recorded outside of a capture is not to be carried out when the token is realised. */
void nxh_mesh_forget(nx_stablehlo_mesh *m, int32_t process);

#endif
