"""The fields that an import writes: their values and attributes, and what becomes of labels that are there already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import bson
import fiftyone as fo
from bson.errors import InvalidDocument

from ... import names
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import document_fields, list_of
from ..labels.paths import places
from .image_names import Target
from .label_documents import ANNOTATOR_ATTRIBUTE, Document, TargetField
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
    #: what stands in it; None: names, of the assigned annotators or of those whose labels could not all be read
    slot: TargetField | None
    values: dict[Key, Any]  #: None where nothing could be read, which is not the same as nothing drawn
    owner: str  #: whose labels they are; empty where they are those of all annotators
    #: the annotators of an image, where labels of all annotators stand in it; of names those that are said anew
    owners: Mapping[Key, Sequence[str]] = field(default_factory=dict)
    is_unread: bool = False  #: whether the names are of those whose labels could not all be read

    def labels_of(self, value: Any) -> list[Document]:
        """The labels in a value."""
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
        if self.is_unread:
            info = {names.UNREAD_MARK: True}
            return fo.ListField(fo.StringField(), description="Whose labels could not all be read", info=info)
        if self.slot is None:
            return fo.ListField(fo.StringField(), description="The annotators who were assigned to the image")
        return fo.EmbeddedDocumentField(self.slot.stored)

    def fits(self, declared: fo.Field) -> bool:
        """True if a field of the dataset can hold its values."""
        if self.slot is None:
            return isinstance(declared, fo.ListField) and isinstance(declared.field, fo.StringField | None)
        return self.slot.fits(declared)

    def attributes(self) -> dict[str, list[Document]]:
        """The labels with an attribute that FiftyOne does not know, by path of the attribute in the schema."""
        found: dict[str, list[Document]] = defaultdict(list)
        if self.slot is not None:
            own = {"_id", "_cls", *document_fields(self.slot.label_class)}
            for value in self.values.values():
                for document in self.labels_of(value):
                    for name in document.keys() - own:
                        if document[name] is not None:
                            found[f"{self.label_path}.{name}"].append(document)
        return dict(sorted(found.items()))


def convert_attributes(
    entry: NewField, declared: Mapping[str, fo.Field], targets: Sequence[Target]
) -> tuple[dict[str, fo.Field], dict[str, fo.Field]]:
    """Give every attribute values of one type: that of its field if it is declared; texts where types differ.

    Args:
        entry: the field, whose labels are changed
        declared: fields of the dataset that hold labels that stay, by path

    Returns:
        fields that must be declared anew, because they hold integers and get other numbers; and those that are new

    Raises:
        AgreementInputError: if a declared field cannot hold a value, naming the image
    """
    wider: dict[str, fo.Field] = {}
    new: dict[str, fo.Field] = {}
    for path, labels in entry.attributes().items():
        name, known = path.rpartition(".")[2], declared.get(path)
        types = {type(label[name]) for label in labels}
        if known is not None:
            wanted = type(known)
            if issubclass(wanted, fo.IntField) and types <= {int, float} and any(label[name] % 1 for label in labels):
                wanted, wider[path] = fo.FloatField, fo.FloatField(description=known.description, info=known.info)
        elif types <= {*_FIELD_TYPES}:
            wanted = _FIELD_TYPES[float if types == {int, float} else next(iter(types)) if len(types) == 1 else str]
            new[path] = wanted()
        else:
            continue
        try:
            for label in labels:
                label[name] = _converted(label[name], wanted)
        except ValueError:
            number = next(number for (number, _), value in entry.values.items()
                          if any(other is label for other in entry.labels_of(value)))  # fmt: skip
            raise AgreementInputError(
                f"The attribute {name!r} must have values that fit its field {path!r}, a {wanted.__name__}, got "
                f"{label[name]!r} on {targets[number].path!r}; correct the file, or import into other fields with "
                "`prefix` or `field`"
            ) from None
    return wider, new


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


def check_storable(entry: NewField, targets: Sequence[Target]) -> None:
    """Refuse values that the database cannot hold."""
    for key, value in entry.values.items():
        if _problem({"value": value}):
            parts = entry.labels_of(value) or value
            number, part = next(((k, part) for k, part in enumerate(parts, 1) if _problem({"": part})), (0, value))
            what = next((f"{name!r} = {held!r}" for name, held in part.items() if _problem({name: held})), "")
            raise AgreementInputError(
                f"Labels must have values that the database can hold ({_problem({'': part})}), got {what} in "
                f"label {number} of {entry.path!r} on {targets[key[0]].path!r}; correct the file"
            )


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
    return "at most 16 MB for the labels of an image" if size > _MOST_BYTES else ""


def change_of(
    dataset: fo.Dataset,
    entry: NewField,
    targets: Sequence[Target],
    declared: fo.Field | None,
    listed_in: str | None,
    *,
    remove_others: bool,
) -> FieldChange:
    """Effect of an import on the labels that a field holds already.

    Args:
        declared: the field as the dataset has it, if it has it
        listed_in: the sample field with the assigned annotators, if the dataset has it
        remove_others: whether labels that the file does not replace are removed
    """
    n_images = n_labels = n_other_images = n_other_labels = 0
    number = {target.sample_id: k for k, target in enumerate(targets) if target.sample_id is not None}
    for row, frame in [] if declared is None else _rows_with_labels(dataset, entry, declared, listed_in):
        key = (number.get(row["_sample_id"], -1), frame)
        annotators, owners, listed = row["labels"], set(entry.owners.get(key, ())), row.get(str(listed_in))
        if entry.owner:
            is_same = key in entry.values
            n_same = len(annotators) * is_same
        else:
            n_same = sum(isinstance(owner, str) and owner in owners for owner in annotators)
            named = listed if isinstance(listed, list) else []
            is_same = n_same > 0 or any(isinstance(name, str) and name in owners for name in named)
        n_images += is_same
        n_labels += n_same
        n_other_images += n_same < len(annotators) or not is_same
        n_other_labels += len(annotators) - n_same
    n_new = sum(len(entry.labels_of(value)) for value in entry.values.values())
    others = (n_other_images, n_other_labels, 0, 0) if remove_others else (0, 0, n_other_images, n_other_labels)
    return FieldChange(entry.path, len(entry.values), n_new, n_images, n_labels, *others)


def _rows_with_labels(
    dataset: fo.Dataset, entry: NewField, declared: fo.Field, listed_in: str | None
) -> Iterator[tuple[Document, int]]:
    """The annotator of each label in a field, and the assigned annotators, by sample and frame."""
    (place,) = places(dataset, [entry.path])
    (name,) = place.paths
    names_listed = [listed_in] if listed_in is not None and not entry.owner and not place.prefix else []
    document_type = getattr(declared, "document_type", None)
    found = None if document_type is None else list_of(document_type)
    labels: Any = {"$cond": [{"$eq": [{"$ifNull": [f"${name}", None]}, None]}, [], [None]]}
    if found is not None:
        array, owner = f"${name}.{found[0]}", {"$ifNull": [f"$$this.{ANNOTATOR_ATTRIBUTE}", None]}
        labels = {"$cond": [{"$isArray": array}, {"$map": {"input": array, "as": "this", "in": owner}}, []]}
    wanted = {"labels": labels, "_sample_id": 1, "frame_number": 1, **dict.fromkeys(names_listed, 1)}
    query = {"$or": [{path: {"$ne": None}} for path in (name, *names_listed)]}
    for row in place.collection.aggregate([{"$match": query}, {"$project": wanted}]):
        row.setdefault("_sample_id", row["_id"])
        yield row, int(row["frame_number"]) if place.prefix else 0
