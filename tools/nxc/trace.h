/* SPDX-License-Identifier: ISC */
/* Spans of time, written in the format that chrome://tracing and Perfetto read. */
#ifndef NXC_TRACE_H
#define NXC_TRACE_H

#include "nxc.h"

typedef struct nxc_trace nxc_trace;

nxc_trace *nxc_trace_create(void); /* NULL: out of memory; all functions accept it and do nothing */
void nxc_trace_add(nxc_trace *t, const char *category, const char *name, double began_ms,
                   double ended_ms);
/* From this call until nxc_trace_free each step of a launch adds a span. A process can have only
 * one such trace. */
void nxc_trace_steps(nxc_trace *t);
/* Writes the file. NXC_FAILED after an error message. */
int nxc_trace_save(const nxc_trace *t, const char *path);
void nxc_trace_free(nxc_trace *t);

#endif
