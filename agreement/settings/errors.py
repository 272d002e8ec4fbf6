"""Error for input that the user can fix: its wording, suggestions of names, and text that no terminal misreads."""

from __future__ import annotations

import contextlib
import difflib
import logging
import re
from collections.abc import Iterable, Iterator

logger = logging.getLogger(__name__)

#: greatest length of a message
_MOST_BYTES = 2_000
#: a message that is too long loses its middle; this much of its end is kept, because it says what to do
_END_BYTES = 600
#: names of at most so many letters may differ more: one wrong letter is a large part of them
_FEW_LETTERS = 4
#: greatest length of one value in a list of values
_MOST_CHARACTERS = 200


#: characters that steer a terminal, break lines, or turn the direction of what is read
_STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: what CI systems read as commands: ``::error::`` at the beginning of a line, ``##[error]`` and ``##vso[`` anywhere
_COMMAND = re.compile(r"^[^\S\n]*:(?=:)|#(?=#\[|#vso\[)", re.MULTILINE)


def printable(text: str) -> str:
    """A text whose names cannot steer a terminal or a CI system: such characters are shown as their escapes."""
    shown = _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return _COMMAND.sub(lambda found: f"{found[0][:-1]}\\x{ord(found[0][-1]):x}", shown)


class AgreementInputError(ValueError):
    """Arguments or dataset cannot be used; the message says what is required, what was found, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(short_message(message))


@contextlib.contextmanager
def keeping_first_error(what: str) -> Iterator[None]:
    """Log errors of the block, not raise them: an earlier error, such as a lost database, must reach the user."""
    try:
        yield
    except Exception:
        logger.exception(what)


def short_message(message: str) -> str:
    """A message in one line of at most 2 kB: of a longer one the beginning and the end."""
    line = printable(" ".join(message.splitlines()))
    encoded = line.encode("utf-8", "backslashreplace")  # half of a pair of surrogates cannot be stored or printed
    if len(encoded) <= _MOST_BYTES:
        return encoded.decode()
    ellipsis = " … "
    first = encoded[: _MOST_BYTES - _END_BYTES - len(ellipsis.encode())]
    return f"{first.decode(errors='ignore')}{ellipsis}{encoded[-_END_BYTES:].decode(errors='ignore')}"


def shown(values: Iterable[object], limit: int = 5) -> str:
    """The first few values for a message: ``a, b, c, … (12 in all)``."""
    listed = [str(value) for value in values]
    text = ", ".join(value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]}…"
                     for value in listed[:limit])  # fmt: skip
    return text if len(listed) <= limit else f"{text}, … ({len(listed)} in all)"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """``; did you mean 'bob'?`` for a name that is close to a known one; else empty."""
    if not isinstance(name, str):
        return ""
    names = list(known)
    akin = [entry for entry in names if entry.rpartition(".")[2] == name or name.startswith(f"{entry}_")]
    alike = difflib.get_close_matches(name, names, n=1, cutoff=0.7 if len(name) > _FEW_LETTERS else 0.6)
    close = difflib.get_close_matches(name, alike, cutoff=0.9) or akin or alike
    return f"; did you mean {close[0]!r}?" if close else ""


def no_attribute(place: str, name: str, known: Iterable[str]) -> AttributeError:
    """The error of a misspelt attribute; the message, which notebooks and logs show, says which one is meant."""
    public = [each for each in known if not each.startswith("_")]
    return AttributeError(printable(f"{place} has no attribute {name!r}{did_you_mean(name, public)}"))
