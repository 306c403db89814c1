# SPDX-License-Identifier: ISC
"""A plugin of pytest for JAX's own tests: what the wheel does for functions of Python in programs,
and for programs themselves, for the library that PJRT_NAMES_AND_LIBRARY_PATHS names."""

import os

import nx.callbacks
import nx.programs

_library = os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"].partition(":")[2]
nx.callbacks.install(_library)
nx.programs.install(_library)
