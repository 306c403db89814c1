# SPDX-License-Identifier: ISC
"""NumPy's settings of what happens where a result overflows or is no number: nothing, here."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

__all__ = ["errstate", "geterr", "seterr"]

_KINDS = ("divide", "over", "under", "invalid")


def geterr() -> dict[str, str]:
    """What happens on a division by 0, an overflow, an underflow, and where there is no result."""
    return dict.fromkeys(_KINDS, "ignore")


def seterr(all: str | None = None, divide: str | None = None, over: str | None = None,
           under: str | None = None, invalid: str | None = None) -> dict[str, str]:
    """geterr. "ignore" and "warn" may be asked for: results are the same, and nothing warns. What
    would have to raise or call is refused: operations are computed later, several at once."""
    for kind, wanted in zip(("all", *_KINDS), (all, divide, over, under, invalid)):
        if wanted not in (None, "ignore", "warn"):
            raise ValueError(f"seterr: {kind}={wanted!r} is not done here; ask with nx.isfinite")
    return geterr()


class errstate(ContextDecorator):
    """seterr for the time of a with statement, or of a function."""

    def __init__(self, **words: Any) -> None:
        seterr(**words)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *reason: Any) -> None:
        return None
