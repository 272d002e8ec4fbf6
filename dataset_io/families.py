"""The families of label types, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .family import Family
from .objects import ObjectFamily
from .source import Source

FAMILIES: dict[str, Callable[[Source], Family[Any, Any, Any]]] = {"objects": ObjectFamily}
