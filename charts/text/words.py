"""Text for numbers, intervals, shares, counts, names and paths; and words that depend on a report."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...agreement.settings.errors import printable

if TYPE_CHECKING:
    from ...agreement.statistics.report import AgreementReport, Interval

#: text for an undefined number
UNDEFINED = "-"
#: characters of a name next to an axis
_NAME_LENGTH = 24
#: titles of the verdicts of labels
VERDICTS = {
    "agreed": "agreed",
    "class_conflict": "class conflict",
    "attribute_conflict": "attribute conflict",
    "missed": "missed",
    "lone": "lone",
    "split": "split",
    "duplicate": "duplicate",
}


def shown_number(value: float | None, digits: int = 3) -> str:
    """A number as text; ``-`` if undefined."""
    if value is None:
        return UNDEFINED
    shown = f"{value:.{digits}f}"
    # avoid -0.000
    return shown.removeprefix("-") if float(shown) == 0.0 else shown


def shown_at_least(value: float, digits: int = 3) -> str:
    """A number of which *or more* is said, so that it is rounded down."""
    return shown_number(math.floor(round(value * 10**digits, 6)) / 10**digits, digits)


def signed(value: float | None, digits: int = 3) -> str:
    """A difference, with its sign."""
    shown = shown_number(value, digits)
    return f"+{shown}" if value is not None and value > 0 and float(shown) else shown


def shown_share(share: float | None) -> str:
    """A share in per cent; ``-`` if undefined."""
    return UNDEFINED if share is None else f"{100.0 * share:.1f} %"


def percent(part: float, whole: float) -> str:
    """A part of a whole in per cent; ``-`` if the whole is 0."""
    return shown_share(part / whole if whole else None)


def ends_of(interval: Interval | None, show: Callable[[float | None], str] = shown_number) -> str:
    """The ends of an interval: ``[0.603, 0.691]``; empty without an interval."""
    return "" if interval is None else f"[{show(interval.low)}, {show(interval.high)}]"


def shown_interval(
    value: float | None, interval: Interval | None, show: Callable[[float | None], str] = shown_number
) -> str:
    """A number and its interval: ``0.647 [0.603, 0.691]``; only the number without an interval."""
    ends = ends_of(interval, show) if value is not None else ""
    return f"{show(value)} {ends}".rstrip()


def counted(n: int, one: str, many: str | None = None) -> str:
    """A count with its noun: ``1 sample``, ``2 samples``, ``1,234 samples``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


#: the number 1 with a plural
_ONE = re.compile(r"(?<![\d.,])1 (sample|image|frame|pixel|label|object|mask|video|pair|tag|comparison|annotator)s\b")


def singular(text: str) -> str:
    """A text with singulars after the number 1: ``1 sample`` for ``1 samples``."""
    return _ONE.sub(r"1 \1", text)


def capitalised(text: str) -> str:
    """A text with a capital at its beginning, the rest unchanged."""
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def most_frequent(conflicts: Sequence[Mapping[str, Any]], told: str = "{a} and {b} ({n})") -> str:
    """The first of ``{a, b, n}`` as ``cat and dog (3)``; ``-`` without any."""
    return told.format(**conflicts[0]) if conflicts else UNDEFINED


def the_others(report: Any) -> str:
    """Word for the annotators with whom one is compared."""
    return "the other" if len(report.annotators) == 2 else "the others"


def other_class(report: Any) -> str:
    """Note on the labels of which the share of other classes, or ratings, is counted."""
    what = "class" if getattr(report, "level", "nominal") == "nominal" else "rating"
    if len(report.annotators) == 2:
        return f"Other {what}: labels that the other annotator named otherwise."
    return (
        f"Other {what}: labels that most of the others, at least two, named otherwise (sentences above count pairs of "
        "labels); what is not named there may be chance."
    )


def documents(report: AgreementReport) -> str:
    """Word for the samples of a report, in the plural."""
    return "samples" if report.run.n_videos is None else "frames"


def drawn_things(report: AgreementReport) -> str:
    """Word for what intervals and tests take as one draw, in the plural: whole videos or groups, else samples."""
    if report.run.n_videos is not None:
        return "videos"
    return "samples" if report.run.n_groups is None else "groups"


#: sentence on annotators who share no sample with labels
NOT_COMPARED = "No two annotators have labels to compare, so nothing can be said of how far they agree."


def all_agree(report: Any, said: str) -> str:
    """On how many samples all agree, as a clause: ``all gave the same tags on 3 of 4 samples (75 %)``.

    Args:
        said: what all do there: ``gave the same tags``
    """
    n_agreed, n_rated = report.n_rated - report.n_disputed, counted(report.n_rated, documents(report)[:-1])
    return f"all {said} on {n_agreed:,} of {n_rated} ({percent(n_agreed, report.n_rated)})"


def end_of_path(path: str | None, length: int = 48) -> str:
    """A path, shortened to its end if it is long."""
    text = path or UNDEFINED
    return text if len(text) <= length else "…" + text[-length + 1 :]


def file_name(path: object) -> str | None:
    """The name of a file without its folders; None if it is no text."""
    return re.split(r"[/\\]", path)[-1] if isinstance(path, str) else None


def one_line(text: object) -> str:
    """A text without line breaks, and without characters that control a terminal."""
    return printable(" ".join(str(text).splitlines()))


def shortened(name: str, length: int = _NAME_LENGTH) -> str:
    """A name that fits next to an axis: its start and its end, because classes often differ only in one of the two."""
    if len(name) <= length:
        return name
    n_last = (length - 1) // 2
    return f"{name[: length - 1 - n_last].rstrip()}…{name[-n_last:].lstrip()}"
