"""Krippendorff's alpha and the other chance-corrected coefficients."""
