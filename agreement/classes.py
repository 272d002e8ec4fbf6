"""Codes of class names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: category code of a missing object; classes are numbered from 1
MISSING = 0


class ClassCodes(dict[str | None, int]):
    """Codes of class names, given in the order in which they are first asked for, from 1 (0 is *missing*).

    An alias has the code of the name that it stands for.
    """

    def __init__(self, aliases: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._meant: Mapping[Any, str] = aliases or {}
        self._names: list[str | None] = []

    def __missing__(self, name: str | None) -> int:
        if name in self._meant:
            code = self[self._meant[name]]
        else:
            self._names.append(name)
            code = len(self._names)
        self[name] = code
        return code

    def names(self) -> list[str]:
        """Name of every code, ``names()[0]`` for *missing*."""
        return ["(missing)", *("(no label)" if name is None else str(name) for name in self._names)]

    @property
    def n_codes(self) -> int:
        """Length of :meth:`names`."""
        return len(self._names) + 1
