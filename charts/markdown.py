"""A report as Markdown, for the App."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .text import best_and_worst_pairs, shown_number

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport


def report_markdown(report: AgreementReport) -> str:
    """The report's main numbers as Markdown."""
    alpha, existence = report.alpha, report.existence
    given, local = report.class_given_match, report.localisation
    undefined = sum(alpha.undefined.values())
    lines = [
        f"Run `{report.run_key}`: **score {shown_number(report.score.mean)}** (mean over {report.score.n} samples) · "
        f"**Krippendorff's α {shown_number(alpha.pooled)}** (mean per image {shown_number(alpha.mean)}, defined on "
        f"{alpha.n_defined}, undefined on {undefined})",
        "",
        f"{report.n_objects} labels of {len(report.annotators)} annotators on {report.n_rated} rated samples are "
        f"{report.n_units} objects.",
        "",
        *_table(
            ["Question", "Answer"],
            [
                ["Do they see the same objects?", f"F1 {shown_number(existence.f1)}"],
                ["Do they name a shared object alike?", f"α {shown_number(given.alpha)} over {given.n_units} objects"],
                ["Do they draw a shared object alike?", f"mean IoU {shown_number(local.mean_iou)}"],
            ],
        ),
        "",
        *_table(
            ["Annotator", "Labels", "Agreed", "Class conflict", "Others missed it", "Only theirs", "Missed by them"],
            [[entry.name, entry.n_objects, *entry.verdicts.values(), entry.n_missed] for entry in report.annotators],
        ),
        "",
        *_table(
            ["Pair", "Samples", "Score", "α", "F1", "Mean IoU"],
            [
                [
                    f"{pair.a} – {pair.b}",
                    pair.n_samples,
                    *(shown_number(value) for value in (pair.score, pair.alpha, pair.f1, pair.mean_iou)),
                ]
                for pair in best_and_worst_pairs(report)[0]
            ],
        ),
    ]
    if report.worst_samples:
        lines += [
            "",
            "**Where to look first**",
            "",
            *_table(
                ["Score", "Disputed objects", "Sample", "File"],
                [
                    [
                        shown_number(entry["score"]),
                        f"{entry['n_disputed']} of {entry['n_units']}",
                        f"`{entry['id']}`",
                        (entry["filepath"] or "-").rsplit("/", 1)[-1],
                    ]
                    for entry in report.worst_samples
                ],
            ),
        ]
    return "\n".join(lines)


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
