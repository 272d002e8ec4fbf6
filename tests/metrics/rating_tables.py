"""Published tables of ratings (``tests/data/coefficients.json``), and random ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

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
