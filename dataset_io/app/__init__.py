"""Settings of FiftyOne's App for a run: sidebar group, colours, indexes."""

from __future__ import annotations

from .label_schemas import end_editing
from .settings import AppSettings, annotator_colors, app_settings_of, color_names
