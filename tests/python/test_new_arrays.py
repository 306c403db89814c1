# SPDX-License-Identifier: ISC
"""Which functions give new arrays: after an assignment to the argument the result is NumPy's, and
after one to the result the argument is."""

import unittest

from common import NEW, np, nx

ARRAYS = np and [np.array([True, False, True]), *(np.array([1, 2, 3], t) for t in
          ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")),
          np.array([1j, 2, 3], "c8"), np.array([1j, 2, 3], "c16")]

# What makes a value of its own in NumPy, and what shows its argument there.
SAME = """abs(x) absolute(x) fabs(x) positive(x) +x abs_(x) conj(x) conjugate(x) round(x)
 round(x,2) around(x) around(x,1) floor(x) ceil(x) trunc(x) rint(x) fix(x)
 nan_to_num(x) nan_to_num(x,copy=True) square(x) sign(x) clip(x,None,None) clip(x,0,100) x.copy()
 copy(x) array(x) x.astype(x.dtype) astype(x,x.dtype) x.flatten() x.round()
 x.clip(0,100) x.repeat(1) x.take([0,1,2]) x.cumsum() maximum(x,x) minimum(x,x) fmax(x,x)
 multiply(x,1) x*1 x+0 x**1 add(x,0) power(x,1) bitwise_or(x,x) bitwise_and(x,x) x|x x&x x^0
 x<<0 x>>0 x//1 left_shift(x,0) right_shift(x,0) gcd(x,0) lcm(x,1) logical_and(x,x)
 sort(x) x[:1].sort() unique(x) roll(x,0) repeat(x,1) tile(x,1) pad(x,0) take(x,[0,1,2])
 concatenate([x]) concat([x]) stack([x]) hstack([x]) vstack([x]) dstack([x]) column_stack([x])
 append(x,[]) delete(x,[]) insert(x,[],[]) where(True,x,x) where([True]*3,x,x) choose([0,0,0],[x,x])
 compress([1,1,1],x) extract([1,1,1],x) select([[True]*3],[x]) block([x]) resize(x,(3,))
 partition(x,0) take_along_axis(x,ii,0) cumsum(x) cumprod(x) cumulative_sum(x) nancumsum(x)
 cumsum(x[:1]) sum(x,axis=()) prod(x,axis=()) max(x,axis=()) min(x,axis=()) mean(x,axis=())
 any(x,axis=()) all(x,axis=()) sum(x[None],0) prod(x[None],0) max(x[None],0) mean(x[None],0)
 median(x[None],0) average(x[None],0) nansum(x[None],0) nanmax(x[None],0) percentile(x[None],50,0)
 meshgrid(x)[0] meshgrid(x,x)[0] tril(x[None]) triu(x[None]) diag(x) diagflat(x) eye(3)*x
 einsum('i,j->ij',x,x) tensordot(x,1,0) outer(1,x) kron(1,x) fft.fftshift(x) fft.ifftshift(x)
 interp(x,x,x) apply_along_axis(np.sort,0,x) real_if_close(x+0) ldexp(x,0) heaviside(x,0)
 unwrap(x) union1d(x,x) angle(x) isreal(x) invert(x) float_power(x,1) emath.sqrt(x)
 x[[0,1,2]] x[x==x] x[[True]*3] frombuffer(b'abc','u1') asarray(x,copy=True) full_like(x,x)
 fromiter([1,2],'f4') sqrt(x) exp(x) sin(x) deg2rad(x) sinc(x) modf(x)[1] divmod(x,1)[0]
 x.__copy__() x.__deepcopy__({}) select([x==x],[x],x) r_[x] c_[x] matmul(x,eye(3).astype(x.dtype))
 linalg.multi_dot([x[None],x[:,None]]) linalg.inv(x[:1,None]+1) linalg.cross(x,x)
 tensordot(x,x,0) diff(x,n=1) ediff1d(x) trapezoid(x) gradient(x) polyder(x,0) polyint(x,0)
 trim_zeros(x) rot90(x[None],4) polyadd(x,[0]) convolve(x,[1]) correlate(x,[1])"""
VIEWS = """ravel(x) squeeze(x) atleast_1d(x) x[...] x[:] x.T reshape(x,(3,)) x.reshape(3)
 expand_dims(x,0) split(x,1)[0] flip(x) transpose(x) broadcast_to(x,(3,)) einsum('i->i',x)
 ascontiguousarray(x) asarray(x) asanyarray(x) astype(x,x.dtype,copy=False)
 x.astype(x.dtype,copy=False) moveaxis(x,0,0) swapaxes(x,0,0) rollaxis(x,0) atleast_2d(x)
 diagonal(x[None]) diag(x[None]) permute_dims(x,(0,)) require(x) unstack(x[None])[0]"""
# Of real arrays these are the argument; of complex ones nx gives no views.
VIEWS_OF_REAL = "real(x) x.real x.conj() x.conjugate()"


def run(m, text, given, written):
    """The argument and the result after an assignment to one of them; None: it raises."""
    x = m.asarray(given.copy())
    names = {**{n: getattr(m, n) for n in dir(m)}, "x": x, "np": m, "abs_": abs,
             "ii": np.array([0, 1, 2])}
    try:
        y = eval(text, names)
        if written == "argument":
            x[...] = 7 if given.dtype != bool else ~x
        elif y is not None:
            y[...] = 1
    except (TypeError, ValueError, AttributeError, NotImplementedError, OverflowError, SyntaxError):
        return None
    return np.asarray(x).copy(), np.array(y if y is None else np.asarray(y))


def sweep(texts, arrays):
    seen = 0
    for text in texts.split():
        for given in arrays:
            for written in ("argument", "result"):
                with np.errstate(all="ignore"):
                    theirs = run(np, text, given, written)
                ours = run(nx, text, given, written)
                if theirs is None or ours is None or theirs[1].shape != ours[1].shape:
                    continue
                seen += 1
                for a, b in zip(theirs, ours):
                    good = (a == b).all() if a.dtype.kind == "O" else np.allclose(
                        a, b, rtol=2e-3, equal_nan=True)
                    assert good, (text, given.dtype, written, theirs, ours)
    return seen


@unittest.skipUnless(NEW, "NumPy 1.x gives some arguments themselves")
class NewArrays(unittest.TestCase):
    def test_new_arrays(self):
        self.assertGreater(sweep(SAME, ARRAYS), 2000)

    def test_views(self):
        self.assertGreater(sweep(VIEWS, ARRAYS), 500)
        self.assertGreater(sweep(VIEWS_OF_REAL, [a for a in ARRAYS if a.dtype.kind != "c"]), 40)

    def test_of_what_is_not_computed(self):
        for f in (nx.floor, nx.conj, abs, nx.nan_to_num, lambda x: +x, lambda x: nx.round(x, 400)):
            x = nx.arange(3) + 1
            y = f(x)
            self.assertIsNot(y, x)
            x += 1
            y -= 1
            self.assertEqual((x.tolist(), y.tolist()), ([2, 3, 4], [0, 1, 2]))



if __name__ == "__main__":
    unittest.main()
