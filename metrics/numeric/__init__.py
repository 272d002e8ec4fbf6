"""Array types and index arithmetic, and tests of rates."""

from __future__ import annotations

from .arrays import components
from .rate_tests import RateMoments, false_discoveries
