"""What a reference and models add to the values that a run writes on labels and samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...agreement.matching.verdicts import Relation
from ...agreement.roles.numbers import values_of_images
from ...agreement.roles.role_labels import Comparison, compared_roles
from ...agreement.statistics.records import Records
from ...agreement.statistics.report import RunFacts
from ...metrics.numeric.arrays import FloatArray
from ...names import MISSED_BY, REFERENCE, REFERENCE_WORST
from ..labels.source import Source
from .objects import ObjectLabels, ids_of_objects
from .pixels import PixelLabels
from .protocol import LabelFamily
from .ratings import RatingLabels
from .tags import TagLabels, other_tags


def add_values_of_roles(
    updates: list[dict[str, Any]], family: LabelFamily[Any, Any], labels: Any, result: Any, records: Records
) -> None:
    """Add the values of roles to those of annotators.

    Args:
        updates: the values of every sample by path
        family: the family
        labels: the labels of a batch
        result: their agreement
        records: their records
    """
    source = family.source
    key, paths_of_units, paths_of_others = source.config.run_key, *_paths(source, labels, result)
    paths = [*paths_of_units, *paths_of_others]  # in the order of all labels
    ids = ids_of_objects(labels, result, source.annotators) if isinstance(labels, ObjectLabels) else []
    for role, each in zip(source.roles, compared_roles(records, family.context(RunFacts())), strict=True):
        sample = each.labels.sample.tolist()
        if isinstance(labels, ObjectLabels):  # their unit
            for row, of_unit in zip(each.own.tolist(), each.most_matched(result.unit).tolist(), strict=True):
                updates[sample[row]][f"{paths[row]}.{key}_id"] = ids[of_unit] if of_unit >= 0 else None
        if role.is_model:
            continue
        for path, k, said in zip(paths_of_units, sample, each.said().tolist(), strict=False):
            if path is not None and said is not None:
                updates[k][f"{path}.{key}{REFERENCE}"] = said
        if isinstance(labels, ObjectLabels | TagLabels):
            missed = each.missed()
            named = Relation(each.wanted[missed], each.wanted_of[missed]).names(source.annotators)
            for row, who in named.items():
                updates[sample[row]][f"{paths[row]}.{key}{MISSED_BY}"] = who
        if not isinstance(labels, RatingLabels):  # a label says it
            _add_of_images(source, each, updates, on_labels=isinstance(labels, PixelLabels))


def _add_of_images(source: Source, compared: Comparison, updates: list[dict[str, Any]], *, on_labels: bool) -> None:
    """Add the mean over annotators of their numbers on every sample, who has the lowest below 1; masks' own."""
    key, values = source.config.run_key, values_of_images(compared)
    suffix = f"{REFERENCE}_{compared.kind.of_image[1]}"
    for sample in np.flatnonzero(~np.isnan(values).all(axis=1)).tolist():
        lowest = np.nanmin(values[sample])
        updates[sample][f"{key}{suffix}"] = float(np.nanmean(values[sample]))
        if lowest < 1.0:
            worst = np.flatnonzero(values[sample] <= lowest).tolist()
            updates[sample][f"{key}{REFERENCE_WORST}"] = [source.annotators[k] for k in worst]
    if on_labels:
        for path, annotator in zip(source.label_paths, source.field_annotator, strict=True):
            of_annotator: FloatArray = values[:, annotator]
            for k in np.flatnonzero(~np.isnan(of_annotator)).tolist():
                updates[k][f"{path}.{key}{suffix}"] = float(of_annotator[k])


def _paths(source: Source, labels: Any, result: Any) -> tuple[Sequence[str | None], Sequence[str]]:
    """The path of every label in a unit, and of every other one in the records; None of plain values.

    Empty where nothing is written on such labels: what is written on masks are numbers.
    """
    if isinstance(labels, PixelLabels):
        return (), ()
    if isinstance(labels, RatingLabels):
        columns = zip(source.field_annotator, source.kinds, source.label_paths, strict=True)
        path_of = {annotator: path for annotator, kind, path in columns if kind.is_label}
        return [path_of.get(annotator) for annotator in np.nonzero(result.given)[1].tolist()], ()
    if isinstance(labels, ObjectLabels):
        chosen = np.flatnonzero(result.counted), result.others
    else:
        chosen = result.label, other_tags(labels, result)
    paths = source.everybody.label_paths
    own, others = (
        [f"{paths[field]}.{place}" for field, place in zip(labels.field[rows], labels.position[rows], strict=True)]
        for rows in chosen
    )
    return own, others
