"""Stored state of runs in a dataset: records, field names, results, lease."""

from __future__ import annotations

from .lease import this_process, writing
from .run import COMPLETED, FAILED, RUNNING, Run
from .run_labels import open_run_labels
from .schema import declare, fields_marked
from .stored_records import delete_orphans
