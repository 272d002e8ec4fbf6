"""All access to FiftyOne's private API and to MongoDB, and decoding of the arrays that FiftyOne stores."""

from __future__ import annotations

from .fiftyone_private import pipeline_of
