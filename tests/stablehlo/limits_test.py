# SPDX-License-Identifier: ISC
"""Many tensors that are sorted or reduced together, and loops and branches deep inside one another,
up to the limits, in StableHLO, against NumPy. Usage: limits_test.py STABLEHLO_CHECK."""

import subprocess
import sys

import numpy as np

from modules import constant, kind

SCALAR = "tensor<i32>"


def checked(a, value):
    w = "w" + value.replace("#", "_")
    return (constant(w, a) +
            f"  stablehlo.custom_call @check.expect_eq(%{value}, %{w}) : "
            f"({kind(a)}, {kind(a)}) -> ()\n")


def constants(arrays):
    return "".join(constant(f"a{i}", a) for i, a in enumerate(arrays))


def module(body):
    return f"func.func @main() {{\n{body}  return\n}}\n"


def sorted_together(n):
    arrays = [np.int32([3, 1, 2, 0]) * (i + 1) for i in range(n)]
    operands = ", ".join(f"%a{i}" for i in range(n))
    body = constants(arrays) + f'  %r:{n} = "stablehlo.sort"({operands}) '
    given = ", ".join(f"%{side}{i}: {SCALAR}" for i in range(n) for side in "xy")
    body += (f"({{ ^bb0({given}):\n"
             f"  %l = stablehlo.compare LT, %x0, %y0 : ({SCALAR}, {SCALAR}) -> tensor<i1>\n"
             "  stablehlo.return %l : tensor<i1> })")
    kinds = ", ".join(["tensor<4xi32>"] * n)
    body += f" {{dimension = 0 : i64}} : ({kinds}) -> ({kinds})\n"
    return module(body + "".join(checked(np.sort(a), f"r#{i}") for i, a in enumerate(arrays)))


def reduction(arrays, lines):
    """Of all arrays together by a combiner, whose results are %s0, %s1 and so on."""
    n = len(arrays)
    # the arguments of a reduction are all left ones, then all right ones
    given = ", ".join(f"%{side}{i}: {SCALAR}" for side in "xy" for i in range(n))
    ends = ", ".join(f"%s{i}" for i in range(n))
    scalars, kinds = ", ".join([SCALAR] * n), ", ".join(["tensor<4xi32>"] * n)
    operands = ", ".join([f"%a{i}" for i in range(n)] + ["%z"] * n)
    body = constants(arrays) + f"  %z = stablehlo.constant dense<0> : {SCALAR}\n"
    body += f'  %r:{n} = "stablehlo.reduce"({operands}) ({{ ^bb0({given}):\n{lines}'
    body += f"  stablehlo.return {ends} : {scalars} }}) {{dimensions = array<i64: 0>}} "
    return body + f": ({kinds}, {scalars}) -> ({scalars})\n"


def expected(values):
    return "".join(checked(np.asarray(v, "int32"), f"r#{i}") for i, v in enumerate(values))


def reduced_together(n):
    """All operands where the first one is greatest, but of the last one the sum."""
    arrays = [np.int32([3, 7, 2, 5]) * (i + 1) for i in range(n)]
    lines = f"  %g = stablehlo.compare GT, %x0, %y0 : ({SCALAR}, {SCALAR}) -> tensor<i1>\n"
    lines += "".join(f"  %s{i} = stablehlo.select %g, %x{i}, %y{i} : tensor<i1>, {SCALAR}\n"
                     for i in range(n - 1))
    lines += f"  %s{n - 1} = stablehlo.add %x{n - 1}, %y{n - 1} : {SCALAR}\n"
    return module(reduction(arrays, lines) +
                  expected([a[1] for a in arrays[:-1]] + [arrays[-1].sum()]))


def greatest_of_last(n):
    """The maximum of the last operand, of the one 64 before it the element there, sums of others:
    a set of operands needs more than 64 bits."""
    arrays = [np.int32([3, 7, 2, 5]) * (i + 1) for i in range(n)]
    there, last = n - 65, n - 1
    lines = (f"  %g = stablehlo.compare GT, %x{last}, %y{last} : "
             f"({SCALAR}, {SCALAR}) -> tensor<i1>\n")
    for i in range(n):
        form = {there: f"select %g, %x{i}, %y{i} : tensor<i1>, {SCALAR}",
                last: f"maximum %x{i}, %y{i} : {SCALAR}"}.get(i, f"add %x{i}, %y{i} : {SCALAR}")
        lines += f"  %s{i} = stablehlo.{form}\n"
    return module(reduction(arrays, lines) +
                  expected([a.max() if i in (there, last) else a.sum()
                            for i, a in enumerate(arrays)]))


def loops(depth):
    """Loops inside one another, of which each goes on from the outer one's number to a limit of its
    own, the innermost one by ones."""
    text = f"  %start = stablehlo.constant dense<0> : {SCALAR}\n"
    text += f"  %one = stablehlo.constant dense<1> : {SCALAR}\n"
    value, ends = "start", ""
    for k in range(depth):
        text += f"  %m{k} = stablehlo.constant dense<{depth - k}> : {SCALAR}\n"
    for k in range(depth):
        text += (f"  %o{k} = stablehlo.while(%i{k} = %{value}) : {SCALAR} cond {{\n"
                 f"  %l{k} = stablehlo.compare LT, %i{k}, %m{k} : "
                 f"({SCALAR}, {SCALAR}) -> tensor<i1>\n"
                 f"  stablehlo.return %l{k} : tensor<i1> }} do {{\n")
        inner = f"%o{k + 1}" if k + 1 < depth else "%last"
        # a step of the outer loops, too, so that each comes to its end
        ends = (f"  %n{k} = stablehlo.add {inner}, %one : {SCALAR}\n"
                f"  stablehlo.return %n{k} : {SCALAR} }}\n") + ends
        value = f"i{k}"
    text += f"  %last = stablehlo.add %{value}, %one : {SCALAR}\n" + ends
    number = lambda x, k: x + 1 if k == depth else steps(x, k)

    def steps(x, k):
        while x < depth - k:
            x = number(x, k + 1) + 1
        return x

    return module(text + checked(np.asarray(steps(0, 0), "int32"), "o0"))


def branches(depth):
    text = "  %p = stablehlo.constant dense<true> : tensor<i1>\n"
    text += f"  %c = stablehlo.constant dense<21> : {SCALAR}\n"
    text += "".join(f'  %o{k} = "stablehlo.if"(%p) ({{\n' for k in range(depth))
    text += f"  %o{depth} = stablehlo.add %c, %c : {SCALAR}\n"
    for k in reversed(range(depth)):
        text += (f"  stablehlo.return %o{k + 1} : {SCALAR} }}, "
                 f"{{ stablehlo.return %c : {SCALAR} }}) : (tensor<i1>) -> {SCALAR}\n")
    return module(text + checked(np.asarray(42, "int32"), "o0"))


text = "// -----\n".join([make(n) for n in (33, 64, 128)
                         for make in (sorted_together, reduced_together)] +
                        [make(n) for n in (17, 24, 32) for make in (loops, branches)] +
                        [greatest_of_last(n) for n in (66, 128)])
if subprocess.run([sys.argv[1], "-"], input=text, text=True).returncode:
    sys.exit(1)
for many in sorted_together(129), reduced_together(129):
    done = subprocess.run([sys.argv[1], "-"], input=many, text=True, capture_output=True)
    if done.returncode == 0 or "there may be 1 to 128" not in done.stdout + done.stderr:
        sys.exit(f"129 tensors together: {done.stdout}{done.stderr}")
