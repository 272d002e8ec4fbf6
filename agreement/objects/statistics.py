"""Everything that a report on objects needs, as sums that add up over any samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..report import ReportContext
from .additive import Additive, Moments, SparseCounts, total
from .annotator_sums import AnnotatorSums, annotator_sums
from .attributes import EveryAttribute, Values, attribute_sums
from .bias import bias_sums
from .chunk import Chunk
from .class_given_match import ClassSums, class_sums
from .class_summaries import EveryClassSums, every_class_sums
from .consensus import ConsensusSums, consensus_sums
from .existence import ExistenceSums, existence_sums
from .localisation import LocalisationSums, localisation_sums
from .merges import met_by_ratings
from .overall import OverallSums, overall_sums
from .pair_sums import PairSums, pair_sums
from .records import ObjectRecords
from .size_rule import SizeRule
from .sizes import SizeSums, size_sums
from .vitality import VitalitySums, vitality_sums


@dataclass(frozen=True, slots=True)
class ReportSums(Additive):
    """The sums of every part of a report, each described where it is made; ``met`` is of :mod:`.merges`."""

    overall: OverallSums
    existence: ExistenceSums
    classes_given_match: ClassSums
    localisation: LocalisationSums
    sizes: SizeSums
    attributes: EveryAttribute
    pairs: PairSums
    annotators: AnnotatorSums
    bias: Moments
    consensus: ConsensusSums
    vitality: VitalitySums
    classes: EveryClassSums
    met: SparseCounts


def summarise(
    records: ObjectRecords, sizes: SizeRule, attributes: Sequence[Values], context: ReportContext
) -> ReportSums:
    """The sums over all samples of some records."""
    chunks = (Chunk.of(found, len(context.class_names), sizes) for found in records.findings(context.config))
    return total(_sums(chunk, attributes) for chunk in chunks)


def _sums(chunk: Chunk, attributes: Sequence[Values]) -> ReportSums:
    return ReportSums(
        overall=overall_sums(chunk),
        existence=existence_sums(chunk),
        classes_given_match=class_sums(chunk),
        localisation=localisation_sums(chunk),
        sizes=size_sums(chunk),
        attributes=attribute_sums(chunk, attributes),
        pairs=pair_sums(chunk),
        annotators=annotator_sums(chunk),
        bias=bias_sums(chunk),
        consensus=consensus_sums(chunk),
        vitality=vitality_sums(chunk),
        classes=every_class_sums(chunk),
        met=met_by_ratings(chunk),
    )
