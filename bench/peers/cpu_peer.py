# SPDX-License-Identifier: ISC
"""The workloads of nx-bench in another library: cpu_peer.py numpy|scipy|numexpr|torch|compile|jax,
asked over a pipe (serve.py). The library has the vectors that nx has (NX_ISA), as many threads as
the variables for OpenMP say, and operands that are made before anything is timed."""

import importlib
import os
import sys

from serve import serve

if os.environ.get("NX_ISA") == "avx2":
    os.environ["ATEN_CPU_CAPABILITY"] = "avx2"
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    os.environ["MKL_ENABLE_INSTRUCTIONS"] = "AVX2"
    os.environ["NPY_DISABLE_CPU_FEATURES"] = "X86_V4 AVX512_ICL AVX512_SPR"
    os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX2 " + os.environ.get("XLA_FLAGS", "")

# What torch.compile makes is kept in the virtual environment: it takes seconds a row.
if sys.prefix != sys.base_prefix:
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(sys.prefix, "compiled"))

try:
    module = importlib.import_module(
        "with_" + {"compile": "torch"}.get(sys.argv[1], sys.argv[1])
    )
    library = module.Library(sys.argv[1])
except ImportError:
    sys.exit(1)


def setup(words):
    if words == ["hello"]:
        return lambda: None
    from operands import operand

    return library.setup(words[0], [operand(i, text) for i, text in enumerate(words[1:])])


serve(setup, library.wait)
