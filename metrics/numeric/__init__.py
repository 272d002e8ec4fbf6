"""Arrays and tests of rates: what all kernels use."""

from __future__ import annotations

from .arrays import components
from .rate_tests import RateMoments, false_discoveries
