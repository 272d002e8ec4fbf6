"""``KINDS``, a table of the label types that can be compared: family, geometry, similarity, paths, fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import fiftyone as fo
import fiftyone.core.labels as fol

from ... import names
from ...agreement.families.family import OBJECTS, PIXELS, RATINGS, TAGS, Family
from ...agreement.settings.config import AgreementConfig
from .geometry_readers import BoxReader, GeometryReader, KeypointReader, TemporalReader
from .shape_readers import InstanceMaskReader, PolylineReader


@dataclass(frozen=True, slots=True)
class LabelKind:
    """A label type that can be compared."""

    title: str  #: name in messages
    stored: type[fol.Label] | type[fo.Field]  #: type of the label field, or of a plain field
    #: name of the list of labels in the field; None for a single label or a plain value
    list_name: str | None
    family: Family  #: family that compares it
    comparable: str  #: kinds with the same value can be compared with each other
    geometry: GeometryReader | None = None  #: reads the geometry of its labels
    measure: str = "IoU"  #: name of the similarity of two objects, one of ``MEASURES``
    #: reads the geometry of labels if some have masks; None if this type has no masks
    mask_geometry: GeometryReader | None = None
    values: tuple[str, ...] = ()  #: attributes, other than the class, with the number or mask of a label
    # asked for every label, so they are computed once
    is_label: bool = field(init=False)  #: whether the field holds labels, not plain values
    is_number: bool = field(init=False)  #: whether labels are numbers, not classes
    #: the attributes, other than the class, with the content of a label: its geometry, number or mask; sorted
    content: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        reader = self.mask_geometry or self.geometry
        content = self.values if reader is None else reader.columns.values()
        object.__setattr__(self, "is_label", issubclass(self.stored, fol.Label))
        object.__setattr__(self, "is_number", self.comparable == "numbers")
        object.__setattr__(self, "content", tuple(sorted(content)))

    def measure_of(self, config: AgreementConfig) -> str:
        """Name of the similarity of two objects in a run."""
        return "IoU of circles" if self.measure == "OKS" and config.point_radius is not None else self.measure

    @property
    def compared_as(self) -> str:
        """Name stored with a run; only runs with the same name can be compared."""
        return "numbers" if self.is_number else self.family.name

    @property
    def fields(self) -> names.FieldSet:
        """The fields that a run writes on samples and labels."""
        return names.NUMBER_FIELDS if self.is_number else self.family.fields

    @property
    def groups(self) -> frozenset[str]:
        """Names by which an option can refer to this label type: family, comparable types, and itself."""
        return frozenset((self.compared_as, self.comparable, self.title.lower()))

    def label_path(self, name: str) -> str:
        """Path of the label, or of the list of labels, of a field."""
        return f"{name}.{self.list_name}" if self.list_name else name

    def value_path(self, path: str) -> str:
        """Path of the class or number of a single label or plain value."""
        if not self.is_label:
            return path
        return f"{path}.value" if self.is_number else f"{path}.label"


#: the label types; detections are read with their masks if they have any (see ``label_facts``)
KINDS = (
    LabelKind(
        "Detections", fol.Detections, "detections", OBJECTS, "shapes", BoxReader(), mask_geometry=InstanceMaskReader()
    ),
    LabelKind("Polylines", fol.Polylines, "polylines", OBJECTS, "shapes", PolylineReader()),
    LabelKind("Keypoints", fol.Keypoints, "keypoints", OBJECTS, "keypoints", KeypointReader(), "OKS"),
    LabelKind(
        "TemporalDetections",
        fol.TemporalDetections,
        "detections",
        OBJECTS,
        "temporal",
        TemporalReader(),
        "temporal IoU",
    ),
    LabelKind("Classification", fol.Classification, None, RATINGS, "classes"),
    LabelKind("Classifications", fol.Classifications, "classifications", TAGS, "tags"),
    LabelKind("Segmentation", fol.Segmentation, None, PIXELS, "masks", values=("mask", "mask_path")),
    LabelKind("Regression", fol.Regression, None, RATINGS, "numbers", values=("value",)),
    LabelKind("text", fo.StringField, None, RATINGS, "classes"),
    LabelKind("true or false", fo.BooleanField, None, RATINGS, "classes"),
    LabelKind("integers", fo.IntField, None, RATINGS, "numbers", values=("value",)),
    LabelKind("numbers", fo.FloatField, None, RATINGS, "numbers", values=("value",)),
)


def kind_of(field: fo.Field | None) -> LabelKind | None:
    """The label type of a field, None if it cannot be compared."""
    document = getattr(field, "document_type", None)
    return next((kind for kind in KINDS if document is kind.stored or type(field) is kind.stored), None)


def titles(kinds: Iterable[LabelKind] = KINDS) -> list[str]:
    """Names of label types, each once."""
    return list(dict.fromkeys(kind.title for kind in kinds))
