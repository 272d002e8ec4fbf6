"""Units: labels of one object, matched across annotators, with verdicts, scores and ratings for alpha."""

from __future__ import annotations

from .compute import ALPHA_REASONS, compute_agreement_of
from .tables import NO_TRACK, Batch, Tables
from .verdicts import MOST_NAMED, NO_VERDICT, VERDICTS, verdict_names
