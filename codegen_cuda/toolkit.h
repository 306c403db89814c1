/* SPDX-License-Identifier: ISC */
/* NVIDIA's libraries, loaded when they are first asked for: what is not there is said, and the rest
 * works. The functions used of one are rows of a .def file, from which come a struct of pointers
 * and the list of symbols, in one order. */
#ifndef NXU_TOOLKIT_H
#define NXU_TOOLKIT_H

#include <limits.h>
#include <stdbool.h>

typedef struct nxu_library {
  const char *what;           /* "NVRTC, the run-time compiler," */
  const char *variable;       /* of the environment: a file to load in place of all others */
  const char *const *files;   /* sonames, the newest first; ends with NULL */
  const char *const *symbols; /* ends with NULL */
} nxu_library;

enum { NXU_SENTENCE = 400 };
/* Fills the table, a struct of function pointers, one for each symbol. False: missing says what is
 * not there. Files are looked for where the system finds libraries, in CUDA_PATH, where toolkits
 * lie, and among packages of Python. */
bool nxu_load_library(const nxu_library *l, void *table, char missing[NXU_SENTENCE]);

/* packaged.c: a file of nvidia/NAME/lib among the packages of the Python environment that is
 * active, or that this library came in; or in an environment of conda. False: there is none. */
bool nxu_find_packaged(const char *file, char found[PATH_MAX]);
/* ... that a library of this path came in. */
bool nxu_find_beside(const char *library, const char *file, char found[PATH_MAX]);

/* The driver's CUDA, 13000 is 13.0. Once it is known libraries of its own major version come first:
 * one of CUDA 12 does not load what NVRTC 13 makes. */
void nxu_set_driver(int version);

#endif
