"""Expected intervals of a report, computed from one full report for each resample of the samples."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

from annotator_agreement.agreement import AgreementReport
from annotator_agreement.agreement.statistics import Interval, ReportContext, content_ranks

NAN = math.nan


def interval_keys(report: AgreementReport) -> Iterator[tuple[str, ...]]:
    """Keys of all numbers of a report that have an interval."""
    yield from ((name,) for name in report.intervals)
    for part in ("pairs", "annotators", "classes", "tags"):
        for entry in getattr(report, part, []):
            for own in ((), ("bias",), ("consensus",)):
                found = getattr(getattr(entry, *own, None) if own else entry, "intervals", {})
                yield from ((part, *_names(entry), *own, name) for name in found)
    yield from (("sessions", name) for name in getattr(getattr(report, "sessions", None), "intervals", {}))


def _names(entry: Any) -> tuple[str, ...]:
    """What tells entries of a list of a report apart."""
    if hasattr(entry, "a"):
        return entry.a, entry.b
    return (str(next(getattr(entry, field) for field in ("tag", "value", "name") if hasattr(entry, field))),)


def _owner(report: Any, key: tuple[str, ...]) -> Any:
    """What has a number: the report, its sessions, an entry of a list or a part of it; None if it is not there."""
    if len(key) == 1:
        return report
    if key[0] == "sessions":
        return report.sessions
    n = 3 if key[0] == "pairs" else 2
    owner = next((entry for entry in getattr(report, key[0]) if _names(entry) == key[1:n]), None)
    return owner if owner is None or len(key) == n + 1 else getattr(owner, key[n].split(".")[0], None)


def interval_of(report: AgreementReport, key: tuple[str, ...]) -> Interval | None:
    """The interval of a number."""
    owner = _owner(report, key)
    return None if owner is None else owner.intervals.get(key[-1])


def number_of(report: AgreementReport, key: tuple[str, ...]) -> float:
    """A number of a report; nan where it is undefined or not there."""
    owner, path = _owner(report, key), key[-1].split(".")
    if path[0] == "attributes":
        owner, path = next(entry for entry in owner.attributes if entry.name == path[1]), path[2:]
    if key[0] == "sessions" and path[0].startswith("difference_"):
        intra, inter = (number_of(report, (key[0], path[0].replace("difference", kind))) for kind in ("intra", "inter"))
        return intra - inter
    if "bias" in key:
        owner = getattr(owner, "mean", None)
    for name in path:
        owner = owner.get(name) if isinstance(owner, dict) else None if owner is None else getattr(owner, name)
    return NAN if owner is None else owner


def proportion_of_none(n: int) -> float:
    """The upper end of scipy's interval of Wilson of 0 of ``n``."""
    return float(stats.binomtest(0, n).proportion_ci(method="wilson").high)


def _is_share(key: tuple[str, ...], *, rates: bool) -> bool:
    """Whether a number is a share of things that are so among all.

    No share is a coefficient corrected for chance, a difference of counts or boxes, or a mean of similarities; a score
    is one of pairs that agree where annotators rate.
    """
    parts = [part for name in key[-1:] for part in name.split(".")]
    other = {"kappa", "ac1", "brennan_prediger", "fleiss_kappa", "icc", "vitality", "hd95"}
    if parts[-1] == "percent_agreement":
        return True
    means = ("iou", "dice", "visibility", *(() if rates else ("score",)))
    if any(mean in part for mean in means for part in parts):
        return False
    no_shares = any("alpha" in part or "count" in part or part.startswith("difference_") for part in parts)
    return not (no_shares or other & set(parts) or "bias" in key)


def check_interval(
    key: tuple[str, ...],
    interval: Interval,
    estimate: float,
    resampled: np.ndarray,
    left_out: np.ndarray,
    *,
    rates: bool = False,
) -> None:
    """Compare an interval with that of Efron and Tibshirani (1993), equations 14.9 to 14.15.

    It is expanded as by Hesterberg (2015). Shares have the interval of Wilson (1927) where no sample differs from the
    others, or fewer than five draws do; other numbers have no interval if no sample differs. ``resampled`` is the
    number in every resample, ``left_out`` without each of the samples; ``rates``: a score is a share of pairs.
    """
    defined = resampled[~np.isnan(resampled)]
    normal = NormalDist()
    below, ties = (defined < estimate - 1e-11).mean(), (np.abs(defined - estimate) <= 1e-11).mean()
    n = max(interval.n, 3)
    reach = stats.t.ppf(0.975, n - 1) * (n / (n - 1)) ** 0.5
    tails = [normal.cdf(-reach), normal.cdf(reach)]
    deviation = left_out.mean() - left_out
    if 0 < below + ties / 2 < 1 and np.abs(deviation).max() > 1e-11:
        bias = normal.inv_cdf(below + ties / 2)
        acceleration = (deviation**3).sum() / (6 * (deviation**2).sum() ** 1.5)
        shifted = [bias + normal.inv_cdf(tail) for tail in tails]
        if all(acceleration * each < 1 for each in shifted):
            tails = [normal.cdf(bias + each / (1 - acceleration * each)) for each in shifted]
    expected = np.quantile(defined, tails)
    error = math.sqrt((len(left_out) - 1) * left_out.var())
    if error < 1e-12:
        assert 0 <= estimate <= 1
        none = proportion_of_none(interval.n)
        expected = np.array([estimate * (1 - none), estimate + (1 - estimate) * none])
    elif 0 < estimate < 1 and _is_share(key, rates=rates):
        n_draws = estimate * (1 - estimate) / error**2
        if n_draws * min(estimate, 1 - estimate) < 5:
            # the two shares that a test against them at 5 % just does not reject, by their quadratic equation
            z2 = stats.norm.ppf(0.975) ** 2
            expected = np.sort(np.roots([n_draws + z2, -(2 * n_draws * estimate + z2), n_draws * estimate**2]))
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0, abs=1e-9), key
    assert interval.error == pytest.approx(defined.std(ddof=1), rel=0, abs=1e-9)


def check_intervals(records: Any, context: ReportContext, build: Callable, contents: Callable) -> list[tuple[str, ...]]:
    """Compare all intervals of a report with those of reports on resampled samples, or videos; returns their keys.

    ``build`` makes a report, and ``contents`` tells samples apart; the context should have few resamples.
    """
    report = build(records, context)
    config = context.config
    without = dataclasses.replace(context, config=dataclasses.replace(config, resamples=0), clusters=None)
    is_rated = records.assigned.sum(axis=1) >= 2
    rated = records.select(is_rated)
    alone = [rated.select(np.arange(rated.n_samples) == k).parts[-1] for k in range(rated.n_samples)]
    clusters = None if context.clusters is None else context.clusters[is_rated]
    ranks = content_ranks(*contents(rated, dataclasses.replace(context, clusters=clusters)), clusters)
    n = len(set(ranks.tolist()))

    def object_report(drawn: list[int]) -> Any:
        rows = [row for rank in drawn for row in np.flatnonzero(ranks == rank)]
        columns = {name: np.concatenate([alone[row][name] for row in rows]) for name in alone[0]}
        return build(dataclasses.replace(rated, parts=(columns,)), without)

    rng = np.random.Generator(np.random.PCG64(config.seed))
    values = [object_report(rng.integers(0, n, n).tolist()) for _ in range(config.resamples)]
    left_out = [object_report([other for other in range(n) if other != k]) for k in range(n)]
    # the alpha of images of resamples is not that of a report on them, whose expected distances are those of pairs of
    # different images, not of an image and its copies; nor is chance that depends on the number of all categories
    keys = [key for key in interval_keys(report) if not key[-1].startswith("image_alpha")
            and not key[-1].endswith(("ac1", "brennan_prediger"))]  # fmt: skip
    for key in keys:
        interval = interval_of(report, key)
        assert interval is not None
        resampled, others = (np.array([number_of(each, key) for each in found]) for found in (values, left_out))
        check_interval(key, interval, number_of(report, key), resampled, others, rates=records.family == "ratings")
    return keys
