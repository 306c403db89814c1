# SPDX-License-Identifier: ISC
"""The command nxc from outside: results, complaints, exit statuses.

Usage: nxc_test.py NXC GOLDEN_DIRECTORY SHARED_RUN. The last is a program that is linked with the
shared library. Files are written and read without NumPy; where NumPy is installed its own files and
results are compared too. NX_BLESS=1 rewrites the expected dumps.
"""

import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zipfile
from pathlib import Path

import trace_check
from nxc_case import GOLDEN, NXC, SHARED_RUN, SOFTMAX, Case, npy, read_npy

try:
    import numpy
except ImportError:
    numpy = None


class Run(Case):
    def test_archives(self):
        """Arrays of .npz and .safetensors files, by the input's name or by one of their own."""
        self.file("add.nxir", "nxir 2\ngraph @add(%x: f32[3], %b: f32[]) -> (%y) {\n  %y = add %x, %b : f32[3]\n}\n")
        with zipfile.ZipFile(self.dir / "a.npz", "w") as z:
            z.writestr("x.npy", npy("<f4", (3,), [1, 2, 3]))
            z.writestr("layer:b.npy", npy("<f4", (), [10]))
        head = json.dumps({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}).encode()
        self.file("b.safetensors", struct.pack("<Q", len(head)) + head + struct.pack("<3f", 4, 5, 6))
        out, _ = self.nxc("run", "add.nxir", "--input", "x=a.npz", "--input", "b=a.npz:layer:b")
        self.assertIn("= 11 12 13", out)
        out, _ = self.nxc("run", "add.nxir", "--input", "x=b.safetensors:x", "--input", "b=a.npz:layer:b")
        self.assertIn("= 14 15 16", out)
        self.refused("a.npz: the file has no array named z; its arrays are: x, layer:b", "run", "add.nxir",
                     "--input", "x=a.npz:z", "--input", "b=1")
        self.refused("b.safetensors: the file has no array named b; its arrays are: x", "run", "add.nxir",
                     "--input", "x=b.safetensors", "--input", "b=b.safetensors")
        self.refused("the file holds f32\\[\\], but input x is f32\\[3\\]",
                     "run", "add.nxir", "--input", "x=a.npz:layer:b", "--input", "b=1")

    def softmax_input(self):
        r = random.Random(5)
        values = [r.gauss(0, 3) for _ in range(256 * 64)]
        self.file("softmax.nxir", SOFTMAX)
        self.file("x.npy", npy("<f4", (256, 64), values))
        return read_npy(self.dir / "x.npy")[1]

    def test_softmax(self):
        x = self.softmax_input()
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        head, y = read_npy(self.dir / "y.npy")
        self.assertEqual(head, {"descr": "<f4", "fortran_order": False, "shape": (256, 64)})
        for row in range(256):
            top = max(x[64 * row : 64 * row + 64])
            e = [math.exp(v - top) for v in x[64 * row : 64 * row + 64]]
            for a, b in zip(y[64 * row :], e):
                self.assertAlmostEqual(a, b / sum(e), delta=1e-6 * b / sum(e) + 1e-12)

    def test_same_bits_on_every_device_and_thread_count(self):
        self.softmax_input()
        outputs = []
        for more in [], ["--device", "cpu"], ["--device=interp"], ["--threads", "1"], ["--threads=2"]:
            self.nxc("run", "softmax.nxir", "--input=x=x.npy", "--output=y=y.npy", *more)
            outputs.append((self.dir / "y.npy").read_bytes())
        self.assertEqual(set(outputs), {outputs[0]})

    def test_text_from_standard_input_and_scalars(self):
        text = (
            "nxir 2\ngraph @f(%x: f64[], %n: i32[]) -> (%y, %z) {\n  %y = mul %x, %x : f64[]\n  "
            "%z = neg %n : i32[]\n}\n"
        )
        out, err = self.nxc("run", "-", "--input", "x=3.5", "--input", "n=-7", text=text)
        self.assertEqual((out, err), ("y: f64[] = 12.25\nz: i32[] = 7\n", ""))
        self.file("s.npy", npy("<f8", (), [1.5]))
        self.assertIn("y: f64[] = 2.25", self.nxc("run", "-", "--input", "x=s.npy", "--input", "n=1", text=text)[0])
        self.refused("input n: there is no file \"1.5\"", "run", "-", "--input", "x=1", "--input", "n=1.5", text=text)
        self.refused("input n: there is no file \"none.npy\"", "run", "-", "--input", "x=1", "--input", "n=none.npy", text=text)

    def test_threads_have_one_track_each(self):
        # four kernels, which workers help to compile and to run
        lines = "".join("  %%s%d = reduce_sum %%%s axes=[%d] : %s[1000]\n" % (i, x, i % 2, t) for i, (x, t) in enumerate([("x", "f32"), ("x", "f32"), ("y", "f64"), ("y", "f64")]))
        self.file("many.nxir", "nxir 2\ngraph @f(%x: f32[1000,1000]) -> (%s0, %s1, %s2, %s3) {\n  %y = cast %x : f64[1000,1000]\n" + lines + "}\n")
        self.nxc("run", "many.nxir", "--fill", "--trace", "many.json")
        names = trace_check.threads(self.dir / "many.json")
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual([n for n in names if not n.startswith("worker ")], ["thread 1"])

    def test_outputs_without_a_file_are_printed(self):
        self.file("f.nxir", "nxir 2\ngraph @f(%x: i32[2,2]) -> (%y, %z) {\n  %y = add %x, %x : i32[2,2]\n  %z = expand %x shape=[50,2,2] : i32[50,2,2]\n}\n")
        self.file("x.npy", npy("<i4", (2, 2), [1, 2, 3, 4], fortran=True))
        out, _ = self.nxc("run", "f.nxir", "--input", "x=x.npy")
        self.assertEqual(out, "y: i32[2,2] = 2 6 4 8\nz: i32[50,2,2], not shown; --output z=FILE.npy saves it\n")

    def test_time_and_trace(self):
        self.softmax_input()
        out, err = self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy", "--time", "--trace", "t.json")
        self.assertEqual(out, "")
        self.assertRegex(err, r"first run [0-9.]+ ms: .*\nthen \d+ runs: median [0-9.]+ ms, fastest [0-9.]+ ms\n")
        spans = trace_check.spans(self.dir / "t.json")
        self.assertTrue({"parse", "load", "call", "save"} <= {e["name"] for e in spans if e["cat"] == "phase"})
        if "interpreter" not in self.nxc("info")[0]:
            steps = [e for e in spans if e["cat"] == "step"]
            self.assertTrue(steps)
            self.assertRegex(err, r"\n  \w+: \d+ runs, median [0-9.]+ ms, 0.131072 MB, [0-9.]+ GB/s")
            # read once and written once
            self.assertEqual({e["args"]["bytes"] for e in steps}, {2 * 4 * 256 * 64})
            self.assertTrue(all(e["args"]["of limit"] > 0 for e in steps))
        self.environment["NX_TRACE"] = "e.json"
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        self.assertIn("launch", {e["cat"] for e in trace_check.spans(self.dir / "e.json")})
        self.environment["NX_TRACE"] = "no/e.json"
        self.refused("NX_TRACE: cannot write no/e.json", "run", "softmax.nxir", "--input", "x=x.npy")
        del self.environment["NX_TRACE"]
        self.refused("cannot write no/t.json: No such file or directory", "run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy", "--trace", "no/t.json")

    def test_fill(self):
        self.file("f.nxir", "nxir 2\ngraph @f(%x: f32[3], %n: i8[9], %c: c64[2], %s: f64[]) -> (%y, %m, %d, %t) {\n  %y = neg %x : f32[3]\n  %m = add %n, %n : i8[9]\n  %d = mul %c, %c : c64[2]\n  %t = add %s, %s : f64[]\n}\n")
        out, _ = self.nxc("run", "f.nxir", "--fill", "--input", "s=2")
        self.assertEqual(out, self.nxc("run", "f.nxir", "--fill", "--input", "s=2")[0])
        lines = dict(line.split(": ") for line in out.splitlines())
        values = {name: line.split(" = ")[1].split() for name, line in lines.items()}
        self.assertTrue(all(-1 < float(v) <= 0 for v in values["y"]))
        self.assertLessEqual(set(values["m"]), {"0", "2"})
        self.assertEqual(values["t"], ["4"])

    @unittest.skipIf(numpy is None, "no NumPy")
    def test_exchange(self):
        """A program that reads and writes arrays while it runs, from files and to them."""
        channel = ("channel_handle = #stablehlo.channel_handle<handle = 7, type = 3>, "
                   "is_host_transfer = true")
        f, t = "tensor<3xf32>", "!stablehlo.token"
        self.file("f.mlir", f"""func.func @main() -> {f} {{
  %t = stablehlo.create_token : {t}
  %a:2 = "stablehlo.infeed"(%t) : ({t}) -> ({f}, {t})
  %b:2 = "stablehlo.recv"(%a#1) {{{channel}}} : ({t}) -> ({f}, {t})
  %c:2 = "stablehlo.infeed"(%b#1) : ({t}) -> ({f}, {t})
  %s = stablehlo.add %a#0, %b#0 : {f}
  %d = "stablehlo.outfeed"(%s, %c#0, %c#1) : ({f}, {f}, {t}) -> {t}
  %e = "stablehlo.send"(%s, %d) {{{channel}}} : ({f}, {t}) -> {t}
  return %s : {f}
}}
""")
        for name, values in (("a", [1, 2, 3]), ("b", [0.5, 0.25, 8]), ("c", [7, 8, 9])):
            self.file(name + ".npy", npy("<f4", (3,), values))
        self.file("wrong.npy", npy("<f8", (3,), [1, 2, 3]))
        reads = ["--infeed", "a.npy", "--infeed", "c.npy", "--recv", "7=b.npy"]
        writes = ["--outfeed", "x.npy", "--outfeed=y.npy", "--send", "7=z.npy"]
        self.nxc("run", "f.mlir", "--fill", *reads, *writes, "--time")
        for name, wanted in (("x", (1.5, 2.25, 11)), ("y", (7, 8, 9)), ("z", (1.5, 2.25, 11))):
            self.assertEqual(read_npy(self.dir / (name + ".npy"))[1], wanted)
        for given, words in (
                (reads[:2], "reads more arrays than files are given: --recv 7=FILE.npy"),
                (reads[:2] + reads[4:], "reads more arrays than files are given: --infeed FILE.npy"),
                (["--infeed", "wrong.npy"], "wrong.npy holds another type than the program reads"),
                (["--infeed", "none.npy"], "none.npy"),
                (reads + writes[:2], "writes more arrays than files are given: --outfeed FILE.npy"),
                (reads + writes[:3] + ["--send", "8=z.npy"], "--send 7=FILE.npy")):
            self.assertIn(words, self.nxc("run", "f.mlir", "--fill", *given, status=1)[1])
        self.assertIn("--recv wants NAME=VALUE",
                      self.nxc("run", "f.mlir", "--recv", "7", status=2)[1])
        self.assertIn("there is no function for it", self.nxc("import", "f.mlir", status=1)[1])

    def test_beside_numpy(self):
        text = """nxir 2
graph @f(%a: f64[30,20], %b: f64[20,40], %k: i64[30]) -> (%p, %s, %m, %c) {
  %p = matmul %a, %b : f64[30,40]
  %t = permute %a axes=[1,0] : f64[20,30]
  %s = reduce_sum %t axes=[1] : f64[20]
  %m = argmax %a axis=1 : i32[30]
  %c = cat %k, %k axis=0 : i64[60]
}
"""
        r = numpy.random.default_rng(3)
        a, b, k = r.normal(size=(20, 30)).T, r.normal(size=(20, 40)), r.integers(-9, 9, 30)
        for name, array in ("a", a), ("b", b), ("k", k):
            numpy.save(self.dir / f"{name}.npy", array)  # a is in Fortran order
        self.file("f.nxir", text)
        files = [f"--output={n}={n}.npy" for n in "psmc"] + [f"--input={n}={n}.npy" for n in "abk"]
        self.nxc("run", "f.nxir", *(f.replace("=p.npy", "=product.npy") for f in files))
        load = lambda name: numpy.load(self.dir / f"{name}.npy")
        numpy.testing.assert_allclose(load("product"), a @ b, rtol=1e-12, atol=1e-12)
        numpy.testing.assert_allclose(load("s"), a.T.sum(1), rtol=1e-12, atol=1e-12)
        numpy.testing.assert_array_equal(load("m"), a.argmax(1))
        self.assertEqual(load("m").dtype, numpy.int32)
        numpy.testing.assert_array_equal(load("c"), numpy.concatenate([k, k]))


class BadInput(Case):
    def setUp(self):
        super().setUp()
        self.file("softmax.nxir", SOFTMAX)
        self.good = npy("<f4", (256, 64), [0.5] * (256 * 64))
        self.file("x.npy", self.good)

    def run_refused(self, pattern, *arguments, status=1):
        self.refused(pattern, "run", "softmax.nxir", *arguments, status=status)

    def test_use(self):
        self.assertIn("usage:", self.nxc("help")[0])
        self.assertIn("usage:", self.nxc(status=2)[1])
        for pattern, *arguments in (
            ('no command "walk"', "walk"), ("run wants a file", "run"), ("opt wants a file", "opt"),
            ("dump wants --stage", "dump", "softmax.nxir"), ("no option --fast here; the options are: --input, --output", "run", "softmax.nxir", "--fast"), ("there is no option --inptu here; did you mean --input", "run", "softmax.nxir", "--inptu", "x=1"), ("did you mean dump", "dupm", "softmax.nxir"),
            ("--input wants NAME=VALUE", "run", "softmax.nxir", "--input", "x.npy"), ("--input wants a value", "run", "softmax.nxir", "--input"),
            ("given twice for x", "run", "softmax.nxir", "--input", "x=x.npy", "--input", "x=x.npy"),
            ("one argument too many", "run", "softmax.nxir", "more"), ("--time takes no value", "run", "softmax.nxir", "--time=yes"),
            ("--threads wants a number", "run", "softmax.nxir", "--threads", "0"), ('no device "tpu"', "run", "softmax.nxir", "--device", "tpu"),
            ('no instruction set "z80"', "opt", "softmax.nxir", "--isa", "z80"), ("cache wants list", "cache", "burn"), ("cache wants list", "cache"),
            ('"ten" is no size', "cache", "trim", "--size", "ten"), ('"10T" is no size', "cache", "trim", "--size", "10T"),
        ):
            self.refused(pattern, *arguments, status=2)

    def test_help(self):
        """Asked for, it is on standard output and no failure, wherever the question stands."""
        everything = self.nxc("help")[0]
        self.assertEqual([self.nxc(word) for word in ("--help", "-h")], [(everything, "")] * 2)
        self.assertEqual([self.nxc(*words) for words in (("help", "--help"), ("--help", "-h"))], [(everything, "")] * 2)
        for command in "run", "opt", "dump", "info", "cache":
            text = self.nxc("help", command)[0]
            self.assertTrue(text.startswith(f"usage: nxc {command} ") and len(text) < len(everything), text)
            for words in [command, "--help"], [command, "-h"], [command, "softmax.nxir", "--help"], ["--help", command]:
                self.assertEqual(self.nxc(*words), (text, ""))
        version, = re.findall(r"^nx +(.*)$", self.nxc("info")[0], re.MULTILINE)
        self.assertEqual(self.nxc("--version"), (f"nxc {version}\n", ""))
        self.refused('there is no command "walk"', "help", "walk", status=2)

    def test_files_that_are_not_there(self):
        self.refused("^none.nxir: cannot be read: No such file", "run", "none.nxir")
        self.refused("^none.nxir: cannot be read: No such file", "dump", "none.nxir", "--stage", "graph")
        self.run_refused(r"^none.npy: cannot open: No such file", "--input", "x=none.npy")
        self.run_refused(r"^no/y.npy: cannot write: No such file", "--input", "x=x.npy", "--output", "y=no/y.npy")

    def test_names(self):
        self.run_refused(r"no --input for x: f32\[256,64\]")
        self.run_refused("no input named z; its inputs are: x", "--input", "x=x.npy", "--input", "z=x.npy")
        self.run_refused("no output named z; its outputs are: y", "--input", "x=x.npy", "--output", "z=z.npy")

    def test_wrong_types(self):
        self.file("f8.npy", npy("<f8", (256, 64), [0.5] * (256 * 64)))
        self.run_refused(r"^f8.npy: the file holds f64\[256,64\], but input x is f32\[256,64\]", "--input", "x=f8.npy")
        self.file("t.npy", npy("<f4", (64, 256), [0.5] * (256 * 64)))
        self.run_refused(r"^t.npy: the file holds f32\[64,256\], but input x is f32\[256,64\]", "--input", "x=t.npy")

    def test_malformed_arrays(self):
        huge = self.good.replace(b"(256, 64)", b"(256, 1 << 60)")[:200]
        for name, content in (
            ("cut", self.good[:-1]), ("head", self.good[:20]), ("empty", b""), ("magic", b"\x94" + self.good[1:]), ("version", self.good[:6] + b"\x09" + self.good[7:]),
            ("object", self.good.replace(b"<f4", b"|O8")), ("huge", huge), ("text", b"1,2,3\n"),
        ):
            self.file(f"{name}.npy", content)
            self.run_refused(rf"^{name}.npy: ", "--input", f"x={name}.npy")
        self.file("cut.npy", self.good[:-1])
        self.run_refused("byte|short|trunc|end", "--input", "x=cut.npy")

    def test_device_that_is_not_there(self):
        self.run_refused("device cuda is not available: ", "--device", "cuda", "--input", "x=x.npy")

    def test_texts(self):
        graph = "graph @f(%x: f32[4], %n: i32[4]) -> (%y) {\n"
        for place, text in (
            ("1:1", ""), ("1:1", "graph @f() -> () {\n}\n"), ("1:6", "nxir 3\n" + graph), ("1:6", "nxir one\n" + graph),
            ("2:1", "nxir 2\nnonsense\n"), ("2:14", "nxir 2\ngraph @f(%x: q32[4]) -> (%x) {\n}\n"),
            ("3:8", "nxir 2\n" + graph + "  %y = frobnicate %x : f32[4]\n}\n"),
            ("3:12", "nxir 2\n" + graph + "  %y = neg %z : f32[4]\n}\n"),
            ("3:", "nxir 2\n" + graph + "  %y = add %x, %n : f32[4]\n}\n"), ("3:", "nxir 2\n" + graph + "  %y = exp %n : i32[4]\n}\n"),
            ("3:", "nxir 2\n" + graph + "  %y = reduce_sum %x axes=[1] : f32[4]\n}\n"), ("4:1", "nxir 2\n" + graph + "  %y = neg %x : f32[4]\n"),
            ("5:1", "nxir 2\n" + graph + "  %y = neg %x : f32[4]\n}\nmore\n"), ("2:", "nxir 2\ngraph @f() -> (%y) {\n}\n"),
        ):
            self.file("bad.nxir", text)
            for arguments in ["run"], ["dump", "--stage", "graph"], ["opt"]:
                _, err = self.nxc(arguments[0], "bad.nxir", *arguments[1:], status=1)
                self.assertTrue(err.startswith(f"bad.nxir:{place}"), f"{place} expected for {text!r}: {err}")
                self.assertRegex(err, r"^bad.nxir:\d+:\d+: \S")
        self.refused("^-:1:6: version 3", "run", "-", text="nxir 3\n")

    def test_environment(self):
        for command in ["run", "softmax.nxir", "--input", "x=x.npy"], ["info"], ["opt", "softmax.nxir"], ["dump", "softmax.nxir", "--stage", "graph"]:
            for name, value in ("NX_DEBUG", "graphs"), ("NX_SKIP", "cse,lower"), ("NX_EXECUTOR", "jit"), ("NX_ISA", "vax"):
                self.environment[name] = value
                self.refused(f'^nxc: {name}: .* "{value.split(",")[-1]}"', *command)
                del self.environment[name]
            self.environment["NX_DUMP_DIR"] = "no/such"
            self.refused('^nxc: NX_DUMP_DIR: the directory "no/such" cannot be written: No such file', *command)
            del self.environment["NX_DUMP_DIR"]

    def test_kernels_where_graphs_are_wanted(self):
        kernel = self.nxc("dump", "softmax.nxir", "--stage", "kernels")[0]
        self.file("k.nxir", kernel)
        self.refused("^k.nxir:2:1: a graph is expected here, and this is a kernel", "run", "k.nxir")
        for stage in "graph", "clusters", "plan", "dot", "soul":
            self.refused(f'a kernel has no stage "{stage}"; it is one of kernels, bound, generic, llvm, asm', "dump", "k.nxir", "--stage", stage)
        self.file("b.nxir", self.nxc("dump", "k.nxir", "--stage", "bound")[0])
        self.refused("the kernel .* is bound; the stage kernels comes before that", "dump", "b.nxir", "--stage", "kernels")
        self.refused("the pass cse works on graphs", "opt", "k.nxir", "--passes", "cse")
        self.refused("the pass simplify works on logical kernels", "opt", "b.nxir", "--passes", "simplify")
        lines = (kernel + "\n" + kernel).splitlines(True)
        broken = len(lines) - 3
        self.file("two.nxir", "".join(lines[:broken] + ["  nonsense\n"] + lines[broken:]))
        self.refused(f"^two.nxir:{broken + 1}:", "dump", "two.nxir", "--stage", "bound")
        self.file("mixed.nxir", kernel + SOFTMAX)
        self.refused(f"^mixed.nxir:{kernel.count(chr(10)) + 2}:", "opt", "mixed.nxir")

    def test_parameters_have_no_value(self):
        self.file("p.nxir", "nxir 2\ngraph @f(%x: f32[3]) -> (%y) {\n  %p = full param 0 : f32[3]\n  %y = add %x, %p : f32[3]\n}\n")
        self.file("v.npy", npy("<f4", (3,), [1, 2, 3]))
        self.refused("^p.nxir:3:19: full: parameter 0 has a value only inside of a run", "run", "p.nxir", "--input", "x=v.npy")
        update = (
            "nxir 2\ngraph @f(%x: f32[3], %w: f32[1]) -> (%y) {\n  %y = update %x, %w, %w "
            "offset=0 shape=[1] strides=[1] : f32[3]\n}\n"
        )
        self.file("u.nxir", update)
        self.refused("^u.nxir:3:23: update: a third operand has no meaning", "run", "u.nxir")

    def test_aliases_are_few(self):
        self.file("a.nxir", "nxir 2\ngraph @f(%x: f32[3] alias=2000000000) -> (%y) {\n  %y = neg %x : f32[3]\n}\n")
        self.refused("^a.nxir:2:21: there is no alias 2000000000", "dump", "a.nxir", "--stage", "plan")

    def test_scalars_that_do_not_fit(self):
        self.file("s.nxir", "nxir 2\ngraph @f(%x: i8[], %b: bool[]) -> (%x, %b) {\n}\n")
        self.refused('^nxc: input x: there is no file "128", and as a scalar of type i8 it is not a whole number', "run", "s.nxir", "--input", "x=128", "--input", "b=true")
        self.refused('^nxc: input b: there is no file "1", and as a scalar of type bool it is neither true nor false', "run", "s.nxir", "--input", "x=-128", "--input", "b=1")

    def test_input_that_is_no_file(self):
        os.mkfifo(self.dir / "pipe")
        self.refused("^pipe is no regular file$", "run", "softmax.nxir", "--input", "x=pipe")

    def test_passes_and_stages(self):
        self.refused('no pass "nap"', "opt", "softmax.nxir", "--passes", "cse,nap")
        self.refused("the pass bind works on kernels", "opt", "softmax.nxir", "--passes", "bind")
        self.refused("the pass legalize works on bound kernels", "opt", "softmax.nxir", "--passes", "lower,legalize")
        self.refused("the pass cse works on graphs", "opt", "softmax.nxir", "--passes", "lower,cse")
        self.refused('no stage "soul"', "dump", "softmax.nxir", "--stage", "soul")

    def test_standard_output_that_is_full(self):
        if not Path("/dev/full").exists():
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([NXC, "opt", "softmax.nxir"], cwd=self.dir, env=self.environment, stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"cannot write", done.stderr)


class Stages(Case):
    def setUp(self):
        super().setUp()
        self.file("softmax.nxir", SOFTMAX)
        self.compiles = "interpreter" not in self.nxc("info")[0]

    def dump(self, stage, *more):
        return self.nxc("dump", "softmax.nxir", "--stage", stage, *more)[0]

    def test_golden(self):
        """The first stages are the same on every machine (bound ones follow its caches)."""
        for stage in "graph", "clusters", "kernels":
            expected, text = GOLDEN / f"softmax.{stage}.txt", self.dump(stage)
            if os.environ.get("NX_BLESS") == "1":
                expected.write_text(text)
            self.assertEqual(text, expected.read_text(), expected)

    def test_graph_and_clusters_parse_back(self):
        text = self.dump("graph")
        self.assertEqual(self.nxc("dump", "-", "--stage", "graph", text=text)[0], text)
        clusters = self.dump("clusters")
        self.assertTrue(clusters.startswith(self.nxc("dump", "-", "--stage", "graph", text=clusters)[0]))

    def test_kernels_parse_back(self):
        self.assertEqual(self.nxc("opt", "-", "--passes", "", text=self.dump("kernels"))[0], self.dump("kernels"))
        bound = self.nxc("opt", "-", "--passes", "bind,legalize", text=self.dump("kernels"))[0]
        self.assertEqual(bound, self.dump("bound"))
        self.assertEqual(self.nxc("opt", "-", text=bound)[0], bound)

    def test_dump_of_kernels(self):
        """A dump of any stage runs: later stages of it are those of the graph."""
        stages = ["kernels", "bound"] + (["llvm", "asm"] if self.compiles else [])
        for i, stage in enumerate(stages[:2]):
            text = self.dump(stage)
            for later in stages[i:]:
                same = self.nxc("dump", "-", "--stage", later, text=text)[0] == self.dump(later)
                self.assertTrue(same, f"{later} of {stage}")

    def test_gpu(self):
        """Kernels bound for a GPU are texts like any other, and what is printed is printed from
        them."""
        text = self.dump("gpu")
        self.assertIn(" threads=256 {", text)
        self.assertIn(" threads=64 {", self.dump("gpu", "--isa", "sm_80:64"))
        self.assertEqual(self.nxc("opt", "-", text=text)[0], text)
        self.assertEqual(self.nxc("dump", "-", "--stage", "cuda", text=text)[0], self.dump("cuda"))
        self.assertEqual(self.nxc("dump", "-", "--stage", "cuda", text=self.dump("kernels"))[0], self.dump("cuda"))
        self.file("g.nxir", text)
        if self.compiles:
            self.refused("kernel .* is bound to threads", "dump", "g.nxir", "--stage", "llvm")
        self.file("b.nxir", self.dump("bound"))
        self.refused("kernel .* is not bound to threads", "dump", "b.nxir", "--stage", "cuda")

    def test_several_kernels(self):
        text = """nxir 2
graph @f(%x: f32[100,50], %y: f32[100,50]) -> (%a, %b) {
  %a = reduce_sum %x axes=[0] : f32[50]
  %b = reduce_max %y axes=[1] : f32[100]
}
"""
        kernels = self.nxc("dump", "-", "--stage", "kernels", text=text)[0]
        self.assertEqual(kernels.count("kernel @"), 2)
        self.assertEqual(self.nxc("opt", "-", text=kernels)[0], kernels)
        self.assertEqual(self.nxc("dump", "-", "--stage", "kernels", text=kernels)[0], kernels)
        bound = self.nxc("dump", "-", "--stage", "bound", text=text)[0]
        self.assertEqual(self.nxc("dump", "-", "--stage", "bound", text=kernels)[0], bound)
        self.assertEqual(self.nxc("opt", "-", "--passes", "bind,legalize", text=kernels)[0], bound)

    def test_dump_directory(self):
        """Every text of NX_DUMP_DIR is one that nxc takes, and the graph computes the same."""
        text = SOFTMAX.replace("div %e, %s", "div %e, %s2").replace("  %y", "  %h = full 0.75 : f32[256,1]\n  %s2 = mul %s, %h : f32[256,1]\n  %y")
        self.file("f.nxir", text)
        self.file("x.npy", npy("<f4", (256, 64), [i % 13 / 7 for i in range(256 * 64)]))
        self.environment["NX_DUMP_DIR"] = str(self.dir / "dumps")
        self.nxc("run", "f.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        del self.environment["NX_DUMP_DIR"]
        stages = {}
        for path in sorted((self.dir / "dumps").iterdir()):
            stages[path.stem.split("-")[-1]] = str(path)
        self.assertEqual(set(stages), {"graph", "clusters", "kernels", "bound", "plan"} | ({"llvm", "asm"} if self.compiles else set()) if self.compiles else {"graph", "plan"})
        head = self.nxc("dump", stages["graph"], "--stage", "graph")[0].splitlines()[1]
        x, y = re.match(r"graph @\w*\(%(\w+): .* -> \(%(?:\w+ as )?(\w+)\)", head).groups()
        self.nxc("run", stages["graph"], "--input", f"{x}=x.npy", "--output", f"{y}=again.npy")
        self.assertEqual((self.dir / "again.npy").read_bytes(), (self.dir / "y.npy").read_bytes())
        for stage in set(stages) & {"graph", "clusters", "kernels", "bound"}:
            self.assertIn("nxir 2", self.nxc("opt", stages[stage], "--passes", "")[0])
            self.nxc("dump", stages[stage], "--stage", "bound")

    def test_assembly_of_several_kernels(self):
        """One file: symbols and local labels of all kernels differ."""
        if not self.compiles:
            return
        text = """nxir 2
graph @f(%x: f32[64,1024], %y: f32[32,32], %z: f32[50]) -> (%a, %b, %c) {
  %a = exp %x : f32[64,1024]
  %b = exp %y : f32[32,32]
  %c = exp %z : f32[50]
}
"""
        for isa in ["avx2", "avx512"] if os.uname().machine == "x86_64" else [None]:
            assembly = self.nxc("dump", "-", "--stage", "asm", *(["--isa", isa] if isa else []), text=text)[0]
            self.file("all.s", assembly)
            self.assertEqual(len(set(re.findall(r"^(exp_1\S*):", assembly, re.M))), 3)
            cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
            if cc:
                subprocess.run([cc, "-c", "all.s", "-o", "all.o"], cwd=self.dir, check=True)

    def test_clusters_and_plan_name_each_other(self):
        text = """nxir 2
graph @f(%x: f32[64,1024], %w: f32[1024,32], %i: i32[64,32]) -> (%a as first, %c, %g) {
  %a = exp %x : f32[64,1024]
  %q = matmul %a, %w : f32[64,32]
  %c = sin %q : f32[64,32]
  %g = scatter %c, %i, %c axis=0 mode=1 : f32[64,32]
}
"""
        clusters = self.nxc("dump", "-", "--stage", "clusters", text=text)[0]
        plan = self.nxc("dump", "-", "--stage", "plan", text=text)[0]
        groups = dict(re.findall(r"^; group (\d+): kernel @(\S+) over", clusters, re.M))
        steps = {group: name for name, group in re.findall(r"kernel (\S+), .*, group (\d+)$", plan, re.M)}
        self.assertEqual(groups, steps)
        self.assertGreaterEqual(len(groups), 2)
        self.assertRegex(clusters, r"; group \d+: scatter over")
        self.assertRegex(plan, r"matmul .*, group \d+\n")
        self.assertRegex(plan, r"output 0 \(first\): 262144 bytes")

    def test_each_pass(self):
        text = """nxir 2
graph @f(%x: f32[4]) -> (%c) {
  %a = exp %x : f32[4]
  %b = exp %x : f32[4]
  %dead = sin %x : f32[4]
  %c = add %a, %b : f32[4]
}
"""
        self.file("f.nxir", text)
        out = self.nxc("opt", "f.nxir", "--passes", "views,cse,dce", "--each")[0]
        self.assertIn("; views changes nothing\n", out)
        self.assertRegex(out, r"; cse:\n; -   %b = exp %x : f32\[4\]\n")
        self.assertIn("; -   %c = add %a, %b : f32[4]\n; +   %c = add %a, %a : f32[4]\n", out)
        self.assertIn("; dce:\n; -   %dead = sin %x : f32[4]\n", out)
        self.assertEqual(self.nxc("opt", "-", "--passes", "", text=out)[0], self.nxc("opt", "f.nxir", "--passes", "views,cse,dce")[0])
        self.assertIn("; dce:\n", self.nxc("opt", "f.nxir", "--each")[0])
        lowered = self.nxc("opt", "f.nxir", "--passes", "lower,simplify,bind", "--each")[0]
        self.assertIn("; +   region", lowered)
        self.refused('there is no pass "viws"; did you mean views\\?; the passes are: count_loops .* types hoist stored_types small_types .* narrow$', "opt", "f.nxir", "--passes", "viws")

    def test_opt(self):
        everything = self.nxc("opt", "softmax.nxir")[0]
        named = self.nxc("opt", "softmax.nxir", "--passes", "views,runs,constant_fold,algebra,library,views,cse,dce")[0]
        self.assertEqual(everything, named)
        self.assertIn("kernel @", self.nxc("opt", "softmax.nxir", "--passes", "lower")[0])

    def test_plan_and_dot(self):
        self.assertRegex(self.dump("plan"), r"^plan: 1 steps, .*\n  step 0: kernel \S+, \d+ tasks")
        dot = self.dump("dot")
        self.assertTrue(dot.startswith("digraph"))
        if shutil.which("dot"):
            drawn = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True, check=True)
            self.assertIn("reduce_max", drawn.stdout)

    def test_code(self):
        if not self.compiles:
            self.refused("LLVM", "dump", "softmax.nxir", "--stage", "llvm")
            return
        self.assertTrue("define void @" in self.dump("llvm"))
        if os.uname().machine == "x86_64":  # (texts of thousands of lines are no use in a complaint)
            self.assertTrue("zmm" in self.dump("asm", "--isa", "avx512"))
            self.assertTrue("zmm" not in self.dump("asm", "--isa", "avx2"))
            self.assertTrue("ymm" in self.dump("asm", "--isa", "avx2"))
            self.assertTrue("ymm" not in self.dump("asm", "--isa", "neon"))
        self.assertTrue('target triple = "aarch64' in self.dump("llvm", "--isa", "neon"))
        self.assertTrue("x86_64" in self.dump("llvm", "--isa", "avx2"))


class Info(Case):
    def test_info(self):
        out, err = self.nxc("info")
        self.assertEqual(err, "")
        for pattern in r"^nx +\d+\.\d+\.\d+$", "^code ", "^processor ", "^threads ", "^caches +L1 ", "^BLAS ", "^zlib ", "^device 0 +cpu", "^device 2 +cuda: not available: ", "^cache +":
            self.assertRegex(out, re.compile(pattern, re.MULTILINE))

    def test_cache(self):
        self.file("softmax.nxir", SOFTMAX)
        self.file("x.npy", npy("<f4", (256, 64), [0.5] * (256 * 64)))
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        if "interpreter" in self.nxc("info")[0]:
            self.assertIn("0 kernels", self.nxc("cache", "list")[0])
            return
        entries = list((self.dir / "cache").glob("*.nxe"))
        self.assertEqual(len(entries), 1)
        self.assertRegex(self.nxc("cache", "list")[0], entries[0].name + "  good\n1 kernels, ")
        self.assertIn("0 bad kernels removed", self.nxc("cache", "verify")[0])
        self.assertIn("0 kernels removed", self.nxc("cache", "trim", "--size", "100M")[0])
        data = bytearray(entries[0].read_bytes())
        data[-1] ^= 1
        entries[0].write_bytes(data)
        self.assertIn("  bad: ", self.nxc("cache", "list")[0])
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        entries[0].write_bytes(data)
        self.assertIn("1 bad kernels removed", self.nxc("cache", "verify")[0])
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        self.assertIn("1 kernels removed", self.nxc("cache", "trim", "--size", "1K")[0])
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        self.assertIn("1 kernels removed", self.nxc("cache", "clear")[0])
        self.assertIn("0 kernels, 0 bytes", self.nxc("cache", "list", "--dir", str(self.dir / "cache"))[0])

    def test_cache_is_shared(self):
        """nxc is linked statically; programs with the shared library use its kernels, and it
        theirs."""
        self.file("softmax.nxir", SOFTMAX)
        self.file("x.npy", npy("<f4", (256, 64), [0.5] * (256 * 64)))
        if "interpreter" in self.nxc("info")[0]:
            return
        self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        run = lambda: subprocess.run([SHARED_RUN, "softmax.nxir"], cwd=self.dir, env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(run(), "1 kernels, 0 compiled, 1 from disk\n")
        self.nxc("cache", "clear")
        self.assertEqual(run(), "1 kernels, 1 compiled, 0 from disk\n")
        self.assertRegex(self.nxc("cache", "list")[0], "  good\n1 kernels, ")
        _, err = self.nxc("run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy", "--time")
        self.assertIn("1 kernels (0 compiled, 1 from disk)", err)
        entry, = (self.dir / "cache").glob("*.nxe")
        entry.rename(entry.with_name("0" * 32 + ".nxe"))
        self.assertIn("  bad: its name is not that of its key", self.nxc("cache", "list")[0])
        self.assertIn("1 bad kernels removed", self.nxc("cache", "verify")[0])

    def test_cache_that_others_can_write(self):
        (self.dir / "open").mkdir()
        (self.dir / "open").chmod(0o777)
        self.refused("open: the cache is not used: ", "cache", "list", "--dir", str(self.dir / "open"))
        self.environment["NX_CACHE_DIR"] = ""
        self.assertRegex(self.nxc("info")[0], "cache +not used: ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
