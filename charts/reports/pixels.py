"""Sections of the report on semantic masks, in words and tables."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ...agreement.evidence.ranking import lowest_first
from ..text.advice import Phrase, by_share, by_similarity, loose
from ..text.sections import Cell, Column, Facts, Section, table
from ..text.shortlists import annotator_sections, pair_sections, ranked_title
from ..text.words import capitalised, documents, percent, shown_number, shown_share

if TYPE_CHECKING:
    from ...agreement.pixels.report import MaskAnnotatorSummary, PixelReport

#: maximum number of listed classes
MANY_CLASSES = 10


def pixel_rules(report: PixelReport) -> list[tuple[str, str]]:
    """The rules for background, ignored values, empty images and boundaries."""
    config = report.config
    background = "none: every value is a class"
    if report.background is not None:
        named = next((entry.name for entry in report.classes if entry.is_background), None)
        value = f"#{report.background:06x}" if report.is_rgb else str(report.background)
        background = value if named in (None, value) else f"{value} ({named})"
    rules = [("labels", ", ".join(report.label_types)), ("background", background)]
    if config["ignore_values"]:
        values = ", ".join(map(str, config["ignore_values"]))
        rules.append(("ignored values", f"{values}: pixels with such a value from any annotator are left out"))
    empty = {"skip": "get no score", "agree": "count as agreement"}[config["empty"]]
    rules += [
        ("only background", f"{documents(report)} where everybody drew nothing else {empty}"),
        ("alpha w/o variation", "1" if config["undefined"] == "one" else "undefined"),
    ]
    if config["boundaries"]:
        width = config["boundary_width"]
        band = "2 % of the image diagonal" if width is None else f"{width:g} pixels"
        rules.append(("boundaries", f"agree within {config['boundary_tolerance']:g} pixels; bands are {band} wide"))
    if config["disagreement_map"]:
        place = config["map_folder"] or "the database"
        rules.append(("heatmaps", f"{report.run_key}_map, in {place}"))
    return rules


def pixel_outcome(report: PixelReport) -> str:
    """What two masks have in common, in words and numbers."""
    said = []
    if report.score.mean is not None:
        said.append(f"the classes of two masks overlap by a mean IoU of {shown_number(report.score.mean)}")
    if report.alpha.percent_agreement is not None:
        share = shown_share(report.alpha.percent_agreement)
        said.append(f"{share} of the pixels have the same class in both, most of which may be background")
    return f"{capitalised('; '.join(said))}." if said else "No two masks have pixels to compare."


PIXEL_PHRASES: dict[str, Phrase] = {
    "loose": loose("score"),
    "class_loose": by_similarity(
        "{finding.classes[0]!r} has a mean IoU of {value}", "(other classes {others}, {change})"
    ),
    "class_area": by_share("gives {share} more area to {classes}", "gives {share} less area to {classes}"),
}


#: glossary of the sections on masks
PIXEL_WORDS = (
    ("score", "mean IoU of the classes of two masks, without background"),
    ("IoU", "pixels that both masks give a class / pixels that either gives it; 1 if identical"),
    ("Dice", "2 x pixels of a class in both masks / pixels of it in the one + in the other"),
)


def pixel_means(report: PixelReport) -> list[Section]:
    """The main numbers on masks."""
    mean = report.mean
    n_all = report.n_pixels + report.n_ignored
    note = (
        f"{report.n_samples:,} {documents(report)}, {report.n_rated:,} with at least 2 masks, {report.n_empty:,} of "
        f"these background only; {report.n_objects:,} masks, {report.n_pixels:,} pixels compared, "
        f"{report.n_ignored:,} ignored ({percent(report.n_ignored, n_all)})"
    )
    shares = f"{shown_number(report.alpha.percent_agreement)} of all, Cohen's kappa {shown_number(report.kappa)}"
    with_background = f"{shown_number(mean.iou_with_background)}, Dice {shown_number(mean.dice_with_background)}"
    facts = [
        ("without background", f"IoU {shown_number(mean.iou)}, Dice {shown_number(mean.dice)} (mean over classes)"),
        ("with background", f"IoU {with_background}"),
        ("pixels alike", f"{shares} (mean over pairs)"),
    ]
    if report.config["boundaries"]:
        text = f"IoU {shown_number(mean.boundary_iou)}, surface Dice {shown_number(mean.surface_dice)}"
        facts.append(("boundaries", f"{text}, HD95 {shown_number(mean.hd95, 1)} pixels"))
    return [Section("Masks", [Facts(facts)], note)]


def pixel_classes(report: PixelReport, *, full: bool = False) -> list[Section]:
    """The classes, the lowest IoU first; ``full``: all, if some are left out."""
    if full and len(report.classes) <= MANY_CLASSES:
        return []
    classes = sorted(lowest_first(report.classes, "mean_iou"), key=lambda entry: entry.is_background)
    total = sum(entry.n_pixels for entry in report.classes)
    columns = [
        Column("class", lambda entry: entry.name + (" (background)" if entry.is_background else "")),
        Column(documents(report), "n_samples"),
        Column("pixels", lambda entry: Cell(entry.n_pixels, percent(entry.n_pixels, total))),
        *(Column("mean IoU", "mean_iou", shown_number), Column("mean Dice", "mean_dice", shown_number)),
        *(Column("IoU of all", "iou", shown_number), Column("Dice of all", "dice", shown_number)),
    ]
    title = ranked_title("Classes", [entry for entry in classes if not entry.is_background], "mean_iou")
    shown = classes if full else classes[:MANY_CLASSES]
    if len(shown) < report.n_classes:
        title += f": {len(shown)} of {report.n_classes}"
    note = f"mean over {documents(report)}; of all pixels together"
    return [Section(title, [table(columns, shown)], note, ("classes",))]


def pixel_annotators(report: PixelReport, *, full: bool = False) -> list[Section]:
    """Agreement of each annotator with the others: score, share of pixels with the same class, kappa."""

    def mean_of_pairs(number: str, entry: MaskAnnotatorSummary) -> float | None:
        own = [getattr(pair, number) for pair in report.pairs if entry.name in (pair.a, pair.b)]
        known = [value for value in own if value is not None]
        return sum(known) / len(known) if known else None

    columns = [
        *(Column("annotator", "name"), Column("masks", "n_assigned"), Column("without", "n_not_assigned")),
        Column("score with the others", "score", shown_number),
        Column("same class (pixels)", functools.partial(mean_of_pairs, "accuracy"), shown_share),
        Column("kappa", functools.partial(mean_of_pairs, "kappa"), shown_number),
    ]
    said = "Same class and Cohen's kappa: of the pixels of two masks, background included, mean over the others."
    return annotator_sections(report, columns, more=[said], full=full)


def pixel_pairs(report: PixelReport, *, full: bool = False) -> list[Section]:
    """Agreement of each pair of annotators."""
    numbers = {"score": "score", "mean.iou": "IoU", "mean.iou_with_background": "IoU+bg", "mean.dice": "Dice"}
    numbers |= {"alpha": "alpha", "accuracy": "accuracy", "kappa": "kappa"}
    if report.config["boundaries"]:
        numbers |= {"mean.boundary_iou": "boundary IoU", "mean.surface_dice": "surface Dice", "mean.hd95": "HD95"}
    return pair_sections(report, [Column(title, name, shown_number) for name, title in numbers.items()], full=full)
