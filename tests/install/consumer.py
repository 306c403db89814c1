# SPDX-License-Identifier: ISC
"""What somebody does with an installed nx who has nothing else of it: programs by pkg-config, CMake
and Meson, and one in OCaml.

Programs are the first one of README.md, in C and C++, with the shared and the static library.
"""

import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import headers

SOFTMAX = [0.0900306, 0.244728, 0.665241, 1 / 3, 1 / 3, 1 / 3]
LANGUAGES = {"c": ("cc", "c11"), "cpp": ("c++", "c++17")}

CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(embedder C CXX)
find_package(nx 0.2 REQUIRED CONFIG)
find_package(nx 0.2 REQUIRED CONFIG) # twice does no harm
foreach(language c cpp)
  foreach(kind @KINDS@)
    add_executable(cmake-${kind}-${language} first.${language})
    target_link_libraries(cmake-${kind}-${language} PRIVATE nx::${kind})
  endforeach()
endforeach()
foreach(version 0.1 0.99)
  find_package(nx ${version} QUIET CONFIG)
  if(nx_FOUND)
    message(FATAL_ERROR "version ${version}, which is not there, is found")
  endif()
endforeach()
find_package(PkgConfig REQUIRED)
pkg_check_modules(pc REQUIRED IMPORTED_TARGET nx)
add_executable(cmake-pc-c first.c)
target_link_libraries(cmake-pc-c PRIVATE PkgConfig::pc)
"""


class Failure(Exception):
    pass


def check(good, sentence):
    if not good:
        raise Failure(sentence)


def run(*command, cwd=None, more=None, status=0, complaint=""):
    """Standard output of a command that ends with this status, and that complains of this."""
    command = [str(word) for word in command]
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | (more or {}),
        capture_output=True,
        text=True,
        timeout=1200,
    )
    check(
        done.returncode == status,
        f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}",
    )
    check(complaint in done.stderr, f"{' '.join(command)}: no \"{complaint}\" in {done.stderr}")
    return done.stdout


def fenced(page, language):
    """The first block of a page's code in that language, or for an empty one the first that begins
    with "nxir"."""
    text = page.read_text(encoding="utf-8")
    return re.search(
        rf"^```{language}\n({'' if language else 'nxir.*?'}.*?)^```", text, re.MULTILINE | re.DOTALL
    ).group(1)


def is_softmax(output):
    numbers = [float(word) for word in output.split()]
    return len(numbers) == 6 and all(abs(a - b) < 1e-5 for a, b in zip(numbers, SOFTMAX))


def needed(program):
    """The shared libraries and run paths that an ELF file names."""
    text = run("readelf", "-d", program)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text), re.findall(
        r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text
    )


class Installed:
    """prefix: where it lies; libraries: its folder of libraries; variables: options of pkg-config
    that say where it is."""

    def __init__(self, source, prefix, libdir, scratch, variables=()):
        self.source, self.prefix, self.scratch = Path(source), Path(prefix), Path(scratch)
        self.libraries, self.variables = self.prefix / libdir, list(variables)
        self.environment = {
            "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"),
            "LD_LIBRARY_PATH": str(self.libraries),
            "NX_CACHE_DIR": str(self.scratch / "kernels"),
            "CMAKE_PREFIX_PATH": str(self.prefix),
        }
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.shared, self.static = (
            (self.libraries / name).exists() for name in ("libnx.so", "libnx.a")
        )
        check(self.shared or self.static, f"{self.libraries} has no library")
        # What makes code by LLVM; a build without LLVM has none.
        self.modules = [path.name for path in (self.libraries / "nx").glob("*")]
        check(
            not self.modules or self.modules == [f"libnx-llvm-{self.flags('--modversion')[0]}.so"],
            f"modules: {self.modules}",
        )
        if self.modules:  # nothing is interpreted instead
            self.environment["NX_EXECUTOR"] = "llvm"
        program = fenced(self.source / "README.md", "c")
        for suffix in LANGUAGES:
            (self.scratch / f"first.{suffix}").write_text(program)

    def run(self, *command, more=None, **others):
        return run(*command, cwd=self.scratch, more=self.environment | (more or {}), **others)

    def flags(self, *options):
        return self.run("pkg-config", *self.variables, *options, "nx").split()

    def is_first(self, program, shared):
        """The program computes, with the library that was meant, from this prefix."""
        check(is_softmax(self.run(program)), f"{program} prints something else")
        check(
            ("libnx.so.1" in needed(program)[0]) == shared,
            f"{program} has another library than the one that was meant",
        )
        if shared:
            check(
                str(self.libraries / "libnx.so.1") in self.run("ldd", program),
                f"{program} does not load the installed library",
            )

    # ---- what there is

    def files(self):
        listed = {path.name for path in (self.source / "include/nx").iterdir()}
        installed = {path.name for path in (self.prefix / "include/nx").iterdir()}
        check(
            listed == installed,
            f"headers: {sorted(listed ^ installed)} are in one of source and prefix only",
        )
        looking = [self.prefix / "bin/nxc"]
        if self.shared:
            looking.append(self.linked())
        for file in looking:
            for folder in filter(None, ":".join(needed(file)[1]).split(":")):
                of_modules = (
                    Path(folder.replace("$ORIGIN", str(file.parent))).resolve()
                    == (self.libraries / "nx").resolve()
                )
                check(
                    of_modules or folder[0] == "/" and not (Path(folder) / "libnx.so").exists(),
                    f"{file} looks for libraries in {folder}",
                )

    def list_of_interface(self):
        """The list for bindings is there, with the functions of the headers."""
        listed = {
            f["name"]
            for f in json.loads((self.prefix / "share/nx/nx-api.json").read_text())["functions"]
        }
        check(
            listed == self.declared(),
            f"nx-api.json or the headers, not both: {sorted(listed ^ self.declared())}",
        )

    def declared(self):
        text = "".join(path.read_text() for path in (self.prefix / "include/nx").glob("*.h"))
        return set(re.findall(r"NX_API\b[^;(]*?\b(nx_\w+)\s*\(", text))

    def linked(self):
        """The file that libnx.so leads to, by the links that a soname wants."""
        chain, path = [], self.libraries / "libnx.so"
        while path.is_symlink():
            target = os.readlink(path)
            check("/" not in target, f"{path} leads to another folder")
            chain.append(target)
            path = path.parent / target
        version = self.flags("--modversion")[0]
        check(chain == ["libnx.so.1", f"libnx.so.{version}"], f"libnx.so leads to {chain}")
        check("[libnx.so.1]" in self.run("readelf", "-d", path), "the soname is not libnx.so.1")
        return path

    def headers(self):
        compilers = [
            f"{compiler} -std={standard} -x {'c++' if suffix == 'cpp' else suffix}"
            for suffix, (compiler, standard) in LANGUAGES.items()
            if shutil.which(compiler)
        ]
        found, count = headers.faults(self.prefix / "include/nx", compilers)
        check(not found and count, "\n".join(found) or "no headers are installed")

    def symbols(self):
        """Nothing but the interface is exported, all of it is, and what the static library defines
        has its prefixes."""
        declared = self.declared()
        if self.shared:
            exported = self.defined("-D", self.libraries / "libnx.so")
            check(
                exported == declared,
                f"exported or declared, not both: {sorted(exported ^ declared)}",
            )
            versions = set(
                re.findall(
                    r"@@(\S+)", self.run("nm", "-D", "--defined-only", self.libraries / "libnx.so")
                )
            )
            check(
                versions and all(re.fullmatch(r"NX_\d+\.\d+", version) for version in versions),
                f"symbols have the versions {versions}",
            )
        if self.static:
            defined = self.defined("-g", self.libraries / "libnx.a")
            strange = sorted(name for name in defined if not re.match(r"nx[a-z]?_|_ZN3nxi", name))
            check(
                not strange and declared <= defined,
                f"libnx.a defines {strange[:9]} and lacks {sorted(declared - defined)}",
            )

    def defined(self, option, file):
        lines = self.run("nm", option, "--defined-only", file).splitlines()
        # Weak ones are the same in all who have them. Small letters are local: GNU ld lists those
        # of a thread, too. Absolute ones are the names of versions of symbols.
        rows = [line.split() for line in lines if len(line.split()) == 3]
        return {
            name.split("@")[0] for _, kind, name in rows if kind.isupper() and kind not in "VWA"
        }

    # ---- programs

    def by_pkg_config(self):
        for suffix, (compiler, standard) in LANGUAGES.items():
            if not shutil.which(compiler):
                continue
            command = [compiler, f"-std={standard}", "-Wall", "-Werror", f"first.{suffix}", "-o"]
            if self.shared:
                self.run(*command, f"shared-{suffix}", *self.flags("--cflags", "--libs"))
                self.is_first(self.scratch / f"shared-{suffix}", True)
            if self.static:  # beside a shared library a linker wants to be told
                static = self.flags(*["--static"] * self.shared, "--cflags", "--libs")
                check(
                    "/llvm" not in " ".join(word for word in static if word[:2] in ("-I", "-i")),
                    f"headers of others: {static}",
                )
                static = ["-l:libnx.a" if word == "-lnx" else word for word in static]
                self.run(*command, f"static-{suffix}", *static)
                self.is_first(self.scratch / f"static-{suffix}", False)

    def by_cmake(self):
        if not shutil.which("cmake"):
            print("no CMake: left out")
            return
        kinds = ["nx"] + ["shared"] * self.shared + ["static"] * self.static
        text = CMAKE.replace("@KINDS@", " ".join(kinds))
        if self.variables:  # CMake asks pkg-config without them
            text = text[: text.index("find_package(PkgConfig")]
        (self.scratch / "CMakeLists.txt").write_text(text)
        self.run("cmake", "-G", "Ninja", "-S", ".", "-B", "cmake")
        self.run("cmake", "--build", "cmake", "-j2")
        for program in sorted((self.scratch / "cmake").glob("cmake-*-*")):
            self.is_first(program, self.shared and "static" not in program.name)

    def ocaml(self):
        """The program of docs/ocaml.md by findlib, by the compiler alone and in the toplevel, where
        a library for OCaml is installed."""
        folder = self.libraries / "ocaml/nx_engine"
        if not folder.exists():
            print("no library for OCaml: left out")
            return
        page = self.source / "docs/ocaml.md"
        (self.scratch / "page.ml").write_text(fenced(page, "ocaml"))
        ways = [["ocamlopt", "-I", folder, "nx_engine.cmxa"]]
        if shutil.which("ocamlfind"):
            ways += [["ocamlfind", "ocamlopt", "-package", "nx_engine", "-linkpkg"]]
        for command in ways:
            path = f"{folder.parent}:{os.environ.get('OCAMLPATH', '')}"
            self.run(*command, "page.ml", "-o", "page", more={"OCAMLPATH": path})
            said = self.run(self.scratch / "page")
            check(said == fenced(page, "text"), f"{command}: {said}")
        said = self.run("ocaml", "-I", folder, "nx_engine.cma", "page.ml")
        check(said == fenced(page, "text"), f"the toplevel says {said}")

    def command(self):
        """nxc runs README's text from the prefix alone."""
        (self.scratch / "softmax.nxir").write_text(fenced(self.source / "README.md", ""))
        head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 1024), }"
        head += b" " * (117 - len(head)) + b"\n"
        (self.scratch / "x.npy").write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(4 << 22)
        )
        nxc = self.prefix / "bin/nxc"
        info = self.run(nxc, "info")
        check("\ndevice 0 " in info, "nxc info says nothing of device 0")
        check(("\ncode        LLVM" in info) == bool(self.modules), f"nxc info:\n{info}")
        self.run(nxc, "run", "softmax.nxir", "--input", "x=x.npy", "--output", "y=y.npy")
        last = struct.unpack("<f", (self.scratch / "y.npy").read_bytes()[-4:])[0]
        check(last == 1 / 1024, f"softmax of zeros is {last}")

    def without_module(self):
        """A prefix from which the module is gone: all is interpreted, and nxc says why."""
        if not self.modules:
            return
        module = self.libraries / "nx" / self.modules[0]
        away = module.with_suffix(".away")
        program = self.scratch / ("shared-c" if self.shared else "static-c")
        os.rename(module, away)
        info = self.run(self.prefix / "bin/nxc", "info", more={"NX_EXECUTOR": ""})
        check(
            "code        interpreter: LLVM cannot be loaded: " in info and module.name in info,
            f"nxc info without the module:\n{info}",
        )
        check(is_softmax(self.run(program, more={"NX_EXECUTOR": ""})), "nothing is interpreted")
        kernels = {"NX_EXECUTOR": "", "NX_BACKGROUND": "off", "NX_CACHE_DIR": ""}
        slow = "nx: kernels are interpreted, some hundred times as slow: LLVM cannot be loaded: "
        nxc = self.prefix / "bin/nxc"
        self.run(nxc, "run", "softmax.nxir", "--input", "x=x.npy", more=kernels, complaint=slow)
        os.rename(away, module)

    def everything(self):
        for part in (
            self.files,
            self.list_of_interface,
            self.headers,
            self.symbols,
            self.by_pkg_config,
            self.by_cmake,
            self.ocaml,
            self.command,
            self.without_module,
        ):
            part()
            print(f"{part.__name__}: good", flush=True)
