"""Tag the labels or samples that a view shows, in the dataset and in FiftyOne's copy for the view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from pymongo import UpdateOne
from pymongo.collection import Collection

from ... import names
from ...agreement.settings.arguments import one_of, takes_arrays, true_or_false
from ...agreement.settings.errors import AgreementInputError
from ..database.fiftyone_private import is_generated, sample_collection
from ..labels.paths import places
from ..labels.source import refuse_read_only
from ..record.run import Run, refresh
from ..record.run_labels import RunLabels, open_run_labels
from .labels_in_view import DocumentLabels, Selected, labels_in_view, path_in_view, samples_in_view

#: tag labels, or their samples
TagTarget = Literal["labels", "samples"]

DEFAULT_TAG = "needs_review"

_BATCH = 1_000


@takes_arrays
def tag_agreement_labels(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    tag: str = DEFAULT_TAG,
    *,
    annotators: str | Sequence[str] | None = None,
    on: TagTarget = "labels",
    selected: Selected | None = None,
    remove: bool = False,
) -> int:
    """Tag the labels, or the samples, that a view of a run shows.

    In a patches view, FiftyOne writes tags only to the field that the patches were made from. This function finds the
    annotators' own labels by field and id, and tags them in the dataset and in FiftyOne's copy for the view. Labels
    that were deleted meanwhile are skipped, and so are those whose ``tags`` are no list. Deleting the run does not
    remove tags.

    Args:
        samples: a view of the objects of a run (:func:`agreement_patches`), of its labels (:func:`view_agreement`), any
            other view of its dataset, or the dataset; labels that the view shows and the run compared are tagged
        run_key: key of the run
        tag: the tag
        annotators: only labels of this annotator, or of several, or only samples with such labels
        on: ``"labels"``, or ``"samples"``: the samples that the view shows completely or in part
        selected: ids of labels: tag only these, or their samples; give a mapping of fields to ids for cloned fields,
            whose labels share ids
        remove: remove the tag instead

    Returns:
        number of labels, or samples, that were found

    Raises:
        AgreementInputError: if there is no such completed run, or an argument is not usable
    """
    labels = open_run_labels(Run(samples, run_key).dataset, run_key)
    if not isinstance(tag, str) or not tag.strip():
        raise AgreementInputError(f"`tag` must be a text, got {tag!r}")
    one_of("on", on, get_args(TagTarget))
    true_or_false("remove", remove)
    asked, change = labels.annotators_asked(annotators), _Change(tag, remove)
    if on == "samples":
        refuse_read_only(labels.dataset, ["tags"])
        if selected is None and not asked:
            ids = samples_in_view(samples, labels)
        else:
            ids = [(each.view_id, each.sample_id) for each in labels_in_view(samples, labels, asked, selected)]
        found = change.tag_documents(sample_collection(labels.samples), {sample_id for _, sample_id in ids})
        if is_generated(samples):
            change.tag_documents(sample_collection(samples), {view_id for view_id, _ in ids})
    else:
        shown = labels_in_view(samples, labels, asked, selected, [_can_be_tagged("$$this.tags")])
        refuse_read_only(labels.dataset, sorted({name for entry in shown for name in entry.label_ids}))
        found = _tag_labels(samples, labels, change, shown)
    refresh(labels.dataset)
    return found


@dataclass(frozen=True, slots=True)
class _Change:
    """A tag to add, or to remove."""

    tag: str
    remove: bool

    @property
    def missing(self) -> Any:
        """A query for tags that must be changed."""
        return self.tag if self.remove else {"$ne": self.tag}

    def of(self, path: str) -> dict[str, Any]:
        """An expression for the changed tags."""
        present = {"$ifNull": [path, []]}
        without = {"$filter": {"input": present, "as": "tag", "cond": {"$ne": ["$$tag", {"$literal": self.tag}]}}}
        changed = without if self.remove else {"$concatArrays": [without, [{"$literal": self.tag}]]}
        return {"$cond": [_can_be_tagged(path), changed, path]}

    def tag_documents(self, collection: Collection[dict[str, Any]], ids: Iterable[ObjectId]) -> int:
        """Change the tags of samples; returns how many of them have none, or a list of them."""
        wanted = sorted(ids)
        n_found = len(wanted)
        update = [{"$set": {"tags": self.of("$tags")}}]
        for start in range(0, len(wanted), _BATCH):
            chosen = {"_id": {"$in": wanted[start : start + _BATCH]}}
            collection.update_many({**chosen, "tags": self.missing}, update)
            n_found -= collection.count_documents({**chosen, "$expr": {"$not": [_can_be_tagged("$tags")]}})
        return n_found

    def label_update(self, document_id: ObjectId, path: str, in_list: bool, ids: list[ObjectId]) -> UpdateOne:
        """Change the tags of the labels in one field of a document that still exist."""
        if not in_list:
            query = {"_id": document_id, f"{path}._id": {"$in": ids}, f"{path}.tags": self.missing}
            return UpdateOne(query, [{"$set": {f"{path}.tags": self.of(f"${path}.tags")}}])
        query = {"_id": document_id, path: {"$elemMatch": {"_id": {"$in": ids}, "tags": self.missing}}}
        tagged = {"$mergeObjects": ["$$label", {"tags": self.of("$$label.tags")}]}
        every = {"$cond": [{"$in": ["$$label._id", ids]}, tagged, "$$label"]}
        return UpdateOne(query, [{"$set": {path: {"$map": {"input": f"${path}", "as": "label", "in": every}}}}])


def _can_be_tagged(path: str) -> dict[str, Any]:
    """Expression: true if tags are a list, or absent; anything else is not ours to replace."""
    return {"$or": [{"$isArray": [path]}, {"$lte": [path, None]}]}


def _tag_labels(samples: SampleCollection, labels: RunLabels, change: _Change, shown: Sequence[DocumentLabels]) -> int:
    (place,) = places(labels.dataset, labels.label_paths[:1])
    inner = {name: name.removeprefix(names.FRAMES_PREFIX) for name in labels.config.fields}
    operations: list[UpdateOne] = []
    of_view: list[UpdateOne] = []
    found: set[tuple[str, ObjectId, ObjectId]] = set()
    kinds = dict(zip(labels.config.fields, labels.kinds, strict=True))
    for entry in shown:
        for name, ids in entry.label_ids.items():
            kind = kinds[name]
            path, in_list = kind.label_path(inner[name]), kind.list_name is not None
            operations.append(change.label_update(entry.document_id, path, in_list, ids))
            # FiftyOne keeps copies of the labels of patches, frames and clips
            if is_generated(samples):
                of_view.append(change.label_update(entry.view_id, *path_in_view(samples, inner[name], kind), ids))
            found.update((name, entry.document_id, label_id) for label_id in ids)
    for collection, updates in ((place.collection, operations), (sample_collection(samples), of_view)):
        for start in range(0, len(updates), _BATCH):
            collection.bulk_write(updates[start : start + _BATCH], ordered=False)
    return len(found)
