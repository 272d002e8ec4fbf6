"""All coefficients of a table of ratings."""

from __future__ import annotations

import math

import numpy as np

from ...metrics.alpha.category_weights import Weights
from ...metrics.alpha.kappas import brennan_prediger, conger_kappa, fleiss_kappa, gwet_ac2, weighted_alpha
from ...metrics.alpha.nominal import Level, krippendorff_alpha
from ...metrics.arrays import FloatArray
from ..config import AgreementConfig
from ..report import number
from .scale import ScaledRatings

#: kinds of weights; the first counts every disagreement alike
WEIGHTS: tuple[Weights, ...] = ("identity", "linear", "quadratic", "ordinal")

_COEFFICIENTS = {
    "krippendorff_alpha": weighted_alpha,
    "fleiss_kappa": fleiss_kappa,
    "conger_kappa": conger_kappa,
    "brennan_prediger": brennan_prediger,
}


def alpha_of(values: FloatArray, scaled: ScaledRatings | None, level: Level, config: AgreementConfig) -> float:
    """Krippendorff's alpha at its level of measurement.

    Args:
        values: shape ``(S, R)``, class codes or numbers, nan where one did not rate
        scaled: the same as positions
        level: the level of measurement
        config: the options; ``undefined`` says what alpha is without variation

    Undefined:
        nan without two ratings of one sample; without variation, if the config says so
    """
    if level == "ordinal" and scaled is not None:
        alpha = krippendorff_alpha(
            scaled.positions, level="ordinal", domain=np.arange(len(scaled.categories), dtype=np.float64)
        )
    elif level == "nominal" and scaled is not None:
        alpha = krippendorff_alpha(scaled.positions)
    else:
        alpha = krippendorff_alpha(values, level=level)
    pairable = bool(((~np.isnan(values)).sum(axis=1) >= 2).any())
    return 1.0 if math.isnan(alpha) and pairable and config.undefined == "one" else alpha


def coefficients_of(scaled: ScaledRatings) -> dict[str, dict[str, float | None]]:
    """The coefficients of the whole table by name, then weights; None where undefined."""
    categories = np.arange(len(scaled.categories), dtype=np.float64)
    weights = WEIGHTS if scaled.weighted else WEIGHTS[:1]
    found: dict[str, dict[str, float | None]] = {
        name: {kind: number(function(scaled.positions, weights=kind, categories=categories)) for kind in weights}
        for name, function in _COEFFICIENTS.items()
    }
    gwet: dict[str, float | None] = {
        kind: number(gwet_ac2(scaled.positions, weights=kind, categories=categories)) for kind in weights
    }
    found["gwet_ac1"] = {"identity": gwet.pop("identity")}
    if gwet:
        found["gwet_ac2"] = gwet
    return found
