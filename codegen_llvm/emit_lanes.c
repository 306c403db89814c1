/* SPDX-License-Identifier: ISC */
/* Shuffles: interleaving, taking apart, and joining vectors. Rows of two to four vectors are
 * shuffled register by register: k registers of a row hold k registers of the results. Where k is
 * 3, each lane number belongs to one of the three registers, so two selects collect the lanes of a
 * result, and one permutation puts them in order; other forms LLVM lowers well. */
#include "emit.h"

enum { MOST_LANES = NXK_MAX_LANES, MOST_REGISTERS = 256 };

/* Makes v opaque to the optimiser, by an empty inline assembly; no instruction is generated. */
static nxl_ref opaque(nxl_emitter *e, nxl_ref v) {
  static const char registers[NXL_ISAS] = {'r', 'x', 'v', 'w'};
  char constraint[] = {'=', registers[e->isa], ',', '0'}; /* before LLVM 17 it may not be const */
  LLVMTypeRef type = LLVMTypeOf(v), function = LLVMFunctionType(type, &type, 1, false);
  nxl_ref nothing = LLVMGetInlineAsm(function, "", 0, constraint, sizeof constraint, false, false,
                                     LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(e->builder, function, nothing, &v, 1, "");
}

/* In transposes, interleaves are chained, and LLVM searches for ways to combine them into fewer
 * shuffles. There are none, and the search took two thirds of the compile time of such a kernel. So
 * after every second one the value is made opaque. */
static nxl_ref interleaved(nxl_emitter *e, const nxk_instr *in, nxl_ref v) {
  static const uint32_t register_bits[NXL_ISAS] = {0, 256, 512, 128};
  uint32_t depth = 0, bits = in->lanes * (uint32_t)nxi_dtypes[in->dtype].bits;
  for (const nxk_instr *i = in; i->op == NXK_interleave_low || i->op == NXK_interleave_high;
       depth++)
    i = &e->k->instrs[i->args[0]];
  return depth % 2 == 0 && bits == register_bits[e->isa] && in->dtype != NX_BOOL ? opaque(e, v) : v;
}

static nxl_ref shuffle(nxl_emitter *e, nxl_ref a, nxl_ref b, const uint32_t *from, uint32_t n) {
  nxl_ref order[MOST_LANES] = {0};
  for (uint32_t l = 0; l < n; l++) order[l] = nxl_int(e, e->i32, 1, from[l]);
  return LLVMBuildShuffleVector(e->builder, a, b, LLVMConstVector(order, n), "");
}

static nxl_ref permute(nxl_emitter *e, nxl_ref v, const uint32_t *from, uint32_t n) {
  return shuffle(e, v, LLVMGetPoison(LLVMTypeOf(v)), from, n);
}

nxl_ref nxl_interleave(nxl_emitter *e, const nxk_instr *in) {
  uint32_t from[MOST_LANES] = {0}, first = in->op == NXK_interleave_high ? in->lanes / 2u : 0;
  for (uint32_t l = 0; l < in->lanes; l++) from[l] = first + l / 2 + (l % 2 ? in->lanes : 0u);
  nxl_ref a = e->values[in->args[0]], b = e->values[in->args[1]];
  return interleaved(e, in, shuffle(e, a, b, from, in->lanes));
}

static nxl_ref concatenated(nxl_emitter *e, nxl_ref a, nxl_ref b) {
  uint32_t from[MOST_LANES] = {0}, n = nxl_lanes_of(a) + nxl_lanes_of(b);
  for (uint32_t l = 0; l < n; l++) from[l] = l;
  return shuffle(e, a, b, from, n);
}

nxl_ref nxl_concat(nxl_emitter *e, const nxk_instr *in) {
  return concatenated(e, e->values[in->args[0]], e->values[in->args[1]]);
}

/* ---- rows of vectors, in registers */

typedef struct row {
  uint32_t k;     /* vectors */
  uint32_t lanes; /* of a register */
  uint32_t run;   /* lanes that can be permuted at the price of one instruction */
  uint32_t n;     /* registers of all vectors */
  bool bytes;     /* whole registers of bytes */
  nxl_ref at[MOST_REGISTERS];
} row;

static void init_row(const nxl_emitter *e, nx_dtype t, uint32_t lanes, uint32_t k, row *r) {
  static const uint32_t register_bytes[NXL_ISAS] = {16, 32, 64, 16};
  uint32_t size = t == NX_BOOL ? 1 : (uint32_t)nxi_dtype_size(t);
  uint32_t most = register_bytes[e->isa] / size;
  *r = (row){.k = k, .lanes = lanes < most ? lanes : most};
  r->bytes = size == 1 && r->lanes == most;
  r->run = e->isa == NXL_AVX2 && size < 4 && r->lanes * size == 32 ? r->lanes / 2 : r->lanes;
}

static nxl_ref register_of(nxl_emitter *e, nxl_ref v, uint32_t first, uint32_t n) {
  return n == nxl_lanes_of(v) ? v : nxl_slice(e, v, first, n);
}

/* Lanes of bool are bytes here: masks cannot be shuffled well. */
static nxl_ref as_bytes(nxl_emitter *e, const nxk_instr *in, nxl_ref v) {
  return in->dtype == NX_BOOL ? LLVMBuildZExt(e->builder, v, nxl_vector_of(e->i8, in->lanes), "")
                              : v;
}

static nxl_ref from_bytes(nxl_emitter *e, const nxk_instr *in, nxl_ref v) {
  return in->dtype == NX_BOOL
             ? LLVMBuildICmp(e->builder, LLVMIntNE, v, LLVMConstNull(LLVMTypeOf(v)), "")
             : v;
}

/* Joins n registers, a power of two. */
nxl_ref nxl_join_registers(nxl_emitter *e, nxl_ref *at, uint32_t n) {
  for (; n > 1; n /= 2)
    for (uint32_t i = 0; i < n / 2; i++) at[i] = concatenated(e, at[2 * i], at[2 * i + 1]);
  return at[0];
}

/* ---- taking apart */

/* One half of `a`, then one of `b`. */
static nxl_ref halves(nxl_emitter *e, nxl_ref a, uint32_t of_a, nxl_ref b, uint32_t of_b) {
  uint32_t from[MOST_LANES] = {0}, n = nxl_lanes_of(a), half = n / 2;
  for (uint32_t l = 0; l < half; l++) {
    from[l] = l + of_a * half;
    from[l + half] = n + l + of_b * half;
  }
  return shuffle(e, a, b, from, n);
}

/* The six runs of three registers of a row, where a register holds two: puts the runs 0, 1, 2 in
 * the first halves and 3, 4, 5 in the second ones. */
static void split_runs(nxl_emitter *e, nxl_ref *x) {
  nxl_ref a = x[0], b = x[1], c = x[2];
  x[0] = halves(e, a, 0, b, 1);
  x[1] = halves(e, a, 1, c, 0);
  x[2] = halves(e, b, 0, c, 1);
}

/* The inverse. */
static void join_runs(nxl_emitter *e, nxl_ref *x) {
  nxl_ref a = x[0], b = x[1], c = x[2];
  x[0] = halves(e, a, 0, b, 0);
  x[1] = halves(e, c, 0, a, 1);
  x[2] = halves(e, b, 1, c, 1);
}

/* For a lane of a run: which of three registers of a row has a lane there whose place in the row
 * leaves the remainder `rest` when divided by 3. */
static uint32_t owner(uint32_t run, uint32_t lane, uint32_t rest) {
  uint32_t j = 0;
  while ((j * run + lane) % 3 != rest) j++;
  return j;
}

/* Lane l is lane l of the register x[owners[l]]. */
static nxl_ref select_of_three(nxl_emitter *e, const nxl_ref *x, const uint32_t *owners,
                               uint32_t n) {
  uint32_t two[MOST_LANES] = {0}, three[MOST_LANES] = {0};
  for (uint32_t l = 0; l < n; l++) {
    two[l] = owners[l] == 1 ? n + l : l;
    three[l] = owners[l] == 2 ? n + l : l;
  }
  return shuffle(e, shuffle(e, x[0], x[1], two, n), x[2], three, n);
}

/* Every third lane of three registers, from lane `first` on. */
static nxl_ref third_lanes(nxl_emitter *e, const row *r, const nxl_ref *from, uint32_t first) {
  nxl_ref x[3] = {from[0], from[1], from[2]};
  uint32_t owners[MOST_LANES] = {0}, order[MOST_LANES] = {0}, n = r->lanes, run = r->run;
  if (run < n) split_runs(e, x);
  for (uint32_t l = 0; l < n; l++) {
    owners[l] = owner(run, l % run, first);
    order[l] = l - l % run + (l % run * 3 + first) % run;
  }
  return permute(e, select_of_three(e, x, owners, n), order, n);
}

/* Every second lane of two registers, from lane `a` of x and `b` of y on. */
static nxl_ref second_lanes(nxl_emitter *e, nxl_ref x, nxl_ref y, uint32_t a, uint32_t b) {
  uint32_t from[MOST_LANES] = {0}, n = nxl_lanes_of(x);
  for (uint32_t l = 0; l < n; l++) from[l] = l < n / 2 ? 2 * l + a : 2 * l + b;
  return shuffle(e, x, y, from, n);
}

/* Every fourth lane of four registers, from lane first[i] of each on. Bytes are taken apart twice,
 * each time by an instruction or a few; what LLVM finds if it looks at both together is no shorter,
 * and the search takes two thirds of a compilation. */
static nxl_ref fourth_lanes(nxl_emitter *e, const row *r, const nxl_ref *x, const uint32_t *first) {
  nxl_ref low = second_lanes(e, x[0], x[1], first[0] % 2, first[1] % 2),
          high = second_lanes(e, x[2], x[3], first[2] % 2, first[3] % 2);
  uint32_t from[MOST_LANES] = {0}, n = nxl_lanes_of(low);
  if (r->bytes && e->isa != NXL_GENERIC) low = opaque(e, low), high = opaque(e, high);
  for (uint32_t l = 0; l < n; l++) from[l] = 2 * l + first[4 * l / n] / 2;
  return shuffle(e, low, high, from, n);
}

/* Moves the lanes of the last vector down by `overlap`, so that the row has no gap. */
static nxl_ref moved_down(nxl_emitter *e, nxl_ref v, uint32_t overlap) {
  uint32_t from[MOST_LANES] = {0}, n = nxl_lanes_of(v);
  for (uint32_t l = 0; l < n; l++) from[l] = l + overlap < n ? l + overlap : n - 1;
  return permute(e, v, from, n);
}

nxl_ref nxl_take_apart(nxl_emitter *e, nx_dtype t, const nxl_ref *vectors, uint32_t k,
                       uint32_t lane, uint32_t overlap) {
  row r;
  uint32_t lanes = nxl_lanes_of(vectors[0]);
  init_row(e, t, lanes, k, &r);
  uint32_t each = lanes / r.lanes;
  for (uint32_t i = 0; i < k; i++) {
    nxl_ref v = i + 1 == k && k == 3 && overlap ? moved_down(e, vectors[i], overlap) : vectors[i];
    for (uint32_t j = 0; j < each; j++) r.at[r.n++] = register_of(e, v, j * r.lanes, r.lanes);
  }
  for (uint32_t j = 0; j < each; j++) {
    const nxl_ref *x = r.at + j * k;
    uint32_t first[4] = {0};
    for (uint32_t i = 0; i < k; i++) first[i] = lane + (j * k + i >= r.n - each ? overlap : 0);
    r.at[j] = k == 2   ? second_lanes(e, x[0], x[1], first[0], first[1])
              : k == 3 ? third_lanes(e, &r, x, lane)
                       : fourth_lanes(e, &r, x, first);
  }
  return nxl_join_registers(e, r.at, each);
}

nxl_ref nxl_deinterleave(nxl_emitter *e, const nxk_instr *in) {
  nxl_ref vectors[4] = {NULL};
  for (uint32_t i = 0; i < in->n_args; i++) vectors[i] = as_bytes(e, in, e->values[in->args[i]]);
  return from_bytes(
      e, in,
      nxl_take_apart(e, in->dtype, vectors, in->n_args, nxk_first_of(in), nxk_overlap_of(in)));
}

/* ---- interleaving */

/* Register `piece` of the three that the lanes of three registers make in turn. Each of them is
 * permuted once for all pieces. */
static nxl_ref third_piece(nxl_emitter *e, const row *r, const nxl_ref *from, uint32_t piece) {
  nxl_ref x[3], made[3] = {NULL};
  uint32_t order[MOST_LANES] = {0}, owners[MOST_LANES] = {0}, n = r->lanes, run = r->run;
  for (uint32_t i = 0; i < 3; i++) {
    for (uint32_t l = 0; l < n; l++)
      order[l] = l - l % run + (owner(run, l % run, i) * run + l % run) / 3;
    x[i] = permute(e, from[i], order, n);
  }
  for (uint32_t q = 0; q < 3; q++) {
    if (run == n && q != piece) continue;
    for (uint32_t l = 0; l < n; l++) owners[l] = (q * run + l % run) % 3;
    made[q] = select_of_three(e, x, owners, n);
  }
  if (run < n) join_runs(e, made);
  return made[piece];
}

static nxl_ref interleaved_half(nxl_emitter *e, nxl_ref a, nxl_ref b, uint32_t half) {
  uint32_t from[MOST_LANES] = {0}, n = nxl_lanes_of(a);
  for (uint32_t l = 0; l < n; l++) from[l] = half * n / 2 + l / 2 + (l % 2 ? n : 0);
  return shuffle(e, a, b, from, n);
}

static nxl_ref fourth_piece(nxl_emitter *e, const nxl_ref *x, uint32_t piece) {
  nxl_ref even = interleaved_half(e, x[0], x[2], piece / 2),
          odd = interleaved_half(e, x[1], x[3], piece / 2);
  return interleaved_half(e, even, odd, piece % 2);
}

nxl_ref nxl_interleave_all(nxl_emitter *e, const nxk_instr *in) {
  row r;
  init_row(e, in->dtype, in->lanes, in->n_args, &r);
  uint32_t each = in->lanes / r.lanes, k = r.k == 3 ? 3 : 4;
  for (uint32_t j = 0; j < each; j++) {
    uint32_t at = (uint32_t)in->imm * each + j; /* number of the register in the row */
    nxl_ref x[4] = {NULL};
    for (uint32_t i = 0; i < k; i++)
      x[i] = register_of(e, as_bytes(e, in, e->values[in->args[i]]), at / k * r.lanes, r.lanes);
    r.at[j] = k == 3 ? third_piece(e, &r, x, at % k) : fourth_piece(e, x, at % k);
  }
  return from_bytes(e, in, nxl_join_registers(e, r.at, each));
}
