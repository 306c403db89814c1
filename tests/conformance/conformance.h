/* SPDX-License-Identifier: ISC */
/* The conformance program: every operation of the contract, on every element type, on one device,
 * through the public interface alone, against references that share no code with the library.
 *
 * A row (struct operation) says which types the contract admits and has a function that checks the
 * operation on one type. Checks record what they want, with what must come of it, in a queue; the
 * queue is realised in few graphs and compared. A row on one type is a cell of the matrix: it
 * works, it is refused and the contract says so, or it is a gap with a reason. */
#ifndef NXT_CONFORMANCE_H
#define NXT_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/type_sets.h"
#include "nx/nx.h"

/* ---- element types, as the contract has them */

typedef enum kind { KIND_BOOL, KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT, KIND_COMPLEX } kind;
/* Whether floats have infinities, and if not, what is NaN: all ones; or what would be -0; or
 * nothing, and what is too large becomes the largest number. SCALES are the powers of two. */
typedef enum specials { INFINITE, ALL_ONES, NO_MINUS_ZERO, SATURATING, SCALES } specials;
typedef struct format {
  nx_dtype dtype;
  const char *name;
  kind kind;
  int bits;
  /* of floats, and of the parts of complex numbers */
  int precision, least_exponent; /* digits with the hidden one; of the least normal number */
  long double largest;
  specials specials;
  nx_dtype part; /* of complex numbers, else the type itself */
} format;
enum { FORMATS = 24 };
extern const format formats[FORMATS]; /* in the order of their numbers, from NX_BOOL on */
const format *format_of(nx_dtype dtype);

typedef uint32_t types; /* a set, ../type_sets.h */

/* The bits of one element, the real part of a complex number first, and the number they stand for.
 * A long double holds every i64, u64 and f64. */
typedef struct bits {
  uint64_t low, high;
} bits;
typedef struct value {
  long double re, im;
} value;
value decode(nx_dtype dtype, bits b);
/* Complex numbers by their real parts first. A part that is NaN is in no order. */
bool is_less(value a, value b);
/* Rounded once, to nearest even. Integers wrap; of bool: whether it is not 0. */
bits encode(nx_dtype dtype, value v);
bits encode_real(nx_dtype dtype, long double x);
__extension__ typedef __int128 whole;
__extension__ typedef unsigned __int128 natural;
whole wrapped(nx_dtype dtype, whole x);
value sum_of(nx_dtype dtype, value a, value b); /* integers wrap */
value product_of(nx_dtype dtype, value a, value b);
/* What a cast makes of a number of the type `from`. */
bits converted(nx_dtype from, bits b, nx_dtype to);
/* The distance of neighbours at x, of the type or its parts. */
long double unit_at(nx_dtype dtype, long double x);

/* ---- arrays of the reference: logical elements in C order. They live until the trial's queue is
 * settled */

typedef struct array {
  nx_dtype dtype;
  int32_t rank;
  int64_t shape[NX_MAX_RANK];
  size_t n;
  bits *at;
} array;

/* How a result must agree. */
typedef enum agreement {
  SAME_BITS, /* moves: NaNs too */
  SAME,      /* any NaN for a NaN */
  NEAR,      /* within `bound` units in the last place of each part */
  NEAR_SIZE, /* ... of a complex number's modulus; of `size` if that is greater */
} agreement;

/* Whether the bits are one value: any NaN is. */
bool same_value(nx_dtype dtype, bits a, bits b);
/* For what moves elements in the wider type that it computes in: c32 is cast to c64 and back, and a
 * cast may give another NaN. */
agreement computed_moves(nx_dtype dtype);

typedef struct entry entry; /* of the queue */
typedef struct operation operation;
struct cell;
typedef struct trial {
  nx_context *context;
  nx_device device;
  const operation *op;
  const format *format;
  nx_dtype dtype;
  entry *queue;
  struct block *memory;
  size_t queued;
  struct cell *cell; /* what is being checked, or compared */
  /* of what is expected next, element by element, for its report; may be NULL */
  const struct array *operands[2];
  bool all;      /* every layout and rank, else one of each, by turns */
  unsigned turn; /* other rows and types have other turns */
} trial;

/* Of the matrix: one operation on one type. */
typedef enum mark {
  UNTRIED,
  WORKS,
  REFUSED,    /* and the contract says so */
  GAP,        /* not there yet, for a reason */
  UNAVAILABLE /* here: without a LAPACK, say */
} mark;
typedef struct cell {
  mark mark;
  long checked, failures;
  char first[400]; /* failure, in words */
} cell;

struct operation {
  const char *name;
  types admits;                                   /* by the contract */
  void (*check)(trial *t);                        /* on an admitted type */
  nx_tensor *(*record)(trial *t, nx_dtype dtype); /* on small operands of a type, admitted or not */
  const void *detail;                             /* what `check` and `record` share */
  types gaps;                                     /* admitted, but not there yet */
  const char *reason;                             /* of the gaps */
};
typedef struct family {
  const char *name;
  const operation *rows;
  size_t n;
} family;
#if defined __GNUC__
#define LIKE_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define LIKE_PRINTF(a, b)
#endif
void fault(trial *t, const char *format, ...) LIKE_PRINTF(2, 3);
void forget(trial *t);              /* what room() gave */
void *room(trial *t, size_t bytes); /* zeroed; until the queue is settled */
array *new_array(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape);

/* Queues: `result` must have the type, shape and elements of `want`. Takes the reference. */
void expect(trial *t, nx_tensor *result, const array *want, agreement how, const char *what);
/* The same for functions: exact values; `bound` in units of the last place. size may be NULL, an
 * infinite one accepts anything. `open`, which may be NULL, marks elements whose zeros and
 * infinities may have either sign. */
void expect_near(trial *t, nx_tensor *result, const array *want, const value *exact, agreement how,
                 double bound, const long double *size, const bool *open, const char *what);
/* Realises and compares what is queued. */
void settle(trial *t);
/* Realises and reads at once: for results that are checked by a property. NULL, and a fault, if
 * that fails or the type or shape is another. Where a library is missing the cell becomes
 * UNAVAILABLE. */
array *result_of(trial *t, nx_tensor *result, nx_dtype dtype, int32_t rank, const int64_t *shape,
                 const char *what);
/* The call must have failed with this status. */
void expect_refusal(trial *t, nx_tensor *result, nx_status status, const char *what);
void expect_status(trial *t, nx_status is, nx_status status, const char *what);
/* Realising it must fail with the status, at this index (-1: any). */
void expect_failure(trial *t, nx_tensor *result, nx_status status, int64_t index, const char *what);

/* ---- operands */

typedef enum layout {
  CONTIGUOUS,
  TRANSPOSED,
  SLICED,
  STEPPED,
  FLIPPED,
  BROADCAST, /* every other axis has stride 0: elements are made equal along it */
  LAYOUTS
} layout;
extern const char *const layout_names[LAYOUTS];
/* A tensor with these elements behind a view of this layout. Of BROADCAST, `a` is changed. */
nx_tensor *laid_out(trial *t, array *a, layout l);
/* Whether case k of n is to be tried: all of them, or the one whose turn it is. Compiled kernels
 * are expensive. */
bool is_due(const trial *t, size_t k, size_t n);
/* As the host has it: C order, elements of 4 bits two in a byte. */
unsigned char *packed(trial *t, const array *a, size_t *bytes);
nx_tensor *tensor_of(trial *t, const array *a);
/* Element i of memory that is packed like that. */
bits bits_at(nx_dtype dtype, const unsigned char *from, size_t i);
void put_bits(nx_dtype dtype, unsigned char *to, size_t i, bits b);
/* Values that matter to the type: corners, then random ones; NaNs left out if `tame`, and what
 * overflows soon. */
enum { SOME = 256 };
array *some_values(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape, unsigned seed);
array *tame_values(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape, unsigned seed);
size_t corners(nx_dtype dtype, bits *out); /* at most CORNERS */
enum { CORNERS = 32 };
uint64_t random_word(uint64_t *state);

/* Shapes of all ranks: axes of 2 and 3 and of 1. */
typedef struct extent {
  int32_t rank;
  int64_t shape[NX_MAX_RANK];
} extent;
extern const extent shapes[];
extern const size_t n_shapes;

/* ---- positions */

/* Strides of C order. */
void strides_of(int32_t rank, const int64_t *shape, int64_t *strides);
void unravel(size_t position, int32_t rank, const int64_t *shape, int64_t *index);
size_t ravel(int32_t rank, const int64_t *shape, const int64_t *index);

/* ---- the families */

extern const family *const families[];
extern const size_t n_families;

#endif
