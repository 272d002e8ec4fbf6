"""Which cases of a test ``make test`` runs: a few values of a parameter, a quarter or an eighth of the random cases.

``make test-long`` runs all the others, and ``make test ARGS=…`` whatever is named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

#: whether a quarter is enough; not where a test is asked for by its name
FEW = bool(os.environ.get("FEW_CASES"))


def few(values: Iterable[Any], n: int = 1) -> list[Any]:
    """Values of a parameter (tuples for several) of which the first ``n`` are enough for every change."""
    return [
        value if k < n else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
        for k, value in enumerate(values)
    ]


def seeds(n: int) -> list[Any]:
    """Values of a parameter, for random cases that differ only in their random numbers."""
    return few(range(n), max(2, n // 4))


def some_seeds(n: int) -> range:
    """Seeds of a loop within a test that is marked ``random``."""
    return range(min(n, max(2, n // 4)) if FEW else n)


def examples(n: int) -> settings:
    """Settings of hypothesis for so many examples, which are the same in every run."""
    return settings(max_examples=max(10, n // 8) if FEW else n, deadline=None, derandomize=True)
