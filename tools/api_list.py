# SPDX-License-Identifier: ISC
"""Writes the list of the public interface for authors of bindings, nx-api.json: functions with
their parameters and what becomes of them, enumerations with their values, structs with their
fields. It is read from the headers alone, which are regular; what it cannot read stops it. Sizes
and offsets are those of a machine on which every type is aligned to its size, with pointers of the
given size; tests/install/api_list.py compares all of it with what the compiler says.

Usage: api_list.py INCLUDE_DIRECTORY POINTER_BYTES OUTPUT [DEPFILE]

Of a function: name, header, doc, returns, parameters. Of a parameter: name, type (as C has it), and
  role      in         read during the call; handles are borrowed
            out        written on success; of a handle, one reference, which is the caller's
            inout      read and written
            take       the reference, or the structure, belongs to the library when the call returns
                       (of a structure of another library: when it succeeds)
            user       only passed on
  count     of an array, the name of the parameter that says how many elements it has ("bytes" and
            "size": bytes)
  nullable  whether NULL has a meaning of its own (of a list that can be empty: that it
            is); absent: no
  sized     the first field of the struct is its size, which the caller sets
Of returns: type, and role: "value", "status", "reference" (one reference, the caller's; NULL on
failure), "borrowed" (lives as long as what it was asked of, or for ever), "none".
"""

import json
import re
import sys
from pathlib import Path

SIZES = {
    "char": 1,
    "bool": 1,
    "uint8_t": 1,
    "int32_t": 4,
    "uint32_t": 4,
    "int64_t": 8,
    "uint64_t": 8,
    "double": 8,
}
# Parameters that are names of lists of one element type: each such pointer is an array. Other
# pointers are to one element.
ARRAYS = {
    "const int32_t *",
    "const int64_t *",
    "const double *",
    "const nx_range *",
    "const nx_named_tensor *",
    "const nx_text_pair *",
    "nx_tensor *const *",
    "nx_function *const *",
    "void *",
    "const void *",
}
COUNTS = re.compile(r"n|n_\w+|rank|bytes|size")
# Functions that end a reference, or a structure of the library's.
ENDS = re.compile(r"nx_\w+_(release|close)|nx_scope_end|nx_string_free")
RETURNS_BORROWED = {"nx_context_of", "nx_keep"}
# Where the headers give NULL a meaning. A name alone: of every function.
NULLABLE = {
    "options",
    "nx_context_collect.context",
    "nx_error_take.out",
    "nx_tag_set.text",
    "nx_pending.context",
    "nx_pending.bytes",
    "nx_mapping_base.bytes",
    "nx_archive_metadata.key",
    "nx_archive_metadata.value",
    "nx_irfft.sizes",
    "nx_tensor_retain.tensor",
    "nx_keep.tensor",
    "metadata",
    "shape",
    "axes",
    "nx_item.index",
}
NOT_NULLABLE = {"nx_permute.axes"}
QUESTIONS = {
    "nx_rank",
    "nx_shape",
    "nx_strides",
    "nx_elements",
    "nx_dtype_of",
    "nx_device_of",
    "nx_context_of",
}
FILLED_LISTS = {
    "nx_case",
    "nx_custom_record",
    "nx_for",
    "nx_function_call",
    "nx_function_call_async",
    "nx_function_record",
    "nx_scan",
    "nx_while",
}
SEVERAL_RESULTS = {"nx_qr", "nx_svd", "nx_eigh", "nx_eig", "nx_slogdet", "nx_top_k"}
# Functions whose results are a list.
RESULT_LISTS = {"nx_reduce_by", "nx_scan_by", "nx_reduce_window", "nx_sort_by"}


class Unreadable(Exception):
    """Something in the headers that these rules do not cover."""


def squeeze(text):
    return " ".join(text.split())


def doc_of(comment):
    """A comment without its frame."""
    lines = [
        re.sub(r"^\s*\*? ?", "", line)
        for line in re.sub(r"^/\*+|\*+/$", "", comment.strip()).splitlines()
    ]
    return squeeze(" ".join(lines))


def c_alone(text):
    """Without what is for C++, and without directives but defines."""
    kept, skip = [], []
    for line in text.splitlines():
        word = re.match(r"\s*#\s*(\w+)\s*(\S*)", line)
        if word and word[1] in ("if", "ifdef", "ifndef"):
            skip.append(word[2] == "__cplusplus")
        elif word and word[1] == "else":
            skip[-1] = not skip[-1] if word else skip[-1]
        elif word and word[1] == "endif":
            skip.pop()
        elif not any(skip):
            kept.append(line)
    return "\n".join(kept)


def read_header(path):
    """Its text for C, and its macros that are a number or another word."""
    text = path.read_text()
    macros = {
        name: squeeze(value)
        for name, value in re.findall(r"^#define (NX_\w+)[ \t]+([^\\\n]+)$", text, re.MULTILINE)
        if name != "NX_API"
    }
    body = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*\n", "", c_alone(text) + "\n", flags=re.MULTILINE)
    return text, body, macros


# ---- enumerations


def status_rows(text):
    return [
        (f"NX_{name}", int(value))
        for name, value in re.findall(r"^\s*X\((\w+), (\d+),", text, re.MULTILINE)
    ]


def enumerators(body, known):
    """Pairs of a name and its value."""
    found, following = [], 0
    for item in filter(
        None, (squeeze(i) for i in re.sub(r"/\*.*?\*/", " ", body, flags=re.DOTALL).split(","))
    ):
        match = re.fullmatch(r"(NX_\w+)(?: ?= ?(.+))?", item)
        if not match:
            raise Unreadable(f"an enumerator: {item}")
        if match[2] is not None:
            if not re.fullmatch(r"[\w\s|()<>+-]+", match[2]):
                raise Unreadable(f"the value of {match[1]}: {match[2]}")
            following = eval(
                match[2], {"__builtins__": {}}, {**known, **dict(found)}
            )  # the headers are our own
        found.append((match[1], following))
        following += 1
    return found


def read_enums(name, text, body, known):
    enums = []
    for match in re.finditer(r"(typedef )?enum (\w+ )?\{(.*?)\}( \w+)?;", body, re.DOTALL):
        values = (
            status_rows(text) if "NX_STATUS_TABLE" in match[3] else enumerators(match[3], known)
        )
        known.update(values)
        enums.append(
            {
                "name": (match[4] or "").strip() or None,
                "header": name,
                "values": [{"name": n, "value": v} for n, v in values],
            }
        )
    return enums


# ---- structs


def declared(text):
    """Names and types of a declaration such as "const int64_t *shape, *strides"."""
    pointer = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", text)
    if pointer:
        return [(pointer[2], squeeze(f"{pointer[1].strip()} (*)({pointer[3]})"))]
    match = re.fullmatch(r"((?:const |struct )*\w+) ?(.+)", text)
    if not match:
        raise Unreadable(f"a declaration: {text}")
    found = []
    for item in match[2].split(","):
        parts = re.fullmatch(r"\s*((?:\*|const\b|\s)*)(\w+)((?:\[\w+\])?)", item)
        if not parts:
            raise Unreadable(f"a declaration: {text}")
        stars = parts[1].strip()
        found.append(
            (parts[2], squeeze(f"{match[1]} {stars}{parts[3]}" if stars or parts[3] else match[1]))
        )
    return found


class Layout:
    """Sizes and alignments of types."""

    def __init__(self, pointer, known):
        self.sizes = {**SIZES, "size_t": pointer, "nx_dtype": 4, "nx_device": 4}
        self.alignments = {}
        self.pointer, self.constants = pointer, known

    def of(self, text):
        """Size and alignment."""
        array = re.fullmatch(r"(.+?) ?\[(\w+)\]", text)
        if array:
            size, alignment = self.of(array[1])
            return size * (
                int(array[2]) if array[2].isdigit() else self.constants[array[2]]
            ), alignment
        if "*" in text:
            return self.pointer, self.pointer
        name = text.replace("const ", "").replace("struct ", "")
        if name not in self.sizes:
            raise Unreadable(f"the size of {text}")
        return self.sizes[name], self.alignments.get(name, self.sizes[name])

    def place(self, fields, union=False):
        """Fields with their offsets; size and alignment of the whole."""
        at, most, alignment, placed = 0, 0, 1, []
        for name, text, inner in fields:
            size, own = inner or self.of(text)
            at = 0 if union else -(-at // own) * own
            placed.append({"name": name, "type": text, "offset": at, "size": size})
            at += size
            most, alignment = max(most, at), max(alignment, own)
        return placed, -(-most // alignment) * alignment, alignment


def read_fields(body, layout):
    fields = []
    plain = re.sub(r"/\*.*?\*/", " ", body, flags=re.DOTALL)
    union = re.search(r"union \{(.*?)\} (\w+);", plain, re.DOTALL)
    if union:
        members = [
            (n, t, None) for d in union[1].split(";") if d.strip() for n, t in declared(squeeze(d))
        ]
        placed, size, alignment = layout.place(members, union=True)
        plain = plain.replace(union[0], f"union {union[2]};")
    for declaration in filter(None, (squeeze(d) for d in plain.split(";"))):
        if union and declaration == f"union {union[2]}":
            fields.append((union[2], "union", (size, alignment), placed))
        else:
            fields += [(n, t, None, None) for n, t in declared(declaration)]
    return fields


def read_structs(name, body, layout):
    structs = []
    for match in re.finditer(r"typedef struct (\w+) \{(.*?)\n\} \w+;", body, re.DOTALL):
        fields = read_fields(match[2], layout)
        placed, size, alignment = layout.place([f[:3] for f in fields])
        for entry, field in zip(placed, fields):
            if field[3]:
                entry["fields"] = field[3]
        layout.sizes[match[1]], layout.alignments[match[1]] = size, alignment
        structs.append(
            {
                "name": match[1],
                "header": name,
                "size": size,
                "alignment": alignment,
                "sized": placed[0]["name"] == "size" and placed[0]["type"] == "size_t",
                "fields": placed,
            }
        )
    return structs


# ---- functions


def count_of(parameters, i):
    """The parameter that says how long array i is: the next one that is a count."""
    for name, text in parameters[i + 1 :]:
        if "*" not in text and COUNTS.fullmatch(name):
            return name
        if text not in ARRAYS:
            break
    return None


def role_of(function, name, text, sized):
    if text.startswith("struct DLManaged"):
        return "out" if text.endswith("**") else "take"
    if ENDS.fullmatch(function):
        return "take"
    if text == "nx_tensor **" and function in FILLED_LISTS:
        return "inout"
    if (
        text.endswith("**")
        or text in ("uint64_t *", "size_t *", "nx_scalar *")
        or name == "dst"
        and text == "void *"
    ):
        return "out"
    return (
        "out"
        if "*" in text and not text.startswith("const ") and text.replace(" *", "") in sized
        else "in"
    )


def parameter(function, parameters, i, sized):
    name, text = parameters[i]
    entry = {"name": name, "type": text, "role": role_of(function, name, text, sized)}
    is_list = text in ARRAYS or (
        text == "nx_tensor **" and (entry["role"] == "inout" or function in RESULT_LISTS)
    )
    if (
        is_list
        or text == "const char *"
        and len(parameters) > i + 1
        and parameters[i + 1][0] == "size"
    ):
        entry["count"] = count_of(parameters, i)
        if entry["count"] is None:
            raise Unreadable(f"nothing counts {name} of {function}")
    elif (
        "*" in text
        and text
        not in ("const char *", "char *", "char **", "const char **", "uint64_t *", "size_t *")
        and not re.fullmatch(r"(const )?(struct )?(nx_\w+|DL\w+) \*{1,2}", text)
    ):
        raise Unreadable(f"{name} of {function} is of type {text}")
    several = function in SEVERAL_RESULTS and text == "nx_tensor **"
    named = {name, f"{function}.{name}"}
    if (
        several
        or (named & NULLABLE and not named & NOT_NULLABLE)
        or ENDS.fullmatch(function)
        or function in QUESTIONS
    ):
        entry["nullable"] = True
    if text.replace("const ", "").replace(" *", "") in sized:
        entry["sized"] = True
    return entry


def returned(function, text, handles):
    if text == "void":
        return {"type": text, "role": "none"}
    if text == "nx_status" and function != "nx_error_take":
        return {"type": text, "role": "status"}
    if "*" not in text:
        return {"type": text, "role": "value"}
    owned = text.replace(" *", "") in handles and function not in RETURNS_BORROWED
    return {"type": text, "role": "reference" if owned else "borrowed"}


def read_functions(name, body, sized, handles):
    functions = []
    for match in re.finditer(
        r"((?:/\*(?:(?!\*/).)*\*/\s*)?)NX_API\s+([^;{]*?)\b(nx_\w+)\(([^;]*)\);", body, re.DOTALL
    ):
        parameters = (
            []
            if match[4].strip() == "void"
            else [
                declared(squeeze(p))[0]
                for p in re.sub(r"/\*.*?\*/", " ", match[4], flags=re.DOTALL).split(",")
            ]
        )
        doc = doc_of(match[1]) if match[1] else functions[-1]["doc"] if functions else ""
        functions.append(
            {
                "name": match[3],
                "header": name,
                "doc": doc,
                "returns": returned(match[3], declared(squeeze(match[2]) + " f")[0][1], handles),
                "parameters": [
                    parameter(match[3], parameters, i, sized) for i in range(len(parameters))
                ],
            }
        )
    return functions


def read_all(include, pointer):
    folder = Path(include) / "nx"
    headers = sorted(folder.glob("*.h"))
    read = {h.name: read_header(h) for h in headers}
    known = {}
    layout = Layout(pointer, known)
    macros = {k: v for _, _, m in read.values() for k, v in m.items()}
    handles = sorted(
        {
            name
            for _, body, _ in read.values()
            for name in re.findall(r"typedef struct (\w+) \1;", body)
        }
    )
    result = {
        "version": macros["NX_VERSION_STRING"].strip('"'),
        "abi": int(macros["NX_ABI"]),
        "pointer_bytes": pointer,
        "handles": handles,
        "types": {"nx_dtype": "int32_t", "nx_device": "int32_t"},
        "macros": dict(sorted(macros.items())),
        "enums": [],
        "structs": [],
        "functions": [],
    }
    for name, (text, body, _) in read.items():
        result["enums"] += read_enums(name, text, body, known)
    for enum in result["enums"]:
        layout.sizes[enum["name"]] = 4
    waiting = dict(read)  # a struct may have another one's type, of a header that comes later
    while waiting:
        before = len(waiting)
        for name, (_, body, _) in list(waiting.items()):
            try:
                structs = read_structs(name, body, layout)
            except Unreadable:
                if len(waiting) == 1:
                    raise
                continue
            result["structs"] += structs
            del waiting[name]
        if len(waiting) == before:
            raise Unreadable(f"the structs of {', '.join(waiting)}")
    sized = {s["name"] for s in result["structs"] if s["sized"]}
    for name, (_, body, _) in read.items():
        result["functions"] += read_functions(name, body, sized, set(handles))
    return result, headers


def main():
    include, pointer, output = sys.argv[1:4]
    result, headers = read_all(include, int(pointer))
    Path(output).write_text(json.dumps(result, indent=1) + "\n")
    if len(sys.argv) > 4:
        Path(sys.argv[4]).write_text(f"{output}: {' '.join(str(h.resolve()) for h in headers)}\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unreadable as fault:
        sys.exit(f"api_list.py: {fault}")
