/* SPDX-License-Identifier: ISC */
/* LLVM IR for loads and stores. LLVM is told that addresses are aligned to their elements; for
 * nontemporal stores, where the kernel guarantees it, to the vector. Lanes whose mask is false
 * access no memory. If the target has no masked, gather or scatter instruction of the width, a
 * small loop copies lane by lane through an array on the stack: compact code, which only tails and
 * uncommon accesses need. */
#include "emit.h"

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
  if (s->access->flags & NXK_VOLATILE) LLVMSetVolatile(v, 1);
  return nxl_annotate(e, v, s->access->buffer);
}

static void plain_store(nxl_emitter *e, const site *s, nxl_ref value, nxl_ref p) {
  nxl_ref i = LLVMBuildStore(e->builder, value, p);
  LLVMSetAlignment(i, s->bytes);
  nxl_annotate(e, i, s->access->buffer);
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
  return nxl_annotate(e, nxl_intrinsic(e, "llvm.masked.load", types, 2, args, 4),
                      s->access->buffer);
}

static void store_whole(nxl_emitter *e, const site *s, nxl_ref value, nxl_ref base) {
  nxl_ref i = nxl_annotate(e, LLVMBuildStore(e->builder, value, base), s->access->buffer);
  LLVMSetAlignment(i, s->bytes);
  if (!(s->access->flags & NXK_NONTEMPORAL)) return;
  LLVMSetAlignment(i, s->bytes * s->lanes < 64 ? s->bytes * s->lanes : 64);
  LLVMMetadataRef one = LLVMValueAsMetadata(nxl_int(e, e->i32, 1, 1));
  nxl_set_metadata(e, i, "nontemporal",
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
    nxl_annotate(e, nxl_intrinsic(e, "llvm.masked.store", types, 2, args, 4), s->access->buffer);
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
  return nxl_annotate(e, nxl_intrinsic(e, "llvm.masked.gather", types, 2, args, 4),
                      s->access->buffer);
}

static void store_scatter(nxl_emitter *e, const site *s, nxl_ref value) {
  nxl_ref offsets = lane_offsets(e, s),
          pointers = LLVMBuildGEP2(e->builder, s->scalar, s->base, &offsets, 1, "");
  LLVMTypeRef types[2] = {s->type, LLVMTypeOf(pointers)};
  nxl_ref args[4] = {value, pointers, nxl_int(e, e->i32, 1, s->bytes),
                     s->mask ? s->mask : all_true(e, s)};
  nxl_annotate(e, nxl_intrinsic(e, "llvm.masked.scatter", types, 2, args, 4), s->access->buffer);
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

/* A mask as a bit for all lanes, and one for each lane. NXK_NONE: true. */
typedef struct split_mask {
  nxk_value all, each;
} split_mask;

static split_mask split(const nxl_emitter *e, nxk_value mask) {
  const nxk_instr *in = &e->k->instrs[mask];
  if (in->lanes == 1) return (split_mask){mask, NXK_NONE};
  if (in->op == NXK_splat) return (split_mask){in->args[0], NXK_NONE};
  for (uint32_t i = 0; i < 2 && in->op == NXK_and; i++) {
    const nxk_instr *x = &e->k->instrs[in->args[i]];
    if (x->op == NXK_splat) return (split_mask){x->args[0], in->args[1 - i]};
  }
  return (split_mask){NXK_NONE, mask};
}

/* What decides whether a load is done at all, where one branch can skip it: the bit for all lanes,
 * or whether a lane of the mask is active. NXK_NONE: no branch does. */
static nxk_value decides(const nxl_emitter *e, const site *s) {
  const nxk_access *a = s->access;
  if (!s->mask || (s->lanes > 1 && !(a->flags & NXK_SKIPS))) return NXK_NONE;
  const split_mask m = split(e, a->mask);
  bool adjacent = !s->index && (a->lane_stride == 1 || a->lane_stride == -1),
       masked = has_masked(e, s) && (lies_close(e, s) || (adjacent && !e->clamps));
  if (m.each == NXK_NONE || (masked && m.all != NXK_NONE)) return m.all;
  return masked ? a->mask : NXK_NONE;
}

/* The load where its branch has decided that it is done. */
static nxl_ref load_decided(nxl_emitter *e, const site *s) {
  site rest = *s;
  if (s->lanes == 1) return plain_load(e, s, s->type, s->base);
  const split_mask m = split(e, s->access->mask);
  rest.mask = m.each == NXK_NONE ? NULL : e->values[m.each];
  return lies_close(e, s) ? load_apart(e, &rest) : load_vector(e, &rest);
}

/* Under a mask that no branch decides alone. */
static nxl_ref load_skipping(nxl_emitter *e, const site *s) {
  int64_t stride = s->access->lane_stride;
  site whole = *s;
  whole.mask = NULL;
  if (!s->index && (stride == 1 || stride == -1) && has_masked(e, s)) return load_clamped(e, s);
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
  const nxk_value condition = decides(e, &s);
  if (condition != NXK_NONE)
    return from_memory(
        e, &s, load_if(e, &s, nxl_any_lane(e, e->values[condition]), s.other, load_decided));
  if (lanes > 1 && s.mask && (a->flags & NXK_SKIPS))
    return from_memory(e, &s, load_skipping(e, &s));
  return from_memory(e, &s, lanes == 1 ? plain_load(e, &s, s.type, s.base) : load_vector(e, &s));
}

/* ---- loads that the same condition decides. Each branch ends a basic block, and those cost LLVM
 * more than loads, so neighbouring ones share it. */

enum { MOST_TOGETHER = 16 };

typedef struct together {
  uint32_t n, registers;
  nxk_value loads[MOST_TOGETHER];
  site sites[MOST_TOGETHER];
} together;

static bool is_there(const nxl_emitter *e, nxk_value v) {
  return v == NXK_NONE || e->values[v] != NULL;
}

/* Whether what the load needs has been computed. */
static bool is_ready(const nxl_emitter *e, const nxk_access *a) {
  bool ready = is_there(e, a->index) && is_there(e, a->mask) && is_there(e, a->other);
  for (uint32_t i = 0; i < a->n_terms && ready; i++) ready = is_there(e, a->terms[i].index);
  return ready;
}

/* Adds load v, if the same condition decides it and registers are left. */
static void add_load(nxl_emitter *e, together *t, nxk_value v, nxk_value condition) {
  static const uint32_t most_registers[NXL_ISAS] = {4, 6, 12, 12};
  const nxk_instr *in = &e->k->instrs[v];
  const nxk_access *a = &e->k->accesses[in->imm];
  const uint32_t bytes = register_bytes[e->isa],
                 n = ((uint32_t)nxl_value_bytes(in) + bytes - 1) / bytes;
  if (t->n > 0 && (t->n == MOST_TOGETHER || t->registers + n > most_registers[e->isa])) return;
  if (a->mask == NXK_NONE || !is_ready(e, a)) return;
  site s = make_site(e, a, in->lanes, NULL);
  if (decides(e, &s) != condition) return;
  t->registers += n;
  t->loads[t->n] = v;
  t->sites[t->n++] = s;
}

/* Whether loads may be moved from behind an instruction to before it. */
static bool may_pass(nxk_op op) {
  switch (op) {
    case NXK_const:
    case NXK_param:
    case NXK_load:
    case NXK_splat:
    case NXK_step_vector:
    case NXK_active:
    case NXK_concat:
    case NXK_deinterleave:
    case NXK_interleave: return true;
    default: return op < NXK_SCALAR_COUNT;
  }
}

/* The loads that may be done where v is: those of its block before the next store or block. */
static void find_together(nxl_emitter *e, nxk_value v, nxk_value condition, together *t) {
  add_load(e, t, v, condition);
  for (nxk_value next = v + 1; next < e->k->n_instrs; next++) {
    const nxk_instr *in = &e->k->instrs[next];
    if (!may_pass((nxk_op)in->op)) break;
    if (in->op == NXK_load) add_load(e, t, next, condition);
  }
}

static void load_together(nxl_emitter *e, together *t, nxl_ref condition) {
  nxl_ref inside[MOST_TOGETHER];
  LLVMBasicBlockRef after, before = open_if(e, condition, &after);
  for (uint32_t i = 0; i < t->n; i++) inside[i] = load_decided(e, &t->sites[i]);
  LLVMBasicBlockRef end = LLVMGetInsertBlock(e->builder);
  close_if(e, after);
  for (uint32_t i = 0; i < t->n; i++) {
    const site *s = &t->sites[i];
    nxl_ref phi = e->values[t->loads[i]] = LLVMBuildPhi(e->builder, s->type, "");
    LLVMAddIncoming(phi, &inside[i], &end, 1);
    LLVMAddIncoming(phi, (nxl_ref *)&s->other, &before, 1);
  }
  for (uint32_t i = 0; i < t->n; i++)
    e->values[t->loads[i]] = from_memory(e, &t->sites[i], e->values[t->loads[i]]);
}

void nxl_emit_loads(nxl_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  const nxk_access *a = &e->k->accesses[in->imm];
  if (e->values[v] != NULL) return; /* together with one before it */
  together t = {.n = 0, .registers = 0};
  if (a->mask != NXK_NONE) {
    site s = make_site(e, a, in->lanes, NULL);
    const nxk_value condition = decides(e, &s);
    if (condition != NXK_NONE) find_together(e, v, condition, &t);
    if (t.n > 1) {
      for (uint32_t i = 0; i < t.n; i++)
        if (t.sites[i].lanes > 1) fetch_ahead(e, &t.sites[i], false);
      load_together(e, &t, nxl_any_lane(e, e->values[condition]));
      return;
    }
  }
  e->values[v] = nxl_emit_load(e, a, in->lanes, NULL);
}

void nxl_emit_store(nxl_emitter *e, const nxk_access *a, nxl_ref value, nxl_ref displacement) {
  site s = make_site(e, a, nxl_lanes_of(value), displacement);
  if (s.lanes > 1 && (a->flags & NXK_NONTEMPORAL) == 0) fetch_ahead(e, &s, true);
  value = to_memory(e, &s, value);
  if (s.lanes == 1) store_one(e, &s, value);
  else store_vector(e, &s, value);
}
