/* SPDX-License-Identifier: ISC */
/* The objects behind the interface. A caller may destroy them in any order: each counts who uses
 * it, and keeps alive what it needs, the client at the end.
 *
 * What changes is guarded by one lock (state.c), which is held for moments only and around fork, so
 * that a child finds it free. */
#ifndef NXJ_OBJECTS_H
#define NXJ_OBJECTS_H

#include <stdatomic.h>

#include "api_run.h"
#include "ir/platform/thread.h"
#include "nx/nx.h"
#include "nx/stablehlo.h"

/* ---- arguments */

/* The struct that a function was given, called `a`; a caller whose struct ends before the field
 * `last` is refused. */
#define NXJ_TAKE(name, last)          \
  struct nxj_##name##_args *a = args; \
  if (!NXJ_HAS(a, last)) return nxj_too_small(#name, a->size)
/* Whether the caller knows a field. */
#define NXJ_HAS(a, field) \
  ((a)->size >= (size_t)((const char *)(&(a)->field + 1) - (const char *)(a)))

/* ---- state.c */

void nxj_lock(void);
void nxj_unlock(void);
/* Waits until somebody has changed something, with the lock given up meanwhile. */
void nxj_wait(void);
void nxj_changed(void);
/* The same for the threads of queues: a call that is done at once wakes none of them. */
void nxj_wait_for_jobs(void);
void nxj_queues_changed(void);
/* Prepares the lock for fork; false: no memory. */
bool nxj_state_begin(void);
/* How often the process has forked, as this one sees it. */
unsigned nxj_generation(void);

/* ---- error.c. Without memory for an error there is one that needs none. */

#define NXJ_ERROR __attribute__((returns_nonnull)) nxj_error
NXJ_ERROR *nxj_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
NXJ_ERROR *nxj_fail_text(int code, const char *text, size_t size);
NXJ_ERROR *nxj_no_memory(void);
NXJ_ERROR *nxj_too_small(const char *name, size_t size);
/* What this thread's error is about, which is taken; NULL of NX_OK. */
nxj_error *nxj_of_status(nx_status status);
void nxj_error_free(nxj_error *e);
int nxj_error_code_of(const nxj_error *e);
const char *nxj_error_text(const nxj_error *e);
nxj_error *nxj_error_again(const nxj_error *e); /* a copy; NULL of NULL */

/* ---- event.c */

nxj_event *nxj_event_new(void);  /* NULL: no memory */
nxj_event *nxj_event_over(void); /* one that is ready; needs no memory */
nxj_event *nxj_event_keep(nxj_event *e);
void nxj_event_drop(nxj_event *e);
bool nxj_event_is_ready(nxj_event *e);
/* Makes it ready, and calls who asked for that. Takes the error, which may be NULL. */
void nxj_event_finish(nxj_event *e, nxj_error *error);
/* Waits. A copy of its error, or NULL. */
nxj_error *nxj_event_wait(nxj_event *e);

/* ---- clients, devices, memories (client.c, device.c) */

struct nxj_description {
  int id;
  char kind[16], text[48];
};

typedef struct nxj_user_data {
  const void *key;
  void *data;
  void (*release)(void *data);
  struct nxj_user_data *next;
} nxj_user_data;

/* The kinds of memory of a processor, as JAX's own processor backend has them: all are the host's.
 * A GPU's client has the first alone. */
enum { NXJ_KINDS = 3 };
extern const char *const nxj_kinds[NXJ_KINDS];

struct nxj_memory {
  const nxj_memory_table *table;
  int id, kind;
  nxj_device *device;
  nxj_user_data *data;
  char text[48];
};

typedef struct nxj_job nxj_job;
typedef struct nxj_queue nxj_queue;

struct nxj_device {
  nxj_client *client;
  nxj_description *description;
  nxj_memory memory[NXJ_KINDS];
  nxj_memory *memories[NXJ_KINDS];
  nx_device index; /* in the context */
  nxj_queue *queue;
};

struct nxj_topology {
  atomic_uint refs;
  int n;
  nxj_description *list[32];
  nxj_description descriptions[32];
};

struct nxj_client {
  atomic_uint refs;
  nx_context *context;
  nxj_topology *topology;
  bool gpu;       /* the devices are GPUs */
  int n, n_kinds; /* devices, and how many memories each has */
  nxj_device *devices[32];
  nxj_memory *memories[32 * NXJ_KINDS];
  nxj_queue *preparing; /* of jobs that make what later ones need */
  nxj_client *next;     /* of all */
  bool closed;          /* its owner is done with it; the lock */
  nxj_device device[32];
};

extern const char nxj_platform[], nxj_platform_version[];
nxj_client *nxj_client_keep(nxj_client *c);
void nxj_client_drop(nxj_client *c);
bool nxj_queues_begin(nxj_client *c);
void nxj_queues_end(nxj_client *c);
void nxj_queues_after_fork(void);
nxj_topology *nxj_topology_new(int n, const char *kind);
void nxj_topology_drop(nxj_topology *t);
nxj_error *nxj_memory_of(nxj_client *c, nxj_device *device, nxj_memory *memory, nxj_memory **out);

/* ---- elements (types.c) */

nx_dtype nxj_dtype_of(int type); /* 0: there is none */
struct nxh_type;
int nxj_type_of(const struct nxh_type *type);
const char *nxj_type_name(int type);

/* ---- values and buffers (buffer.c). A value is what a buffer holds, also one that is still being
 * computed; a buffer is a caller's handle of a value, and has none any more when it is deleted.
 *
 * A shape is `rank` extents, and behind them the layout: the axes from the one whose elements are
 * neighbours in memory to the outermost. The tensor of a value has the extents in the order of the
 * memory, the outermost first, and lies in C order. Axes that lie anywhere, of extent 1 or of an
 * array without elements, have the places that they have in the shape, whatever the layout says. */

typedef struct nxj_value {
  atomic_uint refs;
  nxj_client *client;
  nxj_device *device;
  nxj_event *ready; /* then there is the tensor, or the event has an error */
  nx_tensor *tensor;
  bool imported; /* in memory of the host, which wants it back soon */
  /* By how many that read it, and are not in the device's queue. One more: with the lock. */
  atomic_int held;
  int type;
  int32_t rank;
  int64_t shape[];
} nxj_value;

struct nxj_buffer {
  nxj_value *value; /* NULL: deleted. The lock */
  nxj_client *client;
  nxj_device *device;
  nxj_memory *memory; /* of the device; the first, until whoever made the buffer says another */
  nxj_event *ready;
  nx_mapping *mapping; /* of external references and addresses. The lock */
  uint64_t external;
  int type;
  int32_t rank;
  int64_t shape[];
};

/* A value to come. NULL: no memory. `ready` is kept; the tensor is taken. */
nxj_value *nxj_value_new(nxj_device *d, int type, const int64_t *shape, int32_t rank,
                         nxj_event *ready, nx_tensor *tensor);
nxj_value *nxj_value_keep(nxj_value *v);
void nxj_value_drop(nxj_value *v);
/* A buffer of the value, which is taken, also on failure. NULL: no memory. */
nxj_buffer *nxj_buffer_new(nxj_value *v);
void nxj_buffer_free(nxj_buffer *b);
/* The buffer's value, kept; NULL: it is deleted. */
nxj_value *nxj_buffer_value(nxj_buffer *b);
/* The same for who reads it later, and is not in the device's queue: a call that is given the
 * buffer meanwhile does not take its memory. Of several: how many, up to the first that is
 * deleted. */
nxj_value *nxj_buffer_hold(nxj_buffer *b);
size_t nxj_buffers_hold(nxj_buffer *const *list, nxj_value **values, size_t n);
/* The end of that; the second drops the value too. */
void nxj_value_end_hold(nxj_value *v);
void nxj_value_let_go(nxj_value *v);
/* Takes the value out of the buffer. The lock. */
nxj_value *nxj_buffer_take(nxj_buffer *b);
NXJ_ERROR *nxj_deleted(const char *what);
/* Waits for the value. */
nxj_error *nxj_value_wait(nxj_value *v, nx_tensor **tensor);

/* ---- layouts (layout.c) */

static inline size_t nxj_shape_bytes(int32_t rank) { return 2 * (size_t)rank * sizeof(int64_t); }
/* Writes the layout of a shape: C order, or a caller's for elements of `size` bytes, NULL: C order.
 * False, and the shape as it was: tiles, gaps, or axes that it has not. */
void nxj_set_c_order(int64_t *shape, size_t rank);
bool nxj_set_layout(int64_t *shape, size_t rank, size_t size, const nxj_memory_layout *layout);
bool nxj_has_c_order(const int64_t *shape, size_t rank);
/* A number of each axis, in the order of the axes of a value's tensor. */
void nxj_in_memory(const int64_t *shape, size_t rank, const int64_t *of_axes, int64_t *out);

/* ---- copies between arrays of the host (layout.c) */

/* Strides in bytes, axis by axis, of an array of the host with `size` bytes an element; layout
 * NULL: that of the shape. False: a layout that is none of this shape, or has tiles. */
bool nxj_strides_of(const nxj_memory_layout *layout, const int64_t *shape, size_t rank, size_t size,
                    int64_t *strides);
bool nxj_is_c_order(const int64_t *dims, const int64_t *strides, size_t rank, size_t size);
/* From strided elements to packed ones, or back. */
void nxj_gather(void *packed, const void *from, const int64_t *dims, const int64_t *strides,
                size_t rank, size_t size);
void nxj_scatter(void *to, const void *packed, const int64_t *dims, const int64_t *strides,
                 size_t rank, size_t size);
/* Elements of half a byte are a byte each in arrays of the host. */
bool nxj_is_half(nx_dtype dtype);
void nxj_pack_halves(uint8_t *packed, const uint8_t *bytes, size_t n);
void nxj_unpack_halves(uint8_t *bytes, const uint8_t *packed, size_t n, bool negative);
size_t nxj_host_size(nx_dtype dtype); /* bytes of an element */
/* The number of elements; -1: too many, or a negative extent. */
int64_t nxj_elements(const int64_t *dims, size_t rank);
typedef struct nxj_layouts_extension {
  nxj_extension base;
  nxj_call *calls[7];
} nxj_layouts_extension;
extern const nxj_layouts_extension nxj_layouts;
typedef struct nxj_shardings_extension {
  nxj_extension base;
  nxj_call *calls[2];
} nxj_shardings_extension;
extern const nxj_shardings_extension nxj_shardings; /* before the one of layouts */
void nxj_layouts_free(nxj_layout **list, size_t n);

/* ---- executables (compile.c, execute.c) */

typedef struct nxj_port {
  int type;
  int32_t rank;
  int64_t *shape;  /* as of a value */
  uint8_t donated; /* of a result: an argument is donated to it */
  int kind;        /* of memory */
  bool token;      /* for the caller an array without elements; the function has none for it */
  /* of a result that the program returns as it came: 1 + the argument's number; else 0. The
   * function has none for it */
  size_t argument;
} nxj_port;

typedef struct nxj_options {
  int replicas, partitions;
  bool portable;
  int n_assigned; /* 0: none given */
  int assigned[32];
  const char *bytes; /* the message, which outlives this */
  size_t n;
} nxj_options;
/* Reads a CompileOptionsProto; an error if it is malformed, or names what is no option. */
nxj_error *nxj_read_options(const char *bytes, size_t n, nxj_options *out);
/* The axes, from the innermost, that options name as the layout of an argument, or with `result` of
 * a result: how many, 0: none are named, -1: more than NX_MAX_RANK, or tiles. */
int nxj_layout_option(const nxj_options *o, bool result, size_t i, int64_t axes[NX_MAX_RANK]);
/* The devices of an executable as a DeviceAssignmentProto; its size. */
size_t nxj_write_assignment(const nxj_loaded *l, char out[4096]);

struct nxj_executable {
  atomic_uint refs;
  nx_stablehlo *module;
  const char *code; /* of `module`, as it was given: what is serialised, with `given` */
  size_t n_code;
  char *given;
  size_t n_given;
  nxj_options options;
  char name[64];
  char fingerprint[33]; /* "": not asked for yet. The lock */
  atomic_bool bound;    /* names functions of this process */
  size_t n_in, n_out;
  nxj_port *in, *out;
  int64_t in_bytes, out_bytes;
  /* what questions are answered with: of the outputs, and of the inputs */
  int *types;
  int64_t *dims;
  size_t *ranks;
  const char **kinds;
  size_t *kind_sizes;
  char **shardings; /* of inputs, then of outputs; NULL of one partition */
  size_t *sharding_sizes;
  nxj_layout **in_layouts, **out_layouts; /* NULL: not asked for yet. The lock */
  nxj_named costs[2];
};

struct nxj_loaded {
  atomic_uint refs;
  nxj_client *client;
  nxj_executable *executable;
  bool deleted;
  int n; /* devices */
  nxj_device *devices[32];
  nxj_logical logical[32];
  nx_function *functions[32]; /* of each */
  bool exchanges;             /* the program has sends or receives */
  struct nxj_slot {
    nxj_client *client;
    nxj_job *job; /* the call that is under way, for these; the lock */
  } slots[32];
  _Atomic int64_t last_ns; /* how long the last call took; 0: none yet */
  atomic_uint preparing;   /* jobs that do so, each with a reference */
};

bool nxj_fill_shardings(nxj_executable *e); /* false: no memory */
/* The layouts of arguments and results, as the program and its options say them (orders.c). */
struct nxh_module;
struct nxh_function;
nxj_error *nxj_fill_layouts(nxj_executable *e, const struct nxh_module *m,
                            const struct nxh_function *f);
void nxj_free_shardings(nxj_executable *e);
nxj_error *nxj_compile(const char *code, size_t n, const char *options, size_t n_options,
                       nxj_executable **out);
/* The same of a module that was read; takes it, also on failure. */
nxj_error *nxj_compile_module(nx_stablehlo *m, const char *options, size_t n_options,
                              nxj_executable **out);
nxj_error *nxj_load(nxj_client *c, nxj_executable *e, nxj_loaded **out);
const char *nxj_fingerprint(nxj_executable *e);
void nxj_executable_drop(nxj_executable *e);
void nxj_loaded_drop(nxj_loaded *l);

/* One call on one device, or what is made for the first one before there is any. */
struct nxj_job {
  nxj_job *next;
  nxj_loaded *loaded;
  nxj_event *done;
  nxj_event *over; /* its tokens': when the job is done, also if it fails; NULL: there are none */
  nx_function *function;
  nxj_device *device;
  size_t n_in, n_out;
  nxj_value **in, **out; /* behind the job */
  nx_tensor **tensors;   /* room for those of both */
  uint8_t *give;         /* n_in: donated */
  bool prepares;         /* it is no call */
  bool holds;            /* its inputs; a call in a queue does not: the order is enough */
  nxj_send_info *sends;  /* of this call, with the receives behind them */
  nxj_receive_info *receives;
  size_t n_sends, n_receives;
};
/* Gives jobs to the queues of their devices, or to that of what is prepared, all or none. False: no
 * thread can be started, and the jobs are still the caller's. */
bool nxj_queues_add(nxj_job *const *jobs, size_t n);
bool nxj_queue_is_idle(const nxj_device *d);
/* Does the job, and frees it. */
void nxj_job_run(nxj_job *j);
/* Has the code of what is loaded made, beside whatever the caller does before the first call. Where
 * nothing can be done about it now, that call does. */
void nxj_prepare(nxj_loaded *l);

/* ---- functions of the caller in programs (callbacks.c) */

/* Which of the program's devices a function is recorded for. */
typedef struct nxj_place {
  int index, n;
  atomic_bool *bound; /* set: the program names functions of this process */
} nxj_place;
nx_status nxj_record_callback(const nx_stablehlo_call *call); /* user: a place */
nx_status nxj_refuse_python(const nx_stablehlo_call *call);
nx_status nxj_refuse_partitioning(const nx_stablehlo_call *call);
/* Around a call of the caller's; false: its runtime has ended, and nothing is called. */
bool nxj_callback_begin(void);
void nxj_callback_end(void);
/* Whether this thread is in one: it waits for nobody who might wait for it. */
bool nxj_in_callback(void);
void nxj_callbacks_after_fork(void);

/* ---- programs that are handed over (programs.c) */

/* The module that bytes name which a caller of nx_pjrt_program_new wrote, one reference; NULL: they
 * are something else. *unknown: they name none. */
nx_stablehlo *nxj_program_of(const char *bytes, size_t n, bool *unknown);

/* ---- what programs send to the host and receive from it (transfers.c) */

nx_stablehlo_host nxj_host_of(struct nxj_slot *slot);
/* A call's functions, of its device k. False: no memory. */
bool nxj_take_transfers(nxj_job *j, const nxj_execute_options *o, size_t k);

/* ---- bytes that the caller releases (error.c) */

struct nxj_bytes {
  size_t n;
  char at[];
};
nxj_bytes *nxj_bytes_new(size_t n);
void nxj_bytes_free(nxj_bytes *b);

#endif
