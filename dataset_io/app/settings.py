"""App settings for a run, chosen by the user: recorded before they are changed, restored when the run is deleted."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import fiftyone as fo
from fiftyone.core.collections import SampleCollection
from PIL import ImageColor

from ... import names
from ...agreement.settings.arguments import one_of, takes_arrays, true_or_false
from ...agreement.settings.errors import AgreementInputError
from ..record.lease import writing
from ..record.run import Run, refresh
from ..record.run_labels import RunLabels, open_run_labels
from .appearance import entries, show_entries

ColorBy = Literal["annotator", "verdict", "id"]

#: suffix (after the run key) of the attribute of the run that labels are coloured by
_SUFFIXES: dict[str, str] = {"verdict": "", "id": "_id"}

#: types of fields that the sidebar filters by value or range, for which large datasets need indexes
_FILTERED = (fo.FloatField, fo.IntField, fo.BooleanField, fo.StringField)


@dataclass(frozen=True, slots=True, repr=False)
class AppSettings:
    """The App settings of a run."""

    sidebar: bool = False  #: whether its fields have a group of their own in the sidebar
    indexes: bool = False  #: whether its fields on samples have indexes
    color_by: ColorBy | None = None  #: what labels are coloured by; None: the run does not set colours

    def __repr__(self) -> str:
        found = {each.name.replace("_", " "): getattr(self, each.name) for each in dataclasses.fields(self)}
        said = [name if value is True else f"{name} {value}" for name, value in found.items() if value]
        return f"<{type(self).__name__}: {', '.join(said) or 'nothing set'}>"


@takes_arrays
def configure_agreement_app(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    sidebar: bool = False,
    indexes: bool = False,
    color_by: ColorBy | None = None,
) -> AppSettings:
    """Set up the App for a run. Settings at their defaults are restored to what they were before the run.

    ``run.delete`` undoes everything; changes that the user made meanwhile stay.

    Args:
        dataset: the dataset, or a view of it; settings always apply to the dataset
        run_key: key of the run
        sidebar: add a group in the sidebar for the fields of the run
        indexes: index the run's fields on samples, so that filtering and sorting large datasets is immediate
        color_by: colour the annotators' labels by their ``"annotator"`` or by their ``"verdict"``, in colour-blind safe
            colours, or by their match ``"id"``, so that labels of one object have one colour. Where every annotator has
            a field, fields that the user gave a colour keep it, and FiftyOne colours more than 8 annotators

    Returns:
        the settings

    Raises:
        AgreementInputError: if there is no such completed run, or a setting is not usable with its labels
    """
    settings = AppSettings(sidebar, indexes, color_by)
    with writing(Run(dataset, run_key).dataset) as stored:
        labels = open_run_labels(stored, run_key)
        check_settings(labels, settings)
        remove_app_settings(stored, {labels.run_key})
        # the fields of a run on samples and frames, in the documented order
        of_run = labels.run.fields()
        suffixes = [f"{labels.field_key}{suffix}" for suffix in labels.kinds[0].fields.sample]
        listed = [*suffixes, *(names.FRAMES_PREFIX + path for path in suffixes)]
        later = [path for path in of_run if "." not in path.removeprefix(names.FRAMES_PREFIX)]
        fields = {path: of_run[path] for path in dict.fromkeys([*listed, *later]) if path in of_run}
        entry: dict[str, Any] = {
            "run_key": labels.run_key,
            "settings": dataclasses.asdict(settings),
            "paths": list(fields) if settings.sidebar else [],
            "indexes": [],
        }
        if settings.indexes:
            present = set(stored.list_indexes())
            filtered = [path for path, field in sorted(fields.items()) if isinstance(field, _FILTERED)]
            entry["indexes"] = [path for path in filtered if "." not in path and path not in present]
        attribute = labels.config.annotator_attribute  # None if every annotator has a field
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
            show_entries(stored, [*entries(stored), entry])
        create_indexes(stored, entry["indexes"])
        refresh(stored)
    return settings


def _colors(labels: RunLabels, color_by: ColorBy | None) -> dict[str, str]:
    """The colour of every value, or of every annotator's field; none where the App may choose."""
    if color_by == "annotator" and len(labels.annotators) <= len(names.ANNOTATOR_COLORS):
        of_annotator = labels.config.annotator_value if labels.config.attribute_mode else labels.field_of
        return dict(zip(map(of_annotator, labels.annotators), names.ANNOTATOR_COLORS.values(), strict=False))
    return names.VERDICT_COLORS if color_by == "verdict" else {}


def annotator_colors(labels: RunLabels, fields: Sequence[Mapping[str, Any]] | None = None) -> dict[str, str]:
    """The CSS colour of every annotator of a run: that of the labels in the grid if it is set, else one of ours.

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
            color = values.get(str(labels.config.annotator_value(name))) if is_by_annotator else None
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
        for path in entry.get("indexes") or ():
            dataset.drop_index(path)  # does nothing without an index
    if with_runs:
        show_entries(dataset, [entry for entry in entries(dataset) if entry["run_key"] not in run_keys])


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
    for option in ("sidebar", "indexes"):
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
