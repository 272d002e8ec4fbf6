"""Write the fields of an import: samples, schema and labels, in bulk."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import fiftyone as fo
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.collection import Collection

from ... import names
from ...agreement.errors import AgreementInputError, shown
from ...agreement.options import ATTRIBUTE
from ..fiftyone_private import (
    dataset_id,
    document_fields,
    frame_collection,
    reload_dataset,
    reload_samples,
    sample_collection,
)
from ..labels.paths import is_of_frames, places, run_of
from ..labels.source import field_schema, own_fields, refuse_read_only
from ..record.fields import delete_fields
from ..record.lease import writing
from ..record.schema import declare, redeclare
from ..run.work_through import Progress
from .image_names import Target
from .label_documents import Document, Slot

#: how fields end whose values are still being written; an import that was killed leaves them behind
_BEING_IMPORTED = "_being_imported"
#: samples that are written at once
_BATCH = 500
_FIELD_TYPES: dict[type, type[fo.Field]] = {
    str: fo.StringField,
    int: fo.IntField,
    float: fo.FloatField,
    bool: fo.BooleanField,
}


def field_name(owner: str) -> str:
    """The name of a field for an annotator, a model or a question."""
    name = re.sub(r"\W+", "_", owner).strip("_")
    return f"annotator_{name}" if not name or name[0].isdigit() else name


def assigned_name(field: str) -> str:
    """The sample field that lists the assigned annotators, beside a field with the labels of all."""
    return f"{field.removeprefix(names.FRAMES_PREFIX)}_assigned"


@dataclass(frozen=True, slots=True)
class NewField:
    """A field of an import, and its values."""

    path: str  #: in the schema of the dataset
    slot: Slot | None  #: what stands in it; None: names of the assigned annotators
    values: dict[tuple[int, int], Any]  #: by number of the sample among the targets, and frame
    owner: str  #: whose labels they are; empty where they are those of all annotators

    @property
    def attributes(self) -> dict[str, fo.Field]:
        """The attributes of its labels that FiftyOne does not know, by path in the schema; texts where types differ."""
        if self.slot is None:
            return {}
        list_name, own = self.slot.list_name, {"_id", "_cls", *document_fields(self.slot.label_class)}
        types: dict[str, set[type]] = defaultdict(set)
        for value in self.values.values():
            for document in value[list_name] if list_name else (value,):
                for name in document.keys() - own:
                    types[name].add(type(document[name]))
        prefix = f"{self.path}.{list_name}" if list_name else self.path
        return {
            f"{prefix}.{name}": _field_of(found) for name, found in sorted(types.items()) if found <= {*_FIELD_TYPES}
        }


def _field_of(types: set[type]) -> fo.Field:
    found = float if types == {int, float} else next(iter(types)) if len(types) == 1 else str
    return _FIELD_TYPES[found]()


def check_fields(dataset: fo.Dataset, fields: Sequence[NewField], *, overwrite: bool) -> None:
    """Refuse fields that cannot be written.

    Raises:
        AgreementInputError: naming them
    """
    reload_dataset(dataset)
    paths = [entry.path for entry in fields]
    repeated = sorted(path for path, n in Counter(paths).items() if n > 1)
    if repeated:
        owners = shown(repr(entry.owner) for entry in fields if entry.path in repeated)
        raise AgreementInputError(
            f"Every annotator must have a field of their own, got {shown(map(repr, repeated))} for {owners}; give them "
            "other names with `annotators`"
        )
    schema = field_schema(dataset)
    own = own_fields(dataset)
    for path in paths:
        name = path.removeprefix(names.FRAMES_PREFIX)
        if path in own or not ATTRIBUTE.fullmatch(name) or name.startswith("_"):
            raise AgreementInputError(
                f"Fields for labels must have names that are free, got {path!r}; choose others with `prefix`, `field` "
                "or `annotators`"
            )
        run_key = run_of(path, schema[path]) if path in schema else None
        if run_key is not None:
            raise AgreementInputError(
                f"`overwrite` must not replace what a run wrote, got {path!r} of the run {run_key!r}"
            )
    existing = sorted(path for path in paths if path in schema)
    if existing and not overwrite:
        raise AgreementInputError(
            f"The dataset {dataset.name!r} has the fields {shown(map(repr, existing))} already; choose other names "
            "with `prefix` or `field`, or say overwrite=True"
        )
    refuse_read_only(dataset, existing)


def write_fields(
    dataset: fo.Dataset, fields: Sequence[NewField], targets: Sequence[Target], progress: Progress
) -> None:
    """Write all fields; where that fails, or the process is killed, fields that they replace are as they were.

    New values stand beside the old ones until all are written.

    Args:
        dataset: the dataset
        fields: the fields, checked; those that exist are replaced
        targets: the samples
        progress: as of :func:`import_annotations`
    """
    schema = field_schema(dataset)
    replaced = {entry.path: _meanwhile(entry.path) for entry in fields if entry.path in schema}
    fields = [dataclasses.replace(entry, path=replaced.get(entry.path, entry.path)) for entry in fields]
    delete_fields(dataset, [path for path in replaced.values() if path in schema])  # of an import that was killed
    _add_samples(dataset, targets)
    try:
        try:
            with_attributes = [{entry.path: _declared(entry), **entry.attributes} for entry in fields]
            declare(dataset, {path: kind for declared in with_attributes for path, kind in declared.items()})
            _write_values(dataset, fields, targets, progress)
        except BaseException:
            delete_fields(dataset, [entry.path for entry in fields if entry.path in field_schema(dataset)])
            raise
        _replace(dataset, replaced)
    finally:
        reload_dataset(dataset)
        reload_samples(dataset)


def _meanwhile(path: str) -> str:
    """The field that holds the new values of another until they replace the old ones."""
    return f"{path}{_BEING_IMPORTED}"


def _replace(dataset: fo.Dataset, replaced: Mapping[str, str]) -> None:
    """Put the values of fields in the place of others, each sample at once, and then the declarations."""
    if replaced:
        with writing(dataset):
            for place in places(dataset, replaced):
                values = {path: {"$ifNull": [f"${_meanwhile(path)}", None]} for path in place.paths}
                put: Document = {"$set": {**values, "last_modified_at": "$$NOW"}}
                place.collection.update_many({}, [put, {"$unset": list(map(_meanwhile, place.paths))}])
            redeclare(dataset, replaced)


def _add_samples(dataset: fo.Dataset, targets: Sequence[Target]) -> None:
    """Make the samples that are missing."""
    new = [target for target in targets if target.sample_id is None]
    if new:
        samples = [fo.Sample(target.path) for target in new]
        for target, sample_id in zip(new, dataset.add_samples(samples, progress=False), strict=True):
            target.sample_id = ObjectId(sample_id)


def _declared(entry: NewField) -> fo.Field:
    if entry.slot is None:
        return fo.ListField(fo.StringField(), description="The annotators who were assigned to the image")
    return fo.EmbeddedDocumentField(entry.slot.stored)


def _write_values(
    dataset: fo.Dataset, fields: Sequence[NewField], targets: Sequence[Target], progress: Progress
) -> None:
    """Write the values of all fields, one update for each sample or frame."""
    samples: dict[int, Document] = defaultdict(dict)
    frames: dict[tuple[int, int], Document] = defaultdict(dict)
    for entry in fields:
        name = entry.path.removeprefix(names.FRAMES_PREFIX)
        for key, value in entry.values.items():
            if is_of_frames(entry.path):
                frames[key][name] = value
            else:
                samples[key[0]][name] = value
    for number, target in enumerate(targets):
        if target.new_size is not None:
            samples[number].update(_metadata(target))
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    of_samples = (
        UpdateOne({"_id": targets[number].sample_id}, {"$set": {**values, "last_modified_at": now}})
        for number, values in samples.items()
    )
    of_frames = (
        _frame_update(dataset, targets[number], frame, values, now) for (number, frame), values in frames.items()
    )
    with fo.ProgressBar(total=len(samples) + len(frames), progress=progress) as bar:
        for collection, operations in (
            (sample_collection(dataset), of_samples),
            *([(frame_collection(dataset), of_frames)] if frames else []),
        ):
            _send(collection, operations, bar)


def _send(collection: Collection[Document], operations: Iterable[UpdateOne], bar: fo.ProgressBar) -> None:
    batch: list[UpdateOne] = []
    for operation in operations:
        batch.append(operation)
        if len(batch) >= _BATCH:
            collection.bulk_write(batch, ordered=False)
            bar.update(len(batch))
            batch = []
    if batch:
        collection.bulk_write(batch, ordered=False)
        bar.update(len(batch))


def _metadata(target: Target) -> Document:
    """The size of an image that the sample did not know."""
    width, height = target.new_size or (0, 0)
    if target.is_video:
        return {"metadata": {"_cls": "VideoMetadata", "frame_width": width, "frame_height": height}}
    return {"metadata": {"_cls": "ImageMetadata", "width": width, "height": height}}


def _frame_update(dataset: fo.Dataset, target: Target, number: int, values: Document, now: datetime) -> UpdateOne:
    """The update of a frame, which is made if the video does not have it."""
    made = {"_dataset_id": dataset_id(dataset), "created_at": now}
    return UpdateOne(
        {"_sample_id": target.sample_id, "frame_number": number},
        {"$set": {**values, "last_modified_at": now}, "$setOnInsert": made},
        upsert=True,
    )
