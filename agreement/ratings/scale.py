"""The scale of ratings: level of measurement, and positions in a list of categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...metrics.alpha.kappas import Weights, category_weights
from ...metrics.alpha.nominal import Level
from ...metrics.numeric.arrays import BoolArray, FloatArray
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError, shown
from ..settings.options import value_name
from ..statistics.codes import NO_LABEL as NO_LABEL
from ..statistics.report import ReportContext

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
            f"`categories` must list every class that occurs, got none of {shown(map(repr, unlisted))}; listed are "
            f"{shown(map(repr, config.categories))}"
        )


@dataclass(frozen=True, slots=True)
class ScaledRatings:
    """Ratings as positions in a list of categories."""

    positions: FloatArray  #: shape ``(S, R)``, position of the category of every rating, nan where not rated
    #: the ``K`` categories: as listed by the user, else all that occur, by name (classes) or value (numbers); for
    #: integers at the levels interval and ratio all integers from smallest to largest, so that one step is 1
    categories: tuple[str, ...]
    ordered: bool  #: whether the order of the categories matters
    #: shape ``(K,)``, the numbers that the categories are, where weights go by their differences; None: by steps
    values: FloatArray | None = None

    def weights(self, kind: Weights) -> Weights | FloatArray:
        """Weights of a kind: of steps in the list of categories, or of differences of the numbers."""
        if self.values is None or kind == "identity":
            return kind
        return category_weights(kind, len(self.categories), self.values)

    @property
    def weighted(self) -> bool:
        """True if weights can give partial credit for close categories."""
        return self.ordered and len(self.categories) <= MAX_CATEGORIES

    def select(self, samples: BoolArray) -> ScaledRatings:
        """The ratings of the samples in a mask ``(S,)``."""
        return self if samples.all() else replace(self, positions=self.positions[samples])

    def counts(self, annotator: int) -> dict[str, int]:
        """Number of times an annotator gave each category, by name."""
        given = self.positions[:, annotator]
        positions, counts = np.unique(given[~np.isnan(given)].astype(np.int64), return_counts=True)
        return {self.categories[k]: n for k, n in zip(positions.tolist(), counts.tolist(), strict=True)}


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Ratings as they are compared."""

    level: Level
    scaled: ScaledRatings | None  #: None for numbers with too many categories
    #: shape ``(S, R)``, numbers, or positions, which agree exactly where classes agree: they replace these, for memory
    ratings: FloatArray
    are_numbers: bool
    tolerance: float  #: numbers that differ by at most this agree

    @classmethod
    def of(cls, ratings: FloatArray, context: ReportContext) -> RatingTable:
        """The table of ratings ``(S, R)``, class codes or numbers.

        Raises:
            AgreementInputError: if a class is not in the user's list of categories
        """
        config, numbers = context.config, bool(context.details["numbers"])
        level = level_of(config, numbers=numbers)
        if numbers:
            return cls(level, scale_numbers(ratings, level, config), ratings, True, config.tolerance)
        scaled = scale_classes(ratings, context.class_names, level, config)
        return cls(level, scaled, scaled.positions, False, 0.0)

    @property
    def of_alpha(self) -> FloatArray:
        """The numbers at the levels interval and ratio, else positions in the list of categories."""
        by_value = self.level in ("interval", "ratio")
        return self.ratings if by_value or self.scaled is None else self.scaled.positions

    def select(self, samples: BoolArray) -> RatingTable:
        """The table of the samples in a mask ``(S,)``."""
        scaled = None if self.scaled is None else self.scaled.select(samples)
        ratings = self.ratings[samples] if self.are_numbers or scaled is None else scaled.positions
        return replace(self, scaled=scaled, ratings=ratings)


def scale_classes(
    codes: FloatArray, class_names: Sequence[str], level: Level, config: AgreementConfig
) -> ScaledRatings:
    """Class codes as positions; the result does not depend on the coding.

    Args:
        codes: shape ``(S, R)``, nan where one did not rate
        class_names: name of every code
        level: nominal or ordinal

    Raises:
        AgreementInputError: if a class is not in the user's list of categories
    """
    used = np.unique(codes[~np.isnan(codes)])
    names = [class_names[code] for code in used.astype(np.int64).tolist()]
    check_listed(names, config)
    categories = config.categories or tuple(sorted(names))
    return _placed(codes, used, names, categories, ordered=level != "nominal")


def scale_numbers(numbers: FloatArray, level: Level, config: AgreementConfig) -> ScaledRatings | None:
    """Numbers as positions; None if there would be too many categories.

    Args:
        numbers: shape ``(S, R)``, nan where one did not rate
        level: any

    Raises:
        AgreementInputError: if a number is not in the user's list of categories
    """
    used = np.unique(numbers[~np.isnan(numbers)])
    ordered = level != "nominal"
    if config.categories:
        names = [value_name(number) for number in used.tolist()]
        check_listed(names, config)
        return _placed(numbers, used, names, config.categories, ordered=ordered)
    if len(used) > MAX_CATEGORIES:
        return None
    names = [value_name(number) for number in used.tolist()]
    scale = used
    if level in ("interval", "ratio") and len(used) and not (used % 1).any():
        if used[-1] - used[0] >= MAX_CATEGORIES:
            return None
        scale = np.arange(used[0], used[-1] + 1)
    placed = _placed(numbers, used, names, tuple(value_name(number) for number in scale.tolist()), ordered=ordered)
    return replace(placed, values=scale) if level in ("interval", "ratio") else placed


def _placed(
    table: FloatArray, used: FloatArray, names: Sequence[str], categories: tuple[str, ...], *, ordered: bool
) -> ScaledRatings:
    place = {name: position for position, name in enumerate(categories)}
    of_used = np.array([place[name] for name in names], np.float64)
    positions = np.full(table.shape, np.nan)
    for column, of_column in zip(table.T, positions.T, strict=True):  # one at a time, to take less memory
        given = ~np.isnan(column)
        of_column[given] = of_used[np.searchsorted(used, column[given])]
    return ScaledRatings(positions, categories, ordered)
