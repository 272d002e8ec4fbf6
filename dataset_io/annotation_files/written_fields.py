"""Write the fields of an import in bulk; check them first, and count the earlier labels that it replaces or keeps."""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import bson
import fiftyone as fo
import fiftyone.core.media as fom
from bson import ObjectId
from bson.errors import InvalidDocument
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError, DocumentTooLarge

from ... import names
from ...agreement.settings.errors import AgreementInputError, keeping_first_error, shown
from ...agreement.settings.options import ATTRIBUTE
from ..database.fiftyone_private import (
    database,
    dataset_id,
    frame_collection,
    list_of,
    reload_dataset,
    reload_samples,
    sample_collection,
)
from ..labels.source import field_schema, is_own_name, own_fields, refuse_read_only
from ..labels.stored import MOST_BYTES, all_fields, gold_of, places, run_of
from ..record.lease import lost_lease, require_lease, writing
from ..record.schema import declare, redeclare, undeclare
from ..run.read import Progress
from .image_names import Target
from .label_documents import ANNOTATOR_ATTRIBUTE, Document, TargetField, no_room
from .summaries import FieldChange

#: a sample, and the frame, 0 where it is an image
Key = tuple[Target, int]

#: beginning of the names of temporary fields, which hold the values of an import until all are written
_IMPORT = "agreement_import_"
#: in the ``info`` of these fields: paths of fields that get labels of another type, and this type
_NEW_TYPES = "new_types"
#: key in a temporary field with the annotators whose entries in fields of all annotators are replaced
_OWNERS = "_annotators"
#: key in a temporary field with the fields whose labels stay, because they were saved while the import wrote
_STAYING = "_staying"
#: fields for attributes by the type of their values, and the BSON types that each can read
_FIELD_TYPES = {str: fo.StringField, int: fo.IntField, float: fo.FloatField, bool: fo.BooleanField}
_READABLE = {
    fo.StringField: {"string"},
    fo.IntField: {"int", "long"},
    fo.FloatField: {"int", "long", "double"},
    fo.BooleanField: {"bool"},
}
#: whole floats from here on are not written as integers when they become texts
_LARGEST_DIGITS = 1e15
#: a name with more digits surely is no number that the database can hold
_LONGEST_NUMBER = 19
#: why the database cannot hold a document
_TOO_LARGE = "at most 16 MB"
#: samples that are written at once
_BATCH = 500


def field_name(owner: str) -> str:
    """The name of a field for an annotator, a model or a question."""
    name = re.sub(r"\W+", "_", owner).strip("_")
    return f"annotator_{name}" if not name or name[0].isdigit() else name


@dataclass(frozen=True, slots=True)
class NewField:
    """A field of an import."""

    path: str  #: in the schema of the dataset
    #: type of the labels in it; None: it lists annotators: those assigned, or those some of whose labels are not read
    slot: TargetField | None
    owner: str = ""  #: the annotator of the labels; empty for a field of all annotators
    is_unread: bool = False  #: whether it lists those some of whose labels could not be read

    def labels_of(self, value: Any) -> list[Document]:
        """The labels in a value of the field; none if it is null."""
        if self.slot is None or value is None:
            return []
        return value[self.slot.list_name] if self.slot.list_name else [value]

    @property
    def label_path(self) -> str:
        """Path of the labels."""
        list_name = None if self.slot is None else self.slot.list_name
        return f"{self.path}.{list_name}" if list_name else self.path

    def declaration(self) -> fo.Field:
        """The field as it is declared."""
        if self.slot is not None:
            return fo.EmbeddedDocumentField(self.slot.stored)
        what, info = "The annotators who were assigned to the image", None
        if self.is_unread:
            what, info = "Whose labels could not all be read", {names.UNREAD_MARK: True}
        return fo.ListField(fo.StringField(), description=what, info=info)

    def fits(self, declared: fo.Field) -> bool:
        """True if a field of the dataset can hold its values."""
        if self.slot is None:
            return isinstance(declared, fo.ListField) and isinstance(declared.field, fo.StringField | None)
        return self.slot.fits(declared)


@dataclass(slots=True)
class FieldWriter:
    """Writes the fields of an import: samples, schema and labels, in bulk."""

    dataset: fo.Dataset
    targets: Sequence[Target]  #: the samples
    overwrite: bool  #: whether labels on images of the file may be replaced
    remove_others: bool  #: whether all other labels in the fields are removed
    fields: dict[str, NewField] = field(default_factory=dict)  #: by path
    #: the values of every sample and frame by path; None: nothing could be read, but something was drawn
    rows: dict[Key, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    #: annotators whose labels, or names, are replaced in fields of all annotators
    owners: dict[Key, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    #: without `overwrite`: fields, and paths of images, whose labels stay as they were saved while the import wrote
    staying: list[tuple[str, str]] = field(init=False, default_factory=list)
    #: attributes that must be declared anew, as they hold integers and get other numbers; and undeclared attributes
    _wider: dict[str, fo.Field] = field(init=False, default_factory=dict)
    _attributes: dict[str, fo.Field] = field(init=False, default_factory=dict)
    _emptied: tuple[str, ...] = field(init=False, default=())  #: beginnings of paths in fields that keep no label

    def add_fields(self, fields: Iterable[NewField]) -> None:
        """Add fields of the import; every path must be of one annotator alone."""
        every = [*self.fields.values(), *fields]
        self.fields = {entry.path: entry for entry in every}
        repeated = sorted(path for path, n in Counter(entry.path for entry in every).items() if n > 1)
        if repeated:
            owners = shown(repr(entry.owner) for entry in every if entry.path in repeated)
            raise AgreementInputError(
                f"Every annotator must have a field of their own, got {shown(map(repr, repeated))} for {owners}; give "
                "them other names with `annotators`, or import into='attribute'"
            )

    def check(self) -> list[FieldChange]:
        """Refuse fields that cannot be written, and give their attributes the types that their fields have.

        Returns:
            the effect on the labels that the fields have already
        """
        reload_dataset(self.dataset)
        media = self.dataset.media_type
        odd = [target.path for target in self.targets if target.sample_id is None
               and media not in (None, fom.get_media_type(target.path))]  # fmt: skip
        if odd:
            raise AgreementInputError(
                f"New samples must be of the media type of the dataset, {media!r}, got {len(odd)} that are not "
                f"({shown(odd, 3)}); add samples to groups with FiftyOne, and others to a dataset of their own"
            )
        n_images, n_labels = Counter[str](), Counter[str]()
        # the labels with an attribute that FiftyOne does not know, by path of the attribute
        with_attribute: dict[str, list[Document]] = defaultdict(list)
        for (target, _), path, value in self._values():
            entry = self.fields[path]
            labels, problem = entry.labels_of(value), _problem({"value": value})
            if problem == _TOO_LARGE:
                raise no_room(len(labels), f"{path!r} on {target.path!r}")
            if problem:
                parts = enumerate(labels or value, 1)
                number, part = next(((k, part) for k, part in parts if _problem({"": part})), (0, value))
                what = next((f"{name!r} = {held!r}" for name, held in part.items() if _problem({name: held})), "")
                raise AgreementInputError(
                    f"Labels must have values that the database can hold ({_problem({'': part})}), got {what} in "
                    f"label {number} of {path!r} on {target.path!r}; correct the file"
                )
            n_images[path] += 1
            n_labels[path] += len(labels)
            for label in labels:
                for name in label.keys() - (entry.slot.own if entry.slot else ()):
                    if label[name] is not None:
                        with_attribute[f"{entry.label_path}.{name}"].append(label)
        schema, own = field_schema(self.dataset), own_fields(self.dataset)
        for path in self.fields:
            name = path.removeprefix(names.FRAMES_PREFIX)
            if path in own or is_own_name(name) or not ATTRIBUTE.fullmatch(name) or name.startswith("_"):
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
        changes = [self._change_of(entry, schema, n_images[path], n_labels[path])
                   for path, entry in self.fields.items() if entry.slot is not None]  # fmt: skip
        replaced = [change for change in changes if change.n_images_replaced]
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
        kept = {change.field: change.n_labels_kept for change in changes if not self.overwrite or change.n_images_kept}
        for path, entry in self.fields.items():
            known = schema.get(path)
            if known is None or entry.fits(known) or (entry.slot is not None and path not in kept):
                continue
            advice = "choose another one with `prefix` or `field`"
            if path in kept:
                advice += ", or say overwrite=True"
                advice += f", remove_others=True, which removes {kept[path]:,} labels" if kept[path] else ""
            must = "a list of names" if entry.slot is None else entry.slot.stored.__name__
            raise AgreementInputError(
                f"The field {path!r} must be of the type of its new labels, {must}, got "
                f"{(getattr(known, 'document_type', None) or type(known)).__name__}; {advice}"
            )
        refuse_read_only(self.dataset, [path for path in self.fields if path in schema])
        self._emptied = tuple(f"{change.field}." for change in changes if self.overwrite and not change.n_images_kept)
        self._wider, self._attributes = {}, {}
        declared = all_fields(self.dataset)
        for path, labels in sorted(with_attribute.items()):
            self._convert(path, labels, None if path.startswith(self._emptied) else declared.get(path))
        return changes

    def _values(self) -> Iterator[tuple[Key, str, Any]]:
        """Every value, with its key and path."""
        return ((key, path, value) for key, row in self.rows.items() for path, value in row.items())

    def _convert(self, path: str, labels: list[Document], known: fo.Field | None) -> None:
        """Give an attribute values of one type: that of its field if it is declared; texts where types differ.

        Raises:
            AgreementInputError: if a declared field cannot hold a value, naming the image
        """
        name = path.rpartition(".")[2]
        types = {type(label[name]) for label in labels}
        if known is not None:
            wanted = type(known)
            if issubclass(wanted, fo.IntField) and types <= {int, float} and any(label[name] % 1 for label in labels):
                wanted, self._wider[path] = fo.FloatField, fo.FloatField(description=known.description, info=known.info)
        elif types <= {*_FIELD_TYPES}:
            wanted = _FIELD_TYPES[float if types == {int, float} else next(iter(types)) if len(types) == 1 else str]
            self._attributes[path] = wanted()
        else:
            return
        try:
            for label in labels:
                label[name] = _converted(label[name], wanted)
        except ValueError:
            target = next(key[0] for key, other, value in self._values()
                          if any(each is label for each in self.fields[other].labels_of(value)))  # fmt: skip
            raise AgreementInputError(
                f"The attribute {name!r} must have values that fit its field {path!r}, a {wanted.__name__}, got "
                f"{label[name]!r} on {target.path!r}; correct the file, or import into other fields with "
                "`prefix` or `field`"
            ) from None

    def _change_of(self, entry: NewField, schema: Mapping[str, fo.Field], n_images: int, n_labels: int) -> FieldChange:
        """The effect on a field of ``n_labels`` new labels on ``n_images`` images."""
        counts = Counter[str]()
        if entry.path not in schema:
            return FieldChange(entry.path, n_images, n_labels)
        (place,) = places(self.dataset, [entry.path])
        (name,) = place.paths
        # the sample field with the assigned annotators, if the dataset has it
        listed_in = [path for path, other in self.fields.items() if path in schema and other.slot is None
                     and not (other.is_unread or entry.owner or place.prefix)]  # fmt: skip
        document_type = getattr(schema[entry.path], "document_type", None)
        list_name, _ = (None if document_type is None else list_of(document_type)) or ("", None)
        # the annotator of each label, and the assigned annotators, by sample and frame
        labels_at = f"{name}.{list_name}.{ANNOTATOR_ATTRIBUTE}" if list_name else name
        wanted = dict.fromkeys((labels_at, "_sample_id", "frame_number", *listed_in), True)
        query = {"$or": [{path: {"$ne": None}} for path in (name, *listed_in)]}
        target_of = {target.sample_id: target for target in self.targets if target.sample_id is not None}
        others = "removed" if self.remove_others else "kept"
        for row in place.collection.find(query, wanted):
            key: Any = target_of.get(row["_sample_id" if place.prefix else "_id"])
            key = (key, int(row["frame_number"]) if place.prefix else 0)
            annotators: list[Any] = [] if row.get(name) is None else [None]
            if list_name:
                held = row[name].get(list_name) if isinstance(row.get(name), dict) else None
                annotators = [each.get(ANNOTATOR_ATTRIBUTE) for each in held] if isinstance(held, list) else []
            if entry.owner:
                is_same = entry.path in self.rows.get(key, ())
                n_same = len(annotators) * is_same
            else:
                owners = set(_as_labels_say([*self.owners.get(key, ())]))
                n_same = sum(type(owner) in (str, int, float) and owner in owners for owner in annotators)
                listed = (name for path in listed_in if isinstance(row.get(path), list) for name in row[path])
                is_same = n_same > 0 or any(isinstance(name, str) and name in owners for name in listed)
            counts["n_images_replaced"] += is_same
            counts["n_labels_replaced"] += n_same
            counts[f"n_images_{others}"] += n_same < len(annotators) or not is_same
            counts[f"n_labels_{others}"] += len(annotators) - n_same
        return FieldChange(entry.path, n_images, n_labels, **counts)

    def write(self, progress: Progress) -> list[FieldChange]:
        """Write all fields; if that fails, or the process is killed, all labels are as they were.

        New values are in a temporary field until all are written. Nobody else imports meanwhile: the lease is held.

        Returns:
            the effect on the labels that the fields had before
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
            # read the last sample or frame with a value, and with every attribute, as a user would
            chosen: dict[str, dict[str, Key]] = {path: {} for path in self.fields}
            for key, path, value in self._values():
                named = (name for label in self.fields[path].labels_of(value) for name in label)
                chosen[path] |= {"": key} | dict.fromkeys(named, key)
            for path, keys in chosen.items():
                ids = [str(target.sample_id) for target, _ in {*keys.values()}]
                try:
                    for sample in self.dataset.select(ids).select_fields(path):
                        sample.to_dict()
                        for frame in {frame for _, frame in keys.values() if frame and sample.media_type == "video"}:
                            sample.frames[frame].to_dict()
                except Exception as error:  # FiftyOne would raise it whenever the sample is read
                    raise AgreementInputError(
                        f"FiftyOne must be able to read what was imported, got an error in the field {path!r}: "
                        f"{error}; delete this field, and report the file"
                    ) from error
        return changes

    def _write(self, progress: Progress) -> None:
        dataset, schema = self.dataset, all_fields(self.dataset)
        changed_types = {path: entry.declaration() for path, entry in self.fields.items()
                           if path in schema and not entry.fits(schema[path])}  # fmt: skip
        new = {path: entry.declaration() for path, entry in self.fields.items() if path not in schema}
        outdated = [path for path, kind in self._attributes.items()
                    if path in schema and path not in self._wider and type(schema[path]) is not type(kind)
                    and path.startswith(self._emptied)]  # fmt: skip
        temporary = _IMPORT + secrets.token_hex(8)
        missing, made = [target for target in self.targets if target.sample_id is None], list[str]()
        if missing:
            made = dataset.add_samples([fo.Sample(target.path) for target in missing], progress=False)
            for target, sample_id in zip(missing, made, strict=True):
                target.sample_id = ObjectId(sample_id)
        try:
            all_places = list(places(dataset, self.fields))
            holders = [place.prefix + temporary for place in all_places]
            new_types = [[path, kind.document_type.__name__] for path, kind in changed_types.items()]
            mark = {names.IMPORT_MARK: True, _NEW_TYPES: new_types}
            description = "Labels of an import that is not complete; the next import removes it"
            declare(dataset, {path: fo.DictField(info=mark, description=description) for path in holders} | new)
            self._write_values(temporary, progress)
            if outdated:
                undeclare(dataset, outdated)
            redeclare(dataset, self._wider)
            n_found = sum(place.collection.count_documents({temporary: {"$exists": True}}) for place in all_places)
            is_held = database().datasets.find_one(require_lease(dataset), {"_id": True}) is not None
            if n_found < len(self.rows) or not is_held:
                raise lost_lease(dataset)
            made = []  # from here on they have labels
            for place in all_places:
                merged = {path: self._merged(self.fields[place.prefix + path], temporary, path)
                          for path in place.paths}  # fmt: skip
                staying = [{"$cond": [stays, [path], []]} for path, (stays, _) in merged.items()]
                values = {path: value for path, (_, value) in merged.items()}
                none_stays = {"$eq": [f"${temporary}.{_STAYING}", []]}
                touched = [temporary, *(place.paths if self.remove_others else [])]
                place.collection.update_many(
                    {"$or": [{name: {"$exists": True}} for name in touched]},
                    [
                        {"$set": {f"{temporary}.{_STAYING}": {"$concatArrays": staying}}},
                        {"$set": {**values, "last_modified_at": "$$NOW"}},
                        {"$set": {temporary: {"$cond": [none_stays, "$$REMOVE", f"${temporary}"]}}},
                    ],
                )
            path_of = {target.sample_id: target.path for target in self.targets}
            for place in all_places:
                id_name, staying_in = "_sample_id" if place.prefix else "_id", f"{temporary}.{_STAYING}"
                for row in place.collection.find({staying_in: {"$exists": True}}, {id_name: True, staying_in: True}):
                    self.staying += [(place.prefix + path, path_of[row[id_name]]) for path in row[temporary][_STAYING]]
            redeclare(dataset, changed_types)
            _remove_left_behind(dataset)
        except BaseException:
            with keeping_first_error("What an import wrote could not be removed"):
                _remove_left_behind(dataset)
                undeclare(dataset, [place.prefix + path for place in places(dataset, new) for path in place.paths
                                    if not place.collection.find_one({path: {"$exists": True}})])  # fmt: skip
                ids, is_untouched = [*map(ObjectId, made)], {"$eq": ["$created_at", "$last_modified_at"]}
                rows = sample_collection(dataset).find({"_id": {"$in": ids}, "$expr": is_untouched}, {"_id": True})
                dataset.delete_samples([str(row["_id"]) for row in rows])
            raise
        # new attributes are declared, except those with which other labels have another type: they could not be read
        found: dict[str, fo.Field] = {}
        known = all_fields(dataset)
        for entry in self.fields.values():
            of_labels = {path: kind for path, kind in self._attributes.items()
                         if path not in known and path.startswith(f"{entry.label_path}.")}  # fmt: skip
            if of_labels:
                (place,) = places(dataset, [entry.label_path])
                types = {f"a{k}": {"$addToSet": {"$type": f"${path.removeprefix(place.prefix)}"}}
                         for k, path in enumerate(of_labels)}  # fmt: skip
                pipeline: list[Document] = [{"$unwind": f"${place.paths[0]}"}, {"$group": {"_id": None, **types}}]
                row = next(iter(place.collection.aggregate(pipeline)), {})
                found |= {path: kind for k, (path, kind) in enumerate(of_labels.items())
                          if {*row.get(f"a{k}", ())} <= _READABLE[type(kind)] | {"missing", "null"}}  # fmt: skip
        declare(dataset, found)

    def _write_values(self, temporary: str, progress: Progress) -> None:
        """Write the values of all fields into a temporary one, one update for each sample or frame."""
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        made = {"_dataset_id": dataset_id(self.dataset), "created_at": now, "last_modified_at": now}

        def staged(key: Key) -> Document:
            values = {path.removeprefix(names.FRAMES_PREFIX): value for path, value in self.rows.get(key, {}).items()}
            return {temporary: {**values, _OWNERS: _as_labels_say([*self.owners.get(key, ())])}} if values else {}

        def of_sample(target: Target) -> UpdateOne:
            """The update of a sample, also with the size of its image if it did not know that."""
            values = staged((target, 0))
            if target.new_size is not None:
                kind, prefix = ("VideoMetadata", "frame_") if target.is_video else ("ImageMetadata", "")
                width, height = target.new_size
                values["metadata"] = {"_cls": kind, f"{prefix}width": width, f"{prefix}height": height}
            return UpdateOne({"_id": target.sample_id}, {"$set": values})

        samples = dict.fromkeys(target for target, frame in self.rows if not frame)
        sized = [target for target in self.targets if target.new_size is not None]
        sample_updates = map(of_sample, samples | dict.fromkeys(sized))
        frame_updates = (  # a frame is made if the video does not have it
            UpdateOne(
                {"_sample_id": target.sample_id, "frame_number": frame},
                {"$set": staged((target, frame)), "$setOnInsert": made},
                upsert=True,
            )
            for target, frame in self.rows
            if frame
        )
        with fo.ProgressBar(total=len(self.rows), progress=progress) as bar:
            for collection, updates in ((sample_collection, sample_updates), (frame_collection, frame_updates)):
                while batch := list(islice(updates, _BATCH)):
                    try:
                        done = collection(self.dataset).bulk_write(batch, ordered=False)
                    except (BulkWriteError, DocumentTooLarge) as error:
                        raise AgreementInputError(
                            "The labels of an image must fit into the database, which holds 16 MB for a sample, got "
                            f"{error}"
                        ) from error
                    if done.matched_count + done.upserted_count < len(batch):
                        raise AgreementInputError(
                            "Samples must stay while labels are imported, but some were deleted meanwhile; import the "
                            "file again"
                        )
                    bar.update(len(batch))

    def _merged(self, entry: NewField, temporary: str, name: str) -> tuple[Document, Document]:
        """Expressions for MongoDB: whether labels of a field stay, and its value after the import.

        Labels stay, without `overwrite`, that were saved after the check.
        """
        new, before = f"${temporary}.{name}", f"${name}"
        is_missing: Document = {"$eq": [{"$type": new}, "missing"]}
        stays: Document = {"$literal": False}
        list_name, owner = (None, "") if entry.slot is None else (entry.slot.list_name, f".{ANNOTATOR_ATTRIBUTE}")
        list_in, added = (f"{value}.{list_name}" if list_name else value for value in (before, new))
        entries: Document = {"$cond": [{"$isArray": list_in}, list_in, []]}
        others: Any = f"${temporary}.{_OWNERS}"
        owners_before = {"$map": {"input": entries, "in": f"$$this{owner}"}}
        if not self.overwrite and entry.slot is not None:
            found: Document = {"$ne": [{"$ifNull": [before, None]}, None]}
            if not entry.owner:
                found = {"$ne": [{"$setIntersection": [owners_before, others]}, []]}
            stays = {"$and": [{"$not": [is_missing]}, found]}
        if self.remove_others and not entry.is_unread:
            return stays, {"$ifNull": [new, "$$REMOVE"]}
        if entry.owner:  # a new value may be null
            return stays, {"$cond": [{"$or": [is_missing, stays]}, before, new]}
        # a list without the entries of the annotators of the file, and then the new entries; or, where nothing must be
        # replaced, the list, and then the new entries of those who have none there
        if self.overwrite or entry.is_unread:
            parts = [{"$filter": {"input": entries, "cond": {"$not": {"$in": [f"$$this{owner}", others]}}}}, added]
        else:
            is_other = {"$not": {"$in": [f"$$this{owner}", owners_before]}}
            parts = [entries, {"$filter": {"input": added, "cond": is_other}}]
        joined: Document = {"$concatArrays": parts}
        if entry.slot is not None:
            joined = {"$mergeObjects": [before, new, {list_name: joined}]}
        return stays, {"$cond": [is_missing, before, joined]}


def _converted(value: Any, wanted: type[fo.Field]) -> Any:
    """A value as a field holds it; a ValueError if the field cannot hold it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if issubclass(wanted, fo.StringField) and isinstance(value, str | int | float):
        if isinstance(value, bool):
            return str(value).lower()
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_DIGITS
        return str(int(value)) if is_whole else str(value)
    if issubclass(wanted, fo.FloatField) and is_number:
        return float(value)
    if issubclass(wanted, fo.IntField) and is_number and value == int(value):
        return int(value)
    if issubclass(wanted, fo.BooleanField) and isinstance(value, bool):
        return value
    raise ValueError


def _problem(document: Document) -> str:
    """Reason why the database cannot hold a document; empty if it can."""
    try:
        size = len(bson.encode(document))
    except OverflowError:
        return "integers from -2^63 to 2^63 - 1"
    except UnicodeEncodeError:
        return "texts of whole characters, not of halves of a surrogate pair"
    except InvalidDocument as error:
        return str(error)
    return _TOO_LARGE if size > MOST_BYTES else ""


def _as_labels_say(owners: Sequence[str]) -> list[str | int]:
    """Names of annotators, and the numbers that labels made elsewhere may have in their place."""
    numbers = [int(name) for name in owners if name.isdecimal() and len(name) < _LONGEST_NUMBER]
    return [*owners, *(number for number in numbers if str(number) in owners)]


def _remove_left_behind(dataset: fo.Dataset) -> None:
    """Remove what an import had beside its fields; of one that did not end, too, as no other is at work with the lease.

    Fields whose labels have their new type by now are declared so: otherwise samples could not be read.
    """
    schema = field_schema(dataset)
    marked = [path for path, field in schema.items() if names.IMPORT_MARK in (field.info or {})]
    for place in places(dataset, marked):
        for name in place.paths:
            place.collection.update_many({name: {"$exists": True}}, {"$unset": {name: ""}})
    new_types = {path: kind for holder in marked for path, kind in schema[holder].info.get(_NEW_TYPES, ())}
    ready = dict[str, fo.Field]()
    for place in places(dataset, new_types):
        for name in place.paths:
            kind, class_name = new_types[place.prefix + name], f"{name}._cls"
            others = {name: {"$ne": None}, class_name: {"$ne": kind}}
            if place.collection.find_one({class_name: kind}, {"_id": True}) and not place.collection.find_one(others):
                ready[place.prefix + name] = fo.EmbeddedDocumentField(getattr(fo, kind))
    redeclare(dataset, ready)
    undeclare(dataset, marked)
