"""From numbers to a report: values, intervals (samples are resampled, the matching stays), warnings, assembly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from ...metrics.bootstrap.confidence import (
    MIN_SAMPLES,
    MOST_RESAMPLED,
    ROUNDING,
    ConfidenceIntervals,
    Resampling,
    bootstrap_parts,
    delta_intervals,
    sums_of_clusters,
    wilson_interval,
)
from ...metrics.bootstrap.draws import (
    ColumnMoments,
    Draws,
    Part,
    hstack,
    n_given,
)
from ...metrics.numeric.arrays import FloatArray, IntArray
from ..evidence.ranking import name_of
from ..settings.annotators import spelt_alike
from ..settings.errors import shown
from ..settings.no_labels import OtherReading, opposite, reading_warning
from .codes import NO_LABEL, are_without_class
from .numbers import BySample, Key, Numbers, ratio
from .records import Hashes, Records, content_ranks
from .report import AgreementReport, Interval, ReportContext, ScoreSummary, number, read
from .values import part_types

#: annotators that a warning names
_MOST_NAMED = 5
R = TypeVar("R", bound=Records)
P = TypeVar("P", bound=AgreementReport)
#: numbers that all families have: quotients of two columns, by name
_OF_SAMPLES = {
    "score.mean": ("score", "n_scored"),
    "share_full_agreement": ("agreed", "rated"),
    "score.of_meetings": ("score_of_meetings", "n_meetings"),
}
#: shares of cases (yes or no), by the last part of their name; unlike means of similarities, they are binomial
_SHARES = {
    *("share_full_agreement", "percent_agreement", "share_present", "share", "same_tags", "accuracy"),
    *(
        "f1",
        "jaccard",
        "precision",
        "recall",
        "class_precision",
        "class_recall",
        "class_jaccard",
        "class_accuracy",
        "rq",
        "prevalence",
        "model",  # F1 of a model, and of annotators, with the same others
        "annotators",
        "miss_rate",
        "class_errors",
        "other_class",
        "class_agreement",
        "agreement_given_match",
    ),
}
#: means of similarities and parts of sums, between 0 and 1 too
_SIMILARITIES = {
    *("mean_iou", "mean_dice", "iou", "dice", "iou_with_background", "dice_with_background", "boundary_iou"),
    *("surface_dice", "visibility", "median_iou", "pq", "sq", "model_pq", "annotators_pq", "share_of_disagreement"),
}
_OF_SHARES = ("miss_rate_by_size.", "verdict_shares.")
#: difference of two shares, from -1 to 1
_DIFFERENCE = "difference"
#: coefficients and means, of which 1 is the most: 1 - value is nearly a multiple of the disagreement
_COEFFICIENTS = {
    *("alpha", "pooled", "image_alpha", "kappa", "fleiss_kappa", "ac1", "brennan_prediger", "icc", "score"),
    *("map", "map_50", "map_75"),
}
_MEANS = {"score.mean", "alpha.mean", "image_alpha.value"}
#: a share with fewer (effective) draws of either outcome than this has Wilson's interval
_FEW_DRAWS = 5
#: numbers are resampled together until their columns take this many bytes; the draws do not depend on it
BYTES_AT_ONCE = 2**24


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; None without an interval."""

    value: float
    interval: Interval | None


def sample_numbers(records: Records) -> Numbers:
    """The numbers of samples that all families have; samples that are not rated have rows of zeros."""
    values = records.sample_values()
    rated = values.n_annotators >= 2
    scored = rated & ~np.isnan(values.score)
    agreed = rated & (values.n_disputed == 0)
    score = np.where(scored, values.score, 0.0)
    # on a scored sample every two annotators have a score
    n_meetings = np.where(scored, values.n_annotators * (values.n_annotators - 1) // 2, 0)
    found = {"score": score, "n_scored": scored, "score_of_meetings": score * n_meetings, "n_meetings": n_meetings}
    found |= {"agreed": agreed, "rated": rated}
    columns = np.column_stack([found[name] for names in _OF_SAMPLES.values() for name in names]).astype(np.float64)
    keys = tuple((name,) for name in _OF_SAMPLES)
    below = 2 * np.arange(len(keys)) + 1
    return Numbers(
        keys,
        hstack([columns]),
        lambda sums: ratio(sums[..., ::2], sums[..., 1::2]),
        compared=below,
        scores_are_shares=records.scores_are_shares,
    )


def rated_only(records: R, context: ReportContext) -> tuple[R, ReportContext]:
    """Keep the rated samples (at least two assigned annotators): numbers and resampling use only these."""
    rated = records.rated
    return (records, context) if rated.all() else (records.select(rated), context.of_samples(rated))


def kept_by_sample(records: Records, context: ReportContext) -> BySample:
    """What is kept of samples for the intervals of a report: rows, moments, or nothing; see :func:`estimates`."""
    if not context.config.resamples:
        return False
    return "moments" if records.n_samples > MOST_RESAMPLED and context.clusters is None else True


def report_estimates(
    numbers: Iterable[Numbers],
    contents: Callable[[], tuple[Hashes, FloatArray]],
    records: Records,
    context: ReportContext,
) -> dict[Key, Estimate]:
    """The numbers of a report, with intervals according to the options.

    Args:
        numbers: the numbers, of rated samples only
        contents: gives the content of these samples, for :func:`~.records.content_ranks`
    """
    config, ranks = context.config, np.arange(records.n_samples)
    if kept_by_sample(records, context) is True:  # moments do not depend on the order
        ranks = content_ranks(*contents(), context.clusters)
    return estimates(numbers, ranks, resamples=config.resamples, seed=config.seed)


def estimates(numbers: Iterable[Numbers], ranks: IntArray, *, resamples: int, seed: int) -> dict[Key, Estimate]:
    """All numbers with their values and intervals.

    A number that rests on some samples alone has an interval from ``MIN_SAMPLES`` of these on. Intervals are
    expanded (:func:`~...metrics.bootstrap.confidence.expanded_tails`). Resamples in which a number is undefined are
    left out. It has no interval if most are, or if leaving out a single sample makes it undefined. For shares
    close to 0 or 1, and where nothing varies, see :func:`_add_found`. Of more than ``MOST_RESAMPLED`` samples (videos,
    groups) intervals come from the delta method: resampling would take long, and need all columns in memory.

    Args:
        ranks: shape ``(S,)``, rank of every sample, or of its video or group: samples of one rank are resampled
            together. See :func:`~.records.content_ranks`
        resamples: number of resamples; 0 for no intervals
    """
    total: dict[Key, Estimate] = {}
    waiting: list[Numbers] = []
    n_bytes = 0
    draws = Draws(int(ranks.max(initial=-1)) + 1, resamples, seed)
    for each in numbers:
        values = each.values().tolist()
        total |= {key: Estimate(value, None) for key, value in zip(each.keys, values, strict=True)}
        if not resamples or not each.by_sample:
            continue
        if draws.n_samples > MOST_RESAMPLED:
            _add_delta_intervals(total, each, ranks, draws.n_samples)
            continue
        waiting.append(each)
        n_bytes += each.rows.data.nbytes + each.rows.indices.nbytes
        if n_bytes > BYTES_AT_ONCE:
            _add_intervals(total, waiting, ranks, draws, seed)
            waiting, n_bytes = [], 0
    if waiting:
        _add_intervals(total, waiting, ranks, draws, seed)
    return total


def _add_intervals(
    total: dict[Key, Estimate], numbers: Sequence[Numbers], ranks: IntArray, draws: Draws, seed: int
) -> None:
    n_drawn = draws.n_samples
    alone = n_drawn == len(ranks)
    about = [
        np.full(len(each.keys), n_drawn) if each.basis is None else _samples_of(each, each.basis, ranks, n_drawn)
        for each in numbers
    ]
    resampled = [(each, n) for each, n in zip(numbers, about, strict=True) if (n >= _least(each)).any()]
    used = [n if each.compared is None else _samples_of(each, each.compared, ranks, n_drawn) for each, n in resampled]
    parts = [
        Part(
            each.rows,
            each.formula,
            _row_ranks(ranks, each.samples) if alone else each.samples,
            n_used,
        )
        for (each, _), n_used in zip(resampled, used, strict=True)
    ]
    resampling = Resampling(draws.resamples, seed, clusters=None if alone else ranks)
    intervals = bootstrap_parts(parts, len(ranks), resampling, draws)
    for (each, n), n_used, found in zip(resampled, used, intervals, strict=True):
        _add_found(total, each, n, n_used, found, _FEW_DRAWS)


def _add_delta_intervals(total: dict[Key, Estimate], numbers: Numbers, ranks: IntArray, n_drawn: int) -> None:
    moments = numbers.columns
    if not isinstance(moments, ColumnMoments):
        rows = moments if n_drawn == len(ranks) else sums_of_clusters(moments, _row_ranks(ranks, numbers.samples))
        moments = ColumnMoments.of(rows)
    n_all = np.full(len(numbers.keys), n_drawn)
    n = n_all if numbers.basis is None else moments.n_given[numbers.basis]
    n_used = n if numbers.compared is None else moments.n_given[numbers.compared]
    found = delta_intervals(moments, numbers.formula, n_drawn, n_used)
    if not numbers.is_difference:
        # Sums of rare disagreement are skewed, which resampling sees: limits at equal distances are too high, and may
        # be above 1 where few samples decide. So those of numbers that are no shares and are 1 at most are computed for
        # log(1 - value).
        names, distance = [key[-1] for key in numbers.keys], 1.0 - found.estimate
        chosen = np.array(
            [name in _MEANS or _last_part(name) in _COEFFICIENTS | _SIMILARITIES for name in names], np.bool_
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (
                np.where(chosen & (distance > 0), 1.0 - distance * np.exp((found.estimate - end) / distance), end)
                for end in (found.bca_low, found.bca_high)
            )
        found = replace(found, bca_low=low, bca_high=high)
    _add_found(total, numbers, n, n_used, found, np.inf)


def _add_found(
    total: dict[Key, Estimate], numbers: Numbers, n: IntArray, n_used: IntArray, found: ConfidenceIntervals, few: float
) -> None:
    """Add the intervals of numbers that use enough samples ``n``; None if undefined.

    BCa limits, or percentiles where BCa is undefined. In simulations (``tests/metrics/test_coverage.py``) both cover
    equally well, but BCa intervals that miss the truth lie more evenly above and below it. Resampling cannot draw what
    did not occur, so shares have intervals of binomial shares (Wilson) where that matters:

    - If all samples give the same value, up to a share ``u`` of them (the upper end of Wilson's interval of 0 of
      ``n``) may still differ, with any value: ``[0, u]`` for 0 and ``[1 - u, 1]`` for 1. The difference of two shares
      that are equal on all samples is in ``[-u, u]``. Other numbers have no interval then.
    - The share of fewer than ``few`` draws, or of all but so few, has Wilson's interval of the effective number of
      draws, ``p (1 - p) / s²`` with the standard error ``s`` of the jackknife: draws on one sample count as far as they
      are independent.

    Args:
        n_used: samples (videos, groups) that every number uses; of agreement on classes, those with a shared object
        found: the intervals of all these numbers
        few: a share of fewer draws has Wilson's interval: infinite by the delta method, whose limits may leave [0, 1]
    """
    for place, key in enumerate(numbers.keys):
        low, high, of_key = float(found.bca_low[place]), float(found.bca_high[place]), int(n_used[place])
        if n[place] < _least(numbers) or np.isnan(low):
            continue
        value, error, lowest = float(found.estimate[place]), float(found.jackknife_error[place]), None
        if not numbers.is_difference:  # 0 for a share, which is between 0 and 1; -1 for a difference of two shares
            is_share = _is_binomial(key[-1], numbers.scores_are_shares)
            lowest = 0.0 if is_share else -1.0 if key[-1] == _DIFFERENCE else None
        if error <= ROUNDING * max(1.0, abs(value)):
            if lowest is None or not of_key:
                continue
            most = wilson_interval(0.0, of_key)[1]
            low, high = value + (lowest - value) * most, value + (1.0 - value) * most
        elif lowest == 0 and 0 < value < 1:
            n_draws = value * (1 - value) / error**2
            if n_draws * min(value, 1 - value) < few:
                low, high = wilson_interval(value, n_draws)
        interval = Interval(low, high, number(found.standard_error[place]), of_key)
        total[key] = replace(total[key], interval=interval)


def _least(numbers: Numbers) -> int:
    """Minimum number of samples for an interval."""
    return numbers.least if numbers.basis is None else MIN_SAMPLES


def _row_ranks(ranks: IntArray, samples: IntArray | None) -> IntArray:
    return ranks if samples is None else ranks[samples]


def _samples_of(numbers: Numbers, basis: IntArray, ranks: IntArray, n_drawn: int) -> IntArray:
    """Number of samples (videos, groups) in which a column of every number is not 0, shape ``(V,)``."""
    if n_drawn == len(ranks):
        return n_given(numbers.columns)[basis]
    columns = numbers.rows[:, basis].tocoo()
    given = columns.data != 0
    n_values = len(numbers.keys)
    drawn = _row_ranks(ranks, numbers.samples)[columns.row[given]]
    once = np.unique(drawn * n_values + columns.col[given])
    return np.bincount(once % n_values, minlength=n_values)


def is_share_name(name: str) -> bool:
    """True for the key of a number between 0 and 1."""
    last = _last_part(name)
    return (
        last != "n"
        and not name.startswith("classes.")
        and (_is_binomial(name, scores_are_shares=True) or last in _SIMILARITIES)
    )


def _is_binomial(name: str, scores_are_shares: bool) -> bool:
    is_score = scores_are_shares and (name.startswith("score.") or _last_part(name) == "score")
    return is_score or _last_part(name) in _SHARES or name.startswith(_OF_SHARES)


def _last_part(name: str) -> str:
    return name.rpartition(".")[2].removeprefix("intra_").removeprefix("inter_")


def are_resampled(intervals: Mapping[str, Interval]) -> bool:
    """True if intervals of the main numbers come from resampling; one of these uses all rated samples."""
    return max((each.n for each in intervals.values()), default=0) <= MOST_RESAMPLED


class Fields:
    """Numbers by the part of a report that they belong to, as fields of its dataclass.

    The number with the key ``("pairs", "alice", "bob", "f1")`` is the field ``f1`` of the pair; its interval is the
    entry ``f1`` of the pair's field ``intervals``. A name with dots is a field of a field: ``"alpha.pooled"``.
    """

    def __init__(self, found: Mapping[Key, Estimate]) -> None:
        self._of: dict[Key, dict[str, Estimate]] = defaultdict(dict)
        for key, estimate in found.items():
            self._of[key[:-1]][key[-1]] = estimate

    def of(self, *part: str) -> dict[str, Any]:
        """The fields of one part, or of the report itself if no part is given. Undefined numbers are None."""
        fields: dict[str, Any] = {}
        for name, estimate in self._of.get(part, {}).items():
            *path, last = name.split(".")
            owner = fields
            for step in path:
                owner = owner.setdefault(step, {})
            owner[last] = number(estimate.value)
        return {**fields, "intervals": self.intervals(*part)}

    def intervals(self, *part: str) -> dict[str, Interval]:
        """The existing intervals of the numbers of one part, by name."""
        found = self._of.get(part, {})
        return {name: each.interval for name, each in found.items() if each.interval is not None}


def report_of(kind: type[P], fields: Fields, records: Records, context: ReportContext, **parts: Any) -> P:
    """A report: the fields of all families, the numbers in the fields with their names, and the given parts.

    Annotators and pairs are in the order of the annotators; in natural order (2 before 10) if that is alphabetical.
    The warnings are derived from the finished report.
    """
    own, config = fields.of(), context.config
    names, n_clusters = list(context.annotators), np.unique(() if context.clusters is None else context.clusters).size
    is_grouped = context.run.n_videos is None and 0 < n_clusters < records.n_samples
    if names == sorted(names):  # by name, not an order that the user gave
        parts |= {part: sorted(parts[part], key=name_of) for part in ("annotators", "pairs")}
    scores, intervals = own.pop("score"), own.pop("intervals")
    of_kind: Any = kind
    of_parts = part_types(of_kind)
    numbers = {
        name: read(of_parts[name], value) if name in of_parts else value
        for name, value in own.items()
        if name not in parts
    }
    report = kind(
        run_key=config.run_key,
        config=config.to_dict(),
        label_types=list(context.label_types),
        n_samples=records.n_samples,
        score=ScoreSummary(**scores, n=int(np.count_nonzero(~np.isnan(records.column("score"))))),
        worst_samples=context.worst_samples,
        run=replace(context.run, n_groups=n_clusters if is_grouped else None),
        intervals=intervals,
        **numbers,
        **parts,
    )
    return replace(report, warnings=list(_warnings(report, records, context)))


def _without_class(report: AgreementReport) -> Iterator[str]:
    """Note on the labels without a class, by annotator, where others have one."""
    counts = ((entry.name, entry.classes.get(NO_LABEL)) for entry in report.annotators)
    found = {name: n for name, n in counts if isinstance(n, int) and n}  # masks have shares of classes
    n = sum(found.values())
    if n:
        who = ", ".join(f"{name} {of:,}" for name, of in sorted(found.items(), key=lambda item: -item[1])[:_MOST_NAMED])
        verb, more = ("has", "") if n == 1 else ("have", ", …" if len(found) > _MOST_NAMED else "")
        label = "label" if n == 1 else "labels"
        yield f"{n:,} {label} {verb} no class ({who}{more}), which was compared as a class of its own, {NO_LABEL!r}"


def _warnings(report: AgreementReport, records: Records, context: ReportContext) -> Iterator[str]:
    what = "images" if report.run.n_videos is None else "frames"
    assigned = records.assigned.sum(axis=0).tolist()
    if not any(assigned):
        yield f"Nothing was compared: nobody was assigned to any of the {report.n_samples:,} {what}"
    elif len(context.annotators) < 2:
        pass  # a single annotator is compared with a reference or model
    elif not report.n_rated:
        of_annotators = ", ".join(f"{name} {n:,}" for name, n in zip(context.annotators, assigned, strict=True))
        yield f"Nothing was compared: no two annotators were assigned to the same one of the {what} ({of_annotators})"
    elif not report.score.n:
        rated = f"{report.n_rated:,} {what if report.n_rated > 1 else what.removesuffix('s')}"
        yield (
            f"Nothing was compared: nobody drew anything that counts on the {rated} that two or more annotators were "
            "assigned to"
        )
    if report.run.chosen_by is not None:
        yield (
            f"The numbers hold for these {what} alone: the results of the run {report.run.chosen_by!r} chose them, or "
            "their labels"
        )
    if report.run.filtered:
        yield (
            f"The view filters the labels of {shown(map(repr, report.run.filtered))} but not those of the others: what "
            "it leaves out counts as not drawn; filter the labels of all annotators alike"
        )
    if report.run.unread:
        whose = shown(f"{name} {n:,}" for name, n in report.run.unread.items())
        yield (
            f"Some labels could not be read when they were imported, on so many {what} of an annotator: {whose}; where "
            "none could be read they count as not assigned, elsewhere what was not read counts as not drawn"
        )
    if "n_in_another_order" in records.parts[0] and (
        n := int(records.column("n_in_another_order").sum(dtype=np.int64))
    ):
        yield (
            f"{n:,} labels that match nothing have their points at those of another annotator's label, but in another "
            "order: the first point is compared with the first, the second with the second; begin at the same one"
        )
    if are_without_class(context.class_names):
        yield "Nothing is said about classes: every label is without one (`label` is None)"
    else:
        yield from _without_class(report)
    for names_of, of in ((context.annotators, "annotators"), (context.class_names, "classes")):
        yield from (question for _, question in islice(spelt_alike(map(str, names_of), of), _MOST_NAMED))
    other = report.other_reading
    if other is not None:
        f1 = getattr(getattr(report, "existence", None), "f1", None)
        alpha = next(each for each in report.main_numbers if each.key == "alpha.pooled")
        warning = reading_warning(other, (alpha.title, report.alpha.pooled), f1, what)
        if warning is not None:
            yield warning


def other_reading(
    records: Records, context: ReportContext, numbers: Mapping[str, float], n_alpha: int = 0
) -> OtherReading:
    """The main numbers under the other reading of null lists.

    Args:
        numbers: the numbers by their name in the report, nan where undefined
        n_alpha: samples with an alpha of their own
    """
    otherwise, assigned = records.otherwise, records.assigned
    differ = otherwise != assigned
    drew = dict(zip(context.annotators, (assigned & differ).any(axis=0).tolist(), strict=True))
    concerned = differ.any(axis=0).tolist()
    return OtherReading(
        no_labels=opposite(context.config.no_labels, drew),
        n_samples=int(differ.any(axis=1).sum()),
        annotators=[name for name, is_one in zip(context.annotators, concerned, strict=True) if is_one],
        n_rated=int((otherwise.sum(axis=1) >= 2).sum()),
        score=number(numbers["score"]),
        alpha=number(numbers["alpha"]),
        mean_alpha=number(numbers.get("mean_alpha", np.nan)),
        n_alpha=n_alpha,
        f1=number(numbers.get("f1", np.nan)),
    )
