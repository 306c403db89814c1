/* SPDX-License-Identifier: ISC */
/* The text of a kernel (docs/ir.md): one instruction a line, blocks indented, accesses inline.
 * Faulty kernels are printed too, because the verifier shows them. */
#include "print_kernel.h"

#include "scalar_text.h"

const char *nxi_buffer_kind_name(nxk_buffer_kind kind) {
  static const char *const names[NXK_BUFFER_KINDS] = {"in", "out", "inout", "local"};
  return (uint32_t)kind < NXK_BUFFER_KINDS ? names[kind] : "?";
}

const char *nxi_loop_kind_name(nxk_loop_kind kind) {
  static const char *const names[NXK_LOOP_KINDS] = {"outer", "map", "reduce", "task", "seq"};
  return (uint32_t)kind < NXK_LOOP_KINDS ? names[kind] : "?";
}

static const char *type_name(nx_dtype t) { return nxi_dtype_valid(t) ? nxi_dtypes[t].name : "?"; }

static void print_value(nxi_text *out, nxk_value v) {
  if (v == NXK_NONE) nxi_text_add(out, "%%?");
  else nxi_text_add(out, "%%%u", v);
}

static void print_header(const nxk_kernel *k, nxi_text *out) {
  nxi_text_add(out, "nxir 2\nkernel @");
  for (const char *s = k->name; *s; s++) {
    bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
                 *s == '.';
    nxi_text_put(out, plain ? s : "_", 1);
  }
  nxi_text_add(out, " %s", k->level == NXK_LOGICAL ? "logical" : "bound");
  if (k->threads) nxi_text_add(out, " threads=%u", k->threads);
  nxi_text_add(out, " {\n");
  for (uint32_t i = 0; i < k->n_buffers; i++) {
    const nxk_buffer *b = &k->buffers[i];
    nxi_text_add(out, "  b%u: %s %s[", i, nxi_buffer_kind_name(b->kind), type_name(b->dtype));
    if (b->elements < 0) nxi_text_add(out, "?]");
    else nxi_text_add(out, "%lld]", (long long)b->elements);
    nxi_text_add(out, "%s%s%s\n", b->aligned ? " aligned" : "", b->restricted ? " restricted" : "",
                 b->thread_private ? " private" : "");
  }
  for (uint32_t i = 0; i < k->n_params; i++)
    nxi_text_add(out, "  p%u: %s\n", i, type_name(k->param_types[i]));
}

static void print_access(const nxk_kernel *k, nxi_text *out, uint64_t number) {
  if (number >= k->n_accesses) {
    nxi_text_add(out, "b?[]");
    return;
  }
  const nxk_access *a = &k->accesses[number];
  nxi_text_add(out, "b%u[%lld", a->buffer, (long long)a->offset);
  for (uint32_t i = 0; i < a->n_terms; i++) {
    nxi_text_add(out, " + %lld*", (long long)a->terms[i].stride);
    print_value(out, a->terms[i].index);
  }
  if (a->index != NXK_NONE) nxi_text_add(out, " + idx %%%u", a->index);
  nxi_text_add(out, "]");
  if (a->lane_stride) nxi_text_add(out, " stride=%lld", (long long)a->lane_stride);
  if (a->group) nxi_text_add(out, " group=%u", a->group);
  if (a->tree_stride) nxi_text_add(out, " tree=%lld", (long long)a->tree_stride);
  if (a->mask != NXK_NONE) nxi_text_add(out, " mask=%%%u", a->mask);
  if (a->other != NXK_NONE) nxi_text_add(out, " else %%%u", a->other);
  if (a->flags & NXK_NONTEMPORAL) nxi_text_add(out, " nontemporal");
  if (a->flags & NXK_WHOLE) nxi_text_add(out, " whole");
  if (a->flags & NXK_SKIPS) nxi_text_add(out, " skips");
  if (a->flags & NXK_VOLATILE) nxi_text_add(out, " volatile");
  if (a->prefetch) nxi_text_add(out, " prefetch=%lld", (long long)a->prefetch);
}

static void print_bound(nxi_text *out, nxk_bound_value b) {
  if (b.value == NXK_NONE) nxi_text_add(out, "%lld", (long long)b.constant);
  else nxi_text_add(out, "%%%u", b.value);
}

static void print_for(const nxk_kernel *k, nxi_text *out, const nxk_instr *in) {
  if (in->imm >= k->n_loops) {
    nxi_text_add(out, " ? {");
    return;
  }
  const nxk_loop *loop = &k->loops[in->imm];
  nxi_text_add(out, " %s ", nxi_loop_kind_name(loop->kind));
  print_bound(out, loop->lower);
  nxi_text_add(out, "..");
  print_bound(out, loop->upper);
  if (loop->step != 1) nxi_text_add(out, " step %lld", (long long)loop->step);
  if (loop->few > 0) nxi_text_add(out, " few %u", loop->few);
  nxi_text_add(out, loop->unroll ? " unroll {" : loop->apart ? " apart {" : " {");
}

static void print_region(const nxk_kernel *k, nxi_text *out, const nxk_instr *in) {
  if (k->level == NXK_BOUND && in->imm < k->n_regions) {
    const nxk_region *region = &k->regions[in->imm];
    if (region->tasks_param < 0) nxi_text_add(out, " tasks=%lld", (long long)region->tasks);
    else
      nxi_text_add(out, " tasks=p%d/%lld", region->tasks_param, (long long)region->tasks_divisor);
  }
  nxi_text_add(out, " {");
}

static void print_args(nxi_text *out, const nxk_instr *in) {
  for (int i = 0; i < in->n_args && i < 4; i++) {
    nxi_text_add(out, i ? ", " : " ");
    print_value(out, in->args[i]);
  }
}

static void print_type(nxi_text *out, const nxk_instr *in) {
  nxi_text_add(out, " %s", type_name(in->dtype));
  if (in->lanes != 1) nxi_text_add(out, "x%u", in->lanes);
}

static void print_memory(const nxk_kernel *k, nxi_text *out, const nxk_instr *in) {
  print_args(out, in);
  nxi_text_add(out, in->n_args ? ", " : " ");
  print_access(k, out, in->imm);
  if (in->imm2 != UINT32_MAX) {
    nxi_text_add(out, ", ");
    print_access(k, out, in->imm2);
  }
  if (in->flags & NXK_INDEX_PART) nxi_text_add(out, " index_part");
}

static void print_rest(const nxk_kernel *k, nxi_text *out, const nxk_instr *in) {
  switch (in->op) {
    case NXK_const:
      nxi_text_add(out, " ");
      if (nxi_is_element(in->dtype)) nxi_print_scalar(out, in->dtype, in->imm);
      else nxi_text_add(out, "?");
      break;
    case NXK_param: nxi_text_add(out, " p%llu", (unsigned long long)in->imm); break;
    case NXK_region: print_region(k, out, in); break;
    case NXK_for: print_for(k, out, in); break;
    case NXK_cold:
      print_args(out, in);
      nxi_text_add(out, in->flags & NXK_APART ? " apart {" : " {");
      break;
    case NXK_shuffle_xor:
      print_args(out, in);
      nxi_text_add(out, ", %llu", (unsigned long long)in->imm);
      break;
    case NXK_deinterleave:
      print_args(out, in);
      nxi_text_add(out, " first=%u", nxk_first_of(in));
      if (nxk_overlap_of(in)) nxi_text_add(out, " overlap=%u", nxk_overlap_of(in));
      break;
    case NXK_interleave:
      print_args(out, in);
      nxi_text_add(out, " piece=%llu", (unsigned long long)in->imm);
      break;
    case NXK_load:
    case NXK_store:
    case NXK_tree_push:
    case NXK_tree_join: print_memory(k, out, in); break;
    default:
      print_args(out, in);
      if (in->flags & NXK_NSW) nxi_text_add(out, " nsw");
      break;
  }
}

static void print_instr(const nxk_kernel *k, nxi_text *out, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  if (in->op == NXK_end) {
    nxi_text_add(out, "}");
    return;
  }
  if (nxi_is_named((nxk_op)in->op)) nxi_text_add(out, "%%%u = ", v);
  nxi_text_add(out, "%s", nxk_op_name((nxk_op)in->op));
  if (nxi_is_named((nxk_op)in->op) && in->op != NXK_for && in->op != NXK_cold) print_type(out, in);
  else if (in->lanes != 1) nxi_text_add(out, " lanes=%u", in->lanes);
  bool ordered = in->op == NXK_reduce || in->op == NXK_scan;
  bool kinds =
      ordered || in->op == NXK_lane_reduce || in->op == NXK_tree_push || in->op == NXK_tree_join;
  if (kinds) nxi_text_add(out, " %s", nxk_reduce_name((nxk_reduce_kind)in->kind));
  if (ordered) nxi_text_add(out, " %s", nxk_order_name((nxk_order)in->order));
  print_rest(k, out, in);
}

void nxi_print_kernel(const nxk_kernel *k, nxi_text *out, nxi_line_hook *hook, void *user) {
  uint32_t depth = 1;
  print_header(k, out);
  if (hook) hook(user, NXK_NONE, out);
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    nxk_op op = (nxk_op)k->instrs[v].op;
    if (op == NXK_end && depth > 1) depth--;
    nxi_text_add(out, "%*s", (int)(2 * depth), "");
    print_instr(k, out, v);
    nxi_text_put(out, "\n", 1);
    if (hook) hook(user, v, out);
    if ((op == NXK_region || op == NXK_for || op == NXK_cold) && depth < 1000) depth++;
  }
  nxi_text_add(out, "}\n");
}

void nxk_print(const nxk_kernel *k, nxi_text *out) { nxi_print_kernel(k, out, NULL, NULL); }
