/* SPDX-License-Identifier: ISC */
/* A question to the caller: whether to go on. */
#ifndef NXI_POLL_H
#define NXI_POLL_H

#include <stdint.h>

/* Nonzero stops. Asked on the caller's thread, with no lock held. */
typedef struct nxi_poll {
  int32_t (*fn)(void *user); /* NULL: never */
  void *user;
} nxi_poll;

#endif
