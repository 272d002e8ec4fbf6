"""Ratings: level and categories (``RatingTable``), scores and majorities of a batch of samples, and their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.alpha.kappas import Weights, category_weights
from ...metrics.alpha.nominal import Level
from ...metrics.consensus.consensus import majority_of_others, unit_votes
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError, shown
from ..settings.options import value_name
from ..statistics.records import OF_SAMPLE, Records, SampleValues, compact, ids_of_given, rows_by_column
from ..statistics.report import ReportContext
from ..statistics.values import masked_means

#: maximum number of categories (weights are ``K x K``)
MAX_CATEGORIES = 200


def level_of(config: AgreementConfig, *, numbers: bool) -> Level:
    """The level of measurement of ratings.

    Args:
        numbers: whether the ratings are numbers, not classes

    Raises:
        AgreementInputError: if classes cannot be compared at the requested level
    """
    if config.level == "auto":
        if config.categories:
            return "ordinal"
        return "interval" if numbers else "nominal"
    if not numbers and config.level in ("interval", "ratio"):
        raise AgreementInputError(
            f"`level` must be nominal or ordinal for classes, got {config.level!r}; only numbers have differences"
        )
    if not numbers and config.level == "ordinal" and not config.categories:
        raise AgreementInputError(
            "`level` must be nominal for classes without `categories`, got 'ordinal'; list all classes in ascending "
            "order in `categories`"
        )
    return config.level


def check_listed(names: Iterable[str], config: AgreementConfig) -> None:
    """Refuse classes that are not in the user's list of categories."""
    unlisted = sorted(set(names) - set(config.categories)) if config.categories else []
    if unlisted:
        raise AgreementInputError(
            f"`categories` must list every class that occurs, got a list without {shown(map(repr, unlisted))}; "
            f"listed are {shown(map(repr, config.categories))}"
        )


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Ratings as they are compared, and their positions in a list of categories."""

    level: Level
    are_numbers: bool
    #: shape ``(S, R)``, numbers; of classes their positions in ``categories``, equal where the classes are equal
    ratings: FloatArray
    tolerance: float  #: numbers that differ by at most this agree
    #: shape ``(S, R)``, position of the category of every rating, nan where not rated; None for numbers with
    #: more than ``MAX_CATEGORIES`` different values
    positions: FloatArray | None = None
    #: the ``K`` categories: as listed by the user, else all that occur, by name (classes) or value (numbers); for
    #: integers at the levels interval and ratio all integers from smallest to largest, so that one step is 1
    categories: tuple[str, ...] = ()
    #: shape ``(K,)``, the numbers of the categories, where weights depend on their differences; None: on steps
    values: FloatArray | None = None

    @classmethod
    def of(cls, ratings: FloatArray, context: ReportContext) -> RatingTable:
        """The table of ratings ``(S, R)``, class codes or numbers; any coding of classes gives the same.

        Raises:
            AgreementInputError: if a class is not in the user's list of categories
        """
        config, are_numbers = context.config, bool(context.details["numbers"])
        level, tolerance = level_of(config, numbers=are_numbers), config.tolerance if are_numbers else 0.0
        used = np.unique(ratings[~np.isnan(ratings)])
        categories, scale, by_value = config.categories, used, level in ("interval", "ratio")
        if are_numbers and not categories:
            is_whole = by_value and len(used) > 0 and not (used % 1).any()
            if len(used) > MAX_CATEGORIES or (is_whole and used[-1] - used[0] >= MAX_CATEGORIES):
                return cls(level, are_numbers, ratings, tolerance)
            if is_whole:
                scale = np.arange(used[0], used[-1] + 1)
            categories = tuple(value_name(value) for value in scale.tolist())
        names = [value_name(value) if are_numbers else context.class_names[int(value)] for value in used.tolist()]
        check_listed(names, config)
        categories = categories or tuple(sorted(names))
        place = {name: position for position, name in enumerate(categories)}
        of_used, positions = np.array([place[name] for name in names], np.float64), np.full(ratings.shape, np.nan)
        for column, of_column in zip(ratings.T, positions.T, strict=True):  # one at a time, to take less memory
            given = ~np.isnan(column)
            of_column[given] = of_used[np.searchsorted(used, column[given])]
        values = scale if are_numbers and by_value and not config.categories else None
        return cls(level, are_numbers, ratings if are_numbers else positions, tolerance, positions, categories, values)

    @property
    def of_alpha(self) -> FloatArray:
        """The numbers at the levels interval and ratio, else positions in the list of categories."""
        return self.ratings if self.level in ("interval", "ratio") or self.positions is None else self.positions

    def weights(self, kind: Weights) -> Weights | FloatArray:
        """Weights of a kind: of steps in the list of categories, or of differences of the numbers."""
        if self.values is None or kind == "identity":
            return kind
        return category_weights(kind, len(self.categories), self.values)

    @property
    def weighted(self) -> bool:
        """True if weights can give partial credit for close categories."""
        return self.level != "nominal" and len(self.categories) <= MAX_CATEGORIES

    def select(self, samples: BoolArray) -> RatingTable:
        """The table of the samples in a mask ``(S,)``."""
        if samples.all():
            return self
        positions = None if self.positions is None else self.positions[samples]
        ratings = self.ratings[samples] if positions is None or self.are_numbers else positions
        return replace(self, ratings=ratings, positions=positions)


#: verdicts of ratings, by code
VERDICTS = ("agreed", "class_conflict")
AGREED, CLASS_CONFLICT = range(len(VERDICTS))

#: samples that are compared at once
ROWS_AT_ONCE = 4_096

#: relative tolerance for rounding of decimals, so that 0.4 and 0.3 differ by exactly 0.1
ROUNDING = 4 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class RatingAgreement:
    """The agreement on the ratings of a batch of samples."""

    ratings: FloatArray  #: shape ``(S, R)``, class codes or numbers, nan where an annotator did not rate
    agree: BoolArray  #: shape ``(S, R, R)``, whether two annotators both rated and agree
    n_annotators: IntArray  #: shape ``(S,)``, number of annotators who rated
    score: FloatArray  #: shape ``(S,)``, share of the pairs of annotators who agree; nan with fewer than two ratings
    majority: FloatArray  #: shape ``(S,)``, code or number with the most votes; nan without ratings and in a tie
    entropy: FloatArray  #: shape ``(S,)``, entropy of the votes in bits; nan without ratings

    @property
    def rated(self) -> BoolArray:
        """Samples that at least two annotators rated, shape ``(S,)``."""
        return self.n_annotators >= 2

    @property
    def given(self) -> BoolArray:
        """True where an annotator rated a sample, shape ``(S, R)``."""
        return ~np.isnan(self.ratings)

    @property
    def disputed(self) -> BoolArray:
        """Samples on which two annotators disagree, shape ``(S,)``."""
        return self.score < 1.0

    @property
    def votes(self) -> IntArray:
        """Number of annotators who agree with every rating, including its own, shape ``(S, R)``."""
        votes: IntArray = self.agree.sum(axis=2)
        return votes


def compute_ratings(ratings: FloatArray, tolerance: float = 0.0) -> RatingAgreement:
    """Score the samples of a batch.

    Args:
        ratings: shape ``(S, R)``, class codes or numbers, nan where an annotator did not rate
        tolerance: numbers that differ by at most this agree
    """
    agree = agreeing(ratings[:, :, None], ratings[:, None, :], tolerance)
    votes = unit_votes(ratings)
    n = votes.n_ratings
    # every annotator agrees with itself: n of the ordered pairs are not pairs of annotators
    n_agreeing = agree.sum(axis=(1, 2)) - n
    score = np.full(len(ratings), np.nan)
    rated = n >= 2
    score[rated] = n_agreeing[rated] / (n[rated] * (n[rated] - 1))
    return RatingAgreement(ratings, agree, n, score, votes.majority, votes.entropy_bits)


def agreeing(a: FloatArray, b: FloatArray, tolerance: float) -> BoolArray:
    """True where ratings agree; shapes must broadcast; nan (no rating) agrees with nothing.

    Args:
        tolerance: numbers that differ by at most this agree
    """
    agree: BoolArray = a == b
    if tolerance > 0:
        agree = np.abs(a - b) <= tolerance + ROUNDING * np.maximum(np.abs(a), np.abs(b))
    return agree


def n_agreeing(ratings: FloatArray, tolerance: float) -> IntArray:
    """Number of annotators who agree with every rating, including its own, shape ``(S, R)``; 0 where there is none."""
    columns = [agreeing(ratings, ratings[:, [k]], tolerance).sum(axis=1) for k in range(ratings.shape[1])]
    return np.stack(columns, axis=1) if columns else np.zeros(ratings.shape, np.int64)


def rating_of_others(ratings: FloatArray) -> FloatArray:
    """Majority of the ratings of the others on every sample, shape ``(S, R)``.

    nan if fewer than two others rated it, or in a tie. With two annotators in all it is the rating of the other one.

    Args:
        ratings: shape ``(S, R)``, nan where an annotator did not rate
    """
    found, least = np.full(ratings.shape, np.nan), 2 if ratings.shape[1] > 2 else 1
    for start in range(0, len(ratings), ROWS_AT_ONCE):
        some = ratings[start : start + ROWS_AT_ONCE]
        given, alike = np.nonzero(~np.isnan(some)), n_agreeing(some, 0.0)
        found[start : start + len(some)][given] = majority_of_others(
            given[0], some[given], alike[given], len(some), least
        )
    return found


def mean_and_spread(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and population standard deviation of every row (pass the transpose for columns).

    Args:
        numbers: shape ``(S, R)``, nan where there is no number

    Undefined:
        nan in rows without a number
    """
    given = ~np.isnan(numbers)
    mean = masked_means(numbers, given)
    spread: FloatArray = np.sqrt(masked_means((numbers - mean[:, None]) ** 2, given))
    return mean, spread


@dataclass(frozen=True, slots=True)
class RatingRecords(Records):
    """The ratings of any number of samples: class codes (0: not rated) or numbers (nan: not rated).

    With three annotators a sample takes 11 bytes, with numbers 32, and the id of every label 12.
    """

    family: ClassVar[str] = "ratings"
    scores_are_shares: ClassVar[bool] = True
    rows: ClassVar[Mapping[str, str]] = rows_by_column(
        {OF_SAMPLE: ("ratings", "score", "n_labels"), "n_labels": ("label_id",)}
    )
    of_classes: ClassVar[str | None] = "ratings"

    @property
    def ratings(self) -> FloatArray:
        """All ratings, shape ``(S, R)``, nan where an annotator did not rate."""
        table = self.column("ratings")
        return table if table.dtype.kind == "f" else np.where(table > 0, table, np.nan)

    @property
    def assigned(self) -> BoolArray:
        """True where an annotator rated a sample, shape ``(S, R)``."""
        table = self.column("ratings")
        given: BoolArray = ~np.isnan(table) if table.dtype.kind == "f" else table > 0
        return given

    def sample_values(self) -> SampleValues:
        """The values that all label types have; every sample is one unit."""
        found = super(RatingRecords, self).sample_values()
        n_units, n_disputed = (found.n_annotators >= 2).astype(np.int64), (found.score < 1.0).astype(np.int64)
        return replace(found, n_units=n_units, n_disputed=n_disputed)


def record_ratings(
    agreement: RatingAgreement, label_ids: NDArray[np.uint8] | None = None, *, numbers: bool
) -> RatingRecords:
    """The records of a batch.

    Args:
        label_ids: id of every rating, shape ``(S, R, 12)``; None where they are plain values
        numbers: whether the ratings are numbers, not class codes from 1
    """
    table = agreement.ratings if numbers else compact(np.nan_to_num(agreement.ratings, nan=0.0).astype(np.int64))
    columns = {"ratings": table, "score": agreement.score}
    return RatingRecords(table.shape[1], ({**columns, **ids_of_given(label_ids, agreement.given)},))
