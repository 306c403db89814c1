/* SPDX-License-Identifier: ISC */
/* The host that programs of tests exchange with: what goes in by infeed is what functions of the
 * module give, what goes out by outfeed comes in by the next infeed that finds none of these, and
 * what is sent on a channel is received on it. */
#ifndef NXT_STABLEHLO_EXCHANGE_H
#define NXT_STABLEHLO_EXCHANGE_H

#include "nx/nx.h"

typedef struct exchange exchange;
/* names: of functions of the module without inputs, with blanks between them. */
nx_status exchange_open(const nx_stablehlo_call *call, const char *names, exchange **out);
void exchange_close(exchange *e);
nx_stablehlo_host exchange_host(exchange *e);

#endif
