/* SPDX-License-Identifier: ISC */
/* The systematic tests' group: a shop that is open while it runs, and a summary when it closes. */
#ifndef NXT_SHOP_H
#define NXT_SHOP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static nxt_shop *shop;

static inline int open_shop(void **state) {
  (void)state;
  shop = nxt_shop_open();
  return 0;
}
static inline int close_shop(void **state) {
  (void)state;
  nxt_summary(shop, "systematic");
  nxt_shop_close(shop);
  return 0;
}

#endif
