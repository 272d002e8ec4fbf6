"""Results of completed runs: reports on any view, the table of samples, comparisons, exported files."""

from __future__ import annotations

from .check import last_check
from .file_writing import write_file
from .parts import open_parts
