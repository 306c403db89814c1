/* SPDX-License-Identifier: ISC */
/* Thread-local data of libraries that are loaded while the process runs. The C library allocates a
 * thread's copy when the thread first uses it, and ends the process if there is no memory then. */
#ifndef NXI_PLATFORM_THREAD_DATA_H
#define NXI_PLATFORM_THREAD_DATA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct nxi_thread_data {
  size_t module; /* the loader's number of the library; 0: it has no thread-local data */
  size_t bytes;
} nxi_thread_data;

/* The data of the library that contains the code at `inside`, which must stay loaded. */
nxi_thread_data nxi_thread_data_of(const void *inside);

/* Makes this thread's copies of the data of n libraries, if it has none. False: there is no memory
 * for them. */
bool nxi_thread_data_make(const nxi_thread_data *data, size_t n);

#endif
