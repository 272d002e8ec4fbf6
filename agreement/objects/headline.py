"""The headline: alpha and score of all samples, and the three questions of existence, classes and localisation.

Where a number comes from, for example ``report.alpha.pooled``: :func:`tally_columns` gives its columns of every sample;
``_OF_JOINT`` says which coefficient of their sums it is, and :func:`tally_coefficients` computes it with the formula in
``metrics/alpha/__init__.py``; :func:`headline_parts` puts it into the report. Its interval,
``report.intervals["alpha.pooled"]``, is the same formula of resampled sums
(:func:`~..statistics.estimates.estimates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.nominal import nominal_coefficients_of_sums, unit_disagreement
from ...metrics.bootstrap.draws import SparseColumns, sparse
from ...metrics.geometry.objects import dice_from_iou
from ...metrics.matching.merging import TIE
from ...metrics.matching.pairs import f1_score
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..matching.compute import ALPHA_REASONS, sample_alpha, sample_scores
from ..matching.tables import Ratings, Tables
from ..settings.config import AgreementConfig, Undefined
from ..statistics.codes import MISSING
from ..statistics.numbers import Joined, Numbers, quotients, ratio
from ..statistics.report import AlphaSummary, Coefficients, ReportContext, mean_defined
from .classes import listed_by_row
from .records import Gathered, ObjectRecords, count_codes, described_worst, distribution
from .report import ClassGivenMatch, Existence, Localisation

#: pairs of classes listed in a report
MAX_LISTED = 100

#: numbers as quotients of two columns of samples, by name
_RATIOS = {
    "alpha.mean": ("alpha", "n_alpha"),
    "existence.f1": ("twice_matched", "n_a_and_b"),
    "existence.jaccard": ("n_matched", "n_drawn_by_either"),
    "existence.share_present": ("n_drew", "n_assigned"),
    "localisation.mean_iou": ("iou", "n_matched"),
    "localisation.mean_dice": ("dice", "n_matched"),
    "localisation.visibility": ("visibility", "n_visible"),
}
#: coefficients of presence have no interval on fewer images: it would be too narrow if nearly all have objects
MIN_PRESENCE = 20
#: columns of a tally before those of the categories: observed disagreement, share of differing pairs, units
OBSERVED, _DIFFERING, N_UNITS, N_HEAD = range(4)
#: smaller sums of shares are rounding errors of an absent category
_ROUNDING = 1e-9
_COEFFICIENTS = ("ac1", "brennan_prediger", "fleiss_kappa")

#: coefficients of the same ratings: name in the report by name in :func:`tally_coefficients`
_OF_JOINT = {
    "alpha.pooled": "alpha",
    "alpha.percent_agreement": "percent_agreement",
    **{f"coefficients.{name}": name for name in _COEFFICIENTS},
}
_OF_GIVEN_MATCH = {
    "class_given_match.alpha": "alpha",
    "class_given_match.percent_agreement": "percent_agreement",
    **{f"class_given_match.coefficients.{name}": name for name in _COEFFICIENTS},
}
_OF_PRESENCE = {f"existence.presence.{name}": name for name in ("alpha", "percent_agreement", *_COEFFICIENTS)}


def headline_numbers(t: Tables) -> Iterator[Numbers]:
    """The headline numbers; they have no ``basis``, since they rest on all samples."""
    yield quotients("samples", _RATIOS, _sample_columns(t))
    yield _coefficients("joint", _OF_JOINT, t.ratings, t)
    yield _coefficients("given_match", _OF_GIVEN_MATCH, _given_match(t), t)
    # "did the annotator draw anything?" (1 or 0), with rated samples as units
    rated = np.flatnonzero(t.rated)
    n_drew = np.bincount(t.seats.sample[np.unique(t.seats.own)], minlength=t.n_samples)[rated]
    count = np.concatenate([t.n_assigned[rated] - n_drew, n_drew])
    unit, category, given = np.tile(np.arange(len(rated)), 2), np.repeat([0, 1], len(rated)), count > 0
    presence = Ratings(unit[given], category[given], count[given], rated)
    yield replace(_coefficients("presence", _OF_PRESENCE, presence, t, n_categories=2), least=MIN_PRESENCE)


def main_numbers(t: Tables) -> Iterator[Numbers]:
    """Quotients, and alpha and percent agreement of all units and given a match: from half of the columns."""
    yield quotients("samples", _RATIOS, _sample_columns(t))
    undefined = t.config.undefined

    def formula(sums: FloatArray) -> FloatArray:
        alpha = nominal_alpha_of_sums(sums[..., OBSERVED], sums[..., N_HEAD:], undefined)
        return np.stack([alpha, 1.0 - ratio(sums[..., _DIFFERING], sums[..., N_UNITS])], axis=-1)

    for table, names, ratings in (("joint", _OF_JOINT, t.ratings), ("given_match", _OF_GIVEN_MATCH, _given_match(t))):
        keys = tuple((name,) for name, number in names.items() if number in ("alpha", "percent_agreement"))
        columns = tally_columns(ratings, ratings.sample, t.n_samples, t.n_categories)[:, : N_HEAD + t.n_categories]
        units = np.full(len(keys), N_UNITS)
        yield Numbers(keys, columns, formula, compared=units, table=table, n_fixed=N_HEAD)


def _sample_columns(t: Tables) -> dict[str, FloatArray | IntArray]:
    """Columns of samples by name, shape ``(S,)``."""
    n, pairs, meetings, n_matched = t.n_samples, t.pairs, t.sample_pairs, t.n_matched
    visibility = t.part.get("visibility")
    n_a_and_b = sums_by(meetings.sample, meetings.n_a + meetings.n_b, n)
    n_drew = np.bincount(t.seats.sample[np.unique(t.seats.own)], minlength=n)
    return {
        "alpha": np.nan_to_num(t.alpha),
        "n_alpha": ~np.isnan(t.alpha),
        "n_matched": n_matched,
        "twice_matched": 2 * n_matched,
        "n_a_and_b": n_a_and_b,
        "n_drawn_by_either": n_a_and_b - n_matched,
        "n_drew": np.where(t.rated, n_drew, 0),
        "n_assigned": np.where(t.rated, t.n_assigned, 0),
        "iou": sums_by(t.pair_sample, pairs.iou, n),
        "dice": sums_by(t.pair_sample, dice_from_iou(pairs.iou), n),
        "visibility": np.zeros(n) if visibility is None else sums_by(t.pair_sample, visibility, n),
        "n_visible": np.zeros(n) if visibility is None else n_matched,
    }


def _given_match(t: Tables) -> Ratings:
    """The ratings with a class on units with two labels or more."""
    ratings = t.ratings
    given = ratings.category != MISSING
    n_labels = sums_by(ratings.unit[given], ratings.count[given], len(ratings.sample))
    given &= n_labels[ratings.unit] >= 2
    return Ratings(ratings.unit[given], ratings.category[given], ratings.count[given], ratings.sample)


def tally_columns(ratings: Ratings, row: IntArray, n_rows: int, n_categories: int) -> SparseColumns:
    """The columns of alpha and similar coefficients, shape ``(n_rows, 3 + 2 K)``.

    These are, over the units with two ratings or more: observed disagreement of alpha, sum over units of the share of
    pairs of ratings that differ, number of units; then for every category the number of its ratings on these units, and
    the sum over all units of its share of the ratings.

    Args:
        ratings: ratings of units
        row: shape ``(U,)``, row that each unit is added to
        n_rows: number of rows
        n_categories: number ``K`` of category codes
    """
    m, differing = unit_disagreement(ratings.unit, ratings.count, len(row))
    several = m >= 2
    share = np.where(several, differing / np.maximum(m * (m - 1), 1), 0.0)
    of_unit, category, count = ratings.unit, ratings.category, ratings.count
    paired = several[of_unit]
    head = [sums_by(row, values, n_rows) for values in (share * m, share, several.astype(np.int64))]
    return sparse(
        np.concatenate([np.tile(np.arange(n_rows), N_HEAD), row[of_unit[paired]], row[of_unit]]),
        np.concatenate(
            [np.repeat(np.arange(N_HEAD), n_rows), N_HEAD + category[paired], N_HEAD + n_categories + category]
        ),
        np.concatenate([*head, count[paired], count / m[of_unit]]),
        (n_rows, N_HEAD + 2 * n_categories),
    )


def tally_coefficients(
    sums: FloatArray, undefined: Undefined, n_categories: int | None = None
) -> dict[str, FloatArray]:
    """Alpha, percent agreement, AC1, Brennan-Prediger and Fleiss' kappa from sums ``(..., 3 + 2 K)`` of a tally.

    Args:
        n_categories: number of possible categories; by default the number that occurs
    """
    k = (sums.shape[-1] - N_HEAD) // 2
    shares = sums[..., N_HEAD + k :]
    # the share of an absent category is rounding
    shares = np.where(shares > _ROUNDING, shares, 0.0)
    found = nominal_coefficients_of_sums(sums[..., _DIFFERING], sums[..., N_UNITS], shares, n_categories or k)
    alpha = nominal_alpha_of_sums(sums[..., OBSERVED], sums[..., N_HEAD : N_HEAD + k], undefined)
    return {"alpha": alpha, **found._asdict()}


def _coefficients(
    table: str, names: Mapping[str, str], ratings: Ratings, t: Tables, n_categories: int | None = None
) -> Numbers:
    """Alpha and similar coefficients of ratings of units; ``names``: coefficient by key."""
    undefined = t.config.undefined

    def formula(sums: FloatArray) -> FloatArray:
        found = tally_coefficients(sums, undefined, n_categories)
        return np.stack([found[name] for name in names.values()], axis=-1)

    columns = tally_columns(ratings, ratings.sample, t.n_samples, n_categories or t.n_categories)
    keys, units = tuple((name,) for name in names), np.full(len(names), N_UNITS)
    return Numbers(keys, columns, formula, compared=units, table=table, n_fixed=N_HEAD, n_blocks=2)


def headline_otherwise(
    records: ObjectRecords, n_categories: int, config: AgreementConfig
) -> tuple[dict[str, float], int]:
    """The main numbers that the same units would give if null label lists meant the opposite.

    Returns:
        the numbers as :class:`~..settings.no_labels.OtherReading` calls them, nan where undefined, and how many samples
        have an alpha of their own
    """
    joined, scores = Joined(by_sample=False), []
    for read in records.tables(config):
        part = {**read.part, "assigned": read.part["otherwise"]}
        t = Tables(part, records.n_annotators, config, n_categories=n_categories)
        part["alpha"] = sample_alpha(t)[0]
        joined.add(0, main_numbers(t), t.n_samples)
        scores.append(np.column_stack([sample_scores(t.pair_score, t.sample_pairs, t.n_samples), t.alpha]))
    value = {
        name: number
        for numbers in joined.numbers()
        for (name,), number in zip(numbers.keys, numbers.values().tolist(), strict=True)
    }
    score, alpha = np.concatenate(scores).T
    mean_score, _ = mean_defined(score)
    found = {
        "score": np.nan if mean_score is None else mean_score,
        "alpha": value["alpha.pooled"],
        "mean_alpha": value["alpha.mean"],
        "f1": value["existence.f1"],
    }
    return found, int(np.count_nonzero(~np.isnan(alpha)))


def add_headline(gathered: Gathered, t: Tables) -> None:
    """Add to ``gathered`` values for the worst samples, IoU of pairs of labels, scores of meetings, counts of votes."""
    meetings, pairs, units = t.sample_pairs, t.pairs, t.units
    n_matched = t.n_matched
    n_differ = np.bincount(t.pair_sample[~pairs.same_class], minlength=t.n_samples)
    n_labels = sums_by(meetings.sample, meetings.n_a + meetings.n_b, t.n_samples)
    f1 = f1_score(n_matched, n_labels, 0)
    iou = sums_by(t.pair_sample, pairs.iou, t.n_samples) / np.maximum(n_matched, 1)
    columns = {
        "f1": np.where(f1 < 1.0, f1, np.nan),
        "differ": np.where(n_differ > 0, -n_differ / np.maximum(n_matched, 1), np.nan),
        "iou": np.where((n_matched > 0) & (iou < 1.0 - TIE), iou, np.nan),
        "n_labels": n_labels,
        "n_matched": n_matched,
        "area": sums_by(t.objects.sample, t.area, t.n_samples),
    }
    gathered.add(
        {"samples": np.column_stack(list(columns.values())), "pair_iou": pairs.iou, "pair_score": t.pair_score}
    )
    gathered.add_counts({"votes": count_codes(units.assigned[t.rated_unit], units.votes[t.rated_unit])})


def headline_parts(
    fields: dict[str, Any],
    joined: Joined,
    gathered: Gathered,
    confused: IntArray,
    records: ObjectRecords,
    context: ReportContext,
) -> dict[str, Any]:
    """The headline parts of the report, by name.

    Args:
        confused: counts of (class, other class) over all pairs of labels of one unit, see :func:`~.records.count_codes`
        records: of all samples
        context: of rated samples
    """
    reasons = np.bincount(records.column("alpha_reason"), minlength=len(ALPHA_REASONS)).tolist()
    n_units = {table: int(joined.sums[table][N_UNITS]) for table in ("joint", "given_match", "presence")}
    of_alpha, existence, given_match = fields["alpha"], fields["existence"], fields["class_given_match"]
    joint = {"alpha": of_alpha["pooled"], "percent_agreement": of_alpha["percent_agreement"]}
    presence = existence.pop("presence")
    of_classes = given_match.pop("coefficients") | given_match
    f1, differ, iou, n_labels, n_matched, area = gathered.rows("samples").T
    all_iou, describe = gathered.rows("pair_iou"), context.describe
    a, b, n = confused[:, confused[0] != confused[1]]
    of_all = listed_by_row(np.zeros(len(a), np.int64), a, b, n, context.class_names, 1, MAX_LISTED)
    confusion, n_unlisted = of_all[0]

    def coefficients(table: str, found: dict[str, Any]) -> Coefficients | None:
        return Coefficients(n_units=n_units[table], **found) if n_units[table] else None

    return {
        "alpha": AlphaSummary(
            pooled=of_alpha["pooled"],
            mean=of_alpha["mean"],
            percent_agreement=of_alpha["percent_agreement"],
            n_defined=len(records.column("alpha")) - sum(reasons[1:]),
            undefined={reason: n for reason, n in zip(ALPHA_REASONS, reasons, strict=True) if reason},
            n_units=n_units["joint"],
        ),
        "coefficients": coefficients("joint", {**joint, **fields["coefficients"]}),
        "existence": Existence(
            **existence,
            presence=coefficients("presence", presence),
            votes=[
                {"assigned": n, "votes": k, "units": drawn}
                for n, k, drawn in zip(*gathered.counts("votes").tolist(), strict=True)
            ],
            worst_samples=described_worst(f1, n_labels, area, describe),
        ),
        "class_given_match": ClassGivenMatch(
            **given_match,
            n_units=n_units["given_match"],
            coefficients=coefficients("given_match", of_classes),
            confusion=confusion,
            n_unlisted=n_unlisted,
            worst_samples=described_worst(differ, n_matched, area, describe, sign=-1.0),
        ),
        "localisation": Localisation(
            **fields["localisation"],
            **distribution(all_iou),
            n_pairs=len(all_iou),
            measure=context.measure,
            worst_samples=described_worst(iou, n_matched, area, describe),
        ),
    }
