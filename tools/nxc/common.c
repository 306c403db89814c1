/* SPDX-License-Identifier: ISC */
/* Functions that the subcommands share; see nxc.h. */
#include "nxc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/text/near.h"
#include "nx/nx.h"

/* ---- error messages */

int nxc_complain(const char *where, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", where);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  return NXC_FAILED;
}

int nxc_misuse(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "nxc: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, " (nxc help)\n");
  va_end(arguments);
  return NXC_USAGE;
}

int nxc_failure(const char *where, const nxi_diag *d) {
  const char *sentence = d->message[0] ? d->message : nx_status_sentence(d->status);
  if (d->line > 0) fprintf(stderr, "%s:%d:%d: %s\n", where, d->line, d->column, sentence);
  else fprintf(stderr, "%s: %s\n", where, sentence);
  return NXC_FAILED;
}

/* The path is printed only once: "cannot write y.npy: ..." becomes "y.npy: cannot write: ...". */
int nxc_public_failure(const char *where) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  const char *message = e.status == NX_OK ? "failed for an unknown reason" : e.message;
  size_t n = strlen(where);
  const char *said = strstr(message, where);
  char after = said ? said[n] : '\0';
  if (said == message && after == ':') return nxc_complain(where, "%s", message + n + 2);
  if (said == message && after == ' ') {
    fprintf(stderr, "%s\n", message);
    return NXC_FAILED;
  }
  if (said && said[-1] == ' ' && after == ':')
    return nxc_complain(where, "%.*s%s", (int)(said - 1 - message), message, said + n);
  return nxc_complain(where, "%s", message);
}

/* ---- options */

static bool add_pair(nxc_pairs *pairs, const char *option, const char *text) {
  const char *equal = strchr(text, '=');
  if (equal == NULL || equal == text || equal[1] == '\0') {
    nxc_misuse("--%s wants NAME=VALUE, not \"%s\"", option, text);
    return false;
  }
  if (pairs->n == NXC_MAX_PAIRS) {
    nxc_misuse("--%s is given more than %d times", option, NXC_MAX_PAIRS);
    return false;
  }
  size_t length = (size_t)(equal - text);
  for (size_t i = 0; i < pairs->n; i++) {
    if (pairs->items[i].name_length != length || memcmp(pairs->items[i].name, text, length) != 0)
      continue;
    nxc_misuse("--%s is given twice for %.*s", option, (int)length, text);
    return false;
  }
  pairs->items[pairs->n++] = (nxc_pair){text, equal + 1, length};
  return true;
}

/* A value without a name, or one of several of a name. */
static bool add_listed(const nxc_option *o, const char *text) {
  const char *equal = o->bare ? NULL : strchr(text, '=');
  if (*text == '\0' || (!o->bare && (equal == NULL || equal == text || equal[1] == '\0'))) {
    nxc_misuse("--%s wants %s, not \"%s\"", o->name, o->bare ? "a file" : "NAME=VALUE", text);
    return false;
  }
  if (o->list->n == NXC_MAX_PAIRS) {
    nxc_misuse("--%s is given more than %d times", o->name, NXC_MAX_PAIRS);
    return false;
  }
  size_t length = equal != NULL ? (size_t)(equal - text) : 0;
  o->list->items[o->list->n++] = (nxc_pair){text, equal != NULL ? equal + 1 : text, length};
  return true;
}

static const nxc_option *find_option(const nxc_option *options, size_t n, const char *name,
                                     size_t length) {
  for (size_t i = 0; i < n; i++)
    if (strlen(options[i].name) == length && memcmp(options[i].name, name, length) == 0)
      return &options[i];
  return NULL;
}

/* Prints which options exist. */
static bool no_option(const char *name, size_t length, const nxc_option *options, size_t n) {
  const char *known[16];
  char near[NXI_NEAR_TEXT];
  nxi_text all = {0};
  for (size_t i = 0; i < n && i < 16; i++) {
    known[i] = options[i].name;
    nxi_text_add(&all, "%s--%s", i ? ", " : "", known[i]);
  }
  int i = nxi_near(name, length, known, n < 16 ? n : 16);
  snprintf(near, sizeof near, "%s%s%s", i < 0 ? "" : "; did you mean --", i < 0 ? "" : known[i],
           i < 0 ? "" : "?");
  nxc_misuse("there is no option --%.*s here%s%s%s", (int)length, name, near,
             n ? "; the options are: " : "; it takes none", all.data ? all.data : "");
  nxi_text_free(&all);
  return false;
}

/* Parses one argument that starts with --; *i is incremented if its value is the next argument. */
static bool parse_option(int argc, char **argv, int *i, const nxc_option *options, size_t n) {
  const char *name = argv[*i] + 2, *value = strchr(name, '=');
  size_t length = value ? (size_t)(value - name) : strlen(name);
  const nxc_option *o = find_option(options, n, name, length);
  if (o == NULL) return no_option(name, length, options, n);
  if (o->flag != NULL) {
    *o->flag = true;
    return value == NULL || (nxc_misuse("--%s takes no value", o->name), false);
  }
  if (value != NULL) value++;
  else if (*i + 1 < argc) value = argv[++*i];
  else return nxc_misuse("--%s wants a value", o->name), false;
  if (o->pairs != NULL) return add_pair(o->pairs, o->name, value);
  if (o->list != NULL) return add_listed(o, value);
  *o->value = value;
  return true;
}

bool nxc_parse(int argc, char **argv, const nxc_option *options, size_t n, const char **file) {
  for (int i = 0; i < argc; i++) {
    if (strncmp(argv[i], "--", 2) == 0) {
      if (!parse_option(argc, argv, &i, options, n)) return false;
    } else if (file != NULL && *file == NULL) {
      *file = argv[i];
    } else {
      nxc_misuse("\"%s\" is one argument too many", argv[i]);
      return false;
    }
  }
  return true;
}

/* ---- files */

static bool read_all(FILE *f, nxi_text *text) {
  char piece[65536];
  while (!feof(f) && !ferror(f) && !text->failed) {
    size_t n = fread(piece, 1, sizeof piece, f);
    nxi_text_put(text, piece, (uint32_t)n);
  }
  return !ferror(f);
}

char *nxc_read_text(const char *path, size_t *size) {
  nxi_text text = {0};
  bool standard = strcmp(path, "-") == 0;
  FILE *f = standard ? stdin : fopen(path, "rb");
  if (f == NULL || !read_all(f, &text)) nxc_complain(path, "cannot be read: %s", strerror(errno));
  else if (text.failed) nxc_complain(path, "memory is exhausted");
  else {
    *size = text.size;
    if (!standard) fclose(f);
    return text.data;
  }
  if (f != NULL && !standard) fclose(f);
  nxi_text_free(&text);
  return NULL;
}

int nxc_print_text(nxi_text *text) {
  int status = NXC_OK;
  if (text->failed) status = nxc_complain("nxc", "memory is exhausted");
  else if (text->data != NULL && fwrite(text->data, 1, text->size, stdout) != text->size)
    status = nxc_complain("nxc", "cannot write to standard output: %s", strerror(errno));
  nxi_text_free(text);
  return status;
}

/* ---- machines */

bool nxc_target(const char *isa, nxi_target *out) {
  static const struct {
    const char *name;
    int32_t vector_bytes;
  } known[] = {{"avx512", 64}, {"avx2", 32}, {"generic", 16}, {"neon", 16}};
  *out = *nxi_target_host();
  if (isa == NULL || nxi_target_for_isa(isa, out)) return true;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(known[i].name, isa) != 0) continue;
    snprintf(out->isa, sizeof out->isa, "%s", isa);
    out->vector_bytes = known[i].vector_bytes;
    return true;
  }
  nxc_misuse("there is no instruction set \"%s\"; it is one of avx512, avx2, generic, neon", isa);
  return false;
}
