"""What the Markdown of a report says on semantic masks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .pairs import best_and_worst
from .pixel_text import listed_classes, shown_background
from .tables import documents, markdown_table, percent, shown_number

if TYPE_CHECKING:
    from ..agreement.pixels.report import PixelReport

_CLASSES = 20


def pixel_markdown(report: PixelReport) -> list[str]:
    """The main numbers on masks, as lines."""
    mean = report.mean
    answers = [
        ["How far do classes overlap?", f"IoU {shown_number(mean.iou)}, Dice {shown_number(mean.dice)}"],
        ["… with background as a class?", f"IoU {shown_number(mean.iou_with_background)}"],
        ["How many pixels are alike?", f"{shown_number(report.alpha.percent_agreement)}"],
        ["… beyond chance?", f"Cohen's κ {shown_number(report.kappa)}"],
    ]
    if report.config["boundaries"]:
        answers.append(
            [
                "How close are the boundaries?",
                f"surface Dice {shown_number(mean.surface_dice)}, boundary IoU {shown_number(mean.boundary_iou)}, "
                f"HD95 {shown_number(mean.hd95, 1)} pixels",
            ]
        )
    listed, title = listed_classes(report, _CLASSES)
    return [
        f"{report.n_objects} masks of {len(report.annotators)} annotators on {report.n_rated} rated "
        f"{documents(report)}; background: {shown_background(report)}; ignored: "
        f"{percent(report.n_ignored, report.n_pixels + report.n_ignored)} of the pixels.",
        "",
        *markdown_table(["Question", "Answer"], answers),
        "",
        *markdown_table(
            [title, documents(report).capitalize(), "Mean IoU", "Mean Dice", "IoU of all pixels"],
            [
                [
                    entry.name + (" (background)" if entry.is_background else ""),
                    entry.n_samples,
                    *(shown_number(value) for value in (entry.mean_iou, entry.mean_dice, entry.iou)),
                ]
                for entry in listed
            ],
        ),
        "",
        *markdown_table(
            ["Annotator", "Masks", "Score with the others"],
            [[entry.name, entry.n_assigned, shown_number(entry.score)] for entry in report.annotators],
        ),
        "",
        *markdown_table(
            ["Pair", documents(report).capitalize(), "Score", "α", "Accuracy", "Cohen's κ"],
            [
                [
                    f"{pair.a} – {pair.b}",
                    pair.n_samples,
                    *(shown_number(value) for value in (pair.score, pair.alpha, pair.accuracy, pair.kappa)),
                ]
                for pair in best_and_worst(report.pairs)[0]
            ],
        ),
    ]
