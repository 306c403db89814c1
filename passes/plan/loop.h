/* SPDX-License-Identifier: ISC */
/* Loops that are one kernel, with the steps inside it: what plan/loop.c finds out about a loop, and
 * plan/loop_write.c writes. */
#ifndef NXP_PLAN_LOOP_H
#define NXP_PLAN_LOOP_H

#include "build.h"

/* What a kernel of the body's plan is to the loop. */
typedef enum nxp_body_class {
  NXP_OF_ALL,    /* it has no loops: scalars, which every point has to know */
  NXP_OF_POINTS, /* it has a loop over the points */
} nxp_body_class;

/* A value of the body that lies in memory: an input, an output. Of a scalar, and at each point of a
 * tensor, it has one element, or two side by side: the parts of a complex value. */
typedef struct nxp_loop_value {
  nxp_body_class of;
  uint32_t parts;
  nx_dtype dtype;
  nxk_value now[2]; /* while the kernel is written: the elements at the current point and step */
  bool varies;      /* from step to step */
  bool scattered;   /* a stacked result that is written elsewhere than at the point */
} nxp_loop_value;

/* A kernel of the body's plan. */
typedef struct nxp_loop_part {
  const nxp_step *step;
  const nxk_kernel *k;
  nxp_body_class of;
  bool in_one;    /* over points: in one loop, where others have a nest of them */
  nxk_value *map; /* what stands for each of its values */
  bool *varies;   /* which of them vary from step to step */
} nxp_loop_part;

/* Where a buffer of a kernel of the body is in a kernel of several of them (plan/joined.c): at the
 * element `offset`, and `stride` times a value further. index NXK_NONE: no value. */
typedef struct nxp_joined_place {
  uint32_t buffer;
  int64_t offset, stride;
  nxk_value index;
} nxp_joined_place;

/* A body of the loop, or a branch, whose kernels are in that kernel. */
typedef struct nxp_joined_body {
  const nxg_graph *g;
  nxp_plan *plan;
  nxk_kernel **kernels;  /* bound, of each step of the plan */
  uint32_t *temporaries; /* local arrays that stand for the plan's, or NXK_NONE */
} nxp_joined_body;

/* Such a kernel. */
typedef struct nxp_joined {
  nxp_joined_body *bodies;    /* as the operation names them */
  const nxp_joined_body *now; /* the one whose places are asked for */
  nxk_kernel **copies;        /* bound, of carried values */
  bool *in_place;             /* which carried values a step changes where they are */
  /* local arrays, or NXK_NONE: two of each carried value, which are one if it is changed in place;
   * results that nobody reads; the number of the step; of a while, what its condition has said, and
   * whether a value is in the second array */
  uint32_t *carried[2], *unread, number, holds, odd;
  uint32_t stop;        /* the byte that says to stop, or NXK_NONE */
  int reads;            /* which of the two the step reads; it writes the other one */
  bool copies_back;     /* of a while: each step copies what it wrote to the array that it read */
  int64_t bytes;        /* of these arrays */
  size_t size, n_steps; /* of all bodies: bound instructions, and steps */
} nxp_joined;

typedef struct nxp_loop {
  nxp_step_builder *s;
  const nxp_group *group;
  const nxg_node *n;
  nxg_control c;
  const nxg_graph *body; /* the step; of a case, the last branch */
  nxp_plan *plan;        /* of the step of a loop that counts */
  int64_t steps;         /* the most that it takes; INT64_MAX: not known */
  bool endless; /* it, or a loop in it, takes as many as it wants: it looks whether to stop */
  nxi_arena arena;
  nxp_loop_part *parts; /* those without loops first */
  uint32_t n_parts;
  const nxp_loop_part *nest; /* one over points whose loops become those of the kernel, or NULL */
  int64_t points;
  bool mixes;  /* the points read scalars that vary */
  double cost; /* of a step of one point */
  nxp_loop_value *inputs, *outputs, *temporaries;
  /* the kernel, and what its buffers are */
  nxk_kernel *to;
  nxp_kernel_binding binding;
  nxp_location buffers[NXP_MAX_BUFFERS];
  uint32_t *operand_buffer, *result_buffer; /* NXK_NONE: none yet */
  nxk_value slice;    /* the number of the step, which is that of its slices */
  nxp_joined *joined; /* or NULL */
} nxp_loop;

static inline uint32_t nxp_loop_operand(const nxp_loop *l, uint32_t input) {
  return l->c.first + input - l->c.indexed;
}
static inline bool nxp_loop_is_step(const nxp_loop *l, uint32_t input) {
  return l->c.indexed && input == 0;
}
static inline bool nxp_loop_is_carried(const nxp_loop *l, uint32_t input) {
  return input >= l->c.indexed && input - l->c.indexed < l->c.n_carried;
}
static inline bool nxp_loop_is_slice(const nxp_loop *l, uint32_t input) {
  return input >= l->c.indexed + l->c.n_carried + l->c.n_passed;
}
static inline nxp_loop_value *nxp_loop_carried(const nxp_loop *l, uint32_t i) {
  return &l->inputs[l->c.indexed + i];
}
/* The node of result i; UINT32_MAX: nothing reads it. */
uint32_t nxp_loop_result(const nxp_loop *l, uint32_t i);
/* Where an access of a part's kernel is in the value that its buffer holds: *part of the element of
 * the current point. False: elsewhere. */
bool nxp_loop_at_point(const nxp_loop_part *p, const nxk_access *a, const nxp_loop_value *v,
                       uint32_t *part);
/* The stride with which dense memory of the points moves along a loop of such a kernel. */
int64_t nxp_loop_stride(const nxk_kernel *k, nxk_value loop);
/* The value that a location of the body's plan is; NULL: none. */
nxp_loop_value *nxp_loop_value_at(const nxp_loop *l, const nxp_location *where);

/* plan/loop.c: gives results memory. False: memory is exhausted. */
bool nxp_loop_place_results(const nxp_loop *l);
/* plan/joined.c: the loop, or what chooses between branches, as one kernel that has those of its
 * bodies in it, if that is good. Once the body of a loop that counts is planned. */
nx_status nxp_join_loop(nxp_loop *l, bool *done);
/* plan/joined_bind.c: bound kernels of one task. Copies so many elements from buffer 0 to buffer
 * 1. */
nx_status nxp_bind_copy(const nxp_loop *l, nx_dtype t, int64_t elements, nxk_kernel **out);
/* A scatter of little work: result, indices, updates; NULL in *out: it is none. */
nx_status nxp_bind_scatter(const nxi_scatter *s, nxk_kernel **out, nxi_diag *d);
/* The place of a location of the body's plan; false: it has none for such elements. */
bool nxp_joined_find(const nxp_loop *l, const nxp_location *where, nx_dtype t, nxp_joined_place *p);
/* plan/joined_write.c: writes that kernel. False: memory is exhausted. */
bool nxp_write_joined(nxp_loop *l);

/* plan/loop_write.c: writes the kernel (l->to). False: memory is exhausted. */
bool nxp_write_loop(nxp_loop *l);
/* The plan of a body whose steps become those of a kernel. */
nx_status nxp_plan_body(const nxp_loop *l, const nxg_graph *body, nxp_plan **plan);

#endif
