"""Adjudication: decisions on the right version of disputed objects, and the accuracy of every annotator."""

from __future__ import annotations

from .next_object import close_unedited, edit_object
