/* SPDX-License-Identifier: ISC */
/* An elementwise kernel is one nest of outer loops over all elements, in the order of memory, which
 * loads and stores at the element where it is, or loads the only element of an operand, and
 * computes with scalar operations that graphs have, too. */
#include "custom_kernel.h"

#include <string.h>

#include "ir/kernel/kernel.h"
#include "runtime/record/error.h"
#include "runtime/record/node.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* ---- recognising */

typedef struct nest {
  const nxg_custom *f;
  const nxk_kernel *k;
  nxk_value loops[NXG_MAX_RANK]; /* outermost first */
  int64_t strides[NXG_MAX_RANK]; /* of the place in memory */
  uint32_t n, stored;            /* stored: a bit for each result */
  int64_t elements;
} nest;

/* The graph's operation that is a scalar operation; NXG_OP_COUNT: there is none. */
static nxg_op operation_of(const nxk_instr *in) {
  for (int op = 0; op < NXG_OP_COUNT; op++)
    if (nxg_ops[op].kind == NXG_KIND_MAP && nxg_ops[op].scalar == (int16_t)in->op &&
        nxg_ops[op].args == (int)in->n_args) /* NOLINT: of any sign */
      return (nxg_op)op;
  return NXG_OP_COUNT;
}

static bool take_loop(nest *s, nxk_value v) {
  const nxk_loop *l = &s->k->loops[s->k->instrs[v].imm];
  bool constant = l->lower.value == NXK_NONE && l->upper.value == NXK_NONE;
  if (l->kind != NXK_OUTER || !constant || l->lower.constant || l->step != 1 ||
      s->n == NXG_MAX_RANK)
    return false;
  s->loops[s->n++] = v;
  return !__builtin_mul_overflow(s->elements, l->upper.constant, &s->elements);
}

/* Strides are known once all loops are. */
static bool is_here(const nest *s, const nxk_access *a) {
  int64_t strides[NXG_MAX_RANK] = {0};
  if (a->offset || a->mask != NXK_NONE || a->index != NXK_NONE) return false;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    uint32_t at = 0;
    while (at < s->n && s->loops[at] != a->terms[i].index) at++;
    if (at == s->n) return false;
    strides[at] += a->terms[i].stride;
  }
  for (uint32_t i = 0; i < s->n; i++)
    if (strides[i] != s->strides[i]) return false;
  return true;
}

static bool is_only(const nest *s, const nxk_access *a) {
  return !a->offset && !a->n_terms && a->mask == NXK_NONE && a->index == NXK_NONE &&
         s->k->buffers[a->buffer].elements == 1;
}

static bool takes(nest *s, const nxk_instr *in) {
  const nxk_access *a = &s->k->accesses[in->op == NXK_load || in->op == NXK_store ? in->imm : 0];
  uint32_t operands = s->f->n_operands - s->f->hides;
  switch (in->op) {
    case NXK_region: return s->k->n_regions == 1;
    case NXK_for:
    case NXK_end:
    case NXK_const: return true;
    case NXK_load: return a->buffer < operands && (is_here(s, a) || is_only(s, a));
    case NXK_store: {
      uint32_t bit = 1u << (a->buffer - operands);
      if (a->buffer < operands || s->stored & bit || !is_here(s, a)) return false;
      s->stored |= bit;
      return s->k->buffers[a->buffer].elements == s->elements;
    }
    default: return operation_of(in) != NXG_OP_COUNT;
  }
}

/* Loops end behind all that is inside of them, so that they are one nest if all begin before
 * anything else does. */
static bool take_loops(nest *s) {
  bool begun = false;
  for (uint32_t i = 0; i < s->k->n_instrs; i++) {
    nxk_op op = (nxk_op)s->k->instrs[i].op;
    if (op == NXK_for && (begun || !take_loop(s, i))) return false;
    begun = begun || (op != NXK_for && op != NXK_region && op != NXK_const);
  }
  int64_t stride = 1;
  for (uint32_t i = s->n; i-- > 0;
       stride *= s->k->loops[s->k->instrs[s->loops[i]].imm].upper.constant)
    s->strides[i] = stride;
  return s->elements > 1;
}

bool nxi_kernel_is_elementwise(const nxg_custom *f) {
  nest s = {.f = f, .k = f->kernel, .elements = 1};
  if (!s.k || f->hides || !take_loops(&s)) return false;
  uint32_t ends = 0;
  for (uint32_t i = 0; i < s.k->n_instrs; i++) {
    if (!takes(&s, &s.k->instrs[i])) return false;
    if (s.k->instrs[i].op == NXK_end) ends++;
    else if (ends) return false; /* code between the ends of loops */
  }
  for (uint32_t i = 0; i < f->n_results; i++)
    if (!nxg_same_shape(f->results[i].rank, f->results[i].shape, f->results[0].rank,
                        f->results[0].shape))
      return false;
  return s.stored == (1u << f->n_results) - 1;
}

/* ---- recording */

/* A load: the operand in the shape of the results. */
static nx_tensor *loaded(const nxg_custom *f, nx_tensor *x) {
  const nxg_array *like = &f->results[0];
  if (x->elements > 1) return nx_reshape(x, like->shape, like->rank, NX_MAY_COPY);
  nx_tensor *one = nx_reshape(x, NULL, 0, NX_MAY_COPY),
            *wide = one ? nx_expand(one, like->shape, like->rank) : NULL;
  nx_tensor_release(one);
  return wide;
}

static nx_tensor *constant(const nxg_custom *f, nx_tensor *x, const nxk_instr *in) {
  const nxg_array *like = &f->results[0];
  nxi_recording r = {.context = x->context,
                     .op = NXG_full,
                     .dtype = in->dtype,
                     .device = x->storage->device,
                     .rank = like->rank,
                     .shape = like->shape,
                     .attrs = (int64_t[]){(int64_t)in->imm, -1},
                     .n_attrs = 2};
  return nxi_record(&r);
}

static nx_tensor *computed(const nxg_custom *f, const nxk_instr *in, nx_tensor *const *values) {
  const nxg_array *like = &f->results[0];
  nxi_operand o[4];
  for (uint32_t i = 0; i < in->n_args; i++) o[i] = nxi_operand_of(values[in->args[i]]);
  nxi_recording r = {.context = values[in->args[0]]->context,
                     .op = operation_of(in),
                     .dtype = in->dtype,
                     .device = values[in->args[0]]->storage->device,
                     .rank = like->rank,
                     .shape = like->shape,
                     .n_operands = in->n_args,
                     .operands = o};
  return nxi_record(&r);
}

bool nxi_record_elementwise(const nxg_custom *f, nx_tensor *const *operands, nx_tensor **made) {
  const nxk_kernel *k = f->kernel;
  nx_tensor **values = nxi_calloc(k->n_instrs + 1, sizeof *values);
  bool good = values != NULL;
  if (!good) {
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_oom(&d);
    nxi_error_report(&d);
  }
  for (uint32_t i = 0; good && i < k->n_instrs; i++) {
    const nxk_instr *in = &k->instrs[i];
    uint32_t buffer = in->op == NXK_load || in->op == NXK_store ? k->accesses[in->imm].buffer : 0;
    if (in->op == NXK_region || in->op == NXK_for || in->op == NXK_end) continue;
    if (in->op == NXK_store) {
      made[buffer - f->n_operands] = nx_tensor_retain(values[in->args[0]]);
      continue;
    }
    values[i] = in->op == NXK_load    ? loaded(f, operands[buffer])
                : in->op == NXK_const ? constant(f, operands[0], in)
                                      : computed(f, in, values);
    good = values[i] != NULL;
  }
  for (uint32_t i = 0; values && i < k->n_instrs; i++) nx_tensor_release(values[i]);
  nxi_free(values);
  for (uint32_t i = 0; !good && i < f->n_results; i++) {
    nx_tensor_release(made[i]);
    made[i] = NULL;
  }
  return good;
}
