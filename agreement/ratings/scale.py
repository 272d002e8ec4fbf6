"""The scale of ratings: level of measurement, and positions in a list of categories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ...metrics.alpha.kappas import Weights, category_weights
from ...metrics.alpha.nominal import Level
from ...metrics.numeric.arrays import BoolArray, FloatArray
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError, shown
from ..settings.options import value_name
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
class RatingTable:
    """Ratings as they are compared, and their positions in a list of categories."""

    level: Level
    are_numbers: bool
    #: shape ``(S, R)``, numbers, or positions, which agree exactly where classes agree: they replace these, for memory
    ratings: FloatArray
    tolerance: float  #: numbers that differ by at most this agree
    #: shape ``(S, R)``, position of the category of every rating, nan where not rated; None for numbers with too many
    positions: FloatArray | None = None
    #: the ``K`` categories: as listed by the user, else all that occur, by name (classes) or value (numbers); for
    #: integers at the levels interval and ratio all integers from smallest to largest, so that one step is 1
    categories: tuple[str, ...] = ()
    #: shape ``(K,)``, the numbers that the categories are, where weights go by their differences; None: by steps
    values: FloatArray | None = None

    @classmethod
    def of(cls, ratings: FloatArray, context: ReportContext) -> RatingTable:
        """The table of ratings ``(S, R)``, class codes or numbers; it does not depend on the coding.

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
