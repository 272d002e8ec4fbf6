"""What the text of a report says on semantic masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .sections import Facts, Part, Section, Table
from .tables import documents, percent, shown_number

if TYPE_CHECKING:
    from ..agreement.pixels.report import MaskClassSummary, PixelReport

#: classes that are listed at most
MANY_CLASSES = 40
_SHARES = 5


def pixel_rules(report: PixelReport) -> list[tuple[str, str]]:
    """What was compared, and what was left out."""
    config = report.config
    rules = [("labels", ", ".join(report.label_types)), ("background", shown_background(report))]
    if config["ignore_values"]:
        values = ", ".join(map(str, config["ignore_values"]))
        rules.append(("ignored values", f"{values}: pixels to which anybody gives one are left out, for everybody"))
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


def shown_background(report: PixelReport) -> str:
    """The background for people."""
    if report.background is None:
        return "none: every value is a class"
    named = next((entry.name for entry in report.classes if entry.is_background), None)
    value = f"#{report.background:06x}" if report.is_rgb else str(report.background)
    return value if named in (None, value) else f"{value} ({named})"


def pixel_sections(report: PixelReport) -> list[Section]:
    """The means, classes, annotators and pairs."""
    return [_means(report), _classes(report), _annotators(report), _pairs(report)]


def _means(report: PixelReport) -> Section:
    mean = report.mean
    title = (
        f"Masks: {report.n_samples} {documents(report)}, {report.n_rated} with at least 2 masks, of which "
        f"{report.n_empty} are background only; {report.n_objects} masks, {report.n_pixels} pixels compared, "
        f"{report.n_ignored} ignored ({percent(report.n_ignored, report.n_pixels + report.n_ignored)})"
    )
    facts = [
        ("without background", f"IoU {shown_number(mean.iou)}, Dice {shown_number(mean.dice)} (mean over classes)"),
        (
            "with background",
            f"IoU {shown_number(mean.iou_with_background)}, Dice {shown_number(mean.dice_with_background)}",
        ),
        (
            "pixels alike",
            f"{shown_number(report.alpha.percent_agreement)} of all, Cohen's kappa {shown_number(report.kappa)} "
            "(mean over pairs)",
        ),
    ]
    if report.config["boundaries"]:
        text = (
            f"IoU {shown_number(mean.boundary_iou)}, surface Dice {shown_number(mean.surface_dice)}, "
            f"HD95 {shown_number(mean.hd95, 1)} pixels"
        )
        facts.append(("boundaries", text))
    hint = "Read the IoU without background first: background is most of most images, and lifts all the others."
    return Section(title, [Facts(facts), hint])


def listed_classes(report: PixelReport, at_most: int = MANY_CLASSES) -> tuple[list[MaskClassSummary], str]:
    """The classes with the lowest IoU first, and a title."""
    classes = sorted(report.classes, key=lambda entry: (entry.is_background, entry.mean_iou or 0.0, entry.value))
    title = "Classes, the worst first"
    if report.n_classes > at_most:
        title += f": {at_most} of {report.n_classes}"
    return classes[:at_most], title


def _classes(report: PixelReport) -> Section:
    listed, title = listed_classes(report)
    total = sum(entry.n_pixels for entry in report.classes)
    rows = [
        [
            entry.name + (" (background)" if entry.is_background else ""),
            entry.n_samples,
            percent(entry.n_pixels, total),
            *(shown_number(value) for value in (entry.mean_iou, entry.mean_dice, entry.iou, entry.dice)),
        ]
        for entry in listed
    ]
    header = ["class", documents(report), "pixels", "mean IoU", "mean Dice", "IoU of all", "Dice of all"]
    title += f" (mean over {documents(report)}; of all pixels together)"
    return Section(title, [Table(header, rows)], ("classes",))


def _annotators(report: PixelReport) -> Section:
    rows = [
        [entry.name, entry.n_assigned, entry.n_not_assigned, shown_number(entry.score)] for entry in report.annotators
    ]
    facts = []
    for entry in report.annotators:
        largest = sorted(entry.classes.items(), key=lambda item: (-item[1], item[0]))[:_SHARES]
        facts.append((entry.name, ", ".join(f"{name} {100.0 * share:.1f} %" for name, share in largest)))
    table = Table(["annotator", "masks", "without", "score with the others"], rows)
    parts: list[Part] = [table]
    if any(shares for _, shares in facts):
        parts += ["Largest shares of their pixels", Facts([fact for fact in facts if fact[1]])]
    return Section("Annotators", parts)


def _pairs(report: PixelReport) -> Section:
    shown_pairs, title = best_and_worst(report.pairs)
    header = ["a", "b", documents(report), "score", "IoU", "IoU+bg", "Dice", "alpha", "accuracy", "kappa"]
    if report.config["boundaries"]:
        header += ["boundary IoU", "surface Dice", "HD95"]
    rows = []
    for pair in shown_pairs:
        mean = pair.mean
        numbers = [pair.score, mean.iou, mean.iou_with_background, mean.dice, pair.alpha, pair.accuracy, pair.kappa]
        if report.config["boundaries"]:
            numbers += [mean.boundary_iou, mean.surface_dice, mean.hd95]
        rows.append([pair.a, pair.b, pair.n_samples, *map(shown_number, numbers)])
    return Section(title, [Table(header, rows)], ("pairs",))
