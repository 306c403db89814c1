/* SPDX-License-Identifier: ISC */
/* Programs in StableHLO, the form in which JAX and other frontends hand programs to compilers. A
 * module is read once; a function of it becomes an nx_function, like one that was captured.
 *
 *   nx_stablehlo *m;
 *   nx_function *f;
 *   nx_stablehlo_parse(text, size, NULL, &m);
 *   nx_stablehlo_function(m, c, NULL, &f);
 *   nx_function_call(f, inputs, n_in, outputs, n_out, NULL);
 *
 * Read is the text, in general form and in that of single operations. Operations mean what the
 * specification says, where it leaves a choice what numerics.md says; integer division by zero and
 * the like are as in XLA. Extents that a program leaves open follow from those of its inputs.
 * docs/stablehlo.md lists the operations. */
#ifndef NX_STABLEHLO_H
#define NX_STABLEHLO_H

#include "custom.h"
#include "function.h"
#include "group.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nx_stablehlo nx_stablehlo;

/** Reads a module: `size` bytes of text, which need no NUL and are copied. *out is one reference,
 * the caller's; untouched on failure. NX_PARSE with the line, the column and what was expected, for
 * an operation that there is none of too; NX_INVALID_ARGUMENT: NULL; NX_OUT_OF_MEMORY. Bytes are
 * never trusted: nothing they say makes the library read out of bounds or allocate more than they
 * justify. */
NX_API nx_status nx_stablehlo_parse(const void *bytes, size_t size, nx_stablehlo **out);
/** One more reference; returns it. NULL gives NULL. */
NX_API nx_stablehlo *nx_stablehlo_retain(nx_stablehlo *module);
/** Gives one reference up. Any thread. NULL is allowed. */
NX_API void nx_stablehlo_release(nx_stablehlo *module);

/** A custom call while it is recorded. */
typedef struct nx_stablehlo_call {
  size_t size; /**< of this struct; later versions may append fields */
  void *user;  /**< of the row */
  nx_context *context;
  nx_device device;
  const char *target;         /**< call_target_name */
  const char *config;         /**< backend_config, if that is a string, else empty */
  nx_tensor *const *operands; /**< borrowed */
  size_t n_operands;
  const nx_type *types; /**< of the results */
  nx_tensor **results;  /**< n_results places for tensors of these types, one reference each */
  size_t n_results;
  /** Of a call that has a side effect (`has_side_effect`): the token by which all of them are
   * ordered (custom.h), in the program's order; assign it by nx_custom_record. Else NULL. */
  nx_tensor *token;
} nx_stablehlo_call;
/** What a custom call of this name is recorded as. record returns NX_OK when it has filled all
 * results, else a status, which the caller of nx_stablehlo_function gets. */
typedef struct nx_stablehlo_custom {
  const char *target;
  nx_status (*record)(const nx_stablehlo_call *call);
  void *user;
} nx_stablehlo_custom;

/** Where the processes of a program run that is written for several, n_replicas times n_partitions:
 * each on a device of its own of one context. Collectives (`all_reduce` ..) become those of groups
 * (group.h), which the mesh makes as programs name them; all groups of a process have one token, so
 * it carries its collectives out in the order of its program. Programs may share a mesh if all
 * devices are given them in the same order; one whose group has failed is of no use any more. */
typedef struct nx_stablehlo_mesh nx_stablehlo_mesh;
/** devices: those of replica 0, partition 0, 1, .., then those of replica 1; no device twice.
 * options: of the groups, NULL: as of nx_group_create. *out is one reference, the caller's;
 * untouched on failure. NX_INVALID_ARGUMENT: NULL, counts below 1, more than 1024 processes,
 * options; NX_DEVICE_UNAVAILABLE; NX_OUT_OF_MEMORY. */
NX_API nx_status nx_stablehlo_mesh_create(nx_context *context, int32_t n_replicas,
                                          int32_t n_partitions, const nx_device *devices,
                                          const nx_group_options *options, nx_stablehlo_mesh **out);
/** One more reference; returns it. NULL gives NULL. */
NX_API nx_stablehlo_mesh *nx_stablehlo_mesh_retain(nx_stablehlo_mesh *mesh);
/** Gives one reference up. Any thread. NULL is allowed. Functions keep what they need of it. */
NX_API void nx_stablehlo_mesh_release(nx_stablehlo_mesh *mesh);

/** Arrays between a program that runs and its host: operands of `outfeed` and `send`, which are
 * read, or results of `infeed` and `recv`, all of whose elements are written. */
typedef struct nx_stablehlo_transfer {
  size_t size; /**< of this struct; later versions may append fields */
  void *user;  /**< of the host */
  /** Of a `send` or a `recv`: the handle of its channel; else 0 */
  int64_t channel;
  const char *config;         /**< infeed_config or outfeed_config, else empty */
  int32_t replica, partition; /**< which process it is of */
  /** At most 15. Elements of i4 are a byte each, of i8, those of ui4 and f4E2M1FN one of u8, its
   * lower half; other types are as in tensors (docs/stablehlo.md). */
  size_t n;
  const nx_array *arrays;
  /** For nx_custom_fail and nx_custom_stopped, which a function asks that waits: else the run that
   * it is a part of cannot be stopped. */
  const nx_custom_call *call;
} nx_stablehlo_transfer;
/** What the programs of a function exchange with. The functions are called as that of a custom
 * operation is (nx_custom_desc.run): on some thread, without locks, in each run as often as the
 * program says and in its order, each process's one after the other, those of several processes at
 * once. They return NX_OK, or a status, of which nx_custom_fail says more: then the run fails with
 * it. One that is NULL refuses programs that want it, when they are recorded. */
typedef struct nx_stablehlo_host {
  size_t size; /**< sizeof(nx_stablehlo_host) */
  void *user;
  nx_status (*infeed)(const nx_stablehlo_transfer *transfer);
  nx_status (*outfeed)(const nx_stablehlo_transfer *transfer);
  nx_status (*send)(const nx_stablehlo_transfer *transfer);
  nx_status (*receive)(const nx_stablehlo_transfer *transfer);
  /** Called with `user` once when the function that it was given for can call no more, as
   * nx_custom_desc.release is; at once if it calls nothing, and not if nx_stablehlo_function fails.
   * NULL: nothing. */
  void (*release)(void *user);
} nx_stablehlo_host;

typedef struct nx_stablehlo_options {
  size_t size;        /**< sizeof(nx_stablehlo_options) */
  nx_device device;   /**< of the function's tensors */
  const char *symbol; /**< which function, without @; NULL: "main", or the only public one */
  const nx_stablehlo_custom *customs; /**< custom calls, before those that the library knows */
  size_t n_customs;
  /** the processes of the program, whose device is in place of `device`; NULL: one process */
  nx_stablehlo_mesh *mesh;
  int32_t replica, partition; /**< of a mesh: which process the function is of */
  const uint8_t *donate;      /**< of the function, as of nx_function_options: one for each input */
  /** types of the inputs, of which those that the program leaves open get their extents; NULL: it
   * leaves none open */
  const nx_type *inputs;
  size_t n_inputs;
  /** one for each output, 1: the function does without it; NULL: it has all */
  const uint8_t *unwanted;
  /** what `infeed`, `outfeed`, and `send` and `recv` of the host call; copied. NULL: refused */
  const nx_stablehlo_host *host;
  /** for each input, and for each output, those that are not wanted too, NULL or the axes of the
   * program's tensor in another order: the function takes, or gives, the tensor transposed like
   * nx_permute does by these. NULL: all are as in the program */
  const int32_t *const *input_orders;
  const int32_t *const *output_orders;
} nx_stablehlo_options;

/** Records a function of the module; of a mesh, once for each process, and these functions are
 * called together, by nx_function_call_async or on a thread each. Its inputs and outputs are the
 * tensors among the program's, in their order: tokens are left out, of custom calls as well, and a
 * tuple is its elements; one that has no input, and calls with side effects, exchanges with its
 * host or other processes, or is divided by a mesh of its own (`sdy.mesh` of an artifact) among
 * partitions, has one, a bool of rank 0, since only a function with inputs does at each call all
 * that is recorded. *f is one reference, the
 * caller's; untouched on failure. A failure says which operation is to blame, with its line and
 * column, and what recording it gave: NX_INVALID_ARGUMENT for operands, attributes or result types
 * that do not fit each other, for a function that is not there, a mesh of another context, a
 * process that it lacks, for inputs of other types than the program's, extents that depend on
 * elements of inputs, and operations that are not supported; NX_UNSUPPORTED_DTYPE for element
 * types; NX_DEVICE_UNAVAILABLE; NX_OUT_OF_MEMORY. NULL options: device 0, "main". */
NX_API nx_status nx_stablehlo_function(nx_stablehlo *module, nx_context *context,
                                       const nx_stablehlo_options *options, nx_function **f);

#ifdef __cplusplus
}
#endif
#endif
