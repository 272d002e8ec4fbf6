"""Datasets of ratings and tags, one field for each annotator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import fiftyone as fo

#: how a value of an annotator is stored, by type of field
STORED: dict[str, tuple[type, type | None, Callable[[Any], Any]]] = {
    "Classification": (fo.EmbeddedDocumentField, fo.Classification, lambda value: fo.Classification(label=value)),
    "Regression": (fo.EmbeddedDocumentField, fo.Regression, lambda value: fo.Regression(value=value)),
    "Classifications": (
        fo.EmbeddedDocumentField,
        fo.Classifications,
        lambda tags: fo.Classifications(classifications=[fo.Classification(label=tag) for tag in tags]),
    ),
    "StringField": (fo.StringField, None, lambda value: value),
    "BooleanField": (fo.BooleanField, None, lambda value: value),
    "IntField": (fo.IntField, None, lambda value: value),
    "FloatField": (fo.FloatField, None, lambda value: value),
}


def rated_dataset(
    make_dataset: Any, annotators: Mapping[str, Sequence[Any]], stored: str | Mapping[str, str]
) -> fo.Dataset:
    """A dataset with one field an annotator; None where they did not rate.

    Args:
        make_dataset: the fixture
        annotators: what every annotator gave on every sample
        stored: type of the fields, of all or of each
    """
    dataset = make_dataset({})
    of_field = {name: STORED[stored if isinstance(stored, str) else stored[name]] for name in annotators}
    # all at once: add_sample_field() saves and reads the dataset for every field
    dataset._merge_sample_field_schema(
        {name: field(document) if document else field() for name, (field, document, _) in of_field.items()}
    )
    n_samples = max(map(len, annotators.values()))
    dataset.add_samples(
        [
            fo.Sample(
                filepath=f"/images/{k}.jpg",
                **{
                    name: None if values[k] is None else of_field[name][2](values[k])
                    for name, values in annotators.items()
                },
            )
            for k in range(n_samples)
        ]
    )
    return dataset


def by_annotator(table: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a table of samples by annotators."""
    return {name: [row[k] for row in table] for k, name in enumerate(names)}
