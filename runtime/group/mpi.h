/* SPDX-License-Identifier: ISC */
/* Open MPI, loaded when a group of processes is first asked for. Nothing of it is needed to build:
 * the types and values that are used are declared here as Open MPI 4 has them, whose handles are
 * addresses of objects in the library. Other implementations have other ones and are refused. */
#ifndef NXI_GROUP_MPI_H
#define NXI_GROUP_MPI_H

#include "group.h"

enum { NXI_MPI_SERIALIZED = 2, NXI_MPI_MULTIPLE = 3, NXI_MPI_TEXT = 256 };

/* Calls, by their names in the library: each returns 0 or an error. */
#define NXI_MPI_CALLS(X)                                                                           \
  X(Initialized, int *flag)                                                                        \
  X(Finalized, int *flag)                                                                          \
  X(Init_thread, int *argc, char ***argv, int required, int *provided)                             \
  X(Query_thread, int *provided)                                                                   \
  X(Finalize, void)                                                                                \
  X(Comm_rank, void *comm, int *rank)                                                              \
  X(Comm_size, void *comm, int *size)                                                              \
  X(Comm_group, void *comm, void **group)                                                          \
  X(Comm_create_group, void *comm, void *group, int tag, void **made)                              \
  X(Comm_free, void **comm)                                                                        \
  X(Comm_set_errhandler, void *comm, void *handler)                                                \
  X(Group_incl, void *group, int n, const int *ranks, void **made)                                 \
  X(Group_free, void **group)                                                                      \
  X(Iallgather, const void *from, int n, void *type, void *to, int n_to, void *to_type,            \
    void *comm, void **request)                                                                    \
  X(Ialltoall, const void *from, int n, void *type, void *to, int n_to, void *to_type, void *comm, \
    void **request)                                                                                \
  X(Ibcast, void *data, int n, void *type, int root, void *comm, void **request)                   \
  X(Isend, const void *from, int n, void *type, int to, int tag, void *comm, void **request)       \
  X(Irecv, void *to, int n, void *type, int from, int tag, void *comm, void **request)             \
  X(Test, void **request, int *done, void *status)                                                 \
  X(Error_string, int error, char *text, int *length)

typedef struct nxi_mpi {
#define NXI_MPI_CALL(name, ...) int (*name)(__VA_ARGS__);
  NXI_MPI_CALLS(NXI_MPI_CALL)
#undef NXI_MPI_CALL
  void *world, *bytes, *errors_return; /* MPI_COMM_WORLD, MPI_BYTE, MPI_ERRORS_RETURN */
} nxi_mpi;

/* The library, with MPI initialised: by the program for any number of threads, or here. NULL:
 * NX_DEVICE_UNAVAILABLE with the reason in d. */
const nxi_mpi *nxi_mpi_get(nxi_diag *d);
/* False in a child of fork: MPI, and its lock, belong to the process that began it. */
bool nxi_mpi_is_ours(void);
/* The library allows one call at a time. */
void nxi_mpi_lock(void);
void nxi_mpi_unlock(void);
/* A process of the job may be gone: the end of this one waits for nobody. */
void nxi_mpi_lost(void);

#endif
