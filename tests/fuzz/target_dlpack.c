/* SPDX-License-Identifier: ISC */
/* Bytes as a DLPack structure over 4 KiB: version, flags, type, device, mode, byte offset, rank,
 * then an extent and a stride an axis. Tensors inside the memory are compared, element by element,
 * and exported again; tensors that extend beyond it are imported and not read; tensors that no
 * memory could hold must be refused. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ir/dtype.h"
#include "nx/nx.h"
#include "runtime/files/dlpack_abi.h"

enum { MEMORY = 4096, AXES = 36, MOST_ELEMENTS = 4096 };

__extension__ typedef __int128 wide;

typedef struct input {
  const uint8_t *at, *end;
} input;

static uint64_t take(input *in, size_t n) {
  uint64_t x = 0;
  if ((size_t)(in->end - in->at) < n) n = (size_t)(in->end - in->at);
  memcpy(&x, in->at, n);
  in->at += n;
  return x;
}

/* Small numbers in one byte; behind 0x7e and 0x7f, whole ones. */
static int64_t take_number(input *in) {
  int8_t small = (int8_t)take(in, 1);
  if (small == 0x7f) return (int64_t)take(in, 8);
  if (small == 0x7e) return INT64_MIN + (int64_t)take(in, 1);
  return small;
}

typedef struct lent {
  struct DLManagedTensorVersioned versioned;
  struct DLManagedTensor v0;
  int64_t shape[AXES], strides[AXES];
  int deleted;
} lent;

static void delete_versioned(struct DLManagedTensorVersioned *m) {
  ((lent *)m->manager)->deleted++;
}
static void delete_v0(struct DLManagedTensor *m) { ((lent *)m->manager)->deleted++; }

typedef struct tried {
  lent l;
  nxi_dlpack_tensor *x;
  nx_dtype dtype;  /* 0: none of ours */
  bool v0, shaped; /* shaped: rank and extents can be true */
  uint32_t mode;
  wide elements, low, high; /* low, high: in elements, from the first one */
} tried;

static char memory[MEMORY] __attribute__((aligned(64)));

static nx_dtype dtype_of(nxi_dlpack_dtype x) {
  for (nx_dtype t = 1; t < NXI_DTYPE_COUNT; t++) {
    int code = t == NX_BOOL                                                 ? 6
               : t == NX_BF16                                               ? 4
               : t == NX_F8E4M3                                             ? 10
               : t == NX_F8E4M3FNUZ                                         ? 11
               : t == NX_F8E5M2                                             ? 12
               : t == NX_F8E5M2FNUZ                                         ? 13
               : t == NX_F8E8M0                                             ? 14
               : t == NX_F4E2M1                                             ? 17
               : nxi_is_complex(t)                                          ? 5
               : nxi_is_float(t)                                            ? 2
               : t == NX_I4 || (t >= NX_I8 && nxi_dtypes[t].cls == NXI_INT) ? 0
                                                                            : 1;
    if (x.lanes == 1 && x.bits == nxi_dtypes[t].bits && x.code == code) return t;
  }
  return 0;
}

/* Whatever is beyond memory many times over is as good as this, and 128 bits hold its sums and
 * products. */
static wide bounded(wide x) {
  const wide most = (wide)1 << 63;
  return x > most ? most : x < -most ? -most : x;
}

static void measure(tried *t) {
  int32_t rank = t->x->rank;
  t->shaped = rank >= 0 && rank <= NX_MAX_RANK && (rank == 0 || t->x->shape);
  t->elements = 1;
  for (int32_t i = 0; t->shaped && i < rank; i++) {
    if (t->l.shape[i] < 0) t->shaped = false;
    else t->elements = t->l.shape[i] ? bounded(t->elements) * t->l.shape[i] : 0;
  }
  wide stride = 1;
  for (int32_t i = rank; t->shaped && t->elements && i-- > 0;) {
    wide s = t->x->strides ? t->l.strides[i] : stride, *end;
    wide way = bounded(bounded(s) * bounded((wide)t->l.shape[i] - 1));
    end = way < 0 ? &t->low : &t->high;
    *end = bounded(*end + way);
    stride = bounded(stride * t->l.shape[i]);
  }
}

/* The element type; mostly one that the library has. */
static nxi_dlpack_dtype take_dtype(input *in) {
  static const uint8_t usual[][2] = {{2, 32}, {0, 32}, {1, 8}, {0, 4},   {1, 4},  {2, 64},
                                     {4, 16}, {5, 64}, {6, 8}, {5, 128}, {2, 16}, {0, 64}};
  uint8_t which = (uint8_t)take(in, 1);
  if (which < 0xe0) {
    const uint8_t *u = usual[which % (sizeof usual / sizeof *usual)];
    return (nxi_dlpack_dtype){u[0], u[1], 1};
  }
  return (nxi_dlpack_dtype){(uint8_t)take(in, 1), (uint8_t)take(in, 1), (uint16_t)take(in, 2)};
}

static void decode(tried *t, input *in) {
  uint8_t bits = (uint8_t)take(in, 1);
  t->v0 = bits & 1;
  t->l.versioned = (struct DLManagedTensorVersioned){.major = bits & 2 ? (uint32_t)take(in, 1) : 1,
                                                     .minor = bits & 4 ? (uint32_t)take(in, 4) : 1,
                                                     .manager = &t->l,
                                                     .deleter = bits & 8 ? NULL : delete_versioned,
                                                     .flags = bits & 16 ? take(in, 8) : 0};
  t->l.v0 = (struct DLManagedTensor){.manager = &t->l, .deleter = bits & 8 ? NULL : delete_v0};
  t->x = t->v0 ? &t->l.v0.tensor : &t->l.versioned.tensor;
  t->mode = (uint32_t)take(in, 1) % (NX_IMPORT_MAPPED + 2);
  t->x->dtype = take_dtype(in);
  t->x->device.type = bits & 32 ? (int32_t)take(in, 2) : 1;
  t->x->byte_offset = (uint64_t)take_number(in);
  t->x->rank = (int32_t)take_number(in);
  t->x->data = bits & 64 ? NULL : memory + MEMORY / 2;
  for (int i = 0; i < AXES && i < t->x->rank; i++) {
    t->l.shape[i] = take_number(in);
    t->l.strides[i] = take_number(in);
  }
  t->x->shape = t->l.shape;
  t->x->strides = bits & 128 ? NULL : t->l.strides;
  t->dtype = dtype_of(t->x->dtype);
  measure(t);
}

/* The bits of the element of these indices, by the specification. */
static bool is_same_element(const tried *t, const int64_t *index, const void *packed, int64_t at) {
  int64_t bits = nxi_dtypes[t->dtype].bits, element = 0, stride = 1;
  for (int32_t i = t->x->rank; i-- > 0; stride *= t->l.shape[i])
    element += index[i] * (t->x->strides ? t->l.strides[i] : stride);
  const unsigned char *base = (const unsigned char *)t->x->data + (int64_t)t->x->byte_offset,
                      *to = packed;
  if (bits < 8) {
    int64_t byte = element >= 0 ? element / 2 : -((1 - element) / 2);
    int in = element - 2 * byte ? base[byte] >> 4 : base[byte] & 15;
    return in == (at % 2 ? to[at / 2] >> 4 : to[at / 2] & 15);
  }
  if (t->dtype == NX_BOOL) return !base[element] == !to[at];
  return !memcmp(base + element * (bits / 8), to + at * (bits / 8), (size_t)bits / 8);
}

static void compare(const tried *t, const void *packed) {
  int64_t index[NX_MAX_RANK] = {0};
  for (int64_t at = 0; at < t->elements; at++) {
    if (!is_same_element(t, index, packed, at)) fuzz_wrong("element %lld differs", (long long)at);
    for (int32_t i = t->x->rank; i-- > 0;) {
      if (++index[i] < t->l.shape[i]) break;
      index[i] = 0;
    }
  }
}

/* Exports the tensor again: the shape and the elements must be the same. */
static void lend(nx_context *c, nx_tensor *x, const void *packed, size_t bytes) {
  struct DLManagedTensorVersioned *m = NULL;
  nx_tensor *again = NULL;
  void *to = malloc(bytes + 1);
  nx_status status = nx_to_dlpack(x, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m);
  if (status && status != NX_NEEDS_COPY) fuzz_wrong("lending: %s", nx_status_name(status));
  if (!status) {
    if (nx_from_dlpack(c, m, NX_IMPORT_IMMUTABLE, &again))
      fuzz_wrong("an exported tensor is refused");
    if (!to || nx_read(again, to, bytes, NULL) || (bytes && memcmp(to, packed, bytes)))
      fuzz_wrong("an exported tensor holds something else");
    nx_tensor_release(again);
  }
  nx_error_take(NULL);
  free(to);
}

static void use(nx_context *c, const tried *t, nx_tensor *x) {
  size_t bytes = (size_t)nxi_dtype_bytes(t->dtype, (int64_t)t->elements);
  void *packed = malloc(bytes + 1);
  if (!packed || nx_read(x, packed, bytes, NULL)) fuzz_wrong("it cannot be read");
  compare(t, packed);
  lend(c, x, packed, bytes);
  free(packed);
}

/* Where the bytes of the elements lie, from the beginning of `memory`. */
static bool is_inside(const tried *t) {
  wide bits = nxi_dtypes[t->dtype].bits, first = MEMORY / 2 + (wide)(int64_t)t->x->byte_offset;
  wide begin = first * 8 + t->low * bits - 8, end = first * 8 + (t->high + 1) * bits + 8;
  return begin >= 0 && end <= MEMORY * 8;
}

static void expect_refusal(const tried *t, nx_status status) {
  bool must = !t->dtype || !t->shaped || t->mode > NX_IMPORT_MAPPED ||
              !nxi_dlpack_is_host(t->x->device.type) || (t->elements && !t->x->data) ||
              t->high - t->low >= (wide)1 << 63 ||
              (!t->v0 && (t->l.versioned.major != 1 || t->l.versioned.flags & ~UINT64_C(7)));
  if (must && !status) fuzz_wrong("a structure that cannot be is taken");
}

void fuzz_dlpack(const uint8_t *data, size_t n) {
  static nx_context *c;
  nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1, .memory_limit = 1 << 26};
  if (!c && nx_context_create(&o, &c) != NX_OK) abort();
  for (int i = 0; i < MEMORY; i++) memory[i] = (char)(i * 37 + i / 251);
  static tried t;
  memset(&t, 0, sizeof t);
  input in = {data, data + n};
  decode(&t, &in);
  bool inside = t.dtype && t.shaped && t.x->data && is_inside(&t) && t.elements <= MOST_ELEMENTS;
  bool reads = t.mode == NX_IMPORT_COPY && t.elements;
  wide bits = t.dtype ? nxi_dtypes[t.dtype].bits : 0;
  if (reads && !inside && t.shaped && (t.high - t.low) * bits < (wide)8 << 63) return;
  nx_tensor *x = NULL;
  nx_status status = t.v0 ? nx_from_dlpack_v0(c, &t.l.v0, t.mode, &x)
                          : nx_from_dlpack(c, &t.l.versioned, t.mode, &x);
  nx_status left = nx_error_take(NULL);
  if (status != left || !status != !!x)
    fuzz_wrong("%s, and the error is %s", nx_status_name(status), nx_status_name(left));
  expect_refusal(&t, status);
  if (!status && (inside || !t.elements)) use(c, &t, x);
  nx_tensor_release(x);
  for (int i = 0; i < 3; i++) nx_context_collect(c); /* one callback may queue another */
  bool deletes = t.v0 ? !!t.l.v0.deleter : t.l.versioned.major == 1 && t.l.versioned.deleter;
  if (t.l.deleted != (!status && deletes)) fuzz_wrong("the deleter ran %d times", t.l.deleted);
}
