"""Integer codes of classes and attribute values, and the names behind them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import numpy as np

from ...metrics.numeric.arrays import FloatArray, IntArray
from ..settings.errors import AgreementInputError

#: code of a value that was not given
NOT_GIVEN = 0
_LARGEST_INTEGER = 2**53


class AttributeCodes(dict[tuple[type, Any], int]):
    """Codes of the values of an attribute, in the order in which they first occur, from 1 (0 is *not given*).

    Values are texts, finite numbers, true and false; 1 and 1.0 are the same value, 1 and true are not. None and nan
    mean *not given*. The keys are (type, value), because true equals 1 in Python.
    """

    def __init__(self, name: str, known: Sequence[Any] = ()) -> None:
        super().__init__()
        self.name = name
        self._values: list[str | float | bool | None] = [None]
        for value in known[1:]:
            self[type(value), value]

    def of(self, values: Sequence[Any]) -> IntArray:
        """The codes of ``N`` values.

        Raises:
            AgreementInputError: if a value cannot be compared
        """
        try:
            codes = map(self.__getitem__, zip(map(type, values), values, strict=True))
            return np.fromiter(codes, np.int64, len(values))
        except TypeError as error:  # lists and dicts cannot be keys
            raise attribute_error(self.name) from error

    def __missing__(self, key: tuple[type, Any]) -> int:
        value = key[1]
        if value is None or value != value:
            return NOT_GIVEN
        if not (isinstance(value, str | bool) or (is_number(value) and math.isfinite(value))):
            raise attribute_error(self.name)
        if is_number(value) and abs(value) <= _LARGEST_INTEGER and value == int(value):
            value = int(value)
        known = (type(value), value)
        if known not in self:
            self[known] = len(self._values)
            self._values.append(value)
        self[key] = self[known]
        return self[key]

    def values_of_codes(self) -> list[str | float | bool | None]:
        """The value of every code, None for *not given*."""
        return list(self._values)

    def numbers(self) -> FloatArray:
        """The number of every code, nan if its value is not a number."""
        return np.array([float(value) if is_number(value) else math.nan for value in self._values])


def is_number(value: object) -> TypeGuard[float]:
    """True for a number; booleans are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def attribute_error(name: str) -> AgreementInputError:
    """The error for values that cannot be compared."""
    return AgreementInputError(
        f"Attributes must hold texts, finite numbers, or true and false to be compared, got other values in {name!r}; "
        "leave it out of `attributes`"
    )


#: class name of a label without a class
NO_LABEL = "(no label)"
#: name of the category of a missing object
_NOT_DRAWN = "(missing)"
#: category code of a missing object; classes are numbered from 1
MISSING = 0


def are_without_class(names: Sequence[str]) -> bool:
    """True if no label with one of these names of codes has a class."""
    return NO_LABEL in names and set(names) <= {NO_LABEL, _NOT_DRAWN}


class ClassCodes(dict[str | None, int]):
    """Codes of class names, in the order in which they are first looked up, from 1 (0 is *missing*).

    An alias has the code of the name that replaces it. The first codes are those of the names ``known``, which
    begin with that of *missing*.
    """

    def __init__(self, aliases: Mapping[str, str] | None = None, known: Sequence[str | None] = ()) -> None:
        super().__init__()
        self._meant: Mapping[Any, str] = aliases or {}
        self._names: list[str | None] = []
        for name in known[1:]:
            self[name]

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
        return _names_of(self._names)

    @property
    def n_codes(self) -> int:
        """Length of :meth:`names`."""
        return len(self._names) + 1

    def looked_up(self) -> tuple[str | None, ...]:
        """The class of every code from 1, None for labels without a class."""
        return tuple(self._names)


@dataclass(frozen=True, slots=True)
class CodeNames:
    """Meaning of the codes in records, from 1 on: classes, and values of compared attributes."""

    classes: tuple[str | None, ...] = ()
    attributes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def class_names(self) -> list[str]:
        """Name of every code of a class, the first for *missing*."""
        return _names_of(self.classes)

    def attribute_values(self) -> dict[str, list[Any]]:
        """The value of every code of an attribute, the first for *not given*."""
        return {name: [None, *values] for name, values in self.attributes.items()}

    def joined(self, others: Sequence[CodeNames] = (), first: IntArray | None = None) -> CodeNames:
        """These and other names in ascending order, whatever the order in which labels were read.

        Args:
            others: other names
            first: codes of the classes that come before the others; None: one order of all
        """
        every = (self, *others)
        before = set() if first is None else {self.classes[code - 1] for code in first.tolist()}
        classes = sorted({name: None for each in every for name in each.classes}, key=_place)
        values = {name: {_typed(v): v for each in every for v in each.attributes[name]} for name in self.attributes}
        return CodeNames(
            tuple(sorted(classes, key=lambda name: name not in before)),
            {name: tuple(sorted(found.values(), key=_place)) for name, found in values.items()},
        )

    def translated(self, names: CodeNames) -> tuple[IntArray, list[IntArray]] | None:
        """The code among other names of every class and attribute value; None if the names are equal."""
        if self == names:
            return None
        attributes = [
            _numbers_among(map(_typed, values), map(_typed, names.attributes[name]))
            for name, values in self.attributes.items()
        ]
        return _numbers_among(self.classes, names.classes), attributes


def _names_of(classes: Iterable[str | None]) -> list[str]:
    return [_NOT_DRAWN, *(NO_LABEL if name is None else str(name) for name in classes)]


def _place(value: object) -> tuple[bool, bool, float, str, str]:
    """Sort key of a value: numbers come before texts, None comes last."""
    of_number = float(value) if is_number(value) else 0.0
    return value is None, not is_number(value), of_number, str(value), type(value).__name__


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value


def _numbers_among(values: Iterable[Any], names: Iterable[Any]) -> IntArray:
    """0, which stands for no value, then the code of every value."""
    numbers = {name: code for code, name in enumerate(names, 1)}
    return np.array([0, *(numbers[value] for value in values)], np.int64)
