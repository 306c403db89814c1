/* SPDX-License-Identifier: ISC */
/* The QR iteration, in stages. A stage has a plan, which the one before has made: what its first
 * task does with which block, which change of another block is still to be made elsewhere, and
 * which changes Z has to follow. The first task makes the change in its own block alone before it
 * works on that; other tasks make it in the rest. Z follows when a block is deflated, which no
 * other task could share. */
#include "schur.h"

#include <math.h>
#include <string.h>

#include "bulges.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/floats/multiply.h"

enum {
  CHUNK = 64, /* rows or columns that are changed together */
  SMALL = 75, /* most rows of a part that one task does by itself */
  CHANGES = 160,
  WIDER = 5,   /* times that nothing is deflated before the block that is looked at grows */
  OTHER = 6,   /* the same before other shifts than the usual ones are tried */
  NIBBLE = 14, /* per cent of the block that make it worth deflating again without a chain */
  PAIR = 5     /* numbers of a pair of shifts */
};

typedef enum action { NOTHING, CHASE, DEFLATE, FINISH } action;

/* Rows and columns first .. end - 1 have been multiplied by a matrix within the block and from row
 * `near` on. Elsewhere: columns up to `last`, rows from `begin` on. */
typedef struct change {
  int first, end, near, begin, last;
  double *u; /* end - first rows and columns */
} change;

typedef struct plan {
  action what;
  int begin, end; /* the block of the first task */
  bool pending;
  change change;
  int list; /* of changes that Z follows in this stage; -1: none */
} plan;

typedef struct state {
  plan plans[2];
  bool failed;
  int top, bottom;      /* first and last row of the part that is iterated on */
  int rows;             /* of the block that was deflated last */
  int stalled, smaller; /* times that nothing was deflated, from 1 on; rows that it is less by */
  int step, bulges;     /* where the chain begins; how many bulges */
  int64_t sweeps;       /* that are left */
  int current;          /* list to which changes are added */
  int counts[2];
  int64_t used[2];
  change lists[2][CHANGES];
} state;

static int smaller(int x, int y) { return x < y ? x : y; }
static int larger(int x, int y) { return x > y ? x : y; }

/* ---- sizes */

/* As LAPACK chooses them. */
static int shifts_for(int n) {
  if (n < 150) return n < 30 ? 2 : n < 60 ? 4 : 10;
  if (n < 590) return larger(10, n / (int)(log2(n) + 0.5)) / 2 * 2;
  return n < 3000 ? 64 : n < 6000 ? 128 : 256;
}

nxi_schur nxi_schur_of(int n, bool vectors) {
  nxi_schur s = {n, vectors, shifts_for(n), 0, 0};
  s.window = larger(2, smaller((n - 1) / 3, n <= 500 ? s.shifts : s.shifts * 3 / 2));
  s.most = larger(larger(2 * s.shifts + 2, 2 * s.window + 1), SMALL + 1);
  return s;
}

/* Elements for the changes of a list: of one chain through the matrix, and a block. */
static int64_t list_room(const nxi_schur *s) {
  const int64_t block = 2 * (int64_t)s->shifts, most = s->most;
  return (s->n / s->shifts + 3) * block * block + most * most;
}

/* The parts of the work memory. */
typedef struct memory {
  double *block, *v, *other, *bulges, *re, *im, *pairs, *lists[2];
} memory;

static int64_t lay_out(const nxi_schur *s, double *work, memory *m) {
  const int64_t square = (int64_t)s->most * s->most,
                sizes[] = {square,      square,      nxi_early_work(s->most), 2 * s->most,
                           2 * s->most, 2 * s->most, PAIR * 2 * s->most,      list_room(s),
                           list_room(s)};
  double **parts[] = {&m->block, &m->v,     &m->other,    &m->bulges,  &m->re,
                      &m->im,    &m->pairs, &m->lists[0], &m->lists[1]};
  int64_t at = 0;
  for (int i = 0; i < 9; i++) {
    if (work) *parts[i] = work + at;
    at += (sizes[i] + 7) / 8 * 8;
  }
  return at;
}

int64_t nxi_schur_work(const nxi_schur *s) {
  memory m;
  return lay_out(s, NULL, &m);
}

int64_t nxi_schur_own(const nxi_schur *s) { return (int64_t)s->most * larger(s->most, CHUNK); }

int64_t nxi_schur_state_bytes(void) { return (int64_t)sizeof(state); }

/* As many as usual; there may be more or fewer. */
uint32_t nxi_schur_stages(const nxi_schur *s) { return 64 + 40 * (uint32_t)(s->n / s->shifts + 4); }

static int chunks(const nxi_schur *s) { return (s->n + CHUNK - 1) / CHUNK; }

int64_t nxi_schur_tasks(const nxi_schur *s) { return 1 + chunks(s) + (s->vectors ? chunks(s) : 0); }

/* ---- changes elsewhere. A copy of what is changed is made in `own`. */

static double *h_at(const nxi_schur_arrays *at, int row, int column) {
  return at->h + row + (int64_t)column * at->ld;
}

static void copy(int rows, int columns, const double *from, int64_t from_ld, double *to,
                 int64_t to_ld) {
  for (int j = 0; j < columns; j++)
    memcpy(to + j * to_ld, from + j * from_ld, (size_t)rows * sizeof *to);
}

static void change_columns(const change *c, int rows, double *x, int ld, double *own) {
  const int width = c->end - c->first;
  if (rows <= 0) return;
  copy(rows, width, x, ld, own, rows);
  nxi_product(NX_F64, rows, width, width, (nxi_factor){"N", own, rows},
              (nxi_factor){"N", c->u, width}, x, ld);
}

static void change_rows(const change *c, int columns, double *x, int ld, double *own) {
  const int width = c->end - c->first;
  if (columns <= 0) return;
  copy(width, columns, x, ld, own, width);
  nxi_product(NX_F64, width, columns, width, (nxi_factor){"T", c->u, width},
              (nxi_factor){"N", own, width}, x, ld);
}

/* What the first task changes for its block: the columns behind the change, up to this one, and the
 * rows above it, from this one on. */
static int columns_taken(const plan *p) {
  const change *c = &p->change;
  return p->begin < c->end && p->end > c->end ? smaller(p->end, c->last) : c->end;
}
static int rows_taken(const plan *p) {
  const change *c = &p->change;
  return p->begin < c->near && p->end > c->first ? larger(p->begin, c->begin) : c->near;
}

static void change_own(const nxi_schur_arrays *at, const plan *p, double *own) {
  const change *c = &p->change;
  const int last = columns_taken(p), begin = rows_taken(p);
  if (!p->pending) return;
  change_rows(c, last - c->end, h_at(at, c->first, c->end), at->ld, own);
  change_columns(c, c->near - begin, h_at(at, begin, c->first), at->ld, own);
}

/* A chunk of the others: of columns, and of rows. */
static void change_chunk(const nxi_schur_arrays *at, const plan *p, int chunk, double *own) {
  const change *c = &p->change;
  if (!p->pending) return;
  const int first = chunk * CHUNK, end = first + CHUNK, column = larger(first, columns_taken(p)),
            row = larger(first, c->begin);
  change_rows(c, smaller(end, c->last) - column, h_at(at, c->first, column), at->ld, own);
  change_columns(c, smaller(end, rows_taken(p)) - row, h_at(at, row, c->first), at->ld, own);
}

/* A chunk of rows of Z follows all changes of a list. */
static void follow(const nxi_schur *s, const nxi_schur_arrays *at, const plan *p, int chunk,
                   double *own) {
  const state *all = at->state;
  const int first = chunk * CHUNK, rows = smaller(CHUNK, s->n - first);
  for (int i = 0; p->list >= 0 && i < all->counts[p->list]; i++) {
    const change *c = &all->lists[p->list][i];
    change_columns(c, rows, at->z + first + (int64_t)c->first * at->ld, at->ld, own);
  }
}

/* ---- what comes next */

/* A change of rows and columns first .. end - 1, with room for what they are multiplied by. */
static change *add_change(const nxi_schur *s, const nxi_schur_arrays *at, const memory *m,
                          int first, int end, int near) {
  state *all = at->state;
  const int list = all->current;
  change *c = &all->lists[list][all->counts[list]++];
  *c = (change){first,
                end,
                near,
                s->vectors ? 0 : all->top,
                s->vectors ? s->n : all->bottom + 1,
                m->lists[list] + all->used[list]};
  all->used[list] += (int64_t)(end - first) * (end - first);
  return c;
}

static void plan_window(const nxi_schur *s, const nxi_schur_arrays *at, plan *next) {
  state *all = at->state;
  const int nw = smaller(s->n / 3, s->window), part = all->bottom - all->top + 1;
  int rows = all->stalled < WIDER ? larger(nw, 2) : 2 * all->rows, top;
  rows = smaller(rows, smaller(part, s->most - 1));
  top = all->bottom - rows + 1;
  if (rows >= part - 1) rows = part;
  else if (fabs(*h_at(at, top, top - 1)) > fabs(*h_at(at, top - 1, top - 2))) rows++;
  rows = smaller(rows, s->most);
  if (all->stalled < WIDER) {
    all->smaller = -1;
  } else if (all->smaller >= 0 || rows >= smaller(part, s->most - 1)) {
    all->smaller = rows - (all->smaller + 1) < 2 ? 0 : all->smaller + 1;
    rows -= all->smaller;
  }
  all->rows = rows;
  *next = (plan){.what = DEFLATE, .begin = all->bottom - rows + 1, .end = all->bottom + 1};
}

/* Looks for the part that ends with `bottom`. */
static void plan_part(const nxi_schur *s, const nxi_schur_arrays *at, plan *next) {
  state *all = at->state;
  *next = (plan){.what = NOTHING};
  if (all->bottom < at->low) return;
  all->top = all->bottom;
  while (all->top > at->low && *h_at(at, all->top, all->top - 1) != 0) all->top--;
  if (all->bottom - all->top < SMALL)
    *next = (plan){.what = FINISH, .begin = all->top, .end = all->bottom + 1};
  else plan_window(s, at, next);
}

static void plan_chain(const state *all, plan *next) {
  *next = (plan){.what = CHASE,
                 .begin = larger(all->top, all->step),
                 .end = smaller(all->step + 4 * all->bulges, all->bottom) + 1};
}

/* ---- shifts */

typedef struct pair {
  double re[2], im[2], size;
} pair;

static void insert(pair *pairs, int n, pair p) {
  int i = n;
  for (; i > 0 && pairs[i - 1].size < p.size; i--) pairs[i] = pairs[i - 1];
  pairs[i] = p;
}

/* Puts n values into pairs, conjugate or real ones, of which the smaller ones come last; gives how
 * many. */
static int pair_values(int n, const double *re, const double *im, pair *pairs) {
  int count = 0, reals = 0;
  pair *sorted = pairs + n; /* real values, by their sizes */
  for (int i = 0; i < n; i++)
    if (im[i] == 0) insert(sorted, reals++, (pair){{re[i], 0}, {0}, fabs(re[i])});
    else if (im[i] > 0)
      insert(pairs, count++, (pair){{re[i], re[i]}, {im[i], -im[i]}, fabs(re[i]) + im[i]});
  for (int i = reals % 2 && (reals > 1 || count > 0); i < reals; i += 2) {
    const double other = i + 1 < reals ? sorted[i + 1].re[0] : sorted[i].re[0];
    insert(pairs, count++, (pair){{sorted[i].re[0], other}, {0}, sorted[i].size});
  }
  return count;
}

/* Others than values, for a part that does not get smaller. Of the matrix they read what is on the
 * diagonal and below it alone, which no other task changes. */
static int other_values(const nxi_schur_arrays *at, const memory *m, int n) {
  const state *all = at->state;
  int count = 0;
  for (int i = all->bottom; i >= larger(all->bottom - n + 2, all->top + 2); i -= 2, count += 2) {
    const double size = fabs(*h_at(at, i, i - 1)) + fabs(*h_at(at, i - 1, i - 2)),
                 own = *h_at(at, i, i) + 0.75 * size;
    m->re[count] = m->re[count + 1] = own; /* of own, -0.4375 size; size, own */
    m->im[count] = sqrt(0.4375) * size;
    m->im[count + 1] = -m->im[count];
  }
  return count;
}

/* Chooses shifts for a chain, of the values of the block that was deflated. False: there are
 * none. */
static bool choose_shifts(const nxi_schur *s, const nxi_schur_arrays *at, const memory *m,
                          int values) {
  state *all = at->state;
  const int part = all->bottom - all->top + 1,
            most = smaller(s->shifts, larger(2, part - 1)) / 2 * 2;
  pair *pairs = (pair *)(void *)m->pairs;
  if (all->stalled % OTHER == 0) values = other_values(at, m, most);
  const int found = pair_values(values, m->re, m->im, pairs), kept = smaller(found, most / 2);
  double *re = m->bulges, *im = re + s->most;
  for (int i = 0; i < kept; i++) {
    memcpy(re + 2 * i, pairs[found - kept + i].re, sizeof pairs->re);
    memcpy(im + 2 * i, pairs[found - kept + i].im, sizeof pairs->im);
  }
  if (kept == 1 && im[0] == 0) {
    const double last = *h_at(at, all->bottom, all->bottom);
    re[0] = re[1] = fabs(re[0] - last) < fabs(re[1] - last) ? re[0] : re[1];
  }
  all->bulges = kept;
  return kept > 0;
}

/* ---- the first task */

static void fill_unit(int n, double *u) {
  memset(u, 0, (size_t)n * (size_t)n * sizeof *u);
  for (int i = 0; i < n; i++) u[i + (int64_t)i * n] = 1;
}

/* Moves the chain on by its length. */
static void chase(const nxi_schur *s, const nxi_schur_arrays *at, const memory *m, const plan *p,
                  plan *next) {
  state *all = at->state;
  const int base = p->begin, size = p->end - base, first = larger(all->top, all->step + 1),
            stop = smaller(all->step + 2 * all->bulges, all->bottom - 1);
  change *c = add_change(s, at, m, first, p->end, base);
  fill_unit(p->end - first, c->u);
  copy(size, size, h_at(at, base, base), at->ld, m->block, size);
  const nxi_bulges b = {.h = m->block,
                        .ld = size,
                        .size = size,
                        .top = all->top - base,
                        .bottom = all->bottom - base,
                        .count = all->bulges,
                        .re = m->bulges,
                        .im = m->bulges + s->most,
                        .v = m->v,
                        .u = c->u,
                        .u_ld = p->end - first,
                        .u_rows = p->end - first,
                        .u_first = first - base,
                        .u_begins = true,
                        .loops = nxi_floats_kernels_for(NX_F64)};
  nxi_chase(&b, all->step - base, stop - base);
  copy(size, size, m->block, size, h_at(at, base, base), at->ld);
  all->step += 2 * all->bulges;
  if (all->step <= all->bottom - 2) plan_chain(all, next);
  else plan_part(s, at, next);
  next->pending = true;
  next->change = *c;
}

static void deflate(const nxi_schur *s, const nxi_schur_arrays *at, const memory *m, const plan *p,
                    plan *next) {
  state *all = at->state;
  const int first = p->begin, rows = p->end - first;
  double *beside = first > all->top ? h_at(at, first, first - 1) : NULL;
  nxi_early d = {.rows = rows,
                 .t = m->block,
                 .v = m->v,
                 .ld = rows,
                 .beside = beside ? *beside : 0,
                 .work = m->other,
                 .re = m->re,
                 .im = m->im};
  copy(rows, rows, h_at(at, first, first), at->ld, m->block, rows);
  nxi_lapack_enter();
  all->failed = !nxi_deflate_early(&d);
  nxi_lapack_leave();
  *next = (plan){.what = NOTHING};
  if (all->failed) return;
  change *c = NULL;
  if (d.changed) {
    c = add_change(s, at, m, first, p->end, first);
    copy(rows, rows, m->block, rows, h_at(at, first, first), at->ld);
    copy(rows, rows, m->v, rows, c->u, rows);
    if (beside) *beside = d.beside;
  }
  all->bottom -= d.deflated;
  const bool chain =
      d.deflated == 0 || (100 * d.deflated <= rows * NIBBLE && all->bottom - all->top >= SMALL);
  if (chain && all->sweeps-- > 0) {
    all->failed = !choose_shifts(s, at, m, d.left);
    all->step = all->top - 2 * all->bulges + 1;
    plan_chain(all, next);
  } else {
    all->failed = chain;
    plan_part(s, at, next);
  }
  all->stalled = d.deflated > 0 ? 1 : all->stalled + 1;
  if (!c) return;
  next->pending = true;
  next->change = *c;
}

/* All of a small part. */
static void finish(const nxi_schur *s, const nxi_schur_arrays *at, const memory *m, const plan *p,
                   plan *next) {
  state *all = at->state;
  const int first = p->begin, rows = p->end - first;
  change *c = NULL;
  if (rows > 1) {
    c = add_change(s, at, m, first, p->end, first);
    fill_unit(rows, c->u);
    copy(rows, rows, h_at(at, first, first), at->ld, m->block, rows);
    nxi_lapack_enter();
    all->failed = !nxi_block_schur(rows, m->block, rows, c->u, rows, rows);
    nxi_lapack_leave();
    copy(rows, rows, m->block, rows, h_at(at, first, first), at->ld);
  }
  all->bottom = first - 1;
  all->stalled = 1;
  plan_part(s, at, next);
  if (!c) return;
  next->pending = true;
  next->change = *c;
}

/* Whether Z should follow in the next stage, in which one task has a block to itself, or at the
 * end, or because there is no more room. */
static void plan_following(const nxi_schur *s, state *all, plan *next) {
  const int list = all->current;
  next->list = -1;
  if (all->counts[list] == 0) return;
  if (next->what == CHASE && all->counts[list] < CHANGES - 1 &&
      all->used[list] + (int64_t)s->most * s->most <= list_room(s))
    return;
  next->list = list;
  all->current = 1 - list;
}

static void lead(const nxi_schur *s, const nxi_schur_arrays *at, const plan *p, plan *next,
                 double *own) {
  state *all = at->state;
  memory m;
  lay_out(s, at->work, &m);
  if (p->list >= 0) { /* nobody follows the other list any more */
    all->counts[all->current] = 0;
    all->used[all->current] = 0;
  }
  *next = (plan){.what = NOTHING};
  if (p->what != NOTHING) change_own(at, p, own);
  if (p->what == CHASE) chase(s, at, &m, p, next);
  if (p->what == DEFLATE) deflate(s, at, &m, p, next);
  if (p->what == FINISH) finish(s, at, &m, p, next);
  if (all->failed) *next = (plan){.what = NOTHING};
  plan_following(s, all, next);
}

/* ---- stages */

void nxi_schur_begin(const nxi_schur *s, const nxi_schur_arrays *at) {
  state *all = at->state;
  memset(all, 0, sizeof *all);
  all->bottom = at->high - 1;
  all->stalled = 1;
  all->smaller = -1;
  all->sweeps = 30 * (int64_t)larger(10, s->n);
  plan_part(s, at, &all->plans[0]);
  all->plans[0].list = -1;
}

void nxi_schur_run(const nxi_schur *s, const nxi_schur_arrays *at, uint32_t stage, int64_t task,
                   double *own) {
  state *all = at->state;
  const plan *p = &all->plans[stage % 2];
  const int chunk = (int)task - 1;
  if (task == 0) lead(s, at, p, &all->plans[1 - stage % 2], own);
  else if (chunk < chunks(s)) change_chunk(at, p, chunk, own);
  else follow(s, at, p, chunk - chunks(s), own);
}

bool nxi_schur_end(const nxi_schur *s, const nxi_schur_arrays *at, const nxg_call_part *part,
                   double *own) {
  const state *all = at->state;
  for (uint32_t stage = nxi_schur_stages(s); !all->failed; stage++) {
    const plan *p = &all->plans[stage % 2];
    if (p->what == NOTHING && !p->pending && p->list < 0) return true;
    if (nxi_told_to_stop(part)) return false;
    for (int64_t task = nxi_schur_tasks(s); task-- > 0;) nxi_schur_run(s, at, stage, task, own);
  }
  return false;
}
