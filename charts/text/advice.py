"""Findings in sentences, with numbers and advice: annotators, classes and pairs that stand out by test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...agreement.evidence.hypotheses import KINDS, by_subject
from ...agreement.evidence.ranking import MIN_IMAGES, MIN_LABELS, natural_key
from ...agreement.ratings import agreeing
from ...agreement.settings.annotators import spelt_alike
from .sections import Cell, Column, Part, Section, table
from .words import UNDEFINED, counted, drawn_things, listed, shown_number, shown_share, the_others

if TYPE_CHECKING:
    from ...agreement.evidence.hypotheses import Confused, Finding

#: text of a finding: the predicate of a sentence on an annotator, or a clause; and what it is compared with
Phrase: TypeAlias = Callable[["Finding", Any], tuple[str, str]]
Phrases: TypeAlias = Mapping[str, Phrase]  #: by kind of finding

#: annotators (classes, sizes, pairs) that are named, at most
_MOST = 5
#: advice is given for a difference of 5 percentage points, 5 % of a size, 0.05 of IoU, score or the scale of ratings
WORTH_ADVICE = 0.05
#: where all findings are listed
WHERE_ALL = "all are in the table Findings (tab Annotators, print_report(full=True), to_dataframe('findings'))"
#: kinds of findings on one annotator that make the others seem to agree more with each other
_APART = ("misses", "misses_size", "misses_class", "lone", "conflicts", "loose", "twice")
#: what is counted, by kind
_MEANING = {kind.name: kind.meaning for kind in KINDS}
#: confused classes in the section, and groups of similar names, at most
_FEW, _MOST_GROUPS = 5, 10
#: sentence for reports on two annotators who disagree
OF_TWO = "Two annotators cannot tell who of them is right: a third one, or a reference, can."


def stands_out(report: Any, phrases: Phrases, rules: Mapping[str, str] | None = None) -> list[str]:
    """Sentences on the findings, the greatest difference first; if there are none, a sentence that says so.

    Of more than five subjects those with the greatest difference on any topic are named, each with one finding.

    Args:
        phrases: texts of some kinds of findings, in addition to :data:`PHRASES`
        rules: what the guideline should say of a class, by kind, in addition to :data:`RULES`
    """
    # without pairs that seem close only because others, who have findings too, are far off
    off = {each.annotators[0] for each in report.findings if each.kind in _APART and is_worth_advice(each)}
    findings = []
    for finding in report.findings:
        pair = set(finding.annotators)
        if finding.kind == "close" and off - pair:
            # the scores of the two with annotators who do not stand out themselves
            scores = [
                each.score
                for each in report.pairs
                if each.score is not None and len(pair & {each.a, each.b}) == 1 and not off & ({each.a, each.b} - pair)
            ]
            if not scores or finding.value - sum(scores) / len(scores) < WORTH_ADVICE:
                continue
        findings.append(finding)
    groups = by_subject(findings, _MOST)
    said = {**PHRASES, **phrases}, {**RULES, **(rules or {})}
    found = [_sentence(group, report, *said) for group in groups]
    n_more = len(by_subject(findings, len(findings))) - len(groups)
    if n_more > 0:
        verb, who = ("stands", "annotator, pair or class") if n_more == 1 else ("stand", "annotators, pairs or classes")
        found.append(f"{n_more:,} more {who} {verb} out; {WHERE_ALL}.")
    if not groups:
        few, needed = "labels", f"{MIN_LABELS} on {MIN_IMAGES} images"
        if (drawn := drawn_things(report)) != "samples":
            few, needed = drawn, f"{MIN_IMAGES} with {MIN_LABELS} labels"
        tests = "1 test" if report.n_tested == 1 else f"any of {report.n_tested:,} tests"
        nobody = f"No annotator, pair or class stands out beyond chance by {tests}; small differences may be missed."
        too_few = f"There are too few {few} to say who or what stands out ({needed} are needed)."
        found.append(nobody if report.n_tested else too_few)
    elif not any(map(is_worth_advice, findings)):
        found.append("These differences are too small to act on.")
    return [*found, OF_TWO] if len(report.annotators) == 2 and report.reference is None else found


def whom_to_talk_to(report: Any, phrases: Phrases) -> str:
    """Sentence on whom to talk to about what, the greatest difference first; empty if there is nobody."""
    if len(report.annotators) == 2:  # which of the two is wrong is not known
        return ""
    said = {**PHRASES, **phrases}
    findings = [each for each in report.findings if len(each.annotators) == 1 and is_worth_advice(each)]
    first = [group[0] for group in by_subject(findings, _MOST)]
    names = [f"{each.annotators[0]} ({said[each.kind](each, report)[0].rstrip(',')})" for each in first]
    n_more = len({each.annotators[0] for each in findings}) - len(names)
    return f"Talk to {listed([*names, *([f'{n_more:,} more'] if n_more else [])])}." if names else ""


def is_worth_advice(finding: Finding) -> bool:
    """True if a difference is large enough to act on."""
    return round(abs(finding.difference), 9) >= WORTH_ADVICE


def finding_text(finding: Finding, report: Any, phrases: Phrases) -> str:
    """Text of a finding with its numbers, without its subject; for tables."""
    return " ".join({**PHRASES, **phrases}[finding.kind](finding, report))


def _sentence(group: Sequence[Finding], report: Any, phrases: Phrases, rules: Mapping[str, str]) -> str:
    """The findings on one annotator, pair, class or size, and what to do if a difference is large enough."""
    said = "; ".join(" ".join(phrases[finding.kind](finding, report)) for finding in group)
    first = group[0]
    who = listed(first.annotators)
    said = f"{who} {said}" if who else said
    if not any(map(is_worth_advice, group)):
        return f"{said}."
    if first.kind == "close":
        return f"{said}: look at what they share."
    confused: Collection[str] = ()
    if first.kind in ("confused", "class_conflicts", "class_confused"):
        confused = first.classes
    elif first.kind == "conflicts":
        entry = next(each for each in report.annotators if each.name == first.annotators[0])
        confused = [entry.other_classes[0][name] for name in "ab"] if entry.other_classes else ()
    if confused:  # names that differ in spelling alone may mean one class
        known = [*confused, *(each.name for each in getattr(report, "classes", ()))]
        for alike, question in spelt_alike(known, "classes"):
            if {*alike} >= {*confused} and question:
                return f"{said}: {question[:1].lower()}{question[1:]}."
    if who:
        return f"{said}: talk to {who if len(report.annotators) > 2 else 'both'}."
    return f"{said}: say in the guideline {rules[first.kind].format(listed([repr(name) for name in first.classes]))}."


#: what the guideline should say of a class or size
RULES = {
    "class_missed": "which {} count",
    **dict.fromkeys(("class_conflicts", "class_confused"), "how to tell {} apart from others"),
    "class_loose": "where {} ends",
    "confused": "how to tell {} apart",
    "size_missed": "which objects count",
}


def against(finding: Finding, others: str = "the others") -> str:
    """Comparison of a finding in brackets: ``(the others 4.5 %, +58.7 points [50.1, 67.3])``."""
    ends = f"[{100.0 * finding.low:.1f}, {100.0 * finding.high:.1f}]"
    return f"({others} {shown_share(finding.others)}, {100.0 * finding.difference:+.1f} points {ends})"


def conflicts(finding: Finding, report: Any, what: str = "class") -> tuple[str, str]:
    """Phrase on conflicts of class, or rating, of an annotator, and on the one most frequent against the majority."""
    tolerance = report.config.get("tolerance")  # of numbers, which may differ a little
    by_more = f" by more than {tolerance:g}" if tolerance else ""
    said = f"differs in {what}{by_more} in {shown_share(finding.value)} of pairs with another annotator"
    others = against(finding, "others among themselves")
    entry = next(each for each in report.annotators if each.name == finding.annotators[0])
    first = next(iter(entry.other_classes), None)
    # a conflict may be frequent because of a single image with many objects
    if first is None or not any({first["a"], first["b"]} == set(each.classes) for each in clearly_confused(report)):
        return said, others
    return said, f"{others}, most often {first['a']!r} where most others say {first['b']!r} ({first['n']:,} times)"


def loose(measure: str) -> Phrase:
    """Phrase on a loose fit: the mean similarity with the others, and that of the others among each other."""
    what = f"draws otherwise: {measure} of {{value}} with the others,"
    return by_similarity(what, "who have {others} among each other ({change})")


def by_similarity(what: str, beside: str) -> Phrase:
    """Phrase on distances as similarities, from texts with ``{value}``, that of the ``{others}``, and the ``{change}``;
    and with what they are about (``{finding}``, ``{report}``)."""

    def said(finding: Finding, report: Any) -> tuple[str, str]:
        value, others = (shown_number(1.0 - each) for each in (finding.value, finding.others))
        change = f"{-finding.difference:+.3f} [{shown_number(-finding.high)}, {shown_number(-finding.low)}]"
        told = {"value": value, "others": others, "change": change, "finding": finding, "report": report}
        return what.format(**told), beside.format(**told)

    return said


def by_share(more: str, less: str) -> Phrase:
    """Phrase on a difference as a share, ``12 % larger [9, 15]``, from texts with ``{share}`` (and ``{classes}``)."""

    def said(finding: Finding, report: Any) -> tuple[str, str]:
        low, high = sorted((abs(finding.low), abs(finding.high)))
        share = f"{100.0 * abs(finding.difference):.0f} %"
        classes = listed([repr(name) for name in finding.classes])
        what = (more if finding.difference > 0 else less).format(share=share, classes=classes)
        return what, f"[{100.0 * low:.0f}, {100.0 * high:.0f}]"

    return said


def drawn_otherwise(more: str, less: str) -> Phrase:
    """Phrase on boxes that differ from those of the others by a share; of two annotators, how both differ from the
    median box, as in the tables."""
    of_several = by_share(*(f"draws {{share}} {each} than the others" for each in (more, less)))

    def offset(value: float, than: str = "") -> str:
        share = f"{100.0 * abs(value):.0f} %"
        return "like the median box" if share == "0 %" else f"{share} {more if value > 0 else less}{than}"

    def said(finding: Finding, report: Any) -> tuple[str, str]:
        if len(report.annotators) > 2:
            return of_several(finding, report)
        low, high = sorted((abs(finding.low), abs(finding.high)))
        apart = f"{100.0 * abs(finding.difference):.0f} % apart [{100.0 * low:.0f}, {100.0 * high:.0f}]"
        return (
            f"draws {offset(finding.value, ' than the median box')}",
            f"(the other: {offset(finding.others)}; {apart})",
        )

    return said


def used(finding: Finding, report: Any) -> tuple[str, str]:
    """Phrase on a class or tag: ``gives … more often than the others, by 12.0 points [8.3, 15.7]``."""
    low, high = sorted((abs(finding.low), abs(finding.high)))
    classes = listed([repr(each) for each in finding.classes])
    what = f"gives {classes} {'more' if finding.difference > 0 else 'less'} often than {the_others(report)}"
    return f"{what}, by {100.0 * abs(finding.difference):.1f} points", f"[{100.0 * low:.1f}, {100.0 * high:.1f}]"


def merge_effect(report: Any, classes: set[str]) -> str:
    """Effect on alpha of objects of merging two classes, as the end of a sentence; empty if there is none."""
    for merge in getattr(report, "merges", []):
        before, after = merge.alpha_before, merge.alpha_after
        if set(merge.classes) == classes and before is not None and after is not None:
            verb = "raise" if after > before else "lower"
            if shown_number(before) != shown_number(after):
                change = f"from {shown_number(before)} to {shown_number(after)}"
                return f"; as one class they would {verb} alpha of objects {change}"
    return ""


#: phrases for the kinds of findings that all families have
PHRASES: dict[str, Phrase] = {
    "conflicts": conflicts,
    "class_conflicts": lambda finding, report: (
        f"{finding.classes[0]!r} gets another class in {shown_share(finding.value)} of pairs of labels",
        against(finding, "other classes"),
    ),
    "class_confused": lambda finding, report: (
        f"{finding.classes[0]!r} is in {shown_share(finding.value)} of the class conflicts",
        against(finding, "by chance"),
    ),
    "confused": lambda finding, report: (
        f"{finding.classes[0]!r} and {finding.classes[1]!r} are {shown_share(finding.value)} of the class conflicts",
        f"{against(finding, 'by chance')}{merge_effect(report, {*finding.classes})}",
    ),
    "close": lambda finding, report: (
        f"agree more with each other (score {shown_number(finding.value)}) than with the others",
        f"({shown_number(finding.others)}, {finding.difference:+.3f} [{finding.low:.3f}, {finding.high:.3f}])",
    ),
}


def all_findings(report: Any) -> list[Section]:
    """Section with all findings and their tests."""
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


def clearly_confused(report: Any) -> list[Confused]:
    """The pairs of classes that are confused more often than by chance by test, the surest first."""
    return [each for each in getattr(report, "confused", []) if each.is_clear]


def _are_numbers(report: Any) -> bool:
    """True for a report on numbers: their conflicts are not tested."""
    return any(getattr(pair, "mean_distance", None) is not None for pair in report.pairs)


def in_conflict(report: Any, a: str, b: str) -> bool:
    """True if annotators disagree who gave these classes, or numbers, which may differ by the tolerance of the run."""
    tolerance = report.config["tolerance"] if _are_numbers(report) else 0.0
    return a != b and not (tolerance and agreeing(np.array(float(a)), np.array(float(b)), tolerance))


def class_conflicts(report: Any) -> tuple[Counter[tuple[str, str]], int]:
    """How often every two different classes met, each pair in one order; and the number of conflicts not listed."""
    given = getattr(report, "class_given_match", None)
    found = given.confusion if given is not None else [entry for pair in report.pairs for entry in pair.confusion]
    counts: Counter[tuple[str, str]] = Counter()
    for entry in found:
        a, b = sorted((entry["a"], entry["b"]), key=natural_key)
        if entry["n"] and in_conflict(report, a, b):
            counts[a, b] += entry["n"]
    return counts, getattr(given, "n_unlisted", 0)


def unclear_conflicts(report: Any, counts: Mapping[tuple[str, str], int], n_unlisted: int = 0) -> str:
    """Sentence on the two classes with most conflicts, where it is not clear that this is more than chance.

    Args:
        counts: how often every two different classes met, each pair in one order
        n_unlisted: number of conflicts that are not in ``counts``
    """
    if _are_numbers(report):
        return "those of numbers are not tested"
    total = sum(counts.values()) + n_unlisted
    (a, b), n = max(counts.items(), key=lambda item: (item[1], *map(natural_key, item[0])), default=(("", ""), 0))
    if 2 * n <= total:
        return "those of no two classes are clearly more than by chance"
    met = any({a, b} == set(each.classes) for each in report.confused)
    why = "not clearly more than by chance" if met else f"on fewer than {MIN_IMAGES} images, too few for a test"
    if n == total:
        return f"{'it is' if n == 1 else 'all are'} between {a!r} and {b!r} ({why})"
    return f"{n:,} of {total:,} {'is' if n == 1 else 'are'} between {a!r} and {b!r} ({why})"


def confusions_section(report: Any) -> list[Section]:
    """The classes that are confused more often than by chance, the effect of merging them, and similar class names."""
    counts, n_unlisted = class_conflicts(report)
    shown = clearly_confused(report)[:_FEW]
    parts: list[Part] = []
    if shown:
        effects = {frozenset(entry.classes): entry.alpha_after for entry in getattr(report, "merges", [])}

        def share(entry: Confused) -> Cell:
            ends = f"[{100.0 * entry.low:.0f}, {100.0 * entry.high:.0f}]"
            return Cell(entry.share, f"{shown_share(entry.share)} {ends}")

        def who_says(entry: Confused) -> str:
            """Who most often says one of the two classes where most of the others say the other one."""
            found = [
                (said["n"], *map(natural_key, (each.name, said["a"])), f"{each.name}: {said['b']} called {said['a']}")
                for each in report.annotators
                for said in each.other_classes
                if {said["a"], said["b"]} == set(entry.classes)
            ]
            n, *_, text = max(found, default=(0, UNDEFINED))
            return f"{text} ({n:,})" if found else UNDEFINED

        columns = [
            *(Column("class", lambda entry: entry.classes[0]), Column("class", lambda entry: entry.classes[1])),
            Column("pairs of labels", "n"),
            Column("of all conflicts", share),
            Column("by chance", "by_chance", shown_share),
            Column("most often", who_says),
        ]
        if effects:
            title = "alpha if they were one"
            columns.append(Column(title, lambda entry: effects.get(frozenset(entry.classes)), shown_number))
        parts.append(table(columns, shown))
    elif counts and not _are_numbers(report):
        total = sum(counts.values()) + n_unlisted
        parts.append(f"{counted(total, 'conflict')}: {unclear_conflicts(report, counts, n_unlisted)}.")
    if similar := getattr(report, "similar_names", []):
        groups = [listed([repr(name) for name in group]) for group in similar[:_MOST_GROUPS]]
        n_more = len(similar) - len(groups)
        groups += [f"and {counted(n_more, 'more group')}"] if n_more else []
        parts.append(f"Names that may mean one class, counted as different: {'; '.join(groups)}.")
    return [Section("Classes that are confused", parts, figures=("confusion",))] if parts else []
