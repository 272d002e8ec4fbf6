"""Acceptance: what a requirements file asks of a run, and whether the run meets it."""

from __future__ import annotations

from .evaluate import check_requirements, keyed_numbers
from .requirements import KEYS, read_requirements
