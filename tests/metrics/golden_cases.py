"""Published and recomputed cases of ``tests/data/golden.json`` as arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

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
