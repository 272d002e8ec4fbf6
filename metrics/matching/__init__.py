"""Match the objects of several annotators: which of them are the same physical object."""

from __future__ import annotations

from .match import Matching, Method, match_objects
from .merging import FORBIDDEN, Nodes, average_linkage_of, merge_and_move, places_of, sides_of
from .optimal import ClassHandling, annotator_bits
from .pairs import average_linkage
from .partition import MAX_NODES_SEARCHED, best_partitions, search
from .splits import find_duplicates, find_splits
from .threshold import NO_CROSSING, NO_VARIATION, TOO_FEW
