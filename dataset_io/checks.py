"""Checks of the labels themselves, made by the database before anything is written."""

from __future__ import annotations

import math
from typing import Any

from bson import ObjectId

from ..agreement.errors import AgreementInputError, shown
from .source import Source, annotator_name, annotators_found

_FINITE = {"$not": {"$gt": -math.inf, "$lt": math.inf}}
_NOT_NEGATIVE = {"$not": {"$gte": 0, "$lt": math.inf}}

#: :func:`is_usable_box` as a query, negated
_UNUSABLE_BOX = {
    "$or": [
        {"bounding_box": {"$not": {"$size": 4}}},
        {"bounding_box.0": _FINITE},
        {"bounding_box.1": _FINITE},
        {"bounding_box.2": _NOT_NEGATIVE},
        {"bounding_box.3": _NOT_NEGATIVE},
    ]
}


def is_usable_box(box: object) -> bool:
    """Whether a value is four finite numbers ``(x, y, width, height)`` with a width and height of at least 0."""
    if not isinstance(box, list | tuple) or len(box) != 4:
        return False
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in box):
        return False
    return bool(box[2] >= 0 and box[3] >= 0)


def check_labels(source: Source) -> None:
    """Refuse labels that cannot be compared.

    Raises:
        AgreementInputError: if a label has no id or no annotator (attribute mode), or an unusable box
            (``invalid="error"``)
    """
    config, attribute = source.config, source.config.annotator_attribute
    conditions: list[dict[str, Any]] = [{"_id": {"$not": {"$type": "objectId"}}}]
    if attribute is not None:
        conditions.append({attribute: None})
    if config.invalid == "error":
        conditions.append(_UNUSABLE_BOX)
    labels = _labels_where(source, {"$or": conditions})
    without_id = [sample for label, sample in labels if not isinstance(label.get("_id"), ObjectId)]
    if without_id:
        raise AgreementInputError(
            f"Every label must have an id, got {len(without_id)} without, on samples {shown(sorted(set(without_id)))}; "
            "load and save these samples with FiftyOne"
        )
    if attribute is not None:
        unnamed = sorted(str(label["_id"]) for label, _ in labels if label.get(attribute) is None)
        if unnamed:
            raise AgreementInputError(
                f"Every label of `{config.fields[0]}` must name its annotator in `{attribute}`, got {len(unnamed)} "
                f"without (label ids {shown(unnamed)})"
            )
    if config.invalid == "error":
        chosen = set(config.annotators) if attribute is not None else set()
        unusable = [
            sample
            for label, sample in labels
            if not is_usable_box(label.get("bounding_box"))
            and (not chosen or annotator_name(label.get(attribute)) in chosen)
        ]
        if unusable:
            raise unusable_boxes_error(len(unusable), sorted(set(unusable)))


def _labels_where(source: Source, condition: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """``(label, sample id)`` of all labels on samples with one that meets a condition."""
    affected = source.aggregate(
        [
            {"$match": {"$or": [{path: {"$elemMatch": condition}} for path in source.list_paths]}},
            {"$project": dict.fromkeys(source.list_paths, True)},
        ]
    )
    return [
        (label, str(document["_id"]))
        for document in affected
        for name in source.config.fields
        for label in (document.get(name) or {}).get(source.kind.list_name) or []
    ]


def check_annotators(source: Source) -> None:
    """Refuse an attribute that does not hold the annotators asked for, or only one.

    Raises:
        AgreementInputError: if an annotator is not found, or fewer than two are
    """
    attribute, chosen = source.config.annotator_attribute, source.config.annotators
    if attribute is None:
        return
    absent = sorted(set(chosen) - set(source.annotators))
    if absent:
        raise AgreementInputError(
            f"`annotators` must be found in `{attribute}`, got {shown(absent)}; found are "
            f"{shown(annotators_found(source)) or 'none'}"
        )
    if len(source.annotators) < 2:
        raise AgreementInputError(
            f"Agreement needs at least 2 annotators, got {len(source.annotators)} "
            f"({shown(map(repr, source.annotators))}) in the attribute `{attribute}`"
        )


def unusable_boxes_error(n: int, sample_ids: list[str]) -> AgreementInputError:
    """The error for ``n`` labels whose boxes cannot be compared."""
    return AgreementInputError(
        f"Boxes must be four finite numbers with a width and height of at least 0, got {n} that are not, on samples "
        f'{shown(sample_ids)}; correct them, or leave them out with invalid="skip"'
    )
