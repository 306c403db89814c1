# SPDX-License-Identifier: ISC
"""Rules of the source tree that no compiler checks.

Includes follow the direction in which data flows (docs/ir.md): a code generator that included the
graph would sooner or later decide something there. Also: each source file names its licence in its
first line, what is of the operating system is in ir/platform/ alone and docs/porting.md names it,
versions of LLVM are told apart in one file, none names a path or a host of somebody's machine, none
is longer than LONGEST lines or wider than WIDTH, pages of docs/ that are named exist, every test
program is built, git tracks no folder beside those of the tree, and the entries of docs/decisions/
have dates. What git does not track counts if its name ends as a source's does.

Usage: check_tree.py SOURCE_ROOT. Prints each fault as file:line: sentence; the exit status is 1 if
any.
"""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

# What stands below both levels of the IR, and the borders that a code generator sees.
BASE = (
    "ir/called.h",
    "ir/op.h",
    "ir/scalar_ops.def",
    "ir/dtype.h",
    "ir/alloc.h",
    "ir/diag.h",
    "ir/kernel_abi.h",
    "ir/target.h",
)

# What a directory may include from the tree, beside itself and the public headers. A name that ends
# in / is a whole directory.
ALLOWED = {
    "include": (),
    "ir/platform": (),
    "ir": ("ir/platform/",),
    "passes": ("ir/",),
    "codegen_llvm": ("ir/platform/", "ir/kernel/kernel.h", "ir/kernel/kernel_ops.def", *BASE),
    "codegen_cuda": ("ir/platform/", "ir/kernel/kernel.h", "ir/kernel/kernel_ops.def", *BASE),
    "runtime": ("ir/platform/", "ir/", "passes/", "codegen_llvm/", "codegen_cuda/"),
    "bindings": ("ir/platform/", "ir/", "runtime/"),
    "tools": ("ir/platform/", "ir/", "passes/", "codegen_llvm/", "runtime/"),
    "examples": (),
    "bench": ("ir/platform/", "ir/", "passes/", "codegen_llvm/", "codegen_cuda/", "runtime/"),
    "tests": (
        "bindings/",
        "ir/platform/",
        "ir/",
        "passes/",
        "codegen_llvm/",
        "codegen_cuda/",
        "runtime/",
        "tools/",
        "bench/",
    ),
}
# What files of the runtime include only in these folders, beside those of devices (private).
PRIVATE = {
    "codegen_llvm/": ("runtime/cpu/",),
    "codegen_cuda/": ("runtime/cuda/",),
}
# Headers that stand alone: they describe a border between directories.
ALONE = ("ir/kernel_abi.h", "ir/target.h")

# The headers of a folder that other folders may include; the rest are for the folder itself and
# those below it. Tests and benchmarks look inside. A folder that is not named has none.
OUTWARD = {
    "ir/platform": (
        "clock",
        "cpus",
        "exit",
        "file",
        "fork",
        "futex",
        "imports",
        "library",
        "loading",
        "lock",
        "machine",
        "pages",
        "process",
        "stack",
        "thread",
        "thread_data",
    ),
    "ir": ("alloc", "called", "diag", "dtype", "kernel_abi", "op", "poll", "target"),
    "ir/expand": ("expand",),
    "ir/graph": ("body", "control", "graph", "view"),
    "ir/interp": ("interp",),
    "ir/kernel": ("build", "kernel"),
    "ir/library": ("custom", "library", "scatter", "seen", "tiles", "windows"),
    "ir/text": ("graph_text", "near", "print_kernel", "scalar_text"),
    "passes": ("apply", "pipeline", "read"),
    "passes/bind": ("bind",),
    "passes/fuse": ("cluster", "space"),
    "passes/graph": ("loops", "passes"),
    "passes/kernel": ("columns_seen", "generalize", "passes"),
    "passes/lower": ("lower",),
    "passes/plan": ("plan",),
    "codegen_llvm": ("codegen_llvm",),
    "codegen_cuda": ("codegen_cuda", "toolkit"),
    "runtime": ("debug", "memory", "threads", "trace"),
    "runtime/apply": ("by_scatter",),
    "runtime/cache": ("kernel",),
    "runtime/cuda": ("driver", "gpu"),
    "runtime/cuda/library": ("blas", "calls", "cufft", "cusolver", "scatter"),
    "runtime/files": ("archive", "dlpack_abi", "file"),
    "runtime/group": ("group", "nccl"),  # bindings have the one, runtime/cuda the other
    "runtime/launch": ("internal", "launch"),  # internal: a device's launch is made of it too
    "runtime/library": ("libraries", "scatter"),
    "runtime/library/blas": ("blas", "level2", "level3"),
    "runtime/library/floats": ("elimination", "multiply", "root", "triangle", "windows"),
    "runtime/library/linalg": ("lapack",),
    "runtime/library/linalg/factors": ("lu", "reflections", "small_matrix"),
    "runtime/library/sort": ("core",),
    "runtime/realize": ("residency", "run"),
    "runtime/realize/async": ("offload", "runner"),
    "runtime/realize/functions": ("function",),
    "runtime/realize/plans": ("background", "estimate", "obtain", "plan_cache"),
    "runtime/record": (
        "assign",
        "capture",
        "context",
        "custom",
        "error",
        "import",
        "node",
        "objects",
        "pending",
        "record",
        "watch",
        "window",
    ),
    "runtime/record/ops": ("compose", "dimension_numbers", "places"),
    "bindings/stablehlo": ("host_form", "module", "shards"),
    "bindings/pjrt": ("api", "api_run"),
}

# Headers that the build writes.
GENERATED = ("config.h", "code_id.h")

# What only the seam to the operating system, ir/platform/, may include, and call of what the C
# library adds to C.
SEAM = "ir/platform/"
SYSTEM_HEADER = re.compile(
    r"#\s*include\s*<((?:arpa|linux|mach|net|sys)/.*|(?:dirent|dlfcn|elf|fcntl|link|poll|"
    r"pthread|sched|semaphore|signal|spawn|strings|ucontext|unistd|windows)\.h)>"
)
SYSTEM_CALL = re.compile(
    r"\b(clock_gettime|nanosleep|usleep|sysconf|mmap|munmap|madvise|mprotect|dlopen|dlsym|"
    r"dladdr|getpid|secure_getenv|setenv|unsetenv|strerror_r|strcasecmp|realpath|fsync|atexit)\("
)
BEHIND_SEAM = ("include", "ir", "passes", "codegen_llvm", "codegen_cuda", "runtime", "tools")

# Versions of LLVM are told apart in one file, where there is need.
LLVM_VERSION = re.compile(r"\bLLVM_VERSION_(MAJOR|MINOR|STRING)\b")
LLVM_VERSIONS = "codegen_llvm/llvm_versions.h"

SOURCE = {".c", ".h", ".def", ".cc", ".cuh"}
LICENSED = SOURCE | {".py", ".sh", ".build"}
WRAPPED = LICENSED - {".def", ".sh"}
TEXT = LICENSED | {".md", ".nxir", ".txt", ""}
# Spelled in two halves, so that this file passes its own check.
FORBIDDEN = re.compile(
    "|".join(
        a + b
        for a, b in (
            (r"/wo", r"rk/"),
            (r"/ho", r"me/\w"),
            (r"/tmp/br", r"ief"),
            (r"py", r"pi\.org"),
            (r"crates", r"\.io"),
            (r"npm", r"js"),
            (r"debian", r"\.org"),
            (r"git", r"hub\.com/\w"),
        )
    ),
    re.IGNORECASE,
)
PAGE = re.compile(r"docs/[a-z_]+\.md")
LONGEST = 600
WIDTH = 100
# Rows of a table are one line each, here and in *.def.
TABLES = ("tests/numpy/numpy_ops.py", "tests/nxc/nxc_test.py")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def normalized(root, path, name):
    """The included file as a path from the root; None for generated ones and those of other
    libraries."""
    for base in (path.parent, root, root / "include"):
        target = (base / name).resolve()
        if target.is_file() and root in target.parents:
            return target.relative_to(root).as_posix()
    return None


def is_inside(folder, target):
    """Whether the header is of another folder, and none of those that it shows to others."""
    home, name = target.rpartition("/")[::2]
    at_home = folder == home or folder.startswith(home + "/")
    return (
        name.endswith(".h")
        and not home.startswith("include")
        and not at_home
        and name[:-2] not in OUTWARD.get(home, ())
    )


def own_folder(file):
    """The folder of ALLOWED that a file belongs to, the innermost one; None for a file of another
    folder."""
    return max(
        (folder for folder in ALLOWED if file.startswith(folder + "/")), key=len, default=None
    )


@functools.cache
def private(root):
    """PRIVATE and the folders of devices, which only their own files know: others know the row of
    runtime/devices.def."""
    table = (root / "runtime/devices.def").read_text(encoding="utf-8")
    rows = re.findall(r"^NXI_DEVICE\((\w+)\)", table, re.MULTILINE)
    return PRIVATE | {f"runtime/{name}/": (f"runtime/{name}/",) for name in rows}


def include_faults(root, path, lines):
    here = path.relative_to(root).as_posix()
    own = own_folder(here)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = normalized(root, path, match.group(1))
        if target is None:
            if match.group(1) not in GENERATED:
                yield number, f"there is no {match.group(1)} in the tree"
            continue
        allowed = target.startswith("include/nx/") or own_folder(target) == own
        allowed = allowed or any(a in (target, f"{own_folder(target)}/") for a in ALLOWED[own])
        if own == "runtime":
            allowed = allowed and all(
                here.startswith(users)
                for folder, users in private(root).items()
                if target.startswith(folder)
            )
        if here in ALONE:
            allowed = target.startswith("include/nx/")
        if not allowed:
            yield number, f"{own} must not include {target}"
        elif own not in ("tests", "bench", "include") and is_inside(
            path.relative_to(root).parent.as_posix(), target
        ):
            yield number, f"{target} is for its own folder (OUTWARD in tests/check_tree.py)"


def seam_faults(lines):
    for number, line in enumerate(lines, 1):
        header, call = SYSTEM_HEADER.search(line), SYSTEM_CALL.search(line)
        if header:
            yield number, f"<{header.group(1)}> is for {SEAM} alone (docs/porting.md)"
        if call and not line.lstrip().startswith(("*", "/*")):
            yield number, f"{call.group(1)} is for {SEAM} alone (docs/porting.md)"


def unported(root):
    """Functions of ir/platform/ that the page on porting does not name."""
    page = root / "docs/porting.md"
    names = (
        set(re.findall(r"`(nxi_\w+)`", page.read_text(encoding="utf-8")))
        if page.is_file()
        else set()
    )
    for path in sorted((root / SEAM).glob("*.h")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            declared = re.match(
                r"(?:static inline |_Noreturn )?[a-z]\w*(?: \w+)* \*?(nxi_\w+)\(", line
            )
            if declared and declared.group(1) not in names:
                yield (
                    path.relative_to(root).as_posix(),
                    number,
                    f"docs/porting.md does not name {declared.group(1)}",
                )


def faults(root, path):
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        yield path.read_bytes()[: error.start].count(b"\n") + 1, "this is no text in UTF-8"
        return
    if path.suffix in LICENSED or path.name == "dev":
        if not any("SPDX-License-Identifier: ISC" in line for line in lines[:2]):
            yield 1, "the first lines do not name the licence (SPDX-License-Identifier: ISC)"
    here = path.relative_to(root).as_posix()
    if path.suffix in SOURCE and own_folder(here) is not None:
        yield from include_faults(root, path, lines)
    if (
        path.suffix in {".c", ".h"}
        and path.relative_to(root).parts[0] in BEHIND_SEAM
        and not here.startswith(SEAM)
    ):
        yield from seam_faults(lines)
    if path.suffix in SOURCE and here != LLVM_VERSIONS:
        for number, line in enumerate(lines, 1):
            if LLVM_VERSION.search(line):
                yield number, f"versions of LLVM are told apart in {LLVM_VERSIONS} alone"
    if path.suffix in LICENSED and len(lines) > LONGEST:
        yield len(lines), f"a file of more than {LONGEST} lines wants splitting"
    for number, line in enumerate(lines, 1):
        if len(line) > WIDTH and path.suffix in WRAPPED and here not in TABLES:
            yield number, f"a line of more than {WIDTH} characters"
        match = FORBIDDEN.search(line)
        if match:
            yield number, f"'{match.group(0)}' is of somebody's machine or network"
        for page in PAGE.findall(line):
            if not (root / page).is_file():
                yield number, f"there is no {page}"


def unbuilt_tests(root):
    """The meson.build of a folder lists its tests by name, test_NAME.c as 'NAME'; folders that hold
    none are subjects too."""
    subjects = (root / "tests/meson.build").read_text(encoding="utf-8")
    for folder in sorted(
        path for path in (root / "tests").iterdir() if (path / "meson.build").is_file()
    ):
        build = folder / "meson.build"
        if f"'{folder.name}'" not in subjects:
            yield build.relative_to(root).as_posix(), 1, "tests/meson.build does not read this"
        for path in sorted(folder.glob("test_*.c")):
            if f"'{path.stem[5:]}'" not in build.read_text(encoding="utf-8"):
                yield (
                    path.relative_to(root).as_posix(),
                    1,
                    f"tests/{folder.name}/meson.build does not name this test",
                )
    for path in sorted((root / "tests").glob("test_*.c")):
        yield path.relative_to(root).as_posix(), 1, "a test belongs into the folder of its subject"


def decision_faults(root):
    """Each page of docs/decisions/ names its subject, each entry has a date, and stands once in all
    of them."""
    seen = set()
    for page in sorted((root / "docs/decisions").glob("*.md")):
        name, text = page.relative_to(root).as_posix(), page.read_text(encoding="utf-8")
        if not re.search(r"^# Decisions: .+$", text, re.MULTILINE):
            yield name, 1, "the title is '# Decisions: ' and the subject"
        for match in re.finditer(r"^\*\*(.+?)\*\*(.{14})", text, re.MULTILINE | re.DOTALL):
            number = text.count("\n", 0, match.start()) + 1
            words = " ".join(match.group(1).split())
            if not re.match(r"\s\(\d{4}-\d\d-\d\d\)", match.group(2)):
                yield (
                    name,
                    number,
                    "an entry begins with **bold words.** and its date, (YYYY-MM-DD)",
                )
            if words in seen:
                yield name, number, f"a second entry '{words}'"
            seen.add(words)


def strays(root):
    """Files without a suffix that git does not track: what programs leave behind, of any bytes.
    None are known without git."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--others"]
    try:
        told = subprocess.run(command, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return set()
    names = (root / os.fsdecode(name) for name in told.split(b"\0") if name)
    return {path for path in names if not path.suffix}


def misplaced(root):
    """Folders of the root that git tracks and nobody planned: what a program left behind."""
    planned = {*ALLOWED, "docs", "cmake", ".ci", ".github"}
    told = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True)
    folders = {name.split("/")[0] for name in told.stdout.splitlines() if "/" in name}
    return [(name, 1, "no folder of the tree") for name in sorted(folders - planned)]


def main():
    root = Path(sys.argv[1]).resolve()
    top = [root / name for name in (*ALLOWED, "docs", ".ci")]
    files = [
        p for p in root.iterdir() if p.is_file() and p.name != ".git"
    ]  # a file in a second working tree
    files += [p for d in top if d.is_dir() for p in d.rglob("*") if p.is_file()]
    count = 0
    apart = ("__pycache__", "corpus")  # corpus: inputs of the fuzz targets, of any bytes
    files = set(files) - strays(root)
    for path in sorted(p for p in files if p.suffix in TEXT and not set(apart) & set(p.parts)):
        for number, sentence in faults(root, path):
            print(f"{path.relative_to(root)}:{number}: {sentence}")
            count += 1
    rules = (unbuilt_tests, decision_faults, unported, misplaced)
    for name, number, sentence in [fault for rule in rules for fault in rule(root)]:
        print(f"{name}:{number}: {sentence}")
        count += 1
    return 1 if count else 0


sys.exit(main())
