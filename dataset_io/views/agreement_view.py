"""Make views of the samples and labels behind the numbers of a run, from FiftyOne's stages; save the usual ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import fiftyone as fo
import fiftyone.core.labels as fol
import fiftyone.core.utils as fou
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.settings.arguments import takes_arrays
from ...agreement.settings.errors import AgreementInputError, shown
from ..database.fiftyone_private import (
    add_saved_view,
    database,
    dataset_id,
    reload_saved_views,
    stages_of,
    stored_dataset,
)
from ..labels.stored import all_fields, run_of
from ..record.lease import writing
from ..record.run import dataset_of
from ..record.run_labels import RunLabels, open_run_labels
from .unit_views import ids_by_pair_score, labels_beside_model, missed_of_reference, with_documents, with_labels
from .view_request import MISSED, ViewRequest, Votes, check_request

#: stages that keep, leave out or change every sample independently of the others
_OF_ONE_SAMPLE = (fo.Match, fo.SelectFields, fo.ExcludeFields)


@takes_arrays
def view_agreement(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    verdict: str | Sequence[str] | None = None,
    annotators: str | Sequence[str] | None = None,
    missed_by: str | None = None,
    classes: str | Sequence[str] | None = None,
    confusion: Sequence[str] | None = None,
    reference: str | Sequence[str] | None = None,
    model: str | None = None,
    votes: Votes = None,
    min_score: float | None = None,
    max_score: float | None = None,
) -> DatasetView:
    """The samples and labels behind a number in the report of a run.

    All conditions must hold. The view shows the matching labels, and the samples that have any; without a condition on
    labels, all labels of the compared samples. It consists of FiftyOne's own stages, so it can be saved and opened in
    the App, and follows later changes of the dataset; match ids and verdicts stay as the run found them. Conditions on
    labels also hide the fields of other annotators and the labels that the run itself wrote.

    An object is the set of labels with one match id; for tags, all equal tags of one sample; for classes and numbers,
    the sample. For runs on frames the view has the videos, with such labels only on their frames.

    Args:
        samples: the dataset, or a view of it; labels that a view hides do not count. For a grouped dataset, the samples
            of all slices are shown
        run_key: key of the run
        verdict: labels with this verdict, or one of several
        annotators: one: the labels of this annotator. Two: the objects on which these two disagree (one of them is
            assigned and has no label there, their classes differ, or their numbers differ by more than the tolerance);
            for masks, the samples with both. Samples with the lowest score of this pair come first; in datasets of more
            than 10,000 samples, and for other labels than objects, samples with the lowest score of all annotators
        missed_by: objects that two or more annotators drew and this assigned annotator missed: the labels of the
            others; as many objects as the report's ``n_missed``
        classes: labels of this class, or one of several, and all labels of objects with such a label
        confusion: two classes given to one object: the labels of these classes. With one annotator: this annotator gave
            the first class, another one the second. With two: the first gave the first class, the other the second
        reference: labels with this verdict of the reference: ``"right"``, ``"wrong_class"``, ``"wrong_attribute"``,
            ``"loose"`` or ``"extra"``, or several; ``"missed"``: the labels of the reference that an annotator (any of
            ``annotators``, if given) did not draw
        model: labels of a model of the run and labels of annotators compared with it, by ids; ``verdict`` is then one
            of these, or several: ``"right"``, ``"wrong_class"`` and ``"loose"``: both labels of a pair; ``"extra"``:
            labels of the model that nobody drew (none of ``annotators``, if given); ``"missed"``: labels of annotators
            that the model lacks, even loosely. Without a verdict: the labels of the model. Only for runs on objects
        votes: labels of objects that this number of annotators drew; or ``(least, most)``, either may be None. For
            classes and numbers: labels on which this number of annotators agree
        min_score: samples with at least this score, the lowest first
        max_score: samples with at most this score, the lowest first

    Returns:
        the view

    Raises:
        AgreementInputError: if there is no such completed run, its fields are gone, or an argument is not usable or
            does not apply to the labels of the run
    """
    asked = {name: value for name, value in locals().items() if name not in ("samples", "run_key")}
    labels = open_run_labels(samples, run_key)
    return requested_view(labels, check_request(labels, asked))


def requested_view(labels: RunLabels, request: ViewRequest) -> DatasetView:
    """The view of a checked request."""
    view = labels.samples.view()
    by_score = request.has_scores
    if request.is_pair and not by_score and request.model is None:
        # with two annotators, the score of a sample is the score of the pair
        ids = ids_by_pair_score(labels, request.annotators) if len(labels.annotators) > 2 else None
        by_score = ids is None
        view = view if ids is None else view.select(ids, ordered=True)
    limits = {"$gte": request.min_score, "$lte": request.max_score}
    query: dict[str, dict[str, float | None]] = {f"{labels.field_key}_n_annotators": {"$ne": None}}
    if request.has_scores:
        query[labels.score_field] = {operator: limit for operator, limit in limits.items() if limit is not None}
    view = view.match(query)
    if request.reference == (MISSED,):
        return missed_of_reference(view, labels, request)
    # an index can sort only in the first stages; without an index, sorting the remaining samples last is faster
    has_index = labels.score_field in labels.dataset.list_indexes()
    if by_score and has_index:
        view = view.sort_by(labels.score_field)
    if request.model is not None:
        view = labels_beside_model(view, labels, request)
    elif request.has_labels:
        in_lists = labels.kinds[0].list_name is not None
        view = (with_labels if in_lists else with_documents)(view, labels, request)
    if request.has_labels:  # the labels of annotators who are not shown, and derived fields, are hidden
        asked = {labels.field_of(name) for name in request.shown(labels.annotators)}
        left_out = [name for name in labels.config.fields if name not in asked]
        for path, field in all_fields(labels.dataset).items():
            document = getattr(field, "document_type", None)
            is_drawn = document is not None and issubclass(document, fol.Label) and document is not fo.Heatmap
            is_top = "." not in path.removeprefix(names.FRAMES_PREFIX)
            if is_drawn and is_top and run_of(path, field) == labels.field_key:
                left_out.append(path)
        if there := [name for name in left_out if labels.samples.get_field(name) is not None]:
            view = view.exclude_fields(there)
    return view.sort_by(labels.score_field) if by_score and not has_index else view


def shows_any(view: DatasetView) -> bool:
    """True if a view has any sample."""
    return bool(len(_unsorted(view).limit(1)))


def _unsorted(view: DatasetView) -> DatasetView:
    """A view without its last sorting, which takes the database long; unless later stages depend on the order."""
    stages = stages_of(view)
    last = max((k for k, stage in enumerate(stages) if isinstance(stage, fo.SortBy)), default=len(stages))
    if all(isinstance(stage, _OF_ONE_SAMPLE) for stage in stages[last + 1 :]):
        del stages[last : last + 1]
    unsorted = stored_dataset(view).view()
    for stage in stages:
        unsorted = unsorted.add_stage(stage)
    return unsorted


#: names of saved views after the run key: the verdict that they show (None: all), and their description for users
_VIEWS: dict[str, tuple[str | None, str]] = {
    "lowest score": (None, "All samples with a score, the lowest first"),
    "class conflicts": ("class_conflict", "Where annotators name the same thing differently, the lowest scores first"),
    "missed": ("missed", "Missed: what two or more annotators have and others have not, the lowest scores first"),
    "lone": ("lone", "Lone: what only one annotator has, the lowest scores first"),
}


@takes_arrays
def save_agreement_views(dataset: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> list[str]:
    """Save the usual views of a run: ``<key>: lowest score``, ``class conflicts``, ``missed`` and ``lone``.

    Views that do not apply to the labels of the run are left out. Earlier saved views of the run are replaced;
    ``run.delete`` removes them.

    Args:
        dataset: the dataset, or a view of it; the views are of the whole dataset
        run_key: key of the run

    Returns:
        the names of the saved views

    Raises:
        AgreementInputError: as ``run.view``; if a saved view that the run did not save has one of the names
    """
    with writing(dataset_of(dataset)) as stored:
        verdicts = open_run_labels(stored, run_key).family.verdicts
        named = {f"{run_key}: {suffix}": suffix for suffix, (verdict, _) in _VIEWS.items()
                 if verdict is None or verdict in verdicts}  # fmt: skip
        return save_views(stored, run_key, named)


def save_views(dataset: fo.Dataset, run_key: str, named: Mapping[str, str]) -> list[str]:
    """Save some of the usual views of a run by their names; see ``run.save_views``."""
    check_view_names(dataset, run_key, named)
    _remove([view["_id"] for view in marked_views(dataset, {run_key}) if view["name"] in named], dataset)
    for name, suffix in named.items():
        verdict, description = _VIEWS[suffix]
        view = view_agreement(dataset, run_key, verdict=verdict, max_score=1.0)
        add_saved_view(dataset, name, view, marked(description, run_key))
    return list(named)


def views_of_renamed(dataset: fo.Dataset, run_key: str, new_run_key: str) -> dict[str, str]:
    """The usual views that are saved, by their names when the run has a new key; names that the user gave stay."""
    found: dict[str, str] = {}
    for view in marked_views(dataset, {run_key}):
        for suffix, (_, description) in _VIEWS.items():
            if view["name"] == f"{run_key}: {suffix}":
                found[f"{new_run_key}: {suffix}"] = suffix
            elif view["description"] == marked(description, run_key):
                found[view["name"]] = suffix
    return found


def check_view_names(dataset: fo.Dataset, run_key: str, wanted_names: Collection[str]) -> None:
    """Refuse to replace views that the run did not save."""
    wanted = set(map(fou.to_slug, wanted_names))
    own = {view["name"] for view in marked_views(dataset, {run_key})}
    reload_saved_views(dataset)
    taken = [name for name in dataset.list_saved_views() if fou.to_slug(name) in wanted and name not in own]
    if taken:
        raise AgreementInputError(
            f"Saved views must have new names, got {shown(map(repr, taken))}, which the run {run_key!r} did not save; "
            "rename or delete them first"
        )


# ---- saved views of a run, recognised by a mark at the end of their description ----


def marked(description: str, run_key: str) -> str:
    """A description with the mark of a run; if a user edits the mark, the view belongs to the user."""
    return f"{description} {_mark(run_key)}"


def _mark(run_key: str) -> str:
    return f"(annotator agreement, run {run_key})"


def marked_views(dataset: fo.Dataset, run_keys: Collection[str]) -> list[dict[str, Any]]:
    """The documents of the saved views of some runs, including documents that the dataset does not refer to."""
    ends = "|".join(re.escape(_mark(run_key)) for run_key in sorted(run_keys))
    wanted = {"_dataset_id": dataset_id(dataset), "description": {"$regex": f"({ends})$"}}
    return list(database().views.find(wanted).sort("_id")) if ends else []


def remove_saved_views(dataset: fo.Dataset, run_keys: Collection[str]) -> None:
    """Remove the saved views of some runs."""
    _remove([view["_id"] for view in marked_views(dataset, run_keys)], dataset)


def _remove(ids: list[ObjectId], dataset: fo.Dataset) -> None:
    if not ids:
        return
    # references first, then documents, so that no reference ever dangles
    database().datasets.update_one({"_id": dataset_id(dataset)}, {"$pull": {"saved_views": {"$in": ids}}})
    database().views.delete_many({"_id": {"$in": ids}})
    reload_saved_views(dataset)
