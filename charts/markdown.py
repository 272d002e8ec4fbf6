"""A report as Markdown, for the App."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .headline import WITHOUT_SAMPLE_ALPHA, alpha_sentence, interval_notes
from .object_markdown import object_markdown
from .pixel_markdown import pixel_markdown
from .rating_markdown import rating_markdown
from .tables import documents, markdown_table, shown_interval, shown_number
from .tag_markdown import tag_markdown

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

_FAMILIES: dict[str, Callable[[Any], list[str]]] = {
    "objects": object_markdown,
    "ratings": rating_markdown,
    "tags": tag_markdown,
    "pixels": pixel_markdown,
}

#: what is disputed in a sample, by family; a rating is one a sample
_DISPUTED = {"objects": "Disputed objects", "tags": "Disputed tags", "pixels": "Disputed classes"}


def report_markdown(report: AgreementReport) -> str:
    """The report's main numbers as Markdown."""
    alpha = report.alpha
    undefined = sum(alpha.undefined.values())
    of_images = (
        f" (mean per image {shown_number(alpha.mean)}, defined on {alpha.n_defined}, undefined on {undefined})"
        if report.family not in WITHOUT_SAMPLE_ALPHA
        else ""
    )
    lines = [
        f"Run `{report.run_key}`: **score {shown_interval(report.score.mean, report.intervals.get('score.mean'))}** "
        f"(mean over {report.score.n} {documents(report)}) · **Krippendorff's α "
        f"{shown_interval(alpha.pooled, report.intervals.get('alpha.pooled'))}**{of_images}",
        "",
        " ".join([alpha_sentence(report), *interval_notes(report)]),
        "",
        *_FAMILIES[report.family](report),
    ]
    if report.worst_samples:
        disputed = [_DISPUTED[report.family]] if report.family in _DISPUTED else []
        lines += [
            "",
            "**Where to look first**",
            "",
            *markdown_table(
                ["Score", *disputed, "Sample", "File"],
                [
                    [
                        shown_number(entry["score"]),
                        *(f"{entry['n_disputed']} of {entry['n_units']}" for _ in disputed),
                        f"`{entry['id']}`",
                        (entry["filepath"] or "-").rsplit("/", 1)[-1]
                        + (f", frame {entry['frame_number']}" if "frame_number" in entry else ""),
                    ]
                    for entry in report.worst_samples
                ],
            ),
        ]
    return "\n".join(lines)
