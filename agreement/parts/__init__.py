"""The main numbers of a run on parts of its samples, each tested against all other samples."""

from __future__ import annotations

from .compute import PartColumns, groups_of_sets, groups_of_values, parts_of
