"""The sections of a report on objects."""

from __future__ import annotations

from .annotators import bias_in_words, told_offsets
from .questions import (
    OBJECT_PHRASES,
    cause_sentence,
    class_sentence,
    existence_sentence,
    localisation_sentence,
    losses,
    object_alpha_sentence,
    object_findings,
    object_outcome,
    share_below,
)
from .rules import f1_by_threshold, suggested_threshold
