"""How many random cases a test draws: all in the whole suite, a quarter of them in ``make quick``."""

from __future__ import annotations

import os

from hypothesis import settings

QUICK = bool(os.environ.get("QUICK_TESTS"))


def seeds(n: int) -> range:
    """Seeds of random cases that differ only in their random numbers."""
    return range(min(n, max(2, n // 4)) if QUICK else n)


def examples(n: int) -> settings:
    """Settings of hypothesis for so many examples, which are the same in every run."""
    return settings(max_examples=max(10, n // 4) if QUICK else n, deadline=None, derandomize=True)
