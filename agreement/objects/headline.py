"""The headline: alpha and score of all samples, and the three questions of existence, classes and localisation.

Where a number comes from, for example ``report.alpha.pooled``: :class:`HeadlineNumbers` collects the columns of
:func:`tally_columns`; ``_OF_JOINT`` says which coefficient of their sums it is, and :class:`TallySums` computes it with
the formula in ``metrics/alpha/__init__.py``; :func:`headline_parts` puts it into the report (both meet in
``build.py``). Its interval, ``report.intervals["alpha.pooled"]``, is the same formula of resampled sums
(:func:`~..statistics.estimates.estimates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...metrics.alpha import nominal_alpha_of_sums
from ...metrics.alpha.nominal import nominal_coefficients_of_sums, unit_disagreement
from ...metrics.bootstrap.draws import SparseColumns, Summable, column_sums, hstack, n_given, sparse
from ...metrics.geometry.objects import dice_from_iou
from ...metrics.matching.merging import TIE
from ...metrics.matching.pairs import f1_score
from ...metrics.numeric.arrays import FloatArray, IntArray, sums_by
from ..matching.compute import ALPHA_REASONS, Agreement, Ratings, sample_scores
from ..settings.annotators import AnnotatorPairs
from ..settings.config import Undefined
from ..statistics.codes import MISSING
from ..statistics.numbers import BySample, Numbers, Rows, ratio
from ..statistics.report import AlphaSummary, Coefficients, Describe, mean_defined
from .classes import list_confusions
from .report import ClassGivenMatch, Existence, Localisation
from .sums import Additive, Chunk, KeptValues, Matches, SparseCounts, Worst, distribution

#: pairs of classes listed in a report
MAX_LISTED = 100

#: numbers as quotients of two of the plain columns, by name
_RATIOS = {
    "alpha.mean": ("alpha", "n_alpha"),
    "existence.f1": ("twice_matched", "n_a_and_b"),
    "existence.jaccard": ("n_matched", "n_drawn_by_either"),
    "existence.share_present": ("n_drew", "n_assigned"),
    "localisation.mean_iou": ("iou", "n_matched"),
    "localisation.mean_dice": ("dice", "n_matched"),
    "localisation.visibility": ("visibility", "n_visible"),
}
_PLAIN = tuple(dict.fromkeys(column for names in _RATIOS.values() for column in names))
#: of fewer images coefficients of presence have no interval: one would hold too seldom where nearly all have objects
MIN_PRESENCE = 20
#: number of columns of a tally before the category columns, and the column with the number of units
_HEAD = 3
N_UNITS = 2
#: smaller sums of shares are those of an absent category
_ROUNDING = 1e-9
_COEFFICIENTS = ("ac1", "brennan_prediger", "fleiss_kappa")

#: coefficients of the same ratings: name in the report by name in ``TallySums``
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
        np.concatenate([np.tile(np.arange(n_rows), _HEAD), row[of_unit[paired]], row[of_unit]]),
        np.concatenate(
            [np.repeat(np.arange(_HEAD), n_rows), _HEAD + category[paired], _HEAD + n_categories + category]
        ),
        np.concatenate([*head, count[paired], count / m[of_unit]]),
        (n_rows, _HEAD + 2 * n_categories),
    )


def alpha_columns(ratings: Ratings, n_samples: int, n_categories: int) -> SparseColumns:
    """Only the columns of alpha: observed disagreement, and the number of ratings of every category, ``(S, 1 + K)``."""
    m, differing = unit_disagreement(ratings.unit, ratings.count, len(ratings.sample))
    rated = m[ratings.unit] >= 2
    of_unit = ratings.unit[rated]
    observed = sums_by(ratings.sample, np.where(m >= 2, differing / np.maximum(m - 1, 1), 0.0), n_samples)
    return sparse(
        np.concatenate([np.arange(n_samples), ratings.sample[of_unit]]),
        np.concatenate([np.zeros(n_samples, np.int64), 1 + ratings.category[rated]]),
        np.concatenate([observed, ratings.count[rated]]),
        (n_samples, 1 + n_categories),
    )


def used_categories(columns: Summable) -> tuple[Summable, IntArray]:
    """The columns of a tally without unused categories, and the codes of the used ones."""
    n_categories = (columns.shape[1] - _HEAD) // 2
    used = np.flatnonzero(n_given(columns)[_HEAD + n_categories :])
    return columns[:, np.concatenate([np.arange(_HEAD), _HEAD + used, _HEAD + n_categories + used])], used


@dataclass(frozen=True, slots=True)
class TallySums:
    """Sums ``(..., 3 + 2 K)`` of the columns of a tally, over the same samples for every leading axis."""

    sums: FloatArray

    @property
    def _n_categories(self) -> int:
        n_columns: int = self.sums.shape[-1]
        return (n_columns - _HEAD) // 2

    @property
    def observed(self) -> FloatArray:
        """Observed disagreement of alpha."""
        return self.sums[..., 0]

    @property
    def n_units(self) -> FloatArray:
        """Units with at least two ratings."""
        return self.sums[..., N_UNITS]

    @property
    def counts(self) -> FloatArray:
        """Number of ratings of every category, shape ``(..., K)``."""
        return self.sums[..., _HEAD : _HEAD + self._n_categories]

    def alpha(self, undefined: Undefined) -> FloatArray:
        """Krippendorff's alpha; without variation nan, or 1 (``undefined="one"``)."""
        return nominal_alpha_of_sums(self.observed, self.counts, undefined)

    def coefficients(self, undefined: Undefined, n_categories: int | None = None) -> dict[str, FloatArray]:
        """Alpha, percent agreement, AC1, Brennan-Prediger and Fleiss' kappa.

        Args:
            n_categories: number of possible categories; by default the number that occurs
        """
        shares = self.sums[..., _HEAD + self._n_categories :]
        # the share of an absent category is rounding
        shares = np.where(shares > _ROUNDING, shares, 0.0)
        n_categories = self._n_categories if n_categories is None else n_categories
        found = nominal_coefficients_of_sums(self.sums[..., 1], self.n_units, shares, n_categories)
        return {"alpha": self.alpha(undefined), **found._asdict()}


class HeadlineNumbers:
    """The headline numbers; they have no basis, since they are about all samples."""

    total: dict[str, float]  #: sums of the plain columns by name, set when the numbers are computed
    joint: TallySums  #: sums over the ratings of all units, as alpha counts them
    given_match: TallySums  #: sums over the ratings of units with at least two members, missing left out
    presence: TallySums  #: sums over rated samples: who drew nothing (category 0) and anything (1)
    used: IntArray  #: codes of the categories of ``joint``

    def __init__(self, n_categories: int, undefined: Undefined, *, by_sample: BySample) -> None:
        self._n_categories = n_categories
        self._undefined = undefined
        self._by_sample = by_sample
        self._plain, self._joint, self._given_match, self._presence = (Rows(by_sample=by_sample) for _ in range(4))

    def add(self, chunk: Chunk) -> None:
        ratings = chunk.agreement.ratings
        k, row, presence = self._n_categories, chunk.rows_of(ratings.sample), _presence(chunk)
        given = ratings.category != MISSING
        n_labels = sums_by(ratings.unit[given], ratings.count[given], len(ratings.sample))
        given &= n_labels[ratings.unit] >= 2
        matched = Ratings(ratings.unit[given], ratings.category[given], ratings.count[given], ratings.sample)
        self._plain.add(_plain_columns(chunk))
        self._joint.add(tally_columns(ratings, row, chunk.n_rows, k))
        self._given_match.add(tally_columns(matched, row, chunk.n_rows, k))
        self._presence.add(tally_columns(presence, chunk.rows_of(presence.sample), chunk.n_rows, 2))

    def numbers(self) -> Iterator[Numbers]:
        plain = self._plain.columns()
        self.total = dict(zip(_PLAIN, column_sums(plain).tolist(), strict=True))
        yield self._quotients(plain)
        joint, self.used = used_categories(self._joint.columns())
        given_match, _ = used_categories(self._given_match.columns())
        presence, _ = used_categories(self._presence.columns())
        tallies = (joint, given_match, presence)
        self.joint, self.given_match, self.presence = (TallySums(column_sums(tally)) for tally in tallies)
        yield self._coefficients(_OF_JOINT, joint)
        yield self._coefficients(_OF_GIVEN_MATCH, given_match)
        yield replace(self._coefficients(_OF_PRESENCE, presence, n_categories=2), least=MIN_PRESENCE)

    def main_numbers(self) -> Iterator[Numbers]:
        """The quotients, and alpha and percent agreement of all units and of shared ones, from half of the columns."""
        yield self._quotients(self._plain.columns())
        for names, rows in ((_OF_JOINT, self._joint), (_OF_GIVEN_MATCH, self._given_match)):
            tally, used = used_categories(rows.columns())
            keys = tuple((name,) for name, number in names.items() if number in ("alpha", "percent_agreement"))
            units = np.full(len(keys), N_UNITS)
            yield Numbers(keys, tally[:, : _HEAD + len(used)], self._alpha_and_agreement, compared=units)

    def _quotients(self, plain: Summable) -> Numbers:
        keys, below = tuple((name,) for name in _RATIOS), np.array([_PLAIN.index(name) for _, name in _RATIOS.values()])
        return Numbers(keys, plain, _quotients, compared=below, by_sample=self._by_sample)

    def _alpha_and_agreement(self, sums: FloatArray) -> FloatArray:
        alpha = nominal_alpha_of_sums(sums[..., 0], sums[..., _HEAD:], self._undefined)
        return np.stack([alpha, 1.0 - ratio(sums[..., 1], sums[..., N_UNITS])], axis=-1)

    def _coefficients(self, names: Mapping[str, str], tally: Summable, n_categories: int | None = None) -> Numbers:
        """Coefficients of the same ratings: the method of :class:`TallySums` is the formula, ``tally`` the columns."""

        def formula(sums: FloatArray) -> FloatArray:
            found = TallySums(sums).coefficients(self._undefined, n_categories)
            return np.stack([found[name] for name in names.values()], axis=-1)

        keys, units = tuple((name,) for name in names), np.full(len(names), N_UNITS)
        return Numbers(keys, tally, formula, compared=units, by_sample=self._by_sample)

    def joint_counts(self) -> FloatArray:
        """Number of ratings of every category in alpha, shape ``(K,)``."""
        counts = np.zeros(self._n_categories)
        counts[self.used] = self.joint.counts
        return counts


def _quotients(sums: FloatArray) -> FloatArray:
    column = dict(zip(_PLAIN, np.moveaxis(sums, -1, 0), strict=True))
    return np.stack([ratio(column[above], column[below]) for above, below in _RATIOS.values()], axis=-1)


def headline_otherwise(
    agreements: Iterable[Agreement], n_categories: int, undefined: Undefined
) -> tuple[dict[str, float], int]:
    """The main numbers that the same units would give if a null label list had the other meaning.

    Returns:
        the numbers as :class:`~..settings.no_labels.OtherReading` calls them, nan where undefined, and how many samples
        have an alpha of their own
    """
    headline, scores = HeadlineNumbers(n_categories, undefined, by_sample=False), []
    for agreement in agreements:
        otherwise = agreement.read_otherwise()
        no_size = np.full(len(otherwise.units.sample), -1)
        pairs = AnnotatorPairs.of(otherwise.assigned)
        headline.add(Chunk.of(otherwise, n_categories, no_size, pairs, by_sample=False))
        scores.append(sample_scores(otherwise.pair_score, otherwise.sample_pairs, otherwise.n_samples))
    value: dict[str, float] = {}
    for numbers in headline.numbers():
        value |= zip((name for (name,) in numbers.keys), numbers.values().tolist(), strict=True)
    mean_score, _ = mean_defined(np.concatenate(scores))
    found = {
        "score": np.nan if mean_score is None else mean_score,
        "alpha": value["alpha.pooled"],
        "mean_alpha": value["alpha.mean"],
        "f1": value["existence.f1"],
    }
    return found, int(headline.total["n_alpha"])


def _plain_columns(chunk: Chunk) -> SparseColumns:
    """The columns of the quotients, shape ``(S, C)``."""
    agreement, of_match = chunk.agreement, chunk.match_sample
    n_samples, pairs, shared = agreement.n_samples, agreement.pairs, agreement.sample_pairs
    n_matched = np.bincount(of_match, minlength=n_samples).astype(np.float64)
    n_a_and_b = sums_by(shared.sample, shared.n_a + shared.n_b, n_samples)
    visibility = agreement.visibility
    columns = {
        "alpha": np.nan_to_num(agreement.alpha),
        "n_alpha": ~np.isnan(agreement.alpha),
        "n_matched": n_matched,
        "twice_matched": 2.0 * n_matched,
        "n_a_and_b": n_a_and_b,
        "n_drawn_by_either": n_a_and_b - n_matched,
        "n_drew": np.where(agreement.rated, chunk.drew.sum(axis=1), 0),
        "n_assigned": np.where(agreement.rated, agreement.n_assigned, 0),
        "iou": sums_by(of_match, pairs.iou, n_samples),
        "dice": sums_by(of_match, dice_from_iou(pairs.iou), n_samples),
        "visibility": np.zeros(n_samples) if visibility is None else sums_by(of_match, visibility, n_samples),
        "n_visible": np.zeros(n_samples) if visibility is None else n_matched,
    }
    return hstack([np.column_stack([columns[name] for name in _PLAIN]).astype(np.float64)])


def _presence(chunk: Chunk) -> Ratings:
    """Ratings of "did the annotator draw anything?" (1 or 0), with rated samples as units."""
    rated = np.flatnonzero(chunk.agreement.rated)
    n_drew = chunk.drew[rated].sum(axis=1)
    count = np.concatenate([chunk.agreement.n_assigned[rated] - n_drew, n_drew])
    unit, category = np.tile(np.arange(len(rated)), 2), np.repeat([0, 1], len(rated))
    given = count > 0
    return Ratings(unit[given], category[given], count[given], rated)


@dataclass(frozen=True, slots=True)
class HeadlineSums(Additive):
    """Parts of the headline in addition to its numbers."""

    alpha_reasons: IntArray  #: shape ``(5,)``, samples whose alpha is undefined for each of ``ALPHA_REASONS``
    n_rated: int  #: samples with at least two assigned annotators
    n_empty: int  #: rated samples in which nobody drew anything
    n_units: int  #: units of rated samples
    n_objects: int  #: objects of rated samples
    votes: IntArray  #: shape ``(R + 1, R + 1)``, entry ``[n, k]``: units on samples with ``n`` assigned that ``k`` drew
    lowest_f1: Worst  #: the samples with the lowest F1
    most_confused: Worst  #: the samples with the largest share of class conflicts (stored with opposite sign)
    loosest: Worst  #: the samples with the lowest mean IoU
    matches: Matches  #: all pairs of matched labels
    pair_scores: KeptValues  #: score of every pair of annotators on every sample, nan where not scored

    @classmethod
    def of(cls, chunk: Chunk) -> HeadlineSums:
        """The sums of some samples."""
        agreement, units, pairs = chunk.agreement, chunk.agreement.units, chunk.agreement.pairs
        rated, n_samples, n = agreement.rated, agreement.n_samples, agreement.n_annotators + 1
        cells = (units.assigned * n + units.votes)[chunk.rated_unit]
        shared, of_match, area = agreement.sample_pairs, chunk.match_sample, chunk.label_area
        n_matched = np.bincount(of_match, minlength=n_samples)
        n_differ = np.bincount(of_match[~pairs.same_class], minlength=n_samples)
        n_labels = sums_by(shared.sample, shared.n_a + shared.n_b, n_samples)
        f1 = f1_score(n_matched, n_labels, 0)
        share = np.where(n_differ > 0, n_differ / np.maximum(n_matched, 1), np.nan)
        mean = sums_by(of_match, pairs.iou, n_samples) / np.maximum(n_matched, 1)
        return cls(
            alpha_reasons=np.bincount(agreement.alpha_reason, minlength=len(ALPHA_REASONS)),
            n_rated=int(rated.sum()),
            n_empty=int((rated & (agreement.n_objects == 0)).sum()),
            n_units=int(agreement.n_units[rated].sum()),
            n_objects=int(agreement.n_objects[rated].sum()),
            votes=np.bincount(cells, minlength=n * n).reshape(n, n),
            lowest_f1=Worst.of(np.where(f1 < 1.0, f1, np.nan), n_labels, area),
            most_confused=Worst.of(-share, n_matched, area),
            loosest=Worst.of(np.where((n_matched > 0) & (mean < 1.0 - TIE), mean, np.nan), n_matched, area),
            matches=Matches.of(chunk),
            pair_scores=KeptValues.of(agreement.pair_score),
        )


def headline_parts(
    fields: dict[str, Any],
    headline: HeadlineNumbers,
    sums: HeadlineSums,
    pair_counts: SparseCounts,
    class_names: Sequence[str],
    measure: str,
    describe: Describe,
) -> dict[str, Any]:
    """The headline parts of the report, by name.

    Args:
        sums: other parts
        pair_counts: counts of (class, other class) over all pairs of labels of one unit
        measure: name of the similarity of two objects
    """
    reasons = zip(ALPHA_REASONS, sums.alpha_reasons.tolist(), strict=True)
    of_alpha, existence, given_match = fields["alpha"], fields["existence"], fields["class_given_match"]
    joint = {"alpha": of_alpha["pooled"], "percent_agreement": of_alpha["percent_agreement"]}
    presence = _coefficients(headline.presence, existence.pop("presence"))
    of_classes = _coefficients(headline.given_match, given_match.pop("coefficients") | given_match)
    assigned, votes = np.nonzero(sums.votes)
    units, iou = sums.votes[assigned, votes], sums.matches.iou
    confusion = list_confusions(pair_counts, class_names, MAX_LISTED)
    return {
        "alpha": AlphaSummary(
            pooled=of_alpha["pooled"],
            mean=of_alpha["mean"],
            percent_agreement=of_alpha["percent_agreement"],
            n_defined=int(headline.total["n_alpha"]),
            undefined={reason: count for reason, count in reasons if reason},
            n_units=int(headline.joint.n_units),
        ),
        "coefficients": _coefficients(headline.joint, {**joint, **fields["coefficients"]}),
        "existence": Existence(
            **existence,
            presence=presence,
            votes=[
                {"assigned": n, "votes": k, "units": drawn}
                for n, k, drawn in zip(assigned.tolist(), votes.tolist(), units.tolist(), strict=True)
            ],
            worst_samples=sums.lowest_f1.described(describe),
        ),
        "class_given_match": ClassGivenMatch(
            **given_match,
            n_units=int(headline.given_match.n_units),
            coefficients=of_classes,
            confusion=confusion.entries,
            n_unlisted=confusion.n_unlisted,
            worst_samples=sums.most_confused.described(describe, largest=True),
        ),
        "localisation": Localisation(
            **fields["localisation"],
            **distribution(iou),
            n_pairs=len(iou),
            measure=measure,
            worst_samples=sums.loosest.described(describe),
        ),
    }


def _coefficients(tally: TallySums, fields: dict[str, Any]) -> Coefficients | None:
    """Coefficients of the same ratings; None without a unit."""
    n_units = int(tally.n_units)
    return Coefficients(n_units=n_units, **fields) if n_units else None
