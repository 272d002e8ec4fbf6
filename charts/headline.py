"""What stands first in every report: its main numbers with their intervals, and how far they can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import counted, documents, listed, shown_interval, shown_number

if TYPE_CHECKING:
    from ..agreement.report import AgreementReport

#: intervals from fewer samples are rough
FEW_SAMPLES = 20

_UNDEFINED = {
    "one_annotator": "fewer than 2 annotators assigned",
    "no_objects": "nobody drew anything",
    "single_category": "one category only, so there is no variation",
    "no_pairable_values": "no object was drawn by two annotators",
    "no_pixels": "all pixels are ignored",
}
#: what the score of a sample is, by family
SCORES = {
    "objects": "mean panoptic quality",
    "ratings": "mean share of agreeing pairs",
    "tags": "mean Jaccard index of tags",
    "pixels": "mean class IoU without background",
}
#: families whose samples have no alpha of their own
WITHOUT_SAMPLE_ALPHA = ("ratings", "tags")


def headline_numbers(report: AgreementReport) -> list[tuple[str, str, str]]:
    """The main numbers: what each is called, the number with its interval, and what it is."""
    alpha = report.alpha
    numbers = [
        (
            "Score",
            shown_interval(report.score.mean, report.intervals.get("score.mean")),
            f"{SCORES[report.family]} of {report.score.n} {documents(report)} (0: nothing in common, 1: identical)",
        ),
        (
            "Krippendorff's alpha",
            shown_interval(alpha.pooled, report.intervals.get("alpha.pooled")),
            f"over all {alpha.n_units} units (0: as by chance, 1: perfect)",
        ),
    ]
    if report.family not in WITHOUT_SAMPLE_ALPHA:
        where = f"of the {alpha.n_defined} {documents(report)} where it is defined"
        shown = shown_interval(alpha.mean, report.intervals.get("alpha.mean"))
        numbers.append(("  mean over images", shown, where))
    return numbers


def undefined_alphas(report: AgreementReport) -> list[str]:
    """How many samples have no alpha, and why."""
    return [f"{count} ({_UNDEFINED[reason]})" for reason, count in report.alpha.undefined.items() if count]


def interval_notes(report: AgreementReport) -> list[str]:
    """What the intervals are, and a warning where they come from few samples."""
    shown = [entry for entry in report.intervals.values() if entry.low is not None]
    if not shown:
        return []
    n = max(entry.n for entry in shown)
    # of videos whole videos are resampled
    what = "sample" if report.run.n_videos is None else "video"
    notes = [f"[…] are 95 % intervals: what other {what}s of this kind might give ({n:,} resampled)."]
    if n < FEW_SAMPLES:
        notes.append(
            f"Warning: the intervals rest on {counted(n, what)}; with fewer than {FEW_SAMPLES} they "
            "are rough, and usually too narrow."
        )
    return notes


def alpha_sentence(report: AgreementReport) -> str:
    """What the pooled alpha means, by Krippendorff's own limits."""
    alpha, interval = report.alpha.pooled, report.intervals.get("alpha.pooled")
    if alpha is None:
        if getattr(report, "too_many_sets", False):
            return "Alpha was left out: there are too many different sets to compare."
        return "Alpha is undefined: it needs different ratings of things that two annotators rated."
    limits = [(0.8, "reliable"), (0.667, "good enough for tentative conclusions only")]
    place = next((name for limit, name in limits if alpha >= limit), "too low to rely on")
    sentence = f"Alpha is {shown_number(alpha)}: {place}, by Krippendorff's limits of 0.8 and 0.667"
    if interval is not None and interval.low is not None and interval.high is not None:
        within = [f"{limit:g}" for limit, _ in limits if interval.low < limit <= interval.high]
        if within:
            sentence += f"; its interval contains {listed(within)}"
    return sentence + "."
