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


def _is_of_resamples(key: tuple[str, ...]) -> bool:
    """Whether a number of resampled samples is that of a report on them.

    The alpha of images is not: its expected distances are those of pairs of different images, which a report on an
    image and its copies would compare otherwise. The chance of some coefficients depends on the number of categories
    of the whole data, which a resample may not all have.
    """
    return not key[-1].startswith("image_alpha") and not key[-1].endswith(("ac1", "brennan_prediger"))


def interval_keys(report: AgreementReport) -> Iterator[tuple[str, ...]]:
    """Keys of all numbers of a report that have an interval."""
    yield from ((name,) for name in report.intervals)
    for part in ("pairs", "annotators", "classes", "tags"):
        for entry in getattr(report, part, []):
            names = (entry.a, entry.b) if part == "pairs" else (_name(entry),)
            yield from ((part, *names, name) for name in entry.intervals)
            for own in ("bias", "consensus"):
                found = getattr(getattr(entry, own, None), "intervals", {})
                yield from ((part, *names, own, name) for name in found)
    yield from (("sessions", name) for name in getattr(getattr(report, "sessions", None), "intervals", {}))


def _name(entry: Any) -> str:
    for field in ("tag", "value", "name"):
        if hasattr(entry, field):
            return str(getattr(entry, field))
    raise AssertionError(entry)


def proportion_of_none(n: int) -> float:
    """The upper end of scipy's interval of Wilson of 0 of ``n``."""
    return float(stats.binomtest(0, n).proportion_ci(method="wilson").high)


def _wilson(share: float, n: float) -> list[float]:
    """The two shares that a test against them at 5 % just does not reject, by their quadratic equation."""
    z = stats.norm.ppf(0.975)
    return sorted(np.roots([n + z * z, -(2 * n * share + z * z), n * share**2]).tolist())


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
    others, or fewer than five draws do; other numbers have no interval if no sample differs.

    Args:
        key: of the number
        interval: the interval
        estimate: the number
        resampled: the number in every resample, nan where undefined
        left_out: the number without each of the samples
        rates: whether scores are shares of pairs that agree
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
            expected = np.array(_wilson(estimate, n_draws))
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=0, abs=1e-9), key
    assert interval.error == pytest.approx(defined.std(ddof=1), rel=0, abs=1e-9)


def check_intervals(records: Any, context: ReportContext, build: Callable, contents: Callable) -> list[tuple[str, ...]]:
    """Compare all intervals of a report with those of reports on resampled samples, or videos.

    Args:
        records: of the samples
        context: with a small number of resamples
        build: the report from records and context
        contents: what tells samples apart

    Returns:
        keys of the numbers with an interval
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
    keys = [key for key in interval_keys(report) if _is_of_resamples(key)]
    for key in keys:
        interval = interval_of(report, key)
        assert interval is not None
        resampled, others = (np.array([number_of(each, key) for each in found]) for found in (values, left_out))
        check_interval(key, interval, number_of(report, key), resampled, others, rates=records.family == "ratings")
    return keys


NAN = math.nan

#: what tells entries of the lists of a report apart
_NAMES = {"pairs": ("a", "b"), "classes": ("name",), "annotators": ("name",), "tags": ("tag",)}


def number_of(report: AgreementReport, key: tuple[str, ...]) -> float:
    """A number of a report; nan where it is undefined or not there."""
    if key[0].startswith("attributes."):
        _, attribute, number = key[0].split(".")
        found = {entry.name: entry for entry in report.attributes}  # type: ignore[attr-defined]
        return _value(found[attribute], [number])
    if len(key) == 1:
        return _value(report, key[0].split("."))
    if key[0] == "sessions":
        return _of_sessions(report, key[1])
    names = _NAMES[key[0]]
    entry = _entry(report, key)
    return NAN if entry is None else _value(entry, ".".join(key[1 + len(names) :]).split("."))


def interval_of(report: AgreementReport, key: tuple[str, ...]) -> Interval | None:
    """The interval of the number."""
    if len(key) == 1:
        return report.intervals.get(key[0])
    owner = report.sessions if key[0] == "sessions" else _entry(report, key)  # type: ignore[attr-defined]
    for name in key[1 + len(_NAMES.get(key[0], ())) : -1]:
        owner = getattr(owner, name)
    return None if owner is None else owner.intervals.get(key[-1])


def _entry(report: AgreementReport, key: tuple[str, ...]) -> Any:
    names = _NAMES[key[0]]
    wanted = key[1 : 1 + len(names)]
    entries = getattr(report, key[0])
    if report.family == "pixels" and key[0] == "classes":
        return next((entry for entry in entries if (str(entry.value),) == wanted), None)
    return next((entry for entry in entries if tuple(getattr(entry, name) for name in names) == wanted), None)


def _value(owner: Any, path: list[str]) -> float:
    if path[0] == "bias":
        return NAN if owner.bias is None else owner.bias.mean[path[1]]
    for name in ".".join(path).split("."):
        owner = owner.get(name) if isinstance(owner, dict) else None if owner is None else getattr(owner, name)
    return NAN if owner is None else owner


def _of_sessions(report: Any, name: str) -> float:
    kind, _, number = name.partition("_")
    if kind != "difference":
        return _value(report.sessions, [name])
    return _value(report.sessions, [f"intra_{number}"]) - _value(report.sessions, [f"inter_{number}"])
