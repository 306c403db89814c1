# SPDX-License-Identifier: ISC
"""Writes calls.c: a Python function for every function of the C interface whose arguments and
results have a form in Python, from the interface data (nx-api.json).

Usage: gen_calls.py nx-api.json calls.c. Lists with counts are one argument, contexts are left out,
results that are written through pointers come back as a tuple. Flags at the end may be left out.
"""

import json
import sys

INTEGERS = {
    "int32_t": ("INT32_MIN", "INT32_MAX"),
    "int": ("INT32_MIN", "INT32_MAX"),
    "uint32_t": ("0", "UINT32_MAX"),
    "int64_t": ("INT64_MIN", "INT64_MAX"),
    "size_t": ("0", "INT64_MAX"),
    "nx_device": ("0", "INT32_MAX"),
    "nx_binary_op": ("0", "INT32_MAX"),
    "nx_scan_op": ("0", "INT32_MAX"),
    "nx_scatter_mode": ("0", "INT32_MAX"),
    "nx_quantile_method": ("0", "INT32_MAX"),
    "bool": ("0", "1"),
}
# Tensors that may be left out; the interface data knows this of lists alone.
NULLABLE = {("nx_searchsorted", "sorter"), ("nx_random_choice", "weights")}
# Handled by hand, or of no use from Python.
LEFT_OUT = {"nx_placeholder", "nx_assign", "nx_empty", "nx_tensor_retain", "nx_keep", "nx_set"}

HEAD = """/* SPDX-License-Identifier: ISC */
/* Made by gen_calls.py from the interface data. */
#include "core.h"
"""

TAIL = """    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "nx._core.calls",
                                        .m_size = -1,
                                        .m_methods = functions};

int core_calls_init(PyObject *module) {
  PyObject *m = PyModule_Create(&definition);
  if (m == NULL) return -1;"""


class Unsupported(Exception):
    """A parameter has no form in Python."""


def argument(name, p, at):
    """(declarations, taking, what to free, what is passed) of one parameter of Python."""
    kind, variable = p["type"], f"a{at}"
    if kind == "nx_tensor *":
        nullable = "true" if (name, p["name"]) in NULLABLE else "false"
        taken = f"core_take_tensor(args[{at}], {nullable}, &{variable})"
        return f"nx_tensor *{variable} = NULL;", taken, None, variable
    if kind == "nx_dtype":
        taken = f"core_take_dtype(args[{at}], &{variable})"
        return f"nx_dtype {variable} = 0;", taken, None, variable
    if kind == "double":
        taken = f"core_take_f64(args[{at}], &{variable})"
        return f"double {variable} = 0;", taken, None, variable
    if kind == "const nx_scalar *":
        taken = f"core_take_scalar(args[{at}], &{variable})"
        return f"nx_scalar {variable};", taken, None, f"&{variable}"
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        taken = f"core_take_i64(args[{at}], {low}, {high}, &{variable})"
        return f"int64_t {variable} = 0;", taken, None, f"({kind}){variable}"
    declared = f"core_list {variable} = {{.items = {variable}.room}};"
    if kind == "nx_tensor *const *":
        taken = f"core_take_tensors(args[{at}], &{variable})"
        return declared, taken, variable, f"{variable}.items"
    if kind == "const double *":
        return declared, f"core_take_f64s(args[{at}], &{variable})", variable, f"{variable}.items"
    if kind in ("const int32_t *", "const int64_t *"):
        bits = 32 if "32" in kind else 64
        axes = "true" if bits == 32 else "false"
        nullable = "true" if p.get("nullable") else "false"
        taken = f"core_take_list(args[{at}], {bits}, {nullable}, {axes}, &{variable})"
        return declared, taken, variable, f"{variable}.items"
    raise Unsupported(kind)


class Call:
    """The function for one function of the interface."""

    def __init__(self, f):
        self.name = f["name"]
        self.declared, self.taken, self.freed, self.passed, self.outs = [], [], [], [], []
        self.given, self.optional = 0, 0
        counts, lists = {}, {}
        parameters = f["parameters"]
        for p in parameters:
            if p.get("count"):
                counts.setdefault(p["count"], []).append(p["name"])
        for p in parameters:
            if p["role"] == "out":
                self.out(p)
            elif p["type"] == "nx_context *":
                self.passed.append("core_context()")
            elif p["name"] in counts:
                self.count(p, [lists[n] for n in counts[p["name"]]])
            elif p["role"] == "in":
                lists[p["name"]] = self.take(p)
            else:
                raise Unsupported(p["role"])
        if parameters and parameters[-1]["type"] == "uint32_t" or (
            self.outs and [p for p in parameters if p["role"] == "in"][-1]["type"] == "uint32_t"
        ):
            self.optional = 1
        self.returns = f["returns"]

    def out(self, p):
        if p["type"] != "nx_tensor **":
            raise Unsupported(p["type"])
        self.passed.append(f"&out[{len(self.outs)}]")
        self.outs.append(p["name"])

    def take(self, p):
        declared, taken, freed, passed = argument(self.name, p, self.given)
        variable = f"a{self.given}"
        self.declared.append(declared)
        self.taken.append((taken, p["type"] == "uint32_t"))
        if freed:
            self.freed.append(freed)
        self.passed.append(passed)
        self.given += 1
        return variable

    def count(self, p, variables):
        if not variables:
            raise Unsupported("a count without a list")
        self.passed.append(f"({p['type']}){variables[0]}.n")
        for other in variables[1:]:
            self.taken.append((f"core_same_length({variables[0]}.n, {other}.n)", False))

    def text(self):
        short = self.name[3:]
        least = self.given - self.optional
        parameters = "PyObject *self, PyObject *const *args, Py_ssize_t n"
        lines = [f"static PyObject *call_{short}({parameters}) {{", "  (void)self;"]
        lines += [f"  {d}" for d in self.declared]
        if self.outs:
            lines.append(f"  nx_tensor *out[{len(self.outs)}] = {{NULL}};")
        lines.append("  PyObject *made = NULL;")
        tests = [f'core_count("{short}", n, {least}, {self.given}) < 0', "core_context() == NULL"]
        for taken, flags in self.taken:
            last = flags and self.optional and f"args[{self.given - 1}]" in taken
            tests.append(f"(n > {least} && {taken} < 0)" if last else f"{taken} < 0")
        lines.append("  if (" + " ||\n      ".join(tests) + ")\n    goto end;")
        if self.name == "nx_cast":
            lines.append("  core_number_becomes(args[0], a1);")
        lines.append("  core_mark();")
        called = f"{self.name}({', '.join(self.passed)})"
        if self.outs:
            failed = f"{called} != NX_OK" if self.returns["role"] == "status" else None
            if failed is None:
                raise Unsupported("results beside a result")
            lines.append(f"  if ({failed}) core_fail();")
            lines.append(f"  else made = core_wrap_all(out, {len(self.outs)});")
        elif self.returns["type"] == "nx_tensor *":
            lines.append(f"  made = core_wrap({called});")
        else:
            raise Unsupported("another result")
        lines.append("end:")
        lines += [f"  core_list_free(&{v});" for v in self.freed]
        lines += ["  return made;", "}", ""]
        return "\n".join(lines)


def constants(api):
    for e in api["enums"]:
        for v in e["values"]:
            name = v["name"][3:]
            if not name.isidentifier():
                name = f"_{name}"
            yield name, v["value"]


def main(source, target):
    with open(source, encoding="utf-8") as f:
        api = json.load(f)
    texts, names = [], []
    for f in api["functions"]:
        try:
            if f["name"] in LEFT_OUT or f["returns"]["role"] not in ("reference", "status"):
                continue
            texts.append(Call(f).text())
            names.append(f["name"][3:])
        except Unsupported:
            continue
    out = [HEAD]
    out += texts
    out.append("static PyMethodDef functions[] = {")
    for n in names:
        function = f"(PyCFunction)(void (*)(void))call_{n}"
        out.append(f'    {{"{n}", {function}, METH_FASTCALL, "nx_{n} of C"}},')
    out.append(TAIL)
    for name, value in constants(api):
        out.append(f'  if (PyModule_AddIntConstant(m, "{name}", {value}) < 0) return -1;')
    out.append('  return PyModule_AddObject(module, "calls", m);\n}\n')
    with open(target, "w", encoding="utf-8") as f:
        f.write("\n".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
