/* SPDX-License-Identifier: ISC */
/* Prints loads, stores, trees of partial results, and exchanges between threads as CUDA C. Elements
 * of one thread that are adjacent and aligned are loaded and stored as words of up to 16 bytes. */
#include <stdio.h>

#include "emit.h"

static const nxk_access *access_of(const nxu_emitter *e, uint64_t number) {
  return &e->k->accesses[number];
}

static nx_dtype dtype_at(const nxu_emitter *e, const nxk_access *a) {
  return e->k->buffers[a->buffer].dtype;
}

/* ---- addresses */

/* Whether the address is computed in 32 bits. Its indices decide; an access without indices is,
 * if its offset fits. */
static bool is_narrow(const nxu_emitter *e, const nxk_access *a) {
  nxk_value index = a->n_terms ? a->terms[0].index : a->index;
  if (index != NXK_NONE) return e->k->instrs[index].dtype == NX_I32;
  return a->offset == (int16_t)a->offset && a->lane_stride == (int16_t)a->lane_stride;
}

/* A count of elements as a literal of 32 or 64 bits. */
static void put_count(nxu_emitter *e, const nxk_access *a, int64_t n) {
  nxu_put(e, is_narrow(e, a) ? "%lld" : "(nx_i64)%lld", (long long)n);
}

static void put_times(nxu_emitter *e, const nxk_access *a, const char *what, int64_t n) {
  nxu_put(e, "%s", what);
  if (n == 1) return;
  nxu_put(e, " * ");
  put_count(e, a, n);
}

/* Prints the position in the buffer of the thread's lane `copy`. */
static void put_base(nxu_emitter *e, const nxk_access *a, uint32_t copies, bool lanes,
                     uint32_t copy) {
  const char *plus = "";
  bool strides = lanes && a->lane_stride && !a->group;
  for (uint32_t i = 0; i < a->n_terms; i++, plus = " + ") {
    nxu_put(e, "%s", plus);
    put_times(e, a, nxu_ref(e, a->terms[i].index, 0).text, a->terms[i].stride);
  }
  if (a->index != NXK_NONE) {
    nxu_put(e, "%s%s", plus, nxu_ref(e, a->index, a->group ? 0 : copy).text);
    plus = " + ";
  }
  if (strides) {
    nxu_put(e, "%s", plus);
    put_times(e, a, "t", a->lane_stride * copies);
    plus = " + ";
  }
  int64_t offset = a->offset + (a->lane_stride ? a->lane_stride * copy : 0);
  if (offset == 0 && plus[0]) return;
  nxu_put(e, "%s", plus);
  put_count(e, a, offset);
}

/* Prints an element of a LOCAL array that is divided among the threads: each thread has an array
 * of its own, of an element for each of its lanes and each row. */
static void put_own(nxu_emitter *e, const nxk_access *a, uint32_t copy) {
  int64_t threads = e->k->threads;
  nxu_put(e, "b%u[%lld", a->buffer, (long long)(a->offset / threads + copy));
  for (uint32_t i = 0; i < a->n_terms; i++)
    nxu_put(e, " + %s * %lld", nxu_ref(e, a->terms[i].index, 0).text,
            (long long)(a->terms[i].stride / threads));
  nxu_put(e, "]");
}

/* Prints the element of the thread's lane `copy`, as in b3[...]. */
static void put_element(nxu_emitter *e, const nxk_access *a, uint32_t copies, bool lanes,
                        uint32_t copy) {
  if (e->k->buffers[a->buffer].thread_private) {
    put_own(e, a, copy);
    return;
  }
  nxu_put(e, "b%u[", a->buffer);
  put_base(e, a, copies, lanes, copy);
  nxu_put(e, "]");
}

/* ---- words */

typedef struct words {
  uint32_t size, bytes, n, per; /* bytes of an element, of a word; words; elements in each */
} words;

static words words_of(nx_dtype t, uint32_t copies) {
  uint32_t size = (uint32_t)nxi_dtype_size(t), bytes = size * copies < 16 ? size * copies : 16;
  return (words){size, bytes, size * copies / bytes, bytes / size};
}

static const char *word_type(const words *w) {
  if (w->bytes == 16) return w->size == 8 ? "ulonglong2" : "uint4";
  return w->bytes == 8 ? "uint2" : w->bytes == 4 ? "nx_u32" : "nx_u16";
}

/* Prints the unsigned number of 16, 32 or 64 bits in word `w` (a variable) that contains element
 * i of it. */
static void put_part(nxu_emitter *e, const words *w, const char *variable, uint32_t number,
                     uint32_t i) {
  uint32_t unit = w->size == 8 ? 8 : 4, at = i * w->size;
  nxu_put(e, "%s%u", variable, number);
  if (w->bytes > unit || w->size == 8) nxu_put(e, ".%c", "xyzw"[at / unit]);
  if (w->size < 4 && at % 4) nxu_put(e, " >> %u", at % 4 * 8);
}

static void put_words_address(nxu_emitter *e, const nxk_access *a, uint32_t copies, const words *w,
                              const char *constness, nxk_value v) {
  nxu_line(e);
  nxu_put(e, "%s%s *const a%u = (%s%s *)&", constness, word_type(w), v, constness, word_type(w));
  put_element(e, a, copies, true, 0);
  nxu_put(e, ";");
}

/* Prints an element, converted from its bits in a word; bool is a byte there. */
static void open_bits(nxu_emitter *e, nx_dtype t) {
  static const char *const bits[] = {[1] = "nx_u8", [2] = "nx_u16", [4] = "nx_u32", [8] = "nx_u64"};
  if (t == NX_BOOL) nxu_put(e, "(nx_u8)(");
  else nxu_put(e, "nx_bitcast<%s>((%s)(", nxu_type(t), bits[nxi_dtype_size(t)]);
}

static void load_words(nxu_emitter *e, nxk_value v, const nxk_access *a) {
  nx_dtype t = dtype_at(e, a);
  uint32_t copies = nxu_copies(e, v);
  words w = words_of(t, copies);
  put_words_address(e, a, copies, &w, "const ", v);
  for (uint32_t i = 0; i < w.n; i++) {
    nxu_line(e);
    nxu_put(e, "const %s w%u_%u = a%u[%u];", word_type(&w), v, i, v, i);
  }
  for (uint32_t i = 0; i < copies; i++) {
    char name[24];
    snprintf(name, sizeof name, "w%u_", v);
    nxu_line(e);
    nxu_put(e, "v%u_%u = ", v, i);
    open_bits(e, t);
    put_part(e, &w, name, i / w.per, i % w.per);
    nxu_put(e, t == NX_BOOL ? ") != 0;" : "));");
  }
}

/* Prints the bits of an element as an unsigned number of the size of a word's unit. */
static void put_bits(nxu_emitter *e, nx_dtype t, const char *value) {
  if (t == NX_BOOL) nxu_put(e, "(nx_u32)%s", value);
  else if (nxi_dtype_size(t) == 8) nxu_put(e, "nx_bitcast<nx_u64>(%s)", value);
  else if (nxi_dtype_size(t) == 4) nxu_put(e, "nx_bitcast<nx_u32>(%s)", value);
  else nxu_put(e, "(nx_u32)%s(%s)", nxi_dtype_size(t) == 2 ? "(nx_u16)" : "(nx_u8)", value);
}

/* Prints the unit of a word that begins with element `first`. */
static void put_unit(nxu_emitter *e, nx_dtype t, nxk_value value, uint32_t first, uint32_t n) {
  uint32_t size = (uint32_t)nxi_dtype_size(t);
  for (uint32_t i = 0; i < n; i++) {
    if (i) nxu_put(e, " | ");
    if (i) nxu_put(e, "(");
    put_bits(e, t, nxu_ref(e, value, first + i).text);
    if (i) nxu_put(e, ") << %u", i * size * 8);
  }
}

static void store_words(nxu_emitter *e, nxk_value v, const nxk_access *a, uint32_t copies) {
  static const char *const makers[] = {[4] = "make_uint4", [2] = "make_uint2"};
  nx_dtype t = dtype_at(e, a);
  nxk_value value = e->k->instrs[v].args[0];
  words w = words_of(t, copies);
  uint32_t unit = w.size == 8 ? 8 : w.bytes < 4 ? w.bytes : 4, units = w.bytes / unit;
  put_words_address(e, a, copies, &w, "", v);
  for (uint32_t i = 0; i < w.n; i++) {
    nxu_line(e);
    nxu_put(e, "a%u[%u] = ", v, i);
    if (w.size == 8) nxu_put(e, "make_ulonglong2(");
    else if (units > 1) nxu_put(e, "%s(", makers[units]);
    else nxu_put(e, "(%s)(", word_type(&w));
    for (uint32_t u = 0; u < units; u++) {
      if (u) nxu_put(e, ", ");
      put_unit(e, t, value, i * w.per + u * (unit / w.size), unit / w.size);
    }
    nxu_put(e, ");");
  }
}

/* ---- masks */

/* Prints the mask of one lane, or of the thread if it has one mask; all: the conjunction over
 * the thread's lanes. */
static void put_mask(nxu_emitter *e, const nxk_access *a, bool all) {
  uint32_t copies = nxu_copies(e, a->mask);
  for (uint32_t i = 0; i < (all ? copies : 1); i++)
    nxu_put(e, "%s%s", i ? " & " : "", nxu_ref(e, a->mask, i).text);
}

static uint32_t mask_copy(const nxu_emitter *e, const nxk_access *a, uint32_t copies, uint32_t i) {
  return i * nxu_copies(e, a->mask) / copies;
}

/* ---- loads */

static void load_element(nxu_emitter *e, nxk_value v, const nxk_access *a, uint32_t copies,
                         uint32_t i) {
  bool lanes = e->k->instrs[v].lanes > 1;
  if (a->mask != NXK_NONE)
    nxu_put(e, "%s ? ", nxu_ref(e, a->mask, mask_copy(e, a, copies, i)).text);
  if (dtype_at(e, a) == NX_BOOL) nxu_put(e, "(");
  put_element(e, a, copies, lanes, i);
  if (dtype_at(e, a) == NX_BOOL) nxu_put(e, " != 0)");
  if (a->mask == NXK_NONE) return;
  if (a->other != NXK_NONE) nxu_put(e, " : %s", nxu_ref(e, a->other, i).text);
  else nxu_put(e, " : (%s)0", nxu_type(dtype_at(e, a)));
}

static void load_elements(nxu_emitter *e, nxk_value v, const nxk_access *a, bool declared) {
  uint32_t copies = nxu_copies(e, v);
  for (uint32_t i = 0; i < copies; i++) {
    if (!declared) nxu_define(e, v, i);
    else {
      nxu_line(e);
      nxu_put(e, "v%u_%u = ", v, i);
    }
    load_element(e, v, a, copies, i);
    nxu_put(e, ";");
  }
}

static void open_block(nxu_emitter *e, const char *before) {
  nxu_line(e);
  nxu_put(e, "%s{", before);
  e->depth++;
}

static void close_block(nxu_emitter *e) {
  e->depth--;
  nxu_line(e);
  nxu_put(e, "}");
}

/* Prints `if (mask of all lanes of the thread) {`, or `{` if there is no mask. */
static void open_whole(nxu_emitter *e, const nxk_access *a) {
  if (a->mask == NXK_NONE) {
    open_block(e, "");
    return;
  }
  nxu_line(e);
  nxu_put(e, "if (");
  put_mask(e, a, true);
  nxu_put(e, ") {");
  e->depth++;
}

void nxu_load(nxu_emitter *e, nxk_value v) {
  const nxk_access *a = access_of(e, e->k->instrs[v].imm);
  if (!(a->flags & NXK_WHOLE)) {
    load_elements(e, v, a, false);
    return;
  }
  for (uint32_t i = 0; i < nxu_copies(e, v) && !e->outlives[v]; i++) {
    nxu_line(e);
    nxu_put(e, "%s v%u_%u;", nxu_type(e->k->instrs[v].dtype), v, i);
  }
  open_whole(e, a);
  load_words(e, v, a);
  close_block(e);
  if (a->mask == NXK_NONE) return;
  open_block(e, "else ");
  load_elements(e, v, a, true);
  close_block(e);
}

/* ---- stores */

/* A value of one lane is equal in all threads, so one thread stores it. */
static void store_elements(nxu_emitter *e, nxk_value v, const nxk_access *a, uint32_t copies) {
  const nxk_instr *in = &e->k->instrs[v];
  bool lanes = in->lanes > 1;
  for (uint32_t i = 0; i < copies; i++) {
    nxu_line(e);
    if (!lanes || a->mask != NXK_NONE) nxu_put(e, "if (");
    if (!lanes) nxu_put(e, a->mask != NXK_NONE ? "t == 0 && " : "t == 0");
    if (a->mask != NXK_NONE) nxu_put(e, "%s", nxu_ref(e, a->mask, mask_copy(e, a, copies, i)).text);
    if (!lanes || a->mask != NXK_NONE) nxu_put(e, ") ");
    put_element(e, a, copies, lanes, i);
    nxu_put(e, " = %s;", nxu_ref(e, in->args[0], i).text);
  }
}

void nxu_store(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  const nxk_access *a = access_of(e, in->imm);
  uint32_t copies = in->lanes > e->k->threads ? in->lanes / e->k->threads : 1;
  if (!(a->flags & NXK_WHOLE)) {
    store_elements(e, v, a, copies);
    return;
  }
  open_whole(e, a);
  store_words(e, v, a, copies);
  close_block(e);
  if (a->mask == NXK_NONE) return;
  open_block(e, "else ");
  store_elements(e, v, a, copies);
  close_block(e);
}

/* ---- exchanges between threads */

void nxu_shuffle_xor(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  uint32_t copies = nxu_copies(e, v), inside = (uint32_t)in->imm % copies,
           threads = (uint32_t)in->imm / copies;
  for (uint32_t i = 0; i < copies; i++) {
    nxu_name from = nxu_ref(e, in->args[0], i ^ inside);
    nxu_define(e, v, i);
    if (threads == 0) nxu_put(e, "%s;", from.text);
    else if (threads < 32) nxu_put(e, "nx_shuffle(%s, %u);", from.text, threads);
    else nxu_put(e, "nx_exchange(%s, %u, nx_room);", from.text, threads);
  }
}

/* ---- trees of partial results, kept as a binary counter in memory */

static void put_combination(nxu_emitter *e, const nxk_instr *in, nx_dtype t, const char *a,
                            const char *b) {
  nxu_operation o = {nxk_reduce_op(in->kind), t, t, false, 0};
  nxu_scalar(e, &o, a, b, "");
}

static bool is_arg(const nxk_instr *in) { return nxk_finds_index(in->kind); }

/* Prints the element of the tree at level `level` (a variable). */
static void put_level(nxu_emitter *e, const nxk_access *a, uint32_t copies, bool lanes,
                      uint32_t i) {
  nxu_put(e, "(&");
  put_element(e, a, copies, lanes, i);
  int64_t stride = a->tree_stride;
  if (e->k->buffers[a->buffer].thread_private) stride /= e->k->threads;
  nxu_put(e, ")[level * (nx_i64)%lld]", (long long)stride);
}

/* Prints x = combine(level, x), for argmax and argmin also of the index j; the level is the left
 * operand. */
static void combine_level(nxu_emitter *e, const nxk_instr *in, uint32_t copies, uint32_t i) {
  const nxk_access *values = access_of(e, in->imm);
  nx_dtype t = dtype_at(e, values);
  bool lanes = in->lanes > 1;
  nxu_line(e);
  nxu_put(e, "const %s y = ", nxu_type(t));
  put_level(e, values, copies, lanes, i);
  nxu_put(e, ";");
  nxu_line(e);
  if (!is_arg(in)) {
    nxu_put(e, "x = ");
    put_combination(e, in, t, "y", "x");
    nxu_put(e, ";");
    return;
  }
  nxu_put(e, "const nx_i64 i = ");
  put_level(e, access_of(e, in->imm2), copies, lanes, i);
  nxu_put(e, ";");
  nxu_line(e);
  nxu_put(e, "if (!nx_arg_better(%s, y, i, x, j)) { x = y; j = i; }",
          nxk_reduce_op(in->kind) == NXK_max ? "true" : "false");
}

static void store_level(nxu_emitter *e, const nxk_instr *in, uint32_t copies, uint32_t i) {
  bool lanes = in->lanes > 1;
  nxu_line(e);
  if (!lanes) nxu_put(e, "if (t == 0) {");
  put_level(e, access_of(e, in->imm), copies, lanes, i);
  nxu_put(e, " = x;");
  if (is_arg(in)) {
    nxu_line(e);
    put_level(e, access_of(e, in->imm2), copies, lanes, i);
    nxu_put(e, " = j;");
  }
  if (!lanes) nxu_put(e, "}");
}

void nxu_tree_push(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  uint32_t copies = in->lanes > e->k->threads ? in->lanes / e->k->threads : 1;
  nx_dtype t = dtype_at(e, access_of(e, in->imm));
  if (in->lanes == 1) { /* each thread would push the same value */
    nxu_refuse(e, "a tree of values without lanes");
    return;
  }
  for (uint32_t i = 0; i < copies; i++) {
    open_block(e, "");
    nxu_line(e);
    nxu_put(e, "%s x = %s;", nxu_type(t), nxu_ref(e, in->args[1], i).text);
    nxu_line(e);
    nxu_put(e, "nx_i64 n = %s, level = 0;", nxu_ref(e, in->args[0], 0).text);
    if (is_arg(in)) {
      nxu_line(e);
      nxu_put(e, "nx_i64 j = %s;", nxu_ref(e, in->args[2], i).text);
    }
    open_block(e, "for (; n & 1; n >>= 1, level++) ");
    combine_level(e, in, copies, i);
    close_block(e);
    store_level(e, in, copies, i);
    close_block(e);
  }
}

void nxu_tree_join(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  uint32_t copies = nxu_copies(e, v);
  nx_dtype t = dtype_at(e, access_of(e, in->imm));
  bool index = in->flags & NXK_INDEX_PART, lanes = in->lanes > 1;
  for (uint32_t i = 0; i < copies; i++) {
    char name[32];
    snprintf(name, sizeof name, copies > 1 ? "v%u_%u" : "v%u", v, i);
    if (!e->outlives[v]) {
      nxu_line(e);
      nxu_put(e, "%s %s;", nxu_type(in->dtype), name);
    }
    open_block(e, "");
    nxu_line(e);
    nxu_put(e, "nx_i64 n = %s, level = 0;", nxu_ref(e, in->args[0], 0).text);
    nxu_line(e);
    nxu_put(e, "while (!(n & 1)) { n >>= 1; level++; }");
    nxu_line(e);
    nxu_put(e, "%s x = ", nxu_type(t));
    put_level(e, access_of(e, in->imm), copies, lanes, i);
    nxu_put(e, ";");
    if (is_arg(in)) {
      nxu_line(e);
      nxu_put(e, "nx_i64 j = ");
      put_level(e, access_of(e, in->imm2), copies, lanes, i);
      nxu_put(e, ";");
    }
    open_block(e, "for (n >>= 1, level++; n; n >>= 1, level++) if (n & 1) ");
    combine_level(e, in, copies, i);
    close_block(e);
    nxu_line(e);
    nxu_put(e, "%s = %s;", name, index ? "j" : "x");
    close_block(e);
  }
}
