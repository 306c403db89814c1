/* SPDX-License-Identifier: ISC */
/* Functions that the subcommands of nxc share: options, files, error messages. An error message is
 * one line on standard error: "FILE:LINE:COLUMN: sentence" if a place is known, else "FILE:
 * sentence" or "nxc: sentence". */
#ifndef NXC_H
#define NXC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"
#include "ir/target.h"
#include "nx/function.h"
#include "nx/stablehlo.h"

/* Exit statuses. */
enum { NXC_OK = 0, NXC_FAILED = 1, NXC_USAGE = 2 };

/* Each subcommand is in a separate file. Arguments are those after its name. */
int nxc_run(int argc, char **argv);
int nxc_opt(int argc, char **argv);
int nxc_dump(int argc, char **argv);
int nxc_info(int argc, char **argv);
int nxc_cache(int argc, char **argv);
int nxc_import(int argc, char **argv);

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

/* Exactly one of the pointers is set; it determines the type of the option's value. */
typedef struct nxc_option {
  const char *name;
  bool *flag;
  const char **value;
  nxc_pairs *pairs; /* each name once */
  nxc_pairs *list;  /* the same, but names may be there more than once; without names if `bare` */
  bool bare;
} nxc_option;

/* Stores the values of the options, and at most one positional argument in *file (file NULL: none
 * is allowed). False after an error message. */
bool nxc_parse(int argc, char **argv, const nxc_option *options, size_t n, const char **file);

/* ---- error messages. All functions return NXC_FAILED, except nxc_misuse, which returns
 * NXC_USAGE. */

int nxc_complain(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));
int nxc_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a failure of the library; where: the file that caused it. */
int nxc_failure(const char *where, const nxi_diag *d);
/* Prints the failure in this thread's error slot. */
int nxc_public_failure(const char *where);

/* ---- files and machines */

/* Reads a text file ("-": standard input); free the result with nxi_free. NULL after an error
 * message. */
char *nxc_read_text(const char *path, size_t *size);
/* The same of a program that the library compiles: StableHLO becomes a text of its own form. */
char *nxc_read_program(const char *path, size_t *size);
/* mlir.c: whether a file is StableHLO; its function. The failure is in this thread's error slot. */
bool nxc_is_mlir(const char *text, size_t size);
nx_status nxc_mlir_function(const char *text, size_t size, nx_context *context, nx_device device,
                            const nx_stablehlo_host *host, nx_function **f);
/* exchange.c: files in which a program of StableHLO finds, in their order, what it reads by infeed
 * and from channels, and those that it writes: one for each array. It begins anew with each run. */
typedef struct nxc_exchange {
  nx_context *context;
  nxc_pairs infeed, outfeed, receive, send; /* of channels: numbers are the names */
  bool used[4][NXC_MAX_PAIRS];
} nxc_exchange;
nx_stablehlo_host nxc_host(nxc_exchange *e);
void nxc_rewind(nxc_exchange *e);
/* Prints a text and frees it; prints an error message if the text is incomplete or cannot be
 * written. */
int nxc_print_text(nxi_text *text);
/* The target of this machine; isa: another instruction set, which the machine need not have. False
 * after an error message. */
bool nxc_target(const char *isa, nxi_target *out);

/* diff.c. Prints the lines that only one of two texts has as comments: "; - LINE", "; + LINE".
 * False if memory is exhausted. */
bool nxc_diff(const nxi_text *before, const nxi_text *after, nxi_text *out);

#endif
