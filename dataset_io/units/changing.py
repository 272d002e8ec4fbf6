"""Compare-and-swap of documents: read, compute new values, write if nobody changed what was read, else start again.

Decisions, changes of labels by applying or undoing them, and derived labels are all written by :func:`change`, which
gets a function that computes the new values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import fiftyone.core.utils as fou
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.collection import Collection

from ..labels.checks import document_title
from ..run.read import MAX_ATTEMPTS, Progress, read_ahead
from ..run.settle import update_documents
from .unit_labels import Stored, UnitReader

#: stands for a field that a document does not have
MISSING: Any = object()
#: number of documents that are read at once by their ids
BATCH = 1_000


class Write(NamedTuple):
    """New values of a document."""

    values: Stored  #: by field; ``MISSING`` removes it
    unchanged: Stored  #: a query for the document while it is what was read
    mark: str  #: one of these fields, which nobody else writes: it shows whether the document was written
    renews: bool = False  #: whether the time stamp is renewed, so that runs see the change; the App loses open edits


#: the outcome for a document: its counts, and what is written; None if it stays as it is
Changed = tuple[Counter[Any], Write | None]


def as_before(document: Stored, fields: Sequence[str]) -> Stored:
    """A query for a document on condition that some of its fields are still what was read."""
    return {name: {"$eq": document[name]} if name in document else {"$exists": False} for name in fields}


def change(
    reader: UnitReader | Documents,
    changed: Callable[[list[Stored]], Mapping[ObjectId, Changed]],
    *,
    check: Callable[[], None] | None = None,
    preview: bool = False,
    progress: Progress = False,
) -> Counter[Any]:
    """Change documents; those that somebody else changes meanwhile are read again.

    Args:
        reader: reads the documents
        changed: computes the outcomes for the documents of a batch, by id
        check: called before every write
        preview: count only
        progress: as in ``compute``

    Returns:
        sums of the counts of all documents, with ``n_meanwhile``: documents that others kept on changing

    Raises:
        NoRoomError: if one of them would be too large
    """
    total = Counter[Any](n_meanwhile=0)
    with fou.ProgressBar(total=None if progress is False else reader.count(), progress=progress) as bar:
        for batch in read_ahead(reader.batches()):
            rows, n_left = batch, MAX_ATTEMPTS
            while rows:
                outcomes = changed(rows)
                writes = {} if preview else {each: write for each, (_, write) in outcomes.items() if write is not None}
                if check is not None and writes:
                    check()
                refused = swap(reader.collection, writes, rows)
                for each in outcomes.keys() - set(refused):
                    total.update(outcomes[each][0])
                rows, n_left = reader.again(refused) if refused and n_left else [], n_left - 1
                total["n_meanwhile"] += len(set(refused) - {row["_id"] for row in rows})
            bar.update(len(batch))
    return total


def swap(collection: Collection[Stored], writes: Mapping[ObjectId, Write], rows: list[Stored]) -> list[ObjectId]:
    """Write documents that are still what was read; returns the ids of the others, which somebody changed meanwhile.

    Raises:
        NoRoomError: if one of them would be too large
    """
    if not writes:
        return []
    operations, set_to = [], dict[ObjectId, Stored]()
    for document_id, write in writes.items():
        kept = set_to[document_id] = {name: value for name, value in write.values.items() if value is not MISSING}
        gone = dict.fromkeys(write.values.keys() - kept.keys(), "")
        parts = {"$set": kept, "$unset": gone, "$currentDate": {"last_modified_at": True} if write.renews else {}}
        update = {name: part for name, part in parts.items() if part}
        operations.append(UpdateOne({"_id": document_id, **write.unchanged}, update))
    titles = ((row["_id"], document_title(row)) for row in rows)
    n_written = update_documents(collection, operations, set_to, titles)
    if n_written == len(operations):
        return []
    marks = {each: as_before(set_to[each], [write.mark]) for each, write in writes.items()}
    return [each for each, mark in marks.items() if collection.find_one({"_id": each, **mark}, {}) is None]


class Documents:
    """Reads some fields of the documents that a query finds, for :func:`change`."""

    def __init__(self, collection: Collection[Stored], query: Stored, fields: Sequence[str]) -> None:
        self.collection, self._query, self._fields = collection, query, dict.fromkeys(fields, True)

    def count(self) -> int:
        """Number of documents."""
        return self.collection.count_documents(self._query)

    def batches(self) -> Iterator[list[Stored]]:
        """All documents, in batches."""
        ids = [row["_id"] for row in self.collection.find(self._query, {"_id": True})]
        for start in range(0, len(ids), BATCH):
            yield self.again(ids[start : start + BATCH])

    def again(self, document_ids: Sequence[ObjectId]) -> list[Stored]:
        """Some documents as they are now."""
        return list(self.collection.find({"_id": {"$in": list(document_ids)}}, self._fields))
