"""Compare reports as JSON values."""

from __future__ import annotations

import math
from typing import Any


def assert_same(found: Any, expected: Any, path: str = "", *, relative: float, absolute: float) -> None:
    """Equal but for rounding errors of floats."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for key, value in expected.items():
            assert_same(found[key], value, f"{path}.{key}", relative=relative, absolute=absolute)
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for k, value in enumerate(expected):
            assert_same(found[k], value, f"{path}[{k}]", relative=relative, absolute=absolute)
    elif isinstance(expected, float) and isinstance(found, float):
        assert math.isclose(found, expected, rel_tol=relative, abs_tol=absolute), (path, found, expected)
    else:
        assert found == expected, path
