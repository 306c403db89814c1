/* SPDX-License-Identifier: ISC */
/* Functions of cold blocks that stand apart (NXK_APART): long code that hardly ever runs, such as
 * the exact reduction of large arguments of a sine. Where it stands it would be compiled for each
 * use, for as many lanes as what is around it has, and take registers from that. As a function it
 * is printed once for all equal blocks, for the lanes of one register, in a loop that leaves out
 * groups of lanes none of which needs it. The function keeps all registers of its caller; operands
 * and results are in memory. */
#include <stdio.h>
#include <string.h>

#include "emit.h"

enum { MOST_OPERANDS = 8, MOST_RESULTS = 4, MOST_LANES = 64 };

/* A cold block, its operands (values from outside that are no constants), and its results. */
typedef struct block {
  nxk_value first, end; /* its instructions, without the `end` */
  uint32_t lanes;
  uint32_t group;  /* lanes that the function computes at a time */
  uint32_t widest; /* bytes of a lane of the widest value */
  uint32_t n_operands, n_results;
  nxk_value operands[MOST_OPERANDS], results[MOST_RESULTS];
  int64_t operand_at[MOST_OPERANDS], result_at[MOST_RESULTS], bytes; /* places in memory */
} block;

static const char keeps_registers[] = "no_caller_saved_registers";

bool nxl_is_cold(nxl_ref function) {
  return LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, keeps_registers,
                                       sizeof keeps_registers - 1) != NULL;
}

/* ---- what a block is */

static bool is_inside(const block *b, nxk_value v) { return v >= b->first; }

/* The constant of which v is a splat from outside; else v. */
static nxk_value plain(const nxl_emitter *e, const block *b, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  bool splat = !is_inside(b, v) && in->op == NXK_splat;
  return splat && e->k->instrs[in->args[0]].op == NXK_const ? in->args[0] : v;
}

/* Bools are bits in registers, and have no place in memory. */
static bool has_place(const nxl_emitter *e, const block *b, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  return in->dtype != NX_BOOL && (in->lanes == 1 || in->lanes == b->lanes);
}

static bool note_width(const nxl_emitter *e, block *b, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  uint32_t bytes = in->dtype == NX_BOOL ? 1 : (uint32_t)nxi_dtype_size((nx_dtype)in->dtype);
  if (in->lanes != 1 && in->lanes != b->lanes) return false;
  if (in->lanes > 1 && bytes > b->widest) b->widest = bytes;
  return true;
}

static bool note_operand(const nxl_emitter *e, block *b, nxk_value v) {
  if (is_inside(b, v) || e->k->instrs[v].op == NXK_const) return true;
  for (uint32_t i = 0; i < b->n_operands; i++)
    if (b->operands[i] == v) return true;
  if (b->n_operands == MOST_OPERANDS || !has_place(e, b, v)) return false;
  b->operands[b->n_operands++] = v;
  return note_width(e, b, v);
}

static bool note_instr(const nxl_emitter *e, block *b, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  if (in->op >= NXK_SCALAR_COUNT && in->op != NXK_const && in->op != NXK_splat) return false;
  for (uint32_t i = 0; i < in->n_args; i++)
    if (!note_operand(e, b, plain(e, b, in->args[i]))) return false;
  return note_width(e, b, v);
}

static bool note_results(const nxl_emitter *e, block *b) {
  for (nxk_value v = b->end + 1; v < e->k->n_instrs; v++) {
    const nxk_instr *in = &e->k->instrs[v];
    if (in->op != NXK_blend || in->args[0] != b->first - 1) return true;
    nxk_value inside = in->args[1];
    bool known = false;
    for (uint32_t i = 0; i < b->n_results; i++) known |= b->results[i] == inside;
    if (known) continue;
    if (b->n_results == MOST_RESULTS || !is_inside(b, inside) || !has_place(e, b, inside) ||
        e->k->instrs[inside].lanes != b->lanes)
      return false;
    b->results[b->n_results++] = inside;
  }
  return true;
}

static void place(const nxl_emitter *e, block *b, nxk_value v, int64_t *at) {
  const nxk_instr *in = &e->k->instrs[v];
  *at = b->bytes;
  b->bytes += (nxl_value_bytes(in) + 63) & ~INT64_C(63);
}

static uint32_t register_bytes(const nxl_emitter *e) {
  return e->isa == NXL_AVX512 ? 64 : e->isa == NXL_AVX2 ? 32 : 0;
}

/* False: it cannot have a function, and is printed where it stands. */
static bool describe(const nxl_emitter *e, nxk_value cold, block *b) {
  *b = (block){.first = cold + 1, .lanes = nxl_lanes_of(e->blocks[cold].predicate), .widest = 1};
  if (!register_bytes(e) || b->lanes < 2 || b->lanes > MOST_LANES) return false;
  for (b->end = b->first; e->k->instrs[b->end].op != NXK_end; b->end++)
    if (!note_instr(e, b, b->end)) return false;
  if (!note_results(e, b)) return false;
  b->group = register_bytes(e) / b->widest;
  if (b->group > b->lanes) b->group = b->lanes;
  for (uint32_t i = 0; i < b->n_operands; i++) place(e, b, b->operands[i], &b->operand_at[i]);
  for (uint32_t i = 0; i < b->n_results; i++) place(e, b, b->results[i], &b->result_at[i]);
  return true;
}

/* ---- equal blocks */

static bool same_value(const nxl_emitter *e, const block *a, nxk_value x, const block *b,
                       nxk_value y) {
  x = plain(e, a, x), y = plain(e, b, y);
  if (is_inside(a, x) || is_inside(b, y))
    return is_inside(a, x) && is_inside(b, y) && x - a->first == y - b->first;
  const nxk_instr *in = &e->k->instrs[x], *other = &e->k->instrs[y];
  if (in->dtype != other->dtype || in->lanes != other->lanes) return false;
  if (in->op == NXK_const || other->op == NXK_const)
    return in->op == other->op && in->imm == other->imm;
  uint32_t i = 0, k = 0;
  while (a->operands[i] != x) i++;
  while (b->operands[k] != y) k++;
  return i == k;
}

static bool same_instr(const nxl_emitter *e, const block *a, nxk_value x, const block *b,
                       nxk_value y) {
  const nxk_instr *in = &e->k->instrs[x], *other = &e->k->instrs[y];
  if (in->op != other->op || in->dtype != other->dtype || in->lanes != other->lanes ||
      in->n_args != other->n_args || in->flags != other->flags)
    return false;
  if (in->op == NXK_const && in->imm != other->imm) return false;
  for (uint32_t i = 0; i < in->n_args; i++)
    if (!same_value(e, a, in->args[i], b, other->args[i])) return false;
  return true;
}

static bool same_block(const nxl_emitter *e, const block *a, const block *b) {
  nxk_value n = a->end - a->first;
  if (n != b->end - b->first || a->lanes != b->lanes || a->n_operands != b->n_operands ||
      a->n_results != b->n_results)
    return false;
  for (nxk_value i = 0; i < n; i++)
    if (!same_instr(e, a, a->first + i, b, b->first + i)) return false;
  for (uint32_t i = 0; i < a->n_results; i++)
    if (a->results[i] - a->first != b->results[i] - b->first) return false;
  return true;
}

/* ---- the function: of the memory, and of a bit for each lane that says whether it is needed */

static nxl_ref make_function(nxl_emitter *e) {
  LLVMTypeRef types[2] = {e->pointer, e->i64};
  char name[96];
  snprintf(name, sizeof name, "%s.cold%u", e->k->name, e->n_cold);
  nxl_ref f = LLVMAddFunction(e->module, name,
                              LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 2, 0));
  LLVMSetLinkage(f, LLVMInternalLinkage);
  static const char *const names[] = {"nounwind", "noinline"};
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint32_t kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
    if (kind)
      LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                              LLVMCreateEnumAttribute(e->context, kind, 0));
  }
  LLVMAddAttributeAtIndex(
      f, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(e->context, keeps_registers, sizeof keeps_registers - 1, "", 0));
  return f;
}

/* Lanes of the memory's value at `at`, from lane `lane` on; NULL: the value is the first lane. */
static nxl_ref address(nxl_emitter *e, nx_dtype t, int64_t at, nxl_ref lane) {
  nxl_ref bytes = nxl_i64(e, at), p = LLVMGetParam(e->function, 0);
  if (at) p = LLVMBuildGEP2(e->builder, e->i8, p, &bytes, 1, "");
  return lane ? LLVMBuildGEP2(e->builder, nxl_scalar_type(e, t), p, &lane, 1, "") : p;
}

static void align(nxl_ref access, nx_dtype t) {
  LLVMSetAlignment(access, (unsigned)nxi_dtype_size(t));
}

static nxl_ref load_operand(nxl_emitter *e, const block *b, uint32_t i, nxl_ref lane) {
  const nxk_instr *in = &e->k->instrs[b->operands[i]];
  nx_dtype t = (nx_dtype)in->dtype;
  bool one = in->lanes == 1;
  nxl_ref p = address(e, t, b->operand_at[i], one ? NULL : lane);
  nxl_ref value = LLVMBuildLoad2(e->builder, nxl_type(e, t, one ? 1 : b->group), p, "");
  align(value, t);
  return value;
}

static void print_group(nxl_emitter *e, const block *b, nxl_ref lane) {
  nxl_ref outside[MOST_OPERANDS];
  for (uint32_t i = 0; i < b->n_operands; i++) {
    outside[i] = e->values[b->operands[i]];
    e->values[b->operands[i]] = load_operand(e, b, i, lane);
  }
  for (nxk_value v = b->first; v < b->end; v++) {
    nxk_instr in = e->k->instrs[v];
    if (in.lanes > 1) in.lanes = (uint16_t)b->group;
    for (uint32_t i = 0; i < in.n_args; i++) in.args[i] = plain(e, b, in.args[i]);
    e->values[v] = nxl_emit_value(e, &in);
  }
  for (uint32_t i = 0; i < b->n_results; i++) {
    nx_dtype t = nxk_dtype(e->k, b->results[i]);
    align(
        LLVMBuildStore(e->builder, e->values[b->results[i]], address(e, t, b->result_at[i], lane)),
        t);
  }
  for (uint32_t i = 0; i < b->n_operands; i++) e->values[b->operands[i]] = outside[i];
}

static LLVMBasicBlockRef new_block(nxl_emitter *e) {
  return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

/* for (lane = 0; lane < lanes; lane += group) if (needed in any of the group) print_group; */
static void print_groups(nxl_emitter *e, const block *b) {
  LLVMBuilderRef at = e->builder;
  LLVMBasicBlockRef before = LLVMGetInsertBlock(at), head = new_block(e), work = new_block(e),
                    rest = new_block(e), done = new_block(e);
  LLVMBuildBr(at, head);
  LLVMPositionBuilderAtEnd(at, head);
  nxl_ref lane = LLVMBuildPhi(at, e->i64, ""), zero = nxl_i64(e, 0);
  nxl_ref needed = LLVMBuildLShr(at, LLVMGetParam(e->function, 1), lane, "");
  needed = LLVMBuildAnd(at, needed, nxl_i64(e, (INT64_C(1) << b->group) - 1), "");
  LLVMBuildCondBr(at, LLVMBuildICmp(at, LLVMIntNE, needed, zero, ""), work, rest);
  LLVMPositionBuilderAtEnd(at, work);
  print_group(e, b, lane);
  LLVMBuildBr(at, rest);
  LLVMPositionBuilderAtEnd(at, rest);
  nxl_ref next = nxl_advance(e, lane, b->group);
  LLVMBuildCondBr(at, LLVMBuildICmp(at, LLVMIntSLT, next, nxl_i64(e, b->lanes), ""), head, done);
  LLVMAddIncoming(lane, &zero, &before, 1);
  LLVMAddIncoming(lane, &next, &rest, 1);
  LLVMPositionBuilderAtEnd(at, done);
}

static nxl_ref print_function(nxl_emitter *e, const block *b) {
  nxl_ref caller = e->function, f = make_function(e);
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder), entry = e->entry, code;
  e->function = f;
  e->entry = new_block(e);
  code = new_block(e);
  LLVMPositionBuilderAtEnd(e->builder, code);
  if (b->group < b->lanes) print_groups(e, b);
  else print_group(e, b, NULL);
  LLVMBuildRetVoid(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, e->entry);
  LLVMBuildBr(e->builder, code);
  e->function = caller;
  e->entry = entry;
  LLVMPositionBuilderAtEnd(e->builder, here);
  return f;
}

static nxl_ref function_of(nxl_emitter *e, const block *b) {
  for (uint32_t i = 0; i < e->n_cold; i++) {
    block other;
    if (describe(e, e->cold[i].first, &other) && same_block(e, &other, b))
      return e->cold[i].function;
  }
  if (e->n_cold == NXL_MOST_COLD) return NULL;
  nxl_ref f = print_function(e, b);
  e->cold[e->n_cold++] = (nxl_cold_function){b->first - 1, f};
  return f;
}

/* ---- the call */

nxl_ref nxl_room_of(nxl_emitter *e, nxl_room *room, int64_t bytes, unsigned alignment) {
  if (room->of == e->function && room->bytes >= bytes) return room->memory;
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, e->entry);
  room->memory = LLVMBuildAlloca(e->builder, LLVMArrayType(e->i8, (unsigned)bytes), "");
  LLVMSetAlignment(room->memory, alignment);
  LLVMPositionBuilderAtEnd(e->builder, here);
  room->of = e->function;
  room->bytes = bytes;
  return room->memory;
}

static nxl_ref slot(nxl_emitter *e, nxl_ref memory, int64_t at) {
  nxl_ref bytes = nxl_i64(e, at);
  return at ? LLVMBuildGEP2(e->builder, e->i8, memory, &bytes, 1, "") : memory;
}

static void call(nxl_emitter *e, const block *b, nxl_ref f, nxl_ref predicate) {
  LLVMBuilderRef at = e->builder;
  nxl_ref memory = nxl_room_of(e, &e->cold_room, b->bytes, 16); /* as stacks are */
  for (uint32_t i = 0; i < b->n_operands; i++)
    align(LLVMBuildStore(at, e->values[b->operands[i]], slot(e, memory, b->operand_at[i])),
          nxk_dtype(e->k, b->operands[i]));
  nxl_ref bits = LLVMBuildBitCast(at, predicate, LLVMIntTypeInContext(e->context, b->lanes), "");
  nxl_ref args[2] = {memory, b->lanes < 64 ? LLVMBuildZExt(at, bits, e->i64, "") : bits};
  LLVMBuildCall2(at, LLVMGlobalGetValueType(f), f, args, 2, "");
  for (uint32_t i = 0; i < b->n_results; i++) {
    nxk_value v = b->results[i];
    nx_dtype t = nxk_dtype(e->k, v);
    e->values[v] =
        LLVMBuildLoad2(at, nxl_type(e, t, b->lanes), slot(e, memory, b->result_at[i]), "");
    align(e->values[v], t);
  }
}

void nxl_call_cold(nxl_emitter *e, nxk_value v) {
  block b;
  if (!(e->k->instrs[v].flags & NXK_APART) || !describe(e, v, &b)) return;
  nxl_ref f = function_of(e, &b);
  if (!f) return;
  call(e, &b, f, e->blocks[v].predicate);
  e->resume = b.end;
}
