/* SPDX-License-Identifier: ISC */
/* The verifier of kernels, operation by operation: operands, element types, lanes and accesses. */
#include "verify.h"

static bool is_index(const nxk_instr *in, uint16_t lanes) {
  return in->dtype == NX_I64 && in->lanes == lanes;
}

/* Whether the value can be an index: an i64, or in a kernel with threads also an i32. */
static bool is_place(const nxi_checker *c, const nxk_instr *in, uint16_t lanes) {
  return in->lanes == lanes && (in->dtype == NX_I64 || (c->k->threads && in->dtype == NX_I32));
}

bool nxi_has_args(nxi_checker *c, nxk_value v, int n) {
  if (c->k->instrs[v].n_args == n) return true;
  nxi_fault(c, v, "%d operands are needed", n);
  return false;
}

/* ---- scalars */

static bool takes_small_floats(nxk_op op) {
  return op == NXK_cast || op == NXK_bitcast || op == NXK_select || op == NXK_eq || op == NXK_ne ||
         op == NXK_lt || op == NXK_le;
}

static nx_dtype result_type(nxk_op op, nx_dtype operand, nx_dtype given) {
  switch (nxk_scalars[op].result) {
    case NXK_RESULT_BOOL: return NX_BOOL;
    case NXK_RESULT_GIVEN: return given;
    default: return operand;
  }
}

static void check_exact(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  bool sum = in->op == NXK_add || in->op == NXK_sub || in->op == NXK_mul;
  if ((in->flags & NXK_NSW) && !(c->k->threads && in->dtype == NX_I32 && sum))
    nxi_fault(c, v, "nsw, and no add, sub or mul of i32 of threads");
}

static void check_scalar(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  nxk_op op = (nxk_op)in->op;
  const nxk_scalar_info *info = &nxk_scalars[op];
  const nxk_instr *args[4] = {NULL, NULL, NULL, NULL};
  if (info->arity < 1 || !nxi_has_args(c, v, info->arity)) return;
  for (int i = 0; i < info->arity; i++)
    if (!(args[i] = nxi_operand(c, v, in->args[i]))) return;
  nx_dtype type = args[info->arity - 1]->dtype;
  if (!nxi_dtype_valid(type)) return;
  for (int i = 0; i < info->arity; i++) {
    if (args[i]->lanes != in->lanes)
      nxi_fault(c, v, "operand %d has not the lanes of the result", i + 1);
    bool condition = op == NXK_select && i == 0;
    if (args[i]->dtype != (condition ? NX_BOOL : type))
      nxi_fault(c, v, "operand %d has another type than needed", i + 1);
  }
  if (!(info->admits & nxi_dtypes[type].cls))
    nxi_fault(c, v, "the operation does not admit %s", nxi_dtypes[type].name);
  if (nxi_is_small_float(type) && !takes_small_floats(op))
    nxi_fault(c, v, "arithmetic on %s: widen to f32", nxi_dtypes[type].name);
  check_exact(c, v);
  if (op == NXK_umulh && type != NX_U64) nxi_fault(c, v, "umulh is for u64");
  if (in->dtype != result_type(op, type, in->dtype))
    nxi_fault(c, v, "the result has another type than it should");
  if (op == NXK_bitcast && nxi_dtype_valid(in->dtype) &&
      nxi_dtypes[in->dtype].bits != nxi_dtypes[type].bits)
    nxi_fault(c, v, "the types of a bitcast differ in size");
}

/* ---- reductions */

static bool is_arg(const nxk_instr *in) { return nxk_finds_index(in->kind); }

static void check_kind(nxi_checker *c, nxk_value v, nx_dtype type) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_dtype_valid(type)) return;
  if (in->kind >= (in->op == NXK_scan ? NXK_KINDS : NXK_REDUCE_KINDS)) {
    nxi_fault(c, v, "no such kind of reduction");
    return;
  }
  bool admitted = (nxi_dtypes[type].cls & nxk_reduction_of(in->kind)->admits) != 0;
  if (!admitted || nxi_is_small_float(type))
    nxi_fault(c, v, "%s does not admit %s", nxk_reduce_name((nxk_reduce_kind)in->kind),
              nxi_dtypes[type].name);
  if (in->kind == NXK_DOT && in->op != NXK_reduce) nxi_fault(c, v, "dot is a kind of reduce alone");
}

static void check_reduce(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_is_loop(c->k, nxi_parent(c), NXK_REDUCE))
    nxi_fault(c, v, "a reduce does not stand in a reduce loop");
  if (!nxi_has_args(c, v, nxk_kind_args(in->kind))) return;
  const nxk_instr *a = nxi_operand(c, v, in->args[0]);
  if (!a) return;
  check_kind(c, v, a->dtype);
  if (in->order >= NXK_ORDERS) nxi_fault(c, v, "no such order");
  if (in->dtype != (is_arg(in) ? NX_I64 : a->dtype))
    nxi_fault(c, v, "the result has another type than it should");
  if (in->kind != NXK_DOT) return;
  if (in->order != NXK_ORDER_SEQUENTIAL) nxi_fault(c, v, "dot is sequential");
  const nxk_instr *b = nxi_operand(c, v, in->args[1]);
  if (b && b->dtype != a->dtype) nxi_fault(c, v, "the factors differ in type");
}

static void check_scan(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_is_loop(c->k, nxi_parent(c), NXK_MAP))
    nxi_fault(c, v, "a scan does not stand in a map loop");
  if (!nxk_is_chain(in->kind) && !nxk_takes_pairs(in->kind))
    nxi_fault(c, v, "this kind cannot be scanned");
  if (in->order != NXK_ORDER_PLAIN && in->order != NXK_ORDER_SEQUENTIAL)
    nxi_fault(c, v, "scans are plain or sequential");
  if (!nxi_has_args(c, v, nxk_kind_args(in->kind))) return;
  const nxk_instr *a = nxi_operand(c, v, in->args[0]), *b = a;
  if (!a) return;
  check_kind(c, v, a->dtype);
  if (in->dtype != a->dtype) nxi_fault(c, v, "the result has another type than it should");
  if (nxk_takes_pairs(in->kind)) b = nxi_operand(c, v, in->args[1]);
  if (b && b->dtype != a->dtype) nxi_fault(c, v, "the parts differ in type");
}

static void check_lane_reduce(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_has_args(c, v, is_arg(in) ? 2 : 1)) return;
  const nxk_instr *a = nxi_operand(c, v, in->args[0]);
  if (!a) return;
  check_kind(c, v, a->dtype);
  if (in->lanes != 1 || a->lanes == 1) nxi_fault(c, v, "a lane_reduce makes one lane of several");
  if (c->k->threads) nxi_fault(c, v, "a lane_reduce in a kernel of threads");
  if (in->dtype != (is_arg(in) ? NX_I64 : a->dtype))
    nxi_fault(c, v, "the result has another type than it should");
  if (!is_arg(in)) return;
  const nxk_instr *index = nxi_operand(c, v, in->args[1]);
  if (index && !is_index(index, a->lanes))
    nxi_fault(c, v, "the indices are not i64 with the lanes of the values");
}

/* ---- memory */

static bool accesses(const nxk_kernel *k, const nxk_instr *in, uint32_t buffer) {
  bool tree = in->op == NXK_tree_push || in->op == NXK_tree_join;
  if (in->op != NXK_load && in->op != NXK_store && !tree) return false;
  bool first = in->imm < k->n_accesses && k->accesses[in->imm].buffer == buffer;
  return first || (tree && in->imm2 < k->n_accesses && k->accesses[in->imm2].buffer == buffer);
}

/* The lanes of the first access of a buffer up to v, which is one. */
static int64_t first_lanes(const nxk_kernel *k, nxk_value v, uint32_t buffer) {
  nxk_value i = 0;
  while (i < v && !accesses(k, &k->instrs[i], buffer)) i++;
  return k->instrs[i].lanes;
}

/* Checks an access of an `own` array: it has an element for each lane, as all accesses of it, and
 * all its rows have that length. */
static void check_own(nxi_checker *c, nxk_value v, const nxk_access *a) {
  int64_t threads = c->k->threads, lanes = c->k->instrs[v].lanes;
  bool rows = threads != 0 && lanes >= threads && lanes % threads == 0 && a->lane_stride == 1 &&
              a->index == NXK_NONE && a->offset % lanes == 0 && a->tree_stride % lanes == 0 &&
              lanes == first_lanes(c->k, v, a->buffer);
  for (uint32_t i = 0; rows && i < a->n_terms; i++) rows = a->terms[i].stride % lanes == 0;
  if (!rows) nxi_fault(c, v, "the threads do not keep to their own elements");
}

static void check_address(nxi_checker *c, nxk_value v, const nxk_access *a) {
  uint16_t lanes = c->k->instrs[v].lanes;
  uint8_t type = 0; /* common type of the indices that were checked so far */
  for (uint32_t i = 0; i < a->n_terms; i++) {
    const nxk_instr *index = nxi_operand(c, v, a->terms[i].index);
    if (index && !is_place(c, index, 1))
      nxi_fault(c, v, "an index of a term is not an i64 of one lane");
    if (index && type && type != index->dtype) nxi_fault(c, v, "the indices differ in type");
    if (index) type = index->dtype;
    if (a->terms[i].stride == INT64_MIN) nxi_fault(c, v, "a stride has no opposite in 64 bits");
  }
  if (a->prefetch < 0 || (a->prefetch > 0 && c->k->threads > 0))
    nxi_fault(c, v, "a prefetch in a kernel of threads, or backwards");
  if (c->k->buffers[a->buffer].thread_private) check_own(c, v, a);
  const nxk_instr *index = a->index == NXK_NONE ? NULL : nxi_operand(c, v, a->index);
  bool grouped = a->group != 0;
  if (grouped && (c->k->threads == 0 || index == NULL || lanes != a->group * c->k->threads))
    nxi_fault(c, v, "a group is the lanes of one thread, at a computed index");
  else if (index && !is_place(c, index, grouped ? (uint16_t)(lanes / a->group) : lanes))
    nxi_fault(c, v, "idx is not i64 with the lanes of the access");
  if (index && type && type != index->dtype) nxi_fault(c, v, "the indices differ in type");
  if (lanes > 1 && a->index == NXK_NONE && a->lane_stride == 0)
    nxi_fault(c, v, "all lanes of the access are one element");
}

static void check_mask(nxi_checker *c, nxk_value v, const nxk_access *a) {
  const nxk_instr *in = &c->k->instrs[v];
  const nxk_instr *mask = a->mask == NXK_NONE ? NULL : nxi_operand(c, v, a->mask);
  bool fits =
      mask && (mask->lanes == in->lanes || (mask->lanes > 1 && mask->lanes == c->k->threads));
  if (mask && (mask->dtype != NX_BOOL || !fits))
    nxi_fault(c, v, "the mask is not bool with the lanes of the access");
  if (a->other == NXK_NONE) return;
  const nxk_instr *other = nxi_operand(c, v, a->other);
  if (a->mask == NXK_NONE || in->op != NXK_load) nxi_fault(c, v, "else without a mask or a load");
  if (other && (other->dtype != in->dtype || other->lanes != in->lanes))
    nxi_fault(c, v, "else has not the type of the load");
}

/* Returns the access with that number. If the kernel has no such access, reports a fault and
 * returns NULL. */
static const nxk_access *find_access(nxi_checker *c, nxk_value v, uint64_t number) {
  if (number < c->k->n_accesses && c->k->accesses[number].buffer < c->k->n_buffers)
    return &c->k->accesses[number];
  nxi_fault(c, v, "the access is not in the tables");
  return NULL;
}

static void check_whole(nxi_checker *c, nxk_value v, const nxk_access *a) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!(a->flags & NXK_WHOLE)) return;
  if (in->lanes <= c->k->threads || c->k->threads == 0 || a->lane_stride != 1 ||
      (a->index != NXK_NONE && !a->group))
    nxi_fault(c, v, "whole, where the lanes of a thread do not lie beside each other");
}

static void check_load(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  const nxk_access *a = nxi_has_args(c, v, 0) ? find_access(c, v, in->imm) : NULL;
  if (!a) return;
  check_address(c, v, a);
  check_mask(c, v, a);
  if (in->dtype != c->k->buffers[a->buffer].dtype)
    nxi_fault(c, v, "the result has not the type of the memory");
  if (a->flags & NXK_NONTEMPORAL) nxi_fault(c, v, "a nontemporal load");
  if ((a->flags & NXK_SKIPS) && (in->lanes == 1 || a->mask == NXK_NONE || c->k->threads > 0))
    nxi_fault(c, v, "skips, but not under a mask with lanes");
  if ((a->flags & NXK_VOLATILE) &&
      (in->dtype != NX_BOOL || in->lanes > 1 || a->mask != NXK_NONE || c->k->threads > 0))
    nxi_fault(c, v, "a volatile load of lanes, under a mask, of threads, or of no bool");
  check_whole(c, v, a);
}

/* The lanes must be whole cache lines. Whether they start at a line is checked if the address is
 * known; it is not if the address is computed. */
static void check_nontemporal(nxi_checker *c, nxk_value v, const nxk_access *a) {
  const nxk_buffer *buffer = &c->k->buffers[a->buffer];
  int64_t line = nxk_line_of(c->k, a);
  bool whole = buffer->aligned && a->lane_stride == 1 && a->index == NXK_NONE &&
               a->mask == NXK_NONE && c->k->instrs[v].lanes % line == 0 &&
               (a->n_terms > 0 || a->offset % line == 0);
  if ((a->flags & NXK_NONTEMPORAL) && c->k->level == NXK_BOUND && !whole)
    nxi_fault(c, v, "a nontemporal store that leaves part of a cache line");
}

static void check_store(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  const nxk_access *a = nxi_has_args(c, v, 1) ? find_access(c, v, in->imm) : NULL;
  const nxk_instr *value = a ? nxi_operand(c, v, in->args[0]) : NULL;
  if (!value) return;
  check_address(c, v, a);
  check_mask(c, v, a);
  if (c->k->buffers[a->buffer].kind == NXK_IN) nxi_fault(c, v, "a store to an input");
  if (a->flags & NXK_SKIPS) nxi_fault(c, v, "a store that skips");
  if (a->flags & NXK_VOLATILE) nxi_fault(c, v, "a volatile store");
  check_nontemporal(c, v, a);
  if (value->dtype != c->k->buffers[a->buffer].dtype)
    nxi_fault(c, v, "the value has not the type of the memory");
  if (value->lanes != in->lanes) nxi_fault(c, v, "the value has not the lanes of the store");
  check_whole(c, v, a);
}

/* Checks the access of one of the arrays that hold a tree of partial results. */
static void check_tree_access(nxi_checker *c, nxk_value v, uint64_t number, nx_dtype type) {
  const nxk_access *a = find_access(c, v, number);
  if (!a) return;
  check_address(c, v, a);
  if (c->k->buffers[a->buffer].dtype != type)
    nxi_fault(c, v, "the partials have not the type of the memory");
  if (a->mask != NXK_NONE || a->other != NXK_NONE || a->flags)
    nxi_fault(c, v, "a tree of partials is accessed under a mask");
  if (a->tree_stride < 1) nxi_fault(c, v, "the levels of the tree have no distance");
  if (c->k->instrs[v].op == NXK_tree_push && c->k->buffers[a->buffer].kind == NXK_IN)
    nxi_fault(c, v, "partials in an input");
}

static void check_tree(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  bool push = in->op == NXK_tree_push, indices = in->imm2 != UINT32_MAX;
  if (!nxi_has_args(c, v, push ? 2 + is_arg(in) : 1)) return;
  const nxk_instr *number = nxi_operand(c, v, in->args[0]);
  if (number && !is_index(number, 1))
    nxi_fault(c, v, "the number of the partial is not an i64 of one lane");
  const nxk_access *values = find_access(c, v, in->imm);
  if (!values) return;
  nx_dtype type = c->k->buffers[values->buffer].dtype;
  check_kind(c, v, type);
  check_tree_access(c, v, in->imm, type);
  if (indices != is_arg(in)) nxi_fault(c, v, "indices belong to argmax and argmin");
  if (indices) check_tree_access(c, v, in->imm2, NX_I64);
  if (!push) {
    bool index_part = (in->flags & NXK_INDEX_PART) != 0;
    if (index_part && !indices) nxi_fault(c, v, "there is no index part");
    if (in->dtype != (index_part ? NX_I64 : type))
      nxi_fault(c, v, "the result has another type than it should");
    return;
  }
  const nxk_instr *value = nxi_operand(c, v, in->args[1]);
  const nxk_instr *index = is_arg(in) ? nxi_operand(c, v, in->args[2]) : NULL;
  if (value && (value->dtype != type || value->lanes != in->lanes))
    nxi_fault(c, v, "the value has not the type of the partials");
  if (index && !is_index(index, in->lanes))
    nxi_fault(c, v, "the indices are not i64 with the lanes of the values");
}

/* ---- lanes */

static void check_lanes(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_has_args(c, v, in->op == NXK_active ? 2 : 1)) return;
  const nxk_instr *a = nxi_operand(c, v, in->args[0]);
  const nxk_instr *end = in->op == NXK_active ? nxi_operand(c, v, in->args[1]) : NULL;
  if (!a) return;
  if (in->op == NXK_splat) {
    bool fits = a->lanes == 1 || (c->k->threads && a->lanes < in->lanes);
    if (!fits || a->dtype != in->dtype) nxi_fault(c, v, "a splat repeats one lane of its own type");
    if (in->lanes == 1) nxi_fault(c, v, "a splat to one lane");
    return;
  }
  if (!is_place(c, a, 1) || (end && (!is_place(c, end, 1) || end->dtype != a->dtype)))
    nxi_fault(c, v, "an operand is not an i64 of one lane");
  if (in->dtype != (in->op == NXK_step_vector ? a->dtype : NX_BOOL))
    nxi_fault(c, v, "the result has another type than it should");
}

static void check_shuffle_xor(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  const nxk_instr *a = nxi_has_args(c, v, 1) ? nxi_operand(c, v, in->args[0]) : NULL;
  if (!c->k->threads) nxi_fault(c, v, "a shuffle_xor in a kernel without threads");
  if (a && (a->dtype != in->dtype || a->lanes != in->lanes))
    nxi_fault(c, v, "the operand has not the type and lanes of the result");
  if (in->imm == 0 || in->imm >= in->lanes) nxi_fault(c, v, "there is no lane at that distance");
}

static void check_barrier(nxi_checker *c, nxk_value v) {
  nxi_has_args(c, v, 0);
  if (!c->k->threads) nxi_fault(c, v, "a barrier in a kernel without threads");
}

/* An interleave or a concat. */
static void check_interleave(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  bool concat = in->op == NXK_concat;
  const char *what = concat ? "concat" : "interleave", *lanes = concat ? "half the lanes" : "lanes";
  if (!nxi_has_args(c, v, 2)) return;
  if (in->lanes == 1) nxi_fault(c, v, "a %s of one lane", what);
  if (c->k->threads) nxi_fault(c, v, "a %s in a kernel of threads", what);
  for (int i = 0; i < 2; i++) {
    const nxk_instr *a = nxi_operand(c, v, in->args[i]);
    if (a && (a->dtype != in->dtype || a->lanes != (concat ? in->lanes / 2 : in->lanes)))
      nxi_fault(c, v, "operand %d has not the type and %s of the result", i + 1, lanes);
  }
}

/* The same in a kernel of threads: from one value with the lanes of all, and to one. */
static void check_row_of_threads(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  bool apart = in->op == NXK_deinterleave;
  if (apart ? in->n_args != 1 : in->n_args != 2 && in->n_args != 4) {
    nxi_fault(c, v, apart ? "one operand is needed" : "2 or 4 operands are needed");
    return;
  }
  for (int i = 0; i < in->n_args; i++) {
    const nxk_instr *a = nxi_operand(c, v, in->args[i]);
    if (a == NULL) return;
    uint32_t whole = apart ? a->lanes : in->lanes, part = apart ? in->lanes : a->lanes;
    uint32_t of = apart ? whole / part : in->n_args;
    if (a->dtype != in->dtype || part < c->k->threads || whole != part * of || (of != 2 && of != 4))
      nxi_fault(c, v, "operand %d has not the type and lanes of the row", i + 1);
    if (in->imm >= (apart ? of : 1)) nxi_fault(c, v, "there is no such element in the row");
  }
}

/* A deinterleave or an interleave. */
static void check_row(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  bool apart = in->op == NXK_deinterleave;
  if (c->k->threads) {
    check_row_of_threads(c, v);
    return;
  }
  if (in->n_args < (apart ? 2 : 3) || in->n_args > 4) {
    nxi_fault(c, v, "%d to 4 operands are needed", apart ? 2 : 3);
    return;
  }
  if (in->lanes < 4) nxi_fault(c, v, "fewer than 4 lanes");
  for (int i = 0; i < in->n_args; i++) {
    const nxk_instr *a = nxi_operand(c, v, in->args[i]);
    if (a && (a->dtype != in->dtype || a->lanes != in->lanes))
      nxi_fault(c, v, "operand %d has not the type and lanes of the result", i + 1);
  }
  uint64_t most = apart ? (uint64_t)nxk_first_of(in) + nxk_overlap_of(in) : in->imm;
  if (most >= in->n_args) nxi_fault(c, v, "there is no such element in the row");
}

static void check_leaf(nxi_checker *c, nxk_value v) {
  const nxk_instr *in = &c->k->instrs[v];
  if (!nxi_has_args(c, v, 0)) return;
  if (in->lanes != 1) nxi_fault(c, v, "constants and parameters have one lane");
  if (in->op != NXK_param) return;
  if (in->imm >= c->k->n_params) nxi_fault(c, v, "no such parameter");
  else if (c->k->param_types[in->imm] != in->dtype)
    nxi_fault(c, v, "the parameter has another type");
}

void nxi_check_types(nxi_checker *c, nxk_value v) {
  nxk_op op = (nxk_op)c->k->instrs[v].op;
  if (op < NXK_SCALAR_COUNT) {
    check_scalar(c, v);
    return;
  }
  switch (op) {
    case NXK_const:
    case NXK_param: check_leaf(c, v); break;
    case NXK_load: check_load(c, v); break;
    case NXK_store: check_store(c, v); break;
    case NXK_reduce: check_reduce(c, v); break;
    case NXK_scan: check_scan(c, v); break;
    case NXK_interleave_low:
    case NXK_interleave_high:
    case NXK_concat: check_interleave(c, v); break;
    case NXK_deinterleave:
    case NXK_interleave: check_row(c, v); break;
    case NXK_shuffle_xor: check_shuffle_xor(c, v); break;
    case NXK_barrier: check_barrier(c, v); break;
    case NXK_lane_reduce: check_lane_reduce(c, v); break;
    case NXK_tree_push:
    case NXK_tree_join: check_tree(c, v); break;
    default: check_lanes(c, v); break;
  }
}
