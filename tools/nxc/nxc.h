/* SPDX-License-Identifier: ISC */
/* What the subcommands of nxc share: options, files, complaints. A complaint is one line on
 * standard error, FILE:LINE:COLUMN: sentence where there is a place, FILE: sentence or nxc:
 * sentence where there is none. */
#ifndef NXC_H
#define NXC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"
#include "ir/target.h"

/* Exit statuses. */
enum { NXC_OK = 0, NXC_FAILED = 1, NXC_USAGE = 2 };

/* One file a subcommand. Arguments are those after its name. */
int nxc_run(int argc, char **argv);
int nxc_opt(int argc, char **argv);
int nxc_dump(int argc, char **argv);
int nxc_info(int argc, char **argv);
int nxc_cache(int argc, char **argv);

/* ---- options: --name VALUE, --name=VALUE, or --name alone */

/* NAME=VALUE as given, any number of times. */
typedef struct nxc_pair {
  const char *name, *value;
  size_t name_length;
} nxc_pair;
enum { NXC_MAX_PAIRS = 256 };
typedef struct nxc_pairs {
  nxc_pair items[NXC_MAX_PAIRS];
  size_t n;
} nxc_pairs;

/* Exactly one of the pointers is set, and says what the option takes. */
typedef struct nxc_option {
  const char *name;
  bool *flag;
  const char **value;
  nxc_pairs *pairs;
} nxc_option;

/* Fills what the options point to and at most one positional argument (*file, NULL: none is taken).
 * False after a complaint. */
bool nxc_parse(int argc, char **argv, const nxc_option *options, size_t n, const char **file);

/* ---- complaints. All return NXC_FAILED, but nxc_misuse: NXC_USAGE. */

int nxc_complain(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));
int nxc_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A failure of the library; where: the file it is about. */
int nxc_failure(const char *where, const nxi_diag *d);
/* The failure in this thread's error slot. */
int nxc_public_failure(const char *where);

/* ---- files and machines */

/* The whole of a text file ("-": standard input); free with nxi_free. NULL after a complaint. */
char *nxc_read_text(const char *path, size_t *size);
/* Prints a text and frees it; a complaint if it is incomplete or cannot be written. */
int nxc_print_text(nxi_text *text);
/* This machine, or it with the instruction set named, even one that it lacks. False after a
 * complaint. */
bool nxc_target(const char *isa, nxi_target *out);

/* diff.c. The lines that only one of two texts has, as remarks: "; - LINE", "; + LINE". False
 * without memory. */
bool nxc_diff(const nxi_text *before, const nxi_text *after, nxi_text *out);

#endif
