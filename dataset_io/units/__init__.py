"""Units of a run with their current labels; fields with one label for every object, and patches of these."""

from __future__ import annotations

from .units_field import DISPUTED
