/* SPDX-License-Identifier: ISC */
/* The C interface of PJRT, continued: executables, buffers, topologies, and extensions. */
#ifndef NXJ_API_RUN_H
#define NXJ_API_RUN_H

#include "api.h"

/* ---- executables */

NXJ_ARGS(context) {
  NXJ_HEAD;
  nxj_context *context;
};
NXJ_ARGS(executable) {
  NXJ_HEAD;
  nxj_executable *executable;
};
NXJ_ARGS(executable_text) {
  NXJ_HEAD;
  nxj_executable *executable;
  const char *text;
  size_t n;
};
NXJ_ARGS(executable_count) {
  NXJ_HEAD;
  nxj_executable *executable;
  size_t n;
};
NXJ_ARGS(executable_bytes) {
  NXJ_HEAD;
  nxj_executable *executable;
  int64_t n;
};
NXJ_ARGS(executable_program) {
  NXJ_HEAD;
  nxj_executable *executable;
  nxj_program *program;
};
NXJ_ARGS(executable_costs) {
  NXJ_HEAD;
  nxj_executable *executable;
  size_t n;
  const nxj_named *list;
};
NXJ_ARGS(executable_memory) {
  NXJ_HEAD;
  nxj_executable *executable;
  int64_t code, arguments, outputs, aliases, temporaries;
  int64_t host_code, host_arguments, host_outputs, host_aliases, host_temporaries;
  int64_t peak, total; /* and three more since */
};
NXJ_ARGS(executable_types) {
  NXJ_HEAD;
  nxj_executable *executable;
  int *types;
  size_t n;
};
NXJ_ARGS(executable_dims) {
  NXJ_HEAD;
  nxj_executable *executable;
  size_t n;
  const int64_t *dims; /* of all, one behind the other */
  const size_t *ranks;
};
NXJ_ARGS(executable_memories) {
  NXJ_HEAD;
  nxj_executable *executable;
  size_t n;
  const char *const *kinds;
  const size_t *sizes;
};
/* Bytes that are the plugin's until `release`. */
NXJ_ARGS(executable_serialize) {
  NXJ_HEAD;
  const nxj_executable *executable;
  const char *bytes;
  size_t n;
  nxj_bytes *owner;
  void (*release)(nxj_bytes *owner);
};
NXJ_ARGS(deserialize) {
  NXJ_HEAD;
  nxj_client *client;
  const char *bytes;
  size_t n;
  nxj_loaded *loaded; /* out */
  const char *options;
  size_t n_options;
};

NXJ_ARGS(loaded) {
  NXJ_HEAD;
  nxj_loaded *loaded;
};
NXJ_ARGS(loaded_executable) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  nxj_executable *executable;
};
NXJ_ARGS(loaded_devices) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  nxj_device *const *list;
  size_t n;
};
typedef struct nxj_logical {
  int replica, partition;
} nxj_logical;
NXJ_ARGS(loaded_logical) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  nxj_logical *list;
  size_t n;
};
NXJ_ARGS(loaded_deleted) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  bool deleted;
};
NXJ_ARGS(loaded_text) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  const char *text;
  size_t n;
};
NXJ_ARGS(loaded_assignment) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  const char *bytes; /* a DeviceAssignmentProto */
  size_t n;
  nxj_bytes *owner;
  void (*release)(nxj_bytes *owner);
};

/* What a send of the program calls, with each array as a chunk, and what a recv does, with a stream
 * that takes the array's bytes in chunks, on any thread, also after the call has returned. */
typedef struct nxj_chunk {
  void *data;
  size_t n;
  void (*release)(void *data, void *user);
  void *user;
} nxj_chunk;
typedef struct nxj_stream nxj_stream;
typedef nxj_error *(*nxj_callback_error)(int code, const char *message, size_t n);
typedef struct nxj_send_info {
  int64_t channel;
  void *user;
  nxj_error *(*call)(nxj_chunk *chunk, nxj_callback_error *make_error, size_t total, bool done,
                     void *user);
} nxj_send_info;
typedef struct nxj_receive_info {
  int64_t channel;
  void *user;
  void (*call)(nxj_stream *stream, void *user); /* the stream is the callee's */
} nxj_receive_info;

NXJ_ARGS(stream) {
  NXJ_HEAD;
  nxj_stream *stream;
};
NXJ_ARGS(stream_size) {
  NXJ_HEAD;
  nxj_stream *stream;
  int64_t n; /* out */
};
NXJ_ARGS(stream_add) {
  NXJ_HEAD;
  nxj_stream *stream;
  nxj_chunk *chunk; /* taken */
  nxj_event *done;  /* out */
};

typedef struct nxj_execute_options {
  NXJ_HEAD;
  nxj_send_info *const *send; /* of each device, n_send */
  nxj_receive_info *const *receive;
  size_t n_send, n_receive;
  int launch;
  const int64_t *keep; /* inputs that are not to be donated */
  size_t n_keep;
  nxj_context *context;
} nxj_execute_options;
NXJ_ARGS(execute) {
  NXJ_HEAD;
  nxj_loaded *loaded;
  nxj_execute_options *options;
  nxj_buffer *const *const *inputs;
  size_t n_devices, n_inputs;
  nxj_buffer **const *outputs;
  nxj_event **done;   /* NULL, or one for each device; out */
  nxj_device *device; /* NULL, or the one to run on */
};

/* ---- buffers */

NXJ_ARGS(buffer) {
  NXJ_HEAD;
  nxj_buffer *buffer;
};
NXJ_ARGS(buffer_type) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  int type;
};
NXJ_ARGS(buffer_dims) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  const int64_t *dims;
  size_t n;
};
NXJ_ARGS(buffer_dynamic) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  const size_t *axes;
  size_t n;
};
NXJ_ARGS(buffer_layout) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_memory_layout layout;
};
NXJ_ARGS(buffer_size) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  size_t n;
};
NXJ_ARGS(buffer_flag) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  bool flag;
};
NXJ_ARGS(buffer_device) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_device *device;
};
NXJ_ARGS(buffer_memory) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_memory *memory;
};
NXJ_ARGS(buffer_event) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_event *event;
};
NXJ_ARGS(buffer_address) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  uintptr_t address;
};
NXJ_ARGS(buffer_pointer) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  void *pointer;
};
NXJ_ARGS(to_host) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_memory_layout *layout;
  void *data; /* NULL: how many bytes it takes is asked */
  size_t n;
  nxj_event *event; /* out */
};
NXJ_ARGS(raw_to_host) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  void *data;
  int64_t offset, n;
  nxj_event *event; /* out */
};
NXJ_ARGS(copy_to_device) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_device *device;
  nxj_buffer *copy; /* out */
};
NXJ_ARGS(copy_to_memory) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_memory *memory;
  nxj_buffer *copy; /* out */
};

/* ---- topologies */

NXJ_ARGS(topology_create) {
  NXJ_HEAD;
  const char *name;
  size_t n_name;
  const nxj_named *options;
  size_t n;
  nxj_topology *topology; /* out */
};
NXJ_ARGS(topology) {
  NXJ_HEAD;
  nxj_topology *topology;
};
NXJ_ARGS(topology_text) {
  NXJ_HEAD;
  const nxj_topology *topology;
  const char *text;
  size_t n;
};
NXJ_ARGS(topology_devices) {
  NXJ_HEAD;
  const nxj_topology *topology;
  nxj_description *const *list;
  size_t n;
};
NXJ_ARGS(topology_attributes) {
  NXJ_HEAD;
  const nxj_topology *topology;
  const nxj_named *list;
  size_t n;
};
NXJ_ARGS(topology_serialize) {
  NXJ_HEAD;
  const nxj_topology *topology;
  const char *bytes;
  size_t n;
  nxj_bytes *owner;
  void (*release)(nxj_bytes *owner);
};
NXJ_ARGS(topology_deserialize) {
  NXJ_HEAD;
  const char *bytes;
  size_t n;
  nxj_topology *topology; /* out */
};
NXJ_ARGS(topology_fingerprint) {
  NXJ_HEAD;
  const nxj_topology *topology;
  uint64_t fingerprint;
};

/* ---- extensions: a chain that begins in the table of functions */

enum { NXJ_EXTENSION_LAYOUTS = 4, NXJ_EXTENSION_SHARDINGS = 19 };
typedef struct nxj_extension {
  size_t size;
  int type;
  const struct nxj_extension *next;
} nxj_extension;

NXJ_ARGS(layout) {
  NXJ_HEAD;
  nxj_layout *layout;
};
NXJ_ARGS(layout_serialize) {
  NXJ_HEAD;
  nxj_layout *layout;
  const char *bytes;
  size_t n;
  nxj_bytes *owner;
  void (*release)(nxj_bytes *owner);
};
NXJ_ARGS(layout_of_buffer) {
  NXJ_HEAD;
  nxj_buffer *buffer;
  nxj_layout *layout;
};
/* Of a client and of a topology. */
NXJ_ARGS(layout_default) {
  NXJ_HEAD;
  void *of;
  int type;
  const int64_t *dims;
  size_t n;
  nxj_layout *layout; /* out */
};
NXJ_ARGS(layouts_of_ports) {
  NXJ_HEAD;
  nxj_executable *executable;
  size_t n;
  nxj_layout **list;
};

#endif
