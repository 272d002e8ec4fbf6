"""Codes of class names."""

from __future__ import annotations

#: category code of a missing object; classes are numbered from 1
MISSING = 0


class ClassCodes(dict[str | None, int]):
    """Codes of class names, given in the order in which they are first asked for, from 1 (0 is *missing*)."""

    def __missing__(self, name: str | None) -> int:
        code = len(self) + 1
        self[name] = code
        return code

    def names(self) -> list[str]:
        """Name of every code, ``names()[0]`` for *missing*."""
        return ["(missing)", *("(no label)" if name is None else str(name) for name in self)]
