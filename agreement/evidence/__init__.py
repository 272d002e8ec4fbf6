"""Evidence: rankings and findings only where enough data and a test support them."""

from __future__ import annotations

from .hypotheses import Confused, EffectRows, Finding, by_subject, conflict_rows, findings_and_confusions
from .ranking import ends_of_ranking, far_from, in_order, least_first, most_first, supported
