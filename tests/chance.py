"""How many random cases a test draws: all of them in ``make test-long``, a quarter in ``make test``, ``make quick``."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

#: whether a quarter is enough; not where a test is asked for by its name
FEW = bool(os.environ.get("FEW_CASES"))


def _few(n: int) -> int:
    return min(n, max(2, n // 4))


def seeds(n: int) -> list[Any]:
    """Values of a parameter, for random cases that differ only in their random numbers."""
    return [k if k < _few(n) else pytest.param(k, marks=pytest.mark.long) for k in range(n)]


def some_seeds(n: int) -> range:
    """Seeds of a loop within a test that is marked ``random``."""
    return range(_few(n) if FEW else n)


def examples(n: int) -> settings:
    """Settings of hypothesis for so many examples, which are the same in every run."""
    return settings(max_examples=max(10, n // 4) if FEW else n, deadline=None, derandomize=True)
