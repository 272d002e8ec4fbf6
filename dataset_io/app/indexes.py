"""Indexes of the fields that a run writes on samples, so that the sidebar filters large datasets at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import fiftyone as fo

#: types of fields that the sidebar filters by value or range
_FILTERED = (fo.FloatField, fo.IntField, fo.BooleanField, fo.StringField)


def missing_indexes(dataset: fo.Dataset, fields: Mapping[str, fo.Field]) -> list[str]:
    """Fields of samples that an index serves and that have none yet.

    Args:
        dataset: the dataset
        fields: the fields of a run, by path
    """
    present = set(dataset.list_indexes())
    return [path for path, field in sorted(fields.items())
            if "." not in path and isinstance(field, _FILTERED) and path not in present]  # fmt: skip


def create_indexes(dataset: fo.Dataset, paths: Iterable[str]) -> None:
    """Make indexes of single fields."""
    for path in paths:
        dataset.create_index(path)


def drop_indexes(dataset: fo.Dataset, paths: Iterable[str]) -> None:
    """Drop indexes of single fields, those that are still there."""
    for path in paths:
        dataset.drop_index(path)  # does nothing where there is none
