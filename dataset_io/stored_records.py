"""The records of a run as text that its results hold beside the report, and back."""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: the fastest; more takes several times as long, and floats hardly get smaller
_COMPRESSION = 1


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """Columns of the records and of the sample index, and what a report needs to know of the labels.

    Attributes:
        records: columns of the records
        index: columns of the sample index
        context: the parts of a report's context that JSON can hold
    """

    records: dict[str, NDArray[Any]]
    index: dict[str, NDArray[Any]]
    context: dict[str, Any]

    def to_text(self) -> str:
        """The records as text."""
        columns = {f"records.{name}": values for name, values in self.records.items()}
        columns |= {f"index.{name}": values for name, values in self.index.items()}
        packed = io.BytesIO()
        np.savez(packed, **columns, context=np.frombuffer(json.dumps(self.context).encode(), np.uint8))  # type: ignore[arg-type]
        return base64.b64encode(zlib.compress(packed.getbuffer(), _COMPRESSION)).decode()

    @classmethod
    def from_text(cls, text: str) -> StoredRecords:
        """The records that :meth:`to_text` gave."""
        columns = np.load(io.BytesIO(zlib.decompress(base64.b64decode(text))), allow_pickle=False)
        return cls(_of(columns, "records."), _of(columns, "index."), json.loads(columns["context"].tobytes()))


def _of(columns: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): columns[name] for name in columns if name.startswith(prefix)}
