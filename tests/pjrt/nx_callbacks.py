# SPDX-License-Identifier: ISC
"""A plugin of pytest for JAX's own tests: what the wheel does for functions of Python in programs,
for the library that PJRT_NAMES_AND_LIBRARY_PATHS names."""

import os

import nx.callbacks

nx.callbacks.install(os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"].partition(":")[2])
