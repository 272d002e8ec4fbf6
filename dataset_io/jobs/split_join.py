"""Turn one field for each annotator into one field whose labels name their annotator, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import fiftyone as fo
from bson import ObjectId

from ... import names
from ...agreement.settings.arguments import takes_arrays, text_of, texts_of, true_or_false
from ...agreement.settings.errors import AgreementInputError, shown
from ...agreement.settings.options import OPTIONS, value_name
from ..annotation_files.image_names import Target
from ..annotation_files.label_documents import ANNOTATOR_ATTRIBUTE, Document, TargetField
from ..annotation_files.new_fields import Key, NewField
from ..annotation_files.written_fields import FieldWriter, assigned_name, field_name
from ..database.fiftyone_private import frame_collection, reload_dataset, sample_collection
from ..labels.assignment import listed_names
from ..labels.kinds import LabelKind
from ..labels.paths import attributes_of_runs, is_of_frames
from ..labels.source import field_schema, label_kinds
from ..run.work_through import Progress


@takes_arrays
def split_annotators(
    dataset: fo.Dataset,
    field: str,
    attribute: str = ANNOTATOR_ATTRIBUTE,
    *,
    assigned_field: str | None = None,
    prefix: str = "",
    overwrite: bool = False,
    progress: Progress = None,
) -> list[str]:
    """Write one field for each annotator, from a field whose labels name them; :func:`join_annotators` is the way back.

    Labels keep their ids, attributes and order; the field itself stays as it is. Who was assigned and drew nothing gets
    an empty list.

    Args:
        dataset: the dataset
        field: a field with a list of labels
        attribute: attribute of the labels that names their annotator
        assigned_field: sample field that lists the assigned annotators; by default ``<field>_assigned`` where there is
            one; else everybody is taken to be assigned to every sample that has a label list
        prefix: first part of the names of the new fields
        overwrite: replace fields that exist
        progress: a progress bar (True or False), FiftyOne's default (None), or a function that is called with it

    Returns:
        the fields that were written

    Raises:
        AgreementInputError: if labels do not name their annotator, or a field is not free; nothing was written then
    """
    text_of("field", field)
    OPTIONS["annotator_attribute"].checked(text_of("attribute", attribute), "attribute")
    text_of("prefix", prefix, may_be_empty=True)
    assigned_field = OPTIONS["assigned_field"].checked(assigned_field)
    _check_writing(overwrite, progress)
    (kind,) = _kinds(dataset, [field])
    if assigned_field is None and dataset.has_sample_field(assigned_name(field)):
        assigned_field = assigned_name(field)
    targets, lists, assigned = _read(dataset, [field], [kind], assigned_field)
    labels: dict[str, dict[Key, list[Document]]] = defaultdict(lambda: defaultdict(list))
    unnamed = []
    for key, (found,) in lists.items():
        for label in found or ():
            if label.get(attribute) is None:
                unnamed.append(str(label.get("_id")))
            else:
                rest = {name: value for name, value in label.items() if name != attribute}
                labels[value_name(label[attribute])][key].append(rest)
    if unnamed or not labels:
        raise AgreementInputError(
            f"Every label of {field!r} must name its annotator in {attribute!r}, got "
            + (f"{len(unnamed)} without (label ids {shown(unnamed)})" if unnamed else "no label")
        )
    everybody = sorted({*labels, *(name for found in assigned.values() for name in found)})
    made: dict[str, dict[Key, list[Document]]] = {name: {} for name in everybody}
    for key, (found,) in lists.items():
        for name in everybody:
            of_annotator = labels[name].get(key, [])
            is_assigned = found is not None if assigned_field is None else name in assigned.get(key[0], ())
            if of_annotator or is_assigned:
                made[name][key] = of_annotator
    start = (names.FRAMES_PREFIX if is_of_frames(field) else "") + prefix
    slot = TargetField(kind.title, kind.stored)
    fields = [
        NewField(start + field_name(name), slot, {key: slot.value(found) for key, found in values.items()}, name)
        for name, values in made.items()
    ]
    return _written(dataset, fields, targets, overwrite=overwrite, progress=progress)


@takes_arrays
def join_annotators(
    dataset: fo.Dataset,
    fields: Sequence[str] | Mapping[str, str],
    field: str = "annotations",
    *,
    attribute: str = ANNOTATOR_ATTRIBUTE,
    overwrite: bool = False,
    progress: Progress = None,
) -> list[str]:
    """Write one field in which labels name their annotator, from one field each; :func:`split_annotators` undoes it.

    Labels keep their ids and attributes; the fields themselves stay as they are. The sample field ``<field>_assigned``
    lists who was assigned: everybody whose field is not null.

    Args:
        dataset: the dataset
        fields: two or more label fields, each an annotator; or a mapping of them to the annotators' names
        field: name of the new field
        attribute: attribute of the labels that names their annotator
        overwrite: replace fields that exist
        progress: as of :func:`split_annotators`

    Returns:
        the fields that were written: that of the labels, and that of the assigned annotators

    Raises:
        AgreementInputError: if the fields cannot be joined, or a field is not free; nothing was written then
    """
    if not isinstance(fields, Mapping | list | tuple) or not fields:
        raise AgreementInputError(f"`fields` must be a list of fields, one for each annotator, got {fields!r}")
    text_of("field", field)
    OPTIONS["annotator_attribute"].checked(text_of("attribute", attribute), "attribute")
    _check_writing(overwrite, progress)
    paths = texts_of("fields", fields)
    owners = (
        {path: text_of("fields", fields[path]) for path in paths}
        if isinstance(fields, Mapping)
        else {path: path.removeprefix(names.FRAMES_PREFIX) for path in paths}
    )
    if len(set(owners.values())) < len(owners):
        raise AgreementInputError(
            f"Every field must have an annotator of its own, got {shown(map(repr, owners.values()))}"
        )
    kinds = _kinds(dataset, list(owners))
    if len({kind.stored for kind in kinds}) > 1:
        raise AgreementInputError(
            "`fields` must hold labels of one type to be joined, got "
            + shown(f"{name} ({kind.title})" for name, kind in zip(owners, kinds, strict=True))
        )
    targets, lists, _ = _read(dataset, list(owners), kinds, None)
    values: dict[Key, Document] = {}
    assigned: dict[Key, set[str]] = defaultdict(set)
    slot = TargetField(kinds[0].title, kinds[0].stored)
    for key, found in lists.items():
        present = [(owner, labels) for owner, labels in zip(owners.values(), found, strict=True) if labels is not None]
        if present:
            values[key] = slot.value([{**label, attribute: owner} for owner, labels in present for label in labels])
            assigned[key[0], 0].update(owner for owner, _ in present)
    start = names.FRAMES_PREFIX if is_of_frames(next(iter(owners))) else ""
    listed = {key: sorted(found) for key, found in assigned.items()}
    new = [NewField(start + field, slot, values, ""), NewField(assigned_name(field), None, listed, "")]
    return _written(dataset, new, targets, overwrite=overwrite, progress=progress)


def _check_writing(overwrite: object, progress: object) -> None:
    true_or_false("overwrite", overwrite)
    OPTIONS["progress"].checked(progress)


def _kinds(dataset: fo.Dataset, fields: list[str]) -> tuple[LabelKind, ...]:
    """The label types of fields with lists of labels."""
    if not isinstance(dataset, fo.Dataset):
        raise AgreementInputError(f"`dataset` must be a FiftyOne dataset, got {type(dataset).__name__}")
    reload_dataset(dataset)
    kinds = label_kinds(dataset, fields)
    single = [f"{name} ({kind.title})" for name, kind in zip(fields, kinds, strict=True) if kind.list_name is None]
    if single:
        raise AgreementInputError(f"Only fields with lists of labels can be split or joined, got {shown(single)}")
    return kinds


def _read(
    dataset: fo.Dataset, fields: list[str], kinds: Iterable[LabelKind], assigned_field: str | None
) -> tuple[list[Target], dict[Key, list[list[Document] | None]], dict[int, set[str]]]:
    """The samples, the label list of every field on every sample or frame, and the assigned annotators by sample."""
    written = attributes_of_runs(dataset)
    targets: list[Target] = []
    number: dict[ObjectId, int] = {}
    assigned: dict[int, set[str]] = {}
    wanted = {"filepath": True, **({assigned_field: True} if assigned_field else {})}
    for row in sample_collection(dataset).find({}, wanted):
        number[row["_id"]] = len(targets)
        targets.append(Target(str(row.get("filepath")), row["_id"]))
        assigned[number[row["_id"]]] = set(listed_names(row.get(assigned_field))) if assigned_field else set()
    on_frames = is_of_frames(fields[0])
    short = [name.removeprefix(names.FRAMES_PREFIX) for name in fields]
    collection = frame_collection(dataset) if on_frames else sample_collection(dataset)
    lists: dict[Key, list[list[Document] | None]] = {}
    damaged: list[str] = []
    for row in collection.find({}, dict.fromkeys([*short, "_sample_id", "frame_number"], True)):
        key = (number[row["_sample_id"]], int(row["frame_number"])) if on_frames else (number[row["_id"]], 0)
        for name, kind in zip(short, kinds, strict=True):
            value = row.get(name)
            labels = value.get(kind.list_name or "") if isinstance(value, dict) else value
            is_list = isinstance(value, dict) and isinstance(labels, list)
            if labels is None:  # the annotator was not assigned
                lists.setdefault(key, []).append(None)
            elif is_list and all(isinstance(label, dict) for label in labels):
                own = [{part: held for part, held in label.items() if part not in written} for label in labels]
                lists.setdefault(key, []).append(own)
            else:
                damaged.append(f"{name!r} of {row['_id']}")
    if damaged:
        raise AgreementInputError(
            f"Fields must hold lists of labels alone to be split or joined, got something else in {shown(damaged)}; "
            "correct or remove it"
        )
    return targets, lists, assigned


def _written(
    dataset: fo.Dataset, fields: list[NewField], targets: list[Target], *, overwrite: bool, progress: Progress
) -> list[str]:
    """Write fields that are free or may be replaced; returns their paths."""
    existing = [entry.path for entry in fields if entry.path in field_schema(dataset)]
    if existing and not overwrite:
        raise AgreementInputError(
            f"The dataset {dataset.name!r} has the fields {shown(map(repr, existing))} already; choose other names "
            "with `prefix` or `field`, or say overwrite=True"
        )
    FieldWriter(dataset, fields, targets, overwrite=overwrite, remove_others=overwrite, convert=False).write(progress)
    return [entry.path for entry in fields]
