"""Annotators against a reference, and against models."""

from __future__ import annotations

from .role_labels import role_columns, role_hashes
from .summary import role_reports
