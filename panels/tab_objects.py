"""Tabs of the panel on classes and objects: their costs, confusions and misses, and the disputed objects."""

from __future__ import annotations

import dataclasses
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
from ..charts.text.words import VERDICTS, percent, shown_number, shown_share
from ..dataset_io.decide.next_object import MEANT
from ..names import ADD_AGREEMENT_UNITS, RESOLVE_UNITS, VERDICT_COLORS
from .items import Choices, Field, Item, Link, button_item, chart_item, link, matrix_item, table_item

if TYPE_CHECKING:
    from .panel_state import Shown

#: rows of the tables on a page, and of the matrices
PER_PAGE, _FEW = 10, 6
_MATRIX = 10
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
        Field.named("Annotator", lambda row: row[0]),
        Field.named("Says", lambda row: row[1]["a"], lambda row: _said_link(*row)),
        Field.named("Most others say", lambda row: row[1]["b"]),
        Field.count("Times", lambda row: row[1]["n"]),
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
    cells = {(name, entry.name): entry.classes.get(name, 0.0) for name in drawn for entry in entries}
    if cells:
        named = [entry.name for entry in entries]
        note = "Shares of an annotator's pixels."
        options: dict[str, Any] = {"title": "Area by class and annotator", "note": note, "per_page": PER_PAGE}
        yield matrix_item("areas", drawn, named, cells, shown_share, choices, **options)


def classes_link(name: str) -> Link:
    """The objects that somebody gave a class."""
    return link(f"Objects that somebody called {name!r}", classes=name, assigned=RATED)


def _object_classes(report: Any, entries: Sequence[Any], choices: Choices) -> Item:
    several = len(report.annotators) > 2
    most = max(entry.share_of_disagreement or 0.0 for entry in entries)

    def confused(entry: Any) -> Link | None:
        if not entry.confused_with:
            return None
        return _confusion_link(entry.name, entry.confused_with[0]["class"])

    def lone(entry: Any) -> Link | None:
        title = f"Lone objects {entry.name!r}"
        return link(title, classes=entry.name, votes=1, assigned=RATED) if entry.n_lone else None

    fields = [
        Field.named("Class", "name"),
        Field(
            "Of what the score loses",
            lambda entry: shown_share(entry.share_of_disagreement),
            lambda entry: entry.share_of_disagreement,
            bar=lambda entry: (entry.share_of_disagreement or 0.0) / most if most else None,
        ),
        Field.count("Objects", "n_units", lambda entry: classes_link(entry.name)),
        Field(
            "Lone",
            lambda entry: f"{entry.n_lone:,}\n{shown_share(entry.n_lone / entry.n_units if entry.n_units else None)}",
            lambda entry: entry.n_lone,
            lone,
        ),
        *([Field("Missed", lambda e: shown_share(e.miss_rate), lambda e: e.miss_rate)] if several else []),
        Field(
            "Confused with",
            lambda e: f"{e.confused_with[0]['class']} ({e.confused_with[0]['n']:,})" if e.confused_with else "–",
            lambda e: e.confused_with[0]["n"] if e.confused_with else None,
            confused,
            is_number=False,
        ),
        dataclasses.replace(Field.number("α", "alpha"), first_down=False),
    ]
    note = "What costs most first. α is that of the class against all others."
    if report.n_classes_unlisted:
        note += f" {report.n_classes_unlisted:,} rarer classes are not listed."
    return table_item("classes", fields, entries, choices, title="Classes", note=note, per_page=PER_PAGE)


def _other_classes(report: Any, entries: Sequence[Any], choices: Choices) -> Item:
    """Tags, or classes of pixels, those with the least agreement first."""
    classes = family_of(report).classes
    assert classes is not None
    known = [entry for entry in entries if not getattr(entry, "is_background", False)]
    known = lowest_first(known, classes.number)

    def leads(entry: Any) -> Link:
        return classes_link(getattr(entry, classes.name))

    fields = [
        Field.named(classes.kind.capitalize(), classes.name),
        Field.count("Images", "n_samples", leads if classes.has_labels else None),
        *([Field.count("Given by all", classes.agreed)] if classes.agreed else []),
        dataclasses.replace(Field.number(classes.title, classes.number), first_down=False),
    ]
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
    options: dict[str, Any] = {"corner": "", "title": "Classes that met", "note": note}
    yield matrix_item("confusion", rows, columns, pairs, "{:,}".format, choices, _confusion_link, **options)


def _confusion_link(a: str, b: str) -> Link:
    return link(f"Labels on which {a!r} met {b!r}", confusion=sorted((a, b)))


def _by_annotator(shown: Shown, entries: Sequence[Any], choices: Choices) -> Iterator[Item]:
    """Matrix of misses by class and annotator; of two annotators, of their lone objects."""
    report: Any = shown.report
    several = len(report.annotators) > 2
    counts = shown.left_out.missed if several else shown.left_out.lone
    place = shown.annotator_codes
    by_class = {entry.name: counts[shown.class_code(entry.name)] for entry in entries[:_MATRIX]}
    rows = [name for name, found in by_class.items() if found.any()]
    names = [entry.name for entry in annotators_by_evidence(report)]
    if not rows or not names:  # of many, those without enough labels are not listed
        return

    cells = {(row, name): int(by_class[row][place[name]]) for row in rows for name in names}

    def leads(row: str, name: str) -> Link | None:
        if not cells[row, name]:
            return None
        if several:
            return link(f"{row!r} that {name} missed", classes=row, missed_by=name)
        return link(f"Lone objects {row!r} of {name}", classes=row, annotators=name, votes=1, assigned=RATED)

    title = f"{'Missed' if several else 'Lone'} objects, by class and annotator"
    note = "Of the objects that two others drew." if several else ""
    yield matrix_item("left_out", rows, names, cells, "{:,}".format, choices, leads, title=title, note=note)


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
        Field.named("Verdict", lambda row: VERDICTS.get(row[0], row[0])),
        Field.named("Meaning", lambda row: _MEANINGS.get(row[0], "")),
        Field.count(
            "Labels", lambda row: row[1], lambda row: link(f"Labels: {VERDICTS.get(row[0], row[0])}", verdict=row[0])
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
        Field.count(
            "Objects", lambda entry: entry["units"], lambda entry: votes_link(entry["votes"], entry["assigned"])
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

    def leads(entry: Any) -> Link:
        title = f"Disputed objects that somebody called {entry[0]!r}"
        return link(title, verdict=list(OBJECTS.disputed), classes=entry[0])

    fields = [
        Field.named("Class", lambda entry: entry[0]),
        Field.count("Disputed", lambda entry: entry[2], leads),
        Field.count("Objects", lambda entry: entry[1], lambda entry: classes_link(entry[0])),
        Field("Share", lambda e: percent(e[2], e[1]), lambda e: e[2] / e[1], bar=lambda e: e[2] / e[1]),
        _decide_field(lambda entry: {"label": entry[0]}),
    ]
    entries = shown.disputed_by_class
    if entries:
        yield table_item(
            "by_class", fields, entries, choices, title="Disputed objects by class", per_page=CLASSES_PER_PAGE
        )


def _sizes(report: Any, choices: Choices) -> Iterator[Item]:
    several = len(report.annotators) > 2
    fields = [
        Field("Size", lambda entry: entry.size, is_number=False),
        Field.count("Objects", "n_units"),
        Field("Lone", lambda e: f"{e.n_lone:,} ({percent(e.n_lone, e.n_units)})", lambda e: e.n_lone),
        *([Field("Missed", lambda e: percent(e.miss_rate or 0.0, 1.0) if e.miss_rate is not None else "–",
                 lambda e: e.miss_rate)] if several else []),
        Field(f"Mean {report.localisation.measure}", lambda e: shown_number(e.mean_iou, 2), lambda e: e.mean_iou),
    ]  # fmt: skip
    if any(entry.n_units for entry in report.sizes):
        yield table_item("sizes", fields, report.sizes, choices, title="Objects by size")
