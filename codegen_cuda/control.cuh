/* SPDX-License-Identifier: ISC */
/* What loops and branches need on a GPU beside their bodies, where they are conditional nodes of a
 * graph: one thread counts steps, reads predicates and says which nodes run. The numbers are those
 * of runtime/cuda/conditions.h.
 *
 * `state` belongs to one loop: the number of the step as the body gets it, how many steps are done,
 * how many there are (-1: a condition says), whether there is another one. `root` belongs to the
 * outermost one; without NX_ROOT nothing fails and nobody has to stop, and there is none: what
 * failed (0: nothing), what was found there, how many steps may still be done in this launch. */
extern "C" __device__ void cudaGraphSetConditional(nx_u64 handle, nx_u32 value);

enum { NX_INDEX, NX_STEP, NX_COUNT, NX_MORE };
enum { NX_FAILED, NX_FOUND, NX_LEFT };
enum { NX_BEGIN, NX_ENTER, NX_NEXT, NX_CHOOSE, NX_CHECK, NX_UNLESS, NX_ALLOW, NX_NUMBERS };
enum { NX_WIDE = 1, NX_NARROW = 2, NX_REVERSE = 4, NX_HALF = 8, NX_BUDGET = 16 };
enum { NX_EQUAL = 32, NX_ROOT = 64 };

NX_INLINE nx_i64 nx_number(const void *at, int flags) {
  if (flags & NX_WIDE) return *(const nx_i64 *)at;
  if (flags & NX_NARROW) return *(const int *)at;
  return *(const nx_u8 *)at != 0;
}

NX_INLINE bool nx_goes_on(const nx_i64 *root) { return root == nullptr || root[NX_FAILED] == 0; }

NX_INLINE void nx_fails(nx_i64 *root, nx_i64 number, nx_i64 found) {
  if (root == nullptr || root[NX_FAILED] != 0) return;
  root[NX_FAILED] = number;
  root[NX_FOUND] = found;
}

/* Before step `step`, whose condition is in `given` unless the steps are counted. A loop that
 * has more steps than its limit fails, as `number`. */
NX_INLINE bool nx_before_step(nx_i64 *state, nx_i64 *root, const void *given, nx_i64 step,
                              nx_i64 number, nx_i64 limit, int flags) {
  nx_i64 count = state[NX_COUNT];
  bool more = count >= 0 ? step < count : *(const nx_u8 *)given != 0;
  if (more && limit > 0 && step >= limit) {
    nx_fails(root, number, step);
    more = false;
  }
  state[NX_STEP] = step;
  state[NX_INDEX] = flags & NX_REVERSE ? count - 1 - step : step;
  state[NX_MORE] = more;
  return more;
}

/* The first step of a loop: `count` of them, or as many as `given` says, or while it says so. */
NX_INLINE void nx_begin(nx_i64 *state, nx_i64 *root, const void *given, nx_i64 count, int flags) {
  bool read = flags & (NX_WIDE | NX_NARROW);
  if (read) count = nx_number(given, flags);
  state[NX_COUNT] = read && count < 0 ? 0 : count;
  nx_before_step(state, root, given, 0, 0, 0, flags);
}

/* A step was done: whether another one follows. `loop` is the node of the loop, `half` that of the
 * second of two steps, which leaves values where the first one found them; `odd` brings them to
 * their places after a loop that ends between the two. */
NX_INLINE void nx_next(nx_i64 *state, nx_i64 *root, const void *given, nx_i64 number, nx_i64 limit,
                       int flags, nx_u64 loop, nx_u64 half, nx_u64 odd) {
  bool more = false;
  if (nx_goes_on(root))
    more = nx_before_step(state, root, given, state[NX_STEP] + 1, number, limit, flags);
  if (root != nullptr) root[NX_LEFT]--;
  bool stays = more && !(flags & NX_BUDGET && root[NX_LEFT] <= 0);
  if (flags & NX_HALF) {
    cudaGraphSetConditional(half, more);
    cudaGraphSetConditional(loop, more);
    if (odd) cudaGraphSetConditional(odd, !more);
  } else {
    cudaGraphSetConditional(loop, stays);
    if (odd) cudaGraphSetConditional(odd, 0);
  }
}

NX_INLINE void nx_control(int what, nx_i64 *state, nx_i64 *root, const void *given, nx_i64 number,
                          nx_i64 limit, int flags, nx_u64 first, nx_u64 second, nx_u64 third) {
  nx_i64 n = 0;
  if (!(flags & NX_ROOT)) root = nullptr;
  switch (what) {
    case NX_BEGIN: nx_begin(state, root, given, number, flags); break;
    case NX_ENTER:
      cudaGraphSetConditional(first, state[NX_MORE] != 0 && nx_goes_on(root));
      if (second) cudaGraphSetConditional(second, 0);
      if (third) cudaGraphSetConditional(third, 0);
      break;
    case NX_NEXT: nx_next(state, root, given, number, limit, flags, first, second, third); break;
    case NX_CHOOSE: /* an index that no branch has is the last one, `limit` */
      n = nx_number(given, flags);
      if (n < 0 || n > limit) n = limit;
      cudaGraphSetConditional(first, flags & NX_EQUAL ? n == number : (unsigned)n);
      break;
    case NX_CHECK: /* the position of a bad index */
      n = *(const nx_i64 *)given;
      if (n != 0x7fffffffffffffffll) nx_fails(root, number, n);
      cudaGraphSetConditional(first, nx_goes_on(root));
      break;
    case NX_UNLESS: cudaGraphSetConditional(first, nx_goes_on(root)); break;
    case NX_NUMBERS: /* of steps that are written out, 64 bytes apart */
      for (; n < number; n++) ((nx_i64 *)given)[n * 8] = n;
      break;
    default:
      root[NX_LEFT] = number;
      if (flags & NX_EQUAL) root[NX_FAILED] = 0;
  }
}

/* Copies element `state[NX_INDEX]` of a stack from it (out: to it). */
template <class T>
NX_INLINE void nx_slice_by(const nx_i64 *state, char *stack, char *own, nx_i64 bytes, bool out) {
  T *one = (T *)own, *there = (T *)(stack + bytes * state[NX_INDEX]);
  nx_i64 n = bytes / (nx_i64)sizeof(T);
  for (nx_i64 i = (nx_i64)blockIdx.x * 256 + threadIdx.x; i < n; i += (nx_i64)gridDim.x * 256)
    if (out) there[i] = one[i];
    else one[i] = there[i];
}
NX_INLINE void nx_slice(const nx_i64 *state, char *stack, char *own, nx_i64 bytes, int out) {
  nx_u64 all = (nx_u64)stack | (nx_u64)own | (nx_u64)bytes;
  if (all % 16 == 0) nx_slice_by<uint4>(state, stack, own, bytes, out != 0);
  else if (all % 4 == 0) nx_slice_by<nx_u32>(state, stack, own, bytes, out != 0);
  else nx_slice_by<nx_u8>(state, stack, own, bytes, out != 0);
}
