"""Tag the annotators' own labels, or the samples, that a view shows: where they are, not in the view's copy alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne
from pymongo.collection import Collection

from ... import names
from ...agreement.errors import AgreementInputError
from ..fiftyone_private import is_generated, sample_collection, stored_dataset
from ..labels.paths import places
from ..labels.source import refuse_read_only
from ..record import runs
from ..record.run_labels import RunLabels, annotators_asked, open_run_labels
from ..views.shown_labels import Selected, path_in_view, shown_labels, shown_samples

#: what is tagged
TagTarget = Literal["labels", "samples"]

DEFAULT_TAG = "needs_review"

_BATCH = 1_000


def tag_agreement_labels(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    tag: str = DEFAULT_TAG,
    annotators: str | Sequence[str] | None = None,
    on: TagTarget = "labels",
    selected: Selected | None = None,
    remove: bool = False,
) -> int:
    """Tag the labels that a view of a run shows, or its samples.

    FiftyOne writes tags that are given in a patches view only to the field that the patches were made from. This
    function finds the annotators' own labels by field and id, and tags them in the dataset, and in the view's copy too.
    Labels that somebody deletes meanwhile are left alone; tags are not removed with the run.

    Args:
        samples: a view of the units of a run (:func:`agreement_patches`), of its labels (:func:`view_agreement`), or
            any other view of its dataset, or the dataset itself; the labels that it shows, and that the run compared,
            are tagged
        run_key: key of the run
        tag: the tag
        annotators: only labels of this annotator, or of several, or only samples with such labels
        on: ``"labels"``, or ``"samples"``: the samples that the view shows, or of which it shows parts
        selected: ids of labels: only these, or only their samples; a mapping of fields to ids tells apart the labels of
            fields that were cloned, which share ids
        remove: remove the tag instead

    Returns:
        how many labels, or samples, were found

    Raises:
        AgreementInputError: if there is no such completed run, or an argument is not usable
    """
    dataset = runs.dataset_of(samples)
    labels = open_run_labels(dataset, run_key)
    _check_arguments(tag, on, remove)
    asked = annotators_asked(labels, annotators)
    if on == "samples":
        found = _tag_samples(samples, labels, tag, remove, asked, selected)
    else:
        found = _tag_labels(samples, labels, tag, remove, asked, selected)
    runs.refresh(dataset)
    return found


def _check_arguments(tag: Any, on: Any, remove: Any) -> None:
    if not isinstance(tag, str) or not tag.strip():
        raise AgreementInputError(f"`tag` must be a text, got {tag!r}")
    if on not in get_args(TagTarget):
        raise AgreementInputError(f"`on` must be one of {', '.join(get_args(TagTarget))}, got {on!r}")
    if not isinstance(remove, bool):
        raise AgreementInputError(f"`remove` must be True or False, got {remove!r}")


def _tag_samples(
    samples: SampleCollection,
    labels: RunLabels,
    tag: str,
    remove: bool,
    annotators: Sequence[str],
    selected: Selected | None,
) -> int:
    refuse_read_only(stored_dataset(labels.samples), ["tags"])
    if selected is None and not annotators:
        ids = shown_samples(samples, labels)
    else:
        ids = [(entry.view_id, entry.sample_id) for entry in shown_labels(samples, labels, annotators, selected)]
    of_samples = {sample_id for _, sample_id in ids}
    _tag_documents(sample_collection(labels.samples), of_samples, tag, remove)
    if is_generated(samples):
        _tag_documents(sample_collection(samples), {view_id for view_id, _ in ids}, tag, remove)
    return len(of_samples)


def _tag_documents(collection: Collection[dict[str, Any]], ids: Iterable[ObjectId], tag: str, remove: bool) -> None:
    wanted = sorted(ids)
    update = [{"$set": {"tags": _tags("$tags", tag, remove), "last_modified_at": "$$NOW"}}]
    for start in range(0, len(wanted), _BATCH):
        query = {"_id": {"$in": wanted[start : start + _BATCH]}, "tags": _without(tag, remove)}
        collection.update_many(query, update)


def _tag_labels(
    samples: SampleCollection,
    labels: RunLabels,
    tag: str,
    remove: bool,
    annotators: Sequence[str],
    selected: Selected | None,
) -> int:
    shown = shown_labels(samples, labels, annotators, selected)
    fields = sorted({name for entry in shown for name in entry.label_ids})
    refuse_read_only(stored_dataset(labels.samples), fields)
    (place,) = places(stored_dataset(labels.samples), labels.label_paths[:1])
    kinds = dict(zip(labels.config.fields, labels.kinds, strict=True))
    paths = {
        name: (kind.label_path(name.removeprefix(names.FRAMES_PREFIX)), kind.list_name is not None)
        for name, kind in kinds.items()
    }
    # FiftyOne copies what it generates views from
    copied = fields if is_generated(samples) else []
    in_view = {name: path_in_view(samples, name.removeprefix(names.FRAMES_PREFIX), kinds[name]) for name in copied}
    operations, of_view, found = [], [], set()
    for entry in shown:
        for name, label_ids in entry.label_ids.items():
            path, in_list = paths[name]
            operations.append(_update(entry.document_id, path, in_list, label_ids, tag, remove))
            if name in in_view:
                of_view.append(_update(entry.view_id, *in_view[name], label_ids, tag, remove))
            found.update((name, entry.document_id, label_id) for label_id in label_ids)
    _write(place.collection, operations)
    if of_view:
        _write(sample_collection(samples), of_view)
    return len(found)


def _update(
    document_id: ObjectId, path: str, in_list: bool, label_ids: Sequence[ObjectId], tag: str, remove: bool
) -> UpdateOne:
    """Tag labels of one field of a document, those that are still there."""
    ids, missing = list(label_ids), _without(tag, remove)
    stamp = {"last_modified_at": "$$NOW"}
    if not in_list:
        query = {"_id": document_id, f"{path}._id": {"$in": ids}, f"{path}.tags": missing}
        return UpdateOne(query, [{"$set": {f"{path}.tags": _tags(f"${path}.tags", tag, remove), **stamp}}])
    query = {"_id": document_id, path: {"$elemMatch": {"_id": {"$in": ids}, "tags": missing}}}
    tagged = {"$mergeObjects": ["$$label", {"tags": _tags("$$label.tags", tag, remove)}]}
    every = {"$cond": [{"$in": ["$$label._id", ids]}, tagged, "$$label"]}
    mapped = {"$map": {"input": f"${path}", "as": "label", "in": every}}
    return UpdateOne(query, [{"$set": {path: mapped, **stamp}}])


def _without(tag: str, remove: bool) -> Any:
    """A query for tags that are to be changed."""
    return tag if remove else {"$ne": tag}


def _tags(path: str, tag: str, remove: bool) -> dict[str, Any]:
    """An expression for tags with, or without, one."""
    present = {"$cond": [{"$isArray": [path]}, path, []]}
    without = {"$filter": {"input": present, "as": "tag", "cond": {"$ne": ["$$tag", {"$literal": tag}]}}}
    return without if remove else {"$concatArrays": [without, [{"$literal": tag}]]}


def _write(collection: Collection[dict[str, Any]], operations: Sequence[UpdateOne]) -> None:
    for start in range(0, len(operations), _BATCH):
        collection.bulk_write(list(operations[start : start + _BATCH]), ordered=False)
