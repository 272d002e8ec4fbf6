"""Views of the samples and labels behind the numbers of a run."""

from __future__ import annotations

from .unit_views import labels_of_size
