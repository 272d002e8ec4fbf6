"""The findings on objects: the main cause of disagreement, who or what is behind each cause, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...agreement.main_numbers import MEASURES
from ..advice import OF_TWO, apart, one_behind, talk_to, write_down
from ..words import listed, percent, shown_number, shown_share
from .bias import bias_in_words
from .causes import NOTHING, cause_sentence, losses
from .sentences import LOOSE, merge_effect, share_below

if TYPE_CHECKING:
    from ...agreement.objects.report import AnnotatorSummary, ObjectReport

#: causes with a smaller share of the disagreement are not explained
_MATTERS = 0.1
#: nothing is said of fewer misses, conflicts or pairs of labels
_ENOUGH = 10
#: a smaller share of missed small objects, and a smaller factor to large ones, is not mentioned
_NOTABLE, _WORSE = 0.05, 2.0
#: a smaller share of loose pairs of labels needs no advice
_MANY_LOOSE = 0.2


def object_findings(report: ObjectReport) -> list[str]:
    """The main cause, and for every cause that matters who or what is behind it."""
    lost = losses(report)
    found = [cause_sentence(report)]
    if lost is None or lost.total < NOTHING:
        return found
    explain: dict[str, Callable[[ObjectReport], str]] = {"missed": _missed, "classes": _confused, "places": _drawn}
    ordered = sorted(explain, key=lambda cause: -round(getattr(lost, cause), 9))
    found += [explain[cause](report) for cause in ordered if getattr(lost, cause) >= _MATTERS * lost.total]
    if len(report.annotators) == 2:
        found.append(OF_TWO)
    return [sentence for sentence in found if sentence]


def _missed(report: ObjectReport) -> str:
    """Who misses objects, or which."""
    advice = write_down("which objects count")
    if len(report.annotators) == 2:
        return _only_one_drew(report, advice)
    n = sum(entry.n_missed for entry in report.annotators)
    if n < _ENOUGH:
        return ""
    worst = max(report.annotators, key=lambda entry: (entry.n_missed, entry.name))
    if 2 * worst.n_missed > n:
        habit = size_habit(worst)
        said = f"{worst.name} has {worst.n_missed:,} of the {n:,} misses of objects that two others drew"
        return f"{said}{', and ' + habit if habit else ''}: {talk_to(worst.name)}."
    sizes = {entry.size: entry.miss_rate for entry in report.sizes}
    small, large = sizes.get("small"), sizes.get("large")
    if small is not None and large is not None and small > _WORSE * large:
        shares = f"{shown_share(small)} of small objects are missed, {shown_share(large)} of large ones"
        return f"{shares}: {advice}."
    return f"Nobody has most of the {n:,} misses of objects that two others drew: {advice}."


def _only_one_drew(report: ObjectReport, advice: str) -> str:
    """What only one of two annotators drew."""
    first, second = report.annotators
    if first.verdicts.get("lone", 0) + second.verdicts.get("lone", 0) < _ENOUGH:
        return ""
    alone = [
        f"{entry.verdicts.get('lone', 0):,} of the {sum(entry.verdicts.values()):,} labels of {entry.name} "
        f"({percent(entry.verdicts.get('lone', 0), sum(entry.verdicts.values()))})"
        for entry in (first, second)
    ]
    shares = {entry.size: entry.n_lone / entry.n_units for entry in report.sizes if entry.n_units}
    small, large = shares.get("small"), shares.get("large")
    sizes = ""
    if small is not None and large is not None and small > _WORSE * large:
        sizes = f"; of small objects only one drew {shown_share(small)}, of large ones {shown_share(large)}"
    return f"Nobody else drew {listed(alone)}{sizes}: {advice}."


def size_habit(entry: AnnotatorSummary) -> str:
    """``misses 63.2 % of small objects, 4.5 % of large ones``; empty if sizes make no clear difference."""
    small, large = (entry.miss_rate_by_size.get(size) for size in ("small", "large"))
    interval = entry.intervals.get("miss_rate_by_size.small")
    is_clear = interval is None or interval.low is None or (large is not None and interval.low > large)
    if small is None or large is None or small < _NOTABLE or small <= _WORSE * large or not is_clear:
        return ""
    return f"misses {shown_share(small)} of small objects, {shown_share(large)} of large ones"


def _confused(report: ObjectReport) -> str:
    """Who confuses classes, or which are confused."""
    conflicts = [
        (pair.a, pair.b, round(pair.n_matched * (1.0 - (pair.class_agreement or 0.0)))) for pair in report.pairs
    ]
    behind = one_behind(conflicts)
    first = next(iter(report.class_given_match.confusion), None)
    which = f", most often {first['a']!r} against {first['b']!r}" if first else ""
    if behind is not None:
        name, n, total = behind
        count = f"all {total:,}" if n == total else f"{n:,} of the {total:,}"
        return f"{name} takes part in {count} class conflicts of two annotators{which}: {talk_to(name)}."
    total = sum(entry["n"] for entry in report.class_given_match.confusion) + report.class_given_match.n_unlisted
    if first is None or total < _ENOUGH:
        return ""
    effect = merge_effect(report, {first["a"], first["b"]})
    said = f"{first['a']!r} and {first['b']!r} are {first['n']:,} of the {total:,} class conflicts of two annotators"
    return f"{said}{effect}: {write_down('how to tell them apart')}."


def _drawn(report: ObjectReport) -> str:
    """Who draws otherwise, or how many labels overlap little."""
    local = report.localisation
    other = apart(report.pairs, lambda pair: pair.mean_iou, lambda pair: float(pair.n_matched))
    if other is not None:
        bias = next((bias_in_words(entry.bias, 1) for entry in report.annotators if entry.name == other.name), "")
        habit = f", as {other.name} draws {bias}" if any(map(str.isdigit, bias)) else ""
        return (
            f"Labels of {other.name} overlap less with the others' (mean {local.measure} "
            f"{shown_number(other.with_them)}) than these do among themselves ({shown_number(other.without)}){habit}: "
            f"{talk_to(other.name)}."
        )
    loose = share_below(local.iou_histogram, LOOSE)
    if loose is None or loose <= _MANY_LOOSE or local.n_pairs < _ENOUGH:
        return ""
    advice = write_down(MEASURES[local.measure].where)
    share = f"{shown_share(loose)} of the pairs of labels of one object"
    return f"{share} overlap by less than {LOOSE:g} ({local.measure}): {advice}."
