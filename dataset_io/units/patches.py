"""A view with one patch, or clip, for every disputed object, showing each annotator's own label of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.matching.verdicts import VERDICTS
from ...agreement.settings.arguments import one_of, takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import list_name
from ..record.run import COMPLETED
from ..record.run_labels import RunLabels, open_run_labels
from ..views.view_request import is_count
from .units_field import derived_record

#: verdicts of disputed objects, the worst first
DISPUTED = ("class_conflict", "attribute_conflict", "split", "missed", "lone", "duplicate")
_RANKED = (*DISPUTED, *(verdict for verdict in VERDICTS if verdict not in DISPUTED))


@takes_arrays
def agreement_patches(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    verdict: str | Sequence[str] | None = None,
    max_units: int | None = None,
) -> DatasetView:
    """The disputed objects of a run, one patch for each, which shows only the annotators' labels of this object.

    The worst come first: by verdict (class conflict, attribute conflict, split, missed, lone, duplicate), then by the
    share of the assigned annotators who drew the object, then by mean IoU, both ascending. A temporal detection becomes
    a clip; an object on a frame becomes a patch of the frame, which the App takes from the video if frames have no
    files.

    The view consists of FiftyOne's own stages, so it can be saved and opened in the App. Edits and tags of the object's
    consensus label reach the dataset; edits and tags of the annotators' labels do not, as FiftyOne syncs only the field
    that patches are made from.

    Args:
        samples: the dataset, or a view of it; labels that a view hides are not shown
        run_key: key of the run, with objects written by ``run.objects.write``
        verdict: objects with this verdict, or one of several; None for all disputed objects
        max_units: maximum number of objects, the worst first; None for all

    Raises:
        AgreementInputError: if there is no such completed run on objects, its objects were not written, or an argument
            is not usable
    """
    labels = open_run_labels(samples, run_key)
    verdicts = check_verdicts(verdict)
    if max_units is not None and not is_count(max_units):
        raise AgreementInputError(f"`max_units` must be None or at least 1, got {max_units!r}")
    check_units(labels)
    path = labels.path_of(names.UNITS_SUFFIX)
    field = path.removeprefix(names.FRAMES_PREFIX)
    shown = [name.removeprefix(names.FRAMES_PREFIX) for name in labels.config.fields]
    view = labels.samples.view()
    if labels.on_frames:  # the App takes frames without files from the video
        has_paths = labels.samples.get_field(f"{names.FRAMES_PREFIX}filepath") is not None
        have_files = has_paths and bool(labels.samples.count("frames.filepath"))
        view = labels.samples.to_frames(sample_frames=False if have_files else "dynamic", sparse=True)
    of_list = f"{field}.{list_name(labels.samples.get_field(path).document_type)}"
    view = view.filter_labels(field, {"$in": ["$$this.verdict", list(verdicts)]})
    unit_id = f"$$this.{labels.field_key}_id"
    for name in shown:  # before making patches, so that less is copied to each
        view = view.filter_labels(name, {"$in": [unit_id, f"${of_list}.unit"]}, only_matches=False)
    if labels.kinds[0].is_temporal:
        view = view.to_clips(field, other_fields=shown)
    else:
        view = view.to_patches(field, other_fields=shown)
    rank = {"$indexOfArray": [list(_RANKED), f"${field}.verdict"]}
    share = {"$divide": [f"${field}.votes", {"$max": [f"${field}.of", 1]}]}
    view = view.sort_by([(rank, 1), (share, 1), (f"{field}.mean_iou", 1), (f"{field}.unit", 1), ("sample_id", 1)])
    if max_units is not None:
        view = view.limit(int(max_units))
    for name in shown:
        view = view.filter_labels(name, {"$eq": [unit_id, f"${field}.unit"]}, only_matches=False)
    return view


def check_verdicts(verdict: Any) -> tuple[str, ...]:
    """The verdicts of the requested objects."""
    if verdict is None:
        return DISPUTED
    verdicts = (verdict,) if isinstance(verdict, str) else verdict
    if not isinstance(verdicts, Sequence) or not verdicts:
        raise AgreementInputError(f"`verdict` must be a verdict, or a list of them, got {verdict!r}")
    return tuple(dict.fromkeys(one_of("verdict", entry, VERDICTS) for entry in verdicts))


def check_units(labels: RunLabels) -> None:
    """Refuse a run whose objects were not written completely."""
    if not labels.family.has_objects:
        raise AgreementInputError(
            f"The run must be on objects to show them one by one, got {labels.run_key!r} on {labels.title}"
        )
    dataset, path = labels.dataset, labels.path_of(names.UNITS_SUFFIX)
    record = derived_record(labels.run, names.UNITS_SUFFIX)
    if record is None or dataset.get_field(path) is None:
        raise AgreementInputError(
            f"The objects of the run {labels.run_key!r} must be written first: run.objects.write()"
        )
    if record.get("status") != COMPLETED:
        raise AgreementInputError(
            f"The objects of the run {labels.run_key!r} must be complete, got the status {record['status']!r}; "
            "write them again: run.objects.write()"
        )
    if labels.samples.get_field(path) is None:
        raise AgreementInputError(f"The view must have the field `{path}`, got one without it")


def has_units(labels: RunLabels) -> bool:
    """True if the objects of a run were written."""
    try:
        check_units(labels)
    except AgreementInputError:
        return False
    return True
