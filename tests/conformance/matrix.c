/* SPDX-License-Identifier: ISC */
/* Prints the matrix, as text and as the page docs/coverage.md. The list of families is here too: to
 * add one, add its line. */
#include "matrix.h"

#include <string.h>

extern const family elements_family, incomplete_family, convert_family, words_family, reduce_family,
    statistic_family, move_family, create_family, index_family, linear_family, factor_family,
    form_family, solver_family, fourier_family, random_family, host_family, function_family,
    file_family, by_function_family, callback_family, collective_family, product_family,
    draw_family, convolution_family, window_family, control_family;
const family *const families[] = {
    &elements_family,  &incomplete_family, &words_family,    &convert_family, &reduce_family,
    &statistic_family, &move_family,       &create_family,   &index_family,   &window_family,
    &linear_family,    &factor_family,     &form_family,     &solver_family,  &fourier_family,
    &random_family,    &host_family,       &function_family, &file_family,    &by_function_family,
    &callback_family,  &collective_family, &product_family,  &draw_family,    &convolution_family,
    &control_family};
const size_t n_families = sizeof families / sizeof *families;

static const char *const signs[] = {"?", "+", "-", "o", "u"};

size_t count_rows(void) {
  size_t n = 0;
  for (size_t i = 0; i < n_families; i++) n += families[i]->n;
  return n;
}

size_t count_marks(const cell *matrix, mark m) {
  size_t n = 0;
  for (size_t i = 0; i < count_rows() * FORMATS; i++) n += matrix[i].mark == m;
  return n;
}

/* ---- for a person */

static void print_head(FILE *to, const char *name) {
  fprintf(to, "\n%-27s", name);
  for (size_t i = 0; i < FORMATS; i++) fprintf(to, " %s", formats[i].name);
  fputc('\n', to);
}

static void print_row(FILE *to, const operation *op, const cell *row) {
  fprintf(to, "%-27s", op->name);
  for (size_t i = 0; i < FORMATS; i++)
    fprintf(to, " %*s", (int)strlen(formats[i].name), row[i].failures ? "!" : signs[row[i].mark]);
  if (op->gaps) fprintf(to, "  o: %s", op->reason);
  fputc('\n', to);
}

bool print_matrix(FILE *to, const cell *matrix, bool verbose) {
  size_t row = 0, wrong = 0;
  long checked = 0;
  for (size_t i = 0; i < n_families; i++) {
    print_head(to, families[i]->name);
    for (size_t k = 0; k < families[i]->n; k++, row++)
      print_row(to, &families[i]->rows[k], matrix + row * FORMATS);
  }
  fprintf(to, "\n+ works, - refused as the contract says, o gap, u unavailable here, ! wrong, ? "
              "not tried\n");
  row = 0;
  for (size_t i = 0; i < n_families; i++)
    for (size_t k = 0; k < families[i]->n; k++, row++)
      for (size_t j = 0; j < FORMATS; j++) {
        const cell *c = &matrix[row * FORMATS + j];
        checked += c->checked;
        wrong += c->failures != 0;
        if (verbose)
          fprintf(to, "%s %s: %ld checks\n", families[i]->rows[k].name, formats[j].name,
                  c->checked);
        if (c->failures)
          fprintf(to, "%s %s: %s (%ld faults)\n", families[i]->rows[k].name, formats[j].name,
                  c->first, c->failures);
      }
  fprintf(
      to,
      "%zu cells: %zu work, %zu refused, %zu gaps, %zu wrong; %ld values and statuses checked\n",
      count_rows() * FORMATS, count_marks(matrix, WORKS), count_marks(matrix, REFUSED),
      count_marks(matrix, GAP), wrong, checked);
  return !wrong;
}

/* ---- for the documentation */

static void print_table(FILE *to, const family *f, const cell *rows) {
  fprintf(to, "\n| %s |", f->name);
  for (size_t i = 0; i < FORMATS; i++) fprintf(to, " %s |", formats[i].name);
  fprintf(to, "\n|---|");
  for (size_t i = 0; i < FORMATS; i++) fprintf(to, "---|");
  for (size_t k = 0; k < f->n; k++) {
    fprintf(to, "\n| `%s` |", f->rows[k].name);
    for (size_t i = 0; i < FORMATS; i++) fprintf(to, " %s |", signs[rows[k * FORMATS + i].mark]);
  }
  fputc('\n', to);
}

static void print_reasons(FILE *to) {
  bool any = false;
  for (size_t i = 0; i < n_families; i++)
    for (size_t k = 0; k < families[i]->n; k++) {
      const operation *op = &families[i]->rows[k];
      if (!op->gaps) continue;
      if (!any) fprintf(to, "\n| gap | why |\n|---|---|\n");
      any = true;
      fprintf(to, "| `%s` | %s |\n", op->name, op->reason);
    }
  if (!any) fprintf(to, "\nThere are no gaps.\n");
}

void print_markdown(FILE *to, const cell *matrix) {
  fputs(
      "<!-- SPDX-License-Identifier: ISC -->\n"
      "<!-- Generated: build/tests/conformance/conformance interp --markdown >docs/coverage.md "
      "-->\n"
      "# What works on which element type\n\n"
      "Each sign is the outcome of running the operation on that type: every layout, rank and "
      "corner value, compared with an\n"
      "independent reference, and bad inputs with the status that they must give. `testing.md` "
      "says how; `contract.md` says what\n"
      "an operation means.\n\n"
      "`+` works; `-` the contract refuses it, and so does the library, with a status; `o` the "
      "contract admits it, and it is not\n"
      "there yet. The row of an operation that converts is about the type that it converts from.\n",
      to);
  for (size_t i = 0; i < n_families; i++) {
    print_table(to, families[i], matrix);
    matrix += families[i]->n * FORMATS;
  }
  print_reasons(to);
}
