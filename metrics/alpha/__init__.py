"""Krippendorff's alpha and the other chance-corrected coefficients."""

from __future__ import annotations

from .kappas import coefficients_by_pair
from .nominal import (
    NominalCoefficients,
    Undefined,
    alpha_of,
    chance_corrected,
    nominal_alpha_of_squares,
    nominal_alpha_of_sums,
    nominal_coefficients_of_sums,
    unit_disagreement,
)
