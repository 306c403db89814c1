# SPDX-License-Identifier: ISC
"""What somebody does who has only the wheel: an empty virtual environment, the wheel, and nothing
else of nx. A program in C is built against it, nxc runs, the program of docs/python.md does without
NumPy, and so does that of docs/jax.md, if pip finds JAX, and jax_programs.py.

Usage: from_wheel.py SOURCE_ROOT WHEEL SCRATCH. SCRATCH is emptied.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import consumer

# Which libraries a process has open that has multiplied matrices with code that it compiled, and
# has made an inverse.
PRODUCT = r"""
#include <nx/nx.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  static float data[300 * 300];
  nx_context *c;
  if (nx_context_create(NULL, &c) != NX_OK) return 1;
  nx_tensor *x = nx_from_data(c, 0, NX_F32, NX_SHAPE(300, 300), data, sizeof data);
  nx_tensor *y = nx_matmul(nx_exp(x), nx_exp(x));
  if (nx_read(y, data, sizeof data, NULL) != NX_OK || data[7] != 300) return 2;
  nx_tensor *inverse = nx_inv(nx_eye(c, 0, NX_F32, 64, 64, 0));
  if (nx_read(inverse, data, 64 * 64 * 4, NULL) != NX_OK || data[65] != 1) return 3;
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps))
    if (strstr(line, " 00000000 ") && strchr(line, '/')) fputs(strchr(line, '/'), stdout);
  return 0;
}
"""

# Nothing of the machine's own is to be found instead.
APART = {"NX_CACHE_DIR": "", "PYTHONPATH": "", "LD_LIBRARY_PATH": ""}


def c_program(source, scratch, python):
    """The first program of README.md, built against what pip installed."""
    where = consumer.run(python, "-c", "import nx; print(nx.include()); print(nx.library())")
    include, library = (Path(line) for line in where.split())

    def printed(name, text):
        (scratch / f"{name}.c").write_text(text)
        consumer.run("cc", scratch / f"{name}.c", f"-I{include}", f"-L{library.parent}", "-lnx",
                     f"-Wl,-rpath,{library.parent}", "-o", scratch / name)
        return consumer.run(scratch / name, more=APART)

    told = printed("first", consumer.fenced(source / "README.md", "c"))
    consumer.check(consumer.is_softmax(told), f"the first program prints {told}")
    opened = printed("product", PRODUCT).split()
    for name in "libnx-LLVM", "libopenblas":
        ours = [p for p in opened if name in p]
        consumer.check(ours and all(str(scratch) in p for p in ours), f"{name} is {ours}")
    told = consumer.run(scratch / "venv/bin/nxc", "info", more=APART)
    consumer.check("LLVM 1" in told, f"nxc info says:\n{told}")
    print("programs in C: good, with nothing but what is in the wheel")


def python_program(source, scratch, python):
    """The program of docs/python.md, where there is no NumPy."""
    (scratch / "arrays.py").write_text(consumer.fenced(source / "docs/python.md", "python"))
    told = consumer.run(python, scratch / "arrays.py", more=APART)
    consumer.check(float(told.split()[0]) < 0.2, f"the program printed:\n{told}")
    consumer.run(python, "-c", "import numpy", status=1, complaint="No module named")
    print(f"arrays of Python: {told}", end="")


def jax_program(source, scratch, python):
    """The program of docs/jax.md on the plugin, with JAX from PyPI, and a few beside JAX's own."""
    # Of what comes with it, most is never imported.
    asked = subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", "jax"])
    if asked.returncode:
        print("JAX cannot be installed here: its program is left out")
        return
    program = consumer.fenced(source / "docs/jax.md", "python")
    program += "jax.jit(lambda x: jax.debug.print('a callback with {}', x))(7)\n"
    (scratch / "first.py").write_text(program)
    told = consumer.run(python, scratch / "first.py", more=APART | {"JAX_PLATFORMS": "nx"})
    consumer.check("a callback with 7" in told, f"the program printed:\n{told}")
    print(told, end="")
    programs = source / "tests/install/jax_programs.py"
    print(consumer.run(python, programs, more=APART | {"JAX_PLATFORMS": "nx,cpu"}), end="")


def main(source, wheel, scratch):
    source, scratch = Path(source).resolve(), Path(scratch).resolve()
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    consumer.run(sys.executable, "-m", "venv", scratch / "venv")
    python = scratch / "venv/bin/python"
    consumer.run(python, "-m", "pip", "install", "--quiet", Path(wheel).resolve())
    os.chdir(scratch)
    c_program(source, scratch, python)
    python_program(source, scratch, python)
    jax_program(source, scratch, python)


if __name__ == "__main__":
    main(*sys.argv[1:])
