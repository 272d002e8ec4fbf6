"""Parsed values of a requirements file, each with its place, so that every mistake is told with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..settings.arguments import is_real, repeated, without_numpy
from ..settings.errors import AgreementInputError, did_you_mean, shown

T = TypeVar("T")

#: values within values, at most
DEEPEST = 12
_MOST_SHOWN = 60
#: mistakes that a message tells
_MOST_MISTAKES = 5


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was given."""

    value: Any  #: a text, a number, true, false, None, or a list or mapping of given values
    place: str  #: where it stands: ``requirements.yaml, line 7``
    text: str | None = None  #: how a scalar is written; YAML reads the class ``no`` as false

    @classmethod
    def of(cls, value: Any, place: str, depth: int = 0) -> Given:
        """Plain values of Python, which have no lines: a place is the way to them.

        Raises:
            AgreementInputError: if there are values within values that have no end
        """
        if depth > DEEPEST:
            raise AgreementInputError(f"{place} must have at most {DEEPEST} values within each other, got more")
        value = without_numpy(value)
        if isinstance(value, Mapping):
            found = {}
            for key, entry in value.items():
                if not isinstance(key, str):
                    raise AgreementInputError(f"{place} must have texts as keys, got {key!r}")
                found[key] = cls.of(entry, f"{place}[{key!r}]", depth + 1)
            return cls(found, place)
        if isinstance(value, list | tuple):
            return cls([cls.of(entry, place, depth + 1) for entry in value], place)
        return cls(value, place, value if isinstance(value, str) else None)

    def wrong(self, message: str) -> AgreementInputError:
        """An error on this value."""
        return AgreementInputError(f"{self.place}: {message}")

    def must_be(self, name: str, what: str) -> AgreementInputError:
        """The error for a value that is something else."""
        found = self.text if self.text is not None and not isinstance(self.value, str) else repr(self.plain())
        return self.wrong(f"`{name}` must be {what}, got {found[:_MOST_SHOWN]}{'…' * (len(found) > _MOST_SHOWN)}")

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: entry.plain() for key, entry in self.value.items()}
        return [entry.plain() for entry in self.value] if isinstance(self.value, list) else self.value

    def entries(self, name: str, known: Iterable[str] | None = None) -> dict[str, Given]:
        """The entries of a mapping.

        Args:
            name: what it is called in messages
            known: the keys that there are; None for any
        """
        if not isinstance(self.value, dict):
            raise self.must_be(name, "a mapping of keys to values")
        found: dict[str, Given] = self.value
        keys = None if known is None else list(known)
        for key, entry in found.items():
            if keys is not None and key not in keys:
                hint = did_you_mean(key, keys) or f"; the keys are {shown(keys, limit=30)}"
                raise entry.wrong(f"there is no key {key[:_MOST_SHOWN]!r} in {name}{hint}")
        return found


# ---- what a value must be ----


def text(name: str, given: Given) -> str:
    """A text; also one that YAML takes for something else."""
    found = given.value if isinstance(given.value, str) else given.text
    if not found or given.value is None or "\0" in found or found.encode(errors="ignore").decode() != found:
        raise given.must_be(name, "a text")
    return found


def texts(name: str, given: Given) -> tuple[str, ...]:
    """One text, or a list of texts."""
    entries = given.value if isinstance(given.value, list) else [given]
    found = tuple(text(name, entry) for entry in entries)
    if not found or repeated(found):
        raise given.must_be(name, "one or several different texts")
    return found


def real(name: str, given: Given) -> float:
    """A number."""
    if not is_real(given.value):
        raise given.must_be(name, "a number")
    return float(given.value)


def count(name: str, given: Given) -> int:
    """A whole number, not below 0."""
    if not is_real(given.value) or given.value != int(given.value) or given.value < 0:
        raise given.must_be(name, "a whole number of at least 0")
    return int(given.value)


def switch(name: str, given: Given) -> bool:
    """True or false."""
    if not isinstance(given.value, bool):
        raise given.must_be(name, "true or false")
    return given.value


def among(*allowed: str) -> Callable[[str, Given], str]:
    """One of some texts."""

    def check(name: str, given: Given) -> str:
        if given.value not in allowed:
            hint = did_you_mean(given.value, allowed)
            raise AgreementInputError(f"{given.must_be(name, 'one of ' + shown(allowed, limit=20))}{hint}")
        return str(given.value)

    return check


def several(*allowed: str) -> Callable[[str, Given], tuple[str, ...]]:
    """One or several of some texts."""
    check = among(*allowed)

    def check_all(name: str, given: Given) -> tuple[str, ...]:
        entries = given.value if isinstance(given.value, list) else [given]
        found = tuple(check(name, entry) for entry in entries)
        if not found or repeated(found):
            raise given.must_be(name, "one or several of " + shown(allowed, limit=60))
        return found

    return check_all


def all_or_mistakes(checks: Iterable[Callable[[], T]]) -> list[T]:
    """The results of some checks.

    Raises:
        AgreementInputError: with the mistakes that they find, if any
    """
    found: list[T] = []
    mistakes: list[str] = []
    for check in checks:
        try:
            found.append(check())
        except AgreementInputError as error:  # noqa: PERF203  every mistake is wanted
            mistakes.append(str(error))
    if mistakes:
        more = f" · … ({len(mistakes)} mistakes)" if len(mistakes) > _MOST_MISTAKES else ""
        raise AgreementInputError(" · ".join(mistakes[:_MOST_MISTAKES]) + more)
    return found
