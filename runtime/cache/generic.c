/* SPDX-License-Identifier: ISC */
/* Structures and the code that serves them. The integers that differed between two kernels of a
 * structure become parameters; those that were always the same stay literal, so that code for
 * changing batches of rows of 1,000 elements knows the 1,000. Holes that always had equal values
 * share a parameter. If such code has met a kernel that it does not serve a few times, all integers
 * of the structure become parameters. */
#include "generic.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
  BUCKETS = 256,
  MOST_ENTRIES = 1024,
  MOST_CODE = 6, /* of a structure; the oldest is replaced */
  PATIENT = 2,   /* so many are made of the integers that differed, before all become parameters */
  WEARY = 4,     /* and so many, before small ones do */
  SMALL = 16,    /* integers up to this are literal as long as they do not differ */
  KINDS = 4096,
  FEW = 4,
  MOST_ALONE = 16 /* values of which each is changed alone */
};

typedef struct served {
  nxi_kernel *code;
  nxi_choice choice;
} served;

typedef struct entry entry;
struct entry {
  entry *chain;         /* of its bucket */
  entry *newer, *older; /* in the order of use */
  uint64_t hash;
  char isa[16];
  char *structure;
  uint32_t structure_size, n_holes;
  nxk_hole *first;  /* the holes of the first kernel */
  uint32_t *group;  /* of each hole: holes of a group always had equal values */
  uint8_t *differs; /* each hole: had another value than in the first kernel */
  served code[MOST_CODE];
  uint32_t n_code, made;
  bool compared; /* with other integers */
};

/* An integer of the kernels of a kind. */
typedef struct range {
  int64_t first, reach; /* of the first kernel; the furthest that another was from it */
} range;

typedef struct kind {
  uint64_t number;
  range *ranges;
} kind;

struct nxi_generics {
  entry *buckets[BUCKETS];
  entry *newest, *oldest;
  uint32_t n_entries;
  kind kinds[KINDS];
};

nxi_generics *nxi_generics_create(void) { return nxi_calloc(1, sizeof(nxi_generics)); }

void nxi_choice_free(nxi_choice *c) {
  nxi_free(c->param);
  nxi_free(c->literal);
  *c = (nxi_choice){0};
}

static void free_entry(entry *e) {
  for (uint32_t i = 0; i < e->n_code; i++) {
    nxi_kernel_release(e->code[i].code);
    nxi_choice_free(&e->code[i].choice);
  }
  nxi_free(e->structure);
  nxi_free(e->first);
  nxi_free(e->group);
  nxi_free(e->differs);
  nxi_free(e);
}

void nxi_generics_destroy(nxi_generics *g) {
  for (entry *e = g != NULL ? g->newest : NULL; e != NULL;) {
    entry *older = e->older;
    free_entry(e);
    e = older;
  }
  for (uint32_t i = 0; g != NULL && i < KINDS; i++) nxi_free(g->kinds[i].ranges);
  nxi_free(g);
}

/* ---- kinds */

/* Integers beyond are no extents: they are never imagined changed. */
#define MOST (INT64_C(1) << 40)

/* How far an integer is taken to vary in a kind of which no second kernel is known. Those that
 * decide what a kernel is, strides of 1 above all, stay. */
static int64_t assumed_reach(const nxk_hole *hole) {
  int64_t value = (int64_t)hole->value;
  if (hole->role == NXK_DATA || (value >= -1 && value <= 1) || value > MOST || value < -MOST)
    return 0;
  return value < 0 ? -value : value;
}

static void start_kind(kind *slot, const nxi_kernel_kind *k) {
  nxi_free(slot->ranges);
  *slot = (kind){k->number, nxi_malloc(((size_t)k->n_holes + 1) * sizeof(range))};
  for (uint32_t i = 0; slot->ranges != NULL && i < k->n_holes; i++)
    slot->ranges[i] =
        (range){(int64_t)k->holes[i].value, k->varies ? assumed_reach(&k->holes[i]) : 0};
}

bool nxi_generics_met(const nxi_generics *g, const nxi_kernel_kind *k) {
  const kind *slot = &g->kinds[k->number % KINDS];
  return slot->number == k->number && slot->ranges != NULL;
}

bool nxi_generics_note(nxi_generics *g, const nxi_kernel_kind *k) {
  kind *slot = &g->kinds[k->number % KINDS];
  if (!nxi_generics_met(g, k)) {
    start_kind(slot, k);
    return false;
  }
  for (uint32_t i = 0; i < k->n_holes; i++) {
    range *r = &slot->ranges[i];
    int64_t value = (int64_t)k->holes[i].value, reach;
    if (k->holes[i].role == NXK_DATA || __builtin_sub_overflow(value, r->first, &reach) ||
        reach == INT64_MIN)
      continue;
    if (reach < 0) reach = -reach;
    if (reach > r->reach) r->reach = reach;
  }
  return true;
}

static const range *ranges_of(const nxi_generics *g, const nxi_kernel_kind *k) {
  const kind *slot = &g->kinds[k->number % KINDS];
  return slot->number == k->number ? slot->ranges : NULL;
}

bool nxi_generics_few(const nxi_generics *g, const nxi_kernel_kind *k) {
  const range *ranges = ranges_of(g, k);
  bool few = false;
  for (uint32_t i = 0; ranges != NULL && i < k->n_holes; i++)
    few = few || (k->holes[i].role == NXK_PLACE && ranges[i].reach != 0 &&
                  (int64_t)k->holes[i].value <= FEW);
  return few;
}

/* How integers of kernels that might come are made of a kernel's own: those that differed are moved
 * away from zero by their reach times `times`, and divided. `which`: all of them, or about half. */
typedef struct change {
  int64_t times, divisor;
  enum { ALL_OF_THEM, SOME, OTHERS } which;
} change;

static const change changes[] = {
    {1, 1, ALL_OF_THEM},  {2, 1, ALL_OF_THEM},  {3, 1, ALL_OF_THEM},   {7, 1, ALL_OF_THEM},
    {16, 1, ALL_OF_THEM}, {33, 1, ALL_OF_THEM}, {100, 1, ALL_OF_THEM}, {1000, 1, ALL_OF_THEM},
    {0, 2, ALL_OF_THEM},  {0, 9, ALL_OF_THEM},  {0, 70, ALL_OF_THEM},  {1, 1, SOME},
    {1, 1, OTHERS},       {0, 9, SOME},         {0, 9, OTHERS},
};

/* Integers that are equal change alike. */
static bool is_changed(uint64_t value, const change *how) {
  bool some = value * UINT64_C(0x9e3779b97f4a7c15) >> 63;
  return how->which == ALL_OF_THEM || some == (how->which == SOME);
}

static uint64_t changed(int64_t value, int64_t reach, const change *how) {
  int64_t more, result;
  if (__builtin_mul_overflow(reach, how->times, &more) || more > MOST || value > MOST ||
      value < -MOST)
    return (uint64_t)value;
  result = (value < 0 ? value - more : value + more) / how->divisor;
  return (uint64_t)(result == 0 ? value : result);
}

static bool may_change(uint64_t value, int64_t reach) {
  return reach != 0 && reach <= MOST && (int64_t)value <= MOST && (int64_t)value >= -MOST;
}

/* The integers of a kind of which no second kernel is known, one value after the other changed
 * alone: changed together they would often be no kernel that could come. */
static bool imagine_one(const range *ranges, const nxi_kernel_kind *k, uint32_t number,
                        nxk_hole *holes) {
  int64_t met[MOST_ALONE], chosen;
  uint32_t n_met = 0;
  for (uint32_t i = 0; i < k->n_holes && n_met < MOST_ALONE; i++) {
    uint32_t j = 0;
    while (j < n_met && met[j] != (int64_t)k->holes[i].value) j++;
    if (j == n_met && may_change(k->holes[i].value, ranges[i].reach))
      met[n_met++] = (int64_t)k->holes[i].value;
  }
  if (!k->varies || number / 2 >= n_met) return false;
  chosen = met[number / 2];
  for (uint32_t i = 0; i < k->n_holes; i++) {
    holes[i] = k->holes[i];
    int64_t reach = ranges[i].reach, more = number % 2 == 0 ? reach + 1 : reach / 2 + 3;
    if (may_change(holes[i].value, reach) && (int64_t)holes[i].value == chosen)
      holes[i].value = (uint64_t)(chosen < 0 ? chosen - more : chosen + more);
  }
  return true;
}

bool nxi_generics_imagine(const nxi_generics *g, const nxi_kernel_kind *k, uint32_t number,
                          nxk_hole *holes) {
  const range *ranges = ranges_of(g, k);
  const uint32_t n_changes = sizeof changes / sizeof *changes;
  if (ranges == NULL) return false;
  if (number >= n_changes) return imagine_one(ranges, k, number - n_changes, holes);
  const change *how = &changes[number];
  for (uint32_t i = 0; i < k->n_holes; i++) {
    holes[i] = k->holes[i];
    if (ranges[i].reach != 0 && is_changed(holes[i].value, how))
      holes[i].value = changed((int64_t)holes[i].value, ranges[i].reach, how);
  }
  return true;
}

/* ---- entries */

static void link_newest(nxi_generics *g, entry *e) {
  e->newer = NULL;
  e->older = g->newest;
  if (g->newest) g->newest->newer = e;
  else g->oldest = e;
  g->newest = e;
}

static void unlink_use(nxi_generics *g, entry *e) {
  if (e->newer) e->newer->older = e->older;
  else g->newest = e->older;
  if (e->older) e->older->newer = e->newer;
  else g->oldest = e->newer;
}

static void drop_oldest(nxi_generics *g) {
  entry *e = g->oldest, **at = &g->buckets[e->hash % BUCKETS];
  while (*at != e) at = &(*at)->chain;
  *at = e->chain;
  unlink_use(g, e);
  g->n_entries--;
  free_entry(e);
}

static entry *find(nxi_generics *g, const char *isa, const nxk_anatomy *a) {
  uint64_t hash = XXH3_64bits(a->structure.data, a->structure.size);
  entry *e = g->buckets[hash % BUCKETS];
  while (e && !(e->hash == hash && e->structure_size == a->structure.size &&
                memcmp(e->structure, a->structure.data, e->structure_size) == 0 &&
                strcmp(e->isa, isa) == 0))
    e = e->chain;
  if (!e) return NULL;
  unlink_use(g, e);
  link_newest(g, e);
  return e;
}

static void *copy_of(const void *from, size_t bytes) {
  void *to = nxi_malloc(bytes + 1);
  if (to && bytes) memcpy(to, from, bytes);
  return to;
}

static bool fill_entry(entry *e, const char *isa, const nxk_anatomy *a) {
  e->hash = XXH3_64bits(a->structure.data, a->structure.size);
  strncpy(e->isa, isa, sizeof e->isa - 1);
  e->structure_size = (uint32_t)a->structure.size;
  e->n_holes = a->n_holes;
  e->structure = copy_of(a->structure.data, a->structure.size);
  e->first = copy_of(a->holes, a->n_holes * sizeof *a->holes);
  e->group = nxi_calloc((size_t)a->n_holes + 1, sizeof *e->group);
  e->differs = nxi_calloc((size_t)a->n_holes + 1, 1);
  return e->structure && e->first && e->group && e->differs;
}

static entry *make_entry(nxi_generics *g, const char *isa, const nxk_anatomy *a) {
  entry *e = nxi_calloc(1, sizeof *e);
  if (!e) return NULL;
  if (!fill_entry(e, isa, a)) {
    free_entry(e);
    return NULL;
  }
  if (g->n_entries == MOST_ENTRIES) drop_oldest(g);
  e->chain = g->buckets[e->hash % BUCKETS];
  g->buckets[e->hash % BUCKETS] = e;
  link_newest(g, e);
  g->n_entries++;
  return e;
}

/* ---- groups of holes */

typedef struct group_slot {
  uint64_t value;
  uint32_t group, number; /* number: of the new group, from 1; 0: an empty slot */
} group_slot;

/* Divides the groups, so that holes of a group have equal values in this kernel, too. */
static bool divide(entry *e, const nxk_hole *holes) {
  uint32_t size = 16, made = 0;
  while (size < 2 * e->n_holes) size *= 2;
  group_slot *slots = nxi_calloc(size, sizeof *slots);
  if (!slots) return false;
  for (uint32_t i = 0; i < e->n_holes; i++) {
    uint64_t words[2] = {holes[i].value, (uint64_t)e->group[i] << 8 | holes[i].type};
    uint32_t at = (uint32_t)XXH3_64bits(words, sizeof words) & (size - 1);
    uint32_t group = e->group[i] << 8 | holes[i].type;
    while (slots[at].number && !(slots[at].value == holes[i].value && slots[at].group == group))
      at = (at + 1) & (size - 1);
    if (!slots[at].number) slots[at] = (group_slot){holes[i].value, group, ++made};
    e->group[i] = slots[at].number;
    if (holes[i].value != e->first[i].value) e->differs[i] = 1;
  }
  nxi_free(slots);
  return true;
}

void nxi_generics_see(nxi_generics *g, const char *isa, const nxk_anatomy *a) {
  entry *e = find(g, isa, a);
  if (!e) e = make_entry(g, isa, a);
  if (e) divide(e, a->holes);
}

void nxi_generics_compare(nxi_generics *g, const char *isa, const nxk_anatomy *a) {
  entry *e = find(g, isa, a);
  if (e == NULL || !divide(e, a->holes)) return;
  for (uint32_t i = 0; i < e->n_holes; i++) e->compared = e->compared || e->differs[i];
}

/* ---- matching */

static bool serves(const nxi_choice *c, const nxk_anatomy *a, uint64_t *values) {
  bool filled[NXI_MOST_VALUES] = {false};
  for (uint32_t i = 0; i < c->n_holes; i++) {
    uint64_t value = a->holes[i].value;
    int32_t p = c->param[i];
    if (p == NXK_LITERAL) {
      bool fits = a->holes[i].role == NXK_ROOM ? value <= c->literal[i].value
                                               : value == c->literal[i].value;
      if (!fits) return false;
    } else if (filled[p] && values[p] != value) {
      return false;
    } else {
      values[p] = value;
      filled[p] = true;
    }
  }
  return true;
}

nxi_kernel *nxi_generics_match(nxi_generics *g, const char *isa, const nxk_anatomy *a,
                               uint64_t *values, uint32_t *n_values) {
  entry *e = find(g, isa, a);
  for (uint32_t i = 0; e && i < e->n_code; i++) {
    served *s = &e->code[i];
    if (!serves(&s->choice, a, values)) continue;
    *n_values = s->choice.n_params;
    nxi_kernel_retain(s->code);
    return s->code;
  }
  return NULL;
}

/* ---- choosing */

static bool is_small(uint64_t value) {
  int64_t x = (int64_t)value;
  return x >= -SMALL && x <= SMALL;
}

/* How eagerly integers become parameters. */
typedef enum zeal { DIFFERING, LARGE, ALL } zeal;

static bool becomes_param(const entry *e, const nxk_hole *hole, uint32_t i, zeal zeal) {
  if (hole->role == NXK_ROOM) return false;
  if (e->differs[i]) return true;
  if (hole->role == NXK_DATA || zeal == DIFFERING) return false;
  return zeal == ALL || !is_small(hole->value);
}

/* The rooms of most kernels of a structure are then equal. Scratch memory that is not used is not
 * touched. */
static uint64_t rounded(uint64_t n, bool differs) {
  uint64_t p = differs ? 1024 : 64;
  while (p < n) p *= differs ? 4 : 2;
  return p;
}

static bool assign_params(const entry *e, const nxk_anatomy *a, zeal zeal, nxi_choice *out) {
  int32_t *of_group = nxi_malloc(((size_t)e->n_holes + 1) * sizeof *of_group);
  if (!of_group) return false;
  memset(of_group, 0xff, ((size_t)e->n_holes + 1) * sizeof *of_group);
  for (uint32_t i = 0; i < e->n_holes; i++) {
    bool param = becomes_param(e, &a->holes[i], i, zeal);
    int32_t *number = &of_group[e->group[i]];
    if (param && *number < 0) *number = (int32_t)out->n_params++;
    out->param[i] = param ? *number : NXK_LITERAL;
    if (a->holes[i].role == NXK_ROOM)
      out->literal[i].value = rounded(a->holes[i].value, e->differs[i]);
  }
  nxi_free(of_group);
  return out->n_params <= NXI_MOST_VALUES;
}

bool nxi_generics_choose(nxi_generics *g, const char *isa, const nxk_anatomy *a, bool all,
                         nxi_choice *out) {
  entry *e = find(g, isa, a);
  if (!e) e = make_entry(g, isa, a);
  if (!e || !divide(e, a->holes)) return false;
  zeal zeal = all                 ? ALL
              : !e->compared      ? LARGE
              : e->made < PATIENT ? DIFFERING
              : e->made < WEARY   ? LARGE
                                  : ALL;
  *out = (nxi_choice){.n_holes = a->n_holes};
  out->param = nxi_malloc(((size_t)a->n_holes + 1) * sizeof *out->param);
  out->literal = copy_of(a->holes, a->n_holes * sizeof *a->holes);
  if (out->param && out->literal && assign_params(e, a, zeal, out)) return true;
  nxi_choice_free(out);
  return false;
}

void nxi_generics_add(nxi_generics *g, const char *isa, const nxk_anatomy *a, nxi_choice *choice,
                      nxi_kernel *code) {
  entry *e = find(g, isa, a);
  if (!e) {
    nxi_choice_free(choice);
    return;
  }
  uint32_t at = e->n_code < MOST_CODE ? e->n_code++ : e->made % MOST_CODE;
  if (e->code[at].code) nxi_kernel_release(e->code[at].code);
  nxi_choice_free(&e->code[at].choice);
  nxi_kernel_retain(code);
  e->code[at] = (served){code, *choice};
  *choice = (nxi_choice){0};
  e->made++;
}

void nxi_generics_forget(nxi_generics *g, const nxi_kernel *code) {
  for (entry *e = g->newest; e != NULL; e = e->older)
    for (uint32_t i = 0; i < e->n_code; i++) {
      if (e->code[i].code != code) continue;
      nxi_kernel_release(e->code[i].code);
      nxi_choice_free(&e->code[i].choice);
      e->code[i--] = e->code[--e->n_code];
      e->code[e->n_code] = (served){0};
    }
}
