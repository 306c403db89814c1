/* SPDX-License-Identifier: ISC */
/* A function is one loop over a block where there is such a loop (block_functions.h), and else its
 * expansion as a list of loops. Each value has a place: an operand, a constant, which is repeated
 * over a block of its own, or one of the temporaries, which values share that are not needed at the
 * same time. A loop of the expansion repeats its steps; its carries have two places, for this
 * iteration and for the next. */
#include <stdatomic.h>
#include <string.h>

#include "block.h"
#include "interp_graph.h"
#include "ir/kernel/build.h"

enum { CELL = NXG_BLOCK * 8, MOST_TEMPORARIES = 128, MOST_OPERANDS = 4, DEEPEST = 4 };

typedef enum step_kind {
  COMPUTE, /* by `loop` */
  SKIP,    /* `count` steps, if place a has only zeros */
  MOVE,    /* place a to the result */
  REPEAT,  /* what follows, to its AGAIN, `count` times */
  AGAIN    /* `count`: the first step to be repeated */
} step_kind;
typedef struct block_step {
  nxg_block_loop *loop;
  uint16_t result, a, b, c;
  step_kind kind;
  uint32_t count;
} block_step;

/* Places are numbered: operands, constants, temporaries. */
struct nxg_function {
  block_step *steps;
  char *constants;
  uint32_t n_steps, n_operands, n_constants, n_temporaries;
  uint16_t result;
  bool is_loop; /* of one operand */
  int64_t size;
};

/* ---- making */

typedef struct making {
  const nxk_kernel *k;
  nxg_function *f;
  nxg_block_loops *loops;
  uint32_t *last_use; /* of each value: the instruction */
  uint16_t *place;    /* of each value */
  uint16_t *next;     /* of each carry: the place of its next value */
  uint32_t *opened;   /* of each cold block or loop: its step */
  uint32_t *closed;   /* of each of them: its end */
  bool used[MOST_TEMPORARIES];
} making;

/* The value that an argument stands for: of a cold block it is its condition. */
static nxk_value argument(const nxk_kernel *k, const nxk_instr *in, uint32_t i) {
  nxk_value v = in->args[i];
  return k->instrs[v].op == NXK_cold ? k->instrs[v].args[0] : v;
}

static void find_ends(making *m) {
  nxk_value open[16];
  uint32_t depth = 0;
  for (uint32_t v = 0; v < m->k->n_instrs; v++) {
    nxk_op op = (nxk_op)m->k->instrs[v].op;
    if ((op == NXK_cold || op == NXK_for) && depth < 16) open[depth++] = v;
    if (op == NXK_end && depth > 0) m->closed[open[--depth]] = v;
  }
}

/* What a loop uses, of what was computed before it, is needed until its end. */
static nxk_value needed_until(const making *m, nxk_value x, nxk_value user) {
  nxk_value last = user;
  for (uint32_t b = m->k->instrs[user].block; b != NXK_NONE && b > x; b = m->k->instrs[b].block)
    if (m->k->instrs[b].op == NXK_for) last = m->closed[b];
  return last;
}

static void find_last_uses(making *m, nxk_value result) {
  for (uint32_t v = 0; v < m->k->n_instrs; v++) {
    const nxk_instr *in = &m->k->instrs[v];
    m->last_use[v] = v;
    if (in->op == NXK_carry) m->last_use[v] = m->closed[in->block];
    for (uint32_t i = 0; i < in->n_args; i++) {
      nxk_value x = argument(m->k, in, i), last = needed_until(m, x, v);
      if (last > m->last_use[x]) m->last_use[x] = last;
    }
  }
  m->last_use[result] = UINT32_MAX;
}

static bool take_temporary(making *m, uint16_t *place) {
  uint32_t i = 0;
  while (i < MOST_TEMPORARIES && m->used[i]) i++;
  if (i == MOST_TEMPORARIES) return false;
  m->used[i] = true;
  if (i >= m->f->n_temporaries) m->f->n_temporaries = i + 1;
  *place = (uint16_t)(m->f->n_operands + m->f->n_constants + i);
  return true;
}

static void free_temporary(making *m, uint16_t *place) {
  uint32_t first = m->f->n_operands + m->f->n_constants;
  if (*place >= first && *place != UINT16_MAX) m->used[*place - first] = false;
  *place = UINT16_MAX;
}

/* Frees what nobody needs after instruction v: at the end of a loop of all values before it. */
static void free_temporaries(making *m, nxk_value v) {
  const nxk_instr *in = &m->k->instrs[v];
  for (uint32_t i = 0; i <= in->n_args && in->op != NXK_end; i++) {
    nxk_value x = i < in->n_args ? argument(m->k, in, i) : v;
    if (m->last_use[x] == v) free_temporary(m, &m->place[x]);
  }
  for (nxk_value x = 0; x < v && in->op == NXK_end; x++) {
    if (m->last_use[x] == v) free_temporary(m, &m->place[x]);
    if (m->k->instrs[x].op == NXK_carry && m->closed[m->k->instrs[x].block] == v)
      free_temporary(m, &m->next[x]);
  }
}

static bool make_operation(making *m, nxk_value v) {
  const nxk_instr *in = &m->k->instrs[v];
  nxk_op op = in->op == NXK_blend ? NXK_select : (nxk_op)in->op;
  if (op >= NXK_SCALAR_COUNT || in->n_args == 0 || in->lanes != 1) return false;
  nx_dtype from = (nx_dtype)m->k->instrs[in->args[in->n_args - 1]].dtype;
  block_step *s = &m->f->steps[m->f->n_steps++];
  uint16_t at[3] = {0};
  for (uint32_t i = 0; i < in->n_args; i++) at[i] = m->place[argument(m->k, in, i)];
  s->loop = m->loops(op, from, (nx_dtype)in->dtype);
  if (s->loop == NULL || !take_temporary(m, &m->place[v])) return false;
  s->result = m->place[v];
  s->a = at[0];
  s->b = in->n_args > 1 ? at[1] : at[0];
  s->c = in->n_args > 2 ? at[2] : at[0];
  return true;
}

static block_step *add_step(making *m, step_kind kind, uint16_t result, uint16_t a) {
  block_step *s = &m->f->steps[m->f->n_steps++];
  *s = (block_step){.kind = kind, .result = result, .a = a};
  return s;
}

/* Iterations are counted by carries; nothing may use the index. */
static bool make_repeat(making *m, nxk_value v) {
  const nxk_loop *loop = &m->k->loops[m->k->instrs[v].imm];
  bool counted = loop->lower.value == NXK_NONE && loop->upper.value == NXK_NONE && loop->step == 1;
  if (!counted || loop->upper.constant <= loop->lower.constant) return false;
  for (nxk_value c = v + 1; m->k->instrs[c].op == NXK_carry; c++) {
    if (!take_temporary(m, &m->place[c]) || !take_temporary(m, &m->next[c])) return false;
    add_step(m, MOVE, m->place[c], m->place[m->k->instrs[c].args[0]]);
    add_step(m, MOVE, m->next[c], m->place[c]);
  }
  m->opened[v] = m->f->n_steps;
  add_step(m, REPEAT, 0, 0)->count = (uint32_t)(loop->upper.constant - loop->lower.constant);
  return true;
}

static void make_end(making *m, nxk_value block, nxk_value v) {
  uint32_t opened = m->opened[block];
  if (m->k->instrs[block].op == NXK_cold) {
    m->f->steps[opened].count = m->f->n_steps - opened;
  } else {
    for (nxk_value c = block + 1; m->k->instrs[c].op == NXK_carry; c++)
      add_step(m, MOVE, m->place[c], m->next[c]);
    add_step(m, AGAIN, 0, 0)->count = opened + 1;
  }
  free_temporaries(m, v);
}

static bool make_step(making *m, nxk_value v) {
  const nxk_instr *in = &m->k->instrs[v];
  switch (in->op) {
    case NXK_const:
    case NXK_param:
    case NXK_carry: return true; /* its loop has placed it */
    case NXK_for: return make_repeat(m, v);
    case NXK_cold:
      m->opened[v] = m->f->n_steps;
      add_step(m, SKIP, 0, m->place[in->args[0]]);
      return true;
    case NXK_end: make_end(m, in->block, v); return true;
    case NXK_next:
      add_step(m, MOVE, m->next[in->args[0]], m->place[in->args[1]]);
      free_temporaries(m, v);
      return true;
    default: break;
  }
  bool good = make_operation(m, v);
  free_temporaries(m, v);
  return good;
}

/* Gives operands and constants their places, and repeats each constant over its block. */
static bool place_leaves(making *m) {
  nxg_function *f = m->f;
  for (uint32_t v = 0; v < m->k->n_instrs; v++) f->n_constants += m->k->instrs[v].op == NXK_const;
  f->constants = nxi_calloc((size_t)f->n_constants + 1, CELL);
  if (f->constants == NULL) return false;
  uint32_t n = 0;
  for (uint32_t v = 0; v < m->k->n_instrs; v++) {
    const nxk_instr *in = &m->k->instrs[v];
    m->place[v] = UINT16_MAX;
    if (in->op == NXK_param) m->place[v] = (uint16_t)in->imm;
    if (in->op != NXK_const) continue;
    int64_t size = nxi_dtype_size((nx_dtype)in->dtype);
    for (int64_t i = 0; i < NXG_BLOCK; i++)
      nxi_store_element(f->constants + (size_t)n * CELL + i * size, (nx_dtype)in->dtype, in->imm);
    m->place[v] = (uint16_t)(f->n_operands + n++);
  }
  return true;
}

static bool make(making *m, nxk_value result) {
  nxg_function *f = m->f;
  uint32_t n = m->k->n_instrs;
  f->steps = nxi_calloc(4 * (size_t)n, sizeof *f->steps); /* a carry has three moves */
  m->last_use = nxi_calloc(3 * (size_t)n, sizeof *m->last_use);
  m->place = nxi_calloc(2 * (size_t)n, sizeof *m->place);
  bool good = f->steps && m->last_use && m->place && place_leaves(m);
  if (good) {
    m->opened = m->last_use + n;
    m->closed = m->last_use + 2 * (size_t)n;
    m->next = m->place + n;
    find_ends(m);
    find_last_uses(m, result);
  }
  for (uint32_t v = 0; v < n && good; v++) good = make_step(m, v);
  if (good) f->result = m->place[result];
  nxi_free(m->last_use);
  nxi_free(m->place);
  return good;
}

/* A function that is one loop. */
static bool make_of_loop(nxg_function *f, nxg_block_loop *loop) {
  f->steps = nxi_calloc(1, sizeof *f->steps);
  f->constants = nxi_calloc(1, CELL);
  if (f->steps == NULL || f->constants == NULL) return false;
  f->is_loop = true;
  f->n_steps = 1;
  f->n_temporaries = 1;
  f->result = (uint16_t)f->n_operands;
  f->steps[0] = (block_step){.loop = loop, .result = f->result};
  return true;
}

static bool make_of_expansion(nxg_function *f, nxk_op op, nx_dtype type, nxg_block_loops *loops) {
  nxk_kernel *k = nxk_create(NXK_BOUND, nxk_op_name(op));
  bool good = false;
  if (k) {
    nxk_value args[MOST_OPERANDS] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
    for (uint32_t i = 0; i < f->n_operands; i++) args[i] = nxk_param(k, nxk_add_param(k, type));
    nxk_value result = nxk_expand_function(k, op, args);
    making m = {.k = k, .f = f, .loops = loops};
    good = !k->failed && result < k->n_instrs && make(&m, result);
  }
  nxk_destroy(k);
  return good;
}

nxg_function *nxg_function_create(nxk_op op, nx_dtype type, nxg_block_loops *loops) {
  nxg_function *f = nxi_calloc(1, sizeof *f);
  if (f == NULL) return NULL;
  f->n_operands = (uint32_t)nxk_scalars[op].arity;
  f->size = nxi_dtype_size(type);
  nxg_block_loop *loop = loops(op, type, type);
  if (loop ? make_of_loop(f, loop) : make_of_expansion(f, op, type, loops)) return f;
  nxg_function_destroy(f);
  return NULL;
}

void nxg_function_destroy(nxg_function *f) {
  if (f == NULL) return;
  nxi_free(f->steps);
  nxi_free(f->constants);
  nxi_free(f);
}

/* ---- applying */

static bool all_zero(const char *bools) {
  uint64_t any = 0, words[NXG_BLOCK / 8];
  memcpy(words, bools, sizeof words);
  for (size_t i = 0; i < NXG_BLOCK / 8; i++) any |= words[i];
  return any == 0;
}

static void run_block(const nxg_function *f, char *const *at) {
  uint32_t left[DEEPEST] = {0}, depth = 0;
  for (uint32_t i = 0; i < f->n_steps; i++) {
    const block_step *s = &f->steps[i];
    switch (s->kind) {
      case COMPUTE: s->loop(at[s->result], at[s->a], at[s->b], at[s->c]); break;
      case SKIP: i += all_zero(at[s->a]) ? s->count - 1 : 0; break;
      case MOVE: memcpy(at[s->result], at[s->a], CELL); break;
      case REPEAT: left[depth++] = s->count; break;
      case AGAIN:
        if (--left[depth - 1] > 0) i = s->count - 1;
        else depth--;
        break;
      default: break;
    }
  }
}

/* The last block may be a part; what follows in it is zero, so that nobody reads past operands. */
void nxg_function_apply(const nxg_function *f, void *result, const void *const *operands,
                        int64_t n) {
  _Alignas(64) char ends[MOST_OPERANDS][CELL];
  _Alignas(64) char temporaries[f->n_temporaries + 1][CELL];
  char *at[f->n_operands + f->n_constants + f->n_temporaries + 1];
  uint32_t first = f->n_operands + f->n_constants;
  for (uint32_t i = 0; i < f->n_constants; i++)
    at[f->n_operands + i] = f->constants + (size_t)i * CELL;
  for (uint32_t i = 0; i < f->n_temporaries; i++) at[first + i] = temporaries[i];
  for (int64_t done = 0; done < n; done += NXG_BLOCK) {
    int64_t bytes = (n - done < NXG_BLOCK ? n - done : NXG_BLOCK) * f->size;
    for (uint32_t i = 0; i < f->n_operands; i++) {
      at[i] = (char *)(uintptr_t)operands[i] + done * f->size;
      if (n - done >= NXG_BLOCK) continue;
      memset(ends[i], 0, (size_t)(NXG_BLOCK * f->size));
      at[i] = memcpy(ends[i], at[i], (size_t)bytes);
    }
    run_block(f, at);
    memcpy((char *)result + done * f->size, at[f->result], (size_t)bytes);
  }
}

/* ---- the functions of graphs. They are made once in a process. */

static _Atomic(nxg_function *) functions[NXK_SCALAR_COUNT][NXI_DTYPE_COUNT];

static const nxg_function *find(nxk_op op, nx_dtype type) {
  nxg_function *f = atomic_load_explicit(&functions[op][type], memory_order_acquire), *other = NULL;
  if (f) return f;
  f = nxg_function_create(op, type, nxg_block_host());
  if (f && !atomic_compare_exchange_strong(&functions[op][type], &other, f)) {
    nxg_function_destroy(f); /* another thread was first */
    f = other;
  }
  return f;
}

/* Whole blocks of a function that is one loop need no temporaries. */
static int64_t apply_loop(const nxg_function *f, char *result, const void *const *operands,
                          int64_t n) {
  const char *x = operands[0];
  int64_t done = 0;
  for (; done + NXG_BLOCK <= n; done += NXG_BLOCK)
    f->steps[0].loop(result + done * f->size, x + done * f->size, NULL, NULL);
  return done;
}

static void apply(const nxg_step *s, void *result, const void *const *operands, int64_t n) {
  const nxg_function *f = find(s->scalar, nxi_compute_dtype(s->dtype));
  const int64_t done = f->is_loop ? apply_loop(f, result, operands, n) : 0;
  if (done == n) return;
  const char *rest[MOST_OPERANDS];
  for (uint32_t i = 0; i < f->n_operands; i++) rest[i] = (const char *)operands[i] + done * f->size;
  nxg_function_apply(f, (char *)result + done * f->size, (const void *const *)rest, n - done);
}

nxg_map_kernel nxg_find_function(nxk_op op, nx_dtype type) {
  return nxk_scalars[op].flags & NXK_FUNC && find(op, type) ? apply : NULL;
}

/* Measured, and rounded up: with wide vectors, without, and of narrow integers, which are evaluated
 * one after the other. */
double nxg_function_ns(nx_dtype t) {
  if (nxi_is_integer(t) && nxi_dtypes[t].bits < 32) return 12;
  return nxg_block_host() != nxg_block_generic ? 0.5 : 2.2;
}
