"""The domain, without FiftyOne: options, records of samples, verdicts, scores, statistics and reports."""

from __future__ import annotations

from .settings.config import AgreementConfig, make_config
from .settings.errors import AgreementInputError
from .statistics.report import AgreementReport

__all__ = ["AgreementConfig", "AgreementInputError", "AgreementReport", "make_config"]
