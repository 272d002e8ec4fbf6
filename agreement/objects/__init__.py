"""Agreement on objects: labels of any geometry that are matched across annotators."""

from __future__ import annotations

from .build import build_object_report, object_distances, object_numbers, sample_contents
from .classes import SIZES, similar_names, similar_spellings, synonyms
from .convergence import Detections, Precision, convergence_of
from .pairs import track_consistency
from .records import Gathered, ObjectRecords, count_codes, record
from .report import AttributeSummary, Bias, ObjectReport
from .sensitivity import (
    MAX_SAMPLES,
    MAX_SAMPLES_OF_SHAPES,
    Block,
    DataThreshold,
    RuleAlpha,
    RuleNumbers,
    Sensitivity,
    ThresholdNumbers,
    ThresholdPoint,
    data_threshold,
    stored_blocks,
    subsample,
)
