/* SPDX-License-Identifier: ISC */
/* Collectives: operations in which every member of a group takes part. A member is a device of this
 * process, or a process of an MPI job. Each records the operation on its own tensor, and gets its
 * own result; when the results are computed, the members meet.
 *
 *   nx_group *m[4];                                    a context of four devices of the processor
 *   nx_group_create(c, (nx_device[]){0, 1, 2, 3}, 4, NULL, m);
 *   for (i = 0; i < 4; i++) y[i] = nx_all_reduce(x[i], m[i], NX_REDUCE_SUM, 0);
 *   nx_realize(c, y, 4, NULL);                         all at once: each waits for the others
 *
 * Order. A member's collectives are carried out in the order in which it recorded them, each once:
 * a member has a token (nx_group_token), as ordered custom operations have, and a later collective
 * brings all earlier ones with it, whether their results are used or not. Realising the token
 * carries out all that were recorded so far; one whose result and token nobody realises is not
 * carried out, and the others wait for it. A captured function carries those that it holds out at
 * each call, and may be called for each device by nx_function_call_async, or by a thread each.
 *
 * All members have to record the same operations of a group, with the same shapes, element types
 * and arguments, in the same order. They compare these when they meet. What differs is
 * NX_INVALID_ARGUMENT for each of them, with both operations in the error; who waits longer than
 * the group allows gets NX_TIMED_OUT, with the ranks that are missing; a poll ends the wait as it
 * ends any other work (NX_INTERRUPTED). After such a failure the group is broken: all of its
 * operations fail, for every member, with the first reason. A child of fork is no member: there all
 * of them are NX_DEVICE_UNAVAILABLE, and change nothing for the parent.
 *
 * Bits. Members only send each other elements as they are. Reductions are computed by each member
 * from its members' elements in the order of ranks, x0 + x1 + x2 + .., as nx_add, nx_mul, nx_min,
 * nx_max, nx_and and nx_or would; sums and products of floats of 8 and 16 bits in f32, rounded
 * once. So they have the same bits for devices and processes, on every device. With NX_REDUCE_PARTS
 * they have the same bits for any number of members: where the parts of all are the same ones, in
 * the same order.
 *
 * GPUs. Between GPUs of one group elements go from memory to memory by NCCL (2.14 or later:
 * libnccl.so.2, or the file that NX_NCCL names), if each member is one and has it; else, and where
 * NCCL does not connect them (two processes on one GPU), through the host's memory. The bits are
 * the same: reductions are computed as above. A GPU that is lost, and a failure of NCCL, are
 * NX_DEVICE_LOST for each member, and break the group.
 *
 * Element types: all that the host has arrays of (not i4, u4, f4e2m1, c32: NX_UNSUPPORTED_DTYPE),
 * and of reductions those of the operation. Common failures of what follows, NULL and this thread's
 * error: NX_INVALID_ARGUMENT: NULL, a tensor of another context or device than the member's, an
 * axis, rank or flag that there is not. */
#ifndef NX_GROUP_H
#define NX_GROUP_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A member of a group. */
typedef struct nx_group nx_group;

typedef struct nx_group_options {
  size_t size; /**< sizeof(nx_group_options) */
  /** 1 to 63 letters, digits and signs of `_.:/-`, for errors; NULL: "group" */
  const char *name;
  /** how long a member waits for the others, milliseconds; 0: five minutes; negative: for ever */
  int64_t timeout_ms;
} nx_group_options;

/** A group of n devices of a context, no device twice. members: n places, which get a member each,
 * one reference; rank i is devices[i]. They may be used by several threads; those of one member
 * decide among themselves in which order they record. Untouched on failure. NX_INVALID_ARGUMENT: no
 * device, one twice, more than 1024, options; NX_DEVICE_UNAVAILABLE; NX_OUT_OF_MEMORY. */
NX_API nx_status nx_group_create(nx_context *context, const nx_device *devices, size_t n,
                                 const nx_group_options *options, nx_group **members);
/** The member that this process is in a group of processes, by Open MPI 4, which is loaded now
 * (libmpi.so.40, or the file that NX_MPI names). Its tensors are on this device of the context;
 * unless all are GPUs, elements go through the host's memory. ranks: n ranks of MPI_COMM_WORLD, the
 * members in their order, this process among them; n = 0: all of the job, in its order. Every
 * member has to call this, those of several groups in the same order; who waits longer for another
 * than the timeout fails.
 *
 * MPI is initialised, and finalized at the end of the process, if the program has not done so; if
 * it has, then with MPI_THREAD_MULTIPLE. To initialise MPI waits for all processes of the job, as
 * long as they live. mpirun ends the other processes where one dies; what remains, and waits for
 * it, has NX_TIMED_OUT or NX_DEVICE_LOST, and finalizes MPI no more.
 *
 * *member is one reference; untouched on failure. NX_DEVICE_UNAVAILABLE: no Open MPI, with the
 * reason, or in a child of fork; NX_INVALID_ARGUMENT: ranks that the job lacks, one twice, this
 * process not among them, members that name different ones, options; NX_TIMED_OUT; NX_DEVICE_LOST;
 * NX_OUT_OF_MEMORY. */
NX_API nx_status nx_group_join(nx_context *context, nx_device device, const int32_t *ranks,
                               size_t n, const nx_group_options *options, nx_group **member);
/** One more reference, the caller's to release; returns it. NULL gives NULL. */
NX_API nx_group *nx_group_retain(nx_group *member);
/** Gives one reference up. NULL is allowed. What was recorded with it can still be realised. */
NX_API void nx_group_release(nx_group *member);
/** Which member it is, from 0 on; how many there are. -1 and 0 for what is no member. */
NX_API int32_t nx_group_rank(const nx_group *member);
NX_API int32_t nx_group_size(const nx_group *member);
/** The member's token: realising it carries out what was recorded so far. One reference. */
NX_API nx_tensor *nx_group_token(nx_group *member);

typedef enum nx_reduction {
  NX_REDUCE_SUM,
  NX_REDUCE_PROD,
  NX_REDUCE_MIN,
  NX_REDUCE_MAX,
  NX_REDUCE_AND, /**< bit by bit, as nx_and */
  NX_REDUCE_OR
} nx_reduction;
/** A flag of nx_all_reduce: axis 0 of x counts parts, which are reduced as those of further members
 * would be, in their order: those of rank 0, then those of rank 1. The result lacks that axis. */
enum { NX_REDUCE_PARTS = 1 };

/** The reduction of all members' elements at each place, for every member. The shape of x.
 * NX_INVALID_ARGUMENT also: parts of rank 0, or none. */
NX_API nx_tensor *nx_all_reduce(nx_tensor *x, nx_group *member, nx_reduction op, uint32_t flags);
/** All members' tensors, one behind the other along axis, in the order of ranks. */
NX_API nx_tensor *nx_all_gather(nx_tensor *x, nx_group *member, int32_t axis);
/** The reduction of all members' tensors, of which each member gets its part along axis: the first
 * rank the first. NX_INVALID_ARGUMENT also: the extent is no multiple of the number of members. */
NX_API nx_tensor *nx_reduce_scatter(nx_tensor *x, nx_group *member, nx_reduction op, int32_t axis);
/** Each member divides its tensor along `split`, in as many equal parts as there are members, and
 * sends the i-th to rank i; what it gets, in the order of ranks, is put together along `concat`.
 * NX_INVALID_ARGUMENT also: the extent is no multiple of the number of members. */
NX_API nx_tensor *nx_all_to_all(nx_tensor *x, nx_group *member, int32_t split, int32_t concat);
/** A rank that sends its tensor, and the rank that gets it. */
typedef struct nx_pair {
  int32_t from, to;
} nx_pair;
/** pairs: n of them, the same for all members; who gets nothing has zeros. NX_INVALID_ARGUMENT
 * also: a rank that sends twice, or gets twice. */
NX_API nx_tensor *nx_collective_permute(nx_tensor *x, nx_group *member, const nx_pair *pairs,
                                        size_t n);
/** The tensor of rank `root`, for every member. What x holds matters there alone, but its shape and
 * element type do everywhere. */
NX_API nx_tensor *nx_collective_broadcast(nx_tensor *x, nx_group *member, int32_t root);

#ifdef __cplusplus
}
#endif
#endif
