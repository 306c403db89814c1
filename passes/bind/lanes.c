/* SPDX-License-Identifier: ISC */
/* How many lanes the vectors of a loop have: the width of their values, the registers that these
 * need, how long the code is, and what of it really runs. */
#include "bind.h"

#include <string.h>

/* ---- the width of values, and how many are alive */

/* Whether v is i64 arithmetic on loop indices, which is kept as base and step and needs no
 * vector. */
static bool is_index_like(const nxk_kernel *k, nxk_value v, int depth) {
  const nxk_instr *in = &k->instrs[v];
  if (in->dtype != NX_I64 || depth == 0) return false;
  if (in->op == NXK_for || in->op == NXK_const || in->op == NXK_param) return true;
  if (in->op != NXK_add && in->op != NXK_sub && in->op != NXK_mul) return false;
  return is_index_like(k, in->args[0], depth - 1) && is_index_like(k, in->args[1], depth - 1);
}

/* The end of v if it is a cold block, else v. What vectors are like is decided by the code outside
 * cold blocks, since that is what runs. */
static nxk_value after_cold(const nxb_binder *b, nxk_value v) {
  return b->from->instrs[v].op == NXK_cold ? b->end_of[v] : v;
}

int64_t nxb_widest(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop) {
  const nxk_kernel *k = b->from;
  int64_t computed = 0, moved = 1;
  for (nxk_value v = first; v <= last; v = after_cold(b, v) + 1) {
    const nxk_instr *in = &k->instrs[v];
    if (loop != NXK_NONE && !nxb_depends(b, v, loop)) continue;
    if (in->op == NXK_store || in->op == NXK_load) {
      int64_t size = nxi_dtype_size(k->buffers[k->accesses[in->imm].buffer].dtype);
      if (size > moved) moved = size;
    } else if (in->op < NXK_SCALAR_COUNT && in->dtype != NX_BOOL && !is_index_like(k, v, 6)) {
      int64_t size = nxi_dtype_size(in->dtype);
      if (size > computed) computed = size;
    }
  }
  return computed ? computed : moved;
}

/* Whether v is loaded as it lies in memory, so that an instruction may have it as an operand there
 * instead of in a register. */
static bool is_operand_in_memory(const nxb_binder *b, nxk_value v, nxk_value loop) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op != NXK_load || nxi_dtypes[in->dtype].bits < 32) return false;
  const nxk_access *a = &b->from->accesses[in->imm];
  bool computed;
  return a->index == NXK_NONE && a->mask == NXK_NONE && nxb_stride(b, a, loop, &computed) == 1 &&
         !computed;
}

/* Which values count: all that vary along the loop; of these only numbers, no indices and no
 * conditions; of these only what must be in registers. */
typedef enum counted { ALL, NUMBERS, IN_REGISTERS } counted;

/* The largest number of values that are live at the same time. */
static uint32_t pressure(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop,
                         counted which) {
  const nxk_kernel *k = b->from;
  uint32_t n = last - first + 1, alive = 0, most = 1;
  /* how many values are last used at an instruction */
  uint32_t *dies = nxi_calloc(n, sizeof *dies);
  uint8_t *used = nxi_calloc(n, 1);
  bool ok = dies && used; /* if memory is exhausted: as if nothing were live */
  for (nxk_value v = last + 1; ok && v-- > first;)
    for (int i = 0; i < k->instrs[v].n_args; i++) {
      nxk_value a = k->instrs[v].args[i];
      if (a < first || a > last || used[a - first] || k->instrs[a].op == NXK_cold) continue;
      if (loop != NXK_NONE && !nxb_depends(b, a, loop)) continue;
      if (which >= NUMBERS && (k->instrs[a].dtype == NX_BOOL || is_index_like(k, a, 6))) continue;
      if (which == IN_REGISTERS && loop != NXK_NONE && is_operand_in_memory(b, a, loop)) continue;
      used[a - first] = 1;
      dies[v - first]++;
    }
  nxk_value hot = first; /* the next instruction outside cold blocks */
  for (uint32_t i = 0; ok && i < n; i++) {
    alive += used[i];
    if (first + i == hot) {
      if (alive > most) most = alive;
      hot = after_cold(b, hot) + 1;
    }
    alive -= dies[i];
  }
  nxi_free(dies);
  nxi_free(used);
  return most;
}

/* Whether a run is reduced in several ways at once. */
static bool has_partial_results(const nxb_binder *b, nxk_value first, nxk_value last) {
  enum { SEVERAL = 3 };
  uint32_t n = 0;
  for (nxk_value v = first; v <= last && n < SEVERAL; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op == NXK_for) n = 0;
    n += in->op == NXK_reduce;
  }
  return n == SEVERAL;
}

/* ---- cache lines */

/* Whether vectors along the loop of a multiple of `line` elements are whole cache lines of what the
 * access writes. */
static bool walks_lines(const nxb_binder *b, const nxk_access *a, nxk_value loop, int64_t line) {
  bool along = false;
  if (!b->from->buffers[a->buffer].aligned || a->index != NXK_NONE || a->mask != NXK_NONE ||
      a->offset % line != 0)
    return false;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    along = along || (a->terms[i].index == loop && a->terms[i].stride == 1);
    if (a->terms[i].index != loop && a->terms[i].stride % line != 0) return false;
  }
  return along;
}

int64_t nxb_line_lanes(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop) {
  int64_t lanes = 1;
  for (nxk_value v = first; v <= last; v++) {
    if (b->from->instrs[v].op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
    int64_t line = nxk_line_of(b->from, a);
    if ((a->flags & NXK_NONTEMPORAL) && walks_lines(b, a, loop, line) && line > lanes) lanes = line;
  }
  return lanes;
}

/* Whether both accesses are at the start of a cache line in the same iterations of all loops. */
static bool lies_alike(const nxb_binder *b, const nxk_access *x, const nxk_access *y,
                       int64_t line) {
  bool alike = nxi_dtype_size(b->from->buffers[x->buffer].dtype) ==
                   nxi_dtype_size(b->from->buffers[y->buffer].dtype) &&
               (x->offset - y->offset) % line == 0 && x->n_terms == y->n_terms;
  for (uint32_t i = 0; alike && i < x->n_terms; i++)
    alike = x->terms[i].index == y->terms[i].index &&
            (x->terms[i].stride - y->terms[i].stride) % line == 0;
  return alike;
}

static bool any_past_caches(const nxb_binder *b, nxk_value first, nxk_value last) {
  bool any = false;
  for (nxk_value v = first; v <= last; v++)
    any = any || (b->from->instrs[v].op == NXK_store &&
                  (b->from->accesses[b->from->instrs[v].imm].flags & NXK_NONTEMPORAL));
  return any;
}

/* Whether a store counts: one that goes past the caches or, if none does and plain ones count, one
 * to what no cache of a core holds. A vector there that crosses lines waits for both. */
static bool wants_lines(const nxb_binder *b, const nxk_access *a, bool past, bool plain) {
  const nxk_buffer *to = &b->from->buffers[a->buffer];
  if (past) return (a->flags & NXK_NONTEMPORAL) != 0;
  return plain && !b->target->generic && b->threads == 0 && to->kind == NXK_OUT &&
         to->elements * (int64_t)nxi_dtype_size(to->dtype) > b->target->l2_bytes;
}

const nxk_access *nxb_shifted_store(const nxb_binder *b, nxk_value first, nxk_value last,
                                    nxk_value loop, bool plain) {
  const nxk_access *to = NULL;
  const bool past = any_past_caches(b, first, last);
  for (nxk_value v = first; v <= last; v++) {
    if (b->from->instrs[v].op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
    int64_t line = nxk_line_of(b->from, a);
    bool computed;
    if (!wants_lines(b, a, past, plain)) continue;
    if (!b->from->buffers[a->buffer].aligned || a->index != NXK_NONE || a->mask != NXK_NONE ||
        nxb_stride(b, a, loop, &computed) != 1 || computed || walks_lines(b, a, loop, line) ||
        (to && !lies_alike(b, to, a, line)))
      return NULL;
    to = a;
  }
  return to;
}

/* ---- the choice */

/* The cost of code whose values are at most `widest` bytes; wider ones, in cold blocks, take
 * several registers and as many instructions. */
static uint32_t cost_by_width(const nxb_binder *b, nxk_value first, nxk_value last,
                              int64_t widest) {
  int64_t more = 0;
  for (nxk_value v = first; v <= last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    int64_t size = in->op < NXK_SCALAR_COUNT ? (int64_t)nxi_dtype_size(in->dtype) : 0;
    if (size > widest) more += nxk_scalars[in->op].cost * (size / widest - 1);
  }
  return nxb_code_cost(b, first, last) + (uint32_t)more;
}

/* The most instructions of [first, last] outside cold blocks that wait for each other. */
static uint32_t longest_chain(const nxb_binder *b, nxk_value first, nxk_value last) {
  const nxk_kernel *k = b->from;
  uint32_t *length = nxi_calloc(last - first + 1, sizeof *length), most = 0;
  for (nxk_value v = first; length && v <= last; v = after_cold(b, v) + 1) {
    const nxk_instr *in = &k->instrs[v];
    uint32_t before = 0;
    for (int i = 0; i < in->n_args; i++) {
      nxk_value a = in->args[i];
      if (a >= first && a < v && length[a - first] > before) before = length[a - first];
    }
    length[v - first] = before + (in->op < NXK_SCALAR_COUNT && nxk_scalars[in->op].cost > 0);
    if (length[v - first] > most) most = length[v - first];
  }
  nxi_free(length);
  return most;
}

/* The points of a region, or `enough` where they are more; 0 where they are not known. Code that
 * serves any extent is written for many points. */
static int64_t known_points(const nxb_binder *b, int64_t enough) {
  int64_t points = b->region->n_stages > 0 ? 0 : 1;
  if (b->target->generic && points > 0) return enough;
  for (uint32_t i = 0; i < b->region->n_outer && points < enough; i++)
    points *= b->region->outer[i].extent > 0 ? b->region->outer[i].extent : 0;
  return points;
}

/* The instructions that compute, outside cold blocks. */
static uint32_t count_computing(const nxb_binder *b, nxk_value first, nxk_value last) {
  uint32_t n = 0;
  for (nxk_value v = first; v <= last; v = after_cold(b, v) + 1) {
    const nxk_instr *in = &b->from->instrs[v];
    n += in->op < NXK_SCALAR_COUNT && nxk_scalars[in->op].cost > 0;
  }
  return n;
}

/* Whether elementwise code is hardly anything but one chain: then a processor looks ahead to one or
 * two more iterations, and only what stands side by side in one hides that each instruction waits
 * for the one before. */
static bool is_a_chain(const nxb_binder *b, nxk_value first, nxk_value last) {
  enum { LEAST_CODE = 40, MOST_CODE = 150, LEAST_POINTS = 1 << 11 };
  const uint32_t n = count_computing(b, first, last);
  return n > LEAST_CODE && n <= MOST_CODE && known_points(b, LEAST_POINTS) >= LEAST_POINTS &&
         longest_chain(b, first, last) * 8 >= n * 7;
}

/* Whether code that is not short has a cold block. That runs for all lanes if one needs it. */
static bool is_long_with_cold(const nxb_binder *b, nxk_value first, nxk_value last) {
  enum { LEAST_CHAIN = 16 };
  bool cold = false;
  for (nxk_value v = first; v <= last && !cold; v++) cold = b->from->instrs[v].op == NXK_cold;
  return cold && longest_chain(b, first, last) >= LEAST_CHAIN;
}

/* Whether elementwise code waits for its own results most of the time: the iterations that would
 * hide that are more than a processor looks ahead. Two vectors side by side take longer to compile,
 * so there must be enough points; short chains of much code are left to the processor. */
static bool is_bound_by_latency(const nxb_binder *b, nxk_value first, nxk_value last,
                                uint32_t cost) {
  enum { LEAST_CODE = 40, MOST_CODE = 700, LEAST_CHAIN = 16, AT_ONCE = 4, LEAST_POINTS = 1 << 16 };
  if (cost < LEAST_CODE || cost > MOST_CODE || known_points(b, LEAST_POINTS) < LEAST_POINTS)
    return false;
  const uint32_t chain = longest_chain(b, first, last);
  return chain >= LEAST_CHAIN && cost <= AT_ONCE * chain;
}

/* Whether lanes along the loop are so far apart that they are accessed one by one; those that lie
 * close together are accessed as whole vectors (strided.c). */
static bool has_single_elements(const nxb_binder *b, nxk_value first, nxk_value last,
                                nxk_value loop) {
  enum { CLOSE = 4 };
  for (nxk_value v = first; v <= last && loop != NXK_NONE; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    bool computed;
    int64_t stride = nxb_stride(b, &b->from->accesses[in->imm], loop, &computed);
    if (!computed && (stride < -1 || stride > CLOSE)) return true;
  }
  return false;
}

/* Whether the region is a small part of the kernel, such as the border of an image. Its speed
 * matters little, and one vector at a time is compiled in a fraction of the time. In the generic
 * form extents decide nothing. */
static bool is_small_part(const nxb_binder *b) {
  enum { SMALL_SHARE = 16 };
  double points = 1;
  if (b->target->generic || b->threads != 0 || b->region->n_stages > 0) return false;
  for (uint32_t i = 0; i < b->region->n_outer; i++)
    if (b->region->outer[i].extent > 1) points *= (double)b->region->outer[i].extent;
  return points * SMALL_SHARE <= b->most_points;
}

int64_t nxb_largest_array(const nxb_binder *b) {
  int64_t most = 0;
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].elements > most) most = b->from->buffers[i].elements;
  return most;
}

/* Whether code had better be short than quick: first code, which runs once or twice, for so little
 * data that it takes less than what is saved. One vector at a time is compiled in half of the time.
 * Stages may go over their arrays several times. */
static bool is_brief(const nxb_binder *b) {
  enum { MOST_POINTS = 1 << 21, MOST_ELEMENTS = 1 << 19 };
  if (!b->target->hasty || b->threads != 0) return false;
  if (b->region->n_stages > 0) return nxb_largest_array(b) <= MOST_ELEMENTS;
  return known_points(b, MOST_POINTS) < MOST_POINTS;
}

uint16_t nxb_choose_lanes(const nxb_binder *b, nxk_value first, nxk_value last, nxk_value loop,
                          uint32_t registers) {
  enum { FEWEST = 4 };
  int64_t widest = nxb_widest(b, first, last, loop), lanes = b->target->vector_bytes / widest;
  uint32_t cost = cost_by_width(b, first, last, widest);
  uint32_t live =
      pressure(b, first, last, loop, has_partial_results(b, first, last) ? NUMBERS : ALL);
  uint32_t most = cost > 150 || is_long_with_cold(b, first, last) ? 1 : cost > 40 ? 2 : 4;
  const bool small = is_small_part(b), brief = is_brief(b);
  if (small && has_single_elements(b, first, last, loop)) return FEWEST;
  if (registers == 4 && !brief && live > 1 && is_a_chain(b, first, last)) {
    most = registers = 8;
    live = pressure(b, first, last, loop, IN_REGISTERS);
    if (live > 1) live--; /* a result takes the register of the operand that it replaces */
  }
  const uint32_t room = (b->target->vector_bytes >= 64 ? 24 : 12) / live;
  if (registers > most) registers = most;
  if (small || brief) registers = 1;
  while (registers > room && registers > 1) registers /= 2;
  if (registers == 1 && !brief && is_bound_by_latency(b, first, last, cost)) registers = 2;
  lanes *= registers;
  if (cost <= 16 && lanes * 2 == nxb_line_lanes(b, first, last, loop)) lanes *= 2;
  if (lanes < FEWEST) lanes = FEWEST;
  return lanes > NXB_MAX_LANES ? NXB_MAX_LANES : (uint16_t)lanes;
}
