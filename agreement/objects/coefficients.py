"""From counts of ratings to the coefficients of a report."""

from __future__ import annotations

import math

from ...metrics.alpha.nominal import NominalCounts, NominalTally
from ..config import AgreementConfig
from ..report import Coefficients, number


def alpha_of(tally: NominalTally, config: AgreementConfig) -> float:
    """Alpha; where everybody used one category, what the config says."""
    return ruled(tally.alpha(), tally.n_ratings, config)


def ruled(alpha: float, n_ratings: float, config: AgreementConfig) -> float:
    """An alpha; where it is undefined although there are ratings to compare, what the config says."""
    return 1.0 if math.isnan(alpha) and n_ratings > 0 and config.undefined == "one" else float(alpha)


def coefficients_of(
    counts: NominalCounts, config: AgreementConfig, n_categories: int | None = None
) -> Coefficients | None:
    """The coefficients, None without a unit; by default of as many categories as were given."""
    tally = counts.tally()
    if not tally.n_units:
        return None
    found = counts.coefficients(n_categories)
    return Coefficients(
        n_units=tally.n_units,
        percent_agreement=number(tally.percent_agreement()),
        alpha=number(alpha_of(tally, config)),
        ac1=number(float(found.ac1)),
        brennan_prediger=number(float(found.brennan_prediger)),
        fleiss_kappa=number(float(found.fleiss_kappa)),
    )
