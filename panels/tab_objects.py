"""Tabs of the panel on classes and objects: their costs, confusions and misses, and the disputed objects."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..agreement.evidence.ranking import lowest_first, name_of, natural_key
from ..agreement.families.family import OBJECTS
from ..agreement.settings.errors import AgreementInputError
from ..charts.figures import plot_iou
from ..charts.figures.matrices import class_confusions, confused_first
from ..charts.reports.families import family_of
from ..charts.text.advice import clearly_confused, unclear_conflicts
from ..charts.text.shortlists import annotators_by_evidence, ranked_title
from ..charts.text.words import VERDICTS, ends_of, percent, shown_number, shown_share
from ..dataset_io.decide.next_object import MEANT
from ..names import ADD_AGREEMENT_UNITS, RESOLVE_UNITS, TAG_AGREEMENT_LABELS, VERDICT_COLORS
from .items import Choices, Field, Item, Link, button_item, chart_item, link, table_item

if TYPE_CHECKING:
    from .model_cache import Shown

#: rows of the tables on a page, and of the matrices
PER_PAGE, _FEW = 10, 6
_MATRIX = 10
#: with more names the headers of a matrix are vertical
_ROOMY = 5
#: least and most annotators asked for what the report counts
RATED = (2, None)


def class_items(shown: Shown, choices: Choices) -> Iterator[Item]:
    """The tables on classes, or tags."""
    report: Any = shown.report
    classes = family_of(report).classes
    if classes is not None and getattr(report, classes.entries):
        entries = getattr(report, classes.entries)
        if report.has_objects:
            entries = sorted(entries, key=lambda entry: (-(entry.share_of_disagreement or 0.0), name_of(entry)))
            yield _object_classes(report, entries, choices)
        else:
            yield _other_classes(report, entries, choices)
    yield from _confusion(shown, choices)
    yield from _other_class(report, choices)
    yield from _areas(report, choices)
    if report.has_objects and report.classes:
        yield from _by_annotator(shown, entries, choices)


def _other_class(report: Any, choices: Choices) -> Iterator[Item]:
    """Table of the annotators' classes against the majority's, where they differ, the most frequent first."""
    found = [(entry.name, said) for entry in report.annotators for said in getattr(entry, "other_classes", [])]
    found.sort(key=lambda row: (-row[1]["n"], natural_key(row[0]), row[1]["a"], row[1]["b"]))
    fields = [
        Field("Annotator", lambda row: row[0], is_number=False, first_down=False),
        Field("Says", lambda row: row[1]["a"], None, lambda row: _said_link(*row), is_number=False, first_down=False),
        Field("Most others say", lambda row: row[1]["b"], is_number=False, first_down=False),
        Field("Times", lambda row: f"{row[1]['n']:,}", lambda row: row[1]["n"]),
    ]
    if found:
        note = "Where more than half of the others, at least two, say the same. A click shows all with these two."
        title = "Who says what most others do not"
        yield table_item("other_classes", fields, found, choices, title=title, note=note, per_page=_FEW)


def _said_link(name: str, said: dict[str, Any]) -> Link:
    title = f"Labels of {name}: {said['a']!r} where others say {said['b']!r}"
    return link(title, confusion=[said["a"], said["b"]], annotators=name)


def _areas(report: Any, choices: Choices) -> Iterator[Item]:
    """The share of the pixels that every annotator gives each class, where labels are pixels."""
    if not family_of(report).shares_of_classes:
        return
    entries = annotators_by_evidence(report)
    drawn = [entry.name for entry in report.classes if not entry.is_background]
    most = max((entry.classes.get(name, 0.0) for entry in entries for name in drawn), default=0.0) or 1.0

    def column(entry: Any) -> Field:
        def share(name: str) -> float:
            found: float = entry.classes.get(name, 0.0)
            return found

        return Field(entry.name, lambda name: shown_share(share(name)), share, shade=lambda name: share(name) / most)

    fields = [Field("Class", lambda name: name, is_number=False, first_down=False), *map(column, entries)]
    if drawn and entries:
        title, slanted = "Area by class and annotator", len(entries) > _ROOMY
        note = "Shares of an annotator's pixels."
        yield table_item("areas", fields, drawn, choices, title=title, note=note, per_page=PER_PAGE, slanted=slanted)


def classes_link(name: str) -> Link:
    """The objects that somebody gave a class."""
    return link(f"Objects that somebody called {name!r}", classes=name, assigned=RATED)


def _object_classes(report: Any, entries: Sequence[Any], choices: Choices) -> Item:
    several = len(report.annotators) > 2
    most = max(entry.share_of_disagreement or 0.0 for entry in entries)

    def confused(entry: Any) -> Link | None:
        if not entry.confused_with:
            return None
        other = entry.confused_with[0]["class"]
        return link(f"Labels on which {entry.name!r} met {other!r}", confusion=sorted((entry.name, other)))

    fields = [
        Field("Class", lambda entry: entry.name, is_number=False, first_down=False),
        Field(
            "Of what the score loses",
            lambda entry: shown_share(entry.share_of_disagreement),
            lambda entry: entry.share_of_disagreement,
            bar=lambda entry: (entry.share_of_disagreement or 0.0) / most if most else None,
        ),
        Field("Objects", lambda e: f"{e.n_units:,}", lambda e: e.n_units, lambda e: classes_link(e.name)),
        Field(
            "Lone",
            lambda entry: f"{entry.n_lone:,}\n{shown_share(entry.n_lone / entry.n_units if entry.n_units else None)}",
            lambda entry: entry.n_lone,
            lambda entry: _lone_link(entry.name) if entry.n_lone else None,
        ),
        *([Field("Missed", lambda e: shown_share(e.miss_rate), lambda e: e.miss_rate)] if several else []),
        Field(
            "Confused with",
            lambda e: f"{e.confused_with[0]['class']} ({e.confused_with[0]['n']:,})" if e.confused_with else "–",
            lambda e: e.confused_with[0]["n"] if e.confused_with else None,
            confused,
            is_number=False,
        ),
        Field("α", _alpha, lambda entry: entry.alpha, first_down=False),
    ]
    note = "What costs most first. α is that of the class against all others."
    if report.n_classes_unlisted:
        note += f" {report.n_classes_unlisted:,} rarer classes are not listed."
    return table_item("classes", fields, entries, choices, title="Classes", note=note, per_page=PER_PAGE)


def _lone_link(name: str) -> Link:
    return link(f"Lone objects {name!r}", classes=name, votes=1, assigned=RATED)


def _alpha(entry: Any) -> str:
    ends = ends_of(entry.intervals.get("alpha"), lambda end: shown_number(end, 2))
    return f"{shown_number(entry.alpha, 2)}\n{ends}".rstrip()


def _other_classes(report: Any, entries: Sequence[Any], choices: Choices) -> Item:
    """Tags, or classes of pixels, those with the least agreement first."""
    classes = family_of(report).classes
    assert classes is not None
    known = [entry for entry in entries if not getattr(entry, "is_background", False)]
    known = lowest_first(known, classes.number)

    def name(entry: Any) -> str:
        found: str = getattr(entry, classes.name)
        return found

    def _number(entry: Any) -> str:
        ends = ends_of(entry.intervals.get(classes.number), lambda end: shown_number(end, 2))
        return f"{shown_number(getattr(entry, classes.number), 2)}\n{ends}".rstrip()

    fields = [
        Field(classes.kind.capitalize(), name, is_number=False, first_down=False),
        Field("Images", lambda entry: f"{entry.n_samples:,}", lambda entry: entry.n_samples,
              (lambda entry: classes_link(name(entry))) if classes.has_labels else None),
        *([Field("Given by all", lambda e: f"{e.n_agreed:,}", lambda e: e.n_agreed)]
          if hasattr(entries[0], "n_agreed") else []),
        Field(classes.title, _number, lambda entry: getattr(entry, classes.number), first_down=False),
    ]  # fmt: skip
    title = "Tags" if classes.kind == "tag" else "Classes"
    return table_item(
        "classes", fields, known, choices, title=ranked_title(title, known, classes.number), per_page=PER_PAGE
    )


def _confusion(shown: Shown, choices: Choices) -> Iterator[Item]:
    """Confusion matrix: meetings of two classes on one object, or image, the most confused classes first."""
    try:
        counts = class_confusions(shown.report)
    except AgreementInputError:
        return
    together = confused_first(shown.report, counts)
    if not together:
        return
    names = list(dict.fromkeys(name for pair in together for name in pair))
    n_classes, names = len(names), names[:_MATRIX]
    # every pair once, above the diagonal
    pairs = {pair: n for pair in itertools.combinations(names, 2) if (n := together.get((min(pair), max(pair))))}
    most = max(pairs.values())

    def column(name: str) -> Field:
        def times(row: str) -> int | None:
            return pairs.get((row, name))

        return Field(
            name,
            lambda row: f"{times(row):,}" if times(row) else "",
            times,
            lambda row: _confusion_link(row, name) if times(row) else None,
            shade=lambda row: (times(row) or 0) / most,
        )

    clear = clearly_confused(shown.report)
    n_unlisted = getattr(getattr(shown.report, "class_given_match", None), "n_unlisted", 0)
    note = f"Of all conflicts, {unclear_conflicts(shown.report, together, n_unlisted)}."
    if clear:
        (a, b), share = clear[0].classes, clear[0]
        note = (
            f"{a} and {b}: {shown_share(share.share)} [{100.0 * share.low:.0f}, {100.0 * share.high:.0f}] of all "
            f"conflicts, {shown_share(share.by_chance)} by chance."
        )
    if n_classes > len(names):
        note += f" {len(names)} of {n_classes:,} classes: those that are confused most surely, then most often."
    rows, columns = ([name for name in names if any(name == pair[k] for pair in pairs)] for k in (0, 1))
    fields = [Field("", lambda row: row, is_number=False, first_down=False), *map(column, columns)]
    slanted = len(columns) > _ROOMY
    yield table_item("confusion", fields, rows, choices, title="Classes that met", note=note, slanted=slanted)


def _confusion_link(a: str, b: str) -> Link:
    return link(f"Labels on which {a!r} met {b!r}", confusion=sorted((a, b)))


def _by_annotator(shown: Shown, entries: Sequence[Any], choices: Choices) -> Iterator[Item]:
    """Matrix of misses by class and annotator; of two annotators, of their lone objects."""
    report: Any = shown.report
    several = len(report.annotators) > 2
    counts = shown.left_out.missed if several else shown.left_out.lone
    place = shown.annotator_codes
    rows = [(entry.name, counts[shown.class_code(entry.name)]) for entry in entries[:_MATRIX]]
    rows = [(name, row) for name, row in rows if row.any()]
    names = [entry.name for entry in annotators_by_evidence(report)]
    if not rows or not names:  # of many, those without enough labels are not listed
        return
    most = max(int(row[place[name]]) for _, row in rows for name in names) or 1

    def column(name: str) -> Field:
        def n(entry: Any) -> int:
            return int(entry[1][place[name]])

        def leads(entry: Any) -> Link | None:
            if not n(entry):
                return None
            if several:
                return link(f"{entry[0]!r} that {name} missed", classes=entry[0], missed_by=name)
            title = f"Lone objects {entry[0]!r} of {name}"
            return link(title, classes=entry[0], annotators=name, votes=1, assigned=RATED)

        return Field(name, lambda entry: f"{n(entry):,}", n, leads, shade=lambda entry: n(entry) / most)

    fields = [Field("Class", lambda entry: entry[0], is_number=False, first_down=False), *map(column, names)]
    title = "Missed objects, by class and annotator" if several else "Lone objects, by class and annotator"
    note = "Of the objects that two others drew." if several else ""
    slanted = len(names) > _ROOMY
    yield table_item("left_out", fields, rows, choices, title=title, note=note, slanted=slanted)


#: rows of the table of classes on a page
CLASSES_PER_PAGE = 6
#: what every verdict says of a label
_MEANINGS = {
    "agreed": "everybody drew it and called it the same",
    "class_conflict": "drawn by two or more, who gave it different classes",
    "attribute_conflict": "the same class, but another value of an attribute",
    "missed": "two or more drew it alike, somebody assigned did not",
    "lone": "only one annotator drew it",
    "split": "one drew a whole, another one its parts",
    "duplicate": "the same annotator drew it twice",
    "crowd": "a crowd region, or inside one: not counted",
}


def object_items(shown: Shown, choices: Choices) -> Iterator[Item]:
    """The tables on objects, and what can be done with them."""
    report: Any = shown.report
    yield button_item("object_steps", "Go through the disputed objects, one after the other", [
        ("Decide who is right", "gavel", "go_to_tab", {"tab": "decide"}),
        ("Show disputed objects", "crop", "show_disputed", {}),
        ("Write one label per object", "edit_note", "run_operator", {"operator": ADD_AGREEMENT_UNITS}),
        ("Make a consensus", "how_to_vote", "run_operator", {"operator": RESOLVE_UNITS}),
        ("Tag labels", "sell", "run_operator", {"operator": TAG_AGREEMENT_LABELS}),
    ])  # fmt: skip
    yield from _verdicts(report, choices)
    yield from _votes(report, choices)
    yield from _classes(shown, choices)
    yield from _sizes(report, choices)
    yield from chart_item("iou", lambda: plot_iou(report))


def _verdicts(report: Any, choices: Choices) -> Iterator[Item]:
    counts: Counter[str] = Counter()
    for entry in report.annotators:
        counts.update(entry.verdicts)
    total = counts.total()
    rows = [(name, counts[name]) for name in VERDICT_COLORS if counts[name]]
    fields = [
        Field("Verdict", lambda row: VERDICTS.get(row[0], row[0]), is_number=False, first_down=False),
        Field("Meaning", lambda row: _MEANINGS.get(row[0], ""), is_number=False, first_down=False),
        Field(
            "Labels",
            lambda row: f"{row[1]:,}",
            lambda row: row[1],
            lambda row: link(f"Labels: {VERDICTS.get(row[0], row[0])}", verdict=row[0]),
        ),
        Field("Share", lambda row: percent(row[1], total), lambda row: row[1], bar=lambda row: row[1] / total),
        _decide_field(lambda row: {"verdict": row[0]} if row[0] in MEANT else None),
    ]
    if rows:
        yield table_item("verdicts", fields, rows, choices, title="Labels by verdict")


def _decide_field(seek: Callable[[Any], dict[str, Any] | None]) -> Field:
    """A column that leads to the tab Decide, with the objects of a row alone."""
    return Field(
        "",
        lambda entry: "decide" if seek(entry) else "",
        link=lambda entry: {**link("Decide"), "seek": seek(entry)} if seek(entry) else None,
        is_number=False,
    )


def _votes(report: Any, choices: Choices) -> Iterator[Item]:
    votes = [entry for entry in report.existence.votes if entry["assigned"] >= 2 and entry["votes"] >= 1]
    votes.sort(key=lambda entry: (-entry["assigned"], -entry["votes"]))
    total = sum(entry["units"] for entry in votes)
    fields = [
        Field("Drawn by", lambda e: f"{e['votes']} of {e['assigned']}", lambda e: e["votes"], is_number=False),
        Field(
            "Objects",
            lambda entry: f"{entry['units']:,}",
            lambda entry: entry["units"],
            lambda entry: votes_link(entry["votes"], entry["assigned"]),
        ),
        Field("Share", lambda e: percent(e["units"], total), lambda e: e["units"], bar=lambda e: e["units"] / total),
        _decide_field(lambda entry: {"votes": entry["votes"]}),
    ]
    if total:
        yield table_item("votes", fields, votes, choices, title="Objects by the annotators who drew them", per_page=12)


def votes_link(votes: int, assigned: int) -> dict[str, Any]:
    """The objects that so many of the assigned annotators drew."""
    return link(f"Objects drawn by {votes} of {assigned}", votes=votes, assigned=(assigned, assigned))


def _classes(shown: Shown, choices: Choices) -> Iterator[Item]:
    """The disputed objects by class; one with two classes counts for both."""
    fields = [
        Field("Class", lambda entry: entry[0], is_number=False, first_down=False),
        Field("Disputed", lambda e: f"{e[2]:,}", lambda e: e[2], lambda e: _disputed_link(e[0])),
        Field("Objects", lambda entry: f"{entry[1]:,}", lambda entry: entry[1], lambda entry: classes_link(entry[0])),
        Field("Share", lambda e: percent(e[2], e[1]), lambda e: e[2] / e[1], bar=lambda e: e[2] / e[1]),
        _decide_field(lambda entry: {"label": entry[0]}),
    ]
    entries = shown.disputed_by_class
    if entries:
        yield table_item(
            "by_class", fields, entries, choices, title="Disputed objects by class", per_page=CLASSES_PER_PAGE
        )


def _disputed_link(label: str) -> Link:
    return link(f"Disputed objects that somebody called {label!r}", verdict=list(OBJECTS.disputed), classes=label)


def _sizes(report: Any, choices: Choices) -> Iterator[Item]:
    several = len(report.annotators) > 2
    fields = [
        Field("Size", lambda entry: entry.size, is_number=False),
        Field("Objects", lambda entry: f"{entry.n_units:,}", lambda entry: entry.n_units),
        Field("Lone", lambda e: f"{e.n_lone:,} ({percent(e.n_lone, e.n_units)})", lambda e: e.n_lone),
        *([Field("Missed", lambda e: percent(e.miss_rate or 0.0, 1.0) if e.miss_rate is not None else "–",
                 lambda e: e.miss_rate)] if several else []),
        Field(f"Mean {report.localisation.measure}", lambda e: shown_number(e.mean_iou, 2), lambda e: e.mean_iou),
    ]  # fmt: skip
    if any(entry.n_units for entry in report.sizes):
        yield table_item("sizes", fields, report.sizes, choices, title="Objects by size")
