"""Errors that the user can fix."""

from __future__ import annotations

from collections.abc import Iterable


class AgreementInputError(ValueError):
    """Something in the request or in the dataset must be changed; the message says what, what was found, what to do."""


def shown(values: Iterable[object], limit: int = 5) -> str:
    """The first few values for a message: ``a, b, c, … (12 in all)``."""
    listed = [str(value) for value in values]
    text = ", ".join(listed[:limit])
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"
