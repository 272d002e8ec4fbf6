"""Write the fields of an import: samples, schema and labels, in bulk."""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice

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
    reload_dataset,
    reload_samples,
    sample_collection,
)
from ..labels.paths import all_fields, gold_of, is_of_frames, places, run_of
from ..labels.source import field_schema, own_fields, refuse_read_only
from ..record.lease import lost_lease, require_lease, writing
from ..record.schema import declare, redeclare, undeclare
from ..run.work_through import Progress
from .image_names import Target
from .label_documents import ANNOTATOR_ATTRIBUTE, Document
from .new_fields import Key, NewField, change_of, check_storable, convert_attributes
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


@dataclass(slots=True)
class FieldWriter:
    """Writes the fields of an import: samples, schema and labels, in bulk."""

    dataset: fo.Dataset
    fields: Sequence[NewField]
    targets: Sequence[Target]  #: the samples
    overwrite: bool  #: whether labels on images of the file may be replaced
    remove_others: bool  #: whether all other labels in the fields are removed
    #: fields that must be declared anew, because they hold integers and get other numbers; and attributes without one
    _wider: dict[str, fo.Field] = field(init=False, default_factory=dict)
    _attributes: dict[str, fo.Field] = field(init=False, default_factory=dict)
    _emptied: tuple[str, ...] = field(init=False, default=())  #: how paths in fields begin of which no label stays

    def check(self) -> list[FieldChange]:
        """Refuse fields that cannot be written, and give their attributes the types that their fields have.

        Returns:
            what is done to labels that are there already
        """
        reload_dataset(self.dataset)
        for entry in self.fields:
            check_storable(entry, self.targets)
        schema = field_schema(self.dataset)
        paths = [entry.path for entry in self.fields]
        repeated = sorted(path for path, n in Counter(paths).items() if n > 1)
        if repeated:
            owners = shown(repr(entry.owner) for entry in self.fields if entry.path in repeated)
            raise AgreementInputError(
                f"Every annotator must have a field of their own, got {shown(map(repr, repeated))} for {owners}; give "
                "them other names with `annotators`, or import into='attribute'"
            )
        own = own_fields(self.dataset)
        for path in paths:
            name = path.removeprefix(names.FRAMES_PREFIX)
            if path in own or not ATTRIBUTE.fullmatch(name) or name.startswith("_"):
                raise AgreementInputError(
                    f"Fields for labels must have names that are free, got {path!r}; choose others with `prefix`, "
                    "`field` or `annotators`"
                )
            run_key = run_of(path, schema[path]) if path in schema else None
            if run_key is not None:
                raise AgreementInputError(
                    f"`overwrite` must not replace what a run wrote, got {path!r} of the run {run_key!r}"
                )
            if gold_of(schema.get(path)) is not None:
                raise AgreementInputError(f"Labels must not be imported among decisions, got the field {path!r}; "
                                          "choose others with `prefix` or `field`")  # fmt: skip
        changes = self._changes(schema)
        refuse_read_only(self.dataset, [entry.path for entry in self.fields if entry.path in schema])
        self._emptied = tuple(f"{change.field}." for change in changes if self.overwrite and not change.n_images_kept)
        declared = {path: kind for path, kind in all_fields(self.dataset).items()
                    if not path.startswith(self._emptied)}  # fmt: skip
        converted = [convert_attributes(entry, declared, self.targets) for entry in self.fields]
        self._wider = {path: kind for wider, _ in converted for path, kind in wider.items()}
        self._attributes = {path: kind for _, new in converted for path, kind in new.items()}
        return changes

    def _changes(self, schema: Mapping[str, fo.Field]) -> list[FieldChange]:
        """Effects of an import on the labels that its fields hold already."""
        listed_in = next((entry.path for entry in self.fields
                          if entry.slot is None and not entry.is_unread and entry.path in schema), None)  # fmt: skip
        changes = {
            entry.path: change_of(
                self.dataset, entry, self.targets, schema.get(entry.path), listed_in, remove_others=self.remove_others
            )
            for entry in self.fields
            if entry.slot is not None
        }
        replaced = [change for change in changes.values() if change.n_images_replaced]
        if replaced and not self.overwrite:
            found = shown(
                f"{change.field!r} ({change.n_labels_replaced:,} labels on {change.n_images_replaced:,} images)"
                for change in replaced
            )
            raise AgreementInputError(
                f"Images of the file must have no labels yet in the fields of the import, got {found}; say "
                "overwrite=True to replace the labels on these images alone, or choose other fields with `prefix` or "
                "`field`"
            )
        for entry in self.fields:
            change, declared = changes.get(entry.path), schema.get(entry.path)
            if declared is None or entry.fits(declared):
                continue
            advice = "choose another one with `prefix` or `field`"
            if entry.slot is not None and change is not None:
                if self.overwrite and not change.n_images_kept:
                    continue
                n_kept = change.n_labels_kept
                advice += ", or say overwrite=True"
                advice += f", remove_others=True, which removes {n_kept:,} labels" if n_kept else ""
            wanted = "a list of names" if entry.slot is None else entry.slot.stored.__name__
            document_type = getattr(declared, "document_type", None) or type(declared)
            raise AgreementInputError(
                f"The field {entry.path!r} must be of the type of its new labels, {wanted}, got "
                f"{document_type.__name__}; {advice}"
            )
        return list(changes.values())

    def write(self, progress: Progress) -> list[FieldChange]:
        """Write all fields; where that fails, or the process is killed, all labels are as they were.

        New values stand in a field of their own until all are written. Nobody else imports meanwhile: the lease is
        held.

        Returns:
            what was done to labels that were there before
        """
        with writing(self.dataset):
            _remove_left_behind(self.dataset)
            # somebody else may have made samples since the files were read
            new = {target.path: target for target in self.targets if target.sample_id is None}
            for row in sample_collection(self.dataset).find({}, {"filepath": True}) if new else ():
                if row.get("filepath") in new:
                    new[row["filepath"]].sample_id = row["_id"]
            changes = self.check()
            try:
                self._write(progress)
            finally:
                reload_dataset(self.dataset)
                reload_samples(self.dataset)
            for entry in self.fields:
                chosen: dict[str, Key] = {}  # the last key with a value that has an attribute
                for key, value in entry.values.items():
                    chosen |= {"": key} | dict.fromkeys(
                        (name for label in entry.labels_of(value) for name in label), key
                    )
                ids = [str(self.targets[number].sample_id) for number, _ in {*chosen.values()}]
                try:
                    for sample in self.dataset.select(ids).select_fields(entry.path):
                        sample.to_dict()
                        for frame in {frame for _, frame in chosen.values() if frame and sample.media_type == "video"}:
                            sample.frames[frame].to_dict()
                except Exception as error:  # whatever FiftyOne raises, it would raise whenever the sample is read
                    raise AgreementInputError(
                        f"FiftyOne must be able to read what was imported, got an error in the field {entry.path!r}: "
                        f"{error}; delete this field, and report the file"
                    ) from error
        return changes

    def _write(self, progress: Progress) -> None:
        dataset, schema = self.dataset, all_fields(self.dataset)
        changed_types = {entry.path: entry.declaration() for entry in self.fields
                           if entry.path in schema and not entry.fits(schema[entry.path])}  # fmt: skip
        new = {entry.path: entry.declaration() for entry in self.fields if entry.path not in schema}
        outdated = [path for path, kind in self._attributes.items()
                    if path in schema and path not in self._wider and type(schema[path]) is not type(kind)
                    and path.startswith(self._emptied)]  # fmt: skip
        temporary = _IMPORT + secrets.token_hex(8)
        missing = [target for target in self.targets if target.sample_id is None]
        if missing:
            samples = [fo.Sample(target.path) for target in missing]
            for target, sample_id in zip(missing, dataset.add_samples(samples, progress=False), strict=True):
                target.sample_id = ObjectId(sample_id)
        try:
            on_frames = any(is_of_frames(entry.path) for entry in self.fields)
            holders = [temporary, *([names.FRAMES_PREFIX + temporary] if on_frames else [])]
            mark = {names.IMPORT_MARK: True}
            description = "Labels of an import that is not complete; the next import removes it"
            declare(dataset, {path: fo.DictField(info=mark, description=description) for path in holders} | new)
            n_written = self._write_values(temporary, progress)
            if outdated:
                undeclare(dataset, outdated)
            redeclare(dataset, self._wider)
            by_path = {entry.path: entry for entry in self.fields}
            all_places = list(places(self.dataset, by_path))
            n_found = sum(place.collection.count_documents({temporary: {"$exists": True}}) for place in all_places)
            is_held = database().datasets.find_one(require_lease(self.dataset), {"_id": True}) is not None
            if n_found < n_written or not is_held:
                raise lost_lease(self.dataset)
            for place in all_places:
                values = {path: self._moved(by_path[place.prefix + path], temporary, path) for path in place.paths}
                touched = [temporary, *(place.paths if self.remove_others else [])]
                place.collection.update_many(
                    {"$or": [{name: {"$exists": True}} for name in touched]},
                    [{"$set": {**values, "last_modified_at": "$$NOW"}}, {"$unset": temporary}],
                )
        except BaseException:
            with keeping_first_error("What an import wrote could not be removed"):
                _remove_left_behind(dataset)
                undeclare(dataset, [place.prefix + path for place in places(dataset, new) for path in place.paths
                                    if not place.collection.find_one({path: {"$exists": True}})])  # fmt: skip
            raise
        undeclare(dataset, holders)
        redeclare(dataset, changed_types)
        self._declare_attributes()

    def _write_values(self, temporary: str, progress: Progress) -> int:
        """Write the values of all fields into a temporary one, one update for each sample or frame.

        Returns:
            how many were written
        """
        samples: dict[int, Document] = defaultdict(dict)
        frames: dict[Key, Document] = defaultdict(dict)
        for entry in self.fields:
            name = entry.path.removeprefix(names.FRAMES_PREFIX)
            for key, value in entry.values.items():
                values = frames[key] if is_of_frames(entry.path) else samples[key[0]]
                values[name] = value
                if entry.owners:
                    values[_OWNERS] = list(entry.owners.get(key, ()))
        # sizes of images that the samples did not know
        sizes = {}
        for number, target in enumerate(self.targets):
            if target.new_size is not None:
                kind, prefix = ("VideoMetadata", "frame_") if target.is_video else ("ImageMetadata", "")
                sides = zip(("width", "height"), target.new_size, strict=True)
                sizes[number] = {"metadata": {"_cls": kind, **{f"{prefix}{side}": size for side, size in sides}}}
        sample_updates = (
            UpdateOne(
                {"_id": self.targets[number].sample_id},
                {"$set": sizes.get(number, {}) | ({temporary: samples[number]} if number in samples else {})},
            )
            for number in dict.fromkeys([*samples, *sizes])
        )
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        made = {"_dataset_id": dataset_id(self.dataset), "created_at": now, "last_modified_at": now}
        frame_updates = (  # a frame is made if the video does not have it
            UpdateOne(
                {"_sample_id": self.targets[number].sample_id, "frame_number": frame},
                {"$set": {temporary: values}, "$setOnInsert": made},
                upsert=True,
            )
            for (number, frame), values in frames.items()
        )
        with fo.ProgressBar(total=len(samples) + len(frames), progress=progress) as bar:
            _send(sample_collection(self.dataset), sample_updates, bar)
            if frames:
                _send(frame_collection(self.dataset), frame_updates, bar)
        return len(samples) + len(frames)

    def _moved(self, entry: NewField, temporary: str, name: str) -> Document:
        """The value of a field after the import."""
        new = f"${temporary}.{name}"
        is_missing = {"$eq": [{"$type": new}, "missing"]}
        if self.remove_others and not entry.is_unread:
            return {"$ifNull": [new, "$$REMOVE"]}
        if entry.owner:  # null where nothing could be read
            return {"$cond": [is_missing, f"${name}", new]}
        # a list without the entries of the annotators of the file, and then the new entries
        within, owner = ("", "") if entry.slot is None else (f".{entry.slot.list_name}", f".{ANNOTATOR_ATTRIBUTE}")
        before = {"$cond": [{"$isArray": f"${name}{within}"}, f"${name}{within}", []]}
        by_others = {"$not": {"$in": [f"$$this{owner}", f"${temporary}.{_OWNERS}"]}}
        joined: Document = {"$concatArrays": [{"$filter": {"input": before, "cond": by_others}}, new + within]}
        if entry.slot is not None:
            joined = {"$mergeObjects": [f"${name}", new, {entry.slot.list_name: joined}]}
        return {"$cond": [is_missing, f"${name}", joined]}

    def _declare_attributes(self) -> None:
        """Declare attributes, but for those that other labels have in another type: they could not be read."""
        found: dict[str, fo.Field] = {}
        known = all_fields(self.dataset)
        for entry in self.fields:
            new = {path: kind for path, kind in self._attributes.items()
                   if path not in known and path.startswith(f"{entry.label_path}.")}  # fmt: skip
            if new:
                (place,) = places(self.dataset, [entry.label_path])
                types = {f"a{k}": {"$addToSet": {"$type": f"${path.removeprefix(place.prefix)}"}}
                         for k, path in enumerate(new)}  # fmt: skip
                pipeline: list[Document] = [{"$unwind": f"${place.paths[0]}"}, {"$group": {"_id": None, **types}}]
                row = next(iter(place.collection.aggregate(pipeline)), {})
                found |= {path: kind for k, (path, kind) in enumerate(new.items())
                          if {*row.get(f"a{k}", ())} <= _READABLE[type(kind)] | {"missing", "null"}}  # fmt: skip
        declare(self.dataset, found)


def _remove_left_behind(dataset: fo.Dataset) -> None:
    """Remove values of imports that did not end; while the lease is held no other import is at work."""
    marked = [path for path, field in field_schema(dataset).items() if names.IMPORT_MARK in (field.info or {})]
    for place in places(dataset, marked):
        for name in place.paths:
            place.collection.update_many({name: {"$exists": True}}, {"$unset": {name: ""}})
    undeclare(dataset, marked)


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
