"""Write the fields of an import: samples, schema and labels, in bulk."""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from itertools import chain, islice

import fiftyone as fo
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, DocumentTooLarge

from ... import names
from ...agreement.settings.errors import AgreementInputError, keeping_first_error, shown
from ...agreement.settings.options import ATTRIBUTE
from ..database.fiftyone_private import (
    database,
    dataset_id,
    frame_collection,
    has_frame_fields,
    reload_dataset,
    reload_samples,
    sample_collection,
)
from ..labels.paths import all_fields, is_of_frames, places, run_of
from ..labels.source import field_schema, own_fields, refuse_read_only
from ..record.lease import lost_lease, require_lease, writing
from ..record.schema import declare, redeclare, undeclare
from ..run.work_through import Progress
from .image_names import Target
from .label_documents import ANNOTATOR_ATTRIBUTE, Document
from .new_fields import Key, NewField, attribute_fields, check_changes, check_storable, convert_attributes
from .summaries import FieldChange

#: how the names of fields begin that hold the values of an import until all are written
_IMPORT = "agreement_import_"
#: the annotators of an image, beside values of fields with the labels of all annotators
_OWNERS = "_annotators"
#: BSON types that a declared attribute can have
_READABLE: dict[type[fo.Field], set[str]] = {
    fo.StringField: {"string"},
    fo.IntField: {"int", "long"},
    fo.FloatField: {"int", "long", "double"},
    fo.BooleanField: {"bool"},
}
#: samples that are written at once
_BATCH = 500


def field_name(owner: str) -> str:
    """The name of a field for an annotator, a model or a question."""
    name = re.sub(r"\W+", "_", owner).strip("_")
    return f"annotator_{name}" if not name or name[0].isdigit() else name


def assigned_name(field: str) -> str:
    """The sample field that lists the assigned annotators, beside a field with the labels of all."""
    return f"{field.removeprefix(names.FRAMES_PREFIX)}_assigned"


def check_fields(
    dataset: fo.Dataset,
    fields: Sequence[NewField],
    targets: Sequence[Target],
    *,
    overwrite: bool,
    remove_others: bool,
    convert: bool = True,
) -> tuple[list[FieldChange], dict[str, fo.Field]]:
    """Refuse fields that cannot be written, and give their attributes the types that their fields have.

    Returns:
        what is done to labels that are there already, and fields that must be declared with another type of number

    Raises:
        AgreementInputError: naming them
    """
    reload_dataset(dataset)
    for entry in fields:
        check_storable(entry, targets)
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
        if names.GOLD_MARK in (getattr(schema.get(path), "info", None) or {}):
            raise AgreementInputError(f"Labels must not be imported among decisions, got the field {path!r}; choose "
                                      "others with `prefix` or `field`")  # fmt: skip
    changes = check_changes(dataset, fields, targets, schema, overwrite=overwrite, remove_others=remove_others)
    refuse_read_only(dataset, [path for path in paths if path in schema])
    wider: dict[str, fo.Field] = {}
    if convert:
        emptied = _emptied(changes, overwrite=overwrite)
        declared = {path: kind for path, kind in all_fields(dataset).items() if _owner(path, emptied) is None}
        for entry in fields:
            wider |= convert_attributes(entry, declared, targets)
    return changes, wider


def _emptied(changes: Iterable[FieldChange], *, overwrite: bool) -> set[str]:
    """The fields of which no label stays."""
    return {change.field for change in changes if overwrite and not change.n_images_kept}


def _owner(path: str, fields: Iterable[str]) -> str | None:
    """The field in which another one is."""
    return next((field for field in fields if path.startswith(f"{field}.")), None)


def write_fields(
    dataset: fo.Dataset,
    fields: Sequence[NewField],
    targets: Sequence[Target],
    progress: Progress,
    *,
    overwrite: bool,
    remove_others: bool,
    convert: bool = True,
) -> list[FieldChange]:
    """Write all fields; where that fails, or the process is killed, all labels are as they were.

    New values stand in a field of their own until all are written. Nobody else imports meanwhile: the lease is held.

    Args:
        dataset: the dataset
        fields: the fields
        targets: the samples
        progress: as of :func:`import_annotations`
        overwrite: whether labels on images of the file may be replaced
        remove_others: whether all other labels in the fields are removed
        convert: whether values of attributes become those of one type

    Returns:
        what was done to labels that were there before
    """
    with writing(dataset):
        _remove_left_behind(dataset)
        _find_new_samples(dataset, targets)
        options = {"overwrite": overwrite, "remove_others": remove_others}
        changes, wider = check_fields(dataset, fields, targets, **options, convert=convert)
        emptied = _emptied(changes, overwrite=overwrite)
        try:
            _write(dataset, fields, targets, progress, emptied, wider, remove_others=remove_others)
        finally:
            reload_dataset(dataset)
            reload_samples(dataset)
        _read_back(dataset, fields, targets)
    return changes


def _write(
    dataset: fo.Dataset,
    fields: Sequence[NewField],
    targets: Sequence[Target],
    progress: Progress,
    emptied: set[str],
    wider: dict[str, fo.Field],
    *,
    remove_others: bool,
) -> None:
    schema = all_fields(dataset)
    of_another_type = {entry.path: entry.declaration() for entry in fields
                       if entry.path in schema and not entry.fits(schema[entry.path])}  # fmt: skip
    new = {entry.path: entry.declaration() for entry in fields if entry.path not in schema}
    attributes = {path: kind for entry in fields for path, kind in attribute_fields(entry).items()}
    outdated = [path for path, kind in attributes.items()
                if path in schema and path not in wider and type(schema[path]) is not type(kind)
                and _owner(path, emptied)]  # fmt: skip
    temporary = _free_name(dataset)
    _add_samples(dataset, targets)
    try:
        on_frames = any(is_of_frames(entry.path) for entry in fields)
        holders = [temporary, *([names.FRAMES_PREFIX + temporary] if on_frames else [])]
        mark = {names.IMPORT_MARK: True}
        description = "Labels of an import that is not complete; the next import removes it"
        declare(dataset, {path: fo.DictField(info=mark, description=description) for path in holders} | new)
        n_written = _write_values(dataset, fields, targets, temporary, progress)
        if outdated:
            undeclare(dataset, outdated)
        redeclare(dataset, wider)
        _move(dataset, fields, temporary, n_written, remove_others=remove_others)
    except BaseException:
        with keeping_first_error("What an import wrote could not be removed"):
            _remove_left_behind(dataset)
            undeclare(dataset, [path for path in new if not _has_values(dataset, path)])
        raise
    undeclare(dataset, holders)
    redeclare(dataset, of_another_type)
    undeclared = {path: kind for path, kind in attributes.items() if path not in all_fields(dataset)}
    declare(dataset, _readable(dataset, fields, undeclared))


def _free_name(dataset: fo.Dataset) -> str:
    """The name of a field that neither the schema nor any sample or frame has."""
    collections = [sample_collection(dataset), *([frame_collection(dataset)] if has_frame_fields(dataset) else [])]
    while True:
        name = _IMPORT + secrets.token_hex(4)
        declared = {path.removeprefix(names.FRAMES_PREFIX) for path in field_schema(dataset)}
        if name not in declared and not any(found.find_one({name: {"$exists": True}}) for found in collections):
            return name


def _remove_left_behind(dataset: fo.Dataset) -> None:
    """Remove values of imports that did not end; while the lease is held no other import is at work."""
    marked = [path for path, field in field_schema(dataset).items() if names.IMPORT_MARK in (field.info or {})]
    for place in places(dataset, marked):
        for name in place.paths:
            place.collection.update_many({name: {"$exists": True}}, {"$unset": {name: ""}})
    undeclare(dataset, marked)


def _has_values(dataset: fo.Dataset, path: str) -> bool:
    (place,) = places(dataset, [path])
    return place.collection.find_one({place.paths[0]: {"$exists": True}}, {"_id": True}) is not None


def _move(
    dataset: fo.Dataset, fields: Sequence[NewField], temporary: str, n_written: int, *, remove_others: bool
) -> None:
    """Put all values into their fields, each sample at once; what is not in the file stays, or is removed."""
    by_path = {entry.path: entry for entry in fields}
    all_places = list(places(dataset, by_path))
    n_found = sum(place.collection.count_documents({temporary: {"$exists": True}}) for place in all_places)
    if n_found < n_written or not _is_held(dataset):
        raise lost_lease(dataset)
    for place in all_places:
        values = {path: _moved(by_path[place.prefix + path], temporary, path, remove_others=remove_others)
                  for path in place.paths}  # fmt: skip
        touched = [temporary, *(place.paths if remove_others else [])]
        place.collection.update_many(
            {"$or": [{name: {"$exists": True}} for name in touched]},
            [{"$set": {**values, "last_modified_at": "$$NOW"}}, {"$unset": temporary}],
        )


def _is_held(dataset: fo.Dataset) -> bool:
    return database().datasets.find_one(require_lease(dataset), {"_id": True}) is not None


def _moved(entry: NewField, temporary: str, name: str, *, remove_others: bool) -> Document:
    """The value of a field after the import."""
    new = f"${temporary}.{name}"
    if remove_others:
        return {"$ifNull": [new, "$$REMOVE"]}
    if entry.owner:
        return {"$ifNull": [new, f"${name}"]}
    owners = f"${temporary}.{_OWNERS}"
    if entry.slot is None:
        joined: Document = _joined(f"${name}", new, "$$this", owners)
    else:
        list_name = entry.slot.list_name
        of_labels = _joined(f"${name}.{list_name}", f"{new}.{list_name}", f"$$this.{ANNOTATOR_ATTRIBUTE}", owners)
        joined = {"$mergeObjects": [f"${name}", new, {list_name: of_labels}]}
    return {"$cond": [{"$eq": [{"$type": new}, "missing"]}, f"${name}", joined]}


def _joined(before: str, new: str, owner: str, owners: str) -> Document:
    """A list without the entries of some annotators, and then new entries."""
    listed = {"$cond": [{"$isArray": before}, before, []]}
    others = {"$filter": {"input": listed, "cond": {"$not": {"$in": [owner, owners]}}}}
    return {"$concatArrays": [others, new]}


def _readable(dataset: fo.Dataset, fields: Sequence[NewField], attributes: dict[str, fo.Field]) -> dict[str, fo.Field]:
    """Attributes without those that other labels have in another type: declared, they could not be read."""
    found: dict[str, fo.Field] = {}
    for entry in fields:
        of_entry = {path: kind for path, kind in attributes.items() if path.startswith(f"{entry.label_path}.")}
        if of_entry:
            (place,) = places(dataset, [entry.label_path])
            path = place.paths[0]
            types = {f"a{k}": {"$addToSet": {"$type": f"${attribute.removeprefix(place.prefix)}"}}
                     for k, attribute in enumerate(of_entry)}  # fmt: skip
            rows = place.collection.aggregate([{"$unwind": f"${path}"}, {"$group": {"_id": None, **types}}])
            row = next(iter(rows), {})
            found |= {attribute: kind for k, (attribute, kind) in enumerate(of_entry.items())
                      if {*row.get(f"a{k}", ())} <= _READABLE[type(kind)] | {"missing", "null"}}  # fmt: skip
    return found


def _read_back(dataset: fo.Dataset, fields: Sequence[NewField], targets: Sequence[Target]) -> None:
    """Read a sample with each attribute of each field through FiftyOne.

    Raises:
        AgreementInputError: if FiftyOne cannot read one
    """
    for entry in fields:
        own: set[str] = set()
        chosen: dict[Key, Target] = {}
        for key, value in entry.values.items():
            names_found = {name for document in entry.labels_of(value) for name in document}
            if not chosen or not names_found <= own:
                own |= names_found
                chosen[key] = targets[key[0]]
        ids = [str(target.sample_id) for target in chosen.values()]
        frames = {key for key in chosen if key[1]}
        try:
            samples = dataset.select(ids).select_fields(entry.path)
            for sample in samples:
                sample.to_dict()
                for _, frame in frames if sample.media_type == "video" else ():
                    sample.frames[frame].to_dict()
        except Exception as error:  # whatever FiftyOne raises, it would raise whenever the sample is read
            raise AgreementInputError(
                f"FiftyOne must be able to read what was imported, got an error in the field {entry.path!r}: {error}; "
                "delete this field, and report the file"
            ) from error


def _find_new_samples(dataset: fo.Dataset, targets: Sequence[Target]) -> None:
    """Find the samples that somebody else made since the files were read."""
    new = {target.path: target for target in targets if target.sample_id is None}
    if new:
        for row in sample_collection(dataset).find({}, {"filepath": True}):
            if row.get("filepath") in new:
                new[row["filepath"]].sample_id = row["_id"]


def _add_samples(dataset: fo.Dataset, targets: Sequence[Target]) -> None:
    """Make the samples that are missing."""
    new = [target for target in targets if target.sample_id is None]
    if new:
        samples = [fo.Sample(target.path) for target in new]
        for target, sample_id in zip(new, dataset.add_samples(samples, progress=False), strict=True):
            target.sample_id = ObjectId(sample_id)


def _write_values(
    dataset: fo.Dataset, fields: Sequence[NewField], targets: Sequence[Target], temporary: str, progress: Progress
) -> int:
    """Write the values of all fields into a temporary one, one update for each sample or frame; returns how many."""
    samples: dict[int, Document] = defaultdict(dict)
    frames: dict[Key, Document] = defaultdict(dict)
    for entry in fields:
        name = entry.path.removeprefix(names.FRAMES_PREFIX)
        for key, value in entry.values.items():
            values = frames[key] if is_of_frames(entry.path) else samples[key[0]]
            values[name] = value
            if not entry.owner and entry.slot is not None:
                values[_OWNERS] = list(entry.owners.get(key, ()))
    n_written = len(samples) + len(frames)
    sizes = {number: _metadata(target) for number, target in enumerate(targets) if target.new_size is not None}
    of_samples = (
        UpdateOne({"_id": targets[number].sample_id}, {"$set": {temporary: values, **sizes.get(number, {})}})
        for number, values in samples.items()
    )
    of_sizes = (UpdateOne({"_id": targets[number].sample_id}, {"$set": size})
                for number, size in sizes.items() if number not in samples)  # fmt: skip
    now = datetime.now(timezone.utc).replace(tzinfo=None)
    of_frames = (
        _frame_update(dataset, targets[number], frame, {temporary: values}, now)
        for (number, frame), values in frames.items()
    )
    with fo.ProgressBar(total=n_written, progress=progress) as bar:
        _send(sample_collection(dataset), chain(of_samples, of_sizes), bar)
        if frames:
            _send(frame_collection(dataset), of_frames, bar)
    return n_written


def _send(collection: Collection[Document], operations: Iterable[UpdateOne], bar: fo.ProgressBar) -> None:
    remaining = iter(operations)
    while batch := list(islice(remaining, _BATCH)):
        try:
            done = collection.bulk_write(batch, ordered=False)
        except (BulkWriteError, DocumentTooLarge) as error:
            raise AgreementInputError(
                f"The labels of an image must fit into the database, which holds 16 MB for a sample, got {error}"
            ) from error
        if done.matched_count + done.upserted_count < len(batch):
            raise AgreementInputError("Samples must stay while labels are imported, but some were deleted meanwhile; "
                                      "import the file again")  # fmt: skip
        bar.update(len(batch))


def _metadata(target: Target) -> Document:
    """The size of an image that the sample did not know."""
    width, height = target.new_size or (0, 0)
    if target.is_video:
        return {"metadata": {"_cls": "VideoMetadata", "frame_width": width, "frame_height": height}}
    return {"metadata": {"_cls": "ImageMetadata", "width": width, "height": height}}


def _frame_update(dataset: fo.Dataset, target: Target, number: int, values: Document, now: datetime) -> UpdateOne:
    """The update of a frame, which is made if the video does not have it."""
    made = {"_dataset_id": dataset_id(dataset), "created_at": now, "last_modified_at": now}
    return UpdateOne(
        {"_sample_id": target.sample_id, "frame_number": number}, {"$set": values, "$setOnInsert": made}, upsert=True
    )
