/* SPDX-License-Identifier: ISC */
/* The C interface of PJRT, version 0.114, as far as the plugin speaks it: what a caller hands to
 * each function, in the order in which the interface lays it out. Names are this tree's; the table
 * of functions (calls.def) has those of the interface. Later versions append fields and functions
 * and change nothing else, and each struct says its size, so that an older caller has a smaller one
 * (NXJ_HAS), and a newer one a larger.
 *
 * Lists and strings are a pointer and a count, strings without NUL. Fields marked "out" are the
 * plugin's to fill. */
#ifndef NXJ_API_H
#define NXJ_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NXJ_API_MAJOR = 0, NXJ_API_MINOR = 114 };

typedef struct nxj_error nxj_error;
typedef struct nxj_event nxj_event;
typedef struct nxj_client nxj_client;
typedef struct nxj_device nxj_device;
typedef struct nxj_memory nxj_memory;
typedef struct nxj_description nxj_description;
typedef struct nxj_topology nxj_topology;
typedef struct nxj_executable nxj_executable;
typedef struct nxj_loaded nxj_loaded;
typedef struct nxj_buffer nxj_buffer;
typedef struct nxj_transfer nxj_transfer;
typedef struct nxj_context nxj_context;
typedef struct nxj_layout nxj_layout;
typedef struct nxj_bytes nxj_bytes;

/* Every function takes one pointer to its struct. NULL: it went well. */
typedef nxj_error *nxj_call(void *args);

/* How each of these structs begins. */
#define NXJ_ARGS(name) struct nxj_##name##_args
#define NXJ_HEAD \
  size_t size;   \
  void *extension

enum {
  NXJ_CANCELLED = 1,
  NXJ_INVALID_ARGUMENT = 3,
  NXJ_DEADLINE_EXCEEDED = 4,
  NXJ_NOT_FOUND = 5,
  NXJ_RESOURCE_EXHAUSTED = 8,
  NXJ_FAILED_PRECONDITION = 9,
  NXJ_OUT_OF_RANGE = 11,
  NXJ_UNIMPLEMENTED = 12,
  NXJ_INTERNAL = 13,
  NXJ_UNAVAILABLE = 14
};

/* ---- errors. The table comes first in every error: newer callers ask through it. */

typedef struct nxj_error_table {
  size_t size, instance;
  void *extension;
  void (*destroy)(nxj_error *e);
  void (*message)(const nxj_error *e, const char **text, size_t *size);
  int (*code)(const nxj_error *e);
  void (*each_payload)(const nxj_error *e, void *visit, void *user);
} nxj_error_table;

NXJ_ARGS(error_destroy) {
  NXJ_HEAD;
  nxj_error *error;
};
NXJ_ARGS(error_message) {
  NXJ_HEAD;
  const nxj_error *error;
  const char *text;
  size_t n;
};
NXJ_ARGS(error_code) {
  NXJ_HEAD;
  const nxj_error *error;
  int code;
};

/* ---- named values */

enum { NXJ_STRING, NXJ_I64, NXJ_I64_LIST, NXJ_F32, NXJ_TRUTH };
typedef struct nxj_named {
  NXJ_HEAD;
  const char *name;
  size_t n_name;
  int type;
  union {
    const char *string;
    int64_t i64;
    const int64_t *list;
    float f32;
    bool truth;
  };
  size_t n;
} nxj_named;

NXJ_ARGS(plugin_initialize) { NXJ_HEAD; };
NXJ_ARGS(plugin_attributes) {
  NXJ_HEAD;
  const nxj_named *attributes;
  size_t n;
};

/* ---- events */

NXJ_ARGS(event) {
  NXJ_HEAD;
  nxj_event *event;
}; /* destroy, error, await; create: out */
NXJ_ARGS(event_ready) {
  NXJ_HEAD;
  nxj_event *event;
  bool ready;
};
typedef void nxj_on_ready(nxj_error *error, void *user);
NXJ_ARGS(event_on_ready) {
  NXJ_HEAD;
  nxj_event *event;
  nxj_on_ready *call;
  void *user;
};
NXJ_ARGS(event_set) {
  NXJ_HEAD;
  nxj_event *event;
  int code;
  const char *text;
  size_t n;
};

/* ---- clients */

NXJ_ARGS(client_create) {
  NXJ_HEAD;
  const nxj_named *options;
  size_t n;
  void *get, *get_user, *put, *put_user;
  nxj_client *client; /* out */
};
NXJ_ARGS(client) {
  NXJ_HEAD;
  nxj_client *client;
};
/* The name and the version of the platform. */
NXJ_ARGS(client_text) {
  NXJ_HEAD;
  nxj_client *client;
  const char *text;
  size_t n;
};
NXJ_ARGS(client_process) {
  NXJ_HEAD;
  nxj_client *client;
  int index;
};
NXJ_ARGS(client_topology) {
  NXJ_HEAD;
  nxj_client *client;
  nxj_topology *topology;
};
NXJ_ARGS(client_devices) {
  NXJ_HEAD;
  nxj_client *client;
  nxj_device *const *list;
  size_t n;
};
NXJ_ARGS(client_memories) {
  NXJ_HEAD;
  nxj_client *client;
  nxj_memory *const *list;
  size_t n;
};
NXJ_ARGS(client_lookup) {
  NXJ_HEAD;
  nxj_client *client;
  int id;
  nxj_device *device;
};
NXJ_ARGS(client_assignment) {
  NXJ_HEAD;
  nxj_client *client;
  int replicas, partitions;
  size_t n;
  int *out; /* replicas by partitions */
};

typedef struct nxj_program {
  NXJ_HEAD;
  char *code; /* of the caller; of an executable NULL asks for the size alone */
  size_t n;
  const char *format;
  size_t n_format;
} nxj_program;
NXJ_ARGS(client_compile) {
  NXJ_HEAD;
  nxj_client *client;
  const nxj_program *program;
  const char *options; /* a CompileOptionsProto */
  size_t n_options;
  nxj_loaded *loaded; /* out */
};
NXJ_ARGS(client_load) {
  NXJ_HEAD;
  nxj_client *client;
  nxj_executable *executable;
  const char *options;
  size_t n_options;
  nxj_loaded *loaded; /* out */
};
NXJ_ARGS(compile) {
  NXJ_HEAD;
  const nxj_topology *topology;
  const nxj_program *program;
  const char *options;
  size_t n_options;
  nxj_client *client;
  nxj_executable *executable; /* out */
};

/* ---- elements and layouts */

enum {
  NXJ_TYPE_INVALID,
  NXJ_TYPE_PRED,
  NXJ_TYPE_S8,
  NXJ_TYPE_S16,
  NXJ_TYPE_S32,
  NXJ_TYPE_S64,
  NXJ_TYPE_U8,
  NXJ_TYPE_U16,
  NXJ_TYPE_U32,
  NXJ_TYPE_U64,
  NXJ_TYPE_F16,
  NXJ_TYPE_F32,
  NXJ_TYPE_F64,
  NXJ_TYPE_BF16,
  NXJ_TYPE_C64,
  NXJ_TYPE_C128,
  NXJ_TYPE_F8E5M2,
  NXJ_TYPE_F8E4M3FN,
  NXJ_TYPE_F8E4M3B11FNUZ,
  NXJ_TYPE_F8E5M2FNUZ,
  NXJ_TYPE_F8E4M3FNUZ,
  NXJ_TYPE_S4,
  NXJ_TYPE_U4,
  NXJ_TYPE_TOKEN,
  NXJ_TYPE_S2,
  NXJ_TYPE_U2,
  NXJ_TYPE_F8E4M3,
  NXJ_TYPE_F8E3M4,
  NXJ_TYPE_F8E8M0,
  NXJ_TYPE_F4E2M1
};

enum { NXJ_TILED, NXJ_STRIDED };
typedef struct nxj_memory_layout {
  NXJ_HEAD;
  union {
    struct {
      NXJ_HEAD;
      const int64_t *minor_to_major;
      size_t n;
      const int64_t *tiles;
      const size_t *tile_ranks;
      size_t n_tiles;
    } tiled;
    struct {
      NXJ_HEAD;
      const int64_t *bytes;
      size_t n;
    } strides;
  };
  int type;
} nxj_memory_layout;

/* ---- buffers from the host. How long the host's memory stays as it is: during the call, until
 * done is ready, and in the last two modes, which allow it to be the buffer's, as long as the
 * buffer. */

enum { NXJ_DURING_CALL, NXJ_UNTIL_DONE, NXJ_ZERO_COPY, NXJ_MUTABLE_ZERO_COPY };
NXJ_ARGS(from_host) {
  NXJ_HEAD;
  nxj_client *client;
  const void *data;
  int type;
  const int64_t *dims;
  size_t rank;
  const int64_t *strides; /* in bytes; none: C order */
  size_t n_strides;
  int semantics;
  nxj_device *device;
  nxj_memory *memory;
  nxj_memory_layout *layout;
  nxj_event *done;    /* out */
  nxj_buffer *buffer; /* out */
};
NXJ_ARGS(view_of_memory) {
  NXJ_HEAD;
  nxj_client *client;
  void *data;
  const int64_t *dims;
  size_t rank;
  int type;
  nxj_memory_layout *layout;
  nxj_device *device;
  void (*on_delete)(void *data, void *user);
  void *user;
  intptr_t stream;
  nxj_buffer *buffer; /* out */
  nxj_memory *memory;
};
NXJ_ARGS(uninitialized) {
  NXJ_HEAD;
  nxj_client *client;
  const int64_t *dims;
  size_t rank;
  int type;
  nxj_memory_layout *layout;
  nxj_device *device;
  nxj_memory *memory;
  nxj_buffer *buffer; /* out */
};
NXJ_ARGS(error_buffer) {
  NXJ_HEAD;
  nxj_client *client;
  int code;
  const char *text;
  size_t n;
  const int64_t *dims;
  size_t rank;
  int type;
  nxj_memory_layout *layout;
  nxj_memory *memory;
  nxj_buffer *buffer; /* out */
};

/* ---- devices and memories */

NXJ_ARGS(description_number) {
  NXJ_HEAD;
  nxj_description *description;
  int number;
};
NXJ_ARGS(description_text) {
  NXJ_HEAD;
  nxj_description *description;
  const char *text;
  size_t n;
};
NXJ_ARGS(description_attributes) {
  NXJ_HEAD;
  nxj_description *description;
  size_t n;
  const nxj_named *list;
};
NXJ_ARGS(device_description) {
  NXJ_HEAD;
  nxj_device *device;
  nxj_description *description;
};
NXJ_ARGS(device_addressable) {
  NXJ_HEAD;
  nxj_device *device;
  bool addressable;
};
NXJ_ARGS(device_number) {
  NXJ_HEAD;
  nxj_device *device;
  int number;
};
NXJ_ARGS(device_memories) {
  NXJ_HEAD;
  nxj_device *device;
  nxj_memory *const *list;
  size_t n;
};
NXJ_ARGS(device_memory) {
  NXJ_HEAD;
  nxj_device *device;
  nxj_memory *memory;
};
typedef struct nxj_statistic {
  int64_t value;
  bool known;
} nxj_statistic;
NXJ_ARGS(device_statistics) {
  NXJ_HEAD;
  nxj_device *device;
  int64_t in_use;
  nxj_statistic peak, allocations, largest, limit, reserved, peak_reserved, reservable,
      largest_free, pool, peak_pool;
};
NXJ_ARGS(device_attributes) {
  NXJ_HEAD;
  nxj_device *device;
  const nxj_named *list;
  size_t n;
  void *owner;
  void (*release)(void *owner);
};

/* A table comes first in every memory, as in errors. */
typedef struct nxj_memory_table {
  size_t size;
  void *extension;
  size_t instance;
  void *(*user_data)(nxj_memory *m, const void *key);
  void (*set_user_data)(nxj_memory *m, const void *key, void *data, void (*release)(void *));
} nxj_memory_table;
NXJ_ARGS(memory_number) {
  NXJ_HEAD;
  nxj_memory *memory;
  int number;
};
NXJ_ARGS(memory_text) {
  NXJ_HEAD;
  nxj_memory *memory;
  const char *text;
  size_t n;
};
NXJ_ARGS(memory_devices) {
  NXJ_HEAD;
  nxj_memory *memory;
  nxj_device *const *list;
  size_t n;
};

#endif
