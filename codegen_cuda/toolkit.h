/* SPDX-License-Identifier: ISC */
/* Loads NVIDIA's libraries when they are first needed. A library that is missing is reported, and
 * everything else works. The functions that are used of a library are the rows of a .def file, from
 * which its struct of pointers and its list of symbols are made, in the same order. */
#ifndef NXU_TOOLKIT_H
#define NXU_TOOLKIT_H

#include <stdbool.h>

#include "ir/platform/file.h"

typedef struct nxu_library {
  const char *what;           /* "NVRTC, the run-time compiler," */
  const char *variable;       /* environment variable: a file to load instead of all others */
  const char *const *files;   /* sonames, the newest first; ends with NULL */
  const char *const *symbols; /* ends with NULL */
} nxu_library;

enum { NXU_SENTENCE = 400 };
/* Loads a library and fills the table, a struct of function pointers, one for each symbol. False:
 * `missing` is a sentence that says what was not found. Files are looked for where the system finds
 * libraries, in CUDA_PATH, in the usual folders of toolkits, and among packages of Python. */
bool nxu_load_library(const nxu_library *l, void *table, char missing[NXU_SENTENCE]);

/* packaged.c: looks for a file in nvidia/NAME/lib among the packages of the active Python
 * environment, or of the one in which this library is installed, or in a conda environment. False:
 * there is none. */
bool nxu_find_packaged(const char *file, char found[NXI_PATH]);
/* The same among the packages of the environment in which a library of this path is installed. */
bool nxu_find_beside(const char *library, const char *file, char found[NXI_PATH]);

/* Sets the CUDA version of the driver; 13000 is 13.0. From then on libraries of the same major
 * version are preferred, because a driver of CUDA 12 does not load code that NVRTC 13 makes. */
void nxu_set_driver(int version);

#endif
