"""The fields that an import writes: their values and attributes, and what becomes of labels that are there already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import bson
import fiftyone as fo
from bson.errors import InvalidDocument

from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import document_fields, list_of
from ..labels.paths import places
from .image_names import Target
from .label_documents import ANNOTATOR_ATTRIBUTE, Document, Slot
from .summaries import FieldChange

#: the number of a sample among the targets, and the frame, 0 where it is an image
Key = tuple[int, int]

_FIELD_TYPES: dict[type, type[fo.Field]] = {
    str: fo.StringField,
    int: fo.IntField,
    float: fo.FloatField,
    bool: fo.BooleanField,
}
#: numbers from here on are not written as integers in texts, nor read as such
_LARGEST_DIGITS = 1e15
#: what the database holds in a sample
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class NewField:
    """A field of an import, and its values."""

    path: str  #: in the schema of the dataset
    slot: Slot | None  #: what stands in it; None: names of the assigned annotators
    values: dict[Key, Any]
    owner: str  #: whose labels they are; empty where they are those of all annotators
    #: the annotators of an image, where labels of all annotators stand in it
    owners: Mapping[Key, Sequence[str]] = field(default_factory=dict)

    def labels_of(self, value: Any) -> list[Document]:
        """The labels in a value."""
        if self.slot is None:
            return []
        return value[self.slot.list_name] if self.slot.list_name else [value]

    @property
    def label_path(self) -> str:
        """Path of the labels."""
        list_name = None if self.slot is None else self.slot.list_name
        return f"{self.path}.{list_name}" if list_name else self.path

    def declaration(self) -> fo.Field:
        """The field as it is declared."""
        if self.slot is None:
            return fo.ListField(fo.StringField(), description="The annotators who were assigned to the image")
        return fo.EmbeddedDocumentField(self.slot.stored)

    def fits(self, declared: fo.Field) -> bool:
        """Whether a field of the dataset can hold its values."""
        if self.slot is None:
            return isinstance(declared, fo.ListField) and isinstance(declared.field, fo.StringField | None)
        return is_field_of(self.slot, declared)

    def attribute_types(self) -> dict[str, set[type]]:
        """The types of the attributes of its labels that FiftyOne does not know, by path in the schema."""
        types: dict[str, set[type]] = defaultdict(set)
        if self.slot is not None:
            own = {"_id", "_cls", *document_fields(self.slot.label_class)}
            for value in self.values.values():
                for document in self.labels_of(value):
                    for name in document.keys() - own:
                        if document[name] is not None:
                            types[f"{self.label_path}.{name}"].add(type(document[name]))
        return dict(sorted(types.items()))


def is_field_of(slot: Slot, declared: fo.Field) -> bool:
    """Whether a field of the dataset can hold the labels of a slot."""
    return getattr(declared, "document_type", None) is slot.stored


def attribute_fields(entry: NewField) -> dict[str, fo.Field]:
    """Declarations of the attributes whose values have one type, or are integers and floats."""
    return {
        path: _FIELD_TYPES[float if len(types) > 1 else next(iter(types))]()
        for path, types in entry.attribute_types().items()
        if types <= {*_FIELD_TYPES} and (len(types) == 1 or types == {int, float})
    }


def convert_attributes(
    entry: NewField, declared: Mapping[str, fo.Field], targets: Sequence[Target]
) -> dict[str, fo.Field]:
    """Give every attribute values of one type: that of its field if it is declared; texts where types differ.

    Args:
        entry: the field, whose labels are changed
        declared: fields of the dataset that hold labels that stay, by path
        targets: the samples

    Returns:
        fields that must be declared anew, because they hold integers and get other numbers

    Raises:
        AgreementInputError: if a declared field cannot hold a value, naming the image
    """
    wider: dict[str, fo.Field] = {}
    for path, types in entry.attribute_types().items():
        known = declared.get(path)
        if not types <= {*_FIELD_TYPES} and known is None:
            continue
        wanted = _field_of(types) if known is None else type(known)
        is_wider = known is not None and issubclass(wanted, fo.IntField) and _has_fractions(entry, path, types)
        if known is not None and is_wider:
            wanted, wider[path] = fo.FloatField, fo.FloatField(description=known.description, info=known.info)
        name = path.rpartition(".")[2]
        for key, value in entry.values.items():
            for document in entry.labels_of(value):
                if document.get(name) is not None:
                    try:
                        document[name] = _converted(document[name], wanted)
                    except ValueError:
                        raise AgreementInputError(
                            f"The attribute {name!r} must have values that fit its field {path!r}, a "
                            f"{wanted.__name__}, got {document[name]!r} on {targets[key[0]].path!r}; correct the "
                            "file, or import into other fields with `prefix` or `field`"
                        ) from None
    return wider


def _has_fractions(entry: NewField, path: str, types: set[type]) -> bool:
    """Whether an attribute has only numbers, and some are not whole."""
    if not types <= {int, float}:
        return False
    name = path.rpartition(".")[2]
    found = (document.get(name) for value in entry.values.values() for document in entry.labels_of(value))
    return any(isinstance(value, float) and not value.is_integer() for value in found)


def _field_of(types: set[type]) -> type[fo.Field]:
    return _FIELD_TYPES[float if types == {int, float} else next(iter(types)) if len(types) == 1 else str]


def _converted(value: Any, wanted: type[fo.Field]) -> Any:
    """A value as a field holds it.

    Raises:
        ValueError: if the field cannot hold it
    """
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


def check_storable(entry: NewField, targets: Sequence[Target]) -> None:
    """Refuse values that the database cannot hold.

    Raises:
        AgreementInputError: naming the image and the label
    """
    for key, value in entry.values.items():
        if _problem({"value": value}):
            path = targets[key[0]].path
            parts = entry.labels_of(value) or value
            number, part = next(((k, part) for k, part in enumerate(parts, 1) if _problem({"": part})), (0, value))
            what = next((f"{name!r} = {held!r}" for name, held in part.items() if _problem({name: held})), "")
            raise AgreementInputError(
                f"Labels must have values that the database can hold ({_problem({'': part})}), got {what} in "
                f"label {number} of {entry.path!r} on {path!r}; correct the file"
            )


def _problem(document: Document) -> str:
    """Why the database cannot hold a document; empty if it can."""
    try:
        size = len(bson.encode(document))
    except OverflowError:
        return "integers from -2^63 to 2^63 - 1"
    except UnicodeEncodeError:
        return "texts of whole characters, not of halves of a surrogate pair"
    except InvalidDocument as error:
        return str(error)
    return "at most 16 MB for the labels of an image" if size > _MOST_BYTES else ""


def check_changes(
    dataset: fo.Dataset,
    fields: Sequence[NewField],
    targets: Sequence[Target],
    schema: Mapping[str, fo.Field],
    *,
    overwrite: bool,
    remove_others: bool,
) -> list[FieldChange]:
    """What an import does to the labels that its fields hold already.

    Raises:
        AgreementInputError: if it would replace labels unasked, or a field of another type holds labels that stay
    """
    assigned = next((entry for entry in fields if entry.slot is None and entry.path in schema), None)
    listed_in = None if assigned is None else assigned.path
    of_labels = [entry for entry in fields if entry.slot is not None]
    changes = [_change(dataset, entry, targets, schema, listed_in, remove_others=remove_others) for entry in of_labels]
    replaced = [change for change in changes if change.n_images_replaced]
    if replaced and not overwrite:
        found = shown(
            f"{change.field!r} ({change.n_labels_replaced:,} labels on {change.n_images_replaced:,} images)"
            for change in replaced
        )
        raise AgreementInputError(
            f"Images of the file must have no labels yet in the fields of the import, got {found}; say overwrite=True "
            "to replace the labels on these images alone, or choose other fields with `prefix` or `field`"
        )
    for entry, change in zip(of_labels, changes, strict=True):
        if entry.path in schema and not entry.fits(schema[entry.path]) and (not overwrite or change.n_images_kept):
            _refuse_type(entry, schema[entry.path], change.n_labels_kept)
    if assigned is not None and not assigned.fits(schema[assigned.path]):
        _refuse_type(assigned, schema[assigned.path], 0)
    return changes


def _refuse_type(entry: NewField, declared: fo.Field, n_kept: int) -> None:
    document_type = getattr(declared, "document_type", None)
    found = type(declared).__name__ if document_type is None else document_type.__name__
    wanted = "a list of names" if entry.slot is None else entry.slot.stored.__name__
    advice = "choose another one with `prefix` or `field`"
    if entry.slot is not None:
        advice += ", or say overwrite=True" + (f", remove_others=True, which removes {n_kept:,} labels" * bool(n_kept))
    raise AgreementInputError(
        f"The field {entry.path!r} must be of the type of its new labels, {wanted}, got {found}; {advice}"
    )


def _change(
    dataset: fo.Dataset,
    entry: NewField,
    targets: Sequence[Target],
    schema: Mapping[str, fo.Field],
    listed_in: str | None,
    *,
    remove_others: bool,
) -> FieldChange:
    """What happens to the labels of one field."""
    n_images = n_labels = n_other_images = n_other_labels = 0
    for key, labels, listed in _existing(dataset, entry, targets, schema, listed_in):
        if entry.owner:
            n_same, is_same = (len(labels), True) if key in entry.values else (0, False)
        else:
            owners = set(entry.owners.get(key, ()))
            n_same = sum(isinstance(owner, str) and owner in owners for owner in labels)
            is_same = n_same > 0 or any(isinstance(name, str) and name in owners for name in listed)
        n_images += is_same
        n_labels += n_same
        n_other_images += n_same < len(labels) or not is_same
        n_other_labels += len(labels) - n_same
    n_new = sum(len(entry.labels_of(value)) for value in entry.values.values())
    others = (n_other_images, n_other_labels, 0, 0) if remove_others else (0, 0, n_other_images, n_other_labels)
    return FieldChange(entry.path, len(entry.values), n_new, n_images, n_labels, *others)


def _existing(
    dataset: fo.Dataset,
    entry: NewField,
    targets: Sequence[Target],
    schema: Mapping[str, fo.Field],
    listed_in: str | None,
) -> Iterator[tuple[Key, list[Any], list[Any]]]:
    """For every image with labels in a field: its key, the annotator of each label, and the assigned annotators.

    The number in the key is -1 for samples that are not among the targets.
    """
    if entry.path not in schema:
        return
    number = {target.sample_id: k for k, target in enumerate(targets) if target.sample_id is not None}
    (place,) = places(dataset, [entry.path])
    (name,) = place.paths
    names_listed = [listed_in] if listed_in is not None and not entry.owner and not place.prefix else []
    document_type = getattr(schema[entry.path], "document_type", None)
    list_name = (list_of(document_type) or ("",))[0] if document_type is not None else ""
    labels: Any = {"$cond": [{"$eq": [{"$ifNull": [f"${name}", None]}, None]}, [], [None]]}
    if list_name:
        array, owner = f"${name}.{list_name}", {"$ifNull": [f"$$this.{ANNOTATOR_ATTRIBUTE}", None]}
        labels = {"$cond": [{"$isArray": array}, {"$map": {"input": array, "as": "this", "in": owner}}, []]}
    wanted = {"labels": labels, "_sample_id": 1, "frame_number": 1, **dict.fromkeys(names_listed, 1)}
    query = {"$or": [{path: {"$ne": None}} for path in (name, *names_listed)]}
    for row in place.collection.aggregate([{"$match": query}, {"$project": wanted}]):
        sample_id, frame = (row["_sample_id"], int(row["frame_number"])) if place.prefix else (row["_id"], 0)
        listed = row.get(names_listed[0]) if names_listed else None
        yield (number.get(sample_id, -1), frame), row["labels"], listed if isinstance(listed, list) else []
