# SPDX-License-Identifier: ISC
"""A plugin of pytest for JAX's own tests: their cases and their numbers are drawn with the seed
JAX_TEST_SEED, in place of those that JAX always draws."""

import functools
import os
import sys
import zlib


def _draw(seed):
    import numpy as np
    from jax._src import test_util

    @functools.cache
    def choose(n, m):
        return np.random.RandomState(seed).choice(n, size=m, replace=False)

    def set_up(self, original=test_util.JaxTestCase.setUp):
        original(self)
        name = f"{seed} {self._testMethodName}"
        self._rng = np.random.RandomState(zlib.adler32(name.encode()))

    test_util._choice = choose
    test_util.JaxTestCase.setUp = set_up


def pytest_collection():
    if os.environ.get("JAX_TEST_SEED"):
        _draw(int(os.environ["JAX_TEST_SEED"]))


def pytest_runtest_call():
    """JAX's tests read the streams that were there when their helpers were imported."""
    from jax._src import test_util

    for name in "stdout", "stderr":
        helper = functools.partial(test_util._capture_output, getattr(sys, name))
        setattr(test_util, f"capture_{name}", helper)
