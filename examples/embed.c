/* SPDX-License-Identifier: ISC */
/* A small array language over nx: a complete frontend in one file, in the style that
 * docs/embedding.md describes.
 *
 *   let x = [[1, 2, 3], [4, 5, 6]]      a name for a value; nothing runs
 *   let w = load("weights.npz", "w")    the pages of a file
 *   x[0, 1:] = exp(x[1, :2])            assigns a part: what was computed from x before keeps the
 *                                       old numbers
 *   sum(x @ w, 1) / 2                   prints, and so computes, in one kernel where it can
 *
 * Usage: example-embed [FILE]; else a program on standard input. An error is shown under its place
 * in the program, the library's own too: every operation is recorded under a tag that says where it
 * was written. Then the next line goes on; what an error left without a value is passed over in
 * silence. Exit status: 1 after an error. */
#include <ctype.h>
#include <nx/nx.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VARIABLES = 256, MOST_NAME = 32, DEEPEST = 100, MOST_SHOWN = 1000 };

typedef struct variable {
  char name[MOST_NAME];
  nx_tensor *value; /* one reference; NULL: the statement that should have given it failed */
} variable;

typedef struct program {
  const char *file, *text, *at;
  int brackets; /* inside of which a line may end */
  int depth;    /* of expressions in expressions */
  bool failed;  /* this statement */
  int errors;
  nx_context *context;
  variable variables[MOST_VARIABLES];
  int n_variables;
} program;

/* ---- errors, shown as FILE:LINE:COLUMN with the line itself */

static void complain(program *p, const char *where, const char *sentence) {
  int line = 1;
  const char *begin = p->text;
  for (const char *s = p->text; s < where; s++)
    if (*s == '\n') line++, begin = s + 1;
  int length = (int)strcspn(begin, "\n"), column = (int)(where - begin);
  fprintf(stderr, "%s:%d:%d: %s\n  %.*s\n  %*s^\n", p->file, line, column + 1, sentence, length,
          begin, column, "");
  p->errors++;
}

/* The first error of a statement counts. Always NULL. */
static nx_tensor *fail(program *p, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static nx_tensor *fail(program *p, const char *where, const char *format, ...) {
  char sentence[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  if (!p->failed) complain(p, where, sentence);
  p->failed = true;
  return NULL;
}

/* Where the operations that are recorded next come from: an offset in the text, and 1, since 0 is
 * no tag. */
static void mark(const program *p, const char *where) {
  nx_tag_set((uint64_t)(where - p->text) + 1, NULL);
}

/* The library's first error since the last one: recorded now, or on an earlier line whose value is
 * needed only now. */
static void check_library(program *p, const char *otherwise) {
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e) == NX_OK) return;
  fail(p, e.tag ? p->text + e.tag - 1 : otherwise, "%s", e.message);
}

/* ---- words */

static void skip(program *p) {
  for (;; p->at++) {
    if (*p->at == '#') p->at += strcspn(p->at, "\n");
    if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r' && !(*p->at == '\n' && p->brackets))
      return;
  }
}

static bool take(program *p, char c) {
  skip(p);
  if (*p->at != c) return false;
  p->at++;
  if (strchr("([", c)) p->brackets++;
  if (strchr(")]", c)) p->brackets--;
  return true;
}

static bool expect(program *p, char c) {
  if (take(p, c)) return true;
  fail(p, p->at, "'%c' is expected here", c);
  return false;
}

static bool take_word(program *p, char word[MOST_NAME]) {
  skip(p);
  size_t n = 0;
  if (!isalpha((unsigned char)*p->at) && *p->at != '_') return false;
  while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_') n++;
  if (n >= MOST_NAME) return fail(p, p->at, "this name is too long"), false;
  memcpy(word, p->at, n);
  word[n] = 0;
  p->at += n;
  return true;
}

static bool take_integer(program *p, int64_t *value) {
  skip(p);
  char *end;
  long long v = strtoll(p->at, &end, 10);
  if (end == p->at) return false;
  if (v < -INT32_MAX || v > INT32_MAX) return fail(p, p->at, "this integer is too large"), false;
  *value = v;
  p->at = end;
  return true;
}

static bool take_string(program *p, char *out, size_t size) {
  skip(p);
  size_t n = *p->at == '"' ? strcspn(p->at + 1, "\"\n") : 0;
  if (*p->at != '"' || p->at[n + 1] != '"' || n >= size)
    return fail(p, p->at, "a text in quotes is expected here"), false;
  memcpy(out, p->at + 1, n);
  out[n] = 0;
  p->at += n + 2;
  return true;
}

static variable *find(program *p, const char *name) {
  for (int i = 0; i < p->n_variables; i++)
    if (strcmp(p->variables[i].name, name) == 0) return &p->variables[i];
  return NULL;
}

/* ---- tensor literals: [[1, 2], [3, 4]], read into one block of memory, which the library copies
 * */

typedef struct literal {
  double *data;
  int64_t n, capacity, shape[NX_MAX_RANK];
  int32_t rank; /* -1 until the first number is found */
} literal;

static bool add_number(program *p, literal *l, int32_t level) {
  skip(p);
  char *end;
  double value = strtod(p->at, &end);
  if (end == p->at) return fail(p, p->at, "a number or '[' is expected here"), false;
  if (l->rank < 0) l->rank = level;
  if (l->rank != level) return fail(p, p->at, "numbers lie at different depths"), false;
  if (l->n == l->capacity) {
    int64_t capacity = l->capacity ? 2 * l->capacity : 16;
    double *data = realloc(l->data, (size_t)capacity * sizeof *data);
    if (!data) return fail(p, p->at, "memory is exhausted"), false;
    l->data = data;
    l->capacity = capacity;
  }
  l->data[l->n++] = value;
  p->at = end;
  return true;
}

static bool add_list(program *p, literal *l, int32_t level) {
  int64_t count = 0;
  const char *begin = p->at;
  if (!take(p, '[')) return add_number(p, l, level);
  if (level == NX_MAX_RANK) return fail(p, begin, "lists are nested too deeply"), false;
  do {
    if (!add_list(p, l, level + 1)) return false;
    count++;
  } while (take(p, ','));
  if (!expect(p, ']')) return false;
  if (l->shape[level] && l->shape[level] != count)
    return fail(p, begin, "this list has another number of items"), false;
  l->shape[level] = count;
  return true;
}

static nx_tensor *literal_value(program *p) {
  literal l = {.rank = -1};
  nx_tensor *t = NULL;
  if (add_list(p, &l, 0)) {
    nx_import_desc d = {.size = sizeof d,
                        .mode = NX_IMPORT_COPY,
                        .dtype = NX_F64,
                        .rank = l.rank,
                        .shape = l.shape,
                        .base = l.data,
                        .bytes = (size_t)l.n * sizeof *l.data};
    nx_import(p->context, &d, &t);
  }
  free(l.data);
  return t;
}

/* ---- functions */

static nx_tensor *expression(program *p);

typedef nx_tensor *unary(nx_tensor *x);
typedef nx_tensor *reduction(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags);

static const struct {
  const char *name;
  unary *map;
  reduction *fold;
} functions[] = {
    {"abs", nx_abs, NULL},        {"det", nx_det, NULL},        {"inv", nx_inv, NULL},
    {"exp", nx_exp, NULL},        {"log", nx_log, NULL},        {"sqrt", nx_sqrt, NULL},
    {"tanh", nx_tanh, NULL},      {"max", NULL, nx_reduce_max}, {"min", NULL, nx_reduce_min},
    {"sum", NULL, nx_reduce_sum},
};

/* The integers that follow the first argument: axes or extents. */
static int32_t integers(program *p, int64_t *out) {
  int32_t n = 0;
  while (take(p, ',')) {
    if (n == NX_MAX_RANK) return fail(p, p->at, "these are too many"), -1;
    if (!take_integer(p, &out[n++])) return fail(p, p->at, "an integer is expected here"), -1;
  }
  return n;
}

/* sum(x) adds up everything, sum(x, 0) along one axis; what is left over keeps its place. */
static nx_tensor *fold(program *p, const char *where, reduction *f) {
  int64_t given[NX_MAX_RANK];
  int32_t axes[NX_MAX_RANK];
  nx_tensor *x = expression(p);
  int32_t n = x ? integers(p, given) : -1;
  if (n < 0) return NULL;
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  for (int32_t i = 0; i < (n ? n : info.rank); i++) axes[i] = n ? (int32_t)given[i] : i;
  mark(p, where);
  return f(x, axes, (size_t)(n ? n : info.rank), 0);
}

static nx_tensor *reshape(program *p, const char *where) {
  int64_t shape[NX_MAX_RANK];
  nx_tensor *x = expression(p);
  int32_t n = x ? integers(p, shape) : -1;
  if (n < 0) return NULL;
  mark(p, where);
  return nx_reshape(nx_contiguous(x), shape, n, 0);
}

static nx_tensor *transpose(program *p, const char *where) {
  nx_tensor *x = expression(p);
  if (!x) return NULL;
  int32_t axes[NX_MAX_RANK];
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  for (int32_t i = 0; i < info.rank; i++) axes[i] = info.rank - 1 - i;
  mark(p, where);
  return nx_permute(x, axes, (size_t)info.rank);
}

static nx_tensor *range(program *p, const char *where) {
  int64_t n;
  if (!take_integer(p, &n)) return fail(p, p->at, "an integer is expected here");
  mark(p, where);
  return nx_arange(p->context, 0, NX_F64, NX_NUMBER(0), NX_NUMBER(1), n);
}

static nx_tensor *where_of(program *p, const char *where) {
  nx_tensor *x[3] = {NULL};
  for (int i = 0; i < 3; i++) {
    if (i && !expect(p, ',')) return NULL;
    if (!(x[i] = expression(p))) return NULL;
  }
  mark(p, where);
  return nx_where(x[0], x[1], x[2]);
}

/* load("x.npy"), or an array of an archive. All numbers of this language are f64. */
static nx_tensor *load(program *p, const char *where) {
  char path[512], name[256];
  nx_tensor *x = NULL;
  nx_archive *archive = NULL;
  if (!take_string(p, path, sizeof path)) return NULL;
  bool named = take(p, ',');
  if (named && !take_string(p, name, sizeof name)) return NULL;
  mark(p, where);
  if (!named) nx_load_npy(p->context, path, &x);
  else if (nx_archive_open(path, &archive) == NX_OK)
    nx_archive_load(archive, p->context, name, NULL, &x);
  nx_archive_close(archive);
  nx_tensor *numbers = x ? nx_cast(x, NX_F64) : NULL;
  nx_tensor_release(x);
  return numbers;
}

/* What follows NAME and '('. */
static nx_tensor *call(program *p, const char *name, const char *where) {
  static const struct {
    const char *name;
    nx_tensor *(*function)(program *, const char *);
  } others[] = {{"load", load},
                {"range", range},
                {"reshape", reshape},
                {"transpose", transpose},
                {"where", where_of}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, name) != 0) continue;
    if (functions[i].fold) return fold(p, where, functions[i].fold);
    nx_tensor *x = expression(p);
    mark(p, where);
    return x ? functions[i].map(x) : NULL;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(others[i].name, name) == 0) return others[i].function(p, where);
  return fail(p, where, "there is no function named %s", name);
}

/* ---- parts: x[1], x[-1, 2:5], x[:, ::-1] */

typedef struct region {
  int64_t start[NX_MAX_RANK], count[NX_MAX_RANK], step[NX_MAX_RANK];
  int64_t shape[NX_MAX_RANK]; /* of what is left: an axis with a single index goes */
  int32_t axes, rank;
} part;

/* One axis of `extent`. Which indices are there is for the library to say. */
static bool take_axis(program *p, part *x, int64_t extent) {
  int32_t i = x->axes++;
  int64_t stop, step = 1;
  bool first = take_integer(p, &x->start[i]);
  if (first && x->start[i] < 0) x->start[i] += extent;
  if (first && !take(p, ':')) {
    x->count[i] = x->step[i] = 1;
    return true;
  }
  if (!first && !take(p, ':')) return fail(p, p->at, "an index or ':' is expected here"), false;
  bool last = take_integer(p, &stop);
  if (last && stop < 0) stop += extent;
  if (take(p, ':') && !take_integer(p, &step))
    return fail(p, p->at, "a step is expected here"), false;
  if (!first) x->start[i] = step < 0 ? extent - 1 : 0;
  if (!last) stop = step < 0 ? -1 : extent;
  int64_t way = step < 0 ? x->start[i] - stop : stop - x->start[i], size = step < 0 ? -step : step;
  x->step[i] = step;
  x->count[i] = way <= 0 || !size ? 0 : (way + size - 1) / size;
  x->shape[x->rank++] = x->count[i];
  return true;
}

static nx_tensor *take_part(program *p, nx_tensor *t, const char *where) {
  part x = {.axes = 0};
  take(p, '[');
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(t, &info);
  do {
    if (x.axes == info.rank)
      return fail(p, p->at, "a tensor of rank %d has no more axes", info.rank);
    if (!take_axis(p, &x, info.shape[x.axes])) return NULL;
  } while (take(p, ','));
  if (!expect(p, ']')) return NULL;
  for (int32_t i = x.axes; i < info.rank; i++) {
    x.start[i] = 0, x.step[i] = 1;
    x.shape[x.rank++] = x.count[i] = info.shape[i];
  }
  mark(p, where);
  return nx_reshape(nx_slice(t, x.start, x.count, x.step, (size_t)info.rank), x.shape, x.rank, 0);
}

/* ---- expressions: recorded while they are read. NULL: failed, here or in the library */

static nx_tensor *primary(program *p) {
  char name[MOST_NAME];
  skip(p);
  const char *where = p->at;
  if (*where == '[') return mark(p, where), literal_value(p);
  if (take(p, '(')) {
    nx_tensor *x = expression(p);
    return x && expect(p, ')') ? x : NULL;
  }
  if (take_word(p, name)) {
    if (take(p, '(')) {
      nx_tensor *x = call(p, name, where);
      return x && expect(p, ')') ? x : NULL;
    }
    variable *v = find(p, name);
    if (!v) return fail(p, where, "%s is not defined", name);
    if (!v->value) p->failed = true; /* and has been complained of */
    return v->value;
  }
  char *end;
  double number = strtod(where, &end); /* which would look for one on the next line, too */
  if (end == where || isspace((unsigned char)*where))
    return fail(p, where, "a value is expected here");
  p->at = end;
  mark(p, where);
  return nx_full(p->context, 0, NX_F64, NULL, 0, NX_NUMBER(number));
}

static nx_tensor *postfix(program *p) {
  nx_tensor *x = primary(p);
  while (x && (skip(p), *p->at == '[')) x = take_part(p, x, p->at);
  return x;
}

static nx_tensor *factor(program *p) {
  skip(p);
  const char *where = p->at;
  if (!take(p, '-')) return postfix(p);
  if (++p->depth > DEEPEST) return fail(p, where, "this is nested too deeply");
  nx_tensor *x = factor(p);
  p->depth--;
  mark(p, where);
  return x ? nx_neg(x) : NULL;
}

static nx_tensor *binary(char sign, nx_tensor *a, nx_tensor *b) {
  static const char signs[] = "+-*/@<=";
  static nx_tensor *(*const operations[])(nx_tensor *, nx_tensor *) = {
      nx_add, nx_sub, nx_mul, nx_div, nx_matmul, nx_cmplt, nx_cmpeq};
  return operations[strchr(signs, sign) - signs](a, b);
}

/* Operators by how strongly they bind; those of one row from left to right. */
static nx_tensor *level(program *p, int i) {
  static const char *const operators[] = {"<=", "+-", "*/@"};
  if (i == 3) return factor(p);
  nx_tensor *x = level(p, i + 1);
  while (x) {
    skip(p);
    const char *where = p->at;
    char sign = *where;
    if (!sign || !strchr(operators[i], sign) || (sign == '=' && where[1] != '=')) break;
    p->at += sign == '=' ? 2 : 1;
    nx_tensor *y = level(p, i + 1);
    mark(p, where);
    x = y ? binary(sign, x, y) : NULL;
  }
  return x;
}

static nx_tensor *expression(program *p) {
  if (++p->depth > DEEPEST) return fail(p, p->at, "this is nested too deeply");
  nx_tensor *x = level(p, 0);
  p->depth--;
  return x;
}

/* ---- statements */

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal) {
  (void)signal;
  interrupted = 1;
}
/* The library asks at least every 20 ms; what it was asked to stop can be tried again. */
static int32_t poll(void *user) {
  (void)user;
  return interrupted;
}

static void print(const double *data, const int64_t *shape, int32_t rank, bool truth) {
  if (!rank && truth) printf("%s", *data != 0 ? "true" : "false");
  else if (!rank) printf("%.6g", *data);
  if (!rank) return;
  int64_t row = 1;
  for (int32_t i = 1; i < rank; i++) row *= shape[i];
  printf("[");
  for (int64_t i = 0; i < shape[0]; i++) {
    if (i) printf(", ");
    print(data + i * row, shape + 1, rank - 1, truth);
  }
  printf("]");
}

/* Printing is what computes. */
static void show(program *p, nx_tensor *x) {
  double data[MOST_SHOWN];
  nx_run_options options = {.size = sizeof options, .poll = poll};
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  if (info.elements > MOST_SHOWN) {
    if (nx_realize(p->context, &x, 1, &options) == NX_OK)
      printf("%lld numbers\n", (long long)info.elements);
    return;
  }
  nx_tensor *numbers = nx_cast(x, NX_F64);
  if (nx_read(numbers, data, (size_t)info.elements * sizeof *data, &options) != NX_OK) return;
  print(data, info.shape, info.rank, info.dtype == NX_BOOL);
  printf("\n");
}

/* A name keeps its value, which has outlived its scope then. */
static void define(program *p, const char *name, nx_tensor *value) {
  variable *v = find(p, name);
  if (!v && p->n_variables == MOST_VARIABLES) {
    fail(p, p->at, "these are too many names");
    return;
  }
  if (!v) {
    v = &p->variables[p->n_variables++];
    memcpy(v->name, name, MOST_NAME);
  }
  nx_tensor *old = v->value;
  v->value = value ? nx_keep(nx_tensor_retain(value)) : NULL;
  nx_tensor_release(old);
}

static void let(program *p) {
  char name[MOST_NAME];
  if (!take_word(p, name)) {
    fail(p, p->at, "a name is expected here");
    return;
  }
  nx_tensor *x = expect(p, '=') ? expression(p) : NULL;
  /* A copy, since a view of another variable would change with it. */
  if (x) x = nx_copy(x);
  define(p, name, x);
}

static void statement(program *p) {
  char word[MOST_NAME];
  const char *begin = p->at;
  if (take_word(p, word) && strcmp(word, "let") == 0) {
    let(p);
    return;
  }
  p->at = begin;
  nx_tensor *x = expression(p);
  skip(p);
  const char *where = p->at;
  if (x && take(p, '=')) {
    nx_tensor *y = expression(p);
    if (y) mark(p, where), nx_assign(x, y);
  } else if (x && (*p->at == '\n' || !*p->at)) {
    show(p, x);
  }
}

static void run(program *p) {
  while (*p->at) {
    skip(p);
    const char *begin = p->at;
    p->brackets = p->depth = 0;
    p->failed = false;
    mark(p, begin);
    nx_scope *scope = nx_scope_begin(p->context); /* what the statement makes goes with it */
    if (*p->at != '\n' && *p->at) statement(p);
    check_library(p, begin);
    skip(p);
    if (!p->failed && *p->at && *p->at != '\n') fail(p, p->at, "the end of the line is expected");
    nx_scope_end(scope);
    p->at += strcspn(p->at, "\n");
    if (*p->at) p->at++;
    fflush(stdout);
  }
}

/* ---- the program's text */

static char *read_text(FILE *f) {
  char *text = NULL;
  size_t capacity = 0;
  if (getdelim(&text, &capacity, 0, f) >= 0) return text;
  free(text);
  return feof(f) ? calloc(1, 1) : NULL; /* nothing is a program, too */
}

int main(int argc, char **argv) {
  program *p = calloc(1, sizeof *p);
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL, *f = argc > 1 ? file : stdin;
  char *text = f && p ? read_text(f) : NULL;
  const char *limit = getenv("EMBED_MEMORY"); /* of all arrays, in bytes */
  nx_context_options options = {.size = sizeof options};
  if (limit) options.memory_limit = strtoull(limit, NULL, 10);
  int errors = 1;
  if (text && nx_context_create(&options, &p->context) == NX_OK) {
    signal(SIGINT, on_interrupt);
    p->file = argc > 1 ? argv[1] : "stdin";
    p->text = p->at = text;
    run(p);
    errors = p->errors;
    for (int i = 0; i < p->n_variables; i++) nx_tensor_release(p->variables[i].value);
    nx_context_release(p->context);
  } else {
    fprintf(stderr, "example-embed: cannot read the program, or begin\n");
  }
  free(text);
  free(p);
  if (file) fclose(file);
  return errors != 0;
}
