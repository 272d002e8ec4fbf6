"""Send disputed labels to FiftyOne's annotation API, with a backend that the user configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import fiftyone as fo
from fiftyone import ViewField as F
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import is_generated, root_dataset
from ..labels.kinds import kind_of
from ..record.run import dataset_of
from ..record.run_labels import open_run_labels
from ..views.agreement_view import view_agreement
from .labels_in_view import Selected, labels_in_view
from .patches import DISPUTED

#: credentials of FiftyOne's own backends; FiftyOne asks for missing ones on a terminal, which the App does not have
_CREDENTIALS: dict[str, tuple[str, ...]] = {
    "cvat": ("username", "password"),
    "labelbox": ("api_key",),
    "labelstudio": ("api_key",),
}


@takes_arrays
def annotate_disputed(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    anno_key: str = "disputed",
    *,
    backend: str | None = None,
    annotators: str | Sequence[str] | None = None,
    selected: Selected | None = None,
    **options: Any,
) -> Any:
    """Send the disputed labels of a run to be annotated again, through FiftyOne's ``annotate()``.

    Load the result with FiftyOne's ``dataset.load_annotations(anno_key)``, then compute agreement again.

    Args:
        samples: a view of objects (:func:`agreement_patches`), to send their labels; or the dataset, or a view of its
            samples, to send all disputed labels
        run_key: key of the run
        anno_key: FiftyOne's key of the annotation run
        backend: one of :func:`configured_backends`; None for FiftyOne's default, or the first configured one
        annotators: only the labels of this annotator, or of several
        selected: ids of labels, or ids by field: send these, whatever their verdict
        **options: options of FiftyOne's ``annotate()`` and of the backend; ``attributes`` is False by default, so that
            the attributes written by the run are not sent

    Returns:
        FiftyOne's annotation results

    Raises:
        AgreementInputError: if no backend is configured, the key is in use, or there is nothing to send
    """
    chosen = check_backend(backend, options)
    check_anno_key(samples, anno_key)
    view, fields = disputed_view(samples, run_key, annotators, selected)
    schema = {name: _type_of(view, name) for name in fields}
    return view.annotate(anno_key, backend=chosen, **{"label_schema": schema, "attributes": False, **options})


def _type_of(view: DatasetView, field: str) -> dict[str, str]:
    """Label type of a field for FiftyOne's ``annotate()``, which would take masks for boxes and lines for polygons."""
    kind = kind_of(view.get_field(field))
    if kind is None or kind.stored not in (fo.Detections, fo.Polylines):
        return {}
    if kind.stored is fo.Polylines:
        is_line = (F("closed") != True) & (F("filled") != True)  # noqa: E712 - expressions, also of None
        return {"type": "polylines" if view.filter_labels(field, is_line) else "polygons"}
    is_box = (F("mask") == None) & (F("mask_path") == None)  # noqa: E711
    return {"type": "detections" if view.filter_labels(field, is_box) else "instances"}


def check_anno_key(samples: SampleCollection, anno_key: str) -> None:
    """Refuse a key that is not valid or already in use."""
    taken = root_dataset(samples).list_annotation_runs()
    if not isinstance(anno_key, str) or not anno_key.isidentifier() or anno_key in taken:
        raise AgreementInputError(
            f"`anno_key` must be a new name of letters, digits and underscores, got {anno_key!r}; in use are "
            f"{shown(map(repr, taken)) or 'none'}"
        )


def configured_backends() -> list[str]:
    """Names of the annotation backends that can log in without asking for a password."""
    return [name for name in sorted(fo.annotation_config.backends) if _can_log_in(name, {})]


def _can_log_in(backend: str, options: Mapping[str, Any]) -> bool:
    known = {**fo.annotation_config.backends[backend], **options}
    return all(known.get(needed) for needed in _CREDENTIALS.get(backend, ()))


def check_backend(backend: str | None, options: Mapping[str, Any]) -> str:
    """The backend to use.

    Args:
        options: options of the backend, which may include a name and a password
    """
    wanted = fo.annotation_config.default_backend if backend is None else backend
    if not isinstance(wanted, str):
        raise AgreementInputError(f"`backend` must be the name of an annotation backend, got {wanted!r}")
    if wanted in fo.annotation_config.backends and _can_log_in(wanted, options):
        return wanted
    configured = configured_backends()
    if not configured:
        needed = "; ".join(
            f"{name}: {' and '.join(f'FIFTYONE_{name}_{entry}'.upper() for entry in entries)}"
            for name, entries in _CREDENTIALS.items()
        )
        raise AgreementInputError(
            "Sending labels to be annotated needs a configured annotation backend, got none. Set environment "
            f"variables before FiftyOne starts ({needed}), or the same in ~/.fiftyone/annotation_config.json"
        )
    if backend is not None:
        raise AgreementInputError(f"`backend` must be a configured one ({shown(configured)}), got {backend!r}")
    return configured[0]


def disputed_view(
    samples: SampleCollection,
    run_key: str,
    annotators: str | Sequence[str] | None = None,
    selected: Selected | None = None,
) -> tuple[DatasetView, list[str]]:
    """A view of samples with the labels to annotate again, and the fields of these labels.

    Raises:
        AgreementInputError: if there are none, or the labels of the run have no verdicts
    """
    dataset = dataset_of(samples)
    labels = open_run_labels(dataset, run_key)
    asked = labels.annotators_asked(annotators)
    disputed = [verdict for verdict in DISPUTED if verdict in labels.family.verdicts]
    if not disputed or not labels.have_attributes:
        raise AgreementInputError(f"Disputed labels need verdicts, but the run {run_key!r} wrote none")
    wanted = list(dict.fromkeys(labels.field_of(name) for name in asked or labels.annotators))
    as_shown = is_generated(samples) or selected is not None
    view = samples if as_shown else view_agreement(samples, run_key, verdict=disputed)
    if as_shown or asked:
        # by field: fields that were cloned share ids
        chosen_labels = [
            {"sample_id": str(entry.sample_id), "field": name, "label_id": str(label_id)}
            for entry in labels_in_view(view, labels, asked, selected)
            for name, ids in entry.label_ids.items()
            for label_id in ids
        ]
        view = labels.samples.select_labels(labels=chosen_labels)
    paths = dict(zip(labels.config.fields, labels.label_paths, strict=True))
    fields = [name for name in wanted if view.get_field(name) is not None and view.count(paths[name])]
    if not fields:
        raise AgreementInputError(f"There must be disputed labels to send, got none of the run {run_key!r} in the view")
    return view, fields
