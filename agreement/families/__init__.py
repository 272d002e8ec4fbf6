"""The label types behind one interface, and the comparison of two runs."""

from __future__ import annotations

from .compare import AgreementComparison, ComparedRun, compare_runs
from .family import FAMILIES, build_report, report_from_dict
