"""Values that no argument expects, from Python and as JSON; texts that look like code, paths or formulas."""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import fiftyone as fo
import numpy as np
import pandas as pd
from bson import Int64, ObjectId

_LONG = "a" * 300_000

#: texts that could be taken for something else, by the database, a shell, a browser, a spreadsheet or a file system
TEXTS = (
    *(
        "",
        " ",
        "\n",
        "\t",
        "\x00",
        "a\x00b",
        "\r\nx",
        "'; DROP TABLE",
        "<script>alert(1)</script>",
        "![x](http://h/x.png)",
    ),
    *("$where", "$$ROOT", "a.b", "..", "../../x", "/", "~nobody/x", "C:\\x", "%s", "{0}", "{x.__class__}", "__class__"),
    *("None", "nan", "auto", "alice", "agreement", "_id", "id", "tags", "frames.x", "=1+1", "+1", "-1", "@x", "[a](b)"),
    *("🙂", "é" * 500, "\u202eabc", "\ufeff", "a" * 300, _LONG, "١", "ſ"),
)
_NUMBERS = (0, 1, -1, 3, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.5, -0.5, 1e-320, 1e308, 1.5, 51.0)


def json_values(random: Random) -> Any:
    """A value that a form, or a caller by JSON, can give."""
    simple: list[Any] = [None, True, False, *_NUMBERS[:-2], *TEXTS]
    kind = random.randrange(5)
    if kind == 0:
        return [random.choice(simple) for _ in range(random.randrange(4))]
    if kind == 1:
        return {random.choice(TEXTS): random.choice(simple) for _ in range(random.randrange(3))}
    if kind == 2:
        return [[random.choice(simple)], {"a": random.choice(simple)}]
    return random.choice(simple)


def _endless() -> list[Any]:
    """A list that contains itself."""
    values: list[Any] = []
    values.append(values)
    return values


def _numbers() -> Iterator[int]:
    """A generator."""
    yield from range(3)


#: what only Python can give; made anew every time
_OF_PYTHON: Sequence[Callable[[], Any]] = (
    *(lambda: float("nan"), lambda: float("inf"), lambda: -float("inf"), lambda: 1j, lambda: ..., lambda: b"bytes"),
    *(object, set, _endless, _numbers, lambda: {1, 2}, lambda: range(3), lambda: int, lambda: Exception),
    *(lambda: "\udcff", lambda: ["\udcff"], lambda: {"\udcff": "\udcff"}, lambda: {None: None, 1: 2, "a": ()}),
    *(
        lambda: np.array([]),
        lambda: np.arange(3),
        lambda: np.zeros((2, 2)),
        lambda: np.float64("nan"),
        lambda: slice(3),
    ),
    *(lambda: np.array("x"), lambda: np.array([object()]), lambda: np.array(["alice", "bob"]), lambda: np.bool_(True)),
    *(lambda: np.datetime64("2026-01-01"), lambda: np.longdouble(1), lambda: np.zeros(2, [("a", int), ("b", object)])),
    *(lambda: pd.Series([1, 2]), lambda: pd.DataFrame({"score": [1]}), lambda: pd.NA, lambda: pd.NaT),
    *(lambda: pd.Index(["a"]), lambda: np.int8(3), lambda: decimal.Decimal("0.5"), lambda: fractions.Fraction(1, 3)),
    *(ObjectId, lambda: Int64(2), lambda: Path("x\x00"), lambda: datetime.datetime(2026, 1, 1)),
    *(lambda: fo.ViewField("x") == "y", lambda: fo.Detection(label="x"), lambda: fo.Sample("x.jpg")),
    *(lambda: memoryview(b"x"), lambda: bytearray(b"x"), lambda: [b"x"], lambda: (None,), lambda: [[]], lambda: [{}]),
)


def any_value(random: Random) -> Any:
    """A value that a caller from Python can give."""
    return json_values(random) if random.random() < 0.5 else random.choice(_OF_PYTHON)()
