/* SPDX-License-Identifier: ISC */
/* Prints a bound kernel as one CUDA function: tasks, regions, loops with their carries, cold
 * blocks. It makes one pass over the instructions, in order. Blocks of the IR become blocks of C,
 * so names are visible where values are. */
#include "emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void nxu_refuse(nxu_emitter *e, const char *why) {
  if (!e->failed) nxi_fail(e->diag, NX_INTERNAL, "", "kernel %s: %s", e->k->name, why);
  e->failed = true;
}

/* ---- names */

/* The type of an element in memory; small floats are held as their bits. */
const char *nxu_memory_type(nx_dtype t) { return t == NX_BOOL ? "nx_u8" : nxu_type(t); }

const char *nxu_type(nx_dtype t) {
  switch (t) {
    case NX_BOOL: return "bool";
    case NX_I8: return "signed char";
    case NX_U8:
    case NX_F8E4M3:
    case NX_F8E5M2: return "nx_u8";
    case NX_I16: return "short";
    case NX_U16:
    case NX_F16:
    case NX_BF16: return "nx_u16";
    case NX_I32: return "int";
    case NX_U32: return "nx_u32";
    case NX_I64: return "nx_i64";
    case NX_U64: return "nx_u64";
    case NX_F32: return "float";
    default: return "double";
  }
}

uint32_t nxu_copies(const nxu_emitter *e, nxk_value v) {
  uint32_t lanes = e->k->instrs[v].lanes;
  return lanes <= e->k->threads ? 1 : lanes / e->k->threads;
}

static nxu_name float_text(nx_dtype t, uint64_t bits) {
  nxu_name n;
  double x;
  float f;
  uint32_t low = (uint32_t)bits;
  memcpy(&f, &low, sizeof f);
  memcpy(&x, &bits, sizeof x);
  if (t == NX_F32) x = f;
  if (!isfinite(x)) {
    snprintf(n.text, sizeof n.text, "nx_bitcast<%s>(0x%llx%s)", nxu_type(t),
             (unsigned long long)(t == NX_F32 ? low : bits), t == NX_F32 ? "u" : "ull");
    return n;
  }
  char digits[40];
  snprintf(digits, sizeof digits, t == NX_F32 ? "%.9g" : "%.17g", x);
  bool whole = strcspn(digits, ".e") == strlen(digits);
  snprintf(n.text, sizeof n.text, digits[0] == '-' ? "(%s%s%s)" : "%s%s%s", digits,
           whole ? ".0" : "", t == NX_F32 ? "f" : "");
  return n;
}

static nxu_name constant_text(const nxk_instr *in) {
  nxu_name n;
  nx_dtype t = in->dtype;
  if (t == NX_F32 || t == NX_F64) return float_text(t, in->imm);
  if (t == NX_BOOL) snprintf(n.text, sizeof n.text, in->imm ? "true" : "false");
  else if (t == NX_I64 && (int64_t)in->imm == INT64_MIN)
    snprintf(n.text, sizeof n.text, "(nx_i64)0x8000000000000000ull");
  else if (t == NX_I64) snprintf(n.text, sizeof n.text, "(nx_i64)%lld", (long long)in->imm);
  else if (t == NX_U64) snprintf(n.text, sizeof n.text, "%lluull", (unsigned long long)in->imm);
  else if (t == NX_I32 && (int32_t)in->imm > INT32_MIN)
    snprintf(n.text, sizeof n.text, (int32_t)in->imm < 0 ? "(%d)" : "%d", (int32_t)in->imm);
  else
    snprintf(n.text, sizeof n.text, "(%s)0x%llxu", nxu_type(t),
             (unsigned long long)(in->imm & (UINT64_MAX >> (64 - nxi_dtypes[t].bits))));
  return n;
}

nxu_name nxu_ref(nxu_emitter *e, nxk_value v, uint32_t copy) {
  const nxk_instr *in = &e->k->instrs[v];
  nxu_name n;
  while (in->op == NXK_splat) { /* a splat has no variable of its own */
    uint32_t copies = nxu_copies(e, v);
    v = in->args[0];
    copy = copy * nxu_copies(e, v) / copies;
    in = &e->k->instrs[v];
  }
  if (in->op == NXK_const) return constant_text(in);
  if (nxu_copies(e, v) == 1) snprintf(n.text, sizeof n.text, "v%u", v);
  else snprintf(n.text, sizeof n.text, "v%u_%u", v, copy);
  return n;
}

/* ---- lines */

void nxu_line(nxu_emitter *e) { nxu_put(e, "\n%*s", (int)(2 * e->depth), ""); }

/* Prints the name of the variable, even if another expression can replace it. */
static void put_name(nxu_emitter *e, nxk_value v, uint32_t copy) {
  if (nxu_copies(e, v) == 1) nxu_put(e, "v%u", v);
  else nxu_put(e, "v%u_%u", v, copy);
}

void nxu_define(nxu_emitter *e, nxk_value v, uint32_t copy) {
  nxu_line(e);
  if (!e->outlives[v]) nxu_put(e, "const %s ", nxu_type(e->k->instrs[v].dtype));
  put_name(e, v, copy);
  nxu_put(e, " = ");
}

/* ---- loops */

static void put_bound(nxu_emitter *e, nxk_bound_value b) {
  if (b.value == NXK_NONE) nxu_put(e, "(nx_i64)%lld", (long long)b.constant);
  else nxu_put(e, "%s", nxu_ref(e, b.value, 0).text);
}

/* Declares the carries of a loop before it, because they are read after it. */
static void declare_carries(nxu_emitter *e, nxk_value loop) {
  for (nxk_value v = loop + 1; e->k->instrs[v].op == NXK_carry; v++)
    for (uint32_t i = 0; i < nxu_copies(e, v); i++) {
      nxu_line(e);
      if (!e->outlives[v]) nxu_put(e, "%s ", nxu_type(e->k->instrs[v].dtype));
      put_name(e, v, i);
      nxu_put(e, " = %s;", nxu_ref(e, e->k->instrs[v].args[0], i).text);
    }
}

static void begin_for(nxu_emitter *e, nxk_value v) {
  const nxk_loop *loop = &e->k->loops[e->k->instrs[v].imm];
  if (loop->kind == NXK_TASK) {
    nxu_line(e);
    nxu_put(e, "const nx_i64 v%u = nx_task - nx_first;", v);
    nxu_line(e);
    nxu_put(e, "{");
    e->depth++;
    return;
  }
  declare_carries(e, v);
  nxu_put(e, loop->unroll ? "\n#pragma unroll" : "\n#pragma unroll 1");
  nxu_line(e);
  nxu_put(e, "for (nx_i64 v%u = ", v);
  put_bound(e, loop->lower);
  nxu_put(e, "; ");
  if (loop->few > 0) nxu_put(e, "t < %u && ", loop->few);
  nxu_put(e, "v%u < ", v);
  put_bound(e, loop->upper);
  nxu_put(e, "; v%u += %lld) {", v, (long long)loop->step);
  e->depth++;
}

/* All nexts of a loop take effect together at the end of its body, so their values go to temporary
 * variables first. */
static void put_next(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  nxk_value carry = in->args[0];
  for (uint32_t i = 0; i < nxu_copies(e, carry); i++) {
    nxu_line(e);
    nxu_put(e, "const %s n%u_%u = %s;", nxu_type(e->k->instrs[carry].dtype), carry, i,
            nxu_ref(e, in->args[1], i).text);
  }
}

static void apply_nexts(nxu_emitter *e, nxk_value end) {
  nxk_value first = end;
  while (first > 0 && e->k->instrs[first - 1].op == NXK_next) first--;
  for (nxk_value v = first; v < end; v++) {
    nxk_value carry = e->k->instrs[v].args[0];
    for (uint32_t i = 0; i < nxu_copies(e, carry); i++) {
      nxu_line(e);
      put_name(e, carry, i);
      nxu_put(e, " = n%u_%u;", carry, i);
    }
  }
}

/* ---- cold blocks */

/* Finds the values of cold blocks that blends read. They are declared before the block. If such a
 * value is a splat, its operand is declared there instead. */
static void find_outliving(nxu_emitter *e) {
  for (nxk_value v = 0; v < e->k->n_instrs; v++) {
    const nxk_instr *in = &e->k->instrs[v];
    if (in->op != NXK_blend) continue;
    nxk_value inside = in->args[1];
    while (e->k->instrs[inside].op == NXK_splat) inside = e->k->instrs[inside].args[0];
    if (inside > in->args[0] && e->k->instrs[inside].op != NXK_const) e->outlives[inside] = 1;
  }
}

static nxk_value end_of(const nxu_emitter *e, nxk_value opener) {
  nxk_value v = opener + 1;
  for (uint32_t depth = 1;; v++) {
    nxk_op op = (nxk_op)e->k->instrs[v].op;
    if (op == NXK_region || op == NXK_for || op == NXK_cold) depth++;
    else if (op == NXK_end && --depth == 0) return v;
  }
}

static void begin_cold(nxu_emitter *e, nxk_value v) {
  nxk_value pred = e->k->instrs[v].args[0], end = end_of(e, v);
  for (nxk_value x = v + 1; x < end; x++)
    if (e->outlives[x] == 1) {
      for (uint32_t i = 0; i < nxu_copies(e, x); i++) {
        nxu_line(e);
        nxu_put(e, "%s ", nxu_type(e->k->instrs[x].dtype));
        put_name(e, x, i);
        nxu_put(e, " = 0;");
      }
      e->outlives[x] = 2; /* declared; blocks inside this one must not declare it again */
    }
  nxu_line(e);
  nxu_put(e, "if (");
  for (uint32_t i = 0; i < nxu_copies(e, pred); i++)
    nxu_put(e, "%s%s", i ? " | " : "", nxu_ref(e, pred, i).text);
  nxu_put(e, ") {");
  e->depth++;
}

static void put_blend(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  nxk_value pred = e->k->instrs[in->args[0]].args[0];
  for (uint32_t i = 0; i < nxu_copies(e, v); i++) {
    nxu_define(e, v, i);
    nxu_put(e, "%s ? %s : %s;", nxu_ref(e, pred, i).text, nxu_ref(e, in->args[1], i).text,
            nxu_ref(e, in->args[2], i).text);
  }
}

/* ---- lanes */

static void put_lanes(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  uint32_t copies = nxu_copies(e, v);
  for (uint32_t i = 0; i < copies; i++) {
    nxu_define(e, v, i);
    nxu_put(e, "%s", nxu_ref(e, in->args[0], 0).text);
    if (in->lanes > 1) {
      nxu_put(e, copies > 1 ? " + %u * t" : " + t", copies);
      if (i) nxu_put(e, " + %u", i);
    }
    if (in->op == NXK_active) nxu_put(e, " < %s", nxu_ref(e, in->args[1], 0).text);
    nxu_put(e, ";");
  }
}

/* Every n-th lane of a value, or the lanes of several in turn: a thread has all of them itself. */
static void put_row(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  uint32_t of = in->op == NXK_interleave ? in->n_args : e->k->instrs[in->args[0]].lanes / in->lanes;
  for (uint32_t i = 0; i < nxu_copies(e, v); i++) {
    nxu_define(e, v, i);
    if (in->op == NXK_interleave) nxu_put(e, "%s;", nxu_ref(e, in->args[i % of], i / of).text);
    else nxu_put(e, "%s;", nxu_ref(e, in->args[0], i * of + nxk_first_of(in)).text);
  }
}

/* ---- regions: a region has the tasks nx_first .. nx_first + its number of tasks */

static void put_tasks(nxu_emitter *e, const nxk_region *region) {
  if (region->tasks_param < 0) nxu_put(e, "(nx_i64)%lld", (long long)region->tasks);
  else nxu_put(e, "nx_tasks_of(p%d, %lld)", region->tasks_param, (long long)region->tasks_divisor);
}

static void begin_region(nxu_emitter *e, nxk_value v) {
  const nxk_region *region = &e->k->regions[e->k->instrs[v].imm];
  nxu_line(e);
  nxu_put(e, "if (nx_task < nx_first + ");
  put_tasks(e, region);
  nxu_put(e, " && nx_task >= nx_first) {");
  e->depth++;
}

static void end_region(nxu_emitter *e, nxk_value v) {
  nxu_line(e);
  nxu_put(e, "nx_first += ");
  put_tasks(e, &e->k->regions[e->k->instrs[v].imm]);
  nxu_put(e, ";");
}

static void put_end(nxu_emitter *e, nxk_value v, nxk_value opener) {
  const nxk_instr *in = &e->k->instrs[opener];
  if (in->op == NXK_for && e->k->loops[in->imm].kind == NXK_SEQ) apply_nexts(e, v);
  e->depth--;
  nxu_line(e);
  nxu_put(e, "}");
  if (in->op == NXK_region) end_region(e, opener);
}

/* ---- instructions */

static void put_leaf(nxu_emitter *e, nxk_value v) {
  nxu_define(e, v, 0);
  nxu_put(e, "p%llu;", (unsigned long long)e->k->instrs[v].imm);
}

static void put_instr(nxu_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  if (in->op < NXK_SCALAR_COUNT) {
    nxu_scalar_instr(e, v);
    return;
  }
  switch (in->op) {
    case NXK_const:
    case NXK_splat:
    case NXK_carry: break; /* splats are printed with their users, carries with their loop */
    case NXK_param: put_leaf(e, v); break;
    case NXK_region: begin_region(e, v); break;
    case NXK_for: begin_for(e, v); break;
    case NXK_cold: begin_cold(e, v); break;
    case NXK_end: put_end(e, v, in->block); break;
    case NXK_blend: put_blend(e, v); break;
    case NXK_next: put_next(e, v); break;
    case NXK_step_vector:
    case NXK_active: put_lanes(e, v); break;
    case NXK_deinterleave:
    case NXK_interleave: put_row(e, v); break;
    case NXK_load: nxu_load(e, v); break;
    case NXK_store: nxu_store(e, v); break;
    case NXK_shuffle_xor: nxu_shuffle_xor(e, v); break;
    case NXK_tree_push: nxu_tree_push(e, v); break;
    case NXK_tree_join: nxu_tree_join(e, v); break;
    case NXK_barrier:
      nxu_line(e);
      nxu_put(e, "__syncthreads();");
      break;
    default: nxu_refuse(e, "an operation that kernels of threads do not have"); break;
  }
}

/* ---- the function */

static int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static void put_arguments(nxu_emitter *e, bool scratch) {
  const char *comma = "";
  for (uint32_t i = 0; i < e->k->n_buffers; i++) {
    const nxk_buffer *b = &e->k->buffers[i];
    if (b->kind == NXK_LOCAL) continue;
    nxu_put(e, "%s%s%s *%sb%u", comma, b->kind == NXK_IN ? "const " : "", nxu_memory_type(b->dtype),
            b->restricted ? "__restrict__ " : "", i);
    comma = ", ";
  }
  for (uint32_t i = 0; i < e->k->n_params; i++, comma = ", ")
    nxu_put(e, "%s%s p%u", comma, nxu_type(e->k->param_types[i]), i);
  if (scratch) nxu_put(e, "%snx_u8 *nx_scratch", comma);
}

/* Bytes of shared and of scratch memory that the LOCAL arrays with numbers below `end` take. In the
 * order of their numbers they are in shared memory as long as they fit in `most` bytes. */
typedef struct arrays {
  int64_t shared, scratch;
} arrays;

static arrays arrays_before(const nxk_kernel *k, uint32_t end, int64_t most) {
  arrays a = {0, 0};
  for (uint32_t i = 0; i < end; i++) {
    const nxk_buffer *b = &k->buffers[i];
    if (b->kind != NXK_LOCAL || b->thread_private) continue;
    int64_t bytes = padded(b->elements * nxi_dtype_size(b->dtype));
    *(a.shared + bytes <= most ? &a.shared : &a.scratch) += bytes;
  }
  return a;
}

/* Declares the LOCAL arrays: `own` arrays are variables of each thread; the others lie one after
 * the other in shared memory or in the scratch memory of the block. */
static void put_locals(nxu_emitter *e, const nxu_launch *launch, int64_t most) {
  if (launch->shared_bytes > 0)
    nxu_put(e, "\n  extern __shared__ __align__(64) nx_u8 nx_shared[];");
  if (launch->scratch_bytes > 0)
    nxu_put(e, "\n  nx_u8 *const nx_mine = nx_scratch + (nx_i64)blockIdx.x * %lld;",
            (long long)launch->scratch_bytes);
  if (e->exchanges)
    nxu_put(e, "\n  nx_u64 *const nx_room = (nx_u64 *)(nx_shared + %lld);",
            (long long)arrays_before(e->k, e->k->n_buffers, most).shared);
  for (uint32_t i = 0; i < e->k->n_buffers; i++) {
    const nxk_buffer *b = &e->k->buffers[i];
    const char *type = nxu_memory_type(b->dtype);
    arrays before = arrays_before(e->k, i, most);
    bool shared = before.scratch == arrays_before(e->k, i + 1, most).scratch;
    if (b->kind != NXK_LOCAL) continue;
    if (b->thread_private)
      nxu_put(e, "\n  %s b%u[%lld];", type, i, (long long)(b->elements / e->k->threads));
    else
      nxu_put(e, "\n  %s *const b%u = (%s *)(%s + %lld);", type, i, type,
              shared ? "nx_shared" : "nx_mine",
              (long long)(shared ? before.shared : before.scratch));
  }
}

static void put_total(nxu_emitter *e) {
  nxu_put(e, "\n  const nx_i64 nx_total = ");
  for (uint32_t i = 0; i < e->k->n_regions; i++) {
    if (i) nxu_put(e, " + ");
    put_tasks(e, &e->k->regions[i]);
  }
  nxu_put(e, e->k->n_regions ? ";" : "0;");
}

/* Whether the kernel has a single task, so that no loop over tasks is printed. */
static bool is_one_task(const nxk_kernel *k) {
  return k->n_regions == 1 && k->regions[0].tasks_param < 0 && k->regions[0].tasks == 1;
}

/* Whether threads exchange values through shared memory. */
static bool meets(const nxk_kernel *k) {
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_barrier) return true;
  return false;
}

/* Whether a shuffle reaches beyond the 32 threads of a warp. */
static bool exchanges(const nxk_kernel *k) {
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_shuffle_xor && in->imm / (in->lanes / k->threads) >= 32) return true;
  }
  return false;
}

static void put_function(nxu_emitter *e, const nxu_launch *launch, int64_t most) {
  nxu_put(e, "extern \"C\" __global__ void __launch_bounds__(%u) %s(", e->k->threads,
          launch->entry);
  put_arguments(e, launch->scratch_bytes > 0);
  nxu_put(e, ") {\n  const int t = threadIdx.x");
  /* The mask tells the compiler the range of the thread number, which makes quotients of it
   * cheap. */
  if ((e->k->threads & (e->k->threads - 1)) == 0) nxu_put(e, " & %u", e->k->threads - 1);
  nxu_put(e, ";");
  put_locals(e, launch, most);
  put_total(e);
  nxu_put(e,
          "\n  for (nx_i64 nx_task = blockIdx.x; nx_task < nx_total; nx_task += %s) {"
          "\n    nx_i64 nx_first = 0;",
          is_one_task(e->k) ? "nx_total" : "gridDim.x");
  e->depth = 2;
  for (nxk_value v = 0; v < e->k->n_instrs && !e->failed; v++) put_instr(e, v);
  if (meets(e->k)) nxu_put(e, "\n    __syncthreads();");
  nxu_put(e, "\n  }\n}\n");
}

static bool fits(const nxk_kernel *k, nxi_diag *d) {
  if (k->level == NXK_BOUND && k->threads != 0) return true;
  nxi_fail(d, NX_INTERNAL, "", "kernel %s is not bound to threads", k->name);
  return false;
}

nx_status nxu_print(const nxk_kernel *k, int64_t shared_most, nxi_text *out, nxu_launch *launch,
                    nxi_diag *d) {
  *launch = (nxu_launch){.threads = (int32_t)k->threads};
  if (!fits(k, d)) return d->status;
  snprintf(launch->entry, sizeof launch->entry, "nx_%s", k->name);
  for (char *s = launch->entry; *s; s++)
    if (*s == '.') *s = '_';
  nxu_emitter e = {.k = k, .out = out, .diag = d, .exchanges = exchanges(k)};
  int64_t room = e.exchanges ? 8 * (int64_t)k->threads : 0, most = shared_most - room;
  arrays all = arrays_before(k, k->n_buffers, most);
  launch->shared_bytes = all.shared + room;
  launch->scratch_bytes = all.scratch;
  e.outlives = nxi_calloc((size_t)k->n_instrs + 1, 1);
  if (e.outlives == NULL) return nxi_oom(d);
  find_outliving(&e);
  put_function(&e, launch, most);
  nxi_free(e.outlives);
  if (e.failed) return d->status;
  return out->failed ? nxi_oom(d) : NX_OK;
}
