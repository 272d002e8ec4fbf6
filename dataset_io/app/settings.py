"""Settings of the App for a run, each an explicit choice: recorded before it is made, undone with the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.errors import AgreementInputError
from ..labels.kinds import titles
from ..record import run_config, runs
from ..record.attachments import APP_RECORD, undo_app_record
from ..record.run_labels import RunLabels, open_run_labels
from .colors import color_labels, colors_record
from .indexes import create_indexes, missing_indexes
from .instances import check_linkable, link_units
from .sidebar import add_sidebar_group, sidebar_record

ColorBy = Literal["verdict", "id"]

#: the attribute of labels that colours them, by suffix of the run key
_SUFFIXES: dict[str, str] = {"verdict": "", "id": "_id"}


@dataclass(frozen=True, slots=True)
class AppSettings:
    """What is set in the App for a run.

    Attributes:
        sidebar: whether its fields have a group of their own in the sidebar
        indexes: whether its fields on samples have indexes
        color_by: what labels are coloured by; None if the run does not say
        link_instances: whether the labels of a unit are linked
    """

    sidebar: bool = False
    indexes: bool = False
    color_by: ColorBy | None = None
    link_instances: bool = False


def configure_agreement_app(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    sidebar: bool = False,
    indexes: bool = False,
    color_by: ColorBy | None = None,
    link_instances: bool = False,
) -> AppSettings:
    """Set up the App for a run: what is asked for is set, and what is not (any more) is as it was before.

    ``delete_agreement`` undoes everything; what the user changed meanwhile stays.

    Args:
        dataset: the dataset, or a view of it; the settings are those of the dataset
        run_key: key of the run
        sidebar: a group in the sidebar for the fields of the run
        indexes: indexes of the run's fields on samples, so that filtering and sorting large datasets is immediate
        color_by: colour the annotators' labels by their ``"verdict"``, in colours that the colour-blind can tell apart,
            or by the ``"id"`` of their unit, so that labels of one object look alike
        link_instances: link the labels of a unit, so that hovering one highlights the others; only where no label of
            the dataset has an ``instance`` yet

    Returns:
        the settings

    Raises:
        AgreementInputError: if there is no such completed run, or a setting is not usable with its labels
    """
    dataset = runs.dataset_of(dataset)
    settings = AppSettings(sidebar, indexes, color_by, link_instances)
    labels = open_run_labels(dataset, run_key)
    check_settings(labels, settings)
    clear_app_settings(dataset, run_key)
    attribute = f"{labels.field_key}{_SUFFIXES[color_by]}" if color_by is not None else None
    fields = _fields_in_order(dataset, labels)
    record: dict[str, Any] = {
        "settings": [sidebar, indexes, color_by, link_instances],
        "sidebar": sidebar_record(dataset, run_key, list(fields)) if sidebar else None,
        "indexes": missing_indexes(dataset, fields) if indexes else [],
        "colors": colors_record(dataset, attribute, labels.config.fields) if attribute is not None else None,
        "linked_by": run_key if link_instances else None,
    }
    run_config.update_config(dataset, run_key, **{APP_RECORD: record})
    if sidebar:
        add_sidebar_group(dataset, record["sidebar"])
    create_indexes(dataset, record["indexes"])
    if attribute is not None:
        color_labels(dataset, record["colors"], names.VERDICT_COLORS if color_by == "verdict" else None)
    if link_instances:
        link_units(labels)
    runs.refresh(dataset)
    return settings


def _fields_in_order(dataset: fo.Dataset, labels: RunLabels) -> dict[str, fo.Field]:
    """The fields of a run on samples and frames, in the order in which users read about them."""
    of_run = runs.fields_of_run(dataset, labels.field_key)
    suffixes = [f"{labels.field_key}{suffix}" for suffix in names.FIELD_SETS[labels.family].sample]
    listed = [*suffixes, *(names.FRAMES_PREFIX + path for path in suffixes)]
    later = [path for path in of_run if "." not in path.removeprefix(names.FRAMES_PREFIX)]
    return {path: of_run[path] for path in dict.fromkeys([*listed, *later]) if path in of_run}


def clear_app_settings(dataset: fo.Dataset, run_key: str) -> None:
    """Undo what is set in the App for a run."""
    record = run_config.read_config(dataset, run_key).get(APP_RECORD)
    if record:
        undo_app_record(dataset, {run_key}, record)
        run_config.update_config(dataset, run_key, **{APP_RECORD: None})


def app_settings_of(dataset: fo.Dataset, run_key: str) -> AppSettings:
    """What is set in the App for a run."""
    record = run_config.read_config(dataset, run_key).get(APP_RECORD) or {}
    return AppSettings(*record.get("settings", ()))


def check_settings(labels: RunLabels, settings: AppSettings) -> None:
    """Refuse settings that are not usable with the labels of a run.

    Raises:
        AgreementInputError: naming the first
    """
    for option in ("sidebar", "indexes", "link_instances"):
        if not isinstance(getattr(settings, option), bool):
            raise AgreementInputError(f"`{option}` must be True or False, got {getattr(settings, option)!r}")
    color_by = settings.color_by
    if color_by is not None:
        if color_by not in get_args(ColorBy):
            raise AgreementInputError(
                f"`color_by` must be one of {', '.join(get_args(ColorBy))} or None, got {color_by!r}"
            )
        written = names.FIELD_SETS[labels.family].label
        if _SUFFIXES[color_by] not in written or not all(kind.is_label for kind in labels.kinds):
            found = " and ".join(titles(labels.kinds))
            raise AgreementInputError(
                f"`color_by` must be something that the run writes on labels, got {color_by!r} for a run on {found}"
            )
    if settings.link_instances:
        check_linkable(labels)
