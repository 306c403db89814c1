/* SPDX-License-Identifier: ISC */
/* Compile options: a message of protocol buffers, CompileOptionsProto, of which the few fields that
 * say for how many devices a program is are read, layouts, and the names of what overrides XLA's
 * flags; DeviceAssignmentProto, also written. */
#include <string.h>

#include "objects.h"

typedef struct reader {
  const uint8_t *at, *end;
  bool bad;
} reader;

typedef struct field {
  uint32_t number, kind; /* kind: 0 a number, 2 bytes; others are skipped */
  uint64_t value;
  reader bytes;
} field;

static uint64_t varint(reader *r) {
  uint64_t x = 0;
  for (unsigned shift = 0; shift < 64 && r->at < r->end; shift += 7) {
    uint8_t byte = *r->at++;
    x |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return x;
  }
  r->bad = true;
  return 0;
}

static void skip(reader *r, uint64_t n) {
  if (n > (uint64_t)(r->end - r->at)) r->bad = true;
  else r->at += n;
}

static bool next_field(reader *r, field *f) {
  if (r->bad || r->at == r->end) return false;
  uint64_t key = varint(r);
  f->number = (uint32_t)(key >> 3);
  f->kind = key & 7;
  f->value = 0;
  switch (f->kind) {
    case 0: f->value = varint(r); break;
    case 1: skip(r, 8); break;
    case 2: {
      uint64_t n = varint(r);
      f->bytes = (reader){r->at, r->at, false};
      skip(r, n);
      f->bytes.end = r->at;
      break;
    }
    case 5: skip(r, 4); break;
    default: r->bad = true;
  }
  return !r->bad;
}

static void add_device(nxj_options *o, uint64_t id) {
  if (o->n_assigned < 32) o->assigned[o->n_assigned] = id < 1 << 20 ? (int)id : -1;
  o->n_assigned++;
}

/* The devices of one partition, one for each replica: packed, or field by field. */
static bool read_partition(reader r, nxj_options *o) {
  field f = {0};
  while (next_field(&r, &f)) {
    if (f.number != 1) continue;
    if (f.kind == 0) add_device(o, f.value);
    for (reader list = f.bytes; f.kind == 2 && list.at < list.end;) {
      add_device(o, varint(&list));
      if (list.bad) return false;
    }
  }
  return !r.bad;
}

static bool read_assignment(reader r, nxj_options *o) {
  field f = {0};
  bool good = true;
  while (good && next_field(&r, &f))
    if (f.number == 3 && f.kind == 2) good = read_partition(f.bytes, o);
  return good && !r.bad;
}

static bool read_build(reader r, nxj_options *o) {
  field f = {0};
  bool good = true;
  while (good && next_field(&r, &f)) {
    if (f.number == 4 && f.kind == 0) o->replicas = f.value < 1024 ? (int)f.value : -1;
    if (f.number == 5 && f.kind == 0) o->partitions = f.value < 1024 ? (int)f.value : -1;
    if (f.number == 9 && f.kind == 2) good = read_assignment(f.bytes, o);
  }
  return good && !r.bad;
}

static size_t size_of(reader r) { return (size_t)(r.end - r.at); }
static int shown(reader r) { return (int)(size_of(r) < 200 ? size_of(r) : 200); }

static bool is(reader r, const char *word) {
  return size_of(r) == strlen(word) && memcmp(r.at, word, size_of(r)) == 0;
}

/* Flags of XLA that programs set, and that are true or false. */
static bool is_switch(reader name) {
  static const char *const names[] = {
      "xla_allow_excess_precision",       "xla_cpu_enable_concurrency_optimized_scheduler",
      "xla_cpu_enable_fast_math",         "xla_cpu_enable_fast_min_max",
      "xla_cpu_fast_math_honor_nans",     "xla_cpu_fast_math_honor_infs",
      "xla_cpu_use_thunk_runtime",        "xla_dump_hlo_as_text",
      "xla_embed_ir_in_executable",       "xla_gpu_enable_latency_hiding_scheduler",
      "xla_gpu_enable_triton_gemm",       "xla_gpu_deterministic_ops",
      "xla_llvm_disable_expensive_passes"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (is(name, names[i])) return true;
  return false;
}

/* A value: text, true or false, or a number. */
static nxj_error *check_value(reader name, reader value) {
  field f = {0};
  while (next_field(&value, &f)) {
    bool text = f.number == 1 && f.kind == 2;
    bool good = text ? is(f.bytes, "true") || is(f.bytes, "false") || is(f.bytes, "True") ||
                           is(f.bytes, "False") || is(f.bytes, "1") || is(f.bytes, "0")
                     : f.number == 2;
    if (!good)
      return nxj_fail(NXJ_INVALID_ARGUMENT,
                      "nx: While setting option %.*s, '%.*s' is not a valid bool value.",
                      shown(name), (const char *)name.at, text ? shown(f.bytes) : 8,
                      text ? (const char *)f.bytes.at : "a number");
  }
  return NULL;
}

/* One entry of the map of overrides, the name first. Flags of XLA mean nothing here; what is none
 * of them is a mistake. */
static nxj_error *check_override(reader r) {
  field f = {0};
  reader name = {NULL, NULL, false};
  nxj_error *e = NULL;
  while (e == NULL && next_field(&r, &f)) {
    if (f.kind != 2 || f.number < 1 || f.number > 2) continue;
    if (f.number == 2) {
      if (name.at != NULL && is_switch(name)) e = check_value(name, f.bytes);
      continue;
    }
    name = f.bytes;
    if (size_of(name) < 4 || memcmp(name.at, "xla_", 4) != 0)
      e = nxj_fail(NXJ_INVALID_ARGUMENT, "nx: No such compile option: '%.*s'", shown(name),
                   (const char *)name.at);
  }
  return e;
}

nxj_error *nxj_read_options(const char *bytes, size_t n, nxj_options *out) {
  const uint8_t *from = (const uint8_t *)bytes;
  reader r = {from, from != NULL ? from + n : from, false};
  *out = (nxj_options){.replicas = 1, .partitions = 1, .bytes = bytes, .n = n};
  field f = {0};
  bool good = true;
  while (good && next_field(&r, &f)) {
    if (f.number == 3 && f.kind == 2) good = read_build(f.bytes, out);
    if (f.number == 4 && f.kind == 0) out->portable = f.value != 0;
    nxj_error *error = f.number == 7 && f.kind == 2 ? check_override(f.bytes) : NULL;
    if (error != NULL) return error;
  }
  if (out->replicas == 0) out->replicas = 1;
  if (out->partitions == 0) out->partitions = 1;
  if (good && !r.bad && out->replicas > 0 && out->partitions > 0) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the compile options are malformed");
}

/* ---- layouts: a list of ShapeProto of the arguments, and one of the results, a tuple's if these
 * are not one */

/* The field i of those of a number that has bytes; false: there is none. */
static bool find(reader r, uint32_t number, size_t i, reader *out) {
  field f = {0};
  while (next_field(&r, &f)) {
    if (f.number != number || f.kind != 2) continue;
    *out = f.bytes;
    if (i-- == 0) return true;
  }
  return false;
}

static int add_axis(int64_t axes[NX_MAX_RANK], int n, uint64_t axis) {
  if (n < 0 || n == NX_MAX_RANK) return -1;
  axes[n] = axis < NX_MAX_RANK ? (int64_t)axis : -1;
  return n + 1;
}

/* minor_to_major of a LayoutProto: packed, or field by field. */
static int read_axes(reader r, int64_t axes[NX_MAX_RANK]) {
  field f = {0};
  int n = 0;
  while (next_field(&r, &f)) {
    if (f.number == 6) return -1; /* tiles */
    if (f.number != 1) continue;
    if (f.kind == 0) n = add_axis(axes, n, f.value);
    for (reader list = f.bytes; f.kind == 2 && list.at < list.end;) {
      n = add_axis(axes, n, varint(&list));
      if (list.bad) return -1;
    }
  }
  return r.bad ? -1 : n;
}

int nxj_layout_option(const nxj_options *o, bool result, size_t i, int64_t axes[NX_MAX_RANK]) {
  const uint8_t *from = (const uint8_t *)o->bytes;
  reader r = {from, from != NULL ? from + o->n : from, false}, shape, inner;
  if (!find(r, result ? 3 : 1, result ? 0 : i, &shape)) return 0;
  if (result && !find(shape, 2, 0, &shape)) return 0;
  if (result && find(shape, 4, 0, &inner)) {
    if (!find(shape, 4, i, &shape)) return 0;
  } else if (result && i > 0) {
    return 0;
  }
  return find(shape, 5, 0, &inner) ? read_axes(inner, axes) : 0;
}

/* ---- writing. All numbers here are below 128. */

size_t nxj_write_assignment(const nxj_loaded *l, char out[4096]) {
  int replicas = l->executable->options.replicas, partitions = l->executable->options.partitions;
  size_t n = 0;
  out[n++] = 1 << 3;
  out[n++] = (char)replicas;
  out[n++] = 2 << 3;
  out[n++] = (char)partitions;
  for (int p = 0; p < partitions; p++) {
    out[n++] = 3 << 3 | 2;
    out[n++] = (char)(replicas + 2);
    out[n++] = 1 << 3 | 2;
    out[n++] = (char)replicas;
    for (int r = 0; r < replicas; r++)
      out[n++] = (char)l->devices[r * partitions + p]->description->id;
  }
  return n;
}
