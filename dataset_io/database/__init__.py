"""The door to FiftyOne's inside and to MongoDB, and the arrays that it stores."""

from __future__ import annotations

from .fiftyone_private import pipeline_of
