"""A report as Markdown, for the App."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .object_markdown import object_markdown
from .tables import markdown_table, shown_number

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

_FAMILIES: dict[str, Callable[[Any], list[str]]] = {"objects": object_markdown}


def report_markdown(report: AgreementReport) -> str:
    """The report's main numbers as Markdown."""
    alpha = report.alpha
    undefined = sum(alpha.undefined.values())
    lines = [
        f"Run `{report.run_key}`: **score {shown_number(report.score.mean)}** (mean over {report.score.n} samples) · "
        f"**Krippendorff's α {shown_number(alpha.pooled)}** (mean per image {shown_number(alpha.mean)}, defined on "
        f"{alpha.n_defined}, undefined on {undefined})",
        "",
        *_FAMILIES[report.family](report),
    ]
    if report.worst_samples:
        lines += [
            "",
            "**Where to look first**",
            "",
            *markdown_table(
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
