/* SPDX-License-Identifier: ISC */
/* sort/engine.h for each kind of element. No include guard: sort/engine.c includes it once for each
 * instruction set, with SORT_TARGET and ENGINE(name). */

#define ELEMENT               uint32_t
#define KEY                   uint32_t
#define SIGNED_KEY            int32_t
#define KEY_OF(e)             (e)
#define ELEMENT_NAME(what)    ENGINE(word_##what)
#define ELEMENT_VECTORS(a, n) VECTORS(32, a, n)
#define ELEMENT_QUICK         nxi_sort_quick_of(32)
#define ELEMENT_KEY_ALONE
#define ELEMENT_LANES 16
#include "engine.h"

#define ELEMENT               uint64_t
#define KEY                   uint64_t
#define SIGNED_KEY            int64_t
#define KEY_OF(e)             (e)
#define ELEMENT_NAME(what)    ENGINE(long_##what)
#define ELEMENT_VECTORS(a, n) VECTORS(64, a, n)
#define ELEMENT_QUICK         nxi_sort_quick_of(64)
#define ELEMENT_KEY_ALONE
#define ELEMENT_LANES 8
#include "engine.h"

/* Keys of f64, of which NaNs may become the greatest number. */
#define ELEMENT               uint64_t
#define KEY                   uint64_t
#define SIGNED_KEY            int64_t
#define KEY_OF(e)             (e)
#define ELEMENT_NAME(what)    ENGINE(double_##what)
#define ELEMENT_VECTORS(a, n) VECTORS(64, a, n)
#define ELEMENT_QUICK         nxi_sort_quick_of_doubles()
#define ELEMENT_KEY_ALONE
#define ELEMENT_LANES 8
#include "engine.h"

/* No two elements are equal, so sorting them whole is stable. */
#define ELEMENT               uint64_t
#define KEY                   uint32_t
#define SIGNED_KEY            int32_t
#define KEY_OF(e)             ((uint32_t)((e) >> 32))
#define ELEMENT_NAME(what)    ENGINE(packed_##what)
#define ELEMENT_VECTORS(a, n) VECTORS(64, a, n)
#define ELEMENT_QUICK         nxi_sort_quick_of(64)
#define ELEMENT_LANES         4
#include "engine.h"

#define ELEMENT               nxi_sort_pair
#define KEY                   uint64_t
#define SIGNED_KEY            int64_t
#define KEY_OF(e)             ((e).key)
#define ELEMENT_NAME(what)    ENGINE(pair_##what)
#define ELEMENT_VECTORS(a, n) false
#define ELEMENT_LANES         1
#include "engine.h"
