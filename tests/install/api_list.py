# SPDX-License-Identifier: ISC
"""The list of the interface (nx-api.json) against what a compiler and the library say.

Usage: api_list.py LIST INCLUDE_DIRECTORY COMPILER [LIBRARY]

A generated C file asserts the type of each function, the value of each enumerator, and size,
alignment, and the offset, size and type of each field of each struct. The debug information of all
headers has no enumerator and no struct that the list lacks. With a shared library: it exports the
functions of the list, and a program is run through ctypes with nothing but the list.
"""

import ctypes
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """#include <stddef.h>
#include "nx/nx.h"
#define SAME(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a)
"""


def fields(struct, prefix=""):
    """Names as C has them; those of a union's members too."""
    for field in struct["fields"]:
        yield prefix + field["name"], field
        for name, member in (
            fields(field, prefix + field["name"] + ".") if "fields" in field else ()
        ):
            yield name, member | {"offset": field["offset"] + member["offset"]}


def declared(text, name):
    """A declaration of this type."""
    if "(*)" in text:
        return text.replace("(*)", f"(*{name})")
    array = re.fullmatch(r"(.*?) ?(\[.*\])", text)
    return f"{array[1]} {name}{array[2]}" if array else f"{text} {name}"


def assertions(api):
    yield PROGRAM
    for f in api["functions"]:
        types = ", ".join(p["type"] for p in f["parameters"]) or "void"
        yield f"SAME(__typeof__({f['name']}), {f['returns']['type']}({types}));"
    for enum in api["enums"]:
        for value in enum["values"]:
            yield f'_Static_assert({value["name"]} == {value["value"]}, "{value["name"]}");'
    for s in api["structs"]:
        name = s["name"]
        yield (
            f'_Static_assert(sizeof({name}) == {s["size"]} && _Alignof({name}) == '
            f'{s["alignment"]}, "{name}");'
        )
        for field, has in fields(s):
            own = f"sizeof((({name} *)0)->{field})"
            yield (
                f'_Static_assert(offsetof({name}, {field}) == {has["offset"]} && {own} == '
                f'{has["size"]}, "{name}.{field}");'
            )
            if has["type"] != "union":
                alias = f"type_of_{name}_{field}".replace(".", "_")
                yield (
                    f"typedef {declared(has['type'], alias)}; SAME(__typeof__((({name} "
                    f"*)0)->{field}), {alias});"
                )
    yield f'_Static_assert(sizeof(void *) == {api["pointer_bytes"]}, "pointers");'
    for name, text in api["macros"].items():
        if re.fullmatch(r"\d+", text):
            yield f'_Static_assert({name} == {text}, "{name}");'


def debug_names(compiler, include, folder):
    """Enumerators and structs of the headers, as the compiler describes them for a debugger."""
    source, output = folder / "all.c", folder / "all.o"
    source.write_text('#include "nx/nx.h"\n')
    done = subprocess.run(
        [
            *compiler,
            "-g",
            "-fno-eliminate-unused-debug-types",
            "-c",
            "-I",
            include,
            source,
            "-o",
            output,
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return None
    text = subprocess.run(
        ["readelf", "--debug-dump=info", output], check=True, capture_output=True, text=True
    ).stdout
    found = {"DW_TAG_enumerator": set(), "DW_TAG_structure_type": set()}
    for part in re.split(r"(?=Abbrev Number:)", text):
        tag = re.search(r"\((DW_TAG_\w+)\)", part)
        name = re.search(r"DW_AT_name\s*:.*?(\w+)\s*$", part, re.MULTILINE)
        complete = "DW_AT_declaration" not in part
        if tag and name and tag[1] in found and complete and re.match("nx_|NX_", name[1]):
            found[tag[1]].add(name[1])
    return found


def compare(what, listed, actual):
    return [
        f"{what}: {name} is in one of the list and {what} only" for name in sorted(listed ^ actual)
    ]


def exported(library):
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    return {match[1] for match in re.finditer(r" T (nx_\w+)", lines)}


# ---- a binding that knows the list alone

C_TYPES = {
    "bool": ctypes.c_bool,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "double": ctypes.c_double,
    "const char *": ctypes.c_char_p,
    "void": None,
}


class Binding:
    def __init__(self, api, library):
        self.library, self.api = ctypes.CDLL(library), api
        enums = {e["name"] for e in api["enums"]}
        self.values = {v["name"]: v["value"] for e in api["enums"] for v in e["values"]}
        for f in api["functions"]:
            function = getattr(self.library, f["name"])
            function.argtypes = [self.type_of(p["type"], enums) for p in f["parameters"]]
            function.restype = self.type_of(f["returns"]["type"], enums)

    def type_of(self, text, enums):
        text = self.api["types"].get(text, text)
        if text in enums:
            return ctypes.c_int
        return C_TYPES[text] if text in C_TYPES else ctypes.c_void_p

    def sum_of_squares(self):
        """Of 1.5, 2.5 and 3.5, each less 0.5."""
        call, context = self.library, ctypes.c_void_p()
        if call.nx_context_create(None, ctypes.byref(context)):
            return None
        data, result = (ctypes.c_float * 3)(1.5, 2.5, 3.5), ctypes.c_float()
        arguments = {
            "context": context,
            "device": 0,
            "dtype": self.values["NX_F32"],
            "rank": 1,
            "shape": (ctypes.c_int64 * 1)(3),
            "data": data,
            "bytes": ctypes.sizeof(data),
        }
        described = next(f for f in self.api["functions"] if f["name"] == "nx_from_data")
        x = call.nx_from_data(*(arguments[p["name"]] for p in described["parameters"]))
        y = call.nx_binary_f64(x, self.values["NX_BINARY_SUB"], 0.5)
        z = call.nx_reduce_sum(call.nx_mul(y, y), (ctypes.c_int32 * 1)(0), 1, 0)
        status = call.nx_read(z, ctypes.byref(result), 4, None)
        for handle in x, y, z:
            call.nx_tensor_release(handle)
        call.nx_context_release(context)
        return result.value if status == self.values["NX_OK"] else None


def faults(path, include, compiler, library):
    api = json.loads(Path(path).read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "list.c").write_text("\n".join(assertions(api)) + "\n")
        done = subprocess.run(
            [*compiler, "-std=gnu11", "-fsyntax-only", "-I", include, folder / "list.c"],
            capture_output=True,
            text=True,
        )
        found = [done.stderr] if done.returncode else []
        known = debug_names(compiler, include, folder)
    if known:
        found += compare(
            "enumerators",
            {v["name"] for e in api["enums"] for v in e["values"]},
            known["DW_TAG_enumerator"],
        )
        found += compare(
            "structs", {s["name"] for s in api["structs"]}, known["DW_TAG_structure_type"]
        )
    if library:
        found += compare("symbols", {f["name"] for f in api["functions"]}, exported(library))
        is_ = Binding(api, library).sum_of_squares()
        found += [] if is_ == 14 else [f"through ctypes the sum is {is_}"]
    return found


def main():
    path, include, compiler = sys.argv[1:4]
    found = faults(path, include, shlex.split(compiler), sys.argv[4] if len(sys.argv) > 4 else None)
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
