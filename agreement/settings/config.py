"""``AgreementConfig``: options of a run as one immutable value; ``make_config`` checks them and their combinations."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...metrics.alpha import Undefined as Undefined
from ...metrics.geometry.keypoints import COCO_SIGMAS, DEFAULT_SIGMA
from ...metrics.geometry.objects import Similarity
from ...metrics.matching import ClassHandling, Method
from ...metrics.numeric.arrays import FloatArray
from .annotators import chosen_annotators, session_names
from .arguments import repeated, takes_arrays
from .errors import AgreementInputError, shown
from .no_labels import NoLabels
from .options import OPTIONS, Option

Missing = Literal["category", "ignore"]
Empty = Literal["skip", "agree"]
Invalid = Literal["error", "skip"]
GeometryChoice = Literal["auto", "box", "shape"]
Level = Literal["auto", "nominal", "ordinal", "interval", "ratio"]
SetDistance = Literal["masi", "jaccard"]


#: the default of every option
_DEFAULT: dict[str, Any] = {name: option.default for name, option in OPTIONS.items()}


@dataclass(frozen=True, slots=True)
class AgreementConfig:
    """The options of a run, checked; ``OPTIONS`` explains each."""

    fields: tuple[str, ...]  #: label fields, one for each annotator (field mode), or a single field (attribute mode)
    run_key: str = _DEFAULT["run_key"]
    annotator_attribute: str | None = _DEFAULT["annotator_attribute"]
    assigned_field: str | None = _DEFAULT["assigned_field"]
    no_labels: NoLabels = dataclasses.field(default=_DEFAULT["no_labels"], hash=False)
    #: field mode: name of every field's annotator; attribute mode: values of the attribute to compare, all if empty
    annotators: tuple[str, ...] = ()
    #: person of every one of ``annotators``, if several of them are sessions of one person, or if the values of the
    #: attribute were given names; else empty
    persons: tuple[str, ...] = ()
    reference: str | None = _DEFAULT["reference"]
    models: tuple[str, ...] = _DEFAULT["models"]
    confidence_threshold: float | str | None = _DEFAULT["confidence_threshold"]
    iou: float = _DEFAULT["iou"]
    iou_from_data: bool = False  #: whether ``iou`` is the threshold that the data suggest
    similarity: Similarity = _DEFAULT["similarity"]
    method: Method = _DEFAULT["method"]
    classes: ClassHandling = _DEFAULT["classes"]
    missing: Missing = _DEFAULT["missing"]
    undefined: Undefined = _DEFAULT["undefined"]
    empty: Empty = _DEFAULT["empty"]
    invalid: Invalid = _DEFAULT["invalid"]
    geometry: GeometryChoice = _DEFAULT["geometry"]
    rasterize: str | None = _DEFAULT["rasterize"]
    line_tolerance: float | None = _DEFAULT["line_tolerance"]
    crowd_attribute: str | None = _DEFAULT["crowd_attribute"]
    attributes: tuple[str, ...] = _DEFAULT["attributes"]
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)
    sigmas: str | float | tuple[float, ...] | None = _DEFAULT["sigmas"]
    point_radius: float | None = _DEFAULT["point_radius"]
    level: Level = _DEFAULT["level"]
    categories: tuple[str, ...] = _DEFAULT["categories"]
    tolerance: float = _DEFAULT["tolerance"]
    set_distance: SetDistance = _DEFAULT["set_distance"]
    background: int | str | None = _DEFAULT["background"]
    ignore_values: tuple[int, ...] = _DEFAULT["ignore_values"]
    boundaries: bool = _DEFAULT["boundaries"]
    boundary_tolerance: float = _DEFAULT["boundary_tolerance"]
    boundary_width: float | None = _DEFAULT["boundary_width"]
    disagreement_map: bool = _DEFAULT["disagreement_map"]
    map_folder: str | None = _DEFAULT["map_folder"]
    resamples: int = _DEFAULT["resamples"]
    seed: int = _DEFAULT["seed"]

    @property
    def attribute_mode(self) -> bool:
        """True if one field holds the labels of all annotators."""
        return self.annotator_attribute is not None

    @property
    def roles(self) -> tuple[str, ...]:
        """The reference, then the models: fields or values of the attribute that are no annotators."""
        return (*(() if self.reference is None else (self.reference,)), *self.models)

    @property
    def point_sigmas(self) -> FloatArray | float:
        """The constants of keypoints: of every point, or one for all."""
        if self.sigmas is None:
            return DEFAULT_SIGMA
        if isinstance(self.sigmas, str):
            return COCO_SIGMAS
        return self.sigmas if isinstance(self.sigmas, float) else np.array(self.sigmas)

    def radius_px(self, size_px: FloatArray) -> FloatArray | None:
        """Radius around points, from the sizes of images ``(..., 2)``; None: points are compared by OKS."""
        radius = self.point_radius
        return None if radius is None else np.where(radius < 1.0, radius * size_px.max(axis=-1), radius)

    def named_persons(self) -> dict[str, str]:
        """Person of every annotator by the annotator's name, if ``persons`` are given."""
        named = session_names(self.annotators, self.persons) if self.attribute_mode else self.annotators
        return dict(zip(named, self.persons, strict=False))

    def annotator_names(self, values: Sequence[str]) -> tuple[str, ...]:
        """Names of annotators from values of the attribute (attribute mode)."""
        named = dict(zip(self.annotators, session_names(self.annotators, self.persons), strict=False))
        return tuple(named.get(value, value) for value in values)

    def annotator_value(self, name: str) -> str:
        """Value of the attribute on the labels of an annotator (attribute mode)."""
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

    def superfluous(self, groups: AbstractSet[str]) -> Option | None:
        """The first option that has no effect on labels of these groups but is not at its default.

        Args:
            groups: the groups of the labels, see ``options.GROUPS``
        """
        values = {**self.to_dict(), "iou": "auto" if self.iou_from_data else self.iou}
        defaults = AgreementConfig(self.fields).to_dict()
        given = {name: values[name] for name in OPTIONS if name in values and values[name] != defaults[name]}
        return next((OPTIONS[name] for name in given if not OPTIONS[name].has_effect(groups, given)), None)


@takes_arrays
def make_config(
    fields: str | Sequence[str], *, annotators: Mapping[str, str] | Sequence[str] | None = None, **options: Any
) -> AgreementConfig:
    """The config of a run, from options that are checked as far as possible without a dataset."""
    if not isinstance(fields, str | Sequence):
        raise AgreementInputError(f"`fields` must be names of label fields, got {fields!r}")
    field_names = (fields,) if isinstance(fields, str) else tuple(fields)
    kept = {name: OPTIONS[name].checked(value) if name in OPTIONS else value for name, value in options.items()}
    annotator_attribute = kept.get("annotator_attribute")
    has_roles = kept.get("reference") is not None or bool(kept.get("models"))
    _check_fields(field_names, annotator_attribute, least=1 if has_roles else 2)
    no_labels = kept.get("no_labels", _DEFAULT["no_labels"])
    if kept.get("assigned_field") is not None and no_labels != _DEFAULT["no_labels"]:
        raise AgreementInputError(
            f"`no_labels` has no effect with `assigned_field`, which says who was assigned, got {no_labels!r}; leave "
            "one of the two out"
        )
    if kept.get("point_radius") is not None and kept.get("sigmas") is not None:
        raise AgreementInputError(
            f"`sigmas` has no effect with `point_radius`, which compares points by circles, got {kept['sigmas']!r}; "
            "leave one of the two out"
        )
    if kept.get("iou") == "auto":
        del kept["iou"]  # found later, from the data
        kept["iou_from_data"] = True
    if kept.get("map_folder") is not None:
        kept["disagreement_map"] = True
    chosen, persons = chosen_annotators(field_names, annotator_attribute, annotators, least=1 if has_roles else 2)
    config = AgreementConfig(fields=field_names, annotators=chosen, persons=persons, **kept)
    if config.reference in config.models:
        raise AgreementInputError(f"`models` must not hold the `reference`, got {config.reference!r} as both")
    for option, given in (("reference", [config.reference]), ("models", config.models)):
        taken = [name for name in given if name in (*config.fields, *config.annotators)]
        if taken:
            raise AgreementInputError(
                f"`{option}` must not be an annotator, got {taken[0]!r}, which is one of "
                f"`{'fields' if taken[0] in config.fields else 'annotators'}`; name it in one of the two"
            )
    return config


def _check_fields(fields: tuple[str, ...], annotator_attribute: str | None, least: int) -> None:
    for name in fields:
        if not isinstance(name, str) or not name:
            raise AgreementInputError(f"`fields` must be names of label fields, got {name!r}")
    twice = repeated(fields)
    if twice:
        raise AgreementInputError(f"`fields` must be different fields, got {shown(twice)} more than once")
    if annotator_attribute is None and len(fields) < least:
        several = [name.strip() for name in ",".join(fields).split(",")]
        listed = f"; several fields are a list: {several!r}" if len(several) > 1 else ""
        raise AgreementInputError(
            f"Agreement needs at least 2 annotators, got {len(fields)} ({shown(map(repr, fields))}){listed}; choose "
            "two or more fields, or name the attribute that holds the annotator with `annotator_attribute`; one is "
            "enough beside a `reference` or `models`"
        )
    if annotator_attribute is not None and len(fields) != 1:
        raise AgreementInputError(
            f"With `annotator_attribute` `fields` must be one label field, got {len(fields)} ({shown(fields)})"
        )
