"""The findings on objects: the main cause of disagreement, who or what stands out by test, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...agreement.evidence.hypotheses import KINDS, by_subject
from ...agreement.evidence.ranking import MIN_IMAGES, MIN_LABELS
from ...agreement.main_numbers import MEASURES
from ..sections import Section
from ..shortlists import OF_TWO, talk_to, write_down
from ..tables import Column, table
from ..words import counted, listed, shown_number, shown_share
from .causes import NOTHING, cause_sentence, losses
from .sentences import merge_effect

if TYPE_CHECKING:
    from ...agreement.evidence.hypotheses import Finding
    from ...agreement.objects.report import ObjectReport

#: so many annotators (classes, sizes, pairs) are named, each with so many findings
_MOST, _OF_EACH = 5, 2
#: what is counted, by kind
_MEANING = {kind.name: kind.meaning for kind in KINDS}


def object_findings(report: ObjectReport) -> list[str]:
    """The main cause; who and what stands out, the greatest difference first; else what the guideline should say."""
    lost = losses(report)
    found = [cause_sentence(report)]
    if lost is None or lost.total < NOTHING:
        return found
    groups = list(by_subject(report.findings, _MOST))
    found += [_sentence(group[:_OF_EACH], report) for group in groups]
    n_more = len({tuple(each.annotators) for each in report.findings if each.annotators}) - sum(
        bool(group[0].annotators) for group in groups
    )
    if n_more > 0:
        found.append(f"{counted(n_more, 'more annotator')} or pairs stand out, with smaller differences.")
    if not groups:
        found.append(f"{_nobody(report)}: {_of_cause(report)}.")
    if len(report.annotators) == 2:
        found.append(OF_TWO)
    return found


def _nobody(report: ObjectReport) -> str:
    if not report.n_tested:
        return (
            f"There are too few labels to say who or what stands out ({MIN_LABELS} on {MIN_IMAGES} images are needed)"
        )
    return f"No annotator, class or size stands out beyond chance ({counted(report.n_tested, 'comparison')})"


def _of_cause(report: ObjectReport) -> str:
    """What the guideline should say about the main cause."""
    lost = losses(report)
    assert lost is not None
    advice = {
        "which objects count": lost.missed,
        "how to tell classes apart": lost.classes,
        MEASURES[report.localisation.measure].where: lost.places,
    }
    return write_down(max(advice, key=lambda text: round(advice[text], 9)))


def _sentence(group: Sequence[Finding], report: ObjectReport) -> str:
    """The findings on one annotator, pair, class or size, and what to do."""
    said = "; ".join(_SAID[finding.kind](finding, report) for finding in group)
    first = group[0]
    who = listed(first.annotators)
    if first.kind == "close":
        return f"{who} {said}: look at what they share."
    if who:
        return f"{who} {said}: {talk_to(who)}."
    return f"{said}: {write_down(_RULES[first.kind].format(listed([repr(name) for name in first.classes])))}."


#: what the guideline should say of a class or size
_RULES = {
    "class_missed": "which {} count",
    "class_conflicts": "how to tell {} apart from others",
    "confused": "how to tell {} apart",
    "size_missed": "which objects count",
}


def _against(finding: Finding, others: str = "the others") -> str:
    """What it is compared with: ``(the others 4.5 %, +58.7 points [50.1, 67.3])``."""
    ends = f"[{100.0 * finding.low:.1f}, {100.0 * finding.high:.1f}]"
    return f"({others} {shown_share(finding.others)}, {100.0 * finding.difference:+.1f} points {ends})"


def _misses(finding: Finding, report: ObjectReport) -> str:
    what = f"{finding.size} objects" if finding.size else "what two others drew"
    if finding.classes:
        what = f"objects {finding.classes[0]!r}"
    return f"misses {shown_share(finding.value)} of {what} {_against(finding)}"


def _conflicts(finding: Finding, report: ObjectReport) -> str:
    said = f"gives another class in {shown_share(finding.value)} of comparisons {_against(finding, 'others')}"
    entry = next(each for each in report.annotators if each.name == finding.annotators[0])
    first = entry.class_conflicts[0] if entry.class_conflicts else None
    if first is None or 2 * first["n"] < MIN_LABELS:
        return said
    return f"{said}, most often {first['a']!r} where others say {first['b']!r}"


def _loose(finding: Finding, report: ObjectReport) -> str:
    ends = f"[{shown_number(-finding.high)}, {shown_number(-finding.low)}]"
    return (
        f"draws otherwise: mean {report.localisation.measure} {shown_number(1.0 - finding.value)} with the others "
        f"(these {shown_number(1.0 - finding.others)}, {-finding.difference:+.3f} {ends})"
    )


def _boxes(more: str, less: str) -> Callable[[Finding, ObjectReport], str]:
    def said(finding: Finding, report: ObjectReport) -> str:
        low, high = sorted((abs(finding.low), abs(finding.high)))
        ends = f"[{100.0 * low:.0f}, {100.0 * high:.0f}]"
        return f"draws boxes {100.0 * abs(finding.difference):.0f} % {more if finding.difference > 0 else less} {ends}"

    return said


def _close(finding: Finding, report: ObjectReport) -> str:
    ends = f"{finding.difference:+.3f} [{finding.low:.3f}, {finding.high:.3f}]"
    return (
        f"agree more with each other (score {shown_number(finding.value)}) than with the others "
        f"({shown_number(finding.others)}, {ends})"
    )


def _of_class(finding: Finding, report: ObjectReport) -> str:
    name, against = finding.classes[0], _against(finding, "other classes")
    if finding.kind == "class_conflicts":
        return f"{name!r} gets another class in {shown_share(finding.value)} of comparisons {against}"
    what = "Of {!r} {} is missed {}" if len(report.annotators) > 2 else "Of {!r} only one drew {} {}"
    return what.format(name, shown_share(finding.value), against)


def _confused(finding: Finding, report: ObjectReport) -> str:
    first, second = finding.classes
    share, effect = shown_share(finding.value), merge_effect(report, {first, second})
    return f"{first!r} and {second!r} are {share} of the class conflicts {_against(finding, 'by chance')}{effect}"


def _of_size(finding: Finding, report: ObjectReport) -> str:
    what = "is missed" if len(report.annotators) > 2 else "only one drew"
    share = shown_share(finding.value)
    said = f"{share} {what}" if len(report.annotators) > 2 else f"{what} {share}"
    return f"Of {finding.size} objects {said} {_against(finding, 'of other sizes')}"


_SAID: dict[str, Callable[[Finding, ObjectReport], str]] = {
    **dict.fromkeys(("misses", "misses_size", "misses_class"), _misses),
    "lone": lambda finding, report: f"drew {shown_share(finding.value)} of their labels alone {_against(finding)}",
    "conflicts": _conflicts,
    "loose": _loose,
    "twice": lambda finding, report: f"drew {shown_share(finding.value)} of their labels twice {_against(finding)}",
    "box_size": _boxes("larger", "smaller"),
    "box_right": _boxes("further right", "further left"),
    "box_down": _boxes("lower", "higher"),
    **dict.fromkeys(("class_missed", "class_conflicts"), _of_class),
    "confused": _confused,
    "size_missed": _of_size,
    "close": _close,
}


def all_findings(report: ObjectReport) -> list[Section]:
    """Everything that stands out, with the tests behind it."""
    if not report.findings:
        return []
    columns = [
        Column("who or what", lambda each: ", ".join([*each.annotators, *each.classes, *filter(None, [each.size])])),
        Column("what", lambda each: each.kind.replace("_", " ")),
        *(Column(title, name, shown_number) for name, title in (("value", "value"), ("others", "others"))),
        Column("difference", lambda each: f"{each.difference:+.3f} [{each.low:.3f}, {each.high:.3f}]"),
        Column("p", lambda each: f"{each.p_value:.2g}"),
        *(Column("of", "n_labels"), Column("images", "n_images")),
    ]
    meaning = [
        f"{name.replace('_', ' ')}: {_MEANING[name]}." for name in dict.fromkeys(f.kind for f in report.findings)
    ]
    title = f"Findings: {len(report.findings):,} of {report.n_tested:,} comparisons, at a false discovery rate of 5 %"
    return [Section(title, [table(columns, report.findings), " ".join(meaning)])]
