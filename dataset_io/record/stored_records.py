"""The records of a run in the database: one file of columns, in addition to FiftyOne's results with the report.

A column is the memory of a numpy array, compressed if that saves space; the last one is JSON, with what a report needs
in addition. The document of the file in ``fs.files`` has the position of each (``columns``).

FiftyOne does not know these files. Their ids contain the ids of their runs, so that files of runs that no longer exist
can be found and removed.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import gridfs
import numpy as np
from bson import ObjectId
from numpy.typing import NDArray
from pymongo import WriteConcern
from pymongo.errors import AutoReconnect, OperationFailure

from ...agreement.families.family import records_of
from ...agreement.statistics.records import SAMPLE_COLUMNS, Records
from ...agreement.statistics.report import AgreementReport, ReportContext
from ..database.fiftyone_private import database
from .sample_index import SampleIndex

#: zlib's fastest level; higher ones take several times as long and hardly shrink floats
_COMPRESSION = 1
#: a column is compressed if its first ``_PROBE`` bytes shrink to less than this share
_PROBE, _WORTHWHILE = 2**16, 0.8
#: chunk size in GridFS: large chunks are read faster
_CHUNK = 2**22
#: columns begin at multiples of this many bytes
_ALIGNED = 64
#: name of the JSON values beside the columns
_CONTEXT = "context"
#: ids of such files begin with this
_PREFIX = "annotator_agreement/"
#: entries of the config of a run with ids of results: the present ones, those before the last update, and those of an
#: update that is running
_IDS = ("results_id", "previous", "updating")

_Array = NDArray[Any]
_Bytes = bytes | memoryview
#: stores records in the file with this id, see :func:`write_records`
Store = Callable[[str], None]


def file_id(run_id: str, part: str | None = None) -> str:
    """Id of the file with the records of a run; or with a worker's ``part`` of them, until the run is complete."""
    return f"{_PREFIX}{run_id}" if part is None else f"{_PREFIX}{run_id}/{part}"


def write_records(file_id: str, records: Records, context: Mapping[str, Any]) -> None:
    """Store records as a file, replacing an earlier one; columns are taken, packed and sent one after another.

    Args:
        file_id: id of the file, from :func:`file_id`
        records: the records
        context: the parts of a report's context that fit into JSON
    """
    # scores and samples come first, so that they can be read without the other columns
    known = sorted(records.parts[0], key=lambda name: (name != "score", name not in SAMPLE_COLUMNS, name))
    where: dict[str, tuple[int, int, bool, str, tuple[int, ...]]] = {}

    gridfs.GridFS(database()).delete(file_id)
    # chunk by chunk, as gridfs's own writer would hold 32 MB twice
    files, chunks = database().fs.files, database().fs.chunks
    chunks.create_index([("files_id", 1), ("n", 1)], unique=True)
    text, length, n_chunks, waiting, checksum = json.dumps(dict(context)).encode(), 0, 0, bytearray(), 0
    for name in (*known, _CONTEXT):
        values = np.frombuffer(text, np.uint8) if name == _CONTEXT else records.column(name)
        packed: _Bytes = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
        probe = packed[:_PROBE]  # most columns of floats do not shrink; the first bytes show it
        is_smaller = len(zlib.compress(probe, _COMPRESSION)) < _WORTHWHILE * len(probe)
        packed = zlib.compress(packed, _COMPRESSION) if is_smaller else packed
        where[name] = (length, len(packed), is_smaller, values.dtype.str, values.shape)
        for part in (packed, bytes(-len(packed) % _ALIGNED)):
            length, checksum = length + len(part), zlib.crc32(part, checksum)
            for start in range(0, len(part), _CHUNK):
                waiting += part[start : start + _CHUNK]
                if len(waiting) >= _CHUNK:
                    chunks.insert_one({"files_id": file_id, "n": n_chunks, "data": bytes(waiting[:_CHUNK])})
                    del waiting[:_CHUNK]
                    n_chunks += 1
    if waiting:
        chunks.insert_one({"files_id": file_id, "n": n_chunks, "data": bytes(waiting)})
    now = datetime.now(timezone.utc)
    entry = {"_id": file_id, "chunkSize": _CHUNK, "length": length, "uploadDate": now, "crc32": checksum}
    files.insert_one({**entry, "columns": where})


@dataclass(frozen=True, slots=True)
class OpenRecords:
    """The records of a run and the samples that they describe."""

    report: AgreementReport  #: report of the run
    records: Records  #: records of its samples
    index: SampleIndex  #: ids of these samples, and what was noticed when they were read
    context: ReportContext  #: context of the report, without parts that depend on the samples


def stored_bytes(run_id: str) -> int:
    """Size of the records of a run in bytes; 0 if there are none."""
    found = database().fs.files.find_one({"_id": file_id(run_id)}, {"length": True})
    return 0 if found is None else int(found["length"])


def open_records(run_id: str, report: AgreementReport) -> OpenRecords:
    """The stored records of the run of a report."""
    records, context = open_file(file_id(run_id), report.family)
    return OpenRecords(report, records, SampleIndex.of_records(records), ReportContext.from_stored(context, report))


def open_file(file_id: str, family: str) -> tuple[Records, dict[str, Any]]:
    """The records in a file, and the context as JSON values.

    Raises:
        ValueError: if something else changed the file
    """
    file = gridfs.GridFS(database()).get(file_id)
    stored = file.read()
    if zlib.crc32(stored) != file.crc32:
        raise ValueError(f"The file {file_id!r} is not what was stored")
    columns = _Unpacked(file.columns, memoryview(stored))
    context = columns.context()
    return records_of(family, columns, len(context["annotators"])), context


def file_context(file_id: str) -> dict[str, Any]:
    """The JSON values in a file of records, without its columns."""
    return _some_columns(file_id, (_CONTEXT,)).context()


def open_index(run_id: str) -> SampleIndex:
    """The samples of the records of a run, without reading the other columns."""
    return SampleIndex.of_columns(_some_columns(file_id(run_id), SAMPLE_COLUMNS))


def _some_columns(file_id: str, names: Sequence[str]) -> _Unpacked:
    """Columns of a file that stand one after another, read at once."""
    file = gridfs.GridFS(database()).get(file_id)
    found = {name: file.columns[name] for name in names if name in file.columns}
    start = min(where[0] for where in found.values())
    file.seek(start)
    content = file.read(max(where[0] + where[1] for where in found.values()) - start)
    return _Unpacked({name: (where[0] - start, *where[1:]) for name, where in found.items()}, memoryview(content))


def write_journal() -> None:
    """Wait until all that was acknowledged is in the journal, from which a killed database restores it.

    The database writes its journal a few times a second, after it has acknowledged writes: a kill loses the last ones.
    """
    files = database().get_collection("fs.files", write_concern=WriteConcern(j=True))
    with contextlib.suppress(OperationFailure):  # servers without a journal
        files.update_one({"_id": ObjectId()}, {"$set": {"length": 0}})  # matches nothing


@contextlib.contextmanager
def surely_written() -> Iterator[None]:
    """Raise if the database was restarted within the block, and may have lost writes.

    A client that sends nothing during the restart gets no error, so the id of the server's process is compared.

    Raises:
        AutoReconnect: if it was restarted, as pymongo raises for a request that is interrupted
    """
    before = _server()
    yield
    write_journal()
    if _server() != before:
        raise AutoReconnect(
            "the database was started again meanwhile, and may have lost what was written; compute again"
        )


def _server() -> Any:
    """Id of the process of the database; None if several processes answer, or it is too old to tell."""
    answer = database().command("hello")
    return None if answer.get("msg") == "isdbgrid" else answer.get("topologyVersion", {}).get("processId")


def delete_parts(run_id: str) -> None:
    """Remove the files of all parts of a run, incomplete ones included."""
    start = {"$regex": f"^{file_id(run_id, '')}"}
    database().fs.files.delete_many({"_id": start})
    database().fs.chunks.delete_many({"files_id": start})


def delete_results(document: Mapping[str, Any]) -> None:
    """Delete the document of a run, after its report and its records, which stay if a cloned dataset has them, too."""
    own = document["_id"]
    delete_files(document["config"]["results_id"], document.get("results"), own=own)
    for name in ("previous", "updating"):
        run_id = document["config"].get(name)
        if isinstance(run_id, str) and ObjectId.is_valid(run_id):
            delete_files(run_id, own=own)
    database().runs.delete_one({"_id": own})


def delete_files(run_id: str, results: ObjectId | None = None, *, own: ObjectId | None = None) -> None:
    """Delete the records and the report of a run, unless another run has them, in a cloned dataset.

    Args:
        run_id: id under which they are stored
        results: id under which the report is stored, if it is known to be another one
        own: id of the document of the run, if there is one
    """
    runs, others = database().runs, {"_id": {"$ne": own}}
    is_previous = runs.find_one({"config.previous": run_id, **others}) is not None
    if is_previous:
        return
    # the id of the run may belong to a half-written file or, in a cloned dataset, to the original's file
    for own_file in {results, ObjectId(run_id)} - {None}:
        if runs.find_one({"results": own_file, **others}) is None:
            gridfs.GridFS(database()).delete(own_file)
    # last, as orphans are found by their records
    if runs.find_one({"config.results_id": run_id, **others}) is None:
        delete_parts(run_id)
        gridfs.GridFS(database()).delete(file_id(run_id))


def delete_orphans() -> None:
    """Remove what is left of runs that no longer exist: with a run or dataset FiftyOne deletes only its report, neither
    its records nor the report before an update."""
    ours = {"$regex": f"^{_PREFIX}"}
    found = {*database().fs.files.distinct("_id", {"_id": ours})}
    found |= {*database().fs.chunks.distinct("files_id", {"files_id": ours})}
    if found:
        used = {run_id for name in _IDS for run_id in database().runs.distinct(f"config.{name}")}
        for run_id in {each.removeprefix(_PREFIX).partition("/")[0] for each in found} - used:
            if ObjectId.is_valid(run_id):  # other files were not written by this plugin
                delete_files(run_id)


class _Unpacked(Mapping[str, _Array]):
    """Columns by name, unpacked when they are accessed."""

    def __init__(self, where: Mapping[str, Any], content: memoryview) -> None:
        self._where = where
        self._content = content
        self._columns: dict[str, _Array] = {}

    def __getitem__(self, name: str) -> _Array:
        if name not in self._columns:
            start, size, is_smaller, dtype, shape = self._where[name]
            packed = self._content[start : start + size]
            values = np.frombuffer(zlib.decompress(packed) if is_smaller else packed, np.dtype(dtype))
            self._columns[name] = values.reshape(shape)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._where if name != _CONTEXT)

    def __len__(self) -> int:
        return len(self._where.keys() - {_CONTEXT})

    def context(self) -> dict[str, Any]:
        """The JSON values beside the columns."""
        found: dict[str, Any] = json.loads(self[_CONTEXT].tobytes())
        return found
