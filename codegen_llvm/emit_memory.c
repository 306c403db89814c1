/* SPDX-License-Identifier: ISC */
/* LLVM IR for loads and stores. LLVM is told that addresses are aligned to their elements; for
 * nontemporal stores, where the kernel guarantees it, to the vector. Lanes whose mask is false
 * access no memory. If the target has no masked, gather or scatter instruction of the width, a
 * small loop copies lane by lane through an array on the stack: compact code, which only tails and
 * uncommon accesses need. */
#include <stdio.h>
#include <string.h>

#include "emit.h"

/* ---- alias scopes */

static LLVMMetadataRef md_string(nxl_emitter *e, const char *s, uint32_t n) {
  return LLVMMDStringInContext2(e->context, s, n);
}

/* Each access lists the scopes of all other buffers, so metadata grows with the square of their
 * number. With more buffers than this it costs more compile time than the better code is worth. */
enum { MAX_SCOPED_BUFFERS = 64 };

void nxl_make_scopes(nxl_emitter *e) {
  if (e->k->n_buffers > MAX_SCOPED_BUFFERS) return;
  LLVMMetadataRef domain_name =
      md_string(e, e->k->name, (uint32_t)strnlen(e->k->name, sizeof e->k->name));
  LLVMMetadataRef domain = LLVMMDNodeInContext2(e->context, &domain_name, 1);
  uint32_t n = e->k->n_buffers;
  for (uint32_t i = 0; i < n; i++) {
    if (!e->k->buffers[i].restricted && e->k->buffers[i].kind != NXK_LOCAL) continue;
    char name[16];
    LLVMMetadataRef parts[2] = {md_string(e, name, (uint32_t)snprintf(name, sizeof name, "b%u", i)),
                                domain};
    e->scopes[i] = LLVMMDNodeInContext2(e->context, parts, 2);
  }
  LLVMMetadataRef others[MAX_SCOPED_BUFFERS];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < n; j++)
      if (j != i && e->scopes[j]) others[count++] = e->scopes[j];
    if (e->scopes[i])
      e->own_scope[i] =
          LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &e->scopes[i], 1));
    if (count)
      e->other_scopes[i] =
          LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, others, count));
  }
}

static void set_metadata(nxl_emitter *e, nxl_ref instruction, const char *kind, nxl_ref value) {
  LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(e->context, kind, (uint32_t)strlen(kind)),
                  value);
}

/* Tells LLVM that a memory instruction accesses this buffer and no other. */
static nxl_ref annotate(nxl_emitter *e, nxl_ref instruction, uint32_t buffer) {
  if (e->own_scope[buffer]) set_metadata(e, instruction, "alias.scope", e->own_scope[buffer]);
  if (e->other_scopes[buffer]) set_metadata(e, instruction, "noalias", e->other_scopes[buffer]);
  return instruction;
}

/* ---- one access being printed */

typedef struct site {
  const nxk_access *access;
  uint32_t lanes, bytes;      /* bytes of an element */
  nx_dtype dtype;             /* of the memory */
  LLVMTypeRef scalar, type;   /* types in memory, where bool is i8 */
  nxl_ref base;               /* address of lane 0, the vector index left out */
  nxl_ref mask, other, index; /* NULL: none. other has the type in memory */
} site;

static nxl_ref to_memory(nxl_emitter *e, const site *s, nxl_ref value) {
  return s->dtype == NX_BOOL ? LLVMBuildZExt(e->builder, value, s->type, "") : value;
}

static nxl_ref from_memory(nxl_emitter *e, const site *s, nxl_ref value) {
  return s->dtype == NX_BOOL
             ? LLVMBuildICmp(e->builder, LLVMIntNE, value, LLVMConstNull(s->type), "")
             : value;
}

static nxl_ref at_element(nxl_emitter *e, const site *s, nxl_ref base, nxl_ref index) {
  return LLVMBuildGEP2(e->builder, s->scalar, base, &index, 1, "");
}

/* The address of lane 0. Terms of outer loops are added first and the constant offset last, so that
 * accesses in the same inner loop share a common prefix, which LLVM computes once. */
static nxl_ref address(nxl_emitter *e, const site *s, nxl_ref displacement) {
  const nxk_access *a = s->access;
  nxl_ref p = e->bases[a->buffer];
  for (uint32_t done = 0, last = 0; done < a->n_terms; done++) {
    uint32_t best = UINT32_MAX, n_best = 0;
    for (uint32_t i = 0; i < a->n_terms; i++)
      if ((done == 0 || a->terms[i].index > last) && a->terms[i].index < best)
        best = a->terms[n_best = i].index;
    if (best == UINT32_MAX) break;
    for (uint32_t i = n_best; i < a->n_terms; i++) /* several terms may have the same index */
      if (a->terms[i].index == best)
        p = at_element(
            e, s, p, LLVMBuildMul(e->builder, e->values[best], nxl_i64(e, a->terms[i].stride), ""));
    last = best;
  }
  if (a->index != NXK_NONE && nxl_lanes_of(e->values[a->index]) == 1)
    p = at_element(e, s, p, e->values[a->index]);
  if (displacement) p = at_element(e, s, p, displacement);
  return a->offset ? at_element(e, s, p, nxl_i64(e, a->offset)) : p;
}

static site make_site(nxl_emitter *e, const nxk_access *a, uint32_t lanes, nxl_ref displacement) {
  site s = {.access = a, .lanes = lanes, .dtype = e->k->buffers[a->buffer].dtype};
  s.bytes = (uint32_t)nxi_dtype_size(s.dtype);
  s.scalar = s.dtype == NX_BOOL ? e->i8 : nxl_scalar_type(e, s.dtype);
  s.type = nxl_vector_of(s.scalar, lanes);
  s.base = address(e, &s, displacement);
  if (a->index != NXK_NONE && nxl_lanes_of(e->values[a->index]) > 1) s.index = e->values[a->index];
  if (a->mask != NXK_NONE) s.mask = e->values[a->mask];
  s.other = a->other != NXK_NONE ? to_memory(e, &s, e->values[a->other]) : LLVMConstNull(s.type);
  return s;
}

/* ---- accesses of one lane */

/* Begins a basic block that runs if the condition holds. Returns the block before the branch;
 * *after is the block in which both paths join. */
static LLVMBasicBlockRef open_if(nxl_emitter *e, nxl_ref condition, LLVMBasicBlockRef *after) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  LLVMBasicBlockRef inside = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  *after = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  LLVMBuildCondBr(e->builder, condition, inside, *after);
  LLVMPositionBuilderAtEnd(e->builder, inside);
  return before;
}

static void close_if(nxl_emitter *e, LLVMBasicBlockRef after) {
  LLVMBuildBr(e->builder, after);
  LLVMPositionBuilderAtEnd(e->builder, after);
}

static nxl_ref plain_load(nxl_emitter *e, const site *s, LLVMTypeRef type, nxl_ref p) {
  nxl_ref v = LLVMBuildLoad2(e->builder, type, p, "");
  LLVMSetAlignment(v, s->bytes);
  return annotate(e, v, s->access->buffer);
}

static void plain_store(nxl_emitter *e, const site *s, nxl_ref value, nxl_ref p) {
  nxl_ref i = LLVMBuildStore(e->builder, value, p);
  LLVMSetAlignment(i, s->bytes);
  annotate(e, i, s->access->buffer);
}

static nxl_ref load_one(nxl_emitter *e, const site *s) {
  if (!s->mask) return plain_load(e, s, s->type, s->base);
  LLVMBasicBlockRef after, before = open_if(e, s->mask, &after),
                           inside = LLVMGetInsertBlock(e->builder);
  nxl_ref v = plain_load(e, s, s->type, s->base);
  close_if(e, after);
  nxl_ref phi = LLVMBuildPhi(e->builder, s->type, "");
  LLVMAddIncoming(phi, &v, &inside, 1);
  LLVMAddIncoming(phi, (nxl_ref *)&s->other, &before, 1);
  return phi;
}

static void store_one(nxl_emitter *e, const site *s, nxl_ref value) {
  LLVMBasicBlockRef after = NULL;
  if (s->mask) open_if(e, s->mask, &after);
  plain_store(e, s, value, s->base);
  if (s->mask) close_if(e, after);
}

/* ---- contiguous vectors */

/* Whether the target has masked loads and stores for this element. */
static bool has_masked(const nxl_emitter *e, const site *s) {
  return e->isa == NXL_AVX512 || (e->isa == NXL_AVX2 && s->bytes >= 4);
}

static nxl_ref load_contiguous(nxl_emitter *e, const site *s, nxl_ref base, nxl_ref mask,
                               nxl_ref other) {
  if (!mask) return plain_load(e, s, s->type, base);
  LLVMTypeRef types[2] = {s->type, e->pointer};
  nxl_ref args[4] = {base, nxl_int(e, e->i32, 1, s->bytes), mask, other};
  return annotate(e, nxl_intrinsic(e, "llvm.masked.load", types, 2, args, 4), s->access->buffer);
}

static void store_whole(nxl_emitter *e, const site *s, nxl_ref value, nxl_ref base) {
  nxl_ref i = annotate(e, LLVMBuildStore(e->builder, value, base), s->access->buffer);
  LLVMSetAlignment(i, s->bytes);
  if (!(s->access->flags & NXK_NONTEMPORAL)) return;
  LLVMSetAlignment(i, s->bytes * s->lanes < 64 ? s->bytes * s->lanes : 64);
  LLVMMetadataRef one = LLVMValueAsMetadata(nxl_int(e, e->i32, 1, 1));
  set_metadata(e, i, "nontemporal",
               LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &one, 1)));
}

static const uint32_t register_bytes[NXL_ISAS] = {16, 32, 64, 16};

/* Whether lanes, of which the first of many begins a cache line, lie across lines all the same. */
static bool crosses_lines(const nxl_emitter *e, const nxk_access *a) {
  const int64_t line = nxk_line_of(e->k, a);
  bool crosses = !e->k->buffers[a->buffer].aligned || a->offset % line != 0;
  for (uint32_t i = 0; i < a->n_terms; i++)
    crosses = crosses || (a->terms[i].stride != 1 && a->terms[i].stride % line != 0);
  return crosses;
}

/* Whether a store of several registers is written register by register. LLVM would store the upper
 * half first, and lines that two registers share would be written in two goes. */
static bool wants_pieces(const nxl_emitter *e, const site *s) {
  return e->k->buffers[s->access->buffer].kind != NXK_LOCAL &&
         !(s->access->flags & NXK_NONTEMPORAL) && s->bytes >= 4 &&
         s->lanes * s->bytes > register_bytes[e->isa] && crosses_lines(e, s->access);
}

static void store_pieces(nxl_emitter *e, const site *s, nxl_ref value, nxl_ref base) {
  const uint32_t lanes = register_bytes[e->isa] / (uint32_t)s->bytes;
  for (uint32_t i = 0; i < s->lanes; i += lanes) {
    const uint32_t n = s->lanes - i < lanes ? s->lanes - i : lanes;
    store_whole(e, s, nxl_slice(e, value, i, n), at_element(e, s, base, nxl_i64(e, i)));
  }
}

static void store_contiguous(nxl_emitter *e, const site *s, nxl_ref value, nxl_ref base,
                             nxl_ref mask) {
  if (mask) {
    LLVMTypeRef types[2] = {s->type, e->pointer};
    nxl_ref args[4] = {value, base, nxl_int(e, e->i32, 1, s->bytes), mask};
    annotate(e, nxl_intrinsic(e, "llvm.masked.store", types, 2, args, 4), s->access->buffer);
    return;
  }
  if (wants_pieces(e, s)) store_pieces(e, s, value, base);
  else store_whole(e, s, value, base);
}

/* The lowest address of lanes that descend. */
static nxl_ref last_lane(nxl_emitter *e, const site *s) {
  return at_element(e, s, s->base, nxl_i64(e, -(int64_t)(s->lanes - 1)));
}

/* ---- lanes at arbitrary addresses */

/* The distance in elements from s->base to each lane, as a vector. */
static nxl_ref lane_offsets(nxl_emitter *e, const site *s) {
  nxl_ref steps[128];
  for (uint32_t i = 0; i < s->lanes; i++)
    steps[i] = nxl_i64(e, (int64_t)((uint64_t)i * (uint64_t)s->access->lane_stride));
  nxl_ref affine = LLVMConstVector(steps, s->lanes);
  return s->index ? LLVMBuildAdd(e->builder, s->index, affine, "") : affine;
}

static nxl_ref lane_address(nxl_emitter *e, const site *s, nxl_ref offsets, nxl_ref lane) {
  return at_element(e, s, s->base, LLVMBuildExtractElement(e->builder, offsets, lane, ""));
}

static nxl_ref all_true(nxl_emitter *e, const site *s) { return nxl_int(e, e->i1, s->lanes, 1); }

/* Short vectors: one scalar access for each lane, without a loop. */
static nxl_ref load_inline(nxl_emitter *e, const site *s) {
  nxl_ref offsets = lane_offsets(e, s), v = LLVMGetPoison(s->type);
  for (uint32_t i = 0; i < s->lanes; i++) {
    nxl_ref lane = nxl_int(e, e->i32, 1, i);
    v = LLVMBuildInsertElement(
        e->builder, v, plain_load(e, s, s->scalar, lane_address(e, s, offsets, lane)), lane, "");
  }
  return v;
}

static void store_inline(nxl_emitter *e, const site *s, nxl_ref value) {
  nxl_ref offsets = lane_offsets(e, s);
  for (uint32_t i = 0; i < s->lanes; i++) {
    nxl_ref lane = nxl_int(e, e->i32, 1, i);
    nxl_ref element = LLVMBuildExtractElement(e->builder, value, lane, "");
    plain_store(e, s, element, lane_address(e, s, offsets, lane));
  }
}

static nxl_ref load_gather(nxl_emitter *e, const site *s) {
  nxl_ref offsets = lane_offsets(e, s),
          pointers = LLVMBuildGEP2(e->builder, s->scalar, s->base, &offsets, 1, "");
  LLVMTypeRef types[2] = {s->type, LLVMTypeOf(pointers)};
  nxl_ref args[4] = {pointers, nxl_int(e, e->i32, 1, s->bytes), s->mask ? s->mask : all_true(e, s),
                     s->other};
  return annotate(e, nxl_intrinsic(e, "llvm.masked.gather", types, 2, args, 4), s->access->buffer);
}

static void store_scatter(nxl_emitter *e, const site *s, nxl_ref value) {
  nxl_ref offsets = lane_offsets(e, s),
          pointers = LLVMBuildGEP2(e->builder, s->scalar, s->base, &offsets, 1, "");
  LLVMTypeRef types[2] = {s->type, LLVMTypeOf(pointers)};
  nxl_ref args[4] = {value, pointers, nxl_int(e, e->i32, 1, s->bytes),
                     s->mask ? s->mask : all_true(e, s)};
  annotate(e, nxl_intrinsic(e, "llvm.masked.scatter", types, 2, args, 4), s->access->buffer);
}

/* ---- a loop over the lanes */

/* An array on the stack that holds one vector. */
static nxl_ref stack_array(nxl_emitter *e, LLVMTypeRef type) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, e->entry);
  nxl_ref p = LLVMBuildAlloca(e->builder, type, "");
  LLVMPositionBuilderAtEnd(e->builder, here);
  return p;
}

static nxl_ref spill(nxl_emitter *e, nxl_ref vector) {
  nxl_ref p = stack_array(e, LLVMTypeOf(vector));
  LLVMBuildStore(e->builder, vector, p);
  return p;
}

/* Copies the active lanes between memory and the stack array `array`, in ascending order. */
static void copy_lanes(nxl_emitter *e, const site *s, nxl_ref array, bool load) {
  LLVMBuilderRef b = e->builder;
  nxl_ref masks = NULL, offsets = s->index ? spill(e, lane_offsets(e, s)) : NULL;
  if (s->mask) masks = spill(e, LLVMBuildZExt(b, s->mask, nxl_vector_of(e->i8, s->lanes), ""));
  LLVMBasicBlockRef before = LLVMGetInsertBlock(b),
                    body = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(e->context, e->function, ""), skip = NULL;
  LLVMBuildBr(b, body);
  LLVMPositionBuilderAtEnd(b, body);
  nxl_ref lane = LLVMBuildPhi(b, e->i64, ""), zero = nxl_i64(e, 0);
  LLVMAddIncoming(lane, &zero, &before, 1);
  if (masks) {
    nxl_ref byte = LLVMBuildLoad2(b, e->i8, LLVMBuildGEP2(b, e->i8, masks, &lane, 1, ""), "");
    open_if(e, LLVMBuildICmp(b, LLVMIntNE, byte, LLVMConstNull(e->i8), ""), &skip);
  }
  nxl_ref offset =
      offsets ? LLVMBuildLoad2(b, e->i64, LLVMBuildGEP2(b, e->i64, offsets, &lane, 1, ""), "")
              : LLVMBuildMul(b, lane, nxl_i64(e, s->access->lane_stride), "");
  nxl_ref outside = at_element(e, s, s->base, offset), inside = at_element(e, s, array, lane);
  if (load) LLVMBuildStore(b, plain_load(e, s, s->scalar, outside), inside);
  else plain_store(e, s, LLVMBuildLoad2(b, s->scalar, inside, ""), outside);
  if (skip) close_if(e, skip);
  nxl_ref next = nxl_advance(e, lane, 1);
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
  LLVMAddIncoming(lane, &next, &latch, 1);
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, nxl_i64(e, s->lanes), ""), body, after);
  LLVMPositionBuilderAtEnd(b, after);
}

static nxl_ref load_loop(nxl_emitter *e, const site *s) {
  nxl_ref array = spill(e, s->other);
  copy_lanes(e, s, array, true);
  return LLVMBuildLoad2(e->builder, s->type, array, "");
}

static void store_loop(nxl_emitter *e, const site *s, nxl_ref value) {
  copy_lanes(e, s, spill(e, value), false);
}

/* ---- the choice among these forms, by what the target has. On Zen 5, scalar accesses without a
 * loop are 1.5 times as fast as gathers and 1 to 2 times as fast as scatters, if no lane is
 * masked and the lanes' addresses need not be extracted from a vector. */

enum { MAX_INLINE_LANES = 32 };

static bool goes_inline(const site *s) { return !s->mask && s->lanes <= MAX_INLINE_LANES; }

static nxl_ref load_vector(nxl_emitter *e, const site *s) {
  int64_t stride = s->access->lane_stride;
  bool adjacent = !s->index && (stride == 1 || stride == -1);
  if (adjacent && (!s->mask || has_masked(e, s))) {
    if (stride == 1) return load_contiguous(e, s, s->base, s->mask, s->other);
    nxl_ref mask = s->mask ? nxl_reverse(e, s->mask) : NULL;
    nxl_ref other = mask ? nxl_reverse(e, s->other) : NULL;
    return nxl_reverse(e, load_contiguous(e, s, last_lane(e, s), mask, other));
  }
  bool gathers = (e->isa == NXL_AVX512 || e->isa == NXL_AVX2) && s->bytes >= 4;
  if (gathers && (s->index || !goes_inline(s))) return load_gather(e, s);
  return goes_inline(s) ? load_inline(e, s) : load_loop(e, s);
}

static void store_vector(nxl_emitter *e, const site *s, nxl_ref value) {
  int64_t stride = s->access->lane_stride;
  bool adjacent = !s->index && (stride == 1 || stride == -1);
  if (adjacent && (!s->mask || has_masked(e, s))) {
    if (stride == 1) {
      store_contiguous(e, s, value, s->base, s->mask);
    } else {
      nxl_ref mask = s->mask ? nxl_reverse(e, s->mask) : NULL, reversed = nxl_reverse(e, value);
      store_contiguous(e, s, reversed, last_lane(e, s), mask);
    }
  } else if (e->isa == NXL_AVX512 && s->bytes >= 4 && (s->index || !goes_inline(s))) {
    store_scatter(e, s, value);
  } else if (goes_inline(s)) {
    store_inline(e, s, value);
  } else {
    store_loop(e, s, value);
  }
}

/* ---- loads that are skipped with a branch if no lane is active: on some processors a masked
 * load without an active lane takes a microsecond if its address is not mapped */

/* The loaded value if the condition holds, else `other`. */
static nxl_ref load_if(nxl_emitter *e, const site *s, nxl_ref condition, nxl_ref other,
                       nxl_ref (*load)(nxl_emitter *e, const site *s)) {
  LLVMBasicBlockRef after, before = open_if(e, condition, &after);
  nxl_ref v = load(e, s);
  LLVMBasicBlockRef inside = LLVMGetInsertBlock(e->builder);
  close_if(e, after);
  nxl_ref phi = LLVMBuildPhi(e->builder, s->type, "");
  LLVMAddIncoming(phi, &v, &inside, 1);
  LLVMAddIncoming(phi, &other, &before, 1);
  return phi;
}

static nxl_ref load_active(nxl_emitter *e, const site *s) {
  return load_if(e, s, nxl_any_lane(e, s->mask), s->other, load_vector);
}

/* The same without a branch: if no lane is active, the address is that of the buffer's
 * beginning, which is mapped. Each load takes a few more instructions, but the basic block is
 * not divided, so LLVM compiles it faster. */
static nxl_ref load_clamped(nxl_emitter *e, const site *s) {
  nxl_ref mapped = e->bases[s->access->buffer];
  site there = *s;
  if (s->access->lane_stride == -1) mapped = at_element(e, s, mapped, nxl_i64(e, s->lanes - 1));
  there.base = LLVMBuildSelect(e->builder, nxl_any_lane(e, s->mask), s->base, mapped, "");
  return load_vector(e, &there);
}

/* Lanes two to four elements apart, where whole vectors can be loaded and taken apart. */
static bool lies_close(const nxl_emitter *e, const site *s) {
  static const uint32_t register_bytes[NXL_ISAS] = {16, 32, 64, 16};
  int64_t apart = s->access->lane_stride;
  return !s->index && apart >= 2 && apart <= 4 && register_bytes[e->isa] > apart * s->bytes &&
         s->bytes >= 4 && s->lanes >= 8;
}

/* The mask of the elements from `first` on, counted from that of lane 0: those of active lanes. */
static nxl_ref mask_from(nxl_emitter *e, const site *s, int64_t first) {
  nxl_ref order[128];
  for (int64_t i = 0; i < s->lanes; i++) {
    bool none = (first + i) % s->access->lane_stride != 0;
    order[i] = nxl_int(e, e->i32, 1, none ? s->lanes : (first + i) / s->access->lane_stride);
  }
  return LLVMBuildShuffleVector(e->builder, s->mask, LLVMConstNull(LLVMTypeOf(s->mask)),
                                LLVMConstVector(order, s->lanes), "");
}

/* Loads whole vectors, from the first lane to the last, and takes them apart. A mask leaves out
 * all elements but those of active lanes. */
static nxl_ref load_apart(nxl_emitter *e, const site *s) {
  int64_t apart = s->access->lane_stride;
  nxl_ref vectors[4] = {NULL}, zero = LLVMConstNull(s->type);
  for (int64_t i = 0; i < apart; i++) {
    int64_t first = i * s->lanes - (i + 1 == apart ? apart - 1 : 0);
    nxl_ref base = at_element(e, s, s->base, nxl_i64(e, first));
    vectors[i] = load_contiguous(e, s, base, s->mask ? mask_from(e, s, first) : NULL, zero);
  }
  nxl_ref v = nxl_take_apart(e, s->dtype, vectors, (uint32_t)apart, 0, (uint32_t)apart - 1);
  bool others = s->mask && s->access->other != NXK_NONE;
  return others ? LLVMBuildSelect(e->builder, s->mask, v, s->other, "") : v;
}

static nxl_ref load_skipping(nxl_emitter *e, const site *s) {
  const nxk_instr *mask = &e->k->instrs[s->access->mask];
  int64_t stride = s->access->lane_stride;
  bool adjacent = !s->index && (stride == 1 || stride == -1);
  site whole = *s;
  whole.mask = NULL;
  if (mask->op == NXK_splat)
    return load_if(e, &whole, e->values[mask->args[0]], s->other,
                   lies_close(e, s) ? load_apart : load_vector);
  if (lies_close(e, s) && has_masked(e, s))
    return load_if(e, s, nxl_any_lane(e, s->mask), s->other, load_apart);
  if (adjacent && has_masked(e, s)) return e->clamps ? load_clamped(e, s) : load_active(e, s);
  nxl_ref none = nxl_any_lane(e, LLVMBuildNot(e->builder, s->mask, ""));
  nxl_ref some = load_if(e, s, none, LLVMConstNull(s->type), load_active);
  nxl_ref all = LLVMBuildNot(e->builder, none, "");
  return load_if(e, &whole, all, some, load_vector);
}

/* Prefetches the cache lines that will be accessed soon; to the second level, if what is accessed
 * before them would push them out of the first. */
static void fetch_ahead(nxl_emitter *e, const site *s, bool writes) {
  enum { FAR = 16384, FIRST = 3, SECOND = 2 }; /* bytes; levels as `llvm.prefetch` counts them */
  const bool far = s->access->prefetch * (int64_t)s->bytes >= FAR;
  if (s->access->prefetch == 0 || s->index || s->access->lane_stride != 1) return;
  for (uint32_t i = 0; i < s->lanes; i += NXK_LINE / s->bytes) {
    nxl_ref to = at_element(e, s, s->base, nxl_i64(e, s->access->prefetch + i));
    nxl_ref args[4] = {to, nxl_int(e, e->i32, 1, writes),
                       nxl_int(e, e->i32, 1, writes || !far ? FIRST : SECOND),
                       nxl_int(e, e->i32, 1, 1)};
    nxl_intrinsic(e, "llvm.prefetch", &e->pointer, 1, args, 4);
  }
}

nxl_ref nxl_emit_load(nxl_emitter *e, const nxk_access *a, uint32_t lanes, nxl_ref displacement) {
  site s = make_site(e, a, lanes, displacement);
  if (lanes > 1) fetch_ahead(e, &s, false);
  if (lanes > 1 && s.mask && (a->flags & NXK_SKIPS))
    return from_memory(e, &s, load_skipping(e, &s));
  return from_memory(e, &s, lanes == 1 ? load_one(e, &s) : load_vector(e, &s));
}

void nxl_emit_store(nxl_emitter *e, const nxk_access *a, nxl_ref value, nxl_ref displacement) {
  site s = make_site(e, a, nxl_lanes_of(value), displacement);
  if (s.lanes > 1 && (a->flags & NXK_NONTEMPORAL) == 0) fetch_ahead(e, &s, true);
  value = to_memory(e, &s, value);
  if (s.lanes == 1) store_one(e, &s, value);
  else store_vector(e, &s, value);
}
