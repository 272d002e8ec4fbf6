"""Derived fields with one label for every object, and views, tags and annotation tasks from them."""

from __future__ import annotations

from .units_field import DISPUTED
