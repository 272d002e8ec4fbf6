"""The records of a run as texts that its results hold beside the report, and back."""

from __future__ import annotations

import base64
import dataclasses
import io
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...agreement.family import records_of
from ...agreement.records import Records
from ...agreement.report import AgreementReport, ReportContext
from .sample_index import SampleIndex

#: the fastest; more takes several times as long, and floats hardly get smaller
_COMPRESSION = 1
#: a column is compressed if so many of its first bytes get smaller than this share
_PROBE, _WORTHWHILE = 2**16, 0.8
#: first letter of the text of a column, by whether it is compressed
_SMALLER = {False: "-", True: "z"}


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """What a run keeps of its samples; every column is a text, unpacked when it is asked for.

    Attributes:
        records: columns of the records
        index: columns of the sample index
        context: the parts of a report's context that JSON can hold
    """

    records: dict[str, str]
    index: dict[str, str]
    context: dict[str, Any]

    @classmethod
    def of(cls, records: Records, index: SampleIndex, context: ReportContext) -> StoredRecords:
        """What is kept of a run."""
        # scores come first, where they are found without reading all the rest
        columns = {name: _packed(records.column(name)) for name in sorted(records.parts[0], key=lambda n: n != "score")}
        of_index = {name: _packed(values) for name, values in index.to_arrays().items()}
        return cls(columns, of_index, context.to_stored())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> StoredRecords:
        """The records that :meth:`to_dict` gave."""
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The records as JSON values."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def open(self, report: AgreementReport) -> OpenRecords:
        """The records of the run of a report."""
        context = ReportContext.from_stored(self.context, report)
        records = records_of(report.family, _Unpacked(self.records), len(context.annotators))
        return OpenRecords(report, records, SampleIndex.from_arrays(_Unpacked(self.index)), context)


@dataclass(frozen=True, slots=True)
class OpenRecords:
    """The records of a run, and which samples they are of.

    Attributes:
        report: of the run
        records: of its samples
        index: these samples
        context: what reports on them need beside the records, without what depends on the samples
    """

    report: AgreementReport
    records: Records
    index: SampleIndex
    context: ReportContext


class _Unpacked(Mapping[str, NDArray[Any]]):
    """Columns from their texts; only those that are looked at are unpacked."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._columns: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            self._columns[name] = unpacked_column(self._texts[name])
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def _packed(values: NDArray[Any]) -> str:
    content = io.BytesIO()
    np.save(content, values, allow_pickle=False)
    packed = content.getvalue()
    # most floats do not get smaller, which their beginning tells
    probe = packed[:_PROBE]
    smaller = len(zlib.compress(probe, _COMPRESSION)) < _WORTHWHILE * len(probe)
    return _SMALLER[smaller] + base64.b64encode(zlib.compress(packed, _COMPRESSION) if smaller else packed).decode()


def unpacked_column(text: str) -> NDArray[Any]:
    """A column from its text."""
    packed = base64.b64decode(memoryview(text.encode("ascii"))[1:])
    content = zlib.decompress(packed) if text.startswith(_SMALLER[True]) else packed
    values: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    return values
