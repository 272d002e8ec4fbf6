"""Read lists of labels as columns; find the annotators assigned to every sample, by the lists or a sample field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from fiftyone.core.collections import SampleCollection
from numpy.typing import NDArray

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.no_labels import AnnotatorLists
from ...agreement.settings.options import value_name
from ...agreement.statistics.codes import is_number
from ...metrics.numeric.arrays import BoolArray, IntArray
from .checks import are_labels
from .kinds import LabelKind
from .source import Source, flattened
from .stored import StoredSample, is_of_frames, label_count, label_positions

#: state of an annotator's label list on a sample
LIST_STATES = NO_LIST, EMPTY_LIST, LABELS = range(3)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Annotators assigned to each of ``S`` samples."""

    assigned: BoolArray  #: shape ``(S, R)``
    otherwise: BoolArray  #: shape ``(S, R)``, the same if a null label list had the other meaning
    n_added: IntArray  #: shape ``(S,)``, annotators known only from their labels, who are not listed as assigned
    drew: BoolArray  #: shape ``(S, R)``, who has a label
    present: BoolArray  #: shape ``(S, roles)``, whether a role is assigned


#: used as the number of the annotator of a label: one who appeared during the run or was not requested; none is named;
#: a reference or model
UNKNOWN, NOT_NAMED, OF_ROLE = -1, -2, -3


def annotators_of(source: Source, field: int, n: int, values: Callable[[str], Iterable[Any]]) -> IntArray:
    """The annotator of each of the ``n`` labels of a field, :data:`UNKNOWN`, :data:`NOT_NAMED` or :data:`OF_ROLE`.

    Args:
        field: index of the field
        n: number of labels
        values: gives a column by its name; called for ``annotator``
    """
    owner = source.owner(field)
    if owner is not None:
        return np.full(n, owner)
    number_of = {**dict.fromkeys(source.config.roles, OF_ROLE), **source.annotator_numbers}
    found = (NOT_NAMED if name is None else number_of.get(value_name(name), UNKNOWN) for name in values("annotator"))
    return np.fromiter(found, np.int64, n)


def listed_values(rows: Sequence[dict[str, Any]], name: str, field: int) -> list[Any]:
    """A value of all labels in the lists of a field, by its name in query results."""
    return list(chain.from_iterable(row[f"{name}{field}"] or () for row in rows))


def listed_labels(
    source: Source, rows: Sequence[dict[str, Any]], samples: Sequence[StoredSample], field: int
) -> tuple[list[Any], list[Any], dict[str, NDArray[Any]]]:
    """The ids and the classes of all labels in the lists of a field, and columns ``(N,)``.

    These are ``sample``, ``annotator`` (see :func:`annotators_of`), ``field``, ``position`` in the list in the
    database, ``confidence`` (nan if there is none, or the run has no threshold), and ``is_label``: false for an entry
    that is no label, or names no annotator.
    """
    ids = [row[f"id{field}"] or () for row in rows]
    counts = np.array([len(entry) for entry in ids], np.int64)
    label_ids, classes = list(chain.from_iterable(ids)), listed_values(rows, "label", field)
    annotator = annotators_of(source, field, len(label_ids), lambda name: listed_values(rows, name, field))
    if source.is_view:
        position = label_positions(ids, [stored.label_ids[field] for stored in samples])
    else:
        position = np.arange(len(label_ids)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = {
        "sample": np.repeat(np.arange(len(rows)), counts),
        "annotator": annotator,
        "field": np.full(len(label_ids), field),
        "position": position,
        "confidence": np.full(len(label_ids), np.nan),
        "is_label": are_labels(label_ids, classes) & (annotator != NOT_NAMED),
    }
    if source.config.confidence_threshold is not None:
        values = (value if is_number(value) else np.nan for value in listed_values(rows, "confidence", field))
        columns["confidence"] = np.fromiter(values, np.float64, len(label_ids))
    return label_ids, classes, columns


def listed_columns(source: Source, field: int) -> dict[str, str]:
    """The attributes to read from the labels of a field, by the name of their column in query results."""
    naming, asked = source.naming(field), source.config.confidence_threshold is not None
    columns = {"label": "label", "annotator": naming, "confidence": "confidence" if asked else None}
    return {name: attribute for name, attribute in columns.items() if attribute is not None}


def assigned_annotators(
    source: Source,
    rows: Sequence[dict[str, Any]],
    samples: Sequence[StoredSample],
    of_labels: tuple[IntArray, IntArray],
) -> Assignment:
    """Find the annotators assigned to every sample, and the roles that it has, for fields with lists of labels.

    Args:
        rows: query results on the samples
        samples: the samples as stored in the database, without the filters of a view
        of_labels: sample and annotator, or role, of every label, shapes ``(N,)``
    """
    n, config = len(source.annotators), source.config
    drew = np.zeros((len(rows), n + len(source.roles)), np.bool_)
    drew[of_labels] = True
    listed = np.zeros_like(drew)
    if config.assigned_field is not None:
        of_roles = {role.name: n + k for k, role in enumerate(source.roles) if role.of_attribute}
        number_of = {**source.number_of_name, **of_roles}
        for k, row in enumerate(rows):
            given = row.get("assigned")  # which may be one name instead of a list
            for name in given if isinstance(given, list) else [given]:
                number = None if name is None else number_of.get(value_name(name))
                if number is not None:
                    listed[k, number] = True
    present = (listed | drew)[:, n:]
    for k, role in enumerate(source.roles):
        if not role.of_attribute:
            present[:, k] = [sample.label_ids[source.number_read(role)] is not None for sample in samples]
    if config.assigned_field is not None:
        assigned = (listed | drew)[:, :n]
        n_added = assigned.sum(axis=1) - listed[:, :n].sum(axis=1)
        return Assignment(assigned, assigned, n_added, drew[:, :n], present)
    by_list = label_lists(source, samples) != NO_LIST
    if source.on_frames and not config.attribute_mode:
        # everybody who labelled a video is assigned to all of its frames that have any label list: importers write
        # lists only on frames with labels, so an empty frame cannot be told from one that the annotator never got
        owners = np.array(source.field_annotator)
        for k in np.flatnonzero(by_list.any(axis=1)).tolist():
            labelled = rows[k]["labelled"]
            if labelled is not None:  # the fields of roles follow
                by_list[k, owners[labelled[: len(owners)]]] = True
    drew_nothing, none = source.null_means_nothing, np.zeros(len(samples), np.int64)
    return Assignment(by_list | drew_nothing, by_list | ~drew_nothing, none, drew[:, :n], present)


def label_lists(source: Source, samples: Sequence[StoredSample], drew: BoolArray | None = None) -> IntArray:
    """State of every annotator's label list on every sample (labels, empty or no list), shape ``(S, R)``.

    Args:
        source: the fields; those with a single label or value have labels, or no list
        samples: the samples as stored in the database
        drew: shape ``(S, R)``, who has a label, where one field holds the labels of all annotators
    """
    found = np.full((len(samples), len(source.annotators)), NO_LIST)
    for field in range(len(source.kinds)):
        ids = [sample.label_ids[field] for sample in samples]
        state = np.array([NO_LIST if entry is None else LABELS if entry else EMPTY_LIST for entry in ids], np.int64)
        owner = source.owner(field)
        if owner is not None:
            found[:, owner] = state
        else:
            found[:] = np.minimum(state, EMPTY_LIST)[:, None]
            if drew is not None:
                found[drew] = LABELS
    return found


@dataclass(frozen=True, slots=True)
class FieldCounts:
    """Counts of a field: its labels, and samples with labels, with an empty list, and without a list."""

    lists: AnnotatorLists
    n_labels: int


def count_lists(samples: SampleCollection, kinds: Mapping[str, LabelKind]) -> list[FieldCounts]:
    """Count labels and lists of some fields, in one pass over the samples, or frames, in the database.

    Args:
        kinds: types of the labels by field
    """
    config = AgreementConfig(tuple(kinds))
    source = Source(flattened(samples, on_frames=is_of_frames(config.fields[0])), config, tuple(kinds.values()), (), ())
    group: dict[str, Any] = {"_id": None}
    for field, (kind, path) in enumerate(zip(source.kinds, source.label_paths, strict=True)):
        n = label_count(kind, path)
        group[f"null{field}"] = {"$sum": {"$cond": [{"$eq": [n, None]}, 1, 0]}}
        group[f"labels{field}"] = {"$sum": n}
        group[f"empty{field}"] = {"$sum": {"$cond": [{"$eq": [n, 0]}, 1, 0]}}
    found = next(iter(source.aggregate([{"$group": {**group, "n": {"$sum": 1}}}])), {"n": 0})
    counts = [(found.get(f"empty{field}", 0), found.get(f"null{field}", 0)) for field in range(len(kinds))]
    return [
        FieldCounts(AnnotatorLists(name, found["n"] - empty - null, empty, null), found.get(f"labels{field}", 0))
        for field, (name, (empty, null)) in enumerate(zip(kinds, counts, strict=True))
    ]
