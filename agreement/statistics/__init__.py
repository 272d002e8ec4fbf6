"""Records of samples, numbers from their sums with intervals, and the report that holds them."""

from __future__ import annotations

from .codes import AttributeCodes, ClassCodes
from .estimates import Estimate, rated_only, report_estimates, sample_numbers
from .main_numbers import COMPARED, OBJECT_PAIR_NUMBERS, MainNumber
from .numbers import Key, Numbers, differences
from .records import Records, content_ranks, uncounted_columns
from .report import ImageAlpha, Interval, ReportContext, RunFacts
from .role_reports import AlternativeTest, LeftOutTest, PersonComparison, RoleReport, SideBySide
