"""Evidence: rankings and findings only where enough data and a test support them."""

from __future__ import annotations

from .hypotheses import Confused, EffectRows, Finding, by_subject
from .ranking import ends_of_ranking, in_order, least_first, most_first, supported
