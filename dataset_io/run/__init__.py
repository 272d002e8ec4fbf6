"""Process the samples of a run: read, compute in batches, write."""

from __future__ import annotations

from .read import work_through
