"""For which part of the data: the main numbers of a run on the parts of its samples."""

from __future__ import annotations

from .compute import PartColumns, groups_of_sets, groups_of_values, parts_of
