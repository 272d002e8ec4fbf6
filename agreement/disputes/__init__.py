"""Disputed objects: their cost, their kinds on every sample, and the accuracy of annotators once adjudicated."""

from __future__ import annotations

from .costs import Disputes, SoughtUnits, costly_objects, disputed_by_class, disputes_of, left_out
