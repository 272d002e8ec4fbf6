"""Write the values of a batch: one guarded update per sample, so that edited labels never get wrong values.

The values of a sample and its labels come from ``values()`` of its family (``objects.py``, ``ratings.py``, ``tags.py``
and ``pixels.py`` in ``families/``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import bson
from bson import ObjectId
from pymongo import UpdateOne
from pymongo.errors import BulkWriteError, DocumentTooLarge, PyMongoError

from ... import names
from ..labels.source import Source
from ..labels.stored import MOST_BYTES, NoRoomError, StoredSample, as_read
from .read import ReadBatch, stored_samples


def write(
    source: Source, read: ReadBatch[Any], updates: list[dict[str, Any]], *, before: Collection[str] = ()
) -> list[ObjectId]:
    """Write the values of a batch, except to samples that changed since they were read; returns their ids.

    Args:
        source: what was read
        read: the batch
        updates: the values of every sample, by path in its document
        before: fields, by path in the schema of the dataset, of which samples may have values from before: these are
            removed where there is no new one

    Raises:
        NoRoomError: if a sample would take more than MongoDB can hold
    """
    if not read.samples:
        return list(read.changed)
    prefix = names.FRAMES_PREFIX if source.on_frames else ""
    inner = [path.removeprefix(prefix) for path in before if path.startswith(prefix)]
    of_samples = [path for path in inner if "." not in path]
    of_labels = {
        path: [name.removeprefix(f"{path}.") for name in inner if name.startswith(f"{path}.")]
        for path in source.paths_read
    }
    operations = []
    for sample, values in zip(read.samples, updates, strict=True):
        update: dict[str, Any] = {"$set": values or {"_id": sample.sample_id}}
        if before:
            paths = list(of_samples)
            for kind, path, ids in zip(source.kinds_read, source.paths_read, sample.label_ids, strict=True):
                in_list = kind.list_name is not None
                labels = [f"{path}.{position}" if in_list else path for position in range(len(ids or ()))]
                paths += [f"{label}.{name}" for label in labels for name in of_labels[path]]
            update["$unset"] = {path: "" for path in paths if path not in values}
        operations.append(UpdateOne(as_read(sample, source.kinds_read, source.paths_read), update))
    try:
        n_written = source.collection.bulk_write(operations, ordered=False).matched_count
    except (BulkWriteError, DocumentTooLarge) as error:
        raise _reworded(error, read.samples, updates) from None  # it quotes all values
    if n_written == len(operations):
        return list(read.changed)
    ids = [sample.sample_id for sample in read.samples]
    stored = stored_samples(source, ids)
    changed = [sample.sample_id for sample in read.samples if not sample.is_unchanged(stored.get(sample.sample_id))]
    # all of them, if not all others were written
    return [*read.changed, *(changed if len(ids) - len(changed) <= n_written else ids)]


#: MongoDB's codes for documents that are too large
_TOO_LARGE = {10334, 17419}


def _reworded(
    error: BulkWriteError | DocumentTooLarge, samples: Sequence[StoredSample], updates: Sequence[dict[str, Any]]
) -> Exception:
    """The error with advice if a document grew too large; other errors unchanged."""
    titles = {sample.sample_id: sample.title for sample in samples}
    if isinstance(error, DocumentTooLarge):  # of a single update
        sizes = {sample.sample_id: len(bson.encode(values)) for sample, values in zip(samples, updates, strict=True)}
        return NoRoomError([titles[sample_id] for sample_id, size in sizes.items() if size > MOST_BYTES])
    too_large = too_large_ids(error)
    return error if too_large is None else NoRoomError([titles[document_id] for document_id in too_large])


def too_large_ids(error: PyMongoError) -> list[Any] | None:
    """Ids of documents that would have become too large, none if it is not known which; None for another error."""
    if isinstance(error, BulkWriteError):
        entries = error.details["writeErrors"]
        return [entry["op"]["q"]["_id"] for entry in entries if entry["code"] in _TOO_LARGE] or None
    is_too_large = isinstance(error, DocumentTooLarge) or getattr(error, "code", None) in _TOO_LARGE
    return [] if is_too_large else None
