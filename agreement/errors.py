"""Errors that the user can fix."""

from __future__ import annotations

from collections.abc import Iterable


class AgreementInputError(ValueError):
    """Arguments or dataset cannot be used; the message says what is required, what was found, and what to do."""


def shown(values: Iterable[object], limit: int = 5) -> str:
    """The first few values for a message: ``a, b, c, … (12 in all)``."""
    listed = [str(value) for value in values]
    text = ", ".join(listed[:limit])
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"
