"""What the user asks for: the options of a run, checked."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .. import names
from ..metrics.alpha import Undefined as Undefined
from ..metrics.geometry.objects import Similarity
from ..metrics.matching import ClassHandling, Method
from .annotator_names import chosen_annotators, session_names
from .errors import AgreementInputError, shown
from .option_checks import ATTRIBUTE, OPTION_CHECKS

Missing = Literal["category", "ignore"]
Empty = Literal["skip", "agree"]
Invalid = Literal["error", "skip"]
GeometryChoice = Literal["auto", "box", "shape"]
Level = Literal["auto", "nominal", "ordinal", "interval", "ratio"]
SetDistance = Literal["masi", "jaccard"]

CHOICES: dict[str, tuple[str, ...]] = {
    "similarity": get_args(Similarity),
    "method": get_args(Method),
    "classes": get_args(ClassHandling),
    "missing": get_args(Missing),
    "undefined": get_args(Undefined),
    "empty": get_args(Empty),
    "invalid": get_args(Invalid),
    "geometry": get_args(GeometryChoice),
    "level": get_args(Level),
    "set_distance": get_args(SetDistance),
}

_RUN_KEY = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class AgreementConfig:
    """The options of a run.

    Attributes:
        fields: label fields, one an annotator (field mode), or a single one (attribute mode)
        run_key: name of the run, and first part of the name of everything it writes
        annotator_attribute: attribute of the labels that names their annotator (attribute mode)
        assigned_field: sample field with the list of assigned annotators (attribute mode)
        annotators: field mode: name of every field's annotator; attribute mode: the values of the attribute to
            compare, all if empty
        persons: who labels, for every one of ``annotators``, if several of them are sessions of one person or the
            values of the attribute were given names; else empty
        iou: least similarity of a match, in (0, 1]
        iou_from_data: whether ``iou`` was asked to be the threshold that the data suggest
        similarity: similarity of two boxes, IoU or Dice
        method: matching method
        classes: how classes enter the matching
        missing: whether a missed object is a category of its own in alpha, or left out
        undefined: what alpha is where everybody used one category: undefined, or 1
        empty: whether an image that all assigned annotators left empty is skipped, or counts as agreement
        invalid: whether labels with unusable geometry are an error, or left out and counted
        geometry: whether objects are compared by their shape where they have one, by their box, or by shape only
        rasterize: ``"pillow"`` compares the pixels that Pillow fills for polygons instead of exact areas
        line_tolerance: distance in pixels within which open polylines agree; None refuses these
        crowd_attribute: attribute of labels that marks crowd regions; None if there are none
        attributes: attributes of labels that are compared among the labels of one object
        aliases: class names that stand for others, and the names that these are read as
        sigmas: per-point constants of keypoints, ``"coco"``, one for all, or None for the default
        level: level of measurement of ratings; ``"auto"`` from their type
        categories: all classes in ascending order (ratings of ordinal level)
        tolerance: numbers (ratings, values of attributes) that differ by at most this agree
        set_distance: distance of two sets of tags
        background: value of the background in semantic masks; ``"auto"`` is 0 unless that is a class, None if there is
            no background
        ignore_values: values of semantic masks that exclude a pixel
        boundaries: whether the agreement of boundaries is computed, which takes longer
        boundary_tolerance: distance in pixels within which boundaries agree
        boundary_width: width in pixels of the bands that boundary IoU compares; None is 2 % of the image diagonal
        disagreement_map: whether a heatmap of disagreement is written on every sample
        map_folder: folder for the heatmaps' files; None writes them into the database
        rematch: whether alpha without each of the annotators is also found from the others matched again
        sensitivity: whether alpha at other thresholds, under other rules, and the threshold that the data suggest are
            found
        resamples: resamples of the samples for confidence intervals; 0 for none
        seed: of the random numbers of these
    """

    fields: tuple[str, ...]
    run_key: str = names.DEFAULT_RUN_KEY
    annotator_attribute: str | None = None
    assigned_field: str | None = None
    annotators: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    iou: float = 0.5
    iou_from_data: bool = False
    similarity: Similarity = "iou"
    method: Method = "optimal"
    classes: ClassHandling = "prefer"
    missing: Missing = "category"
    undefined: Undefined = "none"
    empty: Empty = "skip"
    invalid: Invalid = "error"
    geometry: GeometryChoice = "auto"
    rasterize: str | None = None
    line_tolerance: float | None = None
    crowd_attribute: str | None = "iscrowd"
    attributes: tuple[str, ...] = ()
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    sigmas: str | float | tuple[float, ...] | None = None
    level: Level = "auto"
    categories: tuple[str, ...] = ()
    tolerance: float = 0.0
    set_distance: SetDistance = "masi"
    background: int | str | None = "auto"
    ignore_values: tuple[int, ...] = ()
    boundaries: bool = False
    boundary_tolerance: float = 2.0
    boundary_width: float | None = None
    disagreement_map: bool = False
    map_folder: str | None = None
    rematch: bool = False
    sensitivity: bool = True
    resamples: int = 1000
    seed: int = 51

    @property
    def attribute_mode(self) -> bool:
        """Whether one field holds the labels of all annotators."""
        return self.annotator_attribute is not None

    def named_persons(self) -> dict[str, str]:
        """Person of every annotator by the annotator's name, if ``persons`` are given."""
        named = session_names(self.annotators, self.persons) if self.attribute_mode else self.annotators
        return dict(zip(named, self.persons, strict=False))

    def annotator_names(self, values: Sequence[str]) -> tuple[str, ...]:
        """Names of the annotators of some values of the attribute (attribute mode)."""
        named = dict(zip(self.annotators, session_names(self.annotators, self.persons), strict=False))
        return tuple(named.get(value, value) for value in values)

    def annotator_value(self, name: str) -> str:
        """Value of the attribute that an annotator's labels have (attribute mode)."""
        named = session_names(self.annotators, self.persons)
        return self.annotators[named.index(name)] if name in named else name

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON-serialisable values."""
        values = dataclasses.asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AgreementConfig:
        """The config that :meth:`to_dict` wrote; unknown entries are left out."""
        known = {field.name for field in dataclasses.fields(cls)}
        options: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in known
        }
        return cls(**options)


def make_config(
    fields: str | Sequence[str],
    *,
    run_key: str = names.DEFAULT_RUN_KEY,
    annotator_attribute: str | None = None,
    assigned_field: str | None = None,
    annotators: Mapping[str, str] | Sequence[str] | None = None,
    **options: Any,
) -> AgreementConfig:
    """Check the options that can be checked without a dataset.

    Raises:
        AgreementInputError: naming the first option that is not usable
    """
    if not isinstance(fields, str | Sequence):
        raise AgreementInputError(f"`fields` must be names of label fields, got {fields!r}")
    field_names = (fields,) if isinstance(fields, str) else tuple(fields)
    for option, value in (("annotator_attribute", annotator_attribute), ("assigned_field", assigned_field)):
        if value is not None and (not isinstance(value, str) or not ATTRIBUTE.fullmatch(value)):
            raise AgreementInputError(f"`{option}` must be the name of an attribute or field, got {value!r}")
    check_run_key(run_key)
    _check_fields(field_names, annotator_attribute)
    if assigned_field is not None and annotator_attribute is None:
        raise AgreementInputError(
            "`assigned_field` needs `annotator_attribute`; with a field for every annotator an absent label list says "
            "who is not assigned"
        )
    for option, value in options.items():
        if option in CHOICES and value not in CHOICES[option]:
            raise AgreementInputError(f"`{option}` must be one of {', '.join(CHOICES[option])}, got {value!r}")
    for option, check in OPTION_CHECKS.items():
        if option in options:
            options[option] = check(option, options[option])
    if options.get("iou") == "auto":
        del options["iou"]  # until it is found
        options["iou_from_data"] = True
    if options.get("map_folder") is not None:
        options["disagreement_map"] = True
    chosen, persons = chosen_annotators(field_names, annotator_attribute, annotators)
    return AgreementConfig(
        fields=field_names,
        run_key=run_key,
        annotator_attribute=annotator_attribute,
        assigned_field=assigned_field,
        annotators=chosen,
        persons=persons,
        **options,
    )


def check_run_key(run_key: str, argument: str = "run_key") -> None:
    """Raise :class:`AgreementInputError` unless the key can begin the name of a field."""
    if not isinstance(run_key, str) or not _RUN_KEY.fullmatch(run_key):
        raise AgreementInputError(
            f"`{argument}` must be lower-case letters, digits and underscores, beginning with a letter, got {run_key!r}"
        )


def _check_fields(fields: tuple[str, ...], annotator_attribute: str | None) -> None:
    for name in fields:
        if not isinstance(name, str) or not name:
            raise AgreementInputError(f"`fields` must be names of label fields, got {name!r}")
    repeated = sorted({name for name in fields if fields.count(name) > 1})
    if repeated:
        raise AgreementInputError(f"`fields` must be different fields, got {shown(repeated)} more than once")
    if annotator_attribute is None and len(fields) < 2:
        raise AgreementInputError(
            f"Agreement needs at least 2 annotators, got {len(fields)} ({shown(map(repr, fields))}); choose two or "
            "more fields, or name the attribute that holds the annotator with `annotator_attribute`"
        )
    if annotator_attribute is not None and len(fields) != 1:
        raise AgreementInputError(
            f"With `annotator_attribute` `fields` must be one label field, got {len(fields)} ({shown(fields)})"
        )
