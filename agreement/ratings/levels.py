"""Levels of measurement: what two ratings that differ mean."""

from __future__ import annotations

from collections.abc import Iterable

from ...metrics.alpha.nominal import Level
from ..config import AgreementConfig
from ..errors import AgreementInputError, shown

#: the class of a label without one
NO_LABEL = "(no label)"


def level_of(config: AgreementConfig, *, numbers: bool) -> Level:
    """The level of measurement of ratings.

    Args:
        config: the options
        numbers: whether the ratings are numbers, not classes

    Raises:
        AgreementInputError: if classes cannot be compared at the level asked for
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


def check_categories(names: Iterable[str], config: AgreementConfig) -> None:
    """Refuse classes that are not among those that the user listed.

    Raises:
        AgreementInputError: naming them
    """
    unlisted = sorted(set(names) - set(config.categories)) if config.categories else []
    if unlisted:
        raise AgreementInputError(
            f"`categories` must list every class that was given, got none of {shown(map(repr, unlisted))}; listed are "
            f"{shown(map(repr, config.categories))}"
        )
