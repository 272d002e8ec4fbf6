"""A comparison of two runs as aligned text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .sections import Facts, Section, Table, section_lines
from .tables import counted, end_of_path, listed, markdown_table, shown_number, signed

if TYPE_CHECKING:
    from ..agreement.comparison import AgreementComparison, Change, PartChanges

#: intervals from fewer samples are rough
FEW_SAMPLES = 20
#: rows of a table of classes, pairs or annotators
_AT_MOST = 10

#: what the numbers are called, in the order in which they are shown
TITLES = {
    "score.mean": "Score",
    "alpha.pooled": "Krippendorff's alpha",
    "alpha.mean": "alpha, mean over images",
    "alpha.percent_agreement": "percent agreement",
    "existence.f1": "seen by both (F1)",
    "class_given_match.percent_agreement": "same class, given a match",
    "class_given_match.alpha": "alpha of classes, given a match",
    "localisation.mean_iou": "mean IoU, given a match",
    "localisation.mean_dice": "mean Dice, given a match",
    "mean.iou": "class IoU without background",
    "mean.dice": "class Dice without background",
    "mean.iou_with_background": "class IoU with background",
    "mean.accuracy": "same class (pixels)",
    "mean.kappa": "Cohen's kappa (pixels)",
}
#: numbers of pairs, classes and annotators that are shown, by what has the most of these
_COLUMNS = ("alpha", "score", "f1", "agreement_given_match", "miss_rate", "mean_iou", "iou")
_NAMES = {
    "f1": "F1",
    "agreement_given_match": "same class",
    "miss_rate": "missed",
    "mean_iou": "mean IoU",
    "iou": "IoU",
}
#: title of a table, and what a row of it is
_PARTS = {
    "pairs": ("Pairs of annotators", "pair"),
    "classes": ("Classes", "class"),
    "annotators": ("Annotators", "annotator"),
    "tags": ("Tags", "tag"),
    "sessions": ("Sessions of one person", ""),
}


def comparison_text(comparison: AgreementComparison) -> str:
    """The comparison as lines of text."""
    title = f"Annotator agreement: run '{comparison.b}' compared with '{comparison.a}'"
    head = [title, "=" * len(title), *section_lines(Section(basis_sentence(comparison), [verdict(comparison)]))]
    sections = [_numbers(comparison), _differences(comparison), *_parts(comparison), *_samples(comparison)]
    return "\n\n".join("\n".join(lines) for lines in [head, *map(section_lines, sections)])


def comparison_markdown(comparison: AgreementComparison) -> str:
    """The comparison as Markdown, for the App."""
    lines = [
        f"Run `{comparison.b}` compared with `{comparison.a}`: {basis_sentence(comparison)}",
        "",
        f"**{verdict(comparison)}**",
    ]
    for section in [_numbers(comparison), _differences(comparison), *_parts(comparison), *_samples(comparison)]:
        lines += ["", f"**{section.title}**", ""]
        for part in section.parts:
            if isinstance(part, Table):
                lines += [*([part.title, ""] if part.title else []), *markdown_table(part.header, part.rows), ""]
            elif isinstance(part, Facts):
                lines += [f"- {name}: {text}" for name, text in part.rows]
            else:
                lines += [str(part), ""]
    return "\n".join(lines)


def basis_sentence(comparison: AgreementComparison) -> str:
    """What was compared, and what was not."""
    what = "frame" if comparison.on_frames else "sample"
    left_out = [
        (comparison.n_only_a, f"only in '{comparison.a}'"),
        (comparison.n_only_b, f"only in '{comparison.b}'"),
        (comparison.n_unrated, "without two annotators in both"),
    ]
    said = listed([f"{n:,} {where}" for n, where in left_out if n])
    of_clusters = "" if comparison.n_clusters is None else f" of {comparison.n_clusters:,} videos or groups"
    return f"{counted(comparison.n_samples, what)}{of_clusters} of both runs" + (
        f"; left out are {said}" if said else ""
    )


def verdict(comparison: AgreementComparison) -> str:
    """What became of the main numbers, in a sentence."""
    said = [
        f"{name} {_direction(change)}"
        for name, change in (
            ("the score", comparison.numbers.get("score.mean")),
            ("alpha", comparison.numbers.get("alpha.pooled")),
        )
        if change is not None and change.difference is not None
    ]
    if not said:
        return "Nothing can be compared: no number is defined in both runs."
    sentence = listed(said)
    few = comparison.n_samples if comparison.n_clusters is None else comparison.n_clusters
    warning = f" With fewer than {FEW_SAMPLES} samples the intervals are rough." if few < FEW_SAMPLES else ""
    return sentence[0].upper() + sentence[1:] + "." + warning


def _direction(change: Change) -> str:
    difference = change.difference or 0.0
    if abs(difference) < 5e-4:
        return "stays the same"
    shown = f"{'rises' if difference > 0 else 'falls'} by {shown_number(abs(difference))}"
    if change.interval is None:
        return shown
    return shown if change.is_clear else f"{shown}, which chance may explain (the interval contains 0)"


def _cells(change: Change | None) -> list[str]:
    """Both values of a number, and the difference with its interval."""
    if change is None:
        return ["-", "-", "-"]
    return [shown_number(change.a), shown_number(change.b), shown_difference(change)]


def shown_difference(change: Change) -> str:
    """A difference and its interval for people: ``+0.021 [+0.004, +0.040]``."""
    found = change.interval
    if found is None or found.low is None or found.high is None:
        return signed(change.difference)
    return f"{signed(change.difference)} [{signed(found.low)}, {signed(found.high)}]"


def _numbers(comparison: AgreementComparison) -> Section:
    found = {name: change for name, change in comparison.numbers.items() if name in TITLES}
    rows = [[title, *_cells(found[name])] for name, title in TITLES.items() if name in found]
    note = "[…] are 95 % intervals of the difference, from resampling the same samples in both runs."
    return Section(
        "Numbers",
        [Table(["number", comparison.a, comparison.b, "difference"], rows), *([note] if comparison.resamples else [])],
    )


def _differences(comparison: AgreementComparison) -> Section:
    """What the runs were not alike in."""
    facts = [(entry["option"], f"{_shown(entry['a'])} → {_shown(entry['b'])}") for entry in comparison.options]
    for key, found in (
        (comparison.a, comparison.annotators_only_a),
        (comparison.b, comparison.annotators_only_b),
    ):
        if found:
            facts.append((f"only in {key}", listed(found)))
    return Section("What differs between the runs", [Facts(facts)] if facts else ["Nothing but the labels."])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {entry}" for name, entry in value.items()) or "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _parts(comparison: AgreementComparison) -> Iterator[Section]:
    for table, parts in comparison.changes.items():
        columns = [name for name in _COLUMNS if any(name in part.numbers for part in parts)][:2]
        if not columns:
            columns = sorted({name for part in parts for name in part.numbers})[:2]
        title, row = _PARTS.get(table, (table.capitalize(), ""))
        header = [row]
        for name in columns:
            header += [f"{_NAMES.get(name, name)}: {comparison.a}", comparison.b, "difference"]
        if len(parts) > _AT_MOST:
            title += f" (the {_AT_MOST} that changed most of {len(parts)})"
        yield Section(title, [Table(header, _part_rows(parts[:_AT_MOST], columns))])


def _part_rows(parts: Sequence[PartChanges], columns: Sequence[str]) -> list[list[str]]:
    return [
        [" – ".join(part.names), *(cell for name in columns for cell in _cells(part.numbers.get(name)))]
        for part in parts
    ]


def _samples(comparison: AgreementComparison) -> Iterator[Section]:
    found = comparison.samples
    what = "frames" if comparison.on_frames else "samples"
    undefined = f", {found.n_undefined:,} without a score in one of the runs" if found.n_undefined else ""
    parts: list[Table | str] = [
        f"Scores of {what}: {found.n_better:,} better, {found.n_worse:,} worse, {found.n_equal:,} equal{undefined}."
    ]
    for title, listed_samples in (("Better", found.better), ("Worse", found.worse)):
        if listed_samples:
            rows = [
                [
                    shown_number(entry["a"]),
                    shown_number(entry["b"]),
                    signed(entry["difference"]),
                    entry["id"],
                    end_of_path(entry.get("filepath"))
                    + (f", frame {entry['frame_number']}" if "frame_number" in entry else ""),
                ]
                for entry in listed_samples
            ]
            parts.append(Table([comparison.a, comparison.b, "difference", "sample id", "file"], rows, title))
    yield Section("Where it changed", parts)
