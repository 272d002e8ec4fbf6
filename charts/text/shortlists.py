"""Shortlists of many annotators or pairs: those who clearly agree less or more; all scores in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agreement.evidence.ranking import (
    MIN_IMAGES,
    MIN_LABELS,
    ends_of_ranking,
    highest_first,
    least_first,
    most_first,
    supported,
)
from .sections import Column, Part, Section, table
from .words import documents, shown_at_least, shown_number

#: up to so many annotators, or pairs, all are listed
MOST_ANNOTATORS, MOST_PAIRS = 12, 10
#: of more, at most so many who agree least, and so many who agree most
AT_EACH_END = 3
#: the names of a pair
PAIR_NAMES = (Column("a", "a"), Column("b", "b"))
#: words for too little evidence to be ranked
NOT_ENOUGH = f"fewer than {MIN_LABELS} labels or {MIN_IMAGES} images"


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The annotators or pairs that are listed."""

    entries: list[Any]
    title: str
    rest: str = ""  #: sentence on the scores of all, if not all are listed


def shortlist_annotators(report: Any) -> Shortlist:
    """All annotators by name; of many those who agree least with the others, then those who agree most."""
    if len(report.annotators) <= MOST_ANNOTATORS:
        return Shortlist(list(report.annotators), "Annotators")
    return _ends(report.annotators, report.score.of_meetings, "Annotators", "annotators")


def annotators_by_evidence(report: Any) -> list[Any]:
    """The listed annotators, those who agree least first."""
    return least_first(shortlist_annotators(report).entries)


def shortlist_pairs(report: Any) -> Shortlist:
    """All pairs of annotators, those who agree most first; of many those who agree least, then those who agree most."""
    pairs: Sequence[Any] = report.pairs
    if len(pairs) > MOST_PAIRS:
        return _ends(pairs, report.score.of_meetings, "Pairs of annotators", "pairs")
    known = any(supported(pair) is not None for pair in pairs)
    best_first = ", best first" if known and len(pairs) > 1 else ""
    return Shortlist(highest_first(pairs, "score"), f"Pairs of annotators{best_first}")


def _ends(entries: Sequence[Any], whole: float | None, title: str, what: str) -> Shortlist:
    ends = ends_of_ranking(entries, AT_EACH_END, whole)
    said = [f"the {len(own)} who agree {how}" for own, how in ((ends.least, "least"), (ends.most, "most")) if own]
    title += f": of {len(entries):,} {' and '.join(said) if said else 'none agrees clearly less or more than all'}"
    return Shortlist([*ends.least, *ends.most], title, spread(entries, whole, what))


def spread(entries: Sequence[Any], whole: float | None, what: str) -> str:
    """Sentence on the distribution of many scores, and on how many cannot be ranked."""
    scores = [entry.score for entry in entries if entry.score is not None]
    if not scores:
        return ""
    low, middle, high = np.quantile(scores, [0.1, 0.5, 0.9]).tolist()
    n_few = sum(supported(entry) is None for entry in entries)
    ends = f"{shown_number(low, 2)} to {shown_number(high, 2)} for the middle 80 %"
    said = f"Score of all {len(scores):,} {what}: {ends}, half have {shown_at_least(middle, 2)} or more"
    few = f", but {n_few:,} with {NOT_ENOUGH} or without an interval" if n_few else ""
    mean = f"the mean over all meetings of two annotators ({shown_number(whole, 2)})"
    return f"{said}. Ranked by the end of the interval nearer to {mean}{few}."


def ranked_title(title: str, entries: Sequence[Any], number: str) -> str:
    """A title that says how entries are ranked, if any of them has enough evidence."""
    return f"{title}, least agreement first" if any(supported(entry, number) for entry in entries) else title


def shortlist_parts(columns: Sequence[Column], shown: Shortlist) -> list[Part]:
    """The entries as a table, if there are any, then the sentence on all scores."""
    parts: list[Part] = [table(columns, shown.entries)] if shown.entries or not shown.rest else []
    return [*parts, *([shown.rest] if shown.rest else [])]


def annotator_sections(
    report: Any, columns: Sequence[Column], note: str = "", more: Sequence[Part] = (), *, full: bool = False
) -> list[Section]:
    """The section on annotators.

    Args:
        columns: the columns of its table
        note: addition to its heading
        more: parts after the table
        full: all annotators, if the short section does not list them
    """
    if not full:
        shown = shortlist_annotators(report)
        parts = [*shortlist_parts(columns, shown), *more]
        return [Section(shown.title, parts, note, ("annotators",), key="annotators")]
    return _all("annotators", columns, report.annotators, MOST_ANNOTATORS)


def pair_sections(report: Any, columns: Sequence[Column], *, full: bool = False) -> list[Section]:
    """The section on pairs of annotators.

    Args:
        columns: the columns of its table, after the two names and the number of shared samples
        full: all pairs, if the short section does not list them
    """
    columns = [*PAIR_NAMES, Column(documents(report), "n_samples"), *columns]
    if not full:
        shown = shortlist_pairs(report)
        return [Section(shown.title, shortlist_parts(columns, shown), figures=("pairs",))]
    return _all("pairs of annotators", columns, most_first(report.pairs), MOST_PAIRS)


def _all(what: str, columns: Sequence[Column], entries: Sequence[Any], listed: int) -> list[Section]:
    return [Section(f"All {what}", [table(columns, entries)])] if len(entries) > listed else []
