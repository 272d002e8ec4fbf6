"""App settings for a run, chosen by the user: recorded before they are changed, restored; links between labels.

The ids of our instances begin with a hash of the run key, so that they can be found and removed even if the rest of the
run is gone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import fiftyone as fo
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from PIL import ImageColor
from pymongo import UpdateOne

from ... import names
from ...agreement.settings.arguments import one_of, takes_arrays, true_or_false
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import list_name
from ..labels.paths import Place, all_fields, places
from ..labels.stored import StoredSample, as_read, label_ids
from ..record.lease import writing
from ..record.run import Run, refresh
from ..record.run_labels import RunLabels, open_run_labels
from ..run.work_through import MAX_ATTEMPTS
from .appearance import entries, remove_entries, set_entry

logger = logging.getLogger(__name__)

#: the label types with instances, several in a field or one
_LISTS = (fo.Detections, fo.Polylines, fo.Keypoints)
_SINGLE = (fo.Detection, fo.Polyline, fo.Keypoint)

_BATCH = 1_000
_PREFIX_BYTES = 8


def check_linkable(labels: RunLabels) -> None:
    """Refuse label types without ``instance``, and datasets with labels that have one."""
    for name, kind in zip(labels.config.fields, labels.kinds, strict=True):
        if kind.stored not in _LISTS:
            raise AgreementInputError(
                f"`link_instances` must be False for labels without `instance`, got {name!r} ({kind.title})"
            )
    dataset = labels.dataset
    low, high = _range(labels.run_key)
    others = {"instance._id": {"$type": "objectId", "$not": {"$gte": low, "$lte": high}}}
    for place in _label_places(dataset):
        for path, in_list in zip(place.paths, _are_lists(dataset, place), strict=True):
            has_other = {path: {"$elemMatch": others}} if in_list else {f"{path}.{k}": v for k, v in others.items()}
            if place.collection.find_one(has_other, {"_id": True}) is not None:
                raise AgreementInputError(
                    f"`link_instances` needs labels without an `instance`, got labels of `{place.prefix}{path}` that "
                    "are linked already"
                )


def link_units(labels: RunLabels) -> int:
    """Give all labels of a unit with two or more members the same instance; edited samples are read again.

    Returns:
        number of samples, or frames, left out because somebody kept on editing them
    """
    prefix = _prefix(labels.run_key)
    dataset = labels.dataset
    (place,) = places(dataset, labels.label_paths)
    number, refused = 0, None
    for _ in range(MAX_ATTEMPTS):
        wanted = refused
        refused = []
        for batch in _batches(labels, place, wanted):
            operations, ids = [], []
            for row in batch:
                values, number = _values(labels, place, row, prefix, number)
                if values:
                    ids_read = tuple(row[f"id{k}"] for k in range(len(place.paths)))
                    stored = StoredSample(row["_id"], row.get("last_modified_at"), ids_read)
                    operations.append(UpdateOne(as_read(stored, labels.kinds, place.paths), {"$set": values}))
                    ids.append(row["_id"])
            if operations and place.collection.bulk_write(operations, ordered=False).matched_count < len(operations):
                low, high = _range(labels.run_key)
                linked = [{path: {"$elemMatch": {"instance._id": {"$gte": low, "$lte": high}}}} for path in place.paths]
                found = place.collection.find({"_id": {"$in": ids}, "$or": linked}, {"_id": True})
                refused += sorted(set(ids) - {row["_id"] for row in found})
        if not refused:
            return 0
    logger.warning("%d samples were edited while their labels were linked, and are left out", len(refused))
    return len(refused)


def unlink_units(dataset: fo.Dataset, run_keys: Collection[str]) -> None:
    """Remove the instances that some runs gave to labels, in all fields."""
    for run_key in sorted(run_keys):
        low, high = _range(run_key)
        ours = {"$gte": low, "$lte": high}
        for place in _label_places(dataset):
            for path, in_list in zip(place.paths, _are_lists(dataset, place), strict=True):
                if not in_list:
                    continue
                place.collection.update_many(
                    {path: {"$elemMatch": {"instance._id": ours}}},
                    {"$unset": {f"{path}.$[label].instance": ""}},
                    array_filters=[{"label.instance._id": ours}],
                )


def _prefix(run_key: str) -> bytes:
    return hashlib.sha256(f"annotator agreement, run {run_key}".encode()).digest()[:_PREFIX_BYTES]


def _range(run_key: str) -> tuple[ObjectId, ObjectId]:
    """The lowest and the highest id of the instances of a run."""
    rest = 12 - _PREFIX_BYTES
    return ObjectId(_prefix(run_key) + b"\x00" * rest), ObjectId(_prefix(run_key) + b"\xff" * rest)


def _label_places(dataset: fo.Dataset) -> Iterator[Place]:
    """Paths of all labels, and lists of labels, that can have instances."""
    found = []
    for path, field in all_fields(dataset).items():
        document = getattr(field, "document_type", None)
        if document in _LISTS:
            found.append(f"{path}.{list_name(document)}")
        elif document in _SINGLE and isinstance(field, fo.EmbeddedDocumentField):
            found.append(path)
    return places(dataset, found)


def _are_lists(dataset: fo.Dataset, place: Place) -> list[bool]:
    return [isinstance(dataset.get_field(place.prefix + path), fo.ListField) for path in place.paths]


def _batches(labels: RunLabels, place: Place, wanted: list[ObjectId] | None) -> Iterator[list[dict[str, Any]]]:
    """Label ids and units of all documents, or of some."""
    projection: dict[str, Any] = {"last_modified_at": True}
    for k, (kind, path) in enumerate(zip(labels.kinds, place.paths, strict=True)):
        projection[f"id{k}"] = label_ids(kind, path)
        unit = {"$cond": [{"$gte": [f"$$this.{labels.field_key}_votes", 2]}, f"$$this.{labels.field_key}_id", None]}
        projection[f"unit{k}"] = {"$map": {"input": f"${path}", "in": unit}}
    stages: list[dict[str, Any]] = [{"$project": projection}]
    if wanted is not None:
        stages.insert(0, {"$match": {"_id": {"$in": wanted}}})
    rows = iter(place.collection.aggregate(stages))
    while batch := list(itertools.islice(rows, _BATCH)):
        yield batch


def _values(
    labels: RunLabels, place: Place, row: dict[str, Any], prefix: bytes, number: int
) -> tuple[dict[str, Any], int]:
    """The instances of the labels of a document by path, and the next number for an instance."""
    values: dict[str, Any] = {}
    instances: dict[str, dict[str, Any]] = {}
    for k, path in enumerate(place.paths):
        for position, unit in enumerate(row[f"unit{k}"] or ()):
            if unit is None:
                continue
            if unit not in instances:
                instances[unit] = {
                    "_cls": "Instance",
                    "_id": ObjectId(prefix + number.to_bytes(12 - len(prefix), "big")),
                }
                number += 1
            values[f"{path}.{position}.instance"] = instances[unit]
    return values, number


ColorBy = Literal["annotator", "verdict", "id"]

#: suffix (after the run key) of the attribute of the run that labels are coloured by
_SUFFIXES: dict[str, str] = {"verdict": "", "id": "_id"}

#: types of fields that the sidebar filters by value or range, for which large datasets need indexes
_FILTERED = (fo.FloatField, fo.IntField, fo.BooleanField, fo.StringField)


@dataclass(frozen=True, slots=True)
class AppSettings:
    """The App settings of a run."""

    sidebar: bool = False  #: whether its fields have an own group in the sidebar
    indexes: bool = False  #: whether its fields on samples have indexes
    color_by: ColorBy | None = None  #: what labels are coloured by; None: the run does not set colours
    link_instances: bool = False  #: whether the labels of an object are linked


@takes_arrays
def configure_agreement_app(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    sidebar: bool = False,
    indexes: bool = False,
    color_by: ColorBy | None = None,
    link_instances: bool = False,
) -> AppSettings:
    """Set up the App for a run. Settings at their defaults are restored to what they were before the run.

    ``delete_agreement`` undoes everything; changes that the user made meanwhile stay.

    Args:
        dataset: the dataset, or a view of it; settings always apply to the dataset
        run_key: key of the run
        sidebar: add a group in the sidebar for the fields of the run
        indexes: index the run's fields on samples, so that filtering and sorting large datasets is immediate
        color_by: colour the annotators' labels by their ``"annotator"`` or by their ``"verdict"``, in colour-blind safe
            colours, or by their match ``"id"``, so that labels of one object have one colour. Where every annotator has
            a field, fields that the user gave a colour keep it, and of more than 8 FiftyOne chooses the colours
        link_instances: link the labels of an object, so that hovering one highlights the others; only if no label of
            the dataset has an ``instance`` yet

    Returns:
        the settings

    Raises:
        AgreementInputError: if there is no such completed run, or a setting is not usable with its labels
    """
    with writing(Run(dataset, run_key).dataset) as stored:
        return _configure(open_run_labels(stored, run_key), AppSettings(sidebar, indexes, color_by, link_instances))


def _configure(labels: RunLabels, settings: AppSettings) -> AppSettings:
    run_key = labels.run_key
    check_settings(labels, settings)
    remove_app_settings(labels.dataset, {run_key})
    # the fields of a run on samples and frames, in the documented order
    of_run = labels.run.fields()
    suffixes = [f"{labels.field_key}{suffix}" for suffix in labels.kinds[0].fields.sample]
    listed = [*suffixes, *(names.FRAMES_PREFIX + path for path in suffixes)]
    later = [path for path in of_run if "." not in path.removeprefix(names.FRAMES_PREFIX)]
    fields = {path: of_run[path] for path in dict.fromkeys([*listed, *later]) if path in of_run}
    entry: dict[str, Any] = {
        "run_key": run_key,
        "settings": dataclasses.asdict(settings),
        "paths": list(fields) if settings.sidebar else [],
        "indexes": [],
    }
    if settings.indexes:
        present = set(labels.dataset.list_indexes())
        entry["indexes"] = [path for path, field in sorted(fields.items())
                            if "." not in path and isinstance(field, _FILTERED) and path not in present]  # fmt: skip
    attribute = labels.config.annotator_attribute  # where fields have their own colours, there is none
    if settings.color_by is not None and settings.color_by != "annotator":
        attribute = f"{labels.field_key}{_SUFFIXES[settings.color_by]}"
    if settings.color_by is not None and attribute is not None:
        entry["attribute"] = attribute
        entry["fields"] = list(labels.config.fields)
        colors = _colors(labels, settings.color_by)
        entry["value_colors"] = [{"value": value, "color": color} for value, color in colors.items()]
    elif settings.color_by == "annotator":
        entry["field_colors"] = _colors(labels, settings.color_by)
    if settings != AppSettings():
        set_entry(labels.dataset, entry)
    create_indexes(labels.dataset, entry["indexes"])
    if settings.link_instances:
        link_units(labels)
    refresh(labels.dataset)
    return settings


def _colors(labels: RunLabels, color_by: ColorBy | None) -> dict[str, str]:
    """The colour of every value, or of every annotator's field; none where the App may choose."""
    if color_by == "annotator" and len(labels.annotators) <= len(names.ANNOTATOR_COLORS):
        of_annotator = labels.value_of if labels.config.attribute_mode else labels.field_of
        return dict(zip(map(of_annotator, labels.annotators), names.ANNOTATOR_COLORS.values(), strict=False))
    return names.VERDICT_COLORS if color_by == "verdict" else {}


def annotator_colors(labels: RunLabels, fields: Sequence[Mapping[str, Any]] | None = None) -> dict[str, str]:
    """The CSS colour of every annotator of a run: as in the grid, where that tells the annotators apart.

    Args:
        fields: the colours of fields as in a colour scheme of FiftyOne; None for those that the dataset has
    """
    scheme = labels.dataset.app_config.color_scheme
    known = {each["path"]: each for each in (fields if fields is not None else (scheme and scheme.fields) or ())}
    colors = dict(zip(labels.annotators, itertools.cycle(names.ANNOTATOR_COLORS.values()), strict=False))
    for name in labels.annotators:
        field = known.get(labels.field_of(name), {})
        color = field.get("fieldColor")
        if labels.config.attribute_mode:
            is_by_annotator = field.get("colorByAttribute") == labels.config.annotator_attribute
            values = {each["value"]: each["color"] for each in field.get("valueColors") or ()}
            color = values.get(str(labels.value_of(name))) if is_by_annotator else None
        with contextlib.suppress(ValueError):
            ImageColor.getrgb(str(color))
            colors[name] = str(color)
    return colors


def lacks_colors(dataset: fo.Dataset, run_key: str, fields: Sequence[str], *, in_one_field: bool) -> bool:
    """True if the user chose no colours for annotators, and distinct ones can be set.

    Args:
        fields: the annotators' fields
        in_one_field: whether all labels are in one field
    """
    if app_settings_of(dataset, run_key).color_by is not None:
        return False
    scheme = dataset.app_config.color_scheme
    coloured = {each["path"] for each in (scheme and scheme.fields) or () if each.get("fieldColor")}
    are_labels = all(isinstance(dataset.get_field(path), fo.EmbeddedDocumentField) for path in fields)
    of_fields = are_labels and len(fields) <= len(names.ANNOTATOR_COLORS) and not coloured.issuperset(fields)
    return in_one_field or of_fields


def color_names(labels: RunLabels) -> dict[str, str]:
    """The names of the colours of the annotators of a run; empty unless its labels are coloured by annotator."""
    is_colored = app_settings_of(labels.dataset, labels.run_key).color_by == "annotator"
    if not is_colored or not labels.config.attribute_mode or len(labels.annotators) > len(names.ANNOTATOR_COLORS):
        return {}
    return dict(zip(labels.annotators, names.ANNOTATOR_COLORS, strict=False))


def remove_app_settings(dataset: fo.Dataset, run_keys: Collection[str]) -> None:
    """Undo the App settings of runs, even incomplete ones; settings of other runs stay."""
    with_runs = [entry for entry in entries(dataset) if entry["run_key"] in run_keys]
    for entry in with_runs:
        if entry["settings"]["link_instances"]:
            unlink_units(dataset, [entry["run_key"]])
        for path in entry["indexes"]:
            dataset.drop_index(path)  # does nothing without an index
    if with_runs:
        remove_entries(dataset, list(run_keys))


def create_indexes(dataset: fo.Dataset, paths: Collection[str]) -> None:
    """Create an index for each field."""
    for path in paths:
        dataset.create_index(path)


def app_settings_of(dataset: fo.Dataset, run_key: str) -> AppSettings:
    """The App settings of a run."""
    found = [entry["settings"] for entry in entries(dataset) if entry["run_key"] == run_key]
    return AppSettings(**found[0]) if found else AppSettings()


def check_settings(labels: RunLabels, settings: AppSettings) -> None:
    """Refuse settings that are not usable with the labels of a run."""
    for option in ("sidebar", "indexes", "link_instances"):
        true_or_false(option, getattr(settings, option))
    color_by = settings.color_by
    if color_by is not None:
        one_of("color_by", color_by, (*get_args(ColorBy), None))
        written = color_by == "annotator" or _SUFFIXES[color_by] in labels.kinds[0].fields.label
        if not written or not labels.have_attributes:
            raise AgreementInputError(
                "`color_by` must be an attribute that the run writes on labels, got "
                f"{color_by!r} for a run on {labels.title}"
            )
    if settings.link_instances:
        check_linkable(labels)
