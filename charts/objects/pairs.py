"""What the report says on pairs of annotators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..pairs import best_and_worst
from ..sections import Section, Table
from ..tables import documents, shown_interval, shown_number

if TYPE_CHECKING:
    from ...agreement.objects.report import ObjectReport
    from ...agreement.objects.summaries import PairSummary

_ALIGNMENT = {"n_aligned": "aligned", "recall": "recall", "precision": "precision", "f_score": "F"}


def pairs_section(report: ObjectReport) -> Section:
    """The main numbers of pairs."""
    shown_pairs, title = best_and_worst(report.pairs)
    columns: dict[str, Callable[[PairSummary], object]] = {
        "a": lambda pair: pair.a,
        "b": lambda pair: pair.b,
        documents(report): lambda pair: pair.n_samples,
        "score": lambda pair: shown_number(pair.score),
        "alpha": lambda pair: shown_interval(pair.alpha, pair.intervals.get("alpha")),
        "F1": lambda pair: shown_number(pair.f1),
        "same class": lambda pair: shown_number(pair.class_agreement),
        f"mean {report.localisation.measure}": lambda pair: shown_number(pair.mean_iou),
        **{title: _shown_attribute(name) for title, name in extra_columns(report).items()},
        "matched objects": lambda pair: f"{pair.n_matched} of {pair.n_a} / {pair.n_b}",
    }
    return Section(title, [_table(columns, shown_pairs)], ("pairs",))


def pair_details(report: ObjectReport) -> list[Section]:
    """Everything on pairs."""
    shown_pairs, _ = best_and_worst(report.pairs)
    columns: dict[str, Callable[[PairSummary], object]] = {
        "a": lambda pair: pair.a,
        "b": lambda pair: pair.b,
        "score": lambda pair: shown_interval(pair.score, pair.intervals.get("score")),
        "F1": lambda pair: shown_interval(pair.f1, pair.intervals.get("f1")),
        "Jaccard": lambda pair: shown_number(pair.jaccard),
        "kappa": lambda pair: shown_interval(pair.kappa, pair.intervals.get("kappa")),
        "AC1": lambda pair: shown_number(pair.ac1),
        "PQ": lambda pair: shown_number(pair.pq),
        "SQ": lambda pair: shown_number(pair.sq),
        "RQ": lambda pair: shown_number(pair.rq),
    }
    if report.localisation.measure != "OKS":
        columns["mean Dice"] = lambda pair: shown_number(pair.mean_dice)
    best = f"mean best {report.localisation.measure}"
    columns[best] = lambda pair: _sample_mean(pair, "symmetric")
    columns["most frequent conflict"] = _conflict
    if any(pair.intra for pair in report.pairs):
        columns["one person"] = lambda pair: "yes" if pair.intra else ""
    text = "PQ is the panoptic quality of all objects together, SQ times RQ; kappa and AC1 are over shared objects."
    tables = [_table(columns, shown_pairs)]
    aligned = [pair for pair in shown_pairs if pair.alignment is not None]
    if aligned:
        rows = [[pair.a, pair.b, *(_alignment_entry(pair.alignment, key) for key in _ALIGNMENT)] for pair in aligned]
        tables.append(Table(["a", "b", *_ALIGNMENT.values()], rows, "Alignment (b as if a were right)"))
    return [Section("Pairs in detail", [*tables, text])]


def extra_columns(report: ObjectReport) -> dict[str, str]:
    """Titles of the columns on pairs that only some labels have, with the attribute of the pair."""
    columns = {}
    if report.localisation.measure == "OKS":
        columns["visibility"] = "visibility"
    if report.track_consistency is not None:
        columns["tracks kept"] = "track_consistency"
    return columns


def _table(columns: dict[str, Callable[[PairSummary], object]], pairs: list[PairSummary]) -> Table:
    return Table(list(columns), [[column(pair) for column in columns.values()] for pair in pairs])


def _shown_attribute(name: str) -> Callable[[PairSummary], str]:
    return lambda pair: shown_number(getattr(pair, name))


def _sample_mean(pair: PairSummary, direction: str) -> str:
    found = pair.mean_max_iou.get(direction)
    return shown_number(found.mean if found is not None else None)


def _conflict(pair: PairSummary) -> str:
    if not pair.confusion:
        return "-"
    first = pair.confusion[0]
    return f"{first['a']} / {first['b']} ({first['n']})"


def _alignment_entry(alignment: dict[str, float | int | None] | None, key: str) -> str:
    value = (alignment or {}).get(key)
    return str(value) if isinstance(value, int) else shown_number(value)
