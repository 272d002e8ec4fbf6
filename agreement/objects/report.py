"""The report on objects."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from ..main_numbers import OBJECT_NUMBERS, MainNumber
from ..report import AgreementReport, Coefficients
from .summaries import (
    AnnotatorSummary,
    AttributeSummary,
    ClassGivenMatch,
    ClassSummary,
    Cluster,
    DataThreshold,
    Existence,
    Localisation,
    Merge,
    PairSummary,
    RuleAlpha,
    Sessions,
    SizeSummary,
    ThresholdPoint,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReport(AgreementReport):
    """How far annotators agree on objects that were matched across annotators."""

    family: ClassVar[str] = "objects"
    main_numbers: ClassVar[tuple[MainNumber, ...]] = OBJECT_NUMBERS
    parts: ClassVar[dict[str, Any]] = {
        **AgreementReport.parts,
        "existence": Existence,
        "class_given_match": ClassGivenMatch,
        "localisation": Localisation,
        "coefficients": Coefficients,
        "attributes": AttributeSummary,
        "sizes": SizeSummary,
        "pairs": PairSummary,
        "annotators": AnnotatorSummary,
        "sessions": Sessions,
        "clusters": Cluster,
        "classes": ClassSummary,
        "merges": Merge,
        "thresholds": ThresholdPoint,
        "data_threshold": DataThreshold,
        "rules": RuleAlpha,
    }

    n_empty: int
    #: this and the next three are known of a run as a whole only, and None of a part of it
    n_hard_components: int | None
    n_inexact_components: int | None
    n_repaired: int | None
    #: keypoints without an extent, which match only where they are equal
    n_points: int | None
    #: mean over the pairs of annotators
    track_consistency: float | None
    existence: Existence
    class_given_match: ClassGivenMatch
    localisation: Localisation
    pairs: list[PairSummary]
    annotators: list[AnnotatorSummary]
    #: beside alpha, over the same units
    coefficients: Coefficients | None = None
    attributes: list[AttributeSummary] = dataclasses.field(default_factory=list)
    sizes: list[SizeSummary] = dataclasses.field(default_factory=list)
    #: only where a person labelled several times
    sessions: Sessions | None = None
    #: who sides with whom: the joins of a clustering by pair score, the closest first
    clusters: list[Cluster] = dataclasses.field(default_factory=list)
    #: the most frequent first, at most 1,000
    classes: list[ClassSummary] = dataclasses.field(default_factory=list)
    n_classes_unlisted: int = 0
    #: of the most confused pairs of classes, the largest effect first
    merges: list[Merge] = dataclasses.field(default_factory=list)
    #: groups of class names that differ in case, spaces, separators or one letter; never merged
    similar_names: list[list[str]] = dataclasses.field(default_factory=list)
    thresholds: list[ThresholdPoint] = dataclasses.field(default_factory=list)
    data_threshold: DataThreshold | None = None
    rules: list[RuleAlpha] = dataclasses.field(default_factory=list)
