"""The report of a run and the scores of its samples, from the beginning of its results.

The records behind them are a hundred times as long, and who looks at a report does not need them.
"""

from __future__ import annotations

import json
from typing import Protocol

import fiftyone as fo

from ...agreement.report import AgreementReport
from ...metrics.arrays import FloatArray
from ..fiftyone_private import run_document
from .run_config import COMPLETED, read_config
from .runs import load_records, read_report, require_run
from .stored_records import unpacked_column

#: bytes that are read first; then twice as many, and so on
_FIRST = 2**20


class _File(Protocol):
    def read(self, size: int = -1) -> bytes: ...


def load_scores(dataset: fo.Dataset, run_key: str) -> tuple[AgreementReport, FloatArray]:
    """The report of a completed run, and the scores of its samples in the order of its records, nan where undefined.

    Raises:
        AgreementInputError: as :func:`load_agreement`
    """
    require_run(dataset, run_key)
    file = run_document(dataset, run_key).results
    if file and read_config(dataset, run_key).get("status") == COMPLETED:
        # the file that the proxy keeps is shared with other threads
        beginning = _Beginning(file.fs.get(file.grid_id))
        report, scores = beginning.value("report"), beginning.value("score")
        if report is not None and scores is not None:
            return read_report(report, run_key), unpacked_column(scores)
    loaded = load_records(dataset, run_key)  # which says what is missing
    return loaded.report, loaded.records.sample_values().score


def stored_bytes(dataset: fo.Dataset, run_key: str) -> int:
    """How much the results of a run take; 0 where there are none."""
    run = run_document(dataset, run_key)
    file = run.results.get() if run is not None and run.results else None
    return 0 if file is None else int(file.length)


class _Beginning:
    """As much as is needed of a file with JSON."""

    def __init__(self, file: _File) -> None:
        self._file = file
        self._text = ""

    def value(self, name: str) -> str | None:
        """The first string with a name, on any level; None if there is none."""
        # quotes inside of strings are escaped, so that this is never found there
        entry = f'"{name}": "'
        while True:
            start = self._text.find(entry)
            # the end cannot be mistaken for that of a part of it: a string that is cut off is none
            if start >= 0:
                try:
                    value: str = json.JSONDecoder().raw_decode(self._text, start + len(entry) - 1)[0]
                except json.JSONDecodeError:
                    pass
                else:
                    return value
            more = self._file.read(max(_FIRST, len(self._text)))
            if not more:
                return None
            # json writes ASCII
            self._text += more.decode("ascii")
