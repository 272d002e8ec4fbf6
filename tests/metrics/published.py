"""Published and recomputed cases of ``tests/data`` as arrays, and random ratings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "golden.json").read_text())


def corners(box: Sequence[float], form: str = "xywh") -> list[float]:
    """``(x_min, y_min, x_max, y_max)`` of a box."""
    a, b, c, d = box
    return [a, b, a + c, b + d] if form == "xywh" else [a, b, c, d]


def fraction(text: str | None) -> float:
    """Value of an exact fraction, nan for None."""
    return float("nan") if text is None else float(Fraction(text))


def rating_table(table: Sequence[Sequence[str]], missing: str) -> np.ndarray:
    """Units by annotators from annotators by units; ``*`` is a category (0) or nan."""
    code = 0.0 if missing == "category" else float("nan")
    values = [[code if entry == "*" else float(entry) for entry in row] for row in table]
    return np.array(values, dtype=float).reshape(len(table), -1).T


PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "coefficients.json").read_text())
NAN = float("nan")


def published_ratings(name: str) -> np.ndarray:
    """A published table, units by annotators, nan where one did not rate."""
    case = PUBLISHED[name]
    if "ratings" in case:
        return np.array(case["ratings"], dtype=float)
    if "contingency" in case:  # how often two annotators gave each pair of categories
        counts = np.array(case["contingency"])
        return np.repeat(np.argwhere(counts >= 0), counts.ravel(), axis=0).astype(float)
    # how many annotators gave each category; who did is not published
    return np.array([np.repeat(np.arange(len(row)), row) for row in case["counts"]], dtype=float)


def random_ratings(seed: int, missing: float = 0.25) -> np.ndarray:
    """Ratings 1 … 5 with gaps, of annotators that lean to one side or the other."""
    rng = np.random.default_rng(seed)
    n_units, n_annotators = int(rng.integers(8, 30)), int(rng.integers(2, 6))
    truth = rng.choice([1, 2, 3, 5], size=(n_units, 1), p=[0.4, 0.3, 0.1, 0.2])
    table = np.clip(truth + rng.choice([-1, 0, 1], (n_units, n_annotators), p=[0.1, 0.6, 0.3]), 1, 5).astype(float)
    return np.where(rng.random(table.shape) < missing, NAN, table)


def tables(values: list[float]) -> st.SearchStrategy[np.ndarray]:
    """Small tables of these values and gaps."""
    entry = st.sampled_from([*values, NAN])
    return st.integers(2, 5).flatmap(
        lambda n: st.lists(st.lists(entry, min_size=n, max_size=n), min_size=1, max_size=8).map(np.array)
    )


def sparse(table: np.ndarray) -> np.ndarray:
    """The columns (unit, category, count) of a table of codes."""
    rows = [
        (unit, int(code), int((row == code).sum()))
        for unit, row in enumerate(table)
        for code in np.unique(row[~np.isnan(row)])
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3).T
